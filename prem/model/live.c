/* SPDX-License-Identifier: Apache-2.0 */
/* Live ports: do they fit the tasks that read and write their arrays? */
#include "prem/base/fail.h"
#include "prem/base/numbers.h"
#include "prem/model/copies.h"
#include "prem/model/private.h"
#include "prem/model/versions.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int32_t prem_schedule_live_port(const prem_schedule *schedule, int32_t array) {
  for (int32_t i = 0; i < schedule->live_count; ++i)
    if (schedule->live[i].array == array)
      return i;
  return -1;
}

/* The tasks that use an array: how many, and one of them. */
typedef struct users {
  int32_t count, task;
} users;

static users users_of(const prem_schedule *schedule, int32_t array, prem_access access) {
  users found = {.task = -1};
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (prem_task_uses(&schedule->tasks[t], array, access)) {
      ++found.count;
      found.task = t;
    }
  return found;
}

PREM_PRINTF(5, 6)
static bool refuse(const prem_schedule *schedule, const prem_live_port *port, prem_diag *diag,
                   const char *key, const char *format, ...) {
  char place[2 * PREM_NAME_BYTES + 32], reason[400];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  snprintf(place, sizeof place, "live.%s.%s.%s", port->is_output ? "outputs" : "inputs",
           schedule->arrays[port->array].name, key);
  prem_diag_add(diag, PREM_ERROR, 47, port->place, place, "%s", reason);
  return false;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* Does it begin on the grid of the clock, in a period that is long enough? */
static bool judge_copy_window(const prem_schedule *schedule, const prem_live_port *port,
                              prem_diag *diag) {
  const int64_t step_ns = schedule->platform.clock_step_ns;
  int64_t period_ns;
  const int64_t start_ns = prem_copy_start_ns(schedule, port, &period_ns);
  if (period_ns > 0 && port->lead_ns + port->copy.wcet_ns > period_ns)
    return refuse(schedule, port, diag, "copy.wcet_ns",
                  "is %" PRId64 " ns, and lead_ns %" PRId64
                  " ns: together they are longer than the period of %" PRId64 " ns",
                  port->copy.wcet_ns, port->lead_ns, period_ns);
  if (period_ns == 0 && start_ns < 0)
    return refuse(schedule, port, diag, "copy.wcet_ns",
                  "is %" PRId64 " ns: the copy would begin %" PRId64
                  " ns before the hyperperiod, whose length is not known of one-shot tasks; give "
                  "its readers a release_ns of %" PRId64 " ns or more, or periods",
                  port->copy.wcet_ns, -start_ns, port->lead_ns + port->copy.wcet_ns);
  /* one that would begin before its period does so in the one before */
  const int64_t within_ns =
      period_ns > 0 ? start_ns - prem_div_floor(start_ns, period_ns) * period_ns : start_ns;
  const bool is_on_grid = step_ns <= 0 || within_ns % step_ns == 0;
  if (step_ns > 0 && period_ns % step_ns != 0 &&
      (period_ns < schedule->period_lcm_ns || !is_on_grid))
    return refuse(schedule, port, diag, "copy",
                  "it would begin at %" PRId64 " ns in each period of %" PRId64
                  " ns; the period is not a multiple of clock_step_ns = %" PRId64
                  ", the grid on which it has to begin: choose one that is",
                  start_ns, period_ns, step_ns);
  if (!is_on_grid || (step_ns > 0 && port->copy.wcet_ns % step_ns != 0))
    return refuse(schedule, port, diag, "copy.wcet_ns",
                  "is %" PRId64 " ns: the copy would last from %" PRId64 " to %" PRId64
                  " ns, which is not on the grid of clock_step_ns = %" PRId64 " ns",
                  port->copy.wcet_ns, start_ns, start_ns + port->copy.wcet_ns, step_ns);
  return true;
}

static bool judge_copy(const prem_schedule *schedule, const prem_live_port *port, prem_diag *diag) {
  if (!port->copy.exists)
    return true;
  if (port->kind == PREM_LIVE_TRIGGER)
    return refuse(schedule, port, diag, "copy",
                  "the frame starts the hyperperiod, so its copy comes before it, where no plan "
                  "holds it; make the port \"queuing\" or \"sampling\", or leave `copy` out");
  if (port->is_output && port->publish_ns <= port->copy.wcet_ns)
    return refuse(schedule, port, diag, "copy.wcet_ns",
                  "is %" PRId64 " ns, and the result is shown at publish_ns = %" PRId64
                  " ns: give a publish_ns by which the task has ended and its result is copied",
                  port->copy.wcet_ns, port->publish_ns);
  return judge_copy_window(schedule, port, diag);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static int64_t shortest_period_ns(const prem_schedule *schedule, int32_t array) {
  int64_t shortest_ns = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->period_ns > 0 && prem_task_uses(task, array, PREM_IN) &&
        (shortest_ns == 0 || task->period_ns < shortest_ns))
      shortest_ns = task->period_ns;
  }
  return shortest_ns;
}

static const prem_live_port *trigger_before(const prem_schedule *schedule,
                                            const prem_live_port *port) {
  for (const prem_live_port *other = schedule->live; other < port; ++other)
    if (other->kind == PREM_LIVE_TRIGGER)
      return other;
  return NULL;
}

static bool judge_trigger(const prem_schedule *schedule, const prem_live_port *port,
                          prem_diag *diag) {
  const prem_live_port *other = trigger_before(schedule, port);
  if (other)
    return refuse(schedule, port, diag, "kind",
                  "array '%s' starts the hyperperiod already; make one of the two \"queuing\"",
                  schedule->arrays[other->array].name);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (prem_task_uses(&schedule->tasks[t], port->array, PREM_IN) &&
        prem_task_jobs(schedule, &schedule->tasks[t]) != 1)
      return refuse(schedule, port, diag, "kind",
                    "a frame starts a hyperperiod, but task '%s' has %" PRId64
                    " jobs in it that read one each; make the port \"queuing\" or \"sampling\"",
                    schedule->tasks[t].name, prem_task_jobs(schedule, &schedule->tasks[t]));
  return true;
}

static bool judge_kind_of_array(const prem_schedule *schedule, const prem_live_port *port,
                                prem_diag *diag) {
  if (!prem_array_is_state(&schedule->arrays[port->array]))
    return true;
  return refuse(
      schedule, port, diag, "array",
      "it is a state array, whose versions the schedule's tasks pass on to each other; %s",
      port->is_output ? "let a task that comes `after` its writer make an array that is "
                        "shown, as kernel 'convert' does"
                      : "give the frames an array without `versions`");
}

static bool judge_input(const prem_schedule *schedule, const prem_live_port *port,
                        prem_diag *diag) {
  const users writers = users_of(schedule, port->array, PREM_OUT);
  if (writers.count > 0)
    return refuse(schedule, port, diag, "array",
                  "task '%s' writes it too; an input is written by the application alone: give the "
                  "task an array of its own",
                  schedule->tasks[writers.task].name);
  if (users_of(schedule, port->array, PREM_IN).count == 0)
    return refuse(schedule, port, diag, "array",
                  "no task reads it; name it among a task's `arrays`, or leave the port out");
  const int64_t period_ns = shortest_period_ns(schedule, port->array);
  if (period_ns > 0 && port->lead_ns > period_ns)
    return refuse(schedule, port, diag, "lead_ns",
                  "is %" PRId64 " ns, more than the shortest period of its readers, %" PRId64
                  " ns; frames would be chosen before the one before is read",
                  port->lead_ns, period_ns);
  return port->kind != PREM_LIVE_TRIGGER || judge_trigger(schedule, port, diag);
}

/* ---- outputs -------------------------------------------------------------------------------- */

static bool judge_publish(prem_schedule *schedule, prem_live_port *port, int32_t writer,
                          prem_diag *diag) {
  prem_task *task = &schedule->tasks[writer];
  if (port->publish_ns > 0 && task->publish_ns > 0 && port->publish_ns != task->publish_ns)
    return refuse(schedule, port, diag, "publish_ns",
                  "is %" PRId64 " ns, but that of task '%s', which writes it, is %" PRId64
                  " ns; give one of the two",
                  port->publish_ns, task->name, task->publish_ns);
  if (port->publish_ns > 0)
    task->publish_ns = port->publish_ns; /* planner and checker keep it */
  port->publish_ns = task->publish_ns;
  return true;
}

static bool judge_output(prem_schedule *schedule, prem_live_port *port, prem_diag *diag) {
  const users writers = users_of(schedule, port->array, PREM_OUT);
  const users readers = users_of(schedule, port->array, PREM_IN);
  if (writers.count != 1)
    return refuse(schedule, port, diag, "array",
                  "%d tasks write it; the frames of an output are made by one task", writers.count);
  if (readers.count > 0)
    return refuse(schedule, port, diag, "array",
                  "task '%s' reads it as well; an output is read by the application alone: let "
                  "another task write the array that is shown",
                  schedule->tasks[readers.task].name);
  return judge_publish(schedule, port, writers.task, diag);
}

/* Where there is no other operating mode a job cannot lead to one. */
static bool judge_degrading(const prem_schedule *schedule, prem_diag *diag) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->overrun != PREM_OVERRUN_DEGRADE || task->deadline_ns == 0 ||
        schedule->operating_mode_count > 1)
      continue;
    prem_diag_add(
        diag, PREM_ERROR, 47, task->place, prem_key("tasks.%s.overrun", task->name).text,
        "\"degrade\" switches to the next of `live.operating_modes`, which has %d; list two "
        "at least, or use \"record\"",
        schedule->operating_mode_count);
    return false;
  }
  return true;
}

bool prem_judge_live(prem_schedule *schedule, prem_diag *diag) {
  bool is_good = judge_degrading(schedule, diag);
  for (int32_t i = 0; i < schedule->live_count; ++i) {
    prem_live_port *port = &schedule->live[i];
    is_good &= judge_kind_of_array(schedule, port, diag) &&
               (port->is_output ? judge_output(schedule, port, diag)
                                : judge_input(schedule, port, diag)) &&
               judge_copy(schedule, port, diag);
  }
  return is_good;
}
