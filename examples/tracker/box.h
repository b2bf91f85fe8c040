/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A box in a picture, in pixels: pixel column c covers [c, c + 1), so that a box of columns 3 to 5
 * has x = 3 and w = 3. A width of 0 or less, or NaN, says that no box is known.
 */
#ifndef TRACKER_BOX_H
#define TRACKER_BOX_H

#include <stdbool.h>

typedef struct box {
  float x, y; /* left and upper edge */
  float w, h;
} box;

static inline bool box_is_known(const box *one) {
  return one->w > 0 && one->h > 0;
}

#endif
