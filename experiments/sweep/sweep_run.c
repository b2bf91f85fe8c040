/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps run twice: first without measuring, which judges every expression and counts the runs,
 * then in earnest. What is measured is NAN the first time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/caches.h"
#include "experiments/common/cores.h"
#include "experiments/common/expression.h"
#include "experiments/common/interference.h"
#include "experiments/common/originals.h"
#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/sweep/quantities.h"
#include "experiments/sweep/sweep_file.h"
#include "prem/base/numbers.h"
#include "prem/base/suggest.h"

enum { MAX_DEPTH = 16, MAX_STEPS = 100000, MAX_TABLES = 32, LABEL_BYTES = 64 };

/** A name and its value; the newest of a name counts. */
typedef struct variable {
  struct variable *next;
  char *name;
  prem_sweep_value value;
} variable;

/** What a run measured, until all its labels are given to others. */
typedef struct kept_run {
  prem_measured measured;
  int32_t labels;
} kept_run;

typedef struct label {
  struct label *next;
  char name[LABEL_BYTES];
  kept_run *run;
  prem_sweep_measured measured;
} label;

typedef struct sweep_table {
  const char *name; /* NULL: it is not wanted here */
  const config_setting_t *setting;
  prem_table *table;
} sweep_table;

typedef struct sweep_run {
  const prem_sweep *sweep;
  const prem_experiment_context *context;
  const prem_backend *backend; /* of the step that runs */
  const prem_machine *machine;
  prem_findings *findings;
  prem_diag *diag;
  variable *variables;
  label *labels;
  sweep_table tables[MAX_TABLES];
  int32_t table_count;
  int64_t done, all;
  int64_t room_bytes, mapped_bytes; /* of the lists of the largest walk */
  prem_walker *walker;              /* of sectors; NULL: not yet open */
  prem_elements *elements;
  bool dry;         /* nothing is measured */
  int depth, steps; /* under way; begun so far */
} sweep_run;

typedef const config_setting_t setting;

static prem_status run_steps(sweep_run *run, setting *steps);
static prem_status run_step(sweep_run *run, setting *step);

/* ---- names ---------------------------------------------------------------------------------- */

static bool push(sweep_run *run, const char *name, const prem_sweep_value *value) {
  variable *own = calloc(1, sizeof *own);
  char *copy = strdup(name);
  if (!own || !copy) {
    free(own);
    free(copy);
    return false;
  }
  *own = (variable){.next = run->variables, .name = copy, .value = *value};
  run->variables = own;
  return true;
}

static void pop_to(sweep_run *run, const variable *until) {
  while (run->variables != until) {
    variable *own = run->variables;
    run->variables = own->next;
    free(own->name);
    free(own);
  }
}

static variable *find_variable(const sweep_run *run, const char *name) {
  variable *own = run->variables;
  while (own && strcmp(own->name, name) != 0)
    own = own->next;
  return own;
}

/* A name that is new outlives the values that are in force now. */
static bool assign(sweep_run *run, const char *name, const prem_sweep_value *value) {
  variable *own = find_variable(run, name), **last = &run->variables;
  if (own) {
    own->value = *value;
    return true;
  }
  while (*last)
    last = &(*last)->next;
  variable *const above = run->variables;
  run->variables = NULL;
  if (!push(run, name, value)) {
    run->variables = above;
    return false;
  }
  if (above) {
    *last = run->variables;
    run->variables = above;
  }
  return true;
}

static label *find_label(const sweep_run *run, const char *name, size_t length) {
  label *own = run->labels;
  while (own && (strlen(own->name) != length || strncmp(own->name, name, length) != 0))
    own = own->next;
  return own;
}

static const char *candidate(const void *from, int32_t index) {
  const variable *own = from;
  for (; index > 0; --index)
    own = own->next;
  return own->name;
}

static bool find_name(const void *from, const char *name, prem_sweep_value *out, char *reason) {
  const sweep_run *run = from;
  const char *dot = strchr(name, '.');
  const variable *own = dot ? NULL : find_variable(run, name);
  const label *kept = dot ? find_label(run, name, (size_t)(dot - name)) : NULL;
  if (own) {
    *out = own->value;
    return true;
  }
  *out = (prem_sweep_value){0};
  if (strcmp(name, "cache_bytes") == 0) { /* asked for by few: to look takes a while */
    out->number = (double)prem_largest_cache_bytes(run->context->backend);
    return true;
  }
  if (strcmp(name, "element_cache_bytes") == 0) {
    out->number = (double)prem_elements_cache_bytes(run->context);
    return true;
  }
  if (strcmp(name, "own_cores") == 0) {
    int32_t own_cores[PREM_WALK_KERNELS];
    out->number = prem_cores_list(own_cores, PREM_WALK_KERNELS);
    return true;
  }
  if (kept && prem_sweep_quantity(&kept->measured, dot + 1, &out->number))
    return true;
  int32_t count = 0;
  for (own = run->variables; own; own = own->next)
    ++count;
  if (kept)
    snprintf(reason, PREM_REASON_BYTES,
             "a run has no '%s'; it has makespan.p50, jitter, late, prefetch.mean and others, see "
             "experiments/sweep/README.md",
             prem_show(dot + 1).text);
  else if (dot)
    snprintf(reason, PREM_REASON_BYTES,
             "there was no run '%.*s'; a run is called as its mode, or as its `keep`",
             (int)(dot - name), name);
  else
    snprintf(reason, PREM_REASON_BYTES, "unknown name '%s'%s", prem_show(name).text,
             prem_suggest(name, candidate, run->variables, count).text);
  return false;
}

/* ---- values --------------------------------------------------------------------------------- */

static prem_sweep_names names_of(const sweep_run *run) {
  return (prem_sweep_names){find_name, run};
}

static bool evaluate(sweep_run *run, setting *at, prem_sweep_value *out) {
  *out = (prem_sweep_value){0};
  switch (config_setting_type(at)) {
  case CONFIG_TYPE_FLOAT:
    out->number = config_setting_get_float(at);
    return true;
  case CONFIG_TYPE_BOOL:
    out->number = config_setting_get_bool(at);
    return true;
  case CONFIG_TYPE_STRING:
    break;
  default:
    out->number = (double)config_setting_get_int64(at);
    return true;
  }
  const prem_sweep_names names = names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  if (prem_sweep_evaluate(config_setting_get_string(at), &names, out, reason))
    return true;
  prem_sweep_refuse(run->sweep, run->diag, at, NULL, "'%s': %s",
                    prem_show(config_setting_get_string(at)).text, reason);
  return false;
}

/* A key's text with its values; free with free(). NULL: refused, or it is not there. */
static char *expand(sweep_run *run, setting *group, const char *key) {
  const char *text = prem_sweep_string(group, key);
  const prem_sweep_names names = names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  char *expanded = text ? prem_sweep_expand(text, &names, reason) : NULL;
  if (text && !expanded)
    prem_sweep_refuse(run->sweep, run->diag, group, key, "%s", reason);
  return expanded;
}

/** A number of a key; `missing` where it is not given. */
static bool number_of(sweep_run *run, setting *group, const char *key, double missing,
                      double *out) {
  setting *at = config_setting_get_member(group, key);
  prem_sweep_value value;
  *out = missing;
  if (!at)
    return true;
  if (!evaluate(run, at, &value))
    return false;
  *out = value.number;
  if (value.is_text)
    prem_sweep_refuse(run->sweep, run->diag, at, NULL, "is the text '%s'; it must be a number",
                      prem_show(value.text).text);
  return !value.is_text;
}

/** Whole, from `min` to `max`; while nothing is measured it need not be known. */
static bool whole_of(sweep_run *run, setting *group, const char *key, int64_t missing, double min,
                     double max, int64_t *out) {
  double value;
  *out = missing;
  if (!number_of(run, group, key, (double)missing, &value))
    return false;
  if (run->dry && isnan(value))
    return true;
  if (!(value >= min && value <= max)) {
    prem_sweep_refuse(run->sweep, run->diag, group, key, "is %g; it must be from %g to %g", value,
                      min, max);
    return false;
  }
  *out = (int64_t)value;
  return true;
}

/* A condition: what is not known does not hold, but is looked at while nothing is measured. */
static prem_status applies(sweep_run *run, setting *group, bool *out) {
  double value;
  if (!number_of(run, group, "when", 1, &value))
    return PREM_ERR_PARSE;
  *out = isnan(value) ? run->dry : value != 0;
  return PREM_OK;
}

/* All members but `when`, one after the other. */
static prem_status assign_all(sweep_run *run, setting *group, bool for_now) {
  for (int i = 0; group && i < config_setting_length(group); ++i) {
    setting *at = config_setting_get_elem(group, (unsigned)i);
    const char *name = config_setting_name(at);
    prem_sweep_value value;
    if (strcmp(name, "when") == 0)
      continue;
    if (!evaluate(run, at, &value))
      return PREM_ERR_PARSE;
    if (!(for_now ? push(run, name, &value) : assign(run, name, &value)))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

static setting *root_of(const prem_sweep_file *file, const char *key) {
  return file->path ? config_setting_get_member(config_root_setting(&file->config), key) : NULL;
}

static bool assign_number(sweep_run *run, const char *name, double number) {
  return assign(run, name, &(prem_sweep_value){.number = number});
}

/* The machine's values, and what the files make of them. */
static prem_status use_machine(sweep_run *run, const prem_backend *backend,
                               const prem_machine *machine) {
  run->backend = backend;
  run->machine = machine;
  prem_sweep_value name = {.is_text = true};
  snprintf(name.text, sizeof name.text, "%s", prem_backend_name(backend));
  prem_sweep_value folder = {.is_text = true};
  if (run->context->schedules && access(run->context->schedules, R_OK) == 0)
    snprintf(folder.text, sizeof folder.text, "%s", run->context->schedules);
  if (!assign(run, "backend", &name) || !assign(run, "schedules", &folder) ||
      !assign_number(run, "quick", run->context->quick) ||
      !assign_number(run, "gpu", strcmp(machine->backend, "cuda") == 0) ||
      !assign_number(run, "cores", machine->cores) ||
      !assign_number(run, "max_blocks", machine->max_blocks) ||
      !assign_number(run, "seed", (double)run->context->seed) ||
      !assign_number(run, "clock_step",
                     machine->clock_step_ns > 0 ? (double)machine->clock_step_ns : 1))
    return PREM_ERR_MEMORY;
  const prem_status status = assign_all(run, root_of(&run->sweep->base, "set"), false);
  return status == PREM_OK ? assign_all(run, root_of(&run->sweep->own, "set"), false) : status;
}

/* ---- tables and charts ---------------------------------------------------------------------- */

static sweep_table *find_table(sweep_run *run, const char *name) {
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
  own->name = prem_original_add(scratch, figure, NULL);
  if (run->dry)
    prem_findings_free(scratch);
  if (own->name)
    return PREM_OK;
  return prem_sweep_refuse(run->sweep, run->diag, at, "original",
                           "there is no figure '%s'; experiments/thesis/original has them",
                           prem_show(figure).text);
}

static prem_status begin_table(sweep_run *run, setting *at) {
  bool wanted;
  prem_status status = applies(run, at, &wanted);
  if (status != PREM_OK)
    return status;
  if (run->table_count == MAX_TABLES)
    return prem_sweep_refuse(run->sweep, run->diag, at, NULL, "more than %d tables", MAX_TABLES);
  sweep_table *own = &run->tables[run->table_count++];
  *own = (sweep_table){.setting = at};
  if (!wanted)
    return PREM_OK;
  if (prem_sweep_string(at, "original"))
    return begin_original(run, at, own);
  status = judge_table(run, at);
  if (status != PREM_OK)
    return status;
  if (find_table(run, prem_sweep_string(at, "name")))
    return prem_sweep_refuse(run->sweep, run->diag, at, "name", "there are two of this name");
  char *title = expand(run, at, "title");
  if (!title)
    return PREM_ERR_PARSE;
  own->name = prem_sweep_string(at, "name");
  if (!run->dry) {
    setting *columns = config_setting_get_member(at, "columns");
    own->table =
        prem_findings_table(run->findings, own->name, title, prem_sweep_string(at, "source"));
    for (int c = 0; c < config_setting_length(columns); ++c)
      prem_table_columns(own->table, head_of(config_setting_get_elem(columns, (unsigned)c)));
    add_literals(own->table, config_setting_get_member(at, "rows"));
  }
  free(title);
  return PREM_OK;
}

static prem_status add_row(sweep_run *run, setting *step) {
  char *name = expand(run, step, "row");
  if (!name)
    return PREM_ERR_PARSE;
  const sweep_table *own = find_table(run, name);
  setting *columns = own ? config_setting_get_member(own->setting, "columns") : NULL;
  free(name);
  if (!columns || config_setting_get_member(own->setting, "rows"))
    return prem_sweep_refuse(run->sweep, run->diag, step, "row",
                             "there is no such table whose columns have expressions");
  for (int c = 0; c < config_setting_length(columns); ++c) {
    prem_sweep_value value;
    if (!evaluate(run, config_setting_get_elem(config_setting_get_elem(columns, (unsigned)c), 1),
                  &value))
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
  const sweep_table *own = find_table(run, table);
  if (!own)
    return prem_sweep_refuse(run->sweep, run->diag, at, "table", "there is no table '%s'",
                             prem_show(table).text);
  if (beside && !find_table(run, beside))
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

static prem_status add_chart(sweep_run *run, setting *at) {
  bool wanted;
  prem_status status = applies(run, at, &wanted);
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
  char *title = expand(run, at, "title");
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

static prem_status each(sweep_run *run, setting *list,
                        prem_status (*take)(sweep_run *run, setting *at)) {
  prem_status status = PREM_OK;
  for (int i = 0; list && i < config_setting_length(list) && status == PREM_OK; ++i)
    status = take(run, config_setting_get_elem(list, (unsigned)i));
  return status;
}

/* ---- running a schedule --------------------------------------------------------------------- */

static void let_go(kept_run *kept) {
  if (!kept || --kept->labels > 0)
    return;
  prem_measured_free(&kept->measured);
  free(kept);
}

/* Whatever had this name before is forgotten. */
static bool keep(sweep_run *run, const char *name, kept_run *kept, prem_sweep_measured measured) {
  label *own = find_label(run, name, strlen(name));
  if (!own) {
    own = calloc(1, sizeof *own);
    if (!own)
      return false;
    snprintf(own->name, sizeof own->name, "%s", name);
    own->next = run->labels;
    run->labels = own;
  }
  if (kept)
    ++kept->labels;
  let_go(own->run);
  free(own->measured.numbers);
  own->run = kept;
  own->measured = measured;
  return true;
}

static bool find_modes(const sweep_run *run, setting *at, prem_scenario_request *request) {
  setting *modes = config_setting_get_member(at, "modes");
  const int count = modes ? config_setting_length(modes) : 0;
  if (count < 1 || count > PREM_MODE_COUNT) {
    prem_sweep_refuse(run->sweep, run->diag, at, "modes",
                      "%d modes; give one to %d of free, tt, lock, legacy", count, PREM_MODE_COUNT);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    const char *name = config_setting_get_string_elem(modes, i);
    int mode = 0;
    while (mode < PREM_MODE_COUNT && strcmp(prem_mode_name((prem_mode)mode), name) != 0)
      ++mode;
    if (mode == PREM_MODE_COUNT) {
      prem_sweep_refuse(run->sweep, run->diag, at, "modes",
                        "unknown mode '%s'; there are free, tt, lock, legacy",
                        prem_show(name).text);
      return false;
    }
    request->modes[request->mode_count++] = (prem_mode)mode;
  }
  return true;
}

/* With `keep` a single mode is called so, and of several each KEEP_MODE. */
static void label_of(const char *keep, const prem_scenario_request *request, int32_t place,
                     char out[LABEL_BYTES]) {
  const char *mode = prem_mode_name(request->modes[place]);
  if (keep && request->mode_count == 1)
    snprintf(out, LABEL_BYTES, "%s", keep);
  else
    snprintf(out, LABEL_BYTES, "%s%s%s", keep ? keep : "", keep ? "_" : "", mode);
}

static bool is_odd_tile(const prem_trace_record *record) {
  return record->tile % 2 == 1;
}

static prem_status find_schedule(sweep_run *run, setting *at, char **text, char **path) {
  *path = expand(run, at, "path");
  if (*path)
    return PREM_OK;
  const char *name = prem_sweep_string(at, "schedule");
  char *template = name ? prem_sweep_text(run->sweep, name) : NULL;
  if (!template)
    return prem_sweep_refuse(run->sweep, run->diag, at, "schedule",
                             name ? "'%s' cannot be read" : "missing; name a schedule file%s",
                             name ? prem_show(name).text : "");
  const prem_sweep_names names = names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  *text = prem_sweep_expand(template, &names, reason);
  free(template);
  return *text ? PREM_OK
               : prem_sweep_refuse(run->sweep, run->diag, at, "schedule", "%s: %s",
                                   prem_show(name).text, reason);
}

static prem_status measure(sweep_run *run, setting *at, prem_scenario_request *request,
                           kept_run *kept) {
  char *text = NULL, *path = NULL;
  prem_status status = find_schedule(run, at, &text, &path);
  request->text = text;
  request->path = path;
  if (status == PREM_OK && !run->dry) {
    const size_t before = prem_diag_errors(run->diag);
    status = prem_scenario_run(request, &kept->measured, run->diag);
    if (prem_diag_errors(run->diag) > before)
      prem_sweep_refuse(run->sweep, run->diag, at, NULL, "is the run whose schedule failed");
  } else if (status == PREM_OK) {
    ++run->all;
  }
  free(text);
  free(path);
  return status;
}

static prem_status run_schedule(sweep_run *run, setting *at, const char *keep_as,
                                prem_scenario_request *request) {
  kept_run *kept = calloc(1, sizeof *kept);
  if (!kept)
    return PREM_ERR_MEMORY;
  kept->labels = 1; /* ours */
  prem_status status = measure(run, at, request, kept);
  for (int32_t m = 0; m < request->mode_count && status == PREM_OK; ++m) {
    char name[LABEL_BYTES];
    label_of(keep_as, request, m, name);
    const prem_sweep_measured measured = {.result = kept->measured.result,
                                          .outcome = &kept->measured.outcomes[m]};
    if (!keep(run, name, kept, run->dry ? (prem_sweep_measured){0} : measured))
      status = PREM_ERR_MEMORY;
  }
  let_go(kept);
  return status;
}

/* A kernel by its name; PREM_ORDINARY_WORKS: there is none. */
static prem_ordinary_work ordinary_of(sweep_run *run, setting *at, const char *key) {
  char *name = expand(run, at, key);
  int work = 0;
  while (name && work < PREM_ORDINARY_WORKS &&
         strcmp(prem_ordinary_name((prem_ordinary_work)work), name) != 0)
    ++work;
  free(name);
  return name ? (prem_ordinary_work)work : PREM_ORDINARY_WORKS;
}

/* Ordinary kernels on two SMs; where they cannot be had, their numbers are not known, or they are
 * needed and that is the end. */
static prem_status measure_ordinary(sweep_run *run, const prem_ordinary_work *works, int32_t count,
                                    bool mapped, int64_t repeat, bool needed,
                                    prem_sweep_measured *out) {
  if (run->dry) {
    ++run->all;
    return PREM_OK;
  }
  prem_ordinary_found found;
  prem_experiment_progress(run->context, run->done, run->all);
  const prem_status status =
      prem_ordinary_find(run->context, works, count, mapped, repeat, &found, run->diag);
  if (status != PREM_OK)
    return status == PREM_ERR_UNAVAILABLE && !needed ? PREM_OK : status;
  prem_findings_output(run->findings, found.right);
  *out = (prem_sweep_measured){.is_ordinary = true, .ordinary = found};
  prem_experiment_progress(run->context, ++run->done, run->all);
  return PREM_OK;
}

static prem_status run_ordinary(sweep_run *run, setting *at, const char *keep_as, int64_t repeat) {
  prem_ordinary_work works[PREM_ORDINARY_KERNELS] = {ordinary_of(run, at, "ordinary")};
  const prem_ordinary_work other =
      prem_sweep_string(at, "beside") ? ordinary_of(run, at, "beside") : works[0];
  int64_t kernels, mapped;
  int needed = 0;
  config_setting_lookup_bool(at, "needed", &needed);
  if (!whole_of(run, at, "kernels", 1, 1, PREM_ORDINARY_KERNELS, &kernels) ||
      !whole_of(run, at, "mapped", 0, 0, 1, &mapped))
    return PREM_ERR_PARSE;
  if (works[0] == PREM_ORDINARY_WORKS || other == PREM_ORDINARY_WORKS || !keep_as)
    return prem_sweep_refuse(run->sweep, run->diag, at, "ordinary", "%s",
                             keep_as ? "there is no such kernel" : "needs `keep`");
  for (int64_t k = 1; k < kernels; ++k)
    works[k] = other;
  prem_sweep_measured measured = {0};
  const prem_status status =
      measure_ordinary(run, works, (int32_t)kernels, mapped != 0, repeat, needed, &measured);
  if (status != PREM_OK)
    return status;
  return keep(run, keep_as, NULL, measured) ? PREM_OK : PREM_ERR_MEMORY;
}

/* With the least room that all walks need, which is known when nothing was measured yet. */
static prem_status walk(sweep_run *run, const prem_walk *walk, bool is_elements,
                        prem_element_repeats repeats, prem_walk_time *out) {
  prem_status status = PREM_OK;
  if (is_elements && !run->elements)
    status = prem_elements_open(run->context, run->room_bytes, run->mapped_bytes, &run->elements,
                                run->diag);
  else if (!is_elements && !run->walker)
    status = prem_walker_open(run->context, run->room_bytes, run->mapped_bytes > 0, &run->walker,
                              run->diag);
  if (status != PREM_OK)
    return status;
  return is_elements ? prem_elements_measure(run->elements, walk, repeats, out, run->diag)
                     : prem_walk_measure(run->walker, walk, repeats.min, out, run->diag);
}

/* Threads that follow a list through memory, by neighbouring elements or by sectors. */
static prem_status run_walk(sweep_run *run, setting *at, const char *keep_as, int64_t repeat) {
  const bool is_gpu = prem_is_gpu(run->backend);
  const char *kind = prem_sweep_string(at, "walk");
  int64_t bytes, kernels, threads, steps, most, budget_ns, mapped;
  char *order = expand(run, at, "order");
  const bool is_random = order && strcmp(order, "random") == 0;
  const bool is_known = (strcmp(kind, "elements") == 0 || strcmp(kind, "sectors") == 0) && order &&
                        (is_random || strcmp(order, "sequential") == 0);
  free(order);
  if (!is_known || !keep_as)
    return prem_sweep_refuse(run->sweep, run->diag, at, "walk",
                             "a walk is by \"elements\" or \"sectors\", its `order` \"random\" or "
                             "\"sequential\", and it has a `keep`");
  if (!whole_of(run, at, "bytes", 0, 128, 1e12, &bytes) ||
      !whole_of(run, at, "kernels", 1, 1, PREM_WALK_KERNELS, &kernels) ||
      !whole_of(run, at, "threads", 1, 1, is_gpu || run->dry ? PREM_WALK_THREADS : 1, &threads) ||
      !whole_of(run, at, "mapped", 0, 0, 1, &mapped) ||
      !whole_of(run, at, "steps", 0, 0, 1e9, &steps) ||
      !whole_of(run, at, "most", repeat, 1, 1e6, &most) ||
      !whole_of(run, at, "budget", 0, 0, 1e12, &budget_ns))
    return PREM_ERR_PARSE;
  const prem_walk own = {.bytes = bytes,
                         .order = is_random ? PREM_WALK_RANDOM : PREM_WALK_SEQUENTIAL,
                         .mapped = mapped != 0,
                         .kernels = (int32_t)kernels,
                         .threads = (int32_t)threads,
                         .steps = steps};
  prem_sweep_measured measured = {.is_walk = true};
  if (run->dry) {
    ++run->all;
    run->room_bytes = prem_max_i64(run->room_bytes, bytes * kernels);
    run->mapped_bytes = prem_max_i64(run->mapped_bytes, mapped * bytes * kernels);
  } else {
    prem_experiment_progress(run->context, run->done, run->all);
    const prem_status status =
        walk(run, &own, strcmp(kind, "elements") == 0,
             (prem_element_repeats){(int32_t)repeat, (int32_t)most, budget_ns}, &measured.walk);
    if (status != PREM_OK)
      return status;
    prem_findings_output(run->findings, measured.walk.right);
    prem_experiment_progress(run->context, ++run->done, run->all);
  }
  return keep(run, keep_as, NULL, measured) ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status run_it(sweep_run *run, setting *at) {
  const config_setting_t *root = config_root_setting(&run->sweep->own.config);
  prem_experiment_context context = *run->context;
  context.backend = run->backend;
  context.machine = run->machine;
  prem_scenario_request request = {.context = &context,
                                   .findings = run->findings,
                                   .discard = 1,
                                   .done = &run->done,
                                   .all = run->all};
  int64_t repeat, task;
  if (!whole_of(run, config_setting_get_member(at, "repeat") ? at : root, "repeat", 1, 1, 1e6,
                &repeat) ||
      !whole_of(run, at, "task", -1, -1, PREM_MAX_TASKS, &task))
    return PREM_ERR_PARSE;
  int apart = 0;
  config_setting_lookup_bool(at, "apart", &apart);
  request.repeat = repeat;
  request.task = (int32_t)task;
  request.is_reference = apart ? is_odd_tile : NULL;
  char *keep_as = expand(run, at, "keep");
  if (!keep_as && prem_sweep_string(at, "keep"))
    return PREM_ERR_PARSE;
  const prem_status status =
      prem_sweep_string(at, "ordinary") ? run_ordinary(run, at, keep_as, repeat)
      : prem_sweep_string(at, "walk")   ? run_walk(run, at, keep_as, repeat)
      : find_modes(run, at, &request)   ? run_schedule(run, at, keep_as, &request)
                                        : PREM_ERR_PARSE;
  free(keep_as);
  return status;
}

static prem_status add_number(prem_sweep_measured *all, double number) {
  double *more = realloc(all->numbers, (size_t)(all->number_count + 1) * sizeof *more);
  if (!more)
    return PREM_ERR_MEMORY;
  all->numbers = more;
  int64_t place = all->number_count++;
  for (; place > 0 && more[place - 1] > number; --place)
    more[place] = more[place - 1];
  more[place] = number;
  return PREM_OK;
}

/* Numbers of many rows, put together under a name: its min, max and percentiles. */
static prem_status tally(sweep_run *run, setting *at) {
  double number;
  char *name = expand(run, at, "name");
  if (!name || !number_of(run, at, "number", 0, &number)) {
    free(name);
    return PREM_ERR_PARSE;
  }
  label *own = find_label(run, name, strlen(name));
  if (!own && keep(run, name, NULL, (prem_sweep_measured){.is_tally = true}))
    own = run->labels;
  free(name);
  if (!own)
    return PREM_ERR_MEMORY;
  if (run->dry || isnan(number))
    return PREM_OK;
  return add_number(&own->measured, number);
}

/* Was what was measured right? The findings say so. */
static prem_status judge(sweep_run *run, setting *step) {
  double right;
  if (!number_of(run, step, "right", 1, &right))
    return PREM_ERR_PARSE;
  if (!run->dry && config_setting_get_member(step, "right"))
    prem_findings_output(run->findings, right == 1);
  return PREM_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static prem_status say(sweep_run *run, setting *step, const char *key,
                       void (*tell)(prem_findings *findings, const char *format, ...)) {
  char *text = expand(run, step, key);
  if (!text)
    return prem_sweep_string(step, key) ? PREM_ERR_PARSE : PREM_OK;
  if (!run->dry)
    tell(run->findings, "%s", text);
  free(text);
  return PREM_OK;
}

/* The steps while cores keep the host's memory busy; or, alone, the most that the memory gives.
 * What was read and written a second is kept. */
static prem_status run_under_load(sweep_run *run, setting *load, setting *steps) {
  int64_t first;
  double bytes_per_s = (double)NAN;
  char *kind = expand(run, load, "kind"), *keep_as = expand(run, load, "keep");
  int which = 0;
  while (kind && which < PREM_INTERFERENCE_COUNT &&
         strcmp(prem_interference_name((prem_interference_kind)which), kind) != 0)
    ++which;
  const bool is_most = kind && strcmp(kind, "most") == 0;
  prem_interference *interference = NULL;
  prem_status status = PREM_OK;
  if (!kind || !keep_as || !whole_of(run, load, "first", 0, 0, 1024, &first))
    status = PREM_ERR_PARSE;
  else if (which == PREM_INTERFERENCE_COUNT && !is_most)
    status = prem_sweep_refuse(run->sweep, run->diag, load, "kind",
                               "unknown load '%s'; there are none, sequential, random and most",
                               prem_show(kind).text);
  else if (!run->dry && is_most)
    status = prem_host_bandwidth(run->context, &bytes_per_s, run->diag);
  else if (!run->dry)
    status = prem_interference_begin((prem_interference_kind)which, (int32_t)first,
                                     run->context->seed, &interference, run->diag);
  if (status == PREM_OK)
    status = run_steps(run, steps);
  if (!run->dry && !is_most)
    bytes_per_s = prem_interference_end(interference);
  prem_sweep_measured measured = {.is_tally = true};
  if (status == PREM_OK && !isnan(bytes_per_s))
    status = add_number(&measured, bytes_per_s);
  if (status == PREM_OK && !keep(run, keep_as, NULL, measured))
    status = PREM_ERR_MEMORY;
  free(kind);
  free(keep_as);
  return status;
}

static prem_status run_named(sweep_run *run, setting *step, const char *name) {
  setting *own = root_of(&run->sweep->own, "parts"), *base = root_of(&run->sweep->base, "parts");
  setting *part = own ? config_setting_get_member(own, name) : NULL;
  if (!part && base)
    part = config_setting_get_member(base, name);
  return part ? run_step(run, part)
              : prem_sweep_refuse(run->sweep, run->diag, step, "part", "there is no part '%s'",
                                  prem_show(name).text);
}

static prem_status run_part(sweep_run *run, setting *step) {
  char *name = expand(run, step, "part");
  if (!name)
    return prem_sweep_string(step, "part") ? PREM_ERR_PARSE : PREM_OK;
  const prem_status status = run_named(run, step, name);
  free(name);
  return status;
}

static prem_status run_body(sweep_run *run, setting *step) {
  bool wanted;
  prem_status status = applies(run, step, &wanted);
  if (status != PREM_OK || !wanted)
    return status;
  const variable *before = run->variables;
  setting *with = config_setting_get_member(step, "with"),
          *set = config_setting_get_member(step, "set"),
          *what = config_setting_get_member(step, "run"),
          *count_of = config_setting_get_member(step, "tally"),
          *load = config_setting_get_member(step, "load");
  status = assign_all(run, with, true);
  if (status == PREM_OK)
    status = assign_all(run, set, false);
  if (status == PREM_OK && what)
    status = run_it(run, what);
  if (status == PREM_OK && prem_sweep_string(step, "row"))
    status = add_row(run, step);
  if (status == PREM_OK && count_of)
    status = tally(run, count_of);
  if (status == PREM_OK)
    status = judge(run, step);
  if (status == PREM_OK)
    status = say(run, step, "verdict", prem_findings_verdict);
  if (status == PREM_OK)
    status = say(run, step, "note", prem_findings_note);
  if (status == PREM_OK)
    status = run_part(run, step);
  if (status == PREM_OK)
    status = load ? run_under_load(run, load, config_setting_get_member(step, "steps"))
                  : run_steps(run, config_setting_get_member(step, "steps"));
  pop_to(run, before);
  return status;
}

enum { TASK, BLOCK, TILE, PHASE, START, END, WARMUP, RECORD_NAMES };
static const char *const record_names[RECORD_NAMES] = {
    "record_task",  "record_block", "record_tile",  "record_phase",
    "record_start", "record_end",   "record_warmup"};

static prem_status run_record(sweep_run *run, setting *step, const prem_trace_record *record) {
  const variable *before = run->variables;
  prem_sweep_value values[RECORD_NAMES] = {[TASK].number = record->task,
                                           [BLOCK].number = record->block,
                                           [TILE].number = record->tile,
                                           [PHASE].is_text = true,
                                           [START].number = (double)record->start_ns,
                                           [END].number = (double)record->end_ns,
                                           [WARMUP].number =
                                               (record->flags & PREM_SLOT_WARMUP) != 0};
  snprintf(values[PHASE].text, PREM_VALUE_BYTES, "%s", prem_phase_name((prem_phase)record->phase));
  prem_status status = PREM_OK;
  for (int i = 0; i < RECORD_NAMES && status == PREM_OK; ++i)
    status = push(run, record_names[i], &values[i]) ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = run_body(run, step);
  pop_to(run, before);
  return status;
}

/* Once for each record of the first run that counted. */
static prem_status run_records(sweep_run *run, setting *step) {
  const char *name = prem_sweep_string(step, "records");
  const label *own = find_label(run, name, strlen(name));
  if (!own)
    return prem_sweep_refuse(run->sweep, run->diag, step, "records", "there was no run '%s'",
                             prem_show(name).text);
  const prem_trace *trace = own->measured.outcome ? own->measured.outcome->row->example : NULL;
  prem_status status = run->dry ? run_record(run, step, &(const prem_trace_record){0}) : PREM_OK;
  for (int64_t i = 0; trace && i < trace->record_count && status == PREM_OK; ++i)
    status = run_record(run, step, &trace->records[i]);
  return status;
}

/* The value itself, or, of a group, its number and what it sets. */
static prem_status choose(sweep_run *run, const char *name, setting *choice, int number,
                          bool *wanted) {
  prem_sweep_value value = {.number = number};
  *wanted = true;
  if (config_setting_is_group(choice)) {
    prem_status status = push(run, name, &value) ? assign_all(run, choice, true) : PREM_ERR_MEMORY;
    return status == PREM_OK ? applies(run, choice, wanted) : status;
  }
  if (config_setting_type(choice) == CONFIG_TYPE_STRING) {
    value.is_text = true;
    snprintf(value.text, sizeof value.text, "%s", config_setting_get_string(choice));
  } else if (!evaluate(run, choice, &value)) {
    return PREM_ERR_PARSE;
  }
  return push(run, name, &value) ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status run_choices(sweep_run *run, setting *step, setting *names, int which);

/* { from = 0; to = 99; } */
static prem_status run_range(sweep_run *run, setting *step, setting *range, int which) {
  int64_t from, to;
  if (!whole_of(run, range, "from", 0, -1e6, 1e6, &from) ||
      !whole_of(run, range, "to", from, -1e6, 1e6, &to))
    return PREM_ERR_PARSE;
  prem_status status = PREM_OK;
  for (int64_t i = from; i <= to && status == PREM_OK; ++i) {
    const variable *before = run->variables;
    status = push(run, config_setting_name(range), &(prem_sweep_value){.number = (double)i})
                 ? run_choices(run, step, config_setting_parent(range), which + 1)
                 : PREM_ERR_MEMORY;
    pop_to(run, before);
  }
  return status;
}

/* The first name is the outermost loop. What takes too long is refused before anything is measured;
 * after that it may be stopped. */
static prem_status run_choices(sweep_run *run, setting *step, setting *names, int which) {
  if (run->dry && ++run->steps > MAX_STEPS)
    return prem_sweep_refuse(run->sweep, run->diag, step, NULL,
                             "more than %d steps in all; let loops have fewer values", MAX_STEPS);
  if (!run->dry && prem_experiment_stopped(run->context))
    return PREM_ERR_INTERRUPTED;
  if (!names || which == config_setting_length(names))
    return prem_sweep_string(step, "records") ? run_records(run, step) : run_body(run, step);
  setting *choices = config_setting_get_elem(names, (unsigned)which);
  if (config_setting_is_group(choices))
    return run_range(run, step, choices, which);
  prem_status status = PREM_OK;
  for (int i = 0; i < config_setting_length(choices) && status == PREM_OK; ++i) {
    const variable *before = run->variables;
    bool wanted;
    status = choose(run, config_setting_name(choices),
                    config_setting_get_elem(choices, (unsigned)i), i, &wanted);
    if (status == PREM_OK && wanted)
      status = run_choices(run, step, names, which + 1);
    pop_to(run, before);
  }
  return status;
}

/* A step on its own backend, whichever was asked for. */
static prem_status run_elsewhere(sweep_run *run, setting *step, const char *name) {
  const prem_backend *asked = run->backend, *backend = prem_backend_find(name);
  const prem_machine *own = run->machine;
  prem_machine machine;
  if (!backend)
    return prem_sweep_refuse(run->sweep, run->diag, step, "backend", "there is no backend '%s'",
                             prem_show(name).text);
  prem_status status = prem_backend_probe(backend, &machine, run->diag);
  if (status == PREM_OK)
    status = use_machine(run, backend, &machine);
  if (status == PREM_OK)
    status = run_choices(run, step, config_setting_get_member(step, "for"), 0);
  const prem_status back = use_machine(run, asked, own);
  return status == PREM_OK ? back : status;
}

static prem_status run_step(sweep_run *run, setting *step) {
  const char *backend = prem_sweep_string(step, "backend");
  if (run->depth == MAX_DEPTH)
    return prem_sweep_refuse(run->sweep, run->diag, step, NULL,
                             "steps in steps, or parts in parts, more than %d deep", MAX_DEPTH);
  ++run->depth;
  const prem_status status =
      backend ? run_elsewhere(run, step, backend)
              : run_choices(run, step, config_setting_get_member(step, "for"), 0);
  --run->depth;
  return status;
}

static prem_status run_steps(sweep_run *run, setting *steps) {
  return each(run, steps, run_step);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status judge_room(sweep_run *run) {
  int64_t needed;
  setting *root = config_root_setting(&run->sweep->own.config);
  if (!whole_of(run, root, "needs_blocks", 0, 0, 1e9, &needed))
    return PREM_ERR_PARSE;
  if (run->machine->max_blocks >= needed)
    return PREM_OK;
  prem_diag_add(run->diag, PREM_ERROR, 0, (prem_place){0}, run->sweep->name,
                "needs %" PRId64 " blocks that run at once, the machine has %" PRId32, needed,
                run->machine->max_blocks);
  return PREM_ERR_UNAVAILABLE;
}

static prem_status run_once(sweep_run *run) {
  const prem_sweep_file *file = &run->sweep->own;
  prem_status status = use_machine(run, run->context->backend, run->context->machine);
  if (status == PREM_OK)
    status = judge_room(run);
  if (status == PREM_OK)
    status = each(run, root_of(file, "tables"), begin_table);
  if (status == PREM_OK)
    status = each(run, root_of(file, "charts"), add_chart);
  return status == PREM_OK ? run_steps(run, root_of(file, "steps")) : status;
}

static void clear(sweep_run *run) {
  pop_to(run, NULL);
  prem_walker_close(run->walker);
  prem_elements_close(run->elements);
  while (run->labels) {
    label *own = run->labels;
    run->labels = own->next;
    let_go(own->run);
    free(own->measured.numbers);
    free(own);
  }
}

/* Labels stay: a run that is left out has no numbers, and is no unknown name. */
prem_status prem_sweep_run(const prem_sweep *sweep, const prem_experiment_context *context,
                           prem_findings *findings, prem_diag *diag) {
  sweep_run run = {
      .sweep = sweep, .context = context, .findings = findings, .diag = diag, .dry = true};
  prem_status status = run_once(&run);
  pop_to(&run, NULL);
  run.dry = false;
  run.table_count = 0;
  if (status == PREM_OK)
    status = run_once(&run);
  clear(&run);
  return status;
}
