/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner: libconfig's tokens, with what libconfig forgets about them. */
#include "prem/file/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
  INCLUDE_DEPTH = 10,
  INCLUDES = 256,            /* in all: one file may stand for any number of them */
  INCLUDED_BYTES = 16 << 20, /* the text of all of them */
  NESTING = 1000
};
#define MAX_FILE_BYTES (INT64_C(1) << 30)

/* What the grammar allows next. */
typedef enum expected { A_NAME, AN_ASSIGNMENT, A_VALUE, AN_END } expected;

typedef struct source_file {
  const char *name; /* interned */
  const char *begin, *at, *end;
  int line;
  dev_t device;
  ino_t inode;
} source_file;

typedef struct scanner {
  prem_schedule *schedule;
  prem_scan *scan;
  prem_diag *diag;
  const char *folder;
  source_file *files[INCLUDE_DEPTH + 2];
  int depth; /* index into files */
  int includes;
  int64_t included_bytes;
  expected next;
  char open[NESTING]; /* the brackets that are open */
  int nesting;
  char name[PREM_NAME_BYTES]; /* the last setting's */
  bool in_tasks;              /* the top-level setting is `tasks` */
  bool string_before;
  prem_token across; /* the first string of more than one line: the one without its end */
  prem_status status;
} scanner;

static prem_status fail_to_read(char *reason, size_t reason_bytes, FILE *file, char *bytes,
                                const char *what) {
  snprintf(reason, reason_bytes, "%s", what);
  if (file && file != stdin)
    fclose(file);
  free(bytes);
  return PREM_ERR_IO;
}

prem_status prem_read_file(const char *path, char **bytes, size_t *count, char *reason,
                           size_t reason_bytes) {
  *bytes = NULL;
  *count = 0;
  bool is_stdin = strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "rb");
  struct stat facts;
  if (!file)
    return fail_to_read(reason, reason_bytes, NULL, NULL, strerror(errno));
  if (fstat(fileno(file), &facts) == 0 && S_ISDIR(facts.st_mode))
    return fail_to_read(reason, reason_bytes, file, NULL, "it is a directory");
  size_t room = 65536, used = 0;
  char *text = NULL;
  for (;;) {
    char *grown = realloc(text, room + 2);
    if (!grown) {
      fail_to_read(reason, reason_bytes, file, text, "out of memory");
      return PREM_ERR_MEMORY;
    }
    text = grown;
    used += fread(text + used, 1, room - used, file);
    if (used < room)
      break;
    if ((int64_t)room >= MAX_FILE_BYTES)
      return fail_to_read(reason, reason_bytes, file, text, "it is above 1 GiB");
    room *= 2;
  }
  if (ferror(file))
    return fail_to_read(reason, reason_bytes, file, text, strerror(errno));
  if (!is_stdin)
    fclose(file);
  text[used] = '\n';
  text[used + 1] = '\0';
  *bytes = text;
  *count = used;
  return PREM_OK;
}

static source_file *current(scanner *s) {
  return s->files[s->depth];
}

static prem_place place_of(scanner *s) {
  return (prem_place){current(s)->name, current(s)->line};
}

static void set_token(prem_token *token, prem_place place, const char *text, size_t bytes) {
  size_t kept = bytes < sizeof token->text ? bytes : sizeof token->text - 1;
  token->place = place;
  for (size_t i = 0; i < kept; ++i)
    token->text[i] = text[i];
  for (size_t i = 0; i < kept; ++i)
    if (iscntrl((unsigned char)token->text[i]))
      token->text[i] = ' ';
  token->text[kept] = '\0';
}

static void surprise_with(scanner *s, const char *text, size_t bytes, const char *advice) {
  if (s->scan->surprised)
    return;
  s->scan->surprised = true;
  s->scan->advice = advice;
  set_token(&s->scan->surprise, place_of(s), text, bytes);
}

static void surprise(scanner *s, const char *text, size_t bytes) {
  surprise_with(s, text, bytes, NULL);
}

static char innermost(const scanner *s) {
  return s->nesting ? s->open[s->nesting - 1] : '{';
}

/* ---- the grammar ---------------------------------------------------------------------------- */

static void begin_setting(scanner *s, const char *text, size_t bytes) {
  size_t kept = bytes < sizeof s->name ? bytes : sizeof s->name - 1;
  memcpy(s->name, text, kept);
  s->name[kept] = '\0';
  s->next = AN_ASSIGNMENT;
  if (s->nesting > 0)
    return;
  s->in_tasks = strcmp(s->name, "tasks") == 0;
  if (s->in_tasks)
    s->scan->tasks = place_of(s);
  if (s->scan->plan_offset != SIZE_MAX)
    s->scan->settings_follow = true;
  else if (strcmp(s->name, "plan") == 0 && s->depth == 0)
    s->scan->plan_offset = (size_t)(text - current(s)->begin);
  else if (strcmp(s->name, "plan") == 0)
    s->scan->plan_is_included = true;
}

static void open_bracket(scanner *s, const char *text) {
  if (s->next != A_VALUE || innermost(s) == '[' || s->nesting == NESTING) {
    surprise(s, text, 1);
    return;
  }
  s->scan->task_count += s->in_tasks && s->nesting == 1 && *text == '{';
  s->open[s->nesting++] = *text;
  s->next = *text == '{' ? A_NAME : A_VALUE;
}

static void close_bracket(scanner *s, const char *text) {
  char opener = *text == '}' ? '{' : *text == ']' ? '[' : '(';
  bool is_empty = s->next == A_VALUE && text > current(s)->begin && opener != '{';
  const char *advice = NULL;
  if (is_empty) {
    const char *before = text - 1;
    while (before > current(s)->begin && isspace((unsigned char)*before))
      --before;
    is_empty = *before != ',' && *before != '=' && *before != ':';
    if (*before == ',')
      advice = "take out the comma before it: none follows the last element";
  }
  bool may_close = s->next == AN_END || is_empty || (s->next == A_NAME && opener == '{');
  if (s->nesting == 0 || innermost(s) != opener || !may_close) {
    surprise_with(s, text, 1, advice);
    return;
  }
  --s->nesting;
  s->next = AN_END;
}

static void punctuation(scanner *s, const char *text) {
  bool in_group = innermost(s) == '{';
  switch (*text) {
  case '{':
  case '[':
  case '(':
    open_bracket(s, text);
    break;
  case '}':
  case ']':
  case ')':
    close_bracket(s, text);
    break;
  case '=':
  case ':':
    if (s->next != AN_ASSIGNMENT)
      surprise(s, text, 1);
    s->next = A_VALUE;
    break;
  case ';':
    if (s->next != AN_END || !in_group)
      surprise(s, text, 1);
    s->next = A_NAME;
    break;
  case ',':
    if (s->next != AN_END)
      surprise(s, text, 1);
    s->next = in_group ? A_NAME : A_VALUE;
    break;
  default:
    surprise(s, text, 1);
  }
}

static void scalar(scanner *s, const char *text, size_t bytes) {
  if (s->next != A_VALUE)
    surprise(s, text, bytes);
  s->next = AN_END;
}

/* `2ms`, in front of which libconfig read a number. */
static void note_unit(scanner *s, const char *text, size_t bytes) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  const char *from = text;
  while (from > current(s)->begin && (isdigit((unsigned char)from[-1]) || from[-1] == '.'))
    --from;
  for (size_t i = 0; from < text && i < sizeof units / sizeof units[0]; ++i)
    if (strlen(units[i]) == bytes && memcmp(units[i], text, bytes) == 0)
      surprise_with(s, from, (size_t)(text - from) + bytes,
                    "put a time with a unit in quotes, as in \"1.5us\"");
}

static void word(scanner *s, const char *text, size_t bytes) {
  note_unit(s, text, bytes);
  bool is_bool = (bytes == 4 && strncasecmp(text, "true", 4) == 0) ||
                 (bytes == 5 && strncasecmp(text, "false", 5) == 0);
  if (is_bool)
    scalar(s, text, bytes);
  else if (innermost(s) == '{' && (s->next == A_NAME || s->next == AN_END))
    begin_setting(s, text, bytes);
  else
    surprise(s, text, bytes);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool is_time_key(const char *name) {
  size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, "_ns") == 0;
}

/* Does libconfig keep the value? Unsuffixed integers are 32 bit; hexadecimal ones wrap. */
static bool survives(const char *text, bool hexadecimal, bool has_suffix) {
  errno = 0;
  if (hexadecimal) {
    unsigned long long value = strtoull(text, NULL, 16);
    return errno == 0 && value <= (has_suffix ? (unsigned long long)INT64_MAX : INT32_MAX);
  }
  long long value = strtoll(text, NULL, 10);
  return errno == 0 && (has_suffix || (value >= INT32_MIN && value <= INT32_MAX));
}

/* libconfig's own arithmetic: hexadecimal digits are shifted in, decimal ones saturate, and
 * whatever has no suffix is cut to an int. */
static int64_t as_libconfig_reads(const char *text, bool hexadecimal, bool has_suffix) {
  uint64_t value = (uint64_t)strtoll(text, NULL, 10);
  if (hexadecimal && !has_suffix)
    value = strtoull(text, NULL, 16);
  if (hexadecimal && has_suffix) {
    value = 0;
    for (const char *p = text + 2; isxdigit((unsigned char)*p); ++p) {
      const char digit[2] = {*p, '\0'};
      value = value << 4 | (uint64_t)strtoull(digit, NULL, 16);
    }
  }
  return has_suffix ? (int64_t)value : (int32_t)(uint32_t)value;
}

static void note_cut_literal(scanner *s, const char *text, size_t bytes, bool hexadecimal,
                             bool has_suffix) {
  prem_token token;
  set_token(&token, place_of(s), text, bytes);
  token.is_64 = has_suffix;
  token.libconfig = as_libconfig_reads(text, hexadecimal, has_suffix);
  if (s->scan->cut_count < PREM_SCAN_CUT_LITERALS)
    s->scan->cut[s->scan->cut_count++] = token;
  if (is_time_key(s->name))
    return;
  if (has_suffix)
    prem_diag_add(s->diag, PREM_ERROR, 9, token.place, s->name,
                  "%s does not fit 64 bits; write at most 9223372036854775807L", token.text);
  else
    prem_diag_add(s->diag, PREM_ERROR, 9, token.place, s->name,
                  "%s without the suffix L would be cut to 32 bits; write %sL, or at most "
                  "2147483647",
                  token.text, token.text);
}

static size_t number_length(const char *at, const char *end, bool *is_integer, bool *hexadecimal,
                            bool *has_suffix) {
  const char *p = at;
  *is_integer = true;
  *hexadecimal = end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') &&
                 isxdigit((unsigned char)at[2]);
  if (*hexadecimal) {
    for (p += 2; p < end && isxdigit((unsigned char)*p); ++p)
      continue;
  } else {
    p += *p == '+' || *p == '-';
    for (; p < end && isdigit((unsigned char)*p); ++p)
      continue;
    if (p < end && *p == '.') {
      *is_integer = false;
      for (++p; p < end && isdigit((unsigned char)*p); ++p)
        continue;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
      const char *digits = p + 1;
      digits += digits < end && (*digits == '+' || *digits == '-');
      if (digits < end && isdigit((unsigned char)*digits)) {
        *is_integer = false;
        for (p = digits; p < end && isdigit((unsigned char)*p); ++p)
          continue;
      }
    }
  }
  const char *suffix = p;
  while (*is_integer && p < end && *p == 'L' && p - suffix < 2)
    ++p;
  *has_suffix = p > suffix;
  return (size_t)(p - at);
}

static void number(scanner *s) {
  source_file *file = current(s);
  const char *text = file->at;
  bool is_integer, hexadecimal, has_suffix;
  size_t bytes = number_length(text, file->end, &is_integer, &hexadecimal, &has_suffix);
  file->at += bytes;
  scalar(s, text, bytes);
  if (is_integer && !survives(text, hexadecimal, has_suffix))
    note_cut_literal(s, text, bytes, hexadecimal, has_suffix);
}

/* ---- strings, comments, includes ------------------------------------------------------------ */

/* A comment or string that runs to the file's end, and hides all that was meant to stand there. */
static void note_endless(scanner *s, prem_place begin, const char *text) {
  s->scan->never_ends = true;
  s->scan->surprised = true;
  set_token(&s->scan->surprise, begin, text, (size_t)(current(s)->end - text));
}

static void string(scanner *s) {
  source_file *file = current(s);
  const prem_place begin = place_of(s);
  const char *text = file->at++;
  while (file->at < file->end && *file->at != '"') {
    if (*file->at == '\\' && file->at + 1 < file->end)
      ++file->at;
    file->line += *file->at == '\n';
    ++file->at;
  }
  const bool is_endless = file->at == file->end;
  if ((is_endless || file->line > begin.line) && s->across.place.file != begin.file)
    set_token(&s->across, begin, text, (size_t)(file->at - text));
  if (is_endless) {
    note_endless(s, begin, text);
    s->scan->surprise = s->across;
  } else {
    ++file->at;
  }
  if (s->next == AN_END && s->string_before) /* libconfig joins strings side by side */
    return;
  scalar(s, text, (size_t)(file->at - text));
}

static bool skip_blank(scanner *s) {
  source_file *file = current(s);
  const char *p = file->at;
  if (isspace((unsigned char)*p)) {
    file->line += *p == '\n';
    file->at = p + 1;
    return true;
  }
  bool is_line_comment = *p == '#' || (*p == '/' && p[1] == '/');
  if (is_line_comment) {
    while (file->at < file->end && *file->at != '\n')
      ++file->at;
    return true;
  }
  if (*p != '/' || p[1] != '*')
    return false;
  const prem_place begin = place_of(s);
  file->at += 2;
  while (file->at < file->end && !(*file->at == '*' && file->at[1] == '/')) {
    file->line += *file->at == '\n';
    ++file->at;
  }
  if (file->at == file->end)
    note_endless(s, begin, p);
  else
    file->at += 2;
  return true;
}

static void scan_tokens(scanner *s);

static void refuse_include(scanner *s, int code, prem_place place, const char *name,
                           const char *reason) {
  prem_diag_add(s->diag, PREM_ERROR, code, place, "@include", "\"%s\": %s", name, reason);
  s->status = PREM_ERR_PARSE;
}

static bool is_open_already(const scanner *s, const struct stat *facts) {
  for (int i = 0; i <= s->depth; ++i)
    if (s->files[i]->inode == facts->st_ino && s->files[i]->device == facts->st_dev)
      return true;
  return false;
}

const char *prem_included_file(prem_schedule *schedule, const char *folder, const char *name) {
  char path[4096];
  if (strcmp(folder, ".") == 0)
    return prem_schedule_intern(schedule, name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return prem_schedule_intern(schedule, path);
}

static void scan_included(scanner *s, const char *name) {
  prem_place place = place_of(s);
  char path[4096], reason[128];
  char *bytes = NULL;
  size_t count = 0;
  struct stat facts;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", s->folder, name) >= sizeof path) {
    refuse_include(s, 24, place, name, "the path is too long");
    return;
  }
  if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    refuse_include(s, 24, place, name,
                   "there is no such file (includes count from the schedule's folder)");
    return;
  }
  if (is_open_already(s, &facts)) {
    refuse_include(s, 11, place, name, "it includes itself, in the end; take this line out");
    return;
  }
  if (s->depth >= INCLUDE_DEPTH) {
    refuse_include(s, 11, place, name, "includes go deeper than the limit of 10");
    return;
  }
  if (++s->includes > INCLUDES) {
    refuse_include(s, 11, place, name,
                   "more than the limit of 256 includes in all, those in included files counted "
                   "each time; put the text into fewer files");
    return;
  }
  s->included_bytes += facts.st_size;
  if (s->included_bytes > INCLUDED_BYTES) {
    refuse_include(s, 11, place, name,
                   "all included text is above the limit of 16 MiB; write it into the schedule's "
                   "own file");
    return;
  }
  if (prem_read_file(path, &bytes, &count, reason, sizeof reason) != PREM_OK) {
    refuse_include(s, 24, place, name, reason);
    return;
  }
  source_file file = {.name = prem_included_file(s->schedule, s->folder, name),
                      .begin = bytes,
                      .at = bytes,
                      .end = bytes + count,
                      .line = 1,
                      .device = facts.st_dev,
                      .inode = facts.st_ino};
  s->files[++s->depth] = &file;
  scan_tokens(s);
  s->files[s->depth--] = NULL;
  free(bytes);
}

/* `@include "name"`, first on its line. */
static void include(scanner *s) {
  static const char keyword[] = "@include";
  source_file *file = current(s);
  const char *line = file->at;
  while (line > file->begin && (line[-1] == ' ' || line[-1] == '\t'))
    --line;
  const char *p = file->at + sizeof keyword - 1;
  bool is_include = (line == file->begin || line[-1] == '\n') &&
                    strncmp(file->at, keyword, sizeof keyword - 1) == 0 &&
                    (*p == ' ' || *p == '\t');
  while (is_include && (*p == ' ' || *p == '\t'))
    ++p;
  if (!is_include || *p != '"') {
    surprise(s, file->at, 1);
    ++file->at;
    return;
  }
  char name[1024];
  size_t length = 0;
  for (++p; p < file->end && *p != '"' && *p != '\n' && length + 1 < sizeof name; ++p) {
    if (*p == '\\' && p + 1 < file->end)
      ++p;
    name[length++] = *p;
  }
  name[length] = '\0';
  if (p >= file->end || *p != '"') {
    surprise(s, file->at, sizeof keyword - 1);
    file->at = file->end;
    return;
  }
  file->at = p + 1;
  scan_included(s, name);
}

static bool is_name_byte(char byte) {
  return isalnum((unsigned char)byte) || byte == '_' || byte == '-' || byte == '*';
}

static bool begins_number(const char *p) {
  return isdigit((unsigned char)*p) || *p == '.' ||
         ((*p == '-' || *p == '+') && (isdigit((unsigned char)p[1]) || p[1] == '.'));
}

static void scan_tokens(scanner *s) {
  source_file *file = current(s);
  while (file->at < file->end && s->status == PREM_OK) {
    const char *text = file->at;
    if (skip_blank(s))
      continue;
    bool is_string = *text == '"';
    if (text == file->begin && strncmp(text, "\xef\xbb\xbf", 3) == 0)
      surprise_with(s, text, 3,
                    "the file begins with a byte order mark (BOM); save it as UTF-8 without one");
    if (is_string) {
      string(s);
    } else if (begins_number(text)) {
      number(s);
    } else if (isalpha((unsigned char)*text) || *text == '*') {
      while (file->at < file->end && is_name_byte(*file->at))
        ++file->at;
      word(s, text, (size_t)(file->at - text));
    } else if (*text == '@') {
      include(s);
    } else {
      ++file->at;
      punctuation(s, text);
    }
    s->string_before = is_string;
  }
}

prem_status prem_scan_source(prem_schedule *schedule, const char *file, const char *source,
                             size_t bytes, const char *folder, prem_scan *scan, prem_diag *diag) {
  struct stat facts = {0};
  *scan = (prem_scan){.plan_offset = SIZE_MAX};
  if (stat(file, &facts) != 0)
    facts = (struct stat){0};
  source_file outermost = {.name = prem_schedule_intern(schedule, file),
                           .begin = source,
                           .at = source,
                           .end = source + bytes,
                           .line = 1,
                           .device = facts.st_dev,
                           .inode = facts.st_ino};
  scanner s = {.schedule = schedule, .scan = scan, .diag = diag, .folder = folder, .next = A_NAME};
  s.files[0] = &outermost;
  scan_tokens(&s);
  if (s.status == PREM_OK && (s.nesting > 0 || s.next == AN_ASSIGNMENT || s.next == A_VALUE))
    surprise(&s, "end of file", 11);
  return s.status;
}

const char *prem_scan_cut_literal(const prem_scan *scan, prem_place place, bool is_64,
                                  int64_t value) {
  for (int32_t i = 0; i < scan->cut_count; ++i) {
    const prem_token *cut = &scan->cut[i];
    if (cut->place.line == place.line && cut->place.file == place.file && cut->is_64 == is_64 &&
        cut->libconfig == value)
      return cut->text;
  }
  return NULL;
}
