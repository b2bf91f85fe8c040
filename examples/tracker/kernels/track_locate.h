/* SPDX-License-Identifier: Apache-2.0 */
/** track_locate: a target's next pose, from the peaks of its regions and its last pose; or from its
 * command, if that is new. With it its box, and where its regions lie now, at each scale: there it
 * is looked for in the next frame, and in the middle one of them it is learnt. */
#ifndef TRACK_LOCATE_H
#define TRACK_LOCATE_H

#include "track_aim.h"
#include "track_box.h"

typedef struct track_locate_params {
  int32_t scales;
  int32_t frame[2];
  float reach, lost;
  float factors[TRACK_MAX_SCALES];
} track_locate_params;

/* The top of a parabola through three neighbours, from the middle one. */
PREM_FN float locate_top(float before, float here, float behind) {
  const float bend = 2.0F * here - before - behind;
  return bend > 1e-12F ? track_within(0.5F * (behind - before) / bend, -1.0F, 1.0F) : 0.0F;
}

/* Cells from (0, 0); the far half lies before it. */
PREM_FN float locate_cells(float index, float before, float here, float behind) {
  const float top = locate_top(before, here, behind);
  return (2 * index >= TRACK_CELLS ? index - TRACK_CELLS : index) + top;
}

/* A response at another scale counts less: most targets keep their size from frame to frame. So do
 * J. Faro's KCFcpp and those made of it, with 0.95 for a step of 1.05. */
#define LOCATE_OTHER_SCALE 0.97F

PREM_FN float locate_weight(float factor) {
  const float step = factor < 1.0F ? factor : 1.0F / factor;
  return factor == 1.0F ? 1.0F : LOCATE_OTHER_SCALE * step;
}

PREM_FN int32_t locate_scale(const track_locate_params *params, const float *peaks, int32_t pitch) {
  int32_t best = params->scales / 2;
  float value = peaks[(int64_t)best * pitch + PEAK_VALUE];
  PREM_ROLLED for (int32_t e = 0; e < params->scales; ++e) {
    const float here = peaks[(int64_t)e * pitch + PEAK_VALUE] * locate_weight(params->factors[e]);
    if (here > value) {
      value = here;
      best = e;
    }
  }
  return best;
}

/* So much of a step between scales is taken for noise: a target that keeps its size would drift. */
#define LOCATE_STEADY 0.35F

/* Between the scales: the top of the parabola through the best one and its neighbours. */
PREM_FN float locate_factor(const track_locate_params *params, const float *peaks, int32_t pitch,
                            int32_t best) {
  const float here = params->factors[best];
  if (best == 0 || best + 1 >= params->scales)
    return here;
  float value[3];
  for (int32_t i = 0; i < 3; ++i) {
    const int32_t e = best - 1 + i;
    value[i] = peaks[(int64_t)e * pitch + PEAK_VALUE] * locate_weight(params->factors[e]);
  }
  const float top = locate_top(value[0], value[1], value[2]);
  if (best == params->scales / 2 && top > -LOCATE_STEADY && top < LOCATE_STEADY)
    return here;
  return top < 0 ? fmaf(-top, params->factors[best - 1] - here, here)
                 : fmaf(top, params->factors[best + 1] - here, here);
}

/* Where the peaks say, sure of it or not; without any response a target stays where it was. */
PREM_FN void locate_follow(const track_locate_params *params, const float *peaks, int32_t pitch,
                           float pose[POSE_NUMBERS]) {
  const int32_t best = locate_scale(params, peaks, pitch);
  const float *peak = peaks + (int64_t)best * pitch;
  const float most = params->reach * (float)TRACK_PIXELS, side = track_side(pose);
  const float held = track_within(side * params->factors[best], 1.0F, most);
  const float down = locate_cells(peak[PEAK_ROW], peak[PEAK_UP], peak[PEAK_VALUE], peak[PEAK_DOWN]);
  const float right =
      locate_cells(peak[PEAK_COLUMN], peak[PEAK_LEFT], peak[PEAK_VALUE], peak[PEAK_RIGHT]);
  const float factor = locate_factor(params, peaks, pitch, best);
  pose[POSE_PEAK] = peak[PEAK_VALUE];
  pose[POSE_STATUS] = peak[PEAK_VALUE] >= params->lost ? TARGET_FOUND : TARGET_LOST;
  if (!(peak[PEAK_VALUE] > 0))
    return;
  pose[POSE_X] = track_within(fmaf(right, held * (1.0F / TRACK_CELLS), pose[POSE_X]), 0,
                              (float)params->frame[1]);
  pose[POSE_Y] = track_within(fmaf(down, held * (1.0F / TRACK_CELLS), pose[POSE_Y]), 0,
                              (float)params->frame[0]);
  const float scale = pose[POSE_SCALE] * factor;
  const float grown = side / pose[POSE_SCALE] * scale; /* the side that it would have */
  if (grown >= TRACK_REGION * TRACK_MIN_SIDE && grown * params->factors[params->scales - 1] <= most)
    pose[POSE_SCALE] = scale;
}

PREM_FN void locate_target(const track_locate_params *params, const float *command,
                           const float *last, const float *peaks, int32_t pitch, float *out) {
  const float most = params->reach * (float)TRACK_PIXELS;
  float pose[POSE_NUMBERS];
  for (int32_t i = 0; i < POSE_NUMBERS; ++i)
    pose[i] = last[i];
  if (command[COMMAND_SERIAL] != last[POSE_SERIAL])
    track_begin(command, track_is_possible(command, params->frame[0], params->frame[1], most),
                pose);
  else if (last[POSE_SERIAL] != 0 && last[POSE_STATUS] != (float)TARGET_REFUSED)
    locate_follow(params, peaks, pitch, pose);
  for (int32_t i = 0; i < POSE_NUMBERS; ++i)
    out[i] = pose[i];
}

/* Of the regions at a pose: `where` [scales][32][2], `geometry` [scales][4]. */
PREM_FN void locate_regions(const track_locate_params *params, const float *pose, int32_t *where,
                            const int32_t where_pitch[2], float *geometry, int32_t geometry_pitch) {
  const float most = params->reach * (float)TRACK_PIXELS;
  PREM_LANES_2D(scale, params->scales, cell, TRACK_CELLS) {
    float region[GEOMETRY_NUMBERS];
    aim_region(params->frame, most, params->factors[scale], pose, region);
    aim_window(region, cell,
               where + (int64_t)scale * where_pitch[0] + (int64_t)cell * where_pitch[1]);
    if (cell == 0)
      for (int32_t i = 0; i < GEOMETRY_NUMBERS; ++i)
        geometry[(int64_t)scale * geometry_pitch + i] = region[i];
  }
}

/* Each lane works out the pose, which takes no longer than to wait for it. */
PREM_FN void track_locate_compute(const track_locate_params *params, const prem_view *views) {
  const int32_t pitch[2] = {views[4].pitch[1], views[4].pitch[2]};
  float pose[POSE_NUMBERS];
  locate_target(params, (const float *)views[0].data, (const float *)views[1].data,
                (const float *)views[2].data, views[2].pitch[2], pose);
  if (PREM_FIRST_LANE()) {
    for (int32_t i = 0; i < POSE_NUMBERS; ++i)
      ((float *)views[3].data)[i] = pose[i];
    track_box(pose, (float *)views[6].data);
  }
  locate_regions(params, pose, (int32_t *)views[4].data, pitch, (float *)views[5].data,
                 views[5].pitch[2]);
}

#if PREM_HOST

static void track_locate_reference(const void *given, const prem_array_view *arrays) {
  static const int32_t pitch[2] = {TRACK_CELLS * 2, 2};
  const track_locate_params *params = (const track_locate_params *)given;
  const int32_t scales = params->scales;
  for (int64_t t = 0; t < arrays[1].shape[2]; ++t) {
    float *pose = (float *)arrays[3].data + t * POSE_NUMBERS;
    locate_target(params, (const float *)arrays[0].data + t * COMMAND_NUMBERS,
                  (const float *)arrays[1].data + t * POSE_NUMBERS,
                  (const float *)arrays[2].data + t * scales * PEAK_NUMBERS, PEAK_NUMBERS, pose);
    track_box(pose, (float *)arrays[6].data + t * BOX_NUMBERS);
    locate_regions(params, pose, (int32_t *)arrays[4].data + t * scales * pitch[0], pitch,
                   (float *)arrays[5].data + t * scales * GEOMETRY_NUMBERS, GEOMETRY_NUMBERS);
  }
}

static prem_status track_locate_bind(prem_bind *bind) {
  track_locate_params *params = (track_locate_params *)bind->params.bytes;
  const int64_t targets = bind->shape[1][2];
  params->lost = 0.2F;
  prem_status status = track_bind_scales(bind, &params->scales, params->factors);
  if (status == PREM_OK)
    status = track_bind_frame(bind, params->frame, &params->reach);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "lost", &params->lost, 1);
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.pose", 2, (const int64_t[4]){1, 1, 0, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.command", 2,
                          (const int64_t[4]){1, 1, targets, COMMAND_NUMBERS});
  if (status == PREM_OK)
    status = track_expect(bind, 2, "arrays.peaks", 2,
                          (const int64_t[4]){1, 1, targets * params->scales, PEAK_NUMBERS});
  if (status == PREM_OK)
    status =
        track_output(bind, 3, "arrays.out", 2, (const int64_t[4]){1, 1, targets, POSE_NUMBERS});
  if (status != PREM_OK)
    return status;
  const int64_t regions = targets * params->scales;
  status = track_output(bind, 4, "arrays.where", 3, (const int64_t[4]){1, regions, TRACK_CELLS, 2});
  if (status == PREM_OK)
    status = track_output(bind, 5, "arrays.geometry", 2,
                          (const int64_t[4]){1, 1, regions, GEOMETRY_NUMBERS});
  if (status == PREM_OK)
    status =
        track_output(bind, 6, "arrays.boxes", 2, (const int64_t[4]){1, 1, targets, BOX_NUMBERS});
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = bind->grid[2] = 1;
  for (int32_t p = 0; p < 7; ++p) /* rows of 8, but for three */
    bind->window[p] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, 8}};
  bind->window[2] = (prem_window){.step = {[2] = {params->scales}},
                                  .extent = {1, 1, params->scales, PEAK_NUMBERS}};
  bind->window[4] = (prem_window){.step = {[1] = {params->scales}},
                                  .extent = {1, params->scales, TRACK_CELLS, 2}};
  bind->window[5] = (prem_window){.step = {[2] = {params->scales}},
                                  .extent = {1, 1, params->scales, GEOMETRY_NUMBERS}};
  return status;
}

static const prem_port track_locate_ports[] = {
    {"command", PREM_IN, PREM_F32}, {"pose", PREM_IN, PREM_F32},   {"peaks", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},    {"where", PREM_OUT, PREM_I32}, {"geometry", PREM_OUT, PREM_F32},
    {"boxes", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_locate)

static const prem_kernel track_locate_kernel = {
    .name = "track_locate",
    .summary = "targets' poses from the peaks of their regions, and where these lie next; frame = "
               "[rows, columns], scales (1), step (1.03), reach (2), lost (0.2)",
    .version = 3,
    .params_bytes = sizeof(track_locate_params),
    .ports = track_locate_ports,
    .port_count = 7,
    .bind = track_locate_bind,
    .compute = track_locate_entry,
    .reference = track_locate_reference,
};

#endif
#endif
