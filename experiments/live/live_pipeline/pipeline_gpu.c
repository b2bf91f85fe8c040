/* SPDX-License-Identifier: Apache-2.0 */
/* Frames through streams, graphs, or a resident kernel with several buffers. */
#include <string.h>

#include "experiments/live/live_pipeline/pipeline.h"
#include "experiments/live/ways/gpu_way.h"
#include "prem/base/clock.h"

#define FRAME_NS INT64_C(1000000000)

typedef struct gpu_pipeline {
  const prem_pipeline_setup *setup;
  prem_pipeline_run *run;
  prem_work_data data;                           /* sizes alone */
  prem_gpu_way lanes[PREM_PIPELINE_MAX_BUFFERS]; /* a resident kernel has one for all buffers */
  int64_t given, taken;                          /* frames */
  int64_t given_ns[PREM_PIPELINE_MAX_BUFFERS];
  int64_t first_ns;
} gpu_pipeline;

static bool is_resident(const gpu_pipeline *p) {
  return p->setup->way == PREM_PIPELINE_RESIDENT;
}

static int32_t lanes_of(const gpu_pipeline *p) {
  return is_resident(p) ? 1 : p->setup->buffers;
}

/* ---- a frame --------------------------------------------------------------------------------- */

/* Turns of a resident kernel count from 1, and so do its buffers. */
static float *buffer_of(const gpu_pipeline *p, int64_t frame, bool is_input) {
  const prem_gpu_way *lane = &p->lanes[is_resident(p) ? 0 : frame % p->setup->buffers];
  float *all = is_input ? lane->in[0] : lane->out;
  return is_resident(p) ? all + (frame + 1) % p->setup->buffers * p->setup->floats : all;
}

static cudaError_t start(gpu_pipeline *p, int64_t frame) {
  prem_gpu_way *lane = &p->lanes[is_resident(p) ? 0 : frame % p->setup->buffers];
  cudaError_t error = cudaSuccess;
  switch (p->setup->way) {
  case PREM_PIPELINE_RESIDENT:
    __atomic_store_n(&lane->words->start, (uint64_t)frame + 1, __ATOMIC_RELEASE);
    return cudaSuccess;
  case PREM_PIPELINE_GRAPHS:
    error = cudaGraphLaunch(lane->exec[PREM_WORK_INCREMENT], lane->stream);
    break;
  default:
    error = prem_gpu_way_enqueue(lane, PREM_WORK_INCREMENT, false);
  }
  return error == cudaSuccess ? cudaEventRecord(lane->event, lane->stream) : error;
}

static cudaError_t await(gpu_pipeline *p, int64_t frame) {
  const int64_t deadline_ns = prem_host_clock_ns() + FRAME_NS;
  cudaError_t error;
  if (is_resident(p))
    return prem_gpu_way_await(&p->lanes[0].words->done, (uint64_t)frame + 1, FRAME_NS);
  while ((error = cudaEventQuery(p->lanes[frame % p->setup->buffers].event)) == cudaErrorNotReady)
    if (prem_host_clock_ns() > deadline_ns)
      return cudaErrorTimeout;
  return error;
}

static cudaError_t give(gpu_pipeline *p) {
  const int64_t frame = p->given++;
  prem_pipeline_write(buffer_of(p, frame, true), p->setup->floats, frame);
  p->given_ns[frame % p->setup->buffers] = prem_host_clock_ns();
  if (frame == p->run->warm_up)
    p->first_ns = prem_host_clock_ns();
  return start(p, frame);
}

static cudaError_t take(gpu_pipeline *p) {
  const int64_t frame = p->taken++;
  const cudaError_t error = await(p, frame);
  if (error != cudaSuccess)
    return error;
  const int64_t age_ns = prem_host_clock_ns() - p->given_ns[frame % p->setup->buffers];
  prem_pipeline_keep(p->run, frame, age_ns,
                     prem_pipeline_right(buffer_of(p, frame, false), p->setup->floats, frame));
  return cudaSuccess;
}

static bool gives_more(const gpu_pipeline *p) {
  const prem_pipeline_run *run = p->run;
  if (p->given >= run->warm_up + run->count || *run->stop != 0)
    return false;
  return p->given <= run->warm_up || prem_host_clock_ns() < run->end_ns;
}

static cudaError_t run_frames(gpu_pipeline *p) {
  cudaError_t error = cudaSuccess;
  while (error == cudaSuccess) {
    if (gives_more(p) && p->given - p->taken < p->setup->buffers)
      error = give(p);
    else if (p->taken < p->given)
      error = take(p);
    else
      break;
  }
  p->run->took_ns = prem_host_clock_ns() - p->first_ns;
  return error;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static prem_way_setup setup_of(const prem_pipeline_setup *setup) {
  return (prem_way_setup){.way = setup->way == PREM_PIPELINE_RESIDENT ? PREM_WAY_RESIDENT
                                 : setup->way == PREM_PIPELINE_GRAPHS ? PREM_WAY_GRAPH
                                                                      : PREM_WAY_QUERY,
                          .work = PREM_WORK_INCREMENT,
                          .size = setup->floats,
                          .memory = setup->way == PREM_PIPELINE_RESIDENT ? PREM_MEMORY_MAPPED
                                                                         : PREM_MEMORY_COPIED,
                          .blocks = setup->blocks,
                          .threads = setup->threads};
}

static cudaError_t open_lane(gpu_pipeline *p, prem_gpu_way *lane) {
  *lane = (prem_gpu_way){.setup = setup_of(p->setup), .data = &p->data};
  cudaError_t error = prem_gpu_way_room(lane, false);
  lane->job.slots = is_resident(p) ? (uint64_t)p->setup->buffers : 0;
  if (error == cudaSuccess)
    error = prem_gpu_way_touch(lane);
  if (error == cudaSuccess)
    error = prem_gpu_way_graphs(lane);
  return error == cudaSuccess ? cudaStreamSynchronize(lane->stream) : error;
}

/* All inputs are 0 but for their marks. */
static cudaError_t run_lanes(gpu_pipeline *p) {
  cudaError_t error = cudaSuccess;
  for (int32_t lane = 0; lane < lanes_of(p) && error == cudaSuccess; ++lane) {
    error = open_lane(p, &p->lanes[lane]);
    if (error == cudaSuccess)
      memset(p->lanes[lane].in[0], 0, (size_t)p->data.in_count[0] * sizeof(float));
  }
  if (error == cudaSuccess)
    error = prem_gpu_way_begin(&p->lanes[0]);
  if (error != cudaSuccess)
    return error;
  error = run_frames(p);
  for (int32_t lane = 0; lane < lanes_of(p); ++lane) {
    const cudaError_t ended = prem_gpu_way_end(&p->lanes[lane]);
    error = error == cudaSuccess ? ended : error;
  }
  return error;
}

prem_status prem_pipeline_on_gpu(const prem_pipeline_setup *setup, prem_pipeline_run *run,
                                 prem_diag *diag) {
  gpu_pipeline p = {.setup = setup, .run = run};
  const int64_t buffers = is_resident(&p) ? setup->buffers : 1;
  p.data.in_count[0] = p.data.out_count = buffers * setup->floats;
  for (int command = 0; command < PREM_WORK_COUNT; ++command)
    p.data.size[command] = setup->floats;
  for (int v = 0; v < PREM_WORK_VARIANTS; ++v)
    p.data.command[v] = PREM_WORK_INCREMENT;
  const cudaError_t error = run_lanes(&p);
  const prem_status status = prem_gpu_way_judge(error, &p.lanes[0], diag);
  for (int32_t lane = 0; lane < lanes_of(&p); ++lane)
    prem_gpu_way_free(&p.lanes[lane]);
  return status;
}
