/* SPDX-License-Identifier: Apache-2.0 */
/* The tracker's baselines without a GPU: their steps, block by block on the CPU, follow targets as
 * the kernels' references do, up to what other transforms and sums round. */
/* ctest: release */

#include "examples/tracker/baselines/steps.h"
#include "examples/tracker/plain.h"
#include "examples/tracker/score.h"
#include "examples/tracker/synth.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "tests/examples/track_kernels.h"

enum { ROWS = 240, COLUMNS = 320, TARGETS = 3, FRAMES = 25 };

static const void *params_of(const prem_schedule *schedule, const char *task) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (strcmp(schedule->tasks[t].name, task) == 0)
      return schedule->tasks[t].params;
  ck_abort_msg("there is no task %s", task);
  return NULL;
}

/* At one scale one task does both. */
static track_find_params find_params(const prem_schedule *schedule, int32_t scales) {
  const void *locate = params_of(schedule, "locate");
  if (scales == 1)
    return *(const track_find_params *)locate;
  const void *respond = params_of(schedule, "respond");
  return (track_find_params){*(const track_respond_params *)respond,
                             *(const track_locate_params *)locate};
}

/* ---- a batch on the CPU ---- */

static void *zeros(size_t count, size_t bytes) {
  void *memory = calloc(count, bytes);
  ck_assert_ptr_nonnull(memory);
  return memory;
}

static baseline_batch new_batch(const prem_schedule *schedule, int32_t scales, int32_t targets,
                                const float *command, const uint8_t *frame) {
  enum { PLANES = TRACK_PLANES * BASELINE_POINTS };
  const track_find_params find = find_params(schedule, scales);
  baseline_batch batch = {.features =
                              *(const track_features_params *)params_of(schedule, "features"),
                          .locate = find.locate,
                          .train = *(const track_train_params *)params_of(schedule, "train"),
                          .sigma = find.respond.sigma,
                          .rate = ((const track_learn_params *)params_of(schedule, "learn"))->rate,
                          .targets = targets,
                          .frame = frame,
                          .command = command};
  const size_t count = (size_t)targets, regions = count * (size_t)batch.locate.scales;
  batch.pose = zeros(count * POSE_NUMBERS, sizeof(float));
  batch.model = zeros(count * PLANES, sizeof(prem_c64));
  batch.model_energy = zeros(count * TRACK_PLANES / 2, sizeof(float));
  batch.alpha = zeros(count * BASELINE_POINTS, sizeof(float));
  batch.planes = zeros(regions * PLANES, sizeof(prem_c64));
  batch.energy = zeros(regions * BASELINE_STRIPS, sizeof(float));
  batch.plane = zeros(regions * BASELINE_POINTS, sizeof(prem_c64));
  batch.peaks = zeros(regions * PEAK_NUMBERS, sizeof(float));
  return batch;
}

static void free_batch(baseline_batch *of) {
  free(of->pose);
  free(of->model);
  free(of->model_energy);
  free(of->alpha);
  free(of->planes);
  free(of->energy);
  free(of->plane);
  free(of->peaks);
}

/* As cuFFT does it: backwards without a factor. */
static void transform(prem_c64 *points, float sign) {
  static prem_fft_point room[BASELINE_POINTS], at[BASELINE_POINTS];
  memcpy(at, points, sizeof at);
  track_plane plane = {at, room, TRACK_CELLS, TRACK_CELLS};
  track_transform(sign, &plane);
  for (int i = 0; i < BASELINE_POINTS; ++i) {
    const float factor = sign > 0 ? 1 : BASELINE_POINTS;
    points[i].re = plane.points[i].re * factor;
    points[i].im = plane.points[i].im * factor;
  }
}

static void run_turn(const baseline_batch *of, baseline_turn turn, void *room, float *boxes) {
  const baseline_grid grid = baseline_grid_of(of, turn);
  prem_c64 *planes = turn.step == BASELINE_SPECTRA ? of->planes : of->plane;
  for (int32_t x = 0; x < grid.x && baseline_is_transform(turn); ++x)
    transform(planes + (size_t)x * BASELINE_POINTS, turn.step == BASELINE_BACK ? -1 : 1);
  for (int32_t y = 0; y < grid.y && !baseline_is_transform(turn); ++y)
    for (int32_t x = 0; x < grid.x; ++x) {
      memset(room, 0xFF, sizeof(baseline_sight)); /* blocks find no zeros */
      baseline_block(of, (baseline_step)turn.step, turn.learns, x, y, room, boxes);
    }
}

static void run_frame(const baseline_batch *of, float *boxes) {
  FREED void *room = zeros(1, sizeof(baseline_sight));
  for (int32_t i = 0; i < BASELINE_TURNS; ++i) {
    ck_assert_int_le(baseline_grid_of(of, BASELINE_FRAME[i]).room_bytes,
                     (int32_t)sizeof(baseline_sight));
    run_turn(of, BASELINE_FRAME[i], room, boxes);
  }
}

/* ---- beside the references ---- */

/* Six digits at first; what is rounded otherwise grows, as the model learns what it found. */
static void expect_the_same(const float *found, const float *expected, int frame, int target) {
  const box one = {found[BOX_X], found[BOX_Y], found[BOX_WIDTH], found[BOX_HEIGHT]};
  const box other = {expected[BOX_X], expected[BOX_Y], expected[BOX_WIDTH], expected[BOX_HEIGHT]};
  const bool early = frame < 3;
  const double distance = box_distance(&one, &other), overlap = box_overlap(&one, &other);
  ck_assert_msg(distance < (early ? 1e-3 : 0.25) && overlap > (early ? 0.9999 : 0.9),
                "frame %d, target %d: %g px, overlap %g", frame, target, distance, overlap);
  ck_assert_float_eq(found[BOX_STATUS], expected[BOX_STATUS]);
  ck_assert_float_eq_tol(found[BOX_PEAK], expected[BOX_PEAK], early ? 1e-5F : 0.03F);
}

/* Two batches, as streams of their own have them. */
TESTS(steps_follow_as_the_references, 2) {
  const int32_t scales = _i ? 3 : 1;
  const track_setting setting = track_setting_for(ROWS, COLUMNS, TARGETS, scales);
  OWNED(prem_schedule) *schedule = track_schedule_of(&setting, PREM_OK);
  plain_tracker *plain = plain_new(schedule);
  ck_assert_ptr_nonnull(plain);
  synth_settings settings = synth_defaults();
  synth *made = NULL;
  settings.targets = TARGETS;
  settings.scale = 15;
  settings.noise = 4;
  ck_assert_int_eq(synth_new(&settings, &made, NULL), PREM_OK);
  uint8_t *frame = plain_array(plain, "frame");
  float *command = plain_array(plain, "command"), *expected = plain_array(plain, "boxes");
  float boxes[TARGETS * BOX_NUMBERS];
  for (int t = 0; t < TARGETS; ++t) {
    const box at = synth_truth(made, 0, t);
    const float row[COMMAND_NUMBERS] = {1, at.x, at.y, at.w, at.h};
    memcpy(command + t * COMMAND_NUMBERS, row, sizeof row);
  }
  baseline_batch first = new_batch(schedule, scales, 1, command, frame);
  baseline_batch others =
      new_batch(schedule, scales, TARGETS - 1, command + COMMAND_NUMBERS, frame);
  for (int i = 0; i < FRAMES; ++i) {
    synth_frame(made, i, frame, COLUMNS);
    ck_assert(plain_step(plain));
    run_frame(&first, boxes);
    run_frame(&others, boxes + BOX_NUMBERS);
    for (int t = 0; t < TARGETS; ++t)
      expect_the_same(boxes + t * BOX_NUMBERS, expected + t * BOX_NUMBERS, i, t);
  }
  free_batch(&first);
  free_batch(&others);
  synth_free(made);
  plain_free(plain);
}
