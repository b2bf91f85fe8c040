/* The isolation certificate: every task alone, with its neighbours, with hostile ones. */
#include "hostile.h"
#include "observe.h"

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

int64_t prem_quantile_per_mille(int32_t index) {
  static const int64_t last[] = {990, 999, 1000};
  return index < PREM_QUANTILES - 3 ? 50 * index : last[index - (PREM_QUANTILES - 3)];
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

static void fold_phase(const prem_times *times, prem_summary *summary, int64_t *quantiles) {
  prem_times_summarise(times, summary);
  for (int32_t i = 0; i < PREM_QUANTILES; ++i)
    quantiles[i] = prem_times_percentile(times, prem_quantile_per_mille(i));
}

static void fold_task(const certifying *all, const prem_isolation_mode *mode, int32_t t,
                      prem_company company) {
  const prem_party *party = party_of(all, company, t);
  const prem_observed *observed = &party->observed[mode->mode];
  prem_isolation_task *task = &mode->tasks[t];
  const int32_t at = prem_schedule_find_task(party->schedule, task->name);
  prem_summarise(observed->responses[at].ns, observed->responses[at].count,
                 &task->response_ns[company]);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fold_phase(&observed->phases[at * PREM_PHASE_COUNT + p].steady, &task->phase_ns[p][company],
               task->quantile_ns[p][company]);
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
