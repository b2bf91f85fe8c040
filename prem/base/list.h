/* SPDX-License-Identifier: Apache-2.0 */
/** Arrays that grow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

/** A list of elements of one size. */
typedef struct prem_list {
  void *items;
  size_t size; /* of an element, in bytes */
  int64_t count;
} prem_list;

/** Room for one element more, which counts already; NULL when out of memory. */
static inline void *prem_list_add(prem_list *list) {
  void *grown = prem_grow(list->items, (size_t)list->count, list->size);
  if (!grown)
    return NULL;
  list->items = grown;
  return (char *)grown + list->size * (size_t)list->count++;
}
