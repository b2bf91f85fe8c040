/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the search: from an order to a schedule.
 *
 * Serial schedule generation: of the activities whose predecessors are placed and whose buffers are
 * to be had, the one with the smallest key is placed next, at the earliest instant at which all its
 * renewables have room. Any keys give a schedule. Starts of one schedule are the keys of the next:
 * in one direction after the other this is forward-backward improvement (Li and Willis 1992, An
 * iterative scheduling technique for resource-constrained project scheduling; Valls, Ballestin and
 * Quintanilla 2005, Justification and RCPSP).
 */
#pragma once

#include "schedules/planner/search/model.h"

typedef struct prem_decoder prem_decoder;

prem_decoder *prem_decoder_new(const prem_model *model);
void prem_decoder_free(prem_decoder *decoder);
/** A schedule that is not made by then, or when `stop` (may be NULL) is not 0, is given up with
 *  PREM_ERR_INTERRUPTED: only such of many activities, which take long. */
void prem_decoder_end_at(prem_decoder *decoder, double until_s, const volatile sig_atomic_t *stop);

/**
 * Place everything from the front.
 *
 * @param      key      [count] smallest first; equal ones by index.
 * @param      waiting  the key counts from the instant at which the activity could start: first
 *                      come, first served, but for the keys.
 * @param[out] start    [count], in steps of the grid; may be `key`.
 */
prem_status prem_decode_forward(prem_decoder *decoder, const int64_t *key, bool waiting,
                                int64_t *start);
/**
 * Place everything from the end, as late as it can be with the cost given. Starts may become
 * negative: what is wanted is the order.
 *
 * @param key  [count] smallest first, as in a schedule that is read backwards.
 */
prem_status prem_decode_backward(prem_decoder *decoder, const int64_t *key, prem_cost cost,
                                 int64_t *start);
