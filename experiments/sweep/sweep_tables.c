/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and charts of a sweep. */
#include <stdlib.h>
#include <string.h>

#include "experiments/common/originals.h"
#include "experiments/sweep/sweep_parts.h"
#include "prem/base/suggest.h"
#include "report/findings/tables.h"

const sweep_table *sweep_find_table(const sweep_run *run, const char *name) {
  for (int32_t i = 0; i < run->table_count; ++i)
    if (run->tables[i].name && strcmp(run->tables[i].name, name) == 0)
      return &run->tables[i];
  return NULL;
}

static void add_value(prem_table *table, const prem_sweep_value *value) {
  prem_table_add_cells(table,
                       &(prem_cell){.text = value->is_text ? value->text : NULL,
                                    .whole = value->whole,
                                    .integer = value->whole ? (int64_t)value->number : 0,
                                    .real = value->number},
                       1);
}

/* ("mode", "mode"), or of a table of values "mode". */
static const char *head_of(setting *column) {
  return config_setting_type(column) == CONFIG_TYPE_STRING
             ? config_setting_get_string(column)
             : config_setting_get_string_elem(column, 0);
}

/* As they stand in the file. */
static void add_literals(prem_table *table, setting *rows) {
  for (int r = 0; rows && r < config_setting_length(rows); ++r) {
    setting *row = config_setting_get_elem(rows, (unsigned)r);
    for (int c = 0; c < config_setting_length(row); ++c) {
      setting *cell = config_setting_get_elem(row, (unsigned)c);
      const int type = config_setting_type(cell);
      if (type == CONFIG_TYPE_STRING)
        prem_table_add_text(table, config_setting_get_string(cell));
      else if (type == CONFIG_TYPE_FLOAT)
        prem_table_add_real(table, config_setting_get_float(cell));
      else
        prem_table_add_int(table, config_setting_get_int64(cell));
    }
  }
}

static prem_status judge_table(const sweep_run *run, setting *at) {
  setting *columns = config_setting_get_member(at, "columns");
  setting *rows = config_setting_get_member(at, "rows");
  if (!prem_sweep_string(at, "name") || !prem_sweep_string(at, "title") || !columns)
    return prem_sweep_refuse(run->sweep, run->diag, at, NULL,
                             "a table has `name`, `title` and `columns`, or `original`");
  for (int c = 0; c < config_setting_length(columns); ++c) {
    setting *column = config_setting_get_elem(columns, (unsigned)c);
    if (!head_of(column) || (!rows && config_setting_length(column) != 2))
      return prem_sweep_refuse(
          run->sweep, run->diag, column, NULL,
          "a column is its name and an expression: (\"mean [us]\", \"free.makespan.mean / 1000\")");
  }
  for (int r = 0; rows && r < config_setting_length(rows); ++r)
    if (config_setting_length(config_setting_get_elem(rows, (unsigned)r)) !=
        config_setting_length(columns))
      return prem_sweep_refuse(run->sweep, run->diag, config_setting_get_elem(rows, (unsigned)r),
                               NULL, "a row of %d cells; the table has %d columns",
                               config_setting_length(config_setting_get_elem(rows, (unsigned)r)),
                               config_setting_length(columns));
  return PREM_OK;
}

static prem_status begin_original(sweep_run *run, setting *at, sweep_table *own) {
  const char *figure = prem_sweep_string(at, "original");
  prem_findings *scratch = run->dry ? prem_findings_new("scratch", "", "") : run->findings;
  own->name = prem_original_add(scratch, figure, prem_sweep_string(at, "name"));
  if (run->dry)
    prem_findings_free(scratch);
  if (own->name)
    return PREM_OK;
  return prem_sweep_refuse(run->sweep, run->diag, at, "original",
                           "there is no figure '%s'; experiments/thesis/original has them",
                           prem_show(figure).text);
}

prem_status sweep_begin_table(sweep_run *run, setting *at) {
  bool wanted;
  prem_status status = sweep_applies(run, at, &wanted);
  if (status != PREM_OK)
    return status;
  if (run->table_count == SWEEP_TABLES)
    return prem_sweep_refuse(run->sweep, run->diag, at, NULL, "more than %d tables", SWEEP_TABLES);
  sweep_table *own = &run->tables[run->table_count++];
  *own = (sweep_table){.setting = at};
  if (!wanted)
    return PREM_OK;
  if (prem_sweep_string(at, "original"))
    return begin_original(run, at, own);
  status = judge_table(run, at);
  if (status != PREM_OK)
    return status;
  if (sweep_find_table(run, prem_sweep_string(at, "name")))
    return prem_sweep_refuse(run->sweep, run->diag, at, "name", "there are two of this name");
  char *title = sweep_expand(run, at, "title");
  if (!title)
    return PREM_ERR_PARSE;
  own->name = prem_sweep_string(at, "name");
  if (!run->dry) {
    setting *columns = config_setting_get_member(at, "columns");
    int is_hidden = 0;
    config_setting_lookup_bool(at, "hidden", &is_hidden);
    own->table = prem_findings_table(is_hidden ? run->hidden : run->findings, own->name, title,
                                     prem_sweep_string(at, "source"));
    for (int c = 0; c < config_setting_length(columns); ++c)
      prem_table_columns(own->table, head_of(config_setting_get_elem(columns, (unsigned)c)));
    add_literals(own->table, config_setting_get_member(at, "rows"));
  }
  free(title);
  return PREM_OK;
}

prem_status sweep_add_row(sweep_run *run, setting *step) {
  char *name = sweep_expand(run, step, "row");
  if (!name)
    return PREM_ERR_PARSE;
  const sweep_table *own = sweep_find_table(run, name);
  setting *columns = own ? config_setting_get_member(own->setting, "columns") : NULL;
  free(name);
  if (!columns || config_setting_get_member(own->setting, "rows"))
    return prem_sweep_refuse(run->sweep, run->diag, step, "row",
                             "there is no such table whose columns have expressions");
  for (int c = 0; c < config_setting_length(columns); ++c) {
    prem_sweep_value value;
    if (!sweep_evaluate(
            run, config_setting_get_elem(config_setting_get_elem(columns, (unsigned)c), 1), &value))
      return PREM_ERR_PARSE;
    if (!run->dry)
      add_value(own->table, &value);
  }
  return PREM_OK;
}

static const char *const chart_kinds[] = {"lines", "points", "steps", "bars", "heat_map", NULL};

/* Is it a column of that table, without its unit? */
static bool has_column(const sweep_table *table, const char *name) {
  setting *columns = config_setting_get_member(table->setting, "columns");
  for (int c = 0; columns && c < config_setting_length(columns); ++c) {
    const char *head = head_of(config_setting_get_elem(columns, (unsigned)c));
    const char *unit = strstr(head, " [");
    if (strlen(name) == (unit ? (size_t)(unit - head) : strlen(head)) &&
        strncmp(head, name, strlen(name)) == 0)
      return true;
  }
  return !columns; /* the original's */
}

static prem_status judge_chart(sweep_run *run, setting *at, const char *table) {
  static const char *const keys[] = {"x", "y", "low", "high", "series"};
  const char *beside = prem_sweep_string(at, "beside");
  const sweep_table *own = sweep_find_table(run, table);
  if (!own)
    return prem_sweep_refuse(run->sweep, run->diag, at, "table", "there is no table '%s'",
                             prem_show(table).text);
  if (beside && !sweep_find_table(run, beside))
    return prem_sweep_refuse(run->sweep, run->diag, at, "beside", "there is no table '%s'",
                             prem_show(beside).text);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    const char *column = prem_sweep_string(at, keys[i]);
    if (column && !has_column(own, column))
      return prem_sweep_refuse(run->sweep, run->diag, at, keys[i], "table %s has no column '%s'",
                               own->name, prem_show(column).text);
  }
  return PREM_OK;
}

prem_status sweep_add_chart(sweep_run *run, setting *at) {
  bool wanted;
  prem_status status = sweep_applies(run, at, &wanted);
  if (status != PREM_OK || !wanted)
    return status;
  const char *kind = prem_sweep_string(at, "kind");
  int k = 0, log_x = 0, log_y = 0;
  while (chart_kinds[k] && strcmp(chart_kinds[k], kind) != 0)
    ++k;
  if (!chart_kinds[k])
    return prem_sweep_refuse(run->sweep, run->diag, at, "kind",
                             "unknown kind '%s'; there are lines, points, steps, bars and heat_map",
                             prem_show(kind).text);
  config_setting_lookup_bool(at, "log_x", &log_x);
  config_setting_lookup_bool(at, "log_y", &log_y);
  char *title = sweep_expand(run, at, "title");
  status = title ? judge_chart(run, at, prem_sweep_string(at, "table")) : PREM_ERR_PARSE;
  if (status == PREM_OK && !run->dry)
    prem_findings_chart(run->findings, &(prem_chart){.kind = (prem_chart_kind)k,
                                                     .title = title,
                                                     .table = prem_sweep_string(at, "table"),
                                                     .x = prem_sweep_string(at, "x"),
                                                     .y = prem_sweep_string(at, "y"),
                                                     .low = prem_sweep_string(at, "low"),
                                                     .high = prem_sweep_string(at, "high"),
                                                     .series = prem_sweep_string(at, "series"),
                                                     .log_x = log_x,
                                                     .log_y = log_y,
                                                     .beside = prem_sweep_string(at, "beside")});
  free(title);
  return status;
}
