/* SPDX-License-Identifier: Apache-2.0 */
/* What a live session's host tells of made-up counts, word by word: its line, its table, histograms
 * and metrics, with none, some and all of what can be counted. */
#include "measure/times.h"
#include "tests/common/golden.h"
#include "tests/common/live.h"
#include "ttprem/tally.h"

enum { TALLIES = 60 };

static uint64_t random_state;

/* 0 to below - 1. */
static uint64_t draw(uint64_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random_state >> 33) % below;
}

/* Often nothing, often one. */
static uint64_t draw_count(void) {
  static const uint64_t most[] = {1, 1, 2, 3, 100, 100000};
  return draw(most[draw(6)]);
}

static int64_t draw_ns(void) {
  static const int64_t units[] = {1, 40, 50, 1000, 999999, 20000000};
  const int64_t unit_ns = units[draw(6)];
  return (int64_t)draw(40) * unit_ns - (draw(4) == 0 ? 20 * unit_ns : 0);
}

/* Two inputs and two outputs, of names as short as a heading and longer. */
static prem_schedule *two_streams(void) {
  return checked_schedule(
      "version = 1; name = \"told\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( { name = \"in\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"a_long_input\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"out\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"another_one\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 500L; arrays: { in = \"in\"; out = \"out\"; }; prefetch: { wcet_ns = 100L; "
      "};"
      "    compute: { wcet_ns = 100L; }; writeback: { wcet_ns = 100L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    period_ns = 1000L; arrays: { in = \"a_long_input\"; out = \"another_one\"; };"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 100L; };"
      "    writeback: { wcet_ns = 100L; }; } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; jobs = 2; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 100L; } ); };"
      "live: { inputs = ( { array = \"in\"; kind = \"queuing\"; buffers = 4; },"
      "    { array = \"a_long_input\"; } );"
      "  outputs = ( { array = \"out\"; kind = \"queuing\"; buffers = 4; },"
      "    { array = \"another_one\"; publish_ns = 900L; } ); };");
}

static void make_up(prem_tally *tally) {
  tally->state.end = (prem_live_end)draw(5);
  tally->state.start_ns = (int64_t)draw(3) * 1000;
  tally->state.now_ns = tally->state.start_ns + draw_ns() * (draw(2) ? 1 : 1000);
  tally->state.hyperperiods = (int64_t)draw_count();
  tally->state.overruns = (int64_t)draw_count();
  tally->state.skipped = (int64_t)draw_count();
  tally->state.aborted = (int64_t)draw_count();
  for (int32_t t = 0; t < tally->schedule->task_count; ++t) {
    uint64_t *const counts[] = {&tally->tasks[t].overruns, &tally->tasks[t].skipped,
                                &tally->tasks[t].aborted, &tally->tasks[t].off};
    for (int i = 0; i < 4; ++i)
      *counts[i] = draw_count();
  }
  for (int32_t s = 0; s < tally->stream_count; ++s) {
    prem_live_counts *of = &tally->streams[s].counts;
    uint64_t *const counts[] = {&of->frames,  &of->taken,   &of->repeated,
                                &of->missing, &of->stale,   &of->dropped,
                                &of->late,    &of->aborted, &tally->streams[s].unfed};
    for (int i = 0; i < 9; ++i)
      *counts[i] = draw_count();
    of->behind_ns = draw_ns();
  }
}

/* Results of both outputs, some early, some of no frame, some far behind. */
static void see_results(prem_tally *tally) {
  const uint64_t count = draw(4) * draw(60);
  for (uint64_t i = 0; i < count; ++i) {
    prem_frame frame = {.stream = (int32_t)(2 + draw(2)), .job = (int64_t)i};
    frame.published_ns = 1000 + (int64_t)i * 1000 + draw_ns();
    frame.captured_ns = draw(5) ? frame.published_ns - draw_ns() : 0;
    prem_tally_result(tally, &frame, NULL);
  }
}

static void tell(FILE *file, prem_tally *tally) {
  for (int is_short = 0; is_short < 2; ++is_short) {
    prem_tally_second_ages ages = {0};
    char line[400];
    if (is_short)
      prem_tally_second(tally, &ages);
    const int length = prem_tally_line(tally, &ages, draw_ns() * 1000, is_short, line, sizeof line);
    fprintf(file, "%s| %d\n", line, length);
    char cut[40]; /* what has no room is cut, and counted all the same */
    ck_assert_int_eq(prem_tally_line(tally, &ages, 0, is_short, cut, sizeof cut),
                     prem_tally_line(tally, &ages, 0, is_short, line, sizeof line));
    ck_assert_int_eq(strncmp(cut, line, sizeof cut - 1), 0);
  }
  prem_tally_print(tally, file);
  void (*const longer[])(const prem_tally *, FILE *) = {prem_tally_write_histogram,
                                                        prem_tally_write_metrics};
  for (int i = 0; i < 2; ++i) {
    char *written = NULL;
    size_t bytes = 0;
    FILE *all = open_memstream(&written, &bytes);
    longer[i](tally, all);
    fclose(all);
    fprintf(file, "%s: %zu bytes, %016" PRIx64 "\n", i ? "metrics" : "histogram", bytes,
            golden_text(written));
    free(written);
  }
}

START_TEST(tallies_are_told_as_they_were) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  prem_schedule *schedule = two_streams();
  for (int i = 0; i < TALLIES; ++i) {
    random_state = (uint64_t)i;
    prem_tally *tally = NULL;
    ck_assert_int_eq(prem_tally_new(schedule, "sim", i % 2 ? PREM_MODE_TT : PREM_MODE_FREE,
                                    draw_ns() * 100, &tally),
                     PREM_OK);
    see_results(tally);
    prem_tally_second_ages ages;
    if (draw(2))
      prem_tally_second(tally, &ages);
    for (int32_t s = 2; s < tally->stream_count; ++s)
      prem_times_summarise(tally->streams[s].times, &tally->streams[s].ages);
    if (i > 0) /* of the first one nothing is known */
      make_up(tally);
    fprintf(file, "== %d\n", i);
    tell(file, tally);
    prem_tally_free(tally);
  }
  prem_schedule_free(schedule);
  fclose(file);
  golden_judge("tallies.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same tallies");
  TCase *cases = tcase_create("tallies");
  tcase_add_test(cases, tallies_are_told_as_they_were);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
