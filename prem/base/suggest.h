/* SPDX-License-Identifier: Apache-2.0 */
/** "Did you mean": words as messages show them, and the nearest of those there are. */
#pragma once

#include "ttprem/base.h"

/** A word as a message may show it: one line, not too long. */
typedef struct prem_shown {
  char text[72];
} prem_shown;
PREM_API prem_shown prem_show(const char *word);

/**
 * ", did you mean 'X'?" with the nearest of the candidates, or "" when none is near. `candidate`
 * gives the word at an index.
 */
PREM_API prem_shown prem_suggest(const char *word,
                                 const char *(*candidate)(const void *from, int32_t index),
                                 const void *from, int32_t count);
/** The same of `count` structs that begin with their names, each of so many bytes. */
prem_shown prem_suggest_named(const char *word, const void *structs, int32_t count, size_t bytes);
/** "a, b, c" of the same candidates, cut short where it is long; "none". */
void prem_list_words(const char *(*candidate)(const void *from, int32_t index), const void *from,
                     int32_t count, char *out, size_t out_bytes);
/** The nearest one from a list that a NULL ends. */
prem_shown prem_suggest_word(const char *word, const char *const *words);
