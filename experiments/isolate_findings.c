/* The isolation certificate as findings: tables, charts, the sentence. */
#include "ttprem/isolation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** The largest ratios, in company to alone, of all memory phases. */
typedef struct worst_ratios {
  double p50, p999, max; /* NAN: not measured */
} worst_ratios;

/* Percentiles that the sample does not carry are INT64_MIN. */
static double ratio(int64_t beside_ns, int64_t alone_ns) {
  return beside_ns < 0 || alone_ns <= 0 ? (double)NAN : (double)beside_ns / (double)alone_ns;
}

static double larger_known(double a, double b) {
  return isnan(a) || b > a ? b : a;
}

static worst_ratios ratios_of(const prem_isolation_task *task, int phase, prem_company company) {
  const prem_summary *alone = &task->phase_ns[phase][PREM_ALONE];
  const prem_summary *beside = &task->phase_ns[phase][company];
  if (alone->count == 0 || beside->count == 0)
    return (worst_ratios){(double)NAN, (double)NAN, (double)NAN};
  return (worst_ratios){ratio(beside->p50, alone->p50), ratio(beside->p999, alone->p999),
                        ratio(beside->max, alone->max)};
}

static worst_ratios worst_of(const prem_isolation *isolation, const prem_isolation_mode *mode,
                             prem_company company) {
  worst_ratios worst = {(double)NAN, (double)NAN, (double)NAN};
  for (int32_t t = 0; t < isolation->task_count; ++t)
    for (int p = PREM_PREFETCH; p <= PREM_WRITEBACK; p += PREM_WRITEBACK - PREM_PREFETCH) {
      const worst_ratios one = ratios_of(&mode->tasks[t], p, company);
      worst.p50 = larger_known(worst.p50, one.p50);
      worst.p999 = larger_known(worst.p999, one.p999);
      worst.max = larger_known(worst.max, one.max);
    }
  return worst;
}

static int64_t furthest_ns(const prem_isolation *isolation, const prem_isolation_mode *mode,
                           prem_company company) {
  int64_t furthest = -1;
  for (int32_t t = 0; t < isolation->task_count; ++t) {
    const int64_t moved_ns = prem_isolation_moved_ns(&mode->tasks[t], company);
    furthest = moved_ns > furthest ? moved_ns : furthest;
  }
  return furthest;
}

static double steps_of(const prem_isolation *isolation, int64_t ns) {
  const int64_t step_ns = isolation->clock_step_ns > 0 ? isolation->clock_step_ns : 1;
  return ns < 0 ? (double)NAN : (double)ns / (double)step_ns;
}

static void add_known(prem_table *table, int64_t value) {
  if (value < 0)
    prem_table_add_real(table, (double)NAN);
  else
    prem_table_add_int(table, value);
}

static void add_summary(prem_table *table, const prem_summary *summary) {
  prem_table_add_int(table, summary->count);
  const int64_t values[] = {summary->min, summary->p50, summary->p999, summary->max};
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
    add_known(table, summary->count > 0 ? values[i] : -1);
}

static void name_columns(prem_table *table, const char *const *columns) {
  for (; *columns; columns += 2)
    prem_table_column(table, columns[0], columns[1]);
}

static void add_responses(prem_findings *findings, const prem_isolation *isolation) {
  static const char *const columns[] = {"mode",        "",   "task",       "",   "company", "",
                                        "jobs",        "",   "min",        "ns", "p50",     "ns",
                                        "p99.9",       "ns", "longest",    "ns", "moved",   "ns",
                                        "clock_steps", "",   "spread_pct", "%",  NULL};
  prem_table *table =
      prem_findings_table(findings, "responses",
                          "Response times, and how far they moved from what they are alone", NULL);
  name_columns(table, columns);
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int c = 0; c < PREM_COMPANY_COUNT; ++c) {
        const prem_isolation_task *task = &isolation->modes[m].tasks[t];
        const prem_summary *response = &task->response_ns[c];
        const int64_t moved_ns = prem_isolation_moved_ns(task, (prem_company)c);
        prem_table_add_text(table, prem_mode_name(isolation->modes[m].mode));
        prem_table_add_text(table, task->name);
        prem_table_add_text(table, prem_company_name((prem_company)c));
        add_summary(table, response);
        add_known(table, moved_ns);
        prem_table_add_real(table, steps_of(isolation, moved_ns));
        prem_table_add_real(table,
                            response->mean > 0
                                ? 100.0 * (double)(response->max - response->min) / response->mean
                                : (double)NAN);
      }
}

static void add_phases(prem_findings *findings, const prem_isolation *isolation) {
  static const char *const columns[] = {
      "mode",        "",   "task",          "",   "phase", "",   "company", "",   "count",     "",
      "min",         "ns", "p50",           "ns", "p99.9", "ns", "longest", "ns", "ratio_p50", "",
      "ratio_p99.9", "",   "ratio_longest", "",   NULL};
  prem_table *table = prem_findings_table(findings, "phases",
                                          "Phases, and their ratio to what they are alone", NULL);
  name_columns(table, columns);
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int32_t t = 0; t < isolation->task_count; ++t)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        for (int c = 0; c < PREM_COMPANY_COUNT; ++c) {
          const prem_isolation_task *task = &isolation->modes[m].tasks[t];
          if (task->phase_ns[p][PREM_NEIGHBOURS].count == 0)
            continue;
          const worst_ratios ratios = ratios_of(task, p, (prem_company)c);
          prem_table_add_text(table, prem_mode_name(isolation->modes[m].mode));
          prem_table_add_text(table, task->name);
          prem_table_add_text(table, prem_phase_name((prem_phase)p));
          prem_table_add_text(table, prem_company_name((prem_company)c));
          add_summary(table, &task->phase_ns[p][c]);
          prem_table_add_real(table, ratios.p50);
          prem_table_add_real(table, ratios.p999);
          prem_table_add_real(table, ratios.max);
        }
}

static bool is_first_of_kernel(const prem_schedule *schedule, int32_t t) {
  for (int32_t before = 0; before < t; ++before)
    if (strcmp(schedule->tasks[before].kernel, schedule->tasks[t].kernel) == 0)
      return false;
  return true;
}

static void add_curve(prem_table *table, prem_mode mode, const prem_isolation_task *task, int phase,
                      int company) {
  char series[2 * PREM_NAME_BYTES];
  if (task->phase_ns[phase][company].count == 0)
    return;
  snprintf(series, sizeof series, "%s %s, %s, %s", task->name, prem_phase_name((prem_phase)phase),
           prem_mode_name(mode), prem_company_name((prem_company)company));
  for (int32_t i = 0; i < PREM_QUANTILES; ++i) {
    prem_table_add_text(table, series);
    prem_table_add_int(table, task->quantile_ns[phase][company][i]);
    prem_table_add_real(table, (double)prem_quantile_per_mille(i) / 1000);
  }
}

/* Of the prefetches of the first task of each kernel: the others' would hide them. */
static void add_curves(prem_findings *findings, const prem_isolation *isolation,
                       const prem_schedule *schedule) {
  static const prem_chart chart = {.kind = PREM_CHART_STEPS,
                                   .title = "Prefetches of the first task of each kernel: share "
                                            "that takes no longer",
                                   .table = "curves",
                                   .x = "time",
                                   .y = "share",
                                   .series = "phase",
                                   .log_x = true};
  prem_table *table = prem_findings_table(findings, "curves", "Distributions of prefetches", NULL);
  prem_table_column(table, "phase", "");
  prem_table_column(table, "time", "ns");
  prem_table_column(table, "share", "");
  for (int32_t t = 0; t < isolation->task_count; ++t)
    for (int32_t m = 0; m < isolation->mode_count && is_first_of_kernel(schedule, t); ++m)
      for (int c = 0; c < PREM_COMPANY_COUNT; ++c)
        add_curve(table, isolation->modes[m].mode, &isolation->modes[m].tasks[t], PREM_PREFETCH, c);
  prem_findings_chart(findings, &chart);
}

static void add_certificate(prem_findings *findings, const prem_isolation *isolation) {
  static const char *const columns[] = {
      "mode",        "", "company",       "", "moved", "ns", "clock_steps", "", "ratio_p50", "",
      "ratio_p99.9", "", "ratio_longest", "", "late",  "",   "overruns",    "", NULL};
  prem_table *table = prem_findings_table(
      findings, "certificate",
      "Furthest that any response time moved, largest ratios of any memory phase", NULL);
  name_columns(table, columns);
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    for (int c = PREM_NEIGHBOURS; c < PREM_COMPANY_COUNT; ++c) {
      const prem_isolation_mode *mode = &isolation->modes[m];
      const worst_ratios worst = worst_of(isolation, mode, (prem_company)c);
      const int64_t moved_ns = furthest_ns(isolation, mode, (prem_company)c);
      const bool released = mode->releases[c] > 0;
      prem_table_add_text(table, prem_mode_name(mode->mode));
      prem_table_add_text(table, prem_company_name((prem_company)c));
      add_known(table, moved_ns);
      prem_table_add_real(table, steps_of(isolation, moved_ns));
      prem_table_add_real(table, worst.p50);
      prem_table_add_real(table, worst.p999);
      prem_table_add_real(table, worst.max);
      add_known(table, released ? mode->late[c] : -1);
      add_known(table, released ? mode->overruns[c] : -1);
    }
}

static void add_hostility(prem_findings *findings, const prem_isolation *isolation) {
  static const char *const columns[] = {"task", "",     "bytes", "",  "own_bytes",
                                        "",     "fill", "%",     NULL};
  prem_table *table = prem_findings_table(
      findings, "hostile", "What a tile of each hostile task moves, and how full its window is",
      NULL);
  name_columns(table, columns);
  for (int32_t t = 0; t < isolation->task_count; ++t) {
    const prem_hostility *hostile = &isolation->hostile[t];
    prem_table_add_text(table, isolation->modes[0].tasks[t].name);
    add_known(table, hostile->replaced ? hostile->bytes_per_tile : -1);
    prem_table_add_int(table, hostile->own_bytes_per_tile);
    prem_table_add_real(table, hostile->replaced ? hostile->fill_pct : (double)NAN);
  }
}

static void add_charts(prem_findings *findings) {
  static const prem_chart charts[] = {
      {.kind = PREM_CHART_BARS,
       .title = "Response time of any task: how far it moved, in clock steps",
       .table = "certificate",
       .x = "mode",
       .y = "clock_steps",
       .series = "company"},
      {.kind = PREM_CHART_BARS,
       .title = "Memory phases: longest in company over longest alone",
       .table = "certificate",
       .x = "mode",
       .y = "ratio_longest",
       .series = "company"},
      {.kind = PREM_CHART_BARS,
       .title = "Memory phases: median in company over median alone",
       .table = "certificate",
       .x = "mode",
       .y = "ratio_p50",
       .series = "company"}};
  for (size_t i = 0; i < sizeof charts / sizeof *charts; ++i)
    prem_findings_chart(findings, &charts[i]);
}

static void add_notes(prem_findings *findings, const prem_isolation *isolation) {
  prem_findings_note(findings,
                     "Each company and mode: %lld samples in %lld rounds, all of it interleaved in "
                     "random order; one clock step is %lld ns.",
                     (long long)isolation->samples, (long long)isolation->rounds,
                     (long long)isolation->clock_step_ns);
  int32_t standing = 0;
  for (int32_t t = 0; t < isolation->task_count; ++t)
    standing += !isolation->hostile[t].replaced;
  if (standing > 0)
    prem_findings_note(findings,
                       "%d of %d tasks stand for themselves as hostile neighbours: they have no "
                       "kernel, lack a memory phase, or already move more than their window's "
                       "buffers would let another do.",
                       (int)standing, (int)isolation->task_count);
  if (isolation->lost > 0)
    prem_findings_note(findings, "%lld phases found no room and are not in the phases' times.",
                       (long long)isolation->lost);
  if (isolation->oversubscribed)
    prem_findings_note(findings, "Oversubscribed: more blocks than the machine runs at once; all "
                                 "times include waiting for a core.");
  if (isolation->interrupted)
    prem_findings_incomplete(findings);
}

static void say_mode(char *text, size_t bytes, const prem_isolation *isolation,
                     const prem_isolation_mode *mode) {
  const worst_ratios real = worst_of(isolation, mode, PREM_NEIGHBOURS);
  const worst_ratios hostile = worst_of(isolation, mode, PREM_HOSTILE);
  const int64_t real_ns = furthest_ns(isolation, mode, PREM_NEIGHBOURS);
  const int64_t hostile_ns = furthest_ns(isolation, mode, PREM_HOSTILE);
  if (real_ns < 0 || hostile_ns < 0) {
    snprintf(text, bytes, "%s: not measured in all companies", prem_mode_name(mode->mode));
    return;
  }
  snprintf(text, bytes,
           "%s: response times moved by at most %lld ns (%.1f clock steps) with their neighbours "
           "and %lld ns (%.1f) with hostile ones, the longest memory phase to %.2f and %.2f times "
           "what it is alone",
           prem_mode_name(mode->mode), (long long)real_ns, steps_of(isolation, real_ns),
           (long long)hostile_ns, steps_of(isolation, hostile_ns), real.max, hostile.max);
}

static void add_verdict(prem_findings *findings, const prem_isolation *isolation) {
  char text[PREM_MODE_COUNT * 320] = "";
  for (int32_t m = 0; m < isolation->mode_count; ++m) {
    const size_t used = strlen(text);
    const size_t gap = m > 0 ? 2 : 0;
    memcpy(text + used, "; ", gap);
    say_mode(text + used + gap, sizeof text - used - gap, isolation, &isolation->modes[m]);
  }
  prem_findings_verdict(findings, "%s.", text);
}

prem_findings *prem_isolation_findings(const prem_isolation *isolation,
                                       const prem_schedule *schedule) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "Isolation certificate of %s", schedule->name);
  prem_findings *findings = prem_findings_new(
      "isolation", title,
      "How far do response times and phases move when a task gets neighbours, and "
      "when these are hostile?");
  if (!findings)
    return NULL;
  add_certificate(findings, isolation);
  add_responses(findings, isolation);
  add_phases(findings, isolation);
  add_hostility(findings, isolation);
  add_charts(findings);
  add_curves(findings, isolation, schedule);
  add_notes(findings, isolation);
  add_verdict(findings, isolation);
  prem_findings_output(findings, isolation->output_ok);
  return findings;
}
