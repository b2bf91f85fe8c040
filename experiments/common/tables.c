/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/common/tables.h"

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

void prem_table_add_cells(prem_table *table, const prem_cell *cells, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (cells[i].text)
      prem_table_add_text(table, cells[i].text);
    else if (cells[i].whole)
      prem_table_add_int(table, cells[i].integer);
    else
      prem_table_add_real(table, cells[i].real);
}
