/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of SMs: one block on each, one thread of which has one load in flight. */
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/machine/memory_pause/pauses.h"

namespace {

enum {
  LINE_WORDS = PREM_LOAD_LINE_BYTES / 4,
  PAGE_LINES = (2 << 20) / PREM_LOAD_LINE_BYTES, /* of a page of the GPU's memory */
  WARP = 32,
  THREADS = 512,       /* of a block, all of which touch and use memory; one samples */
  READS = 4,           /* that each has in flight to keep memory busy, */
  MAX_ROUNDS = 1 << 16 /* and how often at most */
};

struct sampling {
  const uint32_t *memory; /* all zeros; as much again lies behind the lines */
  uint32_t lines, touch_step;
  uint32_t samplers; /* blocks that sample; those behind them keep memory busy */
  int32_t max;
  int64_t length_ns;
  prem_load *loads;
  int32_t *counts;
};

/* ---- on the GPU ----------------------------------------------------------------------------- */

/** Past L1. */
__device__ __forceinline__ uint32_t load_global(const uint32_t *from) {
  uint32_t value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/** 16 bytes past L1, of which the first four. */
__device__ __forceinline__ uint32_t load_wide(const uint32_t *from) {
  uint32_t value;
  asm volatile("{\n"
               ".reg .u32 second, third, fourth;\n"
               "ld.global.cg.v4.u32 {%0, second, third, fourth}, [%1];\n"
               "}"
               : "=r"(value)
               : "l"(from)
               : "memory");
  return value;
}

/** 0, known only once the clock has been read: an address with it is not loaded from before. */
__device__ __forceinline__ uint32_t behind_clock(int64_t now_ns) {
  return (uint32_t)((uint64_t)now_ns >> 63);
}

/** The time at which `value`, which is 0, was there: that the clock is read depends on it. */
__device__ __forceinline__ int64_t clock_behind_ns(uint32_t value) {
  int64_t now = 0;
  asm volatile("{\n"
               ".reg .pred there;\n"
               "setp.eq.u32 there, %1, 0;\n"
               "@there mov.u64 %0, %%globaltimer;\n"
               "}"
               : "+l"(now)
               : "r"(value)
               : "memory");
  return now;
}

/** The SM looks up pages, or fetches lines, before the first load that counts. */
__device__ uint32_t touch(const sampling &task) {
  uint32_t seen = 0;
  for (uint32_t line = threadIdx.x * task.touch_step; line < task.lines;
       line += blockDim.x * task.touch_step)
    seen |= load_global(task.memory + (size_t)line * LINE_WORDS);
  return seen;
}

/** Reads what lies behind the lines, over and over, some loads of each thread at once. */
__device__ void use_memory(const sampling &task, int64_t deadline_ns) {
  const uint32_t lane_words = 4, words = task.lines * LINE_WORDS;
  const uint32_t step = (gridDim.x - task.samplers) * blockDim.x * lane_words;
  const uint32_t *from = task.memory + words;
  uint32_t at = ((blockIdx.x - task.samplers) * blockDim.x + threadIdx.x) * lane_words;
  uint32_t seen = 0; /* nothing else: a round ends when all of its loads are there */
  for (int32_t round = 0; round < MAX_ROUNDS && seen == 0 && prem_gpu_clock_ns() < deadline_ns;
       ++round) {
    uint32_t read[READS];
#pragma unroll
    for (int i = 0; i < READS; ++i, at += step)
      read[i] = load_wide(from + (at & (words - 1)));
#pragma unroll
    for (int i = 0; i < READS; ++i)
      seen |= read[i];
  }
}

/** Ends after `max` loads, or with the first one that is over after `length_ns`. */
template <bool from_scratchpad> __global__ void sample_loads(sampling task) {
  extern __shared__ volatile uint32_t scratchpad[];
  if (blockIdx.x >= task.samplers) {
    use_memory(task, prem_gpu_clock_ns() + task.length_ns);
    return;
  }
  scratchpad[threadIdx.x] = touch(task);
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  prem_load *loads = task.loads + (size_t)blockIdx.x * (size_t)task.max;
  const uint32_t first_visit = blockIdx.x * (uint32_t)task.max;
  int64_t now_ns = prem_gpu_clock_ns();
  const int64_t deadline_ns = now_ns + task.length_ns;
  int32_t count = 0;
  for (; count < task.max && now_ns < deadline_ns; ++count) {
    const uint32_t line = prem_load_line(first_visit + (uint32_t)count, task.lines);
    const int64_t begin_ns = prem_gpu_clock_ns();
    const uint32_t behind = behind_clock(begin_ns);
    const uint32_t value = from_scratchpad
                               ? scratchpad[line % WARP + behind]
                               : load_global(task.memory + (size_t)line * LINE_WORDS + behind);
    now_ns = clock_behind_ns(value);
    loads[count].begin_ns = begin_ns;
    loads[count].end_ns = now_ns;
  }
  task.counts[blockIdx.x] = count;
}

/* ---- on the host ---------------------------------------------------------------------------- */

bool is_memory(prem_load_place place) {
  return place == PREM_LOAD_MEMORY || place == PREM_LOAD_BUSY_MEMORY;
}

/** One block on every SM. */
cudaError_t launch(const prem_load_order *order, sampling task, int32_t samplers) {
  const void *kernel = order->place == PREM_LOAD_SCRATCHPAD ? (const void *)sample_loads<true>
                                                            : (const void *)sample_loads<false>;
  int blocks = 0;
  cudaError_t error = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0);
  if (order->place != PREM_LOAD_BUSY_MEMORY)
    blocks = samplers;
  void *arguments[] = {&task};
  return error == cudaSuccess ? prem_gpu_launch_apart(kernel, blocks, THREADS, arguments) : error;
}

/** `memory` has room for twice the lines; its second half is written last and takes the caches. */
cudaError_t sample(const prem_load_order *order, prem_loads *loads, unsigned char *memory,
                   unsigned char *here) {
  const size_t bytes = (size_t)order->lines * PREM_LOAD_LINE_BYTES;
  const size_t load_count = (size_t)loads->samplers * (size_t)loads->max;
  const size_t load_bytes = load_count * sizeof *loads->list;
  const size_t count_bytes = (size_t)loads->samplers * sizeof *loads->counts;
  const sampling task = {(const uint32_t *)memory,
                         order->lines,
                         is_memory(order->place) ? (uint32_t)PAGE_LINES : 1u,
                         (uint32_t)loads->samplers,
                         loads->max,
                         order->length_ns,
                         (prem_load *)here,
                         (int32_t *)(here + load_bytes)};
  cudaError_t error = cudaMemset(here, 0, load_bytes + count_bytes);
  if (error == cudaSuccess)
    error = cudaMemset(memory, 0, bytes);
  if (error == cudaSuccess)
    error = cudaMemset(memory + bytes, 0, bytes);
  if (error == cudaSuccess)
    error = launch(order, task, loads->samplers);
  if (error == cudaSuccess)
    error = cudaMemcpy(loads->list, here, load_bytes, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(loads->counts, here + load_bytes, count_bytes, cudaMemcpyDeviceToHost);
  return error;
}

} // namespace

prem_status prem_gpu_sample_loads(const prem_load_order *order, prem_loads *loads,
                                  prem_diag *diag) {
  unsigned char *memory = NULL, *here = NULL;
  const size_t load_count = (size_t)loads->samplers * (size_t)loads->max;
  cudaError_t error = cudaMalloc((void **)&memory, (size_t)order->lines * 2 * PREM_LOAD_LINE_BYTES);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&here, load_count * sizeof *loads->list +
                                           (size_t)loads->samplers * sizeof *loads->counts);
  if (error == cudaSuccess)
    error = sample(order, loads, memory, here);
  cudaFree(here);
  cudaFree(memory);
  return prem_gpu_judge(error, "sampling loads", diag);
}
