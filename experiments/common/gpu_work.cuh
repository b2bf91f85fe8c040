/* SPDX-License-Identifier: Apache-2.0 */
/** What the kernels of experiments share: the clock, words that others write, waits that end. */
#pragma once

#include <stdint.h>

static __device__ __forceinline__ int64_t prem_gpu_clock_ns(void) {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

static __device__ __forceinline__ uint32_t prem_gpu_sm(void) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/* Words that others write, of 32 and of 64 bits: to look at one, and to tell one. */
#define PREM_WORD(type, size, in, load, store)                                                     \
  static __device__ __forceinline__ type look(const type *word) {                                  \
    type value;                                                                                    \
    asm volatile("ld." load ".global." size " %0, [%1];" : "=" in(value) : "l"(word) : "memory");  \
    return value;                                                                                  \
  }                                                                                                \
  static __device__ __forceinline__ void tell(type *word, type value) {                            \
    asm volatile("st." store ".global." size " [%0], %1;" ::"l"(word), in(value) : "memory");      \
  }
#define PREM_WORDS(load, store)                                                                    \
  PREM_WORD(uint32_t, "u32", "r", load, store)                                                     \
  PREM_WORD(uint64_t, "u64", "l", load, store)

/** Words that pass between SMs in one GPU's memory, and the data before them: a write is announced
 *  when it is seen in L2, and a look that finds it empties the SM's L1. */
struct prem_gpu_wide {
  PREM_WORDS("acquire.gpu", "release.gpu")
};

/** The same where cores take part, or the word is in the host's memory. */
struct prem_system_wide {
  PREM_WORDS("acquire.sys", "release.sys")
};

/** The word alone, which says nothing of any other: nothing waits for it, and L1 stays as it is. */
struct prem_word_alone {
  PREM_WORDS("relaxed.gpu", "relaxed.gpu")
};
struct prem_system_word_alone {
  PREM_WORDS("relaxed.sys", "relaxed.sys")
};

/** Wait until a word is at least `value`; false when the deadline passes first. The clock is looked
 *  at now and then only. */
template <typename order>
__device__ __forceinline__ bool prem_gpu_wait(const uint32_t *word, uint32_t value,
                                              int64_t deadline_ns) {
  for (uint32_t looks = 1; (int32_t)(order::look(word) - value) < 0; ++looks)
    if (looks % 64 == 0 && prem_gpu_clock_ns() > deadline_ns)
      return false;
  return true;
}
