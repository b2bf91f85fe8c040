/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests of bounds and exact answers: every plan of a tiny set, judged by the independent
 * checker. Tiles are planned phase by phase, or as one chain.
 */
#pragma once

#include "tests/common/schedule_text.h"

typedef struct brute_force {
  prem_schedule *schedule;
  int64_t end_ns; /* no phase ends later (one-shot), or starts later (periodic) */
  prem_slot slots[64];
  int64_t count;
} brute_force;

static inline bool brute_accepts(brute_force *b) {
  prem_plan *plan = prem_plan_new();
  int64_t lcm_ns = b->schedule->period_lcm_ns;
  plan->hyperperiod_ns = lcm_ns ? lcm_ns : b->end_ns;
  plan->clock_step_ns = b->schedule->platform.clock_step_ns;
  ck_assert_int_eq(prem_plan_compress(b->schedule, b->slots, b->count, plan), PREM_OK);
  prem_schedule_set_plan(b->schedule, plan);
  bool accepted = prem_check(b->schedule, NULL, NULL) == PREM_OK;
  prem_schedule_set_plan(b->schedule, NULL);
  return accepted;
}

/* What needs no checker: phases of one unit (with one buffer: of one block) that overlap. */
static inline bool brute_overlaps(const brute_force *b) {
  const prem_slot *last = &b->slots[b->count - 1];
  bool whole = b->schedule->platform.buffers == 1;
  for (int64_t i = 0; i + 1 < b->count; ++i) {
    const prem_slot *s = &b->slots[i];
    bool shared = s->block == last->block &&
                  (whole || (s->phase == PREM_COMPUTE) == (last->phase == PREM_COMPUTE));
    if (shared && s->planned_ns < last->planned_ns + last->length_ns &&
        last->planned_ns < s->planned_ns + s->length_ns)
      return true;
  }
  return false;
}

static inline bool brute_tile(brute_force *b, int32_t task, int32_t job, int32_t tile);

/* The tile's phases from `phase` on, the first of them at from_ns or later. */
static inline bool brute_phase(brute_force *b, int32_t t, int32_t job, int32_t tile, int phase,
                               int64_t from_ns, int64_t head_ns) {
  const prem_task *task = &b->schedule->tasks[t];
  while (phase < PREM_PHASE_COUNT && !task->phase[phase].exists)
    ++phase;
  if (phase == PREM_PHASE_COUNT)
    return brute_tile(b, t, job, tile + 1);
  bool chained = head_ns >= 0;
  int64_t step_ns = b->schedule->platform.clock_step_ns, wcet_ns = task->phase[phase].wcet_ns;
  int64_t until_ns = b->schedule->period_lcm_ns ? b->end_ns : b->end_ns - wcet_ns;
  int64_t start_ns = chained ? from_ns : (from_ns + step_ns - 1) / step_ns * step_ns;
  for (; start_ns <= until_ns; start_ns += step_ns) {
    b->slots[b->count++] = (prem_slot){.planned_ns = start_ns,
                                       .length_ns = wcet_ns,
                                       .head_ns = chained ? head_ns : start_ns,
                                       .task = t,
                                       .job = job,
                                       .tile = tile,
                                       .block = task->blocks[tile % task->block_count],
                                       .phase = (uint8_t)phase,
                                       .flags = chained ? PREM_SLOT_CHAINED : 0};
    bool first = b->count == 1 || b->slots[b->count - 2].tile != tile ||
                 b->slots[b->count - 2].job != job || b->slots[b->count - 2].task != t;
    bool found = !brute_overlaps(b) &&
                 (brute_phase(b, t, job, tile, phase + 1, start_ns + wcet_ns, head_ns) ||
                  (first && phase < PREM_WRITEBACK &&
                   brute_phase(b, t, job, tile, phase + 1, start_ns + wcet_ns, start_ns)));
    --b->count;
    if (found)
      return true;
    if (chained)
      break;
  }
  return false;
}

static inline bool brute_tile(brute_force *b, int32_t t, int32_t job, int32_t tile) {
  const prem_task *task = &b->schedule->tasks[t];
  if (tile == task->tile_count) {
    tile = 0;
    ++job;
  }
  if (job == prem_task_jobs(b->schedule, task)) {
    job = 0;
    ++t;
  }
  if (t == b->schedule->task_count)
    return brute_accepts(b);
  task = &b->schedule->tasks[t];
  return brute_phase(b, t, job, tile, 0, job * task->period_ns + task->release_ns, -1);
}

/** Is there a legal plan that is no longer than end_ns (one-shot), or any (periodic)? */
static inline bool brute_plan_exists(prem_schedule *schedule, int64_t end_ns) {
  brute_force b = {.schedule = schedule, .end_ns = end_ns};
  return brute_tile(&b, 0, 0, 0);
}

/* ---- random tiny sets ----------------------------------------------------------------------- */

static uint32_t tiny_state;

static inline int32_t tiny_draw(int32_t below) {
  tiny_state = tiny_state * 1664525u + 1013904223u;
  return (int32_t)((tiny_state >> 8) % (uint32_t)below);
}

static inline const char *tiny_phase(const char *name, int32_t longest) {
  int32_t wcet = 1 + tiny_draw(longest);
  const char *busy = tiny_draw(4) ? "" : text("busy_ns = %dL;", 1 + tiny_draw(wcet));
  const char *demand = tiny_draw(3) ? "" : text("demand: { memory = %d; };", tiny_draw(3));
  return text("%s: { wcet_ns = %dL; %s %s };", name, wcet, busy, demand);
}

static inline const char *tiny_task(int32_t index, int32_t blocks, int32_t period_ns) {
  int32_t block = tiny_draw(blocks);
  const char *timing = "";
  if (period_ns)
    timing = text("period_ns = %dL; %s", period_ns,
                  tiny_draw(2) ? "" : text("deadline_ns = %dL;", 2 + tiny_draw(period_ns)));
  else if (tiny_draw(3) == 0)
    timing = text("release_ns = %dL;", tiny_draw(4));
  else if (tiny_draw(4) == 0)
    timing = text("deadline_ns = %dL;", 3 + tiny_draw(8));
  const char *after = "";
  if (index > 0 && tiny_draw(4) == 0)
    after = text("after = ( { task = \"t%d\"; lag_ns = %dL; instance = \"latest\"; } );",
                 tiny_draw(index), tiny_draw(2));
  int32_t kind = tiny_draw(4);
  bool pair = index == 0 && tiny_draw(4) == 0;
  return text("%s{ name = \"t%d\"; kernel = \"none\"; blocks = %s; tiles = %d; %s %s %s %s %s %s }",
              index ? ", " : "", index, pair ? "[ 0, 1 ]" : text("[ %d ]", block), pair ? 2 : 1,
              pair && tiny_draw(2) ? "together = true;" : "", timing, after,
              kind == 0 ? "" : tiny_phase("prefetch", 3), kind == 1 ? "" : tiny_phase("compute", 3),
              kind < 3 || pair ? "" : tiny_phase("writeback", 2));
}

/** At most three tasks on two blocks; with periods their least common multiple is 8. */
static inline const char *tiny_set(uint32_t seed, bool periodic) {
  tiny_state = seed * 2654435761u + 1;
  int32_t tasks = 2 + (tiny_draw(3) == 0);
  const char *all = "";
  for (int32_t i = 0; i < tasks; ++i)
    all = text("%s%s", all, tiny_task(i, 2, periodic ? (i == 0 || tiny_draw(2) ? 8 : 4) : 0));
  const char *platform =
      text("blocks = 2; buffers = %d; guard_ns = %dL; clock_step_ns = %dL;"
           " resources = ( { name = \"memory\"; capacity = 2; per = \"%s\"; } );",
           1 + tiny_draw(2), tiny_draw(3) ? 0 : 1, tiny_draw(4) ? 1 : 2,
           tiny_draw(4) ? "block" : "task");
  return text(
      "version = 1; name = \"tiny\"; platform: { %s precedence_ns = %dL; }; tasks = ( %s );",
      platform, tiny_draw(3) ? 0 : 1 + tiny_draw(3), all);
}
