/* SPDX-License-Identifier: Apache-2.0 */
/** close_up: a square of a frame, which begins where another task says. */
#ifndef CLOSE_UP_H
#define CLOSE_UP_H

#include <ttprem/kernel.h>

typedef struct close_up_params {
  int32_t side;
} close_up_params;

PREM_FN void close_up_compute(const close_up_params *params, const prem_view *views) {
  const prem_view frame = views[0], out = views[2];
  PREM_LANES_2D(row, params->side, column, params->side) {
    PREM_AT(uint8_t, out, row, column) = PREM_AT(const uint8_t, frame, row, column);
  }
}

#if PREM_HOST

static void close_up_reference(const void *params, const prem_array_view *arrays) {
  const int32_t side = ((const close_up_params *)params)->side;
  const int32_t *where = (const int32_t *)arrays[1].data;
  const int64_t top = prem_aimed(0, where[0], side, arrays[0].shape[2]);
  const int64_t left = prem_aimed(0, where[1], side, arrays[0].shape[3]);
  for (int64_t r = 0; r < side; ++r)
    memcpy((uint8_t *)arrays[2].data + r * side,
           (const uint8_t *)arrays[0].data + (top + r) * arrays[0].shape[3] + left, (size_t)side);
}

static prem_status close_up_bind(prem_bind *bind) {
  int64_t side = 64;
  prem_status status = prem_arg_ints(bind, "side", &side, 1);
  if (status != PREM_OK)
    return status;
  if (bind->rank[0] != 2 || side < 1 || side > bind->shape[0][2] || side > bind->shape[0][3])
    return prem_bind_refuse(bind, "args.side", "is %lld; the frame has %lld x %lld pixels",
                            (long long)side, (long long)bind->shape[0][3],
                            (long long)bind->shape[0][2]);
  if (bind->rank[1] != 1 || bind->shape[1][3] != 2)
    return prem_bind_refuse(bind, "arrays.where", "must have the shape [ 2 ]");
  if (bind->rank[2] != 0 &&
      (bind->rank[2] != 2 || bind->shape[2][2] != side || bind->shape[2][3] != side))
    return prem_bind_refuse(bind, "arrays.out", "must have the shape [ %lld, %lld ]",
                            (long long)side, (long long)side);
  bind->new_rank[2] = 2;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[2][d] = d < 2 ? 1 : side;
  ((close_up_params *)bind->params.bytes)->side = (int32_t)side;
  for (int32_t k = 0; k < 3; ++k)
    bind->grid[k] = 1;
  bind->window[2] = (prem_window){.extent = {1, 1, (int32_t)side, (int32_t)side}};
  bind->window[0] = bind->window[2];
  bind->window[0].aim = 1 + 1; /* the window of `frame` begins where port 1, `where`, says */
  bind->window[1] = (prem_window){.extent = {1, 1, 1, 2}};
  return PREM_OK;
}

static const prem_port close_up_ports[] = {
    {"frame", PREM_IN, PREM_U8}, {"where", PREM_IN, PREM_I32}, {"out", PREM_OUT, PREM_U8}};

PREM_COMPUTE_ENTRY(close_up)

static const prem_kernel close_up_kernel = {
    .name = "close_up",
    .summary = "a square of side (64) of a u8 frame, where another task says",
    .version = 1,
    .params_bytes = sizeof(close_up_params),
    .ports = close_up_ports,
    .port_count = 3,
    .bind = close_up_bind,
    .compute = close_up_entry,
    .reference = close_up_reference,
};

#endif
#endif
