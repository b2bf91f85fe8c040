/* SPDX-License-Identifier: Apache-2.0 */
/** Binding a task once more, with other arguments. */
#pragma once

#include "ttprem/schedule.h"

/**
 * What a task's kernel makes of other arguments, where its tiles and windows stay what they are.
 * The schedule is bound, and stays as it is.
 *
 * @param args         marks of use are written
 * @param[out] params  as it was after an error
 * @retval PREM_ERR_INVALID  refused (E031)
 */
prem_status prem_bind_again(const prem_schedule *schedule, int32_t task, prem_arg *args,
                            int32_t arg_count, unsigned char params[PREM_PARAMS_BYTES],
                            prem_diag *diag);
