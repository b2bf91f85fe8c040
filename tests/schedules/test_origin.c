/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan was made for: written, read, and judged. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

static const char one[] =
    "version = 1; name = \"one\";\n"
    "platform: { blocks = 1; clock_step_ns = 1L; };\n"
    "profiles: { here = \"/dev/null/here.cfg\"; there = \"/dev/null/there.cfg\"; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ %d ];\n"
    "    args: { increment = %s; }; arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 50L; }; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 400L; %s runs = ( { task = \"a\"; phase = \"prefetch\";\n"
    "  chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; repeat = 2; step_ns = 200L; } ); "
    "};\n";

static prem_schedule *schedule;
static prem_diag *diag;
static char kernels[PREM_KERNELS_BYTES];

static void set_up(void) {
  diag = prem_diag_new();
  schedule = schedule_from_text(text(one, 32, "1.0", ""));
  prem_schedule_kernels(schedule, kernels);
}

static void tear_down(void) {
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static void load(int tile, const char *increment, const char *keys) {
  prem_schedule_free(schedule);
  schedule = schedule_from_text(text(one, tile, increment, keys));
}

static bool refused_on(const char *backend, const char *name) {
  prem_machine machine = {.max_blocks = 1, .clock_step_ns = 1};
  snprintf(machine.backend, sizeof machine.backend, "%s", backend);
  snprintf(machine.name, sizeof machine.name, "%s", name);
  const prem_status status = prem_check(schedule, &machine, diag);
  ck_assert_int_eq(status == PREM_ERR_INVALID, prem_diag_has(diag, 44));
  return status == PREM_ERR_INVALID;
}

GROUP("plans", .set_up = set_up, .tear_down = tear_down);

TEST(plans_run_on_the_machine_of_their_times) {
  load(32, "1.0", "machine = \"GPU A\";");
  ck_assert_str_eq(schedule->plan->machine, "GPU A");
  ck_assert(!refused_on("cuda", "GPU A"));
  ck_assert(refused_on("cuda", "GPU B"));
}

TEST(platforms_and_the_simulator_take_any) {
  load(32, "1.0", "machine = \"GPU A\";");
  ck_assert(!refused_on("", "platform of one.cfg"));
  ck_assert(!refused_on("sim", "simulator"));
  ck_assert(refused_on("cpu", "CPU"));
}

/* Why none of its windows fits is said once, and only where one does not fit. */
TEST(times_of_another_profile_are_told) {
  static const char said[] = "the plan was made with times measured on \"GPU A\", and is judged "
                             "here by those of %s: name the entry of `profiles` that it was made "
                             "with, `--profile NAME`";
  const struct {
    const char *judged_by, *said;
  } profiles[] = {
      {"", text(said, "the file")}, {"GPU B", text(said, "\"GPU B\"")}, {"GPU A", NULL}};
  for (int wrong = 0; wrong < 2; ++wrong)
    for (int p = 0; p < 3; ++p) {
      OWNED(prem_diag) *found = prem_diag_new();
      load(32, "1.0", "machine = \"GPU A\";");
      strcpy(schedule->profiled_on, profiles[p].judged_by);
      schedule->tasks[0].phase[PREM_COMPUTE].wcet_ns += wrong;
      ck_assert_int_eq(prem_check(schedule, NULL, found), wrong ? PREM_ERR_INVALID : PREM_OK);
      const size_t errors = prem_diag_errors(found), all = prem_diag_count(found);
      ck_assert_uint_eq(all - errors, wrong && profiles[p].said);
      if (wrong && profiles[p].said)
        ck_assert_str_eq(prem_diag_at(found, all - 1)->reason, profiles[p].said);
    }
}

/* A plan that names its times is refused with others, and nothing else is said of it. */
TEST(a_plan_is_judged_by_its_times) {
  const struct {
    const char *profile, *times;
    bool given, wrong;
    int code; /* of the one problem; -1: none, 0: a note */
  } cases[] = {{"here", "0123456789abcdef", false, true, 36},
               {"here", "0123456789abcdef", false, false, -1},
               {"here", "fedcba9876543210", false, false, 44},
               {"here", "", false, true, 44},
               {"there", "fedcba9876543210", true, false, 0},
               {"there", "fedcba9876543210", true, true, 44},
               {"nowhere", "", true, true, -1}, /* the reader has said so */
               {"", "fedcba9876543210", false, true, 44}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    OWNED(prem_diag) *found = prem_diag_new();
    load(32, "1.0", "profile = \"here\"; times = \"0123456789abcdef\";");
    strcpy(schedule->profile, cases[i].profile);
    strcpy(schedule->profile_times, cases[i].times);
    schedule->profile_given = cases[i].given;
    schedule->tasks[0].phase[PREM_COMPUTE].wcet_ns += 100 * cases[i].wrong;
    const prem_status status = prem_check(schedule, NULL, found);
    ck_assert_int_eq(status, cases[i].code > 0 ? PREM_ERR_INVALID : PREM_OK);
    if (cases[i].code == 36)
      ck_assert(!prem_diag_has(found, 44) && prem_diag_errors(found) > 0);
    else
      ck_assert_uint_eq(prem_diag_count(found), cases[i].code >= 0);
    if (cases[i].code == 44 || cases[i].code == 0)
      ck_assert_int_eq(prem_diag_at(found, 0)->code, cases[i].code);
  }
}

TEST(plans_that_do_not_say_are_not_judged) {
  ck_assert(!refused_on("cuda", "GPU B"));
}

TEST(plans_hold_for_their_kernels) {
  load(32, "1.0", text("kernels = \"%s\";", kernels));
  ck_assert_str_eq(schedule->plan->kernels, kernels);
  ck_assert(!refused_on("cuda", "GPU"));
}

TEST(another_parameter_is_another_kernel) {
  load(32, "2.0", text("kernels = \"%s\";", kernels));
  ck_assert(refused_on("", "platform"));
}

TEST(another_tile_is_another_kernel) {
  load(48, "1.0", text("kernels = \"%s\";", kernels)); /* two tiles, as before */
  ck_assert(refused_on("", "platform"));
}

TEST(another_version_is_another_kernel) {
  const prem_kernel *of_file = schedule->tasks[0].definition;
  prem_kernel newer = *of_file;
  ++newer.version;
  char now[PREM_KERNELS_BYTES];
  schedule->tasks[0].definition = &newer;
  prem_schedule_kernels(schedule, now);
  schedule->tasks[0].definition = of_file;
  ck_assert_str_ne(now, kernels);
}

TEST(a_signed_plan_is_saved_and_read) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  close(mkstemps(path, 4));
  strcpy(schedule->profiled_on, "GPU \"A\"");
  strcpy(schedule->profile, "here");
  strcpy(schedule->profile_times, "0123456789abcdef");
  prem_plan_sign(schedule, schedule->plan);
  ck_assert_int_eq(prem_schedule_save(schedule, path, diag), PREM_OK);
  OWNED(prem_schedule) *again = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &again, diag), PREM_OK);
  unlink(path);
  ck_assert_str_eq(again->plan->profile, "here");
  ck_assert_str_eq(again->plan->times, "0123456789abcdef");
  ck_assert_str_eq(again->plan->machine, "GPU \"A\"");
  ck_assert_str_eq(again->plan->kernels, kernels);
}
