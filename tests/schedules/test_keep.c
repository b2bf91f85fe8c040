/* SPDX-License-Identifier: Apache-2.0 */
/* Planning anew with an older plan at hand: what is moved, and that the plan stays legal. */
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "schedules/planner/repair/repair.h"
#include "schedules/planner/replan.h"

enum { SETS = ROUNDS(500), STEPS = 40 };

static prem_schedule *planned(const char *source) {
  prem_schedule *schedule = schedule_from_text(source);
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS};
  prem_plan_report report;
  prem_plan *plan = NULL;
  prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
  prem_schedule_set_plan(schedule, plan);
  return schedule;
}

static prem_status replan(prem_schedule *schedule, const prem_schedule *old,
                          prem_plan_report *report) {
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS, .keep = old};
  prem_plan *plan = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_plan_make_reported(schedule, NULL, &options, &plan, report, diag);
  if (status && status != PREM_ERR_INFEASIBLE)
    abort_with("replan", diag);
  prem_schedule_set_plan(schedule, plan);
  if (plan)
    assert_checked(schedule);
  return status;
}

/* ---- counting, in another way --------------------------------------------------------------- */

static const prem_slot *find_slot(const prem_schedule *schedule, const prem_slot *slots,
                                  int64_t count, const char *task, const prem_slot *like) {
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *s = &slots[i];
    if (!(s->flags & PREM_SLOT_WARMUP) && s->job == like->job && s->tile == like->tile &&
        s->phase == like->phase && s->block == like->block &&
        strcmp(schedule->tasks[s->task].name, task) == 0)
      return s;
  }
  return NULL;
}

/* Of plans of one hyperperiod. */
static void assert_counts(const prem_schedule *is, const prem_schedule *was,
                          const prem_plan_report *report) {
  FREED prem_slot *new_slots = NULL, *old_slots = NULL;
  int64_t new_count, old_count, kept = 0, moved = 0, added = 0, removed = 0;
  ck_assert_int_eq(prem_plan_expand(is, is->plan, &new_slots, &new_count, NULL), PREM_OK);
  ck_assert_int_eq(prem_plan_expand(was, was->plan, &old_slots, &old_count, NULL), PREM_OK);
  for (int64_t i = 0; i < new_count; ++i) {
    const prem_slot *s = &new_slots[i];
    if (s->flags & PREM_SLOT_WARMUP)
      continue;
    const prem_slot *old = find_slot(was, old_slots, old_count, is->tasks[s->task].name, s);
    kept += old && old->planned_ns == s->planned_ns;
    moved += old && old->planned_ns != s->planned_ns;
    added += !old;
  }
  for (int64_t i = 0; i < old_count; ++i) {
    const prem_slot *s = &old_slots[i];
    if (!(s->flags & PREM_SLOT_WARMUP))
      removed += !find_slot(is, new_slots, new_count, was->tasks[s->task].name, s);
  }
  ck_assert(report->keeps);
  ck_assert_int_eq(report->kept, kept);
  ck_assert_int_eq(report->moved, moved);
  ck_assert_int_eq(report->added, added);
  ck_assert_int_eq(report->removed, removed);
}

static void assert_equal_plans(const prem_schedule *a, const prem_schedule *b) {
  ck_assert_int_eq(a->plan->hyperperiod_ns, b->plan->hyperperiod_ns);
  ck_assert_int_eq(a->plan->affine_count, b->plan->affine_count);
  ck_assert_int_eq(a->plan->starts_count, b->plan->starts_count);
  ck_assert_str_eq(a->plan->policy, b->plan->policy);
  ck_assert_str_eq(a->plan->generator, b->plan->generator);
  prem_slot *slots[2];
  int64_t count[2];
  prem_plan_expand(a, a->plan, &slots[0], &count[0], NULL);
  prem_plan_expand(b, b->plan, &slots[1], &count[1], NULL);
  ck_assert_int_eq(count[0], count[1]);
  for (int64_t i = 0; i < count[0]; ++i)
    ck_assert_int_eq(slots[0][i].planned_ns, slots[1][i].planned_ns);
  free(slots[0]);
  free(slots[1]);
}

/* ---- random sets ---------------------------------------------------------------------------- */

static bool has_deadlines(const prem_schedule *schedule) {
  bool due = schedule->period_lcm_ns > 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    due = due || schedule->tasks[t].deadline_ns || schedule->tasks[t].publish_ns;
  return due;
}

static bool one_hyperperiod(const prem_schedule *a, const prem_schedule *b) {
  return a->period_lcm_ns == b->period_lcm_ns;
}

GROUP("random");

TEST(what_has_not_changed_is_not_moved) {
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *old = planned(random_set_text(&set));
    OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
    prem_plan_report report;
    if (old->plan) {
      ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
      ck_assert_int_eq(report.moved + report.added + report.removed, 0);
      assert_equal_plans(schedule, old);
    }
  }
}

/* One task more, or less. Where nothing has to be in time, none of the others has to move. */
static void change_count(int32_t by) {
  int compared = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *old = planned(random_set_text(&set));
    set.tasks += by;
    if (old->plan && set.tasks > 0) {
      OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
      prem_plan_report report;
      prem_status status = replan(schedule, old, &report);
      ck_assert(by > 0 || status == PREM_OK);
      if (!status && one_hyperperiod(schedule, old))
        assert_counts(schedule, old, &report);
      if (!status && !has_deadlines(schedule) && !has_deadlines(old)) {
        ck_assert_int_eq(report.moved, 0);
        ++compared;
      }
      if (!status && by < 0 && one_hyperperiod(schedule, old))
        ck_assert_int_eq(report.moved, 0);
    }
  }
  ck_assert_int_gt(compared, SETS / 10);
}

TEST(one_task_more) {
  change_count(1);
}

TEST(one_task_less) {
  change_count(-1);
}

GROUP("all");

/* Where telling a successor takes longer than before, those that follow move, and nobody else. */
TEST(a_longer_precedence_moves_those_that_follow) {
  const char *form =
      "version = 1; name = \"t\"; platform: { blocks = 3; precedence_ns = %dL;"
      "  resources = ( { name = \"memory\"; capacity = 3; } ); }; tasks = ("
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns = 10L; }; "
      "},"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; prefetch: { wcet_ns = 10L; };"
      "  after = ( { task = \"a\"; } ); },"
      "{ name = \"c\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 3; prefetch: { wcet_ns = 10L; }; "
      "} );";
  OWNED(prem_schedule) *old = planned(text(form, 2));
  prem_schedule *schedule = schedule_from_text(text(form, 3));
  prem_plan_report report;
  ck_assert_int_eq(old->plan->hyperperiod_ns, 30);
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.moved, 1);
  ck_assert_int_eq(report.kept, 4);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(text(form, 1));
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.moved, 0);
  prem_schedule_free(schedule);
}

/* A task takes longer, or is another one altogether: others have to move, but not all. */
static void change_one(bool other) {
  int64_t kept = 0, moved = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *old = planned(random_set_text(&set));
    int32_t which = (int32_t)seed % set.tasks;
    if (other)
      set.version[which] = 1;
    else
      set.longer_ns[which] = 1 + (int32_t)seed % 20;
    if (old->plan) {
      OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
      prem_plan_report report;
      if (replan(schedule, old, &report) == PREM_OK && one_hyperperiod(schedule, old)) {
        assert_counts(schedule, old, &report);
        kept += report.kept;
        moved += report.moved;
      }
    }
  }
  ck_assert_int_gt(kept, 2 * moved);
  ck_assert_int_gt(moved, 0);
}

GROUP("random");

TEST(one_task_takes_longer) {
  change_one(false);
}

TEST(one_task_is_another) {
  change_one(true);
}

/* ---- which tasks are still the same ---------------------------------------------------------- */

static const char all_sorts[] =
    "version = 1; name = \"t\"; platform: { blocks = 4; buffers = 2; resources = ("
    "  { name = \"memory\"; capacity = 3; }, { name = \"bus\"; capacity = 3; } ); };"
    "tasks = ( { name = \"first\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
    "    period_ns = 4000L; prefetch: { wcet_ns = 10L; }; },"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 1, 2 ]; tiles = 4; period_ns = 4000L;"
    "    deadline_ns = 3000L; prefetch: { wcet_ns = 20L; demand: { memory = 1; bus = 1; }; };"
    "    compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 20L; };"
    "    joined: { wcet_ns = 40L; }; after = ( { task = \"first\"; } ); } );";

/* Each changes one thing of the task `a`, or of all. */
#define CHANGE(name, what)                                                                         \
  static void name(prem_schedule *s, prem_task *a) {                                               \
    (void)s, (void)a;                                                                              \
    what;                                                                                          \
  }
CHANGE(nothing, )
CHANGE(wcet, a->phase[PREM_WRITEBACK].wcet_ns += 1)
CHANGE(busy, a->phase[PREM_PREFETCH].busy_ns -= 1)
CHANGE(turnaround, a->phase[PREM_PREFETCH].turnaround_ns += 1)
CHANGE(unit_turnaround, a->phase[PREM_COMPUTE].unit_turnaround_ns += 1)
CHANGE(no_phase, a->phase[PREM_WRITEBACK].exists = false)
CHANGE(demand, a->phase[PREM_PREFETCH].demand[0] += 1)
CHANGE(last_demand, a->phase[PREM_PREFETCH].demand[1] -= 1)
CHANGE(joined, a->joined.wcet_ns += 1)
CHANGE(another_block, a->blocks[1] = 3)
CHANGE(fewer_blocks, a->block_count = 1)
CHANGE(together, a->together = !a->together)
CHANGE(tiles, a->tile_count -= 1)
CHANGE(period, a->period_ns /= 2)
CHANGE(release, a->release_ns += 1)
CHANGE(deadline, a->deadline_ns -= 1)
CHANGE(publish, a->publish_ns += 1)
CHANGE(job_turnaround, s->job_turnaround_ns += 1)
CHANGE(job_prefetch, s->job_prefetch_ns += 1)
CHANGE(no_edge, a->after_count = 0)
CHANGE(lag, a->after[0].lag_ns += 1)
CHANGE(latest, a->after[0].latest = !a->after[0].latest)
CHANGE(per_block, a->after[0].per_block = !a->after[0].per_block)
CHANGE(predecessor, a->after[0].task = 1)
CHANGE(precedence, s->platform.precedence_ns += 1)

enum { FIRST = 1, A = 2, BOTH = FIRST | A };
static const struct {
  const char *what;
  void (*make)(prem_schedule *s, prem_task *a);
  int others; /* tasks that are no longer the same */
} changes[] = {{"nothing", nothing, 0},
               {"a longer writeback", wcet, A},
               {"shorter at the memory", busy, A},
               {"a longer turn-around", turnaround, A},
               {"a unit's longer turn-around", unit_turnaround, A},
               {"a phase less", no_phase, A},
               {"a larger demand", demand, A},
               {"a smaller demand of the last resource", last_demand, A},
               {"a longer joined pair", joined, A},
               {"another block", another_block, A},
               {"fewer blocks", fewer_blocks, A},
               {"together", together, A},
               {"fewer tiles", tiles, A},
               {"another period", period, A},
               {"a later release", release, A},
               {"an earlier deadline", deadline, A},
               {"a publication", publish, A},
               {"a job's longer turn-around", job_turnaround, BOTH},
               {"a job's longer prefetch", job_prefetch, BOTH},
               {"no predecessor", no_edge, A},
               {"a lag", lag, A},
               {"the latest job", latest, A},
               {"by block", per_block, A},
               {"another predecessor", predecessor, A},
               {"a longer message", precedence, A}}; /* `first` waits for none */

GROUP("all");

TESTS(whatever_differs_makes_another_task, (int)(sizeof changes / sizeof *changes)) {
  OWNED(prem_schedule) *old = planned(all_sorts), *schedule = schedule_from_text(all_sorts);
  prem_old_plan read;
  ck_assert_ptr_nonnull(old->plan);
  changes[_i].make(schedule, &schedule->tasks[1]);
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  ck_assert_int_eq(prem_old_plan_read(&planning, old, &read), PREM_OK);
  const int others = (read.changed[0] ? FIRST : 0) | (read.changed[1] ? A : 0);
  ck_assert_msg(others == changes[_i].others, "%s: %d", changes[_i].what, others);
  prem_old_plan_free(&read);
}

/* ---- by hand -------------------------------------------------------------------------------- */

#define TASK(name, block, prefetch, more)                                                          \
  "{ name = \"" name "\"; kernel = \"none\"; blocks = [ " block " ]; tiles = 1; " more             \
  "  prefetch: { wcet_ns = " prefetch "; }; }"
#define SET(tasks) "version = 1; name = \"t\"; platform: { blocks = 4; }; tasks = ( " tasks " );\n"

static prem_plan_report replanned(const char *before, const char *after, int64_t *start_ns) {
  OWNED(prem_schedule) *old = checked_schedule(before), *schedule = schedule_from_text(after);
  prem_plan_report report;
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  assert_counts(schedule, old, &report);
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    start_ns[slots[i].task] = slots[i].planned_ns;
  return report;
}

static const char old_plan[] = SET(TASK("a", "0", "10L", "") "," TASK("b", "1", "10L", "") "," TASK(
    "c", "2", "10L",
    "")) "plan: { hyperperiod_ns = 40L; starts = ("
         "{ task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 0L ]; },"
         "{ task = \"b\"; phase = \"prefetch\"; block = 0; start_ns = [ 10L ]; },"
         "{ task = \"c\"; phase = \"prefetch\"; block = 0; start_ns = [ 30L ]; } ); };";

TEST(the_longer_one_moves_and_not_its_neighbours) {
  int64_t start_ns[3] = {0};
  prem_plan_report report = replanned(
      old_plan,
      SET(TASK("a", "0", "11L", "") "," TASK("b", "1", "10L", "") "," TASK("c", "2", "10L", "")),
      start_ns);
  ck_assert_int_eq(report.kept, 2);
  ck_assert_int_eq(start_ns[0], 40); /* the gap at 20 is one too short */
  report = replanned(
      old_plan,
      SET(TASK("a", "0", "10L", "") "," TASK("b", "1", "20L", "") "," TASK("c", "2", "10L", "")),
      start_ns);
  ck_assert_int_eq(report.kept, 3);
  ck_assert_int_eq(report.makespan_ns, 40);
}

TEST(those_with_more_time_yield) {
  int64_t start_ns[4] = {0};
  prem_plan_report report =
      replanned(old_plan,
                SET(TASK("a", "0", "10L", "") "," TASK("b", "1", "10L", "") "," TASK(
                    "c", "2", "10L", "") "," TASK("d", "3", "10L", "deadline_ns = 18L;")),
                start_ns);
  ck_assert_int_eq(report.moved, 1);
  ck_assert_int_eq(report.added, 1);
  ck_assert_int_le(start_ns[3], 8);
}

/* a was late in [0, 50) and b in [20, 100), which is one window of the due time 50, c in [100,
 * 140): who has more time than the first that was missed there yields. */
TEST(windows_of_late_jobs_that_overlap_are_one) {
  static const struct {
    const char *name;
    int release_ns, deadline_ns, start_ns;
    bool is_late, yields;
  } tasks[] = {{"b", 20, 80, 80, true, true},
               {"c", 100, 40, 120, true, true},
               {"a", 0, 50, 0, true, true},
               {"no_more_time", 0, 50, 10, false, false},
               {"more_time", 0, 51, 20, false, true},
               {"at_the_end", 0, 51, 90, false, true},
               {"behind", 0, 140, 100, false, false},
               {"in_the_next", 0, 141, 110, false, true},
               {"behind_all", 0, 300, 140, false, false}};
  enum { TASKS = sizeof tasks / sizeof *tasks };
  const char *set = "", *starts = "";
  for (int t = 0; t < TASKS; ++t) {
    set = text("%s%s{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
               " release_ns = %dL; deadline_ns = %dL; prefetch: { wcet_ns = 10L; }; }",
               set, t ? "," : "", tasks[t].name, t, tasks[t].release_ns, tasks[t].deadline_ns);
    starts = text("%s%s{ task = \"%s\"; phase = \"prefetch\"; block = 0; start_ns = [ %dL ]; }",
                  starts, t ? "," : "", tasks[t].name, tasks[t].start_ns);
  }
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = %d; }; tasks = ( %s );\n"
           "plan: { hyperperiod_ns = 200L; starts = ( %s ); };\n",
           TASKS, set, starts));
  const prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto"};
  const bool changed[TASKS] = {false};
  FREED prem_slot *slots = NULL;
  prem_repair *repair = NULL;
  int64_t count = 0, yielding = 0, jobs = 0, expected = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  ck_assert_int_eq(prem_repair_new(&planning, slots, count, changed, &repair), PREM_OK);
  for (int t = 0; t < TASKS; ++t)
    if (tasks[t].is_late)
      prem_repair_miss(repair, t);
  ck_assert_int_eq(prem_repair_yield(repair, 1, false, &yielding), PREM_OK);
  const bool *yields = prem_repair_yielding(repair, &jobs);
  ck_assert_int_eq(jobs, TASKS);
  for (int t = 0; t < TASKS; ++t) {
    ck_assert_msg(yields[t] == tasks[t].yields, "%s", tasks[t].name);
    expected += tasks[t].yields;
  }
  ck_assert_int_eq(yielding, expected);
  prem_repair_free(repair);
}

/* a is fetched elsewhere, and b takes longer: the compute of a makes room, so that c may stay. */
TEST(room_is_left_before_those_that_follow) {
  const char *form = "version = 1; name = \"t\"; platform: { blocks = 4; }; tasks = ("
                     "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                     "  prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = 5L; }; },"
                     "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
                     "  prefetch: { wcet_ns = %dL; }; after = ( { task = \"a\"; } ); },"
                     "{ name = \"c\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;"
                     "  prefetch: { wcet_ns = 10L; }; after = ( { task = \"b\"; } ); },"
                     "{ name = \"d\"; kernel = \"none\"; blocks = [ 3 ]; tiles = 1;"
                     "  prefetch: { wcet_ns = 10L; }; } ); %s";
  const char *plan = "plan: { hyperperiod_ns = 70L; starts = ("
                     "{ task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 0L ]; },"
                     "{ task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 38L ]; },"
                     "{ task = \"b\"; phase = \"prefetch\"; block = 0; start_ns = [ 45L ]; },"
                     "{ task = \"c\"; phase = \"prefetch\"; block = 0; start_ns = [ 60L ]; },"
                     "{ task = \"d\"; phase = \"prefetch\"; block = 0; start_ns = [ 10L ]; } ); };";
  int64_t start_ns[4] = {0};
  replanned(text(form, 10, 10, plan), text(form, 11, 20, ""), start_ns);
  ck_assert_int_le(start_ns[1], 40);
  ck_assert_int_eq(start_ns[2], 60);
  ck_assert_int_eq(start_ns[3], 10);
}

/* b takes the compute unit until 9, so that the compute of a starts at the last instant of its
 * period; its prefetch has no reason to move. */
TEST(a_phase_may_start_at_the_last_instant_of_its_period) {
  const char *form =
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; }; tasks = ("
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 10L;"
      "  prefetch: { wcet_ns = 3L; }; compute: { wcet_ns = 1L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 10L;"
      "  release_ns = 6L; deadline_ns = 3L; compute: { wcet_ns = %dL; }; } ); %s";
  const char *plan = "plan: { hyperperiod_ns = 10L; starts = ("
                     "{ task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 3L ]; },"
                     "{ task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 6L ]; },"
                     "{ task = \"b\"; phase = \"compute\"; block = 0; start_ns = [ 7L ]; } ); };";
  int64_t start_ns[2] = {0};
  const prem_plan_report report = replanned(text(form, 1, plan), text(form, 3, ""), start_ns);
  ck_assert_int_eq(start_ns[0], 9); /* of its compute */
  ck_assert_int_eq(start_ns[1], 6);
  ck_assert_int_eq(report.moved, 2);
  ck_assert_int_eq(report.kept, 1);
}

TEST(a_longer_hyperperiod_repeats_the_older_one) {
  static const char before[] = SET(TASK("a", "0", "10L", "period_ns = 100L;") "," TASK(
      "b", "1", "20L",
      "period_ns = 50L;")) "plan: { hyperperiod_ns = 100L; starts = ("
                           "{ task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 25L ]; },"
                           "{ task = \"b\"; phase = \"prefetch\"; block = 0; start_ns = [ 3L, 60L "
                           "]; } ); };";
  OWNED(prem_schedule) *old = checked_schedule(before);
  OWNED(prem_schedule) *schedule =
      schedule_from_text(SET(TASK("c", "2", "5L", "period_ns = 300L;") "," TASK(
          "b", "1", "20L", "period_ns = 50L;") "," TASK("a", "0", "10L", "period_ns = 100L;")));
  prem_plan_report report;
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.kept, 9);
  ck_assert_int_eq(report.moved, 0);
  ck_assert_int_eq(report.added, 1);
}

/* Two tiles a block: chains of whole tiles, and pairs joined by hand. */
TEST(chains_and_joined_pairs_stay_together) {
  static const char tasks[] =
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; resources = ( { name = "
      "\"memory\"; capacity = 2; } ); }; tasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; }; } %s );\n%s";
  static const char plan[] =
      "plan: { hyperperiod_ns = 200L; runs = ("
      "{ task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; start_ns = 0L;"
      "  repeat = 2; step_ns = 40L; },"
      "{ task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 100L; repeat = 3;"
      "  step_ns = 40L; join: { tile = -1; }; } ); };";
  OWNED(prem_schedule) *old = checked_schedule(text(tasks, "", plan));
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(tasks,
           ", { name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: {"
           " wcet_ns = 10L; }; }",
           ""));
  prem_plan_report report;
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.kept, 12);
  ck_assert_int_eq(report.added, 1);
  assert_counts(schedule, old, &report);
}

/* The start of tile 1 has four phases: its own, and the writeback of the tile before. One tile of
 * `b` more needs a place. */
TEST(a_pair_keeps_all_that_is_chained_to_it) {
  static const char tasks[] =
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; }; tasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = %d; compute: { wcet_ns = 10L; }; "
      "} );\n%s";
  static const char plan[] =
      "plan: { hyperperiod_ns = 200L; runs = ("
      "{ task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; tile = 0; },"
      "{ task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; start_ns = "
      "30L;"
      "  tile = 1; join: { tile = 0; }; },"
      "{ task = \"b\"; phase = \"compute\"; start_ns = 70L; } ); };";
  OWNED(prem_schedule) *old = checked_schedule(text(tasks, 1, plan));
  OWNED(prem_schedule) *schedule = schedule_from_text(text(tasks, 2, ""));
  prem_plan_report report;
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.kept, 7);
  ck_assert_int_eq(report.added, 1);
  assert_counts(schedule, old, &report);
}

/* Fetches of b take 12 instead of 10, so that computes chained to them begin 2 later: the first one
 * may, the one chained to a pair would run into `e`, and moves with its pair. */
TEST(what_is_chained_to_a_longer_pair_begins_later) {
  static const char tasks[] =
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; resources = ( { name = "
      "\"memory\"; capacity = 2; } ); }; tasks = (\n"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2; prefetch: { wcet_ns = %dL; };"
      "  compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; }; },"
      "{ name = \"e\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 5L; }; } "
      ");\n%s";
  static const char plan[] =
      "plan: { hyperperiod_ns = 300L; runs = ("
      "{ task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 100L; repeat = 3;"
      "  step_ns = 50L; join: { tile = -1; }; },"
      "{ task = \"e\"; phase = \"compute\"; start_ns = 190L; } ); };";
  OWNED(prem_schedule) *old = checked_schedule(text(tasks, 10, plan));
  OWNED(prem_schedule) *schedule = schedule_from_text(text(tasks, 12, ""));
  prem_plan_report report;
  FREED prem_slot *slots = NULL;
  int64_t count;
  ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
  ck_assert_int_eq(report.moved, 3);
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *s = &slots[i];
    if (s->task == 1)
      ck_assert_int_eq(s->planned_ns, 190);
    else if (s->tile == 0 && s->phase != PREM_WRITEBACK)
      ck_assert_int_eq(s->planned_ns, s->phase == PREM_PREFETCH ? 100 : 112);
  }
}

/* The pair begins when `c` may begin; what computes 5 longer than before moves the writeback alone.
 */
TEST(a_pair_that_begins_at_the_earliest_instant_stays) {
  const char *form =
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; resources = ( { name = "
      "\"memory\"; capacity = 2; } ); }; tasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; }; },"
      "{ name = \"d\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "  prefetch: { wcet_ns = %dL; }; },"
      "{ name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = %dL; }; writeback: { wcet_ns = 10L; };"
      "  after = ( { task = \"d\"; } ); } );\n%s";
  static const char plan[] =
      "plan: { hyperperiod_ns = 100L; runs = ("
      "{ task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; },"
      "{ task = \"d\"; phase = \"prefetch\"; start_ns = 0L; },"
      "{ task = \"c\"; phase = \"prefetch\"; start_ns = 40L; join: { task = \"a\"; tile = 0; }; },"
      "{ task = \"c\"; phase = \"compute\"; start_ns = 60L; },"
      "{ task = \"c\"; phase = \"writeback\"; start_ns = 80L; } ); };";
  for (int late_ns = -1; late_ns <= 0; ++late_ns) {
    OWNED(prem_schedule) *old = checked_schedule(text(form, 40 + late_ns, 20, plan));
    OWNED(prem_schedule) *schedule = schedule_from_text(text(form, 40 + late_ns, 25, ""));
    prem_plan_report report;
    FREED prem_slot *slots = NULL;
    int64_t count, joined = 0;
    ck_assert_int_eq(replan(schedule, old, &report), PREM_OK);
    assert_counts(schedule, old, &report);
    ck_assert_int_eq(report.moved, 1);
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
    for (int64_t i = 0; i < count; ++i)
      joined += (slots[i].flags & PREM_SLOT_JOINED) != 0;
    ck_assert_int_eq(joined, 2);
  }
}
