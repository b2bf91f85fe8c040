/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to settings whose keys and kinds are right. */
#include "experiments/sweep/sweep_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/shipped.h"
#include "prem/base/suggest.h"

/* ---- files -------------------------------------------------------------------------------- */

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static char *shipped_text(const char *name) {
  const char *text = prem_shipped_text(name);
  return text ? strdup(text) : NULL;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file)
    return NULL;
  char *text = NULL;
  size_t room = 0;
  errno = 0;
  if (getdelim(&text, &room, '\0', file) < 0) {
    free(text);
    text = errno || ferror(file) ? NULL : strdup(""); /* an empty file has no first byte */
  } else if (!feof(file)) {                           /* a zero byte: no text */
    free(text);
    text = NULL;
    errno = EILSEQ;
  }
  fclose(file);
  return text;
}

char *prem_sweep_text(const prem_sweep *sweep, const char *name) {
  char *path = NULL, *text = NULL;
  const int folder = (int)(last_part(sweep->own.path) - sweep->own.path);
  if (sweep->is_shipped)
    return shipped_text(name);
  if (*name == '/')
    return read_file(name);
  if (folder == 0 || asprintf(&path, "%.*s%s", folder, sweep->own.path, name) < 0)
    path = NULL;
  text = read_file(path ? path : name);
  free(path);
  return text ? text : shipped_text(name);
}

/* ---- what to say ---------------------------------------------------------------------------- */

/* "steps.[2].run": elements of lists by their index. */
static void append_path(const config_setting_t *setting, char *out, size_t out_bytes) {
  if (!setting || config_setting_is_root(setting))
    return;
  append_path(config_setting_parent(setting), out, out_bytes);
  const size_t used = strlen(out);
  const char *name = config_setting_name(setting), *dot = used ? "." : "";
  if (name)
    snprintf(out + used, out_bytes - used, "%s%s", dot, name);
  else
    snprintf(out + used, out_bytes - used, "%s[%d]", dot, config_setting_index(setting));
}

prem_status prem_sweep_refuse(const prem_sweep *sweep, prem_diag *diag,
                              const config_setting_t *setting, const char *key, const char *format,
                              ...) {
  char path[256] = "", reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  append_path(setting, path, sizeof path);
  const size_t used = strlen(path);
  if (key)
    snprintf(path + used, sizeof path - used, "%s%s", used ? "." : "", key);
  const config_setting_t *member =
      key && config_setting_is_group(setting) ? config_setting_get_member(setting, key) : NULL;
  const config_setting_t *at = member ? member : setting, *root = setting;
  while (!config_setting_is_root(root))
    root = config_setting_parent(root);
  const bool is_base = sweep->base.path && root == config_root_setting(&sweep->base.config);
  prem_diag_add(diag, PREM_ERROR, 0,
                (prem_place){is_base ? sweep->base.path : sweep->own.path,
                             (int)config_setting_source_line(at)},
                path, "%s", reason);
  return PREM_ERR_PARSE;
}

const char *prem_sweep_string(const config_setting_t *group, const char *key) {
  const char *text = NULL;
  return config_setting_lookup_string(group, key, &text) ? text : NULL;
}

/* ---- keys and kinds ------------------------------------------------------------------------- */

/** What a setting may be. */
typedef enum setting_kind {
  TEXT,
  FLAG,
  FORMULA,
  FORMULAS,
  TEXTS,
  CELLS,
  CHOICES,
  ONE,
  MANY
} setting_kind;
static const char *const kind_words[] = {"a string",
                                         "true or false",
                                         "a number or a string with an expression",
                                         "a group { } of numbers and of strings with expressions",
                                         "an array of strings",
                                         "a list ( ) of rows, each an array or a list",
                                         "a group { } of lists: the values that each name takes",
                                         "a group { }",
                                         "a list ( ) of groups { }"};

typedef struct key_rule {
  const char *key;
  setting_kind kind;
  bool needed;
  const struct key_rule *inside; /* of ONE and MANY; NULL: names of any kind, each a step */
} key_rule;

static const key_rule table_keys[] = {
    {"name", TEXT, false, NULL},   {"original", TEXT, false, NULL}, {"title", TEXT, false, NULL},
    {"source", TEXT, false, NULL}, {"when", FORMULA, false, NULL},  {"columns", CELLS, false, NULL},
    {"rows", CELLS, false, NULL},  {"hidden", FLAG, false, NULL},   {0}};
static const key_rule chart_keys[] = {{"kind", TEXT, true, NULL},
                                      {"title", TEXT, true, NULL},
                                      {"table", TEXT, true, NULL},
                                      {"x", TEXT, true, NULL},
                                      {"y", TEXT, true, NULL},
                                      {"low", TEXT, false, NULL},
                                      {"high", TEXT, false, NULL},
                                      {"series", TEXT, false, NULL},
                                      {"log_x", FLAG, false, NULL},
                                      {"log_y", FLAG, false, NULL},
                                      {"beside", TEXT, false, NULL},
                                      {"when", FORMULA, false, NULL},
                                      {0}};
static const key_rule run_keys[] = {{"schedule", TEXT, false, NULL},
                                    {"path", TEXT, false, NULL},
                                    {"ordinary", TEXT, false, NULL},
                                    {"kernels", FORMULA, false, NULL},
                                    {"modes", TEXTS, false, NULL},
                                    {"keep", TEXT, false, NULL},
                                    {"repeat", FORMULA, false, NULL},
                                    {"task", FORMULA, false, NULL},
                                    {"walk", TEXT, false, NULL},
                                    {"order", TEXT, false, NULL},
                                    {"bytes", FORMULA, false, NULL},
                                    {"threads", FORMULA, false, NULL},
                                    {"steps", FORMULA, false, NULL},
                                    {"most", FORMULA, false, NULL},
                                    {"budget", FORMULA, false, NULL},
                                    {"mapped", FORMULA, false, NULL},
                                    {"apart", FLAG, false, NULL},
                                    {"beside", TEXT, false, NULL},
                                    {"needed", FLAG, false, NULL},
                                    {"probe", TEXT, false, NULL},
                                    {0}};
static const key_rule load_keys[] = {
    {"kind", TEXT, true, NULL}, {"first", FORMULA, false, NULL}, {"keep", TEXT, true, NULL}, {0}};
static const key_rule tally_keys[] = {
    {"name", TEXT, true, NULL}, {"number", FORMULA, true, NULL}, {0}};
static const key_rule step_keys[] = {{"backend", TEXT, false, NULL},
                                     {"for", CHOICES, false, NULL},
                                     {"when", FORMULA, false, NULL},
                                     {"with", FORMULAS, false, NULL},
                                     {"set", FORMULAS, false, NULL},
                                     {"run", ONE, false, run_keys},
                                     {"row", TEXT, false, NULL},
                                     {"verdict", TEXT, false, NULL},
                                     {"note", TEXT, false, NULL},
                                     {"part", TEXT, false, NULL},
                                     {"records", TEXT, false, NULL},
                                     {"tally", ONE, false, tally_keys},
                                     {"load", ONE, false, load_keys},
                                     {"right", FORMULA, false, NULL},
                                     {"steps", MANY, false, step_keys},
                                     {"always", FLAG, false, NULL},
                                     {0}};
static const key_rule root_keys[] = {{"title", TEXT, true, NULL},
                                     {"question", TEXT, true, NULL},
                                     {"backends", TEXT, false, NULL},
                                     {"include", TEXT, false, NULL},
                                     {"needs_blocks", FORMULA, false, NULL},
                                     {"repeat", FORMULA, true, NULL},
                                     {"set", FORMULAS, false, NULL},
                                     {"tables", MANY, true, table_keys},
                                     {"charts", MANY, false, chart_keys},
                                     {"parts", ONE, false, NULL},
                                     {"steps", MANY, true, step_keys},
                                     {0}};
static const key_rule base_keys[] = {
    {"set", FORMULAS, false, NULL}, {"parts", ONE, false, NULL}, {0}};

static bool is_formula(const config_setting_t *setting) {
  return config_setting_is_scalar(setting);
}

static bool all_are(const config_setting_t *setting, bool (*is)(const config_setting_t *)) {
  for (int i = 0; i < config_setting_length(setting); ++i)
    if (!is(config_setting_get_elem(setting, (unsigned)i)))
      return false;
  return true;
}

static bool is_string(const config_setting_t *setting) {
  return config_setting_type(setting) == CONFIG_TYPE_STRING;
}

static bool is_sequence(const config_setting_t *setting) {
  return config_setting_is_array(setting) || config_setting_is_list(setting);
}

static bool is_cells(const config_setting_t *setting) {
  return is_string(setting) || (is_sequence(setting) && all_are(setting, is_formula));
}

static bool is_group(const config_setting_t *setting) {
  return config_setting_is_group(setting);
}

static bool is_choice(const config_setting_t *setting) {
  return config_setting_is_scalar(setting) || (is_group(setting) && all_are(setting, is_formula));
}

static bool is_choices(const config_setting_t *setting) {
  return (is_sequence(setting) || is_group(setting)) && config_setting_length(setting) > 0 &&
         all_are(setting, is_choice);
}

static bool is_of_kind(const config_setting_t *setting, setting_kind kind) {
  switch (kind) {
  case TEXT:
    return is_string(setting);
  case FLAG:
    return config_setting_type(setting) == CONFIG_TYPE_BOOL;
  case FORMULA:
    return is_formula(setting);
  case FORMULAS:
    return is_group(setting) && all_are(setting, is_formula);
  case TEXTS:
    return is_sequence(setting) && all_are(setting, is_string);
  case CELLS:
    return is_sequence(setting) && all_are(setting, is_cells);
  case CHOICES:
    return is_group(setting) && all_are(setting, is_choices);
  case ONE:
    return is_group(setting);
  default:
    return config_setting_is_list(setting) && all_are(setting, is_group);
  }
}

static const char *key_at(const void *from, int32_t index) {
  return ((const key_rule *)from)[index].key;
}

static prem_status judge_keys(const prem_sweep *sweep, const config_setting_t *group,
                              const key_rule *rules, prem_diag *diag);

static prem_status judge_groups(const prem_sweep *sweep, const config_setting_t *list,
                                const key_rule *rules, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int i = 0; i < config_setting_length(list); ++i) {
    const config_setting_t *one = config_setting_get_elem(list, (unsigned)i);
    if (!is_group(one))
      status = prem_sweep_refuse(sweep, diag, one, NULL, "must be a group { }");
    else if (judge_keys(sweep, one, rules, diag) != PREM_OK)
      status = PREM_ERR_PARSE;
  }
  return status;
}

static prem_status judge_value(const prem_sweep *sweep, const config_setting_t *setting,
                               const key_rule *rule, prem_diag *diag) {
  if (!is_of_kind(setting, rule->kind))
    return prem_sweep_refuse(sweep, diag, setting, NULL, "must be %s", kind_words[rule->kind]);
  if (rule->kind == MANY || (rule->kind == ONE && !rule->inside))
    return judge_groups(sweep, setting, rule->inside ? rule->inside : step_keys, diag);
  return rule->kind == ONE ? judge_keys(sweep, setting, rule->inside, diag) : PREM_OK;
}

static prem_status judge_keys(const prem_sweep *sweep, const config_setting_t *group,
                              const key_rule *rules, prem_diag *diag) {
  prem_status status = PREM_OK;
  int32_t count = 0;
  for (; rules[count].key; ++count)
    if (rules[count].needed && !config_setting_get_member(group, rules[count].key))
      status = prem_sweep_refuse(sweep, diag, group, rules[count].key, "missing; it must be %s",
                                 kind_words[rules[count].kind]);
  for (int i = 0; i < config_setting_length(group); ++i) {
    const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
    const char *key = config_setting_name(member);
    int32_t r = 0;
    while (r < count && strcmp(rules[r].key, key) != 0)
      ++r;
    if (r == count)
      status = prem_sweep_refuse(sweep, diag, member, NULL, "unknown key '%s'%s",
                                 prem_show(key).text, prem_suggest(key, key_at, rules, count).text);
    else if (judge_value(sweep, member, &rules[r], diag) != PREM_OK)
      status = PREM_ERR_PARSE;
  }
  return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

static prem_status parse(prem_sweep_file *file, const char *path, const char *text,
                         prem_diag *diag) {
  const int reason = errno ? errno : ENOENT;
  config_init(&file->config);
  file->path = strdup(path);
  if (!file->path)
    return PREM_ERR_MEMORY;
  if (!text) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){file->path, 0}, NULL, "cannot be read: %s",
                  strerror(reason));
    return PREM_ERR_IO;
  }
  if (config_read_string(&file->config, text))
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){file->path, config_error_line(&file->config)},
                NULL, "%s; the file is in libconfig's format, as schedules are",
                config_error_text(&file->config));
  return PREM_ERR_PARSE;
}

static prem_status read_base(prem_sweep *sweep, const char *name, prem_diag *diag) {
  char *text = prem_sweep_text(sweep, name);
  prem_status status = parse(&sweep->base, name, text, diag);
  free(text);
  return status == PREM_OK
             ? judge_keys(sweep, config_root_setting(&sweep->base.config), base_keys, diag)
             : status;
}

/* "mine.exp" is `mine`: findings and their files are called so. */
static prem_status name_it(prem_sweep *sweep, prem_diag *diag) {
  const char *file = last_part(sweep->own.path);
  const size_t length = strlen(file) - strlen(".exp");
  sweep->name = strndup(file, length);
  if (!sweep->name)
    return PREM_ERR_MEMORY;
  if (length > 0 && strspn(sweep->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){sweep->own.path, 0}, NULL,
                "the file is called '%s'; its name is the experiment's, of lower case letters, "
                "digits and _: rename it",
                prem_show(file).text);
  return PREM_ERR_PARSE;
}

bool prem_sweep_is_path(const char *name) {
  const size_t length = strlen(name);
  return length >= 4 && strcmp(name + length - 4, ".exp") == 0;
}

/* Frees the text. */
static prem_status read_text(const char *path, char *text, bool is_shipped, prem_sweep **out,
                             prem_diag *diag) {
  *out = NULL;
  prem_sweep *sweep = calloc(1, sizeof *sweep);
  if (!sweep) {
    free(text);
    return PREM_ERR_MEMORY;
  }
  sweep->is_shipped = is_shipped;
  prem_status status = parse(&sweep->own, path, text, diag);
  free(text);
  const config_setting_t *root = config_root_setting(&sweep->own.config);
  if (status == PREM_OK)
    status = name_it(sweep, diag);
  if (status == PREM_OK)
    status = judge_keys(sweep, root, root_keys, diag);
  const char *base = status == PREM_OK ? prem_sweep_string(root, "include") : NULL;
  if (base)
    status = read_base(sweep, base, diag);
  if (status != PREM_OK) {
    prem_sweep_free(sweep);
    return status;
  }
  const char *backends = prem_sweep_string(root, "backends");
  sweep->head = (prem_experiment){.name = sweep->name,
                                  .title = prem_sweep_string(root, "title"),
                                  .question = prem_sweep_string(root, "question"),
                                  .backends = backends ? backends : "cuda cpu sim",
                                  .sweep = sweep};
  *out = sweep;
  return PREM_OK;
}

prem_status prem_sweep_read(const char *path, prem_sweep **out, prem_diag *diag) {
  return read_text(path, read_file(path), false, out, diag);
}

prem_status prem_sweep_shipped(const char *name, prem_sweep **out, prem_diag *diag) {
  return read_text(name, shipped_text(name), true, out, diag);
}

void prem_sweep_free(prem_sweep *sweep) {
  if (!sweep)
    return;
  if (sweep->own.path)
    config_destroy(&sweep->own.config);
  if (sweep->base.path)
    config_destroy(&sweep->base.config);
  free(sweep->own.path);
  free(sweep->base.path);
  free(sweep->name);
  free(sweep);
}

const prem_experiment *prem_sweep_experiment(const prem_sweep *sweep) {
  return &sweep->head;
}
