/* SPDX-License-Identifier: Apache-2.0 */
/** Lists in the host's memory, and threads on cores of their own that walk them: what walks over
 *  nodes (walks.h) and over elements (elements.h) share. */
#pragma once

#include "experiments/common/walks.h"

typedef struct prem_walk_room {
  uint32_t *words;
  int64_t bytes;
  uint64_t seed;
  int32_t cores[PREM_WALK_KERNELS], core_count;
  /* what the lists in the room are, so that they are made once for several walks */
  int64_t made_bytes;
  int32_t made_kernels;
  prem_walk_order made_order;
} prem_walk_room;

/** @param[out] out  a prem_walk_room; close with prem_walk_room_close() */
prem_status prem_walk_room_open(int64_t bytes, uint64_t seed, void **out);
void prem_walk_room_close(void *room);
/** A list of `bytes` for each kernel, one behind the other, unless they are there. A node has
 *  `node_words` words, the first of them the next node's number. */
void prem_walk_room_make(prem_walk_room *room, int64_t bytes, int32_t kernels,
                         prem_walk_order order, uint32_t node_words);
/**
 * Run `work` on a core of its own for each kernel, and wait for all.
 *
 * @param walks  [kernels], of `walk_bytes` each: what `work` gets
 */
prem_status prem_walk_room_run(const prem_walk_room *room, int32_t kernels, void *(*work)(void *),
                               void *walks, size_t walk_bytes, prem_diag *diag);
