/* SPDX-License-Identifier: Apache-2.0 */
/* A result as data: JSON with its provenance, raw samples and an example's phases beside it. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/csv_quote.h"
#include "prem/base/fail.h"
#include "report/json_pieces.h"
#include "report/provenance.h"
#include "report/result_phases.h"
#include "ttprem/measure.h"
#include "ttprem/output.h"

/** INT64_MIN stands for a number that does not exist. */
static json_t *integer_or_null(int64_t value) {
  return value == INT64_MIN ? json_null() : integer(value);
}

static json_t *summary_json(const prem_summary *summary) {
  bool any = summary->count > 0;
  json_t *object = json_object();
  bool whole = put(object, "count", integer(summary->count));
  whole &= put(object, "min", any ? integer(summary->min) : json_null());
  whole &= put(object, "mean", any ? json_real(summary->mean) : json_null());
  whole &= put(object, "p50", any ? integer(summary->p50) : json_null());
  whole &= put(object, "p99", any ? integer_or_null(summary->p99) : json_null());
  whole &= put(object, "p999", any ? integer_or_null(summary->p999) : json_null());
  whole &= put(object, "max", any ? integer(summary->max) : json_null());
  return finished(object, whole);
}

/** Pairs [largest lateness of the bucket, count]; the last bucket has no bound. */
static json_t *histogram_json(const int64_t *buckets) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int b = 0; b < PREM_HIST_BUCKETS; ++b) {
    if (buckets[b] == 0)
      continue;
    json_t *bound = b == PREM_HIST_BUCKETS - 1 ? json_null() : integer((INT64_C(1) << b) - 1);
    json_t *pair = json_array();
    whole &= json_array_append_new(pair, bound) == 0;
    whole &= json_array_append_new(pair, integer(buckets[b])) == 0;
    whole &= json_array_append_new(list, pair) == 0;
  }
  return finished(list, whole);
}

static json_t *schedule_json(const prem_result *result) {
  json_t *object = json_object();
  bool whole = put(object, "name", text(result->schedule_name));
  whole &= put(object, "sha256", text(result->schedule_sha256));
  whole &= put(object, "hyperperiod_ns", integer(result->hyperperiod_ns));
  return finished(object, whole);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static json_t *phase_json(const prem_phase_counts *counts, int64_t wcet_ns) {
  bool any = counts->count > 0;
  json_t *object = json_object();
  bool whole = put(object, "wcet_ns", wcet_ns > 0 ? integer(wcet_ns) : json_null());
  whole &= put(object, "woet_ns", any ? integer(counts->duration_max_ns) : json_null());
  whole &= put(object, "alone_ns", json_null());
  whole &= put(object, "min_ns", any ? integer(counts->duration_min_ns) : json_null());
  whole &=
      put(object, "mean_ns",
          any ? json_real((double)counts->duration_sum_ns / (double)counts->count) : json_null());
  whole &= put(object, "count", integer(counts->count));
  whole &= put(object, "releases", integer(counts->releases));
  whole &= put(object, "late_releases", integer(counts->late));
  whole &= put(object, "lateness_max_ns", integer_or_null(counts->lateness_max_ns));
  whole &= put(object, "overruns", integer(counts->overruns));
  whole &= put(object, "overrun_max_ns", integer(counts->overrun_max_ns));
  return finished(object, whole);
}

/** Why its releases were late, of each phase that was or that made others late. */
static json_t *late_causes_json(const prem_row *row, int64_t t) {
  static const prem_late_causes none;
  const prem_task_result *task = &row->tasks[t];
  json_t *phases = json_object();
  bool whole = phases != NULL;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_late_causes *late = row->late ? &row->late[t * PREM_PHASE_COUNT + p] : &none;
    if (task->phase[p].late == 0 && late->blamed == 0)
      continue;
    json_t *object = json_object();
    for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
      whole &= put(object, prem_cause_name((prem_cause)cause), integer(late->count[cause]));
    whole &= put(object, "blamed", integer(late->blamed));
    whole &= put(object, "widen_ns", integer(late->widen_ns));
    whole &= put(phases, prem_phase_name((prem_phase)p), object);
  }
  return finished(phases, whole);
}

/** What the waits of its late releases began with. */
static json_t *first_cause_json(const void *of, int64_t number) {
  const prem_row *row = of;
  const prem_first_cause *first = &row->first.causes[number];
  const bool is_handover = first->kind == PREM_FIRST_HANDOVER;
  json_t *object = json_object();
  bool whole = put(object, "kind", text(prem_first_kind_name(first->kind)));
  whole &= put(object, "task", text(row->tasks[first->task].name));
  whole &= put(object, "phase", text(prem_phase_name(first->phase)));
  whole &= put(object, "joined", json_boolean(first->joined));
  whole &= put(object, "from", is_handover ? text(row->tasks[first->from].name) : json_null());
  whole &= put(object, "late_releases", integer(first->late));
  whole &= put(object, "lateness_max_ns", integer(first->lateness_max_ns));
  whole &= put(object, "widen_ns", integer(first->widen_ns));
  whole &= put(object, "run", integer(first->run));
  whole &= put(object, "block", integer(first->block));
  whole &= put(object, "job", integer(first->job));
  whole &= put(object, "tile", integer(first->tile));
  whole &= put(object, "at_ns", integer(first->start_ns));
  return finished(object, whole);
}

static bool put_padded(json_t *object, const prem_padded *padded) {
  bool whole = put(object, "published_ns", integer(padded->published_ns));
  whole &= put(object, "missed", integer(padded->missed));
  return whole & put(object, "missed_disturbed", integer(padded->missed_disturbed));
}

static json_t *percentile_json(const prem_padded *padded) {
  if (padded->published_ns < 0)
    return json_null();
  json_t *object = json_object();
  return finished(object, put_padded(object, padded));
}

/** Instants at which outputs count, set by the first half of the times; null without one there. */
static json_t *padded_json(const prem_padding *padded) {
  if (padded->at[PREM_PADDING_LONGEST].published_ns < 0)
    return json_null();
  json_t *object = json_object();
  bool whole = put(object, "trained", integer(padded->trained));
  whole &= put(object, "judged", integer(padded->judged));
  whole &= put(object, "judged_disturbed", integer(padded->judged_disturbed));
  whole &= put_padded(object, &padded->at[PREM_PADDING_LONGEST]);
  whole &= put(object, "p9999", percentile_json(&padded->at[PREM_PADDING_P9999]));
  whole &= put(object, "p99999", percentile_json(&padded->at[PREM_PADDING_P99999]));
  return finished(object, whole);
}

/** Jobs and missed deadlines; null: not known, or there is no deadline. */
static bool put_deadlines(json_t *object, const prem_deadlines *of) {
  bool whole = put(object, "jobs", integer_if_known(of->jobs));
  return whole & put(object, "missed", integer_if_known(of->missed));
}

static json_t *task_json(const void *of, int64_t t) {
  const prem_row *row = of;
  const prem_task_result *task = &row->tasks[t];
  json_t *phases = json_object();
  bool whole = phases != NULL;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->wcet_ns[p] > 0 || task->phase[p].count > 0)
      whole &= put(phases, prem_phase_name((prem_phase)p),
                   phase_json(&task->phase[p], task->wcet_ns[p]));
  json_t *object = json_object();
  json_t *undisturbed = json_object();
  whole &= put(object, "name", text(task->name));
  whole &= put(object, "period_ns", task->period_ns > 0 ? integer(task->period_ns) : json_null());
  whole &=
      put(object, "deadline_ns", task->deadline_ns > 0 ? integer(task->deadline_ns) : json_null());
  whole &= put_deadlines(object, &task->all);
  whole &= put_deadlines(undisturbed, &task->undisturbed);
  whole &= put(object, "undisturbed", undisturbed);
  whole &= put(object, "all_response_ns", summary_json(&task->all_response_ns));
  whole &= put(object, "response_ns", summary_json(&task->response_ns));
  whole &= put(object, "published_ns", integer_if_known(task->published_ns));
  whole &= put(object, "padded", padded_json(&task->padded));
  whole &= put(object, "phases", phases);
  whole &= put(object, "late_causes", late_causes_json(row, t));
  return finished(object, whole);
}

static const char *exclusivity_name(prem_exclusivity exclusivity) {
  switch (exclusivity) {
  case PREM_EXCLUSIVE_BLOCK:
    return "block";
  case PREM_EXCLUSIVE_GANG:
    return "gang";
  case PREM_EXCLUSIVE_REGULATED:
    return "regulated";
  case PREM_EXCLUSIVE_NONE:
    break;
  }
  return "none";
}

static bool put_counts(json_t *object, const prem_row *row) {
  /* Nothing judged is not the same as nothing found. */
  bool judged =
      row->violations_checked > 0 || row->violations_certain > 0 || row->violations_possible > 0;
  bool whole = put(object, "releases", integer(row->releases));
  whole &= put(object, "late_releases", integer(row->late_releases));
  whole &= put(object, "lateness_max_ns", integer_or_null(row->lateness_max_ns));
  whole &= put(object, "lateness_hist", histogram_json(row->lateness_hist));
  whole &= put(object, "overruns", integer(row->overruns));
  whole &=
      put(object, "violations_certain", judged ? integer(row->violations_certain) : json_null());
  whole &=
      put(object, "violations_possible", judged ? integer(row->violations_possible) : json_null());
  whole &= put(object, "violations_checked", integer(row->violations_checked));
  whole &= put(object, "stops", integer(row->standstills));
  whole &= put(object, "stop_longest_ns", integer(row->standstill_max_ns));
  whole &= put(object, "trace_lost", integer(row->trace_lost));
  whole &= put(object, "warmup_phases", integer(row->warmup_phases));
  return whole;
}

/** A sample as [after, makespan_ns, away_ns]. */
static json_t *disturbed_sample_json(const void *samples, int64_t number) {
  const prem_disturbed_sample *sample = (const prem_disturbed_sample *)samples + number;
  return json_pack("[III]", (json_int_t)sample->after, (json_int_t)sample->makespan_ns,
                   (json_int_t)sample->away_ns);
}

static json_t *disturbed_json(const prem_disturbed *disturbed) {
  json_t *object = json_object();
  bool whole = put(object, "count", integer(disturbed->count));
  whole &= put(object, "jobs", integer(disturbed->jobs));
  whole &= put(object, "mixed", json_boolean(disturbed->mixed));
  whole &= put(object, "counts_mixed", json_boolean(disturbed->counts_mixed));
  whole &= put(object, "longest_away_ns", integer(disturbed->longest_away_ns));
  whole &= put(object, "releases", integer(disturbed->releases));
  whole &= put(object, "late_releases", integer(disturbed->late_releases));
  whole &= put(object, "overruns", integer(disturbed->overruns));
  whole &=
      put(object, "samples", list_of(disturbed->count, disturbed_sample_json, disturbed->samples));
  return finished(object, whole);
}

/** [launch, start_ns, length_ns], from the first reading of the launch's sentinel. */
static json_t *stall_json(const void *stalls, int64_t number) {
  const prem_stall *stall = &((const prem_stalls *)stalls)->kept[number];
  return json_pack("[III]", (json_int_t)stall->launch, (json_int_t)stall->start_ns,
                   (json_int_t)stall->length_ns);
}

static json_t *stalls_json(const prem_row *row) {
  const prem_stalls *stalls = &row->stalls;
  json_t *object = json_object();
  bool whole = put(object, "watched_ns", integer(stalls->watched_ns));
  whole &= put(object, "count", integer(stalls->count));
  whole &= put(object, "longest_ns", integer(stalls->longest_ns));
  whole &= put(object, "sum_ns", integer(stalls->sum_ns));
  whole &= put(object, "unwatched_jobs", integer(row->disturbed.unwatched));
  whole &= put(object, "sm", integer(stalls->sm));
  whole &= put(object, "own_sm", json_boolean(stalls->has_own_sm));
  whole &= put(object, "list", list_of(stalls->kept_count, stall_json, stalls));
  return finished(object, whole);
}

static bool put_makespan(json_t *object, const prem_row *row) {
  bool any = row->samples > 0;
  bool whole = put(object, "makespan_ns", summary_json(&row->makespan_ns));
  whole &= put(object, "jitter_ns", any ? integer(row->jitter_ns) : json_null());
  whole &= put(object, "jitter_pct", any ? json_real(row->jitter_pct) : json_null());
  whole &= put(object, "max_minus_mean_ns", any ? integer(row->max_minus_mean_ns) : json_null());
  return whole;
}

/** Reaction and data age of the chains; nothing where the schedule names none. */
static bool put_chains(json_t *object, const prem_row *row, const prem_schedule *schedule) {
  if (row->chain_count == 0)
    return true;
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int32_t c = 0; c < row->chain_count; ++c) {
    const prem_chain *chain = &schedule->measure.chains[c];
    json_t *entry = json_object(), *tasks = json_array();
    for (int32_t i = 0; i < chain->task_count; ++i)
      whole &= json_array_append_new(tasks, text(schedule->tasks[chain->tasks[i]].name)) == 0;
    whole &= put(entry, "name", text(row->chains[c].name));
    whole &= put(entry, "tasks", tasks);
    whole &= put(entry, "reaction_ns", summary_json(&row->chains[c].reaction_ns));
    whole &= put(entry, "age_ns", summary_json(&row->chains[c].age_ns));
    whole &= json_array_append_new(list, entry) == 0;
  }
  return whole & put(object, "chains", list);
}

static json_t *gate_overrun_json(const prem_best_effort_result *task) {
  const prem_gate_overrun *longest = &task->counts.longest;
  if (task->counts.overruns == 0)
    return json_null();
  json_t *object = json_object();
  bool whole = put(object, "by_ns", integer(longest->by_ns));
  whole &= put(object, "window_of", text(task->into));
  whole &= put(object, "window_at_ns", integer(longest->at_ns));
  whole &= put(object, "launch", integer(task->run));
  whole &= put(object, "block", integer(longest->block));
  whole &= put(object, "phase", text(prem_phase_name(longest->phase)));
  whole &= put(object, "tile", integer(longest->tile));
  return finished(object, whole);
}

static json_t *errands_json(const prem_best_effort_result *task) {
  const prem_errand_counts *errands = &task->counts.errands;
  const int64_t done = errands->ended[PREM_ERRAND_DONE];
  json_t *object = json_object();
  bool whole = put(object, "sent", integer(errands->sent));
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    whole &= put(object, prem_errand_end_name((prem_errand_end)e), integer(errands->ended[e]));
  whole &= put(object, "late", integer(errands->late));
  whole &= put(object, "no_room", integer(errands->full));
  whole &= put(object, "response_mean_ns",
               done > 0 ? json_real((double)errands->response_sum_ns / (double)done) : json_null());
  whole &=
      put(object, "response_max_ns", done > 0 ? integer(errands->response_max_ns) : json_null());
  whole &= put(object, "response_ns", summary_json(&task->response_ns));
  whole &= put(object, "bound_ns", integer_if_known(task->bound_ns));
  return finished(object, whole);
}

static json_t *beside_json(const void *of, int64_t t) {
  const prem_row *row = of;
  const prem_best_effort_result *task = &row->best_effort[t];
  const prem_best_effort_counts *counts = &task->counts;
  const double seconds = (double)row->best_effort_ns * 1e-9;
  const bool ran = row->best_effort_ns > 0;
  json_t *object = json_object();
  bool whole = put(object, "name", text(task->name));
  whole &= put(object, "jobs", integer(counts->jobs));
  whole &= put(object, "tiles", integer(counts->tiles));
  whole &= put(object, "job_tiles", integer(task->job_tiles));
  whole &= put(object, "bytes", integer(counts->bytes));
  whole &= put(object, "jobs_per_s", ran ? json_real((double)counts->jobs / seconds) : json_null());
  whole &=
      put(object, "bytes_per_s", ran ? json_real((double)counts->bytes / seconds) : json_null());
  whole &= put(object, "gate_waits", integer(counts->waits));
  whole &= put(object, "gate_wait_ns", integer(counts->wait_ns));
  whole &= put(object, "gate_overruns", integer(counts->overruns));
  whole &= put(object, "longest_gate_overrun", gate_overrun_json(task));
  if (task->serves)
    whole &= put(object, "errands", errands_json(task));
  return finished(object, whole);
}

/** Nothing where the schedule has no best-effort tasks. */
static bool put_best_effort(json_t *object, const prem_row *row) {
  if (row->best_effort_count == 0)
    return true;
  json_t *group = json_object();
  bool whole = put(group, "gated", json_boolean(row->gated));
  whole &= put(group, "open_share", json_real(row->open_share));
  whole &= put(group, "length_ns", integer(row->best_effort_ns));
  whole &= put(group, "unverified_launches", integer(row->partly_verified));
  whole &= put(group, "tasks", list_of(row->best_effort_count, beside_json, row));
  return whole & put(object, "best_effort", group);
}

/** Which runs the phases are of, where they are not of the first alone. */
static bool put_worst(json_t *object, const prem_row *row) {
  prem_kept_run kept[PREM_MAX_KEPT];
  if (prem_row_kept(row, kept) < 2)
    return true;
  json_t *worst = json_object();
  bool whole = put(worst, "run", integer(row->worst.run));
  whole &= put(worst, "by", text(row->releases > 0 ? "lateness" : "makespan"));
  whole &= put(worst, "ns", integer(row->worst_ns));
  const bool has_before = row->before.trace && row->before.trace->record_count > 0;
  whole &= put(worst, "before", has_before ? integer(row->before.run) : json_null());
  whole &= put(worst, "first", integer(row->example_run));
  return whole & put(object, "worst", worst);
}

/** @param samples  name of the file with the raw samples; NULL: there is none. */
static json_t *row_json(const prem_row *row, const prem_schedule *schedule, const char *samples) {
  json_t *object = json_object();
  bool whole = put(object, "label", text(row->label));
  whole &= put(object, "mode", text(prem_mode_name(row->mode)));
  whole &= put(object, "setup", row->mode_note[0] ? text(row->mode_note) : json_null());
  whole &= put(object, "backend", text(row->backend));
  whole &= put(object, "scenario", text(row->scenario == PREM_RESIDENT ? "resident" : "relaunch"));
  whole &= put(object, "exclusivity", text(exclusivity_name(row->exclusivity)));
  whole &= put(object, "repeats", integer(row->samples));
  whole &= put(object, "discarded", integer(row->discarded));
  whole &= put_makespan(object, row);
  whole &= put(object, "padded", padded_json(&row->padded));
  whole &= put(object, "launch_ns", summary_json(&row->launch_ns));
  whole &= put_counts(object, row);
  whole &= put(object, "hyperperiods", integer(row->hyperperiods));
  whole &= put(object, "verified_hyperperiods", integer(row->verified_hyperperiods));
  whole &= put(object, "output_ok",
               row->output_checked && !prem_row_is_partial(row) ? json_boolean(row->output_ok)
                                                                : json_null());
  whole &= put(object, "oversubscribed", json_boolean(row->oversubscribed));
  whole &= put_worst(object, row);
  whole &= put(object, "first_causes", list_of(row->first.count, first_cause_json, row));
  whole &= put(object, "tasks", list_of(row->task_count, task_json, row));
  whole &= put_best_effort(object, row);
  whole &= put_chains(object, row, schedule);
  whole &= put(object, "samples", samples ? text(samples) : json_null());
  if (row->disturbed.watched)
    whole &= put(object, "disturbed", disturbed_json(&row->disturbed));
  if (row->stalls.watched_ns > 0)
    whole &= put(object, "stalls", stalls_json(row));
  return finished(object, whole);
}

static json_t *candidate_json(const prem_launch_candidate *candidate,
                              const prem_schedule *schedule) {
  json_t *object = json_object();
  bool whole = put(object, "task", text(schedule->tasks[candidate->task].name));
  whole &= put(object, "way", text(candidate->way));
  whole &= put(object, "alone_ns", integer(candidate->alone_ns));
  whole &= put(object, "together_ns", integer_if_known(candidate->together_ns));
  whole &= put(object, "chosen", json_boolean(candidate->chosen));
  whole &= put(object, "output_ok", json_boolean(!candidate->wrong));
  return finished(object, whole);
}

/** The ways to launch ordinary kernels that were tried; null without a mode that does so. */
static json_t *launch_search_json(const prem_launch_search *launch_search,
                                  const prem_schedule *schedule) {
  if (launch_search->candidate_count == 0)
    return json_null();
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int32_t i = 0; i < launch_search->candidate_count; ++i)
    whole &=
        json_array_append_new(list, candidate_json(&launch_search->candidates[i], schedule)) == 0;
  return finished(list, whole);
}

/** A mode that was asked for and not possible. */
static json_t *left_out_json(const void *of, int64_t number) {
  const prem_result *result = of;
  json_t *object = json_object();
  bool whole = put(object, "mode", text(prem_mode_name(result->left_out[number].mode)));
  return finished(object, whole & put(object, "reason", text(result->left_out[number].reason)));
}

/** Which phases the file has; null without one. */
static json_t *phases_json(const prem_phases *phases, const char *file) {
  if (!file || phases->block_count == 0)
    return json_null();
  json_t *object = json_object();
  bool whole = put(object, "file", text(file));
  whole &= put(object, "blocks", integer(phases->block_count));
  whole &= put(object, "all_blocks", integer(phases->schedule->platform.blocks));
  whole &= put(object, "most_of_a_row", integer(phases->max));
  return finished(object, whole);
}

/** Names of the files beside the result; NULL where there is none. */
typedef struct side_files {
  char *samples, *phases;
} side_files;

/** The limit of `--break`, and the release that came later: null when none did. */
static json_t *break_json(const prem_result *result) {
  const prem_break *broke = &result->broke;
  const bool known = broke->has_place;
  json_t *object = json_object();
  bool whole = put(object, "limit_ns", integer(result->break_ns));
  if (!broke->found)
    return finished(object, whole & put(object, "at", json_null()));
  json_t *at = json_object();
  whole &= put(at, "mode", text(prem_mode_name(broke->mode)));
  whole &= put(at, "task", text(result->rows[0].tasks[broke->task].name));
  whole &= put(at, "phase", text(prem_phase_name(broke->phase)));
  whole &= put(at, "lateness_ns", integer(broke->lateness_ns));
  whole &= put(at, "run", known ? integer(broke->run) : json_null());
  whole &= put(at, "block", known ? integer(broke->block) : json_null());
  whole &= put(at, "job", known ? integer(broke->job) : json_null());
  whole &= put(at, "tile", known ? integer(broke->tile) : json_null());
  whole &= put(at, "release_ns", known ? integer(broke->planned_ns) : json_null());
  return finished(object, whole & put(object, "at", at));
}

static json_t *result_json(const prem_result *result, const prem_schedule *schedule,
                           const char *command, const char *samples, json_t *phases) {
  json_t *rows = json_array();
  bool whole = rows != NULL;
  for (int32_t i = 0; i < result->row_count; ++i)
    whole &= json_array_append_new(rows, row_json(&result->rows[i], schedule, samples)) == 0;
  json_t *object = json_object();
  whole &= put(object, "schema", json_string("ttprem.result/1"));
  whole &=
      put(object, "provenance",
          prem_provenance_json(&result->machine, command, result->began_unix_s, &result->seed));
  whole &= put(object, "schedule", schedule_json(result));
  whole &= put(object, "late_ns", integer(result->late_ns));
  whole &= put(object, "interrupted", json_boolean(result->interrupted));
  if (result->break_ns > 0)
    whole &= put(object, "break", break_json(result));
  whole &= put(object, "rows", rows);
  whole &= put(object, "left_out", list_of(result->left_out_count, left_out_json, result));
  whole &= put(object, "phases", phases);
  whole &= put(object, "legacy_trials", launch_search_json(&result->launch_search, schedule));
  return finished(object, whole);
}

/* ---- raw samples ---------------------------------------------------------------------------- */

static bool any_watched(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].disturbed.watched)
      return true;
  return false;
}

static void write_samples_header(FILE *file, const prem_result *result,
                                 const prem_schedule *schedule) {
  fputs("run,label,makespan_ns", file);
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    int64_t jobs = prem_task_jobs(schedule, &schedule->tasks[t]);
    for (int64_t j = 0; j < jobs; ++j) {
      char name[PREM_NAME_BYTES + 48];
      if (jobs == 1)
        snprintf(name, sizeof name, "%s response_ns", schedule->tasks[t].name);
      else
        snprintf(name, sizeof name, "%s job %" PRId64 " response_ns", schedule->tasks[t].name, j);
      fputc(',', file);
      prem_csv_quote(file, name);
    }
  }
  fputs(any_watched(result) ? ",disturbed\n" : "\n", file);
}

/** Which of a sample's jobs were disturbed, by the number of their column, from 0. */
static void write_disturbed(FILE *file, const prem_row *row, const int64_t *away_ns) {
  const char *before = "";
  for (int64_t j = 0; j < row->job_count; ++j)
    if (away_ns[j] > 0) {
      fprintf(file, "%s%" PRId64, before, j);
      before = " ";
    }
}

static bool is_disturbed(const prem_row *row, int64_t sample) {
  for (int64_t j = 0; row->disturbed.watched && j < row->job_count; ++j)
    if (row->away_samples_ns[sample * row->job_count + j] > 0)
      return true;
  return false;
}

static void write_samples(FILE *file, const prem_result *result, const prem_schedule *schedule) {
  const bool watched = any_watched(result);
  write_samples_header(file, result, schedule);
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    int64_t kept = 0, apart = 0;
    for (int64_t s = 0; s < row->all_samples; ++s) {
      const bool is_apart = !row->disturbed.mixed && is_disturbed(row, s);
      fprintf(file, "%" PRId64 ",", s);
      prem_csv_quote(file, row->label);
      fprintf(file, ",%" PRId64,
              is_apart ? row->disturbed.samples[apart++].makespan_ns : row->samples_ns[kept++]);
      for (int64_t j = 0; j < row->job_count; ++j)
        if (prem_mode_computes(row->mode))
          fprintf(file, ",%" PRId64, row->response_samples_ns[s * row->job_count + j]);
        else
          fputc(',', file);
      if (watched)
        fputc(',', file);
      if (watched && row->disturbed.watched)
        write_disturbed(file, row, &row->away_samples_ns[s * row->job_count]);
      fputc('\n', file);
    }
  }
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/** PATH with `extension` for its own; free with free(). */
static char *beside(const char *path, const char *extension) {
  const char *name = base_name(path);
  const char *dot = strrchr(name, '.');
  size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
  char *made = NULL;
  return asprintf(&made, "%.*s%s", (int)stem, path, extension) < 0 ? NULL : made;
}

char *prem_result_side(const char *path, int number) {
  static const char *const extensions[PREM_RESULT_SIDES] = {".samples.csv", ".phases.csv"};
  return beside(path, extensions[number]);
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool dump(json_t *root, FILE *file) {
  bool written = json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0;
  return fputc('\n', file) != EOF && written;
}

static prem_status say_unwritable(prem_diag *diag, const char *path, const char *reason) {
  return prem_fail(diag, PREM_ERR_IO, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                   reason);
}

/** @param phases  what to write; NULL: the samples */
static prem_status write_beside(const prem_result *result, const prem_schedule *schedule,
                                const prem_phases *phases, const char *path, char *reason,
                                size_t reason_bytes) {
  prem_output output = {0};
  prem_status status = prem_output_open(&output, path, reason, reason_bytes);
  if (status != PREM_OK)
    return status;
  if (phases)
    prem_phases_write(phases, output.file);
  else
    write_samples(output.file, result, schedule);
  return prem_output_commit(&output, reason, reason_bytes);
}

/* Result and the files beside it appear together: these first, so that no result names a missing
 * file. */
static prem_status write_files(const prem_result *result, const prem_schedule *schedule,
                               const prem_phases *phases, json_t *root, const char *path,
                               const side_files *beside_it, prem_diag *diag) {
  prem_output data = {0};
  char reason[160];
  const char *failing = path;
  prem_status status = prem_output_open(&data, path, reason, sizeof reason);
  if (status == PREM_OK && beside_it->samples) {
    failing = beside_it->samples;
    status = write_beside(result, schedule, NULL, failing, reason, sizeof reason);
  }
  if (status == PREM_OK && beside_it->phases && phases->block_count > 0) {
    failing = beside_it->phases;
    status = write_beside(result, schedule, phases, failing, reason, sizeof reason);
  }
  if (status == PREM_OK) {
    failing = path;
    if (dump(root, data.file) || ferror(data.file)) /* which is seen at the commit */
      status = prem_output_commit(&data, reason, sizeof reason);
    else
      status = PREM_ERR_MEMORY;
  }
  prem_output_abandon(&data);
  return status == PREM_OK || status == PREM_ERR_MEMORY ? status
                                                        : say_unwritable(diag, failing, reason);
}

/** What was measured is not lost for want of a timeline. */
static void choose_phases(const prem_result *result, const prem_schedule *schedule,
                          prem_phases *phases, const char *path, prem_diag *diag) {
  prem_status status = prem_phases_choose(result, schedule, phases, NULL);
  if (status == PREM_OK)
    return;
  prem_phases_free(phases);
  prem_diag_add(diag, PREM_WARNING, 0, (prem_place){.file = path}, "",
                "its phases are left out: %s", prem_status_text(status));
}

/* On stdout there is no room for more than the result. */
prem_status prem_result_write(const prem_result *result, const prem_schedule *schedule,
                              const char *command, const char *path, prem_diag *diag) {
  const bool alone = strcmp(path, "-") == 0;
  side_files files = {alone ? NULL : prem_result_side(path, 0),
                      alone ? NULL : prem_result_side(path, 1)};
  prem_phases phases = {0};
  prem_status status = alone || (files.samples && files.phases) ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK && !alone)
    choose_phases(result, schedule, &phases, path, diag);
  if (status == PREM_OK) {
    json_t *root =
        result_json(result, schedule, command, files.samples ? base_name(files.samples) : NULL,
                    phases_json(&phases, files.phases ? base_name(files.phases) : NULL));
    status =
        root ? write_files(result, schedule, &phases, root, path, &files, diag) : PREM_ERR_MEMORY;
    json_decref(root);
  }
  prem_phases_free(&phases);
  free(files.samples);
  free(files.phases);
  return status;
}
