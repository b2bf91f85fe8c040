/* SPDX-License-Identifier: Apache-2.0 */
/** Where numbers come from: program, machine, command, time. */
#pragma once

#include <jansson.h>

#include "ttprem/machine.h"

/**
 * @param command  the command line; NULL: not known
 * @param seed     NULL: nothing was random
 * @return NULL when there is no memory
 */
json_t *prem_provenance_json(const prem_machine *machine, const char *command, int64_t began_unix_s,
                             const uint64_t *seed);
/** The commit that this was built from, or "unknown". */
const char *prem_build_commit(void);
