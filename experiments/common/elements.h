/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Walks as the thesis on time-triggered tiles has them: over elements of 4 bytes, the whole list,
 * again and again, the loop's own time subtracted. Thread t begins at element t, and in order it
 * goes on by as many elements as there are threads: neighbours walk side by side, and a warp's
 * accesses fall together. The walks of experiments/common/walks.h differ on purpose: their elements
 * are sectors, their threads spread, so that every access is one of memory.
 *
 * Here prem_walk.steps are of a thread in a repetition; 0: as many as the list has elements. Fewer
 * are a part of the list: at random threads begin spread over it, and each repetition goes on where
 * the last one ended. The same part again would be in a cache.
 */
#pragma once

#include "experiments/common/walks.h"

enum { PREM_ELEMENT_BYTES = 4 };

/** How often to walk: as often as fits the time, within the limits. */
typedef struct prem_element_repeats {
  int32_t min, max;
  int64_t budget_ns;
} prem_element_repeats;

typedef struct prem_elements prem_elements;

PREM_EXTERN_C_BEGIN

/**
 * @param room_bytes  of all lists of a walk together
 * @param mapped_bytes  the same in the host's memory; 0: none
 * @param[out] out    close with prem_elements_close()
 */
prem_status prem_elements_open(const prem_experiment_context *context, int64_t room_bytes,
                               int64_t mapped_bytes, prem_elements **out, prem_diag *diag);
/** Nothing happens for NULL. */
void prem_elements_close(prem_elements *elements);
/**
 * Touch the lists, walk once unmeasured, then as often as fits, also into the row's time.
 *
 * @param walk  without `repeats` and `begun`
 * @retval PREM_ERR_INTERRUPTED  the context's `stop` was seen
 */
prem_status prem_elements_measure(prem_elements *elements, const prem_walk *walk,
                                  prem_element_repeats repeats, prem_walk_time *out,
                                  prem_diag *diag);

/** The largest cache, for lists that are scaled to the machine; on a CPU at most 32 MiB, since
 * lists take long to make there (quick: 4 MiB). */
int64_t prem_elements_cache_bytes(const prem_experiment_context *context);

/**
 * The most that all cores together read and write of their memory a second: the better of reading
 * and copying, each about a third of a second. What a load's share of the memory is measured by.
 */
prem_status prem_host_bandwidth(const prem_experiment_context *context, double *bytes_per_s,
                                prem_diag *diag);

/* ---- for the two that walk ------------------------------------------------------------------ */

/** What a thread measured, over the repetitions. */
typedef struct prem_element_step {
  int64_t sum_ns, min_ns, max_ns, sum_cycles;
  uint32_t last, wrong; /* element at which it ended; repetitions that ended elsewhere */
} prem_element_step;

/** Where thread `thread` begins. */
uint32_t prem_element_first(const prem_walk *walk, int32_t thread, uint64_t seed);
/** And where it has to end, after the unmeasured repetition and all others. */
uint32_t prem_element_last(const prem_walk *walk, int32_t thread, uint64_t seed);
/** How many steps each thread takes. */
int64_t prem_element_steps(const prem_walk *walk);

/** `room`: of prem_walk_room_open(). */
prem_status prem_cpu_elements_walk(void *room, const prem_walk *walk, prem_element_step *steps,
                                   bool *together, prem_diag *diag);

prem_status prem_gpu_elements_open(int64_t room_bytes, int64_t mapped_bytes, uint64_t seed,
                                   void **out, prem_diag *diag);
void prem_gpu_elements_close(void *elements);
prem_status prem_gpu_elements_walk(void *elements, const prem_walk *walk, prem_element_step *steps,
                                   bool *together, prem_diag *diag);
/** ns of a turn of the loop without its access. */
double prem_gpu_elements_overhead(void *elements);

PREM_EXTERN_C_END
