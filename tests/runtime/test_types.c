/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of every element type in whole runs: random sizes and tiles, odd numbers of bytes a row,
 * on the simulator and on the CPU. */
/* ctest: threads */
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static uint32_t random_state;

static int32_t random_below(int32_t limit) {
  random_state = random_state * 1664525U + 1013904223U;
  return (int32_t)((random_state >> 8) % (uint32_t)limit);
}

#define TIMES                                                                                      \
  "prefetch: { wcet_ns = 2000L; }; compute: { wcet_ns = 3000L; }; writeback: { wcet_ns = 1000L; "  \
  "};"

static const char *convert_task(const char *name, const char *in, const char *out,
                                const char *after, int32_t rows, int32_t columns) {
  const int32_t tile_rows = 1 + random_below(rows), tile_columns = 1 + random_below(columns);
  return text("{ name = \"%s\"; kernel = \"convert\"; blocks = \"0-1\"; tile = [ %d, %d ]; "
              "arrays: { in = \"%s\"; out = \"%s\"; }; %s " TIMES " }",
              name, (int)tile_rows, (int)tile_columns, in, out,
              *after ? text("after = ( { task = \"%s\"; } );", after) : "");
}

/* Bytes are blurred and become floats; integers become floats, of these elements of a type, of
 * these floats again. */
static const char *random_text(prem_type type) {
  const int32_t rows = 3 + random_below(20), columns = 3 + random_below(70);
  const int32_t more_rows = 1 + random_below(20), more_columns = 1 + random_below(40);
  const int32_t border = 2 * random_below(2);
  const int32_t tile_rows = 1 + random_below(rows), tile_columns = 1 + random_below(columns);
  const char *arrays =
      text("{ name = \"frame\"; type = \"u8\"; shape = [ %d, %d ]; fill = \"random\"; seed = 3; }, "
           "{ name = \"blurred\"; type = \"u8\"; shape = [ %d, %d ]; }, "
           "{ name = \"wide\"; type = \"i32\"; shape = [ %d, %d ]; fill = \"random\"; seed = 4; }, "
           "{ name = \"some\"; type = \"%s\"; shape = [ %d, %d ]; }",
           (int)rows, (int)columns, (int)(rows - border), (int)(columns - border), (int)more_rows,
           (int)more_columns, prem_type_name(type), (int)more_rows, (int)more_columns);
  const char *blur =
      text("{ name = \"blur\"; kernel = \"conv2d_u8\"; blocks = \"0-1\"; tile = [ %d, %d ]; "
           "args: { offset = 0.5; }; arrays: { in = \"frame\"; out = \"blurred\"; }; " TIMES " }",
           (int)tile_rows, (int)tile_columns);
  const char *up = convert_task("up", "blurred", "new", "blur", rows, columns);
  const char *floats = convert_task("floats", "wide", "new", "", more_rows, more_columns);
  const char *narrow =
      convert_task("narrow", "floats.out", "some", "floats", more_rows, more_columns);
  const char *back = convert_task("back", "some", "new", "narrow", more_rows, more_columns);
  return text("version = 1; name = \"types\"; platform: { blocks = 2; buffers = %d; };\n"
              "arrays = ( %s );\ntasks = ( %s, %s, %s, %s, %s );\n",
              1 + (int)random_below(2), arrays, blur, up, floats, narrow, back);
}

static prem_schedule *prepared(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  if (prem_schedule_load_text("types", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with("types", diag);
  return schedule;
}

static void assert_right(const char *backend, const prem_schedule *schedule, prem_mode mode) {
  OWNED(prem_session) *session = open_on(backend, schedule);
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(!verdict.ok); /* before the run nothing is right */
  int64_t written = 0;
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    const prem_array *array = &schedule->arrays[a];
    written += array->writer >= 0 ? array->shape[2] * array->shape[3] : 0;
  }
  ck_assert_int_eq(verdict.wrong, written);
  prem_trace_free(run_in(session, schedule, mode, 1));
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert_msg(verdict.ok, "%s: %lld wrong, first of array %s at (%lld, %lld): %g, expected %g",
                backend, (long long)verdict.wrong, schedule->arrays[verdict.array].name,
                (long long)verdict.index[2], (long long)verdict.index[3], verdict.found,
                verdict.expected);
}

static const prem_type types[] = {PREM_U8, PREM_U16, PREM_I32, PREM_F16, PREM_BF16};
enum { TYPES = sizeof types / sizeof types[0] };

TESTS(random_schedules_compute_what_they_should, TYPES) {
  for (int round = 0; round < ROUNDS(24); ++round) {
    random_state = (uint32_t)(1000 * _i + round);
    OWNED(prem_schedule) *schedule = prepared(random_text(types[_i]));
    assert_checked(schedule);
    assert_right("sim", schedule, PREM_MODE_TT);
    assert_right("cpu", schedule, PREM_MODE_FREE);
  }
}

/* Bytes of a phase: whole pieces of 16 are fetched, what counts is written. */
TEST(phases_move_bytes_and_not_floats) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"bytes\"; platform: { blocks = 1; };\narrays = ( "
      "{ name = \"a\"; type = \"u8\"; shape = [ 8, 64 ]; }, "
      "{ name = \"h\"; type = \"f16\"; shape = [ 8, 64 ]; } );\ntasks = ( "
      "{ name = \"up\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 4, 20 ]; "
      "  arrays: { in = \"a\"; out = \"new\"; }; }, "
      "{ name = \"down\"; kernel = \"convert\"; blocks = [ 0 ]; tile = [ 4, 20 ]; "
      "  arrays: { in = \"up.out\"; out = \"h\"; }; after = ( { task = \"up\"; } ); } );\n");
  const prem_task *up = &schedule->tasks[0], *down = &schedule->tasks[1];
  ck_assert_int_eq(prem_task_phase_bytes(schedule, up, PREM_PREFETCH, 0), 4 * 32);
  ck_assert_int_eq(prem_task_phase_bytes(schedule, up, PREM_PREFETCH, 1), 4 * 32); /* 20 to 39 */
  ck_assert_int_eq(prem_task_phase_bytes(schedule, up, PREM_WRITEBACK, 1), 4 * 20 * 4);
  ck_assert_int_eq(prem_task_phase_bytes(schedule, down, PREM_PREFETCH, 1), 4 * 20 * 4);
  ck_assert_int_eq(prem_task_phase_bytes(schedule, down, PREM_WRITEBACK, 1), 4 * 20 * 2);
  /* rows: 20 bytes, at most 12 behind a piece's beginning; 20 halves, at most 8 of their bytes */
  ck_assert_int_eq(up->layout[0].element_bytes, 1);
  ck_assert_int_eq(up->layout[0].row_bytes, 48);
  ck_assert_int_eq(up->layout[1].row_bytes, 80);
  ck_assert_int_eq(down->layout[1].element_bytes, 2);
  ck_assert_int_eq(down->layout[1].row_bytes, 64);
}

/* ---- live ------------------------------------------------------------------------------------ */

enum { ROWS = 16, COLUMNS = 37, MS = 1000000 };

static const char camera[] =
    "version = 1; name = \"camera\"; platform: { blocks = 1; };\narrays = ( "
    "{ name = \"image\"; type = \"u8\"; shape = [ 16, 37 ]; }, "
    "{ name = \"blurred\"; type = \"u8\"; shape = [ 16, 37 ]; } );\ntasks = ( "
    "{ name = \"blur\"; kernel = \"conv2d_u8\"; blocks = [ 0 ]; tile = [ 5, 37 ]; "
    "  period_ns = 20000000L; arrays: { in = \"image\"; out = \"blurred\"; }; " TIMES " } );\n"
    "live: { inputs = ( { array = \"image\"; kind = \"sampling\"; buffers = 3; } ); "
    "outputs = ( { array = \"blurred\"; kind = \"sampling\"; buffers = 3; "
    "publish_ns = 15000000L; } ); };\n";

static void take(prem_live *live, uint8_t *picture, int number) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_frame frame;
  if (prem_live_acquire(live, prem_live_find(live, "image"), prem_live_now_ns(live) + 100 * MS,
                        &frame, diag) != PREM_OK)
    abort_with("acquire", diag);
  ck_assert_int_ge(frame.pitch_bytes[2], COLUMNS);
  for (int64_t row = 0; row < ROWS; ++row) {
    uint8_t *pixels = (uint8_t *)frame.data + row * frame.pitch_bytes[2];
    for (int64_t column = 0; column < COLUMNS; ++column)
      picture[row * COLUMNS + column] = pixels[column] =
          (uint8_t)(row * 41 + column * 7 + number * 59);
  }
  if (prem_live_submit(live, &frame, diag) != PREM_OK)
    abort_with("submit", diag);
}

/* Frames of bytes go in and come out, and what is made of them is right. */
TESTS(a_camera_of_bytes, 2) {
  static const char *const backends[] = {"sim", "cpu"};
  const prem_live_request request = {.mode = PREM_MODE_TT};
  OWNED(prem_schedule) *schedule = prepared(camera);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_live) *live = NULL;
  if (prem_live_open(prem_backend_find(backends[_i]), schedule, &live, diag) != PREM_OK ||
      prem_live_start(live, &request, diag) != PREM_OK)
    abort_with("live", diag);
  for (int number = 0; number < 3; ++number) {
    static uint8_t picture[ROWS * COLUMNS], expected[ROWS * COLUMNS];
    const prem_array_view views[] = {{picture, {1, 1, ROWS, COLUMNS}},
                                     {expected, {1, 1, ROWS, COLUMNS}}};
    prem_frame frame = {0};
    take(live, picture, number);
    schedule->tasks[0].definition->reference(schedule->tasks[0].params, views);
    const int64_t until_ns = prem_live_now_ns(live) + 1000 * MS;
    while (!frame.data || frame.input < (uint64_t)number) { /* older ones: of earlier frames */
      if (frame.data)
        ck_assert_int_eq(prem_live_release(live, &frame, diag), PREM_OK);
      if (prem_live_wait(live, prem_live_find(live, "blurred"), until_ns, &frame, diag) != PREM_OK)
        abort_with("wait", diag);
    }
    for (int64_t row = 0; row < ROWS; ++row)
      ck_assert_int_eq(memcmp((const uint8_t *)frame.data + row * frame.pitch_bytes[2],
                              expected + row * COLUMNS, COLUMNS),
                       0);
    ck_assert_int_eq(prem_live_release(live, &frame, diag), PREM_OK);
  }
  ck_assert_int_eq(prem_live_stop(live, true, prem_live_now_ns(live) + 1000 * MS, diag), PREM_OK);
}
