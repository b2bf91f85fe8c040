/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that share an array: every planner leaves time to tell of an end, and the simulator then
 * runs as planned. */
#include "schedules/planner/common/data_gaps.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/solver.h"
#include "tests/common/random_schedule.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/sharing.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(400), STEPS = 30 };

/* ---- planners -------------------------------------------------------------------------------- */

static prem_plan_report report;

static prem_schedule *planned(const char *source, int64_t steps) {
  const prem_plan_options options = {.time_limit_ns = steps ? PREM_MAX_NS : 0, .step_limit = steps};
  prem_schedule *schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag))
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  return schedule;
}

/* w 0 to 30, r from 30 + 25 to 85: so long after it the next writeback, 20 behind its start, may
 * come no earlier than 110. */
TEST(one_shot_sets_get_a_longer_hyperperiod) {
  for (int64_t steps = 0; steps <= STEPS; steps += STEPS) {
    OWNED(prem_schedule) *schedule =
        planned(sharing("precedence_ns = 25L;", "", "after = ( { task = \"w\"; } );", ""), steps);
    ck_assert_int_eq(schedule->plan->hyperperiod_ns, 90);
  }
}

/* Planned as early as it can be, the second writeback would come 5 behind the end of the reader. */
TEST(a_periodic_writer_is_moved) {
  const char *form = "precedence_ns = %dL; resources = ( { name = \"memory\"; capacity = 2; } );";
  const char *reader =
      "period_ns = 200L; release_ns = 85L; after = ( { task = \"w\"; instance = \"latest\"; } );";
  static const int64_t starts_ns[] = {100, 105};
  for (int i = 0; i < 2; ++i) {
    OWNED(prem_schedule) *schedule =
        planned(sharing(text(form, 5 + 5 * i), "period_ns = 100L;", reader, ""), 0);
    FREED prem_slot *slots = NULL;
    int64_t count;
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
    for (int64_t s = 0; s < count; ++s)
      if (slots[s].task == 0 && slots[s].job == 1 && slots[s].phase == PREM_PREFETCH)
        ck_assert_int_eq(slots[s].planned_ns, starts_ns[i]);
  }
}

static const char phases[] = "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
                             " writeback: { wcet_ns = 10L; };";

/* The same, and a deadline that is 1 ns too short: what the job waited longest for is said. `z`
 * computes from 120 to 150 on the writer's block and its one buffer: who begins at 105 is too late
 * to be over before. */
TESTS(waiting_for_an_array_is_a_cause, 2) {
  static const char *const causes[] = {
      "it ends at 135, 1 ns after 134; it waited longest for the tasks that it follows",
      "it ends at 170, 1 ns after 169; it waited longest for the compute units of its blocks"};
  const char *z = _i ? ", { name = \"z\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                       "  period_ns = 200L; release_ns = 120L; deadline_ns = 30L;"
                       "  compute: { wcet_ns = 30L; }; }"
                     : "";
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; precedence_ns = 10L;"
           "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
           "           { name = \"y\"; type = \"f32\"; shape = [ 64 ]; } );"
           "tasks = ( { name = \"w\"; kernel = \"vector_increment\"; blocks = [ 0 ];"
           "    period_ns = 100L; deadline_ns = %dL; arrays: { in = \"x\"; out = \"y\"; };"
           "    tile = [ 64 ]; %s },"
           "  { name = \"r\"; kernel = \"vector_increment\"; blocks = [ 1 ]; period_ns = 200L;"
           "    release_ns = 85L; after = ( { task = \"w\"; instance = \"latest\"; } );"
           "    arrays: { in = \"y\"; out = \"new\"; }; tile = [ 64 ]; %s } %s );",
           _i ? 69 : 34, phases, phases, z));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_ERR_INFEASIBLE);
  bool is_said = false;
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    is_said |= strstr(prem_diag_at(diag, i)->reason, causes[_i]) != NULL;
  if (!is_said)
    abort_with(causes[_i], diag);
}

/* A phase says the same whether it stands among the placements of a draft or, as those of chains
 * and joined pairs do, among its slots: whichever it is. */
TEST(slots_of_a_draft_count_as_placements_do) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(sharing("precedence_ns = 25L;", "", "after = ( { task = \"w\"; } );", ""));
  const prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto"};
  prem_data_gaps *gaps = NULL;
  ck_assert_int_eq(prem_data_gaps_new(&planning, &gaps), PREM_OK);
  ck_assert_ptr_nonnull(gaps);
  prem_placement placements[6];
  prem_slot slots[6];
  for (int32_t i = 0; i < 6; ++i) {
    const int64_t start_ns = 55 * (i / 3) + 10 * (i % 3);
    placements[i] =
        (prem_placement){.task = i / 3, .phase = (prem_phase)(i % 3), .start_ns = start_ns};
    slots[i] = (prem_slot){
        .task = i / 3, .phase = (uint8_t)(i % 3), .planned_ns = start_ns, .length_ns = 10};
  }
  for (int32_t first = 0; first <= 6; ++first)
    for (int32_t behind = first; behind <= 6; ++behind) { /* slots are those in [first, behind) */
      prem_placement placed[6];
      int64_t count = 0;
      for (int32_t i = 0; i < 6; ++i)
        if (i < first || i >= behind)
          placed[count++] = placements[i];
      const prem_draft draft = {.placements = placed,
                                .count = count,
                                .slots = slots + first,
                                .slot_count = behind - first};
      prem_data_gaps_clear(gaps);
      prem_data_gaps_note_draft(gaps, &draft);
      for (int32_t t = 0; t < 2; ++t) {
        for (int p = 0; p < PREM_PHASE_COUNT; ++p)
          ck_assert_int_eq(gaps->spans[t].first_ns[p], placements[3 * t + p].start_ns);
        ck_assert_int_eq(gaps->spans[t].end_ns, 55 * t + 30);
      }
      ck_assert_int_eq((int64_t)prem_data_gaps_length_ns(gaps), 90); /* 85 + 25 - 20 */
    }
  prem_data_gaps_free(gaps);
}

/* ---- whatever the set ------------------------------------------------------------------------ */

static void assert_as_planned(const prem_schedule *schedule, uint64_t seed) {
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 3);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->release_ns != PREM_NO_RELEASE)
      ck_assert_msg(r->start_ns == r->release_ns, "seed %" PRIu64 ": late", seed);
  }
}

static bool is_planned(prem_schedule *schedule, const prem_schedule *keep, int64_t steps,
                       uint64_t seed) {
  const prem_plan_options options = {
      .time_limit_ns = steps ? PREM_MAX_NS : 0, .step_limit = steps, .keep = keep};
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  prem_status status = prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    status = prem_check(schedule, NULL, diag);
  }
  if (status != PREM_OK && status != PREM_ERR_INFEASIBLE) {
    printf("seed %" PRIu64 "\n", seed);
    random_schedule_print(stdout, seed);
    abort_with("plan", diag);
  }
  return status == PREM_OK;
}

/* Chains of writers and readers at several rates, with little time between them. */
static uint32_t chain_state;

static int32_t chain_draw(int32_t below) {
  chain_state = chain_state * 1664525u + 1013904223u;
  return (int32_t)((chain_state >> 8) % (uint32_t)below);
}

static const char *chain(uint32_t seed, bool periodic) {
  static const int32_t periods[] = {150, 300, 600};
  chain_state = (seed + 1) * 2654435761u;
  const int32_t tasks = 2 + chain_draw(3), precedence = 1 + chain_draw(60);
  const char *arrays = "{ name = \"y0\"; type = \"f32\"; shape = [ 64 ]; }", *all = "";
  for (int32_t t = 0; t < tasks; ++t) {
    const char *timing = "", *after = "";
    if (periodic)
      timing = text("period_ns = %dL; release_ns = %dL;", periods[chain_draw(3)], chain_draw(40));
    if (t > 0)
      after = text("after = ( { task = \"t%d\"; instance = \"latest\"; } );", t - 1);
    int32_t prefetch = 1 + chain_draw(20), compute = 1 + chain_draw(20);
    arrays = text("%s, { name = \"y%d\"; type = \"f32\"; shape = [ 64 ]; }", arrays, t + 1);
    all =
        text("%s%s{ name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d ]; tile = [ %d ];"
             " arrays: { in = \"y%d\"; out = \"y%d\"; }; %s %s prefetch: { wcet_ns = %dL; };"
             " compute: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; }; }",
             all, t ? "," : "", t, chain_draw(3), 32 + 32 * chain_draw(2), t, t + 1, timing, after,
             prefetch, compute, 1 + chain_draw(10));
  }
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 3; buffers = %d; precedence_ns = %dL;"
      "  clock_step_ns = %dL; resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( %s ); tasks = ( %s );",
      1 + chain_draw(2), precedence, chain_draw(2) ? 1 : 8, arrays, all);
}

TESTS(random_chains_leave_time_to_tell, 2) {
  int plans = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    OWNED(prem_schedule) *schedule = schedule_from_text(chain(seed, _i == 0));
    bool made = is_planned(schedule, NULL, seed % 2 ? STEPS : 0, seed);
    plans += made;
    if (made)
      assert_as_planned(schedule, seed);
  }
  ck_assert_int_gt(plans, SETS / 2);
}

TEST(the_exact_engine_leaves_time_to_tell) {
  int shorter = 0;
  /* further ones until it has a plan of its own: the constructive one is mostly optimal */
  for (uint32_t seed = 0; prem_solver_name() && seed < (shorter > 0 ? SETS / 10 : SETS); ++seed) {
    OWNED(prem_schedule) *schedule = schedule_from_text(chain(seed, false));
    const prem_planning planning = {
        .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
    prem_plan *plan = prem_plan_new();
    prem_exact_verdict verdict;
    ck_assert(is_planned(schedule, NULL, 0, seed));
    const int64_t constructive_ns = schedule->plan->hyperperiod_ns;
    ck_assert_int_eq(prem_plan_exact(&planning, INT64_C(2000000000), NULL, plan, &verdict),
                     PREM_OK);
    ck_assert_int_eq(verdict.verdict, PREM_PLAN_FEASIBLE);
    plan->clock_step_ns = planning.grid_ns;
    prem_schedule_set_plan(schedule, plan);
    assert_checked(schedule);
    assert_as_planned(schedule, seed);
    ck_assert_int_le(plan->hyperperiod_ns, constructive_ns);
    shorter += plan->hyperperiod_ns < constructive_ns;
  }
  ck_assert(!prem_solver_name() || shorter > 0); /* its own plans were judged */
}

TESTS(random_sets_leave_time_to_tell, 3) {
  int plans = 0, kept = 0;
  for (uint64_t seed = 1 + SETS * (uint64_t)_i; seed <= SETS * (uint64_t)(_i + 1); ++seed) {
    OWNED(prem_schedule) *first = NULL, *second = NULL;
    ck_assert_int_eq(random_schedule_load(seed, &first, NULL), PREM_OK);
    ck_assert_int_eq(random_schedule_load(seed, &second, NULL), PREM_OK);
    if (!first->plan) {
      first->precedence_ns = (int64_t)(seed * 97 % 9000);
      second->precedence_ns = first->precedence_ns + 1 + (int64_t)(seed % 3) * 1000;
      bool made = is_planned(first, NULL, seed % 2 ? STEPS : 0, seed);
      plans += made;
      if (made && seed % 3 == 0 && first->plan->warmup_tiles == 0)
        assert_as_planned(first, seed);
      kept += made && is_planned(second, first, STEPS, seed);
    }
  }
  ck_assert_int_gt(plans, SETS / 2);
  ck_assert_int_gt(kept, SETS / 2);
}
