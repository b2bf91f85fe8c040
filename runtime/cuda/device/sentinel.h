/* SPDX-License-Identifier: Apache-2.0 */
/** The sentinel: a block of its own beside whatever runs, which notes when the GPU stood still. */
#pragma once

#include "runtime/core/stalls.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PREM_SENTINEL_THREADS = 64, /* a warp that looks at the clock, and one that listens to the host */
  PREM_SENTINEL_GAPS = 4096   /* that are kept; all are counted */
};

/** What it saw, on %globaltimer; in device memory. */
typedef struct prem_sentinel_log {
  int64_t begin_ns, end_ns; /* its first and its last reading; 0 and 0: it never ran */
  int64_t count, longest_ns, sum_ns;
  int32_t sm;
  uint32_t taken; /* one of its blocks has come where it may stay; the others leave */
  prem_gap gaps[PREM_SENTINEL_GAPS]; /* the first ones, in the order of time */
} prem_sentinel_log;

/** The host's word, in pinned memory: another number each time that it looks after the run. */
enum { PREM_SENTINEL_STOP = 0 };

/** The one argument. */
typedef struct prem_sentinel_orders {
  const uint32_t *word;
  uint32_t *is_there; /* pinned as well: it has come */
  prem_sentinel_log *log;
  const int32_t
      *sm_first;      /* as in prem_launch: it stays off SMs with a plan block; NULL: off none */
  int64_t gap_ns;     /* a longer time between two readings is a gap */
  int64_t silence_ns; /* it ends when the word has not changed for so long */
} prem_sentinel_orders;

/** Its code, for cudaLaunchKernel; of several blocks one stays. */
const void *prem_sentinel_code(void);

#ifdef __cplusplus
}
#endif
