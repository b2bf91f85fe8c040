/* SPDX-License-Identifier: Apache-2.0 */
/* The sentinel's host side: see sentinel.h. */
#include "runtime/cuda/host/sentinel.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "runtime/cuda/device/sentinel.h"

enum {
  POLL_NS = 20000,
  ARRIVAL_NS = 20000000,
  BLOCKS_AN_SM = 4 /* so that some come everywhere */
};
#define END_NS INT64_C(5000000000) /* for it to end after it was told to */

struct prem_sentinel {
  cudaStream_t stream;
  uint32_t *word;         /* pinned; after it, what says that it has come */
  prem_sentinel_log *log; /* in device memory */
  prem_sentinel_log seen; /* on the host, when it has ended */
  bool told_absent, told_full;
};

cudaError_t prem_sentinel_new(prem_sentinel **out) {
  struct cudaFuncAttributes attributes;
  prem_sentinel *sentinel = *out = calloc(1, sizeof *sentinel);
  if (!sentinel)
    return cudaErrorMemoryAllocation;
  cudaError_t error = cudaStreamCreateWithFlags(&sentinel->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error =
        cudaHostAlloc((void **)&sentinel->word, 2 * sizeof *sentinel->word, cudaHostAllocMapped);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&sentinel->log, sizeof *sentinel->log);
  if (error == cudaSuccess) /* loads it */
    error = cudaFuncGetAttributes(&attributes, prem_sentinel_code());
  if (error == cudaSuccess)
    return error;
  prem_sentinel_free(sentinel);
  *out = NULL;
  return error;
}

void prem_sentinel_free(prem_sentinel *sentinel) {
  if (!sentinel)
    return;
  cudaFree(sentinel->log);
  cudaFreeHost(sentinel->word);
  if (sentinel->stream)
    cudaStreamDestroy(sentinel->stream);
  free(sentinel);
}

cudaError_t prem_sentinel_prepare(prem_sentinel *sentinel, int carveout) {
  __atomic_store_n(sentinel->word, PREM_SENTINEL_STOP + 1U, __ATOMIC_SEQ_CST);
  __atomic_store_n(&sentinel->word[1], 0U, __ATOMIC_SEQ_CST);
  const cudaError_t error = cudaFuncSetAttribute(
      prem_sentinel_code(), cudaFuncAttributePreferredSharedMemoryCarveout, carveout);
  return error == cudaSuccess ? cudaMemset(sentinel->log, 0, offsetof(prem_sentinel_log, gaps))
                              : error;
}

cudaError_t prem_sentinel_launch(prem_sentinel *sentinel, int64_t silence_ns,
                                 const int32_t *sm_first, int32_t sm_count) {
  const dim3 blocks = {sm_first ? (unsigned)(sm_count * BLOCKS_AN_SM) : 1, 1, 1};
  const dim3 threads = {PREM_SENTINEL_THREADS, 1, 1};
  prem_sentinel_orders orders = {.word = sentinel->word,
                                 .is_there = &sentinel->word[1],
                                 .log = sentinel->log,
                                 .sm_first = sm_first,
                                 .gap_ns = PREM_STALL_NS,
                                 .silence_ns = silence_ns};
  void *arguments[] = {&orders};
  return cudaLaunchKernel(prem_sentinel_code(), blocks, threads, arguments, 0, sentinel->stream);
}

void prem_sentinel_await(const prem_sentinel *sentinel) {
  const int64_t give_up_ns = prem_host_clock_ns() + ARRIVAL_NS;
  while (!__atomic_load_n(&sentinel->word[1], __ATOMIC_ACQUIRE) &&
         prem_host_clock_ns() < give_up_ns) {
  }
}

/* Odd numbers: never the word that ends it, however often. */
void prem_sentinel_tell(prem_sentinel *sentinel) {
  if (sentinel)
    __atomic_fetch_add(sentinel->word, 2, __ATOMIC_RELAXED);
}

static cudaError_t await_end(const prem_sentinel *sentinel) {
  const struct timespec pause = {.tv_nsec = POLL_NS};
  const int64_t give_up_ns = prem_host_clock_ns() + END_NS;
  cudaError_t error;
  while ((error = cudaStreamQuery(sentinel->stream)) == cudaErrorNotReady &&
         prem_host_clock_ns() < give_up_ns)
    nanosleep(&pause, NULL);
  return error;
}

cudaError_t prem_sentinel_end(prem_sentinel *sentinel, bool waits) {
  __atomic_store_n(sentinel->word, PREM_SENTINEL_STOP, __ATOMIC_SEQ_CST);
  sentinel->seen.begin_ns = 0;
  if (!waits)
    return cudaSuccess;
  cudaError_t error = await_end(sentinel);
  if (error == cudaSuccess)
    error =
        cudaMemcpy(&sentinel->seen, sentinel->log, sizeof sentinel->seen, cudaMemcpyDeviceToHost);
  return error;
}

/* ---- what it saw ----------------------------------------------------------------------------- */

/* Behind the last gap that found room nothing is known. */
static prem_watch watch_of(const prem_sentinel_log *seen) {
  const prem_gap *last = &seen->gaps[PREM_SENTINEL_GAPS - 1];
  return (prem_watch){.begin_ns = seen->begin_ns,
                      .until_ns = seen->count > PREM_SENTINEL_GAPS
                                      ? last->start_ns + last->length_ns
                                      : seen->end_ns,
                      .gaps = seen->gaps,
                      .gap_count = prem_min_i64(seen->count, PREM_SENTINEL_GAPS)};
}

void prem_sentinel_judge(const prem_sentinel *sentinel, const prem_program *program,
                         int64_t hyperperiod, int64_t start_ns, prem_trace *trace) {
  const prem_watch watch = watch_of(&sentinel->seen);
  if (sentinel->seen.begin_ns > 0)
    prem_watch_judge(&watch, program, hyperperiod, start_ns, trace);
}

/* Of hundreds of launches the first one says it for all. */
static void tell(bool *told, prem_diag *diag, const char *what) {
  if (!*told)
    prem_diag_add(diag, PREM_WARNING, 0, (prem_place){0}, "cuda", "%s", what);
  *told = true;
}

void prem_sentinel_report(prem_sentinel *sentinel, prem_trace *trace, prem_diag *diag) {
  const prem_sentinel_log *seen = &sentinel->seen;
  prem_stalls *stalls = &trace->stalls;
  if (seen->begin_ns == 0) {
    tell(&sentinel->told_absent, diag,
         "a launch had no sentinel: its block found no room beside the others, so that nobody "
         "knows of stalls there");
    return;
  }
  *stalls = (prem_stalls){.watched_ns = seen->end_ns - seen->begin_ns,
                          .count = seen->count,
                          .longest_ns = seen->longest_ns,
                          .sum_ns = seen->sum_ns,
                          .sm = seen->sm};
  for (; stalls->kept_count < prem_min_i64(seen->count, PREM_STALLS_KEPT); ++stalls->kept_count)
    stalls->kept[stalls->kept_count] =
        (prem_stall){.start_ns = seen->gaps[stalls->kept_count].start_ns - seen->begin_ns,
                     .length_ns = seen->gaps[stalls->kept_count].length_ns};
  if (seen->count > PREM_SENTINEL_GAPS)
    tell(&sentinel->told_full, diag,
         "the GPU stood still more often in a launch than its sentinel can keep: later jobs of it "
         "are not told apart; make launches shorter (--verify-every)");
}
