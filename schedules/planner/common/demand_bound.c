/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demand against supply, before any order is tried: what no planner can mend. Guards are not
 * counted, since chains and joined pairs need fewer of them.
 */
#include "schedules/planner/common/planning.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "prem/base/numbers.h"

static prem_place place_of(const prem_phase_spec *spec, const prem_task *task) {
  return spec->place.line ? spec->place : task->place;
}

/* ---- a single phase ------------------------------------------------------------------------- */

/* Blocks of the fullest round that is planned; 1 where all tiles are warm-up, which need what they
 * demand as well. */
static int64_t round_size(const prem_planning *planning, const prem_task *task) {
  int64_t tiles =
      task->tile_count - (int64_t)prem_planning_warmup(planning, task) * task->block_count;
  return tiles < 1 ? 1 : tiles < task->block_count ? tiles : task->block_count;
}

static bool is_first(const prem_task *task, prem_phase phase) {
  for (int p = 0; p < (int)phase; ++p)
    if (task->phase[p].exists)
      return false;
  return true;
}

static bool phase_supplied(const prem_planning *planning, const prem_task *task, prem_phase phase) {
  const prem_phase_spec *spec = &task->phase[phase];
  char key[2 * PREM_NAME_BYTES + 40];
  bool supplied = true;
  for (int32_t i = 0; spec->exists && i < planning->schedule->platform.resource_count; ++i) {
    const prem_resource *resource = &planning->schedule->platform.resources[i];
    int64_t blocks = resource->per_task || !task->together ? 1 : round_size(planning, task);
    if (spec->demand[i] * blocks <= resource->capacity)
      continue;
    supplied = false;
    snprintf(key, sizeof key, "tasks.%s.%s.demand.%s", task->name, prem_phase_name(phase),
             resource->name);
    if (spec->demand[i] > resource->capacity)
      prem_diag_add(planning->diag, PREM_ERROR, 43, place_of(spec, task), key,
                    "%d is above the capacity of %d: infeasible whatever the order",
                    spec->demand[i], resource->capacity);
    else if (is_first(task, phase))
      prem_diag_add(planning->diag, PREM_ERROR, 43, place_of(spec, task), key,
                    "%" PRId64 " blocks that start together ask for %" PRId64
                    ", the capacity is %d: infeasible whatever the order",
                    blocks, spec->demand[i] * blocks, resource->capacity);
    else /* not forbidden, but no planner does it */
      prem_diag_add(planning->diag, PREM_ERROR, 0, place_of(spec, task), key,
                    "%" PRId64 " blocks ask for %" PRId64
                    ", the capacity is %d: plans keep the later phases of a `together` round "
                    "together as well; leave `together` out, or ask for less",
                    blocks, spec->demand[i] * blocks, resource->capacity);
  }
  return supplied;
}

/* `least_ns`: the gap that any phase may have after it. */
static bool phase_in_range(const prem_planning *planning, const prem_phase_spec *spec,
                           int64_t least_ns) {
  const int64_t gap_ns = prem_max_i64(least_ns, spec->turnaround_ns);
  return !spec->exists || prem_planning_in_range(planning, (prem_wide)spec->wcet_ns + gap_ns);
}

/* ---- a hyperperiod -------------------------------------------------------------------------- */

/* Tiles that the task places in a hyperperiod, on all blocks or on the one at `position`. */
static prem_wide tiles_of(const prem_planning *planning, const prem_task *task, int32_t position) {
  int64_t tiles = prem_planning_tiles_on(task, position) - prem_planning_warmup(planning, task);
  return tiles < 1 ? 0 : (prem_wide)tiles * prem_task_jobs(planning->schedule, task);
}

static prem_wide held_ns(const prem_phase_spec *spec, int32_t resource) {
  return spec->exists ? (prem_wide)spec->busy_ns * spec->demand[resource] : 0;
}

/* Resource times ns that a tile takes at least; joined memory phases may take less. */
static prem_wide tile_ns(const prem_planning *planning, const prem_task *task, int32_t resource) {
  prem_wide memory = held_ns(&task->phase[PREM_PREFETCH], resource) +
                     held_ns(&task->phase[PREM_WRITEBACK], resource);
  if (task->joined.exists)
    memory = prem_min_wide(memory, held_ns(&task->joined, resource));
  prem_wide compute = held_ns(&task->phase[PREM_COMPUTE], resource);
  if (!planning->schedule->platform.resources[resource].per_task)
    return memory + compute;
  return memory > compute ? memory : compute; /* a gang's compute and memory phases overlap */
}

static prem_wide resource_ns(const prem_planning *planning, int32_t resource) {
  const prem_schedule *schedule = planning->schedule;
  prem_wide all = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    prem_wide tiles = 0;
    if (schedule->platform.resources[resource].per_task)
      tiles = tiles_of(planning, task, 0);
    else
      for (int32_t p = 0; p < task->block_count; ++p)
        tiles += tiles_of(planning, task, p);
    all += tiles * tile_ns(planning, task, resource);
  }
  return all;
}

static bool report_excess(const prem_planning *planning, prem_place place, const char *key,
                          const char *what, prem_wide asked, prem_wide supply) {
  const double percent = ceil((double)asked / (double)supply * 100);
  prem_diag_add(
      planning->diag, PREM_ERROR, 43, place, key,
      "%s is overloaded: %.0f %% of its time (%.0f of %.0f ns in a hyperperiod): infeasible "
      "whatever the order",
      what, percent > 100 ? percent : 101, (double)asked, (double)supply);
  return false;
}

static bool resources_supplied(const prem_planning *planning) {
  const prem_platform *platform = &planning->schedule->platform;
  bool supplied = true;
  for (int32_t i = 0; i < platform->resource_count; ++i) {
    const prem_resource *resource = &platform->resources[i];
    prem_wide asked = resource_ns(planning, i);
    prem_wide supply = (prem_wide)planning->schedule->period_lcm_ns * resource->capacity;
    char what[PREM_NAME_BYTES + 4];
    snprintf(what, sizeof what, "'%s'", resource->name);
    if (asked > supply)
      supplied = report_excess(planning, resource->place.line ? resource->place : platform->place,
                               "platform.resources", what, asked, supply);
  }
  return supplied;
}

static prem_wide length_ns(const prem_phase_spec *spec) {
  return spec->exists ? spec->wcet_ns : 0;
}

/** What is asked of one block in a hyperperiod. */
typedef struct block_load {
  prem_wide memory_ns, compute_ns;
} block_load;

static void add_load(const prem_planning *planning, const prem_task *task, block_load *loads) {
  prem_wide memory =
      length_ns(&task->phase[PREM_PREFETCH]) + length_ns(&task->phase[PREM_WRITEBACK]);
  if (task->joined.exists)
    memory = prem_min_wide(memory, length_ns(&task->joined));
  for (int32_t p = 0; p < task->block_count; ++p) {
    prem_wide tiles = tiles_of(planning, task, p);
    loads[task->blocks[p]].memory_ns += tiles * memory;
    loads[task->blocks[p]].compute_ns += tiles * length_ns(&task->phase[PREM_COMPUTE]);
  }
}

static bool block_supplied(const prem_planning *planning, int32_t block, block_load load) {
  const prem_schedule *schedule = planning->schedule;
  const prem_platform *platform = &schedule->platform;
  int64_t supply = schedule->period_lcm_ns;
  char what[48];
  bool supplied = true;
  if (platform->buffers == 1) { /* one tile at a time, from its first phase to its last */
    snprintf(what, sizeof what, "block %d, with one buffer,", block);
    if (load.memory_ns + load.compute_ns > supply)
      supplied = report_excess(planning, platform->place, "platform.buffers", what,
                               load.memory_ns + load.compute_ns, supply);
    return supplied;
  }
  snprintf(what, sizeof what, "the memory unit of block %d", block);
  if (load.memory_ns > supply)
    supplied =
        report_excess(planning, platform->place, "platform.blocks", what, load.memory_ns, supply);
  snprintf(what, sizeof what, "the compute unit of block %d", block);
  if (load.compute_ns > supply)
    supplied =
        report_excess(planning, platform->place, "platform.blocks", what, load.compute_ns, supply);
  return supplied;
}

static bool blocks_supplied(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  block_load *loads = calloc((size_t)schedule->platform.blocks, sizeof *loads);
  bool supplied = true;
  for (int32_t t = 0; t < schedule->task_count && loads; ++t)
    add_load(planning, &schedule->tasks[t], loads);
  for (int32_t b = 0; b < schedule->platform.blocks && loads; ++b)
    supplied = block_supplied(planning, b, loads[b]) && supplied;
  free(loads);
  return supplied;
}

bool prem_planning_supplied(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  const int64_t least_ns =
      prem_max_i64(schedule->platform.guard_ns, prem_schedule_unit_gap_ns(schedule));
  bool supplied = true;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      if (!phase_in_range(planning, &schedule->tasks[t].phase[p], least_ns))
        return false;
      if (!phase_supplied(planning, &schedule->tasks[t], (prem_phase)p))
        supplied = false;
    }
  }
  if (!supplied || !schedule->period_lcm_ns)
    return supplied;
  supplied = resources_supplied(planning);
  return blocks_supplied(planning) && supplied;
}
