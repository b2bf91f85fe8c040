/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiles, certificates and tuning find on the simulator and on a made-up machine, and how it
 * is told, is what it was, to the last byte (see tests/common/golden.h): others show that it is
 * right.
 */
/* ctest: release */
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "ttprem/ttprem_measure.h"

enum { SEEDS = 20 };

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

/* As text, as JSON without what names this machine and this day, read again, drawn, on a page. */
static void tell_findings(FILE *file, const prem_findings *findings, const prem_machine *machine) {
  prem_diag *diag = prem_diag_new();
  fprintf(file, " %016" PRIx64, printed_sum(findings));
  const char *path = golden_path("f.json");
  if (prem_findings_write(findings, machine, "", path, diag) != PREM_OK)
    abort_with("write", diag);
  prem_findings *again = NULL;
  if (prem_findings_read(path, &again, diag) != PREM_OK)
    abort_with("read", diag);
  fprintf(file, " %016" PRIx64, printed_sum(again));
  prem_findings_free(again);
  if (prem_findings_draw(findings, golden_path("f.svg"), NULL, diag) != PREM_OK)
    abort_with("draw", diag);
  char *json = golden_take(path);
  char *provenance = strstr(json, "\"provenance\": {");
  ck_assert_ptr_nonnull(provenance);
  /* Taken out, not painted over: names and commits of other machines have other lengths. */
  const char *end = strstr(provenance, "\n }");
  ck_assert_ptr_nonnull(end);
  memmove(provenance, end, strlen(end) + 1);
  fprintf(file, " %016" PRIx64 " %016" PRIx64 "\n", golden_text(json),
          golden_file_sum(golden_path("gnuplot.script")));
  free(json);
  prem_diag_free(diag);
}

static void tell_profile(FILE *file, const prem_backend *backend, const prem_machine *machine,
                         const prem_schedule *schedule, int seed) {
  static const prem_condition conditions[PREM_PROFILE_CONDITION_COUNT] = PREM_PROFILE_CONDITIONS;
  const prem_profile_options options = {.sampling.scenario =
                                            seed % 2 ? PREM_RESIDENT : PREM_RELAUNCH,
                                        .sampling.samples = 6 + seed % 5,
                                        .sampling.rounds = 2,
                                        .sampling.discard = seed % 3,
                                        .sampling.seed = (uint64_t)seed,
                                        .sampling.max_records = 100000,
                                        .times = conditions[seed % 3],
                                        .steady = seed % 4 == 0,
                                        .margin_pct = seed % 2 ? 7.5 : 0,
                                        .quantile = seed % 5 ? 1 : 0.9};
  prem_profile *profile = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status =
      prem_profile_measure(schedule, backend, machine, &options, &profile, diag);
  fprintf(file, "  profile: %s %016" PRIx64 ",", prem_status_text(status), golden_problems(diag));
  ck_assert_ptr_nonnull(profile);
  for (int32_t t = 0; t < profile->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      fprintf(file, " %" PRId64, profile->tasks[t].phase[p].wcet_ns);
  fputc(':', file);
  tell_findings(file, profile->findings, machine);
  prem_profile_free(profile);
  prem_diag_free(diag);
}

static void tell_isolation(FILE *file, const prem_backend *backend, const prem_machine *machine,
                           const prem_schedule *schedule, int seed) {
  const prem_isolate_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK},
                                        .mode_count = 1 + seed % 3,
                                        .sampling.scenario =
                                            seed % 2 ? PREM_RESIDENT : PREM_RELAUNCH,
                                        .sampling.samples = 5 + seed % 4,
                                        .sampling.rounds = 2,
                                        .sampling.discard = seed % 2,
                                        .sampling.seed = (uint64_t)seed,
                                        .sampling.max_records = 100000};
  prem_isolation *isolation = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status = prem_isolate(schedule, backend, &options, &isolation, diag);
  fprintf(file, "  isolation: %s %016" PRIx64, prem_status_text(status), golden_problems(diag));
  if (isolation) {
    prem_findings *findings = prem_isolation_findings(isolation, schedule);
    tell_findings(file, findings, machine);
    prem_findings_free(findings);
  } else {
    fputc('\n', file);
  }
  prem_isolation_free(isolation);
  prem_diag_free(diag);
}

/* One point of the search is as good as the schedule; from it another one is made up. */
typedef struct tuned {
  prem_tune_trial *trial;
  int64_t min_ns;
} tuned;

static prem_status try_offset(void *context, int64_t offset_ns, prem_tune_point *out) {
  tuned *of = (tuned *)context;
  const prem_status status = prem_tune_trial_run(of->trial, out, NULL);
  out->planned = true;
  out->kept = offset_ns >= of->min_ns;
  return status;
}

static void tell_tuning(FILE *file, const prem_backend *backend, const prem_machine *machine,
                        const prem_schedule *schedule, int seed) {
  const prem_tune_try_options how = {.sampling.scenario = seed % 2 ? PREM_RESIDENT : PREM_RELAUNCH,
                                     .sampling.samples = 4,
                                     .sampling.rounds = 2,
                                     .sampling.discard = seed % 2,
                                     .sampling.seed = (uint64_t)seed,
                                     .sampling.max_records = 100000};
  const prem_tune_options options = {.start_ns = 100,
                                     .min_ns = 20,
                                     .max_ns = 900,
                                     .grid_ns = 4,
                                     .tries = 2,
                                     .precision_pct = seed % 3,
                                     .sweep_step_ns = seed % 2 ? 200 : 0};
  prem_diag *diag = prem_diag_new();
  tuned of = {.min_ns = 50 + 41 * seed};
  if (prem_tune_trial_open(schedule, backend, &how, &of.trial, diag) != PREM_OK)
    abort_with("tune", diag);
  prem_tune_search search = {.key = "prefetch_offset_ns", .start_ns = options.start_ns};
  const prem_status status = prem_tune(&options, try_offset, &of, &search.result);
  fprintf(file, "  tuning: %s", prem_status_text(status));
  prem_findings *findings = prem_tune_findings(schedule, &search, 1, "as wished");
  tell_findings(file, findings, machine);
  prem_findings_free(findings);
  prem_tune_free(&search.result);
  prem_tune_trial_close(of.trial);
  prem_diag_free(diag);
}

START_TEST(of_schedules) {
  const prem_backend delayed = delayed_backend();
  const prem_backend *backends[] = {&prem_backend_sim, &delayed};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int seed = 0; seed < SEEDS; ++seed) {
    prem_diag *diag = prem_diag_new();
    prem_schedule *schedule = NULL;
    const prem_status status = random_schedule_plan((uint64_t)seed, NULL, &schedule, diag);
    fprintf(file, "schedule %d: %s\n", seed, prem_status_text(status));
    for (int b = 0; b < 2 && status == PREM_OK; ++b) {
      prem_machine machine;
      ck_assert_int_eq(backends[b]->probe(&machine, diag), PREM_OK);
      delayed_seed = (uint64_t)seed;
      tell_profile(file, backends[b], &machine, schedule, seed);
      tell_isolation(file, backends[b], &machine, schedule, seed);
      tell_tuning(file, backends[b], &machine, schedule, seed);
    }
    prem_schedule_free(schedule);
    prem_diag_free(diag);
  }
  fclose(file);
  golden_judge("findings.txt", found);
}
END_TEST

/* Tasks that differ in one time alone, and as many runs as a tail needs. */
static const char alike[] =
    "version = 1; name = \"t\"; platform: { blocks = 4; buffers = 2;"
    " resources = ( { name = \"memory\"; capacity = 4; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 512 ]; fill = \"random\"; } );\n"
    "tasks = ( %s );\n";

static const char *alike_tasks(void) {
  static const int wcet_ns[][3] = {
      {900, 700, 500}, {400, 700, 500}, {900, 300, 500}, {900, 700, 200}};
  const char *all = "";
  for (int t = 0; t < 4; ++t)
    all =
        text("%s%s{ name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d ]; tile = [ 256 ];"
             " arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = %dL; };"
             " compute: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; }; }",
             all, t ? ", " : "", t, t, wcet_ns[t][0], wcet_ns[t][1], wcet_ns[t][2]);
  return all;
}

static void tell_tails(FILE *file, const prem_backend *backend, const prem_machine *machine,
                       const prem_schedule *schedule) {
  const prem_profile_options options = {.sampling.scenario = PREM_RELAUNCH,
                                        .sampling.samples = 320,
                                        .sampling.rounds = 2,
                                        .sampling.seed = 1,
                                        .sampling.max_records = 100000,
                                        .quantile = 0.99};
  prem_profile *profile = NULL;
  ck_assert_int_eq(prem_profile_measure(schedule, backend, machine, &options, &profile, NULL),
                   PREM_OK);
  fputs("  tails:", file);
  tell_findings(file, profile->findings, machine);
  prem_profile_free(profile);
}

START_TEST(of_tasks_that_are_alike) {
  const prem_backend delayed = delayed_backend();
  const prem_backend *backends[] = {&prem_backend_sim, &delayed};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  prem_schedule *schedule = schedule_from_text(text(alike, alike_tasks()));
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  for (int b = 0; b < 2; ++b) {
    prem_machine machine;
    ck_assert_int_eq(backends[b]->probe(&machine, NULL), PREM_OK);
    delayed_seed = 9;
    tell_isolation(file, backends[b], &machine, schedule, 5);
    tell_tails(file, backends[b], &machine, schedule);
  }
  prem_schedule_free(schedule);
  fclose(file);
  golden_judge("findings_alike.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same findings");
  TCase *all = tcase_create("schedules");
  tcase_set_timeout(all, 240);
  tcase_add_checked_fixture(all, golden_make_folder, golden_remove_folder);
  tcase_add_test(all, of_schedules);
  suite_add_tcase(suite, all);
  TCase *of_alike = tcase_create("alike");
  tcase_set_timeout(of_alike, 240);
  tcase_add_checked_fixture(of_alike, golden_make_folder, golden_remove_folder);
  tcase_add_test(of_alike, of_tasks_that_are_alike);
  suite_add_tcase(suite, of_alike);
  return run_suite(suite);
}
