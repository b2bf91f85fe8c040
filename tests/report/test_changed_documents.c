/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results, findings and traces of which a value is missing or another one, or a letter, are read or
 * refused, never half: what is refused is refused with a problem, and of what is read findings come
 * back as they were, pages carry JSON, and traces keep their lines.
 */
#include <jansson.h>

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/letters.h"
#include "tests/common/suite.h"
#include "ttprem/report.h"

enum { CHANGED = 120, PAGE_EVERY = 5 /* it takes longest */ };

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
  OWNED(prem_session) *session = NULL;
  prem_result *result = NULL;
  delayed_seed = 3;
  ck_assert_int_eq(prem_session_open(&delayed, schedule, &session, NULL), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &delayed, &options, &result, NULL), PREM_OK);
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
  FREED char *all = golden_take(golden_path(name));
  json_t *root = json_loads(all, 0, NULL);
  ck_assert_ptr_nonnull(root);
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
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
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
  OWNED(prem_findings) *findings = make_findings();
  const prem_machine machine = {0};
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", golden_path("f.json"), NULL),
                   PREM_OK);
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

/* ---- what is judged ------------------------------------------------------------------------- */

static int64_t taken, refused;

/* Is it taken? If not, a problem says why. */
static bool is_taken(prem_status status, const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    ck_assert_str_ne(prem_diag_at(diag, i)->reason, "");
  ck_assert(status == PREM_OK || prem_diag_errors(diag) > 0);
  *(status == PREM_OK ? &taken : &refused) += 1;
  return status == PREM_OK;
}

/* What the page carries of it is JSON. */
static void judge_page(const prem_report *report) {
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_report_write(report, golden_path("p.html"), diag) == PREM_OK) {
    char *page = golden_take(golden_path("p.html")), *from = strstr(page, "id=\"documents\">");
    ck_assert_ptr_nonnull(from);
    from = strchr(from, '>') + 1;
    json_t *root = json_loadb(from, (size_t)(strstr(from, "</script>") - from), 0, NULL);
    ck_assert_ptr_nonnull(root);
    json_decref(root);
    free(page);
  }
}

static void judge_document(const char *name) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_report) *report = prem_report_new();
  static int documents;
  is_taken(prem_report_add(report, golden_path(name), diag), diag);
  if (++documents % PAGE_EVERY == 0)
    judge_page(report);
}

static char *printed(const prem_findings *findings) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return all;
}

static void judge_findings(const char *name) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_findings) *findings = NULL, *again = NULL;
  if (is_taken(prem_findings_read(golden_path(name), &findings, diag), diag) &&
      prem_findings_write(findings, &(prem_machine){0}, "", golden_path("a.json"), diag) ==
          PREM_OK) {
    ck_assert_int_eq(prem_findings_read(golden_path("a.json"), &again, diag), PREM_OK);
    FREED char *before = printed(findings), *now = printed(again);
    ck_assert_str_eq(before, now);
  }
}

typedef void judge(const char *name);

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
    for (int number = 0; number < TRIED; ++number) {
      json_t *other = other_value((int)(strlen(below) + (size_t)number * 3) % OTHERS);
      if (list)
        json_array_set_new(node, i, other);
      else
        json_object_set_new(node, key, other);
      write_json(root, name);
      of(name);
    }
    if (list)
      json_array_set(node, i, value);
    else
      json_object_set(node, key, value);
    change_values(root, value, below, name, of);
    json_decref(value);
    next = list ? NULL : json_object_iter_next(node, next);
  }
}

/* Each member of an object once taken away. */
static void take_values(const json_t *root, json_t *node, const char *name, judge *of) {
  const char *key;
  json_t *value;
  size_t index;
  if (json_is_array(node))
    json_array_foreach(node, index, value) take_values(root, value, name, of);
  json_t *all = json_copy(node);
  json_object_foreach(all, key, value) {
    json_object_del(node, key);
    write_json(root, name);
    of(name);
    json_object_set(node, key, value);
    take_values(root, value, name, of);
  }
  json_decref(all);
}

static void try_values(json_t *root, const char *name, judge *of) {
  write_json(root, name);
  of(name);
  change_values(root, root, "", name, of);
  take_values(root, root, name, of);
}

/* ---- letters -------------------------------------------------------------------------------- */

static void try_letters(const char *all, const char *changed, const char *read, judge *of) {
  uint64_t state = 5;
  for (int i = 1; i <= CHANGED; ++i) {
    FREED char *other = letters_change(&state, all);
    write_file(changed, other);
    of(read);
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
static void try_fields(const char *all, const char *changed, const char *read, judge *of) {
  enum { FIELDS = 40 };
  static const char *const others[] = {"", "-1", "x", "1e9", "99999999999999999999", "\"a\"", "0"};
  for (int field = 0; field < FIELDS; ++field)
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
      FREED char *begin = change_field(all, field, others[i]);
      if (!begin)
        return;
      const char *rest = all + strlen(begin) - strlen(others[i]);
      FILE *file = fopen(golden_path(changed), "w");
      ck_assert_ptr_nonnull(file);
      fprintf(file, "%s%s", begin, rest + strcspn(rest, ",\n"));
      fclose(file);
      of(read);
    }
}

static int lines_of(const char *name) {
  FREED char *all = golden_take(golden_path(name));
  int lines = 0;
  for (const char *at = all; *at; ++at)
    lines += *at == '\n';
  return lines;
}

/* What comes out as CSV goes through again, and keeps its lines. */
static void judge_trace(const char *name) {
  int lines[2] = {0};
  for (int form = 0; form < 3; ++form) {
    const prem_trace_options options = {
        .format = form < 2 ? PREM_TRACE_CSV : PREM_TRACE_PERFETTO, .run = -1, .late_ns = 1};
    OWNED(prem_diag) *diag = prem_diag_new();
    FILE *in = fopen(golden_path(form == 1 ? "t.out" : name), "r");
    FILE *out = fopen(golden_path(form == 1 ? "t.again" : "t.out"), "w");
    ck_assert(in && out);
    const bool good = is_taken(prem_trace_convert(in, "t.csv", &options, out, diag), diag);
    fclose(in);
    fclose(out);
    ck_assert(good || form != 1);
    if (!good)
      return;
    if (form == 1) {
      lines[0] = lines_of("t.out");
      lines[1] = lines_of("t.again");
      ck_assert_int_eq(lines[0], lines[1]);
    }
  }
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void assert_both(void) {
  ck_assert_int_gt(taken, 20);
  ck_assert_int_gt(refused, 20);
}

GROUP("results", .set_up = set_up, .tear_down = tear_down);

TEST(of_results) {
  try_values(result_root, "r.json", judge_document);
  assert_both();
}

GROUP("sides", .set_up = set_up, .tear_down = tear_down);

/* What is wrong there is left out. */
TEST(of_sides) {
  write_json(result_root, "r.json");
  try_letters(samples, "r.samples.csv", "r.json", judge_document);
  try_fields(samples, "r.samples.csv", "r.json", judge_document);
  write_sides();
  try_letters(phases, "r.phases.csv", "r.json", judge_document);
  try_fields(phases, "r.phases.csv", "r.json", judge_document);
}

GROUP("traces", .set_up = set_up, .tear_down = tear_down);

TEST(of_traces) {
  try_letters(trace, "t.csv", "t.csv", judge_trace);
  try_fields(trace, "t.csv", "t.csv", judge_trace);
  assert_both();
}

GROUP("findings", .set_up = set_up, .tear_down = tear_down);

TEST(of_findings) {
  try_values(findings_root, "f.json", judge_findings);
  try_values(findings_root, "f.json", judge_document);
  assert_both();
}

GROUP("machines", .set_up = set_up, .tear_down = tear_down);

/* All that a machine is, a member each. */
TEST(of_machines) {
  char *found = NULL;
  size_t found_bytes = 0;
  FILE *told = open_memstream(&found, &found_bytes);
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
    OWNED(prem_findings) *findings = prem_findings_new("f", "t", "q");
    if (seeded)
      prem_findings_seed(findings, 77);
    ck_assert_int_eq(
        prem_findings_write(findings, &machine, "a command", golden_path("m.json"), NULL), PREM_OK);
    FREED char *all = golden_take(golden_path("m.json"));
    json_t *root = json_loads(all, 0, NULL), *provenance = json_object_get(root, "provenance");
    static const char *const others[] = {"ttprem", "commit", "date", "kernel", "compiler"};
    for (int i = 0; i < 5; ++i) {
      const json_t *other = json_object_get(provenance, others[i]);
      ck_assert_msg(json_is_string(other) && *json_string_value(other), "no %s", others[i]);
      json_object_del(provenance, others[i]);
    }
    FREED char *line = json_dumps(provenance, JSON_COMPACT);
    fprintf(told, "%s\n", line);
    json_decref(root);
  }
  fclose(told);
  golden_judge("documents_machine.txt", found);
}

GROUP("kept", .set_up = set_up, .tear_down = tear_down);

/* A page is not written over what it is made of, compressed or not. */
TEST(what_is_read_is_kept) {
  static const char *const names[] = {"r.json", "r.samples.csv", "r.samples.csv.gz", "r.phases.csv",
                                      "r.phases.csv.gz"};
  write_json(result_root, "r.json");
  write_file("r.samples.csv.gz", "");
  write_file("r.phases.csv.gz", "");
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_report) *report = prem_report_new();
  ck_assert_int_eq(prem_report_add(report, golden_path("r.json"), diag), PREM_OK);
  for (int i = 0; i < 5; ++i)
    ck_assert_int_eq(prem_report_write(report, golden_path(names[i]), diag), PREM_ERR_INVALID);
  ck_assert_int_eq(prem_report_write(report, golden_path("p.html"), diag), PREM_OK);
}
