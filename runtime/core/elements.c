/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays by their type: filling, poisoning, comparing, telling. */
#include "runtime/core/elements.h"

#include <math.h>
#include <string.h>

int32_t prem_type_parts(prem_type type) {
  return type == PREM_C64 ? 2 : 1;
}

bool prem_type_is_float(prem_type type) {
  return type != PREM_U8 && type != PREM_U16 && type != PREM_I32;
}

/* ---- random ---------------------------------------------------------------------------------- */

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014). */
static uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static uint64_t random_bits(uint64_t seed_key, uint64_t index) {
  const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
  return mix64(seed_key + (index + 1) * golden);
}

/* The 24 highest bits as a multiple of 2^-23 in [-1, 1). */
static float unit_float(uint64_t bits) {
  return (float)(int32_t)(bits >> 40) * 0x1p-23F - 1.0F;
}

void prem_parts_fill_random(prem_type type, void *to, int64_t count, uint64_t seed,
                            uint64_t first) {
  const uint64_t key = mix64(seed);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random_bits(key, first + (uint64_t)i);
    switch (type) {
    case PREM_U8:
      ((uint8_t *)to)[i] = (uint8_t)(bits >> 56);
      break;
    case PREM_U16:
      ((uint16_t *)to)[i] = (uint16_t)(bits >> 48);
      break;
    case PREM_I32:
      ((int32_t *)to)[i] = (int32_t)(uint32_t)(bits >> 32);
      break;
    case PREM_F16:
      ((prem_f16 *)to)[i] = prem_f16_from_f32(unit_float(bits));
      break;
    case PREM_BF16:
      ((prem_bf16 *)to)[i] = prem_bf16_from_f32(unit_float(bits));
      break;
    default:
      ((float *)to)[i] = unit_float(bits);
      break;
    }
  }
}

/* ---- poison ---------------------------------------------------------------------------------- */

void prem_bytes_poison(prem_type type, void *to, const void *expected, int64_t bytes) {
  if (!expected || prem_type_is_float(type)) {
    memset(to, PREM_POISON, (size_t)bytes);
    return;
  }
  for (int64_t i = 0; i < bytes; ++i)
    ((unsigned char *)to)[i] = (unsigned char)~((const unsigned char *)expected)[i];
}

/* ---- comparing ------------------------------------------------------------------------------- */

double prem_element_value(prem_type type, const void *element, int32_t part) {
  switch (type) {
  case PREM_U8:
    return ((const uint8_t *)element)[part];
  case PREM_U16:
    return ((const uint16_t *)element)[part];
  case PREM_I32:
    return ((const int32_t *)element)[part];
  case PREM_F16:
    return (double)prem_f16_to_f32(((const prem_f16 *)element)[part]);
  case PREM_BF16:
    return (double)prem_bf16_to_f32(((const prem_bf16 *)element)[part]);
  default:
    return (double)((const float *)element)[part];
  }
}

static bool is_poison(const unsigned char *part, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (part[i] != PREM_POISON)
      return false;
  return true;
}

static bool part_right(prem_type type, const unsigned char *found, const unsigned char *expected,
                       size_t bytes, double tolerance) {
  const double wanted = prem_element_value(type, expected, 0);
  const double got = prem_element_value(type, found, 0);
  if (isnan(wanted)) /* which NaN an operation makes is the machine's choice */
    return isnan(got) && !is_poison(found, bytes);
  if (tolerance == 0.0)
    return memcmp(found, expected, bytes) == 0;
  if (got == wanted || !isfinite(wanted)) /* any distance to an infinity is in proportion */
    return got == wanted;
  return fabs(got - wanted) <= tolerance * fmax(fabs(wanted), 1e-30);
}

int32_t prem_element_wrong_part(prem_type type, const void *found, const void *expected,
                                double tolerance) {
  const int32_t parts = prem_type_parts(type);
  const size_t bytes = (size_t)(prem_type_bytes(type) / parts);
  for (int32_t i = 0; i < parts; ++i)
    if (!part_right(type, (const unsigned char *)found + (size_t)i * bytes,
                    (const unsigned char *)expected + (size_t)i * bytes, bytes, tolerance))
      return i;
  return -1;
}
