/* SPDX-License-Identifier: Apache-2.0 */
/** twice: out = the mean of a row and of its mirror image, by way of the work area. For
 * kernel_test.sh, which makes mistakes in it. */
#ifndef TWICE_H
#define TWICE_H

#include <ttprem/kernel.h>

typedef struct twice_params {
  int32_t unused;
} twice_params;

PREM_FN void twice_compute(const twice_params *params, const prem_view *views) {
  (void)params;
  const prem_view in = views[0], out = views[1];
  float *half = (float *)views[2].data;
  const int32_t columns = out.extent[3];
  PREM_LANES_2D(row, out.extent[2], column, columns) {
    half[row * columns + column] = 0.5F * PREM_AT(const float, in, row, column);
  }
  PREM_SYNC();
  PREM_LANES_2D(row, out.extent[2], column, columns) {
    const int32_t last = columns - 1 - column;
    PREM_AT(float, out, row, column) = half[row * columns + column] + half[row * columns + last];
  }
}

#if PREM_HOST

static prem_status twice_bind(prem_bind *bind) {
  if (bind->rank[0] != 2)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, twice takes 2",
                            (int)bind->rank[0]);
  if (bind->tile_rank == 2 && bind->tile[1] < bind->shape[0][3])
    return prem_bind_refuse(bind, "tile", "must have whole rows");
  bind->new_rank[1] = 2;
  for (int32_t d = 0; d < 4; ++d) {
    bind->new_shape[1][d] = bind->shape[0][d];
    if (bind->rank[1] != 0 && bind->shape[1][d] != bind->shape[0][d])
      return prem_bind_refuse(bind, "arrays.out", "must have the shape of `in`");
  }
  const prem_status status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[1]);
  bind->window[0] = bind->window[1];
  bind->work_bytes = bind->window[1].extent[2] * bind->window[1].extent[3] * 4;
  return status;
}

static void twice_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const int64_t columns = arrays[0].shape[3];
  for (int64_t row = 0; row < arrays[0].shape[2]; ++row) {
    const float *in = (const float *)arrays[0].data + row * columns;
    for (int64_t column = 0; column < columns; ++column)
      ((float *)arrays[1].data)[row * columns + column] =
          0.5F * in[column] + 0.5F * in[columns - 1 - column];
  }
}

static const prem_port twice_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(twice)

static const prem_kernel twice_kernel = {
    .name = "twice",
    .summary = "(row + mirrored row) / 2; tile = [rows, all columns]",
    .version = 1,
    .params_bytes = sizeof(twice_params),
    .ports = twice_ports,
    .port_count = 2,
    .bind = twice_bind,
    .compute = twice_entry,
    .reference = twice_reference,
};

#endif
#endif
