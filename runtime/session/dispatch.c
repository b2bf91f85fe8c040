/* SPDX-License-Identifier: Apache-2.0 */
/* What starting a phase costs on a machine: the shortest of many computes that compute nothing. */
#include "runtime/session/dispatch.h"

static const char empty_computes[] =
    "version = 1;  name = \"dispatch\";  platform: { blocks = 1; };\n"
    "tasks = ( { name = \"empty\"; kernel = \"noop\"; blocks = 1; tiles = 256;\n"
    "            compute: { wcet_ns = 1048576L; }; } );\n"
    "plan: { hyperperiod_ns = 268435456L;\n"
    "  runs = ( { task = \"empty\"; phase = \"compute\"; start_ns = 0L;\n"
    "             repeat = 256; step_ns = 1048576L; } ); };\n";

prem_status prem_measure_dispatch(const prem_backend *backend, int64_t *dispatch_ns,
                                  prem_diag *diag) {
  const prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 1};
  prem_schedule *schedule = NULL;
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_status status = prem_schedule_load_text("dispatch", empty_computes, &schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK)
    status = prem_session_open(backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, 1, 0, &trace);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, diag);
  if (status == PREM_OK)
    *dispatch_ns = trace->stats[PREM_COMPUTE].duration_min_ns;
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
  return status;
}
