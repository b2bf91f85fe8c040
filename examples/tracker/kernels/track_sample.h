/* SPDX-License-Identifier: Apache-2.0 */
/** A region of the frame as 128 x 128 pixels, bilinear, with the frame's border repeated outside;
 * pixels of 0 to 255 become 0 to 1. */
#ifndef TRACK_SAMPLE_H
#define TRACK_SAMPLE_H

#include "track.h"

typedef struct sample_tap {
  int32_t first, second; /* indices in the frame */
  float share;           /* of the second */
} sample_tap;

PREM_FN sample_tap sample_tap_at(float at, int32_t size) {
  const float held = track_within(at, 0, (float)(size - 1));
  const int32_t first = (int32_t)held;
  sample_tap tap = {first, first + 1 < size ? first + 1 : first, held - (float)first};
  return tap;
}

/* A GPU converts few integers at a time; this is exact. */
PREM_FN float sample_number(uint8_t byte) {
  return PREM_HOST ? (float)byte : prem_f32_of_bits(0x4B000000U | byte) - 8388608.0F;
}

PREM_FN float sample_mix(const uint8_t *above, const uint8_t *below, sample_tap column,
                         float share) {
  const float a = sample_number(above[column.first]), b = sample_number(above[column.second]);
  const float c = sample_number(below[column.first]), d = sample_number(below[column.second]);
  const float upper = fmaf(column.share, b - a, a), lower = fmaf(column.share, d - c, c);
  return fmaf(share, lower - upper, upper) * (1.0F / 255.0F);
}

/* Of a frame, from row `top` and column `left` on. */
typedef struct sample_window {
  const uint8_t *pixels;
  int64_t pitch;
  int32_t top, left;
} sample_window;

/* The region's pixel of a row and a column's tap. */
PREM_FN float sample_pixel(const sample_window *window, sample_tap row, sample_tap column) {
  const uint8_t *above = window->pixels + (row.first - window->top) * window->pitch - window->left;
  const uint8_t *below = window->pixels + (row.second - window->top) * window->pitch - window->left;
  return sample_mix(above, below, column, row.share);
}

/* A GPU's lanes are so many for each column of a region. */
PREM_FN int32_t sample_lanes_a_column(void) {
  return PREM_LANE_COUNT < 2 * TRACK_PIXELS ? 1 : PREM_LANE_COUNT / TRACK_PIXELS;
}

/* A GPU's lane stays in its column, goes on by as many rows as a column has lanes, and has more
 * than one of them in hand. */
PREM_FN void sample_columns(const int32_t size[2], const sample_window *window,
                            const float *geometry, int32_t first, int32_t rows, float *out) {
  enum { AT_ONCE = 3 };
  const float y = geometry[GEOMETRY_Y], x = geometry[GEOMETRY_X], step = geometry[GEOMETRY_STEP];
  const int32_t height = size[0], starts = sample_lanes_a_column();
  PREM_LANES_2D(start, starts, c, TRACK_PIXELS) {
    const sample_tap column = sample_tap_at(fmaf(step, (float)c, x), size[1]);
    PREM_ROLLED for (int32_t r = start; r < rows; r += AT_ONCE * starts) {
      float found[AT_ONCE];
      for (int32_t i = 0; i < AT_ONCE; ++i) {
        const int32_t at = r + i * starts;
        const sample_tap row = sample_tap_at(fmaf(step, (float)(first + at), y), height);
        found[i] = at < rows ? sample_pixel(window, row, column) : 0;
      }
      for (int32_t i = 0; i < AT_ONCE; ++i)
        if (r + i * starts < rows)
          out[(r + i * starts) * TRACK_PIXELS + c] = found[i];
    }
  }
}

/** The region's rows from `first` on. */
PREM_FN void sample_rows(const int32_t size[2], const sample_window *window, const float *geometry,
                         int32_t first, int32_t rows, float *out) {
  if (!PREM_HOST) {
    sample_columns(size, window, geometry, first, rows, out);
    return;
  }
  const float y = geometry[GEOMETRY_Y], x = geometry[GEOMETRY_X], step = geometry[GEOMETRY_STEP];
  PREM_LANES_2D(r, rows, c, TRACK_PIXELS) {
    const sample_tap row = sample_tap_at(fmaf(step, (float)(first + r), y), size[0]);
    const sample_tap column = sample_tap_at(fmaf(step, (float)c, x), size[1]);
    out[r * TRACK_PIXELS + c] = sample_pixel(window, row, column);
  }
}

#endif
