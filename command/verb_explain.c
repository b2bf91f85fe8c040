/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem explain: what a code means. The codes are written down once, in two tables of
 * docs/errors.md, which the assembler reads; TTPREM_ERRORS_PAGE comes from the build. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

__asm__(".pushsection .rodata\n"
        ".hidden command_errors_page\n.global command_errors_page\n"
        "command_errors_page: .incbin \"" TTPREM_ERRORS_PAGE "\"\n.byte 0\n"
        ".popsection\n");
__attribute__((visibility("hidden"))) extern const char command_errors_page[];

enum { CELLS = 4 };

/* A row of a table: of the code, what is wrong, what is refused and what to write instead; or, of
 * the codes that need it, the code and how exactly the checker reads its rule. */
typedef struct code_row {
  long code;
  int count;
  char cell[CELLS][2048];
} code_row;

/* The next row of a code from `at` on; NULL: none. */
static const char *next_row(const char *at, code_row *row) {
  while ((at = strstr(at, "\n| E")) && !isdigit((unsigned char)at[4]))
    ++at;
  if (!at)
    return NULL;
  row->code = strtol(at + 4, NULL, 10);
  row->count = 0;
  for (at += 3; *at && *at != '\n' && row->count < CELLS;) {
    const char *end = strstr(at, " |");
    if (!end)
      break;
    snprintf(row->cell[row->count++], sizeof row->cell[0], "%.*s", (int)(end - at), at);
    at = end + strspn(end, " |");
  }
  return at - 1; /* the line's end begins the next row */
}

static void list_codes(void) {
  code_row row;
  for (const char *at = command_errors_page; (at = next_row(at, &row));) {
    char head[16];
    snprintf(head, sizeof head, "%.8s  ", row.cell[0]);
    if (row.count == CELLS)
      command_print_wrapped(head, row.cell[1]);
  }
  puts("\n`ttprem explain CODE` tells more.");
}

static bool explain(long code) {
  code_row row;
  bool found = false;
  for (const char *at = command_errors_page; (at = next_row(at, &row));) {
    if (row.code != code)
      continue;
    found = true;
    if (row.count < CELLS) {
      command_print_wrapped("  exactly: ", row.cell[1]);
      continue;
    }
    char head[16];
    snprintf(head, sizeof head, "%.8s: ", row.cell[0]);
    command_print_wrapped(head, row.cell[1]);
    command_print_wrapped("  refused: ", row.cell[2]);
    command_print_wrapped("  instead: ", row.cell[3]);
  }
  return found;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  const char **code = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = NULL;
    return 0;
  case ARGP_KEY_ARG:
    if (*code)
      argp_error(state, "one code at a time");
    *code = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .parser = parse,
    .children = command_common_children,
    .args_doc = "[CODE]",
    .doc = "Say what a code of a message means: what is wrong, an example that is refused, what to "
           "write instead, and how exactly the checker reads the rule. Without CODE: all "
           "codes.\v" COMMAND_EXIT_DOC,
};

int verb_explain(int argc, char **argv) {
  const char *code = NULL;
  command_parse(&argp, argc, argv, &code);
  if (!code) {
    list_codes();
    return COMMAND_DONE;
  }
  char *end;
  const char *digits = code + (*code == 'E' || *code == 'e');
  const long number = strtol(digits, &end, 10);
  if (isdigit((unsigned char)*digits) && !*end && explain(number))
    return COMMAND_DONE;
  return command_fail(COMMAND_USAGE, "there is no code '%s'; `ttprem explain` lists them", code);
}
