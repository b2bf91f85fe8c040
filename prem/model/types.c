/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of arrays. */
#include "ttprem/kernel.h"

static const struct {
  const char *name;
  int32_t bytes;
} types[PREM_TYPE_COUNT] = {
    [PREM_F32] = {"f32", 4},   [PREM_C64] = {"c64", 8}, [PREM_U8] = {"u8", 1},
    [PREM_U16] = {"u16", 2},   [PREM_I32] = {"i32", 4}, [PREM_F16] = {"f16", 2},
    [PREM_BF16] = {"bf16", 2},
};

int32_t prem_type_bytes(prem_type type) {
  return types[type].bytes;
}

const char *prem_type_name(prem_type type) {
  return types[type].name;
}
