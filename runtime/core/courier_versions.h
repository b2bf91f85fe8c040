/* SPDX-License-Identifier: Apache-2.0 */
/**
 * State arrays in a live session. Which slot holds the version that a job of the writer finds
 * depends on which of the jobs before it were left out, so the courier says it: a ticket for each
 * job of the writer, written as soon as it is known what became of the job before.
 *
 * A job that is skipped or given up makes no version: the next one finds the version that it found,
 * and writes to the slot that it would have written to.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_VERSIONS_H
#define TTPREM_RUNTIME_CORE_COURIER_VERSIONS_H

#include "runtime/core/courier.h"

/** Behind the tasks of a courier that is being made: tickets for all state arrays. */
prem_status prem_courier_compile_versions(prem_courier *courier);
void prem_courier_free_versions(prem_courier *courier);
/** See prem_courier_count_from(). */
void prem_courier_count_versions_from(prem_courier *courier, int64_t hyperperiod);

/** Are the tickets there that say where the versions of a record lie? */
bool prem_courier_has_versions(const prem_courier *courier, int64_t hyperperiod,
                               const prem_record *record);
/** The slots of those of its ports that have state arrays. */
void prem_courier_version_slots(const prem_courier *courier, int64_t hyperperiod,
                                const prem_record *record, int32_t slots[PREM_MAX_PORTS]);

#endif
