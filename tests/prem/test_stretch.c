/* SPDX-License-Identifier: Apache-2.0 */
/* The same plan with another offset, and the number that says so in the file. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* Two tasks 200 apart, rounds of 400, behind a warm-up of 1000. */
static const char two[] =
    "version = 1; name = \"two\"; # policy = { prefetch_offset_ns = 1L; };\n"
    "platform: { blocks = 2; clock_step_ns = 1L; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 3;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; }\n"
    ");\n"
    "%s"
    "plan: { policy = \"by hand\"; hyperperiod_ns = 1750L; warmup_tiles = 1; warmup_ns = 1000L;\n"
    "  runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 1000L;\n"
    "    repeat = 2; step_ns = 400L; tile = 1; } );\n"
    "  starts = ( { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; block = 0;\n"
    "    start_ns = [ 1200L, 1600L ]; } ); };\n";

static prem_schedule *schedule;
static prem_plan *plan;
static prem_diag *diag;

static void set_up(void) {
  schedule = NULL;
  plan = NULL;
  diag = prem_diag_new();
}

static void tear_down(void) {
  prem_plan_free(plan);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

GROUP("plans", .set_up = set_up, .tear_down = tear_down);

TEST(the_offset_is_what_all_starts_share) {
  schedule = checked_schedule(text(two, ""));
  ck_assert_int_eq(prem_plan_offset_ns(schedule->plan), 200);
}

TEST(starts_and_steps_are_stretched_windows_are_not) {
  schedule = checked_schedule(text(two, ""));
  ck_assert_int_eq(prem_plan_stretch(schedule, schedule->plan, 150, &plan, diag), PREM_OK);
  ck_assert_int_eq(plan->affine[0].start_ns, 1000);
  ck_assert_int_eq(plan->affine[0].step_ns, 300);
  ck_assert_int_eq(plan->starts[0].start_ns[0], 1150);
  ck_assert_int_eq(plan->starts[0].start_ns[1], 1450);
  ck_assert_int_eq(plan->hyperperiod_ns, 1450 + 150);
  ck_assert_int_eq(plan->warmup_ns, 1000);
  ck_assert_str_eq(plan->policy, "by hand");
  prem_schedule_set_plan(schedule, plan);
  plan = NULL;
  assert_checked(schedule);
}

TEST(what_no_longer_fits_is_left_to_the_checker) {
  schedule = checked_schedule(text(two, ""));
  ck_assert_int_eq(prem_plan_stretch(schedule, schedule->plan, 99, &plan, diag), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  plan = NULL;
  ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_ERR_INVALID);
  ck_assert(prem_diag_has(diag, 37)); /* prefetches of 100, 99 apart */
}

TEST(no_offset_no_stretching) {
  schedule = checked_schedule(text(two, ""));
  schedule->plan->affine[0].repeat = 1;
  schedule->plan->starts[0].start_ns[0] = schedule->plan->starts[0].start_ns[1] = 1000;
  ck_assert_int_eq(prem_plan_offset_ns(schedule->plan), 0);
  ck_assert_int_eq(prem_plan_stretch(schedule, schedule->plan, 100, &plan, diag),
                   PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(plan);
}

TEST(times_beyond_all_limits_are_refused) {
  schedule = checked_schedule(text(two, ""));
  ck_assert_int_eq(prem_plan_stretch(schedule, schedule->plan, PREM_MAX_NS, &plan, diag),
                   PREM_ERR_ARGUMENT);
  /* within them from the end of the warm-up, beyond them from the start */
  prem_affine *run = &schedule->plan->affine[0];
  int64_t *starts = schedule->plan->starts[0].start_ns;
  run->repeat = 1;
  run->step_ns = 0;
  run->start_ns = starts[0] = starts[1] = 1200;
  ck_assert_int_eq(prem_plan_stretch(schedule, schedule->plan, PREM_MAX_NS - 999, &plan, diag),
                   PREM_ERR_ARGUMENT);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
}

/* The file as it would be saved, without its plan. */
static const char *saved(void) {
  static char bytes[8192];
  char path[] = "/tmp/ttprem-test-XXXXXX";
  close(mkstemp(path));
  prem_schedule_set_plan(schedule, NULL);
  ck_assert_int_eq(prem_schedule_save(schedule, path, diag), PREM_OK);
  FILE *file = fopen(path, "r");
  bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
  fclose(file);
  unlink(path);
  return bytes;
}

static void assert_edited(const char *policy, const char *expected) {
  prem_schedule_free(schedule);
  schedule = schedule_from_text(text(two, policy));
  ck_assert_int_eq(prem_schedule_edit_policy(schedule, "prefetch_offset_ns", 777, diag), PREM_OK);
  FREED char *whole = strdup(text(two, expected));
  *strstr(whole, "plan: {") = '\0';
  ck_assert_str_eq(saved(), whole);
}

TEST(one_number_is_changed_and_nothing_else) {
  assert_edited("policy: { /* prefetch_offset_ns = 5L; */ use = \"prefetch_offset_ns = 6L\";\n"
                "  prefetch_offset_ns\t= 0x40L ; }; # tail\n",
                "policy: { /* prefetch_offset_ns = 5L; */ use = \"prefetch_offset_ns = 6L\";\n"
                "  prefetch_offset_ns\t= 777L ; }; # tail\n");
  assert_edited("policy: { prefetch_offset_ns = \"0.5us\"; use = \"tile_kernelwise\"; };\n",
                "policy: { prefetch_offset_ns = 777L; use = \"tile_kernelwise\"; };\n");
  assert_edited("policy: { prefetch_offset_ns = \"1\" /* of */ \"us\" ; };\n",
                "policy: { prefetch_offset_ns = 777L ; };\n");
}

TEST(a_setting_that_is_not_there_is_added) {
  assert_edited("policy = { use = \"auto\"; };\n",
                "policy = { prefetch_offset_ns = 777L; use = \"auto\"; };\n");
}

TEST(without_a_policy_nothing_is_written) {
  schedule = schedule_from_text(text(two, ""));
  ck_assert_int_eq(prem_schedule_edit_policy(schedule, "prefetch_offset_ns", 777, diag),
                   PREM_ERR_INVALID);
}

/* Whatever ends the file, nobody looks behind its end. */
TEST(the_search_for_a_policy_ends_with_the_file) {
  static const char *const tails[] = {"", "#", "# tail", "// tail", "/* tail */", "/**/", " "};
  for (size_t i = 0; i < sizeof tails / sizeof tails[0]; ++i) {
    OWNED(prem_schedule) *bare = schedule_from_text(text("%s%s", text(two, ""), tails[i]));
    ck_assert_int_eq(prem_schedule_edit_policy(bare, "prefetch_offset_ns", 777, diag),
                     PREM_ERR_INVALID);
  }
  ck_assert_uint_eq(prem_diag_errors(diag), sizeof tails / sizeof tails[0]);
}
