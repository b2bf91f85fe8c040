/* SPDX-License-Identifier: Apache-2.0 */
/**
 * track_respond: what a target's filter says of a region, and where it says most. From the
 * correlation with the model and the squares, whose parts are added up, follows the Gaussian
 * kernel, from that by `alpha` the response: about 1 where the region is what was learnt.
 */
#ifndef TRACK_RESPOND_H
#define TRACK_RESPOND_H

#include "track_correlate.h"

typedef struct track_respond_params {
  float sigma;
} track_respond_params;

/* Where the largest value of a column is; the first of equal ones. NaNs are no values. */
PREM_FN int32_t respond_best_in(const float *column, int32_t pitch, float *best) {
  float most = -1e30F;
  int32_t at = 0;
  for (int32_t r = 0; r < TRACK_CELLS; ++r)
    if (column[(int64_t)r * pitch] > most) {
      most = column[(int64_t)r * pitch];
      at = r;
    }
  *best = most;
  return at;
}

PREM_FN float respond_at(const float *response, int32_t pitch, int32_t row, int32_t column) {
  return response[(int64_t)(row & (TRACK_CELLS - 1)) * pitch + (column & (TRACK_CELLS - 1))];
}

/* `best` and `at`: a value and an index a column. One lane. */
PREM_FN void respond_peak(const float *response, int32_t pitch, const float *best,
                          const int32_t *at, float peak[PEAK_NUMBERS]) {
  float most = best[0];
  int32_t column = 0;
  for (int32_t c = 1; c < TRACK_CELLS; ++c)
    if (best[c] > most) {
      most = best[c];
      column = c;
    }
  const int32_t row = at[column];
  peak[PEAK_VALUE] = most;
  peak[PEAK_ROW] = (float)row;
  peak[PEAK_COLUMN] = (float)column;
  peak[PEAK_UP] = respond_at(response, pitch, row - 1, column);
  peak[PEAK_DOWN] = respond_at(response, pitch, row + 1, column);
  peak[PEAK_LEFT] = respond_at(response, pitch, row, column - 1);
  peak[PEAK_RIGHT] = respond_at(response, pitch, row, column + 1);
  peak[PEAK_NUMBERS - 1] = 0;
}

PREM_FN void respond_filter(const float *alpha, int32_t alpha_pitch, const track_plane *plane) {
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    prem_fft_point *point = &plane->points[(int64_t)r * plane->pitch + c];
    const float factor = alpha[(int64_t)r * alpha_pitch + c];
    point->re *= factor;
    point->im *= factor;
  }
}

PREM_FN void respond_real(const track_plane *plane, float *response, int32_t pitch) {
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    response[(int64_t)r * pitch + c] = plane->points[(int64_t)r * plane->pitch + c].re;
  }
}

/* `plane` holds the correlation; the response goes to `response`. A loop, so that three transforms
 * are the same instructions: a GPU has to fetch them once only. */
PREM_FN void respond_region(float sigma, float square, const float *alpha, int32_t alpha_pitch,
                            track_plane plane, float *response, int32_t pitch, float *best,
                            int32_t *at, float *peak) {
  enum { KERNEL, FILTER, RESPONSE };
  PREM_ROLLED for (int32_t step = KERNEL; step <= RESPONSE; ++step) {
    track_transform(step == FILTER ? 1.0F : -1.0F, &plane);
    if (step == KERNEL)
      track_gauss(square, sigma, &plane);
    else if (step == FILTER)
      respond_filter(alpha, alpha_pitch, &plane);
    else
      respond_real(&plane, response, pitch);
    PREM_SYNC();
  }
  PREM_LANES(column, TRACK_CELLS) {
    at[column] = respond_best_in(response + column, pitch, &best[column]);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    respond_peak(response, pitch, best, at, peak);
}

/* The parts' sum, each `pitch` points behind the other, as a whole plane. */
PREM_FN void respond_correlation(const prem_fft_point *parts, int32_t pitch,
                                 prem_fft_point *plane) {
  PREM_LANES_2D(r, TRACK_CELLS, c, CORRELATE_COLUMNS) {
    const prem_fft_point *part = parts + r * CORRELATE_COLUMNS + c;
    prem_fft_point sum = part[0];
    for (int32_t p = 1; p < CORRELATE_PARTS; ++p)
      sum = prem_fft_sum(sum, part[(int64_t)p * pitch]);
    plane[r * TRACK_CELLS + c] = sum;
    if (c > 0 && c + 1 < CORRELATE_COLUMNS) {
      prem_fft_point *other =
          &plane[((TRACK_CELLS - r) & (TRACK_CELLS - 1)) * TRACK_CELLS + TRACK_CELLS - c];
      other->re = sum.re;
      other->im = -sum.im;
    }
  }
}

/* The sum of the squares of both that were correlated. */
PREM_FN float respond_square(const prem_fft_point *parts, int32_t pitch) {
  float seen = 0, model = 0;
  for (int32_t p = 0; p < CORRELATE_PARTS; ++p) {
    seen += parts[(int64_t)p * pitch + CORRELATE_SQUARES].re;
    model += parts[(int64_t)p * pitch + CORRELATE_SQUARES].im;
  }
  return seen + model;
}

/* Where the correlation's parts were: room for a plane, the response, and its columns' peaks. */
enum { RESPOND_ROOM_BYTES = TRACK_PLANE_BYTES + TRACK_PLANE * 4 + TRACK_CELLS * 8 };

/* Of the views of a correlation and `alpha`. @param room  for a plane */
PREM_FN void respond_views(float sigma, const prem_view *correlation, const prem_view *alpha,
                           void *room, float *peak) {
  prem_fft_point *parts = (prem_fft_point *)correlation->data;
  float *response = (float *)(parts + TRACK_PLANE), *best = response + TRACK_PLANE;
  const track_plane plane = {(prem_fft_point *)room, parts, TRACK_CELLS, TRACK_CELLS};
  const float square = respond_square(parts, correlation->pitch[2]);
  respond_correlation(parts, correlation->pitch[2], plane.points);
  PREM_SYNC();
  respond_region(sigma, square, (const float *)alpha->data, alpha->pitch[2], plane, response,
                 TRACK_CELLS, best, (int32_t *)(best + TRACK_CELLS), peak);
}

PREM_FN void track_respond_compute(const track_respond_params *params, const prem_view *views) {
  respond_views(params->sigma, &views[0], &views[1], views[3].data, (float *)views[2].data);
}

#if PREM_HOST

_Static_assert(RESPOND_ROOM_BYTES <= CORRELATE_PARTS * CORRELATE_POINTS * 8,
               "the room lies in the correlation's parts");

/* Of whole arrays: a region's peak. */
static inline void respond_arrays(float sigma, const prem_fft_point *parts, const float *alpha,
                                  float *peak) {
  prem_fft_point points[TRACK_PLANE], room[TRACK_PLANE];
  float response[TRACK_PLANE], best[TRACK_CELLS];
  int32_t at[TRACK_CELLS];
  const track_plane plane = {points, room, TRACK_CELLS, TRACK_CELLS};
  respond_correlation(parts, CORRELATE_POINTS, points);
  respond_region(sigma, respond_square(parts, CORRELATE_POINTS), alpha, TRACK_CELLS, plane,
                 response, TRACK_CELLS, best, at, peak);
}

PREM_CLONES static void track_respond_reference(const void *given, const prem_array_view *arrays) {
  enum { POINTS = CORRELATE_PARTS * CORRELATE_POINTS };
  const int64_t regions = arrays[0].shape[1], scales = regions / arrays[1].shape[1];
  for (int64_t region = 0; region < regions; ++region)
    respond_arrays(((const track_respond_params *)given)->sigma,
                   (const prem_fft_point *)arrays[0].data + region * POINTS,
                   (const float *)arrays[1].data + region / scales * TRACK_PLANE,
                   (float *)arrays[2].data + region * PEAK_NUMBERS);
}

static inline prem_status track_bind_sigma(prem_bind *bind, float *sigma) {
  *sigma = 0.5F;
  prem_status status = prem_arg_floats(bind, "sigma", sigma, 1);
  if (status == PREM_OK && !(*sigma >= 0.01F && *sigma <= 100))
    status =
        prem_bind_refuse(bind, "args.sigma", "is %g; 0.01 to 100 are possible", (double)*sigma);
  return status;
}

/* Ports 0 and 1, `correlation` and `alpha`: of `scales` regions a target. */
static inline prem_status respond_bind_arrays(prem_bind *bind, int64_t *scales) {
  const int64_t regions = bind->shape[0][1], targets = bind->shape[1][1];
  prem_status status = track_expect(bind, 0, "arrays.correlation", 3,
                                    (const int64_t[4]){1, 0, CORRELATE_PARTS, CORRELATE_POINTS});
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.alpha", 3,
                          (const int64_t[4]){1, 0, TRACK_CELLS, TRACK_CELLS});
  if (status == PREM_OK && regions % targets != 0)
    status = prem_bind_refuse(bind, "arrays.correlation",
                              "has %lld regions, which are not as many for each of %lld targets",
                              (long long)regions, (long long)targets);
  *scales = regions / targets;
  bind->window[0] = (prem_window){.step = {[1] = {*scales, 1}},
                                  .extent = {1, 1, CORRELATE_PARTS, CORRELATE_POINTS}};
  bind->window[1] = (prem_window){.step = {[1] = {1}}, .extent = {1, 1, TRACK_CELLS, TRACK_CELLS}};
  bind->work_bytes = TRACK_PLANE_BYTES;
  return status;
}

static prem_status track_respond_bind(prem_bind *bind) {
  const int64_t regions = bind->shape[0][1];
  int64_t scales;
  prem_status status = track_bind_sigma(bind, &((track_respond_params *)bind->params.bytes)->sigma);
  if (status == PREM_OK)
    status = respond_bind_arrays(bind, &scales);
  if (status == PREM_OK)
    status =
        track_output(bind, 2, "arrays.peaks", 2, (const int64_t[4]){1, 1, regions, PEAK_NUMBERS});
  if (status != PREM_OK)
    return status;
  bind->grid[0] = (int32_t)(regions / scales);
  bind->grid[1] = (int32_t)scales;
  bind->grid[2] = 1;
  bind->window[2] = (prem_window){.step = {[2] = {scales, 1}}, .extent = {1, 1, 1, PEAK_NUMBERS}};
  return PREM_OK;
}

static const prem_port track_respond_ports[] = {{"correlation", PREM_IN, PREM_C64},
                                                {"alpha", PREM_IN, PREM_F32},
                                                {"peaks", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_respond)

static const prem_kernel track_respond_kernel = {
    .name = "track_respond",
    .summary = "response of targets' filters to regions, and its peak; sigma (0.5)",
    .version = 4,
    .params_bytes = sizeof(track_respond_params),
    .ports = track_respond_ports,
    .port_count = 3,
    .bind = track_respond_bind,
    .compute = track_respond_entry,
    .reference = track_respond_reference,
};

#endif
#endif
