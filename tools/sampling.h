/* SPDX-License-Identifier: Apache-2.0 */
/** What all verbs that run schedules share: run and compare (measuring.h); profile, isolate and
 * tune (observing.h). */
#ifndef TTPREM_TOOLS_SAMPLING_H
#define TTPREM_TOOLS_SAMPLING_H

#include "tools/command.h"

/** Raw records kept of one run, 56 bytes each. What finds no room is counted as lost. */
enum { SAMPLING_MAX_RECORDS = 4 << 20 };

/* Usage error (exit 2) through argp when there is none of this name. */
prem_scenario sampling_parse_scenario(struct argp_state *state, const char *text);
prem_engine sampling_parse_engine(struct argp_state *state, const char *text);

/** The samples that the file asks for, and how many more at the start are not counted; on sim,
 * where every run is the same run, 1 and 0. */
void sampling_counts(const prem_schedule *schedule, const prem_backend *backend,
                     prem_scenario scenario, int64_t *samples, int64_t *discard);
/** Give a file without a plan one, and say so. Returns an exit status. */
int sampling_plan(prem_schedule *schedule, const prem_machine *machine);
/** Print the problems; the exit status of `status`. Frees `diag`. */
int sampling_failed(prem_status status, prem_diag *diag, const char *what);

#endif
