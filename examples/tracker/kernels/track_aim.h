/* SPDX-License-Identifier: Apache-2.0 */
/** track_aim: where in the frame the regions of each target lie, at each scale, and with them the
 * windows that `track_sample` fetches. A target with a new command is looked for where it says. */
#ifndef TRACK_AIM_H
#define TRACK_AIM_H

#include "track.h"

typedef struct track_aim_params {
  int32_t scales;
  int32_t frame[2];
  float reach;
  float factors[TRACK_MAX_SCALES];
} track_aim_params;

/* One target: `where` [scales][strips][2], `geometry` [scales][4]. */
PREM_FN void track_aim_target(const track_aim_params *params, const float *command,
                              const float *last, int32_t *where, int32_t where_pitch[2],
                              float *geometry, int32_t geometry_pitch) {
  float pose[POSE_NUMBERS];
  const float most = params->reach * (float)TRACK_PIXELS;
  if (command[COMMAND_SERIAL] == last[POSE_SERIAL])
    for (int32_t i = 0; i < POSE_NUMBERS; ++i)
      pose[i] = last[i];
  else
    track_begin(command, track_is_possible(command, params->frame[0], params->frame[1], most),
                pose);
  const float side = track_side(pose);
  PREM_LANES(scale, params->scales) {
    const float held = track_within(side * params->factors[scale], 1.0F, most);
    const float step = held / (float)TRACK_PIXELS;
    const float y =
        track_within(pose[POSE_Y], 0, (float)params->frame[0]) - 0.5F * held + 0.5F * step - 0.5F;
    const float x =
        track_within(pose[POSE_X], 0, (float)params->frame[1]) - 0.5F * held + 0.5F * step - 0.5F;
    float *row = geometry + (int64_t)scale * geometry_pitch;
    row[GEOMETRY_Y] = y;
    row[GEOMETRY_X] = x;
    row[GEOMETRY_STEP] = step;
    row[GEOMETRY_STEP + 1] = 0;
    for (int32_t strip = 0; strip < TRACK_STRIPS; ++strip) {
      int32_t *at = where + (int64_t)scale * where_pitch[0] + (int64_t)strip * where_pitch[1];
      at[0] = track_floor(fmaf(step, (float)(strip * TRACK_STRIP_ROWS), y));
      at[1] = track_floor(x);
    }
  }
}

PREM_FN void track_aim_compute(const track_aim_params *params, const prem_view *views) {
  int32_t pitch[2] = {views[2].pitch[1], views[2].pitch[2]};
  track_aim_target(params, (const float *)views[0].data, (const float *)views[1].data,
                   (int32_t *)views[2].data, pitch, (float *)views[3].data, views[3].pitch[2]);
}

#if PREM_HOST

static void track_aim_reference(const void *given, const prem_array_view *arrays) {
  const track_aim_params *params = (const track_aim_params *)given;
  const int64_t targets = arrays[1].shape[2], scales = params->scales;
  int32_t pitch[2] = {TRACK_STRIPS * 2, 2};
  for (int64_t t = 0; t < targets; ++t)
    track_aim_target(params, (const float *)arrays[0].data + t * COMMAND_NUMBERS,
                     (const float *)arrays[1].data + t * POSE_NUMBERS,
                     (int32_t *)arrays[2].data + t * scales * pitch[0], pitch,
                     (float *)arrays[3].data + t * scales * GEOMETRY_NUMBERS, GEOMETRY_NUMBERS);
}

static prem_status track_aim_bind(prem_bind *bind) {
  track_aim_params *params = (track_aim_params *)bind->params.bytes;
  const int64_t targets = bind->shape[1][2];
  prem_status status = track_bind_scales(bind, &params->scales, params->factors);
  if (status == PREM_OK)
    status = track_bind_frame(bind, params->frame, &params->reach);
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.pose", 2, (const int64_t[4]){1, 1, 0, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.command", 2,
                          (const int64_t[4]){1, 1, targets, COMMAND_NUMBERS});
  if (status != PREM_OK)
    return status;
  const int64_t regions = targets * params->scales;
  status =
      track_output(bind, 2, "arrays.where", 3, (const int64_t[4]){1, regions, TRACK_STRIPS, 2});
  if (status == PREM_OK)
    status = track_output(bind, 3, "arrays.geometry", 2,
                          (const int64_t[4]){1, 1, regions, GEOMETRY_NUMBERS});
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = bind->grid[2] = 1;
  for (int32_t p = 0; p < 2; ++p)
    bind->window[p] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, 8}};
  bind->window[2] = (prem_window){.step = {[1] = {params->scales}},
                                  .extent = {1, params->scales, TRACK_STRIPS, 2}};
  bind->window[3] = (prem_window){.step = {[2] = {params->scales}},
                                  .extent = {1, 1, params->scales, GEOMETRY_NUMBERS}};
  return status;
}

static const prem_port track_aim_ports[] = {{"command", PREM_IN, PREM_F32},
                                            {"pose", PREM_IN, PREM_F32},
                                            {"where", PREM_OUT, PREM_I32},
                                            {"geometry", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_aim)

static const prem_kernel track_aim_kernel = {
    .name = "track_aim",
    .summary =
        "where targets' regions lie; frame = [rows, columns], scales (1), step (1.03), reach (2)",
    .version = 1,
    .params_bytes = sizeof(track_aim_params),
    .ports = track_aim_ports,
    .port_count = 4,
    .bind = track_aim_bind,
    .compute = track_aim_entry,
    .reference = track_aim_reference,
};

#endif
#endif
