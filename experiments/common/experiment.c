/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/common/experiment.h"

#include <stdarg.h>
#include <stdio.h>

prem_status prem_experiment_refuse(prem_diag *diag, prem_status status, const char *format, ...) {
  char reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  prem_diag_add(diag, status == PREM_ERR_UNAVAILABLE ? PREM_NOTE : PREM_ERROR, 0, (prem_place){0},
                "", "%s", reason);
  return status;
}
