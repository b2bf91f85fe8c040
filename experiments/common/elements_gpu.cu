/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements on the GPU: a kernel is one block in a stream of its own, with as many
 * threads as walk. Every loop is counted, every wait has a deadline. */
#include "experiments/common/elements.h"
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/common/walk_room.cuh"

namespace {

enum {
  TOUCHES = 2,              /* of the whole list before the walks, */
  SECTOR = 8,               /* one element of each sector, */
  TOUCHING_THREADS = 1024,  /* by a block of its own: one thread alone would take seconds */
  PATIENCE_NS = 1000000000, /* of a kernel for the others */
  OVERHEAD_TURNS = 1 << 16
};

/* ---- on the GPU ----------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t next_of(const uint32_t *from) {
  uint32_t next;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(next) : "l"(from) : "memory");
  return next;
}

struct walk_order_of {
  const uint32_t *list;
  uint32_t count, threads, steps, kernels, repeats;
  int random, part; /* part: not the whole list, */
  uint32_t begun;   /* of which so many steps went before */
  uint64_t seed;
  uint32_t *gate;
  prem_element_step *results;
};

/** All kernels begin a repetition together. */
__device__ void meet(const walk_order_of &walk, uint32_t round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(walk.gate, 1u);
    if (!prem_gpu_wait<prem_word_alone>(walk.gate, walk.kernels * round,
                                        prem_gpu_clock_ns() + PATIENCE_NS))
      walk.gate[1] = 1;
  }
  __syncthreads();
}

__device__ uint32_t first_of(const walk_order_of &walk) {
  const uint64_t count = walk.count, begun = walk.begun;
  const uint32_t begin = prem_walk_first_visit(threadIdx.x, walk.threads, walk.count);
  if (walk.random && walk.part)
    return prem_walk_node((uint32_t)((begin + begun) % count), walk.count, 1, walk.seed);
  return (uint32_t)((threadIdx.x + begun * walk.threads) % count);
}

/** Brings into L2 what it holds; `never`: written for the sum's sake alone. */
__global__ void __launch_bounds__(TOUCHING_THREADS)
    touch_list(const uint32_t *list, uint32_t count, uint32_t *never) {
  uint64_t sum = 0;
  for (int round = 0; round < TOUCHES; ++round)
    for (uint32_t i = threadIdx.x * SECTOR; i < count; i += blockDim.x * SECTOR)
      sum += next_of(list + i);
  if (sum == UINT64_MAX)
    *never = 1;
}

__global__ void __launch_bounds__(PREM_WALK_THREADS) walk_list(walk_order_of walk) {
  const uint32_t self = threadIdx.x, first = first_of(walk);
  uint64_t sum = 0;
  prem_element_step result = {0, INT64_MAX, 0, 0, first, 0};
  for (uint32_t round = 0; round <= walk.repeats; ++round) {
    meet(walk, round + 1);
    /* A part goes on: what was walked a moment ago would be hits. */
    uint32_t at = walk.part ? result.last : first;
    const int64_t begin_ns = prem_gpu_clock_ns(), begin = clock64();
    for (uint32_t step = 0; step < walk.steps; ++step) {
      at = next_of(walk.list + at);
      sum += at;
    }
    /* The end must not be read before the last access is back: this branch waits for it. */
    if (at == UINT32_MAX)
      return;
    const int64_t cycles = clock64() - begin, took_ns = prem_gpu_clock_ns() - begin_ns;
    if (round == 0) { /* warms up */
      result.last = at;
      continue;
    }
    result.sum_ns += took_ns;
    result.sum_cycles += cycles;
    result.min_ns = took_ns < result.min_ns ? took_ns : result.min_ns;
    result.max_ns = took_ns > result.max_ns ? took_ns : result.max_ns;
    result.wrong += !walk.part && at != result.last;
    result.last = at;
  }
  if (sum != UINT64_MAX) /* it is wanted: the loop keeps it, as the original's does */
    walk.results[self] = result;
}

/** The same loop without its access. */
__global__ void turn_only(uint32_t turns, uint32_t zero, int64_t *took_ns, uint64_t *out) {
  uint64_t sum = 0;
  uint32_t at = zero;
  const int64_t begin_ns = prem_gpu_clock_ns();
  for (uint32_t turn = 0; turn < turns; ++turn) {
    asm volatile("" : "+r"(at));
    sum += at;
  }
  *out = sum;
  *took_ns = prem_gpu_clock_ns() - begin_ns;
}

/* ---- on the host ---------------------------------------------------------------------------- */

cudaError_t launch_walks(const gpu_room *room, const prem_walk *walk, const uint32_t *lists) {
  const uint32_t count = (uint32_t)(walk->bytes / PREM_ELEMENT_BYTES);
  cudaError_t error = empty_gate(room);
  for (int32_t kernel = 0; kernel < walk->kernels && error == cudaSuccess; ++kernel) {
    const walk_order_of order = {lists + (size_t)kernel * count,
                                 count,
                                 (uint32_t)walk->threads,
                                 (uint32_t)prem_element_steps(walk),
                                 (uint32_t)walk->kernels,
                                 (uint32_t)walk->repeats,
                                 walk->order == PREM_WALK_RANDOM,
                                 walk->steps != 0,
                                 (uint32_t)(walk->begun % count),
                                 room->seed,
                                 room->gate,
                                 (prem_element_step *)room->steps +
                                     (size_t)kernel * (size_t)walk->threads};
    touch_list<<<1, TOUCHING_THREADS, 0, room->streams[kernel]>>>(order.list, count,
                                                                  room->gate + 1);
    walk_list<<<1, (unsigned)walk->threads, 0, room->streams[kernel]>>>(order);
    error = cudaGetLastError();
  }
  const cudaError_t ended = cudaDeviceSynchronize();
  return error == cudaSuccess ? ended : error;
}

} // namespace

prem_status prem_gpu_elements_walk(void *opened, const prem_walk *walk, prem_element_step *steps,
                                   bool *together, prem_diag *diag) {
  gpu_room *room = (gpu_room *)opened;
  uint32_t *lists = lists_of(room, walk);
  if (!lists)
    return PREM_ERR_ARGUMENT;
  const size_t count = (size_t)walk->kernels * (size_t)walk->threads;
  *together = false;
  /* in order a thread goes on by as many elements as there are threads */
  cudaError_t error = make_lists(room, walk, lists, 1,
                                 walk->order == PREM_WALK_RANDOM ? 1 : (uint32_t)walk->threads);
  if (error == cudaSuccess)
    error = launch_walks(room, walk, lists);
  if (error == cudaSuccess)
    error = take_steps(room, steps, count * sizeof *steps, together);
  return prem_gpu_judge(error, "walking over elements", diag);
}

double prem_gpu_elements_overhead(void *opened) {
  int64_t took_ns = 0;
  int64_t *here = (int64_t *)((gpu_room *)opened)->steps;
  for (int i = 0; i < 2; ++i) /* the first one fetches the code */
    turn_only<<<1, 1>>>(OVERHEAD_TURNS, 0, here, (uint64_t *)(here + 1));
  const cudaError_t error = cudaMemcpy(&took_ns, here, sizeof took_ns, cudaMemcpyDeviceToHost);
  return error == cudaSuccess ? (double)took_ns / OVERHEAD_TURNS : 0;
}

prem_status prem_gpu_elements_open(int64_t room_bytes, int64_t mapped_bytes, uint64_t seed,
                                   void **out, prem_diag *diag) {
  return open_room(room_bytes, mapped_bytes, seed, sizeof(prem_element_step), out, diag);
}

void prem_gpu_elements_close(void *opened) {
  close_room(opened);
}
