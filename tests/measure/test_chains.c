/* SPDX-License-Identifier: Apache-2.0 */
/* Reaction and data age along chains, against values by hand and by brute force. */
#include "measure/chain_latency.h"
#include "tests/common/cases.h"
#include "tests/common/random_schedule.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/*
 * Task a: every 400 ns, from its release to 180 behind it. Task b: every 800 ns, from 200 to 380;
 * it reads a's job of [0, 180). Task c: every 1600 ns, from 1200 to 1260: by then b's job of [1000,
 * 1180) has ended, made of a's job of [800, 980).
 */
static const char rates[] =
    "version = 1; name = \"rates\";\n"
    "platform: { blocks = 3; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 400L; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 800L;\n"
    "    after = ( { task = \"a\"; instance = \"latest\"; } ); },\n"
    "  { name = \"c\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;\n"
    "    compute: { wcet_ns = 60L; }; period_ns = 1600L;\n"
    "    after = ( { task = \"b\"; instance = \"latest\"; } ); }\n"
    ");\n"
    "measure: { chains = ( %s ); };\n"
    "plan: { hyperperiod_ns = 1600L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; jobs = 4; start_ns = 0L; },\n"
    "  { task = \"a\"; phase = \"compute\"; jobs = 4; start_ns = 100L; },\n"
    "  { task = \"a\"; phase = \"writeback\"; jobs = 4; start_ns = 150L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; jobs = 2; start_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"compute\"; jobs = 2; start_ns = 300L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; jobs = 2; start_ns = 350L; },\n"
    "  { task = \"c\"; phase = \"compute\"; start_ns = 1200L; }\n"
    "); };\n";

static prem_schedule *with_chains(const char *chains) {
  return checked_schedule(text(rates, chains));
}

static prem_chain_samples fold(const prem_schedule *schedule, int64_t hyperperiods,
                               int64_t discard) {
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, hyperperiods);
  prem_chain_samples samples = {0};
  ck_assert_int_eq(
      prem_chain_fold(&schedule->measure.chains[0], trace, discard, 4 * 3 + 2 * 3 + 1, &samples),
      PREM_OK);
  return samples;
}

static void expect(const int64_t *found, int64_t count, const int64_t *wanted, int64_t all) {
  ck_assert_int_eq(count, all);
  for (int64_t i = 0; i < all; ++i)
    ck_assert_int_eq(found[i], wanted[i]);
}

#define EXPECT(LIST, COUNT, ...)                                                                   \
  expect(LIST, COUNT, (const int64_t[]){__VA_ARGS__},                                              \
         (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

TEST(two_tasks_by_hand) {
  OWNED(prem_schedule) *schedule = with_chains("{ name = \"x\"; tasks = [ \"a\", \"b\" ]; }");
  prem_chain_samples samples = fold(schedule, 1, 0);
  EXPECT(samples.age_ns, samples.age_count, 380, 380);
  /* what a's job of 0 just missed is read by that of 400, which nobody reads: b shows it at 1180 */
  EXPECT(samples.reaction_ns, samples.reaction_count, 1180, 780);
  prem_chain_samples_free(&samples);
}

TEST(three_tasks_by_hand) {
  OWNED(prem_schedule) *schedule =
      with_chains("{ name = \"x\"; tasks = [ \"a\", \"b\", \"c\" ]; }");
  prem_chain_samples samples = fold(schedule, 2, 0);
  EXPECT(samples.age_ns, samples.age_count, 460, 460);           /* from 800 to 1260 */
  EXPECT(samples.reaction_ns, samples.reaction_count, 1260, 860, /* read at 400 and 800 */
         2860 - 800, 2860 - 1200, 2860 - 1600, 2860 - 2000);
  prem_chain_samples_free(&samples);
  samples = fold(schedule, 2, 1); /* the outputs of the first hyperperiod do not count */
  EXPECT(samples.age_ns, samples.age_count, 460);
  EXPECT(samples.reaction_ns, samples.reaction_count, 2060, 1660, 1260, 860);
  prem_chain_samples_free(&samples);
}

TEST(what_is_not_recorded_is_left_out) {
  OWNED(prem_schedule) *schedule = with_chains("{ name = \"x\"; tasks = [ \"a\", \"b\" ]; }");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 3);
  prem_chain_samples samples = {0};
  trace->record_count -= 1; /* of the last hyperperiod */
  ck_assert_int_eq(prem_chain_fold(&schedule->measure.chains[0], trace, 0, 19, &samples), PREM_OK);
  ck_assert_int_eq(samples.age_count, 2 * 2);
  trace->record_count = 0;
  ck_assert_int_eq(prem_chain_fold(&schedule->measure.chains[0], trace, 0, 19, &samples), PREM_OK);
  ck_assert_int_eq(samples.age_count, 2 * 2);
  prem_chain_samples_free(&samples);
}

TEST(a_comparison_sums_it_up) {
  OWNED(prem_schedule) *schedule = with_chains("{ name = \"x\"; tasks = [ \"a\", \"b\" ]; }");
  OWNED(prem_session) *session = open_on("sim", schedule);
  prem_compare_options options = {.modes = {PREM_MODE_TT},
                                  .mode_count = 1,
                                  .sampling.scenario = PREM_RESIDENT,
                                  .sampling.samples = 4,
                                  .sampling.launches = 2,
                                  .sampling.max_records = 1000};
  OWNED(prem_result) *result = NULL;
  ck_assert_int_eq(
      prem_compare(session, schedule, prem_backend_find("sim"), &options, &result, NULL), PREM_OK);
  const prem_chain_result *chain = &result->rows[0].chains[0];
  ck_assert_int_eq(result->rows[0].chain_count, 1);
  ck_assert_str_eq(chain->name, "x");
  ck_assert_int_eq(chain->age_ns.count, 2 * 2 * 2); /* launches, hyperperiods, outputs */
  ck_assert_int_eq(chain->age_ns.max, 380);
  ck_assert_int_eq(chain->reaction_ns.max, 1180);
  ck_assert_int_eq(chain->reaction_ns.min, 780);
}

/* ---- by brute force ------------------------------------------------------------------------- */

enum { HYPERPERIODS = 3 };

/** From the records alone. */
static int64_t instant(const prem_trace *trace, int32_t task, int64_t job, int64_t jobs, bool end) {
  int64_t found = end ? INT64_MIN : INT64_MAX;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->task != task || r->hyperperiod * jobs + r->job != job)
      continue;
    if (end && r->end_ns > found)
      found = r->end_ns;
    if (!end && r->start_ns < found)
      found = r->start_ns;
  }
  return found;
}

/** The first task's job of which this job's output is made; -1: none. */
static int64_t origin(const prem_schedule *schedule, const prem_trace *trace,
                      const prem_chain *chain, int32_t at, int64_t job) {
  if (at == 0)
    return job;
  const int32_t task = chain->tasks[at], before = chain->tasks[at - 1];
  const int64_t jobs = prem_task_jobs(schedule, &schedule->tasks[before]);
  const int64_t begin_ns =
      instant(trace, task, job, prem_task_jobs(schedule, &schedule->tasks[task]), false);
  int64_t read = -1;
  while (read + 1 < jobs * HYPERPERIODS && instant(trace, before, read + 1, jobs, true) <= begin_ns)
    ++read;
  return read < 0 ? -1 : origin(schedule, trace, chain, at - 1, read);
}

static void judge(const prem_schedule *schedule, const prem_trace *trace, const prem_chain *chain,
                  int64_t phases) {
  const int32_t first = chain->tasks[0], last = chain->tasks[chain->task_count - 1];
  const int64_t inputs = prem_task_jobs(schedule, &schedule->tasks[first]);
  const int64_t outputs = prem_task_jobs(schedule, &schedule->tasks[last]);
  prem_chain_samples samples = {0};
  ck_assert_int_eq(prem_chain_fold(chain, trace, 1, phases, &samples), PREM_OK);
  int64_t ages = 0, reactions = 0;
  for (int64_t j = outputs; j < outputs * HYPERPERIODS; ++j) {
    const int64_t from = origin(schedule, trace, chain, chain->task_count - 1, j);
    if (from >= 0)
      ck_assert_int_eq(samples.age_ns[ages++], instant(trace, last, j, outputs, true) -
                                                   instant(trace, first, from, inputs, false));
  }
  for (int64_t j = 1; j < inputs * HYPERPERIODS; ++j)
    for (int64_t out = 0; out < outputs * HYPERPERIODS; ++out) {
      if (origin(schedule, trace, chain, chain->task_count - 1, out) < j)
        continue;
      if (out >= outputs)
        ck_assert_int_eq(samples.reaction_ns[reactions++],
                         instant(trace, last, out, outputs, true) -
                             instant(trace, first, j - 1, inputs, false));
      break;
    }
  ck_assert_int_eq(samples.age_count, ages);
  ck_assert_int_eq(samples.reaction_count, reactions);
  prem_chain_samples_free(&samples);
}

/* A chain of any tasks in any order: what each reads is decided by the instants alone. */
TESTS(random_sets_as_by_brute_force, 4) {
  int32_t judged = 0;
  for (uint64_t seed = (uint64_t)_i * 100; seed < (uint64_t)_i * 100 + 60; ++seed) {
    prem_schedule *schedule = NULL;
    if (random_schedule_plan(seed, NULL, &schedule, NULL) != PREM_OK) {
      prem_schedule_free(schedule);
      continue;
    }
    FREED prem_slot *slots = NULL;
    int64_t phases = 0;
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &phases, NULL), PREM_OK);
    if (phases < 400 && schedule->task_count > 1) {
      int32_t tasks[3];
      for (int32_t i = 0; i < 3; ++i)
        tasks[i] =
            (int32_t)((seed * 7 + (uint64_t)i * (seed % 3 + 1)) % (uint64_t)schedule->task_count);
      const prem_chain chain = {.tasks = tasks, .task_count = schedule->task_count < 3 ? 2 : 3};
      const prem_mode mode = seed % 2 ? PREM_MODE_TT : PREM_MODE_FREE;
      OWNED(prem_trace) *trace = simulate(schedule, mode, HYPERPERIODS);
      judge(schedule, trace, &chain, phases);
      ++judged;
    }
    prem_schedule_free(schedule);
  }
  ck_assert_int_gt(judged, 5);
}

/* ---- bad chains ----------------------------------------------------------------------------- */

TEST(bad_chains_are_refused) {
  cases_judge("measure/chain_cases.txt");
}

/* Both ways round: y goes from p to q, and nothing back. */
TEST(data_alone_makes_a_link) {
  static const char pair[] =
      "version = 1; name = \"data\"; platform: { blocks = 2; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8, 8 ]; },\n"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8, 8 ]; },\n"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8, 8 ]; } );\n"
      "tasks = (\n"
      "  { name = \"p\"; kernel = \"conv2d\"; blocks = [ 0 ]; tile = [ 8, 8 ]; period_ns = 1000L;\n"
      "    arrays: { in = \"x\"; out = \"y\"; }; },\n"
      "  { name = \"q\"; kernel = \"conv2d\"; blocks = [ 1 ]; tile = [ 8, 8 ]; period_ns = 1000L;\n"
      "    arrays: { in = \"y\"; out = \"z\"; }; } );\n"
      "measure: { chains = ( { name = \"c\"; tasks = [ %s ]; } ); };\n";
  for (int way = 0; way < 2; ++way) {
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule =
        schedule_from_text_lenient(text(pair, way == 0 ? "\"p\", \"q\"" : "\"q\", \"p\""), diag);
    ck_assert_uint_eq(prem_diag_errors(diag), (size_t)way);
    ck_assert_int_eq(prem_diag_has(diag, 26), way == 1);
  }
}
