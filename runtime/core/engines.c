/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the engines that move a window. */
#include "ttprem/runtime.h"

#include <string.h>

static const char *const engine_names[PREM_ENGINE_COUNT] = {"best", "bulk", "cp_async", "vector"};

const char *prem_engine_name(prem_engine engine) {
  return engine < PREM_ENGINE_COUNT ? engine_names[engine] : "unknown";
}

bool prem_engine_parse(const char *name, prem_engine *out) {
  for (int engine = 0; engine < PREM_ENGINE_COUNT; ++engine) {
    if (strcmp(name, engine_names[engine]) == 0) {
      *out = (prem_engine)engine;
      return true;
    }
  }
  return false;
}
