/* SPDX-License-Identifier: Apache-2.0 */
/** cuda_graph: the application's own CUDA graph, which prem_session_attach_graph() gives a session.
 *  There is no code here, so it stands in the table of kernels and not in kernels.def. */
#pragma once

#include "ttprem/kernel.h"

static prem_status cuda_graph_bind(prem_bind *bind) {
  if (bind->tile_rank > 0)
    return prem_bind_refuse(bind, "tile", "cuda_graph has no arrays to cut; leave it out");
  if (bind->tiles > 1)
    return prem_bind_refuse(bind, "tiles", "a graph begins as one, not as %d tiles; leave it out",
                            bind->tiles);
  bind->grid[0] = bind->grid[1] = bind->grid[2] = 1;
  return PREM_OK;
}

static const prem_kernel cuda_graph_kernel = {
    .name = PREM_CUDA_GRAPH,
    .summary = "an application's CUDA graph as best effort: its `compute.wcet_ns` is its bound",
    .version = 1,
    .compatible = true,
    .bind = cuda_graph_bind,
};
