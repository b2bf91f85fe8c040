/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a schedule file: read, bind, and where that succeeds and is small, judge and save.
 */
#include "tests/fuzz/fuzzing.h"

enum { MAX_TILES = 20000 };

/* What was read without an error has to survive being judged and written. */
static void use(prem_schedule *schedule, prem_diag *diag) {
  prem_check(schedule, NULL, diag);
  if (prem_diag_errors(diag) == 0 && schedule->plan)
    prem_schedule_save(schedule, "/dev/full/never", diag);
}

/* Whatever is refused is refused with a reason, and a problem is one line. */
static void judge_messages(prem_status status, const prem_diag *diag) {
  if (status == PREM_ERR_PARSE && prem_diag_errors(diag) == 0)
    abort();
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    if (strchr(line, '\n'))
      abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule;
  prem_status status = fuzz_read(data, size, &schedule, diag);
  judge_messages(status, diag);
  if (status == PREM_OK) {
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    if (fuzz_is_small(schedule, MAX_TILES))
      use(schedule, diag);
    prem_schedule_free(schedule);
  }
  prem_diag_free(diag);
  return 0;
}
