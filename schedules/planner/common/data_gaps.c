/* SPDX-License-Identifier: Apache-2.0 */
/* Time for those who wait for an array. */
#include "schedules/planner/common/data_gaps.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/conflicts.h"

/* ---- who shares what ------------------------------------------------------------------------- */

/* Does `after` say the same, job by job? Planners keep that anyway. */
static bool is_said(const prem_schedule *schedule, const prem_version_edge *edge) {
  const prem_task *task = &schedule->tasks[edge->task];
  for (int32_t a = 0; a < task->after_count; ++a)
    if (task->after[a].task == edge->before && (!task->after[a].latest || edge->needed_jobs[0] > 0))
      return true;
  return false;
}

static bool add_versions(prem_data_gaps *gaps, const prem_versions *versions) {
  bool added = !prem_version_edges_new(versions, &gaps->edges, &gaps->edge_count);
  for (int32_t i = 0; i < gaps->edge_count && added; ++i) {
    const prem_version_edge *edge = &gaps->edges[i];
    if (!is_said(gaps->schedule, edge))
      added = PREM_APPEND(gaps->pairs, gaps->pair_count,
                          (prem_data_pair){.task = edge->task,
                                           .before = edge->before,
                                           .phase = edge->phase,
                                           .needed_jobs = edge->needed_jobs});
  }
  return added;
}

static bool find_pairs(prem_data_gaps *gaps, const prem_versions *versions) {
  prem_conflict *conflicts;
  int64_t count;
  bool found = !prem_conflicts_new(gaps->schedule, versions, &conflicts, &count);
  for (int64_t i = 0; i < count && found; ++i) {
    const prem_conflict *c = &conflicts[i];
    if (!prem_tasks_are_by_block(gaps->schedule, c->task, c->before))
      found =
          PREM_APPEND(gaps->pairs, gaps->pair_count,
                      (prem_data_pair){.task = c->task, .before = c->before, .phase = c->phase});
  }
  free(conflicts);
  return found && add_versions(gaps, versions);
}

/* Warm-up tiles have no instants, and what touches an array first in such a job is one of them. */
static void leave_out_warmup(prem_data_gaps *gaps, const prem_planning *planning) {
  int64_t kept = 0;
  for (int64_t i = 0; i < gaps->pair_count; ++i)
    if (prem_planning_warmup(planning, &gaps->schedule->tasks[gaps->pairs[i].task]) == 0)
      gaps->pairs[kept++] = gaps->pairs[i];
  gaps->pair_count = kept;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool number_jobs(prem_data_gaps *gaps) {
  const prem_schedule *schedule = gaps->schedule;
  int64_t max = 0;
  gaps->first_job = calloc((size_t)schedule->task_count + 1, sizeof *gaps->first_job);
  for (int32_t t = 0; t < schedule->task_count && gaps->first_job; ++t) {
    const int64_t jobs = prem_task_jobs(schedule, &schedule->tasks[t]);
    gaps->first_job[t + 1] = gaps->first_job[t] + jobs;
    max = jobs > max ? jobs : max;
  }
  if (!gaps->first_job)
    return false;
  gaps->spans = malloc(((size_t)gaps->first_job[schedule->task_count] + 1) * sizeof *gaps->spans);
  gaps->ends_ns = malloc(((size_t)max + 1) * sizeof *gaps->ends_ns);
  return gaps->spans && gaps->ends_ns;
}

prem_status prem_data_gaps_new(const prem_planning *planning, prem_data_gaps **out) {
  *out = NULL;
  const int64_t gap_ns = prem_planning_precedence_ns(planning);
  prem_versions versions;
  prem_status status = prem_versions_new(planning->schedule, &versions);
  prem_data_gaps *gaps = NULL;
  if (!status && (gap_ns > 0 || versions.array_count > 0) && !(gaps = calloc(1, sizeof *gaps)))
    status = PREM_ERR_MEMORY;
  if (!gaps) {
    prem_versions_free(&versions);
    return status;
  }
  gaps->schedule = planning->schedule;
  gaps->gap_ns = gap_ns;
  bool made = find_pairs(gaps, &versions);
  prem_versions_free(&versions);
  leave_out_warmup(gaps, planning);
  const bool asked = gaps->pair_count > 0;
  made = made && (!asked || number_jobs(gaps));
  if (made && asked) {
    prem_data_gaps_clear(gaps);
    *out = gaps;
  } else {
    prem_data_gaps_free(gaps);
  }
  return made ? PREM_OK : PREM_ERR_MEMORY;
}

void prem_data_gaps_free(prem_data_gaps *gaps) {
  if (!gaps)
    return;
  PREM_FREE(gaps->pairs, gaps->first_job, gaps->spans, gaps->ends_ns);
  prem_version_edges_free(gaps->edges, gaps->edge_count);
  free(gaps);
}

/* ---- the plan -------------------------------------------------------------------------------- */

void prem_data_gaps_clear(prem_data_gaps *gaps) {
  const int64_t jobs = gaps->first_job[gaps->schedule->task_count];
  for (int64_t q = 0; q < jobs; ++q)
    gaps->spans[q] = (prem_data_span){{PREM_MAX_NS, PREM_MAX_NS, PREM_MAX_NS}, -1};
}

void prem_data_gaps_note(prem_data_gaps *gaps, int32_t task, int32_t job, prem_phase phase,
                         int64_t start_ns, int64_t end_ns) {
  prem_data_span *span = &gaps->spans[gaps->first_job[task] + job];
  span->first_ns[phase] = prem_min_i64(span->first_ns[phase], start_ns);
  if (end_ns > span->end_ns)
    span->end_ns = end_ns;
}

void prem_data_gaps_note_draft(prem_data_gaps *gaps, const prem_draft *draft) {
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *p = &draft->placements[i];
    prem_data_gaps_note(gaps, p->task, p->job, p->phase, p->start_ns,
                        p->start_ns + gaps->schedule->tasks[p->task].phase[p->phase].wcet_ns);
  }
  for (int64_t i = 0; i < draft->slot_count; ++i) {
    const prem_slot *s = &draft->slots[i];
    prem_data_gaps_note(gaps, s->task, s->job, (prem_phase)s->phase, s->planned_ns,
                        s->planned_ns + s->length_ns);
  }
}

/* When a job first touches what it shares: with this phase or a later one. */
static int64_t touch_ns(const prem_data_span *span, prem_phase phase) {
  int64_t at_ns = PREM_MAX_NS;
  for (int p = (int)phase; p < PREM_PHASE_COUNT; ++p)
    at_ns = span->first_ns[p] < at_ns ? span->first_ns[p] : at_ns;
  return at_ns;
}

/* ---- judging --------------------------------------------------------------------------------- */

prem_wide prem_data_gaps_length_ns(const prem_data_gaps *gaps) {
  prem_wide length_ns = 0;
  for (int64_t i = 0; i < gaps->pair_count; ++i) {
    const prem_data_pair *pair = &gaps->pairs[i];
    const prem_data_span *before = &gaps->spans[gaps->first_job[pair->before]];
    const int64_t at_ns = touch_ns(&gaps->spans[gaps->first_job[pair->task]], pair->phase);
    /* So many hyperperiods before its own is the job of a one-shot task that another one waits for;
     * 0: in the same, where `after` says so. */
    const int32_t times = pair->needed_jobs ? 1 - pair->needed_jobs[0] : 1;
    if (before->end_ns < 0 || at_ns == PREM_MAX_NS || times < 1)
      continue;
    prem_wide needed_ns = (prem_wide)before->end_ns + gaps->gap_ns - at_ns;
    if (times > 1)
      needed_ns = (needed_ns + times - 1) / times;
    length_ns = needed_ns > length_ns ? needed_ns : length_ns;
  }
  return length_ns;
}

/* When all jobs up to each one have ended; the last one of the hyperperiod before may be later than
 * the first ones. False: the plan lacks some. */
static bool order_ends(const prem_data_gaps *gaps, int32_t task, int64_t hyperperiod_ns) {
  const prem_data_span *spans = &gaps->spans[gaps->first_job[task]];
  const int64_t jobs = gaps->first_job[task + 1] - gaps->first_job[task];
  int64_t latest_ns = -1;
  for (int64_t q = 0; q < jobs; ++q) {
    if (spans[q].end_ns < 0)
      return false;
    latest_ns = spans[q].end_ns > latest_ns ? spans[q].end_ns : latest_ns;
  }
  latest_ns -= hyperperiod_ns;
  for (int64_t q = 0; q < jobs; ++q)
    gaps->ends_ns[q] = latest_ns = spans[q].end_ns > latest_ns ? spans[q].end_ns : latest_ns;
  return true;
}

/* The last instant until `at_ns` at which a job of a task and all before it had ended, of this
 * hyperperiod or an earlier one. */
static int64_t last_end_ns(const prem_data_gaps *gaps, int64_t jobs, int64_t hyperperiod_ns,
                           int64_t at_ns) {
  const int64_t *ends_ns = gaps->ends_ns;
  int64_t hyperperiod = prem_div_floor(at_ns - ends_ns[0], hyperperiod_ns);
  hyperperiod = prem_min_i64(hyperperiod, 0);
  const int64_t shift_ns = hyperperiod * hyperperiod_ns;
  int64_t low = 0, high = jobs;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (ends_ns[middle] <= at_ns - shift_ns)
      low = middle;
    else
      high = middle;
  }
  return ends_ns[low] + shift_ns;
}

/* When so many jobs of a task, from the hyperperiod's first, have ended. */
static int64_t end_of_jobs_ns(const prem_data_gaps *gaps, int64_t jobs, int64_t hyperperiod_ns,
                              int64_t count) {
  const int64_t hyperperiod = prem_div_floor(count - 1, jobs);
  return gaps->ends_ns[count - 1 - hyperperiod * jobs] + hyperperiod * hyperperiod_ns;
}

int64_t prem_data_gaps_short(const prem_data_gaps *gaps, int64_t hyperperiod_ns,
                             int64_t *later_ns) {
  int64_t found = 0;
  for (int64_t i = 0; i < gaps->pair_count; ++i) {
    const prem_data_pair *pair = &gaps->pairs[i];
    const int64_t jobs = gaps->first_job[pair->before + 1] - gaps->first_job[pair->before];
    if (!order_ends(gaps, pair->before, hyperperiod_ns))
      continue;
    for (int64_t q = gaps->first_job[pair->task]; q < gaps->first_job[pair->task + 1]; ++q) {
      const int64_t at_ns = touch_ns(&gaps->spans[q], pair->phase);
      if (at_ns == PREM_MAX_NS)
        continue;
      const int64_t end_ns =
          pair->needed_jobs ? end_of_jobs_ns(gaps, jobs, hyperperiod_ns,
                                             pair->needed_jobs[q - gaps->first_job[pair->task]])
                            : last_end_ns(gaps, jobs, hyperperiod_ns, at_ns);
      const int64_t missing_ns = end_ns + gaps->gap_ns - at_ns;
      if (missing_ns <= 0)
        continue;
      ++found;
      const prem_wide from_ns = (prem_wide)touch_ns(&gaps->spans[q], PREM_PREFETCH) + missing_ns;
      if (later_ns && from_ns > later_ns[q])
        later_ns[q] = from_ns < PREM_MAX_NS ? (int64_t)from_ns : PREM_MAX_NS;
    }
  }
  return found;
}
