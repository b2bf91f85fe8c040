/* SPDX-License-Identifier: Apache-2.0 */
/** Text from elsewhere: what may be shown to a reader, and how to show the rest. */
#ifndef TTPREM_TEXT_H
#define TTPREM_TEXT_H

#include <stdio.h>

#include "ttprem/base.h"

PREM_EXTERN_C_BEGIN

/**
 * Where a text stops being plain: the offset of the first byte that is not UTF-8, or of the first
 * control character (line ends, U+0080 to U+009F, those that turn the direction of writing and
 * those that no XML may have among them). Its length when all of it is plain. Thread-safe.
 *
 * @param[out] fault  that character or byte as "U+000A" or "byte 0xff"; may be NULL.
 */
PREM_API size_t prem_text_plain(const char *text, char fault[16]);
/** The text with "\x1b", "\u202e", "\xff" in the place of what is not plain. Returns like snprintf.
 *  Thread-safe. */
PREM_API int prem_text_show(const char *text, char *out, size_t out_bytes);
/** In place: a space for each line end and tab that is not plain, '?' for all else. Thread-safe. */
PREM_API void prem_text_clean(char *text);
/** Would a spreadsheet take a cell of this text for a formula? So it does where = + - @ come first,
 *  or behind apostrophes alone: CSV files put one more before it, and readers take one away.
 *  Thread-safe. */
PREM_API bool prem_text_is_formula(const char *text);

PREM_EXTERN_C_END
#endif
