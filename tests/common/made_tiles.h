/* SPDX-License-Identifier: Apache-2.0 */
/** Tiles that make tiles, on any backend: a row of the input says which, so an errand walks through
 *  a graph. After running.h. */
#pragma once

#include "prem/base/random.h"
#include "tests/common/running.h"
#include "ttprem/errand.h"

enum { GROW_MOST = 3, GROW_ROW = 1 + GROW_MOST, GROW_TILES = 24 };

typedef struct grow_params {
  int32_t chain; /* rows below it name the next one, if they name none first */
} grow_params;

/* A row of `in`: a number, then 1 + each tile that this one makes, or 0. */
static void grow_row(const grow_params *params, int64_t row, const int32_t *in, int32_t *out,
                     int32_t *spawn) {
  *out = 2 * in[0] + 1;
  memcpy(spawn, in + 1, GROW_MOST * sizeof *spawn);
  if (spawn[0] == 0 && row < params->chain)
    spawn[0] = (int32_t)row + 2;
}

static void grow_compute(const void *params, const prem_view *views) {
  grow_row(params, views[0].origin[2], views[0].data, views[1].data, views[2].data);
}

static void grow_reference(const void *params, const prem_array_view *arrays) {
  for (int64_t row = 0; row < arrays[0].shape[2]; ++row)
    grow_row(params, row, (const int32_t *)arrays[0].data + row * GROW_ROW,
             (int32_t *)arrays[1].data + row, (int32_t *)arrays[2].data + row * GROW_MOST);
}

static prem_status grow_bind(prem_bind *bind) {
  const prem_status status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  for (int32_t p = 1; p < 3; ++p) {
    bind->window[p] = bind->window[0];
    bind->window[p].extent[3] = p == 1 ? 1 : GROW_MOST;
    bind->new_rank[p] = 2;
    for (int32_t d = 0; d < 4; ++d)
      bind->new_shape[p][d] = d < 3 ? bind->shape[0][d] : bind->window[p].extent[3];
  }
  int64_t chain = 0;
  const prem_status read = prem_arg_ints(bind, "chain", &chain, 1);
  ((grow_params *)bind->params.bytes)->chain = (int32_t)chain;
  return read;
}

static const prem_port grow_ports[] = {
    {"in", PREM_IN, PREM_I32}, {"out", PREM_OUT, PREM_I32}, {"spawn", PREM_OUT, PREM_I32}};
static prem_kernel grow_kernel = {.name = "grow",
                                  .summary = "a row that names the next ones",
                                  .version = 1,
                                  .params_bytes = sizeof(grow_params),
                                  .ports = grow_ports,
                                  .port_count = 3,
                                  .bind = grow_bind,
                                  .compute = grow_compute,
                                  .reference = grow_reference};
static const prem_kernel *const grow_list[] = {&grow_kernel};
static const prem_registry grow_registry = {grow_list, 1};

/** @param rows  of each tile
 *  @return NULL: refused, and `diag` says why */
static prem_schedule *growing_server_judged(int32_t blocks, int32_t rows, int32_t chain,
                                            const char *server, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  const char *source = text(
      "version = 1; name = \"t\"; platform: { blocks = %d; }; arrays = ( { name = \"graph\"; type "
      "= \"i32\"; shape = [ %d, %d ]; fill = \"zero\"; } ); tasks = ( { name = \"s\"; kernel = "
      "\"%s\"; class = \"best_effort\"; blocks = \"0-%d\"; tile = [ %d, %d ]; args: { chain = "
      "%d; "
      "}; arrays: { in = \"graph\"; out = \"new\"; spawn = \"new\"; }; server: { %s }; prefetch: { "
      "wcet_ns = 200L; }; compute: { wcet_ns = 300L; }; writeback: { wcet_ns = 100L; }; } );",
      blocks, rows * GROW_TILES, (int)GROW_ROW, grow_kernel.name, blocks - 1, rows, (int)GROW_ROW,
      chain, server);
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
