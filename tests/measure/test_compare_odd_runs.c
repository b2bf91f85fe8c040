/* SPDX-License-Identifier: Apache-2.0 */
/* Modes compared: runs unlike the others: disturbed, standing still, late. */
#include "measure/kept.h"
#include "runtime/core/backend.h"
#include "tests/common/compared.h"
#include "tests/common/suite.h"

/* ---- disturbed runs ------------------------------------------------------------------------- */

/** Every third hyperperiod, as it is counted over all runs, loses its core for 700 ns. */
static int64_t hyperperiods_run;
static prem_status run_disturbed(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t h = 0; h < trace->hyperperiods; ++h, ++hyperperiods_run) {
    const int64_t away_ns = hyperperiods_run % 3 == 0 ? 700 : 0;
    for (int64_t j = 0; j < trace->job_count; ++j)
      trace->away_ns[h * trace->job_count + j] = away_ns;
    for (int64_t i = 0; i < trace->record_count && away_ns > 0; ++i)
      if (trace->records[i].hyperperiod == h)
        trace->records[i].end_ns += 700;
    for (int64_t j = 0; j < trace->job_count && away_ns > 0; ++j)
      trace->job_end_ns[h * trace->job_count + j] += 700;
  }
  return status;
}

static void open_disturbed(void) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_disturbed;
  hyperperiods_run = 0;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[0] = PREM_MODE_TT;
  options.mode_count = 1;
  options.sampling.discard = 0;
  options.sampling.samples = 9;
}

GROUP("compare_odd_runs", .set_up = set_up, .tear_down = tear_down);

TEST(disturbed_runs_are_told_apart) {
  open_disturbed();
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert(row->disturbed.watched);
  ck_assert(!row->disturbed.mixed && !row->disturbed.counts_mixed);
  ck_assert_int_eq(row->samples, 6);
  ck_assert_int_eq(row->disturbed.count, 3);
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_eq(row->disturbed.samples[i].after, 2 * i);
    ck_assert_int_eq(row->disturbed.samples[i].makespan_ns, 580 + 700);
    ck_assert_int_eq(row->disturbed.samples[i].away_ns, 700);
  }
  ck_assert_int_eq(row->disturbed.longest_away_ns, 700);
  ck_assert_int_eq(row->disturbed.makespan_max_ns, 1280);
  ck_assert_int_eq(row->disturbed.releases, 3 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->makespan_ns.max, 580);
  ck_assert_int_eq(row->tasks[1].response_ns.count, 6);
  ck_assert_int_eq(row->tasks[1].response_ns.max, 280);
  ck_assert_int_eq(row->releases, 6 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->violations_checked, 6);
}

TEST(disturbed_hyperperiods_are_told_apart) {
  open_disturbed();
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.launches = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 6);
  ck_assert_int_eq(row->disturbed.count, 3);
  ck_assert(!row->disturbed.counts_mixed);
  ck_assert_int_eq(row->makespan_ns.max, 580);
  ck_assert_int_eq(row->releases, 6 * PHASES_OF_PAIR);
  ck_assert_int_eq(row->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 100); /* 800 with 700 more */
  ck_assert_int_eq(row->all_samples, 9);
  for (int64_t i = 0; i < 9 * row->job_count; ++i) { /* the jobs that the numbers are of */
    const int64_t away_ns = i / row->job_count % 3 == 0 ? 700 : 0;
    ck_assert_int_eq(row->away_samples_ns[i], away_ns);
    ck_assert_int_eq(row->response_samples_ns[i] > 700, away_ns > 0);
  }
  ck_assert_int_eq(row->overruns, 0);
  ck_assert_int_eq(row->violations_checked, 6);
  for (int64_t i = 0; i < row->example->record_count; ++i)
    ck_assert_int_ne(row->example->records[i].hyperperiod % 3, 0);
}

TEST(lost_records_leave_disturbed_counts_mixed) {
  open_disturbed();
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.launches = 1;
  options.sampling.max_records = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 6);
  ck_assert(result->rows[0].disturbed.counts_mixed);
  ck_assert_int_eq(result->rows[0].releases, 9 * PHASES_OF_PAIR);
}

TEST(disturbed_runs_can_be_mixed_in) {
  open_disturbed();
  options.mix_disturbed = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 9);
  ck_assert_int_eq(row->disturbed.count, 3);
  ck_assert(row->disturbed.mixed);
  ck_assert_int_eq(row->disturbed.samples[1].after, 3);
  ck_assert_int_eq(row->makespan_ns.max, 1280);
  ck_assert_int_eq(row->releases, 9 * PHASES_OF_PAIR);
}

TEST(nothing_but_disturbed_runs_is_a_result_too) {
  open_disturbed();
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 0);
  ck_assert_int_eq(result->rows[0].disturbed.count, 1);
}

/* ---- stalls --------------------------------------------------------------------------------- */

static bool wants_sentinel;

/** As a sentinel of cuda would say it: two stalls in each run, one of them in its last job. Of the
 * third run the first job was not watched. */
static prem_status run_stalled(void *state, const prem_run_request *request, prem_trace *trace,
                               prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  const int64_t run = hyperperiods_run++;
  wants_sentinel = request->sentinel;
  for (int64_t j = 0; j < trace->job_count; ++j)
    trace->away_ns[j] = j == trace->job_count - 1 ? 20000 + run : 0;
  if (run == 2)
    trace->away_ns[0] = -1;
  trace->stalls = (prem_stalls){
      .watched_ns = 1000000,
      .count = 2,
      .longest_ns = 20000 + run,
      .sum_ns = 32000 + run,
      .sm = 131,
      .has_own_sm = run != 1,
      .kept_count = 2,
      .kept = {{.start_ns = 5, .length_ns = 12000}, {.start_ns = 50000, .length_ns = 20000 + run}}};
  return status;
}

TEST(what_a_sentinel_saw_is_summed_up) {
  static prem_backend backend;
  open_disturbed();
  backend = prem_backend_sim;
  backend.run = run_stalled;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.sampling.samples = 3;
  options.sentinel = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert(wants_sentinel);
  ck_assert_int_eq(row->stalls.watched_ns, 3000000);
  ck_assert_int_eq(row->stalls.count, 6);
  ck_assert_int_eq(row->stalls.longest_ns, 20002);
  ck_assert_int_eq(row->stalls.sum_ns, 96003);
  ck_assert_int_eq(row->stalls.sm, 131);
  ck_assert(!row->stalls.has_own_sm);
  ck_assert_int_eq(row->stalls.kept_count, 6);
  ck_assert_int_eq(row->stalls.kept[5].launch, 2);
  ck_assert_int_eq(row->stalls.kept[5].length_ns, 20002);
  ck_assert_int_eq(row->disturbed.jobs, 3);
  ck_assert_int_eq(row->disturbed.unwatched, 1);
  ck_assert_int_eq(row->disturbed.longest_away_ns, 20002);
  ck_assert_int_eq(row->tasks[0].response_ns.count, 6);
  ck_assert_int_eq(row->tasks[1].response_ns.count, 0);
  ck_assert_int_eq(row->tasks[1].all_response_ns.count, 3);
  ck_assert_int_eq(row->tasks[0].padded.judged_disturbed, 0);
  ck_assert_int_eq(row->tasks[1].padded.trained, 0);
  ck_assert_int_eq(row->tasks[1].padded.judged_disturbed, 2);
}

/** It came when all was over. */
static prem_status run_unwatched(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  trace->stalls.watched_ns = 100;
  return status;
}

TEST(jobs_that_no_sentinel_watched_are_counted) {
  static prem_backend backend;
  open_disturbed();
  backend = prem_backend_sim;
  backend.run = run_unwatched;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.sampling.samples = 3;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert(!row->disturbed.watched);
  ck_assert_int_eq(row->disturbed.unwatched, 3 * row->job_count);
  ck_assert_int_eq(row->samples, 3);
}

/* ---- standstills ---------------------------------------------------------------------------- */

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
TESTS(standstills_of_all_blocks_are_counted, 2) {
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

/** A millisecond is a stop where no phase takes a quarter of it. */
TEST(a_stop_is_longer_than_four_phases) {
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

TESTS(the_worst_run_and_the_one_before_it_are_kept, 2) {
  options.sampling.scenario = _i == 0 ? PREM_RELAUNCH : PREM_RESIDENT;
  options.sampling.launches = 1;
  ck_assert_int_eq(compare_late(), PREM_OK);
  expect_worst(&result->rows[0], 601); /* free has no releases: its makespan */
  expect_worst(&result->rows[1], LATE_NS);
}

TEST(where_all_runs_are_alike_the_first_is_kept_alone) {
  prem_kept_run kept[PREM_MAX_KEPT];
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(prem_row_kept(&result->rows[1], kept), 1);
  ck_assert_ptr_eq(kept[0].trace, result->rows[1].example);
  ck_assert_int_eq(kept[0].run, 0);
}

/* Only its prefetches are released, the rest follows. */
TEST(the_worst_of_a_task_of_chains_is_the_latest) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_gt(result->rows[1].releases, 0);
  ck_assert_int_eq(result->rows[1].worst_ns, 0); /* lateness; a makespan is above it */
}

/* ---- a release too late --------------------------------------------------------------------- */

TEST(a_release_beyond_the_limit_ends_it) {
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

TEST(without_raw_records_the_break_names_task_and_phase) {
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 1, 0, &trace), PREM_OK);
  trace->stats[3 + PREM_WRITEBACK].lateness_max_ns = 9;
  prem_break broke;
  ck_assert(!prem_find_break(trace, 9, 0, 4, &broke));
  ck_assert(prem_find_break(trace, 8, 0, 4, &broke));
  ck_assert(broke.found && !broke.has_place);
  ck_assert_int_eq(broke.task, 1);
  ck_assert_int_eq(broke.phase, PREM_WRITEBACK);
  ck_assert_int_eq(broke.lateness_ns, 9);
}

TEST(nothing_ends_it_within_the_limit) {
  options.break_ns = LATE_NS;
  ck_assert_int_eq(compare_late(), PREM_OK);
  ck_assert(!result->broke.found);
  ck_assert_int_eq(result->rows[1].samples, 10);
}
