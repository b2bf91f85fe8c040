/* SPDX-License-Identifier: Apache-2.0 */
/** Small pieces of JSON. A piece that cannot be made is NULL, and whoever gets it passes that on.
 */
#pragma once

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/base.h"

/** Takes `value`. False once anything failed, so that one test at the end is enough. */
static inline bool put(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static inline json_t *finished(json_t *value, bool whole) {
  if (whole)
    return value;
  json_decref(value);
  return NULL;
}

/** A member that is a text; NULL: it is none. */
static inline const char *text_of(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static inline json_t *integer(int64_t value) {
  return json_integer((json_int_t)value);
}

/** Names and command lines may hold bytes that are no UTF-8: these become '?'. */
static inline json_t *text(const char *bytes) {
  json_t *value = json_string(bytes);
  if (value)
    return value;
  char *ascii = strdup(bytes);
  if (!ascii)
    return NULL;
  for (char *c = ascii; *c; ++c)
    if ((unsigned char)*c >= 0x80)
      *c = '?';
  value = json_string(ascii);
  free(ascii);
  return value;
}

/** 0 and more; below there is no such number. */
static inline json_t *integer_if_known(int64_t value) {
  return value >= 0 ? integer(value) : json_null();
}

/** A list of `count` pieces, each of which `piece` makes of `of` and its number. */
static inline json_t *list_of(int64_t count, json_t *(*piece)(const void *of, int64_t number),
                              const void *of) {
  json_t *list = json_array();
  bool whole = list != NULL;
  for (int64_t i = 0; i < count; ++i)
    whole &= json_array_append_new(list, piece(of, i)) == 0;
  return finished(list, whole);
}
