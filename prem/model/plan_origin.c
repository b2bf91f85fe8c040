/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan was made for: the machine of its times, and the kernels. */
#include "prem/base/sha256.h"
#include "prem/model/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that says what a tile does and costs: the data's values apart, and its times. */
static void describe_task(FILE *out, const prem_task *task) {
  const prem_kernel *kernel = task->definition;
  fprintf(out, "%s\n%s %" PRIu32 "\n%d %d %d\n%d %d\n", task->name, kernel->name, kernel->version,
          task->grid[0], task->grid[1], task->grid[2], task->in_bytes, task->out_bytes);
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const int32_t *extent = task->windows[p].extent;
    fprintf(out, "%d %d %d %d\n", extent[0], extent[1], extent[2], extent[3]);
  }
  fwrite(task->params, 1, PREM_PARAMS_BYTES, out);
}

void prem_schedule_kernels(const prem_schedule *schedule, char out[PREM_KERNELS_BYTES]) {
  char *text = NULL, hash[65];
  size_t bytes = 0;
  out[0] = '\0';
  FILE *stream = open_memstream(&text, &bytes);
  if (!stream)
    return;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].definition)
      describe_task(stream, &schedule->tasks[t]);
  if (fclose(stream) == 0 && bytes > 0) {
    prem_sha256_hex(text, bytes, hash);
    snprintf(out, PREM_KERNELS_BYTES, "%.*s", PREM_KERNELS_BYTES - 1, hash);
  }
  free(text);
}

void prem_plan_sign(const prem_schedule *schedule, prem_plan *plan) {
  memcpy(plan->machine, schedule->profiled_on, sizeof plan->machine);
  prem_schedule_kernels(schedule, plan->kernels);
}
