/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays by their names: copies of a task can make tens of thousands of them. */
#include "prem/file/reader.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"

/* Where the name stands in the table, or would. */
static size_t place_of_name(const prem_reader *reader, const char *name) {
  const prem_array *arrays = reader->schedule->arrays;
  size_t hash = 14695981039346656037U; /* FNV-1a */
  for (const char *p = name; *p; ++p)
    hash = (hash ^ (unsigned char)*p) * 1099511628211U;
  size_t at = hash & (reader->array_places - 1);
  while (reader->array_at[at] && strcmp(arrays[reader->array_at[at] - 1].name, name) != 0)
    at = (at + 1) & (reader->array_places - 1);
  return at;
}

int32_t prem_find_array(const prem_reader *reader, const char *name) {
  return reader->array_at ? reader->array_at[place_of_name(reader, name)] - 1 : -1;
}

/* Twice as many places, a power of two. */
static bool make_places(prem_reader *reader) {
  const prem_schedule *schedule = reader->schedule;
  const size_t places = reader->array_places ? 2 * reader->array_places : 16;
  int32_t *made = calloc(places, sizeof *made);
  if (!made)
    return false;
  free(reader->array_at);
  reader->array_at = made;
  reader->array_places = places;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    made[place_of_name(reader, schedule->arrays[a].name)] = a + 1;
  return true;
}

int32_t prem_add_array(prem_reader *reader, const prem_array *array) {
  prem_schedule *schedule = reader->schedule;
  const size_t count = (size_t)schedule->array_count;
  prem_array *grown = prem_grow(schedule->arrays, count, sizeof *grown);
  if (grown)
    schedule->arrays = grown;
  if (!grown || (2 * count >= reader->array_places && !make_places(reader))) {
    reader->out_of_memory = true;
    return -1;
  }
  schedule->arrays[count] = *array;
  reader->array_at[place_of_name(reader, array->name)] = ++schedule->array_count;
  return schedule->array_count - 1;
}
