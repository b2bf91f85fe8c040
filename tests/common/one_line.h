/* SPDX-License-Identifier: Apache-2.0 */
/** Printed text in one line: where sentences break is the terminal's. */
#pragma once

#include <string.h>

static inline void one_line(char *text) {
  char *to = text;
  for (const char *from = text; *from; ++from)
    if (*from == '\n') {
      *to++ = ' ';
      from += strspn(from + 1, " ");
    } else {
      *to++ = *from;
    }
  *to = 0;
}
