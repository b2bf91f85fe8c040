/* SPDX-License-Identifier: Apache-2.0 */
/* Walks on the host: a kernel is a thread on a core of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "experiments/common/cores.h"
#include "experiments/common/walk_order.h"
#include "experiments/common/walks.h"
#include "prem/base/clock.h"

enum { LINE_BYTES = 64, HUGE_BYTES = 2 << 20 };

/** A line; the rest of it is not looked at. */
typedef struct node {
  uint32_t next;
  uint32_t padding[LINE_BYTES / 4 - 1];
} node;
_Static_assert(sizeof(node) == LINE_BYTES, "a node is a line");

typedef struct cpu_walker {
  node *room;
  int64_t room_bytes;
  uint64_t seed;
  int32_t cores[PREM_WALK_KERNELS], core_count;
  /* what the lists in the room are, so that they are made once for several walks */
  int64_t made_bytes;
  int32_t made_kernels;
  prem_walk_order made_order;
} cpu_walker;

typedef struct one_walk {
  node *list;
  uint32_t nodes, first;
  int64_t steps;
  int32_t *gate;
  int kernels;
  bool together;
  prem_walk_step result;
} one_walk;

/* ---- walking -------------------------------------------------------------------------------- */

static uint32_t follow(const node *list, uint32_t from, int64_t steps) {
  uint32_t at = from;
  for (int64_t step = 0; step < steps; ++step)
    at = list[at].next;
  return at;
}

static void *walk_alone(void *argument) {
  one_walk *walk = argument;
  volatile uint32_t *touched = &walk->result.last;
  *touched = follow(walk->list, walk->first, 2 * (int64_t)walk->nodes);
  walk->together = prem_cores_meet(walk->gate, walk->kernels);
  const int64_t begin_ns = prem_host_clock_ns();
  *touched = follow(walk->list, walk->first, walk->steps);
  walk->result.ns = prem_host_clock_ns() - begin_ns;
  return NULL;
}

static void make_lists(cpu_walker *walker, const prem_walk *walk, uint32_t nodes) {
  if (walker->made_bytes == walk->bytes && walker->made_kernels >= walk->kernels &&
      walker->made_order == walk->order)
    return;
  const int random = walk->order == PREM_WALK_RANDOM;
  const uint32_t first = prem_walk_node(0, nodes, random, walker->seed);
  uint32_t at = first;
  for (uint32_t visit = 1; visit <= nodes; ++visit) {
    const uint32_t next =
        visit < nodes ? prem_walk_node(visit, nodes, random, walker->seed) : first;
    for (int32_t kernel = 0; kernel < walk->kernels; ++kernel)
      walker->room[(size_t)kernel * nodes + at].next = next;
    at = next;
  }
  walker->made_bytes = walk->bytes;
  walker->made_kernels = walk->kernels;
  walker->made_order = walk->order;
}

prem_status prem_cpu_walk(void *opened, const prem_walk *walk, prem_walk_time *out,
                          prem_diag *diag) {
  cpu_walker *walker = opened;
  const uint32_t nodes = (uint32_t)(walk->bytes / LINE_BYTES);
  if (walk->bytes * walk->kernels > walker->room_bytes || walk->kernels > walker->core_count ||
      walk->threads != 1)
    return PREM_ERR_ARGUMENT;
  make_lists(walker, walk, nodes);
  one_walk walks[PREM_WALK_KERNELS];
  pthread_t threads[PREM_WALK_KERNELS];
  prem_walk_step results[PREM_WALK_KERNELS];
  int32_t gate = 0;
  int error = 0, started = 0;
  for (; started < walk->kernels && !error; started += !error) {
    walks[started] =
        (one_walk){.list = walker->room + (size_t)started * nodes,
                   .nodes = nodes,
                   .first = prem_walk_node(0, nodes, walk->order == PREM_WALK_RANDOM, walker->seed),
                   .steps = walk->steps,
                   .gate = &gate,
                   .kernels = walk->kernels};
    error = prem_core_start(&threads[started], walker->cores[started], walk_alone, &walks[started]);
  }
  *out = (prem_walk_time){.together = !error};
  for (int i = 0; i < started; ++i) {
    pthread_join(threads[i], NULL);
    results[i] = walks[i].result;
    out->together &= walks[i].together;
  }
  if (error) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "no thread can be started: %s",
                  strerror(error));
    return PREM_ERR_MACHINE;
  }
  prem_walk_judge(walk, nodes, walker->seed, results, out);
  return PREM_OK;
}

/* ---- room ----------------------------------------------------------------------------------- */

prem_status prem_cpu_walker_open(int64_t room_bytes, uint64_t seed, void **out, prem_diag *diag) {
  (void)diag;
  cpu_walker *walker = calloc(1, sizeof *walker);
  if (!walker)
    return PREM_ERR_MEMORY;
  const size_t whole = ((size_t)room_bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  walker->room = aligned_alloc(HUGE_BYTES, whole);
  if (!walker->room) {
    free(walker);
    return PREM_ERR_MEMORY;
  }
  /* With small pages the walks would measure the translation of addresses. */
  madvise(walker->room, whole, MADV_HUGEPAGE);
  walker->room_bytes = room_bytes;
  walker->seed = seed;
  walker->core_count = prem_cores_list(walker->cores, PREM_WALK_KERNELS);
  *out = walker;
  return PREM_OK;
}

void prem_cpu_walker_close(void *opened) {
  cpu_walker *walker = opened;
  free(walker->room);
  free(walker);
}
