/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Words of 8 bytes by which those who run at the same time tell each other something. Each has one
 * writer and is never reset. The code that uses them (channel.h, courier_steps.h) is compiled for
 * the host and for the GPU: PREM_SHARED_CODE stands before its functions, PREM_SHARED_CALL before
 * those that stay functions on a GPU. What is put in place wherever it is called does not fit a
 * GPU's cache of instructions: the courier had half a MB of them, and took longer to fetch than to
 * work them.
 *
 * A *far* word is between the host and the GPU: it lies in the host's memory, and the GPU reaches
 * it over its bus. A *near* word is between the courier and the blocks. Without a GPU both are the
 * same. Loads are acquire, stores release, unless the name says otherwise; as C11 has them, on the
 * GPU at the scope of the system for far words and of the GPU for near ones.
 */
#ifndef TTPREM_RUNTIME_CORE_LIVE_WORDS_H
#define TTPREM_RUNTIME_CORE_LIVE_WORDS_H

#include <stdalign.h>
#include <stdint.h>

enum { PREM_LINE_BYTES = 128 }; /* two cache lines, which the prefetcher fetches in pairs */

#ifdef __CUDACC__
#include "runtime/core/ptx.cuh"

#define PREM_SHARED_CODE static __device__ inline
#define PREM_SHARED_CALL static __device__ __noinline__ __attribute__((unused))
typedef uint64_t prem_word;

PREM_SHARED_CODE uint64_t prem_word_near(const prem_word *word) {
  return prem_load_acquire(word);
}
PREM_SHARED_CODE void prem_word_set_near(prem_word *word, uint64_t value) {
  prem_store_release(word, value);
}
PREM_SHARED_CODE uint64_t prem_word_far(const prem_word *word) {
  return prem_system_load_acquire(word);
}
PREM_SHARED_CODE void prem_word_set_far(prem_word *word, uint64_t value) {
  prem_system_store_release(word, value);
}
PREM_SHARED_CODE void prem_word_set_far_relaxed(prem_word *word, uint64_t value) {
  prem_system_store_relaxed(word, value);
}
/** What was done and seen before is before what follows. */
PREM_SHARED_CODE void prem_fence_far(void) {
  prem_system_fence();
}
/** In the one order of all ordered accesses. */
PREM_SHARED_CODE uint64_t prem_word_far_ordered(const prem_word *word) {
  prem_system_fence_ordered();
  return prem_word_far(word);
}
PREM_SHARED_CODE void prem_word_set_far_ordered(prem_word *word, uint64_t value) {
  prem_system_fence_ordered();
  prem_word_set_far_relaxed(word, value);
}
/** A number that others write one at a time, each larger than the last. */
PREM_SHARED_CODE int64_t prem_load_end_ns(const int64_t *end_ns) {
  return *(const volatile int64_t *)end_ns;
}
PREM_SHARED_CODE void prem_store_end_ns(int64_t *end_ns, int64_t value) {
  *(volatile int64_t *)end_ns = value;
}
#else
#include <stdatomic.h>

#define PREM_SHARED_CODE static inline
#define PREM_SHARED_CALL static inline
typedef _Atomic uint64_t prem_word;

PREM_SHARED_CODE uint64_t prem_word_near(const prem_word *word) {
  return atomic_load_explicit(word, memory_order_acquire);
}
PREM_SHARED_CODE void prem_word_set_near(prem_word *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
}
PREM_SHARED_CODE uint64_t prem_word_far(const prem_word *word) {
  return atomic_load_explicit(word, memory_order_acquire);
}
PREM_SHARED_CODE void prem_word_set_far(prem_word *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_release);
}
PREM_SHARED_CODE void prem_word_set_far_relaxed(prem_word *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_relaxed);
}
PREM_SHARED_CODE uint64_t prem_word_far_ordered(const prem_word *word) {
  return atomic_load_explicit(word, memory_order_seq_cst);
}
PREM_SHARED_CODE void prem_word_set_far_ordered(prem_word *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_seq_cst);
}
PREM_SHARED_CODE int64_t prem_load_end_ns(const int64_t *end_ns) {
  return __atomic_load_n(end_ns, __ATOMIC_RELAXED);
}
PREM_SHARED_CODE void prem_store_end_ns(int64_t *end_ns, int64_t value) {
  __atomic_store_n(end_ns, value, __ATOMIC_RELAXED);
}
#endif

PREM_SHARED_CALL int64_t prem_quotient_of(int64_t a, int64_t by) {
  return (uint64_t)(a | by) >> 32 == 0 ? (int64_t)((uint32_t)a / (uint32_t)by) : a / by;
}
/** a / by, both not below 0: a GPU takes a tenth of the time for numbers of 32 bits, and most are.
 */
PREM_SHARED_CODE int64_t prem_quotient(int64_t a, int64_t by) {
  return by == 1 ? a : prem_quotient_of(a, by);
}
PREM_SHARED_CODE int64_t prem_remainder(int64_t a, int64_t by) {
  return a - prem_quotient(a, by) * by;
}

/** A word alone in its lines. */
typedef struct prem_live_word {
  alignas(PREM_LINE_BYTES) prem_word value;
} prem_live_word;

#endif
