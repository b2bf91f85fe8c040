/* SPDX-License-Identifier: Apache-2.0 */
/** track_learn: the model moves towards the spectra of what was seen by `rate`; a target that
 * begins is what is seen, and one that was lost stays what it was. Two planes a tile, and of these:
 * `self`, the model's correlation with itself, as a spectrum, and `energy`, the sum of its squares.
 */
#ifndef TRACK_LEARN_H
#define TRACK_LEARN_H

#include "track_correlate.h"

typedef struct track_learn_params {
  float rate;
} track_learn_params;

PREM_FN float learn_number(float rate, float status, float model, float seen) {
  return status == (float)TARGET_STARTED ? seen
         : status == (float)TARGET_FOUND ? fmaf(rate, seen - model, model)
                                         : model;
}

/* Two planes of a model. What was seen is in `out`, which gets what is learnt. */
PREM_FN void learn_planes(float rate, float status, const correlate_planes *model,
                          const track_planes *out, float *self) {
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    float square = 0;
    for (int32_t p = 0; p < 2; ++p) {
      const prem_fft_point last = model->first[p * model->plane + r * model->row + c];
      prem_fft_point *here = &out->first[p * out->plane + r * out->row + c];
      prem_fft_point learnt;
      learnt.re = learn_number(rate, status, last.re, here->re);
      learnt.im = learn_number(rate, status, last.im, here->im);
      square = fmaf(learnt.re, learnt.re, fmaf(learnt.im, learnt.im, square));
      *here = learnt;
    }
    self[r * TRACK_CELLS + c] = square;
  }
}

/* The sum of the squares in parts of columns, in columns, and of all. By Parseval's theorem it is
 * that of what they are the spectrum of. */
enum { LEARN_PARTS = 8, LEARN_PART = TRACK_CELLS / LEARN_PARTS };

PREM_FN float learn_sum(const float *column, int32_t rows) {
  float sum = 0;
  for (int32_t r = 0; r < rows; ++r)
    sum += column[r * TRACK_CELLS];
  return sum;
}

/* `parts`: LEARN_PARTS + 1 rows of numbers. */
PREM_FN void learn_energy(const float *self, float *parts, float *energy) {
  float *columns = parts + LEARN_PARTS * TRACK_CELLS;
  PREM_LANES_2D(part, LEARN_PARTS, c, TRACK_CELLS) {
    parts[part * TRACK_CELLS + c] =
        learn_sum(self + part * LEARN_PART * TRACK_CELLS + c, LEARN_PART);
  }
  PREM_SYNC();
  PREM_LANES(c, TRACK_CELLS) {
    columns[c] = learn_sum(parts + c, LEARN_PARTS);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE()) {
    double sum = 0;
    for (int32_t c = 0; c < TRACK_CELLS; ++c)
      sum += (double)columns[c];
    *energy = (float)(sum / TRACK_PLANE);
  }
}

PREM_FN void track_learn_compute(const track_learn_params *params, const prem_view *views) {
  const correlate_planes model = {(const prem_fft_point *)views[0].data, views[0].pitch[1],
                                  views[0].pitch[2]};
  const track_planes seen = {(prem_fft_point *)views[1].data, views[1].pitch[1], views[1].pitch[2]};
  const track_planes out = {(prem_fft_point *)views[3].data, views[3].pitch[1], views[3].pitch[2]};
  float *self = (float *)views[5].data;
  track_spectra(&seen, &out);
  PREM_SYNC();
  learn_planes(params->rate, ((const float *)views[2].data)[POSE_STATUS], &model, &out, self);
  PREM_SYNC();
  learn_energy(self, (float *)seen.first, (float *)views[4].data);
}

#if PREM_HOST

#include <string.h>

PREM_CLONES static void track_learn_reference(const void *given, const prem_array_view *arrays) {
  enum { POINTS = 2 * TRACK_PLANE };
  prem_fft_point points[POINTS];
  float parts[(LEARN_PARTS + 1) * TRACK_CELLS];
  for (int64_t i = 0; i < arrays[0].shape[0] * CORRELATE_PARTS; ++i) {
    const float status =
        ((const float *)arrays[2].data)[i / CORRELATE_PARTS * POSE_NUMBERS + POSE_STATUS];
    const correlate_planes model = {(const prem_fft_point *)arrays[0].data + i * POINTS,
                                    TRACK_PLANE, TRACK_CELLS};
    const track_planes seen = {points, TRACK_PLANE, TRACK_CELLS};
    const track_planes out = {(prem_fft_point *)arrays[3].data + i * POINTS, TRACK_PLANE,
                              TRACK_CELLS};
    float *self = (float *)arrays[5].data + i * TRACK_PLANE;
    memcpy(points, (const prem_fft_point *)arrays[1].data + i * POINTS, sizeof points);
    track_spectra(&seen, &out);
    learn_planes(((const track_learn_params *)given)->rate, status, &model, &out, self);
    learn_energy(self, parts, (float *)arrays[4].data + i);
  }
}

static prem_status track_learn_bind(prem_bind *bind) {
  track_learn_params *params = (track_learn_params *)bind->params.bytes;
  const int64_t targets = bind->shape[0][0];
  const int64_t planes[4] = {targets, TRACK_PLANES, TRACK_CELLS, TRACK_CELLS};
  params->rate = 0.02F;
  prem_status status = prem_arg_floats(bind, "rate", &params->rate, 1);
  if (status == PREM_OK && !(params->rate >= 0 && params->rate <= 1))
    status =
        prem_bind_refuse(bind, "args.rate", "is %g; 0 to 1 are possible", (double)params->rate);
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.model", 4, planes);
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.planes", 4, planes);
  if (status == PREM_OK)
    status =
        track_expect(bind, 2, "arrays.pose", 2, (const int64_t[4]){1, 1, targets, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_output(bind, 3, "arrays.out", 4, planes);
  if (status == PREM_OK)
    status = track_output(bind, 4, "arrays.energy", 2,
                          (const int64_t[4]){1, 1, targets, CORRELATE_PARTS});
  if (status == PREM_OK)
    status = track_output(bind, 5, "arrays.self", 3,
                          (const int64_t[4]){1, targets, CORRELATE_PARTS, TRACK_PLANE});
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = CORRELATE_PARTS;
  bind->grid[2] = 1;
  bind->window[0] = bind->window[1] = bind->window[3] =
      (prem_window){.step = {[0] = {1}, [1] = {0, 2}}, .extent = {1, 2, TRACK_CELLS, TRACK_CELLS}};
  bind->window[2] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, POSE_NUMBERS}};
  bind->window[4] = (prem_window){.step = {[2] = {1}, [3] = {0, 1}}, .extent = {1, 1, 1, 1}};
  bind->window[5] =
      (prem_window){.step = {[1] = {1}, [2] = {0, 1}}, .extent = {1, 1, 1, TRACK_PLANE}};
  return status;
}

static const prem_port track_learn_ports[] = {
    {"model", PREM_IN, PREM_C64}, {"planes", PREM_IN, PREM_C64},  {"pose", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_C64},  {"energy", PREM_OUT, PREM_F32}, {"self", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_learn)

static const prem_kernel track_learn_kernel = {
    .name = "track_learn",
    .summary = "models move by rate (0.02) towards the spectra that were seen",
    .version = 3,
    .params_bytes = sizeof(track_learn_params),
    .ports = track_learn_ports,
    .port_count = 6,
    .bind = track_learn_bind,
    .compute = track_learn_entry,
    .reference = track_learn_reference,
};

#endif
#endif
