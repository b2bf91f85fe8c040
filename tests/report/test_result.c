/* SPDX-License-Identifier: Apache-2.0 */
/* A result as JSON, samples, table and picture: from a result made by hand. */
#include "report/provenance.h"
#include "report/result_phases.h"
#include "tests/common/folder.h"
#include "tests/common/golden.h"
#include "tests/common/suite.h"

#include <dlfcn.h>
#include <jansson.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static const char camera[] =
    "version = 1; name = \"camera\"; platform: { blocks = 2; clock_step_ns = 1L; };\n"
    "tasks = (\n"
    "  { name = \"edge, \\\"fast\\\"\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; period_ns = 400L; },\n"
    "  { name = \"corr\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; period_ns = 800L; publish_ns = 500L; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 800L; runs = (\n"
    "  { task = \"edge, \\\"fast\\\"\"; phase = \"prefetch\"; start_ns = 0L; jobs = 2;\n"
    "    chain = [ \"compute\", \"writeback\" ]; },\n"
    "  { task = \"corr\"; phase = \"prefetch\"; start_ns = 200L; }\n"
    "); };\n";

static prem_schedule *schedule;
static prem_diag *diag;
static prem_result *result;

static prem_phase_counts counts_of(int64_t count, int64_t longest_ns) {
  return (prem_phase_counts){.count = count,
                             .lateness_max_ns = INT64_MIN,
                             .duration_min_ns = 10,
                             .duration_max_ns = longest_ns,
                             .duration_sum_ns = 50 * count};
}

static void fill_task(prem_row *row, int32_t t, int64_t jobs) {
  prem_task_result *task = &row->tasks[t];
  memcpy(task->name, schedule->tasks[t].name, sizeof task->name);
  task->published_ns = t == 1 ? 500 : -1;
  task->response_ns = (prem_summary){.count = 2 * jobs,
                                     .min = 180,
                                     .p50 = 190,
                                     .p99 = INT64_MIN,
                                     .p999 = INT64_MIN,
                                     .max = 217,
                                     .mean = 190.5};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    bool exists = schedule->tasks[t].phase[p].exists;
    task->wcet_ns[p] = schedule->tasks[t].phase[p].wcet_ns;
    task->phase[p] = counts_of(exists ? 2 * jobs : 0, 120);
  }
}

static void fill_row(prem_row *row, prem_mode mode) {
  strcpy(row->label, prem_mode_name(mode));
  row->mode = mode;
  strcpy(row->backend, "cpu");
  row->scenario = PREM_RESIDENT;
  row->exclusivity = mode == PREM_MODE_TT ? PREM_EXCLUSIVE_BLOCK : PREM_EXCLUSIVE_NONE;
  row->samples = row->all_samples = 2;
  row->discarded = 1;
  row->makespan_ns = (prem_summary){.count = 2,
                                    .min = 580,
                                    .p50 = 580,
                                    .p99 = INT64_MIN,
                                    .p999 = INT64_MIN,
                                    .max = 617,
                                    .mean = 598.5};
  row->jitter_ns = 37;
  row->jitter_pct = 100.0 * 37 / 598.5;
  row->max_minus_mean_ns = 19;
  row->lateness_max_ns = INT64_MIN;
  row->violations_checked = 2;
  row->hyperperiods = row->verified_hyperperiods = 3;
  row->output_ok = row->output_checked = true;
  row->task_count = 2;
  row->tasks = calloc(2, sizeof *row->tasks);
  fill_task(row, 0, 2);
  fill_task(row, 1, 1);
  row->job_count = 3;
  row->samples_ns = calloc(2, sizeof(int64_t));
  row->samples_ns[0] = 580;
  row->samples_ns[1] = 617;
  row->response_samples_ns = calloc(6, sizeof(int64_t));
  for (int i = 0; i < 6; ++i)
    row->response_samples_ns[i] = 180 + i;
}

static void add_record(prem_trace *trace, uint16_t task, int32_t job, prem_phase phase,
                       int64_t release_ns, int64_t start_ns, int64_t end_ns) {
  trace->records[trace->record_count++] =
      (prem_trace_record){.release_ns = release_ns,
                          .ready_ns = start_ns,
                          .start_ns = start_ns,
                          .end_ns = end_ns,
                          .job = job,
                          .task = task,
                          .block = task,
                          .phase = (uint8_t)phase,
                          .flags = release_ns == PREM_NO_RELEASE ? PREM_SLOT_CHAINED : 0};
}

/** A late prefetch, a writeback beyond its window, and the rest in time. */
static prem_trace *make_example(void) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 1, 7, &trace), PREM_OK);
  prem_trace_begin_periodically(trace, 800, 1);
  add_record(trace, 0, 0, PREM_PREFETCH, 0, 40, 140);
  add_record(trace, 0, 0, PREM_COMPUTE, PREM_NO_RELEASE, 140, 190);
  add_record(trace, 0, 0, PREM_WRITEBACK, PREM_NO_RELEASE, 190, 217);
  add_record(trace, 1, 0, PREM_PREFETCH, 200, 200, 300);
  add_record(trace, 0, 1, PREM_PREFETCH, 400, 400, 500);
  return trace;
}

static void set_up(void) {
  schedule = schedule_from_text(camera);
  diag = prem_diag_new();
  make_folder();
  result = calloc(1, sizeof *result);
  strcpy(result->schedule_name, "camera");
  strcpy(result->schedule_sha256, schedule->sha256);
  result->hyperperiod_ns = 800;
  strcpy(result->machine.name, "a machine");
  strcpy(result->machine.backend, "cpu");
  result->machine.cores = 2;
  result->machine.clock_step_ns = 1;
  result->late_ns = 1;
  result->seed = UINT64_MAX;
  result->began_unix_s = 1767323045; /* 2026-01-02 03:04:05 UTC */
  result->rows = calloc(2, sizeof *result->rows);
  result->row_count = 2;
  fill_row(&result->rows[0], PREM_MODE_FREE);
  fill_row(&result->rows[1], PREM_MODE_TT);
  prem_row *tt = &result->rows[1];
  tt->releases = 6;
  tt->late_releases = 1;
  tt->lateness_max_ns = 40;
  tt->lateness_hist[0] = 5;
  tt->lateness_hist[6] = 1;
  tt->overruns = 3;
  tt->verified_hyperperiods = 2;
  tt->violations_certain = 2;
  tt->violations_possible = 1;
  tt->tasks[0].phase[PREM_PREFETCH].releases = 4;
  tt->tasks[0].phase[PREM_PREFETCH].late = 1;
  tt->tasks[0].phase[PREM_PREFETCH].lateness_max_ns = 40;
  tt->example = make_example();
}

static void tear_down(void) {
  remove_folder();
  prem_result_free(result);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *written(void) {
  ck_assert_int_eq(
      prem_result_write(result, schedule, "ttprem run \xff", in_folder("r.json"), diag), PREM_OK);
  json_error_t error;
  json_t *root = json_load_file(in_folder("r.json"), 0, &error);
  ck_assert_msg(root != NULL, "%s", error.text);
  return root;
}

static int64_t integer_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  ck_assert_msg(json_is_integer(value), "%s is no integer", key);
  return json_integer_value(value);
}

static const char *string_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  ck_assert_msg(json_is_string(value), "%s is no string", key);
  return json_string_value(value);
}

static void assert_null(const json_t *object, const char *key) {
  ck_assert_msg(json_is_null(json_object_get(object, key)), "%s is not null", key);
}

GROUP("result", .set_up = set_up, .tear_down = tear_down);

TEST(json_says_where_it_comes_from) {
  json_t *root = written();
  ck_assert_str_eq(string_at(root, "schema"), "ttprem.result/1");
  const json_t *provenance = json_object_get(root, "provenance");
  ck_assert_str_eq(string_at(provenance, "ttprem"), prem_version());
  ck_assert_str_eq(string_at(provenance, "command"), "ttprem run ?");
  ck_assert_str_eq(string_at(provenance, "date"), "2026-01-02T03:04:05Z");
  ck_assert_str_eq(string_at(provenance, "seed"), "18446744073709551615");
  ck_assert_uint_gt(strlen(string_at(provenance, "commit")), 0);
  ck_assert_uint_gt(strlen(string_at(provenance, "kernel")), 0);
  ck_assert_uint_gt(strlen(string_at(provenance, "compiler")), 0);
  ck_assert_str_eq(string_at(json_object_get(provenance, "machine"), "name"), "a machine");
  const json_t *of = json_object_get(root, "schedule");
  ck_assert_str_eq(string_at(of, "name"), "camera");
  ck_assert_str_eq(string_at(of, "sha256"), schedule->sha256);
  ck_assert_int_eq(integer_at(of, "hyperperiod_ns"), 800);
  json_decref(root);
}

/** prem_result_free() frees them. */
static void add_first_causes(void) {
  static const prem_first_cause found[] = {{.kind = PREM_FIRST_HANDOVER,
                                            .task = 1,
                                            .from = 0,
                                            .late = 75065,
                                            .lateness_max_ns = 103904,
                                            .widen_ns = 47584,
                                            .run = 2,
                                            .block = 131,
                                            .job = 1,
                                            .tile = 7,
                                            .start_ns = 216032},
                                           {.kind = PREM_FIRST_WINDOW,
                                            .phase = PREM_PREFETCH,
                                            .from = -1,
                                            .late = 3,
                                            .lateness_max_ns = 40,
                                            .widen_ns = 20},
                                           {.kind = PREM_FIRST_LOST, .from = -1, .late = 2}};
  prem_row *tt = &result->rows[1];
  tt->first.causes = malloc(sizeof found);
  memcpy(tt->first.causes, found, sizeof found);
  tt->first.count = 3;
  tt->late_releases = 75071;
  tt->late = calloc((size_t)tt->task_count * PREM_PHASE_COUNT, sizeof *tt->late);
  ck_assert_ptr_nonnull(tt->late);
  tt->late[PREM_PHASE_COUNT + PREM_PREFETCH].count[PREM_CAUSE_UNIT] = 75069;
}

/** Two ways of the first task, one of the second; prem_result_free() frees them. */
static void add_candidates(void) {
  static const prem_launch_candidate tried[] = {
      {.task = 0, .way = "float x 1", .alone_ns = 900, .together_ns = 1800},
      {.task = 0, .way = "float4 x 2", .alone_ns = 500, .together_ns = 1700, .chosen = true},
      {.task = 0, .way = "float4 x 4", .alone_ns = 400, .together_ns = -1, .wrong = true},
      {.task = 1, .way = "float x 1", .alone_ns = 70, .together_ns = 1700, .chosen = true}};
  result->launch_search.candidates = malloc(sizeof tried);
  memcpy(result->launch_search.candidates, tried, sizeof tried);
  result->launch_search.candidate_count = 4;
}

/* A line for each member; of lists of objects one for each of theirs. */
static void tell_members(FILE *told, const json_t *of, int depth) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)of, key, value) {
    if (strcmp(key, "provenance") == 0) /* this build and this day */
      continue;
    fprintf(told, "%*s%s:", depth, "", key);
    if (strcmp(key, "rows") == 0 || strcmp(key, "tasks") == 0) {
      for (size_t i = 0; i < json_array_size(value); ++i) {
        fputc('\n', told);
        tell_members(told, json_array_get(value, i), depth + 2);
      }
    } else {
      FREED char *line = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
      fprintf(told, " %s\n", line);
    }
  }
}

static void tell_json(FILE *told, const char *what) {
  json_t *root = written();
  fprintf(told, "# %s\n", what);
  tell_members(told, root, 0);
  fputc('\n', told);
  json_decref(root);
}

TEST(json_is_the_text_that_it_was) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *told = open_memstream(&found, &bytes);
  tell_json(told, "as it is");
  add_first_causes();
  add_candidates();
  strcpy(result->rows[0].mode_note, "32 SMs for each task");
  result->left_out[0] = (prem_left_out){.mode = PREM_MODE_PARTITION, .reason = "no driver"};
  result->left_out_count = 1;
  result->break_ns = 50;
  result->broke = (prem_break){.found = true,
                               .mode = PREM_MODE_TT,
                               .task = 1,
                               .phase = PREM_COMPUTE,
                               .lateness_ns = 61,
                               .has_place = true,
                               .run = 7,
                               .tile = 3};
  prem_row *free_row = &result->rows[0], *tt = &result->rows[1];
  tt->disturbed.unwatched = 4;
  tt->stalls = (prem_stalls){.watched_ns = 7000000,
                             .count = 99,
                             .longest_ns = 50000,
                             .sum_ns = 1100000,
                             .sm = 17,
                             .kept_count = 2,
                             .kept = {{0, 5, 12000}, {3, 60000, 50000}}};
  tell_json(told, "with all that there may be");
  result->broke = (prem_break){.found = true, .mode = PREM_MODE_TT, .task = 1};
  free_row->output_checked = false;
  free_row->violations_checked = 0;
  free_row->samples = 0;
  free_row->makespan_ns = (prem_summary){0};
  tell_json(told, "where there is no number, and no place");
  result->broke.found = false;
  tell_json(told, "nothing broke the limit");
  fclose(told);
  golden_judge("result_json.txt", found);
}

/* The page leaves out what has no number. */
TEST(samples_of_what_computes_nothing_have_no_responses) {
  result->rows[0].mode = PREM_MODE_COPY;
  json_decref(written());
  FREED char *samples = content_of(in_folder("r.samples.csv"));
  ck_assert_ptr_nonnull(
      strstr(samples, "\n0,\"free\",580,,,\n1,\"free\",617,,,\n0,\"tt\",580,180,"));
}

/* A task with one job needs no number of it, however many runs there are; each run has its own
 * response. */
TEST(samples_of_one_job_are_a_column) {
  prem_schedule_free(schedule);
  schedule =
      schedule_from_text("version = 1; name = \"one\"; platform: { blocks = 1; };"
                         "tasks = ( { name = \"only\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                         "  compute: { wcet_ns = 50L; }; } );");
  for (int i = 0; i < 2; ++i) {
    prem_row *row = &result->rows[i];
    row->task_count = 1;
    row->job_count = 1;
    prem_trace_free(row->example);
    row->example = NULL;
  }
  json_decref(written());
  FREED char *samples = content_of(in_folder("r.samples.csv"));
  ck_assert_str_eq(samples, "run,label,makespan_ns,\"only response_ns\"\n"
                            "0,\"free\",580,180\n1,\"free\",617,181\n"
                            "0,\"tt\",580,180\n1,\"tt\",617,181\n");
}

/* Of a run with a disturbed job all is written, and which job it was. */
TEST(samples_tell_disturbed_jobs) {
  static prem_disturbed_sample apart = {.after = 1, .makespan_ns = 999, .away_ns = 400};
  static const int64_t away_ns[] = {0, 0, 0, 0, 400, 300, 0, 0, 0};
  prem_row *row = &result->rows[1];
  row->all_samples = 3;
  row->disturbed = (prem_disturbed){.watched = true, .jobs = 2, .count = 1, .samples = &apart};
  row->away_samples_ns = calloc(9, sizeof *away_ns);
  memcpy(row->away_samples_ns, away_ns, sizeof away_ns);
  free(row->response_samples_ns);
  row->response_samples_ns = calloc(9, sizeof(int64_t));
  for (int i = 0; i < 9; ++i)
    row->response_samples_ns[i] = 180 + i;
  json_decref(written());
  row->disturbed.samples = NULL;
  FREED char *samples = content_of(in_folder("r.samples.csv"));
  ck_assert_ptr_nonnull(strstr(samples, "\"corr response_ns\",disturbed\n"
                                        "0,\"free\",580,180,181,182,\n"
                                        "1,\"free\",617,183,184,185,\n"
                                        "0,\"tt\",580,180,181,182,\n"
                                        "1,\"tt\",999,183,184,185,1 2\n"
                                        "2,\"tt\",617,186,187,188,\n"));
}

TEST(samples_are_csv) {
  json_decref(written());
  FREED char *samples = content_of(in_folder("r.samples.csv"));
  ck_assert_str_eq(samples, "run,label,makespan_ns,\"edge, \"\"fast\"\" job 0 response_ns\","
                            "\"edge, \"\"fast\"\" job 1 response_ns\",\"corr response_ns\"\n"
                            "0,\"free\",580,180,181,182\n"
                            "1,\"free\",617,183,184,185\n"
                            "0,\"tt\",580,180,181,182\n"
                            "1,\"tt\",617,183,184,185\n");
  ck_assert_int_eq(files_in_folder(), 3);
}

TEST(phases_are_csv) {
  json_t *root = written();
  const json_t *shown = json_object_get(root, "phases");
  ck_assert_str_eq(string_at(shown, "file"), "r.phases.csv");
  ck_assert_int_eq(integer_at(shown, "blocks"), 2);
  ck_assert_int_eq(integer_at(shown, "all_blocks"), 2);
  json_decref(root);
  FREED char *phases = content_of(in_folder("r.phases.csv"));
  const char *tt = strstr(phases, "\"tt\"");
  ck_assert_ptr_nonnull(tt);
  ck_assert_int_eq(strncmp(phases,
                           "label,task,job,block,tile,phase,planned_ns,planned_end_ns,release_ns,"
                           "ready_ns,start_ns,end_ns\n",
                           94),
                   0);
  ck_assert_str_eq(tt, "\"tt\",\"edge, \"\"fast\"\"\",0,0,0,prefetch,0,100,0,40,40,140\n"
                       "\"tt\",\"edge, \"\"fast\"\"\",0,0,0,compute,100,150,,140,140,190\n"
                       "\"tt\",\"edge, \"\"fast\"\"\",0,0,0,writeback,150,180,,190,190,217\n"
                       "\"tt\",\"corr\",0,1,0,prefetch,200,300,200,200,200,300\n"
                       "\"tt\",\"edge, \"\"fast\"\"\",1,0,0,prefetch,400,500,400,400,400,500\n");
}

/** Makes run 7 the worst of the second row, with the first phase of its example an hyperperiod on.
 */
static void add_worst(void) {
  prem_row *tt = &result->rows[1];
  ck_assert_int_eq(prem_trace_new(schedule, 1, 1, &tt->worst.trace), PREM_OK);
  prem_trace_record *record = tt->worst.trace->records;
  *record = tt->example->records[0];
  record->hyperperiod += 1;
  record->release_ns += 800;
  record->start_ns += 800 + 21;
  record->ready_ns += 800;
  record->end_ns += 800 + 30;
  tt->worst.trace->record_count = 1;
  tt->worst.run = 7;
  tt->worst.epoch_ns = 800;
  tt->worst_ns = 61;
}

TEST(phases_of_the_worst_run_come_first) {
  add_worst();
  json_t *root = written();
  const json_t *rows = json_object_get(root, "rows");
  const json_t *worst = json_object_get(json_array_get(rows, 1), "worst");
  ck_assert_int_eq(integer_at(worst, "run"), 7);
  ck_assert_int_eq(integer_at(worst, "ns"), 61);
  ck_assert_int_eq(integer_at(worst, "first"), 0);
  assert_null(worst, "before");
  ck_assert_ptr_null(json_object_get(json_array_get(rows, 0), "worst"));
  json_decref(root);
  FREED char *phases = content_of(in_folder("r.phases.csv"));
  ck_assert_ptr_nonnull(strstr(phases, ",end_ns,run\n"));
  const char *tt = strstr(phases, "\"tt\"");
  const char *expected = "\"tt\",\"edge, \"\"fast\"\"\",0,0,0,prefetch,0,100,0,40,61,170,7\n"
                         "\"tt\",\"edge, \"\"fast\"\"\",0,0,0,prefetch,0,100,0,40,40,140,0\n";
  ck_assert_int_eq(strncmp(tt, expected, strlen(expected)), 0);
}

/* Of 100 late blocks, no two as late as each other, the latest 16, whenever they were released;
 * then the task's first ones. */
TEST(phases_are_those_of_the_latest_blocks) {
  enum { BLOCKS = 100, LATEST = 16, CHOSEN = 64 };
  OWNED(prem_schedule) *wide =
      prepared_schedule("version = 1; name = \"wide\"; platform: { blocks = 100;"
                        " resources = ( { name = \"memory\"; capacity = 100; } ); };"
                        "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 100; tiles = 100;"
                        " prefetch: { wcet_ns = 10L; }; } );");
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(wide, 1, BLOCKS, &trace), PREM_OK);
  for (int32_t b = 0; b < BLOCKS; ++b)
    trace->records[b] = (prem_trace_record){.release_ns = 1000 * b,
                                            .start_ns = 1000 * b + 2 + (b + 89) % BLOCKS,
                                            .block = (uint16_t)b,
                                            .tile = b};
  trace->record_count = BLOCKS;
  prem_row row = {.example = trace};
  const prem_result of = {.rows = &row, .row_count = 1, .late_ns = 1};
  prem_phases phases;
  ck_assert_int_eq(prem_phases_choose(&of, wide, &phases, diag), PREM_OK);
  ck_assert_int_eq(phases.block_count, CHOSEN);
  int32_t others = 0;
  for (int32_t b = 0; b < BLOCKS; ++b) {
    const bool is_late = (b + 89) % BLOCKS >= BLOCKS - LATEST;
    others += !is_late;
    ck_assert_int_eq(phases.chosen[b], is_late || others <= CHOSEN - LATEST);
  }
  prem_phases_free(&phases);
}

/* The first block that finds no room is the last one that is asked, though a smaller one behind it
 * would find some. */
TESTS(phases_end_at_the_block_without_room, 2) {
  enum { FIRST = 15000, MOST = 20000 };
  const int64_t second = MOST - FIRST + _i, all = FIRST + second + 1;
  OWNED(prem_schedule) *narrow =
      prepared_schedule("version = 1; name = \"narrow\"; platform: { blocks = 3;"
                        " resources = ( { name = \"memory\"; capacity = 3; } ); };"
                        "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 3; tiles = 3;"
                        " prefetch: { wcet_ns = 10L; }; } );");
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(narrow, all, all, &trace), PREM_OK);
  for (int64_t r = 0; r < all; ++r) {
    const int block = r < FIRST ? 0 : r < FIRST + second ? 1 : 2;
    trace->records[r] = (prem_trace_record){.block = (uint16_t)block, .tile = block};
  }
  trace->record_count = all;
  prem_row row = {.example = trace};
  const prem_result of = {.rows = &row, .row_count = 1, .late_ns = 1};
  prem_phases phases;
  ck_assert_int_eq(prem_phases_choose(&of, narrow, &phases, diag), PREM_OK);
  ck_assert_int_eq(phases.block_count, _i == 0 ? 2 : 1);
  ck_assert(phases.chosen[0]);
  ck_assert_int_eq(phases.chosen[1], _i == 0);
  ck_assert(!phases.chosen[2]);
  prem_phases_free(&phases);
}

TEST(without_records_there_are_no_phases) {
  for (int32_t i = 0; i < result->row_count; ++i) {
    prem_trace_free(result->rows[i].example);
    result->rows[i].example = NULL;
  }
  json_t *root = written();
  assert_null(root, "phases");
  json_decref(root);
  ck_assert_int_eq(files_in_folder(), 2);
}

TEST(a_name_without_extension_gets_one) {
  ck_assert_int_eq(prem_result_write(result, schedule, NULL, in_folder("plain"), diag), PREM_OK);
  ck_assert_int_eq(access(in_folder("plain.samples.csv"), F_OK), 0);
  /* a name that begins with its only dot has none either */
  ck_assert_int_eq(prem_result_write(result, schedule, NULL, in_folder(".plain"), diag), PREM_OK);
  ck_assert_int_eq(access(in_folder(".plain.samples.csv"), F_OK), 0);
}

TEST(an_old_result_is_replaced) {
  json_decref(written());
  result->rows[0].samples_ns[0] = 600;
  json_decref(written());
  FREED char *samples = content_of(in_folder("r.samples.csv"));
  ck_assert_ptr_nonnull(strstr(samples, "0,\"free\",600,"));
  ck_assert_int_eq(files_in_folder(), 3);
}

TEST(an_unwritable_result_is_told) {
  ck_assert_int_eq(prem_result_write(result, schedule, "", in_folder("no/r.json"), diag),
                   PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_str_eq(prem_diag_at(diag, 0)->file, in_folder("no/r.json"));
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "No such file"));
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0); /* breaks no rule of schedules */
  ck_assert_int_eq(files_in_folder(), 0);
}

TEST(nothing_is_left_if_the_samples_cannot_be_written) {
  ck_assert_int_eq(mkdir(in_folder("r.samples.csv"), 0777), 0);
  ck_assert_int_eq(prem_result_write(result, schedule, "", in_folder("r.json"), diag), PREM_ERR_IO);
  ck_assert_int_eq(files_in_folder(), 1);
}

/* ---- table ---------------------------------------------------------------------------------- */

static char *printed(void) {
  FILE *file = fopen(in_folder("table.txt"), "w");
  prem_result_print(result, file);
  fclose(file);
  return content_of(in_folder("table.txt"));
}

static void assert_says(const char *text_found, const char *words) {
  ck_assert_msg(strstr(text_found, words) != NULL, "no '%s' in\n%.2000s", words, text_found);
}

TEST(the_table_says_how_modes_were_run_and_which_were_not) {
  strcpy(
      result->rows[0].mode_note,
      "1126400000 bytes read + 1126400000 written as half that copied, by float4 x 4, streaming, "
      "256 x 1 threads; nothing is computed or verified");
  result->left_out[0] = (prem_left_out){.mode = PREM_MODE_PARTITION, .reason = "no driver"};
  result->left_out_count = 1;
  FREED char *table = printed();
  ck_assert_ptr_nonnull(strstr(table, "\n  1126400000 bytes read + 1126400000 written as half that "
                                      "copied, by float4 x 4,\n"
                                      "  streaming, 256 x 1 threads; nothing is computed or "
                                      "verified\n"));
  ck_assert_ptr_nonnull(strstr(table, "\npartition: LEFT OUT\n  no driver\n"));
}

/* Nothing responds where nothing is computed. */
TEST(the_table_shows_no_spread_of_a_copy) {
  prem_row *row = &result->rows[0];
  row->mode = PREM_MODE_COPY;
  strcpy(row->label, "copy");
  row->output_checked = false;
  row->padded.at[PREM_PADDING_LONGEST].published_ns = -1;
  FREED char *table = printed();
  char *line = strstr(table, "\ncopy ");
  char lateness[8], late[8], overruns[8], violations[8], spread[8];
  ck_assert_ptr_nonnull(line);
  ck_assert_int_eq(
      sscanf(line, " copy %7s %7s %7s %7s %7s", lateness, late, overruns, violations, spread), 5);
  ck_assert_str_eq(spread, "-");
}

/* The unit is that of the widest of all rows. */
TEST(the_table_shows_spreads_in_one_unit) {
  for (int wide = 0; wide < 2; ++wide) {
    const int64_t before_ns = result->rows[wide].tasks[1].response_ns.max;
    result->rows[wide].tasks[1].response_ns.max = 180 + 2345678;
    char *table = printed(), *line = strstr(table, "\ntt "), spread[16];
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, " tt %*s %*s %*s %*s %15s", spread), 1);
    ck_assert_str_eq(spread, wide == 1 ? "2345.678" : "0.037");
    free(table);
    result->rows[wide].tasks[1].response_ns.max = before_ns;
  }
}

TEST(the_table_says_that_phases_were_only_counted) {
  prem_row *tt = &result->rows[1];
  int64_t counted = 0;
  for (int32_t t = 0; t < tt->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      counted += tt->tasks[t].phase[p].count;
  tt->violations_checked = 0;
  tt->trace_lost = counted - 1;
  char *table = printed();
  assert_says(table, "raw records found no room");
  assert_says(table, "judged in 0 of 2 hyperperiods");
  free(table);
  tt->trace_lost = counted;
  table = printed();
  assert_says(table,
              "tt: phases were counted, not written down: violations and causes are not known");
  ck_assert_ptr_null(strstr(table, "found no room"));
  free(table);
}

TEST(the_table_leads_lateness_back_to_first_causes) {
  const char *name = result->rows[1].tasks[0].name;
  add_first_causes();
  FREED char *table = printed();
  assert_says(table, "\ntt: 75068 late releases have 2 first causes:\n");
  assert_says(table,
              text("\n  75065: the hand-over from %s to corr took longer than planned\n"
                   "    worst 103904 ns; first in run 2, block 131, job 1, tile 7, at 216032 "
                   "ns\n    leave 47584 ns more between the two\n",
                   name));
  assert_says(table, text("\n  3: the prefetch of %s took longer than its window\n", name));
  assert_says(table, "\n    widen its window of 100 ns by 20 ns\n");
  assert_says(table, "\n  2: not known: raw records are lost\n");
  assert_says(table, "\n  what each waited for: 75069 unit not free, 2 without raw records\n");
}

/* Ten are told of, the rest is counted. */
TEST(the_table_tells_the_largest_causes) {
  prem_row *tt = &result->rows[1];
  tt->first.causes = calloc(12, sizeof *tt->first.causes);
  tt->first.count = 12;
  for (int i = 0; i < 12; ++i)
    tt->first.causes[i] = (prem_first_cause){
        .kind = PREM_FIRST_EXECUTOR, .phase = PREM_PREFETCH, .from = -1, .late = 20 - i};
  FREED char *table = printed();
  assert_says(table, "\ntt: 174 late releases have 12 first causes:\n  20: nothing held up");
  assert_says(table, "\n  19: 2 other causes (--json names them)\n");
}

TEST(the_table_fits_a_hundred_columns) {
  add_first_causes();
  result->rows[1].releases = 1234567;
  result->rows[1].lateness_max_ns = 27169863;
  result->rows[1].makespan_ns.max = 22429057;
  result->rows[1].oversubscribed = true;
  result->rows[1].trace_lost = 1000000;
  strcpy(result->rows[1].tasks[0].name, "a name that is much longer than it should be");
  FREED char *table = printed();
  for (char *line = table, *end; (end = strchr(line, '\n')); line = end + 1)
    ck_assert_msg(end - line <= 100, "%d columns: %.*s", (int)(end - line), (int)(end - line),
                  line);
}

TEST(the_table_leads_with_lateness_and_ends_with_jitter) {
  FREED char *table = printed();
  const char *lateness = strstr(table, "lateness "), *violations = strstr(table, "violations"),
             *makespan = strstr(table, "makespan"), *jitter = strstr(table, "jitter");
  ck_assert_ptr_nonnull(lateness);
  ck_assert_ptr_nonnull(jitter);
  ck_assert(violations < makespan && makespan < jitter);
  assert_says(table, "tt      0.040      1/6     3        2/1    0.037    0.599");
  assert_says(table, "free        -        -     -        0/0    0.037    0.599");
  assert_says(table, "37   6.182     ok");
}

TEST(the_table_tells_what_is_in_doubt) {
  prem_row *tt = &result->rows[1];
  tt->output_ok = false;
  tt->verdict = (prem_verdict){.wrong = 4, .index = {0, 0, 7, 9}, .expected = 1, .found = 2};
  tt->oversubscribed = true;
  tt->hyperperiods = 3;
  tt->verified_hyperperiods = 1;
  tt->trace_lost = 11;
  tt->violations_checked = 1;
  result->interrupted = true;
  FREED char *table = printed();
  assert_says(table, " WRONG\n");
  assert_says(table, "4 elements differ");
  assert_says(table, "[0, 0, 7, 9]");
  assert_says(table,
              "tt: outputs were verified after 1 of 3 hyperperiods, the last of each launch");
  ck_assert_ptr_null(strstr(table, "free: outputs were verified")); /* after all of them */
  assert_says(table, "oversubscribed");
  assert_says(table, "11 raw records found no room");
  assert_says(table, "judged in 1 of 2 hyperperiods");
  assert_says(table, "interrupted");
}

TEST(the_table_names_the_ways_that_won) {
  add_candidates();
  char *table = printed();
  assert_says(table, text("ordinary kernel of %s: float4 x 2; best of 3 ways, alone 500 ns\n"
                          "  1 ways gave WRONG OUTPUT and were not taken\n"
                          "ordinary kernel of %s: float x 1; best of 1 ways, alone 70 ns\n",
                          schedule->tasks[0].name, schedule->tasks[1].name));
  ck_assert_ptr_null(strstr(table, "float x 1; best of 3"));
  free(table);
  result->launch_search.candidates[0].chosen = true; /* the first of all may win */
  result->launch_search.candidates[1].chosen = false;
  table = printed();
  assert_says(table, "float x 1; best of 3 ways, alone 900 ns\n");
  free(table);
}

TEST(the_table_bounds_what_was_not_seen) {
  FREED char *few = printed();
  assert_says(few, "too few to say");
  ck_assert_ptr_null(strstr(few, "confidence"));
  result->rows[0].samples = 300;
  FREED char *enough = printed();
  assert_says(enough, "fewer than 1 % of makespans are longer");
}

TEST(no_nanosecond_is_lost_in_larger_units) {
  result->rows[0].makespan_ns.max = 2670123;
  result->rows[0].makespan_ns.mean = 2670123;
  result->rows[0].jitter_ns = 100001;
  result->rows[0].jitter_pct = 0.0001234567;
  char *table = printed();
  assert_says(table, "2670.123");
  assert_says(table, "100.001");
  assert_says(table, "0.0001235");
  free(table);
  result->rows[0].makespan_ns.max = 267012345;
  result->rows[0].jitter_pct = 1e-9; /* nine digits at most */
  table = printed();
  assert_says(table, " 267012.345 ");
  assert_says(table, " 0.000000001 ");
  free(table);
  result->rows[0].makespan_ns.max = INT64_C(123456789012);
  table = printed();
  assert_says(table, "123456789.012 ");
  free(table);
}

/* ---- picture -------------------------------------------------------------------------------- */

/** False where there is no gnuplot, which must then be said. */
static bool drawn(const char *path) {
  prem_status status = prem_result_draw(result, schedule, path, NULL, diag);
  if (status != PREM_ERR_UNAVAILABLE) {
    if (status != PREM_OK)
      print_problems(diag);
    ck_assert_int_eq(status, PREM_OK);
    return true;
  }
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "gnuplot"));
  ck_assert_int_eq(files_in_folder(), 0);
  return false;
}

TEST(the_picture_shows_the_worst_run_and_says_of_how_many) {
  add_worst();
  if (!drawn(in_folder("p.svg")))
    return;
  FREED char *picture = content_of(in_folder("p.svg"));
  assert_says(picture, "hyperperiod 7, the worst of 2");
  ck_assert_ptr_null(strstr(picture, "the whole run"));
}

TEST(an_svg_shows_phases_and_marks) {
  strcpy(result->schedule_name, "it's <a> \"camera\" & more");
  if (!drawn(in_folder("p.svg")))
    return;
  FREED char *picture = content_of(in_folder("p.svg"));
  assert_says(picture, "<svg");
  assert_says(picture, "</svg>");
  assert_says(picture, "it's &lt;a> \"camera\" &amp; more: planned");
  assert_says(picture, "block 1: corr");
  assert_says(picture, "(1 of 6 releases late, 3 overruns, 2 certain");
  assert_says(picture, "hyperperiod 0, the first of 2");
  assert_says(picture, "rgb(  0, 114, 178)"); /* prefetch */
  assert_says(picture, "rgb(  0, 158, 115)"); /* writeback */
  ck_assert_int_eq(files_in_folder(), 1);
}

TEST(a_png_is_a_png) {
  if (!drawn(in_folder("p.png")))
    return;
  FREED char *picture = content_of(in_folder("p.png"));
  ck_assert_mem_eq(picture, "\x89PNG\r\n\x1a\n", 8);
}

TEST(another_extension_is_refused) {
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.bmp"), NULL, diag),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("svg"), NULL, diag),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(files_in_folder(), 0);
}

TEST(without_records_there_is_nothing_to_draw) {
  result->rows[1].example->record_count = 0;
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.svg"), NULL, diag),
                   PREM_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "raw records"));
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0);
}

TEST(a_missing_gnuplot_is_named_with_its_package) {
  setenv("PATH", folder, 1);
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.svg"), NULL, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "gnuplot-nox"));
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0);
  setenv("PATH", "/usr/bin:/bin", 1);
  ck_assert_int_eq(files_in_folder(), 0);
}

static bool forks_fail;

/* The one that the library calls. */
pid_t fork(void) {
  pid_t (*next)(void);
  *(void **)&next = dlsym(RTLD_NEXT, "fork");
  if (!forks_fail)
    return next();
  errno = EAGAIN;
  return -1;
}

/* Who has children of their own gets to know of their ends. */
TEST(a_gnuplot_that_cannot_be_started_is_told) {
  const pid_t child = fork();
  int status;
  if (child == 0)
    _exit(3);
  forks_fail = true;
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.svg"), NULL, diag),
                   PREM_ERR_UNAVAILABLE);
  forks_fail = false;
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, strerror(EAGAIN)));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  ck_assert_int_eq(files_in_folder(), 0);
}

static int temporaries_left = -1; /* so many can be made; below 0: any number */
static bool pipes_fail;

FILE *tmpfile(void) {
  FILE *(*next)(void);
  *(void **)&next = dlsym(RTLD_NEXT, "tmpfile");
  if (temporaries_left == 0)
    return NULL;
  --temporaries_left;
  return next();
}

int pipe2(int ends[2], int flags) {
  int (*next)(int[2], int);
  *(void **)&next = dlsym(RTLD_NEXT, "pipe2");
  if (!pipes_fail)
    return next(ends, flags);
  errno = EMFILE;
  return -1;
}

/* Of the script, and of what gnuplot complains about. */
TESTS(a_picture_without_a_temporary_file_is_told, 2) {
  temporaries_left = _i;
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.svg"), NULL, diag), PREM_ERR_IO);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "no temporary file can be made");
  ck_assert_int_eq(files_in_folder(), 0);
}

TEST(a_picture_without_a_pipe_is_told) {
  pipes_fail = true;
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("p.svg"), NULL, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, strerror(EMFILE));
  ck_assert_int_eq(files_in_folder(), 0);
}

TEST(an_unwritable_picture_is_told) {
  ck_assert_int_eq(prem_result_draw(result, schedule, in_folder("no/p.svg"), NULL, diag),
                   PREM_ERR_IO);
  ck_assert_str_eq(prem_diag_at(diag, 0)->file, in_folder("no/p.svg"));
}

/* All of it, and nothing where there is nothing to tell. */
TEST(where_numbers_come_from) {
  prem_machine machine = {.name = "m",
                          .backend = "cuda",
                          .cores = 1,
                          .max_blocks = 2,
                          .scratch_bytes = 3,
                          .clock_step_ns = 4,
                          .clock_read_ns = 5,
                          .clock_skew_ns = 6,
                          .dispatch_ns = 7,
                          .precedence_ns = 8,
                          .bandwidth_bytes_per_s = 9};
  const uint64_t seed = 10;
  const char *told = "{\"name\":\"m\",\"backend\":\"cuda\",\"cores\":1,\"max_blocks\":2,"
                     "\"scratch_bytes\":3,\"clock_step_ns\":4,\"clock_read_ns\":5,"
                     "\"clock_skew_ns\":6,\"dispatch_ns\":7,\"precedence_ns\":8,"
                     "\"bandwidth_bytes_per_s\":9";
  struct utsname names;
  ck_assert_int_eq(uname(&names), 0);
  for (int i = 0; i < 4; ++i) {
    const bool has_uuid = i & 1, has_driver = i & 2;
    strcpy(machine.uuid, has_uuid ? "u" : "");
    strcpy(machine.driver, has_driver ? "d" : "");
    json_t *found = prem_provenance_json(&machine, i ? "ttprem run" : NULL,
                                         i == 3 ? INT64_MAX : 951782400, i == 1 ? NULL : &seed);
    json_object_del(found, "compiler");
    FREED char *text_of = json_dumps(found, JSON_COMPACT);
    ck_assert_str_eq(text_of,
                     text("{\"ttprem\":\"%s\",\"commit\":\"%s\",\"command\":\"%s\",\"date\":%s,"
                          "\"machine\":%s%s%s},\"kernel\":\"%s %s %s\",\"seed\":%s}",
                          prem_version(), prem_build_commit(), i ? "ttprem run" : "",
                          i == 3 ? "null" : "\"2000-02-29T00:00:00Z\"", told,
                          has_uuid ? ",\"uuid\":\"u\"" : "", has_driver ? ",\"driver\":\"d\"" : "",
                          names.sysname, names.release, names.machine, i == 1 ? "null" : "\"10\""));
    json_decref(found);
  }
}
