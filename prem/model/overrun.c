/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs an overrun concerns, and whether half a result could be read (E048). */
#include "prem/model/overrun.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/model/modes.h"
#include "prem/model/private.h"
#include "prem/model/versions.h"

/* ---- who is made of whom -------------------------------------------------------------------- */

typedef struct finding {
  const prem_schedule *schedule;
  prem_overruns *found;
  bool *is_before; /* [task]: of the task in hand */
  int32_t *path;   /* [task] */
} finding;

static bool has_same(const prem_task *task) {
  for (int32_t a = 0; a < task->after_count; ++a)
    if (!task->after[a].latest)
      return true;
  return false;
}

/* Depth first: a task stands in the order when all that it comes after do. `next[t]` is the edge of
 * t to look at, -1 in front of all. */
static void put_in_order(finding *f, int32_t root, int32_t *next, int32_t *count) {
  int32_t length = 0;
  if (next[root] >= 0)
    return;
  f->path[length++] = root;
  next[root] = 0;
  while (length > 0) {
    const prem_task *task = &f->schedule->tasks[f->path[length - 1]];
    int32_t *edge = &next[f->path[length - 1]];
    while (*edge < task->after_count &&
           (task->after[*edge].latest || next[task->after[*edge].task] >= 0))
      ++*edge;
    if (*edge < task->after_count) {
      next[task->after[*edge].task] = 0;
      f->path[length++] = task->after[*edge].task;
    } else {
      f->found->order[(*count)++] = f->path[--length];
    }
  }
}

static prem_status find_order(finding *f) {
  const int32_t tasks = f->schedule->task_count;
  int32_t *next = malloc(((size_t)tasks + 1) * sizeof *next);
  int32_t count = 0;
  if (!next)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < tasks; ++t)
    next[t] = -1;
  for (int32_t t = 0; t < tasks; ++t)
    put_in_order(f, t, next, &count);
  free(next);
  return PREM_OK;
}

/* Marks the tasks that the same job of a task comes after, directly or over others. */
static void mark_before(finding *f, int32_t task) {
  int32_t length = 0;
  memset(f->is_before, 0, (size_t)f->schedule->task_count * sizeof *f->is_before);
  f->path[length++] = task;
  while (length > 0) {
    const prem_task *of = &f->schedule->tasks[f->path[--length]];
    for (int32_t a = 0; a < of->after_count; ++a) {
      const int32_t before = of->after[a].task;
      if (of->after[a].latest || f->is_before[before])
        continue;
      f->is_before[before] = true;
      f->path[length++] = before;
    }
  }
}

/* None of a task in error, which may not be bound. */
static int32_t port_count(const prem_task *task) {
  return task->definition && task->arrays ? task->definition->port_count : 0;
}

static bool passes_data(const prem_task *from, const prem_task *to) {
  for (int32_t p = 0; p < port_count(from); ++p)
    if (from->definition->ports[p].access == PREM_OUT &&
        prem_task_uses(to, from->arrays[p], PREM_IN))
      return true;
  return false;
}

/* What comes before it is found. */
static prem_status find_makers(finding *f, int32_t task) {
  const prem_schedule *schedule = f->schedule;
  prem_makers *makers = &f->found->makers[task];
  prem_status status = PREM_OK;
  if (has_same(&schedule->tasks[task]))
    mark_before(f, task);
  for (int32_t from = 0; !status && has_same(&schedule->tasks[task]) && from < schedule->task_count;
       ++from)
    if (f->is_before[from] && f->found->concerns[from] &&
        passes_data(&schedule->tasks[from], &schedule->tasks[task]))
      status = PREM_APPEND(makers->tasks, makers->count, from) ? PREM_OK : PREM_ERR_MEMORY;
  f->found->concerns[task] = makers->count > 0 || prem_leaves_out_jobs(&schedule->tasks[task]) ||
                             schedule->tasks[task].off != 0;
  return status;
}

static prem_status find_all(finding *f) {
  const size_t tasks = (size_t)f->schedule->task_count;
  f->found->task_count = f->schedule->task_count;
  f->found->order = calloc(tasks, sizeof *f->found->order);
  f->found->makers = calloc(tasks, sizeof *f->found->makers);
  f->found->concerns = calloc(tasks, sizeof *f->found->concerns);
  f->is_before = calloc(tasks, sizeof *f->is_before);
  f->path = calloc(tasks + 1, sizeof *f->path);
  if (!f->found->order || !f->found->makers || !f->found->concerns || !f->is_before || !f->path)
    return PREM_ERR_MEMORY;
  prem_status status = find_order(f);
  for (int32_t i = 0; !status && i < f->schedule->task_count; ++i)
    status = find_makers(f, f->found->order[i]);
  return status;
}

prem_status prem_overruns_new(const prem_schedule *schedule, prem_overruns *out) {
  finding f = {.schedule = schedule, .found = out};
  bool is_needed = false;
  *out = (prem_overruns){0};
  for (int32_t t = 0; t < schedule->task_count; ++t)
    is_needed |= prem_leaves_out_jobs(&schedule->tasks[t]) || schedule->tasks[t].off != 0;
  if (!is_needed)
    return PREM_OK;
  const prem_status status = find_all(&f);
  free(f.is_before);
  free(f.path);
  return status;
}

void prem_overruns_free(prem_overruns *overruns) {
  for (int32_t t = 0; overruns->makers && t < overruns->task_count; ++t)
    free(overruns->makers[t].tasks);
  PREM_FREE(overruns->makers, overruns->concerns, overruns->order);
  *overruns = (prem_overruns){0};
}

void prem_overruns_mark(const prem_overruns *overruns, int32_t task, bool *is_marked) {
  for (int32_t i = 0; i < overruns->task_count; ++i) {
    const int32_t t = overruns->order[i];
    const prem_makers *makers = &overruns->makers[t];
    is_marked[t] = t == task;
    for (int32_t m = 0; m < makers->count; ++m)
      is_marked[t] |= is_marked[makers->tasks[m]];
  }
}

prem_status prem_tasks_off(const prem_schedule *schedule, uint32_t *off) {
  prem_overruns overruns;
  const prem_status status = prem_overruns_new(schedule, &overruns);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    off[t] = 0;
  for (int32_t i = 0; !status && overruns.order && i < overruns.task_count; ++i) {
    const int32_t t = overruns.order[i];
    const prem_makers *makers = &overruns.makers[t];
    off[t] = schedule->tasks[t].off;
    for (int32_t m = 0; m < makers->count; ++m)
      off[t] |= off[makers->tasks[m]];
  }
  prem_overruns_free(&overruns);
  return status;
}

/* ---- half a result -------------------------------------------------------------------------- */

/* One task reads what another one writes. */
typedef struct passing {
  int32_t from, to;
} passing;

typedef struct passings {
  passing *list;
  int32_t count;
  bool *is_read; /* [task]: somebody reads what it writes, else nobody minds what becomes of it */
} passings;

/* The inputs of all tasks in lists, one for each array; an input's number is task * PREM_MAX_PORTS
 * + port. */
static void list_inputs(const prem_schedule *schedule, int32_t *first, int32_t *next) {
  for (int32_t a = 0; a < schedule->array_count; ++a)
    first[a] = -1;
  for (int32_t t = schedule->task_count - 1; t >= 0; --t)
    for (int32_t p = 0; p < port_count(&schedule->tasks[t]); ++p)
      if (schedule->tasks[t].definition->ports[p].access == PREM_IN) {
        const int32_t array = schedule->tasks[t].arrays[p], input = t * PREM_MAX_PORTS + p;
        next[input] = first[array];
        first[array] = input;
      }
}

/* In an array that could be left half written: of a state array there is the version before. */
static prem_status find_passings(const prem_schedule *schedule, const prem_overruns *overruns,
                                 passings *out) {
  const size_t tasks = (size_t)schedule->task_count;
  int32_t *first = malloc(((size_t)schedule->array_count + 1) * sizeof *first);
  int32_t *next = malloc(tasks * PREM_MAX_PORTS * sizeof *next);
  out->is_read = calloc(tasks, sizeof *out->is_read);
  prem_status status = first && next && out->is_read ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    list_inputs(schedule, first, next);
  for (int32_t from = 0; !status && from < schedule->task_count; ++from)
    for (int32_t p = 0; overruns->concerns[from] && p < port_count(&schedule->tasks[from]); ++p) {
      const prem_task *task = &schedule->tasks[from];
      if (task->definition->ports[p].access != PREM_OUT)
        continue;
      int32_t input = first[task->arrays[p]];
      out->is_read[from] |= input >= 0;
      for (; !status && input >= 0 && !prem_array_is_state(&schedule->arrays[task->arrays[p]]);
           input = next[input])
        status = PREM_APPEND(out->list, out->count, (passing){from, input / PREM_MAX_PORTS})
                     ? PREM_OK
                     : PREM_ERR_MEMORY;
    }
  free(first);
  free(next);
  return status;
}

static const char *passed_array(const prem_schedule *schedule, const passing *of) {
  const prem_task *from = &schedule->tasks[of->from], *to = &schedule->tasks[of->to];
  int32_t array = 0;
  for (int32_t p = 0; p < from->definition->port_count; ++p)
    if (from->definition->ports[p].access == PREM_OUT &&
        !prem_array_is_state(&schedule->arrays[from->arrays[p]]) &&
        prem_task_uses(to, from->arrays[p], PREM_IN))
      array = from->arrays[p];
  return schedule->arrays[array].name;
}

static void refuse_half(const prem_schedule *schedule, const prem_task *task, const passing *of,
                        prem_diag *diag) {
  const char *reader = schedule->tasks[of->to].name;
  prem_diag_add(diag, PREM_ERROR, 48, task->place, prem_key("tasks.%s.overrun", task->name).text,
                "a job that is given up can leave array '%s' half written, and task '%s' reads it "
                "without following it job by job; use \"skip\", or let '%s' come `after` the same "
                "job of '%s'",
                passed_array(schedule, of), reader, reader, schedule->tasks[of->from].name);
}

/* A job of `task` is given up: who is not left out with it must not read what it leaves half. */
static bool judge_giving_up(const prem_schedule *schedule, const prem_overruns *overruns,
                            const passings *all, int32_t task, bool *is_left_out, prem_diag *diag) {
  prem_overruns_mark(overruns, task, is_left_out);
  for (int32_t i = 0; i < all->count; ++i)
    if (is_left_out[all->list[i].from] && !is_left_out[all->list[i].to]) {
      refuse_half(schedule, &schedule->tasks[task], &all->list[i], diag);
      return false;
    }
  return true;
}

bool prem_judge_overruns(const prem_schedule *schedule, prem_status *status, prem_diag *diag) {
  prem_overruns overruns;
  passings all = {0};
  bool is_good = true, *is_left_out = NULL;
  *status = prem_overruns_new(schedule, &overruns);
  if (!*status && overruns.order) {
    is_left_out = calloc((size_t)schedule->task_count, sizeof *is_left_out);
    *status = is_left_out ? find_passings(schedule, &overruns, &all) : PREM_ERR_MEMORY;
  }
  for (int32_t t = 0; !*status && overruns.order && t < schedule->task_count; ++t)
    if (all.is_read[t] && prem_gives_up_jobs(&schedule->tasks[t]))
      is_good &= judge_giving_up(schedule, &overruns, &all, t, is_left_out, diag);
  PREM_FREE(is_left_out, all.list, all.is_read);
  prem_overruns_free(&overruns);
  return is_good && !*status;
}
