/* SPDX-License-Identifier: Apache-2.0 */
/** One line on stderr that tells how far long work is: on a terminal only, and not with --quiet. */
#pragma once

#include <stdbool.h>

#include "ttprem/base.h"

typedef struct progress {
  bool wanted;
  int shown_columns; /* of the line that stands there */
  double began_s, shown_s;
} progress;

/** Begin; the time left is estimated from here on. */
void progress_begin(progress *line);
/** Seconds since progress_begin(). */
double progress_seconds(const progress *line);
/**
 * Show a text, how much is done and the time that is left; at most ten times a second, so that any
 * number of calls costs little.
 *
 * @param part  of the whole that is done, 0 to 1; below 0: not known, and the text stands alone.
 */
void progress_show(progress *line, double part, const char *format, ...) PREM_PRINTF(3, 4);
/** Remove the line; messages and tables may follow. */
void progress_end(progress *line);
