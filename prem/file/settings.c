/* SPDX-License-Identifier: Apache-2.0 */
/* Typed reading of libconfig settings. libconfig's own lookups convert in silence: every value is
 * read by the type that it was written with. */
#include "prem/file/reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ttprem/text.h"

static const char *type_name(int type) {
  switch (type) {
  case CONFIG_TYPE_GROUP:
    return "a group { }";
  case CONFIG_TYPE_INT:
    return "an integer";
  case CONFIG_TYPE_INT64:
    return "a 64-bit integer";
  case CONFIG_TYPE_FLOAT:
    return "a float";
  case CONFIG_TYPE_STRING:
    return "a string";
  case CONFIG_TYPE_BOOL:
    return "a boolean";
  case CONFIG_TYPE_ARRAY:
    return "an array [ ]";
  case CONFIG_TYPE_LIST:
    return "a list ( )";
  default:
    return "nothing";
  }
}

/* ---- places and paths ----------------------------------------------------------------------- */

prem_place prem_setting_place(prem_reader *reader, const config_setting_t *setting) {
  const char *file = setting->file ? setting->file : reader->file;
  if (file != reader->libconfig_file) {
    reader->own_file = setting->file ? prem_included_file(reader->schedule, reader->folder, file)
                                     : prem_schedule_intern(reader->schedule, file);
    reader->libconfig_file = file;
    reader->out_of_memory |= !reader->own_file;
  }
  return (prem_place){reader->own_file, (int)setting->line};
}

static bool is_shown_as_it_is(const char *text) {
  for (const char *p = text; *p; ++p)
    if (iscntrl((unsigned char)*p))
      return false;
  return text[0] && strlen(text) < PREM_NAME_BYTES;
}

/* "tasks.conv.prefetch": list elements by their name, or by their index. */
static void append_path(const config_setting_t *setting, char *out, size_t out_bytes) {
  const config_setting_t *parent = setting->parent;
  if (!parent)
    return;
  append_path(parent, out, out_bytes);
  size_t used = strlen(out);
  const char *dot = used ? "." : "";
  if (setting->name) {
    snprintf(out + used, out_bytes - used, "%s%s", dot, setting->name);
    return;
  }
  const config_setting_t *name = NULL;
  if (setting->type == CONFIG_TYPE_GROUP)
    name = config_setting_get_member(setting, "name");
  if (name && name->type == CONFIG_TYPE_STRING && name->value.sval &&
      is_shown_as_it_is(name->value.sval))
    snprintf(out + used, out_bytes - used, "%s%s", dot, name->value.sval);
  else
    snprintf(out + used, out_bytes - used, "[%d]", config_setting_index(setting));
}

bool prem_refuse(prem_reader *reader, int code, const config_setting_t *setting, const char *key,
                 const char *format, ...) {
  char path[512] = "", reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  append_path(setting, path, sizeof path);
  const config_setting_t *at = setting;
  if (key) {
    const config_setting_t *member =
        setting->type == CONFIG_TYPE_GROUP ? config_setting_get_member(setting, key) : NULL;
    if (member)
      at = member;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%s%s", used ? "." : "", key);
  }
  prem_diag_add(reader->diag, PREM_ERROR, code, prem_setting_place(reader, at), path, "%s", reason);
  return false;
}

prem_shown prem_show(const char *word) {
  prem_shown out;
  size_t length = strlen(word), kept = length < 64 ? length : 60;
  for (size_t i = 0; i < kept; ++i)
    out.text[i] = iscntrl((unsigned char)word[i]) ? '?' : word[i];
  snprintf(out.text + kept, sizeof out.text - kept, "%s", kept < length ? "..." : "");
  return out;
}

/* ---- times with units ----------------------------------------------------------------------- */

/* "2ms", "1.5us" to nanoseconds, exactly. */
static bool setting_text_time(prem_reader *reader, const config_setting_t *setting, int64_t *out) {
  static const struct {
    const char *name;
    int64_t ns;
  } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  const char *text = setting->value.sval ? setting->value.sval : "", *at = text;
  const bool below_zero = *at == '-';
  at += below_zero;
  const size_t whole = strspn(at, "0123456789"), dot = at[whole] == '.';
  const char *const fraction = at + whole + dot;
  const size_t digits = strspn(fraction, "0123456789");
  const char *unit = fraction + digits + strspn(fraction + digits, " ");
  int64_t unit_ns = 0;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i)
    if (strcmp(unit, units[i].name) == 0)
      unit_ns = units[i].ns;
  if (whole == 0 || unit_ns == 0 || (dot && digits == 0))
    return prem_refuse(
        reader, 8, setting, NULL,
        "\"%s\" is no time; write nanoseconds such as 1500L, or a number with one of the "
        "units ns, us, ms and s, such as \"1.5us\"",
        prem_show(text).text);
  bool overflows = false, is_exact = true;
  int64_t value = 0, step_ns = unit_ns;
  for (size_t i = 0; i < whole; ++i)
    overflows |= __builtin_mul_overflow(value, 10, &value) ||
                 __builtin_add_overflow(value, at[i] - '0', &value);
  overflows |= __builtin_mul_overflow(value, unit_ns, &value);
  for (size_t i = 0; i < digits; ++i) {
    step_ns /= 10;
    is_exact &= step_ns > 0 || fraction[i] == '0';
    overflows |= __builtin_add_overflow(value, step_ns * (fraction[i] - '0'), &value);
  }
  if (overflows || value > PREM_MAX_NS)
    prem_refuse(reader, 9, setting, NULL, "\"%s\" is beyond the limit of 2^62 = %" PRId64 " ns",
                prem_show(text).text, PREM_MAX_NS);
  else if (!is_exact)
    prem_refuse(
        reader, 9, setting, NULL,
        "\"%s\" is no whole number of nanoseconds; write \"%" PRId64 "ns\" or \"%" PRId64 "ns\"",
        prem_show(text).text, below_zero ? -value - 1 : value, below_zero ? -value : value + 1);
  else
    *out = below_zero ? -value : value;
  return is_exact && !overflows && value <= PREM_MAX_NS;
}

/* ---- groups and lists ----------------------------------------------------------------------- */

config_setting_t *prem_read_member(prem_reader *reader, const config_setting_t *group,
                                   const char *key, int type, bool required) {
  config_setting_t *member = config_setting_get_member(group, key);
  if (!member) {
    if (required)
      prem_refuse(reader, 3, group, key, "missing; give %s", type_name(type));
    return NULL;
  }
  if (member->type != type) {
    prem_refuse(reader, 8, member, NULL, "is %s, must be %s", type_name(member->type),
                type_name(type));
    return NULL;
  }
  return member;
}

config_setting_t *prem_read_list(prem_reader *reader, const config_setting_t *group,
                                 const char *key, const char *what, int32_t limit, int32_t *count) {
  config_setting_t *list = prem_read_member(reader, group, key, CONFIG_TYPE_LIST, false);
  *count = list ? config_setting_length(list) : 0;
  if (*count <= limit)
    return list;
  prem_refuse(reader, 20, list, NULL, "%d %s, the limit is %d", *count, what, limit);
  *count = 0;
  return NULL;
}

config_setting_t *prem_read_list_group(prem_reader *reader, const config_setting_t *list,
                                       int32_t index) {
  config_setting_t *element = config_setting_get_elem(list, (unsigned)index);
  if (element->type == CONFIG_TYPE_GROUP)
    return element;
  prem_refuse(reader, 8, element, NULL, "is %s, must be a group { }", type_name(element->type));
  return NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* The setting's literal where libconfig cut it, else NULL. */
static const char *cut_literal(prem_reader *reader, const config_setting_t *setting) {
  const bool is_64 = setting->type == CONFIG_TYPE_INT64;
  if (reader->scan.cut_count == 0 || (!is_64 && setting->type != CONFIG_TYPE_INT))
    return NULL;
  return prem_scan_cut_literal(&reader->scan, prem_setting_place(reader, setting), is_64,
                               is_64 ? setting->value.llval : setting->value.ival);
}

bool prem_setting_integer(prem_reader *reader, const config_setting_t *setting, int64_t min,
                          int64_t max, int64_t *out) {
  int64_t value;
  if (setting->type == CONFIG_TYPE_INT) {
    value = setting->value.ival;
  } else if (setting->type == CONFIG_TYPE_INT64) {
    value = setting->value.llval;
  } else {
    return prem_refuse(reader, 8, setting, NULL, "is %s, must be an integer",
                       type_name(setting->type));
  }
  if (cut_literal(reader, setting)) /* reported by the scan */
    return false;
  if (value < min)
    return prem_refuse(reader, 17, setting, NULL, "is %" PRId64 ", must be at least %" PRId64,
                       value, min);
  if (value > max)
    return prem_refuse(reader, 20, setting, NULL, "is %" PRId64 ", the limit is %" PRId64, value,
                       max);
  *out = value;
  return true;
}

bool prem_read_integer(prem_reader *reader, const config_setting_t *group, const char *key,
                       int64_t min, int64_t max, int64_t *out) {
  const config_setting_t *setting = config_setting_get_member(group, key);
  return setting && prem_setting_integer(reader, setting, min, max, out);
}

bool prem_read_int32(prem_reader *reader, const config_setting_t *group, const char *key,
                     int32_t min, int32_t max, int32_t *out) {
  int64_t value = 0;
  if (!prem_read_integer(reader, group, key, min, max, &value))
    return false;
  *out = (int32_t)value;
  return true;
}

static bool refuse_sign(prem_reader *reader, const config_setting_t *setting, prem_time_kind kind,
                        int64_t value) {
  if (value > 0 || kind == PREM_TIME_STEP || (value == 0 && kind == PREM_TIME_OFFSET) ||
      (value >= -1 && kind == PREM_TIME_START))
    return false;
  switch (kind) {
  case PREM_TIME_PERIOD:
    prem_refuse(reader, 14, setting, NULL,
                "a period of %" PRId64 " ns; it must be above 0 (leave it out for a one-shot task)",
                value);
    break;
  case PREM_TIME_WCET:
    prem_refuse(reader, 16, setting, NULL,
                "is %" PRId64 " ns, must be above 0 (leave out a phase that does not exist)",
                value);
    break;
  case PREM_TIME_LENGTH:
    prem_refuse(reader, 15, setting, NULL, "is %" PRId64 " ns, must be above 0", value);
    break;
  default:
    prem_refuse(reader, 15, setting, NULL, "is %" PRId64 " ns, must be 0 or more%s", value,
                kind == PREM_TIME_START ? ", or -1L where the start is elsewhere" : "");
  }
  return true;
}

bool prem_setting_time(prem_reader *reader, const config_setting_t *setting, prem_time_kind kind,
                       int64_t *out) {
  const char *cut = cut_literal(reader, setting);
  if (setting->type == CONFIG_TYPE_INT) {
    char value[sizeof reader->scan.cut[0].text];
    snprintf(value, sizeof value, "%d", setting->value.ival);
    if (cut)
      snprintf(value, sizeof value, "%s", cut);
    return prem_refuse(reader, 7, setting, NULL, "%s lacks the suffix of a 64-bit value; write %sL",
                       value, value);
  }
  if (setting->type != CONFIG_TYPE_INT64 && setting->type != CONFIG_TYPE_STRING)
    return prem_refuse(
        reader, 8, setting, NULL,
        "is %s, must be an integer number of nanoseconds such as 1500L, or a string such "
        "as \"1.5us\"",
        type_name(setting->type));
  int64_t value = setting->value.llval;
  if (setting->type == CONFIG_TYPE_STRING && !setting_text_time(reader, setting, &value))
    return false;
  if (cut || value > PREM_MAX_NS || value < -PREM_MAX_NS) {
    char text[sizeof reader->scan.cut[0].text];
    snprintf(text, sizeof text, "%" PRId64, value);
    return prem_refuse(reader, 9, setting, NULL,
                       "%s ns is beyond the limit of 2^62 = %" PRId64 " ns", cut ? cut : text,
                       PREM_MAX_NS);
  }
  if (refuse_sign(reader, setting, kind, value))
    return false;
  *out = value;
  return true;
}

/* ---- words ---------------------------------------------------------------------------------- */

bool prem_read_bool(prem_reader *reader, const config_setting_t *group, const char *key,
                    bool *out) {
  const config_setting_t *setting = prem_read_member(reader, group, key, CONFIG_TYPE_BOOL, false);
  if (!setting)
    return false;
  *out = setting->value.ival != 0;
  return true;
}

bool prem_read_share(prem_reader *reader, const config_setting_t *group, const char *key,
                     double *out) {
  const config_setting_t *setting = config_setting_get_member(group, key);
  if (!setting)
    return false;
  if (setting->type != CONFIG_TYPE_FLOAT && setting->type != CONFIG_TYPE_INT)
    return prem_refuse(reader, 8, setting, NULL, "must be a number such as 0.9, not %s",
                       type_name(setting->type));
  const double value =
      setting->type == CONFIG_TYPE_INT ? (double)setting->value.ival : setting->value.fval;
  if (!(value > 0 && value <= 1))
    return prem_refuse(reader, value > 1 ? 20 : 17, setting, NULL,
                       "is %g; a share is above 0 and at most 1", value);
  *out = value;
  return true;
}

bool prem_read_text(prem_reader *reader, const config_setting_t *group, const char *key,
                    const char **out) {
  const config_setting_t *setting = prem_read_member(reader, group, key, CONFIG_TYPE_STRING, false);
  if (!setting)
    return false;
  *out = setting->value.sval ? setting->value.sval : "";
  return true;
}

/* Texts are shown to people, on terminals and in pictures. */
static bool check_plain(prem_reader *reader, const config_setting_t *setting, const char *key,
                        const char *text) {
  char fault[16];
  const size_t plain = prem_text_plain(text, fault);
  if (!text[plain])
    return true;
  if (*fault == 'U')
    prem_refuse(reader, 12, setting, key, "'%s' has the control character %s, which no name may",
                prem_show(text).text, fault);
  else
    prem_refuse(reader, 12, setting, key,
                "'%s' is not UTF-8: %s at offset %zu; save the file as "
                "UTF-8",
                prem_show(text).text, fault, plain);
  return false;
}

bool prem_read_string(prem_reader *reader, const config_setting_t *group, const char *key,
                      char *out, size_t out_bytes) {
  const char *text = NULL;
  if (!prem_read_text(reader, group, key, &text))
    return false;
  const size_t length = strlen(text);
  if (length >= out_bytes)
    return prem_refuse(reader, 20, group, key, "'%s' has %zu bytes, the limit is %zu",
                       prem_show(text).text, length, out_bytes - 1);
  if (!check_plain(reader, group, key, text))
    return false;
  memcpy(out, text, length + 1);
  return true;
}

bool prem_check_name(prem_reader *reader, const config_setting_t *setting, const char *name) {
  size_t length = strlen(name);
  if (length == 0)
    return prem_refuse(reader, 12, setting, NULL, "is empty; a name has 1 to 63 bytes");
  if (length >= PREM_NAME_BYTES)
    return prem_refuse(reader, 12, setting, NULL, "'%s' has %zu bytes, the limit is 63",
                       prem_show(name).text, length);
  return check_plain(reader, setting, NULL, name);
}

bool prem_read_name(prem_reader *reader, const config_setting_t *group, const char *key,
                    bool required, char out[PREM_NAME_BYTES]) {
  const config_setting_t *setting =
      prem_read_member(reader, group, key, CONFIG_TYPE_STRING, required);
  if (!setting)
    return false;
  const char *name = setting->value.sval ? setting->value.sval : "";
  if (!prem_check_name(reader, setting, name))
    return false;
  memcpy(out, name, strlen(name) + 1);
  return true;
}

bool prem_read_word(prem_reader *reader, const config_setting_t *group, const char *key,
                    const char *const *words, int *out) {
  const char *text = NULL;
  if (!prem_read_text(reader, group, key, &text))
    return false;
  char all[256] = "";
  for (int i = 0; words[i]; ++i) {
    if (strcmp(text, words[i]) == 0) {
      *out = i;
      return true;
    }
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s'%s'", used ? ", " : "", words[i]);
  }
  return prem_refuse(reader, 24, group, key, "unknown word '%s'; it is one of %s",
                     prem_show(text).text, all);
}
