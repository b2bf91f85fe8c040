/* SPDX-License-Identifier: Apache-2.0 */
/** Text for a terminal of 80 columns. */
#pragma once

#include <stdio.h>

enum { PREM_TERMINAL_COLUMNS = 80 };

/** Lines between these two are a table's. */
#define PREM_TABLE_BEGIN "\x02"
#define PREM_TABLE_END   "\x03"

/** Break a line at spaces; `first` and `rest` columns stand before its first line and the others.
 */
void prem_wrap(const char *line, size_t letters, int first, int rest, FILE *file);
/** Break what is too wide; of a table take spaces away between its columns, the widest gaps first,
 *  as far as there are any. */
void prem_print_narrow(const char *text, FILE *file);
