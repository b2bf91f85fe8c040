/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live sessions: arguments of kernels, changed while the plan runs. What was set is kept here, by
 * task; a snapshot of the parameters of all tasks is written where the courier finds it, behind
 * those that blocks may still read, and its number is handed on last.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/model/bind_again.h"
#include "runtime/session/live_parts.h"

/* Of one task: its arguments and what its kernel made of them. */
typedef struct task_args {
  prem_arg *list;
  int32_t count;
  _Alignas(8) unsigned char params[PREM_PARAMS_BYTES];
} task_args;

typedef struct prem_live_args {
  task_args *tasks; /* [task_count] */
  uint64_t newest;  /* number of the last snapshot */
} prem_live_args;

/* ---- one argument ---------------------------------------------------------------------------- */

static void free_values(prem_arg *arg) {
  free(arg->values);
  free(arg->ints);
}

/* Integers stay integers as far as they are. */
static bool copy_values(prem_arg *arg, const double *values, int32_t count) {
  const size_t room = (size_t)count + 1;
  arg->values = calloc(room, sizeof *arg->values);
  arg->ints = calloc(room, sizeof *arg->ints);
  arg->count = count;
  arg->is_int = true;
  if (!arg->values || !arg->ints) {
    free_values(arg);
    return false;
  }
  for (int32_t i = 0; i < count; ++i) {
    arg->values[i] = values[i];
    arg->is_int &= fabs(values[i]) < 9e15 && values[i] == floor(values[i]);
    arg->ints[i] = arg->is_int ? (int64_t)values[i] : 0;
  }
  return true;
}

static int32_t find_arg(const task_args *of, const char *key) {
  for (int32_t i = 0; i < of->count; ++i)
    if (strcmp(of->list[i].key, key) == 0)
      return i;
  return -1;
}

/* ---- all of a session ------------------------------------------------------------------------ */

static void free_task(task_args *of) {
  for (int32_t i = 0; i < of->count; ++i)
    free_values(&of->list[i]);
  free(of->list);
}

void prem_live_free_args(prem_live *live) {
  for (int32_t t = 0; live->args && live->args->tasks && t < live->schedule->task_count; ++t)
    free_task(&live->args->tasks[t]);
  if (live->args)
    free(live->args->tasks);
  free(live->args);
  live->args = NULL;
}

static bool copy_task(const prem_task *from, task_args *to) {
  if (from->params)
    memcpy(to->params, from->params, PREM_PARAMS_BYTES);
  to->list = calloc((size_t)from->arg_count + 1, sizeof *to->list);
  for (int32_t i = 0; to->list && i < from->arg_count; ++i) {
    prem_arg *arg = &to->list[i];
    *arg = from->args[i];
    if (!copy_values(arg, from->args[i].values, from->args[i].count))
      return false;
    arg->is_int = from->args[i].is_int;
    if (arg->is_int) /* beyond what a double holds as well */
      memcpy(arg->ints, from->args[i].ints, (size_t)arg->count * sizeof *arg->ints);
    ++to->count;
  }
  return to->list != NULL;
}

static bool copy_all(prem_live *live) {
  bool is_whole = true;
  live->args = calloc(1, sizeof *live->args);
  if (!live->args)
    return false;
  live->args->tasks = calloc((size_t)live->schedule->task_count, sizeof *live->args->tasks);
  for (int32_t t = 0; live->args->tasks && is_whole && t < live->schedule->task_count; ++t)
    is_whole = copy_task(&live->schedule->tasks[t], &live->args->tasks[t]);
  return live->args->tasks && is_whole;
}

/* ---- setting --------------------------------------------------------------------------------- */

/* With the new argument in place; after an error all is as it was. */
static prem_status try_argument(prem_live *live, int32_t task, prem_arg *arg, prem_diag *diag) {
  task_args *of = &live->args->tasks[task];
  const int32_t at = find_arg(of, arg->key);
  const int32_t place = at >= 0 ? at : of->count;
  prem_arg *grown = realloc(of->list, ((size_t)of->count + 2) * sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  of->list = grown;
  prem_arg before = at >= 0 ? of->list[at] : (prem_arg){0};
  of->list[place] = *arg;
  prem_status status = prem_bind_again(live->schedule, task, of->list, of->count + (at < 0 ? 1 : 0),
                                       of->params, diag);
  if (status != PREM_OK) {
    of->list[place] = before;
    return status;
  }
  if (at >= 0)
    free_values(&before);
  else
    ++of->count;
  return PREM_OK;
}

static prem_status judge_setting(const prem_live *live, int32_t task, const char *key,
                                 int32_t count, prem_diag *diag) {
  if (!prem_live_engine_of(live)->changes_args) {
    prem_live_refuse(diag, "set",
                     "backend '%s' cannot change arguments while it runs; use cpu or sim",
                     live->backend->name);
    return PREM_ERR_UNAVAILABLE;
  }
  if (task < 0 || task >= live->schedule->task_count)
    return prem_live_refuse(
        diag, "set", "there is no task %d; prem_schedule_find_task() has their numbers", task);
  if (strlen(key) >= PREM_NAME_BYTES || count < 1)
    return prem_live_refuse(diag, "set",
                            "an argument has a name of 1 to %d bytes and a number at least",
                            PREM_NAME_BYTES - 1);
  return PREM_OK;
}

static prem_status set(prem_live *live, int32_t task, const char *key, const double *values,
                       int32_t count, prem_diag *diag) {
  prem_status status = judge_setting(live, task, key, count, diag);
  if (status != PREM_OK)
    return status;
  if (!live->args && !copy_all(live)) {
    prem_live_free_args(live);
    return PREM_ERR_MEMORY;
  }
  prem_arg arg = {0};
  memcpy(arg.key, key, strlen(key));
  if (!copy_values(&arg, values, count))
    return PREM_ERR_MEMORY;
  status = try_argument(live, task, &arg, diag);
  if (status != PREM_OK)
    free_values(&arg);
  return status;
}

prem_status prem_live_set(prem_live *live, int32_t task, const char *key, const double *values,
                          int32_t count, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, set(live, task, key, values, count, diag))
                               : PREM_ERR_ENDED;
}

/* ---- applying -------------------------------------------------------------------------------- */

static void write_snapshot(prem_live *live, uint64_t number) {
  const int32_t tasks = live->schedule->task_count;
  unsigned char(*to)[PREM_PARAMS_BYTES] =
      live->courier->params + number % PREM_SNAPSHOTS * (uint64_t)tasks;
  for (int32_t t = 0; t < tasks; ++t)
    memcpy(to[t], live->args->tasks[t].params, PREM_PARAMS_BYTES);
}

static prem_status apply(prem_live *live, prem_diag *diag) {
  prem_courier_face *face = live->courier->face;
  if (!live->args)
    return prem_live_refuse(diag, "apply", "nothing was set; see prem_live_set()");
  if (prem_live_is_over(live))
    return prem_live_ended(live);
  const uint64_t number = live->args->newest + 1;
  if (number >= PREM_SNAPSHOTS && prem_word_far(&face->oldest.value) <= number - PREM_SNAPSHOTS) {
    prem_live_refuse(diag, "apply",
                     "the last %d snapshots may still be in use; try again after a hyperperiod",
                     PREM_SNAPSHOTS);
    return PREM_ERR_FULL;
  }
  write_snapshot(live, number);
  live->args->newest = number;
  prem_word_set_far(&face->newest.value, number);
  prem_live_tell(live);
  return PREM_OK;
}

prem_status prem_live_apply(prem_live *live, prem_diag *diag) {
  return prem_live_enter(live) ? prem_live_leave(live, apply(live, diag)) : PREM_ERR_ENDED;
}
