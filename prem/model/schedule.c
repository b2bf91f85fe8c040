/* SPDX-License-Identifier: Apache-2.0 */
/* The model itself: making, freeing, finding, and what follows from its numbers alone. */
#include "prem/model/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

prem_schedule *prem_schedule_new(void) {
  prem_schedule *schedule = calloc(1, sizeof *schedule);
  if (!schedule)
    return NULL;
  schedule->private_data = calloc(1, sizeof *schedule->private_data);
  if (!schedule->private_data) {
    free(schedule);
    return NULL;
  }
  schedule->private_data->plan_offset = SIZE_MAX;
  schedule->platform.buffers = 1;
  schedule->platform.clock_step_ns = 1;
  schedule->platform.late_ns = 1;
  schedule->platform.best_effort.buffers = 1;
  strcpy(schedule->policy.use, "auto");
  strcpy(schedule->policy.objective, "makespan");
  schedule->measure = (prem_measure){.scenario = PREM_RELAUNCH,
                                     .runs = 100,
                                     .hyperperiods = 100,
                                     .discard = 1,
                                     .modes = {PREM_MODE_FREE, PREM_MODE_TT},
                                     .mode_count = 2};
  return schedule;
}

const char *prem_schedule_intern(prem_schedule *schedule, const char *file) {
  struct prem_schedule_private *own = schedule->private_data;
  for (size_t i = 0; i < own->file_count; ++i)
    if (strcmp(own->files[i], file) == 0)
      return own->files[i];
  char **grown = prem_grow(own->files, own->file_count, sizeof *grown);
  if (!grown)
    return NULL;
  own->files = grown;
  own->files[own->file_count] = strdup(file);
  return own->files[own->file_count] ? own->files[own->file_count++] : NULL;
}

static void free_task(prem_task *task) {
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    free(task->phase[phase].demand);
  for (int32_t i = 0; i < task->arg_count; ++i) {
    free(task->args[i].values);
    free(task->args[i].ints);
  }
  PREM_FREE(task->joined.demand, task->args, task->blocks, task->after, task->port_names,
            task->port_arrays, task->windows, task->arrays, task->params, task->layout);
}

static void free_private(struct prem_schedule_private *own) {
  for (size_t i = 0; i < own->file_count; ++i)
    free(own->files[i]);
  PREM_FREE(own->files, own->source, own->by_name, own->block_in, own->block_out, own->references,
            own);
}

void prem_schedule_free(prem_schedule *schedule) {
  if (!schedule)
    return;
  for (int32_t i = 0; i < schedule->task_count; ++i)
    free_task(&schedule->tasks[i]);
  for (int32_t i = 0; i < schedule->array_count; ++i) {
    free(schedule->arrays[i].file);
    free(schedule->arrays[i].save);
  }
  for (int32_t i = 0; i < schedule->profile_count; ++i)
    free(schedule->profiles[i].path);
  prem_chains_free(&schedule->measure);
  PREM_FREE(schedule->tasks, schedule->arrays, schedule->profiles);
  for (int32_t i = 0; i < schedule->live_count; ++i)
    free(schedule->live[i].copy.demand);
  PREM_FREE(schedule->live, schedule->operating_modes, schedule->platform.resources,
            schedule->path);
  prem_plan_free(schedule->plan);
  free_private(schedule->private_data);
  free(schedule);
}

void prem_schedule_keep_references(prem_schedule *schedule) {
  schedule->private_data->keeps_references = true;
}

void prem_schedule_set_plan(prem_schedule *schedule, prem_plan *plan) {
  if (schedule->plan != plan)
    prem_plan_free(schedule->plan);
  schedule->plan = plan;
}

bool prem_schedule_has_mode_plans(const prem_schedule *schedule) {
  for (int32_t m = 0; m < schedule->operating_mode_count; ++m)
    if (schedule->operating_modes[m].has_plan)
      return true;
  return false;
}

const prem_plan *prem_schedule_plan_of(const prem_schedule *schedule, int32_t mode) {
  const prem_plan *plan = schedule->plan;
  const prem_operating_mode *of =
      mode >= 0 && mode < schedule->operating_mode_count ? &schedule->operating_modes[mode] : NULL;
  if (!plan || !of || !of->has_plan)
    return plan;
  for (int32_t i = 0; i < plan->mode_count; ++i)
    if (strcmp(plan->modes[i]->mode, of->name) == 0)
      return plan->modes[i];
  return NULL;
}

/* ---- finding -------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *schedule) {
  const prem_task *tasks = ((const prem_schedule *)schedule)->tasks;
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  int order = strcmp(tasks[x].name, tasks[y].name);
  return order ? order : (x > y) - (x < y);
}

prem_status prem_schedule_index(prem_schedule *schedule) {
  size_t count = (size_t)schedule->task_count;
  int32_t *by_name = reallocarray(NULL, count + 1, sizeof *by_name);
  if (!by_name)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < schedule->task_count; ++i)
    by_name[i] = i;
  qsort_r(by_name, count, sizeof *by_name, compare_names, schedule);
  free(schedule->private_data->by_name);
  schedule->private_data->by_name = by_name;
  return PREM_OK;
}

bool prem_task_uses(const prem_task *task, int32_t array, prem_access access) {
  for (int32_t p = 0; task->definition && task->arrays && p < task->definition->port_count; ++p)
    if (task->arrays[p] == array && task->definition->ports[p].access == access)
      return true;
  return false;
}

int32_t prem_schedule_find_task(const prem_schedule *schedule, const char *name) {
  const int32_t *by_name = schedule->private_data->by_name;
  if (!by_name) /* there was no memory for it */
    return -1;
  int32_t low = 0, high = schedule->task_count;
  PREM_BISECT(low, high, middle, strcmp(schedule->tasks[by_name[middle]].name, name) < 0);
  bool is_found =
      low < schedule->task_count && strcmp(schedule->tasks[by_name[low]].name, name) == 0;
  return is_found ? by_name[low] : -1;
}

const prem_profile_ref *prem_schedule_find_profile(const prem_schedule *schedule,
                                                   const char *name) {
  for (int32_t i = 0; i < schedule->profile_count; ++i)
    if (strcmp(schedule->profiles[i].name, name) == 0)
      return &schedule->profiles[i];
  return NULL;
}

int64_t prem_periods_lcm_ns(const prem_schedule *schedule, bool best_effort,
                            const prem_task **above) {
  int64_t lcm_ns = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->best_effort != best_effort || task->period_ns <= 0)
      continue;
    const int64_t times =
        lcm_ns ? task->period_ns / prem_common_divisor(lcm_ns, task->period_ns) : task->period_ns;
    if (lcm_ns && times > PREM_MAX_NS / lcm_ns) {
      if (above)
        *above = task;
      return lcm_ns;
    }
    lcm_ns = lcm_ns ? lcm_ns * times : times;
  }
  return lcm_ns;
}

/* ---- what follows --------------------------------------------------------------------------- */

void prem_schedule_machine(const prem_schedule *schedule, prem_machine *out) {
  const prem_platform *platform = &schedule->platform;
  const char *slash = schedule->path ? strrchr(schedule->path, '/') : NULL;
  const char *file = slash ? slash + 1 : schedule->path ? schedule->path : "-";
  *out = (prem_machine){.max_blocks = platform->blocks,
                        .cores = platform->sms,
                        .scratch_bytes = platform->scratch_bytes,
                        .clock_step_ns = platform->clock_step_ns,
                        .dispatch_ns = schedule->dispatch_ns,
                        .precedence_ns = prem_schedule_precedence_ns(schedule),
                        .bandwidth_bytes_per_s = schedule->bandwidth_bytes_per_s};
  snprintf(out->name, sizeof out->name, "platform of %.100s", file);
}

int64_t prem_schedule_precedence_ns(const prem_schedule *schedule) {
  const int64_t given_ns = schedule->platform.precedence_ns;
  return given_ns > schedule->precedence_ns ? given_ns : schedule->precedence_ns;
}

int64_t prem_phase_gap_ns(const prem_schedule *schedule, const prem_task *task, prem_phase phase) {
  const int64_t turnaround_ns = task->phase[phase].exists ? task->phase[phase].turnaround_ns : 0;
  const int64_t guard_ns = schedule->platform.guard_ns;
  return turnaround_ns > guard_ns ? turnaround_ns : guard_ns;
}

/* From a compute to the next one. */
static int64_t compute_gap_ns(const prem_task *task) {
  const prem_phase_spec *compute = &task->phase[PREM_COMPUTE];
  const int64_t most_ns = PREM_MAX_NS - 1; /* so that it can be added to a time */
  return compute->exists ? prem_min_i64(compute->unit_turnaround_ns, most_ns) : 0;
}

int64_t prem_unit_gap_ns(const prem_schedule *schedule, const prem_task *task, prem_phase phase,
                         int32_t tile) {
  const int64_t gap_ns = prem_phase_gap_ns(schedule, task, phase);
  if (phase == PREM_COMPUTE)
    return prem_max_i64(gap_ns, compute_gap_ns(task));
  const bool ends_job =
      schedule->platform.buffers > 1 && (int64_t)tile + task->block_count >= task->tile_count;
  const int64_t most_ns = PREM_MAX_NS - 1; /* so that it can be added to a time */
  const int64_t job_ns = phase == PREM_WRITEBACK
                             ? schedule->job_turnaround_ns
                             : schedule->job_prefetch_ns - task->phase[phase].wcet_ns;
  if (!ends_job || job_ns <= gap_ns)
    return gap_ns;
  return job_ns < most_ns ? job_ns : most_ns;
}

int64_t prem_schedule_unit_gap_ns(const prem_schedule *schedule) {
  int64_t max_ns = prem_max_i64(schedule->job_turnaround_ns, schedule->job_prefetch_ns);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    max_ns = prem_max_i64(max_ns, compute_gap_ns(&schedule->tasks[t]));
  return max_ns;
}

int64_t prem_schedule_gap_ns(const prem_schedule *schedule, const prem_task *task) {
  const prem_task *first = task ? task : schedule->tasks;
  const prem_task *end = task ? task + 1 : schedule->tasks + schedule->task_count;
  int64_t max_ns = schedule->platform.guard_ns;
  for (const prem_task *one = first; one < end; ++one)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      max_ns = prem_max_i64(max_ns, prem_phase_gap_ns(schedule, one, (prem_phase)p));
  return max_ns;
}

int64_t prem_task_jobs(const prem_schedule *schedule, const prem_task *task) {
  if (task->best_effort || task->period_ns <= 0 || schedule->period_lcm_ns <= 0)
    return 1;
  return schedule->period_lcm_ns / task->period_ns;
}

bool prem_task_profiled(const prem_task *task) {
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    if (task->phase[phase].exists && task->phase[phase].wcet_ns <= 0)
      return false;
  return true;
}

prem_turn_ports prem_kernel_turn_ports(const prem_kernel *kernel) {
  prem_turn_ports ports = {-1, -1, -1};
  for (int32_t p = kernel->port_count - 1; p >= 0; --p) {
    const prem_port *port = &kernel->ports[p];
    *(port->access == PREM_OUT ? &ports.to : &ports.from) = p;
    if (port->access == PREM_OUT && port->type == PREM_I32 && strcmp(port->name, "more") == 0)
      ports.more = p;
  }
  return ports;
}

int32_t prem_kernel_spawn_port(const prem_kernel *kernel) {
  int32_t p = kernel->port_count - 1;
  while (p >= 0 && !(kernel->ports[p].access == PREM_OUT && kernel->ports[p].type == PREM_I32 &&
                     strcmp(kernel->ports[p].name, "spawn") == 0))
    --p;
  return p;
}

bool prem_port_reads(const prem_task *task, int32_t port, int32_t array) {
  const prem_turn_ports turn = prem_kernel_turn_ports(task->definition);
  return task->definition->ports[port].access == PREM_IN &&
         (task->arrays[port] == array ||
          (task->server.turns > 1 && port == turn.from && task->arrays[turn.to] == array));
}

int32_t prem_server_tiles(const prem_task *task) {
  return task->server.tiles > 0 ? task->server.tiles : task->tile_count;
}

bool prem_errand_fits(const prem_task *task, int32_t first_tile, int32_t tile_count) {
  return task->server.capacity > 0 && first_tile >= 0 && tile_count >= 1 &&
         tile_count <= prem_server_tiles(task) && tile_count <= task->tile_count - first_tile;
}

void prem_array_servers(const prem_schedule *schedule, int32_t *servers) {
  enum { UNUSED = -2, SHARED = -1 };
  for (int32_t a = 0; a < schedule->array_count; ++a)
    servers[a] = UNUSED;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p) {
      int32_t *server = &servers[task->arrays[p]];
      *server = *server == UNUSED && task->server.capacity > 0 ? t : *server == t ? t : SHARED;
    }
  }
}

bool prem_schedule_fits(const prem_schedule *schedule, prem_diag *diag) {
  const prem_task *largest = NULL;
  prem_wide phases = 0, max = 0;
  for (int32_t i = 0; i < schedule->task_count; ++i) {
    const prem_task *task = &schedule->tasks[i];
    int kinds = 0;
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      kinds += task->phase[phase].exists;
    prem_wide own = (prem_wide)prem_task_jobs(schedule, task) * task->tile_count * kinds;
    phases += own;
    if (own > max) {
      max = own;
      largest = task;
    }
  }
  if (phases <= PREM_MAX_SLOTS)
    return true;
  double gib = (double)phases * PREM_PLANNING_BYTES / 0x1p30;
  prem_diag_add(diag, PREM_ERROR, 13, largest->place, "tasks",
                "%.0f phases in one hyperperiod, the limit is %" PRId64
                "; to plan them would take some %.1f GiB of memory. Most are of task '%s' (%" PRId64
                " jobs of %" PRId32 " tiles): use larger tiles, or periods with a smaller least "
                "common multiple",
                (double)phases, PREM_MAX_SLOTS, gib, largest->name,
                prem_task_jobs(schedule, largest), largest->tile_count);
  return false;
}
