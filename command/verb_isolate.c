/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem isolate: every task alone, with its neighbours, with stressors. */
#include "command/command_study.h"
#include "ttprem/isolation.h"

#include <string.h>

typedef struct isolate_options {
  study_options common;
  const char *hostile; /* NULL: the usual stressor */
  prem_mode modes[PREM_MODE_COUNT];
  int mode_count;     /* 0: tt and free */
  uint32_t companies; /* 0: all */
  bool sentinel;
} isolate_options;

static void add_modes(isolate_options *options, struct argp_state *state, char *names) {
  char *rest = NULL;
  options->mode_count = 0;
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    const prem_mode mode = command_parse_mode(state, name);
    if (!prem_mode_computes(mode))
      argp_error(state, "mode '%s' has no jobs to isolate; take any other", name);
    for (int i = 0; i < options->mode_count; ++i)
      if (options->modes[i] == mode)
        argp_error(state, "mode '%s' is named twice", name);
    options->modes[options->mode_count++] = mode;
  }
  if (options->mode_count == 0)
    argp_error(state, "--modes: no mode named");
}

static void add_companies(isolate_options *options, struct argp_state *state, char *names) {
  char *rest = NULL;
  options->companies = 0;
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    int c = 0;
    while (c < PREM_LOAD_COMPANIES &&
           strcmp(name, prem_load_company_name((prem_load_company)c)) != 0)
      ++c;
    if (c == PREM_LOAD_COMPANIES)
      argp_error(state,
                 "unknown company '%s'; there are alone, cold, gate, no-gate, partition, "
                 "gated-graph and graph",
                 name);
    options->companies |= 1U << c;
  }
  if (options->companies == 0)
    argp_error(state, "--companies: no company named");
}

static const command_store stores[] = {TAKE_FLAG(OPTION_SENTINEL, isolate_options, sentinel),
                                       TAKE_TEXT(OPTION_HOSTILE, isolate_options, hostile),
                                       TAKE_TEXT('o', isolate_options, common.json),
                                       {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  isolate_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &options->common;
    return 0;
  case 'm':
    add_modes(options, state, text);
    return 0;
  case OPTION_COMPANIES:
    add_companies(options, state, text);
    return 0;
  default:
    return command_take(stores, OPTIONS_ISOLATE, key, text, state);
  }
}

static const struct argp_child children[] = {{.argp = &study_argp}, {0}};
static const struct argp argp = {
    .options = command_options[OPTIONS_ISOLATE],
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc =
        "Isolation certificate: run every task of a schedule alone, with its neighbours, and "
        "with hostile ones that fill their planned windows as far as their buffers allow, all of "
        "it interleaved, and say how far its response times (ns, clock steps) and its phases "
        "(ratios) moved.\n"
        "With best-effort tasks these are the company: with their gate, and without it.\n"
        "Resident (--scenario), --repeat counts hyperperiods, which are divided among ten launches "
        "of each company and mode.\v"
        "The certificate goes to stdout, or to stderr when an output is `-`.\n\n" COMMAND_EXIT_DOC,
};

static int report(const isolate_options *options, const prem_isolation *isolation,
                  const prem_schedule *schedule, const prem_machine *machine) {
  prem_findings *findings = prem_isolation_findings(isolation, schedule);
  if (!findings)
    return command_fail(COMMAND_INVALID, "%s", prem_status_text(PREM_ERR_MEMORY));
  int status = study_report(&options->common, findings, machine, false);
  if (!isolation->valid)
    command_note("the certificate is marked invalid: %s", isolation->disturbed);
  prem_findings_free(findings);
  if (!isolation->output_ok) {
    command_error("%s: wrong output", schedule->name);
    status = COMMAND_INVALID;
  }
  return status;
}

/* Best-effort tasks run in most modes, one of which has the gate. */
static int judge_modes(const isolate_options *options, const prem_isolate_options *isolate) {
  bool has_tt = false;
  for (int i = 0; i < isolate->mode_count; ++i) {
    has_tt |= isolate->modes[i] == PREM_MODE_TT;
    if (isolate->modes[i] != PREM_MODE_LOCK && isolate->modes[i] != PREM_MODE_COPY)
      continue;
    return command_fail(COMMAND_UNAVAILABLE,
                        "%s: mode %s runs no best-effort tasks; name tt, and others with it",
                        options->common.file, prem_mode_name(isolate->modes[i]));
  }
  if (has_tt)
    return COMMAND_DONE;
  return command_fail(
      COMMAND_UNAVAILABLE,
      "%s: only mode tt has the gate that is asked about; name tt, and others with it",
      options->common.file);
}

static int report_load(const isolate_options *options, const prem_load_isolation *isolation,
                       const prem_schedule *schedule, const prem_machine *machine) {
  int status = study_report(&options->common, isolation->findings, machine, false);
  if (isolation->nothing[0]) {
    command_error("%s: nothing to compare: %s; measure longer (--repeat), or see "
                  "docs/timing-method.md, 'Disturbed jobs'",
                  schedule->name, isolation->nothing);
    status = status == COMMAND_DONE ? COMMAND_UNAVAILABLE : status;
  } else if (!isolation->valid) {
    command_note("the findings are marked invalid: %s", isolation->disturbed);
  }
  if (!isolation->output_ok) {
    command_error("%s: wrong output", schedule->name);
    status = COMMAND_INVALID;
  }
  return status;
}

static int isolate(const isolate_options *options, const prem_schedule *schedule,
                   const prem_backend *backend, const prem_machine *machine) {
  prem_isolate_options isolate = {.engine = options->common.engine,
                                  .sentinel = options->sentinel,
                                  .stop = &command_stop,
                                  .hostile = options->hostile,
                                  .companies = options->companies,
                                  .modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                  .mode_count = 2};
  if (options->mode_count) {
    memcpy(isolate.modes, options->modes, sizeof isolate.modes);
    isolate.mode_count = options->mode_count;
  }
  isolate.sampling =
      sampling_choose(&options->common.sampling, options->common.scenario_given, schedule, backend);
  for (int i = 0; i < isolate.mode_count; ++i)
    if (!prem_backend_has_mode(backend, isolate.modes[i]))
      return command_fail(COMMAND_UNAVAILABLE, "mode %s is not available on backend %s",
                          prem_mode_name(isolate.modes[i]), prem_backend_name(backend));
  if (options->sentinel && strcmp(prem_backend_name(backend), "cuda") != 0)
    command_note("--sentinel: backend %s has none, takes no notice", prem_backend_name(backend));
  const bool beside_load = prem_schedule_has_best_effort(schedule);
  if (beside_load && options->hostile)
    return command_fail(
        COMMAND_USAGE,
        "%s: best-effort tasks are the company, so there are no hostile ones; leave "
        "--hostile out",
        options->common.file);
  if (!beside_load && options->companies)
    return command_fail(
        COMMAND_USAGE,
        "%s: there are no best-effort tasks that could be company; leave --companies out",
        options->common.file);
  int status = beside_load ? judge_modes(options, &isolate) : COMMAND_DONE;
  if (status != COMMAND_DONE)
    return status;
  progress line;
  progress_begin(&line);
  isolate.progress = study_progress;
  isolate.progress_context = &line;
  command_catch_signals();
  prem_isolation *isolation = NULL;
  prem_load_isolation *of_load = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status ended = beside_load
                                ? prem_isolate_load(schedule, backend, &isolate, &of_load, diag)
                                : prem_isolate(schedule, backend, &isolate, &isolation, diag);
  progress_end(&line);
  status = sampling_failed(ended, diag, schedule->path);
  const int reported = isolation ? report(options, isolation, schedule, machine)
                       : of_load ? report_load(options, of_load, schedule, machine)
                                 : COMMAND_DONE;
  prem_isolation_free(isolation);
  prem_load_isolation_free(of_load);
  return status == COMMAND_DONE ? reported : status;
}

int verb_isolate(int argc, char **argv) {
  isolate_options options = {.common = STUDY_DEFAULTS};
  command_parse(&argp, argc, argv, &options);
  const prem_backend *backend = NULL;
  prem_machine machine;
  prem_schedule *schedule = NULL;
  int status = study_open(&options.common, true, &backend, &machine, &schedule);
  if (status == COMMAND_DONE)
    status = isolate(&options, schedule, backend, &machine);
  prem_schedule_free(schedule);
  return status;
}
