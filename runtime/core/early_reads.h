/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tasks that read an array before a run's first write of it. They find its fill there, as in a live
 * session, and what they make differs from what later jobs make. So such an array begins every run
 * with its fill, and the references of all that is made of it go from job to job, as those of state
 * arrays do. Which job sees what is for the plan to say.
 */
#pragma once

#include "runtime/core/arrays.h"
#include "runtime/core/program.h"

/** Of a run's arrays, right after prem_arrays_new(). Nothing changes where no job reads early.
 * Warns of arrays that can be compared only when a run has settled. */
prem_status prem_arrays_find_early_reads(prem_arrays *arrays, const prem_program *program,
                                         prem_diag *diag);
