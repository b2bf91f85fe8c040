/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How blocks share the tiles of one errand, and take turns to look for the next one. For the GPU;
 * the explorer of all interleavings compiles it for itself (tests/runtime/test_claim_orders.c).
 *
 *   open   prem_open_word(): the errand in work. Who adds to it, and finds that what was there is
 *          below the end, has those tiles. Only who looks replaces it, when all are out
 *   looks  1: a block looks
 *   left   of an errand: tiles that have not ended
 *
 * Adds are relaxed: what the errand is about was stored before `open` with release, and is read
 * behind a fence; what was done for a tile is before its end by a fence, and who ends the last one
 * sees all of it behind another. Every call is bounded.
 */
#ifndef TTPREM_RUNTIME_CORE_ERRAND_CLAIM_H
#define TTPREM_RUNTIME_CORE_ERRAND_CLAIM_H

#include "runtime/core/errand_words.h"

#ifndef PREM_CLAIM_LOAD
#include "runtime/core/ptx.cuh"
#define PREM_CLAIM_CODE static __device__ __forceinline__
typedef uint64_t prem_claim_word;
#define PREM_CLAIM_LOAD(word)             prem_load_relaxed(word)
#define PREM_CLAIM_ADD(word, by)          prem_add_relaxed(word, by)
#define PREM_CLAIM_SWAP(word, was, value) prem_swap_relaxed(word, was, value)
#define PREM_CLAIM_RELEASE(word, value)   prem_store_release(word, value)
#define PREM_CLAIM_FENCE()                prem_gpu_fence()
#endif

PREM_CLAIM_CODE int32_t prem_open_left(uint64_t word) {
  return prem_open_end(word) - prem_open_next(word);
}

/** Claim some tiles of the errand in work.
 *  @param[out] word   its room, and the first of them
 *  @param[out] count  how many */
PREM_CLAIM_CODE bool prem_open_claim(prem_claim_word *open, int32_t parts, uint64_t *word,
                                     int32_t *count) {
  *word = PREM_CLAIM_LOAD(open);
  if (prem_open_left(*word) <= 0)
    return false;
  *count = prem_claim_of(prem_open_left(*word), parts);
  /* of another errand so many may be too many */
  if (*count == 1 || !PREM_CLAIM_SWAP(open, word, *word + (uint64_t)*count)) {
    *count = 1;
    *word = PREM_CLAIM_ADD(open, 1);
  }
  PREM_CLAIM_FENCE();
  return prem_open_left(*word) > 0;
}

/** Let others claim tiles [next, end) of an errand. Who looks alone. */
PREM_CLAIM_CODE void prem_open_set(prem_claim_word *open, int32_t room, int32_t next, int32_t end) {
  PREM_CLAIM_RELEASE(open, prem_open_word(room, next, end));
}

PREM_CLAIM_CODE void prem_look_end(prem_claim_word *looks) {
  PREM_CLAIM_RELEASE(looks, 0);
}

/** May one who found no tiles look from now on? */
PREM_CLAIM_CODE bool prem_look_begin(prem_claim_word *looks, prem_claim_word *open) {
  uint64_t nobody = 0;
  if (PREM_CLAIM_LOAD(looks) != 0 || !PREM_CLAIM_SWAP(looks, &nobody, 1))
    return false;
  PREM_CLAIM_FENCE(); /* what the one before has done */
  /* which may have found an errand since this one saw that all tiles were out */
  const bool are_out = prem_open_left(PREM_CLAIM_LOAD(open)) <= 0;
  if (!are_out)
    prem_look_end(looks);
  return are_out;
}

/** A tile has ended: was it the errand's last one? */
PREM_CLAIM_CODE bool prem_tile_is_last(prem_claim_word *left) {
  PREM_CLAIM_FENCE();
  const bool is_last = PREM_CLAIM_ADD(left, UINT64_MAX) == 1;
  PREM_CLAIM_FENCE();
  return is_last;
}

#endif
