/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons, certificates, profiles and tuning with each option at the ends of what it may be,
 * and beyond them, refuse and do what they did (see tests/common/golden.h).
 */
#include <math.h>

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "ttprem/ttprem_measure.h"

static const char source[] =
    "version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
    " { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 700L; };"
    "   compute: { wcet_ns = 900L; }; },"
    " { name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 300L; };"
    "   writeback: { wcet_ns = 200L; }; after = ( { task = \"a\"; } ); } );";

static prem_schedule *schedule;
static prem_backend delayed;
static prem_machine machine;
static FILE *told;

static uint64_t printed_sum(const prem_findings *findings) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  const uint64_t sum = golden_text(all);
  free(all);
  return sum;
}

static void tell(prem_status status, const prem_diag *diag) {
  fprintf(told, " %s %016" PRIx64, prem_status_text(status), golden_problems(diag));
}

/* ---- the four ------------------------------------------------------------------------------- */

static void compare(const prem_compare_options *options) {
  prem_diag *diag = prem_diag_new();
  prem_session *session = NULL;
  prem_result *result = NULL;
  delayed_seed = 1;
  ck_assert_int_eq(prem_session_open(&delayed, schedule, &session, NULL), PREM_OK);
  tell(prem_compare(session, schedule, &delayed, options, &result, diag), diag);
  if (result) {
    char *all = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&all, &bytes);
    prem_result_print(result, file);
    fclose(file);
    fprintf(told, " %016" PRIx64, golden_text(all));
    free(all);
  }
  prem_result_free(result);
  prem_session_close(session);
  prem_diag_free(diag);
}

static void isolate(const prem_isolate_options *options) {
  prem_diag *diag = prem_diag_new();
  prem_isolation *isolation = NULL;
  delayed_seed = 1;
  tell(prem_isolate(schedule, &delayed, options, &isolation, diag), diag);
  if (isolation) {
    prem_findings *findings = prem_isolation_findings(isolation, schedule);
    fprintf(told, " %016" PRIx64, printed_sum(findings));
    prem_findings_free(findings);
  }
  prem_isolation_free(isolation);
  prem_diag_free(diag);
}

static void profile(const prem_profile_options *options) {
  prem_diag *diag = prem_diag_new();
  prem_profile *made = NULL;
  delayed_seed = 1;
  tell(prem_profile_measure(schedule, &delayed, &machine, options, &made, diag), diag);
  if (made && made->findings)
    fprintf(told, " %016" PRIx64, printed_sum(made->findings));
  if (made)
    for (int32_t t = 0; t < made->task_count; ++t)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        fprintf(told, " %" PRId64, made->tasks[t].phase[p].wcet_ns);
  if (made) { /* its first lines name the version */
    ck_assert_int_eq(prem_profile_write(made, golden_path("p.cfg"), diag), PREM_OK);
    char *all = golden_take(golden_path("p.cfg"));
    fprintf(told, " %016" PRIx64, golden_text(strstr(all, "version = 1;")));
    fprintf(told, "%s", strstr(all, "confidence of") ? " bounded" : "");
    free(all);
  }
  prem_profile_free(made);
  prem_diag_free(diag);
}

static void try_tuning(const prem_tune_try_options *options) {
  prem_diag *diag = prem_diag_new();
  prem_tune_trial *trial = NULL;
  prem_tune_point point = {0};
  delayed_seed = 1;
  prem_status status = prem_tune_trial_open(schedule, &delayed, options, &trial, diag);
  if (status == PREM_OK)
    status = prem_tune_trial_run(trial, &point, diag);
  tell(status, diag);
  fprintf(told, " %" PRId64 " of %" PRId64 " ns", point.samples, point.makespan_max_ns);
  prem_tune_trial_close(trial);
  prem_diag_free(diag);
}

/* ---- their sampling ------------------------------------------------------------------------- */

static void all_four(const char *name, const prem_sampling *sampling) {
  fprintf(told, "%s:", name);
  compare(&(prem_compare_options){
      .modes = {PREM_MODE_TT, PREM_MODE_LOCK}, .mode_count = 2, .sampling = *sampling});
  isolate(&(prem_isolate_options){.modes = {PREM_MODE_TT}, .mode_count = 1, .sampling = *sampling});
  profile(&(prem_profile_options){.sampling = *sampling, .quantile = 1});
  try_tuning(&(prem_tune_try_options){.sampling = *sampling});
  fputc('\n', told);
}

static void tell_sampling(prem_scenario scenario) {
  static const int64_t values[] = {-1, 0, 1, 2, 5};
  const prem_sampling good = {.scenario = scenario,
                              .samples = 4,
                              .discard = 1,
                              .rounds = 2,
                              .launches = 2,
                              .seed = 3,
                              .max_records = 10000};
  for (int v = 0; v < 5; ++v) {
    prem_sampling s[] = {good, good, good, good, good};
    static const char *const names[] = {"samples", "discard", "rounds", "launches", "records"};
    s[0].samples = values[v];
    s[1].discard = values[v];
    s[2].rounds = values[v];
    s[3].launches = values[v];
    s[4].max_records = values[v];
    for (int i = 0; i < 5; ++i)
      all_four(text("%s %s %" PRId64, scenario == PREM_RESIDENT ? "resident" : "relaunch", names[i],
                    values[v]),
               &s[i]);
  }
}

/* ---- what each has of its own --------------------------------------------------------------- */

static const prem_sampling few = {.samples = 3, .rounds = 1, .max_records = 10000};

static void tell_modes(void) {
  for (int32_t count = -1; count <= PREM_MODE_COUNT + 1; ++count)
    for (int twice = 0; twice < 2; ++twice) {
      prem_compare_options of_compare = {.mode_count = count, .sampling = few};
      prem_isolate_options of_isolate = {.mode_count = count, .sampling = few};
      for (int i = 0; i < count && i < PREM_MODE_COUNT; ++i)
        of_compare.modes[i] = of_isolate.modes[i] = (prem_mode)(twice ? 0 : i);
      fprintf(told, "%" PRId32 " modes%s:", count, twice ? ", all the same" : "");
      compare(&of_compare);
      isolate(&of_isolate);
      fputc('\n', told);
    }
}

static void tell_own(void) {
  static const int64_t breaks[] = {-1, 0, 1, 50, 400, 1000000};
  for (int i = 0; i < 6; ++i) {
    fprintf(told, "break %" PRId64 ":", breaks[i]);
    compare(&(prem_compare_options){
        .modes = {PREM_MODE_TT}, .mode_count = 1, .sampling = few, .break_ns = breaks[i]});
    compare(&(prem_compare_options){.modes = {PREM_MODE_TT},
                                    .mode_count = 1,
                                    .sampling = few,
                                    .times_only = true,
                                    .break_ns = breaks[i]});
    fputc('\n', told);
  }
  static const double reals[] = {-1, 0, 1e-9, 0.5, 0.99, 1, 1.5, 1e9, 1e300};
  for (int i = 0; i <= 9; ++i) {
    const double real = i < 9 ? reals[i] : (double)NAN;
    fprintf(told, "real %g:", real);
    profile(&(prem_profile_options){.sampling = few, .margin_pct = real, .quantile = 1});
    profile(&(prem_profile_options){.sampling = few, .quantile = real});
    profile(&(prem_profile_options){.sampling = few, .probability = real, .quantile = 1});
    fputc('\n', told);
  }
  static const prem_condition companies[PREM_PROFILE_CONDITION_COUNT] = PREM_PROFILE_CONDITIONS;
  for (int regulated = 0; regulated < 2; ++regulated)
    for (int company = 0; company < PREM_PROFILE_CONDITION_COUNT; ++company) {
      fprintf(told, "company %d%s:", company, regulated ? ", regulated" : "");
      profile(&(prem_profile_options){.sampling = few,
                                      .times = companies[company],
                                      .regulated = regulated,
                                      .steady = company % 2,
                                      .quantile = 1});
      fputc('\n', told);
    }
}

static void tell_all(void) {
  tell_sampling(PREM_RELAUNCH);
  tell_sampling(PREM_RESIDENT);
  tell_modes();
  tell_own();
  machine.dispatch_ns = machine.precedence_ns = machine.bandwidth_bytes_per_s = 0;
  fputs("a machine of which nothing is known:", told);
  profile(&(prem_profile_options){.sampling = few, .quantile = 1});
  fputc('\n', told);
}

START_TEST(of_all) {
  delayed = delayed_backend();
  ck_assert_int_eq(delayed.probe(&machine, NULL), PREM_OK);
  snprintf(machine.uuid, sizeof machine.uuid, "u");
  snprintf(machine.driver, sizeof machine.driver, "d");
  machine.dispatch_ns = 1;
  machine.precedence_ns = 1;
  machine.bandwidth_bytes_per_s = 1;
  schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  char *found = NULL;
  size_t bytes = 0;
  told = open_memstream(&found, &bytes);
  tell_all();
  fclose(told);
  prem_schedule_free(schedule);
  golden_judge("options.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same options");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 240);
  tcase_add_checked_fixture(all, golden_make_folder, golden_remove_folder);
  tcase_add_test(all, of_all);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
