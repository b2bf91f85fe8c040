/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Studies over numbers that are made up, at their limits, and over random schedules with options
 * that hardly anybody takes: each offset that a tuning asks for, every number of a profile and of a
 * certificate, every cell of their findings, are what they were (see tests/common/golden.h): others
 * show that they are right.
 */
/* ctest: release */
#include <math.h>

#include "report/findings/parts.h"
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "ttprem/ttprem_measure.h"

enum { SCHEDULES = 100 };

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
typedef struct made_up_machine {
  int64_t edge_ns, noise_ns, plan_ns;
  int32_t left; /* measurements until it is interrupted; below 0: never */
  FILE *asked;
} made_up_machine;

static prem_status measure(void *context, int64_t offset_ns, prem_tune_point *out) {
  static const double isolations[] = {1, 1.5, 2, (double)NAN};
  made_up_machine *of = (made_up_machine *)context;
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
  made_up_machine of = {.edge_ns = draw(8) == 0 ? options.min_ns : draw(options.max_ns + 40),
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

/* ---- profiles and certificates of random schedules ------------------------------------------- */

static volatile sig_atomic_t stop;
static int64_t stop_after; /* variants run; 0: never */
static uint64_t turns;     /* all that was told of them */

static void count_turns(void *context, int64_t done, int64_t all_turns) {
  (void)context;
  const int64_t both[] = {done, all_turns};
  turns = golden_sum(turns, both, sizeof both);
  if (done == stop_after)
    stop = 1;
}

static void tell_summary(FILE *file, const prem_summary *of) {
  const int64_t all[] = {of->count, of->min, of->p50, of->p99, of->p999, of->p9999, of->max};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (all[i] == INT64_MIN)
      fputs(" -", file);
    else
      fprintf(file, " %" PRId64, all[i]);
  fprintf(file, " %.9g;", of->mean);
}

static void tell_profile(FILE *file, const prem_profile *profile) {
  for (int32_t t = 0; t < profile->task_count; ++t) {
    const prem_profile_task *task = &profile->tasks[t];
    fprintf(file, "  %s: joined %" PRId64 " %" PRId64 ", told", task->name, task->joined_ns,
            task->joined_busy_ns);
    tell_summary(file, &task->handover_ns);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_profile_phase *phase = &task->phase[p];
      fprintf(file, "\n    %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
              phase->wcet_ns, phase->longest_ns, phase->busy_ns, phase->turnaround_ns,
              phase->unit_turnaround_ns);
      tell_summary(file, &phase->turnaround_seen_ns);
      for (int c = 0; c < PREM_CONDITION_COUNT; ++c) {
        tell_summary(file, &phase->steady_ns[c]);
        tell_summary(file, &phase->cold_ns[c]);
        fprintf(file, " %d %.9g %s;", phase->pwcet[c].known, phase->pwcet[c].probability,
                phase->pwcet[c].reason);
      }
    }
    fputc('\n', file);
  }
  fprintf(file,
          "  told %" PRId64 ", job %" PRId64 " %" PRId64 ", quantile %g %d, disturbed %" PRId64
          " %d, raised %d, cold %d, %d %s, output %d, stopped %d\n",
          profile->machine.precedence_ns, profile->job_turnaround_ns, profile->job_prefetch_ns,
          profile->quantile, profile->quantile_short, profile->disturbed_runs,
          profile->all_disturbed, profile->raised, profile->counts_cold, profile->valid,
          profile->disturbed, profile->output_ok, profile->interrupted);
}

/* The file that is written, without the line that has the version. */
static void tell_written(FILE *file, const prem_profile *profile) {
  const char *path = golden_path("p.cfg");
  prem_diag *diag = prem_diag_new();
  if (prem_profile_write(profile, path, diag) != PREM_OK)
    abort_with("write", diag);
  prem_diag_free(diag);
  char *written = golden_take(path);
  const char *by = strstr(written, ", by ttprem "), *end = by ? strchr(by, '\n') : NULL;
  ck_assert_ptr_nonnull(end);
  fprintf(file, "%.*s%s", (int)(by - written), written, end);
  free(written);
}

/* Of the first ones every word. */
static void tell_some(FILE *file, char *told, bool whole) {
  if (whole)
    fputs(told, file);
  else
    fprintf(file, " %016" PRIx64, golden_text(told));
  free(told);
}

static void draw_sampling(prem_sampling *out, int seed) {
  static const int64_t rooms[] = {100000, 100000, 40, 7};
  *out = (prem_sampling){.scenario = draw(2) ? PREM_RESIDENT : PREM_RELAUNCH,
                         .samples = 1 + draw(9),
                         .rounds = 1 + draw(3),
                         .discard = draw(3),
                         .seed = (uint64_t)seed,
                         .max_records = DRAW_OF(rooms)};
  stop = 0;
  turns = GOLDEN_SUM;
  stop_after = draw(5) == 0 ? 1 + draw(12) : 0;
}

static void profile_random(FILE *file, const prem_backend *backend, const prem_machine *machine,
                           const prem_schedule *schedule, int seed) {
  static const prem_condition conditions[] = PREM_PROFILE_CONDITIONS;
  static const double margins_pct[] = {0, 0, 7.5, 40, -20}, quantiles[] = {0, 0, 1, 0.5, 0.7};
  prem_profile_options options = {.stop = &stop, .progress = count_turns};
  draw_sampling(&options.sampling, seed);
  options.times = DRAW_OF(conditions);
  const int64_t turn = options.times == PREM_PLANNED ? draw(3) : 0;
  options.anew = turn == 1;
  options.raise = turn == 2;
  options.regulated = draw(2);
  options.steady = draw(3) == 0;
  options.margin_pct = DRAW_OF(margins_pct);
  options.quantile = DRAW_OF(quantiles);
  options.probability = draw(2) ? 1e-3 : 0;
  prem_profile *profile = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status =
      prem_profile_measure(schedule, backend, machine, &options, &profile, diag);
  fprintf(file, "  profile: %s, turns %016" PRIx64, prem_status_text(status), turns);
  if (profile) {
    char *told = NULL;
    size_t bytes = 0;
    FILE *all = open_memstream(&told, &bytes);
    fputc('\n', all);
    tell_profile(all, profile);
    tell_written(all, profile);
    fclose(all);
    tell_some(file, told, seed < 2);
    tell_some(file, told_findings(profile->findings), false);
  }
  fputc('\n', file);
  prem_profile_free(profile);
  prem_diag_free(diag);
}

static void tell_isolation(FILE *file, const prem_isolation *isolation) {
  for (int32_t m = 0; m < isolation->mode_count; ++m) {
    const prem_isolation_mode *mode = &isolation->modes[m];
    fprintf(file, "\n  %s:", prem_mode_name(mode->mode));
    tell_summary(file, &mode->makespan_ns);
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
      fprintf(file, " %" PRId64 " %" PRId64 " %" PRId64 " %s;", mode->releases[c], mode->late[c],
              mode->overruns[c], mode->left_out[c]);
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c) {
        const prem_isolation_task *task = &mode->tasks[t];
        const prem_isolation_bins *bins = &task->response_bins[c];
        fprintf(file, "\n    %s:", task->name);
        tell_summary(file, &task->response_ns[c]);
        for (int32_t i = 0; i < bins->bin_count; ++i)
          fprintf(file, " %" PRId64 "x%" PRId64, bins->count[i], bins->ns[i]);
        for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
          tell_summary(file, &task->phase_ns[p][c]);
          for (int32_t q = 0; q < PREM_QUANTILES; ++q)
            fprintf(file, " %" PRId64, task->quantile_ns[p][c][q]);
        }
      }
  }
  for (int32_t t = 0; t < isolation->task_count; ++t)
    fprintf(file, "\n  %d %" PRId64 " of %" PRId64 ", %.9g", isolation->stressors[t].replaced,
            isolation->stressors[t].bytes_per_tile, isolation->stressors[t].own_bytes_per_tile,
            isolation->stressors[t].fill_pct);
  fprintf(file, "\n  %" PRId64 " launches, %" PRId64 " rounds, %d %d %d %d %d %s, %" PRId64 " lost",
          isolation->sampling.launches, isolation->sampling.rounds, isolation->output_ok,
          isolation->oversubscribed, isolation->interrupted, isolation->repeats_itself,
          isolation->valid, isolation->disturbed, isolation->lost);
}

static void isolate_random(FILE *file, const prem_backend *backend, const prem_schedule *schedule,
                           int seed) {
  prem_isolate_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK},
                                  .mode_count = (int32_t)(1 + draw(3)),
                                  .stop = &stop,
                                  .progress = count_turns};
  draw_sampling(&options.sampling, seed);
  prem_isolation *isolation = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status = prem_isolate(schedule, backend, &options, &isolation, diag);
  fprintf(file, "  isolation: %s, turns %016" PRIx64, prem_status_text(status), turns);
  if (isolation) {
    char *told = NULL;
    size_t bytes = 0;
    FILE *all = open_memstream(&told, &bytes);
    tell_isolation(all, isolation);
    fclose(all);
    tell_some(file, told, seed < 2);
    prem_findings *findings = prem_isolation_findings(isolation, schedule);
    tell_some(file, told_findings(findings), false);
    prem_findings_free(findings);
  }
  fputc('\n', file);
  prem_isolation_free(isolation);
  prem_diag_free(diag);
}

static void try_random(FILE *file, const prem_backend *backend, const prem_schedule *schedule,
                       int seed) {
  prem_tune_try_options how = {0};
  draw_sampling(&how.sampling, seed);
  prem_tune_trial *trial = NULL;
  prem_diag *diag = prem_diag_new();
  if (prem_tune_trial_open(schedule, backend, &how, &trial, diag) != PREM_OK)
    abort_with("tune", diag);
  prem_tune_point points[2] = {{.offset_ns = 1}, {.offset_ns = 2}};
  for (int i = 0; i < 2; ++i)
    fprintf(file, "  try: %s\n", prem_status_text(prem_tune_trial_run(trial, &points[i], diag)));
  tell_points(file, &(prem_tune_result){.points = points, .count = 2});
  prem_tune_trial_close(trial);
  prem_diag_free(diag);
}

/* Phases of one to three nanoseconds, one tile each, and more different times than a histogram has
 * rows. */
static void profile_by_hand(FILE *file, const prem_backend *backend, const prem_machine *machine) {
  for (int i = 0; i < 2; ++i) {
    const char *unit = i ? "000" : "";
    prem_schedule *schedule = checked_schedule(
        text("version = 1; name = \"tiny\"; platform: { blocks = 2; }; tasks = ("
             " { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
             " prefetch: { wcet_ns = 1%sL; }; compute: { wcet_ns = 2%sL; };"
             " writeback: { wcet_ns = 3%sL; }; },"
             " { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1;"
             " prefetch: { wcet_ns = 2%sL; }; compute: { wcet_ns = 1%sL; };"
             " writeback: { wcet_ns = 1%sL; }; } );"
             "plan: { hyperperiod_ns = 20%sL; runs = ("
             " { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
             " start_ns = 0L; }, { task = \"b\"; phase = \"prefetch\";"
             " chain = [ \"compute\", \"writeback\" ]; start_ns = 10%sL; } ); };",
             unit, unit, unit, unit, unit, unit, unit, unit));
    prem_profile_options options = {.sampling.samples = 2000,
                                    .sampling.rounds = 2,
                                    .sampling.seed = 5,
                                    .sampling.max_records = 10000,
                                    .times = PREM_CORUNNING};
    prem_profile *profile = NULL;
    ck_assert_int_eq(prem_profile_measure(schedule, backend, machine, &options, &profile, NULL),
                     PREM_OK);
    fprintf(file, "by hand:\n");
    tell_profile(file, profile);
    tell_written(file, profile);
    tell_some(file, told_findings(profile->findings), false);
    fputc('\n', file);
    prem_profile_free(profile);
    prem_schedule_free(schedule);
  }
}

/* Of so many times that all percentiles are known. */
static void try_many(FILE *file, const prem_backend *backend) {
  prem_schedule *schedule =
      schedule_from_text("version = 1; name = \"many\"; platform: { blocks = 2; }; tasks = ("
                         " { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 50;"
                         " prefetch: { wcet_ns = 700L; }; compute: { wcet_ns = 400L; };"
                         " writeback: { wcet_ns = 90L; }; },"
                         " { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 50;"
                         " prefetch: { wcet_ns = 30L; }; compute: { wcet_ns = 900L; };"
                         " writeback: { wcet_ns = 2000L; }; } );");
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  for (int i = 0; i < 4; ++i) {
    const prem_tune_try_options how = {.sampling.scenario = i % 2 ? PREM_RESIDENT : PREM_RELAUNCH,
                                       .sampling.samples = 210,
                                       .sampling.rounds = 2,
                                       .sampling.seed = (uint64_t)i,
                                       .sampling.max_records = 100000};
    prem_tune_trial *trial = NULL;
    prem_tune_point point = {0};
    delayed_seed = (uint64_t)i;
    ck_assert_int_eq(prem_tune_trial_open(schedule, backend, &how, &trial, NULL), PREM_OK);
    ck_assert_int_eq(prem_tune_trial_run(trial, &point, NULL), PREM_OK);
    fputs("many:\n", file);
    tell_points(file, &(prem_tune_result){.points = &point, .count = 1});
    prem_tune_trial_close(trial);
  }
  prem_schedule_free(schedule);
}

START_TEST(measured) {
  const prem_backend delayed = delayed_backend();
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int seed = 0; seed < SCHEDULES; ++seed) {
    prem_diag *diag = prem_diag_new();
    prem_schedule *schedule = NULL;
    prem_machine machine;
    const prem_status status = random_schedule_plan((uint64_t)seed + 500, NULL, &schedule, diag);
    fprintf(file, "schedule %d: %s\n", seed, prem_status_text(status));
    drawn = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
    delayed_seed = (uint64_t)seed;
    delayed_shares = seed % 4 == 3;
    ck_assert_int_eq(delayed.probe(&machine, diag), PREM_OK);
    machine.bandwidth_bytes_per_s = draw(4) * INT64_C(150000000);
    machine.dispatch_ns = draw(3) * 3000;
    machine.precedence_ns = draw(3) * 400;
    for (int round = 0; round < 3 && status == PREM_OK; ++round)
      profile_random(file, &delayed, &machine, schedule, seed);
    if (status == PREM_OK) {
      isolate_random(file, &delayed, schedule, seed);
      try_random(file, &delayed, schedule, seed);
    }
    prem_schedule_free(schedule);
    prem_diag_free(diag);
  }
  prem_machine machine;
  delayed_shares = false;
  ck_assert_int_eq(delayed.probe(&machine, NULL), PREM_OK);
  profile_by_hand(file, &delayed, &machine);
  try_many(file, &delayed);
  fclose(file);
  golden_judge("studies_measured.txt", found);
}
END_TEST

/* ---- files of profiles ----------------------------------------------------------------------- */

/* Whatever can be 0, which is not written, is that as often as 1. */
static int64_t little(void) {
  return draw(2) ? draw(3) : draw(1000000);
}

static void make_up_phase(prem_profile_phase *phase) {
  int64_t *const times[] = {&phase->wcet_ns, &phase->longest_ns, &phase->busy_ns,
                            &phase->turnaround_ns, &phase->unit_turnaround_ns};
  for (size_t i = 0; i < sizeof times / sizeof *times; ++i)
    *times[i] = little();
  for (int c = 0; c < PREM_CONDITION_COUNT; ++c) {
    phase->steady_ns[c].max = little();
    phase->cold_ns[c].max = little();
    phase->pwcet[c].known = draw(2);
    phase->pwcet[c].estimate_ns = little();
  }
}

static prem_profile *make_up_profile(int seed) {
  static const char *const names[] = {"", "u", "a \"quoted\" \\ one"};
  drawn = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
  prem_profile *out = calloc(1, sizeof *out);
  out->task_count = (int32_t)(1 + draw(3));
  out->tasks = calloc((size_t)out->task_count, sizeof *out->tasks);
  for (int32_t t = 0; t < out->task_count; ++t) {
    prem_profile_task *task = &out->tasks[t];
    snprintf(task->name, sizeof task->name, "t%d", (int)t);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      make_up_phase(&task->phase[p]);
    task->joined_ns = little();
    task->joined_busy_ns = little();
  }
  int64_t *const numbers[] = {
      &out->machine.dispatch_ns, &out->machine.precedence_ns, &out->machine.bandwidth_bytes_per_s,
      &out->job_turnaround_ns,   &out->job_prefetch_ns,       &out->sampling.samples,
      &out->disturbed_runs};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    *numbers[i] = little();
  snprintf(out->machine.name, sizeof out->machine.name, "%s", DRAW_OF(names));
  snprintf(out->machine.uuid, sizeof out->machine.uuid, "%s", DRAW_OF(names));
  snprintf(out->machine.driver, sizeof out->machine.driver, "%s", DRAW_OF(names));
  snprintf(out->disturbed, sizeof out->disturbed, "%s", DRAW_OF(names));
  out->sampling.seed = (uint64_t)draw(9);
  out->quantile = (double)draw(3) / 2;
  out->raises = draw(2);
  out->by_plan = out->raises || draw(2);
  out->valid = draw(2);
  return out;
}

START_TEST(written) {
  enum { PROFILES = 400, WHOLE = 2 };
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int seed = 0; seed < PROFILES; ++seed) {
    prem_profile *profile = make_up_profile(seed);
    char *told = NULL;
    size_t size = 0;
    FILE *all = open_memstream(&told, &size);
    tell_written(all, profile);
    fclose(all);
    fprintf(file, "profile %d:\n", seed);
    tell_some(file, told, seed < WHOLE);
    fputc('\n', file);
    prem_profile_free(profile);
  }
  fclose(file);
  golden_judge("studies_profiles.txt", found);
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
  cases = tcase_create("measured");
  tcase_add_unchecked_fixture(cases, golden_make_folder, golden_remove_folder);
  tcase_add_test(cases, measured);
  tcase_add_test(cases, written);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
