/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions in findings. */
#include "experiments/common/distribution.h"

#include "report/findings/tables.h"

enum { BODY_ROWS = 80, TAIL_ROWS = 20 };

prem_table *prem_distribution_begin(prem_findings *findings, const char *name, const char *title,
                                    const char *series, const char *quantity) {
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_column(table, series, "");
  prem_table_column(table, quantity, "ns");
  prem_table_columns(table, "share [%]");
  prem_chart_add(findings, PREM_CHART_STEPS, name, title, quantity, "share", series, PREM_LOG_X);
  return table;
}

static void add_row(prem_table *table, const char *series, const int64_t *values_ns, int64_t at,
                    int64_t count) {
  prem_table_row(table, TEXT(series), INT(values_ns[at]),
                 REAL(100.0 * (double)(at + 1) / (double)count));
}

void prem_distribution_add(prem_table *table, const char *series, int64_t *values_ns,
                           int64_t count) {
  if (count == 0)
    return;
  prem_summary summary;
  prem_summarise(values_ns, count, &summary); /* it sorts */
  int64_t last = -1;
  for (int row = 0; row < BODY_ROWS; ++row) {
    const int64_t at = row * (count - 1) / BODY_ROWS;
    if (at > last)
      add_row(table, series, values_ns, at, count);
    last = at;
  }
  /* Each row of the tail leaves half as many values above it as the one before. */
  for (int row = 0; row < TAIL_ROWS; ++row) {
    const int64_t at = count - 1 - ((count / BODY_ROWS) >> row);
    if (at > last)
      add_row(table, series, values_ns, at, count);
    last = at > last ? at : last;
  }
}

prem_table *prem_summaries_begin(prem_findings *findings, const char *name, const char *title,
                                 const char *series) {
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_column(table, series, "");
  prem_table_columns(table, "count; least [ns]; median [ns]; mean [ns]; p99 [ns]; largest [ns]");
  return table;
}

void prem_summaries_add(prem_table *table, const char *series, const prem_summary *summary) {
  prem_table_row(table, TEXT(series), INT(summary->count), INT(summary->min), INT(summary->p50),
                 REAL(summary->mean), REAL_IF(summary->p99 != INT64_MIN, (double)summary->p99),
                 INT(summary->max));
}
