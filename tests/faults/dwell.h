/* SPDX-License-Identifier: Apache-2.0 */
/** dwell: a copy, one tile of which takes its time, or is wrong once. A test's kernel: see
 *  gpu_faults.sh. */
#ifndef DWELL_H
#define DWELL_H

#include <time.h>

#include <ttprem/kernel.h>

/* Rows are counted by the tiles' first ones. */
typedef struct dwell_params {
  int64_t row;   /* of the tile that dwells; -1: none */
  int64_t ns;    /* so long; -1: for ever */
  int64_t wrong; /* its computes are counted from 1 on: this one is wrong; 0: none */
} dwell_params;

PREM_FN int64_t dwell_now_ns(void) {
#ifdef __CUDA_ARCH__
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

#ifdef __CUDACC__
__device__
#endif
    static int64_t dwell_computes; /* of the one tile; its first lane counts */

PREM_FN void dwell_compute(const dwell_params *params, const prem_view *views) {
  const prem_view in = views[0], out = views[1];
  const bool chosen = out.origin[2] == params->row && out.origin[3] == 0;
  PREM_LANES_2D(row, out.extent[2], column, out.extent[3])
  PREM_AT(float, out, row, column) = PREM_AT(const float, in, row, column);
  if (chosen && PREM_FIRST_LANE() && ++dwell_computes == params->wrong)
    PREM_AT(float, out, 0, 0) += 1.0F; /* an element of the first lane's */
  if (chosen) {
    const int64_t began_ns = dwell_now_ns();
    while (dwell_now_ns() - began_ns < params->ns || params->ns < 0) {
    }
  }
}

#if PREM_HOST

static prem_status dwell_bind(prem_bind *bind) {
  bind->new_rank[1] = 2;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  prem_status status = prem_bind_tile(bind, 2, bind->shape[0], &bind->window[1]);
  if (status != PREM_OK)
    return status;
  bind->window[0] = bind->window[1];
  dwell_params *params = (dwell_params *)bind->params.bytes;
  params->row = -1;
  params->ns = -1;
  params->wrong = 0;
  status = prem_arg_ints(bind, "row", &params->row, 1);
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "dwell_ns", &params->ns, 1);
  return status == PREM_OK ? prem_arg_ints(bind, "wrong", &params->wrong, 1) : status;
}

static void dwell_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const float *in = (const float *)arrays[0].data;
  float *out = (float *)arrays[1].data;
  for (int64_t i = 0; i < arrays[0].shape[2] * arrays[0].shape[3]; ++i)
    out[i] = in[i];
}

static const prem_port dwell_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(dwell)

static const prem_kernel dwell_kernel = {
    .name = "dwell",
    .summary = "a copy; the tile at `row` dwells for `dwell_ns` (for ever), and its compute number "
               "`wrong` (none) is; tile = [rows, columns]",
    .version = 1,
    .params_bytes = sizeof(dwell_params),
    .ports = dwell_ports,
    .port_count = 2,
    .bind = dwell_bind,
    .compute = dwell_entry,
    .reference = dwell_reference,
};

#endif
#endif
