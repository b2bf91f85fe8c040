/* SPDX-License-Identifier: Apache-2.0 */
/* The lateness that ended a live session: the release, and with what its chain of waits began. */
#include "ttprem/tally.h"

#include <stdlib.h>

#include "measure/kept.h"
#include "prem/base/numbers.h"

/* Of all that was late from there on, the worst: who looks stops at the first. */
static const prem_first_cause *worst_of(const prem_first_causes *first) {
  const prem_first_cause *worst = NULL;
  for (int64_t i = 0; i < first->count; ++i)
    if (!worst || first->causes[i].lateness_max_ns > worst->lateness_max_ns)
      worst = &first->causes[i];
  return worst;
}

prem_status prem_find_late(const prem_schedule *schedule, const prem_trace *trace,
                           int64_t clock_step_ns, int64_t limit_ns, int64_t hyperperiod,
                           prem_late_find *out) {
  *out = (prem_late_find){.has_cause = false};
  prem_find_break(trace, limit_ns, prem_max_i64(hyperperiod, 0), 0, &out->release);
  if (hyperperiod >= 0 && !out->release.has_place)
    out->release.found = false; /* the counts do not say of which hyperperiods they are */
  if (hyperperiod < 0 && out->release.has_place)
    hyperperiod = out->release.run;
  const size_t phases = (size_t)schedule->task_count * PREM_PHASE_COUNT;
  prem_late_causes *causes = calloc(phases + 1, sizeof *causes);
  if (!causes)
    return PREM_ERR_MEMORY;
  prem_first_causes first = {0};
  const prem_status status = prem_find_causes(schedule, trace, prem_max_i64(hyperperiod, 0),
                                              clock_step_ns, 0, causes, &first);
  const prem_first_cause *worst = worst_of(&first);
  out->has_cause = worst != NULL;
  if (worst)
    out->cause = *worst;
  prem_first_causes_free(&first);
  free(causes);
  return status;
}
