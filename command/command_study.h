/* SPDX-License-Identifier: Apache-2.0 */
/** What `ttprem profile`, `isolate` and `tune` share: options, opening a schedule, findings. */
#pragma once

#include "command/command_sampling.h"
#include "command/progress.h"

typedef struct study_options {
  const char *file, *backend, *profile;
  const char *json, *picture; /* findings; NULL: not asked for */
  prem_sampling sampling;     /* SAMPLING_DEFAULTS, and what is given */
  bool scenario_given;
  prem_engine engine;
  const char *no_best_effort; /* why it takes no best-effort tasks, and what to do; NULL: it does */
} study_options;

#define STUDY_DEFAULTS                                                                             \
  { .backend = "auto", .sampling = SAMPLING_DEFAULTS }

/** Child parser; its input is a study_options. */
extern const struct argp study_argp;

/** Servers work their tiles again and again from here on, as other best-effort tasks do: as if
 * there were always errands. */
void study_serve_always(prem_schedule *schedule);

/**
 * Find the backend, load, bind and check the file, plan it in memory if it has no plan, and see
 * that the outputs can be written. Problems are printed.
 *
 * @param keep_plan  false: the file's plan and WCETs are not wanted.
 */
int study_open(study_options *options, bool keep_plan, const prem_backend **backend,
               prem_machine *machine, prem_schedule **schedule);
/** Print findings to stdout (to stderr where stdout is taken), write and draw them as asked. */
int study_report(const study_options *options, const prem_findings *findings,
                 const prem_machine *machine, bool stdout_taken);
/** How far a measurement is. `context` is a progress. */
void study_progress(void *context, int64_t done, int64_t all);
