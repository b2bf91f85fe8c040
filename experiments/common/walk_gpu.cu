/* SPDX-License-Identifier: Apache-2.0 */
/* Walks on the GPU: a kernel is one block in a stream of its own. Every loop is counted, every wait
 * has a deadline. */
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/common/walk_room.cuh"

namespace {

enum {
  SECTOR_BYTES = 32,
  SECTOR_WORDS = SECTOR_BYTES / 4,
  TOUCHING_THREADS = 1024,
  TOUCHES = 2,            /* of the whole list before the walk */
  PATIENCE_NS = 200000000 /* of a kernel for the others */
};

/** Bytes of a list, sector by sector: the number of the next one, the rest is not looked at. */
struct node {
  uint32_t next;
  uint32_t padding[SECTOR_WORDS - 1];
};

/* ---- on the GPU ----------------------------------------------------------------------------- */

template <bool through_l1> __device__ __forceinline__ uint32_t next_of(const node *from) {
  uint32_t next;
  if (through_l1)
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(next) : "l"(&from->next) : "memory");
  else
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(next) : "l"(&from->next) : "memory");
  return next;
}

struct walk_order_of {
  const node *list;
  uint32_t nodes, threads, steps, kernels;
  int random;
  uint64_t seed;
  uint32_t *gate;
  prem_walk_step *results;
  int32_t *alone; /* set when the others did not come in time */
};

template <bool through_l1> __global__ void walk_list(walk_order_of walk) {
  const uint32_t self = threadIdx.x;
  uint32_t touched = 0;
  for (int round = 0; round < TOUCHES; ++round)
    for (uint32_t i = self; i < walk.nodes; i += blockDim.x)
      touched |= next_of<through_l1>(walk.list + i);
  __syncthreads();
  if (self == 0) {
    atomicAdd(walk.gate, 1u);
    /* not an acquire, which would empty L1 of all that was touched */
    if (!prem_gpu_wait<prem_word_alone>(walk.gate, walk.kernels, prem_gpu_clock_ns() + PATIENCE_NS))
      *walk.alone = 1;
  }
  __syncthreads();
  if (self >= walk.threads)
    return;
  uint32_t at = prem_walk_node(prem_walk_first_visit(self, walk.threads, walk.nodes), walk.nodes,
                               walk.random, walk.seed);
  const int64_t begin_ns = prem_gpu_clock_ns();
  for (uint32_t step = 0; step < walk.steps; ++step)
    at = next_of<through_l1>(walk.list + at);
  /* The end must not be read before the last access is back: this branch waits for it. */
  if (at == UINT32_MAX)
    return;
  prem_walk_step result;
  result.last = at;
  result.ns = prem_gpu_clock_ns() - begin_ns;
  result.reserved = touched == UINT32_MAX;
  walk.results[self] = result;
}

/* ---- on the host ---------------------------------------------------------------------------- */

const void *kernel_of(prem_walk_path path) {
  return path == PREM_WALK_L2 ? (const void *)walk_list<false> : (const void *)walk_list<true>;
}

/** L1 and scratchpad share one memory: how it is divided. */
cudaError_t divide_scratch(prem_walk_path path, size_t *scratch_bytes) {
  const bool taken = path == PREM_WALK_L1_OCCUPIED;
  const void *kernel = kernel_of(path);
  int most_bytes = 0; /* of one block */
  cudaError_t error =
      cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (error == cudaSuccess)
    error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             taken ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
  *scratch_bytes = taken ? (size_t)most_bytes : 0;
  return error;
}

cudaError_t launch_walks(const gpu_room *room, const prem_walk *walk, const node *lists,
                         uint32_t nodes) {
  size_t scratch_bytes = 0;
  cudaError_t error = divide_scratch(walk->path, &scratch_bytes);
  if (error == cudaSuccess)
    error = empty_gate(room);
  for (int32_t kernel = 0; kernel < walk->kernels && error == cudaSuccess; ++kernel) {
    walk_order_of order = {lists + (size_t)kernel * nodes,
                           nodes,
                           (uint32_t)walk->threads,
                           (uint32_t)walk->steps,
                           (uint32_t)walk->kernels,
                           walk->order == PREM_WALK_RANDOM,
                           room->seed,
                           room->gate,
                           (prem_walk_step *)room->steps + (size_t)kernel * (size_t)walk->threads,
                           (int32_t *)room->gate + 1};
    void *arguments[] = {&order};
    error = cudaLaunchKernel(kernel_of(walk->path), dim3(1), dim3(TOUCHING_THREADS), arguments,
                             scratch_bytes, room->streams[kernel]);
  }
  const cudaError_t ended = cudaDeviceSynchronize();
  return error == cudaSuccess ? ended : error;
}

} // namespace

prem_status prem_gpu_walk(void *opened, const prem_walk *walk, prem_walk_time *out,
                          prem_diag *diag) {
  gpu_room *room = (gpu_room *)opened;
  const int64_t nodes = walk->bytes / SECTOR_BYTES;
  uint32_t *lists = lists_of(room, walk);
  if (!lists)
    return PREM_ERR_ARGUMENT;
  const size_t count = (size_t)walk->kernels * (size_t)walk->threads;
  prem_walk_step *steps = (prem_walk_step *)calloc(count, sizeof *steps);
  if (!steps)
    return PREM_ERR_MEMORY;
  bool together = false;
  cudaError_t error = make_lists(room, walk, lists, SECTOR_WORDS, 1);
  if (error == cudaSuccess)
    error = launch_walks(room, walk, (const node *)lists, (uint32_t)nodes);
  if (error == cudaSuccess)
    error = take_steps(room, steps, count * sizeof *steps, &together);
  if (error == cudaSuccess) {
    prem_walk_judge(walk, nodes, room->seed, steps, out);
    out->together = together;
  }
  free(steps);
  return prem_gpu_judge(error, "walking", diag);
}

prem_status prem_gpu_walker_open(int64_t room_bytes, bool mapped, uint64_t seed, void **out,
                                 prem_diag *diag) {
  return open_room(room_bytes, mapped ? room_bytes : 0, seed, sizeof(prem_walk_step), out, diag);
}

void prem_gpu_walker_close(void *opened) {
  close_room(opened);
}
