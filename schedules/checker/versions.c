/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays: a version is whole before a job reads it, and stays until all have read it. */
#include "schedules/checker/check.h"

#include <stdlib.h>

#include "prem/base/numbers.h"
#include "prem/model/versions.h"

typedef struct version_check {
  const prem_checker *checker;
  prem_versions versions;
  int32_t *first;   /* [job][phase]: its first slot of each kind; -1: none */
  int64_t *over_ns; /* [job]: it and all jobs of its task before it have ended */
} version_check;

/* ---- when ----------------------------------------------------------------------------------- */

static int64_t job_count(const prem_checker *checker, int32_t t) {
  return checker->first_job[t + 1] - checker->first_job[t];
}

static void find_first(const version_check *check) {
  const prem_checker *checker = check->checker;
  const int64_t jobs = checker->first_job[checker->schedule->task_count];
  for (int64_t i = 0; i < jobs * PREM_PHASE_COUNT; ++i)
    check->first[i] = -1;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    const prem_slot *slot = &checker->slots[i];
    if (!prem_checker_counts(checker, i) || slot->job < 0 ||
        slot->job >= job_count(checker, slot->task))
      continue;
    int32_t *first =
        &check
             ->first[(checker->first_job[slot->task] + slot->job) * PREM_PHASE_COUNT + slot->phase];
    if (*first < 0 || slot->planned_ns < checker->slots[*first].planned_ns)
      *first = i;
  }
}

/* Those who wait are told by counts of jobs, so one counts with all before it, of which the last
 * one of the hyperperiod before may be the latest. */
static void find_ends(const version_check *check, int32_t t) {
  const prem_checker *checker = check->checker;
  const check_job *jobs = &checker->jobs[checker->first_job[t]];
  int64_t *over_ns = &check->over_ns[checker->first_job[t]], latest_ns = INT64_MIN / 2;
  for (int64_t q = 0; q < job_count(checker, t); ++q)
    if (jobs[q].last >= 0)
      latest_ns = prem_max_i64(latest_ns, jobs[q].end_ns);
  latest_ns -= checker->hyperperiod_ns;
  for (int64_t q = 0; q < job_count(checker, t); ++q) {
    if (jobs[q].last >= 0)
      latest_ns = prem_max_i64(latest_ns, jobs[q].end_ns);
    over_ns[q] = latest_ns;
  }
}

/* The slot with which a job first touches the array: of this phase or a later one; -1: none.
 * Warm-up tiles have no instants: a job that begins with some is not judged. */
static int32_t touch_of(const version_check *check, int32_t t, int64_t job, prem_phase phase) {
  const prem_checker *checker = check->checker;
  int32_t first = -1;
  if (checker->plan->warmup_tiles > 0 && checker->schedule->tasks[t].period_ns == 0)
    return -1;
  for (int p = (int)phase; p < PREM_PHASE_COUNT; ++p) {
    const int32_t slot = check->first[(checker->first_job[t] + job) * PREM_PHASE_COUNT + p];
    if (slot >= 0 &&
        (first < 0 || checker->slots[slot].planned_ns < checker->slots[first].planned_ns))
      first = slot;
  }
  return first;
}

/* Job `job` of a task, counted from the hyperperiod's start, may be of another one. */
static int64_t over_ns(const version_check *check, int32_t t, int64_t job) {
  const prem_checker *checker = check->checker;
  const int64_t jobs = job_count(checker, t), hyperperiod = prem_div_floor(job, jobs);
  return check->over_ns[checker->first_job[t] + job - hyperperiod * jobs] +
         hyperperiod * checker->hyperperiod_ns;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void refuse(const version_check *check, const prem_version_use *use, int32_t slot,
                   int32_t before, int64_t gap_ns, bool reads) {
  const prem_checker *checker = check->checker;
  const prem_schedule *schedule = checker->schedule;
  const char *array = schedule->arrays[check->versions.arrays[use->of].array].name;
  const char *what =
      reads ? "makes the version that it reads" : "reads the version that it overwrites";
  const int64_t at_ns = checker->slots[slot].planned_ns;
  if (gap_ns < 0)
    prem_checker_refuse(checker, 50, slot,
                        "%s starts at %lld, %lld ns before a job of '%s' ends which %s of array "
                        "'%s': plan again, %s",
                        prem_checker_name(checker, slot).text, (long long)at_ns, (long long)-gap_ns,
                        schedule->tasks[before].name, what, array,
                        reads ? "or let it begin later" : "or give the array more `versions`");
  else
    prem_checker_refuse(checker, 40, slot,
                        "%s starts at %lld, %lld ns after a job of '%s' ends which %s of array "
                        "'%s': the gap must be %s at least: plan again",
                        prem_checker_name(checker, slot).text, (long long)at_ns, (long long)gap_ns,
                        schedule->tasks[before].name, what, array,
                        prem_checker_precedence(checker).text);
}

/* A job reads what the writer's jobs before it have made. */
static void judge_reading(const version_check *check, const prem_version_use *use, int64_t q) {
  const int32_t writer = check->versions.arrays[use->of].writer;
  const int32_t slot = touch_of(check, use->task, q, use->phase);
  if (slot < 0)
    return;
  const int64_t until_ns = over_ns(check, writer, (int64_t)use->version[q] - 1);
  const int64_t gap_ns = check->checker->slots[slot].planned_ns - until_ns;
  if (gap_ns < check->checker->precedence_ns &&
      !prem_checker_is_said(check->checker, use->task, q, writer, until_ns))
    refuse(check, use, slot, writer, gap_ns, true);
}

/* And has ended before the writer's job that takes the place of its version writes. */
static void judge_overwriting(const version_check *check, const prem_version_use *use, int64_t q) {
  const prem_checker *checker = check->checker;
  const prem_versioned *array = &check->versions.arrays[use->of];
  const int64_t number = (int64_t)use->version[q] + array->versions - 1;
  const int64_t hyperperiod = prem_div_floor(number, array->jobs);
  const prem_phase phase = checker->schedule->tasks[array->writer].definition->compatible
                               ? PREM_COMPUTE
                               : PREM_WRITEBACK;
  const int64_t job = number - hyperperiod * array->jobs;
  const int32_t slot = touch_of(check, array->writer, job, phase);
  if (slot < 0 || use->task == array->writer)
    return;
  const int64_t until_ns = over_ns(check, use->task, q) - hyperperiod * checker->hyperperiod_ns;
  const int64_t gap_ns = checker->slots[slot].planned_ns - until_ns;
  if (gap_ns < checker->precedence_ns &&
      !prem_checker_is_said(checker, array->writer, job, use->task, until_ns))
    refuse(check, use, slot, use->task, gap_ns, false);
}

static void judge_use(const version_check *check, const prem_version_use *use) {
  const prem_checker *checker = check->checker;
  const int32_t writer = check->versions.arrays[use->of].writer;
  if (use->writes || !checker->judged[use->task] || !checker->judged[writer])
    return;
  for (int64_t q = 0; q < job_count(checker, use->task); ++q) {
    judge_reading(check, use, q);
    judge_overwriting(check, use, q);
  }
}

static prem_status judge_all(version_check *check) {
  const prem_checker *checker = check->checker;
  const size_t jobs = (size_t)checker->first_job[checker->schedule->task_count] + 1;
  check->first = malloc(jobs * PREM_PHASE_COUNT * sizeof *check->first);
  check->over_ns = malloc(jobs * sizeof *check->over_ns);
  if (!check->first || !check->over_ns)
    return PREM_ERR_MEMORY;
  find_first(check);
  for (int32_t t = 0; t < checker->schedule->task_count; ++t)
    find_ends(check, t);
  for (int32_t i = 0; i < check->versions.use_count; ++i)
    judge_use(check, &check->versions.uses[i]);
  return PREM_OK;
}

prem_status prem_check_versions(const prem_checker *checker) {
  version_check check = {.checker = checker};
  prem_status status = PREM_OK;
  if (checker->hyperperiod_ns <= 0)
    return PREM_OK;
  status = prem_versions_new(checker->schedule, &check.versions);
  if (status == PREM_OK && check.versions.array_count > 0)
    status = judge_all(&check);
  free(check.first);
  free(check.over_ns);
  prem_versions_free(&check.versions);
  return status;
}
