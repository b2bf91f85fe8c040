/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a run held more of a resource than there is: a sweep over the real windows of its
 * phases, once for each resource.
 */
#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "ttprem/measure.h"

enum { HOLD_JOINED = PREM_PHASE_COUNT, HOLD_KINDS };

/** The real window of a phase, or of a joined pair, that holds resources. */
typedef struct prem_memory_hold {
  int64_t start_ns, end_ns;
  int32_t task;
  int32_t partner; /* kind HOLD_JOINED: the task of the writeback */
  int32_t kind;    /* prem_phase, or HOLD_JOINED */
} prem_memory_hold;

/** What one task holds of a resource that is counted once a task. */
typedef struct prem_gang {
  int32_t active[HOLD_KINDS];
  int32_t demand[HOLD_KINDS]; /* the largest of those active */
} prem_gang;

typedef struct prem_sweep {
  const prem_schedule *schedule;
  const prem_memory_hold *holds; /* by start */
  const int64_t *by_end;         /* the same, by end */
  int64_t count;
  prem_gang *gangs; /* one a task */
  int64_t skew_ns;
  int64_t certain, possible;
} prem_sweep;

static int32_t phase_demand(const prem_phase_spec *spec, int32_t resource) {
  return spec->demand ? spec->demand[resource] : 0;
}

static int32_t hold_demand(const prem_schedule *schedule, const prem_memory_hold *held,
                           int32_t resource) {
  const prem_task *task = &schedule->tasks[held->task];
  if (held->kind != HOLD_JOINED)
    return phase_demand(&task->phase[held->kind], resource);
  if (task->joined.exists && held->partner == held->task)
    return phase_demand(&task->joined, resource);
  return prem_max_i32(
      phase_demand(&task->phase[PREM_PREFETCH], resource),
      phase_demand(&schedule->tasks[held->partner].phase[PREM_WRITEBACK], resource));
}

/** A regulated phase holds its resources for busy_ns only, however long its last byte takes. */
static void release_when_regulated(prem_memory_hold *held, int64_t busy_ns, int64_t wcet_ns) {
  bool regulated = busy_ns > 0 && busy_ns < wcet_ns;
  if (regulated && held->end_ns - held->start_ns > busy_ns)
    held->end_ns = held->start_ns + busy_ns;
}

static bool judged(const prem_trace_record *record, int64_t discard) {
  return !(record->flags & PREM_SLOT_WARMUP) && record->hyperperiod >= discard;
}

static bool halves_of_a_pair(const prem_trace_record *a, const prem_trace_record *b) {
  return (a->flags & b->flags & PREM_SLOT_JOINED) && a->block == b->block &&
         a->start_ns == b->start_ns && a->phase == PREM_PREFETCH && b->phase == PREM_WRITEBACK;
}

/** The writeback that was carried out under one start with the prefetch at `index`, or -1. Only a
 *  compute of the same block can stand between the two in a sorted trace. */
static int64_t find_partner(const prem_trace *trace, int64_t index) {
  for (int64_t i = index + 1; i < trace->record_count && i <= index + 2; ++i)
    if (halves_of_a_pair(&trace->records[index], &trace->records[i]))
      return i;
  return -1;
}

static bool is_counted_partner(const prem_trace *trace, int64_t index) {
  for (int64_t i = index - 1; i >= 0 && i >= index - 2; --i)
    if (halves_of_a_pair(&trace->records[i], &trace->records[index]))
      return true;
  return false;
}

/** Make the hold of a prefetch that of the pair. */
static void join(const prem_schedule *schedule, prem_memory_hold *held,
                 const prem_trace_record *writeback) {
  const prem_task *task = &schedule->tasks[held->task];
  const prem_phase_spec *fetch = &task->phase[PREM_PREFETCH];
  const prem_phase_spec *store = &schedule->tasks[writeback->task].phase[PREM_WRITEBACK];
  held->kind = HOLD_JOINED;
  held->partner = writeback->task;
  held->end_ns = prem_max_i64(held->end_ns, writeback->end_ns);
  if (task->joined.exists && held->partner == held->task)
    release_when_regulated(held, task->joined.busy_ns, task->joined.wcet_ns);
  else
    release_when_regulated(held, fetch->busy_ns + store->busy_ns, fetch->wcet_ns + store->wcet_ns);
}

static prem_memory_hold hold_of(const prem_schedule *schedule, const prem_trace *trace,
                                int64_t index) {
  const prem_trace_record *record = &trace->records[index];
  const prem_task *task = &schedule->tasks[record->task];
  prem_memory_hold held = {.start_ns = record->start_ns,
                           .end_ns = record->end_ns,
                           .task = record->task,
                           .partner = -1,
                           .kind = record->phase};
  int64_t writeback = find_partner(trace, index);
  if (writeback < 0)
    release_when_regulated(&held, task->phase[record->phase].busy_ns,
                           task->phase[record->phase].wcet_ns);
  else
    join(schedule, &held, &trace->records[writeback]);
  return held;
}

static int64_t collect_holds(const prem_schedule *schedule, const prem_trace *trace,
                             int64_t discard, prem_memory_hold *holds) {
  int64_t count = 0;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    if (!judged(&trace->records[i], discard) || is_counted_partner(trace, i))
      continue;
    prem_memory_hold held = hold_of(schedule, trace, i);
    if (held.end_ns > held.start_ns)
      holds[count++] = held;
  }
  return count;
}

typedef struct prem_ending {
  int64_t end_ns, index;
} prem_ending;

static int by_ending(const void *a, const void *b) {
  const prem_ending *x = a, *y = b;
  return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns); /* equal ones are taken together */
}

static int64_t *order_by_end(const prem_memory_hold *holds, int64_t count) {
  prem_ending *endings = malloc((size_t)(count + 1) * sizeof *endings);
  int64_t *order = malloc((size_t)(count + 1) * sizeof *order);
  if (endings && order) {
    for (int64_t i = 0; i < count; ++i)
      endings[i] = (prem_ending){holds[i].end_ns, i};
    qsort(endings, (size_t)count, sizeof *endings, by_ending);
    for (int64_t i = 0; i < count; ++i)
      order[i] = endings[i].index;
  } else {
    free(order);
    order = NULL;
  }
  free(endings);
  return order;
}

static int32_t gang_demand(const prem_gang *gang) {
  int32_t demand = 0;
  for (int kind = 0; kind < HOLD_KINDS; ++kind)
    if (gang->active[kind])
      demand = prem_max_i32(demand, gang->demand[kind]);
  return demand;
}

/** One hold begins (step 1) or ends (step -1): by how much the use of the resource changes. A gang
 *  counts once, with the largest demand of what it does at that moment. */
static int64_t change_of(prem_sweep *sweep, int32_t resource, const prem_memory_hold *held,
                         int32_t step) {
  int32_t demand = hold_demand(sweep->schedule, held, resource);
  if (demand == 0)
    return 0;
  if (!sweep->schedule->platform.resources[resource].per_task)
    return (int64_t)step * demand;
  prem_gang *gang = &sweep->gangs[held->task];
  int32_t before = gang_demand(gang);
  if (gang->active[held->kind] == 0)
    gang->demand[held->kind] = 0;
  gang->active[held->kind] += step;
  gang->demand[held->kind] = prem_max_i32(gang->demand[held->kind], demand);
  return (int64_t)gang_demand(gang) - before;
}

static void count_excess(prem_sweep *sweep, int64_t length_ns) {
  if (length_ns > sweep->skew_ns)
    ++sweep->certain;
  else
    ++sweep->possible;
}

/** All that ends or begins at one instant is taken together, ends and starts: intervals are half
 *  open, and an excess that one phase hands to the next is one excess. */
static void sweep_resource(prem_sweep *sweep, int32_t resource) {
  int64_t capacity = sweep->schedule->platform.resources[resource].capacity;
  int64_t used = 0, excess_since_ns = 0;
  bool exceeded = false;
  for (int64_t begun = 0, ended = 0; ended < sweep->count;) {
    int64_t now_ns = sweep->holds[sweep->by_end[ended]].end_ns;
    if (begun < sweep->count && sweep->holds[begun].start_ns < now_ns)
      now_ns = sweep->holds[begun].start_ns;
    for (; ended < sweep->count && sweep->holds[sweep->by_end[ended]].end_ns == now_ns; ++ended)
      used += change_of(sweep, resource, &sweep->holds[sweep->by_end[ended]], -1);
    for (; begun < sweep->count && sweep->holds[begun].start_ns == now_ns; ++begun)
      used += change_of(sweep, resource, &sweep->holds[begun], 1);
    if (!exceeded && used > capacity)
      excess_since_ns = now_ns;
    else if (exceeded && used <= capacity)
      count_excess(sweep, now_ns - excess_since_ns);
    exceeded = used > capacity;
  }
}

prem_status prem_violations(const prem_schedule *schedule, const prem_trace *trace, int64_t discard,
                            int64_t skew_ns, int64_t *certain, int64_t *possible) {
  *certain = *possible = 0;
  prem_memory_hold *holds = malloc((size_t)(trace->record_count + 1) * sizeof *holds);
  prem_gang *gangs = calloc((size_t)schedule->task_count + 1, sizeof *gangs);
  int64_t count = holds ? collect_holds(schedule, trace, discard, holds) : 0;
  int64_t *by_end = holds ? order_by_end(holds, count) : NULL;
  prem_status status = holds && gangs && by_end ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    prem_sweep sweep = {.schedule = schedule,
                        .holds = holds,
                        .by_end = by_end,
                        .count = count,
                        .gangs = gangs,
                        .skew_ns = skew_ns};
    for (int32_t r = 0; r < schedule->platform.resource_count; ++r)
      sweep_resource(&sweep, r);
    *certain = sweep.certain;
    *possible = sweep.possible;
  }
  PREM_FREE(by_end, gangs, holds);
  return status;
}
