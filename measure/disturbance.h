/* SPDX-License-Identifier: Apache-2.0 */
/** What the host can see of whoever disturbs a measurement. */
#pragma once

#include "measure/interleave.h"

typedef struct prem_disturbance prem_disturbance;

/**
 * Watch the machine while variants are run: on `cpu` the process's involuntary context switches and
 * the time that a hypervisor took; on `cuda` the GPU's clocks, why they were throttled and who else
 * computes there, as far as NVML tells; on both how far the rounds drift apart. Of makespans the
 * warm ones are judged.
 *
 * @param variants  whose makespans are compared from round to round.
 * @return NULL when out of memory.
 */
prem_disturbance *prem_disturbance_new(const char *backend, const prem_variant *variants,
                                       int32_t count);
void prem_disturbance_free(prem_disturbance *disturbance);
/** For prem_interleave_options.around_round; `context` is the disturbance. */
void prem_disturbance_round(void *context, int64_t round, bool begins);
/** Look at the GPU's clocks; to be called right after runs, before they fall back for want of work.
 */
void prem_disturbance_look(prem_disturbance *disturbance);
/** @return false, and by what in `text`, when the measurement was disturbed. */
bool prem_disturbance_none(const prem_disturbance *disturbance, int64_t runs, char *text,
                           size_t bytes);
