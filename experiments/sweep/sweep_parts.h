/* SPDX-License-Identifier: Apache-2.0 */
/** Inside sweeps: one while it runs, its names and values, its tables and charts. */
#pragma once

#include "experiments/common/expression.h"
#include "experiments/sweep/quantities.h"
#include "experiments/sweep/sweep_file.h"

enum { SWEEP_TABLES = 32, SWEEP_LABEL_BYTES = 64 };

/** A name and its value; the newest of a name counts. */
typedef struct variable {
  struct variable *next;
  char *name;
  prem_sweep_value value;
} variable;

typedef struct kept_run kept_run;

typedef struct label {
  struct label *next;
  char name[SWEEP_LABEL_BYTES];
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
  sweep_table tables[SWEEP_TABLES];
  int32_t table_count;
  int64_t done, all;
  int64_t room_bytes, mapped_bytes; /* of the lists of the largest walk */
  prem_walker *walker;              /* of sectors; NULL: not yet open */
  prem_elements *elements;
  prem_findings *hidden; /* tables for probes */
  bool dry;              /* nothing is measured */
  bool is_over;          /* it was interrupted: what is to be said is said */
  int depth, steps;      /* under way; begun so far */
} sweep_run;

typedef const config_setting_t setting;

/* ---- names and values (sweep_names.c) -------------------------------------------------------- */

/** False: out of memory. */
bool sweep_push(sweep_run *run, const char *name, const prem_sweep_value *value);
void sweep_pop_to(sweep_run *run, const variable *until);
label *sweep_find_label(const sweep_run *run, const char *name, size_t length);
prem_sweep_names sweep_names_of(const sweep_run *run);
bool sweep_evaluate(sweep_run *run, setting *at, prem_sweep_value *out);
/** A key's text with its values; free with free(). NULL: refused, or it is not there. */
char *sweep_expand(sweep_run *run, setting *group, const char *key);
/** A number of a key; `missing` where it is not given. */
bool sweep_number_of(sweep_run *run, setting *group, const char *key, double missing, double *out);
/** Whole, from `min` to `max`; while nothing is measured it need not be known. */
bool sweep_whole_of(sweep_run *run, setting *group, const char *key, int64_t missing, double min,
                    double max, int64_t *out);
/** A cell of what a probe found; false: there is no such column. Without rows its kind is known. */
bool sweep_found(const prem_findings *found, int64_t row, const char *column,
                 prem_sweep_value *out);
/** A condition: what is not known does not hold, but is looked at while nothing is measured. */
prem_status sweep_applies(sweep_run *run, setting *group, bool *out);
/** All members but `when`, one after the other. */
prem_status sweep_assign_all(sweep_run *run, setting *group, bool for_now);
setting *sweep_root_of(const prem_sweep_file *file, const char *key);
/** The machine's values, and what the files make of them. */
prem_status sweep_use_machine(sweep_run *run, const prem_backend *backend,
                              const prem_machine *machine);

/* ---- tables and charts (sweep_tables.c) -------------------------------------------------------
 */

/** NULL: there is none. */
const sweep_table *sweep_find_table(const sweep_run *run, const char *name);
prem_status sweep_begin_table(sweep_run *run, setting *at);
prem_status sweep_add_row(sweep_run *run, setting *step);
prem_status sweep_add_chart(sweep_run *run, setting *at);
