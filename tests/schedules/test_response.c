/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: long */
/* Objective "response": jobs of one chain, their starts by hand and by chance, and the best worst
 * responses of tiny sets by trying all. */
#include "tests/common/rounds.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

static uint64_t random_state;

static int64_t draw(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

/* ---- by hand ----------------------------------------------------------------------------------
 */

#define THREE_TILES                                                                                \
  "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 200L;"                \
  " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 5L; }; }"
#define JOB                                                                                        \
  "hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ \"job\" ]; "    \
  "start_ns = 7L; } );"

static void assert_starts(int buffers, const char *more, const int64_t due[3][PREM_PHASE_COUNT]) {
  const char *source =
      file_of(text("blocks = 1; buffers = %d; %s", buffers, more), THREE_TILES, JOB);
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  assert_legal(source);
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  ck_assert_int_eq(count, 9);
  for (int64_t i = 0; i < count; ++i) {
    ck_assert_int_eq(slots[i].planned_ns, 7 + due[slots[i].tile][slots[i].phase]);
    ck_assert_int_eq(slots[i].head_ns, 7);
    ck_assert_int_eq(slots[i].flags, i ? PREM_SLOT_CHAINED : 0);
  }
}

GROUP("chains");

TEST(phases_follow_buffers_data_and_units) {
  assert_starts(1, "", (const int64_t[3][3]){{0, 10, 40}, {45, 55, 85}, {90, 100, 130}});
  /* the third prefetch waits for the first input buffer, before the first writeback */
  assert_starts(2, "", (const int64_t[3][3]){{0, 10, 50}, {10, 40, 70}, {40, 70, 100}});
  assert_starts(3, "", (const int64_t[3][3]){{0, 10, 40}, {10, 40, 70}, {20, 70, 100}});
  /* a guard lies between phases of two tiles, on a unit and until a buffer is used again */
  assert_starts(1, "guard_ns = 2L;",
                (const int64_t[3][3]){{0, 10, 40}, {47, 57, 87}, {94, 104, 134}});
}

TEST(a_chain_of_a_job_is_judged) {
  const char *task = THREE_TILES;
  assert_refused(29, "begins with its first phase",
                 file_of("blocks = 1;", task,
                         "hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"compute\"; "
                         "chain = [ \"job\" ]; start_ns = 0L; } );"));
  /* it ends at 7 + 135 */
  const char *due =
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 200L;"
      " deadline_ns = %dL; prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; };"
      " writeback: { wcet_ns = 5L; }; }";
  char late[512], in_time[512];
  snprintf(late, sizeof late, due, 141);
  snprintf(in_time, sizeof in_time, due, 142);
  assert_twins(33, "ends at 142", file_of("blocks = 1;", late, JOB),
               file_of("blocks = 1;", in_time, JOB));
  /* from its instant on it may use the memory whenever it likes, until it ends */
  const char *other =
      "%s, { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = "
      "200L; prefetch: { wcet_ns = 10L; }; }";
  char both[1024];
  snprintf(both, sizeof both, other, THREE_TILES);
  const char *plan =
      "hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ "
      "\"job\" ]; start_ns = 7L; }, { task = \"b\"; phase = \"prefetch\"; start_ns = "
      "%dL; } );";
  char within[512], behind[512];
  snprintf(within, sizeof within, plan, 20);
  snprintf(behind, sizeof behind, plan, 142);
  assert_twins(37, "memory", file_of("blocks = 2;", both, within),
               file_of("blocks = 2;", both, behind));
  /* and a compute of the next tile at the same time */
  assert_twins(
      37, "memory",
      file_of(
          "blocks = 1; buffers = 2;",
          "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 200L;"
          " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; demand: { memory = 1; }; }; }",
          JOB),
      file_of(
          "blocks = 1; buffers = 2; resources = ( { name = \"memory\"; capacity = 2; } );",
          "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 200L;"
          " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; demand: { memory = 1; }; }; }",
          JOB));
}

static void assert_unreadable(int code, const char *fragment, const char *plan) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(
      prem_schedule_load_text("t", file_of("blocks = 1;", THREE_TILES, plan), &schedule, diag),
      PREM_ERR_PARSE);
  assert_says(diag, code, fragment);
}

TEST(a_chain_of_a_job_is_read) {
  assert_unreadable(
      5, "one start a job",
      "hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ "
      "\"job\" ]; start_ns = 0L; repeat = 3; } );");
  assert_unreadable(
      24, "name it alone",
      "hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ "
      "\"compute\", \"job\" ]; start_ns = 0L; } );");
  assert_unreadable(
      24, "for runs",
      "hyperperiod_ns = 200L; starts = ( { task = \"a\"; phase = \"prefetch\"; chain = [ "
      "\"job\" ]; block = 0; start_ns = [ 0L ]; } );");
}

/* ---- random sets --------------------------------------------------------------------------------
 */

static const char *draw_phases(void) {
  const int kind = (int)draw(0, 7);
  const char *in = text("prefetch: { wcet_ns = %dL; };", (int)draw(1, 20));
  const char *work = text("compute: { wcet_ns = %dL; };", (int)draw(1, 30));
  const char *out = text("writeback: { wcet_ns = %dL; };", (int)draw(1, 15));
  return text("%s %s %s", kind == 1 || kind == 4 ? "" : in, kind == 2 ? "" : work,
              kind == 3 || kind == 4 ? "" : out);
}

static prem_schedule *draw_set(void) {
  static const int periods[] = {2000, 4000, 1000};
  const int blocks = (int)draw(1, 4), tasks = (int)draw(1, 4);
  const bool periodic = draw(0, 2) > 0;
  const char *all = "";
  for (int i = 0; i < tasks; ++i) {
    const int first = (int)draw(0, blocks - 1), last = (int)draw(first, blocks - 1);
    const char *period = "", *after = "";
    if (periodic && draw(0, 3))
      period = text("period_ns = %dL; release_ns = %dL; %s", periods[draw(0, 2)], (int)draw(0, 200),
                    draw(0, 1) ? "" : text("deadline_ns = %dL;", (int)draw(300, 900)));
    if (i > 0 && draw(0, 2) == 0)
      after = text("after = ( { task = \"t%d\"; lag_ns = %dL; instance = \"latest\"; } );",
                   (int)draw(0, i - 1), (int)draw(0, 30));
    all = text(
        "%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = \"%d-%d\"; tiles = %d; %s %s %s %s }",
        all, i ? ", " : "", i, first, last, (int)draw(1, 9), draw(0, 4) ? "" : "together = true;",
        period, draw_phases(), after);
  }
  return schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = %d; buffers = %d; guard_ns = %dL;"
           " precedence_ns = %dL; clock_step_ns = %dL;"
           " resources = ( { name = \"memory\"; capacity = %d; per = \"%s\"; } ); };"
           " tasks = ( %s ); policy: { objective = \"response\"; };",
           blocks, (int)draw(1, 3), (int)draw(0, 3), (int)draw(0, 20), draw(0, 1) ? 1 : 8,
           (int)draw(1, 3), draw(0, 1) ? "block" : "task", all));
}

/* When one block's phases end if they take some part of their WCETs: each as soon as its unit is
 * free and what it waits for is over; only those that are not chained have an instant. */
typedef struct unit_walk {
  const prem_record *records;
  int32_t count, at;
  int64_t free_ns;
} unit_walk;

static bool advance(unit_walk *u, int64_t *ended[PREM_PHASE_COUNT],
                    int32_t done[PREM_PHASE_COUNT]) {
  if (u->at == u->count)
    return false;
  const prem_record *r = &u->records[u->at];
  int64_t at_ns = r->flags & PREM_SLOT_CHAINED ? 0 : r->planned_ns;
  at_ns = at_ns > u->free_ns ? at_ns : u->free_ns;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (r->wait[p] <= 0)
      continue;
    if (r->wait[p] > done[p])
      return false;
    at_ns = ended[p][r->wait[p] - 1] > at_ns ? ended[p][r->wait[p] - 1] : at_ns;
  }
  ck_assert_int_le(at_ns, r->planned_ns);
  const int64_t length_ns = r->planned_end_ns - r->planned_ns;
  u->free_ns = at_ns + (draw(0, 2) ? draw(0, length_ns) : length_ns);
  ck_assert_int_le(u->free_ns, r->planned_end_ns);
  ended[r->phase][done[r->phase]++] = u->free_ns;
  ++u->at;
  return true;
}

static void run_block(const prem_block_program *block) {
  unit_walk units[2] = {{block->memory, block->memory_count, 0, 0},
                        {block->compute, block->compute_count, 0, 0}};
  int64_t *ended[PREM_PHASE_COUNT];
  int32_t done[PREM_PHASE_COUNT] = {0};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    ended[p] = calloc((size_t)block->phase_count[p] + 1, sizeof *ended[p]);
  while (advance(&units[0], ended, done) || advance(&units[1], ended, done)) {
  }
  ck_assert_int_eq(units[0].at, units[0].count); /* it always ends */
  ck_assert_int_eq(units[1].at, units[1].count);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    free(ended[p]);
}

GROUP("sets", .timeout_s = 600);

TEST(random_sets_are_legal_and_never_end_later) {
  const int sets = ROUNDS(3000);
  int planned = 0, chains = 0;
  random_state = 21;
  for (int i = 0; i < sets; ++i) {
    OWNED(prem_schedule) *schedule = draw_set();
    OWNED(prem_diag) *diag = prem_diag_new();
    prem_plan *plan = NULL;
    const prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, diag);
    ck_assert(status == PREM_OK || (status == PREM_ERR_INFEASIBLE && prem_diag_errors(diag) > 0));
    if (status == PREM_OK) {
      prem_program *program = NULL;
      prem_schedule_set_plan(schedule, plan);
      if (prem_check(schedule, NULL, diag) != PREM_OK) {
        print_problems(diag);
        ck_abort_msg("set %d", i);
      }
      ck_assert_int_eq(prem_program_new(schedule, &program, diag), PREM_OK);
      for (int32_t b = 0; b < program->block_count; ++b)
        for (int times = 0; times < 3; ++times)
          run_block(&program->blocks[b]);
      prem_program_free(program);
      ++planned;
      for (int32_t r = 0; r < plan->affine_count; ++r)
        chains += (plan->affine[r].chain & PREM_CHAIN_JOB) != 0;
    }
  }
  printf("%d of %d sets planned, %d runs of jobs\n", planned, sets, chains);
  ck_assert_int_gt(planned, sets / 2);
}

/* What may help is said, and no more: one tile has no use for more blocks. */
TEST(a_late_job_is_told_what_may_help) {
  static const struct {
    const char *task, *said;
  } cases[] = {
      {"tiles = 3; deadline_ns = 130L;", "due at 130; what may help: a later deadline_ns (this job "
                                         "takes 195), more blocks (it has 3 tiles on 1), or "
                                         "objective = \"slack\""},
      {"tiles = 1; deadline_ns = 104L; publish_ns = 90L;",
       "due at 90; what may help: a later publish_ns (this job takes 105), or objective"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    OWNED(prem_schedule) *schedule = schedule_from_text(
        text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = (\n"
             "{ name = \"first\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 400L;"
             " deadline_ns = 60L; prefetch: { wcet_ns = 60L; }; },\n"
             "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; period_ns = 400L; %s"
             " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; }; writeback: { wcet_ns = "
             "5L; }; }"
             " ); policy: { objective = \"response\"; };",
             cases[i].task));
    prem_plan *plan = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_ERR_INFEASIBLE);
    ck_assert_ptr_null(plan);
    assert_says(diag, 33, cases[i].said);
  }
}

/* ---- every plan of tiny sets
 * --------------------------------------------------------------------- */

enum { TINY_TASKS = 3, TINY_JOBS = 4 };

typedef struct tiny {
  prem_schedule *schedule;
  int32_t task[TINY_JOBS], job[TINY_JOBS];
  int64_t length_ns[TINY_TASKS], best[TINY_TASKS], start_ns[TINY_JOBS];
  int32_t rank[TINY_TASKS]; /* the task of each rank */
  int count;
  bool found;
} tiny;

static void note_responses(tiny *t, const int64_t *start_ns) {
  int64_t worst[TINY_TASKS] = {0};
  for (int i = 0; i < t->count; ++i) {
    const prem_task *task = &t->schedule->tasks[t->task[i]];
    const int64_t response =
        start_ns[i] + t->length_ns[t->task[i]] - t->job[i] * task->period_ns - task->release_ns;
    worst[t->task[i]] = response > worst[t->task[i]] ? response : worst[t->task[i]];
  }
  bool better = !t->found, worse = false;
  for (int r = 0; r < t->schedule->task_count && !better && !worse; ++r) {
    better = worst[t->rank[r]] < t->best[t->rank[r]];
    worse = worst[t->rank[r]] > t->best[t->rank[r]];
  }
  t->found = true;
  if (better)
    memcpy(t->best, worst, sizeof worst);
}

static bool accepts(tiny *t, int count) {
  prem_plan *plan = prem_plan_new();
  plan->hyperperiod_ns = t->schedule->period_lcm_ns;
  plan->clock_step_ns = 1;
  for (int i = 0; i < count; ++i)
    ck_assert_int_eq(prem_plan_add_affine(plan, &(prem_affine){.task = t->task[i],
                                                               .chain = PREM_CHAIN_JOB,
                                                               .count = 1,
                                                               .start_ns = t->start_ns[i],
                                                               .repeat = 1,
                                                               .job = t->job[i],
                                                               .jobs = 1,
                                                               .join_task = -1}),
                     PREM_OK);
  prem_schedule_set_plan(t->schedule, plan);
  const bool accepted = prem_check(t->schedule, NULL, NULL) == PREM_OK;
  prem_schedule_set_plan(t->schedule, NULL);
  return accepted;
}

static void try_all(tiny *t, int i) {
  if (i == t->count) {
    if (accepts(t, i))
      note_responses(t, t->start_ns);
    return;
  }
  const prem_task *task = &t->schedule->tasks[t->task[i]];
  const int64_t begin = t->job[i] * task->period_ns;
  /* planners end within the hyperperiod */
  for (int64_t at = begin + task->release_ns;
       at < begin + task->period_ns && at + t->length_ns[t->task[i]] <= t->schedule->period_lcm_ns;
       ++at) {
    t->start_ns[i] = at;
    try_all(t, i + 1);
  }
}

static const char *draw_tiny(int periods[TINY_TASKS]) {
  const char *tasks = "";
  const int count = (int)draw(2, TINY_TASKS);
  for (int i = 0; i < count; ++i) {
    periods[i] = draw(0, 2) == 0 && i == 0 ? 6 : 12;
    tasks = text(
        "%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = %d; period_ns = %dL; "
        "release_ns = %dL; deadline_ns = %dL; prefetch: { wcet_ns = 1L; }; compute: { wcet_ns = "
        "%dL; }; writeback: { wcet_ns = 1L; }; %s }",
        tasks, i ? ", " : "", i, (int)draw(0, 1), draw(0, 5) ? 1 : 2, periods[i], (int)draw(0, 2),
        (int)draw(4, 12), (int)draw(1, 2),
        i > 0 && periods[i - 1] == periods[i] && draw(0, 3) == 0
            ? text("after = ( { task = \"t%d\"; } );", i - 1)
            : "");
  }
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 2; resources = ( { name = \"memory\"; "
      "capacity = %d; } ); }; tasks = ( %s ); policy: { objective = \"response\"; };",
      (int)draw(1, 2), tasks);
}

static int64_t deadline(const prem_schedule *schedule, int32_t t) {
  return schedule->tasks[t].deadline_ns;
}

TEST(tiny_sets_have_the_best_worst_responses) {
  const int sets = ROUNDS(300);
  int feasible = 0, beaten = 0;
  random_state = 31;
  for (int i = 0; i < sets; ++i) {
    int periods[TINY_TASKS];
    tiny t = {.schedule = schedule_from_text(draw_tiny(periods))};
    OWNED(prem_plan) *plan = NULL;
    const prem_status status = prem_plan_make(t.schedule, NULL, NULL, &plan, NULL);
    for (int32_t k = 0; k < t.schedule->task_count; ++k) {
      const prem_task *task = &t.schedule->tasks[k];
      t.length_ns[k] = task->tile_count * (2 + task->phase[PREM_COMPUTE].wcet_ns);
      int32_t at = k;
      for (; at > 0 && deadline(t.schedule, t.rank[at - 1]) > deadline(t.schedule, k); --at)
        t.rank[at] = t.rank[at - 1];
      t.rank[at] = k;
      for (int32_t q = 0; q < prem_task_jobs(t.schedule, task); ++q, ++t.count) {
        t.task[t.count] = k;
        t.job[t.count] = q;
      }
    }
    try_all(&t, 0);
    ck_assert_msg(t.found == (status == PREM_OK), "set %d: %s", i,
                  t.found ? "has a plan" : "has none");
    if (t.found) {
      tiny made = t;
      FREED prem_slot *slots = NULL;
      int64_t count = 0;
      made.found = false;
      ck_assert_int_eq(prem_plan_expand(t.schedule, plan, &slots, &count, NULL), PREM_OK);
      for (int64_t s = 0; s < count; ++s)
        for (int k = 0; k < t.count; ++k)
          if (slots[s].task == t.task[k] && slots[s].job == t.job[k])
            made.start_ns[k] = slots[s].head_ns;
      note_responses(&made, made.start_ns);
      for (int r = 0; r < t.schedule->task_count; ++r)
        ck_assert_msg(made.best[t.rank[r]] == t.best[t.rank[r]], "set %d, task t%d: %d, best %d", i,
                      t.rank[r], (int)made.best[t.rank[r]], (int)t.best[t.rank[r]]);
      ++feasible;
      for (int k = 0; k < t.schedule->task_count; ++k)
        beaten += t.best[k] > t.length_ns[k];
    }
    prem_schedule_free(t.schedule);
  }
  printf("%d of %d tiny sets have plans, %d tasks wait for others\n", feasible, sets, beaten);
  ck_assert_int_gt(feasible, sets / 3);
  ck_assert_int_gt(beaten, sets / 4);
}
