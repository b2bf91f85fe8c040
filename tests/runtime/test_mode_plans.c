/* SPDX-License-Identifier: Apache-2.0 */
/* Operating modes with plans of their own: each hyperperiod is worked by the plan of its mode, on
 * all blocks, and what is shown is right across every switch. */
/* ctest: threads timing */
#include "tests/common/cases.h"
#include "tests/common/longer.h"
#include "tests/common/mode_plans.h"
#include "tests/common/suite.h"

#include "ttprem/tally.h"

/* ---- what a trace says ----------------------------------------------------------------------- */

/* Who started what when in each hyperperiod, in the order of time. */
static const char *log_of(const prem_schedule *schedule, prem_trace *trace) {
  static char log[1 << 14];
  size_t used = 0;
  int32_t last = -1;
  prem_trace_sort(trace);
  log[0] = '\0';
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->hyperperiod != last)
      used += (size_t)snprintf(
          log + used, sizeof log - used, "%s%d %s:", last < 0 ? "" : "\n", r->hyperperiod,
          schedule->operating_modes[trace->operating_mode[r->hyperperiod]].name);
    last = r->hyperperiod;
    used += (size_t)snprintf(log + used, sizeof log - used, " %s%c%d@%lld",
                             schedule->tasks[r->task].name, "pcw"[r->phase], r -> block,
                             (long long)(r->start_ns - trace->epoch_ns[r->hyperperiod]));
  }
  return log;
}

/* ---- one switch and back, on the virtual clock ----------------------------------------------- */

static const char *const two_plans = "operating_modes = ( { name = \"full\"; }, { name = "
                                     "\"quick\"; off = [ \"a\" ]; policy: { }; } );";

static void run_one(prem_live *live, int64_t hyperperiod, float value) {
  prem_live_sleep_until(live, hyperperiod * 4000 - 1);
  ck_assert_int_eq(feed(live, X, value, NULL), PREM_OK);
  prem_live_sleep_until(live, hyperperiod * 4000 + 3900);
}

static float result_of(prem_live *live, int32_t stream, prem_frame *frame) {
  float value = -1;
  const prem_status status = fetch(live, stream, prem_live_now_ns(live), &value, frame);
  ck_assert(status == PREM_OK || status == PREM_ERR_TIMEOUT);
  return value;
}

static const char *const full_log =
    "ap0@0 ac0@100 ap1@100 ac1@200 aw0@400 aw1@500 bp0@600 bc0@700 bp1@700 bc1@800 bw0@1000 "
    "bw1@1100 cp0@1200 cc0@1300 cp1@1300 cc1@1400 cw0@1600 cw1@1700";
static const char *const quick_log = "cp0@0 cc0@100 cp1@100 cc1@200 cw0@400 cw1@500";

TEST(a_hyperperiod_is_worked_by_the_plan_of_its_mode) {
  OWNED(prem_schedule) *schedule = prepared_schedule(three_tasks(two_plans, "", 1));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  prem_tally *tally = NULL;
  prem_frame frame;
  ck_assert_int_eq(prem_trace_new(schedule, 16, 1000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace});
  prem_live_sleep_until(live, 3900);
  ck_assert_float_eq(result_of(live, Y, &frame), 3);
  ck_assert_int_eq(frame.operating_mode, 0);
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  prem_tally_begin(tally, live);
  ck_assert_float_eq(result_of(live, Z, &frame), 2);
  ck_assert_int_eq(frame.published_ns, 1800);
  ck_assert_int_eq(prem_tally_result(tally, &frame, NULL), 0);
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK);
  run_one(live, 1, 10);
  ck_assert_float_eq(result_of(live, Y, &frame), -1);
  ck_assert_float_eq(result_of(live, Z, &frame), 11);
  ck_assert_int_eq(frame.operating_mode, 1);
  ck_assert_int_eq(frame.published_ns, 4600); /* 1200 sooner, as planned */
  ck_assert_int_eq(prem_tally_result(tally, &frame, NULL), 0);
  prem_tally_free(tally);
  run_one(live, 2, 20);
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_OK);
  run_one(live, 3, 30);
  ck_assert_float_eq(result_of(live, Y, &frame), 32);
  ck_assert_float_eq(result_of(live, Z, &frame), 21);
  ck_assert_float_eq(result_of(live, Z, &frame), 31);
  ck_assert_int_eq(prem_live_stop(live, true, 100000, NULL), PREM_OK);
  ck_assert_str_eq(log_of(schedule, trace), text("0 full: %s\n1 quick: %s\n2 quick: %s\n3 full: %s",
                                                 full_log, quick_log, quick_log, full_log));
  ck_assert_int_eq(assert_by_plans(schedule, trace, 0), 0);
}

/* What was late first, and with what that began. */
static void assert_cause(const prem_schedule *schedule, prem_trace *trace, int64_t hyperperiod,
                         const char *cause) {
  prem_late_find found;
  char said[256] = "";
  prem_trace_sort(trace);
  ck_assert_int_eq(prem_find_late(schedule, trace, 1, 0, hyperperiod, &found), PREM_OK);
  if (found.has_cause)
    prem_first_cause_say(schedule, &found.cause, said, sizeof said);
  ck_assert_str_eq(said, cause);
}

/* a takes longer than it may: what it delays ends late in its hyperperiod, and the next one has the
 * other plan, from its first instant on. */
TEST(an_overrun_leads_to_the_next_plan) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(three_tasks(two_plans, "deadline_ns = 700L; overrun = \"degrade\";", 1));
  OWNED(prem_live) *live = open_longer(schedule, (const int64_t[]){100, 900, 100});
  OWNED(prem_trace) *trace = NULL;
  prem_live_state state;
  ck_assert_int_eq(prem_trace_new(schedule, 16, 1000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace});
  prem_live_sleep_until(live, 3900);
  run_one(live, 1, 10);
  prem_live_look(live, &state);
  ck_assert_int_eq(state.operating_mode, 1);
  ck_assert_int_eq(state.mode_from, 1);
  ck_assert_int_eq(state.overruns, 1);
  ck_assert_int_eq(prem_live_stop(live, true, 100000, NULL), PREM_OK);
  ck_assert_str_eq(log_of(schedule, trace),
                   text("0 full: ap0@0 ac0@100 ap1@100 ac1@200 aw0@1000 aw1@1100 bp0@1200 bp1@1200 "
                        "bc0@1400 bc1@1400 bw0@1700 bw1@1700 cp0@1900 cp1@1900 cc0@2100 cc1@2100 "
                        "cw0@2400 cw1@2400\n1 quick: %s",
                        quick_log));
  assert_cause(schedule, trace, -1, "the compute of a took longer than its window");
  assert_cause(schedule, trace, 1, ""); /* by its own plan nothing was late */
}

/* Something is late by more than a hyperperiod when the plan changes: counts stay right, and the
 * next plan's phases wait for all that is left. */
TEST(what_is_late_is_waited_for_across_a_switch) {
  OWNED(prem_schedule) *schedule = prepared_schedule(three_tasks(two_plans, "", 1));
  OWNED(prem_live) *live = open_longer(schedule, (const int64_t[]){100, 9000, 100});
  OWNED(prem_trace) *trace = NULL;
  prem_frame frame;
  ck_assert_int_eq(prem_trace_new(schedule, 16, 1000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace});
  prem_live_sleep_until(live, 100);
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK);
  prem_live_sleep_until(live, 4100);
  ck_assert_int_eq(feed(live, X, 10, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_OK);
  prem_live_sleep_until(live, 30000);
  ck_assert_float_eq(result_of(live, Y, &frame), 3);
  ck_assert_float_eq(result_of(live, Z, &frame), 2);
  ck_assert_float_eq(result_of(live, Z, &frame), 2); /* of hyperperiod 1, chosen at its release */
  ck_assert_int_eq(frame.operating_mode, 1);
  ck_assert_float_eq(result_of(live, Y, &frame), 12);
  ck_assert_int_eq(prem_live_stop(live, true, 200000, NULL), PREM_OK);
  assert_cause(schedule, trace, 1, "the compute of a took longer than its window");
  ck_assert_int_gt(assert_by_plans(schedule, trace, 0), 0);
  for (int64_t i = 0; i < trace->record_count; ++i)
    for (int64_t j = 0; j < i; ++j) /* no hyperperiod before the one before it on a block */
      if (trace->records[i].block == trace->records[j].block)
        ck_assert(trace->records[i].hyperperiod >= trace->records[j].hyperperiod);
}

/* A result without a buffer is dropped when its first writeback is due: by the plan in force. */
TEST(a_result_is_dropped_when_its_plan_has_it_due) {
  const char *source = three_tasks(two_plans, "", 1);
  char *at = strstr(source, "array = \"z\"; kind = \"queuing\"; buffers = 8;");
  char drops[8192];
  ck_assert_ptr_nonnull(at);
  snprintf(drops, sizeof drops,
           "%.*sarray = \"z\"; kind = \"queuing\"; buffers = 1; overflow = \"drop\";%s",
           (int)(at - source), source, strchr(strchr(strchr(at, ';') + 1, ';') + 1, ';') + 1);
  OWNED(prem_schedule) *schedule = prepared_schedule(drops);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_frame held;
  prem_live_event event;
  static const int64_t dropped_ns[] = {4400, 9600}; /* 400 by the mode's plan, 1600 by the file's */
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.events = true});
  ck_assert_int_eq(prem_live_wait(live, Z, 3900, &held, NULL), PREM_OK);
  for (int32_t h = 1; h <= 2; ++h) {
    ck_assert_int_eq(prem_live_switch(live, h % 2, NULL), PREM_OK);
    prem_live_sleep_until(live, h * 4000 + 3900);
    do
      ck_assert_int_eq(prem_live_listen(live, 0, &event, NULL), PREM_OK);
    while (event.kind != PREM_EVENT_DROPPED);
    ck_assert_int_eq(event.at_ns, dropped_ns[h - 1]);
  }
}

/* ---- on threads ------------------------------------------------------------------------------ */

TESTS(threads_follow_the_plan_of_the_hyperperiod, 2) {
  follow_plans("cpu", _i ? PREM_MODE_FREE : PREM_MODE_TT);
}

/* ---- what blocks are given ------------------------------------------------------------------- */

/* The first phases that take buffers wait for all of the hyperperiod before. */
static void assert_waits(const prem_block_program *block, int32_t buffers) {
  int32_t takers = 0;
  for (int32_t i = 0; i < block->memory_count; ++i) {
    const prem_record *record = &block->memory[i];
    const bool takes = record->phase == PREM_PREFETCH && takers++ < buffers;
    for (int p = 0; takes && p < PREM_PHASE_COUNT; ++p)
      ck_assert_int_eq(record->wait[p], 0);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      ck_assert(record->wait[p] == PREM_NO_WAIT || record->wait[p] >= 0);
  }
}

TESTS(tables_have_the_same_counts_and_no_turns, 2) {
  const int32_t buffers = _i + 1;
  OWNED(prem_schedule) *schedule = prepared_schedule(three_tasks(two_plans, "", 1));
  prem_program *program = NULL;
  schedule->platform.buffers = buffers;
  ck_assert_int_eq(prem_program_new_live(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(program->plan_count, 2);
  ck_assert_ptr_eq(program->plans[program->plan_of_mode[0]], program);
  const prem_program *quick = program->plans[program->plan_of_mode[1]];
  ck_assert_ptr_ne(quick, program);
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_block_program *full = &program->blocks[b], *less = &quick->blocks[b];
    ck_assert_mem_eq(full->phase_count, less->phase_count, sizeof full->phase_count);
    ck_assert(!full->turns && !less->turns);
    assert_waits(full, buffers);
    assert_waits(less, buffers);
    for (int32_t i = 0; i < less->memory_count; ++i) /* c is on, and comes first */
      ck_assert_int_eq((less->memory[i].flags & PREM_RECORD_OFF) != 0, i >= 2);
  }
  for (int32_t t = 0; t < 3; ++t)
    for (int32_t e = 0; e < quick->tasks[t].edge_count; ++e) {
      ck_assert_int_eq(t, 2); /* who is off waits for nobody, and nobody for who is off */
      ck_assert_int_eq(quick->tasks[t].after[e].needed_jobs[0], 0);
    }
  prem_program_free(program);
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK); /* a run has one plan */
  ck_assert_int_eq(program->plan_count, 1);
  prem_program_free(program);
}

/* ---- the file -------------------------------------------------------------------------------- */

static char *saved_text(const prem_schedule *schedule) {
  static const char path[] = "mode_plans_saved.cfg";
  char *bytes = calloc(1, 1 << 16);
  ck_assert_int_eq(prem_schedule_save(schedule, path, NULL), PREM_OK);
  FILE *file = fopen(path, "r");
  ck_assert(bytes && file && fread(bytes, 1, (1 << 16) - 1, file) > 0);
  fclose(file);
  remove(path);
  return bytes;
}

TEST(what_is_written_is_read_again) {
  OWNED(prem_schedule) *made = prepared_schedule(three_tasks(
      "operating_modes = ( { name = \"quick\"; off = [ \"a\" ]; policy: { objective = "
      "\"makespan\"; }; },"
      "  { name = \"none\"; off = [ \"a\", \"c\" ]; policy: { }; }, { name = \"all\"; } );",
      "", 1));
  FREED char *written = saved_text(made);
  OWNED(prem_schedule) *read = checked_schedule(written);
  FREED char *again = saved_text(read);
  ck_assert_str_eq(written, again);
  ck_assert_int_eq(read->plan->mode_count, 2);
  ck_assert_str_eq(read->plan->modes[1]->mode, "none");
  ck_assert_int_eq(read->plan->modes[1]->affine_count + read->plan->modes[1]->starts_count, 0);
  ck_assert_ptr_eq(prem_schedule_plan_of(read, 0), read->plan->modes[0]);
  ck_assert_ptr_eq(prem_schedule_plan_of(read, 2), read->plan);
  ck_assert_ptr_eq(prem_schedule_plan_of(read, 3), read->plan);
  ck_assert_str_eq(read->operating_modes[0].policy.objective, "makespan");
  ck_assert_str_eq(read->operating_modes[1].policy.objective, "slack"); /* as the file's */
}

/* One-shot tasks: all plans are as long as the longest one, and leave time for what follows. */
TEST(plans_of_one_shot_tasks_are_equally_long) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; guard_ns = 10L; precedence_ns = 70L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; }; } );"
      "live: { operating_modes = ( { name = \"m\"; off = [ \"a\" ]; policy: { }; } ); };");
  const prem_plan *plan = schedule->plan, *of_mode = prem_schedule_plan_of(schedule, 0);
  ck_assert_int_eq(plan->hyperperiod_ns, 3 * 310 + 2 * 10 + 70);
  ck_assert_int_eq(of_mode->hyperperiod_ns, plan->hyperperiod_ns);
  ck_assert_int_eq(of_mode->affine_count + of_mode->starts_count, 2);
}

/* A lone task's phases stand one behind the other, which is as short as can be. For a switch there
 * is more time behind them, and nobody has proved that so much is needed. */
TESTS(what_is_lengthened_for_a_switch_is_not_called_optimal, 2) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 1; precedence_ns = 70L; };"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
           "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; }; } ); %s",
           _i == 0 ? "" : "live: { operating_modes = ( { name = \"m\"; policy: { }; } ); };"));
  prem_plan_report report;
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, NULL, &plan, &report, NULL), PREM_OK);
  ck_assert_int_eq(plan->hyperperiod_ns, _i == 0 ? 300 : 370);
  ck_assert_int_eq(report.optimal, _i == 0);
}

/* a and b, 300 each of 1000 on one block. */
static const char *two_tasks(const char *platform, const char *modes, const char *plan) {
  const char *task = "kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 1000L;"
                     " prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 100L; };"
                     " writeback: { wcet_ns = 100L; };";
  return text("version = 1; name = \"t\"; platform: { blocks = 1; %s };\n"
              "tasks = ( { name = \"a\"; %s }, { name = \"b\"; %s } );\n"
              "live: { operating_modes = ( %s ); };\n%s\n",
              platform, task, task, modes, plan);
}

#define CHAIN(TASK, START)                                                                         \
  "{ task = \"" TASK "\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"           \
  " start_ns = " START "L; }"
#define PLAN(B, MODES)                                                                             \
  "plan: { hyperperiod_ns = 1000L; runs = ( " CHAIN("a", "64") ", " CHAIN("b", B) " );" MODES " }" \
                                                                                  ";"
#define MODE_PLAN(NAME, RUNS) "{ name = \"" NAME "\"; runs = ( " RUNS " ); }"
#define ONE_PLAN(RUNS)        PLAN("384", "operating_modes = ( " MODE_PLAN("m", RUNS) " );")
#define MODE                  "{ name = \"m\"; off = [ \"a\" ]; policy: { }; }"

TEST(plans_of_modes_are_judged) {
  cases_judge("runtime/mode_plan_cases.txt");
}

/* The cause first, then whose plan it was. */
TEST(a_mode_without_a_plan_is_named) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text(
      two_tasks("guard_ns = 10L; buffers = 2;",
                "{ name = \"m\"; off = [ \"a\" ]; policy: { prefetch_offset_ns = 1L; use = "
                "\"tile_blockwise\"; }; }",
                ""));
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag),
                   PREM_ERR_INVALID);
  const prem_problem *last = prem_diag_at(diag, prem_diag_count(diag) - 1);
  ck_assert_int_eq(last->severity, PREM_NOTE);
  ck_assert_str_eq(last->key, "live.operating_modes.m.policy");
  ck_assert_ptr_null(schedule->plan);
}

static int64_t start_of(const prem_plan *plan, const prem_schedule *schedule) {
  mode_instants in = {0};
  ck_assert_int_eq(prem_plan_expand(schedule, plan, &in.slots, &in.count, NULL), PREM_OK);
  ck_assert_int_gt(in.count, 0);
  const int64_t start_ns = in.slots[0].planned_ns;
  free(in.slots);
  return start_ns;
}

/* Plans of modes are kept by name, wherever in the file the mode is; no planner begins at these. */
TEST(plans_of_modes_are_kept) {
  static const char l[] = "{ name = \"l\"; off = [ \"b\" ]; policy: { }; }",
                    m[] = "{ name = \"m\"; off = [ \"a\" ]; policy: { }; }",
                    n[] = "{ name = \"n\"; off = [ \"a\" ]; policy: { }; }",
                    none[] = "{ name = \"none\"; }", new[] = "{ name = \"o\"; policy: { }; }";
  OWNED(prem_schedule) *old = checked_schedule(two_tasks(
      "", text("%s, %s, %s, %s", none, l, m, n),
      PLAN("384", "operating_modes = ( " MODE_PLAN("l", CHAIN("a", "105")) ", " MODE_PLAN(
                      "m", CHAIN("b", "107")) ", " MODE_PLAN("n", CHAIN("b", "109")) " );")));
  OWNED(prem_schedule) *schedule =
      schedule_from_text(two_tasks("", text("%s, %s, %s, %s, %s", n, new, l, m, none), ""));
  const prem_plan_options options = {.keep = old};
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_prepare(schedule, prem_registry_builtin(), NULL, &options, diag) != PREM_OK)
    abort_with("prepare", diag);
  ck_assert_int_eq(start_of(schedule->plan, schedule), 64);
  ck_assert_int_eq(start_of(prem_schedule_plan_of(schedule, 0), schedule), 109);
  ck_assert_int_eq(start_of(prem_schedule_plan_of(schedule, 1), schedule), 0); /* made anew */
  ck_assert_int_eq(start_of(prem_schedule_plan_of(schedule, 2), schedule), 105);
  ck_assert_int_eq(start_of(prem_schedule_plan_of(schedule, 3), schedule), 107);
  ck_assert_ptr_eq(prem_schedule_plan_of(schedule, 4), schedule->plan);
}
