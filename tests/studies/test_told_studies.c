/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiles, certificates and tuning tell of random schedules on a made-up machine is the text
 * that it was (see tests/common/golden.h), and their findings come back from a file as they were.
 */
/* ctest: release */
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "tests/common/suite.h"

enum { SEEDS = 20, TOLD = 2 };

static FILE *told; /* NULL: nothing more is */

static char *printed(const prem_findings *findings) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return all;
}

static void tell_findings(const prem_findings *findings, const prem_machine *machine) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_findings) *again = NULL;
  const char *path = golden_path("f.json");
  if (prem_findings_write(findings, machine, "", path, diag) != PREM_OK ||
      prem_findings_read(path, &again, diag) != PREM_OK ||
      prem_findings_draw(findings, golden_path("f.svg"), NULL, diag) != PREM_OK)
    abort_with("findings", diag);
  FREED char *before = printed(findings), *now = printed(again);
  ck_assert_int_eq(strncmp(before, now, strcspn(before, "\n")), 0);
  if (told)
    fprintf(told, "%s\n", before);
}

static void tell_profile(const prem_backend *backend, const prem_machine *machine,
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
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_profile_measure(schedule, backend, machine, &options, &profile, diag) != PREM_OK ||
      prem_profile_write(profile, golden_path("p.cfg"), diag) != PREM_OK)
    abort_with("profile", diag);
  tell_findings(profile->findings, machine);
  FREED char *all = golden_take(golden_path("p.cfg")); /* its first lines name the build */
  if (told)
    fprintf(told, "%s\n", strstr(all, "version = 1;"));
  prem_profile_free(profile);
}

static void tell_isolation(const prem_backend *backend, const prem_machine *machine,
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
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_isolate(schedule, backend, &options, &isolation, diag) != PREM_OK)
    abort_with("isolate", diag);
  OWNED(prem_findings) *findings = prem_isolation_findings(isolation, schedule);
  tell_findings(findings, machine);
  prem_isolation_free(isolation);
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

static void tell_tuning(const prem_backend *backend, const prem_machine *machine,
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
  OWNED(prem_diag) *diag = prem_diag_new();
  tuned of = {.min_ns = 50 + 41 * seed};
  if (prem_tune_trial_open(schedule, backend, &how, &of.trial, diag) != PREM_OK)
    abort_with("tune", diag);
  prem_tune_search search = {.key = "prefetch_offset_ns", .start_ns = options.start_ns};
  ck_assert_int_eq(prem_tune(&options, try_offset, &of, &search.result), PREM_OK);
  OWNED(prem_findings) *findings = prem_tune_findings(schedule, &search, 1, "as wished");
  tell_findings(findings, machine);
  prem_tune_free(&search.result);
  prem_tune_trial_close(of.trial);
}

GROUP("studies", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_random_schedules) {
  const prem_backend delayed = delayed_backend();
  char *found = NULL;
  size_t bytes = 0;
  prem_machine machine;
  ck_assert_int_eq(delayed.probe(&machine, NULL), PREM_OK);
  told = open_memstream(&found, &bytes);
  for (int seed = 0, done = 0; seed < SEEDS; ++seed) {
    OWNED(prem_schedule) *schedule = NULL;
    if (random_schedule_plan((uint64_t)seed, NULL, &schedule, NULL) == PREM_OK) {
      delayed_seed = (uint64_t)seed;
      tell_profile(&delayed, &machine, schedule, seed);
      tell_isolation(&delayed, &machine, schedule, seed);
      tell_tuning(&delayed, &machine, schedule, seed);
      if (++done == TOLD) {
        fclose(told);
        told = NULL;
        golden_judge("studies.txt", found);
      }
    }
  }
  ck_assert_ptr_null(told);
}
