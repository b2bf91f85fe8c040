/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs are left out, for which overrun or in which operating mode. */
#include <stdlib.h>

#include "prem/model/modes.h"
#include "prem/model/overrun.h"
#include "runtime/core/courier_ports.h"

static prem_status make_tickets(const prem_courier *courier, prem_live_task *task) {
  uint64_t room = 1;
  while (room < (uint64_t)(courier->rows * task->jobs))
    room *= 2;
  task->left_out = calloc(1, sizeof *task->left_out);
  if (!task->left_out)
    return PREM_ERR_MEMORY;
  task->left_out->ring_mask = room - 1;
  task->left_out->behind = -1;
  task->left_out->tickets = calloc((size_t)room, sizeof *task->left_out->tickets);
  return task->left_out->tickets ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status take_makers(prem_omissions *own, const prem_makers *from) {
  own->maker_count = from->count;
  own->makers = malloc(((size_t)from->count + 1) * sizeof *own->makers);
  if (!own->makers)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < from->count; ++i)
    own->makers[i] = from->tasks[i];
  return PREM_OK;
}

/* Those that come last first. `is_marked` has room for all tasks. */
static prem_status find_dependents(const prem_overruns *overruns, int32_t t, prem_omissions *own,
                                   bool *is_marked) {
  int32_t count = 0;
  prem_overruns_mark(overruns, t, is_marked);
  for (int32_t i = 0; i < overruns->task_count; ++i)
    count += is_marked[i];
  own->dependents = malloc((size_t)count * sizeof *own->dependents); /* one is the task itself */
  if (!own->dependents)
    return PREM_ERR_MEMORY;
  for (int32_t i = overruns->task_count - 1; i >= 0; --i)
    if (is_marked[overruns->order[i]] && overruns->order[i] != t)
      own->dependents[own->dependent_count++] = overruns->order[i];
  return PREM_OK;
}

static prem_status compile_all(prem_courier *courier, const prem_overruns *overruns) {
  bool *is_marked = calloc((size_t)courier->task_count, sizeof *is_marked);
  prem_status status = is_marked ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t t = 0; !status && t < courier->task_count; ++t) {
    prem_live_task *task = &courier->tasks[t];
    if (!overruns->concerns[t])
      continue;
    status = make_tickets(courier, task);
    if (!status)
      status = take_makers(task->left_out, &overruns->makers[t]);
    if (!status && prem_gives_up_jobs(&courier->program->schedule->tasks[t]))
      status = find_dependents(overruns, t, task->left_out, is_marked);
  }
  free(is_marked);
  return status;
}

static prem_status find_off(prem_courier *courier) {
  uint32_t *off = reallocarray(NULL, (size_t)courier->task_count, sizeof *off);
  const prem_status status =
      off ? prem_tasks_off(courier->program->schedule, off) : PREM_ERR_MEMORY;
  for (int32_t t = 0; !status && t < courier->task_count; ++t)
    courier->tasks[t].off = off[t];
  free(off);
  return status;
}

prem_status prem_courier_compile_tasks(prem_courier *courier) {
  const prem_schedule *schedule = courier->program->schedule;
  prem_overruns overruns;
  prem_status status = prem_overruns_new(schedule, &overruns);
  for (int32_t t = 0; t < courier->task_count; ++t)
    courier->tasks[t].overrun = schedule->tasks[t].overrun;
  courier->leaves_out_jobs = !status && overruns.order;
  if (courier->leaves_out_jobs) {
    status = find_off(courier);
    if (!status)
      status = compile_all(courier, &overruns);
  }
  prem_overruns_free(&overruns);
  return status;
}

void prem_courier_free_tasks(prem_courier *courier) {
  for (int32_t t = 0; courier->tasks && t < courier->task_count; ++t) {
    prem_omissions *own = courier->tasks[t].left_out;
    if (!own)
      continue;
    free((void *)own->tickets);
    free(own->makers);
    free(own->dependents);
    free(own);
  }
}
