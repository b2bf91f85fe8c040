/* SPDX-License-Identifier: Apache-2.0 */
/* Text within 80 columns: sentences break at spaces, tables lose room between their columns. */

#include "report/narrow.h"

#include "tests/common/suite.h"

static char *narrow(const char *text) {
  char *out = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&out, &bytes);
  prem_print_narrow(text, file);
  fclose(file);
  return out;
}

#define LETTERS_40 "abcdefghij abcdefghij abcdefghij abcdefg"
#define LINE_80    "abcdefghij abcdefghij abcdefghij abcdefgabcdefghij abcdefghij abcdefghij abcdefg\n"

TESTS(what_fits_stays_as_it_is, 5) {
  const char *const texts[] = {"", "\n", "a\n\n  b\n", LINE_80,
                               "a\n" PREM_TABLE_BEGIN "b     c\n" PREM_TABLE_END "d\n"};
  const char *const wanted[] = {"", "\n", "a\n\n  b\n", LINE_80, "a\nb     c\nd\n"};
  FREED char *out = narrow(texts[_i]);
  ck_assert_str_eq(out, wanted[_i]);
}

TEST(sentences_break_at_spaces) {
  char *out = narrow("  " LETTERS_40 LETTERS_40 "\nend\n");
  ck_assert_str_eq(out, "  abcdefghij abcdefghij abcdefghij abcdefgabcdefghij abcdefghij "
                        "abcdefghij\n    abcdefg\nend\n");
  free(out);
  char word[101] = "", text[140]; /* what has no space is not cut */
  memset(word, 'x', 100);
  snprintf(text, sizeof text, "a %s b\n", word);
  out = narrow(text);
  ck_assert_ptr_nonnull(strstr(out, word));
  ck_assert_ptr_nonnull(strstr(out, "\n  b\n"));
  free(out);
}

/* Columns keep their letters and their order, gaps shrink evenly and stay. */
TEST(tables_lose_the_widest_gaps) {
  char text[512];
  snprintf(text, sizeof text,
           PREM_TABLE_BEGIN "%-30s%30s%30s\n%-30s%30s%30s\n" PREM_TABLE_END "rest\n", "task",
           "median", "longest", "a task", "1.5", "20000.25");
  FREED char *out = narrow(text);
  size_t widest = 0;
  for (const char *line = out; *line; line += strcspn(line, "\n") + 1)
    widest = strcspn(line, "\n") > widest ? strcspn(line, "\n") : widest;
  ck_assert_uint_eq(widest, 80);
  char name[16], median[16], longest[16];
  ck_assert_int_eq(sscanf(out, "%15s %15s %15s", name, median, longest), 3);
  ck_assert_str_eq(longest, "longest");
  const char *second = strchr(out, '\n') + 1;
  ck_assert_int_eq(strstr(out, "median") + 6 - out, strstr(second, "1.5") + 3 - second);
}

/* With no gap left, a table is as wide as it is. */
TEST(full_tables_are_whole) {
  char row[101] = "", text[140];
  memset(row, 'y', 100);
  snprintf(text, sizeof text, PREM_TABLE_BEGIN "%s\nz\n" PREM_TABLE_END, row);
  FREED char *out = narrow(text);
  ck_assert_int_eq(strncmp(out, row, 100), 0);
  ck_assert_str_eq(out + 100, "\nz\n");
}
