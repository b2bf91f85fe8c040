/* SPDX-License-Identifier: Apache-2.0 */
/* Another kernel in a task's place: the same blocks, tiles, instants and windows. */
#include "prem/model/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of an input; the shape of an output is for the kernel to say. */
static bool add_array(prem_schedule *schedule, int32_t number, const char *port, int64_t elements) {
  const size_t count = (size_t)schedule->array_count;
  prem_array *grown = reallocarray(schedule->arrays, count + 1, sizeof *grown);
  if (!grown)
    return false;
  schedule->arrays = grown;
  prem_array *array = &grown[schedule->array_count++];
  *array = elements > 0 ? (prem_array){.type = PREM_F32,
                                       .rank = 1,
                                       .shape = {1, 1, 1, elements},
                                       .fill = PREM_FILL_RANDOM,
                                       .seed = (uint64_t)number + 1,
                                       .writer = -1}
                        : (prem_array){.writer = number};
  snprintf(array->name, sizeof array->name, "%.50s.%s", schedule->tasks[number].name, port);
  return true;
}

static void forget_kernel(prem_task *task) {
  prem_task_forget_binding(task);
  for (int32_t i = 0; i < task->arg_count; ++i) {
    free(task->args[i].values);
    free(task->args[i].ints);
  }
  task->arg_count = 0;
}

static prem_status connect(prem_schedule *schedule, int32_t number, int64_t elements) {
  static const char *const ports[] = {"in", "out"};
  prem_task *task = &schedule->tasks[number];
  char(*names)[PREM_NAME_BYTES] = calloc(2, sizeof *names);
  int32_t *arrays = calloc(2, sizeof *arrays);
  if (!names || !arrays) {
    free(names);
    free(arrays);
    return PREM_ERR_MEMORY;
  }
  free(task->port_names);
  free(task->port_arrays);
  task->port_names = names;
  task->port_arrays = arrays;
  task->port_count = 2;
  for (int p = 0; p < 2; ++p) {
    strcpy(names[p], ports[p]);
    arrays[p] = schedule->array_count;
    if (!add_array(schedule, number, ports[p], p == 0 ? elements : 0))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

prem_status prem_schedule_replace(prem_schedule *schedule, int32_t number, const char *kernel,
                                  int32_t elements, const prem_registry *registry,
                                  prem_diag *diag) {
  prem_task *task = &schedule->tasks[number];
  const int32_t tiles = task->tile_count;
  forget_kernel(task);
  snprintf(task->kernel, sizeof task->kernel, "%s", kernel);
  task->tile_rank = 1;
  memset(task->tile, 0, sizeof task->tile);
  task->tile[0] = elements;
  task->tile_count = 0;
  prem_status status = connect(schedule, number, (int64_t)tiles * elements);
  schedule->bound = false;
  return status == PREM_OK ? prem_schedule_bind(schedule, registry, diag) : status;
}
