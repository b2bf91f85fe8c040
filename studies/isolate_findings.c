/* SPDX-License-Identifier: Apache-2.0 */
/* The isolation certificate as findings: tables, charts, the sentence. */
#include "ttprem/isolation.h"

#include "report/findings/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** The largest ratios, with co-runners to alone, of all memory phases. */
typedef struct worst_ratios {
  double p50, p999, max; /* NAN: not measured */
} worst_ratios;

/* Percentiles that the sample does not carry are INT64_MIN. */
static double ratio(int64_t beside_ns, int64_t alone_ns) {
  return beside_ns < 0 || alone_ns <= 0 ? (double)NAN : (double)beside_ns / (double)alone_ns;
}

static double max_known(double a, double b) {
  return isnan(a) || b > a ? b : a;
}

static worst_ratios ratios_of(const prem_isolation_task *task, int phase,
                              prem_condition condition) {
  const prem_summary *alone = &task->phase_ns[phase][PREM_ISOLATED];
  const prem_summary *beside = &task->phase_ns[phase][condition];
  if (alone->count == 0 || beside->count == 0)
    return (worst_ratios){(double)NAN, (double)NAN, (double)NAN};
  return (worst_ratios){ratio(beside->p50, alone->p50), ratio(beside->p999, alone->p999),
                        ratio(beside->max, alone->max)};
}

static worst_ratios worst_of(const prem_isolation *isolation, const prem_isolation_mode *mode,
                             prem_condition condition) {
  worst_ratios worst = {(double)NAN, (double)NAN, (double)NAN};
  for (int32_t t = 0; t < isolation->task_count; ++t)
    for (int p = PREM_PREFETCH; p <= PREM_WRITEBACK; p += PREM_WRITEBACK - PREM_PREFETCH) {
      const worst_ratios one = ratios_of(&mode->tasks[t], p, condition);
      worst.p50 = max_known(worst.p50, one.p50);
      worst.p999 = max_known(worst.p999, one.p999);
      worst.max = max_known(worst.max, one.max);
    }
  return worst;
}

static int64_t furthest_ns(const prem_isolation *isolation, const prem_isolation_mode *mode,
                           prem_condition condition) {
  int64_t furthest = -1;
  for (int32_t t = 0; t < isolation->task_count; ++t) {
    const int64_t moved_ns = prem_isolation_moved_ns(&mode->tasks[t], condition);
    furthest = moved_ns > furthest ? moved_ns : furthest;
  }
  return furthest;
}

static double steps_of(const prem_isolation *isolation, int64_t ns) {
  const int64_t step_ns = isolation->clock_step_ns > 0 ? isolation->clock_step_ns : 1;
  return ns < 0 ? (double)NAN : (double)ns / (double)step_ns;
}

static void add_values(prem_table *table, int64_t count, const int64_t *values,
                       size_t value_count) {
  prem_table_row(table, INT(count));
  for (size_t i = 0; i < value_count; ++i)
    prem_table_row(table, KNOWN(count > 0 ? values[i] : INT64_MIN));
}

static void add_moves(prem_table *table, const prem_isolation *isolation,
                      const prem_isolation_move *move) {
  const double step_ns = isolation->clock_step_ns > 0 ? (double)isolation->clock_step_ns : 1;
  const int64_t moved_ns[] = {move->p50_ns, move->p9999_ns, move->max_ns};
  for (size_t i = 0; i < sizeof moved_ns / sizeof *moved_ns; ++i)
    prem_table_row(table, KNOWN(moved_ns[i]),
                   REAL_IF(moved_ns[i] != INT64_MIN, (double)moved_ns[i] / step_ns));
}

static void add_response(prem_table *table, const prem_isolation *isolation,
                         const prem_isolation_mode *mode, int32_t t, prem_condition condition) {
  const prem_isolation_task *task = &mode->tasks[t];
  const prem_summary *response = &task->response_ns[condition];
  const prem_isolation_move move = prem_isolation_move_of(task, condition);
  const int64_t missed = task->missed[condition];
  const int64_t values[] = {missed < 0 ? INT64_MIN : missed,
                            response->min,
                            response->p50,
                            response->p999,
                            response->p9999,
                            response->max};
  prem_table_row(table, TEXT(prem_mode_name(mode->mode)), TEXT(task->name),
                 TEXT(prem_condition_name(condition)));
  add_values(table, response->count, values, sizeof values / sizeof *values);
  add_moves(table, isolation, &move);
  prem_table_row(table, REAL_IF(response->mean > 0,
                                100.0 * (double)(response->max - response->min) / response->mean));
}

static void add_responses(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table = prem_table_begin(
      findings, "responses",
      "Response times, and how far they moved from what they are alone (in ns and clock steps)",
      NULL,
      "mode; task; company; jobs; missed; min [ns]; p50 [ns]; p99.9 [ns]; p99.99 [ns]; "
      "longest [ns]; moved_p50 [ns]; steps_p50; moved_p99.99 [ns]; steps_p99.99; moved_longest "
      "[ns]; "
      "steps_longest; spread_pct [%]");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
        add_response(table, isolation, &isolation->modes[m], t, (prem_condition)c);
}

static int64_t jobs_in(const prem_isolation *isolation, const prem_isolation_mode *mode,
                       int condition) {
  int64_t jobs = 0;
  for (int32_t t = 0; t < isolation->task_count; ++t)
    jobs += mode->tasks[t].response_ns[condition].count;
  return jobs;
}

static void add_conditions(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table = prem_table_begin(
      findings, "companies",
      "Jobs that were judged, and what was late or ended after its window in each company", NULL,
      "mode; company; jobs; releases; late; lateness [ns]; overruns; left_out");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
      const prem_isolation_mode *mode = &isolation->modes[m];
      const bool released = mode->releases[c] > 0;
      prem_table_row(table, TEXT(prem_mode_name(mode->mode)),
                     TEXT(prem_condition_name((prem_condition)c)), INT(jobs_in(isolation, mode, c)),
                     INT_IF(released, mode->releases[c]), INT_IF(released, mode->late[c]),
                     KNOWN(released ? mode->lateness_max_ns[c] : INT64_MIN),
                     INT_IF(released, mode->overruns[c]), TEXT(mode->left_out[c]));
    }
}

static bool is_watched(const prem_isolation *isolation) {
  bool any = false;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
      any |= isolation->modes[m].stalls[c].watched_ns > 0;
  return any;
}

static void add_stalls(prem_findings *findings, const prem_isolation *isolation) {
  if (!is_watched(isolation))
    return;
  prem_table *table = prem_table_begin(
      findings, "stalls",
      "Stalls that the sentinel saw, hyperperiods that were left out of all response times since "
      "one met a job, and the longest makespan of all and of the undisturbed hyperperiods",
      NULL,
      "mode; company; watched [ns]; stalls; longest_stall [ns]; left_out; longest [ns]; "
      "undisturbed [ns]");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
      const prem_isolation_stalls *stalls = &isolation->modes[m].stalls[c];
      prem_table_row(
          table, TEXT(prem_mode_name(isolation->modes[m].mode)),
          TEXT(prem_condition_name((prem_condition)c)), INT(stalls->watched_ns), INT(stalls->count),
          INT(stalls->longest_ns), INT(stalls->hyperperiods),
          INT_IF(stalls->all_makespan_max_ns > 0, stalls->all_makespan_max_ns),
          INT_IF(stalls->undisturbed_makespan_max_ns > 0, stalls->undisturbed_makespan_max_ns));
    }
}

/* What is kept of the samples: a row each would be tens of MB. */
static void add_counted(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table = prem_table_begin(
      findings, "response_times",
      "Response times, counted: so many are no longer than that, and longer than the row before",
      NULL, "mode; task; company; time [ns]; count");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
        const prem_isolation_task *task = &isolation->modes[m].tasks[t];
        const prem_isolation_bins *bins = &task->response_bins[c];
        for (int32_t i = 0; i < bins->bin_count; ++i) {
          prem_table_row(table, TEXT(prem_mode_name(isolation->modes[m].mode)), TEXT(task->name),
                         TEXT(prem_condition_name((prem_condition)c)), INT(bins->ns[i]),
                         INT(bins->count[i]));
        }
      }
}

static void add_phases(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table =
      prem_table_begin(findings, "phases", "Phases, and their ratio to what they are alone", NULL,
                       "mode; task; phase; company; count; min [ns]; p50 [ns]; p99.9 [ns]; "
                       "longest [ns]; ratio_p50; ratio_p99.9; ratio_longest");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
          const prem_isolation_task *task = &isolation->modes[m].tasks[t];
          if (task->phase_ns[p][PREM_CORUNNING].count == 0)
            continue;
          const worst_ratios ratios = ratios_of(task, p, (prem_condition)c);
          prem_table_row(table, TEXT(prem_mode_name(isolation->modes[m].mode)), TEXT(task->name),
                         TEXT(prem_phase_name((prem_phase)p)),
                         TEXT(prem_condition_name((prem_condition)c)));
          const prem_summary *took = &task->phase_ns[p][c];
          const int64_t values[] = {took->min, took->p50, took->p999, took->max};
          add_values(table, took->count, values, sizeof values / sizeof *values);
          prem_table_row(table, REAL(ratios.p50), REAL(ratios.p999), REAL(ratios.max));
        }
}

static bool is_first_of_kernel(const prem_schedule *schedule, int32_t t) {
  for (int32_t before = 0; before < t; ++before)
    if (strcmp(schedule->tasks[before].kernel, schedule->tasks[t].kernel) == 0)
      return false;
  return true;
}

static void add_curve(prem_table *table, prem_mode mode, const prem_isolation_task *task, int phase,
                      int condition) {
  char series[2 * PREM_NAME_BYTES];
  if (task->phase_ns[phase][condition].count == 0)
    return;
  snprintf(series, sizeof series, "%s %s, %s, %s", task->name, prem_phase_name((prem_phase)phase),
           prem_mode_name(mode), prem_condition_name((prem_condition)condition));
  for (int32_t i = 0; i < PREM_QUANTILES; ++i) {
    prem_table_row(table, TEXT(series), INT(task->quantile_ns[phase][condition][i]),
                   REAL((double)prem_quantile_per_mille(i) / 1000));
  }
}

/* Of the prefetches of the first task of each kernel: the others' would hide them. */
static void add_curves(prem_findings *findings, const prem_isolation *isolation,
                       const prem_schedule *schedule) {
  static const prem_chart chart = {.kind = PREM_CHART_STEPS,
                                   .title = "Prefetches of the first task of each kernel: share "
                                            "that takes no longer",
                                   .table = "curves",
                                   .x = "time",
                                   .y = "share",
                                   .series = "phase",
                                   .log_x = true};
  prem_table *table = prem_table_begin(findings, "curves", "Distributions of prefetches", NULL,
                                       "phase; time [ns]; share");
  for (int32_t t = 0; t < isolation->task_count; ++t)
    for (int32_t m = 0; m < isolation->mode_count && is_first_of_kernel(schedule, t); ++m)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
        add_curve(table, isolation->modes[m].mode, &isolation->modes[m].tasks[t], PREM_PREFETCH, c);
  prem_findings_chart(findings, &chart);
}

static void add_certificate(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table = prem_table_begin(
      findings, "certificate",
      "Furthest that any response time moved, largest ratios of any memory phase", NULL,
      "mode; company; moved [ns]; clock_steps; ratio_p50; ratio_p99.9; "
      "ratio_longest; late; overruns");
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int c = PREM_CORUNNING; c < PREM_ISOLATION_CONDITIONS; ++c) {
      const prem_isolation_mode *mode = &isolation->modes[m];
      const worst_ratios worst = worst_of(isolation, mode, (prem_condition)c);
      const int64_t moved_ns = furthest_ns(isolation, mode, (prem_condition)c);
      const bool released = mode->releases[c] > 0;
      prem_table_row(table, TEXT(prem_mode_name(mode->mode)),
                     TEXT(prem_condition_name((prem_condition)c)), INT_IF(moved_ns >= 0, moved_ns),
                     REAL(steps_of(isolation, moved_ns)), REAL(worst.p50), REAL(worst.p999),
                     REAL(worst.max), INT_IF(released, mode->late[c]),
                     INT_IF(released, mode->overruns[c]));
    }
}

static void add_stressors(prem_findings *findings, const prem_isolation *isolation) {
  prem_table *table = prem_table_begin(
      findings, "hostile", "What a tile of each hostile task moves, and how full its window is",
      NULL, "task; bytes; own_bytes; fill [%]");
  for (int32_t t = 0; t < isolation->task_count; ++t) {
    const prem_stressor *stressor = &isolation->stressors[t];
    prem_table_row(table, TEXT(isolation->modes[0].tasks[t].name),
                   INT_IF(stressor->replaced, stressor->bytes_per_tile),
                   INT(stressor->own_bytes_per_tile),
                   REAL_IF(stressor->replaced, stressor->fill_pct));
  }
}

static void add_charts(prem_findings *findings) {
  static const prem_chart charts[] = {
      {.kind = PREM_CHART_BARS,
       .title = "Response time of any task: how far it moved, in clock steps",
       .table = "certificate",
       .x = "mode",
       .y = "clock_steps",
       .series = "company"},
      {.kind = PREM_CHART_BARS,
       .title = "Memory phases: longest in company over longest alone",
       .table = "certificate",
       .x = "mode",
       .y = "ratio_longest",
       .series = "company"},
      {.kind = PREM_CHART_BARS,
       .title = "Memory phases: median in company over median alone",
       .table = "certificate",
       .x = "mode",
       .y = "ratio_p50",
       .series = "company"}};
  for (size_t i = 0; i < sizeof charts / sizeof *charts; ++i)
    prem_findings_chart(findings, &charts[i]);
}

static void add_launches(prem_findings *findings, const prem_isolation *isolation) {
  if (isolation->sampling.launches > 0)
    prem_findings_note(findings,
                       "Resident: %lld launches of each company and mode, which alternate; outputs "
                       "are verified when a launch ends: after %lld of %lld hyperperiods that "
                       "count.",
                       (long long)isolation->sampling.launches,
                       (long long)isolation->sampling.launches,
                       (long long)isolation->sampling.samples);
}

/* The rule of three, of the task and condition with the fewest jobs. */
static void add_rule(prem_findings *findings, const prem_isolation *isolation) {
  int64_t min = INT64_MAX;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
        const int64_t jobs = isolation->modes[m].tasks[t].response_ns[c].count;
        min = jobs > 0 && jobs < min ? jobs : min;
      }
  if (isolation->repeats_itself)
    prem_findings_note(findings,
                       "The simulator repeats itself: nothing is said about rarer times.");
  else if (min > 3 && min < INT64_MAX)
    prem_findings_note(findings,
                       "N is %lld jobs of a task or more: with 95 %% confidence fewer than 3/N = "
                       "%.4g %% of its response times in a company are longer than the longest.",
                       (long long)min, 300.0 / (double)min);
  else
    prem_findings_note(findings, "Too few jobs to say how often response times are longer.");
}

static void add_untiled(prem_findings *findings, const prem_isolation *isolation) {
  bool any = false;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    any |= !prem_mode_has_phases(isolation->modes[m].mode);
  if (any)
    prem_findings_note(findings,
                       "Modes without phases: jobs are ordinary kernels, and so are the hostile "
                       "ones, which move the same bytes without waiting for their windows. A task "
                       "is launched in the same way, and in partition on the same SMs, in every "
                       "company.");
}

static void add_notes(prem_findings *findings, const prem_isolation *isolation) {
  prem_findings_note(findings,
                     "Each company and mode: %lld samples in %lld rounds, all of it interleaved in "
                     "random order; one clock step is %lld ns.",
                     (long long)isolation->sampling.samples, (long long)isolation->sampling.rounds,
                     (long long)isolation->clock_step_ns);
  add_launches(findings, isolation);
  add_rule(findings, isolation);
  add_untiled(findings, isolation);
  int32_t standing = 0;
  for (int32_t t = 0; t < isolation->task_count; ++t)
    standing += !isolation->stressors[t].replaced;
  if (isolation->hostile[0] && strcmp(isolation->hostile, PREM_STRESSOR_KERNEL) != 0)
    prem_findings_note(findings, "Hostile tasks run the kernel %s.", isolation->hostile);
  if (standing > 0)
    prem_findings_note(findings,
                       "%d of %d tasks stand for themselves as hostile neighbours: they have no "
                       "kernel, lack a memory phase, or already move more than their window's "
                       "buffers would let another do.",
                       (int)standing, (int)isolation->task_count);
  if (isolation->lost > 0)
    prem_findings_note(findings, "%lld phases found no room and are not in the phases' times.",
                       (long long)isolation->lost);
  if (isolation->oversubscribed)
    prem_findings_note(findings, "Oversubscribed: more blocks than the machine runs at once; all "
                                 "times include waiting for a core.");
  if (isolation->interrupted)
    prem_findings_incomplete(findings);
}

static void PREM_PRINTF(3, 4) say(char *text, size_t bytes, const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, bytes - used, format, arguments);
  va_end(arguments);
}

static void say_late(char *text, size_t bytes, const prem_isolation_mode *mode) {
  const int64_t *late = mode->late, *all = mode->releases;
  const int64_t sum = late[PREM_ISOLATED] + late[PREM_CORUNNING] + late[PREM_STRESSED];
  if (all[PREM_CORUNNING] == 0)
    return;
  if (sum == 0)
    say(text, bytes, ", no release was late");
  else
    say(text, bytes,
        ", %lld releases were late alone, %lld with neighbours, %lld with hostile ones",
        (long long)late[PREM_ISOLATED], (long long)late[PREM_CORUNNING],
        (long long)late[PREM_STRESSED]);
}

static void say_mode(char *text, size_t bytes, const prem_isolation *isolation,
                     const prem_isolation_mode *mode) {
  const worst_ratios real = worst_of(isolation, mode, PREM_CORUNNING);
  const worst_ratios stressor = worst_of(isolation, mode, PREM_STRESSED);
  const int64_t real_ns = furthest_ns(isolation, mode, PREM_CORUNNING);
  const int64_t stressed_ns = furthest_ns(isolation, mode, PREM_STRESSED);
  say(text, bytes, "%s: ", prem_mode_name(mode->mode));
  if (real_ns < 0 || stressed_ns < 0) {
    say(text, bytes, "not measured in all companies");
    return;
  }
  say(text, bytes,
      "response times moved by at most %lld ns (%.1f clock steps) with their neighbours and %lld "
      "ns (%.1f) with hostile ones",
      (long long)real_ns, steps_of(isolation, real_ns), (long long)stressed_ns,
      steps_of(isolation, stressed_ns));
  if (!isnan(real.max) && !isnan(stressor.max))
    say(text, bytes, ", the longest memory phase to %.2f and %.2f times what it is alone", real.max,
        stressor.max);
  say_late(text, bytes, mode);
}

static void add_verdict(prem_findings *findings, const prem_isolation *isolation) {
  char text[PREM_MODE_COUNT * 400 + sizeof isolation->disturbed] = "";
  for (int32_t m = 0; m < isolation->mode_count; ++m) {
    say(text, sizeof text, "%s", m > 0 ? "; " : "");
    say_mode(text, sizeof text, isolation, &isolation->modes[m]);
  }
  if (isolation->valid)
    say(text, sizeof text, ". The certificate is valid: nothing disturbed it");
  else
    say(text, sizeof text, ". The certificate is INVALID, the machine was disturbed: %s",
        isolation->disturbed);
  prem_findings_verdict(findings, "%s.", text);
}

/* ---- the promise ---------------------------------------------------------------------------- */

enum { STEPS_KEPT = 2 }; /* of the clock: one each in the stamps of two instants */

static bool keeps(const prem_isolation *isolation, const prem_isolation_mode *mode) {
  bool kept = true;
  for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
    kept &= mode->late[c] == 0 && !mode->left_out[c][0];
  for (int32_t t = 0; t < isolation->task_count; ++t)
    for (int c = PREM_CORUNNING; c < PREM_ISOLATION_CONDITIONS; ++c) {
      const int64_t moved_ns = prem_isolation_moved_ns(&mode->tasks[t], (prem_condition)c);
      kept &= moved_ns >= 0 && steps_of(isolation, moved_ns) <= STEPS_KEPT;
    }
  return kept;
}

/* tt promises that tasks keep their times; where it was not measured, all others are judged so. */
static void add_promise(prem_findings *findings, const prem_isolation *isolation) {
  bool has_tt = false;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    has_tt |= isolation->modes[m].mode == PREM_MODE_TT;
  prem_findings_promise(findings, isolation->valid);
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    if (!has_tt || isolation->modes[m].mode == PREM_MODE_TT)
      prem_findings_promise(findings, keeps(isolation, &isolation->modes[m]));
}

prem_findings *prem_isolation_findings(const prem_isolation *isolation,
                                       const prem_schedule *schedule) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "Isolation certificate of %s", schedule->name);
  prem_findings *findings = prem_findings_new(
      "isolation", title,
      "How far do response times and phases move when a task gets neighbours, and "
      "when these are hostile?");
  if (!findings)
    return NULL;
  add_certificate(findings, isolation);
  add_responses(findings, isolation);
  add_conditions(findings, isolation);
  add_stalls(findings, isolation);
  add_phases(findings, isolation);
  add_stressors(findings, isolation);
  add_charts(findings);
  add_curves(findings, isolation, schedule);
  add_counted(findings, isolation);
  add_notes(findings, isolation);
  add_verdict(findings, isolation);
  add_promise(findings, isolation);
  prem_findings_seed(findings, isolation->sampling.seed);
  prem_findings_output(findings, isolation->output_ok);
  return findings;
}
