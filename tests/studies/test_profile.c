/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles on the simulator, whose times are those of the file. */
#include "measure/disturbance.h"
#include "runtime/core/backend.h"

#include "tests/common/folder.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/profile.h"

/* Two tasks of two tiles; left free, all memory phases of one meet those of the other. */
static const char two[] =
    "version = 1; name = \"two\";\n"
    "platform: { blocks = 2; clock_step_ns = 1L;%s };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96 ]; fill = \"random\"; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; }\n"
    ");\n%s";
static const char warm[] = "policy: { warmup_tiles = 1; warmup_ns = 1000L; };\n";

static prem_schedule *schedule;
static prem_profile *profile;
static prem_diag *diag;
static prem_machine machine;
static prem_profile_options options;
static int64_t turnaround_ns[PREM_PHASE_COUNT]; /* what the simulated blocks take */

static void set_up(void) {
  memset(turnaround_ns, 0, sizeof turnaround_ns);
  schedule = NULL;
  profile = NULL;
  diag = prem_diag_new();
  ck_assert_int_eq(prem_backend_probe(prem_backend_find("sim"), &machine, diag), PREM_OK);
  options = (prem_profile_options){.sampling.samples = 6,
                                   .sampling.rounds = 3,
                                   .sampling.discard = 1,
                                   .sampling.seed = 1,
                                   .sampling.max_records = 1000};
}

static void tear_down(void) {
  prem_profile_free(profile);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static void measure_text(const char *source) {
  schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      schedule->tasks[t].phase[p].turnaround_ns = turnaround_ns[p];
  if (prem_plan_make(schedule, NULL, NULL, &plan, diag) != PREM_OK)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  const prem_status status =
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
}

static void measure(const char *platform, const char *policy) {
  measure_text(text(two, platform, policy));
}

static const prem_profile_phase *prefetch_of(int32_t task) {
  return &profile->tasks[task].phase[PREM_PREFETCH];
}

GROUP("profiles", .set_up = set_up, .tear_down = tear_down);

TEST(alone_is_told_from_corunning) {
  measure("", "");
  for (int t = 0; t < 2; ++t) {
    ck_assert_int_eq(prefetch_of(t)->steady_ns[PREM_ISOLATED].max, 100);
    ck_assert_int_eq(prefetch_of(t)->cold_ns[PREM_CORUNNING].max, 200);
    ck_assert_int_eq(prefetch_of(t)->wcet_ns, 100);
  }
}

TEST(first_tiles_are_cold_the_others_steady) {
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->cold_ns[PREM_ISOLATED].count, 6);
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_ISOLATED].count, 2 * 6);
  ck_assert_int_eq(prefetch_of(0)->pwcet[PREM_ISOLATED].runs, 6);
}

TEST(cold_tiles_count_unless_there_is_a_warm_up) {
  options.times = PREM_CORUNNING;
  measure("", "");
  ck_assert(profile->counts_cold);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 200);
}

TEST(together_nobody_is_alone) {
  options.times = PREM_CORUNNING;
  options.together = true;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_ISOLATED].count, 0);
  ck_assert_int_eq(prefetch_of(0)->cold_ns[PREM_CORUNNING].max, 200);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 200);
  ck_assert_int_eq(profile->makespan_ns[PREM_CORUNNING].count, 6);
  ck_assert_int_eq(profile->makespan_ns[PREM_PLANNED].count, 0);
  options.times = PREM_ISOLATED; /* of nobody */
  prem_profile *none = NULL;
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &none, diag),
      PREM_ERR_ARGUMENT);
}

TEST(a_plan_says_what_was_late) {
  options.times = PREM_PLANNED;
  measure("", "");
  ck_assert_int_gt(profile->releases, 0);
  ck_assert_int_eq(profile->late, 0);
  ck_assert_int_eq(profile->lateness_max_ns, 0);
  ck_assert_int_eq(profile->makespan_ns[PREM_PLANNED].max, schedule->plan->hyperperiod_ns);
}

TEST(cold_tiles_can_be_left_out) {
  options.times = PREM_CORUNNING;
  options.steady = true;
  measure("", "");
  ck_assert(!profile->counts_cold);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, prefetch_of(0)->steady_ns[PREM_CORUNNING].max);
}

TEST(warm_up_tiles_do_not_count) {
  measure("", warm);
  ck_assert(!profile->counts_cold);
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_ISOLATED].count, 2 * 6);
  ck_assert_int_eq(prefetch_of(0)->cold_ns[PREM_ISOLATED].count, 6);
}

/* By a plan the tasks do not meet. */
TEST(planned_times_are_those_of_the_plan) {
  options.times = PREM_PLANNED;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 100);
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_PLANNED].count, 2 * 6);
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_CORUNNING].max, 200);
  ck_assert_int_eq(profile->tasks[0].joined_ns, 0);
}

/* Both halves are busy for as long as 128 bytes take, if all of that is less than the pair. */
TESTS(joined_pairs_have_a_time_of_their_own, 5) {
  static const int64_t bandwidths[] = {0, 128000000000, 64000000000, 2000000000, 1970000000};
  static const int64_t busy_ns[] = {0, 2, 4, 128, 0};
  options.times = PREM_PLANNED;
  options.regulated = true;
  machine.bandwidth_bytes_per_s = bandwidths[_i];
  schedule = checked_schedule(
      "version = 1; name = \"joined\"; platform: { blocks = 1; buffers = 2; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 128 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 32 ];\n"
      "  arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };\n"
      "  compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 30L; }; } );\n"
      "plan: { hyperperiod_ns = 1230L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L;\n"
      "    repeat = 2; step_ns = 200L; },\n"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 400L;\n"
      "    repeat = 2; step_ns = 200L; tile = 2; join: { tile = 0; }; },\n"
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 1000L; repeat = 2; step_ns = 200L;\n"
      "    tile = 2; } ); };\n");
  const prem_status status =
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  ck_assert_int_eq(profile->tasks[0].joined_ns, 130);
  ck_assert_int_eq(profile->tasks[0].joined_busy_ns, busy_ns[_i]);
}

/* A critical task, the load between the two halves of the list, and a critical task again. */
static const char beside[] =
    "version = 1; name = \"beside\";\n"
    "platform: { blocks = 3; clock_step_ns = 1L; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96 ]; fill = \"random\"; },\n"
    "           { name = \"y\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );\n"
    "tasks = (\n"
    "  { name = \"first\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; }; period_ns = 2000L;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; },\n"
    "  { name = \"load\"; class = \"best_effort\"; kernel = \"vector_increment\"; blocks = [ 2 ];\n"
    "    tile = [ 32 ]; arrays: { in = \"y\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 40L; }; compute: { wcet_ns = 10L; };\n"
    "    writeback: { wcet_ns = 20L; }; },\n"
    "  { name = \"last\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; }; period_ns = 2000L; release_ns = 1000L;\n"
    "    prefetch: { wcet_ns = 110L; }; compute: { wcet_ns = 60L; };\n"
    "    writeback: { wcet_ns = 35L; }; }\n"
    ");\n";

/* The load, with all at work and no gate, doubles what it meets; the gate keeps it out of what the
 * critical tasks are measured for. */
TEST(critical_tasks_are_measured_without_best_effort) {
  options.times = PREM_CORUNNING;
  measure_text(beside);
  const int64_t prefetch_ns[] = {100, 40, 110}, writeback_ns[] = {30, 20, 35};
  for (int t = 0; t < 3; ++t) {
    const prem_profile_phase *writeback = &profile->tasks[t].phase[PREM_WRITEBACK];
    ck_assert_int_eq(prefetch_of(t)->steady_ns[PREM_CORUNNING].max, prefetch_ns[t]);
    ck_assert_int_eq(prefetch_of(t)->cold_ns[PREM_CORUNNING].max, prefetch_ns[t]);
    ck_assert_int_eq(prefetch_of(t)->steady_ns[PREM_ISOLATED].count > 0, t != 1);
    ck_assert_int_eq(prefetch_of(t)->wcet_ns, prefetch_ns[t]);
    ck_assert_int_eq(writeback->wcet_ns, writeback_ns[t]);
    ck_assert_int_eq(prefetch_of(t)->steady_ns[PREM_PLANNED].count, 0);
  }
  ck_assert_str_eq(profile->tasks[1].name, "load");
  ck_assert(profile->best_effort && profile->output_ok && profile->valid);
}

/* They are alone never, so that their bounds are those in company. By the plan they are what was
 * still to come when the gate closed: a prefetch had begun 4 ns before. */
TESTS(bounds_are_measured_in_company, 3) {
  static const prem_condition conditions[] = {PREM_ISOLATED, PREM_CORUNNING, PREM_PLANNED};
  options.times = conditions[_i];
  options.margin_pct = 50;
  turnaround_ns[PREM_WRITEBACK] = 50; /* no plan has a place for the load that it could be behind */
  measure_text(beside);
  const prem_profile_phase *load = profile->tasks[1].phase;
  ck_assert_int_eq(load[PREM_PREFETCH].wcet_ns, _i == 2 ? 54 : 60);
  ck_assert_int_eq(load[PREM_COMPUTE].wcet_ns, 15);
  ck_assert_int_eq(load[PREM_WRITEBACK].wcet_ns, 30);
  ck_assert_int_gt(load[PREM_PREFETCH].steady_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_eq(load[PREM_PREFETCH].steady_ns[PREM_PLANNED].count > 0, _i == 2);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    ck_assert_int_eq(load[p].turnaround_ns + load[p].unit_turnaround_ns, 0);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 150);
}

/* A drain is the load's, and shortens no window of a critical task: one that a fit measures as
 * well, which takes all tasks together. */
TESTS(a_drain_is_that_of_best_effort, 4) {
  options.times = PREM_PLANNED;
  options.together = _i & 1;
  options.anew = _i & 2;
  measure_text(beside);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 100);
  ck_assert_int_eq(prefetch_of(1)->wcet_ns, 31); /* of 40 */
  ck_assert_int_eq(prefetch_of(2)->wcet_ns, 110);
}

/* Two records of the load find room. */
TEST(a_bound_counts_without_its_stamps) {
  options.sampling.max_records = 2;
  measure_text(beside);
  ck_assert_int_eq(prefetch_of(1)->steady_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_eq(profile->tasks[1].phase[PREM_WRITEBACK].wcet_ns, 20);
}

/* By the plan, with its gate, and by nothing else: a bound that is longer in the file stays. */
TEST(bounds_are_raised_by_the_plan) {
  options.times = PREM_PLANNED;
  options.raise = true;
  measure_text(beside);
  ck_assert_int_eq(profile->raised, 0);
  ck_assert_int_eq(prefetch_of(1)->steady_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_gt(prefetch_of(1)->steady_ns[PREM_PLANNED].count, 0);
  ck_assert_int_eq(prefetch_of(2)->steady_ns[PREM_PLANNED].max, 110);
  prem_profile_free(profile);
  schedule->tasks[1].phase[PREM_PREFETCH].wcet_ns = 90;
  machine.dispatch_ns = 25; /* above the load's computes and writebacks */
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(prefetch_of(1)->wcet_ns, 90);
  ck_assert_int_eq(profile->raised, 2);
}

/* A machine on which jobs of the second round end later, and one phase of the load goes on for a
 * millisecond: somebody else had the core. */
static int64_t disturbed_runs, late_loads;
static prem_status run_disturbed(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *problems) {
  const prem_status status = prem_backend_sim.run(state, request, trace, problems);
  const bool is_late = ++disturbed_runs > 40;
  for (int64_t j = 0; is_late && j < trace->job_count * trace->hyperperiods; ++j)
    trace->job_end_ns[j] += 1000;
  if (is_late && trace->best_effort && ++late_loads == 2) /* the first one is discarded */
    trace->best_effort->trace->records[30].end_ns += 1000000;
  return status;
}

/* Of critical phases there are too few times for a quantile. */
TESTS(times_of_the_load_decide_on_a_disturbed_machine, 2) {
  prem_backend disturbed = prem_backend_sim;
  disturbed.run = run_disturbed;
  disturbed_runs = late_loads = 0;
  options.sampling.samples = 20;
  options.sampling.rounds = 2;
  measure_text(_i ? beside : text(two, "", ""));
  ck_assert(profile->valid && profile->quantile == 0);
  prem_profile_free(profile);
  ck_assert_int_eq(prem_profile_measure(schedule, &disturbed, &machine, &options, &profile, diag),
                   PREM_OK);
  ck_assert(!profile->valid);
  ck_assert(_i ? profile->quantile == 0.99 && profile->quantile_short : profile->quantile == 0);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 100);
  if (_i) {
    int64_t longest_ns = 0, wcet_ns = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      longest_ns += profile->tasks[1].phase[p].longest_ns;
      wcet_ns += profile->tasks[1].phase[p].wcet_ns;
    }
    ck_assert_int_eq(wcet_ns, 40 + 10 + 20);
    ck_assert_int_gt(longest_ns, 1000000);
  }
}

/* Of each launch, or of a session that is launched again and again, so many hyperperiods at the
 * start take longer, in the first round. */
static int64_t cold_count, cold_seen, cold_runs;
static prem_status run_cold(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  const prem_status status = prem_backend_sim.run(state, request, trace, problems);
  const bool is_first = cold_seen++ < cold_runs;
  for (int64_t i = 0; is_first && i < trace->job_count * trace->hyperperiods; ++i)
    if (i / trace->job_count < cold_count)
      trace->job_end_ns[i] += 3000;
  return status;
}

static void measure_cold(prem_scenario scenario, int64_t count) {
  prem_backend cold = prem_backend_sim;
  cold.run = run_cold;
  cold_seen = 0;
  cold_count = scenario == PREM_RESIDENT ? count : 1;
  cold_runs = scenario == PREM_RESIDENT ? 1 : count;
  options.times = PREM_CORUNNING;
  options.together = true;
  options.sampling = (prem_sampling){.scenario = scenario,
                                     .samples = 40,
                                     .rounds = 2,
                                     .launches = 2,
                                     .discard = scenario == PREM_RELAUNCH,
                                     .seed = 1,
                                     .max_records = 10000};
  prem_profile_free(profile);
  ck_assert_int_eq(prem_profile_measure(schedule, &cold, &machine, &options, &profile, diag),
                   PREM_OK);
}

/* The verdict is by warm hyperperiods; what is longer for longer is no warm-up. */
TESTS(cold_hyperperiods_disturb_nothing, 2) {
  const prem_scenario scenario = _i ? PREM_RESIDENT : PREM_RELAUNCH;
  measure("", "");
  measure_cold(scenario, 3);
  ck_assert_str_eq(profile->disturbed, "");
  ck_assert(profile->valid && profile->quantile == 0);
  ck_assert_int_gt(profile->makespan_ns[PREM_CORUNNING].max, 3000);
  measure_cold(scenario, 8);
  ck_assert_ptr_nonnull(strstr(profile->disturbed, "the rounds' mean times differ"));
}

TEST(a_margin_gives_room) {
  options.margin_pct = 25;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 125);
}

TEST(no_time_is_below_a_dispatch) {
  machine.dispatch_ns = 70;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 100);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].wcet_ns, 70);
}

/* A tile of 32 floats: 128 bytes at 2.56 GB/s. */
TEST(regulated_phases_are_busy_for_their_bytes) {
  machine.bandwidth_bytes_per_s = INT64_C(2560000000);
  options.regulated = true;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->busy_ns, 50);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].busy_ns, 0);
}

/* Two of them at once get half of it each. */
TEST(regulated_phases_get_their_share) {
  machine.bandwidth_bytes_per_s = INT64_C(2560000000);
  options.regulated = true;
  measure(" resources = ( { name = \"memory\"; capacity = 2; } );", "");
  ck_assert_int_eq(prefetch_of(0)->busy_ns, 0); /* 100 ns, all of its wcet_ns */
  machine.bandwidth_bytes_per_s *= 2;
  prem_profile_free(profile);
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(prefetch_of(0)->busy_ns, 50);
}

/* Two records find room, warm-up ones; the counts have all of them. */
TEST(the_longest_counts_without_its_stamps) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.rounds = 1;
  options.sampling.max_records = 2;
  options.times = PREM_CORUNNING;
  measure("", "");
  ck_assert_int_eq(prefetch_of(0)->steady_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 200);
  ck_assert_int_eq(prefetch_of(0)->longest_ns, 200);
  /* of writebacks there is no stamp at all: nothing but the counts says how long they took */
  const prem_profile_phase *writeback = &profile->tasks[0].phase[PREM_WRITEBACK];
  ck_assert_int_eq(writeback->steady_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_eq(writeback->cold_ns[PREM_CORUNNING].count, 0);
  ck_assert_int_ge(writeback->wcet_ns, 30);
}

TEST(raised_times_get_no_shorter) {
  options.times = PREM_PLANNED;
  machine.dispatch_ns = 70;
  machine.precedence_ns = 500;
  options.raise = true;
  measure(" precedence_ns = 900L;", "");
  ck_assert_int_eq(profile->raised, 4); /* computes and writebacks, to the dispatch */
  ck_assert_int_eq(profile->machine.precedence_ns, 900);
  prem_profile_free(profile);
  schedule->tasks[1].phase[PREM_PREFETCH].wcet_ns = 140;
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(prefetch_of(0)->wcet_ns, 100);
  ck_assert_int_eq(prefetch_of(1)->wcet_ns, 140);
  ck_assert_int_eq(profile->raised, 4);
}

/* A hand-over that takes longer than the schedule's is one of the times that became longer. */
/* Of a the prefetches are late in one of a hundred releases. */
static prem_status run_late(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  const prem_status status = prem_backend_sim.run(state, request, trace, problems);
  trace->stats[PREM_PREFETCH].releases = 1000;
  trace->stats[PREM_PREFETCH].late = 10;
  trace->stats[PREM_COMPUTE].overruns = trace->stats[PREM_COMPUTE].count;
  return status;
}

/* Their computes all end late, and their writebacks are in time, however long they take. */
TESTS(only_late_windows_are_raised, 3) {
  prem_backend late = prem_backend_sim;
  late.run = run_late;
  measure("", "");
  prem_profile_free(profile);
  options.times = PREM_PLANNED;
  options.raise = true;
  options.raise_late = _i > 0;
  options.late = _i == 1 ? 0.0099 : 0.01;
  options.margin_pct = 50;
  ck_assert_int_eq(prem_profile_measure(schedule, &late, &machine, &options, &profile, diag),
                   PREM_OK);
  const prem_profile_phase *a = profile->tasks[0].phase;
  ck_assert_int_eq(a[PREM_PREFETCH].wcet_ns, _i == 2 ? 100 : 150);
  ck_assert_int_eq(a[PREM_COMPUTE].wcet_ns, 75);
  ck_assert_int_eq(a[PREM_WRITEBACK].wcet_ns, _i ? 30 : 45);
  ck_assert_int_eq(prefetch_of(1)->wcet_ns, _i ? 100 : 150);
}

TEST(raised_hand_overs_count) {
  options.times = PREM_PLANNED;
  machine.precedence_ns = 500;
  options.raise = true;
  measure("", "");
  ck_assert_int_eq(profile->machine.precedence_ns, 500);
  const int32_t with_it = profile->raised;
  prem_profile_free(profile);
  schedule->precedence_ns = 501;
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(profile->machine.precedence_ns, 501);
  ck_assert_int_eq(profile->raised, with_it - 1);
}

/* A hand-over that was longer in the schedule gets shorter; turnarounds, which a plan hides, do
 * not. */
TEST(hand_overs_anew_get_shorter) {
  turnaround_ns[PREM_COMPUTE] = 7;
  options.times = PREM_PLANNED;
  options.anew = true;
  measure(" precedence_ns = 900L;", "");
  ck_assert(profile->by_plan && !profile->raises);
  ck_assert_int_lt(profile->machine.precedence_ns, 900);
  prem_profile_free(profile);
  schedule->tasks[1].phase[PREM_COMPUTE].turnaround_ns = 9;
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(profile->tasks[1].phase[PREM_COMPUTE].turnaround_ns, 9);
  ck_assert_int_eq(prefetch_of(1)->steady_ns[PREM_ISOLATED].count, 0);
}

static void assert_turnarounds(int32_t task, int64_t compute_ns, int64_t writeback_ns) {
  const prem_profile_phase *phase = profile->tasks[task].phase;
  ck_assert_int_eq(phase[PREM_PREFETCH].turnaround_ns, 0);
  ck_assert_int_eq(phase[PREM_COMPUTE].turnaround_ns, compute_ns);
  ck_assert_int_eq(phase[PREM_WRITEBACK].turnaround_ns, writeback_ns);
}

TEST(turnarounds_are_measured) {
  turnaround_ns[PREM_COMPUTE] = 7;
  turnaround_ns[PREM_WRITEBACK] = 11;
  measure("", "");
  assert_turnarounds(0, 7, 11);
  assert_turnarounds(1, 7, 11);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].turnaround_seen_ns.max, 7);
}

/* 50 and a fifth more: the 7 find room; 30 and a fifth: 6 of 11 do. */
TEST(a_margin_has_room_for_turnarounds) {
  turnaround_ns[PREM_COMPUTE] = 7;
  turnaround_ns[PREM_WRITEBACK] = 11;
  options.margin_pct = 20;
  measure("", "");
  assert_turnarounds(0, 0, 5);
}

TEST(without_turnarounds_there_are_none) {
  measure("", "");
  assert_turnarounds(0, 0, 0);
}

/* By a plan that keeps them nothing is late. */
TEST(raised_turnarounds_get_no_shorter) {
  turnaround_ns[PREM_COMPUTE] = 7;
  turnaround_ns[PREM_WRITEBACK] = 11;
  options.times = PREM_PLANNED;
  options.raise = true;
  measure("", "");
  assert_turnarounds(0, 7, 11);
  ck_assert_int_eq(profile->raised, 0);
}

/* The writeback of `b` is ready while that of `a` goes on, and follows it after what blocks take:
 * once a hyperperiod, by the tasks' jobs. A margin of a twentieth has room for 5 of the 11. */
TESTS(from_job_to_job_one_time_is_for_all, 4) {
  static const int64_t expected_ns[] = {11, 11, 6, 20};
  turnaround_ns[PREM_WRITEBACK] = 11;
  if (_i == 1) /* once is enough */
    options.sampling.samples = options.sampling.rounds = 1;
  if (_i == 2)
    options.margin_pct = 5;
  measure_text("version = 1; name = \"two\"; platform: { blocks = 1; buffers = 2; };\n"
               "tasks = (\n"
               "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
               "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
               "    writeback: { wcet_ns = 100L; }; },\n"
               "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
               "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
               "    writeback: { wcet_ns = 100L; }; } );");
  if (_i == 3) { /* what is raised gets no shorter */
    schedule->job_turnaround_ns = 20;
    options.raise = true;
    prem_profile_free(profile);
    ck_assert_int_eq(prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options,
                                          &profile, diag),
                     PREM_OK);
  }
  ck_assert_int_eq(profile->job_turnaround_ns, expected_ns[_i]);
}

/* A task whose computes follow each other, and one with a single tile. */
static const char computes[] =
    "version = 1; name = \"c\"; platform: { blocks = 2; buffers = 2; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4;\n"
    "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 10L; }; },\n"
    "  { name = \"c\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };\n"
    "    writeback: { wcet_ns = 10L; }; } );";

/* What the warps take is one time, 7 ns; 50 and a fifth have room for all of it, 20 for 4. */
TESTS(from_compute_to_compute_one_time_is_for_all, 2) {
  turnaround_ns[PREM_COMPUTE] = 7;
  options.margin_pct = _i ? 20 : 0;
  measure_text(computes);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns, _i ? 0 : 7);
  ck_assert_int_eq(profile->tasks[1].phase[PREM_COMPUTE].unit_turnaround_ns, _i ? 3 : 7);
}

/* Whatever the plan leaves, computes say when they were ready: nothing has to come late first. */
TEST(by_a_plan_computes_tell_without_being_late) {
  turnaround_ns[PREM_COMPUTE] = 7;
  options.times = PREM_PLANNED;
  options.raise = true;
  measure_text(computes);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns, 7);
  ck_assert_int_eq(profile->raised, 2);
  for (int t = 0; t < 2; ++t)
    schedule->tasks[t].phase[PREM_COMPUTE].unit_turnaround_ns = t ? 6 : 9;
  prem_profile_free(profile);
  ck_assert_int_eq(
      prem_profile_measure(schedule, prem_backend_find("sim"), &machine, &options, &profile, diag),
      PREM_OK);
  ck_assert_int_eq(profile->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns, 9);
  ck_assert_int_eq(profile->tasks[1].phase[PREM_COMPUTE].unit_turnaround_ns, 7);
  ck_assert_int_eq(profile->raised, 1);
}

/* Behind the only tile of `c` nothing comes. */
TEST(what_nothing_follows_takes_what_others_take) {
  turnaround_ns[PREM_COMPUTE] = 7;
  turnaround_ns[PREM_WRITEBACK] = 11;
  measure_text("version = 1; name = \"one\"; platform: { blocks = 2; };\n"
               "tasks = (\n"
               "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3;\n"
               "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
               "    writeback: { wcet_ns = 30L; }; },\n"
               "  { name = \"c\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
               "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
               "    writeback: { wcet_ns = 30L; }; } );");
  ck_assert_int_eq(profile->tasks[1].phase[PREM_WRITEBACK].turnaround_seen_ns.count, 0);
  assert_turnarounds(1, 7, 11);
}

TEST(nothing_disturbs_the_simulator) {
  measure("", "");
  ck_assert(profile->valid);
  ck_assert_str_eq(profile->disturbed, "");
}

static void add_makespans(prem_variant *variant, int runs, int64_t ns) {
  for (int run = 0; run < runs; ++run)
    ck_assert(prem_times_add(&variant->observed[PREM_MODE_TT].makespan, ns) &&
              prem_times_add(&variant->observed[PREM_MODE_TT].warm, ns));
}

TEST(rounds_that_drift_apart_are_a_disturbance) {
  prem_variant variant = {0};
  prem_disturbance *watch = prem_disturbance_new("sim", &variant, 1);
  char reason[512];
  for (int64_t round = 0; round < 3; ++round) {
    prem_disturbance_round(watch, round, true);
    add_makespans(&variant, 10, 1000 + 60 * round);
    prem_disturbance_round(watch, round, false);
    ck_assert_int_eq(prem_disturbance_none(watch, 100, reason, sizeof reason), round < 2);
  }
  ck_assert_str_eq(reason, "the rounds' mean times differ by 12.0 %, most in mode tt");
  prem_disturbance_free(watch);
  prem_times_free(&variant.observed[PREM_MODE_TT].makespan);
  prem_times_free(&variant.observed[PREM_MODE_TT].warm);
}

TEST(eleven_per_cent_are_drift) {
  prem_variant variant = {0};
  prem_disturbance *watch = prem_disturbance_new("sim", &variant, 1);
  char reason[512];
  for (int64_t round = 0; round < 3; ++round) {
    prem_disturbance_round(watch, round, true);
    add_makespans(&variant, 10, 1000 + 55 * round);
    prem_disturbance_round(watch, round, false);
    ck_assert_int_eq(prem_disturbance_none(watch, 100, reason, sizeof reason), round < 2);
  }
  ck_assert_str_eq(reason, "the rounds' mean times differ by 11.0 %, most in mode tt");
  prem_disturbance_free(watch);
  prem_times_free(&variant.observed[PREM_MODE_TT].makespan);
  prem_times_free(&variant.observed[PREM_MODE_TT].warm);
}

TEST(a_gpu_that_was_taken_away_is_a_disturbance) {
  prem_variant variant = {0};
  prem_times *makespan = &variant.observed[PREM_MODE_TT].warm;
  prem_disturbance *watch = prem_disturbance_new("cuda", &variant, 1);
  char reason[512];
  for (int run = 0; run < 1000; ++run)
    ck_assert(prem_times_add(makespan, 174000 + run));
  ck_assert(prem_times_add(makespan, 600000));
  ck_assert(prem_disturbance_none(watch, 1001, reason, sizeof reason));
  ck_assert(prem_times_add(makespan, 1174500));
  ck_assert(!prem_disturbance_none(watch, 1002, reason, sizeof reason));
  ck_assert_str_eq(reason, "something had the GPU for 1.0 ms (a hyperperiod took 1.174 ms, half of "
                           "them at most 0.174)");
  prem_disturbance_free(watch);
  prem_times_free(makespan);
}

TEST(as_many_switches_as_are_calm_are_calm) {
  prem_variant variant = {0};
  prem_disturbance *watch = prem_disturbance_new("cpu", &variant, 1);
  char reason[512];
  ck_assert(prem_disturbance_none(watch, 0, reason, sizeof reason)); /* none in no run */
  ck_assert_str_eq(reason, "");
  prem_disturbance_free(watch);
}

/* A tail is told where it is known and nothing disturbed the measurement. */
TESTS(a_tail_is_told_where_it_can_be_trusted, 4) {
  make_folder();
  measure("", "");
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    profile->tasks[0].phase[p].pwcet[PREM_ISOLATED] =
        (prem_pwcet){.known = _i & 1, .estimate_ns = 4321};
  profile->valid = _i & 2;
  const char *path = in_folder("times.cfg");
  ck_assert_int_eq(prem_profile_write(profile, path, diag), PREM_OK);
  FREED char *written = content_of(path);
  ck_assert_int_eq(strstr(written, "tail_ns = 4321L;") != NULL, _i == 3);
  remove_folder();
}

/* What is written is read back as the task's WCETs. */
/* What was not measured is not written; of a measured time even a single nanosecond is. */
TEST(what_is_one_is_written_and_what_is_nothing_is_not) {
  static const char *const keys[] = {"quantile",     "confidence",      "disturbed_runs",
                                     "dispatch_ns",  "precedence_ns",   "job_turnaround_ns",
                                     "job_prefetch", "bandwidth_bytes", "disturbed"};
  make_folder();
  const char *path = in_folder("times.cfg");
  machine = (prem_machine){0};
  measure("", "");
  for (int one = 0; one < 2; ++one) {
    profile->valid = !one;
    profile->quantile = one ? 0.5 : 0;
    profile->disturbed_runs = profile->machine.dispatch_ns = profile->machine.precedence_ns = one;
    profile->job_turnaround_ns = profile->job_prefetch_ns = one;
    profile->machine.bandwidth_bytes_per_s = one;
    ck_assert_int_eq(prem_profile_write(profile, path, diag), PREM_OK);
    FREED char *all = content_of(path);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
      ck_assert_msg((strstr(all, text("\n%s", keys[k])) != NULL) == one, "%s: %s", keys[k], all);
  }
  remove_folder();
}

TEST(a_written_profile_is_read) {
  make_folder();
  machine.dispatch_ns = 20;
  machine.precedence_ns = 1200;
  machine.bandwidth_bytes_per_s = 1000000000;
  measure("", "");
  profile->valid = false;
  strcpy(profile->disturbed, "a \"guest\"");
  profile->tasks[0].phase[PREM_COMPUTE].turnaround_ns = 33;
  profile->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 555;
  profile->job_turnaround_ns = 2100;
  profile->job_prefetch_ns = 1900;
  const char *path = in_folder("times.cfg");
  ck_assert_int_eq(prem_profile_write(profile, path, diag), PREM_OK);
  prem_schedule_free(schedule);
  schedule = schedule_from_text_lenient(
      text("version = 1; name = \"one\"; platform: { blocks = 1; precedence_ns = 1100L; };\n"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96 ]; } );\n"
           "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 32 ];\n"
           "  profile = \"here\"; arrays: { in = \"x\"; out = \"new\"; }; } );\n"
           "profiles: { here = \"%s\"; };\n",
           path),
      diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_PREFETCH].wcet_ns, 100);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_WRITEBACK].wcet_ns, 30);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns, 33);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_WRITEBACK].turnaround_ns, 0);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns, 555);
  ck_assert_int_eq(schedule->job_turnaround_ns, 2100);
  ck_assert_int_eq(schedule->job_prefetch_ns, 1900);
  ck_assert_int_eq(schedule->dispatch_ns, 20);
  ck_assert_int_eq(schedule->precedence_ns, 1200);
  ck_assert_int_eq(schedule->platform.precedence_ns, 1100);
  ck_assert_int_eq(prem_schedule_precedence_ns(schedule), 1200);
  ck_assert_int_eq(schedule->bandwidth_bytes_per_s, 1000000000);
  ck_assert_str_eq(schedule->profiled_on, machine.name);
  remove_folder();
}
