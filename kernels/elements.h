/* SPDX-License-Identifier: Apache-2.0 */
/** Floats to integers: what kernels over bytes and other integers share. */
#pragma once

#include <math.h>

#include "ttprem/kernel.h"

/* Rounded to nearest, ties to even, and saturated; a NaN becomes 0. */

PREM_FN uint8_t element_u8(float value) {
  if (!(value > 0.0F))
    return 0;
  return value >= 255.0F ? 255 : (uint8_t)(int32_t)rintf(value);
}

PREM_FN uint16_t element_u16(float value) {
  if (!(value > 0.0F))
    return 0;
  return value >= 65535.0F ? 65535 : (uint16_t)(int32_t)rintf(value);
}

PREM_FN int32_t element_i32(float value) {
  if (value >= 0x1p31F)
    return INT32_MAX;
  if (value >= -0x1p31F)
    return (int32_t)rintf(value);
  return value < 0.0F ? INT32_MIN : 0;
}
