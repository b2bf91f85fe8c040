/* SPDX-License-Identifier: Apache-2.0 */
/** What findings consist of, for those who write, print and draw them. */
#pragma once

#include "ttprem/findings.h"

typedef enum prem_value_kind { PREM_VALUE_INT, PREM_VALUE_REAL, PREM_VALUE_TEXT } prem_value_kind;

/** A cell of a table. */
typedef struct prem_value {
  prem_value_kind kind;
  int64_t integer;
  double real; /* NAN: missing */
  char *text;
} prem_value;

typedef struct prem_column {
  char *name, *unit;
} prem_column;

struct prem_table {
  prem_findings *findings;
  char *name, *title, *source; /* source NULL: measured here */
  prem_column *columns;
  int64_t column_count;
  prem_value *values; /* row by row */
  int64_t value_count;
};

struct prem_findings {
  char *name, *title, *question, *verdict;
  char **notes;
  int64_t note_count;
  prem_table **tables;
  int64_t table_count;
  prem_chart *charts; /* their strings are the findings' own */
  int64_t chart_count;
  int64_t began_unix_s;
  uint64_t seed;
  bool seeded, incomplete, uncounted, output_checked, output_wrong, promised, broken;
  bool out_of_memory;
  char mistake[200]; /* the first one; "" is none */
};

/** "lines", "points", ... as the file has them. */
extern const char *const prem_chart_kind_names[PREM_CHART_KIND_COUNT];

/** PREM_OK if they can be shown, or what went wrong while building. */
prem_status prem_findings_judge(const prem_findings *findings, prem_diag *diag);
PREM_API const prem_table *prem_find_table(const prem_findings *findings, const char *name);
/** -1: there is none, or `name` is NULL. */
PREM_API int64_t prem_find_column(const prem_table *table, const char *name);
PREM_API int64_t prem_table_rows(const prem_table *table);
PREM_API const prem_value *prem_table_value(const prem_table *table, int64_t row, int64_t column);
/** Its number; NAN for text. */
PREM_API double prem_value_number(const prem_value *value);
/** As a reader wants it: "-" if it is missing. Returns like snprintf. */
int prem_value_format(const prem_value *value, char *out, size_t out_bytes);
