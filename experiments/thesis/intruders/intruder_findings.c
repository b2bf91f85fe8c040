/* SPDX-License-Identifier: Apache-2.0 */
/* What intruders did, as findings. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/distribution.h"
#include "experiments/thesis/intruders/visits.h"
#include "prem/base/numbers.h"
#include "report/findings/tables.h"

enum {
  STEPS_KEPT = 2,
  SHARED_PCT = 1 /* of the time stood still: the processor is shared by turns */
};

static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE};
enum { MODES = sizeof modes / sizeof *modes };

/** The response times of all tasks of a visit in one mode. */
typedef struct responses {
  int64_t count;
  double mean_ns;
  int64_t longest_ns;
  int64_t spread_ns; /* of one task, the largest; and relative to that task's mean: */
  double spread_pct;
  int64_t moved_ns; /* as the certificate has it: of p50 or of the longest, the task moved most */
} responses;

static const prem_variant_times *observed_of(const prem_visits *visits, int kind, prem_mode mode) {
  return &visits->of[kind].variant.observed[mode];
}

static const char *name_of(const prem_visits *visits, int kind) {
  return prem_intruder_name((prem_intruder_kind)kind, visits->backend);
}

static bool is_told(const prem_visits *visits, int kind) {
  return visits->of[kind].took_place && observed_of(visits, kind, PREM_MODE_TT)->counted > 0;
}

static double us(int64_t ns) {
  return (double)ns / 1e3;
}

static int64_t distance(int64_t a, int64_t b) {
  return a > b ? a - b : b - a;
}

/* ---- response times ------------------------------------------------------------------------- */

static responses responses_of(const prem_visits *visits, int kind, prem_mode mode) {
  const prem_variant_times *observed = observed_of(visits, kind, mode);
  const prem_variant_times *undisturbed = observed_of(visits, PREM_INTRUDER_NONE, mode);
  responses all = {0};
  double sum_ns = 0;
  for (int32_t t = 0; t < observed->task_count; ++t) {
    prem_summary own, calm;
    prem_summarise(observed->responses[t].ns, observed->responses[t].count, &own);
    prem_summarise(undisturbed->responses[t].ns, undisturbed->responses[t].count, &calm);
    if (own.count == 0)
      continue;
    all.count += own.count;
    sum_ns += own.mean * (double)own.count;
    if (own.max > all.longest_ns)
      all.longest_ns = own.max;
    if (own.max - own.min >= all.spread_ns) {
      all.spread_ns = own.max - own.min;
      all.spread_pct = 100.0 * (double)all.spread_ns / own.mean;
    }
    const int64_t middle_ns = distance(own.p50, calm.p50), end_ns = distance(own.max, calm.max);
    const int64_t moved_ns = middle_ns > end_ns ? middle_ns : end_ns;
    if (calm.count > 0 && moved_ns > all.moved_ns)
      all.moved_ns = moved_ns;
  }
  all.mean_ns = all.count > 0 ? sum_ns / (double)all.count : 0;
  return all;
}

static void tell_responses(prem_visits *visits, prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "responses", "Response times of all tasks", NULL,
                       "intruder; mode; responses; mean [us]; longest [us]; spread [us]; of the "
                       "mean [%]; moved [us]; launch, mean [us]; launch, longest [us]");
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
    for (int m = 0; m < MODES && is_told(visits, kind); ++m) {
      const responses all = responses_of(visits, kind, modes[m]);
      const prem_times *launch = &visits->of[kind].launch_ns[modes[m]];
      prem_table_row(table, TEXT(name_of(visits, kind)), TEXT(prem_mode_name(modes[m])),
                     INT(all.count), REAL(all.mean_ns / 1e3), REAL(us(all.longest_ns)),
                     REAL(us(all.spread_ns)), REAL(all.spread_pct), REAL(us(all.moved_ns)),
                     REAL_IF(launch->count > 0, launch->sum_ns / (double)launch->count / 1e3),
                     REAL_IF(launch->count > 0, us(launch->max_ns)));
    }
  prem_chart_add(findings, PREM_CHART_BARS, "responses", "The longest response time of a task",
                 "intruder", "longest", "mode", PREM_LOG_Y);
}

/* All tasks' response times in one row of steps. */
static void add_distribution(prem_table *table, const char *series,
                             const prem_variant_times *observed) {
  int64_t count = 0;
  for (int32_t t = 0; t < observed->task_count; ++t)
    count += observed->responses[t].count;
  int64_t *all_ns = calloc((size_t)count + 1, sizeof *all_ns);
  if (!all_ns)
    return;
  int64_t at = 0;
  for (int32_t t = 0; t < observed->task_count; ++t) {
    const prem_series *own = &observed->responses[t];
    if (own->count > 0)
      memcpy(all_ns + at, own->ns, (size_t)own->count * sizeof *all_ns);
    at += own->count;
  }
  prem_distribution_add(table, series, all_ns, count);
  free(all_ns);
}

static void tell_distribution(const prem_visits *visits, prem_findings *findings) {
  prem_table *table = prem_distribution_begin(
      findings, "distribution", "Share of the jobs that take no longer", "company", "response");
  for (int m = 0; m < MODES; ++m)
    for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
      char series[64];
      if (!is_told(visits, kind))
        continue;
      snprintf(series, sizeof series, "%s, %s", prem_mode_name(modes[m]), name_of(visits, kind));
      add_distribution(table, series, observed_of(visits, kind, modes[m]));
    }
}

/* ---- releases ------------------------------------------------------------------------------- */

static double late_pct(const prem_variant_times *observed) {
  return observed->releases > 0 ? 100.0 * (double)observed->late / (double)observed->releases : 0;
}

static void tell_releases(const prem_visits *visits, prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "releases", "Releases and windows of mode tt", NULL,
                       "intruder; releases; late; share late [%]; worst lateness [us]; overruns");
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
    if (!is_told(visits, kind))
      continue;
    const prem_variant_times *observed = observed_of(visits, kind, PREM_MODE_TT);
    prem_table_row(table, TEXT(name_of(visits, kind)), INT(observed->releases), INT(observed->late),
                   REAL(late_pct(observed)),
                   REAL_IF(observed->releases > 0, us(observed->lateness_max_ns)),
                   INT(observed->overruns));
  }
  prem_chart_add(findings, PREM_CHART_BARS, "releases", "Late releases of mode tt", "intruder",
                 "share late", NULL, 0);
}

/* ---- phases --------------------------------------------------------------------------------- */

/** Quantiles of a phase over all tasks, the slowest task's; -1: too few. */
typedef struct lengths {
  int64_t p50, p999, max;
} lengths;

static lengths lengths_of(const prem_variant_times *observed, int phase) {
  lengths slowest = {-1, -1, -1};
  for (int32_t t = 0; t < observed->task_count; ++t) {
    prem_summary own;
    prem_times_summarise(&observed->phases[t * PREM_PHASE_COUNT + phase].steady, &own);
    if (own.count == 0)
      continue;
    slowest.p50 = prem_max_i64(slowest.p50, own.p50);
    slowest.p999 = prem_max_i64(slowest.p999, own.p999);
    slowest.max = prem_max_i64(slowest.max, own.max);
  }
  return slowest;
}

static double ratio(int64_t disturbed_ns, int64_t calm_ns) {
  return disturbed_ns < 0 || calm_ns <= 0 ? (double)NAN : (double)disturbed_ns / (double)calm_ns;
}

static void add_length(prem_table *table, int64_t ns) {
  prem_table_add_real(table, ns < 0 ? (double)NAN : us(ns));
}

static void add_phase(const prem_visits *visits, prem_table *table, int kind, prem_mode mode,
                      int phase) {
  const lengths own = lengths_of(observed_of(visits, kind, mode), phase);
  const lengths calm = lengths_of(observed_of(visits, PREM_INTRUDER_NONE, mode), phase);
  char name[48];
  snprintf(name, sizeof name, "%s %s", prem_mode_name(mode), prem_phase_name((prem_phase)phase));
  prem_table_row(table, TEXT(name_of(visits, kind)), TEXT(name));
  add_length(table, own.p50);
  add_length(table, own.p999);
  add_length(table, own.max);
  prem_table_row(table, REAL(ratio(own.p50, calm.p50)), REAL(ratio(own.p999, calm.p999)),
                 REAL(ratio(own.max, calm.max)));
}

static void tell_phases(const prem_visits *visits, prem_findings *findings) {
  prem_table *table = prem_table_begin(
      findings, "phases", "Memory phases: of the slowest task, and against those undisturbed", NULL,
      "intruder; phase; median [us]; p99.9 [us]; longest [us]; isolation, median; isolation, "
      "p99.9; isolation, longest");
  for (int m = 0; m < MODES; ++m)
    for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
      for (int phase = PREM_PREFETCH; phase <= PREM_WRITEBACK && is_told(visits, kind);
           phase += PREM_WRITEBACK - PREM_PREFETCH)
        add_phase(visits, table, kind, modes[m], phase);
  /* A quick look has too few for p99.9. */
  const bool many =
      lengths_of(observed_of(visits, PREM_INTRUDER_NONE, PREM_MODE_TT), PREM_PREFETCH).p999 >= 0;
  prem_chart_add(findings, PREM_CHART_BARS, "phases", "Isolation ratio of memory phases",
                 "intruder", many ? "isolation, p99.9" : "isolation, median", "phase", 0);
}

/* ---- who stood still, and what the intruders did -------------------------------------------- */

static void add_standstills(prem_table *table, const char *intruder, const char *seen_by,
                            const prem_standstills *standstills) {
  if (standstills->watched_ns == 0)
    return;
  prem_table_row(table, TEXT(intruder), TEXT(seen_by), REAL((double)standstills->watched_ns / 1e6),
                 INT(standstills->count), REAL(us(standstills->longest_ns)),
                 REAL(prem_standstills_share_pct(standstills)));
}

static void tell_standstills(const prem_visits *visits, prem_findings *findings) {
  prem_table *table =
      prem_table_begin(findings, "stops", "Times in which everything stood still", NULL,
                       "intruder; seen by; watched [ms]; stops; longest [us]; share [%]");
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
    const prem_visit *visit = &visits->of[kind];
    if (!is_told(visits, kind))
      continue;
    add_standstills(table, name_of(visits, kind), "trace, tt", &visit->standstills[PREM_MODE_TT]);
    add_standstills(table, name_of(visits, kind), "trace, free",
                    &visit->standstills[PREM_MODE_FREE]);
    add_standstills(table, name_of(visits, kind), "clock beside it", &visit->done.seen);
    add_standstills(table, name_of(visits, kind), "intruder's clock", &visit->done.seen_by_them);
  }
  prem_chart_add(findings, PREM_CHART_BARS, "stops", "Share of the time that stood still",
                 "intruder", "share", "seen by", 0);
}

static void tell_activity(const prem_visits *visits, prem_findings *findings) {
  prem_table *table = prem_table_begin(findings, "activity", "What the intruders did", NULL,
                                       "intruder; lasted [s]; read and written [GB/s]");
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
    const prem_intrusion *done = &visits->of[kind].done;
    if (!is_told(visits, kind))
      continue;
    prem_table_row(
        table, TEXT(name_of(visits, kind)), REAL((double)done->lasted_ns * 1e-9),
        REAL_IF(done->lasted_ns > 0, (double)done->moved_bytes / (double)done->lasted_ns));
  }
}

/* ---- the sentence --------------------------------------------------------------------------- */

static void PREM_PRINTF(3, 4) append(char *text, size_t bytes, const char *format, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, bytes - used, format, args);
  va_end(args);
}

/* Two steps of the clock, or what the schedule itself does not call late. */
static int64_t kept_ns(const prem_visits *visits) {
  return prem_max_i64(STEPS_KEPT * visits->clock_step_ns, visits->schedule->platform.late_ns);
}

static void judge(const prem_visits *visits, prem_findings *findings) {
  char kept[160] = "", lost[400] = "";
  for (int kind = PREM_INTRUDER_NONE + 1; kind < PREM_INTRUDER_COUNT; ++kind) {
    if (!is_told(visits, kind))
      continue;
    const prem_variant_times *observed = observed_of(visits, kind, PREM_MODE_TT);
    const responses timed = responses_of(visits, kind, PREM_MODE_TT);
    const responses untimed = responses_of(visits, kind, PREM_MODE_FREE);
    if (timed.moved_ns <= kept_ns(visits))
      append(kept, sizeof kept, "%s%s", *kept ? ", " : "", name_of(visits, kind));
    else
      append(lost, sizeof lost,
             "%s%s (moved by %.1f us, free by %.1f; %" PRId64 " of %" PRId64 " releases late)",
             *lost ? ", " : "", name_of(visits, kind), us(timed.moved_ns), us(untimed.moved_ns),
             observed->late, observed->releases);
  }
  char said[800] = "";
  append(said, sizeof said, "tt %s its response times to within %.3f us beside: %s",
         *kept ? "keeps" : "does not keep", us(kept_ns(visits)), *kept ? kept : lost);
  if (*kept && *lost)
    append(said, sizeof said, "; it does not beside: %s", lost);
  prem_findings_verdict(findings, "%s.", said);
}

/* Both clocks are the GPU's: where two processes hold it by turns, each sees the other's turns as
 * gaps of its own. */
static void tell_sharing(const prem_visits *visits, prem_findings *findings) {
  const prem_visit *visit = &visits->of[PREM_INTRUDER_PROCESS];
  if (!is_told(visits, PREM_INTRUDER_PROCESS) || visit->done.seen.watched_ns == 0)
    return;
  const prem_standstills *ours = &visit->done.seen, *theirs = &visit->done.seen_by_them;
  const prem_standstills *trace = &visit->standstills[PREM_MODE_TT];
  const double share_pct = prem_standstills_share_pct(ours);
  if (share_pct < SHARED_PCT) {
    prem_findings_note(findings,
                       "The other process was co-resident: a clock beside the schedule stood still "
                       "for %.2f %% of its time only, the intruder's own for %.2f %%.",
                       share_pct, prem_standstills_share_pct(theirs));
    return;
  }
  prem_findings_note(
      findings,
      "The other process was time-sliced: a clock beside the schedule stood still %" PRId64
      " times, %.0f us at longest, %.1f %% of its time; the intruder's own %.1f %%.",
      ours->count, us(ours->longest_ns), share_pct, prem_standstills_share_pct(theirs));
  prem_findings_note(
      findings,
      "A run can see that by itself: in its trace all blocks stood still at once %" PRId64
      " times, %.0f us at longest, %.1f %% of the time.",
      trace->count, us(trace->longest_ns), prem_standstills_share_pct(trace));
}

static void tell_method(const prem_visits *visits, prem_findings *findings) {
  const bool gpu = visits->of[PREM_INTRUDER_NONE].done.seen.watched_ns > 0;
  prem_findings_note(findings,
                     "Schedule '%s'. Moved: how far a task's median or longest response time is "
                     "from that beside nobody, the larger of the two, of the task that moved most.",
                     visits->schedule->name);
  prem_findings_note(
      findings,
      "Standing still: no phase of any block begins or ends for 50 us though some are under way%s.",
      gpu ? "; for a clock, 50 us between two looks of a warp that does nothing else" : "");
  if (gpu)
    prem_findings_note(findings, "That warp is on an SM of its own, beside nobody as well. GPU "
                                 "kernels of intruders run on SMs that the schedule leaves.");
}

static void tell_outputs(const prem_visits *visits, prem_findings *findings) {
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
    for (int m = 0; m < MODES && is_told(visits, kind); ++m)
      prem_findings_output(findings, !observed_of(visits, kind, modes[m])->output_wrong);
}

void prem_visits_tell(prem_visits *visits, prem_findings *findings) {
  tell_responses(visits, findings);
  tell_releases(visits, findings);
  tell_phases(visits, findings);
  tell_standstills(visits, findings);
  tell_activity(visits, findings);
  tell_distribution(visits, findings);
  tell_outputs(visits, findings);
  tell_sharing(visits, findings);
  tell_method(visits, findings);
  judge(visits, findings);
}
