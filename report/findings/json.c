/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as data: JSON with their provenance. */
#include <math.h>

#include "prem/base/fail.h"
#include "report/findings/parts.h"
#include "report/json_pieces.h"
#include "report/provenance.h"
#include "ttprem/output.h"

static json_t *text_or_null(const char *bytes) {
  return bytes ? text(bytes) : json_null();
}

static json_t *value_json(const void *values, int64_t number) {
  const prem_value *value = (const prem_value *)values + number;
  switch (value->kind) {
  case PREM_VALUE_INT:
    return integer(value->integer);
  case PREM_VALUE_REAL:
    return isfinite(value->real) ? json_real(value->real) : json_null();
  case PREM_VALUE_TEXT:
    break;
  }
  return text(value->text);
}

static json_t *column_json(const void *columns, int64_t number) {
  const prem_column *column = (const prem_column *)columns + number;
  json_t *object = json_object();
  bool whole = put(object, "name", text(column->name));
  return finished(object, whole & put(object, "unit", text(column->unit)));
}

static json_t *row_json(const void *table, int64_t row) {
  return list_of(((const prem_table *)table)->column_count, value_json,
                 prem_table_value(table, row, 0));
}

static json_t *table_json(const void *tables, int64_t number) {
  const prem_table *table = ((const prem_table *const *)tables)[number];
  json_t *object = json_object();
  bool whole = put(object, "name", text(table->name));
  whole &= put(object, "title", text(table->title));
  whole &= put(object, "source", text_or_null(table->source));
  whole &= put(object, "columns", list_of(table->column_count, column_json, table->columns));
  whole &= put(object, "rows", list_of(prem_table_rows(table), row_json, table));
  return finished(object, whole);
}

static json_t *chart_json(const void *charts, int64_t number) {
  const prem_chart *chart = (const prem_chart *)charts + number;
  json_t *object = json_object();
  bool whole = put(object, "kind", text(prem_chart_kind_names[chart->kind]));
  whole &= put(object, "title", text(chart->title));
  whole &= put(object, "table", text(chart->table));
  whole &= put(object, "x", text(chart->x));
  whole &= put(object, "y", text(chart->y));
  whole &= put(object, "low", text_or_null(chart->low));
  whole &= put(object, "high", text_or_null(chart->high));
  whole &= put(object, "series", text_or_null(chart->series));
  whole &= put(object, "log_x", json_boolean(chart->log_x));
  whole &= put(object, "log_y", json_boolean(chart->log_y));
  if (chart->beside)
    whole &= put(object, "beside", text(chart->beside));
  return finished(object, whole);
}

static json_t *note_json(const void *notes, int64_t number) {
  return text(((const char *const *)notes)[number]);
}

static json_t *findings_json(const prem_findings *findings, const prem_machine *machine,
                             const char *command) {
  json_t *object = json_object();
  bool whole = put(object, "schema", json_string("ttprem.findings/1"));
  whole &= put(object, "name", text(findings->name));
  whole &= put(object, "title", text(findings->title));
  whole &= put(object, "question", text(findings->question));
  whole &= put(object, "verdict", text_or_null(findings->verdict));
  whole &= put(object, "notes", list_of(findings->note_count, note_json, findings->notes));
  whole &= put(object, "complete", json_boolean(!findings->incomplete));
  whole &= put(object, "output_ok",
               findings->output_checked ? json_boolean(!findings->output_wrong) : json_null());
  if (findings->promised)
    whole &= put(object, "kept", json_boolean(!findings->broken));
  whole &= put(object, "provenance",
               prem_provenance_json(machine, command, findings->began_unix_s,
                                    findings->seeded ? &findings->seed : NULL));
  whole &= put(object, "tables", list_of(findings->table_count, table_json, findings->tables));
  whole &= put(object, "charts", list_of(findings->chart_count, chart_json, findings->charts));
  return finished(object, whole);
}

static prem_status write_json(json_t *root, const char *path, prem_diag *diag) {
  prem_output output = {0};
  char reason[160];
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    const bool whole = json_dumpf(root, output.file, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) == 0;
    fputc('\n', output.file);
    if (whole || ferror(output.file)) /* which is seen at the commit */
      status = prem_output_commit(&output, reason, sizeof reason);
    else
      status = PREM_ERR_MEMORY;
  }
  prem_output_abandon(&output);
  if (status != PREM_OK && status != PREM_ERR_MEMORY)
    return prem_fail(diag, status, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                     reason);
  return status;
}

prem_status prem_findings_write(const prem_findings *findings, const prem_machine *machine,
                                const char *command, const char *path, prem_diag *diag) {
  prem_status status = prem_findings_judge(findings, diag);
  if (status != PREM_OK)
    return status;
  json_t *root = findings_json(findings, machine, command);
  status = root ? write_json(root, path, diag) : PREM_ERR_MEMORY;
  json_decref(root);
  return status;
}
