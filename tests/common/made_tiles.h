/* SPDX-License-Identifier: Apache-2.0 */
/** Tiles that make tiles (grow.h), on any backend. After running.h. */
#pragma once

#include "prem/base/random.h"
#include "tests/common/grow.h"
#include "tests/common/running.h"
#include "ttprem/errand.h"

#ifndef GROW_RUN_NS /* one of a slower clock has its own */
enum { GROW_RUN_NS = 20000000, GROW_CLOCK_NS = 1 };
#endif
enum { GROW_TILES = 24, GROW_ROOM = 8 };

static const prem_kernel *const grow_list[] = {&grow_kernel};
static const prem_registry grow_registry = {grow_list, 1};

/** @param rows  of each tile
 *  @return NULL: refused, and `diag` says why */
static prem_schedule *growing_server_judged(int32_t blocks, int32_t rows, int32_t chain,
                                            const char *server, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  const char *source = text(
      "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %dL; "
      "best_effort: { block_threads = 128; }; }; arrays = ( { name = \"graph\"; type "
      "= \"i32\"; shape = [ %d, %d ]; fill = \"zero\"; } ); tasks = ( { name = \"s\"; kernel = "
      "\"%s\"; class = \"best_effort\"; blocks = \"0-%d\"; tile = [ %d, %d ]; args: { chain = "
      "%d; "
      "}; arrays: { in = \"graph\"; out = \"new\"; spawn = \"new\"; }; server: { %s }; prefetch: { "
      "wcet_ns = 200L; }; compute: { wcet_ns = 300L; }; writeback: { wcet_ns = 100L; }; } );",
      blocks, (int)GROW_CLOCK_NS, rows * GROW_TILES, (int)GROW_ROW, grow_kernel.name, blocks - 1,
      rows, (int)GROW_ROW, chain, server);
  ck_assert_int_eq(prem_schedule_load_text("t", source, &schedule, diag), PREM_OK);
  if (prem_prepare(schedule, &grow_registry, NULL, NULL, diag) == PREM_OK)
    return schedule;
  prem_schedule_free(schedule);
  return NULL;
}

static prem_schedule *growing_server(int32_t blocks, int32_t chain, const char *server) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = growing_server_judged(blocks, 1, chain, server, diag);
  if (!schedule)
    abort_with("tiles that make tiles", diag);
  return schedule;
}

/** What an errand gets: of each tile its number, and which it makes. */
typedef struct grow_graph {
  int32_t rows[GROW_TILES][GROW_ROW];
} grow_graph;

static inline void grow_fill(prem_session *session, const prem_errand *errand,
                             const grow_graph *graph) {
  prem_errand_view view;
  ck_assert_int_eq(prem_errand_port(session, errand, "in", &view), PREM_OK);
  for (int32_t t = 0; t < GROW_TILES; ++t)
    memcpy((char *)view.data + t * view.pitch_bytes, graph->rows[t], sizeof graph->rows[t]);
}

/** The tiles of an errand that asks for some, in `has`. @return how many */
static inline int32_t grow_walk(const grow_graph *graph, int32_t first, int32_t count,
                                bool has[GROW_TILES]) {
  int32_t queue[GROW_TILES], all = 0;
  memset(has, 0, GROW_TILES * sizeof *has);
  for (int32_t i = 0; i < count; ++i)
    has[queue[all++] = first + i] = true;
  for (int32_t i = 0; i < all; ++i)
    for (int32_t k = 0; k < GROW_MOST; ++k) {
      const int32_t next = graph->rows[queue[i]][1 + k] - 1;
      if (next >= 0 && !has[next])
        has[queue[all++] = next] = true;
    }
  return all;
}

/** Of one that is done: all its tiles have been worked, and no other one of those with a mark. */
static inline void grow_judge(prem_session *session, const prem_errand *errand,
                              const grow_graph *graph) {
  enum { MARK = -7 };
  prem_errand_view view;
  bool has[GROW_TILES];
  grow_walk(graph, errand->first_tile, errand->tile_count, has);
  ck_assert_int_eq(prem_errand_port(session, errand, "out", &view), PREM_OK);
  for (int32_t t = 0; t < GROW_TILES; ++t) {
    int32_t *out = (int32_t *)(void *)((char *)view.data + t * view.pitch_bytes);
    ck_assert_int_eq(*out == 2 * graph->rows[t][0] + 1, has[t]);
    *out = MARK;
  }
}

/** A graph of at most so many tiles in generations, of which an errand of tile 0 has all: chains,
 *  stars, and what lies between. */
static inline void grow_random(uint64_t *dice, int32_t depth, int32_t most, grow_graph *graph) {
  int32_t generation[GROW_TILES] = {0}, made[GROW_TILES] = {0}, count = 1;
  const int64_t nearest = prem_random_below(dice, 4); /* 0: made by any; else by one of the last */
  memset(graph, 0, sizeof *graph);
  for (int32_t left = 200; count < most && left > 0; --left) {
    const int64_t among = nearest && nearest < count ? nearest : count;
    const int32_t by = count - 1 - (int32_t)prem_random_below(dice, among);
    if (made[by] == GROW_MOST || generation[by] + 1 >= depth)
      continue;
    generation[count] = generation[by] + 1;
    graph->rows[count][0] = (int32_t)prem_random_below(dice, 1000);
    graph->rows[by][1 + made[by]++] = 1 + count++;
  }
}

/* ---- cases of all backends --------------------------------------------------------------------
 */

static prem_trace *grow_trace(const prem_session *session) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, GROW_RUN_NS / 1000000, 1000, &trace), PREM_OK);
  return trace;
}

/** A run of so many hyperperiods, which are 1 ms long without a critical task. All that was sent
 * has ended. */
static const prem_errand_counts *grow_run(prem_session *session, const prem_arrival *arrivals,
                                          int64_t count, prem_trace *trace) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = PREM_MODE_TT,
                                    .hyperperiods = GROW_RUN_NS / 1000000,
                                    .arrivals = arrivals,
                                    .arrival_count = count};
  if (prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
  const prem_errand_counts *counts = &trace->best_effort->counts[0].errands;
  int64_t ended = 0;
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    ended += counts->ended[e];
  ck_assert_int_eq(counts->sent, ended);
  return counts;
}

/** One errand of some tiles through a graph, and its end: of one that a run was too short for, in
 *  the next run. */
static prem_errand_end grow_end(const char *backend, const char *server, const grow_graph *graph,
                                int32_t first, int32_t count) {
  OWNED(prem_schedule) *schedule = growing_server(2, 0, server);
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = grow_trace(session);
  prem_errand errand = {.end = PREM_ERRAND_ABORTED};
  prem_verdict verdict;
  bool has[GROW_TILES];
  for (int run = 0; run < 100 && errand.end == PREM_ERRAND_ABORTED; ++run) {
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    if (run == 0)
      ck_assert_int_eq(prem_errand_acquire(session, 0, &errand), PREM_OK);
    grow_fill(session, &errand, graph);
    errand.first_tile = first;
    errand.tile_count = count;
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
    grow_run(session, NULL, 0, trace);
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_collect(session, 0, &(prem_errand){0}), PREM_ERR_TIMEOUT);
  }
  if (errand.end == PREM_ERRAND_DONE) {
    ck_assert_int_eq(trace->best_effort->counts[0].tiles, grow_walk(graph, first, count, has));
    grow_judge(session, &errand, graph);
  }
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  return errand.end;
}

/** 0 makes 1, 2 and 3, of which two make 5, and 5 makes 0: each is worked once. */
static inline void make_each_tile_once(const char *backend) {
  const grow_graph graph = {.rows = {[0] = {10, 2, 3, 4},
                                     [1] = {11, 6, 0, 0},
                                     [2] = {12, 0, 6, 0},
                                     [3] = {13, 4, 0, 0},
                                     [5] = {15, 1, 6, 0},
                                     [7] = {17, 1, 0, 0}}};
  ck_assert_int_eq(grow_end(backend, "capacity = 2; depth = 3;", &graph, 0, 1), PREM_ERRAND_DONE);
  ck_assert_int_eq(grow_end(backend, "capacity = 2; depth = 4;", &graph, 7, 1), PREM_ERRAND_DONE);
  ck_assert_int_eq(grow_end(backend, "capacity = 2; depth = 3; tiles = 5;", &graph, 0, 1),
                   PREM_ERRAND_DONE);
  /* all that one names it has */
  ck_assert_int_eq(grow_end(backend, "capacity = 2;", &graph, 0, 6), PREM_ERRAND_DONE);
}

/** Then it has not all its tiles, and is not done. */
static inline void make_no_more_than_may_be(const char *backend) {
  grow_graph graph = {.rows = {[0] = {10, 2, 3, 4}, [3] = {13, 5, 0, 0}}};
  const char *deep = "capacity = 2; depth = 3;";
  ck_assert_int_eq(grow_end(backend, "capacity = 2; depth = 3; tiles = 4;", &graph, 0, 1),
                   PREM_ERRAND_EXPIRED);
  ck_assert_int_eq(grow_end(backend, "capacity = 2; depth = 2;", &graph, 0, 1),
                   PREM_ERRAND_EXPIRED);
  ck_assert_int_eq(grow_end(backend, "capacity = 2;", &graph, 3, 1), PREM_ERRAND_EXPIRED);
  graph.rows[3][1] = GROW_TILES + 1; /* there is none of that number */
  ck_assert_int_eq(grow_end(backend, deep, &graph, 0, 1), PREM_ERRAND_EXPIRED);
  graph.rows[3][1] = -3;
  ck_assert_int_eq(grow_end(backend, deep, &graph, 0, 1), PREM_ERRAND_EXPIRED);
  graph.rows[3][1] = GROW_TILES;
  ck_assert_int_eq(grow_end(backend, deep, &graph, 0, 1), PREM_ERRAND_DONE);
}

/** So many errands, each with a graph of its own. */
static inline void make_random_tiles(const char *backend, int32_t blocks, int32_t left) {
  OWNED(prem_schedule) *schedule =
      growing_server(blocks, 0, text("capacity = %d; depth = 20;", (int)GROW_ROOM));
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = grow_trace(session);
  static grow_graph graphs[GROW_ROOM];
  uint64_t dice = 5;
  prem_errand errand;
  int32_t sent = 0;
  for (int run = 0; left > 0; ++run) {
    ck_assert_int_lt(run, 1000);
    for (; sent < left && prem_errand_acquire(session, 0, &errand) == PREM_OK; ++sent) {
      grow_random(&dice, 20, GROW_TILES, &graphs[errand.room]);
      grow_fill(session, &errand, &graphs[errand.room]);
      errand.tile_count = 1;
      ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
    }
    grow_run(session, NULL, 0, trace);
    while (prem_errand_collect(session, 0, &errand) == PREM_OK) {
      --sent;
      ck_assert(errand.end == PREM_ERRAND_DONE || errand.end == PREM_ERRAND_ABORTED);
      if (errand.end == PREM_ERRAND_DONE) {
        grow_judge(session, &errand, &graphs[errand.room]);
        --left;
      }
      ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
    }
    ck_assert_int_eq(sent, 0);
  }
}

/** What nobody has fed is verified: a chain of twenty. */
static inline void make_what_is_right(const char *backend) {
  OWNED(prem_schedule) *schedule = growing_server(3, 19, "capacity = 8; depth = 20;");
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = grow_trace(session);
  const prem_arrival arrivals[] = {{0, 0, 0, 1}, {0, 0, 10, 5}, {1000000, 0, 3, 1}};
  prem_verdict verdict;
  int64_t done = 0;
  for (int run = 0; run < 200 && done < 3; ++run) { /* a busy machine may be too late */
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    const prem_errand_counts *counts = grow_run(session, arrivals, 3, trace);
    ck_assert_int_eq(counts->ended[PREM_ERRAND_EXPIRED], 0);
    done = counts->ended[PREM_ERRAND_DONE];
    if (done == 3)
      ck_assert_int_eq(trace->best_effort->counts[0].tiles, 20 + 10 + 17);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
  }
  ck_assert_int_eq(done, 3);
}
