/* SPDX-License-Identifier: Apache-2.0 */
/* Always what has the longest tail, until something longer comes. */
#include "schedules/planner/common/jackson.h"

#include <stdlib.h>

static int by_head(const void *left, const void *right) {
  const prem_work *a = left, *b = right;
  return (a->head > b->head) - (a->head < b->head);
}

static void swap(int32_t *a, int32_t *b) {
  int32_t held = *a;
  *a = *b;
  *b = held;
}

static void push(const prem_work *works, int32_t *heap, int32_t count, int32_t added) {
  heap[count] = added;
  for (int32_t at = count; at > 0; at = (at - 1) / 2) {
    if (works[heap[(at - 1) / 2]].tail >= works[heap[at]].tail)
      return;
    swap(&heap[at], &heap[(at - 1) / 2]);
  }
}

static void pop(const prem_work *works, int32_t *heap, int32_t count) {
  heap[0] = heap[count - 1];
  for (int32_t at = 0, max = 0;; at = max) {
    for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count - 1; ++child)
      if (works[heap[child]].tail > works[heap[max]].tail)
        max = child;
    if (max == at)
      return;
    swap(&heap[at], &heap[max]);
  }
}

prem_wide prem_jackson_end(prem_work *works, int32_t count, int32_t *heap, int32_t *worst) {
  qsort(works, (size_t)count, sizeof *works, by_head);
  prem_wide now = works[0].head, longest = 0;
  int32_t next = 0, waiting = 0, last = -1;
  while (next < count || waiting > 0) {
    if (waiting == 0 && works[next].head > now)
      now = works[next].head;
    while (next < count && works[next].head <= now)
      push(works, heap, waiting++, next++);
    prem_work *top = &works[heap[0]];
    prem_wide run = top->left;
    if (next < count && works[next].head - now < run)
      run = works[next].head - now;
    now += run;
    top->left -= run;
    if (top->left > 0)
      continue;
    if (last < 0 || now + top->tail > longest) {
      longest = now + top->tail;
      last = heap[0];
    }
    pop(works, heap, waiting--);
  }
  if (worst)
    *worst = last;
  return longest;
}
