/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cuda/spinner.h"

#include "tests/emulator/lanes.h"

const char *spinner_begin(spinner_room, int64_t ns) {
  emulate_hold(ns);
  return nullptr;
}

void spinner_end(void) {
  emulate_hold_end();
}
