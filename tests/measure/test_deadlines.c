/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines counted, of all jobs and of undisturbed ones, in runs made by hand. */
#include "runtime/core/backend.h"
#include "tests/common/compared.h"
#include "tests/common/suite.h"

/* As the pair, whose a answers after 180 ns and, left free, its first job after 210; b by its plan
 * after 280 and free after 210. */
static const char hasty[] = PAIR("1L", "deadline_ns = 180L;", "", "");
enum { DELAY_NS = 1000, SAMPLES = 5 };

/** In every hyperperiod the second job of a loses its core, and is late. */
static prem_status run_disturbed(void *state, const prem_run_request *request, prem_trace *trace,
                                 prem_diag *to) {
  const prem_status status = prem_backend_sim.run(state, request, trace, to);
  for (int64_t h = 0; h < trace->hyperperiods; ++h) {
    int64_t *away_ns = trace->away_ns + h * trace->job_count;
    away_ns[0] = away_ns[2] = 0;
    away_ns[1] = DELAY_NS;
    trace->job_end_ns[h * trace->job_count + 1] += DELAY_NS;
  }
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].task == 0 && trace->records[i].job == 1)
      trace->records[i].end_ns += DELAY_NS;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    trace->stats[p].overruns += trace->hyperperiods;
  return status;
}

/** The last job never ends. */
static prem_status run_broken(void *state, const prem_run_request *request, prem_trace *trace,
                              prem_diag *to) {
  prem_backend_sim.run(state, request, trace, to);
  --trace->hyperperiods;
  trace->job_end_ns[trace->hyperperiods * trace->job_count + 1] = -1;
  return PREM_ERR_MACHINE;
}

static void open_with(prem_status (*run)(void *, const prem_run_request *, prem_trace *,
                                         prem_diag *)) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run;
  reopen(hasty);
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[0] = PREM_MODE_TT;
  options.mode_count = 1;
}

GROUP("jobs", .set_up = set_up, .tear_down = tear_down);

TEST(missed_deadlines_are_counted_in_every_mode) {
  reopen(hasty);
  ck_assert_int_eq(compare(), PREM_OK);
  for (int m = 0; m < 2; ++m) {
    const prem_row *row = &result->rows[m];
    const prem_task_result *a = &row->tasks[0], *b = &row->tasks[1];
    ck_assert_int_eq(a->deadline_ns, 180);
    ck_assert_int_eq(a->period_ns, 400);
    ck_assert_int_eq(a->all.jobs, 2 * SAMPLES);
    ck_assert_int_eq(a->all.missed, row->mode == PREM_MODE_FREE ? SAMPLES : 0);
    ck_assert_int_eq(a->undisturbed.missed, a->all.missed);
    ck_assert_int_eq(a->all_response_ns.count, a->response_ns.count);
    ck_assert_int_eq(b->deadline_ns, 0);
    ck_assert_int_eq(b->all.jobs, SAMPLES);
    ck_assert_int_eq(b->all.missed, -1);
    ck_assert_int_eq(b->undisturbed.missed, -1);
  }
}

TEST(without_raw_records_as_well) {
  reopen(hasty);
  options.sampling.max_records = 0;
  options.sampling.scenario = PREM_RESIDENT;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].mode, PREM_MODE_FREE);
  ck_assert_int_eq(result->rows[0].tasks[0].all.missed, SAMPLES);
}

TEST(a_disturbed_job_leaves_the_others_of_its_hyperperiod) {
  open_with(run_disturbed);
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  const prem_task_result *a = &row->tasks[0], *b = &row->tasks[1];
  ck_assert_int_eq(a->all.jobs, 2 * SAMPLES);
  ck_assert_int_eq(a->all.missed, SAMPLES);
  ck_assert_int_eq(a->all_response_ns.max, 180 + DELAY_NS);
  ck_assert_int_eq(a->undisturbed.jobs, SAMPLES);
  ck_assert_int_eq(a->undisturbed.missed, 0);
  ck_assert_int_eq(a->response_ns.count, SAMPLES);
  ck_assert_int_eq(a->response_ns.max, 180);
  ck_assert_int_eq(b->response_ns.count, SAMPLES);
  ck_assert_int_eq(row->disturbed.jobs, SAMPLES);
  ck_assert_int_eq(row->disturbed.count, SAMPLES); /* no makespan is as it should be */
  ck_assert_int_eq(row->samples, 0);
  ck_assert_int_eq(a->phase[PREM_COMPUTE].count, SAMPLES);
  ck_assert_int_eq(a->phase[PREM_COMPUTE].duration_max_ns, 50);
  ck_assert_int_eq(b->phase[PREM_COMPUTE].count, SAMPLES);
  ck_assert_int_eq(row->overruns, 0);
  ck_assert_int_eq(row->disturbed.overruns, 3 * SAMPLES);
  ck_assert_int_eq(row->violations_checked, SAMPLES);
}

TEST(disturbed_jobs_can_be_mixed_in) {
  open_with(run_disturbed);
  options.mix_disturbed = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, SAMPLES);
  ck_assert_int_eq(row->tasks[0].undisturbed.jobs, 2 * SAMPLES);
  ck_assert_int_eq(row->tasks[0].undisturbed.missed, SAMPLES);
  ck_assert_int_eq(row->tasks[0].response_ns.max, 180 + DELAY_NS);
  ck_assert_int_eq(row->overruns, 3 * SAMPLES);
}

TEST(a_job_that_never_ended_missed_its_deadline) {
  open_with(run_broken);
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.launches = 1;
  options.sampling.discard = 0;
  ck_assert_int_eq(compare(), PREM_ERR_MACHINE);
  const prem_task_result *a = &result->rows[0].tasks[0];
  ck_assert_int_eq(a->all_response_ns.count, 2 * (SAMPLES - 1));
  ck_assert_int_eq(a->all.jobs, 2 * (SAMPLES - 1) + 1);
  ck_assert_int_eq(a->all.missed, 1);
  ck_assert_int_eq(a->undisturbed.missed, 0);
}
