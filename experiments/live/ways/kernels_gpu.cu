/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways run on the GPU. Every wait has a deadline on the clock, so that whoever waits for a
 * host that has died is gone soon.
 *
 * Inputs and outputs go by ordinary loads and stores. Towards the host, what orders them is a
 * barrier of the block, an arrival of the GPU's scope, and a release of the system's by the last
 * block. From the host: an acquire of the system's scope by one thread, a release and an acquire of
 * the GPU's between blocks, and a barrier. No pointer is `restrict`: such loads may be answered by
 * a cache that none of this empties.
 */
#include "experiments/common/gpu_work.cuh"
#include "experiments/live/ways/gpu_parts.h"

namespace {

using job = prem_way_job;
using handles = prem_way_handles;

enum { LOOKS = 64, MAX_THREADS = 1024, TILE = PREM_WORK_TILE, WARP = 32, NO_BODY = 1 << 20 };

/* ---- words ---------------------------------------------------------------------------------- */

using alone = prem_system_word_alone;
using with_host = prem_system_wide;
using with_blocks = prem_gpu_wide;

/** What a word became that is at least `turn`; PREM_WAY_LEAVE when that takes too long. */
template <typename order>
__device__ __forceinline__ uint64_t await(const uint64_t *word, uint64_t turn,
                                          int64_t patience_ns) {
  const int64_t deadline_ns = prem_gpu_clock_ns() + patience_ns;
  for (uint32_t looks = 1;; ++looks) {
    const uint64_t value = order::look(word);
    if (value >= turn)
      return value;
    if (looks % LOOKS == 0 && prem_gpu_clock_ns() > deadline_ns)
      return PREM_WAY_LEAVE;
  }
}

/** Is this the last block of a turn? What the others did before is then seen here. */
__device__ __forceinline__ bool is_last(const job &j) {
  if (gridDim.x == 1)
    return true;
  uint64_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u64 %0, [%1], 1;"
               : "=l"(before)
               : "l"(&j.state->arrived)
               : "memory");
  return (before + 1) % gridDim.x == 0;
}

/* ---- work ----------------------------------------------------------------------------------- */

/** All blocks go over the vector side by side. */
__device__ __forceinline__ void increment(const job &j, uint64_t turn) {
  const uint32_t count = (uint32_t)j.size[PREM_WORK_INCREMENT], step = gridDim.x * blockDim.x;
  const uint64_t first = j.slots > 1 ? turn % j.slots * count : 0;
  const float *in = j.in[0] + first;
  float *out = j.out + first;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    out[i] = in[i] + 1.0F;
}

/** Blocks' sums are left to the last block. */
__device__ __forceinline__ void sum(const job &j) {
  __shared__ float of_warp[WARP];
  const uint32_t count = (uint32_t)j.size[PREM_WORK_SUM], step = gridDim.x * blockDim.x;
  const float *in = j.in[0];
  float total = 0.0F;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    total += in[i];
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    total += __shfl_down_sync(0xFFFFFFFFu, total, distance);
  if (threadIdx.x % WARP == 0)
    of_warp[threadIdx.x / WARP] = total;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (uint32_t warp = 1; warp < blockDim.x / WARP; ++warp)
    total += of_warp[warp];
  j.state->partial[blockIdx.x] = total;
}

__device__ __forceinline__ void sum_of_blocks(const job &j) {
  float total = 0.0F;
  for (uint32_t block = 0; block < gridDim.x; ++block)
    total += j.state->partial[block];
  j.out[0] = total;
}

/** The textbook's, through tiles in the scratchpad; each element of a tile belongs to one thread.
 */
__device__ __forceinline__ void product(const job &j) {
  __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1], c[TILE][TILE + 1];
  const uint32_t side = (uint32_t)j.size[PREM_WORK_PRODUCT], tiles = side / TILE;
  for (uint32_t tile = blockIdx.x; tile < tiles * tiles; tile += gridDim.x) {
    const uint32_t row = tile / tiles * TILE, column = tile % tiles * TILE;
    for (uint32_t i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
      c[i / TILE][i % TILE] = 0.0F;
    for (uint32_t along = 0; along < side; along += TILE) {
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        a[i / TILE][i % TILE] = j.in[0][(row + i / TILE) * side + along + i % TILE];
        b[i / TILE][i % TILE] = j.in[1][(along + i / TILE) * side + column + i % TILE];
      }
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        float total = 0.0F;
        for (uint32_t k = 0; k < TILE; ++k)
          total += a[i / TILE][k] * b[k][i % TILE];
        c[i / TILE][i % TILE] += total;
      }
    }
    for (uint32_t i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
      j.out[(row + i / TILE) * side + column + i % TILE] = c[i / TILE][i % TILE];
  }
}

/** @tparam work  PREM_WORK_MIXED: what `command` says */
template <int work>
__device__ __forceinline__ void do_work(const job &j, uint64_t command, uint64_t turn) {
  const uint64_t what = work == PREM_WORK_MIXED ? command : (uint64_t)work;
  if constexpr (work == PREM_WORK_MIXED || work == PREM_WORK_INCREMENT)
    if (what == PREM_WORK_INCREMENT)
      increment(j, turn);
  if constexpr (work == PREM_WORK_MIXED || work == PREM_WORK_PRODUCT)
    if (what == PREM_WORK_PRODUCT)
      product(j);
  if constexpr (work == PREM_WORK_MIXED || work == PREM_WORK_SUM)
    if (what == PREM_WORK_SUM)
      sum(j);
}

/**
 * What to do, for all threads of a block.
 * @tparam work  PREM_WORK_MIXED: the host says
 * @tparam each  every thread asks it, as in the paper; else one for all
 */
template <int work, bool each> __device__ __forceinline__ uint64_t command_of(const job &j) {
  if (work != PREM_WORK_MIXED)
    return (uint64_t)work;
  if (each)
    return alone::look(&j.words->command);
  __shared__ uint64_t command;
  if (threadIdx.x == 0)
    command = alone::look(&j.words->command);
  __syncthreads();
  return command;
}

/* ---- a turn's end --------------------------------------------------------------------------- */

/**
 * All threads of a block call it.
 * @param turn  that the host is told of; 0: nobody tells it from here
 */
template <int work, typename order>
__device__ __forceinline__ void end_turn(const job &j, uint64_t command, int64_t begin_ns,
                                         uint64_t turn) {
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  if (j.stamps) {
    const int64_t end_ns = prem_gpu_clock_ns(); /* before anything is written: that takes time */
    j.stamps[blockIdx.x] = prem_way_stamp{begin_ns, end_ns};
  }
  const bool adds = work == PREM_WORK_SUM || (work == PREM_WORK_MIXED && command == PREM_WORK_SUM);
  if ((turn == 0 && !adds) || !is_last(j))
    return;
  if (adds) {
    sum_of_blocks(j);
    if (j.stamps)
      j.stamps[blockIdx.x].end_ns = prem_gpu_clock_ns();
  }
  if (turn != 0)
    order::tell(&j.words->done, turn);
}

__global__ void nothing() {}

/** As a launched kernel, or a node of a graph. */
template <int work> __global__ void __launch_bounds__(MAX_THREADS) once(job j, bool tells) {
  const int64_t begin_ns = j.stamps ? prem_gpu_clock_ns() : 0;
  const uint64_t turn = tells ? with_blocks::look(&j.state->turn) : 0;
  const uint64_t command = command_of<work, false>(j);
  do_work<work>(j, command, turn);
  end_turn<work, with_host>(j, command, begin_ns, turn);
}

/* ---- resident kernels ------------------------------------------------------------------------ */

/** One thread, and nothing but a word each way. */
__global__ void word_only(job j) {
  for (uint64_t turn = 1; turn != PREM_WAY_LEAVE; ++turn) {
    if (await<alone>(&j.words->start, turn, j.patience_ns) == PREM_WAY_LEAVE)
      break;
    if (j.stamps) {
      const int64_t now_ns = prem_gpu_clock_ns();
      j.stamps[0] = prem_way_stamp{now_ns, now_ns};
      with_host::tell(&j.words->done, turn);
    } else {
      alone::tell(&j.words->done, turn);
    }
  }
  with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT);
}

/** With several buffers the host may be turns ahead. No block begins one before all have ended the
 *  one before it: arrivals are counted, and a count cannot tell whose they are. */
__device__ __forceinline__ bool all_ended(const job &j, uint64_t turn) {
  return j.slots <= 1 || gridDim.x == 1 ||
         await<with_blocks>(&j.state->arrived, (turn - 1) * gridDim.x, j.patience_ns) !=
             PREM_WAY_LEAVE;
}

/** Thread 0 of block 0 waits for the host, thread 0 of each other block for that one. All threads
 *  get the turn, or PREM_WAY_LEAVE. */
__device__ __forceinline__ uint64_t await_together(const job &j, uint64_t turn) {
  __shared__ uint64_t seen;
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    seen = all_ended(j, turn) ? await<with_host>(&j.words->start, turn, j.patience_ns)
                              : PREM_WAY_LEAVE;
    if (seen != PREM_WAY_LEAVE)
      seen = turn; /* and no later one */
    if (gridDim.x > 1)
      with_blocks::tell(&j.state->gate, seen);
  } else if (threadIdx.x == 0) {
    /* block 0 gives up first, and says so */
    seen = await<with_blocks>(&j.state->gate, turn, 3 * j.patience_ns);
  }
  __syncthreads();
  return seen;
}

/** Every thread waits for the host, and all must have seen it. */
__device__ __forceinline__ uint64_t await_each(const job &j, uint64_t turn) {
  const uint64_t seen = await<with_host>(&j.words->start, turn, j.patience_ns);
  return __syncthreads_or(seen == PREM_WAY_LEAVE) ? PREM_WAY_LEAVE : seen;
}

template <int work, bool all_poll> __global__ void __launch_bounds__(MAX_THREADS) resident(job j) {
  for (uint64_t turn = 1; turn != PREM_WAY_LEAVE; ++turn) {
    const uint64_t seen = all_poll ? await_each(j, turn) : await_together(j, turn);
    if (seen == PREM_WAY_LEAVE)
      break;
    const int64_t begin_ns = j.stamps ? prem_gpu_clock_ns() : 0;
    const uint64_t command = command_of<work, all_poll>(j);
    do_work<work>(j, command, turn);
    end_turn<work, with_host>(j, command, begin_ns, turn);
  }
  if (threadIdx.x == 0 && blockIdx.x == 0)
    with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT);
}

/* ---- kernels of graphs: one thread each ------------------------------------------------------ */

/** False: no turn came. */
__device__ __forceinline__ bool await_next(const job &j) {
  const uint64_t turn = j.state->turn + 1;
  const bool comes = await<with_host>(&j.words->start, turn, j.patience_ns) != PREM_WAY_LEAVE;
  if (comes)
    with_blocks::tell(&j.state->turn, turn);
  j.state->is_leaving = !comes;
  return comes;
}

__global__ void await_turn(job j, handles h) {
  const bool comes = await_next(j);
#if CUDART_VERSION >= 12080
  if (h.choice != 0)
    cudaGraphSetConditional(h.choice,
                            comes ? (unsigned)alone::look(&j.words->command) : (unsigned)NO_BODY);
#endif
}

__device__ __forceinline__ bool tell_turn(const job &j) {
  const bool goes_on = j.state->is_leaving == 0;
  if (goes_on)
    with_host::tell(&j.words->done, j.state->turn);
  else
    with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT);
  return goes_on;
}

__global__ void tell_and_loop(job j, handles h) {
  const bool goes_on = tell_turn(j);
#if CUDART_VERSION >= 12080
  cudaGraphSetConditional(h.loop, goes_on);
#endif
}

/** Launch this graph again, behind its end. */
__device__ __forceinline__ void relaunch(const job &j) {
  const cudaError_t error = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
  if (error != cudaSuccess)
    with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT + (uint64_t)error);
}

__global__ void tell_and_relaunch(job j, handles) {
  if (tell_turn(j))
    relaunch(j);
}

/** So many turns, each as a graph of its own that tells its end; then this graph again, as a parent
 *  may launch no more than 120. */
__global__ void launch_children(job j, handles h) {
  for (int launches = 0; launches < PREM_WAY_LAUNCHES; ++launches) {
    if (!await_next(j)) {
      with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT);
      return;
    }
    __threadfence_system();
    const cudaError_t error =
        cudaGraphLaunch(h.children[launches % PREM_WAY_CHILDREN_ALL], cudaStreamGraphFireAndForget);
    if (error != cudaSuccess) {
      with_host::tell(&j.words->left, PREM_WAY_HAS_LEFT + (uint64_t)error);
      return;
    }
  }
  relaunch(j);
}

/* ---- by their names -------------------------------------------------------------------------- */

template <int work> const void *kernel_with(prem_way_kernel kernel) {
  switch (kernel) {
  case PREM_KERNEL_RESIDENT:
    return (const void *)resident<work, false>;
  case PREM_KERNEL_ALL_POLL:
    return (const void *)resident<work, true>;
  default:
    return (const void *)once<work>;
  }
}

const void *kernel_of_work(prem_way_kernel kernel, prem_work work) {
  switch (work) {
  case PREM_WORK_EMPTY:
    return kernel_with<PREM_WORK_EMPTY>(kernel);
  case PREM_WORK_INCREMENT:
    return kernel_with<PREM_WORK_INCREMENT>(kernel);
  case PREM_WORK_PRODUCT:
    return kernel_with<PREM_WORK_PRODUCT>(kernel);
  case PREM_WORK_SUM:
    return kernel_with<PREM_WORK_SUM>(kernel);
  default:
    return kernel_with<PREM_WORK_MIXED>(kernel);
  }
}

} // namespace

const void *prem_way_kernel_of(prem_way_kernel kernel, prem_work work) {
  switch (kernel) {
  case PREM_KERNEL_NOTHING:
    return (const void *)nothing;
  case PREM_KERNEL_WORD:
    return (const void *)word_only;
  case PREM_KERNEL_AWAIT:
    return (const void *)await_turn;
  case PREM_KERNEL_TELL:
    return (const void *)tell_and_loop;
  case PREM_KERNEL_RELAUNCH:
    return (const void *)tell_and_relaunch;
  case PREM_KERNEL_PARENT:
    return (const void *)launch_children;
  default:
    return kernel_of_work(kernel, work);
  }
}
