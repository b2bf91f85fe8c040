/* SPDX-License-Identifier: Apache-2.0 */
/** How often something is measured: one struct from the option to what is written. */
#ifndef TTPREM_SAMPLING_H
#define TTPREM_SAMPLING_H

#include "ttprem/schedule.h"

/**
 * A *sample* is a run in scenario relaunch, a hyperperiod in scenario resident. They are of each
 * mode and, in a study, of each schedule that takes part.
 */
typedef struct prem_sampling {
  prem_scenario scenario;
  int64_t samples;  /* that count; a comparison: 0, as many as duration_s takes */
  int64_t discard;  /* more of these that do not count, at the start of each mode (resident: of
                       each launch), in a study of each turn */
  int64_t rounds;   /* studies: over which the samples are spread, all that takes part by turns
                       in each */
  int64_t launches; /* resident: at most, in a study over all rounds; 0: 10, in a study in each */
  int64_t verify_every; /* resident: no launch has more samples that count than this, since outputs
                           are verified when a launch ends; 0: no limit */
  double duration_s;    /* a comparison: start no new round after so long, and one that counts;
                           resident: samples are cut to what fits, by the hyperperiod; 0: no limit */
  uint64_t seed;        /* of all random orders */
  int64_t max_records;  /* raw records kept of one run */
} prem_sampling;

#endif
