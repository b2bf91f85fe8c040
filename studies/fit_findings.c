/* SPDX-License-Identifier: Apache-2.0 */
/* What a fit chose, turn by turn, and what the plan costs beside free and ordinary kernels. */
#include "report/findings/tables.h"
#include "studies/fit_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static double late_pct(int64_t late, int64_t releases) {
  return releases > 0 ? 100.0 * (double)late / (double)releases : 0;
}

static void add_turn(prem_table *table, const prem_fit *fit, int32_t number) {
  const prem_fit_turn *turn = &fit->turns[number];
  const bool has_gap = turn->report.lower_bound_ns > 0;
  prem_table_row(
      table, INT(number + 1), TEXT(prem_fit_times_name(turn->times)),
      REAL(turn->times == PREM_FIT_FILE ? (double)NAN : 100 * turn->margin),
      INT(turn->hyperperiod_ns), REAL_IF(has_gap, turn->report.gap_pct),
      INT_IF(turn->makespan_ns.count > 0, turn->makespan_ns.max),
      INT_IF(turn->is_measured, turn->releases), INT_IF(turn->is_measured, turn->late),
      INT_IF(turn->is_measured && turn->lateness_max_ns != INT64_MIN, turn->lateness_max_ns),
      INT_IF(turn->raised >= 0, turn->raised), REAL(turn->report.seconds), REAL(turn->measured_s),
      TEXT(number == fit->best ? "taken" : ""));
}

static void add_turns(prem_findings *findings, const prem_fit *fit) {
  prem_table *table =
      prem_table_begin(findings, "turns", "The plans, in turn", NULL,
                       "plan; times; margin [%]; planned [ns]; gap [%]; longest [ns]; releases; "
                       "late; worst [ns]; raised; search [s]; measured [s]; verdict");
  for (int32_t i = 0; i < fit->count; ++i)
    add_turn(table, fit, i);
}

static void add_layouts(prem_findings *findings, const prem_fit *fit) {
  prem_table *table = prem_table_begin(
      findings, "layouts", "What was open: the shortest run in mode free, and a first plan", NULL,
      "buffers; tiles [%]; free [ns]; planned [ns]; verdict");
  for (int32_t i = 0; i < fit->layout_count; ++i) {
    const prem_fit_layout *tried = &fit->layouts[i];
    prem_table_row(table, INT(tried->layout.buffers), INT(tried->layout.tile_pct),
                   INT_IF(tried->makespan_ns > 0, tried->makespan_ns),
                   INT_IF(tried->planned_ns > 0, tried->planned_ns),
                   TEXT(i == fit->layout ? "taken" : ""));
  }
}

/* Of mode tt, which is the first; 0: not measured. */
static double planned_ns(const prem_result *result) {
  const bool known = result->row_count > 0 && result->rows[0].mode == PREM_MODE_TT;
  return known ? (double)result->rows[0].makespan_ns.p50 : 0;
}

static void add_modes(prem_findings *findings, const prem_result *result) {
  const double tt_ns = planned_ns(result);
  prem_table *table = NULL;
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    if (row->makespan_ns.count == 0)
      continue;
    if (!table) {
      table = prem_table_begin(findings, "modes", "What it costs: the plan and other ways", NULL,
                               "mode; runs; median [ns]; longest [ns]; tt_is [x]");
    }
    prem_table_row(
        table, TEXT(prem_mode_name(row->mode)), INT(row->makespan_ns.count),
        INT(row->makespan_ns.p50), INT(row->makespan_ns.max),
        REAL_IF(row->makespan_ns.p50 > 0 && tt_ns > 0, tt_ns / (double)row->makespan_ns.p50));
    prem_findings_output(findings, !row->output_checked || row->output_ok);
  }
  for (int32_t i = 0; i < result->left_out_count; ++i)
    prem_findings_note(findings, "Mode %s is left out: %s",
                       prem_mode_name(result->left_out[i].mode), result->left_out[i].reason);
}

/* ", 1.37 x free, 1.64 x graph" */
static void say_ratios(const prem_result *result, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  if (!result)
    return;
  const double tt_ns = planned_ns(result);
  for (int32_t i = 1; tt_ns > 0 && i < result->row_count && used < bytes; ++i)
    if (result->rows[i].makespan_ns.p50 > 0)
      used += (size_t)snprintf(text + used, bytes - used, ", %.2f x %s",
                               tt_ns / (double)result->rows[i].makespan_ns.p50,
                               prem_mode_name(result->rows[i].mode));
}

/* The shortest that keeps the limit, where one that does not was taken. */
static void note_kept(prem_findings *findings, const prem_fit *fit, double limit) {
  int32_t kept = -1;
  for (int32_t i = 0; i < fit->count; ++i) {
    const prem_fit_turn *turn = &fit->turns[i];
    if (turn->is_measured && (double)turn->late <= limit * (double)turn->releases &&
        (kept < 0 || turn->hyperperiod_ns < fit->turns[kept].hyperperiod_ns))
      kept = i;
  }
  const prem_fit_turn *best = &fit->turns[fit->best];
  if (kept >= 0 && (double)best->late > limit * (double)best->releases)
    prem_findings_note(findings,
                       "Plan %d keeps the limit, and takes %.3f us: `--goal late=%g` takes such a "
                       "plan.",
                       kept + 1, (double)fit->turns[kept].hyperperiod_ns / 1e3, 100 * limit);
}

static const char *say_end(const prem_fit_turn *turn, const prem_fit *fit, double limit) {
  if (!fit->is_settled)
    return "NOT settled";
  return (double)turn->late > limit * (double)turn->releases ? "Settled, but LATE," : "Settled";
}

static void say(prem_findings *findings, const prem_schedule *schedule, const prem_fit *fit,
                double limit) {
  const prem_fit_turn *turn = &fit->turns[fit->best];
  const bool is_periodic = schedule->period_lcm_ns > 0;
  char ratios[256], late[96] = "not measured", margin[48] = "", open[48] = "";
  say_ratios(fit->comparison, ratios, sizeof ratios);
  if (turn->is_measured)
    snprintf(late, sizeof late, "%" PRId64 " of %" PRId64 " releases late (%.3g %%)", turn->late,
             turn->releases, late_pct(turn->late, turn->releases));
  if (turn->times != PREM_FIT_FILE)
    snprintf(margin, sizeof margin, ", margin %g %%", 100 * turn->margin);
  if (turn->open_ns > 0)
    snprintf(open, sizeof open, ", open share %.4f",
             (double)turn->open_ns / (double)turn->hyperperiod_ns);
  prem_findings_verdict(
      findings, "%s after %d plan%s (%s): number %d%s, %s %.3f us%s, %s, checked%s.",
      say_end(turn, fit, limit), fit->count, fit->count == 1 ? "" : "s", fit->why ? fit->why : "",
      fit->best + 1, margin, is_periodic ? "hyperperiod" : "makespan",
      (double)turn->hyperperiod_ns / 1e3, open, late, ratios);
}

prem_findings *prem_fit_findings(const prem_schedule *schedule, const prem_fit *fit,
                                 const prem_fit_options *options) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "Fit of %s", schedule->name);
  prem_findings *findings =
      prem_findings_new("fit", title, "Which plan holds on this machine, and what does it cost?");
  if (!findings)
    return NULL;
  add_turns(findings, fit);
  if (fit->layout_count > 0)
    add_layouts(findings, fit);
  if (fit->comparison)
    add_modes(findings, fit->comparison);
  else if (!options->quick && !fit->interrupted)
    prem_findings_note(findings, "Not compared with other modes: there was no time for it "
                                 "(--time-limit).");
  prem_findings_note(
      findings, "Limit: %g %% of releases late. Objective: %s. It took %.1f of at most %g s.",
      100 * options->late, schedule->policy.objective, fit->seconds, options->time_limit_s);
  if (fit->turns[fit->best].report.unsearched)
    prem_findings_note(findings, "No better plan was searched: %s.",
                       fit->turns[fit->best].report.unsearched);
  if (fit->profile && fit->profile->quantile > 0)
    prem_findings_note(
        findings,
        "Windows bound the time that %g %% of the phases of each kind do not exceed, "
        "with a confidence of %g %%: the longest times are those of disturbances.",
        100 * fit->profile->quantile, 100 * PREM_PROFILE_CONFIDENCE);
  if (fit->profile && !fit->profile->valid)
    prem_findings_note(findings, "The times are of a machine that was disturbed: %s.",
                       fit->profile->disturbed);
  note_kept(findings, fit, options->late);
  say(findings, schedule, fit, options->late);
  if (fit->interrupted)
    prem_findings_incomplete(findings);
  prem_findings_seed(findings, options->seed);
  return findings;
}
