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

/* A GPU's warp has a row of the region, and each of its lanes every 32nd pixel in hand: so what all
 * pixels of a row share is worked out once for four. */
enum { SAMPLE_LANES = 32, SAMPLE_AT_ONCE = TRACK_PIXELS / SAMPLE_LANES };
#define SAMPLE_STARTS (PREM_LANE_COUNT < SAMPLE_LANES ? 1 : PREM_LANE_COUNT / SAMPLE_LANES)

PREM_FN void sample_warp_rows(const int32_t size[2], const sample_window *window,
                              const float *geometry, int32_t first, int32_t rows, float *out) {
  const float y = geometry[GEOMETRY_Y], x = geometry[GEOMETRY_X], step = geometry[GEOMETRY_STEP];
  PREM_LANES_2D(start, SAMPLE_STARTS, lane, SAMPLE_LANES) {
    sample_tap column[SAMPLE_AT_ONCE];
    for (int32_t i = 0; i < SAMPLE_AT_ONCE; ++i)
      column[i] = sample_tap_at(fmaf(step, (float)(lane + i * SAMPLE_LANES), x), size[1]);
    PREM_ROLLED for (int32_t r = start; r < rows; r += SAMPLE_STARTS) {
      const sample_tap row = sample_tap_at(fmaf(step, (float)(first + r), y), size[0]);
      float found[SAMPLE_AT_ONCE];
      for (int32_t i = 0; i < SAMPLE_AT_ONCE; ++i)
        found[i] = sample_pixel(window, row, column[i]);
      for (int32_t i = 0; i < SAMPLE_AT_ONCE; ++i)
        out[r * TRACK_PIXELS + lane + i * SAMPLE_LANES] = found[i];
    }
  }
}

/** The region's rows from `first` on. */
PREM_FN void sample_rows(const int32_t size[2], const sample_window *window, const float *geometry,
                         int32_t first, int32_t rows, float *out) {
  if (!PREM_HOST) {
    sample_warp_rows(size, window, geometry, first, rows, out);
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
