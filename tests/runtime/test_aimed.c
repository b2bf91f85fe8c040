/* SPDX-License-Identifier: Apache-2.0 */
/* Aimed windows, whose place another task has said, and work areas: on sim and cpu, in all modes,
 * by numbers that may be anything; and what bind refuses. */
/* ctest: threads */
#include "prem/model/by_block.h"
#include "tests/common/cpu_fixture.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { ROWS = 37, COLUMNS = 61, TILES = 6, HEIGHT = 5, WIDTH = 9 };

/* ---- kernels --------------------------------------------------------------------------------- */

/* What `look` is bound to. */
static int32_t aim_port, number_count, row_extent, column_extent, work_bytes;
static int64_t first_number; /* where the window of `at` begins */
static prem_access frame_access;

/* Most numbers are near the array's edges, some anywhere. */
static int32_t pointed_at(int32_t number) {
  return number % 4 == 0 ? number : (number >> 8) % 50 + 25;
}

/* `point` says where `look` shall look: TILES rows of numbers. */
static prem_status point_bind(prem_bind *bind) {
  bind->new_rank[1] = bind->rank[0];
  memcpy(bind->new_shape[1], bind->shape[0], sizeof bind->new_shape[1]);
  const prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  bind->window[1] = bind->window[0];
  return status;
}

static void point_compute(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t r = 0; r < views[1].extent[2]; ++r)
    for (int32_t c = 0; c < views[1].extent[3]; ++c)
      PREM_AT(int32_t, views[1], r, c) = pointed_at(PREM_AT(int32_t, views[0], r, c));
}

static void point_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  for (int64_t i = 0; i < arrays[0].shape[2] * arrays[0].shape[3]; ++i)
    ((int32_t *)arrays[1].data)[i] = pointed_at(((const int32_t *)arrays[0].data)[i]);
}

static prem_status look_bind(prem_bind *bind) {
  bind->grid[0] = bind->grid[1] = 1;
  bind->grid[2] = TILES;
  bind->window[0] = (prem_window){.base = {[2] = 3, [3] = -2},
                                  .step = {[3] = {0, 0, 4}},
                                  .extent = {1, 1, row_extent, column_extent},
                                  .aim = aim_port + 1};
  bind->window[1] = (prem_window){
      .base = {[3] = first_number}, .step = {[2] = {0, 0, 1}}, .extent = {1, 1, 1, number_count}};
  /* what it saw, and where */
  bind->window[2] =
      (prem_window){.step = {[2] = {0, 0, 1}}, .extent = {1, 1, 1, HEIGHT * WIDTH + 2}};
  bind->new_rank[2] = 2;
  bind->new_shape[2][0] = bind->new_shape[2][1] = 1;
  bind->new_shape[2][2] = TILES;
  bind->new_shape[2][3] = HEIGHT * WIDTH + 2;
  bind->work_bytes = work_bytes;
  return PREM_OK;
}

/* By way of the work area. */
static void look_compute(const void *params, const prem_view *views) {
  (void)params;
  float *out = (float *)views[2].data;
  unsigned char *work = (unsigned char *)views[3].data;
  ck_assert_int_eq(views[3].extent[3], work_bytes);
  ck_assert_uint_eq((uintptr_t)work % 128, 0);
  /* bytes: as far from a boundary of 16 as in the array */
  ck_assert_uint_eq((uintptr_t)views[0].data % 16, (uint64_t)views[0].origin[3] % 16);
  for (int32_t r = 0; r < HEIGHT; ++r)
    for (int32_t c = 0; c < WIDTH; ++c)
      work[r * WIDTH + c] = PREM_AT(uint8_t, views[0], r, c);
  for (int32_t i = 0; i < HEIGHT * WIDTH; ++i)
    out[i] = (float)work[i];
  memset(work, 0xFF, (size_t)work_bytes); /* it is the tile's own */
  out[HEIGHT * WIDTH] = (float)views[0].origin[2];
  out[HEIGHT * WIDTH + 1] = (float)views[0].origin[3];
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The rule in other words. */
static int64_t held_within(int64_t first, int64_t extent, int64_t shape) {
  return first < 0 ? 0 : least(first, shape - extent);
}

static void look_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const uint8_t *frame = (const uint8_t *)arrays[0].data;
  const int32_t *at = (const int32_t *)arrays[1].data;
  float *out = (float *)arrays[2].data;
  for (int64_t t = 0; t < TILES; ++t) {
    const int64_t *shape = arrays[0].shape, numbers = arrays[1].shape[3];
    const int64_t row =
        number_count > 1 ? held_within(3 + (int64_t)at[t * numbers], HEIGHT, shape[2]) : 3;
    const int64_t column =
        held_within(4 * t - 2 + at[t * numbers + number_count - 1], WIDTH, shape[3]);
    for (int64_t r = 0; r < HEIGHT; ++r)
      for (int64_t c = 0; c < WIDTH; ++c)
        *out++ = (float)frame[(row + r) * shape[3] + column + c];
    *out++ = (float)row;
    *out++ = (float)column;
  }
}

static const prem_port point_ports[] = {{"in", PREM_IN, PREM_I32}, {"out", PREM_OUT, PREM_I32}};
static prem_port look_ports[] = {
    {"frame", PREM_IN, PREM_U8}, {"at", PREM_IN, PREM_I32}, {"out", PREM_OUT, PREM_F32}};
static const prem_kernel point = {.name = "point",
                                  .summary = "hands numbers on",
                                  .ports = point_ports,
                                  .port_count = 2,
                                  .bind = point_bind,
                                  .compute = point_compute,
                                  .reference = point_reference};
static const prem_kernel look = {.name = "look",
                                 .summary = "what stands there",
                                 .ports = look_ports,
                                 .port_count = 3,
                                 .bind = look_bind,
                                 .compute = look_compute,
                                 .reference = look_reference};
static const prem_kernel *const kernels[] = {&point, &look};
static const prem_registry registry = {kernels, 2};

/* ---- schedules ------------------------------------------------------------------------------- */

/* Rows, columns of the frame; numbers of a row; the file with them. */
static const char *const file_text =
    "version = 1; name = \"t\";"
    "platform: { blocks = 3; buffers = 2; resources = ( { name = \"memory\"; capacity = 3; } ); };"
    "arrays = ( { name = \"frame\"; type = \"u8\"; shape = [ %d, %d ]; fill = \"random\"; seed = "
    "3; },"
    "           { name = \"given\"; type = \"i32\"; shape = [ 6, %d ]; fill = \"random\"; seed = "
    "%d; } );"
    "tasks = ( { name = \"point\"; kernel = \"point\"; blocks = [ 2 ]; tile = [ 4, %d ];"
    "            arrays: { in = \"given\"; out = \"new\"; };"
    "            prefetch: { wcet_ns = 2000L; }; compute: { wcet_ns = 2000L; };"
    "            writeback: { wcet_ns = 2000L; }; },"
    "          { name = \"look\"; kernel = \"look\"; blocks = [ 0, 1 ];"
    "            arrays: { frame = \"frame\"; at = \"point.out\"; out = \"new\"; };"
    "            prefetch: { wcet_ns = 2000L; }; compute: { wcet_ns = 2000L; };"
    "            writeback: { wcet_ns = 2000L; };"
    "            after = ( { task = \"point\"; } ); } );";

static void usual_kernel(void) {
  aim_port = 1;
  number_count = 2;
  first_number = 0;
  row_extent = HEIGHT;
  column_extent = WIDTH;
  work_bytes = HEIGHT * WIDTH + 3;
  frame_access = PREM_IN;
  look_ports[1].type = PREM_I32;
}

static void load(fixture *f, int32_t rows, int32_t columns, int32_t numbers, int32_t seed) {
  fixture_load(f, &registry, file_text, rows, columns, numbers, seed, numbers);
  fixture_expect(f, prem_prepare(f->schedule, &registry, NULL, NULL, f->diag), PREM_OK);
}

/* ---- they look where they are told ----------------------------------------------------------- */

GROUP("aimed");

/* Random numbers of 32 bits: nearly all are far outside. */
TESTS(windows_go_where_numbers_say, ROUNDS(30)) {
  usual_kernel();
  number_count = _i % 2 + 1;
  const int32_t rows = _i % 3 == 0 ? HEIGHT : ROWS, columns = _i % 5 == 0 ? WIDTH : COLUMNS;
  FIXTURE f = {0};
  if (number_count == 1 && rows == HEIGHT)
    return; /* three rows above it are declared */
  load(&f, rows, columns, number_count, _i + 1);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    run_and_verify("sim", f.schedule, (prem_mode)mode);
    run_and_verify("cpu", f.schedule, (prem_mode)mode);
  }
}

TEST(the_place_is_held_within_the_array) {
  ck_assert_int_eq(prem_aimed(0, 7, 5, 20), 7);
  ck_assert_int_eq(prem_aimed(-3, 7, 5, 20), 4);
  ck_assert_int_eq(prem_aimed(0, 15, 5, 20), 15);
  ck_assert_int_eq(prem_aimed(0, 16, 5, 20), 15);
  ck_assert_int_eq(prem_aimed(0, -1, 5, 20), 0);
  ck_assert_int_eq(prem_aimed(0, 0, 20, 20), 0);
  ck_assert_int_eq(prem_aimed(9, INT32_MAX, 5, 20), 15);
  ck_assert_int_eq(prem_aimed(-9, INT32_MIN, 5, 20), 0);
  ck_assert_int_eq(prem_aimed(INT64_C(1) << 40, INT32_MIN, 5, 20), 15);
}

/* What a plan reckons with does not depend on the numbers: as many pieces as the window can touch.
 */
TEST(bytes_are_the_most_there_can_be) {
  usual_kernel();
  FIXTURE f = {0};
  load(&f, ROWS, COLUMNS, 2, 1);
  const prem_task *task = &f.schedule->tasks[1];
  ck_assert_int_eq(task->layout[0].row_bytes, 32); /* 15 of lead and 9 */
  const int64_t numbers = 16;                      /* 8 bytes from a multiple of 16 */
  for (int32_t tile = 0; tile < TILES; ++tile)
    ck_assert_int_eq(prem_task_phase_bytes(f.schedule, task, PREM_PREFETCH, tile),
                     HEIGHT * 32 + numbers);
}

GROUP("work areas");

TEST(a_work_area_takes_scratchpad) {
  usual_kernel();
  FIXTURE f = {0};
  load(&f, ROWS, COLUMNS, 2, 1);
  const prem_task *task = &f.schedule->tasks[1];
  const int32_t without = 256; /* 47 floats in rows of 16 bytes, rounded up to 128 */
  ck_assert_int_eq(task->layout[3].offset_bytes, without);
  ck_assert_int_eq(task->out_bytes, without + 128);
  ck_assert_int_eq(prem_block_scratch_bytes(f.schedule, 0), 2 * (task->in_bytes + task->out_bytes));
}

/* Wherever it will begin: all of the array is between its first element and its last. */
TEST(an_aimed_window_may_be_anywhere) {
  usual_kernel();
  FIXTURE f = {0};
  load(&f, ROWS, COLUMNS, 2, 1);
  const prem_task *task = &f.schedule->tasks[1];
  const int64_t shape[4] = {1, 1, ROWS, COLUMNS};
  for (int32_t tile = 0; tile < TILES; ++tile) {
    int64_t first[4], size[4];
    ck_assert(prem_window_clip(task, &task->windows[0], shape, tile, first, size));
    for (int d = 0; d < 4; ++d) {
      ck_assert_int_eq(first[d], 0);
      ck_assert_int_eq(size[d], shape[d]);
    }
  }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refused(int32_t rows, const char *words) {
  FIXTURE f = {0};
  fixture_read(&f, text(file_text, rows, COLUMNS, 5, 1, 5));
  fixture_expect(&f, prem_schedule_bind(f.schedule, &registry, f.diag), PREM_ERR_INVALID);
  fixture_expect_said(&f, words);
}

GROUP("refusals");

TEST(careless_kernels_are_refused) {
  static const char *const row =
      "aims the window of 'frame' by what is not a row of 1 to 4 numbers";
  usual_kernel();
  expect_refused(HEIGHT - 1, "has 4 elements where kernel 'look' aims a window of 5");
  aim_port = 3; /* there is none */
  expect_refused(ROWS, row);
  aim_port = 2; /* an output */
  expect_refused(ROWS, row);
  aim_port = 0; /* itself */
  expect_refused(ROWS, row);
  usual_kernel();
  aim_port = -7;
  expect_refused(ROWS, row);
  usual_kernel();
  number_count = 5;
  expect_refused(ROWS, row);
  usual_kernel();
  first_number = 4; /* the second number lies beyond the array */
  expect_refused(ROWS, row);
  usual_kernel();
  work_bytes = -1;
  expect_refused(ROWS, "wants a work area of -1 bytes");
}

GROUP("work areas");

TEST(a_work_area_may_be_too_large) {
  usual_kernel();
  work_bytes = INT32_MAX - 300;
  expect_refused(ROWS, "more than 2 GiB of scratchpad");
}
