/* SPDX-License-Identifier: Apache-2.0 */
/* Random task graphs, made ready as a user does it: in the simulator their times are those of the
 * plan, on the CPU their outputs are right; and the judge of times finds what is wrong. */
/* ctest: threads timing */
#include "tests/common/graph_times.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static graph_setting setting_on(const char *backend, graph_bounds bounds) {
  graph_setting setting = {.backend = prem_backend_find(backend),
                           .bounds = bounds,
                           .discard = 1,
                           .seed = 1,
                           .seconds = 60};
  ck_assert_int_eq(prem_backend_probe(setting.backend, &setting.machine, NULL), PREM_OK);
  return setting;
}

GROUP("runs");

TESTS(the_simulator_keeps_the_plan, only_threads() ? 0 : 1) {
  graph_setting setting = setting_on(
      "sim",
      (graph_bounds){.sms = 132, .blocks = 132, .max_elements = 1 << 15, .period_ns = 1024000});
  setting.graphs = ROUNDS(60);
  setting.runs = 1;
  graph_totals totals = graphs_run(&setting);
  graphs_print(&setting, &totals);
  ck_assert(graphs_judge(&totals, &graph_limits_exact));
  ck_assert_int_eq(totals.graphs, setting.graphs);
  ck_assert_int_gt(totals.periodic, 0);
  ck_assert_int_gt(totals.releases, 0);
  ck_assert_int_eq(totals.job_late_max_ns, 0);
  const graph_ratios *to_plan = &totals.ratios[GRAPH_RATIO_TT_PLAN];
  ck_assert_int_eq(to_plan->count, totals.graphs - totals.periodic);
  for (int32_t i = 0; i < to_plan->count; ++i)
    ck_assert_double_eq(to_plan->list[i], 1);
  graph_totals_free(&totals);
}

/* Its times are the operating system's: what it measures on a busy machine may leave no plan. */
TEST(the_cpu_makes_right_outputs) {
  enum { TURNS = 8 };
  graph_setting setting = setting_on(
      "cpu", (graph_bounds){
                 .blocks = 4, .max_elements = 4096, .period_ns = 20000000, .reads_whole = true});
  setting.graphs = 4;
  setting.profiled = setting.runs = 2;
  int64_t graphs = 0;
  for (int turn = 0; turn < TURNS && graphs < setting.graphs / 2; ++turn) {
    setting.seed = 5 + (uint64_t)turn;
    graph_totals totals = graphs_run(&setting);
    graphs_print(&setting, &totals);
    ck_assert_int_eq(totals.failed, 0);
    graphs += totals.graphs;
    graph_totals_free(&totals);
  }
  ck_assert_int_ge(graphs, setting.graphs / 2);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static const graph_bounds drawn = {
    .sms = 132, .blocks = 132, .max_elements = 1 << 17, .period_ns = 204800};

GROUP("draws");

TEST(every_kernel_is_drawn) {
  bool seen[GRAPH_KERNELS] = {false};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const random_graph graph = random_graph_draw(seed, drawn);
    for (int32_t t = 0; t < graph.task_count; ++t)
      seen[graph.tasks[t].kernel - graph_kernels] = true;
  }
  for (int32_t k = 0; k < GRAPH_KERNELS; ++k)
    ck_assert_msg(seen[k] && prem_registry_find(prem_registry_builtin(), graph_kernels[k].name),
                  "%s", graph_kernels[k].name);
}

TEST(graphs_are_of_all_kinds) {
  int levels[GRAPH_LEVELS + 1] = {0}, relations[3] = {0}, buffers[4] = {0};
  int forks = 0, joins = 0, shared = 0, all_blocks = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const random_graph graph = random_graph_draw(seed, drawn);
    int followers[GRAPH_TASKS] = {0};
    ++levels[graph.level_count];
    ++buffers[graph.buffers];
    for (int32_t t = 0; t < graph.task_count; ++t) {
      const graph_task *task = &graph.tasks[t];
      int follows = 0;
      for (int32_t before = 0; before < t; ++before) {
        const graph_task *other = &graph.tasks[before];
        follows += task->follows[before];
        followers[before] += task->follows[before];
        shared += task->first_block < other->first_block + other->block_count &&
                  other->first_block < task->first_block + task->block_count;
      }
      ck_assert(follows > 0 || task->level == 0);
      joins += follows > 1;
      all_blocks += task->block_count == 132;
      ++relations[(task->tiles >= task->block_count) + (task->tiles > task->block_count)];
    }
    for (int32_t t = 0; t < graph.task_count; ++t)
      forks += followers[t] > 1;
  }
  for (int level = 1; level <= GRAPH_LEVELS; ++level)
    ck_assert_int_gt(levels[level], 10);
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_gt(relations[i], 50);
    ck_assert_int_gt(buffers[i + 1], 20);
  }
  ck_assert_int_gt(forks, 50);
  ck_assert_int_gt(joins, 50);
  ck_assert_int_gt(shared, 50);
  ck_assert_int_gt(all_blocks, 50);
}

/* ---- the judge ------------------------------------------------------------------------------- */

static graph_totals good_totals(void) {
  return (graph_totals){.graphs = 1, .phases = 1000000, .releases = 1000000, .jobs = 10000};
}

GROUP("judge");

TEST(the_judge_finds_what_is_wrong) {
  const graph_limits *limits = &graph_limits_measured;
  graph_totals totals = good_totals();
  ck_assert(graphs_judge(&totals, limits));
  ck_assert(graphs_judge(&totals, &graph_limits_exact));
  totals.overruns = 10;
  ck_assert(graphs_judge(&totals, limits));
  ck_assert(!graphs_judge(&totals, &graph_limits_exact));
  totals.overruns = 11;
  ck_assert(!graphs_judge(&totals, limits));

  totals = good_totals();
  totals.late = totals.by_cause[PREM_CAUSE_JOB] = 100;
  ck_assert(graphs_judge(&totals, limits));
  totals.late = totals.by_cause[PREM_CAUSE_JOB] = 101;
  ck_assert(!graphs_judge(&totals, limits));

  totals = good_totals();
  totals.late = totals.by_cause[PREM_CAUSE_EXECUTOR] = 11;
  ck_assert(!graphs_judge(&totals, limits));
  totals.by_cause[PREM_CAUSE_EXECUTOR] = 0; /* nor any other: one that is not known */
  ck_assert(!graphs_judge(&totals, limits));

  totals = good_totals();
  totals.jobs_late = 11;
  ck_assert(!graphs_judge(&totals, limits));

  totals = good_totals();
  totals.failed = 1;
  ck_assert(!graphs_judge(&totals, limits));
}

/* Windows shorter than what the phases take: what a plan for another machine would be. */
TEST(a_plan_too_short_is_seen) {
  graph_totals totals = {.lateness_max_ns = INT64_MIN, .job_late_max_ns = INT64_MIN};
  graph_setting setting =
      setting_on("cpu", (graph_bounds){.blocks = 4, .max_elements = 4096, .period_ns = 20000000});
  setting.runs = 2;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    ck_assert(graph_from_seed(&setting, seed, "/tmp", &totals));
  ck_assert_int_eq(totals.failed, 0);
  ck_assert_int_gt(totals.overruns, 0);
  ck_assert_int_gt(totals.late, 0);
  ck_assert_int_gt(totals.jobs_late, 0);
  ck_assert(!graphs_judge(&totals, &graph_limits_measured));
  graph_totals_free(&totals);
}
