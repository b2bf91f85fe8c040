/* SPDX-License-Identifier: Apache-2.0 */
/** Finding the planned slot of a recorded phase, and what ran before it on its block. */
#pragma once

#include <stdlib.h>

#include "prem/base/sorting.h"
#include "ttprem/trace.h"

/** For qsort(): by task, job, tile and phase. */
static inline int prem_slot_order(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  return prem_by_numbers((int64_t[]){x->task, x->job, x->tile, x->phase},
                         (int64_t[]){y->task, y->job, y->tile, y->phase}, 4);
}

/** Are they phases of one tile, of one job? */
static inline bool prem_is_one_tile(const prem_trace_record *a, const prem_trace_record *b) {
  return a->task == b->task && a->job == b->job && a->tile == b->tile &&
         a->hyperperiod == b->hyperperiod;
}

/** Of slots in that order; NULL: it is not among them. */
static inline const prem_slot *prem_slot_find(const prem_slot *slots, int64_t count,
                                              const prem_trace_record *record) {
  prem_slot key = {
      .task = record->task, .job = record->job, .tile = record->tile, .phase = record->phase};
  if (count == 0)
    return NULL;
  return bsearch(&key, slots, (size_t)count, sizeof key, prem_slot_order);
}

/** For qsort() of pointers: block after block, by start and end. */
static inline int prem_record_order(const void *left, const void *right) {
  const prem_trace_record *a = *(const prem_trace_record *const *)left,
                          *b = *(const prem_trace_record *const *)right;
  return prem_by_numbers((int64_t[]){a->block, a->start_ns, a->end_ns},
                         (int64_t[]){b->block, b->start_ns, b->end_ns}, 3);
}

/** All records in that order, to be freed; NULL when out of memory. */
static inline const prem_trace_record **prem_records_by_block(const prem_trace *trace) {
  const size_t place_bytes = sizeof(const prem_trace_record *);
  const prem_trace_record **places = malloc(((size_t)trace->record_count + 1) * place_bytes);
  for (int64_t i = 0; places && i < trace->record_count; ++i)
    places[i] = &trace->records[i];
  if (places)
    qsort(places, (size_t)trace->record_count, place_bytes, prem_record_order);
  return places;
}
