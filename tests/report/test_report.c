/* SPDX-License-Identifier: Apache-2.0 */
/* The report's data: what a page carries of a result, and what is refused. How it looks is tested
 * in report_browser.sh. */
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ttprem/report.h"

#include "tests/common/folder.h"
#include "tests/common/suite.h"

static prem_diag *diag;
static prem_report *report;

static void set_up(void) {
  make_folder();
  diag = prem_diag_new();
  report = prem_report_new();
}

static void tear_down(void) {
  prem_report_free(report);
  prem_diag_free(diag);
  remove_folder();
}

/* ---- documents ------------------------------------------------------------------------------ */

#define SUMMARY                                                                                    \
  "{\"count\":2,\"min\":1,\"mean\":1.5,\"p50\":1,\"p99\":null,\"p999\":null,\"max\":2}"
#define PROVENANCE                                                                                 \
  "{\"ttprem\":\"0.1.0\",\"commit\":\"c\",\"machine\":{\"name\":\"m\",\"backend\":\"cpu\","        \
  "\"clock_step_ns\":1}}"

/** A result of two rows with two tasks; `task` is the name of the first, `more` stands in the
 *  rows. */
static json_t *make_result(const char *task, int64_t releases) {
  json_t *root =
      json_pack("{s:s,s:{s:s,s:s,s:i},s:i,s:b,s:[],s:n,s:n}", "schema", "ttprem.result/1",
                "schedule", "name", "s", "sha256", "0", "hyperperiod_ns", 1000, "late_ns", 10,
                "interrupted", 0, "rows", "phases", "legacy_trials");
  json_object_set_new(root, "provenance", json_loads(PROVENANCE, 0, NULL));
  const char *modes[] = {"tt", "free"};
  for (int i = 0; i < 2; ++i) {
    json_t *tasks =
        json_pack("[{s:s,s:o,s:n,s:{}},{s:s,s:o,s:n,s:{}}]", "name", task, "response_ns",
                  json_loads(SUMMARY, 0, NULL), "published_ns", "phases", "name", "b",
                  "response_ns", json_loads(SUMMARY, 0, NULL), "published_ns", "phases");
    json_t *row = json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:o,s:i,s:f,s:i,s:I,s:i,s:n,s:[[ii]],s:i,s:n,s:n,s:i,s:b,s:b,"
        "s:o,s:s}",
        "label", modes[i], "mode", modes[i], "backend", "cpu", "scenario", "relaunch",
        "exclusivity", "none", "repeats", 2, "discarded", 0, "makespan_ns",
        json_loads(SUMMARY, 0, NULL), "jitter_ns", 1, "jitter_pct", 0.5, "max_minus_mean_ns", 1,
        "releases", (json_int_t)releases, "late_releases", 0, "lateness_max_ns", "lateness_hist", 0,
        2, "overruns", 0, "violations_certain", "violations_possible", "trace_lost", 0, "output_ok",
        1, "oversubscribed", 0, "tasks", tasks, "samples", "r.samples.csv");
    ck_assert_ptr_nonnull(row);
    json_array_append_new(json_object_get(root, "rows"), row);
  }
  return root;
}

typedef struct seen_values {
  int64_t sum, count, min, max;
} seen_values;

static void add_value(seen_values *to, int64_t ns) {
  to->min = to->count == 0 || ns < to->min ? ns : to->min;
  to->max = to->count == 0 || ns > to->max ? ns : to->max;
  to->sum += ns;
  ++to->count;
}

static json_t *summary_of(const seen_values *of) {
  const json_int_t count = of->count;
  return count == 0 ? json_pack("{s:i,s:n,s:n,s:n,s:n,s:n,s:n}", "count", 0, "min", "mean", "p50",
                                "p99", "p999", "max")
                    : json_pack("{s:I,s:I,s:f,s:n,s:n,s:n,s:I}", "count", count, "min",
                                (json_int_t)of->min, "mean", (double)of->sum / (double)of->count,
                                "p50", "p99", "p999", "max", (json_int_t)of->max);
}

/** Let a result say of its samples what they are: those of `text`, with the columns of `header`. */
static void fit_to(json_t *root, const char *text) {
  seen_values of[2][3] = {0}; /* [row][makespan, a, b] */
  for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
    const char *at = strchr(line, ',') + 1; /* the label */
    const int row = strncmp(at, "\"tt\"", 4) == 0 ? 0 : 1;
    for (int column = 0; column < 4 && (at = strpbrk(at, ",\n")) && *at == ','; ++column) {
      char *end;
      const long long ns = strtoll(++at, &end, 10);
      if (end > at)
        add_value(&of[row][column == 0 ? 0 : column < 3 ? 1 : 2], ns);
    }
  }
  for (size_t r = 0; r < 2; ++r) {
    json_t *row = json_array_get(json_object_get(root, "rows"), r);
    json_object_set_new(row, "makespan_ns", summary_of(&of[r][0]));
    for (size_t t = 0; t < 2; ++t)
      json_object_set_new(json_array_get(json_object_get(row, "tasks"), t), "response_ns",
                          summary_of(&of[r][1 + t]));
  }
}

static void name_no_samples(json_t *root) {
  for (size_t r = 0; r < 2; ++r)
    json_object_set_new(json_array_get(json_object_get(root, "rows"), r), "samples", json_null());
}

static void write_json(json_t *root, const char *name) {
  ck_assert_int_eq(json_dump_file(root, in_folder(name), 0), 0);
  json_decref(root);
}

/** The page, and in it the JSON that it carries. */
static char *write_page(void) {
  ck_assert_int_eq(prem_report_write(report, in_folder("page.html"), diag), PREM_OK);
  char *page = content_of(in_folder("page.html"));
  static const char end[] = "</script>\n</body>\n</html>\n";
  ck_assert_str_eq(page + strlen(page) - (sizeof end - 1), end);
  return page;
}

static json_t *carried(const char *page) {
  const char *begin = strstr(page, "id=\"documents\">");
  ck_assert_ptr_nonnull(begin);
  begin = strchr(begin, '>') + 1;
  const char *end = strstr(begin, "</script>");
  json_t *root = json_loadb(begin, (size_t)(end - begin), 0, NULL);
  ck_assert_ptr_nonnull(root);
  return root;
}

static json_t *page_carries(void) {
  FREED char *page = write_page();
  return carried(page);
}

/** What the page of a result carries, of which so much is said. */
static json_t *reported(json_t *result, unsigned problems) {
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), problems);
  return page_carries();
}

static json_t *at(json_t *root, const char *key, size_t index) {
  return json_array_get(json_object_get(root, key), index);
}

static json_t *path_of(json_t *root, const char *const *keys) {
  for (; *keys; ++keys)
    root = json_object_get(root, *keys);
  return root;
}

/* ---- samples -------------------------------------------------------------------------------- */

static const char header[] = "run,label,makespan_ns,\"a job 0 response_ns\",\"a job 1 "
                             "response_ns\",\"b response_ns\"\n";

GROUP("data", .set_up = set_up, .tear_down = tear_down);

TEST(samples_become_distributions) {
  char text[512];
  snprintf(text, sizeof text, "%s0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",30,9,9,7\n",
           header);
  put("r.samples.csv", text);
  json_t *result = make_result("a", 1);
  fit_to(result, text);
  json_t *root = reported(result, 0);
  json_t *samples = json_object_get(at(root, "documents", 0), "samples");
  const struct {
    const char *keys[4], *text;
  } expected[] = {
      {{"tt", "makespan", NULL}, "{\"ns\":[20,30],\"upto\":[1,3]}"},
      {{"tt", "tasks", "a", NULL}, "{\"ns\":[1,2,3,9],\"upto\":[1,3,4,6]}"},
      {{"tt", "tasks", "b", NULL}, "{\"ns\":[7],\"upto\":[3]}"},
      {{"free", "makespan", NULL}, "{\"ns\":[],\"upto\":[]}"},
  };
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    FREED char *found = json_dumps(path_of(samples, expected[i].keys), JSON_COMPACT);
    ck_assert_str_eq(found, expected[i].text);
  }
  json_decref(root);
}

/** Of a run with a disturbed job the result's numbers are of the other jobs, unless it mixes them.
 */
TESTS(disturbed_jobs_are_told_apart, 2) {
  static const char columns[] = "run,label,makespan_ns,\"a job 0 response_ns\",\"a job 1 "
                                "response_ns\",\"b response_ns\",disturbed\n";
  static const char *const lines[] = {
      "0,\"tt\",30,1,2,7,\n1,\"tt\",99,9,50,8,1\n2,\"tt\",20,2,3,7,\n",
      "0,\"tt\",30,1,2,7,\n1,\"tt\",,9,,8,1\n2,\"tt\",20,2,3,7,\n"}; /* what counts */
  static const char *const expected[] = {"{\"ns\":[1,2,3,9],\"upto\":[1,3,4,5]}",
                                         "{\"ns\":[1,2,3,9,50],\"upto\":[1,3,4,5,6]}"};
  const bool mixed = _i == 1;
  char text[512];
  json_t *result = make_result("a", 1);
  snprintf(text, sizeof text, "%s%s", columns, lines[mixed ? 0 : 1]);
  fit_to(result, text);
  json_object_set_new(at(result, "rows", 0), "disturbed",
                      json_pack("{s:i,s:b}", "count", 1, "mixed", mixed));
  write_json(result, "r.json");
  snprintf(text, sizeof text, "%s%s", columns, lines[0]);
  put("r.samples.csv", text);
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
  json_t *root = page_carries();
  static const char *const keys[] = {"tt", "tasks", "a", NULL};
  char *found =
      json_dumps(path_of(json_object_get(at(root, "documents", 0), "samples"), keys), JSON_COMPACT);
  ck_assert_str_eq(found, expected[_i]);
  free(found);
  json_decref(root);
}

static char *asset_text(const char *name) {
  char path[512];
  snprintf(path, sizeof path, SOURCE_DIR "/report/page/%s", name);
  return content_of(path);
}

TEST(a_page_begins_with_what_it_may_do_and_is) {
  static const char *const head =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
  static const char *const notice =
      " - ttprem report</title>\n<style>\n/* The charts of this page are drawn by uPlot.\n\n";
  write_json(make_result("a", 1), "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  FREED char *page = write_page(), *license = asset_text("uPlot.LICENSE");
  ck_assert_int_eq(strncmp(page, head, strlen(head)), 0);
  const char *at = strstr(page, notice);
  ck_assert_ptr_nonnull(at);
  at += strlen(notice);
  ck_assert_int_eq(strncmp(at, license, strlen(license)), 0);
  static const char end[] = "\n*/\n</style>\n<style>\n";
  ck_assert_int_eq(strncmp(at + strlen(license), end, strlen(end)), 0);
}

TEST(a_page_is_not_written_over_its_result) {
  char line[512], expected[512];
  write_json(make_result("a", 1), "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_int_eq(prem_report_write(report, in_folder("r.json"), diag), PREM_ERR_INVALID);
  prem_problem_format(prem_diag_at(diag, prem_diag_count(diag) - 1), line, sizeof line);
  snprintf(expected, sizeof expected,
           "%s/r.json: is read for the page (%s/r.json), and would be written over; name another "
           "file",
           folder, folder);
  ck_assert_str_eq(line, expected);
}

/* Later rules and scripts build on the earlier ones. */
TEST(a_page_carries_styles_and_scripts_in_order) {
  static const char *const names[] = {"uPlot.min.css", "report.css",  "uPlot.iife.js", "charts.js",
                                      "timeline.js",   "lateness.js", "report.js"};
  write_json(make_result("a", 1), "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  FREED char *page = write_page();
  char *at = page;
  for (int i = 0; i < 7; ++i) {
    FREED char *asset = asset_text(names[i]);
    const char *element = i < 2 ? "style" : "script";
    char begin[16], end[16];
    snprintf(begin, sizeof begin, "<%s>\n", element);
    snprintf(end, sizeof end, "</%s>\n", element);
    at = strstr(at, asset);
    ck_assert_msg(at != NULL, "%s is missing, or not in its place", names[i]);
    ck_assert_int_eq(strncmp(at - strlen(begin), begin, strlen(begin)), 0);
    at += strlen(asset);
    ck_assert_int_eq(strncmp(at, end, strlen(end)), 0);
    ck_assert_ptr_null(strstr(at, asset));
  }
}

/* Undisturbed jobs of runs that had disturbed ones as well are in the result alone: its samples are
 * this result's all the same, unless the result counts disturbed jobs too. */
TESTS(samples_of_runs_with_disturbed_jobs_are_drawn, 2) {
  char text[512];
  snprintf(text, sizeof text, "%s0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n", header);
  put("r.samples.csv", text);
  json_t *result = make_result("a", 1), *row = at(result, "rows", 0);
  fit_to(result, text);
  const seen_values more = {.sum = 9 + 4 + 8, .count = 5, .min = 1, .max = 9};
  json_object_set_new(at(row, "tasks", 0), "response_ns", summary_of(&more));
  json_object_set_new(row, "preempted", json_pack("{s:i,s:b}", "count", 1, "mixed", _i));
  json_t *root = reported(result, (unsigned)_i);
  const char *const of_a[] = {"tt", "tasks", "a", NULL};
  json_t *curve = path_of(json_object_get(at(root, "documents", 0), "samples"), of_a);
  FREED char *found = curve ? json_dumps(curve, JSON_COMPACT) : NULL;
  if (_i)
    ck_assert_ptr_null(found);
  else
    ck_assert_str_eq(found, "{\"ns\":[1,2,3],\"upto\":[1,3,4]}");
  json_decref(root);
}

TEST(empty_responses_are_no_samples) {
  char text[512];
  snprintf(text, sizeof text, "%s0,\"tt\",30,1,2,7\n0,\"free\",20,,,\n", header);
  put("r.samples.csv", text);
  json_t *result = make_result("a", 1);
  fit_to(result, text);
  json_t *root = reported(result, 0);
  json_t *mode = json_object_get(json_object_get(at(root, "documents", 0), "samples"), "free");
  FREED char *found = json_dumps(mode, JSON_COMPACT | JSON_SORT_KEYS);
  ck_assert_str_eq(found, "{\"makespan\":{\"ns\":[20],\"upto\":[1]},\"tasks\":{\"a\":{\"ns\":[],"
                          "\"upto\":[]},\"b\":{\"ns\":[],\"upto\":[]}}}");
  json_decref(root);
}

/** Samples that were compressed are read all the same; cut short they are left out with a warning.
 */
TESTS(compressed_samples_are_read, 2) {
  char command[4096], path[1024];
  snprintf(path, sizeof path, "%s", in_folder("r.samples.csv"));
  FREED char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  fputs(header, file);
  for (int i = 0; i < 1000; ++i)
    fprintf(file, "%d,\"tt\",%d,%d,%d,%d\n", i, i * 77, i, i * 3, i + 9);
  fclose(file);
  put("r.samples.csv", text);
  snprintf(command, sizeof command, "gzip -f '%s'", path);
  ck_assert_int_eq(system(command), 0);
  json_t *result = make_result("a", 1);
  fit_to(result, text);
  write_json(result, "r.json");
  if (_i) { /* half of it */
    snprintf(command, sizeof command, "truncate -s 2000 '%s.gz'", path);
    ck_assert_int_eq(system(command), 0);
  }
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  json_t *root = page_carries();
  const json_t *samples = json_object_get(at(root, "documents", 0), "samples");
  ck_assert_int_eq(json_is_object(samples), _i == 0);
  ck_assert_uint_eq(prem_diag_count(diag) > 0, _i == 1);
  json_decref(root);
}

/** 100 000 different samples of each of three curves in two rows: the page stays small, and keeps
 *  the smallest, the largest, and the largest but one. */
TEST(many_samples_are_thinned_but_for_the_ends) {
  enum { SAMPLES = 100000 };
  FREED char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  fputs(header, file);
  for (int i = 0; i < SAMPLES; ++i)
    for (int row = 0; row < 2; ++row) {
      int value = (int)((i * 7919LL) % SAMPLES) * 3 + 11;
      fprintf(file, "%d,\"%s\",%d,%d,%d,%d\n", i, row ? "free" : "tt", value, value, value, value);
    }
  fclose(file);
  put("r.samples.csv", text);
  json_t *result = make_result("a", 1);
  fit_to(result, text);
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  FREED char *page = write_page();
  ck_assert_uint_lt(strlen(page), 400000);
  json_t *root = carried(page);
  json_t *curve = path_of(json_object_get(at(root, "documents", 0), "samples"),
                          (const char *const[]){"tt", "makespan", NULL});
  json_t *values = json_object_get(curve, "ns"), *upto = json_object_get(curve, "upto");
  size_t count = json_array_size(values);
  ck_assert_uint_le(count, 310);
  ck_assert_uint_ge(count, 200);
  ck_assert_int_eq(json_integer_value(json_array_get(values, 0)), 11);
  ck_assert_int_eq(json_integer_value(json_array_get(values, count - 1)), (SAMPLES - 1) * 3 + 11);
  ck_assert_int_eq(json_integer_value(json_array_get(values, count - 2)), (SAMPLES - 2) * 3 + 11);
  ck_assert_int_eq(json_integer_value(json_array_get(upto, count - 1)), SAMPLES);
  for (size_t i = 0; i < count; ++i) /* what is kept is exact */
    ck_assert_int_eq(json_integer_value(json_array_get(values, i)),
                     (json_integer_value(json_array_get(upto, i)) - 1) * 3 + 11);
  json_decref(root);
}

static const struct {
  const char *text, *reason;
  int line;
} bad_samples[] = {
    {"", "is empty", 1},
    {"run,label\n", "not the header", 1},
    {"run,label,makespan_ns,\"c response_ns\"\n", "'c response_ns' is of no task", 1},
    {"run,label,makespan_ns\n0,\"lock\",5\n", "'lock' is no row", 2},
    {"run,label,makespan_ns\n0,\"tt\",x\n", "'x' is not an integer", 2},
    {"run,label,makespan_ns\n0,\"tt\",5,6\n", "4 fields", 2},
    {"run,label,makespan_ns\n0,\"tt\",5\n1,\"t", "cut short", 3},
    {"run,label,makespan_ns,disturbed\n0,\"tt\",5,x\n", "'x' are no numbers of jobs", 2},
    {"run,label,makespan_ns,disturbed\n0,\"tt\",5,0\n", "'0' are no numbers of jobs", 2},
};

/* Of a result without tasks no column but the makespan's is one. */
TEST(samples_of_no_task_are_left_out) {
  put("r.samples.csv", bad_samples[2].text);
  json_t *result = make_result("a", 1);
  for (size_t r = 0; r < 2; ++r)
    json_object_set_new(json_array_get(json_object_get(result, "rows"), r), "tasks", json_array());
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, bad_samples[2].reason));
}

TESTS(bad_samples_are_left_out, sizeof bad_samples / sizeof bad_samples[0]) {
  put("r.samples.csv", bad_samples[_i].text);
  write_json(make_result("a", 1), "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_int_eq(problem->severity, PREM_WARNING);
  ck_assert_int_eq(problem->line, bad_samples[_i].line);
  ck_assert_msg(strstr(problem->reason, bad_samples[_i].reason) != NULL, "%s", problem->reason);
  json_t *root = page_carries();
  ck_assert(json_is_null(json_object_get(at(root, "documents", 0), "samples")));
  json_decref(root);
}

/** One sample more, less, longer, shorter, or other ones between the same ends. */
static const struct {
  const char *text, *reason;
} foreign_samples[] = {
    {"0,\"tt\",30,1,2,7\n", "1 samples of the makespan in row 'tt', the result has 3"},
    {"0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",31,9,9,7\n",
     "the makespan of row 'tt' is 20 to 31"},
    {"0,\"tt\",30,1,2,7\n1,\"tt\",19,2,3,7\n2,\"tt\",30,9,9,7\n",
     "the makespan of row 'tt' is 19 to 30"},
    {"0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",29,9,9,7\n",
     "mean 26.333; the result says 20 to 30, mean 26.667"},
    {"0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",30,9,9,8\n",
     "the response of 'b' of row 'tt' is 7 to 8"},
    {"0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",30,9,9,7\n0,\"free\",9,9,9,9\n",
     "1 samples of the makespan in row 'free', the result has 0"},
};

TESTS(samples_of_another_run_are_refused,
      (int)(sizeof foreign_samples / sizeof foreign_samples[0])) {
  char text[512];
  json_t *result = make_result("a", 1);
  snprintf(text, sizeof text, "%s0,\"tt\",30,1,2,7\n1,\"tt\",20,2,3,7\n2,\"tt\",30,9,9,7\n",
           header);
  fit_to(result, text);
  write_json(result, "r.json");
  snprintf(text, sizeof text, "%s%s", header, foreign_samples[_i].text);
  put("r.samples.csv", text);
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_int_eq(problem->severity, PREM_WARNING);
  ck_assert_int_eq(problem->line, 0);
  ck_assert_ptr_nonnull(strstr(problem->reason, "is of another run"));
  ck_assert_msg(strstr(problem->reason, foreign_samples[_i].reason) != NULL, "%s", problem->reason);
  json_t *root = page_carries();
  ck_assert(json_is_null(json_object_get(at(root, "documents", 0), "samples")));
  json_decref(root);
}

/* ---- phases --------------------------------------------------------------------------------- */

#define PHASES_HEADER                                                                              \
  "label,task,job,block,tile,phase,planned_ns,planned_end_ns,release_ns,ready_ns,start_ns,end_"    \
  "ns\n"

static void write_with_phases(const char *text) {
  put("r.phases.csv", text);
  json_t *root = make_result("a", 1);
  name_no_samples(root);
  json_object_set_new(root, "phases",
                      json_pack("{s:s,s:i,s:i,s:i}", "file", "r.phases.csv", "blocks", 1,
                                "all_blocks", 2, "most_of_a_row", 10000));
  write_json(root, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
}

TEST(phases_become_lists) {
  write_with_phases(PHASES_HEADER "\"tt\",\"b\",0,5,3,prefetch,100,200,100,110,140,230\n"
                                  "\"tt\",\"a\",1,5,3,compute,,,,230,230,300\n");
  ck_assert_uint_eq(prem_diag_count(diag), 0);
  json_t *root = page_carries();
  FREED char *found = json_dumps(path_of(json_object_get(at(root, "documents", 0), "phases"),
                                         (const char *const[]){"tt", NULL}),
                                 JSON_COMPACT);
  ck_assert_str_eq(found, "{\"task\":[1,0],\"job\":[0,1],\"block\":[5,5],\"tile\":[3,3],"
                          "\"phase\":[0,1],\"planned\":[100,null],\"planned_length\":[100,null],"
                          "\"lateness\":[40,null],\"waited\":[10,null],\"start\":[140,230],"
                          "\"length\":[90,70]}");
  json_decref(root);
}

/** As many phases as a result keeps, each late by another number, with times of milliseconds. */
TEST(a_page_with_a_full_timeline_stays_small) {
  enum { PHASES = 20000, LINE = 120 };
  FREED char *text = malloc((PHASES + 2) * LINE);
  char *at = text + sprintf(text, PHASES_HEADER);
  for (int i = 0; i < PHASES; ++i) {
    int start = 3000000 + i * 928, late = (i * 7919) % 900;
    at += sprintf(at, "\"%s\",\"a\",0,%d,%d,prefetch,%d,%d,%d,%d,%d,%d\n", i % 2 ? "tt" : "free",
                  100 + i % 64, i, start, start + 3712, start, start + late / 2, start + late,
                  start + 2000 + late);
  }
  write_with_phases(text);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
  FREED char *page = write_page();
  ck_assert_uint_lt(strlen(page), 1500000);
}

static const struct {
  const char *text, *reason;
} bad_phases[] = {
    {"label\n", "not the header"},
    {PHASES_HEADER "\"lock\",\"a\",0,5,3,prefetch,100,200,100,110,140,230\n", "'lock' is no row"},
    {PHASES_HEADER "\"tt\",\"c\",0,5,3,prefetch,100,200,100,110,140,230\n", "'c' is no task"},
    {PHASES_HEADER "\"tt\",\"a\",0,5,3,fetch,100,200,100,110,140,230\n", "'fetch' is no phase"},
    {PHASES_HEADER "\"tt\",\"a\",0,5,3,prefetch,100,200,100,110,,230\n", "start_ns: ''"},
    {PHASES_HEADER "\"tt\",\"a\",0,5,3\n", "5 fields"},
};

/* All of them, those of good lines as well. */
TESTS(bad_phases_are_left_out, sizeof bad_phases / sizeof bad_phases[0]) {
  static const char good[] = "\"tt\",\"b\",0,5,3,prefetch,100,200,100,110,140,230\n";
  char text[512];
  snprintf(text, sizeof text, "%s%s", bad_phases[_i].text, good);
  write_with_phases(text);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->severity, PREM_WARNING);
  ck_assert_msg(strstr(prem_diag_at(diag, 0)->reason, bad_phases[_i].reason) != NULL, "%s",
                prem_diag_at(diag, 0)->reason);
  json_t *root = page_carries();
  ck_assert(!json_object_size(json_object_get(at(root, "documents", 0), "phases")));
  json_decref(root);
}

/* ---- the page ------------------------------------------------------------------------------- */

GROUP("page", .set_up = set_up, .tear_down = tear_down);

/** No name can end the element in which the page carries its data. */
TEST(names_cannot_break_out) {
  const char name[] = "</script><!--<script>\xe2\x80\xa8&\"";
  json_t *result = make_result(name, 1);
  name_no_samples(result);
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  FREED char *page = write_page();
  json_t *root = carried(page);
  json_t *row = at(json_object_get(at(root, "documents", 0), "result"), "rows", 0);
  ck_assert_str_eq(json_string_value(json_object_get(at(row, "tasks", 0), "name")), name);
  ck_assert_ptr_null(strstr(page, "<!--"));
  json_decref(root);
}

/** Its charts are uPlot's, whose licence asks for this in every copy. */
TEST(the_notice_of_the_charts_is_in_the_page) {
  json_t *result = make_result("a", 1);
  name_no_samples(result);
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  FREED char *page = write_page();
  ck_assert_ptr_nonnull(strstr(page, "Leon Sorokin"));
  ck_assert_ptr_nonnull(strstr(page, "Permission is hereby granted, free of charge"));
  ck_assert_ptr_nonnull(strstr(page, "THE SOFTWARE IS PROVIDED \"AS IS\""));
}

TEST(a_refused_one_is_named_in_the_page) {
  put("bad.json", "{\"schema\": \"ttprem.result/9\"}");
  json_t *result = make_result("a", 1);
  name_no_samples(result);
  write_json(result, "r.json");
  ck_assert_int_eq(prem_report_add(report, in_folder("bad.json"), diag), PREM_ERR_PARSE);
  ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), diag), PREM_OK);
  json_t *root = page_carries();
  const json_t *refused = at(root, "refused", 0);
  ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(refused, "file")), "bad.json"));
  ck_assert_ptr_nonnull(
      strstr(json_string_value(json_object_get(refused, "reason")), "ttprem.result/9"));
  json_decref(root);
}

TEST(nothing_to_report_writes_nothing) {
  ck_assert_int_eq(prem_report_write(report, in_folder("page.html"), diag), PREM_ERR_ARGUMENT);
  ck_assert_int_ne(access(in_folder("page.html"), F_OK), 0);
}

/* ---- refusals ------------------------------------------------------------------------------- */

#define FINDINGS                                                                                   \
  "{\"schema\":\"ttprem.findings/1\",\"name\":\"n\",\"title\":\"t\",\"question\":\"q\","           \
  "\"verdict\":\"v\",\"notes\":[],\"complete\":true,\"output_ok\":null,\"provenance\":" PROVENANCE \
  ","
#define TABLE                                                                                      \
  "\"tables\":[{\"name\":\"t\",\"title\":\"t\",\"source\":null,\"columns\":[{\"name\":\"x\","      \
  "\"unit\":\"\"}],\"rows\":[[1]]}],"
#define CHART(kind, table, y)                                                                      \
  "\"charts\":[{\"kind\":\"" kind "\",\"title\":\"\",\"table\":\"" table "\",\"x\":\"x\",\"y\":"   \
  "\"" y "\",\"low\":null,\"high\":null,\"series\":null,\"log_x\":false,\"log_y\":false}]}"

static const struct {
  const char *text, *reason;
} refusals[] = {
    {"", "is cut short"},
    {"{\"schema\":\"ttprem.findings/1\"", "is cut short"},
    {"no json", "is no JSON"},
    {"{\"schema\":7}", "has no schema"},
    {"{\"schema\":\"ttprem.result/2\"}", "is of version 'ttprem.result/2'"},
    {"{\"schema\":\"other/1\"}", "is of schema 'other/1'"},
    {"{\"schema\":\"ttprem.result/1\"}", "schedule is missing, should be an object"},
    {FINDINGS "\"tables\":[],\"charts\":{}}", "charts is an object, should be a list"},
    {FINDINGS TABLE CHART("pie", "t", "x"), "charts[0].kind: 'pie' is no kind of chart"},
    {FINDINGS TABLE CHART("bars", "u", "x"), "charts[0].table: there is no table 'u'"},
    {FINDINGS TABLE CHART("bars", "t", "z"), "charts[0].y: its table has no column 'z'"},
    {FINDINGS "\"tables\":[{\"name\":\"t\",\"title\":\"t\",\"columns\":[],\"rows\":[[1]]}],"
              "\"charts\":[]}",
     "tables[0].rows[0] has 1 cells, the table 0 columns"},
};

TESTS(broken_documents_are_refused, sizeof refusals / sizeof refusals[0]) {
  put("d.json", refusals[_i].text);
  ck_assert_int_eq(prem_report_add(report, in_folder("d.json"), diag), PREM_ERR_PARSE);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_str_eq(problem->file, in_folder("d.json"));
  ck_assert_msg(strstr(problem->reason, refusals[_i].reason) != NULL, "%s", problem->reason);
}

/** What newer results have besides: taken where it is right, else refused. */
TEST(first_causes_are_checked) {
  static const struct {
    const char *text, *reason;
  } cases[] = {
      {"[]", NULL},
      {"[{\"kind\":\"window\",\"task\":\"a\",\"phase\":\"prefetch\",\"joined\":false,"
       "\"from\":null,\"late_releases\":3,\"lateness_max_ns\":4,\"widen_ns\":5,\"run\":0,"
       "\"block\":1,\"job\":0,\"tile\":2,\"at_ns\":6}]",
       NULL},
      {"[{\"kind\":\"window\",\"task\":\"a\"}]",
       "rows[0].first_causes[0].phase is missing, should be a text"},
      {"{}", "rows[0].first_causes is no list"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    OWNED(prem_diag) *found = prem_diag_new();
    json_t *result = make_result("a", 1);
    json_object_set_new(json_array_get(json_object_get(result, "rows"), 0), "first_causes",
                        json_loads(cases[i].text, JSON_DECODE_ANY, NULL));
    ck_assert_int_eq(json_dump_file(result, in_folder("r.json"), 0), 0);
    json_decref(result);
    ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), found),
                     cases[i].reason ? PREM_ERR_PARSE : PREM_OK);
    if (cases[i].reason)
      ck_assert_str_eq(prem_diag_at(found, 0)->reason, cases[i].reason);
  }
}

TEST(padding_and_causes_are_checked) {
  static const struct {
    const char *key, *text, *reason;
  } cases[] = {
      {"padded", "{\"published_ns\":5,\"trained\":1,\"judged\":1,\"missed\":0}", NULL},
      {"padded", "{\"published_ns\":5,\"trained\":1,\"judged\":1}",
       "rows[0].tasks[0].padded.missed is missing, should be a number"},
      {"padded", "7", "rows[0].tasks[0].padded is no object"},
      {"padded", "{\"published_ns\":5,\"trained\":1,\"judged\":1,\"missed\":0,\"p9999\":{}}",
       "rows[0].tasks[0].padded.p9999.published_ns is missing, should be a number"},
      {"late_causes", "{\"prefetch\":{\"data\":3,\"blamed\":0,\"widen_ns\":0}}", NULL},
      {"late_causes", "{\"prefetch\":{\"data\":\"3\"}}",
       "rows[0].tasks[0].late_causes.prefetch.data is no number"},
      {"late_causes", "[]", "rows[0].tasks[0].late_causes is no object"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    OWNED(prem_diag) *found = prem_diag_new();
    json_t *result = make_result("a", 1);
    json_t *task = json_array_get(
        json_object_get(json_array_get(json_object_get(result, "rows"), 0), "tasks"), 0);
    json_object_set_new(task, cases[i].key, json_loads(cases[i].text, JSON_DECODE_ANY, NULL));
    ck_assert_int_eq(json_dump_file(result, in_folder("r.json"), 0), 0);
    json_decref(result);
    ck_assert_int_eq(prem_report_add(report, in_folder("r.json"), found),
                     cases[i].reason ? PREM_ERR_PARSE : PREM_OK);
    if (cases[i].reason)
      ck_assert_msg(strstr(prem_diag_at(found, 0)->reason, cases[i].reason) != NULL, "%s",
                    prem_diag_at(found, 0)->reason);
  }
}

TEST(good_findings_are_taken) {
  put("d.json", FINDINGS TABLE CHART("heat_map", "t", "x"));
  ck_assert_int_eq(prem_report_add(report, in_folder("d.json"), diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
}
