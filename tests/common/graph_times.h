/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: random task graphs made ready as a user does it - profiled, planned, checked -, run,
 * and judged by their times: windows kept, late releases and their causes, jobs that end by the
 * plan; what they take beside the same tasks as one CUDA graph.
 *
 * No test framework: the GPU's suite runs where there is none.
 */
#pragma once

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/owned.h"
#include "tests/common/random_graph.h"
#include "ttprem/ttprem_measure.h"

/** Shares of what was counted that may be wrong. */
typedef struct graph_limits {
  double overruns; /* of the phases: ended after their planned window */
  double late;     /* of the releases: above the file's late_ns */
  double unnamed;  /* of the releases: late, and nothing that they waited for */
  double jobs;     /* of the jobs: ended late_ns and more after the end that is planned */
} graph_limits;

/* The simulator takes what the profile says, to the nanosecond. */
static const graph_limits graph_limits_exact = {0, 0, 0, 0};

/* A window is the longest of some thousand times seen and a fifth more: one in 10^5 phases may
 * still take longer. Whoever waits for such a phase is late with it, and a link waits for all
 * blocks: ten late releases for an overrun, in the mean. Late without having waited is the
 * executor's fault, and may be no more frequent than a window that is not kept. A job ends late
 * with its last phases: a run has a thousand phases, and some jobs. */
static const graph_limits graph_limits_measured = {1e-5, 1e-4, 1e-5, 1e-3};

typedef struct graph_setting {
  const prem_backend *backend;
  prem_machine machine;
  graph_bounds bounds;
  prem_scenario scenario;
  int64_t profiled;    /* runs, or hyperperiods when resident; 0: times are made up */
  int32_t turns;       /* so often, at most, profiled again, by the plan, and planned again: the
                          first time windows may shrink; until no time gets longer */
  int64_t runs;        /* the same */
  int64_t discard;     /* at each start */
  int32_t graph_every; /* every so many seeds a one-shot one runs as a CUDA graph as well; 0: none
                          does */
  int32_t graphs;
  uint64_t seed;
  double seconds;   /* no further graph is begun after so long */
  const char *keep; /* a folder for late graphs with their profiles, to be looked at; NULL: none */
} graph_setting;

enum {
  GRAPH_RATIO_TT_PLAN,    /* longest makespan to the planned one */
  GRAPH_RATIO_PLAN_GRAPH, /* planned makespan to the CUDA graph's mean */
  GRAPH_RATIO_FREE_GRAPH, /* means */
  GRAPH_RATIO_TT_GRAPH,
  GRAPH_RATIO_COUNT
};

typedef struct graph_ratios {
  double *list; /* [count] */
  int32_t count;
} graph_ratios;

typedef struct graph_totals {
  int32_t graphs, tasks, periodic, without_plan, failed;
  int32_t disturbed; /* profiles during which something else had the machine: made again */
  int32_t turns;     /* by their plans, of all graphs */
  int32_t moving;    /* graphs of which the last turn still made times longer */
  int64_t runs, phases, overruns, overrun_max_ns;
  int64_t releases, late, lateness_max_ns, by_cause[PREM_CAUSE_COUNT];
  int64_t jobs, jobs_late, job_late_max_ns;
  graph_ratios ratios[GRAPH_RATIO_COUNT];
  double seconds;
} graph_totals;

static inline void graph_totals_free(graph_totals *totals) {
  for (int i = 0; i < GRAPH_RATIO_COUNT; ++i)
    free(totals->ratios[i].list);
}

static inline double graph_clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum {
  GRAPH_RECORDS = 4 << 20, /* of a launch, at most */
  GRAPH_DEEPER = 20, /* a plan runs so often, where the tasks alone run once: it is one of all */
  GRAPH_TRIES = 3    /* so often is a profile made that something else disturbs */
};

/* ---- one graph ------------------------------------------------------------------------------- */

/** A graph on its way from a seed to its rows. */
typedef struct graph_case {
  const graph_setting *setting;
  graph_totals *totals;
  random_graph graph;
  char profile[96]; /* its file */
  char *text;
  prem_diag *diag;
  prem_schedule *schedule;
  int32_t turn;   /* so often it was profiled by its plan */
  int32_t raised; /* so many of its times the last of these made longer */
} graph_case;

static inline void graph_fail(graph_case *at, const char *what) {
  ++at->totals->failed;
  printf("FAILED: graph %" PRIu64 " on %s: %s\n", at->graph.seed,
         prem_backend_name(at->setting->backend), what);
  for (size_t i = 0; i < prem_diag_count(at->diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(at->diag, i), line, sizeof line);
    printf("  %s\n", line);
  }
  printf("%s", at->text ? at->text : "");
  fflush(stdout);
}

static inline prem_status graph_load(graph_case *at) {
  prem_schedule_free(at->schedule);
  at->schedule = NULL;
  const prem_status status =
      prem_schedule_load_text("graph.cfg", at->text, &at->schedule, at->diag);
  return status == PREM_OK ? prem_schedule_bind(at->schedule, prem_registry_builtin(), at->diag)
                           : status;
}

static inline prem_status graph_write_text(graph_case *at) {
  size_t bytes = 0;
  FILE *file = open_memstream(&at->text, &bytes);
  if (!file)
    return PREM_ERR_MEMORY;
  random_graph_print(file, &at->graph, at->profile);
  return fclose(file) == 0 ? PREM_OK : PREM_ERR_MEMORY;
}

/** The simulator has nothing to measure. */
static inline prem_status graph_make_up_profile(graph_case *at) {
  FILE *file = fopen(at->profile, "w");
  if (!file)
    return PREM_ERR_IO;
  fputs("version = 1; tasks = (\n", file);
  for (int32_t t = 0; t < at->graph.task_count; ++t) {
    const bool moves = at->graph.tasks[t].kernel->kind != GRAPH_NOTHING &&
                       at->graph.tasks[t].kernel->kind != GRAPH_WALK;
    fprintf(file, "  %s{ name = \"t%" PRId32 "\"; ", t ? "," : "", t);
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      if (moves || phase == PREM_COMPUTE)
        fprintf(file, "%s: { wcet_ns = %" PRId64 "L; }; ", prem_phase_name((prem_phase)phase),
                graph_draw(&at->graph, 500, 5000));
    fputs("}\n", file);
  }
  fputs(");\n", file);
  return fclose(file) == 0 ? PREM_OK : PREM_ERR_IO;
}

/** Of the order of the tiles alone, for which any times do. */
static inline prem_status graph_plan_any_order(graph_case *at) {
  prem_plan *plan = NULL;
  for (int32_t t = 0; t < at->schedule->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      if (at->schedule->tasks[t].phase[phase].exists)
        at->schedule->tasks[t].phase[phase].wcet_ns = at->schedule->tasks[t].phase[phase].busy_ns =
            1;
  const prem_status status =
      prem_plan_make(at->schedule, &at->setting->machine, NULL, &plan, at->diag);
  prem_schedule_set_plan(at->schedule, plan);
  return status;
}

/** As `ttprem profile --margin 20 --times company`; with a plan `--times planned --anew`, which
 * makes windows as short as the plan allows; then with `--raise`. Again where it was disturbed. */
static inline prem_status graph_measure_profile(graph_case *at) {
  const bool planned = at->schedule->plan != NULL,
             resident = at->setting->scenario == PREM_RESIDENT;
  const prem_profile_options options = {.sampling.scenario = at->setting->scenario,
                                        .sampling.samples =
                                            (planned ? GRAPH_DEEPER : 1) * at->setting->profiled,
                                        .sampling.rounds = 4,
                                        .sampling.discard = at->setting->discard,
                                        .sampling.seed = at->graph.seed,
                                        .sampling.max_records = GRAPH_RECORDS,
                                        .times = planned ? PREM_PLANNED : PREM_CORUNNING,
                                        .steady = resident,
                                        .anew = at->turn == 1,
                                        .raise = at->turn > 1,
                                        .margin_pct = 20};
  prem_profile *profile = NULL;
  prem_status status = planned ? PREM_OK : graph_plan_any_order(at);
  for (int32_t i = 0; i < GRAPH_TRIES && status == PREM_OK && !(profile && profile->valid); ++i) {
    prem_profile_free(profile);
    profile = NULL;
    status = prem_profile_measure(at->schedule, at->setting->backend, &at->setting->machine,
                                  &options, &profile, at->diag);
    if (status == PREM_OK && !profile->output_ok)
      status = PREM_ERR_WRONG;
    at->totals->disturbed += profile && !profile->valid;
  }
  if (status == PREM_OK)
    status = prem_profile_write(profile, at->profile, at->diag);
  at->raised = profile ? profile->raised : 0;
  prem_profile_free(profile);
  return status;
}

/** Profile, load with the times, plan, check. */
static inline prem_status graph_plan_measured(graph_case *at) {
  const prem_machine *machine = &at->setting->machine;
  prem_plan *plan = NULL;
  prem_status status =
      at->setting->profiled ? graph_measure_profile(at) : graph_make_up_profile(at);
  if (status == PREM_OK)
    status = graph_load(at);
  if (status == PREM_OK)
    status = prem_plan_make(at->schedule, machine, NULL, &plan, at->diag);
  if (status == PREM_OK) {
    prem_schedule_set_plan(at->schedule, plan);
    status = prem_check(at->schedule, machine, at->diag);
  }
  return status;
}

/** Load and plan; then from the times of that plan, again and again until they make no time longer,
 * as often as the setting says at most: a plan that is used was measured itself. */
static inline prem_status graph_make_ready(graph_case *at) {
  prem_status status = graph_write_text(at);
  if (status == PREM_OK)
    status = graph_load(at);
  bool is_kept = false;
  for (at->turn = 0; at->turn <= at->setting->turns && status == PREM_OK && !is_kept; ++at->turn) {
    status = graph_plan_measured(at);
    is_kept = at->turn > 1 && at->raised == 0;
  }
  at->totals->turns += at->turn > 0 ? at->turn - 1 : 0;
  at->totals->moving += at->setting->turns > 0 && !is_kept;
  return status;
}

/* ---- folding what was measured --------------------------------------------------------------- */

static inline bool graph_ratio_add(graph_totals *totals, int which, double ratio) {
  graph_ratios *ratios = &totals->ratios[which];
  double *grown = realloc(ratios->list, (size_t)(ratios->count + 1) * sizeof *grown);
  if (!grown)
    return false;
  ratios->list = grown;
  ratios->list[ratios->count++] = ratio;
  return true;
}

/** When each job ends by the plan, from its release; jobs as in a trace. NULL: no memory. */
static inline int64_t *graph_planned_ns(graph_case *at, int64_t job_count) {
  const prem_schedule *schedule = at->schedule;
  int64_t *ends_ns = calloc((size_t)job_count + 1, sizeof *ends_ns);
  int64_t *first_job = calloc((size_t)schedule->task_count + 1, sizeof *first_job);
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  if (!ends_ns || !first_job ||
      prem_plan_expand(schedule, schedule->plan, &slots, &count, at->diag) != PREM_OK) {
    free(ends_ns);
    free(first_job);
    return NULL;
  }
  for (int32_t t = 0; t < schedule->task_count; ++t)
    first_job[t + 1] = first_job[t] + prem_task_jobs(schedule, &schedule->tasks[t]);
  for (int64_t i = 0; i < count; ++i) {
    const prem_task *task = &schedule->tasks[slots[i].task];
    const int64_t release_ns = slots[i].job * task->period_ns + task->release_ns;
    int64_t *end_ns = &ends_ns[first_job[slots[i].task] + slots[i].job];
    if (slots[i].planned_ns + slots[i].length_ns - release_ns > *end_ns)
      *end_ns = slots[i].planned_ns + slots[i].length_ns - release_ns;
  }
  free(first_job);
  return ends_ns;
}

static inline void graph_fold_jobs(graph_case *at, const prem_row *row, const int64_t *planned_ns) {
  graph_totals *totals = at->totals;
  for (int64_t i = 0; i < row->all_samples * row->job_count; ++i) {
    if (row->away_samples_ns[i] > 0)
      continue;
    const int64_t late_ns = row->response_samples_ns[i] - planned_ns[i % row->job_count];
    ++totals->jobs;
    totals->jobs_late += late_ns > at->schedule->platform.late_ns;
    if (late_ns > totals->job_late_max_ns)
      totals->job_late_max_ns = late_ns;
  }
}

static inline void graph_fold_phases(graph_totals *totals, const prem_row *row) {
  totals->overruns += row->overruns;
  totals->releases += row->releases;
  totals->late += row->late_releases;
  if (row->lateness_max_ns > totals->lateness_max_ns)
    totals->lateness_max_ns = row->lateness_max_ns;
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      const prem_phase_counts *counts = &row->tasks[t].phase[phase];
      totals->phases += counts->count;
      if (counts->overrun_max_ns > totals->overrun_max_ns)
        totals->overrun_max_ns = counts->overrun_max_ns;
      for (int cause = 0; row->late && cause < PREM_CAUSE_COUNT; ++cause)
        totals->by_cause[cause] += row->late[t * PREM_PHASE_COUNT + phase].count[cause];
    }
}

static inline const prem_row *graph_row(const prem_result *result, prem_mode mode) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].mode == mode)
      return &result->rows[i];
  return NULL;
}

/** Of one-shot graphs: how long periodic ones take the periods decide. */
static inline bool graph_fold_ratios(graph_case *at, const prem_result *result,
                                     const int64_t *planned_ns) {
  const prem_row *tt = graph_row(result, PREM_MODE_TT), *tiles = graph_row(result, PREM_MODE_FREE);
  const prem_row *baseline = graph_row(result, PREM_MODE_GRAPH);
  double all_planned_ns = 0;
  if (at->graph.is_periodic)
    return true;
  for (int64_t job = 0; job < tt->job_count; ++job)
    all_planned_ns = fmax(all_planned_ns, (double)planned_ns[job]);
  bool added = graph_ratio_add(at->totals, GRAPH_RATIO_TT_PLAN,
                               (double)tt->makespan_ns.max / all_planned_ns);
  if (!baseline)
    return added;
  const double ns = baseline->makespan_ns.mean;
  added = added && graph_ratio_add(at->totals, GRAPH_RATIO_PLAN_GRAPH, all_planned_ns / ns);
  added =
      added && graph_ratio_add(at->totals, GRAPH_RATIO_FREE_GRAPH, tiles->makespan_ns.mean / ns);
  return added && graph_ratio_add(at->totals, GRAPH_RATIO_TT_GRAPH, tt->makespan_ns.mean / ns);
}

static inline void graph_fold(graph_case *at, const prem_result *result) {
  const prem_row *tt = graph_row(result, PREM_MODE_TT);
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    char what[128];
    at->totals->runs += row->samples;
    snprintf(what, sizeof what, "mode %s: wrong output", prem_mode_name(row->mode));
    if (!row->output_ok)
      graph_fail(at, what);
    snprintf(what, sizeof what, "mode %s: %" PRId64 " raw records lost", prem_mode_name(row->mode),
             row->trace_lost);
    if (row->trace_lost > 0)
      graph_fail(at, what);
  }
  graph_fold_phases(at->totals, tt);
  FREED int64_t *planned_ns = graph_planned_ns(at, tt->job_count);
  if (planned_ns)
    graph_fold_jobs(at, tt, planned_ns);
  if (!planned_ns || !graph_fold_ratios(at, result, planned_ns))
    graph_fail(at, "out of memory");
}

/** All modes by turns, every run verified. */
static inline prem_status graph_run(graph_case *at) {
  const graph_setting *setting = at->setting;
  prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_GRAPH},
                                  .mode_count = 2,
                                  .sampling.scenario = setting->scenario,
                                  .sampling.samples = setting->runs,
                                  .sampling.discard = setting->discard,
                                  .sampling.seed = at->graph.seed,
                                  .sampling.max_records = INT32_MAX};
  if (setting->graph_every > 0 && !at->graph.is_periodic &&
      at->graph.seed % (uint64_t)setting->graph_every == 0)
    options.mode_count = 3;
  OWNED(prem_session) *session = NULL;
  OWNED(prem_result) *result = NULL;
  prem_status status = prem_session_open(setting->backend, at->schedule, &session, at->diag);
  if (status == PREM_OK)
    status = prem_compare(session, at->schedule, setting->backend, &options, &result, at->diag);
  if (status == PREM_OK)
    graph_fold(at, result);
  return status;
}

/** A line about a graph that was late or did not keep its windows: what it added to the totals. */
static inline void graph_tell(const graph_case *at, const graph_totals *before) {
  const graph_totals *now = at->totals;
  printf("graph %" PRIu64 ": %" PRId64 " of %" PRId64 " releases late, %" PRId64
         " windows not kept; %" PRId32 " turns, the last made %" PRId32 " times longer;",
         at->graph.seed, now->late - before->late, now->releases - before->releases,
         now->overruns - before->overruns, at->turn - 1, at->raised);
  for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
    if (now->by_cause[cause] > before->by_cause[cause])
      printf(" %s %" PRId64, prem_cause_name((prem_cause)cause),
             now->by_cause[cause] - before->by_cause[cause]);
  putchar('\n');
  fflush(stdout);
}

/** Its schedule, beside its profile, which has its place there already. */
static inline void graph_keep(const graph_case *at) {
  char name[96];
  snprintf(name, sizeof name, "%s/graph_%" PRIu64 ".cfg", at->setting->keep, at->graph.seed);
  FILE *file = fopen(name, "w");
  if (!file || fputs(at->text, file) < 0 || fclose(file) != 0)
    printf("FAILED: %s cannot be written\n", name);
}

static inline void graph_place_profile(graph_case *at, const char *folder) {
  if (at->setting->keep)
    snprintf(at->profile, sizeof at->profile, "%s/graph_%" PRIu64 ".profile.cfg", at->setting->keep,
             at->graph.seed);
  else
    snprintf(at->profile, sizeof at->profile, "%s/profile.cfg", folder);
}

/** False: the machine is lost for the graphs that follow. */
static inline bool graph_from_seed(const graph_setting *setting, uint64_t seed, const char *folder,
                                   graph_totals *totals) {
  graph_case at = {.setting = setting,
                   .totals = totals,
                   .graph = random_graph_draw(seed, setting->bounds),
                   .diag = prem_diag_new()};
  const graph_totals before = *totals;
  graph_place_profile(&at, folder);
  prem_status status = graph_make_ready(&at);
  if (status == PREM_ERR_INFEASIBLE) {
    ++totals->without_plan;
  } else {
    if (status == PREM_OK)
      status = graph_run(&at);
    ++totals->graphs;
    totals->tasks += at.graph.task_count;
    totals->periodic += at.graph.is_periodic;
    if (status != PREM_OK)
      graph_fail(&at, prem_status_text(status));
  }
  const bool stands_out = totals->late > before.late || totals->overruns > before.overruns;
  if (stands_out)
    graph_tell(&at, &before);
  if (stands_out && setting->keep)
    graph_keep(&at);
  else
    unlink(at.profile);
  prem_schedule_free(at.schedule);
  prem_diag_free(at.diag);
  free(at.text);
  return status >= 0;
}

/** The graphs of the setting's seed and of those that follow, one after the other; a set without a
 *  plan is passed over, at most one for each graph. Free with graph_totals_free(). */
static inline graph_totals graphs_run(const graph_setting *setting) {
  graph_totals totals = {.lateness_max_ns = INT64_MIN, .job_late_max_ns = INT64_MIN};
  char folder[] = "/tmp/ttprem-graphs-XXXXXX";
  if (!mkdtemp(folder)) {
    totals.failed = 1;
    return totals;
  }
  const double began_s = graph_clock_s();
  uint64_t seed = setting->seed;
  bool usable = true;
  while (usable && totals.graphs < setting->graphs && totals.without_plan <= setting->graphs &&
         graph_clock_s() - began_s < setting->seconds)
    usable = graph_from_seed(setting, seed++, folder, &totals);
  totals.seconds = graph_clock_s() - began_s;
  rmdir(folder);
  return totals;
}

/* ---- judging --------------------------------------------------------------------------------- */

static inline double graph_share(int64_t count, int64_t all) {
  return all > 0 ? (double)count / (double)all : 0;
}

/** Late ones of which nothing is known but that they were. */
static inline int64_t graph_unnamed(const graph_totals *totals) {
  int64_t named = 0;
  for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
    if (cause != PREM_CAUSE_EXECUTOR)
      named += totals->by_cause[cause];
  return totals->late - named;
}

static inline bool graph_within(const char *what, int64_t count, int64_t all, double limit) {
  const double share = graph_share(count, all);
  if (share > limit)
    printf("FAILED: %s: %" PRId64 " of %" PRId64 ", %.2g; at most %.2g\n", what, count, all, share,
           limit);
  return share <= limit;
}

static inline bool graphs_judge(const graph_totals *totals, const graph_limits *limits) {
  bool good = totals->failed == 0;
  good &= graph_within("windows not kept", totals->overruns, totals->phases, limits->overruns);
  good &= graph_within("late releases", totals->late, totals->releases, limits->late);
  good &= graph_within("late releases that waited for nothing", graph_unnamed(totals),
                       totals->releases, limits->unnamed);
  good &=
      graph_within("jobs that ended after the plan", totals->jobs_late, totals->jobs, limits->jobs);
  return good;
}

static inline int graph_compare_doubles(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static inline void graph_print_ratios(graph_ratios *ratios, const char *name) {
  if (ratios->count == 0)
    return;
  qsort(ratios->list, (size_t)ratios->count, sizeof *ratios->list, graph_compare_doubles);
  printf("  %-13s %6" PRId32 " %7.3f %7.3f %7.3f %7.3f\n", name, ratios->count, ratios->list[0],
         ratios->list[ratios->count / 2], ratios->list[ratios->count * 9 / 10],
         ratios->list[ratios->count - 1]);
}

/** Whatever the verdict: all that was counted. */
static inline void graphs_print(const graph_setting *setting, graph_totals *totals) {
  static const char *const names[] = {"tt / plan", "plan / graph", "free / graph", "tt / graph"};
  printf("%s: %" PRId32 " graphs of %" PRId32 " tasks, %" PRId32 " periodic, %" PRId64
         " runs, %" PRId32 " sets without a plan, %" PRId32 " failures, %.0f s\n",
         prem_backend_name(setting->backend), totals->graphs, totals->tasks, totals->periodic,
         totals->runs, totals->without_plan, totals->failed, totals->seconds);
  printf("  profiled by their plans in %" PRId32
         " turns, the last of which made times longer in %" PRId32 " graphs; %" PRId32
         " profiles disturbed\n",
         totals->turns, totals->moving, totals->disturbed);
  printf("  windows not kept: %" PRId64 " of %" PRId64 " (%.2g), by %" PRId64 " ns at most\n",
         totals->overruns, totals->phases, graph_share(totals->overruns, totals->phases),
         totals->overrun_max_ns);
  printf("  late: %" PRId64 " of %" PRId64 " releases (%.2g), by %" PRId64 " ns at most;",
         totals->late, totals->releases, graph_share(totals->late, totals->releases),
         totals->releases ? totals->lateness_max_ns : 0);
  for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
    printf(" %s %" PRId64 "%s", prem_cause_name((prem_cause)cause), totals->by_cause[cause],
           cause + 1 < PREM_CAUSE_COUNT ? "," : "\n");
  printf("  after the plan: %" PRId64 " of %" PRId64 " jobs (%.2g), by %" PRId64 " ns at most\n",
         totals->jobs_late, totals->jobs, graph_share(totals->jobs_late, totals->jobs),
         totals->jobs ? totals->job_late_max_ns : 0);
  printf("  makespans of one-shot graphs, the longest of tt to the plan, else means:\n"
         "  %-13s %6s %7s %7s %7s %7s\n",
         "", "graphs", "least", "p50", "p90", "worst");
  for (int i = 0; i < GRAPH_RATIO_COUNT; ++i)
    graph_print_ratios(&totals->ratios[i], names[i]);
  fflush(stdout);
}
