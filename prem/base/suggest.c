/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest word by edit distance; and which words there are. */
#include "prem/base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "prem/base/numbers.h"

enum { CANDIDATES = 4096 }; /* a suggestion is not worth more comparisons */

/* Edit distance with swaps of neighbours (optimal string alignment). */
static int distance(const char *a, const char *b) {
  int rows[3][PREM_NAME_BYTES + 1];
  int length_a = (int)strnlen(a, PREM_NAME_BYTES), length_b = (int)strnlen(b, PREM_NAME_BYTES);
  for (int j = 0; j <= length_b; ++j)
    rows[0][j] = j;
  for (int i = 1; i <= length_a; ++i) {
    int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= length_b; ++j) {
      char x = (char)tolower((unsigned char)a[i - 1]), y = (char)tolower((unsigned char)b[j - 1]);
      row[j] = prem_min_i32(above[j - 1] + (x != y), prem_min_i32(above[j], row[j - 1]) + 1);
      bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped)
        row[j] = prem_min_i32(row[j], above_that[j - 2] + 1);
    }
  }
  return rows[length_a % 3][length_b];
}

/* The unit is easily forgotten: compare without it as well. */
static int distance_but_unit(const char *word, const char *candidate) {
  char stem[PREM_NAME_BYTES];
  int nearest = distance(word, candidate);
  size_t length = strlen(candidate);
  if (length <= 3 || length >= sizeof stem || strcmp(candidate + length - 3, "_ns") != 0)
    return nearest;
  memcpy(stem, candidate, length - 3);
  stem[length - 3] = '\0';
  return prem_min_i32(nearest, distance(word, stem) + 1);
}

prem_shown prem_suggest(const char *word, const char *(*candidate)(const void *from, int32_t index),
                        const void *from, int32_t count) {
  prem_shown out = {""};
  const char *best = NULL;
  const int length = (int)strnlen(word, PREM_NAME_BYTES);
  int best_distance = prem_min_i32(length / 3 + 2, length); /* nearer than this */
  for (int32_t i = 0; i < count && i < CANDIDATES; ++i) {
    const char *name = candidate(from, i);
    int to_name = distance_but_unit(word, name);
    if (to_name < best_distance) {
      best_distance = to_name;
      best = name;
    }
  }
  if (best)
    snprintf(out.text, sizeof out.text, ", did you mean '%.50s'?", best);
  return out;
}

typedef struct named {
  const char *first;
  size_t bytes;
} named;

static const char *name_at(const void *from, int32_t index) {
  const named *structs = from;
  return structs->first + (size_t)index * structs->bytes;
}

prem_shown prem_suggest_named(const char *word, const void *structs, int32_t count, size_t bytes) {
  return prem_suggest(word, name_at, &(named){structs, bytes}, count);
}

void prem_list_words(const char *(*candidate)(const void *from, int32_t index), const void *from,
                     int32_t count, char *out, size_t out_bytes) {
  size_t used = 0;
  snprintf(out, out_bytes, "none");
  for (int32_t i = 0; i < count && used < out_bytes; ++i)
    used +=
        (size_t)snprintf(out + used, out_bytes - used, "%s%s", i ? ", " : "", candidate(from, i));
}

static const char *word_at(const void *from, int32_t index) {
  return ((const char *const *)from)[index];
}

prem_shown prem_suggest_word(const char *word, const char *const *words) {
  int32_t count = 0;
  while (words[count])
    ++count;
  return prem_suggest(word, word_at, words, count);
}
