/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as RFC 4180 has it, but for line ends within quotes: no name of ours has one. */
#include "report/traces/csv_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/text.h"

enum { FIRST_BYTES = 1 << 20, LONGEST_LINE_BYTES = 1 << 28, SHOWN_BYTES = 40 };

void prem_csv_open(prem_csv *csv, FILE *file, const char *name, prem_diag *diag) {
  *csv = (prem_csv){.name = name, .diag = diag, .file = file};
}

void prem_csv_close(prem_csv *csv) {
  free(csv->buffer);
  free(csv->fields);
  csv->buffer = NULL;
  csv->fields = NULL;
}

bool prem_csv_refuse(prem_csv *csv, const char *format, ...) {
  char reason[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  prem_diag_add(csv->diag, PREM_ERROR, 0, (prem_place){csv->name, csv->line}, "", "%s", reason);
  csv->status = PREM_ERR_PARSE;
  return false;
}

bool prem_csv_stop(prem_csv *csv, prem_status status) {
  csv->status = status;
  return false;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/** Room behind what is not yet read, for at least one byte more. */
static bool make_room(prem_csv *csv) {
  if (csv->begin > 0) {
    memmove(csv->buffer, csv->buffer + csv->begin, csv->end - csv->begin);
    csv->end -= csv->begin;
    csv->begin = 0;
  }
  if (csv->end < csv->capacity)
    return true;
  size_t capacity = csv->capacity ? 2 * csv->capacity : FIRST_BYTES;
  if (capacity > LONGEST_LINE_BYTES) {
    ++csv->line;
    return prem_csv_refuse(csv, "a line of more than %d bytes: this is no such file",
                           LONGEST_LINE_BYTES);
  }
  char *buffer = realloc(csv->buffer, capacity);
  if (!buffer)
    return prem_csv_stop(csv, PREM_ERR_MEMORY);
  csv->buffer = buffer;
  csv->capacity = capacity;
  return true;
}

static bool fill(prem_csv *csv) {
  if (!make_room(csv))
    return false;
  size_t got = fread(csv->buffer + csv->end, 1, csv->capacity - csv->end, csv->file);
  csv->end += got;
  csv->at_end = got == 0;
  if (!ferror(csv->file))
    return true;
  if (errno == EINTR && csv->stop && *csv->stop)
    return prem_csv_stop(csv, PREM_ERR_INTERRUPTED);
  prem_diag_add(csv->diag, PREM_ERROR, 0, (prem_place){csv->name, csv->line}, "",
                "cannot be read further");
  return prem_csv_stop(csv, PREM_ERR_IO);
}

/** The next line without its end, zero-terminated in place; NULL when there is none. */
static char *next_line(prem_csv *csv, char **line_end) {
  size_t searched = 0;
  for (;;) {
    const size_t waiting = csv->end - csv->begin; /* none before the first is read */
    char *found = waiting > searched
                      ? memchr(csv->buffer + csv->begin + searched, '\n', waiting - searched)
                      : NULL;
    if (found) {
      char *start = csv->buffer + csv->begin;
      ++csv->line;
      csv->begin = (size_t)(found - csv->buffer) + 1;
      if (found > start && found[-1] == '\r')
        --found;
      *found = 0;
      *line_end = found;
      return start;
    }
    if (csv->at_end) {
      ++csv->line;
      if (waiting > 0)
        prem_csv_refuse(csv, "the file is cut short: its last line has no end");
      return NULL;
    }
    searched = waiting;
    if (!fill(csv))
      return NULL;
  }
}

/* ---- fields --------------------------------------------------------------------------------- */

static bool add_field(prem_csv *csv, char *field) {
  if (csv->field_count == csv->field_capacity) {
    int32_t capacity = csv->field_capacity ? 2 * csv->field_capacity : 16;
    char **fields = realloc(csv->fields, (size_t)capacity * sizeof *fields);
    if (!fields)
      return prem_csv_stop(csv, PREM_ERR_MEMORY);
    csv->fields = fields;
    csv->field_capacity = capacity;
  }
  csv->fields[csv->field_count++] = field;
  return true;
}

/** Unquote in place; behind the closing quote, or NULL without one. */
static char *unquote(char *field) {
  char *to = field;
  for (char *from = field + 1; *from; ++from) {
    if (*from != '"') {
      *to++ = *from;
    } else if (from[1] == '"') {
      *to++ = *from++;
    } else {
      *to = 0;
      return from + 1;
    }
  }
  return NULL;
}

static bool split(prem_csv *csv, char *at, char *line_end) {
  for (;;) {
    char *field = at;
    if (*at == '"') {
      at = unquote(at);
      if (!at || (*at && *at != ','))
        return prem_csv_refuse(csv, "a quoted field that does not end with its quote");
      /* The apostrophe that keeps a name from being a formula is not the name's own. */
      field = *field == '\'' && prem_text_is_formula(field) ? field + 1 : field;
    } else {
      at = memchr(at, ',', (size_t)(line_end - at));
      if (!at)
        at = line_end;
    }
    if (!add_field(csv, field))
      return false;
    if (at == line_end)
      return true;
    *at++ = 0;
  }
}

bool prem_csv_next(prem_csv *csv) {
  char *line_end = NULL;
  csv->field_count = 0;
  char *line = csv->status == PREM_OK ? next_line(csv, &line_end) : NULL;
  if (!line)
    return false;
  if (strlen(line) != (size_t)(line_end - line))
    return prem_csv_refuse(csv, "a zero byte: this is no text");
  return split(csv, line, line_end);
}

/** Digits alone, as we write them; strtoll would take spaces and more. */
static bool parse_integer(const char *text, int64_t *out) {
  bool negative = *text == '-';
  const char *digit = text + negative;
  int64_t value = 0;
  if (!*digit)
    return false;
  for (; *digit; ++digit) {
    int figure = *digit - '0';
    if (figure < 0 || figure > 9 || value > (INT64_MAX - figure) / 10)
      return false;
    value = value * 10 + figure;
  }
  *out = negative ? -value : value;
  return true;
}

bool prem_csv_integer(prem_csv *csv, int32_t field, const char *column, int64_t *out) {
  const char *text = csv->fields[field];
  if (parse_integer(text, out))
    return true;
  return prem_csv_refuse(csv, "%s: '%.*s'%s is not an integer", column, SHOWN_BYTES, text,
                         strlen(text) > SHOWN_BYTES ? "..." : "");
}
