/* SPDX-License-Identifier: Apache-2.0 */
/** Whether outputs can be written back in words of 4 bytes, as the GPU does. */
#pragma once

#include "ttprem/schedule.h"

enum { PREM_WORD_BYTES = 4 };

/**
 * A writeback moves whole 16-byte pieces, and words at both ends of a row. So the rows of an
 * output's windows begin and end at whole words of the array's rows. At the right edge of an array
 * they may end anywhere, since what follows is room between rows; but not where a task reads beyond
 * that edge, and has to find zeros there. Elements of 4 bytes and more always are whole words.
 *
 * @retval PREM_ERR_INVALID  see diag (E031)
 */
prem_status prem_judge_words(const prem_schedule *schedule, prem_diag *diag);
