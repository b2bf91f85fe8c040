/* SPDX-License-Identifier: Apache-2.0 */
/**
 * fft2_plane: square planes of 16, 32 or 64 points a side transformed in both dimensions; or back.
 *
 * Columns are transformed, and put down as rows; then the same once more. Between the two and
 * within them results go to the output's scratch and back to the input's.
 */
#pragma once

#include "kernels/fft.h"

enum { FFT2_PLANE_MAX_BITS = 6 }; /* a side's logarithm: two passes a dimension */

typedef fft_params fft2_plane_params;

PREM_FN void fft2_plane_compute(const fft2_plane_params *params, const prem_view *views) {
  prem_fft_square_planes(&params->plan, prem_fft_square_of(views, 0), prem_fft_square_of(views, 1),
                         fft_planes(params, &views[1]));
}

#if PREM_HOST

static void fft2_plane_reference(const void *params, const prem_array_view *arrays) {
  fft_reference(params, &arrays[0], &arrays[1], 2);
  fft_reference(params, &arrays[1], &arrays[1], 3);
}

static prem_status fft2_plane_bind(prem_bind *bind) {
  return fft_bind(bind, "fft2_plane", 2, 3, FFT2_PLANE_MAX_BITS);
}

PREM_COMPUTE_ENTRY(fft2_plane)

static const prem_kernel fft2_plane_kernel = {
    PREM_KERNEL_OF(fft2_plane, fft_ports),
    .summary = "Fourier transform of each plane, 16, 32 or 64 points a side; inverse (0); tile as "
               "the arrays' rank",
    .version = 2,
};

#endif
