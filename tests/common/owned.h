/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: what a scope makes is freed at its end, the latest first.
 *
 *   OWNED(prem_schedule) *schedule = schedule_from_text(source);
 *   FREED char *told = golden_take(path);
 */
#pragma once

#include <stdlib.h>

#include "runtime/core/arrays.h"
#include "runtime/core/program.h"
#include "ttprem/ttprem.h"
#include "ttprem/ttprem_measure.h"

#define OWNED(type) __attribute__((cleanup(owned_##type), unused)) type
#define FREED       __attribute__((cleanup(owned_memory), unused))

#define OWNED_TYPE(type, end)                                                                      \
  static inline void owned_##type(type **at) {                                                     \
    end(*at);                                                                                      \
  }

OWNED_TYPE(prem_arrays, prem_arrays_free)
OWNED_TYPE(prem_diag, prem_diag_free)
OWNED_TYPE(prem_findings, prem_findings_free)
OWNED_TYPE(prem_live, prem_live_close)
OWNED_TYPE(prem_plan, prem_plan_free)
OWNED_TYPE(prem_program, prem_program_free)
OWNED_TYPE(prem_report, prem_report_free)
OWNED_TYPE(prem_result, prem_result_free)
OWNED_TYPE(prem_schedule, prem_schedule_free)
OWNED_TYPE(prem_session, prem_session_close)
OWNED_TYPE(prem_tally, prem_tally_free)
OWNED_TYPE(prem_trace, prem_trace_free)

static inline void owned_memory(void *at) {
  void *memory;
  __builtin_memcpy(&memory, at, sizeof memory); /* a pointer of whatever kind */
  free(memory);
}
