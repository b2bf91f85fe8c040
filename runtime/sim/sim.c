/* SPDX-License-Identifier: Apache-2.0 */
/* The backend `sim`: a program on a virtual clock. Integers only, one thread, the same trace byte
 * for byte every time. Kernels are executed for real when their phases end, so outputs are right.
 */
#include "runtime/sim/sim.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/record_rules.h"
#include "runtime/core/red_zones.h"
#include "runtime/core/windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_BETWEEN_POLLS = 4096 };

typedef enum unit_state {
  UNIT_PARKED,    /* something it waits for has not happened */
  UNIT_SCHEDULED, /* starts at its event */
  UNIT_SHARING,   /* at work, in its group's time */
  UNIT_QUEUED,    /* mode lock: waits for its tokens */
  UNIT_HOLDING,   /* mode lock: at work, gives its tokens back at its event */
  UNIT_ENDING,    /* takes nothing (any more), ends at its event */
  UNIT_DONE
} unit_state;

/* A tile whose compute wrote elsewhere, or that there was no memory for. */
typedef struct sim_failure {
  prem_status status; /* PREM_OK: there was none */
  int32_t task, tile;
  prem_stray stray;
} sim_failure;

/* One of a block's two units: number 2 b works its memory table, 2 b + 1 its computes. */
typedef struct sim_unit {
  const prem_record *record; /* in hand; of a joined pair the first */
  const prem_record *table, *end;
  const prem_program *plan;       /* of its hyperperiod */
  const int32_t *use_of;          /* memory unit: of each record of the table */
  int64_t epoch_ns;               /* of its hyperperiod */
  int64_t base[PREM_PHASE_COUNT]; /* phases of the block before its hyperperiod */
  int64_t ready_ns, start_ns;
  int64_t hyperperiod;
  unit_state state;
  uint8_t left_out; /* a bit for the record in hand, and one for the other half of a joined pair */
  uint8_t in[PREM_MAX_BUFFERS], out[PREM_MAX_BUFFERS]; /* see prem_turn_buffers() */
} sim_unit;

typedef struct sim_block {
  int64_t done[PREM_PHASE_COUNT];
  int64_t rested_ns[PREM_PHASE_COUNT]; /* the turnaround of the last one done is over */
  unsigned char *scratch;              /* input buffers, then output buffers; NULL: no data */
} sim_block;

typedef struct sim_task {
  bool fetches, stores;
  void (*compute)(const void *params, const prem_view *views);
  int64_t *done;  /* jobs of it done, on each of its blocks */
  int64_t lowest; /* of these over all that have tiles: so many jobs have ended */
  int32_t at_lowest;
  int32_t *successors;
  int32_t successor_count;
} sim_task;

typedef struct simulator {
  const prem_program *program;
  int64_t precedence_ns; /* until a successor knows */
  prem_arrays *arrays;
  sim_share share;
  sim_clock clock;
  int32_t **use_of; /* [plan * block_count + block][record of its memory table] */
  sim_unit *units;
  sim_block *blocks;
  sim_task *tasks;
  int32_t unit_count;
  prem_red_zones zones;
  sim_failure failure; /* the first one */
  /* of the run in hand: */
  const prem_run_request *request;
  prem_trace *trace;
  prem_recorder *recorders;
  prem_mode mode;
  int32_t live_units;
  /* with best-effort tasks: */
  struct simulator *beside; /* that of these, which this one owns; NULL: there are none */
  struct simulator
      *critical;            /* of a simulator of best-effort tasks that of the others; else NULL */
  prem_gatekeeper *keepers; /* [block], of such a one, in a run */
  int64_t clock_step_ns;    /* by which gates read the clock */
  uint64_t random;          /* 0: phases take their bounds */
  prem_errands *errands;    /* that its servers work off; NULL: it has none */
  int64_t arrived;          /* of the request's arrivals */
  int64_t run_end_ns;       /* of the simulator of the others: the end of the last hyperperiod */
  /* of a live session: */
  prem_courier *courier; /* NULL: a run */
  int64_t first_hyperperiod;
  prem_run_request live_request;
  int64_t now_ns;
  bool is_courier_due; /* a job is over */
  bool is_aborted;     /* or it failed */
} simulator;

/* ---- when a record can start ---------------------------------------------------------------- */

/* Raises *at_ns to the instant at which the job's predecessors have been over for long enough, and
 * it has been told so; false: they have not ended. */
static bool after_over(const simulator *sim, const sim_unit *unit, const prem_record *record,
                       int64_t *at_ns) {
  const prem_task_program *task = &unit->plan->tasks[record->task];
  for (int32_t a = 0; a < task->edge_count; ++a) {
    const prem_dependency *after = &task->after[a];
    int64_t needed = prem_jobs_needed(sim->program, after, unit->hyperperiod, record->job);
    if (after->by_block || needed <= 0 || record->phase != after->phase)
      continue;
    if (sim->tasks[after->task].lowest < needed)
      return false;
    int64_t end_ns = *prem_job_end(sim->program, sim->trace, after->task, needed - 1);
    *at_ns = prem_max_i64(*at_ns, end_ns + prem_max_i64(after->lag_ns, sim->precedence_ns));
  }
  return true;
}

static const sim_use *use_of(const simulator *sim, const sim_unit *unit) {
  int32_t use = unit->use_of ? unit->use_of[unit->record - unit->table]
                             : unit->record->task * PREM_PHASE_COUNT + PREM_COMPUTE;
  return &sim->share.uses[use];
}

static int32_t use_index(const simulator *sim, const sim_unit *unit) {
  return (int32_t)(use_of(sim, unit) - sim->share.uses);
}

/* In a run: where a hyperperiod begins. */
static int64_t epoch_of(const simulator *sim, int64_t hyperperiod) {
  return sim->critical ? prem_free_epoch_ns(sim->program, hyperperiod)
                       : sim->trace->epoch_ns[hyperperiod % sim->trace->hyperperiod_capacity];
}

static prem_begin may_begin(const simulator *sim, int64_t hyperperiod) {
  if (sim->critical)
    return PREM_BEGIN_NOW;
  if (sim->courier)
    return prem_courier_may_begin(sim->courier, hyperperiod);
  return hyperperiod < sim->request->hyperperiods ? PREM_BEGIN_NOW : PREM_BEGIN_NEVER;
}

/* The unit's table by one of the plans. */
static void take_table(const simulator *sim, sim_unit *unit, int32_t u, int32_t plan) {
  const prem_program *program = sim->program->plans[plan];
  const prem_block_program *block = &program->blocks[u / 2];
  const bool memory = u % 2 == 0;
  unit->plan = program;
  unit->table = memory ? block->memory : block->compute;
  unit->end = unit->table + (memory ? block->memory_count : block->compute_count);
  unit->use_of = memory ? sim->use_of[plan * program->block_count + u / 2] : NULL;
}

static prem_begin next_hyperperiod(const simulator *sim, sim_unit *unit, int32_t u) {
  const int32_t block = u / 2;
  const prem_block_program *program = &sim->program->blocks[block];
  const prem_begin begin = may_begin(sim, unit->hyperperiod + 1);
  if (begin == PREM_BEGIN_LATER)
    return begin;
  ++unit->hyperperiod;
  if (begin == PREM_BEGIN_NEVER)
    return begin;
  if (sim->courier && sim->program->plan_count > 1)
    take_table(sim, unit, u, prem_courier_plan(sim->courier, unit->hyperperiod));
  unit->record = unit->table;
  unit->epoch_ns = epoch_of(sim, unit->hyperperiod);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    unit->base[p] += program->phase_count[p];
  /* a live session comes to its first one from a hyperperiod that never was */
  if (program->turns && unit->hyperperiod > sim->first_hyperperiod) {
    prem_turn_buffers(program->in_turn, unit->in);
    prem_turn_buffers(program->out_turn, unit->out);
  }
  return begin;
}

/* In a live session, which is the rarer case. */
static bool is_live(const simulator *sim) {
  return __builtin_expect(sim->courier != NULL, false);
}

/* Raises *at_ns to the instant at which the block is ready for what follows the last phase done, of
 * the record's unit or one that it waits for. A chain has no gaps. */
static void turn_around(const simulator *sim, const sim_unit *unit, int32_t block,
                        const prem_record *record, int64_t *at_ns) {
  const sim_block *on = &sim->blocks[block];
  for (int p = 0; p < PREM_PHASE_COUNT && !(record->flags & PREM_SLOT_CHAINED); ++p) {
    const bool is_of_unit = (p == PREM_COMPUTE) == (record->phase == PREM_COMPUTE);
    if (is_of_unit || on->done[p] == unit->base[p] + record->wait[p])
      *at_ns = prem_max_i64(*at_ns, on->rested_ns[p]);
  }
}

/* What of the record in hand, or of the joined pair, is left out? */
static void look_what_is_left_out(const simulator *sim, sim_unit *unit) {
  const prem_record *record = unit->record;
  unit->left_out = prem_courier_skips(sim->courier, unit->hyperperiod, record);
  if ((record->flags & PREM_RECORD_JOIN_NEXT) &&
      prem_courier_skips(sim->courier, unit->hyperperiod, record + 1))
    unit->left_out |= 2;
}

static bool is_empty(const sim_unit *unit) {
  return unit->left_out == (unit->record->flags & PREM_RECORD_JOIN_NEXT ? 3 : 1);
}

/* Can that still change until the record starts? */
static bool may_be_given_up(const simulator *sim, const prem_record *record) {
  const prem_live_task *tasks = sim->courier->tasks;
  return tasks[record->task].left_out ||
         ((record->flags & PREM_RECORD_JOIN_NEXT) && tasks[record[1].task].left_out);
}

static void set_unit(simulator *sim, int32_t u, unit_state state, uint64_t event) {
  sim->units[u].state = state;
  sim_clock_set(&sim->clock, u, event);
}

/* Raises *ready_ns and *start_ns to what this record allows; false: nobody knows yet. */
static bool may_start(const simulator *sim, const sim_unit *unit, int32_t block,
                      const prem_record *record, int64_t *ready_ns, int64_t *start_ns) {
  if (!prem_waits_are_over(record, sim->blocks[block].done, unit->base))
    return false;
  if ((record->flags & PREM_RECORD_AFTER) && !after_over(sim, unit, record, ready_ns))
    return false;
  if (is_live(sim) && !prem_courier_allows(sim->courier, unit->hyperperiod, record))
    return false;
  turn_around(sim, unit, block, record, ready_ns);
  *start_ns =
      prem_max_i64(*start_ns, prem_earliest_ns(sim->program, sim->mode, record, unit->epoch_ns));
  return true;
}

/*
 * Does the record take nothing that it would have to share? In mode lock computes take no tokens,
 * compatible intervals do. For warm-up tiles no plan promises anything: they neither suffer nor
 * disturb, so that a plan which the checker accepts runs as planned.
 */
static bool is_undisturbed(const simulator *sim, const sim_use *use, const prem_record *record) {
  if (sim->critical)
    return !prem_is_gated(sim->keepers->part, record);
  return use->group < 0 || (record->flags & PREM_SLOT_WARMUP) ||
         (sim->mode == PREM_MODE_LOCK && !prem_record_is_at_memory(sim->program->schedule, record));
}

/* How long a phase of a best-effort task takes: its bound, or with chance less. */
static int64_t length_of(simulator *sim, const sim_use *use) {
  const int64_t bound_ns = prem_max_i64(use->wcet_ns, 1);
  if (!sim->random || prem_random_below(&sim->random, 4) == 0)
    return bound_ns;
  return 1 + prem_random_below(&sim->random, bound_ns);
}

/* Is there no tile for a record of a server? Its prefetch looks for one at the gate. */
static bool has_no_tile(const simulator *sim, int32_t u, const prem_record *record) {
  prem_record room;
  return sim->errands && record->phase != PREM_PREFETCH &&
         !prem_errands_record(sim->errands, u / 2, record, &room);
}

/* When its record starts, if nothing can put that off. False: it is not so. */
static bool start_undisturbed(simulator *sim, int32_t u, int64_t start_ns) {
  sim_unit *unit = &sim->units[u];
  const sim_use *use = use_of(sim, unit);
  int64_t length_ns = 0;
  if (sim->critical)
    unit->left_out = has_no_tile(sim, u, unit->record);
  if (!is_empty(unit)) {
    if (!is_undisturbed(sim, use, unit->record))
      return false;
    length_ns = sim->critical ? length_of(sim, use) : use->wcet_ns;
  }
  unit->start_ns = start_ns;
  set_unit(sim, u, UNIT_ENDING, SIM_END(start_ns + length_ns));
  return true;
}

/* The unit is idle: what becomes of its next record? */
static void consider(simulator *sim, int32_t u, int64_t now_ns) {
  sim_unit *unit = &sim->units[u];
  int32_t block = u / 2;
  if (unit->record == unit->end) {
    const prem_begin begin = next_hyperperiod(sim, unit, u);
    if (begin != PREM_BEGIN_NOW) {
      sim->live_units -= begin == PREM_BEGIN_NEVER;
      set_unit(sim, u, begin == PREM_BEGIN_NEVER ? UNIT_DONE : UNIT_PARKED, SIM_NEVER);
      return;
    }
  }
  const prem_record *record = unit->record;
  /* Hundreds of tables are read side by side, more than the machine foresees by itself. */
  __builtin_prefetch(record + 2);
  int64_t ready_ns = now_ns, start_ns = now_ns;
  if (!may_start(sim, unit, block, record, &ready_ns, &start_ns) ||
      ((record->flags & PREM_RECORD_JOIN_NEXT) &&
       !may_start(sim, unit, block, record + 1, &ready_ns, &start_ns))) {
    set_unit(sim, u, UNIT_PARKED, SIM_NEVER);
    return;
  }
  start_ns = prem_max_i64(start_ns, ready_ns);
  unit->ready_ns = ready_ns;
  if (is_live(sim)) {
    look_what_is_left_out(sim, unit);
    if (may_be_given_up(sim, record)) {
      set_unit(sim, u, UNIT_SCHEDULED, SIM_START(start_ns));
      return;
    }
  }
  if (!start_undisturbed(sim, u, start_ns))
    set_unit(sim, u, UNIT_SCHEDULED, SIM_START(start_ns));
}

static void wake(simulator *sim, int32_t u, int64_t now_ns) {
  if (sim->units[u].state == UNIT_PARKED)
    consider(sim, u, now_ns);
}

/* ---- starting and ending -------------------------------------------------------------------- */

static void hold_tokens(simulator *sim, int32_t u, int64_t now_ns) {
  sim->units[u].start_ns = now_ns;
  set_unit(sim, u, UNIT_HOLDING, SIM_END(now_ns + use_of(sim, &sim->units[u])->busy_ns));
}

/* A server's prefetch: is there a tile for the block? Without one it waits for an errand, or leaves
 * the phases of this tile out where another server of the block has some. */
static bool find_tile(simulator *sim, int32_t u, int64_t now_ns) {
  sim_unit *unit = &sim->units[u];
  if (!prem_is_server(sim->errands, unit->record->task) || unit->record->phase != PREM_PREFETCH)
    return true;
  if (sim->errands->blocks[u / 2]->now.room >= 0) /* and waits at the gate */
    return true;
  switch (prem_errands_take(sim->errands, u / 2, unit->record->task, now_ns)) {
  case PREM_TILE_TAKEN:
    return true;
  case PREM_TILE_NONE:
    unit->left_out = 1;
    unit->start_ns = now_ns;
    set_unit(sim, u, UNIT_ENDING, SIM_END(now_ns));
    return false;
  default:
    set_unit(sim, u, UNIT_PARKED, SIM_NEVER);
    return false;
  }
}

/* The gate of a best-effort memory phase. Its clock goes in steps; from the reading to the copy
 * there may be a while, and all of it is within the bound. */
static void start_at_gate(simulator *sim, int32_t u, int64_t now_ns) {
  sim_unit *unit = &sim->units[u];
  const int64_t step_ns = sim->clock_step_ns, reading_ns = now_ns - now_ns % step_ns;
  prem_gatekeeper *keeper = &sim->keepers[u / 2];
  if (!find_tile(sim, u, now_ns))
    return;
  int64_t from_ns = prem_gatekeeper_ask(keeper, unit->record, reading_ns);
  while (from_ns > reading_ns && prem_gatekeeper_look(keeper))
    from_ns = prem_gatekeeper_ask(keeper, unit->record, reading_ns);
  if (from_ns > reading_ns) {
    set_unit(sim, u, UNIT_SCHEDULED, SIM_START((from_ns + step_ns - 1) / step_ns * step_ns));
    return;
  }
  const int64_t length_ns = length_of(sim, use_of(sim, unit));
  unit->start_ns = now_ns + (sim->random ? prem_random_below(&sim->random, length_ns) : 0);
  sim_share_count(&sim->share, use_index(sim, unit), 1);
  sim_share_tell(&sim->critical->share, &sim->critical->clock, &sim->share, now_ns);
  set_unit(sim, u, UNIT_ENDING, SIM_END(now_ns + length_ns));
}

static void end_at_gate(simulator *sim, int32_t u, int64_t now_ns) {
  const sim_unit *unit = &sim->units[u];
  prem_record room;
  if (unit->left_out)
    return;
  prem_gatekeeper_note(&sim->keepers[u / 2],
                       prem_errands_record(sim->errands, u / 2, unit->record, &room), now_ns);
  if (!prem_is_gated(sim->keepers->part, unit->record))
    return;
  sim_share_count(&sim->share, use_index(sim, unit), -1);
  sim_share_tell(&sim->critical->share, &sim->critical->clock, &sim->share, now_ns);
}

static void start(simulator *sim, int32_t u, int64_t now_ns) {
  sim_unit *unit = &sim->units[u];
  if (sim->critical) {
    start_at_gate(sim, u, now_ns);
    return;
  }
  int32_t use = use_index(sim, unit);
  if (is_live(sim) && may_be_given_up(sim, unit->record)) {
    look_what_is_left_out(sim, unit);
    if (start_undisturbed(sim, u, now_ns))
      return;
  }
  if (sim->mode != PREM_MODE_LOCK) {
    unit->start_ns = now_ns;
    set_unit(sim, u, UNIT_SHARING, SIM_NEVER);
    sim_share_begin(&sim->share, &sim->clock, use, u, now_ns);
  } else if (sim_lock_take(&sim->share, use, u)) {
    hold_tokens(sim, u, now_ns);
  } else {
    set_unit(sim, u, UNIT_QUEUED, SIM_NEVER);
  }
}

static void serve_queue(simulator *sim, int64_t now_ns) {
  for (int32_t u; (u = sim_lock_first(&sim->share)) >= 0;) {
    if (!sim_lock_serve(&sim->share, use_index(sim, &sim->units[u])))
      return;
    hold_tokens(sim, u, now_ns);
  }
}

static int64_t jobs_over(void *of, int32_t task) {
  return ((simulator *)of)->tasks[task].lowest;
}

/* The unit of a block that waits: a compute does where it is at the memory, as compatible intervals
 * are. */
static int32_t unit_at_gate(const simulator *beside, int32_t b) {
  const sim_unit *compute = &beside->units[2 * b + 1];
  return 2 * b + (compute->state == UNIT_SCHEDULED &&
                  prem_is_gated(beside->keepers->part, compute->record));
}

/* The job has ended on one more block; on all of them: successors may start. */
static void end_job(simulator *sim, int32_t block, int32_t t, int64_t now_ns) {
  sim_task *task = &sim->tasks[t];
  int64_t before = task->done[prem_block_position(&sim->program->blocks[block], t)]++;
  if (before > task->lowest || --task->at_lowest > 0)
    return;
  *prem_job_end(sim->program, sim->trace, t, task->lowest) = now_ns;
  ++task->lowest;
  sim->is_courier_due = true;
  if (sim->beside)
    for (int32_t b = 0; b < sim->beside->program->block_count; ++b)
      if (sim->beside->keepers[b].waits_since_ns >= 0)
        set_unit(sim->beside, unit_at_gate(sim->beside, b), UNIT_SCHEDULED, SIM_START(now_ns));
  for (int32_t i = 0; i < sim->program->tasks[t].active_blocks; ++i)
    task->at_lowest += task->done[i] == task->lowest;
  for (int32_t i = 0; i < task->successor_count; ++i) {
    const prem_task *successor = &sim->program->schedule->tasks[task->successors[i]];
    for (int32_t b = 0; b < successor->block_count; ++b) {
      wake(sim, 2 * successor->blocks[b], now_ns);
      wake(sim, 2 * successor->blocks[b] + 1, now_ns);
    }
  }
}

static void compute_tile(simulator *sim, const prem_record *record, const void *params,
                         const prem_view *views) {
  const prem_task *task = &sim->program->schedule->tasks[record->task];
  prem_stray stray;
  const prem_status status =
      prem_guarded_compute(&sim->zones, task, params ? params : task->params, views, &stray);
  if (status == PREM_OK || sim->failure.status)
    return;
  sim->failure = (sim_failure){status, record->task, record->tile, stray};
  sim->is_aborted = true;
}

static void move_data(simulator *sim, const sim_unit *unit, int32_t block,
                      const prem_record *record) {
  const sim_task *task = &sim->tasks[record->task];
  const prem_block_program *program = &sim->program->blocks[block];
  unsigned char *scratch = sim->blocks[block].scratch;
  unsigned char *in = NULL, *out = NULL;
  if (scratch) {
    int32_t buffers = sim->program->schedule->platform.buffers;
    in = scratch + (size_t)unit->in[record->in_buffer] * (size_t)program->in_bytes;
    out = scratch + (size_t)buffers * (size_t)program->in_bytes +
          (size_t)unit->out[record->out_buffer] * (size_t)program->out_bytes;
  }
  int32_t room[PREM_MAX_PORTS];
  const int32_t *slots = room;
  if (is_live(sim))
    prem_courier_slots(sim->courier, unit->hyperperiod, record, room);
  else if (prem_is_server(sim->errands, record->task))
    slots = prem_errands_slots(sim->errands, block, room);
  else
    slots = prem_program_slots(sim->program, unit->hyperperiod, record, room);
  if (record->phase == PREM_PREFETCH && task->fetches)
    prem_tile_fetch_slots(sim->arrays, record->task, record->tile, slots, in);
  if (record->phase == PREM_WRITEBACK && task->stores)
    prem_tile_store_slots(sim->arrays, record->task, record->tile, slots, out);
  if (record->phase == PREM_COMPUTE && task->compute) {
    prem_view views[PREM_MAX_PORTS];
    prem_tile_views_slots(sim->arrays, record->task, record->tile, slots, in, out, views);
    const unsigned char *params =
        is_live(sim) ? prem_courier_params(sim->courier, record->task, unit->hyperperiod) : NULL;
    compute_tile(sim, record, params, views);
  }
}

static void work_off(simulator *sim, const sim_unit *unit, int32_t block, const prem_record *record,
                     int64_t now_ns) {
  const sim_task *task = &sim->tasks[record->task];
  prem_record room;
  record = prem_errands_record(sim->errands, block, record, &room);
  if (task->fetches || task->stores || task->compute)
    move_data(sim, unit, block, record);
  prem_recorder *recorder = &sim->recorders[block];
  const int64_t before = recorder->count;
  prem_record_executed(recorder, sim->mode, record,
                       &(prem_execution){.epoch_ns = unit->epoch_ns,
                                         .ready_ns = unit->ready_ns,
                                         .start_ns = unit->start_ns,
                                         .end_ns = now_ns,
                                         .hyperperiod = prem_traced_hyperperiod(
                                             unit->hyperperiod - sim->first_hyperperiod),
                                         .block = block});
  if (record == &room && recorder->count > before)
    prem_errands_note(sim->errands, block, &recorder->records[before]);
}

/* Blocks of servers that have no tile. */
static void look_for_tiles(simulator *sim, int64_t now_ns) {
  for (int32_t b = 0; b < sim->program->block_count; ++b)
    if (sim->errands->blocks[b])
      wake(sim, 2 * b, now_ns);
}

static void end_phase(simulator *sim, const sim_unit *unit, int32_t block,
                      const prem_record *record, int64_t now_ns) {
  if (!(unit->left_out >> (record - unit->record) & 1))
    work_off(sim, unit, block, record, now_ns);
  ++sim->blocks[block].done[record->phase];
  if (!(record->flags & PREM_RECORD_OFF) && !(sim->critical && unit->left_out))
    sim->blocks[block].rested_ns[record->phase] =
        now_ns + sim->program->schedule->tasks[record->task].phase[record->phase].turnaround_ns;
  if (record->flags & PREM_RECORD_LAST) {
    if (prem_is_server(sim->errands, record->task) && !unit->left_out &&
        prem_errands_put_down(sim->errands, block, now_ns))
      look_for_tiles(sim, now_ns);
    end_job(sim, block, record->task, now_ns);
  }
}

static void end(simulator *sim, int32_t u, int64_t now_ns) {
  sim_unit *unit = &sim->units[u];
  const prem_record *record = unit->record;
  if (sim->critical)
    end_at_gate(sim, u, now_ns);
  if (record->flags & PREM_RECORD_JOIN_NEXT)
    end_phase(sim, unit, u / 2, record++, now_ns);
  end_phase(sim, unit, u / 2, record++, now_ns);
  unit->record = record;
  consider(sim, u, now_ns);
  wake(sim, u ^ 1, now_ns);
}

/* What it took is given back; the latency that remains disturbs nobody. */
static void end_busy(simulator *sim, int32_t u, int64_t now_ns) {
  const sim_use *use = use_of(sim, &sim->units[u]);
  if (use->wcet_ns > use->busy_ns)
    set_unit(sim, u, UNIT_ENDING, SIM_END(now_ns + use->wcet_ns - use->busy_ns));
  else
    end(sim, u, now_ns);
}

/* The clock of the next errand that comes by itself. */
static void await_arrival(simulator *sim) {
  const prem_run_request *request = sim->request;
  sim_clock_set(&sim->clock, sim->unit_count + sim->share.group_count,
                sim->arrived < request->arrival_count
                    ? SIM_END(request->arrivals[sim->arrived].at_ns)
                    : SIM_NEVER);
}

/* All that come at an instant; then blocks without a tile look for one. */
static void arrive(simulator *sim, int64_t now_ns) {
  const prem_run_request *request = sim->request;
  for (; sim->arrived < request->arrival_count && request->arrivals[sim->arrived].at_ns <= now_ns;
       ++sim->arrived)
    prem_errands_arrive(sim->errands, &request->arrivals[sim->arrived], now_ns);
  look_for_tiles(sim, now_ns);
  await_arrival(sim);
}

static void happen(simulator *sim, sim_event event) {
  int64_t now_ns = (int64_t)(event.key >> 1);
  if (event.part >= (uint64_t)sim->unit_count) {
    int32_t group = (int32_t)(event.part - (uint64_t)sim->unit_count);
    if (group == sim->share.group_count && sim->errands) {
      arrive(sim, now_ns);
      return;
    }
    if (group == sim->share.group_count) {
      sim->is_courier_due = true;
      sim_clock_set(&sim->clock, (int32_t)event.part, SIM_NEVER);
      return;
    }
    int32_t u = sim_share_finish(&sim->share, &sim->clock, group, now_ns);
    sim_share_end(&sim->share, &sim->clock, use_index(sim, &sim->units[u]), now_ns);
    end_busy(sim, u, now_ns);
    return;
  }
  int32_t u = (int32_t)event.part;
  switch (sim->units[u].state) {
  case UNIT_SCHEDULED:
    start(sim, u, now_ns);
    break;
  case UNIT_HOLDING:
    sim_lock_give(&sim->share, use_index(sim, &sim->units[u]));
    end_busy(sim, u, now_ns);
    serve_queue(sim, now_ns);
    break;
  default:
    end(sim, u, now_ns);
  }
}

/* ---- a run ---------------------------------------------------------------------------------- */

static void reset_unit(const simulator *sim, int32_t u) {
  sim_unit *unit = &sim->units[u];
  const prem_block_program *block = &sim->program->blocks[u / 2];
  *unit = (sim_unit){.epoch_ns = epoch_of(sim, 0)};
  take_table(sim, unit, u, 0);
  unit->record = unit->table;
  if (sim->courier) { /* at the end of a hyperperiod that never was */
    unit->record = unit->end;
    unit->hyperperiod = sim->first_hyperperiod - 1;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      unit->base[p] = -block->phase_count[p];
  }
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    unit->in[i] = unit->out[i] = (uint8_t)i;
}

static void reset_tasks(simulator *sim) {
  for (int32_t t = 0; t < sim->program->schedule->task_count; ++t) {
    int32_t active = sim->program->tasks[t].active_blocks;
    sim->tasks[t].lowest = sim->first_hyperperiod * sim->program->tasks[t].jobs;
    for (int32_t i = 0; i < active; ++i)
      sim->tasks[t].done[i] = sim->tasks[t].lowest;
    sim->tasks[t].at_lowest = active;
  }
}

static void reset(simulator *sim) {
  sim_share_reset(&sim->share);
  reset_tasks(sim);
  for (uint64_t i = 0; i < 2 * sim->clock.leaves; ++i)
    sim->clock.node[i] = (sim_event){SIM_NEVER, 0};
  sim->live_units = 0;
  for (int32_t u = 0; u < sim->unit_count; ++u) {
    reset_unit(sim, u);
    memset(sim->blocks[u / 2].done, 0, sizeof sim->blocks[u / 2].done);
    memset(sim->blocks[u / 2].rested_ns, 0, sizeof sim->blocks[u / 2].rested_ns);
    bool empty = sim->units[u].table == sim->units[u].end;
    sim->units[u].state = empty ? UNIT_DONE : UNIT_PARKED;
    sim->live_units += !empty;
  }
}

static int64_t completed_hyperperiods(const simulator *sim) {
  int64_t completed = sim->request->hyperperiods;
  for (int32_t u = 0; u < sim->unit_count; ++u)
    if (sim->units[u].table != sim->units[u].end && sim->units[u].hyperperiod < completed)
      completed = sim->units[u].hyperperiod;
  return completed;
}

/* What a unit that never starts again waits for. */
static void name_wait(const simulator *sim, int32_t u, char *out, size_t bytes) {
  const sim_unit *unit = &sim->units[u];
  const prem_record *record = unit->record;
  const int64_t *done = sim->blocks[u / 2].done;
  if (unit->state == UNIT_QUEUED) {
    snprintf(out, bytes, "tokens");
    return;
  }
  for (int half = 0; half < 2; ++half, ++record) {
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (record->wait[p] != PREM_NO_WAIT && done[p] < unit->base[p] + record->wait[p]) {
        snprintf(out, bytes, "%s number %lld of its block, where %lld are done",
                 prem_phase_name((prem_phase)p), (long long)(unit->base[p] + record->wait[p]),
                 (long long)done[p]);
        return;
      }
    if (!(record->flags & PREM_RECORD_JOIN_NEXT))
      break;
  }
  snprintf(out, bytes, "the tasks that it comes after");
}

static prem_status report_deadlock(const simulator *sim, int64_t now_ns, prem_diag *diag) {
  int32_t u = 0;
  while (sim->units[u].state != UNIT_PARKED && sim->units[u].state != UNIT_QUEUED)
    ++u;
  const sim_unit *unit = &sim->units[u];
  const prem_record *record = unit->record;
  char wait[128];
  name_wait(sim, u, wait, sizeof wait);
  return prem_fail(
      diag, PREM_ERR_MACHINE, 0, sim->program->schedule->plan->place, "run",
      "deadlock at %lld ns in mode %s: block %d, record %lld of its %s, hyperperiod %lld "
      "(%s of tile %d, job %d of task '%s') waits for %s",
      (long long)now_ns, prem_mode_name(sim->mode), u / 2, (long long)(record - unit->table),
      u % 2 ? "computes" : "memory phases", (long long)unit->hyperperiod,
      prem_phase_name((prem_phase)record->phase), record->tile, record->job,
      sim->program->schedule->tasks[record->task].name, wait);
}

static prem_status tell_failure(const simulator *sim, prem_diag *diag) {
  const sim_failure *failure = &sim->failure;
  if (failure->status != PREM_ERR_WRONG)
    return failure->status;
  return prem_stray_tell(&sim->program->schedule->tasks[failure->task], failure->tile,
                         &failure->stray, diag);
}

/* The one of two simulators where something happens next; the critical tasks' at the same instant.
 */
static simulator *next_of(simulator *sim) {
  simulator *beside = sim->beside;
  return beside && sim_clock_next(&beside->clock).key < sim_clock_next(&sim->clock).key ? beside
                                                                                        : sim;
}

/* Best-effort tasks go on to the end of the last hyperperiod. */
static bool goes_on(const simulator *sim) {
  return sim->live_units > 0 ||
         (sim->beside && sim_clock_next(&sim->beside->clock).key <= SIM_END(sim->run_end_ns));
}

static prem_status work(simulator *sim, int64_t *end_ns, prem_diag *diag) {
  int64_t now_ns = 0;
  for (simulator *one = sim; one; one = one->beside)
    for (int32_t u = 0; u < one->unit_count; ++u)
      wake(one, u, 0);
  while (goes_on(sim)) {
    if (sim->request->stop && *sim->request->stop)
      return PREM_ERR_INTERRUPTED;
    simulator *one = sim;
    for (int i = 0; i < EVENTS_BETWEEN_POLLS && goes_on(sim) && !one->is_aborted; ++i) {
      for (one = sim; one; one = one->beside)
        if (one->live_units > 0 && !one->errands && sim_clock_next(&one->clock).key == SIM_NEVER)
          return report_deadlock(one, now_ns, diag);
      one = next_of(sim);
      sim_event event = sim_clock_next(&one->clock);
      *end_ns = now_ns = (int64_t)(event.key >> 1);
      happen(one, event);
    }
    if (one->is_aborted)
      return tell_failure(one, diag);
  }
  *end_ns = prem_max_i64(*end_ns, sim->run_end_ns);
  return PREM_OK;
}

static prem_status judge_length(const simulator *sim, int64_t hyperperiods, prem_diag *diag) {
  int64_t limit = PREM_MAX_NS / 2 / sim->program->hyperperiod_ns;
  limit = limit < INT32_MAX ? limit : INT32_MAX;
  if (hyperperiods <= limit)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, "run",
                   "%lld hyperperiods of %lld ns are too many for one run; at most %lld",
                   (long long)hyperperiods, (long long)sim->program->hyperperiod_ns,
                   (long long)limit);
}

/* Before a run: of the critical tasks, or of the best-effort ones beside them. */
static prem_status prepare(simulator *sim, const prem_run_request *request, prem_trace *trace) {
  prem_status status = prem_recorders_new(sim->program, request, trace, true, &sim->recorders);
  if (status)
    return status;
  sim->request = request;
  sim->trace = trace;
  sim->mode = request->mode;
  if (!sim->critical) {
    sim->run_end_ns = request->hyperperiods * sim->program->hyperperiod_ns;
    prem_trace_begin_periodically(trace, sim->program->hyperperiod_ns, request->hyperperiods);
  }
  reset(sim);
  return PREM_OK;
}

static void collect(simulator *sim) {
  if (!sim->recorders)
    return;
  prem_recorders_collect(sim->program, sim->recorders, sim->trace);
  prem_recorders_free(sim->recorders, sim->program->block_count);
  sim->recorders = NULL;
}

static prem_status prepare_beside(simulator *sim, const prem_run_request *request,
                                  const prem_run_request *own, prem_best_effort_trace *trace) {
  sim->keepers = prem_gatekeepers_new(sim->critical->program->beside, request->mode);
  sim->random = request->seed;
  sim->errands = sim->critical->program->beside->errands;
  sim->arrived = 0;
  if (sim->keepers)
    prem_gatekeepers_watch(sim->keepers, jobs_over, sim->critical);
  const prem_status status = sim->keepers ? prepare(sim, own, trace->trace) : PREM_ERR_MEMORY;
  if (status == PREM_OK && sim->errands) {
    prem_errands_begin(sim->errands, 0, trace);
    await_arrival(sim);
  }
  return status;
}

static prem_status collect_beside(simulator *sim, int64_t end_ns, prem_best_effort_trace *trace) {
  const int32_t tasks = sim->program->schedule->task_count;
  int64_t *jobs = calloc((size_t)tasks, sizeof *jobs);
  int64_t completed = INT64_MAX;
  for (int32_t u = 0; u < sim->unit_count; ++u)
    if (sim->units[u].table != sim->units[u].end && !(sim->errands && sim->errands->blocks[u / 2]))
      completed = prem_min_i64(completed, sim->units[u].hyperperiod);
  for (int32_t t = 0; jobs && t < tasks; ++t)
    jobs[t] = sim->tasks[t].lowest;
  trace->trace->hyperperiods = completed == INT64_MAX ? 0 : completed; /* servers alone */
  collect(sim);
  if (jobs)
    prem_gatekeepers_collect(sim->keepers, jobs, end_ns, trace);
  free(jobs);
  prem_gatekeepers_free(sim->keepers);
  sim->keepers = NULL;
  return jobs ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status sim_run(void *state, const prem_run_request *request, prem_trace *trace,
                           prem_diag *diag) {
  simulator *sim = state;
  const prem_run_request own = prem_free_part_request(request);
  int64_t end_ns = 0;
  prem_status status = judge_length(sim, request->hyperperiods, diag);
  if (!status)
    status = prepare(sim, request, trace);
  if (!status && sim->beside)
    status = prepare_beside(sim->beside, request, &own, trace->best_effort);
  if (!status) {
    status = work(sim, &end_ns, diag);
    trace->hyperperiods = completed_hyperperiods(sim);
    if (sim->beside && collect_beside(sim->beside, end_ns, trace->best_effort))
      status = status ? status : PREM_ERR_MEMORY;
    if (sim->beside && sim->beside->errands) {
      const prem_status counted =
          prem_errands_finish(sim->beside->errands, end_ns, status != PREM_OK, diag);
      status = status ? status : counted;
    }
  }
  collect(sim);
  return status;
}

/* ---- a live session -------------------------------------------------------------------------- */

static void call_courier(simulator *sim) {
  const uint64_t before = sim->courier->decided;
  prem_courier_look(sim->courier);
  const int64_t next_ns = prem_courier_step(sim->courier, sim->now_ns);
  sim->is_courier_due = false;
  sim_clock_set(&sim->clock, sim->unit_count + sim->share.group_count,
                next_ns == INT64_MAX ? SIM_NEVER : SIM_END(next_ns));
  for (int32_t u = 0; sim->courier->decided != before && u < sim->unit_count; ++u)
    wake(sim, u, sim->now_ns);
}

static prem_status judge_start(const simulator *sim, const prem_courier *courier,
                               const prem_live_request *request, prem_diag *diag) {
  const int64_t min_ns = sim->now_ns + (courier->trigger < 0 ? courier->max_lead_ns : 0);
  if (request->start_ns == 0 || request->start_ns >= min_ns)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, "start_ns",
                   "is %lld ns, too soon: it is %lld ns now, and the first frames are chosen up to "
                   "%lld ns before; give at least %lld",
                   (long long)request->start_ns, (long long)sim->now_ns,
                   (long long)courier->max_lead_ns, (long long)min_ns);
}

static prem_status live_start(void *state, prem_courier *courier, const prem_live_request *request,
                              prem_diag *diag) {
  simulator *sim = state;
  prem_status status = judge_start(sim, courier, request, diag);
  if (!status)
    status = prem_courier_make_room(courier, request);
  prem_trace *recorded = courier->whole ? courier->whole : courier->trace;
  sim->live_request = (prem_run_request){.mode = request->mode};
  if (!status)
    status = prem_recorders_new(sim->program, &sim->live_request, recorded, true, &sim->recorders);
  if (status)
    return status;
  const int64_t lead_ns = courier->trigger < 0 ? courier->max_lead_ns : 0;
  prem_courier_begin(courier,
                     &(prem_courier_setup){.request = request,
                                           .jobs_over = jobs_over,
                                           .backend = sim,
                                           .start_ns = request->start_ns ? request->start_ns
                                                                         : sim->now_ns + lead_ns});
  sim->request = &sim->live_request;
  sim->trace = courier->trace;
  sim->mode = request->mode;
  sim->courier = courier;
  sim->first_hyperperiod = courier->first_hyperperiod;
  reset(sim);
  return PREM_OK;
}

static int64_t live_now_ns(const void *state) {
  return ((const simulator *)state)->now_ns;
}

/* Do all that happens at the present: what ends first, then what the courier makes of it, then what
 * starts. */
static void settle(simulator *sim) {
  while (!sim->is_aborted) {
    const sim_event event = sim_clock_next(&sim->clock);
    const bool ends = event.key <= SIM_END(sim->now_ns);
    if (!ends && sim->is_courier_due)
      call_courier(sim);
    else if (ends || event.key <= SIM_START(sim->now_ns))
      happen(sim, event);
    else
      return;
  }
}

/* Time passes here alone, from one instant at which something happens to the next. */
static bool live_wait(void *state, bool (*is_met)(void *of), void *of, int64_t until_ns) {
  simulator *sim = state;
  until_ns = prem_min_i64(until_ns, PREM_MAX_NS);
  while (!is_met(of)) {
    const uint64_t key =
        sim->courier && !sim->is_aborted ? sim_clock_next(&sim->clock).key : SIM_NEVER;
    if (key == SIM_NEVER || (int64_t)(key >> 1) > until_ns) {
      sim->now_ns = prem_max_i64(sim->now_ns, until_ns);
      return false;
    }
    sim->now_ns = (int64_t)(key >> 1);
    settle(sim);
  }
  return true;
}

static void live_tell(void *state) {
  simulator *sim = state;
  if (!sim->courier || sim->is_aborted)
    return;
  sim->is_courier_due = true;
  settle(sim);
}

static void live_abort(void *state) {
  ((simulator *)state)->is_aborted = true;
}

static bool live_is_over(const void *state) {
  const simulator *sim = state;
  return sim->is_aborted || prem_courier_is_done(sim->courier);
}

static bool live_has_failed(const void *state) {
  return ((const simulator *)state)->failure.status != PREM_OK;
}

static prem_status live_finish(void *state, prem_diag *diag) {
  simulator *sim = state;
  prem_recorders_collect(sim->program, sim->recorders,
                         sim->courier->whole ? sim->courier->whole : sim->courier->trace);
  prem_recorders_free(sim->recorders, sim->program->block_count);
  sim->recorders = NULL;
  prem_courier_finish(sim->courier);
  return tell_failure(sim, diag);
}

static const prem_live_engine live_engine = {.start = live_start,
                                             .now_ns = live_now_ns,
                                             .wait = live_wait,
                                             .tell = live_tell,
                                             .abort = live_abort,
                                             .is_over = live_is_over,
                                             .has_failed = live_has_failed,
                                             .changes_args = true,
                                             .finish = live_finish};

/* ---- opening and closing -------------------------------------------------------------------- */

static prem_status sim_probe(prem_machine *out, prem_diag *diag) {
  (void)diag;
  *out = (prem_machine){.name = "simulator", .backend = "sim", .clock_step_ns = 1};
  return PREM_OK;
}

static void sim_close(void *state) {
  simulator *sim = state;
  if (sim->beside)
    sim_close(sim->beside);
  prem_gatekeepers_free(sim->keepers);
  prem_recorders_free(sim->recorders, sim->program->block_count);
  sim_share_free(&sim->share);
  for (int32_t b = 0; sim->use_of && b < sim->program->plan_count * sim->program->block_count; ++b)
    free(sim->use_of[b]);
  for (int32_t b = 0; sim->blocks && b < sim->program->block_count; ++b)
    free(sim->blocks[b].scratch);
  for (int32_t t = 0; sim->tasks && t < sim->program->schedule->task_count; ++t) {
    free(sim->tasks[t].done);
    free(sim->tasks[t].successors);
  }
  PREM_FREE(sim->use_of, sim->blocks, sim->tasks, sim->units, sim->clock.node);
  prem_red_zones_free(&sim->zones);
  free(sim);
}

static bool has_port(const prem_kernel *kernel, prem_access access) {
  for (int32_t i = 0; i < kernel->port_count; ++i)
    if (kernel->ports[i].access == access)
      return true;
  return false;
}

static prem_status open_task(const prem_program *program, int32_t t, sim_task *out) {
  const prem_task *task = &program->schedule->tasks[t];
  if (task->definition) {
    out->fetches = has_port(task->definition, PREM_IN);
    out->stores = has_port(task->definition, PREM_OUT);
    out->compute = task->definition->compute;
  }
  out->done = calloc((size_t)program->tasks[t].active_blocks + 1, sizeof *out->done);
  return out->done ? PREM_OK : PREM_ERR_MEMORY;
}

static bool has_successor(const sim_task *task, int32_t successor) {
  for (int32_t i = 0; i < task->successor_count; ++i)
    if (task->successors[i] == successor)
      return true;
  return false;
}

/* Those by other plans than the file's mostly are there already. */
static prem_status find_successors(simulator *sim, const prem_program *plan) {
  for (int32_t t = 0; t < plan->schedule->task_count; ++t)
    for (int32_t a = 0; a < plan->tasks[t].edge_count; ++a) {
      sim_task *before = &sim->tasks[plan->tasks[t].after[a].task];
      const bool is_there = plan != sim->program && has_successor(before, t);
      if (!is_there && !PREM_APPEND(before->successors, before->successor_count, t))
        return PREM_ERR_MEMORY;
    }
  return PREM_OK;
}

static prem_status open_tasks(simulator *sim) {
  const prem_program *program = sim->program;
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    prem_status status = open_task(program, t, &sim->tasks[t]);
    if (status)
      return status;
  }
  for (int32_t p = 0; p < program->plan_count; ++p) {
    prem_status status = find_successors(sim, program->plans[p]);
    if (status)
      return status;
  }
  return PREM_OK;
}

static prem_status open_scratch(simulator *sim) {
  size_t buffers = (size_t)sim->program->schedule->platform.buffers;
  for (int32_t b = 0; b < sim->program->block_count; ++b) {
    const prem_block_program *block = &sim->program->blocks[b];
    size_t bytes = buffers * ((size_t)block->in_bytes + (size_t)block->out_bytes);
    if (bytes == 0)
      continue;
    sim->blocks[b].scratch = aligned_alloc(128, bytes); /* buffers are multiples of 128 bytes */
    if (!sim->blocks[b].scratch)
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

static prem_status open_clock(simulator *sim) {
  /* units, groups, and in a live session the courier behind them */
  uint64_t parts = (uint64_t)sim->unit_count + (uint64_t)sim->share.group_count + 1;
  sim->clock.leaves = 2;
  while (sim->clock.leaves < parts)
    sim->clock.leaves *= 2;
  sim->clock.node = calloc(2 * sim->clock.leaves, sizeof *sim->clock.node);
  return sim->clock.node ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status open_parts(simulator *sim) {
  size_t blocks = (size_t)sim->program->block_count;
  sim->unit_count = 2 * sim->program->block_count;
  sim->use_of = calloc(blocks * (size_t)sim->program->plan_count, sizeof *sim->use_of);
  sim->units = calloc(2 * blocks, sizeof *sim->units);
  sim->blocks = calloc(blocks, sizeof *sim->blocks);
  sim->tasks = calloc((size_t)sim->program->schedule->task_count, sizeof *sim->tasks);
  if (!sim->use_of || !sim->units || !sim->blocks || !sim->tasks)
    return PREM_ERR_MEMORY;
  const bool company = sim->critical || sim->program->beside;
  prem_status status = sim_share_new(sim->program, company, sim->use_of, &sim->share);
  if (!status)
    status = open_tasks(sim);
  if (!status)
    status = open_scratch(sim);
  return status ? status : open_clock(sim);
}

static prem_status open_one(const prem_program *program, prem_arrays *arrays, simulator *critical,
                            simulator **out) {
  *out = NULL;
  simulator *sim = calloc(1, sizeof *sim);
  if (!sim)
    return PREM_ERR_MEMORY;
  sim->program = program;
  sim->precedence_ns = prem_schedule_precedence_ns(program->schedule);
  sim->arrays = arrays;
  sim->critical = critical;
  prem_status status = open_parts(sim);
  if (status)
    sim_close(sim);
  else
    *out = sim;
  return status;
}

static prem_status sim_open(const prem_program *program, prem_arrays *arrays,
                            const prem_machine *machine, void **state, prem_diag *diag) {
  (void)diag;
  *state = NULL;
  simulator *sim;
  prem_status status = open_one(program, arrays, NULL, &sim);
  const prem_free_part *beside = program->beside;
  if (!status && beside) {
    status = open_one(beside->program, beside->arrays, sim, &sim->beside);
    if (status)
      sim_close(sim);
    else
      sim->beside->clock_step_ns = prem_max_i64(machine->clock_step_ns, 1);
  }
  if (!status)
    *state = sim;
  return status;
}

const prem_backend prem_backend_sim = {
    .name = "sim",
    .summary = "virtual clock, deterministic, phases take their WCETs and share resources",
    .modes = 1u << PREM_MODE_TT | 1u << PREM_MODE_FREE | 1u << PREM_MODE_LOCK,
    .serves = true,
    .is_virtual = true,
    .probe = sim_probe,
    .open = sim_open,
    .run = sim_run,
    .close = sim_close,
    .live = &live_engine,
};
