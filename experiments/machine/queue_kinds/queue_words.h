/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What queues.h is made of, for the host (C11) and for the GPU (CUDA): words of 8 bytes and waits
 * that end. The explorer of all interleavings has a third form
 * (tests/experiments/test_queue_orders.c).
 */
#pragma once

#include "runtime/core/ring.h"

#define QUEUE_CODE PREM_RING_CODE

/** What waits have in common. */
typedef struct queue_waits {
  prem_ring_line stuck; /* 1: a wait took longer than `patience_ns`, and all give up */
  int64_t patience_ns;
} queue_waits;

/** A wait under way. */
typedef struct queue_wait_state {
  queue_waits *waits;
  int64_t since_ns;
  uint32_t looks;
} queue_wait_state;

QUEUE_CODE queue_wait_state queue_wait_begin(queue_waits *waits) {
  const queue_wait_state wait = {waits, 0, 0};
  return wait;
}

QUEUE_CODE uint64_t queue_load(const prem_word *word) {
  return prem_ring_load(word);
}
QUEUE_CODE uint64_t queue_load_acquire(const prem_word *word) {
  return prem_word_near(word);
}
QUEUE_CODE void queue_store_release(prem_word *word, uint64_t value) {
  prem_word_set_near(word, value);
}
QUEUE_CODE uint64_t queue_add(prem_word *word, uint64_t value) {
  return prem_ring_add(word, value);
}

#ifdef __CUDACC__
QUEUE_CODE void queue_store(prem_word *word, uint64_t value) {
  prem_store_relaxed(word, value);
}
/** Add to one half, of 32 bits; what was there before. */
QUEUE_CODE uint32_t queue_add_low(prem_word *word, uint32_t value) {
  return atomicAdd((unsigned *)word, value);
}
QUEUE_CODE uint32_t queue_add_high(prem_word *word, uint32_t value) {
  return atomicAdd((unsigned *)word + 1, value);
}
/** Of a slot; what was done before comes before it, if `releases`; */
QUEUE_CODE uint64_t queue_cas(prem_word *word, uint64_t expected, uint64_t value, bool releases) {
  if (releases)
    prem_gpu_fence();
  return atomicCAS((unsigned long long *)word, (unsigned long long)expected,
                   (unsigned long long)value);
}
/** what is done next comes after it, if `acquires`. */
QUEUE_CODE uint64_t queue_exchange(prem_word *word, uint64_t value, bool acquires) {
  const uint64_t was = atomicExch((unsigned long long *)word, (unsigned long long)value);
  if (acquires)
    prem_gpu_fence();
  return was;
}
QUEUE_CODE int64_t queue_clock_ns(void) {
  return prem_clock_ns();
}
QUEUE_CODE void queue_pause(void) {
  __nanosleep(20);
}
#else
#include <sched.h>

#include "prem/base/clock.h"

QUEUE_CODE void queue_store(prem_word *word, uint64_t value) {
  atomic_store_explicit(word, value, memory_order_relaxed);
}
/* A core has no read-modify-write of a half in C11; the other half stays. */
QUEUE_CODE uint64_t queue_add_masked(prem_word *word, uint64_t value, uint64_t mask) {
  uint64_t was = queue_load(word);
  while (!atomic_compare_exchange_weak_explicit(word, &was, (was & ~mask) | ((was + value) & mask),
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
  return was;
}
QUEUE_CODE uint32_t queue_add_low(prem_word *word, uint32_t value) {
  return (uint32_t)queue_add_masked(word, value, UINT32_MAX);
}
QUEUE_CODE uint32_t queue_add_high(prem_word *word, uint32_t value) {
  return (uint32_t)(queue_add_masked(word, (uint64_t)value << 32, (uint64_t)UINT32_MAX << 32) >>
                    32);
}
QUEUE_CODE uint64_t queue_cas(prem_word *word, uint64_t expected, uint64_t value, bool releases) {
  atomic_compare_exchange_strong_explicit(word, &expected, value,
                                          releases ? memory_order_release : memory_order_relaxed,
                                          memory_order_relaxed);
  return expected;
}
QUEUE_CODE uint64_t queue_exchange(prem_word *word, uint64_t value, bool acquires) {
  return atomic_exchange_explicit(word, value,
                                  acquires ? memory_order_acquire : memory_order_relaxed);
}
QUEUE_CODE int64_t queue_clock_ns(void) {
  return prem_host_clock_ns();
}
QUEUE_CODE void queue_pause(void) {
  sched_yield();
}
#endif

/** Has anybody given up? */
QUEUE_CODE bool queue_is_stuck(queue_waits *waits) {
  return queue_load(&waits->stuck.word) != 0;
}
QUEUE_CODE void queue_give_up(queue_waits *waits) {
  queue_store(&waits->stuck.word, 1);
}

/** It was in vain: look again? The clock is looked at now and then only. */
QUEUE_CODE bool queue_wait(queue_wait_state *wait) {
  queue_pause();
  if (++wait->looks % 64 != 0)
    return true;
  const int64_t now_ns = queue_clock_ns();
  if (wait->since_ns == 0)
    wait->since_ns = now_ns;
  if (now_ns - wait->since_ns > wait->waits->patience_ns)
    queue_give_up(wait->waits);
  return !queue_is_stuck(wait->waits);
}
