/* SPDX-License-Identifier: Apache-2.0 */
/* No solver in this build. */
#include "schedules/planner/proof/solver.h"

const char *prem_solver_name(void) {
  return NULL;
}

prem_solver *prem_solver_new(const prem_rules *rules, const int64_t *first, const int64_t *last,
                             double until_s, const volatile sig_atomic_t *stop) {
  (void)rules, (void)first, (void)last, (void)until_s, (void)stop;
  return NULL;
}

void prem_solver_free(prem_solver *solver) {
  (void)solver;
}

prem_answer prem_solver_ask(prem_solver *solver, int64_t end, const int64_t *first,
                            const int64_t *last, int64_t limit_ns,
                            const volatile sig_atomic_t *stop, int64_t *starts) {
  (void)solver, (void)end, (void)first, (void)last, (void)limit_ns, (void)stop, (void)starts;
  return PREM_ANSWER_UNKNOWN;
}
