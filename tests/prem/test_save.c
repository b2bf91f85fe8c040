/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a schedule with its plan, and reading it again. */
/* ctest: timing */
#include "tests/common/folder.h"
#include "tests/common/suite.h"

#include <sys/stat.h>
#include <time.h>

static prem_schedule *loaded(const char *path) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  if (status != PREM_OK)
    print_problems(diag);
  ck_assert_int_eq(status, PREM_OK);
  return schedule;
}

static void assert_plans_equal(const prem_plan *a, const prem_plan *b) {
  ck_assert_str_eq(a->policy, b->policy);
  ck_assert_str_eq(a->generator, b->generator);
  ck_assert_int_eq(a->hyperperiod_ns, b->hyperperiod_ns);
  ck_assert_int_eq(a->clock_step_ns, b->clock_step_ns);
  ck_assert_int_eq(a->warmup_tiles, b->warmup_tiles);
  ck_assert_int_eq(a->warmup_ns, b->warmup_ns);
  ck_assert_int_eq(a->affine_count, b->affine_count);
  ck_assert_int_eq(a->starts_count, b->starts_count);
  for (int32_t i = 0; i < a->affine_count; ++i) {
    const prem_affine *x = &a->affine[i], *y = &b->affine[i];
    ck_assert_int_eq(x->task, y->task);
    ck_assert_int_eq(x->phase, y->phase);
    ck_assert_uint_eq(x->chain, y->chain);
    ck_assert_int_eq(x->first_block, y->first_block);
    ck_assert_int_eq(x->count, y->count);
    ck_assert_int_eq(x->start_ns, y->start_ns);
    ck_assert_int_eq(x->block_step_ns, y->block_step_ns);
    ck_assert_int_eq(x->repeat, y->repeat);
    ck_assert_int_eq(x->step_ns, y->step_ns);
    ck_assert_int_eq(x->tile, y->tile);
    ck_assert_int_eq(x->tile_per_block, y->tile_per_block);
    ck_assert_int_eq(x->tile_per_repeat, y->tile_per_repeat);
    ck_assert_int_eq(x->job, y->job);
    ck_assert_int_eq(x->jobs, y->jobs);
    ck_assert_int_eq(x->job_step_ns, y->job_step_ns);
    ck_assert_int_eq(x->join_task, y->join_task);
    if (x->join_task >= 0) {
      ck_assert_int_eq(x->join_tile, y->join_tile);
      ck_assert_int_eq(x->join_job, y->join_job);
    }
  }
  for (int32_t i = 0; i < a->starts_count; ++i) {
    const prem_starts *x = &a->starts[i], *y = &b->starts[i];
    ck_assert_int_eq(x->task, y->task);
    ck_assert_int_eq(x->phase, y->phase);
    ck_assert_uint_eq(x->chain, y->chain);
    ck_assert_int_eq(x->block, y->block);
    ck_assert_int_eq(x->count, y->count);
    if (x->count)
      ck_assert_mem_eq(x->start_ns, y->start_ns, (size_t)x->count * sizeof *x->start_ns);
  }
}

#define HEAD                                                                                       \
  "# a comment that stays\n"                                                                       \
  "version = 1;   name = \"n\";  // and this one; plan: {\n"                                       \
  "platform: { blocks = 8; };\n"                                                                   \
  "tasks = (\n"                                                                                    \
  "  { name = \"a \\\"1\\\\\"; kernel = \"none\"; blocks = 3; tiles = 9; period_ns = 50L;\n"       \
  "    prefetch: { wcet_ns = 1L; }; compute: { }; writeback: { }; },\n"                            \
  "  { name = \"b\"; copies = 2; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = "       \
  "100L;\n"                                                                                        \
  "    writeback: { }; } );\n"                                                                     \
  "/* \"plan\" = \" */\n"

/* Numbers that try every key at and away from its default. */
static int64_t draw(uint64_t *state, int64_t low, int64_t high) {
  *state = *state * 6364136223846793005U + 1442695040888963407U;
  const uint64_t range = (uint64_t)(high - low) + 1;
  return low + (int64_t)((*state >> 33) % range);
}

static prem_plan *random_plan(const prem_schedule *schedule, uint64_t seed) {
  uint64_t state = seed;
  prem_plan *plan = prem_plan_new();
  strcpy(plan->generator, seed % 2 ? "ttprem \"x\\y\"" : "");
  strcpy(plan->policy, seed % 3 ? "p" : "");
  plan->hyperperiod_ns = 100;
  plan->clock_step_ns = draw(&state, 0, 3);
  plan->warmup_tiles = (int32_t)draw(&state, 0, 2);
  plan->warmup_ns = plan->warmup_tiles ? draw(&state, 0, PREM_MAX_NS) : 0;
  for (int64_t i = draw(&state, 0, 5); i > 0; --i) {
    const int32_t task = (int32_t)draw(&state, 0, schedule->task_count - 1);
    const int32_t blocks = schedule->tasks[task].block_count;
    prem_affine run = {.task = task,
                       .phase = (prem_phase)draw(&state, 0, 2),
                       .start_ns = draw(&state, 0, 40),
                       .block_step_ns = draw(&state, -2, 2),
                       .repeat = draw(&state, 1, 3),
                       .step_ns = draw(&state, -2, 2),
                       .tile = draw(&state, -1, 2),
                       .tile_per_block = draw(&state, 0, 2),
                       .tile_per_repeat = draw(&state, 0, 4),
                       .job = draw(&state, 0, 1),
                       .jobs = draw(&state, 1, 2),
                       .job_step_ns = draw(&state, 49, 51),
                       .join_task = -1};
    run.first_block = (int32_t)draw(&state, 0, blocks - 1);
    run.count = (int32_t)draw(&state, 1, blocks - run.first_block);
    if (run.phase == PREM_PREFETCH)
      run.chain = (uint32_t)draw(&state, 0, 3);
    else if (run.phase == PREM_COMPUTE)
      run.chain = draw(&state, 0, 1) ? PREM_CHAIN_WRITEBACK : 0;
    if (run.phase == PREM_PREFETCH && draw(&state, 0, 1)) {
      run.join_task = (int32_t)draw(&state, 0, schedule->task_count - 1);
      run.join_tile = draw(&state, -3, 3);
      run.join_job = draw(&state, 0, 2);
    }
    ck_assert_int_eq(prem_plan_add_affine(plan, &run), PREM_OK);
  }
  for (int64_t i = draw(&state, 0, 3); i > 0; --i) {
    int64_t start_ns[40];
    prem_starts starts = {.phase = (prem_phase)draw(&state, 0, 2), .start_ns = start_ns};
    starts.block = (int32_t)draw(&state, 0, 2);
    starts.count = draw(&state, 0, 40);
    for (int64_t j = 0; j < starts.count; ++j)
      start_ns[j] = draw(&state, -1, j % 2 ? PREM_MAX_NS : 9);
    ck_assert_int_eq(prem_plan_add_starts(plan, &starts), PREM_OK);
  }
  return plan;
}

GROUP("save", .set_up = make_folder, .tear_down = remove_folder);

TEST(comes_back_equal) {
  OWNED(prem_schedule) *first = loaded(put("in.cfg", HEAD));
  for (uint64_t seed = 0; seed < 200; ++seed) {
    prem_schedule_set_plan(first, random_plan(first, seed));
    ck_assert_int_eq(prem_schedule_save(first, in_folder("out.cfg"), NULL), PREM_OK);
    OWNED(prem_schedule) *second = loaded(in_folder("out.cfg"));
    assert_plans_equal(first->plan, second->plan);
    /* and again, over the plan that is there */
    prem_schedule_set_plan(second, random_plan(second, seed + 1000));
    ck_assert_int_eq(prem_schedule_save(second, in_folder("again.cfg"), NULL), PREM_OK);
    OWNED(prem_schedule) *third = loaded(in_folder("again.cfg"));
    assert_plans_equal(second->plan, third->plan);
    FREED char *content = content_of(in_folder("again.cfg"));
    ck_assert_int_eq(strncmp(content, HEAD "plan: {", strlen(HEAD "plan: {")), 0);
  }
}

static void save_with_empty_plan(const char *path, const char *out) {
  OWNED(prem_schedule) *schedule = loaded(path);
  prem_plan *plan = prem_plan_new();
  plan->hyperperiod_ns = 100;
  prem_schedule_set_plan(schedule, plan);
  ck_assert_int_eq(prem_schedule_save(schedule, out, NULL), PREM_OK);
}

#define PLAN "plan: {\n  generator = \"\";  policy = \"\";\n  hyperperiod_ns = 100L;\n};\n"

TEST(bytes_before_the_plan_stay) {
  static const char *const tails[][2] = {
      {"", ""},
      {"plan: { hyperperiod_ns = 5L; };", ""},
      {"plan = { hyperperiod_ns = 5L; }\n# behind it\n", ""},
      {"\r\n\tplan : { hyperperiod_ns = 5L; }", "\r\n\t"},
      {"measure: { runs = 1; } plan: { hyperperiod_ns = 5L; }", "measure: { runs = 1; } "},
      {"# no line's end", "# no line's end\n"},
  };
  for (size_t i = 0; i < sizeof tails / sizeof *tails; ++i) {
    save_with_empty_plan(put("in.cfg", text(HEAD "%s", tails[i][0])), in_folder("out.cfg"));
    FREED char *content = content_of(in_folder("out.cfg"));
    ck_assert_str_eq(content, text(HEAD "%s" PLAN, tails[i][1]));
  }
}

TEST(plan_may_be_taken_out) {
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", HEAD "plan: { hyperperiod_ns = 5L; };"));
  prem_schedule_set_plan(schedule, NULL);
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("in.cfg"), NULL), PREM_OK);
  FREED char *content = content_of(in_folder("in.cfg"));
  ck_assert_str_eq(content, HEAD);
}

/* Nothing is written, and what is there stays. */
static void assert_not_saved(const prem_schedule *schedule, prem_status status, int line,
                             const char *reason) {
  put("out.cfg", "as it was");
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("out.cfg"), diag), status);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, reason);
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, line);
  FREED char *content = content_of(in_folder("out.cfg"));
  ck_assert_str_eq(content, "as it was");
}

TEST(settings_behind_the_plan) {
  OWNED(prem_schedule) *schedule =
      loaded(put("in.cfg", HEAD "plan: { hyperperiod_ns = 5L; };\nmeasure: { runs = 5; };"));
  assert_not_saved(schedule, PREM_ERR_INVALID, 10,
                   "settings stand after the plan and would be lost; make it the last group");
}

TEST(plan_of_another_file) {
  put("plan.cfg", "plan: { hyperperiod_ns = 5L; };\n");
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", HEAD "@include \"plan.cfg\"\n"));
  ck_assert_ptr_nonnull(schedule->plan);
  assert_not_saved(schedule, PREM_ERR_INVALID, 1,
                   "the plan comes from an included file; put it into the schedule itself");
}

/* `plan` deeper in the file is a name like any other. */
TEST(plan_in_a_group_is_none) {
  const char *source =
      "version = 1; name = \"n\"; platform: { blocks = 1; };\n"
      "tasks = ( { name = \"a\"; kernel = \"k\"; blocks = 1; args: { plan = 5; }; } );\n";
  save_with_empty_plan(put("in.cfg", source), in_folder("out.cfg"));
  FREED char *content = content_of(in_folder("out.cfg"));
  ck_assert_str_eq(content, text("%s" PLAN, source));
}

TEST(unwritable) {
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", HEAD));
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(mkdir(in_folder("folder"), 0700), 0);
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("folder"), diag), PREM_ERR_IO);
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("absent/out.cfg"), diag), PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_errors(diag), 2);
  for (size_t i = 0; i < 2; ++i)
    ck_assert_int_eq(strncmp(prem_diag_at(diag, i)->reason, "cannot be written: ", 19), 0);
  /* nothing is left behind: the folder, and the file that was read */
  FILE *names = popen(text("ls -A %s | tr '\\n' ' '", folder), "r");
  char all[256] = "";
  ck_assert_ptr_nonnull(fgets(all, sizeof all, names));
  pclose(names);
  ck_assert_str_eq(all, "folder in.cfg ");
}

TEST(full_disk) {
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", HEAD));
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_save(schedule, "/dev/full", diag), PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define LARGE                                                                                      \
  "version = 1; name = \"n\"; platform: { blocks = 100; };\n"                                      \
  "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 100; tiles = 100000;\n"                   \
  "  prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 5L; }; writeback: { wcet_ns = 5L; }; } "    \
  ");\n"

TEST(regular_plans_are_small_and_fast) {
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", LARGE));
  prem_plan *plan = prem_plan_new();
  plan->hyperperiod_ns = 100000;
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    const prem_affine run = {.phase = (prem_phase)phase,
                             .count = 100,
                             .start_ns = 5 * phase,
                             .repeat = 1000,
                             .step_ns = 20,
                             .tile_per_block = 1,
                             .tile_per_repeat = 100,
                             .jobs = 1,
                             .join_task = -1};
    ck_assert_int_eq(prem_plan_add_affine(plan, &run), PREM_OK);
  }
  prem_schedule_set_plan(schedule, plan);
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("out.cfg"), NULL), PREM_OK);
  struct stat facts;
  ck_assert_int_eq(stat(in_folder("out.cfg"), &facts), 0);
  ck_assert_int_lt(facts.st_size, 100000);
  const double before = seconds();
  OWNED(prem_schedule) *again = loaded(in_folder("out.cfg"));
  ck_assert_double_lt(seconds() - before, 0.05);
  assert_plans_equal(plan, again->plan);
}

TEST(irregular_plans_come_back) {
  OWNED(prem_schedule) *schedule = loaded(put("in.cfg", LARGE));
  prem_plan *plan = prem_plan_new();
  plan->hyperperiod_ns = 100000;
  uint64_t state = 1;
  for (int32_t block = 0; block < 100; ++block) {
    static int64_t start_ns[1000];
    for (int i = 0; i < 1000; ++i)
      start_ns[i] = draw(&state, 0, INT64_C(1) << 40);
    const prem_starts starts = {
        .phase = PREM_COMPUTE, .block = block, .start_ns = start_ns, .count = 1000};
    ck_assert_int_eq(prem_plan_add_starts(plan, &starts), PREM_OK);
  }
  prem_schedule_set_plan(schedule, plan);
  ck_assert_int_eq(prem_schedule_save(schedule, in_folder("out.cfg"), NULL), PREM_OK);
  OWNED(prem_schedule) *again = loaded(in_folder("out.cfg"));
  assert_plans_equal(plan, again->plan);
  /* no line is longer than an editor likes */
  FILE *file = fopen(in_folder("out.cfg"), "r");
  char line[256];
  while (fgets(line, sizeof line, file))
    ck_assert_uint_le(strlen(line), 102);
  fclose(file);
}

/* Whichever it is of the arrays; with leave to save anywhere none is. */
TEST(an_array_that_is_saved_elsewhere_is_told) {
  for (int elsewhere = -1; elsewhere < 3; ++elsewhere) {
    const char *arrays = "";
    for (int a = 0; a < 3; ++a)
      arrays = text("%s%s{ name = \"a%d\"; type = \"f32\"; shape = [ 8 ]; save = \"%sa%d.f32\"; }",
                    arrays, a ? "," : "", a, a == elsewhere ? "/nowhere/" : "", a);
    OWNED(prem_schedule) *schedule = schedule_from_text(
        text("version = 1; name = \"t\"; platform: { blocks = 1; }; arrays = ( %s );"
             " tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
             " compute: { wcet_ns = 1L; }; } );",
             arrays));
    for (int anywhere = 0; anywhere < 2; ++anywhere) {
      OWNED(prem_diag) *diag = prem_diag_new();
      const bool is_told = elsewhere >= 0 && !anywhere;
      ck_assert_int_eq(prem_schedule_judge_saves(schedule, anywhere, PREM_ERROR, diag),
                       is_told ? PREM_ERR_INVALID : PREM_OK);
      ck_assert_uint_eq(prem_diag_count(diag), is_told);
      if (is_told) {
        ck_assert_str_eq(prem_diag_at(diag, 0)->key, text("arrays.a%d.save", elsewhere));
        ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                         text("'/nowhere/a%d.f32' is outside the working folder; `ttprem run` "
                              "writes there with --save-anywhere alone",
                              elsewhere));
      }
    }
  }
}
