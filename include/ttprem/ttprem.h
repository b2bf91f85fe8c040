/* SPDX-License-Identifier: Apache-2.0 */
/** All of the runtime: what a program needs that plans, checks and runs schedules. What measures is
 * in a library of its own: ttprem_measure.h. */
#ifndef TTPREM_H
#define TTPREM_H

#include "ttprem/base.h"
#include "ttprem/check.h"
#include "ttprem/diag.h"
#include "ttprem/errand.h"
#include "ttprem/kernel.h"
#include "ttprem/live.h"
#include "ttprem/machine.h"
#include "ttprem/output.h"
#include "ttprem/plan.h"
#include "ttprem/planner.h"
#include "ttprem/prepare.h"
#include "ttprem/runtime.h"
#include "ttprem/schedule.h"
#include "ttprem/text.h"
#include "ttprem/trace.h"

#endif
