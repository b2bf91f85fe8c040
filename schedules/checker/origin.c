/* SPDX-License-Identifier: Apache-2.0 */
/* E044: a plan made for another machine, for other kernels, or with other times. */
#include "schedules/checker/check.h"

#include <stdio.h>
#include <string.h>

#include "prem/model/private.h"

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

void prem_check_origin(const prem_checker *checker) {
  check_machine(checker);
  check_kernels(checker);
}

/* ---- its times ------------------------------------------------------------------------------ */

/* Beside those of its machine or kernels. */
static bool has_errors(const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->severity == PREM_ERROR && prem_diag_at(diag, i)->code != 44)
      return true;
  return false;
}

/* A plan that says no more of its times than their machine: most of what was found is for that one
 * reason. */
static void note_machine(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  const char *planned = checker->plan->machine, *judged = schedule->profiled_on;
  if (!planned[0] || strcmp(planned, judged) == 0 || !has_errors(checker->diag))
    return;
  prem_diag_add(checker->diag, PREM_NOTE, 0, checker->plan->place, "plan.machine",
                "the plan was made with times measured on \"%s\", and is judged here by those of "
                "%s%s%s: name the entry of `profiles` that it was made with, `--profile NAME`",
                planned, judged[0] ? "\"" : "", judged[0] ? judged : "the file",
                judged[0] ? "\"" : "");
}

/* "profile 'here' (3f2a91c0)": enough of the hash to tell two apart. */
static check_name name_times(const char *profile, const char *times) {
  const bool named = profile[0] != '\0';
  check_name name;
  snprintf(name.text, sizeof name.text, "%s%s%s (%.8s)",
           named ? "profile '" : "the tasks' profiles", profile, named ? "'" : "",
           times[0] ? times : "no times");
  return name;
}

/* Nobody asked for other times: the profile was measured again, or has gone. */
static void refuse_times(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  const prem_plan *plan = checker->plan;
  const prem_profile_ref *profile = prem_schedule_find_profile(schedule, schedule->profile);
  const bool has_others = schedule->profile_times[0] != '\0';
  prem_diag_add(checker->diag, PREM_ERROR, 44, plan->place, "plan.times",
                "the plan was made with the times of %s, but %s %s%.8s%s, or take the times of "
                "another profile, `--profile NAME`",
                name_times(plan->profile, plan->times).text,
                profile ? profile->path : "the file of `profiles`",
                has_others ? "gives others now (" : "is not there, or gives none: measure",
                schedule->profile_times, has_others ? "): plan again" : " and plan again");
}

/* The caller asked for other times: does the plan hold by them? */
static void tell_times(const prem_checker *checker, const prem_diag *found) {
  const prem_schedule *schedule = checker->schedule;
  const prem_plan *plan = checker->plan;
  const check_name made = name_times(plan->profile, plan->times);
  const check_name judged = name_times(schedule->profile, schedule->profile_times);
  const prem_problem *first = NULL;
  for (size_t i = prem_diag_count(found); i-- > 0;) {
    const prem_problem *problem = prem_diag_at(found, i);
    if (problem->severity == PREM_ERROR)
      first = problem;
    else
      prem_diag_add(checker->diag, problem->severity, problem->code,
                    (prem_place){problem->file, problem->line}, problem->key, "%s",
                    problem->reason);
  }
  if (prem_diag_errors(found) == 0)
    prem_diag_add(checker->diag, PREM_NOTE, 0, plan->place, "plan.times",
                  "the plan was made with the times of %s; it holds by those of %s", made.text,
                  judged.text);
  else
    prem_diag_add(checker->diag, PREM_ERROR, 44, plan->place, "plan.times",
                  "the plan was made with the times of %s, and by those of %s it breaks %zu rules: "
                  "plan again%s; the first: %s",
                  made.text, judged.text, prem_diag_errors(found),
                  strcmp(plan->profile, schedule->profile) ? ", or leave --profile out" : "",
                  first ? first->reason : "");
}

prem_status prem_check_by_times(prem_checker *checker,
                                prem_status (*judge)(prem_checker *checker)) {
  const prem_schedule *schedule = checker->schedule;
  const char *planned = checker->plan->times;
  prem_status status = PREM_OK;
  if (!planned[0] || strcmp(planned, schedule->profile_times) == 0) {
    status = judge(checker);
    if (!planned[0])
      note_machine(checker);
    return status;
  }
  if (schedule->profile[0] && !prem_schedule_find_profile(schedule, schedule->profile))
    return PREM_OK; /* the reader has said so */
  if (!schedule->profile_given) {
    refuse_times(checker);
    return PREM_OK;
  }
  prem_diag *to = checker->diag, *found = prem_diag_new();
  checker->diag = found;
  status = found ? judge(checker) : PREM_ERR_MEMORY;
  checker->diag = to;
  if (status != PREM_ERR_MEMORY)
    tell_times(checker, found);
  prem_diag_free(found);
  return status;
}
