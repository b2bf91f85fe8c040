/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips of a flag. */
#include <stdatomic.h>
#include <stdlib.h>

#include "experiments/common/cores.h"
#include "experiments/common/distribution.h"
#include "experiments/common/probe.h"
#include "experiments/machine/flag_round_trip/flag_trips.h"
#include "prem/base/clock.h"

enum { TRIPS = 20000, QUICK_TRIPS = 2000, WARM_UP = 100, LOOKS = 256 };
static const int64_t PATIENCE_NS = 10000000000; /* other work may have the cores for a while */

/* ---- between two cores ---------------------------------------------------------------------- */

typedef struct host_flags {
  _Alignas(128) atomic_uint ping;
  _Alignas(128) atomic_uint pong;
  int32_t count;
  int64_t *trips_ns;
} host_flags;

/** The clock is looked at now and then only: it takes as long as the flag itself. */
static bool wait_for(const atomic_uint *word, unsigned value, int64_t deadline_ns) {
  for (uint32_t look = 1; atomic_load_explicit(word, memory_order_acquire) != value; ++look)
    if (look % LOOKS == 0 && prem_host_clock_ns() > deadline_ns)
      return false;
  return true;
}

static void *answer(void *argument) {
  host_flags *flags = argument;
  const int64_t deadline_ns = prem_host_clock_ns() + PATIENCE_NS;
  for (int32_t trip = 1; trip <= flags->count; ++trip) {
    if (!wait_for(&flags->ping, (unsigned)trip, deadline_ns))
      return NULL;
    atomic_store_explicit(&flags->pong, (unsigned)trip, memory_order_release);
  }
  return NULL;
}

static void *ask(void *argument) {
  host_flags *flags = argument;
  const int64_t deadline_ns = prem_host_clock_ns() + PATIENCE_NS;
  for (int32_t trip = 1; trip <= flags->count; ++trip) {
    const int64_t begin_ns = prem_host_clock_ns();
    atomic_store_explicit(&flags->ping, (unsigned)trip, memory_order_release);
    if (!wait_for(&flags->pong, (unsigned)trip, deadline_ns))
      return NULL;
    flags->trips_ns[trip - 1] = prem_host_clock_ns() - begin_ns;
  }
  return NULL;
}

static prem_status trips_between_cores(int32_t count, int64_t *trips_ns, prem_diag *diag) {
  int32_t cores[2];
  if (prem_cores_list(cores, 2) < 2)
    return prem_experiment_refuse(diag, PREM_ERR_UNAVAILABLE,
                                  "a flag goes from one core to another, and there is but one");
  memset(trips_ns, 0, (size_t)count * sizeof *trips_ns);
  host_flags flags = {.count = count, .trips_ns = trips_ns};
  pthread_t asking, answering;
  int error = prem_core_start(&answering, cores[1], answer, &flags);
  if (error == 0) {
    error = prem_core_start(&asking, cores[0], ask, &flags);
    if (error == 0)
      pthread_join(asking, NULL);
    pthread_join(answering, NULL);
  }
  if (error == 0 && trips_ns[count - 1] > 0)
    return PREM_OK;
  return prem_experiment_refuse(diag, PREM_ERR_MACHINE, "two cores cannot pass a flag: %s",
                                error ? strerror(error) : "no answer within 10 s");
}

/* ---- the probe ------------------------------------------------------------------------------ */

/** The first trips are left out: threads and caches warm up. */
static void give(const prem_probe_call *call, const char *way, int64_t *trips_ns, int64_t count) {
  prem_summary summary;
  prem_summarise(trips_ns + WARM_UP, count - WARM_UP, &summary);
  prem_summaries_add(prem_probe_table(call, "round_trips"), way, &summary);
  prem_distribution_add(prem_probe_table(call, "distribution"), way, trips_ns + WARM_UP,
                        count - WARM_UP);
  prem_table_row(call->found, TEXT(way), INT(summary.p50), INT(summary.max));
}

#ifdef TTPREM_CUDA
static prem_status measure_on_gpu(const prem_probe_call *call, int64_t *trips_ns, int32_t count) {
  static const char *const ways[] = {
      [PREM_TRIP_ALONE] = "SM - SM through L2, the flag alone",
      [PREM_TRIP_L2] = "SM - SM through L2",
      [PREM_TRIP_MAPPED] = "SM - SM through mapped memory",
      [PREM_TRIP_HOST] = "core - SM through mapped memory",
  };
  prem_status status = PREM_OK;
  for (int way = PREM_TRIP_ALONE; way <= PREM_TRIP_HOST && status == PREM_OK; ++way) {
    status = prem_experiment_stopped(call->context)
                 ? PREM_ERR_INTERRUPTED
                 : prem_gpu_trips((prem_trip_way)way, count, trips_ns, call->diag);
    if (status == PREM_OK)
      give(call, ways[way], trips_ns, count);
    prem_experiment_progress(call->context, way + 1, PREM_TRIP_HOST + 2);
  }
  return status;
}
#endif

static prem_status measure(const prem_probe_call *call) {
  const int32_t count = WARM_UP + (call->context->quick ? QUICK_TRIPS : TRIPS);
  int64_t *trips_ns = calloc((size_t)count, sizeof *trips_ns);
  prem_status status = trips_ns ? PREM_OK : PREM_ERR_MEMORY;
#ifdef TTPREM_CUDA
  if (trips_ns && prem_is_gpu(call->context->backend))
    status = measure_on_gpu(call, trips_ns, count);
#endif
  if (status == PREM_OK)
    status = trips_between_cores(count, trips_ns, call->diag);
  if (status == PREM_OK)
    give(call, "core - core through caches", trips_ns, count);
  free(trips_ns);
  return status;
}

const prem_probe prem_round_trips_probe = {"way [text]; p50; max", measure, "round_trips"};
