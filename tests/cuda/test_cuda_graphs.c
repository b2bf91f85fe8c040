/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random task graphs on the GPU, made ready as a user does it and judged by their times (see
 * graph_times.h). Exit status 77 without a GPU, or in a build without the backend.
 *   test_cuda_graphs [SOURCE_DIR [FIRST_SEED [GRAPHS [FOLDER [SECONDS]]]]]
 * A failure names its seed and the schedule; FOLDER keeps the schedules that were late, and their
 * profiles. No graph is begun behind so many SECONDS (200).
 */
/* ctest: threads */
#include "tests/common/graph_times.h"

enum { SKIPPED = 77, GRAPHS = 200, MIN_GRAPHS = 50 };

int main(int argc, char **argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* as the command does */
  graph_setting setting = {.backend = prem_backend_find("cuda"),
                           .scenario = PREM_RESIDENT, /* as they would run in earnest */
                           .profiled = 60,
                           .turns = 8,
                           .runs = 60,
                           .discard = 10,
                           .graph_every = 8, /* tuning ordinary kernels takes longest */
                           .graphs = argc > 3 ? atoi(argv[3]) : GRAPHS,
                           .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                           .seconds = argc > 5 ? atof(argv[5]) : 200,
                           .keep = argc > 4 ? argv[4] : NULL};
  if (!setting.backend || prem_backend_probe(setting.backend, &setting.machine, NULL) != PREM_OK) {
    puts(setting.backend ? "skipped: no GPU here"
                         : "skipped: the GPU backend is not in this build");
    return SKIPPED;
  }
  prem_backend_measure(setting.backend, &setting.machine, NULL);
  const int32_t sms = setting.machine.cores;
  setting.bounds = (graph_bounds){
      .sms = sms, .blocks = sms, .max_elements = INT64_C(1) << 16, .period_ns = 204800};
  graph_totals totals = graphs_run(&setting);
  bool good = graphs_judge(&totals, &graph_limits_measured);
  if (totals.graphs < setting.graphs && totals.graphs < MIN_GRAPHS) {
    printf("FAILED: %d graphs in %.0f s\n", totals.graphs, totals.seconds);
    good = false;
  }
  graphs_print(&setting, &totals);
  graph_totals_free(&totals);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
