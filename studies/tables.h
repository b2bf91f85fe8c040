/* SPDX-License-Identifier: Apache-2.0 */
/** Tables as studies write them: all columns in one line, a row in one call. */
#ifndef TTPREM_STUDIES_TABLES_H
#define TTPREM_STUDIES_TABLES_H

#include <math.h>
#include <stddef.h>

#include "ttprem/findings.h"

/** @param columns  "mode; longest [ns]; kept [%]": names, and units where there are any */
prem_table *prem_study_table(prem_findings *findings, const char *name, const char *title,
                             const char *columns);

typedef struct prem_study_cell {
  const char *text; /* NULL: a number */
  bool whole;
  int64_t integer;
  double real;
} prem_study_cell;

#define TEXT(value) ((prem_study_cell){.text = (value)})
#define INT(value)  INT_IF(true, value)
#define REAL(value) ((prem_study_cell){.real = (value)})
/** Missing where it is not known. */
#define INT_IF(known, value)  ((prem_study_cell){.whole = (known), .integer = (value), .real = NAN})
#define REAL_IF(known, value) REAL((known) ? (value) : (double)NAN)
/** INT64_MIN is not known. */
#define KNOWN(value) INT_IF((value) != INT64_MIN, value)

void prem_study_cells(prem_table *table, const prem_study_cell *cells, size_t count);
/** prem_study_row(table, TEXT(name), INT(count), REAL(mean_ns)): cells, from left to right. */
#define prem_study_row(table, ...)                                                                 \
  prem_study_cells(table, (const prem_study_cell[]){__VA_ARGS__},                                  \
                   sizeof((const prem_study_cell[]){__VA_ARGS__}) / sizeof(prem_study_cell))

#endif
