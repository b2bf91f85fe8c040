/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: what a task's kernel makes of its arrays, tile and arguments. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/suggest.h"
#include "prem/model/bind_again.h"
#include "prem/model/by_block.h"
#include "prem/model/cover.h"
#include "prem/model/deal.h"
#include "prem/model/private.h"
#include "prem/model/scratchpad.h"
#include "prem/model/tile.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const prem_kernel *prem_registry_find(const prem_registry *registry, const char *name) {
  for (int32_t i = 0; i < registry->count; ++i)
    if (strcmp(registry->kernels[i]->name, name) == 0)
      return registry->kernels[i];
  return NULL;
}

/* ---- what kernels call ----------------------------------------------------------------------- */

prem_status prem_bind_refuse(prem_bind *bind, const char *key, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(bind->reason, sizeof bind->reason, format, args);
  va_end(args);
  snprintf(bind->key, sizeof bind->key, "%s", key);
  return PREM_ERR_INVALID;
}

/* NULL: the file does not give it. */
static prem_arg *find_arg(prem_bind *bind, const char *key) {
  for (int32_t i = 0; i < bind->arg_count; ++i)
    if (strcmp(bind->args[i].key, key) == 0) {
      bind->args[i].used = true;
      return &bind->args[i];
    }
  return NULL;
}

static prem_status refuse_count(prem_bind *bind, const prem_arg *arg, int32_t count) {
  char key[PREM_NAME_BYTES + 8];
  snprintf(key, sizeof key, "args.%s", arg->key);
  return prem_bind_refuse(bind, key, "has %d numbers, %d are needed", arg->count, count);
}

prem_status prem_arg_floats(prem_bind *bind, const char *key, float *out, int32_t count) {
  const prem_arg *arg = find_arg(bind, key);
  if (!arg)
    return PREM_OK;
  if (arg->count != count)
    return refuse_count(bind, arg, count);
  for (int32_t i = 0; i < count; ++i)
    if (!(fabs(arg->values[i]) <= (double)FLT_MAX)) {
      char name[PREM_NAME_BYTES + 8];
      snprintf(name, sizeof name, "args.%s", key);
      return prem_bind_refuse(bind, name, "%g is beyond what a 32-bit float holds", arg->values[i]);
    }
  for (int32_t i = 0; i < count; ++i)
    out[i] = (float)arg->values[i];
  return PREM_OK;
}

prem_status prem_arg_ints(prem_bind *bind, const char *key, int64_t *out, int32_t count) {
  const prem_arg *arg = find_arg(bind, key);
  if (!arg)
    return PREM_OK;
  if (arg->count != count)
    return refuse_count(bind, arg, count);
  if (!arg->is_int) {
    char name[PREM_NAME_BYTES + 8];
    snprintf(name, sizeof name, "args.%s", key);
    return prem_bind_refuse(bind, name, "must be written as integers");
  }
  memcpy(out, arg->ints, (size_t)count * sizeof *out);
  return PREM_OK;
}

/* ---- refusing -------------------------------------------------------------------------------- */

/* Problem `code` of a task: `key` is relative to the task. */
static prem_status refuse(prem_task *task, prem_diag *diag, int code, prem_place place,
                          const char *key, const char *format, ...) PREM_PRINTF(6, 7);

static prem_status refuse(prem_task *task, prem_diag *diag, int code, prem_place place,
                          const char *key, const char *format, ...) {
  char reason[512], path[3 * PREM_NAME_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  snprintf(path, sizeof path, "tasks.%s.%s", task->name, key);
  prem_diag_add(diag, PREM_ERROR, code, place, path, "%s", reason);
  task->broken = true;
  return PREM_ERR_INVALID;
}

static const char *kernel_name(const void *from, int32_t index) {
  return ((const prem_registry *)from)->kernels[index]->name;
}

/* The place of "args.KEY", else the task's. */
static prem_place place_of_key(const prem_task *task, const char *key) {
  for (int32_t i = 0; i < task->arg_count; ++i)
    if (strncmp(key, "args.", 5) == 0 && strcmp(key + 5, task->args[i].key) == 0)
      return task->args[i].place;
  return task->place;
}

/* ---- ports ----------------------------------------------------------------------------------- */

static int32_t port_of(const prem_kernel *kernel, const char *name) {
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (strcmp(kernel->ports[p].name, name) == 0)
      return p;
  return -1;
}

static void list_ports(const prem_kernel *kernel, char *out, size_t out_bytes) {
  size_t used = 0;
  snprintf(out, out_bytes, "none");
  for (int32_t p = 0; p < kernel->port_count && used < out_bytes; ++p)
    used +=
        (size_t)snprintf(out + used, out_bytes - used, "%s%s (%s)", p ? ", " : "",
                         kernel->ports[p].name, kernel->ports[p].access == PREM_IN ? "in" : "out");
}

/* As bits: the types that a port's array may have. */
static uint32_t types_of(const prem_kernel *kernel, int32_t port) {
  return kernel->port_types ? kernel->port_types[port] : PREM_TYPE_BIT(kernel->ports[port].type);
}

/* "u8, u16 or f32" */
static void list_types(uint32_t types, char *out, size_t out_bytes) {
  size_t used = 0;
  for (int type = 0; type < PREM_TYPE_COUNT && used < out_bytes; ++type) {
    if (!(types & PREM_TYPE_BIT(type)))
      continue;
    types &= ~PREM_TYPE_BIT(type);
    used += (size_t)snprintf(out + used, out_bytes - used, "%s%s",
                             used == 0 ? ""
                             : types   ? ", "
                                       : " or ",
                             prem_type_name((prem_type)type));
  }
}

/* Which of the file's arrays each port of the kernel has. */
static prem_status connect_ports(prem_schedule *schedule, prem_task *task,
                                 const prem_kernel *kernel, prem_diag *diag) {
  char ports[256];
  list_ports(kernel, ports, sizeof ports);
  prem_status status = PREM_OK;
  for (int32_t p = 0; p < kernel->port_count; ++p)
    task->arrays[p] = -1;
  for (int32_t i = 0; i < task->port_count; ++i) {
    char key[PREM_NAME_BYTES + 8];
    snprintf(key, sizeof key, "arrays.%s", task->port_names[i]);
    const int32_t p = port_of(kernel, task->port_names[i]);
    const prem_array *array = &schedule->arrays[task->port_arrays[i]];
    if (p < 0) {
      status = refuse(task, diag, 31, task->place, key, "kernel '%s' has no such array; it has: %s",
                      kernel->name, ports);
      continue;
    }
    task->arrays[p] = task->port_arrays[i];
    const bool is_new = array->rank == 0;
    const bool is_other = array->writer != task - schedule->tasks;
    if (is_new && is_other && array->writer >= 0 && schedule->tasks[array->writer].broken) {
      task->broken = true; /* as the writer's error says */
      status = PREM_ERR_INVALID;
    } else if (is_new && is_other)
      status = refuse(task, diag, 31, task->place, key,
                      "array '%s' has no shape: the task that writes it waits for this one",
                      array->name);
    else if (is_new && kernel->ports[p].access == PREM_IN)
      status = refuse(task, diag, 31, task->place, key,
                      "an input cannot be \"new\"; name an array of the file");
    else if (!is_new && !(types_of(kernel, p) & PREM_TYPE_BIT(array->type))) {
      char types[128];
      list_types(types_of(kernel, p), types, sizeof types);
      status = refuse(task, diag, 31, task->place, key, "array '%s' is %s, the kernel takes %s",
                      array->name, prem_type_name(array->type), types);
    }
  }
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (task->arrays[p] < 0)
      status =
          refuse(task, diag, 31, task->place, "arrays", "'%s' is missing: kernel '%s' takes %s",
                 kernel->ports[p].name, kernel->name, ports);
  return status;
}

/* ---- asking the kernel ----------------------------------------------------------------------- */

static void fill_bind(const prem_schedule *schedule, const prem_task *task,
                      const prem_kernel *kernel, prem_bind *bind) {
  *bind = (prem_bind){.args = task->args,
                      .arg_count = task->arg_count,
                      .tile_rank = task->tile_rank,
                      .tiles = task->tile_count};
  memcpy(bind->tile, task->tile, sizeof bind->tile);
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const prem_array *array = &schedule->arrays[task->arrays[p]];
    bind->rank[p] = array->rank;
    memcpy(bind->shape[p], array->shape, sizeof bind->shape[p]);
    bind->type[p] = array->rank == 0 ? kernel->ports[p].type : array->type;
  }
}

/* Is the window of every tile within the array? */
static bool is_inside(const int32_t grid[PREM_MAX_GRID], const prem_window *window,
                      const int64_t shape[4]) {
  for (int d = 0; d < PREM_MAX_RANK; ++d) {
    int64_t first = window->base[d], last = window->base[d] + window->extent[d];
    for (int k = 0; k < PREM_MAX_GRID; ++k) {
      const int64_t way = window->step[d][k] * (grid[k] - 1);
      first += way < 0 ? way : 0;
      last += way > 0 ? way : 0;
    }
    if (first < 0 || last > shape[d])
      return false;
  }
  return true;
}

/* Of an aimed window: what it is aimed by, and does it fit into its array? */
static prem_status judge_aim(prem_task *task, const prem_kernel *kernel, const prem_bind *bind,
                             int32_t port, prem_diag *diag) {
  const prem_window *window = &bind->window[port];
  const int32_t from = window->aim - 1;
  const bool is_input = from >= 0 && from < kernel->port_count && from != port &&
                        kernel->ports[from].access == PREM_IN && bind->window[from].aim == 0 &&
                        bind->type[from] == PREM_I32;
  const int32_t *numbers = is_input ? bind->window[from].extent : NULL;
  if (kernel->compatible || kernel->ports[port].access != PREM_IN || !numbers || numbers[0] != 1 ||
      numbers[1] != 1 || numbers[2] != 1 || numbers[3] > PREM_MAX_RANK ||
      !is_inside(bind->grid, &bind->window[from], bind->shape[from]))
    return refuse(
        task, diag, 31, task->place, "kernel",
        "kernel '%s' aims the window of '%s' by what is not a row of 1 to %d numbers of an "
        "i32 input within its array",
        kernel->name, kernel->ports[port].name, PREM_MAX_RANK);
  for (int d = PREM_MAX_RANK - numbers[3]; d < PREM_MAX_RANK; ++d) {
    if (bind->shape[port][d] < window->extent[d])
      return refuse(task, diag, 31, task->place,
                    prem_key("arrays.%s", kernel->ports[port].name).text,
                    "has %" PRId64 " elements where kernel '%s' aims a window of %d; give it at "
                    "least as many",
                    bind->shape[port][d], kernel->name, window->extent[d]);
  }
  return PREM_OK;
}

/* What a careless kernel could give: judged before anything is computed from it. */
static prem_status judge_bind(prem_task *task, const prem_kernel *kernel, const prem_bind *bind,
                              prem_diag *diag) {
  int64_t tiles = 1;
  for (int32_t k = 0; k < PREM_MAX_GRID; ++k) {
    if (bind->grid[k] < 1 || tiles * bind->grid[k] > INT32_MAX)
      return refuse(task, diag, 31, task->place, "tile",
                    "kernel '%s' makes a grid of %d x %d x %d tiles of it; 1 to %d are allowed",
                    kernel->name, bind->grid[0], bind->grid[1], bind->grid[2], INT32_MAX);
    tiles *= bind->grid[k];
  }
  for (int32_t p = 0; p < kernel->port_count; ++p)
    for (int d = 0; d < PREM_MAX_RANK; ++d)
      if (bind->window[p].extent[d] < 1)
        return refuse(task, diag, 31, task->place, "kernel",
                      "kernel '%s' gives an empty window of '%s'", kernel->name,
                      kernel->ports[p].name);
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (bind->window[p].aim != 0 && judge_aim(task, kernel, bind, p, diag) != PREM_OK)
      return PREM_ERR_INVALID;
  if (bind->work_bytes < 0 ||
      (bind->work_bytes > 0 && (kernel->port_count >= PREM_MAX_PORTS || kernel->compatible)))
    return refuse(task, diag, 31, task->place, "kernel",
                  "kernel '%s' wants a work area of %d bytes; kernels of at most %d ports that are "
                  "no compatible intervals can have one",
                  kernel->name, bind->work_bytes, PREM_MAX_PORTS - 1);
  for (int32_t i = 0; i < task->arg_count; ++i)
    if (!task->args[i].used) {
      char key[PREM_NAME_BYTES + 8];
      snprintf(key, sizeof key, "args.%s", task->args[i].key);
      return refuse(task, diag, 31, task->args[i].place, key,
                    "kernel '%s' has no such argument; see `ttprem list`", kernel->name);
    }
  return PREM_OK;
}

static prem_status make_new_arrays(prem_schedule *schedule, prem_task *task,
                                   const prem_kernel *kernel, const prem_bind *bind,
                                   prem_diag *diag) {
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    prem_array *array = &schedule->arrays[task->arrays[p]];
    if (array->rank != 0)
      continue;
    int64_t elements = 1;
    const bool is_possible = bind->new_rank[p] >= 1 && bind->new_rank[p] <= PREM_MAX_RANK;
    for (int d = 0; d < PREM_MAX_RANK; ++d) {
      if (!is_possible || bind->new_shape[p][d] < 1 ||
          elements > PREM_MAX_ELEMENTS / bind->new_shape[p][d])
        return refuse(task, diag, 31, task->place, "arrays",
                      "kernel '%s' gives \"new\" '%s' no size that is possible", kernel->name,
                      kernel->ports[p].name);
      elements *= bind->new_shape[p][d];
    }
    array->made = true;
    array->type = kernel->ports[p].type;
    array->rank = bind->new_rank[p];
    memcpy(array->shape, bind->new_shape[p], sizeof array->shape);
  }
  return PREM_OK;
}

/* What several tiles write depends on which comes last, and what none writes is what was there. */
static prem_status judge_outputs(const prem_schedule *schedule, prem_task *task,
                                 const prem_kernel *kernel, const prem_bind *bind,
                                 prem_diag *diag) {
  char reason[256];
  for (int32_t p = 0; p < kernel->port_count; ++p)
    if (kernel->ports[p].access == PREM_OUT &&
        !prem_is_cut(bind->grid, &bind->window[p], schedule->arrays[task->arrays[p]].shape,
                     kernel->ports[p].name, reason, sizeof reason))
      return refuse(task, diag, 31, task->place, "kernel", "kernel '%s': %s", kernel->name, reason);
  return PREM_OK;
}

/* ---- compatible intervals -------------------------------------------------------------------- */

/* Their views lie in the arrays: what a window reads beyond one cannot be 0 there, and distances in
 * it are 32-bit. They have no phase that moves anything, and no scratchpad. */
static prem_status judge_compatible(const prem_schedule *schedule, prem_task *task,
                                    const prem_kernel *kernel, prem_diag *diag) {
  static const prem_phase moves[] = {PREM_PREFETCH, PREM_WRITEBACK};
  for (size_t i = 0; i < sizeof moves / sizeof *moves; ++i)
    if (task->phase[moves[i]].exists)
      return refuse(task, diag, 29, task->phase[moves[i]].place, prem_phase_name(moves[i]),
                    "kernel '%s' is a compatible interval, at the memory while it computes: it has "
                    "no %s; leave it out",
                    kernel->name, prem_phase_name(moves[i]));
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    const prem_array *array = &schedule->arrays[task->arrays[p]];
    const int64_t *shape = array->shape;
    if (kernel->ports[p].access == PREM_IN && !is_inside(task->grid, &task->windows[p], shape))
      return refuse(task, diag, 31, task->place, "arrays",
                    "kernel '%s' reads beyond '%s', and has no scratchpad in which that is 0",
                    kernel->name, array->name);
    if (shape[0] * shape[1] * shape[2] * (shape[3] + PREM_PIECE_BYTES) > INT32_MAX)
      return refuse(task, diag, 31, task->place, "arrays",
                    "array '%s' has too many elements for a compatible interval; some %d are the "
                    "most",
                    array->name, INT32_MAX);
    task->layout[p].element_bytes = prem_type_bytes(array->type);
  }
  return PREM_OK;
}

/* ---- a CUDA graph of the application's ------------------------------------------------------- */

bool prem_task_is_cuda_graph(const prem_task *task) {
  return strcmp(task->kernel, PREM_CUDA_GRAPH) == 0;
}

/* It has no instant, and its bound is that of all that begins as one with it. */
static prem_status judge_cuda_graph(const prem_schedule *schedule, prem_task *task,
                                    prem_diag *diag) {
  if (!task->best_effort)
    return refuse(task, diag, 55, task->place, "kernel",
                  "an application's graph has no instant: give the task class = \"best_effort\"");
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].best_effort && &schedule->tasks[t] != task)
      return refuse(task, diag, 55, task->place, "kernel",
                    "an application's graph begins whole, as all of best effort, and '%s' is best "
                    "effort too: leave one of them out",
                    schedule->tasks[t].name);
  return PREM_OK;
}

/* ---- binding --------------------------------------------------------------------------------- */

static prem_status allocate(prem_task *task, const prem_kernel *kernel) {
  const size_t ports = kernel->port_count > 0 ? (size_t)kernel->port_count : 1;
  task->windows = calloc(ports, sizeof *task->windows);
  task->arrays = calloc(ports, sizeof *task->arrays);
  task->layout = calloc((size_t)kernel->port_count + 1, sizeof *task->layout);
  task->params = calloc(1, PREM_PARAMS_BYTES);
  return task->windows && task->arrays && task->layout && task->params ? PREM_OK : PREM_ERR_MEMORY;
}

/* Arrays imply the phases that move them, code a compute. False: there is none at all. A compatible
 * interval is one compute, and at the memory all the time. */
static bool imply_phases(prem_task *task, const prem_kernel *kernel) {
  if (kernel->compatible && task->phase[PREM_COMPUTE].demand[0] < 1)
    task->phase[PREM_COMPUTE].demand[0] = 1;
  for (int32_t p = 0; p < kernel->port_count && !kernel->compatible; ++p)
    task->phase[kernel->ports[p].access == PREM_IN ? PREM_PREFETCH : PREM_WRITEBACK].exists = true;
  if (kernel->compute)
    task->phase[PREM_COMPUTE].exists = true;
  bool has_phase = false;
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    has_phase |= task->phase[phase].exists;
    if (!task->phase[phase].exists) /* a profile may name more phases than the kernel has */
      task->phase[phase].wcet_ns = task->phase[phase].busy_ns = 0;
  }
  return has_phase;
}

static prem_status ask_kernel(prem_schedule *schedule, prem_task *task, const prem_kernel *kernel,
                              prem_diag *diag) {
  if (kernel->params_bytes > PREM_PARAMS_BYTES) /* bind would write beyond what it gets */
    return refuse(task, diag, 31, task->place, "kernel",
                  "kernel '%s' has %u bytes of parameters; %d are the most: give it the rest as an "
                  "array",
                  kernel->name, kernel->params_bytes, PREM_PARAMS_BYTES);
  prem_bind *bind = malloc(sizeof *bind);
  if (!bind)
    return PREM_ERR_MEMORY;
  fill_bind(schedule, task, kernel, bind);
  task->tile_open &= kernel->port_count > 0;
  const bool is_chosen = task->tile_open && task->tile_rank == 0;
  prem_status status =
      is_chosen ? prem_tile_choose(schedule, task, kernel, bind) : kernel->bind(bind);
  if (status == PREM_ERR_INVALID)
    refuse(task, diag, 31, place_of_key(task, bind->key), bind->key, "%s", bind->reason);
  if (status == PREM_OK)
    status = judge_bind(task, kernel, bind, diag);
  if (status == PREM_OK)
    status = make_new_arrays(schedule, task, kernel, bind, diag);
  if (status == PREM_OK)
    status = judge_outputs(schedule, task, kernel, bind, diag);
  if (status == PREM_OK) {
    memcpy(task->grid, bind->grid, sizeof task->grid);
    memcpy(task->windows, bind->window, (size_t)kernel->port_count * sizeof *task->windows);
    memcpy(task->params, bind->params.bytes, PREM_PARAMS_BYTES);
    task->work_bytes = bind->work_bytes;
    task->tile_count = bind->grid[0] * bind->grid[1] * bind->grid[2];
  }
  free(bind);
  return status;
}

/* The same tiles, and the same of each array. */
static bool is_same_work(const prem_task *task, const prem_bind *bind) {
  const size_t ports = (size_t)task->definition->port_count;
  return memcmp(task->grid, bind->grid, sizeof task->grid) == 0 &&
         task->work_bytes == bind->work_bytes &&
         memcmp(task->windows, bind->window, ports * sizeof *task->windows) == 0;
}

prem_status prem_bind_again(const prem_schedule *schedule, int32_t number, prem_arg *args,
                            int32_t arg_count, unsigned char params[PREM_PARAMS_BYTES],
                            prem_diag *diag) {
  prem_task task = schedule->tasks[number]; /* refusing marks it */
  prem_bind *bind = malloc(sizeof *bind);
  if (!bind)
    return PREM_ERR_MEMORY;
  task.args = args;
  task.arg_count = arg_count;
  fill_bind(schedule, &task, task.definition, bind);
  bind->tiles = task.definition->port_count > 0 ? 0 : task.tile_count;
  prem_status status = task.definition->bind(bind);
  if (status == PREM_ERR_INVALID)
    refuse(&task, diag, 31, (prem_place){0}, bind->key, "%s", bind->reason);
  if (status == PREM_OK)
    status = judge_bind(&task, task.definition, bind, diag);
  if (status == PREM_OK && !is_same_work(&task, bind))
    status = refuse(&task, diag, 31, (prem_place){0}, "args",
                    "the tiles or windows would change, which the plan is made for");
  if (status == PREM_OK)
    memcpy(params, bind->params.bytes, PREM_PARAMS_BYTES);
  free(bind);
  return status;
}

/* The task's kernel; NULL, and said, where there is none of that name. */
static const prem_kernel *find_kernel(prem_task *task, const prem_registry *registry,
                                      prem_diag *diag) {
  const prem_kernel *kernel = prem_registry_find(registry, task->kernel);
  char names[384];
  if (kernel)
    return kernel;
  prem_list_words(kernel_name, registry, registry->count, names, sizeof names);
  const prem_shown near = prem_suggest(task->kernel, kernel_name, registry, registry->count);
  refuse(task, diag, 24, task->place, "kernel",
         "there is no kernel '%s' in this build%s it has: %s, and \"none\"", task->kernel,
         near.text[0] ? near.text : ";", names);
  return NULL;
}

static prem_status bind_task(prem_schedule *schedule, int32_t number, const prem_registry *registry,
                             prem_diag *diag) {
  prem_task *task = &schedule->tasks[number];
  const prem_kernel *kernel = find_kernel(task, registry, diag);
  if (!kernel)
    return PREM_ERR_INVALID;
  if (kernel->port_count > 0 && task->tile_count > 0)
    return refuse(
        task, diag, 31, task->place, "tiles",
        "kernel '%s' has arrays: its tiles follow from them and from `tile`; leave `tiles` "
        "out",
        kernel->name);
  prem_status status = allocate(task, kernel);
  if (status == PREM_OK && prem_task_is_cuda_graph(task))
    status = judge_cuda_graph(schedule, task, diag);
  if (status == PREM_OK)
    status = connect_ports(schedule, task, kernel, diag);
  if (status == PREM_OK)
    status = ask_kernel(schedule, task, kernel, diag);
  if (status == PREM_OK && kernel->compatible)
    status = judge_compatible(schedule, task, kernel, diag);
  else if (status == PREM_OK && !prem_scratchpad_lay_out(schedule, task, kernel))
    status = refuse(task, diag, 41, task->place, "tile",
                    "a tile needs more than 2 GiB of scratchpad; take a smaller one");
  if (status != PREM_OK)
    return status;
  if (!imply_phases(task, kernel))
    return refuse(task, diag, 29, task->place, "kernel",
                  "kernel '%s' implies no phase; give prefetch, compute or writeback",
                  kernel->name);
  task->definition = kernel;
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    prem_array *array = &schedule->arrays[task->arrays[p]];
    if (kernel->ports[p].access == PREM_OUT && (array->writer < 0 || array->writer > number))
      array->writer = number;
  }
  return PREM_OK;
}

/* Does the task read a "new" output of another one that is not bound yet? */
static bool must_wait(const prem_schedule *schedule, int32_t number) {
  const prem_task *task = &schedule->tasks[number];
  for (int32_t i = 0; i < task->port_count; ++i) {
    const prem_array *array = &schedule->arrays[task->port_arrays[i]];
    if (array->rank == 0 && array->writer != number)
      return true;
  }
  return false;
}

static bool is_unbound(const prem_task *task) {
  return !task->definition && strcmp(task->kernel, "none") != 0;
}

static bool was_said(const prem_diag *diag, const char *task) {
  char key[3 * PREM_NAME_BYTES];
  snprintf(key, sizeof key, "tasks.%s.kernel", task);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->code == 24 && !strcmp(prem_diag_at(diag, i)->key, key))
      return true;
  return false;
}

/* Of tasks in error, which are not bound, says which kernels are none: once, and before the rest.
 */
static void name_kernels(prem_schedule *schedule, const prem_registry *registry, prem_diag *diag) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    prem_task *task = &schedule->tasks[t];
    if (task->broken && task->kernel[0] && is_unbound(task) && !was_said(diag, task->name))
      find_kernel(task, registry, diag);
  }
}

/* Binds what can be bound, writers of "new" arrays before their readers. */
static prem_status bind_tasks(prem_schedule *schedule, const prem_registry *registry,
                              prem_diag *diag) {
  bool is_last_round = false;
  name_kernels(schedule, registry, diag);
  for (;;) {
    int32_t bound = 0, waiting = 0;
    for (int32_t t = 0; t < schedule->task_count; ++t) {
      const prem_task *task = &schedule->tasks[t];
      if (task->broken || !is_unbound(task))
        continue;
      if (!is_last_round && must_wait(schedule, t)) {
        ++waiting;
        continue;
      }
      if (bind_task(schedule, t, registry, diag) == PREM_ERR_MEMORY)
        return PREM_ERR_MEMORY;
      ++bound;
    }
    if (waiting == 0)
      return PREM_OK;
    is_last_round = bound == 0; /* those left wait for each other, or for tasks in error */
  }
}

static bool has_room(const prem_schedule *schedule) {
  const int64_t room = schedule->platform.scratch_bytes;
  for (int32_t b = 0; room > 0 && b < schedule->platform.blocks; ++b)
    if (prem_block_scratch_bytes(schedule, b) > room)
      return false;
  return true;
}

prem_status prem_schedule_bind(prem_schedule *schedule, const prem_registry *registry,
                               prem_diag *diag) {
  if (schedule->bound)
    return PREM_OK;
  prem_status status = PREM_OK;
  const bool did_fit = prem_schedule_fits(schedule, NULL);
  status = prem_tile_share(schedule);
  if (status == PREM_OK)
    status = bind_tasks(schedule, registry, diag);
  free(schedule->private_data->tile_blocks);
  schedule->private_data->tile_blocks = NULL;
  if (status != PREM_OK)
    return status;
  status = prem_deal_blocks(schedule, diag);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    prem_join_by_block(schedule, &schedule->tasks[t]);
  /* Where others have errors nothing is dealt, and nobody judges who has no block. */
  for (int32_t t = 0; t < schedule->task_count; ++t)
    schedule->tasks[t].broken |= schedule->tasks[t].block_count == 0;
  if (status)
    return status;
  if (prem_scratchpad_measure(schedule) != PREM_OK)
    return PREM_ERR_MEMORY;
  while (schedule->platform.buffers_open && !schedule->plan && schedule->platform.buffers > 1 &&
         !has_room(schedule))
    --schedule->platform.buffers;
  /* what the abstract tasks alone exceed was said when the file was read */
  bool is_good = prem_schedule_fits(schedule, did_fit ? diag : NULL);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    is_good &= !is_unbound(&schedule->tasks[t]);
  is_good = is_good && prem_judge_chains(schedule, diag) &&
            prem_judge_by_block(schedule, &status, diag) && prem_judge_live(schedule, diag) &&
            prem_judge_overruns(schedule, &status, diag) &&
            prem_judge_versions(schedule, &status, diag);
  if (status)
    return status;
  schedule->bound = is_good;
  return is_good ? PREM_OK : PREM_ERR_INVALID;
}

/* ---- anew ------------------------------------------------------------------------------------ */

void prem_task_forget_binding(prem_task *task) {
  PREM_FREE(task->windows, task->arrays, task->layout, task->params);
  task->windows = NULL;
  task->arrays = NULL;
  task->layout = NULL;
  task->params = NULL;
  task->definition = NULL;
}

/* As it was read. What arrays imply of its phases stays: they will imply the same. */
static void unbind_task(prem_task *task) {
  prem_task_forget_binding(task);
  task->broken = false;
  if (task->port_count > 0)
    task->tile_count = 0;
  if (task->tile_open)
    task->tile_rank = 0;
  if (task->blocks_open) {
    free(task->blocks);
    task->blocks = NULL;
    task->block_count = 0;
  }
}

prem_status prem_schedule_lay_out(prem_schedule *schedule, const prem_registry *registry,
                                  const prem_layout *layout, prem_diag *diag) {
  prem_schedule_set_plan(schedule, NULL);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    unbind_task(&schedule->tasks[t]);
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].made) {
      schedule->arrays[a].rank = 0;
      memset(schedule->arrays[a].shape, 0, sizeof schedule->arrays[a].shape);
    }
  if (schedule->platform.buffers_open)
    schedule->platform.buffers = layout->buffers;
  schedule->platform.tile_pct = layout->tile_pct;
  schedule->bound = false;
  return prem_schedule_bind(schedule, registry, diag);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

bool prem_window_clip(const prem_task *task, const prem_window *window, const int64_t shape[4],
                      int32_t tile, int64_t first[4], int64_t size[4]) {
  const int64_t index[PREM_MAX_GRID] = {tile / task->grid[2] / task->grid[1],
                                        tile / task->grid[2] % task->grid[1], tile % task->grid[2]};
  for (int d = 0; d < PREM_MAX_RANK; ++d) {
    int64_t begin = window->base[d];
    for (int k = 0; k < PREM_MAX_GRID; ++k)
      begin += window->step[d][k] * index[k];
    int64_t end = begin + window->extent[d];
    if (window->aim) { /* it may be anywhere */
      begin = 0;
      end = shape[d];
    }
    first[d] = begin > 0 ? begin : 0;
    end = end < shape[d] ? end : shape[d];
    if ((size[d] = end - first[d]) <= 0)
      return false;
  }
  return true;
}

int64_t prem_task_phase_bytes(const prem_schedule *schedule, const prem_task *task,
                              prem_phase phase, int32_t tile) {
  int64_t bytes = 0;
  if (!task->definition || phase == PREM_COMPUTE)
    return 0;
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const bool is_input = task->definition->ports[p].access == PREM_IN;
    if (is_input != (phase == PREM_PREFETCH))
      continue;
    int64_t first[4], size[4];
    const prem_array *array = &schedule->arrays[task->arrays[p]];
    if (task->windows[p].aim) { /* as if it began where most pieces are touched */
      bytes += (int64_t)task->layout[p].rows * task->layout[p].row_bytes;
      continue;
    }
    if (!prem_window_clip(task, &task->windows[p], array->shape, tile, first, size))
      continue;
    const int64_t element = task->layout[p].element_bytes;
    int64_t begin = first[3] * element, end = begin + size[3] * element;
    if (is_input) { /* whole 16-byte pieces; rows begin at a multiple of 16 */
      begin = begin / PREM_PIECE_BYTES * PREM_PIECE_BYTES;
      end = prem_round_up(end, PREM_PIECE_BYTES);
    }
    bytes += size[0] * size[1] * size[2] * (end - begin);
  }
  return bytes;
}
