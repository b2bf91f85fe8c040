/* SPDX-License-Identifier: Apache-2.0 */
/**
 * convert: elements of one type as those of another; one of the two is f32. As integers they are
 * rounded to nearest, ties to even, and saturated, a NaN becomes 0; as f16 and bf16 they are what
 * prem_f16_from_f32() and prem_bf16_from_f32() make of them.
 */
#pragma once

#include "kernels/elements.h"

typedef struct convert_params {
  int32_t type; /* prem_type of the array that is not f32 */
  int32_t to_f32;
} convert_params;

/* The types beside f32: an element `x` as a float, and a float `x` as an element. */
#define CONVERT_TYPES(OF)                                                                          \
  OF(PREM_U8, uint8_t, (float)x, element_u8(x))                                                    \
  OF(PREM_U16, uint16_t, (float)x, element_u16(x))                                                 \
  OF(PREM_I32, int32_t, (float)x, element_i32(x))                                                  \
  OF(PREM_F16, prem_f16, prem_f16_to_f32(x), prem_f16_from_f32(x))                                 \
  OF(PREM_BF16, prem_bf16, prem_bf16_to_f32(x), prem_bf16_from_f32(x))

/* A tile plane by plane. */
#define CONVERT_TILE(FROM, TO, VALUE)                                                              \
  PREM_ROLLED for (int32_t i = 0; i < views[1].extent[0]; ++i)                                     \
      PREM_ROLLED for (int32_t j = 0; j < views[1].extent[1]; ++j) {                               \
    const FROM *in = (const FROM *)views[0].data + i * views[0].pitch[0] + j * views[0].pitch[1];  \
    TO *out = (TO *)views[1].data + i * views[1].pitch[0] + j * views[1].pitch[1];                 \
    PREM_ROLLED PREM_LANES_2D(row, views[1].extent[2], column, views[1].extent[3]) {               \
      const FROM x = in[row * views[0].pitch[2] + column];                                         \
      out[row * views[1].pitch[2] + column] = VALUE;                                               \
    }                                                                                              \
  }

#define CONVERT_TILE_CASE(TYPE, ELEMENT, AS_FLOAT, OF_FLOAT)                                       \
  case TYPE:                                                                                       \
    if (params->to_f32) {                                                                          \
      CONVERT_TILE(ELEMENT, float, AS_FLOAT)                                                       \
    } else {                                                                                       \
      CONVERT_TILE(float, ELEMENT, OF_FLOAT)                                                       \
    }                                                                                              \
    break;

PREM_FN void convert_compute(const convert_params *params, const prem_view *views) {
  switch (params->type) {
    CONVERT_TYPES(CONVERT_TILE_CASE)
  default:
    break;
  }
}

#if PREM_HOST

#define CONVERT_ARRAY(FROM, TO, VALUE)                                                             \
  for (int64_t i = 0; i < count; ++i) {                                                            \
    const FROM x = ((const FROM *)arrays[0].data)[i];                                              \
    ((TO *)arrays[1].data)[i] = VALUE;                                                             \
  }

#define CONVERT_ARRAY_CASE(TYPE, ELEMENT, AS_FLOAT, OF_FLOAT)                                      \
  case TYPE:                                                                                       \
    if (params->to_f32) {                                                                          \
      CONVERT_ARRAY(ELEMENT, float, AS_FLOAT)                                                      \
    } else {                                                                                       \
      CONVERT_ARRAY(float, ELEMENT, OF_FLOAT)                                                      \
    }                                                                                              \
    break;

static void convert_reference(const void *given, const prem_array_view *arrays) {
  const convert_params *params = (const convert_params *)given;
  const int64_t *shape = arrays[1].shape, count = shape[0] * shape[1] * shape[2] * shape[3];
  switch (params->type) {
    CONVERT_TYPES(CONVERT_ARRAY_CASE)
  default:
    break;
  }
}

static prem_status convert_bind(prem_bind *bind) {
  convert_params *params = (convert_params *)bind->params.bytes;
  params->to_f32 = bind->type[0] != PREM_F32;
  params->type = (int32_t)bind->type[params->to_f32 ? 0 : 1];
  if ((bind->type[0] == PREM_F32) == (bind->type[1] == PREM_F32))
    return prem_bind_refuse(bind, "arrays.out",
                            "is %s%s, and `in` is %s: one of the two must be f32, and one not",
                            prem_type_name(bind->type[1]), bind->rank[1] == 0 ? " if \"new\"" : "",
                            prem_type_name(bind->type[0]));
  for (int32_t d = 0; d < 4; ++d) {
    if (bind->rank[1] != 0 &&
        (bind->rank[1] != bind->rank[0] || bind->shape[1][d] != bind->shape[0][d]))
      return prem_bind_refuse(bind, "arrays.out", "must have the shape of `in`");
    bind->new_shape[1][d] = bind->shape[0][d];
  }
  bind->new_rank[1] = bind->rank[0];
  prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  bind->window[1] = bind->window[0];
  return status;
}

static const prem_port convert_ports[] = {
    {"in", PREM_IN, PREM_U8},
    {"out", PREM_OUT, PREM_F32},
};

enum {
  CONVERT_PORT_TYPES = PREM_TYPE_BIT(PREM_F32) | PREM_TYPE_BIT(PREM_U8) | PREM_TYPE_BIT(PREM_U16) |
                       PREM_TYPE_BIT(PREM_I32) | PREM_TYPE_BIT(PREM_F16) | PREM_TYPE_BIT(PREM_BF16)
};
static const uint32_t convert_port_types[] = {CONVERT_PORT_TYPES, CONVERT_PORT_TYPES};

PREM_COMPUTE_ENTRY(convert)

static const prem_kernel convert_kernel = {
    PREM_KERNEL_OF(convert, convert_ports),
    .summary = "u8, u16, i32, f16 or bf16 as f32, or f32 as one of them; tile as the arrays' rank",
    .version = 1,
    .port_types = convert_port_types,
};

#endif
