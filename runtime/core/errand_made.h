/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tiles that a tile makes for its errand, each once, whoever names it: on the host and on the GPU;
 * the explorer of all interleavings has a third form (tests/runtime/test_made_orders.c).
 *
 * A made tile is counted in `left` before it lies in the server's ring, and before the tile that
 * makes it ends. So `left` comes to 0 when all have ended, and not before. All accesses are
 * relaxed: they say whether there is one more tile; what it is about comes with it, by the ring.
 */
#ifndef TTPREM_RUNTIME_CORE_ERRAND_MADE_H
#define TTPREM_RUNTIME_CORE_ERRAND_MADE_H

#include "runtime/core/ring.h"

/** The errand of a tile that makes others. */
typedef struct prem_making {
  prem_word *had;       /* [tiles]: 1 + the number of the last errand here that it was made for */
  prem_word *all;       /* tiles that it has had */
  prem_word *left;      /* tiles that have not ended */
  uint64_t number;      /* no other errand has it */
  int32_t first, count; /* what it asked for */
  int32_t tiles, most;  /* of the task; of an errand */
} prem_making;

typedef enum prem_made {
  PREM_MADE_NEW,    /* who asked puts it into the ring */
  PREM_MADE_BEFORE, /* the errand has it */
  PREM_MADE_NONE    /* the errand may not have it: it is not done */
} prem_made;

/** @param may  by the tile's generation */
PREM_RING_CODE prem_made prem_tile_make(const prem_making *of, int32_t tile, bool may) {
  if (tile < 0 || tile >= of->tiles)
    return PREM_MADE_NONE;
  if (tile >= of->first && tile - of->first < of->count)
    return PREM_MADE_BEFORE;
  if (prem_ring_exchange(&of->had[tile], of->number + 1) == of->number + 1)
    return PREM_MADE_BEFORE;
  if (!may || prem_ring_add(of->all, 1) >= (uint64_t)of->most)
    return PREM_MADE_NONE;
  prem_ring_add(of->left, 1);
  return PREM_MADE_NEW;
}

/* As it lies in a ring. The generation of one that was asked for is 0. */
PREM_RING_CODE uint64_t prem_tile_item(int32_t generation, int32_t room, int32_t tile) {
  return (uint64_t)generation << 48 | (uint64_t)room << 32 | (uint32_t)tile;
}
PREM_RING_CODE int32_t prem_item_generation(uint64_t item) {
  return (int32_t)(item >> 48);
}
PREM_RING_CODE int32_t prem_item_room(uint64_t item) {
  return (int32_t)(item >> 32 & UINT16_MAX);
}
PREM_RING_CODE int32_t prem_item_tile(uint64_t item) {
  return (int32_t)(uint32_t)item;
}

#endif
