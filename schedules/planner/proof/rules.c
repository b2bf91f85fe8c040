/* SPDX-License-Identifier: Apache-2.0 */
/* From a set of tasks to nodes, arcs and uses. */
#include "schedules/planner/proof/rules.h"

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "schedules/planner/common/data_gaps.h"

#include <stdio.h>
#include <stdlib.h>

/* Renewables of a block behind the resources, in the order of prem_renewable_kind. */
enum { LINES_PER_BLOCK = PREM_RENEWABLE_OUTPUT - PREM_RENEWABLE_RESOURCE };

/** What stands for a job in precedence: one node where it has one, else its begin and its end. */
typedef struct job_nodes {
  int32_t begin, end; /* -1: nothing of it is planned */
} job_nodes;

typedef struct building {
  const prem_planning *planning;
  const prem_schedule *schedule;
  prem_rules *rules;
  prem_without without;
  int64_t guard_ns, max_nodes;
  int64_t *first_job; /* [task + 1] */
  job_nodes *jobs;
  prem_list nodes, arcs, wraps, together, holds;
} building;

/* Of two times, each up to 2^62, the sum is none: cut, it still is beyond all that is served. */
static int64_t sum_of(int64_t a, int64_t b) {
  return a > PREM_MAX_NS - b ? PREM_MAX_NS : a + b;
}

static int64_t in_units(const building *b, int64_t ns) {
  return prem_div_ceil(ns, b->rules->unit_ns);
}

/* ---- lengths -------------------------------------------------------------------------------- */

/* A joined prefetch or writeback may take no longer than the pair. */
static int64_t wcet_of(const building *b, const prem_task *task, int phase) {
  int64_t wcet_ns = task->phase[phase].wcet_ns;
  bool shortened = b->rules->relaxed && b->rules->joinable && task->joined.exists;
  return shortened && phase != PREM_COMPUTE ? prem_min_i64(wcet_ns, task->joined.wcet_ns) : wcet_ns;
}

/* Behind a phase, on its unit and for its buffers. In the relaxed reading turnarounds are left out:
 * a chain has none. */
static int64_t gap_of(const building *b, const prem_task *task, int phase) {
  return b->rules->relaxed ? b->guard_ns : prem_phase_gap_ns(b->schedule, task, (prem_phase)phase);
}

/* From the start of a phase to that of the next one of its tile. */
static int64_t step_of(const building *b, const prem_task *task, int phase) {
  int64_t guard_ns = b->rules->relaxed ? 0 : gap_of(b, task, phase);
  return in_units(b, sum_of(wcet_of(b, task, phase), guard_ns));
}

/* How much of a renewable's time a phase takes, the guard behind it included. In the relaxed
 * reading `apart_ns` is when, after it, the same tile may use the renewable again: in a chain
 * without a guard. Uses of a resource begin on the grid alone, so what is between is lost behind
 * the first phase of a tile, which does; the writeback of a joined pair has no guard of its own,
 * for the prefetch has it. */
static int64_t use_of(const building *b, int phase, int64_t length_ns, int64_t apart_ns,
                      bool on_grid) {
  const prem_rules *rules = b->rules;
  if (!rules->relaxed)
    return in_units(b, sum_of(length_ns, b->guard_ns));
  if (rules->joinable && phase != PREM_COMPUTE)
    return sum_of(length_ns, phase == PREM_PREFETCH ? prem_min_i64(b->guard_ns, apart_ns) : 0);
  int64_t grid_ns = b->planning->grid_ns;
  if (on_grid && apart_ns >= sum_of(b->guard_ns, grid_ns))
    return prem_div_ceil(sum_of(length_ns, b->guard_ns), grid_ns) * grid_ns;
  return sum_of(length_ns, prem_min_i64(b->guard_ns, apart_ns));
}

/* ---- renewables and uses -------------------------------------------------------------------- */

static int32_t block_renewable(const building *b, int32_t block, prem_renewable_kind kind) {
  return b->schedule->platform.resource_count + block * LINES_PER_BLOCK + (int32_t)kind - 1;
}

static bool add_hold(building *b, int32_t renewable, int32_t demand, int32_t first, int32_t last,
                     int64_t length, int64_t min) {
  if (demand == 0 || min == 0 || (b->without.renewables && b->without.renewables[renewable]))
    return true;
  prem_hold *hold = prem_list_add(&b->holds);
  if (hold)
    *hold = (prem_hold){length, min, first, last, renewable, demand};
  return hold;
}

/* From the end of a phase's hold until a later one of its tile asks for the renewable. */
static int64_t free_after(const building *b, const prem_task *task, int phase, int64_t held_ns,
                          int32_t resource) {
  int64_t apart_ns = wcet_of(b, task, phase) - held_ns;
  for (int p = phase + 1; p < PREM_PHASE_COUNT; ++p) {
    if (!task->phase[p].exists)
      continue;
    bool asks = resource < 0 ? p != PREM_COMPUTE && phase != PREM_COMPUTE
                             : task->phase[p].demand[resource] > 0;
    if (asks)
      return apart_ns;
    apart_ns += wcet_of(b, task, p);
  }
  return PREM_MAX_NS;
}

static bool is_first(const prem_task *task, int phase) {
  while (--phase >= 0)
    if (task->phase[phase].exists)
      return false;
  return true;
}

static bool hold_resources(building *b, const prem_task *task, int phase, int32_t node) {
  const prem_phase_spec *spec = &task->phase[phase];
  bool joined = b->rules->relaxed && b->rules->joinable && task->joined.exists;
  for (int32_t r = 0; r < b->schedule->platform.resource_count; ++r) {
    int64_t busy_ns = spec->busy_ns;
    int32_t demand = spec->demand[r];
    if (joined && phase != PREM_COMPUTE) { /* the pair may take the prefetch's share alone */
      busy_ns = phase == PREM_PREFETCH ? prem_min_i64(busy_ns, task->joined.busy_ns) : 0;
      demand = (int32_t)prem_min_i64(demand, task->joined.demand[r]);
    }
    if (busy_ns == 0 || demand == 0)
      continue;
    int64_t length =
        use_of(b, phase, busy_ns, free_after(b, task, phase, busy_ns, r), is_first(task, phase));
    if (!add_hold(b, r, demand, node, node, length, length))
      return false;
  }
  return true;
}

static bool hold_unit(building *b, const prem_task *task, int phase, int32_t node, int32_t block) {
  int64_t wcet_ns = wcet_of(b, task, phase);
  if (b->rules->relaxed && b->rules->joinable && task->joined.exists && phase == PREM_WRITEBACK)
    return true; /* it may cost nothing beside its prefetch */
  int64_t length =
      b->rules->relaxed
          ? use_of(b, phase, wcet_ns, free_after(b, task, phase, wcet_ns, -1), false)
          : in_units(b, sum_of(wcet_ns, prem_unit_gap_ns(b->schedule, task, (prem_phase)phase,
                                                         task->tile_count - 1)));
  return add_hold(
      b,
      block_renewable(b, block,
                      phase == PREM_COMPUTE ? PREM_RENEWABLE_COMPUTE : PREM_RENEWABLE_MEMORY),
      1, node, node, length, length);
}

/* What the tile holds from one of its phases to another. */
static bool hold_buffer(building *b, const prem_task *task, const int32_t node[PREM_PHASE_COUNT],
                        bool input, int32_t block) {
  prem_holding holding = prem_planning_holding(b->planning, task, input);
  if (!holding.exists)
    return true;
  bool single = b->schedule->platform.buffers == 1;
  int64_t min = 0;
  for (int p = (int)holding.first; p < (int)holding.last; ++p)
    min += task->phase[p].exists ? step_of(b, task, p) : 0;
  int64_t length =
      in_units(b, sum_of(wcet_of(b, task, (int)holding.last), gap_of(b, task, (int)holding.last)));
  min += length;
  if (b->rules->relaxed && b->rules->joinable) /* a chain of buffers, its pairs without a guard */
    min -= b->guard_ns;
  else if (b->rules->relaxed && single) /* tiles begin on the grid */
    min = prem_div_ceil(min, b->planning->grid_ns) * b->planning->grid_ns;
  return add_hold(b,
                  block_renewable(b, block,
                                  single  ? PREM_RENEWABLE_BLOCK
                                  : input ? PREM_RENEWABLE_INPUT
                                          : PREM_RENEWABLE_OUTPUT),
                  1, node[holding.first], node[holding.last], length, min);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int32_t add_node(building *b, prem_node node) {
  if (b->nodes.count >= b->max_nodes)
    return -1;
  prem_node *added = prem_list_add(&b->nodes);
  if (!added)
    return -1;
  *added = node;
  return (int32_t)b->nodes.count - 1;
}

static bool add_apart(prem_list *to, int32_t from, int32_t after, int64_t gap) {
  prem_apart *added = prem_list_add(to);
  if (added)
    *added = (prem_apart){gap, from, after};
  return added;
}

/* The last start that the period and the deadlines leave. */
static int64_t latest_start(const building *b, const prem_task *task, int32_t job, int phase) {
  int64_t begin_ns = job * task->period_ns, release_ns = begin_ns + task->release_ns;
  int64_t period_ns = task->period_ns ? task->period_ns : b->schedule->period_lcm_ns;
  int64_t latest_ns = b->schedule->period_lcm_ns ? begin_ns + period_ns - 1 : PREM_MAX_NS;
  int64_t due_ns = PREM_MAX_NS;
  if (task->deadline_ns)
    due_ns = prem_min_i64(due_ns, task->deadline_ns);
  if (task->publish_ns)
    due_ns = prem_min_i64(due_ns, task->publish_ns);
  if (due_ns < PREM_MAX_NS)
    latest_ns = prem_min_i64(latest_ns, release_ns + due_ns - wcet_of(b, task, phase));
  if (latest_ns == PREM_MAX_NS)
    return PREM_MAX_NS;
  return latest_ns / b->rules->unit_ns - (latest_ns % b->rules->unit_ns < 0);
}

static prem_node node_of(const building *b, int32_t t, int32_t job, int32_t tile, int phase) {
  const prem_task *task = &b->schedule->tasks[t];
  int64_t earliest_ns =
      prem_max_i64(job * task->period_ns + task->release_ns, b->planning->warmup_ns);
  int64_t grid_ns = b->planning->grid_ns; /* nothing begins a chain off the grid */
  return (prem_node){.earliest = prem_div_ceil(earliest_ns, grid_ns) * grid_ns / b->rules->unit_ns,
                     .latest = tile < 0 ? PREM_MAX_NS : latest_start(b, task, job, phase),
                     .wcet_ns = tile < 0 ? 0 : task->phase[phase].wcet_ns,
                     .task = t,
                     .job = job,
                     .tile = tile,
                     .phase = (prem_phase)phase};
}

static bool add_tile(building *b, int32_t t, int32_t job, int32_t tile, job_nodes *of) {
  const prem_task *task = &b->schedule->tasks[t];
  int32_t node[PREM_PHASE_COUNT], before = -1, block = task->blocks[tile % task->block_count];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!task->phase[p].exists)
      continue;
    node[p] = add_node(b, node_of(b, t, job, tile, p));
    if (node[p] < 0 || !hold_resources(b, task, p, node[p]) ||
        (b->schedule->platform.buffers > 1 && !hold_unit(b, task, p, node[p], block)))
      return false;
    if (before >= 0 && !add_apart(&b->arcs, node[before], node[p], step_of(b, task, before)))
      return false;
    if (before < 0 && !add_apart(&b->arcs, of->begin, node[p], 0))
      return false;
    before = p;
  }
  if (before >= 0 &&
      !add_apart(&b->arcs, node[before], of->end, in_units(b, wcet_of(b, task, before))))
    return false;
  return hold_buffer(b, task, node, true, block) &&
         (b->schedule->platform.buffers == 1 || hold_buffer(b, task, node, false, block));
}

/* The first phases of a round start together. */
static bool tie_round(building *b, int64_t first, int32_t tile, int32_t *leader) {
  const prem_node *nodes = b->nodes.items;
  const prem_task *task = &b->schedule->tasks[nodes[first].task];
  if (!task->together)
    return true;
  if (*leader >= 0 && nodes[*leader].job == nodes[first].job &&
      nodes[*leader].tile / task->block_count == tile / task->block_count)
    return add_apart(&b->together, *leader, (int32_t)first, 0);
  *leader = (int32_t)first;
  return true;
}

static bool has_phase(const prem_task *task) {
  return task->phase[PREM_PREFETCH].exists || task->phase[PREM_COMPUTE].exists ||
         task->phase[PREM_WRITEBACK].exists;
}

static bool add_job(building *b, int32_t t, int32_t job) {
  const prem_task *task = &b->schedule->tasks[t];
  int64_t skipped = (int64_t)prem_planning_warmup(b->planning, task) * task->block_count;
  job_nodes *of = &b->jobs[b->first_job[t] + job];
  *of = (job_nodes){-1, -1};
  if (skipped >= task->tile_count || !has_phase(task) || (b->without.tasks && b->without.tasks[t]))
    return true;
  of->begin = add_node(b, node_of(b, t, job, -1, PREM_PREFETCH));
  of->end = add_node(b, node_of(b, t, job, -1, PREM_WRITEBACK));
  if (of->begin < 0 || of->end < 0)
    return false;
  int32_t leader = -1;
  for (int64_t tile = skipped; tile < task->tile_count; ++tile) {
    int64_t first = b->nodes.count;
    if (!add_tile(b, t, job, (int32_t)tile, of) || !tie_round(b, first, (int32_t)tile, &leader))
      return false;
  }
  return true;
}

/* ---- precedence ----------------------------------------------------------------------------- */

/* From every tile's last phase, so that its length and the lag are rounded as one. */
static bool follow_job(building *b, prem_list *to, job_nodes before, int32_t begin,
                       int64_t lag_ns) {
  const prem_node *nodes = b->nodes.items;
  const prem_node *job = &nodes[before.end];
  for (int32_t n = before.end + 1; n < b->nodes.count; ++n) {
    if (nodes[n].task != job->task || nodes[n].job != job->job)
      break;
    bool last = n + 1 == b->nodes.count || nodes[n + 1].tile != nodes[n].tile ||
                nodes[n + 1].job != nodes[n].job || nodes[n + 1].task != nodes[n].task;
    if (last && !add_apart(to, n, begin, in_units(b, sum_of(nodes[n].wcet_ns, lag_ns))))
      return false;
  }
  return true;
}

static bool add_after(building *b, int32_t t, const prem_after *after) {
  const prem_task *task = &b->schedule->tasks[t];
  int64_t lag_ns = prem_planning_gap_ns(b->planning, after);
  for (int64_t q = b->first_job[t]; q < b->first_job[t + 1]; ++q) {
    int64_t number =
        prem_planning_predecessor(b->planning, task, after, (int32_t)(q - b->first_job[t]));
    int64_t p = number < 0 ? b->first_job[after->task + 1] - 1 : b->first_job[after->task] + number;
    job_nodes before = b->jobs[p], job = b->jobs[q];
    if (job.begin < 0 || before.end < 0)
      continue; /* left out, or warm-up alone: it ends before anything that is planned begins */
    prem_list *to = number < 0 ? &b->wraps : &b->arcs;
    bool added = b->rules->relaxed ? add_apart(to, before.end, job.begin, lag_ns)
                                   : follow_job(b, to, before, job.begin, lag_ns);
    if (!added)
      return false;
  }
  return true;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* A one-shot job that touches an array in the next hyperperiod, where another one used it in this.
 */
static bool add_data_wraps(building *b, const prem_data_pair *pair, int64_t gap_ns) {
  const prem_node *nodes = b->nodes.items;
  job_nodes before = b->jobs[b->first_job[pair->before]], job = b->jobs[b->first_job[pair->task]];
  if (!nodes || before.end < 0 || job.begin < 0)
    return true;
  for (int32_t n = job.begin + 2; n < b->nodes.count && nodes[n].task == pair->task; ++n) {
    bool first = nodes[n].phase >= pair->phase &&
                 (nodes[n - 1].tile != nodes[n].tile || nodes[n - 1].phase < pair->phase);
    if (first && !add_apart(&b->wraps, before.end, n, in_units(b, gap_ns)))
      return false;
  }
  return true;
}

/* Of periodic sets the plan chooses who comes first: that is no rule between instants. */
static bool add_arrays(building *b) {
  prem_data_gaps *gaps;
  if (b->schedule->period_lcm_ns)
    return true;
  bool added = prem_data_gaps_new(b->planning, &gaps) == PREM_OK;
  for (int64_t i = 0; gaps && i < gaps->pair_count && added; ++i)
    if (!gaps->pairs[i].needed_jobs || gaps->pairs[i].needed_jobs[0] == 0)
      added = add_data_wraps(b, &gaps->pairs[i], gaps->gap_ns);
  prem_data_gaps_free(gaps);
  return added;
}

/* ---- all together --------------------------------------------------------------------------- */

static bool count_jobs(building *b) {
  int32_t tasks = b->schedule->task_count;
  b->first_job = calloc((size_t)tasks + 1, sizeof *b->first_job);
  for (int32_t t = 0; t < tasks && b->first_job; ++t)
    b->first_job[t + 1] = b->first_job[t] + prem_task_jobs(b->schedule, &b->schedule->tasks[t]);
  b->jobs = b->first_job ? malloc((size_t)b->first_job[tasks] * sizeof *b->jobs) : NULL;
  return b->jobs;
}

static bool add_all(building *b) {
  const prem_schedule *schedule = b->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int64_t q = 0; q < b->first_job[t + 1] - b->first_job[t]; ++q)
      if (!add_job(b, t, (int32_t)q))
        return false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t a = 0; a < schedule->tasks[t].after_count; ++a)
      if (!add_after(b, t, &schedule->tasks[t].after[a]))
        return false;
  return add_arrays(b);
}

static bool sort_holds(prem_rules *rules) {
  rules->first_hold = calloc((size_t)rules->renewable_count + 2, sizeof *rules->first_hold);
  rules->renewable_holds = malloc((size_t)(rules->hold_count + 1) * sizeof *rules->renewable_holds);
  if (!rules->first_hold || !rules->renewable_holds)
    return false;
  for (int64_t i = 0; i < rules->hold_count; ++i)
    ++rules->first_hold[rules->holds[i].renewable + 2];
  for (int32_t l = 2; l < rules->renewable_count + 2; ++l)
    rules->first_hold[l] += rules->first_hold[l - 1];
  for (int64_t i = 0; i < rules->hold_count; ++i)
    rules->renewable_holds[rules->first_hold[rules->holds[i].renewable + 1]++] = i;
  return true;
}

/* The last release, and then everything one after the other. */
static prem_wide far_of(const prem_rules *rules) {
  const prem_planning *planning = rules->planning;
  prem_wide sum = rules->cycle, latest = 0;
  const int64_t gap_ns = prem_max_i64(prem_schedule_gap_ns(planning->schedule, NULL),
                                      prem_schedule_unit_gap_ns(planning->schedule));
  for (int32_t n = 0; n < rules->node_count; ++n) {
    const prem_node *node = &rules->nodes[n];
    latest = latest > node->earliest ? latest : node->earliest;
    sum += ((prem_wide)node->wcet_ns + gap_ns + planning->grid_ns) / rules->unit_ns + 1;
  }
  for (int64_t a = 0; a < rules->arc_count; ++a)
    sum += rules->arcs[a].gap;
  /* arrays that the next hyperperiod waits for */
  sum += prem_div_ceil(prem_planning_precedence_ns(planning), rules->unit_ns);
  return sum + latest;
}

int64_t prem_rules_far(const prem_rules *rules) {
  return (int64_t)far_of(rules);
}

/* Do joined phases, or chains, save time? */
static void judge_savings(prem_rules *rules) {
  const prem_schedule *schedule = rules->planning->schedule;
  bool aligned =
           prem_schedule_gap_ns(schedule, NULL) == 0 && prem_schedule_unit_gap_ns(schedule) == 0,
       fetches = false, writes = false, joined = false;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    fetches = fetches || task->phase[PREM_PREFETCH].exists;
    writes = writes || task->phase[PREM_WRITEBACK].exists;
    joined = joined || task->joined.exists;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (task->phase[p].exists && task->phase[p].wcet_ns % rules->planning->grid_ns != 0)
        aligned = false;
  }
  rules->joinable = schedule->platform.buffers > 1 && fetches && writes && (joined || !aligned);
  rules->complete = !rules->joinable && (aligned || rules->relaxed);
}

prem_status prem_rules_build(const prem_planning *planning, bool relaxed,
                             const prem_without *without, int64_t max_nodes, prem_rules *out) {
  const prem_schedule *schedule = planning->schedule;
  *out = (prem_rules){.planning = planning,
                      .relaxed = relaxed,
                      .unit_ns = relaxed ? 1 : planning->grid_ns,
                      .renewable_count = prem_planning_renewables(planning)};
  building b = {.planning = planning,
                .schedule = schedule,
                .rules = out,
                .without = without ? *without : (prem_without){0},
                .guard_ns = schedule->platform.guard_ns,
                .max_nodes = max_nodes < INT32_MAX ? max_nodes : INT32_MAX,
                .nodes = {.size = sizeof(prem_node)},
                .arcs = {.size = sizeof(prem_apart)},
                .wraps = {.size = sizeof(prem_apart)},
                .together = {.size = sizeof(prem_apart)},
                .holds = {.size = sizeof(prem_hold)}};
  if (schedule->period_lcm_ns % out->unit_ns != 0)
    return PREM_ERR_UNAVAILABLE; /* the next hyperperiod begins off the grid */
  out->cycle = schedule->period_lcm_ns / out->unit_ns;
  judge_savings(out);
  bool built = count_jobs(&b);
  bool counted = built;
  built = built && add_all(&b);
  *out = (prem_rules){.planning = planning,
                      .relaxed = relaxed,
                      .joinable = out->joinable,
                      .complete = out->complete,
                      .unit_ns = out->unit_ns,
                      .cycle = out->cycle,
                      .nodes = b.nodes.items,
                      .node_count = (int32_t)b.nodes.count,
                      .arcs = b.arcs.items,
                      .arc_count = b.arcs.count,
                      .wraps = b.wraps.items,
                      .wrap_count = b.wraps.count,
                      .together = b.together.items,
                      .together_count = b.together.count,
                      .holds = b.holds.items,
                      .hold_count = b.holds.count,
                      .renewable_count = out->renewable_count};
  prem_status status = PREM_OK;
  if (!built)
    status = counted && b.nodes.count >= b.max_nodes ? PREM_ERR_UNAVAILABLE : PREM_ERR_MEMORY;
  else if (!sort_holds(out))
    status = PREM_ERR_MEMORY;
  else if (far_of(out) * 4 * out->unit_ns >= PREM_MAX_NS)
    status = PREM_ERR_UNAVAILABLE;
  free(b.first_job);
  free(b.jobs);
  if (status)
    prem_rules_free(out);
  return status;
}

void prem_rules_free(prem_rules *rules) {
  PREM_FREE(rules->nodes, rules->arcs, rules->wraps, rules->together, rules->holds,
            rules->first_hold, rules->renewable_holds);
  *rules = (prem_rules){0};
}

/* ---- renewables ----------------------------------------------------------------------------- */

int32_t prem_planning_renewables(const prem_planning *planning) {
  const prem_platform *platform = &planning->schedule->platform;
  return platform->resource_count + platform->blocks * LINES_PER_BLOCK;
}

prem_renewable prem_rules_renewable(const prem_rules *rules, int32_t renewable) {
  const prem_platform *platform = &rules->planning->schedule->platform;
  if (renewable < platform->resource_count)
    return (prem_renewable){PREM_RENEWABLE_RESOURCE, renewable,
                            platform->resources[renewable].capacity,
                            platform->resources[renewable].per_task};
  int32_t of_block = renewable - platform->resource_count;
  prem_renewable_kind kind = (prem_renewable_kind)(of_block % LINES_PER_BLOCK + 1);
  bool buffers = kind == PREM_RENEWABLE_INPUT || kind == PREM_RENEWABLE_OUTPUT;
  return (prem_renewable){kind, of_block / LINES_PER_BLOCK, buffers ? platform->buffers : 1, false};
}

void prem_rules_name_renewable(const prem_rules *rules, int32_t renewable, char *out,
                               size_t bytes) {
  static const char *const forms[] = {"",
                                      "block %d (with one buffer)",
                                      "the memory unit of block %d",
                                      "the compute unit of block %d",
                                      "the input buffers of block %d",
                                      "the output buffers of block %d"};
  prem_renewable of = prem_rules_renewable(rules, renewable);
  if (of.kind == PREM_RENEWABLE_RESOURCE)
    snprintf(out, bytes, "'%s'", rules->planning->schedule->platform.resources[of.number].name);
  else
    snprintf(out, bytes, forms[of.kind], of.number);
}

static prem_wide asked(const prem_task *task, int phase, int32_t resource) {
  const prem_phase_spec *spec = &task->phase[phase];
  return spec->exists ? (prem_wide)spec->busy_ns * spec->demand[resource] : 0;
}

bool prem_rules_counts(const prem_rules *rules, prem_renewable renewable, const prem_hold *hold) {
  if (!renewable.per_task)
    return true;
  const prem_node *node = &rules->nodes[hold->first];
  const prem_task *task = &rules->planning->schedule->tasks[node->task];
  int32_t r = renewable.number;
  bool memory = asked(task, PREM_PREFETCH, r) + asked(task, PREM_WRITEBACK, r) >=
                asked(task, PREM_COMPUTE, r);
  return node->tile % task->block_count == 0 && (node->phase != PREM_COMPUTE) == memory;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* The arcs sorted by the node that they leave. */
typedef struct arc_lists {
  int64_t *first;
  int64_t *arcs;
  int32_t *order; /* of nodes: none before one that leads to it */
} arc_lists;

static bool sort_nodes(const prem_rules *rules, arc_lists *of, int32_t *waits) {
  int32_t ready = 0;
  for (int64_t a = 0; a < rules->arc_count; ++a) {
    ++of->first[rules->arcs[a].from + 2];
    ++waits[rules->arcs[a].to];
  }
  for (int32_t n = 2; n < rules->node_count + 2; ++n)
    of->first[n] += of->first[n - 1];
  for (int64_t a = 0; a < rules->arc_count; ++a)
    of->arcs[of->first[rules->arcs[a].from + 1]++] = a;
  for (int32_t n = 0; n < rules->node_count; ++n)
    if (waits[n] == 0)
      of->order[ready++] = n;
  for (int32_t i = 0; i < ready; ++i)
    for (int64_t k = of->first[of->order[i]]; k < of->first[of->order[i] + 1]; ++k)
      if (--waits[rules->arcs[of->arcs[k]].to] == 0)
        of->order[ready++] = rules->arcs[of->arcs[k]].to;
  return ready == rules->node_count;
}

static void follow(const prem_rules *rules, const arc_lists *of, int64_t *head, int64_t *tail,
                   int64_t *latest) {
  for (int32_t n = 0; n < rules->node_count; ++n) {
    head[n] = rules->nodes[n].earliest;
    latest[n] = rules->nodes[n].latest;
    tail[n] = prem_div_ceil(rules->nodes[n].wcet_ns, rules->unit_ns);
  }
  for (int32_t i = 0; i < rules->node_count; ++i)
    for (int64_t k = of->first[of->order[i]]; k < of->first[of->order[i] + 1]; ++k) {
      const prem_apart *arc = &rules->arcs[of->arcs[k]];
      head[arc->to] = prem_max_i64(head[arc->to], head[arc->from] + arc->gap);
    }
  for (int32_t i = rules->node_count - 1; i >= 0; --i)
    for (int64_t k = of->first[of->order[i]]; k < of->first[of->order[i] + 1]; ++k) {
      const prem_apart *arc = &rules->arcs[of->arcs[k]];
      tail[arc->from] = prem_max_i64(tail[arc->from], tail[arc->to] + arc->gap);
      if (latest[arc->to] < PREM_MAX_NS)
        latest[arc->from] = prem_min_i64(latest[arc->from], latest[arc->to] - arc->gap);
    }
}

prem_status prem_rules_paths(const prem_rules *rules, int64_t *head, int64_t *tail,
                             int64_t *latest) {
  size_t nodes = (size_t)rules->node_count;
  arc_lists of = {.first = calloc(nodes + 2, sizeof *of.first),
                  .arcs = malloc((size_t)(rules->arc_count + 1) * sizeof *of.arcs),
                  .order = malloc((nodes + 1) * sizeof *of.order)};
  int32_t *waits = calloc(nodes + 1, sizeof *waits);
  prem_status status = PREM_ERR_MEMORY;
  if (of.first && of.arcs && of.order && waits)
    status = sort_nodes(rules, &of, waits) ? PREM_OK : PREM_ERR_ARGUMENT; /* a cycle */
  if (!status)
    follow(rules, &of, head, tail, latest);
  PREM_FREE(of.first, of.arcs, of.order, waits);
  return status;
}
