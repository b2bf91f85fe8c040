/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips of a flag. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/distribution.h"
#include "experiments/common/experiment.h"
#include "experiments/common/originals.h"
#include "experiments/machine/flag_round_trip/flag_trips.h"
#include "prem/base/clock.h"

enum { TRIPS = 20000, QUICK_TRIPS = 2000, WARM_UP = 100, LOOKS = 256 };
static const int64_t PATIENCE_NS = 10000000000; /* other work may have the cores for a while */

typedef struct trip_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *summaries, *distribution;
  int32_t count;
  int64_t *trips_ns;
  char verdict[400];
} trip_study;

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

/* ---- telling -------------------------------------------------------------------------------- */

static void begin_tables(trip_study *study) {
  study->summaries = prem_summaries_begin(study->findings, "round_trips", "Round trips", "way");
  prem_original_add(study->findings, "flag_round_trip", "original");
  study->distribution =
      prem_distribution_begin(study->findings, "distribution",
                              "Share of the round trips that take no longer", "way", "round trip");
}

/** The first trips are left out: threads and caches warm up. */
static void tell_way(trip_study *study, const char *way) {
  const int64_t count = study->count - WARM_UP;
  int64_t *trips_ns = study->trips_ns + WARM_UP;
  prem_summary summary;
  prem_summarise(trips_ns, count, &summary);
  prem_summaries_add(study->summaries, way, &summary);
  prem_distribution_add(study->distribution, way, trips_ns, count);
  const size_t used = strlen(study->verdict);
  snprintf(study->verdict + used, sizeof study->verdict - used,
           "%s%s %" PRId64 " ns (worst %" PRId64 ")", used ? ", " : "", way, summary.p50,
           summary.max);
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status measure_on_host(trip_study *study) {
  prem_status status = trips_between_cores(study->count, study->trips_ns, study->diag);
  if (status == PREM_OK)
    tell_way(study, "core - core through caches");
  return status;
}

#ifdef TTPREM_CUDA
static prem_status measure_on_gpu(trip_study *study) {
  static const char *const ways[] = {
      [PREM_TRIP_ALONE] = "SM - SM through L2, the flag alone",
      [PREM_TRIP_L2] = "SM - SM through L2",
      [PREM_TRIP_MAPPED] = "SM - SM through mapped memory",
      [PREM_TRIP_HOST] = "core - SM through mapped memory",
  };
  for (int way = PREM_TRIP_ALONE; way <= PREM_TRIP_HOST; ++way) {
    if (prem_experiment_stopped(study->context))
      return PREM_ERR_INTERRUPTED;
    prem_status status =
        prem_gpu_trips((prem_trip_way)way, study->count, study->trips_ns, study->diag);
    if (status != PREM_OK)
      return status;
    tell_way(study, ways[way]);
    prem_experiment_progress(study->context, way + 1, PREM_TRIP_HOST + 2);
  }
  return PREM_OK;
}
#endif

static prem_status measure(trip_study *study) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(study->context->backend)) {
    prem_status status = measure_on_gpu(study);
    if (status != PREM_OK)
      return status;
  }
#endif
  return measure_on_host(study);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  trip_study study = {.context = context,
                      .findings = findings,
                      .diag = diag,
                      .count = WARM_UP + (context->quick ? QUICK_TRIPS : TRIPS)};
  study.trips_ns = calloc((size_t)study.count, sizeof *study.trips_ns);
  if (!study.trips_ns)
    return PREM_ERR_MEMORY;
  begin_tables(&study);
  prem_status status = measure(&study);
  if (*study.verdict)
    prem_findings_verdict(findings, "Median round trips: %s.", study.verdict);
  free(study.trips_ns);
  return status;
}

const prem_experiment prem_flag_round_trip_experiment = {
    .name = "flag_round_trip",
    .title = "Round trips of a flag",
    .question = "How long does it take until one part of the machine sees what another one wrote, "
                "and the answer comes back?",
    .backends = "cuda cpu",
    .run = run,
};
