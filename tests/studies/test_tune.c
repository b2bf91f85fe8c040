/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the smallest offset, over machines made of formulas. */

#include "ttprem/tuning.h"

#include <math.h>

#include "report/findings/parts.h"
#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/** A machine that keeps the limits from `edge_ns` on, but fails or passes by chance around it. */
typedef struct machine {
  int64_t edge_ns;
  int64_t noise_ns; /* within so much of the edge the outcome is thrown */
  int64_t plan_ns;  /* below it there is no plan */
  uint64_t random;
  int32_t measured;
  int32_t interrupt_at; /* this measurement is interrupted; 0: none */
} machine;

static prem_status measure(void *context, int64_t offset_ns, prem_tune_point *out) {
  machine *it = context;
  if (++it->measured == it->interrupt_at)
    return PREM_ERR_INTERRUPTED;
  it->random = it->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  out->planned = offset_ns >= it->plan_ns;
  out->kept = out->planned && offset_ns >= it->edge_ns;
  if (out->planned && llabs(offset_ns - it->edge_ns) < it->noise_ns)
    out->kept = it->random >> 63;
  out->samples = 10;
  out->makespan_ns = 100.0 * (double)offset_ns;
  out->makespan_max_ns = 101 * offset_ns;
  out->late = out->kept ? 0 : 1;
  return PREM_OK;
}

static machine at;
static prem_tune_options options;
static prem_tune_result result;

static void set_up(void) {
  at = (machine){.edge_ns = 745, .random = 1};
  options = (prem_tune_options){
      .start_ns = 928, .min_ns = 32, .max_ns = 10000, .grid_ns = 32, .tries = 3};
}

static void tear_down(void) {
  prem_tune_free(&result);
}

static void assert_best(int64_t offset_ns) {
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_OK);
  ck_assert_int_eq(result.points[result.best].offset_ns, offset_ns);
  ck_assert(result.points[result.best].kept);
}

GROUP("search", .set_up = set_up, .tear_down = tear_down);

TEST(the_smallest_offset_of_the_grid_is_found) {
  assert_best(768); /* the first multiple of 32 from 745 on */
  ck_assert_int_lt(at.measured, 40);
}

TEST(it_is_found_from_below) {
  options.start_ns = 64;
  assert_best(768);
}

TEST(it_is_found_from_far_above) {
  options.start_ns = 9000;
  assert_best(768);
}

/* An eighth first, however fine the grid is. */
TEST(it_goes_far_from_a_far_start) {
  options.start_ns = 8000;
  assert_best(768);
  ck_assert_int_eq(result.points[1].offset_ns, 8000 - 1024);
  prem_tune_free(&result);
  at.edge_ns = 7000;
  options.start_ns = 640;
  assert_best(7008);
  ck_assert_int_eq(result.points[1].offset_ns, 640 + 96);
}

TEST(what_cannot_be_planned_is_not_taken) {
  at.plan_ns = 900;
  assert_best(928);
}

TEST(the_least_offset_may_be_good_enough) {
  at.edge_ns = 0;
  assert_best(32);
}

TEST(nothing_that_keeps_the_limits) {
  at.edge_ns = 20000;
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_ERR_INFEASIBLE);
  ck_assert_int_eq(result.best, -1);
  ck_assert_int_gt(result.count, 2);
}

TEST(an_offset_is_accepted_after_twice_its_tries) {
  assert_best(768);
  ck_assert_int_eq(result.points[result.best].tries, 6);
  ck_assert_int_eq(result.points[result.best].samples, 60);
}

TEST(what_failed_once_is_not_tried_again) {
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_OK);
  int32_t failed = 0;
  for (int32_t i = 0; i < result.count; ++i) {
    failed += !result.points[i].kept;
    ck_assert_int_eq(result.points[i].tries, !result.points[i].kept ? 1 : i == result.best ? 6 : 3);
  }
  ck_assert_int_gt(failed, 1);
}

TEST(noise_moves_it_by_no_more_than_its_width) {
  at.noise_ns = 100;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    at.random = seed * UINT64_C(0x9E3779B97F4A7C15);
    ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_OK);
    ck_assert_int_ge(result.points[result.best].offset_ns, 645);
    ck_assert_int_le(result.points[result.best].offset_ns, 864);
    prem_tune_free(&result);
  }
}

TEST(the_search_ends_at_its_precision) {
  options.grid_ns = 1;
  options.precision_pct = 3;
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_OK);
  ck_assert_int_ge(result.points[result.best].offset_ns, 745);
  ck_assert_int_le(result.points[result.best].offset_ns, 768);
}

TEST(a_sweep_finds_the_same) {
  options.min_ns = 512;
  options.max_ns = 1024;
  options.sweep_step_ns = 32;
  assert_best(768);
  ck_assert_int_eq(result.best_swept, result.best);
  int32_t swept = 0;
  for (int32_t i = 0; i < result.count; ++i)
    swept += result.points[i].swept;
  ck_assert_int_eq(swept, 17);
}

TEST(an_interruption_keeps_what_was_found) {
  at.interrupt_at = 7;
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_ERR_INTERRUPTED);
  ck_assert_int_gt(result.count, 0);
  ck_assert_int_eq(result.best, -1);
}

TEST(an_empty_range_is_refused) {
  options.min_ns = 33;
  options.max_ns = 63;
  ck_assert_int_eq(prem_tune(&options, measure, &at, &result), PREM_ERR_ARGUMENT);
}

/* ---- a try on the simulator ------------------------------------------------------------------ */

static const void *opened[4]; /* states of the whole, then of each task alone */
static int opened_count, wrong_variant;

static prem_status open_noted(const prem_program *program, prem_arrays *arrays,
                              const prem_machine *facts, void **state, prem_diag *problems) {
  const prem_status status = prem_backend_sim.open(program, arrays, facts, state, problems);
  if (opened_count < 4)
    opened[opened_count++] = *state;
  return status;
}

static prem_status verify_noted(void *state, prem_verdict *out) {
  *out = (prem_verdict){.ok = wrong_variant < 0 || state != opened[wrong_variant]};
  return PREM_OK;
}

static prem_schedule *two_kernels(void) {
  return checked_schedule(
      "version = 1; name = \"two\"; platform: { blocks = 2; clock_step_ns = 10L; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 64 ];"
      "  arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };"
      "  compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 30L; }; },"
      "  { name = \"b\"; kernel = \"vector_sum\"; blocks = [ 1 ]; tile = [ 64 ];"
      "  arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };"
      "  compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 30L; }; } );"
      "plan: { hyperperiod_ns = 800L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 200L; } ); };");
}

GROUP("tries");

/* Whoever is wrong, the whole, the first task alone or the second one: the try is. */
TESTS(a_wrong_output_of_anybody_ends_the_tuning, 4) {
  prem_backend backend = prem_backend_sim;
  backend.open = open_noted;
  backend.verify = verify_noted;
  opened_count = 0;
  wrong_variant = _i - 1;
  OWNED(prem_schedule) *schedule = two_kernels();
  const prem_tune_try_options how = {.sampling.scenario = PREM_RELAUNCH,
                                     .sampling.samples = 2,
                                     .sampling.rounds = 1,
                                     .sampling.max_records = 1000};
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_tune_trial *trial = NULL;
  ck_assert_int_eq(prem_tune_trial_open(schedule, &backend, &how, &trial, diag), PREM_OK);
  ck_assert_int_eq(opened_count, 3);
  prem_tune_point point = {0};
  ck_assert_int_eq(prem_tune_trial_run(trial, &point, diag), _i ? PREM_ERR_WRONG : PREM_OK);
  prem_tune_trial_close(trial);
}

/* On the simulator nobody moves: beside its neighbour a task takes what it takes alone. Tails need
 * ten thousand samples. */
TEST(isolation_has_a_tail_where_there_are_enough_samples) {
  for (int many = 0; many < 2; ++many) {
    OWNED(prem_schedule) *schedule = two_kernels();
    const prem_tune_try_options how = {.sampling.scenario = PREM_RESIDENT,
                                       .sampling.samples = many ? 11000 : 9000,
                                       .sampling.rounds = 1,
                                       .sampling.max_records = 100000};
    prem_tune_trial *trial = NULL;
    ck_assert_int_eq(prem_tune_trial_open(schedule, prem_backend_find("sim"), &how, &trial, NULL),
                     PREM_OK);
    prem_tune_point point = {0};
    ck_assert_int_eq(prem_tune_trial_run(trial, &point, NULL), PREM_OK);
    ck_assert_double_eq(point.isolation_p50, 1);
    ck_assert_double_eq(point.isolation_max, 1);
    if (many)
      ck_assert_double_eq(point.isolation_p999, 1);
    else
      ck_assert(isnan(point.isolation_p999));
    prem_tune_trial_close(trial);
  }
}

/* Columns from the makespan to the isolation: of what was not seen there is no number. */
TEST(an_offset_without_samples_has_no_times) {
  prem_tune_point point = {.offset_ns = 32, .planned = true, .kept = true, .tries = 1};
  prem_tune_search search = {.key = "k", .result = {&point, 1, 0, -1}};
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
      " kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 5L; }; } );");
  prem_findings *findings = prem_tune_findings(schedule, &search, 1, "");
  const prem_table *table = prem_find_table(findings, "offsets");
  for (int64_t column = 4; column < 12; ++column)
    ck_assert(isnan(prem_value_number(prem_table_value(table, 0, column))));
  prem_findings_free(findings);
  /* one sample with one release has them all */
  point.samples = point.releases = 1;
  point.lateness_max_ns = 7;
  findings = prem_tune_findings(schedule, &search, 1, "");
  table = prem_find_table(findings, "offsets");
  for (int64_t column = 4; column < 12; ++column)
    ck_assert(!isnan(prem_value_number(prem_table_value(table, 0, column))));
  ck_assert_double_eq(prem_value_number(prem_table_value(table, 0, 6)), 7);
  prem_findings_free(findings);
}

GROUP("search");

/* As much as there is room for. */
TEST(many_searches_are_told) {
  enum { SEARCHES = 20 };
  prem_tune_point point = {.offset_ns = 32, .planned = true, .kept = true, .tries = 1};
  point.makespan_ns = 1e15;
  prem_tune_search searches[SEARCHES];
  for (int i = 0; i < SEARCHES; ++i)
    searches[i] = (prem_tune_search){.key = "prefetch_offset_ns", .result = {&point, 1, 0, 0}};
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
      " kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 5L; }; } );");
  OWNED(prem_findings) *findings = prem_tune_findings(schedule, searches, SEARCHES, "");
  ck_assert_int_eq(strncmp(findings->verdict, "prefetch_offset_ns: 32 ns is", 28), 0);
}
