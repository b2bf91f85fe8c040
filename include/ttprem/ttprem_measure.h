/* SPDX-License-Identifier: Apache-2.0 */
/** All of what measures: comparing modes, profiles, isolation, tuning, findings, pages. It is a
 * library of its own, ttprem_measure, on top of ttprem: traces to numbers, numbers to text and
 * pictures. */
#ifndef TTPREM_MEASURE_LIBRARY_H
#define TTPREM_MEASURE_LIBRARY_H

#include "ttprem/findings.h"
#include "ttprem/fit.h"
#include "ttprem/isolation.h"
#include "ttprem/measure.h"
#include "ttprem/plan_file.h"
#include "ttprem/profile.h"
#include "ttprem/report.h"
#include "ttprem/sampling.h"
#include "ttprem/tally.h"
#include "ttprem/trace_file.h"
#include "ttprem/tuning.h"

#endif
