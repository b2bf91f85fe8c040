/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and the loop that reads the plain ones. */
#include "prem/file/reader.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

typedef enum key_kind {
  KEY_OWN,
  KEY_BY,
  KEY_IF,
  KEY_EACH,
  KEY_INTEGER,
  KEY_TIME,
  KEY_SHARE,
  KEY_BOOLEAN,
  KEY_NAME,
  KEY_TEXT,
  KEY_ORIGIN,
  KEY_WORD
} key_kind;

typedef struct key_row {
  const char *name; /* NULL: a group begins */
  key_kind kind;
  prem_time_kind sign;
  size_t offset, bytes; /* of the member */
  int64_t least, largest;
  const char *const *words;
  prem_key_reader *read;
  int type;           /* CONFIG_TYPE_... */
  const char *what;   /* the list is of */
  const char *advice; /* where it is missing; NULL: it may be */
} key_row;

#define AT(type, field) .offset = offsetof(type, field), .bytes = sizeof(((type *)NULL)->field)
#define INTEGER(type, field, min, max)                                                             \
  .kind = KEY_INTEGER, AT(type, field), .least = (min), .largest = (max)
#define TIME(which, type, field) .kind = KEY_TIME, AT(type, field), .sign = PREM_TIME_##which
#define VALUE(what, type, field) .kind = KEY_##what, AT(type, field)
#define WORD(type, field, ...)                                                                     \
  .kind = KEY_WORD, AT(type, field), .words = (const char *const[]) {                              \
    __VA_ARGS__, NULL                                                                              \
  }
#define NEEDED(kind, what)                    kind, .advice = what
#define IF(which, function, text)             .kind = KEY_IF, .type = CONFIG_TYPE_##which, .read = function
#define EACH(function, limit, of)             .kind = KEY_EACH, .read = function, .largest = limit, .what = of
#define BY(function, type)                    .kind = KEY_BY, .read = function
#define OWN(type)                             .kind = KEY_OWN
#define GROUP(group)                          {.name = NULL},
#define KEY(group, key, kind, usual, meaning) {.name = #key, kind},

static const key_row rows[] = {
#include "prem/file/keys.def"
    {.name = NULL}};

/* A group's number is that of the row before its first key. */
static const key_row *first_row(int from) {
  return &rows[rows[from].name ? from : from + 1];
}

static const char *row_name(const void *from, int32_t index) {
  return ((const key_row *)from)[index].name;
}

static int32_t row_of(const key_row *first, const char *key) {
  int32_t row = 0;
  while (first[row].name && strcmp(key, first[row].name) != 0)
    ++row;
  return row;
}

/* A key such as period_us, where there is a period_ns: say what to write instead. */
static bool advise_unit(const config_setting_t *member, const key_row *first, char out[128]) {
  const char *unit = strrchr(member->name, '_');
  char key[PREM_NAME_BYTES], value[32] = "...";
  if (!unit || (strcmp(unit, "_us") != 0 && strcmp(unit, "_ms") != 0 && strcmp(unit, "_s") != 0))
    return false;
  snprintf(key, sizeof key, "%.*s_ns", (int)(unit - member->name), member->name);
  if (!first[row_of(first, key)].name)
    return false;
  if (member->type == CONFIG_TYPE_INT)
    snprintf(value, sizeof value, "%d", member->value.ival);
  else if (member->type == CONFIG_TYPE_INT64)
    snprintf(value, sizeof value, "%lld", member->value.llval);
  else if (member->type == CONFIG_TYPE_FLOAT)
    snprintf(value, sizeof value, "%.9g", member->value.fval);
  snprintf(out, 128, "; write %s = \"%s%.2s\"", key, value, unit + 1);
  return true;
}

void prem_read_known_keys(prem_reader *reader, const config_setting_t *group, int from) {
  const key_row *first = first_row(from);
  int32_t count = 0;
  while (first[count].name)
    ++count;
  for (int i = 0; i < config_setting_length(group); ++i) {
    const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
    char advice[128];
    if (row_of(first, member->name) < count)
      continue;
    const bool is_unit = advise_unit(member, first, advice);
    prem_refuse(reader, 5, member, NULL, "unknown key '%s'%s", prem_show(member->name).text,
                is_unit ? advice : prem_suggest(member->name, row_name, first, count).text);
  }
}

static void store(int64_t value, size_t bytes, void *at) {
  const int32_t narrow = (int32_t)value;
  const bool is_set = value != 0;
  memcpy(at,
         bytes == 1   ? (const void *)&is_set
         : bytes == 4 ? (const void *)&narrow
                      : &value,
         bytes);
}

static void read_word(prem_reader *reader, const config_setting_t *group, const key_row *row,
                      void *at) {
  int word = 0;
  if (!prem_read_word(reader, group, row->name, row->words, &word))
    return;
  if (row->bytes > sizeof(int))
    strcpy(at, row->words[word]);
  else
    store(word, row->bytes, at);
}

static void read_each(prem_reader *reader, const config_setting_t *group, const key_row *row,
                      void *out) {
  int32_t count = 0;
  const config_setting_t *list =
      prem_read_list(reader, group, row->name, row->what, (int32_t)row->largest, &count);
  for (int32_t i = 0; i < count; ++i) {
    const config_setting_t *element = prem_read_list_group(reader, list, i);
    if (element)
      row->read(reader, element, out);
  }
}

static void read_value(prem_reader *reader, const config_setting_t *group, const key_row *row,
                       void *out) {
  const config_setting_t *setting = config_setting_get_member(group, row->name);
  void *at = (char *)out + row->offset;
  int64_t value = 0;
  if (!setting && row->advice)
    prem_refuse(reader, 3, group, row->name, "missing; %s", row->advice);
  if (row->kind == KEY_BY)
    row->read(reader, group, out);
  if (!setting)
    return;
  switch (row->kind) {
  case KEY_IF:
    if (prem_read_member(reader, group, row->name, row->type, false))
      row->read(reader, setting, out);
    break;
  case KEY_EACH:
    read_each(reader, group, row, out);
    break;
  case KEY_INTEGER:
    if (prem_setting_integer(reader, setting, row->least, row->largest, &value))
      store(value, row->bytes, at);
    break;
  case KEY_TIME:
    prem_setting_time(reader, setting, row->sign, at);
    break;
  case KEY_SHARE:
    prem_read_share(reader, group, row->name, at);
    break;
  case KEY_BOOLEAN:
    prem_read_bool(reader, group, row->name, at);
    break;
  case KEY_TEXT:
    prem_read_string(reader, group, row->name, at, row->bytes);
    break;
  case KEY_ORIGIN:
    if (setting->type == CONFIG_TYPE_STRING && !(setting->value.sval && *setting->value.sval))
      break;
    /* fall through */
  case KEY_NAME:
    prem_read_name(reader, group, row->name, false, at);
    break;
  case KEY_WORD:
    read_word(reader, group, row, at);
    break;
  default:
    break;
  }
}

void prem_read_values(prem_reader *reader, const config_setting_t *group, int from, void *out) {
  for (const key_row *row = first_row(from); row->name; ++row)
    read_value(reader, group, row, out);
}

void prem_read_keys(prem_reader *reader, const config_setting_t *group, int from, void *out) {
  prem_read_known_keys(reader, group, from);
  prem_read_values(reader, group, from, out);
}

static int64_t stored(const key_row *row, const void *of) {
  const void *at = (const char *)of + row->offset;
  return row->bytes == 4 ? *(const int32_t *)at : *(const int64_t *)at;
}

void prem_write_values(FILE *out, int from, int to, const void *of, const void *usual) {
  for (const key_row *row = &rows[from]; row <= &rows[to]; ++row) {
    const int64_t value = stored(row, of);
    if (row->advice || value != stored(row, usual))
      fprintf(out, " %s = %" PRId64 "%s;", row->name, value, row->kind == KEY_TIME ? "L" : "");
  }
}
