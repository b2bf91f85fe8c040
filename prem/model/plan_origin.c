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

static void describe_kernels(FILE *out, const prem_schedule *schedule, const uint8_t *unused) {
  (void)unused;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].definition)
      describe_task(out, &schedule->tasks[t]);
}

/* Times that a plan has windows or gaps of: a dispatch or a bandwidth measured again moves none.
 * Where nothing is given, nothing is hashed. */
static void describe_times(FILE *out, const prem_schedule *schedule, const uint8_t *given) {
  const int64_t of_machine[] = {schedule->precedence_ns, schedule->job_turnaround_ns,
                                schedule->job_prefetch_ns};
  for (size_t i = 0; i < sizeof of_machine / sizeof of_machine[0]; ++i)
    if (of_machine[i] > 0)
      fprintf(out, "%zu %" PRId64 "\n", i, of_machine[i]);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p <= PREM_PHASE_COUNT; ++p) {
      const prem_task *task = &schedule->tasks[t];
      const prem_phase_spec *spec = p < PREM_PHASE_COUNT ? &task->phase[p] : &task->joined;
      if (given[t] >> p & 1)
        fprintf(out, "%s %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", task->name, p,
                spec->wcet_ns, spec->busy_ns, spec->turnaround_ns, spec->unit_turnaround_ns);
    }
}

/* "" where there is nothing to hash. */
static bool hash_what(void (*describe)(FILE *, const prem_schedule *, const uint8_t *),
                      const prem_schedule *schedule, const uint8_t *given, char out[17]) {
  char *text = NULL, hash[65];
  size_t bytes = 0;
  out[0] = '\0';
  FILE *stream = open_memstream(&text, &bytes);
  if (!stream)
    return false;
  describe(stream, schedule, given);
  const bool whole = fclose(stream) == 0;
  if (whole && bytes > 0) {
    prem_sha256_hex(text, bytes, hash);
    snprintf(out, 17, "%.16s", hash);
  }
  free(text);
  return whole;
}

void prem_schedule_kernels(const prem_schedule *schedule, char out[PREM_KERNELS_BYTES]) {
  hash_what(describe_kernels, schedule, NULL, out);
}

bool prem_schedule_hash_times(prem_schedule *schedule, const uint8_t *given) {
  return hash_what(describe_times, schedule, given, schedule->profile_times);
}

void prem_plan_sign(const prem_schedule *schedule, prem_plan *plan) {
  memcpy(plan->machine, schedule->profiled_on, sizeof plan->machine);
  prem_schedule_kernels(schedule, plan->kernels);
  memcpy(plan->times, schedule->profile_times, sizeof plan->times);
  memcpy(plan->profile, schedule->profile, sizeof plan->profile);
  if (!plan->times[0]) /* it gave none: later it may */
    plan->profile[0] = '\0';
}
