/* SPDX-License-Identifier: Apache-2.0 */
/** track_correlate: the correlation of each region with its target's model, as spectra: the sum
 * over planes of `spectrum` times the conjugate of `model`. */
#ifndef TRACK_CORRELATE_H
#define TRACK_CORRELATE_H

#include "track.h"

typedef struct track_correlate_params {
  int32_t unused; /* C has no empty struct */
} track_correlate_params;

enum { CORRELATE_ROWS = 4 /* of a tile: it reads two times as many of 16 planes */ };

/* Planes are `plane` points apart, rows `row`. */
typedef struct correlate_planes {
  const prem_c64 *first;
  int32_t plane, row;
} correlate_planes;

PREM_FN void correlate_rows(correlate_planes a, correlate_planes b, int32_t rows, prem_c64 *out,
                            int32_t out_row) {
  PREM_LANES_2D(r, rows, c, TRACK_CELLS) {
    const prem_c64 *x = a.first + (int64_t)r * a.row + c, *z = b.first + (int64_t)r * b.row + c;
    prem_c64 sum = {0, 0};
    PREM_ROLLED for (int32_t p = 0; p < TRACK_PLANES; ++p, x += a.plane, z += b.plane) {
      sum.re = fmaf(x->re, z->re, fmaf(x->im, z->im, sum.re));
      sum.im = fmaf(x->im, z->re, fmaf(-x->re, z->im, sum.im));
    }
    out[(int64_t)r * out_row + c] = sum;
  }
}

PREM_FN void track_correlate_compute(const track_correlate_params *params, const prem_view *views) {
  (void)params;
  const correlate_planes a = {(const prem_c64 *)views[0].data, views[0].pitch[1],
                              views[0].pitch[2]};
  const correlate_planes b = {(const prem_c64 *)views[1].data, views[1].pitch[1],
                              views[1].pitch[2]};
  correlate_rows(a, b, views[2].extent[2], (prem_c64 *)views[2].data, views[2].pitch[2]);
}

#if PREM_HOST

PREM_CLONES static void track_correlate_reference(const void *params,
                                                  const prem_array_view *arrays) {
  enum { PLANE = TRACK_CELLS * TRACK_CELLS };
  (void)params;
  const int64_t regions = arrays[0].shape[0], scales = regions / arrays[1].shape[0];
  for (int64_t region = 0; region < regions; ++region) {
    const correlate_planes a = {(const prem_c64 *)arrays[0].data + region * TRACK_PLANES * PLANE,
                                PLANE, TRACK_CELLS};
    const correlate_planes b = {(const prem_c64 *)arrays[1].data +
                                    region / scales * TRACK_PLANES * PLANE,
                                PLANE, TRACK_CELLS};
    correlate_rows(a, b, TRACK_CELLS, (prem_c64 *)arrays[2].data + region * PLANE, TRACK_CELLS);
  }
}

static prem_status track_correlate_bind(prem_bind *bind) {
  const int64_t regions = bind->shape[0][0], targets = bind->shape[1][0];
  static const int64_t planes[4] = {0, TRACK_PLANES, TRACK_CELLS, TRACK_CELLS};
  prem_status status = track_expect(bind, 0, "arrays.spectrum", 4, planes);
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.model", 4, planes);
  if (status == PREM_OK && regions % targets != 0)
    status = prem_bind_refuse(bind, "arrays.spectrum",
                              "has %lld regions, which are not as many for each of %lld targets",
                              (long long)regions, (long long)targets);
  if (status == PREM_OK)
    status = track_output(bind, 2, "arrays.out", 3,
                          (const int64_t[4]){1, regions, TRACK_CELLS, TRACK_CELLS});
  if (status != PREM_OK)
    return status;
  const int64_t scales = regions / targets;
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = (int32_t)scales;
  bind->grid[2] = TRACK_CELLS / CORRELATE_ROWS;
  bind->window[0] = (prem_window){.step = {[0] = {scales, 1}, [2] = {0, 0, CORRELATE_ROWS}},
                                  .extent = {1, TRACK_PLANES, CORRELATE_ROWS, TRACK_CELLS}};
  bind->window[1] = (prem_window){.step = {[0] = {1}, [2] = {0, 0, CORRELATE_ROWS}},
                                  .extent = {1, TRACK_PLANES, CORRELATE_ROWS, TRACK_CELLS}};
  bind->window[2] = (prem_window){.step = {[1] = {scales, 1}, [2] = {0, 0, CORRELATE_ROWS}},
                                  .extent = {1, 1, CORRELATE_ROWS, TRACK_CELLS}};
  return PREM_OK;
}

static const prem_port track_correlate_ports[] = {
    {"spectrum", PREM_IN, PREM_C64}, {"model", PREM_IN, PREM_C64}, {"out", PREM_OUT, PREM_C64}};

PREM_COMPUTE_ENTRY(track_correlate)

static const prem_kernel track_correlate_kernel = {
    .name = "track_correlate",
    .summary =
        "spectra of regions times the conjugate of their targets' models, summed over planes",
    .version = 1,
    .params_bytes = sizeof(track_correlate_params),
    .ports = track_correlate_ports,
    .port_count = 3,
    .bind = track_correlate_bind,
    .compute = track_correlate_entry,
    .reference = track_correlate_reference,
};

#endif
#endif
