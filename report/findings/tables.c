/* SPDX-License-Identifier: Apache-2.0 */
#include "report/findings/tables.h"

#include <stdio.h>
#include <string.h>

void prem_table_columns(prem_table *table, const char *columns) {
  for (const char *at = columns; *at;) {
    const size_t length = strcspn(at, ";");
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    char *unit = strstr(name, " [");
    if (unit) {
      unit[0] = '\0';
      unit[strcspn(unit + 1, "]") + 1] = '\0';
      unit += 2;
    }
    prem_table_column(table, name, unit ? unit : "");
    at += length;
    at += strspn(at, "; ");
  }
}

prem_table *prem_table_begin(prem_findings *findings, const char *name, const char *title,
                             const char *source, const char *columns) {
  prem_table *table = prem_findings_table(findings, name, title, source);
  prem_table_columns(table, columns);
  return table;
}

void prem_chart_add(prem_findings *findings, prem_chart_kind kind, const char *table,
                    const char *title, const char *x, const char *y, const char *series, int log) {
  prem_findings_chart(findings, &(prem_chart){.kind = kind,
                                              .title = title,
                                              .table = table,
                                              .x = x,
                                              .y = y,
                                              .series = series,
                                              .log_x = (log & PREM_LOG_X) != 0,
                                              .log_y = (log & PREM_LOG_Y) != 0});
}

void prem_table_add_cells(prem_table *table, const prem_cell *cells, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (cells[i].text)
      prem_table_add_text(table, cells[i].text);
    else if (cells[i].whole)
      prem_table_add_int(table, cells[i].integer);
    else
      prem_table_add_real(table, cells[i].real);
}
