/* SPDX-License-Identifier: Apache-2.0 */
/** Finding the planned slot of a recorded phase. */
#ifndef TTPREM_MEASURE_SLOT_ORDER_H
#define TTPREM_MEASURE_SLOT_ORDER_H

#include <stdlib.h>

#include "ttprem/trace.h"

/** For qsort(): by task, job, tile and phase. */
static inline int prem_slot_order(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  if (x->task != y->task)
    return x->task < y->task ? -1 : 1;
  if (x->job != y->job)
    return x->job < y->job ? -1 : 1;
  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  return (x->phase > y->phase) - (x->phase < y->phase);
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

#endif
