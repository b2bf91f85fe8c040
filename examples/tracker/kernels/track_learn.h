/* SPDX-License-Identifier: Apache-2.0 */
/** track_learn: the model moves towards what was seen by `rate`; a target that begins is what is
 * seen, and one that was lost stays what it was. `energy`: the sum of the model's squares, by pairs
 * of planes. */
#ifndef TRACK_LEARN_H
#define TRACK_LEARN_H

#include "track.h"

typedef struct track_learn_params {
  float rate;
} track_learn_params;

PREM_FN float learn_number(float rate, float status, float model, float seen) {
  return status == (float)TARGET_STARTED ? seen
         : status == (float)TARGET_FOUND ? fmaf(rate, seen - model, model)
                                         : model;
}

PREM_FN prem_c64 learn_point(float rate, float status, prem_c64 model, prem_c64 seen) {
  prem_c64 learnt;
  learnt.re = learn_number(rate, status, model.re, seen.re);
  learnt.im = learn_number(rate, status, model.im, seen.im);
  return learnt;
}

/* The squares of a column of a plane; of its rows' first points that lie `pitch` apart. */
PREM_FN float learn_column(const prem_c64 *column, int32_t pitch) {
  float sum = 0;
  for (int32_t r = 0; r < TRACK_CELLS; ++r) {
    const prem_c64 point = column[(int64_t)r * pitch];
    sum = fmaf(point.re, point.re, fmaf(point.im, point.im, sum));
  }
  return sum;
}

/* Columns of two planes are added up in parts. */
enum { LEARN_PARTS = 8, LEARN_PART = 2 * TRACK_CELLS / LEARN_PARTS };

PREM_FN double learn_part(const float *columns, int32_t part) {
  double sum = 0;
  for (int32_t i = 0; i < LEARN_PART; ++i)
    sum += (double)columns[part * LEARN_PART + i];
  return sum;
}

/* Of two planes; by Parseval's theorem the sum of the squares of what they are the spectrum of. */
PREM_FN float learn_energy(const double *parts) {
  double sum = 0;
  for (int32_t i = 0; i < LEARN_PARTS; ++i)
    sum += parts[i];
  return (float)(sum / (TRACK_CELLS * TRACK_CELLS));
}

PREM_FN void track_learn_compute(const track_learn_params *params, const prem_view *views) {
  const float status = ((const float *)views[2].data)[POSE_STATUS], rate = params->rate;
  double *parts = (double *)views[5].data;
  float *columns = (float *)(parts + LEARN_PARTS);
  const prem_c64 *model = (const prem_c64 *)views[0].data, *seen = (const prem_c64 *)views[1].data;
  prem_c64 *out = (prem_c64 *)views[3].data;
  PREM_LANES_2D(line, 2 * TRACK_CELLS, c, TRACK_CELLS) {
    const int32_t plane = line / TRACK_CELLS, row = line % TRACK_CELLS;
    out[(int64_t)plane * views[3].pitch[1] + (int64_t)row * views[3].pitch[2] + c] = learn_point(
        rate, status,
        model[(int64_t)plane * views[0].pitch[1] + (int64_t)row * views[0].pitch[2] + c],
        seen[(int64_t)plane * views[1].pitch[1] + (int64_t)row * views[1].pitch[2] + c]);
  }
  PREM_SYNC();
  PREM_LANES(i, 2 * TRACK_CELLS) {
    columns[i] = learn_column(
        out + (int64_t)(i / TRACK_CELLS) * views[3].pitch[1] + i % TRACK_CELLS, views[3].pitch[2]);
  }
  PREM_SYNC();
  PREM_LANES(part, LEARN_PARTS) {
    parts[part] = learn_part(columns, part);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    *(float *)views[4].data = learn_energy(parts);
}

#if PREM_HOST

PREM_CLONES static void track_learn_reference(const void *given, const prem_array_view *arrays) {
  const float rate = ((const track_learn_params *)given)->rate;
  for (int64_t t = 0; t < arrays[0].shape[0]; ++t) {
    const float status = ((const float *)arrays[2].data)[t * POSE_NUMBERS + POSE_STATUS];
    for (int64_t pair = 0; pair < TRACK_PLANES / 2; ++pair) {
      enum { PLANE = TRACK_CELLS * TRACK_CELLS };
      const int64_t first = (t * (TRACK_PLANES / 2) + pair) * 2 * PLANE;
      prem_c64 *out = (prem_c64 *)arrays[3].data + first;
      float columns[2 * TRACK_CELLS];
      double parts[LEARN_PARTS];
      for (int64_t i = 0; i < 2 * PLANE; ++i)
        out[i] = learn_point(rate, status, ((const prem_c64 *)arrays[0].data)[first + i],
                             ((const prem_c64 *)arrays[1].data)[first + i]);
      for (int32_t i = 0; i < 2 * TRACK_CELLS; ++i)
        columns[i] =
            learn_column(out + (int64_t)(i / TRACK_CELLS) * PLANE + i % TRACK_CELLS, TRACK_CELLS);
      for (int32_t i = 0; i < LEARN_PARTS; ++i)
        parts[i] = learn_part(columns, i);
      ((float *)arrays[4].data)[t * (TRACK_PLANES / 2) + pair] = learn_energy(parts);
    }
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
    status = track_expect(bind, 1, "arrays.spectrum", 4, planes);
  if (status == PREM_OK)
    status =
        track_expect(bind, 2, "arrays.pose", 2, (const int64_t[4]){1, 1, targets, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_output(bind, 3, "arrays.out", 4, planes);
  if (status == PREM_OK)
    status = track_output(bind, 4, "arrays.energy", 2,
                          (const int64_t[4]){1, 1, targets, TRACK_PLANES / 2});
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = TRACK_PLANES / 2;
  bind->grid[2] = 1;
  bind->window[0] = bind->window[1] = bind->window[3] =
      (prem_window){.step = {[0] = {1}, [1] = {0, 2}}, .extent = {1, 2, TRACK_CELLS, TRACK_CELLS}};
  bind->window[2] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, POSE_NUMBERS}};
  bind->window[4] = (prem_window){.step = {[2] = {1}, [3] = {0, 1}}, .extent = {1, 1, 1, 1}};
  bind->work_bytes = LEARN_PARTS * 8 + 2 * TRACK_CELLS * 4;
  return status;
}

static const prem_port track_learn_ports[] = {{"model", PREM_IN, PREM_C64},
                                              {"spectrum", PREM_IN, PREM_C64},
                                              {"pose", PREM_IN, PREM_F32},
                                              {"out", PREM_OUT, PREM_C64},
                                              {"energy", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_learn)

static const prem_kernel track_learn_kernel = {
    .name = "track_learn",
    .summary = "models move by rate (0.02) towards the spectra that were seen",
    .version = 2,
    .params_bytes = sizeof(track_learn_params),
    .ports = track_learn_ports,
    .port_count = 5,
    .bind = track_learn_bind,
    .compute = track_learn_entry,
    .reference = track_learn_reference,
};

#endif
#endif
