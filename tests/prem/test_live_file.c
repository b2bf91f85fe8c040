/* SPDX-License-Identifier: Apache-2.0 */
/* The `live` group of a schedule file: what it says, what is refused, and that it is kept. */
#include "tests/common/cases.h"
#include "tests/common/suite.h"

/* x -> a -> y and z -> b -> w, every 1000 and 2000 ns; `live` is the group's text. */
static const char *file_with(const char *live) {
  return text("version = 1; name = \"live\"; platform: { blocks = 2; };\n"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },\n"
              "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },\n"
              "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; },\n"
              "  { name = \"w\"; type = \"f32\"; shape = [ 8 ]; },\n"
              "  { name = \"idle\"; type = \"f32\"; shape = [ 8 ]; } );\n"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
              "    period_ns = 1000L; arrays: { in = \"x\"; out = \"y\"; };\n"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
              "    writeback: { wcet_ns = 10L; }; },\n"
              "  { name = \"b\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
              "    period_ns = 2000L; publish_ns = 1500L; arrays: { in = \"z\"; out = \"w\"; };\n"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };\n"
              "    writeback: { wcet_ns = 10L; }; } );\n"
              "%s\n",
              live);
}

static prem_diag *load(const char *live, prem_schedule **schedule) {
  prem_diag *diag = prem_diag_new();
  *schedule = NULL;
  if (prem_schedule_load_text("live.cfg", file_with(live), schedule, diag) == PREM_OK)
    prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  return diag;
}

/* ---- what it says --------------------------------------------------------------------------- */

TEST(ports_are_read_with_their_defaults) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load("live: { outputs = ( { array = \"y\"; }, { array = \"w\"; kind = "
                                "\"queuing\"; buffers = 5; } );\n"
                                "  inputs = ( { array = \"x\"; lead_ns = 7L; max_age_ns = 9L; },\n"
                                "    { array = \"z\"; kind = \"trigger\"; } ); };",
                                &schedule);
  print_problems(diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert_int_eq(schedule->live_count, 4);
  ck_assert_int_eq(schedule->live_input_count, 2);
  const prem_live_port *x = &schedule->live[0], *z = &schedule->live[1], *y = &schedule->live[2],
                       *w = &schedule->live[3];
  ck_assert(!x->is_output && x->kind == PREM_LIVE_SAMPLING && x->missing == PREM_MISSING_REPEAT);
  ck_assert(x->buffers == 3 && x->lead_ns == 7 && x->max_age_ns == 9);
  ck_assert(z->kind == PREM_LIVE_TRIGGER && z->missing == PREM_MISSING_WAIT);
  ck_assert(y->is_output && y->kind == PREM_LIVE_SAMPLING && y->drops && y->publish_ns == 0);
  ck_assert(w->kind == PREM_LIVE_QUEUING && !w->drops && w->buffers == 5);
  ck_assert_int_eq(w->publish_ns, 1500); /* its writer's */
  ck_assert_int_eq(prem_schedule_live_port(schedule, 3), 3);
  ck_assert_int_eq(prem_schedule_live_port(schedule, 4), -1);
}

TEST(the_writer_is_planned_for_publishing) {
  prem_schedule *schedule;
  prem_diag *diag =
      load("live: { outputs = ( { array = \"y\"; publish_ns = 29L; } ); };", &schedule);
  ck_assert_int_eq(schedule->tasks[0].publish_ns, 29);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag),
                   PREM_ERR_INFEASIBLE);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  diag = load("live: { outputs = ( { array = \"y\"; publish_ns = 30L; } ); };", &schedule);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag), PREM_OK);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}

TEST(a_part_of_a_schedule_has_no_ports) {
  prem_schedule *schedule, *part;
  prem_diag *diag = load("live: { inputs = ( { array = \"x\"; } ); };", &schedule);
  ck_assert_int_eq(prem_schedule_subset(schedule, (const bool[]){true, false}, &part), PREM_OK);
  ck_assert_int_eq(part->live_count, 0);
  prem_schedule_free(part);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}

TEST(planning_keeps_the_group) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  close(mkstemps(path, 4));
  prem_schedule *schedule, *again;
  prem_diag *diag =
      load("live: { inputs = ( { array = \"x\"; missing = \"skip\"; } ); };", &schedule);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag), PREM_OK);
  ck_assert_int_eq(prem_schedule_save(schedule, path, diag), PREM_OK);
  ck_assert_int_eq(prem_schedule_load(path, NULL, &again, diag), PREM_OK);
  ck_assert_int_eq(again->live_count, 1);
  ck_assert_int_eq(again->live[0].missing, PREM_MISSING_SKIP);
  ck_assert_ptr_nonnull(again->plan);
  unlink(path);
  prem_schedule_free(again);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/* ---- what is refused ------------------------------------------------------------------------ */

TEST(ports_are_refused_and_their_twins_are_legal) {
  cases_judge("prem/live_cases.txt");
}

/* ---- overruns ------------------------------------------------------------------------------- */

/* a writes y, b reads it `after` a; `more` stands among a's settings, `of_b` among b's. */
static prem_diag *load_overruns(const char *more, const char *of_b, const char *rest,
                                prem_schedule **schedule) {
  prem_diag *diag = prem_diag_new();
  *schedule = NULL;
  const char *source =
      text("version = 1; name = \"overruns\"; platform: { blocks = 2; };\n"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },\n"
           "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },\n"
           "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );\n"
           "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
           "    period_ns = 1000L; arrays: { in = \"x\"; out = \"y\"; }; %s },\n"
           "  { name = \"b\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];\n"
           "    arrays: { in = \"y\"; out = \"z\"; }; %s } );\n%s\n",
           more, of_b, rest);
  if (prem_schedule_load_text("overruns.cfg", source, schedule, diag) == PREM_OK)
    prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  return diag;
}

#define SAME_JOB   "period_ns = 1000L; after = ( { task = \"a\"; } ); "
#define LATEST_JOB "period_ns = 2000L; after = ( { task = \"a\"; instance = \"latest\"; } ); "

TEST(a_task_or_else_the_policy_says_what_an_overrun_does) {
  prem_schedule *schedule;
  prem_diag *diag =
      load_overruns("deadline_ns = 900L; overrun = \"stop\";", SAME_JOB "deadline_ns = 1000L;",
                    "policy: { overrun = \"abort\"; };", &schedule);
  print_problems(diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert_int_eq(schedule->tasks[0].overrun, PREM_OVERRUN_STOP);
  ck_assert_int_eq(schedule->tasks[1].overrun, PREM_OVERRUN_ABORT);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  diag = load_overruns("deadline_ns = 900L; overrun = \"skip\";", SAME_JOB, "", &schedule);
  ck_assert_int_eq(schedule->tasks[0].overrun, PREM_OVERRUN_SKIP);
  ck_assert_int_eq(schedule->tasks[1].overrun, PREM_OVERRUN_RECORD);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}

static void assert_only(const prem_diag *diag, int code, const char *key, const char *reason) {
  const prem_problem *problem = prem_diag_count(diag) ? prem_diag_at(diag, 0) : NULL;
  if (prem_diag_errors(diag) == 1 && problem->code == code && strcmp(problem->key, key) == 0 &&
      strstr(problem->reason, reason) && problem->line > 0)
    return;
  print_problems(diag);
  ck_abort_msg("expected E%03d: %s: ...%s... alone", code, key, reason);
}

/* A kernel whose outputs stand around its input. */
static prem_status spread_bind(prem_bind *bind) {
  prem_window window;
  const prem_status status = prem_bind_tile(bind, 1, bind->shape[1], &window);
  for (int port = 0; status == PREM_OK && port < 3; ++port)
    bind->window[port] = window;
  return status;
}

static void spread_compute(const void *params, const prem_view *views) {
  (void)params;
  (void)views;
}

static const prem_port spread_ports[] = {
    {"out", PREM_OUT, PREM_F32}, {"in", PREM_IN, PREM_F32}, {"second", PREM_OUT, PREM_F32}};
static const prem_kernel spread_kernel = {.name = "spread",
                                          .summary = "two outputs",
                                          .version = 1,
                                          .ports = spread_ports,
                                          .port_count = 3,
                                          .bind = spread_bind,
                                          .compute = spread_compute};

/* Of the arrays that the next task reads that one is named which can be half written, wherever the
 * kernel has it. */
TESTS(the_array_that_can_be_half_written_is_named, 2) {
  const char *output = _i ? "second" : "out", *other = _i ? "out" : "second";
  const prem_kernel *kernels[] = {&spread_kernel,
                                  prem_registry_find(prem_registry_builtin(), "blend")};
  const prem_registry registry = {kernels, 2};
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *array = "{ name = \"%s\"; type = \"f32\"; shape = [ 8 ]; }";
  const char *arrays = text("%s, %s, %s, %s", text(array, "x"), text(array, "y"), text(array, "w"),
                            text(array, "z"));
  const char *source =
      text("version = 1; name = \"t\"; platform: { blocks = 2; };\n"
           "arrays = ( %s );\n"
           "tasks = ( { name = \"a\"; kernel = \"spread\"; blocks = 1; tile = [ 8 ];\n"
           "    period_ns = 1000L; deadline_ns = 900L; overrun = \"abort\";\n"
           "    arrays: { %s = \"y\"; in = \"x\"; %s = \"w\"; }; },\n"
           "  { name = \"b\"; kernel = \"blend\"; blocks = 1; tile = [ 8 ];\n"
           "    arrays: { a = \"x\"; b = \"y\"; out = \"z\"; }; " LATEST_JOB " } );\n",
           arrays, output, other);
  ck_assert_int_eq(prem_schedule_load_text("t.cfg", source, &schedule, diag), PREM_OK);
  prem_schedule_bind(schedule, &registry, diag);
  assert_only(diag, 48, "tasks.a.overrun", "array 'y' half written, and task 'b' reads");
}
