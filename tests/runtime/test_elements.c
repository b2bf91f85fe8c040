/* SPDX-License-Identifier: Apache-2.0 */
/* Elements by their type: conversions of halves, random values, poison, comparing. */
#include <inttypes.h>
#include <math.h>

#include "kernels/elements.h"
#include "runtime/core/elements.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

/* ---- halves ---------------------------------------------------------------------------------- */

/* By the definition of the formats, in double precision. */
static double half_value(uint32_t half, int digits, int bias) {
  const int top = (0x8000 >> digits) - 1;
  const int exponent = (int)(half & 0x7FFFU) >> digits;
  const double fraction = (double)(half & ((1U << digits) - 1U));
  const double sign = half & 0x8000U ? -1.0 : 1.0;
  if (exponent == top)
    return fraction != 0.0 ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp(fraction, 1 - bias - digits);
  return sign * ldexp(ldexp(1.0, digits) + fraction, exponent - bias - digits);
}

static float f16_to(uint16_t half) {
  return prem_f16_to_f32(half);
}
static uint16_t f16_from(float value) {
  return prem_f16_from_f32(value);
}
static float bf16_to(uint16_t half) {
  return prem_bf16_to_f32(half);
}
static uint16_t bf16_from(float value) {
  return prem_bf16_from_f32(value);
}

static const struct {
  const char *name;
  int digits, bias;
  uint32_t infinity, nan;
  float (*to)(uint16_t half);
  uint16_t (*from)(float value);
} halves[2] = {{"f16", 10, 15, 0x7C00U, 0x7E00U, f16_to, f16_from},
               {"bf16", 7, 127, 0x7F80U, 0x7FC0U, bf16_to, bf16_from}};

TESTS(every_half_is_a_float_and_back, 2) {
  for (uint32_t half = 0; half <= 0xFFFFU; ++half) {
    const double value = half_value(half, halves[_i].digits, halves[_i].bias);
    const float found = halves[_i].to((uint16_t)half);
    const uint32_t again = halves[_i].from(found);
    if (isnan(value)) {
      if (!isnan(found) || again != ((half & 0x8000U) | halves[_i].nan))
        ck_abort_msg("%s %04" PRIX32 ": a NaN becomes %g, %04" PRIX32, halves[_i].name, half,
                     (double)found, again);
    } else if ((double)found != value || !signbit(found) != !signbit(value) || again != half) {
      ck_abort_msg("%s %04" PRIX32 " is %g, not %g, and %04" PRIX32 " again", halves[_i].name, half,
                   value, (double)found, again);
    }
  }
}

/* The half that is found is at least as near as both of its neighbours, and the even one if two are
 * equally near. What is behind the largest counts as if exponents went on. */
static void assert_nearest(int kind, float value) {
  const uint32_t infinity = halves[kind].infinity, found = halves[kind].from(value);
  const uint32_t magnitude = found & 0x7FFFU;
  const int digits = halves[kind].digits, bias = halves[kind].bias;
  const double top = 2.0 * half_value(infinity - (1U << digits), digits, bias);
  const double here = magnitude == infinity ? top : half_value(magnitude, digits, bias);
  const double given = fabs((double)value), error = fabs(here - given);
  if (magnitude > infinity || !signbit(value) != !(found & 0x8000U))
    ck_abort_msg("%a: %04" PRIX32, (double)value, found);
  const double below = magnitude == 0 ? -1.0 : half_value(magnitude - 1, digits, bias);
  const double above = magnitude >= infinity       ? given + 2 * error + 1.0
                       : magnitude + 1 == infinity ? top
                                                   : half_value(magnitude + 1, digits, bias);
  const bool odd = magnitude & 1U;
  const bool is_nearest =
      (magnitude == infinity && given >= top) ||
      ((below < 0.0 || (odd ? given - below > error : given - below >= error)) &&
       (odd ? above - given > error : above - given >= error));
  if (!is_nearest) /* a check that holds costs a write */
    ck_abort_msg("%s: %a becomes %04" PRIX32 ", %a", halves[kind].name, (double)value, found, here);
}

TESTS(floats_become_the_nearest_half, 2) {
  static const uint32_t near[] = {0U,      1U,      0x7FU,   0xFFFU, 0x1000U,
                                  0x1001U, 0x7FFFU, 0x8000U, 0x8001U};
  const size_t offsets = sizeof near / sizeof *near;
  for (uint32_t half = 0; half < halves[_i].infinity; ++half) {
    const uint32_t bits = prem_f32_bits(halves[_i].to((uint16_t)half));
    for (size_t i = 0; i < offsets; ++i) {
      assert_nearest(_i, prem_f32_of_bits(bits + near[i]));
      assert_nearest(_i, -prem_f32_of_bits(bits + near[i]));
    }
    if (half + 1 < halves[_i].infinity) { /* the middle, and a step to both sides of it */
      const double middle =
          ((double)halves[_i].to((uint16_t)half) + (double)halves[_i].to((uint16_t)(half + 1))) / 2;
      assert_nearest(_i, (float)middle);
      assert_nearest(_i, nextafterf((float)middle, 0.0F));
      assert_nearest(_i, nextafterf((float)middle, INFINITY));
    }
  }
  assert_nearest(_i, INFINITY);
  assert_nearest(_i, 3.4e38F);
  assert_nearest(_i, 65519.99F);
  assert_nearest(_i, 65520.0F);
  assert_nearest(_i, 1e-45F);
  uint64_t state = 1;
  for (int round = 0; round < ROUNDS(200000); ++round) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const float value = prem_f32_of_bits((uint32_t)(state >> 32));
    if (!isnan(value))
      assert_nearest(_i, value);
  }
}

/* ---- integers -------------------------------------------------------------------------------- */

TEST(floats_become_integers_by_rounding_and_saturation) {
  static const struct {
    float value;
    uint8_t u8;
    uint16_t u16;
    int32_t i32;
  } cases[] = {{0.0F, 0, 0, 0},
               {-0.0F, 0, 0, 0},
               {0.5F, 0, 0, 0},
               {1.5F, 2, 2, 2},
               {2.5F, 2, 2, 2},
               {-0.5F, 0, 0, 0},
               {-1.5F, 0, 0, -2},
               {-2.5F, 0, 0, -2},
               {254.5F, 254, 254, 254},
               {254.6F, 255, 255, 255},
               {255.4F, 255, 255, 255},
               {256.0F, 255, 256, 256},
               {65534.5F, 255, 65534, 65534},
               {65535.4F, 255, 65535, 65535},
               {1e6F, 255, 65535, 1000000},
               {2147483520.0F, 255, 65535, 2147483520},
               {2147483648.0F, 255, 65535, INT32_MAX},
               {INFINITY, 255, 65535, INT32_MAX},
               {-2147483648.0F, 0, 0, INT32_MIN},
               {-2147483904.0F, 0, 0, INT32_MIN},
               {-INFINITY, 0, 0, INT32_MIN},
               {NAN, 0, 0, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    ck_assert_msg(element_u8(cases[c].value) == cases[c].u8, "u8 of %g", (double)cases[c].value);
    ck_assert_msg(element_u16(cases[c].value) == cases[c].u16, "u16 of %g", (double)cases[c].value);
    ck_assert_msg(element_i32(cases[c].value) == cases[c].i32, "i32 of %g", (double)cases[c].value);
  }
}

/* ---- types ----------------------------------------------------------------------------------- */

TEST(types_have_names_and_bytes) {
  static const struct {
    prem_type type;
    const char *name;
    int32_t bytes;
  } cases[] = {{PREM_F32, "f32", 4},  {PREM_C64, "c64", 8}, {PREM_U8, "u8", 1},
               {PREM_U16, "u16", 2},  {PREM_I32, "i32", 4}, {PREM_F16, "f16", 2},
               {PREM_BF16, "bf16", 2}};
  ck_assert_uint_eq(sizeof cases / sizeof *cases, PREM_TYPE_COUNT);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
    ck_assert_str_eq(prem_type_name(cases[c].type), cases[c].name);
    ck_assert_int_eq(prem_type_bytes(cases[c].type), cases[c].bytes);
  }
}

enum { COUNT = 4096 };

/* Values go through the whole range, and are the same wherever a fill begins. */
TESTS(random_values_fill_the_range, PREM_TYPE_COUNT) {
  static const double least[] = {
      [PREM_U8] = 0, [PREM_U16] = 0, [PREM_I32] = -0x1p31, [PREM_F16] = -1, [PREM_BF16] = -1};
  static const double most[] = {
      [PREM_U8] = 255, [PREM_U16] = 65535, [PREM_I32] = 0x1p31, [PREM_F16] = 1, [PREM_BF16] = 1};
  const prem_type type = (prem_type)_i;
  static unsigned char all[8 * COUNT], part[8 * COUNT];
  const size_t bytes = (size_t)(prem_type_bytes(type) / prem_type_parts(type));
  const double low = prem_type_parts(type) == 2 || type == PREM_F32 ? -1 : least[type];
  const double high = prem_type_parts(type) == 2 || type == PREM_F32 ? 1 : most[type];
  prem_parts_fill_random(type, all, COUNT, 7, 0);
  prem_parts_fill_random(type, part, COUNT - 1000, 7, 1000);
  ck_assert_int_eq(memcmp(all + 1000 * bytes, part, (COUNT - 1000) * bytes), 0);
  double min = INFINITY, max = -INFINITY;
  for (size_t i = 0; i < COUNT; ++i) {
    const double value = prem_element_value(type, all + i * bytes, 0);
    min = fmin(min, value);
    max = fmax(max, value);
  }
  const double near = (high - low) / 100;
  ck_assert(min >= low && min < low + near);
  ck_assert(max <= high && max > high - near);
}

/* What is poisoned is wrong everywhere, whatever is expected; and what is expected is right. */
TESTS(poison_is_wrong_whatever_is_expected, PREM_TYPE_COUNT) {
  const prem_type type = (prem_type)_i;
  static unsigned char expected[65536 * 8], found[65536 * 8];
  const size_t bytes = (size_t)prem_type_bytes(type), count = 65536;
  for (size_t i = 0; i < count; ++i)
    for (size_t b = 0; b < bytes; ++b)
      expected[i * bytes + b] = (unsigned char)((b & 1 ? i >> 8 : i) + 85 * (b >> 1));
  prem_bytes_poison(type, found, expected, (int64_t)(count * bytes));
  for (size_t i = 0; i < count; ++i) {
    const void *here = found + i * bytes, *wanted = expected + i * bytes;
    const int32_t right = prem_element_wrong_part(type, wanted, wanted, 0.0);
    const bool poison = prem_type_is_float(type) && memcmp(here, wanted, bytes) == 0;
    if (prem_element_wrong_part(type, here, wanted, 0.0) != 0 || (right != -1 && !poison))
      ck_abort_msg("%s %zu", prem_type_name(type), i);
  }
}

TEST(tolerances_hold_of_all_types) {
  const uint16_t one = prem_f16_from_f32(1.0F), more = (uint16_t)(one + 1);
  const uint16_t bone = prem_bf16_from_f32(1.0F), bmore = (uint16_t)(bone + 1);
  const uint8_t low = 100, high = 101;
  const int32_t below = -1000, above = -1001;
  ck_assert_int_eq(prem_element_wrong_part(PREM_F16, &one, &more, 0.0), 0);
  ck_assert_int_eq(prem_element_wrong_part(PREM_F16, &one, &more, 1e-3), -1);
  ck_assert_int_eq(prem_element_wrong_part(PREM_F16, &one, &more, 1e-4), 0);
  ck_assert_int_eq(prem_element_wrong_part(PREM_BF16, &bone, &bmore, 1e-2), -1);
  ck_assert_int_eq(prem_element_wrong_part(PREM_BF16, &bone, &bmore, 1e-3), 0);
  ck_assert_int_eq(prem_element_wrong_part(PREM_U8, &low, &high, 0.01), -1);
  ck_assert_int_eq(prem_element_wrong_part(PREM_U8, &low, &high, 0.009), 0);
  ck_assert_int_eq(prem_element_wrong_part(PREM_I32, &below, &above, 1e-3), -1);
  ck_assert_int_eq(prem_element_wrong_part(PREM_I32, &below, &above, 1e-4), 0);
  ck_assert_double_eq(prem_element_value(PREM_I32, &above, 0), -1001);
  ck_assert_double_eq(prem_element_value(PREM_F16, &more, 0), 1.0009765625);
}

/* Any NaN is right for a NaN, of halves too, but the poison is not. */
TEST(any_nan_but_the_poison_is_right_for_a_nan) {
  const uint16_t expected = 0x7E00, other = 0xFFC1, poison = 0xFFFF, number = 0x3C00;
  for (int type = PREM_F16; type <= PREM_BF16; ++type) {
    const uint16_t nan = type == PREM_F16 ? expected : 0x7FC0;
    ck_assert_int_eq(prem_element_wrong_part((prem_type)type, &other, &nan, 0.0), -1);
    ck_assert_int_eq(prem_element_wrong_part((prem_type)type, &poison, &nan, 0.0), 0);
    ck_assert_int_eq(prem_element_wrong_part((prem_type)type, &number, &nan, 0.0), 0);
  }
}
