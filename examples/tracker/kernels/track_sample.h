/* SPDX-License-Identifier: Apache-2.0 */
/** track_sample: each region of the frame as 128 x 128 pixels, bilinear, with the frame's border
 * repeated outside; pixels of 0 to 255 become 0 to 1. The frame's window is aimed by `where`. */
#ifndef TRACK_SAMPLE_H
#define TRACK_SAMPLE_H

#include "track.h"

typedef struct track_sample_params {
  int32_t frame[2];
} track_sample_params;

typedef struct track_tap {
  int32_t first, second; /* indices in the frame */
  float share;           /* of the second */
} track_tap;

PREM_FN track_tap track_tap_at(float at, int32_t size) {
  const float held = track_within(at, 0, (float)(size - 1));
  const int32_t first = (int32_t)held;
  track_tap tap = {first, first + 1 < size ? first + 1 : first, held - (float)first};
  return tap;
}

PREM_FN float track_mix(const uint8_t *above, const uint8_t *below, track_tap column, float share) {
  const float a = (float)above[column.first], b = (float)above[column.second];
  const float c = (float)below[column.first], d = (float)below[column.second];
  const float upper = fmaf(column.share, b - a, a), lower = fmaf(column.share, d - c, c);
  return fmaf(share, lower - upper, upper) * (1.0F / 255.0F);
}

/* `window`: the frame from row `top` and column `left` on. */
PREM_FN void track_sample_rows(const int32_t size[2], const uint8_t *window, int64_t pitch,
                               int32_t top, int32_t left, const float *geometry, int32_t first_row,
                               int32_t rows, float *out, int64_t out_pitch) {
  const float y = geometry[GEOMETRY_Y], x = geometry[GEOMETRY_X], step = geometry[GEOMETRY_STEP];
  PREM_LANES_2D(r, rows, c, TRACK_PIXELS) {
    const track_tap row = track_tap_at(fmaf(step, (float)(first_row + r), y), size[0]);
    track_tap column = track_tap_at(fmaf(step, (float)c, x), size[1]);
    column.first -= left;
    column.second -= left;
    out[r * out_pitch + c] = track_mix(window + (row.first - top) * pitch,
                                       window + (row.second - top) * pitch, column, row.share);
  }
}

PREM_FN void track_sample_compute(const track_sample_params *params, const prem_view *views) {
  const prem_view *frame = &views[0], *out = &views[3];
  track_sample_rows(params->frame, (const uint8_t *)frame->data, frame->pitch[2],
                    (int32_t)frame->origin[2], (int32_t)frame->origin[3],
                    (const float *)views[2].data, (int32_t)out->origin[2], TRACK_STRIP_ROWS,
                    (float *)out->data, out->pitch[2]);
}

#if PREM_HOST

PREM_CLONES static void track_sample_reference(const void *given, const prem_array_view *arrays) {
  const track_sample_params *params = (const track_sample_params *)given;
  for (int64_t region = 0; region < arrays[2].shape[2]; ++region)
    track_sample_rows(params->frame, (const uint8_t *)arrays[0].data, arrays[0].shape[3], 0, 0,
                      (const float *)arrays[2].data + region * GEOMETRY_NUMBERS, 0, TRACK_PIXELS,
                      (float *)arrays[3].data + region * TRACK_PIXELS * TRACK_PIXELS, TRACK_PIXELS);
}

static prem_status track_sample_bind(prem_bind *bind) {
  track_sample_params *params = (track_sample_params *)bind->params.bytes;
  const int64_t regions = bind->shape[2][2];
  float reach = 2.0F;
  prem_status status = prem_arg_floats(bind, "reach", &reach, 1);
  if (status == PREM_OK && !(reach > 0 && reach <= 8))
    status = prem_bind_refuse(bind, "args.reach", "is %g; above 0 and up to 8 is possible",
                              (double)reach);
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.frame", 2, (const int64_t[4]){1, 1, 0, 0});
  if (status == PREM_OK)
    status =
        track_expect(bind, 2, "arrays.geometry", 2, (const int64_t[4]){1, 1, 0, GEOMETRY_NUMBERS});
  if (status == PREM_OK)
    status =
        track_expect(bind, 1, "arrays.where", 3, (const int64_t[4]){1, regions, TRACK_STRIPS, 2});
  if (status == PREM_OK)
    status = track_output(bind, 3, "arrays.patch", 3,
                          (const int64_t[4]){1, regions, TRACK_PIXELS, TRACK_PIXELS});
  for (int32_t d = 0; d < 2; ++d)
    params->frame[d] = (int32_t)bind->shape[0][2 + d];
  bind->grid[0] = (int32_t)regions;
  bind->grid[1] = TRACK_STRIPS;
  bind->grid[2] = 1;
  bind->window[0] = (prem_window){.extent = {1, 1, track_window_extent(reach, TRACK_STRIP_ROWS),
                                             track_window_extent(reach, TRACK_PIXELS)},
                                  .aim = 2};
  bind->window[1] = (prem_window){.step = {[1] = {1}, [2] = {0, 1}}, .extent = {1, 1, 1, 2}};
  bind->window[2] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, GEOMETRY_NUMBERS}};
  bind->window[3] = (prem_window){.step = {[1] = {1}, [2] = {0, TRACK_STRIP_ROWS}},
                                  .extent = {1, 1, TRACK_STRIP_ROWS, TRACK_PIXELS}};
  return status;
}

static const prem_port track_sample_ports[] = {{"frame", PREM_IN, PREM_U8},
                                               {"where", PREM_IN, PREM_I32},
                                               {"geometry", PREM_IN, PREM_F32},
                                               {"patch", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_sample)

static const prem_kernel track_sample_kernel = {
    .name = "track_sample",
    .summary = "regions of a u8 frame as 128 x 128 pixels, bilinear; reach (2) as in track_aim",
    .version = 1,
    .params_bytes = sizeof(track_sample_params),
    .ports = track_sample_ports,
    .port_count = 4,
    .bind = track_sample_bind,
    .compute = track_sample_entry,
    .reference = track_sample_reference,
};

#endif
#endif
