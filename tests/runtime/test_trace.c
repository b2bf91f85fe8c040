/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: its room, its counts, its order, its CSV form. */
#include "runtime/core/recorder.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_schedule *two_blocks(void) {
  return schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; late_ns = 3L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 3;"
      "    prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; },"
      "  { name = \"say \\\"b\\\", please\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "    period_ns = 50L; compute: { wcet_ns = 7L; }; } );"
      "plan: { hyperperiod_ns = 50L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; count = 2; "
      "repeat = 2;"
      "    block_step_ns = 5L; step_ns = 15L; },"
      "  { task = \"say \\\"b\\\", please\"; phase = \"compute\"; start_ns = 40L; } ); };");
}

static prem_trace *room(const prem_schedule *schedule, int64_t hyperperiods, int64_t records) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, hyperperiods, records, &trace), PREM_OK);
  return trace;
}

TEST(room_is_what_the_run_needs_at_most) {
  OWNED(prem_schedule) *schedule = two_blocks();
  prem_trace *trace = room(schedule, 4, 1000000);
  ck_assert_int_eq(trace->record_capacity, 4 * 7);
  ck_assert_int_eq(trace->job_count, 2);
  ck_assert_int_eq(trace->first_job[1], 1);
  for (int i = 0; i < 8; ++i)
    ck_assert_int_eq(trace->job_end_ns[i], -1);
  prem_trace_free(trace);
  trace = room(schedule, 4, 3);
  ck_assert_int_eq(trace->record_capacity, 3);
  prem_trace_free(trace);
  trace = (prem_trace *)schedule;
  ck_assert_int_eq(prem_trace_new(schedule, 0, 3, &trace), PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(trace);
  ck_assert_int_eq(prem_trace_new(schedule, INT64_MAX / 2, 3, &trace), PREM_ERR_MEMORY);
  ck_assert_ptr_null(trace);
}

TEST(stats_count_what_the_record_says) {
  prem_phase_stats stats;
  prem_phase_stats_clear(&stats);
  prem_trace_record record = {.release_ns = 100, .start_ns = 100, .end_ns = 150};
  prem_phase_stats_add(&stats, &record, 150, 3);
  record = (prem_trace_record){.release_ns = 200, .start_ns = 203, .end_ns = 261};
  prem_phase_stats_add(&stats, &record, 250, 3);
  record = (prem_trace_record){.release_ns = 300, .start_ns = 304, .end_ns = 340};
  prem_phase_stats_add(&stats, &record, 350, 3);
  record = (prem_trace_record){.release_ns = PREM_NO_RELEASE, .start_ns = 400, .end_ns = 480};
  prem_phase_stats_add(&stats, &record, INT64_MAX, 3);
  ck_assert_int_eq(stats.count, 4);
  ck_assert_int_eq(stats.releases, 3);
  ck_assert_int_eq(stats.late, 1); /* 3 is not above 3 */
  ck_assert_int_eq(stats.overruns, 1);
  ck_assert_int_eq(stats.overrun_max_ns, 11);
  ck_assert_int_eq(stats.lateness_max_ns, 4);
  ck_assert_int_eq(stats.duration_min_ns, 36);
  ck_assert_int_eq(stats.duration_max_ns, 80);
  ck_assert_int_eq(stats.duration_sum_ns, 50 + 58 + 36 + 80);
  ck_assert_int_eq(stats.lateness_hist[0], 1);
  ck_assert_int_eq(stats.lateness_hist[2], 1); /* 3 is in [2, 4) */
  ck_assert_int_eq(stats.lateness_hist[3], 1); /* 4 is in [4, 8) */
}

TEST(the_histogram_has_a_last_bucket) {
  const int64_t lateness[] = {-5, 0, 1, (INT64_C(1) << 38) - 1, INT64_C(1) << 38, INT64_C(1) << 60};
  const int bucket[] = {0, 0, 1, 38, 39, 39};
  for (int i = 0; i < 6; ++i) {
    prem_phase_stats stats;
    prem_phase_stats_clear(&stats);
    prem_trace_record record = {.release_ns = 0, .start_ns = lateness[i], .end_ns = lateness[i]};
    prem_phase_stats_add(&stats, &record, INT64_MAX, 0);
    ck_assert_int_eq(stats.lateness_hist[bucket[i]], 1);
  }
}

TEST(merging_adds_and_keeps_extremes) {
  prem_phase_stats a, b, nothing;
  prem_phase_stats_clear(&a);
  prem_phase_stats_clear(&b);
  prem_phase_stats_clear(&nothing);
  prem_trace_record record = {.release_ns = 10, .start_ns = 15, .end_ns = 45};
  prem_phase_stats_add(&a, &record, 40, 1);
  record = (prem_trace_record){.release_ns = 10, .start_ns = 10, .end_ns = 20};
  prem_phase_stats_add(&b, &record, 18, 1);
  prem_phase_stats_merge(&a, &b);
  prem_phase_stats_merge(&a, &nothing);
  ck_assert_int_eq(a.count, 2);
  ck_assert_int_eq(a.late, 1);
  ck_assert_int_eq(a.overruns, 2);
  ck_assert_int_eq(a.overrun_max_ns, 5);
  ck_assert_int_eq(a.lateness_max_ns, 5);
  ck_assert_int_eq(a.duration_min_ns, 10);
  ck_assert_int_eq(a.duration_max_ns, 30);
  ck_assert_int_eq(a.duration_sum_ns, 40);
  ck_assert_int_eq(a.lateness_hist[0], 1);
  ck_assert_int_eq(a.lateness_hist[3], 1);
  prem_phase_stats_merge(&nothing, &b);
  ck_assert_int_eq(nothing.lateness_max_ns, 0);
  ck_assert_int_eq(nothing.duration_min_ns, 10);
}

TEST(recorders_share_the_room_and_lose_no_count) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_program) *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  OWNED(prem_trace) *trace = room(schedule, 2, 7); /* half of what there is */
  prem_run_request request = {.hyperperiods = 2, .discard = 1};
  prem_recorder *recorders = NULL;
  ck_assert_int_eq(prem_recorders_new(program, &request, trace, false, &recorders), PREM_OK);
  ck_assert_int_eq(recorders[0].capacity, 4); /* 4 of the 7 records of a hyperperiod */
  ck_assert_int_eq(recorders[1].capacity, 3);
  ck_assert_int_eq(recorders[1].late_ns, 3);
  for (int32_t i = 0; i < 8; ++i) {
    prem_trace_record record = {.release_ns = PREM_NO_RELEASE,
                                .start_ns = i,
                                .end_ns = i + 1,
                                .hyperperiod = i / 4,
                                .flags = i == 6 ? PREM_SLOT_WARMUP : 0};
    prem_recorder_add(&recorders[0], &record, INT64_MAX);
  }
  prem_trace_record record = {.start_ns = 100, .end_ns = 102, .hyperperiod = 1, .task = 1};
  prem_recorder_add(&recorders[1], &record, INT64_MAX);
  prem_recorders_collect(program, recorders, trace);
  ck_assert_int_eq(trace->record_count, 5);
  ck_assert_int_eq(trace->records[4].start_ns, 100); /* directly behind the other block's */
  ck_assert_int_eq(trace->lost, 4);
  ck_assert_int_eq(trace->warmup_count, 1);
  ck_assert_int_eq(trace->stats[0].count, 3); /* hyperperiod 0 discarded, one warm-up */
  ck_assert_int_eq(trace->stats[PREM_PHASE_COUNT].count, 1);
  prem_recorders_free(recorders, program->block_count);
  prem_trace_clear(trace);
  ck_assert_int_eq(trace->record_count + trace->lost + trace->stats[0].count, 0);
  ck_assert_int_eq(trace->record_capacity, 7);
}

static prem_recorder *recorders_of(const prem_program *program, prem_trace *trace) {
  prem_recorder *recorders = NULL;
  const prem_run_request request = {.hyperperiods = 2, .discard = 1};
  ck_assert_int_eq(prem_recorders_new(program, &request, trace, false, &recorders), PREM_OK);
  return recorders;
}

/* A release is late above 3 ns here. */
TEST(late_releases_are_logged) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_program) *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  OWNED(prem_trace) *trace = room(schedule, 2, 7);
  prem_recorder *recorders = recorders_of(program, trace);
  static const struct late_case {
    int64_t release_ns, start_ns;
    int32_t hyperperiod;
    uint8_t flags;
    bool is_logged;
  } cases[] = {{10, 13, 1, 0, false},
               {10, 14, 1, 0, true},
               {10, 14, 0, 0, false},                /* discarded */
               {10, 14, 1, PREM_SLOT_WARMUP, false}, /* does not count */
               {PREM_NO_RELEASE, 14, 1, 0, false},
               {0, INT64_C(1) << 40, 1, 0, true}};
  int32_t logged = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const prem_trace_record record = {.release_ns = cases[i].release_ns,
                                      .start_ns = cases[i].start_ns,
                                      .end_ns = cases[i].start_ns,
                                      .hyperperiod = cases[i].hyperperiod,
                                      .tile = (int32_t)i,
                                      .task = 1,
                                      .block = 1,
                                      .phase = PREM_WRITEBACK,
                                      .flags = cases[i].flags};
    prem_recorder_add(&recorders[i % 2], &record, INT64_MAX);
    logged += cases[i].is_logged;
  }
  prem_recorders_collect(program, recorders, trace);
  prem_recorders_free(recorders, program->block_count);
  ck_assert_int_eq(trace->late_count, logged);
  FREED char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  ck_assert_int_eq(prem_trace_write_late(trace, schedule, PREM_MODE_TT, 7, true, file), PREM_OK);
  fclose(file);
  ck_assert_str_eq(text, "mode,run,task,block,tile,phase,late_ns\n"
                         "tt,8,\"say \"\"b\"\", please\",1,1,writeback,4\n"
                         "tt,8,\"say \"\"b\"\", please\",1,5,writeback,4294967295\n");
}

TEST(the_log_of_late_releases_has_an_end) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_program) *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  OWNED(prem_trace) *trace = room(schedule, 2, 7);
  prem_recorder *recorders = recorders_of(program, trace);
  const prem_trace_record record = {.start_ns = 4, .end_ns = 5, .hyperperiod = 1};
  for (int32_t i = 0; i < PREM_LATE_KEPT + 5; ++i)
    prem_recorder_add(&recorders[i & 1], &record, INT64_MAX);
  prem_recorders_collect(program, recorders, trace);
  prem_recorders_free(recorders, program->block_count);
  ck_assert_int_eq(trace->late_count, PREM_LATE_KEPT);
  ck_assert_int_eq(trace->stats[PREM_PREFETCH].late, PREM_LATE_KEPT + 5);
  prem_trace_clear(trace);
  ck_assert_int_eq(trace->late_count, 0);
}

static char *csv_of(const prem_trace *trace, const prem_schedule *schedule, int64_t first_run,
                    bool header) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  ck_assert_int_eq(prem_trace_write_csv(trace, schedule, first_run, header, file), PREM_OK);
  fclose(file);
  return text;
}

TEST(csv_is_sorted_and_quoted) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_trace) *trace = room(schedule, 2, 100);
  trace->records[0] = (prem_trace_record){.release_ns = 90,
                                          .ready_ns = 10,
                                          .start_ns = 91,
                                          .end_ns = 9223372036854775807,
                                          .hyperperiod = 1,
                                          .job = 3,
                                          .task = 1,
                                          .block = 1,
                                          .phase = PREM_COMPUTE};
  trace->records[1] = (prem_trace_record){.release_ns = PREM_NO_RELEASE,
                                          .ready_ns = -3,
                                          .start_ns = 5,
                                          .end_ns = 10,
                                          .tile = 2,
                                          .phase = PREM_PREFETCH};
  trace->records[2] = (prem_trace_record){.release_ns = 5,
                                          .ready_ns = 5,
                                          .start_ns = 5,
                                          .end_ns = 10,
                                          .block = 1,
                                          .phase = PREM_WRITEBACK,
                                          .issue_ns = UINT32_MAX};
  trace->record_count = 3;
  prem_trace_sort(trace);
  char *text = csv_of(trace, schedule, 7, true);
  ck_assert_str_eq(text,
                   "run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns,job,issue_ns\n"
                   "7,a,0,2,prefetch,,-3,5,10,0,0\n"
                   "7,a,1,0,writeback,5,5,5,10,0,4294967295\n"
                   "8,\"say \"\"b\"\", please\",1,0,compute,90,10,91,9223372036854775807,3,0\n");
  free(text);
  trace->record_count = 1;
  text = csv_of(trace, schedule, 0, false);
  ck_assert_str_eq(text, "0,a,0,2,prefetch,,-3,5,10,0,0\n");
  free(text);
  strcpy(schedule->tasks[0].name, "=cmd|x");
  text = csv_of(trace, schedule, 0, false);
  ck_assert_str_eq(text, "0,\"'=cmd|x\",0,2,prefetch,,-3,5,10,0,0\n");
  free(text);
}

/* Parts count in this order: what is less by one stands first, though all that follow are greater.
 */
TEST(records_are_ordered_part_by_part) {
  enum { PARTS = 7 };
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_trace) *trace = room(schedule, 2, 100);
  for (int part = 0; part < PARTS; ++part)
    for (int swapped = 0; swapped < 2; ++swapped) {
      for (int which = 0; which < 2; ++which) {
        int value[PARTS];
        for (int i = 0; i < PARTS; ++i)
          value[i] = i < part ? 1 : i == part ? which : 1 - which;
        trace->records[which ^ swapped] = (prem_trace_record){.start_ns = value[0],
                                                              .block = (uint16_t)value[1],
                                                              .phase = (uint8_t)value[2],
                                                              .hyperperiod = value[3],
                                                              .task = (uint16_t)value[4],
                                                              .job = value[5],
                                                              .tile = value[6],
                                                              .end_ns = which};
      }
      trace->record_count = 2;
      prem_trace_sort(trace);
      ck_assert_msg(trace->records[0].end_ns == 0 && trace->records[1].end_ns == 1, "part %d",
                    part);
    }
}

/* Nothing is longer than a name of quotes behind an apostrophe. */
TEST(csv_has_room_for_names_of_quotes) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_trace) *trace = room(schedule, 2, 2);
  char quotes[PREM_NAME_BYTES], doubled[2 * PREM_NAME_BYTES];
  memset(quotes, '"', sizeof quotes - 1);
  memset(doubled, '"', 2 * (sizeof quotes - 2));
  quotes[sizeof quotes - 1] = doubled[2 * (sizeof quotes - 2)] = 0;
  quotes[0] = '=';
  for (uint16_t t = 0; t < 2; ++t) {
    strcpy(schedule->tasks[t].name, quotes);
    trace->records[t] = (prem_trace_record){.end_ns = 1, .task = t};
  }
  trace->record_count = 2;
  FREED char *found = csv_of(trace, schedule, 0, false);
  const char *line = text("0,\"'=%s\",0,0,prefetch,0,0,0,1,0,0\n", doubled);
  ck_assert_str_eq(found, text("%s%s", line, line));
}

TEST(a_long_csv_is_whole) {
  OWNED(prem_schedule) *schedule = two_blocks();
  enum { LINES = 20000 };
  OWNED(prem_trace) *trace = room(schedule, LINES, LINES);
  for (int i = 0; i < LINES; ++i)
    trace->records[i] = (prem_trace_record){.release_ns = i, .start_ns = i, .end_ns = i + 1};
  trace->record_count = LINES;
  FREED char *text = csv_of(trace, schedule, 0, false);
  char *line = text;
  for (int i = 0; i < LINES; ++i) {
    long long release = -1, end = -1;
    ck_assert_int_eq(sscanf(line, "0,a,0,0,prefetch,%lld,0,%*d,%lld", &release, &end), 2);
    ck_assert_int_eq(release, i);
    ck_assert_int_eq(end, i + 1);
    line = strchr(line, '\n') + 1;
  }
  ck_assert_int_eq(*line, 0);
}

TEST(a_full_disk_is_an_error) {
  OWNED(prem_schedule) *schedule = two_blocks();
  OWNED(prem_trace) *trace = room(schedule, 20000, 20000);
  memset(trace->records, 0, 20000 * sizeof *trace->records);
  trace->record_count = 20000;
  FILE *full = fopen("/dev/full", "w");
  ck_assert_ptr_nonnull(full);
  ck_assert_int_eq(prem_trace_write_csv(trace, schedule, 0, true, full), PREM_ERR_IO);
  fclose(full);
}
