/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary kernels: queueing one hyperperiod, opening its gates, seeing it end. */
#include <time.h>

#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/numbers.h"
#include "runtime/cuda/baselines/native_round.h"

enum {
  POLL_NS = 20000,           /* the host's look at a stream */
  MARGIN_NS = 20000,         /* gated: from GO to S */
  ARRIVAL_NS = 20000000,     /* gated: for all gates to run; then it begins without them */
  CROWDED_NS = 1000000,      /* the same, once some could not: for those that can */
  LEAD_NS = 1000000000,      /* as launched: for the thread that stamps S */
  LAST_GRACE_NS = 500000000, /* for kernels to end after a stop */
  LAP = 64,                  /* so many jobs between two looks at how far the GPU has come */
  QUEUED_AHEAD = 3 * LAP     /* jobs that surely fit in its queues */
};
#define GATE_TIMEOUT_NS INT64_C(2000000000)

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      return error;                                                                                \
  } while (0)

prem_status prem_native_report(cudaError_t error, prem_diag *diag) {
  if (error == cudaSuccess)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "cuda", "running ordinary kernels: %s (%s)",
                cudaGetErrorString(error), cudaGetErrorName(error));
  return error == cudaErrorMemoryAllocation ? PREM_ERR_MEMORY : PREM_ERR_MACHINE;
}

static void host_pause(void) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = POLL_NS};
  nanosleep(&pause, NULL);
}

static bool is_stopped(const prem_native_round *round) {
  return round->stop && *round->stop;
}

/* ---- gates ----------------------------------------------------------------------------------- */

static void say_word(const prem_native *native, prem_native_word word) {
  __atomic_store_n(&native->words[0], (uint32_t)word, __ATOMIC_SEQ_CST);
}

uint32_t *prem_native_arrival_of(const prem_native *native, int32_t task) {
  return &native->words[1 + task];
}

/* Wait for the gates that were queued to come so far. Where there are more streams than hardware
 * queues some cannot run until others are open. */
static bool gates_wait(const prem_native *native, const prem_native_round *round,
                       prem_native_arrival how, int64_t timeout_ns) {
  const int64_t give_up_ns = prem_host_clock_ns() + timeout_ns;
  for (int32_t t = 0; t < native->task_count; ++t)
    while (__atomic_load_n(prem_native_arrival_of(native, t), __ATOMIC_ACQUIRE) < (uint32_t)how)
      if (is_stopped(round) || prem_host_clock_ns() > give_up_ns)
        return false;
  return true;
}

prem_native_gate prem_native_gate_until(const prem_native *native, const long long *ends,
                                        int64_t offset_ns) {
  return (prem_native_gate){.word = native->words,
                            .state = native->state,
                            .ends = ends,
                            .offset_ns = offset_ns,
                            .margin_ns = MARGIN_NS,
                            .timeout_ns = GATE_TIMEOUT_NS};
}

static cudaError_t queue_gate(const prem_native *native, cudaStream_t stream, uint32_t *arrived,
                              const long long *ends, int64_t offset_ns, int64_t margin_ns) {
  prem_native_gate gate = prem_native_gate_until(native, ends, offset_ns);
  gate.arrived = arrived;
  gate.margin_ns = margin_ns;
  void *arguments[] = {&gate};
  const dim3 one = {1, 1, 1};
  if (arrived)
    __atomic_store_n(arrived, (uint32_t)PREM_NATIVE_AWAY, __ATOMIC_SEQ_CST);
  return cudaLaunchKernel(prem_native_gate_code(), one, one, arguments, 0, stream);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

long long *prem_native_ends_of(const prem_native *native, int64_t number) {
  return native->ends + number * PREM_NATIVE_END_WORDS;
}

struct cudaKernelNodeParams prem_native_launch(const prem_native *native,
                                               const prem_untiled_order *order, int64_t number,
                                               prem_native_work *work) {
  const prem_native_task *task = &native->tasks[order->jobs[number].task];
  const prem_native_way *way = &task->way;
  *work = task->work;
  work->ends = prem_native_ends_of(native, number);
  return (struct cudaKernelNodeParams){
      .func = (void *)(uintptr_t)way->variant->code,
      .gridDim = {way->blocks, 1, 1},
      .blockDim = {(unsigned)way->threads_x, (unsigned)way->threads_y, 1},
      .sharedMemBytes = (unsigned)task->shared_bytes};
}

/* A copy by the runtime stamps nothing: the code of its way does so behind it. */
static cudaError_t launch_job(const prem_native *native, const prem_untiled_order *order,
                              int64_t number) {
  const prem_native_task *task = &native->tasks[order->jobs[number].task];
  prem_native_work work;
  const struct cudaKernelNodeParams launch = prem_native_launch(native, order, number, &work);
  void *arguments[] = {&work};
  cudaError_t error;
  if (task->way.variant->copies_before)
    CUDA_TRY(cudaMemcpyAsync(work.out, work.in[0], (size_t)work.columns * sizeof(float),
                             cudaMemcpyDeviceToDevice, task->stream));
  return cudaLaunchKernel(launch.func, launch.gridDim, launch.blockDim, arguments,
                          launch.sharedMemBytes, task->stream);
}

/* Nothing of a task stands in the order before its job 0. */
static cudaError_t queue_release(const prem_native *native, const prem_untiled_job *job) {
  cudaStream_t stream = native->tasks[job->task].stream;
  if (job->job == 0)
    return queue_gate(native, stream, prem_native_arrival_of(native, job->task), NULL,
                      job->release_ns, MARGIN_NS);
  if (job->release_ns > 0)
    return queue_gate(native, stream, NULL, NULL, job->release_ns, MARGIN_NS);
  return cudaSuccess;
}

cudaError_t prem_native_queue_job(const prem_native *native, const prem_native_round *round,
                                  int64_t number) {
  const prem_untiled_job *job = &round->order->jobs[number];
  const prem_native_task *task = &native->tasks[job->task];
  cudaError_t error;
  if (round->gated)
    CUDA_TRY(queue_release(native, job));
  for (int32_t p = 0; p < job->pred_count; ++p) {
    const prem_untiled_pred *pred = &round->order->preds[job->first_pred + p];
    CUDA_TRY(cudaStreamWaitEvent(task->stream, native->ended[pred->number], 0));
    if (pred->lag_ns > 0)
      CUDA_TRY(queue_gate(native, task->stream, NULL, prem_native_ends_of(native, pred->number),
                          pred->lag_ns, 0));
  }
  CUDA_TRY(launch_job(native, round->order, number));
  if (job->awaited || (number + 1) % LAP == 0)
    CUDA_TRY(cudaEventRecord(native->ended[number], task->stream));
  return cudaSuccess;
}

static int64_t last_release_ns(const prem_untiled_order *order) {
  int64_t last_ns = 0;
  for (int64_t number = 0; number < order->job_count; ++number)
    last_ns = prem_max_i64(last_ns, order->jobs[number].release_ns);
  return last_ns;
}

/* Keep no more jobs in the queues than fit: a launch into a full one would not return, and the
 * caller's stop would not be seen. Gates are open. */
static cudaError_t lap_wait(const prem_native *native, const prem_native_round *round,
                            int64_t number) {
  if (number % LAP != 0 || number < QUEUED_AHEAD)
    return cudaSuccess;
  cudaError_t error;
  while ((error = cudaEventQuery(native->ended[number - QUEUED_AHEAD + LAP - 1])) ==
         cudaErrorNotReady) {
    if (is_stopped(round))
      return cudaSuccess;
    if (prem_host_clock_ns() > round->give_up_ns)
      return cudaErrorNotReady;
    host_pause();
  }
  return error;
}

/* ---- the ways to begin ----------------------------------------------------------------------- */

static void open_gates(prem_native *native, prem_native_round *round) {
  native->is_crowded |=
      !gates_wait(native, round, PREM_NATIVE_WAITS, native->is_crowded ? CROWDED_NS : ARRIVAL_NS);
  round->host_start_ns = prem_host_clock_ns() + MARGIN_NS;
  say_word(native, PREM_NATIVE_GO);
}

static cudaError_t queue_gated(prem_native *native, prem_native_round *round) {
  const int64_t count = round->order->job_count;
  cudaError_t error;
  for (int64_t number = 0; number < count && !is_stopped(round); ++number) {
    if (number == QUEUED_AHEAD)
      open_gates(native, round);
    CUDA_TRY(lap_wait(native, round, number));
    CUDA_TRY(prem_native_queue_job(native, round, number));
  }
  if (count <= QUEUED_AHEAD && !is_stopped(round))
    open_gates(native, round);
  return cudaSuccess;
}

/* All of the graph is launched, and waits: for a gate before it in its stream, or at its own. */
static cudaError_t queue_gated_graph(prem_native *native, prem_native_round *round) {
  uint32_t *arrived = prem_native_arrival_of(native, 0);
  cudaStream_t stream = native->tasks[0].stream;
  cudaError_t error;
  if (round->graph_has_gates)
    __atomic_store_n(arrived, (uint32_t)PREM_NATIVE_AWAY, __ATOMIC_SEQ_CST);
  else
    CUDA_TRY(queue_gate(native, stream, arrived, NULL, 0, MARGIN_NS));
  CUDA_TRY(cudaGraphLaunch(round->graph, stream));
  if (!is_stopped(round))
    open_gates(native, round);
  return cudaSuccess;
}

static bool host_wait_until(const prem_native_round *round, int64_t instant_ns) {
  while (prem_host_clock_ns() < instant_ns)
    if (is_stopped(round))
      return false;
  return true;
}

/* The leading stream's thread stamps S when it sees GO; the host begins when it sees that. */
static bool stamp_start(const prem_native *native, prem_native_round *round) {
  if (!gates_wait(native, round, PREM_NATIVE_WAITS, LEAD_NS))
    return false;
  say_word(native, PREM_NATIVE_GO);
  const bool started = gates_wait(native, round, PREM_NATIVE_STARTED, LEAD_NS);
  round->host_start_ns = prem_host_clock_ns();
  return started;
}

static cudaError_t queue_as_launched(const prem_native *native, prem_native_round *round) {
  cudaError_t error;
  CUDA_TRY(queue_gate(native, native->leader, prem_native_arrival_of(native, 0), NULL, 0, 0));
  if (!stamp_start(native, round))
    return is_stopped(round) ? cudaSuccess : cudaErrorNotReady;
  if (round->graph)
    return cudaGraphLaunch(round->graph, native->tasks[0].stream);
  for (int64_t number = 0; number < round->order->job_count; ++number) {
    if (!host_wait_until(round, round->host_start_ns + round->order->jobs[number].release_ns))
      break;
    CUDA_TRY(lap_wait(native, round, number));
    CUDA_TRY(prem_native_queue_job(native, round, number));
  }
  return cudaSuccess;
}

/* ---- the end --------------------------------------------------------------------------------- */

static prem_status say_endless(prem_diag *diag, bool lost) {
  return prem_fail(diag, PREM_ERR_MACHINE, 0, (prem_place){0}, "cuda",
                   "an ordinary kernel does not end%s",
                   lost ? ": the GPU is free again when this process ends" : " in time");
}

/* Wait until all streams are empty. Gates end by themselves; the host ends what is stopped. */
static prem_status drain(prem_native *native, const prem_native_round *round, prem_diag *diag) {
  int64_t grace_ns = INT64_MAX; /* once told to stop */
  bool late = false;
  for (int32_t t = -1; t < native->task_count;) {
    const cudaError_t error = cudaStreamQuery(t < 0 ? native->leader : native->tasks[t].stream);
    if (error == cudaSuccess) {
      ++t;
      continue;
    }
    if (error != cudaErrorNotReady)
      return prem_native_report(error, diag);
    const int64_t now_ns = prem_host_clock_ns();
    if (now_ns > grace_ns) {
      native->lost = true;
      return say_endless(diag, true);
    }
    late = late || now_ns > round->give_up_ns;
    if (grace_ns == INT64_MAX && (late || is_stopped(round))) {
      say_word(native, PREM_NATIVE_STOP);
      grace_ns = now_ns + LAST_GRACE_NS;
    }
    host_pause();
  }
  return late ? say_endless(diag, false) : PREM_OK;
}

static int64_t end_of(const prem_native *native, int64_t number) {
  int64_t last_ns = 0;
  for (int slot = 0; slot < PREM_NATIVE_SLOTS; ++slot) {
    const int64_t end_ns =
        native->ends_seen[number * PREM_NATIVE_END_WORDS + slot * PREM_NATIVE_SLOT_STRIDE];
    last_ns = prem_max_i64(last_ns, end_ns);
  }
  return last_ns;
}

static void tell_late(prem_native *native, int64_t late_ns, prem_diag *diag) {
  if (late_ns == 0 || native->told_late)
    return;
  native->told_late = true;
  prem_diag_add(
      diag, PREM_WARNING, 0, (prem_place){0}, "cuda",
      "ordinary kernels: a stream came to its gate %lld ns after S: %d tasks need as many "
      "hardware queues; start with CUDA_DEVICE_MAX_CONNECTIONS=32",
      (long long)late_ns, (int)native->task_count);
}

static prem_status collect(prem_native *native, prem_native_round *round, prem_diag *diag) {
  const int64_t count = round->order->job_count;
  prem_native_state state;
  cudaError_t error = cudaMemcpy(&state, native->state, sizeof state, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(native->ends_seen, native->ends,
                       (size_t)count * PREM_NATIVE_END_WORDS * sizeof *native->ends,
                       cudaMemcpyDeviceToHost);
  if (error != cudaSuccess)
    return prem_native_report(error, diag);
  round->start_ns = state.start_ns;
  for (int64_t number = 0; number < count; ++number) {
    const int64_t end_ns = end_of(native, number);
    round->ends_ns[number] = end_ns && state.start_ns ? end_ns - state.start_ns : -1;
  }
  tell_late(native, state.late_ns, diag);
  if (is_stopped(round))
    return PREM_ERR_INTERRUPTED;
  if (!state.stopped && state.start_ns)
    return PREM_OK;
  prem_diag_add(
      diag, PREM_ERROR, 0, (prem_place){0}, "cuda",
      "the host did not open the gates of ordinary kernels within %lld ms: something keeps "
      "this process from running",
      (long long)(GATE_TIMEOUT_NS / 1000000));
  return PREM_ERR_MACHINE;
}

/* Queueing waited in vain for the GPU. */
static prem_status say_idle(prem_diag *diag) {
  return prem_fail(diag, PREM_ERR_MACHINE, 0, (prem_place){0}, "cuda",
                   "the GPU does not get on with ordinary kernels: another program holds it");
}

/* As before the first hyperperiod. */
static cudaError_t reset(const prem_native *native, const prem_native_round *round) {
  cudaError_t error;
  say_word(native, PREM_NATIVE_HOLD);
  for (int32_t t = 0; t < native->task_count; ++t)
    *prem_native_arrival_of(native, t) = PREM_NATIVE_STARTED;
  CUDA_TRY(cudaMemsetAsync(native->state, 0, sizeof *native->state, native->leader));
  CUDA_TRY(cudaMemsetAsync(native->ends, 0,
                           (size_t)round->order->job_count * PREM_NATIVE_END_WORDS *
                               sizeof *native->ends,
                           native->leader));
  return cudaStreamSynchronize(native->leader);
}

prem_status prem_native_round_run(prem_native *native, prem_native_round *round, prem_diag *diag) {
  round->give_up_ns = prem_host_clock_ns() + last_release_ns(round->order) + round->timeout_ns;
  cudaError_t error = reset(native, round);
  if (error == cudaSuccess)
    error = !round->gated  ? queue_as_launched(native, round)
            : round->graph ? queue_gated_graph(native, round)
                           : queue_gated(native, round);
  if (error != cudaSuccess || is_stopped(round))
    say_word(native, PREM_NATIVE_STOP);
  const prem_status queued =
      error == cudaErrorNotReady ? say_idle(diag) : prem_native_report(error, diag);
  const prem_status drained = drain(native, round, diag);
  if (queued != PREM_OK || drained != PREM_OK)
    return queued != PREM_OK ? queued : drained;
  return collect(native, round, diag);
}
