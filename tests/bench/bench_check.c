/* SPDX-License-Identifier: Apache-2.0 */
/* How long does the checker take? One line for each size and kind of plan. Not a test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ttprem/ttprem.h"

enum { BLOCKS = 132 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The blocks take turns at the memory (or fetch together, as a gang), then write back in turns. */
static void print_plan(FILE *file, long rounds, const char *per, int guard) {
  bool gang = strcmp(per, "task") == 0;
  long turns = gang ? 1 : BLOCKS, prefetch = 10 + guard, writeback = 5 + guard;
  long writebacks = (turns - 1) * prefetch + 10 + guard + 20 + guard;
  long cycle = writebacks + turns * writeback;
  fprintf(file,
          "version = 1; name = \"bench\"; platform: { blocks = %d; guard_ns = %dL; resources ="
          " ( { name = \"memory\"; per = \"%s\"; } ); };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = %d; tiles = %ld;"
          " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
          " writeback: { wcet_ns = 5L; }; } );\nplan: { hyperperiod_ns = %ldL; runs = (\n",
          BLOCKS, guard, per, BLOCKS, BLOCKS * rounds, cycle * rounds);
  const char *phases[] = {"prefetch", "compute", "writeback"};
  long starts[] = {0, 10 + guard, writebacks};
  long steps[] = {prefetch, prefetch, writeback};
  for (int p = 0; p < 3; ++p)
    fprintf(file,
            "{ task = \"a\"; phase = \"%s\"; count = %d; repeat = %ld; start_ns = %ldL;"
            " block_step_ns = %ldL; step_ns = %ldL; }%s\n",
            phases[p], BLOCKS, rounds, starts[p], gang ? 0 : steps[p], cycle, p < 2 ? "," : "");
  fprintf(file, "); };\n");
}

static int bench(long phases, const char *per, int guard) {
  char path[] = "/tmp/ttprem-bench-XXXXXX.cfg";
  int descriptor = mkstemps(path, 4);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (!file)
    return EXIT_FAILURE;
  long rounds = (phases + 3 * BLOCKS - 1) / (3 * BLOCKS);
  print_plan(file, rounds, per, guard);
  fclose(file);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  unlink(path);
  double before = seconds();
  if (status == PREM_OK)
    status = prem_check(schedule, NULL, diag);
  double taken = seconds() - before;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[4096];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
  printf("%9ld phases  per %-5s  guard %d ns  %8.3f s  peak %7.1f MiB\n", rounds * 3 * BLOCKS, per,
         guard, taken, (double)usage.ru_maxrss / 1024);
  fflush(stdout);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return status == PREM_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void) {
  int failed = 0;
  for (long phases = 10000; phases <= 1000000; phases *= 10)
    for (int guard = 0; guard < 2; ++guard) {
      failed |= bench(phases, "block", guard);
      failed |= bench(phases, "task", guard);
    }
  return failed;
}
