/* SPDX-License-Identifier: Apache-2.0 */
/** track_locate: a target's next pose, from the peaks of its regions and its last pose; or from its
 * command, if that is new. With it its box, and where the windows of its regions lie now, at each
 * scale: there it is looked for in the next frame, and in the middle one of them it is learnt. */
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

/* Of the regions at a pose: `where` [scales][32][4], so many numbers from one scale to the next,
 * and from one row of cells. */
PREM_FN void locate_regions(const track_locate_params *params, const float *pose, int32_t *where,
                            const int32_t pitch[2]) {
  const float most = params->reach * (float)TRACK_PIXELS;
  PREM_LANES_2D(scale, params->scales, cell, TRACK_CELLS) {
    float region[GEOMETRY_NUMBERS];
    aim_region(params->frame, most, params->factors[scale], pose, region);
    aim_window(region, cell, where + (int64_t)scale * pitch[0] + (int64_t)cell * pitch[1]);
  }
}

/* What is known of a target, and where what follows from it goes. */
typedef struct locate_target_views {
  const float *command, *pose, *peaks;
  int32_t peaks_pitch;
  float *out, *box;
  int32_t *where, where_pitch[2];
} locate_target_views;

/* Each lane works out the pose, which takes no longer than to wait for it. */
PREM_FN void locate_all(const track_locate_params *params, const locate_target_views *of) {
  float pose[POSE_NUMBERS];
  locate_target(params, of->command, of->pose, of->peaks, of->peaks_pitch, pose);
  if (PREM_FIRST_LANE()) {
    for (int32_t i = 0; i < POSE_NUMBERS; ++i)
      of->out[i] = pose[i];
    track_box(pose, of->box);
  }
  locate_regions(params, pose, of->where, of->where_pitch);
}

PREM_FN void track_locate_compute(const track_locate_params *params, const prem_view *views) {
  const locate_target_views of = {
      (const float *)views[0].data, (const float *)views[1].data,
      (const float *)views[2].data, views[2].pitch[2],
      (float *)views[3].data,       (float *)views[5].data,
      (int32_t *)views[4].data,     {views[4].pitch[1], views[4].pitch[2]}};
  locate_all(params, &of);
}

#if PREM_HOST

static void track_locate_reference(const void *given, const prem_array_view *arrays) {
  enum { WHERE = TRACK_CELLS * WHERE_NUMBERS };
  const track_locate_params *params = (const track_locate_params *)given;
  const int32_t scales = params->scales;
  for (int64_t t = 0; t < arrays[1].shape[2]; ++t) {
    const locate_target_views of = {(const float *)arrays[0].data + t * COMMAND_NUMBERS,
                                    (const float *)arrays[1].data + t * POSE_NUMBERS,
                                    (const float *)arrays[2].data + t * scales * PEAK_NUMBERS,
                                    PEAK_NUMBERS,
                                    (float *)arrays[3].data + t * POSE_NUMBERS,
                                    (float *)arrays[5].data + t * BOX_NUMBERS,
                                    (int32_t *)arrays[4].data + t * scales * WHERE,
                                    {WHERE, WHERE_NUMBERS}};
    locate_all(params, &of);
  }
}

/* What it takes of `args`. */
static inline prem_status locate_bind_args(prem_bind *bind, track_locate_params *params) {
  params->lost = 0.2F;
  prem_status status = track_bind_scales(bind, &params->scales, params->factors);
  if (status == PREM_OK)
    status = track_bind_frame(bind, params->frame, &params->reach);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "lost", &params->lost, 1);
  return status;
}

/* Ports `command` and `pose` follow each other; so do `out`, `where` and `boxes`, from `out` on. */
static inline prem_status locate_bind_arrays(prem_bind *bind, const track_locate_params *params,
                                             int32_t command, int32_t out) {
  const int64_t targets = bind->shape[command + 1][2], regions = targets * params->scales;
  const int64_t pose[4] = {1, 1, targets, POSE_NUMBERS};
  prem_status status =
      track_expect(bind, command + 1, "arrays.pose", 2, (const int64_t[4]){1, 1, 0, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_expect(bind, command, "arrays.command", 2,
                          (const int64_t[4]){1, 1, targets, COMMAND_NUMBERS});
  if (status == PREM_OK)
    status = track_output(bind, out, "arrays.out", 2, pose);
  if (status == PREM_OK)
    status = track_output(bind, out + 1, "arrays.where", 3,
                          (const int64_t[4]){1, regions, TRACK_CELLS, WHERE_NUMBERS});
  if (status == PREM_OK)
    status = track_output(bind, out + 2, "arrays.boxes", 2,
                          (const int64_t[4]){1, 1, targets, BOX_NUMBERS});
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = bind->grid[2] = 1;
  bind->window[command] = bind->window[command + 1] = bind->window[out] = bind->window[out + 2] =
      (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, 8}};
  bind->window[out + 1] = (prem_window){.step = {[1] = {params->scales}},
                                        .extent = {1, params->scales, TRACK_CELLS, WHERE_NUMBERS}};
  return status;
}

static prem_status track_locate_bind(prem_bind *bind) {
  track_locate_params *params = (track_locate_params *)bind->params.bytes;
  prem_status status = locate_bind_args(bind, params);
  if (status == PREM_OK)
    status = locate_bind_arrays(bind, params, 0, 3);
  if (status == PREM_OK)
    status =
        track_expect(bind, 2, "arrays.peaks", 2,
                     (const int64_t[4]){1, 1, bind->shape[1][2] * params->scales, PEAK_NUMBERS});
  bind->window[2] = (prem_window){.step = {[2] = {params->scales}},
                                  .extent = {1, 1, params->scales, PEAK_NUMBERS}};
  return status;
}

static const prem_port track_locate_ports[] = {
    {"command", PREM_IN, PREM_F32}, {"pose", PREM_IN, PREM_F32},   {"peaks", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},    {"where", PREM_OUT, PREM_I32}, {"boxes", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_locate)

static const prem_kernel track_locate_kernel = {
    .name = "track_locate",
    .summary = "targets' poses from the peaks of their regions, and where these lie next; frame = "
               "[rows, columns], scales (1), step (1.03), reach (2), lost (0.2)",
    .version = 4,
    .params_bytes = sizeof(track_locate_params),
    .ports = track_locate_ports,
    .port_count = 6,
    .bind = track_locate_bind,
    .compute = track_locate_entry,
    .reference = track_locate_reference,
};

#endif
#endif
