/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a file for `profiles`. */
#include "ttprem/profile.h"

#include <inttypes.h>
#include <stdio.h>

#include "prem/base/numbers.h"
#include "ttprem/output.h"

/* As libconfig reads it. */
static void write_text(FILE *file, const char *key, const char *text) {
  fprintf(file, "%s = \"", key);
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\')
      fputc('\\', file);
    fputc(*text, file);
  }
  fputs("\";\n", file);
}

static void write_known(FILE *file, const char *key, int64_t ns) {
  if (ns > 0)
    fprintf(file, " %s = %" PRId64 "L;", key, ns);
}

static void write_phase(FILE *file, const prem_profile *profile, const prem_profile_phase *phase,
                        int number) {
  if (phase->wcet_ns == 0)
    return;
  const prem_condition condition = PREM_CORUNNING;
  fprintf(file, "\n    %s: { wcet_ns = %" PRId64 "L;", prem_phase_name((prem_phase)number),
          phase->wcet_ns);
  write_known(file, "busy_ns", phase->busy_ns);
  write_known(file, "turnaround_ns", phase->turnaround_ns);
  write_known(file, "unit_turnaround_ns", phase->unit_turnaround_ns);
  if (phase->longest_ns > phase->wcet_ns || profile->disturbed_runs > 0)
    write_known(file, "longest_ns", phase->longest_ns);
  write_known(file, "alone_ns", phase->steady_ns[PREM_ISOLATED].max);
  write_known(file, "company_ns", phase->steady_ns[condition].max);
  write_known(file, "planned_ns", phase->steady_ns[PREM_PLANNED].max);
  write_known(file, "cold_ns",
              prem_max_i64(phase->cold_ns[PREM_ISOLATED].max, phase->cold_ns[condition].max));
  if (phase->pwcet[PREM_ISOLATED].known && profile->valid)
    write_known(file, "tail_ns", phase->pwcet[PREM_ISOLATED].estimate_ns);
  fputs(" };", file);
}

static void write_joined(FILE *file, const prem_profile_task *task) {
  if (task->joined_ns == 0)
    return;
  fprintf(file, "\n    joined: { wcet_ns = %" PRId64 "L;", task->joined_ns);
  write_known(file, "busy_ns", task->joined_busy_ns);
  fputs(" };", file);
}

static void write_all(FILE *file, const prem_profile *profile) {
  if (profile->quantile > 0)
    fprintf(file,
            "# wcet_ns bounds the time that %g %% of phases do not exceed, with a confidence of "
            "%g %%; longest_ns is the\n# longest that was seen.\n",
            100 * profile->quantile, 100 * PREM_PROFILE_CONFIDENCE);
  fprintf(file,
          "# Longest times of %" PRId64 " runs %s, by ttprem %s. They are no "
          "bound: wcet_ns is\n# what plans are made with, all else is for the reader.\n"
          "version = 1;\n",
          profile->sampling.samples, profile->by_plan ? "by a plan" : "alone and in company",
          prem_version());
  if (profile->raises)
    fputs("# Raised: no time is shorter than in the schedule that was measured.\n", file);
  fprintf(file, "# Seed of the order: %" PRIu64 ".", profile->sampling.seed);
  if (profile->machine.uuid[0])
    fprintf(file, " Machine: %s, driver %s.", profile->machine.uuid, profile->machine.driver);
  fputc('\n', file);
  write_text(file, "machine", profile->machine.name);
  fprintf(file, "valid = %s;\n", profile->valid ? "true" : "false");
  if (!profile->valid)
    write_text(file, "disturbed", profile->disturbed);
  if (profile->quantile > 0)
    fprintf(file, "quantile = %.17g;\nconfidence = %g;\n", profile->quantile,
            PREM_PROFILE_CONFIDENCE);
  if (profile->disturbed_runs > 0)
    fprintf(file, "disturbed_runs = %" PRId64 "L;\n", profile->disturbed_runs);
  if (profile->machine.dispatch_ns > 0)
    fprintf(file, "dispatch_ns = %" PRId64 "L;\n", profile->machine.dispatch_ns);
  if (profile->machine.precedence_ns > 0)
    fprintf(file, "precedence_ns = %" PRId64 "L;\n", profile->machine.precedence_ns);
  if (profile->job_turnaround_ns > 0)
    fprintf(file, "job_turnaround_ns = %" PRId64 "L;\n", profile->job_turnaround_ns);
  if (profile->job_prefetch_ns > 0)
    fprintf(file, "job_prefetch_ns = %" PRId64 "L;\n", profile->job_prefetch_ns);
  if (profile->machine.bandwidth_bytes_per_s > 0)
    fprintf(file, "bandwidth_bytes_per_s = %" PRId64 "L;\n",
            profile->machine.bandwidth_bytes_per_s);
  fputs("tasks = (\n", file);
  for (int32_t t = 0; t < profile->task_count; ++t) {
    fprintf(file, "  { name = \"%s\";", profile->tasks[t].name);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      write_phase(file, profile, &profile->tasks[t].phase[p], p);
    write_joined(file, &profile->tasks[t]);
    fputs(t + 1 < profile->task_count ? " },\n" : " }\n", file);
  }
  fputs(");\n", file);
}

prem_status prem_profile_write(const prem_profile *profile, const char *path, prem_diag *diag) {
  prem_output output;
  char reason[160];
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK) {
    write_all(output.file, profile);
    status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status != PREM_OK)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                  reason);
  return status;
}
