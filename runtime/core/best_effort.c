/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks: the order in which their blocks work them, and what a run counts. */
#include "runtime/core/best_effort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "runtime/core/early_reads.h"
#include "runtime/core/recorder.h"

enum { KEEPERS_ALIGNMENT_BYTES = 128 }; /* two cache lines: blocks count side by side */

/* ---- an order ------------------------------------------------------------------------------- */

/*
 * Mode free takes no time from a plan but an order for each block: job after job, each when those
 * that it comes after have their places. Times are steps of 1 ns. Where there are two buffers a
 * tile is fetched before the one before it is written back.
 */
typedef struct ordering {
  prem_schedule *schedule;
  prem_plan *plan;
  int64_t *placed; /* [task]: jobs that have their place */
  int64_t at_ns;   /* the next step */
} ordering;

static int64_t period_of(const ordering *o, int32_t t) {
  const int64_t period_ns = o->schedule->tasks[t].period_ns;
  return period_ns ? period_ns : prem_max_i64(o->schedule->period_lcm_ns, 1);
}

static int64_t release_of(const ordering *o, int32_t t) {
  return o->placed[t] * period_of(o, t) + o->schedule->tasks[t].release_ns;
}

/* Have the jobs that the task's next one waits for their places? */
static bool is_ready(const ordering *o, int32_t t) {
  const prem_task *task = &o->schedule->tasks[t];
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_after *after = &task->after[a];
    int64_t needed = o->placed[t] + 1;
    if (after->latest)
      needed = prem_floor_div(release_of(o, t) - o->schedule->tasks[after->task].release_ns,
                              period_of(o, after->task)) +
               1;
    if (o->placed[after->task] < needed)
      return false;
  }
  return true;
}

/* The task whose job comes next: of those that are ready the one released first; -1: all are
 * placed, or none can be. */
static int32_t next_job(const ordering *o) {
  int32_t next = -1;
  for (int32_t t = 0; t < o->schedule->task_count; ++t)
    if (o->placed[t] < prem_task_jobs(o->schedule, &o->schedule->tasks[t]) && is_ready(o, t) &&
        (next < 0 || release_of(o, t) < release_of(o, next)))
      next = t;
  return next;
}

static prem_status place_phase(const ordering *o, int32_t t, prem_phase phase, int64_t start_ns,
                               int64_t step_ns) {
  const prem_task *task = &o->schedule->tasks[t];
  if (!task->phase[phase].exists)
    return PREM_OK;
  return prem_plan_add_affine(
      o->plan, &(prem_affine){.task = t,
                              .phase = phase,
                              .count = task->block_count,
                              .start_ns = o->at_ns + start_ns,
                              .repeat = (task->tile_count - 1) / task->block_count + 1,
                              .step_ns = step_ns,
                              .tile_per_block = 1,
                              .tile_per_repeat = task->block_count,
                              .job = o->placed[t],
                              .jobs = 1,
                              .join_task = -1});
}

/* A server's block does not know whether another tile comes, so it never fetches ahead. */
static prem_status place_job(ordering *o, int32_t t) {
  const prem_task *task = &o->schedule->tasks[t];
  const bool ahead = o->schedule->platform.buffers > 1 && task->server.capacity == 0;
  const int64_t step_ns = ahead ? 2 : 3;
  prem_status status = place_phase(o, t, PREM_PREFETCH, 0, step_ns);
  if (!status)
    status = place_phase(o, t, PREM_COMPUTE, 1, step_ns);
  if (!status)
    status = place_phase(o, t, PREM_WRITEBACK, ahead ? 3 : 2, step_ns);
  o->at_ns += ((task->tile_count - 1) / task->block_count + 2) * step_ns;
  ++o->placed[t];
  return status;
}

static bool are_placed(const ordering *o) {
  for (int32_t t = 0; t < o->schedule->task_count; ++t)
    if (o->placed[t] < prem_task_jobs(o->schedule, &o->schedule->tasks[t]))
      return false;
  return true;
}

/* An order that ends within its hyperperiod: no tile is alive across the hyperperiod's start, so
 * that buffers never turn. */
static prem_status judge_length(const ordering *o, prem_diag *diag) {
  const prem_schedule *schedule = o->schedule;
  const prem_task *shortest = &schedule->tasks[0];
  if (schedule->period_lcm_ns <= 0 || o->at_ns <= schedule->period_lcm_ns)
    return PREM_OK;
  for (int32_t t = 1; t < schedule->task_count; ++t)
    if (schedule->tasks[t].period_ns < shortest->period_ns)
      shortest = &schedule->tasks[t];
  return prem_fail(diag, PREM_ERR_INVALID, 43, shortest->place,
                   prem_key("tasks.%s.period_ns", shortest->name).text,
                   "in %" PRId64 " ns, a common multiple of all best-effort periods, the jobs "
                   "released take %" PRId64 " ns even with 1 ns a phase; give longer periods",
                   schedule->period_lcm_ns, o->at_ns);
}

/* So many jobs that a table would not hold them are refused when they are compiled. */
static prem_status make_order(prem_schedule *schedule, prem_diag *diag) {
  ordering o = {.schedule = schedule,
                .plan = prem_plan_new(),
                .placed = calloc((size_t)schedule->task_count, sizeof *o.placed)};
  prem_status status = o.plan && o.placed ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t t; !status && (t = next_job(&o)) >= 0;)
    status = place_job(&o, t);
  if (!status && !are_placed(&o)) {
    prem_diag_add(diag, PREM_ERROR, 26, schedule->tasks[0].place, "after",
                  "best-effort tasks wait for each other in a circle; remove one of their `after`");
    status = PREM_ERR_INVALID;
  }
  if (!status)
    status = judge_length(&o, diag);
  free(o.placed);
  if (status) {
    prem_plan_free(o.plan);
    return status;
  }
  o.plan->hyperperiod_ns = schedule->period_lcm_ns > 0 ? schedule->period_lcm_ns : o.at_ns;
  o.plan->place = schedule->tasks[0].place;
  prem_schedule_set_plan(schedule, o.plan);
  return PREM_OK;
}

/* A server has one tile for each block meanwhile: that which the block has in hand. */
static void swap_tile_counts(prem_schedule *schedule, int32_t *counts) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    prem_task *task = &schedule->tasks[t];
    const int32_t count = task->tile_count;
    if (task->server.capacity > 0)
      task->tile_count = counts[t] > 0 ? counts[t] : task->block_count;
    counts[t] = count;
  }
}

/* The order's steps are shorter than the phases, so all phases take one while it is compiled. */
static prem_status compile_phases(prem_free_part *part, prem_diag *diag) {
  prem_schedule *schedule = part->schedule;
  int64_t *wcet_ns = calloc((size_t)schedule->task_count * PREM_PHASE_COUNT, sizeof *wcet_ns);
  if (!wcet_ns)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < schedule->task_count * PREM_PHASE_COUNT; ++i) {
    prem_phase_spec *phase = &schedule->tasks[i / PREM_PHASE_COUNT].phase[i % PREM_PHASE_COUNT];
    wcet_ns[i] = phase->wcet_ns;
    phase->wcet_ns = phase->exists;
  }
  const prem_status status = prem_program_new(schedule, &part->program, diag);
  for (int32_t i = 0; i < schedule->task_count * PREM_PHASE_COUNT; ++i)
    schedule->tasks[i / PREM_PHASE_COUNT].phase[i % PREM_PHASE_COUNT].wcet_ns = wcet_ns[i];
  free(wcet_ns);
  return status;
}

static prem_status compile_order(prem_free_part *part, prem_diag *diag) {
  int32_t *counts = calloc((size_t)part->schedule->task_count, sizeof *counts);
  if (!counts)
    return PREM_ERR_MEMORY;
  swap_tile_counts(part->schedule, counts);
  prem_status status = make_order(part->schedule, diag);
  if (!status)
    status = compile_phases(part, diag);
  swap_tile_counts(part->schedule, counts);
  free(counts);
  return status;
}

/* ---- a part --------------------------------------------------------------------------------- */

/* What a job makes must not depend on how many came before it: nobody knows where a run ends. */
static prem_status judge_data(const prem_free_part *part, prem_diag *diag) {
  const prem_schedule *schedule = part->schedule;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].versions > 0)
      return prem_fail(
          diag, PREM_ERR_INVALID, 45, schedule->arrays[a].place, schedule->arrays[a].name,
          "is a state array, and best-effort tasks can have none; leave `versions` out");
  if (!part->arrays->made_at)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_INVALID, 45, schedule->tasks[0].place, "after",
                   "a best-effort task reads an array before another one writes it; let it come "
                   "`after` that one");
}

static prem_status find_bounds(prem_free_part *part) {
  const prem_schedule *schedule = part->schedule;
  part->ahead_ns = calloc((size_t)schedule->task_count * PREM_PHASE_COUNT, sizeof *part->ahead_ns);
  if (!part->ahead_ns)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < schedule->task_count * PREM_PHASE_COUNT; ++i)
    part->ahead_ns[i] = prem_ahead_ns(schedule, &schedule->tasks[i / PREM_PHASE_COUNT],
                                      (prem_phase)(i % PREM_PHASE_COUNT));
  return PREM_OK;
}

/* ---- whose the closed windows are ------------------------------------------------------------ */

/** The windows while it is found out. */
typedef struct naming {
  prem_free_part *part;
  const prem_schedule *whole;
  int32_t *critical; /* [task]: as the critical part counts it */
  int64_t *first_ns; /* [window]: where the first phase in it begins */
  int64_t count;     /* of part->due */
  int64_t warm_ns;   /* of warm-up tiles the plan says no instants up to here */
} naming;

static void count_critical(naming *n) {
  int32_t count = 0;
  for (int32_t t = 0; t < n->whole->task_count; ++t) {
    const prem_task *task = &n->whole->tasks[t];
    n->critical[t] = count;
    if (!task->best_effort)
      n->part->jobs[count++] = (int32_t)prem_task_jobs(n->whole, task);
  }
}

/* The first window that ends behind an instant. */
static int32_t first_behind(const prem_gate_list *list, int64_t at_ns) {
  int32_t low = 0, high = list->count;
  PREM_BISECT(low, high, middle, list->windows[middle].end_ns <= at_ns);
  return low;
}

/* A phase may reach over the hyperperiod's end, into windows of later ones. */
static bool note_slot(naming *n, const prem_slot *slot) {
  prem_free_part *part = n->part;
  const prem_task *task = &n->whole->tasks[slot->task];
  const int64_t length_ns = part->closed.hyperperiod_ns,
                end_ns = slot->planned_ns + slot->length_ns;
  const int64_t start_ns = slot->flags & PREM_SLOT_CHAINED ? slot->head_ns : slot->planned_ns;
  const bool joined = (slot->flags & PREM_SLOT_JOINED) && task->joined.exists;
  prem_due due = {.task = n->critical[slot->task]};
  if ((slot->flags & PREM_SLOT_WARMUP) ||
      (task->phase[slot->phase].demand[0] == 0 && !(joined && task->joined.demand[0] > 0)))
    return true;
  for (int64_t h = start_ns / length_ns; h * length_ns < end_ns; ++h) {
    const int64_t from_ns = start_ns - h * length_ns, to_ns = end_ns - h * length_ns;
    due.jobs = (int32_t)(slot->job + 1 - h * part->jobs[due.task]);
    for (due.window = first_behind(&part->closed, from_ns);
         due.window < part->closed.count && part->closed.windows[due.window].start_ns < to_ns;
         ++due.window) {
      if (from_ns < n->first_ns[due.window]) {
        n->first_ns[due.window] = from_ns;
        part->closed_for[due.window] = due.task;
      }
      if (part->closed.windows[due.window].start_ns >= n->warm_ns &&
          !PREM_APPEND(n->part->due, n->count, due))
        return false;
    }
  }
  return true;
}

static int by_window(const void *left, const void *right) {
  const prem_due *a = left, *b = right;
  /* of each task the last job counts */
  return prem_by_numbers((int64_t[]){a->window, a->task, -(int64_t)a->jobs},
                         (int64_t[]){b->window, b->task, -(int64_t)b->jobs}, 3);
}

static void sort_due(naming *n) {
  prem_free_part *part = n->part;
  int64_t kept = 0, i = 0;
  if (n->count > 0)
    qsort(part->due, (size_t)n->count, sizeof *part->due, by_window);
  for (int32_t w = 0; w < part->closed.count; ++w) {
    part->due_from[w] = kept;
    for (; i < n->count && part->due[i].window == w; ++i)
      if (kept == part->due_from[w] || part->due[kept - 1].task != part->due[i].task)
        part->due[kept++] = part->due[i];
  }
  part->due_from[part->closed.count] = kept;
}

static prem_status name_windows(prem_free_part *part, const prem_schedule *whole, prem_diag *diag) {
  const size_t windows = (size_t)part->closed.count;
  naming n = {.part = part,
              .whole = whole,
              .critical = calloc((size_t)whole->task_count + 1, sizeof *n.critical),
              .first_ns = malloc((windows + 1) * sizeof *n.first_ns),
              .warm_ns = whole->plan->warmup_tiles > 0 ? whole->plan->warmup_ns : 0};
  prem_slot *slots = NULL;
  int64_t count = 0;
  part->closed_for = calloc(windows + 1, sizeof *part->closed_for);
  part->due_from = calloc(windows + 1, sizeof *part->due_from);
  part->jobs = calloc((size_t)whole->task_count + 1, sizeof *part->jobs);
  prem_status status = PREM_ERR_MEMORY;
  if (n.critical && n.first_ns && part->closed_for && part->due_from && part->jobs)
    status = prem_plan_expand(whole, whole->plan, &slots, &count, diag);
  if (status == PREM_OK) {
    for (size_t w = 0; w < windows; ++w)
      n.first_ns[w] = INT64_MAX;
    count_critical(&n);
    for (int64_t i = 0; i < count && windows > 0 && status == PREM_OK; ++i)
      status = note_slot(&n, &slots[i]) ? PREM_OK : PREM_ERR_MEMORY;
    if (status == PREM_OK)
      sort_due(&n);
  }
  PREM_FREE(n.critical, n.first_ns, slots);
  return status;
}

static prem_status copy_windows(prem_free_part *part, const prem_schedule *whole, prem_diag *diag) {
  const prem_plan *plan = whole->plan;
  prem_gate_window *windows = calloc((size_t)plan->closed_count + 1, sizeof *windows);
  part->closed = (prem_gate_list){windows, plan->closed_count, plan->hyperperiod_ns};
  if (!windows)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < plan->closed_count; ++i)
    windows[i] = (prem_gate_window){plan->closed[i].start_ns, plan->closed[i].end_ns};
  part->open_share = (double)plan->open_ns / (double)plan->hyperperiod_ns;
  return name_windows(part, whole, diag);
}

prem_status prem_free_part_new(const prem_schedule *whole, prem_free_part **out, prem_diag *diag) {
  *out = NULL;
  if (!prem_schedule_has_best_effort(whole))
    return PREM_OK;
  prem_free_part *part = calloc(1, sizeof *part);
  if (!part)
    return PREM_ERR_MEMORY;
  prem_status status = prem_schedule_best_effort(whole, &part->schedule, NULL);
  if (!status)
    status = compile_order(part, diag);
  if (!status)
    status = prem_arrays_new(part->schedule, &part->arrays, diag);
  if (!status)
    status = prem_arrays_find_early_reads(part->arrays, part->program, NULL);
  if (!status)
    status = judge_data(part, diag);
  if (!status)
    status = find_bounds(part);
  if (!status)
    status = copy_windows(part, whole, diag);
  if (!status)
    status = prem_errands_new(part->schedule, part->arrays, &part->errands);
  if (status)
    prem_free_part_free(part);
  else
    *out = part;
  return status;
}

void prem_free_part_free(prem_free_part *part) {
  if (!part)
    return;
  prem_errands_free(part->errands);
  prem_arrays_free(part->arrays);
  prem_program_free(part->program);
  prem_schedule_free(part->schedule);
  PREM_FREE(part->ahead_ns, (void *)part->closed.windows, part->closed_for, part->due,
            part->due_from, part->jobs, part);
}

prem_status prem_free_part_judge(const prem_free_part *part, uint32_t others, prem_mode mode,
                                 prem_diag *diag) {
  if (!part || mode == PREM_MODE_TT || mode == PREM_MODE_FREE ||
      (others >> mode & 1 && !part->errands))
    return PREM_OK;
  prem_diag_add(diag, PREM_NOTE, 0, part->schedule->tasks[0].place, "",
                "mode '%s' runs no best-effort tasks, and task '%s' is one; use tt or free",
                prem_mode_name(mode), part->schedule->tasks[0].name);
  return PREM_ERR_UNAVAILABLE;
}

prem_run_request prem_free_part_request(const prem_run_request *request) {
  prem_run_request own = *request;
  own.mode = PREM_MODE_FREE;
  own.hyperperiods = PREM_BEST_EFFORT_ROWS; /* all that it does not say: they go on */
  own.discard = 0;
  return own;
}

/* ---- what it records ------------------------------------------------------------------------ */

prem_status prem_best_effort_trace_new(const prem_free_part *part, int64_t max_records,
                                       prem_best_effort_trace **out) {
  *out = NULL;
  prem_best_effort_trace *made = calloc(1, sizeof *made);
  if (!made)
    return PREM_ERR_MEMORY;
  made->counts = calloc((size_t)part->schedule->task_count, sizeof *made->counts);
  prem_status status = made->counts ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = prem_trace_new(part->schedule, PREM_BEST_EFFORT_ROWS, max_records, &made->trace);
  if (!status && part->errands) {
    made->errand_capacity = prem_min_i64(max_records, PREM_ERRANDS_KEPT);
    made->errands = calloc((size_t)made->errand_capacity + 1, sizeof *made->errands);
    status = made->errands ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (status)
    prem_best_effort_trace_free(made);
  else
    *out = made;
  return status;
}

void prem_best_effort_trace_free(prem_best_effort_trace *trace) {
  if (!trace)
    return;
  prem_trace_free(trace->trace);
  PREM_FREE(trace->errands, trace->counts, trace);
}

void prem_best_effort_trace_clear(prem_best_effort_trace *trace) {
  prem_trace_clear(trace->trace);
  memset(trace->counts, 0, (size_t)trace->trace->task_count * sizeof *trace->counts);
  trace->errand_count = trace->errands_lost = 0;
  trace->length_ns = 0;
  trace->gated = false;
}

prem_gatekeeper *prem_gatekeepers_new(const prem_free_part *part, prem_mode mode) {
  const size_t blocks = (size_t)part->program->block_count;
  size_t stride = (size_t)part->schedule->task_count * sizeof(prem_best_effort_counts);
  stride = (stride + KEEPERS_ALIGNMENT_BYTES - 1) & ~(size_t)(KEEPERS_ALIGNMENT_BYTES - 1);
  size_t head = blocks * sizeof(prem_gatekeeper);
  head = (head + KEEPERS_ALIGNMENT_BYTES - 1) & ~(size_t)(KEEPERS_ALIGNMENT_BYTES - 1);
  unsigned char *room = aligned_alloc(KEEPERS_ALIGNMENT_BYTES, head + blocks * stride);
  if (!room)
    return NULL;
  memset(room, 0, head + blocks * stride);
  prem_gatekeeper *keepers = (prem_gatekeeper *)(void *)room;
  for (size_t b = 0; b < blocks; ++b)
    keepers[b] =
        (prem_gatekeeper){.gate = prem_gate_new(&part->closed, 0),
                          .part = part,
                          .counts = (prem_best_effort_counts *)(void *)(room + head + b * stride),
                          .waits_since_ns = -1,
                          .block = (int32_t)b,
                          .is_gated = mode == PREM_MODE_TT};
  return keepers;
}

void prem_gatekeepers_free(prem_gatekeeper *keepers) {
  free(keepers);
}

void prem_gatekeepers_watch(prem_gatekeeper *keepers, prem_jobs_over *jobs_over, void *of) {
  for (int32_t b = 0; b < keepers->part->program->block_count; ++b) {
    keepers[b].jobs_over = jobs_over;
    keepers[b].jobs_over_of = of;
  }
}

bool prem_gatekeeper_look(prem_gatekeeper *keeper) {
  const prem_free_part *part = keeper->part;
  const int64_t from = part->due_from[keeper->gate.index];
  const int64_t to = part->due_from[keeper->gate.index + 1];
  const int64_t hyperperiod = keeper->gate.epoch_ns / part->closed.hyperperiod_ns;
  if (!keeper->jobs_over || from == to)
    return false;
  for (int64_t i = from; i < to; ++i)
    if (keeper->jobs_over(keeper->jobs_over_of, part->due[i].task) <
        hyperperiod * part->jobs[part->due[i].task] + part->due[i].jobs)
      return false;
  prem_gate_next(&keeper->gate, &part->closed);
  return true;
}

/* A phase has ended so many times. */
static void count_phase(const prem_free_part *part, const prem_record *record, int64_t times,
                        prem_best_effort_counts *counts) {
  const prem_task *task = &part->schedule->tasks[record->task];
  const prem_phase phase = (prem_phase)record->phase;
  if (task->definition)
    counts->bytes += times * prem_task_phase_bytes(part->schedule, task, phase, record->tile);
  const prem_phase last = task->phase[PREM_WRITEBACK].exists ? PREM_WRITEBACK
                          : task->phase[PREM_COMPUTE].exists ? PREM_COMPUTE
                                                             : PREM_PREFETCH;
  counts->tiles += phase == last ? times : 0;
}

void prem_gatekeeper_note(prem_gatekeeper *keeper, const prem_record *record, int64_t end_ns) {
  const prem_free_part *part = keeper->part;
  prem_best_effort_counts *counts = &keeper->counts[record->task];
  const prem_phase phase = (prem_phase)record->phase;
  count_phase(part, record, 1, counts);
  if (!keeper->is_gated || !prem_is_gated(part, record))
    return;
  const int64_t ahead_ns = part->ahead_ns[record->task * PREM_PHASE_COUNT + record->phase];
  counts->drain_ns[phase] =
      prem_max_i64(counts->drain_ns[phase], end_ns - (keeper->gate.start_ns - ahead_ns));
  const int64_t by_ns = prem_gate_overrun_ns(&keeper->gate, end_ns);
  if (by_ns == 0)
    return;
  ++counts->overruns;
  if (by_ns > counts->longest.by_ns)
    counts->longest = (prem_gate_overrun){.at_ns = keeper->gate.start_ns,
                                          .by_ns = by_ns,
                                          .block = keeper->block,
                                          .tile = record->tile,
                                          .into = part->closed_for[keeper->gate.index],
                                          .phase = phase};
}

/* Phases of each kind end in the order of their table, round and round. `jobs`: of each task, that
 * have ended on this block. */
static void count_table(const prem_free_part *part, const prem_block_program *block,
                        const prem_record *table, int32_t length, const int64_t *ended,
                        prem_best_effort_counts *counts, int64_t *jobs) {
  int64_t before[PREM_PHASE_COUNT] = {0};
  for (int32_t i = 0; i < length; ++i) {
    const prem_record *record = &table[i];
    const int64_t a_round = block->phase_count[record->phase], all = ended[record->phase];
    const int64_t times = all / a_round + (before[record->phase]++ < all % a_round);
    count_phase(part, record, times, &counts[record->task]);
    jobs[record->task] += record->flags & PREM_RECORD_LAST ? times : 0;
  }
}

int64_t prem_free_part_count(const prem_free_part *part, const int64_t *ended,
                             prem_best_effort_counts *counts) {
  const prem_program *program = part->program;
  const size_t tasks = (size_t)part->schedule->task_count;
  int64_t *jobs = calloc(tasks, sizeof *jobs), through = jobs ? INT64_MAX : -1;
  for (size_t t = 0; t < tasks; ++t) {
    counts[t].jobs = prem_is_server(part->errands, (int32_t)t) ? 0 : INT64_MAX;
    counts[t].tiles = counts[t].bytes = 0;
  }
  for (int32_t b = 0; jobs && b < program->block_count; ++b, ended += PREM_PHASE_COUNT) {
    const prem_block_program *block = &program->blocks[b];
    if (part->errands && part->errands->blocks[b]) /* servers count for themselves */
      continue;
    count_table(part, block, block->memory, block->memory_count, ended, counts, jobs);
    count_table(part, block, block->compute, block->compute_count, ended, counts, jobs);
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      if (block->phase_count[phase] > 0)
        through = prem_min_i64(through, ended[phase] / block->phase_count[phase]);
    for (int32_t i = 0; i < block->task_count; ++i) {
      const prem_block_task *of = &block->tasks[i];
      if (of->position < program->tasks[of->task].active_blocks)
        counts[of->task].jobs = prem_min_i64(counts[of->task].jobs, jobs[of->task]);
      jobs[of->task] = 0;
    }
  }
  free(jobs);
  return through == INT64_MAX ? 0 : through; /* servers alone */
}

void prem_best_effort_counts_merge(prem_best_effort_counts *to,
                                   const prem_best_effort_counts *from) {
  to->jobs += from->jobs;
  to->tiles += from->tiles;
  to->bytes += from->bytes;
  to->waits += from->waits;
  to->wait_ns += from->wait_ns;
  to->overruns += from->overruns;
  to->errands.sent += from->errands.sent;
  to->errands.full += from->errands.full;
  to->errands.late += from->errands.late;
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    to->errands.ended[e] += from->errands.ended[e];
  to->errands.response_sum_ns += from->errands.response_sum_ns;
  to->errands.response_max_ns =
      prem_max_i64(to->errands.response_max_ns, from->errands.response_max_ns);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    to->drain_ns[phase] = prem_max_i64(to->drain_ns[phase], from->drain_ns[phase]);
  if (from->longest.by_ns > to->longest.by_ns)
    to->longest = from->longest;
}

void prem_gatekeepers_collect(const prem_gatekeeper *keepers, const int64_t *jobs,
                              int64_t length_ns, prem_best_effort_trace *out) {
  const prem_free_part *part = keepers->part;
  for (int32_t t = 0; t < part->schedule->task_count; ++t) {
    for (int32_t b = 0; b < part->program->block_count; ++b)
      prem_best_effort_counts_merge(&out->counts[t], &keepers[b].counts[t]);
    out->counts[t].jobs = jobs[t];
  }
  out->length_ns = length_ns;
  out->gated = keepers->is_gated;
  out->open_share = part->open_share;
}
