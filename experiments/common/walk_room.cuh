/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in a GPU's memory and in the host's, for walks over nodes and over elements. */
#pragma once

#include <stdlib.h>

#include "experiments/common/gpu_work.h"
#include "experiments/common/walk_order.h"
#include "experiments/common/walks.h"

namespace {

struct gpu_room {
  uint32_t *words;       /* in the GPU's memory */
  uint32_t *mapped;      /* in the host's; NULL: not asked for */
  uint32_t *mapped_here; /* the GPU's address of it */
  int64_t bytes, mapped_bytes;
  uint64_t seed;
  prem_walk made; /* what the lists are, in the memory that it says, */
  uint32_t made_step;
  uint32_t *gate; /* arrivals; then whether somebody gave up */
  void *steps;    /* what each thread measured: [kernels][threads] */
  cudaStream_t streams[PREM_WALK_KERNELS];
};

/** On by `step` nodes each time, in order or by the random permutation. */
__global__ void make_list(uint32_t *list, uint32_t nodes, uint32_t node_words, int random,
                          uint32_t step, uint64_t seed) {
  for (uint32_t visit = blockIdx.x * blockDim.x + threadIdx.x; visit < nodes;
       visit += gridDim.x * blockDim.x) {
    const uint32_t next = (uint32_t)(((uint64_t)visit + step) % nodes);
    list[(size_t)prem_walk_node(visit, nodes, random, seed) * node_words] =
        prem_walk_node(next, nodes, random, seed);
  }
}

/** A list for each kernel, one behind the other, unless they are there. A node has `node_words`
 * words. */
cudaError_t make_lists(gpu_room *room, const prem_walk *walk, uint32_t *lists, uint32_t node_words,
                       uint32_t step) {
  const prem_walk *made = &room->made;
  const uint32_t nodes = (uint32_t)(walk->bytes / (int64_t)sizeof *lists / node_words);
  if (made->bytes == walk->bytes && made->kernels >= walk->kernels && made->order == walk->order &&
      made->mapped == walk->mapped && room->made_step == step)
    return cudaSuccess;
  room->made.bytes = 0;
  for (int32_t kernel = 0; kernel < walk->kernels; ++kernel)
    make_list<<<256, 256>>>(lists + (size_t)kernel * nodes * node_words, nodes, node_words,
                            walk->order == PREM_WALK_RANDOM, step, room->seed);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess)
    error = cudaDeviceSynchronize();
  if (error == cudaSuccess) {
    room->made = *walk;
    room->made_step = step;
  }
  return error;
}

/** Where its lists are; NULL: it is larger than the room. */
uint32_t *lists_of(const gpu_room *room, const prem_walk *walk) {
  if (walk->bytes * walk->kernels > (walk->mapped ? room->mapped_bytes : room->bytes) ||
      walk->kernels > PREM_WALK_KERNELS || walk->threads > PREM_WALK_THREADS)
    return NULL;
  return walk->mapped ? room->mapped_here : room->words;
}

cudaError_t fill_room(gpu_room *room, size_t step_bytes) {
  cudaError_t error = cudaMalloc((void **)&room->words, (size_t)room->bytes);
  if (error == cudaSuccess && room->mapped_bytes > 0)
    error = cudaHostAlloc((void **)&room->mapped, (size_t)room->mapped_bytes, cudaHostAllocMapped);
  if (error == cudaSuccess && room->mapped_bytes > 0)
    error = cudaHostGetDevicePointer((void **)&room->mapped_here, room->mapped, 0);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&room->gate, 2 * sizeof *room->gate);
  if (error == cudaSuccess)
    error = cudaMalloc(&room->steps, step_bytes * PREM_WALK_KERNELS * PREM_WALK_THREADS);
  for (int i = 0; i < PREM_WALK_KERNELS && error == cudaSuccess; ++i)
    error = cudaStreamCreateWithFlags(&room->streams[i], cudaStreamNonBlocking);
  return error;
}

void close_room(void *opened) {
  gpu_room *room = (gpu_room *)opened;
  for (int i = 0; i < PREM_WALK_KERNELS; ++i)
    if (room->streams[i])
      cudaStreamDestroy(room->streams[i]);
  cudaFree(room->words);
  cudaFreeHost(room->mapped);
  cudaFree(room->gate);
  cudaFree(room->steps);
  free(room);
}

/** @param step_bytes  of what a thread measures. @param[out] out  for close_room() */
prem_status open_room(int64_t bytes, int64_t mapped_bytes, uint64_t seed, size_t step_bytes,
                      void **out, prem_diag *diag) {
  gpu_room *room = (gpu_room *)calloc(1, sizeof *room);
  if (!room)
    return PREM_ERR_MEMORY;
  room->bytes = bytes;
  room->mapped_bytes = mapped_bytes;
  room->seed = seed;
  const cudaError_t error = fill_room(room, step_bytes);
  if (error == cudaSuccess)
    *out = room;
  else
    close_room(room);
  return prem_gpu_judge(error, "making room for walks", diag);
}

/** Before the walks are launched: nobody has arrived. */
cudaError_t empty_gate(const gpu_room *room) {
  const cudaError_t error = cudaMemset(room->gate, 0, 2 * sizeof *room->gate);
  /* the walks' streams do not wait for it by themselves */
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

/** What the threads measured, and whether all kernels began together. */
cudaError_t take_steps(const gpu_room *room, void *steps, size_t bytes, bool *together) {
  uint32_t gate[2] = {0, 0};
  cudaError_t error = cudaMemcpy(steps, room->steps, bytes, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(gate, room->gate, sizeof gate, cudaMemcpyDeviceToHost);
  *together = gate[1] == 0;
  return error;
}

} // namespace
