/* SPDX-License-Identifier: Apache-2.0 */
/** What `ttprem profile`, `isolate` and `tune` share: options, opening a schedule, findings. */
#ifndef TTPREM_TOOLS_OBSERVING_H
#define TTPREM_TOOLS_OBSERVING_H

#include "tools/progress.h"
#include "tools/sampling.h"

typedef struct observing_options {
  const char *file, *backend, *profile;
  const char *json, *picture; /* findings; NULL: not asked for */
  int64_t repeat;             /* samples of each schedule and mode; 0: the file's */
  int64_t rounds, discard;    /* discard -1: the file's */
  prem_scenario scenario;
  bool scenario_given;
  prem_engine engine;
  uint64_t seed;
} observing_options;

#define OBSERVING_DEFAULTS                                                                         \
  { .backend = "auto", .rounds = 5, .discard = -1, .seed = 1 }

/** Child parser; its input is an observing_options. */
extern const struct argp observing_argp;

/**
 * Find the backend, load, bind and check the file, plan it in memory if it has no plan, and see
 * that the outputs can be written. Problems are printed.
 *
 * @param keep_plan  false: the file's plan and WCETs are not wanted.
 */
int observing_open(observing_options *options, bool keep_plan, const prem_backend **backend,
                   prem_machine *machine, prem_schedule **schedule);
/** The number of samples and of those left out that the options or the file ask for. */
void observing_counts(const observing_options *options, const prem_schedule *schedule,
                      const prem_backend *backend, prem_scenario *scenario, int64_t *samples,
                      int64_t *discard);
/** Print findings to stdout (to stderr where stdout is taken), write and draw them as asked. */
int observing_report(const observing_options *options, const prem_findings *findings,
                     const prem_machine *machine, bool stdout_taken);
/** How far a measurement is. `context` is a progress. */
void observing_progress(void *context, int64_t done, int64_t all);

#endif
