/* SPDX-License-Identifier: Apache-2.0 */
/* The isolation certificate on the simulator, whose every time is known beforehand. */
/* ctest: threads */
#include <math.h>

#include "measure/interleave.h"
#include "report/findings/parts.h"
#include "runtime/core/backend.h"
#include "tests/common/one_line.h"
#include "tests/common/pair.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/isolation.h"

static const char pair[] = PAIR("10L", "", "", "");

/* The same plan with data: 64 floats a tile, buffers of 2048 bytes for input and output. */
static const char with_data[] =
    "version = 1; name = \"with_data\";\n"
    "platform: { blocks = 2; scratch_bytes = 4096L; clock_step_ns = 10L; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 128 ]; fill = \"random\"; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 64 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 64 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 800L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
    "    start_ns = 0L; repeat = 2; step_ns = 400L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
    "    start_ns = 200L; repeat = 2; step_ns = 400L; }\n"
    "); };\n";

static prem_schedule *schedule;
static prem_isolation *isolation;
static prem_diag *diag;
static prem_isolate_options options;

static void set_up(void) {
  schedule = NULL;
  isolation = NULL;
  diag = prem_diag_new();
  options = (prem_isolate_options){.modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                   .mode_count = 2,
                                   .sampling.scenario = PREM_RESIDENT,
                                   .sampling.samples = 4,
                                   .sampling.rounds = 2,
                                   .sampling.discard = 1,
                                   .sampling.seed = 1,
                                   .sampling.max_records = 1000};
}

static void tear_down(void) {
  prem_isolation_free(isolation);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static void isolate_on(const prem_backend *backend, const char *source, prem_status expected) {
  schedule = checked_schedule(source);
  const prem_status status = prem_isolate(schedule, backend, &options, &isolation, diag);
  if (status != expected)
    abort_with(prem_status_text(status), diag);
}

static void isolate(const char *source) {
  isolate_on(prem_backend_find("sim"), source, PREM_OK);
}

static char *printed(const prem_findings *findings) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  one_line(text);
  return text;
}

static void assert_says(const char *words, bool wanted) {
  OWNED(prem_findings) *findings = prem_isolation_findings(isolation, schedule);
  FREED char *text = printed(findings);
  ck_assert_msg((strstr(text, words) != NULL) == wanted, "%s: %s", words, text);
}

/* ---- a backend that can do less, or other things, than the simulator ------------------------- */

static struct {
  const void *opened[8]; /* states, in the order in which the variants open their sessions */
  int count;
  int refusing_from;       /* variants from this one on have no mode legacy */
  int refusing_below;      /* nor have those before this one */
  int followers;           /* of the third one, all tasks */
  int64_t runs, slow_from; /* runs from this one on take longer */
  bool stumbles;           /* every third run's computes take twice their windows */
  int64_t crowded;         /* the run that says that there are too few cores */
} fake;

static prem_status fake_open(const prem_program *program, prem_arrays *arrays,
                             const prem_machine *machine, void **state, prem_diag *problems) {
  const prem_status status = prem_backend_sim.open(program, arrays, machine, state, problems);
  if (fake.count < 8)
    fake.opened[fake.count++] = *state;
  return status;
}

static prem_status fake_run(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *problems) {
  int variant = 0;
  while (variant < fake.count && fake.opened[variant] != state)
    ++variant;
  if (request->mode == PREM_MODE_LEGACY &&
      (variant >= fake.refusing_from || variant < fake.refusing_below)) {
    prem_diag_add(problems, PREM_NOTE, 0, (prem_place){0}, "", "no ordinary kernels here");
    return PREM_ERR_UNAVAILABLE;
  }
  prem_run_request plain = *request;
  plain.mode = request->mode == PREM_MODE_LEGACY ? PREM_MODE_FREE : request->mode;
  const prem_status status = prem_backend_sim.run(state, &plain, trace, problems);
  for (int64_t i = 0; i < request->hyperperiods * trace->job_count; ++i)
    trace->job_end_ns[i] += fake.runs >= fake.slow_from ? 200 : 0;
  for (int64_t i = 0; fake.stumbles && fake.runs % 3 == 2 && i < trace->record_count; ++i)
    if (trace->records[i].phase == PREM_COMPUTE)
      trace->records[i].end_ns += trace->records[i].end_ns - trace->records[i].start_ns;
  trace->oversubscribed = fake.runs == fake.crowded;
  ++fake.runs;
  if (request->mode == PREM_MODE_LEGACY)
    trace->record_count = 0;
  return status;
}

static void fake_follow(void *state, const void *from) {
  (void)state;
  fake.followers += from == fake.opened[2];
}

static prem_status fake_verify(void *state, prem_verdict *out) {
  (void)state;
  *out = (prem_verdict){.ok = false, .wrong = 1};
  return PREM_OK;
}

static prem_backend fake_backend(void) {
  prem_backend backend = prem_backend_sim;
  backend.modes |= 1U << PREM_MODE_LEGACY;
  backend.open = fake_open;
  backend.run = fake_run;
  backend.follow = fake_follow;
  memset(&fake, 0, sizeof fake);
  fake.refusing_from = 99;
  fake.slow_from = INT64_MAX;
  fake.crowded = -1;
  return backend;
}

/* ---- what is measured ------------------------------------------------------------------------ */

GROUP("certificates", .set_up = set_up, .tear_down = tear_down);

TEST(time_triggered_tasks_do_not_move) {
  isolate(pair);
  const prem_isolation_mode *tt = &isolation->modes[0];
  ck_assert_int_eq(tt->mode, PREM_MODE_TT);
  for (int t = 0; t < 2; ++t)
    for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c) {
      ck_assert_int_eq(prem_isolation_moved_ns(&tt->tasks[t], (prem_condition)c), 0);
      ck_assert_int_eq(tt->tasks[t].phase_ns[PREM_PREFETCH][c].max, 100);
      ck_assert_int_eq(tt->tasks[t].phase_ns[PREM_WRITEBACK][c].max, 30);
    }
  ck_assert_int_eq(tt->tasks[0].response_ns[PREM_ISOLATED].max, 180);
  ck_assert_int_eq(tt->tasks[1].response_ns[PREM_ISOLATED].max, 280); /* 380 minus its release */
  ck_assert_int_eq(tt->late[PREM_CORUNNING] + tt->overruns[PREM_CORUNNING], 0);
}

TEST(free_tasks_move_by_what_their_neighbours_take) {
  isolate(pair);
  const prem_isolation_mode *row = &isolation->modes[1];
  ck_assert_int_eq(row->tasks[0].response_ns[PREM_ISOLATED].max, 180);
  ck_assert_int_eq(row->tasks[1].response_ns[PREM_ISOLATED].max, 180);
  ck_assert_int_eq(prem_isolation_moved_ns(&row->tasks[0], PREM_CORUNNING), 30);
  ck_assert_int_eq(prem_isolation_moved_ns(&row->tasks[1], PREM_CORUNNING), 30);
  ck_assert_int_eq(row->tasks[0].phase_ns[PREM_WRITEBACK][PREM_ISOLATED].max, 30);
  ck_assert_int_eq(row->tasks[0].phase_ns[PREM_WRITEBACK][PREM_CORUNNING].max, 60);
  ck_assert_int_eq(row->tasks[1].phase_ns[PREM_PREFETCH][PREM_CORUNNING].max, 130);
}

TEST(distributions_are_kept) {
  isolate(pair);
  /* a's writebacks: every other one meets b's prefetch and takes 60 */
  const int64_t *quantiles =
      isolation->modes[1].tasks[0].quantile_ns[PREM_WRITEBACK][PREM_CORUNNING];
  for (int32_t i = 0; i < PREM_QUANTILES; ++i)
    ck_assert_int_eq(quantiles[i], prem_quantile_per_mille(i) > 500 ? 60 : 30);
  ck_assert_int_eq(prem_quantile_per_mille(0), 0);
  ck_assert_int_eq(prem_quantile_per_mille(19), 950);
  ck_assert_int_eq(prem_quantile_per_mille(PREM_QUANTILES - 1), 1000);
}

TEST(samples_are_counted_over_all_rounds) {
  isolate(pair);
  const prem_isolation_task *a = &isolation->modes[0].tasks[0];
  for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c) {
    ck_assert_int_eq(a->response_ns[c].count, 4 * 2);
    ck_assert_int_eq(a->phase_ns[PREM_COMPUTE][c].count, 4 * 2);
  }
  ck_assert_int_eq(isolation->sampling.rounds, 2);
  ck_assert(isolation->output_ok);
}

/* Response times are judged by the clock's step: none of their digits is lost. */
TEST(response_times_are_exact) {
  isolate("version = 1; name = \"long\"; platform: { blocks = 1; };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
          "  prefetch: { wcet_ns = 1000001L; }; compute: { wcet_ns = 500001L; }; } );\n"
          "plan: { hyperperiod_ns = 1500002L; runs = ( { task = \"a\"; phase = \"prefetch\";\n"
          "  chain = [ \"compute\" ]; start_ns = 0L; } ); };\n");
  for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c)
    ck_assert_int_eq(isolation->modes[0].tasks[0].response_ns[c].p50, 1500002);
}

TEST(tasks_without_a_kernel_stand_for_themselves) {
  isolate(pair);
  ck_assert(!isolation->stressors[0].replaced);
  ck_assert(!isolation->stressors[1].replaced);
}

TEST(stressors_fill_the_buffers) {
  isolate(with_data);
  for (int t = 0; t < 2; ++t) {
    ck_assert(isolation->stressors[t].replaced);
    ck_assert_int_eq(isolation->stressors[t].own_bytes_per_tile, 2 * 64 * 4);
    ck_assert_int_eq(isolation->stressors[t].bytes_per_tile, 2 * (2048 - 16));
    ck_assert_double_eq(isolation->stressors[t].fill_pct, 100.0); /* sim: as long as the WCET */
  }
  ck_assert(isolation->output_ok);
  ck_assert_int_eq(prem_isolation_moved_ns(&isolation->modes[0].tasks[0], PREM_STRESSED), 0);
}

/* Sums read 256 bytes and write 4: a copy in the buffers of a block that two of them share could
 * move no more than the smaller of its buffers. */
TEST(who_moves_more_than_a_copy_could_stands_for_itself) {
  isolate("version = 1; name = \"sums\"; platform: { blocks = 1; };\n"
          "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 256 ]; fill = \"random\"; } );\n"
          "tasks = (\n"
          "  { name = \"a\"; kernel = \"vector_sum\"; blocks = [ 0 ]; tile = [ 256 ];\n"
          "    arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };\n"
          "    compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 50L; }; },\n"
          "  { name = \"b\"; kernel = \"vector_sum\"; blocks = [ 0 ]; tile = [ 256 ];\n"
          "    arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };\n"
          "    compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 50L; }; } );\n"
          "plan: { hyperperiod_ns = 400L; runs = (\n"
          "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
          "    start_ns = 0L; },\n"
          "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
          "    start_ns = 200L; } ); };\n");
  ck_assert(!isolation->stressors[0].replaced);
  ck_assert(!isolation->stressors[1].replaced);
  ck_assert_int_ge(isolation->stressors[0].own_bytes_per_tile, 1024);
  ck_assert(isolation->output_ok);
}

TEST(what_was_not_measured_did_not_move) {
  const prem_isolation_task nothing = {.name = "a"};
  ck_assert_int_eq(prem_isolation_moved_ns(&nothing, PREM_STRESSED), -1);
}

/* The longest series that a certificate asks for: p99.99, and what is kept of it. */
TEST(a_hundred_thousand_hyperperiods_carry_p9999) {
  options.sampling.samples = 100000;
  options.mode_count = 1;
  options.sampling.rounds = 5;
  isolate("version = 1; name = \"one\"; platform: { blocks = 1; };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
          "  prefetch: { wcet_ns = 100L; }; } );\n"
          "plan: { hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";\n"
          "  start_ns = 0L; } ); };\n");
  const prem_isolation_task *a = &isolation->modes[0].tasks[0];
  ck_assert_int_eq(isolation->sampling.launches, 10);
  for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c) {
    ck_assert_int_eq(a->response_ns[c].count, 100000);
    ck_assert_int_eq(a->response_ns[c].p9999, 100);
    ck_assert_int_eq(a->response_bins[c].bin_count, 1);
    ck_assert_int_eq(a->response_bins[c].ns[0], 100);
    ck_assert_int_eq(a->response_bins[c].count[0], 100000);
    ck_assert_int_eq(prem_isolation_move_of(a, (prem_condition)c).p9999_ns, 0);
  }
  /* raw records are kept for some of them, and that is said */
  ck_assert_int_gt(isolation->lost, 0);
  ck_assert_int_le(a->phase_ns[PREM_PREFETCH][PREM_ISOLATED].count, options.sampling.max_records);
  assert_says("Resident: 10 launches of each company and mode, which alternate; outputs are", true);
}

/* One job in 100, each later behind its release than the one before it. */
TEST(many_different_times_share_bins_but_for_the_longest) {
  options.mode_count = 1;
  isolate("version = 1; name = \"many\"; platform: { blocks = 2; };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
          "  prefetch: { wcet_ns = 100L; }; period_ns = 1000L; },\n"
          "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
          "  compute: { wcet_ns = 100L; }; period_ns = 100000L; } );\n"
          "plan: { hyperperiod_ns = 100000L; runs = (\n"
          "  { task = \"a\"; phase = \"prefetch\"; jobs = 100; job_step_ns = 1005L;\n"
          "    start_ns = 0L; },\n"
          "  { task = \"b\"; phase = \"compute\"; start_ns = 0L; } ); };\n");
  const prem_isolation_bins *bins = &isolation->modes[0].tasks[0].response_bins[PREM_CORUNNING];
  ck_assert_int_eq(bins->bin_count, PREM_ISOLATION_BINS);
  int64_t sum = 0;
  for (int i = 0; i < PREM_ISOLATION_BINS; ++i) {
    ck_assert(i == 0 || bins->ns[i] > bins->ns[i - 1]);
    sum += bins->count[i];
    if (i >= PREM_ISOLATION_BINS - 16) { /* 4 hyperperiods */
      ck_assert_int_eq(bins->count[i], 4);
      ck_assert_int_eq(bins->ns[i], 100 + 5 * (99 - (PREM_ISOLATION_BINS - 1 - i)));
    }
  }
  ck_assert_int_eq(sum, 400);
  ck_assert_int_eq(bins->ns[PREM_ISOLATION_BINS - 17], 100 + 5 * 83);
}

TEST(moves_have_a_sign) {
  prem_isolation_task task = {
      .response_ns = {[PREM_ISOLATED] = {.count = 9, .p50 = 100, .p9999 = 140, .max = 150},
                      [PREM_CORUNNING] = {.count = 9, .p50 = 90, .p9999 = 170, .max = 155},
                      [PREM_STRESSED] = {.count = 9, .p50 = 120, .p9999 = INT64_MIN, .max = 90}}};
  const prem_isolation_move beside = prem_isolation_move_of(&task, PREM_CORUNNING);
  ck_assert_int_eq(beside.p50_ns, -10);
  ck_assert_int_eq(beside.p9999_ns, 30);
  ck_assert_int_eq(beside.max_ns, 5);
  ck_assert_int_eq(prem_isolation_moved_ns(&task, PREM_CORUNNING), 30);
  ck_assert_int_eq(prem_isolation_move_of(&task, PREM_STRESSED).p9999_ns, INT64_MIN);
  ck_assert_int_eq(prem_isolation_moved_ns(&task, PREM_STRESSED), 60);
}

/* So many launches in all, not in each round; without a word as many as a comparison has. */
TEST(resident_launches_are_spread_over_the_rounds) {
  const struct {
    int64_t launches, rounds, expected;
  } cases[] = {{10, 4, 10}, {10, 20, 20}, {1, 1, 1}, {0, 4, 40}};
  schedule = checked_schedule(pair);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    prem_variant variant = {.schedule = schedule};
    const prem_interleave_options interleave = {.backend = prem_backend_find("sim"),
                                                .modes = {PREM_MODE_TT},
                                                .mode_count = 1,
                                                .sampling.scenario = PREM_RESIDENT,
                                                .sampling.samples = 80,
                                                .sampling.rounds = cases[i].rounds,
                                                .sampling.launches = cases[i].launches,
                                                .sampling.discard = 1};
    ck_assert_int_eq(prem_variant_open(&variant, interleave.backend, diag), PREM_OK);
    ck_assert_int_eq(prem_interleave(&variant, 1, &interleave, diag), PREM_OK);
    ck_assert_int_eq(variant.observed[PREM_MODE_TT].discarded, cases[i].expected);
    ck_assert_int_eq(variant.observed[PREM_MODE_TT].responses[1].count, 80);
    prem_variant_close(&variant);
  }
}

/* ---- modes without phases -------------------------------------------------------------------- */

TEST(ordinary_kernels_have_response_times_alone) {
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(prem_backend_find("cpu"), with_data, PREM_OK);
  const prem_isolation_mode *legacy = &isolation->modes[1];
  for (int t = 0; t < 2; ++t)
    for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c) {
      ck_assert_int_eq(legacy->tasks[t].response_ns[c].count, 4);
      ck_assert_int_gt(legacy->tasks[t].response_ns[c].min, 0);
      ck_assert_int_eq(legacy->tasks[t].phase_ns[PREM_PREFETCH][c].count, 0);
      ck_assert_int_eq(legacy->releases[c], 0);
      ck_assert_str_eq(legacy->left_out[c], "");
    }
  ck_assert(isolation->output_ok);
  assert_says("legacy: response times moved by at most", true);
  assert_says("nan", false);
  assert_says("Modes without phases: jobs are ordinary kernels", true);
}

TEST(all_conditions_launch_as_the_whole_does) {
  const prem_backend backend = fake_backend();
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(&backend, pair, PREM_OK);
  ck_assert_int_eq(fake.count, 5);
  ck_assert_int_eq(fake.followers, 4);
}

/* As beside a sentinel: every second run has a stall, its jobs take as long again. */
static prem_status stalled_run(void *state, const prem_run_request *request, prem_trace *trace,
                               prem_diag *problems) {
  const prem_status status = fake_run(state, request, trace, problems);
  const bool stalls = fake.runs % 2 == 0;
  ck_assert(request->sentinel);
  for (int64_t i = 0; i < request->hyperperiods * trace->job_count; ++i) {
    trace->away_ns[i] = stalls ? 50000 : 0;
    trace->job_end_ns[i] += stalls ? 50000 : 0;
  }
  trace->stalls = (prem_stalls){
      .watched_ns = 100000, .count = stalls, .longest_ns = stalls ? 50000 : 0, .sum_ns = 50000};
  return status;
}

/* They move nothing, and what they did is shown beside it. */
TEST(stalled_hyperperiods_are_left_out) {
  prem_backend backend = fake_backend();
  backend.run = stalled_run;
  options.sentinel = true;
  options.mode_count = 1;
  isolate_on(&backend, pair, PREM_OK);
  const prem_isolation_mode *tt = &isolation->modes[0];
  for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
    const prem_isolation_stalls *stalls = &tt->stalls[c];
    ck_assert_int_gt(stalls->count, 0);
    ck_assert_int_eq(stalls->hyperperiods, stalls->count);
    ck_assert_int_eq(stalls->longest_ns, 50000);
    ck_assert_int_gt(stalls->all_makespan_max_ns, 50000);
    ck_assert_int_lt(stalls->undisturbed_makespan_max_ns, 50000);
    for (int t = 0; t < 2; ++t)
      ck_assert_int_lt(tt->tasks[t].response_ns[c].max, 50000);
  }
  ck_assert_int_eq(prem_isolation_moved_ns(&tt->tasks[0], PREM_CORUNNING), 0);
  assert_says("Stalls that the sentinel saw", true);
}

TEST(without_a_sentinel_nothing_is_said_of_stalls) {
  isolate(pair);
  assert_says("sentinel", false);
}

static prem_status interrupted_run(void *state, const prem_run_request *request, prem_trace *trace,
                                   prem_diag *problems) {
  return request->mode == PREM_MODE_LEGACY ? PREM_ERR_INTERRUPTED
                                           : fake_run(state, request, trace, problems);
}

/* Before anything is measured: then nothing has disturbed it, and nothing was wrong. */
TEST(an_interruption_while_ways_are_chosen_is_told) {
  prem_backend backend = fake_backend();
  backend.run = interrupted_run;
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(&backend, pair, PREM_ERR_INTERRUPTED);
  ck_assert_ptr_nonnull(isolation);
  ck_assert(isolation->interrupted);
  ck_assert(isolation->valid);
  ck_assert(isolation->output_ok);
  ck_assert_int_eq(isolation->modes[0].tasks[0].response_ns[PREM_ISOLATED].count, 0);
}

TEST(a_mode_that_is_not_possible_is_named) {
  const prem_backend backend = fake_backend();
  fake.refusing_from = 0;
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(&backend, pair, PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(isolation);
  ck_assert_uint_eq(prem_diag_count(diag), 1); /* told once */
  for (int c = PREM_ISOLATED; c < PREM_ISOLATION_CONDITIONS; ++c) {
    ck_assert_str_eq(isolation->modes[0].left_out[c], "");
    ck_assert_str_eq(isolation->modes[1].left_out[c], "no ordinary kernels here");
    ck_assert_int_eq(isolation->modes[0].tasks[0].response_ns[c].count, 4 * 2);
    ck_assert_int_eq(isolation->modes[1].tasks[0].response_ns[c].count, 0);
  }
  assert_says("no ordinary kernels here", true);
  assert_says("legacy: not measured in all companies", true);
}

/* With stressors alone it is not. */
TEST(a_condition_that_is_not_possible_is_named) {
  const prem_backend backend = fake_backend();
  fake.refusing_from = 3;
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(&backend, pair, PREM_ERR_UNAVAILABLE);
  const prem_isolation_mode *legacy = &isolation->modes[1];
  ck_assert_str_eq(legacy->left_out[PREM_ISOLATED], "");
  ck_assert_str_eq(legacy->left_out[PREM_CORUNNING], "");
  ck_assert_str_eq(legacy->left_out[PREM_STRESSED], "no ordinary kernels here");
  ck_assert_int_eq(legacy->tasks[1].response_ns[PREM_ISOLATED].count, 4);
  ck_assert_int_eq(legacy->tasks[1].response_ns[PREM_CORUNNING].count, 4);
  ck_assert_int_eq(legacy->tasks[1].response_ns[PREM_STRESSED].count, 0);
  ck_assert_int_eq(isolation->modes[0].tasks[1].response_ns[PREM_STRESSED].count, 4);
}

/* Alone they are not, for whatever reason. */
TEST(a_task_alone_that_is_not_possible_is_named) {
  const prem_backend backend = fake_backend();
  fake.refusing_below = 2;
  options.modes[1] = PREM_MODE_LEGACY;
  isolate_on(&backend, pair, PREM_ERR_UNAVAILABLE);
  const prem_isolation_mode *legacy = &isolation->modes[1];
  ck_assert_str_eq(legacy->left_out[PREM_ISOLATED], "no ordinary kernels here");
  ck_assert_str_eq(legacy->left_out[PREM_CORUNNING], "");
  ck_assert_str_eq(legacy->left_out[PREM_STRESSED], "");
}

TEST(nothing_possible_is_no_certificate) {
  const prem_backend backend = fake_backend();
  fake.refusing_from = 0;
  options.modes[0] = PREM_MODE_LEGACY;
  options.mode_count = 1;
  isolate_on(&backend, pair, PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_null(isolation);
}

TEST(a_copy_has_no_jobs_to_isolate) {
  options.modes[1] = PREM_MODE_COPY;
  isolate_on(prem_backend_find("sim"), pair, PREM_ERR_ARGUMENT);
}

/* ---- doubts ---------------------------------------------------------------------------------- */

TEST(rounds_that_drift_apart_make_it_invalid) {
  const prem_backend backend = fake_backend();
  options.sampling.samples = 40; /* 20 a round */
  options.mode_count = 1;
  fake.slow_from = 25; /* the second round */
  isolate_on(&backend, pair, PREM_OK);
  ck_assert(!isolation->valid);
  ck_assert_ptr_nonnull(strstr(isolation->disturbed, "the rounds' mean times differ by"));
  assert_says("The certificate is INVALID, the machine was disturbed: the rounds' mean", true);
}

/* One run of any mode and company says it, be it the first, the last, or one between them. */
TESTS(too_few_cores_are_told, 4) {
  static const int64_t runs[] = {-1, 0, 3, 11};
  const prem_backend backend = fake_backend();
  fake.crowded = runs[_i];
  isolate_on(&backend, pair, PREM_OK);
  ck_assert_int_gt(fake.runs, 11);
  ck_assert(isolation->oversubscribed == (_i > 0));
  assert_says("Oversubscribed: more blocks than the machine runs at once", _i > 0);
}

static struct { int64_t calls, all; } steps;

static void note_step(void *context, int64_t done, int64_t all) {
  ck_assert_ptr_eq(context, &steps);
  ck_assert_int_eq(done, ++steps.calls);
  ck_assert(steps.all == 0 || steps.all == all);
  steps.all = all;
}

/* Every turn of a variant is a step, and all of them are made. */
TEST(progress_goes_from_the_first_step_to_the_last) {
  steps.calls = steps.all = 0;
  options.progress = note_step;
  options.progress_context = &steps;
  isolate(pair);
  ck_assert_int_gt(steps.all, 2);
  ck_assert_int_eq(steps.calls, steps.all);
}

/* Tiles of stressors keep their windows 95 times of 100, so that a third that does not fit cuts
 * them down. */
TEST(stressors_fit_nearly_always) {
  prem_backend backend = fake_backend();
  isolate_on(&backend, with_data, PREM_OK);
  ck_assert_int_eq(isolation->stressors[0].bytes_per_tile, 2 * (2048 - 16));
  prem_isolation_free(isolation);
  prem_schedule_free(schedule);
  backend = fake_backend();
  fake.stumbles = true;
  isolate_on(&backend, with_data, PREM_OK);
  ck_assert_int_lt(isolation->stressors[0].bytes_per_tile, 2 * (2048 - 16));
}

TEST(wrong_outputs_are_not_certified) {
  prem_backend backend = fake_backend();
  backend.verify = fake_verify;
  isolate_on(&backend, with_data, PREM_OK);
  ck_assert(!isolation->output_ok);
  assert_says("OUTPUT WRONG", true);
}

/** The findings say that the promise is kept. */
static bool is_kept(void) {
  OWNED(prem_findings) *findings = prem_isolation_findings(isolation, schedule);
  ck_assert(findings->promised);
  const bool kept = !findings->broken;
  return kept;
}

TEST(two_clock_steps_are_kept_and_no_late_release) {
  isolate(pair);
  prem_isolation_mode *tt = &isolation->modes[0];
  ck_assert(isolation->valid);
  ck_assert_uint_eq(isolation->sampling.seed, 1);
  ck_assert(is_kept()); /* whatever free does */
  assert_says("no release was late", true);
  isolation->clock_step_ns = 10;
  tt->tasks[1].response_ns[PREM_STRESSED].max += 20;
  ck_assert(is_kept());
  tt->tasks[1].response_ns[PREM_STRESSED].max += 1;
  ck_assert(!is_kept());
  tt->tasks[1].response_ns[PREM_STRESSED].max -= 21;
  ck_assert(is_kept());
  tt->late[PREM_STRESSED] = 27;
  ck_assert(!is_kept());
  assert_says("0 releases were late alone, 0 with neighbours, 27 with hostile ones", true);
  tt->late[PREM_STRESSED] = 0;
  snprintf(tt->left_out[PREM_ISOLATED], sizeof tt->left_out[PREM_ISOLATED], "not here");
  ck_assert(!is_kept());
  tt->left_out[PREM_ISOLATED][0] = '\0';
  isolation->valid = false;
  ck_assert(!is_kept());
}

/* Where nobody promises anything, what moved is not called kept either. */
TEST(without_tt_the_others_are_judged) {
  options.modes[0] = PREM_MODE_FREE;
  options.mode_count = 1;
  isolate(pair);
  ck_assert(!is_kept());
}

TEST(the_rule_of_three_is_told) {
  isolate(pair);
  assert_says("The simulator repeats itself", true);
  isolation->repeats_itself = false;
  assert_says("N is 4 jobs of a task or more: with 95 % confidence fewer than 3/N = 75 %", true);
  for (int m = 0; m < 2; ++m)
    isolation->modes[m].tasks[1].response_ns[PREM_ISOLATED].count = 3;
  assert_says("Too few jobs to say", true);
}

TEST(the_verdict_names_the_numbers) {
  isolate(pair);
  OWNED(prem_findings) *findings = prem_isolation_findings(isolation, schedule);
  FREED char *text = printed(findings);
  ck_assert_ptr_nonnull(strstr(text, "tt: response times moved by at most 0 ns (0.0 clock steps)"));
  ck_assert_ptr_nonnull(strstr(text, "free: response times moved by at most 30 ns (30.0 clock"));
  ck_assert_ptr_nonnull(strstr(text, "to 2.00 and 2.00 times"));
}
