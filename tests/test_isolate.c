/* The isolation certificate on the simulator, whose every time is known beforehand. */
#include <math.h>

#include "running.h"
#include "ttprem/isolation.h"

/*
 * As in test_compare.c: task a every 400 ns, b every 800 ns, released at 100, planned from 200 on.
 * Left free, b's prefetch begins at 100 and meets a's writeback from 150 on: both run at half speed
 * until 210. Each of them alone takes 180.
 */
static const char pair[] =
    "version = 1; name = \"pair\";\n"
    "platform: { blocks = 2; clock_step_ns = 10L; };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 400L; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 800L; release_ns = 100L; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 800L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; jobs = 2; start_ns = 0L; },\n"
    "  { task = \"a\"; phase = \"compute\"; jobs = 2; start_ns = 100L; },\n"
    "  { task = \"a\"; phase = \"writeback\"; jobs = 2; start_ns = 150L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; start_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"compute\"; start_ns = 300L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; start_ns = 350L; }\n"
    "); };\n";

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
                                   .scenario = PREM_RESIDENT,
                                   .samples = 4,
                                   .rounds = 2,
                                   .discard = 1,
                                   .seed = 1,
                                   .max_records = 1000};
}

static void tear_down(void) {
  prem_isolation_free(isolation);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static void isolate(const char *source) {
  schedule = checked_schedule(source);
  const prem_status status =
      prem_isolate(schedule, prem_backend_find("sim"), &options, &isolation, diag);
  if (status != PREM_OK)
    abort_with(prem_status_text(status), diag);
}

START_TEST(time_triggered_tasks_do_not_move) {
  isolate(pair);
  const prem_isolation_mode *tt = &isolation->modes[0];
  ck_assert_int_eq(tt->mode, PREM_MODE_TT);
  for (int t = 0; t < 2; ++t)
    for (int c = PREM_ALONE; c < PREM_COMPANY_COUNT; ++c) {
      ck_assert_int_eq(prem_isolation_moved_ns(&tt->tasks[t], (prem_company)c), 0);
      ck_assert_int_eq(tt->tasks[t].phase_ns[PREM_PREFETCH][c].max, 100);
      ck_assert_int_eq(tt->tasks[t].phase_ns[PREM_WRITEBACK][c].max, 30);
    }
  ck_assert_int_eq(tt->tasks[0].response_ns[PREM_ALONE].max, 180);
  ck_assert_int_eq(tt->tasks[1].response_ns[PREM_ALONE].max, 280); /* 380 minus its release */
  ck_assert_int_eq(tt->late[PREM_NEIGHBOURS] + tt->overruns[PREM_NEIGHBOURS], 0);
}
END_TEST

START_TEST(free_tasks_move_by_what_their_neighbours_take) {
  isolate(pair);
  const prem_isolation_mode *row = &isolation->modes[1];
  ck_assert_int_eq(row->tasks[0].response_ns[PREM_ALONE].max, 180);
  ck_assert_int_eq(row->tasks[1].response_ns[PREM_ALONE].max, 180);
  ck_assert_int_eq(prem_isolation_moved_ns(&row->tasks[0], PREM_NEIGHBOURS), 30);
  ck_assert_int_eq(prem_isolation_moved_ns(&row->tasks[1], PREM_NEIGHBOURS), 30);
  ck_assert_int_eq(row->tasks[0].phase_ns[PREM_WRITEBACK][PREM_ALONE].max, 30);
  ck_assert_int_eq(row->tasks[0].phase_ns[PREM_WRITEBACK][PREM_NEIGHBOURS].max, 60);
  ck_assert_int_eq(row->tasks[1].phase_ns[PREM_PREFETCH][PREM_NEIGHBOURS].max, 130);
}
END_TEST

START_TEST(distributions_are_kept) {
  isolate(pair);
  /* a's writebacks: every other one meets b's prefetch and takes 60 */
  const int64_t *quantiles =
      isolation->modes[1].tasks[0].quantile_ns[PREM_WRITEBACK][PREM_NEIGHBOURS];
  for (int32_t i = 0; i < PREM_QUANTILES; ++i)
    ck_assert_int_eq(quantiles[i], prem_quantile_per_mille(i) > 500 ? 60 : 30);
  ck_assert_int_eq(prem_quantile_per_mille(0), 0);
  ck_assert_int_eq(prem_quantile_per_mille(19), 950);
  ck_assert_int_eq(prem_quantile_per_mille(PREM_QUANTILES - 1), 1000);
}
END_TEST

START_TEST(samples_are_counted_over_all_rounds) {
  isolate(pair);
  const prem_isolation_task *a = &isolation->modes[0].tasks[0];
  for (int c = PREM_ALONE; c < PREM_COMPANY_COUNT; ++c) {
    ck_assert_int_eq(a->response_ns[c].count, 4 * 2);
    ck_assert_int_eq(a->phase_ns[PREM_COMPUTE][c].count, 4 * 2);
  }
  ck_assert_int_eq(isolation->rounds, 2);
  ck_assert(isolation->output_ok);
}
END_TEST

/* Response times are judged by the clock's step: none of their digits is lost. */
START_TEST(response_times_are_exact) {
  isolate("version = 1; name = \"long\"; platform: { blocks = 1; };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
          "  prefetch: { wcet_ns = 1000001L; }; compute: { wcet_ns = 500001L; }; } );\n"
          "plan: { hyperperiod_ns = 1500002L; runs = ( { task = \"a\"; phase = \"prefetch\";\n"
          "  chain = [ \"compute\" ]; start_ns = 0L; } ); };\n");
  for (int c = PREM_ALONE; c < PREM_COMPANY_COUNT; ++c)
    ck_assert_int_eq(isolation->modes[0].tasks[0].response_ns[c].p50, 1500002);
}
END_TEST

START_TEST(tasks_without_a_kernel_stand_for_themselves) {
  isolate(pair);
  ck_assert(!isolation->hostile[0].replaced);
  ck_assert(!isolation->hostile[1].replaced);
}
END_TEST

START_TEST(hostile_tiles_fill_the_buffers) {
  isolate(with_data);
  for (int t = 0; t < 2; ++t) {
    ck_assert(isolation->hostile[t].replaced);
    ck_assert_int_eq(isolation->hostile[t].own_bytes_per_tile, 2 * 64 * 4);
    ck_assert_int_eq(isolation->hostile[t].bytes_per_tile, 2 * (2048 - 16));
    ck_assert_double_eq(isolation->hostile[t].fill_pct, 100.0); /* sim: as long as the WCET */
  }
  ck_assert(isolation->output_ok);
  ck_assert_int_eq(prem_isolation_moved_ns(&isolation->modes[0].tasks[0], PREM_HOSTILE), 0);
}
END_TEST

/* Sums read 256 bytes and write 4: a copy in the buffers of a block that two of them share could
 * move no more than the smaller of its buffers. */
START_TEST(who_moves_more_than_a_copy_could_stands_for_itself) {
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
  ck_assert(!isolation->hostile[0].replaced);
  ck_assert(!isolation->hostile[1].replaced);
  ck_assert_int_ge(isolation->hostile[0].own_bytes_per_tile, 1024);
  ck_assert(isolation->output_ok);
}
END_TEST

START_TEST(what_was_not_measured_did_not_move) {
  const prem_isolation_task nothing = {.name = "a"};
  ck_assert_int_eq(prem_isolation_moved_ns(&nothing, PREM_HOSTILE), -1);
}
END_TEST

START_TEST(the_verdict_names_the_numbers) {
  isolate(pair);
  prem_findings *findings = prem_isolation_findings(isolation, schedule);
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  ck_assert_ptr_nonnull(strstr(text, "tt: response times moved by at most 0 ns (0.0 clock steps)"));
  ck_assert_ptr_nonnull(strstr(text, "free: response times moved by at most 30 ns (30.0 clock"));
  ck_assert_ptr_nonnull(strstr(text, "to 2.00 and 2.00 times"));
  free(text);
  prem_findings_free(findings);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("isolate");
  TCase *cases = tcase_create("certificates");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, time_triggered_tasks_do_not_move);
  tcase_add_test(cases, free_tasks_move_by_what_their_neighbours_take);
  tcase_add_test(cases, distributions_are_kept);
  tcase_add_test(cases, samples_are_counted_over_all_rounds);
  tcase_add_test(cases, response_times_are_exact);
  tcase_add_test(cases, tasks_without_a_kernel_stand_for_themselves);
  tcase_add_test(cases, hostile_tiles_fill_the_buffers);
  tcase_add_test(cases, who_moves_more_than_a_copy_could_stands_for_itself);
  tcase_add_test(cases, what_was_not_measured_did_not_move);
  tcase_add_test(cases, the_verdict_names_the_numbers);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
