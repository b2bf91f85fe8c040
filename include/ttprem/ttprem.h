/** All of ttprem. */
#ifndef TTPREM_H
#define TTPREM_H

#include "ttprem/base.h"
#include "ttprem/diag.h"
#include "ttprem/isolation.h"
#include "ttprem/kernel.h"
#include "ttprem/machine.h"
#include "ttprem/measure.h"
#include "ttprem/output.h"
#include "ttprem/plan.h"
#include "ttprem/planner.h"
#include "ttprem/profile.h"
#include "ttprem/report.h"
#include "ttprem/runtime.h"
#include "ttprem/schedule.h"
#include "ttprem/text.h"
#include "ttprem/trace.h"
#include "ttprem/trace_file.h"
#include "ttprem/tuning.h"

#endif
