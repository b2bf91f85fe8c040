/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wherever memory runs out, that is what is said, nothing is lost or left half-written, and what
 * went well all the same is right: with one schedule, all that comes after its plan, and live
 * sessions. tests/prem/test_memory_files.c reads and runs others, and
 * tests/schedules/test_planner_memory.c plans them. See tests/common/memory_sweep.h.
 */
#include "tests/common/memory_sweep.h"

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "tests/common/suite.h"

#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/search/search.h"

#include "measure/handovers.h"
#include "measure/resource_usage.h"
#include "measure/standstills.h"
#include "ttprem/report.h"

/* Without the test framework's help, which asks for memory, too. Good until the fourth call. */
static const char *path_of(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", golden_folder, name);
  return path;
}

enum { MOST = 260 };

static prem_schedule *schedule; /* bound, with a plan */
static char *source;            /* of a file */

/* Findings say when they were made. */
static void blank_dates(char *text) {
  for (char *at = text; (at = strstr(at, "T")); ++at)
    if (at - text >= 10 && strlen(at) >= 10 && at[-3] == '-' && at[3] == ':' && at[6] == ':' &&
        at[9] == 'Z')
      memset(at - 10, '0', 20);
}

/* `or_else`: what may be said instead, where a parser or the file system is asked. The first
 * requests of a parser are not ours: jansson loses letters of texts that it has no room for. */
static void sweep(const char *name, attempt *of, prem_status or_else, int64_t most) {
  memory_sweep_all(name, of,
                   (memory_sweep){.or_else = or_else,
                                  .most = most,
                                  .all_apart = or_else == PREM_ERR_PARSE,
                                  .blank = blank_dates});
}

/* ---- what is tried -------------------------------------------------------------------------- */

/* A problem that there is no memory for is counted, and kept in no part. */
static prem_status tell_problems(FILE *told) {
  OWNED(prem_diag) *diag = prem_diag_new();
  for (int i = 0; diag && i < 12; ++i)
    prem_diag_add(diag, PREM_ERROR, 17, (prem_place){"t.cfg", i}, "tasks", "number %d", i);
  failing.armed = false;
  const size_t kept = prem_diag_count(diag);
  for (size_t i = 0; i < kept; ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    ck_assert(problem->file && problem->key && problem->reason);
    fprintf(told, "%s:%d: %s: %s\n", problem->file, problem->line, problem->key, problem->reason);
  }
  ck_assert_uint_eq(prem_diag_errors(diag), diag ? 12 : 0);
  ck_assert_uint_eq(kept + prem_diag_dropped(diag), diag ? 12 : 0);
  const prem_status status = kept == 12 ? PREM_OK : PREM_ERR_MEMORY;
  return status;
}

static void tell_plan(FILE *told, const prem_plan *plan) {
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  if (prem_plan_expand(schedule, plan, &slots, &count, NULL) != PREM_OK)
    return;
  for (int64_t i = 0; i < count; ++i)
    fprintf(told, "%d.%d.%d %" PRId64 "\n", slots[i].task, slots[i].tile, slots[i].phase,
            slots[i].planned_ns);
}

/* The search alone, which says that it failed: its starts then are not those that it found. */
static prem_status search_on(FILE *told) {
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  const prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = 60};
  const prem_search_limits limits = {
      .options = &options, .until_ns = PREM_MAX_NS, .give_up_ns = PREM_MAX_NS, .seed = 1};
  prem_draft draft;
  prem_search_result found;
  const int64_t fails_at = failing.fail_at;
  failing_disarm();
  ck_assert_int_eq(prem_plan_constructive(&planning, &draft), PREM_OK);
  failing_arm(fails_at);
  const prem_status status = prem_plan_search(&planning, &limits, &draft, &found);
  failing.armed = false;
  if (status == PREM_OK) {
    fprintf(told, "%d%d%d %" PRId64 " steps, %" PRId64 " ns:", found.improved, found.feasible,
            found.optimal, found.steps, draft.hyperperiod_ns);
    for (int64_t i = 0; i < draft.count; ++i)
      fprintf(told, " %" PRId64, draft.placements[i].start_ns);
    ck_assert(found.improved); /* so that what is told is the search's own */
  }
  free(draft.placements);
  free(draft.slots);
  return status;
}

static prem_status compress(FILE *told) {
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  OWNED(prem_plan) *again = prem_plan_new();
  prem_status status =
      again ? prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL) : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    again->hyperperiod_ns = schedule->plan->hyperperiod_ns;
    status = prem_plan_compress(schedule, slots, count, again);
  }
  failing.armed = false;
  if (status == PREM_OK)
    tell_plan(told, again);
  return status;
}

static prem_status check(FILE *told) {
  fputs("legal", told);
  return prem_check(schedule, NULL, NULL);
}

static prem_status part(FILE *told) {
  bool keep_all[64] = {false};
  for (int32_t t = 0; t < schedule->task_count; t += 2)
    keep_all[t] = true;
  OWNED(prem_schedule) *some = UNSET;
  const prem_status status = prem_schedule_subset(schedule, keep_all, &some);
  if (status == PREM_OK)
    fprintf(told, "%d", some->task_count);
  return status;
}

/* No file is touched unless all went well. */
static prem_status save(FILE *told) {
  const char *path = path_of("saved.cfg");
  FILE *file = fopen(path, "w");
  fputs("before", file);
  fclose(file);
  failing_arm(failing.fail_at);
  const prem_status status = prem_schedule_save(schedule, path, NULL);
  failing.armed = false;
  FREED char *found = golden_take(path);
  if (status != PREM_OK)
    ck_assert_str_eq(found, "before");
  fputs(found, told);
  return status;
}

/* A chain whose jobs are given up, and which has ports; with what binding makes of them. */
static const char live_source[] =
    "version = 1; name = \"live\"; platform: { blocks = 2; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"mid\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 1000L; deadline_ns = 50L; overrun = \"abort\";"
    "    arrays: { in = \"x\"; out = \"mid\"; }; prefetch: { wcet_ns = 10L; };"
    "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
    "    period_ns = 1000L; arrays: { in = \"mid\"; out = \"y\"; }; after = ( { task = \"a\"; } );"
    "    args: { increment = 2; };"
    "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
    "    writeback: { wcet_ns = 10L; }; } );"
    "live: { inputs = ( { array = \"x\"; missing = \"wait\"; } ); outputs = ( { array = \"y\"; } );"
    "};";

static prem_status run_live(prem_live *live, FILE *told) {
  prem_frame frame;
  prem_live_counts y;
  prem_status status = prem_live_start(live, &(prem_live_request){.mode = PREM_MODE_TT}, NULL);
  if (status == PREM_OK) {
    prem_live_sleep_until(live, 45); /* too late for its deadline, 50 */
    status = prem_live_acquire(live, 0, 0, &frame, NULL);
  }
  if (status == PREM_OK)
    status = prem_live_submit(live, &frame, NULL);
  if (status == PREM_OK)
    status = prem_live_stop(live, true, 9999, NULL);
  if (status != PREM_OK)
    return status;
  prem_live_state state;
  prem_live_look(live, &state);
  prem_live_count(live, 1, &y);
  fprintf(told, "aborted %d, skipped %d, missing %d", (int)state.aborted, (int)state.skipped,
          (int)y.missing);
  return PREM_OK;
}

/* A session of live_source, from its text to its end. */
static prem_status in_session(prem_status (*work)(prem_live *live, FILE *told), FILE *told) {
  OWNED(prem_schedule) *read = NULL;
  OWNED(prem_live) *live = NULL;
  prem_status status = prem_schedule_load_text("live.cfg", live_source, &read, NULL);
  if (status == PREM_OK)
    status = prem_prepare(read, prem_registry_builtin(), NULL, NULL, NULL);
  if (status == PREM_OK) {
    live = UNSET;
    status = prem_live_open(&prem_backend_sim, read, &live, NULL);
  }
  if (status == PREM_OK)
    status = work(live, told);
  return status;
}

static prem_status go_live(FILE *told) {
  return in_session(run_live, told);
}

static prem_status run_with_arguments(prem_live *live, FILE *told) {
  const double by = 5;
  prem_frame frame;
  /* what has failed changed nothing, and can be tried again */
  prem_status status = prem_live_set(live, 1, "increment", &by, 1, NULL);
  if (status == PREM_ERR_MEMORY)
    status = prem_live_set(live, 1, "increment", &by, 1, NULL);
  if (status == PREM_OK)
    status = prem_live_apply(live, NULL);
  if (status == PREM_OK)
    status = prem_live_start(live, &(prem_live_request){.mode = PREM_MODE_TT}, NULL);
  if (status == PREM_OK)
    status = prem_live_acquire(live, 0, 0, &frame, NULL);
  if (status != PREM_OK)
    return status;
  memset(frame.data, 0, (size_t)frame.shape[3] * sizeof(float));
  status = prem_live_submit(live, &frame, NULL);
  if (status == PREM_OK)
    status = prem_live_wait(live, 1, 999, &frame, NULL);
  if (status == PREM_OK)
    fprintf(told, "0 becomes %g", (double)((const float *)frame.data)[0]);
  return status == PREM_OK ? prem_live_release(live, &frame, NULL) : status;
}

/* What the file says of arguments is copied before the first one is set. */
static prem_status set_arguments(FILE *told) {
  return in_session(run_with_arguments, told);
}

/* A percentile may lack a result; counts lack none. */
static prem_status tell_tally(FILE *told) {
  OWNED(prem_schedule) *read = NULL;
  OWNED(prem_tally) *tally = UNSET;
  prem_status status = prem_schedule_load_text("live.cfg", live_source, &read, NULL);
  if (status == PREM_OK)
    status = prem_prepare(read, prem_registry_builtin(), NULL, NULL, NULL);
  if (status != PREM_OK)
    tally = NULL;
  else
    status = prem_tally_new(read, "sim", PREM_MODE_TT, 0, &tally);
  for (int job = 0; status == PREM_OK && job < 3; ++job)
    prem_tally_result(
        tally, &(prem_frame){.stream = 1, .job = job, .captured_ns = 5, .published_ns = 90}, NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_tally_write_histogram(tally, told);
  return status;
}

/* A state array, and another array that is made of it; the live session gives a job up. */
static const char state_source[] =
    "version = 1; name = \"state\"; platform: { blocks = 2; precedence_ns = 5L; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; fill = \"random\"; versions = 3; },"
    "  { name = \"mid\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
    "tasks = ( { name = \"w\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 1000L; deadline_ns = 50L; overrun = \"abort\";"
    "    arrays: { a = \"m\"; b = \"x\"; out = \"m\"; }; prefetch: { wcet_ns = 10L; };"
    "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
    "  { name = \"r\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
    "    period_ns = 1000L; arrays: { in = \"m\"; out = \"mid\"; }; after = ( { task = \"w\"; } );"
    "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
    "    writeback: { wcet_ns = 10L; }; },"
    "  { name = \"s\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
    "    period_ns = 1000L; arrays: { in = \"mid\"; out = \"y\"; }; after = ( { task = \"r\"; } );"
    "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
    "    writeback: { wcet_ns = 10L; }; } );"
    "live: { inputs = ( { array = \"x\"; missing = \"wait\"; } ); outputs = ( { array = \"y\"; } );"
    "};";

static prem_status run_state(const prem_schedule *read, FILE *told) {
  OWNED(prem_session) *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  prem_verdict verdict = {0};
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 4};
  prem_status status = prem_session_open(&prem_backend_sim, read, &session, NULL);
  if (status == PREM_OK)
    status = prem_trace_new(read, 4, 1000, &trace);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, NULL);
  if (status == PREM_OK)
    status = prem_session_verify(session, &verdict);
  if (status == PREM_OK)
    fprintf(told, "%d ", verdict.ok);
  return status;
}

static prem_status keep_state(FILE *told) {
  OWNED(prem_schedule) *read = NULL;
  OWNED(prem_live) *live = NULL;
  prem_status status = prem_schedule_load_text("state.cfg", state_source, &read, NULL);
  if (status == PREM_OK)
    status = prem_prepare(read, prem_registry_builtin(), NULL, NULL, NULL);
  if (status == PREM_OK)
    status = run_state(read, told);
  if (status == PREM_OK) {
    live = UNSET;
    status = prem_live_open(&prem_backend_sim, read, &live, NULL);
  }
  if (status == PREM_OK)
    status = run_live(live, told);
  return status;
}

static const char load_source[] =
    "version = 1; name = \"load\"; platform: { blocks = 2; best_effort: { buffers = 2; }; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 32 ]; fill = \"random\"; } );"
    "tasks = ( { name = \"c\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
    "    prefetch: { wcet_ns = 50L; }; },"
    "  { name = \"load\"; class = \"best_effort\"; kernel = \"vector_increment\"; blocks = [ 1 ];"
    "    tile = [ 16 ]; arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
    "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
    "plan: { hyperperiod_ns = 300L; starts = ( { task = \"c\"; phase = \"prefetch\"; block = 0;"
    "    start_ns = [ 100L ]; } ); closed: { open_ns = 239L; start_ns = [ 100L ]; end_ns = [ 150L "
    "]; }; };";

static prem_status run_beside(FILE *told) {
  static const prem_compare_options options = {.modes = {PREM_MODE_TT},
                                               .mode_count = 1,
                                               .sampling.scenario = PREM_RESIDENT,
                                               .sampling.samples = 4,
                                               .sampling.launches = 1,
                                               .sampling.max_records = 100};
  OWNED(prem_schedule) *read = NULL;
  OWNED(prem_session) *session = UNSET;
  OWNED(prem_result) *result = NULL;
  prem_status status = prem_schedule_load_text("load.cfg", load_source, &read, NULL);
  if (status == PREM_OK)
    status = prem_schedule_bind(read, prem_registry_builtin(), NULL);
  if (status == PREM_OK)
    status = prem_session_open(&prem_backend_sim, read, &session, NULL);
  else
    session = NULL;
  if (status == PREM_OK)
    status = prem_compare(session, read, &prem_backend_sim, &options, &result, NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_result_print(result, told);
  return status;
}

static prem_status measure(FILE *told) {
  static const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_LOCK},
                                               .mode_count = 2,
                                               .sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.launches = 2,
                                               .sampling.max_records = 100000};
  const prem_backend delayed = delayed_backend();
  delayed_seed = 3;
  OWNED(prem_session) *session = UNSET;
  OWNED(prem_result) *result = NULL;
  prem_status status = prem_session_open(&delayed, schedule, &session, NULL);
  if (status == PREM_OK) {
    result = UNSET;
    status = prem_compare(session, schedule, &delayed, &options, &result, NULL);
  }
  failing.armed = false;
  if (status == PREM_OK)
    prem_result_print(result, told);
  return status;
}

/* Of all resources, one after the other. */
static prem_status tell_usage(FILE *told) {
  const int64_t fail_at = failing.fail_at;
  FREED prem_slot *slots = NULL;
  int64_t count = 0, requests = 0;
  failing.armed = false;
  prem_status status = prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL);
  for (int32_t r = 0; status == PREM_OK && r < schedule->platform.resource_count; ++r) {
    FREED prem_usage_step *steps = UNSET;
    int64_t step_count = -1;
    failing_arm(fail_at - requests);
    status = prem_plan_resource_usage(schedule, slots, count, r, &steps, &step_count);
    requests += failing_disarm();
    ck_assert(status == PREM_OK || (!steps && step_count == 0));
    for (int64_t i = 0; i < step_count; ++i)
      fprintf(told, " %" PRId64 ":%" PRId64, steps[i].at_ns, steps[i].used);
  }
  failing.count = requests;
  return status;
}

static prem_result *result; /* of the fixture */

/* FNV-1a of a file, which is removed. 0: there is none. */
static uint64_t file_sum(const char *path) {
  FILE *file = fopen(path, "rb");
  uint64_t sum = file ? UINT64_C(0xcbf29ce484222325) : 0;
  for (int byte; file && (byte = fgetc(file)) != EOF;)
    sum = (sum ^ (uint64_t)byte) * UINT64_C(0x100000001b3);
  if (file)
    fclose(file);
  remove(path);
  return sum;
}

static void tell_file(FILE *told, const char *name) {
  fprintf(told, " %016" PRIx64, file_sum(path_of(name)));
}

/* The timeline may be left out for want of memory, which is said. */
static prem_status write_this(const prem_result *written, FILE *told) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status =
      diag ? prem_result_write(written, schedule, "", path_of("r.json"), diag) : PREM_ERR_MEMORY;
  failing.armed = false;
  const bool is_whole = prem_diag_count(diag) + prem_diag_dropped(diag) == 0;
  for (size_t i = 0; status == PREM_OK && i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    ck_assert_int_eq(problem->severity, PREM_WARNING);
    ck_assert_int_eq(problem->code, 0);
    ck_assert_str_eq(problem->reason, "its phases are left out: out of memory");
  }
  if (status == PREM_OK && !is_whole) {
    ck_assert_int_eq(unlink(path_of("r.json")), 0);
    return PREM_ERR_MEMORY;
  }
  if (status == PREM_OK) {
    FREED char *json = golden_take(path_of("r.json"));
    fputs(json, told);
    tell_file(told, "r.samples.csv");
    tell_file(told, "r.phases.csv");
  } else {
    ck_assert_int_ne(access(path_of("r.json"), F_OK), 0);
  }
  return status;
}

static prem_status write_result(FILE *told) {
  return write_this(result, told);
}

/* Of little else than what its late releases began with, so that every request has its turn. */
static prem_status write_first_causes(FILE *told) {
  prem_first_cause causes[] = {{.kind = PREM_FIRST_HANDOVER, .task = 0, .from = 0, .late = 3},
                               {.kind = PREM_FIRST_WINDOW, .task = 0, .from = -1, .late = 2}};
  prem_row row = {.tasks = result->rows[0].tasks,
                  .first = {.causes = causes, .count = sizeof causes / sizeof *causes}};
  const prem_result small = {.rows = &row, .row_count = 1};
  return write_this(&small, told);
}

/* A label is left out where there is no memory for it: pictures are not compared. */
static prem_status draw_result(FILE *told) {
  const prem_status status = prem_result_draw(result, schedule, path_of("r.svg"), NULL, NULL);
  fputs(prem_status_text(status), told);
  return status;
}

static prem_status draw_plan(FILE *told) {
  const prem_status status = prem_plan_draw(schedule, path_of("p.svg"), NULL, NULL);
  fputs(prem_status_text(status), told);
  return status;
}

static prem_findings *findings; /* of the fixture */

static prem_findings *isolate_findings(prem_status *status) {
  static const prem_isolate_options options = {.modes = {PREM_MODE_TT},
                                               .mode_count = 1,
                                               .sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.rounds = 1,
                                               .sampling.max_records = 100000};
  prem_isolation *isolation = UNSET;
  prem_findings *all = NULL;
  *status = prem_isolate(schedule, &prem_backend_sim, &options, &isolation, NULL);
  if (*status == PREM_OK) {
    all = prem_isolation_findings(isolation, schedule);
    if (!all)
      *status = PREM_ERR_MEMORY;
  }
  prem_isolation_free(isolation);
  return all;
}

static prem_status isolate(FILE *told) {
  prem_status status;
  OWNED(prem_findings) *all = isolate_findings(&status);
  if (status == PREM_OK) {
    prem_machine machine = {0};
    status = prem_findings_write(all, &machine, "", path_of("i.json"), NULL);
  }
  failing.armed = false;
  if (status == PREM_OK)
    prem_findings_print(all, told);
  return status;
}

static prem_status profile(FILE *told) {
  static const prem_profile_options options = {.sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.rounds = 1,
                                               .sampling.max_records = 100000,
                                               .quantile = 1};
  prem_machine machine = {0};
  prem_profile *made = UNSET;
  prem_status status =
      prem_profile_measure(schedule, &prem_backend_sim, &machine, &options, &made, NULL);
  if (status == PREM_OK)
    status = prem_findings_write(made->findings, &machine, "", path_of("p.json"), NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_findings_print(made->findings, told);
  prem_profile_free(made);
  return status;
}

static prem_status bound_load(prem_schedule **out) {
  prem_status status = prem_schedule_load_text("load.cfg", load_source, out, NULL);
  return status == PREM_OK ? prem_schedule_bind(*out, prem_registry_builtin(), NULL) : status;
}

static prem_status isolate_load(FILE *told) {
  static const prem_isolate_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                               .mode_count = 2,
                                               .sampling.scenario = PREM_RESIDENT,
                                               .sampling.samples = 2,
                                               .sampling.rounds = 1,
                                               .sampling.max_records = 100};
  OWNED(prem_schedule) *read = NULL;
  prem_load_isolation *isolation = NULL;
  prem_machine machine = {0};
  prem_status status = bound_load(&read);
  if (status == PREM_OK)
    status = prem_isolate_load(read, &prem_backend_sim, &options, &isolation, NULL);
  if (status == PREM_OK)
    status = prem_findings_write(isolation->findings, &machine, "", path_of("l.json"), NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_findings_print(isolation->findings, told);
  prem_load_isolation_free(isolation);
  return status;
}

static prem_status profile_load(FILE *told) {
  static const prem_profile_options options = {.sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 2,
                                               .sampling.rounds = 1,
                                               .sampling.max_records = 100,
                                               .times = PREM_PLANNED};
  OWNED(prem_schedule) *read = NULL;
  prem_profile *made = NULL;
  prem_machine machine = {0};
  prem_status status = bound_load(&read);
  if (status == PREM_OK)
    status = prem_profile_measure(read, &prem_backend_sim, &machine, &options, &made, NULL);
  if (status == PREM_OK)
    status = prem_findings_write(made->findings, &machine, "", path_of("q.json"), NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_findings_print(made->findings, told);
  prem_profile_free(made);
  return status;
}

/* Some of everything that findings may have. */
static prem_findings *small_findings(void) {
  prem_findings *made = prem_findings_new("n", "N", "Is there any?");
  prem_table *table = prem_findings_table(made, "t", "T", "somebody");
  prem_table_column(table, "x", "");
  prem_table_column(table, "y", "ns");
  prem_table_add_text(table, "a");
  prem_table_add_int(table, 7);
  prem_findings_chart(made, &(prem_chart){.title = "C", .table = "t", .x = "x", .y = "y"});
  prem_findings_verdict(made, "There is.");
  prem_findings_note(made, "Once.");
  prem_findings_output(made, true);
  prem_findings_promise(made, true);
  prem_findings_seed(made, 3);
  return made;
}

static prem_status write_findings(FILE *told) {
  const int64_t fail_at = failing.fail_at;
  failing.armed = false;
  OWNED(prem_findings) *made = small_findings();
  const prem_machine machine = {.name = "m", .backend = "cpu", .cores = 2};
  failing_arm(fail_at);
  const prem_status status =
      prem_findings_write(made, &machine, "ttprem x", path_of("n.json"), NULL);
  failing.armed = false;
  if (status == PREM_OK) {
    FREED char *json = golden_take(path_of("n.json"));
    fputs(json, told);
  } else {
    ck_assert_int_ne(access(path_of("n.json"), F_OK), 0);
  }
  return status;
}

static prem_status read_findings(FILE *told) {
  OWNED(prem_findings) *again = UNSET;
  const prem_status status = prem_findings_read(path_of("f.json"), &again, NULL);
  failing.armed = false;
  if (status == PREM_OK)
    prem_findings_print(again, told);
  return status;
}

static prem_status draw_findings(FILE *told) {
  const prem_status status = prem_findings_draw(findings, path_of("f.svg"), NULL, NULL);
  fputs(prem_status_text(status), told);
  return status;
}

static prem_status add_to(prem_report *report, prem_diag *diag) {
  const prem_status status = prem_report_add(report, path_of("f.json"), diag);
  return status == PREM_OK ? prem_report_add(report, path_of("s.json"), diag) : status;
}

/* jansson loses letters of texts that it has no room for, or says that they are none. */
static prem_status add_to_report(FILE *told) {
  OWNED(prem_report) *report = prem_report_new();
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = report && diag ? add_to(report, diag) : PREM_ERR_MEMORY;
  failing.armed = false;
  fputs("added", told);
  for (size_t i = 0; diag && i < prem_diag_count(diag); ++i)
    ck_assert_int_eq(prem_diag_at(diag, i)->code, 0); /* of no rule */
  if (status == PREM_OK && prem_diag_count(diag) + prem_diag_dropped(diag) > 0)
    status = PREM_ERR_MEMORY; /* charts are left out, and it is said */
  return status;
}

static prem_status write_report(FILE *told) {
  const int64_t fail_at = failing.fail_at;
  failing.armed = false;
  OWNED(prem_report) *report = prem_report_new();
  ck_assert_int_eq(add_to(report, NULL), PREM_OK);
  failing_arm(fail_at);
  const prem_status status = prem_report_write(report, path_of("f.html"), NULL);
  failing.armed = false;
  if (status == PREM_OK)
    tell_file(told, "f.html");
  else
    ck_assert_int_ne(access(path_of("f.html"), F_OK), 0);
  return status;
}

static prem_status convert_trace(FILE *told) {
  const prem_trace_options options = {.format = PREM_TRACE_PERFETTO, .run = -1, .late_ns = 1};
  FILE *in = fopen(path_of("t.csv"), "r"), *out = fopen(path_of("t.out"), "w");
  const prem_status status = prem_trace_convert(in, "t.csv", &options, out, NULL);
  fclose(in);
  fclose(out);
  fprintf(told, " %016" PRIx64, status == PREM_OK ? file_sum(path_of("t.out")) : 0);
  return status;
}

/* A plan as CSV, out and back. */
static prem_status carry_plan(FILE *told) {
  FILE *file = fopen(path_of("plan.csv"), "w+");
  OWNED(prem_plan) *plan = NULL;
  prem_status status = prem_plan_write_csv(schedule, file, NULL);
  rewind(file);
  if (status == PREM_OK)
    status = prem_plan_read_csv(schedule, file, "plan.csv", &plan, NULL);
  fclose(file);
  if ((plan != NULL) != (status == PREM_OK))
    status = PREM_ERR_ARGUMENT; /* an assertion asks for memory itself */
  if (plan)
    fprintf(told, " %d runs, %d starts", plan->affine_count, plan->starts_count);
  return status;
}

static prem_trace *trace; /* of the fixture */

/* What is told from one trace: few requests, so that each of them fails once. */
static prem_status tell_trace(FILE *told) {
  const int32_t tasks = schedule->task_count;
  FREED prem_late_causes *causes = calloc((size_t)tasks * PREM_PHASE_COUNT, sizeof *causes);
  FREED prem_times *handovers = calloc((size_t)tasks, sizeof *handovers);
  prem_first_causes first = {0};
  prem_standstills stops = {0};
  int64_t certain = -1, possible = -1, waited = 0;
  prem_status status = causes && handovers ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = prem_find_causes(schedule, trace, 0, 1, 0, causes, &first);
  if (status == PREM_OK)
    status = prem_violations(schedule, trace, 0, 0, &certain, &possible);
  if (status == PREM_OK)
    status = prem_trace_standstills(trace, 1, &stops);
  if (status == PREM_OK)
    status = prem_handovers_add(schedule, trace, 0, handovers);
  failing.armed = false;
  for (int32_t t = 0; handovers && t < tasks; ++t) {
    prem_summary summary;
    prem_times_summarise(&handovers[t], &summary);
    waited += summary.count;
    prem_times_free(&handovers[t]);
  }
  if (status == PREM_OK) {
    ck_assert_int_gt(first.count, 0); /* something was late */
    ck_assert_int_gt(waited, 0);      /* for somebody else */
    fprintf(told, "%d %d %d %d %d", (int)first.count, (int)certain, (int)possible, (int)stops.count,
            (int)waited);
  }
  prem_first_causes_free(&first);
  return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

enum { SEED = 5 };

/* Of the first task that comes after another one. */
static void add_chain(prem_diag *diag) {
  int32_t t = 0;
  while (schedule->tasks[t].after_count == 0)
    ck_assert_int_lt(++t, schedule->task_count);
  FREED char *without = source;
  const char *plan = strstr(without, "\nplan:"); /* which stands last */
  ck_assert_ptr_nonnull(plan);
  ck_assert_int_gt(
      asprintf(&source,
               "%.*s\nmeasure: { chains = ( { name = \"c\"; tasks = [ \"%s\", \"%s\" ]; } ); };%s",
               (int)(plan - without), without,
               schedule->tasks[schedule->tasks[t].after[0].task].name, schedule->tasks[t].name,
               plan),
      0);
  prem_schedule_free(schedule);
  if (prem_schedule_load_text("t.cfg", source, &schedule, diag) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), diag) != PREM_OK ||
      prem_check(schedule, NULL, diag) != PREM_OK)
    abort_with("chain", diag);
}

static void set_up(void) {
  golden_make_folder();
  OWNED(prem_diag) *diag = prem_diag_new();
  if (random_schedule_plan(SEED, NULL, &schedule, diag) != PREM_OK)
    abort_with("plan", diag);
  source = golden_saved(schedule);
  add_chain(diag);
}

static void tear_down(void) {
  free(source);
  prem_schedule_free(schedule);
  golden_remove_folder();
}

/* What no measurement of it has: a release that ended it, ways to launch, modes left out, disturbed
 * samples. */
static void add_what_is_rare(void) {
  enum { MANY = 2 };
  strcpy(result->machine.uuid, "GPU-7");
  strcpy(result->machine.driver, "7.7");
  result->break_ns = 1;
  result->broke = (prem_break){.found = true, .has_place = true, .lateness_ns = 2};
  result->left_out_count = 1;
  snprintf(result->left_out[0].reason, sizeof result->left_out[0].reason, "why not");
  free(result->launch_search.candidates);
  result->launch_search.candidate_count = MANY;
  result->launch_search.candidates = calloc(MANY, sizeof *result->launch_search.candidates);
  prem_disturbed *disturbed = &result->rows[0].disturbed;
  free(disturbed->samples);
  disturbed->watched = true;
  disturbed->count = MANY;
  disturbed->samples = calloc(MANY, sizeof *disturbed->samples);
}

static void set_up_result(void) {
  set_up();
  static const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_LOCK},
                                               .mode_count = 2,
                                               .sampling.scenario = PREM_RELAUNCH,
                                               .sampling.samples = 4,
                                               .sampling.launches = 2,
                                               .sampling.max_records = 100000};
  const prem_backend delayed = delayed_backend();
  delayed_seed = 3;
  prem_session *session = NULL;
  ck_assert_int_eq(prem_session_open(&delayed, schedule, &session, NULL), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &delayed, &options, &result, NULL), PREM_OK);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 6};
  ck_assert_int_eq(prem_trace_new(schedule, 6, 100000, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
  prem_trace_sort(trace);
  prem_session_close(session);
  add_what_is_rare();
  FILE *csv = fopen(golden_path("t.csv"), "w");
  ck_assert_int_eq(prem_trace_write_csv(result->rows[0].example, schedule, 0, true, csv), PREM_OK);
  fclose(csv);
  ck_assert_int_eq(prem_result_write(result, schedule, "", golden_path("s.json"), NULL), PREM_OK);
  prem_status status;
  prem_machine machine = {0};
  findings = isolate_findings(&status);
  ck_assert_int_eq(status, PREM_OK);
  ck_assert_int_eq(prem_findings_write(findings, &machine, "", golden_path("f.json"), NULL),
                   PREM_OK);
}

static void tear_down_result(void) {
  prem_findings_free(findings);
  prem_trace_free(trace);
  prem_result_free(result);
  tear_down();
}

#define ATTEMPT(name, or_else)                                                                     \
  TEST(of_##name) {                                                                                \
    sweep(#name, name, or_else, MOST);                                                             \
  }

GROUP("schedules", .set_up = set_up, .tear_down = tear_down);

ATTEMPT(tell_problems, PREM_ERR_MEMORY)
ATTEMPT(search_on, PREM_ERR_MEMORY)
ATTEMPT(compress, PREM_ERR_MEMORY)
ATTEMPT(check, PREM_ERR_MEMORY)
ATTEMPT(part, PREM_ERR_MEMORY)
ATTEMPT(save, PREM_ERR_IO)

GROUP("runs", .set_up = set_up, .tear_down = tear_down);

ATTEMPT(go_live, PREM_ERR_MEMORY)
ATTEMPT(set_arguments, PREM_ERR_MEMORY)
ATTEMPT(tell_tally, PREM_ERR_MEMORY)
ATTEMPT(keep_state, PREM_ERR_MEMORY)
ATTEMPT(run_beside, PREM_ERR_MEMORY)
ATTEMPT(measure, PREM_ERR_MEMORY)
ATTEMPT(tell_usage, PREM_ERR_MEMORY)
ATTEMPT(isolate, PREM_ERR_IO)
ATTEMPT(profile, PREM_ERR_IO)
ATTEMPT(isolate_load, PREM_ERR_IO)
ATTEMPT(profile_load, PREM_ERR_IO)

GROUP("document", .set_up = set_up_result, .tear_down = tear_down_result);

TEST(of_write_result) {
  sweep("write_result", write_result, PREM_ERR_IO, INT64_MAX); /* each member is a line of code */
}

GROUP("results", .set_up = set_up_result, .tear_down = tear_down_result);

ATTEMPT(write_first_causes, PREM_ERR_IO)
ATTEMPT(draw_result, PREM_ERR_IO)
ATTEMPT(draw_plan, PREM_ERR_IO)
ATTEMPT(write_findings, PREM_ERR_IO)
ATTEMPT(read_findings, PREM_ERR_PARSE)
ATTEMPT(draw_findings, PREM_ERR_IO)
ATTEMPT(add_to_report, PREM_ERR_PARSE)
ATTEMPT(write_report, PREM_ERR_IO)
ATTEMPT(carry_plan, PREM_ERR_MEMORY)
ATTEMPT(convert_trace, PREM_ERR_MEMORY)
ATTEMPT(tell_trace, PREM_ERR_MEMORY)

/* A new report has all of its parts, or there is none. */
TEST(of_new_reports) {
  failing_prepare();
  failing_arm(0);
  prem_report *report = prem_report_new();
  const int64_t requests = failing_disarm();
  ck_assert_ptr_nonnull(report);
  prem_report_free(report);
  ck_assert_int_gt(requests, 3);
  for (int64_t i = 1; i <= requests; ++i) {
    failing_arm(i);
    report = prem_report_new();
    failing_disarm();
    ck_assert_msg(!report, "request %" PRId64 " of %" PRId64, i, requests);
  }
}
