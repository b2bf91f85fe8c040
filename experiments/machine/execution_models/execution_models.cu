/* SPDX-License-Identifier: Apache-2.0 */
/* The models on the GPU. A worker is a warp. */
#include "experiments/common/gpu_work.h"
#include "experiments/machine/execution_models/world.h"
#include "prem/base/clock.h"

/** Unless something went wrong before. */
#define NEXT(call) error = error == cudaSuccess ? (call) : error

namespace {

enum { WARP = 32, WARPS = MODEL_THREADS / WARP, NESTED = 20 /* of 24 that may be */ };

extern __shared__ __align__(128) unsigned char scratch[];

/** Bytes that a warp has for input: of a stage, or of the one that wants most. */
__host__ __device__ inline uint32_t warp_scratch(int workload, int stage) {
  uint32_t bytes = 0;
  for (int at = 0; at < MODEL_STAGES; ++at) {
    const uint32_t has = (model_stage_of(workload, at).scratch_bytes / WARPS + 15) / 16 * 16;
    bytes = (at == stage || stage == MODEL_STAGES) && has > bytes ? has : bytes;
  }
  return bytes;
}
__device__ uint32_t *scratch_of(int workload, int stage) {
  const uint32_t bytes = warp_scratch(workload, stage);
  return bytes == 0 ? NULL : (uint32_t *)(scratch + threadIdx.x / WARP * bytes);
}

/** Items of a stage; `last` 0: those that a controller has planned. */
template <int workload, int stage>
__global__ void __launch_bounds__(MODEL_THREADS)
    work_stage(model_world *world, uint64_t first, uint64_t last) {
  const model_range *range = &world->ranges[stage];
  const uint32_t warps = blockDim.x / WARP;
  model_work_range(world, workload, stage, last ? first : range->first, last ? last : range->last,
                   blockIdx.x * warps + threadIdx.x / WARP, gridDim.x * warps,
                   scratch_of(workload, stage));
}

/** Warps that stay. */
template <int workload>
__global__ void __launch_bounds__(MODEL_THREADS) work_on(model_world *world, uint32_t keep) {
  __shared__ model_own owns[WARPS];
  model_own *own = &owns[threadIdx.x / WARP];
  const uint32_t worker = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
  if (threadIdx.x % WARP == 0) {
    memset(own, 0, sizeof *own);
    own->stack = world->stacks + (uint64_t)worker * MODEL_STAGES * MODEL_STACK;
    own->end_ns = prem_clock_ns() + world->run.patience_ns;
  }
  __syncwarp();
  model_work_on(world, own, workload, worker, keep, scratch_of(workload, MODEL_STAGES));
}

using stage_kernel = void (*)(model_world *, uint64_t, uint64_t);
using worker_kernel = void (*)(model_world *, uint32_t);
#define OF(workload)                                                                               \
  {                                                                                                \
    work_stage<workload, 0>, work_stage<workload, 1>, work_stage<workload, 2>,                     \
        work_stage<workload, 3>, work_stage<workload, 4>                                           \
  }
const stage_kernel stage_kernels[MODEL_WORKLOADS][MODEL_STAGES] = {OF(0), OF(1), OF(2), OF(3)};
const worker_kernel worker_kernels[MODEL_WORKLOADS] = {work_on<0>, work_on<1>, work_on<2>,
                                                       work_on<3>};

/** Blocks that work so many items of a stage at once. */
__host__ __device__ inline uint32_t blocks_for(int workload, int stage, uint64_t items,
                                               uint32_t threads) {
  const uint32_t lanes = model_stage_of(workload, stage).lanes;
  const uint32_t each = threads / (lanes < WARP ? lanes : WARP);
  return (uint32_t)((items + each - 1) / each);
}

struct gpu {
  const model_run *run;
  model_world *image, *there, *back; /* what a turn begins with; the GPU's; what it has left */
  cudaStream_t streams[MODEL_STAGES];
  cudaEvent_t ended[MODEL_STAGES];
  cudaGraphExec_t graphs[MODEL_STAGES + 1]; /* the last is the controller's */
  size_t begin_bytes;
  int sms;
};

/* ---- controllers on the GPU -------------------------------------------------------------------
 */

#ifdef __NVCC__

/* From compute capability 9.0 on; for some earlier GPUs the toolkit has nothing to link. */
enum { LAUNCHES_FROM = 90 };
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define WITH_LAUNCHES
#endif

struct stage_graphs {
  cudaGraphExec_t of[MODEL_STAGES];
};

__device__ uint32_t plan(model_world *world) {
  uint64_t most = world->most.word;
  const uint32_t stages = model_plan(world->tails, world->ranges, world->run.room, false, &most);
  world->most.word = most;
  world->left.word = stages; /* for the host: is there more to do? */
  world->launches.word += __popc(stages) + 1;
  __threadfence();
  return stages;
}

__global__ void launch_graphs(model_world *world, stage_graphs graphs) {
#ifdef WITH_LAUNCHES
  const uint32_t stages = plan(world);
  for (int stage = 0; stage < MODEL_STAGES; ++stage)
    if (stages >> stage & 1)
      cudaGraphLaunch(graphs.of[stage], cudaStreamGraphFireAndForget);
  if (stages != 0)
    cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
#endif
}

template <int workload, int stage> __device__ void launch_stage(model_world *world) {
  const model_range *range = &world->ranges[stage];
  const uint32_t threads = world->run.threads;
  work_stage<workload, stage>
      <<<blocks_for(workload, stage, range->last - range->first, threads), threads,
         threads / WARP * warp_scratch(workload, stage), cudaStreamFireAndForget>>>(
          world, range->first, range->last);
}

template <int workload> __global__ void launch_nested(model_world *world, int depth) {
#ifdef WITH_LAUNCHES
  void (*const launch[MODEL_STAGES])(model_world *) = {
      launch_stage<workload, 0>, launch_stage<workload, 1>, launch_stage<workload, 2>,
      launch_stage<workload, 3>, launch_stage<workload, 4>};
  const uint32_t stages = plan(world);
  MODEL_UNROLL
  for (int stage = 0; stage < MODEL_STAGES; ++stage)
    if (stages >> stage & 1)
      launch[stage](world);
  if (stages != 0 && depth < NESTED)
    launch_nested<workload><<<1, 1, 0, cudaStreamTailLaunch>>>(world, depth + 1);
#endif
}

const void *const nested_kernels[MODEL_WORKLOADS] = {
    (const void *)launch_nested<0>, (const void *)launch_nested<1>, (const void *)launch_nested<2>,
    (const void *)launch_nested<3>};

/** Was it compiled for a GPU whose kernels launch? */
cudaError_t find_launches() {
  cudaFuncAttributes facts;
  const cudaError_t error = cudaFuncGetAttributes(&facts, (const void *)launch_graphs);
  return error == cudaSuccess && facts.ptxVersion < LAUNCHES_FROM ? cudaErrorNotSupported : error;
}

cudaError_t make_graph(const void *kernel, unsigned blocks, unsigned threads, size_t bytes,
                       void **arguments, cudaStream_t stream, cudaGraphExec_t *exec) {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaKernelNodeParams what = {};
  what.func = (void *)kernel;
  what.gridDim = dim3(blocks);
  what.blockDim = dim3(threads);
  what.sharedMemBytes = (unsigned)bytes;
  what.kernelParams = arguments;
  cudaError_t error = cudaGraphCreate(&graph, 0);
  if (error != cudaSuccess)
    return error;
  error = cudaGraphAddKernelNode(&node, graph, NULL, 0, &what);
  NEXT(cudaGraphInstantiate(exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  cudaGraphDestroy(graph);
  return error == cudaSuccess ? cudaGraphUpload(*exec, stream) : error;
}

cudaError_t make_graphs(gpu *g) {
  const model_run *run = g->run;
  const int workload = run->work.workload;
  uint64_t none = 0;
  void *of_stage[] = {&g->there, &none, &none};
  stage_graphs graphs = {};
  cudaError_t error = cudaSuccess;
  for (int stage = 0; stage < MODEL_STAGES; ++stage) {
    NEXT(make_graph((const void *)stage_kernels[workload][stage], run->blocks * g->sms,
                    run->threads, run->threads / WARP * warp_scratch(workload, stage), of_stage,
                    g->streams[0], &g->graphs[stage]));
    graphs.of[stage] = g->graphs[stage];
  }
  void *of_all[] = {&g->there, &graphs};
  NEXT(make_graph((const void *)launch_graphs, 1, 1, 0, of_all, g->streams[0],
                  &g->graphs[MODEL_STAGES]));
  return error;
}

/** A controller goes on until nothing is left; nested it may go no deeper, and another begins. */
cudaError_t by_controller(gpu *g) {
  const int64_t end_ns = prem_host_clock_ns() + g->run->patience_ns;
  uint64_t *left = &g->back->left.word;
  int depth = 0;
  void *arguments[] = {&g->there, &depth};
  for (*left = 1; *left != 0 && prem_host_clock_ns() < end_ns;) {
    cudaError_t error = g->run->kind == MODEL_GRAPHS
                            ? cudaGraphLaunch(g->graphs[MODEL_STAGES], g->streams[0])
                            : cudaLaunchKernel(nested_kernels[g->run->work.workload], dim3(1),
                                               dim3(1), arguments, 0, g->streams[0]);
    NEXT(cudaMemcpyAsync(left, &g->there->left.word, sizeof *left, cudaMemcpyDeviceToHost,
                         g->streams[0]));
    NEXT(cudaStreamSynchronize(g->streams[0]));
    if (error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

#else
cudaError_t find_launches() {
  return cudaErrorNotSupported;
}
cudaError_t make_graphs(gpu *) {
  return cudaErrorNotSupported;
}
cudaError_t by_controller(gpu *) {
  return cudaErrorNotSupported;
}
#endif

/* ---- a turn ---------------------------------------------------------------------------------- */

/** The host reads how many items there are, and launches: one stage, or all side by side. */
cudaError_t by_host(gpu *g, uint64_t *most, uint64_t *launches) {
  const model_run *run = g->run;
  const int workload = run->work.workload;
  const bool one = run->kind == MODEL_STAGE_BY_STAGE;
  model_range ranges[MODEL_STAGES] = {};
  prem_ring_line *tails = g->back->tails;
  memcpy(tails, g->image->tails, sizeof g->image->tails);
  cudaError_t error = cudaSuccess;
  while (const uint32_t stages = model_plan(tails, ranges, run->room, one, most)) {
    for (int stage = 0; stage < MODEL_STAGES; ++stage) {
      if (!(stages >> stage & 1))
        continue;
      const model_range *range = &ranges[stage];
      void *arguments[] = {&g->there, &ranges[stage].first, &ranges[stage].last};
      const cudaStream_t stream = g->streams[one ? 0 : stage];
      NEXT(cudaLaunchKernel(
          (const void *)stage_kernels[workload][stage],
          dim3(blocks_for(workload, stage, range->last - range->first, run->threads)),
          dim3(run->threads), arguments, run->threads / WARP * warp_scratch(workload, stage),
          stream));
      ++*launches;
      if (stream == g->streams[0])
        continue;
      NEXT(cudaEventRecord(g->ended[stage], stream));
      NEXT(cudaStreamWaitEvent(g->streams[0], g->ended[stage], 0));
    }
    NEXT(cudaMemcpyAsync(tails, g->there->tails, sizeof g->there->tails, cudaMemcpyDeviceToHost,
                         g->streams[0]));
    NEXT(cudaStreamSynchronize(g->streams[0]));
    if (error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t by_workers(gpu *g) {
  const model_run *run = g->run;
  uint32_t keep = model_keep(run->kind);
  void *arguments[] = {&g->there, &keep};
  const cudaError_t error = cudaLaunchCooperativeKernel(
      (const void *)worker_kernels[run->work.workload], dim3(run->blocks * g->sms),
      dim3(run->threads), arguments,
      run->threads / WARP * warp_scratch(run->work.workload, MODEL_STAGES), g->streams[0]);
  return error == cudaSuccess ? cudaStreamSynchronize(g->streams[0]) : error;
}

bool has_workers(model_kind kind) {
  return kind == MODEL_PERSISTENT || kind == MODEL_MEGAKERNEL || kind == MODEL_LOCAL;
}
bool has_controller(model_kind kind) {
  return kind == MODEL_GRAPHS || kind == MODEL_NESTED;
}

cudaError_t take_turn(gpu *g, int64_t *ns, model_result *result) {
  const model_kind kind = g->run->kind;
  uint64_t most = 0, launches = 0;
  cudaError_t error = cudaMemcpy(g->there, g->image, g->begin_bytes, cudaMemcpyHostToDevice);
  NEXT(cudaDeviceSynchronize());
  const int64_t begin_ns = prem_host_clock_ns();
  if (error == cudaSuccess)
    error = has_workers(kind)      ? by_workers(g)
            : has_controller(kind) ? by_controller(g)
                                   : by_host(g, &most, &launches);
  *ns = prem_host_clock_ns() - begin_ns;
  NEXT(cudaMemcpy(g->back, g->there, sizeof *g->back, cudaMemcpyDeviceToHost));
  if (error != cudaSuccess)
    return error;
  g->back->launches.word += has_workers(kind) ? 1 : launches;
  g->back->most.word += most;
  model_judge(g->back, result);
  return cudaSuccess;
}

/* ---- opening --------------------------------------------------------------------------------- */

cudaError_t open_gpu(gpu *g, const uint32_t *input, void **input_there) {
  const model_run *run = g->run;
  const size_t bytes = model_world_bytes(run, (uint64_t)g->sms * run->blocks * run->threads / WARP);
  cudaError_t error = cudaMalloc(input_there, MODEL_INPUT_WORDS * sizeof *input);
  NEXT(cudaMemcpy(*input_there, input, MODEL_INPUT_WORDS * sizeof *input, cudaMemcpyHostToDevice));
  NEXT(cudaMalloc((void **)&g->there, bytes));
  NEXT(cudaHostAlloc((void **)&g->image, model_world_bytes(run, 0), cudaHostAllocDefault));
  NEXT(cudaHostAlloc((void **)&g->back, sizeof *g->back, cudaHostAllocDefault));
  for (int i = 0; i < MODEL_STAGES; ++i) {
    NEXT(cudaStreamCreateWithFlags(&g->streams[i], cudaStreamNonBlocking));
    NEXT(cudaEventCreateWithFlags(&g->ended[i], cudaEventDisableTiming));
  }
  if (error != cudaSuccess)
    return error;
  g->begin_bytes = model_world_init(g->image, g->there, run, (const uint32_t *)*input_there);
  return run->kind == MODEL_GRAPHS ? make_graphs(g) : cudaSuccess;
}

void close_gpu(gpu *g, void *input_there) {
  for (cudaGraphExec_t graph : g->graphs)
    if (graph)
      cudaGraphExecDestroy(graph);
  for (int i = 0; i < MODEL_STAGES; ++i) {
    if (g->ended[i])
      cudaEventDestroy(g->ended[i]);
    if (g->streams[i])
      cudaStreamDestroy(g->streams[i]);
  }
  cudaFreeHost(g->back);
  cudaFreeHost(g->image);
  cudaFree(g->there);
  cudaFree(input_there);
}

} // namespace

prem_status prem_gpu_model_run(const model_run *run, int64_t *ns, model_result *result,
                               prem_diag *diag) {
  gpu g = {};
  void *input_there = NULL;
  int fit = 0;
  g.run = run;
  *result = model_result{};
  result->ok = true;
  cudaError_t error = cudaDeviceGetAttribute(&g.sms, cudaDevAttrMultiProcessorCount, 0);
  NEXT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &fit, (const void *)worker_kernels[run->work.workload], (int)run->threads,
      run->threads / WARP * warp_scratch(run->work.workload, MODEL_STAGES)));
  if (error == cudaSuccess && has_workers(run->kind) && (int)run->blocks > fit) {
    result->why = "an SM has no room for so many blocks";
    return PREM_ERR_UNAVAILABLE;
  }
  uint32_t *input = model_new_input();
  if (!input)
    return PREM_ERR_MEMORY;
  if (has_controller(run->kind))
    NEXT(find_launches());
  NEXT(open_gpu(&g, input, &input_there));
  while (error == cudaSuccess && result->ok && result->turns < run->turns) {
    error = take_turn(&g, &ns[result->turns], result);
    result->turns += error == cudaSuccess;
  }
  close_gpu(&g, input_there);
  free(input);
  if (error != cudaSuccess && has_controller(run->kind) && cudaDeviceSynchronize() == cudaSuccess) {
    result->why = cudaGetErrorString(error);
    (void)cudaGetLastError(); /* the next model begins without it */
    return PREM_ERR_UNAVAILABLE;
  }
  return prem_gpu_judge(error, "working items", diag);
}
