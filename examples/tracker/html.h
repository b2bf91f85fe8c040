/* SPDX-License-Identifier: Apache-2.0 */
/** Text from elsewhere in HTML and SVG. */
#ifndef TRACKER_HTML_H
#define TRACKER_HTML_H

#include <stdio.h>

static inline void html_text(FILE *file, const char *text) {
  for (; *text; ++text)
    switch (*text) {
    case '&':
      fputs("&amp;", file);
      break;
    case '<':
      fputs("&lt;", file);
      break;
    case '>':
      fputs("&gt;", file);
      break;
    case '"':
      fputs("&quot;", file);
      break;
    case '\'':
      fputs("&#39;", file);
      break;
    default:
      fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

#endif
