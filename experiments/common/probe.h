/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Probes: measurements in C that files ask for, `run: { probe = "queue"; keep = "q"; }`. A probe
 * takes its arguments from the file's values, or a hidden table that the file fills, and adds a row
 * for each thing that it finds. What is said of them the file says.
 */
#pragma once

#include "experiments/common/experiment.h"
#include "experiments/common/expression.h"
#include "report/findings/parts.h"
#include "report/findings/tables.h"

typedef struct prem_probe_call {
  const prem_experiment_context *context;
  prem_findings *findings; /* the experiment's */
  prem_diag *diag;
  prem_table *found;      /* rows of the probe's columns; RUN.COLUMN is of the last one */
  prem_sweep_names names; /* the file's values */
  /* Its tables; NULL: there is none. */
  prem_table *(*find_table)(const void *from, const char *name);
} prem_probe_call;

typedef struct prem_probe {
  const char *columns; /* of what it finds, "name [text]; count" */
  prem_status (*run)(const prem_probe_call *call);
  const char *table; /* that the file has for it, hidden or to be filled; NULL: none */
} prem_probe;

/** A number of the file, NAN where it has none. */
double prem_probe_number(const prem_probe_call *call, const char *name);
/** The same as a whole number from `min`, which stands for what is not known as well, to `max`. */
int64_t prem_probe_whole(const prem_probe_call *call, const char *name, int64_t min, int64_t max);
/** A text of the file as its place in `words`; `count`: it is none of them. */
int prem_probe_word(const prem_probe_call *call, const char *name, const char *const *words,
                    int count);
/** A text of the file; "": it has none. */
void prem_probe_text(const prem_probe_call *call, const char *name, char *out, size_t out_bytes);
/** A table of the file, hidden or with rows of the probe's own; NULL: there is none. */
prem_table *prem_probe_table(const prem_probe_call *call, const char *name);
/** Rows of a hidden table; their numbers as prem_probe_whole(), and their texts; "": none. */
int64_t prem_probe_rows(const prem_table *table);
int64_t prem_probe_cell(const prem_table *table, int64_t row, const char *column, int64_t min,
                        int64_t max);
const char *prem_probe_cell_text(const prem_table *table, int64_t row, const char *column);
