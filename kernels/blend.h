/* SPDX-License-Identifier: Apache-2.0 */
/** blend: out = a + rate * (b - a). With a state array as `a` and `out` it is the exponential
 * moving average of what comes in at `b`. */
#pragma once

#include <math.h>

#include "ttprem/kernel.h"

typedef struct blend_params {
  float rate;
  int32_t of_bytes; /* b is u8 */
} blend_params;

PREM_FN float blend_element(float rate, float a, float b) {
  return fmaf(rate, b - a, a);
}

/* A tile plane by plane. */
#define BLEND_TILE(FROM)                                                                           \
  PREM_ROLLED for (int32_t i = 0; i < views[2].extent[0]; ++i)                                     \
      PREM_ROLLED for (int32_t j = 0; j < views[2].extent[1]; ++j) {                               \
    const float *a = (const float *)views[0].data + i * views[0].pitch[0] + j * views[0].pitch[1]; \
    const FROM *b = (const FROM *)views[1].data + i * views[1].pitch[0] + j * views[1].pitch[1];   \
    float *out = (float *)views[2].data + i * views[2].pitch[0] + j * views[2].pitch[1];           \
    PREM_ROLLED PREM_LANES_2D(row, views[2].extent[2], column, views[2].extent[3]) {               \
      out[row * views[2].pitch[2] + column] =                                                      \
          blend_element(params->rate, a[row * views[0].pitch[2] + column],                         \
                        (float)b[row * views[1].pitch[2] + column]);                               \
    }                                                                                              \
  }

PREM_FN void blend_compute(const blend_params *params, const prem_view *views) {
  if (params->of_bytes) {
    BLEND_TILE(uint8_t)
  } else {
    BLEND_TILE(float)
  }
}

#if PREM_HOST

PREM_CLONES static void blend_reference(const void *given, const prem_array_view *arrays) {
  const blend_params *params = (const blend_params *)given;
  const int64_t *shape = arrays[2].shape, count = shape[0] * shape[1] * shape[2] * shape[3];
  const float *a = (const float *)arrays[0].data;
  float *out = (float *)arrays[2].data;
  for (int64_t i = 0; i < count; ++i)
    out[i] = blend_element(params->rate, a[i],
                           params->of_bytes ? (float)((const uint8_t *)arrays[1].data)[i]
                                            : ((const float *)arrays[1].data)[i]);
}

static prem_status blend_bind(prem_bind *bind) {
  static const char *const keys[] = {"arrays.a", "arrays.b", "arrays.out"};
  blend_params *params = (blend_params *)bind->params.bytes;
  for (int32_t p = 1; p < 3; ++p)
    for (int32_t d = 0; d < 4; ++d)
      if (bind->rank[p] != 0 &&
          (bind->rank[p] != bind->rank[0] || bind->shape[p][d] != bind->shape[0][d]))
        return prem_bind_refuse(bind, keys[p], "must have the shape of `a`");
  bind->new_rank[2] = bind->rank[0];
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[2][d] = bind->shape[0][d];
  prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  bind->window[1] = bind->window[2] = bind->window[0];
  params->rate = 0.5F;
  params->of_bytes = bind->type[1] == PREM_U8;
  return status ? status : prem_arg_floats(bind, "rate", &params->rate, 1);
}

static const prem_port blend_ports[] = {
    {"a", PREM_IN, PREM_F32},
    {"b", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

static const uint32_t blend_port_types[] = {PREM_TYPE_BIT(PREM_F32),
                                            PREM_TYPE_BIT(PREM_F32) | PREM_TYPE_BIT(PREM_U8),
                                            PREM_TYPE_BIT(PREM_F32)};

PREM_COMPUTE_ENTRY(blend)

static const prem_kernel blend_kernel = {
    PREM_KERNEL_OF(blend, blend_ports),
    .summary = "a + rate (0.5) * (b - a), b f32 or u8; tile as the arrays' rank",
    .version = 1,
    .port_types = blend_port_types,
};

#endif
