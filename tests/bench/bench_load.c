/* SPDX-License-Identifier: Apache-2.0 */
/* How large a regular plan of 100 000 tiles is as a file, and how long it takes to load. */
#include "ttprem/ttprem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOADS = 100 };

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void must(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "bench_load: %s failed\n", what);
  exit(1);
}

static void write_schedule(const char *path) {
  FILE *file = fopen(path, "w");
  must(file != NULL, "writing");
  fputs("version = 1;\nname = \"regular\";\n"
        "platform: { blocks = 8;  clock_step_ns = 32L; };\n"
        "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 8; tiles = 100000;\n"
        "  prefetch: { wcet_ns = 640L; }; compute: { wcet_ns = 1280L; };\n"
        "  writeback: { wcet_ns = 320L; }; } );\n",
        file);
  must(fclose(file) == 0, "writing");
}

int main(void) {
  char path[] = "/tmp/bench_load.XXXXXX";
  const int descriptor = mkstemp(path);
  must(descriptor >= 0 && close(descriptor) == 0, "making a temporary file");
  write_schedule(path);
  prem_schedule *schedule = NULL;
  prem_plan *plan = NULL;
  must(prem_schedule_load(path, NULL, &schedule, NULL) == PREM_OK, "loading");
  must(prem_schedule_bind(schedule, prem_registry_builtin(), NULL) == PREM_OK, "binding");
  must(prem_plan_make(schedule, NULL, NULL, &plan, NULL) == PREM_OK, "planning");
  prem_schedule_set_plan(schedule, plan);
  must(prem_schedule_save(schedule, path, NULL) == PREM_OK, "saving");
  prem_schedule_free(schedule);
  struct stat facts;
  must(stat(path, &facts) == 0, "looking at the file");
  double worst_ms = 0;
  for (int i = 0; i < LOADS; ++i) {
    const double before_ms = now_ms();
    must(prem_schedule_load(path, NULL, &schedule, NULL) == PREM_OK, "loading");
    const double took_ms = now_ms() - before_ms;
    worst_ms = took_ms > worst_ms ? took_ms : worst_ms;
    prem_schedule_free(schedule);
  }
  unlink(path);
  printf("100000 tiles: %lld bytes, loaded in at most %.3f ms (of %d loads)\n",
         (long long)facts.st_size, worst_ms, LOADS);
  return 0;
}
