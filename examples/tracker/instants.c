/* SPDX-License-Identifier: Apache-2.0 */
#include "instants.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- times ---- */

prem_status instants_add(instants *of, int64_t behind_ns) {
  if (of->count == of->room) {
    const size_t room = of->room ? 2 * of->room : 1024;
    int64_t *larger = realloc(of->behind_ns, room * sizeof *larger);
    if (!larger)
      return PREM_ERR_MEMORY;
    of->behind_ns = larger;
    of->room = room;
  }
  of->behind_ns[of->count++] = behind_ns;
  return PREM_OK;
}

void instants_free(instants *of) {
  free(of->behind_ns);
  *of = (instants){0};
}

static int compare_times(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void instants_sort(instants *of) {
  if (of->count > 0)
    qsort(of->behind_ns, of->count, sizeof *of->behind_ns, compare_times);
}

int64_t instants_at(const instants *of, double q) {
  if (of->count == 0)
    return 0;
  const double rank = ceil(q * (double)of->count - 1e-9);
  const size_t at = rank < 1 ? 1 : rank > (double)of->count ? of->count : (size_t)rank;
  return of->behind_ns[at - 1];
}

instant_summary instants_summary(const instants *of) {
  return (instant_summary){.count = of->count,
                           .least_ns = instants_at(of, 0),
                           .p50_ns = instants_at(of, 0.5),
                           .p99_ns = instants_at(of, 0.99),
                           .p999_ns = instants_at(of, 0.999),
                           .largest_ns = instants_at(of, 1)};
}

/* ---- files ---- */

static prem_status refuse(prem_diag *diag, const char *path, int line, prem_status status,
                          const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, line}, "", "%s", reason);
  return status;
}

prem_status instants_read(const char *path, instants *out, prem_diag *diag) {
  static const char header[] = "frame,planned_ns,shown_ns\n";
  char text[128], rest;
  int line = 0;
  FILE *file = fopen(path, "re");
  if (!file)
    return refuse(diag, path, 0, PREM_ERR_IO, strerror(errno));
  prem_status status = PREM_OK;
  while (status == PREM_OK && fgets(text, sizeof text, file)) {
    int64_t frame, planned_ns, shown_ns;
    if (++line == 1)
      status = strcmp(text, header) == 0 ? PREM_OK : PREM_ERR_PARSE;
    else if (sscanf(text, "%" SCNd64 ",%" SCNd64 ",%" SCNd64 "%c", &frame, &planned_ns, &shown_ns,
                    &rest) != 4 ||
             rest != '\n')
      status = PREM_ERR_PARSE;
    else
      status = instants_add(out, shown_ns - planned_ns);
  }
  if (status == PREM_OK && ferror(file))
    status = refuse(diag, path, 0, PREM_ERR_IO, strerror(errno));
  else if (status == PREM_ERR_PARSE || (status == PREM_OK && line == 0))
    status = refuse(diag, path, line, PREM_ERR_PARSE,
                    line <= 1 ? "its first line is not frame,planned_ns,shown_ns"
                              : "is no row of frame,planned_ns,shown_ns");
  fclose(file);
  instants_sort(out);
  return status;
}

/* ---- findings ---- */

static double us(int64_t ns) {
  return (double)ns / 1e3;
}

static void tell_summaries(prem_findings *findings, const instants *runs, size_t count) {
  prem_table *table =
      prem_findings_table(findings, "instants", "Shown after the planned instant", NULL);
  prem_table_column(table, "run", "");
  prem_table_column(table, "boxes", "");
  static const char *const names[] = {"least", "median", "p99", "p99.9", "largest", "spread"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    prem_table_column(table, names[i], "us");
  for (size_t r = 0; r < count; ++r) {
    const instant_summary of = instants_summary(&runs[r]);
    const int64_t all[] = {of.least_ns, of.p50_ns,     of.p99_ns,
                           of.p999_ns,  of.largest_ns, of.largest_ns - of.least_ns};
    prem_table_add_text(table, runs[r].name);
    prem_table_add_int(table, (int64_t)of.count);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
      prem_table_add_real(table, of.count > 0 ? us(all[i]) : NAN);
  }
}

/* Distances from the median, sorted. */
static prem_status distances(const instants *of, instants *out) {
  prem_status status = PREM_OK;
  const int64_t middle_ns = instants_at(of, 0.5);
  for (size_t i = 0; i < of->count && status == PREM_OK; ++i)
    status = instants_add(out, llabs(of->behind_ns[i] - middle_ns));
  instants_sort(out);
  return status;
}

static void tell_distribution(prem_findings *findings, const instants *runs, size_t count) {
  static const double tail[] = {0.999, 0.9999, 1};
  prem_table *table = prem_findings_table(findings, "distribution",
                                          "The same as shares: so many boxes are no later", NULL);
  prem_table_column(table, "behind", "us");
  prem_table_column(table, "from the median", "us");
  prem_table_column(table, "share", "%");
  prem_table_column(table, "run", "");
  for (size_t r = 0; r < count; ++r) {
    instants away = {0};
    if (distances(&runs[r], &away) == PREM_OK)
      for (int i = 0; i < 103 && runs[r].count > 0; ++i) {
        const double share = i < 100 ? i / 100.0 : tail[i - 100];
        const int64_t away_ns = instants_at(&away, share);
        prem_table_add_real(table, us(instants_at(&runs[r], share)));
        prem_table_add_real(table, away_ns > 0 ? us(away_ns) : 0.001); /* a logarithm has no 0 */
        prem_table_add_real(table, share * 100);
        prem_table_add_text(table, runs[r].name);
      }
    instants_free(&away);
  }
}

void instants_tell(prem_findings *findings, const instants *runs, size_t count) {
  tell_summaries(findings, runs, count);
  tell_distribution(findings, runs, count);
  prem_chart chart = {.kind = PREM_CHART_STEPS,
                      .title = "Boxes shown no further from their median than so long",
                      .table = "distribution",
                      .x = "from the median",
                      .y = "share",
                      .series = "run",
                      .log_x = true};
  prem_findings_chart(findings, &chart);
  chart.title = "Boxes shown no later than so long after their planned instant";
  chart.x = "behind";
  chart.log_x = false;
  prem_findings_chart(findings, &chart);
}

prem_status instants_write(const instants *runs, size_t count, const prem_machine *machine,
                           const char *command, const char *path, prem_diag *diag) {
  prem_findings *findings =
      prem_findings_new("tracker_instants", "When boxes are shown",
                        "How far from its planned instant is a frame's box shown?");
  const instants *widest = NULL, *narrowest = NULL;
  for (size_t r = 0; r < count; ++r) {
    const int64_t spread_ns = instants_at(&runs[r], 1) - instants_at(&runs[r], 0);
    if (runs[r].count == 0)
      continue;
    if (!widest || spread_ns > instants_at(widest, 1) - instants_at(widest, 0))
      widest = &runs[r];
    if (!narrowest || spread_ns < instants_at(narrowest, 1) - instants_at(narrowest, 0))
      narrowest = &runs[r];
  }
  if (widest)
    prem_findings_verdict(
        findings, "From the earliest to the latest box: %.1f us of %s, %.1f us of %s.",
        us(instants_at(narrowest, 1) - instants_at(narrowest, 0)), narrowest->name,
        us(instants_at(widest, 1) - instants_at(widest, 0)), widest->name);
  prem_findings_note(findings, "Frames without a result are not in it. What has no plan is planned "
                               "so long after a frame's instant as its options say.");
  instants_tell(findings, runs, count);
  const prem_status status =
      findings ? prem_findings_write(findings, machine, command, path, diag) : PREM_ERR_MEMORY;
  prem_findings_free(findings);
  return status;
}
