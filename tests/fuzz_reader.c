/* Any bytes as a schedule file: read, bind, and where that succeeds and is small, judge and save.
 */
#include "prem/reader.h"
#include "ttprem/planner.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 20000 }; /* larger plans are right to take their time and memory */

static bool is_small(const prem_schedule *schedule) {
  int64_t tiles = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const int64_t jobs = prem_task_jobs(schedule, &schedule->tasks[t]);
    if (jobs > MOST_TILES)
      return false;
    tiles += schedule->tasks[t].tile_count * jobs;
    if (tiles > MOST_TILES)
      return false;
  }
  const prem_plan *plan = schedule->plan;
  for (int32_t i = 0; plan && i < plan->affine_count; ++i) {
    const prem_affine *run = &plan->affine[i];
    if (run->repeat > MOST_TILES || run->jobs > MOST_TILES || run->count > MOST_TILES ||
        run->repeat * run->jobs * run->count > MOST_TILES)
      return false;
  }
  return true;
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 2);
  prem_diag *diag = prem_diag_new();
  if (!bytes || !diag)
    abort();
  if (size > 0)
    memcpy(bytes, data, size);
  memcpy(bytes + size, "\n", 2);
  prem_schedule *schedule = NULL;
  prem_status status =
      prem_schedule_read_bytes("fuzz.cfg", "/nowhere", bytes, size, NULL, &schedule, diag);
  judge_messages(status, diag);
  if (status == PREM_OK) {
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    if (is_small(schedule))
      use(schedule, diag);
    prem_schedule_free(schedule);
  }
  prem_diag_free(diag);
  return 0;
}
