/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of which every number is made up, from none to more than any machine gives: the first
 * tables are what they were (see tests/common/golden.h), every table fits, every result is JSON
 * that the page takes, and is drawn.
 */
#include <jansson.h>

#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/suite.h"
#include "ttprem/report.h"

enum {
  RESULTS = 150,
  WHOLE = 3,

  TASKS = 3,
  CHAINS = 2,
  PAGE_EVERY = 4,
  DRAW_EVERY = 3
};

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

/* Of what: units of a table are those of the largest number of its kind. */
enum { TIME, LATE, OVER, KINDS };
static int32_t most_digits[KINDS]; /* of this result */

/* As often small as large; units change at 100 us, 100 ms and 100 s. */
static int64_t draw_of(int kind) {
  static const int64_t edges[] = {99999, 100000, 99999999, 100000000, 99999999999, 100000000000};
  const int32_t digits = most_digits[kind];
  if (chance(12) && digits >= 5)
    return edges[draw(0, digits >= 11 ? 5 : digits >= 8 ? 3 : 1)];
  int64_t all = draw(0, 9);
  for (int32_t i = draw(0, digits - 1); i > 0; --i)
    all = 10 * all + draw(0, 9);
  return all;
}

static int64_t draw_ns(void) {
  return draw_of(TIME);
}

static int64_t draw_count(void) {
  return chance(3) ? 0 : draw(1, 9999);
}

/* ---- making them up ------------------------------------------------------------------------- */

static const char source[] =
    "version = 1; name = \"made up\"; platform: { blocks = 40; };\n"
    "tasks = ( { name = \"a\"; kernel = \"noop\"; blocks = \"0-17\"; tiles = 40; period_ns = 500L;"
    "    prefetch: { wcet_ns = 2L; }; compute: { wcet_ns = 9L; }; },"
    "  { name = \"a_name_that_is_longer, \"; kernel = \"noop\"; blocks = \"10-39\"; tiles = 33;"
    "    period_ns = 1000L; compute: { wcet_ns = 9L; };"
    "    after = ( { task = \"a\"; instance = \"latest\"; } ); },"
    "  { name = \"c\"; kernel = \"noop\"; blocks = [ 39 ]; tiles = 1; period_ns = 1000L;"
    "    compute: { wcet_ns = 9L; }; after = ( { task = \"a\"; instance = \"latest\"; } ); } );\n"
    "measure: { chains = ( { name = \"one\"; tasks = [ \"a\", \"c\" ]; },"
    "  { name = \"a_chain_with_a_long_name\"; tasks = [ \"a\", \"a_name_that_is_longer, \" ]; } ); "
    "};\n";

static int64_t none_or_ns(int32_t of) {
  return chance(of) ? INT64_MIN : draw_ns();
}

/* What a summary of few samples does not know is INT64_MIN. */
static prem_summary draw_summary(void) {
  prem_summary out = {.count = draw_count()};
  out.min = draw_ns();
  out.max = out.min + draw_ns();
  out.p50 = (out.min + out.max) / 2;
  out.mean = (double)(out.min + out.p50) / 2;
  out.p99 = none_or_ns(3);
  out.p999 = none_or_ns(2);
  out.p9999 = none_or_ns(2);
  return out;
}

static prem_padding draw_padding(void) {
  prem_padding out = {.at[PREM_PADDING_LONGEST].published_ns = chance(2) ? -1 : draw_ns()};
  out.trained = draw_count();
  out.judged = draw_count();
  out.judged_disturbed = chance(2) ? 0 : draw_count();
  for (int by = 0; by < PREM_PADDING_COUNT; ++by) {
    if (by != PREM_PADDING_LONGEST)
      out.at[by].published_ns = chance(2) ? -1 : draw_ns();
    out.at[by].missed = draw_count();
    out.at[by].missed_disturbed = chance(2) ? 0 : draw_count();
  }
  return out;
}

static void draw_phase(prem_task_result *task, int p, prem_late_causes *late) {
  prem_phase_counts *of = &task->phase[p];
  of->count = draw_count();
  of->releases = chance(3) ? 0 : draw_count();
  of->late = chance(2) ? 0 : draw_count();
  of->overruns = draw_count();
  of->lateness_max_ns = of->releases == 0 ? INT64_MIN : draw_of(LATE);
  of->overrun_max_ns = chance(2) ? 0 : draw_of(OVER);
  of->duration_min_ns = draw_ns();
  of->duration_max_ns = draw_ns();
  of->duration_sum_ns = draw_ns();
  task->wcet_ns[p] = chance(3) ? 0 : chance(6) ? 1 : draw_ns();
  for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
    late->count[cause] = chance(3) ? draw_count() : 0;
  late->blamed = chance(3) ? draw(0, 2) : 0;
  late->widen_ns = draw_ns();
}

static void draw_first(prem_row *row) {
  row->first.count = chance(2) ? draw(0, 14) : 0;
  row->first.causes = calloc((size_t)row->first.count + 1, sizeof *row->first.causes);
  for (int64_t i = 0; i < row->first.count; ++i) {
    prem_first_cause *first = &row->first.causes[i];
    first->kind = (prem_first_kind)draw(0, PREM_FIRST_COUNT - 1);
    first->task = draw(0, TASKS - 1);
    first->phase = (prem_phase)draw(0, PREM_PHASE_COUNT - 1);
    first->joined = chance(4);
    first->from = first->kind == PREM_FIRST_HANDOVER ? draw(0, TASKS - 1) : -1;
    first->late = draw(1, 3);
    first->lateness_max_ns = draw_ns();
    first->widen_ns = chance(3) ? 0 : chance(3) ? 1 : draw_ns();
    first->run = draw_count();
    first->block = draw(0, 9);
    first->tile = draw(0, 99);
    first->job = draw(0, 3);
    first->start_ns = draw_ns();
  }
}

static bool with_periods; /* the tasks of a result */

static void draw_disturbed(prem_row *row) {
  prem_disturbed *of = &row->disturbed;
  of->watched = chance(2);
  of->mixed = chance(2);
  of->counts_mixed = chance(2);
  of->count = of->watched && chance(2) ? draw(1, 5) : 0;
  of->longest_away_ns = draw_ns();
  of->makespan_max_ns = draw_ns();
  of->releases = draw_count();
  of->late_releases = draw_count();
  of->overruns = draw_count();
  of->samples = calloc((size_t)of->count + 1, sizeof *of->samples);
  for (int64_t i = 0; i < of->count; ++i) {
    of->samples[i].after = i;
    of->samples[i].makespan_ns = draw_ns();
    of->samples[i].away_ns = draw_ns();
  }
}

/* Around as many as the page has points for. */
static void draw_samples(prem_row *row) {
  static const int32_t most[] = {1, 4, 39, 41, 299, 301, 700};
  const int32_t all = chance(5) ? 0 : draw(1, most[draw(0, 6)]), spread = draw(0, 2) * 400;
  row->samples = all;
  row->job_count = TASKS + 1; /* a has two in a hyperperiod */
  row->samples_ns = calloc((size_t)all + 1, sizeof *row->samples_ns);
  for (int64_t i = 0; i < all; ++i)
    row->samples_ns[i] = 1000 + draw(0, spread);
  row->all_samples = all + (row->disturbed.mixed ? 0 : row->disturbed.count);
  const int64_t jobs = row->all_samples * row->job_count;
  row->response_samples_ns = calloc((size_t)jobs + 1, sizeof *row->response_samples_ns);
  row->away_samples_ns = calloc((size_t)jobs + 1, sizeof *row->away_samples_ns);
  for (int64_t i = 0; i < jobs; ++i)
    row->response_samples_ns[i] = 100 + draw(0, spread);
  for (int64_t s = 0; s < row->disturbed.count && s < row->all_samples; ++s)
    row->away_samples_ns[s * row->job_count + draw(0, TASKS)] = draw(1, 900);
}

static void draw_counts(prem_row *row) {
  int64_t *const counts[] = {
      &row->discarded,          &row->releases,           &row->late_releases,
      &row->overruns,           &row->violations_certain, &row->violations_possible,
      &row->violations_checked, &row->standstills,        &row->trace_lost,
      &row->warmup_phases,      &row->hyperperiods,       &row->verified_hyperperiods};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
    *counts[i] = chance(2) ? 0 : chance(3) ? draw(1, 2) : draw_count();
  for (int b = 0; b < PREM_HIST_BUCKETS; ++b)
    row->lateness_hist[b] = chance(9) ? draw_count() : 0;
  row->lateness_max_ns = row->releases == 0 ? INT64_MIN : draw_of(LATE);
  row->standstill_max_ns = draw_ns();
  row->jitter_ns = draw_of(OVER);
  row->jitter_pct = (double)draw_ns() / 1e7;
  row->max_minus_mean_ns = draw_ns();
}

static void draw_verdict(prem_verdict *out) {
  out->ok = chance(2);
  out->wrong = draw_count();
  out->array = draw(0, 3);
  for (int i = 0; i < 4; ++i)
    out->index[i] = draw(0, 99);
  out->expected = draw(-9, 9) / 4.0;
  out->found = draw(-9, 9) / 8.0;
}

static const char *draw_words(void) {
  const char *all = "";
  for (int32_t i = draw(0, 34); i > 0; --i)
    all = text("%s%.*s%s", all, (int)draw(1, 9), "fullgrids", chance(8) ? "" : " ");
  return all;
}

static prem_slot *slots; /* of the plan */
static int64_t slot_count;

/* NULL as often as some records, of slots anywhere in two hyperperiods. */
static prem_trace *draw_trace(const prem_schedule *schedule) {
  static const int32_t most[] = {0, 1, 1, 2, 30, 300};
  prem_trace *trace = NULL;
  if (chance(3))
    return NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 2, 300, &trace), PREM_OK);
  prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
  trace->record_count = draw(0, most[draw(0, 5)]);
  const int32_t first = draw(0, 1);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_slot *slot = &slots[draw(0, (int32_t)slot_count - 1)];
    prem_trace_record *record = &trace->records[i];
    *record = (prem_trace_record){.task = (uint16_t)slot->task, .phase = (uint8_t)slot->phase};
    record->hyperperiod = i == 0 || !chance(9) ? first : 1;
    record->block = (uint16_t)slot->block;
    record->tile = slot->tile;
    record->job = slot->job;
    record->flags = (uint8_t)(chance(20) ? PREM_SLOT_WARMUP : 0);
    const int64_t planned_ns = trace->epoch_ns[record->hyperperiod] + slot->planned_ns;
    record->release_ns = chance(5) ? PREM_NO_RELEASE : planned_ns;
    record->ready_ns = planned_ns + draw(0, 3);
    record->start_ns = record->ready_ns + draw(0, 6);
    record->end_ns = record->start_ns + slot->length_ns + draw(0, 5);
  }
  return trace;
}

static void draw_kept(prem_row *row, const prem_schedule *schedule) {
  row->example = draw_trace(schedule);
  row->example_run = draw(0, 1);
  row->worst = (prem_kept_run){.trace = draw_trace(schedule)};
  row->worst.run = draw(0, 2);
  row->worst.epoch_ns = draw(0, 1000);
  row->before = (prem_kept_run){.trace = draw_trace(schedule)};
  row->before.run = draw(0, 2);
  row->before.epoch_ns = draw(0, 1000);
  row->worst_ns = draw_ns();
}

static void draw_row(prem_row *row, const prem_schedule *schedule) {
  row->mode = (prem_mode)draw(0, PREM_MODE_COPY);
  const char *name = prem_mode_name(row->mode);
  snprintf(row->label, sizeof row->label, "%s%s", name, chance(6) ? ", as long as any label" : "");
  snprintf(row->mode_note, sizeof row->mode_note, "%s", chance(2) ? "" : draw_words());
  snprintf(row->backend, sizeof row->backend, "%s", chance(3) ? "sim" : "cpu");
  row->scenario = chance(2) ? PREM_RESIDENT : PREM_RELAUNCH;
  row->exclusivity = (prem_exclusivity)draw(0, PREM_EXCLUSIVE_REGULATED);
  row->makespan_ns = draw_summary();
  row->padded = draw_padding();
  row->launch_ns = draw_summary();
  draw_counts(row);
  draw_disturbed(row);
  draw_samples(row);
  row->output_checked = chance(2);
  row->output_ok = chance(2);
  row->oversubscribed = chance(4);
  draw_verdict(&row->verdict);
  draw_first(row);
  draw_kept(row, schedule);
  row->task_count = TASKS;
  row->tasks = calloc(TASKS, sizeof *row->tasks);
  row->late = calloc(TASKS * PREM_PHASE_COUNT, sizeof *row->late);
  for (int32_t t = 0; t < TASKS; ++t) {
    prem_task_result *task = &row->tasks[t];
    snprintf(task->name, sizeof task->name, "%s", schedule->tasks[t].name);
    task->response_ns = draw_summary();
    task->period_ns = with_periods ? draw_ns() : 0;
    task->deadline_ns = with_periods && chance(2) ? 1 + draw_ns() : 0;
    task->all_response_ns = draw_summary();
    task->all.jobs = draw_count();
    task->all.missed = task->deadline_ns > 0 ? draw_count() : -1;
    task->undisturbed.jobs = draw_count();
    task->undisturbed.missed = task->deadline_ns > 0 ? draw_count() : -1;
    task->published_ns = chance(2) ? -1 : chance(5) ? 0 : draw_ns();
    task->padded = draw_padding();
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      draw_phase(task, p, &row->late[t * PREM_PHASE_COUNT + p]);
  }
}

static void draw_search(prem_result *result) {
  prem_launch_search *of = &result->launch_search;
  of->candidate_count = chance(2) ? draw(1, 6) : 0;
  of->candidates = calloc((size_t)of->candidate_count + 1, sizeof *of->candidates);
  for (int32_t i = 0; i < of->candidate_count; ++i) {
    prem_launch_candidate *one = &of->candidates[i];
    one->task = draw(0, TASKS - 1);
    snprintf(one->way, sizeof one->way, "way %" PRId32, i);
    one->alone_ns = draw_ns();
    one->together_ns = chance(3) ? -1 : chance(3) ? 0 : draw_ns();
    one->chosen = chance(2);
    one->wrong = chance(3);
  }
}

static void draw_break(prem_result *result) {
  prem_break *of = &result->broke;
  result->break_ns = chance(2) ? 0 : draw(1, 3);
  of->found = result->break_ns > 0 && chance(2);
  of->mode = (prem_mode)draw(0, PREM_MODE_COPY);
  of->task = draw(0, TASKS - 1);
  of->phase = (prem_phase)draw(0, PREM_PHASE_COUNT - 1);
  of->lateness_ns = draw_ns();
  of->has_place = chance(2);
  of->run = draw_count();
  of->block = draw(0, 9);
  of->job = draw(0, 9);
  of->tile = draw(0, 9);
  of->planned_ns = draw_ns();
}

static prem_result *draw_result(int number, const prem_schedule *schedule) {
  state = (uint64_t)number * 104729 + 3;
  for (int kind = 0; kind < KINDS; ++kind)
    most_digits[kind] = draw(1, 13);
  prem_result *result = calloc(1, sizeof *result);
  with_periods = number % 2;
  snprintf(result->schedule_name, sizeof result->schedule_name, "%s", schedule->name);
  snprintf(result->schedule_sha256, sizeof result->schedule_sha256, "0123");
  snprintf(result->machine.name, sizeof result->machine.name, "m");
  snprintf(result->machine.backend, sizeof result->machine.backend, "made up");
  result->machine.clock_step_ns = draw(1, 32);
  result->hyperperiod_ns = draw_ns();
  result->late_ns = draw_count();
  result->seed = 5;
  result->interrupted = chance(5);
  result->row_count = chance(20) ? 0 : draw(1, 4);
  if (result->row_count > 0)
    result->rows = calloc((size_t)result->row_count, sizeof *result->rows);
  for (int32_t i = 0; i < result->row_count; ++i)
    draw_row(&result->rows[i], schedule);
  const int32_t chains = chance(3) ? 0 : draw(1, CHAINS);
  for (int32_t i = 0; i < result->row_count; ++i) {
    prem_row *row = &result->rows[i];
    row->chain_count = chains;
    row->chains = calloc(CHAINS, sizeof *row->chains);
    for (int32_t c = 0; c < chains; ++c) {
      snprintf(row->chains[c].name, sizeof row->chains[c].name, "%s",
               schedule->measure.chains[c].name);
      row->chains[c].reaction_ns = draw_summary();
      row->chains[c].age_ns = draw_summary();
    }
  }
  if (result->row_count > 0) {
    draw_search(result);
    draw_break(result);
  }
  result->left_out_count = draw(0, 2);
  for (int32_t i = 0; i < result->left_out_count; ++i) {
    result->left_out[i].mode = (prem_mode)draw(0, PREM_MODE_COPY);
    snprintf(result->left_out[i].reason, sizeof result->left_out[i].reason, "%s", draw_words());
  }
  return result;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void tell_printed(FILE *file, const prem_result *result) {
  FREED char *all = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&all, &bytes);
  prem_result_print(result, out);
  fclose(out);
  if (file)
    fputs(all, file);
}

/* Rows and their tasks are those of the result. */
static void judge_json(const prem_result *result, const char *path) {
  json_t *root = json_load_file(path, 0, NULL), *rows = json_object_get(root, "rows");
  ck_assert_int_eq((int)json_array_size(rows), result->row_count);
  for (int32_t i = 0; i < result->row_count; ++i) {
    const json_t *row = json_array_get(rows, (size_t)i), *tasks = json_object_get(row, "tasks");
    ck_assert_int_eq((int)json_array_size(tasks), result->rows[i].task_count);
  }
  json_decref(root);
}

static void judge_page(const char *path) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_report) *report = prem_report_new();
  if (prem_report_add(report, path, diag) != PREM_OK ||
      prem_report_write(report, golden_path("p.html"), diag) != PREM_OK)
    abort_with("page", diag);
}

static void tell_result(FILE *file, const prem_schedule *schedule, int number) {
  OWNED(prem_result) *result = draw_result(number, schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  tell_printed(number < WHOLE ? file : NULL, result);
  if (prem_result_write(result, schedule, "", golden_path("r.json"), diag) != PREM_OK)
    abort_with("write", diag);
  judge_json(result, golden_path("r.json"));
  if (number % PAGE_EVERY == 0)
    judge_page(golden_path("r.json"));
  if (number % DRAW_EVERY == 0) {
    const prem_status status = prem_result_draw(result, schedule, golden_path("r.svg"), NULL, diag);
    ck_assert(status == PREM_OK || prem_diag_errors(diag) > 0);
  }
}

GROUP("results", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_results) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &slot_count, NULL), PREM_OK);
  for (int number = 0; number < RESULTS; ++number)
    tell_result(file, schedule, number);
  free(slots);
  fclose(file);
  golden_judge("tables.txt", found);
}

/* A dot begins an extension, but not at the beginning of a name. */
TEST(sides_have_the_name_of_their_result) {
  static const char *const names[][2] = {
      {"r", "r.samples.csv"},         {"r.json", "r.samples.csv"},
      {".r", ".r.samples.csv"},       {"d/.r", "d/.r.samples.csv"},
      {"d.e/r", "d.e/r.samples.csv"}, {"d.e/r.x.json", "d.e/r.x.samples.csv"},
      {"r.", "r.samples.csv"},        {"d/..r", "d/..samples.csv"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    FREED char *side = prem_result_side(names[i][0], 0);
    ck_assert_ptr_nonnull(side);
    ck_assert_str_eq(side, names[i][1]);
  }
}
