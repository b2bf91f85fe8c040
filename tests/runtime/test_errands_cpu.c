/* SPDX-License-Identifier: Apache-2.0 */
/* Errands on the host: many threads send and collect while runs come and go. Each errand that was
 * sent is collected once, with its own data. */
/* ctest: threads timing */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "prem/base/random.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/errand.h"

enum { SENDERS = 4, EACH = 300, ALL = SENDERS * EACH, SIZE = 1000, TILE = 100, HYPERPERIODS = 20 };

static prem_schedule *filter_and_servers(int32_t blocks, const char *more) {
  return prepared_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = %d; best_effort: { buffers = 2; }; };"
      "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 32, 64 ]; fill = \"random\"; seed "
      "= 7; }, { name = \"a\"; type = \"f32\"; shape = [ %d ]; }, { name = \"b\"; type = \"f32\"; "
      "shape = [ %d ]; } ); tasks = ( { name = \"filter\"; kernel = \"conv2d\"; blocks = [ 0 ]; "
      "tile = [ 32, 64 ]; arrays: { in = \"image\"; out = \"new\"; }; period_ns = 1000000L;"
      "  prefetch: { wcet_ns = 100000L; }; compute: { wcet_ns = 100000L; };"
      "  writeback: { wcet_ns = 100000L; }; },"
      "{ name = \"s\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = \"1-%d\";"
      "  tile = [ %d ]; args: { increment = 1.0; }; arrays: { in = \"a\"; out = \"new\"; };"
      "  server: { capacity = 8; }; prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; "
      "}; writeback: { wcet_ns = 20000L; }; %s },"
      "{ name = \"r\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = \"1-%d\";"
      "  tile = [ %d ]; args: { increment = 2.0; }; arrays: { in = \"b\"; out = \"new\"; };"
      "  server: { capacity = 3; }; prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; "
      "}; writeback: { wcet_ns = 20000L; }; } );",
      blocks + 1, SIZE, SIZE, blocks, TILE, more, blocks, TILE));
}

static prem_trace *trace_of(const prem_session *session) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, HYPERPERIODS, 1000, &trace), PREM_OK);
  return trace;
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

/* ---- tests ----------------------------------------------------------------------------------- */

static void send_from_many_threads(int32_t blocks) {
  OWNED(prem_schedule) *schedule = filter_and_servers(blocks, "");
  OWNED(prem_session) *session = open_on("cpu", schedule);
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
  ck_assert_int_gt(of->ends[PREM_ERRAND_DONE], ALL / 4);
  ck_assert_int_gt(of->refused, 0);
  free(of);
}

TEST(many_threads_send_to_one_block) {
  send_from_many_threads(1);
}

TEST(many_threads_send_to_some_blocks) {
  send_from_many_threads(3);
}

TEST(they_come_by_themselves) {
  OWNED(prem_schedule) *schedule = filter_and_servers(2, "deadline_ns = 60000L;");
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  prem_arrival arrivals[60];
  prem_verdict verdict;
  int64_t expired = 0, full = 0;
  for (int32_t i = 0; i < 60; ++i)
    arrivals[i] = (prem_arrival){i / 12 * 2000000, 1 + i % 2, i % 10, 1};
  const prem_run_request request = {.mode = PREM_MODE_TT,
                                    .hyperperiods = HYPERPERIODS,
                                    .arrivals = arrivals,
                                    .arrival_count = 60};
  for (int run = 0; run < 200 && (expired == 0 || full == 0); ++run) {
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    const prem_best_effort_counts *counts = trace->best_effort->counts;
    ck_assert_int_le(counts[0].errands.sent + counts[0].errands.full, 30);
    expired += counts[0].errands.ended[PREM_ERRAND_EXPIRED];
    full += counts[1].errands.full; /* six at once, and room for three */
    ck_assert_int_eq(trace->best_effort->errand_count,
                     counts[0].errands.sent + counts[1].errands.sent);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
  }
  ck_assert_int_gt(expired, 0);
  ck_assert_int_gt(full, 0);
}

/* What waits when a run ends is aborted; what is sent between two runs waits for the next one. */
TEST(runs_end_and_errands_with_them) {
  OWNED(prem_schedule) *schedule = filter_and_servers(1, "");
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  const volatile sig_atomic_t stopped = 1;
  prem_run_request stops = request;
  prem_errand errand;
  int64_t ended[PREM_ERRAND_ENDS] = {0};
  stops.stop = &stopped;
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_ERR_FULL);
  ck_assert_int_eq(prem_errand_collect(session, 1000000, &errand), PREM_ERR_TIMEOUT);
  ck_assert_int_eq(prem_session_run(session, &stops, trace, NULL), PREM_ERR_INTERRUPTED);
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ++ended[errand.end];
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK); /* again */
  }
  ck_assert_int_eq(ended[PREM_ERRAND_FAULT], 0);
  ck_assert_int_eq(ended[PREM_ERRAND_DONE] + ended[PREM_ERRAND_ABORTED], 8);
  do {
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    while (prem_errand_collect(session, 0, &errand) == PREM_OK) {
      ++ended[errand.end];
      if (errand.end == PREM_ERRAND_DONE)
        ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
      else
        ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
    }
  } while (ended[PREM_ERRAND_DONE] < 8);
}

/* ---- a compute that does not return -----------------------------------------------------------
 */

enum { HANGS = 13 };
static _Atomic bool let_go;

static void hang_compute(const void *params, const prem_view *views) {
  const struct timespec nap = {.tv_nsec = 1000000};
  (void)params;
  while (((const float *)views[0].data)[0] == HANGS && !let_go)
    nanosleep(&nap, NULL);
}

static prem_status hang_bind(prem_bind *bind) {
  prem_window window;
  const prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &window);
  if (status != PREM_OK)
    return status;
  bind->window[0] = bind->window[1] = window;
  bind->new_rank[1] = 1;
  for (int d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  return PREM_OK;
}

static void hang_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  (void)arrays;
}

static const prem_port hang_ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};
static const prem_kernel hang_kernel = {.name = "hang",
                                        .summary = "computes nothing, 13 for ever",
                                        .version = 1,
                                        .ports = hang_ports,
                                        .port_count = 2,
                                        .bind = hang_bind,
                                        .compute = hang_compute,
                                        .reference = hang_reference};
static const prem_kernel *const hang_list[] = {&hang_kernel};
static const prem_registry hang_registry = {hang_list, 1};

static prem_schedule *hanging_server(void) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  const char *source =
      "version = 1; name = \"t\"; platform: { blocks = 2; }; arrays = ( { name = \"a\"; type = "
      "\"f32\"; shape = [ 100 ]; }, { name = \"b\"; type = \"f32\"; shape = [ 100 ]; } ); tasks = "
      "( "
      "{ name = \"c\"; kernel = \"hang\"; blocks = [ 0 ]; tile = [ 100 ]; arrays: { in = \"b\"; "
      "out "
      "= \"new\"; }; period_ns = 1000000L; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = "
      "1000L; }; writeback: { wcet_ns = 1000L; }; }, { name = \"s\"; kernel = \"hang\"; class = "
      "\"best_effort\"; blocks = [ 1 ]; tile = [ 100 ]; arrays: { in = \"a\"; out = \"new\"; }; "
      "server: { capacity = 3; }; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; }; "
      "writeback: { wcet_ns = 1000L; }; } );";
  if (prem_schedule_load_text("t", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, &hang_registry, NULL, NULL, diag) != PREM_OK)
    abort_with("hang", diag);
  return schedule;
}

TEST(one_that_never_ends_is_a_fault) {
  OWNED(prem_schedule) *schedule = hanging_server();
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {
      .mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS, .timeout_ns = 200000000};
  prem_errand errand;
  prem_errand_view view;
  int32_t ended[PREM_ERRAND_ENDS] = {0};
  for (int32_t i = 0; i < 3; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_port(session, &errand, "in", &view), PREM_OK);
    ((float *)view.data)[0] = i == 1 ? HANGS : 0;
    errand.tag = (uint64_t)i;
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_MACHINE);
  while (prem_errand_collect(session, 0, &errand) == PREM_OK)
    ++ended[errand.end];
  ck_assert_int_eq(ended[PREM_ERRAND_DONE], 1);
  ck_assert_int_eq(ended[PREM_ERRAND_FAULT], 1);
  ck_assert_int_eq(ended[PREM_ERRAND_ABORTED], 1);
  ck_assert_int_eq(trace->best_effort->counts[0].errands.sent, 3);
  let_go = true;
}
