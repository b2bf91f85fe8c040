/* SPDX-License-Identifier: Apache-2.0 */
/** What reading a clock costs, and whether readings stand where the source has them. */
#pragma once

#include "ttprem/diag.h"

enum { PREM_MAX_CLOCKS = 4, PREM_CLOCK_WORKS = 6, PREM_CLOCK_PAIRS = 255 };

/** Operations between two readings, each needing the result of the one before: a reading that was
 *  moved by a compiler, or that the processor does out of order, does not see their time. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int32_t
    prem_clock_work(int32_t number) {
  return number > 0 ? 16 << number : 0;
}

typedef struct prem_clock_cost {
  const char *clock;
  const char *unit;                   /* of what it shows */
  bool ordered;                       /* it is promised to wait for the operations before it */
  double read_ns;                     /* mean of many readings in a row */
  double read_cycles;                 /* the same; NAN: not known */
  double pair;                        /* median difference of two readings in a row, in its unit */
  double over_work[PREM_CLOCK_WORKS]; /* the same with operations between the two */
} prem_clock_cost;

PREM_EXTERN_C_BEGIN

/** @param[out] costs  of at most PREM_MAX_CLOCKS clocks; @param[out] count of them */
prem_status prem_gpu_clock_costs(prem_clock_cost *costs, int32_t *count, prem_diag *diag);
prem_status prem_host_clock_costs(prem_clock_cost *costs, int32_t *count, prem_diag *diag);

PREM_EXTERN_C_END
