/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing open tiles: see tile.h. */
#include "prem/model/tile.h"

#include <string.h>

#include "prem/base/numbers.h"
#include "prem/model/private.h"
#include "prem/model/scratchpad.h"

enum {
  USUAL_SCRATCH_BYTES = 48 << 10, /* of a block, where the file does not say */
  LOOKS = 64,                     /* at sizes that the kernel may refuse */
  LEAST_BYTES = 4 << 10,          /* of a tile that is made smaller, so that all blocks have one */
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
  if (c->best_tiles > 0 &&
      (moved > c->best_moved || (moved == c->best_moved && tiles >= c->best_tiles)))
    return;
  memcpy(c->best, tile, sizeof tile);
  c->best_moved = moved;
  c->best_tiles = tiles;
}

/* Of all such tiles the one that moves least; of equal ones one with whole rows, and few tiles. */
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
  return c->best_tiles > 0 && try_tile(c, c->best, rank);
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
               .room_bytes = scratch / platform->buffers / prem_max_i64(platform->tile_parts, 1),
               .blocks =
                   task->block_count > 0 ? task->block_count : schedule->private_data->open_blocks};
  for (int32_t p = 0; p < kernel->port_count; ++p) /* "new" arrays have no type of their own yet */
    if (schedule->arrays[task->arrays[p]].rank == 0)
      schedule->arrays[task->arrays[p]].type = kernel->ports[p].type;
  for (int32_t p = kernel->port_count - 1; p >= 0; --p) /* of the output, where it is known */
    for (int32_t rank = asked.rank[p]; rank > 0; --rank)
      if (choose(&c, asked.shape[p], rank)) {
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
