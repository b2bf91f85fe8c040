/* SPDX-License-Identifier: Apache-2.0 */
/** What all verbs that run schedules share: run and compare (command_measure.h); profile, isolate
 * and tune (command_study.h). */
#pragma once

#include "command/command.h"

/** Raw records kept of one run, 56 bytes each. What finds no room is counted as lost. */
enum { SAMPLING_MAX_RECORDS = 4 << 20 };

/** Before options are read: samples 0 and discard -1 are the file's. */
#define SAMPLING_DEFAULTS                                                                          \
  { .discard = -1, .rounds = 5, .seed = 1, .max_records = SAMPLING_MAX_RECORDS }

/* Usage error (exit 2) through argp when there is none of this name. */
prem_scenario sampling_parse_scenario(struct argp_state *state, const char *text);
prem_engine sampling_parse_engine(struct argp_state *state, const char *text);

/** What the options do not say the file does: scenario; samples, where there is no duration either;
 * and discard. On sim, where every run is the same run, that is 1 and 0. */
prem_sampling sampling_choose(const prem_sampling *asked, bool scenario_given,
                              const prem_schedule *schedule, const prem_backend *backend);
/** Give a file without a plan one, and say so; of times that it does not have a few are measured.
 *  Returns an exit status. */
int sampling_plan(prem_schedule *schedule, const prem_backend *backend,
                  const prem_machine *machine);
/** Print the problems; the exit status of `status`. Frees `diag`. */
int sampling_failed(prem_status status, prem_diag *diag, const char *what);
