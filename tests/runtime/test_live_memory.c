/* SPDX-License-Identifier: Apache-2.0 */
/* Live frames in memory of the application: nothing is copied, nothing beside them is touched. */
/* ctest: threads */
#include "tests/common/live.h"

enum { ROWS = 12, COLUMNS = 20, PITCH = 96, BUFFERS = 3, BYTES = ROWS * PITCH, GUARD = 0x5A };

static const char *const backends[] = {"sim", "cpu"};

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

static camera camera_new(void) {
  camera of;
  for (int b = 0; b < BUFFERS; ++b) {
    of.at[b] = malloc(BYTES + 4);
    ck_assert_ptr_nonnull(of.at[b]);
    memset(of.at[b], GUARD, BYTES + 4);
    of.at[b] += 4; /* floats need no more */
  }
  return of;
}

static void camera_free(camera *of) {
  for (int b = 0; b < BUFFERS; ++b)
    free(of->at[b] - 4);
}

/* Behind each row, and before the buffer. */
static void assert_guarded(const camera *of) {
  for (int b = 0; b < BUFFERS; ++b) {
    for (int i = -4; i < 0; ++i)
      ck_assert_int_eq(of->at[b][i], GUARD);
    for (int row = 0; row < ROWS; ++row)
      for (int i = COLUMNS * 4; i < PITCH; ++i)
        ck_assert_int_eq(of->at[b][row * PITCH + i], GUARD);
  }
}

static void draw(const prem_frame *frame, int number) {
  for (int row = 0; row < ROWS; ++row)
    for (int column = 0; column < COLUMNS; ++column)
      ((float *)((char *)frame->data + row * frame->pitch_bytes[2]))[column] =
          (float)(number * 1000 + row * 37 % 11 + column * column % 23);
}

static void assert_same(const prem_frame *found, const prem_frame *expected) {
  for (int row = 0; row < ROWS; ++row)
    ck_assert_mem_eq((char *)found->data + row * found->pitch_bytes[2],
                     (char *)expected->data + row * expected->pitch_bytes[2],
                     COLUMNS * sizeof(float));
}

static void wait_for(prem_live *live, prem_frame *out) {
  const int64_t until_ns = prem_live_now_ns(live) + INT64_C(60000000000);
  ck_assert_int_eq(prem_live_wait(live, 1, until_ns, out, NULL), PREM_OK);
}

/* Beside a session with memory of its own, through edges that are cut off by the array. */
START_TEST(results_are_the_same_wherever_frames_lie) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *adopting = open_live_on(backends[_i], schedule),
            *other = open_live_on("sim", schedule);
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
END_TEST

/* What nobody takes is written to a place that is not the application's. */
START_TEST(a_result_without_a_buffer_touches_none) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *live = open_live_on(backends[_i], schedule);
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
END_TEST

/* A camera is given all buffers, and fills them in its own order. */
START_TEST(several_can_be_in_hand) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *live = open_live_on("sim", schedule);
  camera in = camera_new();
  prem_frame frames[BUFFERS], frame;
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL), PREM_OK);
  for (int b = 0; b < BUFFERS; ++b)
    ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frames[b], NULL), PREM_OK);
  ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frame, NULL), PREM_ERR_FULL);
  start_live(live, &(prem_live_request){0});
  for (int b = BUFFERS - 1; b >= 0; --b) {
    fill_frame(&frames[b], (float)b);
    ck_assert_int_eq(prem_live_submit(live, &frames[b], NULL), PREM_OK);
    ck_assert_uint_eq(frames[b].number, (uint64_t)(BUFFERS - 1 - b));
  }
  ck_assert_int_eq(prem_live_submit(live, &frames[0], NULL), PREM_ERR_ARGUMENT);
  for (int i = 0; i < BUFFERS; ++i) {
    wait_for(live, &frame);
    ck_assert_uint_eq(frame.input, (uint64_t)i);
    const float inner = ((float *)((char *)frame.data + 5 * frame.pitch_bytes[2]))[7];
    ck_assert_float_eq(inner, (float)(BUFFERS - 1 - i) / 2); /* the coefficients add up to a half */
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  }
  prem_live_close(live);
  camera_free(&in);
  prem_schedule_free(schedule);
}
END_TEST

START_TEST(memory_that_does_not_fit_is_refused) {
  prem_schedule *schedule = prepared_schedule(blurred);
  prem_live *live = open_live_on("sim", schedule);
  camera in = camera_new();
  prem_diag *diag = prem_diag_new();
  void *odd[BUFFERS] = {in.at[0], in.at[1] + 2, in.at[2]},
       *none[BUFFERS] = {in.at[0], NULL, in.at[2]};
  const struct {
    int32_t stream;
    void *const *buffers;
    int32_t count;
    int64_t pitch_bytes;
    const char *reason;
  } wrong[] = {
      {2, (void *const *)in.at, BUFFERS, PITCH, "there is no stream 2"},
      {-1, (void *const *)in.at, BUFFERS, PITCH, "there is no stream -1"},
      {0, (void *const *)in.at, 2, PITCH, "2 buffers of 'x', which has 3; give as many"},
      {0, (void *const *)in.at, BUFFERS, 79, "rows of 'x' are 80 bytes long, 79 from row to row"},
      {0, (void *const *)in.at, BUFFERS, 82, "give a multiple of 4 at least as large"},
      {0, odd, BUFFERS, PITCH, "buffer 1 of 'x' is NULL, or not aligned"},
      {0, none, BUFFERS, PITCH, "buffer 1 of 'x' is NULL, or not aligned"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    ck_assert_int_eq(prem_live_adopt(live, wrong[i].stream, wrong[i].buffers, wrong[i].count,
                                     wrong[i].pitch_bytes, diag),
                     PREM_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, i)->reason, wrong[i].reason));
  }
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, 80, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL), PREM_OK);
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frame, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL),
                   PREM_ERR_ARGUMENT);
  prem_diag_free(diag);
  prem_live_close(live);
  camera_free(&in);
  prem_schedule_free(schedule);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("live_memory");
  TCase *cases = tcase_create("live_memory");
  tcase_set_timeout(cases, 120);
  tcase_add_loop_test(cases, results_are_the_same_wherever_frames_lie, 0, 2);
  tcase_add_loop_test(cases, a_result_without_a_buffer_touches_none, 0, 2);
  tcase_add_test(cases, several_can_be_in_hand);
  tcase_add_test(cases, memory_that_does_not_fit_is_refused);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
