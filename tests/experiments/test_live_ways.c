/* SPDX-License-Identifier: Apache-2.0 */
/* The experiments on live sessions on the simulator: they end well, have the tables and columns
 * that other programs read, and give the same numbers every time; and the work that turns do. */
/* ctest: threads */
#include <jansson.h>
#include <unistd.h>

#include "experiments/experiment_list.h"
#include "experiments/live/ways/rows.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static volatile sig_atomic_t stop;

static void ignore_progress(void *context, int64_t done, int64_t all) {
  (void)context, (void)done, (void)all;
}

static prem_machine machine;

static prem_experiment_context context_on(const char *backend) {
  prem_diag *diag = prem_diag_new();
  const prem_backend *found = prem_backend_find(backend);
  ck_assert_int_eq(prem_backend_probe(found, &machine, diag), PREM_OK);
  prem_diag_free(diag);
  stop = 0;
  return (prem_experiment_context){.backend = found,
                                   .machine = &machine,
                                   .quick = true,
                                   .seed = 1,
                                   .schedules = SOURCE_DIR "/schedules",
                                   .stop = &stop,
                                   .progress = ignore_progress};
}

/* ---- findings -------------------------------------------------------------------------------- */

static prem_findings *findings_of(const char *name, const char *backend) {
  const prem_experiment *experiment = prem_experiment_find(name);
  ck_assert_ptr_nonnull(experiment);
  ck_assert(prem_experiment_serves(experiment, backend));
  prem_findings *findings = prem_findings_new(name, experiment->title, experiment->question);
  prem_diag *diag = prem_diag_new();
  const prem_experiment_context context = context_on(backend);
  if (prem_experiment_start(experiment, &context, findings, diag) != PREM_OK)
    abort_with(name, diag);
  prem_diag_free(diag);
  return findings;
}

static json_t *read_findings(const prem_findings *findings) {
  char path[] = "/tmp/ttprem-live-XXXXXX";
  const int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  close(file);
  prem_diag *diag = prem_diag_new();
  if (prem_findings_write(findings, &machine, "test", path, diag) != PREM_OK)
    abort_with("write", diag);
  prem_diag_free(diag);
  json_t *root = json_load_file(path, 0, NULL);
  unlink(path);
  ck_assert_ptr_nonnull(root);
  return root;
}

static const char *name_of(const json_t *object) {
  return json_string_value(json_object_get(object, "name"));
}

static json_t *table_of(const json_t *root, const char *name) {
  size_t index;
  json_t *table;
  json_array_foreach(json_object_get(root, "tables"), index, table) {
    if (strcmp(name_of(table), name) == 0)
      return table;
  }
  ck_abort_msg("there is no table %s", name);
}

static void assert_columns(const json_t *table, const char *names) {
  char list[512];
  snprintf(list, sizeof list, "%s", names);
  for (char *rest = list, *name; (name = strtok_r(rest, ",", &rest));) {
    size_t index;
    json_t *column;
    bool found = false;
    json_array_foreach(json_object_get(table, "columns"), index, column) {
      found |= strcmp(name_of(column), name) == 0;
    }
    ck_assert_msg(found, "table %s has no column %s", name_of(table), name);
  }
}

static char *text_of(const prem_findings *findings) {
  char *shown = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&shown, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return shown;
}

static int count_words(const char *in, const char *words) {
  int count = 0;
  for (size_t i = 0; in[i] != 0; ++i)
    count += strncmp(in + i, words, strlen(words)) == 0;
  return count;
}

enum { MAX_TABLES = 3 };

/* Experiments, their tables, and columns of each. */
static const struct {
  const char *experiment;
  struct {
    const char *name, *columns;
  } tables[MAX_TABLES];
} promised[] = {
    {"live_overhead",
     {{"ways", "way,blocks,threads,count,p50,p99,p99.9,p99.99,largest,max - mean,device p50,device "
               "largest"},
      {"original", "way,blocks,threads,mean,largest,max - mean"}}},
    {"live_increment",
     {{"increments", "work,size,way,memory,blocks,threads,count,p50,p99,largest,device p50,whole "
                     "p50,whole largest"},
      {"original", "work,way,mean,largest,max - mean"}}},
    {"live_commands",
     {{"commands", "work,way,count,p50,p99,largest,device p50"},
      {"rates", "command,way,commands per s"}}},
    {"live_pipeline",
     {{"pipelines", "way,KiB,buffers,blocks,count,frames per s,age p50,age p99,age largest"}}},
    {"live_work",
     {{"works", "work,size,way,memory,blocks,threads,count,p50,p99,largest,device p50"},
      {"original", "work,way,mean,largest,max - mean"}}},
};

static void assert_tables(const prem_findings *findings, int promise) {
  json_t *root = read_findings(findings);
  for (int t = 0; t < MAX_TABLES && promised[promise].tables[t].name; ++t) {
    json_t *table = table_of(root, promised[promise].tables[t].name);
    assert_columns(table, promised[promise].tables[t].columns);
    ck_assert_uint_gt(json_array_size(json_object_get(table, "rows")), 0);
  }
  ck_assert_ptr_nonnull(json_string_value(json_object_get(root, "verdict")));
  ck_assert(json_is_true(json_object_get(root, "output_ok")));
  json_decref(root);
}

/* Each experiment runs twice for both that is promised, since a run takes a second. */
TESTS(findings_are_whole_and_in_virtual_time_the_same,
      only_threads() ? 0 : (int)(sizeof promised / sizeof *promised)) {
  prem_findings *one = findings_of(promised[_i].experiment, "sim"),
                *two = findings_of(promised[_i].experiment, "sim");
  assert_tables(one, _i);
  char *first = text_of(one), *second = text_of(two);
  ck_assert_msg(strcmp(first, second) == 0, "other numbers the second time");
  free(first);
  free(second);
  prem_findings_free(one);
  prem_findings_free(two);
}

/* Of experiments that time the host, which the simulator has not. */
static const struct {
  const char *experiment, *table, *columns;
  size_t rows;
} of_hosts[] = {
    {"host_memory", "stores_and_loads",
     "floats,memory,way,count,store p50,store again p50,load p50,load largest", 8},
    {"host_memory", "original", "floats,memory,store mean,load mean,load largest", 15},
    {"live_stress", "stress", "load,way,count,p50,p99,largest,device max - min", 2},
};

TESTS(tables_of_the_host_have_their_columns_and_rows, sizeof of_hosts / sizeof *of_hosts) {
  prem_findings *findings = findings_of(of_hosts[_i].experiment, "cpu");
  json_t *root = read_findings(findings), *table = table_of(root, of_hosts[_i].table);
  assert_columns(table, of_hosts[_i].columns);
  ck_assert_uint_ge(json_array_size(json_object_get(table, "rows")), of_hosts[_i].rows);
  ck_assert(json_is_true(json_object_get(root, "output_ok")));
  json_decref(root);
  prem_findings_free(findings);
}

TEST(the_first_table_of_live_overhead_is_ways) {
  prem_findings *findings = findings_of("live_overhead", "sim");
  json_t *root = read_findings(findings);
  const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
  ck_assert_str_eq(name_of(table), "ways");
  const json_t *row = json_array_get(json_object_get(table, "rows"), 0);
  ck_assert_str_eq(json_string_value(json_array_get(row, 0)), "live event");
  json_decref(root);
  prem_findings_free(findings);
}

/* ---- ways ------------------------------------------------------------------------------------ */

enum { TURNS = 6 };

static prem_status run_way(const char *backend, const prem_way_setup *setup,
                           prem_way_samples *samples, prem_diag *diag) {
  const prem_experiment_context context = context_on(backend);
  const prem_way_turns turns = {.warm_up = 2, .count = TURNS, .end_ns = INT64_MAX, .stop = &stop};
  return prem_way_run(&context, setup, &turns, samples, diag);
}

static void assert_right(const char *backend, const prem_way_setup *setup) {
  int64_t response_ns[TURNS], whole_ns[TURNS], device_ns[TURNS];
  prem_way_samples samples = {
      .room = TURNS, .response_ns = response_ns, .whole_ns = whole_ns, .device_ns = device_ns};
  prem_diag *diag = prem_diag_new();
  if (run_way(backend, setup, &samples, diag) != PREM_OK)
    abort_with(backend, diag);
  ck_assert_int_eq(samples.count, TURNS);
  const bool has_device =
      setup->work != PREM_WORK_MIXED; /* its hyperperiods end with skipped jobs */
  ck_assert_int_eq(samples.device_count, has_device ? TURNS : 0);
  ck_assert_int_eq(samples.wrong, 0);
  for (int turn = 0; turn < TURNS; ++turn) {
    if (has_device) {
      ck_assert_int_gt(device_ns[turn], 0);
      ck_assert_int_ge(response_ns[turn], device_ns[turn]);
    }
    ck_assert_int_ge(whole_ns[turn], response_ns[turn]);
  }
  prem_diag_free(diag);
}

static const prem_way_setup live_setups[] = {
    {.work = PREM_WORK_EMPTY, .blocks = 1},
    {.work = PREM_WORK_EMPTY, .blocks = 3},
    {.work = PREM_WORK_INCREMENT, .size = 1000, .blocks = 1},
    {.work = PREM_WORK_INCREMENT, .size = 1000, .blocks = 3},
    {.work = PREM_WORK_INCREMENT, .size = 32768, .blocks = 2},
    {.work = PREM_WORK_PRODUCT, .size = 32, .blocks = 1},
    {.work = PREM_WORK_PRODUCT, .size = 64, .blocks = 3},
    {.work = PREM_WORK_SUM, .size = 1000, .blocks = 1},
    {.work = PREM_WORK_SUM, .size = 1000, .blocks = 3},
    {.work = PREM_WORK_MIXED, .size = 1000, .blocks = 1},
};

TESTS(live_turns_give_right_outputs, sizeof live_setups / sizeof *live_setups) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE};
  for (int m = 0; m < 2; ++m) {
    prem_way_setup setup = live_setups[_i];
    setup.way = PREM_WAY_LIVE;
    setup.threads = 1;
    setup.pace_ns = 1000000;
    setup.mode = modes[m];
    assert_right("sim", &setup);
    assert_right("cpu", &setup);
  }
}

/* Two variants of four are expected to be something else. */
TEST(wrong_outputs_are_counted) {
  int64_t response_ns[8], whole_ns[8], device_ns[8];
  prem_way_samples samples = {
      .room = 8, .response_ns = response_ns, .whole_ns = whole_ns, .device_ns = device_ns};
  const prem_experiment_context context = context_on("sim");
  const prem_way_setup setup = {
      .work = PREM_WORK_INCREMENT, .size = 100, .blocks = 1, .threads = 1, .pace_ns = 1000000};
  const prem_way_turns turns = {.count = 8, .end_ns = INT64_MAX, .stop = &stop};
  prem_work_data data;
  ck_assert(prem_work_data_make(setup.work, setup.size, &data));
  data.out[1][0] += 1;
  data.out[2][99] += 1;
  ck_assert_int_eq(prem_live_way_run(&context, &setup, &turns, &data, &samples, NULL), PREM_OK);
  ck_assert_int_eq(samples.count, 8);
  ck_assert_int_eq(samples.wrong, 4);
  prem_work_data_free(&data);
}

/* Without a GPU no other way is there, which is no failure; it says which one. */
TEST(other_ways_need_a_gpu) {
  for (prem_way way = PREM_WAY_WORD; way < PREM_WAY_COUNT; ++way) {
    const prem_way_setup setup = {.way = way, .blocks = 1, .threads = 1};
    prem_way_samples samples = {0};
    prem_diag *diag = prem_diag_new();
    ck_assert_int_eq(run_way("cpu", &setup, &samples, diag), PREM_ERR_UNAVAILABLE);
    ck_assert_uint_eq(prem_diag_errors(diag), 0);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, prem_way_name(way)));
    prem_diag_free(diag);
  }
}

/* ---- rows ------------------------------------------------------------------------------------ */

TEST(rows_that_cannot_be_are_told_once) {
  const prem_experiment_context context = context_on("sim");
  prem_way_rows rows = {.turns = 4, .rounds = 2, .budget_ns = 1000000000};
  prem_findings *findings = prem_findings_new("rows", "title", "question");
  prem_way_setup setup = {.way = PREM_WAY_GRAPH, .blocks = 1, .threads = 32};
  prem_way_rows_add(&rows, &setup, ", one");
  prem_way_rows_add(&rows, &setup, ", two");
  setup.way = PREM_WAY_LIVE;
  prem_way_rows_add(&rows, &setup, "");
  ck_assert_int_eq(prem_way_rows_measure(&context, &rows, findings, NULL), PREM_OK);
  ck_assert_int_eq(rows.rows[2].samples.count, 4);
  ck_assert_str_eq(rows.rows[2].left_out, "");
  ck_assert_int_eq(rows.rows[0].samples.count, 0);
  prem_way_tell_left_out(&rows, findings);
  char *told = text_of(findings);
  ck_assert(strstr(told, "2 rows are left out, the first of them 'graph, one'") != NULL);
  ck_assert_int_eq(count_words(told, "left out"), 1);
  free(told);
  prem_way_rows_free(&rows);
  prem_findings_free(findings);
}

TEST(a_stopped_experiment_ends) {
  prem_experiment_context context = context_on("sim");
  prem_way_rows rows = {.turns = 4, .rounds = 1, .budget_ns = 1000000000};
  prem_findings *findings = prem_findings_new("rows", "title", "question");
  const prem_way_setup setup = {.way = PREM_WAY_LIVE, .blocks = 1, .threads = 1};
  prem_way_rows_add(&rows, &setup, "");
  stop = 1;
  ck_assert_int_eq(prem_way_rows_measure(&context, &rows, findings, NULL), PREM_ERR_INTERRUPTED);
  prem_way_rows_free(&rows);
  prem_findings_free(findings);
}

/* ---- work ------------------------------------------------------------------------------------ */

TEST(outputs_are_those_of_the_inputs) {
  prem_work_data data;
  ck_assert(prem_work_data_make(PREM_WORK_SUM, 100, &data));
  for (int v = 0; v < PREM_WORK_VARIANTS; ++v) {
    float sum = 0;
    for (int i = 0; i < 100; ++i)
      sum += data.in[v][0][i];
    ck_assert_float_eq(data.out[v][0], sum);
  }
  prem_work_data_free(&data);
  ck_assert(prem_work_data_make(PREM_WORK_PRODUCT, 32, &data));
  float corner = 0;
  for (int k = 0; k < 32; ++k)
    corner += data.in[1][0][31 * 32 + k] * data.in[1][1][k * 32 + 31];
  ck_assert_float_eq(data.out[1][31 * 32 + 31], corner);
  int differ = 0;
  for (int i = 0; i < 32 * 32; ++i)
    differ += data.out[0][i] != data.out[1][i];
  ck_assert_int_gt(differ, 0);
  prem_work_data_free(&data);
}

TEST(mixed_work_is_all_of_it) {
  prem_work_data data;
  ck_assert(prem_work_data_make(PREM_WORK_MIXED, 100, &data));
  for (int v = 0; v < PREM_WORK_VARIANTS; ++v)
    ck_assert_int_eq(data.command[v], v);
  ck_assert_int_eq(data.size[PREM_WORK_PRODUCT], PREM_WORK_TILE);
  ck_assert_int_eq(data.size[PREM_WORK_SUM], 100);
  ck_assert_int_eq(data.out_count, PREM_WORK_TILE * PREM_WORK_TILE);
  ck_assert_int_eq(data.used_out[PREM_WORK_SUM], 1);
  prem_work_data_free(&data);
}
