/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is event-driven on a block: its first phase has an instant, all others are chained.
 *
 * Each begins when its tile's data are there, its unit is free and it has its buffer. Units work in
 * one order, whatever phases take, so every start is a maximum of sums of lengths: a phase that
 * takes less than its WCET never lets another one begin later. The starts by the WCETs are thus the
 * latest ones, and no phase of the job ends later than planned.
 */
#include "prem/model/job_chain.h"

typedef struct walk {
  const prem_schedule *schedule;
  const prem_task *task;
  prem_job_step *out; /* NULL: nobody wants them */
  int64_t tiles, count;
  int32_t position, warmup, buffers;
  int64_t unit_ns[2]; /* the memory unit and the compute unit are free */
  /* of tile i, at i % buffers: */
  int64_t data_ns[PREM_MAX_BUFFERS];   /* its last phase so far is over, and its block ready */
  int64_t input_ns[PREM_MAX_BUFFERS];  /* its input buffer is free again; of one: the block's */
  int64_t output_ns[PREM_MAX_BUFFERS]; /* its output buffer */
  int64_t end_ns;
} walk;

static int64_t tiles_on(const prem_task *task, int32_t position, int32_t warmup) {
  if (position >= task->tile_count)
    return 0;
  return prem_max_i64(0,
                      ((int64_t)task->tile_count - 1 - position) / task->block_count + 1 - warmup);
}

int64_t prem_job_chain_count(const prem_task *task, int32_t position, int32_t warmup) {
  int64_t kinds = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    kinds += task->phase[p].exists;
  return kinds * tiles_on(task, position, warmup);
}

prem_wide prem_job_chain_bound(const prem_schedule *schedule, const prem_task *task,
                               int32_t position, int32_t warmup) {
  prem_wide of_a_tile = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      of_a_tile += (prem_wide)task->phase[p].wcet_ns + task->phase[p].turnaround_ns +
                   prem_unit_gap_ns(schedule, task, (prem_phase)p, task->tile_count - 1);
  return of_a_tile * tiles_on(task, position, warmup);
}

/* Within a tile nothing but the turnaround lies between phases, as in every chain. */
static void take(walk *w, prem_phase phase, int64_t i, int64_t from_ns) {
  const prem_phase_spec *spec = &w->task->phase[phase];
  const int32_t tile = (int32_t)(w->position + (w->warmup + i) * w->task->block_count);
  const int64_t gap_ns = prem_phase_gap_ns(w->schedule, w->task, phase);
  int64_t *unit_ns = &w->unit_ns[phase == PREM_COMPUTE];
  const int64_t start_ns = prem_max_i64(from_ns, *unit_ns), end_ns = start_ns + spec->wcet_ns;
  *unit_ns = end_ns + prem_unit_gap_ns(w->schedule, w->task, phase, tile);
  w->data_ns[i % w->buffers] = end_ns + spec->turnaround_ns;
  if (phase == PREM_WRITEBACK)
    w->output_ns[i % w->buffers] = end_ns + gap_ns;
  if (phase != PREM_WRITEBACK || w->buffers == 1)
    w->input_ns[i % w->buffers] = end_ns + gap_ns;
  w->end_ns = prem_max_i64(w->end_ns, end_ns);
  if (w->out)
    w->out[w->count] = (prem_job_step){start_ns, spec->wcet_ns, tile, phase};
  ++w->count;
}

static void fetch(walk *w, int64_t i) {
  if (i < w->tiles && w->task->phase[PREM_PREFETCH].exists)
    take(w, PREM_PREFETCH, i, w->input_ns[i % w->buffers]);
}

/* With one buffer the block is the tile's until its last phase is over. */
static void compute(walk *w, int64_t i) {
  const bool is_first = !w->task->phase[PREM_PREFETCH].exists;
  int64_t from_ns = is_first ? 0 : w->data_ns[i % w->buffers];
  if (w->buffers == 1 && is_first)
    from_ns = w->input_ns[0];
  else if (w->buffers > 1 && w->task->phase[PREM_WRITEBACK].exists)
    from_ns = prem_max_i64(from_ns, w->output_ns[i % w->buffers]);
  if (w->task->phase[PREM_COMPUTE].exists)
    take(w, PREM_COMPUTE, i, from_ns);
}

/* @param from_ns  its data are there. Without a compute it takes the buffer itself. */
static void store(walk *w, int64_t i, int64_t from_ns) {
  if (!w->task->phase[PREM_COMPUTE].exists)
    from_ns = prem_max_i64(from_ns, w->output_ns[i % w->buffers]);
  if (w->task->phase[PREM_WRITEBACK].exists)
    take(w, PREM_WRITEBACK, i, from_ns);
}

/* As many prefetches as there are buffers go ahead; then each buffer that a compute gives back is
 * filled before that tile is written back, so that computes wait least. */
int64_t prem_job_chain(const prem_schedule *schedule, const prem_task *task, int32_t position,
                       int32_t warmup, prem_job_step *steps) {
  walk w = {.schedule = schedule,
            .task = task,
            .out = steps,
            .tiles = tiles_on(task, position, warmup),
            .position = position,
            .warmup = warmup,
            .buffers = schedule->platform.buffers};
  const bool stores_first = w.buffers == 1;
  for (int64_t i = 0; i < w.buffers; ++i)
    fetch(&w, i);
  for (int64_t i = 0; i < w.tiles; ++i) {
    compute(&w, i);
    const int64_t ready_ns = w.data_ns[i % w.buffers];
    if (stores_first)
      store(&w, i, ready_ns);
    fetch(&w, i + w.buffers);
    if (!stores_first)
      store(&w, i, ready_ns);
  }
  return w.end_ns;
}
