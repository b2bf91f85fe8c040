/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions: what an application calls. The rules are the courier's, time is the backend's;
 * here are the checks of what the caller does, and the frames that he has in hand. */
#include "ttprem/live.h"

#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "runtime/core/recorder.h"
#include "runtime/session/live.h"
#include "runtime/session/live_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- refusing ------------------------------------------------------------------------------- */

prem_status prem_live_refuse(prem_diag *diag, const char *call, const char *format, ...) {
  char reason[320];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, call, "%s", reason);
}

static const char *name_of(const prem_live *live, int32_t stream) {
  return live->schedule->arrays[live->schedule->live[stream].array].name;
}

static prem_status judge_stream(const prem_live *live, int32_t stream, bool is_output,
                                const char *call, prem_diag *diag) {
  if (stream < 0 || stream >= live->schedule->live_count)
    return prem_live_refuse(diag, call, "there is no stream %d; prem_live_find() has their numbers",
                            stream);
  if (live->schedule->live[stream].is_output != is_output)
    return prem_live_refuse(diag, call, "'%s' is an %s; %s", name_of(live, stream),
                            is_output ? "input" : "output",
                            is_output ? "acquire and submit its frames" : "wait for its frames");
  return PREM_OK;
}

/* ---- where it stands ------------------------------------------------------------------------ */

const prem_live_engine *prem_live_engine_of(const prem_live *live) {
  return live->backend->live;
}

bool prem_live_is_over(const prem_live *live) {
  if (!atomic_load(&live->has_started))
    return atomic_load(&live->is_aborted);
  return prem_live_engine_of(live)->is_over(live->state);
}

static bool has_failed(const prem_live *live) {
  return atomic_load(&live->has_started) && prem_live_engine_of(live)->has_failed &&
         prem_live_engine_of(live)->has_failed(live->state);
}

static bool is_last_known(const prem_live *live) {
  return prem_word_far(&live->courier->face->ending.value) != 0;
}

static bool takes_no_frames(const prem_live *live) {
  return atomic_load(&live->is_closing) || atomic_load(&live->is_refusing) || is_last_known(live) ||
         prem_live_is_over(live);
}

prem_status prem_live_ended(const prem_live *live) {
  return has_failed(live) ? PREM_ERR_MACHINE : PREM_ERR_ENDED;
}

void prem_live_tell(const prem_live *live) {
  if (atomic_load(&live->has_started))
    prem_live_engine_of(live)->tell(live->state);
}

/* A process that was forked has no threads of it, and nothing on a GPU: all that is its parent's.
 */
static bool is_inherited(const prem_live *live) {
  return live->process != getpid();
}

/* The count is no part of what a const session promises to leave alone. */
bool prem_live_enter(const prem_live *live) {
  atomic_fetch_add(&((prem_live *)live)->callers, 1);
  if (!atomic_load(&live->is_closing) && !is_inherited(live))
    return true;
  prem_live_leave(live, PREM_OK);
  return false;
}

prem_status prem_live_leave(const prem_live *live, prem_status status) {
  atomic_fetch_sub(&((prem_live *)live)->callers, 1);
  return status;
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
    return prem_fail(
        diag, PREM_ERR_INVALID, 47, port->place, "live.outputs.publish_ns",
        "results of '%s' are shown %lld ns after a release, but are made every %lld ns: "
        "%d buffers do not last so long; give more, at most %d, or show them earlier",
        schedule->arrays[port->array].name, (long long)port->publish_ns, (long long)period_ns,
        port->buffers, PREM_MAX_LIVE_BUFFERS);
  }
  return PREM_OK;
}

static prem_status judge_schedule(const prem_backend *backend, const prem_schedule *schedule,
                                  prem_diag *diag) {
  if (!schedule->bound)
    return prem_live_refuse(diag, schedule->name,
                            "the schedule is not bound to its kernels; call "
                            "prem_prepare()");
  if (!schedule->plan)
    return prem_live_refuse(diag, schedule->name, "the schedule has no plan; call prem_prepare()");
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].best_effort)
      return prem_fail(diag, PREM_ERR_INVALID, 55, schedule->tasks[t].place,
                       schedule->tasks[t].name,
                       "is best effort, and a live session has no gate yet: leave the task out, or "
                       "its class");
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
    status = prem_program_new_live(live->schedule, &live->program, diag);
  if (!status)
    status = prem_arrays_new_live(live->schedule, &live->arrays, diag);
  if (!status)
    status = prem_courier_new(live->program, &live->courier);
  if (!status)
    status = live->backend->open(live->program, live->arrays, &live->machine, &live->state, diag);
  if (!status && live->backend->live->open)
    status = live->backend->live->open(live->state, live->courier, diag);
  return status;
}

static void free_parts(prem_live *live) {
  if (live->state)
    live->backend->close(live->state);
  prem_live_free_args(live);
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
  live->process = getpid();

  status = open_parts(live, diag);
  if (status)
    free_parts(live);
  else
    *out = live;
  return status;
}

uint32_t prem_live_count_ahead(const prem_live *live, uint32_t *begun) {
  const uint64_t word = prem_word_far(&live->courier->face->ahead.value);
  *begun = (uint32_t)(word >> 32);
  return (uint32_t)word;
}

void prem_live_fold_at(prem_live *live, uint32_t phases) {
  prem_courier_fold_at(live->courier, phases);
}

void prem_live_count_from(prem_live *live, int64_t hyperperiod, uint64_t frame) {
  prem_courier_count_from(live->courier, hyperperiod, frame);
}

/* ---- memory of the application --------------------------------------------------------------- */

/* May the frames of a stream still be given another place? */
static prem_status judge_place(const prem_live *live, int32_t stream, const char *call,
                               prem_diag *diag) {
  if (stream < 0 || stream >= live->schedule->live_count)
    return prem_live_refuse(diag, call, "there is no stream %d; prem_live_find() has their numbers",
                            stream);
  if (atomic_load(&live->has_started) || live->hands[stream].acquired != 0)
    return prem_live_refuse(diag, call,
                            "frames of '%s' are in use; %s before the first acquire and the start",
                            name_of(live, stream), call);
  return PREM_OK;
}

/* Have two frames of rows at the same distance bytes in common? They may lie between each other's
 * rows. */
static bool share_bytes(const void *one, const void *other, const prem_storage *storage,
                        int64_t pitch_bytes) {
  const uintptr_t a = (uintptr_t)one, b = (uintptr_t)other, apart = a > b ? a - b : b - a;
  const uintptr_t pitch = (uintptr_t)pitch_bytes,
                  rows = (uintptr_t)(storage->shape[0] * storage->shape[1] * storage->shape[2]),
                  row_bytes = (uintptr_t)(storage->shape[3] * storage->element_bytes);
  const uintptr_t row = apart / pitch, within = apart % pitch;
  return (row < rows && within < row_bytes) || (row + 1 < rows && pitch - within < row_bytes);
}

static prem_status judge_apart(const prem_live *live, int32_t stream, void *const *buffers,
                               int32_t count, int64_t pitch_bytes, prem_diag *diag) {
  const prem_storage *storage = &live->arrays->storage[live->schedule->live[stream].array];
  for (int32_t b = 1; b < count; ++b)
    for (int32_t a = 0; a < b; ++a)
      if (share_bytes(buffers[a], buffers[b], storage, pitch_bytes))
        return prem_live_refuse(diag, "adopt", "buffers %d and %d of '%s' lie over each other", a,
                                b, name_of(live, stream));
  return PREM_OK;
}

static prem_status judge_memory(const prem_live *live, int32_t stream, void *const *buffers,
                                int32_t count, int64_t pitch_bytes, prem_diag *diag) {
  const prem_status status = judge_place(live, stream, "adopt", diag);
  if (status != PREM_OK)
    return status;
  const prem_live_port *port = &live->schedule->live[stream];
  const prem_storage *storage = &live->arrays->storage[port->array];
  const int64_t row_bytes = storage->shape[3] * storage->element_bytes;
  if (live->places[stream].first)
    return prem_live_refuse(diag, "adopt", "frames of '%s' stay on the GPU", name_of(live, stream));
  if (count != port->buffers)
    return prem_live_refuse(diag, "adopt", "%d buffers of '%s', which has %d; give as many", count,
                            name_of(live, stream), port->buffers);
  if (pitch_bytes < row_bytes || pitch_bytes % storage->element_bytes != 0)
    return prem_live_refuse(
        diag, "adopt",
        "rows of '%s' are %lld bytes long, %lld from row to row is no room for them; give "
        "a multiple of %d at least as large",
        name_of(live, stream), (long long)row_bytes, (long long)pitch_bytes,
        storage->element_bytes);
  for (int32_t b = 0; b < count; ++b)
    if (!buffers[b] || (uintptr_t)buffers[b] % (uintptr_t)storage->element_bytes != 0)
      return prem_live_refuse(
          diag, "adopt", "buffer %d of '%s' is NULL, or not aligned to its elements of %d bytes", b,
          name_of(live, stream), storage->element_bytes);
  return judge_apart(live, stream, buffers, count, pitch_bytes, diag);
}

static prem_status adopt(prem_live *live, int32_t stream, void *const *buffers, int32_t count,
                         int64_t pitch_bytes, prem_diag *diag) {
  const prem_live_engine *engine = prem_live_engine_of(live);
  prem_status status = judge_memory(live, stream, buffers, count, pitch_bytes, diag);
  if (status != PREM_OK)
    return status;
  if (engine->leave_memory)
    engine->leave_memory(live->state, stream);
  status = prem_arrays_adopt(live->arrays, live->schedule->live[stream].array, buffers, count,
                             pitch_bytes);
  const prem_status taken =
      engine->take_memory ? engine->take_memory(live->state, stream, diag) : PREM_OK;
  return status ? status : taken;
}

prem_status prem_live_adopt(prem_live *live, int32_t stream, void *const *buffers, int32_t count,
                            int64_t pitch_bytes, prem_diag *diag) {
  return prem_live_enter(live)
             ? prem_live_leave(live, adopt(live, stream, buffers, count, pitch_bytes, diag))
             : PREM_ERR_ENDED;
}

static prem_status keep_on_device(prem_live *live, int32_t stream, prem_diag *diag) {
  const prem_live_engine *engine = prem_live_engine_of(live);
  const prem_status status = judge_place(live, stream, "keep_on_device", diag);
  if (status != PREM_OK)
    return status;
  if (live->arrays->storage[live->schedule->live[stream].array].adopted)
    return prem_live_refuse(diag, "keep_on_device",
                            "frames of '%s' lie in memory of the application",
                            name_of(live, stream));
  if (engine->keep_frames)
    engine->keep_frames(live->state, stream, &live->places[stream]);
  return PREM_OK;
}

prem_status prem_live_keep_on_device(prem_live *live, int32_t stream, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, keep_on_device(live, stream, diag))
                               : PREM_ERR_ENDED;
}

static prem_status keep_on_host(prem_live *live, int32_t stream, prem_diag *diag) {
  const prem_live_engine *engine = prem_live_engine_of(live);
  const prem_status status = judge_place(live, stream, "keep_on_host", diag);
  if (status != PREM_OK)
    return status;
  if (live->schedule->live[stream].is_output)
    return prem_live_refuse(diag, "keep_on_host", "'%s' is an output; of an input alone",
                            name_of(live, stream));
  if (live->places[stream].first)
    return prem_live_refuse(diag, "keep_on_host", "frames of '%s' stay on the GPU",
                            name_of(live, stream));
  return engine->fetch_there ? engine->fetch_there(live->state, stream, diag) : PREM_OK;
}

prem_status prem_live_keep_on_host(prem_live *live, int32_t stream, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, keep_on_host(live, stream, diag))
                               : PREM_ERR_ENDED;
}

/* ---- starting ------------------------------------------------------------------------------- */

static prem_status judge_request(const prem_live *live, const prem_live_request *request,
                                 prem_diag *diag) {
  if (atomic_load(&live->has_started) || atomic_load(&live->is_aborted))
    return prem_live_refuse(diag, "start",
                            "the session was started or stopped before; open another");
  if (!prem_mode_has_phases(request->mode) || !prem_backend_has_mode(live->backend, request->mode))
    return prem_live_refuse(diag, "start", "a live session runs in mode tt, free or lock");
  if (request->start_ns < 0 || request->start_ns > PREM_MAX_NS || request->submit_timeout_ns < 0 ||
      request->submit_timeout_ns > PREM_MAX_NS || request->stall_timeout_ns < 0 ||
      request->stall_timeout_ns > PREM_MAX_NS || request->silence_ns < 0 ||
      request->silence_ns > PREM_MAX_NS)
    return prem_live_refuse(diag, "start", "a time is below 0 or above 2^62 ns");
  if (request->trace && !prem_trace_is_of(request->trace, live->schedule))
    return prem_live_refuse(diag, "start", "the trace was made for another schedule");
  return PREM_OK;
}

enum { DEFAULT_SILENCE_NS = 1000000000 };

static prem_status start(prem_live *live, const prem_live_request *request, prem_diag *diag) {
  prem_status status = judge_request(live, request, diag);
  if (status)
    return status;
  status = prem_live_engine_of(live)->start(live->state, live->courier, request, diag);
  if (status) {
    atomic_store(&live->is_aborted, true);
    return status;
  }
  live->listens = request->events;
  live->silence_ns = request->silence_ns > 0 ? request->silence_ns : DEFAULT_SILENCE_NS;
  atomic_store(&live->has_started, true);
  prem_live_tell(live);
  return PREM_OK;
}

prem_status prem_live_start(prem_live *live, const prem_live_request *request, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, start(live, request, diag)) : PREM_ERR_ENDED;
}

int32_t prem_live_find(const prem_live *live, const char *array) {
  int32_t found = -1;
  if (!prem_live_enter(live))
    return found;
  for (int32_t s = 0; s < live->schedule->live_count && found < 0; ++s)
    if (strcmp(name_of(live, s), array) == 0)
      found = s;
  prem_live_leave(live, PREM_OK);
  return found;
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
  const prem_frame_place *place = &live->places[stream];
  if (!place->first)
    return;
  out->data = place->first + slot * place->slot_bytes;
  memcpy(out->pitch_bytes, place->pitch_bytes, sizeof out->pitch_bytes);
}

/* Why nothing came, where it is the caller's own doing: he holds all buffers of a stream, `slots`.
 * Once, where he asks again and again. */
static void say_held(const prem_live *live, int32_t stream, uint32_t slots, const char *call,
                     const char *remedy, prem_diag *diag) {
  const int32_t buffers = live->schedule->live[stream].buffers;
  char reason[PREM_NAME_BYTES + 64];
  if (slots != (UINT32_C(1) << buffers) - 1)
    return;
  snprintf(reason, sizeof reason, "you hold all %d buffers of '%s': %s", buffers,
           name_of(live, stream), remedy);
  const size_t said = prem_diag_count(diag);
  if (said == 0 || strcmp(prem_diag_at(diag, said - 1)->reason, reason) != 0)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, call, "%s", reason);
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
  w->slot = prem_channel_take_free(&w->live->courier->streams[w->stream].producer);
  return w->slot >= 0;
}

static prem_status acquire(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out) {
  waiting w = {.live = live, .stream = stream, .slot = -1};
  if (!prem_live_engine_of(live)->wait(live->state, has_buffer, &w, until_ns))
    return PREM_ERR_FULL;
  if (w.slot < 0)
    return prem_live_ended(live);
  live->hands[stream].acquired |= UINT32_C(1) << w.slot;
  describe_frame(live, stream, w.slot, out);
  return PREM_OK;
}

prem_status prem_live_acquire(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out,
                              prem_diag *diag) {
  if (!prem_live_enter(live))
    return PREM_ERR_ENDED;
  prem_status status = judge_stream(live, stream, false, "acquire", diag);
  if (status == PREM_OK)
    status = acquire(live, stream, until_ns, out);
  if (status == PREM_ERR_FULL)
    say_held(live, stream, live->hands[stream].acquired, "acquire", "submit or release one", diag);
  return prem_live_leave(live, status);
}

/* Is the frame one that was acquired? */
static prem_status judge_acquired(const prem_live *live, const prem_frame *frame, const char *call,
                                  prem_diag *diag) {
  prem_status status = judge_stream(live, frame->stream, false, call, diag);
  const uint32_t acquired = status ? 0 : live->hands[frame->stream].acquired;
  const bool is_slot = frame->buffer >= 0 && frame->buffer < PREM_MAX_LIVE_BUFFERS;
  if (!status && acquired == 0)
    return prem_live_refuse(diag, call,
                            "no buffer of '%s' is in hand; acquire one first, for each frame",
                            name_of(live, frame->stream));
  if (!status && !(is_slot && acquired >> frame->buffer & 1))
    return prem_live_refuse(diag, call,
                            "buffer %d of '%s' is not in hand; submit what was acquired",
                            frame->buffer, name_of(live, frame->stream));
  return status;
}

/* When a frame was taken, on the host's clock; a camera's may be a little ahead of it. One of
 * another clock would never be too old, or always. */
static prem_status judge_capture(const prem_live *live, const prem_frame *frame, prem_diag *diag) {
  enum { MAX_AHEAD_NS = 1000000000 };
  if (frame->captured_ns < 0)
    return prem_live_refuse(diag, "submit", "captured_ns of a frame of '%s' is below 0",
                            name_of(live, frame->stream));
  const int64_t ahead_ns = frame->captured_ns - prem_live_clock_ns(live);
  if (frame->captured_ns > 0 && ahead_ns > MAX_AHEAD_NS)
    return prem_live_refuse(diag, "submit",
                            "a frame of '%s' was captured %lld ns from now: captured_ns is an "
                            "instant of prem_live_now_ns(), of CLOCK_MONOTONIC",
                            name_of(live, frame->stream), (long long)ahead_ns);
  return PREM_OK;
}

static prem_status hand_on(prem_live *live, prem_frame *frame, const prem_note *note,
                           prem_diag *diag) {
  const prem_live_engine *engine = prem_live_engine_of(live);
  prem_producer *producer = &live->courier->streams[frame->stream].producer;
  prem_status status = PREM_OK;
  if (engine->submit)
    status = engine->submit(live->state, frame->stream, frame->buffer, note, &frame->number, diag);
  else
    frame->number = prem_channel_publish(producer, frame->buffer, note);
  prem_live_tell(live);
  return status;
}

static prem_status submit(prem_live *live, prem_frame *frame, prem_diag *diag) {
  prem_status status = judge_acquired(live, frame, "submit", diag);
  if (status == PREM_OK)
    status = judge_capture(live, frame, diag);
  if (status)
    return status;
  prem_producer *producer = &live->courier->streams[frame->stream].producer;
  live->hands[frame->stream].acquired &= ~(UINT32_C(1) << frame->buffer);
  if (takes_no_frames(live)) {
    prem_channel_put_back(producer, frame->buffer);
    return prem_live_ended(live);
  }
  if (frame->captured_ns == 0)
    frame->captured_ns = prem_live_clock_ns(live);
  const prem_note note = {.captured_ns = frame->captured_ns};
  return hand_on(live, frame, &note, diag);
}

prem_status prem_live_submit(prem_live *live, prem_frame *frame, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, submit(live, frame, diag)) : PREM_ERR_ENDED;
}

static bool has_frame(void *of) {
  waiting *w = of;
  prem_consumer *consumer = &w->live->courier->streams[w->stream].consumer;
  /* first, so that what was shown before the end is not passed over */
  const bool is_last_look = atomic_load(&w->live->is_closing) || prem_live_is_over(w->live);
  if (prem_channel_has_new(consumer))
    w->slot = prem_channel_take(consumer, &w->number);
  return w->slot >= 0 || is_last_look;
}

/* How far behind the instant of its note a result was handed on. That word comes right behind the
 * one that showed the frame. */
static int64_t behind_ns(const prem_stream_face *face, int32_t slot, uint64_t number) {
  enum { MAX_LOOKS = 100000 }; /* more would be a GPU that has failed meanwhile */
  for (int look = 0; look < MAX_LOOKS; ++look) {
    const uint64_t word = prem_word_far(&face->behind[slot]);
    if (word >> PREM_BEHIND_BITS == number + 1)
      return (int64_t)(word & PREM_MAX_BEHIND_NS);
  }
  return 0;
}

static prem_status wait_for_frame(prem_live *live, int32_t stream, int64_t until_ns,
                                  prem_frame *out) {
  waiting w = {.live = live, .stream = stream, .slot = -1};
  if (!prem_live_engine_of(live)->wait(live->state, has_frame, &w, until_ns))
    return PREM_ERR_TIMEOUT;
  if (w.slot < 0)
    return prem_live_ended(live);
  hand *has = &live->hands[stream];
  const prem_stream_face *face = live->courier->streams[stream].face;
  const prem_note *note = &face->channel.note[w.slot];
  has->held |= 1U << w.slot;
  has->number[w.slot] = w.number;
  describe_frame(live, stream, w.slot, out);
  out->number = w.number;
  out->captured_ns = note->captured_ns;
  out->published_ns = note->published_ns;
  if (note->flags & PREM_NOTE_PROMISED)
    out->published_ns += behind_ns(face, w.slot, w.number);
  out->job = note->job;
  out->operating_mode = note->mode;
  out->input = note->input;
  out->flags = note->flags & ~(uint32_t)PREM_NOTE_PROMISED;
  return PREM_OK;
}

prem_status prem_live_wait(prem_live *live, int32_t stream, int64_t until_ns, prem_frame *out,
                           prem_diag *diag) {
  if (!prem_live_enter(live))
    return PREM_ERR_ENDED;
  prem_status status = judge_stream(live, stream, true, "wait", diag);
  if (status == PREM_OK)
    status = wait_for_frame(live, stream, until_ns, out);
  if (status == PREM_ERR_TIMEOUT)
    say_held(live, stream, live->hands[stream].held, "wait", "release one", diag);
  return prem_live_leave(live, status);
}

static bool is_held(const prem_live *live, const prem_frame *frame) {
  const hand *has = &live->hands[frame->stream];
  return frame->buffer >= 0 && frame->buffer < PREM_MAX_LIVE_BUFFERS &&
         (has->held >> frame->buffer & 1) && has->number[frame->buffer] == frame->number;
}

static int32_t list_inputs(const prem_live *live, const prem_frame *frame, prem_frame_input *out,
                           int32_t room) {
  const int32_t s = frame->stream;
  if (s < live->schedule->live_input_count || s >= live->schedule->live_count ||
      !is_held(live, frame))
    return 0;
  const prem_stream *sink = &live->courier->streams[s];
  const prem_live_task *writer = &live->courier->tasks[sink->writer];
  const prem_channel *channel = &sink->face->channel;
  int32_t count = 0;
  for (int32_t g = 0; g < writer->gate_count; ++g) {
    const int32_t source = writer->gates[g].source;
    if (g > 0 && source == writer->gates[g - 1].source)
      continue;
    if (count++ >= room)
      continue;
    const prem_note *note = &channel->note[frame->buffer];
    const prem_input_note *input = &channel->inputs[frame->buffer][source];
    out[count - 1] = sink->has_inputs
                         ? (prem_frame_input){source, input->number, input->captured_ns}
                         : (prem_frame_input){source, note->input, note->captured_ns};
  }
  return count;
}

int32_t prem_live_inputs(const prem_live *live, const prem_frame *frame, prem_frame_input *out,
                         int32_t room) {
  if (!prem_live_enter(live))
    return 0;
  const int32_t count = list_inputs(live, frame, out, room);
  prem_live_leave(live, PREM_OK);
  return count;
}

static prem_status release_output(prem_live *live, const prem_frame *frame, prem_diag *diag) {
  hand *has = &live->hands[frame->stream];
  if (!is_held(live, frame))
    return prem_live_refuse(diag, "release", "frame %llu of '%s' is not in hand; release each once",
                            (unsigned long long)frame->number, name_of(live, frame->stream));
  has->held &= ~(1U << frame->buffer);
  prem_channel_release(&live->courier->streams[frame->stream].consumer, frame->buffer);
  prem_live_tell(live);
  return PREM_OK;
}

static prem_status release(prem_live *live, const prem_frame *frame, prem_diag *diag) {
  const bool is_stream = frame->stream >= 0 && frame->stream < live->schedule->live_count;
  if (is_stream && live->schedule->live[frame->stream].is_output)
    return release_output(live, frame, diag);
  const prem_status status = judge_acquired(live, frame, "release", diag);
  if (status)
    return status;
  live->hands[frame->stream].acquired &= ~(UINT32_C(1) << frame->buffer);
  prem_channel_put_back(&live->courier->streams[frame->stream].producer, frame->buffer);
  return PREM_OK;
}

prem_status prem_live_release(prem_live *live, const prem_frame *frame, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, release(live, frame, diag)) : PREM_ERR_ENDED;
}

/* ---- looking -------------------------------------------------------------------------------- */

static prem_live_phase phase_of(const prem_live *live) {
  if (prem_live_is_over(live))
    return PREM_LIVE_ENDED;
  if (!atomic_load(&live->has_started))
    return PREM_LIVE_OPEN;
  return atomic_load(&live->is_refusing) || is_last_known(live) ? PREM_LIVE_DRAINING
                                                                : PREM_LIVE_RUNNING;
}

prem_live_end prem_live_end_of(const prem_live *live) {
  if (!prem_live_is_over(live))
    return PREM_LIVE_NOT_ENDED;
  if (has_failed(live))
    return PREM_LIVE_FAILED;
  const prem_live_end end = (prem_live_end)prem_word_far(&live->courier->face->end.value);
  if (end == PREM_LIVE_NOT_ENDED)
    return PREM_LIVE_STOPPED;
  /* a courier that hears nothing drains as if it were asked to */
  return end == PREM_LIVE_STOPPED && !atomic_load(&live->is_asked) ? PREM_LIVE_SILENT : end;
}

static void look(const prem_live *live, prem_live_state *out) {
  const prem_courier *courier = live->courier;
  *out = (prem_live_state){.phase = phase_of(live),
                           .end = prem_live_end_of(live),
                           .now_ns = prem_live_clock_ns(live),
                           .hyperperiods = (int64_t)prem_word_far(&courier->face->completed.value) -
                                           courier->first_hyperperiod,
                           .overruns = (int64_t)prem_word_far(&courier->face->overruns.value)};
  const uint64_t mode = prem_word_far(&courier->face->mode.value);
  out->operating_mode = (int32_t)(mode & 0xFF);
  out->mode_from = (int64_t)(mode >> 8);
  out->snapshot = (int64_t)prem_word_far(&courier->face->snapshot.value);
  out->heard_ns = prem_live_heard_ns(live);
  if (atomic_load(&live->has_started)) {
    out->zero_ns = courier->base_ns;
    out->start_ns = courier->base_ns + courier->start_ns;
  }
  for (int32_t t = 0; courier->leaves_out_jobs && t < courier->task_count; ++t) {
    prem_live_task_counts counts;
    prem_courier_count_task(courier, t, &counts);
    out->skipped += (int64_t)counts.skipped;
    out->aborted += (int64_t)counts.aborted;
  }
}

void prem_live_look(const prem_live *live, prem_live_state *out) {
  *out = (prem_live_state){.phase = PREM_LIVE_ENDED, .end = PREM_LIVE_STOPPED};
  if (!prem_live_enter(live))
    return;
  look(live, out);
  prem_live_leave(live, PREM_OK);
}

void prem_live_count(const prem_live *live, int32_t stream, prem_live_counts *out) {
  *out = (prem_live_counts){0};
  if (!prem_live_enter(live))
    return;
  prem_courier_count(live->courier, stream, out);
  prem_live_leave(live, PREM_OK);
}

void prem_live_count_task(const prem_live *live, int32_t task, prem_live_task_counts *out) {
  *out = (prem_live_task_counts){0};
  if (!prem_live_enter(live))
    return;
  prem_courier_count_task(live->courier, task, out);
  prem_live_leave(live, PREM_OK);
}

int64_t prem_live_clock_ns(const prem_live *live) {
  return prem_live_engine_of(live)->now_ns(live->state);
}

int64_t prem_live_now_ns(const prem_live *live) {
  if (!prem_live_enter(live))
    return prem_host_clock_ns(); /* a simulator's has one thread, so it is none */
  const int64_t now_ns = prem_live_clock_ns(live);
  prem_live_leave(live, PREM_OK);
  return now_ns;
}

static bool is_closing(void *of) {
  return atomic_load(&((prem_live *)of)->is_closing);
}

void prem_live_sleep_until(prem_live *live, int64_t host_ns) {
  if (!prem_live_enter(live))
    return;
  prem_live_engine_of(live)->wait(live->state, is_closing, live, host_ns);
  prem_live_leave(live, PREM_OK);
}

/* ---- stopping ------------------------------------------------------------------------------- */

static bool has_ended(void *of) {
  return prem_live_is_over(of);
}

static bool has_ended_or_closes(void *of) {
  return has_ended(of) || is_closing(of);
}

static void ask_to_stop(prem_live *live, bool drain) {
  if (!drain || !is_last_known(live))
    atomic_store(&live->is_asked, true);
  atomic_store(&live->is_refusing, true);
  if (drain && prem_live_engine_of(live)->drain)
    prem_live_engine_of(live)->drain(live->state);
  else
    prem_word_set_far(&live->courier->face->request.value, PREM_COURIER_DRAIN);
  if (drain) {
    prem_live_tell(live);
  } else {
    atomic_store(&live->is_aborted, true);
    prem_live_engine_of(live)->abort(live->state);
  }
}

static prem_status stop(prem_live *live, bool drain, int64_t until_ns, bool (*is_met)(void *of),
                        prem_diag *diag) {
  if (!atomic_load(&live->has_started)) {
    atomic_store(&live->is_aborted, true);
    return PREM_OK;
  }
  if (!prem_live_is_over(live)) {
    ask_to_stop(live, drain);
    const bool is_in_time = prem_live_engine_of(live)->wait(live->state, is_met, live, until_ns);
    if (!prem_live_is_over(live))
      return is_in_time ? PREM_ERR_ENDED : PREM_ERR_TIMEOUT;
  }
  if (!live->has_finished)
    live->outcome = prem_live_engine_of(live)->finish(live->state, diag);
  live->has_finished = true;
  return live->outcome;
}

prem_status prem_live_stop(prem_live *live, bool drain, int64_t until_ns, prem_diag *diag) {
  return prem_live_enter(live)
             ? prem_live_leave(live, stop(live, drain, until_ns, has_ended_or_closes, diag))
             : PREM_ERR_ENDED;
}

/* First no call begins, then none is left; then nobody but this thread knows the session. */
void prem_live_close(prem_live *live) {
  enum { NAP_NS = 100000 };
  if (!live || is_inherited(live))
    return;
  atomic_store(&live->is_closing, true);
  while (atomic_load(&live->callers) > 0)
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  while (stop(live, false, prem_live_clock_ns(live) + 1000000000, has_ended, NULL) ==
         PREM_ERR_TIMEOUT) {
    /* the watchdog gives up a compute that does not return */
  }
  free_parts(live);
}
