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

static json_t *value_json(const prem_value *value) {
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

static json_t *columns_json(const prem_table *table) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < table->column_count; ++i) {
    json_t *column = json_object();
    whole &= put(column, "name", text(table->columns[i].name));
    whole &= put(column, "unit", text(table->columns[i].unit));
    whole &= json_array_append_new(list, column) == 0;
  }
  return finished(list, whole);
}

static json_t *row_json(const prem_table *table, int64_t row) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < table->column_count; ++i)
    whole &= json_array_append_new(list, value_json(prem_table_value(table, row, i))) == 0;
  return finished(list, whole);
}

static json_t *rows_json(const prem_table *table) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t row = 0; row < prem_table_rows(table); ++row)
    whole &= json_array_append_new(list, row_json(table, row)) == 0;
  return finished(list, whole);
}

static json_t *table_json(const prem_table *table) {
  json_t *object = json_object();
  bool whole = put(object, "name", text(table->name));
  whole &= put(object, "title", text(table->title));
  whole &= put(object, "source", text_or_null(table->source));
  whole &= put(object, "columns", columns_json(table));
  whole &= put(object, "rows", rows_json(table));
  return finished(object, whole);
}

static json_t *chart_json(const prem_chart *chart) {
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

static json_t *notes_json(const prem_findings *findings) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < findings->note_count; ++i)
    whole &= json_array_append_new(list, text(findings->notes[i])) == 0;
  return finished(list, whole);
}

static json_t *tables_json(const prem_findings *findings) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < findings->table_count; ++i)
    whole &= json_array_append_new(list, table_json(findings->tables[i])) == 0;
  return finished(list, whole);
}

static json_t *charts_json(const prem_findings *findings) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < findings->chart_count; ++i)
    whole &= json_array_append_new(list, chart_json(&findings->charts[i])) == 0;
  return finished(list, whole);
}

static json_t *findings_json(const prem_findings *findings, const prem_machine *machine,
                             const char *command) {
  json_t *object = json_object();
  bool whole = put(object, "schema", json_string("ttprem.findings/1"));
  whole &= put(object, "name", text(findings->name));
  whole &= put(object, "title", text(findings->title));
  whole &= put(object, "question", text(findings->question));
  whole &= put(object, "verdict", text_or_null(findings->verdict));
  whole &= put(object, "notes", notes_json(findings));
  whole &= put(object, "complete", json_boolean(!findings->incomplete));
  whole &= put(object, "output_ok",
               findings->output_checked ? json_boolean(!findings->output_wrong) : json_null());
  if (findings->promised)
    whole &= put(object, "kept", json_boolean(!findings->broken));
  whole &= put(object, "provenance",
               prem_provenance_json(machine, command, findings->began_unix_s,
                                    findings->seeded ? &findings->seed : NULL));
  whole &= put(object, "tables", tables_json(findings));
  whole &= put(object, "charts", charts_json(findings));
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
