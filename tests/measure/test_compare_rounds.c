/* SPDX-License-Identifier: Apache-2.0 */
/* Modes compared: which runs are made, in which order, and when they end. */
/* ctest: threads */
#include "runtime/core/backend.h"
#include "tests/common/compared.h"
#include "tests/common/suite.h"

/* ---- their order ---------------------------------------------------------------------------- */

typedef struct run_log {
  prem_mode modes[64];
  int64_t runs[64];
  int count;
  int64_t all;
} run_log;

static void log_progress(void *context, int64_t done, int64_t all, prem_mode mode) {
  run_log *log = context;
  ck_assert_int_eq(done, log->count + 1);
  log->all = all;
  log->modes[log->count++] = mode;
}

static prem_status log_trace(void *context, const prem_trace *trace, prem_mode mode, int64_t run) {
  run_log *log = context;
  ck_assert_int_eq(trace->record_count, PHASES_OF_PAIR);
  log->modes[log->count] = mode;
  log->runs[log->count++] = run;
  return PREM_OK;
}

static run_log order_of_runs(uint64_t seed) {
  run_log log = {0};
  options.sampling.seed = seed;
  options.progress = log_progress;
  options.progress_context = &log;
  ck_assert_int_eq(compare(), PREM_OK);
  return log;
}

GROUP("compare_rounds", .set_up = set_up, .tear_down = tear_down);

TEST(every_round_has_every_mode_once) {
  options.modes[2] = PREM_MODE_LOCK;
  options.mode_count = 3;
  run_log log = order_of_runs(7);
  ck_assert_int_eq(log.count, 21);
  ck_assert_int_eq(log.all, 21);
  for (int i = 0; i < log.count; i += 3)
    ck_assert_uint_eq(1u << log.modes[i] | 1u << log.modes[i + 1] | 1u << log.modes[i + 2],
                      1u << PREM_MODE_FREE | 1u << PREM_MODE_TT | 1u << PREM_MODE_LOCK);
}

TEST(the_seed_decides_the_order) {
  options.sampling.samples = 20;
  run_log first = order_of_runs(7), again = order_of_runs(7), other = order_of_runs(8);
  ck_assert_mem_eq(first.modes, again.modes, sizeof first.modes);
  ck_assert_mem_ne(first.modes, other.modes, sizeof first.modes);
  int free_first = 0;
  for (int i = 0; i < first.count; i += 2)
    free_first += first.modes[i] == PREM_MODE_FREE;
  ck_assert_int_gt(free_first, 0); /* neither mode is always the first of its round */
  ck_assert_int_lt(free_first, first.count / 2);
}

TEST(counted_runs_hand_out_their_traces) {
  run_log log = {0};
  options.on_trace = log_trace;
  options.trace_context = &log;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(log.count, 10);
  int64_t next[PREM_MODE_COUNT] = {0};
  for (int i = 0; i < log.count; ++i)
    ck_assert_int_eq(log.runs[i], next[log.modes[i]]++);
}

static prem_status refuse_third_trace(void *context, const prem_trace *trace, prem_mode mode,
                                      int64_t run) {
  (void)trace;
  (void)mode;
  (void)run;
  int *calls = context;
  return ++*calls == 3 ? PREM_ERR_IO : PREM_OK;
}

TEST(a_refused_trace_ends_the_comparison) {
  int calls = 0;
  options.on_trace = refuse_third_trace;
  options.trace_context = &calls;
  ck_assert_int_eq(compare(), PREM_ERR_IO);
  ck_assert_int_eq(calls, 3);
  ck_assert_ptr_nonnull(result);
  ck_assert(!result->interrupted);
}

/* ---- ending early --------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void stop_after_nine(void *context, int64_t done, int64_t all, prem_mode mode) {
  (void)context;
  (void)all;
  (void)mode;
  stop = done >= 9;
}

TEST(what_was_measured_survives_an_interruption) {
  stop = 0;
  options.stop = &stop;
  options.progress = stop_after_nine;
  options.sampling.samples = 1000;
  ck_assert_int_eq(compare(), PREM_ERR_INTERRUPTED);
  ck_assert_ptr_nonnull(result);
  ck_assert(result->interrupted);
  /* 4 runs discarded, 5 counted */
  ck_assert_int_eq(result->rows[0].samples + result->rows[1].samples, 5);
  ck_assert_int_eq(result->rows[1].makespan_ns.max, 580);
}

TEST(an_interruption_before_the_first_run_leaves_nothing) {
  stop = 1;
  options.stop = &stop;
  ck_assert_int_eq(compare(), PREM_ERR_INTERRUPTED);
  ck_assert_ptr_null(result);
}

TEST(a_duration_ends_after_a_whole_round) {
  options.sampling.samples = 0;
  options.sampling.discard = 0;
  options.sampling.duration_s = 0.02;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_ge(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[0].samples, result->rows[1].samples);
}

TEST(a_duration_however_short_counts_one_run) {
  options.sampling.samples = 0;
  options.sampling.discard = 3;
  options.sampling.duration_s = 1e-9;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_ptr_nonnull(result);
  ck_assert_int_eq(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[1].samples, 1);
}

/* However many are to be discarded, after half of it runs count. A machine that stands still for
 * the other half is given another chance. */
TEST(discarding_runs_takes_half_of_a_duration_at_most) {
  options.sampling.samples = 0;
  options.sampling.discard = INT32_MAX;
  options.sampling.duration_s = 0.05;
  int64_t counted = 0;
  for (int tried = 0; tried < 8 && counted <= 1; ++tried) {
    ck_assert_int_eq(compare(), PREM_OK);
    counted = result->rows[0].samples;
    ck_assert_int_ge(result->rows[0].discarded, 1);
  }
  ck_assert_int_gt(counted, 1);
}

/** 50 hyperperiods for each of the two modes. */
static void ask_for_fifty(void) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 1000000;
  options.sampling.duration_s = 800e-9 * 2 * 50.5;
}

TEST(a_resident_duration_is_divided_among_the_modes) {
  ask_for_fifty();
  run_log log = order_of_runs(1);
  /* 2 discarded of each of 10 launches; machine time may end the rounds sooner */
  ck_assert_int_eq(log.all, 20);
  ck_assert_int_ge(result->rows[1].samples, 1);
  ck_assert_int_le(result->rows[1].samples, 30);
}

TEST(discarding_takes_half_of_a_duration_at_most) {
  ask_for_fifty();
  options.sampling.discard = 10;
  ck_assert_int_eq(order_of_runs(1).all, 2 * 2);
  options.sampling.discard = 1000;
  ck_assert_int_eq(order_of_runs(1).all, 2); /* one launch, and half of it counts */
  ck_assert_int_eq(result->rows[0].samples, 25);
  ck_assert_int_eq(result->rows[0].discarded, 25);
}

/* The other half is for what counts, which is about as much then. */
TEST(discarding_runs_leaves_half_of_a_duration) {
  options.sampling.samples = 0;
  options.sampling.discard = INT32_MAX;
  options.sampling.duration_s = 0.2;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_gt(result->rows[0].samples, result->rows[0].discarded / 20);
}

/* Room for 25 launches of one discarded hyperperiod and one that counts, where 10 of two and three
 * would be made. */
TEST(verifying_keeps_to_a_duration) {
  ask_for_fifty();
  options.sampling.verify_every = 1;
  ck_assert_int_eq(order_of_runs(1).all, 2 * 25);
  ck_assert_int_eq(result->rows[1].discarded, result->rows[1].samples); /* of the rounds made */
  ck_assert_int_eq(result->rows[1].hyperperiods, 2 * result->rows[1].samples);
  options.sampling.verify_every = 3;
  ck_assert_int_eq(order_of_runs(1).all, 2 * 10);
  options.sampling.samples = 12; /* all find room, each with both that are discarded */
  options.sampling.verify_every = 1;
  ck_assert_int_eq(order_of_runs(1).all, 2 * 12);
}

TEST(a_duration_asks_for_no_more_than_the_repeats) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 4;
  options.sampling.duration_s = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 4);
  ck_assert_int_eq(result->rows[1].samples, 4);
}

/* ---- the pace ------------------------------------------------------------------------------- */

static struct {
  int32_t runs;
  prem_mode mode[3];
  int64_t hyperperiods[3];
} first_runs;

static prem_status run_noted(void *state, const prem_run_request *request, prem_trace *trace,
                             prem_diag *to) {
  if (first_runs.runs < 3) {
    first_runs.mode[first_runs.runs] = request->mode;
    first_runs.hyperperiods[first_runs.runs++] = request->hyperperiods;
  }
  return prem_backend_sim.run(state, request, trace, to);
}

static prem_status probe_cpu(prem_machine *machine, prem_diag *to) {
  const prem_status status = prem_backend_sim.probe(machine, to);
  snprintf(machine->backend, sizeof machine->backend, "cpu");
  return status;
}

/* Before the rounds of a duration on cores one hyperperiod of each mode, which does not count. */
TEST(each_mode_shows_its_pace_once) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_noted;
  backend.probe = probe_cpu;
  prem_session_close(session);
  ask_for_fifty();
  first_runs.runs = 0;
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  ck_assert_int_eq(first_runs.runs, 3);
  ck_assert_int_eq(first_runs.mode[0], PREM_MODE_FREE);
  ck_assert_int_eq(first_runs.mode[1], PREM_MODE_TT);
  ck_assert_int_eq(first_runs.hyperperiods[0], 1);
  ck_assert_int_eq(first_runs.hyperperiods[1], 1);
  ck_assert_int_gt(first_runs.hyperperiods[2], 1);
}

/* One hyperperiod of each mode on a CPU, which says how many fit into a duration. */
TEST(a_pace_is_found_and_discarded) {
  reopen(increment);
  prem_session_close(session);
  session = open_on("cpu", schedule);
  options = (prem_compare_options){
      .modes = {PREM_MODE_TT, PREM_MODE_FREE},
      .mode_count = 2,
      .sampling = {.scenario = PREM_RESIDENT, .samples = 3, .duration_s = 5, .max_records = 1000},
      .mix_disturbed = true};
  ck_assert_int_eq(
      prem_compare(session, schedule, prem_backend_find("cpu"), &options, &result, diag), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    ck_assert_int_eq(result->rows[i].samples, 3);
    ck_assert_int_eq(result->rows[i].discarded, 1);
    ck_assert_int_eq(result->rows[i].hyperperiods, 4);
    ck_assert_int_eq(result->rows[i].verified_hyperperiods, 4);
  }
}

/* ---- what is refused ------------------------------------------------------------------------ */

TEST(bad_options_are_refused) {
  options.modes[0] = PREM_MODE_TT;
  ck_assert_int_eq(compare(), PREM_ERR_ARGUMENT); /* twice */
  options.mode_count = 0;
  ck_assert_int_eq(compare(), PREM_ERR_ARGUMENT);
  options.mode_count = 1;
  options.sampling.samples = 0;
  ck_assert_int_eq(compare(), PREM_ERR_ARGUMENT); /* and no duration */
  options.sampling.samples = -1;
  ck_assert_int_eq(compare(), PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(result);
  ck_assert_uint_eq(prem_diag_errors(diag), 4);
}

TEST(every_negative_count_is_refused) {
  int64_t *const counts[] = {&options.sampling.samples, &options.sampling.discard,
                             &options.sampling.max_records, &options.sampling.verify_every,
                             &options.break_ns};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const int64_t before = *counts[i];
    *counts[i] = -1;
    ck_assert_int_eq(compare(), PREM_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, i)->reason, "negative"));
    *counts[i] = before;
  }
  options.sampling.discard = options.sampling.max_records = 0; /* the least */
  ck_assert_int_eq(compare(), PREM_OK);
}

TEST(a_mode_that_the_backend_lacks_is_named) {
  options.modes[0] = PREM_MODE_LEGACY;
  ck_assert_int_eq(compare(), PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_null(result);
  const char *reason = prem_diag_at(diag, 0)->reason;
  ck_assert_ptr_nonnull(strstr(reason, "legacy"));
  ck_assert_ptr_nonnull(strstr(reason, "sim"));
}

static prem_status run_but_lock(void *state, const prem_run_request *request, prem_trace *trace,
                                prem_diag *to) {
  if (request->mode != PREM_MODE_LOCK)
    return prem_backend_sim.run(state, request, trace, to);
  prem_diag_add(to, PREM_NOTE, 0, (prem_place){0}, "", "no token for '%s'", "pair");
  return PREM_ERR_UNAVAILABLE;
}

TEST(a_mode_that_turns_out_impossible_stops_no_other) {
  static prem_backend backend; /* the session outlives the test */
  backend = prem_backend_sim;
  backend.run = run_but_lock;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[1] = PREM_MODE_LOCK;
  options.modes[2] = PREM_MODE_TT;
  options.mode_count = 3;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_int_eq(result->row_count, 2);
  ck_assert_str_eq(result->rows[0].label, "free");
  ck_assert_str_eq(result->rows[1].label, "tt");
  ck_assert_int_eq(result->rows[1].samples, 5);
  ck_assert_int_eq(result->rows[1].makespan_ns.max, 580);
  ck_assert_int_eq(result->left_out_count, 1);
  ck_assert_int_eq(result->left_out[0].mode, PREM_MODE_LOCK);
  ck_assert_str_eq(result->left_out[0].reason, "no token for 'pair'");
  ck_assert_uint_eq(prem_diag_count(diag), 1); /* it is told once */
  prem_result_free(result);
  result = NULL;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, NULL),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_int_eq(result->left_out_count, 1);
  ck_assert_str_eq(result->left_out[0].reason, ""); /* nobody wanted to know */
  prem_result_free(result);
  result = NULL;
  options.modes[0] = PREM_MODE_LOCK;
  options.mode_count = 1;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_null(result);
}
