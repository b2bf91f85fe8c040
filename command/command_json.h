/* SPDX-License-Identifier: Apache-2.0 */
/** What plan and check say, as JSON. */
#pragma once

#include <jansson.h>

#include "command/command.h"

/** The problems that are kept: a list of {severity, code, file, line, key, reason}, without those
 *  that a problem does not have. NULL when out of memory. */
json_t *command_problems_json(const prem_diag *diag);
/** What the plan leaves to best-effort tasks: {windows, closed_ns, open_share}, where closed_ns is
 * with the time ahead of each window, and with servers their bounds. NULL when out of memory. */
json_t *command_closed_json(const prem_schedule *schedule);
/** Takes `root`; prints why not and returns false when it is NULL or cannot be written. */
bool command_write_json(const char *path, json_t *root);
