/* SPDX-License-Identifier: Apache-2.0 */
/** For tests of live sessions: schedules, opening, constant frames. */
#ifndef TTPREM_TESTS_COMMON_LIVE_H
#define TTPREM_TESTS_COMMON_LIVE_H

#include "tests/common/running.h"

#include "runtime/session/live.h"

/** One block that adds 1 to eight numbers every `period_ns`: fetches at 0 to 100, computes until
 * 300, stores until 400 times `unit`. `task` and `live` are more settings. */
static inline const char *increment_file(int64_t period_ns, int64_t unit, const char *task,
                                         const char *live) {
  return text("version = 1; name = \"live\"; platform: { blocks = 1; };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
              "    period_ns = %lldL; arrays: { in = \"x\"; out = \"y\"; }; %s"
              "    prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
              "    writeback: { wcet_ns = %lldL; }; } );"
              "live: { %s };"
              "plan: { hyperperiod_ns = %lldL; runs = ("
              "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; },"
              "  { task = \"a\"; phase = \"compute\"; start_ns = %lldL; },"
              "  { task = \"a\"; phase = \"writeback\"; start_ns = %lldL; } ); };",
              (long long)period_ns, task, (long long)(100 * unit), (long long)(200 * unit),
              (long long)(100 * unit), live, (long long)period_ns, (long long)(100 * unit),
              (long long)(300 * unit));
}

/** Open a schedule that the checker accepts. */
static inline prem_live *open_live_on(const char *backend, const prem_schedule *schedule) {
  prem_diag *diag = prem_diag_new();
  prem_live *live = NULL;
  if (prem_live_open(prem_backend_find(backend), schedule, &live, diag) != PREM_OK)
    abort_with("open", diag);
  prem_diag_free(diag);
  return live;
}

static inline void start_live(prem_live *live, const prem_live_request *request) {
  prem_diag *diag = prem_diag_new();
  if (prem_live_start(live, request, diag) != PREM_OK)
    abort_with("start", diag);
  prem_diag_free(diag);
}

static inline void fill_frame(const prem_frame *frame, float value) {
  for (int64_t row = 0; row < frame->shape[0] * frame->shape[1] * frame->shape[2]; ++row)
    for (int64_t i = 0; i < frame->shape[3]; ++i)
      ((float *)((char *)frame->data + row * frame->pitch_bytes[2]))[i] = value;
}

/** The number that a whole frame has. */
static inline float frame_value(const prem_frame *frame) {
  const float first = *(float *)frame->data;
  int64_t others = 0;
  for (int64_t row = 0; row < frame->shape[0] * frame->shape[1] * frame->shape[2]; ++row)
    for (int64_t i = 0; i < frame->shape[3]; ++i)
      others += ((float *)((char *)frame->data + row * frame->pitch_bytes[2]))[i] != first;
  ck_assert_msg(others == 0, "frame %llu is torn", (unsigned long long)frame->number);
  return first;
}

/** Acquire, fill, submit: a buffer may become free until then. */
static inline prem_status feed_until(prem_live *live, int32_t stream, float value, int64_t until_ns,
                                     prem_frame *out) {
  prem_frame frame;
  prem_status status = prem_live_acquire(live, stream, until_ns, &frame, NULL);
  if (status != PREM_OK)
    return status;
  fill_frame(&frame, value);
  status = prem_live_submit(live, &frame, NULL);
  if (out)
    *out = frame;
  return status;
}

/** The same without waiting. */
static inline prem_status feed(prem_live *live, int32_t stream, float value, prem_frame *out) {
  return feed_until(live, stream, value, 0, out);
}

/** A frame in hand is made of these, and of no other input. */
static inline void assert_inputs(const prem_live *live, const prem_frame *frame,
                                 const prem_frame_input *expected, int32_t count) {
  prem_frame_input found[PREM_MAX_LIVE_PORTS];
  ck_assert_int_eq(prem_live_inputs(live, frame, found, PREM_MAX_LIVE_PORTS), count);
  for (int32_t i = 0; i < count; ++i) {
    ck_assert_int_eq(found[i].stream, expected[i].stream);
    ck_assert_uint_eq(found[i].number, expected[i].number);
    ck_assert_int_eq(found[i].captured_ns, expected[i].captured_ns);
  }
}

/** Wait for a frame, look at its number, give it back. */
static inline prem_status fetch(prem_live *live, int32_t stream, int64_t until_ns, float *value,
                                prem_frame *out) {
  prem_frame frame;
  const prem_status status = prem_live_wait(live, stream, until_ns, &frame, NULL);
  if (status != PREM_OK)
    return status;
  *value = frame_value(&frame);
  if (out)
    *out = frame;
  return prem_live_release(live, &frame, NULL);
}

#endif
