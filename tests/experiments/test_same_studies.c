/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Studies over numbers that are made up, at their limits: each offset that a tuning asks for, and
 * every cell of its findings and of a certificate's, are what they were (see
 * tests/common/golden.h): others show that they are right.
 */
/* ctest: release */
#include <math.h>

#include "report/findings/parts.h"
#include "tests/common/golden.h"
#include "ttprem/ttprem_measure.h"

static uint64_t drawn;

static int64_t draw(int64_t below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((drawn >> 33) % (uint64_t)below);
}

#define DRAW_OF(list) ((list)[draw((int64_t)(sizeof(list) / sizeof *(list)))])

/* ---- findings, whole ------------------------------------------------------------------------- */

static void tell_table(FILE *file, const prem_table *table) {
  fprintf(file, "  %s:", table->name);
  for (int64_t c = 0; c < table->column_count; ++c)
    fprintf(file, " %s[%s]", table->columns[c].name, table->columns[c].unit);
  fputc('\n', file);
  for (int64_t row = 0; row < prem_table_rows(table); ++row) {
    fputs("   ", file);
    for (int64_t c = 0; c < table->column_count; ++c) {
      const prem_value *value = prem_table_value(table, row, c);
      if (value->kind == PREM_VALUE_TEXT)
        fprintf(file, " '%s'", value->text);
      else if (value->kind == PREM_VALUE_INT)
        fprintf(file, " %" PRId64, value->integer);
      else if (isnan(value->real))
        fputs(" -", file);
      else
        fprintf(file, " %.9g", value->real);
    }
    fputc('\n', file);
  }
}

static char *told_findings(const prem_findings *findings) {
  char *told = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&told, &bytes);
  fprintf(file, "  %s: %s? %s\n", findings->title, findings->question, findings->verdict);
  for (int64_t i = 0; i < findings->note_count; ++i)
    fprintf(file, "  note: %s\n", findings->notes[i]);
  for (int64_t i = 0; i < findings->table_count; ++i)
    tell_table(file, findings->tables[i]);
  for (int64_t i = 0; i < findings->chart_count; ++i) {
    const prem_chart *chart = &findings->charts[i];
    fprintf(file, "  chart %s of %s: %s, %s, %s%s%s\n", prem_chart_kind_names[chart->kind],
            chart->table, chart->x, chart->y, chart->series, chart->log_x ? ", log x" : "",
            chart->log_y ? ", log y" : "");
  }
  fprintf(file, "  seed %d %" PRIu64 ", incomplete %d, output %d %d, promise %d %d\n",
          findings->seeded, findings->seed, findings->incomplete, findings->output_checked,
          findings->output_wrong, findings->promised, findings->broken);
  fclose(file);
  return told;
}

/* Of the first ones every word, of the others one number each: they differ in little. */
static void tell_findings(FILE *file, const prem_findings *findings, bool whole) {
  char *told = told_findings(findings);
  if (whole)
    fputs(told, file);
  else
    fprintf(file, "  %016" PRIx64 "%s\n", golden_text(told), findings->broken ? ", broken" : "");
  free(told);
}

static prem_schedule *named_tasks(void) {
  return schedule_from_text(
      "version = 1; name = \"made up\"; platform: { blocks = 2; }; tasks = ("
      " { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 5L; }; },"
      " { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 5L; }; } "
      ");");
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/** Offsets below the edge fail, those near it by chance. */
typedef struct machine {
  int64_t edge_ns, noise_ns, plan_ns;
  int32_t left; /* measurements until it is interrupted; below 0: never */
  FILE *asked;
} machine;

static prem_status measure(void *context, int64_t offset_ns, prem_tune_point *out) {
  static const double isolations[] = {1, 1.5, 2, (double)NAN};
  machine *of = (machine *)context;
  if (of->left-- == 0)
    return PREM_ERR_INTERRUPTED;
  out->planned = offset_ns >= of->plan_ns;
  out->kept = out->planned && offset_ns >= of->edge_ns;
  if (out->planned && llabs(offset_ns - of->edge_ns) < of->noise_ns)
    out->kept = draw(3) > 0;
  fprintf(of->asked, " %" PRId64 "%s", offset_ns, out->kept ? "" : out->planned ? "-" : "!");
  if (!out->planned)
    return PREM_OK;
  out->samples = draw(3) * 5;
  out->makespan_ns = (double)(10 * offset_ns + draw(40));
  out->makespan_max_ns = 11 * offset_ns + draw(100);
  out->phases = 12 + draw(5);
  out->releases = draw(3) * 6;
  out->late = draw(3);
  out->overruns = draw(4);
  out->lateness_max_ns = out->releases > 0 ? draw(100) - 50 : INT64_MIN;
  out->isolation_p50 = DRAW_OF(isolations);
  out->isolation_p999 = DRAW_OF(isolations);
  out->isolation_max = DRAW_OF(isolations);
  return PREM_OK;
}

static void tell_points(FILE *file, const prem_tune_result *result) {
  for (int32_t i = 0; i < result->count; ++i) {
    const prem_tune_point *point = &result->points[i];
    fprintf(
        file,
        "    %" PRId64 ": %d%d%d, %d tries, %" PRId64 " samples, %.9g %" PRId64 " ns, %" PRId64
        " phases, %" PRId64 " of %" PRId64 " late, %" PRId64 " over, %" PRId64 " ns, %g %g %g\n",
        point->offset_ns, point->planned, point->kept, point->swept, point->tries, point->samples,
        point->makespan_ns, point->makespan_max_ns, point->phases, point->late, point->releases,
        point->overruns, point->lateness_max_ns == INT64_MIN ? -1000000 : point->lateness_max_ns,
        point->isolation_p50, point->isolation_p999, point->isolation_max);
  }
}

static prem_status tune(FILE *file, int seed, prem_tune_search *search) {
  static const int64_t grids_ns[] = {1, 2, 7, 32, 100}, steps_ns[] = {0, 0, 1, 33, 250};
  static const double precisions_pct[] = {0, 0, 1, 5, 12.5};
  drawn = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
  prem_tune_options options = {.grid_ns = DRAW_OF(grids_ns), .tries = (int32_t)(1 + draw(3))};
  options.min_ns = draw(3) * draw(80);
  options.max_ns = options.min_ns + draw(4) * draw(400);
  options.start_ns = draw(2) == 0 ? draw(1000) : options.min_ns + draw(10);
  options.precision_pct = DRAW_OF(precisions_pct);
  options.sweep_step_ns = DRAW_OF(steps_ns);
  machine of = {.edge_ns = draw(8) == 0 ? options.min_ns : draw(options.max_ns + 40),
                .noise_ns = draw(3) * draw(60),
                .left = draw(10) == 0 ? (int32_t)draw(9) : -1,
                .asked = file};
  of.plan_ns = draw(3) == 0 ? of.edge_ns - draw(30) : 0;
  fprintf(file,
          "search %d: %" PRId64 " in %" PRId64 "..%" PRId64 " by %" PRId64
          ", %d tries, %g %%, %" PRId64 ":",
          seed, options.start_ns, options.min_ns, options.max_ns, options.grid_ns, options.tries,
          options.precision_pct, options.sweep_step_ns);
  search->key = draw(2) ? "prefetch_offset_ns" : "writeback_offset_ns";
  search->start_ns = options.start_ns;
  const prem_status status = prem_tune(&options, measure, &of, &search->result);
  fprintf(file, " %s, best %d, swept %d\n", prem_status_text(status), search->result.best,
          search->result.best_swept);
  return status;
}

START_TEST(tunings) {
  enum { SEARCHES = 160, WHOLE = 12 };
  prem_schedule *schedule = named_tasks();
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  prem_tune_search searches[2] = {{0}};
  for (int seed = 0; seed < SEARCHES; ++seed) {
    prem_tune_search *search = &searches[seed % 2];
    tune(file, seed, search);
    if (seed < WHOLE)
      tell_points(file, &search->result);
    const int32_t first = seed % 2; /* of one search, then of that and the next */
    prem_findings *findings = prem_tune_findings(schedule, searches, 1 + first, "no release late");
    tell_findings(file, findings, seed < WHOLE);
    prem_findings_free(findings);
    if (first) {
      prem_tune_free(&searches[0].result);
      prem_tune_free(&searches[1].result);
    }
  }
  fclose(file);
  prem_schedule_free(schedule);
  golden_judge("studies_tuning.txt", found);
}
END_TEST

/* ---- certificates ---------------------------------------------------------------------------- */

/* As summaries are: in order, and percentiles that the samples do not carry are not known. */
static prem_summary made_up_summary(int64_t near_ns, int64_t apart_ns) {
  static const int64_t counts[] = {0, 1, 3, 4, 5, 10000, 100000, 1000000};
  prem_summary out = {
      .count = DRAW_OF(counts), .p99 = INT64_MIN, .p999 = INT64_MIN, .p9999 = INT64_MIN};
  if (out.count == 0)
    return out;
  out.min = draw(6) == 0 ? 0 : near_ns;
  out.p50 = out.min + draw(2) * draw(apart_ns);
  out.max = out.p50 + draw(2) * draw(apart_ns);
  out.p99 = out.count >= 1000 ? out.p50 : INT64_MIN;
  out.p999 = out.count >= 10000 ? (out.p50 + out.max) / 2 : INT64_MIN;
  out.p9999 = out.count >= 100000 ? out.max - draw(out.max - out.p50 + 1) : INT64_MIN;
  out.mean = (double)(out.min + out.p50 + out.max) / 3;
  return out;
}

/* What nobody moved, but for one number by so much. */
static void make_calm(prem_isolation_task *task, int64_t moved_ns) {
  for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
    task->response_ns[c] = (prem_summary){.count = 4 + draw(2),
                                          .min = 90,
                                          .p50 = 100,
                                          .p99 = INT64_MIN,
                                          .p999 = INT64_MIN,
                                          .p9999 = draw(2) ? 105 : INT64_MIN,
                                          .max = 110,
                                          .mean = 100};
  prem_summary *one = &task->response_ns[draw(PREM_ISOLATION_CONDITIONS)];
  int64_t *const numbers[] = {&one->p50, &one->p9999, &one->max};
  int64_t *number = DRAW_OF(numbers);
  *number += *number == INT64_MIN ? 0 : draw(2) ? moved_ns : -moved_ns;
  if (draw(6) == 0)
    one->count = 0;
}

static void make_up_task(prem_isolation_task *task, const char *name, bool has_phases) {
  static const int64_t nears_ns[] = {1, 2, 100, 1000};
  snprintf(task->name, sizeof task->name, "%s", name);
  const int64_t near_ns = DRAW_OF(nears_ns);
  for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
    task->response_ns[c] = made_up_summary(near_ns, 40);
    prem_isolation_bins *bins = &task->response_bins[c];
    bins->bin_count = (int32_t)draw(4);
    for (int32_t i = 0; i < bins->bin_count; ++i) {
      bins->ns[i] = near_ns + 10 * i;
      bins->count[i] = 1 + draw(9);
    }
    for (int p = 0; p < PREM_PHASE_COUNT && has_phases; ++p) {
      task->phase_ns[p][c] = made_up_summary(near_ns, near_ns + 1);
      for (int32_t q = 0; q < PREM_QUANTILES; ++q)
        task->quantile_ns[p][c][q] = near_ns + q * (c + 1) + p;
    }
  }
}

/* In every other one little breaks the promise, so that each of the reasons decides. */
static void make_up(prem_isolation *out, int seed) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LEGACY};
  static const int64_t steps_ns[] = {0, 1, 10, 32};
  drawn = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
  out->mode_count = (int32_t)(1 + draw(3));
  out->task_count = 2;
  out->clock_step_ns = DRAW_OF(steps_ns);
  const bool is_calm = seed % 2 == 1;
  const int first = (int)draw(3), rarely = is_calm ? 20 : 3;
  for (int32_t m = 0; m < out->mode_count; ++m) {
    prem_isolation_mode *mode = &out->modes[m];
    mode->mode = modes[(first + m) % 3];
    mode->tasks = calloc(2, sizeof *mode->tasks);
    make_up_task(&mode->tasks[0], "a", prem_mode_has_phases(mode->mode));
    make_up_task(&mode->tasks[1], "b", prem_mode_has_phases(mode->mode));
    for (int t = 0; t < 2 && is_calm; ++t)
      make_calm(&mode->tasks[t], draw(4) * out->clock_step_ns - draw(2));
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
      mode->releases[c] = draw(3);
      mode->late[c] = draw(rarely) == 0 ? draw(3) : 0;
      mode->overruns[c] = draw(3);
      mode->lateness_max_ns[c] = draw(3) - 1;
      if (draw(4 * rarely) == 0)
        snprintf(mode->left_out[c], sizeof mode->left_out[c], "not here");
    }
  }
  out->stressors = calloc(2, sizeof *out->stressors);
  for (int t = 0; t < 2; ++t)
    out->stressors[t] = (prem_stressor){.replaced = draw(2), .fill_pct = (double)draw(3) * 50};
  for (int t = 0; t < 2; ++t)
    out->stressors[t].bytes_per_tile = out->stressors[t].own_bytes_per_tile = draw(3) * 128;
  out->sampling = (prem_sampling){.samples = 1 + draw(9), .rounds = 1 + draw(3)};
  out->sampling.launches = draw(3);
  out->sampling.seed = (uint64_t)draw(5);
  out->output_ok = draw(6) > 0;
  out->oversubscribed = draw(6) == 0;
  out->interrupted = draw(6) == 0;
  out->repeats_itself = draw(3) == 0;
  out->valid = draw(6) > 0;
  if (!out->valid)
    snprintf(out->disturbed, sizeof out->disturbed, "somebody else");
  out->lost = draw(3);
}

START_TEST(certificates) {
  enum { CERTIFICATES = 600, WHOLE = 3 };
  prem_schedule *schedule = named_tasks();
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int seed = 0; seed < CERTIFICATES; ++seed) {
    prem_isolation *isolation = calloc(1, sizeof *isolation);
    make_up(isolation, seed);
    fprintf(file, "certificate %d:", seed);
    for (int32_t m = 0; m < isolation->mode_count; ++m)
      for (int t = 0; t < 2; ++t)
        for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
          fprintf(file, " %" PRId64,
                  prem_isolation_moved_ns(&isolation->modes[m].tasks[t], (prem_condition)c));
    fputc('\n', file);
    prem_findings *findings = prem_isolation_findings(isolation, schedule);
    tell_findings(file, findings, seed < WHOLE);
    prem_findings_free(findings);
    prem_isolation_free(isolation);
  }
  fclose(file);
  prem_schedule_free(schedule);
  golden_judge("studies_isolation.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same studies");
  TCase *cases = tcase_create("tunings");
  tcase_add_test(cases, tunings);
  suite_add_tcase(suite, cases);
  cases = tcase_create("certificates");
  tcase_add_test(cases, certificates);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
