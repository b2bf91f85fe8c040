/* SPDX-License-Identifier: Apache-2.0 */
/** fft_rows: every row transformed, of 16 to 512 points, a power of two; or back. With fft_columns
 * it makes 2-D transforms of planes too large for a tile. */
#ifndef TTPREM_KERNELS_FFT_ROWS_H
#define TTPREM_KERNELS_FFT_ROWS_H

#include "kernels/fft.h"

typedef prem_fft_plan fft_rows_params;

/* So many rows in the same scratch, point by point beside each other: that is how passes read and
 * write them fastest. A row and its gap have room for a row without one. */
PREM_FN prem_fft_lines fft_rows_beside(const prem_fft_lines *lines, int32_t rows) {
  prem_fft_lines beside = *lines;
  beside.point = rows;
  beside.line = 1;
  return beside;
}

PREM_FN void fft_rows_compute(const fft_rows_params *params, const prem_view *views) {
  const int32_t rows = views[1].extent[2];
  PREM_ROLLED for (int32_t i0 = 0; i0 < views[1].extent[0]; ++i0) {
    const prem_fft_lines in = prem_fft_turned(prem_fft_columns_of(views, 0, i0));
    const prem_fft_lines out = prem_fft_turned(prem_fft_columns_of(views, 1, i0));
    const prem_fft_lines first = fft_rows_beside(&out, rows);
    const prem_fft_lines second =
        prem_fft_passes(params->bits) == 3 ? fft_rows_beside(&in, rows) : in;
    prem_fft_transform(params, in, &first, &second, &out, views[1].extent[1], rows);
  }
}

#if PREM_HOST

static void fft_rows_reference(const void *params, const prem_array_view *arrays) {
  fft_reference((const prem_fft_plan *)params, &arrays[0], &arrays[1], 3);
}

static prem_status fft_rows_bind(prem_bind *bind) {
  return fft_bind(bind, "fft_rows", 3, 3, PREM_FFT_MAX_BITS);
}

PREM_COMPUTE_ENTRY(fft_rows)

static const prem_kernel fft_rows_kernel = {
    .name = "fft_rows",
    .summary =
        "Fourier transform of each row, 16 to 512 points; inverse (0); tile as the arrays' rank",
    .version = 1,
    .params_bytes = sizeof(fft_rows_params),
    .ports = fft_ports,
    .port_count = 2,
    .bind = fft_rows_bind,
    .compute = fft_rows_entry,
    .reference = fft_rows_reference,
};

#endif
#endif
