/* SPDX-License-Identifier: Apache-2.0 */
/* Operating modes with plans of their own: each hyperperiod is worked by the plan of its mode, on
 * all blocks, and what is shown is right across every switch. */
/* ctest: threads */
#include "tests/common/longer.h"
#include "tests/common/mode_plans.h"

enum { MS = 1000000 };

/* a makes mid of x, b makes y of that, c makes z of x, on one block and one memory. */
static const char *three_tasks(const char *modes, const char *of_task, int64_t unit) {
  const char *phases =
      text("prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
           " writeback: { wcet_ns = %lldL; };",
           (long long)(100 * unit), (long long)(300 * unit), (long long)(100 * unit));
  const char *period =
      text("period_ns = %lldL; tile = [ 8 ]; %s", (long long)(4000 * unit), phases);
  return text("version = 1; name = \"plans\"; platform: { blocks = 2; };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"mid\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"z\"; type = \"f32\"; shape = [ 16 ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s %s"
              "    arrays: { in = \"x\"; out = \"mid\"; }; },"
              "  { name = \"b\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s"
              "    arrays: { in = \"mid\"; out = \"y\"; }; after = ( { task = \"a\"; } ); },"
              "  { name = \"c\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s"
              "    arrays: { in = \"x\"; out = \"z\"; }; after = ( { task = \"b\"; } ); } );"
              "live: { inputs = ( { array = \"x\"; } );"
              "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; },"
              "    { array = \"z\"; kind = \"queuing\"; buffers = 8; } ); %s };",
              period, of_task, period, period, modes);
}

enum { X, Y, Z };

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

START_TEST(a_hyperperiod_is_worked_by_the_plan_of_its_mode) {
  prem_schedule *schedule = prepared_schedule(three_tasks(two_plans, "", 1));
  prem_live *live = open_live_on("sim", schedule);
  prem_trace *trace = NULL;
  prem_frame frame;
  ck_assert_int_eq(prem_trace_new(schedule, 16, 1000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace});
  prem_live_sleep_until(live, 3900);
  ck_assert_float_eq(result_of(live, Y, &frame), 3);
  ck_assert_int_eq(frame.operating_mode, 0);
  ck_assert_float_eq(result_of(live, Z, &frame), 2);
  ck_assert_int_eq(frame.published_ns, 1800);
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK);
  run_one(live, 1, 10);
  ck_assert_float_eq(result_of(live, Y, &frame), -1);
  ck_assert_float_eq(result_of(live, Z, &frame), 11);
  ck_assert_int_eq(frame.operating_mode, 1);
  ck_assert_int_eq(frame.published_ns, 4600); /* 1200 sooner */
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
  prem_live_close(live);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}
END_TEST

/* a takes longer than it may: what it delays ends late in its hyperperiod, and the next one has the
 * other plan, from its first instant on. */
START_TEST(an_overrun_leads_to_the_next_plan) {
  prem_schedule *schedule =
      prepared_schedule(three_tasks(two_plans, "deadline_ns = 700L; overrun = \"degrade\";", 1));
  prem_live *live = open_longer(schedule, (const int64_t[]){100, 900, 100});
  prem_trace *trace = NULL;
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
  prem_live_close(live);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}
END_TEST

/* Something is late by more than a hyperperiod when the plan changes: counts stay right, and the
 * next plan's phases wait for all that is left. */
START_TEST(what_is_late_is_waited_for_across_a_switch) {
  prem_schedule *schedule = prepared_schedule(three_tasks(two_plans, "", 1));
  prem_live *live = open_longer(schedule, (const int64_t[]){100, 9000, 100});
  prem_trace *trace = NULL;
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
  prem_trace_sort(trace);
  ck_assert_int_gt(assert_by_plans(schedule, trace, 0), 0);
  for (int64_t i = 0; i < trace->record_count; ++i)
    for (int64_t j = 0; j < i; ++j) /* no hyperperiod before the one before it on a block */
      if (trace->records[i].block == trace->records[j].block)
        ck_assert(trace->records[i].hyperperiod >= trace->records[j].hyperperiod);
  prem_live_close(live);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}
END_TEST

/* ---- on threads ------------------------------------------------------------------------------ */

/* Two modes that share no task: whichever is on, its result is the frame's, and the trace has each
 * phase where its mode's plan puts it. */
START_TEST(threads_follow_the_plan_of_the_hyperperiod) {
  enum { ROUNDS = 200, MOST_ROUNDS = 20 * ROUNDS, UNIT_NS = 250 };
  prem_schedule *schedule = prepared_schedule(
      three_tasks("operating_modes = ( { name = \"y\"; off = [ \"c\" ]; policy: { }; },"
                  "  { name = \"z\"; off = [ \"a\" ]; policy: { }; }, { name = \"both\"; } );",
                  "", UNIT_NS));
  const int64_t length_ns = schedule->plan->hyperperiod_ns;
  prem_live *live = open_live_on("cpu", schedule);
  prem_trace *trace = NULL;
  int64_t shown[3] = {0};
  ck_assert_int_eq(prem_trace_new(schedule, 2000, 100000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 7, NULL), PREM_OK);
  start_live(live,
             &(prem_live_request){.trace = trace, .mode = _i ? PREM_MODE_FREE : PREM_MODE_TT});
  bool is_last = false;
  for (int i = 0; !is_last && i < MOST_ROUNDS; ++i) {
    is_last = i >= ROUNDS && shown[0] > 0 && shown[1] > 0 && shown[2] > 0;
    ck_assert_int_eq(prem_live_switch(live, i * 7 % 13 % 3, NULL), PREM_OK);
    if (is_last)
      ck_assert_int_eq(
          prem_live_stop(live, true, prem_live_now_ns(live) + 60000 * (int64_t)MS, NULL), PREM_OK);
    else
      prem_live_sleep_until(live, prem_live_now_ns(live) + i * 37 % 300 * length_ns / 100);
    for (int32_t stream = Y; stream <= Z; ++stream) {
      float value;
      prem_frame frame;
      while (fetch(live, stream, 0, &value, &frame) == PREM_OK) {
        ck_assert_float_eq(value, stream == Y ? 9 : 8);
        ck_assert(frame.operating_mode == 2 || frame.operating_mode == stream - Y);
        ++shown[frame.operating_mode];
      }
    }
  }
  ck_assert(is_last);
  ck_assert_int_gt(trace->record_count, 0);
  assert_by_plans(schedule, trace, 0);
  prem_live_close(live);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("mode_plans");
  TCase *cases = tcase_create("mode_plans");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, a_hyperperiod_is_worked_by_the_plan_of_its_mode);
  tcase_add_test(cases, an_overrun_leads_to_the_next_plan);
  tcase_add_test(cases, what_is_late_is_waited_for_across_a_switch);
  tcase_add_loop_test(cases, threads_follow_the_plan_of_the_hyperperiod, 0, 2);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
