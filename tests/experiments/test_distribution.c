/* SPDX-License-Identifier: Apache-2.0 */
/* Many times in a few rows of findings. */
#include <math.h>

#include "experiments/common/distribution.h"
#include "report/findings/parts.h"

#include "tests/common/suite.h"

static char *printed(const prem_findings *findings) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return text;
}

GROUP("distribution");

TEST(summaries_are_a_table) {
  static const char *const names[] = {"way", "count", "least", "median", "mean", "p99", "largest"};
  OWNED(prem_findings) *findings = prem_findings_new("s", "S", "?");
  prem_table *table = prem_summaries_begin(findings, "trips", "Trips", "way");
  prem_summary summary = {.count = 5, .min = 1, .p50 = 3, .mean = 3.5, .p99 = INT64_MIN, .max = 9};
  prem_summaries_add(table, "there", &summary);
  ck_assert_int_eq(prem_table_rows(table), 1);
  for (int64_t column = 0; column < 7; ++column)
    ck_assert_int_eq(prem_find_column(table, names[column]), column);
  FREED char *text = printed(findings);
  ck_assert_ptr_nonnull(strstr(text, "there"));
  static const double values[] = {NAN, 5, 1, 3, 3.5, NAN, 9};
  for (int64_t column = 1; column < 7; ++column) {
    const double value = prem_value_number(prem_table_value(table, 0, column));
    ck_assert(column == 5 ? isnan(value) : value == values[column]);
  }
}

/* Positions that are told, of `count` values that are ten times their rank: 80 spread over all,
 * then those above which the 80th part is left, half of it, and so on. */
static void assert_told(int64_t count, const int64_t *ranks, int64_t rows) {
  OWNED(prem_findings) *findings = prem_findings_new("s", "S", "?");
  prem_table *table = prem_distribution_begin(findings, "trips", "Trips", "way", "took");
  ck_assert_int_eq(findings->charts[0].kind, PREM_CHART_STEPS);
  ck_assert(findings->charts[0].log_x && !findings->charts[0].log_y);
  ck_assert_str_eq(findings->charts[0].x, "took");
  ck_assert_str_eq(findings->charts[0].y, "share");
  ck_assert_str_eq(findings->charts[0].series, "way");
  FREED int64_t *values = calloc((size_t)count + 1, sizeof *values);
  for (int64_t i = 0; i < count; ++i)
    values[i] = 10 * (count - i); /* the longest first */
  prem_distribution_add(table, "there", values, count);
  ck_assert_int_eq(prem_table_rows(table), rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t rank = ranks ? ranks[row] : row;
    ck_assert_str_eq(prem_table_value(table, row, 0)->text, "there");
    ck_assert_int_eq(prem_table_value(table, row, 1)->integer, 10 * (rank + 1));
    ck_assert_double_eq_tol(prem_table_value(table, row, 2)->real,
                            100.0 * (double)(rank + 1) / (double)count, 1e-9);
  }
}

TEST(a_distribution_is_told_by_its_body_and_its_tail) {
  assert_told(0, NULL, 0);
  assert_told(1, NULL, 1);
  assert_told(2, NULL, 2);
  assert_told(80, NULL, 80);
  assert_told(81, NULL, 81);
  /* 480 values: every sixth but for what rounding leaves, 5 of them above 474, 3, 1 and none */
  int64_t ranks[84];
  int64_t rows = 0;
  for (; rows < 80; ++rows)
    ranks[rows] = rows * 479 / 80;
  const int64_t tail[] = {476, 478, 479};
  ck_assert_int_eq(ranks[79], 473);
  for (int i = 0; i < 3; ++i)
    ranks[rows++] = tail[i];
  assert_told(480, ranks, rows);
}
