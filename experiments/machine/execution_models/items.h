/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The work, one source for the host (C11) and for the GPU (CUDA). An item is a number of 64 bits:
 * its stage (4 bits), its depth (6), and what it is (54). Each of its lanes has a part of it. It
 * makes at most `fan` others; how many, nobody knows before.
 *
 *   ships, reyes  pipelines with the resources of the tables in Kerbl et al., CUDA and Applications
 *                 to Task-based Programming (2022): registers, lanes, scratchpad, and as much input
 *                 as the scratchpad has room for. What they compute is made up
 *   queens        all ways to place queens: some rows item by item, the rest by one lane
 *   field         hills, cut into four until they are flat
 */
#pragma once

#include "runtime/core/ring.h"

#define MODEL_CODE PREM_RING_CODE /* where items are worked, */
#define MODEL_BOTH PREM_RING_INIT /* and on the host */
#ifdef __CUDACC__
#define MODEL_UNROLL _Pragma("unroll")
#else
#define MODEL_UNROLL
#endif

enum { MODEL_SHIPS, MODEL_REYES, MODEL_QUEENS, MODEL_FIELD, MODEL_WORKLOADS };
enum {
  MODEL_STAGES = 5,            /* at most */
  MODEL_THREADS = 256,         /* of a block at most, and what scratch_bytes are for */
  MODEL_LIVE = 96,             /* at most */
  MODEL_INPUT_WORDS = 1 << 20, /* of which an item reads some */
  MODEL_ROWS = 5,              /* of queens, that are items */
  MODEL_SIDE = 4096            /* of the field */
};
#define MODEL_NONE UINT64_MAX

typedef struct model_stage {
  uint32_t lanes, fan;   /* that work an item, 0: there is no such stage; items that it makes */
  uint32_t live, rounds; /* what is made up: words in registers; times they change */
  uint32_t input_words, scratch_bytes;
} model_stage;

MODEL_BOTH model_stage model_stage_of(int workload, int stage) {
  static const model_stage stages[MODEL_WORKLOADS][MODEL_STAGES] = {
      {{1, 4, 18, 32, 2, 2064},                   /* body recursion: 56 registers in the tables */
       {1, 3, 18, 32, 2, 2064},                   /* wing recursion: 56 */
       {1, 3, 18, 32, 2, 2064},                   /* top recursion: 56 */
       {1, 0, 34, 32, 2, 2064}},                  /* duplicate: 61 */
      {{16, 1, 4, 16, 32, 2192},                  /* check: 24 */
       {4, 2, 27, 16, 58, 14864},                 /* bound and split U: 63 */
       {4, 2, 29, 16, 58, 14864},                 /* bound and split V: 62 */
       {256, 4, 68, 4, 192, 6168},                /* dice and shade: 104 */
       {1, 0, 2, 16, 2, 2072}},                   /* blend: 14 */
      {{16, 16, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}}, /* a row; the rest */
      {{4, 4, 0, 0, 0, 0}, {16, 0, 0, 0, 0, 0}}}; /* split; sample */
  return stages[workload][stage];
}

/** `size`: depth of ships, reyes and field; queens. */
typedef struct model_work {
  int32_t workload;
  uint32_t size, roots; /* items to begin with */
} model_work;

/** What came of it, the same in any order; an item that is lost or worked twice changes it. */
typedef struct model_sums {
  uint64_t checksum, value; /* items of the last stage; of queens solutions */
} model_sums;

MODEL_BOTH uint64_t model_item(uint64_t stage, uint64_t depth, uint64_t what) {
  return stage << 60 | depth << 54 | (what & ((UINT64_C(1) << 54) - 1));
}
MODEL_BOTH uint32_t model_stage_in(uint64_t item) {
  return (uint32_t)(item >> 60);
}
MODEL_BOTH uint32_t model_depth(uint64_t item) {
  return (uint32_t)(item >> 54) & 63;
}
/** The finalizer of splitmix64 (Steele et al. 2014). */
MODEL_BOTH uint64_t model_hash(uint64_t value) {
  value += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}
/** Where its input begins. */
MODEL_BOTH uint32_t model_input_at(uint64_t item) {
  return (uint32_t)model_hash(~item) % (MODEL_INPUT_WORDS - 256);
}

/* ---- pipelines ------------------------------------------------------------------------------ */

/** `live` words, all of which are needed to the end; in registers if the compiler knows `live`. */
MODEL_BOTH uint32_t model_mix(const model_stage *of, uint32_t seed, const uint32_t *input) {
  const uint32_t live = of->live;
  uint32_t state[MODEL_LIVE], sum = 0;
  MODEL_UNROLL
  for (uint32_t i = 0; i < live; ++i)
    state[i] = seed + i * 0x9e3779b9u;
  for (uint32_t round = 0; round < of->rounds; ++round) {
    const uint32_t word = input[(seed + round) % of->input_words];
    MODEL_UNROLL
    for (uint32_t i = 0; i < live; ++i)
      state[i] = state[i] * 1664525u + (state[(i + 1) % live] ^ word);
  }
  MODEL_UNROLL
  for (uint32_t i = 0; i < live; ++i)
    sum ^= state[i];
  return sum;
}

/** Bodies make a body, a duplicate, and now and then a wing and a top, which branch. */
MODEL_BOTH uint64_t model_ships_child(uint64_t item, uint32_t which) {
  const uint32_t stage = model_stage_in(item), depth = model_depth(item);
  const uint64_t dice = model_hash(item), what = model_hash(item + which + 1);
  if (which + 1 == (stage == 0 ? 4 : 3))
    return model_item(3, 0, what);
  if (stage == 0 && which > 0)
    return dice >> which & 1 ? model_item(which, depth, what) : MODEL_NONE;
  return depth > 0 && (stage == 0 || (what & 3) != 0) ? model_item(stage, depth - 1, what)
                                                      : MODEL_NONE;
}

/** A patch is split, U and V in turn, until it is diced; now and then one is small before. */
MODEL_BOTH uint64_t model_reyes_child(uint64_t item, uint32_t which) {
  const uint32_t stage = model_stage_in(item), depth = model_depth(item);
  const uint64_t what = model_hash(item + which + 1);
  if (stage == 0)
    return depth > 0 && (what & 7) != 0 ? model_item(1 + depth % 2, depth, what)
                                        : model_item(3, 0, what);
  return stage == 3 ? model_item(4, 0, what) : model_item(0, depth - 1, what);
}

/* ---- queens: taken columns and diagonals, 16 bits each; field: x and y, 13 bits each ----------
 */

MODEL_BOTH uint64_t model_queens_child(uint64_t item, uint32_t column, uint32_t size) {
  const uint32_t row = model_depth(item) + 1, queen = 1u << column;
  const uint32_t columns = item & 0xffff, left = item >> 16 & 0xffff, right = item >> 32 & 0xffff;
  if (column >= size || ((columns | left | right) & queen) != 0)
    return MODEL_NONE;
  return model_item(row >= MODEL_ROWS, row,
                    (columns | queen) | (uint64_t)((left | queen) << 1 & 0xffff) << 16 |
                        (uint64_t)((right | queen) >> 1) << 32);
}

/** Solutions that begin so: row by row, each with the columns that are still to be tried. */
MODEL_BOTH uint64_t model_queens_rest(uint64_t item, uint32_t size) {
  const uint32_t all = (1u << size) - 1, rows = size - model_depth(item);
  uint32_t columns[16], left[16], right[16], tries[16], row = 0;
  uint64_t solutions = 0;
  columns[0] = item & 0xffff;
  left[0] = item >> 16 & 0xffff;
  right[0] = item >> 32 & 0xffff;
  tries[0] = all & ~(columns[0] | left[0] | right[0]);
  for (;;) {
    const uint32_t queen = tries[row] & (0 - tries[row]);
    tries[row] ^= queen;
    if (queen == 0 && row-- == 0)
      return solutions;
    if (queen == 0 || row + 1 == rows) {
      solutions += queen != 0;
      continue;
    }
    columns[row + 1] = columns[row] | queen;
    left[row + 1] = (left[row] | queen) << 1;
    right[row + 1] = (right[row] | queen) >> 1;
    ++row;
    tries[row] = all & ~(columns[row] | left[row] | right[row]);
  }
}

/** Four hills in whole numbers. */
MODEL_BOTH int32_t model_height(int32_t x, int32_t y) {
  const int32_t hills[4][2] = {{700, 900}, {3000, 600}, {1500, 2900}, {3300, 3500}};
  int32_t height = 0;
  for (int i = 0; i < 4; ++i) {
    const int32_t dx = x - hills[i][0], dy = y - hills[i][1];
    height += (1 << 29) / (16384 + dx * dx + dy * dy);
  }
  return height;
}

/** Flat: its middle is where its corners say. */
MODEL_BOTH uint64_t model_field_child(uint64_t item, uint32_t which, uint32_t size) {
  const uint32_t depth = model_depth(item);
  const int32_t side = MODEL_SIDE >> depth, x = item & 0x1fff, y = item >> 13 & 0x1fff;
  const int32_t half = side / 2;
  const int32_t off = 4 * model_height(x + half, y + half) - model_height(x, y) -
                      model_height(x + side, y) - model_height(x, y + side) -
                      model_height(x + side, y + side);
  if (depth >= size || (off <= 2 && off >= -2))
    return which == 0 ? model_item(1, depth, item) : MODEL_NONE;
  return model_item(0, depth + 1,
                    (uint64_t)(x + (which & 1 ? half : 0)) | (uint64_t)(y + (which & 2 ? half : 0))
                                                                 << 13);
}

/* ---- any ------------------------------------------------------------------------------------- */

/** Child number `which` of an item, or MODEL_NONE. */
MODEL_BOTH uint64_t model_child(int workload, uint64_t item, uint32_t which, uint32_t size) {
  return workload == MODEL_SHIPS    ? model_ships_child(item, which)
         : workload == MODEL_REYES  ? model_reyes_child(item, which)
         : workload == MODEL_QUEENS ? model_queens_child(item, which, size)
                                    : model_field_child(item, which, size);
}

/** A lane's part of an item. */
MODEL_BOTH void model_part(int workload, int stage, uint64_t item, uint32_t lane, uint32_t size,
                           const uint32_t *input, model_sums *sums) {
  const model_stage of = model_stage_of(workload, stage);
  const int32_t side = MODEL_SIDE >> model_depth(item), x = item & 0x1fff, y = item >> 13 & 0x1fff;
  const uint64_t hash = model_hash(item);
  uint64_t value = lane == 0 && of.fan == 0, sum = 0;
  if (of.live > 0)
    sum = model_mix(&of, (uint32_t)hash + lane, input);
  else if (workload == MODEL_QUEENS && stage == 1)
    value = model_queens_rest(item, size);
  else if (workload == MODEL_FIELD && stage == 1)
    sum = (uint64_t)model_height(x + (int32_t)(lane % 4) * side / 4,
                                 y + (int32_t)(lane / 4) * side / 4) *
          (lane + 1);
  sums->value += value;
  sums->checksum += sum + value * hash + (lane == 0 ? hash : 0);
}

/** Item number `i` to begin with; of queens the first two rows, or MODEL_NONE. */
MODEL_BOTH uint64_t model_root(const model_work *work, uint32_t i) {
  if (work->workload == MODEL_QUEENS)
    return model_queens_child(model_queens_child(0, i / work->size, work->size), i % work->size,
                              work->size);
  if (work->workload == MODEL_FIELD)
    return model_item(0, 4, (i % 16) << 8 | (uint64_t)(i / 16 % 16) << 21);
  return model_item(0, work->size, model_hash(i));
}
