/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random sets are what they were, to the last byte (see tests/common/golden.h): others
 * show that they are legal and good. Searches are limited in steps, so that no clock and no solver
 * has a say.
 */
/* ctest: release */
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/random_set.h"

enum { SETS = 450, WHOLE = 150, KEPT = 150, STEPS = 60 };

typedef struct planner_case {
  int64_t steps; /* of the search; 0: none */
  const prem_schedule *keep;
} planner_case;

static void tell_plan(FILE *file, prem_schedule *schedule, const planner_case *how) {
  const prem_plan_options options = {
      .time_limit_ns = how->steps ? PREM_MAX_NS : 0, .step_limit = how->steps, .keep = how->keep};
  prem_plan_report report;
  prem_plan *plan = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag);
  if (status != PREM_OK) { /* why there is none is looked for as long as there is time */
    fprintf(file, " %s\n", prem_status_text(status));
    prem_diag_free(diag);
    return;
  }
  fprintf(file, " %s %s%s,", prem_status_text(status), report.method,
          report.optimal ? " optimal" : "");
  fprintf(file, " %" PRId64 " of %" PRId64 " ns, slack %" PRId64, report.makespan_ns,
          report.lower_bound_ns, report.due ? report.min_slack_ns : -1);
  fprintf(file, ", %" PRId64 " phases, %" PRId64 " steps", report.phases, report.steps);
  if (report.keeps)
    fprintf(file, ", %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, report.kept, report.moved,
            report.added, report.removed);
  prem_schedule_set_plan(schedule, plan);
  char *saved = plan ? golden_saved(schedule) : NULL;
  fprintf(file, ": %016" PRIx64 " %016" PRIx64 "\n", saved ? golden_text(saved) : 0,
          golden_problems(diag));
  free(saved);
  prem_diag_free(diag);
}

START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    const random_set set = random_set_draw(seed);
    prem_schedule *schedule = schedule_from_text(random_set_text(&set));
    for (int64_t steps = 0; steps <= STEPS; steps += STEPS) {
      fprintf(file, "set %" PRIu32 ", %" PRId64 " steps:", seed, steps);
      tell_plan(file, schedule, &(planner_case){.steps = steps});
    }
    prem_schedule_free(schedule);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("plans.txt", found);
}
END_TEST

/* One task more, less, longer, another. */
static random_set changed(random_set set, uint32_t seed, int how) {
  const int32_t which = (int32_t)seed % set.tasks;
  switch (how) {
  case 0:
    set.tasks += set.tasks < RANDOM_SET_TASKS;
    break;
  case 1:
    set.tasks -= set.tasks > 1;
    break;
  case 2:
    set.longer_ns[which] = 1 + (int32_t)(seed % 17);
    break;
  default:
    set.version[which] = 1;
  }
  return set;
}

START_TEST(that_keep_older_ones) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < KEPT; ++seed) {
    const random_set set = random_set_draw(seed);
    prem_schedule *old = schedule_from_text(random_set_text(&set));
    prem_plan *plan = NULL;
    prem_plan_make(old, NULL, NULL, &plan, NULL);
    prem_schedule_set_plan(old, plan);
    for (int how = 0; plan && how < 4; ++how) {
      const random_set other = changed(set, seed, how);
      prem_schedule *schedule = schedule_from_text(random_set_text(&other));
      fprintf(file, "set %" PRIu32 ", change %d:", seed, how);
      tell_plan(file, schedule, &(planner_case){.steps = STEPS, .keep = old});
      prem_schedule_free(schedule);
    }
    prem_schedule_free(old);
  }
  fclose(file);
  golden_judge("plans_kept.txt", found);
}
END_TEST

/* ---- long searches -------------------------------------------------------------------------- */

/* Closing gives the text its last place. */
static prem_schedule *printed(FILE *file, char **source) {
  fclose(file);
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load_text("t", *source, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), NULL), PREM_OK);
  free(*source);
  return schedule;
}

/* Jobs of operations, each on the block of a machine; `due` gives them deadlines, `tools` a
 * resource that some operations share. */
static void print_job_shop(FILE *file, uint64_t seed, bool due, bool tools) {
  enum { JOBS = 7, MACHINES = 4 };
  uint64_t state = seed;
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %d; resources = ("
          " { name = \"memory\"; capacity = %d; }, { name = \"tool\"; capacity = 2; } ); };\n"
          "tasks = (\n",
          MACHINES, MACHINES);
  for (int j = 0; j < JOBS; ++j)
    for (int k = 0; k < MACHINES; ++k) {
      const int32_t machine = (k * (j % 2 ? 1 : 3) + planted_between(&state, 0, 1)) % MACHINES;
      fprintf(file,
              "%s{ name = \"j%dk%d\"; kernel = \"none\"; blocks = [ %" PRId32 " ]; tiles = 1;"
              " prefetch: { wcet_ns = %" PRId32 "L;",
              j + k ? ",\n" : "", j, k, machine, planted_between(&state, 5, 90));
      if (tools)
        fprintf(file, " demand: { tool = %" PRId32 "; };", planted_between(&state, 0, 2));
      fputs(" };", file);
      if (due && k == MACHINES - 1)
        fprintf(file, " deadline_ns = %" PRId32 "L;", planted_between(&state, 450, 900));
      if (k > 0)
        fprintf(file, " after = ( { task = \"j%dk%d\"; lag_ns = %" PRId32 "L; } );", j, k - 1,
                tools ? planted_between(&state, 0, 9) : 0);
      fputs(" }", file);
    }
  fputs("\n);\n", file);
}

/* Works of one length, each on a block of its own, that share what there is of two resources: by
 * their tails none comes before another. */
static void print_equal_tails(FILE *file, uint64_t seed) {
  enum { WORKS = 16 };
  uint64_t state = seed + 1;
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %d; resources = ("
          " { name = \"memory\"; capacity = %d; }, { name = \"tool\"; capacity = 9; } ); };\n"
          "tasks = (\n",
          WORKS, WORKS);
  for (int w = 0; w < WORKS; ++w) {
    const int32_t tool = planted_between(&state, 1, 7), memory = planted_between(&state, 1, 9);
    fprintf(file,
            "%s{ name = \"w%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
            " prefetch: { wcet_ns = 60L; demand: { tool = %" PRId32 "; memory = %" PRId32
            "; }; }; }",
            w ? ",\n" : "", w, w, tool, memory);
  }
  fputs("\n);\n", file);
}

static void tell_search(FILE *file, const char *name, prem_schedule *schedule, int64_t steps) {
  fprintf(file, "%s:", name);
  tell_plan(file, schedule, &(planner_case){.steps = steps});
  prem_schedule_free(schedule);
}

START_TEST(of_searches) {
  char *found = NULL, *source = NULL;
  size_t bytes = 0, source_bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int32_t tiles = 15; tiles <= 75; tiles += 20) {
    planted_tile drawn[75];
    planted_draw(drawn, tiles, 4, (uint64_t)tiles);
    FILE *to = open_memstream(&source, &source_bytes);
    planted_print(to, drawn, tiles, 4, 5);
    tell_search(file, text("%" PRId32 " tiles", tiles), printed(to, &source), 800);
  }
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const planted_gangs set = planted_gangs_draw(seed);
    FILE *to = open_memstream(&source, &source_bytes);
    planted_gangs_print(to, &set);
    tell_search(file, text("gangs %" PRIu64, seed), printed(to, &source), seed < 12 ? 500 : 200);
  }
  for (uint64_t seed = 0; seed < 16; ++seed) {
    FILE *to = open_memstream(&source, &source_bytes);
    print_job_shop(to, seed, seed % 2 == 1, seed % 4 >= 2);
    tell_search(file, text("job shop %" PRIu64, seed), printed(to, &source), 2000);
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    FILE *to = open_memstream(&source, &source_bytes);
    print_equal_tails(to, seed);
    tell_search(file, text("equal tails %" PRIu64, seed), printed(to, &source), 60);
  }
  fclose(file);
  golden_judge("plans_searched.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same plans");
  TCase *sets = tcase_create("sets");
  tcase_set_timeout(sets, 240);
  tcase_add_test(sets, of_sets);
  suite_add_tcase(suite, sets);
  TCase *kept = tcase_create("kept");
  tcase_set_timeout(kept, 240);
  tcase_add_test(kept, that_keep_older_ones);
  suite_add_tcase(suite, kept);
  TCase *searches = tcase_create("searches");
  tcase_set_timeout(searches, 240);
  tcase_add_test(searches, of_searches);
  suite_add_tcase(suite, searches);
  return run_suite(suite);
}
