/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence by block: what a block's tiles read, the same block must have written. */
#include "prem/model/by_block.h"

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements of an array: first and size in each dimension. */
typedef struct box {
  int64_t first[PREM_MAX_RANK], size[PREM_MAX_RANK];
} box;

/* What the tiles of a task write of an array, by block and there by place. */
typedef struct written {
  box *boxes;   /* NULL: not made yet */
  int32_t *end; /* [position in the task's blocks]: of its boxes, which begin at the end before */
  int32_t *position; /* [block]; -1: it has none of the task's tiles */
  box *found;        /* [position]: what was last found written there, mostly asked for again */
  int64_t longest[PREM_MAX_RANK]; /* of the boxes */
} written;

typedef struct judging {
  const prem_schedule *schedule;
  prem_diag *diag;
  prem_status status;
  written *written; /* [task][port]: made when it is first asked for */
} judging;

static bool box_of(const prem_schedule *schedule, const prem_task *task, int32_t port, int32_t tile,
                   box *out) {
  const prem_array *array = &schedule->arrays[task->arrays[port]];
  return prem_window_clip(task, &task->windows[port], array->shape, tile, out->first, out->size);
}

static int compare_boxes(const void *left, const void *right) {
  const box *a = left, *b = right;
  for (int d = 0; d < PREM_MAX_RANK; ++d)
    if (a->first[d] != b->first[d])
      return a->first[d] < b->first[d] ? -1 : 1;
  return 0;
}

static void order_boxes(box *boxes, int32_t count) {
  for (int32_t i = 1; i < count; ++i)
    if (compare_boxes(&boxes[i - 1], &boxes[i]) > 0) {
      qsort(boxes, (size_t)count, sizeof *boxes, compare_boxes);
      return;
    }
}

static prem_status list_written(const prem_schedule *schedule, const prem_task *before,
                                int32_t port, written *w) {
  const size_t positions = (size_t)before->block_count, blocks = (size_t)schedule->platform.blocks;
  *w = (written){.boxes = malloc((size_t)before->tile_count * sizeof *w->boxes),
                 .end = malloc(positions * sizeof *w->end),
                 .position = malloc(blocks * sizeof *w->position),
                 .found = calloc(positions, sizeof *w->found)};
  if (!w->boxes || !w->end || !w->position || !w->found)
    return PREM_ERR_MEMORY;
  int32_t count = 0;
  for (size_t b = 0; b < blocks; ++b)
    w->position[b] = -1;
  for (int32_t p = 0; p < before->block_count; ++p) {
    const int32_t first = count;
    for (int64_t tile = p; tile < before->tile_count; tile += before->block_count)
      count += box_of(schedule, before, port, (int32_t)tile, &w->boxes[count]);
    order_boxes(w->boxes + first, count - first);
    w->position[before->blocks[p]] = p;
    w->end[p] = count;
  }
  for (int32_t i = 0; i < count; ++i)
    for (int d = 0; d < PREM_MAX_RANK; ++d)
      w->longest[d] = prem_max_i64(w->longest[d], w->boxes[i].size[d]);
  return PREM_OK;
}

/* The first of boxes [low, high), equal in the dimensions before `d`, that begins there behind. */
static int32_t first_behind(const written *w, int32_t low, int32_t high, int d, int64_t behind) {
  PREM_BISECT(low, high, middle, w->boxes[middle].first[d] <= behind);
  return low;
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

/* Of what is read, how much do boxes [low, high), equal in the dimensions before `d`, write? */
static int64_t elements_written(const written *w, int32_t low, int32_t high, int d,
                                const box *read) {
  int64_t count = 0;
  if (d == PREM_MAX_RANK) {
    for (int32_t i = low; i < high; ++i)
      count += elements_in_both(&w->boxes[i], read);
    return count;
  }
  low = first_behind(w, low, high, d, read->first[d] - w->longest[d]);
  while (low < high && w->boxes[low].first[d] < read->first[d] + read->size[d]) {
    const int32_t next = first_behind(w, low, high, d, w->boxes[low].first[d]);
    count += elements_written(w, low, next, d + 1, read);
    low = next;
  }
  return count;
}

/* Has the predecessor written all that a tile reads on this block? Windows of an output are
 * disjoint. */
static bool is_written(const written *w, int32_t block, const box *read) {
  const int32_t position = w->position[block];
  if (position < 0)
    return false;
  if (memcmp(&w->found[position], read, sizeof *read) == 0)
    return true;
  const int64_t elements = read->size[0] * read->size[1] * read->size[2] * read->size[3];
  const int32_t first = position ? w->end[position - 1] : 0;
  if (elements_written(w, first, w->end[position], 0, read) < elements)
    return false;
  w->found[position] = *read;
  return true;
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

static bool judge_input(judging *j, const prem_task *task, const prem_after *after, int32_t input,
                        int32_t output) {
  const prem_schedule *schedule = j->schedule;
  written *w = &j->written[after->task * PREM_MAX_PORTS + output];
  if (!w->boxes)
    j->status = list_written(schedule, &schedule->tasks[after->task], output, w);
  for (int32_t tile = 0; !j->status && tile < task->tile_count; ++tile) {
    const int32_t block = task->blocks[tile % task->block_count];
    box read;
    if (box_of(schedule, task, input, tile, &read) && !is_written(w, block, &read))
      return refuse(schedule, task, after, j->diag, tile, block,
                    &schedule->arrays[task->arrays[input]]);
  }
  return !j->status;
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

static bool judge_edge(judging *j, const prem_task *task, const prem_after *after) {
  const prem_task *before = &j->schedule->tasks[after->task];
  if (!task->definition || !before->definition)
    return true; /* of nothing but times */
  if (task->definition->compatible || before->definition->compatible) {
    prem_diag_add(j->diag, PREM_ERROR, 46, after->place, task->name,
                  "per = \"block\" wants tiles that are prefetched and written back, which a "
                  "compatible interval's are not: leave it out");
    return false;
  }
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    for (int32_t q = 0; q < before->definition->port_count; ++q) {
      if (task->arrays[p] != before->arrays[q])
        continue;
      if (is_output(task, p))
        return judge_written(j->schedule, task, after, task->arrays[p], j->diag);
      if (is_output(before, q) && !judge_input(j, task, after, p, q))
        return false;
    }
  return true;
}

static bool judge_task(judging *j, const prem_task *task) {
  bool good = true;
  for (int32_t a = 0; !j->status && a < task->after_count; ++a) {
    if (!task->after[a].per_block)
      continue;
    if (!j->written)
      j->written = calloc((size_t)j->schedule->task_count * PREM_MAX_PORTS, sizeof *j->written);
    if (!j->written)
      j->status = PREM_ERR_MEMORY;
    good &= !j->status && judge_edge(j, task, &task->after[a]);
  }
  return good;
}

bool prem_judge_by_block(const prem_schedule *schedule, prem_status *status, prem_diag *diag) {
  judging j = {.schedule = schedule, .diag = diag};
  bool good = true;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    good &= judge_task(&j, &schedule->tasks[t]);
  for (int32_t i = 0; j.written && i < schedule->task_count * PREM_MAX_PORTS; ++i)
    PREM_FREE(j.written[i].boxes, j.written[i].end, j.written[i].position, j.written[i].found);
  free(j.written);
  *status = j.status;
  return good;
}

static bool is_same_window(const prem_window *a, const prem_window *b) {
  return memcmp(a->base, b->base, sizeof a->base) == 0 &&
         memcmp(a->step, b->step, sizeof a->step) == 0 &&
         memcmp(a->extent, b->extent, sizeof a->extent) == 0 && a->aim == b->aim;
}

bool prem_reads_tile_by_tile(const prem_task *task, const prem_task *before) {
  bool reads = false;
  if (!task->definition || !before->definition || task->definition->compatible ||
      before->definition->compatible || memcmp(task->grid, before->grid, sizeof task->grid) != 0)
    return false;
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    for (int32_t q = 0; q < before->definition->port_count; ++q) {
      if (task->arrays[p] != before->arrays[q] || !(is_output(task, p) || is_output(before, q)))
        continue;
      if (is_output(task, p) || !is_same_window(&task->windows[p], &before->windows[q]))
        return false;
      reads = true;
    }
  return reads;
}

void prem_join_by_block(const prem_schedule *schedule, prem_task *task) {
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_task *before = &schedule->tasks[task->after[a].task];
    if (task->after[a].per_open)
      task->after[a].per_block =
          task->blocks_open && before->blocks_open && task->block_count > 0 &&
          task->block_count == before->block_count &&
          memcmp(task->blocks, before->blocks, (size_t)task->block_count * sizeof *task->blocks) ==
              0 &&
          prem_reads_tile_by_tile(task, before);
  }
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
