/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of arrays. */
#include "ttprem/kernel.h"

int32_t prem_type_bytes(prem_type type) {
  return type == PREM_C64 ? 8 : 4;
}

const char *prem_type_name(prem_type type) {
  return type == PREM_C64 ? "c64" : "f32";
}
