/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results, findings and traces of which a value is missing or another one, or a letter, are read,
 * refused and put on the page as they were, to the last letter (see tests/common/golden.h): others
 * show that it is right.
 */
#include <jansson.h>

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/letters.h"
#include "ttprem/report.h"
#include "ttprem/ttprem_measure.h"

enum { CHANGED = 300, OF_A_LINE = 20, PAGE_EVERY = 5 /* it takes longest */ };

static FILE *told; /* what is compared */

/* ---- what there is -------------------------------------------------------------------------- */

static const char source[] =
    "version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
    " { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 700L; };"
    "   compute: { wcet_ns = 900L; }; },"
    " { name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 300L; };"
    "   writeback: { wcet_ns = 200L; }; after = ( { task = \"a\"; } ); } );";

static prem_result *measure(const prem_schedule *schedule) {
  static const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_LOCK},
                                               .mode_count = 2,
                                               .sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.launches = 2,
                                               .sampling.max_records = 100000};
  const prem_backend delayed = delayed_backend();
  prem_session *session = NULL;
  prem_result *result = NULL;
  delayed_seed = 3;
  ck_assert_int_eq(prem_session_open(&delayed, schedule, &session, NULL), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &delayed, &options, &result, NULL), PREM_OK);
  prem_session_close(session);
  return result;
}

/* What names this machine and this day is another thing each time. */
static void fix_provenance(json_t *root) {
  json_object_set_new(root, "provenance",
                      json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:i},s:n}", "ttprem", "0", "commit",
                                "c", "command", "ttprem '/home/x/y' <z>", "date",
                                "2026-01-01T00:00:00Z", "machine", "name", "m", "backend", "sim",
                                "clock_step_ns", 1, "seed"));
}

static json_t *take_json(const char *name) {
  char *all = golden_take(golden_path(name));
  json_t *root = json_loads(all, 0, NULL);
  ck_assert_ptr_nonnull(root);
  free(all);
  fix_provenance(root);
  return root;
}

static void write_json(const json_t *root, const char *name) {
  ck_assert_int_eq(json_dump_file(root, golden_path(name), 0), 0);
}

static char *samples, *phases, *trace; /* files' texts */
static json_t *result_root, *findings_root;

static void write_file(const char *name, const char *all) {
  FILE *file = fopen(golden_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs(all, file);
  fclose(file);
}

static void write_sides(void) {
  write_file("r.samples.csv", samples);
  write_file("r.phases.csv", phases);
}

static prem_findings *make_findings(void) {
  prem_findings *findings = prem_findings_new("f", "Title <of> it", "Why?");
  prem_findings_verdict(findings, "Because of %d.", 3);
  prem_findings_note(findings, "A note.");
  prem_findings_output(findings, true);
  prem_findings_promise(findings, false);
  prem_findings_seed(findings, 7);
  prem_table *table = prem_findings_table(findings, "t", "Table", "somebody");
  static const char *const columns[] = {"x", "y", "low", "high", "who"};
  for (int c = 0; c < 5; ++c)
    prem_table_column(table, columns[c], c % 2 ? "ns" : "");
  for (int row = 0; row < 3; ++row) {
    prem_table_add_int(table, row);
    for (int c = 1; c < 4; ++c)
      prem_table_add_real(table, 0.5 * row + c);
    prem_table_add_text(table, row ? "b" : "a");
  }
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_STEPS,
                                              .title = "Chart",
                                              .table = "t",
                                              .x = "x",
                                              .y = "y",
                                              .low = "low",
                                              .high = "high",
                                              .series = "who",
                                              .log_y = true});
  return findings;
}

static void set_up(void) {
  golden_make_folder();
  prem_schedule *schedule = schedule_from_text(source);
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  prem_result *result = measure(schedule);
  ck_assert_int_eq(prem_result_write(result, schedule, "", golden_path("r.json"), NULL), PREM_OK);
  result_root = take_json("r.json");
  samples = golden_take(golden_path("r.samples.csv"));
  phases = golden_take(golden_path("r.phases.csv"));
  FILE *csv = fopen(golden_path("t.csv"), "w");
  ck_assert_int_eq(prem_trace_write_csv(result->rows[0].example, schedule, 0, true, csv), PREM_OK);
  fclose(csv);
  trace = golden_take(golden_path("t.csv"));
  prem_result_free(result);
  prem_schedule_free(schedule);
  prem_findings *findings = make_findings();
  const prem_machine machine = {0};
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", golden_path("f.json"), NULL),
                   PREM_OK);
  prem_findings_free(findings);
  findings_root = take_json("f.json");
  write_sides();
}

static void tear_down(void) {
  json_decref(result_root);
  json_decref(findings_root);
  free(samples);
  free(phases);
  free(trace);
  golden_remove_folder();
}

/* ---- what is told --------------------------------------------------------------------------- */

/* The folder's name is drawn. */
static uint64_t sum_of_problems(const prem_diag *diag) {
  uint64_t sum = GOLDEN_SUM;
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    const char *parts[] = {problem->key, problem->reason};
    for (int p = 0; p < 2; ++p)
      for (const char *at = parts[p]; *at; ++at) {
        if (strncmp(at, golden_folder, strlen(golden_folder)) == 0)
          at += strlen(golden_folder);
        sum = golden_sum(sum, at, 1);
      }
    sum = golden_sum(sum, &problem->line, sizeof problem->line);
    sum = golden_sum(sum, &problem->severity, sizeof problem->severity);
    sum = golden_sum(sum, &problem->code, sizeof problem->code);
  }
  return sum;
}

/* What the page carries of it; how it is drawn the scripts say. */
static uint64_t sum_of_page(const prem_report *report, prem_diag *diag) {
  const prem_status status = prem_report_write(report, golden_path("p.html"), diag);
  if (status != PREM_OK)
    return (uint64_t)status;
  char *page = golden_take(golden_path("p.html"));
  const char *from = strstr(page, "id=\"documents\">"), *title = strstr(page, "<title>");
  ck_assert_ptr_nonnull(from);
  ck_assert_ptr_nonnull(title);
  uint64_t sum = golden_sum(GOLDEN_SUM, from, (size_t)(strstr(from, "</script>") - from));
  sum = golden_sum(sum, title, strcspn(title, "\n"));
  free(page);
  return sum;
}

static uint64_t sum_of_document(const char *name) {
  prem_diag *diag = prem_diag_new();
  prem_report *report = prem_report_new();
  uint64_t sum = (uint64_t)prem_report_add(report, golden_path(name), diag);
  static int documents;
  if (++documents % PAGE_EVERY == 0)
    sum = golden_sum(sum_of_page(report, diag), &sum, sizeof sum);
  sum ^= sum_of_problems(diag);
  prem_report_free(report);
  prem_diag_free(diag);
  return sum;
}

static uint64_t sum_of_findings(const char *name) {
  prem_diag *diag = prem_diag_new();
  prem_findings *findings = NULL;
  uint64_t sum = (uint64_t)prem_findings_read(golden_path(name), &findings, diag);
  if (findings) {
    char *all = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&all, &bytes);
    prem_findings_print(findings, file);
    fclose(file);
    sum = golden_sum(sum, all, bytes);
    free(all);
  }
  sum ^= sum_of_problems(diag);
  prem_findings_free(findings);
  prem_diag_free(diag);
  return sum;
}

typedef uint64_t judge(const char *name);

/* ---- values --------------------------------------------------------------------------------- */

enum { OTHERS = 8, TRIED = 4 };

static json_t *other_value(int number) {
  switch (number) {
  case 0:
    return json_null();
  case 1:
    return json_integer(-1);
  case 2:
    return json_string("x");
  case 3:
    return json_array();
  case 4:
    return json_object();
  case 5:
    return json_real(1e300);
  case 6:
    return json_string("a\033[1m");
  default:
    return json_true();
  }
}

/* `root` with each value below `node` another one, or gone. Items of a list behind the second say
 * nothing that is new. */
static void change_values(const json_t *root, json_t *node, const char *path, const char *name,
                          judge *of) {
  const bool list = json_is_array(node);
  const size_t count = list ? json_array_size(node) : json_object_size(node);
  void *next = json_object_iter(node);
  for (size_t i = 0; i < count && (!list || i < 2); ++i) {
    char below[256];
    const char *key = list ? NULL : json_object_iter_key(next);
    json_t *value = json_incref(list ? json_array_get(node, i) : json_object_iter_value(next));
    snprintf(below, sizeof below, "%s/%s", path, list ? (i ? "1" : "0") : key);
    uint64_t sum = GOLDEN_SUM;
    for (int number = 0; number < TRIED; ++number) {
      json_t *other = other_value((int)(strlen(below) + (size_t)number * 3) % OTHERS);
      if (list)
        json_array_set_new(node, i, other);
      else
        json_object_set_new(node, key, other);
      write_json(root, name);
      const uint64_t one = of(name);
      sum = golden_sum(sum, &one, sizeof one);
    }
    if (list)
      json_array_set(node, i, value);
    else
      json_object_set(node, key, value);
    fprintf(told, "%s: %016" PRIx64 "\n", below, sum);
    change_values(root, value, below, name, of);
    json_decref(value);
    next = list ? NULL : json_object_iter_next(node, next);
  }
}

/* Each member of an object once taken away. */
static void take_values(const json_t *root, json_t *node, const char *path, const char *name,
                        judge *of) {
  const char *key;
  json_t *value;
  size_t index;
  if (json_is_array(node))
    json_array_foreach(node, index, value) take_values(root, value, path, name, of);
  json_t *all = json_copy(node);
  json_object_foreach(all, key, value) {
    char below[256];
    snprintf(below, sizeof below, "%s/%s", path, key);
    json_object_del(node, key);
    write_json(root, name);
    fprintf(told, "%s taken: %016" PRIx64 "\n", below, of(name));
    json_object_set(node, key, value);
    take_values(root, value, below, name, of);
  }
  json_decref(all);
}

static void tell_values(const char *what, json_t *root, const char *name, judge *of) {
  write_json(root, name);
  fprintf(told, "%s: %016" PRIx64 "\n", what, of(name));
  change_values(root, root, what, name, of);
  take_values(root, root, what, name, of);
}

/* ---- letters -------------------------------------------------------------------------------- */

static void tell_letters(const char *what, const char *all, const char *changed, const char *read,
                         judge *of) {
  uint64_t state = 5, sum = GOLDEN_SUM;
  for (int i = 1; i <= CHANGED; ++i) {
    char *other = letters_change(&state, all);
    write_file(changed, other);
    free(other);
    const uint64_t one = of(read);
    sum = golden_sum(sum, &one, sizeof one);
    if (i % OF_A_LINE)
      continue;
    fprintf(told, "%s, to change %d: %016" PRIx64 "\n", what, i, sum);
    sum = GOLDEN_SUM;
  }
}

/* The text with field number `field`, counted over all lines, another one; NULL: it has not as
 * many. */
static char *change_field(const char *all, int field, const char *other) {
  const char *at = all;
  for (; field > 0; --field) {
    at += strcspn(at, ",\n");
    at += *at != '\0';
  }
  return *at ? strdup(text("%.*s%s", (int)(at - all), all, other)) : NULL;
}

/* Each field of the first lines is another thing once. */
static void tell_fields(const char *what, const char *all, const char *changed, const char *read,
                        judge *of) {
  enum { FIELDS = 40 };
  static const char *const others[] = {"", "-1", "x", "1e9", "99999999999999999999", "\"a\"", "0"};
  for (int field = 0; field < FIELDS; ++field) {
    uint64_t sum = GOLDEN_SUM;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
      char *begin = change_field(all, field, others[i]);
      if (!begin)
        return;
      const char *rest = all + strlen(begin) - strlen(others[i]);
      FILE *file = fopen(golden_path(changed), "w");
      ck_assert_ptr_nonnull(file);
      fprintf(file, "%s%s", begin, rest + strcspn(rest, ",\n"));
      fclose(file);
      free(begin);
      const uint64_t one = of(read);
      sum = golden_sum(sum, &one, sizeof one);
    }
    fprintf(told, "%s, field %d: %016" PRIx64 "\n", what, field, sum);
  }
}

static uint64_t sum_of_trace(const char *name) {
  uint64_t sum = GOLDEN_SUM;
  for (int format = PREM_TRACE_CSV; format <= PREM_TRACE_CHROME; ++format) {
    const prem_trace_options options = {.format = (prem_trace_format)format,
                                        .run = format == PREM_TRACE_CSV ? 0 : -1,
                                        .late_ns = 1};
    prem_diag *diag = prem_diag_new();
    FILE *in = fopen(golden_path(name), "r"), *out = fopen(golden_path("t.out"), "w");
    ck_assert(in && out);
    const uint64_t status = (uint64_t)prem_trace_convert(in, "t.csv", &options, out, diag);
    fclose(in);
    fclose(out);
    const uint64_t all[] = {status, sum_of_problems(diag), golden_file_sum(golden_path("t.out"))};
    sum = golden_sum(sum, all, sizeof all);
    prem_diag_free(diag);
  }
  return sum;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void judge_told(void (*tell)(void), const char *name) {
  char *found = NULL;
  size_t bytes = 0;
  told = open_memstream(&found, &bytes);
  tell();
  fclose(told);
  golden_judge(name, found);
}

static void tell_results(void) {
  tell_values("result", result_root, "r.json", sum_of_document);
}

static void tell_sides(void) {
  write_json(result_root, "r.json");
  tell_letters("samples", samples, "r.samples.csv", "r.json", sum_of_document);
  tell_fields("samples", samples, "r.samples.csv", "r.json", sum_of_document);
  write_sides();
  tell_letters("phases", phases, "r.phases.csv", "r.json", sum_of_document);
  tell_fields("phases", phases, "r.phases.csv", "r.json", sum_of_document);
  tell_letters("trace", trace, "t.csv", "t.csv", sum_of_trace);
  tell_fields("trace", trace, "t.csv", "t.csv", sum_of_trace);
}

static void tell_findings(void) {
  tell_values("findings", findings_root, "f.json", sum_of_findings);
  tell_values("findings on a page", findings_root, "f.json", sum_of_document);
}

START_TEST(of_results) {
  judge_told(tell_results, "documents_results.txt");
}
END_TEST

START_TEST(of_sides) {
  judge_told(tell_sides, "documents_sides.txt");
}
END_TEST

START_TEST(of_findings) {
  judge_told(tell_findings, "documents_findings.txt");
}
END_TEST

static void add_case(Suite *suite, TCase *one, const TTest *test) {
  tcase_set_timeout(one, 240);
  tcase_add_checked_fixture(one, set_up, tear_down);
  tcase_add_test(one, test);
  suite_add_tcase(suite, one);
}

/* All that a machine is, a member each. */
static void tell_machine(void) {
  prem_machine machine = {.cores = 1, .max_blocks = 2, .scratch_bytes = 3, .clock_step_ns = 4};
  machine.clock_read_ns = 5;
  machine.clock_skew_ns = 6;
  machine.dispatch_ns = 7;
  machine.precedence_ns = 8;
  machine.bandwidth_bytes_per_s = 9;
  snprintf(machine.name, sizeof machine.name, "n");
  snprintf(machine.backend, sizeof machine.backend, "b");
  snprintf(machine.uuid, sizeof machine.uuid, "u");
  snprintf(machine.driver, sizeof machine.driver, "d");
  for (int seeded = 0; seeded < 2; ++seeded) {
    prem_findings *findings = prem_findings_new("f", "t", "q");
    if (seeded)
      prem_findings_seed(findings, 77);
    ck_assert_int_eq(
        prem_findings_write(findings, &machine, "a command", golden_path("m.json"), NULL), PREM_OK);
    char *all = golden_take(golden_path("m.json"));
    json_t *root = json_loads(all, 0, NULL), *provenance = json_object_get(root, "provenance");
    static const char *const others[] = {"ttprem", "commit", "date", "kernel", "compiler"};
    for (int i = 0; i < 5; ++i) {
      const json_t *other = json_object_get(provenance, others[i]);
      ck_assert_msg(json_is_string(other) && *json_string_value(other), "no %s", others[i]);
      json_object_del(provenance, others[i]);
    }
    char *line = json_dumps(provenance, JSON_COMPACT);
    fprintf(told, "%s\n", line);
    free(line);
    free(all);
    json_decref(root);
    prem_findings_free(findings);
  }
}

/* A page is not written over what it is made of, compressed or not. */
START_TEST(what_is_read_is_kept) {
  static const char *const names[] = {"r.json", "r.samples.csv", "r.samples.csv.gz", "r.phases.csv",
                                      "r.phases.csv.gz"};
  write_json(result_root, "r.json");
  write_file("r.samples.csv.gz", "");
  write_file("r.phases.csv.gz", "");
  prem_diag *diag = prem_diag_new();
  prem_report *report = prem_report_new();
  ck_assert_int_eq(prem_report_add(report, golden_path("r.json"), diag), PREM_OK);
  for (int i = 0; i < 5; ++i)
    ck_assert_int_eq(prem_report_write(report, golden_path(names[i]), diag), PREM_ERR_INVALID);
  ck_assert_int_eq(prem_report_write(report, golden_path("p.html"), diag), PREM_OK);
  prem_report_free(report);
  prem_diag_free(diag);
}
END_TEST

START_TEST(of_machines) {
  judge_told(tell_machine, "documents_machine.txt");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same documents");
  add_case(suite, tcase_create("results"), of_results);
  add_case(suite, tcase_create("sides"), of_sides);
  add_case(suite, tcase_create("findings"), of_findings);
  add_case(suite, tcase_create("machines"), of_machines);
  add_case(suite, tcase_create("kept"), what_is_read_is_kept);
  return run_suite(suite);
}
