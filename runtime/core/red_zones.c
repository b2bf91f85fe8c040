/* SPDX-License-Identifier: Apache-2.0 */
/* Red zones round the windows of a tile. */
#include "runtime/core/red_zones.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
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
  int32_t port, element_bytes, lead_bytes;
  int64_t row_bytes, writable_bytes;
  size_t bytes;
  unsigned char *original, *copy; /* begin `lead_bytes` before the first element */
  bool is_output;
} area;

/* An output's rows are cut to its array; what is between two of them compute may write to. */
static area area_of(const prem_task *task, const prem_view *view, int32_t port) {
  const prem_port_layout *layout = &task->layout[port];
  area it = {.port = port, .element_bytes = layout->element_bytes, .row_bytes = layout->row_bytes};
  it.bytes = (size_t)prem_round_up((int64_t)layout->row_bytes * layout->rows, ALIGNMENT);
  it.writable_bytes = prem_round_up((int64_t)layout->row_bytes * layout->rows, PREM_PIECE_BYTES);
  it.original = view->data;
  if (port == task->definition->port_count)
    return it;
  it.is_output = task->definition->ports[port].access == PREM_OUT;
  it.lead_bytes = (int32_t)(view->origin[3] * layout->element_bytes & (PREM_PIECE_BYTES - 1));
  it.original -= it.lead_bytes;
  if (it.is_output) {
    int64_t last = 0;
    for (int d = 0; d < 3; ++d)
      last += (int64_t)(view->extent[d] - 1) * view->pitch[d];
    it.writable_bytes = last * layout->element_bytes + layout->row_bytes;
  }
  return it;
}

/* Makes room for all copies, and says where they lie. Zones are so wide that a store some rows too
 * far hits one. `*used`: so many bytes of the room. */
static prem_status place(prem_red_zones *zones, area *areas, int32_t count, size_t *used) {
  int64_t zone = 0;
  for (int32_t i = 0; i < count; ++i)
    zone = prem_max_i64(zone, ZONE_ROWS * areas[i].row_bytes);
  zone = prem_round_up(prem_min_i64(PREM_RED_ZONE_BYTES + zone, MAX_ZONE_BYTES), ALIGNMENT);
  *used = (size_t)zone;
  for (int32_t i = 0; i < count; ++i)
    *used += areas[i].bytes + (size_t)zone;
  if (*used > zones->bytes) {
    free(zones->memory);
    zones->memory = aligned_alloc(ALIGNMENT, *used);
    zones->bytes = zones->memory ? *used : 0;
    if (!zones->memory)
      return PREM_ERR_MEMORY;
  }
  unsigned char *at = zones->memory + zone;
  for (int32_t i = 0; i < count; at += areas[i++].bytes + (size_t)zone)
    areas[i].copy = at;
  return PREM_OK;
}

/* ---- looking for stray stores ---------------------------------------------------------------- */

/* A store in a zone belongs to the nearer of the areas round it. */
static bool find(const prem_red_zones *zones, size_t used, const area *areas, int32_t count,
                 prem_stray *out) {
  const unsigned char *from = zones->memory;
  for (int32_t i = 0; i <= count; ++i) {
    const unsigned char *end = i < count ? areas[i].copy : zones->memory + used, *last = end - 1;
    const unsigned char *first = prem_red_zone_broken(from, (size_t)(end - from));
    if (first) {
      while (is_red(last))
        --last;
      const bool is_after = i == count || (i > 0 && first - from <= end - 1 - last);
      const area *it = &areas[i - is_after];
      const int64_t byte = (is_after ? first : last) - it->copy - it->lead_bytes;
      *out = (prem_stray){.port = it->port, .row = prem_div_floor(byte, it->row_bytes)};
      out->column = prem_div_floor(byte - out->row * it->row_bytes, it->element_bytes);
      return true;
    }
    from = i < count ? end + areas[i].writable_bytes : end;
  }
  return false;
}

/* ---- computing ------------------------------------------------------------------------------- */

prem_status prem_guarded_compute(prem_red_zones *zones, const prem_task *task, const void *params,
                                 const prem_view *views, prem_stray *stray) {
  const prem_kernel *kernel = task->definition;
  const int32_t count = kernel->port_count + (task->work_bytes > 0);
  area areas[PREM_MAX_PORTS];
  prem_view copies[PREM_MAX_PORTS];
  size_t used;
  if (count == 0 || kernel->compatible) { /* its views are the arrays */
    kernel->compute(params, views);
    return PREM_OK;
  }
  for (int32_t i = 0; i < count; ++i)
    areas[i] = area_of(task, &views[i], i);
  if (place(zones, areas, count, &used) != PREM_OK)
    return PREM_ERR_MEMORY;
  prem_red_zone_fill(zones->memory, used);
  for (int32_t i = 0; i < count; ++i) {
    copies[i] = views[i];
    copies[i].data = areas[i].copy + areas[i].lead_bytes;
    if (!areas[i].is_output && i < kernel->port_count)
      memcpy(areas[i].copy, areas[i].original, (size_t)areas[i].writable_bytes);
  }
  kernel->compute(params, copies);
  for (int32_t i = 0; i < count; ++i)
    if (areas[i].is_output)
      memcpy(areas[i].original, areas[i].copy, (size_t)areas[i].writable_bytes);
  if (!find(zones, used, areas, count, stray))
    return PREM_OK;
  const prem_view *view = &views[stray->port];
  stray->rows = view->extent[0] * view->extent[1] * view->extent[2];
  stray->columns = view->extent[3];
  return PREM_ERR_WRONG;
}

void prem_red_zones_free(prem_red_zones *zones) {
  free(zones->memory);
  *zones = (prem_red_zones){0};
}

prem_status prem_stray_tell(const prem_task *task, int32_t tile, const prem_stray *stray,
                            prem_diag *diag) {
  const prem_kernel *kernel = task->definition;
  const bool is_work = stray->port == kernel->port_count;
  return prem_fail(
      diag, PREM_ERR_WRONG, 31, task->place, prem_key("tasks.%s.kernel", task->name).text,
      "kernel '%s' wrote row %" PRId64 ", column %" PRId64
      " of '%s' in tile %d, whose view has %d x %d elements; compute may write to its "
      "views alone",
      kernel->name, stray->row, stray->column,
      is_work ? "work area" : kernel->ports[stray->port].name, tile, stray->rows, stray->columns);
}

/* ---- all tiles ------------------------------------------------------------------------------- */

static prem_status look_at_task(const prem_arrays *arrays, int32_t t, prem_red_zones *zones,
                                unsigned char *in, unsigned char *out, prem_diag *diag) {
  const prem_task *task = &arrays->schedule->tasks[t];
  for (int32_t tile = 0; tile < task->tile_count; ++tile) {
    prem_view views[PREM_MAX_PORTS];
    prem_stray stray;
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
    if (!task->definition || !task->definition->compute || task->definition->compatible)
      continue;
    unsigned char *in = aligned_alloc(ALIGNMENT, (size_t)task->in_bytes + ALIGNMENT);
    unsigned char *out = aligned_alloc(ALIGNMENT, (size_t)task->out_bytes + ALIGNMENT);
    status = in && out ? look_at_task(arrays, t, &zones, in, out, diag) : PREM_ERR_MEMORY;
    free(in);
    free(out);
  }
  prem_red_zones_free(&zones);
  return status;
}
