/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of the host's cores, a thread on each. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "experiments/machine/memory_pause/pauses.h"
#include "prem/base/clock.h"

enum { HUGE_BYTES = 2 << 20, LINE_WORDS = PREM_LOAD_LINE_BYTES / 4 };

typedef struct core_sampler {
  const prem_load_order *order;
  const volatile uint32_t *memory;
  prem_load *loads;
  int32_t max, count;
  uint32_t first_visit;
  int32_t *gate, samplers;
} core_sampler;

static void *sample(void *argument) {
  core_sampler *sampler = argument;
  const uint32_t lines = sampler->order->lines;
  if (sampler->order->place == PREM_LOAD_CACHE)
    for (uint32_t line = 0; line < lines; ++line)
      (void)sampler->memory[(size_t)line * LINE_WORDS];
  memset(sampler->loads, 0, (size_t)sampler->max * sizeof *sampler->loads); /* makes its pages */
  prem_cores_meet(sampler->gate, sampler->samplers); /* one alone finds no time with all at work */
  int64_t now_ns = prem_host_clock_ns();
  const int64_t deadline_ns = now_ns + sampler->order->length_ns;
  int32_t count = 0;
  for (; count < sampler->max && now_ns < deadline_ns; ++count) {
    const uint32_t line = prem_load_line(sampler->first_visit + (uint32_t)count, lines);
    const int64_t begin_ns = prem_host_clock_ns();
    (void)sampler->memory[(size_t)line * LINE_WORDS];
    now_ns = prem_host_clock_ns(); /* waits for the load: the clock's reading is fenced */
    sampler->loads[count] = (prem_load){begin_ns, now_ns};
  }
  sampler->count = count;
  return NULL;
}

static prem_status start_all(const prem_load_order *order, prem_loads *loads,
                             const uint32_t *memory, prem_diag *diag) {
  core_sampler samplers[PREM_MAX_SAMPLERS];
  pthread_t threads[PREM_MAX_SAMPLERS];
  int32_t cores[PREM_MAX_SAMPLERS];
  const int32_t core_count = prem_cores_list(cores, PREM_MAX_SAMPLERS);
  int error = 0;
  int32_t started = 0, gate = 0;
  for (; started < loads->samplers && started < core_count && !error; started += !error) {
    samplers[started] = (core_sampler){.order = order,
                                       .memory = memory,
                                       .loads = loads->list + (int64_t)started * loads->max,
                                       .max = loads->max,
                                       .first_visit = (uint32_t)(started * loads->max),
                                       .gate = &gate,
                                       .samplers = loads->samplers};
    error = prem_core_start(&threads[started], cores[started], sample, &samplers[started]);
  }
  for (int32_t i = 0; i < started; ++i) {
    pthread_join(threads[i], NULL);
    loads->counts[i] = samplers[i].count;
  }
  if (error == 0)
    return PREM_OK;
  return prem_experiment_refuse(diag, PREM_ERR_MACHINE, "no thread can be started: %s",
                                strerror(error));
}

prem_status prem_host_sample_loads(const prem_load_order *order, prem_loads *loads,
                                   prem_diag *diag) {
  const size_t bytes = (size_t)order->lines * PREM_LOAD_LINE_BYTES;
  const size_t whole = (2 * bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
  unsigned char *memory = aligned_alloc(HUGE_BYTES, whole);
  if (!memory)
    return PREM_ERR_MEMORY;
  /* With small pages the loads would wait for the translation of addresses. */
  madvise(memory, whole, MADV_HUGEPAGE);
  memset(memory, 0, whole);
  prem_status status = start_all(order, loads, (const uint32_t *)memory, diag);
  free(memory);
  return status;
}
