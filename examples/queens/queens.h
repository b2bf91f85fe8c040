/* SPDX-License-Identifier: Apache-2.0 */
/** queens: how many ways there are to place n queens. A row of `in` is the walk through the tree
 * below one column of the first line; a turn goes `steps` nodes on, and what is left goes to `out`.
 */
#ifndef QUEENS_H
#define QUEENS_H

#include <ttprem/kernel.h>

enum { QUEENS_MOST = 16, QUEENS_WALK = 2 + QUEENS_MOST };

/** What a row holds: the line to try next, 0 at first and -1 at the end; ways found; a column of
 * each line. */
enum { QUEENS_LINE, QUEENS_WAYS, QUEENS_COLUMN };

typedef struct queens_params {
  int32_t n, steps;
} queens_params;

PREM_FN bool queens_may_stand(const int32_t *columns, int32_t line) {
  for (int32_t i = 0; i < line; ++i) {
    const int32_t away = columns[line] - columns[i];
    if (away == 0 || away == line - i || away == i - line)
      return false;
  }
  return true;
}

PREM_FN void queens_walk(const queens_params *params, int32_t *walk, int32_t first) {
  int32_t *columns = walk + QUEENS_COLUMN;
  int32_t line = walk[QUEENS_LINE];
  if (line == 0) {
    columns[0] = first;
    columns[line = 1] = -1;
  }
  PREM_ROLLED for (int32_t step = 0; step < params->steps && line > 0; ++step) {
    if (++columns[line] == params->n) {
      line = line == 1 ? -1 : line - 1;
    } else if (queens_may_stand(columns, line)) {
      if (line == params->n - 1)
        ++walk[QUEENS_WAYS];
      else
        columns[++line] = -1;
    }
  }
  walk[QUEENS_LINE] = line;
}

PREM_FN void queens_compute(const queens_params *params, const prem_view *views) {
  const int32_t *in = (const int32_t *)views[0].data;
  int32_t *out = (int32_t *)views[1].data;
  if (!PREM_FIRST_LANE())
    return;
  PREM_ROLLED for (int32_t i = 0; i < QUEENS_WALK; ++i) out[i] = in[i];
  queens_walk(params, out, (int32_t)views[0].origin[2]);
  *(int32_t *)views[2].data = out[QUEENS_LINE] != -1;
}

#if PREM_HOST

static void queens_reference(const void *params, const prem_array_view *arrays) {
  int32_t *out = (int32_t *)arrays[1].data;
  for (int64_t row = 0; row < arrays[0].shape[2]; ++row, out += QUEENS_WALK) {
    memcpy(out, (const int32_t *)arrays[0].data + row * QUEENS_WALK, QUEENS_WALK * sizeof *out);
    queens_walk((const queens_params *)params, out, (int32_t)row);
    ((int32_t *)arrays[2].data)[row] = out[QUEENS_LINE] != -1;
  }
}

static prem_status queens_bind(prem_bind *bind) {
  const int64_t n = bind->shape[0][2];
  queens_params *params = (queens_params *)bind->params.bytes;
  if (bind->rank[0] != 2 || n < 2 || n > QUEENS_MOST || bind->shape[0][3] != QUEENS_WALK)
    return prem_bind_refuse(bind, "arrays.in", "is not [ n, %d ] with 2 <= n <= %d",
                            (int)QUEENS_WALK, (int)QUEENS_MOST);
  prem_status status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  if (bind->window[0].extent[2] != 1 || bind->window[0].extent[3] != QUEENS_WALK)
    return prem_bind_refuse(bind, "tile", "is not [ 1, %d ], a row", (int)QUEENS_WALK);
  bind->window[1] = bind->window[0];
  bind->new_rank[1] = 2;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  int64_t steps = 100;
  status = prem_arg_ints(bind, "steps", &steps, 1);
  params->n = (int32_t)n;
  params->steps = (int32_t)(steps < 1 ? 1 : steps > 1000000 ? 1000000 : steps);
  return status == PREM_OK ? prem_bind_tile_results(bind, 2, "more") : status;
}

static const prem_port queens_ports[] = {
    {"in", PREM_IN, PREM_I32}, {"out", PREM_OUT, PREM_I32}, {"more", PREM_OUT, PREM_I32}};

PREM_COMPUTE_ENTRY(queens)

static const prem_kernel queens_kernel = {
    .name = "queens",
    .summary = "ways to place n queens, some steps of the walk a turn; tile = [1, 18]",
    .version = 1,
    .params_bytes = sizeof(queens_params),
    .ports = queens_ports,
    .port_count = 3,
    .bind = queens_bind,
    .compute = queens_entry,
    .reference = queens_reference,
};

#endif
#endif
