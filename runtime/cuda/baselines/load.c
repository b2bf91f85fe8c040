/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks as ordinary kernels, see load.h. */
#include "runtime/cuda/baselines/load.h"

#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "runtime/cuda/baselines/native_round.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
  AHEAD = 8,      /* passes that are queued */
  POLL_NS = 5000, /* the thread's look at them */
};
#define LAST_NS INT64_C(5000000000) /* for the next one to end; for the last ones */

struct prem_native_load {
  prem_native *native;
  cudaGraphExec_t graph; /* of a pass; NULL: each task on its stream */
  int32_t streams;       /* that a pass ends on */
  pthread_t thread;
  int device;
  int64_t period_ns;           /* 0: as fast as they can */
  cudaEvent_t *ended;          /* [pass % AHEAD][task] */
  _Atomic int64_t passes;      /* that have ended */
  atomic_bool ends;            /* no more launches */
  _Atomic cudaError_t failure; /* of the thread */
};

static void pause_for(int64_t ns) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)ns};
  nanosleep(&pause, NULL);
}

/* Of a pass all tasks; cudaErrorNotReady: some have not ended. */
static cudaError_t ask(const prem_native_load *load, int64_t pass) {
  cudaError_t error = cudaSuccess;
  for (int32_t t = 0; t < load->streams && error == cudaSuccess; ++t)
    error = cudaEventQuery(load->ended[pass % AHEAD * load->streams + t]);
  return error;
}

static cudaError_t queue_pass(const prem_native_load *load, int64_t pass) {
  const prem_native *native = load->native;
  const prem_native_round round = {.order = &native->order};
  cudaError_t error =
      load->graph ? cudaGraphLaunch(load->graph, native->tasks[0].stream) : cudaSuccess;
  for (int64_t number = 0; !load->graph && number < native->order.job_count && error == cudaSuccess;
       ++number)
    error = prem_native_queue_job(native, &round, number);
  for (int32_t t = 0; t < load->streams && error == cudaSuccess; ++t)
    error = cudaEventRecord(load->ended[pass % AHEAD * load->streams + t], native->tasks[t].stream);
  return error;
}

/* Jobs begin at their rate, or as soon as there is room in the queue. */
static bool may_queue(const prem_native_load *load, int64_t queued, int64_t began_ns) {
  return queued - load->passes < AHEAD &&
         (load->period_ns == 0 || prem_host_clock_ns() - began_ns >= queued * load->period_ns);
}

static void *launch_again_and_again(void *of) {
  prem_native_load *load = of;
  const int64_t began_ns = prem_host_clock_ns();
  cudaError_t error = cudaSetDevice(load->device);
  for (int64_t queued = 0; error == cudaSuccess && !load->ends;) {
    const bool queues = may_queue(load, queued, began_ns);
    if (queues)
      error = queue_pass(load, queued++);
    if (error == cudaSuccess && load->passes < queued)
      error = ask(load, load->passes);
    if (error == cudaSuccess && load->passes < queued)
      ++load->passes;
    else if (!queues)
      pause_for(POLL_NS);
    error = error == cudaErrorNotReady ? cudaSuccess : error;
  }
  load->failure = error;
  return NULL;
}

/* ---- the caller's side ----------------------------------------------------------------------- */

static void load_free(prem_native_load *load) {
  for (int32_t i = 0; load->ended && i < AHEAD * load->streams; ++i)
    if (load->ended[i])
      cudaEventDestroy(load->ended[i]);
  free(load->ended);
  free(load);
}

static cudaError_t make_events(prem_native_load *load) {
  cudaError_t error = cudaGetDevice(&load->device);
  load->ended = calloc((size_t)(AHEAD * load->streams), sizeof *load->ended);
  if (!load->ended)
    return cudaErrorMemoryAllocation;
  for (int32_t i = 0; i < AHEAD * load->streams && error == cudaSuccess; ++i)
    error = cudaEventCreateWithFlags(&load->ended[i], cudaEventDisableTiming);
  return error;
}

prem_status prem_native_load_judge(const prem_native *native, prem_diag *diag) {
  const prem_untiled_order *order = &native->order;
  for (int64_t number = 0; number < order->job_count; ++number)
    for (int32_t p = 0; p < order->jobs[number].pred_count; ++p) {
      if (order->preds[order->jobs[number].first_pred + p].lag_ns == 0)
        continue;
      const prem_task *task = &native->place.program->schedule->tasks[order->jobs[number].task];
      prem_diag_add(diag, PREM_NOTE, 0, task->place, "",
                    "cuda: ordinary kernels: best-effort task '%s' follows another one with a lag, "
                    "which streams do not keep",
                    task->name);
      return PREM_ERR_UNAVAILABLE;
    }
  return PREM_OK;
}

static prem_status passes_await(prem_native_load *load, int64_t passes,
                                const volatile sig_atomic_t *stop, prem_diag *diag) {
  int64_t give_up_ns = prem_host_clock_ns() + LAST_NS, seen = 0;
  while (load->passes < passes && load->failure == cudaSuccess) {
    if (stop && *stop)
      return PREM_ERR_INTERRUPTED;
    if (load->passes > seen) {
      seen = load->passes;
      give_up_ns = prem_host_clock_ns() + LAST_NS;
    }
    if (prem_host_clock_ns() > give_up_ns)
      return prem_fail(diag, PREM_ERR_MACHINE, 0, (prem_place){0}, "cuda",
                       "ordinary kernels: best-effort tasks do not end");
    pause_for(POLL_NS);
  }
  return PREM_OK; /* the end tells of a failure */
}

static int64_t period_of(const prem_native *native) {
  return native->place.program->schedule->period_lcm_ns;
}

/* The thread is there. */
static prem_status begin(prem_native *native, cudaGraphExec_t graph, int64_t period_ns,
                         prem_native_load **out, prem_diag *diag) {
  prem_native_load *load = *out = calloc(1, sizeof *load);
  if (!load)
    return PREM_ERR_MEMORY;
  load->native = native;
  load->graph = graph;
  load->streams = graph ? 1 : native->task_count;
  load->period_ns = period_ns;
  prem_status status = prem_native_report(make_events(load), diag);
  if (status == PREM_OK && pthread_create(&load->thread, NULL, launch_again_and_again, load) != 0)
    status = PREM_ERR_MEMORY;
  if (status != PREM_OK) {
    load_free(load);
    *out = NULL;
  }
  return status;
}

prem_status prem_native_load_start(prem_native *native, const volatile sig_atomic_t *stop,
                                   prem_native_load **out, prem_diag *diag) {
  *out = NULL;
  prem_status status = prem_native_load_judge(native, diag);
  if (status == PREM_OK)
    status = begin(native, NULL, period_of(native), out, diag);
  if (status == PREM_OK && (status = passes_await(*out, 1, stop, diag)) != PREM_OK) {
    prem_native_load_end(*out, diag);
    *out = NULL;
  }
  return status;
}

prem_status prem_native_load_start_graph(prem_native *native, cudaGraphExec_t graph, int64_t passes,
                                         const volatile sig_atomic_t *stop, prem_native_load **out,
                                         prem_diag *diag) {
  const prem_status status = begin(native, graph, passes > 0 ? 0 : period_of(native), out, diag);
  return status == PREM_OK ? passes_await(*out, passes, stop, diag) : status;
}

int64_t prem_native_load_passes(const prem_native_load *load) {
  return load->passes;
}

static cudaError_t drain(const prem_native_load *load) {
  const int64_t give_up_ns = prem_host_clock_ns() + LAST_NS;
  for (int32_t t = 0; t < load->native->task_count;) {
    const cudaError_t error = cudaStreamQuery(load->native->tasks[t].stream);
    if (error == cudaSuccess)
      ++t;
    else if (error != cudaErrorNotReady || prem_host_clock_ns() > give_up_ns)
      return error;
    else
      pause_for(POLL_NS);
  }
  return cudaSuccess;
}

prem_status prem_native_load_end(prem_native_load *load, prem_diag *diag) {
  if (!load)
    return PREM_OK;
  load->ends = true;
  pthread_join(load->thread, NULL);
  const cudaError_t drained = drain(load);
  const cudaError_t error = load->failure != cudaSuccess ? load->failure : drained;
  if (drained == cudaErrorNotReady) {
    load->native->lost = true;
    return prem_fail(diag, PREM_ERR_MACHINE, 0, (prem_place){0}, "cuda",
                     "ordinary kernels of best-effort tasks do not end: the GPU is free again when "
                     "this process ends"); /* events cannot be destroyed */
  }
  load_free(load);
  return prem_native_report(error, diag);
}
