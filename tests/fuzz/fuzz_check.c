/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any plan before the checker. What it accepts the simulator runs as planned, without a violation,
 * and planning anew leaves as it is. What the planner makes of the same tasks, or of them after a
 * change, with the plan at hand or without, the checker accepts.
 */
#include "tests/fuzz/fuzzing.h"
#include "ttprem/ttprem_measure.h"

enum { MAX_TILES = 300, MAX_BLOCKS = 32, MAX_TASKS = 32, HYPERPERIODS = 2, STEPS = 4 };

static void must(bool good) {
  if (!good)
    abort();
}

/* Without arrays, which may be as large as a machine's memory. */
static bool is_abstract(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (strcmp(schedule->tasks[t].kernel, "none") != 0)
      return false;
  return schedule->platform.blocks <= MAX_BLOCKS && schedule->task_count <= MAX_TASKS;
}

/* ---- the simulator -------------------------------------------------------------------------- */

static void judge_trace(const prem_schedule *schedule, prem_trace *trace) {
  int64_t certain = -1, possible = -1;
  must(trace->hyperperiods == HYPERPERIODS);
  prem_trace_sort(trace);
  must(prem_violations(schedule, trace, 0, 0, &certain, &possible) == PREM_OK);
  if (schedule->plan->warmup_tiles > 0)
    return; /* what they take may be longer than warmup_ns, and make the first phases late */
  must(certain == 0 && possible == 0);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    must(r->release_ns == PREM_NO_RELEASE || r->start_ns == r->release_ns);
  }
}

static void simulate(const prem_schedule *schedule) {
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  prem_status opened = prem_session_open(prem_backend_find("sim"), schedule, &session, NULL);
  if (opened == PREM_ERR_INVALID && schedule->plan->warmup_tiles > 0)
    return; /* warm-up tiles wait for nothing, so no executor takes tasks that must */
  must(opened == PREM_OK);
  must(prem_trace_new(schedule, HYPERPERIODS, (int64_t)MAX_TILES * PREM_PHASE_COUNT * HYPERPERIODS,
                      &trace) == PREM_OK);
  must(prem_session_run(session, &request, trace, NULL) == PREM_OK);
  judge_trace(schedule, trace);
  prem_trace_free(trace);
  prem_session_close(session);
}

/* ---- the planner ---------------------------------------------------------------------------- */

/* With a plan to keep (the schedule's own), or NULL; what comes of it is judged. */
static bool plan(const prem_schedule *schedule, const prem_schedule *keep,
                 prem_plan_report *report) {
  prem_plan_options options = {
      .time_limit_ns = keep ? PREM_MAX_NS : 0, .step_limit = STEPS, .keep = keep};
  prem_schedule judged = *schedule;
  judged.plan = NULL;
  if (prem_plan_make_reported(schedule, NULL, &options, &judged.plan, report, NULL) != PREM_OK)
    return false;
  must(prem_check(&judged, NULL, NULL) == PREM_OK);
  prem_plan_free(judged.plan);
  return true;
}

/* `accepted`: the checker has accepted the schedule's plan. */
static void plan_anew(prem_schedule *schedule, bool accepted) {
  prem_plan_report report;
  plan(schedule, NULL, &report);
  bool planned = plan(schedule, schedule, &report);
  bool same_warmup = schedule->plan->warmup_tiles == schedule->policy.warmup_tiles &&
                     schedule->plan->warmup_ns == schedule->policy.warmup_ns;
  must(!accepted || !same_warmup || (planned && report.moved + report.added + report.removed == 0));
  prem_phase_spec *spec = &schedule->tasks[0].phase[PREM_COMPUTE];
  if (spec->exists && spec->wcet_ns < PREM_MAX_NS / 4) {
    spec->wcet_ns += 1 + spec->wcet_ns / 8;
    plan(schedule, schedule, &report);
  }
}

/* ---- both ----------------------------------------------------------------------------------- */

/* The judge of what comes without a plan: whether the set is sound. */
static void judge(prem_schedule *schedule) {
  prem_plan *given = schedule->plan;
  schedule->plan = NULL;
  bool sound = prem_check(schedule, NULL, NULL) == PREM_OK;
  schedule->plan = given;
  bool accepted = given && prem_check(schedule, NULL, NULL) == PREM_OK;
  must(sound || !accepted);
  if (!is_abstract(schedule) || !sound || !given)
    return;
  if (accepted) {
    prem_schedule *critical = NULL; /* best effort runs by no plan */
    must(prem_schedule_critical(schedule, &critical, NULL) == PREM_OK);
    simulate(critical);
    prem_schedule_free(critical);
  }
  plan_anew(schedule, accepted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule;
  if (fuzz_read(data, size, &schedule, diag) == PREM_OK) {
    if (prem_schedule_bind(schedule, prem_registry_builtin(), diag) == PREM_OK &&
        prem_diag_errors(diag) == 0 && fuzz_is_small(schedule, MAX_TILES))
      judge(schedule);
    prem_schedule_free(schedule);
  }
  prem_diag_free(diag);
  return 0;
}
