/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules: what is planned and checked runs as planned, and ends in every mode. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SCHEDULES = 300 };

static uint32_t random_state;

static int32_t draw(int32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int32_t)(random_state >> 8) % below;
}

static const char *random_phases(void) {
  int32_t kind = draw(8), prefetch = 1 + draw(20), compute = 1 + draw(30), writeback = 1 + draw(15);
  int32_t amount = draw(3);
  const char *demand = text("demand: { memory = %d; };", amount);
  const char *busy = text("busy_ns = %dL;", 1 + draw(prefetch));
  const char *in = text("prefetch: { wcet_ns = %dL; %s %s };", prefetch, draw(2) ? busy : "",
                        draw(3) ? "" : demand);
  const char *work = text("compute: { wcet_ns = %dL; %s };", compute, draw(5) ? "" : demand);
  const char *out = text("writeback: { wcet_ns = %dL; };", writeback);
  return text("%s %s %s", kind == 1 ? "" : in, kind == 2 ? "" : work, kind == 3 ? "" : out);
}

static const char *random_task(int32_t index, int32_t blocks, bool periodic, bool warms_up) {
  static const int32_t periods[] = {2000, 4000, 1000};
  int32_t first = draw(blocks), last = first + draw(blocks - first);
  const char *period = "", *after = "";
  if (periodic && draw(4))
    period = text("period_ns = %dL; release_ns = %dL;", periods[draw(3)], draw(200));
  if (index > 0 && draw(3) == 0 && !warms_up)
    after = text("after = ( { task = \"t%d\"; lag_ns = %dL; instance = \"latest\"; } );",
                 draw(index), draw(30));
  return text(
      "%s { name = \"t%d\"; kernel = \"none\"; blocks = \"%d-%d\"; tiles = %d; %s %s %s %s }",
      index ? "," : "", index, first, last, 1 + draw(7), draw(3) ? "" : "together = true;", period,
      random_phases(), after);
}

static prem_schedule *random_schedule(void) {
  int32_t blocks = 1 + draw(4), tasks = 1 + draw(4);
  bool periodic = draw(2);
  const char *all = "", *warmup = "";
  bool warms_up = !periodic && draw(3) == 0;
  if (warms_up)
    warmup = text("policy: { warmup_tiles = %d; warmup_ns = %dL; };", 1 + draw(2), 600);
  for (int32_t i = 0; i < tasks; ++i)
    all = text("%s%s", all, random_task(i, blocks, periodic, warms_up));
  int32_t precedence = draw(2) ? 0 : draw(40);
  return schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = %d; buffers = %d; guard_ns = %dL;"
           "  precedence_ns = %dL;"
           "  resources = ( { name = \"memory\"; capacity = %d; per = \"%s\"; } ); };"
           "tasks = ( %s ); %s",
           blocks, 1 + draw(3), draw(3), precedence, 2 + draw(2), draw(2) ? "block" : "task", all,
           warmup));
}

static bool make_plan(prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, diag);
  if (status != PREM_OK && status != PREM_ERR_INFEASIBLE)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  return status == PREM_OK;
}

static void assert_as_planned(const prem_trace *trace, const prem_schedule *schedule) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->release_ns != PREM_NO_RELEASE)
      ck_assert_int_eq(r->start_ns, r->release_ns);
    if (!(r->flags & PREM_SLOT_JOINED))
      ck_assert_int_eq(r->end_ns - r->start_ns, schedule->tasks[r->task].phase[r->phase].wcet_ns);
    ck_assert_int_le(r->ready_ns, r->start_ns);
  }
}

TESTS_FROM(random_schedules_run_as_planned, 1, 4) {
  int planned = 0;
  random_state = (uint32_t)_i;
  for (int i = 0; i < SCHEDULES; ++i) {
    OWNED(prem_schedule) *schedule = random_schedule();
    if (make_plan(schedule)) {
      assert_checked(schedule);
      ++planned;
      OWNED(prem_session) *session = open_on("sim", schedule);
      for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
        OWNED(prem_trace) *trace = run_in(session, schedule, (prem_mode)mode, 4);
        ck_assert_int_eq(trace->hyperperiods, 4);
        if (mode == PREM_MODE_TT)
          assert_as_planned(trace, schedule);
        for (int64_t j = 0; j < 4 * trace->job_count; ++j)
          ck_assert_int_ge(trace->job_end_ns[j], 0);
      }
    }
  }
  ck_assert_int_gt(planned, SCHEDULES / 2);
}
