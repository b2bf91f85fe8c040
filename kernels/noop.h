/* SPDX-License-Identifier: Apache-2.0 */
/** noop: a tile that computes nothing and moves nothing; what remains is the cost of dispatching.
 */
#pragma once

#include "ttprem/kernel.h"

typedef struct noop_params {
  int32_t unused; /* C has no empty struct */
} noop_params;

PREM_FN void noop_compute(const noop_params *params, const prem_view *views) {
  (void)params;
  (void)views;
}

#if PREM_HOST

static prem_status noop_bind(prem_bind *bind) {
  if (bind->tile_rank > 0)
    return prem_bind_refuse(bind, "tile", "noop has no arrays to cut; say `tiles = N` instead");
  if (bind->tiles < 1)
    return prem_bind_refuse(bind, "tiles", "noop needs the number of its tiles: `tiles = N`");
  bind->grid[0] = 1;
  bind->grid[1] = 1;
  bind->grid[2] = bind->tiles;
  return PREM_OK;
}

static const prem_kernel noop_kernel = {
    .name = "noop",
    .summary = "nothing: what a phase costs that does no work; tiles = N",
    .version = 1,
    .bind = noop_bind,
};

#endif
