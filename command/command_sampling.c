/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command_sampling.h"

#include <inttypes.h>
#include <string.h>

#include "ttprem/fit.h"

enum { QUICK_FIT_S = 10 };

prem_scenario sampling_parse_scenario(struct argp_state *state, const char *text) {
  if (strcmp(text, "relaunch") && strcmp(text, "resident"))
    argp_error(state, "unknown scenario '%s'; there are: relaunch, resident", text);
  return strcmp(text, "resident") ? PREM_RELAUNCH : PREM_RESIDENT;
}

prem_engine sampling_parse_engine(struct argp_state *state, const char *text) {
  prem_engine engine = PREM_ENGINE_BEST;
  if (!prem_engine_parse(text, &engine))
    argp_error(state, "unknown engine '%s'; there are: best, bulk, cp_async, vector", text);
  return engine;
}

prem_sampling sampling_choose(const prem_sampling *asked, bool scenario_given,
                              const prem_schedule *schedule, const prem_backend *backend) {
  const prem_measure *file = &schedule->measure;
  const bool deterministic = !strcmp(prem_backend_name(backend), "sim");
  prem_sampling chosen = *asked;
  if (!scenario_given)
    chosen.scenario = file->scenario;
  const int64_t of_file = chosen.scenario == PREM_RESIDENT ? file->hyperperiods : file->runs;
  if (chosen.samples == 0 && !(chosen.duration_s > 0))
    chosen.samples = deterministic ? 1 : of_file;
  if (chosen.discard < 0)
    chosen.discard = deterministic ? 0 : file->discard;
  return chosen;
}

static bool has_times(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (!prem_task_profiled(&schedule->tasks[t]))
      return false;
  return true;
}

/* Of a few runs of all tasks at once: enough to look at the modes, not to hold. */
static int measure_and_plan(prem_schedule *schedule, const prem_backend *backend,
                            const prem_machine *machine) {
  const prem_fit_options options = {
      .margin = -1, .time_limit_s = QUICK_FIT_S, .quick = true, .seed = 1, .stop = &command_stop};
  prem_diag *diag = prem_diag_new();
  prem_fit *fit = NULL;
  const prem_status status = prem_fit_schedule(schedule, backend, machine, &options, &fit, diag);
  prem_fit_free(fit);
  if (status == PREM_OK)
    command_note("%s has no times; a few were measured and it was planned in memory, hyperperiod "
                 "%" PRId64 " ns; `ttprem fit %s -o PLANNED` makes a plan that holds",
                 schedule->path, schedule->plan->hyperperiod_ns, schedule->path);
  return sampling_failed(status, diag, schedule->path);
}

int sampling_plan(prem_schedule *schedule, const prem_backend *backend,
                  const prem_machine *machine) {
  if (!has_times(schedule) && strcmp(prem_backend_name(backend), "sim") != 0)
    return measure_and_plan(schedule, backend, machine);
  prem_diag *diag = prem_diag_new();
  const int status = command_plan_schedule(schedule, machine, NULL, diag);
  prem_diag_free(diag);
  if (status == COMMAND_DONE)
    command_note("%s has no plan; planned in memory: policy %s, hyperperiod %" PRId64 " ns",
                 schedule->path, schedule->plan->policy, schedule->plan->hyperperiod_ns);
  return status;
}

int sampling_failed(prem_status status, prem_diag *diag, const char *what) {
  command_print_diag(diag);
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", what, prem_status_text(status));
  prem_diag_free(diag);
  return command_exit_status(status);
}
