/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of tiles on lines with free gaps. */
#include "schedules/planner/common/placing.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

static int32_t block_of(const prem_round *r, int32_t member) {
  return r->task->blocks[r->position + member];
}

prem_round prem_round_of(const prem_schedule *schedule, int32_t task, int32_t job, int32_t tile,
                         int32_t count) {
  const prem_task *of = &schedule->tasks[task];
  prem_round r = {.task = of,
                  .task_index = task,
                  .job = job,
                  .tile = tile,
                  .position = tile % of->block_count,
                  .count = count};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    r.length_ns[p] = of->phase[p].wcet_ns;
  return r;
}

/* ---- lines ---------------------------------------------------------------------------------- */

prem_timeline *prem_placer_unit(const prem_placer *placer, int32_t block, prem_phase phase) {
  return phase == PREM_COMPUTE ? &placer->blocks[block].compute : &placer->blocks[block].memory;
}

/* What a phase of a whole round takes of a resource: of a gang resource no more than one block. */
static int32_t demand_of(const prem_placer *placer, const prem_round *r, prem_phase phase,
                         int32_t resource) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  if (spec->busy_ns == 0)
    return 0;
  return spec->demand[resource] *
         (placer->schedule->platform.resources[resource].per_task ? 1 : r->count);
}

/* Search on from *at_ns and remember what the search was for. */
static void wait_for(prem_placer *placer, const prem_timeline *line, int64_t length_ns,
                     int32_t demand, int32_t cause, int64_t *at_ns) {
  int64_t start_ns = prem_timeline_fit(line, *at_ns, length_ns, demand, placer->planning->grid_ns);
  placer->waited_ns[cause] += start_ns - *at_ns;
  *at_ns = start_ns;
}

/* Behind a phase its units, and what its tile holds, are kept so long. */
static int64_t gap_of(const prem_placer *placer, const prem_round *r, int phase) {
  return prem_phase_gap_ns(placer->schedule, r->task, (prem_phase)phase);
}

static int64_t unit_gap_of(const prem_placer *placer, const prem_round *r, prem_phase phase,
                           int32_t member) {
  return prem_unit_gap_ns(placer->schedule, r->task, phase, r->tile + member);
}

int64_t prem_placer_fit_resource(const prem_placer *placer, int32_t resource, int32_t task,
                                 int64_t from_ns, int64_t length_ns, int32_t demand,
                                 int64_t grid_ns) {
  return placer->schedule->platform.resources[resource].per_task
             ? prem_gang_timeline_fit(&placer->gangs[resource], task, from_ns, length_ns, demand,
                                      grid_ns)
             : prem_timeline_fit(&placer->resources[resource], from_ns, length_ns, demand, grid_ns);
}

prem_status prem_placer_use_resource(const prem_placer *placer, int32_t resource, int32_t task,
                                     int64_t start_ns, int64_t end_ns, int32_t demand,
                                     int32_t sign) {
  return placer->schedule->platform.resources[resource].per_task
             ? prem_gang_timeline_use(&placer->gangs[resource], task, start_ns, end_ns, demand,
                                      sign)
             : prem_timeline_use(&placer->resources[resource], start_ns, end_ns, sign * demand);
}

static void wait_for_resource(prem_placer *placer, const prem_round *r, prem_phase phase,
                              int32_t resource, int64_t *at_ns) {
  int64_t length_ns = r->task->phase[phase].busy_ns + placer->guard_ns;
  int64_t start_ns =
      prem_placer_fit_resource(placer, resource, r->task_index, *at_ns, length_ns,
                               demand_of(placer, r, phase, resource), placer->planning->grid_ns);
  placer->waited_ns[PREM_WAIT_FIRST_RESOURCE + resource] += start_ns - *at_ns;
  *at_ns = start_ns;
}

int64_t prem_placer_earliest(prem_placer *placer, const prem_round *r, prem_phase phase,
                             int64_t from_ns) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  int64_t at_ns = from_ns, tried_ns;
  do {
    tried_ns = at_ns;
    for (int32_t m = 0; m < r->count; ++m)
      wait_for(placer, prem_placer_unit(placer, block_of(r, m), phase),
               spec->wcet_ns + unit_gap_of(placer, r, phase, m), 1,
               phase == PREM_COMPUTE ? PREM_WAIT_COMPUTE_UNIT : PREM_WAIT_MEMORY_UNIT, &at_ns);
    for (int32_t i = 0; i < placer->schedule->platform.resource_count; ++i)
      wait_for_resource(placer, r, phase, i, &at_ns);
  } while (at_ns != tried_ns);
  return at_ns;
}

static int64_t end_of(const prem_placer *placer, const prem_round *r, prem_phase phase) {
  return r->start_ns[phase] + r->length_ns[phase] + gap_of(placer, r, (int)phase);
}

static prem_timeline *buffers_of(const prem_placer *placer, const prem_round *r, int32_t member,
                                 bool input) {
  prem_block_timelines *lines = &placer->blocks[block_of(r, member)];
  return input ? &lines->input : &lines->output;
}

static bool is_fixed(const prem_placing_limits *limits, int phase) {
  return limits && limits->fixed_ns[phase] >= 0;
}

/* Have all blocks a buffer for as long? If not, *lower_ns is when its first phase may start: where
 * there is room for as long, or if the end is fixed, up to it. */
static bool buffers_free(prem_placer *placer, const prem_round *r, bool input,
                         const prem_placing_limits *limits, int64_t lower_ns[PREM_PHASE_COUNT]) {
  prem_holding h = prem_planning_holding(placer->planning, r->task, input);
  if (!h.exists)
    return true;
  int64_t start_ns = r->start_ns[h.first], end_ns = end_of(placer, r, h.last), at_ns = start_ns;
  for (int32_t m = 0; m < r->count; ++m) {
    const prem_timeline *line = buffers_of(placer, r, m, input);
    if (is_fixed(limits, (int)h.last))
      at_ns = prem_max_i64(at_ns, prem_timeline_since(line, end_ns, 1, placer->planning->grid_ns));
    else
      wait_for(placer, line, end_ns - start_ns, 1, PREM_WAIT_BUFFERS, &at_ns);
  }
  lower_ns[h.first] = at_ns;
  return at_ns == start_ns;
}

/* No phase starts before its tile could have the buffer for the least time that it needs it. */
static void begin_at_buffers(prem_placer *placer, const prem_round *r, bool input, int64_t from_ns,
                             int64_t lower_ns[PREM_PHASE_COUNT]) {
  prem_holding h = prem_planning_holding(placer->planning, r->task, input);
  if (!h.exists)
    return;
  int64_t min_ns = 0, at_ns = prem_max_i64(from_ns, lower_ns[h.first]);
  for (int p = (int)h.first; p <= (int)h.last; ++p)
    if (r->task->phase[p].exists)
      min_ns = prem_min_i64(min_ns + r->task->phase[p].wcet_ns + gap_of(placer, r, p),
                            PREM_MAX_NS / 2); /* a bound that is lower does no harm */
  for (int32_t m = 0; m < r->count; ++m)
    wait_for(placer, buffers_of(placer, r, m, input), min_ns, 1, PREM_WAIT_BUFFERS, &at_ns);
  lower_ns[h.first] = at_ns;
}

/* One phase behind the other; false: beyond a limit. */
static bool find_in_turn(prem_placer *placer, prem_round *r, int64_t from_ns,
                         const prem_placing_limits *limits,
                         const int64_t lower_ns[PREM_PHASE_COUNT]) {
  int64_t at_ns = from_ns, gap_ns = placer->guard_ns;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!r->task->phase[p].exists)
      continue;
    if (limits && limits->chained[p])
      at_ns -= gap_ns;
    gap_ns = gap_of(placer, r, p);
    at_ns = prem_max_i64(at_ns, lower_ns[p]);
    if (is_fixed(limits, p) && at_ns > limits->fixed_ns[p])
      return false;
    at_ns = is_fixed(limits, p) ? limits->fixed_ns[p]
                                : prem_placer_earliest(placer, r, (prem_phase)p, at_ns);
    prem_wide end_ns = (prem_wide)at_ns + r->length_ns[p];
    if (!prem_planning_in_range(placer->planning, end_ns + gap_ns) ||
        (limits && (at_ns > limits->last_start_ns || end_ns > limits->due_ns)))
      return false;
    r->start_ns[p] = at_ns;
    at_ns = end_of(placer, r, (prem_phase)p);
  }
  return true;
}

/* A phase that waits for a buffer moves those behind it, which may ask for another buffer: the
 * bounds only grow, and far enough ahead everything is free. What the tile before on the same block
 * could not have, this one, which is equal, cannot have either. */
bool prem_placer_find(prem_placer *placer, prem_round *r, int64_t from_ns,
                      const prem_placing_limits *limits) {
  int64_t lower_ns[PREM_PHASE_COUNT] = {0};
  if (!limits)
    memcpy(lower_ns, placer->before_ns[r->position], sizeof lower_ns);
  begin_at_buffers(placer, r, true, from_ns, lower_ns);
  begin_at_buffers(placer, r, false, from_ns, lower_ns);
  bool settled;
  do {
    if (!find_in_turn(placer, r, from_ns, limits, lower_ns))
      return false;
    settled = buffers_free(placer, r, true, limits, lower_ns);
    settled = buffers_free(placer, r, false, limits, lower_ns) && settled;
  } while (!settled);
  if (!limits)
    memcpy(placer->before_ns[r->position], r->start_ns, sizeof r->start_ns);
  return true;
}

/* ---- taking and giving back ----------------------------------------------------------------- */

prem_status prem_placer_use_buffers(prem_placer *placer, const prem_round *r, int32_t sign) {
  prem_status status = PREM_OK;
  for (int input = 0; input < 2; ++input) {
    prem_holding h = prem_planning_holding(placer->planning, r->task, input);
    for (int32_t m = 0; m < r->count && h.exists && !status; ++m)
      status = prem_timeline_use(buffers_of(placer, r, m, input), r->start_ns[h.first],
                                 end_of(placer, r, h.last), sign);
  }
  return status;
}

prem_status prem_placer_use_phase(prem_placer *placer, const prem_round *r, prem_phase phase,
                                  int32_t sign) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  int64_t start_ns = r->start_ns[phase];
  prem_status status = PREM_OK;
  for (int32_t m = 0; m < r->count && !status; ++m)
    status =
        prem_timeline_use(prem_placer_unit(placer, block_of(r, m), phase), start_ns,
                          start_ns + r->length_ns[phase] + unit_gap_of(placer, r, phase, m), sign);
  for (int32_t i = 0; i < placer->schedule->platform.resource_count && !status; ++i)
    status = prem_placer_use_resource(placer, i, r->task_index, start_ns,
                                      start_ns + spec->busy_ns + placer->guard_ns,
                                      demand_of(placer, r, phase, i), sign);
  return status;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* Does a full round fit into the resources that every block counts in? A gang that does not is
 * placed tile by tile; for one that is `together` prem_planning_supplied() has refused. */
bool prem_placer_by_rounds(const prem_placer *placer, const prem_task *task) {
  bool gang = task->together, fits = true;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    for (int32_t i = 0; i < placer->schedule->platform.resource_count; ++i) {
      const prem_resource *resource = &placer->schedule->platform.resources[i];
      int64_t demand = task->phase[p].exists ? task->phase[p].demand[i] : 0;
      if (resource->per_task)
        gang = gang || demand > 0;
      else
        fits = fits && demand * task->block_count <= resource->capacity;
    }
  }
  return task->together || (gang && fits);
}

void prem_placer_begin_job(prem_placer *placer, const prem_task *task) {
  memset(placer->waited_ns, 0, sizeof placer->waited_ns);
  memset(placer->before_ns, 0, (size_t)task->block_count * sizeof *placer->before_ns);
}

/* ---- life ----------------------------------------------------------------------------------- */

prem_status prem_placer_open(prem_placer *placer, const prem_planning *planning) {
  const prem_platform *platform = &planning->schedule->platform;
  *placer = (prem_placer){.planning = planning,
                          .schedule = planning->schedule,
                          .guard_ns = platform->guard_ns,
                          .began_s = prem_host_clock_s()};
  placer->blocks = calloc((size_t)platform->blocks, sizeof *placer->blocks);
  placer->resources = calloc((size_t)platform->resource_count, sizeof *placer->resources);
  placer->before_ns = calloc((size_t)platform->blocks, sizeof *placer->before_ns);
  placer->gangs = calloc((size_t)platform->resource_count, sizeof *placer->gangs);
  if (!placer->blocks || !placer->resources || !placer->before_ns || !placer->gangs)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < platform->blocks; ++b) {
    const prem_timeline unit = {.capacity = 1, .grid_ns = planning->grid_ns};
    const prem_timeline buffers = {.capacity = platform->buffers, .grid_ns = planning->grid_ns};
    placer->blocks[b] = (prem_block_timelines){unit, unit, buffers, buffers};
  }
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < platform->resource_count; ++i) {
    placer->resources[i] =
        (prem_timeline){.capacity = platform->resources[i].capacity, .grid_ns = planning->grid_ns};
    if (platform->resources[i].per_task && !status)
      status = prem_gang_timeline_open(&placer->gangs[i], &placer->resources[i],
                                       planning->schedule->task_count);
  }
  return status;
}

bool prem_placer_gives_up(const prem_placer *placer) {
  static const double patience_s = 0.5;
  const volatile sig_atomic_t *stop = placer->planning->stop;
  return stop && *stop && prem_host_clock_s() - placer->began_s > patience_s;
}

void prem_placer_close(prem_placer *placer) {
  for (int32_t b = 0; placer->blocks && b < placer->schedule->platform.blocks; ++b) {
    prem_timeline_free(&placer->blocks[b].memory);
    prem_timeline_free(&placer->blocks[b].compute);
    prem_timeline_free(&placer->blocks[b].input);
    prem_timeline_free(&placer->blocks[b].output);
  }
  for (int32_t i = 0; placer->resources && i < placer->schedule->platform.resource_count; ++i)
    prem_timeline_free(&placer->resources[i]);
  for (int32_t i = 0; placer->gangs && i < placer->schedule->platform.resource_count; ++i)
    prem_gang_timeline_free(&placer->gangs[i]);
  PREM_FREE(placer->blocks, placer->resources, placer->gangs, placer->before_ns);
}
