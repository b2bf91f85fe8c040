/* SPDX-License-Identifier: Apache-2.0 */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

struct plain_tracker {
  const prem_schedule *schedule;
  void **arrays; /* [array_count] */
};

static size_t bytes_of(const prem_array *array) {
  size_t bytes = (size_t)prem_type_bytes(array->type);
  for (int d = 0; d < PREM_MAX_RANK; ++d)
    bytes *= (size_t)array->shape[d];
  return bytes;
}

plain_tracker *plain_new(const prem_schedule *schedule) {
  plain_tracker *plain = calloc(1, sizeof *plain);
  if (!plain)
    return NULL;
  plain->schedule = schedule;
  plain->arrays = calloc((size_t)schedule->array_count, sizeof *plain->arrays);
  for (int32_t a = 0; plain->arrays && a < schedule->array_count; ++a)
    if (!(plain->arrays[a] = calloc(1, bytes_of(&schedule->arrays[a])))) {
      plain_free(plain);
      return NULL;
    }
  if (plain->arrays)
    return plain;
  plain_free(plain);
  return NULL;
}

void plain_free(plain_tracker *plain) {
  if (!plain)
    return;
  for (int32_t a = 0; plain->arrays && a < plain->schedule->array_count; ++a)
    free(plain->arrays[a]);
  free(plain->arrays);
  free(plain);
}

void *plain_array(plain_tracker *plain, const char *name) {
  for (int32_t a = 0; a < plain->schedule->array_count; ++a)
    if (strcmp(plain->schedule->arrays[a].name, name) == 0)
      return plain->arrays[a];
  return NULL;
}

/* A state array is read and written by one task: that reads a copy. */
static bool run_task(plain_tracker *plain, const prem_task *task) {
  const prem_kernel *kernel = task->definition;
  prem_array_view views[PREM_MAX_PORTS];
  void *copies[PREM_MAX_PORTS] = {NULL};
  bool good = true;
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const prem_array *array = &plain->schedule->arrays[task->arrays[p]];
    views[p].data = plain->arrays[task->arrays[p]];
    memcpy(views[p].shape, array->shape, sizeof views[p].shape);
    if (kernel->ports[p].access != PREM_IN || array->versions == 0)
      continue;
    views[p].data = copies[p] = malloc(bytes_of(array));
    good = good && copies[p];
    if (copies[p])
      memcpy(copies[p], plain->arrays[task->arrays[p]], bytes_of(array));
  }
  if (good)
    kernel->reference(task->params, views);
  for (int32_t p = 0; p < kernel->port_count; ++p)
    free(copies[p]);
  return good;
}

bool plain_step(plain_tracker *plain) {
  for (int32_t t = 0; t < plain->schedule->task_count; ++t)
    if (!run_task(plain, &plain->schedule->tasks[t]))
      return false;
  return true;
}
