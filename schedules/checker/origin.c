/* SPDX-License-Identifier: Apache-2.0 */
/* E044: a plan made for another machine, or for other kernels. */
#include "schedules/checker/check.h"

#include <string.h>

static void refuse(const prem_checker *checker, const char *key, const char *found,
                   const char *expected, const char *what) {
  prem_diag_add(checker->diag, PREM_ERROR, 44, checker->plan->place, key,
                "\"%s\", %s \"%s\"; without this key it is not judged", found, what, expected);
}

/* Times are those of the machine that they were measured on. A platform is no machine, and the
 * simulator takes any. */
static void check_machine(const prem_checker *checker) {
  const prem_machine *machine = checker->machine;
  const bool is_real = machine->backend[0] && strcmp(machine->backend, "sim") != 0;
  if (is_real && checker->plan->machine[0] && strcmp(checker->plan->machine, machine->name) != 0)
    refuse(checker, "plan.machine", checker->plan->machine, machine->name,
           "where its times were measured: measure again with `ttprem profile` and plan again on "
           "this machine,");
}

static void check_kernels(const prem_checker *checker) {
  char kernels[PREM_KERNELS_BYTES];
  if (!checker->plan->kernels[0] || !checker->schedule->bound)
    return;
  prem_schedule_kernels(checker->schedule, kernels);
  if (kernels[0] && strcmp(checker->plan->kernels, kernels) != 0)
    refuse(checker, "plan.kernels", checker->plan->kernels, kernels,
           "what the plan was made for: kernels, tiles or parameters of the file are others now, "
           "plan again for");
}

/* Beside those of its machine or kernels. */
static bool has_errors(const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->severity == PREM_ERROR && prem_diag_at(diag, i)->code != 44)
      return true;
  return false;
}

/* A plan by a profile's times fits no others: most of what was found is for that one reason. */
void prem_check_times(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  const char *planned = checker->plan->machine, *judged = schedule->profiled_on;
  if (!planned[0] || strcmp(planned, judged) == 0 || !has_errors(checker->diag))
    return;
  prem_diag_add(checker->diag, PREM_NOTE, 0, checker->plan->place, "plan.machine",
                "the plan was made with times measured on \"%s\", and is judged here by those of "
                "%s%s%s: give it the profile that it was made with, `--profile FILE`",
                planned, judged[0] ? "\"" : "", judged[0] ? judged : "the file",
                judged[0] ? "\"" : "");
}

void prem_check_origin(const prem_checker *checker) {
  check_machine(checker);
  check_kernels(checker);
}
