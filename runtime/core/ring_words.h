/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What ring.h and errand_made.h are made of, for the host (C11) and for the GPU (CUDA). The
 * explorer of all interleavings has a third form (tests/common/explored_words.h).
 *
 * A slot is a sequence number and an item. Orders, and why:
 *
 *   number, stored   release: of a put the item, and what lies behind it, come before; of a take
 *                    the item has been read before the slot is free
 *   number, loaded   acquire: the other half of both
 *   item             relaxed: it lies between the two
 *   counters,        relaxed: they say how many may come in, never what a slot holds. Who sees
 *   credits          them too early finds a slot whose turn has not come, and looks again
 *
 * That is the host's form; the thread sanitizer understands it. On the GPU number and item are one
 * relaxed access of 16 bytes, which cannot be torn, and one fence a call does for all lanes what
 * release and acquire do for each. Nobody may touch a slot of a GPU in pieces of 8 bytes: accesses
 * of mixed size promise nothing.
 */
#pragma once

#include "runtime/core/live_words.h"

typedef struct prem_ring_slot {
  alignas(16) prem_word sequence;
  prem_word item;
} prem_ring_slot;

#ifdef __CUDACC__
#define PREM_RING_CODE static __device__ __forceinline__
#define PREM_RING_INIT static __host__ __device__ inline

/** A warp acts as one: each lane has one item of a batch. */
enum { PREM_RING_LANES = 32 };
PREM_RING_CODE uint32_t prem_ring_lane(void) {
  return threadIdx.x % PREM_RING_LANES;
}
/** What lane 0 has. */
PREM_RING_CODE uint64_t prem_ring_from_first(uint64_t value) {
  return __shfl_sync(0xffffffffu, value, 0);
}
/** The bits of all lanes, each of which has its own or none. */
PREM_RING_CODE uint32_t prem_ring_of_all(uint32_t bits) {
  return __ballot_sync(0xffffffffu, bits != 0);
}
PREM_RING_CODE uint32_t prem_ring_count(uint32_t bits) {
  return (uint32_t)__popc(bits);
}
PREM_RING_CODE void prem_ring_meet(void) {
  __syncwarp();
}

PREM_RING_CODE uint64_t prem_ring_load(const prem_word *word) {
  return prem_load_relaxed(word);
}
PREM_RING_CODE uint64_t prem_ring_add(prem_word *word, uint64_t value) {
  return prem_add_relaxed(word, value);
}
PREM_RING_CODE uint64_t prem_ring_exchange(prem_word *word, uint64_t value) {
  return prem_exchange_relaxed(word, value);
}
PREM_RING_CODE void prem_ring_fence(void) {
  prem_gpu_fence();
}
PREM_RING_CODE uint64_t prem_ring_look(const prem_ring_slot *slot, uint64_t *item) {
  const ulonglong2 both = prem_load_16_relaxed(slot);
  *item = both.y;
  return both.x;
}
PREM_RING_CODE void prem_ring_set(prem_ring_slot *slot, uint64_t sequence, uint64_t item) {
  prem_store_16_relaxed(slot, make_ulonglong2(sequence, item));
}
PREM_RING_INIT void prem_ring_word_init(prem_word *word, uint64_t value) {
  *word = value;
}
#else
#define PREM_RING_CODE static inline
#define PREM_RING_INIT static inline

/** A thread goes through its batch one item after the other. */
enum { PREM_RING_LANES = 1 };
PREM_RING_CODE uint32_t prem_ring_lane(void) {
  return 0;
}
PREM_RING_CODE uint64_t prem_ring_from_first(uint64_t value) {
  return value;
}
PREM_RING_CODE uint32_t prem_ring_of_all(uint32_t bits) {
  return bits;
}
PREM_RING_CODE uint32_t prem_ring_count(uint32_t bits) {
  return (uint32_t)__builtin_popcount(bits);
}
PREM_RING_CODE void prem_ring_meet(void) {}

PREM_RING_CODE uint64_t prem_ring_load(const prem_word *word) {
  return atomic_load_explicit(word, memory_order_relaxed);
}
PREM_RING_CODE uint64_t prem_ring_add(prem_word *word, uint64_t value) {
  return atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}
PREM_RING_CODE uint64_t prem_ring_exchange(prem_word *word, uint64_t value) {
  return atomic_exchange_explicit(word, value, memory_order_relaxed);
}
PREM_RING_CODE void prem_ring_fence(void) {}
PREM_RING_CODE uint64_t prem_ring_look(const prem_ring_slot *slot, uint64_t *item) {
  const uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  *item = atomic_load_explicit(&slot->item, memory_order_relaxed);
  return sequence;
}
PREM_RING_CODE void prem_ring_set(prem_ring_slot *slot, uint64_t sequence, uint64_t item) {
  atomic_store_explicit(&slot->item, item, memory_order_relaxed);
  atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
}
PREM_RING_INIT void prem_ring_word_init(prem_word *word, uint64_t value) {
  atomic_init(word, value);
}
#endif
