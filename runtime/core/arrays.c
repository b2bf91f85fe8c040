/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a schedule: storage, filling, references, verifying, saving. */
#include "runtime/core/arrays.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/model/private.h"
#include "runtime/core/image.h"

enum { STORAGE_ALIGNMENT = 128, PITCH_ALIGNMENT = 16 };

/* ---- storage --------------------------------------------------------------------------------- */

static prem_storage storage_shape(const prem_array *array) {
  prem_storage storage = {
      .slots = 1, .element_bytes = prem_type_bytes(array->type), .type = array->type};
  memcpy(storage.shape, array->shape, sizeof storage.shape);
  storage.row_count = array->shape[0] * array->shape[1] * array->shape[2];
  storage.pitch_bytes = (array->shape[3] * storage.element_bytes + PITCH_ALIGNMENT - 1) /
                        PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  return storage;
}

static size_t storage_bytes(const prem_storage *storage) {
  return (size_t)(storage->pitch_bytes * storage->row_count);
}

static size_t aligned(size_t bytes) {
  return (bytes + STORAGE_ALIGNMENT - 1) / STORAGE_ALIGNMENT * STORAGE_ALIGNMENT;
}

static size_t slot_bytes(const prem_storage *storage) {
  return aligned(storage_bytes(storage));
}

prem_storage prem_storage_slot(const prem_storage *storage, int32_t slot) {
  prem_storage one = *storage;
  if (storage->adopted)
    one.base = storage->adopted[slot];
  else
    one.base += (size_t)slot * slot_bytes(storage);
  return one;
}

/* Every byte is written, so that no page is first touched while a run is measured. */
static bool storage_allocate(prem_storage *storage) {
  /* a piece of 16 bytes of the last row may reach behind it */
  const size_t others = slot_bytes(storage) * ((size_t)storage->slots - 1);
  const size_t rounded = others + aligned(storage_bytes(storage) + PITCH_ALIGNMENT);
  storage->base = aligned_alloc(STORAGE_ALIGNMENT, rounded);
  if (!storage->base)
    return false;
  memset(storage->base, 0, rounded);
  return true;
}

static unsigned char *storage_row(const prem_storage *storage, int64_t row) {
  return storage->base + row * storage->pitch_bytes;
}

static size_t row_data_bytes(const prem_storage *storage) {
  return (size_t)(storage->shape[3] * storage->element_bytes);
}

unsigned char *prem_storage_at(const prem_storage *storage, const int64_t index[4]) {
  const int64_t row = (index[0] * storage->shape[1] + index[1]) * storage->shape[2] + index[2];
  return storage_row(storage, row) + index[3] * storage->element_bytes;
}

static bool is_written(const prem_arrays *arrays, int32_t array) {
  return arrays->schedule->arrays[array].writer >= 0;
}

static bool is_of_errands(const prem_arrays *arrays, int32_t array) {
  return arrays->servers[array] >= 0;
}

static bool has_reference(const prem_arrays *arrays, int32_t array) {
  return is_written(arrays, array) && !arrays->is_live;
}

/* An allocation of more than there is would succeed, and the kernel would kill us when we fill it.
 */
static prem_status check_memory(const prem_arrays *arrays, prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  double needed = 0;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    needed += (double)storage_bytes(&arrays->storage[a]) *
              ((double)arrays->storage[a].slots +
               (has_reference(arrays, a) ? (double)arrays->reference[a].slots : 0));
  if (needed <= machine)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_MEMORY, 0, schedule->arrays[0].place, "arrays",
                   "need %.1f GB of memory with the references of those that are written, this "
                   "machine has %.1f GB; make them smaller",
                   needed / 1e9, machine / 1e9);
}

static prem_status allocate_all(prem_arrays *arrays) {
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    if (!storage_allocate(&arrays->storage[a]))
      return PREM_ERR_MEMORY;
    if (has_reference(arrays, a) && !storage_allocate(&arrays->reference[a]))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

/* ---- filling --------------------------------------------------------------------------------- */

prem_status prem_arrays_keep_first(prem_arrays *arrays, int32_t array) {
  prem_storage *first = &arrays->first[array];
  if (!storage_allocate(first))
    return PREM_ERR_MEMORY;
  memcpy(first->base, arrays->storage[array].base, storage_bytes(first));
  return PREM_OK;
}

/* What every run begins with. */
static prem_status keep_first_versions(prem_arrays *arrays) {
  prem_status status = PREM_OK;
  for (int32_t i = 0; !status && !arrays->is_live && i < arrays->versions.array_count; ++i)
    if (arrays->versions.arrays[i].versions > 1)
      status = prem_arrays_keep_first(arrays, arrays->versions.arrays[i].array);
  return status;
}

static void fill_random(prem_storage *storage, uint64_t seed) {
  const int64_t parts = storage->shape[3] * prem_type_parts(storage->type);
  for (int64_t row = 0; row < storage->row_count; ++row)
    prem_parts_fill_random(storage->type, storage_row(storage, row), parts, seed,
                           (uint64_t)(row * parts));
}

static prem_status fill_from_file(const prem_array *array, prem_storage *storage, prem_diag *diag) {
  char reason[1024], key[PREM_NAME_BYTES + 16];
  prem_status status = prem_image_read(array->file, storage, reason, sizeof reason);
  if (status == PREM_OK || status == PREM_ERR_MEMORY)
    return status;
  snprintf(key, sizeof key, "arrays.%s.file", array->name);
  return prem_fail(diag, status, 24, array->place, key, "%s", reason);
}

/* All of them, so that the user hears of every broken file at once. */
static prem_status fill_all(prem_arrays *arrays, prem_diag *diag) {
  prem_status result = PREM_OK;
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    const prem_array *array = &arrays->schedule->arrays[a];
    prem_status status = PREM_OK;
    if (array->fill == PREM_FILL_RANDOM)
      fill_random(&arrays->storage[a], array->seed);
    else if (array->fill == PREM_FILL_FILE)
      status = fill_from_file(array, &arrays->storage[a], diag);
    for (int32_t slot = 1; is_of_errands(arrays, a) && slot < arrays->storage[a].slots; ++slot)
      memcpy(prem_storage_slot(&arrays->storage[a], slot).base, arrays->storage[a].base,
             storage_bytes(&arrays->storage[a]));
    if (status != PREM_OK)
      result = status;
  }
  return result;
}

/* ---- references ------------------------------------------------------------------------------ */

/* What a task's reference computes on: the arrays themselves where they are dense, else copies. */
typedef struct dense_array {
  prem_array_view view;
  void *copy; /* NULL where the view is the array itself */
} dense_array;

static bool dense_open(dense_array *dense, const prem_storage *storage, bool must_copy) {
  const size_t row_bytes = row_data_bytes(storage);
  memcpy(dense->view.shape, storage->shape, sizeof dense->view.shape);
  dense->view.data = storage->base;
  if (!must_copy && row_bytes == (size_t)storage->pitch_bytes)
    return true;
  dense->copy = malloc(row_bytes * (size_t)storage->row_count);
  dense->view.data = dense->copy;
  if (!dense->copy)
    return false;
  for (int64_t row = 0; row < storage->row_count; ++row)
    memcpy((unsigned char *)dense->copy + (size_t)row * row_bytes, storage_row(storage, row),
           row_bytes);
  return true;
}

static void dense_store(const dense_array *dense, const prem_storage *storage) {
  const size_t row_bytes = row_data_bytes(storage);
  if (dense->copy)
    for (int64_t row = 0; row < storage->row_count; ++row)
      memcpy(storage_row(storage, row),
             (const unsigned char *)dense->copy + (size_t)row * row_bytes, row_bytes);
}

/* The slot of a port's array; `slots` as prem_program_slots() gives them, NULL: the first of all.
 */
static prem_storage reference_storage(const prem_arrays *arrays, const prem_task *task,
                                      int32_t port, const int32_t *slots) {
  const int32_t array = task->arrays[port];
  const prem_storage *all =
      is_written(arrays, array) ? &arrays->reference[array] : &arrays->storage[array];
  return prem_storage_slot(all, slots ? slots[port] : 0);
}

static bool wants_more(const prem_array_view *more) {
  const int32_t *words = more->data;
  int64_t count = 1;
  for (int d = 0; d < 4; ++d)
    count *= more->shape[d];
  while (count > 0 && words[count - 1] == 0)
    --count;
  return count > 0;
}

/* All tiles have as many turns as the one with the most: of one that is done a turn changes
 * nothing.
 * @param bytes  of the array that is written and read again */
static prem_status run_turns(const prem_task *task, prem_array_view *views, size_t bytes) {
  const prem_turn_ports ports = prem_kernel_turn_ports(task->definition);
  task->definition->reference(task->params, views);
  if (ports.more < 0 || task->server.turns <= 1)
    return PREM_OK;
  void *before = malloc(bytes);
  if (!before)
    return PREM_ERR_MEMORY;
  for (int32_t turn = 1; turn < task->server.turns && wants_more(&views[ports.more]); ++turn) {
    memcpy(before, views[ports.to].data, bytes);
    views[ports.from].data = before;
    task->definition->reference(task->params, views);
  }
  free(before);
  return PREM_OK;
}

static prem_status run_reference(prem_arrays *arrays, const prem_task *task, const int32_t *slots) {
  const prem_kernel *kernel = task->definition;
  dense_array dense[PREM_MAX_PORTS] = {0};
  prem_array_view views[PREM_MAX_PORTS];
  prem_status status = PREM_OK;
  size_t to_bytes = 0;
  for (int32_t p = 0; p < kernel->port_count && status == PREM_OK; ++p) {
    /* an input is copied where it could also be the output */
    const bool must_copy =
        kernel->ports[p].access == PREM_IN && is_written(arrays, task->arrays[p]);
    const prem_storage storage = reference_storage(arrays, task, p, slots);
    if (!dense_open(&dense[p], &storage, must_copy))
      status = PREM_ERR_MEMORY;
    if (p == prem_kernel_turn_ports(kernel).to)
      to_bytes = row_data_bytes(&storage) * (size_t)storage.row_count;
    views[p] = dense[p].view;
  }
  if (status == PREM_OK)
    status = run_turns(task, views, to_bytes);
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    if (status == PREM_OK && kernel->ports[p].access == PREM_OUT) {
      const prem_storage storage = reference_storage(arrays, task, p, slots);
      dense_store(&dense[p], &storage);
      if (kernel->tolerance > arrays->tolerance[task->arrays[p]])
        arrays->tolerance[task->arrays[p]] = kernel->tolerance;
    }
    free(dense[p].copy);
  }
  return status;
}

/* What the order of the references has reached. */
typedef struct reference_order {
  bool *task_done;
  bool *array_done; /* written by a task at least once */
} reference_order;

/* The first array that a task reads and nobody has written yet, or -1. */
static int32_t missing_input(const prem_arrays *arrays, const prem_task *task,
                             const reference_order *order) {
  if (task->definition)
    for (int32_t p = 0; p < task->definition->port_count; ++p)
      if (task->definition->ports[p].access == PREM_IN && is_written(arrays, task->arrays[p]) &&
          !prem_array_is_state(&arrays->schedule->arrays[task->arrays[p]]) &&
          !order->array_done[task->arrays[p]])
        return task->arrays[p];
  return -1;
}

static bool task_ready(const prem_arrays *arrays, const prem_task *task,
                       const reference_order *order) {
  for (int32_t i = 0; i < task->after_count; ++i)
    if (!order->task_done[task->after[i].task])
      return false;
  return missing_input(arrays, task, order) < 0;
}

/* Run what is ready; `progress` says whether anything was. */
static prem_status run_if_ready(prem_arrays *arrays, int32_t t, reference_order *order,
                                bool *progress) {
  const prem_task *task = &arrays->schedule->tasks[t];
  if (order->task_done[t] || !task_ready(arrays, task, order))
    return PREM_OK;
  order->task_done[t] = true;
  *progress = true;
  if (!task->definition || task->definition->port_count == 0)
    return PREM_OK;
  const bool is_iterated = arrays->versions.array_count > 0 && arrays->versions.changes[t];
  prem_status status = is_iterated ? PREM_OK : run_reference(arrays, task, NULL);
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    if (task->definition->ports[p].access == PREM_OUT)
      order->array_done[task->arrays[p]] = true;
  return status;
}

static prem_status refuse_unwritten_inputs(const prem_arrays *arrays, const reference_order *order,
                                           prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const int32_t array = missing_input(arrays, &schedule->tasks[t], order);
    if (order->task_done[t] || array < 0)
      continue;
    prem_diag_add(diag, PREM_ERROR, 45, schedule->tasks[t].place,
                  prem_key("tasks.%s.arrays", schedule->tasks[t].name).text,
                  "reads array \"%s\", which no task before it writes: it would find there what "
                  "an earlier run left; give it an input of its own",
                  schedule->arrays[array].name);
  }
  return PREM_ERR_INVALID;
}

/* Sweeps go up and down by turns: chains of `after` in either order of the file take one or two. */
static prem_status run_in_order(prem_arrays *arrays, reference_order *order, prem_diag *diag) {
  const int32_t count = arrays->schedule->task_count;
  bool progress = true, upwards = true;
  while (progress) {
    progress = false;
    for (int32_t i = 0; i < count; ++i) {
      prem_status status = run_if_ready(arrays, upwards ? i : count - 1 - i, order, &progress);
      if (status != PREM_OK)
        return status;
    }
    upwards = !upwards;
  }
  for (int32_t t = 0; t < count; ++t)
    if (!order->task_done[t])
      return refuse_unwritten_inputs(arrays, order, diag);
  return PREM_OK;
}

static prem_status compute_references(prem_arrays *arrays, prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  reference_order order = {
      .task_done = calloc((size_t)schedule->task_count + 1, sizeof(bool)),
      .array_done = calloc((size_t)schedule->array_count + 1, sizeof(bool)),
  };
  prem_status status = PREM_ERR_MEMORY;
  if (order.task_done && order.array_done)
    status = run_in_order(arrays, &order, diag);
  free(order.task_done);
  free(order.array_done);
  return status;
}

/* To or from what the schedule keeps: tolerances, then the arrays. @return its size */
static size_t copy_references(prem_arrays *arrays, unsigned char *kept, bool is_read) {
  size_t bytes = (size_t)arrays->schedule->array_count * sizeof *arrays->tolerance;
  if (kept && is_read)
    memcpy(arrays->tolerance, kept, bytes);
  else if (kept)
    memcpy(kept, arrays->tolerance, bytes);
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    const prem_storage *one = &arrays->reference[a];
    if (!has_reference(arrays, a))
      continue;
    const size_t size = slot_bytes(one) * ((size_t)one->slots - 1) + storage_bytes(one);
    if (kept && is_read)
      memcpy(one->base, kept + bytes, size);
    else if (kept)
      memcpy(kept + bytes, one->base, size);
    bytes += size;
  }
  return bytes;
}

/* As a session before has found them, where the schedule keeps them. */
static prem_status find_references(prem_arrays *arrays, prem_diag *diag) {
  struct prem_schedule_private *own = arrays->schedule->private_data;
  if (!own || !own->keeps_references)
    return compute_references(arrays, diag);
  const size_t bytes = copy_references(arrays, NULL, false);
  const bool is_known = own->references && own->references_bytes == bytes;
  prem_status status = is_known ? PREM_OK : compute_references(arrays, diag);
  if (status == PREM_OK && !is_known) {
    free(own->references);
    own->references = malloc(bytes + 1);
    own->references_bytes = bytes;
    status = own->references ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (status == PREM_OK)
    copy_references(arrays, own->references, is_known);
  return status;
}

/* ---- references that change from job to job ------------------------------------------------- */

/* What belongs to each task: numbers `items[first[task]]` to `items[first[task + 1] - 1]`,
 * ascending. */
typedef struct by_task {
  int32_t *first, *items;
} by_task;

/* The task that an element names, `task_at` bytes from its beginning. */
static int32_t task_of(const void *elements, size_t size, size_t task_at, int32_t i) {
  return *(const int32_t *)(const void *)((const char *)elements + size * (size_t)i + task_at);
}

/* Of `count` elements of `size` bytes. */
static bool group(by_task *out, int32_t tasks, const void *elements, size_t size, size_t task_at,
                  int32_t count) {
  out->first = calloc((size_t)tasks + 2, sizeof *out->first);
  out->items = malloc(((size_t)count + 1) * sizeof *out->items);
  if (!out->first || !out->items)
    return false;
  int32_t *next = out->first + 1; /* shifted by one: filling advances it to its place */
  for (int32_t i = 0; i < count; ++i)
    ++next[task_of(elements, size, task_at, i) + 1];
  for (int32_t t = 0; t < tasks; ++t)
    next[t + 1] += next[t];
  for (int32_t i = 0; i < count; ++i)
    out->items[next[task_of(elements, size, task_at, i)]++] = i;
  return true;
}

static void ungroup(by_task *out) {
  free(out->first);
  free(out->items);
}

/* Who waits for whom, and which tasks are still to be looked at. */
typedef struct making {
  prem_arrays *arrays;
  prem_version_edge *edges;
  int32_t edge_count;
  by_task uses, waits, wakes; /* the latter: edges of others that wait for the task */
  int32_t *queue;             /* [tasks]: a ring */
  int32_t head, length;
  bool *is_queued;
} making;

static int64_t jobs_of(const prem_arrays *arrays, int32_t task) {
  return prem_task_jobs(arrays->schedule, &arrays->schedule->tasks[task]);
}

/* Has the job made so far all that an edge asks for? */
static bool has_made(const prem_arrays *arrays, const prem_version_edge *edge, int64_t job) {
  const int64_t jobs = jobs_of(arrays, edge->task), before = jobs_of(arrays, edge->before);
  return arrays->made[edge->before] >= job / jobs * before + edge->needed_jobs[job % jobs];
}

/* Its inputs are there, and nobody needs any more what it overwrites. */
static bool may_make(const making *m, int32_t task) {
  for (int32_t i = m->waits.first[task]; i < m->waits.first[task + 1]; ++i)
    if (!has_made(m->arrays, &m->edges[m->waits.items[i]], m->arrays->made[task]))
      return false;
  return true;
}

/* Is a job's reference another one than that of the job before? If so it is made. */
static bool has_news(prem_arrays *arrays, int32_t t) {
  const prem_task *task = &arrays->schedule->tasks[t];
  bool is_new = arrays->made_at[t] == 0;
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    is_new |= arrays->storage[task->arrays[p]].slots > 1 ||
              (task->definition->ports[p].access == PREM_IN &&
               arrays->changed_at[task->arrays[p]] > arrays->made_at[t]);
  if (is_new)
    arrays->made_at[t] = ++arrays->references;
  for (int32_t p = 0; is_new && p < task->definition->port_count; ++p)
    if (task->definition->ports[p].access == PREM_OUT)
      arrays->changed_at[task->arrays[p]] = arrays->references;
  return is_new;
}

static prem_status make_job(const making *m, int32_t t) {
  prem_arrays *arrays = m->arrays;
  const prem_versions *v = &arrays->versions;
  const int64_t jobs = jobs_of(arrays, t), job = arrays->made[t]++;
  int32_t slots[PREM_MAX_PORTS] = {0};
  for (int32_t i = m->uses.first[t]; i < m->uses.first[t + 1]; ++i) {
    const prem_version_use *use = &v->uses[m->uses.items[i]];
    slots[use->port] =
        (int32_t)(prem_version_of(v, use, job / jobs, job % jobs, 0) % v->arrays[use->of].versions);
  }
  if (arrays->made_at && !has_news(arrays, t))
    return PREM_OK;
  return run_reference(arrays, &arrays->schedule->tasks[t], slots);
}

static void look_at(making *m, int32_t task) {
  if (m->is_queued[task])
    return;
  m->is_queued[task] = true;
  m->queue[(m->head + m->length++) % m->arrays->schedule->task_count] = task;
}

static int32_t next_task(making *m) {
  const int32_t task = m->queue[m->head];
  m->head = (m->head + 1) % m->arrays->schedule->task_count;
  --m->length;
  m->is_queued[task] = false;
  return task;
}

/* The plan's own order is a witness that there is always one that may be next. */
static prem_status make_hyperperiod(making *m) {
  prem_arrays *arrays = m->arrays;
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < arrays->schedule->task_count; ++t)
    if (arrays->versions.changes[t])
      look_at(m, t);
  while (!status && m->length > 0) {
    const int32_t t = next_task(m);
    const int64_t before = arrays->made[t], end = (arrays->iterated + 1) * jobs_of(arrays, t);
    while (!status && arrays->made[t] < end && may_make(m, t))
      status = make_job(m, t);
    for (int32_t i = m->wakes.first[t]; arrays->made[t] > before && i < m->wakes.first[t + 1]; ++i)
      look_at(m, m->edges[m->wakes.items[i]].task);
  }
  ++arrays->iterated;
  return status;
}

static prem_status begin_making(making *m, prem_arrays *arrays) {
  const int32_t tasks = arrays->schedule->task_count;
  const prem_versions *v = &arrays->versions;
  *m = (making){.arrays = arrays};
  prem_status status = prem_version_edges_new(v, &m->edges, &m->edge_count);
  if (status)
    return status;
  m->queue = malloc(((size_t)tasks + 1) * sizeof *m->queue);
  m->is_queued = calloc((size_t)tasks + 1, sizeof *m->is_queued);
  const prem_version_edge *edges = m->edges;
  if (!m->queue || !m->is_queued ||
      !group(&m->uses, tasks, v->uses, sizeof *v->uses, offsetof(prem_version_use, task),
             v->use_count) ||
      !group(&m->waits, tasks, edges, sizeof *edges, offsetof(prem_version_edge, task),
             m->edge_count) ||
      !group(&m->wakes, tasks, edges, sizeof *edges, offsetof(prem_version_edge, before),
             m->edge_count))
    return PREM_ERR_MEMORY;
  return PREM_OK;
}

static void end_making(making *m) {
  ungroup(&m->uses);
  ungroup(&m->waits);
  ungroup(&m->wakes);
  free(m->queue);
  free(m->is_queued);
  prem_version_edges_free(m->edges, m->edge_count);
}

static void begin_iterating(prem_arrays *arrays) {
  for (int32_t t = 0; t < arrays->schedule->task_count; ++t)
    arrays->made[t] = 0;
  if (arrays->made_at)
    memset(arrays->made_at, 0, (size_t)arrays->schedule->task_count * sizeof *arrays->made_at);
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a)
    if (arrays->first[a].base)
      memcpy(arrays->reference[a].base, arrays->first[a].base, storage_bytes(&arrays->first[a]));
  arrays->iterated = 0;
  arrays->has_settled = false;
}

/* What has stayed as it was for a hyperperiod stays so. */
static void skip_to_the_end(prem_arrays *arrays) {
  for (int32_t t = 0; t < arrays->schedule->task_count; ++t)
    arrays->made[t] += (arrays->hyperperiods - arrays->iterated) * jobs_of(arrays, t);
  arrays->iterated = arrays->hyperperiods;
  arrays->has_settled = true;
}

prem_status prem_arrays_iterate(prem_arrays *arrays) {
  if (arrays->versions.array_count == 0 || arrays->is_live)
    return PREM_OK;
  making m;
  prem_status status = begin_making(&m, arrays);
  if (arrays->iterated < 0 || arrays->iterated > arrays->hyperperiods)
    begin_iterating(arrays);
  while (!status && arrays->iterated < arrays->hyperperiods) {
    const int64_t before = arrays->references;
    status = make_hyperperiod(&m);
    if (arrays->made_at && arrays->references == before)
      skip_to_the_end(arrays);
  }
  if (status)
    arrays->iterated = -1;
  end_making(&m);
  return status;
}

void prem_arrays_begin_run(prem_arrays *arrays) {
  for (int32_t a = 0; arrays->first && a < arrays->schedule->array_count; ++a)
    if (arrays->first[a].base)
      memcpy(arrays->storage[a].base, arrays->first[a].base, storage_bytes(&arrays->first[a]));
  arrays->hyperperiods = 0;
}

void prem_arrays_end_run(prem_arrays *arrays, int64_t hyperperiods) {
  arrays->hyperperiods = hyperperiods;
}

/* What the last run has left of a written array. */
static prem_storage newest_of(const prem_storage *all, const prem_arrays *arrays, int32_t array) {
  int64_t version = 0;
  if (arrays->first && arrays->first[array].base)
    version = arrays->hyperperiods * arrays->versions.arrays[arrays->versions.number[array]].jobs;
  return prem_storage_slot(all, (int32_t)(version % all->slots));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What an output's last slot holds is never shown. */
static int64_t slots_of(const prem_arrays *arrays, int32_t array) {
  const prem_schedule *schedule = arrays->schedule;
  const int32_t port = arrays->is_live ? prem_schedule_live_port(schedule, array) : -1;
  if (prem_is_versioned(&arrays->versions, array))
    return arrays->versions.arrays[arrays->versions.number[array]].versions;
  const int32_t server = arrays->servers[array];
  if (server >= 0)
    return schedule->tasks[server].server.capacity;
  return port < 0 ? 1 : schedule->live[port].buffers + schedule->live[port].is_output;
}

static prem_status prepare(prem_arrays *arrays, prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  const size_t count = (size_t)schedule->array_count + 1;
  arrays->storage = calloc(count, sizeof *arrays->storage);
  arrays->reference = calloc(count, sizeof *arrays->reference);
  arrays->tolerance = calloc(count, sizeof *arrays->tolerance);
  arrays->servers = calloc(count, sizeof *arrays->servers);
  arrays->first = calloc(count, sizeof *arrays->first);
  arrays->made = calloc((size_t)schedule->task_count + 1, sizeof *arrays->made);
  if (!arrays->storage || !arrays->reference || !arrays->tolerance || !arrays->servers ||
      !arrays->first || !arrays->made)
    return PREM_ERR_MEMORY;
  prem_array_servers(schedule, arrays->servers);
  prem_status status = prem_versions_new(schedule, &arrays->versions);
  if (status)
    return status;
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    arrays->storage[a] = storage_shape(&schedule->arrays[a]);
    arrays->reference[a] = arrays->first[a] = arrays->storage[a];
    arrays->storage[a].slots = slots_of(arrays, a);
    if (!arrays->is_live && !is_of_errands(arrays, a))
      arrays->reference[a].slots = arrays->storage[a].slots;
  }
  arrays->iterated = -1;
  status = check_memory(arrays, diag);
  if (status == PREM_OK)
    status = allocate_all(arrays);
  if (status == PREM_OK)
    status = fill_all(arrays, diag);
  if (status == PREM_OK)
    status = keep_first_versions(arrays);
  if (status == PREM_OK && !arrays->is_live)
    status = find_references(arrays, diag);
  return status;
}

static prem_status new_arrays(const prem_schedule *schedule, bool is_live, prem_arrays **out,
                              prem_diag *diag) {
  *out = NULL;
  prem_arrays *arrays = calloc(1, sizeof *arrays);
  if (!arrays)
    return PREM_ERR_MEMORY;
  arrays->schedule = schedule;
  arrays->is_live = is_live;
  prem_status status = prepare(arrays, diag);
  if (status != PREM_OK)
    prem_arrays_free(arrays);
  else
    *out = arrays;
  return status;
}

prem_status prem_arrays_new(const prem_schedule *schedule, prem_arrays **out, prem_diag *diag) {
  return new_arrays(schedule, false, out, diag);
}

prem_status prem_arrays_new_live(const prem_schedule *schedule, prem_arrays **out,
                                 prem_diag *diag) {
  return new_arrays(schedule, true, out, diag);
}

prem_status prem_arrays_adopt(prem_arrays *arrays, int32_t array, void *const *buffers,
                              int32_t count, int64_t pitch_bytes) {
  prem_storage changed = arrays->storage[array];
  changed.pitch_bytes = pitch_bytes;
  changed.slots -= count;
  changed.base = NULL;
  changed.adopted = calloc((size_t)(changed.slots + count), sizeof *changed.adopted);
  if (!changed.adopted || (changed.slots > 0 && !storage_allocate(&changed))) {
    free(changed.adopted);
    return PREM_ERR_MEMORY;
  }
  for (int32_t slot = 0; slot < count; ++slot)
    changed.adopted[slot] = buffers[slot];
  for (int64_t spare = 0; spare < changed.slots; ++spare)
    changed.adopted[count + spare] = changed.base + (size_t)spare * slot_bytes(&changed);
  changed.slots += count;
  free(arrays->storage[array].base);
  free(arrays->storage[array].adopted);
  arrays->storage[array] = changed;
  return PREM_OK;
}

void prem_arrays_free(prem_arrays *arrays) {
  if (!arrays)
    return;
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    if (arrays->storage) {
      free(arrays->storage[a].base);
      free(arrays->storage[a].adopted);
    }
    if (arrays->reference)
      free(arrays->reference[a].base);
    if (arrays->first)
      free(arrays->first[a].base);
  }
  prem_versions_free(&arrays->versions);
  PREM_FREE(arrays->first, arrays->made, arrays->made_at, arrays->changed_at, arrays->is_open,
            arrays->servers, arrays->storage, arrays->reference, arrays->tolerance, arrays);
}

/* Row by row: those that a GPU reaches in the host's memory have a pitch of their own. */
static void slot_poison(const prem_arrays *arrays, int32_t array, int32_t slot) {
  const prem_storage one = prem_storage_slot(&arrays->storage[array], slot);
  const prem_storage *expected = &arrays->reference[array];
  for (int64_t row = 0; row < one.row_count; ++row)
    prem_bytes_poison(one.type, storage_row(&one, row),
                      expected->base ? storage_row(expected, row) : NULL,
                      (int64_t)row_data_bytes(&one));
}

void prem_arrays_poison(prem_arrays *arrays) {
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a)
    if (arrays->first[a].base) /* nobody knows yet how long the run will be */
      prem_bytes_poison(arrays->storage[a].type, arrays->storage[a].base, NULL,
                        (int64_t)slot_bytes(&arrays->storage[a]) * arrays->storage[a].slots);
    else if (is_written(arrays, a))
      for (int32_t slot = 0; slot < arrays->storage[a].slots; ++slot)
        slot_poison(arrays, a, slot);
}

/* ---- verifying ------------------------------------------------------------------------------- */

static void note_wrong(prem_verdict *verdict, const prem_storage *storage, int32_t array,
                       int64_t row, int64_t column, double expected, double found) {
  if (verdict->wrong++ > 0)
    return;
  const int64_t planes = storage->shape[2], volumes = storage->shape[1];
  verdict->ok = false;
  verdict->array = array;
  verdict->index[0] = row / planes / volumes;
  verdict->index[1] = row / planes % volumes;
  verdict->index[2] = row % planes;
  verdict->index[3] = column;
  verdict->expected = expected;
  verdict->found = found;
}

static void verify_row(const prem_storage *storage, const prem_storage *reference, int32_t array,
                       int64_t row, int64_t first, int64_t count, double tolerance,
                       prem_verdict *verdict) {
  const unsigned char *found = storage_row(storage, row);
  const unsigned char *expected = storage_row(reference, row);
  const int64_t from = first * storage->element_bytes;
  if (memcmp(found + from, expected + from, (size_t)(count * storage->element_bytes)) == 0)
    return;
  for (int64_t column = first; column < first + count; ++column) {
    const int64_t at = column * storage->element_bytes;
    const int32_t part =
        prem_element_wrong_part(storage->type, found + at, expected + at, tolerance);
    if (part >= 0)
      note_wrong(verdict, storage, array, row, column,
                 prem_element_value(storage->type, expected + at, part),
                 prem_element_value(storage->type, found + at, part));
  }
}

void prem_array_verify(const prem_storage *storage, const prem_arrays *arrays, int32_t array,
                       prem_verdict *verdict) {
  const prem_storage reference = newest_of(&arrays->reference[array], arrays, array);
  for (int64_t row = 0; row < storage->row_count; ++row)
    verify_row(storage, &reference, array, row, 0, storage->shape[3], arrays->tolerance[array],
               verdict);
}

void prem_array_verify_row(const prem_storage *storage, const prem_arrays *arrays, int32_t array,
                           int64_t row, int64_t first, int64_t count, prem_verdict *verdict) {
  verify_row(storage, &arrays->reference[array], array, row, first, count, arrays->tolerance[array],
             verdict);
}

void prem_arrays_verify(const prem_arrays *arrays, prem_verdict *out) {
  *out = (prem_verdict){.ok = true, .array = -1};
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    const prem_storage newest = newest_of(&arrays->storage[a], arrays, a);
    if (is_written(arrays, a) && prem_arrays_can_judge(arrays, a) && !is_of_errands(arrays, a))
      prem_array_verify(&newest, arrays, a, out);
  }
}

/* ---- saving ---------------------------------------------------------------------------------- */

prem_status prem_arrays_save(const prem_arrays *arrays, prem_diag *diag) {
  prem_status result = PREM_OK;
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    const prem_array *array = &arrays->schedule->arrays[a];
    char reason[1024], key[PREM_NAME_BYTES + 16];
    if (!array->save)
      continue;
    const prem_storage newest = newest_of(&arrays->storage[a], arrays, a);
    prem_status status = prem_image_write(array->save, &newest, reason, sizeof reason);
    if (status == PREM_OK)
      continue;
    snprintf(key, sizeof key, "arrays.%s.save", array->name);
    prem_diag_add(diag, PREM_ERROR, 0, array->place, key, "%s", reason);
    result = status;
  }
  return result;
}
