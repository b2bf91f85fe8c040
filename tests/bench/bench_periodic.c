/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many periodic sets does the planner find a plan for, and how near does it come to the largest
 * smallest slack? Beside it the exact engine, where it answers. Not a test.
 *
 *   bench_periodic [SETS [SECONDS [SEED]]]    SETS of each kind and utilisation, default 20;
 *                                             SECONDS for each answer, default 10
 *
 * A set has 3 to 8 tasks of one tile on a block of their own; their memory phases together ask for
 * the utilisation given (UUniFast: Bini and Buttazzo 2005, Measuring the performance of
 * schedulability tests), three fifths to fetch, two fifths to write back; a compute takes up to a
 * third of what is left of the period. Deadlines are the periods' ends.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "schedules/planner/proof/exact.h"
#include "ttprem/ttprem.h"

enum { MAX_TASKS = 8, SEARCH_STEPS = 20000, TEXT_BYTES = 8192, SMALL_PHASES = 60 };

typedef struct periodic_set {
  int32_t tasks;
  int64_t period_ns[MAX_TASKS], phase_ns[MAX_TASKS][PREM_PHASE_COUNT];
} periodic_set;

/** Of the sets of one kind and utilisation. */
typedef struct counts {
  int sets, constructive, search, planner;
  int exact_feasible, exact_infeasible; /* the rest: no answer in time */
  int missed;                           /* the exact engine has a plan, the planner has none */
  int slack_known;
  double search_pct, planner_pct; /* slack missing: sums, in percent of the shortest period */
} counts;

static uint64_t state;

static double draw_unit(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(state >> 11) * 0x1p-53;
}

static int64_t draw(int64_t below) {
  return (int64_t)(draw_unit() * (double)below);
}

static int64_t at_least_one(double ns) {
  return ns < 1 ? 1 : (int64_t)ns;
}

static periodic_set draw_set(double utilisation, bool harmonic) {
  static const int64_t periods[2][6] = {{10000, 15000, 20000, 30000, 12000, 60000},
                                        {10000, 20000, 40000, 40000, 80000, 80000}};
  periodic_set set = {.tasks = 3 + (int32_t)draw(MAX_TASKS - 2)};
  double left = utilisation;
  for (int32_t t = 0; t < set.tasks; ++t) {
    int32_t behind = set.tasks - t - 1;
    double rest = behind ? left * pow(draw_unit(), 1.0 / behind) : 0;
    double share = left - rest;
    left = rest;
    int64_t period_ns = set.period_ns[t] = periods[harmonic][draw(6)];
    double memory_ns = share * (double)period_ns;
    set.phase_ns[t][PREM_PREFETCH] = at_least_one(memory_ns * 0.6);
    set.phase_ns[t][PREM_WRITEBACK] = at_least_one(memory_ns * 0.4);
    set.phase_ns[t][PREM_COMPUTE] = at_least_one(draw_unit() * ((double)period_ns - memory_ns) / 3);
  }
  return set;
}

static void print_set(FILE *file, const periodic_set *set, int64_t slack_ns) {
  fprintf(file,
          "version = 1; name = \"periodic\"; platform: { blocks = %" PRId32 "; };\ntasks = (\n",
          set->tasks);
  for (int32_t t = 0; t < set->tasks; ++t)
    fprintf(file,
            "{ name = \"t%" PRId32 "\"; kernel = \"none\"; blocks = [ %" PRId32 " ]; tiles = 1;"
            " period_ns = %" PRId64 "L; deadline_ns = %" PRId64 "L; prefetch: { wcet_ns = %" PRId64
            "L; }; compute: { wcet_ns = %" PRId64 "L; }; writeback: { wcet_ns = %" PRId64
            "L; }; }%s\n",
            t, t, set->period_ns[t], set->period_ns[t] - slack_ns, set->phase_ns[t][PREM_PREFETCH],
            set->phase_ns[t][PREM_COMPUTE], set->phase_ns[t][PREM_WRITEBACK],
            t + 1 < set->tasks ? "," : "");
  fputs(");\n", file);
}

static prem_schedule *load(const periodic_set *set, int64_t slack_ns) {
  char path[] = "/tmp/ttprem-bench-XXXXXX.cfg";
  int descriptor = mkstemps(path, 4);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (!file) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  print_set(file, set, slack_ns);
  fclose(file);
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load(path, NULL, &schedule, NULL);
  unlink(path);
  if (status != PREM_OK) {
    fprintf(stderr, "%s: %s\n", path, prem_status_text(status));
    exit(EXIT_FAILURE);
  }
  return schedule;
}

static bool judge(prem_schedule *schedule, prem_plan *plan) {
  prem_schedule_set_plan(schedule, plan);
  if (prem_check(schedule, NULL, NULL) == PREM_OK)
    return true;
  fprintf(stderr, "the checker refuses a plan\n");
  exit(EXIT_FAILURE);
}

static bool plan(prem_schedule *schedule, double seconds, int64_t steps, uint64_t seed,
                 int64_t *slack_ns) {
  prem_plan_options options = {
      .time_limit_ns = (int64_t)(seconds * 1e9), .step_limit = steps, .seed = seed};
  prem_plan_report report;
  prem_plan *made = NULL;
  prem_plan_make_reported(schedule, NULL, &options, &made, &report, NULL);
  if (slack_ns)
    *slack_ns = report.min_slack_ns;
  return made && judge(schedule, made);
}

static prem_plan_verdict ask(prem_schedule *schedule, double seconds) {
  prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  prem_exact_verdict verdict;
  prem_plan *made = prem_plan_new();
  prem_status status = prem_plan_exact(&planning, (int64_t)(seconds * 1e9), NULL, made, &verdict);
  if (status != PREM_OK || verdict.verdict != PREM_PLAN_FEASIBLE) {
    prem_plan_free(made);
    return status == PREM_OK ? verdict.verdict : PREM_PLAN_UNKNOWN;
  }
  made->clock_step_ns = planning.grid_ns;
  judge(schedule, made);
  return PREM_PLAN_FEASIBLE;
}

/* The largest smallest slack lies in [*low, *high): the latter the exact engine has excluded.
 * False: it did not answer. */
static bool find_slack(const periodic_set *set, double seconds, int64_t *low, int64_t *high) {
  while (*high - *low > 1) {
    int64_t middle = *low + (*high - *low) / 2;
    prem_schedule *schedule = load(set, middle);
    prem_plan_verdict verdict = ask(schedule, seconds);
    prem_schedule_free(schedule);
    if (verdict == PREM_PLAN_UNKNOWN)
      return false;
    *(verdict == PREM_PLAN_FEASIBLE ? low : high) = middle;
  }
  return true;
}

static void compare_slack(const periodic_set *set, double seconds, int64_t search_ns,
                          int64_t planner_ns, counts *c) {
  int64_t high = INT64_MAX, shortest_ns = INT64_MAX;
  for (int32_t t = 0; t < set->tasks; ++t) {
    int64_t min_ns = set->phase_ns[t][0] + set->phase_ns[t][1] + set->phase_ns[t][2];
    if (set->period_ns[t] - min_ns < high)
      high = set->period_ns[t] - min_ns;
    if (set->period_ns[t] < shortest_ns)
      shortest_ns = set->period_ns[t];
  }
  int64_t low = search_ns > planner_ns ? search_ns : planner_ns;
  ++high;
  if (!find_slack(set, seconds, &low, &high))
    return;
  ++c->slack_known;
  c->search_pct += 100.0 * (double)(low - search_ns) / (double)shortest_ns;
  c->planner_pct += 100.0 * (double)(low - planner_ns) / (double)shortest_ns;
}

static int64_t count_phases(const prem_schedule *schedule) {
  int64_t count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    count += PREM_PHASE_COUNT * prem_task_jobs(schedule, &schedule->tasks[t]);
  return count;
}

static void bench_set(const periodic_set *set, double seconds, uint64_t seed, counts *c) {
  prem_schedule *schedule = load(set, 0);
  int64_t search_ns = 0, planner_ns = 0;
  ++c->sets;
  c->constructive += plan(schedule, 0, 0, seed, NULL);
  prem_schedule_set_plan(schedule, NULL);
  bool searched = plan(schedule, 1000, SEARCH_STEPS, seed, &search_ns);
  c->search += searched;
  prem_schedule_set_plan(schedule, NULL);
  bool planned = plan(schedule, seconds, 0, seed, &planner_ns);
  c->planner += planned;
  prem_schedule_set_plan(schedule, NULL);
  prem_plan_verdict verdict = ask(schedule, seconds);
  c->exact_feasible += verdict == PREM_PLAN_FEASIBLE;
  c->exact_infeasible += verdict == PREM_PLAN_INFEASIBLE;
  c->missed += verdict == PREM_PLAN_FEASIBLE && !planned;
  if (planned && verdict == PREM_PLAN_INFEASIBLE) {
    fprintf(stderr, "a plan for a set that the exact engine holds for infeasible\n");
    exit(EXIT_FAILURE);
  }
  if (searched && planned && prem_exact_engine() && count_phases(schedule) <= SMALL_PHASES)
    compare_slack(set, seconds, search_ns, planner_ns, c);
  prem_schedule_free(schedule);
}

static int percent(int of, int all) {
  return all ? 100 * of / all : 0;
}

static void bench(double utilisation, bool harmonic, int sets, double seconds, uint64_t seed) {
  counts c = {0};
  for (int i = 0; i < sets; ++i) {
    state = (seed * 1000 + (uint64_t)i) * 2 + harmonic + 1000000 * (uint64_t)(utilisation * 100);
    draw_unit();
    const periodic_set set = draw_set(utilisation, harmonic);
    bench_set(&set, seconds, seed, &c);
  }
  printf("%-13s  %.2f  %5d  %6d %%  %6d %%  %6d %%  %6d  %8d  %8d  %6d",
         harmonic ? "harmonic" : "not harmonic", utilisation, c.sets,
         percent(c.constructive, c.sets), percent(c.search, c.sets), percent(c.planner, c.sets),
         c.exact_feasible, c.exact_infeasible, c.sets - c.exact_feasible - c.exact_infeasible,
         c.missed);
  if (c.slack_known)
    printf("  %5d  %6.2f %%  %6.2f %%", c.slack_known, c.search_pct / c.slack_known,
           c.planner_pct / c.slack_known);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const double utilisations[] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98};
  int sets = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 20;
  double seconds = argc > 2 ? atof(argv[2]) : 10;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  printf("%d sets each, %g s an answer, search of %d steps, seed %" PRIu64 ", exact engine %s\n\n",
         sets, seconds, SEARCH_STEPS, seed, prem_exact_engine() ? prem_exact_engine() : "none");
  printf("                            feasible by                  exact engine"
         "                        slack missing\n"
         "kind           util   sets   constr.    search   planner   feas.   infeas.   unknown"
         "  missed  known    search   planner\n");
  for (int harmonic = 1; harmonic >= 0; --harmonic)
    for (size_t i = 0; i < sizeof utilisations / sizeof utilisations[0]; ++i)
      bench(utilisations[i], harmonic, sets, seconds, seed);
  return EXIT_SUCCESS;
}
