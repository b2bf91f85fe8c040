/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/findings.h>

enum { MOST_WORDS = 64 };

typedef struct reader {
  prem_findings *findings;
  prem_table *table;
  int columns; /* of the table; 0: not named yet */
  char *command;
  prem_place at;
  prem_diag *diag;
} reader;

/* The words behind the first one. */
typedef struct words {
  char *word[MOST_WORDS];
  int count;
} words;

static prem_status refuse(const reader *of, const char *key, const char *reason) {
  prem_diag_add(of->diag, PREM_ERROR, 0, of->at, key, "%s", reason);
  return PREM_ERR_PARSE;
}

/* ---- what a line says ---- */

static prem_status read_findings(reader *of, const words *with) {
  if (of->findings || with->count != 3)
    return refuse(of, "findings", "is the first line, with a name, a title and a question");
  of->findings = prem_findings_new(with->word[0], with->word[1], with->word[2]);
  return of->findings ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status read_verdict(reader *of, const words *with) {
  if (with->count != 1)
    return refuse(of, "verdict", "is one text");
  prem_findings_verdict(of->findings, "%s", with->word[0]);
  return PREM_OK;
}

static prem_status read_note(reader *of, const words *with) {
  if (with->count != 1)
    return refuse(of, "note", "is one text");
  prem_findings_note(of->findings, "%s", with->word[0]);
  return PREM_OK;
}

static prem_status read_command(reader *of, const words *with) {
  if (of->command || with->count != 1)
    return refuse(of, "command", "is one text, once");
  of->command = strdup(with->word[0]);
  return of->command ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status read_table(reader *of, const words *with) {
  if (with->count != 2)
    return refuse(of, "table", "has a name and a title");
  of->table = prem_findings_table(of->findings, with->word[0], with->word[1], NULL);
  of->columns = 0;
  return PREM_OK;
}

static prem_status read_columns(reader *of, const words *with) {
  if (!of->table || of->columns > 0 || with->count == 0)
    return refuse(of, "columns", "stand once, right after their table");
  for (int i = 0; i < with->count; ++i) {
    char *unit = strchr(with->word[i], '|');
    if (unit)
      *unit++ = '\0';
    prem_table_column(of->table, with->word[i], unit ? unit : "");
  }
  of->columns = with->count;
  return PREM_OK;
}

static void add_cell(prem_table *table, const char *text) {
  char *end_of_integer, *end_of_real;
  errno = 0;
  const long long integer = strtoll(text, &end_of_integer, 10);
  const bool is_integer = *text && !*end_of_integer && errno == 0;
  const double real = strtod(text, &end_of_real);
  if (strcmp(text, "-") == 0)
    prem_table_add_real(table, (double)NAN);
  else if (is_integer)
    prem_table_add_int(table, integer);
  else if (*text && !*end_of_real && isfinite(real))
    prem_table_add_real(table, real);
  else
    prem_table_add_text(table, text);
}

static prem_status read_row(reader *of, const words *with) {
  if (of->columns == 0 || with->count != of->columns)
    return refuse(of, "row", "has not a cell for each column of its table");
  for (int i = 0; i < with->count; ++i)
    add_cell(of->table, with->word[i]);
  return PREM_OK;
}

static prem_status read_chart(reader *of, const words *with) {
  static const struct {
    const char *name;
    prem_chart_kind kind;
  } kinds[] = {{"lines", PREM_CHART_LINES},
               {"points", PREM_CHART_POINTS},
               {"steps", PREM_CHART_STEPS},
               {"bars", PREM_CHART_BARS}};
  if (with->count != 5 && with->count != 6)
    return refuse(of, "chart", "has a kind, a table, a title, columns x and y, and maybe a series");
  const bool is_log = strncmp(with->word[0], "log-", 4) == 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (strcmp(with->word[0] + (is_log ? 4 : 0), kinds[i].name) == 0) {
      prem_findings_chart(of->findings,
                          &(prem_chart){.kind = kinds[i].kind,
                                        .table = with->word[1],
                                        .title = with->word[2],
                                        .x = with->word[3],
                                        .y = with->word[4],
                                        .series = with->count > 5 ? with->word[5] : NULL,
                                        .log_x = is_log});
      return PREM_OK;
    }
  return refuse(of, "chart", "has a kind that is none of bars, lines, points, steps");
}

/* ---- lines ---- */

static prem_status read_line(reader *of, char *line) {
  static const struct {
    const char *name;
    prem_status (*read)(reader *of, const words *with);
  } kinds[] = {{"findings", read_findings}, {"verdict", read_verdict}, {"note", read_note},
               {"command", read_command},   {"table", read_table},     {"columns", read_columns},
               {"row", read_row},           {"chart", read_chart}};
  words with = {.count = 0};
  line[strcspn(line, "\r\n")] = '\0';
  if (*line == '\0' || *line == '#')
    return PREM_OK;
  char *rest = line;
  const char *first = strsep(&rest, "\t");
  while (rest && with.count < MOST_WORDS)
    with.word[with.count++] = strsep(&rest, "\t");
  if (rest)
    return refuse(of, first, "has more than 64 words");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (strcmp(first, kinds[i].name) == 0)
      return of->findings || i == 0 ? kinds[i].read(of, &with)
                                    : refuse(of, first, "stands before the line `findings`");
  return refuse(of, first,
                "is none of findings, verdict, note, command, table, columns, row, chart");
}

static prem_status read_lines(reader *of, FILE *file) {
  char *line = NULL;
  size_t room = 0;
  prem_status status = PREM_OK;
  while (status == PREM_OK && getline(&line, &room, file) >= 0) {
    ++of->at.line;
    status = read_line(of, line);
  }
  free(line);
  if (status == PREM_OK && ferror(file)) {
    prem_diag_add(of->diag, PREM_ERROR, 0, of->at, "", "%s", strerror(errno));
    status = PREM_ERR_IO;
  }
  if (status == PREM_OK && !of->findings)
    status = refuse(of, "findings", "is missing: there is no line of what was found");
  return status;
}

prem_status lines_to_findings(const char *path, const prem_machine *machine, const char *out,
                              prem_diag *diag) {
  const bool is_stdin = strcmp(path, "-") == 0;
  reader of = {.at = {path, 0}, .diag = diag};
  FILE *file = is_stdin ? stdin : fopen(path, "r");
  if (!file) {
    prem_diag_add(diag, PREM_ERROR, 0, of.at, "", "%s", strerror(errno));
    return PREM_ERR_IO;
  }
  prem_status status = read_lines(&of, file);
  if (!is_stdin)
    fclose(file);
  if (status == PREM_OK)
    status =
        prem_findings_write(of.findings, machine, of.command ? of.command : "trackview", out, diag);
  prem_findings_free(of.findings);
  free(of.command);
  return status;
}
