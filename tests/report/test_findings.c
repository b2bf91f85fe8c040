/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: built without checks, written as JSON, printed, drawn. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "report/findings/parts.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

static prem_machine machine = {.name = "a machine", .backend = "cpu", .cores = 2};

/** Two rows: time over size, of two caches. */
static prem_findings *some_findings(void) {
  prem_findings *findings = prem_findings_new("caches", "Caches", "How large are they?");
  prem_findings_verdict(findings, "not this one");
  prem_findings_verdict(findings, "There are %d of them.", 2);
  prem_findings_note(findings, "Measured %s.", "once");
  prem_table *table = prem_findings_table(findings, "sizes", "Sizes of 'all' caches", NULL);
  prem_table_column(table, "cache", "");
  prem_table_column(table, "size", "KiB");
  prem_table_column(table, "time", "ns");
  prem_table_add_text(table, "L1, \"small\"");
  prem_table_add_int(table, 48);
  prem_table_add_real(table, 1.25);
  prem_table_add_text(table, "L2's");
  prem_table_add_int(table, INT64_C(9007199254740993)); /* more than a double holds */
  prem_table_add_real(table, NAN);
  return findings;
}

static json_t *written(const prem_findings *findings) {
  const char *path = in_folder("findings.json");
  ck_assert_int_eq(prem_findings_write(findings, &machine, "ttprem x", path, NULL), PREM_OK);
  json_t *root = json_load_file(path, 0, NULL);
  ck_assert_ptr_nonnull(root);
  return root;
}

static const char *string_at(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

/* ---- as data -------------------------------------------------------------------------------- */

GROUP("findings", .first = make_folder, .last = remove_folder);

TEST(all_that_was_found_is_written) {
  OWNED(prem_findings) *findings = some_findings();
  prem_findings_seed(findings, UINT64_MAX);
  json_t *root = written(findings);
  ck_assert_str_eq(string_at(root, "schema"), "ttprem.findings/1");
  ck_assert_str_eq(string_at(root, "name"), "caches");
  ck_assert_str_eq(string_at(root, "question"), "How large are they?");
  ck_assert_str_eq(string_at(root, "verdict"), "There are 2 of them.");
  ck_assert_str_eq(json_string_value(json_array_get(json_object_get(root, "notes"), 0)),
                   "Measured once.");
  ck_assert(json_is_true(json_object_get(root, "complete")));
  ck_assert(json_is_null(json_object_get(root, "output_ok")));
  const json_t *provenance = json_object_get(root, "provenance");
  ck_assert_str_eq(string_at(provenance, "command"), "ttprem x");
  ck_assert_str_eq(string_at(provenance, "seed"), "18446744073709551615");
  ck_assert_str_eq(string_at(json_object_get(provenance, "machine"), "name"), "a machine");
  const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
  ck_assert(json_is_null(json_object_get(table, "source")));
  const json_t *column = json_array_get(json_object_get(table, "columns"), 1);
  ck_assert_str_eq(string_at(column, "name"), "size");
  ck_assert_str_eq(string_at(column, "unit"), "KiB");
  const json_t *rows = json_object_get(table, "rows");
  ck_assert_uint_eq(json_array_size(rows), 2);
  const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
  ck_assert_str_eq(json_string_value(json_array_get(first, 0)), "L1, \"small\"");
  ck_assert_double_eq(json_real_value(json_array_get(first, 2)), 1.25);
  ck_assert_int_eq(json_integer_value(json_array_get(second, 1)), INT64_C(9007199254740993));
  ck_assert(json_is_null(json_array_get(second, 2)));
  json_decref(root);
}

/* Two GPUs of one name are told apart, and a driver from its next version. */
TEST(a_gpu_is_named) {
  OWNED(prem_findings) *findings = some_findings();
  json_t *root = written(findings);
  const json_t *found = json_object_get(json_object_get(root, "provenance"), "machine");
  ck_assert_ptr_null(json_object_get(found, "uuid"));
  ck_assert_ptr_null(json_object_get(found, "driver"));
  json_decref(root);
  snprintf(machine.uuid, sizeof machine.uuid, "GPU-0f");
  snprintf(machine.driver, sizeof machine.driver, "580.95.05, CUDA 13.0");
  root = written(findings);
  found = json_object_get(json_object_get(root, "provenance"), "machine");
  ck_assert_str_eq(string_at(found, "uuid"), "GPU-0f");
  ck_assert_str_eq(string_at(found, "driver"), "580.95.05, CUDA 13.0");
  json_decref(root);
}

TEST(doubts_are_written) {
  OWNED(prem_findings) *findings = some_findings();
  prem_findings_incomplete(findings);
  prem_findings_complete(findings);
  prem_findings_incomplete(findings);
  prem_findings_output(findings, true);
  ck_assert(!prem_findings_wrong(findings));
  json_t *root = written(findings);
  ck_assert(json_is_false(json_object_get(root, "complete")));
  ck_assert(json_is_true(json_object_get(root, "output_ok")));
  ck_assert(json_is_null(json_object_get(json_object_get(root, "provenance"), "seed")));
  ck_assert_ptr_null(json_object_get(root, "kept")); /* nobody promised anything */
  json_decref(root);
  prem_findings_promise(findings, true);
  root = written(findings);
  ck_assert(json_is_true(json_object_get(root, "kept")));
  json_decref(root);
  prem_findings_output(findings, false);
  prem_findings_output(findings, true);
  prem_findings_promise(findings, false);
  prem_findings_promise(findings, true);
  ck_assert(prem_findings_wrong(findings));
  root = written(findings);
  ck_assert(json_is_false(json_object_get(root, "kept")));
  ck_assert(json_is_false(json_object_get(root, "output_ok")));
  json_decref(root);
}

TEST(a_chart_names_its_columns) {
  OWNED(prem_findings) *findings = some_findings();
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_HEAT_MAP,
                                              .title = "a map",
                                              .table = "sizes",
                                              .x = "size",
                                              .y = "time",
                                              .series = "cache",
                                              .log_y = true});
  prem_table *table = prem_findings_table(findings, "theirs", "Theirs", "thesis, TX2");
  prem_table_column(table, "size", "KiB");
  json_t *root = written(findings);
  const json_t *chart = json_array_get(json_object_get(root, "charts"), 0);
  ck_assert_str_eq(string_at(chart, "kind"), "heat_map");
  ck_assert_str_eq(string_at(chart, "table"), "sizes");
  ck_assert_str_eq(string_at(chart, "series"), "cache");
  ck_assert(json_is_null(json_object_get(chart, "low")));
  ck_assert(json_is_true(json_object_get(chart, "log_y")));
  const json_t *theirs = json_array_get(json_object_get(root, "tables"), 1);
  ck_assert_str_eq(string_at(theirs, "source"), "thesis, TX2");
  json_decref(root);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

static void add_table_twice(prem_findings *findings) {
  prem_findings_table(findings, "sizes", "again", NULL);
}

static void cut_row_short(prem_findings *findings) {
  prem_table *table = prem_findings_table(findings, "short", "Short", NULL);
  prem_table_column(table, "a", "");
  prem_table_column(table, "b", "");
  prem_table_add_int(table, 1);
}

static void name_column_twice(prem_findings *findings) {
  prem_table *table = prem_findings_table(findings, "twice", "Twice", NULL);
  prem_table_column(table, "a", "");
  prem_table_column(table, "a", "");
}

static void name_column_late(prem_findings *findings) {
  prem_table *table = prem_findings_table(findings, "late", "Late", NULL);
  prem_table_column(table, "a", "");
  prem_table_add_int(table, 1);
  prem_table_column(table, "b", "");
}

static void chart_no_table(prem_findings *findings) {
  prem_findings_chart(findings,
                      &(prem_chart){.title = "c", .table = "none", .x = "size", .y = "time"});
}

static void chart_no_column(prem_findings *findings) {
  prem_findings_chart(findings,
                      &(prem_chart){.title = "c", .table = "sizes", .x = "size", .y = "speed"});
}

static void chart_half_band(prem_findings *findings) {
  prem_findings_chart(
      findings,
      &(prem_chart){.title = "c", .table = "sizes", .x = "size", .y = "time", .low = "time"});
}

static void chart_map_without_rows(prem_findings *findings) {
  prem_findings_chart(
      findings,
      &(prem_chart){
          .kind = PREM_CHART_HEAT_MAP, .title = "c", .table = "sizes", .x = "size", .y = "time"});
}

static void chart_beside_nothing(prem_findings *findings) {
  prem_findings_chart(
      findings,
      &(prem_chart){.title = "c", .table = "sizes", .x = "size", .y = "time", .beside = "theirs"});
}

static void chart_beside_others(prem_findings *findings) {
  prem_table *theirs = prem_findings_table(findings, "theirs", "Theirs", "somebody");
  prem_table_column(theirs, "size", "");
  chart_beside_nothing(findings);
}

static void map_beside(prem_findings *findings) {
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_HEAT_MAP,
                                              .title = "c",
                                              .table = "sizes",
                                              .x = "size",
                                              .y = "time",
                                              .series = "cache",
                                              .beside = "sizes"});
}

static const struct {
  void (*make)(prem_findings *findings);
  const char *reason;
} mistakes[] = {
    {chart_beside_nothing, "there is no table 'theirs'"},
    {chart_beside_others, "table 'theirs' has no column 'time'"},
    {map_beside, "a heat map shows one table"},
    {add_table_twice, "two tables are named 'sizes'"},
    {cut_row_short, "the last row of table 'short' is cut short"},
    {name_column_twice, "column 'a' of table 'twice'"},
    {name_column_late, "column 'b' of table 'late'"},
    {chart_no_table, "there is no table 'none'"},
    {chart_no_column, "table 'sizes' has no column 'speed'"},
    {chart_half_band, "a band has two ends"},
    {chart_map_without_rows, "a heat map needs a series"},
};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

TESTS(a_mistake_is_told_and_nothing_written, MISTAKES) {
  OWNED(prem_findings) *findings = some_findings();
  mistakes[_i].make(findings);
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *path = in_folder("mistake.json");
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", path, diag), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(access(path, F_OK), -1);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_msg(strstr(prem_diag_at(diag, 0)->reason, mistakes[_i].reason), "found: %s",
                prem_diag_at(diag, 0)->reason);
  ck_assert_int_eq(prem_findings_draw(findings, in_folder("mistake.svg"), NULL, NULL),
                   PREM_ERR_ARGUMENT);
  ck_assert_int_eq(access(in_folder("mistake.svg"), F_OK), -1);
}

TEST(no_table_takes_everything) {
  prem_table_column(NULL, "a", "");
  prem_table_add_text(NULL, "a");
  prem_table_add_int(NULL, 1);
  prem_table_add_real(NULL, 1);
  prem_findings_free(NULL);
}

TEST(an_unwritable_place_is_told) {
  OWNED(prem_findings) *findings = some_findings();
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", in_folder("none/f.json"), diag),
                   PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
}

/* ---- as text -------------------------------------------------------------------------------- */

static char *printed(const prem_findings *findings) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return text;
}

TEST(tables_stand_in_columns) {
  OWNED(prem_findings) *findings = some_findings();
  FREED char *text = printed(findings);
  ck_assert_str_eq(text, "caches: Caches\n"
                         "  There are 2 of them.\n"
                         "  Measured once.\n"
                         "\n"
                         "Sizes of 'all' caches\n"
                         "  cache                    size  time\n"
                         "                            KiB    ns\n"
                         "  L1, \"small\"                48  1.25\n"
                         "  L2's         9007199254740993     -\n");
}

TEST(a_long_table_is_cut_and_says_so) {
  OWNED(prem_findings) *findings = prem_findings_new("long", "Long", "How long?");
  prem_table *table = prem_findings_table(findings, "rows", "Rows", "somebody");
  prem_table_column(table, "row", "");
  for (int row = 0; row < 1000; ++row)
    prem_table_add_int(table, row);
  prem_findings_incomplete(findings);
  prem_findings_output(findings, false);
  FREED char *text = printed(findings);
  ck_assert_str_eq(text, "long: Long\n"
                         "  OUTPUT WRONG\n"
                         "  incomplete: interrupted before its end\n"
                         "\n"
                         "Rows (somebody)\n"
                         "  row\n"
                         "    0\n"
                         "    1\n"
                         "    2\n"
                         "    3\n"
                         "    4\n"
                         "  ... and 995 rows more, in the file\n");
}

TEST(a_table_is_cut_beyond_64_rows) {
  OWNED(prem_findings) *findings = prem_findings_new("long", "Long", "How long?");
  prem_table *table = prem_findings_table(findings, "rows", "Rows", NULL);
  prem_table_column(table, "row", "");
  for (int row = 0; row < 64; ++row)
    prem_table_add_int(table, row);
  char *text = printed(findings);
  ck_assert_ptr_nonnull(strstr(text, "   63\n"));
  free(text);
  prem_table_add_int(table, 64);
  text = printed(findings);
  ck_assert_ptr_nonnull(strstr(text, "    4\n  ... and 60 rows more, in the file\n"));
  free(text);
}

/* ---- as a picture --------------------------------------------------------------------------- */

/** 12 series of 20 rows with a band, a missing value, and quotes. */
static prem_findings *many_lines(prem_chart_kind kind, bool logarithmic) {
  prem_findings *findings = prem_findings_new("many", "Many 'lines'", "?");
  prem_findings_verdict(findings, "A \"verdict\" of %d %%.", 50);
  prem_table *table = prem_findings_table(findings, "t", "T", NULL);
  prem_table_column(table, "of", "");
  prem_table_column(table, "x", "KiB");
  prem_table_column(table, "y", "ns");
  prem_table_column(table, "least", "ns");
  prem_table_column(table, "most", "ns");
  for (int series = 0; series < 12; ++series)
    for (int x = 1; x <= 20; ++x) {
      char name[24];
      snprintf(name, sizeof name, "it's \"%d\"", series);
      prem_table_add_text(table, name);
      prem_table_add_int(table, x);
      prem_table_add_real(table, x == 7 ? (double)NAN : 1.0 * x * (series + 1));
      prem_table_add_real(table, x * (series + 1) - 0.5);
      prem_table_add_real(table, x * (series + 1) + 0.5);
    }
  prem_findings_chart(findings, &(prem_chart){.kind = kind,
                                              .title = "It's \"one\" chart",
                                              .table = "t",
                                              .x = "x",
                                              .y = "y",
                                              .low = "least",
                                              .high = "most",
                                              .series = "of",
                                              .log_x = logarithmic,
                                              .log_y = logarithmic});
  return findings;
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  char *text = calloc(1, 1 << 20);
  ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 0);
  fclose(file);
  return text;
}

/** True where there is no gnuplot: there is no picture to look at. */
static bool drawn(const prem_findings *findings, const char *path) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_findings_draw(findings, path, NULL, diag);
  ck_assert_msg(status == PREM_OK || status == PREM_ERR_UNAVAILABLE, "%s",
                prem_diag_count(diag) ? prem_diag_at(diag, 0)->reason : "");
  return status == PREM_OK;
}

TESTS(every_kind_of_chart_is_drawn, PREM_CHART_KIND_COUNT) {
  for (int logarithmic = 0; logarithmic < 2; ++logarithmic) {
    OWNED(prem_findings) *findings = many_lines((prem_chart_kind)_i, logarithmic);
    const char *path = in_folder("chart.svg");
    if (drawn(findings, path)) {
      FREED char *text = read_text(path);
      ck_assert_ptr_nonnull(strstr(text, "It's \"one\" chart"));
      ck_assert_ptr_nonnull(strstr(text, "Many 'lines'"));
      ck_assert_ptr_nonnull(strstr(text, "it's \"11\""));
      ck_assert_ptr_nonnull(strstr(text, "</svg>"));
    }
  }
}

/** With series of the same names, which are told apart, and without any. */
TEST(what_others_published_has_a_colour_of_its_own) {
  OWNED(prem_findings) *findings = many_lines(PREM_CHART_LINES, false);
  prem_table *theirs = prem_findings_table(findings, "theirs", "Theirs", "somebody");
  prem_table_column(theirs, "of", "");
  prem_table_column(theirs, "y", "ns");
  prem_table_column(theirs, "x", "KiB");
  for (int x = 1; x <= 2; ++x) {
    prem_table_add_text(theirs, "it's \"3\"");
    prem_table_add_real(theirs, 2.5 * x);
    prem_table_add_int(theirs, x);
  }
  static const prem_chart_kind kinds[] = {PREM_CHART_LINES, PREM_CHART_BARS, PREM_CHART_POINTS};
  for (int i = 0; i < 3; ++i)
    prem_findings_chart(findings, &(prem_chart){.kind = kinds[i],
                                                .title = "c",
                                                .table = "t",
                                                .x = "x",
                                                .y = "y",
                                                .series = i == 1 ? NULL : "of",
                                                .beside = "theirs"});
  if (drawn(findings, in_folder("beside.svg"))) {
    FREED char *text = read_text(in_folder("beside.svg"));
    ck_assert_ptr_nonnull(strstr(text, "it's \"3\", original"));
    ck_assert_ptr_nonnull(strstr(text, "rgb(143, 143, 143)"));
  }
  OWNED(prem_findings) *again = NULL;
  const char *path = in_folder("beside.json");
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", path, NULL), PREM_OK);
  ck_assert_int_eq(prem_findings_read(path, &again, NULL), PREM_OK);
  const char *copy = in_folder("again.json");
  ck_assert_int_eq(prem_findings_write(again, &machine, "", copy, NULL), PREM_OK);
  FREED char *text = read_text(copy);
  ck_assert_ptr_nonnull(strstr(text, "\"beside\": \"theirs\""));
}

/** Text on the x axis, a table without rows, one with nothing but missing values, one value. */
TEST(odd_tables_are_drawn) {
  OWNED(prem_findings) *findings = some_findings();
  prem_table *empty = prem_findings_table(findings, "empty", "Empty", NULL);
  prem_table_column(empty, "x", "");
  prem_table_column(empty, "y", "");
  prem_table *missing = prem_findings_table(findings, "missing", "Missing", NULL);
  prem_table_column(missing, "x", "");
  prem_table_column(missing, "y", "");
  prem_table_add_text(missing, "a");
  prem_table_add_real(missing, NAN);
  for (int kind = 0; kind < PREM_CHART_KIND_COUNT; ++kind) {
    const char *tables[] = {"sizes", "empty", "missing"};
    for (int table = 0; table < 3; ++table)
      prem_findings_chart(findings, &(prem_chart){.kind = (prem_chart_kind)kind,
                                                  .title = "odd",
                                                  .table = tables[table],
                                                  .x = table ? "x" : "cache",
                                                  .y = table ? "y" : "time",
                                                  .series = table ? "x" : "cache"});
  }
  drawn(findings, in_folder("odd.png"));
}

TEST(numbers_of_one_magnitude_have_no_logarithm) {
  OWNED(prem_findings) *findings = prem_findings_new("bars", "Two bars", "?");
  prem_table *table = prem_findings_table(findings, "t", "T", NULL);
  prem_table_column(table, "mode", "");
  prem_table_column(table, "time", "ns");
  prem_table_add_text(table, "legacy");
  prem_table_add_int(table, 1370000);
  prem_table_add_text(table, "tt");
  prem_table_add_int(table, 1930000);
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_BARS,
                                              .title = "Bars",
                                              .table = "t",
                                              .x = "mode",
                                              .y = "time",
                                              .log_y = true});
  prem_findings_incomplete(findings);
  const char *path = in_folder("bars.svg");
  if (drawn(findings, path)) {
    FREED char *text = read_text(path);
    ck_assert_ptr_nonnull(strstr(text, ">0<"));       /* where they begin */
    ck_assert_ptr_nonnull(strstr(text, ">2000000<")); /* and not 2e+06 */
  }
}

/** A map of `columns` columns, the first of them "%globaltimer", with a small and a large value. */
static prem_findings *one_map(int columns) {
  prem_findings *findings = prem_findings_new("map", "A map", "?");
  prem_table *table = prem_findings_table(findings, "t", "T", NULL);
  prem_table_column(table, "row", "");
  prem_table_column(table, "beside", "");
  prem_table_column(table, "jitter", "%");
  for (int column = 0; column < columns; ++column) {
    char name[24];
    snprintf(name, sizeof name, "%d others", column);
    prem_table_add_text(table, "a");
    prem_table_add_text(table, column ? name : "%globaltimer");
    prem_table_add_real(table, column ? 12.345 : 0.01234);
  }
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_HEAT_MAP,
                                              .title = "A map",
                                              .table = "t",
                                              .x = "beside",
                                              .y = "jitter",
                                              .series = "row"});
  return findings;
}

TESTS(numbers_fit_into_the_cells_of_a_map, 2) {
  static const struct {
    int columns;
    const char *small, *large;
  } maps[] = {{3, ">0.0123<", ">12.3<"}, {40, ">0.01<", ">12.3<"}};
  OWNED(prem_findings) *findings = one_map(maps[_i].columns);
  prem_findings_incomplete(findings);
  const char *path = in_folder("map.svg");
  if (drawn(findings, path)) {
    FREED char *text = read_text(path);
    ck_assert_ptr_nonnull(strstr(text, maps[_i].small));
    ck_assert_ptr_nonnull(strstr(text, maps[_i].large));
    ck_assert_ptr_nonnull(strstr(text, ">%globaltimer<")); /* and not 0lobaltimer */
    ck_assert_ptr_nonnull(strstr(text, "Incomplete"));
  }
}

TEST(what_is_no_picture_is_refused) {
  prem_findings *findings = some_findings();
  ck_assert_int_eq(prem_findings_draw(findings, in_folder("no_chart.svg"), NULL, NULL),
                   PREM_ERR_ARGUMENT);
  prem_findings_free(findings);
  findings = many_lines(PREM_CHART_LINES, false);
  ck_assert_int_eq(prem_findings_draw(findings, in_folder("picture.bmp"), NULL, NULL),
                   PREM_ERR_ARGUMENT);
  prem_findings_free(findings);
}
