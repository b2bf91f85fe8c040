/* SPDX-License-Identifier: Apache-2.0 */
/** Random sets of tasks with data and without times, as text of a schedule file: one for each seed.
 */
#ifndef TTPREM_EXPERIMENTS_TASK_SETS_DRAW_H
#define TTPREM_EXPERIMENTS_TASK_SETS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

/** What a set is drawn for. */
typedef struct set_room {
  int32_t sms;           /* 0: blocks sit anywhere */
  int32_t blocks;        /* of all tasks */
  int32_t rows, columns; /* of an image at most; 16 at least */
  int32_t scratch_bytes; /* of a block's tiles */
  int32_t late_ns;       /* a release is late above this */
  bool has_times;        /* of a machine that takes a nanosecond for each four bytes, for sim */
} set_room;

/**
 * Tasks in levels, each of which reads what one or two earlier ones wrote, on its share of the
 * blocks; or, not as a graph, tasks that have nothing to do with each other on 1 to 32 blocks each.
 *
 * @param tasks  16 to 64 make sense.
 * @return free with free(); NULL when out of memory.
 */
char *set_draw(const set_room *room, bool is_graph, int32_t tasks, uint64_t seed);

#endif
