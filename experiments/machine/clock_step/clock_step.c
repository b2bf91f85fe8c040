/* SPDX-License-Identifier: Apache-2.0 */
/* Step of the clock, and how well the clocks of all cores or SMs agree. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/distribution.h"
#include "experiments/common/experiment.h"
#include "experiments/common/originals.h"
#include "experiments/machine/clock_step/clock_looks.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "report/findings/tables.h"

enum {
  READINGS = 100000,
  MAX_PLACES = 1024, /* SMs or cores */
  EXCHANGES = 2000,
  LOOKS = 256
};
static const int64_t PATIENCE_NS = 10000000000; /* other work may have the cores for a while */

typedef struct clock_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  bool gpu;
  int64_t *readings_ns;
  prem_clock_gap gaps[MAX_PLACES];
  int32_t gap_count, first_place;
} clock_study;

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

static prem_status compare_on_host(clock_study *study) {
  int32_t cores[MAX_PLACES];
  const int32_t count = prem_cores_list(cores, MAX_PLACES);
  study->first_place = cores[0];
  for (int32_t i = 1; i < count; ++i) {
    if (prem_experiment_stopped(study->context))
      return PREM_ERR_INTERRUPTED;
    prem_status status =
        compare_cores(cores[0], cores[i], &study->gaps[study->gap_count], study->diag);
    if (status != PREM_OK)
      return status;
    ++study->gap_count;
    prem_experiment_progress(study->context, i, count);
  }
  return PREM_OK;
}

/* ---- both ----------------------------------------------------------------------------------- */

static prem_status read_clock(clock_study *study) {
#ifdef TTPREM_CUDA
  if (study->gpu)
    return prem_gpu_read_clock(READINGS, study->readings_ns, study->diag);
#endif
  for (int32_t i = 0; i < READINGS; ++i)
    study->readings_ns[i] = prem_host_clock_ns();
  return PREM_OK;
}

static prem_status compare_clocks(clock_study *study) {
#ifdef TTPREM_CUDA
  if (study->gpu) {
    study->gap_count = MAX_PLACES;
    return prem_gpu_clock_gaps(study->gaps, &study->gap_count, &study->first_place, study->diag);
  }
#endif
  return compare_on_host(study);
}

/* ---- telling -------------------------------------------------------------------------------- */

typedef struct steps_seen {
  int64_t smallest_ns, common_ns; /* of those that are not 0; common divisor */
  int64_t still;                  /* readings equal to the one before */
} steps_seen;

/** Turns the readings into their differences. */
static steps_seen find_steps(int64_t *readings_ns) {
  steps_seen seen = {INT64_MAX, 0, 0};
  for (int32_t i = 0; i + 1 < READINGS; ++i) {
    const int64_t difference = readings_ns[i + 1] - readings_ns[i];
    readings_ns[i] = difference;
    seen.still += difference == 0;
    seen.common_ns = prem_common_divisor(seen.common_ns, difference);
    if (difference > 0 && difference < seen.smallest_ns)
      seen.smallest_ns = difference;
  }
  return seen;
}

static void tell_facts(const clock_study *study, const steps_seen *seen) {
  const struct {
    const char *what;
    int64_t value;
  } facts[] = {
      {"smallest difference of two readings, 0 left out", seen->smallest_ns},
      {"what all differences are multiples of", seen->common_ns},
      {"step that the backend plans with", study->context->machine->clock_step_ns},
      {"mean cost of a reading, as the backend probes it", study->context->machine->clock_read_ns},
      {"skew that the backend allows for", study->context->machine->clock_skew_ns}};
  prem_table *table =
      prem_table_begin(study->findings, "facts", "The clock", NULL, "what; value [ns]");
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; ++i)
    prem_table_row(table, TEXT(facts[i].what), INT(facts[i].value));
}

static void tell_gaps(const clock_study *study) {
  prem_table *table =
      prem_findings_table(study->findings, "agreement",
                          study->gpu ? "How far the clock of each SM is ahead of the first one's"
                                     : "How far the clock of each core is ahead of the first one's",
                          NULL);
  prem_table_column(table, study->gpu ? "SM" : "core", "");
  prem_table_columns(table, "at least [ns]; ahead by [ns]; at most [ns]");
  for (int32_t i = 0; i < study->gap_count; ++i) {
    const prem_clock_gap *gap = &study->gaps[i];
    prem_table_row(table, INT(gap->place), INT(gap->min_ns),
                   REAL((double)(gap->min_ns + gap->max_ns) / 2), INT(gap->max_ns));
  }
  prem_findings_chart(study->findings,
                      &(prem_chart){.kind = PREM_CHART_POINTS,
                                    .title = "How far each clock is ahead of the first one's",
                                    .table = "agreement",
                                    .x = study->gpu ? "SM" : "core",
                                    .y = "ahead by",
                                    .low = "at least",
                                    .high = "at most"});
}

static void tell(const clock_study *study, const steps_seen *seen) {
  int64_t bound_ns = 0, apart = 0;
  for (int32_t i = 0; i < study->gap_count; ++i) {
    const prem_clock_gap *gap = &study->gaps[i];
    const int64_t behind_ns = -gap->min_ns;
    bound_ns = gap->max_ns > bound_ns ? gap->max_ns : bound_ns;
    bound_ns = behind_ns > bound_ns ? behind_ns : bound_ns;
    /* 0 lies outside of the bounds by more than a step: these clocks do differ. */
    apart += gap->min_ns > seen->smallest_ns || gap->max_ns < -seen->smallest_ns;
  }
  const char *place = study->gpu ? "SM" : "core";
  if (study->gap_count == 0)
    prem_findings_verdict(study->findings,
                          "The clock steps by %" PRId64 " ns; there is but one %s to read it.",
                          seen->still ? seen->smallest_ns : seen->common_ns, place);
  else
    prem_findings_verdict(study->findings,
                          "The clock steps by %" PRId64 " ns; no other %s's clock (%" PRId32
                          " compared) is more than %" PRId64 " ns from that of %s %" PRId32
                          ", and %" PRId64 " differ from it for certain.",
                          seen->still ? seen->smallest_ns : seen->common_ns, place,
                          study->gap_count, bound_ns, place, study->first_place, apart);
  if (seen->still == 0)
    prem_findings_note(
        study->findings,
        "No reading equals the one before: the step is hidden below the cost of a reading, and "
        "what all differences are multiples of is the best that is known of it.");
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status measure(clock_study *study) {
  prem_status status = read_clock(study);
  if (status == PREM_OK)
    status = compare_clocks(study);
  if (status != PREM_OK && status != PREM_ERR_INTERRUPTED)
    return status;
  const steps_seen seen = find_steps(study->readings_ns);
  tell_facts(study, &seen);
  prem_original_add(study->findings, "clock_step", "original");
  tell_gaps(study);
  prem_distribution_add(
      prem_distribution_begin(study->findings, "differences",
                              "Share of the readings that come no later after the one before",
                              "clock", "difference"),
      study->gpu ? "%globaltimer" : "clock_gettime", study->readings_ns, READINGS - 1);
  tell(study, &seen);
  return status;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  clock_study *study = calloc(1, sizeof *study);
  int64_t *readings_ns = calloc(READINGS, sizeof *readings_ns);
  prem_status status = PREM_ERR_MEMORY;
  if (study && readings_ns) {
    *study = (clock_study){.context = context,
                           .findings = findings,
                           .diag = diag,
                           .readings_ns = readings_ns,
                           .gpu = prem_is_gpu(context->backend)};
    status = measure(study);
  }
  free(readings_ns);
  free(study);
  return status;
}

const prem_experiment prem_clock_step_experiment = {
    .name = "clock_step",
    .title = "Step of the clock and agreement of all cores",
    .question =
        "How fine is the clock that releases the phases, and do all cores see the same one?",
    .backends = "cuda cpu",
    .run = run,
};
