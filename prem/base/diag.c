/* SPDX-License-Identifier: Apache-2.0 */
/* The list of problems. */
#include "ttprem/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "ttprem/text.h"

enum { CODES = 64, KEPT_OF_A_CODE = 20 };

struct prem_diag {
  prem_problem *problems;
  size_t count;
  size_t errors, dropped;
  size_t of_code[3][CODES]; /* by severity, code 0 is not limited */
};

prem_diag *prem_diag_new(void) {
  return calloc(1, sizeof(prem_diag));
}

void prem_diag_free(prem_diag *diag) {
  if (!diag)
    return;
  for (size_t i = 0; i < diag->count; ++i)
    PREM_FREE((char *)diag->problems[i].file, (char *)diag->problems[i].key,
              (char *)diag->problems[i].reason);
  free(diag->problems);
  free(diag);
}

static char *format_reason(const char *format, va_list args) {
  char *text = NULL;
  if (vasprintf(&text, format, args) < 0)
    return NULL;
  return text;
}

static void add(prem_diag *diag, prem_severity severity, int code, prem_place place,
                const char *key, const char *format, va_list args) {
  if (!diag)
    return;
  if (code < 0 || code >= CODES)
    code = 0;
  if (severity == PREM_ERROR)
    ++diag->errors;
  if (++diag->of_code[severity][code] > KEPT_OF_A_CODE && code != 0) {
    ++diag->dropped;
    return;
  }
  prem_problem *grown = prem_grow(diag->problems, diag->count, sizeof *grown);
  if (!grown) {
    ++diag->dropped;
    return;
  }
  diag->problems = grown;
  char *reason = format_reason(format, args);
  char *file = strdup(place.file ? place.file : "");
  char *name = strdup(key ? key : "");
  if (!reason || !file || !name) {
    PREM_FREE(reason, file, name);
    ++diag->dropped;
    return;
  }
  diag->problems[diag->count++] = (prem_problem){.severity = severity,
                                                 .code = code,
                                                 .file = file,
                                                 .line = place.line,
                                                 .key = name,
                                                 .reason = reason};
}

void prem_diag_add(prem_diag *diag, prem_severity severity, int code, prem_place place,
                   const char *key, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(diag, severity, code, place, key, format, args);
  va_end(args);
}

prem_status prem_fail(prem_diag *diag, prem_status status, int code, prem_place place,
                      const char *key, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(diag, PREM_ERROR, code, place, key, format, args);
  va_end(args);
  return status;
}

prem_key_text prem_key(const char *format, ...) {
  prem_key_text key;
  va_list args;
  va_start(args, format);
  vsnprintf(key.text, sizeof key.text, format, args);
  va_end(args);
  return key;
}

size_t prem_diag_count(const prem_diag *diag) {
  return diag ? diag->count : 0;
}

const prem_problem *prem_diag_at(const prem_diag *diag, size_t index) {
  return diag && index < diag->count ? &diag->problems[index] : NULL;
}

size_t prem_diag_errors(const prem_diag *diag) {
  return diag ? diag->errors : 0;
}

size_t prem_diag_dropped(const prem_diag *diag) {
  return diag ? diag->dropped : 0;
}

bool prem_diag_has(const prem_diag *diag, int code) {
  return diag && code > 0 && code < CODES && diag->of_code[PREM_ERROR][code] > 0;
}

/* Texts of a stranger's file stand in a problem, and it goes to a terminal. */
static int show_line(char *line, int length, char *out, size_t out_bytes) {
  if (length < 0) {
    if (out_bytes > 0)
      *out = '\0';
    return length;
  }
  length = prem_text_show(line, out, out_bytes);
  free(line);
  return length;
}

int prem_problem_format(const prem_problem *problem, char *out, size_t out_bytes) {
  char place[32] = "";
  if (problem->file[0] && problem->line > 0)
    snprintf(place, sizeof place, ":%d: ", problem->line);
  else if (problem->file[0])
    snprintf(place, sizeof place, ": ");
  char what[16] = "";
  if (problem->severity == PREM_NOTE)
    snprintf(what, sizeof what, "note: ");
  else if (problem->severity == PREM_WARNING)
    snprintf(what, sizeof what, "warning: ");
  else if (problem->code > 0)
    snprintf(what, sizeof what, "E%03d: ", problem->code);
  char *line = NULL;
  const int length = asprintf(&line, "%s%s%s%s%s%s", problem->file, place, what, problem->key,
                              problem->key[0] ? ": " : "", problem->reason);
  return show_line(line, length, out, out_bytes);
}
