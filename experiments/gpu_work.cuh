/** What the kernels of experiments share: the clock, words that others write, waits that end. */
#ifndef TTPREM_GPU_WORK_CUH
#define TTPREM_GPU_WORK_CUH

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

/* System scope serves words in L2 and in the host's memory. */
static __device__ __forceinline__ uint32_t prem_gpu_look(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

static __device__ __forceinline__ void prem_gpu_tell(uint32_t *word, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/** Wait until a word is at least `value`; false when the deadline passes first. */
static __device__ __forceinline__ bool prem_gpu_wait(const uint32_t *word, uint32_t value,
                                                     int64_t deadline_ns) {
  while ((int32_t)(prem_gpu_look(word) - value) < 0)
    if (prem_gpu_clock_ns() > deadline_ns)
      return false;
  return true;
}

#endif
