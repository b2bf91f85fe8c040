/* SPDX-License-Identifier: Apache-2.0 */
/** For fuzz targets: bytes as a schedule file, and which schedules are worth the time. */
#pragma once

#include "prem/file/reader.h"
#include "ttprem/ttprem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline prem_status fuzz_read(const uint8_t *data, size_t size, prem_schedule **out,
                                    prem_diag *diag) {
  char *bytes = malloc(size + 2); /* the reader's from here on */
  if (!bytes || !diag)
    abort();
  if (size > 0)
    memcpy(bytes, data, size);
  memcpy(bytes + size, "\n", 2);
  *out = NULL;
  return prem_schedule_read_bytes("fuzz.cfg", "/nowhere", bytes, size, NULL, out, diag);
}

/** No more tiles, in the tasks and in each run of the plan, than `max`: larger plans are right to
 *  take their time and memory. */
static inline bool fuzz_is_small(const prem_schedule *schedule, int64_t max) {
  int64_t tiles = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const int64_t jobs = prem_task_jobs(schedule, &schedule->tasks[t]);
    if (jobs > max)
      return false;
    tiles += schedule->tasks[t].tile_count * jobs;
    if (tiles > max)
      return false;
  }
  const prem_plan *plan = schedule->plan;
  for (int32_t i = 0; plan && i < plan->affine_count; ++i) {
    const prem_affine *run = &plan->affine[i];
    if (run->repeat > max || run->jobs > max || run->count > max ||
        run->repeat * run->jobs * run->count > max)
      return false;
  }
  return true;
}
