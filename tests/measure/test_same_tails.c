/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of random times of many shapes, how they are summed up and what is beyond them, is
 * what it was (see tests/common/golden.h): others show that it is right. */
#include "measure/pwcet.h"
#include "measure/quantile.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "ttprem/ttprem_measure.h"

enum { SAMPLES = 400, WHOLE = 120, MAX = 1400 };

/* Sums of a few draws, so that shapes differ; some drift, depend on the one before, or are few. */
static int64_t draw_times(uint64_t seed, int64_t *times) {
  uint64_t state = seed;
  const int32_t shape = planted_between(&state, 0, 8), span = planted_between(&state, 1, 4);
  static const int32_t spans[] = {3, 12, 400, 30000, 2000000};
  const int64_t count = planted_between(&state, 0, 3) ? 250 + planted_between(&state, 0, 1100)
                                                      : planted_between(&state, 0, 320);
  for (int64_t i = 0; i < count; ++i) {
    int64_t time = 5000 + planted_between(&state, 0, spans[span]);
    int32_t halves = 0;
    while (shape < 2 && halves < 12 && planted_between(&state, 0, 2 - shape))
      time += planted_between(&state, 1, spans[span]), ++halves;
    if (shape == 2)
      time += i * spans[span] / 900;
    if (shape == 3 && i > 0)
      time = (time + times[i - 1]) / 2;
    if (shape == 4 && planted_between(&state, 0, 40) == 0)
      time *= 7;
    if (shape == 6 && i % 2 == 1) /* in pairs */
      time = times[i - 1] + planted_between(&state, 0, spans[span] / 9);
    if (shape == 7 && i % 2 == 1) /* by turns */
      time = 2 * 5000 + spans[span] - times[i - 1];
    times[i] = time;
  }
  return count;
}

static void tell_tail(FILE *file, const int64_t *times, int64_t count) {
  static const double probabilities[] = {1e-3, 1e-6, 1e-9};
  for (int p = 0; p < 3; ++p) {
    prem_pwcet tail;
    ck_assert_int_eq(prem_pwcet_estimate(times, count, probabilities[p], &tail), PREM_OK);
    fprintf(file, " %d %" PRId64 " %" PRId64 " %" PRId64 " %.6g %.6g '%s'", tail.known,
            tail.estimate_ns, tail.threshold_ns, tail.excesses, tail.mean_excess_ns, tail.variation,
            tail.reason);
  }
}

START_TEST(of_times) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  static int64_t times[MAX];
  for (uint64_t seed = 0; seed < SAMPLES; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    const int64_t count = draw_times(seed, times);
    fprintf(file, "%" PRIu64 ": %" PRId64 ":", seed, count);
    tell_tail(file, times, count);
    prem_summary summary;
    prem_summarise(times, count, &summary);
    fprintf(file, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.6f",
            summary.min, summary.p50, summary.p99, summary.p999, summary.p9999, summary.max,
            summary.mean);
    fprintf(file, " %" PRId64 " %" PRId64 "\n", prem_quantile_above(count, 0.99, 0.95),
            prem_quantile_above(count * 7, 0.999, 0.9));
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("tails.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same tails");
  TCase *all = tcase_create("times");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_times);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
