/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements on the host: a kernel is a thread on a core of its own. */
#include <stdint.h>
#include <stdlib.h>

#include "experiments/common/cores.h"
#include "experiments/common/elements.h"
#include "experiments/common/walk_room.h"
#include "prem/base/clock.h"

typedef struct one_walk {
  const prem_walk *walk;
  const uint32_t *list;
  uint32_t first, last;
  int32_t *gates; /* one of each repetition */
  bool together;
  prem_element_step result;
} one_walk;

static uint32_t follow(const uint32_t *list, uint32_t from, int64_t steps, uint64_t *sum) {
  uint32_t at = from;
  uint64_t all = 0;
  for (int64_t step = 0; step < steps; ++step) {
    at = list[at];
    all += at;
  }
  *sum = all;
  return at;
}

static void keep(prem_element_step *result, int64_t took_ns, uint32_t last, uint32_t right) {
  result->sum_ns += took_ns;
  result->min_ns = took_ns < result->min_ns ? took_ns : result->min_ns;
  result->max_ns = took_ns > result->max_ns ? took_ns : result->max_ns;
  result->last = last;
  result->wrong += last != right;
}

static void *walk_alone(void *argument) {
  one_walk *self = argument;
  const prem_walk *walk = self->walk;
  const int64_t steps = prem_element_steps(walk);
  volatile uint64_t unused;
  uint64_t sum;
  self->together = true;
  self->result = (prem_element_step){.min_ns = INT64_MAX};
  uint32_t at = self->first;
  for (int32_t i = -1; i < walk->repeats; ++i) {
    self->together &= prem_cores_meet(&self->gates[i + 1], walk->kernels);
    const int64_t begin_ns = prem_host_clock_ns();
    at = follow(self->list, walk->steps ? at : self->first, steps, &sum);
    const int64_t took_ns = prem_host_clock_ns() - begin_ns;
    unused = sum;
    if (i >= 0)
      keep(&self->result, took_ns, at, walk->steps ? at : self->last);
  }
  (void)unused;
  return NULL;
}

prem_status prem_cpu_elements_walk(void *opened, const prem_walk *walk, prem_element_step *steps,
                                   bool *together, prem_diag *diag) {
  prem_walk_room *room = opened;
  const size_t count = (size_t)(walk->bytes / PREM_ELEMENT_BYTES);
  if (walk->bytes * walk->kernels > room->bytes || walk->kernels > room->core_count ||
      walk->threads != 1)
    return PREM_ERR_ARGUMENT;
  int32_t *gates = calloc((size_t)walk->repeats + 1, sizeof *gates);
  if (!gates)
    return PREM_ERR_MEMORY;
  prem_walk_room_make(room, walk->bytes, walk->kernels, walk->order, 1);
  one_walk walks[PREM_WALK_KERNELS];
  for (int32_t k = 0; k < walk->kernels; ++k)
    walks[k] = (one_walk){.walk = walk,
                          .list = room->words + (size_t)k * count,
                          .first = prem_element_first(walk, 0, room->seed),
                          .last = prem_element_last(walk, 0, room->seed),
                          .gates = gates};
  const prem_status status =
      prem_walk_room_run(room, walk->kernels, walk_alone, walks, sizeof *walks, diag);
  free(gates);
  *together = status == PREM_OK;
  for (int32_t k = 0; k < walk->kernels && status == PREM_OK; ++k) {
    steps[k] = walks[k].result;
    *together &= walks[k].together;
  }
  return status;
}
