/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: a simulator whose phases take other times than planned. */
#pragma once

#include "tests/common/live.h"

#include "runtime/core/backend.h"

/* What the phases of the schedule's first task take when the simulator opens it. */
static prem_schedule *longer_schedule;
static int64_t longer_ns[PREM_PHASE_COUNT];

static inline void longer_swap(void) {
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    prem_phase_spec *spec = &longer_schedule->tasks[0].phase[phase];
    const int64_t before_ns = spec->wcet_ns;
    spec->wcet_ns = spec->busy_ns = longer_ns[phase];
    longer_ns[phase] = before_ns;
  }
}

static inline prem_status longer_open(const prem_program *program, prem_arrays *arrays,
                                      const prem_machine *machine, void **state, prem_diag *diag) {
  longer_swap();
  const prem_status status = prem_backend_sim.open(program, arrays, machine, state, diag);
  longer_swap();
  return status;
}

/** As open_live_on("sim"), but the first task's phases take so long. */
static inline prem_live *open_longer(prem_schedule *schedule,
                                     const int64_t length_ns[PREM_PHASE_COUNT]) {
  static prem_backend backend;
  prem_live *live = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  backend = prem_backend_sim;
  backend.open = longer_open;
  longer_schedule = schedule;
  memcpy(longer_ns, length_ns, sizeof longer_ns);
  if (prem_live_open(&backend, schedule, &live, diag) != PREM_OK)
    abort_with("open", diag);
  return live;
}
