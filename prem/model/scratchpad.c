/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tile's windows lie in its block's scratchpad. A block has buffers of inputs and buffers
 * of outputs, each as large as the largest tile of its tasks needs. A work area lies behind the
 * outputs of its tile or behind its inputs: both are its own from before its compute begins until
 * after it ends.
 */
#include "prem/model/scratchpad.h"

#include "prem/base/numbers.h"
#include "prem/model/private.h"

#include <stdlib.h>

enum { BUFFER_ALIGNMENT = 128 };

/* The most bytes between a 16-byte boundary and the first element of a tile's window. */
static int64_t max_lead(const prem_task *task, const prem_window *window, int32_t element) {
  bool varies = window->aim != 0;
  for (int k = 0; k < PREM_MAX_GRID; ++k)
    varies |= task->grid[k] > 1 && window->step[3][k] * element % PREM_PIECE_BYTES != 0;
  const int64_t lead = window->base[3] * element % PREM_PIECE_BYTES;
  return varies ? PREM_PIECE_BYTES - element : (lead + PREM_PIECE_BYTES) % PREM_PIECE_BYTES;
}

/* One port behind the other, each at a multiple of 128; false: a buffer beyond 2 GiB. */
bool prem_scratchpad_lay_out(const prem_schedule *schedule, prem_task *task,
                             const prem_kernel *kernel) {
  int64_t used[2] = {0, 0};
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const int32_t *extent = task->windows[p].extent;
    const int32_t element = prem_type_bytes(schedule->arrays[task->arrays[p]].type);
    const int64_t lead = max_lead(task, &task->windows[p], element);
    const int64_t row = prem_round_up(lead + (int64_t)extent[3] * element, PREM_PIECE_BYTES);
    int64_t rows = extent[0], *end = &used[kernel->ports[p].access == PREM_OUT];
    for (int d = 1; d < 3; ++d)
      if ((rows *= extent[d]) > INT32_MAX)
        return false;
    if (row > INT32_MAX || *end + row * rows > INT32_MAX - BUFFER_ALIGNMENT)
      return false;
    task->layout[p] = (prem_port_layout){.offset_bytes = (int32_t)*end,
                                         .row_bytes = (int32_t)row,
                                         .rows = (int32_t)rows,
                                         .element_bytes = element};
    *end = prem_round_up(*end + row * rows, BUFFER_ALIGNMENT);
  }
  task->layout[kernel->port_count] = (prem_port_layout){.offset_bytes = (int32_t)used[1],
                                                        .row_bytes = task->work_bytes,
                                                        .rows = task->work_bytes > 0,
                                                        .element_bytes = 1};
  if (used[1] + task->work_bytes > INT32_MAX - BUFFER_ALIGNMENT)
    return false;
  used[1] = prem_round_up(used[1] + task->work_bytes, BUFFER_ALIGNMENT);
  task->work_is_input = false;
  task->in_bytes = (int32_t)used[0];
  task->out_bytes = (int32_t)used[1];
  return true;
}

/* ---- what blocks need ------------------------------------------------------------------------ */

/* The largest buffers of each block; what the largest sums to. */
static int64_t measure_blocks(const prem_schedule *schedule, int32_t *block_in,
                              int32_t *block_out) {
  int64_t most = 0;
  for (int32_t b = 0; b < schedule->platform.blocks; ++b)
    block_in[b] = block_out[b] = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t i = 0; task->definition && i < task->block_count; ++i) {
      int32_t *in = &block_in[task->blocks[i]], *out = &block_out[task->blocks[i]];
      *in = *in < task->in_bytes ? task->in_bytes : *in;
      *out = *out < task->out_bytes ? task->out_bytes : *out;
      most = most < (int64_t)*in + *out ? (int64_t)*in + *out : most;
    }
  }
  return most;
}

/* ---- work areas ------------------------------------------------------------------------------ */

static bool has_work_area(const prem_task *task) {
  return task->definition && task->work_bytes > 0;
}

/* Its input buffer with the work area in it. INT64_MAX: it cannot be there, as the tile has no
 * inputs, or too large ones. */
static int64_t with_work_bytes(const prem_task *task) {
  if (task->work_is_input)
    return task->in_bytes;
  const int64_t bytes = task->in_bytes + prem_round_up(task->work_bytes, BUFFER_ALIGNMENT);
  return task->in_bytes > 0 && bytes <= INT32_MAX - BUFFER_ALIGNMENT ? bytes : INT64_MAX;
}

static void work_area_move(prem_task *task, bool is_input) {
  const int32_t bytes = (int32_t)prem_round_up(task->work_bytes, BUFFER_ALIGNMENT);
  int32_t *from = task->work_is_input ? &task->in_bytes : &task->out_bytes;
  int32_t *to = is_input ? &task->in_bytes : &task->out_bytes;
  *from -= bytes;
  task->layout[task->definition->port_count].offset_bytes = *to;
  *to += bytes;
  task->work_is_input = is_input;
}

/* Those that make an input buffer of at most so many bytes lie in it, the others in the output
 * buffer. */
static void work_areas_place(prem_schedule *schedule, int64_t in_bytes) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (has_work_area(&schedule->tasks[t]))
      work_area_move(&schedule->tasks[t], with_work_bytes(&schedule->tasks[t]) <= in_bytes);
}

prem_status prem_scratchpad_measure(prem_schedule *schedule) {
  struct prem_schedule_private *own = schedule->private_data;
  const size_t blocks = (size_t)schedule->platform.blocks + 1;
  free(own->block_in);
  free(own->block_out);
  own->block_in = calloc(blocks, sizeof *own->block_in);
  own->block_out = calloc(blocks, sizeof *own->block_out);
  if (!own->block_in || !own->block_out)
    return PREM_ERR_MEMORY;
  int64_t best_in = 0, least = measure_blocks(schedule, own->block_in, own->block_out);
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const int64_t in =
        has_work_area(&schedule->tasks[t]) ? with_work_bytes(&schedule->tasks[t]) : INT64_MAX;
    if (in == INT64_MAX)
      continue;
    work_areas_place(schedule, in);
    const int64_t most = measure_blocks(schedule, own->block_in, own->block_out);
    if (most < least || (most == least && in < best_in)) {
      least = most;
      best_in = in;
    }
  }
  work_areas_place(schedule, best_in);
  measure_blocks(schedule, own->block_in, own->block_out);
  return PREM_OK;
}

int64_t prem_block_scratch_bytes(const prem_schedule *schedule, int32_t block) {
  const struct prem_schedule_private *own = schedule->private_data;
  if (!own || !own->block_in || block < 0 || block >= schedule->platform.blocks)
    return 0;
  return schedule->platform.buffers * ((int64_t)own->block_in[block] + own->block_out[block]);
}
