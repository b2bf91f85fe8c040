/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's clock, its abort word, and waits that always end. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_CLOCK_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_CLOCK_CUH

#ifdef __CUDA_ARCH__
#define PREM_ARCH __CUDA_ARCH__
#else
#define PREM_ARCH 0
#endif

#include "runtime/cuda/device/program.h"

static __device__ __forceinline__ int64_t prem_clock_ns(void) {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/** Look at the clock until an instant. @return the reading that showed it. */
static __device__ __forceinline__ int64_t prem_clock_await(int64_t at_ns) {
  int64_t now;
  do
    now = prem_clock_ns();
  while (now < at_ns);
  return now;
}

static __device__ __forceinline__ uint32_t prem_smid(void) {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/* Words that other blocks write: read and written in L2, ordered as said. */
static __device__ __forceinline__ uint32_t prem_load_relaxed(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
static __device__ __forceinline__ int64_t prem_load_acquire(const int64_t *word) {
  int64_t value;
  asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
static __device__ __forceinline__ uint32_t prem_load_acquire(const uint32_t *word) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
static __device__ __forceinline__ void prem_store_release(int64_t *word, int64_t value) {
  asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
/** Add one; who sees it sees all that this thread wrote and saw before. */
static __device__ __forceinline__ void prem_add_release(uint32_t *word) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

/** Take the fault record if nobody has, and make everybody stop. */
static __device__ void prem_fault_raise(prem_device_state *state, prem_fault_code code,
                                        int32_t block, int32_t record_index,
                                        const prem_device_record *record, int32_t task,
                                        int64_t hyperperiod, uint32_t computes, int64_t at_ns) {
  if (atomicCAS(&state->fault.code, (uint32_t)PREM_FAULT_NONE, (uint32_t)code) ==
      (uint32_t)PREM_FAULT_NONE) {
    state->fault.block = block;
    state->fault.record = record_index;
    state->fault.phase = record ? record->phase : -1;
    state->fault.task = task;
    state->fault.tile = record ? record->tile : -1;
    state->fault.job = record ? record->job : -1;
    state->fault.hyperperiod = (int32_t)hyperperiod;
    state->fault.computes = computes;
    state->fault.at_ns = at_ns;
    __threadfence();
  }
  atomicExch(&state->abort, 1u);
}

#endif
