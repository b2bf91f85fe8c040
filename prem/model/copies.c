/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of live frames as tasks that planner and checker know how to keep apart. */
#include "prem/model/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/private.h"

/* ---- when they come ------------------------------------------------------------------------- */

int32_t prem_copy_count(const prem_schedule *schedule) {
  int32_t count = 0;
  for (int32_t i = 0; schedule->bound && i < schedule->live_count; ++i)
    count += schedule->live[i].copy.exists;
  return count;
}

/* A port's period is the shortest of its tasks, its release the earliest of theirs. */
int64_t prem_copy_start_ns(const prem_schedule *schedule, const prem_live_port *port,
                           int64_t *period_ns) {
  int64_t release_ns = INT64_MAX;
  *period_ns = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!prem_task_uses(task, port->array, port->is_output ? PREM_OUT : PREM_IN))
      continue;
    if (task->period_ns > 0 && (*period_ns == 0 || task->period_ns < *period_ns))
      *period_ns = task->period_ns;
    release_ns = prem_min_i64(release_ns, task->release_ns);
  }
  if (port->is_output)
    return release_ns + port->publish_ns - port->copy.wcet_ns;
  return release_ns - port->lead_ns - port->copy.wcet_ns;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* What its first job begins at, in its own period. */
static int64_t release_of(const prem_schedule *schedule, const prem_live_port *port,
                          int64_t *period_ns) {
  const int64_t start_ns = prem_copy_start_ns(schedule, port, period_ns);
  if (*period_ns == 0)
    return start_ns;
  const int64_t within_ns = start_ns % *period_ns;
  return within_ns < 0 ? within_ns + *period_ns : within_ns;
}

static prem_status make_task(const prem_schedule *schedule, const prem_live_port *port,
                             int32_t block, prem_task *task) {
  const size_t resources = (size_t)schedule->platform.resource_count;
  const prem_phase phase = port->is_output ? PREM_WRITEBACK : PREM_PREFETCH;
  *task = (prem_task){.block_count = 1, .tile_count = 1, .is_copy = true, .place = port->place};
  snprintf(task->name, sizeof task->name, "copy of %.*s", PREM_NAME_BYTES - 9,
           schedule->arrays[port->array].name);
  snprintf(task->kernel, sizeof task->kernel, "none");
  task->release_ns = release_of(schedule, port, &task->period_ns);
  task->deadline_ns = port->copy.wcet_ns;
  task->blocks = calloc(1, sizeof *task->blocks);
  task->joined.demand = calloc(resources, sizeof *task->joined.demand);
  bool whole = task->blocks && task->joined.demand;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (p == (int)phase)
      task->phase[p] = port->copy;
    task->phase[p].demand = calloc(resources, sizeof *task->phase[p].demand);
    whole &= task->phase[p].demand != NULL;
  }
  if (!whole)
    return PREM_ERR_MEMORY;
  memcpy(task->phase[phase].demand, port->copy.demand, resources * sizeof *port->copy.demand);
  task->blocks[0] = block;
  return PREM_OK;
}

static void free_copy(prem_task *task) {
  free(task->blocks);
  free(task->joined.demand);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    free(task->phase[p].demand);
}

static prem_status add_tasks(const prem_schedule *schedule, prem_schedule *to) {
  const size_t own = (size_t)schedule->task_count;
  to->tasks = calloc(own + (size_t)prem_copy_count(schedule), sizeof *to->tasks);
  if (!to->tasks)
    return PREM_ERR_MEMORY;
  memcpy(to->tasks, schedule->tasks, own * sizeof *to->tasks);
  for (int32_t i = 0; i < schedule->live_count; ++i) {
    const prem_live_port *port = &schedule->live[i];
    if (!port->copy.exists)
      continue;
    /* Its result has to be there when it is copied. */
    for (int32_t t = 0; port->is_output && t < schedule->task_count; ++t)
      if (prem_task_uses(&to->tasks[t], port->array, PREM_OUT))
        to->tasks[t].publish_ns = port->publish_ns - port->copy.wcet_ns;
    if (make_task(schedule, port, to->platform.blocks++, &to->tasks[to->task_count++]))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static prem_status add_instants(const prem_schedule *with_copies, int32_t first, prem_plan *plan) {
  const size_t own = (size_t)plan->starts_count;
  const size_t copies = (size_t)(with_copies->task_count - first);
  prem_starts *starts = calloc(own + copies, sizeof *starts);
  if (!starts)
    return PREM_ERR_MEMORY;
  if (own > 0)
    memcpy(starts, plan->starts, own * sizeof *starts);
  plan->starts = starts;
  for (int32_t t = first; t < with_copies->task_count; ++t) {
    const prem_task *task = &with_copies->tasks[t];
    const int64_t jobs = prem_task_jobs(with_copies, task);
    prem_starts *of = &starts[plan->starts_count++];
    *of = (prem_starts){.task = t,
                        .phase = task->phase[PREM_PREFETCH].exists ? PREM_PREFETCH : PREM_WRITEBACK,
                        .start_ns = calloc((size_t)jobs, sizeof *of->start_ns),
                        .count = jobs,
                        .place = task->place};
    for (int64_t job = 0; of->start_ns && job < jobs; ++job)
      of->start_ns[job] = task->release_ns + job * task->period_ns;
    if (!of->start_ns)
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

/* The plan, or that of a mode, with the copies' instants. `*to` can be freed in any case. */
static prem_status add_plan(const prem_schedule *with_copies, int32_t first, const prem_plan *from,
                            prem_plan **to) {
  prem_plan *plan = *to = malloc(sizeof *plan);
  if (!plan)
    return PREM_ERR_MEMORY;
  *plan = *from;
  plan->mode_count = 0;
  plan->modes = calloc((size_t)from->mode_count + 1, sizeof(prem_plan *));
  const prem_status status = add_instants(with_copies, first, plan);
  if (status)
    plan->starts = plan->starts == from->starts ? NULL : plan->starts;
  return plan->modes ? status : PREM_ERR_MEMORY;
}

static void free_plan(prem_plan *plan, int32_t first) {
  if (!plan)
    return;
  for (int32_t m = 0; m < plan->mode_count; ++m)
    free_plan(plan->modes[m], first);
  for (int32_t i = 0; plan->starts && i < plan->starts_count; ++i)
    if (plan->starts[i].task >= first)
      free(plan->starts[i].start_ns);
  PREM_FREE(plan->starts, plan->modes, plan);
}

static prem_status add_plans(const prem_schedule *schedule, prem_schedule *to) {
  const prem_plan *from = schedule->plan;
  to->plan = NULL;
  if (!from)
    return PREM_OK;
  prem_status status = add_plan(to, schedule->task_count, from, &to->plan);
  for (int32_t m = 0; !status && m < from->mode_count; ++m)
    status = add_plan(to, schedule->task_count, from->modes[m],
                      &to->plan->modes[to->plan->mode_count++]);
  return status;
}

static int32_t keep_own(const prem_schedule *schedule, prem_plan *plan) {
  int32_t kept = 0;
  for (int32_t i = 0; i < plan->affine_count; ++i)
    if (plan->affine[i].task < schedule->task_count)
      plan->affine[kept++] = plan->affine[i];
  return kept;
}

void prem_copies_drop(const prem_schedule *schedule, prem_plan *plan) {
  int32_t kept = 0;
  plan->affine_count = keep_own(schedule, plan);
  for (int32_t i = 0; i < plan->starts_count; ++i)
    if (plan->starts[i].task < schedule->task_count)
      plan->starts[kept++] = plan->starts[i];
    else
      free(plan->starts[i].start_ns);
  plan->starts_count = kept;
  for (int32_t m = 0; m < plan->mode_count; ++m)
    prem_copies_drop(schedule, plan->modes[m]);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Scratchpad of the blocks, of which copies need none. */
static int32_t *more_blocks(const int32_t *from, int32_t own, int32_t all) {
  int32_t *to = calloc((size_t)all + 1, sizeof *to);
  if (to && from)
    memcpy(to, from, (size_t)own * sizeof *to);
  return to;
}

static prem_status add_private(const prem_schedule *schedule, prem_schedule *to) {
  const struct prem_schedule_private *from = schedule->private_data;
  struct prem_schedule_private *own = calloc(1, sizeof *own);
  to->private_data = own;
  if (!own)
    return PREM_ERR_MEMORY;
  *own = *from;
  own->by_name = NULL;
  own->block_in = more_blocks(from->block_in, schedule->platform.blocks, to->platform.blocks);
  own->block_out = more_blocks(from->block_out, schedule->platform.blocks, to->platform.blocks);
  return own->block_in && own->block_out ? prem_schedule_index(to) : PREM_ERR_MEMORY;
}

prem_status prem_copies_add(const prem_schedule *schedule, prem_schedule **out) {
  prem_schedule *to = *out = malloc(sizeof *to);
  if (!to)
    return PREM_ERR_MEMORY;
  *to = *schedule;
  to->private_data = NULL;
  to->plan = NULL;
  to->live = NULL;
  to->live_count = to->live_input_count = 0;
  prem_status status = add_tasks(schedule, to);
  if (!status)
    status = add_private(schedule, to);
  if (!status)
    status = add_plans(schedule, to);
  if (status) {
    prem_copies_free(to);
    *out = NULL;
  }
  return status;
}

/* Copies stand behind all others. */
void prem_copies_free(prem_schedule *with_copies) {
  if (!with_copies)
    return;
  int32_t first = with_copies->tasks ? with_copies->task_count : 0;
  while (first > 0 && with_copies->tasks[first - 1].is_copy)
    free_copy(&with_copies->tasks[--first]);
  free_plan(with_copies->plan, first);
  free(with_copies->tasks);
  if (with_copies->private_data) {
    PREM_FREE(with_copies->private_data->by_name, with_copies->private_data->block_in,
              with_copies->private_data->block_out);
  }
  free(with_copies->private_data);
  free(with_copies);
}
