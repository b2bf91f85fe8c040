/* SPDX-License-Identifier: Apache-2.0 */
/** Tables and charts as studies and experiments write them: all columns in one line, a row in one
 * call. */
#pragma once

#include <math.h>
#include <stddef.h>

#include "ttprem/findings.h"

/** "mode; makespan [us]; share [%]": names, and units where there are any. */
PREM_API void prem_table_columns(prem_table *table, const char *columns);
/** A table and its columns; `source` NULL: measured here. */
PREM_API prem_table *prem_table_begin(prem_findings *findings, const char *name, const char *title,
                                      const char *source, const char *columns);

enum { PREM_LOG_X = 1, PREM_LOG_Y = 2 };

/** A chart of a table; prem_findings_chart() has those with more. @param series  NULL: one */
PREM_API void prem_chart_add(prem_findings *findings, prem_chart_kind kind, const char *table,
                             const char *title, const char *x, const char *y, const char *series,
                             int log);

typedef struct prem_cell {
  const char *text; /* NULL: a number */
  bool whole;
  int64_t integer;
  double real;
} prem_cell;

#define TEXT(value) ((prem_cell){.text = (value)})
#define INT(value)  INT_IF(true, value)
#define REAL(value) ((prem_cell){.real = (value)})
/** Missing where it is not known. */
#define INT_IF(known, value)  ((prem_cell){.whole = (known), .integer = (value), .real = NAN})
#define REAL_IF(known, value) REAL((known) ? (value) : (double)NAN)
/** INT64_MIN is not known. */
#define KNOWN(value) INT_IF((value) != INT64_MIN, value)

PREM_API void prem_table_add_cells(prem_table *table, const prem_cell *cells, size_t count);
/** prem_table_row(table, TEXT(name), INT(count), REAL(mean_ns)): cells, from left to right. */
#define prem_table_row(table, ...)                                                                 \
  prem_table_add_cells(table, (const prem_cell[]){__VA_ARGS__},                                    \
                       sizeof((const prem_cell[]){__VA_ARGS__}) / sizeof(prem_cell))
