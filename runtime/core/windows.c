/* SPDX-License-Identifier: Apache-2.0 */
/* Moving windows between arrays and scratchpads with memcpy, row by row. */
#include "runtime/core/windows.h"

#include <string.h>

/* The part of an array that a port of a tile moves; an output's is cut to the array. */
typedef struct tile_window {
  int64_t origin[4];
  int32_t extent[4];
  int32_t scratch_rows[2]; /* scratch rows from one index of dimension 0 and 1 to the next */
  int32_t row_bytes;       /* from one scratch row to the next */
  int64_t first_byte;      /* of the window in its buffer */
} tile_window;

static int64_t clamp(int64_t value, int64_t min, int64_t max) {
  return value < min ? min : value > max ? max : value;
}

static void cut_to_array(tile_window *window, const int64_t shape[4]) {
  for (int32_t d = 0; d < 4; ++d) {
    const int64_t first = clamp(window->origin[d], 0, shape[d]);
    const int64_t end = clamp(window->origin[d] + window->extent[d], first, shape[d]);
    window->origin[d] = first;
    window->extent[d] = (int32_t)(end - first);
  }
}

static int64_t scratch_byte(const tile_window *window, int32_t i0, int32_t i1) {
  const int64_t row = (int64_t)i0 * window->scratch_rows[0] + (int64_t)i1 * window->scratch_rows[1];
  return window->first_byte + row * window->row_bytes;
}

/* Rows of an array are 16-byte aligned, so all rows of a window have the same lead. */
static void lead_in(const prem_port_layout *layout, tile_window *window) {
  window->first_byte = layout->offset_bytes + (window->origin[3] * layout->element_bytes & 15);
}

/* The window as bind has declared it. */
static tile_window declared_window(const prem_arrays *arrays, const prem_task *task, int32_t tile,
                                   int32_t port) {
  const prem_window *declared = &task->windows[port];
  const prem_port_layout *layout = &task->layout[port];
  const int32_t inner = task->grid[1] * task->grid[2];
  const int32_t index[PREM_MAX_GRID] = {tile / inner, tile / task->grid[2] % task->grid[1],
                                        tile % task->grid[2]};
  tile_window window = {
      .scratch_rows = {declared->extent[1] * declared->extent[2], declared->extent[2]},
      .row_bytes = layout->row_bytes,
  };
  for (int32_t d = 0; d < 4; ++d) {
    window.extent[d] = declared->extent[d];
    window.origin[d] = declared->base[d];
    for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
      window.origin[d] += declared->step[d][k] * index[k];
  }
  if (task->definition->ports[port].access == PREM_OUT)
    cut_to_array(&window, arrays->storage[task->arrays[port]].shape);
  lead_in(layout, &window);
  return window;
}

/* `in`: for aimed windows, the tile's input buffer with what they are aimed by. */
static tile_window locate(const prem_arrays *arrays, const prem_task *task, int32_t tile,
                          int32_t port, const unsigned char *in) {
  tile_window window = declared_window(arrays, task, tile, port);
  if (task->windows[port].aim == 0)
    return window;
  const tile_window from = declared_window(arrays, task, tile, task->windows[port].aim - 1);
  const int64_t *shape = arrays->storage[task->arrays[port]].shape;
  const int32_t count = from.extent[3];
  int32_t numbers[4];
  memcpy(numbers, in + from.first_byte, (size_t)count * sizeof *numbers);
  for (int32_t i = 0, d = 4 - count; i < count; ++i, ++d)
    window.origin[d] = prem_aimed(window.origin[d], numbers[i], window.extent[d], shape[d]);
  lead_in(&task->layout[port], &window);
  return window;
}

/* A compatible interval's: the window where it lies. */
static void view_array(const prem_storage *storage, const tile_window *window, prem_view *view) {
  const int32_t row = (int32_t)(storage->pitch_bytes / storage->element_bytes);
  view->data = prem_storage_at(storage, window->origin);
  view->pitch[2] = row;
  view->pitch[1] = row * (int32_t)storage->shape[2];
  view->pitch[0] = view->pitch[1] * (int32_t)storage->shape[1];
}

static void view_scratch(const tile_window *window, int32_t row, unsigned char *buffer,
                         prem_view *view) {
  view->data = buffer + window->first_byte;
  view->pitch[0] = window->scratch_rows[0] * row;
  view->pitch[1] = window->scratch_rows[1] * row;
  view->pitch[2] = row;
}

/* The array of a port, as the tile's job sees it; `room` is for one that is not its first slot. */
static const prem_storage *storage_of(const prem_arrays *arrays, const prem_task *task,
                                      const int32_t *slots, int32_t port, prem_storage *room) {
  if (slots && slots[port] < 0) {                       /* what the turn before has written */
    port = prem_kernel_turn_ports(task->definition).to; /* of which each errand has its own */
    *room = prem_storage_slot(&arrays->storage[task->arrays[port]], slots[port]);
    return room;
  }
  const prem_storage *storage = &arrays->storage[task->arrays[port]];
  if (!slots || (slots[port] == 0 && !storage->adopted))
    return storage;
  *room = prem_storage_slot(storage, slots[port]);
  return room;
}

static void view_work(const prem_task *task, unsigned char *buffer, prem_view *view) {
  const int32_t bytes = task->work_bytes;
  *view = (prem_view){.data = buffer + task->layout[task->definition->port_count].offset_bytes,
                      .extent = {1, 1, 1, bytes},
                      .pitch = {bytes, bytes, bytes}};
}

void prem_tile_views_slots(const prem_arrays *arrays, int32_t task, int32_t tile,
                           const int32_t *slots, void *in, void *out,
                           prem_view views[PREM_MAX_PORTS]) {
  const prem_task *spec = &arrays->schedule->tasks[task];
  for (int32_t port = 0; port < spec->definition->port_count; ++port) {
    const tile_window window = locate(arrays, spec, tile, port, in);
    const bool is_out = spec->definition->ports[port].access == PREM_OUT;
    prem_view *view = &views[port];
    if (spec->definition->compatible) {
      prem_storage room;
      view_array(storage_of(arrays, spec, slots, port, &room), &window, view);
    } else {
      view_scratch(&window, window.row_bytes / spec->layout[port].element_bytes,
                   (unsigned char *)(is_out ? out : in), view);
    }
    view->reserved = 0;
    memcpy(view->extent, window.extent, sizeof view->extent);
    memcpy(view->origin, window.origin, sizeof view->origin);
  }
  if (spec->work_bytes > 0)
    view_work(spec, spec->work_is_input ? in : out, &views[spec->definition->port_count]);
}

/* The rows of one plane (i0, i1) of an input window; what lies outside the array becomes 0. */
static void fetch_plane(const prem_storage *storage, const tile_window *window, int32_t i0,
                        int32_t i1, unsigned char *scratch) {
  const int64_t *shape = storage->shape, *origin = window->origin;
  const int64_t at0 = origin[0] + i0, at1 = origin[1] + i1;
  const bool inside = at0 >= 0 && at0 < shape[0] && at1 >= 0 && at1 < shape[1];
  const size_t element = (size_t)storage->element_bytes;
  const int64_t left = clamp(-origin[3], 0, window->extent[3]);
  const int64_t right = clamp(shape[3] - origin[3], left, window->extent[3]);
  const size_t before = (size_t)left * element, copied = (size_t)(right - left) * element;
  const size_t after = (size_t)(window->extent[3] - right) * element;
  for (int32_t i2 = 0; i2 < window->extent[2]; ++i2, scratch += window->row_bytes) {
    const int64_t at2 = origin[2] + i2;
    if (!inside || at2 < 0 || at2 >= shape[2] || copied == 0) {
      memset(scratch, 0, before + copied + after);
      continue;
    }
    const int64_t from[4] = {at0, at1, at2, origin[3] + left};
    memset(scratch, 0, before);
    memcpy(scratch + before, prem_storage_at(storage, from), copied);
    memset(scratch + before + copied, 0, after);
  }
}

static void store_plane(const prem_storage *storage, const tile_window *window, int32_t i0,
                        int32_t i1, const unsigned char *scratch) {
  const size_t copied = (size_t)window->extent[3] * (size_t)storage->element_bytes;
  for (int32_t i2 = 0; i2 < window->extent[2]; ++i2, scratch += window->row_bytes) {
    const int64_t to[4] = {window->origin[0] + i0, window->origin[1] + i1, window->origin[2] + i2,
                           window->origin[3]};
    memcpy(prem_storage_at(storage, to), scratch, copied);
  }
}

static void fetch_port(const prem_arrays *arrays, const prem_task *task, int32_t tile,
                       const int32_t *slots, int32_t port, unsigned char *in) {
  prem_storage room;
  const prem_storage *storage = storage_of(arrays, task, slots, port, &room);
  const tile_window window = locate(arrays, task, tile, port, in);
  for (int32_t i0 = 0; i0 < window.extent[0]; ++i0)
    for (int32_t i1 = 0; i1 < window.extent[1]; ++i1)
      fetch_plane(storage, &window, i0, i1, in + scratch_byte(&window, i0, i1));
}

void prem_tile_fetch_slots(const prem_arrays *arrays, int32_t task, int32_t tile,
                           const int32_t *slots, void *in) {
  const prem_task *spec = &arrays->schedule->tasks[task];
  for (int aimed = 0; aimed < 2; ++aimed) /* last: by then what they are aimed by is there */
    for (int32_t port = 0; port < spec->definition->port_count; ++port)
      if (spec->definition->ports[port].access == PREM_IN &&
          (spec->windows[port].aim != 0) == (aimed != 0))
        fetch_port(arrays, spec, tile, slots, port, in);
}

void prem_tile_store_slots(prem_arrays *arrays, int32_t task, int32_t tile, const int32_t *slots,
                           const void *out) {
  const prem_task *spec = &arrays->schedule->tasks[task];
  for (int32_t port = 0; port < spec->definition->port_count; ++port) {
    if (spec->definition->ports[port].access != PREM_OUT)
      continue;
    prem_storage room;
    const prem_storage *storage = storage_of(arrays, spec, slots, port, &room);
    const tile_window window = locate(arrays, spec, tile, port, NULL);
    for (int32_t i0 = 0; i0 < window.extent[0]; ++i0)
      for (int32_t i1 = 0; i1 < window.extent[1]; ++i1)
        store_plane(storage, &window, i0, i1,
                    (const unsigned char *)out + scratch_byte(&window, i0, i1));
  }
}

const int32_t *prem_tile_numbers(const prem_arrays *arrays, int32_t task, int32_t tile,
                                 const int32_t *slots, int32_t port, int32_t *count) {
  const prem_task *spec = &arrays->schedule->tasks[task];
  const tile_window window = locate(arrays, spec, tile, port, NULL);
  prem_storage room;
  *count = window.extent[3];
  return (const int32_t *)(const void *)prem_storage_at(
      storage_of(arrays, spec, slots, port, &room), window.origin);
}

void prem_tile_verify(const prem_arrays *arrays, int32_t task, int32_t tile, const int32_t *slots,
                      prem_verdict *verdict) {
  const prem_task *spec = &arrays->schedule->tasks[task];
  for (int32_t port = 0; port < spec->definition->port_count; ++port) {
    if (spec->definition->ports[port].access != PREM_OUT)
      continue;
    prem_storage room;
    const prem_storage *storage = storage_of(arrays, spec, slots, port, &room);
    const tile_window window = locate(arrays, spec, tile, port, NULL);
    const int64_t *from = window.origin, *shape = storage->shape;
    for (int64_t i0 = from[0]; i0 < from[0] + window.extent[0]; ++i0)
      for (int64_t i1 = from[1]; i1 < from[1] + window.extent[1]; ++i1)
        for (int64_t i2 = from[2]; i2 < from[2] + window.extent[2]; ++i2)
          prem_array_verify_row(storage, arrays, spec->arrays[port],
                                (i0 * shape[1] + i1) * shape[2] + i2, from[3], window.extent[3],
                                verdict);
  }
}
