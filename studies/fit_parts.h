/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the study `fit`. */
#ifndef TTPREM_STUDIES_FIT_PARTS_H
#define TTPREM_STUDIES_FIT_PARTS_H

#include "ttprem/fit.h"

/** What was chosen, and what it costs; NULL when out of memory. */
prem_findings *prem_fit_findings(const prem_schedule *schedule, const prem_fit *fit,
                                 const prem_fit_options *options);

#endif
