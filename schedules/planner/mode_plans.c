/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of operating modes: each as that of a schedule of the tasks that have jobs in the mode. */
#include "schedules/planner/planner.h"

#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/numbers.h"
#include "prem/model/copies.h"
#include "prem/model/modes.h"

#include <stdlib.h>
#include <string.h>

typedef struct mode_planning {
  const prem_schedule *schedule;
  const prem_machine *machine;
  prem_plan_options options; /* of each plan */
  prem_judge *judge;
  prem_diag *diag;
  double began_s;
  int32_t left;           /* plans to be made */
  const char *unsearched; /* of one of them */
} mode_planning;

/* What is left of the time is shared by the plans that are left. */
static int64_t share_ns(const mode_planning *all) {
  const int64_t limit_ns = all->options.time_limit_ns;
  const int64_t gone_ns = (int64_t)((prem_host_clock_s() - all->began_s) * 1e9);
  return gone_ns < limit_ns ? (limit_ns - gone_ns) / all->left : 0;
}

/* ---- one mode -------------------------------------------------------------------------------- */

/* The same mode of the schedule whose plan is kept; NULL: it has none. */
static prem_status find_kept(const mode_planning *all, const char *name, prem_schedule **out) {
  const prem_schedule *keep = all->options.keep;
  int32_t *tasks = NULL;
  *out = NULL;
  for (int32_t m = 0; keep && m < keep->operating_mode_count; ++m) {
    if (!keep->operating_modes[m].has_plan || strcmp(keep->operating_modes[m].name, name) != 0 ||
        !prem_schedule_plan_of(keep, m))
      continue;
    const prem_status status = prem_mode_schedule(keep, m, out, &tasks);
    free(tasks);
    return status;
  }
  return PREM_OK;
}

void prem_plan_number_tasks(prem_plan *plan, const int32_t *tasks) {
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    prem_affine *run = &plan->affine[i];
    run->task = tasks[run->task];
    run->join_task = run->join_task < 0 ? -1 : tasks[run->join_task];
  }
  for (int32_t i = 0; i < plan->starts_count; ++i)
    plan->starts[i].task = tasks[plan->starts[i].task];
}

static prem_status plan_part(mode_planning *all, const prem_schedule *part, const char *name,
                             prem_plan **out) {
  prem_plan_options options = all->options;
  prem_schedule *kept = NULL;
  prem_plan_report report;
  if (part->task_count == 0) {
    *out = prem_plan_new();
    return *out ? PREM_OK : PREM_ERR_MEMORY;
  }
  prem_status status = find_kept(all, name, &kept);
  options.keep = kept;
  options.time_limit_ns = share_ns(all);
  --all->left;
  if (status == PREM_OK)
    status =
        prem_planner_make_one(part, all->machine, &options, all->judge,
                              (prem_planner_wish){.ends_within = true}, out, &report, all->diag);
  if (status == PREM_OK && report.unsearched)
    all->unsearched = report.unsearched;
  else if (status == PREM_OK && all->options.time_limit_ns > 0 && options.time_limit_ns == 0 &&
           strcmp(report.method, "constructive") == 0)
    all->unsearched = "the first plans leave no time for it";
  prem_schedule_free(kept);
  return status;
}

static prem_status plan_mode(mode_planning *all, int32_t mode, prem_plan *file_plan) {
  const prem_operating_mode *of = &all->schedule->operating_modes[mode];
  prem_schedule *part = NULL;
  prem_plan *plan = NULL;
  int32_t *tasks = NULL;
  prem_status status = prem_mode_schedule(all->schedule, mode, &part, &tasks);
  if (status == PREM_OK) {
    prem_schedule_set_plan(part, NULL);
    status = plan_part(all, part, of->name, &plan);
  }
  if (status != PREM_OK && status != PREM_ERR_MEMORY)
    prem_diag_add(all->diag, PREM_NOTE, 0, of->place,
                  prem_key("live.operating_modes.%s.policy", of->name).text,
                  "that is the plan of operating mode '%s'; without a `policy` of its own the mode "
                  "uses the file's plan",
                  of->name);
  if (status == PREM_OK) {
    prem_plan_number_tasks(plan, tasks);
    memcpy(plan->mode, of->name, sizeof plan->mode);
    status = prem_plan_add_mode(file_plan, plan);
  }
  if (status != PREM_OK)
    prem_plan_free(plan);
  prem_schedule_free(part);
  free(tasks);
  return status;
}

/* ---- all of a file --------------------------------------------------------------------------- */

/* Hyperperiods of one-shot tasks are as long as their longest plan. */
static void make_equally_long(prem_plan *plan) {
  for (int32_t m = 0; m < plan->mode_count; ++m)
    plan->hyperperiod_ns = prem_max_i64(plan->hyperperiod_ns, plan->modes[m]->hyperperiod_ns);
  for (int32_t m = 0; m < plan->mode_count; ++m) {
    plan->modes[m]->hyperperiod_ns = plan->hyperperiod_ns;
    plan->modes[m]->clock_step_ns = plan->clock_step_ns;
  }
}

static prem_status plan_modes(mode_planning *all, prem_plan *plan) {
  prem_status status = PREM_OK;
  for (int32_t m = 0; status == PREM_OK && m < all->schedule->operating_mode_count; ++m)
    if (all->schedule->operating_modes[m].has_plan)
      status = plan_mode(all, m, plan);
  make_equally_long(plan);
  return status;
}

static int32_t count_plans(const prem_schedule *schedule) {
  int32_t count = 1;
  for (int32_t m = 0; m < schedule->operating_mode_count; ++m)
    count += schedule->operating_modes[m].has_plan;
  return count;
}

/* Each has its share of the time. */
static prem_status plan_all(mode_planning *all, bool tells, prem_plan **out,
                            prem_plan_report *report) {
  prem_schedule file = *all->schedule; /* its own plan: of all tasks, judged without the others */
  file.operating_mode_count = 0;
  prem_plan_options first = all->options;
  all->began_s = prem_host_clock_s();
  all->left = count_plans(all->schedule);
  first.time_limit_ns /= all->left--;
  prem_status status = prem_planner_make_one(
      &file, all->machine, &first, all->judge,
      (prem_planner_wish){.tells = tells, .ends_within = true}, out, report, all->diag);
  if (status == PREM_OK)
    status = plan_modes(all, *out);
  if (status == PREM_OK && (*out)->hyperperiod_ns > report->hyperperiod_ns) {
    report->hyperperiod_ns = (*out)->hyperperiod_ns;
    report->makespan_ns = report->hyperperiod_ns; /* of one-shot sets alone it grows */
    report->optimal = false;
    if (report->lower_bound_ns > 0)
      report->gap_pct = 100.0 * (double)(report->makespan_ns - report->lower_bound_ns) /
                        (double)report->lower_bound_ns;
  }
  if (all->unsearched)
    report->unsearched = all->unsearched;
  report->seconds = prem_host_clock_s() - all->began_s;
  if (status != PREM_OK && *out) {
    report->verdict = PREM_PLAN_UNKNOWN;
    prem_plan_free(*out);
    *out = NULL;
  }
  return status;
}

static prem_status make(const prem_schedule *schedule, const prem_machine *machine,
                        const prem_plan_options *options, prem_judge *judge, bool tells,
                        prem_plan **out, prem_plan_report *report, prem_diag *diag) {
  if (!prem_schedule_has_mode_plans(schedule))
    return prem_planner_make_one(schedule, machine, options, judge,
                                 (prem_planner_wish){.tells = tells}, out, report, diag);
  mode_planning all = {.schedule = schedule, .machine = machine, .judge = judge, .diag = diag};
  if (options)
    all.options = *options;
  return plan_all(&all, tells, out, report);
}

/* ---- copies of live frames --------------------------------------------------------------------
 */

/* They are tasks that can start at one instant alone, while all others are planned. */
static prem_status make_with_copies(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_judge *judge, bool tells,
                                    prem_plan **out, prem_plan_report *report, prem_diag *diag) {
  prem_schedule *with_copies = NULL, *keep = NULL;
  prem_plan_options own = {0};
  prem_machine wider;
  *report = (prem_plan_report){.verdict = PREM_PLAN_UNKNOWN};
  if (options)
    own = *options;
  if (machine) {
    wider = *machine;
    wider.max_blocks += wider.max_blocks > 0 ? prem_copy_count(schedule) : 0;
  }
  prem_status status = prem_copies_add(schedule, &with_copies);
  if (status == PREM_OK && own.keep && prem_copy_count(own.keep) > 0)
    status = prem_copies_add(own.keep, &keep);
  if (keep)
    own.keep = keep;
  if (status == PREM_OK)
    status = make(with_copies, machine ? &wider : NULL, &own, judge, tells, out, report, diag);
  if (status == PREM_OK)
    prem_copies_drop(schedule, *out);
  prem_copies_free(with_copies);
  prem_copies_free(keep);
  return status;
}

prem_status prem_planner_make(const prem_schedule *schedule, const prem_machine *machine,
                              const prem_plan_options *options, prem_judge *judge, bool tells,
                              prem_plan **out, prem_plan_report *report, prem_diag *diag) {
  *out = NULL;
  if (prem_schedule_has_best_effort(schedule))
    return prem_planner_make_gated(schedule, machine, options, judge, tells, out, report, diag);
  return (prem_copy_count(schedule) > 0 ? make_with_copies : make)(schedule, machine, options,
                                                                   judge, tells, out, report, diag);
}
