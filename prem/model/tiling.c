/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting arrays into tiles, the same way for every kernel. */
#include "prem/base/fail.h"
#include "ttprem/kernel.h"

#include "prem/base/numbers.h"

/* Dimensions of one tile need no index, so that even four dimensions fit a tile index of three. */
static prem_status index_dimension(prem_bind *bind, int32_t *index, int64_t tiles) {
  if (*index < 0)
    return prem_bind_refuse(bind, "tile",
                            "cuts more than %d dimensions of the array; make it as "
                            "long as the array in one of them",
                            PREM_MAX_GRID);
  int64_t total = tiles;
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    if (total > INT32_MAX / bind->grid[k])
      return prem_bind_refuse(bind, "tile", "makes more than %d tiles; take a larger one",
                              INT32_MAX);
    else
      total *= bind->grid[k];
  bind->grid[*index] = (int32_t)tiles;
  --*index;
  return PREM_OK;
}

prem_status prem_bind_tile(prem_bind *bind, int32_t rank, const int64_t shape[4],
                           prem_window *window) {
  *window = (prem_window){.extent = {1, 1, 1, 1}};
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k)
    bind->grid[k] = 1;
  if (bind->tile_rank != rank)
    return prem_bind_refuse(bind, "tile", "has %d dimensions, %d are needed here: the array's",
                            (int)bind->tile_rank, (int)rank);
  int32_t index = PREM_MAX_GRID - 1;
  for (int32_t d = PREM_MAX_RANK - 1; d >= PREM_MAX_RANK - rank; --d) {
    const int32_t asked = bind->tile[d - (PREM_MAX_RANK - rank)];
    if (asked < 1)
      return prem_bind_refuse(bind, "tile", "%d is no size; 1 is the least", (int)asked);
    const int32_t size = asked < shape[d] ? asked : (int32_t)shape[d];
    const int64_t tiles = prem_div_ceil(shape[d], size);
    window->extent[d] = size;
    if (tiles == 1)
      continue;
    window->step[d][index < 0 ? 0 : index] = size;
    prem_status status = index_dimension(bind, &index, tiles);
    if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

prem_status prem_bind_tile_results(prem_bind *bind, int32_t port, const char *key) {
  prem_window *window = &bind->window[port];
  const int64_t tiles = (int64_t)bind->grid[0] * bind->grid[1] * bind->grid[2];
  *window = (prem_window){.extent = {1, 1, 1, 1}};
  window->step[3][2] = 1;
  window->step[3][1] = bind->grid[2];
  window->step[3][0] = (int64_t)bind->grid[1] * bind->grid[2];
  bind->new_rank[port] = 1;
  for (int32_t d = 0; d < PREM_MAX_RANK; ++d)
    bind->new_shape[port][d] = d == 3 ? tiles : 1;
  if (bind->rank[port] == 0 || (bind->rank[port] == 1 && bind->shape[port][3] == tiles))
    return PREM_OK;
  return prem_bind_refuse(bind, prem_key("arrays.%s", key).text,
                          "must be a vector of %lld, one element for each tile", (long long)tiles);
}
