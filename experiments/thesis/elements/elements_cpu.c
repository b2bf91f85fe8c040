/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements on the host: a kernel is a thread on a core of its own. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "experiments/common/cores.h"
#include "experiments/common/walk_order.h"
#include "experiments/thesis/elements/elements.h"
#include "prem/base/clock.h"

enum { HUGE_BYTES = 2 << 20 };

typedef struct cpu_elements {
  uint32_t *room;
  int64_t room_bytes;
  uint64_t seed;
  int32_t cores[PREM_WALK_KERNELS], core_count;
  /* what the lists in the room are, so that they are made once for several walks */
  prem_element_walk made;
} cpu_elements;

typedef struct one_walk {
  const prem_element_walk *walk;
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
  const prem_element_walk *walk = self->walk;
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

static void make_lists(cpu_elements *elements, const prem_element_walk *walk) {
  const uint32_t count = (uint32_t)(walk->bytes / PREM_ELEMENT_BYTES);
  const prem_element_walk *made = &elements->made;
  if (made->bytes == walk->bytes && made->kernels >= walk->kernels && made->order == walk->order)
    return;
  const int random = walk->order == PREM_WALK_RANDOM;
  const uint32_t first = prem_walk_node(0, count, random, elements->seed);
  uint32_t at = first;
  for (uint32_t visit = 1; visit <= count; ++visit) {
    const uint32_t next =
        visit < count ? prem_walk_node(visit, count, random, elements->seed) : first;
    for (int32_t kernel = 0; kernel < walk->kernels; ++kernel)
      elements->room[(size_t)kernel * count + at] = next;
    at = next;
  }
  elements->made = *walk;
}

prem_status prem_cpu_elements_walk(void *opened, const prem_element_walk *walk,
                                   prem_element_step *steps, bool *together, prem_diag *diag) {
  cpu_elements *elements = opened;
  const size_t count = (size_t)(walk->bytes / PREM_ELEMENT_BYTES);
  if (walk->bytes * walk->kernels > elements->room_bytes || walk->kernels > elements->core_count ||
      walk->threads != 1)
    return PREM_ERR_ARGUMENT;
  int32_t *gates = calloc((size_t)walk->repeats + 1, sizeof *gates);
  if (!gates)
    return PREM_ERR_MEMORY;
  make_lists(elements, walk);
  one_walk walks[PREM_WALK_KERNELS];
  pthread_t threads[PREM_WALK_KERNELS];
  int error = 0, started = 0;
  for (; started < walk->kernels && !error; started += !error) {
    walks[started] = (one_walk){.walk = walk,
                                .list = elements->room + (size_t)started * count,
                                .first = prem_element_first(walk, 0, elements->seed),
                                .last = prem_element_last(walk, 0, elements->seed),
                                .gates = gates};
    error =
        prem_core_start(&threads[started], elements->cores[started], walk_alone, &walks[started]);
  }
  *together = !error;
  for (int i = 0; i < started; ++i) {
    pthread_join(threads[i], NULL);
    steps[i] = walks[i].result;
    *together &= walks[i].together;
  }
  free(gates);
  if (!error)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "no thread can be started: %s",
                strerror(error));
  return PREM_ERR_MACHINE;
}

prem_status prem_cpu_elements_open(int64_t room_bytes, uint64_t seed, void **out, prem_diag *diag) {
  (void)diag;
  cpu_elements *elements = calloc(1, sizeof *elements);
  if (!elements)
    return PREM_ERR_MEMORY;
  const size_t whole = ((size_t)room_bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  elements->room = aligned_alloc(HUGE_BYTES, whole);
  if (!elements->room) {
    free(elements);
    return PREM_ERR_MEMORY;
  }
  /* With small pages the walks would measure the translation of addresses. */
  madvise(elements->room, whole, MADV_HUGEPAGE);
  elements->room_bytes = room_bytes;
  elements->seed = seed;
  elements->core_count = prem_cores_list(elements->cores, PREM_WALK_KERNELS);
  *out = elements;
  return PREM_OK;
}

void prem_cpu_elements_close(void *opened) {
  cpu_elements *elements = opened;
  free(elements->room);
  free(elements);
}
