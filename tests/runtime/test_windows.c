/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: every element of every window against the array, in up to four dimensions, and not a
 * byte written outside. */
#include <stdint.h>

#include "runtime/core/windows.h"

#include "tests/common/suite.h"

enum { GUARD = 0xA5, GUARD_BYTES = 128, FILLER = 0x3C };

/* One input and one output of a made-up task; both ports have the same window. */
typedef struct world {
  prem_kernel kernel;
  prem_port ports[2];
  prem_window windows[2];
  prem_port_layout layout[2];
  int32_t port_arrays[2];
  prem_task task;
  prem_schedule schedule;
  prem_storage storage[2];
  prem_arrays arrays;
  unsigned char *memory; /* of both arrays, guards between and around */
  size_t memory_bytes;
  unsigned char *scratch_memory, *scratch; /* one buffer with guards around */
  int32_t buffer_bytes;
} world;

static uint32_t random_state;

static int32_t random_below(int32_t limit) {
  random_state = random_state * 1664525U + 1013904223U;
  return (int32_t)((random_state >> 8) % (uint32_t)limit);
}

static void *aligned_guarded(size_t bytes) {
  void *memory = NULL;
  ck_assert_int_eq(posix_memalign(&memory, 128, bytes), 0);
  memset(memory, GUARD, bytes);
  return memory;
}

static prem_storage storage_of(const int64_t shape[4], prem_type type) {
  prem_storage storage = {.type = type, .element_bytes = prem_type_bytes(type)};
  memcpy(storage.shape, shape, sizeof storage.shape);
  storage.row_count = shape[0] * shape[1] * shape[2];
  storage.pitch_bytes = (shape[3] * storage.element_bytes + 15) / 16 * 16;
  return storage;
}

static prem_port_layout layout_of(const prem_window *window, int32_t element_bytes,
                                  int32_t *used_bytes) {
  const prem_port_layout layout = {
      .offset_bytes = *used_bytes,
      .row_bytes = (window->extent[3] * element_bytes + 15 + 15) / 16 * 16,
      .rows = window->extent[0] * window->extent[1] * window->extent[2],
      .element_bytes = element_bytes,
  };
  *used_bytes += (layout.row_bytes * layout.rows + 127) / 128 * 128;
  return layout;
}

static void make_world(world *w, const int64_t shape[4], prem_type type, const prem_window *window,
                       const int32_t grid[3]) {
  memset(w, 0, sizeof *w);
  int32_t used = 128; /* ports need not begin where their buffer does */
  const size_t array_bytes =
      ((size_t)(storage_of(shape, type).pitch_bytes * storage_of(shape, type).row_count) + 127) /
      128 * 128;
  w->memory_bytes = 2 * array_bytes + 3 * GUARD_BYTES;
  w->memory = aligned_guarded(w->memory_bytes);
  for (int32_t port = 0; port < 2; ++port) {
    w->ports[port] = (prem_port){port ? "out" : "in", port ? PREM_OUT : PREM_IN, type};
    w->windows[port] = *window;
    w->port_arrays[port] = 1 - port; /* the input is array 1 */
    used = 128;
    w->layout[port] = layout_of(window, prem_type_bytes(type), &used);
    w->storage[port] = storage_of(shape, type);
    w->storage[port].base = w->memory + GUARD_BYTES + (size_t)port * (array_bytes + GUARD_BYTES);
  }
  w->buffer_bytes = used;
  w->scratch_memory = aligned_guarded((size_t)used + 2 * GUARD_BYTES);
  w->scratch = w->scratch_memory + GUARD_BYTES;
  w->kernel = (prem_kernel){.name = "made-up", .ports = w->ports, .port_count = 2};
  w->task = (prem_task){.definition = &w->kernel,
                        .windows = w->windows,
                        .layout = w->layout,
                        .arrays = w->port_arrays,
                        .tile_count = grid[0] * grid[1] * grid[2]};
  memcpy(w->task.grid, grid, sizeof w->task.grid);
  w->schedule = (prem_schedule){.tasks = &w->task, .task_count = 1};
  w->arrays = (prem_arrays){.schedule = &w->schedule, .storage = w->storage};
}

static void free_world(world *w) {
  free(w->memory);
  free(w->scratch_memory);
}

static void fill_elements(const prem_storage *storage) {
  for (int64_t row = 0; row < storage->row_count; ++row)
    for (int64_t i = 0; i < storage->shape[3] * storage->element_bytes; ++i)
      storage->base[row * storage->pitch_bytes + i] = (unsigned char)random_below(256);
}

static void assert_bytes(const unsigned char *from, int64_t count, unsigned char value) {
  int64_t wrong = 0; /* one assertion for all: each is a write to a pipe */
  for (int64_t i = 0; i < count; ++i)
    wrong += from[i] != value;
  ck_assert_int_eq(wrong, 0);
}

/* Guards before, between and behind the arrays, and the padding of their rows. */
static void assert_memory_guards(const world *w) {
  const unsigned char *from = w->memory;
  for (int32_t a = 0; a < 2; ++a) {
    const prem_storage *storage = &w->storage[a];
    assert_bytes(from, storage->base - from, GUARD);
    for (int64_t row = 0; row < storage->row_count; ++row) {
      const int64_t used = storage->shape[3] * storage->element_bytes;
      assert_bytes(storage->base + row * storage->pitch_bytes + used, storage->pitch_bytes - used,
                   GUARD);
    }
    from = storage->base + storage->pitch_bytes * storage->row_count;
  }
  assert_bytes(from, w->memory + w->memory_bytes - from, GUARD);
}

static void assert_scratch_guards(const world *w) {
  assert_bytes(w->scratch_memory, GUARD_BYTES, GUARD);
  assert_bytes(w->scratch + w->buffer_bytes, GUARD_BYTES, GUARD);
}

static const unsigned char *view_at(const prem_view *view, int32_t element_bytes,
                                    const int32_t i[4]) {
  const int64_t offset = (int64_t)i[0] * view->pitch[0] + (int64_t)i[1] * view->pitch[1] +
                         (int64_t)i[2] * view->pitch[2] + i[3];
  return (const unsigned char *)view->data + offset * element_bytes;
}

static bool is_inside(const prem_storage *storage, const int64_t at[4]) {
  for (int32_t d = 0; d < 4; ++d)
    if (at[d] < 0 || at[d] >= storage->shape[d])
      return false;
  return true;
}

/* The next index of a 4-dimensional loop; false behind the last. */
static bool next_index(int32_t i[4], const int32_t extent[4]) {
  for (int32_t d = 3; d >= 0; --d) {
    if (++i[d] < extent[d])
      return true;
    i[d] = 0;
  }
  return false;
}

static void tile_index(const world *w, int32_t tile, int32_t index[3]) {
  const int32_t *grid = w->task.grid;
  index[0] = tile / (grid[1] * grid[2]);
  index[1] = tile / grid[2] % grid[1];
  index[2] = tile % grid[2];
}

static void declared_origin(const world *w, int32_t tile, int64_t origin[4]) {
  int32_t index[3];
  tile_index(w, tile, index);
  for (int32_t d = 0; d < 4; ++d) {
    origin[d] = w->windows[0].base[d];
    for (int32_t k = 0; k < 3; ++k)
      origin[d] += w->windows[0].step[d][k] * index[k];
  }
}

static void check_fetched(const world *w, int32_t tile, const prem_view *view) {
  const prem_storage *storage = &w->storage[1];
  const int32_t bytes = storage->element_bytes;
  static const unsigned char zeros[8];
  int64_t origin[4];
  declared_origin(w, tile, origin);
  for (int32_t d = 0; d < 4; ++d) {
    ck_assert_int_eq(view->origin[d], origin[d]);
    ck_assert_int_eq(view->extent[d], w->windows[0].extent[d]);
  }
  ck_assert_int_eq((intptr_t)view->data & 15, (origin[3] * bytes) & 15);
  int32_t i[4] = {0}, outside = 0, wrong = 0;
  do {
    const int64_t at[4] = {origin[0] + i[0], origin[1] + i[1], origin[2] + i[2], origin[3] + i[3]};
    const unsigned char *expected = is_inside(storage, at) ? prem_storage_at(storage, at) : zeros;
    const unsigned char *found = view_at(view, bytes, i);
    if (found < w->scratch || found + bytes > w->scratch + w->buffer_bytes)
      ++outside;
    else
      wrong += memcmp(found, expected, (size_t)bytes) != 0;
  } while (next_index(i, view->extent));
  ck_assert_int_eq(outside, 0);
  ck_assert_int_eq(wrong, 0);
}

/* Of an output that is cut to the array: what each element of the array has to be. */
static void check_stored(const world *w, int32_t tile, const prem_view *view) {
  const prem_storage *storage = &w->storage[0];
  unsigned char untouched[8];
  memset(untouched, FILLER, sizeof untouched);
  int64_t first[4], declared[4];
  declared_origin(w, tile, declared);
  int32_t all[4], i[4] = {0}, wrong = 0;
  for (int32_t d = 0; d < 4; ++d) {
    first[d] = view->origin[d];
    all[d] = (int32_t)storage->shape[d];
    ck_assert(view->extent[d] == 0 || (first[d] >= 0 && first[d] >= declared[d]));
  }
  do {
    const int64_t at[4] = {i[0], i[1], i[2], i[3]};
    bool in_window = true;
    int32_t in_view[4];
    for (int32_t d = 0; d < 4; ++d) {
      in_window =
          in_window && at[d] >= declared[d] && at[d] < declared[d] + w->windows[1].extent[d];
      in_view[d] = (int32_t)(at[d] - first[d]);
    }
    const size_t bytes = (size_t)storage->element_bytes;
    const void *expected = in_window ? view_at(view, storage->element_bytes, in_view) : untouched;
    wrong += memcmp(prem_storage_at(storage, at), expected, bytes) != 0;
  } while (next_index(i, all));
  ck_assert_int_eq(wrong, 0);
}

static void check_tile(world *w, int32_t tile) {
  prem_view views[PREM_MAX_PORTS];
  memset(w->scratch, FILLER, (size_t)w->buffer_bytes);
  prem_tile_views(&w->arrays, 0, tile, w->scratch, w->scratch, views);
  prem_tile_fetch(&w->arrays, 0, tile, w->scratch);
  check_fetched(w, tile, &views[0]);
  assert_scratch_guards(w);

  for (int32_t i = 0; i < w->buffer_bytes; ++i)
    w->scratch[i] = (unsigned char)random_below(256);
  const prem_storage *out = &w->storage[0];
  for (int64_t row = 0; row < out->row_count; ++row)
    memset(out->base + row * out->pitch_bytes, FILLER,
           (size_t)(out->shape[3] * out->element_bytes));
  prem_tile_store(&w->arrays, 0, tile, w->scratch);
  check_stored(w, tile, &views[1]);
  assert_scratch_guards(w);
  assert_memory_guards(w);
}

static void check_world(const int64_t shape[4], prem_type type, const prem_window *window,
                        const int32_t grid[3]) {
  world w;
  make_world(&w, shape, type, window, grid);
  fill_elements(&w.storage[1]);
  for (int32_t tile = 0; tile < w.task.tile_count; ++tile)
    check_tile(&w, tile);
  free_world(&w);
}

TESTS(halos_are_zero_outside, PREM_TYPE_COUNT) {
  const int64_t shape[4] = {1, 1, 13, 21};
  const int32_t grid[3] = {1, 4, 3};
  const prem_window window = {
      .base = {0, 0, -1, -1}, .step = {[2] = {0, 4, 0}, [3] = {0, 0, 8}}, .extent = {1, 1, 6, 10}};
  check_world(shape, (prem_type)_i, &window, grid);
}

TESTS(windows_may_lie_outside_altogether, PREM_TYPE_COUNT) {
  const int64_t shape[4] = {1, 2, 3, 4};
  const int32_t grid[3] = {1, 1, 5};
  const prem_window window = {
      .base = {0, 0, -7, -9}, .step = {[2] = {0, 0, 3}, [3] = {0, 0, 5}}, .extent = {2, 3, 2, 3}};
  check_world(shape, (prem_type)_i, &window, grid);
}

TESTS_FROM(random_windows_of_four_dimensions, 1, 100) {
  random_state = (uint32_t)_i;
  int64_t shape[4];
  int32_t grid[3];
  prem_window window = {0};
  for (int32_t d = 0; d < 4; ++d) {
    shape[d] = 1 + random_below(d == 3 ? 19 : 4);
    window.base[d] = random_below(7) - 3;
    window.extent[d] = 1 + random_below(d == 3 ? 12 : 3);
    for (int32_t k = 0; k < 3; ++k)
      window.step[d][k] = random_below(9) - 3;
  }
  for (int32_t k = 0; k < 3; ++k)
    grid[k] = 1 + random_below(3);
  check_world(shape, (prem_type)random_below(PREM_TYPE_COUNT), &window, grid);
}

/* Room of its own behind the windows of the output, in bytes, one row of one plane. */
TEST(a_kernel_s_own_room_is_one_row_of_bytes) {
  enum { ROOM = 48 };
  const int64_t shape[4] = {1, 1, 4, 8};
  const int32_t grid[3] = {1, 1, 1};
  const prem_window window = {.extent = {1, 1, 4, 8}};
  prem_view views[PREM_MAX_PORTS];
  world w;
  make_world(&w, shape, PREM_F32, &window, grid);
  prem_port_layout layout[3] = {w.layout[0], w.layout[1], {.offset_bytes = w.buffer_bytes}};
  w.task.layout = layout;
  w.task.work_bytes = ROOM;
  unsigned char in[1], out[1];
  prem_tile_views(&w.arrays, 0, 0, in, out, views);
  ck_assert_ptr_eq(views[2].data, out + w.buffer_bytes);
  for (int32_t d = 0; d < 4; ++d)
    ck_assert_int_eq(views[2].extent[d], d == 3 ? ROOM : 1);
  for (int32_t d = 0; d < 3; ++d)
    ck_assert_int_eq(views[2].pitch[d], ROOM);
  for (int32_t d = 0; d < 4; ++d)
    ck_assert_int_eq(views[2].origin[d], 0);
  free_world(&w);
}
