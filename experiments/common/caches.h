/* SPDX-License-Identifier: Apache-2.0 */
/** The caches that a machine says it has. */
#pragma once

#include "experiments/common/walks.h"

enum { PREM_MAX_CACHES = 4 };

typedef struct prem_cache {
  const char *name;
  prem_walk_path path; /* the walks that show it */
  int64_t bytes;
  const char *source; /* who says so */
} prem_cache;

PREM_EXTERN_C_BEGIN

/**
 * Of the backend's machine, from the smallest level up; on a GPU L1 twice, as large as it gets and
 * with the scratchpad taken, and L2 last.
 *
 * @return how many are known; at most PREM_MAX_CACHES
 */
int32_t prem_caches_find(const prem_backend *backend, prem_cache *caches);
/** The last of them, which all cores share; 0: not known. */
int64_t prem_largest_cache_bytes(const prem_backend *backend);

int32_t prem_gpu_caches_find(prem_cache *caches);

PREM_EXTERN_C_END
