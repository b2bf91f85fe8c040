/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long do the Fourier transforms take on a CPU, a tile at a time in its scratchpad? One line
 * for each size: the best of several rounds, without any move of memory. taskset -c 1
 * build-test/tests/bench_fft
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/core/windows.h"
#include "ttprem/ttprem.h"

enum { ROUNDS = 20, TILES = 400 };

/* A tile of `planes` x `rows` x `columns`, and how many transforms it holds. */
typedef struct tile_form {
  const char *kernel, *what;
  int planes, rows, columns, transforms;
} tile_form;

static const tile_form forms[] = {
    {"fft2_plane", "planes", 4, 16, 16, 4},     {"fft2_plane", "planes", 4, 32, 32, 4},
    {"fft2_plane", "planes", 1, 64, 64, 1},     {"fft_rows", "rows", 1, 16, 64, 16},
    {"fft_rows", "rows", 1, 16, 256, 16},       {"fft_rows", "rows", 1, 16, 512, 16},
    {"fft_columns", "columns", 1, 64, 16, 16},  {"fft_columns", "columns", 1, 256, 16, 16},
    {"fft_columns", "columns", 1, 512, 16, 16},
};

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void fail(const char *what, const prem_diag *diag) {
  fprintf(stderr, "bench_fft: %s failed\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "  %s\n", prem_diag_at(diag, i)->reason);
  exit(1);
}

static prem_schedule *make_schedule(const tile_form *form, prem_diag *diag) {
  char path[] = "/tmp/bench_fft_XXXXXX";
  const int fd = mkstemp(path);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  if (!file)
    fail("a temporary file", diag);
  fprintf(file,
          "version = 1; name = \"fft\"; platform: { blocks = 1; };\n"
          "arrays = ( { name = \"a\"; type = \"c64\"; shape = [ %d, %d, %d ]; fill = \"random\"; } "
          ");\n"
          "tasks = ( { name = \"f\"; kernel = \"%s\"; blocks = [ 0 ]; tile = [ %d, %d, %d ]; "
          "arrays: { in = \"a\"; out = \"new\"; }; } );\n",
          form->planes, form->rows, form->columns, form->kernel, form->planes, form->rows,
          form->columns);
  fclose(file);
  prem_schedule *schedule = NULL;
  if (prem_schedule_load(path, NULL, &schedule, diag) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), diag) != PREM_OK)
    fail("loading", diag);
  unlink(path);
  return schedule;
}

static unsigned char *new_buffer(int32_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 128, (size_t)bytes) != 0)
    exit(1);
  memset(memory, 0, (size_t)bytes);
  return memory;
}

/* A transform works in its input, which is fetched anew for every round, beside the clock. That
 * numbers overflow in between takes no time. */
static void measure(const tile_form *form) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = make_schedule(form, diag);
  const prem_task *task = &schedule->tasks[0];
  prem_arrays *arrays = NULL;
  if (prem_arrays_new(schedule, &arrays, diag) != PREM_OK)
    fail("the arrays", diag);
  unsigned char *in = new_buffer(task->in_bytes), *out = new_buffer(task->out_bytes);
  prem_view views[PREM_MAX_PORTS];
  prem_tile_views(arrays, 0, 0, in, out, views);
  double best_s = 1e9;
  for (int round = 0; round < ROUNDS; ++round) {
    prem_tile_fetch(arrays, 0, 0, in);
    const double begin_s = seconds();
    for (int tile = 0; tile < TILES; ++tile)
      task->definition->compute(task->params, views);
    const double took_s = (seconds() - begin_s) / TILES;
    best_s = took_s < best_s ? took_s : best_s;
  }
  printf("%-12s %3d x %-3d %9.3f us a tile %12.0f %s/s\n", form->kernel, form->rows, form->columns,
         best_s * 1e6, form->transforms / best_s, form->what);
  free(in);
  free(out);
  prem_arrays_free(arrays);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

int main(void) {
  for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f)
    measure(&forms[f]);
  return 0;
}
