/* SPDX-License-Identifier: Apache-2.0 */
/* Some of a schedule's tasks, at the instants and on the blocks that they have in the whole. */
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/modes.h"
#include "prem/model/overrun.h"
#include "prem/model/private.h"

#include <stdlib.h>
#include <string.h>

/** From the whole to the subset: the new index of a task or array, or -1. */
typedef struct subset {
  const prem_schedule *whole;
  prem_schedule *part;
  int32_t *task, *array;
} subset;

static void *copy_of(const void *from, size_t count, size_t bytes) {
  void *copy = calloc(count + 1, bytes);
  if (copy && from && count > 0)
    memcpy(copy, from, count * bytes);
  return copy;
}

/* A member that is NULL stays so; false when out of memory. */
static bool copy_member(void **member, size_t count, size_t bytes) {
  if (!*member)
    return true;
  *member = copy_of(*member, count, bytes);
  return *member != NULL;
}

/* ---- what is kept --------------------------------------------------------------------------- */

/* A task cannot be without those that it follows. */
static void keep_predecessors(const prem_schedule *whole, bool *keep) {
  bool grew = true;
  while (grew) {
    grew = false;
    for (int32_t t = 0; t < whole->task_count; ++t)
      for (int32_t a = 0; keep[t] && a < whole->tasks[t].after_count; ++a) {
        bool *before = &keep[whole->tasks[t].after[a].task];
        grew |= !*before;
        *before = true;
      }
  }
}

static int32_t bound_ports(const prem_task *task) {
  return task->definition ? task->definition->port_count : 0;
}

static void keep_arrays(const subset *to, bool *keep) {
  for (int32_t t = 0; t < to->whole->task_count; ++t) {
    const prem_task *task = &to->whole->tasks[t];
    if (to->task[t] < 0)
      continue;
    for (int32_t p = 0; p < task->port_count; ++p)
      if (task->port_arrays[p] >= 0) /* a broken task may name none */
        keep[task->port_arrays[p]] = true;
    for (int32_t p = 0; task->arrays && p < bound_ports(task); ++p)
      keep[task->arrays[p]] = true;
  }
}

static int32_t number_kept(const bool *keep, int32_t count, int32_t *index) {
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i)
    index[i] = keep[i] ? kept++ : -1;
  return kept;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static bool copy_args(prem_task *task) {
  const prem_arg *from = task->args;
  if (!copy_member((void **)&task->args, (size_t)task->arg_count, sizeof *task->args)) {
    task->arg_count = 0;
    return false;
  }
  bool whole = true;
  for (int32_t i = 0; i < task->arg_count; ++i) {
    prem_arg *arg = &task->args[i];
    arg->values = copy_of(from[i].values, (size_t)arg->count, sizeof *arg->values);
    whole &= arg->values != NULL;
    whole &= copy_member((void **)&arg->ints, (size_t)arg->count, sizeof *arg->ints);
  }
  return whole;
}

static bool copy_phases(prem_task *task, size_t resources) {
  bool whole = copy_member((void **)&task->joined.demand, resources, sizeof(int32_t));
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    whole &= copy_member((void **)&task->phase[p].demand, resources, sizeof(int32_t));
  return whole;
}

static bool copy_bound(prem_task *task) {
  const size_t ports = (size_t)bound_ports(task);
  bool whole = copy_member((void **)&task->windows, ports, sizeof *task->windows);
  whole &= copy_member((void **)&task->arrays, ports, sizeof *task->arrays);
  whole &= copy_member((void **)&task->layout, task->definition ? ports + 1 : 0,
                       sizeof *task->layout); /* and the work area's */
  whole &= copy_member((void **)&task->params, PREM_PARAMS_BYTES, 1);
  return whole;
}

/* Edges to tasks that are gone are left out. */
static void keep_edges(const subset *to, prem_task *task) {
  int32_t kept = 0;
  for (int32_t a = 0; a < task->after_count; ++a) {
    prem_after after = task->after[a];
    after.task = to->task[after.task];
    if (after.task >= 0)
      task->after[kept++] = after;
  }
  task->after_count = kept;
}

/* Every pointer is replaced, by NULL at worst: a copy that failed can be freed. */
static bool copy_task(const subset *to, const prem_task *from, prem_task *task) {
  *task = *from;
  const size_t ports = (size_t)task->port_count;
  bool whole = copy_phases(task, (size_t)to->whole->platform.resource_count);
  whole &= copy_args(task);
  whole &= copy_member((void **)&task->blocks, (size_t)task->block_count, sizeof *task->blocks);
  whole &= copy_member((void **)&task->after, (size_t)task->after_count, sizeof *task->after);
  whole &= copy_member((void **)&task->port_names, ports, sizeof *task->port_names);
  whole &= copy_member((void **)&task->port_arrays, ports, sizeof *task->port_arrays);
  whole &= copy_bound(task);
  if (!whole)
    return false;
  keep_edges(to, task);
  for (int32_t p = 0; p < task->port_count; ++p)
    if (task->port_arrays[p] >= 0)
      task->port_arrays[p] = to->array[task->port_arrays[p]];
  for (int32_t p = 0; task->arrays && p < bound_ports(task); ++p)
    task->arrays[p] = to->array[task->arrays[p]];
  return true;
}

static bool copy_tasks(subset *to, int32_t count) {
  prem_schedule *part = to->part;
  part->tasks = calloc((size_t)count + 1, sizeof *part->tasks);
  bool whole = part->tasks != NULL;
  for (int32_t t = 0; t < to->whole->task_count && whole; ++t)
    if (to->task[t] >= 0)
      whole = copy_task(to, &to->whole->tasks[t], &part->tasks[part->task_count++]);
  return whole;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static char *copy_text(const char *text) {
  return text ? strdup(text) : NULL;
}

static bool copy_arrays(subset *to, int32_t count) {
  prem_schedule *part = to->part;
  part->arrays = calloc((size_t)count + 1, sizeof *part->arrays);
  if (!part->arrays)
    return false;
  bool whole = true;
  for (int32_t a = 0; a < to->whole->array_count; ++a) {
    if (to->array[a] < 0)
      continue;
    const prem_array *from = &to->whole->arrays[a];
    prem_array *array = &part->arrays[part->array_count++];
    *array = *from;
    array->file = copy_text(from->file);
    array->save = copy_text(from->save);
    whole &= (array->file || !from->file) && (array->save || !from->save);
    array->writer = -1;
  }
  return whole;
}

static void find_writers(prem_schedule *part) {
  for (int32_t t = part->task_count - 1; t >= 0; --t)
    for (int32_t p = 0; part->tasks[t].arrays && p < bound_ports(&part->tasks[t]); ++p)
      if (part->tasks[t].definition->ports[p].access == PREM_OUT)
        part->arrays[part->tasks[t].arrays[p]].writer = t;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static int32_t position_of(const prem_task *task, int32_t block) {
  for (int32_t i = 0; i < task->block_count; ++i)
    if (task->blocks[i] == block)
      return i;
  return -1;
}

/* The writebacks of a joined run whose prefetches are gone: block by block, since the two tasks may
 * count their blocks in another order. */
static prem_status keep_writebacks(const subset *to, const prem_affine *joined, prem_plan *plan) {
  const prem_task *fetcher = &to->whole->tasks[joined->task];
  const prem_task *writer = &to->whole->tasks[joined->join_task];
  for (int32_t j = 0; j < joined->count; ++j) {
    const int32_t position = position_of(writer, fetcher->blocks[joined->first_block + j]);
    if (position < 0)
      continue;
    prem_affine run = *joined;
    run.task = to->task[joined->join_task];
    run.phase = PREM_WRITEBACK;
    run.chain = 0;
    run.first_block = position;
    run.count = 1;
    run.start_ns += j * joined->block_step_ns;
    run.tile = joined->join_tile + j * joined->tile_per_block;
    run.job = joined->join_job;
    run.join_task = -1;
    prem_status status = prem_plan_add_affine(plan, &run);
    if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

static prem_status keep_run(const subset *to, const prem_affine *from, prem_plan *plan) {
  const bool is_joined = from->join_task >= 0;
  if (to->task[from->task] < 0)
    return is_joined && to->task[from->join_task] >= 0 ? keep_writebacks(to, from, plan) : PREM_OK;
  prem_affine run = *from;
  run.task = to->task[from->task];
  run.join_task = is_joined ? to->task[from->join_task] : -1;
  return prem_plan_add_affine(plan, &run);
}

/* Without best-effort tasks nobody asks for them. */
static prem_status copy_closed(const prem_schedule *part, const prem_plan *whole, prem_plan *plan) {
  plan->gates = whole->gates && prem_schedule_has_best_effort(part);
  plan->open_ns = plan->gates ? whole->open_ns : 0;
  plan->closed = NULL;
  plan->closed_count = 0;
  prem_status status = PREM_OK;
  for (int32_t i = 0; plan->gates && i < whole->closed_count && status == PREM_OK; ++i)
    status = prem_plan_add_closed(plan, whole->closed[i].start_ns, whole->closed[i].end_ns);
  return status;
}

static prem_status copy_plan(subset *to, const prem_plan *whole) {
  if (!whole)
    return PREM_OK;
  prem_plan *plan = prem_plan_new();
  if (!plan)
    return PREM_ERR_MEMORY;
  prem_schedule_set_plan(to->part, plan);
  const prem_plan empty = *plan;
  *plan = *whole;
  plan->affine = empty.affine;
  plan->affine_count = 0;
  plan->starts = empty.starts;
  plan->starts_count = 0;
  plan->modes = NULL; /* a part of a schedule has no live session */
  plan->mode_count = 0;
  plan->kernels[0] = plan->times[0] = '\0'; /* they are others now */
  prem_status status = copy_closed(to->part, whole, plan);
  for (int32_t i = 0; i < whole->affine_count && status == PREM_OK; ++i)
    status = keep_run(to, &whole->affine[i], plan);
  for (int32_t i = 0; i < whole->starts_count && status == PREM_OK; ++i) {
    prem_starts starts = whole->starts[i];
    if (to->task[starts.task] < 0)
      continue;
    starts.task = to->task[starts.task];
    status = prem_plan_add_starts(plan, &starts);
  }
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool copy_settings(const prem_schedule *whole, prem_schedule *part) {
  const struct prem_schedule_private *from = whole->private_data;
  struct prem_schedule_private *own = part->private_data;
  const size_t blocks = (size_t)whole->platform.blocks + 1;
  memcpy(part->name, whole->name, sizeof part->name);
  memcpy(part->sha256, whole->sha256, sizeof part->sha256);
  part->platform = whole->platform;
  part->policy = whole->policy;
  part->measure = whole->measure;
  part->measure.chains = NULL; /* some of their tasks may be missing */
  part->measure.chain_count = 0;
  part->precedence_ns = whole->precedence_ns; /* a simulator takes this time */
  part->job_turnaround_ns = whole->job_turnaround_ns;
  part->job_prefetch_ns = whole->job_prefetch_ns;
  part->period_lcm_ns = whole->period_lcm_ns;
  part->bound = whole->bound;
  part->platform.resources =
      copy_of(whole->platform.resources, (size_t)whole->platform.resource_count,
              sizeof *part->platform.resources);
  part->path = copy_text(whole->path);
  if (from && from->block_in) {
    own->block_in = copy_of(from->block_in, blocks, sizeof *own->block_in);
    own->block_out = copy_of(from->block_out, blocks, sizeof *own->block_out);
    if (!own->block_in || !own->block_out)
      return false;
  }
  return part->platform.resources && (part->path || !whole->path);
}

static prem_status fill_part(subset *to, const bool *keep_tasks, bool *keep_of_arrays,
                             const prem_plan *plan) {
  const int32_t tasks = number_kept(keep_tasks, to->whole->task_count, to->task);
  keep_arrays(to, keep_of_arrays);
  const int32_t arrays = number_kept(keep_of_arrays, to->whole->array_count, to->array);
  if (!copy_settings(to->whole, to->part) || !copy_tasks(to, tasks) || !copy_arrays(to, arrays))
    return PREM_ERR_MEMORY;
  find_writers(to->part);
  prem_status status = prem_schedule_index(to->part);
  return status == PREM_OK ? copy_plan(to, plan) : status;
}

/* A schedule of just these tasks. */
static prem_status make_part(const prem_schedule *schedule, const bool *keep, const prem_plan *plan,
                             prem_schedule **out) {
  *out = NULL;
  const size_t tasks = (size_t)schedule->task_count, arrays = (size_t)schedule->array_count;
  bool *keep_of_arrays = calloc(arrays + 1, sizeof *keep_of_arrays);
  subset to = {.whole = schedule,
               .part = prem_schedule_new(),
               .task = calloc(tasks + 1, sizeof *to.task),
               .array = calloc(arrays + 1, sizeof *to.array)};
  prem_status status = PREM_ERR_MEMORY;
  if (keep_of_arrays && to.part && to.task && to.array)
    status = fill_part(&to, keep, keep_of_arrays, plan);
  if (status == PREM_OK)
    *out = to.part;
  else
    prem_schedule_free(to.part);
  PREM_FREE(keep_of_arrays, to.task, to.array);
  return status;
}

prem_status prem_schedule_subset(const prem_schedule *schedule, const bool *keep,
                                 prem_schedule **out) {
  *out = NULL;
  bool *kept = copy_of(keep, (size_t)schedule->task_count, sizeof *kept);
  if (!kept)
    return PREM_ERR_MEMORY;
  keep_predecessors(schedule, kept);
  const prem_status status = make_part(schedule, kept, schedule->plan, out);
  free(kept);
  return status;
}

/* ---- an operating mode ---------------------------------------------------------------------- */

prem_status prem_mode_schedule(const prem_schedule *schedule, int32_t mode, prem_schedule **out,
                               int32_t **tasks) {
  *out = NULL;
  const size_t count = (size_t)schedule->task_count;
  uint32_t *off = calloc(count + 1, sizeof *off);
  bool *keep = calloc(count + 1, sizeof *keep);
  int32_t kept = 0;
  *tasks = calloc(count + 1, sizeof **tasks);
  prem_status status = off && keep && *tasks ? prem_tasks_off(schedule, off) : PREM_ERR_MEMORY;
  for (int32_t t = 0; status == PREM_OK && t < schedule->task_count; ++t)
    if (!(off[t] >> mode & 1)) {
      keep[t] = true;
      (*tasks)[kept++] = t;
    }
  if (status == PREM_OK)
    status = make_part(schedule, keep, prem_schedule_plan_of(schedule, mode), out);
  if (status == PREM_OK) {
    /* Nobody makes versions of it. */
    for (int32_t a = 0; a < (*out)->array_count; ++a)
      if ((*out)->arrays[a].writer < 0)
        (*out)->arrays[a].versions = 0;
    (*out)->policy = schedule->operating_modes[mode].policy;
    (*out)->policy.overrun = schedule->policy.overrun;
    (*out)->policy.warmup_tiles = 0; /* they have none */
  } else {
    free(*tasks);
    *tasks = NULL;
  }
  free(off);
  free(keep);
  return status;
}

/* ---- classes -------------------------------------------------------------------------------- */

bool prem_schedule_has_best_effort(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].best_effort)
      return true;
  return false;
}

/* Blocks of the other class need nothing: their buffers are others. */
static prem_status keep_own_scratchpads(prem_schedule *part) {
  struct prem_schedule_private *own = part->private_data;
  bool *works = calloc((size_t)part->platform.blocks + 1, sizeof *works);
  if (!works)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < part->task_count; ++t)
    for (int32_t i = 0; i < part->tasks[t].block_count; ++i)
      works[part->tasks[t].blocks[i]] = true;
  for (int32_t b = 0; own->block_in && b < part->platform.blocks; ++b)
    if (!works[b])
      own->block_in[b] = own->block_out[b] = 0;
  free(works);
  return PREM_OK;
}

static prem_status make_class(const prem_schedule *schedule, bool best_effort, prem_schedule **out,
                              int32_t **tasks) {
  const size_t count = (size_t)schedule->task_count;
  bool *keep = calloc(count + 1, sizeof *keep);
  int32_t *index = calloc(count + 1, sizeof *index), kept = 0;
  prem_status status = PREM_ERR_MEMORY;
  *out = NULL;
  for (int32_t t = 0; keep && index && t < schedule->task_count; ++t)
    if ((keep[t] = schedule->tasks[t].best_effort == best_effort))
      index[kept++] = t;
  if (keep && index)
    status = make_part(schedule, keep, best_effort ? NULL : schedule->plan, out);
  if (status == PREM_OK)
    status = keep_own_scratchpads(*out);
  if (status != PREM_OK) {
    prem_schedule_free(*out);
    *out = NULL;
  }
  free(keep);
  if (tasks)
    *tasks = status == PREM_OK ? index : NULL;
  if (!tasks || status != PREM_OK)
    free(index);
  return status;
}

prem_status prem_schedule_critical(const prem_schedule *schedule, prem_schedule **out,
                                   int32_t **tasks) {
  const prem_status status = make_class(schedule, false, out, tasks);
  if (status == PREM_OK && prem_schedule_has_best_effort(schedule))
    (*out)->platform.best_effort.left_out = true;
  return status;
}

/* The step of the clock that instants of the critical plan lie on. */
static int64_t step_ns(const prem_schedule *schedule) {
  const int64_t step_ns = schedule->platform.clock_step_ns;
  return schedule->plan ? prem_max_i64(step_ns, schedule->plan->clock_step_ns) : step_ns;
}

/* What was said of the class is said of the whole now. The plan is an order and no more: phases of
 * several blocks may overlap, whatever they take. */
static void become_ordinary(prem_schedule *part) {
  const prem_best_effort *own = &part->platform.best_effort;
  for (int32_t r = 0; r < part->platform.resource_count; ++r)
    part->platform.resources[r].capacity = INT32_MAX;
  part->platform.block_threads = own->block_threads;
  part->platform.buffers = own->buffers;
  part->platform.scratch_bytes = own->scratch_bytes;
  part->policy = (prem_policy){.use = "auto", .objective = "makespan", .place = part->policy.place};
  part->period_lcm_ns = prem_periods_lcm_ns(part, true, NULL);
  for (int32_t t = 0; t < part->task_count; ++t)
    part->tasks[t].best_effort = false;
}

prem_status prem_schedule_best_effort(const prem_schedule *schedule, prem_schedule **out,
                                      int32_t **tasks) {
  const prem_status status = make_class(schedule, true, out, tasks);
  if (status == PREM_OK) {
    become_ordinary(*out);
    (*out)->platform.clock_step_ns = step_ns(schedule);
  }
  return status;
}

int64_t prem_ahead_ns(const prem_schedule *schedule, const prem_task *task, prem_phase phase) {
  const prem_phase_spec *spec = &task->phase[phase];
  const int64_t given_ns = schedule->platform.best_effort.ahead_ns;
  if (!spec->exists || spec->demand[0] == 0 || spec->wcet_ns <= 0)
    return 0;
  return given_ns > 0 ? given_ns : spec->wcet_ns + step_ns(schedule);
}
