/* SPDX-License-Identifier: Apache-2.0 */
/** Frames one behind the other, several of them under way at once. */
#ifndef TTPREM_EXPERIMENTS_LIVE_LIVE_PIPELINE_PIPELINE_H
#define TTPREM_EXPERIMENTS_LIVE_LIVE_PIPELINE_PIPELINE_H

#include "experiments/live/ways/ways.h"

typedef enum prem_pipeline_way {
  PREM_PIPELINE_LIVE,     /* a live session's queues */
  PREM_PIPELINE_RESIDENT, /* a resident kernel on mapped memory, the paper's double buffers */
  PREM_PIPELINE_STREAMS,  /* a stream for each buffer: copy, launch, copy */
  PREM_PIPELINE_GRAPHS,   /* the same as a graph for each buffer */
  PREM_PIPELINE_COUNT
} prem_pipeline_way;

enum { PREM_PIPELINE_MAX_BUFFERS = 4, PREM_PIPELINE_MARKS = 3 };

typedef struct prem_pipeline_setup {
  prem_pipeline_way way;
  int32_t buffers; /* frames that are under way at once, 1 .. PREM_PIPELINE_MAX_BUFFERS */
  int32_t floats;  /* of a frame: 1 is added to each */
  int32_t blocks, threads;
} prem_pipeline_setup;

typedef struct prem_pipeline_run {
  int64_t warm_up, count; /* frames */
  int64_t end_ns;         /* of the host's clock: no frame begins behind it, but for the first that
                             counts */
  const volatile sig_atomic_t *stop;
  int64_t *age_ns; /* [count]: from when a frame was there until its result was */
  int64_t frames;  /* that count */
  int64_t took_ns; /* all of those together */
  int64_t wrong;
} prem_pipeline_run;

/** Where a frame is marked, and where its result is looked at. */
static inline int64_t prem_pipeline_mark(int64_t floats, int mark) {
  return mark * (floats - 1) / (PREM_PIPELINE_MARKS - 1);
}
/** What frame number `frame` is marked with. */
static inline float prem_pipeline_value(int64_t frame, int mark) {
  return (float)((frame * 7 + mark) % 4096);
}
static inline void prem_pipeline_write(float *values, int64_t floats, int64_t frame) {
  for (int mark = 0; mark < PREM_PIPELINE_MARKS; ++mark)
    values[prem_pipeline_mark(floats, mark)] = prem_pipeline_value(frame, mark);
}
static inline bool prem_pipeline_right(const float *values, int64_t floats, int64_t frame) {
  bool right = true;
  for (int mark = 0; mark < PREM_PIPELINE_MARKS; ++mark)
    right &= values[prem_pipeline_mark(floats, mark)] == prem_pipeline_value(frame, mark) + 1.0F;
  return right;
}
/** Frame number `frame` has come out. */
static inline void prem_pipeline_keep(prem_pipeline_run *run, int64_t frame, int64_t age_ns,
                                      bool right) {
  run->wrong += !right;
  if (frame >= run->warm_up && run->frames < run->count)
    run->age_ns[run->frames++] = age_ns;
}

PREM_EXTERN_C_BEGIN

/** All ways but live sessions. Errors as prem_way_run(). */
prem_status prem_pipeline_on_gpu(const prem_pipeline_setup *setup, prem_pipeline_run *run,
                                 prem_diag *diag);
prem_status prem_pipeline_live(const prem_experiment_context *context,
                               const prem_pipeline_setup *setup, prem_pipeline_run *run,
                               prem_diag *diag);

PREM_EXTERN_C_END
#endif
