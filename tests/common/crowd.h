/* SPDX-License-Identifier: Apache-2.0 */
/** Many threads that send errands and collect them while runs come and go, on any backend. Each
 *  errand that was sent is collected once, with its own data. */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "prem/base/random.h"
#include "tests/common/running.h"
#include "ttprem/errand.h"

#ifndef CROWD_EACH /* one of a slower clock has its own */
enum { CROWD_EACH = 300, CROWD_HYPERPERIODS = 20, CROWD_PERIOD_NS = 1000000, CROWD_CLOCK_NS = 1 };
#endif
enum {
  SENDERS = 4,
  EACH = CROWD_EACH,
  ALL = SENDERS * EACH,
  SIZE = 1000,
  TILE = 100,
  HYPERPERIODS = CROWD_HYPERPERIODS
};

static prem_schedule *filter_and_servers(int32_t blocks, const char *more) {
  const long long period_ns = CROWD_PERIOD_NS, phase_ns = period_ns / 10, bound_ns = period_ns / 50;
  return prepared_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %dL; block_threads = "
      "128; best_effort: { buffers = 2; block_threads = 128; }; };"
      "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 32, 64 ]; fill = \"random\"; seed "
      "= 7; }, { name = \"a\"; type = \"f32\"; shape = [ %d ]; }, { name = \"b\"; type = \"f32\"; "
      "shape = [ %d ]; } ); tasks = ( { name = \"filter\"; kernel = \"conv2d\"; blocks = [ 0 ]; "
      "tile = [ 32, 64 ]; arrays: { in = \"image\"; out = \"new\"; }; period_ns = %lldL;"
      "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
      "  writeback: { wcet_ns = %lldL; }; },"
      "{ name = \"s\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = \"1-%d\";"
      "  tile = [ %d ]; args: { increment = 1.0; }; arrays: { in = \"a\"; out = \"new\"; };"
      "  server: { capacity = 8; }; prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = 20000L; "
      "}; writeback: { wcet_ns = %lldL; }; %s },"
      "{ name = \"r\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = \"1-%d\";"
      "  tile = [ %d ]; args: { increment = 2.0; }; arrays: { in = \"b\"; out = \"new\"; };"
      "  server: { capacity = 3; priority = 1; }; prefetch: { wcet_ns = %lldL; }; compute: { "
      "wcet_ns = 20000L; "
      "}; writeback: { wcet_ns = %lldL; }; } );",
      blocks + 1, (int)CROWD_CLOCK_NS, SIZE, SIZE, period_ns, phase_ns, phase_ns, phase_ns, blocks,
      TILE, bound_ns, bound_ns, more, blocks, TILE, bound_ns, bound_ns));
}

static prem_trace *trace_for(const prem_session *session, int64_t hyperperiods) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, hyperperiods, 1000, &trace), PREM_OK);
  return trace;
}

static prem_trace *trace_of(const prem_session *session) {
  return trace_for(session, HYPERPERIODS);
}

/* The same without a critical task: one server on two blocks.
 * @param more  other tasks, on block 2 */
static inline prem_schedule *server_alone(const char *more) {
  const long long bound_ns = CROWD_PERIOD_NS / 50;
  return prepared_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = 3; clock_step_ns = %dL; best_effort: { "
      "buffers = 2; block_threads = 128; }; };"
      "arrays = ( { name = \"a\"; type = \"f32\"; shape = [ %d ]; }, { name = \"b\"; type = "
      "\"f32\"; "
      "shape = [ 1000 ]; fill = \"random\"; } ); tasks = ( "
      "{ name = \"s\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = \"0-1\";"
      "  tile = [ %d ]; args: { increment = 1.0; }; arrays: { in = \"a\"; out = \"new\"; };"
      "  server: { capacity = 8; }; prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = "
      "20000L; }; writeback: { wcet_ns = %lldL; }; }%s );",
      (int)CROWD_CLOCK_NS, SIZE, TILE, bound_ns, bound_ns, more));
}

/* A load that it may have. */
#define LOAD_ALONE                                                                                 \
  ", { name = \"load\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = [ 2 ]; "  \
  "tile = [ 100 ]; arrays: { in = \"b\"; out = \"new\"; }; prefetch: { wcet_ns = 2048L; }; "       \
  "compute: { wcet_ns = 2048L; }; writeback: { wcet_ns = 2048L; }; }"

static void assert_counted(const prem_trace *trace) {
  for (int32_t t = 0; t < trace->best_effort->trace->task_count; ++t) {
    const prem_best_effort_counts *counts = &trace->best_effort->counts[t];
    int64_t ended = 0;
    for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
      ended += counts->errands.ended[e];
    ck_assert_int_eq(counts->errands.sent, ended);
    if (counts->errands.sent > 0) /* else it may be no server */
      ck_assert_int_eq(counts->jobs, counts->errands.ended[PREM_ERRAND_DONE]);
  }
}

/* ---- senders --------------------------------------------------------------------------------- */

/** What all senders share. */
typedef struct crowd {
  prem_session *session;
  _Atomic int32_t collected[ALL];         /* [tag]: so often */
  _Atomic int32_t ends[PREM_ERRAND_ENDS]; /* all of them */
  _Atomic int32_t wrong, refused, sending, left;
} crowd;

typedef struct sender {
  crowd *of;
  pthread_t thread;
  int32_t number;
} sender;

static float input_of(const prem_errand *errand, int32_t k) {
  return (float)((int32_t)errand->tag * 7 + k);
}

/* One that has ended, of whomever. */
static void collect(crowd *of, int64_t timeout_ns) {
  prem_errand errand;
  prem_errand_view view;
  if (prem_errand_collect(of->session, timeout_ns, &errand) != PREM_OK)
    return;
  ++of->collected[errand.tag];
  ++of->ends[errand.end];
  of->wrong += errand.end_ns < errand.arrival_ns;
  if (prem_errand_port(of->session, &errand, "out", &view) != PREM_OK)
    ++of->wrong;
  for (int32_t k = errand.first_tile * TILE;
       errand.end == PREM_ERRAND_DONE && k < (errand.first_tile + errand.tile_count) * TILE; ++k)
    of->wrong += ((const float *)view.data)[k] != input_of(&errand, k) + (float)errand.task;
  of->wrong += prem_errand_release(of->session, &errand) != PREM_OK;
  --of->left;
}

static void *send(void *argument) {
  const sender *own = argument;
  crowd *of = own->of;
  uint64_t random = (uint64_t)own->number;
  for (int32_t i = 0; i < EACH;) {
    prem_errand errand;
    prem_errand_view view;
    if (prem_errand_acquire(of->session, prem_random_below(&random, 4) ? 1 : 2, &errand) !=
        PREM_OK) {
      ++of->refused;
      collect(of, 100000);
      continue;
    }
    errand.tag = (uint64_t)(own->number * EACH + i++);
    errand.first_tile = (int32_t)prem_random_below(&random, 10);
    errand.tile_count = 1 + (int32_t)prem_random_below(&random, 10 - errand.first_tile);
    of->wrong += prem_errand_port(of->session, &errand, "in", &view) != PREM_OK;
    for (int32_t k = 0; k < SIZE; ++k)
      ((float *)view.data)[k] = input_of(&errand, k);
    prem_status status;
    while ((status = prem_errand_send(of->session, &errand)) == PREM_ERR_FULL)
      ++of->refused; /* a run is just ending */
    of->wrong += status != PREM_OK;
  }
  --of->sending;
  while (of->left > 0)
    collect(of, 1000000);
  return NULL;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static inline void send_from_many_threads(const char *backend, int32_t blocks) {
  OWNED(prem_schedule) *schedule = filter_and_servers(blocks, "");
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  crowd *of = calloc(1, sizeof *of);
  sender senders[SENDERS];
  int64_t counted[PREM_ERRAND_ENDS] = {0}, sent = 0;
  of->session = session;
  of->sending = SENDERS;
  of->left = ALL;
  for (int32_t i = 0; i < SENDERS; ++i) {
    senders[i] = (sender){.of = of, .number = i};
    ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send, &senders[i]), 0);
  }
  for (int run = 0; of->left > 0; ++run) {
    OWNED(prem_diag) *diag = prem_diag_new();
    const prem_run_request request = {.mode = run % 3 ? PREM_MODE_TT : PREM_MODE_FREE,
                                      .hyperperiods = HYPERPERIODS};
    ck_assert_int_lt(run, 3000);
    if (prem_session_run(session, &request, trace, diag) != PREM_OK)
      abort_with("run", diag);
    for (int32_t t = 0; t < 2; ++t) {
      const prem_errand_counts *errands = &trace->best_effort->counts[t].errands;
      sent += errands->sent;
      for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
        counted[e] += errands->ended[e];
    }
  }
  for (int32_t i = 0; i < SENDERS; ++i)
    ck_assert_int_eq(pthread_join(senders[i].thread, NULL), 0);
  ck_assert_int_eq(of->wrong, 0);
  ck_assert_int_eq(sent, ALL);
  for (int32_t i = 0; i < ALL; ++i)
    ck_assert_int_eq(of->collected[i], 1);
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    ck_assert_int_eq(of->ends[e], counted[e]);
  ck_assert_int_gt(of->ends[PREM_ERRAND_DONE], ALL / 20); /* a busy machine: a fifth */
  ck_assert_int_gt(of->refused, 0);
  free(of);
}

static void send_all(prem_session *session, int32_t task) {
  prem_errand errand;
  while (prem_errand_acquire(session, task, &errand) == PREM_OK)
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
}

/* One block, whose tiles of `r` go first, but for a few of `s`, of which an errand has ten. */
static inline void go_by_priority(const char *backend) {
  OWNED(prem_schedule) *schedule = filter_and_servers(1, "");
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  int64_t done = 0;
  for (int run = 0; run < 40 && done == 0; ++run) { /* one may be too short for any */
    prem_errand ended;
    send_all(session, 1);
    send_all(session, 2);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    for (int64_t i = 0; i < trace->best_effort->errand_count; ++i) {
      const prem_errand *errand = &trace->best_effort->errands[i];
      done += errand->end == PREM_ERRAND_DONE;
      if (errand->end == PREM_ERRAND_DONE && done <= 3)
        ck_assert_int_eq(errand->task, 1); /* of the best-effort ones */
    }
    while (prem_errand_collect(session, 0, &ended) == PREM_OK)
      ck_assert_int_eq(prem_errand_release(session, &ended), PREM_OK);
  }
  ck_assert_int_gt(done, 0);
}

/* ---- cases of all backends --------------------------------------------------------------------
 */

/* What waits when a run ends is aborted; what is sent between two runs waits for the next one. */
static void end_with_their_runs(const char *backend, prem_schedule *schedule, int32_t task) {
  /* as long as with a filter: without one nobody gives a period */
  const int64_t hyperperiods =
      HYPERPERIODS * (int64_t)CROWD_PERIOD_NS / schedule->plan->hyperperiod_ns;
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = trace_for(session, hyperperiods);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = hyperperiods};
  const volatile sig_atomic_t stopped = 1;
  prem_run_request stops = request;
  prem_errand errand;
  int64_t ended[PREM_ERRAND_ENDS] = {0};
  stops.stop = &stopped;
  send_all(session, task);
  ck_assert_int_eq(prem_errand_collect(session, 1000000, &errand), PREM_ERR_TIMEOUT);
  /* it may be over before anybody has seen the stop */
  const prem_status stop = prem_session_run(session, &stops, trace, NULL);
  ck_assert(stop == PREM_ERR_INTERRUPTED || stop == PREM_OK);
  assert_counted(trace);
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ++ended[errand.end];
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK); /* again */
  }
  ck_assert_int_eq(ended[PREM_ERRAND_FAULT], 0);
  ck_assert_int_eq(ended[PREM_ERRAND_DONE] + ended[PREM_ERRAND_ABORTED], 8);
  ended[PREM_ERRAND_DONE] = 0;
  for (int run = 0; ended[PREM_ERRAND_DONE] < 8; ++run) {
    ck_assert_int_lt(run, 300);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    while (prem_errand_collect(session, 0, &errand) == PREM_OK) {
      ++ended[errand.end];
      if (errand.end == PREM_ERRAND_DONE)
        ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
      else
        ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
    }
  }
}

/* A server and a load, and nothing else: both get on, and the server's errands end. */
static inline void run_with_load(const char *backend, prem_schedule *schedule) {
  end_with_their_runs(backend, schedule, 0);
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = trace_for(session, 100);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 100};
  int64_t jobs = 0;
  for (int run = 0; run < 100 && jobs == 0; ++run) {
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    jobs = trace->best_effort->counts[1].jobs;
  }
  ck_assert_int_gt(jobs, 0);
}
