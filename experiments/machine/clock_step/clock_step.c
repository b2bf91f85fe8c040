/* SPDX-License-Identifier: Apache-2.0 */
/* Step of the clock, and how well the clocks of all cores or SMs agree. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/distribution.h"
#include "experiments/common/probe.h"
#include "experiments/machine/clock_step/clock_looks.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"

enum {
  READINGS = 100000,
  MAX_PLACES = 1024, /* SMs or cores */
  EXCHANGES = 2000,
  LOOKS = 256
};
static const int64_t PATIENCE_NS = 10000000000; /* other work may have the cores for a while */

/* ---- steps ---------------------------------------------------------------------------------- */

static prem_status read_clock(const prem_probe_call *call, int64_t *readings_ns) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(call->context->backend))
    return prem_gpu_read_clock(READINGS, readings_ns, call->diag);
#endif
  (void)call;
  for (int32_t i = 0; i < READINGS; ++i)
    readings_ns[i] = prem_host_clock_ns();
  return PREM_OK;
}

/** The smallest difference that is not 0, what divides all, and readings that equal the one before.
 */
static void give_steps(const prem_probe_call *call, int64_t *readings_ns) {
  const prem_machine *machine = call->context->machine;
  int64_t smallest_ns = INT64_MAX, common_ns = 0, still = 0;
  for (int32_t i = 0; i + 1 < READINGS; ++i) {
    const int64_t difference = readings_ns[i + 1] - readings_ns[i];
    readings_ns[i] = difference;
    still += difference == 0;
    common_ns = prem_common_divisor(common_ns, difference);
    if (difference > 0 && difference < smallest_ns)
      smallest_ns = difference;
  }
  prem_table_row(call->found, INT(smallest_ns), INT(common_ns), INT(still),
                 INT(machine->clock_step_ns), INT(machine->clock_read_ns),
                 INT(machine->clock_skew_ns));
  prem_distribution_add(prem_probe_table(call, "differences"),
                        prem_is_gpu(call->context->backend) ? "%globaltimer" : "clock_gettime",
                        readings_ns, READINGS - 1);
}

static prem_status measure_steps(const prem_probe_call *call) {
  int64_t *readings_ns = calloc(READINGS, sizeof *readings_ns);
  const prem_status status = readings_ns ? read_clock(call, readings_ns) : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    give_steps(call, readings_ns);
  free(readings_ns);
  return status;
}

const prem_probe prem_clock_steps_probe = {"smallest; common; still; planned; read; skew",
                                           measure_steps, "differences"};

/* ---- the host's clocks ---------------------------------------------------------------------- */

typedef struct host_exchange {
  _Alignas(128) atomic_uint sent;
  _Alignas(128) atomic_uint seen;
  int64_t seen_ns; /* written before `seen` */
  prem_clock_gap gap;
  bool whole;
} host_exchange;

static bool wait_for(const atomic_uint *word, unsigned value, int64_t deadline_ns) {
  for (uint32_t look = 1; atomic_load_explicit(word, memory_order_acquire) != value; ++look)
    if (look % LOOKS == 0 && prem_host_clock_ns() > deadline_ns)
      return false;
  return true;
}

static void *answer(void *argument) {
  host_exchange *with = argument;
  const int64_t deadline_ns = prem_host_clock_ns() + PATIENCE_NS;
  for (unsigned number = 1; number <= EXCHANGES; ++number) {
    if (!wait_for(&with->sent, number, deadline_ns))
      return NULL;
    with->seen_ns = prem_host_clock_ns();
    atomic_store_explicit(&with->seen, number, memory_order_release);
  }
  return NULL;
}

static void *ask(void *argument) {
  host_exchange *with = argument;
  const int64_t deadline_ns = prem_host_clock_ns() + PATIENCE_NS;
  for (unsigned number = 1; number <= EXCHANGES; ++number) {
    const int64_t sent_ns = prem_host_clock_ns();
    atomic_store_explicit(&with->sent, number, memory_order_release);
    if (!wait_for(&with->seen, number, deadline_ns))
      return NULL;
    const int64_t back_ns = prem_host_clock_ns();
    prem_clock_gap_narrow(&with->gap, sent_ns, with->seen_ns, back_ns);
  }
  with->whole = true;
  return NULL;
}

static prem_status compare_cores(int32_t asking_core, int32_t answering_core, prem_clock_gap *gap,
                                 prem_diag *diag) {
  host_exchange with = {.gap = {answering_core, INT64_MIN, INT64_MAX}};
  pthread_t asking, answering;
  int error = prem_core_start(&answering, answering_core, answer, &with);
  if (error == 0) {
    error = prem_core_start(&asking, asking_core, ask, &with);
    if (error == 0)
      pthread_join(asking, NULL);
    pthread_join(answering, NULL);
  }
  *gap = with.gap;
  if (error == 0 && with.whole)
    return PREM_OK;
  return prem_experiment_refuse(diag, PREM_ERR_MACHINE, "the clocks of cores %d and %d: %s",
                                (int)asking_core, (int)answering_core,
                                error ? strerror(error) : "no answer within 10 s");
}

static void give_gap(const prem_probe_call *call, const prem_clock_gap *gap, int32_t first) {
  prem_table_row(call->found, INT(gap->place), INT(gap->min_ns), INT(gap->max_ns), INT(first));
}

static prem_status compare_on_host(const prem_probe_call *call) {
  int32_t cores[MAX_PLACES];
  const int32_t count = prem_cores_list(cores, MAX_PLACES);
  prem_status status = PREM_OK;
  for (int32_t i = 1; i < count && status == PREM_OK; ++i) {
    prem_clock_gap gap;
    status = prem_experiment_stopped(call->context)
                 ? PREM_ERR_INTERRUPTED
                 : compare_cores(cores[0], cores[i], &gap, call->diag);
    if (status == PREM_OK)
      give_gap(call, &gap, cores[0]);
    prem_experiment_progress(call->context, i, count);
  }
  return status;
}

static prem_status measure_gaps(const prem_probe_call *call) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(call->context->backend)) {
    prem_clock_gap gaps[MAX_PLACES];
    int32_t count = MAX_PLACES, first = 0;
    const prem_status status = prem_gpu_clock_gaps(gaps, &count, &first, call->diag);
    for (int32_t i = 0; i < count && status == PREM_OK; ++i)
      give_gap(call, &gaps[i], first);
    return status;
  }
#endif
  return compare_on_host(call);
}

const prem_probe prem_clock_gaps_probe = {"place; min; max; asking", measure_gaps, NULL};
