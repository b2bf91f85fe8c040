/* SPDX-License-Identifier: Apache-2.0 */
/** Cores that keep the host's memory busy while something else is measured. */
#pragma once

#include "ttprem/diag.h"

typedef enum prem_interference_kind {
  PREM_INTERFERENCE_NONE,
  PREM_INTERFERENCE_SEQUENTIAL, /* read, change, write: one line after the other */
  PREM_INTERFERENCE_RANDOM,     /* the same, any line */
  PREM_INTERFERENCE_COUNT
} prem_interference_kind;

typedef struct prem_interference prem_interference;

const char *prem_interference_name(prem_interference_kind kind);

/**
 * Start it on all cores of the process from number `first` on, each in memory of its own that is
 * larger than its share of the caches; returns when all are at it.
 *
 * @param[out] out  end with prem_interference_end()
 */
prem_status prem_interference_begin(prem_interference_kind kind, int32_t first, uint64_t seed,
                                    prem_interference **out, prem_diag *diag);
/** Waits for the cores. @return bytes that they read plus bytes that they wrote, a second; 0 for
 *  NULL. */
double prem_interference_end(prem_interference *interference);
