/* SPDX-License-Identifier: Apache-2.0 */
/** Where in the frame the region of a pose lies, and with it the windows that `track_features`
 * fetches. */
#ifndef TRACK_AIM_H
#define TRACK_AIM_H

#include "track.h"

enum { AIM_ABOVE = 7 /* rows of pixels above a row of cells that count for it */ };

/** Of a pose's region. @param factor  of its scale  @param most  its side at most */
PREM_FN void aim_region(const int32_t frame[2], float most, float factor, const float *pose,
                        float geometry[GEOMETRY_NUMBERS]) {
  const float held = track_within(track_side(pose) * factor, 1.0F, most);
  const float step = held / (float)TRACK_PIXELS;
  geometry[GEOMETRY_Y] =
      track_within(pose[POSE_Y], 0, (float)frame[0]) - 0.5F * held + 0.5F * step - 0.5F;
  geometry[GEOMETRY_X] =
      track_within(pose[POSE_X], 0, (float)frame[1]) - 0.5F * held + 0.5F * step - 0.5F;
  geometry[GEOMETRY_STEP] = step;
}

/** The frame's pixel where a window begins that has all for the cells of row `cell` and below. */
PREM_FN void aim_window(const float *geometry, int32_t cell, int32_t at[WHERE_NUMBERS]) {
  const float row = (float)(cell * TRACK_CELL - AIM_ABOVE);
  at[0] = at[1] = 0;
  at[WHERE_ROW] = track_floor(fmaf(geometry[GEOMETRY_STEP], row, geometry[GEOMETRY_Y]));
  at[WHERE_COLUMN] = track_floor(geometry[GEOMETRY_X]);
}

#endif
