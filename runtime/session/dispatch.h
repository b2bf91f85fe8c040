/* SPDX-License-Identifier: Apache-2.0 */
/** What starting a phase costs on a machine. */
#pragma once

#include "ttprem/runtime.h"

/**
 * Run 256 computes that compute nothing on one block, each as soon as it can, and take the
 * shortest: no WCET can be below it.
 *
 * @param[out] dispatch_ns  left as it is unless PREM_OK
 */
prem_status prem_measure_dispatch(const prem_backend *backend, int64_t *dispatch_ns,
                                  prem_diag *diag);
