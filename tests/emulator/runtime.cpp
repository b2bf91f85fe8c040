/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA runtime that ttprem calls, for the emulated GPU. A stream is a thread that
 * works its orders one after the other, those of a graph too; memory of the device is memory of the
 * host.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/emulator/lanes.h"

namespace {

enum {
  SMS = 16,
  SM_THREADS = 2048,
  SM_REGISTERS = 65536,
  SM_SCRATCH = 233472,
  BLOCK_SCRATCH = 232448,
  SYSTEM_SCRATCH = 1024,
  REGISTERS = 32 /* of a thread of any kernel */
};

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t tell(cudaError_t error) {
  if (error != cudaSuccess)
    last_error = error;
  return error;
}

using work = std::function<void()>;

} // namespace

/* ---- streams and events ---------------------------------------------------------------------- */

struct CUstream_st {
  std::mutex guard;
  std::condition_variable changed;
  std::deque<work> orders; /* the first one is under way */
  bool ends = false;
  std::thread worker{[this] {
    std::unique_lock<std::mutex> lock(guard);
    for (;;) {
      changed.wait(lock, [this] { return ends || !orders.empty(); });
      if (orders.empty())
        return;
      const work first = orders.front();
      lock.unlock();
      first();
      lock.lock();
      orders.pop_front();
      changed.notify_all();
    }
  }};

  void give(work order) {
    std::lock_guard<std::mutex> lock(guard);
    orders.push_back(std::move(order));
    changed.notify_all();
  }
  bool is_idle() {
    std::lock_guard<std::mutex> lock(guard);
    return orders.empty();
  }
  void await() {
    std::unique_lock<std::mutex> lock(guard);
    changed.wait(lock, [this] { return orders.empty(); });
  }
  void end() {
    {
      std::lock_guard<std::mutex> lock(guard);
      ends = true;
      changed.notify_all();
    }
    worker.join();
  }
};

struct CUevent_st {
  std::mutex guard;
  std::condition_variable changed;
  uint64_t asked = 0, there = 0;
  int64_t at_ns = 0;
};

namespace {

std::mutex streams_guard;
std::vector<cudaStream_t> streams;

/* It lives as long as the process. */
cudaStream_t stream_of(cudaStream_t stream) {
  static cudaStream_t none = [] {
    cudaStream_t made = new CUstream_st;
    std::lock_guard<std::mutex> lock(streams_guard);
    streams.push_back(made);
    return made;
  }();
  return stream == nullptr ? none : stream;
}

int64_t now_ns(void) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

} // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
  *out = new CUstream_st;
  std::lock_guard<std::mutex> lock(streams_guard);
  streams.push_back(*out);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int) {
  return cudaStreamCreateWithFlags(out, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    std::lock_guard<std::mutex> lock(streams_guard);
    for (cudaStream_t &of : streams)
      if (of == stream) {
        of = streams.back();
        streams.pop_back();
        break;
      }
  }
  stream->end();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return stream_of(stream)->is_idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream_of(stream)->await();
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
  std::vector<cudaStream_t> all;
  {
    std::lock_guard<std::mutex> lock(streams_guard);
    all = streams;
  }
  for (cudaStream_t stream : all)
    stream->await();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
  *out = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return cudaEventCreateWithFlags(out, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  cudaEventSynchronize(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(event->guard);
    number = ++event->asked;
  }
  stream_of(stream)->give([=] {
    std::lock_guard<std::mutex> lock(event->guard);
    event->there = number;
    event->at_ns = now_ns();
    event->changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  std::lock_guard<std::mutex> lock(event->guard);
  return event->there == event->asked ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock<std::mutex> lock(event->guard);
  event->changed.wait(lock, [=] { return event->there == event->asked; });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = (float)((double)(to->at_ns - from->at_ns) * 1e-6);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const uint64_t number = event->asked;
  stream_of(stream)->give([=] {
    std::unique_lock<std::mutex> lock(event->guard);
    event->changed.wait(lock, [=] { return event->there >= number; });
  });
  return cudaSuccess;
}

} // extern "C"

/* ---- who holds the GPU ----------------------------------------------------------------------- */

namespace {

std::mutex held_guard;
std::condition_variable held_changed;
bool is_held;         /* somebody has all of it: kernels wait, copies do not */
cudaStream_t holding; /* whose order that is */

void await_room(void) {
  std::unique_lock<std::mutex> lock(held_guard);
  held_changed.wait(lock, [] { return !is_held; });
}

void set_held(bool is_now) {
  const std::lock_guard<std::mutex> lock(held_guard);
  is_held = is_now;
  held_changed.notify_all();
}

} // namespace

void emulate_hold(int64_t ns) {
  cudaStreamCreateWithFlags(&holding, cudaStreamNonBlocking);
  set_held(true);
  holding->give([=] {
    const timespec length = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&length, nullptr);
    set_held(false);
  });
}

void emulate_hold_end(void) {
  cudaStreamDestroy(holding);
}

extern "C" {

/* ---- memory ---------------------------------------------------------------------------------- */

namespace {

std::mutex memory_guard;
std::map<const char *, size_t> device_memory; /* where it begins, and how long it is */

} // namespace

static cudaError_t allocate(void **out, size_t bytes) {
  enum { ALIGN = 256, NOT_ZERO = 0xCB };
  *out = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN + (bytes == 0 ? ALIGN : 0));
  if (*out == nullptr)
    return tell(cudaErrorMemoryAllocation);
  memset(*out, NOT_ZERO, bytes);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **out, size_t bytes) {
  const cudaError_t error = allocate(out, bytes);
  const std::lock_guard<std::mutex> lock(memory_guard);
  if (error == cudaSuccess)
    device_memory[(const char *)*out] = bytes;
  return error;
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned) {
  return allocate(out, bytes);
}
/* What is under way may still use it: both wait for that, as on a GPU. */
cudaError_t cudaFreeHost(void *memory) {
  cudaDeviceSynchronize();
  free(memory);
  return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
  {
    const std::lock_guard<std::mutex> lock(memory_guard);
    device_memory.erase((const char *)memory);
  }
  return cudaFreeHost(memory);
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *at) {
  const std::lock_guard<std::mutex> lock(memory_guard);
  auto behind = device_memory.upper_bound((const char *)at);
  const bool is_there =
      behind != device_memory.begin() &&
      (const char *)at - std::prev(behind)->first < (ptrdiff_t)std::prev(behind)->second;
  *out = cudaPointerAttributes{};
  out->type = is_there ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned) {
  *out = host;
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void *, size_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *) {
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *all) {
  *left = *all = (size_t)4 << 30;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  stream_of(stream)->give([=] { memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t bytes, size_t rows, cudaMemcpyKind, cudaStream_t stream) {
  stream_of(stream)->give([=] {
    for (size_t row = 0; row < rows; ++row)
      memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  stream_of(stream)->give([=] {
    await_room(); /* it is a kernel */
    memset(to, value, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t bytes, size_t rows, cudaMemcpyKind kind) {
  cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, kind, nullptr);
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  cudaMemsetAsync(to, value, bytes, nullptr);
  return cudaStreamSynchronize(nullptr);
}

/* ---- kernels --------------------------------------------------------------------------------- */

} // extern "C"

using emulated_maker = std::function<void()> (*)(const void *kernel, void **arguments);

static std::map<const void *, emulated_maker> &kernels(void) {
  static std::map<const void *, emulated_maker> all;
  return all;
}

void emulate_kernel(const void *kernel, emulated_maker maker) {
  kernels()[kernel] = maker;
}

uint32_t emulate_smid(void) {
  return blockIdx.x % SMS;
}

/* Blocks that are resident together each have a thread; those of a larger grid come one by one. */
static void run_grid(unsigned blocks, unsigned threads, bool together, const work &lane) {
  enum { TOGETHER = 64 };
  if (!together && blocks > TOGETHER) {
    std::thread([&] {
      for (unsigned block = 0; block < blocks; ++block)
        emulate_block(block, blocks, threads, lane);
    }).join();
    return;
  }
  std::vector<std::thread> resident;
  for (unsigned block = 0; block < blocks; ++block)
    resident.emplace_back([=, &lane] { emulate_block(block, blocks, threads, lane); });
  for (std::thread &block : resident)
    block.join();
}

static cudaError_t order_of(const void *kernel, dim3 grid, dim3 block, void **arguments,
                            size_t scratch_bytes, bool together, work *out) {
  const auto found = kernels().find(kernel);
  if (found == kernels().end())
    return tell(cudaErrorInvalidDeviceFunction);
  if (scratch_bytes > BLOCK_SCRATCH || block.x > 1024 || grid.y * grid.z * block.y * block.z != 1)
    return tell(cudaErrorInvalidValue);
  const work lane = found->second(kernel, arguments);
  *out = [=] {
    await_room();
    run_grid(grid.x, block.x, together, lane);
  };
  return cudaSuccess;
}

static cudaError_t launch(const void *kernel, dim3 grid, dim3 block, void **arguments,
                          size_t scratch_bytes, cudaStream_t stream, bool together) {
  work order;
  const cudaError_t error =
      order_of(kernel, grid, block, arguments, scratch_bytes, together, &order);
  if (error == cudaSuccess)
    stream_of(stream)->give(order);
  return error;
}

extern "C" {

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t scratch_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, scratch_bytes, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t scratch_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, scratch_bytes, stream, true);
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) {
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *) {
  memset(out, 0, sizeof *out);
  out->numRegs = REGISTERS;
  out->maxThreadsPerBlock = 1024;
  out->maxDynamicSharedSizeBytes = BLOCK_SCRATCH;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads,
                                                          size_t scratch_bytes) {
  const int by_threads = SM_THREADS / threads;
  const int by_scratch = (int)(SM_SCRATCH / (scratch_bytes + SYSTEM_SCRATCH));
  *blocks = by_threads < by_scratch ? by_threads : by_scratch;
  return cudaSuccess;
}

/* ---- the device ------------------------------------------------------------------------------ */

cudaError_t cudaGetDeviceCount(int *count) { /* other tests see a machine without one */
  *count = getenv("TTPREM_EMULATED_GPU") != nullptr;
  return *count ? cudaSuccess : tell(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int) {
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "emulated GPU");
  out->major = 9;
  out->multiProcessorCount = SMS;
  out->sharedMemPerBlockOptin = BLOCK_SCRATCH;
  out->sharedMemPerMultiprocessor = SM_SCRATCH;
  out->reservedSharedMemPerBlock = SYSTEM_SCRATCH;
  out->regsPerMultiprocessor = SM_REGISTERS;
  out->maxThreadsPerMultiProcessor = SM_THREADS;
  out->maxThreadsPerBlock = 1024;
  out->totalGlobalMem = (size_t)4 << 30;
  out->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int) {
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *out = SMS;
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *out = BLOCK_SCRATCH;
    return cudaSuccess;
  default:
    return tell(cudaErrorInvalidValue);
  }
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
const char *cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorNotSupported ? "cudaErrorNotSupported" : "an emulated error";
}
const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNotSupported ? "the emulated GPU does not have it"
                                        : "an error of the emulated GPU";
}

static CUresult encode(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *base,
                       const cuuint64_t *size, const cuuint64_t *pitch, const cuuint32_t *box,
                       const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  emulated_map map = {};
  if (type != CU_TENSOR_MAP_DATA_TYPE_INT64 || rank != 4)
    return CUDA_ERROR_INVALID_VALUE;
  map.base = (unsigned char *)base;
  for (int d = 0; d < 4; ++d) {
    if (size[d] == 0 || box[d] == 0 || box[d] > 256 || (d < 3 && pitch[d] % 16 != 0))
      return CUDA_ERROR_INVALID_VALUE;
    map.size[d] = size[d];
    map.box[d] = box[d];
    if (d < 3)
      map.pitch[d] = pitch[d];
  }
  memset(out, 0, sizeof *out);
  memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

static CUresult write_word(CUstream stream, CUdeviceptr word, cuuint64_t value, unsigned) {
  stream_of((cudaStream_t)stream)->give([=] {
    __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
  });
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
  *function = strcmp(name, "cuTensorMapEncodeTiled") == 0 ? (void *)encode
              : strcmp(name, "cuStreamWriteValue64") == 0 ? (void *)write_word
                                                          : nullptr;
  *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

} // extern "C"

struct CUgraphNode_st {
  cudaGraphNodeType type;
  work order;
  std::shared_ptr<CUgraph_st> child; /* clones of a graph share it */
};
struct CUgraph_st {
  std::deque<CUgraphNode_st> nodes; /* in an order that heeds all edges */

  bool has(cudaGraphNode_t node) const {
    for (const CUgraphNode_st &one : nodes)
      if (&one == node)
        return true;
    return false;
  }
  /* An edge comes from a node that is there, and once. */
  cudaError_t add(cudaGraphNode_t *out, const cudaGraphNode_t *before, size_t count,
                  const CUgraphNode_st &node) {
    for (size_t i = 0; i < count; ++i)
      if (!has(before[i]) || std::find(before, before + i, before[i]) != before + i)
        return tell(cudaErrorInvalidValue);
    nodes.push_back(node);
    *out = &nodes.back();
    return cudaSuccess;
  }
};
struct CUgraphExec_st {
  std::vector<work> orders;

  void take(const CUgraph_st &graph) {
    for (const CUgraphNode_st &node : graph.nodes)
      if (node.child)
        take(*node.child);
      else
        orders.push_back(node.order);
  }
};

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned) {
  *out = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                   const cudaGraphNode_t *before, size_t count,
                                   const cudaKernelNodeParams *params) {
  CUgraphNode_st node = {cudaGraphNodeTypeKernel, {}, {}};
  const cudaError_t error =
      order_of(params->func, params->gridDim, params->blockDim, params->kernelParams,
               params->sharedMemBytes, false, &node.order);
  return error == cudaSuccess ? graph->add(out, before, count, node) : error;
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                 const cudaGraphNode_t *before, size_t count,
                                 const cudaHostNodeParams *params) {
  const cudaHostNodeParams call = *params;
  return graph->add(out, before, count,
                    {cudaGraphNodeTypeHost, [=] { call.fn(call.userData); }, {}});
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                       const cudaGraphNode_t *before, size_t count,
                                       cudaGraph_t child) {
  return graph->add(out, before, count,
                    {cudaGraphNodeTypeGraph, {}, std::make_shared<CUgraph_st>(*child)});
}
cudaError_t cudaGraphClone(cudaGraph_t *out, cudaGraph_t graph) {
  *out = new CUgraph_st(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); ++i)
    nodes[i] = &graph->nodes[i];
  *count = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type) {
  *type = node->type;
  return cudaSuccess;
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
  *graph = node->child.get();
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID,
                                            const cudaLaunchAttributeValue *) {
  return node->type == cudaGraphNodeTypeKernel ? cudaSuccess : tell(cudaErrorInvalidValue);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long) {
  *out = new CUgraphExec_st;
  (*out)->take(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  for (const work &order : graph->orders)
    stream_of(stream)->give(order);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

} // extern "C"
