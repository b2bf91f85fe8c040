/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live sessions on the GPU: the courier's kernel and the executive are launched, and a thread of
 * the session's (live_watch.c) watches over both.
 */
#include "runtime/cuda/host/live.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "runtime/cuda/host/machine_facts.h"

enum {
  SLACK_NS = 100000,        /* a hyperperiod is permitted so long before it begins */
  SPIN_NS = 200000,         /* a host that waits looks without a pause for so long */
  DEFAULT_LIVE_STALL_S = 5, /* of a block, where the caller names no timeout */
  DEFAULT_SILENCE_S = 30    /* of the host: the session drains */
};

static const prem_place nowhere = {0};

static prem_cuda_live *live_of(const void *state) {
  return ((const prem_cuda *)state)->live;
}

static void nap(int64_t length_ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)length_ns}, NULL);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* What the default stream was given is done. Nothing else is waited for: another kernel may hold
 * the GPU for ever. */
static cudaError_t await_default_stream(void) {
  const int64_t give_up_ns = prem_host_clock_ns() + 3 * PREM_CUDA_RESIDENT_NS;
  cudaError_t error;
  while ((error = cudaStreamQuery(NULL)) == cudaErrorNotReady) {
    if (prem_host_clock_ns() > give_up_ns)
      return cudaErrorLaunchTimeout;
    nap(PREM_CUDA_NAP_NS);
  }
  return error;
}

static cudaError_t make_ready(prem_cuda_live *live) {
  prem_cuda *cuda = live->cuda;
  const int64_t rows = live->courier->rows;
  cudaError_t error;
  CUDA_TRY(prem_cuda_make_room(cuda, live->recorded, rows));
  CUDA_TRY(prem_cuda_give_shares(cuda, live->recorded->record_capacity, live->blocks));
  CUDA_TRY(prem_cuda_reset_state(cuda, rows * live->recorded->job_count));
  CUDA_TRY(prem_cuda_live_tables_new(live));
  CUDA_TRY(cudaHostGetDevicePointer((void **)&live->launch.talk, live->talk, 0));
  /* as the executive has it: an SM's scratchpad is divided anew only while nothing runs there */
  CUDA_TRY(cudaFuncSetAttribute(prem_courier_kernel(),
                                cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared));
  CUDA_TRY(await_default_stream());
fail:
  return error;
}

/* Until the courier answers. */
static cudaError_t match_clocks(prem_cuda_live *live) {
  prem_cuda *cuda = live->cuda;
  int64_t offset_ns = INT64_MIN, width_ns = 0;
  const cudaError_t error =
      prem_measure_offset(cuda->stream, cuda->clock_word, &offset_ns, &width_ns);
  if (error != cudaSuccess)
    return error;
  if (offset_ns == INT64_MIN)
    return cudaErrorLaunchTimeout;
  const int64_t now = prem_host_clock_ns();
  prem_cuda_live_take_answer(live, now - width_ns, now + offset_ns - width_ns / 2, now);
  return cudaSuccess;
}

static cudaError_t launch_both(prem_cuda_live *live, const prem_live_request *request) {
  prem_cuda *cuda = live->cuda;
  prem_launch launch = cuda->device.launch;
  launch.job_end_ns = cuda->ends_room;
  launch.engine = (int32_t)live->engine;
  launch.mode = (int32_t)request->mode;
  launch.hyperperiods = INT64_MAX; /* as many as the courier permits */
  launch.discard = 0;
  launch.start_margin_ns = PREM_CUDA_START_MARGIN_NS;
  launch.resident_timeout_ns = PREM_CUDA_RESIDENT_NS;
  launch.stall_timeout_ns = request->stall_timeout_ns > 0
                                ? request->stall_timeout_ns
                                : (int64_t)DEFAULT_LIVE_STALL_S * 1000000000;
  live->launch.state = launch.state;
  live->launch.is_near = live->launch.image_bytes <= cuda->near_bytes;
  const size_t near_bytes = live->launch.is_near ? (size_t)live->launch.image_bytes : 0;
  live->launch.host_silence_ns = (int64_t)DEFAULT_SILENCE_S * 1000000000;
  live->launch.resident_timeout_ns = PREM_CUDA_RESIDENT_NS;
  void *to_courier[] = {&live->launch};
  void *to_blocks[] = {&launch, &live->tables};
  const dim3 one = {1, 1, 1}, courier_threads = {PREM_COURIER_THREADS, 1, 1};
  const dim3 grid = {(unsigned)(cuda->sm_count * cuda->device.blocks_per_sm), 1, 1};
  const dim3 threads = {(unsigned)cuda->threads, 1, 1};
  cudaError_t error;
  CUDA_TRY(match_clocks(live));
  CUDA_TRY(cudaLaunchCooperativeKernel(cuda->executive, grid, threads, to_blocks,
                                       cuda->scratch_bytes, cuda->stream));
  CUDA_TRY(cudaLaunchKernel(prem_courier_kernel(), one, courier_threads, to_courier, near_bytes,
                            live->serving));
fail:
  return error;
}

/* Until all blocks are resident; the courier says so. */
static prem_status become_resident(prem_cuda_live *live, prem_diag *diag) {
  const int64_t give_up_ns = prem_host_clock_ns() + 3 * PREM_CUDA_RESIDENT_NS;
  while (__atomic_load_n(&live->talk->s_ns, __ATOMIC_ACQUIRE) == 0) {
    if (prem_cuda_live_has_ended(live, live->cuda->stream) || prem_host_clock_ns() > give_up_ns) {
      if (live->error != cudaSuccess)
        return prem_cuda_say_broken(live->cuda, live->mode, live->engine, live->error, diag);
      return prem_cuda_say_held(live->cuda, diag);
    }
    nap(PREM_CUDA_NAP_NS);
  }
  return PREM_OK;
}

/* When the first hyperperiod begins, from S. */
static prem_status settle_start(prem_cuda_live *live, const prem_live_request *request,
                                int64_t base_ns, int64_t *start_ns, prem_diag *diag) {
  const int64_t lead_ns = live->courier->trigger < 0 ? live->courier->max_lead_ns : 0;
  const int64_t min_ns = prem_max_i64(prem_host_clock_ns(), base_ns) + lead_ns;
  const int64_t step_ns = live->cuda->device.launch.clock_step_ns;
  *start_ns = (request->start_ns ? request->start_ns : min_ns + 2 * SLACK_NS) - base_ns;
  *start_ns = (*start_ns + step_ns - 1) / step_ns * step_ns; /* a block sees no other instants */
  if (request->start_ns == 0 || request->start_ns >= min_ns)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "start_ns",
                "is %lld ns too soon: the blocks are resident only now, and the first frames are "
                "chosen up to %lld ns before; give some ms more",
                (long long)(min_ns - request->start_ns), (long long)lead_ns);
  return PREM_ERR_ARGUMENT;
}

/* Signals are the caller's, as for blocks of the cpu backend. */
static prem_status start_thread(prem_cuda_live *live, prem_diag *diag) {
  sigset_t all, before;
  atomic_store(&live->heard_ns, prem_host_clock_ns());
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&live->thread, NULL, prem_cuda_live_watch, live);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  live->has_thread = error == 0;
  if (error == 0)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "start", "cannot start a thread: %s",
                strerror(error));
  return PREM_ERR_UNAVAILABLE;
}

/* The blocks have not begun: they leave when they are told to. */
static void send_home(prem_cuda_live *live) {
  const int64_t give_up_ns = prem_host_clock_ns() + 4 * (int64_t)PREM_CUDA_LAST_GRACE_NS;
  prem_cuda_stop_blocks(live->cuda);
  prem_cuda_live_leave(live);
  while (!prem_cuda_live_has_ended(live, live->cuda->stream) ||
         !prem_cuda_live_has_ended(live, live->serving)) {
    if (prem_host_clock_ns() > give_up_ns) {
      live->cuda->gpu->loss = PREM_CUDA_HELD;
      return;
    }
    nap(PREM_CUDA_NAP_NS);
  }
}

static prem_status begin(prem_cuda_live *live, const prem_live_request *request, prem_diag *diag) {
  prem_courier_talk *talk = live->talk;
  int64_t start_ns = 0;
  prem_status status = become_resident(live, diag);
  if (status != PREM_OK)
    return status;
  talk->base_ns = talk->s_ns - prem_clock_match_offset_ns(&live->match);
  status = settle_start(live, request, talk->base_ns, &start_ns, diag);
  if (status != PREM_OK)
    return status;
  talk->start_ns = start_ns;
  live->courier->base_ns = talk->base_ns; /* for who looks; the courier on the GPU has its own */
  live->courier->start_ns = start_ns;
  status = start_thread(live, diag);
  if (status == PREM_OK)
    __atomic_store_n(&talk->begin, 1, __ATOMIC_RELEASE);
  return status;
}

/* What the courier's image takes of a session: before it is made. */
static void set_up_courier(prem_cuda_live *live, const prem_live_request *request) {
  prem_courier_begin(live->courier,
                     &(prem_courier_setup){.request = request,
                                           .slack_ns = SLACK_NS,
                                           .step_ns = live->cuda->device.launch.clock_step_ns});
}

static prem_status judge_memory(const prem_cuda_live *live, prem_diag *diag) {
  for (int32_t s = 0; s < live->courier->stream_count; ++s)
    if (!live->has_memory[s]) {
      prem_diag_add(diag, PREM_ERROR, 0, live->courier->streams[s].port.place, "start",
                    "the GPU could not reach the memory that frames of stream %d were given; open "
                    "another session, and give them other memory",
                    s);
      return PREM_ERR_ARGUMENT;
    }
  return PREM_OK;
}

static bool has_arrays_of_others(const prem_cuda_live *live) {
  bool has_one = false;
  for (int32_t s = 0; s < live->courier->stream_count; ++s)
    has_one |= live->session_arrays[s] != NULL;
  return has_one;
}

/* Before anything that waits for the GPU without an end: it has room for a kernel of one thread. */
static prem_status find_room(prem_cuda_live *live, prem_diag *diag) {
  int64_t offset_ns = INT64_MIN, width_ns = 0;
  const cudaError_t error =
      prem_measure_offset(live->cuda->stream, live->cuda->clock_word, &offset_ns, &width_ns);
  if (error != cudaSuccess)
    return prem_cuda_report(error, diag, "starting a live session on the GPU");
  return offset_ns == INT64_MIN ? prem_cuda_say_held(live->cuda, diag) : PREM_OK;
}

/* Made ready and launched; what was launched has to be sent home after an error. */
static prem_status launch(prem_cuda_live *live, const prem_live_request *request, prem_diag *diag) {
  const cudaError_t made = make_ready(live);
  if (made == cudaErrorLaunchTimeout)
    return prem_cuda_say_held(live->cuda, diag);
  if (made != cudaSuccess)
    return prem_cuda_report(made, diag, "making a live session ready on the GPU");
  const cudaError_t launched = launch_both(live, request);
  if (launched == cudaErrorLaunchTimeout)
    return prem_cuda_say_held(live->cuda, diag);
  return prem_cuda_report(launched, diag, "starting a live session on the GPU");
}

static prem_status start(prem_cuda_live *live, const prem_live_request *request, prem_diag *diag) {
  prem_cuda *cuda = live->cuda;
  prem_status status = judge_memory(live, diag);
  if (status == PREM_OK)
    status = find_room(live, diag);
  if (status == PREM_ERR_MACHINE)
    send_home(live);
  if (status == PREM_OK && has_arrays_of_others(live))
    status = prem_cuda_load_again(cuda, diag);
  if (status != PREM_OK)
    return status;
  status = prem_courier_make_room(live->courier, request);
  live->recorded = live->courier->whole ? live->courier->whole : live->courier->trace;
  live->blocks = calloc((size_t)cuda->program->block_count, sizeof *live->blocks);
  if (status != PREM_OK || !live->blocks)
    return PREM_ERR_MEMORY;
  status = prem_cuda_choose_engine(cuda, &live->engine, diag);
  if (status != PREM_OK)
    return status;
  set_up_courier(live, request);
  status = launch(live, request, diag);
  if (status == PREM_OK)
    status = begin(live, request, diag);
  if (status != PREM_OK)
    send_home(live);
  return status;
}

static prem_status judge_streams(const prem_courier *courier, prem_diag *diag) {
  if (courier->stream_count <= PREM_DEVICE_STREAMS)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 47, courier->streams[PREM_DEVICE_STREAMS].port.place, "live",
                "has %d inputs and outputs; a GPU's courier looks at %d at most",
                courier->stream_count, PREM_DEVICE_STREAMS);
  return PREM_ERR_INVALID;
}

/* Snapshots of arguments, where blocks can read them. */
static cudaError_t params_new(prem_cuda_live *live) {
  prem_courier *courier = live->courier;
  const size_t bytes = PREM_SNAPSHOTS * (size_t)courier->task_count * sizeof *courier->params;
  const cudaError_t error =
      cudaHostAlloc((void **)&live->params, bytes ? bytes : 16, cudaHostAllocMapped);
  if (error != cudaSuccess)
    return error;
  live->params_before = courier->params;
  courier->params = live->params;
  return cudaSuccess;
}

static void params_give_back(prem_cuda_live *live) {
  if (live->params)
    live->courier->params = live->params_before;
}

static cudaError_t open_parts(prem_cuda_live *live) {
  int64_t offset_ns, width_ns;
  cudaError_t error;
  CUDA_TRY(prem_cuda_enter(live->cuda->gpu));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->serving, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->sending, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->fetching, cudaStreamNonBlocking));
  CUDA_TRY(cudaHostAlloc((void **)&live->talk, sizeof *live->talk, cudaHostAllocMapped));
  memset(live->talk, 0, sizeof *live->talk);
  CUDA_TRY(params_new(live));
  CUDA_TRY(prem_cuda_live_frames_new(live));
  /* its kernel is loaded here: nothing is loaded beside a kernel that does not end */
  CUDA_TRY(prem_measure_offset(live->cuda->stream, live->cuda->clock_word, &offset_ns, &width_ns));
  if (offset_ns == INT64_MIN) /* a later stamp could be this one's */
    return cudaErrorLaunchTimeout;
fail:
  return error;
}

static prem_status live_open(void *state, prem_courier *courier, prem_diag *diag) {
  prem_cuda *cuda = state;
  prem_status status = judge_streams(courier, diag);
  if (status != PREM_OK)
    return status;
  cuda->live = calloc(1, sizeof *cuda->live);
  if (!cuda->live)
    return PREM_ERR_MEMORY;
  cuda->live->cuda = cuda;
  pthread_mutex_init(&cuda->live->match_lock, NULL);
  cuda->live->allocations.size = sizeof(void *);
  cuda->live->courier = courier;
  cuda->live->stop_by_ns = INT64_MAX;
  const cudaError_t error = open_parts(cuda->live);
  return error == cudaErrorLaunchTimeout
             ? prem_cuda_say_held(cuda, diag)
             : prem_cuda_report(error, diag, "making the frames known to the GPU");
}

static void live_keep_frames(void *state, int32_t stream, prem_frame_place *out) {
  prem_cuda_live *live = live_of(state);
  (void)prem_cuda_enter(live->cuda->gpu);
  prem_cuda_live_keep_frames(live, stream, out);
}

static prem_status live_fetch_there(void *state, int32_t stream, prem_diag *diag) {
  prem_cuda_live *live = live_of(state);
  const prem_status status =
      prem_cuda_report(prem_cuda_enter(live->cuda->gpu), diag, "choosing the GPU");
  return status == PREM_OK ? prem_cuda_live_fetch_there(live, stream, diag) : status;
}

static void live_leave_memory(void *state, int32_t stream) {
  prem_cuda_live *live = live_of(state);
  if (prem_cuda_enter(live->cuda->gpu) == cudaSuccess)
    prem_cuda_live_leave_memory(live, stream);
}

static prem_status live_take_memory(void *state, int32_t stream, prem_diag *diag) {
  prem_cuda_live *live = live_of(state);
  cudaError_t error = prem_cuda_enter(live->cuda->gpu);
  const prem_status status =
      error == cudaSuccess ? prem_cuda_live_judge_buffers(live, stream, diag) : PREM_OK;
  if (status != PREM_OK)
    return status;
  if (error == cudaSuccess)
    error = prem_cuda_live_take_memory(live, stream);
  if (error == cudaSuccess)
    return PREM_OK;
  const prem_schedule *schedule = live->cuda->program->schedule;
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "adopt",
                "the GPU cannot reach the buffers of '%s': %s (%s); give memory that can be locked "
                "(`ulimit -l`), and open the session anew",
                schedule->arrays[schedule->live[stream].array].name, cudaGetErrorString(error),
                cudaGetErrorName(error));
  return PREM_ERR_UNAVAILABLE;
}

/* The copy engines take frames when they are submitted or shown, at no instant of the plan. */
static prem_status judge_copies(const prem_cuda_live *live, prem_diag *diag) {
  const prem_schedule *schedule = live->cuda->program->schedule;
  for (int32_t s = 0; s < schedule->live_count; ++s)
    if (schedule->live[s].copy.exists && live->is_large[s]) {
      prem_diag_add(diag, PREM_ERROR, 0, schedule->live[s].place, "live",
                    "frames of '%s' are too large for the courier, and the copy engines keep to no "
                    "instant of the plan: keep them on the GPU (prem_live_keep_on_device()), or "
                    "leave `copy` out and plan again",
                    schedule->arrays[schedule->live[s].array].name);
      return PREM_ERR_UNAVAILABLE;
    }
  return PREM_OK;
}

static prem_status live_start(void *state, prem_courier *courier, const prem_live_request *request,
                              prem_diag *diag) {
  prem_cuda *cuda = state;
  (void)courier;
  prem_status status = prem_cuda_is_usable(cuda->gpu, diag);
  if (status == PREM_OK)
    status = prem_cuda_report(prem_cuda_enter(cuda->gpu), diag, "choosing the GPU");
  if (status == PREM_OK)
    status = judge_copies(cuda->live, diag);
  if (status != PREM_OK)
    return status;
  cuda->live->mode = request->mode;
  struct prem_cuda_live *none = NULL;
  if (!atomic_compare_exchange_strong(&cuda->gpu->live, &none, cuda->live))
    return prem_cuda_is_usable(cuda->gpu, diag); /* another thread was first */
  status = start(cuda->live, request, diag);
  if (status != PREM_OK)
    cuda->gpu->live = NULL;
  return status;
}

/* ---- what the host asks ---------------------------------------------------------------------- */

static int64_t live_now_ns(const void *state) {
  (void)state;
  return prem_host_clock_ns();
}

static bool live_wait(void *state, bool (*is_met)(void *of), void *of, int64_t until_ns) {
  (void)state;
  const int64_t spins_until_ns = prem_host_clock_ns() + SPIN_NS;
  while (!is_met(of)) {
    const int64_t now = prem_host_clock_ns();
    if (now >= until_ns)
      return false;
    if (now > spins_until_ns)
      nap(prem_min_i64(until_ns - now, PREM_CUDA_NAP_NS));
  }
  return true;
}

static void live_drain(void *state) {
  prem_cuda_live_drain(live_of(state));
}

static void live_tell(void *state) {
  (void)state; /* the courier looks all the time */
}

static void live_abort(void *state) {
  atomic_store(&live_of(state)->is_asked_to_leave, true);
}

static bool live_is_over(const void *state) {
  return atomic_load(&live_of(state)->is_over);
}

static void live_compare_clocks(const void *state, prem_live_clocks *out) {
  prem_cuda_live *live = live_of(state);
  pthread_mutex_lock(&live->match_lock);
  const prem_clock_match now = prem_clock_match_at(&live->match, prem_host_clock_ns());
  *out = (prem_live_clocks){.offset_ns = prem_clock_match_offset_ns(&now),
                            .bound_ns = prem_clock_match_bound_ns(&now),
                            .questions = (int64_t)now.questions,
                            .contradictions = (int64_t)now.contradictions,
                            .gaps = live->gaps,
                            .gap_max_ns = live->gap_max_ns};
  pthread_mutex_unlock(&live->match_lock);
}

static int64_t live_heard_ns(const void *state) {
  return atomic_load_explicit(&live_of(state)->heard_ns, memory_order_relaxed);
}

static bool live_has_failed(const void *state) {
  return atomic_load(&live_of(state)->has_failed);
}

/* ---- the end --------------------------------------------------------------------------------- */

static cudaError_t collect(prem_cuda_live *live) {
  prem_trace *trace = live->recorded;
  const size_t rows = (size_t)prem_word_far(&live->courier->face->kept.value);
  cudaError_t error;
  CUDA_TRY(prem_cuda_collect_phases(live->cuda, live->blocks, trace));
  if (!live->courier->whole || rows == 0)
    return cudaSuccess;
  CUDA_TRY(cudaMemcpy(trace->epoch_ns, live->kept_epoch_ns, rows * sizeof(int64_t),
                      cudaMemcpyDeviceToHost));
  CUDA_TRY(cudaMemcpy(trace->job_end_ns, live->kept_end_ns,
                      rows * (size_t)trace->job_count * sizeof(int64_t), cudaMemcpyDeviceToHost));
  if (live->kept_mode_of)
    CUDA_TRY(cudaMemcpy(trace->operating_mode, live->kept_mode_of, rows, cudaMemcpyDeviceToHost));
fail:
  return error;
}

static prem_status live_finish(void *state, prem_diag *diag) {
  prem_cuda *cuda = state;
  prem_cuda_live *live = cuda->live;
  pthread_join(live->thread, NULL);
  live->has_thread = false;
  cuda->gpu->live = NULL;
  if (live->error != cudaSuccess)
    return prem_cuda_say_broken(cuda, live->mode, live->engine, live->error, diag);
  if (cuda->gpu->loss != PREM_CUDA_THERE) {
    prem_cuda_say_endless(cuda, diag);
    return PREM_ERR_MACHINE;
  }
  prem_device_state after;
  prem_status status = prem_cuda_report(collect(live), diag, "reading what the session recorded");
  prem_courier_finish(live->courier);
  if (status == PREM_OK)
    status = prem_cuda_report(
        cudaMemcpy(&after, cuda->device.launch.state, sizeof after, cudaMemcpyDeviceToHost), diag,
        "reading how the session ended");
  if (status == PREM_OK && after.fault.code != PREM_FAULT_NONE)
    status = prem_cuda_say_fault(cuda, &after.fault, diag);
  return status;
}

#include <stdio.h>
static void stamps_say(const prem_cuda_live *live) {
  static uint32_t bins[STAMP_STAGES][STAMP_BINS];
  if (!getenv("TTPREM_STAMPS") || !live->launch.stamps ||
      cudaMemcpy(bins, live->launch.stamps, sizeof bins, cudaMemcpyDeviceToHost) != cudaSuccess)
    return;
  printf("STAMPS session, blocks %d\n", live->cuda->device.launch.block_count);
  for (int s = 0; s < STAMP_STAGES; ++s) {
    uint64_t all = 0, sum = 0;
    for (int b = 0; b < STAMP_BINS; ++b)
      all += bins[s][b];
    if (all == 0)
      continue;
    printf("STAMPS %2d n %8llu", s, (unsigned long long)all);
    const double qs[] = {0.1, 0.5, 0.9, 0.99};
    for (int q = 0, b = 0; q < 4; ++q) {
      for (; b < STAMP_BINS - 1 && sum + bins[s][b] < (uint64_t)(qs[q] * (double)all); ++b)
        sum += bins[s][b];
      printf(" p%g %d", qs[q] * 100, b * STAMP_STEP);
    }
    printf("\n");
  }
}

void prem_cuda_live_free(prem_cuda *cuda) {
  prem_cuda_live *live = cuda->live;
  if (!live)
    return;
  params_give_back(live);
  if (cuda->gpu->loss != PREM_CUDA_HELD) {
    prem_cuda_enter(cuda->gpu);
    prem_cuda_live_frames_free(live);
    cudaFreeHost(live->params);
    stamps_say(live);
    for (int64_t i = 0; i < live->allocations.count; ++i)
      cudaFree(((void **)live->allocations.items)[i]);
    cudaFreeHost(live->talk);
    if (live->serving)
      cudaStreamDestroy(live->serving);
    if (live->sending)
      cudaStreamDestroy(live->sending);
    if (live->fetching)
      cudaStreamDestroy(live->fetching);
  }
  pthread_mutex_destroy(&live->match_lock);
  free(live->allocations.items);
  free(live->known.items);
  free(live->blocks);
  free(live);
  cuda->live = NULL;
}

const prem_live_engine prem_cuda_live_engine = {.open = live_open,
                                                .start = live_start,
                                                .submit = prem_cuda_live_submit,
                                                .keep_frames = live_keep_frames,
                                                .fetch_there = live_fetch_there,
                                                .leave_memory = live_leave_memory,
                                                .take_memory = live_take_memory,
                                                .now_ns = live_now_ns,
                                                .wait = live_wait,
                                                .drain = live_drain,
                                                .tell = live_tell,
                                                .abort = live_abort,
                                                .is_over = live_is_over,
                                                .has_failed = live_has_failed,
                                                .heard_ns = live_heard_ns,
                                                .compare_clocks = live_compare_clocks,
                                                .changes_args = true,
                                                .finish = live_finish};
