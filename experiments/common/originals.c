/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/common/originals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/shipped.h"

enum { FIELD_BYTES = 256 };

/** The field up to a tab or the line's end, and what comes behind it. */
static const char *take_field(const char *text, char field[FIELD_BYTES]) {
  const size_t length = strcspn(text, "\t\n");
  const size_t kept = length < FIELD_BYTES ? length : FIELD_BYTES - 1;
  memcpy(field, text, kept);
  field[kept] = '\0';
  return text + length;
}

static const char *next_line(const char *text) {
  text += strcspn(text, "\n");
  return *text ? text + 1 : text;
}

/** "mean[ns]" is a column and its unit. */
static void add_column(prem_table *table, char field[FIELD_BYTES]) {
  char *unit = strrchr(field, '[');
  if (!unit) {
    prem_table_column(table, field, "");
    return;
  }
  unit[strlen(unit) - 1] = '\0';
  *unit = '\0';
  prem_table_column(table, field, unit + 1);
}

static void add_cell(prem_table *table, const char *field) {
  char *end;
  const double value = strtod(field, &end);
  if (*end || !*field)
    prem_table_add_text(table, field);
  else if (strpbrk(field, ".eEn")) /* "nan" is missing */
    prem_table_add_real(table, value);
  else
    prem_table_add_int(table, (int64_t)value);
}

static void add_table(prem_findings *findings, const char *name, const char *text) {
  char title[FIELD_BYTES], source[FIELD_BYTES], field[FIELD_BYTES];
  const char *at = text;
  take_field(at + 2, title);
  at = next_line(at);
  take_field(at + 2, source);
  at = next_line(at);
  prem_table *table = prem_findings_table(findings, name, title, source);
  for (bool head = true; *at; head = false) {
    for (bool more = true; more;) {
      at = take_field(at, field);
      if (head)
        add_column(table, field);
      else
        add_cell(table, field);
      more = *at == '\t';
      at += more;
    }
    at = next_line(at);
  }
}

const char *prem_original_add(prem_findings *findings, const char *figure, const char *name) {
  char file[FIELD_BYTES];
  snprintf(file, sizeof file, "%s.tsv", figure);
  const char *text = prem_shipped_text(file);
  if (!text)
    return NULL;
  add_table(findings, name ? name : figure, text);
  return name ? name : figure;
}
