/* SPDX-License-Identifier: Apache-2.0 */
/* Frames through the queues of a live session. */
#include <string.h>

#include "experiments/live/live_pipeline/pipeline.h"
#include "experiments/live/ways/live_schedule.h"
#include "ttprem/live.h"

#define FRAME_NS INT64_C(2000000000)

typedef struct live_pipeline {
  const prem_pipeline_setup *setup;
  prem_pipeline_run *run;
  prem_live *live;
  int32_t in, out;
  int64_t given, taken; /* frames */
  int64_t given_ns[PREM_PIPELINE_MAX_BUFFERS];
  int64_t first_ns; /* when the first frame that counts was given */
} live_pipeline;

static prem_status give(live_pipeline *p, prem_diag *diag) {
  prem_frame frame;
  const int64_t now_ns = prem_live_now_ns(p->live);
  prem_status status = prem_live_acquire(p->live, p->in, now_ns + FRAME_NS, &frame, diag);
  if (status != PREM_OK)
    return status;
  prem_pipeline_write(frame.data, p->setup->floats, p->given);
  p->given_ns[p->given % p->setup->buffers] = prem_live_now_ns(p->live);
  if (p->given == p->run->warm_up)
    p->first_ns = prem_live_now_ns(p->live);
  ++p->given;
  return prem_live_submit(p->live, &frame, diag);
}

static prem_status take(live_pipeline *p, prem_diag *diag) {
  prem_frame frame;
  prem_status status =
      prem_live_wait(p->live, p->out, prem_live_now_ns(p->live) + FRAME_NS, &frame, diag);
  if (status != PREM_OK)
    return status;
  const int64_t age_ns = prem_live_now_ns(p->live) - p->given_ns[p->taken % p->setup->buffers];
  const bool right = frame.input == (uint64_t)p->taken &&
                     prem_pipeline_right(frame.data, p->setup->floats, p->taken);
  prem_pipeline_keep(p->run, p->taken, age_ns, right);
  ++p->taken;
  return prem_live_release(p->live, &frame, diag);
}

static bool gives_more(const live_pipeline *p) {
  const prem_pipeline_run *run = p->run;
  if (p->given >= run->warm_up + run->count || *run->stop != 0)
    return false;
  return p->given <= run->warm_up || prem_host_clock_ns() < run->end_ns;
}

static prem_status run_frames(live_pipeline *p, prem_diag *diag) {
  prem_status status = PREM_OK;
  while (status == PREM_OK) {
    const bool more = gives_more(p);
    if (more && p->given - p->taken < p->setup->buffers)
      status = give(p, diag);
    else if (p->taken < p->given)
      status = take(p, diag);
    else
      break;
  }
  p->run->took_ns = prem_live_now_ns(p->live) - p->first_ns;
  return status;
}

static prem_status run_session(live_pipeline *p, prem_diag *diag) {
  const prem_live_request request = {.mode = PREM_MODE_FREE};
  p->in = prem_live_find(p->live, "x");
  p->out = prem_live_find(p->live, "z");
  prem_status status = prem_live_start(p->live, &request, diag);
  if (status != PREM_OK)
    return status;
  status = run_frames(p, diag);
  const prem_status stopped =
      prem_live_stop(p->live, true, prem_live_now_ns(p->live) + FRAME_NS, diag);
  return status == PREM_OK ? stopped : status;
}

prem_status prem_pipeline_live(const prem_experiment_context *context,
                               const prem_pipeline_setup *setup, prem_pipeline_run *run,
                               prem_diag *diag) {
  const prem_way_setup way = {.work = PREM_WORK_INCREMENT,
                              .size = setup->floats,
                              .blocks = setup->blocks,
                              .threads = setup->threads,
                              .buffers = setup->buffers};
  live_pipeline p = {.setup = setup, .run = run};
  prem_schedule *schedule = NULL;
  prem_status status = prem_live_schedule_make(&way, context->machine, &schedule, diag);
  if (status == PREM_OK)
    status = prem_live_open(context->backend, schedule, &p.live, diag);
  if (status == PREM_OK)
    status = run_session(&p, diag);
  prem_live_close(p.live);
  prem_schedule_free(schedule);
  return status;
}

#ifndef TTPREM_CUDA
prem_status prem_pipeline_on_gpu(const prem_pipeline_setup *setup, prem_pipeline_run *run,
                                 prem_diag *diag) {
  (void)setup, (void)run, (void)diag;
  return PREM_ERR_UNAVAILABLE;
}
#endif
