/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing modes on the simulator, whose every time is known beforehand. */
/* ctest: threads */
#include <inttypes.h>

#include "measure/kept.h"
#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "ttprem/ttprem_measure.h"

/*
 * Task a: every 400 ns; [0, 100) prefetch, [100, 150) compute, [150, 180) writeback. Task b: every
 * 800 ns, released at 100, planned from 200 to 380. Left free, b's prefetch begins at 100 and meets
 * a's writeback from 150 on: both run at half speed until 210, b's prefetch ends at 230.
 */
static const char pair[] =
    "version = 1; name = \"pair\";\n"
    "platform: { blocks = 2; clock_step_ns = 1L; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 400L; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 800L;\n"
    "    release_ns = 100L; publish_ns = 500L; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 800L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; jobs = 2; start_ns = 0L; },\n"
    "  { task = \"a\"; phase = \"compute\"; jobs = 2; start_ns = 100L; },\n"
    "  { task = \"a\"; phase = \"writeback\"; jobs = 2; start_ns = 150L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; start_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"compute\"; start_ns = 300L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; start_ns = 350L; }\n"
    "); };\n";
enum { PHASES_OF_PAIR = 9 };

static prem_schedule *schedule;
static prem_session *session;
static prem_diag *diag;
static prem_compare_options options;
static prem_result *result;

static void open_text(const char *text) {
  schedule = checked_schedule(text);
  session = open_on("sim", schedule);
}

static void set_up(void) {
  open_text(pair);
  diag = prem_diag_new();
  result = NULL;
  options = (prem_compare_options){.modes = {PREM_MODE_FREE, PREM_MODE_TT},
                                   .mode_count = 2,
                                   .sampling.samples = 5,
                                   .sampling.discard = 2,
                                   .sampling.seed = 1,
                                   .sampling.max_records = 1000};
}

static void tear_down(void) {
  prem_result_free(result);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static prem_status compare(void) {
  prem_result_free(result);
  return prem_compare(session, schedule, prem_backend_find("sim"), &options, &result, diag);
}

START_TEST(rows_come_in_the_order_asked_for) {
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->row_count, 2);
  ck_assert_str_eq(result->rows[0].label, "free");
  ck_assert_str_eq(result->rows[1].label, "tt");
  ck_assert_str_eq(result->schedule_name, "pair");
  ck_assert_int_eq(result->hyperperiod_ns, 800);
  ck_assert_int_eq(result->late_ns, 1);
  ck_assert(!result->interrupted);
  for (int i = 0; i < 2; ++i) {
    ck_assert_str_eq(result->rows[i].backend, "sim");
    ck_assert_int_eq(result->rows[i].samples, 5);
    ck_assert_int_eq(result->rows[i].discarded, 2);
    ck_assert(!result->rows[i].output_checked); /* abstract tasks write nothing */
  }
}
END_TEST

START_TEST(tt_takes_what_the_plan_says) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *tt = &result->rows[1];
  ck_assert_int_eq(tt->makespan_ns.count, 5);
  ck_assert_int_eq(tt->makespan_ns.max, 580);
  ck_assert_int_eq(tt->jitter_ns, 0);
  ck_assert_int_eq(tt->releases, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->late_releases, 0);
  ck_assert_int_eq(tt->lateness_max_ns, 0);
  ck_assert_int_eq(tt->lateness_hist[0], 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->overruns, 0);
  ck_assert_int_eq(tt->violations_certain + tt->violations_possible, 0);
  ck_assert_int_eq(tt->violations_checked, 5);
  ck_assert_int_eq(tt->trace_lost, 0);
  ck_assert_int_eq(tt->tasks[0].response_ns.count, 10);
  ck_assert_int_eq(tt->tasks[0].response_ns.min, 180);
  ck_assert_int_eq(tt->tasks[0].response_ns.max, 180);
  ck_assert_int_eq(tt->tasks[1].response_ns.max, 280); /* 380 minus its release at 100 */
  ck_assert_int_eq(tt->tasks[0].published_ns, -1);
  ck_assert_int_eq(tt->tasks[1].published_ns, 500);
  ck_assert_int_eq(tt->tasks[1].wcet_ns[PREM_PREFETCH], 100);
  ck_assert_int_eq(tt->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 100);
  ck_assert_int_eq(tt->tasks[1].phase[PREM_PREFETCH].count, 5);
}
END_TEST

START_TEST(free_shows_interference_and_violations) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->releases, 0);
  ck_assert_int_eq(row->lateness_max_ns, INT64_MIN);
  ck_assert_int_eq(row->violations_certain, 5);
  ck_assert_int_eq(row->violations_checked, 5);
  ck_assert_int_eq(row->tasks[0].response_ns.max, 210);
  ck_assert_int_eq(row->tasks[0].response_ns.min, 180); /* its second job is alone */
  ck_assert_int_eq(row->tasks[0].phase[PREM_WRITEBACK].duration_max_ns, 60);
  ck_assert_int_eq(row->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 130);
}
END_TEST

START_TEST(samples_are_kept_in_order) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->job_count, 3);
  for (int64_t s = 0; s < row->samples; ++s) {
    ck_assert_int_eq(row->samples_ns[s], 580);
    ck_assert_int_eq(row->response_samples_ns[s * 3], 210);
    ck_assert_int_eq(row->response_samples_ns[s * 3 + 1], 180);
    ck_assert_int_eq(row->response_samples_ns[s * 3 + 2], 210); /* 310 minus 100 */
  }
}
END_TEST

START_TEST(the_example_holds_one_counted_run) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_trace *example = result->rows[1].example;
  ck_assert_ptr_nonnull(example);
  ck_assert_int_eq(example->record_count, PHASES_OF_PAIR);
  for (int64_t i = 1; i < example->record_count; ++i)
    ck_assert_int_le(example->records[i - 1].start_ns, example->records[i].start_ns);
}
END_TEST

/* A launch of two hyperperiods that do not count and some that do, with room for so many records:
 * the example is made of those that count, and without any it is the first hyperperiod's. */
START_TEST(an_example_has_what_there_is_room_for) {
  options.mode_count = 1;
  options.modes[0] = PREM_MODE_TT;
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 12;
  for (int64_t room = 1; room <= 4 * PHASES_OF_PAIR; ++room) {
    options.sampling.max_records = room;
    ck_assert_int_eq(compare(), PREM_OK);
    const prem_row *row = &result->rows[0];
    const int64_t counted = room - 2 * PHASES_OF_PAIR;
    ck_assert_ptr_nonnull(row->example);
    ck_assert_int_eq(row->example_run, counted > 0 ? 2 : 0);
    ck_assert_msg(row->example->record_count <= (counted > 0 ? counted : 0),
                  "%" PRId64 " of %" PRId64, row->example->record_count, counted);
    ck_assert_int_eq(row->example->record_count > 0, counted > 0);
  }
}
END_TEST

START_TEST(resident_hyperperiods_are_samples) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 23;
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    const prem_row *row = &result->rows[i];
    ck_assert_int_eq(row->samples, 23);
    ck_assert_int_eq(row->discarded, 10 * 2); /* two of each of the ten launches */
    ck_assert_int_eq(row->makespan_ns.min, 580);
    ck_assert_int_eq(row->makespan_ns.max, 580);
    ck_assert_int_eq(row->violations_checked, 23);
    ck_assert_int_eq(row->tasks[1].response_ns.count, 23);
    ck_assert_int_eq(row->tasks[1].phase[PREM_COMPUTE].count, 23);
    ck_assert_int_ge(row->example->records[0].hyperperiod, 2);
  }
  ck_assert_int_eq(result->rows[0].violations_certain, 23);
  ck_assert_int_eq(result->rows[1].tasks[1].response_ns.max, 280);
}
END_TEST

/* ---- the order of the runs ------------------------------------------------------------------ */

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

START_TEST(every_round_has_every_mode_once) {
  options.modes[2] = PREM_MODE_LOCK;
  options.mode_count = 3;
  run_log log = order_of_runs(7);
  ck_assert_int_eq(log.count, 21);
  ck_assert_int_eq(log.all, 21);
  for (int i = 0; i < log.count; i += 3)
    ck_assert_uint_eq(1u << log.modes[i] | 1u << log.modes[i + 1] | 1u << log.modes[i + 2],
                      1u << PREM_MODE_FREE | 1u << PREM_MODE_TT | 1u << PREM_MODE_LOCK);
}
END_TEST

START_TEST(the_seed_decides_the_order) {
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
END_TEST

START_TEST(counted_runs_hand_out_their_traces) {
  run_log log = {0};
  options.on_trace = log_trace;
  options.trace_context = &log;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(log.count, 10);
  int64_t next[PREM_MODE_COUNT] = {0};
  for (int i = 0; i < log.count; ++i)
    ck_assert_int_eq(log.runs[i], next[log.modes[i]]++);
}
END_TEST

static prem_status refuse_third_trace(void *context, const prem_trace *trace, prem_mode mode,
                                      int64_t run) {
  (void)trace;
  (void)mode;
  (void)run;
  int *calls = context;
  return ++*calls == 3 ? PREM_ERR_IO : PREM_OK;
}

START_TEST(a_refused_trace_ends_the_comparison) {
  int calls = 0;
  options.on_trace = refuse_third_trace;
  options.trace_context = &calls;
  ck_assert_int_eq(compare(), PREM_ERR_IO);
  ck_assert_int_eq(calls, 3);
  ck_assert_ptr_nonnull(result);
  ck_assert(!result->interrupted);
}
END_TEST

/* ---- ending early --------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void stop_after_nine(void *context, int64_t done, int64_t all, prem_mode mode) {
  (void)context;
  (void)all;
  (void)mode;
  stop = done >= 9;
}

START_TEST(what_was_measured_survives_an_interruption) {
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
END_TEST

START_TEST(an_interruption_before_the_first_run_leaves_nothing) {
  stop = 1;
  options.stop = &stop;
  ck_assert_int_eq(compare(), PREM_ERR_INTERRUPTED);
  ck_assert_ptr_null(result);
}
END_TEST

START_TEST(a_duration_ends_after_a_whole_round) {
  options.sampling.samples = 0;
  options.sampling.discard = 0;
  options.sampling.duration_s = 0.02;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_ge(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[0].samples, result->rows[1].samples);
}
END_TEST

START_TEST(a_duration_however_short_counts_one_run) {
  options.sampling.samples = 0;
  options.sampling.discard = 3;
  options.sampling.duration_s = 1e-9;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_ptr_nonnull(result);
  ck_assert_int_eq(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[1].samples, 1);
}
END_TEST

/* However many are to be discarded, after half of it runs count. A machine that stands still for
 * the other half is given another chance. */
START_TEST(discarding_runs_takes_half_of_a_duration_at_most) {
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
END_TEST

/** 50 hyperperiods for each of the two modes. */
static void ask_for_fifty(void) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 1000000;
  options.sampling.duration_s = 800e-9 * 2 * 50.5;
}

START_TEST(a_resident_duration_is_divided_among_the_modes) {
  ask_for_fifty();
  run_log log = order_of_runs(1);
  /* 2 discarded of each of 10 launches; machine time may end the rounds sooner */
  ck_assert_int_eq(log.all, 20);
  ck_assert_int_ge(result->rows[1].samples, 1);
  ck_assert_int_le(result->rows[1].samples, 30);
}
END_TEST

START_TEST(discarding_takes_half_of_a_duration_at_most) {
  ask_for_fifty();
  options.sampling.discard = 10;
  ck_assert_int_eq(order_of_runs(1).all, 2 * 2);
  options.sampling.discard = 1000;
  ck_assert_int_eq(order_of_runs(1).all, 2); /* one launch, and half of it counts */
  ck_assert_int_eq(result->rows[0].samples, 25);
  ck_assert_int_eq(result->rows[0].discarded, 25);
}
END_TEST

/* The other half is for what counts, which is about as much then. */
START_TEST(discarding_runs_leaves_half_of_a_duration) {
  options.sampling.samples = 0;
  options.sampling.discard = INT32_MAX;
  options.sampling.duration_s = 0.2;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_gt(result->rows[0].samples, result->rows[0].discarded / 20);
}
END_TEST

/* Room for 25 launches of one discarded hyperperiod and one that counts, where 10 of two and three
 * would be made. */
START_TEST(verifying_keeps_to_a_duration) {
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
END_TEST

START_TEST(a_duration_asks_for_no_more_than_the_repeats) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 4;
  options.sampling.duration_s = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 4);
  ck_assert_int_eq(result->rows[1].samples, 4);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------ */

START_TEST(bad_options_are_refused) {
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
END_TEST

START_TEST(every_negative_count_is_refused) {
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
END_TEST

START_TEST(a_mode_that_the_backend_lacks_is_named) {
  options.modes[0] = PREM_MODE_LEGACY;
  ck_assert_int_eq(compare(), PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_null(result);
  const char *reason = prem_diag_at(diag, 0)->reason;
  ck_assert_ptr_nonnull(strstr(reason, "legacy"));
  ck_assert_ptr_nonnull(strstr(reason, "sim"));
}
END_TEST

static prem_status run_but_lock(void *state, const prem_run_request *request, prem_trace *trace,
                                prem_diag *to) {
  if (request->mode != PREM_MODE_LOCK)
    return prem_backend_sim.run(state, request, trace, to);
  prem_diag_add(to, PREM_NOTE, 0, (prem_place){0}, "", "no token for '%s'", "pair");
  return PREM_ERR_UNAVAILABLE;
}

START_TEST(a_mode_that_turns_out_impossible_stops_no_other) {
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
END_TEST

/** Every third hyperperiod, as it is counted over all runs, loses its core for 700 ns. */
static int64_t hyperperiods_run;
static prem_status run_preempted(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t h = 0; h < trace->hyperperiods; ++h, ++hyperperiods_run) {
    trace->away_ns[h] = hyperperiods_run % 3 == 0 ? 700 : 0;
    for (int64_t i = 0; i < trace->record_count && trace->away_ns[h] > 0; ++i)
      if (trace->records[i].hyperperiod == h)
        trace->records[i].end_ns += 700;
    for (int64_t j = 0; j < trace->job_count && trace->away_ns[h] > 0; ++j)
      trace->job_end_ns[h * trace->job_count + j] += 700;
  }
  return status;
}

static void open_preempted(void) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_preempted;
  hyperperiods_run = 0;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[0] = PREM_MODE_TT;
  options.mode_count = 1;
  options.sampling.discard = 0;
  options.sampling.samples = 9;
}

START_TEST(preempted_runs_are_told_apart) {
  open_preempted();
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert(row->preempted.watched);
  ck_assert(!row->preempted.mixed && !row->preempted.counts_mixed);
  ck_assert_int_eq(row->samples, 6);
  ck_assert_int_eq(row->preempted.count, 3);
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_eq(row->preempted.samples[i].after, 2 * i);
    ck_assert_int_eq(row->preempted.samples[i].makespan_ns, 580 + 700);
    ck_assert_int_eq(row->preempted.samples[i].away_ns, 700);
  }
  ck_assert_int_eq(row->preempted.longest_away_ns, 700);
  ck_assert_int_eq(row->preempted.makespan_max_ns, 1280);
  ck_assert_int_eq(row->preempted.releases, 3 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->makespan_ns.max, 580);
  ck_assert_int_eq(row->tasks[1].response_ns.count, 6);
  ck_assert_int_eq(row->tasks[1].response_ns.max, 280);
  ck_assert_int_eq(row->releases, 6 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->violations_checked, 6);
}
END_TEST

START_TEST(preempted_hyperperiods_are_told_apart) {
  open_preempted();
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.launches = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 6);
  ck_assert_int_eq(row->preempted.count, 3);
  ck_assert(!row->preempted.counts_mixed);
  ck_assert_int_eq(row->makespan_ns.max, 580);
  ck_assert_int_eq(row->releases, 6 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 100); /* 800 with 700 more */
  ck_assert_int_eq(row->overruns, 0);
  ck_assert_int_eq(row->violations_checked, 6);
  for (int64_t i = 0; i < row->example->record_count; ++i)
    ck_assert_int_ne(row->example->records[i].hyperperiod % 3, 0);
}
END_TEST

START_TEST(lost_records_leave_preempted_counts_mixed) {
  open_preempted();
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.launches = 1;
  options.sampling.max_records = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 6);
  ck_assert(result->rows[0].preempted.counts_mixed);
  ck_assert_int_eq(result->rows[0].releases, 9 * PHASES_OF_PAIR);
}
END_TEST

START_TEST(preempted_runs_can_be_mixed_in) {
  open_preempted();
  options.mix_preempted = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 9);
  ck_assert_int_eq(row->preempted.count, 3);
  ck_assert(row->preempted.mixed);
  ck_assert_int_eq(row->preempted.samples[1].after, 3);
  ck_assert_int_eq(row->makespan_ns.max, 1280);
  ck_assert_int_eq(row->releases, 9 * PHASES_OF_PAIR);
}
END_TEST

START_TEST(nothing_but_preempted_runs_is_a_result_too) {
  open_preempted();
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 0);
  ck_assert_int_eq(result->rows[0].preempted.count, 1);
}
END_TEST

/** Takes so long as free does, and says how it was run. */
static prem_status run_copy(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *to) {
  prem_run_request moved = *request;
  if (moved.mode == PREM_MODE_COPY)
    moved.mode = PREM_MODE_FREE;
  return prem_backend_sim.run(state, &moved, trace, to);
}

static const char *copy_mode_note(const void *state, prem_mode mode) {
  (void)state;
  return mode == PREM_MODE_COPY ? "by hand" : NULL;
}

START_TEST(what_computes_nothing_has_no_responses_and_no_verdict) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_copy;
  backend.mode_note = copy_mode_note;
  backend.modes |= 1u << PREM_MODE_COPY;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[1] = PREM_MODE_COPY;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  const prem_row *free_run = &result->rows[0], *copy = &result->rows[1];
  ck_assert_str_eq(free_run->mode_note, "");
  ck_assert_str_eq(copy->mode_note, "by hand");
  ck_assert_int_eq(copy->makespan_ns.max, 580);
  ck_assert_int_eq(copy->padded.published_ns, -1);
  ck_assert_int_ne(free_run->padded.published_ns, -1);
  ck_assert(!copy->output_checked);
  for (int t = 0; t < 2; ++t) {
    ck_assert_int_eq(copy->tasks[t].response_ns.count, 0);
    ck_assert_int_eq(copy->tasks[t].padded.published_ns, -1);
    ck_assert_int_eq(copy->tasks[t].published_ns, -1);
  }
}
END_TEST

/** All stand still for a millisecond in the middle of each time-triggered run. */
static prem_status run_and_stop(void *state, const prem_run_request *request, prem_trace *trace,
                                prem_diag *to) {
  enum { AT_NS = 120, STOP_NS = 1000000 };
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t i = 0; i < trace->record_count && request->mode == PREM_MODE_TT; ++i) {
    trace->records[i].start_ns += trace->records[i].start_ns > AT_NS ? STOP_NS : 0;
    trace->records[i].end_ns += trace->records[i].end_ns > AT_NS ? STOP_NS : 0;
  }
  return status;
}

static int64_t phases_take_ns; /* as their counts say */

static prem_status run_long_and_stop(void *state, const prem_run_request *request,
                                     prem_trace *trace, prem_diag *to) {
  const prem_status status = run_and_stop(state, request, trace, to);
  prem_phase_stats *stats = &trace->stats[PREM_PHASE_COUNT + PREM_COMPUTE];
  stats->duration_sum_ns = phases_take_ns * stats->count;
  return status;
}

static prem_status probe_other(prem_machine *machine, prem_diag *to) {
  const prem_status status = prem_backend_sim.probe(machine, to);
  snprintf(machine->backend, sizeof machine->backend, "other");
  return status;
}

/** One in each counted run; none on the simulator, which has nobody else. */
START_TEST(standstills_of_all_blocks_are_counted) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_and_stop;
  if (_i == 1)
    backend.probe = probe_other;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  const prem_row *free_run = &result->rows[0], *tt = &result->rows[1];
  ck_assert_int_eq(free_run->standstills, 0);
  ck_assert_int_eq(tt->standstills, _i == 1 ? options.sampling.samples : 0);
  ck_assert(_i == 0 || (tt->standstill_max_ns > 990000 && tt->standstill_max_ns <= 1000000));
}
END_TEST

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
START_TEST(each_mode_shows_its_pace_once) {
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
END_TEST

/* ---- the worst run -------------------------------------------------------------------------- */

enum { LATE_RUN = 5, LATE_NS = 37 };

/** The compute of a's second job starts late in run 5 of every mode, and less so in run 6; in a
 *  resident launch, in these hyperperiods. */
static prem_status run_late(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *to) {
  static int64_t runs[PREM_MODE_COUNT];
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    const int64_t run = runs[request->mode] + record->hyperperiod;
    if (record->task != 0 || record->job != 1 || record->phase != PREM_COMPUTE || run < LATE_RUN ||
        run > LATE_RUN + 1)
      continue;
    record->start_ns += LATE_NS - (run - LATE_RUN);
    const int64_t end_ns = 1 + record->hyperperiod * 800 + 600;
    trace->job_end_ns[record->hyperperiod * trace->job_count + 1] = end_ns;
    if (request->mode == PREM_MODE_TT)
      trace->stats[PREM_COMPUTE].lateness_max_ns = LATE_NS;
  }
  runs[request->mode] += request->hyperperiods;
  if (runs[request->mode] >= 10) /* for the next test */
    runs[request->mode] = 0;
  return status;
}

static prem_status compare_late(void) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_late;
  prem_session_close(session);
  options.sampling.discard = 0;
  options.sampling.samples = 10;
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  return prem_compare(session, schedule, &backend, &options, &result, diag);
}

static void expect_worst(const prem_row *row, int64_t worst_ns) {
  prem_kept_run kept[PREM_MAX_KEPT];
  ck_assert_int_eq(prem_row_kept(row, kept), 3);
  ck_assert_int_eq(kept[0].run, LATE_RUN);
  ck_assert_int_eq(kept[1].run, LATE_RUN - 1);
  ck_assert_int_eq(kept[2].run, 0);
  ck_assert_int_eq(row->worst_ns, worst_ns);
  ck_assert_int_eq(kept[0].trace->record_count, PHASES_OF_PAIR);
  ck_assert_int_eq(kept[1].trace->record_count, PHASES_OF_PAIR);
  int64_t latest_ns = 0;
  for (int64_t i = 0; i < PHASES_OF_PAIR; ++i) {
    const prem_trace_record *record = &kept[0].trace->records[i];
    if (record->release_ns != PREM_NO_RELEASE && record->start_ns - record->release_ns > latest_ns)
      latest_ns = record->start_ns - record->release_ns;
    ck_assert_int_eq(record->hyperperiod, kept[0].trace->records[0].hyperperiod);
  }
  ck_assert_int_eq(latest_ns, row->releases > 0 ? worst_ns : 0);
}

START_TEST(the_worst_run_and_the_one_before_it_are_kept) {
  options.sampling.scenario = _i == 0 ? PREM_RELAUNCH : PREM_RESIDENT;
  options.sampling.launches = 1;
  ck_assert_int_eq(compare_late(), PREM_OK);
  expect_worst(&result->rows[0], 601); /* free has no releases: its makespan */
  expect_worst(&result->rows[1], LATE_NS);
}
END_TEST

START_TEST(where_all_runs_are_alike_the_first_is_kept_alone) {
  prem_kept_run kept[PREM_MAX_KEPT];
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(prem_row_kept(&result->rows[1], kept), 1);
  ck_assert_ptr_eq(kept[0].trace, result->rows[1].example);
  ck_assert_int_eq(kept[0].run, 0);
}
END_TEST

START_TEST(a_release_beyond_the_limit_ends_it) {
  options.break_ns = LATE_NS - 1;
  ck_assert_int_eq(compare_late(), PREM_OK);
  const prem_break *broke = &result->broke;
  ck_assert(broke->found && broke->has_place);
  ck_assert_int_eq(broke->mode, PREM_MODE_TT);
  ck_assert_int_eq(broke->task, 0);
  ck_assert_int_eq(broke->phase, PREM_COMPUTE);
  ck_assert_int_eq(broke->lateness_ns, LATE_NS);
  ck_assert_int_eq(broke->run, LATE_RUN);
  ck_assert_int_eq(broke->job, 1);
  ck_assert_int_eq(broke->planned_ns, 500);
  ck_assert_int_eq(result->rows[1].samples, LATE_RUN + 1); /* the late one counts */
  ck_assert(!result->interrupted);
}
END_TEST

START_TEST(without_raw_records_the_break_names_task_and_phase) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 1, 0, &trace), PREM_OK);
  trace->stats[3 + PREM_WRITEBACK].lateness_max_ns = 9;
  prem_break broke;
  ck_assert(!prem_find_break(trace, 9, 0, 4, &broke));
  ck_assert(prem_find_break(trace, 8, 0, 4, &broke));
  ck_assert(broke.found && !broke.has_place);
  ck_assert_int_eq(broke.task, 1);
  ck_assert_int_eq(broke.phase, PREM_WRITEBACK);
  ck_assert_int_eq(broke.lateness_ns, 9);
  prem_trace_free(trace);
}
END_TEST

START_TEST(nothing_ends_it_within_the_limit) {
  options.break_ns = LATE_NS;
  ck_assert_int_eq(compare_late(), PREM_OK);
  ck_assert(!result->broke.found);
  ck_assert_int_eq(result->rows[1].samples, 10);
}
END_TEST

/** A millisecond is a stop where no phase takes a quarter of it. */
START_TEST(a_stop_is_longer_than_four_phases) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_long_and_stop;
  backend.probe = probe_other;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  phases_take_ns = 240000;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  ck_assert_int_eq(result->rows[1].standstills, options.sampling.samples);
  prem_result_free(result);
  phases_take_ns = 260000;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  ck_assert_int_eq(result->rows[1].standstills, 0);
}
END_TEST

/* ---- raw records ----------------------------------------------------------------------------- */

START_TEST(without_room_counts_are_kept_and_losses_told) {
  options.sampling.max_records = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *tt = &result->rows[1];
  ck_assert_int_eq(tt->trace_lost, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->releases, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->violations_checked, 0);
  ck_assert_ptr_null(tt->example);
}
END_TEST

START_TEST(incomplete_hyperperiods_do_not_count_as_judged) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 1;
  options.sampling.discard = 3;
  options.sampling.max_records = 2 * PHASES_OF_PAIR;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[0].violations_checked, 0);
  ck_assert_int_eq(result->rows[0].trace_lost, 2 * PHASES_OF_PAIR);
}
END_TEST

/* ---- which rule is promised ------------------------------------------------------------------ */

static void expect_exclusivity(prem_exclusivity planned, prem_exclusivity when_free) {
  options.sampling.discard = 0;
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].exclusivity, when_free);
  ck_assert_int_eq(result->rows[1].exclusivity, planned);
}

START_TEST(times_alone_are_the_same_times) {
  options.times_only = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->makespan_ns.count, 5);
  ck_assert_int_eq(row->tasks[0].response_ns.max, 210);
  ck_assert_int_eq(row->tasks[0].phase[PREM_WRITEBACK].duration_max_ns, 60);
  ck_assert_int_eq(row->violations_checked, 0);
  ck_assert_ptr_null(row->example);
}
END_TEST

START_TEST(exclusivity_follows_from_the_plan) {
  expect_exclusivity(PREM_EXCLUSIVE_BLOCK, PREM_EXCLUSIVE_NONE);
  prem_resource *memory = &schedule->platform.resources[0];
  memory->per_task = true;
  expect_exclusivity(PREM_EXCLUSIVE_GANG, PREM_EXCLUSIVE_NONE);
  memory->capacity = 2;
  expect_exclusivity(PREM_EXCLUSIVE_NONE, PREM_EXCLUSIVE_NONE);
  for (int t = 0; t < 2; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      schedule->tasks[t].phase[p].demand[0] *= 2;
  memory->per_task = false;
  expect_exclusivity(PREM_EXCLUSIVE_BLOCK, PREM_EXCLUSIVE_NONE); /* any two ask for too much */
  schedule->tasks[1].phase[PREM_WRITEBACK].busy_ns = 20;
  expect_exclusivity(PREM_EXCLUSIVE_REGULATED, PREM_EXCLUSIVE_NONE);
}
END_TEST

/* ---- outputs --------------------------------------------------------------------------------- */

static const char increment[] =
    "version = 1; name = \"increment\"; platform: { blocks = 1; clock_step_ns = 1L; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );\n"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 32 ];\n"
    "  arrays: { in = \"x\"; out = \"new\"; };\n"
    "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; "
    "};\n"
    "} );\n"
    "plan: { hyperperiod_ns = 60L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
    "    start_ns = 0L; repeat = 2; step_ns = 30L; } ); };\n";

static void reopen(const char *text) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  open_text(text);
}

START_TEST(right_outputs_are_seen_to_be_right) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    ck_assert(result->rows[i].output_checked);
    ck_assert(result->rows[i].output_ok);
    ck_assert(result->rows[i].verdict.ok);
  }
}
END_TEST

static void compute_one_too_many(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + (i == 5 ? 2.0F : 1.0F);
}

START_TEST(a_wrong_output_is_told_and_does_not_stop_the_measuring) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_one_too_many;
  schedule->tasks[0].definition = &wrong;
  session = open_on("sim", schedule);
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    const prem_row *row = &result->rows[i];
    ck_assert_int_eq(row->samples, 5);
    ck_assert(row->output_checked);
    ck_assert(!row->output_ok);
    ck_assert(!row->verdict.ok);
    ck_assert_int_eq(row->verdict.wrong, 2); /* one in each tile */
    ck_assert_int_eq(row->verdict.index[3], 5);
  }
}
END_TEST

/* Of the runs with two tiles each the first is wrong in both, the second in one, the others in
 * none. */
static void compute_wrong_at_first(const void *params, const prem_view *views) {
  static int computes;
  if (++computes <= 3)
    compute_one_too_many(params, views);
  else
    for (int32_t i = 0; i < views[1].extent[3]; ++i)
      ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1.0F;
}

START_TEST(right_runs_do_not_make_up_for_a_wrong_one) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_wrong_at_first;
  schedule->tasks[0].definition = &wrong;
  session = open_on("sim", schedule);
  options.mode_count = 1;
  options.sampling.discard = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(!result->rows[0].output_ok);
  ck_assert(!result->rows[0].verdict.ok);
  ck_assert_int_eq(result->rows[0].verdict.wrong, 2); /* what the first wrong run had */
}
END_TEST

enum { WRONG_ONE = 24, ALL_OF_THEM = 50 }; /* the 24th of 50 hyperperiods of two tiles */

static void compute_wrong_in_the_middle(const void *params, const prem_view *views) {
  static int computes;
  const int hyperperiod = computes++ / 2 % ALL_OF_THEM + 1;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] =
        ((const float *)views[0].data)[i] + (hyperperiod == WRONG_ONE && i == 5 ? 2.0F : 1.0F);
  (void)params;
}

static void verify_resident(int64_t every, int64_t verified, bool right) {
  options.sampling.verify_every = every;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, ALL_OF_THEM);
  ck_assert_int_eq(row->hyperperiods, ALL_OF_THEM);
  ck_assert_int_eq(row->verified_hyperperiods, verified);
  ck_assert_int_eq(row->output_ok, right);
  ck_assert_int_eq(row->verdict.wrong, right ? 0 : 2);
}

/* What hyperperiods behind it overwrite is not there any more when a launch ends. */
START_TEST(a_wrong_output_amid_a_resident_run_is_found_where_it_is_verified) {
  static const char *const backends[] = {"sim", "cpu"};
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_wrong_in_the_middle;
  schedule->tasks[0].definition = &wrong;
  session = open_on(backends[_i], schedule);
  options.modes[0] = PREM_MODE_TT;
  options.mode_count = 1;
  options.sampling = (prem_sampling){.scenario = PREM_RESIDENT, .samples = ALL_OF_THEM};
  options.mix_preempted = true;           /* cores may be shared here */
  verify_resident(0, 10, true);           /* launches end with the 5th, 10th, ... */
  verify_resident(5, 10, true);           /* the same */
  verify_resident(1, ALL_OF_THEM, false); /* each */
  verify_resident(3, 17, false);          /* 3rd, 6th, ... 24th, ... 50th */
  verify_resident(4, 13, false);          /* 4th, 8th, ... 24th, ... 44th, 47th, 50th */
  verify_resident(ALL_OF_THEM, 10, true); /* no fewer launches than without */
}
END_TEST

static int launches;
static prem_status ended_by;

/* The third launch ends behind three of its five hyperperiods. */
static prem_status run_interrupted(void *state, const prem_run_request *request, prem_trace *trace,
                                   prem_diag *to) {
  prem_run_request shorter = *request;
  if (++launches < 3)
    return prem_backend_sim.run(state, request, trace, to);
  shorter.hyperperiods = 3;
  const prem_status status = prem_backend_sim.run(state, &shorter, trace, to);
  return status == PREM_OK ? ended_by : status;
}

/* Nor one in which the machine failed; what both had measured counts. */
START_TEST(an_interrupted_launch_is_not_verified) {
  static prem_backend backend; /* the session outlives the test */
  launches = 0;
  ended_by = _i ? PREM_ERR_MACHINE : PREM_ERR_INTERRUPTED;
  backend = prem_backend_sim;
  backend.run = run_interrupted;
  reopen(increment);
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.mode_count = 1;
  options.sampling = (prem_sampling){.scenario = PREM_RESIDENT, .samples = ALL_OF_THEM};
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), ended_by);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 5 + 5 + 3);
  ck_assert_int_eq(row->hyperperiods, 5 + 5 + 3);
  ck_assert_int_eq(row->verified_hyperperiods, 2);
  ck_assert(row->output_ok);
}
END_TEST

/* Only its prefetches are released, the rest follows. */
START_TEST(the_worst_of_a_task_of_chains_is_the_latest) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_gt(result->rows[1].releases, 0);
  ck_assert_int_eq(result->rows[1].worst_ns, 0); /* lateness; a makespan is above it */
}
END_TEST

/* One hyperperiod of each mode on a CPU, which says how many fit into a duration. */
START_TEST(a_pace_is_found_and_discarded) {
  reopen(increment);
  prem_session_close(session);
  session = open_on("cpu", schedule);
  options = (prem_compare_options){
      .modes = {PREM_MODE_TT, PREM_MODE_FREE},
      .mode_count = 2,
      .sampling = {.scenario = PREM_RESIDENT, .samples = 3, .duration_s = 5, .max_records = 1000},
      .mix_preempted = true};
  ck_assert_int_eq(
      prem_compare(session, schedule, prem_backend_find("cpu"), &options, &result, diag), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    ck_assert_int_eq(result->rows[i].samples, 3);
    ck_assert_int_eq(result->rows[i].discarded, 1);
    ck_assert_int_eq(result->rows[i].hyperperiods, 4);
    ck_assert_int_eq(result->rows[i].verified_hyperperiods, 4);
  }
}
END_TEST

START_TEST(what_is_discarded_or_relaunched_is_told_of_what_was_verified) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].hyperperiods, 7); /* two discarded, all of them verified */
  ck_assert_int_eq(result->rows[0].verified_hyperperiods, 7);
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.verify_every = 2;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].hyperperiods, 5 * 3); /* five launches for five that count */
  ck_assert_int_eq(result->rows[0].verified_hyperperiods, 5);
}
END_TEST

static void compute_once(const void *params, const prem_view *views) {
  static int runs;
  if (++runs <= 2) /* the two tiles of the first run */
    for (int32_t i = 0; i < views[1].extent[3]; ++i)
      ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1.0F;
  else
    memset(views[1].data, 0, sizeof(float) * (size_t)views[1].extent[3]);
  (void)params;
}

START_TEST(an_output_of_an_earlier_run_does_not_pass) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel forgetful = *schedule->tasks[0].definition;
  forgetful.compute = compute_once;
  schedule->tasks[0].definition = &forgetful;
  session = open_on("sim", schedule);
  options.mode_count = 1;
  options.sampling.discard = 0;
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(result->rows[0].output_ok);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(!result->rows[0].output_ok);
}
END_TEST

/* ---- launches ------------------------------------------------------------------------------- */

/* From the call to the common start, in every mode. The simulator's host takes no time: it has
 * none. */
START_TEST(each_launch_that_counts_has_its_time) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].launch_ns.count, 0);
  prem_session_close(session);
  session = open_on("cpu", schedule);
  options.modes[2] = PREM_MODE_LOCK;
  options.modes[3] = PREM_MODE_LEGACY;
  options.mode_count = 4;
  for (int resident = 0; resident < 2; ++resident) {
    options.sampling.scenario = resident ? PREM_RESIDENT : PREM_RELAUNCH;
    options.sampling.samples = resident ? 20 : 5;
    prem_result_free(result);
    ck_assert_int_eq(
        prem_compare(session, schedule, prem_backend_find("cpu"), &options, &result, diag),
        PREM_OK);
    for (int i = 0; i < options.mode_count; ++i) {
      ck_assert_int_eq(result->rows[i].launch_ns.count, resident ? 10 : 5);
      ck_assert_int_gt(result->rows[i].launch_ns.min, 0);
    }
  }
}
END_TEST

/* ---- what a backend tells beside its runs ---------------------------------------------------- */

static prem_launch_candidate tried[] = {{.task = 0, .way = "one block a tile", .alone_ns = 7},
                                        {.task = 1, .way = "one thread", .chosen = true}};

static const prem_launch_search *two_ways(const void *state) {
  static const prem_launch_search search = {tried, 2};
  (void)state;
  return &search;
}

START_TEST(ways_that_were_tried_outlive_the_session) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.launch_search = two_ways;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  ck_assert_int_eq(result->launch_search.candidate_count, 2);
  ck_assert_ptr_ne(result->launch_search.candidates, tried);
  for (int i = 0; i < 2; ++i) {
    const prem_launch_candidate *found = &result->launch_search.candidates[i];
    ck_assert_int_eq(found->task, tried[i].task);
    ck_assert_str_eq(found->way, tried[i].way);
    ck_assert_int_eq(found->alone_ns, tried[i].alone_ns);
    ck_assert_int_eq(found->chosen, tried[i].chosen);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("compare");
  TCase *cases = tcase_create("compare");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, rows_come_in_the_order_asked_for);
  tcase_add_test(cases, tt_takes_what_the_plan_says);
  tcase_add_test(cases, free_shows_interference_and_violations);
  tcase_add_test(cases, samples_are_kept_in_order);
  tcase_add_test(cases, the_example_holds_one_counted_run);
  tcase_add_loop_test(cases, the_worst_run_and_the_one_before_it_are_kept, 0, 2);
  tcase_add_test(cases, where_all_runs_are_alike_the_first_is_kept_alone);
  tcase_add_test(cases, a_release_beyond_the_limit_ends_it);
  tcase_add_test(cases, without_raw_records_the_break_names_task_and_phase);
  tcase_add_test(cases, nothing_ends_it_within_the_limit);
  tcase_add_test(cases, an_example_has_what_there_is_room_for);
  tcase_add_test(cases, resident_hyperperiods_are_samples);
  tcase_add_test(cases, each_launch_that_counts_has_its_time);
  tcase_add_test(cases, every_round_has_every_mode_once);
  tcase_add_test(cases, the_seed_decides_the_order);
  tcase_add_test(cases, counted_runs_hand_out_their_traces);
  tcase_add_test(cases, a_refused_trace_ends_the_comparison);
  tcase_add_test(cases, what_was_measured_survives_an_interruption);
  tcase_add_test(cases, an_interruption_before_the_first_run_leaves_nothing);
  tcase_add_test(cases, a_duration_ends_after_a_whole_round);
  tcase_add_test(cases, a_duration_however_short_counts_one_run);
  tcase_add_test(cases, discarding_runs_takes_half_of_a_duration_at_most);
  tcase_add_test(cases, a_resident_duration_is_divided_among_the_modes);
  tcase_add_test(cases, discarding_takes_half_of_a_duration_at_most);
  tcase_add_test(cases, discarding_runs_leaves_half_of_a_duration);
  tcase_add_test(cases, verifying_keeps_to_a_duration);
  tcase_add_test(cases, a_duration_asks_for_no_more_than_the_repeats);
  tcase_add_test(cases, each_mode_shows_its_pace_once);
  tcase_add_test(cases, bad_options_are_refused);
  tcase_add_test(cases, every_negative_count_is_refused);
  tcase_add_test(cases, a_mode_that_the_backend_lacks_is_named);
  tcase_add_test(cases, a_mode_that_turns_out_impossible_stops_no_other);
  tcase_add_test(cases, preempted_runs_are_told_apart);
  tcase_add_test(cases, preempted_hyperperiods_are_told_apart);
  tcase_add_test(cases, lost_records_leave_preempted_counts_mixed);
  tcase_add_test(cases, preempted_runs_can_be_mixed_in);
  tcase_add_test(cases, nothing_but_preempted_runs_is_a_result_too);
  tcase_add_test(cases, what_computes_nothing_has_no_responses_and_no_verdict);
  tcase_add_test(cases, a_stop_is_longer_than_four_phases);
  tcase_add_loop_test(cases, standstills_of_all_blocks_are_counted, 0, 2);
  tcase_add_test(cases, without_room_counts_are_kept_and_losses_told);
  tcase_add_test(cases, incomplete_hyperperiods_do_not_count_as_judged);
  tcase_add_test(cases, times_alone_are_the_same_times);
  tcase_add_test(cases, exclusivity_follows_from_the_plan);
  tcase_add_test(cases, right_outputs_are_seen_to_be_right);
  tcase_add_test(cases, a_wrong_output_is_told_and_does_not_stop_the_measuring);
  tcase_add_test(cases, right_runs_do_not_make_up_for_a_wrong_one);
  tcase_add_loop_test(cases, a_wrong_output_amid_a_resident_run_is_found_where_it_is_verified, 0,
                      2);
  tcase_add_loop_test(cases, an_interrupted_launch_is_not_verified, 0, 2);
  tcase_add_test(cases, the_worst_of_a_task_of_chains_is_the_latest);
  tcase_add_test(cases, a_pace_is_found_and_discarded);
  tcase_add_test(cases, what_is_discarded_or_relaunched_is_told_of_what_was_verified);
  tcase_add_test(cases, an_output_of_an_earlier_run_does_not_pass);
  tcase_add_test(cases, ways_that_were_tried_outlive_the_session);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
