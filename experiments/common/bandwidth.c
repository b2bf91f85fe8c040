/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's memory gives to all cores together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/elements.h"
#include "prem/base/clock.h"

enum { MAX_CORES = 1024, SHARE_BYTES = 32 << 20, BLOCK_BYTES = 1 << 20 };
static const int64_t lasts_ns = 300000000;

/** A core at work: it reads one half of its share, or copies it to the other. */
typedef struct mover {
  pthread_t thread;
  uint64_t *words;
  bool copies;
  int32_t *gate, count;
  int64_t moved_bytes, took_ns;
} mover;

static uint64_t read_all(const uint64_t *words, size_t count) {
  uint64_t sum[4] = {0};
  for (size_t i = 0; i < count; i += 4)
    for (size_t k = 0; k < 4; ++k)
      sum[k] += words[i + k];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

static void *move(void *argument) {
  mover *self = argument;
  const size_t half = SHARE_BYTES / 2, words = half / sizeof *self->words;
  volatile uint64_t unused = 0;
  memset(self->words, 1, SHARE_BYTES);
  prem_cores_meet(self->gate, self->count);
  const int64_t begin_ns = prem_host_clock_ns();
  while (self->took_ns < lasts_ns) {
    if (self->copies)
      memcpy(self->words + words, self->words, half);
    else
      unused = unused + read_all(self->words, words) + read_all(self->words + words, words);
    self->moved_bytes += 2 * (int64_t)half;
    self->took_ns = prem_host_clock_ns() - begin_ns;
  }
  return NULL;
}

static prem_status move_with_all(bool copies, double *bytes_per_s, prem_diag *diag) {
  int32_t cores[MAX_CORES], gate = 0;
  const int32_t count = prem_cores_list(cores, MAX_CORES);
  mover *movers = calloc((size_t)count, sizeof *movers);
  int error = movers ? 0 : ENOMEM;
  int32_t started = 0;
  *bytes_per_s = 0;
  for (; started < count && !error; started += !error) {
    mover *self = &movers[started];
    *self = (mover){.words = aligned_alloc(BLOCK_BYTES, SHARE_BYTES),
                    .copies = copies,
                    .gate = &gate,
                    .count = count};
    error = self->words ? prem_core_start(&self->thread, cores[started], move, self) : ENOMEM;
    if (error)
      free(self->words);
  }
  for (int32_t i = 0; i < started; ++i) {
    pthread_join(movers[i].thread, NULL);
    *bytes_per_s += (double)movers[i].moved_bytes / ((double)movers[i].took_ns * 1e-9);
    free(movers[i].words);
  }
  free(movers);
  if (!error)
    return PREM_OK;
  return prem_experiment_refuse(diag, error == ENOMEM ? PREM_ERR_MEMORY : PREM_ERR_MACHINE,
                                "the host's memory: %s", strerror(error));
}

prem_status prem_host_bandwidth(const prem_experiment_context *context, double *bytes_per_s,
                                prem_diag *diag) {
  double reading = 0, copying = 0;
  prem_status status = move_with_all(false, &reading, diag);
  if (status == PREM_OK && prem_experiment_stopped(context))
    status = PREM_ERR_INTERRUPTED;
  if (status == PREM_OK)
    status = move_with_all(true, &copying, diag);
  *bytes_per_s = reading > copying ? reading : copying;
  return status;
}
