/* SPDX-License-Identifier: Apache-2.0 */
/** fft_rows: every row transformed, of 16 to 512 points, a power of two; or back. With fft_columns
 * it makes 2-D transforms of planes too large for a tile. */
#pragma once

#include "kernels/fft.h"

typedef fft_params fft_rows_params;

/* The rows' first points beside each other, then their second ones, in the scratch of these lines:
 * passes read and write them so without a bank conflict, and as vectors. There is room, since rows
 * stand without gaps then. */
PREM_FN prem_fft_lines fft_rows_beside(const prem_fft_lines *lines, int32_t rows) {
  prem_fft_lines beside = *lines;
  beside.point = rows;
  beside.line = 1;
  return beside;
}

PREM_FN void fft_rows_compute(const fft_rows_params *params, const prem_view *views) {
  const int32_t rows = views[1].extent[2];
  const prem_fft_lines in = prem_fft_turned(prem_fft_columns_of(views, 0));
  const prem_fft_lines out = prem_fft_turned(prem_fft_columns_of(views, 1));
  const prem_fft_lines first = fft_rows_beside(&out, rows);
  const prem_fft_lines second =
      prem_fft_passes(params->plan.bits) == 3 ? fft_rows_beside(&in, rows) : in;
  prem_fft_transform(&params->plan, in, &first, &second, &out, fft_planes(params, &views[1]), rows);
}

#if PREM_HOST

static void fft_rows_reference(const void *params, const prem_array_view *arrays) {
  fft_reference(params, &arrays[0], &arrays[1], 3);
}

static prem_status fft_rows_bind(prem_bind *bind) {
  return fft_bind(bind, "fft_rows", 3, 3, PREM_FFT_MAX_BITS);
}

PREM_COMPUTE_ENTRY(fft_rows)

static const prem_kernel fft_rows_kernel = {
    PREM_KERNEL_OF(fft_rows, fft_ports),
    .summary =
        "Fourier transform of each row, 16 to 512 points; inverse (0); tile as the arrays' rank",
    .version = 1,
};

#endif
