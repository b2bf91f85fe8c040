/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that put and take. A lane of a batch is a user of its own; of the ring the warp is one. */
#include <vector>

#include "experiments/common/gpu_work.h"
#include "experiments/machine/queue_kinds/queue_world.h"

namespace {

enum { WARP = 32, IDLE_ROUNDS = 8, ROUND_PATIENCES = 20, COUNT_BLOCKS = 264 };

constexpr unsigned all_lanes = 0xffffffffu;

/** What a lane has done. */
struct lane_counts {
  uint64_t put = 0, taken = 0, refused = 0, empties = 0;
};

/** One user's puts and takes, of any queue but the ring: each lane for itself. */
template <queue_kind kind> struct lane_queue {
  queue_world *world;
  bool acts;
  uint64_t next, end;

  __device__ lane_queue(queue_world *of, uint32_t lane, prem_ring_hand *) : world(of) {
    const queue_work *work = &of->work;
    const uint64_t share = work->each / work->batch;
    acts = lane < work->batch;
    next = blockIdx.x * work->each + lane * share;
    end = acts && queue_block_puts(work, blockIdx.x) ? next + share : next;
  }
  __device__ void put(lane_counts *counts) {
    if (next == end)
      return;
    const queue_answer answer = queue_put(&world->set, kind, blockIdx.x, next);
    next += answer == QUEUE_OK;
    counts->put += answer == QUEUE_OK;
    counts->refused += answer == QUEUE_REFUSED;
  }
  __device__ bool take(lane_counts *counts) {
    uint64_t item = 0;
    const queue_answer answer =
        acts ? queue_take(&world->set, kind, blockIdx.x, &item) : QUEUE_REFUSED;
    if (answer == QUEUE_OK && item < world->most)
      atomicAdd(&world->marks[item], 1u);
    counts->taken += answer == QUEUE_OK;
    counts->empties += acts && answer == QUEUE_REFUSED;
    return answer == QUEUE_OK;
  }
};

/** The ring: the warp has a hand for puts and one for takes. */
struct warp_ring {
  queue_world *world;
  prem_ring_hand *hands;
  uint32_t lane;
  uint64_t next, end;

  __device__ warp_ring(queue_world *of, uint32_t which, prem_ring_hand *both)
      : world(of), hands(both), lane(which) {
    next = blockIdx.x * of->work.each;
    end = queue_block_puts(&of->work, blockIdx.x) ? next + of->work.each : next;
    if (lane == 0)
      hands[0].kept = hands[1].kept = 0;
    __syncwarp();
  }
  __device__ void put(lane_counts *counts) {
    if (next == end)
      return;
    const uint64_t left = end - next;
    const uint32_t want = left < world->work.batch ? (uint32_t)left : world->work.batch;
    if (hands[0].kept == 0)
      hands[0].items[lane] = next + lane;
    __syncwarp();
    const prem_ring_answer answer = prem_ring_put(&world->ring, &hands[0], want);
    const uint32_t done = answer == PREM_RING_OK ? hands[0].count : 0;
    next += done;
    counts->put += lane == 0 ? done : 0;
    counts->refused += lane == 0 && answer == PREM_RING_FULL;
  }
  __device__ bool take(lane_counts *counts) {
    const prem_ring_answer answer = prem_ring_take(&world->ring, &hands[1], world->work.batch);
    const bool is_mine = answer == PREM_RING_OK && lane < hands[1].count;
    if (is_mine && hands[1].items[lane] < world->most)
      atomicAdd(&world->marks[hands[1].items[lane]], 1u);
    counts->taken += is_mine;
    counts->empties += lane == 0 && answer == PREM_RING_EMPTY;
    return answer == PREM_RING_OK || answer == PREM_RING_BUSY;
  }
};

/** Put and take until all has been put and nothing comes any more; again, without puts and without
 *  counting, what EMPTY for nothing has left. Lanes see words at different times, so they vote. */
template <class queue> __global__ void work_on(queue_world *world, bool again) {
  __shared__ prem_ring_hand hands[2];
  const uint32_t lane = threadIdx.x % WARP;
  const queue_work *work = &world->work;
  const bool takes = again || queue_block_takes(work, blockIdx.x);
  queue of(world, lane, hands);
  lane_counts counts;
  bool is_told = again || !queue_block_puts(work, blockIdx.x);
  of.next = again ? of.end : of.next;
  const int64_t end_ns = queue_clock_ns() + ROUND_PATIENCES * world->waits.patience_ns;
  for (uint32_t idle = 0;;) {
    of.put(&counts);
    __syncwarp();
    if (!is_told && __all_sync(all_lanes, of.next == of.end)) {
      is_told = true;
      if (lane == 0)
        queue_add(&world->over.word, 1);
    }
    const bool any = __any_sync(all_lanes, takes && of.take(&counts));
    __syncwarp();
    idle = any ? 0 : idle + 1;
    const bool all_put = queue_load(&world->over.word) == queue_putting(work);
    if (__all_sync(all_lanes, is_told && all_put && (idle > IDLE_ROUNDS || !takes)))
      break;
    if (lane == 0 && queue_clock_ns() > end_ns)
      queue_give_up(&world->waits);
    if (__any_sync(all_lanes, queue_is_stuck(&world->waits)))
      break;
  }
  if (again)
    return;
  queue_add(&world->put.word, counts.put);
  queue_add(&world->taken.word, counts.taken);
  queue_add(&world->refused.word, counts.refused);
  queue_add(&world->empties.word, counts.empties);
}

template <queue_kind kind> const void *kernel_of() {
  return (const void *)work_on<lane_queue<kind>>;
}

const void *const kernels[QUEUE_KINDS] = {
    kernel_of<QUEUE_INDEX_LISTED>(),       kernel_of<QUEUE_INDEX>(),
    kernel_of<QUEUE_BUCKETS_LISTED>(),     kernel_of<QUEUE_BUCKETS>(),
    kernel_of<QUEUE_BROKER_LISTED>(),      kernel_of<QUEUE_BROKER>(),
    kernel_of<QUEUE_DISTRIBUTOR_LISTED>(), kernel_of<QUEUE_DISTRIBUTOR>(),
    kernel_of<QUEUE_STEALING_LISTED>(),    kernel_of<QUEUE_STEALING>(),
    (const void *)work_on<warp_ring>,
};

/** What `queue_count_items` counts; the marks are as many as the items of a run. */
__global__ void count_items(const queue_world *world, unsigned long long *seen,
                            unsigned long long *twice) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  unsigned long long once = 0, more = 0;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < world->most; i += step) {
    once += world->marks[i] > 0;
    more += world->marks[i] > 1;
  }
  atomicAdd(seen, once);
  atomicAdd(twice, more);
}

/* ---- on the host ---------------------------------------------------------------------------- */

/** Time the first launch alone. All blocks are on the GPU at once: some wait for others. */
cudaError_t launch(queue_kind kind, queue_world *there, uint32_t blocks, int64_t *ns) {
  cudaEvent_t begun = NULL, over = NULL;
  bool again = false, once_more = true;
  void *arguments[] = {&there, &again}, *others[] = {&there, &once_more};
  float ms = 0;
  cudaError_t error;
  if ((error = cudaEventCreate(&begun)) == cudaSuccess &&
      (error = cudaEventCreate(&over)) == cudaSuccess &&
      (error = cudaEventRecord(begun, NULL)) == cudaSuccess &&
      (error = cudaLaunchCooperativeKernel(kernels[kind], dim3(blocks), dim3(WARP), arguments, 0,
                                           NULL)) == cudaSuccess &&
      (error = cudaEventRecord(over, NULL)) == cudaSuccess)
    error = cudaLaunchCooperativeKernel(kernels[kind], dim3(blocks), dim3(WARP), others, 0, NULL);
  const cudaError_t ended = cudaDeviceSynchronize();
  if (error == cudaSuccess && ended == cudaSuccess)
    error = cudaEventElapsedTime(&ms, begun, over);
  if (begun)
    cudaEventDestroy(begun);
  if (over)
    cudaEventDestroy(over);
  *ns = (int64_t)((double)ms * 1e6);
  return error == cudaSuccess ? ended : error;
}

/** All but the marks comes back. */
cudaError_t look(queue_world *image, queue_world *there, queue_counts *counts) {
  unsigned long long words[2] = {0, 0}, *sums = NULL;
  void *arguments[] = {&there, &sums, NULL};
  cudaError_t error = prem_gpu_zeros((void **)&sums, sizeof words);
  unsigned long long *twice = sums + 1;
  arguments[2] = &twice;
  if (error == cudaSuccess)
    error = cudaLaunchKernel((const void *)count_items, dim3(COUNT_BLOCKS), dim3(WARP), arguments,
                             0, NULL);
  if (error == cudaSuccess)
    error = cudaMemcpy(words, sums, sizeof words, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(image, there, sizeof *image, cudaMemcpyDeviceToHost);
  cudaFree(sums);
  if (error != cudaSuccess)
    return error;
  counts->put = (int64_t)image->put.word;
  counts->taken = (int64_t)image->taken.word;
  counts->refused = (int64_t)image->refused.word;
  counts->empties = (int64_t)image->empties.word;
  counts->is_stuck = image->waits.stuck.word != 0;
  counts->lost = counts->put - (int64_t)words[0];
  counts->twice = (int64_t)words[1];
  return cudaSuccess;
}

} // namespace

prem_status prem_gpu_queue_work(const queue_work *work, queue_counts *counts, prem_diag *diag) {
  const size_t bytes = queue_world_bytes(work), marks = queue_mark_bytes(work);
  std::vector<queue_world> image((bytes - marks) / sizeof(queue_world) + 1);
  char *there = NULL;
  *counts = queue_counts{};
  cudaError_t error = cudaMalloc((void **)&there, bytes);
  if (error == cudaSuccess) {
    queue_world_init(image.data(), there, work);
    error = cudaMemcpy(there, image.data(), bytes - marks, cudaMemcpyHostToDevice);
  }
  if (error == cudaSuccess)
    error = cudaMemset(there + bytes - marks, 0, marks);
  if (error == cudaSuccess)
    error = launch(work->kind, (queue_world *)there, work->blocks, &counts->ns);
  if (error == cudaSuccess)
    error = look(image.data(), (queue_world *)there, counts);
  cudaFree(there);
  return prem_gpu_judge(error, "working queues", diag);
}
