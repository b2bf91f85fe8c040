/* SPDX-License-Identifier: Apache-2.0 */
#include "prem/model/conflicts.h"

#include "prem/base/list.h"
#include "prem/base/sorting.h"

/* One task's use of one array. */
typedef struct array_use {
  int32_t array, task;
  bool writes;
} array_use;

typedef struct finding {
  const prem_schedule *schedule;
  array_use *uses;
  prem_conflict *conflicts;
  int64_t use_count, conflict_count;
} finding;

static int by_array(const void *left, const void *right) {
  const array_use *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->array, a->task}, (int64_t[]){b->array, b->task}, 2);
}

static int by_task(const void *left, const void *right) {
  const prem_conflict *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->task, a->before, a->phase},
                         (int64_t[]){b->task, b->before, b->phase}, 3);
}

static bool is_kept(const finding *f, const prem_versions *versions, int32_t array) {
  return versions ? prem_is_versioned(versions, array) : f->schedule->arrays[array].versions != 0;
}

static bool list_uses(finding *f, const prem_versions *versions) {
  for (int32_t t = 0; t < f->schedule->task_count; ++t) {
    const prem_task *task = &f->schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p) {
      const bool writes = task->definition->ports[p].access == PREM_OUT;
      if (!is_kept(f, versions, task->arrays[p]) &&
          !PREM_APPEND(f->uses, f->use_count, (array_use){task->arrays[p], t, writes}))
        return false;
    }
  }
  if (f->use_count > 0)
    qsort(f->uses, (size_t)f->use_count, sizeof *f->uses, by_array);
  return true;
}

static bool add(finding *f, const array_use *use, const array_use *before) {
  const bool is_whole = f->schedule->tasks[use->task].definition->compatible;
  const prem_conflict made = {use->task, before->task,
                              is_whole      ? PREM_COMPUTE
                              : use->writes ? PREM_WRITEBACK
                                            : PREM_PREFETCH};
  return PREM_APPEND(f->conflicts, f->conflict_count, made);
}

/* Each writer of an array and each of its other users, both ways. */
static bool add_all(finding *f, const array_use *uses, int64_t count) {
  for (int64_t w = 0; w < count; ++w)
    for (int64_t u = 0; uses[w].writes && u < count; ++u)
      if (uses[u].task != uses[w].task &&
          (!add(f, &uses[w], &uses[u]) || (!uses[u].writes && !add(f, &uses[u], &uses[w]))))
        return false;
  return true;
}

/* Tasks may share several arrays. */
static void say_once(finding *f) {
  int64_t kept = 0;
  if (f->conflict_count > 0)
    qsort(f->conflicts, (size_t)f->conflict_count, sizeof *f->conflicts, by_task);
  for (int64_t i = 0; i < f->conflict_count; ++i)
    if (i == 0 || by_task(&f->conflicts[i], &f->conflicts[kept - 1]) != 0)
      f->conflicts[kept++] = f->conflicts[i];
  f->conflict_count = kept;
}

prem_status prem_conflicts_new(const prem_schedule *schedule, const prem_versions *versions,
                               prem_conflict **out, int64_t *count) {
  finding f = {.schedule = schedule};
  bool found = list_uses(&f, versions);
  for (int64_t first = 0, next; first < f.use_count && found; first = next) {
    for (next = first; next < f.use_count && f.uses[next].array == f.uses[first].array;)
      ++next;
    found = add_all(&f, &f.uses[first], next - first);
  }
  say_once(&f);
  free(f.uses);
  if (!found)
    free(f.conflicts);
  *out = found ? f.conflicts : NULL;
  *count = found ? f.conflict_count : 0;
  return found ? PREM_OK : PREM_ERR_MEMORY;
}
