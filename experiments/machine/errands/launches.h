/* SPDX-License-Identifier: Apache-2.0 */
/** What errands are compared with: a launch for each tile. */
#ifndef TTPREM_EXPERIMENTS_MACHINE_ERRANDS_LAUNCHES_H
#define TTPREM_EXPERIMENTS_MACHINE_ERRANDS_LAUNCHES_H

#include <signal.h>
#include <stdbool.h>

#include "ttprem/diag.h"

enum { ERRAND_FLOATS = 1024, ERRAND_THREADS = 224, ERRAND_WARM_UP = 200 };

/** Launches that are to be measured; `count` and `right` are what came of them. */
typedef struct errand_launches {
  bool copies; /* to the GPU's memory and back; else it works in the host's */
  const volatile sig_atomic_t *stop;
  int64_t count;
  bool right; /* the outputs */
} errand_launches;

PREM_EXTERN_C_BEGIN
/** Each from before its launch until its output is on the host: ns[count]. */
prem_status prem_gpu_errand_launches(errand_launches *launches, int64_t *ns, prem_diag *diag);
PREM_EXTERN_C_END
#endif
