/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many phases per second the simulator executes: the thesis's tiles
 * (prefetch 1781, compute 506, writeback 421 ns) on few and on many blocks,
 * counts alone and with raw records. One line each.
 */
#include "ttprem/ttprem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS = 4, PF = 1781, C = 506, WB = 421, OFFSET = 1300, HYPERPERIODS = 4 };

static void fail(const char *what, const prem_diag *diag) {
  fprintf(stderr, "bench_sim: %s failed\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "  %s\n", prem_diag_at(diag, i)->reason);
  exit(1);
}

/* Four abstract kernels whose gangs start their whole tiles one offset apart.
 */
static void write_schedule(FILE *file, int blocks, int tiles_per_block) {
  int of_kernel = blocks / KERNELS;
  long long cycle_ns = (long long)KERNELS * OFFSET;
  fprintf(file,
          "version = 1; name = \"bench\"; platform: { blocks = %d;"
          "  resources = ( { name = \"memory\"; capacity = 3; per = \"task\"; "
          "} ); };"
          "tasks = ( { name = \"k\"; copies = %d; kernel = \"none\"; blocks = "
          "%d; tiles = %d;"
          "  prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; };"
          "  writeback: { wcet_ns = %dL; }; } ); plan: { hyperperiod_ns = "
          "%lldL; runs = (",
          blocks, KERNELS, of_kernel, of_kernel * tiles_per_block, PF, C, WB,
          (tiles_per_block + 1) * cycle_ns);
  for (int k = 0; k < KERNELS; ++k)
    fprintf(file,
            "%s { task = \"k.%d\"; phase = \"prefetch\"; chain = [ "
            "\"compute\", \"writeback\" ];"
            "  count = %d; start_ns = %dL; repeat = %d; step_ns = %lldL; }",
            k ? "," : "", k, of_kernel, k * OFFSET, tiles_per_block, cycle_ns);
  fprintf(file, " ); };\n");
}

static prem_schedule *make_schedule(int blocks, int tiles_per_block, prem_diag *diag) {
  char path[] = "/tmp/bench_sim_XXXXXX";
  int fd = mkstemp(path);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  if (!file)
    fail("a temporary file", diag);
  write_schedule(file, blocks, tiles_per_block);
  fclose(file);
  prem_schedule *schedule = NULL;
  if (prem_schedule_load(path, NULL, &schedule, diag) ||
      prem_schedule_bind(schedule, prem_registry_builtin(), diag) ||
      prem_check(schedule, NULL, diag))
    fail("loading", diag);
  remove(path);
  return schedule;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void measure(prem_session *session, const prem_schedule *schedule, prem_mode mode,
                    int64_t phases, int64_t records, prem_diag *diag) {
  prem_trace *trace = NULL;
  if (prem_trace_new(schedule, HYPERPERIODS, records, &trace))
    fail("the trace's memory", diag);
  prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS};
  double best_s = 1e9;
  for (int i = 0; i < 3; ++i) {
    double begin_s = seconds();
    if (prem_session_run(session, &request, trace, diag))
      fail("the run", diag);
    double took_s = seconds() - begin_s;
    best_s = took_s < best_s ? took_s : best_s;
  }
  printf("%6d %-4s %-7s %10.2f\n", schedule->platform.blocks, prem_mode_name(mode),
         records ? "records" : "counts", (double)(phases * HYPERPERIODS) / best_s / 1e6);
  prem_trace_free(trace);
}

static void measure_blocks(int blocks, int tiles_per_block) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = make_schedule(blocks, tiles_per_block, diag);
  prem_session *session = NULL;
  if (prem_session_open(prem_backend_find("sim"), schedule, &session, diag))
    fail("opening", diag);
  int64_t phases = (int64_t)PREM_PHASE_COUNT * blocks * tiles_per_block;
  const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  for (int m = 0; m < 3; ++m) {
    measure(session, schedule, modes[m], phases, 0, diag);
    measure(session, schedule, modes[m], phases, HYPERPERIODS * phases, diag);
  }
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

int main(void) {
  printf("blocks mode trace   million phases/s\n");
  measure_blocks(8, 16384);
  measure_blocks(132, 1024);
  measure_blocks(264, 512);
  return 0;
}
