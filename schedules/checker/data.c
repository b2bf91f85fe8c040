/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that share an array which one of them writes: a run lets none touch it before those have
 * ended that the plan ends before. Who waits has to be told, so the plan must leave time for it. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/sorting.h"
#include "schedules/checker/check.h"

#include <stdlib.h>
#include <string.h>

#include "prem/model/versions.h"

/* One task's use of one array, through one port. */
typedef struct port_use {
  int32_t array, task;
  prem_phase phase; /* in which it touches the array */
  bool writes;
} port_use;

/* Phases of `task` from `phase` on touch an array that `before` uses as well. */
typedef struct conflict {
  int32_t task, before, array;
  prem_phase phase;
} conflict;

typedef struct data_check {
  const prem_checker *checker;
  prem_versions versions; /* arrays of which are judged by prem_check_versions() */
  port_use *uses;
  int64_t use_count;
  int32_t *follower; /* [task]: the last writer noted that follows it by block; -1: none */
  conflict *conflicts;
  int64_t conflict_count;
  int32_t (*touches)[PREM_PHASE_COUNT]; /* [job]: its first slot of each kind; -1: none */
  int64_t *over_ns;                     /* [job]: it and all jobs before it have ended */
  bool *ordered;                        /* [task]: over_ns holds it */
} data_check;

/* ---- who uses what -------------------------------------------------------------------------- */

static int by_array(const void *left, const void *right) {
  const port_use *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->array, a->task, a->phase},
                         (int64_t[]){b->array, b->task, b->phase}, 3);
}

static int32_t ports_of(const prem_checker *checker, int32_t t) {
  const prem_task *task = &checker->schedule->tasks[t];
  return checker->judged[t] && task->definition && task->arrays ? task->definition->port_count : 0;
}

static prem_status collect(data_check *data) {
  const prem_schedule *schedule = data->checker->schedule;
  int64_t ports = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    ports += ports_of(data->checker, t);
  data->uses = malloc(((size_t)ports + 1) * sizeof *data->uses);
  if (!data->uses)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; p < ports_of(data->checker, t); ++p) {
      const bool writes = task->definition->ports[p].access == PREM_OUT;
      if (task->arrays[p] < 0 || task->arrays[p] >= schedule->array_count ||
          prem_is_versioned(&data->versions, task->arrays[p]))
        continue;
      data->uses[data->use_count++] = (port_use){task->arrays[p], t,
                                                 task->definition->compatible ? PREM_COMPUTE
                                                 : writes                     ? PREM_WRITEBACK
                                                                              : PREM_PREFETCH,
                                                 writes};
    }
  }
  qsort(data->uses, (size_t)data->use_count, sizeof *data->uses, by_array);
  return PREM_OK;
}

static void add_conflict(data_check *data, const port_use *use, const port_use *before) {
  if (data->conflicts)
    data->conflicts[data->conflict_count] =
        (conflict){use->task, before->task, use->array, use->phase};
  ++data->conflict_count;
}

/* Notes the tasks that a writer follows by block, all at once: it may follow thousands. */
static void note_followed(data_check *data, int32_t writer) {
  const prem_task *task = &data->checker->schedule->tasks[writer];
  for (int32_t a = 0; a < task->after_count; ++a)
    if (task->after[a].per_block)
      data->follower[task->after[a].task] = writer;
}

/* Where one follows the other by block, a block's own order keeps them apart. */
static bool is_by_block(const data_check *data, int32_t user, int32_t writer) {
  const prem_task *task = &data->checker->schedule->tasks[user];
  for (int32_t a = 0; a < task->after_count; ++a)
    if (task->after[a].per_block && task->after[a].task == writer)
      return true;
  return data->follower[user] == writer;
}

/* Each writer of one array with all its other users, both ways. */
static void list_pairs(data_check *data, const port_use *uses, int64_t count) {
  for (int64_t w = 0; w < count; ++w) {
    if (uses[w].writes)
      note_followed(data, uses[w].task);
    for (int64_t u = 0; u < count && uses[w].writes; ++u) {
      if (uses[u].task == uses[w].task || is_by_block(data, uses[u].task, uses[w].task))
        continue;
      add_conflict(data, &uses[w], &uses[u]);
      if (!uses[u].writes)
        add_conflict(data, &uses[u], &uses[w]);
    }
  }
}

/* Without room for them they are counted. */
static void list_conflicts(data_check *data) {
  data->conflict_count = 0;
  int64_t first = 0;
  for (int64_t i = 1; i <= data->use_count; ++i) {
    if (i < data->use_count && data->uses[i].array == data->uses[first].array)
      continue;
    list_pairs(data, &data->uses[first], i - first);
    first = i;
  }
}

static int by_tasks(const void *left, const void *right) {
  const conflict *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->task, a->before, a->phase, a->array},
                         (int64_t[]){b->task, b->before, b->phase, b->array}, 4);
}

/* Tasks that share several arrays are judged by the first of these. */
static bool is_same(const conflict *a, const conflict *b) {
  return a->task == b->task && a->before == b->before && a->phase == b->phase;
}

static prem_status find_conflicts(data_check *data) {
  const size_t tasks = (size_t)data->checker->schedule->task_count;
  data->follower = malloc((tasks + 1) * sizeof *data->follower);
  if (!data->follower)
    return PREM_ERR_MEMORY;
  memset(data->follower, 0xFF, (tasks + 1) * sizeof *data->follower);
  list_conflicts(data);
  if (data->conflict_count == 0)
    return PREM_OK;
  data->conflicts = malloc((size_t)data->conflict_count * sizeof *data->conflicts);
  if (!data->conflicts)
    return PREM_ERR_MEMORY;
  list_conflicts(data);
  qsort(data->conflicts, (size_t)data->conflict_count, sizeof *data->conflicts, by_tasks);
  return PREM_OK;
}

/* ---- when -------------------------------------------------------------------------------- */

static prem_status find_touches(data_check *data) {
  const prem_checker *checker = data->checker;
  const int32_t tasks = checker->schedule->task_count;
  const size_t jobs = (size_t)checker->first_job[tasks] + 1;
  data->touches = malloc(jobs * sizeof *data->touches);
  data->over_ns = malloc(jobs * sizeof *data->over_ns);
  data->ordered = calloc((size_t)tasks + 1, sizeof *data->ordered);
  if (!data->touches || !data->over_ns || !data->ordered)
    return PREM_ERR_MEMORY;
  for (size_t q = 0; q < jobs; ++q)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      data->touches[q][p] = -1;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    const prem_slot *slot = &checker->slots[i];
    if (!prem_checker_counts(checker, i) || slot->job < 0 ||
        slot->job >= prem_checker_jobs(checker, slot->task))
      continue;
    int32_t *first = &data->touches[checker->first_job[slot->task] + slot->job][slot->phase];
    if (*first < 0 || slot->planned_ns < checker->slots[*first].planned_ns)
      *first = i;
  }
  return PREM_OK;
}

/* The slot with which a job first touches the array: of this phase or a later one; -1: none. */
static int32_t touch_of(const data_check *data, int64_t job, prem_phase phase) {
  int32_t first = -1;
  for (int p = (int)phase; p < PREM_PHASE_COUNT; ++p) {
    const int32_t slot = data->touches[job][p];
    if (slot >= 0 && (first < 0 || data->checker->slots[slot].planned_ns <
                                       data->checker->slots[first].planned_ns))
      first = slot;
  }
  return first;
}

/* Warm-up tiles have no instants: what they touch, and wait for, is not judged. */
static bool warms_up(const prem_checker *checker, int32_t t) {
  return checker->plan->warmup_tiles > 0 && checker->schedule->tasks[t].period_ns == 0;
}

/* Blocks count the jobs that they have finished, so a job counts as over with those before it, of
 * which the last one of the hyperperiod before may be later. False: the plan lacks a job. */
static bool order_ends(data_check *data, int32_t t) {
  const prem_checker *checker = data->checker;
  const check_job *jobs = &checker->jobs[checker->first_job[t]];
  const int64_t count = checker->first_job[t + 1] - checker->first_job[t];
  int64_t *over_ns = &data->over_ns[checker->first_job[t]], latest_ns = INT64_MIN;
  for (int64_t q = 0; q < count; ++q) {
    if (jobs[q].last < 0)
      return false;
    latest_ns = jobs[q].end_ns > latest_ns ? jobs[q].end_ns : latest_ns;
  }
  latest_ns -= checker->hyperperiod_ns;
  for (int64_t q = 0; q < count; ++q)
    over_ns[q] = latest_ns = jobs[q].end_ns > latest_ns ? jobs[q].end_ns : latest_ns;
  return true;
}

/* ---- judging -------------------------------------------------------------------------------- */

/* When the last job of a task was over that was so by an instant of this hyperperiod. Jobs of the
 * next one are not waited for. */
static int64_t last_over_ns(const data_check *data, int32_t t, int64_t at_ns) {
  const prem_checker *checker = data->checker;
  const int64_t *over_ns = &data->over_ns[checker->first_job[t]];
  const int64_t length_ns = checker->hyperperiod_ns;
  int64_t later_by =
      (over_ns[0] - at_ns + length_ns - 1) / length_ns; /* hyperperiods, if above 0 */
  int64_t shift_ns = over_ns[0] > at_ns ? later_by * length_ns : 0;
  int64_t last = 0, none = checker->first_job[t + 1] - checker->first_job[t];
  while (none - last > 1) {
    const int64_t middle = last + (none - last) / 2;
    if (over_ns[middle] - shift_ns <= at_ns)
      last = middle;
    else
      none = middle;
  }
  return over_ns[last] - shift_ns;
}

static void judge_job(const data_check *data, const conflict *c, int64_t number) {
  const prem_checker *checker = data->checker;
  const int32_t slot = touch_of(data, checker->first_job[c->task] + number, c->phase);
  if (slot < 0)
    return;
  const int64_t at_ns = checker->slots[slot].planned_ns;
  const int64_t over_ns = last_over_ns(data, c->before, at_ns), gap_ns = at_ns - over_ns;
  if (gap_ns >= checker->precedence_ns ||
      prem_checker_is_said(checker, c->task, number, c->before, over_ns))
    return;
  prem_checker_refuse(
      checker, 40, slot,
      "%s starts at %lld, %lld ns after a job of '%s' ends%s, which uses array "
      "'%s' as well: the gap must be %s at least: plan again",
      prem_checker_name(checker, slot).text, (long long)at_ns, (long long)gap_ns,
      checker->schedule->tasks[c->before].name, over_ns <= 0 ? " (in the hyperperiod before)" : "",
      checker->schedule->arrays[c->array].name, prem_checker_precedence(checker).text);
}

static void judge(data_check *data, const conflict *c) {
  const prem_checker *checker = data->checker;
  if (warms_up(checker, c->task) || (!data->ordered[c->before] && !order_ends(data, c->before)))
    return;
  data->ordered[c->before] = true;
  for (int64_t q = 0; q < checker->first_job[c->task + 1] - checker->first_job[c->task]; ++q)
    judge_job(data, c, q);
}

/* ---- at the same time ------------------------------------------------------------------------ */

/* When a job may touch the array: from its first such phase until it is over. */
typedef struct use_span {
  int64_t from_ns, end_ns;
} use_span;

static bool span_of(const data_check *data, int32_t t, prem_phase phase, int64_t number,
                    use_span *out) {
  const prem_checker *checker = data->checker;
  const int64_t job = checker->first_job[t] + number;
  const int32_t slot = touch_of(data, job, phase);
  if (slot < 0 || checker->jobs[job].last < 0)
    return false;
  *out = (use_span){checker->slots[slot].planned_ns, checker->jobs[job].end_ns};
  return true;
}

/* The first job of a task that is over behind an instant; its jobs end one after the other. */
static int64_t first_behind(const data_check *data, int32_t t, int64_t at_ns) {
  const prem_checker *checker = data->checker;
  int64_t low = 0, high = checker->first_job[t + 1] - checker->first_job[t];
  PREM_BISECT(low, high, middle, checker->jobs[checker->first_job[t] + middle].end_ns <= at_ns);
  return low;
}

/* A job of `t` that uses the array while a writer does, in this hyperperiod or one beside it. */
static bool find_beside(const data_check *data, int32_t t, prem_phase phase, const use_span *writer,
                        int64_t *number) {
  const int64_t length_ns = data->checker->hyperperiod_ns;
  const int64_t count = data->checker->first_job[t + 1] - data->checker->first_job[t];
  for (int64_t shift_ns = -length_ns; shift_ns <= length_ns; shift_ns += length_ns) {
    use_span beside;
    *number = first_behind(data, t, writer->from_ns - shift_ns);
    if (*number < count && span_of(data, t, phase, *number, &beside) &&
        beside.from_ns + shift_ns < writer->end_ns)
      return true;
  }
  return false;
}

/* Neither waits for the other, however late it is: who reads then reads some of each. */
static void warn_beside(const data_check *data, const conflict *reader, prem_phase writes) {
  const prem_checker *checker = data->checker;
  const prem_schedule *schedule = checker->schedule;
  const prem_task *task = &schedule->tasks[reader->task],
                  *writer = &schedule->tasks[reader->before];
  const char *array = schedule->arrays[reader->array].name;
  const int64_t jobs = checker->first_job[reader->before + 1] - checker->first_job[reader->before];
  use_span span;
  int64_t number;
  for (int64_t q = 0; q < jobs; ++q) {
    if (!span_of(data, reader->before, writes, q, &span) ||
        !find_beside(data, reader->task, reader->phase, &span, &number))
      continue;
    prem_diag_add(
        checker->diag, PREM_WARNING, 0, task->place, prem_key("tasks.%s", task->name).text,
        "job %lld uses array '%s' while job %lld of '%s' writes it: neither waits for the "
        "other, so one that is late reads some of the old and some of the new; give it a "
        "deadline_ns of %lld at most, or the array `versions`",
        (long long)number, array, (long long)q, writer->name, (long long)writer->period_ns);
    return;
  }
}

/* The phase in which a task writes an array. */
static bool find_writing(const data_check *data, int32_t task, int32_t array, prem_phase *phase) {
  int64_t low = 0, high = data->use_count; /* they are in the order of arrays, then of tasks */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const port_use *use = &data->uses[middle];
    if (use->array < array || (use->array == array && use->task < task))
      low = middle + 1;
    else
      high = middle;
  }
  for (int64_t u = low;
       u < data->use_count && data->uses[u].array == array && data->uses[u].task == task; ++u)
    if (data->uses[u].writes) {
      *phase = data->uses[u].phase;
      return true;
    }
  return false;
}

static bool is_reader(const data_check *data, const conflict *c) {
  prem_phase phase;
  return !find_writing(data, c->task, c->array, &phase);
}

static void warn(const data_check *data, const conflict *c) {
  const prem_schedule *schedule = data->checker->schedule;
  prem_phase writes;
  if (schedule->tasks[c->task].period_ns > 0 && schedule->tasks[c->before].period_ns > 0 &&
      is_reader(data, c) && find_writing(data, c->before, c->array, &writes))
    warn_beside(data, c, writes);
}

static prem_status judge_all(data_check *data) {
  prem_status status = data->conflict_count > 0 ? find_touches(data) : PREM_OK;
  for (int64_t i = 0; i < data->conflict_count && status == PREM_OK; ++i) {
    const conflict *c = &data->conflicts[i], *last = i > 0 ? c - 1 : NULL;
    const bool is_new = !last || !is_same(last, c);
    if (is_new && data->checker->precedence_ns > 0)
      judge(data, c);
    if (is_new || last->array != c->array)
      warn(data, c);
  }
  return status;
}

prem_status prem_check_data(const prem_checker *checker) {
  if (checker->hyperperiod_ns <= 0)
    return PREM_OK;
  data_check data = {.checker = checker};
  prem_status status = prem_versions_new(checker->schedule, &data.versions);
  if (status == PREM_OK)
    status = collect(&data);
  if (status == PREM_OK)
    status = find_conflicts(&data);
  if (status == PREM_OK)
    status = judge_all(&data);
  prem_versions_free(&data.versions);
  PREM_FREE(data.uses, data.follower, data.conflicts, data.touches, data.over_ns, data.ordered);
  return status;
}
