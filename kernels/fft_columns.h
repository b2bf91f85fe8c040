/* SPDX-License-Identifier: Apache-2.0 */
/** fft_columns: every column transformed, of 16 to 512 points, a power of two; or back. Tiles of 16
 * columns are of whole cache lines. */
#pragma once

#include "kernels/fft.h"

typedef fft_params fft_columns_params;

PREM_FN void fft_columns_compute(const fft_columns_params *params, const prem_view *views) {
  const prem_fft_lines in = prem_fft_columns_of(views, 0), out = prem_fft_columns_of(views, 1);
  prem_fft_transform(&params->plan, in, &in, &in, &out, fft_planes(params, &views[1]),
                     views[1].extent[3]);
}

#if PREM_HOST

static void fft_columns_reference(const void *params, const prem_array_view *arrays) {
  fft_reference(params, &arrays[0], &arrays[1], 2);
}

static prem_status fft_columns_bind(prem_bind *bind) {
  return fft_bind(bind, "fft_columns", 2, 2, PREM_FFT_MAX_BITS);
}

PREM_COMPUTE_ENTRY(fft_columns)

static const prem_kernel fft_columns_kernel = {
    PREM_KERNEL_OF(fft_columns, fft_ports),
    .summary =
        "Fourier transform of each column, 16 to 512 points; inverse (0); tile as the arrays' rank",
    .version = 1,
};

#endif
