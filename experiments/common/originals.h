/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What others published, as data: their values beside ours. Each file of thesis/original/ and
 * live/original/ is a table; its first two lines are title and source, the third names its columns
 * with their units.
 */
#pragma once

#include "ttprem/findings.h"

/**
 * Add a file's table. Charts name it in `beside`.
 *
 * @param figure  the file without folder and extension, "fig_4_2a"
 * @param name    of the table; NULL: the figure's
 * @return the name; NULL: there is no such file
 */
const char *prem_original_add(prem_findings *findings, const char *figure, const char *name);
