/* SPDX-License-Identifier: Apache-2.0 */
/** Round trips of a flag: measured on the GPU. */
#pragma once

#include "ttprem/diag.h"

typedef enum prem_trip_way {
  PREM_TRIP_ALONE,  /* between two SMs, the flags in the GPU's memory, nothing but the flags */
  PREM_TRIP_L2,     /* the same with release and acquire */
  PREM_TRIP_MAPPED, /* between two SMs, the flags in the host's memory, release and acquire */
  PREM_TRIP_HOST    /* between a core and an SM, the flags in the host's memory, likewise */
} prem_trip_way;

PREM_EXTERN_C_BEGIN

/**
 * @param[out] trips_ns  of each of `count` round trips
 * @retval PREM_ERR_UNAVAILABLE  the two did not meet within their patience; `diag` says so
 */
prem_status prem_gpu_trips(prem_trip_way way, int32_t count, int64_t *trips_ns, prem_diag *diag);

PREM_EXTERN_C_END
