/* SPDX-License-Identifier: Apache-2.0 */
/** What may be said about times longer than the longest that was seen. */
#pragma once

#include "ttprem/profile.h"

/**
 * Peaks over threshold with an exponential tail, after Abella, Padilla, del Castillo, Cazorla,
 * "Measurement-Based Worst-Case Execution Time Estimation Using the Coefficient of Variation"
 * (2017): the excesses over the ninth decile are taken for exponential, or lighter, unless their
 * coefficient of variation is above 1 by more than chance.
 *
 * There is no estimate where one of these says no, each at 1 %: enough times; the first and second
 * half of them alike (Kolmogorov-Smirnov); no correlation of the ranks of neighbours; enough
 * different values above the threshold.
 *
 * @param maxima_ns    the longest time of each run, in the order of the runs.
 * @param probability  of a run's longest time to be above the estimate.
 * @retval PREM_ERR_MEMORY  `out` has no estimate
 */
prem_status prem_pwcet_estimate(const int64_t *maxima_ns, int64_t count, double probability,
                                prem_pwcet *out);
