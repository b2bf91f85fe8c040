/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks in a row: counts add up over runs, and the longest phase that outlived its
 * bound is named with its launch. */

#include "measure/beside.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_task tasks[] = {{.name = "load"}, {.name = "log"}};
static const prem_schedule schedule = {.tasks = tasks, .task_count = 2};

/* A row of one critical task, in which the two have run twice. */
static prem_row two_runs(prem_task_result *critical) {
  prem_row row = {
      .label = "tt", .mode = PREM_MODE_TT, .output_ok = true, .tasks = critical, .task_count = 1};
  strcpy(critical->name, "filter");
  ck_assert_int_eq(prem_beside_new(&schedule, &schedule, &row), PREM_OK);
  prem_best_effort_counts first[] = {
      {.jobs = 3,
       .tiles = 12,
       .bytes = 4000,
       .waits = 2,
       .wait_ns = 700,
       .overruns = 1,
       .longest = {.at_ns = 5000, .by_ns = 250, .block = 4, .tile = 7, .phase = PREM_WRITEBACK}},
      {.jobs = 1}};
  prem_best_effort_counts second[] = {
      {.jobs = 2,
       .tiles = 9,
       .bytes = 2000,
       .waits = 1,
       .wait_ns = 200,
       .overruns = 2,
       .longest = {.at_ns = 9000, .by_ns = 900, .block = 5, .tile = 1, .phase = PREM_PREFETCH}},
      {.jobs = 1}};
  prem_best_effort_trace trace = {
      .counts = first, .length_ns = 1000000, .gated = true, .open_share = 0.75};
  prem_beside_fold(&trace, 0, &row);
  trace.counts = second;
  prem_beside_fold(&trace, 1, &row);
  return row;
}

TEST(counts_add_up_and_the_longest_overrun_stays) {
  prem_task_result critical = {0};
  prem_row row = two_runs(&critical);
  const prem_best_effort_result *load = &row.best_effort[0];
  ck_assert_str_eq(load->name, "load");
  ck_assert_int_eq(load->counts.jobs, 5);
  ck_assert_int_eq(load->counts.tiles, 21);
  ck_assert_int_eq(load->counts.bytes, 6000);
  ck_assert_int_eq(load->counts.waits, 3);
  ck_assert_int_eq(load->counts.wait_ns, 900);
  ck_assert_int_eq(load->counts.overruns, 3);
  ck_assert_int_eq(load->counts.longest.by_ns, 900);
  ck_assert_str_eq(load->into, "filter");
  ck_assert_int_eq(load->run, 1);
  ck_assert_int_eq(row.best_effort_ns, 2000000);
  ck_assert_int_eq(row.best_effort[1].counts.jobs, 2);
  free(row.best_effort);
}

TEST(the_table_names_what_the_gate_did_not_keep) {
  prem_task_result critical = {0};
  prem_row row = two_runs(&critical);
  row.overruns = 4;
  critical.response_ns = (prem_summary){.count = 1};
  const prem_result result = {.rows = &row, .row_count = 1};
  FREED char *said = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&said, &bytes);
  ck_assert_ptr_nonnull(file);
  prem_result_print(&result, file);
  fclose(file);
  static const char *const lines[] = {
      "\nload tt         5    2500.000     0.003        21         3      0.900         3\n",
      "tt: best effort went on into closed windows 3 times; the longest: load, block 5,\n"
      "  prefetch of tile 1, 0.900 us into the window of filter that opened at 9.000 us\n"
      "  of launch 1\n",
      "tt: 4 critical phases ended after their windows; the gate was open then\n"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i)
    ck_assert_msg(strstr(said, lines[i]), "not there: %s in:\n%s", lines[i], said);
  free(row.best_effort);
}
