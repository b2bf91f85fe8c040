/* SPDX-License-Identifier: Apache-2.0 */
/** What intruders did to a schedule, one visit each. */
#pragma once

#include "experiments/thesis/intruders/intruder.h"
#include "measure/interleave.h"

/** All turns of a schedule beside one intruder. */
typedef struct prem_visit {
  prem_variant variant;
  prem_intrusion done;
  prem_standstills standstills[PREM_MODE_COUNT]; /* of all blocks at once, by the traces */
  prem_times launch_ns[PREM_MODE_COUNT];         /* from the call to S */
  bool took_place;
  bool warned; /* what a run had to say beside its numbers has been said */
} prem_visit;

typedef struct prem_visits {
  const char *backend;
  const prem_schedule *schedule;
  int64_t clock_step_ns;
  prem_visit of[PREM_INTRUDER_COUNT];
} prem_visits;

/** Tables, charts, notes and the sentence. */
void prem_visits_tell(prem_visits *visits, prem_findings *findings);
