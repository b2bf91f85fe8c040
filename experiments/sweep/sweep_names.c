/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a sweep that runs, and values of its settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/caches.h"
#include "experiments/common/cores.h"
#include "experiments/common/probe.h"
#include "experiments/sweep/sweep_parts.h"
#include "prem/base/suggest.h"

bool sweep_push(sweep_run *run, const char *name, const prem_sweep_value *value) {
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

void sweep_pop_to(sweep_run *run, const variable *until) {
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
  if (!sweep_push(run, name, value)) {
    run->variables = above;
    return false;
  }
  if (above) {
    *last = run->variables;
    run->variables = above;
  }
  return true;
}

label *sweep_find_label(const sweep_run *run, const char *name, size_t length) {
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

bool sweep_found(const prem_findings *found, int64_t row, const char *column,
                 prem_sweep_value *out) {
  const prem_table *table = found->tables[0];
  const int64_t at = prem_find_column(table, column);
  if (at < 0)
    return false;
  *out = (prem_sweep_value){.is_text = strcmp(table->columns[at].unit, "text") == 0,
                            .number = (double)NAN};
  if (row < 0)
    return true;
  const prem_value *value = prem_table_value(table, row, at);
  out->number = prem_value_number(value);
  out->whole = value->kind == PREM_VALUE_INT;
  snprintf(out->text, sizeof out->text, "%s", out->is_text ? value->text : "");
  return true;
}

static bool find_name(const void *from, const char *name, prem_sweep_value *out, char *reason) {
  const sweep_run *run = from;
  const char *dot = strchr(name, '.');
  const variable *own = dot ? NULL : find_variable(run, name);
  const label *kept = dot ? sweep_find_label(run, name, (size_t)(dot - name)) : NULL;
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
  if (kept && kept->measured.found) {
    const int64_t rows = prem_table_rows(kept->measured.found->tables[0]);
    if (sweep_found(kept->measured.found, rows - 1, dot + 1, out))
      return true;
  } else if (kept && prem_sweep_quantity(&kept->measured, dot + 1, &out->number)) {
    return true;
  }
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

prem_sweep_names sweep_names_of(const sweep_run *run) {
  return (prem_sweep_names){find_name, run};
}

bool sweep_evaluate(sweep_run *run, setting *at, prem_sweep_value *out) {
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
  const prem_sweep_names names = sweep_names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  if (prem_sweep_evaluate(config_setting_get_string(at), &names, out, reason))
    return true;
  prem_sweep_refuse(run->sweep, run->diag, at, NULL, "'%s': %s",
                    prem_show(config_setting_get_string(at)).text, reason);
  return false;
}

char *sweep_expand(sweep_run *run, setting *group, const char *key) {
  const char *text = prem_sweep_string(group, key);
  const prem_sweep_names names = sweep_names_of(run);
  char reason[PREM_REASON_BYTES] = "";
  char *expanded = text ? prem_sweep_expand(text, &names, reason) : NULL;
  if (text && !expanded)
    prem_sweep_refuse(run->sweep, run->diag, group, key, "%s", reason);
  return expanded;
}

bool sweep_number_of(sweep_run *run, setting *group, const char *key, double missing, double *out) {
  setting *at = config_setting_get_member(group, key);
  prem_sweep_value value;
  *out = missing;
  if (!at)
    return true;
  if (!sweep_evaluate(run, at, &value))
    return false;
  *out = value.number;
  if (value.is_text)
    prem_sweep_refuse(run->sweep, run->diag, at, NULL, "is the text '%s'; it must be a number",
                      prem_show(value.text).text);
  return !value.is_text;
}

bool sweep_whole_of(sweep_run *run, setting *group, const char *key, int64_t missing, double min,
                    double max, int64_t *out) {
  double value;
  *out = missing;
  if (!sweep_number_of(run, group, key, (double)missing, &value))
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

prem_status sweep_applies(sweep_run *run, setting *group, bool *out) {
  double value;
  if (!sweep_number_of(run, group, "when", 1, &value))
    return PREM_ERR_PARSE;
  *out = isnan(value) ? run->dry : value != 0;
  return PREM_OK;
}

prem_status sweep_assign_all(sweep_run *run, setting *group, bool for_now) {
  for (int i = 0; group && i < config_setting_length(group); ++i) {
    setting *at = config_setting_get_elem(group, (unsigned)i);
    const char *name = config_setting_name(at);
    prem_sweep_value value;
    if (strcmp(name, "when") == 0)
      continue;
    if (!sweep_evaluate(run, at, &value))
      return PREM_ERR_PARSE;
    if (!(for_now ? sweep_push(run, name, &value) : assign(run, name, &value)))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

setting *sweep_root_of(const prem_sweep_file *file, const char *key) {
  return file->path ? config_setting_get_member(config_root_setting(&file->config), key) : NULL;
}

static bool assign_number(sweep_run *run, const char *name, double number) {
  return assign(run, name, &(prem_sweep_value){.number = number});
}

prem_status sweep_use_machine(sweep_run *run, const prem_backend *backend,
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
  const prem_status status = sweep_assign_all(run, sweep_root_of(&run->sweep->base, "set"), false);
  return status == PREM_OK ? sweep_assign_all(run, sweep_root_of(&run->sweep->own, "set"), false)
                           : status;
}
