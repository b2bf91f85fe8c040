/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions: what an application calls. The rules are the courier's, time is the backend's;
 * here are the checks of what the caller does, and the frames that he has in hand. */
#include "ttprem/live.h"

#include "runtime/core/backend.h"
#include "runtime/session/live.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the application has in hand of a stream: its own thread's. */
typedef struct hand {
  int32_t acquired; /* input: a slot; -1: none */
  uint32_t held;    /* output: slots */
  uint64_t number[PREM_MAX_LIVE_BUFFERS];
} hand;

struct prem_live {
  const prem_backend *backend;
  const prem_schedule *schedule;
  prem_program *program;
  prem_arrays *arrays;
  prem_courier *courier;
  prem_machine machine;
  void *state; /* the backend's */
  hand hands[PREM_MAX_LIVE_PORTS];
  _Atomic bool has_started, is_refusing; /* is_refusing: asked to stop; no frames any more */
  _Atomic bool is_aborted;               /* without drain, or nothing was ever started */
  _Atomic bool is_closing;
  _Atomic int32_t callers; /* in a call that may wait */
  bool has_finished;       /* control thread: */
  prem_status outcome;
};

/* ---- refusing ------------------------------------------------------------------------------- */

PREM_PRINTF(3, 4)
static prem_status refuse(prem_diag *diag, const char *call, const char *format, ...) {
  char reason[320];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, call, "%s", reason);
  return PREM_ERR_ARGUMENT;
}

static const char *name_of(const prem_live *live, int32_t stream) {
  return live->schedule->arrays[live->schedule->live[stream].array].name;
}

static prem_status judge_stream(const prem_live *live, int32_t stream, bool is_output,
                                const char *call, prem_diag *diag) {
  if (stream < 0 || stream >= live->schedule->live_count)
    return refuse(diag, call, "there is no stream %d; prem_live_find() has their numbers", stream);
  if (live->schedule->live[stream].is_output != is_output)
    return refuse(diag, call, "'%s' is an %s; %s", name_of(live, stream),
                  is_output ? "input" : "output",
                  is_output ? "acquire and submit its frames" : "wait for its frames");
  return PREM_OK;
}

/* ---- where it stands ------------------------------------------------------------------------ */

static const prem_live_engine *engine_of(const prem_live *live) {
  return live->backend->live;
}

static bool is_over(const prem_live *live) {
  if (!atomic_load(&live->has_started))
    return atomic_load(&live->is_aborted);
  return engine_of(live)->is_over(live->state);
}

static bool has_failed(const prem_live *live) {
  return atomic_load(&live->has_started) && engine_of(live)->has_failed &&
         engine_of(live)->has_failed(live->state);
}

static bool is_last_known(const prem_live *live) {
  return atomic_load_explicit(&live->courier->last.value, memory_order_acquire) != UINT64_MAX;
}

static bool takes_no_frames(const prem_live *live) {
  return atomic_load(&live->is_closing) || atomic_load(&live->is_refusing) || is_last_known(live) ||
         is_over(live);
}

static prem_status ended(const prem_live *live) {
  return has_failed(live) ? PREM_ERR_MACHINE : PREM_ERR_ENDED;
}

/* Calls that may wait stand between these, so that close waits for them. False: it is closing. */
static bool enter(prem_live *live) {
  atomic_fetch_add(&live->callers, 1);
  if (!atomic_load(&live->is_closing))
    return true;
  atomic_fetch_sub(&live->callers, 1);
  return false;
}

static void leave(prem_live *live) {
  atomic_fetch_sub(&live->callers, 1);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* A buffer is in use from the release of its job until its result is shown, and longer. */
static prem_status judge_publishing(const prem_schedule *schedule, prem_diag *diag) {
  for (int32_t s = 0; s < schedule->live_count; ++s) {
    const prem_live_port *port = &schedule->live[s];
    if (!port->is_output || port->publish_ns == 0)
      continue;
    const prem_task *writer = &schedule->tasks[schedule->arrays[port->array].writer];
    const int64_t period_ns =
        writer->period_ns ? writer->period_ns : schedule->plan->hyperperiod_ns;
    if (port->publish_ns / period_ns < port->buffers)
      continue;
    prem_diag_add(diag, PREM_ERROR, 47, port->place, "live.outputs.publish_ns",
                  "results of '%s' are shown %lld ns after a release, but are made every %lld ns: "
                  "%d buffers do not last so long; give more, at most %d, or show them earlier",
                  schedule->arrays[port->array].name, (long long)port->publish_ns,
                  (long long)period_ns, port->buffers, PREM_MAX_LIVE_BUFFERS);
    return PREM_ERR_INVALID;
  }
  return PREM_OK;
}

static prem_status judge_schedule(const prem_backend *backend, const prem_schedule *schedule,
                                  prem_diag *diag) {
  if (!schedule->bound)
    return refuse(diag, schedule->name,
                  "the schedule is not bound to its kernels; call "
                  "prem_prepare()");
  if (!schedule->plan)
    return refuse(diag, schedule->name, "the schedule has no plan; call prem_prepare()");
  if (!backend->live) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "live sessions are not there on backend '%s' yet; use cpu or sim", backend->name);
    return PREM_ERR_UNAVAILABLE;
  }
  return judge_publishing(schedule, diag);
}

static prem_status open_parts(prem_live *live, prem_diag *diag) {
  prem_status status = prem_backend_probe(live->backend, &live->machine, diag);
  if (!status)
    status = prem_program_new(live->schedule, &live->program, diag);
  if (!status)
    status = prem_arrays_new_live(live->schedule, &live->arrays, diag);
  if (!status)
    status = prem_courier_new(live->program, &live->courier);
  if (!status)
    status = live->backend->open(live->program, live->arrays, &live->machine, &live->state, diag);
  return status;
}

static void free_parts(prem_live *live) {
  if (live->state)
    live->backend->close(live->state);
  prem_courier_free(live->courier);
  prem_arrays_free(live->arrays);
  prem_program_free(live->program);
  free(live);
}

prem_status prem_live_open(const prem_backend *backend, const prem_schedule *schedule,
                           prem_live **out, prem_diag *diag) {
  *out = NULL;
  prem_status status = judge_schedule(backend, schedule, diag);
  if (status)
    return status;
  prem_live *live = calloc(1, sizeof *live);
  if (!live)
    return PREM_ERR_MEMORY;
  live->backend = backend;
  live->schedule = schedule;
  for (int32_t s = 0; s < PREM_MAX_LIVE_PORTS; ++s)
    live->hands[s].acquired = -1;
  status = open_parts(live, diag);
  if (status)
    free_parts(live);
  else
    *out = live;
  return status;
}

void prem_live_count_from(prem_live *live, int64_t hyperperiod, uint64_t frame) {
  prem_courier_count_from(live->courier, hyperperiod, frame);
}

/* ---- starting ------------------------------------------------------------------------------- */

static prem_status judge_request(const prem_live *live, const prem_live_request *request,
                                 prem_diag *diag) {
  if (atomic_load(&live->has_started) || atomic_load(&live->is_aborted))
    return refuse(diag, "start", "the session was started or stopped before; open another");
  if (!prem_mode_has_phases(request->mode) || !prem_backend_has_mode(live->backend, request->mode))
    return refuse(diag, "start", "a live session runs in mode tt, free or lock");
  if (request->start_ns < 0 || request->start_ns > PREM_MAX_NS || request->submit_timeout_ns < 0 ||
      request->submit_timeout_ns > PREM_MAX_NS || request->stall_timeout_ns < 0)
    return refuse(diag, "start", "a time is below 0 or above 2^62 ns");
  if (request->trace && request->trace->task_count != live->schedule->task_count)
    return refuse(diag, "start", "the trace was made for another schedule");
  return PREM_OK;
}

prem_status prem_live_start(prem_live *live, const prem_live_request *request, prem_diag *diag) {
  prem_status status = judge_request(live, request, diag);
  if (status)
    return status;
  status = engine_of(live)->start(live->state, live->courier, request, diag);
  if (status) {
    atomic_store(&live->is_aborted, true);
    return status;
  }
  atomic_store(&live->has_started, true);
  engine_of(live)->tell(live->state);
  return PREM_OK;
}

int32_t prem_live_find(const prem_live *live, const char *array) {
  for (int32_t s = 0; s < live->schedule->live_count; ++s)
    if (strcmp(name_of(live, s), array) == 0)
      return s;
  return -1;
}

/* ---- frames --------------------------------------------------------------------------------- */

static void describe_frame(const prem_live *live, int32_t stream, int32_t slot, prem_frame *out) {
  const int32_t array = live->schedule->live[stream].array;
  const prem_storage storage = prem_storage_slot(&live->arrays->storage[array], slot);
  *out = (prem_frame){.stream = stream, .buffer = slot, .data = storage.base};
  memcpy(out->shape, storage.shape, sizeof out->shape);
  out->pitch_bytes[2] = storage.pitch_bytes;
  out->pitch_bytes[1] = out->pitch_bytes[2] * storage.shape[2];
  out->pitch_bytes[0] = out->pitch_bytes[1] * storage.shape[1];
}

/* What a call waits for. */
typedef struct waiting {
  prem_live *live;
  int32_t stream, slot;
  uint64_t number;
} waiting;

static bool has_buffer(void *of) {
  waiting *w = of;
  if (takes_no_frames(w->live))
    return true;
  w->slot = prem_channel_take_free(&w->live->courier->streams[w->stream].channel);
  return w->slot >= 0;
}

static prem_status acquire(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out) {
  waiting w = {.live = live, .stream = stream, .slot = -1};
  if (!engine_of(live)->wait(live->state, has_buffer, &w, until_ns))
    return PREM_ERR_FULL;
  if (w.slot < 0)
    return ended(live);
  live->hands[stream].acquired = w.slot;
  describe_frame(live, stream, w.slot, out);
  return PREM_OK;
}

prem_status prem_live_acquire(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out,
                              prem_diag *diag) {
  prem_status status = judge_stream(live, stream, false, "acquire", diag);
  if (!status && live->hands[stream].acquired >= 0)
    status =
        refuse(diag, "acquire", "a buffer of '%s' is in hand already; submit or release it first",
               name_of(live, stream));
  if (status)
    return status;
  if (!enter(live))
    return PREM_ERR_ENDED;
  status = acquire(live, stream, until_ns, out);
  leave(live);
  return status;
}

/* Is the frame the one that was acquired? */
static prem_status judge_acquired(const prem_live *live, const prem_frame *frame, const char *call,
                                  prem_diag *diag) {
  prem_status status = judge_stream(live, frame->stream, false, call, diag);
  if (!status && live->hands[frame->stream].acquired < 0)
    status = refuse(diag, call, "no buffer of '%s' is in hand; acquire one first, for each frame",
                    name_of(live, frame->stream));
  else if (!status && live->hands[frame->stream].acquired != frame->buffer)
    status =
        refuse(diag, call, "buffer %d of '%s' is not the one that was acquired, %d", frame->buffer,
               name_of(live, frame->stream), live->hands[frame->stream].acquired);
  return status;
}

prem_status prem_live_submit(prem_live *live, prem_frame *frame, prem_diag *diag) {
  prem_status status = judge_acquired(live, frame, "submit", diag);
  if (status)
    return status;
  if (!enter(live))
    return PREM_ERR_ENDED;
  prem_channel *channel = &live->courier->streams[frame->stream].channel;
  live->hands[frame->stream].acquired = -1;
  if (takes_no_frames(live)) {
    prem_channel_put_back(channel, frame->buffer);
    status = ended(live);
  } else {
    if (frame->captured_ns == 0)
      frame->captured_ns = engine_of(live)->now_ns(live->state);
    const prem_note note = {.captured_ns = frame->captured_ns};
    frame->number = prem_channel_publish(channel, frame->buffer, &note);
    engine_of(live)->tell(live->state);
  }
  leave(live);
  return status;
}

static bool has_frame(void *of) {
  waiting *w = of;
  prem_channel *channel = &w->live->courier->streams[w->stream].channel;
  /* first, so that what was shown before the end is not passed over */
  const bool is_last_look = atomic_load(&w->live->is_closing) || is_over(w->live);
  if (prem_channel_has_new(channel))
    w->slot = prem_channel_take(channel, &w->number);
  return w->slot >= 0 || is_last_look;
}

static prem_status wait_for_frame(prem_live *live, int32_t stream, int64_t until_ns,
                                  prem_frame *out) {
  waiting w = {.live = live, .stream = stream, .slot = -1};
  if (!engine_of(live)->wait(live->state, has_frame, &w, until_ns))
    return PREM_ERR_TIMEOUT;
  if (w.slot < 0)
    return ended(live);
  hand *has = &live->hands[stream];
  const prem_note *note = &live->courier->streams[stream].channel.note[w.slot];
  has->held |= 1U << w.slot;
  has->number[w.slot] = w.number;
  describe_frame(live, stream, w.slot, out);
  out->number = w.number;
  out->captured_ns = note->captured_ns;
  out->published_ns = note->published_ns;
  out->job = note->job;
  out->input = note->input;
  out->flags = note->flags;
  return PREM_OK;
}

prem_status prem_live_wait(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out,
                           prem_diag *diag) {
  prem_status status = judge_stream(live, stream, true, "wait", diag);
  if (status)
    return status;
  if (!enter(live))
    return PREM_ERR_ENDED;
  status = wait_for_frame(live, stream, until_ns, out);
  leave(live);
  return status;
}

static prem_status release_output(prem_live *live, const prem_frame *frame, prem_diag *diag) {
  hand *has = &live->hands[frame->stream];
  const bool is_held = frame->buffer >= 0 && frame->buffer < PREM_MAX_LIVE_BUFFERS &&
                       (has->held >> frame->buffer & 1) &&
                       has->number[frame->buffer] == frame->number;
  if (!is_held)
    return refuse(diag, "release", "frame %llu of '%s' is not in hand; release each once",
                  (unsigned long long)frame->number, name_of(live, frame->stream));
  has->held &= ~(1U << frame->buffer);
  prem_channel_release(&live->courier->streams[frame->stream].channel, frame->buffer);
  engine_of(live)->tell(live->state);
  return PREM_OK;
}

prem_status prem_live_release(prem_live *live, const prem_frame *frame, prem_diag *diag) {
  const bool is_stream = frame->stream >= 0 && frame->stream < live->schedule->live_count;
  const bool is_output = is_stream && live->schedule->live[frame->stream].is_output;
  prem_status status = is_output ? PREM_OK : judge_acquired(live, frame, "release", diag);
  if (status)
    return status;
  if (!enter(live))
    return PREM_ERR_ENDED;
  if (is_output) {
    status = release_output(live, frame, diag);
  } else {
    live->hands[frame->stream].acquired = -1;
    prem_channel_put_back(&live->courier->streams[frame->stream].channel, frame->buffer);
  }
  leave(live);
  return status;
}

/* ---- looking -------------------------------------------------------------------------------- */

static prem_live_phase phase_of(const prem_live *live) {
  if (is_over(live))
    return PREM_LIVE_ENDED;
  if (!atomic_load(&live->has_started))
    return PREM_LIVE_OPEN;
  return atomic_load(&live->is_refusing) || is_last_known(live) ? PREM_LIVE_DRAINING
                                                                : PREM_LIVE_RUNNING;
}

static prem_live_end end_of(const prem_live *live) {
  if (!is_over(live))
    return PREM_LIVE_NOT_ENDED;
  if (has_failed(live))
    return PREM_LIVE_FAILED;
  const prem_live_end end =
      (prem_live_end)atomic_load_explicit(&live->courier->end.value, memory_order_relaxed);
  return end == PREM_LIVE_NOT_ENDED ? PREM_LIVE_STOPPED : end;
}

void prem_live_look(const prem_live *live, prem_live_state *out) {
  const prem_courier *courier = live->courier;
  *out = (prem_live_state){
      .phase = phase_of(live),
      .end = end_of(live),
      .now_ns = prem_live_now_ns(live),
      .hyperperiods =
          (int64_t)atomic_load_explicit(&courier->completed.value, memory_order_relaxed) -
          courier->first_hyperperiod,
      .overruns = (int64_t)atomic_load_explicit(&courier->overruns.value, memory_order_relaxed)};
}

void prem_live_count(const prem_live *live, int32_t stream, prem_live_counts *out) {
  prem_courier_count(live->courier, stream, out);
}

int64_t prem_live_now_ns(const prem_live *live) {
  return engine_of(live)->now_ns(live->state);
}

static bool is_closing(void *of) {
  return atomic_load(&((prem_live *)of)->is_closing);
}

void prem_live_sleep_until(prem_live *live, int64_t host_ns) {
  if (!enter(live))
    return;
  engine_of(live)->wait(live->state, is_closing, live, host_ns);
  leave(live);
}

/* ---- stopping ------------------------------------------------------------------------------- */

static bool has_ended(void *of) {
  return is_over(of);
}

static void ask_to_stop(prem_live *live, bool drain) {
  atomic_store(&live->is_refusing, true);
  atomic_store_explicit(&live->courier->request.value, PREM_COURIER_DRAIN, memory_order_release);
  if (drain) {
    engine_of(live)->tell(live->state);
  } else {
    atomic_store(&live->is_aborted, true);
    engine_of(live)->abort(live->state);
  }
}

static prem_status finish(prem_live *live, prem_diag *diag) {
  if (!live->has_finished)
    live->outcome = engine_of(live)->finish(live->state, diag);
  live->has_finished = true;
  return live->outcome;
}

prem_status prem_live_stop(prem_live *live, bool drain, int64_t until_ns, prem_diag *diag) {
  if (!atomic_load(&live->has_started)) {
    atomic_store(&live->is_aborted, true);
    return PREM_OK;
  }
  if (!is_over(live)) {
    ask_to_stop(live, drain);
    if (!engine_of(live)->wait(live->state, has_ended, live, until_ns))
      return PREM_ERR_TIMEOUT;
  }
  return finish(live, diag);
}

void prem_live_close(prem_live *live) {
  enum { NAP_NS = 100000 };
  if (!live)
    return;
  atomic_store(&live->is_closing, true);
  while (atomic_load(&live->callers) > 0)
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  if (atomic_load(&live->has_started)) {
    while (prem_live_stop(live, false, prem_live_now_ns(live) + 1000000000, NULL) ==
           PREM_ERR_TIMEOUT) {
      /* the watchdog gives up a compute that does not return */
    }
  }
  free_parts(live);
}
