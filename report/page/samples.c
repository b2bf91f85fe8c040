/* SPDX-License-Identifier: Apache-2.0 */
/* Results and findings are judged member by member, so that a message can name what is wrong. */
#include "report/page/samples.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  TEXT = 1,
  NUMBER = 2,
  BOOLEAN = 4,
  OBJECT = 8,
  LIST = 16,
  NOTHING = 32, /* null, or not there */
  WHERE_BYTES = 200
};

typedef struct member {
  const char *key;
  unsigned kinds;
} member;

/** A place in the document, as "rows[1].tasks[0]"; where the first thing wrong is told. */
typedef struct inspection {
  const char *path;
  prem_diag *diag;
  bool broken;
} inspection;

static void PREM_PRINTF(2, 3) refuse(inspection *judge, const char *format, ...) {
  char reason[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  if (!judge->broken)
    prem_diag_add(judge->diag, PREM_ERROR, 0, (prem_place){.file = judge->path}, "", "%s", reason);
  judge->broken = true;
}

static unsigned kind_of(const json_t *value) {
  if (!value || json_is_null(value))
    return NOTHING;
  if (json_is_string(value))
    return TEXT;
  if (json_is_number(value))
    return NUMBER;
  if (json_is_boolean(value))
    return BOOLEAN;
  return json_is_object(value) ? OBJECT : LIST;
}

static const char *kind_name(unsigned kinds) {
  static const struct {
    unsigned kind;
    const char *name;
  } names[] = {{TEXT, "a text"},      {NUMBER, "a number"}, {BOOLEAN, "true or false"},
               {OBJECT, "an object"}, {LIST, "a list"},     {NOTHING, "missing"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (kinds & names[i].kind)
      return names[i].name;
  return "nothing";
}

static void check_members(inspection *judge, const json_t *object, const char *where,
                          const member *members, size_t count) {
  if (!json_is_object(object)) {
    refuse(judge, "%s is no object", where);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    unsigned kind = kind_of(json_object_get(object, members[i].key));
    if (!(kind & members[i].kinds))
      refuse(judge, "%s%s%s is %s, should be %s", where, *where ? "." : "", members[i].key,
             kind_name(kind), kind_name(members[i].kinds));
  }
}

#define CHECK(judge, object, where, members)                                                       \
  check_members(judge, object, where, members, sizeof(members) / sizeof((members)[0]))

/* ---- results -------------------------------------------------------------------------------- */

static void check_provenance(inspection *judge, const json_t *root) {
  static const member members[] = {{"ttprem", TEXT},
                                   {"commit", TEXT},
                                   {"command", TEXT | NOTHING},
                                   {"date", TEXT | NOTHING},
                                   {"machine", OBJECT},
                                   {"kernel", TEXT | NOTHING},
                                   {"compiler", TEXT | NOTHING}};
  static const member machine[] = {{"name", TEXT},
                                   {"backend", TEXT},
                                   {"clock_step_ns", NUMBER},
                                   {"uuid", TEXT | NOTHING},
                                   {"driver", TEXT | NOTHING}};
  const json_t *provenance = json_object_get(root, "provenance");
  CHECK(judge, provenance, "provenance", members);
  CHECK(judge, json_object_get(provenance, "machine"), "provenance.machine", machine);
}

static void check_summary(inspection *judge, const json_t *owner, const char *where,
                          const char *key) {
  static const member members[] = {{"count", NUMBER},          {"min", NUMBER | NOTHING},
                                   {"mean", NUMBER | NOTHING}, {"p50", NUMBER | NOTHING},
                                   {"p99", NUMBER | NOTHING},  {"p999", NUMBER | NOTHING},
                                   {"max", NUMBER | NOTHING}};
  char inner[WHERE_BYTES];
  snprintf(inner, sizeof inner, "%.100s.%s", where, key);
  CHECK(judge, json_object_get(owner, key), inner, members);
}

/** Of a row or a task; results older than padding have none. */
static void check_padding(inspection *judge, const json_t *owner, const char *where) {
  static const member members[] = {
      {"published_ns", NUMBER}, {"trained", NUMBER}, {"judged", NUMBER}, {"missed", NUMBER}};
  static const member at[] = {{"published_ns", NUMBER}, {"missed", NUMBER}};
  static const char *const percentiles[] = {"p9999", "p99999"};
  const json_t *padded = json_object_get(owner, "padded");
  char inner[WHERE_BYTES];
  snprintf(inner, sizeof inner, "%.100s.padded", where);
  if (kind_of(padded) != NOTHING)
    CHECK(judge, padded, inner, members);
  for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; ++i) {
    snprintf(inner, sizeof inner, "%.100s.padded.%s", where, percentiles[i]);
    if (kind_of(json_object_get(padded, percentiles[i])) != NOTHING)
      CHECK(judge, json_object_get(padded, percentiles[i]), inner, at);
  }
}

/** Older results have none. */
static void check_causes(inspection *judge, const json_t *task, const char *where) {
  const char *name, *cause;
  json_t *phase, *number;
  const json_t *causes = json_object_get(task, "late_causes");
  if (kind_of(causes) != NOTHING && !json_is_object(causes))
    refuse(judge, "%.100s.late_causes is no object", where);
  json_object_foreach((json_t *)causes, name, phase) {
    json_object_foreach(phase, cause, number) if (!json_is_number(number))
        refuse(judge, "%.100s.late_causes.%.20s.%.20s is no number", where, name, cause);
  }
}

/** Of a row; older results have none. */
static void check_first_causes(inspection *judge, const json_t *row, const char *where) {
  static const member members[] = {{"kind", TEXT},
                                   {"task", TEXT},
                                   {"phase", TEXT},
                                   {"from", TEXT | NOTHING},
                                   {"late_releases", NUMBER},
                                   {"lateness_max_ns", NUMBER},
                                   {"widen_ns", NUMBER},
                                   {"run", NUMBER},
                                   {"block", NUMBER},
                                   {"job", NUMBER},
                                   {"tile", NUMBER},
                                   {"at_ns", NUMBER}};
  const json_t *causes = json_object_get(row, "first_causes"), *cause;
  size_t i;
  if (kind_of(causes) != NOTHING && !json_is_array(causes))
    refuse(judge, "%.100s.first_causes is no list", where);
  json_array_foreach(causes, i, cause) {
    char inner[WHERE_BYTES];
    snprintf(inner, sizeof inner, "%.100s.first_causes[%zu]", where, i);
    CHECK(judge, cause, inner, members);
  }
}

static void check_task(inspection *judge, const json_t *task, const char *where) {
  static const member members[] = {{"name", TEXT},
                                   {"response_ns", OBJECT},
                                   {"published_ns", NUMBER | NOTHING},
                                   {"phases", OBJECT}};
  static const member phase[] = {{"wcet_ns", NUMBER | NOTHING},
                                 {"woet_ns", NUMBER | NOTHING},
                                 {"alone_ns", NUMBER | NOTHING},
                                 {"lateness_max_ns", NUMBER | NOTHING},
                                 {"count", NUMBER},
                                 {"overruns", NUMBER},
                                 {"late_releases", NUMBER}};
  CHECK(judge, task, where, members);
  check_summary(judge, task, where, "response_ns");
  check_padding(judge, task, where);
  check_causes(judge, task, where);
  const char *name;
  json_t *value;
  json_object_foreach(json_object_get(task, "phases"), name, value) {
    char inner[WHERE_BYTES];
    snprintf(inner, sizeof inner, "%.100s.phases.%.20s", where, name);
    CHECK(judge, value, inner, phase);
  }
}

static void check_histogram(inspection *judge, const json_t *row, const char *where) {
  size_t index;
  const json_t *pair;
  json_array_foreach(json_object_get(row, "lateness_hist"), index, pair) {
    const json_t *bound = json_array_get(pair, 0);
    if (!(kind_of(bound) & (NUMBER | NOTHING)) || !json_is_number(json_array_get(pair, 1)))
      refuse(judge, "%s.lateness_hist[%zu] is no pair of numbers", where, index);
  }
}

static void check_row(inspection *judge, const json_t *row, const char *where) {
  static const member members[] = {{"label", TEXT},
                                   {"mode", TEXT},
                                   {"setup", TEXT | NOTHING},
                                   {"backend", TEXT},
                                   {"scenario", TEXT},
                                   {"exclusivity", TEXT},
                                   {"repeats", NUMBER},
                                   {"discarded", NUMBER},
                                   {"makespan_ns", OBJECT},
                                   {"jitter_ns", NUMBER | NOTHING},
                                   {"jitter_pct", NUMBER | NOTHING},
                                   {"max_minus_mean_ns", NUMBER | NOTHING},
                                   {"releases", NUMBER},
                                   {"late_releases", NUMBER},
                                   {"lateness_max_ns", NUMBER | NOTHING},
                                   {"lateness_hist", LIST},
                                   {"overruns", NUMBER},
                                   {"violations_certain", NUMBER | NOTHING},
                                   {"violations_possible", NUMBER | NOTHING},
                                   {"trace_lost", NUMBER},
                                   {"hyperperiods", NUMBER | NOTHING},
                                   {"verified_hyperperiods", NUMBER | NOTHING},
                                   {"output_ok", BOOLEAN | NOTHING},
                                   {"oversubscribed", BOOLEAN},
                                   {"tasks", LIST},
                                   {"samples", TEXT | NOTHING}};
  CHECK(judge, row, where, members);
  check_summary(judge, row, where, "makespan_ns");
  check_padding(judge, row, where);
  check_first_causes(judge, row, where);
  check_histogram(judge, row, where);
  size_t index;
  const json_t *task;
  json_array_foreach(json_object_get(row, "tasks"), index, task) {
    char inner[WHERE_BYTES];
    snprintf(inner, sizeof inner, "%.100s.tasks[%zu]", where, index);
    check_task(judge, task, inner);
  }
}

static void check_result(inspection *judge, const json_t *root) {
  static const member members[] = {{"schedule", OBJECT},
                                   {"late_ns", NUMBER},
                                   {"interrupted", BOOLEAN},
                                   {"rows", LIST},
                                   {"left_out", LIST | NOTHING},
                                   {"phases", OBJECT | NOTHING},
                                   {"legacy_trials", LIST | NOTHING}};
  static const member left_out[] = {{"mode", TEXT}, {"reason", TEXT}};
  static const member schedule[] = {{"name", TEXT}, {"sha256", TEXT}, {"hyperperiod_ns", NUMBER}};
  static const member phases[] = {
      {"file", TEXT}, {"blocks", NUMBER}, {"all_blocks", NUMBER}, {"most_of_a_row", NUMBER}};
  CHECK(judge, root, "", members);
  check_provenance(judge, root);
  CHECK(judge, json_object_get(root, "schedule"), "schedule", schedule);
  const json_t *shown = json_object_get(root, "phases");
  if (json_is_object(shown))
    CHECK(judge, shown, "phases", phases);
  size_t index;
  const json_t *row, *missing;
  json_array_foreach(json_object_get(root, "left_out"), index, missing)
      CHECK(judge, missing, "left_out", left_out);
  json_array_foreach(json_object_get(root, "rows"), index, row) {
    char where[WHERE_BYTES];
    snprintf(where, sizeof where, "rows[%zu]", index);
    check_row(judge, row, where);
  }
}

/* ---- findings ------------------------------------------------------------------------------- */

static const json_t *find_named(const json_t *list, const char *name) {
  size_t index;
  const json_t *entry;
  json_array_foreach(list, index, entry) {
    const char *found = json_string_value(json_object_get(entry, "name"));
    if (found && name && strcmp(found, name) == 0)
      return entry;
  }
  return NULL;
}

static void check_cells(inspection *judge, const json_t *table, const char *where) {
  size_t columns = json_array_size(json_object_get(table, "columns")), index;
  const json_t *row;
  json_array_foreach(json_object_get(table, "rows"), index, row) {
    if (json_array_size(row) != columns)
      refuse(judge, "%s.rows[%zu] has %zu cells, the table %zu columns", where, index,
             json_array_size(row), columns);
    size_t at;
    const json_t *cell;
    json_array_foreach(row, at, cell) {
      if (!(kind_of(cell) & (TEXT | NUMBER | NOTHING)))
        refuse(judge, "%s.rows[%zu][%zu] is neither number nor text", where, index, at);
    }
  }
}

static void check_table(inspection *judge, const json_t *table, const char *where) {
  static const member members[] = {{"name", TEXT},
                                   {"title", TEXT},
                                   {"source", TEXT | NOTHING},
                                   {"columns", LIST},
                                   {"rows", LIST}};
  static const member column[] = {{"name", TEXT}, {"unit", TEXT}};
  CHECK(judge, table, where, members);
  size_t index;
  const json_t *entry;
  json_array_foreach(json_object_get(table, "columns"), index, entry) {
    char inner[WHERE_BYTES];
    snprintf(inner, sizeof inner, "%.100s.columns[%zu]", where, index);
    CHECK(judge, entry, inner, column);
  }
  check_cells(judge, table, where);
}

static void check_chart(inspection *judge, const json_t *root, const json_t *chart,
                        const char *where) {
  static const member members[] = {{"kind", TEXT},
                                   {"title", TEXT},
                                   {"table", TEXT},
                                   {"x", TEXT},
                                   {"y", TEXT},
                                   {"low", TEXT | NOTHING},
                                   {"high", TEXT | NOTHING},
                                   {"series", TEXT | NOTHING},
                                   {"log_x", BOOLEAN},
                                   {"log_y", BOOLEAN}};
  static const char *const kinds[] = {"lines", "points", "steps", "bars", "heat_map"};
  static const char *const columns[] = {"x", "y", "low", "high", "series"};
  CHECK(judge, chart, where, members);
  const char *kind = json_string_value(json_object_get(chart, "kind"));
  bool known = false;
  for (size_t i = 0; kind && i < sizeof kinds / sizeof kinds[0]; ++i)
    known |= strcmp(kind, kinds[i]) == 0;
  if (!known)
    refuse(judge, "%s.kind: '%.40s' is no kind of chart", where, kind ? kind : "");
  const char *name = json_string_value(json_object_get(chart, "table"));
  const json_t *table = find_named(json_object_get(root, "tables"), name);
  if (!table)
    refuse(judge, "%s.table: there is no table '%.40s'", where, name ? name : "");
  for (size_t i = 0; table && i < sizeof columns / sizeof columns[0]; ++i) {
    const char *column = json_string_value(json_object_get(chart, columns[i]));
    if (column && !find_named(json_object_get(table, "columns"), column))
      refuse(judge, "%s.%s: its table has no column '%.40s'", where, columns[i], column);
  }
}

static void check_findings(inspection *judge, const json_t *root) {
  static const member members[] = {{"name", TEXT},
                                   {"title", TEXT},
                                   {"question", TEXT | NOTHING},
                                   {"verdict", TEXT | NOTHING},
                                   {"notes", LIST},
                                   {"complete", BOOLEAN},
                                   {"kept", BOOLEAN | NOTHING},
                                   {"output_ok", BOOLEAN | NOTHING},
                                   {"provenance", OBJECT},
                                   {"tables", LIST},
                                   {"charts", LIST}};
  CHECK(judge, root, "", members);
  check_provenance(judge, root);
  char where[WHERE_BYTES];
  size_t index;
  const json_t *entry;
  json_array_foreach(json_object_get(root, "notes"), index, entry) {
    if (!json_is_string(entry))
      refuse(judge, "notes[%zu] is no text", index);
  }
  json_array_foreach(json_object_get(root, "tables"), index, entry) {
    snprintf(where, sizeof where, "tables[%zu]", index);
    check_table(judge, entry, where);
  }
  json_array_foreach(json_object_get(root, "charts"), index, entry) {
    snprintf(where, sizeof where, "charts[%zu]", index);
    check_chart(judge, root, entry, where);
  }
}

/* ---- either --------------------------------------------------------------------------------- */

/** "ttprem.result/1" and its like; anything else is told apart: no schema, not ours, a version. */
static prem_document document_of(inspection *judge, const json_t *root) {
  const char *schema = json_string_value(json_object_get(root, "schema"));
  if (!schema)
    refuse(judge, "has no schema: neither a result nor findings of ttprem");
  else if (strcmp(schema, "ttprem.result/1") == 0)
    return PREM_DOCUMENT_RESULT;
  else if (strcmp(schema, "ttprem.findings/1") == 0)
    return PREM_DOCUMENT_FINDINGS;
  else if (strncmp(schema, "ttprem.result/", 14) == 0 ||
           strncmp(schema, "ttprem.findings/", 16) == 0)
    refuse(judge,
           "is of version '%.40s'; this ttprem %s reads version 1: use the ttprem that wrote it, "
           "or measure again",
           schema, prem_version());
  else
    refuse(judge, "is of schema '%.40s'; a report takes ttprem.result/1 and ttprem.findings/1",
           schema);
  return PREM_DOCUMENT_BROKEN;
}

prem_document prem_report_check(const json_t *root, const char *path, prem_diag *diag) {
  inspection judge = {.path = path, .diag = diag};
  prem_document document = document_of(&judge, root);
  if (document == PREM_DOCUMENT_RESULT)
    check_result(&judge, root);
  else if (document == PREM_DOCUMENT_FINDINGS)
    check_findings(&judge, root);
  return judge.broken ? PREM_DOCUMENT_BROKEN : document;
}
