/* SPDX-License-Identifier: Apache-2.0 */
/** busiest: the middle of all pixels that are not 0. `found` is its row, its column and how many
 * there are; `where` the corner of a square of `side` pixels around it, for an aimed window. */
#ifndef BUSIEST_H
#define BUSIEST_H

#include <ttprem/kernel.h>

enum { BUSIEST_MAX = 1024 /* rows, columns: sums of positions are below 2^31 */ };

typedef struct busiest_params {
  int32_t side;
} busiest_params;

/* Of one row: how many pixels are not 0, and the sum of their columns. */
PREM_FN void busiest_row(const uint8_t *pixels, int32_t columns, int32_t sums[2]) {
  sums[0] = sums[1] = 0;
  PREM_ROLLED for (int32_t c = 0; c < columns; ++c) {
    sums[0] += pixels[c] != 0;
    sums[1] += pixels[c] != 0 ? c : 0;
  }
}

/* Of all rows. Where nothing moved, the frame's middle. */
PREM_FN void busiest_find(const busiest_params *params, const int32_t *sums, int32_t rows,
                          int32_t columns, int32_t *where, int32_t *found) {
  int32_t count = 0, down = 0, right = 0;
  PREM_ROLLED for (int32_t r = 0; r < rows; ++r) {
    count += sums[2 * r];
    right += sums[2 * r + 1];
    down += r * sums[2 * r];
  }
  found[0] = count ? down / count : rows / 2;
  found[1] = count ? right / count : columns / 2;
  found[2] = count;
  where[0] = found[0] - params->side / 2;
  where[1] = found[1] - params->side / 2;
}

/* The sums of the rows lie in the work area, which comes behind the ports. */
PREM_FN void busiest_compute(const busiest_params *params, const prem_view *views) {
  const prem_view in = views[0];
  int32_t *sums = (int32_t *)views[3].data;
  PREM_LANES(r, in.extent[2]) {
    busiest_row(&PREM_AT(const uint8_t, in, r, 0), in.extent[3], sums + 2 * r);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    busiest_find(params, sums, in.extent[2], in.extent[3], (int32_t *)views[1].data,
                 (int32_t *)views[2].data);
}

#if PREM_HOST

static void busiest_reference(const void *params, const prem_array_view *arrays) {
  const int32_t rows = (int32_t)arrays[0].shape[2], columns = (int32_t)arrays[0].shape[3];
  int32_t sums[2 * BUSIEST_MAX];
  for (int32_t r = 0; r < rows; ++r)
    busiest_row((const uint8_t *)arrays[0].data + (int64_t)r * columns, columns, sums + 2 * r);
  busiest_find((const busiest_params *)params, sums, rows, columns, (int32_t *)arrays[1].data,
               (int32_t *)arrays[2].data);
}

/* A new output of `numbers` elements, all of them a tile's. */
static inline prem_status busiest_row_out(prem_bind *bind, int32_t port, const char *key,
                                          int32_t numbers) {
  if (bind->rank[port] != 0 && (bind->rank[port] != 1 || bind->shape[port][3] != numbers))
    return prem_bind_refuse(bind, key, "must have the shape [ %d ]", (int)numbers);
  bind->new_rank[port] = 1;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[port][d] = d < 3 ? 1 : numbers;
  bind->window[port] = (prem_window){.extent = {1, 1, 1, numbers}};
  return PREM_OK;
}

/* One tile, which is the frame: the middle is of all of it. */
static prem_status busiest_bind(prem_bind *bind) {
  const int64_t rows = bind->shape[0][2], columns = bind->shape[0][3];
  int64_t side = 64;
  if (bind->rank[0] != 2 || rows > BUSIEST_MAX || columns > BUSIEST_MAX)
    return prem_bind_refuse(bind, "arrays.in", "must be a frame of at most %d rows and columns",
                            BUSIEST_MAX);
  prem_status status = prem_arg_ints(bind, "side", &side, 1);
  if (status == PREM_OK && (side < 1 || side > BUSIEST_MAX))
    status = prem_bind_refuse(bind, "args.side", "is %lld; 1 to %d are possible", (long long)side,
                              BUSIEST_MAX);
  ((busiest_params *)bind->params.bytes)->side = (int32_t)side;
  for (int32_t k = 0; k < 3; ++k)
    bind->grid[k] = 1;
  bind->window[0] = (prem_window){.extent = {1, 1, (int32_t)rows, (int32_t)columns}};
  if (status == PREM_OK)
    status = busiest_row_out(bind, 1, "arrays.where", 2);
  if (status == PREM_OK)
    status = busiest_row_out(bind, 2, "arrays.found", 3);
  bind->work_bytes = (int32_t)rows * 2 * (int32_t)sizeof(int32_t);
  return status;
}

static const prem_port busiest_ports[] = {
    {"in", PREM_IN, PREM_U8}, {"where", PREM_OUT, PREM_I32}, {"found", PREM_OUT, PREM_I32}};

PREM_COMPUTE_ENTRY(busiest)

static const prem_kernel busiest_kernel = {
    .name = "busiest",
    .summary = "the middle of the pixels that are not 0, and a square of side (64) around it",
    .version = 1,
    .params_bytes = sizeof(busiest_params),
    .ports = busiest_ports,
    .port_count = 3,
    .bind = busiest_bind,
    .compute = busiest_entry,
    .reference = busiest_reference,
};

#endif
#endif
