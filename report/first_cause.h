/* SPDX-License-Identifier: Apache-2.0 */
/** First causes in words. */
#pragma once

#include "ttprem/measure.h"

/** "the compute of a took longer than its window". Returns like snprintf.
 *  @param from  of a hand-over, the name of the task that ended */
int prem_first_cause_text(const prem_first_cause *cause, const char *task, const char *from,
                          char *text, size_t bytes);
