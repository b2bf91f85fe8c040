/* SPDX-License-Identifier: Apache-2.0 */
/** The cores that experiments on the host use, and threads pinned to cores. */
#pragma once

#include <pthread.h>

#include "ttprem/base.h"

/** Let the other hardware thread of a core work while this one waits. */
static inline void prem_host_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/** Logical cores that this process may use, as the system numbers them; their count, at least 1 and
 *  at most `room`. */
int32_t prem_cores_list(int32_t *cores, int32_t room);
/** Start a thread on a core; 0 or an errno. */
int prem_core_start(pthread_t *thread, int32_t core, void *(*work)(void *), void *argument);
/** Wait until `count` threads are here, each of which calls it once with the same word, 0 before;
 *  false when the others do not come within a second. */
bool prem_cores_meet(int32_t *there, int32_t count);
