/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of joined phases. */
#include "schedules/planner/greedy/pipeline.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

/** One block of the task, or all of them where they start together. */
typedef struct lane {
  int32_t position, count;
  int64_t memory_ns;    /* when its memory unit is free again */
  int64_t compute_ns;   /* the same of its compute unit */
  int64_t *computed_ns; /* [tile % depth]: end of its compute, with the guard */
} lane;

typedef struct pipeline {
  prem_placer *placer;
  const prem_task *task;
  prem_task joint; /* the same, its prefetch being the joined pair */
  int32_t *pair_demand;
  int32_t task_index, job, depth;
  int64_t from_ns;
  lane *lanes;
  int64_t *ends; /* of the lanes' computes */
  int32_t lane_count;
  prem_slot *slots;
  int64_t count;
  prem_pipeline_span *span;
} pipeline;

/* What the file says of the pair may be more than there is. */
static bool can_be_had(const prem_placer *placer, const prem_task *task) {
  const prem_platform *platform = &placer->schedule->platform;
  int64_t together = prem_placer_by_rounds(placer, task) ? task->block_count : 1;
  for (int32_t r = 0; r < platform->resource_count && task->joined.exists; ++r) {
    const prem_resource *resource = &platform->resources[r];
    if (task->joined.demand[r] * (resource->per_task ? 1 : together) > resource->capacity)
      return false;
  }
  return true;
}

static bool owns_blocks(const prem_task *task, const int32_t *users) {
  for (int32_t i = 0; i < task->block_count; ++i)
    if (users[task->blocks[i]] > 1)
      return false;
  return true;
}

static bool serves(const prem_placer *placer, const prem_task *task, const int32_t *users) {
  const prem_platform *platform = &placer->schedule->platform;
  if (platform->buffers < 2 || !task->phase[PREM_PREFETCH].exists ||
      !task->phase[PREM_COMPUTE].exists || !task->phase[PREM_WRITEBACK].exists)
    return false;
  if (prem_placer_by_rounds(placer, task) && task->tile_count % task->block_count)
    return false;
  return (task->joined.exists || platform->guard_ns > 0) && can_be_had(placer, task) &&
         owns_blocks(task, users);
}

bool *prem_pipeline_list(const prem_placer *placer, bool *any) {
  const prem_schedule *schedule = placer->schedule;
  int32_t *users = calloc((size_t)schedule->platform.blocks, sizeof *users);
  bool *list = calloc((size_t)schedule->task_count, sizeof *list);
  *any = false;
  for (int32_t t = 0; t < schedule->task_count && users; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].block_count; ++i)
      ++users[schedule->tasks[t].blocks[i]];
  for (int32_t t = 0; t < schedule->task_count && users && list; ++t) {
    list[t] = serves(placer, &schedule->tasks[t], users);
    *any = *any || list[t];
  }
  bool made = users && list;
  free(users);
  if (made)
    return list;
  free(list);
  return NULL;
}

/* ---- the pair as a phase -------------------------------------------------------------------- */

/* What the file says of the pair, or both lengths and the larger demands. */
static bool make_joint(pipeline *p) {
  const prem_task *task = p->task;
  int32_t resources = p->placer->schedule->platform.resource_count;
  prem_phase_spec *pair = &p->joint.phase[PREM_PREFETCH];
  p->joint = *task;
  *pair = task->joined;
  pair->exists = true;
  pair->demand = p->pair_demand = malloc((size_t)resources * sizeof *pair->demand);
  if (!pair->demand)
    return false;
  const prem_phase_spec *in = &task->phase[PREM_PREFETCH], *out = &task->phase[PREM_WRITEBACK];
  for (int32_t r = 0; r < resources; ++r)
    pair->demand[r] = task->joined.exists              ? task->joined.demand[r]
                      : in->demand[r] > out->demand[r] ? in->demand[r]
                                                       : out->demand[r];
  if (!task->joined.exists) {
    pair->wcet_ns = in->wcet_ns + out->wcet_ns;
    pair->busy_ns = in->busy_ns + out->busy_ns;
  }
  pair->turnaround_ns = prem_max_i64(in->turnaround_ns, out->turnaround_ns);
  return true;
}

/* ---- placing -------------------------------------------------------------------------------- */

static void add_slots(pipeline *p, const prem_round *r, prem_phase phase, int32_t tile,
                      int64_t start_ns, int64_t length_ns) {
  for (int32_t m = 0; m < r->count; ++m)
    p->slots[p->count++] = (prem_slot){.planned_ns = start_ns,
                                       .length_ns = length_ns,
                                       .head_ns = start_ns,
                                       .task = p->task_index,
                                       .job = p->job,
                                       .tile = tile + m,
                                       .block = p->task->blocks[r->position + m],
                                       .phase = (uint8_t)phase};
}

/* Prefetch by prefetch, the writeback of `before` behind each. */
static void add_pairs(pipeline *p, const prem_round *r, int32_t tile, int32_t before,
                      int64_t start_ns, int64_t length_ns) {
  prem_round one = *r;
  one.count = 1;
  for (int32_t m = 0; m < r->count; ++m, ++one.position) {
    add_slots(p, &one, PREM_PREFETCH, tile + m, start_ns, length_ns);
    add_slots(p, &one, PREM_WRITEBACK, before + m, start_ns, length_ns);
    p->slots[p->count - 1].flags = p->slots[p->count - 2].flags = PREM_SLOT_JOINED;
  }
}

/* Place one phase of a round as `as` says; false: beyond all times. */
static bool place(pipeline *p, prem_round *r, const prem_task *as, prem_phase phase,
                  int64_t from_ns, prem_status *status) {
  r->task = as;
  r->length_ns[phase] = as->phase[phase].wcet_ns;
  r->start_ns[phase] = prem_placer_earliest(p->placer, r, phase, from_ns);
  int64_t start_ns = r->start_ns[phase];
  prem_wide end_ns =
      (prem_wide)start_ns + r->length_ns[phase] + prem_phase_gap_ns(p->placer->schedule, as, phase);
  if (!prem_planning_in_range(p->placer->planning, end_ns))
    return false;
  *status = prem_placer_use_phase(p->placer, r, phase, 1);
  p->span->first_ns = prem_min_i64(p->span->first_ns, start_ns);
  p->span->last_start_ns = prem_max_i64(p->span->last_start_ns, start_ns);
  p->span->end_ns = prem_max_i64(p->span->end_ns, start_ns + r->length_ns[phase]);
  return *status == PREM_OK;
}

static int64_t end_of(const pipeline *p, const prem_round *r, prem_phase phase) {
  return r->start_ns[phase] + r->length_ns[phase] +
         prem_phase_gap_ns(p->placer->schedule, r->task, phase);
}

/* Memory phase number k of a lane that has tiles `first` to `end` - 1, and the compute behind it.
 */
static bool advance(pipeline *p, lane *l, int64_t k, int64_t first, int64_t end,
                    prem_status *status) {
  int32_t stride = p->task->block_count;
  bool fetches = k < end, writes = k - p->depth >= first;
  int32_t tile = (int32_t)k * stride + l->position;
  int32_t before = (int32_t)(k - p->depth) * stride + l->position;
  prem_round r =
      prem_round_of(p->placer->schedule, p->task_index, p->job, fetches ? tile : before, l->count);
  int64_t from_ns = prem_max_i64(p->from_ns, l->memory_ns);
  if (writes)
    from_ns = prem_max_i64(from_ns, l->computed_ns[k % p->depth]);
  prem_phase phase = fetches ? PREM_PREFETCH : PREM_WRITEBACK;
  if (!place(p, &r, fetches && writes ? &p->joint : p->task, phase, from_ns, status))
    return false;
  l->memory_ns = end_of(p, &r, phase);
  if (fetches && writes)
    add_pairs(p, &r, tile, before, r.start_ns[phase], r.length_ns[phase]);
  else
    add_slots(p, &r, phase, r.tile, r.start_ns[phase], r.length_ns[phase]);
  if (!fetches)
    return true;
  if (!place(p, &r, p->task, PREM_COMPUTE, prem_max_i64(l->memory_ns, l->compute_ns), status))
    return false;
  add_slots(p, &r, PREM_COMPUTE, tile, r.start_ns[PREM_COMPUTE], r.length_ns[PREM_COMPUTE]);
  l->compute_ns = l->computed_ns[k % p->depth] = end_of(p, &r, PREM_COMPUTE);
  return true;
}

static bool make_lanes(pipeline *p) {
  bool rounds = prem_placer_by_rounds(p->placer, p->task);
  p->lane_count = rounds ? 1 : p->task->block_count;
  size_t count = (size_t)p->lane_count, depth = (size_t)p->depth;
  p->lanes = calloc(count, sizeof *p->lanes);
  p->ends = calloc(count * depth, sizeof *p->ends);
  if (!p->lanes || !p->ends)
    return false;
  for (size_t i = 0; i < count; ++i)
    p->lanes[i] = (lane){.position = (int32_t)i,
                         .count = rounds ? p->task->block_count : 1,
                         .computed_ns = p->ends + i * depth};
  return true;
}

static prem_status run_lanes(pipeline *p) {
  int64_t first = prem_planning_warmup(p->placer->planning, p->task), max = 0;
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < p->lane_count; ++i)
    max = prem_max_i64(max, prem_planning_tiles_on(p->task, i));
  for (int64_t k = first; k < max + p->depth; ++k) {
    if (prem_placer_gives_up(p->placer))
      return PREM_ERR_INTERRUPTED;
    for (int32_t i = 0; i < p->lane_count; ++i) {
      int64_t end = prem_planning_tiles_on(p->task, i);
      bool runs = first < end && (k < end || k - p->depth >= first) && k < end + p->depth;
      if (runs && !advance(p, &p->lanes[i], k, first, end, &status))
        return status ? status : PREM_ERR_INFEASIBLE;
    }
  }
  return PREM_OK;
}

prem_status prem_pipeline_place(prem_placer *placer, int32_t task, int32_t job, int64_t from_ns,
                                int32_t depth, prem_slot *slots, int64_t *count,
                                prem_pipeline_span *span) {
  *span = (prem_pipeline_span){.first_ns = PREM_MAX_NS, .last_start_ns = 0, .end_ns = -1};
  pipeline p = {.placer = placer,
                .task = &placer->schedule->tasks[task],
                .task_index = task,
                .job = job,
                .depth = depth,
                .from_ns = from_ns,
                .slots = slots,
                .span = span};
  prem_status status = make_lanes(&p) && make_joint(&p) ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = run_lanes(&p);
  *count = p.count;
  PREM_FREE(p.pair_demand, p.lanes, p.ends);
  return status;
}
