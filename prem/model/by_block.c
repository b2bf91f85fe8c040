/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence by block: what a block's tiles read, the same block must have written. */
#include "prem/model/by_block.h"

#include "prem/base/numbers.h"

#include <inttypes.h>

/* Elements of an array: first and size in each dimension. */
typedef struct box {
  int64_t first[4], size[4];
} box;

static bool box_of(const prem_schedule *schedule, const prem_task *task, int32_t port, int32_t tile,
                   box *out) {
  const prem_array *array = &schedule->arrays[task->arrays[port]];
  return prem_window_clip(task, &task->windows[port], array->shape, tile, out->first, out->size);
}

static int64_t elements_in_both(const box *a, const box *b) {
  int64_t count = 1;
  for (int d = 0; d < PREM_MAX_RANK; ++d) {
    const int64_t begin = prem_max_i64(a->first[d], b->first[d]);
    const int64_t end = prem_min_i64(a->first[d] + a->size[d], b->first[d] + b->size[d]);
    count *= prem_max_i64(end - begin, 0);
  }
  return count;
}

static int64_t elements_of(const box *of) {
  return of->size[0] * of->size[1] * of->size[2] * of->size[3];
}

static int32_t position_on(const prem_task *task, int32_t block) {
  for (int32_t i = 0; i < task->block_count; ++i)
    if (task->blocks[i] == block)
      return i;
  return -1;
}

/* Of what a tile reads of an array, how much has the predecessor written on this block? Windows of
 * an output are disjoint. */
static int64_t written_on(const prem_schedule *schedule, const prem_task *before, int32_t port,
                          int32_t block, const box *read) {
  const int32_t position = position_on(before, block);
  int64_t count = 0;
  for (int32_t tile = position; position >= 0 && tile < before->tile_count;
       tile += before->block_count) {
    box written;
    if (box_of(schedule, before, port, tile, &written))
      count += elements_in_both(&written, read);
  }
  return count;
}

static bool refuse(const prem_schedule *schedule, const prem_task *task, const prem_after *after,
                   prem_diag *diag, int32_t tile, int32_t block, const prem_array *array) {
  prem_diag_add(diag, PREM_ERROR, 46, after->place, task->name,
                "tile %" PRId32 " on block %" PRId32 " reads elements of array '%s' that task '%s' "
                "writes on another block: leave per = \"block\" out, or give both the same blocks "
                "and tiles",
                tile, block, array->name, schedule->tasks[after->task].name);
  return false;
}

static bool judge_input(const prem_schedule *schedule, const prem_task *task,
                        const prem_after *after, int32_t input, int32_t output, prem_diag *diag) {
  const prem_task *before = &schedule->tasks[after->task];
  for (int32_t tile = 0; tile < task->tile_count; ++tile) {
    const int32_t block = task->blocks[tile % task->block_count];
    box read;
    if (box_of(schedule, task, input, tile, &read) &&
        written_on(schedule, before, output, block, &read) < elements_of(&read))
      return refuse(schedule, task, after, diag, tile, block,
                    &schedule->arrays[task->arrays[input]]);
  }
  return true;
}

/* What the successor writes and the predecessor touches would be touched on other blocks as well.
 */
static bool judge_written(const prem_schedule *schedule, const prem_task *task,
                          const prem_after *after, int32_t array, prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 46, after->place, task->name,
                "it writes array '%s', which task '%s' uses: leave per = \"block\" out",
                schedule->arrays[array].name, schedule->tasks[after->task].name);
  return false;
}

static bool is_output(const prem_task *task, int32_t port) {
  return task->definition->ports[port].access == PREM_OUT;
}

static bool judge_edge(const prem_schedule *schedule, const prem_task *task,
                       const prem_after *after, prem_diag *diag) {
  const prem_task *before = &schedule->tasks[after->task];
  if (!task->definition || !before->definition)
    return true; /* of nothing but times */
  if (task->definition->compatible || before->definition->compatible) {
    prem_diag_add(diag, PREM_ERROR, 46, after->place, task->name,
                  "per = \"block\" wants tiles that are prefetched and written back, which a "
                  "compatible interval's are not: leave it out");
    return false;
  }
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    for (int32_t q = 0; q < before->definition->port_count; ++q) {
      if (task->arrays[p] != before->arrays[q])
        continue;
      if (is_output(task, p))
        return judge_written(schedule, task, after, task->arrays[p], diag);
      if (is_output(before, q) && !judge_input(schedule, task, after, p, q, diag))
        return false;
    }
  return true;
}

bool prem_judge_by_block(const prem_schedule *schedule, prem_diag *diag) {
  bool good = true;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t a = 0; a < schedule->tasks[t].after_count; ++a)
      if (schedule->tasks[t].after[a].per_block)
        good &= judge_edge(schedule, &schedule->tasks[t], &schedule->tasks[t].after[a], diag);
  return good;
}

static bool follows(const prem_task *task, int32_t before) {
  for (int32_t a = 0; a < task->after_count; ++a)
    if (task->after[a].per_block && task->after[a].task == before)
      return true;
  return false;
}

bool prem_tasks_are_by_block(const prem_schedule *schedule, int32_t a, int32_t b) {
  return follows(&schedule->tasks[a], b) || follows(&schedule->tasks[b], a);
}
