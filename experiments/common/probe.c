/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/common/probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static prem_sweep_value value_of(const prem_probe_call *call, const char *name) {
  prem_sweep_value value = {.number = (double)NAN};
  char reason[PREM_REASON_BYTES];
  if (!call->names.find(call->names.from, name, &value, reason))
    value = (prem_sweep_value){.number = (double)NAN};
  return value;
}

double prem_probe_number(const prem_probe_call *call, const char *name) {
  return value_of(call, name).number;
}

static int64_t whole(double number, int64_t min, int64_t max) {
  return number >= (double)max ? max : number > (double)min ? (int64_t)number : min;
}

int64_t prem_probe_whole(const prem_probe_call *call, const char *name, int64_t min, int64_t max) {
  return whole(prem_probe_number(call, name), min, max);
}

int prem_probe_word(const prem_probe_call *call, const char *name, const char *const *words,
                    int count) {
  const prem_sweep_value value = value_of(call, name);
  int place = 0;
  while (place < count && strcmp(words[place], value.text) != 0)
    ++place;
  return place;
}

void prem_probe_text(const prem_probe_call *call, const char *name, char *out, size_t out_bytes) {
  const prem_sweep_value value = value_of(call, name);
  snprintf(out, out_bytes, "%s", value.text);
}

prem_table *prem_probe_table(const prem_probe_call *call, const char *name) {
  return call->find_table(call->names.from, name);
}

int64_t prem_probe_rows(const prem_table *table) {
  return table ? prem_table_rows(table) : 0;
}

int64_t prem_probe_cell(const prem_table *table, int64_t row, const char *column, int64_t min,
                        int64_t max) {
  const int64_t at = prem_find_column(table, column);
  return at < 0 ? min : whole(prem_value_number(prem_table_value(table, row, at)), min, max);
}

const char *prem_probe_cell_text(const prem_table *table, int64_t row, const char *column) {
  const int64_t at = prem_find_column(table, column);
  const prem_value *value = at < 0 ? NULL : prem_table_value(table, row, at);
  return value && value->kind == PREM_VALUE_TEXT ? value->text : "";
}
