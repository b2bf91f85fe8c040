/* SPDX-License-Identifier: Apache-2.0 */
/* Building findings, and showing them as text. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "report/findings/parts.h"
#include "report/narrow.h"
#include "ttprem/text.h"

enum {
  LONG_ROWS = 64,  /* of a table that is for a chart rather than for a reader: */
  PRINTED_ROWS = 5 /* a few of it show what it holds */
};

const char *const prem_chart_kind_names[PREM_CHART_KIND_COUNT] = {"lines", "points", "steps",
                                                                  "bars", "heat_map"};

/* ---- what goes wrong while building is kept for the end ------------------------------------- */

static char *keep(prem_findings *findings, const char *text) {
  char *copy = strdup(text);
  if (copy)
    prem_text_clean(copy);
  else
    findings->out_of_memory = true;
  return copy;
}

static char *keep_optional(prem_findings *findings, const char *text) {
  return text ? keep(findings, text) : NULL;
}

/** The array with room for one element more behind `count`; NULL if there is none. */
static void *grow(prem_findings *findings, void *array, int64_t count, size_t element_bytes) {
  void *grown = prem_grow(array, (size_t)count, element_bytes);
  findings->out_of_memory |= !grown;
  return grown;
}

static void PREM_PRINTF(2, 3) note_mistake(prem_findings *findings, const char *format, ...) {
  if (*findings->mistake)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(findings->mistake, sizeof findings->mistake, format, arguments);
  va_end(arguments);
}

/* ---- the whole ------------------------------------------------------------------------------ */

prem_findings *prem_findings_new(const char *name, const char *title, const char *question) {
  prem_findings *findings = calloc(1, sizeof *findings);
  if (!findings)
    return NULL;
  findings->began_unix_s = (int64_t)time(NULL);
  findings->name = keep(findings, name);
  findings->title = keep(findings, title);
  findings->question = keep(findings, question);
  if (!findings->out_of_memory)
    return findings;
  prem_findings_free(findings);
  return NULL;
}

static void free_table(prem_table *table) {
  for (int64_t i = 0; i < table->column_count; ++i) {
    free(table->columns[i].name);
    free(table->columns[i].unit);
  }
  for (int64_t i = 0; i < table->value_count; ++i)
    free(table->values[i].text);
  PREM_FREE(table->columns, table->values, table->name, table->title, table->source, table);
}

static void free_chart(prem_chart *chart) {
  const char *strings[] = {chart->title, chart->table, chart->x,      chart->y,
                           chart->low,   chart->high,  chart->series, chart->beside};
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; ++i)
    free((void *)(uintptr_t)strings[i]);
}

void prem_findings_free(prem_findings *findings) {
  if (!findings)
    return;
  for (int64_t i = 0; i < findings->note_count; ++i)
    free(findings->notes[i]);
  for (int64_t i = 0; i < findings->table_count; ++i)
    free_table(findings->tables[i]);
  for (int64_t i = 0; i < findings->chart_count; ++i)
    free_chart(&findings->charts[i]);
  PREM_FREE(findings->notes, findings->tables, findings->charts, findings->name, findings->title,
            findings->question, findings->verdict, findings);
}

static char *format_text(prem_findings *findings, const char *format, va_list arguments) {
  char *made = NULL;
  if (vasprintf(&made, format, arguments) < 0) {
    findings->out_of_memory = true;
    return NULL;
  }
  prem_text_clean(made);
  return made;
}

void prem_findings_verdict(prem_findings *findings, const char *format, ...) {
  va_list arguments;
  if (findings->uncounted)
    return;
  va_start(arguments, format);
  free(findings->verdict);
  findings->verdict = format_text(findings, format, arguments);
  va_end(arguments);
}

void prem_findings_uncounted(prem_findings *findings) {
  prem_findings_verdict(findings, "No verdict: of some runs none counted; the notes say which.");
  findings->uncounted = true;
}

void prem_findings_note(prem_findings *findings, const char *format, ...) {
  char **grown = grow(findings, findings->notes, findings->note_count, sizeof *grown);
  if (!grown)
    return;
  findings->notes = grown;
  va_list arguments;
  va_start(arguments, format);
  char *note = format_text(findings, format, arguments);
  va_end(arguments);
  if (note)
    findings->notes[findings->note_count++] = note;
}

void prem_findings_incomplete(prem_findings *findings) {
  findings->incomplete = true;
}

void prem_findings_complete(prem_findings *findings) {
  findings->incomplete = false;
}

void prem_findings_output(prem_findings *findings, bool ok) {
  findings->output_checked = true;
  findings->output_wrong |= !ok;
}

void prem_findings_promise(prem_findings *findings, bool kept) {
  findings->promised = true;
  findings->broken |= !kept;
}

void prem_findings_seed(prem_findings *findings, uint64_t seed) {
  findings->seeded = true;
  findings->seed = seed;
}

bool prem_findings_wrong(const prem_findings *findings) {
  return findings->output_wrong;
}

/* ---- tables --------------------------------------------------------------------------------- */

prem_table *prem_findings_table(prem_findings *findings, const char *name, const char *title,
                                const char *source) {
  if (prem_find_table(findings, name))
    note_mistake(findings, "two tables are named '%s'", name);
  prem_table *table = calloc(1, sizeof *table);
  prem_table **grown =
      grow(findings, findings->tables, findings->table_count, sizeof(prem_table *));
  if (grown)
    findings->tables = grown;
  if (!table || !grown) {
    findings->out_of_memory = true;
    free(table);
    return NULL;
  }
  *table = (prem_table){.findings = findings,
                        .name = keep(findings, name),
                        .title = keep(findings, title),
                        .source = keep_optional(findings, source)};
  findings->tables[findings->table_count++] = table;
  return table;
}

void prem_table_column(prem_table *table, const char *name, const char *unit) {
  if (!table)
    return;
  prem_findings *findings = table->findings;
  if (prem_find_column(table, name) >= 0 || table->value_count > 0)
    note_mistake(findings, "column '%s' of table '%s' is there already, or comes after a cell",
                 name, table->name ? table->name : "");
  prem_column *grown = grow(findings, table->columns, table->column_count, sizeof *grown);
  if (!grown)
    return;
  table->columns = grown;
  table->columns[table->column_count++] = (prem_column){keep(findings, name), keep(findings, unit)};
}

static void add_value(prem_table *table, prem_value value) {
  prem_value *grown = grow(table->findings, table->values, table->value_count, sizeof *grown);
  if (!grown) {
    free(value.text);
    return;
  }
  table->values = grown;
  table->values[table->value_count++] = value;
}

void prem_table_add_text(prem_table *table, const char *text) {
  if (table)
    add_value(table, (prem_value){.kind = PREM_VALUE_TEXT, .text = keep(table->findings, text)});
}

void prem_table_add_int(prem_table *table, int64_t value) {
  if (table)
    add_value(table, (prem_value){.kind = PREM_VALUE_INT, .integer = value});
}

void prem_table_add_real(prem_table *table, double value) {
  if (table)
    add_value(table, (prem_value){.kind = PREM_VALUE_REAL, .real = value});
}

void prem_findings_chart(prem_findings *findings, const prem_chart *chart) {
  prem_chart *grown = grow(findings, findings->charts, findings->chart_count, sizeof *grown);
  if (!grown)
    return;
  findings->charts = grown;
  findings->charts[findings->chart_count++] =
      (prem_chart){.kind = chart->kind,
                   .title = keep(findings, chart->title),
                   .table = keep(findings, chart->table),
                   .x = keep(findings, chart->x),
                   .y = keep(findings, chart->y),
                   .low = keep_optional(findings, chart->low),
                   .high = keep_optional(findings, chart->high),
                   .series = keep_optional(findings, chart->series),
                   .log_x = chart->log_x,
                   .log_y = chart->log_y,
                   .beside = keep_optional(findings, chart->beside)};
}

/* ---- looking into them ---------------------------------------------------------------------- */

const prem_table *prem_find_table(const prem_findings *findings, const char *name) {
  for (int64_t i = 0; i < findings->table_count; ++i)
    if (findings->tables[i]->name && strcmp(findings->tables[i]->name, name) == 0)
      return findings->tables[i];
  return NULL;
}

int64_t prem_find_column(const prem_table *table, const char *name) {
  for (int64_t i = 0; name && i < table->column_count; ++i)
    if (table->columns[i].name && strcmp(table->columns[i].name, name) == 0)
      return i;
  return -1;
}

int64_t prem_table_rows(const prem_table *table) {
  return table->column_count ? table->value_count / table->column_count : 0;
}

const prem_value *prem_table_value(const prem_table *table, int64_t row, int64_t column) {
  return &table->values[row * table->column_count + column];
}

double prem_value_number(const prem_value *value) {
  if (value->kind == PREM_VALUE_INT)
    return (double)value->integer;
  return value->kind == PREM_VALUE_REAL ? value->real : NAN;
}

int prem_value_format(const prem_value *value, char *out, size_t out_bytes) {
  if (value->kind == PREM_VALUE_TEXT)
    return snprintf(out, out_bytes, "%s", value->text);
  if (value->kind == PREM_VALUE_INT)
    return snprintf(out, out_bytes, "%" PRId64, value->integer);
  if (!isfinite(value->real))
    return snprintf(out, out_bytes, "-");
  double size = fabs(value->real);
  if (size >= 1000 && size < 1e15)
    return snprintf(out, out_bytes, "%.1f", value->real);
  return snprintf(out, out_bytes, "%.4g", value->real);
}

static void judge_table(const prem_table *table, char *mistake, size_t bytes) {
  if (table->column_count ? table->value_count % table->column_count : table->value_count)
    snprintf(mistake, bytes, "the last row of table '%s' is cut short", table->name);
}

static void judge_columns(const prem_findings *findings, const prem_chart *chart, const char *name,
                          char *mistake, size_t bytes) {
  const prem_table *table = prem_find_table(findings, name);
  if (!table) {
    snprintf(mistake, bytes, "chart '%s': there is no table '%s'", chart->title, name);
    return;
  }
  const char *columns[] = {chart->x, chart->y, chart->low, chart->high, chart->series};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; ++i)
    if (columns[i] && prem_find_column(table, columns[i]) < 0)
      snprintf(mistake, bytes, "chart '%s': table '%s' has no column '%s'", chart->title, name,
               columns[i]);
}

static void judge_chart(const prem_findings *findings, const prem_chart *chart, char *mistake,
                        size_t bytes) {
  judge_columns(findings, chart, chart->table, mistake, bytes);
  if (!*mistake && chart->beside)
    judge_columns(findings, chart, chart->beside, mistake, bytes);
  if (*mistake)
    return;
  if (chart->beside && chart->kind == PREM_CHART_HEAT_MAP)
    snprintf(mistake, bytes, "chart '%s': a heat map shows one table", chart->title);
  if (!chart->low != !chart->high)
    snprintf(mistake, bytes, "chart '%s': a band has two ends, low and high", chart->title);
  if (chart->kind == PREM_CHART_HEAT_MAP && !chart->series)
    snprintf(mistake, bytes, "chart '%s': a heat map needs a series for its rows", chart->title);
}

prem_status prem_findings_judge(const prem_findings *findings, prem_diag *diag) {
  if (findings->out_of_memory)
    return PREM_ERR_MEMORY;
  char mistake[sizeof findings->mistake];
  memcpy(mistake, findings->mistake, sizeof mistake);
  for (int64_t i = 0; !*mistake && i < findings->table_count; ++i)
    judge_table(findings->tables[i], mistake, sizeof mistake);
  for (int64_t i = 0; !*mistake && i < findings->chart_count; ++i)
    judge_chart(findings, &findings->charts[i], mistake, sizeof mistake);
  if (!*mistake)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, findings->name, "%s", mistake);
}

/* ---- as text -------------------------------------------------------------------------------- */

/**
 * Decimals for a column's reals, so that its numbers can be compared at a glance: three digits of
 * the smallest, none where all are whole. -1: no reals.
 */
static int column_decimals(const prem_table *table, int64_t column, int64_t rows) {
  double smallest = INFINITY;
  bool any = false, whole = true;
  for (int64_t row = 0; row < rows; ++row) {
    const prem_value *value = prem_table_value(table, row, column);
    if (value->kind != PREM_VALUE_REAL || !isfinite(value->real))
      continue;
    any = true;
    whole &= value->real == floor(value->real);
    if (value->real != 0)
      smallest = fmin(smallest, fabs(value->real));
  }
  if (!any)
    return -1;
  if (whole)
    return 0;
  int decimals = 2 - (int)floor(log10(smallest));
  return decimals < 1 ? 1 : decimals > 6 ? 6 : decimals;
}

static int format_cell(const prem_value *value, int decimals, char *out, size_t out_bytes) {
  if (value->kind == PREM_VALUE_REAL && isfinite(value->real) && decimals >= 0)
    return snprintf(out, out_bytes, "%.*f", decimals, value->real);
  return prem_value_format(value, out, out_bytes);
}

/** How a column is printed. */
typedef struct column_shape {
  int width, decimals;
} column_shape;

static column_shape shape_of(const prem_table *table, int64_t column, int64_t rows) {
  column_shape shape = {.decimals = column_decimals(table, column, rows)};
  shape.width = (int)strlen(table->columns[column].name);
  int unit = (int)strlen(table->columns[column].unit);
  shape.width = unit > shape.width ? unit : shape.width;
  for (int64_t row = 0; row < rows; ++row) {
    int needed = format_cell(prem_table_value(table, row, column), shape.decimals, NULL, 0);
    shape.width = needed > shape.width ? needed : shape.width;
  }
  return shape;
}

/** Names stand left, numbers right. */
static bool is_text_column(const prem_table *table, int64_t column) {
  return prem_table_rows(table) > 0 && prem_table_value(table, 0, column)->kind == PREM_VALUE_TEXT;
}

/** Columns that stand side by side: the names of the rows, and some of the others. */
typedef struct table_part {
  int64_t names, begin, end;
} table_part;

static bool is_in(const table_part *part, int64_t column) {
  return column < part->names || (column >= part->begin && column < part->end);
}

/** As many columns from `begin` on as a terminal has room for, one at least. */
static table_part part_of(const prem_table *table, const column_shape *shapes, int64_t begin) {
  table_part part = {.begin = begin, .end = begin};
  int wide = 0;
  while (part.names + 1 < table->column_count && is_text_column(table, part.names))
    wide += shapes[part.names++].width + 2;
  if (begin < part.names)
    part.begin = part.end = part.names;
  for (bool fits = true; part.end < table->column_count && fits; part.end += fits) {
    wide += shapes[part.end].width + 2;
    fits = wide <= PREM_TERMINAL_COLUMNS || part.end == part.begin;
  }
  return part;
}

static void print_padded(FILE *file, const prem_table *table, int64_t column, int width,
                         const char *text) {
  int padded = is_text_column(table, column) ? -width : width;
  fprintf(file, "  %*s", padded, text);
}

static void print_row(FILE *file, const prem_table *table, int64_t row, const column_shape *shapes,
                      const table_part *part) {
  for (int64_t column = 0; column < table->column_count; ++column) {
    char text[256];
    if (!is_in(part, column))
      continue;
    format_cell(prem_table_value(table, row, column), shapes[column].decimals, text, sizeof text);
    print_padded(file, table, column, shapes[column].width, text);
  }
  fputc('\n', file);
}

static void print_head(FILE *file, const prem_table *table, const column_shape *shapes,
                       const table_part *part) {
  bool units = false;
  for (int64_t column = 0; column < table->column_count; ++column) {
    if (!is_in(part, column))
      continue;
    print_padded(file, table, column, shapes[column].width, table->columns[column].name);
    units |= table->columns[column].unit[0] != 0;
  }
  fputc('\n', file);
  for (int64_t column = 0; units && column < table->column_count; ++column)
    if (is_in(part, column))
      print_padded(file, table, column, shapes[column].width, table->columns[column].unit);
  if (units)
    fputc('\n', file);
}

static void print_table(FILE *file, const prem_table *table) {
  int64_t rows = prem_table_rows(table);
  int64_t shown = rows > LONG_ROWS ? PRINTED_ROWS : rows;
  column_shape *shapes = calloc((size_t)table->column_count + 1, sizeof *shapes);
  if (!shapes)
    return;
  for (int64_t column = 0; column < table->column_count; ++column)
    shapes[column] = shape_of(table, column, shown);
  char title[512];
  snprintf(title, sizeof title, table->source ? "%s (%s)" : "%s", table->title, table->source);
  fputc('\n', file);
  prem_wrap(title, strlen(title), 0, 2, file);
  for (table_part part = part_of(table, shapes, 0);; part = part_of(table, shapes, part.end)) {
    print_head(file, table, shapes, &part);
    for (int64_t row = 0; row < shown; ++row)
      print_row(file, table, row, shapes, &part);
    if (part.end >= table->column_count)
      break;
    fputc('\n', file);
  }
  if (shown < rows)
    fprintf(file, "  ... and %" PRId64 " rows more, in the file\n", rows - shown);
  free(shapes);
}

void prem_findings_print(const prem_findings *findings, FILE *file) {
  if (findings->out_of_memory)
    return;
  fprintf(file, "%s: %s\n", findings->name, findings->title);
  if (findings->verdict)
    prem_wrap(findings->verdict, strlen(findings->verdict), 2, 2, file);
  if (findings->output_checked && findings->output_wrong)
    fputs("  OUTPUT WRONG\n", file);
  if (findings->incomplete)
    fputs("  incomplete: interrupted before its end\n", file);
  for (int64_t i = 0; i < findings->note_count; ++i)
    prem_wrap(findings->notes[i], strlen(findings->notes[i]), 2, 4, file);
  for (int64_t i = 0; i < findings->table_count; ++i)
    print_table(file, findings->tables[i]);
}
