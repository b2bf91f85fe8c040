/* SPDX-License-Identifier: Apache-2.0 */
/* The tracker's kernels: arithmetic against doubles, features against a second way to compute them,
 * responses where they have to be, and targets that cannot be followed. What a run makes of them on
 * each backend is tests/cmake/tracker.sh's. */
#include <math.h>

#include "examples/tracker/kernels/track_correlate.h"
#include "examples/tracker/kernels/track_features.h"
#include "examples/tracker/kernels/track_learn.h"
#include "examples/tracker/kernels/track_locate.h"
#include "examples/tracker/kernels/track_respond.h"
#include "examples/tracker/kernels/track_train.h"
#include "examples/tracker/plain.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "tests/examples/track_kernels.h"
#if WITH_CUDA
#include "runtime/cuda/device/executive.h"
#endif

enum { ROWS = 240, COLUMNS = 320 };

/* ---- a tracker ------------------------------------------------------------------------------- */

typedef struct world {
  prem_schedule *schedule;
  plain_tracker *plain;
  uint8_t *frame;
  float *command, *boxes;
} world;

static world new_world(int32_t scales) {
  const track_setting setting = track_setting_for(ROWS, COLUMNS, 1, scales);
  world w = {.schedule = track_schedule_of(&setting, PREM_OK)};
  w.plain = plain_new(w.schedule);
  ck_assert_ptr_nonnull(w.plain);
  w.frame = plain_array(w.plain, "frame");
  w.command = plain_array(w.plain, "command");
  w.boxes = plain_array(w.plain, "boxes");
  return w;
}

static void free_world(world *w) {
  plain_free(w->plain);
  prem_schedule_free(w->schedule);
}

/* Some texture, and at (x, y) a disc with a cross in it. */
static void draw(const world *w, double x, double y) {
  for (int r = 0; r < ROWS; ++r)
    for (int c = 0; c < COLUMNS; ++c) {
      const double dx = c + 0.5 - x, dy = r + 0.5 - y, edge = 20 - sqrt(dx * dx + dy * dy);
      const double disc = edge > 1 ? 1 : edge < 0 ? 0 : edge;
      const double cross = fabs(dx) < 4 || fabs(dy) < 3 ? 60 : 220;
      const double ground = 100 + 5 * sin(c * 0.11) * cos(r * 0.13);
      w->frame[r * COLUMNS + c] = (uint8_t)(ground * (1 - disc) + cross * disc);
    }
}

static void begin(const world *w, float serial, float x, float y, float width, float height) {
  const float row[COMMAND_NUMBERS] = {serial, x, y, width, height};
  memcpy(w->command, row, sizeof row);
}

static void expect_centre(const world *w, double x, double y, double within) {
  ck_assert_float_eq(w->boxes[BOX_STATUS], TARGET_FOUND);
  ck_assert_double_eq_tol((double)(w->boxes[BOX_X] + w->boxes[BOX_WIDTH] / 2), x, within);
  ck_assert_double_eq_tol((double)(w->boxes[BOX_Y] + w->boxes[BOX_HEIGHT] / 2), y, within);
}

GROUP("targets");

TESTS(a_target_is_followed, 2) {
  world w = new_world(_i ? 5 : 1);
  begin(&w, 1, 120, 90, 40, 40);
  for (int i = 0; i < 20; ++i) {
    const double x = 140 + 3.5 * i, y = 110 - 1.25 * i;
    draw(&w, x, y);
    ck_assert(plain_step(w.plain));
    if (i == 0)
      ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_STARTED);
    else
      expect_centre(&w, x, y, 1.5);
  }
  free_world(&w);
}

/* From corner to corner: half of the region is outside. */
TEST(a_target_at_the_frame_s_edge_is_followed) {
  world w = new_world(1);
  begin(&w, 1, 0, 0, 40, 40);
  for (int i = 0; i < 40; ++i) {
    const double x = 20 + 7.0 * i, y = 20 + 5.0 * i;
    draw(&w, x, y);
    ck_assert(plain_step(w.plain));
    if (i > 0)
      expect_centre(&w, x, y, 1.5);
  }
  free_world(&w);
}

TEST(a_broken_model_is_lost_until_the_next_command) {
  world w = new_world(1);
  begin(&w, 1, 120, 90, 40, 40);
  draw(&w, 140, 110);
  for (int i = 0; i < 3; ++i)
    ck_assert(plain_step(w.plain));
  ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_FOUND);
  float *model = plain_array(w.plain, "model");
  model[4711] = NAN;
  for (int i = 0; i < 3; ++i) {
    ck_assert(plain_step(w.plain));
    if (i > 0) {
      ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_LOST);
      ck_assert_double_eq_tol((double)w.boxes[BOX_X], 120, 1);
    }
  }
  begin(&w, 2, 120, 90, 40, 40);
  ck_assert(plain_step(w.plain));
  ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_STARTED);
  ck_assert(plain_step(w.plain));
  expect_centre(&w, 140, 110, 1);
  free_world(&w);
}

TEST(another_thing_is_not_the_target) {
  world w = new_world(1);
  begin(&w, 1, 120, 90, 40, 40);
  draw(&w, 140, 110);
  for (int i = 0; i < 3; ++i)
    ck_assert(plain_step(w.plain));
  memset(w.frame, 90, (size_t)ROWS * COLUMNS); /* a wall */
  ck_assert(plain_step(w.plain));
  ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_LOST);
  draw(&w, 141, 110); /* nothing was learnt of the wall */
  ck_assert(plain_step(w.plain));
  expect_centre(&w, 141, 110, 4);
  free_world(&w);
}

TEST(what_cannot_be_followed_is_refused) {
  static const float impossible[][4] = {
      {10, 10, 1, 1},                       /* smaller than 4 x 4 */
      {10, 10, 3.9F, 4},  {10, 10, 90, 90}, /* its region would be 270 pixels wide */
      {-50, 10, 40, 40},                    /* its centre is outside */
      {310, 10, 40, 40},  {10, 230, 40, 40}, {10, -21, 40, 40},     {10, 10, NAN, 40},
      {10, 10, -40, -40}, {NAN, 10, 40, 40}, {10, 10, INFINITY, 40}};
  world w = new_world(1);
  draw(&w, 140, 110);
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; ++i) {
    begin(&w, (float)(2 * i + 1), impossible[i][0], impossible[i][1], impossible[i][2],
          impossible[i][3]);
    for (int step = 0; step < 2; ++step) {
      ck_assert(plain_step(w.plain));
      ck_assert_msg(w.boxes[BOX_STATUS] == (float)TARGET_REFUSED, "box %zu: status %g", i,
                    (double)w.boxes[BOX_STATUS]);
    }
    begin(&w, (float)(2 * i + 2), 120, 90, 40, 40);
    ck_assert(plain_step(w.plain));
    ck_assert(plain_step(w.plain));
    expect_centre(&w, 140, 110, 1);
  }
  static const float possible[][4] = {
      {10, 10, 4, 4}, {10, 10, 85.3F, 85.3F}, {-20, 10, 40, 40}, {300, 10, 40, 40}};
  for (size_t i = 0; i < sizeof possible / sizeof *possible; ++i) {
    begin(&w, (float)(100 + i), possible[i][0], possible[i][1], possible[i][2], possible[i][3]);
    ck_assert(plain_step(w.plain));
    ck_assert_msg(w.boxes[BOX_STATUS] == (float)TARGET_STARTED, "box %zu", i);
  }
  free_world(&w);
}

TEST(no_command_is_no_target) {
  world w = new_world(1);
  draw(&w, 140, 110);
  for (int i = 0; i < 3; ++i) {
    ck_assert(plain_step(w.plain));
    ck_assert_float_eq(w.boxes[BOX_STATUS], TARGET_NONE);
  }
  free_world(&w);
}

GROUP("schedules");

/* A schedule for many has room for its tiles, and a plan. */
TESTS(schedules_of_all_sizes_have_plans, 4) {
  static const int32_t sizes[][4] = {
      {240, 320, 1, 1}, {40, 262, 1, 3}, {480, 640, 4, 5}, {240, 320, 64, 5}};
  track_setting setting = track_setting_for(sizes[_i][0], sizes[_i][1], sizes[_i][2], sizes[_i][3]);
  setting.period_ns = INT64_C(10000000) * sizes[_i][2] * (sizes[_i][3] + 1);
  OWNED(prem_schedule) *schedule = track_schedule_of(&setting, PREM_OK);
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_prepare(schedule, track_registry(), NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
}

/* An H200's SM has 228 KiB of scratchpad. The courier's block may be on it, with 8 KiB and what the
 * GPU keeps of a block; that keeps 1 KiB of each of ours as well. */
enum {
  H200_SMS = 132,
  H200_BYTES = 228 * 1024 - (8192 + 2048),
  EXECUTIVE_BYTES = 33 * 1024 /* at most, of a live session with all tasks on a block */
};

#if WITH_CUDA
static bool has_ticket(const prem_schedule *schedule, int32_t array) {
  bool has = prem_array_is_state(&schedule->arrays[array]);
  for (int32_t i = 0; i < schedule->live_count; ++i)
    has |= schedule->live[i].array == array;
  return has;
}

/* As the backend lays it out: a gate for each port that has a ticket, and for each input at most.
 */
static int64_t executive_bytes(const prem_schedule *schedule) {
  prem_launch launch = {.max_tasks = schedule->task_count};
  int64_t gates = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    const int32_t ports = task->definition->port_count, views = ports + (task->work_bytes > 0);
    launch.max_ports += views;
    launch.max_views = views > launch.max_views ? views : launch.max_views;
    launch.max_moves = ports > launch.max_moves ? ports : launch.max_moves;
    gates += schedule->live_count;
    for (int32_t p = 0; p < ports; ++p)
      gates += has_ticket(schedule, task->arrays[p]);
  }
  prem_executive_lay_out(&launch, prem_executive_live_bytes());
  return launch.buffers_at + schedule->task_count * (int64_t)sizeof(prem_device_live_task) +
         gates * (int64_t)sizeof(prem_device_gate) + 127;
}
#endif

static void expect_room(int32_t rows, int32_t columns, int32_t targets, int32_t scales,
                        track_company company, int32_t an_sm) {
  track_setting setting = track_setting_for(rows, columns, targets, scales);
  setting.blocks = H200_SMS * an_sm;
  setting.an_sm = an_sm;
  setting.on_gpu = true;
  setting.strips = 8;
  setting.company = company;
  OWNED(prem_schedule) *schedule = track_schedule_of(&setting, PREM_OK);
  ck_assert_int_gt(schedule->platform.scratch_bytes, 0);
  ck_assert_int_le(an_sm * (schedule->platform.scratch_bytes + EXECUTIVE_BYTES + 1024), H200_BYTES);
  for (int32_t b = 0; b < setting.blocks; ++b)
    ck_assert_int_le(prem_block_scratch_bytes(schedule, b), schedule->platform.scratch_bytes);
#if WITH_CUDA
  ck_assert_int_le(executive_bytes(schedule), EXECUTIVE_BYTES);
#endif
}

/* Fewer strips where each block has some of them, and room: a reach of 1 takes smaller windows. */
TESTS(regions_are_cut_as_blocks_have_room, 5) {
  static const struct {
    int32_t targets, scales, an_sm, strips;
    float reach;
  } cases[] = {
      {64, 5, 2, 4, 1}, {64, 5, 2, 8, 2}, {64, 5, 1, 4, 1}, {1, 1, 1, 8, 1}, {26, 5, 2, 8, 1}};
  track_setting setting = track_setting_for(960, 1280, cases[_i].targets, cases[_i].scales);
  setting.blocks = H200_SMS * cases[_i].an_sm;
  setting.an_sm = cases[_i].an_sm;
  setting.on_gpu = true;
  setting.reach = cases[_i].reach;
  track_schedule_cut(&setting, track_registry());
  ck_assert_int_eq(setting.strips, cases[_i].strips);
}

/* Two buffers of a block's largest tiles beside the executive, or two blocks with one each. */
TEST(blocks_have_room_on_an_h200) {
  static const int32_t targets[] = {1, 3, 64};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i)
    for (int32_t scales = 1; scales <= TRACK_MAX_SCALES; scales += 2)
      for (int company = TRACK_ALONE; company < TRACK_COMPANIES; ++company) {
        for (int32_t an_sm = 1; an_sm <= 2; ++an_sm) {
          expect_room(240, 320, targets[i], scales, (track_company)company, an_sm);
          expect_room(960, 1280, targets[i], scales, (track_company)company, an_sm);
        }
      }
}

/* Windows are no larger than the frame. */
TEST(small_frames_are_followed) {
  static const int32_t sizes[][2] = {{16, 16}, {24, 400}, {300, 20}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const track_setting setting = track_setting_for(sizes[i][0], sizes[i][1], 1, 3);
    OWNED(prem_schedule) *schedule = track_schedule_of(&setting, PREM_OK);
    plain_tracker *plain = plain_new(schedule);
    ck_assert_ptr_nonnull(plain);
    uint8_t *frame = plain_array(plain, "frame");
    const float command[COMMAND_NUMBERS] = {1, 2, 2, 8, 8};
    memcpy(plain_array(plain, "command"), command, sizeof command);
    for (int32_t p = 0; p < sizes[i][0] * sizes[i][1]; ++p)
      frame[p] = (uint8_t)(p * 37 % 251);
    for (int step = 0; step < 3; ++step)
      ck_assert(plain_step(plain));
    const float *box = plain_array(plain, "boxes");
    ck_assert_float_eq(box[BOX_STATUS], TARGET_FOUND);
    ck_assert_float_eq_tol(box[BOX_X], 2, 0.1F);
    plain_free(plain);
  }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

GROUP("arithmetic");

TEST(exponentials_are_near) {
  double worst = 0;
  for (int i = 0; i < 870000; ++i) {
    const float x = -(float)i * 1e-4F;
    const double right = exp((double)x), ulp = right * 0x1p-23;
    worst = fmax(worst, fabs((double)track_exp(x) - right) / ulp);
  }
  ck_assert_double_lt(worst, 2);
  ck_assert_float_eq(track_exp(0), 1);
  ck_assert_float_eq(track_exp(-87), 0);
  ck_assert_float_eq(track_exp(-INFINITY), 0);
  ck_assert_float_eq(track_exp(NAN), 0);
}

TEST(floors_are_integers_below) {
  ck_assert_int_eq(track_floor(2.75F), 2);
  ck_assert_int_eq(track_floor(-2.25F), -3);
  ck_assert_int_eq(track_floor(-3), -3);
  ck_assert_int_eq(track_floor(1e30F), 1 << 24);
  ck_assert_int_eq(track_floor(-1e30F), -(1 << 24));
  ck_assert_int_eq(abs(track_floor(NAN)), 1 << 24);
}

TEST(parabolas_have_their_top) {
  ck_assert_float_eq(locate_top(1, 2, 1), 0);
  ck_assert_float_eq(locate_top(1, 2, 2), 0.5F);
  ck_assert_float_eq(locate_top(2, 2, 1), -0.5F);
  ck_assert_float_eq(locate_top(1, 1, 1), 0); /* none */
  ck_assert_float_eq(locate_top(NAN, 1, 1), 0);
  ck_assert_float_eq(locate_cells(0, 1, 2, 1), 0);
  ck_assert_float_eq(locate_cells(15, 1, 2, 1), 15);
  ck_assert_float_eq(locate_cells(16, 1, 2, 1), -16);
  ck_assert_float_eq(locate_cells(31, 1, 2, 2), -0.5F);
}

/* ---- features: the same in doubles, from their definition -------------------------------------
 */

static double slope_at(const float *pixels, int r, int c, int *bin) {
  enum { N = TRACK_PIXELS };
  const int r0 = r > 0 ? r - 1 : 0, r1 = r < N - 1 ? r + 1 : r, c0 = c > 0 ? c - 1 : 0,
            c1 = c < N - 1 ? c + 1 : c;
  const double x = (double)(pixels[r * N + c1] - pixels[r * N + c0]) / (c1 - c0);
  const double y = (double)(pixels[r1 * N + c] - pixels[r0 * N + c]) / (r1 - r0);
  double best = 0;
  *bin = 0;
  for (int k = 0; k < 18; ++k) {
    const double along = x * cos(M_PI * k / 9) + y * sin(M_PI * k / 9);
    if (along > best + 1e-9) {
      best = along;
      *bin = k;
    }
  }
  return sqrt(x * x + y * y);
}

static double weight_at(int pixel, int cell) {
  const double way = fabs(pixel + 0.5 - 4.0 * (cell + 0.5)) / 4;
  return way < 1 ? 1 - way : 0;
}

typedef struct exact {
  double sums[32][32][18], squares[34][34], features[31][32][32];
} exact;

static double cut(double value) {
  return value < 0.2 ? value : 0.2;
}

static void describe_cell(exact *e, int i, int j) {
  const double fade = (0.5 - 0.5 * cos(2 * M_PI * i / 31)) * (0.5 - 0.5 * cos(2 * M_PI * j / 31));
  double texture[4] = {0};
  for (int q = 0; q < 4; ++q) {
    const int r = i + q / 2, c = j + q % 2; /* squares have a border of one cell */
    const double norm = 1 / sqrt(e->squares[r][c] + e->squares[r][c + 1] + e->squares[r + 1][c] +
                                 e->squares[r + 1][c + 1] + 1e-4);
    for (int k = 0; k < 18; ++k) {
      const double one = cut(e->sums[i][j][k] * norm);
      e->features[k][i][j] += 0.5 * one * fade;
      texture[q] += one;
      if (k < 9)
        e->features[18 + k][i][j] +=
            0.5 * cut((e->sums[i][j][k] + e->sums[i][j][k + 9]) * norm) * fade;
    }
  }
  for (int q = 0; q < 4; ++q)
    e->features[27 + q][i][j] = 0.2357 * texture[q] * fade;
}

static void describe(const float *pixels, exact *e) {
  memset(e, 0, sizeof *e);
  for (int r = 0; r < TRACK_PIXELS; ++r)
    for (int c = 0; c < TRACK_PIXELS; ++c) {
      int bin;
      const double slope = slope_at(pixels, r, c, &bin);
      for (int i = 0; i < 32; ++i)
        for (int j = (c / 4 > 0 ? c / 4 - 1 : 0); j < 32 && j <= c / 4 + 1; ++j)
          e->sums[i][j][bin] += slope * weight_at(r, i) * weight_at(c, j) / 16;
    }
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j)
      for (int k = 0; k < 9; ++k)
        e->squares[i + 1][j + 1] += pow(e->sums[i][j][k] + e->sums[i][j][k + 9], 2);
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j)
      describe_cell(e, i, j);
}

TEST(features_are_those_of_their_definition) {
  static exact expected;
  static float pixels[TRACK_PIXELS * TRACK_PIXELS];
  const int32_t size[2] = {ROWS, COLUMNS};
  world w = new_world(3);
  begin(&w, 1, 100, 80, 40, 32);
  draw(&w, 118, 99);
  ck_assert(plain_step(w.plain));
  float geometry[GEOMETRY_NUMBERS]; /* the middle scale's */
  aim_region(size, 2 * TRACK_PIXELS, 1, plain_array(w.plain, "pose"), geometry);
  const float *found = plain_array(w.plain, "learn_features.out");
  const float *energy = plain_array(w.plain, "learn_features.energy");
  const sample_window whole = {w.frame, COLUMNS, 0, 0};
  sample_rows(size, &whole, geometry, 0, TRACK_PIXELS, pixels);
  describe(pixels, &expected);
  double worst = 0, square = 0, all = 0;
  for (int k = 0; k < TRACK_CHANNELS; ++k)
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 32; ++j) {
        const double value = (double)found[((k / 2 * 32 + i) * 32 + j) * 2 + k % 2];
        worst = fmax(worst, fabs(value - expected.features[k][i][j]));
        square += value * value;
      }
  for (int row = 0; row < TRACK_CELLS; ++row)
    all += (double)energy[row];
  ck_assert_double_lt(worst, 1e-5);
  ck_assert_double_gt(square, 1);
  ck_assert_double_eq_tol(all, square, 1e-5 * square);
  free_world(&w);
}

/* What was learnt from a region answers to it with 1 at (0, 0). */
TEST(the_model_answers_to_itself) {
  world w = new_world(3);
  begin(&w, 1, 120, 90, 40, 40);
  draw(&w, 140, 110);
  ck_assert(plain_step(w.plain));
  ck_assert(plain_step(w.plain));
  const float *peak = plain_array(w.plain, "respond.peaks"); /* then the middle scale's */
  peak += PEAK_NUMBERS;
  ck_assert_float_eq(peak[PEAK_ROW], 0);
  ck_assert_float_eq(peak[PEAK_COLUMN], 0);
  ck_assert_double_eq_tol((double)peak[PEAK_VALUE], 1, 0.01);
  free_world(&w);
}
