/* SPDX-License-Identifier: Apache-2.0 */
/* From a schedule to a plan that holds: on the simulator by the file's times, on the CPU by others.
 */
/* ctest: release timing */
#include "ttprem/fit.h"

#include <time.h>
#include <unistd.h>

#include "runtime/core/backend.h"
#include "studies/fit_parts.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static const char times[] = "prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
                            " writeback: { wcet_ns = 30L; };";
/* The second follows the first; %s: of both tasks, then what comes behind them. */
static const char row[] =
    "version = 1; name = \"row\";\n"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 256 ]; fill = \"random\"; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; }; %s },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"a.out\"; out = \"new\"; }; after = ( { task = \"a\"; } ); %s }\n"
    ");\n%s";
static const char beside[] =
    "version = 1; name = \"beside\";\n"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 1; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; }, { name = \"y\"; type = \"f32\"; "
    "shape = [ 4096 ]; } );\n"
    "policy: { objective = \"response\"; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 64 ];\n"
    "    period_ns = 50000000L; deadline_ns = %s; arrays: { in = \"x\"; out = \"new\"; }; },\n"
    "  { name = \"load\"; class = \"best_effort\"; kernel = \"vector_increment\"; blocks = [ 1 ];\n"
    "    tile = [ 512 ]; arrays: { in = \"y\"; out = \"new\"; }; }\n"
    ");\n";

static prem_schedule *schedule;
static prem_fit *fit;
static prem_diag *diag;
static prem_fit_options options;
static volatile sig_atomic_t stop;
static int tells, stop_at; /* from this sentence on, at the first one of a plan */

static void count_tells(void *context, const char *sentence) {
  (void)context;
  ck_assert_ptr_nonnull(strstr(sentence, "plan"));
  tells += strncmp(sentence, "the operating system", 20) != 0 && !strstr(sentence, "compar");
  if (stop_at > 0 && tells >= stop_at && strncmp(sentence, "plan ", 5) == 0)
    stop = 1;
}

static void stop_in_progress(void *context, double part, const char *what) {
  (void)context, (void)what;
  ck_assert(part >= 0);
  stop = 1;
}

static void set_up(void) {
  schedule = NULL;
  fit = NULL;
  stop = 0;
  tells = stop_at = 0;
  diag = prem_diag_new();
  options = (prem_fit_options){
      .late = 1e-5, .margin = -1, .time_limit_s = 2, .seed = 3, .stop = &stop, .tell = count_tells};
}

static void tear_down(void) {
  prem_fit_free(fit);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static prem_status fit_by(const prem_backend *backend, const char *source) {
  prem_machine machine = {0};
  if (!schedule)
    schedule = schedule_from_text(source);
  ck_assert_int_eq(prem_backend_probe(backend, &machine, diag), PREM_OK);
  return prem_fit_schedule(schedule, backend, &machine, &options, &fit, diag);
}

/* On a machine that is busy with others there may be no undisturbed run. */
static prem_status fit_on(const char *backend, const char *source) {
  return fit_by(prem_backend_find(backend), source);
}

static void assert_fits(const char *backend, const char *source) {
  const prem_status status = fit_on(backend, source);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  ck_assert_ptr_nonnull(schedule->plan);
  ck_assert_int_eq(fit->turns[fit->best].hyperperiod_ns, schedule->plan->hyperperiod_ns);
  assert_checked(schedule);
}

GROUP("fit", .set_up = set_up, .tear_down = tear_down);

TEST(on_sim_the_times_of_the_file_stay) {
  assert_fits("sim", text(row, times, times, ""));
  ck_assert_int_eq(fit->count, 1);
  ck_assert_int_eq(fit->turns[0].times, PREM_FIT_FILE);
  ck_assert(fit->is_settled);
  ck_assert(fit->turns[0].is_measured);
  ck_assert_int_eq(fit->turns[0].late, 0);
  ck_assert_int_gt(fit->turns[0].releases, 0);
  ck_assert_int_eq(fit->turns[0].makespan_ns.max, schedule->plan->hyperperiod_ns);
  ck_assert_int_eq(schedule->tasks[0].phase[PREM_PREFETCH].wcet_ns, 100);
  ck_assert_ptr_null(fit->profile);
  ck_assert_int_eq(fit->comparison->row_count, 2); /* tt and free */
}

TEST(on_sim_a_seed_gives_one_plan) {
  prem_slot *slots[2] = {NULL, NULL};
  int64_t counts[2];
  for (int i = 0; i < 2; ++i) {
    assert_fits("sim", text(row, times, times, ""));
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots[i], &counts[i], diag),
                     PREM_OK);
    prem_fit_free(fit);
    prem_schedule_free(schedule);
    schedule = NULL;
    fit = NULL;
  }
  ck_assert_int_eq(counts[0], counts[1]);
  for (int64_t i = 0; i < counts[0]; ++i)
    ck_assert_int_eq(slots[0][i].planned_ns, slots[1][i].planned_ns);
  free(slots[0]);
  free(slots[1]);
}

TEST(on_sim_there_is_nothing_to_measure) {
  ck_assert_int_eq(fit_on("sim", text(row, times, "", "")), PREM_ERR_INVALID);
  ck_assert_ptr_null(fit);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "'b' has no times"));
}

/* A search that could not run is a warning, with its reason. */
TEST(what_was_not_searched_is_told) {
  assert_fits("sim",
              "version = 1; name = \"large\"; platform: { blocks = 2; };\n"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ];\n"
              "  tiles = 350000; prefetch: { wcet_ns = 50L; }; compute: { wcet_ns = 70L; };\n"
              "  writeback: { wcet_ns = 30L; }; } );\n");
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->severity, PREM_WARNING);
  ck_assert_ptr_nonnull(
      strstr(prem_diag_at(diag, 0)->reason, fit->turns[fit->best].report.unsearched));
}

TEST(tasks_without_times_are_measured) {
  assert_fits("cpu", text(row, "", "", ""));
  while (fit->count < 2 && options.time_limit_s < 60) { /* a busy machine has no time for more */
    tear_down();
    const double limit_s = 4 * options.time_limit_s;
    set_up();
    options.time_limit_s = limit_s;
    assert_fits("cpu", text(row, "", "", ""));
  }
  ck_assert_ptr_nonnull(fit->profile);
  ck_assert_int_eq(fit->turns[0].times, PREM_FIT_COMPANY);
  ck_assert_int_ge(fit->count, 2);
  ck_assert_int_eq(fit->turns[1].times, PREM_FIT_ANEW);
  ck_assert(fit->turns[fit->best].is_measured);
  for (int i = 0; i < fit->count; ++i)
    tells -= fit->turns[i].is_measured;
  ck_assert_int_eq(tells, 0);
  for (int t = 0; t < 2; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      ck_assert_int_eq(schedule->tasks[t].phase[p].wcet_ns,
                       fit->profile->tasks[t].phase[p].wcet_ns);
  ck_assert_str_eq(schedule->plan->profile, PREM_FIT_PROFILE);
  ck_assert_str_eq(schedule->plan->times, schedule->profile_times);
}

/* Times that are far too long are measured again as well. */
TEST(stale_times_are_forgotten) {
  static const char stale[] = "prefetch: { wcet_ns = 900000000L; };";
  assert_fits("cpu", text(row, stale, stale, ""));
  ck_assert_int_lt(schedule->plan->hyperperiod_ns, 900000000);
}

/* However it went on, nothing that was measured is better. */
TESTS(the_best_plan_is_taken, 2) {
  options.keeps_late = _i;
  assert_fits("cpu", text(row, "", "", ""));
  for (int i = 0; i < fit->count; ++i)
    ck_assert(!prem_fit_is_better(&options, &fit->turns[i], &fit->turns[fit->best]));
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Of a million releases. */
static prem_fit_turn turn_of(int64_t planned_ns, int64_t late) {
  return (prem_fit_turn){.is_measured = true,
                         .hyperperiod_ns = planned_ns,
                         .makespan_ns.p50 = planned_ns - 100,
                         .releases = 1000000,
                         .late = late};
}

/* The first is better, and the second is not. */
static void assert_better(prem_fit_turn a, prem_fit_turn b) {
  ck_assert(prem_fit_is_better(&options, &a, &b));
  ck_assert(!prem_fit_is_better(&options, &b, &a));
}

static void assert_alike(prem_fit_turn a, prem_fit_turn b) {
  ck_assert(!prem_fit_is_better(&options, &a, &b));
  ck_assert(!prem_fit_is_better(&options, &b, &a));
}

TEST(of_plans_that_keep_the_limit_the_shortest) {
  assert_better(turn_of(60000, 10), turn_of(61000, 0));
  assert_alike(turn_of(60000, 10), turn_of(60000, 0));
  options.keeps_late = true;
  assert_better(turn_of(60000, 10), turn_of(61000, 0));
}

/* Ten times as many late releases weigh as a fifth of the length. */
TEST(length_and_lateness_are_weighed) {
  assert_better(turn_of(60000, 1000), turn_of(60000, 1001));
  assert_better(turn_of(60000, 1000), turn_of(72100, 100));
  assert_better(turn_of(71900, 100), turn_of(60000, 1000));
  assert_better(turn_of(61700, 1000), turn_of(91000, 56)); /* seen on an H200 */
  assert_better(turn_of(740000, 900000), turn_of(8400000, 100000));
  assert_better(turn_of(60000, 100), turn_of(73000, 0));
  assert_better(turn_of(71900, 0), turn_of(60000, 100));
}

TEST(a_plan_that_keeps_late_may_be_as_long_as_it_is) {
  assert_better(turn_of(60000, 11), turn_of(900000, 10));
  options.keeps_late = true;
  assert_better(turn_of(900000, 10), turn_of(60000, 11));
  assert_better(turn_of(60000, 1000), turn_of(91000, 900)); /* neither does */
}

/* Nothing may be late: one release in a million weighs as much as none. */
TEST(without_a_limit_there_is_one) {
  options.late = 0;
  assert_alike(turn_of(60000, 1), turn_of(60000, 0));
  assert_better(turn_of(71900, 1), turn_of(60000, 10));
  options.keeps_late = true;
  assert_better(turn_of(90000, 0), turn_of(60000, 1));
}

TEST(what_the_runs_took_counts_where_that_is_more) {
  prem_fit_turn slow = turn_of(60000, 0);
  slow.makespan_ns.p50 = 70000;
  assert_better(turn_of(69000, 0), slow);
  assert_better(slow, turn_of(71000, 0));
}

TEST(what_is_measured_is_better) {
  prem_fit_turn unmeasured = turn_of(60000, 0);
  unmeasured.is_measured = false;
  assert_better(turn_of(90000, 500000), unmeasured);
}

/* Of plans with periods: first what is late, then what is open, then slack. */
TEST(of_equal_length_others_decide) {
  prem_fit_turn a = turn_of(50000, 5), b = turn_of(50000, 6);
  a.open_ns = b.open_ns = 1000;
  assert_alike(a, b);
  b.report.min_slack_ns = 1;
  assert_better(b, a);
  a.open_ns = 1001;
  assert_better(a, b);
  a.late = 100;
  assert_better(b, a);
}

/* Longer windows make a plan longer: some are not worth a measurement. */
TEST(a_plan_may_be_too_long_to_be_measured) {
  const prem_fit_turn best = turn_of(60000, 100);
  prem_fit_turn next = turn_of(73000, 0);
  ck_assert(!prem_fit_may_be_better(&options, &next, &best));
  next.hyperperiod_ns = 71000;
  ck_assert(prem_fit_may_be_better(&options, &next, &best));
  options.keeps_late = true;
  next.hyperperiod_ns = 900000;
  ck_assert(prem_fit_may_be_better(&options, &next, &best));
}

/* ---- more of fits ---------------------------------------------------------------------------- */

TEST(beside_a_load_bounds_are_measured_too) {
  assert_fits("cpu", text(beside, "40000000L"));
  ck_assert(schedule->plan->gates);
  ck_assert_int_gt(fit->turns[fit->best].open_ns, 0);
  ck_assert_int_gt(schedule->tasks[1].phase[PREM_PREFETCH].wcet_ns, 0);
  ck_assert_int_eq(schedule->tasks[1].phase[PREM_PREFETCH].demand[0], 1); /* as the file has it */
}

/* Neither by the times of company nor by those alone: why is said, for the last of the two. */
TEST(a_deadline_that_cannot_be_kept) {
  ck_assert_int_eq(fit_on("cpu", text(beside, "10L")), PREM_ERR_INFEASIBLE);
  ck_assert_ptr_null(fit);
  ck_assert(prem_diag_has(diag, 33));
  ck_assert_int_ge(tells, 1); /* more where the machine had other work */
}

TEST(a_margin_that_is_given_stays) {
  options.margin = 0.5;
  assert_fits("cpu", text(row, "", "", ""));
  for (int i = 0; i < fit->count; ++i)
    ck_assert(fit->turns[i].margin >= 0.5 && fit->turns[i].margin <= 0.5);
}

TEST(interrupted_before_there_is_a_plan) {
  options.progress = stop_in_progress;
  ck_assert_int_eq(fit_on("cpu", text(row, "", "", "")), PREM_ERR_INTERRUPTED);
  ck_assert_ptr_null(fit);
}

TEST(an_interruption_keeps_the_best_plan) {
  stop_at = 1; /* the first plan was measured */
  options.time_limit_s = 60;
  ck_assert_int_eq(fit_on("cpu", text(row, "", "", "")), PREM_ERR_INTERRUPTED);
  ck_assert_ptr_nonnull(fit);
  ck_assert(fit->interrupted);
  ck_assert_int_eq(fit->best, 0);
  ck_assert_ptr_null(fit->comparison);
  ck_assert_str_eq(schedule->plan->times, schedule->profile_times);
  assert_checked(schedule);
}

TEST(quick_is_one_plan) {
  options.quick = true;
  assert_fits("cpu", text(row, "", "", ""));
  ck_assert_int_eq(fit->count, 1);
  ck_assert(!fit->turns[0].is_measured);
  ck_assert_ptr_null(fit->comparison);
}

/* ---- launches that are dear, and a machine that is shared -------------------------------------
 */

enum { LAUNCH_MS = 100, LONG_NS = 1000000000 };

/* The second follows the first; 128 tiles each. */
static const char many[] =
    "version = 1; name = \"many\";\n"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 4096 ]; fill = \"random\"; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; }; },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; tile = [ 32 ];\n"
    "    arrays: { in = \"a.out\"; out = \"new\"; }; after = ( { task = \"a\"; } ); }\n"
    ");\n";
static int launches;

static prem_status run_dear(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  nanosleep(&(struct timespec){.tv_nsec = LAUNCH_MS * 1000000L}, NULL);
  ++launches;
  return prem_backend_cpu.run(state, request, trace, problems);
}

/* All jobs are disturbed; in each run a phase takes a second. */
static prem_status run_shared(void *state, const prem_run_request *request, prem_trace *trace,
                              prem_diag *problems) {
  const prem_status status = prem_backend_cpu.run(state, request, trace, problems);
  for (int64_t j = 0; j < trace->job_count * trace->hyperperiods; ++j)
    trace->away_ns[j] = 1000;
  if (trace->record_count > 0)
    trace->records[0].end_ns += LONG_NS;
  return status;
}

GROUP("dear", .set_up = set_up, .tear_down = tear_down);

/* However long a launch takes: within the limit, and the first plan within once more; one run is
 * under way then. A busy machine has fewer. */
TESTS(launches_that_take_long_are_few, 2) {
  prem_backend dear = prem_backend_cpu;
  dear.run = run_dear;
  launches = 0;
  options.time_limit_s = _i ? 0.5 : 2;
  const prem_status status = fit_by(&dear, many);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  ck_assert_int_gt(launches, 0);
  ck_assert_double_le(launches * LAUNCH_MS / 1e3, 2 * options.time_limit_s + LAUNCH_MS / 1e3);
  ck_assert_int_eq(fit->turns[fit->best].hyperperiod_ns, schedule->plan->hyperperiod_ns);
  assert_checked(schedule);
}

/* What the system did meanwhile makes no window. */
TEST(where_all_runs_are_disturbed_a_quantile_counts) {
  prem_backend shared = prem_backend_cpu;
  shared.run = run_shared;
  const prem_status status = fit_by(&shared, many);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  int64_t longest_ns = 0;
  for (int t = 0; t < 2; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_profile_phase *phase = &fit->profile->tasks[t].phase[p];
      longest_ns = phase->longest_ns > longest_ns ? phase->longest_ns : longest_ns;
      ck_assert_int_lt(phase->wcet_ns, LONG_NS);
    }
  ck_assert(fit->profile->all_disturbed);
  ck_assert(fit->profile->quantile >= 0.9 && fit->profile->quantile <= 0.95);
  ck_assert_int_ge(longest_ns, LONG_NS);
}

/* ---- a machine that is made up ---------------------------------------------------------------
 */

/* Phases take a microsecond. By a plan the compute of a takes five and is late until its window is
 * as long, then the prefetch of b; from then on none is, or they are again. */
enum { USUAL_NS = 1000, LATE_NS = 5000 };
static bool is_calm, stays_calm;

static void make_late(prem_trace *trace, int task, int phase) {
  prem_phase_stats *stats = &trace->stats[task * PREM_PHASE_COUNT + phase];
  stats->late = stats->releases;
  stats->overruns = stats->count;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].task == task && trace->records[i].phase == phase)
      trace->records[i].end_ns = trace->records[i].start_ns + LATE_NS;
}

/* Turnarounds and hand-overs are not made up: where threads yield, nobody asks. */
static prem_status probe_made(prem_machine *machine, prem_diag *problems) {
  const prem_status status = prem_backend_sim.probe(machine, problems);
  machine->yields = true;
  return status;
}

static prem_status run_made(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  const prem_status status = prem_backend_sim.run(state, request, trace, problems);
  const bool has_long_a = schedule->tasks[0].phase[PREM_COMPUTE].wcet_ns >= LATE_NS;
  const bool has_long_b = schedule->tasks[1].phase[PREM_PREFETCH].wcet_ns >= LATE_NS;
  for (int64_t i = 0; i < trace->record_count; ++i)
    trace->records[i].end_ns = trace->records[i].start_ns + USUAL_NS;
  if (request->mode != PREM_MODE_TT)
    return status;
  is_calm |= has_long_a && has_long_b;
  if (!has_long_a && !(is_calm && stays_calm))
    make_late(trace, 0, PREM_COMPUTE);
  else if (!has_long_b && !is_calm)
    make_late(trace, 1, PREM_PREFETCH);
  return status;
}

static prem_status fit_made(prem_status (*run)(void *, const prem_run_request *, prem_trace *,
                                               prem_diag *)) {
  prem_backend made = prem_backend_sim;
  made.name = "made"; /* of cpu the system tells what disturbs it */
  made.probe = probe_made;
  made.run = run;
  options.time_limit_s = 10;
  return fit_by(&made, text(row, "", "", ""));
}

GROUP("made", .set_up = set_up, .tear_down = tear_down);

/* As long as they have to be, and no longer. */
TESTS(windows_that_were_raised_get_shorter_again, 2) {
  static const prem_fit_times expected[] = {PREM_FIT_COMPANY, PREM_FIT_ANEW, PREM_FIT_RAISED,
                                            PREM_FIT_LOWERED};
  is_calm = false;
  stays_calm = _i;
  options.keeps_late = true;
  const prem_status status = fit_made(run_made);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  ck_assert_int_ge(fit->count, 4);
  for (int i = 0; i < 4; ++i) {
    ck_assert_int_eq(fit->turns[i].times, expected[i]);
    ck_assert_int_eq(fit->turns[i].late > 0, i < 2 || (i == 3 && !stays_calm));
  }
  ck_assert_int_eq(fit->best, stays_calm ? 3 : 2);
  ck_assert_int_lt(fit->turns[3].hyperperiod_ns, fit->turns[2].hyperperiod_ns);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, fit->turns[fit->best].hyperperiod_ns);
  ck_assert_int_eq(schedule->tasks[1].phase[PREM_COMPUTE].wcet_ns, USUAL_NS * 21 / 20);
  ck_assert_int_eq(schedule->tasks[1].phase[PREM_PREFETCH].wcet_ns,
                   (stays_calm ? USUAL_NS : LATE_NS) * 21 / 20);
  assert_checked(schedule);
}

/* By a plan the compute of a now and then takes a second, once in 500 runs. */
static prem_status run_rare(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  const prem_status status = run_made(state, request, trace, problems);
  static int runs;
  for (int64_t i = 0; i < trace->record_count && request->mode == PREM_MODE_TT; ++i) {
    prem_trace_record *record = &trace->records[i];
    if (record->task == 0 && record->phase == PREM_COMPUTE && runs++ % 4000 == 3999)
      record->end_ns = record->start_ns + LONG_NS;
  }
  return status;
}

/* No window is a second long for it, and the plan keeps the limit. */
TEST(a_rare_time_makes_no_plan_too_long) {
  is_calm = true; /* b is never late, and a is wherever its windows are short */
  stays_calm = false;
  const prem_status status = fit_made(run_rare);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
  const prem_fit_turn *best = &fit->turns[fit->best];
  ck_assert_int_eq(best->late, 0);
  ck_assert_int_lt(best->hyperperiod_ns, LONG_NS);
  ck_assert(!fit->turns[1].is_measured); /* that one is longer than a second */
  ck_assert_int_gt(fit->turns[1].hyperperiod_ns, LONG_NS);
  ck_assert_int_eq(fit->turns[2].times, PREM_FIT_ANEW);
  ck_assert(fit->turns[2].is_measured);
  ck_assert(fit->profile->quantile > 0.99 && fit->profile->quantile < 1);
  ck_assert_int_ge(fit->profile->tasks[0].phase[PREM_COMPUTE].longest_ns, LONG_NS);
}

static void assert_saved_is_the_same(const char *source) {
  char file[] = "/tmp/ttprem-fit-XXXXXX", profile[sizeof file + 8];
  OWNED(prem_schedule) *again = NULL;
  assert_fits("cpu", source);
  close(mkstemp(file));
  snprintf(profile, sizeof profile, "%s.times", file);
  ck_assert_int_eq(prem_profile_write(fit->profile, profile, diag), PREM_OK);
  ck_assert_int_eq(
      prem_schedule_edit_profile(schedule, PREM_FIT_PROFILE, strrchr(profile, '/') + 1, diag),
      PREM_OK);
  ck_assert_int_eq(prem_schedule_save(schedule, file, diag), PREM_OK);
  if (prem_schedule_load(file, NULL, &again, diag) != PREM_OK ||
      prem_schedule_bind(again, prem_registry_builtin(), diag) != PREM_OK)
    abort_with(file, diag);
  ck_assert_str_eq(again->profile, PREM_FIT_PROFILE);
  ck_assert_str_eq(again->profile_times, schedule->profile_times);
  assert_checked(again);
  unlink(profile);
  unlink(file);
}

GROUP("files", .set_up = set_up, .tear_down = tear_down);

/* What is in memory is what a reader of the files gets. */
TESTS(what_is_written_is_read_as_the_same, 4) {
  static const char *const tails[] = {"", "profiles: { other = \"none.cfg\"; };\n",
                                      "profiles = { /* fit = 1 */ fit = \"x\" \"y\"; };\n",
                                      "# a tail without an end of line"};
  assert_saved_is_the_same(text(row, times, "", tails[_i]));
}

TEST(beside_a_load_as_well) {
  assert_saved_is_the_same(text(beside, "40000000L"));
}
