/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of random schedules, on the simulator as it is and with a made-up machine's delays on top
 * (phases that begin late, take too long, lose their core): parts add up to the whole, the raw
 * records tell the same, on the simulator nothing is late, and the same request has the same
 * result.
 */
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"
#include "ttprem/report.h"

enum { SEEDS = ROUNDS(80) };

static prem_result *measure(const prem_backend *backend, const prem_schedule *schedule, int seed) {
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
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_session) *session = NULL;
  prem_result *result = NULL;
  delayed_seed = (uint64_t)seed;
  if (prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_compare(session, schedule, backend, &options, &result, diag) != PREM_OK)
    abort_with("compare", diag);
  return result;
}

/* What the same request has the same of. */
static char *written(const prem_result *result, const prem_schedule *schedule) {
  const char *path = golden_path("r.json");
  ck_assert_int_eq(prem_result_write(result, schedule, "", path, NULL), PREM_OK);
  FREED char *all = golden_take(path);
  char *from = strstr(all, "\"schedule\": {");
  ck_assert_ptr_nonnull(from);
  memmove(all, from, strlen(from) + 1);
  FREED char *samples = golden_take(golden_path("r.samples.csv"));
  char *joined = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&joined, &bytes);
  fprintf(file, "%s\n%s", all, samples);
  fclose(file);
  return joined;
}

/* ---- one row --------------------------------------------------------------------------------- */

static void judge_samples(const prem_row *row) {
  int64_t min_ns = INT64_MAX, max_ns = INT64_MIN;
  for (int64_t i = 0; i < row->samples; ++i) {
    min_ns = row->samples_ns[i] < min_ns ? row->samples_ns[i] : min_ns;
    max_ns = row->samples_ns[i] > max_ns ? row->samples_ns[i] : max_ns;
  }
  ck_assert_int_eq(row->makespan_ns.count, row->samples);
  if (row->samples == 0)
    return;
  ck_assert_int_eq(row->makespan_ns.min, min_ns);
  ck_assert_int_eq(row->makespan_ns.max, max_ns);
  ck_assert_int_eq(row->jitter_ns, max_ns - min_ns);
  ck_assert_int_le(row->makespan_ns.p50, max_ns);
  ck_assert_int_ge(row->makespan_ns.p50, min_ns);
}

static void judge_counts(const prem_row *row) {
  int64_t releases = 0, late = 0, overruns = 0, caused = 0;
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_counts *of = &row->tasks[t].phase[p];
      int64_t causes = 0;
      releases += of->releases;
      late += of->late;
      overruns += of->overruns;
      for (int cause = 0; row->late && cause < PREM_CAUSE_COUNT; ++cause)
        causes += row->late[t * PREM_PHASE_COUNT + p].count[cause];
      ck_assert_int_le(causes, of->late);
      caused += causes;
      ck_assert(of->count == 0 || of->duration_min_ns <= of->duration_max_ns);
    }
  ck_assert_int_eq(row->releases, releases);
  ck_assert_int_eq(row->late_releases, late);
  ck_assert_int_eq(row->overruns, overruns);
  ck_assert(!row->late || row->trace_lost || caused > 0);
}

/* Its phases in the order of their starts, and as CSV through the converter and out again. */
static void judge_trace(const prem_trace *trace, const prem_schedule *schedule) {
  FREED char *before = NULL, *now = NULL;
  size_t bytes = 0, now_bytes = 0;
  FILE *file = open_memstream(&before, &bytes);
  ck_assert_int_eq(prem_trace_write_csv(trace, schedule, 0, true, file), PREM_OK);
  fclose(file);
  FILE *in = fmemopen(before, bytes, "r");
  file = open_memstream(&now, &now_bytes);
  const prem_trace_options options = {.format = PREM_TRACE_CSV, .run = -1};
  ck_assert_int_eq(prem_trace_convert(in, "t.csv", &options, file, NULL), PREM_OK);
  fclose(file);
  fclose(in);
  ck_assert_str_eq(before, now);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    ck_assert_int_le(record->start_ns, record->end_ns);
    ck_assert(i == 0 || trace->records[i - 1].start_ns <= record->start_ns);
  }
}

static void judge_result(const prem_result *result, const prem_schedule *schedule, bool is_exact) {
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    judge_samples(row);
    judge_counts(row);
    ck_assert(!row->output_checked || row->output_ok);
    if (is_exact && row->mode == PREM_MODE_TT && schedule->plan->warmup_tiles == 0) {
      ck_assert_int_eq(row->late_releases + row->overruns + row->violations_certain, 0);
      ck_assert_int_eq(row->jitter_ns, 0);
    }
    if (row->example && row->example->record_count > 0)
      judge_trace(row->example, schedule);
  }
}

GROUP("schedules", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_random_schedules) {
  const prem_backend delayed = delayed_backend();
  const prem_backend *const backends[] = {&prem_backend_sim, &delayed};
  int64_t late = 0;
  for (int seed = 0; seed < SEEDS; ++seed) {
    OWNED(prem_schedule) *schedule = NULL;
    const bool is_planned = random_schedule_plan((uint64_t)seed, NULL, &schedule, NULL) == PREM_OK;
    for (int b = 0; b < 2 && is_planned; ++b) {
      OWNED(prem_result) *result = measure(backends[b], schedule, seed);
      OWNED(prem_result) *again = measure(backends[b], schedule, seed);
      FREED char *first = written(result, schedule), *second = written(again, schedule);
      ck_assert_str_eq(first, second);
      judge_result(result, schedule, b == 0);
      late += result->rows[0].late_releases;
    }
  }
  ck_assert_int_gt(late, 0);
}
