/* SPDX-License-Identifier: Apache-2.0 */
/** Tiles of several turns, on any backend: queens (examples/queens) beside a server of greater
 *  priority. After crowd.h. */
#pragma once

#include "examples/queens/queens.h"
#include "tests/common/crowd.h"

enum { QUEENS, URGENT };

/* @param server  more of the queens' keys in `server`; `more` behind it, in the task */
static prem_schedule *queens_server(int32_t queens, int32_t blocks, int32_t steps,
                                    const char *server, const char *more) {
  static const prem_kernel *list[2] = {&queens_kernel};
  static const prem_registry registry = {list, 2};
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  list[1] = prem_registry_find(prem_registry_builtin(), "vector_increment");
  const char *source = text(
      "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %dL; best_effort: { "
      "buffers = 2; block_threads = 128; }; }; arrays = ( { name = \"start\"; type = \"i32\"; "
      "shape = [ %d, 18 ]; fill = \"zero\"; }, { name = \"a\"; type = \"f32\"; shape = [ 100 ]; } "
      "); tasks = ( { name = \"s\"; kernel = \"queens\"; class = \"best_effort\"; blocks = \"0-%d\""
      "; tile = [ 1, 18 ]; args: { steps = %d; }; arrays: { in = \"start\"; out = \"new\"; more = "
      "\"new\"; }; server: { capacity = 3; %s }; prefetch: { wcet_ns = 512L; }; compute: { wcet_ns "
      "= 1024L; }; writeback: { wcet_ns = 512L; }; %s }, { name = \"urgent\"; kernel = "
      "\"vector_increment\"; class = \"best_effort\"; blocks = \"0-%d\"; tile = [ 100 ]; arrays: { "
      "in = \"a\"; out = \"new\"; }; server: { capacity = 3; priority = 1; }; prefetch: { wcet_ns "
      "= "
      "512L; }; compute: { wcet_ns = 512L; }; writeback: { wcet_ns = 512L; }; } );",
      blocks, (int)CROWD_CLOCK_NS, queens, blocks - 1, steps, server, more, blocks - 1);
  if (prem_schedule_load_text("t", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, &registry, NULL, NULL, diag) != PREM_OK)
    abort_with("turns", diag);
  return schedule;
}

/* As long as a run of a crowd: without a critical task nobody gives a period. */
static prem_run_request run_of_turns(const prem_schedule *schedule) {
  return (prem_run_request){.mode = PREM_MODE_TT,
                            .hyperperiods = HYPERPERIODS * (int64_t)CROWD_PERIOD_NS /
                                            schedule->plan->hyperperiod_ns};
}

static int32_t ways_of(prem_session *session, const prem_errand *errand) {
  prem_errand_view view;
  int32_t ways = 0;
  ck_assert_int_eq(prem_errand_port(session, errand, "out", &view), PREM_OK);
  for (int64_t row = 0; row < view.shape[2]; ++row)
    ways += ((const int32_t *)(const void *)((const char *)view.data +
                                             row * view.pitch_bytes))[QUEENS_WAYS];
  return ways;
}

/** Each tile has the turns that it wants; one that has too few is not done.
 *  @param ways  below 0: it has too few */
static inline void count_queens(const char *backend, int32_t queens, int32_t blocks, int32_t turns,
                                int32_t ways) {
  OWNED(prem_schedule) *schedule =
      queens_server(queens, blocks, 20, text("turns = %d;", turns), "");
  OWNED(prem_session) *session = open_on(backend, schedule);
  prem_run_request request = run_of_turns(schedule);
  prem_errand errand;
  prem_verdict verdict;
  int32_t left = 3;
  send_all(session, QUEENS);
  /* a busy machine gets less done in a run: later ones are longer */
  for (int run = 0; left > 0; ++run, request.hyperperiods += request.hyperperiods / 4) {
    ck_assert_int_lt(run, 20);
    OWNED(prem_trace) *trace = trace_for(session, request.hyperperiods);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    while (prem_errand_collect(session, 0, &errand) == PREM_OK) {
      if (errand.end == PREM_ERRAND_ABORTED) { /* the run was too short: once more */
        ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
        continue;
      }
      ck_assert_int_eq(errand.end, ways >= 0 ? PREM_ERRAND_DONE : PREM_ERRAND_EXPIRED);
      if (ways >= 0)
        ck_assert_int_eq(ways_of(session, &errand), ways);
      --left;
    }
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
  }
}

/** One block, and a tile that comes to no end: what is urgent goes between two of its turns, and
 *  nothing of its own server does. */
static inline void go_between_turns(const char *backend) {
  OWNED(prem_schedule) *schedule = queens_server(14, 1, 1, "turns = 65536;", "");
  OWNED(prem_session) *session = open_on(backend, schedule);
  prem_run_request request = run_of_turns(schedule);
  OWNED(prem_trace) *trace = trace_for(session, request.hyperperiods);
  const int64_t length_ns = request.hyperperiods * schedule->plan->hyperperiod_ns;
  const prem_arrival arrivals[] = {
      {0, QUEENS, 0, 14}, {0, QUEENS, 0, 14}, {length_ns / 4, URGENT, 0, 1}};
  const prem_errand_counts *queens = &trace->best_effort->counts[QUEENS].errands,
                           *urgent = &trace->best_effort->counts[URGENT].errands;
  int64_t between = 0;
  request.arrivals = arrivals;
  request.arrival_count = 3;
  for (int run = 0; run < 20 && between == 0; ++run) { /* a busy machine may do nothing in one */
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    ck_assert_int_eq(queens->ended[PREM_ERRAND_ABORTED], queens->sent);
    between += urgent->ended[PREM_ERRAND_DONE] * (trace->best_effort->counts[QUEENS].tiles > 0);
    int32_t begun = 0;
    for (int64_t i = 0; i < trace->best_effort->errand_count; ++i)
      begun += trace->best_effort->errands[i].task == QUEENS &&
               trace->best_effort->errands[i].begin_ns >= 0;
    ck_assert_int_le(begun, 1);
  }
  ck_assert_int_eq(between, 1);
}

/** An errand whose deadline comes between two turns has expired, though it has begun. */
static inline void expire_between_turns(const char *backend) {
  OWNED(prem_schedule) *schedule =
      queens_server(14, 1, 1, "turns = 65536;",
                    text("deadline_ns = %lldL;", HYPERPERIODS * (long long)CROWD_PERIOD_NS / 4));
  OWNED(prem_session) *session = open_on(backend, schedule);
  const prem_run_request request = run_of_turns(schedule);
  OWNED(prem_trace) *trace = trace_for(session, request.hyperperiods);
  prem_errand errand = {.begin_ns = -1};
  for (int run = 0; run < 20 && errand.begin_ns < 0; ++run) {
    ck_assert_int_eq(prem_errand_acquire(session, QUEENS, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ck_assert_int_eq(errand.end, PREM_ERRAND_EXPIRED);
    ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
  }
  ck_assert_int_ge(errand.begin_ns, 0);
}
