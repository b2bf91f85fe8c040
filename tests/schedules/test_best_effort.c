/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: long */
/* Best-effort tasks beside critical ones: what is refused, each with its twin, and closed windows
 * against a judge that looks at every nanosecond. */
#include "tests/common/cases.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

/* ---- codes, with twins ----------------------------------------------------------------------- */

/* Memory phases of the critical job run in [0, 20) and [50, 60) of 200: the longest of best effort
 * needs 31 before a window, the shortest 11. */
#define CRITICAL                                                                                   \
  "{ name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 200L;"                \
  " prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 10L; }; }"
#define LOAD(settings)                                                                             \
  "{ name = \"l\"; class = \"best_effort\"; kernel = \"none\"; tiles = 4; " settings " }"
#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 30L; }; compute: { wcet_ns = 500L; }; writeback: { wcet_ns = 10L; };"
#define RUNS                                                                                       \
  "hyperperiod_ns = 200L; runs = ( { task = \"c\"; phase = \"prefetch\"; start_ns = 0L; },"        \
  "{ task = \"c\"; phase = \"compute\"; start_ns = 20L; },"                                        \
  "{ task = \"c\"; phase = \"writeback\"; start_ns = 50L; } );"
#define CLOSED    "closed: { open_ns = 109L; start_ns = [ 0L, 50L ]; end_ns = [ 20L, 60L ]; };"
#define GOOD_LOAD LOAD("blocks = [ 1 ];" PHASES)

GROUP("codes");

TEST(each_code_has_its_twin) {
  cases_judge("schedules/best_effort_cases.txt");
}

TEST(no_task_has_to_be_critical) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(file_of("blocks = 2;", GOOD_LOAD,
                                 "hyperperiod_ns = 200L; closed: { open_ns = 200L; "
                                 "start_ns = [ ]; end_ns = [ ]; };"));
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_OK);
  prem_schedule_set_plan(schedule, NULL);
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_OK);
  ck_assert_int_eq(plan->hyperperiod_ns, 1000000);
  ck_assert_int_eq(plan->open_ns, plan->hyperperiod_ns);
}

/* ---- two schedules ----------------------------------------------------------------------------
 */

GROUP("parts");

TEST(a_schedule_is_split_by_class) {
  OWNED(prem_schedule) *whole = schedule_from_text(
      file_of("blocks = 2; buffers = 1; clock_step_ns = 10L; scratch_bytes = 1000L;"
              "best_effort: { buffers = 4; block_threads = 64; scratch_bytes = 500L; };",
              CRITICAL ", " GOOD_LOAD, RUNS CLOSED));
  OWNED(prem_schedule) *critical = NULL, *load = NULL;
  FREED int32_t *tasks = NULL;
  ck_assert_int_eq(prem_schedule_critical(whole, &critical, NULL), PREM_OK);
  ck_assert(critical->platform.best_effort.left_out && !whole->platform.best_effort.left_out);
  ck_assert_int_eq(prem_schedule_best_effort(whole, &load, &tasks), PREM_OK);
  ck_assert_int_eq(critical->task_count, 1);
  ck_assert_str_eq(critical->tasks[0].name, "c");
  ck_assert_int_eq(critical->plan->affine_count, 3);
  ck_assert(!critical->plan->gates && !prem_schedule_has_best_effort(critical));
  ck_assert_int_eq(critical->platform.buffers, 1);
  ck_assert_int_eq(load->task_count, 1);
  ck_assert_int_eq(tasks[0], 1);
  ck_assert(!load->plan && !prem_schedule_has_best_effort(load));
  ck_assert_int_eq(load->platform.buffers, 4);
  ck_assert_int_eq(load->platform.block_threads, 64);
  ck_assert_int_eq(load->platform.scratch_bytes, 500);
  ck_assert_int_eq(load->period_lcm_ns, 0);
  ck_assert_int_eq(prem_ahead_ns(load, &load->tasks[0], PREM_PREFETCH), 40);
  ck_assert_int_eq(prem_ahead_ns(whole, &whole->tasks[1], PREM_WRITEBACK), 20);
  ck_assert_int_eq(prem_ahead_ns(whole, &whole->tasks[1], PREM_COMPUTE), 0);
  /* it is an ordinary schedule: an order for its tiles can be planned */
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(load, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(load, plan);
  ck_assert_int_eq(prem_check(load, NULL, NULL), PREM_OK);
}

TEST(planned_windows_are_read_back) {
  OWNED(prem_schedule) *whole = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ( %s, %s );", CRITICAL,
           GOOD_LOAD));
  prem_plan *plan = NULL;
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  const int file = mkstemps(path, 4);
  ck_assert_int_eq(prem_plan_make(whole, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(whole, plan);
  ck_assert_int_eq(prem_check(whole, NULL, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_save(whole, path, NULL), PREM_OK);
  OWNED(prem_schedule) *again = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &again, NULL), PREM_OK);
  ck_assert(again->plan->gates);
  ck_assert_int_eq(again->plan->open_ns, 109);
  ck_assert_int_eq(again->plan->closed_count, 2);
  ck_assert_int_eq(again->plan->closed[1].start_ns, 50);
  ck_assert_int_eq(again->plan->closed[1].end_ns, 60);
  close(file);
  unlink(path);
}

/* ---- every nanosecond --------------------------------------------------------------------------
 */

enum { LONGEST = 90, PHASES_MOST = 6 };

static uint64_t random_state;

static int64_t draw(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

typedef struct gated {
  int64_t hyperperiod, ahead_least, ahead_most;
  int64_t start[PHASES_MOST], end[PHASES_MOST]; /* where critical memory phases may run */
  int count;
} gated;

/* One-phase tasks at random instants, some of them chains; each on a block of its own. */
static const char *draw_file(gated *g) {
  const char *tasks = "", *runs = "";
  const int64_t in = draw(1, 20), out = draw(1, 20);
  *g = (gated){.hyperperiod = draw(30, LONGEST), .count = (int)draw(1, PHASES_MOST)};
  g->ahead_least = (in < out ? in : out) + 1;
  g->ahead_most = (in < out ? out : in) + 1;
  for (int i = 0; i < g->count; ++i) {
    const int64_t fetch = draw(1, 9), compute = draw(1, 12), store = draw(1, 9);
    const bool chained = draw(0, 2) == 0;
    g->start[i] = draw(0, g->hyperperiod - 1);
    g->end[i] = g->start[i] + fetch + (chained ? compute + store : 0);
    tasks =
        text("%s{ name = \"t%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1; period_ns = "
             "%dL; release_ns = %dL; prefetch: { wcet_ns = %dL; }; %s },",
             tasks, i, i, (int)g->hyperperiod, (int)draw(g->start[i] / 2, g->start[i]), (int)fetch,
             chained ? text("compute: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; };",
                            (int)compute, (int)store)
                     : "");
    runs = text("%s%s{ task = \"t%d\"; phase = \"prefetch\"; start_ns = %dL; %s }", runs,
                i ? ", " : "", i, (int)g->start[i],
                chained ? draw(0, 1) ? "chain = [ \"job\" ];"
                                     : "chain = [ \"compute\", \"writeback\" ];"
                        : "");
  }
  return file_of(
      text("blocks = 7; resources = ( { name = \"memory\"; capacity = 9; } );"),
      text("%s { name = \"l\"; class = \"best_effort\"; kernel = \"none\"; blocks = [ 6 ]; tiles = "
           "9; prefetch: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; }; }",
           tasks, (int)in, (int)out),
      text("hyperperiod_ns = %dL; runs = ( %s );"
           " closed: { open_ns = 0L; start_ns = [ ]; end_ns = [ ]; };",
           (int)g->hyperperiod, runs));
}

/* What the windows are, instant by instant; the longest open stretch before some are closed. */
static int64_t look(const gated *g, prem_plan *out) {
  bool closed[LONGEST] = {false}, joined[LONGEST];
  int64_t longest = 0, open = 0;
  for (int i = 0; i < g->count; ++i)
    for (int64_t t = g->start[i]; t < g->end[i]; ++t)
      closed[t % g->hyperperiod] = true;
  memcpy(joined, closed, sizeof joined);
  for (int64_t t = 0; t < g->hyperperiod; ++t) { /* each gap where it begins */
    int64_t length = 0;
    if (!closed[t] || closed[(t + 1) % g->hyperperiod])
      continue;
    while (!closed[(t + 1 + length) % g->hyperperiod])
      ++length;
    longest = length > longest ? length : longest;
    for (int64_t k = 0; k < length && length < g->ahead_least; ++k)
      joined[(t + 1 + k) % g->hyperperiod] = true;
    open += length > g->ahead_most ? length - g->ahead_most : 0;
  }
  for (int64_t t = 0, from = 0; t < g->hyperperiod; ++t) {
    if (joined[t] && (t == 0 || !joined[t - 1]))
      from = t;
    if (joined[t] && (t + 1 == g->hyperperiod || !joined[t + 1]))
      ck_assert_int_eq(prem_plan_add_closed(out, from, t + 1), PREM_OK);
  }
  out->open_ns = open;
  return longest;
}

static bool is_same(const prem_plan *a, const prem_plan *b) {
  return a->open_ns == b->open_ns && a->closed_count == b->closed_count &&
         (a->closed_count == 0 ||
          memcmp(a->closed, b->closed, (size_t)a->closed_count * sizeof *a->closed) == 0);
}

static int64_t near(int64_t value) {
  return value + (draw(0, 1) ? draw(1, 3) : -draw(1, 3));
}

static void mutate(prem_plan *plan) {
  prem_closed_window *w = &plan->closed[draw(0, plan->closed_count - 1)];
  switch (draw(0, 6)) {
  case 0:
    w->start_ns = near(w->start_ns);
    return;
  case 1:
    w->end_ns = near(w->end_ns);
    return;
  case 2: /* one less */
    *w = plan->closed[--plan->closed_count];
    return;
  case 3: { /* one more */
    const int64_t from = draw(0, LONGEST);
    ck_assert_int_eq(prem_plan_add_closed(plan, from, from + draw(0, 5)), PREM_OK);
    return;
  }
  case 4:
    plan->open_ns = near(plan->open_ns);
    return;
  case 5: { /* two for one */
    const int64_t end = w->end_ns;
    w->end_ns = w->start_ns + (end - w->start_ns) / 2;
    ck_assert_int_eq(prem_plan_add_closed(plan, w->end_ns, end), PREM_OK);
    return;
  }
  default: { /* none is moved, all are */
    const int64_t by = draw(1, 2);
    for (int32_t i = 0; i < plan->closed_count; ++i) {
      plan->closed[i].start_ns += by;
      plan->closed[i].end_ns += by;
    }
    return;
  }
  }
}

static bool has_code(prem_schedule *schedule, int code) {
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_ne(prem_check(schedule, NULL, diag), PREM_ERR_MEMORY);
  const bool found = prem_diag_has(diag, code);
  return found;
}

static void copy_windows(const prem_plan *from, prem_plan *to) {
  free(to->closed);
  to->closed = NULL;
  to->closed_count = 0;
  to->open_ns = from->open_ns;
  for (int32_t i = 0; i < from->closed_count; ++i)
    ck_assert_int_eq(prem_plan_add_closed(to, from->closed[i].start_ns, from->closed[i].end_ns),
                     PREM_OK);
}

GROUP("windows", .timeout_s = 600);

/* The plan's own windows, and 50 mutants of each: 100 000 in all. */
TEST(mutants_of_closed_windows_are_refused) {
  int64_t refused = 0, wrapped = 0, impossible = 0;
  const int64_t plans = ROUNDS(2000);
  random_state = 11;
  for (int64_t p = 0; p < plans; ++p) {
    gated g;
    OWNED(prem_schedule) *schedule = schedule_from_text(draw_file(&g));
    OWNED(prem_plan) *due = prem_plan_new();
    const int64_t longest = look(&g, due);
    copy_windows(due, schedule->plan);
    const bool never = longest < g.ahead_most;
    ck_assert_msg(!has_code(schedule, 54), "plan %d", (int)p);
    ck_assert_int_eq(has_code(schedule, 52), never);
    impossible += never;
    wrapped +=
        due->closed[0].start_ns == 0 && due->closed[due->closed_count - 1].end_ns == g.hyperperiod;
    for (int m = 0; m < 50; ++m) {
      copy_windows(due, schedule->plan);
      mutate(schedule->plan);
      const bool same = is_same(due, schedule->plan);
      ck_assert_msg(has_code(schedule, 54) == !same, "plan %d, mutant %d", (int)p, m);
      refused += !same;
    }
  }
  printf("%d mutants of %d plans refused, %d wrap, %d never let best effort in\n", (int)refused,
         (int)plans, (int)wrapped, (int)impossible);
  ck_assert_int_gt(refused, plans * 45);
  ck_assert_int_gt(wrapped, plans / 50);
  ck_assert_int_gt(impossible, plans / 50);
}

/* Planners find the same windows as the judge does. */
TEST(planned_windows_hold_instant_by_instant) {
  const int64_t sets = ROUNDS(2000);
  int64_t planned = 0;
  random_state = 12;
  for (int64_t i = 0; i < sets; ++i) {
    gated g;
    OWNED(prem_schedule) *schedule = schedule_from_text(draw_file(&g));
    prem_plan *plan = NULL, *due = prem_plan_new();
    strcpy(schedule->policy.objective, draw(0, 1) ? "response" : "slack");
    prem_schedule_set_plan(schedule, NULL);
    if (prem_plan_make(schedule, NULL, NULL, &plan, NULL) == PREM_OK) {
      FREED prem_slot *slots = NULL;
      int64_t count = 0;
      prem_schedule_set_plan(schedule, plan);
      ck_assert_int_eq(prem_plan_expand(schedule, plan, &slots, &count, NULL), PREM_OK);
      g.count = 0;
      for (int64_t s = 0; s < count; ++s) {
        if (slots[s].phase == PREM_COMPUTE)
          continue;
        ck_assert_int_lt(g.count, 2 * PHASES_MOST);
        if (g.count == PHASES_MOST) /* look() takes so many: chains overlap, the rest is within */
          break;
        g.start[g.count] = slots[s].head_ns;
        if (!(slots[s].flags & PREM_SLOT_CHAINED))
          g.start[g.count] = slots[s].planned_ns;
        g.end[g.count++] = slots[s].planned_ns + slots[s].length_ns;
      }
      if (g.count < PHASES_MOST) {
        look(&g, due);
        ck_assert_msg(is_same(due, plan), "set %d", (int)i);
        ++planned;
      }
      ck_assert(!has_code(schedule, 54));
    }
    prem_plan_free(due);
  }
  ck_assert_int_gt(planned, sets / 4);
}
