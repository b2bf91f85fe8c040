/* SPDX-License-Identifier: Apache-2.0 */
/**
 * track_correlate: each region's planes as spectra, and their correlation with those of the
 * target's model, two planes a tile: the sum of `planes` transformed times the conjugate of
 * `model`.
 *
 * What comes back from it by an inverse transform is looked at for its real part alone. That part's
 * spectrum is q(k) + conj(q(-k)), half of it, so that the other half of the plane follows from this
 * one: of 32 x 32 points 32 x 17 go out. Behind them is a part of the sums of squares of both, so
 * that who adds the parts up has all that it needs of them.
 */
#ifndef TRACK_CORRELATE_H
#define TRACK_CORRELATE_H

#include "track_plane.h"

typedef struct track_correlate_params {
  int32_t unused; /* C has no empty struct */
} track_correlate_params;

enum {
  CORRELATE_PARTS = TRACK_PLANES / 2,
  CORRELATE_ROWS = TRACK_CELLS / CORRELATE_PARTS, /* of `energy` */
  CORRELATE_COLUMNS = TRACK_CELLS / 2 + 1,
  CORRELATE_SQUARES = TRACK_CELLS * CORRELATE_COLUMNS, /* the point of both sums */
  CORRELATE_POINTS = CORRELATE_SQUARES + 2             /* whole pieces of 16 bytes */
};

/* Two planes: `plane` points apart, rows `row`. */
typedef struct correlate_planes {
  const prem_fft_point *first;
  int32_t plane, row;
} correlate_planes;

PREM_FN prem_fft_point correlate_point(const correlate_planes *x, const correlate_planes *z,
                                       int32_t row, int32_t column) {
  prem_fft_point sum = {0, 0};
  for (int32_t p = 0; p < 2; ++p) {
    const prem_fft_point a = x->first[p * x->plane + row * x->row + column];
    const prem_fft_point b = z->first[p * z->plane + row * z->row + column];
    sum.re = fmaf(a.re, b.re, fmaf(a.im, b.im, sum.re));
    sum.im = fmaf(a.im, b.re, fmaf(-a.re, b.im, sum.im));
  }
  return sum;
}

/* `out`: 17 points a row. */
PREM_FN void correlate_half(const correlate_planes *x, const correlate_planes *z,
                            prem_fft_point *out) {
  PREM_LANES_2D(r, TRACK_CELLS, c, CORRELATE_COLUMNS) {
    const prem_fft_point here = correlate_point(x, z, r, c);
    const prem_fft_point there =
        correlate_point(x, z, (TRACK_CELLS - r) % TRACK_CELLS, (TRACK_CELLS - c) % TRACK_CELLS);
    out[r * CORRELATE_COLUMNS + c].re = here.re + there.re;
    out[r * CORRELATE_COLUMNS + c].im = here.im - there.im;
  }
}

/* `energy`: of rows of cells; `model_energy`: of the part's planes. */
PREM_FN void correlate_squares(const float *energy, const float *model_energy,
                               prem_fft_point *out) {
  if (PREM_FIRST_LANE()) {
    out[0].re = track_sum(energy, CORRELATE_ROWS);
    out[0].im = model_energy[0];
    out[1].re = out[1].im = 0;
  }
}

PREM_FN void track_correlate_compute(const track_correlate_params *params, const prem_view *views) {
  const track_planes seen = {(prem_fft_point *)views[0].data, views[0].pitch[1], views[0].pitch[2]};
  const track_planes spectra = {(prem_fft_point *)views[5].data, TRACK_PLANE, TRACK_CELLS};
  prem_fft_point *out = (prem_fft_point *)views[4].data;
  const correlate_planes x = {spectra.first, spectra.plane, spectra.row};
  const correlate_planes z = {(const prem_fft_point *)views[1].data, views[1].pitch[1],
                              views[1].pitch[2]};
  (void)params;
  correlate_squares((const float *)views[2].data, (const float *)views[3].data,
                    out + CORRELATE_SQUARES);
  track_spectra(&seen, &spectra);
  PREM_SYNC();
  correlate_half(&x, &z, out);
}

#if PREM_HOST

#include <string.h>

PREM_CLONES static void track_correlate_reference(const void *params,
                                                  const prem_array_view *arrays) {
  enum { POINTS = 2 * TRACK_PLANE };
  prem_fft_point seen[POINTS], spectra[POINTS];
  const int64_t regions = arrays[0].shape[0], scales = regions / arrays[1].shape[0];
  (void)params;
  for (int64_t i = 0; i < regions * CORRELATE_PARTS; ++i) {
    const int64_t region = i / CORRELATE_PARTS, part = i % CORRELATE_PARTS;
    const track_planes from = {seen, TRACK_PLANE, TRACK_CELLS};
    const track_planes to = {spectra, TRACK_PLANE, TRACK_CELLS};
    const correlate_planes x = {spectra, TRACK_PLANE, TRACK_CELLS};
    const correlate_planes z = {(const prem_fft_point *)arrays[1].data +
                                    (region / scales * CORRELATE_PARTS + part) * POINTS,
                                TRACK_PLANE, TRACK_CELLS};
    prem_fft_point *out = (prem_fft_point *)arrays[4].data + i * CORRELATE_POINTS;
    memcpy(seen, (const prem_fft_point *)arrays[0].data + i * POINTS, sizeof seen);
    correlate_squares((const float *)arrays[2].data + i * CORRELATE_ROWS,
                      (const float *)arrays[3].data + region / scales * CORRELATE_PARTS + part,
                      out + CORRELATE_SQUARES);
    track_spectra(&from, &to);
    correlate_half(&x, &z, out);
  }
}

static prem_status track_correlate_bind(prem_bind *bind) {
  const int64_t regions = bind->shape[0][0], targets = bind->shape[1][0];
  static const int64_t planes[4] = {0, TRACK_PLANES, TRACK_CELLS, TRACK_CELLS};
  prem_status status = track_expect(bind, 0, "arrays.planes", 4, planes);
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.model", 4, planes);
  if (status == PREM_OK && regions % targets != 0)
    status = prem_bind_refuse(bind, "arrays.planes",
                              "has %lld regions, which are not as many for each of %lld targets",
                              (long long)regions, (long long)targets);
  if (status == PREM_OK)
    status =
        track_expect(bind, 2, "arrays.energy", 2, (const int64_t[4]){1, 1, regions, TRACK_CELLS});
  if (status == PREM_OK)
    status = track_expect(bind, 3, "arrays.model_energy", 2,
                          (const int64_t[4]){1, 1, targets, CORRELATE_PARTS});
  if (status == PREM_OK)
    status = track_output(bind, 4, "arrays.out", 3,
                          (const int64_t[4]){1, regions, CORRELATE_PARTS, CORRELATE_POINTS});
  if (status != PREM_OK)
    return status;
  const int64_t scales = regions / targets;
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = (int32_t)scales;
  bind->grid[2] = CORRELATE_PARTS;
  bind->window[0] = (prem_window){.step = {[0] = {scales, 1}, [1] = {0, 0, 2}},
                                  .extent = {1, 2, TRACK_CELLS, TRACK_CELLS}};
  bind->window[1] = (prem_window){.step = {[0] = {1}, [1] = {0, 0, 2}},
                                  .extent = {1, 2, TRACK_CELLS, TRACK_CELLS}};
  bind->window[2] = (prem_window){.step = {[2] = {scales, 1}, [3] = {0, 0, CORRELATE_ROWS}},
                                  .extent = {1, 1, 1, CORRELATE_ROWS}};
  bind->window[3] = (prem_window){.step = {[2] = {1}, [3] = {0, 0, 1}}, .extent = {1, 1, 1, 1}};
  bind->window[4] = (prem_window){.step = {[1] = {scales, 1}, [2] = {0, 0, 1}},
                                  .extent = {1, 1, 1, CORRELATE_POINTS}};
  bind->work_bytes = TRACK_PLANES_BYTES;
  return PREM_OK;
}

static const prem_port track_correlate_ports[] = {{"planes", PREM_IN, PREM_C64},
                                                  {"model", PREM_IN, PREM_C64},
                                                  {"energy", PREM_IN, PREM_F32},
                                                  {"model_energy", PREM_IN, PREM_F32},
                                                  {"out", PREM_OUT, PREM_C64}};

PREM_COMPUTE_ENTRY(track_correlate)

static const prem_kernel track_correlate_kernel = {
    .name = "track_correlate",
    .summary = "spectra of regions times the conjugate of their targets' models, in parts of two "
               "planes, and their squares",
    .version = 3,
    .params_bytes = sizeof(track_correlate_params),
    .ports = track_correlate_ports,
    .port_count = 5,
    .bind = track_correlate_bind,
    .compute = track_correlate_entry,
    .reference = track_correlate_reference,
};

#endif
#endif
