/* SPDX-License-Identifier: Apache-2.0 */
/* Planners leave time for state arrays: every policy, one-shot and periodic, makes a plan that the
 * checker accepts. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* `w` makes m of m, `r` shows it; 16 tiles on 4 blocks. */
static const char *file_of(const char *policy, int precedence, const char *of_w, const char *of_r) {
  static const char *phases = "prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; };"
                              "writeback: { wcet_ns = 100L; };";
  const char *reader =
      of_r ? text(", { name = \"r\"; kernel = \"vector_increment\"; blocks = 4; tile = [ 4 ];"
                  "  arrays: { in = \"m\"; out = \"new\"; }; %s %s }",
                  of_r, phases)
           : "";
  return text("version = 1; name = \"t\"; platform: { blocks = 8; precedence_ns = %dL;"
              "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
              "  { name = \"m\"; type = \"f32\"; shape = [ 64 ]; versions = 2; } );"
              "tasks = ( { name = \"w\"; kernel = \"blend\"; blocks = 4; tile = [ 4 ];"
              "    arrays: { a = \"m\"; b = \"x\"; out = \"m\"; }; %s %s } %s );"
              "policy: { use = \"%s\"; };",
              precedence, of_w, phases, reader, policy);
}

static prem_schedule *plan(const char *file, const prem_plan_options *options) {
  prem_schedule *schedule = schedule_from_text(file);
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_prepare(schedule, prem_registry_builtin(), NULL, options, diag) != PREM_OK)
    abort_with(file, diag);
  return schedule;
}

static const char *const policies[] = {"auto", "phase_kernelwise", "phase_blockwise",
                                       "tile_kernelwise", "tile_blockwise"};
static const int precedences[] = {0, 7, 300, 20000};

TESTS(one_task_is_told_of_its_last_job, sizeof policies / sizeof *policies) {
  for (size_t p = 0; p < sizeof precedences / sizeof *precedences; ++p) {
    const char *file = file_of(policies[_i], precedences[p], "", NULL);
    OWNED(prem_schedule) *schedule = plan(file, NULL);
    int64_t count, end_ns = 0;
    FREED prem_slot *slots = NULL;
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
    for (int64_t i = 0; i < count; ++i)
      if (slots[i].planned_ns + slots[i].length_ns > end_ns)
        end_ns = slots[i].planned_ns + slots[i].length_ns;
    ck_assert_int_ge(schedule->plan->hyperperiod_ns, end_ns + precedences[p]);
  }
}

/* The exact engine and the search as well. */
TEST(readers_before_and_behind_have_their_time) {
  static const prem_plan_options options = {.step_limit = 3000, .time_limit_ns = 1000000000};
  for (size_t p = 0; p < sizeof precedences / sizeof *precedences; ++p) {
    const int precedence = precedences[p];
    prem_schedule_free(
        plan(file_of("auto", precedence, "", "after = ( { task = \"w\"; } );"), &options));
    prem_schedule_free(
        plan(file_of("auto", precedence, "after = ( { task = \"r\"; } );", ""), &options));
    if (precedence > 1000)
      continue; /* a job of w would not be over in time */
    prem_schedule_free(plan(file_of("auto", precedence, "period_ns = 4000L;",
                                    "period_ns = 8000L;"
                                    "after = ( { task = \"w\"; instance = \"latest\"; } );"),
                            &options));
    prem_schedule_free(
        plan(file_of("auto", precedence, "period_ns = 6000L; after = ( { task = \"r\"; } );",
                     "period_ns = 6000L;"),
             &options));
  }
}

TEST(what_cannot_be_in_time_is_refused) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(file_of("auto", 20000, "period_ns = 6000L;", NULL));
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag),
                   PREM_ERR_INFEASIBLE);
  ck_assert_uint_gt(prem_diag_errors(diag), 0);
}
