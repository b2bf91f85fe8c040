/* SPDX-License-Identifier: Apache-2.0 */
/** --errands: what comes to the servers of a schedule in each run. */
#pragma once

#include "ttprem/runtime.h"

typedef struct command_arrivals {
  prem_arrival *list; /* [count]; free with free() */
  int64_t count;
} command_arrivals;

/**
 * @param what       a file; "random" or "dense": as the arrival models let errands come, at random
 *                   or as many as may; NULL: none come, which is told where there are servers.
 * @param length_ns  of the longest run.
 * @return an exit status; what is wrong has been told.
 */
int command_arrivals_make(const char *what, const prem_schedule *schedule, int64_t length_ns,
                          uint64_t seed, command_arrivals *out);
