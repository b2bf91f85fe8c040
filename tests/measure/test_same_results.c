/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of random schedules, and how it is told, is what it was, to the last byte (see
 * tests/common/golden.h): others show that it is right. They run on the simulator, as it is and
 * with a made-up machine's delays on top: phases that begin late, take too long, lose their core.
 */
/* ctest: release */
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"

#include "ttprem/ttprem_measure.h"

enum { SEEDS = 80, FIRST = 20, MORE = 46, WHOLE = 40, DRAWN_EVERY = 4, LATE_NS = DELAYED_LATE_NS };

/* ---- telling -------------------------------------------------------------------------------- */

/* Not what names this machine and this day. */
static uint64_t sum_of_json(const char *path) {
  char *text = golden_take(path);
  const char *from = strstr(text, "\"schedule\": {");
  const uint64_t sum = golden_text(from ? from : text);
  free(text);
  return sum;
}

static uint64_t sum_of_table(const prem_result *result) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  prem_result_print(result, file);
  fclose(file);
  const uint64_t sum = golden_text(text);
  free(text);
  return sum;
}

static uint64_t sum_of_trace(FILE *csv, const prem_trace_options *options) {
  FILE *out = fopen(golden_path("t.out"), "w");
  ck_assert_ptr_nonnull(out);
  rewind(csv);
  ck_assert_int_eq(prem_trace_convert(csv, "t.csv", options, out, NULL), PREM_OK);
  fclose(out);
  return golden_file_sum(golden_path("t.out"));
}

/* In each of the forms, whole and the first task alone. */
static void tell_trace(FILE *file, const prem_trace *trace, const prem_schedule *schedule) {
  FILE *csv = fopen(golden_path("t.csv"), "w+");
  ck_assert_ptr_nonnull(csv);
  ck_assert_int_eq(prem_trace_write_csv(trace, schedule, 0, true, csv), PREM_OK);
  fprintf(file, "\n  traces:");
  for (int format = PREM_TRACE_CSV; format <= PREM_TRACE_CHROME; ++format) {
    prem_trace_options options = {
        .format = (prem_trace_format)format, .run = -1, .late_ns = LATE_NS};
    uint64_t sum = sum_of_trace(csv, &options);
    options.task = schedule->tasks[0].name;
    fprintf(file, " %016" PRIx64, sum ^ sum_of_trace(csv, &options) << 1);
  }
  fclose(csv);
}

/* gnuplot is a script that keeps what it was asked to draw. */
static void tell_pictures(FILE *file, const prem_result *result, const prem_schedule *schedule) {
  prem_diag *diag = prem_diag_new();
  if (prem_result_draw(result, schedule, golden_path("r.svg"), NULL, diag) != PREM_OK)
    abort_with("draw", diag);
  fprintf(file, "\n  drawn: %016" PRIx64, golden_file_sum(golden_path("gnuplot.script")));
  if (prem_plan_draw(schedule, golden_path("p.svg"), NULL, diag) != PREM_OK)
    abort_with("draw", diag);
  fprintf(file, " %016" PRIx64, golden_file_sum(golden_path("gnuplot.script")));
  prem_diag_free(diag);
}

static void tell_result(FILE *file, const prem_backend *backend, const prem_schedule *schedule,
                        int seed) {
  const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK},
                                        .mode_count = 3,
                                        .sampling.scenario =
                                            seed % 2 ? PREM_RESIDENT : PREM_RELAUNCH,
                                        .sampling.samples = 4 + seed % 9,
                                        .sampling.launches = 3,
                                        .sampling.discard = seed % 3,
                                        .sampling.seed = (uint64_t)seed,
                                        .sampling.max_records = seed % 7 ? 100000 : 40,
                                        .mix_disturbed = seed % 5 == 0};
  prem_diag *diag = prem_diag_new();
  prem_session *session = NULL;
  prem_result *result = NULL;
  if (prem_session_open(backend, schedule, &session, diag) != PREM_OK)
    abort_with("open", diag);
  delayed_seed = (uint64_t)seed;
  const prem_status status = prem_compare(session, schedule, backend, &options, &result, diag);
  fprintf(file, "  %s: %s, problems %016" PRIx64, backend->name, prem_status_text(status),
          golden_problems(diag));
  ck_assert_ptr_nonnull(result);
  fprintf(file, ", table %016" PRIx64, sum_of_table(result));
  if (prem_result_write(result, schedule, "", golden_path("r.json"), diag) != PREM_OK)
    abort_with("write", diag);
  fprintf(file, ", json %016" PRIx64 " %016" PRIx64 " %016" PRIx64,
          sum_of_json(golden_path("r.json")), golden_file_sum(golden_path("r.samples.csv")),
          golden_file_sum(golden_path("r.phases.csv")));
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    fprintf(file,
            "\n  %s: %" PRId64 " of %" PRId64 " late, %" PRId64 " overruns, %" PRId64 "/%" PRId64
            " violations, %" PRId64 " ns",
            row->label, row->late_releases, row->releases, row->overruns, row->violations_certain,
            row->violations_possible, row->makespan_ns.max);
    if (row->example && row->example->record_count > 0)
      tell_trace(file, row->example, schedule);
  }
  if (seed < WHOLE / 2 || seed % DRAWN_EVERY == 0)
    tell_pictures(file, result, schedule);
  fputc('\n', file);
  prem_result_free(result);
  prem_session_close(session);
  prem_diag_free(diag);
}

static void tell_schedules(int from, int until, const char *name) {
  const prem_backend delayed = delayed_backend();
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (int seed = from; seed < until; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    prem_diag *diag = prem_diag_new();
    prem_schedule *schedule = NULL;
    const prem_status status = random_schedule_plan((uint64_t)seed, NULL, &schedule, diag);
    fprintf(file, "schedule %d: %s, problems %016" PRIx64, seed, prem_status_text(status),
            status == PREM_ERR_INFEASIBLE ? 0 : golden_problems(diag));
    if (status == PREM_OK) {
      char *saved = golden_saved(schedule);
      fprintf(file, ", plan %016" PRIx64, golden_text(saved));
      free(saved);
    }
    fputc('\n', file);
    if (status == PREM_OK) {
      tell_result(file, &prem_backend_sim, schedule, seed);
      tell_result(file, &delayed, schedule, seed);
    }
    prem_schedule_free(schedule);
    prem_diag_free(diag);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge(name, found);
}

START_TEST(of_first_schedules) {
  tell_schedules(0, FIRST, "results.txt");
}
END_TEST

START_TEST(of_more_schedules) {
  tell_schedules(FIRST, MORE, "results_more.txt");
}
END_TEST

START_TEST(of_other_schedules) {
  tell_schedules(MORE, SEEDS, "results_others.txt");
}
END_TEST

/* A case each: all in one would take too long to be asked about mutants. */
static void add_case(Suite *suite, TCase *one, const TTest *test) {
  tcase_set_timeout(one, 240);
  tcase_add_checked_fixture(one, golden_make_folder, golden_remove_folder);
  tcase_add_test(one, test);
  suite_add_tcase(suite, one);
}

int main(void) {
  Suite *suite = suite_create("same results");
  add_case(suite, tcase_create("first"), of_first_schedules);
  add_case(suite, tcase_create("more"), of_more_schedules);
  add_case(suite, tcase_create("others"), of_other_schedules);
  return run_suite(suite);
}
