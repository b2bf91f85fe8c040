/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions in findings. */
#include "report/findings/distribution.h"

#include <math.h>

enum { BODY_ROWS = 80, TAIL_ROWS = 20 };

prem_table *prem_distribution_begin(prem_findings *findings, const char *name, const char *title,
                                    const char *series, const char *quantity) {
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_column(table, series, "");
  prem_table_column(table, quantity, "ns");
  prem_table_column(table, "share", "%");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_STEPS,
                                              .title = title,
                                              .table = name,
                                              .x = quantity,
                                              .y = "share",
                                              .series = series,
                                              .log_x = true});
  return table;
}

static void add_row(prem_table *table, const char *series, const int64_t *values_ns, int64_t at,
                    int64_t count) {
  prem_table_add_text(table, series);
  prem_table_add_int(table, values_ns[at]);
  prem_table_add_real(table, 100.0 * (double)(at + 1) / (double)count);
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
  prem_table_column(table, "count", "");
  prem_table_column(table, "least", "ns");
  prem_table_column(table, "median", "ns");
  prem_table_column(table, "mean", "ns");
  prem_table_column(table, "p99", "ns");
  prem_table_column(table, "largest", "ns");
  return table;
}

void prem_summaries_add(prem_table *table, const char *series, const prem_summary *summary) {
  prem_table_add_text(table, series);
  prem_table_add_int(table, summary->count);
  prem_table_add_int(table, summary->min);
  prem_table_add_int(table, summary->p50);
  prem_table_add_real(table, summary->mean);
  prem_table_add_real(table, summary->p99 == INT64_MIN ? NAN : (double)summary->p99);
  prem_table_add_int(table, summary->max);
}
