/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that come `after` the latest job of a task that is released later: the first of them read
 * before anybody has written. Runs of every length are right, and wrong ones are still found. */
/* ctest: threads */
#include "tests/common/running.h"
#include "tests/common/suite.h"

static const char *const backends[] = {"sim", "cpu"};

/* b reads what a is going to write, c what b is. Without plan. */
static const char *chain(const char *writer) {
  return text(
      "version = 1; name = \"early\"; platform: { blocks = 2; buffers = 2; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; fill = \"random\"; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; fill = \"random\"; seed = 5; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"end\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"%s\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 2000000L; release_ns = 1000000L; arrays: { in = \"x\"; out = \"y\"; };"
      "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
      "    writeback: { wcet_ns = 50000L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 2000000L; release_ns = 500000L; arrays: { in = \"y\"; out = \"z\"; };"
      "    after = ( { task = \"a\"; instance = \"latest\"; } );"
      "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
      "    writeback: { wcet_ns = 50000L; }; },"
      "  { name = \"c\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    period_ns = 2000000L; arrays: { in = \"z\"; out = \"end\"; };"
      "    after = ( { task = \"b\"; instance = \"latest\"; } );"
      "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
      "    writeback: { wcet_ns = 50000L; }; } );",
      writer);
}

static prem_verdict run_and_judge(prem_session *session, const prem_schedule *schedule,
                                  prem_mode mode, int64_t hyperperiods) {
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  prem_trace_free(run_in(session, schedule, mode, hyperperiods));
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  return verdict;
}

/* Longer and shorter ones by turns: what an early job finds is never that of the run before. */
TESTS(runs_of_every_length_are_right, 2) {
  static const int64_t lengths[] = {1, 2, 3, 1, 40, 2};
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK, PREM_MODE_LEGACY};
  OWNED(prem_schedule) *schedule = prepared_schedule(chain("vector_increment"));
  OWNED(prem_session) *session = open_on(backends[_i], schedule);
  for (int m = 0; m < 4; ++m)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
      if (!prem_backend_has_mode(prem_backend_find(backends[_i]), modes[m]))
        continue;
      const prem_verdict verdict = run_and_judge(session, schedule, modes[m], lengths[i]);
      ck_assert_msg(verdict.ok, "%s, %s, %d hyperperiods: array %d is %g, not %g", backends[_i],
                    prem_mode_name(modes[m]), (int)lengths[i], (int)verdict.array, verdict.found,
                    verdict.expected);
    }
}

/* A task that writes too little: where the fill still stands nothing was written. */
static void add_two(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 2;
}

TESTS(wrong_outputs_are_found, 2) {
  const prem_kernel *increment = prem_registry_find(prem_registry_builtin(), "vector_increment");
  prem_kernel wrong = *increment;
  wrong.name = "wrong";
  wrong.compute = add_two;
  const prem_kernel *list[] = {increment, &wrong};
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load_text("early.cfg", chain("wrong"), &schedule, diag), PREM_OK);
  ck_assert_int_eq(prem_prepare(schedule, &(prem_registry){list, 2}, NULL, NULL, diag), PREM_OK);
  OWNED(prem_session) *session = open_on(backends[_i], schedule);
  for (int64_t length = 1; length <= 3; ++length) {
    const prem_verdict verdict = run_and_judge(session, schedule, PREM_MODE_TT, length);
    ck_assert(!verdict.ok);
    /* y; from the second hyperperiod on z as well, then the end */
    ck_assert_int_eq(verdict.wrong, 8 * length);
  }
}

/* The second tile of b is fetched when a has written: the checker warns. Nothing is said of what b
 * makes before it has settled, and all of it then. */
static const char *overlapping(const char *kernel) {
  return text(
      "version = 1; name = \"open\"; platform: { blocks = 2; buffers = 2; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; fill = \"random\"; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 1000L; release_ns = 10L; arrays: { in = \"x\"; out = \"y\"; };"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"%s\"; blocks = [ 1 ]; tile = [ 4 ];"
      "    period_ns = 1000L; arrays: { in = \"y\"; out = \"z\"; };"
      "    after = ( { task = \"a\"; instance = \"latest\"; } );"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 10L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 20L; },"
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 30L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 0L; tile = 0; },"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 10L; tile = 0; },"
      "  { task = \"b\"; phase = \"writeback\"; start_ns = 20L; tile = 0; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 60L; tile = 1; },"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 70L; tile = 1; },"
      "  { task = \"b\"; phase = \"writeback\"; start_ns = 80L; tile = 1; } ); };",
      kernel);
}

TEST(a_mixture_is_judged_when_it_has_settled) {
  const prem_kernel *increment = prem_registry_find(prem_registry_builtin(), "vector_increment");
  prem_kernel wrong = *increment;
  wrong.name = "wrong";
  wrong.compute = add_two;
  const prem_kernel *list[] = {increment, &wrong};
  for (int is_wrong = 0; is_wrong < 2; ++is_wrong) {
    OWNED(prem_schedule) *schedule = NULL;
    OWNED(prem_session) *session = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    ck_assert_int_eq(prem_schedule_load_text("open.cfg",
                                             overlapping(is_wrong ? "wrong" : "vector_increment"),
                                             &schedule, diag),
                     PREM_OK);
    if (prem_prepare(schedule, &(prem_registry){list, 2}, NULL, NULL, diag) != PREM_OK ||
        prem_session_open(prem_backend_find("sim"), schedule, &session, diag) != PREM_OK)
      abort_with("open", diag);
    const prem_problem *last = prem_diag_at(diag, prem_diag_count(diag) - 1);
    ck_assert_str_eq(last->key, "arrays.z");
    ck_assert(run_and_judge(session, schedule, PREM_MODE_TT, 1).ok);
    ck_assert_int_eq(run_and_judge(session, schedule, PREM_MODE_TT, 20).ok, !is_wrong);
    ck_assert(run_and_judge(session, schedule, PREM_MODE_TT, 1).ok);
  }
}
