/* Why phases are late: traces whose every stamp is written by hand, and runs with known waits. */
#include "running.h"

/* One block, two buffers; PF 100, C 150, WB 50 planned every 200. */
static const char one[] =
    "version = 1; name = \"one\";\n"
    "platform: { blocks = 2; buffers = 2; clock_step_ns = 1L; late_ns = 10L;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 150L; };\n"
    "    writeback: { wcet_ns = 50L; }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 10L; };\n"
    "    writeback: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); }\n"
    ");\n"
    "plan: { hyperperiod_ns = 3000L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"a\"; phase = \"writeback\"; start_ns = 350L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; start_ns = 1100L; },\n"
    "  { task = \"b\"; phase = \"compute\"; start_ns = 1200L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; start_ns = 1300L; }\n"
    "); };\n";
enum { A, B, TASKS };

static prem_schedule *schedule;
static prem_trace *trace;
static prem_late_causes causes[TASKS * PREM_PHASE_COUNT];

static void set_up(void) {
  schedule = checked_schedule(one);
  ck_assert_int_eq(prem_trace_new(schedule, 2, 100, &trace), PREM_OK);
  memset(causes, 0, sizeof causes);
}

static void tear_down(void) {
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}

/* A phase of tile `tile` of a, released, ready, begun and ended at these instants. */
static prem_trace_record *add(prem_phase phase, int32_t tile, int64_t release_ns, int64_t ready_ns,
                              int64_t start_ns, int64_t end_ns) {
  prem_trace_record *record = &trace->records[trace->record_count++];
  *record = (prem_trace_record){.release_ns = release_ns,
                                .ready_ns = ready_ns,
                                .start_ns = start_ns,
                                .end_ns = end_ns,
                                .tile = tile,
                                .task = A,
                                .block = 0,
                                .phase = (uint8_t)phase};
  prem_cell_add(&trace->cells[A * PREM_PHASE_COUNT + (int)phase], record, INT64_MAX,
                schedule->platform.late_ns);
  return record;
}

static void find(int64_t clock_step_ns) {
  prem_trace_sort(trace);
  ck_assert_int_eq(prem_find_causes(schedule, trace, 0, clock_step_ns, causes), PREM_OK);
}

/* So many late phases of a in all, this one among them. */
static void assert_cause(prem_phase phase, prem_cause cause, int64_t all) {
  int64_t count = 0;
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i)
    for (int c = 0; c < PREM_CAUSE_COUNT; ++c)
      count += causes[i].count[c];
  ck_assert_int_eq(count, all);
  ck_assert_int_ge(causes[A * PREM_PHASE_COUNT + (int)phase].count[cause], 1);
}

static void assert_blamed(prem_phase phase, int64_t blamed, int64_t widen_ns) {
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + (int)phase].blamed, blamed);
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + (int)phase].widen_ns, widen_ns);
}

START_TEST(data_that_comes_late) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 140); /* 40 longer than planned */
  add(PREM_COMPUTE, 0, 100, 140, 140, 290);
  find(1);
  assert_cause(PREM_COMPUTE, PREM_CAUSE_DATA, 1);
  assert_blamed(PREM_PREFETCH, 1, 40);
}
END_TEST

START_TEST(a_buffer_that_is_still_in_use) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_COMPUTE, 0, 100, 100, 100, 430); /* 180 longer */
  add(PREM_PREFETCH, 1, 200, 200, 200, 300);
  add(PREM_PREFETCH, 2, 400, 430, 430, 530);
  find(1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_BUFFER, 1);
  assert_blamed(PREM_COMPUTE, 1, 30);
}
END_TEST

START_TEST(a_unit_that_is_still_at_work) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 225); /* 125 longer: the next one waits for it */
  add(PREM_PREFETCH, 1, 200, 200, 225, 325);
  find(1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_UNIT, 1);
  assert_blamed(PREM_PREFETCH, 1, 25);
}
END_TEST

/* The second prefetch has its buffer, but its turn comes only when the first one has begun. */
START_TEST(a_turn_that_comes_late) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_COMPUTE, 0, 100, 100, 100, 290); /* 40 longer */
  add(PREM_PREFETCH, 1, 200, 290, 295, 395);
  add(PREM_PREFETCH, 2, 250, 296, 296, 396);
  find(1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_BUFFER, 2);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_UNIT, 2);
  assert_blamed(PREM_COMPUTE, 2, 40);
}
END_TEST

START_TEST(a_turn_behind_one_that_waits) {
  add(PREM_COMPUTE, 0, 0, 0, 0, 290); /* 140 longer */
  add(PREM_WRITEBACK, 0, 150, 290, 290, 340);
  add(PREM_PREFETCH, 1, 200, 293, 293, 393);
  find(1);
  assert_cause(PREM_WRITEBACK, PREM_CAUSE_DATA, 2);
  assert_blamed(PREM_COMPUTE, 2, 140);
}
END_TEST

START_TEST(what_waits_behind_a_late_phase_goes_back_to_the_first) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 180); /* 80 longer */
  add(PREM_COMPUTE, 0, 100, 180, 180, 330);
  add(PREM_PREFETCH, 1, 200, 200, 200, 300);
  add(PREM_COMPUTE, 1, 300, 300, 330, 480); /* late behind the late compute */
  find(1);
  assert_cause(PREM_COMPUTE, PREM_CAUSE_DATA, 2);
  assert_cause(PREM_COMPUTE, PREM_CAUSE_UNIT, 2);
  assert_blamed(PREM_PREFETCH, 2, 80);
  assert_blamed(PREM_COMPUTE, 0, 0);
}
END_TEST

START_TEST(a_chained_phase_hands_the_blame_on) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 180); /* 80 longer; its compute is chained and not late */
  add(PREM_COMPUTE, 0, PREM_NO_RELEASE, 180, 180, 330);
  add(PREM_WRITEBACK, 0, 250, 330, 330, 380);
  find(1);
  assert_cause(PREM_WRITEBACK, PREM_CAUSE_DATA, 1);
  assert_blamed(PREM_PREFETCH, 1, 80);
  assert_blamed(PREM_COMPUTE, 0, 0);
}
END_TEST

START_TEST(no_window_is_to_blame_for_an_executor) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 300, 400);
  add(PREM_COMPUTE, 1, 300, 400, 400, 550); /* late behind a late prefetch of the right length */
  find(1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_EXECUTOR, 2);
  assert_cause(PREM_COMPUTE, PREM_CAUSE_DATA, 2);
  assert_blamed(PREM_PREFETCH, 0, 0);
}
END_TEST

START_TEST(a_window_is_widened_by_no_more_than_was_lacking) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 230, 340); /* late by 30, then 10 too long */
  add(PREM_COMPUTE, 1, 300, 340, 340, 490);
  find(1);
  assert_blamed(PREM_PREFETCH, 1, 10);
}
END_TEST

START_TEST(a_coarse_clock) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 264, 364);
  find(32);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_CLOCK, 1);
}
END_TEST

START_TEST(an_executor_that_sleeps) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 300, 400);
  find(32);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_EXECUTOR, 1);
}
END_TEST

START_TEST(a_cold_start) {
  add(PREM_PREFETCH, 0, 0, 0, 100, 200);
  find(32);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_COLD, 1);
}
END_TEST

START_TEST(a_warm_up_that_takes_too_long) {
  add(PREM_PREFETCH, 0, PREM_NO_RELEASE, 0, 0, 240)->flags = PREM_SLOT_WARMUP;
  add(PREM_PREFETCH, 1, 200, 200, 240, 340);
  find(1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_COLD, 1);
  assert_blamed(PREM_PREFETCH, 0, 0);
}
END_TEST

START_TEST(a_job_before_it_that_is_late) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  prem_trace_record *late = add(PREM_PREFETCH, 0, 1100, 1150, 1150, 1250);
  late->task = B;
  late->block = 1;
  find(1);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_PREFETCH].count[PREM_CAUSE_JOB], 1);
}
END_TEST

START_TEST(a_job_that_its_block_did_not_hold_up) {
  prem_trace_record *before = add(PREM_PREFETCH, 0, 0, 0, 0, 1110);
  prem_trace_record *late = add(PREM_PREFETCH, 0, 1100, 5000, 5000, 5100);
  before->block = late->block = 1;
  before->task = late->task = B;
  before->tile = 1;
  find(1);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_PREFETCH].count[PREM_CAUSE_JOB], 1);
}
END_TEST

/* `a` comes after nobody, but writes what `b` reads. */
START_TEST(a_writer_that_must_not_overtake) {
  prem_schedule *sharing = checked_schedule(
      "version = 1; name = \"sharing\"; platform: { blocks = 2; };"
      "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { in = \"v\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    arrays: { in = \"a.out\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; };"
      "    after = ( { task = \"a\"; } ); } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; },"
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 20L; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 40L; } ); };");
  add(PREM_COMPUTE, 0, PREM_NO_RELEASE, 1010, 1010, 1020)->hyperperiod = 1;
  add(PREM_WRITEBACK, 0, 1020, 5000, 5000, 5010)->hyperperiod = 1;
  prem_trace_sort(trace);
  ck_assert_int_eq(prem_find_causes(sharing, trace, 0, 1, causes), PREM_OK);
  assert_cause(PREM_WRITEBACK, PREM_CAUSE_JOB, 1);
  prem_schedule_free(sharing);
}
END_TEST

START_TEST(nothing_late_nothing_said) {
  add(PREM_PREFETCH, 0, 0, 0, 10, 110); /* within late_ns */
  find(1);
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i)
    ck_assert_int_eq(causes[i].blamed, 0);
}
END_TEST

START_TEST(hyperperiods_that_do_not_count) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 140);
  add(PREM_COMPUTE, 0, 100, 140, 140, 290);
  prem_trace_sort(trace);
  ck_assert_int_eq(prem_find_causes(schedule, trace, 1, 1, causes), PREM_OK);
  assert_blamed(PREM_PREFETCH, 0, 0);
}
END_TEST

/* A lost record may be the culprit: then nothing is said. */
START_TEST(lost_records_make_no_executor_late) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 300, 400);
  trace->lost = 1;
  find(1);
  ck_assert_int_eq(causes[PREM_PREFETCH].count[PREM_CAUSE_EXECUTOR], 0);
}
END_TEST

/* In earnest: on the simulator b meets a, whose plan says that they never do, for 100 ns. */
START_TEST(a_simulated_overload_is_traced_to_its_window) {
  prem_schedule *tight = schedule_from_text(
      "version = 1; name = \"tight\";\n"
      "platform: { blocks = 2; clock_step_ns = 1L; };\n"
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;\n"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; },\n"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; }\n"
      ");\n"
      "plan: { hyperperiod_ns = 600L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 2; step_ns = 300L; },\n"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 2; step_ns = 300L; },\n"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 50L; },\n"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 150L; }\n"
      "); };\n"); /* refused by the checker: they share the memory from 50 on */
  prem_trace *run = simulate(tight, PREM_MODE_TT, 1);
  ck_assert_int_eq(prem_find_causes(tight, run, 0, 1, causes), PREM_OK);
  /* a's prefetch ends at 150, b's at 200 */
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + PREM_COMPUTE].count[PREM_CAUSE_DATA], 1);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_COMPUTE].count[PREM_CAUSE_DATA], 1);
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + PREM_PREFETCH].widen_ns, 50);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_PREFETCH].widen_ns, 50);
  prem_trace_free(run);
  prem_schedule_free(tight);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("causes");
  TCase *cases = tcase_create("causes");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, data_that_comes_late);
  tcase_add_test(cases, a_buffer_that_is_still_in_use);
  tcase_add_test(cases, a_unit_that_is_still_at_work);
  tcase_add_test(cases, a_turn_that_comes_late);
  tcase_add_test(cases, a_turn_behind_one_that_waits);
  tcase_add_test(cases, what_waits_behind_a_late_phase_goes_back_to_the_first);
  tcase_add_test(cases, a_chained_phase_hands_the_blame_on);
  tcase_add_test(cases, no_window_is_to_blame_for_an_executor);
  tcase_add_test(cases, a_window_is_widened_by_no_more_than_was_lacking);
  tcase_add_test(cases, a_coarse_clock);
  tcase_add_test(cases, an_executor_that_sleeps);
  tcase_add_test(cases, a_cold_start);
  tcase_add_test(cases, a_warm_up_that_takes_too_long);
  tcase_add_test(cases, a_job_before_it_that_is_late);
  tcase_add_test(cases, a_job_that_its_block_did_not_hold_up);
  tcase_add_test(cases, a_writer_that_must_not_overtake);
  tcase_add_test(cases, nothing_late_nothing_said);
  tcase_add_test(cases, hyperperiods_that_do_not_count);
  tcase_add_test(cases, lost_records_make_no_executor_late);
  tcase_add_test(cases, a_simulated_overload_is_traced_to_its_window);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
