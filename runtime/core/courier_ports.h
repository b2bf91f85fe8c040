/* SPDX-License-Identifier: Apache-2.0 */
/** The part of a courier that is made once: between courier.c, courier_ports.c and courier_tasks.c.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_PORTS_H
#define TTPREM_RUNTIME_CORE_COURIER_PORTS_H

#include "runtime/core/courier.h"

/** Fill the tables of a courier whose program, counts, streams and tasks (zeroed) are there; free
 *  with prem_courier_free_ports(), after an error as well. */
prem_status prem_courier_compile(prem_courier *courier);
void prem_courier_free_ports(prem_courier *courier);

/** Then: which jobs are left out for which overrun. */
prem_status prem_courier_compile_tasks(prem_courier *courier);
void prem_courier_free_tasks(prem_courier *courier);

#endif
