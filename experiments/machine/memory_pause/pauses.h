/* SPDX-License-Identifier: Apache-2.0 */
/** Loads that are watched, and the times in which none of them came back. */
#pragma once

#include "measure/times.h"

enum {
  PREM_MAX_SAMPLERS = 32,    /* SMs or cores */
  PREM_LOAD_LINE_BYTES = 128 /* from one load's address to the next one's */
};

/** What a load goes to. */
typedef enum prem_load_place {
  PREM_LOAD_MEMORY,      /* lines that are in no cache */
  PREM_LOAD_BUSY_MEMORY, /* GPU alone: the same while all other SMs read memory */
  PREM_LOAD_CACHE,       /* GPU: L2; CPU: the core's own */
  PREM_LOAD_SCRATCHPAD,  /* GPU alone: nothing outside of the SM */
  PREM_LOAD_PLACE_COUNT
} prem_load_place;

/** From just before it is issued until its value is there. */
typedef struct prem_load {
  int64_t begin_ns, end_ns;
} prem_load;

/** Of several samplers, each of which has one load in flight at a time. */
typedef struct prem_loads {
  prem_load *list; /* [samplers][most] */
  int32_t *counts; /* [samplers] */
  int32_t samplers, max;
} prem_loads;

/** How to sample. Memory is `lines` long, which is a power of two, and as much again lies behind it
 *  and is written last, so that the caches hold that. */
typedef struct prem_load_order {
  prem_load_place place;
  uint32_t lines;
  int64_t length_ns; /* at most; a sampler also ends after prem_loads.most */
} prem_load_order;

/** The line of a visit: different ones for as many visits as there are lines, each far from the one
 *  before (multiplicative hashing: Knuth, "Sorting and searching", 1973, 6.4). */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline uint32_t
    prem_load_line(uint32_t visit, uint32_t lines) {
  return visit * 0x9E3779B1u & (lines - 1);
}

/** No load of any sampler came back from begin_ns on for length_ns. */
typedef struct prem_pause {
  int64_t begin_ns, length_ns;
} prem_pause;

typedef struct prem_pauses {
  int64_t begin_ns, end_ns; /* in which all samplers were at work */
  prem_pause *list;         /* in order */
  int64_t count;
  int64_t sum_ns;
  int64_t ordinary_ns; /* longest gap that is no pause */
  prem_times gaps_ns;  /* from one load's end to the next one's, whosever it is */
} prem_pauses;

PREM_EXTERN_C_BEGIN

/** Fill `latencies` with how long the loads took; false: out of memory. */
bool prem_loads_latencies(const prem_loads *loads, prem_times *latencies);
/**
 * A gap above this is a pause: at its end each sampler's load has been in flight for longer. It is
 * the time that so few loads exceed that all samplers' loads at once would, by chance, do so less
 * than once in a hundred measurements; never below the median. That assumes loads which are late
 * independently of each other, and so a pause is what contradicts it.
 */
int64_t prem_pause_threshold_ns(const prem_times *latencies, int32_t samplers);
/**
 * Find the gaps above `threshold_ns`.
 *
 * @param[out] out  free with prem_pauses_free(), on error as well
 * @retval PREM_ERR_UNAVAILABLE  at no time all samplers were at work
 */
prem_status prem_pauses_find(const prem_loads *loads, int64_t threshold_ns, prem_pauses *out);
void prem_pauses_free(prem_pauses *pauses);
/** Was it in flight in a pause? `*next` is where to look: 0 for a sampler's first load, left as it
 *  is for its later ones. */
bool prem_load_in_pause(const prem_load *load, const prem_pauses *pauses, int64_t *next);

/** Fill `loads`. @retval PREM_ERR_MACHINE  no memory there, or no threads; `diag` says so */
prem_status prem_gpu_sample_loads(const prem_load_order *order, prem_loads *loads, prem_diag *diag);
prem_status prem_host_sample_loads(const prem_load_order *order, prem_loads *loads,
                                   prem_diag *diag);

PREM_EXTERN_C_END
