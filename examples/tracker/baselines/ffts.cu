/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Fourier transform of ttprem's kernels beside cuFFT's: batches of square planes from memory to
 * memory, by an ordinary kernel that has each plane in its scratchpad. Ways take turns, and events
 * of the GPU stand around each batch.
 *   track_ffts      exit status 0; 1: the GPU failed, or results differ; 77: no GPU
 */
#include <cuda_runtime.h>
#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ttprem/kernel.h>

/* All threads of a block compute here: none of them moves memory for the others. */
#undef PREM_LANE
#undef PREM_LANE_COUNT
#undef PREM_SYNC
#define PREM_LANE       ((int32_t)threadIdx.x)
#define PREM_LANE_COUNT ((int32_t)blockDim.x)
#define PREM_SYNC()     __syncthreads()

#include <ttprem/fft.h>

namespace {

enum { SKIPPED = 77, THREADS = 256, ROUNDS = 200, WARM_UP = 20 };

void succeed(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "track_ffts: %s: %s\n", what, cudaGetErrorString(error));
  exit(EXIT_FAILURE);
}

void succeed(cufftResult result, const char *what) {
  if (result == CUFFT_SUCCESS)
    return;
  fprintf(stderr, "track_ffts: %s: cuFFT says %d\n", what, (int)result);
  exit(EXIT_FAILURE);
}

/** So many planes a block; all planes are whole blocks' share. */
template <int BITS, int PLANES>
__global__ void __launch_bounds__(THREADS) planes_transform(const float4 *in, float4 *out) {
  enum { SIDE = 1 << BITS, PLANE = SIDE * SIDE, PIECES = PLANES * PLANE / 2 };
  extern __shared__ float4 room[]; /* the planes, and as much for what they become */
  const size_t first = (size_t)blockIdx.x * PIECES;
#pragma unroll
  for (int32_t i = 0; i < PIECES / THREADS; ++i)
    room[i * THREADS + PREM_LANE] = in[first + i * THREADS + PREM_LANE];
  __syncthreads();
  const prem_fft_plan plan = {BITS, 1.0F, 1.0F};
  prem_fft_point *points = (prem_fft_point *)room;
  const prem_fft_square from = {points, SIDE, PLANE, 0};
  const prem_fft_square to = {points + PLANES * PLANE, SIDE, PLANE, 0};
  prem_fft_square_planes(&plan, from, to, PLANES);
  __syncthreads();
#pragma unroll
  for (int32_t i = 0; i < PIECES / THREADS; ++i)
    out[first + i * THREADS + PREM_LANE] = room[PIECES + i * THREADS + PREM_LANE];
}

/** A batch of planes, and both ways to transform it. */
struct batch {
  int side, planes;
  float2 *in, *out[2];
  cufftHandle plan;
  cudaEvent_t begin, end;
};

template <int BITS, int PLANES> void by_kernel(const batch &of) {
  const int bytes = PLANES * (1 << 2 * BITS) * 16;
  succeed(cudaFuncSetAttribute(planes_transform<BITS, PLANES>,
                               cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "scratchpad");
  planes_transform<BITS, PLANES>
      <<<of.planes / PLANES, THREADS, bytes>>>((const float4 *)of.in, (float4 *)of.out[0]);
}

void transform(const batch &of, int way) {
  if (way == 1)
    succeed(cufftExecC2C(of.plan, of.in, of.out[1], CUFFT_FORWARD), "a transform");
  else if (of.side == 32)
    by_kernel<5, 2>(of);
  else
    by_kernel<6, 1>(of);
}

float timed_us(const batch &of, int way) {
  float ms = 0;
  succeed(cudaEventRecord(of.begin), "an event");
  transform(of, way);
  succeed(cudaEventRecord(of.end), "an event");
  succeed(cudaEventSynchronize(of.end), "a batch");
  succeed(cudaEventElapsedTime(&ms, of.begin, of.end), "a time");
  return ms * 1000;
}

float median(std::vector<float> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/** How far both results are apart, of the largest number. */
double difference(const batch &of) {
  const size_t count = (size_t)of.planes * of.side * of.side;
  std::vector<float2> found[2];
  double apart = 0, most = 0;
  for (int way = 0; way < 2; ++way) {
    found[way].resize(count);
    succeed(
        cudaMemcpy(found[way].data(), of.out[way], count * sizeof(float2), cudaMemcpyDeviceToHost),
        "results");
  }
  for (size_t i = 0; i < count; ++i) {
    const float2 a = found[0][i], b = found[1][i];
    apart = std::max(apart, std::hypot((double)a.x - b.x, (double)a.y - b.y));
    most = std::max(most, std::hypot((double)b.x, (double)b.y));
  }
  return apart / most;
}

/** @return whether both come to the same. */
bool compare(int side, int planes) {
  const size_t bytes = (size_t)planes * side * side * sizeof(float2);
  int sides[2] = {side, side};
  batch of = {side, planes, nullptr, {nullptr, nullptr}, 0, nullptr, nullptr};
  std::vector<float> numbers(bytes / sizeof(float));
  for (float &number : numbers)
    number = (float)rand() / (float)RAND_MAX - 0.5F;
  succeed(cudaMalloc(&of.in, bytes), "memory");
  for (float2 *&out : of.out)
    succeed(cudaMalloc(&out, bytes), "memory");
  succeed(cudaMemcpy(of.in, numbers.data(), bytes, cudaMemcpyHostToDevice), "numbers");
  succeed(cudaEventCreate(&of.begin), "an event");
  succeed(cudaEventCreate(&of.end), "an event");
  succeed(cufftPlanMany(&of.plan, 2, sides, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, planes),
          "a plan");
  std::vector<float> times[2];
  for (int round = 0; round < WARM_UP + ROUNDS; ++round)
    for (int i = 0; i < 2; ++i) {
      const int way = (round + i) % 2;
      const float us = timed_us(of, way);
      if (round >= WARM_UP)
        times[way].push_back(us);
    }
  const double apart = difference(of);
  const float own = median(times[0]), theirs = median(times[1]);
  printf("%6d %8d %8.1f %10.2f %10.2f %7.3f %10.2g\n", side, planes, (double)bytes / (1 << 20),
         (double)own, (double)theirs, (double)(own / theirs), apart);
  cufftDestroy(of.plan);
  cudaEventDestroy(of.begin);
  cudaEventDestroy(of.end);
  cudaFree(of.in);
  for (float2 *out : of.out)
    cudaFree(out);
  return apart < 1e-6;
}

} // namespace

int main(void) {
  cudaDeviceProp device;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    puts("skipped: no GPU here");
    return SKIPPED;
  }
  succeed(cudaGetDeviceProperties(&device, 0), "the GPU");
  printf("# %s: transforms of square planes of complex floats, in and out of memory; medians of %d "
         "batches by turns\n",
         device.name, ROUNDS);
  printf("%6s %8s %8s %10s %10s %7s %10s\n", "points", "planes", "MiB", "ttprem us", "cuFFT us",
         "ratio", "apart");
  bool good = true;
  for (const int planes : {1024, 5120, 16384})
    good &= compare(32, planes);
  for (const int planes : {256, 1280, 4096})
    good &= compare(64, planes);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
