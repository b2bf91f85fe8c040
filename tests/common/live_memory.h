/* SPDX-License-Identifier: Apache-2.0 */
/** Live frames in memory of the application, on any backend: nothing beside them is touched. */
#ifndef TTPREM_TESTS_COMMON_LIVE_MEMORY_H
#define TTPREM_TESTS_COMMON_LIVE_MEMORY_H

#include "tests/common/live.h"

enum { ROWS = 12, COLUMNS = 20, PITCH = 96, BUFFERS = 3, BYTES = ROWS * PITCH, GUARD = 0x5A };

static const char *const blurred =
    "version = 1; name = \"memory\"; platform: { blocks = 2;"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 12, 20 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 12, 20 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 2; tile = [ 5, 8 ];"
    "    period_ns = 1000000L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 2000L; "
    "};"
    "    compute: { wcet_ns = 2000L; }; writeback: { wcet_ns = 2000L; }; } );"
    "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; overflow = \"drop\"; } ); };";

/* A camera's: buffers here and there. */
typedef struct camera {
  unsigned char *at[BUFFERS];
} camera;

static inline camera camera_new(void) {
  camera of;
  for (int b = 0; b < BUFFERS; ++b) {
    of.at[b] = malloc(BYTES + 4);
    ck_assert_ptr_nonnull(of.at[b]);
    memset(of.at[b], GUARD, BYTES + 4);
    of.at[b] += 4; /* floats need no more */
  }
  return of;
}

static inline void camera_free(camera *of) {
  for (int b = 0; b < BUFFERS; ++b)
    free(of->at[b] - 4);
}

/* Behind each row, and before the buffer. */
static inline void assert_guarded(const camera *of) {
  for (int b = 0; b < BUFFERS; ++b) {
    for (int i = -4; i < 0; ++i)
      ck_assert_int_eq(of->at[b][i], GUARD);
    for (int row = 0; row < ROWS; ++row)
      for (int i = COLUMNS * 4; i < PITCH; ++i)
        ck_assert_int_eq(of->at[b][row * PITCH + i], GUARD);
  }
}

static inline void draw(const prem_frame *frame, int number) {
  for (int row = 0; row < ROWS; ++row)
    for (int column = 0; column < COLUMNS; ++column)
      ((float *)((char *)frame->data + row * frame->pitch_bytes[2]))[column] =
          (float)(number * 1000 + row * 37 % 11 + column * column % 23);
}

static inline void assert_same(const prem_frame *found, const prem_frame *expected) {
  for (int row = 0; row < ROWS; ++row)
    ck_assert_mem_eq((char *)found->data + row * found->pitch_bytes[2],
                     (char *)expected->data + row * expected->pitch_bytes[2],
                     COLUMNS * sizeof(float));
}

static inline void wait_for(prem_live *live, prem_frame *out) {
  const int64_t until_ns = prem_live_now_ns(live) + INT64_C(60000000000);
  ck_assert_int_eq(prem_live_wait(live, 1, until_ns, out, NULL), PREM_OK);
}

/* Beside a session with memory of its own, through edges that are cut off by the array. */
static inline void assert_results_are_the_same_wherever_frames_lie(const char *backend) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *adopting = open_live_on(backend, schedule), *other = open_live_on("sim", schedule);
  camera in = camera_new(), out = camera_new();
  ck_assert_int_eq(prem_live_adopt(adopting, 0, (void *const *)in.at, BUFFERS, PITCH, NULL),
                   PREM_OK);
  ck_assert_int_eq(prem_live_adopt(adopting, 1, (void *const *)out.at, BUFFERS, PITCH, NULL),
                   PREM_OK);
  start_live(adopting, &(prem_live_request){0});
  start_live(other, &(prem_live_request){0});
  for (int i = 0; i < 4 * BUFFERS; ++i) {
    prem_frame frame, found, expected;
    ck_assert_int_eq(prem_live_acquire(adopting, 0, INT64_MAX, &frame, NULL), PREM_OK);
    ck_assert_ptr_eq(frame.data, in.at[frame.buffer]);
    ck_assert_int_eq(frame.pitch_bytes[2], PITCH);
    draw(&frame, i);
    ck_assert_int_eq(prem_live_submit(adopting, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_acquire(other, 0, INT64_MAX, &frame, NULL), PREM_OK);
    draw(&frame, i);
    ck_assert_int_eq(prem_live_submit(other, &frame, NULL), PREM_OK);
    wait_for(adopting, &found);
    ck_assert_ptr_eq(found.data, out.at[found.buffer]);
    wait_for(other, &expected);
    ck_assert_uint_eq(found.input, expected.input);
    assert_same(&found, &expected);
    ck_assert_int_eq(prem_live_release(adopting, &found, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_release(other, &expected, NULL), PREM_OK);
  }
  prem_live_close(adopting);
  prem_live_close(other);
  assert_guarded(&in);
  assert_guarded(&out);
  camera_free(&in);
  camera_free(&out);
  prem_schedule_free(schedule);
}

/* Rows between the host and wherever frames lie. */
typedef void copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch);

static inline void copy_on_host(void *to, int64_t to_pitch, const void *from, int64_t from_pitch) {
  for (int row = 0; row < ROWS; ++row)
    memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
           COLUMNS * sizeof(float));
}

/* Frames that the application fills and reads where the blocks have them. */
static inline void assert_frames_stay(const char *backend, copy_rows *copy) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *live = open_live_on(backend, schedule), *other = open_live_on("sim", schedule);
  float in[ROWS][COLUMNS], out[ROWS][COLUMNS];
  ck_assert_int_eq(prem_live_keep_on_device(live, 0, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_keep_on_device(live, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  start_live(other, &(prem_live_request){0});
  for (int i = 0; i < 4 * BUFFERS; ++i) {
    prem_frame frame, found, expected;
    ck_assert_int_eq(prem_live_acquire(other, 0, INT64_MAX, &frame, NULL), PREM_OK);
    draw(&frame, i);
    copy_on_host(in, sizeof *in, frame.data, frame.pitch_bytes[2]);
    ck_assert_int_eq(prem_live_submit(other, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_acquire(live, 0, INT64_MAX, &frame, NULL), PREM_OK);
    copy(frame.data, frame.pitch_bytes[2], in, sizeof *in);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    wait_for(live, &found);
    wait_for(other, &expected);
    ck_assert_uint_eq(found.input, expected.input);
    copy(out, sizeof *out, found.data, found.pitch_bytes[2]);
    for (int row = 0; row < ROWS; ++row)
      ck_assert_mem_eq(out[row], (char *)expected.data + row * expected.pitch_bytes[2],
                       sizeof *out);
    ck_assert_int_eq(prem_live_release(live, &found, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_release(other, &expected, NULL), PREM_OK);
  }
  prem_live_close(live);
  prem_live_close(other);
  prem_schedule_free(schedule);
}

/* The same without edges: each window lies within its array. */
static const char *const filled =
    "version = 1; name = \"filled\"; platform: { blocks = 2;"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 12, 20 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 10, 18 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 2; tile = [ 5, 6 ];"
    "    period_ns = 1000000L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 2000L; "
    "};"
    "    compute: { wcet_ns = 2000L; }; writeback: { wcet_ns = 2000L; }; } );"
    "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; overflow = \"drop\"; } ); };";

/* Buffers of the host, from which blocks fetch: the session's, or `in`, whose rows begin at 16
 * bytes. Each frame is another one, in few slots. */
static inline void assert_frames_are_fetched(const char *backend, int count,
                                             unsigned char *const *in) {
  prem_schedule *schedule = prepared_schedule(filled);
  prem_live *live = open_live_on(backend, schedule), *other = open_live_on("sim", schedule);
  if (in)
    ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in, BUFFERS, PITCH, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_keep_on_host(live, 0, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_keep_on_host(live, 0, NULL), PREM_OK); /* it does already */
  start_live(live, &(prem_live_request){0});
  start_live(other, &(prem_live_request){0});
  for (int i = 0; i < count; ++i) {
    prem_frame frame, found, expected;
    ck_assert_int_eq(prem_live_acquire(other, 0, INT64_MAX, &frame, NULL), PREM_OK);
    draw(&frame, i);
    ck_assert_int_eq(prem_live_submit(other, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_acquire(live, 0, INT64_MAX, &frame, NULL), PREM_OK);
    if (in)
      ck_assert_ptr_eq(frame.data, in[frame.buffer]);
    draw(&frame, i);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    wait_for(live, &found);
    wait_for(other, &expected);
    ck_assert_uint_eq(found.input, expected.input);
    for (int row = 0; row < ROWS - 2; ++row)
      ck_assert_mem_eq((char *)found.data + row * found.pitch_bytes[2],
                       (char *)expected.data + row * expected.pitch_bytes[2],
                       (COLUMNS - 2) * sizeof(float));
    ck_assert_int_eq(prem_live_release(live, &found, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_release(other, &expected, NULL), PREM_OK);
  }
  prem_live_close(live);
  prem_live_close(other);
  prem_schedule_free(schedule);
}

static inline void assert_frames_of_the_host_are_fetched(const char *backend, int count) {
  unsigned char *in[BUFFERS];
  for (int b = 0; b < BUFFERS; ++b) {
    in[b] = aligned_alloc(16, BYTES);
    ck_assert_ptr_nonnull(in[b]);
  }
  assert_frames_are_fetched(backend, count, NULL);
  assert_frames_are_fetched(backend, count, in);
  for (int b = 0; b < BUFFERS; ++b)
    free(in[b]);
}

/* In memory of the application that blocks reach: `buffers` of each stream, as camera_new() fills
 * them, beside a session with memory of its own. Behind that two results find no buffer. */
static inline void assert_others_memory_serves(const char *backend, copy_rows *copy,
                                               void *buffers[2][BUFFERS]) {
  prem_schedule *schedule = prepared_schedule(filled);
  prem_live *live = open_live_on(backend, schedule), *other = open_live_on("sim", schedule);
  float in[ROWS][COLUMNS], out[ROWS][COLUMNS], kept[BUFFERS][ROWS][COLUMNS];
  for (int32_t stream = 0; stream < 2; ++stream)
    ck_assert_int_eq(prem_live_adopt(live, stream, buffers[stream], BUFFERS, PITCH, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  start_live(other, &(prem_live_request){0});
  for (int i = 0; i < 4 * BUFFERS + 2; ++i) {
    prem_frame frame, found, expected;
    ck_assert_int_eq(prem_live_acquire(other, 0, INT64_MAX, &frame, NULL), PREM_OK);
    draw(&frame, i);
    copy_on_host(in, sizeof *in, frame.data, frame.pitch_bytes[2]);
    ck_assert_int_eq(prem_live_submit(other, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_acquire(live, 0, INT64_MAX, &frame, NULL), PREM_OK);
    ck_assert_ptr_eq(frame.data, buffers[0][frame.buffer]);
    copy(frame.data, frame.pitch_bytes[2], in, sizeof *in);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    if (i >= 4 * BUFFERS)
      continue; /* all buffers are in hand */
    wait_for(live, &found);
    wait_for(other, &expected);
    ck_assert_ptr_eq(found.data, buffers[1][found.buffer]);
    ck_assert_uint_eq(found.input, expected.input);
    copy(out, sizeof *out, found.data, found.pitch_bytes[2]);
    for (int row = 0; row < ROWS - 2; ++row) {
      ck_assert_mem_eq(out[row], (char *)expected.data + row * expected.pitch_bytes[2],
                       (COLUMNS - 2) * sizeof(float));
      ck_assert_int_eq(((unsigned char *)out[row])[(COLUMNS - 2) * sizeof(float)], GUARD);
    }
    ck_assert_int_eq(prem_live_release(other, &expected, NULL), PREM_OK);
    if (i < 3 * BUFFERS)
      ck_assert_int_eq(prem_live_release(live, &found, NULL), PREM_OK);
    memcpy(kept[found.buffer], out, sizeof out);
  }
  prem_live_counts counts;
  do {
    prem_live_sleep_until(live, prem_live_now_ns(live) + 2000000);
    prem_live_count(live, 1, &counts);
  } while (counts.dropped < 2);
  for (int b = 0; b < BUFFERS; ++b) {
    copy(out, sizeof *out, buffers[1][b], PITCH);
    ck_assert_mem_eq(out, kept[b], sizeof out);
  }
  prem_live_close(live);
  prem_live_close(other);
  prem_schedule_free(schedule);
}

/* What nobody takes is written to a place that is not the application's. */
static inline void assert_a_result_without_a_buffer_touches_none(const char *backend) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *live = open_live_on(backend, schedule);
  camera out = camera_new();
  prem_frame frames[BUFFERS], frame;
  prem_live_counts counts;
  ck_assert_int_eq(prem_live_adopt(live, 1, (void *const *)out.at, BUFFERS, PITCH, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  for (int i = 0; i < BUFFERS + 2; ++i) {
    ck_assert_int_eq(prem_live_acquire(live, 0, INT64_MAX, &frame, NULL), PREM_OK);
    draw(&frame, i);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    if (i < BUFFERS)
      wait_for(live, &frames[i]); /* and kept */
  }
  unsigned char before[BUFFERS][BYTES];
  for (int b = 0; b < BUFFERS; ++b)
    memcpy(before[b], out.at[b], BYTES);
  do {
    prem_live_sleep_until(live, prem_live_now_ns(live) + 2000000);
    prem_live_count(live, 1, &counts);
  } while (counts.dropped < 2);
  for (int b = 0; b < BUFFERS; ++b)
    ck_assert_mem_eq(before[b], out.at[b], BYTES);
  prem_live_close(live);
  assert_guarded(&out);
  camera_free(&out);
  prem_schedule_free(schedule);
}

#endif
