/* SPDX-License-Identifier: Apache-2.0 */
/** Errors of a file or a machine: what is wrong goes to a list of problems, and the status on. */
#pragma once

#include "ttprem/diag.h"

/** Add an error as prem_diag_add() does, and return `status`. */
PREM_API prem_status prem_fail(prem_diag *diag, prem_status status, int code, prem_place place,
                               const char *key, const char *format, ...) PREM_PRINTF(6, 7);

/** The name of a setting, for the call that it stands in: prem_key("tasks.%s.tile", name).text */
typedef struct prem_key_text {
  char text[320];
} prem_key_text;
PREM_API prem_key_text prem_key(const char *format, ...) PREM_PRINTF(1, 2);
