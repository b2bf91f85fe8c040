/* SPDX-License-Identifier: Apache-2.0 */
/** track_publish: poses as boxes, for who reads them: serial, left, top, width, height, scale,
 * peak, status. */
#ifndef TRACK_PUBLISH_H
#define TRACK_PUBLISH_H

#include "track.h"

typedef struct track_publish_params {
  int32_t unused; /* C has no empty struct */
} track_publish_params;

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

PREM_FN void publish_box(const float *pose, float *row) {
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

PREM_FN void track_publish_compute(const track_publish_params *params, const prem_view *views) {
  (void)params;
  PREM_LANES(t, views[1].extent[2]) {
    publish_box(&PREM_AT(const float, views[0], t, 0), &PREM_AT(float, views[1], t, 0));
  }
}

#if PREM_HOST

static void track_publish_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  for (int64_t t = 0; t < arrays[0].shape[2]; ++t)
    publish_box((const float *)arrays[0].data + t * POSE_NUMBERS,
                (float *)arrays[1].data + t * BOX_NUMBERS);
}

static prem_status track_publish_bind(prem_bind *bind) {
  const int64_t targets = bind->shape[0][2];
  prem_status status =
      track_expect(bind, 0, "arrays.pose", 2, (const int64_t[4]){1, 1, 0, POSE_NUMBERS});
  if (status == PREM_OK)
    status =
        track_output(bind, 1, "arrays.boxes", 2, (const int64_t[4]){1, 1, targets, BOX_NUMBERS});
  for (int32_t k = 0; k < 3; ++k)
    bind->grid[k] = 1;
  bind->window[0] = bind->window[1] = (prem_window){.extent = {1, 1, (int32_t)targets, 8}};
  return status;
}

static const prem_port track_publish_ports[] = {{"pose", PREM_IN, PREM_F32},
                                                {"boxes", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_publish)

static const prem_kernel track_publish_kernel = {
    .name = "track_publish",
    .summary = "poses as boxes",
    .version = 1,
    .params_bytes = sizeof(track_publish_params),
    .ports = track_publish_ports,
    .port_count = 2,
    .bind = track_publish_bind,
    .compute = track_publish_entry,
    .reference = track_publish_reference,
};

#endif
#endif
