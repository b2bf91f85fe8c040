/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies of frames that are drawn, of sessions with any ports, are counted, told, printed and
 * exposed as they were, to the last byte (see tests/common/golden.h): others show that it is right.
 */
#include "measure/times.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "ttprem/tally.h"

enum { TALLIES = 600, WHOLE = 12, PAIRS = 4 };

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

/* As often small as large. */
static int64_t draw_ns(int32_t digits) {
  int64_t all = draw(0, 9);
  for (int32_t i = draw(0, digits - 1); i > 0; --i)
    all = 10 * all + draw(0, 9);
  return all;
}

/* ---- schedules ------------------------------------------------------------------------------ */

static const int64_t units_ns[] = {1, 1000, 40000, 3000000};
static int64_t unit_ns;

static void print_ports(FILE *file, int32_t pairs, bool has_inputs, bool has_outputs) {
  static const char *const kinds[] = {"sampling", "queuing"};
  fputs("live: {", file);
  for (int32_t i = 0; has_inputs && i < pairs; ++i) {
    const bool is_trigger = i == 0 && chance(3);
    const int32_t kind = draw(0, 1);
    fprintf(file, "%s{ array = \"x%" PRId32 "\"; kind = \"%s\";", i ? ", " : " inputs = ( ", i,
            is_trigger ? "trigger" : kinds[kind]);
    if (is_trigger)
      fprintf(file, " lead_ns = %" PRId64 "L;", draw(0, 90) * unit_ns);
    fputs(" }", file);
  }
  fputs(has_inputs ? " );" : "", file);
  for (int32_t i = 0; has_outputs && i < pairs; ++i) {
    fprintf(file, "%s{ array = \"y%" PRId32 "\";%s", i ? ", " : " outputs = ( ", i,
            chance(2) ? " kind = \"queuing\"; buffers = 4;" : "");
    if (chance(2))
      fprintf(file, " publish_ns = %" PRId64 "L;", draw(90, 99) * unit_ns);
    fputs(" }", file);
  }
  fputs(has_outputs ? " ); };\n" : " };\n", file);
}

/* Each task reads one array and writes one; which of them are live is drawn. */
static char *print_schedule(void) {
  char *source = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&source, &bytes);
  const int32_t pairs = draw(1, PAIRS), ports = draw(0, 4);
  const bool is_triggered = chance(2); /* then all are of one period */
  unit_ns = units_ns[draw(0, 3)];
  fprintf(file, "version = 1; name = \"t%s\"; platform: { blocks = %" PRId32 "; };\narrays = (",
          chance(3) ? " \\\"q\\\\" : "", pairs);
  for (int32_t i = 0; i < pairs; ++i)
    fprintf(file,
            "%s { name = \"x%" PRId32 "\"; type = \"f32\"; shape = [ 8 ]; },"
            " { name = \"y%" PRId32 "\"; type = \"f32\"; shape = [ 8 ]; }",
            i ? "," : "", i, i);
  fputs(" );\ntasks = (", file);
  for (int32_t i = 0; i < pairs; ++i) {
    const int64_t period_ns = 100 * unit_ns * (is_triggered ? 1 : 1 << draw(0, 2));
    const int64_t release_ns = chance(2) ? draw(0, 20) * unit_ns : 0;
    fprintf(file,
            "%s { name = \"a%" PRId32 "\"; kernel = \"vector_increment\"; blocks = [ %" PRId32 " ];"
            " tile = [ 8 ]; period_ns = %" PRId64 "L; release_ns = %" PRId64 "L;"
            " arrays: { in = \"x%" PRId32 "\"; out = \"y%" PRId32 "\"; };"
            " prefetch: { wcet_ns = %" PRId64 "L; }; compute: { wcet_ns = %" PRId64 "L; };"
            " writeback: { wcet_ns = %" PRId64 "L; }; }",
            i ? "," : "", i, i, period_ns, release_ns, i, i, 3 * unit_ns, 9 * unit_ns, 2 * unit_ns);
  }
  fputs(" );\n", file);
  print_ports(file, pairs, ports != 0, ports != 1);
  fclose(file);
  return source;
}

/* NULL: it has no plan. */
static prem_schedule *draw_schedule(FILE *file) {
  char *source = print_schedule();
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(source, diag);
  free(source);
  prem_plan *plan = NULL;
  prem_status status = prem_diag_errors(diag) > 0 ? PREM_ERR_INVALID : PREM_OK;
  if (status == PREM_OK)
    status = prem_plan_make(schedule, NULL, NULL, &plan, diag);
  fprintf(file, "%s", prem_status_text(status));
  prem_diag_free(diag);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    return schedule;
  }
  prem_schedule_free(schedule);
  return NULL;
}

/* ---- frames --------------------------------------------------------------------------------- */

static void add_results(FILE *file, prem_tally *tally, int32_t frames) {
  const int64_t round_ns = tally->schedule->plan->hyperperiod_ns;
  uint64_t submitted = 0;
  uint64_t sum = GOLDEN_SUM;
  for (int32_t i = 0; i < frames; ++i) {
    prem_frame frame = {.stream = draw(0, tally->stream_count - 1)};
    prem_tally_stream *stream = &tally->streams[frame.stream];
    if (!stream->is_output) {
      frame.number = frame.stream == 0 ? submitted++ : 0;
      frame.captured_ns = 1000 + i * round_ns / 2 + draw_ns(5);
      prem_tally_submitted(tally, &frame);
      stream->counts.repeated += chance(9);
      stream->counts.missing += chance(9);
      continue;
    }
    int64_t in = -1;
    frame.job = i * stream->jobs / 2 + draw(0, stream->jobs - 1);
    frame.published_ns = 1000 + frame.job * round_ns / stream->jobs + draw_ns(9);
    const int64_t age_ns = chance(4) ? -draw(1, 80) : draw_ns(11);
    frame.captured_ns = chance(4) ? 0 : frame.published_ns - age_ns;
    const int64_t late_ns = prem_tally_result(tally, &frame, chance(3) ? NULL : &in);
    const int64_t all[] = {late_ns, in};
    sum = golden_sum(sum, all, sizeof all);
  }
  fprintf(file, ", frames %016" PRIx64, sum);
}

/* As looked at last: what a session would say. */
static void draw_counts(prem_tally *tally) {
  for (int32_t s = 0; s < tally->stream_count; ++s) {
    prem_tally_stream *stream = &tally->streams[s];
    uint64_t *const counts[] = {
        &stream->counts.frames,  &stream->counts.taken,   &stream->counts.repeated,
        &stream->counts.missing, &stream->counts.stale,   &stream->counts.dropped,
        &stream->counts.late,    &stream->counts.aborted, &stream->unfed};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
      *counts[i] = chance(2) ? (uint64_t)draw_ns(5) : 0;
    if (stream->is_output)
      prem_times_summarise(stream->times, &stream->ages);
  }
  for (int32_t t = 0; t < tally->schedule->task_count; ++t) {
    uint64_t *const counts[] = {&tally->tasks[t].overruns, &tally->tasks[t].skipped,
                                &tally->tasks[t].aborted};
    for (int i = 0; i < 3; ++i)
      *counts[i] = chance(4) ? (uint64_t)draw(1, 9) : 0;
  }
  prem_live_state *of = &tally->state;
  of->phase = (prem_live_phase)draw(PREM_LIVE_OPEN, PREM_LIVE_ENDED);
  of->end = (prem_live_end)draw(PREM_LIVE_NOT_ENDED, PREM_LIVE_FAILED);
  of->now_ns = of->start_ns + draw_ns(12);
  int64_t *const counts[] = {&of->hyperperiods, &of->overruns, &of->skipped, &of->aborted};
  for (int i = 0; i < 4; ++i)
    *counts[i] = chance(2) ? draw_ns(4) : 0;
}

/* ---- what is told --------------------------------------------------------------------------- */

static void tell_lines(FILE *file, const prem_tally *tally, const prem_tally_second_ages *ages) {
  char line[1024];
  for (int is_short = 0; is_short < 2; ++is_short) {
    const int64_t at_ns = draw_ns(13);
    const int length = prem_tally_line(tally, ages, at_ns, is_short, line, sizeof line);
    ck_assert_int_eq(length, (int)strlen(line));
    fprintf(file, "\n%s", line);
    const size_t room = (size_t)draw(1, length + 2);
    prem_tally_line(tally, ages, at_ns, is_short, line, room);
    fprintf(file, "; in %zu: %016" PRIx64, room, golden_text(line));
  }
}

static void tell_printed(FILE *file, const prem_tally *tally,
                         void (*print)(const prem_tally *tally, FILE *file)) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&all, &bytes);
  print(tally, out);
  fclose(out);
  const char *from = strstr(all, "# HELP ttprem_live_running"); /* behind the version */
  fprintf(file, " %016" PRIx64, golden_text(from ? from : all));
  free(all);
}

static void tell_tally(FILE *file, const prem_schedule *schedule) {
  prem_tally *tally = NULL;
  const prem_mode mode = (prem_mode)draw(0, PREM_MODE_COPY);
  const int64_t interval_ns = draw_ns(11);
  ck_assert_int_eq(prem_tally_new(schedule, "sim", mode, interval_ns, &tally), PREM_OK);
  tally->state.start_ns = draw_ns(4);
  fprintf(file, ", trigger %" PRId32 ", widths", tally->trigger);
  for (int32_t s = 0; s < tally->stream_count; ++s)
    fprintf(file, " %" PRId64, tally->streams[s].age.width_ns);
  for (int second = 0; second < 2; ++second) {
    prem_tally_second_ages ages;
    if (!chance(5))
      add_results(file, tally, draw(1, 150));
    draw_counts(tally);
    prem_tally_second(tally, &ages);
    tell_lines(file, tally, &ages);
  }
  fputs("\n ", file);
  tell_printed(file, tally, prem_tally_print);
  tell_printed(file, tally, prem_tally_write_histogram);
  tell_printed(file, tally, prem_tally_write_metrics);
  prem_tally_free(tally);
}

START_TEST(of_tallies) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (int number = 0; number < TALLIES; ++number) {
    FILE *file = golden_begin(&lines, number < WHOLE);
    state = (uint64_t)number * 7919 + 5;
    fprintf(file, "%d: ", number);
    prem_schedule *schedule = draw_schedule(file);
    if (schedule)
      tell_tally(file, schedule);
    prem_schedule_free(schedule);
    fputc('\n', file);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("tallies.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same tallies");
  TCase *all = tcase_create("tallies");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_tallies);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
