/* SPDX-License-Identifier: Apache-2.0 */
/* What intruders did, as findings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/distribution.h"
#include "experiments/thesis/intruders/visits.h"
#include "prem/base/numbers.h"

enum { STEPS_KEPT = 2 };

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

static void tell_distribution(const prem_visits *visits, prem_table *table) {
  for (int m = 0; m < MODES; ++m)
    for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind) {
      char series[64];
      if (!is_told(visits, kind))
        continue;
      snprintf(series, sizeof series, "%s, %s", prem_mode_name(modes[m]), name_of(visits, kind));
      add_distribution(table, series, observed_of(visits, kind, modes[m]));
    }
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

/* A quick look has too few for p99.9. */
static void draw_phases(const prem_visits *visits, prem_findings *findings) {
  const bool many =
      lengths_of(observed_of(visits, PREM_INTRUDER_NONE, PREM_MODE_TT), PREM_PREFETCH).p999 >= 0;
  prem_chart_add(findings, PREM_CHART_BARS, "phases", "Isolation ratio of memory phases",
                 "intruder", many ? "isolation, p99.9" : "isolation, median", "phase", 0);
}

/* ---- what is found -------------------------------------------------------------------------- */

/* Two steps of the clock, or what the schedule itself does not call late. */
static int64_t kept_ns(const prem_visits *visits) {
  return prem_max_i64(STEPS_KEPT * visits->clock_step_ns, visits->schedule->platform.late_ns);
}

static void give_lengths(prem_table *found, lengths of) {
  prem_table_row(found, INT_IF(of.p50 >= 0, of.p50), INT_IF(of.p999 >= 0, of.p999),
                 INT_IF(of.max >= 0, of.max));
}

static void give_standstills(prem_table *found, const prem_standstills *of) {
  prem_table_row(found, INT(of->watched_ns), INT(of->count), INT(of->longest_ns),
                 REAL(prem_standstills_share_pct(of)));
}

static void give(const prem_visits *visits, int kind, prem_mode mode, prem_table *found) {
  const prem_visit *visit = &visits->of[kind];
  const prem_variant_times *observed = observed_of(visits, kind, mode),
                           *calm = observed_of(visits, PREM_INTRUDER_NONE, mode);
  const responses all = responses_of(visits, kind, mode);
  const prem_times *launch = &visit->launch_ns[mode];
  prem_table_row(found, TEXT(name_of(visits, kind)), TEXT(prem_mode_name(mode)),
                 TEXT(visits->schedule->name), INT(kind), INT(all.count), REAL(all.mean_ns),
                 INT(all.longest_ns), INT(all.spread_ns), REAL(all.spread_pct), INT(all.moved_ns),
                 INT(responses_of(visits, kind, PREM_MODE_FREE).moved_ns),
                 REAL_IF(launch->count > 0, launch->sum_ns / (double)launch->count),
                 INT_IF(launch->count > 0, launch->max_ns), INT(observed->releases),
                 INT(observed->late), INT_IF(observed->releases > 0, observed->lateness_max_ns),
                 INT(observed->overruns), INT(observed->output_wrong), INT(kept_ns(visits)),
                 INT(visit->done.lasted_ns), INT(visit->done.moved_bytes));
  for (int phase = PREM_PREFETCH; phase <= PREM_WRITEBACK;
       phase += PREM_WRITEBACK - PREM_PREFETCH) {
    give_lengths(found, lengths_of(observed, phase));
    give_lengths(found, lengths_of(calm, phase));
  }
  give_standstills(found, &visit->standstills[mode]);
  give_standstills(found, &visit->done.seen);
  give_standstills(found, &visit->done.seen_by_them);
}

void prem_visits_give(const prem_visits *visits, const prem_probe_call *call) {
  for (int kind = 0; kind < PREM_INTRUDER_COUNT; ++kind)
    for (int m = 0; m < MODES && is_told(visits, kind); ++m)
      give(visits, kind, modes[m], call->found);
  tell_distribution(visits, prem_probe_table(call, "distribution"));
  draw_phases(visits, call->findings);
}
