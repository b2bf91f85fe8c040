/* SPDX-License-Identifier: Apache-2.0 */
/* The `live` group of a schedule file: what it says, what is refused, and that it is kept. */
#include "tests/common/running.h"
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

typedef struct refusal {
  int code;
  const char *live, *key, *reason; /* a part of the reason */
} refusal;

#define INPUT(text)  "live: { inputs = ( { " text " } ); };"
#define OUTPUT(text) "live: { outputs = ( { " text " } ); };"

#define EIGHT_PORTS                                                                                \
  "{ array = \"x\"; }, { array = \"x\"; }, { array = \"x\"; }, { array = \"x\"; },"                \
  "{ array = \"x\"; }, { array = \"x\"; }, { array = \"x\"; }, { array = \"x\"; }"

static const refusal refusals[] = {
    {20,
     "live: { inputs = ( " EIGHT_PORTS ", " EIGHT_PORTS " ); outputs = ( " EIGHT_PORTS
     ", " EIGHT_PORTS ", { array = \"y\"; } ); };",
     "live", "33 live ports, the limit is 32"},
    {8, "live = ( );", "live", "is a list ( ), must be a group { }"},
    {5, "live: { input = ( ); };", "live.input", "did you mean 'inputs'?"},
    {8, "live: { inputs: { }; };", "live.inputs", "must be a list ( )"},
    {8, "live: { inputs = ( 3 ); };", "live.inputs[0]", "must be a group { }"},
    {3, INPUT("kind = \"sampling\";"), "live.inputs[0].array", "name one of the arrays"},
    {24, INPUT("array = \"xx\";"), "live.inputs[0].array", "did you mean 'x'?"},
    {24, INPUT("array = \"x\"; kind = \"sampled\";"), "live.inputs[0].kind", "'trigger'"},
    {24, OUTPUT("array = \"y\"; kind = \"trigger\";"), "live.outputs[0].kind", "'queuing'"},
    {24, INPUT("array = \"x\"; missing = \"drop\";"), "live.inputs[0].missing", "'skip'"},
    {5, INPUT("array = \"x\"; publish_ns = 5L;"), "live.inputs[0].publish_ns", "unknown key"},
    {5, OUTPUT("array = \"y\"; lead_ns = 5L;"), "live.outputs[0].lead_ns", "unknown key"},
    {5, INPUT("array = \"x\"; kind = \"queuing\"; max_age_ns = 5L;"), "live.inputs[0].max_age_ns",
     "make the port \"sampling\""},
    {7, INPUT("array = \"x\"; lead_ns = 5;"), "live.inputs[0].lead_ns", "write 5L"},
    {15, INPUT("array = \"x\"; max_age_ns = 0L;"), "live.inputs[0].max_age_ns", "above 0"},
    {17, INPUT("array = \"x\"; buffers = 1;"), "live.inputs[0].buffers", "at least 2"},
    {17, INPUT("array = \"x\"; kind = \"queuing\"; buffers = 0;"), "live.inputs[0].buffers",
     "at least 1"},
    {17, INPUT("array = \"x\"; kind = \"queuing\"; missing = \"repeat\"; buffers = 1;"),
     "live.inputs[0].buffers", "at least 2"},
    {20, OUTPUT("array = \"y\"; buffers = 17;"), "live.outputs[0].buffers", "limit is 16"},
    {6, "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"x\"; } ); };",
     "live.outputs[0].array", "two live ports"},
    {47, INPUT("array = \"y\";"), "live.inputs.y.array", "task 'a' writes it too"},
    {47, INPUT("array = \"idle\";"), "live.inputs.idle.array", "no task reads it"},
    {47, INPUT("array = \"x\"; lead_ns = 1001L;"), "live.inputs.x.lead_ns", "1000 ns"},
    {47, INPUT("array = \"x\"; kind = \"trigger\";"), "live.inputs.x.kind", "'a' has 2 jobs"},
    {47, OUTPUT("array = \"x\";"), "live.outputs.x.array", "0 tasks write it"},
    {47, OUTPUT("array = \"w\"; publish_ns = 1600L;"), "live.outputs.w.publish_ns",
     "task 'b', which writes it, is 1500 ns"},
};

TESTS(is_refused, (int)(sizeof refusals / sizeof *refusals)) {
  const refusal *wrong = &refusals[_i];
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load(wrong->live, &schedule);
  bool is_said = false;
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    is_said |= problem->code == wrong->code && strcmp(problem->key, wrong->key) == 0 &&
               strstr(problem->reason, wrong->reason) && problem->line > 0;
  }
  if (!is_said || prem_diag_errors(diag) != 1) {
    print_problems(diag);
    ck_abort_msg("expected E%03d: %s: ...%s... alone", wrong->code, wrong->key, wrong->reason);
  }
}

static const char *const legal[] = {
    "live: { };",
    "live: { inputs = ( ); };",
    INPUT("array = \"x\"; buffers = 2;"),
    INPUT("array = \"x\"; kind = \"queuing\"; buffers = 1;"),
    INPUT("array = \"x\"; lead_ns = 1000L;"),
    INPUT("array = \"z\"; kind = \"trigger\"; missing = \"repeat\"; buffers = 16;"),
    OUTPUT("array = \"w\"; publish_ns = 1500L; overflow = \"drop\";"),
    OUTPUT("array = \"y\"; kind = \"queuing\"; buffers = 1;"),
};

TESTS(is_legal, (int)(sizeof legal / sizeof *legal)) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load(legal[_i], &schedule);
  if (prem_diag_errors(diag) > 0) {
    print_problems(diag);
    ck_abort_msg("%s", legal[_i]);
  }
}

TEST(an_output_that_is_read_is_refused) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  char source[8192];
  snprintf(source, sizeof source, "%s", file_with("live: { outputs = ( { array = \"y\"; } ); };"));
  char *at = strstr(source, "in = \"z\"");
  ck_assert_ptr_nonnull(at);
  at[6] = 'y';
  if (prem_schedule_load_text("live.cfg", source, &schedule, diag) == PREM_OK)
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  ck_assert(prem_diag_has(diag, 47));
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "task 'b' reads it as well"));
}

TEST(one_trigger_is_the_limit) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  char source[8192];
  snprintf(source, sizeof source, "%s",
           file_with("live: { inputs = ( { array = \"x\"; kind = \"trigger\"; },"
                     " { array = \"z\"; kind = \"trigger\"; } ); };"));
  for (char *at; (at = strstr(source, "period_ns = 1000L;"));)
    memcpy(at, "period_ns = 2000L;", 18);
  if (prem_schedule_load_text("live.cfg", source, &schedule, diag) == PREM_OK)
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_ptr_nonnull(
      strstr(prem_diag_at(diag, 0)->reason, "'x' starts the hyperperiod already"));
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

typedef struct bad_overrun {
  const char *of_a, *of_b, *rest;
  int code;
  const char *key, *reason;
} bad_overrun;

static const bad_overrun bad_overruns[] = {
    {"deadline_ns = 900L; overrun = \"kill\";", SAME_JOB, "", 24, "tasks.a.overrun",
     "'record', 'skip', 'abort', 'stop'"},
    {"deadline_ns = 900L; overrun = 3;", SAME_JOB, "", 8, "tasks.a.overrun", "must be a string"},
    {"overrun = \"skip\";", SAME_JOB, "", 3, "tasks.a.deadline_ns", "give one, or leave"},
    {"", SAME_JOB, "policy: { overrun = \"skipp\"; };", 24, "policy.overrun", "'skip'"},
    {"deadline_ns = 900L; overrun = \"abort\";", LATEST_JOB, "", 48, "tasks.a.overrun",
     "array 'y' half written, and task 'b' reads"},
    {"deadline_ns = 900L;", LATEST_JOB, "policy: { overrun = \"abort\"; };", 48, "tasks.a.overrun",
     "come `after` the same job of 'a'"},
    /* b reads what the last job of a wrote */
    {"deadline_ns = 900L; overrun = \"abort\"; after = ( { task = \"b\"; } );",
     "period_ns = 1000L;", "", 48, "tasks.a.overrun", "task 'b' reads"},
};

TESTS(an_overrun_that_cannot_be_is_refused, (int)(sizeof bad_overruns / sizeof *bad_overruns)) {
  const bad_overrun *wrong = &bad_overruns[_i];
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load_overruns(wrong->of_a, wrong->of_b, wrong->rest, &schedule);
  assert_only(diag, wrong->code, wrong->key, wrong->reason);
}

TESTS(an_overrun_that_leaves_nothing_half_is_legal, 3) {
  static const char *const of_a[] = {"deadline_ns = 900L; overrun = \"skip\";",
                                     "deadline_ns = 900L; overrun = \"abort\";", ""};
  static const char *const of_b[] = {LATEST_JOB, SAME_JOB, LATEST_JOB};
  static const char *const rest[] = {"", "", "policy: { overrun = \"abort\"; };"};
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = load_overruns(of_a[_i], of_b[_i], rest[_i], &schedule);
  print_problems(diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert(schedule->bound);
}

/* The shortest period of the readers of `x` is what counts, wherever it stands; one-shot tasks have
 * none. */
TEST(a_frame_is_not_chosen_before_the_one_before_is_read) {
  static const struct {
    int periods_ns[3], shortest_ns;
  } cases[] = {{{2000, 4000, 1000}, 1000},
               {{1000, 4000, 2000}, 1000},
               {{4000, 1000, 2000}, 1000},
               {{2000, 2000, 2000}, 2000},
               {{0, 0, 0}, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *tasks = "";
    for (int t = 0; t < 3; ++t)
      tasks = text("%s%s{ name = \"t%d\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
                   " %s arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
                   " compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; }\n",
                   tasks, t ? "," : "", t,
                   cases[i].periods_ns[t] ? text("period_ns = %dL;", cases[i].periods_ns[t]) : "");
    for (int more = 0; more < 2; ++more) {
      const int lead_ns = (cases[i].shortest_ns ? cases[i].shortest_ns : 5000) + more;
      OWNED(prem_schedule) *schedule = NULL;
      OWNED(prem_diag) *diag = prem_diag_new();
      ck_assert_int_eq(
          prem_schedule_load_text(
              "t.cfg",
              text("version = 1; name = \"t\"; platform: { blocks = 3; };\n"
                   "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; } );\n"
                   "tasks = ( %s );\nlive: { inputs = ( { array = \"x\"; lead_ns = %dL; } ); };\n",
                   tasks, lead_ns),
              &schedule, diag),
          PREM_OK);
      prem_schedule_bind(schedule, prem_registry_builtin(), diag);
      if (more && cases[i].shortest_ns)
        assert_only(diag, 47, "live.inputs.x.lead_ns",
                    text("is %d ns, more than the shortest period of its readers, %d ns; frames "
                         "would be chosen before the one before is read",
                         lead_ns, cases[i].shortest_ns));
      else
        ck_assert_uint_eq(prem_diag_count(diag), 0);
    }
  }
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
