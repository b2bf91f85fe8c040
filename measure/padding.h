/* SPDX-License-Identifier: Apache-2.0 */
/** Results that count at a fixed instant, which the first half of the times sets. */
#pragma once

#include "ttprem/measure.h"

/**
 * @param values   in the order of execution
 * @param away_ns  of each, above 0: disturbed; NULL: none is
 * @retval PREM_ERR_MEMORY  nothing is known
 */
prem_status prem_pad(const int64_t *values, const int64_t *away_ns, int64_t count, int64_t step_ns,
                     prem_padding *out);
