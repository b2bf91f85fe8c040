/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's version of the tracker's kernels on the CPU, a thread for each lane: frames have to
 * give the references' bits, however regions are cut and with any number of lanes; under the thread
 * sanitizer, without a race.
 */
/* ctest: threads */
#include "tests/common/lane_threads.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wcast-align"
/* As in tests/runtime/test_device_code.c. */
#pragma GCC push_options
#pragma GCC optimize("no-tree-slp-vectorize")
#include "examples/tracker/kernels/track_correlate.h"
#include "examples/tracker/kernels/track_features.h"
#include "examples/tracker/kernels/track_find.h"
#include "examples/tracker/kernels/track_learn.h"
#include "examples/tracker/kernels/track_locate.h"
#include "examples/tracker/kernels/track_respond.h"
#include "examples/tracker/kernels/track_train.h"
#pragma GCC pop_options
#pragma GCC diagnostic pop

#include "examples/tracker/plain.h"
#include "tests/common/lane_crew.h"
#include "tests/common/suite.h"
#include "tests/examples/track_kernels.h"

enum { ROWS = 90, COLUMNS = 140 };

/* ---- a tile by lanes ------------------------------------------------------------------------- */

#define ON_DEVICE(NAME)                                                                            \
  if (strcmp(task->definition->name, #NAME) == 0)                                                  \
  NAME##_compute((const NAME##_params *)(const void *)task->params, views)

static void compute(const prem_task *task, const prem_view *views) {
  ON_DEVICE(track_features);
  ON_DEVICE(track_correlate);
  ON_DEVICE(track_respond);
  ON_DEVICE(track_locate);
  ON_DEVICE(track_find);
  ON_DEVICE(track_learn);
  ON_DEVICE(track_train);
}

/* ---- windows: each in memory of its own, so that a sanitizer sees its ends ------------------- */

typedef struct world {
  const prem_schedule *schedule;
  unsigned char **arrays;
} world;

static size_t bytes_of(const prem_array *array) {
  size_t bytes = (size_t)prem_type_bytes(array->type);
  for (int d = 0; d < 4; ++d)
    bytes *= (size_t)array->shape[d];
  return bytes;
}

static void place(const world *w, const prem_task *task, int32_t tile, int32_t port,
                  prem_view *views) {
  const prem_window *window = &task->windows[port];
  const prem_array *array = &w->schedule->arrays[task->arrays[port]];
  const int32_t index[3] = {tile / task->grid[2] / task->grid[1],
                            tile / task->grid[2] % task->grid[1], tile % task->grid[2]};
  const int32_t element = prem_type_bytes(array->type);
  prem_view *view = &views[port];
  *view = (prem_view){0};
  for (int d = 0; d < 4; ++d) {
    view->origin[d] = window->base[d];
    for (int k = 0; k < 3; ++k)
      view->origin[d] += window->step[d][k] * index[k];
    view->extent[d] = window->extent[d];
  }
  if (window->aim) /* by four numbers, which are there */
    for (int d = 0; d < 4; ++d)
      view->origin[d] =
          prem_aimed(view->origin[d], ((const int32_t *)views[window->aim - 1].data)[d],
                     window->extent[d], array->shape[d]);
  view->pitch[2] = (view->extent[3] * element + 15) / 16 * 16 / element;
  view->pitch[1] = view->pitch[2] * view->extent[2];
  view->pitch[0] = view->pitch[1] * view->extent[1];
  const size_t bytes = (size_t)view->pitch[0] * (size_t)view->extent[0] * (size_t)element;
  ck_assert_int_eq(posix_memalign(&view->data, 128, bytes), 0);
  memset(view->data, 0xFF, bytes);
}

/* Between a window and its array, which it lies within. */
static void move(const world *w, const prem_task *task, int32_t port, const prem_view *view,
                 unsigned char *memory) {
  const prem_array *array = &w->schedule->arrays[task->arrays[port]];
  const size_t element = (size_t)prem_type_bytes(array->type);
  for (int32_t a = 0; a < view->extent[0]; ++a)
    for (int32_t b = 0; b < view->extent[1]; ++b)
      for (int32_t r = 0; r < view->extent[2]; ++r) {
        const int64_t row =
            ((view->origin[0] + a) * array->shape[1] + view->origin[1] + b) * array->shape[2] +
            view->origin[2] + r;
        unsigned char *there = memory + (size_t)(row * array->shape[3] + view->origin[3]) * element;
        unsigned char *here =
            (unsigned char *)view->data +
            (size_t)(a * view->pitch[0] + b * view->pitch[1] + r * view->pitch[2]) * element;
        const size_t bytes = (size_t)view->extent[3] * element;
        if (task->definition->ports[port].access == PREM_IN)
          memcpy(here, there, bytes);
        else
          memcpy(there, here, bytes);
      }
}

static void run_tile(const world *w, const prem_task *task, int32_t tile,
                     unsigned char *const *read) {
  const int32_t ports = task->definition->port_count;
  prem_view views[PREM_MAX_PORTS] = {0};
  for (int32_t aimed = 0; aimed < 2; ++aimed) /* last: by then there is what they are aimed by */
    for (int32_t p = 0; p < ports; ++p)
      if ((task->windows[p].aim != 0) == (aimed != 0)) {
        place(w, task, tile, p, views);
        if (task->definition->ports[p].access == PREM_IN)
          move(w, task, p, &views[p], read[p]);
      }
  if (task->work_bytes > 0) {
    ck_assert_int_eq(posix_memalign(&views[ports].data, 128, (size_t)task->work_bytes), 0);
    memset(views[ports].data, 0xFF, (size_t)task->work_bytes);
  }
  run_lanes(task, views);
  for (int32_t p = 0; p < ports; ++p)
    if (task->definition->ports[p].access == PREM_OUT)
      move(w, task, p, &views[p], w->arrays[task->arrays[p]]);
  for (int32_t p = 0; p <= ports; ++p)
    free(views[p].data);
}

/* What a task reads is as it was before it wrote. */
static void run_task(const world *w, const prem_task *task) {
  unsigned char *read[PREM_MAX_PORTS] = {0};
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const size_t bytes = bytes_of(&w->schedule->arrays[task->arrays[p]]);
    read[p] = malloc(bytes);
    ck_assert_ptr_nonnull(read[p]);
    memcpy(read[p], w->arrays[task->arrays[p]], bytes);
  }
  for (int32_t tile = 0; tile < task->tile_count; ++tile)
    run_tile(w, task, tile, read);
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    free(read[p]);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void draw(uint8_t *frame, int step) {
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    const int r = i / COLUMNS - 2 * step, c = i % COLUMNS - 3 * step;
    frame[i] = (uint8_t)((r / 5 * 71 + c / 7 * 37 + r * c % 23) & 0xFF);
  }
}

static void expect_equal(const world *w, plain_tracker *plain, int step) {
  for (int32_t a = 0; a < w->schedule->array_count; ++a) {
    const prem_array *array = &w->schedule->arrays[a];
    const unsigned char *expected = plain_array(plain, array->name);
    for (size_t i = 0; i < bytes_of(array); ++i)
      ck_assert_msg(w->arrays[a][i] == expected[i], "frame %d: byte %zu of %s", step, i,
                    array->name);
  }
}

TESTS(lanes_make_the_references_bits, 4) {
  static const struct {
    int32_t targets, scales, strips, blocks;
    unsigned lanes;
  } cases[] = {{1, 1, 8, 16, 256}, {2, 3, 8, 16, 160}, {1, 3, 4, 2, 33}, {1, 1, 4, 8, 384}};
  track_setting setting = track_setting_for(ROWS, COLUMNS, cases[_i].targets, cases[_i].scales);
  setting.strips = cases[_i].strips;
  setting.blocks = cases[_i].blocks;
  OWNED(prem_schedule) *schedule = track_schedule_of(&setting, PREM_OK);
  plain_tracker *plain = plain_new(schedule);
  ck_assert_ptr_nonnull(plain);
  world w = {schedule, calloc((size_t)schedule->array_count, sizeof *w.arrays)};
  for (int32_t a = 0; a < schedule->array_count; ++a)
    w.arrays[a] = calloc(1, bytes_of(&schedule->arrays[a]));
  float *command = plain_array(plain, "command");
  for (int t = 0; t < cases[_i].targets; ++t) {
    const float row[8] = {1, (float)(20 + 50 * t), 15, 20, 24};
    memcpy(command + t * 8, row, sizeof row);
  }
  start_lanes(cases[_i].lanes);
  for (int step = 0; step < 2; ++step) {
    draw(plain_array(plain, "frame"), step);
    for (int32_t a = 0; a < schedule->array_count; ++a)
      if (strcmp(schedule->arrays[a].name, "frame") == 0 ||
          strcmp(schedule->arrays[a].name, "command") == 0)
        memcpy(w.arrays[a], plain_array(plain, schedule->arrays[a].name),
               bytes_of(&schedule->arrays[a]));
    ck_assert(plain_step(plain));
    for (int32_t t = 0; t < schedule->task_count; ++t)
      run_task(&w, &schedule->tasks[t]);
    expect_equal(&w, plain, step);
  }
  end_lanes();
  for (int32_t a = 0; a < schedule->array_count; ++a)
    free(w.arrays[a]);
  free(w.arrays);
  plain_free(plain);
}
