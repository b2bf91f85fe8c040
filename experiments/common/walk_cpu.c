/* SPDX-License-Identifier: Apache-2.0 */
/* Walks on the host: a kernel is a thread on a core of its own. */
#include "experiments/common/cores.h"
#include "experiments/common/walk_order.h"
#include "experiments/common/walk_room.h"
#include "prem/base/clock.h"

enum { LINE_BYTES = 64, LINE_WORDS = LINE_BYTES / sizeof(uint32_t) };

/** A line; the rest of it is not looked at. */
typedef struct node {
  uint32_t next;
  uint32_t padding[LINE_WORDS - 1];
} node;
_Static_assert(sizeof(node) == LINE_BYTES, "a node is a line");

typedef struct one_walk {
  const node *list;
  uint32_t nodes, first;
  int64_t steps;
  int32_t *gate;
  int kernels;
  bool together;
  prem_walk_step result;
} one_walk;

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

prem_status prem_cpu_walk(void *opened, const prem_walk *walk, prem_walk_time *out,
                          prem_diag *diag) {
  prem_walk_room *room = opened;
  const uint32_t nodes = (uint32_t)(walk->bytes / LINE_BYTES);
  if (walk->bytes * walk->kernels > room->bytes || walk->kernels > room->core_count ||
      walk->threads != 1)
    return PREM_ERR_ARGUMENT;
  prem_walk_room_make(room, walk->bytes, walk->kernels, walk->order, LINE_WORDS);
  one_walk walks[PREM_WALK_KERNELS];
  prem_walk_step results[PREM_WALK_KERNELS];
  int32_t gate = 0;
  const uint32_t first = prem_walk_node(0, nodes, walk->order == PREM_WALK_RANDOM, room->seed);
  for (int32_t k = 0; k < walk->kernels; ++k)
    walks[k] = (one_walk){.list = (const node *)(const void *)room->words + (size_t)k * nodes,
                          .nodes = nodes,
                          .first = first,
                          .steps = walk->steps,
                          .gate = &gate,
                          .kernels = walk->kernels};
  const prem_status status =
      prem_walk_room_run(room, walk->kernels, walk_alone, walks, sizeof *walks, diag);
  *out = (prem_walk_time){.together = status == PREM_OK};
  if (status != PREM_OK)
    return status;
  for (int32_t k = 0; k < walk->kernels; ++k) {
    results[k] = walks[k].result;
    out->together &= walks[k].together;
  }
  prem_walk_judge(walk, nodes, room->seed, results, out);
  return PREM_OK;
}
