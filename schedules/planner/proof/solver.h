/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A solver for the rules of a set: is there a solution that ends by some instant? Which one is
 * built in is decided by CMake (solver_z3.c, or solver_none.c).
 */
#pragma once

#include "schedules/planner/proof/rules.h"

typedef enum prem_answer { PREM_ANSWER_YES, PREM_ANSWER_NO, PREM_ANSWER_UNKNOWN } prem_answer;

typedef struct prem_solver prem_solver;

/** Its name, or NULL: none is built in. */
const char *prem_solver_name(void);
/**
 * @param rules        must stay, and so must
 * @param first, last  the windows of the starts: no solution that is asked for lies outside
 * @param until_s      of prem_host_clock_s(): handing the rules over ends by then
 * @param stop         or soon after this is not 0; may be NULL
 * @return NULL: out of memory, no solver is built in, more than it can digest, or it was over
 * before all rules had been handed over
 */
prem_solver *prem_solver_new(const prem_rules *rules, const int64_t *first, const int64_t *last,
                             double until_s, const volatile sig_atomic_t *stop);
void prem_solver_free(prem_solver *solver);
/**
 * Is there a solution that ends by `end` (in units)?
 *
 * @param      first, last  narrower windows, for this question alone
 * @param[out] starts       of each node, when there is one
 */
prem_answer prem_solver_ask(prem_solver *solver, int64_t end, const int64_t *first,
                            const int64_t *last, int64_t limit_ns,
                            const volatile sig_atomic_t *stop, int64_t *starts);
