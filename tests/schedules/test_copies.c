/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of live frames in plans: planners leave their windows free, the checker sees whoever does
 * not, and sessions choose frames before they are copied. */
#include "tests/common/cases.h"
#include "tests/common/live.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

#include "prem/base/random.h"
#include "prem/model/copies.h"
#include "prem/model/private.h"

enum { SETS = ROUNDS(300) };

static const char *port_of(const char *array, const char *keys, int64_t wcet_ns, int memory,
                           const char *link) {
  return text(
      "{ array = \"%s\"; %s copy: { wcet_ns = %lldL; demand: { memory = %d; %s = 1; }; }; }", array,
      keys, (long long)wcet_ns, memory, link);
}

static const char head[] =
    "version = 1; name = \"copies\"; platform: { blocks = 2; buffers = 2; resources = ("
    "  { name = \"memory\"; capacity = 1; }, { name = \"h2d\"; capacity = 1; },"
    "  { name = \"d2h\"; capacity = 1; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
    "  { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } );";

/* a and b make y and z of x. */
static const char *two_tasks(const char *of_a, const char *of_b, const char *live) {
  const char *phases = "prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 40L; };"
                       " writeback: { wcet_ns = 20L; };";
  return text("%s tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ];"
              "    tile = [ 16 ]; arrays: { in = \"x\"; out = \"y\"; }; %s %s },"
              "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ];"
              "    tile = [ 16 ]; arrays: { in = \"x\"; out = \"z\"; }; %s %s } ); live: { %s };",
              head, phases, of_a, phases, of_b, live);
}

/* ---- whoever meets a copy, by hand ----------------------------------------------------------- */

static int64_t part_of(int64_t a, int64_t b, int64_t length_ns) {
  const int64_t rest = (a - b) % length_ns;
  return rest < 0 ? rest + length_ns : rest;
}

/* Do [a, a + la) and [b, b + lb) meet, in a circle? */
static bool meet(int64_t a, int64_t la, int64_t b, int64_t lb, int64_t length_ns) {
  return part_of(a, b, length_ns) < lb || part_of(b, a, length_ns) < la;
}

/* Phases of the memory that begin in a window of a copy or reach into one. */
static int64_t count_meetings(const prem_schedule *schedule, const prem_plan *plan) {
  FREED prem_slot *slots = NULL;
  int64_t count = 0, meetings = 0, period_ns;
  ck_assert_int_eq(prem_plan_expand(schedule, plan, &slots, &count, NULL), PREM_OK);
  for (int32_t p = 0; p < schedule->live_count; ++p) {
    const prem_live_port *port = &schedule->live[p];
    const int64_t start_ns = prem_copy_start_ns(schedule, port, &period_ns);
    const int64_t times = period_ns > 0 ? plan->hyperperiod_ns / period_ns : 1;
    for (int64_t i = 0; i < count * times && port->copy.exists; ++i) {
      const prem_slot *s = &slots[i / times];
      meetings += s->phase != PREM_COMPUTE &&
                  meet(s->planned_ns, s->length_ns, start_ns + i % times * period_ns,
                       port->copy.wcet_ns, plan->hyperperiod_ns);
    }
  }
  return meetings;
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Two rates, an input that both read and their outputs. */
static const char *drawn_set(uint64_t seed) {
  uint64_t random = seed;
  const int64_t lead_ns = (int64_t)(prem_random_next(&random) % 60);
  const int64_t in_ns = 20 + (int64_t)(prem_random_next(&random) % 120);
  const int64_t out_ns = 20 + (int64_t)(prem_random_next(&random) % 120);
  const int64_t shown_ns = 500 + (int64_t)(prem_random_next(&random) % 490);
  const int64_t release_ns = prem_random_next(&random) % 2 ? 0 : 150;
  const int64_t slower = 1 + (int64_t)(prem_random_next(&random) % 2);
  return two_tasks(
      "period_ns = 1000L;",
      text("period_ns = %lldL; release_ns = %lldL;", (long long)(1000 * slower),
           (long long)release_ns),
      text("inputs = ( %s ); outputs = ( %s, { array = \"z\"; } );",
           port_of("x", text("lead_ns = %lldL;", (long long)lead_ns), in_ns, 1, "h2d"),
           port_of("y", text("publish_ns = %lldL;", (long long)shown_ns), out_ns, 1, "d2h")));
}

/* By the planner's first plan, and by its search. */
TEST(plans_leave_copies_their_windows) {
  int64_t planned = 0;
  for (uint64_t seed = 1; seed <= SETS; ++seed) {
    OWNED(prem_schedule) *schedule = schedule_from_text(drawn_set(seed));
    prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = seed % 2 ? 1 : 60};
    prem_plan_report report;
    prem_plan *plan = NULL;
    ck_assert_int_eq(prem_copy_count(schedule), 2);
    const prem_status status =
        prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
    if (status == PREM_OK) {
      ++planned;
      prem_schedule_set_plan(schedule, plan);
      ck_assert_int_eq(report.phases, 12 * (plan->hyperperiod_ns == 1000 ? 2 : 3));
      ck_assert_int_eq(count_meetings(schedule, plan), 0);
      assert_checked(schedule);
    }
  }
  ck_assert_int_gt(planned, SETS / 2);
}

static int64_t smallest_slack(const char *live) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(two_tasks("period_ns = 1000L;", "period_ns = 1000L;", live));
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = 200};
  prem_plan_report report;
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_OK);
  return report.min_slack_ns;
}

/* A copy is where it is: it takes time from others, and none of its own counts. */
TEST(copies_have_no_slack) {
  const int64_t without_ns = smallest_slack("inputs = ( { array = \"x\"; } );");
  const char *input = port_of("x", "lead_ns = 900L;", 100, 1, "h2d"); /* from 0 to 100 */
  ck_assert_int_eq(smallest_slack(text("inputs = ( %s );", input)), without_ns - 100);
  input = port_of("x", "lead_ns = 900L;", 100, 0, "h2d");
  ck_assert_int_eq(smallest_slack(text("inputs = ( %s );", input)), without_ns);
}

/* The copy of a slow port comes in its own periods alone. */
TEST(a_copy_comes_in_each_period) {
  OWNED(prem_schedule) *schedule = prepared_schedule(two_tasks(
      "period_ns = 1000L;", "period_ns = 2000L;",
      text("inputs = ( %s ); outputs = ( %s );", port_of("x", "lead_ns = 30L;", 100, 1, "h2d"),
           port_of("z", "publish_ns = 1800L;", 120, 1, "d2h"))));
  prem_schedule *with_copies = NULL;
  int64_t period_ns;
  ck_assert_int_eq(prem_copy_start_ns(schedule, &schedule->live[0], &period_ns), -130);
  ck_assert_int_eq(period_ns, 1000);
  ck_assert_int_eq(prem_copy_start_ns(schedule, &schedule->live[1], &period_ns), 1680);
  ck_assert_int_eq(period_ns, 2000);
  ck_assert_int_eq(prem_copies_add(schedule, &with_copies), PREM_OK);
  ck_assert_int_eq(with_copies->task_count, 4);
  ck_assert_int_eq(with_copies->platform.blocks, 4);
  ck_assert_int_eq(with_copies->live_count, 0);
  const prem_plan *plan = with_copies->plan;
  const prem_starts *of_x = &plan->starts[plan->starts_count - 2], *of_z = of_x + 1;
  ck_assert_str_eq(with_copies->tasks[of_x->task].name, "copy of x");
  ck_assert_int_eq(of_x->count, 2);
  ck_assert_int_eq(of_x->start_ns[0], 870);
  ck_assert_int_eq(of_x->start_ns[1], 1870);
  ck_assert_str_eq(with_copies->tasks[of_z->task].name, "copy of z");
  ck_assert_int_eq(of_z->count, 1);
  ck_assert_int_eq(of_z->start_ns[0], 1680);
  ck_assert_int_eq(with_copies->tasks[0].publish_ns, 0);
  ck_assert_int_eq(with_copies->tasks[1].publish_ns, 1680);
  ck_assert_int_eq(schedule->tasks[1].publish_ns, 1800);
  prem_copies_free(with_copies);
  ck_assert_int_eq(count_meetings(schedule, schedule->plan), 0);
}

/* Of a name that leaves no room for what it is put behind, what has room. */
TEST(a_copy_of_a_long_name_is_cut) {
  const char *name = "an_array_of_a_name_that_has_as_many_letters_as_any_name_may_hav";
  char *at, *source = strdup(
                two_tasks("period_ns = 1000L;", "period_ns = 1000L;",
                          text("inputs = ( %s );", port_of("x", "lead_ns = 30L;", 100, 1, "h2d"))));
  FREED char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  const char *from = source;
  for (; (at = strstr(from, "\"x\"")); from = at + 3)
    fprintf(file, "%.*s\"%s\"", (int)(at - from), from, name);
  fprintf(file, "%s", from);
  fclose(file);
  OWNED(prem_schedule) *schedule = prepared_schedule(all);
  prem_schedule *with_copies = NULL;
  ck_assert_int_eq(prem_copies_add(schedule, &with_copies), PREM_OK);
  ck_assert_str_eq(with_copies->tasks[2].name, text("copy of %.55s", name));
  prem_copies_free(with_copies);
  free(source);
}

static const char *moded(void) {
  return two_tasks("period_ns = 1000L;", "period_ns = 1000L;",
                   text("inputs = ( %s ); outputs = ( %s );"
                        "operating_modes = ( { name = \"full\"; },"
                        "  { name = \"less\"; off = [ \"a\" ]; policy: { }; } );",
                        port_of("x", "lead_ns = 600L;", 100, 1, "h2d"),
                        port_of("z", "publish_ns = 900L;", 120, 1, "d2h")));
}

TEST(plans_of_modes_leave_them_too) {
  OWNED(prem_schedule) *schedule = prepared_schedule(moded());
  ck_assert_int_eq(schedule->plan->mode_count, 1);
  ck_assert_int_eq(count_meetings(schedule, schedule->plan), 0);
  ck_assert_int_eq(count_meetings(schedule, schedule->plan->modes[0]), 0);
  prem_starts *first = schedule->plan->modes[0]->starts;
  ck_assert_int_gt(schedule->plan->modes[0]->starts_count, 0);
  first->start_ns[0] = 310; /* where x is copied */
  ck_assert_int_gt(count_meetings(schedule, schedule->plan->modes[0]), 0);
  ck_assert_int_eq(prem_check(schedule, NULL, NULL), PREM_ERR_INVALID);
}

/* Planned anew with one thing changed, all else stays, and copies are not counted. */
TEST(an_older_plan_is_kept_beside_copies) {
  const char *live = text("inputs = ( %s );", port_of("x", "lead_ns = 300L;", 100, 1, "h2d"));
  OWNED(prem_schedule) *old =
      prepared_schedule(two_tasks("period_ns = 1000L;", "period_ns = 1000L;", live));
  OWNED(prem_schedule) *schedule = schedule_from_text(
      two_tasks("period_ns = 1000L;", "period_ns = 1000L; deadline_ns = 999L;", live));
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = 40, .keep = old};
  prem_plan_report report;
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  ck_assert_int_eq(report.kept, 24);
  ck_assert_int_eq(report.moved + report.added + report.removed, 0);
  assert_checked(schedule);
}

/* ---- checking -------------------------------------------------------------------------------- */

/* One instant of the plan is moved to all others. */
static void move(prem_schedule *schedule, int64_t *instant_ns, int64_t *met, int64_t *refused) {
  const int64_t planned_ns = *instant_ns;
  for (*instant_ns = 0; *instant_ns < schedule->plan->hyperperiod_ns - 20; *instant_ns += 7) {
    const bool meets = count_meetings(schedule, schedule->plan) > 0;
    const prem_status status = prem_check(schedule, NULL, NULL);
    *met += meets;
    *refused += status != PREM_OK;
    if (meets)
      ck_assert_int_eq(status, PREM_ERR_INVALID);
  }
  *instant_ns = planned_ns;
}

TEST(whatever_meets_a_copy_is_refused) {
  OWNED(prem_schedule) *schedule = prepared_schedule(drawn_set(3));
  prem_plan *plan = schedule->plan;
  int64_t met = 0, refused = 0;
  for (int32_t i = 0; i < plan->affine_count; ++i)
    if (plan->affine[i].phase != PREM_COMPUTE)
      move(schedule, &plan->affine[i].start_ns, &met, &refused);
  for (int32_t i = 0; i < plan->starts_count; ++i)
    for (int64_t k = 0; k < plan->starts[i].count; ++k)
      if (plan->starts[i].phase != PREM_COMPUTE && plan->starts[i].start_ns[k] >= 0)
        move(schedule, &plan->starts[i].start_ns[k], &met, &refused);
  ck_assert_int_gt(met, 0);
  ck_assert_int_gt(refused, met); /* phases meet each other as well */
  assert_checked(schedule);
}

TEST(wrong_copies_are_refused) {
  cases_judge("schedules/copy_cases.txt");
}

static const struct {
  int lead_ns, wcet_ns;
  bool is_legal;
} on_grid[] = {{10, 20, true}, {5, 20, false}, {5, 15, false}, {10, 15, false}};

/* Where its start is, and where its end; the clock steps by 10. */
TESTS(copies_begin_and_end_on_the_grid, (int)(sizeof on_grid / sizeof *on_grid)) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *source =
      two_tasks("period_ns = 1000L;", "period_ns = 1000L;",
                text("inputs = ( { array = \"x\"; lead_ns = %dL; copy: { wcet_ns = %dL; }; } );",
                     on_grid[_i].lead_ns, on_grid[_i].wcet_ns));
  const char *at = strstr(source, "blocks = 2;");
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
      text("%.*sclock_step_ns = 10L; %s", (int)(at - source), source, at), diag);
  if (prem_diag_errors(diag) == 0)
    prem_check(schedule, NULL, diag);
  ck_assert_uint_eq(prem_diag_errors(diag), on_grid[_i].is_legal ? 0 : 1);
  if (!on_grid[_i].is_legal)
    ck_assert_ptr_nonnull(
        strstr(prem_diag_at(diag, 0)->reason, "which is not on the grid of clock_step_ns = 10 ns"));
}

/* Periods, the lead and the time of the copy; what is wrong. The clock steps by 2. */
static const struct {
  int period_ns, other_ns, lead_ns, wcet_ns;
  const char *problem;
} off_grid[] = {
    {777, 777, 1, 20, ""}, /* from 756 on, once in a hyperperiod */
    {777, 777, 0, 20,
     "it would begin at -20 ns in each period of 777 ns; the period is not a "
     "multiple of clock_step_ns = 2"},
    {777, 1554, 1, 20,
     "it would begin at -21 ns in each period of 777 ns; the period is not a "
     "multiple of clock_step_ns = 2"},
    {777, 777, 0, 21, "which is not on the grid of clock_step_ns = 2 ns"}, /* and ends at 777 */
    {778, 778, 0, 20, ""}};

TESTS(periods_off_the_grid_are_told, sizeof off_grid / sizeof *off_grid) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *source =
      two_tasks(text("period_ns = %dL;", off_grid[_i].period_ns),
                text("period_ns = %dL;", off_grid[_i].other_ns),
                text("inputs = ( { array = \"x\"; lead_ns = %dL; copy: { wcet_ns = %dL; }; } );",
                     off_grid[_i].lead_ns, off_grid[_i].wcet_ns));
  const char *at = strstr(source, "blocks = 2;");
  prem_plan *plan = NULL;
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
      text("%.*sclock_step_ns = 2L; %s", (int)(at - source), source, at), diag);
  if (!*off_grid[_i].problem) {
    const prem_plan_options options = {.step_limit = 1};
    ck_assert_int_eq(prem_plan_make(schedule, NULL, &options, &plan, diag), PREM_OK);
    prem_schedule_set_plan(schedule, plan);
    assert_checked(schedule);
  } else {
    ck_assert_uint_eq(prem_diag_errors(diag), 1);
    ck_assert_int_eq(prem_diag_at(diag, 0)->code, 47);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, off_grid[_i].problem));
  }
}

/* On a GPU frames are copied, whether a plan knows of it or not. */
TEST(copies_that_no_plan_holds_are_told) {
  prem_machine machine;
  OWNED(prem_schedule) *schedule = prepared_schedule(two_tasks(
      "period_ns = 1000L;", "period_ns = 1000L;",
      text("inputs = ( %s ); outputs = ( { array = \"y\"; } );", port_of("x", "", 100, 1, "h2d"))));
  prem_schedule_machine(schedule, &machine);
  for (int32_t gpu = 0; gpu < 2; ++gpu)
    for (int32_t capacity = 1; capacity < 3; ++capacity) {
      OWNED(prem_diag) *diag = prem_diag_new();
      strcpy(machine.backend, gpu ? "cuda" : "cpu");
      schedule->platform.resources[0].capacity = capacity;
      ck_assert_int_eq(prem_check(schedule, &machine, diag), PREM_OK);
      ck_assert_uint_eq(prem_diag_count(diag), gpu && capacity == 1 ? 1 : 0);
      if (prem_diag_count(diag) > 0)
        ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                         "frames of 'y' are copied at no instant of the plan: phases may meet the "
                         "copies at the memory, of which the plan gives to one task at a time; say "
                         "how long a `copy` takes, or keep the frames on the GPU");
    }
}

/* The copies take no block of the machine's, also where a plan is kept. */
TEST(copies_take_no_block_of_the_machine) {
  prem_machine machine;
  OWNED(prem_schedule) *schedule =
      prepared_schedule(two_tasks("period_ns = 1000L;", "period_ns = 1000L;",
                                  text("inputs = ( %s );", port_of("x", "", 100, 1, "h2d"))));
  prem_schedule_machine(schedule, &machine);
  strcpy(machine.backend, "cuda");
  for (int32_t more = -1; more < 3; ++more) {
    machine.max_blocks = more < 0 ? 0 : schedule->platform.blocks + more;
    for (int kept = 0; kept < 2; ++kept) {
      const prem_plan_options options = {.keep = kept ? schedule : NULL};
      prem_plan_report report;
      OWNED(prem_plan) *plan = NULL;
      OWNED(prem_diag) *diag = prem_diag_new();
      ck_assert_int_eq(prem_plan_make_reported(schedule, &machine, &options, &plan, &report, diag),
                       PREM_OK);
      ck_assert_uint_eq(prem_diag_count(diag), 0);
      ck_assert_int_eq(report.moved + report.added + report.removed, 0);
    }
  }
}

/* Of one-shot tasks nothing is known of the hyperperiod before. */
TEST(copies_of_one_shot_tasks_begin_within) {
  const char *live = text("inputs = ( %s );", port_of("x", "lead_ns = 30L;", 100, 1, "h2d"));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(two_tasks("", "", live), diag);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                   "is 100 ns: the copy would begin 130 ns before the hyperperiod, whose length is "
                   "not known of one-shot tasks; give its readers a release_ns of 130 ns or more, "
                   "or periods");
  prem_schedule_free(schedule);
  schedule = prepared_schedule(two_tasks("release_ns = 130L;", "release_ns = 130L;", live));
  ck_assert_int_eq(count_meetings(schedule, schedule->plan), 0);
  prem_schedule_free(schedule);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static float value_at(prem_live *live, int64_t until_ns, prem_frame *frame) {
  float value = -1;
  ck_assert_int_eq(fetch(live, prem_live_find(live, "y"), until_ns, &value, frame), PREM_OK);
  return value;
}

/* Frames are chosen when their copies begin, 130 ns before a release; releases are at 130, 1130. */
TEST(a_frame_is_chosen_before_it_is_copied) {
  OWNED(prem_schedule) *schedule = prepared_schedule(two_tasks(
      "period_ns = 1000L;", "period_ns = 1000L;",
      text("inputs = ( %s ); outputs = ( %s );", port_of("x", "lead_ns = 30L;", 100, 1, "h2d"),
           port_of("y", "publish_ns = 700L;", 120, 1, "d2h"))));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_frame frame;
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_live_sleep_until(live, 999);
  ck_assert_int_eq(feed(live, prem_live_find(live, "x"), 1, NULL), PREM_OK);
  prem_live_sleep_until(live, 1000); /* what comes at this instant is too late */
  ck_assert_int_eq(feed(live, prem_live_find(live, "x"), 2, NULL), PREM_OK);
  ck_assert_float_eq(value_at(live, 1830, &frame), 2);
  ck_assert_int_eq(frame.published_ns, 1830);
  ck_assert_float_eq(value_at(live, 2830, &frame), 3);
  ck_assert_int_eq(frame.published_ns, 2830);
}

/* A job that ends while its result should be copied is late, if it is over when that is shown. */
TEST(a_result_that_misses_its_copy_is_late) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      two_tasks("period_ns = 1000L; deadline_ns = 950L;", "period_ns = 1000L;",
                text("inputs = ( { array = \"x\"; missing = \"wait\"; } ); outputs = ( %s );",
                     port_of("y", "publish_ns = 700L;", 120, 1, "d2h"))));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_frame frame;
  prem_live_counts counts;
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_live_sleep_until(live, 300); /* 300 ns too late: 240 for the rest of it and 80 of b's */
  ck_assert_int_eq(feed(live, prem_live_find(live, "x"), 1, NULL), PREM_OK);
  ck_assert_float_eq(value_at(live, 5000, &frame), 2);
  const int64_t over_ns = frame.published_ns;
  ck_assert_uint_eq(frame.flags, PREM_FRAME_LATE);
  ck_assert_int_gt(over_ns, 580);
  prem_live_count(live, prem_live_find(live, "y"), &counts);
  ck_assert_uint_eq(counts.late, 1);
}

/* No file has it: the reader takes a step of 1 ns where the file says none. */
TEST(a_clock_without_steps_has_no_grid) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      two_tasks("period_ns = 1000L;", "period_ns = 1000L;",
                text("inputs = ( %s );", port_of("x", "lead_ns = 20L;", 50, 1, "h2d"))));
  OWNED(prem_diag) *diag = prem_diag_new();
  schedule->platform.clock_step_ns = 0;
  ck_assert(prem_judge_live(schedule, diag));
  ck_assert_uint_eq(prem_diag_count(diag), 0);
}
