/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: texts of which letters are missing, more or others, the same ones for each state. */
#pragma once

#include <string.h>

#include "tests/common/planted.h"

/* Numbers get digits, points and exponents more often than chance would give them. */
static inline const char *letters_piece(uint64_t *state, const char *at) {
  static const char *const any[] = {
      "(",  ")", "{", "}", "[", "]",  ";",  ",",  "=", ":", "#", "/",    "*",  "-",    "\"", "\\",
      "\n", "x", "L", "0", " ", "/*", "*/", "//", "@", "_", "'", "\302", "\t", "true", "\r"};
  static const char *const number[] = {
      ".",  "e", "1",   "0x", "L", "-", ".5", "e3", "99999999999999999999",
      "LL", "+", "E-2", "1.", "_", "0", "L;", "\""};
  const bool is_number = *at >= '0' && *at <= '9' && planted_between(state, 0, 2) > 0;
  return is_number ? number[planted_between(state, 0, 16)] : any[planted_between(state, 0, 30)];
}

/** Free with free(). */
static inline char *letters_change(uint64_t *state, const char *source) {
  char *made = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&made, &bytes);
  const int32_t length = (int32_t)strlen(source), at = planted_between(state, 0, length - 1),
                how = planted_between(state, 0, 9);
  const int32_t gone = how < 4 ? 0 : how < 8 ? 1 : planted_between(state, 1, 9);
  fprintf(file, "%.*s", (int)at, source);
  if (how < 7)
    fputs(letters_piece(state, source + at), file);
  if (how == 9) /* the same again */
    fprintf(file, "%.*s", 40, source + at);
  if (at + gone < length && (how != 8 || planted_between(state, 0, 5)))
    fputs(source + at + gone, file);
  fclose(file);
  return made;
}
