/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: the lanes of lane_threads.h work at tiles together. */
#ifndef TESTS_COMMON_LANE_CREW_H
#define TESTS_COMMON_LANE_CREW_H

#include "tests/common/lane_threads.h"
#include "tests/common/running.h"

enum { MAX_LANES = 384 };

/** What a lane does of a tile: the suite's own. */
static void compute(const prem_task *task, const prem_view *views);

typedef struct lane {
  pthread_t thread;
  unsigned number;
} lane;

/* What all lanes work at; between two tiles they wait, which takes less than to start them anew. */
static struct {
  lane all[MAX_LANES];
  unsigned count;
  const prem_task *task;
  const prem_view *views; /* NULL: there is no further tile */
  pthread_barrier_t meet; /* of all and who hands out tiles: when one begins, and when it ends */
} crew;

static void *run_lane(void *argument) {
  const lane *own = argument;
  threadIdx.x = PREM_MEMORY_THREADS + own->number;
  for (;;) {
    pthread_barrier_wait(&crew.meet);
    if (!crew.views)
      return NULL;
    compute(crew.task, crew.views);
    pthread_barrier_wait(&crew.meet);
  }
}

static void start_lanes(unsigned lanes) {
  blockDim.x = lanes + PREM_MEMORY_THREADS;
  crew.count = lanes;
  ck_assert_int_eq(pthread_barrier_init(&lanes_meet, NULL, lanes), 0);
  ck_assert_int_eq(pthread_barrier_init(&crew.meet, NULL, lanes + 1), 0);
  for (unsigned i = 0; i < lanes; ++i) {
    crew.all[i].number = i;
    ck_assert_int_eq(pthread_create(&crew.all[i].thread, NULL, run_lane, &crew.all[i]), 0);
  }
}

static void run_lanes(const prem_task *task, const prem_view *views) {
  crew.task = task;
  crew.views = views;
  pthread_barrier_wait(&crew.meet);
  pthread_barrier_wait(&crew.meet);
}

static void end_lanes(void) {
  crew.views = NULL;
  pthread_barrier_wait(&crew.meet);
  for (unsigned i = 0; i < crew.count; ++i)
    pthread_join(crew.all[i].thread, NULL);
  pthread_barrier_destroy(&crew.meet);
  pthread_barrier_destroy(&lanes_meet);
}

#endif
