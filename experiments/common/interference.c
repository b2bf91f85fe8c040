/* SPDX-License-Identifier: Apache-2.0 */
/* Cores that keep the host's memory busy. */
#include "experiments/common/interference.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "prem/base/clock.h"

enum {
  MAX_CORES = 1024,
  LINE_BYTES = 64,
  SHARE_BYTES = 32 << 20, /* of each core; */
  ALL_BYTES = 1 << 30,    /* of all of them, and */
  MIN_BYTES = 4 << 20,    /* each at least so much */
  LINES_AT_ONCE = 4096    /* between two looks whether it is over */
};

typedef struct line {
  uint64_t words[LINE_BYTES / 8];
} line;

typedef struct worker {
  pthread_t thread;
  line *lines; /* a power of two of them */
  size_t line_count;
  uint64_t state; /* of the random order; never 0 */
  bool random;
  int64_t changed, busy_ns;
  atomic_bool *over;
  atomic_int *at_it;
} worker;

struct prem_interference {
  worker *workers;
  int32_t count;
  atomic_bool over;
  atomic_int at_it;
};

const char *prem_interference_name(prem_interference_kind kind) {
  static const char *const names[PREM_INTERFERENCE_COUNT] = {"none", "sequential", "random"};
  return names[kind];
}

/** Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void *disturb(void *argument) {
  worker *self = argument;
  const size_t mask = self->line_count - 1;
  memset(self->lines, 1, self->line_count * sizeof *self->lines);
  atomic_fetch_add(self->at_it, 1);
  const int64_t begin_ns = prem_host_clock_ns();
  size_t at = 0;
  while (!atomic_load_explicit(self->over, memory_order_relaxed)) {
    for (int i = 0; i < LINES_AT_ONCE; ++i) {
      volatile uint64_t *word = &self->lines[at].words[0];
      *word = *word + 1;
      at = (self->random ? (size_t)next_random(&self->state) : at + 1) & mask;
    }
    self->changed += LINES_AT_ONCE;
  }
  self->busy_ns = prem_host_clock_ns() - begin_ns;
  return NULL;
}

static size_t share_of(int32_t count) {
  size_t bytes = SHARE_BYTES;
  while (bytes > MIN_BYTES && bytes * (size_t)count > ALL_BYTES)
    bytes /= 2;
  return bytes;
}

static int start_worker(prem_interference *interference, int32_t core, size_t bytes, bool random,
                        uint64_t seed) {
  worker *self = &interference->workers[interference->count];
  *self = (worker){.lines = aligned_alloc(LINE_BYTES, bytes),
                   .line_count = bytes / LINE_BYTES,
                   .state = (seed + 1) * 0x9E3779B97F4A7C15u + (uint64_t)core,
                   .random = random,
                   .over = &interference->over,
                   .at_it = &interference->at_it};
  int error = self->lines ? prem_core_start(&self->thread, core, disturb, self) : ENOMEM;
  if (error)
    free(self->lines);
  else
    ++interference->count;
  return error;
}

prem_status prem_interference_begin(prem_interference_kind kind, int32_t first, uint64_t seed,
                                    prem_interference **out, prem_diag *diag) {
  *out = NULL;
  int32_t cores[MAX_CORES];
  const int32_t core_count = prem_cores_list(cores, MAX_CORES);
  if (kind == PREM_INTERFERENCE_NONE || first >= core_count)
    return PREM_OK;
  prem_interference *made = calloc(1, sizeof *made);
  worker *workers = calloc((size_t)core_count, sizeof *workers);
  if (!made || !workers) {
    free(made);
    free(workers);
    return PREM_ERR_MEMORY;
  }
  made->workers = workers;
  int error = 0;
  for (int32_t i = first; i < core_count && !error; ++i)
    error = start_worker(made, cores[i], share_of(core_count - first),
                         kind == PREM_INTERFERENCE_RANDOM, seed);
  if (error) {
    prem_interference_end(made);
    return prem_experiment_refuse(diag, error == ENOMEM ? PREM_ERR_MEMORY : PREM_ERR_MACHINE,
                                  "no core can be kept busy: %s", strerror(error));
  }
  const struct timespec pause = {.tv_nsec = 1000000};
  while (atomic_load(&made->at_it) < made->count)
    nanosleep(&pause, NULL);
  *out = made;
  return PREM_OK;
}

double prem_interference_end(prem_interference *interference) {
  if (!interference)
    return 0;
  double bytes_per_s = 0;
  atomic_store(&interference->over, true);
  for (int32_t i = 0; i < interference->count; ++i) {
    worker *self = &interference->workers[i];
    pthread_join(self->thread, NULL);
    if (self->busy_ns > 0)
      bytes_per_s += 2.0 * LINE_BYTES * (double)self->changed / ((double)self->busy_ns * 1e-9);
    free(self->lines);
  }
  free(interference->workers);
  free(interference);
  return bytes_per_s;
}
