/* SPDX-License-Identifier: Apache-2.0 */
/** Upper bounds of quantiles, from counted times. */
#pragma once

#include "measure/times.h"

/**
 * How many of `count` samples may lie above the order statistic that bounds the `share` quantile
 * from above with this confidence; -1: so few samples bound it by none of them.
 *
 * m is the largest for which P(B <= m) <= 1 - confidence, B binomial (count, 1 - share): the
 * (m + 1)-th longest of independent samples of one distribution, whichever it is, lies below the
 * quantile with that probability at most (Wilks: Determination of Sample Sizes for Setting
 * Tolerance Limits, 1941).
 */
int64_t prem_quantile_above(int64_t count, double share, double confidence);

/** That order statistic of two sets of times taken as one, rounded up by less than 0.1 %; the
 * longest where there are too few for it. 0: no times. */
int64_t prem_quantile_bound(const prem_times *a, const prem_times *b, double share,
                            double confidence);
