/* SPDX-License-Identifier: Apache-2.0 */
/* Changing one setting of a schedule's text: all other bytes stay as they are. */
#include "prem/base/fail.h"
#include "prem/file/reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A walk over the source, comments and strings passed over. */
typedef struct walk {
  const char *at, *end;
} walk;

static bool starts_with(const walk *text, const char *what) {
  const size_t length = strlen(what);
  return (size_t)(text->end - text->at) >= length && memcmp(text->at, what, length) == 0;
}

static void pass_to(walk *text, const char *what) {
  while (text->at < text->end && !starts_with(text, what))
    ++text->at;
}

static void pass_string(walk *text) {
  for (++text->at; text->at < text->end && *text->at != '"'; ++text->at)
    if (*text->at == '\\')
      ++text->at;
}

/* Space, comments. */
static void pass_space(walk *text) {
  for (; text->at < text->end; ++text->at) {
    if (*text->at == '#' || starts_with(text, "//")) {
      pass_to(text, "\n");
    } else if (starts_with(text, "/*")) {
      pass_to(text, "*/");
      ++text->at;
    } else if (!isspace((unsigned char)*text->at)) {
      return;
    }
  }
}

static bool is_in_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '*';
}

/** What stands here; the walk is behind it. `depth` counts brackets. */
typedef struct found {
  const char *name;
  size_t length; /* 0: no name */
} found;

static found step(walk *text, int *depth) {
  found name = {.name = text->at};
  while (text->at < text->end && is_in_name(*text->at))
    ++text->at;
  name.length = (size_t)(text->at - name.name);
  if (name.length > 0)
    return name;
  if (*text->at == '"')
    pass_string(text);
  else if (strchr("{([", *text->at))
    ++*depth;
  else if (strchr("})]", *text->at))
    --*depth;
  ++text->at;
  return name;
}

/* Behind the `=` or `:` of the setting `key` that lies `depth` 0 from here; false: it does not. */
static bool enter(walk *text, const char *key) {
  int depth = 0;
  for (pass_space(text); text->at < text->end && depth >= 0; pass_space(text)) {
    const found name = step(text, &depth);
    if (depth != 0 || name.length != strlen(key) || memcmp(name.name, key, name.length) != 0)
      continue;
    pass_space(text);
    if (text->at < text->end && (*text->at == '=' || *text->at == ':')) {
      ++text->at;
      pass_space(text);
      return true;
    }
  }
  return false;
}

/* Put `with` in the place of [from, to) of the source. */
static prem_status replace(struct prem_schedule_private *own, size_t from, size_t to,
                           const char *with) {
  const size_t length = strlen(with), rest = own->source_bytes - to;
  char *source = malloc(from + length + rest + 1);
  if (!source)
    return PREM_ERR_MEMORY;
  memcpy(source, own->source, from);
  memcpy(source + from, with, length);
  memcpy(source + from + length, own->source + to, rest);
  source[from + length + rest] = '\0';
  if (own->plan_offset != SIZE_MAX && own->plan_offset >= to)
    own->plan_offset = own->plan_offset - (to - from) + length;
  free(own->source);
  own->source = source;
  own->source_bytes = from + length + rest;
  return PREM_OK;
}

/* A string may stand in pieces: "a" "b". */
static size_t pass_value(walk *text, const char *source) {
  size_t to = (size_t)(text->at - source);
  for (; text->at < text->end && *text->at == '"'; pass_space(text)) {
    pass_string(text);
    to = (size_t)(++text->at - source);
  }
  return to;
}

prem_status prem_schedule_edit_policy(prem_schedule *schedule, const char *key, int64_t value_ns,
                                      prem_diag *diag) {
  struct prem_schedule_private *own = schedule->private_data;
  char written[PREM_NAME_BYTES + 48];
  walk text = {.at = own->source, .end = own->source + own->source_bytes};
  if (!own->source || !enter(&text, "policy") || text.at >= text.end || *text.at != '{')
    return prem_fail(
        diag, PREM_ERR_INVALID, 0, schedule->policy.place, "policy",
        "stands in no group of the file itself; write policy: { use = \"%s\"; }; into it",
        schedule->policy.use);
  const size_t group = (size_t)(++text.at - own->source);
  if (!enter(&text, key)) {
    snprintf(written, sizeof written, " %s = %" PRId64 "L;", key, value_ns);
    return replace(own, group, group, written);
  }
  const size_t from = (size_t)(text.at - own->source);
  while (text.at < text.end && (is_in_name(*text.at) || *text.at == '+'))
    ++text.at;
  const size_t to = pass_value(&text, own->source); /* of a time with a unit */
  snprintf(written, sizeof written, "%" PRId64 "L", value_ns);
  return replace(own, from, to, written);
}

/* A new `profiles` group before the plan, or at the end. */
static prem_status add_profiles(struct prem_schedule_private *own, const char *entry) {
  const size_t at = own->plan_offset < own->source_bytes ? own->plan_offset : own->source_bytes;
  const bool ends_line = at == 0 || own->source[at - 1] == '\n';
  char *group = NULL;
  if (asprintf(&group, "%sprofiles: {%s };\n", ends_line ? "" : "\n", entry) < 0)
    return PREM_ERR_MEMORY;
  const prem_status status = replace(own, at, at, group);
  free(group);
  return status;
}

prem_status prem_schedule_edit_profile(prem_schedule *schedule, const char *name, const char *path,
                                       prem_diag *diag) {
  struct prem_schedule_private *own = schedule->private_data;
  char *value = NULL, *entry = NULL;
  size_t bytes = 0;
  walk text = {.at = own->source, .end = own->source ? own->source + own->source_bytes : NULL};
  const bool has_group = own->source && enter(&text, "profiles") && text.at < text.end;
  if (own->plan_is_included || own->settings_follow)
    return prem_fail(diag, PREM_ERR_INVALID, 2, (prem_place){schedule->path, 0}, "plan",
                     "has to be the last group of the file itself, where another one is going to "
                     "stand");
  if (!own->source || (!has_group && schedule->profile_count > 0) || (has_group && *text.at != '{'))
    return prem_fail(
        diag, PREM_ERR_INVALID, 0, (prem_place){schedule->path, 0}, "profiles",
        "stands in no group of the file itself, so that '%s' finds no place there; move "
        "the group into the file",
        name);
  FILE *quoted = open_memstream(&value, &bytes);
  if (!quoted)
    return PREM_ERR_MEMORY;
  prem_write_text(quoted, path);
  prem_status status = fclose(quoted) == 0 && asprintf(&entry, " %s = %s;", name, value) >= 0
                           ? PREM_OK
                           : PREM_ERR_MEMORY;
  if (status == PREM_OK && !has_group) {
    status = add_profiles(own, entry);
  } else if (status == PREM_OK) {
    const size_t group = (size_t)(++text.at - own->source);
    if (enter(&text, name)) {
      const size_t from = (size_t)(text.at - own->source);
      status = replace(own, from, pass_value(&text, own->source), value);
    } else {
      status = replace(own, group, group, entry);
    }
  }
  free(entry);
  free(value);
  return status;
}
