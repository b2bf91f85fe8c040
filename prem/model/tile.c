/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing open tiles: see tile.h. */
#include "prem/model/tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/by_block.h"
#include "prem/model/private.h"
#include "prem/model/scratchpad.h"

enum {
  USUAL_SCRATCH_BYTES = 48 << 10, /* of a block, where the file does not say */
  LOOKS = 64,                     /* at sizes that the kernel may refuse */
  LEAST_BYTES = 4 << 10,          /* of a tile that is made smaller, so that all blocks have one */
  ROW_BYTES = 64,                 /* that could be moved instead of beginning a row */
  TURN_BYTES = 48 << 10,          /* that a block could move while tiles turn around */
  MESSAGE_BYTES = 24 << 10,       /* the same, while another block is told of them */
  MAX_PIECES = 16                 /* of a row: of a window with a border square tiles move less */
};

typedef struct chooser {
  prem_schedule *schedule;
  prem_task *task; /* windows and layout are those of the last try */
  const prem_kernel *kernel;
  const prem_bind *asked; /* without a tile */
  prem_bind *bind;
  int64_t room_bytes; /* of an input and an output buffer */
  bool is_shared;     /* the buffers are as large as the largest tiles of several tasks */
  int32_t blocks;
  int32_t best[PREM_MAX_RANK];
  int64_t best_cost;              /* bytes that its slowest block could have moved */
  int64_t best_moved, best_tiles; /* bytes, of all tiles; 0: there is none yet */
} chooser;

static int64_t tiles_of(const prem_bind *bind) {
  return (int64_t)bind->grid[0] * bind->grid[1] * bind->grid[2];
}

/* What a careless kernel could give is judged when the choice is bound. */
static bool is_possible(const chooser *c) {
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    if (c->bind->grid[k] < 1)
      return false;
  for (int32_t p = 0; p < c->kernel->port_count; ++p)
    for (int32_t d = 0; d < PREM_MAX_RANK; ++d)
      if (c->bind->window[p].extent[d] < 1)
        return false;
  return c->bind->work_bytes >= 0;
}

/* Is the tile legal, and does it fit? */
static bool try_tile(chooser *c, const int32_t tile[PREM_MAX_RANK], int32_t rank) {
  *c->bind = *c->asked;
  c->bind->tile_rank = rank;
  memcpy(c->bind->tile, tile, sizeof c->bind->tile);
  if (c->kernel->bind(c->bind) != PREM_OK || !is_possible(c))
    return false;
  memcpy(c->task->windows, c->bind->window,
         (size_t)c->kernel->port_count * sizeof *c->task->windows);
  memcpy(c->task->grid, c->bind->grid, sizeof c->task->grid);
  c->task->work_bytes = c->bind->work_bytes;
  if (c->kernel->compatible)
    return true;
  if (!prem_scratchpad_lay_out(c->schedule, c->task, c->kernel))
    return false;
  return c->is_shared
             ? c->task->in_bytes <= c->room_bytes / 2 && c->task->out_bytes <= c->room_bytes / 2
             : (int64_t)c->task->in_bytes + c->task->out_bytes <= c->room_bytes;
}

/* The largest of dimension `d` that fits, or 0: halves, then the numbers between the last two;
 * what the kernel refuses is passed over. */
static int32_t largest(chooser *c, int32_t tile[PREM_MAX_RANK], int32_t rank, int32_t d,
                       int32_t most) {
  int32_t low = 0, high = most;
  if ((tile[d] = most, try_tile(c, tile, rank)))
    return most;
  for (int32_t size = most / 2; size > 0 && low == 0; size /= 2) {
    if ((tile[d] = size, try_tile(c, tile, rank)))
      low = size;
    else
      high = size;
  }
  for (int look = 0; low > 0 && high - low > 1 && look < LOOKS; ++look) {
    tile[d] = low + (high - low) / 2;
    *(try_tile(c, tile, rank) ? &low : &high) = tile[d];
  }
  return low;
}

/* So many rounds of all blocks; the smallest size that needs no more of them. */
static int32_t level(chooser *c, int32_t tile[PREM_MAX_RANK], int32_t rank, int32_t d, int32_t size,
                     int32_t most) {
  tile[d] = size;
  if (!try_tile(c, tile, rank))
    return size;
  const int64_t along = prem_div_ceil(most, size),
                others = prem_max_i64(tiles_of(c->bind) / along, 1);
  const int64_t rounds = prem_div_ceil(along * others, c->blocks);
  const int64_t fitting = prem_max_i64(rounds * c->blocks / others, along);
  for (int32_t less = (int32_t)prem_div_ceil(most, prem_min_i64(fitting, most)); less < size;
       ++less)
    if ((tile[d] = less, try_tile(c, tile, rank)) &&
        (int64_t)c->task->in_bytes + c->task->out_bytes >= LEAST_BYTES)
      return less;
  return size;
}

/* Bytes that a block could have moved while it has the tile of the last try. */
static int64_t tile_cost(const chooser *c) {
  int64_t cost = (int64_t)c->task->in_bytes + c->task->out_bytes + TURN_BYTES;
  for (int32_t p = 0; p < c->kernel->port_count; ++p)
    cost += (int64_t)c->task->layout[p].rows * ROW_BYTES;
  return cost;
}

/* Dimension `cut` as long as fits, of the others those in `whole` whole, and else 1. */
static void look_at(chooser *c, const int32_t sizes[PREM_MAX_RANK], int32_t rank, int32_t cut,
                    uint32_t whole) {
  int32_t tile[PREM_MAX_RANK] = {1, 1, 1, 1};
  for (int32_t d = 0; d < rank; ++d)
    tile[d] = whole & 1U << d ? sizes[d] : 1;
  tile[cut] = largest(c, tile, rank, cut, sizes[cut]);
  if (tile[cut] == 0)
    return;
  tile[cut] = level(c, tile, rank, cut, tile[cut], sizes[cut]);
  if (!try_tile(c, tile, rank))
    return;
  const int64_t tiles = tiles_of(c->bind);
  const int64_t moved = tiles * ((int64_t)c->task->in_bytes + c->task->out_bytes);
  const int64_t cost = prem_div_ceil(tiles, c->blocks) * tile_cost(c);
  if (c->best_tiles > 0 &&
      (cost > c->best_cost || (cost == c->best_cost && moved >= c->best_moved)))
    return;
  memcpy(c->best, tile, sizeof tile);
  c->best_cost = cost;
  c->best_moved = moved;
  c->best_tiles = tiles;
}

/* Of all such tiles the one with which blocks are done first; of equal ones that which moves least,
 * and one with whole rows. */
static bool choose(chooser *c, const int64_t shape[PREM_MAX_RANK], int32_t rank) {
  const int32_t row = (int32_t)prem_min_i64(shape[PREM_MAX_RANK - 1], INT32_MAX / 2);
  int32_t sizes[PREM_MAX_RANK] = {0};
  for (int32_t d = 0; d < rank; ++d)
    sizes[d] = (int32_t)prem_min_i64(shape[PREM_MAX_RANK - rank + d], INT32_MAX / 2);
  for (int32_t pieces = 1; pieces <= (rank > 1 ? MAX_PIECES : 1); ++pieces) {
    sizes[rank - 1] = (int32_t)prem_round_up(prem_div_ceil(row, pieces), PREM_PIECE_BYTES);
    if (pieces == 1 || sizes[rank - 1] > row)
      sizes[rank - 1] = row;
    for (int32_t cut = 0; cut < rank; ++cut)
      for (uint32_t whole = 1U << rank; whole-- > 0;)
        if (!(whole & 1U << cut))
          look_at(c, sizes, rank, cut, whole);
  }
  return c->best_tiles > 0;
}

/* The tile of a task before it, whose tiles it goes on with on the same blocks without a message;
 * false: none is worth that. */
static bool choose_as_before(chooser *c) {
  for (int32_t i = 0; c->task->blocks_open && i < c->task->after_count; ++i) {
    const prem_task *before = &c->schedule->tasks[c->task->after[i].task];
    if (!c->task->after[i].per_open || !before->blocks_open || !before->definition ||
        before->tile_rank == 0 || before->tile_count > 2 * c->blocks ||
        !try_tile(c, before->tile, before->tile_rank))
      continue;
    prem_task now = *c->task;
    now.definition = c->kernel;
    if (prem_reads_tile_by_tile(&now, before) && tile_cost(c) <= c->best_cost + MESSAGE_BYTES)
      return true;
  }
  return false;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/** How tasks share the blocks. */
typedef struct sharing {
  const prem_schedule *schedule;
  int32_t *followers; /* [task], that are not in `order` yet */
  int32_t *order;     /* none before one that follows it; those that go round, which is refused
                         elsewhere, are not in it */
  int32_t *depth;     /* [task]: so many of a row come before it */
  int32_t *height;    /* [task]: so many of a row come after it */
  double *bytes;      /* [task] of its arrays */
  double *beside;     /* [depth] the same, of all tasks that may run beside each other */
  int32_t count, levels;
} sharing;

static bool sharing_new(sharing *s, const prem_schedule *schedule) {
  const size_t tasks = (size_t)schedule->task_count + 1;
  *s = (sharing){.schedule = schedule,
                 .followers = calloc(tasks, sizeof *s->followers),
                 .order = calloc(tasks, sizeof *s->order),
                 .depth = calloc(tasks, sizeof *s->depth),
                 .height = calloc(tasks, sizeof *s->height),
                 .bytes = calloc(tasks, sizeof *s->bytes),
                 .beside = calloc(tasks, sizeof *s->beside)};
  return s->followers && s->order && s->depth && s->height && s->bytes && s->beside;
}

/* Of a task in error nobody knows what it follows, or reads. */
static int32_t edges_of(const prem_task *task) {
  return task->broken ? 0 : task->after_count;
}

static void find_order(sharing *s) {
  const prem_task *tasks = s->schedule->tasks;
  for (int32_t t = 0; t < s->schedule->task_count; ++t)
    for (int32_t i = 0; i < edges_of(&tasks[t]); ++i)
      ++s->followers[tasks[t].after[i].task];
  for (int32_t t = 0; t < s->schedule->task_count; ++t)
    if (s->followers[t] == 0)
      s->order[s->count++] = t;
  for (int32_t next = 0; next < s->count; ++next)
    for (int32_t i = 0; i < edges_of(&tasks[s->order[next]]); ++i) {
      const int32_t before = tasks[s->order[next]].after[i].task;
      s->height[before] = prem_max_i32(s->height[before], s->height[s->order[next]] + 1);
      if (--s->followers[before] == 0)
        s->order[s->count++] = before;
    }
}

/* Of "new" arrays nobody knows yet: what the tasks before it move, it will move as well. */
static void find_bytes(sharing *s, int32_t t) {
  const prem_task *task = &s->schedule->tasks[t];
  double before = 1;
  for (int32_t p = 0; p < task->port_count && !task->broken; ++p) {
    const prem_array *array = &s->schedule->arrays[task->port_arrays[p]];
    if (array->rank > 0)
      s->bytes[t] += (double)array->shape[0] * (double)array->shape[1] * (double)array->shape[2] *
                     (double)array->shape[3] * prem_type_bytes(array->type);
  }
  for (int32_t i = 0; i < edges_of(task); ++i) {
    const int32_t other = task->after[i].task;
    s->depth[t] = prem_max_i32(s->depth[t], s->depth[other] + 1);
    before = s->bytes[other] > before ? s->bytes[other] : before;
  }
  if (s->bytes[t] <= 0)
    s->bytes[t] = before;
  s->levels = prem_max_i32(s->levels, s->depth[t] + s->height[t] + 1);
}

/* One that may run later as well has its bytes there as well. */
static void find_beside(sharing *s, int32_t t) {
  const int32_t end = s->levels - s->height[t];
  for (int32_t level = s->depth[t]; level < end && !s->schedule->tasks[t].best_effort; ++level)
    s->beside[level] += s->bytes[t] / (end - s->depth[t]);
}

/* Of the blocks: as much as its bytes are of those beside it. The longest rows of tasks decide when
 * all ends; tasks of a row that is half as long may take twice the time. */
static double part_of(const sharing *s, int32_t t) {
  const int32_t end = s->levels - s->height[t], row = s->depth[t] + s->height[t] + 1;
  double beside = 0;
  for (int32_t level = s->depth[t]; level < end; ++level)
    beside += s->beside[level] / (end - s->depth[t]);
  const double part = beside > 0 ? s->bytes[t] * row / s->levels / beside : 1;
  return part < 1 ? part : 1;
}

prem_status prem_tile_share(prem_schedule *schedule) {
  struct prem_schedule_private *own = schedule->private_data;
  const int32_t tasks = schedule->task_count, pct = schedule->platform.tile_pct;
  int32_t open = schedule->platform.blocks; /* best-effort tasks have named theirs */
  sharing s;
  free(own->tile_blocks);
  own->tile_blocks = calloc((size_t)tasks + 1, sizeof *own->tile_blocks);
  const bool has_memory = sharing_new(&s, schedule) && own->tile_blocks;
  if (has_memory)
    find_order(&s);
  for (int32_t i = has_memory ? s.count : 0; i-- > 0;)
    find_bytes(&s, s.order[i]);
  for (int32_t i = 0; has_memory && i < s.count; ++i)
    find_beside(&s, s.order[i]);
  for (int32_t t = 0; t < tasks; ++t)
    open -= schedule->tasks[t].best_effort ? schedule->tasks[t].block_count : 0;
  for (int32_t t = 0; has_memory && t < tasks; ++t) {
    const int32_t named = schedule->tasks[t].block_count;
    const double blocks = named > 0 ? named : open * part_of(&s, t);
    const double tiles = round(blocks * (pct > 0 ? pct : 100) / 100);
    own->tile_blocks[t] = (int32_t)fmin(fmax(tiles, 1), INT32_MAX);
  }
  PREM_FREE(s.followers, s.order, s.depth, s.height, s.bytes, s.beside);
  return has_memory ? PREM_OK : PREM_ERR_MEMORY;
}

prem_status prem_tile_choose(prem_schedule *schedule, prem_task *task, const prem_kernel *kernel,
                             prem_bind *bind) {
  const prem_platform *platform = &schedule->platform;
  const int64_t scratch =
      platform->scratch_bytes > 0 ? platform->scratch_bytes : USUAL_SCRATCH_BYTES;
  const prem_bind asked = *bind;
  const prem_status status = kernel->bind(bind);
  task->tile_open = status == PREM_ERR_INVALID && strcmp(bind->key, "tile") == 0;
  if (!task->tile_open)
    return status;
  chooser c = {.schedule = schedule,
               .task = task,
               .kernel = kernel,
               .asked = &asked,
               .bind = bind,
               .is_shared = schedule->task_count > 1,
               .room_bytes = scratch / platform->buffers,
               .blocks = schedule->private_data->tile_blocks[task - schedule->tasks]};
  for (int32_t p = 0; p < kernel->port_count; ++p) /* "new" arrays have no type of their own yet */
    if (schedule->arrays[task->arrays[p]].rank == 0)
      schedule->arrays[task->arrays[p]].type = kernel->ports[p].type;
  for (int32_t p = kernel->port_count - 1; p >= 0; --p) /* of the output, where it is known */
    for (int32_t rank = asked.rank[p]; rank > 0; --rank)
      if (choose(&c, asked.shape[p], rank) &&
          (choose_as_before(&c) || try_tile(&c, c.best, rank))) {
        task->tile_rank = bind->tile_rank;
        memcpy(task->tile, bind->tile, sizeof task->tile);
        return PREM_OK;
      }
  return prem_bind_refuse(bind, "tile",
                          "is left out, and none that kernel '%s' takes fits the %lld bytes that a "
                          "block's scratchpad has for each of %d buffers; name one, or give more "
                          "scratch_bytes",
                          kernel->name, (long long)c.room_bytes, (int)platform->buffers);
}
