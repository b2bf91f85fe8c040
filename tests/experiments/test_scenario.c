/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of the experiments, on the simulator, where every phase takes what the file says. */
#include "experiments/common/scenario.h"

#include <math.h>

#include "experiments/experiment_list.h"
#include "prem/base/numbers.h"
#include "runtime/core/backend.h"
#include "tests/common/one_line.h"
#include "tests/common/schedule_text.h"
#include "tests/common/suite.h"

static volatile sig_atomic_t stop;
static int64_t reported_done, reported_all;

static void keep_progress(void *context, int64_t done, int64_t all) {
  (void)context;
  reported_done = done;
  reported_all = all;
}

static prem_machine machine;
static prem_experiment_context context;
static prem_findings *findings;
static prem_diag *diag;

static void prepare(void) {
  stop = 0;
  context = (prem_experiment_context){.backend = prem_backend_find("sim"),
                                      .machine = &machine,
                                      .seed = 1,
                                      .schedules = SOURCE_DIR "/schedules",
                                      .stop = &stop,
                                      .progress = keep_progress};
  ck_assert_int_eq(prem_backend_probe(context.backend, &machine, NULL), PREM_OK);
  findings = prem_findings_new("test", "A test", "Does it work?");
  diag = prem_diag_new();
}

static void clear(void) {
  prem_findings_free(findings);
  prem_diag_free(diag);
}

static prem_scenario_request request_for(prem_mode mode) {
  return (prem_scenario_request){.context = &context,
                                 .findings = findings,
                                 .modes = {mode},
                                 .mode_count = 1,
                                 .repeat = 1,
                                 .task = -1};
}

/* Two tasks on a block each, two tiles each, capacity and plan as the test wants them. */
static const char *pair_text(int capacity, const char *plan) {
  return text(
      "version = 1; name = \"pair\";\n"
      "platform: { blocks = 2; clock_step_ns = 1L;\n"
      "  resources = ( { name = \"memory\"; capacity = %d; } ); };\n"
      "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 6, 10 ]; fill = \"random\"; } );\n"
      "tasks = ( { name = \"conv\"; copies = 2; kernel = \"conv2d\"; blocks = 1;\n"
      "  tile = [ 2, 8 ]; arrays: { in = \"image\"; out = \"new\"; };\n"
      "  prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 40L; };\n"
      "  writeback: { wcet_ns = 60L; }; } );\n%s",
      capacity, plan);
}

/* A tile from its prefetch on: run of a task with everything chained. */
static const char *plan_of(int first_ns, int second_ns) {
  return text(
      "plan: { hyperperiod_ns = 1000L; runs = (\n"
      "  { task = \"conv.0\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
      "    start_ns = %dL; repeat = 2; step_ns = 400L; },\n"
      "  { task = \"conv.1\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
      "    start_ns = %dL; repeat = 2; step_ns = 400L; } ); };\n",
      first_ns, second_ns);
}

/* ---- a run ---------------------------------------------------------------------------------- */

GROUP("scenario", .set_up = prepare, .tear_down = clear);

TEST(phases_take_what_the_file_says) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(2, plan_of(0, 200));
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  const prem_outcome *outcome = &measured.outcomes[0];
  const prem_lengths lengths = prem_lengths_of(outcome);
  ck_assert_int_eq(lengths.typical[PREM_PREFETCH], 100);
  ck_assert_int_eq(lengths.max[PREM_COMPUTE], 40);
  ck_assert_int_eq(lengths.worst[PREM_WRITEBACK], 60);
  ck_assert_int_eq(lengths.planned[PREM_PREFETCH], 100);
  ck_assert_int_eq(outcome->phase[PREM_PREFETCH].count, 4);
  /* The last tile starts at 600. */
  ck_assert_double_eq(prem_makespan_at(outcome, 1.0), 800);
  ck_assert_double_eq_tol(outcome->at_once, 1.0, 1e-9);
  ck_assert(outcome->row->output_checked && outcome->row->output_ok);
  ck_assert(!prem_findings_wrong(findings));
  prem_measured_free(&measured);
}

/* Prefetches of 100 ns begin 50 ns apart, writebacks of 60 ns as well: 320 ns in (150 + 110). */
TEST(blocks_at_the_memory_are_counted) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(2, plan_of(0, 50));
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  /* From 0 to 150 and from 140 to 250: one stay of 250 ns, in both rounds. */
  ck_assert_double_eq_tol(measured.outcomes[0].at_once, 320.0 / 250.0, 1e-9);
  prem_measured_free(&measured);
}

/* Task 0 is at work from 0 to 200; 50 ns of its prefetch, all of its compute and of its writeback
 * lie beside the other task's, which is at work from 50 to 250. */
TEST(co_runners_are_measured) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(2, plan_of(0, 50));
  request.task = 0;
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  const prem_outcome *outcome = &measured.outcomes[0];
  ck_assert_int_eq(outcome->phase[PREM_PREFETCH].count, 2);
  ck_assert_int_eq(prem_times_at(&outcome->beside[PREM_PREFETCH], 0.5), 500);
  ck_assert_int_eq(prem_times_at(&outcome->beside[PREM_COMPUTE], 0.5), 1000);
  ck_assert_int_eq(prem_times_at(&outcome->beside[PREM_WRITEBACK], 0.5), 1000);
  prem_measured_free(&measured);
}

static bool is_first_tile(const prem_trace_record *record) {
  return record->tile == 0;
}

TEST(references_are_kept_apart) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(2, plan_of(0, 200));
  request.is_reference = is_first_tile;
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  ck_assert_int_eq(measured.outcomes[0].reference[PREM_COMPUTE].count, 2);
  ck_assert_int_eq(measured.outcomes[0].phase[PREM_COMPUTE].count, 2);
  prem_measured_free(&measured);
}

/* Both want to fetch at 0 and one has to wait for 100 ns; nobody else ever waits in front of a free
 * memory, and the token changes hands in no time. */
TEST(waiting_for_the_token_is_measured) {
  prem_scenario_request request = request_for(PREM_MODE_LOCK);
  request.text = pair_text(1, "");
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  const prem_outcome *outcome = &measured.outcomes[0];
  ck_assert_double_eq_tol(outcome->at_once, 1.0, 1e-9);
  ck_assert_double_gt(outcome->waiting_pct, 0.0);
  ck_assert_int_gt(outcome->handover.count, 0);
  ck_assert_int_eq(outcome->handover.max_ns, 0);
  prem_measured_free(&measured);
}

TEST(modes_keep_their_order) {
  prem_scenario_request request = request_for(PREM_MODE_LOCK);
  request.modes[1] = PREM_MODE_TT;
  request.mode_count = 2;
  request.text = pair_text(1, "");
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  ck_assert_int_eq(measured.outcomes[0].row->mode, PREM_MODE_LOCK);
  ck_assert_int_eq(measured.outcomes[1].row->mode, PREM_MODE_TT);
  ck_assert_int_eq(measured.outcomes[0].phase[PREM_COMPUTE].count, 4);
  ck_assert_int_eq(measured.outcomes[1].phase[PREM_COMPUTE].count, 4);
  prem_measured_free(&measured);
}

TEST(a_file_serves_as_well) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.path = SOURCE_DIR "/schedules/figures/thesis_tile_kernelwise.cfg";
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  ck_assert_int_eq(measured.result->hyperperiod_ns, 2668608);
  prem_measured_free(&measured);
}

TEST(errors_are_told) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = "version = 1; name = \"nothing\";";
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_ERR_PARSE);
  ck_assert_uint_gt(prem_diag_errors(diag), 0);
  ck_assert_ptr_null(measured.result);
  prem_measured_free(&measured);
}

TEST(refused_by_the_checker) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(1, plan_of(0, 50));
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_ERR_INVALID);
  ck_assert(prem_diag_has(diag, 37));
  prem_measured_free(&measured);
}

TEST(the_stop_flag_is_seen) {
  prem_scenario_request request = request_for(PREM_MODE_TT);
  request.text = pair_text(1, "");
  stop = 1;
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_ERR_INTERRUPTED);
  prem_measured_free(&measured);
}

TEST(progress_is_reported) {
  int64_t done = 2;
  prem_scenario_request request = request_for(PREM_MODE_FREE);
  request.text = pair_text(1, "");
  request.done = &done;
  request.all = 7;
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  ck_assert_int_eq(reported_done, 3);
  ck_assert_int_eq(reported_all, 7);
  prem_measured_free(&measured);
}

/* ---- percentiles ---------------------------------------------------------------------------- */

TEST(percentiles_are_of_the_nearest_rank) {
  prem_times times = {0};
  ck_assert_int_eq(prem_times_at(&times, 0.5), 0);
  for (int i = 1; i <= 100; ++i)
    ck_assert(prem_times_add(&times, i));
  ck_assert_int_eq(prem_times_at(&times, 0.0), 1);
  ck_assert_int_eq(prem_times_at(&times, 0.5), 50);
  ck_assert_int_eq(prem_times_at(&times, 0.99), 99);
  ck_assert_int_eq(prem_times_at(&times, 1.0), 100);
  prem_times_free(&times);
}

/* One of ten took a hundred times as long: nothing to plan with. */
TEST(interruptions_are_not_planned_for) {
  prem_outcome outcome = {0};
  for (int i = 0; i < 10; ++i)
    ck_assert(prem_times_add(&outcome.phase[PREM_COMPUTE], i == 3 ? 1000 : 10));
  const prem_lengths lengths = prem_lengths_of(&outcome);
  ck_assert_int_eq(lengths.max[PREM_COMPUTE], 1000);
  ck_assert_int_eq(lengths.planned[PREM_COMPUTE], 40);
  ck_assert_int_eq(lengths.planned[PREM_PREFETCH], 0);
  prem_times_free(&outcome.phase[PREM_COMPUTE]);
}

TEST(instants_are_rounded_up) {
  ck_assert_int_eq(prem_round_up(0, 32), 0);
  ck_assert_int_eq(prem_round_up(1, 32), 32);
  ck_assert_int_eq(prem_round_up(64, 32), 64);
}

/* ---- nothing that counts --------------------------------------------------------------------- */

static prem_status run_disturbed(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t j = 0; j < trace->hyperperiods * trace->job_count; ++j)
    trace->away_ns[j] = 2500000;
  return status;
}

static char *printed(void) {
  char *said = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&said, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  one_line(said);
  return said;
}

TEST(disturbed_runs_have_no_times) {
  prem_backend busy = prem_backend_sim;
  busy.run = run_disturbed;
  context.backend = &busy;
  prem_scenario_request request = request_for(PREM_MODE_FREE);
  request.text = pair_text(2, plan_of(0, 200));
  request.repeat = 3;
  prem_measured measured;
  ck_assert_int_eq(prem_scenario_run(&request, &measured, diag), PREM_OK);
  const prem_outcome *outcome = &measured.outcomes[0];
  ck_assert_int_eq(outcome->row->samples, 0);
  ck_assert(isnan(prem_makespan_at(outcome, 0.5)));
  ck_assert(isnan(prem_of_runs(outcome->row, 0)));
  prem_measured_free(&measured);
  FREED char *said = printed();
  ck_assert_ptr_nonnull(strstr(said,
                               "free: of 3 runs all were disturbed: the operating system took "
                               "a core away, for 2.500 ms at most"));
}

TEST(an_experiment_without_a_run_has_no_verdict) {
  prem_backend busy = prem_backend_sim;
  const prem_experiment *experiment = prem_experiment_find("convolution");
  busy.run = run_disturbed;
  busy.modes |= 1U << PREM_MODE_LEGACY; /* on the simulator as good as any */
  context.backend = &busy;
  context.quick = true;
  ck_assert_int_eq(prem_experiment_start(experiment, &context, findings, diag), PREM_OK);
  FREED char *said = printed();
  ck_assert_ptr_nonnull(strstr(said, "No verdict: of some runs none counted"));
  const char *nan_at = strstr(said, " nan"), *zero_at = strstr(said, " 0.0 us");
  ck_assert_msg(!nan_at && !zero_at, "%.300s", nan_at ? nan_at : zero_at);
}
