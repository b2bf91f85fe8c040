/* SPDX-License-Identifier: Apache-2.0 */
/* Hyperperiods that begin whenever they like: what is measured of each counts from where it began,
 * so nothing but the instants of the trace changes. */

#include "measure/interleave.h"
#include "measure/job_times.h"
#include "report/result_phases.h"
#include "runtime/core/backend.h"
#include "tests/common/chain_trace.h"
#include "tests/common/pair.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/measure.h"

static const char pair[] =
    PAIR("1L", "", "after = ( { task = \"a\"; instance = \"latest\"; } );",
         "measure: { chains = ( { name = \"way\"; tasks = [ \"a\", \"b\" ]; } ); };\n");
enum { HYPERPERIODS = 8, DISCARD = 1, LATE = 5, LATE_NS = 37, AWAY = 3, OVER_NS = 700 };

/* ---- hyperperiods that begin late ----------------------------------------------------------- */

/* Later and later, and never by whole hyperperiods. */
static int64_t delay_ns(int64_t hyperperiod) {
  return 13 + 61037 * hyperperiod * hyperperiod;
}

static void delay(prem_trace *trace) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    const int64_t by_ns = delay_ns(record->hyperperiod);
    record->release_ns += record->release_ns == PREM_NO_RELEASE ? 0 : by_ns;
    record->ready_ns += by_ns;
    record->start_ns += by_ns;
    record->end_ns += by_ns;
  }
  for (int64_t h = 0; h < trace->hyperperiods; ++h) {
    trace->epoch_ns[h] += delay_ns(h);
    for (int64_t j = 0; j < trace->job_count; ++j)
      trace->job_end_ns[h * trace->job_count + j] += delay_ns(h);
  }
}

/* In one hyperperiod a release comes late and its job with it; in another one all phases overrun,
 * since the core was away. */
static void disturb(prem_trace *trace, prem_mode mode) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod == LATE && record->task == 0 && record->job == 1 &&
        record->phase == PREM_COMPUTE)
      record->start_ns += LATE_NS;
    if (record->hyperperiod == AWAY)
      record->end_ns += OVER_NS;
  }
  trace->job_end_ns[LATE * trace->job_count + 1] += LATE_NS;
  for (int64_t h = 0; h < trace->hyperperiods; ++h)
    for (int64_t j = 0; j < trace->job_count; ++j)
      trace->away_ns[h * trace->job_count + j] = h == AWAY ? OVER_NS : 0;
  if (mode == PREM_MODE_TT)
    trace->stats[PREM_COMPUTE].lateness_max_ns = LATE_NS;
}

static bool delayed;

static prem_status run(void *state, const prem_run_request *request, prem_trace *trace,
                       prem_diag *diag) {
  const prem_status status = prem_backend_sim.run(state, request, trace, diag);
  disturb(trace, request->mode);
  if (delayed)
    delay(trace);
  return status;
}

static prem_backend backend;
static prem_schedule *schedule;
static prem_session *session;
static prem_diag *diag;

static void set_up(void) {
  backend = prem_backend_sim;
  backend.run = run;
  schedule = checked_schedule(pair);
  diag = prem_diag_new();
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
}

static void tear_down(void) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/* ---- single functions ----------------------------------------------------------------------- */

GROUP("epochs", .set_up = set_up, .tear_down = tear_down);

TEST(executors_say_where_hyperperiods_began) {
  OWNED(prem_trace) *trace = NULL;
  const prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 6};
  delayed = false;
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 1000, &trace), PREM_OK);
  for (int64_t h = 0; h < HYPERPERIODS; ++h)
    ck_assert_int_eq(trace->epoch_ns[h], -1);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_OK);
  for (int64_t h = 0; h < HYPERPERIODS; ++h)
    ck_assert_int_eq(trace->epoch_ns[h], h < 6 ? 800 * h : -1);
}

TEST(times_of_jobs_count_from_the_beginning) {
  int64_t first_job[] = {0, 2, 3}, epoch_ns[] = {5, 1234567};
  int64_t end_ns[] = {185, 600, 385, 1234567 + 180, 1234567 + 580, 1234567 + 380};
  const prem_trace trace = {.task_count = 2,
                            .job_count = 3,
                            .first_job = first_job,
                            .job_end_ns = end_ns,
                            .epoch_ns = epoch_ns};
  ck_assert_int_eq(prem_response_ns(schedule, &trace, 1, 0, 0), 180);
  ck_assert_int_eq(prem_response_ns(schedule, &trace, 1, 0, 1), 180);
  ck_assert_int_eq(prem_response_ns(schedule, &trace, 1, 1, 0), 280);
  ck_assert_int_eq(prem_response_ns(schedule, &trace, 0, 0, 1), 195);
  ck_assert_int_eq(prem_makespan_ns(&trace, 0), 595);
  ck_assert_int_eq(prem_makespan_ns(&trace, 1), 580);
}

/* ---- a comparison --------------------------------------------------------------------------- */

static prem_result *compare(bool late) {
  const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                        .mode_count = 2,
                                        .sampling.scenario = PREM_RESIDENT,
                                        .sampling.launches = 1,
                                        .sampling.samples = HYPERPERIODS - DISCARD,
                                        .sampling.discard = DISCARD,
                                        .sampling.max_records = 1000,
                                        .sampling.seed = 1,
                                        .break_ns = LATE_NS - 1};
  prem_result *result = NULL;
  delayed = late;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  return result;
}

static char *phases_of(const prem_result *result) {
  prem_phases phases;
  char *text = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(prem_phases_choose(result, schedule, &phases, diag), PREM_OK);
  FILE *file = open_memstream(&text, &bytes);
  prem_phases_write(&phases, file);
  fclose(file);
  prem_phases_free(&phases);
  return text;
}

static void assert_same_row(const prem_row *a, const prem_row *b) {
  ck_assert_int_eq(a->samples, b->samples);
  ck_assert_int_eq(a->samples, HYPERPERIODS - DISCARD - 1); /* one was disturbed */
  ck_assert_mem_eq(a->samples_ns, b->samples_ns, (size_t)a->samples * sizeof *a->samples_ns);
  ck_assert_mem_eq(a->response_samples_ns, b->response_samples_ns,
                   (size_t)(a->samples * a->job_count) * sizeof *a->response_samples_ns);
  ck_assert_int_eq(a->releases, b->releases);
  ck_assert_int_eq(a->lateness_max_ns, b->lateness_max_ns);
  ck_assert_int_eq(a->overruns, b->overruns);
  ck_assert_int_eq(a->worst_ns, b->worst_ns);
  ck_assert_int_eq(a->worst.run, b->worst.run);
  ck_assert_int_eq(a->disturbed.overruns, b->disturbed.overruns);
  ck_assert_int_eq(a->disturbed.makespan_max_ns, b->disturbed.makespan_max_ns);
  ck_assert_int_eq(a->chains[0].age_ns.count, b->chains[0].age_ns.count);
  ck_assert_int_eq(a->chains[0].age_ns.max, b->chains[0].age_ns.max);
}

TEST(a_comparison_gives_the_same_numbers) {
  OWNED(prem_result) *even = compare(false), *odd = compare(true);
  assert_same_row(&even->rows[0], &odd->rows[0]);
  ck_assert_int_eq(odd->rows[0].makespan_ns.min, 580);
  ck_assert_int_eq(odd->rows[0].makespan_ns.max, 580 + LATE_NS);
  ck_assert_int_eq(odd->rows[0].worst.run, LATE);
  ck_assert_int_eq(odd->rows[0].worst_ns, LATE_NS);
  ck_assert_int_eq(odd->rows[0].worst.epoch_ns, 800 * LATE + delay_ns(LATE));
  ck_assert_int_gt(odd->rows[0].chains[0].age_ns.count, 0);
  ck_assert(odd->broke.found && even->broke.found);
  ck_assert_int_eq(odd->broke.planned_ns, 500);
  FREED char *of_even = phases_of(even), *of_odd = phases_of(odd);
  ck_assert_str_eq(of_even, of_odd);
}

/* ---- variants by turns ---------------------------------------------------------------------- */

static void interleave(prem_variant *variant, bool late) {
  const prem_interleave_options options = {.backend = &backend,
                                           .modes = {PREM_MODE_TT},
                                           .mode_count = 1,
                                           .sampling.scenario = PREM_RESIDENT,
                                           .sampling.samples = HYPERPERIODS - DISCARD,
                                           .sampling.discard = DISCARD,
                                           .sampling.rounds = 1,
                                           .sampling.launches = 1,
                                           .sampling.seed = 1,
                                           .sampling.max_records = 1000};
  *variant = (prem_variant){.schedule = schedule};
  delayed = late;
  ck_assert_int_eq(prem_variant_open(variant, &backend, diag), PREM_OK);
  ck_assert_int_eq(prem_interleave(variant, 1, &options, diag), PREM_OK);
}

TEST(variants_give_the_same_numbers) {
  prem_variant even, odd;
  interleave(&even, false);
  interleave(&odd, true);
  const prem_variant_times *a = &even.observed[PREM_MODE_TT], *b = &odd.observed[PREM_MODE_TT];
  for (int32_t t = 0; t < 2; ++t) {
    ck_assert_int_eq(a->responses[t].count, (2 - t) * (HYPERPERIODS - DISCARD));
    ck_assert_int_eq(b->responses[t].count, a->responses[t].count);
    ck_assert_mem_eq(a->responses[t].ns, b->responses[t].ns,
                     (size_t)a->responses[t].count * sizeof *a->responses[t].ns);
  }
  ck_assert_int_eq(a->makespan.max_ns, b->makespan.max_ns);
  prem_variant_close(&even);
  prem_variant_close(&odd);
}

/* ---- why releases were late ----------------------------------------------------------------- */

static int64_t slow_handover(int64_t hyperperiod, int32_t task) {
  return hyperperiod == 1 && task == 1 ? 48000 : 0;
}

static int64_t long_compute(int64_t hyperperiod, int32_t task, int32_t block, int32_t tile,
                            prem_phase phase) {
  return hyperperiod == 1 && task == 0 && block == 1 && tile == 2 && phase == PREM_COMPUTE ? 60000
                                                                                           : 0;
}

static prem_first_causes causes_of(const chain_run *chain, bool late) {
  OWNED(prem_schedule) *of = chain_schedule(chain);
  OWNED(prem_trace) *trace = chain_trace(chain, of);
  prem_late_causes causes[CHAIN_TASKS * PREM_PHASE_COUNT] = {0};
  prem_first_causes first = {0};
  if (late)
    delay(trace);
  ck_assert_int_eq(prem_find_causes(of, trace, 0, 32, 0, causes, &first), PREM_OK);
  return first;
}

TESTS(causes_are_the_same, 2) {
  const chain_run runs[] = {
      {.blocks = 4, .tiles = 8, .hyperperiods = 3, .idle_ns = 400000, .delay_ns = slow_handover},
      {.blocks = 4, .tiles = 8, .hyperperiods = 3, .idle_ns = 400000, .excess_ns = long_compute}};
  prem_first_causes even = causes_of(&runs[_i], false), odd = causes_of(&runs[_i], true);
  ck_assert_int_gt(even.count, 0);
  ck_assert_int_eq(even.count, odd.count);
  for (int64_t i = 0; i < even.count; ++i) {
    ck_assert_int_eq(even.causes[i].kind, odd.causes[i].kind);
    ck_assert_int_eq(even.causes[i].task, odd.causes[i].task);
    ck_assert_int_eq(even.causes[i].late, odd.causes[i].late);
    ck_assert_int_eq(even.causes[i].widen_ns, odd.causes[i].widen_ns);
    ck_assert_int_eq(even.causes[i].start_ns + delay_ns(even.causes[i].run),
                     odd.causes[i].start_ns);
  }
  prem_first_causes_free(&even);
  prem_first_causes_free(&odd);
}
