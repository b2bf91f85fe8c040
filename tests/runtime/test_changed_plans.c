/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random sets in which somebody has changed a number: what no program can be made of is
 * told, and the checker refuses it as well; what the checker accepts runs to its end in every mode.
 */
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(600), CHANGES = 8 };

static uint64_t drawn;

static int32_t draw(int32_t below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int32_t)((drawn >> 33) % (uint64_t)below);
}

/* One number of one run is another, or a run is missing, or there twice. */
static void change(prem_plan *plan) {
  prem_affine *run = &plan->affine[draw(plan->affine_count)];
  const int32_t by = draw(2) ? 1 : -1;
  switch (draw(10)) {
  case 0:
    run->start_ns += by * (1 + draw(40));
    break;
  case 1:
    run->tile += by;
    break;
  case 2:
    run->job += by;
    break;
  case 3:
    run->first_block += by;
    break;
  case 4:
    run->repeat += by;
    break;
  case 5:
    *run = plan->affine[--plan->affine_count];
    break;
  case 6: {
    const prem_affine again = *run; /* the plan's own may move */
    ck_assert_int_eq(prem_plan_add_affine(plan, &again), PREM_OK);
    break;
  }
  case 7:
    run->phase = (prem_phase)draw(PREM_PHASE_COUNT);
    break;
  case 8:
    run->step_ns += by * (1 + draw(9));
    break;
  default:
    plan->hyperperiod_ns += by * (1 + draw(900));
  }
}

static int64_t legal, refused;

static void assert_it_ends(const prem_schedule *schedule) {
  OWNED(prem_session) *session = open_on("sim", schedule);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    OWNED(prem_trace) *trace = run_in(session, schedule, (prem_mode)mode, 2);
    for (int64_t i = 0; i < 2 * trace->job_count; ++i)
      ck_assert_int_ge(trace->job_end_ns[i], 0);
    if (mode == PREM_MODE_TT && schedule->plan->warmup_tiles == 0) /* that may be too short */
      for (int p = 0; p < schedule->task_count * PREM_PHASE_COUNT; ++p)
        ck_assert_int_eq(trace->stats[p].late + trace->stats[p].overruns, 0);
  }
}

static void try_changed(prem_schedule *schedule, int changes) {
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  for (int i = 0; i < changes && plan->affine_count > 0; ++i)
    change(plan);
  prem_schedule_set_plan(schedule, plan);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_program) *program = NULL;
  const prem_status status = prem_program_new(schedule, &program, diag);
  ck_assert_int_eq(status == PREM_OK, program != NULL);
  ck_assert(status == PREM_OK || prem_diag_errors(diag) > 0 || status != PREM_ERR_INVALID);
  const bool is_legal = prem_check(schedule, NULL, NULL) == PREM_OK;
  ck_assert(status == PREM_OK || !is_legal);
  refused += status != PREM_OK;
  if (is_legal) {
    ++legal;
    assert_it_ends(schedule);
  }
}

TEST(of_sets) {
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed + 7000);
    OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
    OWNED(prem_plan) *plan = NULL;
    drawn = seed * UINT64_C(0x9E3779B97F4A7C15);
    if (prem_plan_make(schedule, NULL, NULL, &plan, NULL) == PREM_OK)
      for (int i = 0; i < CHANGES; ++i)
        try_changed(schedule, i > 0); /* as it is at first */
  }
  ck_assert_int_gt(legal, SETS / 2);
  ck_assert_int_gt(refused, SETS / 2);
}
