/* SPDX-License-Identifier: Apache-2.0 */
/* Live frames in memory of the application: nothing is copied, nothing beside them is touched. */
/* ctest: threads timing */
#include "tests/common/live_memory.h"
#include "tests/common/suite.h"

static const char *const backends[] = {"sim", "cpu"};

TESTS(results_are_the_same_wherever_frames_lie, 2) {
  assert_results_are_the_same_wherever_frames_lie(backends[_i]);
}

TESTS(a_result_without_a_buffer_touches_none, 2) {
  assert_a_result_without_a_buffer_touches_none(backends[_i]);
}

TESTS(frames_stay_where_blocks_have_them, 2) {
  assert_frames_stay(backends[_i], copy_on_host);
}

TESTS(frames_of_the_host_are_fetched, 2) {
  assert_frames_of_the_host_are_fetched(backends[_i], 200);
}

/* A camera is given all buffers, and fills them in its own order. */
TEST(several_can_be_in_hand) {
  OWNED(prem_schedule) *schedule = prepared_schedule(blurred);
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
}

TEST(memory_that_does_not_fit_is_refused) {
  OWNED(prem_schedule) *schedule = prepared_schedule(blurred);
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
  ck_assert_int_eq(prem_live_keep_on_device(live, 0, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason,
                   "frames of 'x' lie in memory of the application");
  ck_assert_int_eq(prem_live_keep_on_device(live, 2, NULL), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_live_keep_on_host(live, 2, NULL), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_live_keep_on_host(live, 1, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason,
                   "'y' is an output; of an input alone");
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frame, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, PITCH, NULL),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_live_keep_on_device(live, 1, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason,
                   "frames of 'y' are in use; keep_on_device before the first acquire and the "
                   "start");
  prem_diag_free(diag);
  prem_live_close(live);
  camera_free(&in);
}

/* Two frames in one place would be torn; beside each other in the same rows is no harm. */
TEST(frames_over_each_other_are_refused) {
  enum { ROW = COLUMNS * (int)sizeof(float), WIDE = 3 * ROW, LAST = (ROWS - 1) * WIDE };
  static const struct {
    int at[BUFFERS];
    bool is_right;
  } cases[] = {
      {{0, ROW, 2 * ROW}, true},
      {{2 * ROW, 0, ROW}, true},
      {{0, LAST + ROW, 2 * (LAST + ROW)}, true},
      {{0, ROW, 0}, false},
      {{0, ROW, 2 * ROW - 4}, false},
      {{0, ROW, 2 * ROW + 4}, false}, /* its rows reach into the next ones of the first */
      {{WIDE, ROW, LAST + WIDE + ROW - 4}, false},
      {{0, ROW, LAST + 2 * ROW + 4}, true}, /* where the first has no further row */
  };
  static float memory[3 * (LAST + ROW) / sizeof(float)];
  OWNED(prem_schedule) *schedule = prepared_schedule(blurred);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    void *buffers[BUFFERS];
    OWNED(prem_diag) *diag = prem_diag_new();
    for (int b = 0; b < BUFFERS; ++b)
      buffers[b] = (char *)memory + cases[i].at[b];
    ck_assert_int_eq(prem_live_adopt(live, 0, buffers, BUFFERS, WIDE, diag),
                     cases[i].is_right ? PREM_OK : PREM_ERR_ARGUMENT);
    if (!cases[i].is_right)
      ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "2 of 'x' lie over each other"));
  }
}
