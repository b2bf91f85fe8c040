/* SPDX-License-Identifier: Apache-2.0 */
/* Findings from the JSON that prem_findings_write() wrote, to be shown and drawn again. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "prem/base/fail.h"
#include "report/findings/parts.h"
#include "report/json_pieces.h"
#include "ttprem/text.h"

static const char schema[] = "ttprem.findings/1";

static prem_status PREM_PRINTF(4, 5)
    refuse(prem_diag *diag, const char *path, const char *key, const char *format, ...) {
  char reason[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  return prem_fail(diag, PREM_ERR_PARSE, 0, (prem_place){.file = path}, key, "%s", reason);
}

static bool add_cell(prem_table *table, const json_t *cell) {
  if (json_is_string(cell))
    prem_table_add_text(table, json_string_value(cell));
  else if (json_is_integer(cell))
    prem_table_add_int(table, json_integer_value(cell));
  else if (json_is_real(cell))
    prem_table_add_real(table, json_real_value(cell));
  else if (json_is_null(cell))
    prem_table_add_real(table, (double)NAN);
  else
    return false;
  return true;
}

static bool add_columns(prem_table *table, const json_t *columns) {
  for (size_t i = 0; i < json_array_size(columns); ++i) {
    const json_t *column = json_array_get(columns, i);
    const char *name = text_of(column, "name"), *unit = text_of(column, "unit");
    if (!name || !unit)
      return false;
    prem_table_column(table, name, unit);
  }
  return json_array_size(columns) > 0;
}

static bool add_rows(prem_table *table, const json_t *rows, size_t columns) {
  for (size_t r = 0; r < json_array_size(rows); ++r) {
    const json_t *row = json_array_get(rows, r);
    if (json_array_size(row) != columns)
      return false;
    for (size_t c = 0; c < columns; ++c)
      if (!add_cell(table, json_array_get(row, c)))
        return false;
  }
  return json_is_array(rows);
}

static bool add_table(prem_findings *findings, const json_t *from) {
  const char *name = text_of(from, "name"), *title = text_of(from, "title");
  if (!name || !title)
    return false;
  prem_table *table = prem_findings_table(findings, name, title, text_of(from, "source"));
  const json_t *columns = json_object_get(from, "columns");
  return add_columns(table, columns) &&
         add_rows(table, json_object_get(from, "rows"), json_array_size(columns));
}

static bool parse_kind(const char *name, prem_chart_kind *out) {
  for (int kind = 0; name && kind < PREM_CHART_KIND_COUNT; ++kind)
    if (strcmp(name, prem_chart_kind_names[kind]) == 0) {
      *out = (prem_chart_kind)kind;
      return true;
    }
  return false;
}

static bool add_chart(prem_findings *findings, const json_t *from) {
  prem_chart chart = {.title = text_of(from, "title"),
                      .table = text_of(from, "table"),
                      .x = text_of(from, "x"),
                      .y = text_of(from, "y"),
                      .low = text_of(from, "low"),
                      .high = text_of(from, "high"),
                      .series = text_of(from, "series"),
                      .log_x = json_is_true(json_object_get(from, "log_x")),
                      .log_y = json_is_true(json_object_get(from, "log_y")),
                      .beside = text_of(from, "beside")};
  if (!parse_kind(text_of(from, "kind"), &chart.kind) || !chart.title || !chart.table || !chart.x ||
      !chart.y)
    return false;
  prem_findings_chart(findings, &chart);
  return true;
}

/* ---- texts from elsewhere ------------------------------------------------------------------- */

/** A member of a document that is being judged, and how to name it. */
typedef struct document_place {
  const char *path;
  const char *key; /* as "tables[0].rows[2][0]" */
  prem_diag *diag;
} document_place;

static prem_status judge_texts(const document_place *place, const json_t *value);

static prem_status judge_text(const document_place *place, const char *bytes) {
  char fault[16];
  const size_t plain = prem_text_plain(bytes, fault);
  if (!bytes[plain])
    return PREM_OK;
  return refuse(place->diag, place->path, place->key,
                "has %s at offset %zu, which no text of findings has: this file was not written by "
                "ttprem; measure again",
                fault, plain);
}

static prem_status judge_member(const document_place *place, const char *name,
                                const json_t *value) {
  char key[120];
  snprintf(key, sizeof key, "%s%s%s", place->key, *place->key && *name != '[' ? "." : "", name);
  const document_place member = {place->path, key, place->diag};
  const prem_status status = judge_text(&member, name);
  return status == PREM_OK ? judge_texts(&member, value) : status;
}

/** They go to terminals, scripts and pictures. The provenance goes nowhere from here. */
static prem_status judge_texts(const document_place *place, const json_t *value) {
  prem_status status = PREM_OK;
  if (json_is_string(value))
    return judge_text(place, json_string_value(value));
  for (size_t i = 0; i < json_array_size(value) && status == PREM_OK; ++i) {
    char name[32];
    snprintf(name, sizeof name, "[%zu]", i);
    status = judge_member(place, name, json_array_get(value, i));
  }
  const char *name;
  json_t *member;
  json_object_foreach((json_t *)(uintptr_t)value, name, member) {
    if (status == PREM_OK && strcmp(name, "provenance") != 0)
      status = judge_member(place, name, member);
  }
  return status;
}

static prem_status fill(prem_findings *findings, const json_t *root, const char *path,
                        prem_diag *diag) {
  const json_t *notes = json_object_get(root, "notes"), *tables = json_object_get(root, "tables"),
               *charts = json_object_get(root, "charts"), *ok = json_object_get(root, "output_ok"),
               *kept = json_object_get(root, "kept");
  if (text_of(root, "verdict"))
    prem_findings_verdict(findings, "%s", text_of(root, "verdict"));
  for (size_t i = 0; i < json_array_size(notes); ++i)
    if (json_is_string(json_array_get(notes, i)))
      prem_findings_note(findings, "%s", json_string_value(json_array_get(notes, i)));
  if (json_is_false(json_object_get(root, "complete")))
    prem_findings_incomplete(findings);
  if (json_is_boolean(ok))
    prem_findings_output(findings, json_is_true(ok));
  if (json_is_boolean(kept))
    prem_findings_promise(findings, json_is_true(kept));
  for (size_t i = 0; i < json_array_size(tables); ++i)
    if (!add_table(findings, json_array_get(tables, i)))
      return refuse(diag, path, "tables", "table number %zu is broken: measure again", i + 1);
  for (size_t i = 0; i < json_array_size(charts); ++i)
    if (!add_chart(findings, json_array_get(charts, i)))
      return refuse(diag, path, "charts", "chart number %zu is broken: measure again", i + 1);
  return prem_findings_judge(findings, diag);
}

static prem_status build(const json_t *root, const char *path, prem_findings **out,
                         prem_diag *diag) {
  const char *given = text_of(root, "schema");
  if (!given || strcmp(given, schema) != 0)
    return refuse(diag, path, "schema", "is '%.60s'; this version shows %s", given ? given : "",
                  schema);
  const char *name = text_of(root, "name"), *title = text_of(root, "title"),
             *question = text_of(root, "question");
  if (!name || !title || !question)
    return refuse(diag, path, "name", "name, title or question is missing: measure again");
  prem_findings *findings = prem_findings_new(name, title, question);
  if (!findings)
    return PREM_ERR_MEMORY;
  const prem_status status = fill(findings, root, path, diag);
  if (status == PREM_OK)
    *out = findings;
  else
    prem_findings_free(findings);
  return status;
}

static prem_status load(const char *path, json_t **out, prem_diag *diag) {
  json_error_t error = {0};
  FILE *file = fopen(path, "rb");
  int unread = file ? 0 : errno;
  if (file) {
    *out = json_loadf(file, 0, &error);
    unread = ferror(file) ? errno : 0; /* as a folder is */
    fclose(file);
  }
  if (*out)
    return PREM_OK;
  if (!unread && !error.text[0]) /* whatever else is wrong is told */
    return PREM_ERR_MEMORY;
  const bool cut = json_error_code(&error) == json_error_premature_end_of_input;
  prem_diag_add(diag, PREM_ERROR, 0,
                (prem_place){.file = path, .line = unread || error.line < 0 ? 0 : error.line}, "",
                "%s: %s",
                unread ? "cannot be read"
                : cut  ? "is cut short"
                       : "is no JSON",
                unread ? strerror(unread) : error.text);
  return unread ? PREM_ERR_IO : PREM_ERR_PARSE;
}

prem_status prem_findings_read(const char *path, prem_findings **out, prem_diag *diag) {
  *out = NULL;
  json_t *root = NULL;
  prem_status status = load(path, &root, diag);
  if (status == PREM_OK)
    status = judge_texts(&(document_place){path, "", diag}, root);
  if (status == PREM_OK)
    status = build(root, path, out, diag);
  json_decref(root);
  return status;
}
