/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/sweep/quantities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "p95" or "p99.5" as a share. */
static bool is_percentile(const char *name, double *share) {
  char *end;
  if (name[0] != 'p' || name[1] < '0' || name[1] > '9')
    return false;
  *share = strtod(name + 1, &end) / 100;
  return !*end && *share <= 1;
}

static bool is(const char *name, const char *word, double value, double *out) {
  if (strcmp(name, word) != 0)
    return false;
  *out = value;
  return true;
}

static bool of_times(const prem_times *times, const char *name, double by, double *out) {
  double share;
  const bool any = times->count > 0;
  if (is(name, "count", (double)times->count, out))
    return true;
  const bool known = is(name, "mean", any ? times->sum_ns / (double)times->count : 0.0, out) ||
                     is(name, "min", (double)times->min_ns, out) ||
                     is(name, "max", (double)times->max_ns, out);
  if (!known && !is_percentile(name, &share))
    return false;
  if (!known)
    *out = (double)prem_times_at(times, share);
  *out = any ? *out / by : (double)NAN;
  return true;
}

static bool of_summary(const prem_summary *summary, const char *name, double *out) {
  return is(name, "mean", summary->mean, out) || is(name, "p50", (double)summary->p50, out) ||
         is(name, "min", (double)summary->min, out) || is(name, "max", (double)summary->max, out);
}

static bool of_makespan(const prem_outcome *outcome, const char *name, double *out) {
  double share;
  if (of_summary(&outcome->row->makespan_ns, name, out)) {
    *out = prem_of_runs(outcome->row, *out);
    return true;
  }
  if (!is_percentile(name, &share))
    return false;
  *out = prem_makespan_at(outcome, share);
  return true;
}

static bool of_row(const prem_row *row, const char *name, double *out) {
  const bool timed = row->releases > 0;
  const double late = timed ? 100.0 * (double)row->late_releases / (double)row->releases : 0.0;
  if (is(name, "samples", (double)row->samples, out) ||
      is(name, "releases", (double)row->releases, out))
    return true;
  if (is(name, "jitter", row->jitter_pct, out) ||
      is(name, "jitter_ns", (double)row->jitter_ns, out)) {
    *out = prem_of_runs(row, *out);
    return true;
  }
  if (!is(name, "late", late, out) && !is(name, "lateness", (double)row->lateness_max_ns, out) &&
      !is(name, "overruns", (double)row->overruns, out))
    return false;
  *out = timed ? *out : (double)NAN;
  return true;
}

/* "prefetch.p99", "beside.prefetch.p50" in per cent, "apart.prefetch.max"; `planned` as in
 * prem_lengths. */
static bool of_phases(const prem_outcome *outcome, const char *name, double *out) {
  const bool is_beside = strncmp(name, "beside.", 7) == 0;
  const bool is_apart = strncmp(name, "apart.", 6) == 0;
  const char *phase = name + (is_beside ? 7 : is_apart ? 6 : 0);
  const prem_times *all = is_beside  ? outcome->beside
                          : is_apart ? outcome->reference
                                     : outcome->phase;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const char *word = prem_phase_name((prem_phase)p);
    const size_t length = strlen(word);
    if (strncmp(phase, word, length) != 0 || phase[length] != '.')
      continue;
    if (!is_beside && !is_apart && strcmp(phase + length + 1, "planned") == 0) {
      *out = all[p].count > 0 ? (double)prem_lengths_of(outcome).planned[p] : (double)NAN;
      return true;
    }
    return of_times(&all[p], phase + length + 1, is_beside ? 10.0 : 1.0, out);
  }
  return false;
}

static bool of_outcome(const prem_result *result, const prem_outcome *outcome, const char *name,
                       double *out) {
  if (strncmp(name, "makespan.", 9) == 0)
    return of_makespan(outcome, name + 9, out);
  if (strncmp(name, "span.", 5) == 0)
    return of_times(&outcome->span, name + 5, 1.0, out);
  if (strncmp(name, "response.", 9) == 0) { /* of the first task */
    const prem_summary none = {0};
    return of_summary(outcome->row->tasks ? &outcome->row->tasks[0].response_ns : &none, name + 9,
                      out);
  }
  if (strncmp(name, "handover.", 9) == 0)
    return of_times(&outcome->handover, name + 9, 1.0, out);
  return is(name, "records",
            outcome->row->example ? (double)outcome->row->example->record_count : 0.0, out) ||
         is(name, "hyperperiod", (double)result->hyperperiod_ns, out) ||
         is(name, "waiting", outcome->waiting_pct, out) ||
         is(name, "at_once", outcome->at_once, out) || of_row(outcome->row, name, out) ||
         of_phases(outcome, name, out);
}

static bool of_runs(const prem_ordinary_summary *all, const char *name, double *out) {
  return is(name, "mean", all->mean_ns, out) || is(name, "p50", all->median_ns, out) ||
         is(name, "min", all->min_ns, out) || is(name, "max", all->max_ns, out);
}

/* Some are named as those of a schedule are; "own.mean" and the like are of the first kernel. */
static bool of_ordinary(const prem_ordinary_found *found, const char *name, double *out) {
  if (strncmp(name, "makespan.", 9) == 0)
    return of_runs(&found->scenario, name + 9, out);
  if (strncmp(name, "span.", 5) == 0)
    return of_runs(&found->scenario, name + 5, out);
  if (strncmp(name, "own.", 4) == 0)
    return of_runs(&found->own, name + 4, out) ||
           is(name + 4, "jitter", found->own.jitter_pct, out);
  return is(name, "jitter", found->scenario.jitter_pct, out) ||
         is(name, "samples", (double)found->runs, out) ||
         is(name, "elsewhere", (double)found->elsewhere, out);
}

/* The nearest rank, as elsewhere. */
static bool of_numbers(const prem_sweep_measured *measured, const char *name, double *out) {
  const int64_t count = measured->number_count;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += measured->numbers[i];
  if (is(name, "mean", count > 0 ? sum / (double)count : (double)NAN, out))
    return true;
  double share = strcmp(name, "max") == 0 ? 1.0 : 0.0;
  if (share == 0.0 && strcmp(name, "min") != 0 && !is_percentile(name, &share))
    return false;
  const int64_t rank = (int64_t)ceil(share * (double)count);
  *out = count > 0 ? measured->numbers[rank > 0 ? rank - 1 : 0] : (double)NAN;
  return true;
}

static bool of_walk(const prem_walk_time *walk, const char *name, double *out) {
  const bool known =
      is(name, "mean", walk->mean_ns, out) || is(name, "min", walk->min_ns, out) ||
      is(name, "max", walk->max_ns, out) || is(name, "cycles", walk->mean_cycles, out) ||
      is(name, "overhead", walk->overhead_ns, out) || is(name, "together", walk->together, out) ||
      is(name, "repeats", walk->repeats, out);
  if (walk->repeats == 0)
    *out = (double)NAN;
  return known;
}

bool prem_sweep_quantity(const prem_sweep_measured *measured, const char *name, double *out) {
  static const prem_result no_result;
  static const prem_row no_row;
  static const prem_outcome no_outcome = {.row = &no_row};
  if (measured->is_walk)
    return of_walk(&measured->walk, name, out);
  if (measured->is_tally)
    return of_numbers(measured, name, out);
  const bool is_schedule = measured->outcome != NULL;
  const bool known = (!measured->is_ordinary &&
                      of_outcome(is_schedule ? measured->result : &no_result,
                                 is_schedule ? measured->outcome : &no_outcome, name, out)) ||
                     (!is_schedule && of_ordinary(&measured->ordinary, name, out));
  const bool other = !known && measured->is_ordinary &&
                     of_outcome(&no_result, &no_outcome, name, out); /* one of tiles alone */
  if ((!is_schedule && !measured->is_ordinary) || other)
    *out = (double)NAN;
  return known || other;
}
