/* SPDX-License-Identifier: Apache-2.0 */
/** Where a frame's time goes: maps of tasks over phases, blocks and time, out of a trace. */
#ifndef TRACKER_HEAT_H
#define TRACKER_HEAT_H

#include <signal.h>

#include <ttprem/ttprem.h>

/**
 * Write findings with three maps, and draw them. The first hyperperiod, which finds nothing in
 * caches, is left out where there are more.
 *
 * @param trace  sorted, of the schedule
 * @param json   a path
 * @param svg    a path; drawn by gnuplot
 * @param stop   not 0: do not draw; may be NULL
 * @retval PREM_ERR_ARGUMENT     no phase was recorded
 * @retval PREM_ERR_UNAVAILABLE  there is no gnuplot; the findings are there
 * Others as prem_findings_write().
 */
prem_status heat_write(const prem_schedule *schedule, const prem_trace *trace,
                       const prem_machine *machine, const char *command, const char *json,
                       const char *svg, const volatile sig_atomic_t *stop, prem_diag *diag);

#endif
