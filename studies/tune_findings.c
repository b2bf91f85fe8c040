/* SPDX-License-Identifier: Apache-2.0 */
/* The search as findings: what each offset costs, and what it gives. */
#include "ttprem/tuning.h"

#include "report/findings/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_offset(const void *a, const void *b) {
  const prem_tune_point *x = a, *y = b;
  return (x->offset_ns > y->offset_ns) - (x->offset_ns < y->offset_ns);
}

static const char *judgement(const prem_tune_point *point) {
  return !point->planned ? "no plan" : point->kept ? "kept" : "failed";
}

static void add_point(prem_table *table, const char *key, const prem_tune_point *point) {
  const bool seen = point->planned && point->samples > 0;
  const bool released = seen && point->releases > 0;
  prem_table_row(table, TEXT(key), INT(point->offset_ns), TEXT(judgement(point)), INT(point->tries),
                 REAL_IF(seen, point->makespan_ns), INT_IF(seen, point->makespan_max_ns),
                 INT_IF(released, point->lateness_max_ns),
                 REAL_IF(released, 100.0 * (double)point->late / (double)point->releases),
                 INT_IF(seen, point->overruns), REAL_IF(seen, point->isolation_p50),
                 REAL_IF(seen, point->isolation_p999), REAL_IF(seen, point->isolation_max));
}

static void add_search(prem_table *table, const prem_tune_search *search) {
  const size_t count = (size_t)search->result.count;
  prem_tune_point *sorted = calloc(count + 1, sizeof *sorted);
  if (!sorted)
    return;
  if (count > 0)
    memcpy(sorted, search->result.points, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_offset);
  for (size_t i = 0; i < count; ++i)
    add_point(table, search->key, &sorted[i]);
  free(sorted);
}

static void add_points(prem_findings *findings, const prem_tune_search *searches, int32_t count) {
  prem_table *table = prem_table_begin(
      findings, "offsets", "Every offset that was measured: what it costs and what it keeps", NULL,
      "key; offset [ns]; limits; tries; makespan [ns]; longest_makespan [ns]; lateness [ns]; "
      "late [%]; overruns; isolation_p50; isolation_p99.9; isolation_longest");
  for (int32_t i = 0; i < count; ++i)
    add_search(table, &searches[i]);
}

static void add_charts(prem_findings *findings) {
  static const prem_chart charts[] = {
      {.kind = PREM_CHART_LINES,
       .title = "Makespan (mean) over the offset",
       .table = "offsets",
       .x = "offset",
       .y = "makespan",
       .series = "key"},
      {.kind = PREM_CHART_LINES,
       .title = "Worst lateness over the offset",
       .table = "offsets",
       .x = "offset",
       .y = "lateness",
       .series = "key"},
      {.kind = PREM_CHART_LINES,
       .title = "Isolation of memory phases over the offset: longest with neighbours / alone",
       .table = "offsets",
       .x = "offset",
       .y = "isolation_longest",
       .series = "key"}};
  for (size_t i = 0; i < sizeof charts / sizeof *charts; ++i)
    prem_findings_chart(findings, &charts[i]);
}

/* Nothing shorter was tried: the range ends there. */
static bool is_min(const prem_tune_result *result, const prem_tune_point *best) {
  for (int32_t i = 0; i < result->count; ++i)
    if (result->points[i].offset_ns < best->offset_ns)
      return false;
  return true;
}

static void say_search(char *text, size_t bytes, const prem_tune_search *search) {
  const prem_tune_result *result = &search->result;
  const prem_tune_point *best = result->best >= 0 ? &result->points[result->best] : NULL;
  const prem_tune_point *swept =
      result->best_swept >= 0 ? &result->points[result->best_swept] : NULL;
  if (!best) {
    snprintf(text, bytes, "%s: no offset that was tried keeps the limits", search->key);
    return;
  }
  const int used =
      snprintf(text, bytes,
               "%s: %" PRId64 " ns is the smallest %s that keeps the limits (it was %" PRId64
               " ns), mean makespan %.0f ns",
               search->key, best->offset_ns, is_min(result, best) ? "of the range" : "offset",
               search->start_ns, best->makespan_ns);
  if (swept && used > 0 && (size_t)used < bytes) {
    const double apart_pct = 100 * (best->makespan_ns / swept->makespan_ns - 1);
    snprintf(text + used, bytes - (size_t)used,
             "; the best of the full sweep is %" PRId64
             " ns with %.0f ns: the search ends %.2f %% %s it",
             swept->offset_ns, swept->makespan_ns, fabs(apart_pct),
             apart_pct > 0 ? "above" : "below");
  }
}

static void add_verdict(prem_findings *findings, const prem_tune_search *searches, int32_t count) {
  char text[1024] = "", one[512];
  size_t used = 0;
  for (int32_t i = 0; i < count && used < sizeof text; ++i) {
    say_search(one, sizeof one, &searches[i]);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "; " : "", one);
  }
  prem_findings_verdict(findings, "%s.", text);
}

prem_findings *prem_tune_findings(const prem_schedule *schedule, const prem_tune_search *searches,
                                  int32_t count, const char *limits) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "Tuning of %s", schedule->name);
  prem_findings *findings = prem_findings_new(
      "tuning", title, "How small can the offset between starts be, and what does it cost?");
  if (!findings)
    return NULL;
  add_points(findings, searches, count);
  add_charts(findings);
  prem_findings_note(findings, "Limits: %s.", limits);
  prem_findings_note(findings,
                     "An offset is kept when every try kept the limits; the one found was tried "
                     "twice as often. Isolation: the first task of each kernel, in tt.");
  add_verdict(findings, searches, count);
  return findings;
}
