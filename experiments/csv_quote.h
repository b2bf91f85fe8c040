/** Writing a text into CSV. */
#ifndef TTPREM_CSV_QUOTE_H
#define TTPREM_CSV_QUOTE_H

#include <stdio.h>

/** As RFC 4180 quotes a field. */
static inline void prem_csv_quote(FILE *file, const char *bytes) {
  fputc('"', file);
  for (; *bytes; ++bytes) {
    if (*bytes == '"')
      fputc('"', file);
    fputc(*bytes, file);
  }
  fputc('"', file);
}

#endif
