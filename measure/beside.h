/* SPDX-License-Identifier: Apache-2.0 */
/** Best-effort tasks in a row: what they did beside the critical ones. */
#pragma once

#include "ttprem/measure.h"

/** @param part  the best-effort tasks of the whole; NULL: there are none */
prem_status prem_beside_new(const prem_schedule *whole, const prem_schedule *part, prem_row *row);
/** Add a run, number `run` of its mode. */
prem_status prem_beside_fold(const prem_best_effort_trace *trace, int64_t run, prem_row *row);
/** All runs are in. */
void prem_beside_finish(prem_row *row);
void prem_beside_free(prem_row *row);
