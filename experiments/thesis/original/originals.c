/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler reads the files: nothing to find once installed. TTPREM_ORIGINAL_FOLDER comes from
 * the build. */
#include "experiments/thesis/original/originals.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_BYTES = 256 };

typedef struct original {
  const char *figure, *text; /* ends in a 0 */
} original;

#define FIGURE(name)                                                                               \
  __asm__(".pushsection .rodata\n.hidden prem_original_" #name "\n.global prem_original_" #name    \
          "\nprem_original_" #name ": .incbin \"" TTPREM_ORIGINAL_FOLDER "/" #name                 \
          ".tsv\"\n.byte 0\n.popsection\n");                                                       \
  __attribute__((visibility("hidden"))) extern const char prem_original_##name[];
#include "experiments/thesis/original/originals.def"
#undef FIGURE

#define FIGURE(name) {#name, prem_original_##name},
static const original originals[] = {
#include "experiments/thesis/original/originals.def"
};
#undef FIGURE

/** The field up to a tab or the line's end, and what comes behind it. */
static const char *take_field(const char *text, char field[FIELD_BYTES]) {
  const size_t length = strcspn(text, "\t\n");
  const size_t kept = length < FIELD_BYTES ? length : FIELD_BYTES - 1;
  memcpy(field, text, kept);
  field[kept] = '\0';
  return text + length;
}

static const char *next_line(const char *text) {
  text += strcspn(text, "\n");
  return *text ? text + 1 : text;
}

/** "mean[ns]" is a column and its unit. */
static void add_column(prem_table *table, char field[FIELD_BYTES]) {
  char *unit = strrchr(field, '[');
  if (!unit) {
    prem_table_column(table, field, "");
    return;
  }
  unit[strlen(unit) - 1] = '\0';
  *unit = '\0';
  prem_table_column(table, field, unit + 1);
}

static void add_cell(prem_table *table, const char *field) {
  char *end;
  const double value = strtod(field, &end);
  if (*end || !*field)
    prem_table_add_text(table, field);
  else if (strpbrk(field, ".eEn")) /* "nan" is missing */
    prem_table_add_real(table, value);
  else
    prem_table_add_int(table, (int64_t)value);
}

static void add_table(prem_findings *findings, const original *from) {
  char title[FIELD_BYTES], source[FIELD_BYTES], field[FIELD_BYTES];
  const char *at = from->text;
  take_field(at + 2, title);
  at = next_line(at);
  take_field(at + 2, source);
  at = next_line(at);
  prem_table *table = prem_findings_table(findings, from->figure, title, source);
  for (bool head = true; *at; head = false) {
    for (bool more = true; more;) {
      at = take_field(at, field);
      if (head)
        add_column(table, field);
      else
        add_cell(table, field);
      more = *at == '\t';
      at += more;
    }
    at = next_line(at);
  }
}

const char *prem_original_add(prem_findings *findings, const char *figure) {
  for (size_t i = 0; i < sizeof originals / sizeof *originals; ++i)
    if (strcmp(originals[i].figure, figure) == 0) {
      add_table(findings, &originals[i]);
      return originals[i].figure;
    }
  return NULL;
}
