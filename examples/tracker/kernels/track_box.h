/* SPDX-License-Identifier: Apache-2.0 */
/** Poses as boxes, for who reads them. */
#ifndef TRACK_BOX_H
#define TRACK_BOX_H

#include "track.h"

/** A row of `boxes`. */
enum {
  BOX_SERIAL,
  BOX_X,
  BOX_Y,
  BOX_WIDTH,
  BOX_HEIGHT,
  BOX_SCALE,
  BOX_PEAK,
  BOX_STATUS,
  BOX_NUMBERS
};

PREM_FN void track_box(const float *pose, float *row) {
  const float width = pose[POSE_WIDTH] * pose[POSE_SCALE];
  const float height = pose[POSE_HEIGHT] * pose[POSE_SCALE];
  row[BOX_SERIAL] = pose[POSE_SERIAL];
  row[BOX_X] = pose[POSE_X] - 0.5F * width;
  row[BOX_Y] = pose[POSE_Y] - 0.5F * height;
  row[BOX_WIDTH] = width;
  row[BOX_HEIGHT] = height;
  row[BOX_SCALE] = pose[POSE_SCALE];
  row[BOX_PEAK] = pose[POSE_PEAK];
  row[BOX_STATUS] = pose[POSE_STATUS];
}

#endif
