/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random plans on the GPU: 200 of them in modes tt, free and lock, by one engine or another; all
 * outputs have to equal the references. Lateness is not judged. Exit status 77 without a GPU, or in
 * a build without the backend.
 *   test_cuda_random [SOURCE_DIR [FIRST_SEED [PLANS]]]     a failure names its seed
 */
#include "tests/common/random_schedule.h"

enum { SKIPPED = 77, PLANS = 200 };

int main(int argc, char **argv) {
  const prem_backend *backend = prem_backend_find("cuda");
  prem_machine machine;
  if (!backend || prem_backend_probe(backend, &machine, NULL) != PREM_OK) {
    puts(backend ? "skipped: no GPU here" : "skipped: the GPU backend is not in this build");
    return SKIPPED;
  }
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const int plans = argc > 3 ? atoi(argv[3]) : PLANS;
  random_counts counts;
  return random_plans_run(backend, &machine, seed, plans, &counts) ? EXIT_SUCCESS : EXIT_FAILURE;
}
