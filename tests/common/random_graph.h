/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: random task graphs with data, one for each seed: levels of tasks that read what the
 * level before wrote, forks and joins, one-shot or at harmonic rates, on blocks that they share or
 * not. Without times: these come from a profile.
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/random.h"
#include "ttprem/ttprem.h"

enum {
  GRAPH_TASKS = 10,
  GRAPH_LEVELS = 6,
  GRAPH_WIDTH = 5,
  GRAPH_RANK = 3,
  GRAPH_INPUTS = 2 * GRAPH_TASKS
};

/** What a graph may ask of a machine. */
typedef struct graph_bounds {
  int32_t sms;          /* 0: blocks sit anywhere, and have no threads of their own */
  int32_t blocks;       /* of a task at most */
  int64_t max_elements; /* of an array */
  int64_t period_ns;    /* the shortest */
  bool reads_whole;     /* who reads a faster task is done before it writes again */
} graph_bounds;

typedef struct graph_array {
  bool is_c64;
  int32_t rank; /* 0: there is none */
  int64_t shape[GRAPH_RANK];
} graph_array;

/** An operand: the output of a task, or an input of the graph. */
typedef struct graph_operand {
  int32_t task; /* -1: an input */
  int32_t input;
} graph_operand;

/** How a kernel's output follows from its first operand. */
typedef enum graph_kind {
  GRAPH_ALIKE,       /* the same shape */
  GRAPH_ALIKE_TWO,   /* of two operands of that shape */
  GRAPH_CHANNELS,    /* of another one without channels */
  GRAPH_SUM,         /* without channels */
  GRAPH_TILES,       /* one element a tile */
  GRAPH_CONVOLUTION, /* without the border */
  GRAPH_WALK,        /* one element a walker */
  GRAPH_NOTHING      /* no data at all */
} graph_kind;

typedef struct graph_kernel {
  const char *name;
  graph_kind kind;
  bool is_c64;
  int32_t rank_min, rank_max; /* of the first operand */
  int32_t border;
  const char *in[2];
} graph_kernel;

typedef struct graph_task {
  const graph_kernel *kernel;
  int32_t level, first_block, block_count, tiles;
  int64_t period_ns;
  graph_operand operand[2];
  int32_t operand_count;
  graph_array out;
  int32_t tile_rank;
  int64_t tile[GRAPH_RANK], walkers;
  bool follows[GRAPH_TASKS];
} graph_task;

typedef struct random_graph {
  uint64_t seed, state;
  graph_bounds bounds;
  int32_t blocks_per_sm, blocks, threads, buffers, cursor;
  int64_t scratch_bytes;
  bool is_periodic, is_apart; /* apart: blocks are shared only where there are too few */
  graph_array inputs[GRAPH_INPUTS];
  int32_t input_count;
  graph_task tasks[GRAPH_TASKS];
  int32_t task_count, level_count;
} random_graph;

/* ---- drawing -------------------------------------------------------------------------------- */

/** A number of [low, high]. */
static inline int64_t graph_draw(random_graph *graph, int64_t low, int64_t high) {
  return low + (int64_t)(prem_random_next(&graph->state) % (uint64_t)(high - low + 1));
}

static inline bool graph_chance(random_graph *graph, int64_t of) {
  return graph_draw(graph, 1, of) == 1;
}

static inline int64_t graph_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t graph_parts(int64_t all, int64_t of) {
  return (all + of - 1) / of;
}

static inline int64_t graph_elements(const graph_array *array) {
  int64_t elements = 1;
  for (int32_t d = 0; d < array->rank; ++d)
    elements *= array->shape[d];
  return elements;
}

static inline bool graph_same(const graph_array *a, const graph_array *b) {
  return a->is_c64 == b->is_c64 && a->rank == b->rank &&
         memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

static inline const graph_array *graph_array_of(const random_graph *graph, graph_operand operand) {
  return operand.task < 0 ? &graph->inputs[operand.input] : &graph->tasks[operand.task].out;
}

static inline graph_operand graph_input(random_graph *graph, graph_array array) {
  graph->inputs[graph->input_count] = array;
  return (graph_operand){.task = -1, .input = graph->input_count++};
}

/** Sizes over many orders of magnitude: what a link costs shows in small tasks, what it disturbs in
 *  large ones. */
static inline graph_array graph_any_array(random_graph *graph) {
  int64_t elements = graph->bounds.max_elements;
  for (int64_t halvings = graph_draw(graph, 0, 8); halvings > 0 && elements > 2048; --halvings)
    elements /= 2;
  elements -= graph_draw(graph, 0, elements / 8);
  const int64_t columns = 8 * graph_draw(graph, 2, 32);
  switch (graph_draw(graph, 0, 3)) {
  case 0:
    return (graph_array){.rank = 1, .shape = {elements}};
  case 1:
    return (graph_array){.rank = 2, .shape = {elements / columns + 8, columns}};
  case 2:
    return (graph_array){
        .is_c64 = true, .rank = 2, .shape = {graph_parts(elements, columns), columns}};
  default: {
    const int64_t channels = graph_draw(graph, 2, 32);
    return (graph_array){.is_c64 = true,
                         .rank = 3,
                         .shape = {channels, graph_parts(elements, channels * columns), columns}};
  }
  }
}

static const graph_kernel graph_kernels[] = {
    {"conv2d", GRAPH_CONVOLUTION, false, 2, 2, 2, {"in"}},
    {"conv2d_7x7", GRAPH_CONVOLUTION, false, 2, 2, 6, {"in"}},
    {"kcf_add", GRAPH_ALIKE_TWO, true, 1, 3, 0, {"a", "b"}},
    {"kcf_add_constant", GRAPH_ALIKE, true, 1, 3, 0, {"in"}},
    {"kcf_conjugate", GRAPH_ALIKE, true, 1, 3, 0, {"in"}},
    {"kcf_divide", GRAPH_ALIKE_TWO, true, 1, 3, 0, {"a", "b"}},
    {"kcf_multiply", GRAPH_ALIKE_TWO, true, 1, 3, 0, {"a", "b"}},
    {"kcf_multiply_channels", GRAPH_CHANNELS, true, 3, 3, 0, {"a", "b"}},
    {"kcf_multiply_constant", GRAPH_ALIKE, true, 1, 3, 0, {"in"}},
    {"kcf_sqr_magnitude", GRAPH_ALIKE, true, 1, 3, 0, {"in"}},
    {"kcf_sqr_norm", GRAPH_TILES, true, 1, 3, 0, {"in"}},
    {"kcf_sum_channels", GRAPH_SUM, true, 3, 3, 0, {"in"}},
    {"noop", GRAPH_NOTHING, false, 0, 0, 0, {NULL}},
    {"vector_increment", GRAPH_ALIKE, false, 1, 1, 0, {"in"}},
    {"vector_sum", GRAPH_TILES, false, 1, 1, 0, {"in"}},
    {"walk", GRAPH_WALK, false, 1, 1, 0, {"vector"}},
};
enum { GRAPH_KERNELS = sizeof graph_kernels / sizeof graph_kernels[0] };

static inline bool graph_kernel_takes(const graph_kernel *kernel, const graph_array *array) {
  if (kernel->kind == GRAPH_NOTHING)
    return true;
  if (kernel->is_c64 != array->is_c64 || array->rank < kernel->rank_min ||
      array->rank > kernel->rank_max)
    return false;
  return kernel->kind != GRAPH_CONVOLUTION ||
         (array->shape[0] > kernel->border && array->shape[1] > kernel->border);
}

/** Some are rarer: what does nothing, and what takes another build of the executive. */
static inline const graph_kernel *graph_kernel_for(random_graph *graph, const graph_array *array) {
  for (;;) {
    const graph_kernel *kernel = &graph_kernels[graph_draw(graph, 0, GRAPH_KERNELS - 1)];
    const bool is_rare = kernel->kind == GRAPH_WALK || kernel->kind == GRAPH_NOTHING;
    if (graph_kernel_takes(kernel, array) && (!is_rare || graph_chance(graph, 8)))
      return kernel;
  }
}

/* ---- blocks and tiles ------------------------------------------------------------------------ */

static inline void graph_place(random_graph *graph, graph_task *task) {
  const int64_t max = graph_min(graph->bounds.blocks, graph->blocks);
  static const int64_t some[] = {4, 32, 132};
  const int64_t kind = graph_draw(graph, 0, 3);
  task->block_count = (int32_t)(kind == 3 ? max : graph_draw(graph, 1, graph_min(some[kind], max)));
  if (graph->cursor + task->block_count > graph->blocks)
    graph->cursor = 0;
  task->first_block = graph->is_apart
                          ? graph->cursor
                          : (int32_t)graph_draw(graph, 0, graph->blocks - task->block_count);
  graph->cursor += task->block_count;
}

/** Fewer tiles than blocks, as many, or more: about so many, of 32 elements at least. */
static inline int64_t graph_tiles_wanted(random_graph *graph, const graph_task *task,
                                         int64_t elements) {
  const int64_t blocks = task->block_count, relation = graph_draw(graph, 0, 3);
  int64_t tiles = relation == 0   ? graph_parts(blocks * graph_draw(graph, 1, 9), 10)
                  : relation == 1 ? blocks
                                  : blocks + graph_draw(graph, 1, 2 * blocks);
  tiles = graph_min(tiles, elements / 32);
  return tiles > 0 ? tiles : 1;
}

static inline int64_t graph_window_bytes(int64_t planes_and_rows, int64_t columns, bool is_c64) {
  const int64_t row = graph_parts(columns * (is_c64 ? 8 : 4) + 15, 16) * 16;
  return planes_and_rows * row + 128;
}

/** Of the larger of a tile's input and output buffers, or somewhat more. */
static inline int64_t graph_tile_bytes(const random_graph *graph, const graph_task *task) {
  const graph_kernel *kernel = task->kernel;
  int64_t rows = 1;
  for (int32_t d = 0; d < task->tile_rank - 1; ++d)
    rows *= task->tile[d] + kernel->border;
  if (kernel->kind == GRAPH_SUM)
    rows *= graph_array_of(graph, task->operand[0])->shape[0];
  const int64_t columns = task->tile[task->tile_rank - 1] + kernel->border;
  return task->operand_count * graph_window_bytes(rows, columns, kernel->is_c64);
}

static inline void graph_halve_tile(graph_task *task) {
  int32_t largest = 0;
  for (int32_t d = 1; d < task->tile_rank; ++d)
    if (task->tile[d] > task->tile[largest])
      largest = d;
  task->tile[largest] = graph_parts(task->tile[largest], 2);
}

/** Cut from the outermost dimension on, now and then a row as well; then down to what a buffer
 *  holds. */
static inline void graph_cut(random_graph *graph, graph_task *task, const graph_array *array) {
  int64_t wanted = graph_tiles_wanted(graph, task, graph_elements(array));
  task->tile_rank = array->rank;
  memcpy(task->tile, array->shape, sizeof task->tile);
  if (array->rank > 1 && wanted > 3 && array->shape[array->rank - 1] > 64 &&
      graph_chance(graph, 3)) {
    task->tile[array->rank - 1] = graph_parts(array->shape[array->rank - 1], 2);
    wanted = graph_parts(wanted, 2);
  }
  for (int32_t d = 0; d < array->rank && wanted > 1; ++d) {
    const int64_t parts = graph_min(wanted, task->tile[d]);
    task->tile[d] = graph_parts(task->tile[d], parts);
    wanted = graph_parts(wanted, parts);
  }
  while (graph_tile_bytes(graph, task) > graph->scratch_bytes / (2 * graph->buffers))
    graph_halve_tile(task);
  task->tiles = 1;
  for (int32_t d = 0; d < array->rank; ++d)
    task->tiles *= (int32_t)graph_parts(array->shape[d], task->tile[d]);
}

/** The output's shape, and the tiles. */
static inline void graph_shape_task(random_graph *graph, graph_task *task) {
  const graph_array first = *graph_array_of(graph, task->operand[0]);
  const graph_array without = {
      .is_c64 = first.is_c64, .rank = first.rank - 1, .shape = {first.shape[1], first.shape[2]}};
  task->out = first;
  switch (task->kernel->kind) {
  case GRAPH_SUM:
    task->out = without;
    graph_cut(graph, task, &without);
    return;
  case GRAPH_TILES:
    graph_cut(graph, task, &first);
    task->out = (graph_array){.rank = 1, .shape = {task->tiles}};
    return;
  case GRAPH_CONVOLUTION:
    task->out.shape[0] -= task->kernel->border;
    task->out.shape[1] -= task->kernel->border;
    graph_cut(graph, task, &task->out);
    return;
  case GRAPH_WALK:
    task->walkers = graph_draw(graph, 1, 4096);
    task->out.shape[0] = task->walkers;
    graph_cut(graph, task, &task->out);
    return;
  default:
    graph_cut(graph, task, &first);
  }
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/** What an earlier task wrote, if it fits, or a new input. */
static inline graph_operand graph_other_operand(random_graph *graph, int32_t number,
                                                const graph_array *array) {
  const int32_t first = number > 0 ? (int32_t)graph_draw(graph, 0, number - 1) : 0;
  for (int32_t i = 0; i < number; ++i) {
    const int32_t task = (first + i) % number;
    if (graph->tasks[task].level < graph->tasks[number].level &&
        graph_same(&graph->tasks[task].out, array))
      return (graph_operand){.task = task};
  }
  return graph_input(graph, *array);
}

/** A task of the level before, with an output if there is one; -1 on the first level. */
static inline int32_t graph_parent(random_graph *graph, int32_t number) {
  const int32_t level = graph->tasks[number].level;
  int32_t parent = -1;
  for (int32_t task = 0, seen = 0; task < number; ++task) {
    if (graph->tasks[task].level != level - 1)
      continue;
    ++seen;
    const bool better =
        parent < 0 || (graph->tasks[parent].out.rank == 0 && graph->tasks[task].out.rank > 0);
    if (better || (graph->tasks[task].out.rank > 0 && graph_chance(graph, seen)))
      parent = task;
  }
  return parent;
}

static inline void graph_take_operands(random_graph *graph, int32_t number, int32_t parent) {
  graph_task *task = &graph->tasks[number];
  const bool has_parent = parent >= 0 && graph->tasks[parent].out.rank > 0;
  const graph_array first = has_parent ? graph->tasks[parent].out : graph_any_array(graph);
  task->kernel = graph_kernel_for(graph, &first);
  if (task->kernel->kind == GRAPH_NOTHING)
    return;
  task->operand[task->operand_count++] =
      has_parent ? (graph_operand){.task = parent} : graph_input(graph, first);
  graph_array other = first;
  if (task->kernel->kind == GRAPH_CHANNELS)
    other = (graph_array){.is_c64 = true, .rank = 2, .shape = {first.shape[1], first.shape[2]}};
  else if (task->kernel->kind != GRAPH_ALIKE_TWO)
    return;
  task->operand[task->operand_count++] = graph_other_operand(graph, number, &other);
}

/** Behind its parent and whoever wrote what it reads; now and then behind another one as well. */
static inline void graph_follow(random_graph *graph, int32_t number, int32_t parent) {
  graph_task *task = &graph->tasks[number];
  if (parent >= 0)
    task->follows[parent] = true;
  for (int32_t i = 0; i < task->operand_count; ++i)
    if (task->operand[i].task >= 0)
      task->follows[task->operand[i].task] = true;
  const int32_t other = (int32_t)graph_draw(graph, 0, number);
  if (graph->tasks[other].level < task->level && graph_chance(graph, 3))
    task->follows[other] = true;
}

static inline void graph_add_task(random_graph *graph, int32_t level) {
  const int32_t number = graph->task_count++;
  graph_task *task = &graph->tasks[number];
  *task = (graph_task){.level = level};
  const int32_t parent = graph_parent(graph, number);
  graph_take_operands(graph, number, parent);
  graph_place(graph, task);
  if (task->kernel->kind == GRAPH_NOTHING)
    task->tiles = (int32_t)graph_tiles_wanted(graph, task, INT32_MAX);
  else
    graph_shape_task(graph, task);
  graph_follow(graph, number, parent);
  if (graph->is_periodic)
    task->period_ns = graph->bounds.period_ns << graph_draw(graph, 0, 2);
}

/** Blocks, threads and scratchpad that fit an SM together. */
static inline void graph_draw_platform(random_graph *graph) {
  static const int threads[] = {128, 224, 384, 512};
  static const int64_t scratch_bytes[] = {0, 196608, 98304, 65536, 49152};
  graph->blocks_per_sm = graph->bounds.sms ? (int32_t)graph_draw(graph, 1, 3) : 1;
  graph->blocks =
      graph->bounds.sms ? graph->bounds.sms * graph->blocks_per_sm : graph->bounds.blocks;
  graph->threads = threads[graph_draw(graph, 0, graph->blocks_per_sm > 2 ? 1 : 3)];
  graph->buffers = (int32_t)graph_draw(graph, 1, 3);
  graph->scratch_bytes = scratch_bytes[graph->blocks_per_sm];
}

static inline random_graph random_graph_draw(uint64_t seed, graph_bounds bounds) {
  random_graph graph = {.seed = seed, .state = seed, .bounds = bounds};
  graph_draw_platform(&graph);
  graph.is_periodic = graph_chance(&graph, 3);
  graph.is_apart = graph_chance(&graph, 2);
  graph.level_count = (int32_t)graph_draw(&graph, 1, GRAPH_LEVELS);
  for (int32_t level = 0; level < graph.level_count; ++level) {
    const int32_t left = graph.level_count - level - 1; /* levels that need a task yet */
    int64_t width = graph_draw(&graph, 1, GRAPH_WIDTH);
    width = graph_min(width, GRAPH_TASKS - graph.task_count - left);
    for (; width > 0; --width)
      graph_add_task(&graph, level);
  }
  return graph;
}

/* ---- writing -------------------------------------------------------------------------------- */

static inline void graph_numbers_print(FILE *file, const char *key, int32_t count,
                                       const int64_t *numbers) {
  fprintf(file, "%s = [", key);
  for (int32_t i = 0; i < count; ++i)
    fprintf(file, "%s %" PRId64, i ? "," : "", numbers[i]);
  fputs(" ]; ", file);
}

static inline void graph_platform_print(FILE *file, const random_graph *graph) {
  fprintf(file, "version = 1; name = \"graph_%" PRIu64 "\";\nplatform: { ", graph->seed);
  if (graph->bounds.sms)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %" PRId32 "; block_threads = %" PRId32 "; ",
            graph->bounds.sms, graph->blocks_per_sm, graph->threads);
  else
    fprintf(file, "blocks = %" PRId32 "; ", graph->blocks);
  fprintf(file,
          "buffers = %" PRId32 "; scratch_bytes = %" PRId64 "L;\n"
          "  clock_step_ns = 32L; late_ns = 128L;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; } ); };\n",
          graph->buffers, graph->scratch_bytes, graph->blocks);
}

static inline void graph_arrays_print(FILE *file, const random_graph *graph) {
  if (graph->input_count == 0)
    return;
  fputs("arrays = (\n", file);
  for (int32_t a = 0; a < graph->input_count; ++a) {
    const graph_array *array = &graph->inputs[a];
    fprintf(file, "  { name = \"a%" PRId32 "\"; type = \"%s\"; ", a, array->is_c64 ? "c64" : "f32");
    graph_numbers_print(file, "shape", array->rank, array->shape);
    fprintf(file, "fill = \"random\"; seed = %" PRId32 "; }%s\n", a + 1,
            a + 1 < graph->input_count ? "," : "");
  }
  fputs(");\n", file);
}

static inline void graph_data_print(FILE *file, const graph_task *task) {
  if (task->kernel->kind == GRAPH_NOTHING) {
    fprintf(file, "tiles = %" PRId32 "; compute: { }; ", task->tiles);
    return;
  }
  graph_numbers_print(file, "tile", task->tile_rank, task->tile);
  if (task->kernel->kind == GRAPH_WALK)
    fprintf(file, "args: { steps = 10; walkers = %" PRId64 "; }; ", task->walkers);
  fputs("\n    arrays: { ", file);
  for (int32_t i = 0; i < task->operand_count; ++i)
    if (task->operand[i].task < 0)
      fprintf(file, "%s = \"a%" PRId32 "\"; ", task->kernel->in[i], task->operand[i].input);
    else
      fprintf(file, "%s = \"t%" PRId32 ".out\"; ", task->kernel->in[i], task->operand[i].task);
  fputs("out = \"new\"; };", file);
}

static inline void graph_after_print(FILE *file, const random_graph *graph,
                                     const graph_task *task) {
  const char *between = "\n    after = ( ";
  for (int32_t before = 0; before < graph->task_count; ++before) {
    if (!task->follows[before])
      continue;
    fprintf(file, "%s{ task = \"t%" PRId32 "\"; %s}", between, before,
            graph->tasks[before].period_ns == task->period_ns ? "" : "instance = \"latest\"; ");
    between = ", ";
  }
  if (between[0] == ',')
    fputs(" );", file);
}

/** Without a deadline, a plan may have a slow reader at work while the faster writer's next job
 *  writes; then a late reader sees half of each. */
static inline void graph_deadline_print(FILE *file, const random_graph *graph,
                                        const graph_task *task) {
  int64_t deadline_ns = task->period_ns;
  for (int32_t i = 0; i < task->operand_count; ++i)
    if (task->operand[i].task >= 0 && graph->tasks[task->operand[i].task].period_ns < deadline_ns)
      deadline_ns = graph->tasks[task->operand[i].task].period_ns;
  if (graph->bounds.reads_whole && deadline_ns < task->period_ns)
    fprintf(file, "deadline_ns = %" PRId64 "L; ", deadline_ns);
}

/** The schedule file of a graph, whose times are in the profile at a path. */
static inline void random_graph_print(FILE *file, const random_graph *graph, const char *profile) {
  graph_platform_print(file, graph);
  graph_arrays_print(file, graph);
  fputs("tasks = (\n", file);
  for (int32_t t = 0; t < graph->task_count; ++t) {
    const graph_task *task = &graph->tasks[t];
    fprintf(file, "  { name = \"t%" PRId32 "\"; kernel = \"%s\"; profile = \"measured\";\n    ", t,
            task->kernel->name);
    fprintf(file, "blocks = \"%" PRId32 "-%" PRId32 "\"; ", task->first_block,
            task->first_block + task->block_count - 1);
    if (task->period_ns)
      fprintf(file, "period_ns = %" PRId64 "L; ", task->period_ns);
    graph_deadline_print(file, graph, task);
    graph_data_print(file, task);
    graph_after_print(file, graph, task);
    fprintf(file, " }%s\n", t + 1 < graph->task_count ? "," : "");
  }
  fprintf(file, ");\nprofiles: { measured = \"%s\"; };\n", profile);
}
