/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of a GPU. */
#include <cuda_runtime_api.h>

#include "experiments/common/caches.h"

/** KiB of L1 and scratchpad together, which no call of CUDA tells: the table "Technical
 *  specifications per compute capability" of NVIDIA's CUDA programming guide. */
static const struct {
  int capability;
  int64_t kib;
} unified[] = {{75, 96},  {80, 192},  {86, 128},  {87, 192}, {89, 128},
               {90, 256}, {100, 256}, {103, 256}, {120, 128}};

static int attribute(enum cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

static int64_t unified_bytes(void) {
  const int capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                         attribute(cudaDevAttrComputeCapabilityMinor);
  for (size_t i = 0; i < sizeof unified / sizeof unified[0]; ++i)
    if (unified[i].capability == capability)
      return unified[i].kib * 1024;
  return 0;
}

int32_t prem_gpu_caches_find(prem_cache *caches) {
  static const char guide[] = "CUDA programming guide";
  const int64_t both = unified_bytes();
  const int64_t scratch = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int64_t l2 = attribute(cudaDevAttrL2CacheSize);
  int32_t count = 0;
  if (both > scratch && scratch > 0) {
    caches[count++] =
        (prem_cache){"L1, scratchpad taken", PREM_WALK_L1_OCCUPIED, both - scratch, guide};
    caches[count++] = (prem_cache){"L1", PREM_WALK_L1, both, guide};
  }
  if (l2 > 0)
    caches[count++] = (prem_cache){"L2", PREM_WALK_L2, l2, "the device"};
  return count;
}
