/* SPDX-License-Identifier: Apache-2.0 */
/* Random sets: images (f32, two dimensions) and spectra (c64, three), whose tasks keep the shape,
 * so that any two of one kind and shape can meet. */
#include "experiments/machine/task_sets/draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "prem/base/numbers.h"
#include "prem/base/random.h"

enum { SHAPES = 3, RANK = 3, WIDTH = 6, TILE_ROWS = 16, TILE_COLUMNS = 192 };
/** How a kernel's arrays are called, and what it takes. */
typedef struct set_kernel {
  const char *name;
  bool is_c64;
  const char *in[2]; /* the second NULL: one operand */
} set_kernel;

static const set_kernel kernels[] = {
    {"conv2d", false, {"in", NULL}},
    {"conv2d_7x7", false, {"in", NULL}},
    {"kcf_add", true, {"a", "b"}},
    {"kcf_add_constant", true, {"in", NULL}},
    {"kcf_conjugate", true, {"in", NULL}},
    {"kcf_multiply", true, {"a", "b"}},
    {"kcf_multiply_constant", true, {"in", NULL}},
    {"kcf_sqr_magnitude", true, {"in", NULL}},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/** An array that a task may read; those of tasks are called like these. */
typedef struct set_array {
  bool is_c64;
  int32_t shape[RANK]; /* planes, rows, columns */
  int32_t task;        /* that writes it; -1: an input */
  int32_t level;
} set_array;

typedef struct set {
  const set_room *room;
  uint64_t random;
  set_array *arrays; /* inputs first, then a task's each */
  int32_t array_count, input_count;
  FILE *text;
} set;

static int32_t draw(set *all, int32_t low, int32_t high) {
  return low + (int32_t)(prem_random_next(&all->random) % (uint64_t)((int64_t)high - low + 1));
}

static void name_array(const set *all, int32_t array, char name[32]) {
  const int32_t task = all->arrays[array].task;
  snprintf(name, 32, task < 0 ? "x%d" : "y%d", task < 0 ? array : task);
}

/* An input of any shape. A spectrum has a third of the columns: its elements are twice as long, and
 * it has planes. */
static int32_t add_input(set *all) {
  const set_room *room = all->room;
  set_array *array = &all->arrays[all->array_count];
  *array = (set_array){.is_c64 = draw(all, 0, 1) == 1, .task = -1, .level = -1};
  array->shape[0] = array->is_c64 ? draw(all, 2, 6) : 1;
  array->shape[1] = draw(all, 16, prem_max_i32(room->rows / (array->is_c64 ? 4 : 1), 16));
  array->shape[2] = draw(all, 16, prem_max_i32(room->columns / (array->is_c64 ? 3 : 1), 16));
  ++all->input_count;
  return all->array_count++;
}

/* Of a level below this one, any; of the last one every second time, so that chains get long. */
static int32_t choose_operand(set *all, int32_t level, const set_array *like) {
  int32_t chosen = 0, seen = 0;
  const int32_t from = level > 0 && draw(all, 0, 1) ? level - 1 : -1;
  for (int32_t i = 0; i < all->array_count; ++i) {
    const set_array *array = &all->arrays[i];
    const bool fits =
        !like || (array->is_c64 == like->is_c64 && array->shape[0] == like->shape[0] &&
                  array->shape[1] == like->shape[1] && array->shape[2] == like->shape[2]);
    if (fits && array->level < level && (like || array->level >= from) && draw(all, 0, seen++) == 0)
      chosen = i;
  }
  return chosen;
}

static const set_kernel *choose_kernel(set *all, bool is_c64) {
  for (;;) {
    const set_kernel *kernel = &kernels[draw(all, 0, KERNELS - 1)];
    if (kernel->is_c64 == is_c64)
      return kernel;
  }
}

/* So much for a phase that moves that many bytes, or computes that many elements. */
static void write_times(set *all, const int32_t tile[RANK], bool is_c64) {
  const int64_t elements = (int64_t)tile[0] * tile[1] * tile[2];
  const int64_t copy_ns = 500 + elements * (is_c64 ? 2 : 1);
  if (all->room->has_times)
    fprintf(all->text,
            "\n    prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64
            "L; }; writeback: { wcet_ns = %" PRId64 "L; };",
            copy_ns, 200 + elements, copy_ns);
}

/* Writes what reads `operands`, and is read as the array that is added. */
static void add_task(set *all, int32_t number, int32_t level, const set_kernel *kernel,
                     const int32_t operands[2]) {
  const set_array like = all->arrays[operands[0]];
  char in[32];
  const int32_t tile[RANK] = {1,
                              prem_min_i32(like.shape[1], like.is_c64 ? TILE_ROWS / 2 : TILE_ROWS),
                              prem_min_i32(like.shape[2], TILE_COLUMNS)};
  fprintf(all->text, "%s  { name = \"t%d\"; kernel = \"%s\";", number ? ",\n" : "", number,
          kernel->name);
  if (all->room->has_times) /* which are of this tile; else tiles are open */
    fprintf(all->text, like.is_c64 ? " tile = [ 1, %d, %d ];" : " tile = [ %d, %d ];", tile[1],
            tile[2]);
  fputs("\n    arrays: {", all->text);
  for (int i = 0; i < 2 && kernel->in[i]; ++i) {
    name_array(all, operands[i], in);
    fprintf(all->text, " %s = \"%s\";", kernel->in[i], in);
  }
  fprintf(all->text, " out = \"y%d\"; };", number);
  const char *separator = "\n    after = ( ";
  for (int i = 0; i < 2 && kernel->in[i]; ++i)
    if (all->arrays[operands[i]].task >= 0 && (i == 0 || operands[0] != operands[1])) {
      fprintf(all->text, "%s{ task = \"t%d\"; }", separator, all->arrays[operands[i]].task);
      separator = ", ";
    }
  if (separator[0] == ',')
    fputs(" );", all->text);
  write_times(all, tile, like.is_c64);
  fputs(" }", all->text);
  all->arrays[all->array_count] = like;
  all->arrays[all->array_count].task = number;
  all->arrays[all->array_count++].level = level;
}

static void draw_graph(set *all, int32_t tasks) {
  for (int32_t level = 0, done = 0; done < tasks; ++level) {
    const int32_t width = prem_min_i32(draw(all, 1, WIDTH), tasks - done);
    for (int32_t i = 0; i < width; ++i, ++done) {
      int32_t operands[2];
      operands[0] = choose_operand(all, level, NULL);
      operands[1] = choose_operand(all, level, &all->arrays[operands[0]]);
      const set_kernel *kernel = choose_kernel(all, all->arrays[operands[0]].is_c64);
      add_task(all, done, level, kernel, operands);
    }
  }
}

static void draw_different(set *all, int32_t tasks) {
  for (int32_t i = 0; i < tasks; ++i) {
    const int32_t operands[2] = {i, i};
    add_task(all, i, 0, choose_kernel(all, all->arrays[i].is_c64), operands);
  }
}

static void write_arrays(const set *all) {
  fputs("\n);\narrays = (\n", all->text);
  for (int32_t i = 0; i < all->array_count; ++i) {
    const set_array *array = &all->arrays[i];
    char name[32];
    name_array(all, i, name);
    fprintf(all->text, "  { name = \"%s\"; type = \"%s\"; shape = [ ", name,
            array->is_c64 ? "c64" : "f32");
    if (array->is_c64)
      fprintf(all->text, "%d, ", array->shape[0]);
    fprintf(all->text, "%d, %d ];", array->shape[1], array->shape[2]);
    if (array->task < 0)
      fprintf(all->text, " fill = \"random\"; seed = %d;", i + 1);
    fprintf(all->text, " }%s\n", i + 1 < all->array_count ? "," : "");
  }
  fputs(");\n", all->text);
}

static void write_platform(const set *all, bool is_graph, uint64_t seed) {
  const set_room *room = all->room;
  fprintf(all->text, "version = 1;\nname = \"%s_%" PRIu64 "\";\nplatform: {\n  ",
          is_graph ? "graph" : "different", seed);
  if (room->sms > 0)
    fprintf(all->text, "sms = %d;  blocks_per_sm = %d;  block_threads = 384;  clock_step_ns = 32L;",
            room->sms, room->blocks / room->sms);
  else
    fprintf(all->text, "blocks = %d;", room->blocks);
  fprintf(all->text,
          "  buffers = %s;  scratch_bytes = %dL;  late_ns = %dL;\n"
          "  resources = ( { name = \"memory\"; capacity = %d; } );\n};\ntasks = (\n",
          room->has_times ? "1" : "\"auto\"", room->scratch_bytes, room->late_ns, room->blocks);
}

char *set_draw(const set_room *room, bool is_graph, int32_t tasks, uint64_t seed) {
  char *text = NULL;
  size_t bytes = 0;
  set all = {.room = room, .random = seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)is_graph};
  all.arrays = calloc(2 * (size_t)tasks + SHAPES, sizeof *all.arrays);
  all.text = all.arrays ? open_memstream(&text, &bytes) : NULL;
  if (!all.text) {
    free(all.arrays);
    return NULL;
  }
  write_platform(&all, is_graph, seed);
  for (int32_t i = 0; i < (is_graph ? SHAPES : tasks); ++i)
    add_input(&all);
  if (is_graph)
    draw_graph(&all, tasks);
  else
    draw_different(&all, tasks);
  write_arrays(&all);
  fputs("measure: { runs = 300;  discard = 5; };\n", all.text);
  free(all.arrays);
  if (fclose(all.text) == 0)
    return text;
  free(text);
  return NULL;
}
