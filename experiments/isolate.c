/* The isolation certificate: every task alone, with its neighbours, with hostile ones. */
#include "hostile.h"
#include "observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Parties in the order alone, all together, hostile: [0, n), n, (n, 2 n]. */
typedef struct certifying {
  const prem_schedule *schedule;
  const prem_backend *backend;
  const prem_isolate_options *options;
  prem_isolation *result;
  prem_party *parties;
  prem_schedule **schedules; /* of each party but the one of all; owned */
  int32_t party_count;
  prem_diag *diag;
} certifying;

const char *prem_company_name(prem_company company) {
  static const char *const names[PREM_COMPANY_COUNT] = {"alone", "neighbours", "hostile"};
  return company < PREM_COMPANY_COUNT ? names[company] : "unknown";
}

/* ---- parties -------------------------------------------------------------------------------- */

static prem_party *party_of(const certifying *all, prem_company company, int32_t t) {
  const int32_t tasks = all->schedule->task_count;
  const int32_t index = company == PREM_ALONE        ? t
                        : company == PREM_NEIGHBOURS ? tasks
                                                     : tasks + 1 + t;
  return &all->parties[index];
}

static prem_status make_alone(certifying *all, int32_t t, bool *keep) {
  memset(keep, 0, (size_t)all->schedule->task_count * sizeof *keep);
  keep[t] = true;
  return prem_schedule_subset(all->schedule, keep, &all->schedules[t]);
}

static prem_status make_schedules(certifying *all, bool *keep, int32_t *elements) {
  const int32_t tasks = all->schedule->task_count;
  prem_status status = prem_hostile_size(all->schedule, all->backend, all->options, elements,
                                         all->result->hostile, all->diag);
  for (int32_t t = 0; t < tasks && status == PREM_OK; ++t) {
    status = make_alone(all, t, keep);
    if (status == PREM_OK)
      status = prem_hostile_schedule(all->schedule, elements, t, &all->schedules[tasks + 1 + t],
                                     all->diag);
  }
  return status;
}

static prem_status open_parties(certifying *all) {
  const size_t tasks = (size_t)all->schedule->task_count;
  bool *keep = calloc(tasks + 1, sizeof *keep);
  int32_t *elements = calloc(tasks + 1, sizeof *elements);
  prem_status status = PREM_ERR_MEMORY;
  if (keep && elements)
    status = make_schedules(all, keep, elements);
  for (int32_t i = 0; i < all->party_count && status == PREM_OK; ++i) {
    const int32_t company = i < (int32_t)tasks    ? PREM_ALONE
                            : i == (int32_t)tasks ? PREM_NEIGHBOURS
                                                  : PREM_HOSTILE;
    all->parties[i].label = prem_company_name((prem_company)company);
    all->parties[i].schedule = all->schedules[i] ? all->schedules[i] : all->schedule;
    status = prem_party_open(&all->parties[i], all->backend, all->diag);
  }
  free(keep);
  free(elements);
  return status;
}

/* ---- folding -------------------------------------------------------------------------------- */

static void fold_task(const certifying *all, const prem_isolation_mode *mode, int32_t t,
                      prem_company company) {
  const prem_party *party = party_of(all, company, t);
  const prem_observed *observed = &party->observed[mode->mode];
  prem_isolation_task *task = &mode->tasks[t];
  const int32_t at = prem_schedule_find_task(party->schedule, task->name);
  prem_summarise(observed->responses[at].ns, observed->responses[at].count,
                 &task->response_ns[company]);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    prem_times_summarise(&observed->phases[at * PREM_PHASE_COUNT + p].steady,
                         &task->phase_ns[p][company]);
}

static void fold_counts(const certifying *all, prem_isolation_mode *mode, prem_company company,
                        int32_t t) {
  const prem_observed *observed = &party_of(all, company, t)->observed[mode->mode];
  mode->releases[company] += observed->releases;
  mode->late[company] += observed->late;
  mode->overruns[company] += observed->overruns;
  all->result->output_ok &= !observed->output_wrong;
  all->result->oversubscribed |= observed->oversubscribed;
  all->result->lost += observed->lost;
}

static void fold_mode(const certifying *all, prem_isolation_mode *mode) {
  for (int32_t t = 0; t < all->schedule->task_count; ++t)
    for (int company = 0; company < PREM_COMPANY_COUNT; ++company) {
      fold_task(all, mode, t, (prem_company)company);
      if (company != PREM_NEIGHBOURS || t == 0)
        fold_counts(all, mode, (prem_company)company, t);
    }
  prem_times_summarise(&party_of(all, PREM_NEIGHBOURS, 0)->observed[mode->mode].makespan,
                       &mode->makespan_ns);
}

static prem_status measure(const certifying *all) {
  const prem_isolate_options *options = all->options;
  prem_observe_options observe = {.backend = all->backend,
                                  .mode_count = options->mode_count,
                                  .scenario = options->scenario,
                                  .samples = options->samples,
                                  .rounds = options->rounds,
                                  .discard = options->discard,
                                  .seed = options->seed,
                                  .max_records = options->max_records,
                                  .engine = options->engine,
                                  .stop = options->stop,
                                  .progress = options->progress,
                                  .progress_context = options->progress_context};
  for (int32_t m = 0; m < options->mode_count; ++m)
    observe.modes[m] = options->modes[m];
  prem_status status = prem_observe(all->parties, all->party_count, &observe, all->diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED)
    for (int32_t m = 0; m < all->result->mode_count; ++m)
      fold_mode(all, &all->result->modes[m]);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status make_result(const prem_schedule *schedule, const prem_isolate_options *options,
                               prem_isolation **out) {
  const size_t tasks = (size_t)schedule->task_count + 1;
  prem_isolation *result = *out = calloc(1, sizeof *result);
  if (!result)
    return PREM_ERR_MEMORY;
  result->task_count = schedule->task_count;
  result->mode_count = options->mode_count;
  result->samples = options->samples;
  result->rounds = options->rounds < options->samples ? options->rounds : options->samples;
  result->output_ok = true;
  result->hostile = calloc(tasks, sizeof *result->hostile);
  bool whole = result->hostile != NULL;
  for (int32_t m = 0; m < options->mode_count; ++m) {
    prem_isolation_mode *mode = &result->modes[m];
    mode->mode = options->modes[m];
    mode->tasks = calloc(tasks, sizeof *mode->tasks);
    whole &= mode->tasks != NULL;
    for (int32_t t = 0; mode->tasks && t < schedule->task_count; ++t)
      memcpy(mode->tasks[t].name, schedule->tasks[t].name, sizeof mode->tasks[t].name);
  }
  return whole ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status certify(certifying *all) {
  prem_status status = open_parties(all);
  if (status == PREM_OK) {
    all->result->clock_step_ns =
        prem_session_machine(party_of(all, PREM_NEIGHBOURS, 0)->session)->clock_step_ns;
    status = measure(all);
  }
  return status;
}

prem_status prem_isolate(const prem_schedule *schedule, const prem_backend *backend,
                         const prem_isolate_options *options, prem_isolation **out,
                         prem_diag *diag) {
  *out = NULL;
  if (!schedule->plan || options->samples < 1 || options->mode_count < 1)
    return PREM_ERR_ARGUMENT;
  certifying all = {.schedule = schedule,
                    .backend = backend,
                    .options = options,
                    .diag = diag,
                    .party_count = 2 * schedule->task_count + 1};
  const size_t parties = (size_t)all.party_count;
  prem_status status = make_result(schedule, options, &all.result);
  all.parties = calloc(parties, sizeof *all.parties);
  all.schedules = calloc(parties, sizeof(prem_schedule *));
  if (status == PREM_OK)
    status = all.parties && all.schedules ? certify(&all) : PREM_ERR_MEMORY;
  for (int32_t i = 0; i < all.party_count; ++i) {
    if (all.parties)
      prem_party_close(&all.parties[i]);
    if (all.schedules)
      prem_schedule_free(all.schedules[i]);
  }
  free(all.parties);
  free(all.schedules);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    all.result->interrupted = status == PREM_ERR_INTERRUPTED;
    *out = all.result;
  } else {
    prem_isolation_free(all.result);
  }
  return status;
}

void prem_isolation_free(prem_isolation *isolation) {
  if (!isolation)
    return;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    free(isolation->modes[m].tasks);
  free(isolation->hostile);
  free(isolation);
}

int64_t prem_isolation_moved_ns(const prem_isolation_task *task, prem_company company) {
  const prem_summary *alone = &task->response_ns[PREM_ALONE];
  const prem_summary *beside = &task->response_ns[company];
  if (alone->count == 0 || beside->count == 0)
    return -1;
  const int64_t middle_ns = llabs(beside->p50 - alone->p50);
  const int64_t longest_ns = llabs(beside->max - alone->max);
  return middle_ns > longest_ns ? middle_ns : longest_ns;
}

/* ---- findings ------------------------------------------------------------------------------- */

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
                       "%d of %d tasks have no kernel or lack a memory phase: as neighbours they "
                       "stand for themselves, and are not hostile.",
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
  add_notes(findings, isolation);
  add_verdict(findings, isolation);
  prem_findings_output(findings, isolation->output_ok);
  return findings;
}
