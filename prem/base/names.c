/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the enumerations of base.h. */
#include "ttprem/base.h"

#include <string.h>

static const char *const phase_names[PREM_PHASE_COUNT] = {"prefetch", "compute", "writeback"};
static const char *const errand_ends[PREM_ERRAND_ENDS] = {"done", "expired", "fault", "aborted"};
static const char *const mode_names[PREM_MODE_COUNT] = {
    "tt",    "free",     "lock",      "legacy", "launched",
    "graph", "priority", "partition", "copy",   "gated_graph"};

const char *prem_version(void) {
  return PREM_VERSION;
}

const char *prem_status_text(prem_status status) {
  switch (status) {
  case PREM_OK:
    return "done";
  case PREM_ERR_MEMORY:
    return "out of memory";
  case PREM_ERR_IO:
    return "a file cannot be read or written";
  case PREM_ERR_PARSE:
    return "the schedule file has errors";
  case PREM_ERR_INVALID:
    return "refused";
  case PREM_ERR_INFEASIBLE:
    return "no plan found";
  case PREM_ERR_UNAVAILABLE:
    return "not available here";
  case PREM_ERR_INTERRUPTED:
    return "interrupted";
  case PREM_ERR_WRONG:
    return "wrong result";
  case PREM_ERR_ARGUMENT:
    return "wrong argument";
  case PREM_ERR_TIMEOUT:
    return "not in time";
  case PREM_ERR_FULL:
    return "all buffers are in use";
  case PREM_ERR_ENDED:
    return "the live session is over";
  case PREM_ERR_MACHINE:
    return "the machine failed";
  }
  return "unknown status";
}

const char *prem_phase_name(prem_phase phase) {
  return phase < PREM_PHASE_COUNT ? phase_names[phase] : "unknown";
}

const char *prem_errand_end_name(prem_errand_end end) {
  return end < PREM_ERRAND_ENDS ? errand_ends[end] : "unknown";
}

const char *prem_mode_name(prem_mode mode) {
  return mode < PREM_MODE_COUNT ? mode_names[mode] : "unknown";
}

bool prem_mode_has_phases(prem_mode mode) {
  return mode <= PREM_MODE_LOCK;
}

bool prem_mode_computes(prem_mode mode) {
  return mode != PREM_MODE_COPY;
}

bool prem_mode_parse(const char *name, prem_mode *out) {
  for (int mode = 0; mode < PREM_MODE_COUNT; ++mode) {
    if (strcmp(name, mode_names[mode]) == 0) {
      *out = (prem_mode)mode;
      return true;
    }
  }
  return false;
}
