/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The small language of sweeps: arithmetic over named values, and texts with values in them.
 *
 *   1.25 * knee          numbers, names, + - * / < <= > >= == != && || !, C's `? :`, and
 * parentheses 'one block'          a text round_up(a, b)       functions: abs, ceil, floor, max,
 * min, round_up, whole (an integer in a table) $name, $(1 + b %.2f) in a text or in an expression:
 * the value itself, with a format if one is given
 *
 * A number that is not known is NAN. Whatever is made of it is NAN as well, so that a condition
 * holds, does not hold, or is unknown; only max and min take the other number.
 */
#pragma once

#include "ttprem/base.h"

enum { PREM_VALUE_BYTES = 4096, PREM_REASON_BYTES = 256 };

typedef struct prem_sweep_value {
  bool is_text;
  bool whole; /* a number that a table shows as an integer */
  double number;
  char text[PREM_VALUE_BYTES];
} prem_sweep_value;

/** What names stand for. False: there is no such name, `reason` says so. */
typedef struct prem_sweep_names {
  bool (*find)(const void *from, const char *name, prem_sweep_value *out,
               char reason[PREM_REASON_BYTES]);
  const void *from;
} prem_sweep_names;

/** @return false: `reason` says why */
bool prem_sweep_evaluate(const char *text, const prem_sweep_names *names, prem_sweep_value *out,
                         char reason[PREM_REASON_BYTES]);
/** The text with its values; free with free(). NULL: `reason` says why. */
char *prem_sweep_expand(const char *text, const prem_sweep_names *names,
                        char reason[PREM_REASON_BYTES]);
