/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/core/arrivals.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "prem/base/fail.h"
#include "prem/base/numbers.h"

enum {
  LONGEST_NAP_NS = 5000000, /* so that the end is seen soon */
  START_NAP_NS = 50000
};

/* The instants of the request, from S on. */
static void *send_arrivals(void *argument) {
  prem_arrivals *arrivals = argument;
  const prem_run_request *request = arrivals->request;
  for (int64_t i = 0; i < request->arrival_count && !atomic_load(&arrivals->is_over);) {
    const int64_t start_ns = arrivals->start_ns(arrivals->of);
    const int64_t now_ns = prem_errands_clock_ns(arrivals->errands);
    const int64_t left_ns =
        start_ns ? start_ns + request->arrivals[i].at_ns - now_ns : START_NAP_NS;
    const struct timespec nap = {.tv_nsec = (long)prem_min_i64(left_ns, LONGEST_NAP_NS)};
    if (left_ns > 0)
      nanosleep(&nap, NULL);
    else
      prem_errands_arrive(arrivals->errands, &request->arrivals[i++], now_ns);
  }
  return NULL;
}

/* Signals are the caller's, as of blocks. */
prem_status prem_arrivals_begin(prem_arrivals *arrivals, prem_errands *errands,
                                const prem_run_request *request, prem_diag *diag) {
  sigset_t all, before;
  arrivals->errands = errands;
  arrivals->request = request;
  arrivals->sends = false;
  atomic_store(&arrivals->is_over, false);
  if (request->arrival_count == 0)
    return PREM_OK;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&arrivals->thread, NULL, send_arrivals, arrivals);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  arrivals->sends = error == 0;
  if (arrivals->sends)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, "errands",
                   "cannot start the thread that sends them: %s; end other programs, or raise "
                   "`ulimit -u`",
                   strerror(error));
}

void prem_arrivals_end(prem_arrivals *arrivals) {
  atomic_store(&arrivals->is_over, true);
  if (arrivals->sends)
    pthread_join(arrivals->thread, NULL);
  arrivals->sends = false;
}
