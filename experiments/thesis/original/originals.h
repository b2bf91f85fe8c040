/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the thesis published, as data: its figures' values beside ours. Each file of this folder is
 * a table; its first two lines are title and source, the third names its columns with their units.
 */
#ifndef TTPREM_EXPERIMENTS_THESIS_ORIGINAL_ORIGINALS_H
#define TTPREM_EXPERIMENTS_THESIS_ORIGINAL_ORIGINALS_H

#include "ttprem/findings.h"

/**
 * Add a figure's table; its name is the figure's. Charts name it in `beside`.
 *
 * @param figure  a file of this folder without its extension, "fig_4_2a"
 * @return the name; NULL: there is no such file
 */
const char *prem_original_add(prem_findings *findings, const char *figure);

#endif
