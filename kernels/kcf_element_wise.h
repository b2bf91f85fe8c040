/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the KCF tracker's element-wise operators share: one or two complex arrays in, one of the
 * same shape out, all cut alike. An operator is its parameters, an expression, and a KCF_KERNEL().
 */
#pragma once

#include "kernels/kcf.h"

/* Parameters of operators that take none. */
typedef struct kcf_no_params {
  int32_t unused; /* C has no empty struct */
} kcf_no_params;

typedef struct kcf_constant_params {
  float constant;
} kcf_constant_params;

/**
 * NAME_compute(), and on the host NAME_reference(), of out = ELEMENT: an expression of the elements
 * `a` (and `b`) and of `params`, a NAME_params. Macros, because a kernel may not depend on a
 * compiler's following a pointer to a function. The parameters are read once, in front of the loop.
 */
#define KCF_OF_ONE(NAME, ELEMENT)                                                                  \
  PREM_FN prem_c64 NAME##_of(NAME##_params params, prem_c64 a) {                                   \
    (void)params;                                                                                  \
    return ELEMENT;                                                                                \
  }                                                                                                \
  PREM_FN void NAME##_compute(const NAME##_params *given, const prem_view *views) {                \
    const NAME##_params params = *given;                                                           \
    const float_piece *in = float_pieces(&views[0]);                                               \
    float_piece *__restrict__ out = float_pieces(&views[1]);                                       \
    PREM_LANES(i, kcf_window_pairs(&views[1])) {                                                   \
      const float_piece x = in[i];                                                                 \
      out[i] = kcf_pair(NAME##_of(params, kcf_of(x, 0)), NAME##_of(params, kcf_of(x, 1)));         \
    }                                                                                              \
  }                                                                                                \
  KCF_REFERENCE_OF_ONE(NAME)

#define KCF_OF_TWO(NAME, ELEMENT)                                                                  \
  PREM_FN prem_c64 NAME##_of(NAME##_params params, prem_c64 a, prem_c64 b) {                       \
    (void)params;                                                                                  \
    return ELEMENT;                                                                                \
  }                                                                                                \
  PREM_FN void NAME##_compute(const NAME##_params *given, const prem_view *views) {                \
    const NAME##_params params = *given;                                                           \
    const float_piece *a = float_pieces(&views[0]), *b = float_pieces(&views[1]);                  \
    float_piece *__restrict__ out = float_pieces(&views[2]);                                       \
    PREM_LANES(i, kcf_window_pairs(&views[2])) {                                                   \
      const float_piece x = a[i], y = b[i];                                                        \
      out[i] = kcf_pair(NAME##_of(params, kcf_of(x, 0), kcf_of(y, 0)),                             \
                        NAME##_of(params, kcf_of(x, 1), kcf_of(y, 1)));                            \
    }                                                                                              \
  }                                                                                                \
  KCF_REFERENCE_OF_TWO(NAME)

#if PREM_HOST

#define KCF_REFERENCE_OF_ONE(NAME)                                                                 \
  static void NAME##_reference(const void *given, const prem_array_view *arrays) {                 \
    const NAME##_params params = *(const NAME##_params *)given;                                    \
    const prem_c64 *in = (const prem_c64 *)arrays[0].data;                                         \
    prem_c64 *out = (prem_c64 *)arrays[1].data;                                                    \
    for (int64_t i = 0; i < kcf_elements(&arrays[1]); ++i)                                         \
      out[i] = NAME##_of(params, in[i]);                                                           \
  }

#define KCF_REFERENCE_OF_TWO(NAME)                                                                 \
  static void NAME##_reference(const void *given, const prem_array_view *arrays) {                 \
    const NAME##_params params = *(const NAME##_params *)given;                                    \
    const prem_c64 *a = (const prem_c64 *)arrays[0].data, *b = (const prem_c64 *)arrays[1].data;   \
    prem_c64 *out = (prem_c64 *)arrays[2].data;                                                    \
    for (int64_t i = 0; i < kcf_elements(&arrays[2]); ++i)                                         \
      out[i] = NAME##_of(params, a[i], b[i]);                                                      \
  }

static const prem_port kcf_ports_of_one[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static const prem_port kcf_ports_of_two[] = {
    {"a", PREM_IN, PREM_C64},
    {"b", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static inline prem_status kcf_bind_of_one(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_ports_of_one, 2);
}

static inline prem_status kcf_bind_of_two(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_ports_of_two, 3);
}

/* One input and kcf_constant_params. */
static inline prem_status kcf_bind_constant(prem_bind *bind) {
  kcf_constant_params *params = (kcf_constant_params *)bind->params.bytes;
  params->constant = 1.0F;
  prem_status status = prem_arg_floats(bind, "constant", &params->constant, 1);
  return status == PREM_OK ? kcf_bind_of_one(bind) : status;
}

/* The prem_kernel of an operator. */
#define KCF_KERNEL(NAME, PORTS, BIND, PARAMS_BYTES, VERSION, SUMMARY)                              \
  PREM_COMPUTE_ENTRY(NAME)                                                                         \
  static const prem_kernel NAME##_kernel = {                                                       \
      .name = #NAME,                                                                               \
      .summary = SUMMARY,                                                                          \
      .version = VERSION,                                                                          \
      .params_bytes = PARAMS_BYTES,                                                                \
      .ports = PORTS,                                                                              \
      .port_count = (int32_t)(sizeof(PORTS) / sizeof((PORTS)[0])),                                 \
      .bind = BIND,                                                                                \
      .compute = NAME##_entry,                                                                     \
      .reference = NAME##_reference,                                                               \
  };

#else
#define KCF_REFERENCE_OF_ONE(NAME)
#define KCF_REFERENCE_OF_TWO(NAME)
#define KCF_KERNEL(NAME, PORTS, BIND, PARAMS_BYTES, VERSION, SUMMARY)
#endif
