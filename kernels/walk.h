/* SPDX-License-Identifier: Apache-2.0 */
/**
 * walk: walkers go from element to element of a vector, each step's address known only when the
 * element before it has come; out[w] is the last one that walker w saw. Such code cannot be cut
 * into phases: a compatible interval, which is at the memory from its start to its end.
 */
#pragma once

#include "ttprem/kernel.h"

typedef struct walk_params {
  int32_t steps;     /* of a walker */
  uint32_t elements; /* of the vector */
} walk_params;

/* Where a step leads: any mixing of place and element will do (the finalizer of MurmurHash3). */
PREM_FN uint32_t walk_next(uint32_t at, float element, uint32_t elements) {
  union {
    float value;
    uint32_t bits;
  } seen;
  seen.value = element;
  uint32_t mixed = at ^ seen.bits;
  mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6Bu;
  mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35u;
  return (mixed ^ (mixed >> 16)) % elements;
}

/* Walkers begin evenly spread. */
PREM_FN float walk_alone(const walk_params *params, const float *vector, int64_t walker) {
  uint32_t at = (uint32_t)(walker * 0x9E3779B9 % params->elements);
  float element = vector[at];
  PREM_ROLLED
  for (int32_t step = 0; step < params->steps; ++step) {
    at = walk_next(at, element, params->elements);
    element = vector[at];
  }
  return element;
}

PREM_FN void walk_compute(const walk_params *params, const prem_view *views) {
  const float *vector = (const float *)views[0].data;
  float *out = (float *)views[1].data;
  PREM_ROLLED
  PREM_LANES(i, views[1].extent[3]) {
    out[i] = walk_alone(params, vector, views[1].origin[3] + i);
  }
}

#if PREM_HOST

static prem_status walk_bind(prem_bind *bind) {
  walk_params *params = (walk_params *)bind->params.bytes;
  int64_t steps = 1000, walkers = bind->tile_rank == 1 ? bind->tile[0] : 1;
  prem_status status = prem_arg_ints(bind, "steps", &steps, 1);
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "walkers", &walkers, 1);
  if (status != PREM_OK)
    return status;
  const int64_t elements = bind->shape[0][3];
  if (bind->rank[0] != 1 || elements > INT32_MAX)
    return prem_bind_refuse(bind, "arrays.vector", "walk takes 1 dimension of at most %d elements",
                            INT32_MAX);
  if (steps < 1 || steps > INT32_MAX)
    return prem_bind_refuse(bind, "args.steps", "%lld is no number of steps; 1 to %d are",
                            (long long)steps, INT32_MAX);
  if (walkers < 1 || walkers > INT32_MAX)
    return prem_bind_refuse(bind, "args.walkers", "%lld is no number of walkers; 1 to %d are",
                            (long long)walkers, INT32_MAX);
  const int64_t shape[4] = {1, 1, 1, walkers};
  if (bind->rank[1] != 0 && (bind->rank[1] != 1 || bind->shape[1][3] != walkers))
    return prem_bind_refuse(bind, "arrays.out", "must be a vector of %lld, one a walker",
                            (long long)walkers);
  status = prem_bind_tile(bind, 1, shape, &bind->window[1]);
  bind->window[0] = (prem_window){.extent = {1, 1, 1, (int32_t)elements}};
  bind->new_rank[1] = 1;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = shape[d];
  *params = (walk_params){(int32_t)steps, (uint32_t)elements};
  return status;
}

static void walk_reference(const void *params, const prem_array_view *arrays) {
  float *out = (float *)arrays[1].data;
  for (int64_t walker = 0; walker < arrays[1].shape[3]; ++walker)
    out[walker] = walk_alone((const walk_params *)params, (const float *)arrays[0].data, walker);
}

static const prem_port walk_ports[] = {{"vector", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(walk)

static const prem_kernel walk_kernel = {
    .name = "walk",
    .summary = "walkers that follow what they read through a vector, at the memory all the time; "
               "steps (1000), walkers (one tile's)",
    .version = 1,
    .params_bytes = sizeof(walk_params),
    .ports = walk_ports,
    .port_count = 2,
    .compatible = true,
    .bind = walk_bind,
    .compute = walk_entry,
    .reference = walk_reference,
};

#endif
