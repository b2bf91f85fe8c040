/* SPDX-License-Identifier: Apache-2.0 */
/** What telling a successor costs on a machine, as a fact. */
#pragma once

#include "ttprem/runtime.h"

/**
 * prem_measure_precedence() with one block a core, one predecessor, mode free.
 *
 * The fact is what 99 of 100 hyperperiods do not exceed until the last block of the successor has
 * begun: a plan that leaves less makes that block late. Where an operating system may take a core
 * away (machine->yields), it is the median, for what lies far above that is the system's doing.
 *
 * @param[out] precedence_ns  left as it is unless PREM_OK
 */
prem_status prem_measure_machine_precedence(const prem_backend *backend,
                                            const prem_machine *machine, int64_t *precedence_ns,
                                            prem_diag *diag);
