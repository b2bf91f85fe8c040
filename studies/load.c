/* SPDX-License-Identifier: Apache-2.0 */
/* Critical tasks alone, beside the load with its gate, and beside the load without one. */
#include "measure/disturbance.h"
#include "measure/interleave.h"
#include "prem/base/numbers.h"
#include "report/findings/tables.h"
#include "ttprem/isolation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parted: mode partition with one split of the SMs each. After the last of these come graphs: the
 * load as a CUDA graph, with a gate and without one. */
enum {
  ALONE = PREM_LOAD_ALONE,
  COLD = PREM_LOAD_COLD,
  GATE = PREM_LOAD_GATE,
  NO_GATE = PREM_LOAD_NO_GATE,
  PARTED = PREM_LOAD_PARTITION,
  SPLITS = 3,
  GRAPHS = 2,
  COMPANIES = PARTED + SPLITS + GRAPHS
};

/** A variant for each company. */
typedef struct load_study {
  const prem_schedule *schedule;
  const prem_backend *backend;
  const prem_isolate_options *options;
  prem_load_isolation *result;
  prem_variant variants[COMPANIES];
  prem_schedule *made[COMPANIES]; /* owned; NULL: the caller's */
  char names[COMPANIES][32];
  int32_t companies; /* without splits that nobody asked for */
  int32_t graphs;    /* the first of these */
  prem_disturbance *disturbance;
  prem_diag *diag;
} load_study;

/** One line of the tables. */
typedef struct load_row {
  int company;
  prem_mode mode;
} load_row;

const char *prem_load_company_name(prem_load_company company) {
  static const char *const names[PREM_LOAD_COMPANIES] = {
      "alone", "cold", "gate", "no-gate", "partition", "gated-graph", "graph"};
  return (unsigned)company < PREM_LOAD_COMPANIES ? names[company] : NULL;
}

static bool is_asked(const load_study *study, prem_load_company company) {
  return study->options->companies == 0 || study->options->companies >> company & 1;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static bool has_mode(const load_study *study, prem_mode mode) {
  for (int m = 0; m < study->options->mode_count; ++m)
    if (study->options->modes[m] == mode)
      return true;
  return false;
}

static prem_status copy_schedule(load_study *study, int company) {
  bool *keep = malloc((size_t)study->schedule->task_count * sizeof *keep);
  if (!keep)
    return PREM_ERR_MEMORY;
  memset(keep, true, (size_t)study->schedule->task_count * sizeof *keep);
  const prem_status status = prem_schedule_subset(study->schedule, keep, &study->made[company]);
  free(keep);
  if (status == PREM_OK)
    study->made[company]->measure.load = PREM_LOAD_TILES;
  return status;
}

/* Half of the shortest gap between two windows. */
static int64_t half_gap_ns(const prem_plan *plan) {
  int64_t shortest_ns = plan->hyperperiod_ns;
  for (int32_t w = 0; w < plan->closed_count; ++w) {
    const bool is_last = w + 1 == plan->closed_count;
    const int64_t next_ns =
        plan->closed[is_last ? 0 : w + 1].start_ns + (is_last ? plan->hyperperiod_ns : 0);
    shortest_ns = prem_min_i64(shortest_ns, next_ns - plan->closed[w].end_ns);
  }
  return shortest_ns / 2;
}

/* The load ends long before each window, so that the memory is idle in it, and the caches hold what
 * the load has left there. The first window may begin in the hyperperiod before: it is the last
 * then.
 */
static void keep_far(prem_plan *plan) {
  const int64_t far_ns = half_gap_ns(plan);
  for (int32_t w = 0; w < plan->closed_count; ++w)
    plan->closed[w].start_ns -= far_ns;
  if (plan->closed_count == 0 || plan->closed[0].start_ns >= 0)
    return;
  prem_closed_window first = plan->closed[0];
  first.start_ns += plan->hyperperiod_ns;
  first.end_ns += plan->hyperperiod_ns;
  memmove(plan->closed, plan->closed + 1, (size_t)(plan->closed_count - 1) * sizeof first);
  plan->closed[plan->closed_count - 1] = first;
}

/* The same instants, and no closed windows. */
static prem_status make_open(load_study *study, int company) {
  const prem_status status = copy_schedule(study, company);
  if (status == PREM_OK)
    study->made[company]->plan->closed_count = 0;
  return status;
}

/* Where the backend has graphs. */
static prem_status make_graphs(load_study *study) {
  static const char *const names[GRAPHS] = {"gated graph", "graph, no gate"};
  prem_status status = PREM_OK;
  study->graphs = study->companies;
  if (!prem_backend_has_mode(study->backend, PREM_MODE_GRAPH))
    return PREM_OK;
  for (int i = 0; i < GRAPHS && status == PREM_OK; ++i) {
    const int company = study->companies++;
    snprintf(study->names[company], sizeof study->names[company], "%s", names[i]);
    status = i == 0 ? copy_schedule(study, company) : make_open(study, company);
    if (status == PREM_OK)
      study->made[company]->measure.load = PREM_LOAD_GRAPH;
  }
  return status;
}

static prem_status make_splits(load_study *study) {
  static const int32_t parts[SPLITS] = {8, 4, 2};
  const int32_t sms = prem_session_machine(study->variants[NO_GATE].session)->cores;
  const int64_t given = study->schedule->measure.partition_sms;
  prem_status status = PREM_OK;
  for (int i = 0; i < (given ? 1 : SPLITS) && status == PREM_OK; ++i) {
    const int company = PARTED + i;
    const int64_t own = given ? given : sms / parts[i];
    status = make_open(study, company);
    if (status != PREM_OK)
      break;
    study->made[company]->measure.partition_sms = own;
    snprintf(study->names[company], sizeof study->names[company], "%" PRId64 " SMs of %d", own,
             sms);
    ++study->companies;
  }
  return status;
}

static prem_status open_variant(load_study *study, int company, uint32_t modes) {
  prem_variant *variant = &study->variants[company];
  variant->schedule = study->made[company] ? study->made[company] : study->schedule;
  variant->modes = modes;
  return prem_variant_open(variant, study->backend, study->diag);
}

/* The gate is there in mode tt alone. Alone nobody needs a partition. What the load does to caches
 * needs to be seen but once. */
static prem_status open_variants(load_study *study) {
  static const char *const names[] = {"alone", "cold", "gate", "no gate"};
  const uint32_t tt = 1U << PREM_MODE_TT, partition = 1U << PREM_MODE_PARTITION;
  const uint32_t nowhere = 1U << PREM_MODE_COUNT;
  for (int c = 0; c < PARTED; ++c)
    snprintf(study->names[c], sizeof study->names[c], "%s", names[c]);
  study->companies = PARTED;
  prem_status status = prem_schedule_critical(study->schedule, &study->made[ALONE], NULL);
  if (status == PREM_OK)
    status = copy_schedule(study, COLD);
  if (status == PREM_OK)
    keep_far(study->made[COLD]->plan);
  if (status == PREM_OK)
    status = copy_schedule(study, GATE);
  if (status == PREM_OK)
    status = make_open(study, NO_GATE);
  const uint32_t modes[PARTED] = {~partition, tt, tt, ~partition};
  for (int c = 0; c < PARTED && status == PREM_OK; ++c)
    status = open_variant(study, c, is_asked(study, (prem_load_company)c) ? modes[c] : nowhere);
  if (status == PREM_OK && has_mode(study, PREM_MODE_PARTITION) &&
      is_asked(study, PREM_LOAD_PARTITION))
    status = make_splits(study);
  if (status == PREM_OK)
    status = make_graphs(study);
  for (int c = PARTED; c < study->companies && status == PREM_OK; ++c)
    status = open_variant(
        study, c,
        c < study->graphs ? partition
        : is_asked(study, (prem_load_company)(PREM_LOAD_GATED_GRAPH + c - study->graphs))
            ? tt
            : nowhere);
  return status;
}

static void after_turn(void *context, int64_t done, int64_t all_turns) {
  const load_study *study = context;
  prem_disturbance_look(study->disturbance);
  if (study->options->progress)
    study->options->progress(study->options->progress_context, done, all_turns);
}

static prem_status measure(load_study *study) {
  const prem_isolate_options *options = study->options;
  prem_interleave_options interleave = {.backend = study->backend,
                                        .mode_count = options->mode_count,
                                        .sampling = options->sampling,
                                        .leave_out = true,
                                        .disturbed_apart = true,
                                        .sentinel = options->sentinel,
                                        .engine = options->engine,
                                        .stop = options->stop,
                                        .progress = after_turn,
                                        .progress_context = study,
                                        .around_round = prem_disturbance_round,
                                        .round_context = study->disturbance};
  interleave.sampling.rounds = prem_min_i64(options->sampling.rounds, options->sampling.samples);
  memcpy(interleave.modes, options->modes, sizeof interleave.modes);
  return prem_interleave(study->variants, study->companies, &interleave, study->diag);
}

/* ---- findings ------------------------------------------------------------------------------- */

/* The rows of the tables, one after the other; false: there are no more. */
static bool next_row(const load_study *study, int *at, load_row *row) {
  for (; *at < study->options->mode_count * study->companies; ++*at) {
    const prem_mode mode = study->options->modes[*at / study->companies];
    const int company = *at % study->companies;
    if (!(study->variants[company].modes & 1U << mode))
      continue;
    *row = (load_row){.company = company, .mode = mode};
    ++*at;
    return true;
  }
  return false;
}

static const prem_variant_times *observed_in(const load_study *study, load_row row) {
  return &study->variants[row.company].observed[row.mode];
}

static const prem_series *responses_in(const load_study *study, load_row row, const char *task) {
  const int32_t t = prem_schedule_find_task(study->variants[row.company].schedule, task);
  return &observed_in(study, row)->responses[t];
}

static prem_summary response_in(const load_study *study, load_row row, const char *task) {
  const prem_series *series = responses_in(study, row, task);
  prem_summary summary = {.p50 = INT64_MIN, .p99 = INT64_MIN, .p9999 = INT64_MIN, .max = INT64_MIN};
  if (series->count > 0)
    prem_summarise(series->ns, series->count, &summary);
  return summary;
}

/* With nothing else there: of the mode in which the longest is shortest. */
static prem_summary alone_in_fastest(const load_study *study, const char *task) {
  prem_summary best = {.max = INT64_MIN, .p9999 = INT64_MIN};
  for (int m = 0; m < study->options->mode_count; ++m) {
    const prem_summary took = response_in(study, (load_row){ALONE, study->options->modes[m]}, task);
    if (took.count > 0 && (best.count == 0 || took.max < best.max))
      best = took;
  }
  return best;
}

static double ratio(int64_t of, int64_t to) {
  return of > 0 && to > 0 ? (double)of / (double)to : (double)NAN;
}

static void add_response(const load_study *study, prem_table *table, const prem_task *task,
                         load_row row) {
  const prem_summary took = response_in(study, row, task->name);
  const prem_summary alone = row.mode == PREM_MODE_PARTITION
                                 ? alone_in_fastest(study, task->name)
                                 : response_in(study, (load_row){ALONE, row.mode}, task->name);
  const prem_series *series = responses_in(study, row, task->name);
  int64_t missed = 0;
  if (took.count == 0 && observed_in(study, row)->disturbed == 0)
    return;
  for (int64_t i = 0; i < series->count; ++i)
    missed += task->deadline_ns > 0 && series->ns[i] > task->deadline_ns;
  prem_table_row(table, TEXT(task->name), TEXT(study->names[row.company]),
                 TEXT(prem_mode_name(row.mode)), INT(took.count),
                 INT(observed_in(study, row)->disturbed), KNOWN(took.p50), KNOWN(took.p99),
                 KNOWN(took.p9999), KNOWN(took.max), REAL(ratio(took.p50, alone.p50)),
                 REAL(ratio(took.max, alone.max)), INT_IF(task->deadline_ns > 0, missed));
}

static void add_responses(const load_study *study, prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "responses", "Response times of critical tasks", NULL,
                       "task; company; mode; jobs; disturbed; p50 [ns]; p99 [ns]; p99.99 [ns]; "
                       "longest [ns]; p50_of_alone; longest_of_alone; missed");
  load_row row;
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int at = 0; !study->schedule->tasks[t].best_effort && next_row(study, &at, &row);)
      add_response(study, table, &study->schedule->tasks[t], row);
}

/* Bytes in a nanosecond, or tiles where a task has no kernel; 0: it did not run. */
static double rate_in(const load_study *study, load_row row, int32_t t) {
  const prem_variant_times *observed = observed_in(study, row);
  if (row.company == ALONE || observed->beside_ns == 0)
    return 0;
  const prem_best_effort_counts *counts = &observed->beside[t];
  const int64_t done = counts->bytes > 0 ? counts->bytes : counts->tiles;
  return (double)done / (double)observed->beside_ns;
}

static bool is_tiled_in(const load_study *study, load_row row) {
  return prem_mode_has_phases(row.mode) && row.company < study->graphs;
}

/* What tasks get done without a gate: tiled in modes tt and free, or as ordinary kernels in others
 * and in graphs.
 * @param t  -1: all of them */
static double open_rate(const load_study *study, bool is_tiled, int32_t t) {
  double best = 0;
  load_row row;
  for (int at = 0; next_row(study, &at, &row);) {
    double all = 0;
    if (row.company < NO_GATE || row.company == study->graphs ||
        is_tiled_in(study, row) != is_tiled)
      continue;
    for (int32_t other = 0; other < study->schedule->task_count; ++other)
      all += t < 0 || other == t ? rate_in(study, row, other) : 0;
    best = all > best ? all : best;
  }
  return best;
}

static double share(double of, double all) {
  return all > 0 ? of / all : (double)NAN;
}

static void add_load(const load_study *study, prem_table *table, int32_t t, load_row row) {
  const prem_variant_times *observed = observed_in(study, row);
  const double rate = rate_in(study, row, t);
  if (row.company == ALONE || observed->beside_ns == 0)
    return;
  const prem_best_effort_counts *counts = &observed->beside[t];
  prem_table_row(table, TEXT(study->schedule->tasks[t].name), TEXT(study->names[row.company]),
                 TEXT(prem_mode_name(row.mode)), INT(counts->tiles),
                 REAL_IF(counts->bytes > 0, rate),
                 REAL(share(rate, open_rate(study, is_tiled_in(study, row), t))),
                 INT(counts->waits), INT(counts->overruns));
}

static void add_loads(const load_study *study, prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "load", "What best-effort tasks got done", NULL,
                       "task; company; mode; tiles; rate [GB/s]; kept; waits; overruns");
  load_row row;
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int at = 0; study->schedule->tasks[t].best_effort && next_row(study, &at, &row);)
      add_load(study, table, t, row);
}

/* Of all best-effort tasks together, of what they do without a gate. */
static double load_kept(const load_study *study, load_row row) {
  double with = 0;
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    with += rate_in(study, row, t);
  return share(with, open_rate(study, is_tiled_in(study, row), -1));
}

static const char *load_name(const load_study *study) {
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    if (study->schedule->tasks[t].best_effort)
      return study->schedule->tasks[t].name;
  return "";
}

/* Of who has company. */
static void add_point(const load_study *study, prem_table *table, const char *task, load_row row) {
  const prem_summary took = response_in(study, row, task);
  const prem_summary alone = alone_in_fastest(study, task);
  const prem_summary cold = response_in(study, (load_row){COLD, PREM_MODE_TT}, task);
  const prem_plan *plan = study->schedule->plan;
  char point[64];
  if (took.count == 0 || row.company < GATE)
    return;
  snprintf(point, sizeof point, "%s, %s", prem_mode_name(row.mode), study->names[row.company]);
  prem_table_row(table, TEXT(task), TEXT(load_name(study)), TEXT(study->names[row.company]),
                 TEXT(prem_mode_name(row.mode)), TEXT(point), INT(took.count), KNOWN(took.p50),
                 KNOWN(took.p9999), KNOWN(took.max), KNOWN(alone.p9999), KNOWN(alone.max),
                 KNOWN(cold.p9999), KNOWN(cold.max), REAL(load_kept(study, row)),
                 REAL_IF(row.company == GATE || row.company == study->graphs,
                         (double)plan->open_ns / (double)plan->hyperperiod_ns));
}

static void add_points(const load_study *study, prem_findings *findings) {
  prem_table *table = prem_table_begin(
      findings, "points", "Longest response against load kept", NULL,
      "workload; load; company; mode; point; jobs; p50_ns; p9999_ns; longest_ns; alone_p9999_ns; "
      "alone_longest_ns; cold_p9999_ns; cold_longest_ns; load_kept; open_share");
  load_row row;
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int at = 0; !study->schedule->tasks[t].best_effort && next_row(study, &at, &row);)
      add_point(study, table, study->schedule->tasks[t].name, row);
  prem_chart_add(findings, PREM_CHART_POINTS, "points", "Longest response against load kept",
                 "load_kept", "longest_ns", "point", PREM_LOG_Y);
}

static void add_verdict(const load_study *study, prem_findings *findings) {
  const prem_load_isolation *result = study->result;
  char text[2048] = "";
  size_t used = 0;
  for (int32_t t = 0; t < study->schedule->task_count && used < sizeof text / 2; ++t) {
    const char *name = study->schedule->tasks[t].name;
    if (study->schedule->tasks[t].best_effort || study->options->companies)
      continue;
    const prem_summary alone = response_in(study, (load_row){ALONE, PREM_MODE_TT}, name);
    const prem_summary cold = response_in(study, (load_row){COLD, PREM_MODE_TT}, name);
    const prem_summary gate = response_in(study, (load_row){GATE, PREM_MODE_TT}, name);
    const prem_summary open = response_in(study, (load_row){NO_GATE, PREM_MODE_TT}, name);
    if (alone.count == 0 || cold.count == 0 || gate.count == 0 || open.count == 0)
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s: all jobs of a company were disturbed; ", name);
    else
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s: longest response with the gate %.2f x alone, %.2f x alone with "
                               "caches that the load has used; without a gate %.2f x alone; ",
                               name, ratio(gate.max, alone.max), ratio(gate.max, cold.max),
                               ratio(open.max, alone.max));
  }
  const double kept = load_kept(study, (load_row){GATE, PREM_MODE_TT});
  if (study->options->companies)
    snprintf(text, sizeof text, "not all companies were asked for; ");
  char load[64] = "nothing was seen of the load";
  if (kept >= 0)
    snprintf(load, sizeof load, "the load keeps %.3f of what it does without a gate", kept);
  prem_findings_verdict(findings, "%s%s. %s%s.", text, load,
                        result->valid        ? "Valid: nothing disturbed it"
                        : result->nothing[0] ? "INVALID, there is nothing to compare: "
                                             : "INVALID, the machine was disturbed: ",
                        result->nothing[0] ? result->nothing : result->disturbed);
}

/* What was not possible, and why. */
static void add_left_out(const load_study *study, prem_findings *findings) {
  load_row row;
  for (int at = 0; next_row(study, &at, &row);)
    if (study->variants[row.company].left_out[row.mode][0])
      prem_findings_note(findings, "Left out: mode %s, %s: %s", prem_mode_name(row.mode),
                         study->names[row.company],
                         study->variants[row.company].left_out[row.mode]);
}

static prem_status make_findings(const load_study *study) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "%s with its load", study->schedule->name);
  prem_findings *findings = study->result->findings = prem_findings_new(
      "load", title, "What does the load do to critical tasks, and the gate to the load?");
  if (!findings)
    return PREM_ERR_MEMORY;
  add_responses(study, findings);
  add_loads(study, findings);
  add_points(study, findings);
  prem_findings_note(
      findings,
      "%" PRId64 " samples of each company and mode, interleaved. Alone: critical tasks without "
      "best-effort ones. Cold: the load ends half a gap before each closed window, so that its "
      "traffic is over, and its data are in the caches. Gate: by the plan, with its closed "
      "windows. No gate: without these.",
      study->options->sampling.samples);
  if (study->companies > study->graphs)
    prem_findings_note(findings,
                       "Graph: the load as ordinary kernels in a CUDA graph, begun whole where it "
                       "ends before the next window, or without a gate; kept of what ordinary "
                       "kernels get done.");
  add_left_out(study, findings);
  prem_findings_note(findings, "Disturbed: hyperperiods in which %s; their jobs are left out.",
                     study->options->sentinel
                         ? "a stall of the GPU met a critical job"
                         : "the operating system took a core away from critical tasks");
  prem_findings_note(findings, "Kept: of what the task gets done at most without a gate, as tiles "
                               "(modes tt and free) or as ordinary kernels (other modes).");
  add_verdict(study, findings);
  if (study->result->interrupted)
    prem_findings_incomplete(findings);
  prem_findings_promise(findings, study->result->valid);
  prem_findings_seed(findings, study->options->sampling.seed);
  prem_findings_output(findings, study->result->output_ok);
  return PREM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Of each company in mode tt jobs are compared, and what the load does beside them without a gate.
 */
static void find_nothing(load_study *study) {
  prem_load_isolation *result = study->result;
  bool does_something = false;
  for (int company = ALONE; company < PARTED && !result->nothing[0]; ++company) {
    const load_row row = {company, PREM_MODE_TT};
    if (!is_asked(study, (prem_load_company)company))
      continue;
    const prem_variant_times *observed = observed_in(study, row);
    int64_t jobs = 0;
    for (int32_t t = 0; t < study->schedule->task_count; ++t) {
      if (!study->schedule->tasks[t].best_effort)
        jobs += responses_in(study, row, study->schedule->tasks[t].name)->count;
      does_something |= company == NO_GATE && rate_in(study, row, t) > 0;
    }
    if (jobs == 0)
      snprintf(result->nothing, sizeof result->nothing,
               "of %" PRId64 " hyperperiods of '%s' (mode tt) all were disturbed",
               observed->disturbed, study->names[company]);
  }
  if (!does_something && !result->nothing[0] && is_asked(study, PREM_LOAD_NO_GATE))
    snprintf(result->nothing, sizeof result->nothing,
             "best-effort tasks ended no tile, with no gate either");
}

static prem_status fold(load_study *study) {
  prem_load_isolation *result = study->result;
  result->output_ok = true;
  load_row row;
  int64_t rows = 0;
  for (int at = 0; next_row(study, &at, &row); ++rows)
    result->output_ok &= !observed_in(study, row)->output_wrong;
  result->valid = prem_disturbance_none(study->disturbance, study->options->sampling.samples * rows,
                                        result->disturbed, sizeof result->disturbed);
  if (!result->interrupted)
    find_nothing(study);
  result->valid &= !result->nothing[0];
  if (result->nothing[0] && !result->disturbed[0])
    snprintf(result->disturbed, sizeof result->disturbed, "%s", result->nothing);
  return make_findings(study);
}

static bool can_be_isolated(const prem_schedule *schedule, const prem_isolate_options *options) {
  bool has_tt = false, all = true;
  for (int32_t m = 0; m < options->mode_count; ++m) {
    has_tt |= options->modes[m] == PREM_MODE_TT;
    all &= options->modes[m] != PREM_MODE_LOCK && options->modes[m] != PREM_MODE_COPY;
  }
  return schedule->plan && prem_schedule_has_best_effort(schedule) && has_tt && all &&
         options->sampling.samples >= 1;
}

prem_status prem_isolate_load(const prem_schedule *schedule, const prem_backend *backend,
                              const prem_isolate_options *options, prem_load_isolation **out,
                              prem_diag *diag) {
  *out = NULL;
  if (!can_be_isolated(schedule, options))
    return PREM_ERR_ARGUMENT;
  int32_t critical = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    critical += !schedule->tasks[t].best_effort;
  if (critical == 0) {
    prem_diag_add(diag, PREM_ERROR, 0, schedule->tasks[0].place, "tasks",
                  "all are best effort, so there is nothing to isolate; use `ttprem run`");
    return PREM_ERR_INVALID;
  }
  load_study study = {.schedule = schedule,
                      .backend = backend,
                      .options = options,
                      .diag = diag,
                      .result = calloc(1, sizeof *study.result)};
  prem_status status = study.result ? open_variants(&study) : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    study.disturbance =
        prem_disturbance_new(prem_backend_name(backend), study.variants, study.companies);
    status = study.disturbance ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (status == PREM_OK)
    status = measure(&study);
  if (study.disturbance && (status == PREM_OK || status == PREM_ERR_INTERRUPTED)) {
    study.result->interrupted = status == PREM_ERR_INTERRUPTED;
    const prem_status folded = fold(&study);
    status = folded == PREM_OK ? status : folded;
  }
  for (int c = 0; c < COMPANIES; ++c) {
    prem_variant_close(&study.variants[c]);
    prem_schedule_free(study.made[c]);
  }
  prem_disturbance_free(study.disturbance);
  if (study.result && study.result->findings)
    *out = study.result;
  else
    free(study.result);
  return status;
}

void prem_load_isolation_free(prem_load_isolation *isolation) {
  if (!isolation)
    return;
  prem_findings_free(isolation->findings);
  free(isolation);
}
