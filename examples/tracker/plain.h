/* SPDX-License-Identifier: Apache-2.0 */
/** The tracker without a schedule: the kernels' untiled references, one after the other. What a run
 * on any backend has to equal bit for bit. */
#ifndef TRACKER_PLAIN_H
#define TRACKER_PLAIN_H

#include <ttprem/ttprem.h>

typedef struct plain_tracker plain_tracker;

/** Arrays of a bound schedule, filled with zeros. NULL: no memory. */
plain_tracker *plain_new(const prem_schedule *schedule);
void plain_free(plain_tracker *plain);
/** An array's elements, densely; NULL: there is none of that name. */
void *plain_array(plain_tracker *plain, const char *name);
/** All tasks once, in the file's order. False: no memory. */
bool plain_step(plain_tracker *plain);

#endif
