/* SPDX-License-Identifier: Apache-2.0 */
/** Planes of 32 x 32 points in the scratchpad: two there, one there and back. */
#ifndef TRACK_PLANE_H
#define TRACK_PLANE_H

#include <ttprem/fft.h>

#include "track.h"

enum {
  TRACK_PLANE = TRACK_CELLS * TRACK_CELLS, /* points */
  TRACK_PLANE_BYTES = TRACK_PLANE * 8,
  TRACK_PLANES_BYTES = 2 * TRACK_PLANE_BYTES
};

/* Two planes, `plane` points apart, rows `row`. */
typedef struct track_planes {
  prem_fft_point *first;
  int32_t plane, row;
} track_planes;

/** Two planes' spectra. `from` holds what stands between when this is done. */
PREM_FN void track_spectra(const track_planes *from, const track_planes *to) {
  const prem_fft_plan plan = {5, 1.0F, 1.0F};
  const prem_fft_square in = {from->first, from->row, from->plane, 0};
  const prem_fft_square out = {to->first, to->row, to->plane, 0};
  prem_fft_known_planes(&plan, in, out, 2);
}

/* A plane; `room` is as large. */
typedef struct track_plane {
  prem_fft_point *points, *room;
  int32_t pitch, room_pitch;
} track_plane;

/** Transform a plane, forwards with sign 1, back with -1; then its points are where its room was.
 */
PREM_FN void track_transform(float sign, track_plane *plane) {
  const prem_fft_plan plan = {5, sign, sign > 0 ? 1.0F : 1.0F / TRACK_CELLS};
  const prem_fft_square in = {plane->points, plane->pitch, 0, 0};
  const prem_fft_square out = {plane->room, plane->room_pitch, 0, 0};
  prem_fft_known_planes(&plan, in, out, 1);
  PREM_SYNC();
  const track_plane turned = {plane->room, plane->points, plane->room_pitch, plane->pitch};
  *plane = turned;
}

/** From twice a correlation to the Gaussian kernel of the distance. `square` is the sum of the
 * squares of both that were correlated. */
PREM_FN void track_gauss(float square, float sigma, const track_plane *plane) {
  const float scale = 1.0F / (sigma * sigma * (float)(TRACK_PLANE * TRACK_CHANNELS));
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    prem_fft_point *point = &plane->points[(int64_t)r * plane->pitch + c];
    const float distance = (square - point->re) * scale;
    point->re = track_exp(distance > 0 ? -distance : 0.0F);
    point->im = 0;
  }
}

PREM_FN float track_sum(const float *values, int32_t count) {
  float sum = 0;
  for (int32_t i = 0; i < count; ++i)
    sum += values[i];
  return sum;
}

#endif
