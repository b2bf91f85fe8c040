/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon successors begin on a made-up machine, of as many blocks, predecessors and hyperperiods
 * as may be and of more, is told as it was (see tests/common/golden.h): others show that it is
 * right.
 */
#include "runtime/session/telling.h"
#include "tests/common/delayed.h"
#include "tests/common/golden.h"

static prem_backend delayed;

static void tell_latencies(FILE *file, const prem_latencies *of) {
  fprintf(file, ", %" PRId64 " %" PRId64 " %" PRId64, of->p50_ns, of->p99_ns, of->max_ns);
}

static void tell_setup(FILE *file, const prem_precedence_setup *setup) {
  prem_precedence_times times = {0};
  prem_diag *diag = prem_diag_new();
  delayed_seed = (uint64_t)setup->blocks * 31 + (uint64_t)setup->hyperperiods;
  const prem_status status = prem_measure_precedence(&delayed, setup, &times, diag);
  fprintf(file, "%s, %" PRId32 " blocks, %" PRId32 " before, %" PRId64 " hyperperiods: %s, %zu",
          prem_mode_name(setup->mode), setup->blocks, setup->predecessors, setup->hyperperiods,
          prem_status_text(status), prem_diag_count(diag));
  fprintf(file, ", %" PRId64, times.count);
  tell_latencies(file, &times.first);
  tell_latencies(file, &times.last);
  fputc('\n', file);
  prem_diag_free(diag);
}

START_TEST(of_setups) {
  static const int32_t blocks[] = {0, 1, 2, 7}, before[] = {0, 1, 3, 16, 17};
  static const int64_t hyperperiods[] = {0, 1, 2, 99, 100, 101};
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int m = 0; m < 3; ++m)
    for (int b = 0; b < 4; ++b)
      for (int p = 0; p < 5; ++p)
        for (int h = 0; h < 6; ++h)
          if (m == 0 || (b == 2 && p == 2))
            tell_setup(file, &(prem_precedence_setup){.mode = modes[m],
                                                      .blocks = blocks[b],
                                                      .predecessors = before[p],
                                                      .hyperperiods = hyperperiods[h]});
  static const int32_t cores[] = {1, 2, 5, 9};
  for (int c = 0; c < 4; ++c)
    for (int most = 0; most < 4; ++most)
      for (int yields = 0; yields < 2; ++yields) {
        const prem_machine machine = {
            .cores = cores[c], .max_blocks = cores[most], .yields = yields};
        int64_t precedence_ns = -1;
        delayed_seed = 5;
        const prem_status status =
            prem_measure_machine_precedence(&delayed, &machine, &precedence_ns, NULL);
        fprintf(file, "%" PRId32 " cores, %" PRId32 " blocks%s: %s, %" PRId64 "\n", cores[c],
                cores[most], yields ? ", yields" : "", prem_status_text(status), precedence_ns);
      }
  fclose(file);
  golden_judge("tellings.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same tellings");
  TCase *all = tcase_create("setups");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_setups);
  suite_add_tcase(suite, all);
  delayed = delayed_backend();
  return run_suite(suite);
}
