/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Computing a tile where a store outside of its views is found and does no harm: on copies of its
 * windows, each with a red zone before and after it.
 */
#pragma once

#include "runtime/core/arrays.h"

enum { PREM_RED_ZONE_BYTES = 4096 /* a zone has at least so many */ };

/** Room for the copies, which grows as tiles need it. For one thread at a time. {0}: empty. */
typedef struct prem_red_zones {
  unsigned char *memory;
  size_t bytes;
} prem_red_zones;

/** The first store of a compute that no view of the tile allows. */
typedef struct prem_stray {
  int32_t port;          /* the nearest one; the kernel's port_count: its work area */
  int64_t row, column;   /* from the window's first element on, over all planes; below 0: before */
  int32_t rows, columns; /* that the view has, over all planes */
} prem_stray;

void prem_red_zones_free(prem_red_zones *zones);
/** Fill bytes as red zones are; the value of a byte follows from its address. */
void prem_red_zone_fill(unsigned char *at, size_t bytes);
/** The first byte that is no longer what prem_red_zone_fill() has made of it; NULL: none. */
const unsigned char *prem_red_zone_broken(const unsigned char *at, size_t bytes);

/**
 * Compute a tile. What compute writes to its outputs comes to lie in the given views; their other
 * bytes, the inputs and the work area stay as they are. Outputs that compute does not write, what
 * it reads outside of its windows and what it finds in the work area are NaNs. A compatible
 * interval, whose views are the arrays, just computes.
 *
 * @param views  as of prem_tile_views_slots(); the task is bound, and its kernel has a compute.
 * @retval PREM_ERR_WRONG   compute wrote elsewhere: `stray` says where. The views have its outputs.
 */
prem_status prem_guarded_compute(prem_red_zones *zones, const prem_task *task, const void *params,
                                 const prem_view *views, prem_stray *stray);
/** The stray store in a line: kernel, task, port, row, tile. @return PREM_ERR_WRONG */
prem_status prem_stray_tell(const prem_task *task, int32_t tile, const prem_stray *stray,
                            prem_diag *diag);
/** Compute every tile of every task once, on what the arrays hold, and store nothing: who wrote
 *  elsewhere? @retval PREM_ERR_WRONG  the first one, told. */
prem_status prem_find_stray(const prem_arrays *arrays, prem_diag *diag);
