/* SPDX-License-Identifier: Apache-2.0 */
/* Instants of single phases, tiles and jobs: releases, deadlines, the order inside a tile and
 * between jobs. */
#include "schedules/checker/check.h"

#include <stdio.h>

#include "prem/base/numbers.h"

/* ---- the hyperperiod ------------------------------------------------------------------------ */

static void check_one_shot_end(const prem_checker *checker) {
  int64_t beyond = 0;
  int32_t last = -1;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    if (!prem_checker_counts(checker, i) ||
        prem_slot_end_ns(&checker->slots[i]) <= checker->hyperperiod_ns)
      continue;
    ++beyond;
    if (last < 0 || prem_slot_end_ns(&checker->slots[i]) > prem_slot_end_ns(&checker->slots[last]))
      last = i;
  }
  if (last < 0)
    return;
  prem_checker_refuse(checker, 21, last,
                      "%lld phases end after the plan's hyperperiod_ns of %lld; the last is %s, "
                      "which ends at %lld: make the hyperperiod at least that long",
                      (long long)beyond, (long long)checker->hyperperiod_ns,
                      prem_checker_name(checker, last).text,
                      (long long)prem_slot_end_ns(&checker->slots[last]));
}

void prem_check_hyperperiod(const prem_checker *checker) {
  const prem_plan *plan = checker->plan;
  if (!checker->periodic)
    check_one_shot_end(checker);
  else if (checker->mode < 0 && plan->hyperperiod_ns != checker->hyperperiod_ns)
    prem_diag_add(checker->diag, PREM_ERROR, 21, plan->place, "plan.hyperperiod_ns",
                  "the hyperperiod is %lld ns, but the periods of the tasks make %lld: plan again",
                  (long long)plan->hyperperiod_ns, (long long)checker->hyperperiod_ns);
}

/* So long behind its end a slot lets the next hyperperiod begin, by whatever plan: then its block
 * is ready, and everybody has been told. */
static int64_t rest_ns(const prem_checker *checker, int32_t i) {
  const int64_t gap_ns = prem_checker_gap_ns(checker, i);
  return gap_ns > checker->precedence_ns ? gap_ns : checker->precedence_ns;
}

void prem_check_ends(const prem_checker *checker) {
  int64_t beyond = 0, latest_ns = checker->hyperperiod_ns;
  int32_t last = -1;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    if (!prem_checker_counts(checker, i) ||
        prem_slot_end_ns(&checker->slots[i]) <= checker->hyperperiod_ns - rest_ns(checker, i))
      continue;
    ++beyond;
    if (prem_slot_end_ns(&checker->slots[i]) <= latest_ns - rest_ns(checker, i))
      continue;
    latest_ns = prem_slot_end_ns(&checker->slots[i]) + rest_ns(checker, i);
    last = i;
  }
  if (last >= 0)
    prem_checker_refuse(checker, 51, last,
                        "%lld phases reach over the end of the hyperperiod at %lld ns; the last is "
                        "%s, which ends at %lld, and %lld ns more for its block and its successors "
                        "to be ready: operating modes with plans of their own are switched there, "
                        "so no plan of the file may",
                        (long long)beyond, (long long)checker->hyperperiod_ns,
                        prem_checker_name(checker, last).text,
                        (long long)prem_slot_end_ns(&checker->slots[last]),
                        (long long)rest_ns(checker, last));
}

/* ---- releases and deadlines ----------------------------------------------------------------- */

static int64_t period_of(const prem_checker *checker, const prem_task *task) {
  return task->period_ns ? task->period_ns : checker->hyperperiod_ns;
}

/* A one-shot plan has no period to leave: its ends are judged against the hyperperiod (E021). */
static void check_release(const prem_checker *checker, int32_t i) {
  const prem_slot *slot = &checker->slots[i];
  const prem_task *task = &checker->schedule->tasks[slot->task];
  int64_t period = period_of(checker, task);
  int64_t begin_ns = slot->job * period, release_ns = begin_ns + task->release_ns;
  int64_t offset_ns = slot->planned_ns - begin_ns;
  if (slot->planned_ns < release_ns)
    prem_checker_refuse(checker, 32, i, "%s starts at %lld, before its job is released at %lld",
                        prem_checker_name(checker, i).text, (long long)slot->planned_ns,
                        (long long)release_ns);
  else if (checker->periodic && offset_ns >= period)
    prem_checker_refuse(checker, 32, i,
                        "%s starts at %lld, %lld ns after the start of its period: the offset must "
                        "be below the period of %lld ns",
                        prem_checker_name(checker, i).text, (long long)slot->planned_ns,
                        (long long)offset_ns, (long long)period);
}

static bool job_exists(const prem_checker *checker, const prem_slot *slot) {
  return slot->job >= 0 && slot->job < prem_checker_jobs(checker, slot->task);
}

static const prem_slot *first_phase_of_round(const prem_checker *checker, const prem_slot *slot) {
  const prem_task *task = &checker->schedule->tasks[slot->task];
  int64_t tile = checker->first_tile[slot->task] + (int64_t)slot->job * task->tile_count +
                 slot->tile - slot->tile % task->block_count;
  int32_t i = checker->tiles[tile].slot[slot->phase];
  return i < 0 ? NULL : &checker->slots[i];
}

static prem_phase first_phase(const prem_task *task) {
  prem_phase phase = PREM_PREFETCH;
  while (phase < PREM_WRITEBACK && !task->phase[phase].exists)
    phase = (prem_phase)(phase + 1);
  return phase;
}

static void check_together(const prem_checker *checker, int32_t i) {
  const prem_slot *slot = &checker->slots[i];
  const prem_task *task = &checker->schedule->tasks[slot->task];
  if (!task->together || slot->phase != first_phase(task))
    return;
  const prem_slot *first = first_phase_of_round(checker, slot);
  if (first && !(first->flags & PREM_SLOT_WARMUP) && first->planned_ns != slot->planned_ns)
    prem_checker_refuse(checker, 32, i,
                        "%s starts at %lld, but the first tile of its round at "
                        "%lld: the task is `together`, so the blocks of a round start together",
                        prem_checker_name(checker, i).text, (long long)slot->planned_ns,
                        (long long)first->planned_ns);
}

void prem_check_releases(const prem_checker *checker) {
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    const prem_slot *slot = &checker->slots[i];
    if (!prem_checker_counts(checker, i) || (slot->flags & PREM_SLOT_CHAINED) ||
        !job_exists(checker, slot))
      continue;
    check_release(checker, i);
    check_together(checker, i);
  }
}

/* The job of a task that is latest, and how many are late at all. */
static void check_due(const prem_checker *checker, int32_t t, int64_t due_ns, const char *what) {
  const prem_task *task = &checker->schedule->tasks[t];
  const check_job *jobs = &checker->jobs[checker->first_job[t]], *worst = NULL;
  const int64_t count = checker->first_job[t + 1] - checker->first_job[t];
  int64_t late = 0, late_ns = 0, release_ns = 0;
  char others[96] = "";
  for (int64_t q = 0; due_ns > 0 && q < count; ++q) {
    const int64_t of_job_ns = q * task->period_ns + task->release_ns;
    if (jobs[q].last < 0 || jobs[q].end_ns <= of_job_ns || jobs[q].end_ns - of_job_ns <= due_ns)
      continue;
    ++late;
    if (jobs[q].end_ns - of_job_ns - due_ns <= late_ns)
      continue;
    worst = &jobs[q];
    late_ns = jobs[q].end_ns - of_job_ns - due_ns;
    release_ns = of_job_ns;
  }
  if (!worst)
    return;
  if (late > 1)
    snprintf(others, sizeof others, "; %lld of %lld jobs are late, none by more", (long long)late,
             (long long)count);
  prem_checker_refuse(checker, 33, worst->last,
                      "%s ends at %lld, %lld ns after its job's %s at %lld "
                      "(release %lld + %lld)%s",
                      prem_checker_name(checker, worst->last).text, (long long)worst->end_ns,
                      (long long)late_ns, what, (long long)(release_ns + due_ns),
                      (long long)release_ns, (long long)due_ns, others);
}

void prem_check_deadlines(const prem_checker *checker) {
  for (int32_t t = 0; t < checker->schedule->task_count; ++t) {
    check_due(checker, t, checker->schedule->tasks[t].deadline_ns, "deadline");
    check_due(checker, t, checker->schedule->tasks[t].publish_ns, "publish_ns");
  }
}

/* ---- inside a tile -------------------------------------------------------------------------- */

static void check_follows(const prem_checker *checker, int32_t before, int32_t after) {
  const prem_slot *a = &checker->slots[before], *b = &checker->slots[after];
  int64_t end = prem_slot_end_ns(a), gap = b->planned_ns - end;
  if (gap < 0)
    prem_checker_refuse(checker, b->phase == PREM_COMPUTE ? 34 : 35, after,
                        "%s starts at %lld, %lld ns before its %s ends at %lld: start it there or "
                        "later",
                        prem_checker_name(checker, after).text, (long long)b->planned_ns,
                        (long long)-gap, prem_phase_name((prem_phase)a->phase), (long long)end);
  else if (gap < prem_checker_gap_ns(checker, before) && !(b->flags & PREM_SLOT_CHAINED))
    prem_checker_refuse(checker, 40, after,
                        "%s starts at %lld, %lld ns after its %s ends: the gap must be %s at "
                        "least (or chain it)",
                        prem_checker_name(checker, after).text, (long long)b->planned_ns,
                        (long long)gap, prem_phase_name((prem_phase)a->phase),
                        prem_checker_gap(checker, before).text);
}

void prem_check_order(const prem_checker *checker) {
  int64_t count = checker->first_tile[checker->schedule->task_count];
  for (int64_t t = 0; t < count; ++t) {
    int32_t before = -1;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      int32_t slot = checker->tiles[t].slot[p];
      if (slot < 0 || !prem_checker_counts(checker, slot))
        continue;
      if (before >= 0)
        check_follows(checker, before, slot);
      before = slot;
    }
  }
}

/* ---- between jobs --------------------------------------------------------------------------- */

/* Releases lie within their periods, so it is of this hyperperiod or the one before. */
bool prem_checker_predecessor(const prem_checker *checker, int32_t t, const prem_after *after,
                              int64_t q, check_job *out) {
  const prem_task *task = &checker->schedule->tasks[t];
  const prem_task *before = &checker->schedule->tasks[after->task];
  if (!checker->judged[after->task])
    return false;
  int64_t job = q, jobs = prem_checker_jobs(checker, after->task);
  if (after->latest || task->period_ns != before->period_ns) {
    int64_t release = q * task->period_ns + task->release_ns;
    job = prem_div_floor(release - before->release_ns, period_of(checker, before));
  }
  bool previous = job < 0;
  job = (job % jobs + jobs) % jobs;
  *out = checker->jobs[checker->first_job[after->task] + job];
  if (previous)
    out->end_ns -= checker->hyperperiod_ns;
  return out->last >= 0;
}

bool prem_checker_is_said(const prem_checker *checker, int32_t t, int64_t q, int32_t before,
                          int64_t until_ns) {
  const prem_task *task = &checker->schedule->tasks[t];
  check_job job;
  for (int32_t a = 0; a < task->after_count; ++a)
    if (task->after[a].task == before &&
        prem_checker_predecessor(checker, t, &task->after[a], q, &job) && job.end_ns >= until_ns)
      return true;
  return false;
}

static void refuse_short_gap(const prem_checker *checker, const prem_after *after,
                             const check_job *job, int64_t gap, int64_t waited_ns) {
  const check_name name = prem_checker_name(checker, job->first);
  const char *before = checker->schedule->tasks[after->task].name;
  if (!after->per_block && waited_ns < checker->precedence_ns)
    prem_checker_refuse(checker, 40, job->first,
                        "%s starts at %lld, %lld ns after the job of '%s' that it follows: the gap "
                        "must be %s at least: plan again",
                        name.text, (long long)job->first_ns, (long long)gap, before,
                        prem_checker_precedence(checker).text);
  else
    prem_checker_refuse(checker, 40, job->first,
                        "%s starts at %lld, %lld ns after the job of '%s' that it follows: the gap "
                        "must be %s = %lld at least",
                        name.text, (long long)job->first_ns, (long long)gap, before,
                        waited_ns == after->lag_ns ? "lag_ns" : "guard_ns", (long long)waited_ns);
}

static void check_after(const prem_checker *checker, const prem_after *after, const check_job *job,
                        const check_job *before) {
  int64_t gap = job->first_ns - before->end_ns;
  int64_t min = after->lag_ns > checker->guard_ns ? after->lag_ns : checker->guard_ns;
  if (gap < 0)
    prem_checker_refuse(checker, 35, job->first,
                        "%s starts at %lld, %lld ns before its predecessor task's job ends at %lld "
                        "with the %s",
                        prem_checker_name(checker, job->first).text, (long long)job->first_ns,
                        (long long)-gap, (long long)before->end_ns,
                        prem_checker_name(checker, before->last).text);
  else if (gap < min || (!after->per_block && gap < checker->precedence_ns))
    refuse_short_gap(checker, after, job, gap, min);
}

void prem_check_precedence(const prem_checker *checker) {
  for (int32_t t = 0; t < checker->schedule->task_count; ++t) {
    const prem_task *task = &checker->schedule->tasks[t];
    int64_t count = checker->first_job[t + 1] - checker->first_job[t];
    for (int32_t a = 0; a < task->after_count; ++a) {
      for (int64_t q = 0; q < count; ++q) {
        const check_job *job = &checker->jobs[checker->first_job[t] + q];
        check_job before;
        if (job->first >= 0 && prem_checker_predecessor(checker, t, &task->after[a], q, &before))
          check_after(checker, &task->after[a], job, &before);
      }
    }
  }
}
