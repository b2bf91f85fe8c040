/* SPDX-License-Identifier: Apache-2.0 */
/* Whether outputs can be written back in words of 4 bytes, as the GPU does. */
#include "runtime/core/words.h"

#include <inttypes.h>
#include <stdio.h>

#include "prem/base/fail.h"
#include "prem/model/private.h"

/* The first tile whose row of a window begins or ends within a word, not counting an end at the
 * array's right edge; -1: none. Only indexes that move the window along the row are gone through.
 */
static int64_t first_ragged(const prem_task *task, const prem_window *window, int64_t columns,
                            int64_t element_bytes, int64_t *begin, int64_t *end) {
  int32_t count[PREM_MAX_GRID];
  for (int k = 0; k < PREM_MAX_GRID; ++k)
    count[k] = window->step[3][k] != 0 ? task->grid[k] : 1;
  const int64_t tiles = (int64_t)count[0] * count[1] * count[2];
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t index[PREM_MAX_GRID] = {tile / count[2] / count[1], tile / count[2] % count[1],
                                          tile % count[2]};
    int64_t first = window->base[3];
    for (int k = 0; k < PREM_MAX_GRID; ++k)
      first += window->step[3][k] * index[k];
    *begin = first > 0 ? first : 0;
    *end = first + window->extent[3] < columns ? first + window->extent[3] : columns;
    if (*end > *begin && (*begin * element_bytes % PREM_WORD_BYTES != 0 ||
                          (*end < columns && *end * element_bytes % PREM_WORD_BYTES != 0)))
      return (index[0] * task->grid[1] + index[1]) * task->grid[2] + index[2];
  }
  return -1;
}

/* A task that reads beyond the right edge of an array, or -1. */
static int32_t reads_beyond(const prem_schedule *schedule, int32_t array) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p) {
      const prem_window *window = &task->windows[p];
      if (!prem_port_reads(task, p, array) || window->aim)
        continue;
      int64_t end = window->base[3] + window->extent[3];
      for (int k = 0; k < PREM_MAX_GRID; ++k)
        if (window->step[3][k] > 0)
          end += window->step[3][k] * (task->grid[k] - 1);
      if (end > schedule->arrays[array].shape[3])
        return t;
    }
  }
  return -1;
}

static prem_status judge_port(const prem_schedule *schedule, const prem_task *task, int32_t port,
                              prem_diag *diag) {
  const prem_array *array = &schedule->arrays[task->arrays[port]];
  const int32_t element_bytes = prem_type_bytes(array->type);
  const int32_t whole = PREM_WORD_BYTES / element_bytes;
  const char *type = prem_type_name(array->type), *name = task->definition->ports[port].name;
  char key[2 * PREM_NAME_BYTES + 24];
  if (element_bytes >= PREM_WORD_BYTES)
    return PREM_OK;
  int64_t begin, end;
  const int64_t tile =
      first_ragged(task, &task->windows[port], array->shape[3], element_bytes, &begin, &end);
  if (tile >= 0) {
    snprintf(key, sizeof key, "tasks.%s.tile", task->name);
    return prem_fail(
        diag, PREM_ERR_INVALID, 31, task->place, key,
        "tile %" PRId64 " writes the elements %" PRId64 " to %" PRId64
        " of the rows of array '%s' ('%s', %s), the GPU writes %d bytes at a time; let "
        "tiles be a multiple of %d elements wide",
        tile, begin, end - 1, array->name, name, type, PREM_WORD_BYTES, whole);
  }
  const int32_t reader =
      array->shape[3] % whole != 0 ? reads_beyond(schedule, task->arrays[port]) : -1;
  if (reader < 0)
    return PREM_OK;
  snprintf(key, sizeof key, "tasks.%s.arrays.%s", task->name, name);
  prem_diag_add(
      diag, PREM_ERROR, 31, task->place, key,
      "the rows of array '%s' have %" PRId64 " %s, the GPU writes %d bytes at a time, and "
      "task '%s' reads beyond their ends, where zeros have to stay; let rows have a "
      "multiple of %d elements, or no window of that task hang over",
      array->name, array->shape[3], type, PREM_WORD_BYTES, schedule->tasks[reader].name, whole);
  return PREM_ERR_INVALID;
}

prem_status prem_judge_words(const prem_schedule *schedule, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->definition || task->definition->compatible)
      continue;
    for (int32_t p = 0; p < task->definition->port_count; ++p)
      if (task->definition->ports[p].access == PREM_OUT &&
          judge_port(schedule, task, p, diag) != PREM_OK)
        status = PREM_ERR_INVALID;
  }
  return status;
}
