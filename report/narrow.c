/* SPDX-License-Identifier: Apache-2.0 */
#include "report/narrow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void prem_wrap(const char *line, size_t letters, int first, int rest, FILE *file) {
  for (int before = first;; before = rest) {
    const size_t room = (size_t)(PREM_TERMINAL_COLUMNS - before);
    size_t length = letters;
    if (letters > room) {
      for (length = room; length > 0 && line[length] != ' ';)
        --length;
      if (length == 0) /* a word that is too long stands on a line of its own */
        while (length < letters && line[length] != ' ')
          ++length;
    }
    fprintf(file, "%*s%.*s\n", before, "", (int)length, line);
    while (length < letters && line[length] == ' ')
      ++length;
    line += length;
    letters -= length;
    if (letters == 0)
      return;
  }
}

static void print_line(const char *line, size_t letters, FILE *file) {
  const int before = (int)strspn(line, " ");
  if (letters <= PREM_TERMINAL_COLUMNS)
    fprintf(file, "%.*s\n", (int)letters, line);
  else
    prem_wrap(line + before, letters - (size_t)before, before, before + 2, file);
}

static size_t line_letters(const char *line) {
  return strcspn(line, "\n" PREM_TABLE_BEGIN PREM_TABLE_END);
}

static const char *next_line(const char *line) {
  line += line_letters(line);
  return line + (*line == '\n');
}

/* ---- tables --------------------------------------------------------------------------------- */

/** Which columns of letters go; which are blank in all lines. */
typedef struct letter_columns {
  size_t count;
  bool *blank, *gone;
} letter_columns;

static bool is_table(const char *at) {
  return *at && *at != *PREM_TABLE_END;
}

static void find_blanks(const char *table, letter_columns *columns) {
  for (size_t i = 0; i < columns->count; ++i)
    columns->blank[i] = true;
  for (const char *line = table; is_table(line); line = next_line(line))
    for (size_t i = 0; i < line_letters(line); ++i)
      columns->blank[i] &= line[i] == ' ';
}

/* One column of the widest gap; false: no gap has two. */
static bool take_one(letter_columns *columns) {
  size_t best = 0, widest = 1;
  for (size_t i = 0, wide = 0; i < columns->count; ++i) {
    wide = !columns->blank[i] ? 0 : wide + !columns->gone[i];
    if (wide > widest && !columns->gone[i]) {
      widest = wide;
      best = i;
    }
  }
  columns->gone[best] |= widest > 1;
  return widest > 1;
}

static const char *print_table(const char *table, FILE *file) {
  letter_columns columns = {0};
  const char *end = table;
  for (; is_table(end); end = next_line(end))
    columns.count = line_letters(end) > columns.count ? line_letters(end) : columns.count;
  columns.blank = calloc(columns.count + 1, sizeof *columns.blank);
  columns.gone = calloc(columns.count + 1, sizeof *columns.gone);
  if (columns.blank && columns.gone) {
    find_blanks(table, &columns);
    for (size_t left = columns.count; left > PREM_TERMINAL_COLUMNS && take_one(&columns);)
      --left;
  }
  for (const char *line = table; line < end; line = next_line(line)) {
    const size_t letters = line_letters(line);
    for (size_t i = 0; i < letters; ++i)
      if (!columns.gone || !columns.gone[i])
        fputc(line[i], file);
    fputc('\n', file);
  }
  free(columns.blank);
  free(columns.gone);
  return *end ? end + 1 : end;
}

void prem_print_narrow(const char *text, FILE *file) {
  while (*text)
    if (*text == *PREM_TABLE_BEGIN) {
      text = print_table(text + 1, file);
    } else {
      print_line(text, line_letters(text), file);
      text = next_line(text);
    }
}
