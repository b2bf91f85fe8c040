/* SPDX-License-Identifier: Apache-2.0 */
/* Poisoning and comparing arrays where they are. Nothing of this is timed. */
#include "runtime/core/arrays.h"
#include "runtime/cuda/device/verify.h"

namespace {

__device__ unsigned char *element_at(const prem_device_array *array, int64_t number) {
  int64_t left = number, index[4];
  for (int d = 3; d >= 0; --d) {
    index[d] = left % array->shape[d];
    left /= array->shape[d];
  }
  return array->origin + index[0] * array->pitch_bytes[0] + index[1] * array->pitch_bytes[1] +
         index[2] * array->pitch_bytes[2] + index[3] * array->element_bytes;
}

__device__ int64_t element_count(const prem_device_array *array) {
  return array->shape[0] * array->shape[1] * array->shape[2] * array->shape[3];
}

__global__ void poison(prem_device_array array, uint32_t pattern) {
  const int64_t count = element_count(&array);
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    uint32_t *words = (uint32_t *)element_at(&array, i);
    for (int32_t word = 0; word < array.element_bytes / 4; ++word)
      words[word] = pattern;
  }
}

__device__ bool is_nan(uint32_t bits) {
  return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

/** As the host's comparison: equal bits, a NaN that is not the poison for a NaN, or within the
 *  tolerance, which an infinity has not. */
__device__ bool parts_agree(uint32_t found_bits, uint32_t expected_bits, double tolerance) {
  if (is_nan(expected_bits))
    return is_nan(found_bits) && found_bits != PREM_POISON * 0x01010101u;
  if (found_bits == expected_bits)
    return true;
  if (tolerance <= 0 || (expected_bits & 0x7F800000u) == 0x7F800000u)
    return false;
  const double found = __uint_as_float(found_bits), expected = __uint_as_float(expected_bits);
  return fabs(found - expected) <= tolerance * fmax(fabs(expected), 1e-30);
}

__global__ void compare(prem_device_array array, prem_device_array reference, double tolerance,
                        unsigned long long *wrong, unsigned long long *first) {
  const int64_t count = element_count(&array);
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint32_t *found = (const uint32_t *)element_at(&array, i);
    const uint32_t *expected = (const uint32_t *)element_at(&reference, i);
    bool agree = true;
    for (int32_t word = 0; word < array.element_bytes / 4; ++word)
      agree = agree && parts_agree(found[word], expected[word], tolerance);
    if (!agree) {
      atomicAdd(wrong, 1ull);
      atomicMin(first, (unsigned long long)i);
    }
  }
}

} // namespace

extern "C" cudaError_t prem_device_poison(const prem_device_array *array, uint32_t pattern,
                                          cudaStream_t stream) {
  void *arguments[] = {(void *)array, &pattern};
  return cudaLaunchKernel((const void *)poison, dim3(1024), dim3(256), arguments, 0, stream);
}

extern "C" cudaError_t prem_device_compare(const prem_device_array *array,
                                           const prem_device_array *reference, double tolerance,
                                           unsigned long long *wrong_and_first,
                                           cudaStream_t stream) {
  unsigned long long *wrong = wrong_and_first, *first = wrong_and_first + 1;
  void *arguments[] = {(void *)array, (void *)reference, &tolerance, &wrong, &first};
  return cudaLaunchKernel((const void *)compare, dim3(1024), dim3(256), arguments, 0, stream);
}
