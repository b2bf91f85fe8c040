/* SPDX-License-Identifier: Apache-2.0 */
/** Errands that come by themselves: a thread that sends them, beside a run. */
#pragma once

#include <pthread.h>

#include "runtime/core/errands.h"

/** One run's; all zero: nobody sends. */
typedef struct prem_arrivals {
  prem_errands *errands;
  const prem_run_request *request;
  int64_t (*start_ns)(void *of); /* S on the errands' clock; 0: not known yet */
  void *of;
  _Atomic bool is_over;
  pthread_t thread;
  bool sends;
} prem_arrivals;

/** Begin to send; `start_ns` and what it is for are filled. */
prem_status prem_arrivals_begin(prem_arrivals *arrivals, prem_errands *errands,
                                const prem_run_request *request, prem_diag *diag);
/** Send no more, and wait for the thread. */
void prem_arrivals_end(prem_arrivals *arrivals);
