/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: the simulator with the delays of a made-up machine on top, the same ones for each
 * seed: phases that begin late or take too long, and cores that are taken away.
 */
#pragma once

#include <stdio.h>

#include "runtime/core/backend.h"

enum { DELAYED_LATE_NS = 1 };

static uint64_t delayed_seed;
static bool delayed_shares; /* more blocks than it has cores */

static inline int64_t delayed_draw(int64_t below) {
  delayed_seed = delayed_seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (int64_t)((delayed_seed >> 33) % (uint64_t)below);
}

/* Half of the hyperperiods are as they should be, and one of six is disturbed. */
static inline prem_status delayed_run(void *state, const prem_run_request *request,
                                      prem_trace *trace, prem_diag *diag) {
  const prem_status status = prem_backend_sim.run(state, request, trace, diag);
  trace->oversubscribed = delayed_shares;
  trace->launch_ns = 1000 + delayed_draw(5000);
  for (int64_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    prem_phase_stats_clear(&trace->stats[i]);
  for (int64_t h = 0; h < trace->hyperperiods; ++h) {
    const bool disturbed = delayed_draw(2) == 0;
    const int64_t away_ns = delayed_draw(6) == 0 ? 1 + delayed_draw(300) : 0;
    for (int64_t j = 0; j < trace->job_count; ++j)
      trace->away_ns[h * trace->job_count + j] = away_ns;
    int64_t max_ns = 0;
    for (int64_t i = 0; i < trace->record_count; ++i) {
      prem_trace_record *r = &trace->records[i];
      if (r->hyperperiod != h)
        continue;
      const int64_t window_end_ns = r->end_ns;
      const int64_t half_ns = 1 + (r->end_ns - r->start_ns) / 2;
      const int64_t late_ns = disturbed && delayed_draw(4) == 0 ? delayed_draw(half_ns) : 0;
      const int64_t longer_ns = disturbed && delayed_draw(5) == 0 ? delayed_draw(half_ns) : 0;
      r->start_ns += late_ns;
      r->end_ns += late_ns + longer_ns;
      if (late_ns + longer_ns > max_ns)
        max_ns = late_ns + longer_ns;
      prem_phase_stats_add(&trace->stats[r->task * PREM_PHASE_COUNT + r->phase], r, window_end_ns,
                           DELAYED_LATE_NS);
    }
    for (int64_t j = 0; j < trace->job_count; ++j)
      trace->job_end_ns[h * trace->job_count + j] += max_ns;
  }
  return status;
}

static inline prem_status delayed_probe(prem_machine *machine, prem_diag *diag) {
  const prem_status status = prem_backend_sim.probe(machine, diag);
  snprintf(machine->name, sizeof machine->name, "made up");
  snprintf(machine->backend, sizeof machine->backend, "made up"); /* it watches no real one */
  machine->clock_skew_ns = 7;
  machine->cores = 8;
  return status;
}

static inline prem_backend delayed_backend(void) {
  prem_backend delayed = prem_backend_sim;
  delayed.name = "delayed";
  delayed.is_virtual = false;
  delayed.run = delayed_run;
  delayed.probe = delayed_probe;
  return delayed;
}
