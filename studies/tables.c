/* SPDX-License-Identifier: Apache-2.0 */
#include "studies/tables.h"

#include <stdio.h>
#include <string.h>

prem_table *prem_study_table(prem_findings *findings, const char *name, const char *title,
                             const char *columns) {
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  for (const char *at = columns; *at; at += strspn(at, "; ")) {
    const size_t length = strcspn(at, ";"), named = strcspn(at, " ;");
    char column[64], unit[16] = "";
    snprintf(column, sizeof column, "%.*s", (int)named, at);
    if (named < length) /* " [unit]" */
      snprintf(unit, sizeof unit, "%.*s", (int)(length - named - 3), at + named + 2);
    prem_table_column(table, column, unit);
    at += length;
  }
  return table;
}

void prem_study_cells(prem_table *table, const prem_study_cell *cells, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (cells[i].text)
      prem_table_add_text(table, cells[i].text);
    else if (cells[i].whole)
      prem_table_add_int(table, cells[i].integer);
    else
      prem_table_add_real(table, cells[i].real);
}
