/* SPDX-License-Identifier: Apache-2.0 */
/** What jobs wait for across blocks, in the form that the executive asks. No CUDA: see test_asks.c.
 */
#pragma once

#include "runtime/cuda/device/program.h"

/** Who wants to know when jobs end, besides the tasks that follow them. */
typedef enum prem_asks_watch {
  PREM_ASKS_OF_TASKS,  /* nobody */
  PREM_ASKS_OF_GATE,   /* the gate of best-effort tasks, of all tasks */
  PREM_ASKS_OF_COURIER /* the courier of a live session, of all tasks: it also keeps them from
                          running ahead of themselves */
} prem_asks_watch;

/** Words that the tasks need whose jobs' ends are counted; -1: out of memory. */
int64_t prem_asks_words(const prem_program *program, prem_asks_watch watch);

/**
 * Make the asks of all tasks that follow others, by each plan of the program: a table of `*count`
 * for each, alike in all of them. What a task asks less by one plan than by another is padded with
 * asks that wait for nothing.
 *
 * @param      ends   prem_asks_words() words, perhaps on the device: they are pointed to, not
 * touched
 * @param      tasks  one for each of the program's; what concerns precedence is entered
 * @param[out] asks   the plans' tables, one behind the other; free() it; NULL unless PREM_OK
 * @param[out] count  of the asks of one plan
 * @retval PREM_ERR_MEMORY
 * @retval PREM_ERR_INVALID  more edges, or edges times jobs, than the executive counts
 */
prem_status prem_asks_make(const prem_program *program, prem_asks_watch watch,
                           prem_device_end *ends, prem_device_task *tasks, prem_device_ask **asks,
                           int64_t *count);

/** Where each task's words lie, for the courier or the gate. `out` has room for all tasks. */
prem_status prem_asks_leaders(const prem_program *program, const prem_device_end *ends,
                              prem_device_leader *out);
