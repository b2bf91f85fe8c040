/* SPDX-License-Identifier: Apache-2.0 */
/** Writing a text into CSV. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "ttprem/text.h"

/** As RFC 4180 quotes a field; what a spreadsheet would take for a formula follows an apostrophe.
 */
static inline void prem_csv_quote(FILE *file, const char *bytes) {
  fputs(prem_text_is_formula(bytes) ? "\"'" : "\"", file);
  for (; *bytes; ++bytes) {
    if (*bytes == '"')
      fputc('"', file);
    fputc(*bytes, file);
  }
  fputc('"', file);
}

/** As a field: quoted where it has to be. */
static inline void prem_csv_name(FILE *file, const char *name) {
  if (strpbrk(name, ",\"") || prem_text_is_formula(name))
    prem_csv_quote(file, name);
  else
    fputs(name, file);
}
