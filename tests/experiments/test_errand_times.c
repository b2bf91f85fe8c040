/* SPDX-License-Identifier: Apache-2.0 */
/* Experiment errands: a quick look has all its rows, every errand has ended once, and outputs are
 * right; what was measured before an interruption is there. */
/* ctest: timing */
#include "experiments/experiment_list.h"
#include "experiments/machine/errands/launches.h"
#include "report/findings/parts.h"
#include "tests/common/running.h"

static volatile sig_atomic_t stop;
static int64_t stop_after; /* rows */

static void keep_progress(void *context, int64_t done, int64_t all) {
  (void)context;
  ck_assert_int_le(done, all);
  stop = stop_after > 0 && done >= stop_after;
}

static prem_findings *findings_on(const char *backend, prem_status right) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_machine machine;
  const prem_experiment_context context = {.backend = prem_backend_find(backend),
                                           .machine = &machine,
                                           .quick = true,
                                           .seed = 1,
                                           .stop = &stop,
                                           .progress = keep_progress};
  prem_findings *findings = prem_findings_new("errands", "Errands", "How soon?");
  stop = 0;
  ck_assert_int_eq(prem_backend_probe(context.backend, &machine, diag), PREM_OK);
  const prem_status status =
      prem_experiment_start(prem_experiment_find("errands"), &context, findings, diag);
  if (status != right)
    abort_with(backend, diag);
  ck_assert(!prem_findings_wrong(findings));
  ck_assert_int_eq(prem_findings_judge(findings, diag), PREM_OK);
  return findings;
}

static double number_at(const prem_table *table, int64_t row, const char *column) {
  return prem_value_number(prem_table_value(table, row, prem_find_column(table, column)));
}

static void assert_ended(const prem_table *ends) {
  int64_t right = 0;
  for (int64_t row = 0; row < prem_table_rows(ends); ++row) {
    const bool is_idle = strcmp(prem_table_value(ends, row, 0)->text, "idle_server") == 0;
    const double done = number_at(ends, row, "done"), aborted = number_at(ends, row, "aborted");
    ck_assert(is_idle ? done + aborted == 0 : done + aborted > 0);
    ck_assert(number_at(ends, row, "sent") == done + aborted);
    ck_assert(number_at(ends, row, "sum_ok") == 1);
    const double output_ok = number_at(ends, row, "output_ok"); /* missing: it hardly began */
    ck_assert(output_ok != 0);
    right += output_ok == 1;
  }
  ck_assert_int_gt(right, 0);
}

static void assert_times(const prem_table *table, int64_t rows) {
  ck_assert_int_eq(prem_table_rows(table), rows);
  for (int64_t row = 0; row < rows; ++row) {
    ck_assert(number_at(table, row, "jobs") > 0);
    ck_assert(number_at(table, row, "p50_ns") > 0);
    ck_assert(number_at(table, row, "longest_ns") >= number_at(table, row, "p50_ns"));
  }
}

/* Those are told that took longer than their bound. */
static void assert_bounds(const prem_table *bounds) {
  ck_assert_int_eq(prem_table_rows(bounds), 2);
  for (int64_t row = 0; row < 2; ++row) {
    const double bound_ns = number_at(bounds, row, "bound_ns");
    const double above = number_at(bounds, row, "above");
    ck_assert(number_at(bounds, row, "errands") > 0);
    ck_assert(bound_ns > 0);
    ck_assert(above >= number_at(bounds, row, "above_first"));
    ck_assert(above <= number_at(bounds, row, "errands"));
    ck_assert((above > 0) == (number_at(bounds, row, "longest_ns") > bound_ns));
  }
  /* closed windows take time */
  ck_assert(number_at(bounds, 0, "bound_ns") > number_at(bounds, 1, "bound_ns"));
}

static void assert_all_there(const char *backend) {
  enum { LOAD = 1, IDLE, STORM, CASES };
  stop_after = 0;
  prem_findings *findings = findings_on(backend, PREM_OK);
  const prem_table *storm = prem_find_table(findings, "storm");
  const prem_table *of_rates = prem_find_table(findings, "rates");
  const prem_table *ends = prem_find_table(findings, "ends");
  assert_times(prem_find_table(findings, "latency"), 3);
  assert_bounds(prem_find_table(findings, "bounds"));
  assert_times(storm, CASES);
  for (int64_t row = 0; row < CASES; ++row)
    ck_assert(number_at(storm, row, "late") <= number_at(storm, row, "releases"));
  ck_assert(number_at(storm, LOAD, "sent") + number_at(storm, IDLE, "sent") == 0);
  ck_assert(number_at(storm, STORM, "sent") > 0 && number_at(storm, STORM, "refused") > 0);
  ck_assert_int_eq(prem_table_rows(of_rates), 1);
  ck_assert(number_at(of_rates, 0, "tiles") > 0 && number_at(of_rates, 0, "tiles_per_s") > 0);
  ck_assert_int_eq(prem_table_rows(ends), 7);
  assert_ended(ends);
  prem_findings_free(findings);
}

START_TEST(a_quick_look_has_all_rows) {
  assert_all_there("cpu");
}
END_TEST

START_TEST(an_interruption_keeps_what_there_is) {
  stop_after = 7; /* the last is the second part of `storm` */
  prem_findings *findings = findings_on("cpu", PREM_ERR_INTERRUPTED);
  assert_times(prem_find_table(findings, "latency"), 3);
  ck_assert_int_eq(prem_table_rows(prem_find_table(findings, "rates")), 1);
  assert_times(prem_find_table(findings, "storm"), 2);
  assert_ended(prem_find_table(findings, "ends"));
  prem_findings_free(findings);
}
END_TEST

#ifdef EMULATED_GPU
START_TEST(a_quick_look_at_a_gpu_has_all_rows) {
  assert_all_there("cuda");
}
END_TEST

START_TEST(launches_are_right_and_stop) {
  int64_t ns[20] = {0};
  stop = 0;
  errand_launches launches = {.copies = _i, .stop = &stop, .count = 20};
  ck_assert_int_eq(prem_gpu_errand_launches(&launches, ns, NULL), PREM_OK);
  ck_assert(launches.right);
  ck_assert_int_eq(launches.count, 20);
  ck_assert_int_gt(ns[19], 0);
  stop = 1;
  ck_assert_int_eq(prem_gpu_errand_launches(&launches, ns, NULL), PREM_OK);
  ck_assert_int_eq(launches.count, 0);
}
END_TEST
#endif

int main(void) {
  Suite *suite = suite_create("errand_times");
  TCase *cases = tcase_create("errand_times");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, a_quick_look_has_all_rows);
  tcase_add_test(cases, an_interruption_keeps_what_there_is);
#ifdef EMULATED_GPU
  tcase_add_test(cases, a_quick_look_at_a_gpu_has_all_rows);
  tcase_add_loop_test(cases, launches_are_right_and_stop, 0, 2);
#endif
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
