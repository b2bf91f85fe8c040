/* SPDX-License-Identifier: Apache-2.0 */
/** Windows that fit the machine: measured in a short session before the run. */
#ifndef TRACKER_WINDOWS_H
#define TRACKER_WINDOWS_H

#include <signal.h>

#include "box.h"
#include "schedule.h"

typedef struct windows_found {
  track_windows windows;
  int64_t frames;    /* that were measured */
  int64_t took_ns;   /* on the host */
  int64_t period_ns; /* with which they fit */
  bool fits;         /* false: not into the period that was asked for */
} windows_found;

/**
 * Measure how long phases take, free, on frames of noise: a window is what 95 of 100 do not exceed,
 * and half as much again. Where no plan has so much room, less of it, down to half. It takes two
 * seconds at most, and what the last two frames need.
 *
 * @param setting    windows and period of it do not count
 * @param boxes      of its targets
 * @param period_ns  that windows have to fit into; 0: one is chosen, a quarter longer than the plan
 *                   and at least `least_ns`
 * @param stop       as in follow_request
 * Errors as follow()'s, and PREM_ERR_INTERRUPTED.
 */
prem_status windows_measure(const track_setting *setting, const prem_backend *backend,
                            const box *boxes, int64_t period_ns, int64_t least_ns,
                            const volatile sig_atomic_t *stop, windows_found *out, prem_diag *diag);

#endif
