/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live sessions on the GPU: the courier's kernel and the executive are launched, and a thread of
 * the session's watches over both. It tells the courier that the host lives and what time it is,
 * goes on with large outputs, and ends the session when all blocks and the courier have left.
 */
#include "runtime/cuda/host/live.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "runtime/cuda/host/machine_facts.h"

enum {
  LOOK_NS = 5000000,        /* between two looks at the GPU by copies and queries */
  SLACK_NS = 100000,        /* a hyperperiod is permitted so long before it begins */
  SPIN_NS = 200000,         /* a host that waits looks without a pause for so long */
  NAP_NS = 20000,           /* and then between two looks */
  CLOCK_NS = 20000000,      /* between two comparisons of the clocks, a us of drift at most */
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

/* ---- clocks ---------------------------------------------------------------------------------- */

/* A question after the time that is under way. The answer lies between its two instants here. */
typedef struct clock_question {
  uint64_t number;
  int64_t asked_ns;
  int64_t next_ns;
} clock_question;

static void take_answer(prem_cuda_live *live, int64_t asked_ns, int64_t there_ns,
                        int64_t heard_ns) {
  pthread_mutex_lock(&live->match_lock);
  prem_clock_match_add(&live->match, asked_ns, there_ns, heard_ns,
                       live->cuda->device.launch.clock_step_ns);
  pthread_mutex_unlock(&live->match_lock);
}

static void compare_clocks(prem_cuda_live *live, clock_question *question, int64_t s_ns) {
  volatile prem_courier_talk *talk = live->talk;
  const int64_t now = prem_host_clock_ns();
  if (question->asked_ns > 0 && talk->pong == question->number) {
    atomic_store_explicit(&live->heard_ns, now, memory_order_relaxed);
    take_answer(live, question->asked_ns, talk->pong_ns, now);
    talk->base_ns = s_ns - prem_clock_match_offset_ns(&live->match);
    question->asked_ns = 0;
  } else if (question->asked_ns == 0 && now >= question->next_ns) {
    question->next_ns = now + CLOCK_NS;
    question->asked_ns = prem_host_clock_ns();
    talk->ping = ++question->number;
  }
}

/* ---- the session's thread -------------------------------------------------------------------- */

static void leave(prem_cuda_live *live) {
  __atomic_store_n(&live->talk->leave, 1, __ATOMIC_RELEASE);
}

/* @return whether a stream's kernel has ended; an error of the device ends all. */
static bool has_ended(prem_cuda_live *live, cudaStream_t stream) {
  const cudaError_t error = cudaStreamQuery(stream);
  if (error != cudaSuccess && error != cudaErrorNotReady)
    live->error = error;
  return error != cudaErrorNotReady;
}

/* Blocks are stopped where one has raised a fault, or the host wants it. */
static void stop_if_asked(prem_cuda_live *live, int64_t now, int64_t *look_ns) {
  if (live->stop_by_ns == INT64_MAX && atomic_load(&live->is_asked_to_leave)) {
    prem_cuda_stop_blocks(live->cuda);
    live->stop_by_ns = now + PREM_CUDA_LAST_GRACE_NS;
  }
  if (now < *look_ns)
    return;
  *look_ns = now + LOOK_NS;
  if (live->stop_by_ns == INT64_MAX && prem_cuda_has_to_end(live->cuda))
    live->stop_by_ns = now + PREM_CUDA_LAST_GRACE_NS;
}

/* All results are shown, and blocks and courier have left. */
static bool is_finished(prem_cuda_live *live, bool is_idle) {
  if (!has_ended(live, live->cuda->stream))
    return false;
  if (live->stop_by_ns != INT64_MAX || live->error != cudaSuccess)
    leave(live);
  return has_ended(live, live->serving) && (is_idle || live->stop_by_ns != INT64_MAX);
}

static void pause_for(bool is_idle, int64_t now, int64_t busy_until_ns) {
  if (is_idle && now > busy_until_ns)
    nap(NAP_NS);
  else
    sched_yield();
}

static void *watch(void *argument) {
  prem_cuda_live *live = argument;
  const int64_t s_ns = live->talk->s_ns;
  int64_t look_ns = prem_host_clock_ns() + LOOK_NS, busy_until_ns = 0;
  clock_question question = {0};
  pthread_setname_np(pthread_self(), "prem-live");
  live->error = prem_cuda_enter(live->cuda->gpu);
  while (live->error == cudaSuccess) {
    const int64_t now = prem_host_clock_ns();
    bool is_idle = true;
    ++*(volatile uint64_t *)&live->talk->host_beat;
    compare_clocks(live, &question, s_ns);
    const cudaError_t error = prem_cuda_live_fetch(live, &is_idle);
    if (error != cudaSuccess) {
      live->error = error;
      break;
    }
    busy_until_ns = is_idle ? busy_until_ns : now + SPIN_NS;
    stop_if_asked(live, now, &look_ns);
    if (is_finished(live, is_idle))
      break;
    if (now > live->stop_by_ns) {
      live->cuda->gpu->loss = PREM_CUDA_HELD;
      break;
    }
    pause_for(is_idle && question.asked_ns == 0, now, busy_until_ns);
  }
  leave(live);
  atomic_store(&live->has_failed,
               live->error != cudaSuccess || live->cuda->gpu->loss != PREM_CUDA_THERE ||
                   (live->stop_by_ns != INT64_MAX && !atomic_load(&live->is_asked_to_leave)));
  atomic_store(&live->is_over, true);
  return NULL;
}

/* ---- starting -------------------------------------------------------------------------------- */

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
  CUDA_TRY(cudaDeviceSynchronize());
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
  take_answer(live, now - width_ns, now + offset_ns - width_ns / 2, now);
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
  live->launch.is_near = live->launch.image_bytes <= PREM_DEVICE_NEAR_BYTES;
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
  const int64_t give_up_ns = prem_host_clock_ns() + 3 * (int64_t)PREM_CUDA_RESIDENT_NS;
  while (__atomic_load_n(&live->talk->s_ns, __ATOMIC_ACQUIRE) == 0) {
    if (has_ended(live, live->cuda->stream) || prem_host_clock_ns() > give_up_ns) {
      if (live->error != cudaSuccess)
        return prem_cuda_say_broken(live->cuda, live->mode, live->engine, live->error, diag);
      prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                    "not all %d blocks became resident within %d ms: another program holds the GPU",
                    live->cuda->program->block_count, PREM_CUDA_RESIDENT_NS / 1000000);
      return PREM_ERR_MACHINE;
    }
    nap(NAP_NS);
  }
  return PREM_OK;
}

/* When the first hyperperiod begins, from S. */
static prem_status settle_start(prem_cuda_live *live, const prem_live_request *request,
                                int64_t base_ns, int64_t *start_ns, prem_diag *diag) {
  const int64_t lead_ns = live->courier->trigger < 0 ? live->courier->max_lead_ns : 0;
  const int64_t min_ns = prem_max_i64(prem_host_clock_ns(), base_ns) + lead_ns;
  *start_ns = (request->start_ns ? request->start_ns : min_ns + 2 * SLACK_NS) - base_ns;
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
  const int error = pthread_create(&live->thread, NULL, watch, live);
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
  leave(live);
  while (!has_ended(live, live->cuda->stream) || !has_ended(live, live->serving)) {
    if (prem_host_clock_ns() > give_up_ns) {
      live->cuda->gpu->loss = PREM_CUDA_HELD;
      return;
    }
    nap(NAP_NS);
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
                     &(prem_courier_setup){.request = request, .slack_ns = SLACK_NS});
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

static prem_status start(prem_cuda_live *live, const prem_live_request *request, prem_diag *diag) {
  prem_cuda *cuda = live->cuda;
  prem_status status = judge_memory(live, diag);
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
  status = prem_cuda_report(make_ready(live), diag, "making a live session ready on the GPU");
  if (status != PREM_OK)
    return status;
  status = prem_cuda_report(launch_both(live, request), diag, "starting a live session on the GPU");
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
  cudaError_t error;
  CUDA_TRY(prem_cuda_enter(live->cuda->gpu));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->serving, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->sending, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&live->fetching, cudaStreamNonBlocking));
  CUDA_TRY(cudaHostAlloc((void **)&live->talk, sizeof *live->talk, cudaHostAllocMapped));
  memset(live->talk, 0, sizeof *live->talk);
  CUDA_TRY(params_new(live));
  CUDA_TRY(prem_cuda_live_frames_new(live));
fail:
  return error;
}

static prem_status live_open(void *state, prem_courier *courier, prem_diag *diag) {
  prem_cuda *cuda = state;
  const prem_status status = judge_streams(courier, diag);
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
  return prem_cuda_report(open_parts(cuda->live), diag, "making the frames known to the GPU");
}

static void live_keep_frames(void *state, int32_t stream, prem_frame_place *out) {
  prem_cuda_live *live = live_of(state);
  (void)prem_cuda_enter(live->cuda->gpu);
  prem_cuda_live_keep_frames(live, stream, out);
}

static void live_leave_memory(void *state, int32_t stream) {
  prem_cuda_live *live = live_of(state);
  if (prem_cuda_enter(live->cuda->gpu) == cudaSuccess)
    prem_cuda_live_leave_memory(live, stream);
}

static prem_status live_take_memory(void *state, int32_t stream, prem_diag *diag) {
  prem_cuda_live *live = live_of(state);
  cudaError_t error = prem_cuda_enter(live->cuda->gpu);
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

static prem_status live_start(void *state, prem_courier *courier, const prem_live_request *request,
                              prem_diag *diag) {
  prem_cuda *cuda = state;
  (void)courier;
  prem_status status = prem_cuda_is_usable(cuda->gpu, diag);
  if (status == PREM_OK)
    status = prem_cuda_report(prem_cuda_enter(cuda->gpu), diag, "choosing the GPU");
  if (status != PREM_OK)
    return status;
  cuda->live->mode = request->mode;
  return start(cuda->live, request, diag);
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
      nap(prem_min_i64(until_ns - now, NAP_NS));
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
  pthread_mutex_unlock(&live->match_lock);
  *out = (prem_live_clocks){.offset_ns = prem_clock_match_offset_ns(&now),
                            .bound_ns = prem_clock_match_bound_ns(&now),
                            .questions = (int64_t)now.questions,
                            .contradictions = (int64_t)now.contradictions};
}

static int64_t live_heard_ns(const void *state) {
  return atomic_load_explicit(&live_of(state)->heard_ns, memory_order_relaxed);
}

static bool live_has_failed(const void *state) {
  return atomic_load(&live_of(state)->has_failed);
}

/* A large frame of an input: its word is written behind its bytes. A small one behind it must not
 * come before it: the frame of a trigger belongs to those that were handed on before. */
static prem_status live_submit(void *state, int32_t stream, int32_t slot, const prem_note *note,
                               uint64_t *number, prem_diag *diag) {
  prem_cuda_live *live = live_of(state);
  prem_producer *producer = &live->courier->streams[stream].producer;
  *number = producer->next;
  if (!live->is_large[stream] && !prem_cuda_live_is_sending(live)) {
    prem_channel_publish(producer, slot, note);
    return PREM_OK;
  }
  cudaError_t error = prem_cuda_enter(live->cuda->gpu);
  if (error == cudaSuccess)
    error = prem_cuda_live_send(live, stream, slot, prem_channel_put_down(producer, slot, note));
  return prem_cuda_report(error, diag, "sending a frame to the GPU");
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
fail:
  return error;
}

static prem_status live_finish(void *state, prem_diag *diag) {
  prem_cuda *cuda = state;
  prem_cuda_live *live = cuda->live;
  pthread_join(live->thread, NULL);
  live->has_thread = false;
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

void prem_cuda_live_free(prem_cuda *cuda) {
  prem_cuda_live *live = cuda->live;
  if (!live)
    return;
  params_give_back(live);
  if (cuda->gpu->loss != PREM_CUDA_HELD) {
    prem_cuda_live_frames_free(live);
    cudaFreeHost(live->params);
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
                                                .submit = live_submit,
                                                .keep_frames = live_keep_frames,
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
