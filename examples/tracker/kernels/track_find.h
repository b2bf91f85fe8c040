/* SPDX-License-Identifier: Apache-2.0 */
/** track_find: of targets at one scale, track_respond and track_locate at once. A target's only
 * peak stays where it was found: no second task has to wait for it, and fetch it. */
#ifndef TRACK_FIND_H
#define TRACK_FIND_H

#include "track_locate.h"
#include "track_respond.h"

typedef struct track_find_params {
  track_respond_params respond;
  track_locate_params locate;
} track_find_params;

PREM_FN void track_find_compute(const track_find_params *params, const prem_view *views) {
  float *peak = (float *)views[7].data + TRACK_PLANE_BYTES / 4; /* behind the plane */
  const locate_target_views of = {(const float *)views[2].data,
                                  (const float *)views[3].data,
                                  peak,
                                  PEAK_NUMBERS,
                                  (float *)views[4].data,
                                  (float *)views[6].data,
                                  (int32_t *)views[5].data,
                                  {views[5].pitch[1], views[5].pitch[2]}};
  respond_views(params->respond.sigma, &views[0], &views[1], views[7].data, peak);
  PREM_SYNC();
  locate_all(&params->locate, &of);
}

#if PREM_HOST

PREM_CLONES static void track_find_reference(const void *given, const prem_array_view *arrays) {
  enum { POINTS = CORRELATE_PARTS * CORRELATE_POINTS, WHERE = TRACK_CELLS * WHERE_NUMBERS };
  const track_find_params *params = (const track_find_params *)given;
  for (int64_t t = 0; t < arrays[3].shape[2]; ++t) {
    float peak[PEAK_NUMBERS];
    const locate_target_views of = {(const float *)arrays[2].data + t * COMMAND_NUMBERS,
                                    (const float *)arrays[3].data + t * POSE_NUMBERS,
                                    peak,
                                    PEAK_NUMBERS,
                                    (float *)arrays[4].data + t * POSE_NUMBERS,
                                    (float *)arrays[6].data + t * BOX_NUMBERS,
                                    (int32_t *)arrays[5].data + t * WHERE,
                                    {WHERE, WHERE_NUMBERS}};
    respond_arrays(params->respond.sigma, (const prem_fft_point *)arrays[0].data + t * POINTS,
                   (const float *)arrays[1].data + t * TRACK_PLANE, peak);
    locate_all(&params->locate, &of);
  }
}

static prem_status track_find_bind(prem_bind *bind) {
  track_find_params *params = (track_find_params *)bind->params.bytes;
  int64_t scales;
  prem_status status = track_bind_sigma(bind, &params->respond.sigma);
  if (status == PREM_OK)
    status = locate_bind_args(bind, &params->locate);
  if (status == PREM_OK && params->locate.scales != 1)
    status = prem_bind_refuse(bind, "args.scales",
                              "is %d, track_find looks at 1: use track_respond and track_locate",
                              (int)params->locate.scales);
  if (status == PREM_OK)
    status = respond_bind_arrays(bind, &scales);
  if (status == PREM_OK && (scales != 1 || bind->shape[0][1] != bind->shape[3][2]))
    status = prem_bind_refuse(bind, "arrays.correlation", "has %lld regions, and %lld targets",
                              (long long)bind->shape[0][1], (long long)bind->shape[3][2]);
  if (status == PREM_OK)
    status = locate_bind_arrays(bind, &params->locate, 2, 4);
  bind->work_bytes += PEAK_NUMBERS * (int32_t)sizeof(float);
  return status;
}

static const prem_port track_find_ports[] = {
    {"correlation", PREM_IN, PREM_C64}, {"alpha", PREM_IN, PREM_F32},
    {"command", PREM_IN, PREM_F32},     {"pose", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},        {"where", PREM_OUT, PREM_I32},
    {"boxes", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_find)

static const prem_kernel track_find_kernel = {
    .name = "track_find",
    .summary =
        "track_respond and track_locate of targets at one scale; sigma (0.5), frame = [rows, "
        "columns], reach (2), lost (0.2)",
    .version = 1,
    .params_bytes = sizeof(track_find_params),
    .ports = track_find_ports,
    .port_count = 7,
    .bind = track_find_bind,
    .compute = track_find_entry,
    .reference = track_find_reference,
};

#endif
#endif
