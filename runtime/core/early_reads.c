/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are read before they are written, and what is made of them. */
#include "runtime/core/early_reads.h"

#include <stdlib.h>

#include "prem/base/fail.h"
#include "prem/base/numbers.h"

/* How many jobs of the writer, from the hyperperiod's first, are over when a job reads: two tasks
 * with an array in common have an edge. */
static int32_t jobs_before(const prem_program *program, int32_t reader, int32_t writer,
                           int32_t job) {
  const prem_task_program *task = &program->tasks[reader];
  int32_t jobs = -1;
  for (int32_t a = 0; a < task->edge_count; ++a)
    if (task->after[a].task == writer)
      jobs = prem_max_i32(jobs, task->after[a].needed_jobs[job]);
  return jobs;
}

/* Does a run keep what a job reads until it has read it? Where the plan has both at work at the
 * same time, of which the checker warns, it may find some of the old and some of the new. */
static bool is_kept(const prem_program *program, int32_t reader, int32_t writer) {
  const int64_t written = program->tasks[writer].jobs, read = program->tasks[reader].jobs;
  for (int32_t job = 0; job < read; ++job) {
    const int64_t next = jobs_before(program, reader, writer, job);
    const int64_t ahead = prem_floor_div(next, written);
    if (jobs_before(program, writer, reader, (int32_t)(next - ahead * written)) <
        job + 1 - ahead * read)
      return false;
  }
  return true;
}

/* What is made of such a mixture: its references hold only when nothing changes any more. */
static bool spread_open(prem_arrays *arrays, const prem_program *program,
                        const prem_version_use *use) {
  const prem_task *task = &program->schedule->tasks[use->task];
  const prem_versioned *of = &arrays->versions.arrays[use->of];
  bool grew = false;
  if (use->writes || of->versions > 1 ||
      (!arrays->is_open[of->array] && is_kept(program, use->task, of->writer)))
    return false;
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    if (task->definition->ports[p].access == PREM_OUT && !arrays->is_open[task->arrays[p]])
      arrays->is_open[task->arrays[p]] = grew = true;
  return grew;
}

static void find_open(prem_arrays *arrays, const prem_program *program, prem_diag *diag) {
  const prem_versions *v = &arrays->versions;
  for (bool grew = true; grew;) {
    grew = false;
    for (int32_t u = 0; u < v->use_count; ++u)
      grew |= spread_open(arrays, program, &v->uses[u]);
  }
  for (int32_t a = 0; a < program->schedule->array_count; ++a) {
    if (arrays->is_open[a])
      prem_diag_add(diag, PREM_WARNING, 0, program->schedule->arrays[a].place,
                    prem_key("arrays.%s", program->schedule->arrays[a].name).text,
                    "is made of an array that is read while it is written for the first time, so "
                    "nobody knows what it is at first: it is compared once a run has settled, "
                    "after some hyperperiods (--scenario resident)");
  }
}

/* The file says which jobs it waits for; by the plan it may find more of them over. */
static prem_status follow_plan(prem_arrays *arrays, const prem_program *program,
                               prem_version_use *use) {
  const prem_versioned *of = &arrays->versions.arrays[use->of];
  bool is_early = false;
  if (use->writes || of->versions > 1)
    return PREM_OK;
  for (int32_t job = 0; job < program->tasks[use->task].jobs; ++job) {
    use->version[job] = jobs_before(program, use->task, of->writer, job);
    is_early |= use->version[job] <= 0;
  }
  return is_early && !arrays->first[of->array].base ? prem_arrays_keep_first(arrays, of->array)
                                                    : PREM_OK;
}

prem_status prem_arrays_find_early_reads(prem_arrays *arrays, const prem_program *program,
                                         prem_diag *diag) {
  prem_versions *v = &arrays->versions;
  const int32_t states = v->array_count;
  prem_versions_free(v);
  prem_status status = prem_versions_new_early(program->schedule, v);
  if (status || v->array_count == states)
    return status;
  arrays->changed_at =
      calloc((size_t)program->schedule->array_count + 1, sizeof *arrays->changed_at);
  arrays->made_at = calloc((size_t)program->schedule->task_count + 1, sizeof *arrays->made_at);
  arrays->is_open = calloc((size_t)program->schedule->array_count + 1, sizeof *arrays->is_open);
  if (!arrays->changed_at || !arrays->made_at || !arrays->is_open)
    return PREM_ERR_MEMORY;
  for (int32_t u = 0; !status && u < v->use_count; ++u)
    status = follow_plan(arrays, program, &v->uses[u]);
  if (!status)
    find_open(arrays, program, diag);
  return status;
}
