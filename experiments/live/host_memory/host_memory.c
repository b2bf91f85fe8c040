/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs a core to store inputs and to load outputs in ordinary memory, which nobody else
 * uses. */
#include <stdlib.h>
#include <string.h>

#include "experiments/live/ways/rows.h"
#include "prem/base/clock.h"

#if defined(__x86_64__)
enum { EVICTS = 1, LINE_BYTES = 64 };
#else
enum { EVICTS = 0 };
#endif

/* To memory: whoever comes next misses. */
static void evict(const float *values, int64_t count) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < count; i += LINE_BYTES / (int64_t)sizeof *values)
    __builtin_ia32_clflush(values + i);
  __builtin_ia32_mfence();
#else
  (void)values, (void)count;
#endif
}

static int64_t copy(float *to, const float *from, int64_t count) {
  const int64_t begin_ns = prem_host_clock_ns();
  memcpy(to, from, (size_t)count * sizeof *to);
  __asm__ volatile("" ::"r"(to) : "memory");
  return prem_host_clock_ns() - begin_ns;
}

/* Room for a row of ordinary memory, and its times. */
typedef struct ordinary {
  float *buffer, *staging;
  prem_way_samples samples;
} ordinary;

static void measure_turns(ordinary *memory, int32_t size, int64_t turns) {
  for (int64_t turn = 0; turn < turns; ++turn) {
    prem_way_times times = {0};
    for (int32_t i = 0; i < size; ++i)
      memory->staging[i] = (float)(turn + i);
    evict(memory->buffer, size);
    times.store_ns = copy(memory->buffer, memory->staging, size);
    times.store_again_ns = copy(memory->buffer, memory->staging, size);
    evict(memory->buffer, size);
    memset(memory->staging, 0, (size_t)size * sizeof *memory->staging);
    times.load_ns = copy(memory->staging, memory->buffer, size);
    times.load_again_ns = copy(memory->staging, memory->buffer, size);
    times.wrong = memory->staging[size - 1] != (float)(turn + size - 1);
    prem_way_keep(&memory->samples, &times);
  }
}

static prem_status measure(const prem_probe_call *call) {
  const int32_t size = (int32_t)prem_probe_whole(call, "size", 1, 1 << 24);
  const int64_t turns = prem_probe_whole(call, "turns", 1, 1000000);
  ordinary memory = {.buffer = calloc((size_t)size, sizeof(float)),
                     .staging = calloc((size_t)size, sizeof(float))};
  const bool made =
      prem_way_samples_make(turns, true, &memory.samples) && memory.buffer && memory.staging;
  if (made) {
    prem_way_samples *samples = &memory.samples;
    measure_turns(&memory, size, turns);
    prem_findings_output(call->findings, samples->wrong == 0);
    prem_table_row(call->found, INT(size), INT(samples->count), INT(EVICTS));
    prem_way_give_times(call->found, samples->store_ns, samples->count);
    prem_way_give_times(call->found, samples->store_again_ns, samples->count);
    prem_way_give_times(call->found, samples->load_ns, samples->count);
    prem_way_give_times(call->found, samples->load_again_ns, samples->count);
  }
  prem_way_samples_free(&memory.samples);
  free(memory.buffer);
  free(memory.staging);
  return made ? PREM_OK : PREM_ERR_MEMORY;
}

const prem_probe prem_ordinary_memory_probe = {"size; count; evicts; " PREM_WAY_STORE_COLUMNS,
                                               measure, NULL};
