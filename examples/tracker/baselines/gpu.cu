/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of targets has a stream, plans of cuFFT and memory of its own. What a frame has come to
 * is told by its kernels, in memory of the host: numbers of frames, stored behind the boxes with
 * release. No event and no copy lies between a position and who waits for it.
 */
#include "gpu.h"

#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <ttprem/kernel.h>

/* All threads of a block compute here: none of them moves memory for the others. */
#undef PREM_LANE
#undef PREM_LANE_COUNT
#undef PREM_SYNC
#define PREM_LANE       ((int32_t)threadIdx.x)
#define PREM_LANE_COUNT ((int32_t)blockDim.x)
#define PREM_SYNC()     __syncthreads()

#include "steps.h"

namespace {

enum { KEPT = 4 /* frames whose boxes and stamps are kept */, MOST_BATCHES = 64 };

/** What the GPU tells the host; of the batch in hand. */
struct told {
  uint64_t position, end; /* so many frames */
  uint64_t begin_ns[KEPT], position_ns[KEPT], end_ns[KEPT];
};

/** What the steps count on the GPU. */
struct counted {
  uint64_t frames;  /* that have ended */
  uint32_t arrived; /* blocks of the last step */
};

struct reports {
  told *to_host;
  float *boxes; /* [KEPT][all targets][8], from the batch's first target on */
  int32_t all_targets;
  counted *own;
};

/* ---- kernels --------------------------------------------------------------------------------- */

__device__ __forceinline__ uint64_t now_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

/* What was stored before by this thread, or by others in front of a barrier, is seen with it. */
__device__ __forceinline__ void tell(uint64_t *word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ bool is_first_thread() {
  return blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0;
}

/* Of all blocks of a step: the last one's first thread. The count begins anew. */
__device__ __forceinline__ bool is_last_thread(counted *own) {
  __syncthreads();
  if (threadIdx.x != 0)
    return false;
  const uint32_t blocks = gridDim.x * gridDim.y;
  uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(&own->arrived)
               : "memory");
  if (before + 1 != blocks)
    return false;
  own->arrived = 0;
  return true;
}

template <int STEP>
__global__ void run_step(const __grid_constant__ baseline_batch batch,
                         const __grid_constant__ reports report, bool learns) {
  extern __shared__ __align__(16) unsigned char room[];
  const uint64_t frame = report.own->frames;
  const int32_t kept = (int32_t)(frame % KEPT);
  float *boxes = report.boxes + (int64_t)kept * report.all_targets * BOX_NUMBERS;
  if (STEP == BASELINE_SEE && !learns && is_first_thread())
    report.to_host->begin_ns[kept] = now_ns();
  baseline_block(&batch, (baseline_step)STEP, learns, (int32_t)blockIdx.x, (int32_t)blockIdx.y,
                 room, boxes);
  if (STEP == BASELINE_LOCATE) { /* of one block */
    __syncthreads();
    if (threadIdx.x == 0) {
      report.to_host->position_ns[kept] = now_ns();
      tell(&report.to_host->position, frame + 1);
    }
  }
  if (STEP == BASELINE_TRAIN && is_last_thread(report.own)) {
    report.own->frames = frame + 1;
    report.to_host->end_ns[kept] = now_ns();
    tell(&report.to_host->end, frame + 1);
  }
}

/* Rows of a frame by blocks; saturated, with 128 for nothing, as the tracker's company does it. */
__global__ void find_edges(const uint8_t *frame, int32_t rows, int32_t columns, uint8_t *out) {
  for (int32_t r = 1 + (int32_t)blockIdx.x; r < rows - 1; r += (int32_t)gridDim.x)
    for (int32_t c = 1 + (int32_t)threadIdx.x; c < columns - 1; c += (int32_t)blockDim.x) {
      const uint8_t *at = frame + (int64_t)r * columns + c;
      const int32_t sum = 4 * at[0] - at[-1] - at[1] - at[-columns] - at[columns] + 128;
      out[(int64_t)r * columns + c] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

using step_kernel = void(const baseline_batch, const reports, bool);

step_kernel *kernel_of(int step) {
  switch (step) {
  case BASELINE_SEE:
    return run_step<BASELINE_SEE>;
  case BASELINE_CORRELATE:
    return run_step<BASELINE_CORRELATE>;
  case BASELINE_GAUSS:
    return run_step<BASELINE_GAUSS>;
  case BASELINE_WEIGH:
    return run_step<BASELINE_WEIGH>;
  case BASELINE_PEAK:
    return run_step<BASELINE_PEAK>;
  case BASELINE_LOCATE:
    return run_step<BASELINE_LOCATE>;
  case BASELINE_LEARN:
    return run_step<BASELINE_LEARN>;
  case BASELINE_TRAIN:
    return run_step<BASELINE_TRAIN>;
  default:
    return nullptr;
  }
}

} // namespace

/* ---- a way ----------------------------------------------------------------------------------- */

namespace {

enum { PLANS = 4 /* of planes and of one plane a region, to find and to learn */ };

struct stream_batch {
  baseline_batch data;
  reports report;
  cudaStream_t stream;
  cufftHandle plan[PLANS];
  int plan_count;
};

} // namespace

struct baseline_gpu {
  baseline_way way;
  int32_t targets, batch_count;
  int64_t submitted;
  size_t frame_bytes;
  stream_batch batches[MOST_BATCHES];
  uint8_t *host_frame[BASELINE_IN_HAND], *frame[BASELINE_IN_HAND];
  told *host_told; /* [batches] */
  float *host_boxes;
  cudaEvent_t copied;
  cudaStream_t copier;
  baseline_company company;
  int32_t rows, columns;
  cudaStream_t beside;
  cudaEvent_t beside_done;
  uint8_t *beside_from, *beside_to;
  size_t beside_bytes;
  int64_t left_out;
  cudaGraphExec_t graph[BASELINE_IN_HAND];
  void *device[16 * MOST_BATCHES + 16];
  int device_count;
  char *reason;
};

namespace {

bool good(baseline_gpu *gpu, cudaError_t error, const char *what) {
  if (error != cudaSuccess)
    snprintf(gpu->reason, BASELINE_REASON_BYTES, "%s: %s", what, cudaGetErrorString(error));
  return error == cudaSuccess;
}

bool good_plan(baseline_gpu *gpu, cufftResult result, const char *what) {
  if (result != CUFFT_SUCCESS)
    snprintf(gpu->reason, BASELINE_REASON_BYTES, "%s: error %d of cuFFT", what, (int)result);
  return result == CUFFT_SUCCESS;
}

/* Zeros. */
template <typename T> bool allocate(baseline_gpu *gpu, T **out, size_t count) {
  void *memory = nullptr;
  if (!good(gpu, cudaMalloc(&memory, count * sizeof(T)), "memory of the GPU"))
    return false;
  gpu->device[gpu->device_count++] = memory;
  *out = (T *)memory;
  return good(gpu, cudaMemset(memory, 0, count * sizeof(T)), "memory of the GPU");
}

/* ---- opening --------------------------------------------------------------------------------- */

bool make_plan(baseline_gpu *gpu, stream_batch *batch, int planes) {
  int side[2] = {TRACK_CELLS, TRACK_CELLS};
  cufftHandle *plan = &batch->plan[batch->plan_count];
  if (!good_plan(gpu,
                 cufftPlanMany(plan, 2, side, nullptr, 1, BASELINE_POINTS, nullptr, 1,
                               BASELINE_POINTS, CUFFT_C2C, planes),
                 "a plan of Fourier transforms"))
    return false;
  ++batch->plan_count;
  return good_plan(gpu, cufftSetStream(*plan, batch->stream), "a plan's stream");
}

bool fill_batch(baseline_gpu *gpu, const baseline_setup *setup, stream_batch *batch, int32_t first,
                int32_t targets) {
  baseline_batch *data = &batch->data;
  data->features = *(const track_features_params *)setup->features;
  data->locate = ((const track_find_params *)setup->find)->locate;
  data->train = *(const track_train_params *)setup->train;
  data->sigma = ((const track_find_params *)setup->find)->respond.sigma;
  data->rate = ((const track_learn_params *)setup->learn)->rate;
  data->targets = targets;
  const size_t count = (size_t)targets, regions = count * (size_t)data->locate.scales;
  const size_t planes = TRACK_PLANES * BASELINE_POINTS;
  float *command = nullptr;
  const bool there = allocate(gpu, &command, count * COMMAND_NUMBERS) &&
                     allocate(gpu, &data->pose, count * POSE_NUMBERS) &&
                     allocate(gpu, &data->model, count * planes) &&
                     allocate(gpu, &data->model_energy, count * (TRACK_PLANES / 2)) &&
                     allocate(gpu, &data->alpha, count * BASELINE_POINTS) &&
                     allocate(gpu, &data->planes, regions * planes) &&
                     allocate(gpu, &data->energy, regions * BASELINE_STRIPS) &&
                     allocate(gpu, &data->plane, regions * BASELINE_POINTS) &&
                     allocate(gpu, &data->peaks, regions * PEAK_NUMBERS) &&
                     allocate(gpu, &batch->report.own, 1);
  data->command = command;
  return there && good(gpu,
                       cudaMemcpy(command, setup->command + (size_t)first * COMMAND_NUMBERS,
                                  count * COMMAND_NUMBERS * sizeof(float), cudaMemcpyHostToDevice),
                       "the targets");
}

/* The first batch has the highest priority, the last one the lowest. */
bool open_batch(baseline_gpu *gpu, const baseline_setup *setup, int32_t index) {
  stream_batch *batch = &gpu->batches[index];
  const int32_t all = setup->targets, batches = gpu->batch_count;
  const int32_t first = (int32_t)((int64_t)all * index / batches);
  const int32_t targets = (int32_t)((int64_t)all * (index + 1) / batches) - first;
  int least = 0, greatest = 0;
  if (!good(gpu, cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities"))
    return false;
  const int priority = batches > 1 ? greatest + (least - greatest) * index / (batches - 1) : least;
  if (!good(gpu, cudaStreamCreateWithPriority(&batch->stream, cudaStreamNonBlocking, priority),
            "a stream") ||
      !fill_batch(gpu, setup, batch, first, targets))
    return false;
  void *told_there = nullptr, *boxes_there = nullptr;
  if (!good(gpu, cudaHostGetDevicePointer(&told_there, gpu->host_told + index, 0), "host memory") ||
      !good(
          gpu,
          cudaHostGetDevicePointer(&boxes_there, gpu->host_boxes + (size_t)first * BOX_NUMBERS, 0),
          "host memory"))
    return false;
  batch->report.to_host = (told *)told_there;
  batch->report.boxes = (float *)boxes_there;
  batch->report.all_targets = all;
  const int regions = targets * batch->data.locate.scales;
  return make_plan(gpu, batch, regions * TRACK_PLANES) && make_plan(gpu, batch, regions) &&
         make_plan(gpu, batch, targets * TRACK_PLANES) && make_plan(gpu, batch, targets);
}

bool open_memory(baseline_gpu *gpu, const baseline_setup *setup) {
  gpu->frame_bytes = (size_t)setup->rows * (size_t)setup->columns;
  for (int i = 0; i < BASELINE_IN_HAND; ++i) {
    void *memory = nullptr;
    if (!good(gpu, cudaHostAlloc(&memory, gpu->frame_bytes, cudaHostAllocDefault), "host memory"))
      return false;
    gpu->host_frame[i] = (uint8_t *)memory;
    if (!allocate(gpu, &gpu->frame[i], gpu->frame_bytes))
      return false;
  }
  const size_t told_bytes = (size_t)gpu->batch_count * sizeof(told);
  const size_t boxes_bytes = (size_t)KEPT * (size_t)setup->targets * BOX_NUMBERS * sizeof(float);
  void *told_memory = nullptr, *boxes_memory = nullptr;
  const bool there =
      good(gpu, cudaHostAlloc(&told_memory, told_bytes, cudaHostAllocMapped), "host memory");
  gpu->host_told = (told *)told_memory;
  const bool all =
      there &&
      good(gpu, cudaHostAlloc(&boxes_memory, boxes_bytes, cudaHostAllocMapped), "host memory");
  gpu->host_boxes = (float *)boxes_memory;
  if (all) {
    memset(told_memory, 0, told_bytes);
    memset(boxes_memory, 0, boxes_bytes);
  }
  return all;
}

/* ---- a frame --------------------------------------------------------------------------------- */

bool transform(baseline_gpu *gpu, stream_batch *batch, baseline_turn turn) {
  const bool planes = turn.step == BASELINE_SPECTRA;
  const cufftHandle plan = batch->plan[(turn.learns ? 2 : 0) + (planes ? 0 : 1)];
  cufftComplex *points = (cufftComplex *)(planes ? batch->data.planes : batch->data.plane);
  return good_plan(gpu,
                   cufftExecC2C(plan, points, points,
                                turn.step == BASELINE_BACK ? CUFFT_INVERSE : CUFFT_FORWARD),
                   "Fourier transforms");
}

bool enqueue(baseline_gpu *gpu, stream_batch *batch, const uint8_t *frame) {
  baseline_batch data = batch->data;
  data.frame = frame;
  for (int i = 0; i < BASELINE_TURNS; ++i) {
    const baseline_turn turn = BASELINE_FRAME[i];
    if (baseline_is_transform(turn)) {
      if (!transform(gpu, batch, turn))
        return false;
      continue;
    }
    const baseline_grid grid = baseline_grid_of(&data, turn);
    bool learns = turn.learns;
    void *arguments[] = {&data, &batch->report, &learns};
    if (!good(gpu,
              cudaLaunchKernel((const void *)kernel_of(turn.step), dim3(grid.x, grid.y),
                               dim3(grid.threads), arguments, (size_t)grid.room_bytes,
                               batch->stream),
              "a step"))
      return false;
  }
  return true;
}

bool copy_frame(baseline_gpu *gpu, int which, cudaStream_t stream) {
  return good(gpu,
              cudaMemcpyAsync(gpu->frame[which], gpu->host_frame[which], gpu->frame_bytes,
                              cudaMemcpyHostToDevice, stream),
              "the frame's copy");
}

bool capture(baseline_gpu *gpu, int which) {
  stream_batch *batch = &gpu->batches[0];
  cudaGraph_t graph = nullptr;
  if (!good(gpu, cudaStreamBeginCapture(batch->stream, cudaStreamCaptureModeThreadLocal),
            "the graph's capture"))
    return false;
  bool done = copy_frame(gpu, which, batch->stream) && enqueue(gpu, batch, gpu->frame[which]);
  const cudaError_t ended = cudaStreamEndCapture(batch->stream, &graph);
  done = done && good(gpu, ended, "the graph's capture") &&
         good(gpu, cudaGraphInstantiate(&gpu->graph[which], graph, 0), "the graph") &&
         good(gpu, cudaGraphUpload(gpu->graph[which], batch->stream), "the graph");
  if (graph)
    cudaGraphDestroy(graph);
  return done;
}

bool submit_to_streams(baseline_gpu *gpu, int which) {
  if (!copy_frame(gpu, which, gpu->copier) ||
      !good(gpu, cudaEventRecord(gpu->copied, gpu->copier), "the frame's copy"))
    return false;
  for (int32_t i = 0; i < gpu->batch_count; ++i)
    if (!good(gpu, cudaStreamWaitEvent(gpu->batches[i].stream, gpu->copied, 0),
              "the frame's copy") ||
        !enqueue(gpu, &gpu->batches[i], gpu->frame[which]))
      return false;
  return true;
}

bool open_company(baseline_gpu *gpu, const baseline_setup *setup, int least) {
  cudaDeviceProp facts;
  gpu->company = setup->company;
  gpu->rows = setup->rows;
  gpu->columns = setup->columns;
  if (setup->company == BASELINE_ALONE)
    return true;
  if (!good(gpu, cudaGetDeviceProperties(&facts, 0), "the GPU") ||
      !good(gpu, cudaStreamCreateWithPriority(&gpu->beside, cudaStreamNonBlocking, least),
            "a stream") ||
      !good(gpu, cudaEventCreateWithFlags(&gpu->beside_done, cudaEventDisableTiming), "an event"))
    return false;
  gpu->beside_bytes =
      setup->company == BASELINE_COPY ? (size_t)facts.multiProcessorCount << 20 : gpu->frame_bytes;
  return allocate(gpu, &gpu->beside_from, gpu->beside_bytes) &&
         allocate(gpu, &gpu->beside_to, gpu->beside_bytes);
}

/* The edges are those of the frame that came last, whichever that is. */
bool submit_company(baseline_gpu *gpu, int which) {
  if (gpu->company == BASELINE_ALONE)
    return true;
  const cudaError_t before = cudaEventQuery(gpu->beside_done);
  if (before == cudaErrorNotReady) {
    ++gpu->left_out;
    return true;
  }
  if (!good(gpu, before, "company"))
    return false;
  if (gpu->company == BASELINE_EDGES) {
    find_edges<<<gpu->rows, 256, 0, gpu->beside>>>(gpu->frame[which], gpu->rows, gpu->columns,
                                                   gpu->beside_to);
    if (!good(gpu, cudaGetLastError(), "company"))
      return false;
  } else if (!good(gpu,
                   cudaMemcpyAsync(gpu->beside_to, gpu->beside_from, gpu->beside_bytes,
                                   cudaMemcpyDeviceToDevice, gpu->beside),
                   "company"))
    return false;
  return good(gpu, cudaEventRecord(gpu->beside_done, gpu->beside), "company");
}

bool open_all(baseline_gpu *gpu, const baseline_setup *setup) {
  int least = 0, greatest = 0;
  if (!good(gpu, cudaSetDevice(0), "the GPU") ||
      !good(gpu,
            cudaFuncSetAttribute((const void *)run_step<BASELINE_SEE>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(baseline_sight)),
            "shared memory") ||
      !good(gpu, cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities") ||
      !good(gpu, cudaStreamCreateWithPriority(&gpu->copier, cudaStreamNonBlocking, greatest),
            "a stream") ||
      !good(gpu, cudaEventCreateWithFlags(&gpu->copied, cudaEventDisableTiming), "an event") ||
      !open_memory(gpu, setup) || !open_company(gpu, setup, least))
    return false;
  for (int32_t i = 0; i < gpu->batch_count; ++i)
    if (!open_batch(gpu, setup, i))
      return false;
  for (int which = 0; which < BASELINE_IN_HAND && gpu->way == BASELINE_GRAPH; ++which)
    if (!capture(gpu, which))
      return false;
  return good(gpu, cudaDeviceSynchronize(), "the GPU");
}

uint64_t seen(const uint64_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

int64_t host_now_ns() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Something failed, or nothing did yet. */
bool is_sound(baseline_gpu *gpu) {
  for (int32_t i = 0; i < gpu->batch_count; ++i) {
    const cudaError_t error = cudaStreamQuery(gpu->batches[i].stream);
    if (error != cudaErrorNotReady && !good(gpu, error, "a frame"))
      return false;
  }
  return true;
}

} // namespace

/* ---- for the program ------------------------------------------------------------------------- */

bool baseline_gpu_probe(char text[BASELINE_REASON_BYTES]) {
  int count = 0;
  cudaDeviceProp facts;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0)
    error = cudaGetDeviceProperties(&facts, 0);
  cudaFuncAttributes attributes;
  if (error == cudaSuccess && count > 0) /* is there code for it? */
    error = cudaFuncGetAttributes(&attributes, (const void *)run_step<BASELINE_LOCATE>);
  const bool there = error == cudaSuccess && count > 0;
  snprintf(text, BASELINE_REASON_BYTES, "%s",
           there                  ? facts.name
           : error == cudaSuccess ? "there is none"
                                  : cudaGetErrorString(error));
  return there;
}

const char *baseline_way_name(baseline_way way) {
  static const char *const names[] = {"stream", "priority", "graph"};
  return (unsigned)way < BASELINE_WAYS ? names[way] : "?";
}

const char *baseline_company_name(baseline_company company) {
  static const char *const names[] = {"none", "edges", "copy"};
  return (unsigned)company < BASELINE_COMPANIES ? names[company] : "?";
}

int64_t baseline_gpu_left_out(const baseline_gpu *gpu) {
  return gpu->left_out;
}

bool baseline_gpu_open(const baseline_setup *setup, baseline_way way, baseline_gpu **out,
                       char reason[BASELINE_REASON_BYTES]) {
  *out = nullptr;
  baseline_gpu *gpu = (baseline_gpu *)calloc(1, sizeof *gpu);
  if (!gpu) {
    snprintf(reason, BASELINE_REASON_BYTES, "no memory");
    return false;
  }
  const int32_t asked = setup->streams < setup->targets ? setup->streams : setup->targets;
  gpu->way = way;
  gpu->targets = setup->targets;
  gpu->batch_count = way == BASELINE_PRIORITY ? asked : 1;
  gpu->reason = reason;
  if (open_all(gpu, setup)) {
    *out = gpu;
    return true;
  }
  baseline_gpu_close(gpu);
  return false;
}

/* What fails here has failed before. */
void baseline_gpu_close(baseline_gpu *gpu) {
  if (!gpu)
    return;
  cudaDeviceSynchronize();
  for (int i = 0; i < BASELINE_IN_HAND; ++i) {
    if (gpu->graph[i])
      cudaGraphExecDestroy(gpu->graph[i]);
    if (gpu->host_frame[i])
      cudaFreeHost(gpu->host_frame[i]);
  }
  for (int32_t b = 0; b < gpu->batch_count; ++b) {
    for (int p = 0; p < gpu->batches[b].plan_count; ++p)
      cufftDestroy(gpu->batches[b].plan[p]);
    if (gpu->batches[b].stream)
      cudaStreamDestroy(gpu->batches[b].stream);
  }
  for (int i = 0; i < gpu->device_count; ++i)
    cudaFree(gpu->device[i]);
  if (gpu->host_told)
    cudaFreeHost(gpu->host_told);
  if (gpu->host_boxes)
    cudaFreeHost(gpu->host_boxes);
  if (gpu->beside_done)
    cudaEventDestroy(gpu->beside_done);
  if (gpu->beside)
    cudaStreamDestroy(gpu->beside);
  if (gpu->copied)
    cudaEventDestroy(gpu->copied);
  if (gpu->copier)
    cudaStreamDestroy(gpu->copier);
  free(gpu);
}

uint8_t *baseline_gpu_frame(baseline_gpu *gpu, int64_t number) {
  return gpu->host_frame[number % BASELINE_IN_HAND];
}

bool baseline_gpu_submit(baseline_gpu *gpu, char reason[BASELINE_REASON_BYTES]) {
  const int which = (int)(gpu->submitted % BASELINE_IN_HAND);
  stream_batch *first = &gpu->batches[0];
  bool done = false;
  gpu->reason = reason;
  switch (gpu->way) {
  case BASELINE_STREAM:
    done = copy_frame(gpu, which, first->stream) && enqueue(gpu, first, gpu->frame[which]);
    break;
  case BASELINE_PRIORITY:
    done = submit_to_streams(gpu, which);
    break;
  default:
    done = good(gpu, cudaGraphLaunch(gpu->graph[which], first->stream), "the graph");
  }
  ++gpu->submitted;
  return done && submit_company(gpu, which);
}

baseline_outcome baseline_gpu_await(baseline_gpu *gpu, int64_t number, baseline_part part,
                                    int64_t until_ns, char reason[BASELINE_REASON_BYTES]) {
  enum { LOOKS = 1024, LOOKS_AT_ERRORS = 64 * LOOKS };
  int32_t batch = 0;
  gpu->reason = reason;
  for (int64_t looks = 1;; ++looks) {
    const told *of = &gpu->host_told[batch];
    if (seen(part == BASELINE_POSITION ? &of->position : &of->end) > (uint64_t)number &&
        ++batch == gpu->batch_count)
      return BASELINE_THERE_IT_IS;
    if (looks % LOOKS_AT_ERRORS == 0 && !is_sound(gpu))
      return BASELINE_BROKEN;
    if (looks % LOOKS == 0 && host_now_ns() > until_ns)
      return BASELINE_TOO_LATE;
  }
}

void baseline_gpu_boxes(const baseline_gpu *gpu, int64_t number, float *boxes) {
  const size_t numbers = (size_t)gpu->targets * BOX_NUMBERS;
  memcpy(boxes, gpu->host_boxes + (size_t)(number % KEPT) * numbers, numbers * sizeof *boxes);
}

/* Of several batches: from the first one's begin to the last one's end. */
baseline_stamps baseline_gpu_stamps(const baseline_gpu *gpu, int64_t number) {
  baseline_stamps stamps = {INT64_MAX, 0, 0};
  const int kept = (int)(number % KEPT);
  for (int32_t b = 0; b < gpu->batch_count; ++b) {
    const told *of = &gpu->host_told[b];
    const int64_t begin_ns = (int64_t)of->begin_ns[kept], end_ns = (int64_t)of->end_ns[kept];
    const int64_t position_ns = (int64_t)of->position_ns[kept];
    stamps.begin_ns = begin_ns < stamps.begin_ns ? begin_ns : stamps.begin_ns;
    stamps.position_ns = position_ns > stamps.position_ns ? position_ns : stamps.position_ns;
    stamps.end_ns = end_ns > stamps.end_ns ? end_ns : stamps.end_ns;
  }
  return stamps;
}
