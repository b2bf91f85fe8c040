/* SPDX-License-Identifier: Apache-2.0 */
/* Red zones round the windows of a tile. */
#include "runtime/core/red_zones.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/model/scratchpad.h"
#include "runtime/core/windows.h"

enum { ALIGNMENT = 128, ZONE_ROWS = 8, MAX_ZONE_BYTES = 1 << 16, PATTERN_BYTES = 8 };

/* A NaN for f32, f16, bf16 and both parts of a c64, and no value that images have much of. */
static const unsigned char pattern[PATTERN_BYTES] = {0xA5, 0x7E, 0xF7, 0x7F,
                                                     0xA5, 0x7E, 0xF7, 0x7F};

/* ---- zones ----------------------------------------------------------------------------------- */

void prem_red_zone_fill(unsigned char *at, size_t bytes) {
  for (; bytes > 0 && (uintptr_t)at % PATTERN_BYTES != 0; --bytes)
    *at = pattern[(uintptr_t)at % PATTERN_BYTES], ++at;
  for (; bytes >= PATTERN_BYTES; bytes -= PATTERN_BYTES, at += PATTERN_BYTES)
    memcpy(at, pattern, PATTERN_BYTES);
  memcpy(at, pattern, bytes);
}

static bool is_red(const unsigned char *at) {
  return *at == pattern[(uintptr_t)at % PATTERN_BYTES];
}

/* Bytes that repeat what stands one pattern before them are as good as the first ones. */
const unsigned char *prem_red_zone_broken(const unsigned char *at, size_t bytes) {
  size_t known = 0;
  while (known < bytes && known < PATTERN_BYTES && is_red(at + known))
    ++known;
  if (known == bytes ||
      (known == PATTERN_BYTES && memcmp(at, at + PATTERN_BYTES, bytes - PATTERN_BYTES) == 0))
    return NULL;
  while (is_red(at + known))
    ++known;
  return at + known;
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* What compute may write to: the copy of a window, or of the work area. */
typedef struct area {
  int32_t port;
  bool is_output;
  bool owns_gaps;                 /* compute may write to what is between two of its rows */
  unsigned char *original, *copy; /* begin `lead_bytes` before the first element */
  int32_t element_bytes, lead_bytes;
  int64_t row_bytes;      /* from one row to the next */
  int64_t writable_bytes; /* of a row */
  size_t bytes;
  const prem_view *given;
  prem_view view; /* of the copy */
} area;

static area area_of(const prem_task *task, const prem_view *views, int32_t port) {
  const prem_kernel *kernel = task->definition;
  const prem_port_layout *layout = &task->layout[port];
  const prem_view *view = &views[port];
  area it = {.port = port, .given = view, .view = *view, .element_bytes = layout->element_bytes};
  it.is_output = port < kernel->port_count && kernel->ports[port].access == PREM_OUT;
  if (port == kernel->port_count) {
    it.row_bytes = it.writable_bytes = prem_round_up(task->work_bytes, PREM_PIECE_BYTES);
    it.bytes = (size_t)it.row_bytes;
  } else if (kernel->compatible) { /* rows as near to each other as in a scratchpad */
    it.writable_bytes = (int64_t)view->extent[3] * layout->element_bytes;
    it.row_bytes = prem_round_up(it.writable_bytes, PREM_PIECE_BYTES);
    it.view.pitch[2] = (int32_t)(it.row_bytes / layout->element_bytes);
    it.view.pitch[1] = it.view.pitch[2] * view->extent[2];
    it.view.pitch[0] = it.view.pitch[1] * view->extent[1];
    it.bytes = (size_t)it.view.pitch[0] * (size_t)view->extent[0] * (size_t)layout->element_bytes;
  } else {
    it.owns_gaps = true;
    it.lead_bytes = (int32_t)(view->origin[3] * layout->element_bytes & (PREM_PIECE_BYTES - 1));
    it.row_bytes = it.writable_bytes = layout->row_bytes;
    it.bytes = (size_t)layout->row_bytes * (size_t)layout->rows;
  }
  it.original = (unsigned char *)view->data - it.lead_bytes;
  return it;
}

/* A compatible interval's inputs are the arrays, and no copies. */
static int32_t list_areas(const prem_task *task, const prem_view *views, area *out) {
  const prem_kernel *kernel = task->definition;
  int32_t count = 0;
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (!kernel->compatible || kernel->ports[p].access == PREM_OUT)
      out[count++] = area_of(task, views, p);
  if (task->work_bytes > 0)
    out[count++] = area_of(task, views, kernel->port_count);
  return count;
}

static size_t aligned(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* So wide that a store some rows too far hits it, and nothing else. */
static size_t zone_bytes(const area *areas, int32_t count) {
  int64_t rows = 0;
  for (int32_t i = 0; i < count; ++i)
    rows = prem_max_i64(rows, ZONE_ROWS * areas[i].row_bytes);
  return aligned((size_t)prem_min_i64(PREM_RED_ZONE_BYTES + rows, MAX_ZONE_BYTES));
}

/* Makes room for all copies, and says where they lie. `*used`: so many bytes of it. */
static prem_status place(prem_red_zones *zones, area *areas, int32_t count, size_t *used) {
  const size_t zone = zone_bytes(areas, count);
  *used = zone;
  for (int32_t i = 0; i < count; ++i)
    *used += aligned(areas[i].bytes) + zone;
  if (*used > zones->bytes) {
    free(zones->memory);
    zones->memory = aligned_alloc(ALIGNMENT, *used);
    zones->bytes = zones->memory ? *used : 0;
    if (!zones->memory)
      return PREM_ERR_MEMORY;
  }
  unsigned char *at = zones->memory + zone;
  for (int32_t i = 0; i < count; ++i) {
    areas[i].copy = at;
    areas[i].view.data = at + areas[i].lead_bytes;
    at += aligned(areas[i].bytes) + zone;
  }
  return PREM_OK;
}

/* In the copy, or with the pitch of the given view in the original. */
static int64_t row_at(const area *it, const prem_view *view, int32_t i0, int32_t i1, int32_t i2) {
  return ((int64_t)i0 * view->pitch[0] + (int64_t)i1 * view->pitch[1] +
          (int64_t)i2 * view->pitch[2]) *
         it->element_bytes;
}

static void copy_back(const area *it) {
  const int32_t *extent = it->view.extent;
  for (int32_t i0 = 0; i0 < extent[0]; ++i0)
    for (int32_t i1 = 0; i1 < extent[1]; ++i1)
      for (int32_t i2 = 0; i2 < extent[2]; ++i2)
        memcpy(it->original + row_at(it, it->given, i0, i1, i2),
               it->copy + row_at(it, &it->view, i0, i1, i2), (size_t)it->writable_bytes);
}

/* ---- looking for stray stores ---------------------------------------------------------------- */

static void describe(const area *it, const unsigned char *at, prem_stray *out) {
  const int64_t byte = at - it->copy - it->lead_bytes;
  const int32_t plane_rows = it->view.pitch[1] / it->view.pitch[2];
  *out = (prem_stray){.port = it->port,
                      .planes = it->view.extent[0] * it->view.extent[1],
                      .rows = it->view.extent[2],
                      .columns = it->view.extent[3]};
  int64_t row = prem_div_floor(at - it->copy, it->row_bytes);
  if (out->planes == 1 && plane_rows == 1) /* one row, however far it goes */
    row = 0;
  out->column = prem_div_floor(byte - row * it->row_bytes, it->element_bytes);
  out->plane = out->planes == 1 ? 0 : prem_div_floor(row, plane_rows);
  out->row = row - out->plane * plane_rows;
}

/* A red zone after the area `before` and before the area `behind`, either of which may be NULL: a
 * store belongs to the nearer one. */
static bool is_broken(const area *before, const area *behind, const unsigned char *from,
                      const unsigned char *end, prem_stray *out) {
  const unsigned char *first = prem_red_zone_broken(from, (size_t)(end - from)), *last = end - 1;
  if (!first)
    return false;
  while (is_red(last))
    --last;
  if (!behind || (before && first - from <= end - 1 - last))
    describe(before, first, out);
  else
    describe(behind, last, out);
  return true;
}

/* After the last row of an output that is cut to its array, and between those of a compatible
 * interval. Moves `*at` to the end of what compute may write to. */
static bool is_row_broken(const area *it, const unsigned char **at, prem_stray *out) {
  const int32_t *extent = it->view.extent;
  for (int32_t i0 = 0; i0 < extent[0]; ++i0)
    for (int32_t i1 = 0; i1 < extent[1]; ++i1)
      for (int32_t i2 = 0; i2 < extent[2]; ++i2) {
        const unsigned char *row = it->copy + row_at(it, &it->view, i0, i1, i2);
        if (!it->owns_gaps && *at < row && is_broken(it, it, *at, row, out))
          return true;
        *at = row + it->writable_bytes;
      }
  return false;
}

static bool find(const prem_red_zones *zones, size_t used, const area *areas, int32_t count,
                 prem_stray *out) {
  const unsigned char *at = zones->memory;
  for (int32_t i = 0; i < count; ++i) {
    if (is_broken(i > 0 ? &areas[i - 1] : NULL, &areas[i], at, areas[i].copy, out))
      return true;
    at = areas[i].copy;
    if (!areas[i].is_output)
      at += areas[i].bytes;
    else if (is_row_broken(&areas[i], &at, out))
      return true;
  }
  return is_broken(&areas[count - 1], NULL, at, zones->memory + used, out);
}

/* ---- computing ------------------------------------------------------------------------------- */

prem_status prem_guarded_compute(prem_red_zones *zones, const prem_task *task, const void *params,
                                 const prem_view *views, prem_stray *stray) {
  const prem_kernel *kernel = task->definition;
  area areas[PREM_MAX_PORTS];
  prem_view copies[PREM_MAX_PORTS];
  size_t used;
  const int32_t count = list_areas(task, views, areas);
  if (count == 0) { /* there is nothing that it could write to */
    kernel->compute(params, views);
    return PREM_OK;
  }
  if (place(zones, areas, count, &used) != PREM_OK)
    return PREM_ERR_MEMORY;
  memcpy(copies, views, (size_t)kernel->port_count * sizeof *copies);
  prem_red_zone_fill(zones->memory, used);
  for (int32_t i = 0; i < count; ++i) {
    copies[areas[i].port] = areas[i].view;
    if (!areas[i].is_output && areas[i].port < kernel->port_count)
      memcpy(areas[i].copy, areas[i].original, areas[i].bytes);
  }
  kernel->compute(params, copies);
  for (int32_t i = 0; i < count; ++i)
    if (areas[i].is_output)
      copy_back(&areas[i]);
  return find(zones, used, areas, count, stray) ? PREM_ERR_WRONG : PREM_OK;
}

void prem_red_zones_free(prem_red_zones *zones) {
  free(zones->memory);
  *zones = (prem_red_zones){0};
}

/* ---- telling --------------------------------------------------------------------------------- */

prem_status prem_stray_tell(const prem_task *task, int32_t tile, const prem_stray *stray,
                            prem_diag *diag) {
  const prem_kernel *kernel = task->definition;
  char key[PREM_NAME_BYTES + 16], at[128], size[64];
  snprintf(key, sizeof key, "tasks.%s.kernel", task->name);
  if (stray->port == kernel->port_count) {
    prem_diag_add(diag, PREM_ERROR, 31, task->place, key,
                  "kernel '%s' wrote byte %" PRId64 " of its work area in tile %d; it has %d bytes",
                  kernel->name, stray->column, tile, stray->columns);
    return PREM_ERR_WRONG;
  }
  if (stray->planes > 1) {
    snprintf(at, sizeof at, "plane %" PRId64 ", row %" PRId64 ", column %" PRId64, stray->plane,
             stray->row, stray->column);
    snprintf(size, sizeof size, "%d x %d x %d", stray->planes, stray->rows, stray->columns);
  } else if (stray->rows > 1 || stray->row != 0) {
    snprintf(at, sizeof at, "row %" PRId64 ", column %" PRId64, stray->row, stray->column);
    snprintf(size, sizeof size, "%d x %d", stray->rows, stray->columns);
  } else {
    snprintf(at, sizeof at, "element %" PRId64, stray->column);
    snprintf(size, sizeof size, "%d", stray->columns);
  }
  prem_diag_add(diag, PREM_ERROR, 31, task->place, key,
                "kernel '%s' wrote %s of '%s' in tile %d, whose view has %s elements; compute may "
                "write to its views alone",
                kernel->name, at, kernel->ports[stray->port].name, tile, size);
  return PREM_ERR_WRONG;
}

/* ---- all tiles ------------------------------------------------------------------------------- */

static prem_status look_at_task(const prem_arrays *arrays, int32_t t, prem_red_zones *zones,
                                unsigned char *in, unsigned char *out, prem_diag *diag) {
  const prem_task *task = &arrays->schedule->tasks[t];
  for (int32_t tile = 0; tile < task->tile_count; ++tile) {
    prem_view views[PREM_MAX_PORTS];
    prem_stray stray;
    if (!task->definition->compatible)
      prem_tile_fetch(arrays, t, tile, in);
    prem_tile_views(arrays, t, tile, in, out, views);
    const prem_status status = prem_guarded_compute(zones, task, task->params, views, &stray);
    if (status == PREM_ERR_WRONG)
      return prem_stray_tell(task, tile, &stray, diag);
    if (status)
      return status;
  }
  return PREM_OK;
}

prem_status prem_find_stray(const prem_arrays *arrays, prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  prem_red_zones zones = {0};
  prem_status status = PREM_OK;
  for (int32_t t = 0; !status && t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->definition || !task->definition->compute)
      continue;
    unsigned char *in = aligned_alloc(ALIGNMENT, aligned((size_t)task->in_bytes + 1));
    unsigned char *out = aligned_alloc(ALIGNMENT, aligned((size_t)task->out_bytes + 1));
    status = in && out ? look_at_task(arrays, t, &zones, in, out, diag) : PREM_ERR_MEMORY;
    free(in);
    free(out);
  }
  prem_red_zones_free(&zones);
  return status;
}
