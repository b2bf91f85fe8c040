/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a schedule: storage, filling, references, verifying, saving. */
#include "runtime/core/arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static size_t slot_bytes(const prem_storage *storage) {
  return (storage_bytes(storage) + STORAGE_ALIGNMENT - 1) / STORAGE_ALIGNMENT * STORAGE_ALIGNMENT;
}

prem_storage prem_storage_slot(const prem_storage *storage, int32_t slot) {
  prem_storage one = *storage;
  one.base += (size_t)slot * slot_bytes(storage);
  return one;
}

/* Every byte is written, so that no page is first touched while a run is measured. */
static bool storage_allocate(prem_storage *storage) {
  const size_t rounded = slot_bytes(storage) * (size_t)storage->slots;
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
              ((double)arrays->storage[a].slots + has_reference(arrays, a));
  if (needed <= machine)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, schedule->arrays[0].place, "arrays",
                "need %.1f GB of memory with the references of those that are written, this "
                "machine has %.1f GB; make them smaller",
                needed / 1e9, machine / 1e9);
  return PREM_ERR_MEMORY;
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

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014). */
static uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Float number `index` of a seed: the 24 highest bits of mix64(mix64(seed) + (index + 1) * golden),
 * as a multiple of 2^-23 in [-1, 1). */
static float random_float(uint64_t seed_key, uint64_t index) {
  const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
  const uint64_t bits = mix64(seed_key + (index + 1) * golden);
  return (float)(int32_t)(bits >> 40) * 0x1p-23F - 1.0F;
}

static void fill_random(prem_storage *storage, uint64_t seed) {
  const uint64_t key = mix64(seed);
  const int64_t floats = storage->shape[3] * storage->element_bytes / (int64_t)sizeof(float);
  for (int64_t row = 0; row < storage->row_count; ++row) {
    float *to = (float *)storage_row(storage, row);
    for (int64_t i = 0; i < floats; ++i)
      to[i] = random_float(key, (uint64_t)(row * floats + i));
  }
}

static prem_status fill_from_file(const prem_array *array, prem_storage *storage, prem_diag *diag) {
  char reason[1024], key[PREM_NAME_BYTES + 16];
  prem_status status = prem_image_read(array->file, storage, reason, sizeof reason);
  if (status == PREM_OK || status == PREM_ERR_MEMORY)
    return status;
  snprintf(key, sizeof key, "arrays.%s.file", array->name);
  prem_diag_add(diag, PREM_ERROR, 24, array->place, key, "%s", reason);
  return status;
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

static const prem_storage *reference_storage(const prem_arrays *arrays, int32_t array) {
  return is_written(arrays, array) ? &arrays->reference[array] : &arrays->storage[array];
}

static prem_status run_reference(prem_arrays *arrays, const prem_task *task) {
  const prem_kernel *kernel = task->definition;
  dense_array dense[PREM_MAX_PORTS] = {0};
  prem_array_view views[PREM_MAX_PORTS];
  prem_status status = PREM_OK;
  for (int32_t p = 0; p < kernel->port_count && status == PREM_OK; ++p) {
    /* an input is copied where it could also be the output */
    const bool must_copy =
        kernel->ports[p].access == PREM_IN && is_written(arrays, task->arrays[p]);
    if (!dense_open(&dense[p], reference_storage(arrays, task->arrays[p]), must_copy))
      status = PREM_ERR_MEMORY;
    views[p] = dense[p].view;
  }
  if (status == PREM_OK)
    kernel->reference(task->params, views);
  for (int32_t p = 0; p < kernel->port_count; ++p) {
    if (status == PREM_OK && kernel->ports[p].access == PREM_OUT) {
      dense_store(&dense[p], &arrays->reference[task->arrays[p]]);
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
  prem_status status = run_reference(arrays, task);
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
    char key[PREM_NAME_BYTES + 16];
    snprintf(key, sizeof key, "tasks.%s.arrays", schedule->tasks[t].name);
    prem_diag_add(diag, PREM_ERROR, 45, schedule->tasks[t].place, key,
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

/* ---- the whole ------------------------------------------------------------------------------- */

/* What an output's last slot holds is never shown. */
static int64_t slots_of(const prem_arrays *arrays, int32_t array) {
  const prem_schedule *schedule = arrays->schedule;
  const int32_t port = arrays->is_live ? prem_schedule_live_port(schedule, array) : -1;
  return port < 0 ? 1 : schedule->live[port].buffers + schedule->live[port].is_output;
}

static prem_status prepare(prem_arrays *arrays, prem_diag *diag) {
  const prem_schedule *schedule = arrays->schedule;
  const size_t count = (size_t)schedule->array_count + 1;
  arrays->storage = calloc(count, sizeof *arrays->storage);
  arrays->reference = calloc(count, sizeof *arrays->reference);
  arrays->tolerance = calloc(count, sizeof *arrays->tolerance);
  if (!arrays->storage || !arrays->reference || !arrays->tolerance)
    return PREM_ERR_MEMORY;
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    arrays->storage[a] = storage_shape(&schedule->arrays[a]);
    arrays->reference[a] = arrays->storage[a];
    arrays->storage[a].slots = slots_of(arrays, a);
  }
  prem_status status = check_memory(arrays, diag);
  if (status == PREM_OK)
    status = allocate_all(arrays);
  if (status == PREM_OK)
    status = fill_all(arrays, diag);
  if (status == PREM_OK && !arrays->is_live)
    status = compute_references(arrays, diag);
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

void prem_arrays_free(prem_arrays *arrays) {
  if (!arrays)
    return;
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    if (arrays->storage)
      free(arrays->storage[a].base);
    if (arrays->reference)
      free(arrays->reference[a].base);
  }
  free(arrays->storage);
  free(arrays->reference);
  free(arrays->tolerance);
  free(arrays);
}

void prem_arrays_poison(prem_arrays *arrays) {
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a)
    if (is_written(arrays, a))
      memset(arrays->storage[a].base, PREM_POISON, storage_bytes(&arrays->storage[a]));
}

/* ---- verifying ------------------------------------------------------------------------------- */

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Which NaN an operation makes is the machine's choice; no operation makes the poison. */
static bool is_made_nan(float value) {
  return isnan(value) && float_bits(value) != PREM_POISON * 0x01010101u;
}

static bool float_right(float found, float expected, double tolerance) {
  if (isnan(expected))
    return is_made_nan(found);
  if (tolerance == 0.0)
    return float_bits(found) == float_bits(expected);
  if (found == expected || !isfinite(expected)) /* any distance to an infinity is in proportion */
    return found == expected;
  const double scale = fmax(fabs((double)expected), 1e-30);
  return fabs((double)found - (double)expected) <= tolerance * scale;
}

/* Index of the first float of an element that differs from the reference, or -1. */
static int32_t wrong_part(const float *found, const float *expected, int32_t parts,
                          double tolerance) {
  for (int32_t i = 0; i < parts; ++i)
    if (!float_right(found[i], expected[i], tolerance))
      return i;
  return -1;
}

static void note_wrong(prem_verdict *verdict, const prem_storage *storage, int32_t array,
                       int64_t row, int64_t column, float expected, float found) {
  if (verdict->wrong++ > 0)
    return;
  const int64_t planes = storage->shape[2], volumes = storage->shape[1];
  verdict->ok = false;
  verdict->array = array;
  verdict->index[0] = row / planes / volumes;
  verdict->index[1] = row / planes % volumes;
  verdict->index[2] = row % planes;
  verdict->index[3] = column;
  verdict->expected = (double)expected;
  verdict->found = (double)found;
}

static void verify_row(const prem_arrays *arrays, int32_t array, int64_t row,
                       prem_verdict *verdict) {
  const prem_storage *storage = &arrays->storage[array];
  const float *found = (const float *)storage_row(storage, row);
  const float *expected = (const float *)storage_row(&arrays->reference[array], row);
  if (memcmp(found, expected, row_data_bytes(storage)) == 0)
    return;
  const int32_t parts = storage->element_bytes / (int32_t)sizeof(float);
  for (int64_t column = 0; column < storage->shape[3]; ++column) {
    const int64_t at = column * parts;
    const int32_t part = wrong_part(found + at, expected + at, parts, arrays->tolerance[array]);
    if (part >= 0)
      note_wrong(verdict, storage, array, row, column, expected[at + part], found[at + part]);
  }
}

void prem_arrays_verify(const prem_arrays *arrays, prem_verdict *out) {
  *out = (prem_verdict){.ok = true, .array = -1};
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a)
    if (is_written(arrays, a))
      for (int64_t row = 0; row < arrays->storage[a].row_count; ++row)
        verify_row(arrays, a, row, out);
}

/* ---- saving ---------------------------------------------------------------------------------- */

prem_status prem_arrays_save(const prem_arrays *arrays, prem_diag *diag) {
  prem_status result = PREM_OK;
  for (int32_t a = 0; a < arrays->schedule->array_count; ++a) {
    const prem_array *array = &arrays->schedule->arrays[a];
    char reason[1024], key[PREM_NAME_BYTES + 16];
    if (!array->save)
      continue;
    prem_status status = prem_image_write(array->save, &arrays->storage[a], reason, sizeof reason);
    if (status == PREM_OK)
      continue;
    snprintf(key, sizeof key, "arrays.%s.save", array->name);
    prem_diag_add(diag, PREM_ERROR, 0, array->place, key, "%s", reason);
    result = status;
  }
  return result;
}
