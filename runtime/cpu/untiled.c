/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode legacy: the same tasks as ordinary code. Each has one thread, which runs the kernel's
 * untiled reference over whole arrays, job after job, as soon as the job is released and its
 * predecessors have ended. There are no phases, so only the ends of jobs are recorded.
 */
#include "runtime/cpu/cpu.h"

#include "runtime/core/record_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- whole arrays --------------------------------------------------------------------------- */

static size_t row_bytes(const prem_storage *storage) {
  return (size_t)(storage->shape[3] * storage->element_bytes);
}

/* References want dense arrays; where the storage has a wider pitch they get a copy. */
static bool needs_copy(const prem_storage *storage) {
  return row_bytes(storage) != (size_t)storage->pitch_bytes;
}

static void copy_rows(const prem_storage *storage, const prem_array_view *view, bool into_view) {
  const size_t bytes = row_bytes(storage);
  for (int64_t row = 0; row < storage->row_count; ++row) {
    unsigned char *stored = storage->base + row * storage->pitch_bytes;
    unsigned char *dense = (unsigned char *)view->data + (size_t)row * bytes;
    memcpy(into_view ? dense : stored, into_view ? stored : dense, bytes);
  }
}

static prem_array_view *whole_of(const prem_cpu *cpu, int32_t array, int32_t slot) {
  return &cpu->whole[(size_t)array * (size_t)cpu->whole_slots + (size_t)slot];
}

prem_status prem_cpu_whole_new(prem_cpu *cpu) {
  const prem_arrays *arrays = cpu->arrays;
  const int32_t count = arrays->schedule->array_count;
  cpu->whole_slots = 1;
  for (int32_t a = 0; a < count; ++a)
    if (arrays->storage[a].slots > cpu->whole_slots)
      cpu->whole_slots = (int32_t)arrays->storage[a].slots;
  cpu->whole = calloc((size_t)count * (size_t)cpu->whole_slots + 1, sizeof *cpu->whole);
  if (!cpu->whole)
    return PREM_ERR_MEMORY;
  for (int32_t a = 0; a < count; ++a)
    for (int32_t s = 0; s < arrays->storage[a].slots; ++s) {
      const prem_storage storage = prem_storage_slot(&arrays->storage[a], s);
      prem_array_view *view = whole_of(cpu, a, s);
      memcpy(view->shape, storage.shape, sizeof storage.shape);
      view->data = storage.base;
      if (needs_copy(&storage))
        view->data = malloc(row_bytes(&storage) * (size_t)storage.row_count);
      if (!view->data)
        return PREM_ERR_MEMORY;
    }
  return PREM_OK;
}

void prem_cpu_whole_free(prem_cpu *cpu) {
  for (int32_t a = 0; cpu->whole && a < cpu->arrays->schedule->array_count; ++a)
    for (int32_t s = 0; needs_copy(&cpu->arrays->storage[a]) && s < cpu->whole_slots; ++s)
      free(whole_of(cpu, a, s)->data);
  free(cpu->whole);
}

static void copy_slots(const prem_cpu *cpu, int32_t array, bool into_view) {
  const prem_storage *all = &cpu->arrays->storage[array];
  for (int32_t s = 0; needs_copy(all) && s < all->slots; ++s) {
    const prem_storage storage = prem_storage_slot(all, s);
    copy_rows(&storage, whole_of(cpu, array, s), into_view);
  }
}

void prem_cpu_whole_load(prem_cpu *cpu) {
  for (int32_t a = 0; a < cpu->arrays->schedule->array_count; ++a)
    copy_slots(cpu, a, true);
}

void prem_cpu_whole_store(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->arrays->schedule;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].writer >= 0)
      copy_slots(cpu, a, false);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void run_reference(const prem_cpu *cpu, int64_t hyperperiod, const prem_record *record) {
  const prem_task *task = &cpu->program->schedule->tasks[record->task];
  prem_array_view views[PREM_MAX_PORTS];
  int32_t room[PREM_MAX_PORTS];
  const int32_t *slots = prem_program_slots(cpu->program, hyperperiod, record, room);
  if (task->definition->port_count == 0)
    return;
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    views[p] = *whole_of(cpu, task->arrays[p], slots ? slots[p] : 0);
  task->definition->reference(task->params, views);
}

static bool run_job(prem_cpu_block *thread, int64_t hyperperiod, int32_t job) {
  prem_cpu *cpu = thread->cpu;
  const prem_record record = {/* has no phases: all its edges hold */
                              .phase = PREM_WRITEBACK,
                              .task = (uint16_t)thread->number,
                              .job = job};
  int64_t begin_ns =
      prem_job_release_ns(cpu->program, thread->number, job, cpu->trace->epoch_ns[hyperperiod]);
  if (prem_cpu_is_aborted(cpu) ||
      !prem_cpu_wait_for_predecessors(thread, hyperperiod, &record, PREM_PREFETCH, &begin_ns) ||
      !prem_cpu_wait_until(thread, begin_ns, &begin_ns))
    return false;
  run_reference(cpu, hyperperiod, &record);
  const int64_t end_ns = prem_cpu_now_ns(thread);
  for (int32_t p = 0; p < cpu->program->tasks[thread->number].active_blocks; ++p)
    prem_cpu_publish_job(cpu, hyperperiod, &record, p, end_ns);
  atomic_fetch_add_explicit(&thread->records_done, 1, memory_order_relaxed);
  prem_cpu_away_job_over(thread, end_ns);
  return true;
}

void prem_cpu_run_task(prem_cpu_block *thread) {
  for (int64_t h = 0; h < thread->cpu->request->hyperperiods; ++h) {
    for (int32_t job = 0; job < thread->records; ++job)
      if (!run_job(thread, h, job))
        return;
  }
}
