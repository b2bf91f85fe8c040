/* SPDX-License-Identifier: Apache-2.0 */
/** difference: how much each pixel of two frames differs; below the threshold 0. */
#ifndef DIFFERENCE_H
#define DIFFERENCE_H

#include <ttprem/kernel.h>

typedef struct difference_params {
  int32_t threshold;
} difference_params;

PREM_FN uint8_t difference_pixel(int32_t threshold, int32_t a, int32_t b) {
  const int32_t apart = a > b ? a - b : b - a;
  return (uint8_t)(apart < threshold ? 0 : apart);
}

/* One tile, in the scratchpad. */
PREM_FN void difference_compute(const difference_params *params, const prem_view *views) {
  const prem_view a = views[0], b = views[1], out = views[2];
  const int32_t threshold = params->threshold;
  PREM_LANES_2D(row, out.extent[2], column, out.extent[3]) {
    PREM_AT(uint8_t, out, row, column) = difference_pixel(
        threshold, PREM_AT(const uint8_t, a, row, column), PREM_AT(const uint8_t, b, row, column));
  }
}

#if PREM_HOST

/* The whole frame, untiled: what tiles have to equal. */
static void difference_reference(const void *params, const prem_array_view *arrays) {
  const int32_t threshold = ((const difference_params *)params)->threshold;
  const uint8_t *a = (const uint8_t *)arrays[0].data, *b = (const uint8_t *)arrays[1].data;
  uint8_t *out = (uint8_t *)arrays[2].data;
  for (int64_t i = 0; i < arrays[2].shape[2] * arrays[2].shape[3]; ++i)
    out[i] = difference_pixel(threshold, a[i], b[i]);
}

/* Once, when a schedule is read: what the task is allowed to be, and its windows. */
static prem_status difference_bind(prem_bind *bind) {
  static const char *const keys[] = {"arrays.a", "arrays.b", "arrays.out"};
  for (int32_t p = 0; p < 3; ++p)
    for (int32_t d = 0; d < 4; ++d)
      if (bind->rank[p] != 0 && (bind->rank[p] != 2 || bind->shape[p][d] != bind->shape[0][d]))
        return prem_bind_refuse(bind, keys[p], "must be a frame of the size of `a`");
  bind->new_rank[2] = 2;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[2][d] = bind->shape[0][d];
  int64_t threshold = 32;
  prem_status status = prem_arg_ints(bind, "threshold", &threshold, 1);
  if (status == PREM_OK && (threshold < 0 || threshold > 255))
    status = prem_bind_refuse(bind, "args.threshold", "is %lld; 0 to 255 are possible",
                              (long long)threshold);
  ((difference_params *)bind->params.bytes)->threshold = (int32_t)threshold;
  if (status == PREM_OK)
    status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[0]);
  bind->window[1] = bind->window[2] = bind->window[0];
  return status;
}

static const prem_port difference_ports[] = {
    {"a", PREM_IN, PREM_U8}, {"b", PREM_IN, PREM_U8}, {"out", PREM_OUT, PREM_U8}};

PREM_COMPUTE_ENTRY(difference)

static const prem_kernel difference_kernel = {
    .name = "difference",
    .summary = "|a - b| of two u8 frames, 0 below threshold (32); tile = [rows, columns]",
    .version = 1,
    .params_bytes = sizeof(difference_params),
    .ports = difference_ports,
    .port_count = 3,
    .bind = difference_bind,
    .compute = difference_entry,
    .reference = difference_reference,
};

#endif
#endif
