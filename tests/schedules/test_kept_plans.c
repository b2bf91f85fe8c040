/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older plans at random, legal or not, with chains and joined pairs, before sets that have changed:
 * what is planned beside them the checker accepts. TTPREM_KEPT_PLANS says how many, as in
 * `TTPREM_KEPT_PLANS=100000 build-asan/tests/test_kept_plans`.
 */
#include <inttypes.h>

#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "prem/base/numbers.h"

enum { PLANS = ROUNDS(6000), PLANS_OF_A_SET = 25, STEPS = 4, MAX_PHASES = 2000 };

static uint64_t random_state;

static int64_t draw(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

/* ---- mutants of a plan ----------------------------------------------------------------------- */

/* Every phase on its own, so that each can be changed. */
typedef struct apart {
  const prem_schedule *schedule;
  prem_slot *slots;
  prem_affine runs[MAX_PHASES];
  bool gone[MAX_PHASES];
  int64_t count, hyperperiod_ns;
} apart;

static prem_affine run_of(const prem_schedule *schedule, const prem_slot *slot) {
  const prem_task *task = &schedule->tasks[slot->task];
  return (prem_affine){.task = slot->task,
                       .phase = (prem_phase)slot->phase,
                       .first_block = slot->tile % task->block_count,
                       .count = 1,
                       .start_ns = slot->planned_ns,
                       .repeat = 1,
                       .tile = slot->tile,
                       .tile_per_block = 1,
                       .tile_per_repeat = task->block_count,
                       .job = slot->job,
                       .jobs = 1,
                       .job_step_ns = task->period_ns,
                       .join_task = -1};
}

static bool same_tile(const prem_slot *a, const prem_slot *b) {
  return a->task == b->task && a->job == b->job && a->tile == b->tile;
}

/* One phase goes on right after one before it in its tile. */
static void chain(apart *plan, int64_t head) {
  const uint32_t bit[PREM_PHASE_COUNT] = {0, PREM_CHAIN_COMPUTE, PREM_CHAIN_WRITEBACK};
  for (int64_t i = 0; i < plan->count; ++i)
    if (!plan->gone[i] && plan->slots[i].phase > plan->slots[head].phase &&
        same_tile(&plan->slots[i], &plan->slots[head]) && draw(0, 3)) {
      plan->gone[i] = true;
      plan->runs[head].chain |= bit[plan->slots[i].phase];
    }
}

/* The last writeback before a prefetch on its block becomes a part of it. */
static void join(apart *plan, int64_t head) {
  const prem_slot *to = &plan->slots[head];
  int64_t last = -1;
  for (int64_t i = 0; i < plan->count; ++i) {
    const prem_slot *slot = &plan->slots[i];
    if (!plan->gone[i] && slot->phase == PREM_WRITEBACK && slot->block == to->block &&
        slot->planned_ns <= to->planned_ns &&
        (last < 0 || slot->planned_ns > plan->slots[last].planned_ns))
      last = i;
  }
  if (last < 0 || to->phase != PREM_PREFETCH || plan->runs[head].join_task >= 0)
    return;
  plan->gone[last] = true;
  plan->runs[head].join_task = plan->slots[last].task;
  plan->runs[head].join_tile = plan->slots[last].tile;
  plan->runs[head].join_job = plan->slots[last].job;
}

static void mutate(apart *plan) {
  for (int64_t changes = draw(1, 12); changes > 0; --changes) {
    const int64_t i = draw(0, plan->count - 1);
    if (plan->gone[i])
      continue;
    switch (draw(0, 7)) {
    case 0:
      plan->runs[i].start_ns = prem_max_i64(0, plan->runs[i].start_ns + draw(-40, 40));
      break;
    case 1:
      plan->gone[i] = true;
      break;
    case 2:
    case 3:
    case 4:
      join(plan, i);
      break;
    default:
      chain(plan, i);
    }
  }
}

/* With room between phases, in which those that are tied together fit, or as it was. */
static prem_plan *mutant_of(apart *plan) {
  const int64_t stretch = draw(0, 2) ? draw(2, 5) : 1;
  prem_plan *made = prem_plan_new();
  memset(plan->gone, 0, sizeof plan->gone);
  for (int64_t i = 0; i < plan->count; ++i)
    plan->runs[i] = run_of(plan->schedule, &plan->slots[i]);
  mutate(plan);
  for (int64_t i = 0; i < plan->count; ++i) {
    plan->runs[i].start_ns *= stretch;
    if (!plan->gone[i])
      ck_assert_int_eq(prem_plan_add_affine(made, &plan->runs[i]), PREM_OK);
  }
  made->hyperperiod_ns = plan->hyperperiod_ns * stretch;
  made->clock_step_ns = plan->schedule->platform.clock_step_ns;
  return made;
}

/* ---- planning beside them -------------------------------------------------------------------- */

static prem_schedule *changed(random_set set) {
  const int32_t t = (int32_t)draw(0, set.tasks - 1);
  switch (draw(0, 3)) {
  case 0:
    ++set.version[t];
    break;
  case 1:
    set.longer_ns[t] += (int32_t)draw(1, 9);
    break;
  case 2:
    ++set.tasks;
    break;
  default:
    break;
  }
  return schedule_from_text(random_set_text(&set));
}

/* 1: a plan was made. */
static int64_t keep(const prem_schedule *schedule, const prem_schedule *old) {
  const prem_plan_options options = {
      .time_limit_ns = PREM_MAX_NS, .step_limit = STEPS, .keep = old};
  prem_plan_report report;
  prem_schedule judged = *schedule;
  judged.plan = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &judged.plan, &report, diag);
  if (status && status != PREM_ERR_INFEASIBLE && status != PREM_ERR_INVALID)
    abort_with("planned beside an older plan", diag);
  if (judged.plan && prem_check(&judged, NULL, diag) != PREM_OK)
    abort_with("a plan that the checker refuses", diag);
  prem_plan_free(judged.plan);
  return status == PREM_OK;
}

static int64_t wanted_plans(void) {
  const char *wanted = getenv("TTPREM_KEPT_PLANS");
  return wanted ? strtoll(wanted, NULL, 10) : PLANS;
}

GROUP("all", .timeout_s = getenv("TTPREM_KEPT_PLANS") ? 0 : 60);

TEST(whatever_is_kept_the_plan_is_legal) {
  static apart plan;
  int64_t kept = 0, made = 0, sets = 0;
  for (uint32_t seed = 0; kept < wanted_plans(); ++seed) {
    random_state = seed + 1;
    const random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *old = schedule_from_text(random_set_text(&set)), *schedule = changed(set);
    OWNED(prem_plan) *first = NULL;
    plan.slots = NULL;
    plan.schedule = old;
    if (prem_plan_make(old, NULL, NULL, &first, NULL) == PREM_OK) {
      ck_assert_int_eq(prem_plan_expand(old, first, &plan.slots, &plan.count, NULL), PREM_OK);
      plan.hyperperiod_ns = first->hyperperiod_ns;
      const bool fits = plan.count > 0 && plan.count <= MAX_PHASES && first->warmup_tiles == 0;
      sets += fits;
      for (int i = 0; i < PLANS_OF_A_SET && fits; ++i, ++kept) {
        prem_schedule_set_plan(old, mutant_of(&plan));
        made += keep(schedule, old);
      }
    }
    free(plan.slots);
  }
  printf("%" PRId64 " kept plans of %" PRId64 " sets, %" PRId64 " plans made\n", kept, sets, made);
  ck_assert_int_gt(made, kept / 4);
}
