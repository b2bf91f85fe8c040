/* SPDX-License-Identifier: Apache-2.0 */
/** grow: a row of `in` says which tiles it makes, so an errand walks through a graph. The emulated
 *  GPU has it too. */
#ifndef GROW_H
#define GROW_H

#include <ttprem/kernel.h>

enum { GROW_MOST = 3, GROW_ROW = 1 + GROW_MOST };

typedef struct grow_params {
  int32_t chain; /* rows below it name the next one, if they name none first */
} grow_params;

/* A row of `in`: a number, then 1 + each tile that this one makes, or 0. */
PREM_FN void grow_row(const grow_params *params, int64_t row, const int32_t *in, int32_t *out,
                      int32_t *spawn) {
  *out = 2 * in[0] + 1;
  for (int32_t i = 0; i < GROW_MOST; ++i)
    spawn[i] = in[1 + i];
  if (spawn[0] == 0 && row < params->chain)
    spawn[0] = (int32_t)row + 2;
}

PREM_FN void grow_compute(const grow_params *params, const prem_view *views) {
  if (PREM_FIRST_LANE())
    grow_row(params, views[0].origin[2], (const int32_t *)views[0].data, (int32_t *)views[1].data,
             (int32_t *)views[2].data);
}

#if PREM_HOST

static void grow_reference(const void *params, const prem_array_view *arrays) {
  for (int64_t row = 0; row < arrays[0].shape[2]; ++row)
    grow_row((const grow_params *)params, row, (const int32_t *)arrays[0].data + row * GROW_ROW,
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

PREM_COMPUTE_ENTRY(grow)

static const prem_kernel grow_kernel = {.name = "grow",
                                        .summary = "a row that names the next ones",
                                        .version = 1,
                                        .params_bytes = sizeof(grow_params),
                                        .ports = grow_ports,
                                        .port_count = 3,
                                        .bind = grow_bind,
                                        .compute = grow_entry,
                                        .reference = grow_reference};

#endif
#endif
