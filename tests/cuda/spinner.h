/* SPDX-License-Identifier: Apache-2.0 */
/** A foreign kernel that holds the GPU for a while: for tests of what is beside it. */
#pragma once

#include <stdint.h>

/** What it takes of every SM. */
typedef enum spinner_room {
  SPINNER_ALL,    /* all threads: no kernel finds room */
  SPINNER_SCRATCH /* the scratchpad: small kernels find room */
} spinner_room;

#ifdef __cplusplus
extern "C" {
#endif

/** Returns when all its blocks spin; they end by themselves. One at a time.
 *  @return NULL, or why there is none */
const char *spinner_begin(spinner_room room, int64_t ns);
/** Wait until it has ended. */
void spinner_end(void);

#ifdef __cplusplus
}
#endif
