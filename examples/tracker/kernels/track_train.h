/* SPDX-License-Identifier: Apache-2.0 */
/** track_train: a target's filter from the correlation of its model with itself, whose parts are
 * added up: the label's spectrum over that of the Gaussian kernel. The label is a Gaussian around
 * (0, 0), so both spectra are real. */
#ifndef TRACK_TRAIN_H
#define TRACK_TRAIN_H

#include "track_respond.h"

typedef struct track_train_params {
  float sigma, lambda;
  float label[TRACK_CELLS]; /* the spectrum is the product of a row's and a column's */
} track_train_params;

PREM_FN void train_target(const track_train_params *params, float energy, track_plane plane,
                          float *alpha, int32_t pitch) {
  PREM_ROLLED for (int32_t back = 1; back >= 0; --back) { /* as in respond_region() */
    track_transform(back ? -1.0F : 1.0F, &plane);
    if (back) {
      track_gauss(2.0F * energy, params->sigma, &plane);
      PREM_SYNC();
    }
  }
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    alpha[(int64_t)r * pitch + c] =
        params->label[r] * params->label[c] /
        (plane.points[(int64_t)r * plane.pitch + c].re + params->lambda);
  }
}

/* Twice the parts' sum, each `pitch` numbers behind the other, as a plane. */
PREM_FN void train_correlation(const float *parts, int32_t pitch, prem_fft_point *plane) {
  PREM_LANES(i, TRACK_PLANE) {
    float sum = parts[i];
    for (int32_t p = 1; p < CORRELATE_PARTS; ++p)
      sum += parts[(int64_t)p * pitch + i];
    plane[i].re = 2.0F * sum;
    plane[i].im = 0;
  }
}

PREM_FN void track_train_compute(const track_train_params *params, const prem_view *views) {
  float *parts = (float *)views[0].data; /* then a plane's room */
  const track_plane plane = {(prem_fft_point *)views[3].data, (prem_fft_point *)parts, TRACK_CELLS,
                             TRACK_CELLS};
  train_correlation(parts, views[0].pitch[2], plane.points);
  PREM_SYNC();
  train_target(params, track_sum((const float *)views[1].data, CORRELATE_PARTS), plane,
               (float *)views[2].data, views[2].pitch[2]);
}

#if PREM_HOST

PREM_CLONES static void track_train_reference(const void *given, const prem_array_view *arrays) {
  prem_fft_point points[TRACK_PLANE], room[TRACK_PLANE];
  for (int64_t t = 0; t < arrays[0].shape[1]; ++t) {
    const track_plane plane = {points, room, TRACK_CELLS, TRACK_CELLS};
    train_correlation((const float *)arrays[0].data + t * CORRELATE_PARTS * TRACK_PLANE,
                      TRACK_PLANE, points);
    train_target((const track_train_params *)given,
                 track_sum((const float *)arrays[1].data + t * CORRELATE_PARTS, CORRELATE_PARTS),
                 plane, (float *)arrays[2].data + t * TRACK_PLANE, TRACK_CELLS);
  }
}

/* The spectrum of exp(-i^2 / 2 width^2), i from -16 to 15. */
static inline void train_label(double width, float label[TRACK_CELLS]) {
  static const double pi = 3.14159265358979323846;
  for (int32_t u = 0; u < TRACK_CELLS; ++u) {
    double sum = 0;
    for (int32_t i = -TRACK_CELLS / 2; i < TRACK_CELLS / 2; ++i)
      sum += exp(-0.5 * i * i / (width * width)) * cos(2 * pi * u * i / TRACK_CELLS);
    label[u] = (float)sum;
  }
}

static prem_status track_train_bind(prem_bind *bind) {
  track_train_params *params = (track_train_params *)bind->params.bytes;
  const int64_t targets = bind->shape[0][1];
  float label = 0.1F;
  params->lambda = 1e-4F;
  prem_status status = track_bind_sigma(bind, &params->sigma);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "lambda", &params->lambda, 1);
  if (status == PREM_OK)
    status = prem_arg_floats(bind, "label", &label, 1);
  if (status == PREM_OK && !(params->lambda >= 1e-6F && params->lambda <= 1))
    status = prem_bind_refuse(bind, "args.lambda", "is %g; 1e-6 to 1 are possible",
                              (double)params->lambda);
  if (status == PREM_OK && !(label >= 0.01F && label <= 1))
    status = prem_bind_refuse(bind, "args.label",
                              "is %g; 0.01 to 1 of the target's size are possible", (double)label);
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.correlation", 3,
                          (const int64_t[4]){1, 0, CORRELATE_PARTS, TRACK_PLANE});
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.energy", 2,
                          (const int64_t[4]){1, 1, targets, CORRELATE_PARTS});
  if (status == PREM_OK)
    status = track_output(bind, 2, "arrays.alpha", 3,
                          (const int64_t[4]){1, targets, TRACK_CELLS, TRACK_CELLS});
  train_label((double)label * TRACK_CELLS / (double)TRACK_REGION, params->label);
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = bind->grid[2] = 1;
  bind->window[0] =
      (prem_window){.step = {[1] = {1}}, .extent = {1, 1, CORRELATE_PARTS, TRACK_PLANE}};
  bind->window[1] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, CORRELATE_PARTS}};
  bind->window[2] = (prem_window){.step = {[1] = {1}}, .extent = {1, 1, TRACK_CELLS, TRACK_CELLS}};
  bind->work_bytes = TRACK_PLANE_BYTES;
  return status;
}

static const prem_port track_train_ports[] = {{"correlation", PREM_IN, PREM_F32},
                                              {"energy", PREM_IN, PREM_F32},
                                              {"alpha", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_train)

static const prem_kernel track_train_kernel = {
    .name = "track_train",
    .summary = "filters from the models' own correlation; sigma (0.5), lambda (1e-4), label (0.1)",
    .version = 3,
    .params_bytes = sizeof(track_train_params),
    .ports = track_train_ports,
    .port_count = 3,
    .bind = track_train_bind,
    .compute = track_train_entry,
    .reference = track_train_reference,
};

#endif
#endif
