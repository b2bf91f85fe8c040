/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executive: one persistent kernel that runs any plan.
 *
 * A CUDA block claims a plan block of its own SM and works its two tables. Its first three warps
 * move memory, all others compute: beside a kernel that keeps the processor busy, releases came
 * later with these warps last in the block (docs/architecture.md). The starter works the table of
 * prefetches and writebacks: it starts prefetches at their releases, and hands writebacks to the
 * writer as soon as it comes to them; the writer starts these at their releases, and waits until
 * they have landed, since a bulk copy out of the scratchpad can only be waited for, not asked
 * after; the watcher sees prefetches land, and writes down what has ended. A start is stamped by
 * the act: the lane that waits for the instant has the first copy in registers, issues it, and
 * reads the clock again (before copies row by row); compute warps meet before the instant, wait for
 * it themselves, and the first one reads the clock. Prefetches are started strictly in the order of
 * the table, and so are writebacks, and computes; what one unit waits for from the others are
 * counts of phases done, kept in the scratchpad with one writer each:
 *
 *   counts[PREFETCH]   written by the watcher after the bytes landed
 *   counts[WRITEBACK]  by the writer
 *   counts[COMPUTE]    by the first thread that computes after all compute warps met
 *   full[i]            mbarrier of the prefetches i, i + RING, ...: compute waits on it itself, so
 *                      that what the copy engine wrote is visible to it, and hears of it without
 *                      the watcher
 *   order[i]           mbarrier of the writebacks i, i + MAX_IN_FLIGHT, ...: handed over
 *
 * Across blocks: a word for each job that others follow counts the blocks that have finished it,
 * of many blocks a word for every 32 or so; added to with release after the last writeback is
 * visible in L2, and after this block's own count, for the fence takes long; read with acquire. So
 * a message costs the same from any number of blocks, and a lane asks for each word, so that many
 * predecessors cost what one does. A job that follows another one by block asks nobody: the counts
 * of its block say it. The first phase of a job that has to wait asks, nothing behind it does.
 * Nothing else is shared.
 *
 * All that a phase needs lies in the scratchpad before its release: the record, its copies worked
 * out by the host, the tasks and ports of this block, the counts. A phase reads nothing from memory
 * but its data. Between the release and the first copy, and between the landing and the count,
 * there are only a few instructions; what has ended is written down when nothing is due.
 *
 * A compatible interval is a compute whose views lie in the arrays. What its threads wrote they
 * make visible to all blocks before they meet and it is counted; in mode lock the compute warps
 * hold its tokens. All of this is in variants of their own, which only schedules with such tasks
 * run.
 *
 * Every wait ends: those for an instant by themselves, those for the watcher since it writes down
 * what has ended whatever happens; all others see the abort word, and end at the stall timeout,
 * which raises a fault that stops everybody.
 */
#include "runtime/cuda/device/executive.h"

#include "runtime/cuda/device/best_effort.cuh"
#include "runtime/cuda/device/compute.cuh"
#include "runtime/cuda/device/gates.cuh"
#include "runtime/cuda/device/serve.cuh"
#include "runtime/cuda/device/starter.cuh"
#include "runtime/cuda/device/watcher.cuh"
#include "runtime/cuda/device/writer.cuh"

#include <cstring>

namespace {

/* ---- becoming resident ----------------------------------------------------------------------- */

/** Claim a plan block of this SM; -1: none left here. */
__device__ int32_t block_claim(const prem_launch *launch) {
  const uint32_t sm = prem_smid();
  if (sm >= (uint32_t)launch->sm_count)
    return -1;
  const int32_t first = launch->sm_first[sm];
  const int32_t count = launch->sm_first[sm + 1] - first;
  const uint32_t claim = atomicAdd(&launch->sm_claims[sm], 1u);
  if (claim >= (uint32_t)count)
    return -1;
  const int32_t block = launch->sm_blocks[first + (int32_t)claim];
  atomicExch(&launch->block_taken[block], 1u);
  return block;
}

/** A plan block whose SM got too few CUDA blocks goes to any block without work. */
__device__ int32_t block_claim_left(const prem_launch *launch) {
  for (int32_t block = 0; block < launch->block_count; ++block)
    if (atomicCAS(&launch->block_taken[block], 0u, 1u) == 0u) {
      atomicAdd(&launch->state->left_over, 1u);
      return block;
    }
  return -1;
}

/** Wait until a counter reaches `count`; false at the timeout or on abort. */
__device__ bool counter_wait(const prem_launch *launch, const uint32_t *counter, uint32_t count) {
  const int64_t limit = prem_clock_ns() + launch->resident_timeout_ns;
  while (prem_load_relaxed(counter) < count) {
    if (prem_load_relaxed(&launch->state->abort))
      return false;
    if (prem_clock_ns() > limit) {
      prem_fault_raise(launch->state, PREM_FAULT_RESIDENT, -1, -1, nullptr, -1, 0, 0, 0);
      return false;
    }
    __nanosleep(100);
  }
  return true;
}

/** All blocks are here: bind them to plan blocks. Thread 0. -1: nothing to do. */
__device__ int32_t become_resident(const prem_launch *launch) {
  prem_device_state *state = launch->state;
  int32_t block = block_claim(launch);
  __threadfence();
  atomicAdd(&state->arrived, 1u);
  if (!counter_wait(launch, &state->arrived, gridDim.x))
    return -1;
  return block >= 0 ? block : block_claim_left(launch);
}

/** All blocks are ready: agree on S. Thread 0.
 *  @param state  where they meet; its blocks may be those of several launches */
__device__ bool agree_on_start(const prem_launch *launch, prem_device_state *state,
                               int64_t *start_ns) {
  __threadfence();
  if (atomicAdd(&state->bound, 1u) + 1u == (uint32_t)launch->block_count) {
    int64_t start = prem_clock_ns() + launch->start_margin_ns;
    start -= start % launch->clock_step_ns;
    prem_store_release(&state->start_ns, start);
  }
  if (!counter_wait(launch, &state->bound, (uint32_t)launch->block_count))
    return false;
  do
    *start_ns = prem_load_acquire(&state->start_ns);
  while (*start_ns == 0);
  return true;
}

/** A block of best effort without work keeps its place until the critical blocks have theirs beside
 *  it. */
__device__ void others_await(const prem_launch *launch, const prem_device_state *meeting) {
  counter_wait(launch, &meeting->bound, (uint32_t)launch->block_count);
}

/** Bring the tasks and ports of this block to the scratchpad, clear its cells. All threads. */
__device__ void block_furnish(const prem_launch &launch, const prem_device_block *block) {
  block_state *own = shared();
  const int32_t thread = (int32_t)threadIdx.x, threads = (int32_t)blockDim.x;
  int32_t first_port = 0;
  for (int32_t t = 0; t < block->task_count; ++t) {
    const prem_device_task *from = &launch.tasks[block->tasks[t]];
    const int32_t ports = from->port_count;
    for (int32_t word = thread; word < (int32_t)(sizeof *from / 8); word += threads)
      ((int64_t *)task_at(own, launch, t))[word] = ((const int64_t *)from)[word];
    const int64_t *port = (const int64_t *)&launch.ports[from->first_port];
    for (int32_t word = thread; word < ports * (int32_t)(sizeof(prem_device_port) / 8);
         word += threads)
      ((int64_t *)port_at(own, launch, first_port))[word] = port[word];
    __syncthreads();
    if (thread == 0) {
      prem_device_task *task = task_at(own, launch, t);
      task->first_port = first_port;
      if (task->ends != nullptr)
        task->ends += (own->plan_block % task->ends_parts) << task->ends_shift;
    }
    first_port += ports;
  }
  for (int32_t c = thread; c < block->task_count * PREM_PHASE_COUNT; c += threads) {
    prem_device_cell *cell = cell_at(own, launch, c);
    *cell = prem_device_cell{};
    cell->duration_max_ns = INT64_MIN;
    cell->duration_min_negated_ns = INT64_MIN;
    cell->lateness_max_ns = INT64_MIN;
  }
  __syncthreads();
}

/** Both tables at their start, the trace_writers empty. One thread. */
__device__ void block_open(const prem_launch &launch, const prem_device_block *block) {
  block_state *start = shared();
  table_cursor *memory = &start->memory_table, *compute = &start->compute_table;
  *memory = table_cursor{};
  memory->records = block->memory;
  memory->moves = block->moves;
  for (int32_t buffer = 0; buffer < launch.buffers; ++buffer) {
    memory->in_at[buffer] = buffer * block->in_bytes;
    memory->out_at[buffer] = launch.buffers * block->in_bytes + buffer * block->out_bytes;
  }
  *compute = *memory;
  compute->records = block->compute;
  compute->moves = nullptr;
  start->rotates = block->rotates;
  prem_trace_record *room = block->records;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    start->phase_count[phase] = block->phase_count[phase];
    start->trace_writers[phase] = trace_writer{room, block->capacity[phase], 0, 0};
    room += block->capacity[phase];
  }
  start->memory_count = block->memory_count;
  stores_open(start, launch, block);
  start->compute_count = block->compute_count;
  start->issued = 0;
  start->closing = 0;
  start->computing = 1;
  start->computes_written = 0;
  start->stores_written = 0;
  start->ordered = 0;
  company_open(start, block);
}

/** Give the counts of this block to the host. All threads. */
__device__ void block_report(const prem_launch &launch, const prem_device_block *block) {
  const int32_t words =
      block->task_count * PREM_PHASE_COUNT * (int32_t)(sizeof(prem_device_cell) / 8);
  int64_t *to = (int64_t *)&launch.cells[block->first_cell];
  const int64_t *from = (const int64_t *)cell_at(shared(), launch, 0);
  for (int32_t word = (int32_t)threadIdx.x; word < words; word += (int32_t)blockDim.x)
    to[word] = from[word];
  if (threadIdx.x != 0)
    return;
  ended_report(shared());
  const int64_t first = (int64_t)shared()->plan_block * PREM_PHASE_COUNT;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    launch.record_counts[first + phase] = shared()->trace_writers[phase].recorded;
    launch.warmup_counts[first + phase] = shared()->trace_writers[phase].warmups;
  }
}

/** As many blocks, or as many as a processor of this kind holds threads of. */
constexpr int32_t blocks_held(int32_t threads, int32_t blocks) {
  constexpr int32_t MAX = PREM_ARCH == 750                     ? 1024
                          : PREM_ARCH > 800 && PREM_ARCH < 900 ? 1536
                                                               : 2048;
  return threads * blocks <= MAX ? blocks : MAX / threads;
}

/** A block's state before it has a plan block. One thread. */
__device__ __forceinline__ void block_begin(block_state *own, const prem_launch &launch,
                                            const launch_company &company) {
  for (int32_t i = 0; i < RING; ++i)
    prem_barrier_init(&own->full[i]);
  for (int32_t i = 0; i < MAX_IN_FLIGHT; ++i)
    prem_barrier_init(&own->order[i]);
  for (int32_t i = 0; i < 4; ++i)
    own->counts[i] = 0;
  own->go = 0;
  own->launch = launch;
  company_begin(own, company);
  prem_fence_async();
}

/** All of a block's life. INTERVALS: with compatible intervals, whose code would take registers and
 *  room from the rest. */
template <bool INTERVALS>
__device__ __forceinline__ void block_work(const prem_launch &launch,
                                           const launch_company &company) {
  block_state *own = shared();
  if (threadIdx.x == 0) {
    block_begin(own, launch, company);
    own->plan_block = become_resident(&launch);
    if (PREM_GATED && own->plan_block < 0)
      others_await(&launch, meeting_of(launch, company));
  }
  __syncthreads();
  if (own->plan_block < 0)
    return;
  const prem_device_block *block = &launch.blocks[own->plan_block];
  block_furnish(launch, block);
  company_furnish(own, block);
  servers_furnish(launch, block);
  if (threadIdx.x == 0) {
    block_open(launch, block);
    if (!agree_on_start(&launch, meeting_of(launch, company), &own->start_ns))
      own->counts[ABORT] = 1;
    gates_open(own);
  }
  __syncthreads();
  if (own->counts[ABORT] == 0) {
    const int32_t warp = (int32_t)threadIdx.x / 32;
    if (serves_here(own))
      serve(own, launch);
    else if (warp == STARTER) {
      starter_warp(own, launch);
      if constexpr (INTERVALS)
        intervals_watch();
    } else if (warp == WRITER)
      writer_warp(own, launch);
    else if (warp == WATCHER)
      watcher_warp(own);
    else {
      compute_warps<INTERVALS>(own, launch);
      if (PREM_FIRST_LANE())
        *(volatile int32_t *)&own->computing = 0;
    }
  }
  __syncthreads();
  block_report(launch, block);
}

#if PREM_LIVE
template <int THREADS, int BLOCKS, bool INTERVALS>
__global__ void __launch_bounds__(THREADS, blocks_held(THREADS, BLOCKS))
    executive_live(const __grid_constant__ prem_launch launch,
                   const __grid_constant__ prem_device_live live) {
  block_work<INTERVALS>(launch, live);
}

/* Fewer than for runs: what they cost is compiled with every kernel list. */
template <bool INTERVALS> const void *variant(int32_t number, int32_t *max_threads) {
  switch (number) {
  case 0:
    *max_threads = 384; /* 80 registers, and room for the courier beside */
    return (const void *)&executive_live<384, 2, INTERVALS>;
  case 1:
    *max_threads = 1024;
    return (const void *)&executive_live<1024, 1, INTERVALS>;
  case 2:
    *max_threads = 288;
    return (const void *)&executive_live<288, 4, INTERVALS>;
  default:
    *max_threads = 0;
    return nullptr;
  }
}
#elif PREM_GATED
template <int THREADS, int BLOCKS, bool INTERVALS>
__global__ void __launch_bounds__(THREADS, blocks_held(THREADS, BLOCKS))
    executive_gated(const __grid_constant__ prem_launch launch,
                    const __grid_constant__ prem_device_gated gated) {
  block_work<INTERVALS>(launch, gated);
}

/* Few, that leave room for the critical blocks: by registers a thread: 80, 64, 56. */
template <bool INTERVALS> const void *variant(int32_t number, int32_t *max_threads) {
  switch (number) {
  case 0:
    *max_threads = 384;
    return (const void *)&executive_gated<384, 2, INTERVALS>;
  case 1:
    *max_threads = 1024;
    return (const void *)&executive_gated<1024, 1, INTERVALS>;
  case 2:
    *max_threads = 288;
    return (const void *)&executive_gated<288, 4, INTERVALS>;
  default:
    *max_threads = 0;
    return nullptr;
  }
}
#else
template <int THREADS, int BLOCKS, bool INTERVALS>
__global__ void __launch_bounds__(THREADS, blocks_held(THREADS, BLOCKS))
    executive(const __grid_constant__ prem_launch launch) {
  block_work<INTERVALS>(launch, launch_company{});
}

template <bool INTERVALS> const void *variant(int32_t number, int32_t *max_threads) {
  /* by registers a thread: 128, 80, 72, 64, 56, 32 */
  switch (number) {
  case 0:
    *max_threads = 512;
    return (const void *)&executive<512, 1, INTERVALS>;
  case 1:
    *max_threads = 384;
    return (const void *)&executive<384, 2, INTERVALS>;
  case 2:
    *max_threads = 224;
    return (const void *)&executive<224, 4, INTERVALS>;
  case 3:
    *max_threads = 1024;
    return (const void *)&executive<1024, 1, INTERVALS>;
  case 4:
    *max_threads = 288;
    return (const void *)&executive<288, 4, INTERVALS>;
  case 5:
    *max_threads = 1024;
    return (const void *)&executive<1024, 2, INTERVALS>;
  default:
    *max_threads = 0;
    return nullptr;
  }
}
#endif

} // namespace

#ifdef PREM_EXECUTIVE_FAMILY

extern "C" const void *PREM_EXECUTIVE_OF_FAMILY(int32_t number, int32_t *max_threads) {
  return variant < PREM_EXECUTIVE_FAMILY == PREM_FAMILY_separate &&
         !PREM_GATED > (number, max_threads);
}

#else

extern "C" const void *prem_executive_general(int32_t number, int32_t *max_threads) {
  return variant<false>(number, max_threads);
}

extern "C" const void *prem_executive_intervals(int32_t number, int32_t *max_threads) {
  return variant<true>(number, max_threads);
}

extern "C" int32_t prem_executive_bytes(void) {
  return (int32_t)aligned(sizeof(block_state), 16);
}

extern "C" void prem_executive_lay_out(prem_launch *launch, int32_t state_bytes) {
  const size_t tasks = (size_t)launch->max_tasks;
  size_t at = (size_t)state_bytes;
  launch->views_at = (int32_t)at;
  at += (size_t)launch->max_views * sizeof(shared_view);
  launch->tasks_at = (int32_t)at;
  at += aligned(tasks * sizeof(prem_device_task), 16);
  launch->ports_at = (int32_t)at;
  at += aligned((size_t)launch->max_ports * sizeof(prem_device_port), 16);
  launch->cells_at = (int32_t)at;
  at += aligned(tasks * PREM_PHASE_COUNT * sizeof(prem_device_cell), 16);
  launch->moves_at = (int32_t)at;
  at += (2 * CHUNK + MAX_IN_FLIGHT) * (size_t)launch->max_moves * sizeof(prem_device_move);
  launch->buffers_at = (int32_t)aligned(at, 128);
}

extern "C" int32_t prem_executive_kernel(const char *name, bool compatible) {
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  if (!compatible && strcmp(name, #NAME) == 0)                                                     \
    return KERNEL_##NAME;
#define PREM_COMPATIBLE_KERNEL(NAME)                                                               \
  if (compatible && strcmp(name, #NAME) == 0)                                                      \
    return KERNEL_##NAME;
#include "kernels/kernels.def"
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL
  return -1;
}

extern "C" prem_kernel_family prem_executive_family(const char *name) {
#define PREM_COMPATIBLE_KERNEL(NAME) PREM_KERNEL(NAME, intervals)
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  if (strcmp(name, #NAME) == 0)                                                                    \
    return PREM_FAMILY_##FAMILY;
#include "kernels/kernels.def"
#undef PREM_KERNEL
#undef PREM_COMPATIBLE_KERNEL
  return PREM_FAMILY_general;
}

#endif
