/* SPDX-License-Identifier: Apache-2.0 */
/* What the host of a live session counts: ages, latenesses, when a result was due. */
#include "tests/common/live.h"
#include "tests/common/suite.h"

#include "ttprem/tally.h"

#define PORTS "inputs = ( { array = \"x\"; %s } ); outputs = ( { array = \"y\"; %s } );"

typedef struct bench {
  prem_schedule *schedule;
  prem_live *live;
  prem_tally *tally;
} bench;

/* Jobs of 400 ns every 1000; on sim from 1 on, since 0 is no time of a frame. */
static bench open_bench(const char *input, const char *output) {
  bench b = {.schedule = checked_schedule(increment_file(1000, 1, "", text(PORTS, input, output)))};
  b.live = open_live_on("sim", b.schedule);
  ck_assert_int_eq(prem_tally_new(b.schedule, "sim", PREM_MODE_TT, 0, &b.tally), PREM_OK);
  prem_live_sleep_until(b.live, 1);
  return b;
}

static void start_bench(bench *b) {
  start_live(b->live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_tally_begin(b->tally, b->live);
}

static void close_bench(bench *b) {
  prem_tally_free(b->tally);
  prem_live_close(b->live);
  prem_schedule_free(b->schedule);
}

/* Closed at the end of its scope. */
#define BENCH __attribute__((cleanup(close_bench))) bench

static void submit(bench *b, float value) {
  prem_frame frame;
  ck_assert_int_eq(feed(b->live, 0, value, &frame), PREM_OK);
  prem_tally_submitted(b->tally, &frame);
}

/* How late the next result is. */
static int64_t take(bench *b, int64_t *hyperperiod) {
  float value;
  prem_frame frame;
  ck_assert_int_eq(fetch(b->live, 1, prem_live_now_ns(b->live) + 5000, &value, &frame), PREM_OK);
  return prem_tally_result(b->tally, &frame, hyperperiod);
}

TEST(a_result_is_due_when_it_is_published) {
  BENCH b = open_bench("", "publish_ns = 900L;");
  submit(&b, 1);
  start_bench(&b);
  int64_t hyperperiod = -1;
  ck_assert_int_eq(take(&b, &hyperperiod), 0);
  ck_assert_int_eq(hyperperiod, 0);
  submit(&b, 2); /* at 901 */
  ck_assert_int_eq(take(&b, &hyperperiod), 0);
  ck_assert_int_eq(hyperperiod, 1);
  prem_tally_look(b.tally, b.live);
  const prem_tally_stream *y = &b.tally->streams[1];
  ck_assert_int_eq(y->age.count, 2);
  ck_assert_int_eq(y->age.min_ns, 900);
  ck_assert_int_eq(y->age.max_ns, 1000);
  ck_assert_int_eq(b.tally->age_max_ns, 1000);
  ck_assert_uint_eq(y->seen, 2);
  ck_assert_int_eq(y->ages.p50, 900);
  ck_assert_uint_eq(prem_tally_frames(b.tally, false), 2);
  ck_assert_uint_eq(prem_tally_frames(b.tally, true), 2);
}

/* Only a trigger begins hyperperiods: a late frame of a sampling input moves none. */
TEST(a_late_frame_makes_no_result_due_later) {
  BENCH b = open_bench("", "publish_ns = 900L;");
  submit(&b, 1);
  start_bench(&b);
  ck_assert_int_eq(take(&b, NULL), 0);
  prem_live_sleep_until(b.live, 3500);
  submit(&b, 2);
  int64_t hyperperiod = -1;
  ck_assert_int_eq(take(&b, &hyperperiod), 0);
  ck_assert_int_gt(hyperperiod, 1);
}

/* Without an input the first stream is an output, and it is freed as well. */
TEST(a_session_may_have_outputs_alone) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      increment_file(1000, 1, "", "outputs = ( { array = \"y\"; publish_ns = 900L; } );"));
  OWNED(prem_tally) *tally = NULL;
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  prem_frame frame = {.job = 3, .captured_ns = 100, .published_ns = 3905};
  int64_t hyperperiod = -1;
  ck_assert_int_eq(prem_tally_result(tally, &frame, &hyperperiod), 5);
  ck_assert_int_eq(hyperperiod, 3);
  ck_assert_int_eq(tally->streams[0].age.max_ns, 3805);
}

TEST(without_an_instant_it_is_due_at_its_planned_end) {
  BENCH b = open_bench("", "");
  submit(&b, 1);
  start_bench(&b);
  ck_assert_int_eq(take(&b, NULL), 0); /* shown at 401 */
  prem_frame early = {.stream = 1, .job = 7, .published_ns = 1 + 7000 + 250};
  ck_assert_int_eq(prem_tally_result(b.tally, &early, NULL), -150);
  ck_assert_int_eq(b.tally->streams[1].age.count, 1); /* no input in it: no age */
  ck_assert_int_eq(b.tally->streams[1].lateness.min_ns, -150);
  ck_assert_int_eq(b.tally->lateness_max_ns, 0);
}

/* y by its release and publish_ns, w at the end of the later of its two tiles; of each job. */
TEST(each_job_has_an_instant_of_its_own) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"due\"; platform: { blocks = 2; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },\n"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },\n"
      "  { name = \"z\"; type = \"f32\"; shape = [ 16 ]; },\n"
      "  { name = \"w\"; type = \"f32\"; shape = [ 16 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
      "    period_ns = 1000L; release_ns = 100L; arrays: { in = \"x\"; out = \"y\"; };\n"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
      "    writeback: { wcet_ns = 10L; }; },\n"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
      "    period_ns = 500L; arrays: { in = \"z\"; out = \"w\"; };\n"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
      "    writeback: { wcet_ns = 10L; }; } );\n"
      "plan: { hyperperiod_ns = 1000L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
      "    start_ns = 100L; },\n"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
      "    start_ns = 300L; repeat = 2; step_ns = 50L; jobs = 2; job_step_ns = 510L; } ); };\n"
      "live: { inputs = ( { array = \"x\"; }, { array = \"z\"; } );\n"
      "  outputs = ( { array = \"y\"; publish_ns = 700L; }, { array = \"w\"; } ); };\n");
  prem_tally *tally = NULL;
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  const prem_tally_stream *y = &tally->streams[2], *w = &tally->streams[3];
  ck_assert_str_eq(y->name, "y");
  ck_assert_int_eq(y->jobs, 1);
  ck_assert_int_eq(y->due_ns[0], 800);
  ck_assert_int_eq(w->jobs, 2);
  ck_assert_int_eq(w->due_ns[0], 380);
  ck_assert_int_eq(w->due_ns[1], 890);
  prem_tally_free(tally);
  schedule->tasks[1].release_ns = 20; /* by publish_ns instead */
  schedule->live[3].publish_ns = 400;
  ck_assert_int_eq(prem_tally_new(schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_OK);
  ck_assert_int_eq(tally->streams[3].due_ns[0], 420);
  ck_assert_int_eq(tally->streams[3].due_ns[1], 920);
  prem_tally_free(tally);
}

TEST(a_trigger_says_when_a_result_is_due) {
  BENCH b = open_bench("kind = \"trigger\"; lead_ns = 50L;", "kind = \"queuing\";");
  start_bench(&b);
  submit(&b, 1); /* at 1: begins at 51 */
  submit(&b, 2); /* at 1: behind the first, at 1051 */
  ck_assert_int_eq(take(&b, NULL), 0);
  ck_assert_int_eq(take(&b, NULL), 0);
  prem_live_sleep_until(b.live, 7000);
  submit(&b, 3); /* begins at 7050 */
  int64_t hyperperiod = -1;
  ck_assert_int_eq(take(&b, &hyperperiod), 0);
  ck_assert_int_eq(hyperperiod, 2);
}

/* Results of one stream, of an age each. */
static void add_ages(bench *b, const int64_t *ages_ns, int count) {
  for (int i = 0; i < count; ++i) {
    prem_frame frame = {.stream = 1, .job = i, .captured_ns = 100};
    frame.published_ns = frame.captured_ns + ages_ns[i];
    prem_tally_result(b->tally, &frame, NULL);
  }
}

TEST(buckets_are_as_wide_as_four_hyperperiods_need) {
  BENCH b = open_bench("", "");
  start_bench(&b);
  prem_tally_times *age = &b.tally->streams[1].age;
  ck_assert_int_eq(age->width_ns, 1000);
  const int64_t top_ns = PREM_TALLY_BUCKETS * age->width_ns;
  add_ages(&b, (int64_t[]){-1, 0, 999, 1000, 1001, top_ns - 1, top_ns}, 7);
  ck_assert_int_eq(age->buckets[0], 3);
  ck_assert_int_eq(age->buckets[1], 2);
  ck_assert_int_eq(age->buckets[PREM_TALLY_BUCKETS - 1], 1);
  ck_assert_int_eq(age->over, 1);
  /* bounds are reached, not passed */
  ck_assert_int_eq(age->bounded[0], 4);
  ck_assert_int_eq(age->bounded[1], 1);
  ck_assert_int_eq(age->count, 7);
}

TEST(bounds_are_1_2_5_us_to_10_s) {
  const int64_t first[] = {1000, 2000, 5000, 10000, 20000, 50000};
  for (int i = 0; i < 6; ++i)
    ck_assert_int_eq(prem_tally_bound(i), first[i]);
  ck_assert_int_eq(prem_tally_bound(PREM_TALLY_BOUNDS - 1), INT64_C(10000000000));
}

TEST(a_second_is_forgotten_and_the_worst_is_not) {
  BENCH b = open_bench("", "");
  start_bench(&b);
  prem_tally_second_ages second;
  add_ages(&b, (int64_t[]){300, 700, 500}, 3);
  prem_tally_second(b.tally, &second);
  ck_assert_int_eq(second.count, 3);
  ck_assert_int_eq(second.min_ns, 300);
  ck_assert_int_eq(second.max_ns, 700);
  ck_assert_int_eq(second.p99_ns, 700);
  ck_assert_double_eq_tol(second.mean_ns, 500, 1e-9);
  prem_tally_second(b.tally, &second);
  ck_assert_int_eq(second.count, 0);
  char line[512];
  prem_tally_line(b.tally, &second, INT64_C(2000000000), true, line, sizeof line);
  ck_assert_str_eq(line, "    2 s  in 0 out 0   age us - worst 0.7  lateness us worst 0.0");
  ck_assert_int_gt(prem_tally_line(b.tally, &second, 0, false, line, 20), 100);
  ck_assert_uint_eq(strlen(line), 19);
}

TEST(a_histogram_has_a_block_of_ages_and_one_of_latenesses) {
  BENCH b = open_bench("", "");
  start_bench(&b);
  add_ages(&b, (int64_t[]){300, 2700, 20000000}, 3);
  FREED char *written = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&written, &bytes);
  prem_tally_write_histogram(b.tally, file);
  fclose(file);
  ck_assert_str_eq(written,
                   "# live, backend sim, mode tt\n"
                   "# age of results; buckets of 1 us, each from its number on\n"
                   "# y: 3 results, min 0.300 avg 6667.667 max 20000.000 us, overflow above 10000 "
                   "us: 1\n"
                   "# us y\n0 1\n2 1\n\n\n"
                   "# lateness of results; buckets of 1 us, each from its number on\n"
                   "# y: 3 results, min -0.001 avg 6666.366 max 19997.699 us, overflow above 10000 "
                   "us: 1\n"
                   "# us y\n0 1\n1 1\n");
}

/* Of two hyperperiods; in the second nothing holds the prefetch up, and it begins 500 ns late. */
static prem_trace *late_trace(const prem_schedule *schedule) {
  static const int64_t planned_ns[] = {0, 100, 300, 400};
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 2, 10, &trace), PREM_OK);
  prem_trace_begin_periodically(trace, 1000, 2);
  trace->hyperperiods = 2;
  for (int32_t i = 0; i < 6; ++i) {
    const int64_t at_ns = i / 3 * 1000, late_ns = i / 3 * 500;
    prem_trace_record record = {.hyperperiod = i / 3, .phase = (uint8_t)(i % 3)};
    record.release_ns = at_ns + planned_ns[i % 3];
    record.ready_ns = i % 3 == 0 ? record.release_ns : record.release_ns + late_ns;
    record.start_ns = record.release_ns + late_ns;
    record.end_ns = at_ns + planned_ns[i % 3 + 1] + late_ns;
    trace->records[trace->record_count++] = record;
    prem_phase_stats_add(&trace->stats[i % 3], &record, at_ns + planned_ns[i % 3 + 1], 1);
  }
  return trace;
}

TEST(the_release_that_was_too_late_is_found_with_its_first_cause) {
  BENCH b = open_bench("", "");
  OWNED(prem_trace) *trace = late_trace(b.schedule);
  prem_late_find found;
  char said[128];
  ck_assert_int_eq(prem_find_late(b.schedule, trace, 1, 400, -1, &found), PREM_OK);
  ck_assert(found.release.found && found.release.has_place && found.has_cause);
  ck_assert_int_eq(found.release.run, 1);
  ck_assert_int_eq(found.release.phase, PREM_PREFETCH);
  ck_assert_int_eq(found.release.lateness_ns, 500);
  ck_assert_int_eq(found.cause.kind, PREM_FIRST_EXECUTOR);
  prem_first_cause_say(b.schedule, &found.cause, said, sizeof said);
  ck_assert_str_eq(said, "nothing held up the prefetch of a: the executor began it late");
  /* behind it there is none, and below the limit neither */
  ck_assert_int_eq(prem_find_late(b.schedule, trace, 1, 400, 2, &found), PREM_OK);
  ck_assert(!found.release.found && !found.has_cause);
  ck_assert_int_eq(prem_find_late(b.schedule, trace, 1, 500, -1, &found), PREM_OK);
  ck_assert(!found.release.found);
}

TEST(without_a_plan_there_is_no_tally) {
  prem_schedule schedule = {.plan = NULL};
  prem_tally *tally = NULL;
  ck_assert_int_eq(prem_tally_new(&schedule, "sim", PREM_MODE_TT, 0, &tally), PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(tally);
  prem_tally_free(NULL);
}
