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

prem_status prem_cpu_whole_new(prem_cpu *cpu) {
  const prem_arrays *arrays = cpu->arrays;
  const int32_t count = arrays->schedule->array_count;
  cpu->whole = calloc((size_t)count + 1, sizeof *cpu->whole);
  if (!cpu->whole)
    return PREM_ERR_MEMORY;
  for (int32_t a = 0; a < count; ++a) {
    const prem_storage *storage = &arrays->storage[a];
    memcpy(cpu->whole[a].shape, storage->shape, sizeof storage->shape);
    cpu->whole[a].data = storage->base;
    if (needs_copy(storage))
      cpu->whole[a].data = malloc(row_bytes(storage) * (size_t)storage->row_count);
    if (!cpu->whole[a].data)
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

void prem_cpu_whole_free(prem_cpu *cpu) {
  for (int32_t a = 0; cpu->whole && a < cpu->arrays->schedule->array_count; ++a)
    if (needs_copy(&cpu->arrays->storage[a]))
      free(cpu->whole[a].data);
  free(cpu->whole);
}

void prem_cpu_whole_load(prem_cpu *cpu) {
  for (int32_t a = 0; a < cpu->arrays->schedule->array_count; ++a)
    if (needs_copy(&cpu->arrays->storage[a]))
      copy_rows(&cpu->arrays->storage[a], &cpu->whole[a], true);
}

void prem_cpu_whole_store(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->arrays->schedule;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (schedule->arrays[a].writer >= 0 && needs_copy(&cpu->arrays->storage[a]))
      copy_rows(&cpu->arrays->storage[a], &cpu->whole[a], false);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void run_reference(const prem_cpu *cpu, int32_t t) {
  const prem_task *task = &cpu->program->schedule->tasks[t];
  prem_array_view views[PREM_MAX_PORTS];
  if (task->definition->port_count == 0)
    return;
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    views[p] = cpu->whole[task->arrays[p]];
  task->definition->reference(task->params, views);
}

static bool run_job(prem_cpu_block *thread, int64_t hyperperiod, int32_t job) {
  const prem_cpu *cpu = thread->cpu;
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
  run_reference(cpu, thread->number);
  const int64_t end_ns = prem_cpu_now_ns(thread);
  for (int32_t p = 0; p < cpu->program->tasks[thread->number].active_blocks; ++p)
    prem_cpu_publish_job(cpu, hyperperiod, &record, p, end_ns);
  atomic_fetch_add_explicit(&thread->records_done, 1, memory_order_relaxed);
  return true;
}

void prem_cpu_run_task(prem_cpu_block *thread) {
  for (int64_t h = 0; h < thread->cpu->request->hyperperiods; ++h) {
    for (int32_t job = 0; job < thread->records; ++job)
      if (!run_job(thread, h, job))
        return;
    prem_cpu_away_look(thread, h);
  }
}
