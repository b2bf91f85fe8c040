/* SPDX-License-Identifier: Apache-2.0 */
/** Arrays that grow, and freeing several blocks at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/**
 * The array with room for at least `count` + 1 elements; NULL when out of memory, and it is as it
 * was. The room is the next power of two, so that nobody needs to keep it: every element that was
 * ever added came through here, one by one, and the array was NULL at first.
 */
static inline void *prem_grow(void *array, size_t count, size_t element_bytes) {
  const bool is_full = (count & (count - 1)) == 0;
  if (!is_full)
    return array;
  const size_t room = count ? 2 * count : 1;
  return room <= PTRDIFF_MAX / element_bytes ? realloc(array, room * element_bytes) : NULL;
}

/** prem_grow() of the array that a pointer leads to, at `at`; false when out of memory. */
static inline bool prem_make_room(void *at, size_t count, size_t element_bytes) {
  void *array;
  memcpy(&array, at, sizeof array);
  void *grown = prem_grow(array, count, element_bytes);
  if (grown)
    memcpy(at, &grown, sizeof grown);
  return grown != NULL;
}

/** Add an element, the last argument, to an array that grows; false when out of memory. */
#define PREM_APPEND(array, count, ...)                                                             \
  (prem_make_room(&(array), (size_t)(count), sizeof(__typeof__(*(array)))) &&                      \
   ((array)[(count)++] = (__VA_ARGS__), true))

/** A list of elements of one size. */
typedef struct prem_list {
  void *items;
  size_t size; /* of an element, in bytes */
  int64_t count;
} prem_list;

/** Room for one element more, which counts already; NULL when out of memory. */
static inline void *prem_list_add(prem_list *list) {
  if (!prem_make_room(&list->items, (size_t)list->count, list->size))
    return NULL;
  return (char *)list->items + list->size * (size_t)list->count++;
}

static inline void prem_free_all(void *const *blocks, size_t count) {
  for (size_t i = 0; i < count; ++i)
    free(blocks[i]);
}

/** free() of each. */
#define PREM_FREE(...)                                                                             \
  prem_free_all((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
