/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command_json.h"

#include "report/json_pieces.h"

static json_t *problem_json(const void *diag, int64_t number) {
  static const char *const severities[] = {"note", "warning", "error"};
  const prem_problem *problem = prem_diag_at(diag, (size_t)number);
  json_t *object = json_object();
  char code[16];
  bool whole = put(object, "severity", text(severities[problem->severity]));
  if (problem->code > 0) {
    snprintf(code, sizeof code, "E%03d", problem->code);
    whole &= put(object, "code", text(code));
  }
  if (problem->file[0])
    whole &= put(object, "file", text(problem->file));
  if (problem->line > 0)
    whole &= put(object, "line", integer(problem->line));
  if (problem->key[0])
    whole &= put(object, "key", text(problem->key));
  whole &= put(object, "reason", text(problem->reason));
  return finished(object, whole);
}

json_t *command_problems_json(const prem_diag *diag) {
  return list_of((int64_t)prem_diag_count(diag), problem_json, diag);
}

/* How long errands take at most. */
static json_t *servers_json(const prem_schedule *schedule) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    json_t *server = NULL;
    int64_t bound_ns = -1;
    if (schedule->tasks[t].server.capacity == 0)
      continue;
    server = json_object();
    whole &= prem_errand_bound(schedule, t, &bound_ns) == PREM_OK;
    whole &= put(server, "name", text(schedule->tasks[t].name));
    whole &= put(server, "bound_ns", bound_ns < 0 ? json_null() : integer(bound_ns));
    whole &= json_array_append_new(list, server) == 0;
  }
  return finished(list, whole);
}

json_t *command_closed_json(const prem_schedule *schedule) {
  const prem_plan *plan = schedule->plan;
  json_t *object = json_object(), *servers = servers_json(schedule);
  bool whole = put(object, "windows", integer(plan->closed_count));
  whole &= put(object, "closed_ns", integer(plan->hyperperiod_ns - plan->open_ns));
  whole &=
      put(object, "open_share", json_real((double)plan->open_ns / (double)plan->hyperperiod_ns));
  if (json_array_size(servers) > 0)
    whole &= put(object, "servers", servers);
  else
    json_decref(servers);
  return finished(object, whole);
}

bool command_write_json(const char *path, json_t *root) {
  command_output output;
  bool written = false;
  if (!root)
    command_error("%s: %s", path, prem_status_text(PREM_ERR_MEMORY));
  else if (command_output_open(&output, path)) {
    const bool whole = json_dumpf(root, output.file, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    fputc('\n', output.file);
    if (whole || ferror(output.file)) { /* which is seen at the commit */
      written = command_output_commit(&output);
    } else {
      command_error("%s: %s", path, prem_status_text(PREM_ERR_MEMORY));
      command_output_abandon(&output);
    }
  }
  json_decref(root);
  return written;
}
