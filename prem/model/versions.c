/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays: versions of jobs, the waits that they need, and what cannot be one (E049). */
#include "prem/model/versions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/private.h"

static int32_t ports_of(const prem_task *task) {
  return task->definition && task->arrays ? task->definition->port_count : 0;
}

static bool is_output(const prem_task *task, int32_t port) {
  return task->definition->ports[port].access == PREM_OUT;
}

/* ---- which arrays ---------------------------------------------------------------------------- */

/* Of an array. */
typedef struct use_facts {
  int32_t writer; /* the first task that writes it; -1: none */
  bool is_read, is_made_of;
  bool is_shared; /* another task writes it, too */
} use_facts;

/* Does it touch a state array, or read what is made of one? */
static bool is_changing(const prem_schedule *schedule, const prem_task *task,
                        const use_facts *facts) {
  for (int32_t p = 0; p < ports_of(task); ++p)
    if (prem_array_is_state(&schedule->arrays[task->arrays[p]]) ||
        (!is_output(task, p) && facts[task->arrays[p]].is_made_of))
      return true;
  return false;
}

static void spread(const prem_schedule *schedule, bool *changes, use_facts *facts) {
  for (bool grew = true; grew;) {
    grew = false;
    for (int32_t t = 0; t < schedule->task_count; ++t) {
      const prem_task *task = &schedule->tasks[t];
      if (changes[t] || !is_changing(schedule, task, facts))
        continue;
      grew = changes[t] = true;
      for (int32_t p = 0; p < ports_of(task); ++p)
        if (is_output(task, p))
          facts[task->arrays[p]].is_made_of = true;
    }
  }
}

static void find_users(const prem_schedule *schedule, use_facts *facts) {
  for (int32_t a = 0; a < schedule->array_count; ++a)
    facts[a].writer = -1;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; p < ports_of(task); ++p) {
      use_facts *of = &facts[task->arrays[p]];
      of->is_read |= !is_output(task, p);
      of->is_shared |= is_output(task, p) && of->writer >= 0 && of->writer != t;
      if (is_output(task, p) && of->writer < 0)
        of->writer = t;
    }
  }
}

static prem_status list_arrays(prem_versions *v, const use_facts *facts, bool early) {
  const prem_schedule *schedule = v->schedule;
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    const bool is_state = prem_array_is_state(&schedule->arrays[a]);
    const int32_t writer = facts[a].writer;
    v->number[a] = -1;
    if (writer < 0 || (!is_state && (!facts[a].is_made_of || !facts[a].is_read)))
      continue;
    if (early && !is_state && facts[a].is_shared)
      continue;
    prem_versioned *grown = prem_grow(v->arrays, (size_t)v->array_count, sizeof *grown);
    if (!grown)
      return PREM_ERR_MEMORY;
    v->arrays = grown;
    v->number[a] = v->array_count;
    v->arrays[v->array_count++] =
        (prem_versioned){a, writer, (int32_t)prem_task_jobs(schedule, &schedule->tasks[writer]),
                         is_state ? schedule->arrays[a].versions : 1};
  }
  return PREM_OK;
}

static int64_t awaited(const prem_schedule *schedule, const prem_task *task,
                       const prem_after *after, int64_t job);

/* Tasks whose latest job another one's first comes after, but has none: it reads before they write.
 * @return whether there are any. */
static bool find_late_writers(const prem_schedule *schedule, bool *changes, use_facts *facts) {
  bool found = false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t a = 0; a < schedule->tasks[t].after_count; ++a) {
      const prem_after *after = &schedule->tasks[t].after[a];
      if (!after->latest || awaited(schedule, &schedule->tasks[t], after, 0) > 0)
        continue;
      const prem_task *writer = &schedule->tasks[after->task];
      found = changes[after->task] = true;
      for (int32_t p = 0; p < ports_of(writer); ++p)
        facts[writer->arrays[p]].is_made_of |= is_output(writer, p);
    }
  return found;
}

static prem_status find_arrays(prem_versions *v, bool early, bool is_needed) {
  const prem_schedule *schedule = v->schedule;
  use_facts *facts = calloc((size_t)schedule->array_count + 1, sizeof *facts);
  v->changes = calloc((size_t)schedule->task_count + 1, sizeof *v->changes);
  v->number = malloc(((size_t)schedule->array_count + 1) * sizeof *v->number);
  prem_status status = PREM_ERR_MEMORY;
  if (facts && v->changes && v->number) {
    status = PREM_OK;
    is_needed |= early && find_late_writers(schedule, v->changes, facts);
    find_users(schedule, facts);
    spread(schedule, v->changes, facts);
    if (is_needed)
      status = list_arrays(v, facts, early);
  }
  free(facts);
  return status;
}

/* ---- who comes after whom -------------------------------------------------------------------- */

/* Of one writer. */
typedef struct following {
  const prem_schedule *schedule;
  int32_t writer;
  int32_t **reached; /* [task][job]: so many jobs of the writer it comes after; NULL: it does not */
  bool *is_same;     /* [task]: it comes after the writer's same job */
  bool *is_before;   /* [task]: the writer comes after its same job */
} following;

static int64_t jobs_of(const prem_schedule *schedule, int32_t task) {
  return prem_task_jobs(schedule, &schedule->tasks[task]);
}

/* How many jobs of its predecessor, from the hyperperiod's first, a job comes after. */
static int64_t awaited(const prem_schedule *schedule, const prem_task *task,
                       const prem_after *after, int64_t job) {
  const prem_task *before = &schedule->tasks[after->task];
  if (!after->latest)
    return job + 1;
  int64_t period_ns = before->period_ns ? before->period_ns : schedule->period_lcm_ns;
  if (period_ns == 0)
    period_ns = PREM_MAX_NS; /* one job each, in hyperperiods of any length */
  return prem_div_floor(job * task->period_ns + task->release_ns - before->release_ns, period_ns) +
         1;
}

/* The same of the writer, over the predecessor. */
static int64_t awaited_of_writer(const following *f, const prem_task *task, const prem_after *after,
                                 int64_t job) {
  const int64_t count = awaited(f->schedule, task, after, job);
  if (after->task == f->writer)
    return count;
  const int64_t jobs = jobs_of(f->schedule, after->task);
  const int64_t hyperperiod = prem_div_floor(count - 1, jobs);
  return hyperperiod * jobs_of(f->schedule, f->writer) +
         f->reached[after->task][count - 1 - hyperperiod * jobs];
}

static prem_status begin_reaching(const following *f, int32_t t, int64_t jobs) {
  f->reached[t] = malloc((size_t)jobs * sizeof **f->reached);
  if (!f->reached[t])
    return PREM_ERR_MEMORY;
  for (int64_t q = 0; q < jobs; ++q)
    f->reached[t][q] = INT32_MIN;
  return PREM_OK;
}

/* Over one edge. */
static prem_status reach(const following *f, int32_t t, const prem_after *after, bool *grew) {
  if (t == f->writer || (after->task != f->writer && !f->reached[after->task]))
    return PREM_OK;
  const int64_t jobs = jobs_of(f->schedule, t);
  if (!f->reached[t] && begin_reaching(f, t, jobs))
    return PREM_ERR_MEMORY;
  for (int64_t q = 0; q < jobs; ++q) {
    const int64_t count = awaited_of_writer(f, &f->schedule->tasks[t], after, q);
    if (count <= f->reached[t][q])
      continue;
    f->reached[t][q] = (int32_t)count;
    *grew = true;
  }
  const bool is_same = !after->latest && (after->task == f->writer || f->is_same[after->task]);
  *grew |= is_same && !f->is_same[t];
  f->is_same[t] |= is_same;
  return PREM_OK;
}

/* Chains in either order of the file take one or two sweeps. A circle has been refused, or will be.
 */
static prem_status find_followers(const following *f) {
  const int32_t tasks = f->schedule->task_count;
  bool grew = true;
  for (int32_t round = 0; grew && round <= tasks; ++round) {
    grew = false;
    for (int32_t i = 0; i < tasks; ++i) {
      const int32_t t = round % 2 ? tasks - 1 - i : i;
      const prem_task *task = &f->schedule->tasks[t];
      for (int32_t a = 0; a < task->after_count; ++a)
        if (reach(f, t, &task->after[a], &grew))
          return PREM_ERR_MEMORY;
    }
  }
  return PREM_OK;
}

static void find_those_before(const following *f, int32_t *path) {
  int32_t length = 0;
  path[length++] = f->writer;
  while (length > 0) {
    const prem_task *task = &f->schedule->tasks[path[--length]];
    for (int32_t a = 0; a < task->after_count; ++a) {
      const int32_t before = task->after[a].task;
      if (task->after[a].latest || f->is_before[before])
        continue;
      f->is_before[before] = true;
      path[length++] = before;
    }
  }
}

static prem_status follow(const prem_schedule *schedule, int32_t writer, following *f) {
  const size_t tasks = (size_t)schedule->task_count + 1;
  *f = (following){.schedule = schedule,
                   .writer = writer,
                   .reached = calloc(tasks, sizeof *f->reached),
                   .is_same = calloc(tasks, sizeof *f->is_same),
                   .is_before = calloc(tasks, sizeof *f->is_before)};
  int32_t *path = malloc(tasks * sizeof *path);
  prem_status status = PREM_ERR_MEMORY;
  if (f->reached && f->is_same && f->is_before && path) {
    find_those_before(f, path);
    status = find_followers(f);
  }
  free(path);
  return status;
}

/* ---- which versions -------------------------------------------------------------------------- */

/* Of an ordinary array only the same job's is good. */
static bool is_ordered(const following *f, const prem_versioned *array, int32_t task) {
  if (array->versions == 1)
    return f->is_same[task];
  return task == f->writer || f->reached[task] || f->is_before[task];
}

static prem_status add_use(prem_versions *v, const following *f, int32_t of, int32_t t, int32_t p) {
  const prem_task *task = &v->schedule->tasks[t];
  const bool writes = is_output(task, p);
  const int64_t jobs = jobs_of(v->schedule, t);
  prem_version_use *grown = prem_grow(v->uses, (size_t)v->use_count, sizeof *grown);
  int32_t *version = malloc((size_t)jobs * sizeof *version);
  if (grown)
    v->uses = grown;
  if (!grown || !version) {
    free(version);
    return PREM_ERR_MEMORY;
  }
  for (int64_t q = 0; q < jobs; ++q)
    version[q] = writes ? (int32_t)(q + 1) : f->reached[t] ? f->reached[t][q] : (int32_t)q;
  const prem_phase phase = task->definition->compatible ? PREM_COMPUTE
                           : writes                     ? PREM_WRITEBACK
                                                        : PREM_PREFETCH;
  v->uses[v->use_count++] = (prem_version_use){.of = of,
                                               .task = t,
                                               .port = p,
                                               .phase = phase,
                                               .writes = writes,
                                               .is_ordered = is_ordered(f, &v->arrays[of], t),
                                               .version = version};
  return PREM_OK;
}

static prem_status find_uses(prem_versions *v, int32_t of) {
  following f;
  const prem_versioned *array = &v->arrays[of];
  prem_status status = follow(v->schedule, array->writer, &f);
  for (int32_t t = 0; !status && t < v->schedule->task_count; ++t)
    for (int32_t p = 0; !status && p < ports_of(&v->schedule->tasks[t]); ++p)
      if (v->schedule->tasks[t].arrays[p] == array->array)
        status = add_use(v, &f, of, t, p);
  for (int32_t t = 0; f.reached && t < f.schedule->task_count; ++t)
    free(f.reached[t]);
  PREM_FREE(f.reached, f.is_same, f.is_before);
  return status;
}

static prem_status make(const prem_schedule *schedule, bool early, prem_versions *out) {
  bool is_needed = false;
  *out = (prem_versions){.schedule = schedule};
  for (int32_t a = 0; a < schedule->array_count; ++a)
    is_needed |= prem_array_is_state(&schedule->arrays[a]);
  prem_status status = is_needed || early ? find_arrays(out, early, is_needed) : PREM_OK;
  for (int32_t i = 0; !status && i < out->array_count; ++i)
    status = find_uses(out, i);
  return status;
}

prem_status prem_versions_new(const prem_schedule *schedule, prem_versions *out) {
  return make(schedule, false, out);
}

prem_status prem_versions_new_early(const prem_schedule *schedule, prem_versions *out) {
  return make(schedule, true, out);
}

void prem_versions_free(prem_versions *versions) {
  for (int32_t i = 0; i < versions->use_count; ++i)
    free(versions->uses[i].version);
  PREM_FREE(versions->uses, versions->arrays, versions->number, versions->changes);
  *versions = (prem_versions){0};
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The writer waits for all jobs of a reader that read what it is about to overwrite, or what was
 * there before: both go up. */
static void wait_to_write(const prem_versioned *array, const prem_version_use *reader,
                          int64_t reader_jobs, int32_t *needed) {
  int64_t count = -(array->versions / array->jobs + 3) * reader_jobs; /* before any of them */
  for (int32_t j = 0; j < array->jobs; ++j) {
    const int64_t overwritten = (int64_t)j + 1 - array->versions;
    for (;;) {
      const int64_t hyperperiod = prem_div_floor(count, reader_jobs);
      const int64_t read =
          hyperperiod * array->jobs + reader->version[count - hyperperiod * reader_jobs];
      if (read > overwritten)
        break;
      ++count;
    }
    needed[j] = (int32_t)count;
  }
}

static prem_status add_edge(prem_version_edge **edges, int32_t *count, prem_version_edge edge) {
  prem_version_edge *grown = prem_grow(*edges, (size_t)*count, sizeof *grown);
  if (!grown) {
    free(edge.needed_jobs);
    return PREM_ERR_MEMORY;
  }
  *edges = grown;
  (*edges)[(*count)++] = edge;
  return PREM_OK;
}

static prem_status add_edges(const prem_versions *v, const prem_version_use *use,
                             prem_version_edge **edges, int32_t *count) {
  const prem_schedule *schedule = v->schedule;
  const prem_versioned *array = &v->arrays[use->of];
  const int64_t jobs = jobs_of(schedule, use->task);
  const bool compatible = schedule->tasks[array->writer].definition->compatible;
  prem_version_edge to_read = {.task = use->task,
                               .before = array->writer,
                               .phase = use->phase,
                               .by_block =
                                   prem_tasks_are_by_block(schedule, use->task, array->writer),
                               .needed_jobs = malloc((size_t)jobs * sizeof *to_read.needed_jobs)};
  if (!to_read.needed_jobs)
    return PREM_ERR_MEMORY;
  /* A reader waits for the job that makes what it reads. */
  for (int64_t q = 0; q < jobs; ++q)
    to_read.needed_jobs[q] = use->version[q];
  prem_status status = add_edge(edges, count, to_read);
  if (status || use->task == array->writer)
    return status;
  prem_version_edge to_write = {.task = array->writer,
                                .before = use->task,
                                .phase = compatible ? PREM_COMPUTE : PREM_WRITEBACK,
                                .needed_jobs =
                                    malloc((size_t)array->jobs * sizeof *to_write.needed_jobs)};
  if (!to_write.needed_jobs)
    return PREM_ERR_MEMORY;
  wait_to_write(array, use, jobs, to_write.needed_jobs);
  return add_edge(edges, count, to_write);
}

prem_status prem_version_edges_new(const prem_versions *versions, prem_version_edge **out,
                                   int32_t *count) {
  prem_status status = PREM_OK;
  *out = NULL;
  *count = 0;
  for (int32_t i = 0; !status && i < versions->use_count; ++i)
    if (!versions->uses[i].writes)
      status = add_edges(versions, &versions->uses[i], out, count);
  return status;
}

void prem_version_edges_free(prem_version_edge *edges, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    free(edges[i].needed_jobs);
  free(edges);
}

/* ---- judging --------------------------------------------------------------------------------- */

PREM_PRINTF(4, 5)
static bool refuse(const prem_schedule *schedule, int32_t t, prem_diag *diag, const char *format,
                   ...) {
  char key[PREM_NAME_BYTES + 16], reason[700];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  snprintf(key, sizeof key, "tasks.%s.arrays", schedule->tasks[t].name);
  prem_diag_add(diag, PREM_ERROR, 49, schedule->tasks[t].place, key, "%s", reason);
  return false;
}

/* A version is the work of one job. */
static bool judge_writer(const prem_versions *v, const prem_version_use *use, prem_diag *diag) {
  const prem_versioned *array = &v->arrays[use->of];
  const prem_schedule *schedule = v->schedule;
  const char *name = schedule->arrays[array->array].name;
  const char *kind = array->versions > 1 ? "state array" : "array";
  if (use->task != array->writer)
    return refuse(schedule, use->task, diag,
                  "writes %s '%s', which task '%s' writes as well%s: give each an array of its own",
                  kind, name, schedule->tasks[array->writer].name,
                  array->versions > 1 ? "" : ", and which is made of a state array");
  for (int32_t p = 0; p < use->port; ++p)
    if (is_output(&schedule->tasks[use->task], p) &&
        schedule->tasks[use->task].arrays[p] == array->array)
      return refuse(schedule, use->task, diag,
                    "writes %s '%s' by two of its outputs: use two arrays", kind, name);
  return true;
}

static bool judge_reader(const prem_versions *v, const prem_version_use *use, prem_diag *diag) {
  const prem_schedule *schedule = v->schedule;
  const prem_versioned *array = &v->arrays[use->of];
  const char *name = schedule->arrays[array->array].name, *task = schedule->tasks[use->task].name,
             *writer = schedule->tasks[array->writer].name;
  if (use->is_ordered)
    return true;
  if (array->versions > 1)
    return refuse(schedule, use->task, diag,
                  "reads state array '%s', but comes neither after task '%s', which writes it, nor "
                  "before its same job, so that nothing says which version it would see: let '%s' "
                  "come `after` '%s' to see its new one, or '%s' come `after` the same job of '%s' "
                  "to see the last one",
                  name, writer, task, writer, writer, task);
  return refuse(schedule, use->task, diag,
                "reads array '%s', which is made of a state array and so changes from job to job, "
                "but does not come after the same job of task '%s', which writes it: let it, or "
                "give '%s' `versions`",
                name, writer, name);
}

bool prem_judge_versions(const prem_schedule *schedule, prem_status *status, prem_diag *diag) {
  prem_versions versions;
  bool is_good = true;
  *status = prem_versions_new(schedule, &versions);
  for (int32_t i = 0; !*status && i < versions.use_count; ++i)
    is_good &= versions.uses[i].writes ? judge_writer(&versions, &versions.uses[i], diag)
                                       : judge_reader(&versions, &versions.uses[i], diag);
  prem_versions_free(&versions);
  return is_good && !*status;
}
