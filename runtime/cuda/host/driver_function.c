/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/host/driver_function.h"

#include <cuda_runtime_api.h>
#include <string.h>

bool prem_driver_function(const char *name, void *function, size_t bytes) {
#if CUDART_VERSION >= 12050 /* the first that asks by version */
  enum { SINCE = 12000 };
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion(name, &found, SINCE, cudaEnableDefault, &result) ==
          cudaSuccess &&
      result == cudaDriverEntryPointSuccess) {
    memcpy(function, &found, bytes); /* C knows no cast from a pointer to a function */
    return true;
  }
  (void)cudaGetLastError(); /* no error of ours: the caller says what is missing */
#else
  (void)name, (void)function, (void)bytes;
#endif
  return false;
}
