/* SPDX-License-Identifier: Apache-2.0 */
/**
 * track_features: regions of a u8 frame as 32 x 32 cells of 31 fHOG features, faded out to the
 * region's edges by a Hann window: 18 signed directions, 9 without their sign, 4 of texture. Two
 * channels are the real and the imaginary part of one complex plane, the 32nd is 0. `energy` is the
 * sum of their squares, by rows of cells. Where a region lies follows from its target's `pose`, and
 * where the frame's windows do stands in `where`, which aims them.
 */
#ifndef TRACK_FEATURES_H
#define TRACK_FEATURES_H

#include <ttprem/fft.h>

#include "track_aim.h"
#include "track_sample.h"

enum {
  FEATURE_BINS = 18,
  FEATURE_AXES = FEATURE_BINS / 2, /* directions without their sign */
  FEATURE_MARK = 31                /* the last bits of a slope say its direction */
};

typedef struct track_features_params {
  float hann[TRACK_CELLS];
  int32_t frame[2], scales;
  float most; /* a region's side, pixels of the frame */
  float factors[TRACK_MAX_SCALES];
} track_features_params;

/* Pixels of a region, or of a strip of it. */
typedef struct feature_rows {
  const float *pixels; /* of row `first` of the region */
  int32_t first, count;
} feature_rows;

/* What is worked out of them: `slope` a pixel, `sums` 18 a cell, `squares` one a cell, `norms` one
 * each 2 x 2 cells. The sums of a direction stand together, so that neighbouring lanes use
 * neighbouring banks of a GPU's scratchpad, whichever directions their pixels have. */
typedef struct feature_work {
  float *slope, *sums, *squares, *norms;
  int32_t cells; /* from one direction to the next */
} feature_work;

enum { FEATURE_NORMS = TRACK_CELLS + 2 /* from one row of `norms` to the next */ };

/* How steep a pixel is, of differences to its right and downwards, and in its last bits in which of
 * 18 directions: the one that is nearest, 20 degrees apart, each with its mirror image. Without
 * branches, so that compilers make vectors of it. */
PREM_FN float feature_slope(float x, float y) {
  /* tan of 10, 30, 50, 70 degrees: midway between two directions */
  const float midway[4] = {0.176326981F, 0.577350269F, 1.19175359F, 2.74747742F};
  const float right = fabsf(x), down = fabsf(y);
  float at = 0;
  for (int32_t i = 0; i < 4; ++i)
    at += down > right * midway[i] ? 1.0F : 0.0F;
  const float mirrored = at > 0 ? (float)FEATURE_AXES - at : at;
  at = x * y < 0 ? mirrored : at;
  const float sense = at > 0 ? y : x;
  const float opposite = at + (float)FEATURE_AXES;
  at = sense < 0 ? opposite : at;
  /* an integer added to 2^23 is what that one's last bits say */
  const uint32_t bits = prem_f32_bits(track_root(fmaf(x, x, fmaf(y, y, 1e-20F))));
  const uint32_t bin = prem_f32_bits(at + 8388608.0F);
  return prem_f32_of_bits((bits & ~(uint32_t)FEATURE_MARK) | (bin & FEATURE_MARK));
}

/* A row of pixels with those that its differences are of, and what those count. */
typedef struct feature_around {
  const float *above, *here, *below;
  float share;
} feature_around;

/* At the region's edges differences are those to one side. */
PREM_FN feature_around feature_around_row(const feature_rows *rows, int32_t r) {
  const int32_t row = rows->first + r;
  const float *here = rows->pixels + (int64_t)r * TRACK_PIXELS;
  feature_around around;
  around.here = here;
  around.above = row > 0 ? here - TRACK_PIXELS : here;
  around.below = row + 1 < TRACK_PIXELS ? here + TRACK_PIXELS : here;
  around.share = row > 0 && row + 1 < TRACK_PIXELS ? 0.5F : 1.0F;
  return around;
}

/* The rows that are in the region, and whose neighbours are there: the first and the last one of a
 * strip stand there for their neighbours' sake. */
PREM_FN int32_t feature_first_inner(const feature_rows *rows) {
  return rows->first < 0 ? -rows->first : rows->first > 0;
}

PREM_FN int32_t feature_end_inner(const feature_rows *rows) {
  const int32_t end = TRACK_PIXELS - rows->first;
  return rows->count < end ? rows->count - 1 : end;
}

/* Where a row has the slope of a column. On a GPU those stand together that are as far right in
 * their cells: lanes, which have a cell each, then read different banks of the scratchpad, and so
 * write those that have a column each. */
PREM_FN int32_t feature_place(int32_t cell, int32_t in_cell) {
  return PREM_HOST ? cell * TRACK_CELL + in_cell
                   : in_cell * TRACK_CELLS +
                         ((cell + in_cell * (TRACK_CELLS / TRACK_CELL)) & (TRACK_CELLS - 1));
}

/* At a column whose neighbours stand at `left` and `right`; their difference counts `across`. */
PREM_FN float feature_slope_at(const feature_rows *rows, int32_t r, int32_t column, int32_t left,
                               int32_t right, float across) {
  const feature_around around = feature_around_row(rows, r);
  return feature_slope((around.here[right] - around.here[left]) * across,
                       (around.below[column] - around.above[column]) * around.share);
}

/* A CPU makes vectors of the columns that have two neighbours. */
PREM_FN void feature_row_slopes(const feature_rows *rows, int32_t begin, int32_t end,
                                float *slope) {
  const int32_t last = TRACK_PIXELS - 1;
  PREM_LANES_2D(i, end - begin, inner, TRACK_PIXELS - 2) {
    const int32_t r = begin + i, c = inner + 1;
    slope[r * TRACK_PIXELS + c] = feature_slope_at(rows, r, c, c - 1, c + 1, 0.5F);
  }
  PREM_LANES_2D(i, end - begin, edge, 2) {
    const int32_t r = begin + i, c = edge * last, left = edge * (last - 1);
    slope[r * TRACK_PIXELS + c] = feature_slope_at(rows, r, c, left, left + 1, 1.0F);
  }
}

/* A GPU's warp has a row, and each of its lanes every 32nd pixel in hand. */
PREM_FN void feature_warp_slopes(const feature_rows *rows, int32_t begin, int32_t end,
                                 float *slope) {
  PREM_LANES_2D(first, SAMPLE_STARTS, lane, SAMPLE_LANES) {
    PREM_ROLLED for (int32_t r = begin + first; r < end; r += SAMPLE_STARTS) {
      float found[SAMPLE_AT_ONCE];
      for (int32_t i = 0; i < SAMPLE_AT_ONCE; ++i) {
        const int32_t column = lane + i * SAMPLE_LANES;
        const int32_t left = column > 0 ? column - 1 : column;
        const int32_t right = column + 1 < TRACK_PIXELS ? column + 1 : column;
        found[i] = feature_slope_at(rows, r, column, left, right, right - left == 2 ? 0.5F : 1.0F);
      }
      for (int32_t i = 0; i < SAMPLE_AT_ONCE; ++i) {
        const int32_t column = lane + i * SAMPLE_LANES;
        slope[r * TRACK_PIXELS + feature_place(column / TRACK_CELL, column & (TRACK_CELL - 1))] =
            found[i];
      }
    }
  }
}

PREM_FN void feature_slopes(const feature_rows *rows, float *slope) {
  const int32_t begin = feature_first_inner(rows), end = feature_end_inner(rows);
  if (PREM_HOST)
    feature_row_slopes(rows, begin, end, slope);
  else
    feature_warp_slopes(rows, begin, end, slope);
}

/* Pixels that count for a cell, in a row or a column: its own, and half of each neighbour's. */
enum { FEATURE_SPAN = 2 * TRACK_CELL, FEATURE_BEFORE = TRACK_CELL / 2 };

/* What the i-th of them counts, i from 0. */
PREM_FN float feature_nearness(float i) {
  return (TRACK_CELL - fabsf(i + 0.5F - TRACK_CELL)) / TRACK_CELL;
}

/* Pixels that are added at a time. */
enum { FEATURE_AT_ONCE = 4 };

/* Add pixels of a cell to its directions' sums, one after the other. On a GPU a sum that is read
 * back from the scratchpad is some 30 clocks away, so those of all these pixels are read at once,
 * and a pixel whose direction one of those before it has goes on from that one's. */
PREM_FN void feature_add(float *sums, int32_t cells, const float *slope, const float *share) {
  int32_t bin[FEATURE_AT_ONCE];
  float *at[FEATURE_AT_ONCE], sum[FEATURE_AT_ONCE];
  for (int32_t i = 0; i < FEATURE_AT_ONCE; ++i) {
    bin[i] = (int32_t)(prem_f32_bits(slope[i]) & FEATURE_MARK);
    at[i] = (float *)(void *)((unsigned char *)sums + bin[i] * (cells * (int32_t)sizeof(float)));
  }
  if (PREM_HOST) {
    for (int32_t i = 0; i < FEATURE_AT_ONCE; ++i)
      *at[i] = fmaf(share[i], slope[i], *at[i]);
    return;
  }
  for (int32_t i = 0; i < FEATURE_AT_ONCE; ++i)
    sum[i] = *at[i];
  for (int32_t i = 0; i < FEATURE_AT_ONCE; ++i) {
    for (int32_t j = 0; j < i; ++j)
      sum[i] = bin[j] == bin[i] ? sum[j] : sum[i];
    sum[i] = fmaf(share[i], slope[i], sum[i]);
  }
  for (int32_t i = 0; i < FEATURE_AT_ONCE; ++i)
    *at[i] = sum[i];
}

/* The histogram of a cell: all pixels around it that are in the region. */
PREM_FN void feature_histogram(const feature_rows *rows, const feature_work *work, int32_t cell,
                               int32_t cell_column, float *sums) {
  const int32_t above = cell * TRACK_CELL - FEATURE_BEFORE, below = above + FEATURE_SPAN;
  const int32_t begin = above > 0 ? above : 0, end = below < TRACK_PIXELS ? below : TRACK_PIXELS;
  const float *slope = work->slope + (begin - rows->first) * TRACK_PIXELS;
  int32_t place[FEATURE_SPAN];
  float near[FEATURE_SPAN];
  for (int32_t x = 0; x < FEATURE_SPAN; ++x) {
    const int32_t of = cell_column - 1 + (x + FEATURE_BEFORE) / TRACK_CELL;
    const bool is_there = of >= 0 && of < TRACK_CELLS;
    place[x] = feature_place(is_there ? of : cell_column, (x + FEATURE_BEFORE) % TRACK_CELL);
    near[x] = is_there ? feature_nearness((float)x) : 0;
  }
  float y = (float)(begin - above);
  PREM_ROLLED for (int32_t row = begin; row < end; ++row) {
    const float high = feature_nearness(y) * (1.0F / 16);
    float here[FEATURE_SPAN], share[FEATURE_SPAN];
    for (int32_t x = 0; x < FEATURE_SPAN; ++x) {
      here[x] = slope[place[x]];
      share[x] = high * near[x];
    }
    for (int32_t x = 0; x < FEATURE_SPAN; x += FEATURE_AT_ONCE)
      feature_add(sums, work->cells, here + x, share + x);
    slope += TRACK_PIXELS;
    y += 1;
  }
}

/* The histograms of cells: a pixel counts for the four cells around it. */
PREM_FN void feature_sums(const feature_rows *rows, const feature_work *work, int32_t first_cell,
                          int32_t cell_rows) {
  PREM_LANES_2D(i, cell_rows, j, TRACK_CELLS) {
    const int32_t cell = first_cell + i;
    float *sums = work->sums + i * TRACK_CELLS + j;
    for (int32_t b = 0; b < FEATURE_BINS; ++b)
      sums[b * work->cells] = 0;
    float square = 0;
    if (cell >= 0 && cell < TRACK_CELLS) {
      feature_histogram(rows, work, cell, j, sums);
      for (int32_t b = 0; b < FEATURE_AXES; ++b) {
        const float both = sums[b * work->cells] + sums[(b + FEATURE_AXES) * work->cells];
        square = fmaf(both, both, square);
      }
    }
    work->squares[i * TRACK_CELLS + j] = square;
  }
}

PREM_FN float feature_square(const feature_work *work, int32_t row, int32_t column) {
  return column >= 0 && column < TRACK_CELLS ? work->squares[row * TRACK_CELLS + column] : 0;
}

/* One over the length of the 2 x 2 cells whose lower right one is (row, column). */
PREM_FN float feature_norm(const feature_work *work, int32_t row, int32_t column) {
  const float upper =
      feature_square(work, row - 1, column - 1) + feature_square(work, row - 1, column);
  const float lower = feature_square(work, row, column - 1) + feature_square(work, row, column);
  return 1.0F / sqrtf(upper + lower + 1e-4F);
}

/* Row `i` is that between the rows i and i + 1 of cells. */
PREM_FN void feature_norms_of(const feature_work *work, int32_t cell_rows) {
  PREM_LANES_2D(i, cell_rows + 1, j, TRACK_CELLS + 1) {
    work->norms[i * FEATURE_NORMS + j] = feature_norm(work, i + 1, j);
  }
}

PREM_FN float feature_cut(float value) {
  return value < 0.2F ? value : 0.2F;
}

/* Where planes of cells go; points of two floats. */
typedef struct feature_planes {
  float *first;
  int32_t plane, row; /* floats from one to the next */
} feature_planes;

/* Two channels, the first one even. */
PREM_FN void feature_put(const feature_planes *out, int32_t row, int32_t column, int32_t channel,
                         float even, float odd) {
  prem_fft_point point;
  point.re = even;
  point.im = odd;
  ((prem_fft_point *)(out->first + (int64_t)(channel / 2) * out->plane +
                      (int64_t)row * out->row))[column] = point;
}

/* One over the lengths of the four blocks of 2 x 2 cells that a cell is in. */
typedef struct feature_norms {
  float a, b, c, d;
} feature_norms;

/* A direction's number, cut off, in each of the four; their sum. */
PREM_FN float feature_four(const feature_norms *norms, float sum, feature_norms *at) {
  at->a = feature_cut(sum * norms->a);
  at->b = feature_cut(sum * norms->b);
  at->c = feature_cut(sum * norms->c);
  at->d = feature_cut(sum * norms->d);
  return at->a + at->b + at->c + at->d;
}

/* 18 directions and 4 of texture; the sum of their squares. */
PREM_FN float feature_signed(const feature_norms *norms, const float *sums, int32_t cells,
                             float fade, const feature_planes *out, int32_t row, int32_t column) {
  feature_norms texture = {0, 0, 0, 0};
  float energy = 0;
  PREM_ROLLED for (int32_t k = 0; k < FEATURE_BINS; k += 2) {
    float value[2];
    for (int32_t i = 0; i < 2; ++i) {
      feature_norms at;
      value[i] = 0.5F * feature_four(norms, sums[(k + i) * cells], &at) * fade;
      texture.a += at.a;
      texture.b += at.b;
      texture.c += at.c;
      texture.d += at.d;
      energy = fmaf(value[i], value[i], energy);
    }
    feature_put(out, row, column, k, value[0], value[1]);
  }
  const float share = 0.2357F * fade;
  const float a = share * texture.a, b = share * texture.b;
  const float c = share * texture.c, d = share * texture.d;
  feature_put(out, row, column, TRACK_CHANNELS - 3, b, c);
  feature_put(out, row, column, TRACK_CHANNELS - 1, d, 0);
  out->first[(int64_t)(TRACK_CHANNELS / 2 - 2) * out->plane + (int64_t)row * out->row + 2 * column +
             1] = a;
  return fmaf(a, a, fmaf(b, b, fmaf(c, c, fmaf(d, d, energy))));
}

/* 9 directions without their sign. */
PREM_FN float feature_unsigned(const feature_norms *norms, const float *sums, int32_t cells,
                               float fade, const feature_planes *out, int32_t row, int32_t column) {
  float energy = 0, value[3];
  PREM_ROLLED for (int32_t k = 0; k < FEATURE_AXES; k += 3) {
    for (int32_t i = 0; i < 3; ++i) {
      feature_norms at;
      const float both = sums[(k + i) * cells] + sums[(k + i + FEATURE_AXES) * cells];
      value[i] = 0.5F * feature_four(norms, both, &at) * fade;
      energy = fmaf(value[i], value[i], energy);
    }
    for (int32_t i = 0; i < 3; ++i)
      out->first[(int64_t)((FEATURE_BINS + k + i) / 2) * out->plane + (int64_t)row * out->row +
                 2 * column + (k + i) % 2] = value[i];
  }
  return energy;
}

/* The features of cells; `i` counts rows of `sums`, of which the first and last are neighbours
 * only. `energies`: two a cell, those of either kind of features in a plane of their own. */
PREM_FN void feature_cells(const float *hann, const feature_work *work, int32_t first_cell,
                           int32_t cell_rows, const feature_planes *out, float *energies) {
  PREM_LANES_2D(line, 2 * cell_rows, j, TRACK_CELLS) {
    const bool is_signed = line < cell_rows;
    const int32_t row = is_signed ? line : line - cell_rows, i = row + 1;
    const float fade = hann[first_cell + row] * hann[j];
    const float *sums = work->sums + i * TRACK_CELLS + j;
    const float *norm = work->norms + row * FEATURE_NORMS + j;
    const feature_norms norms = {norm[0], norm[1], norm[FEATURE_NORMS], norm[FEATURE_NORMS + 1]};
    energies[line * TRACK_CELLS + j] =
        is_signed ? feature_signed(&norms, sums, work->cells, fade, out, row, j)
                  : feature_unsigned(&norms, sums, work->cells, fade, out, row, j);
  }
}

/* Of a row of cells: those of a part of it, and all parts. */
enum { FEATURE_PARTS = 4, FEATURE_PART = TRACK_CELLS / FEATURE_PARTS };

PREM_FN double feature_part(const float *energies, int32_t others, int32_t part) {
  double sum = 0;
  for (int32_t i = part * FEATURE_PART; i < (part + 1) * FEATURE_PART; ++i)
    sum += (double)(energies[i] + energies[others + i]);
  return sum;
}

PREM_FN float feature_energy(const double *parts) {
  double sum = 0;
  for (int32_t part = 0; part < FEATURE_PARTS; ++part)
    sum += parts[part];
  return (float)sum;
}

PREM_FN void feature_energies(const float *energies, int32_t cell_rows, double *parts,
                              float *energy) {
  PREM_LANES_2D(row, cell_rows, part, FEATURE_PARTS) {
    parts[row * FEATURE_PARTS + part] =
        feature_part(energies + row * TRACK_CELLS, cell_rows * TRACK_CELLS, part);
  }
  PREM_SYNC();
  PREM_LANES(row, cell_rows) {
    energy[row] = feature_energy(parts + row * FEATURE_PARTS);
  }
}

/* Of a strip of so many rows of cells, in bytes: what stands for each pixel that counts for it, its
 * planes, and what is needed beside both. */
PREM_FN int32_t feature_pixel_rows(int32_t cell_rows) {
  return cell_rows * TRACK_CELL + 2 * AIM_ABOVE;
}

PREM_FN int32_t feature_pixel_bytes(int32_t cell_rows) {
  return feature_pixel_rows(cell_rows) * TRACK_PIXELS * (int32_t)sizeof(float);
}

PREM_FN int32_t feature_plane_bytes(int32_t cell_rows) {
  return TRACK_PLANES * cell_rows * TRACK_CELLS * (int32_t)sizeof(prem_c64);
}

PREM_FN int32_t feature_rest_bytes(int32_t cell_rows) {
  return cell_rows * FEATURE_PARTS * (int32_t)sizeof(double) +
         ((3 * cell_rows + 2) * TRACK_CELLS + (cell_rows + 1) * FEATURE_NORMS) *
             (int32_t)sizeof(float);
}

/* Slopes lie where the planes will be, which are put down when nobody needs them any more, and
 * histograms where the pixels were. */
PREM_FN bool feature_slopes_fit(int32_t cell_rows) {
  return feature_pixel_bytes(cell_rows) <= feature_plane_bytes(cell_rows);
}

/* `rest`: energies' parts, squares, norms and energies. */
PREM_FN void feature_strip(const track_features_params *params, const feature_rows *rows,
                           float *slope, float *sums, void *rest, int32_t first_cell,
                           int32_t cell_rows, const feature_planes *planes, float *energy) {
  double *parts = (double *)rest;
  feature_work work;
  work.slope = slope;
  work.sums = sums;
  work.squares = (float *)(parts + cell_rows * FEATURE_PARTS);
  work.cells = (cell_rows + 2) * TRACK_CELLS;
  work.norms = work.squares + work.cells;
  float *energies = work.norms + (cell_rows + 1) * FEATURE_NORMS;
  feature_slopes(rows, slope);
  PREM_SYNC();
  feature_sums(rows, &work, first_cell - 1, cell_rows + 2);
  PREM_SYNC();
  feature_norms_of(&work, cell_rows);
  PREM_SYNC();
  feature_cells(params->hann, &work, first_cell, cell_rows, planes, energies);
  PREM_SYNC();
  feature_energies(energies, cell_rows, parts, energy);
}

PREM_FN void track_features_compute(const track_features_params *params, const prem_view *views) {
  const prem_view *frame = &views[0], *out = &views[3];
  const int32_t region = (int32_t)views[1].origin[1];
  float geometry[GEOMETRY_NUMBERS];
  const sample_window window = {(const uint8_t *)frame->data, frame->pitch[2],
                                (int32_t)frame->origin[2], (int32_t)frame->origin[3]};
  const int32_t first_cell = (int32_t)out->origin[2], cell_rows = out->extent[2];
  const int32_t first = first_cell * TRACK_CELL - AIM_ABOVE, count = feature_pixel_rows(cell_rows);
  const int32_t begin = first > 0 ? first : 0;
  const int32_t end = first + count < TRACK_PIXELS ? first + count : TRACK_PIXELS;
  double *rest = (double *)views[5].data;
  float *pixels = (float *)(rest + feature_rest_bytes(cell_rows) / 8);
  const feature_rows rows = {pixels, first, count};
  /* rows of whole 16 bytes: no gaps between them */
  const feature_planes planes = {(float *)out->data, 2 * out->pitch[1], 2 * out->pitch[2]};
  aim_region(params->frame, params->most, params->factors[region % params->scales],
             (const float *)views[2].data, geometry);
  sample_rows(params->frame, &window, geometry, begin, end - begin,
              pixels + (begin - first) * TRACK_PIXELS);
  PREM_SYNC();
  feature_strip(params, &rows, (float *)out->data, pixels, rest, first_cell, cell_rows, &planes,
                (float *)views[4].data);
}

#if PREM_HOST

#include <stdlib.h>

PREM_FN void feature_region(const track_features_params *params, const uint8_t *frame,
                            const float *pose, int64_t scale, float *out, float *energy,
                            void *room) {
  float geometry[GEOMETRY_NUMBERS];
  const sample_window window = {frame, params->frame[1], 0, 0};
  const int32_t cells = TRACK_CELLS * TRACK_CELLS;
  float *pixels = (float *)room, *slope = pixels + TRACK_PIXELS * TRACK_PIXELS;
  float *sums = slope + TRACK_PIXELS * TRACK_PIXELS;
  float *rest = sums + (TRACK_CELLS + 2) * TRACK_CELLS * FEATURE_BINS;
  const feature_rows rows = {pixels, 0, TRACK_PIXELS};
  const feature_planes planes = {out, 2 * cells, 2 * TRACK_CELLS};
  aim_region(params->frame, params->most, params->factors[scale], pose, geometry);
  sample_rows(params->frame, &window, geometry, 0, TRACK_PIXELS, pixels);
  feature_strip(params, &rows, slope, sums, rest, 0, TRACK_CELLS, &planes, energy);
}

PREM_CLONES static void track_features_reference(const void *given, const prem_array_view *arrays) {
  const track_features_params *params = (const track_features_params *)given;
  const size_t floats =
      2 * TRACK_PIXELS * TRACK_PIXELS + (TRACK_CELLS + 2) * TRACK_CELLS * FEATURE_BINS;
  void *room = malloc(floats * sizeof(float) + (size_t)feature_rest_bytes(TRACK_CELLS));
  const int64_t regions = arrays[3].shape[0], scales = regions / arrays[2].shape[2];
  for (int64_t region = 0; room && region < regions; ++region)
    feature_region(params, (const uint8_t *)arrays[0].data,
                   (const float *)arrays[2].data + region / scales * POSE_NUMBERS,
                   scales == params->scales ? region % scales : params->scales / 2,
                   (float *)arrays[3].data + region * TRACK_PLANES * TRACK_CELLS * TRACK_CELLS * 2,
                   (float *)arrays[4].data + region * TRACK_CELLS, room);
  free(room);
}

/* `most` and `factors` of its parameters; `reach`, `strips`, and whether only regions of the middle
 * scale are wanted. */
static inline prem_status feature_bind_args(prem_bind *bind, float *reach, int64_t *strips,
                                            int64_t *middle) {
  track_features_params *params = (track_features_params *)bind->params.bytes;
  *reach = 2.0F;
  *strips = 4;
  *middle = 0;
  prem_status status = prem_arg_floats(bind, "reach", reach, 1);
  if (status == PREM_OK && !(*reach > 0 && *reach <= 8))
    status = prem_bind_refuse(bind, "args.reach", "is %g; above 0 and up to 8 is possible",
                              (double)*reach);
  params->most = *reach * (float)TRACK_PIXELS;
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "strips", strips, 1);
  if (status == PREM_OK && (*strips < 1 || TRACK_CELLS % *strips != 0 ||
                            !feature_slopes_fit(TRACK_CELLS / (int32_t)*strips)))
    status = prem_bind_refuse(bind, "args.strips", "is %lld; 1, 2, 4 or 8 strips are possible",
                              (long long)*strips);
  if (status == PREM_OK)
    status = track_bind_scales(bind, &params->scales, params->factors);
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "middle", middle, 1);
  if (status == PREM_OK && *middle != 0 && *middle != 1)
    status = prem_bind_refuse(bind, "args.middle", "is %lld, must be 0 or 1", (long long)*middle);
  return status;
}

static prem_status track_features_bind(prem_bind *bind) {
  static const double pi = 3.14159265358979323846;
  track_features_params *params = (track_features_params *)bind->params.bytes;
  const int64_t targets = bind->shape[2][2];
  float reach;
  int64_t strips, middle;
  prem_status status = feature_bind_args(bind, &reach, &strips, &middle);
  const int32_t all = params->scales, wanted = middle ? 1 : all, before = middle ? all / 2 : 0;
  if (status == PREM_OK)
    status = track_expect(bind, 0, "arrays.frame", 2, (const int64_t[4]){1, 1, 0, 0});
  if (status == PREM_OK)
    status = track_expect(bind, 2, "arrays.pose", 2, (const int64_t[4]){1, 1, 0, POSE_NUMBERS});
  if (status == PREM_OK)
    status = track_expect(bind, 1, "arrays.where", 3,
                          (const int64_t[4]){1, targets * all, TRACK_CELLS, WHERE_NUMBERS});
  if (status == PREM_OK)
    status =
        track_output(bind, 3, "arrays.out", 4,
                     (const int64_t[4]){targets * wanted, TRACK_PLANES, TRACK_CELLS, TRACK_CELLS});
  if (status == PREM_OK)
    status = track_output(bind, 4, "arrays.energy", 2,
                          (const int64_t[4]){1, 1, targets * wanted, TRACK_CELLS});
  if (status != PREM_OK)
    return status;
  for (int32_t i = 0; i < TRACK_CELLS; ++i)
    params->hann[i] = (float)(0.5 - 0.5 * cos(2 * pi * i / (TRACK_CELLS - 1)));
  const int32_t cell_rows = TRACK_CELLS / (int32_t)strips, rows = feature_pixel_rows(cell_rows);
  prem_window window = {
      .extent = {1, 1, track_window_extent(reach, rows), track_window_extent(reach, TRACK_PIXELS)},
      .aim = 2};
  for (int32_t d = 0; d < 2; ++d) {
    params->frame[d] = (int32_t)bind->shape[0][2 + d];
    if (window.extent[2 + d] > params->frame[d])
      window.extent[2 + d] = params->frame[d];
  }
  bind->grid[0] = (int32_t)targets;
  bind->grid[1] = wanted;
  bind->grid[2] = (int32_t)strips;
  bind->window[0] = window;
  bind->window[1] = (prem_window){.base = {[1] = before},
                                  .step = {[1] = {all, 1}, [2] = {0, 0, cell_rows}},
                                  .extent = {1, 1, 1, WHERE_NUMBERS}};
  bind->window[2] = (prem_window){.step = {[2] = {1}}, .extent = {1, 1, 1, POSE_NUMBERS}};
  bind->window[3] = (prem_window){.step = {[0] = {wanted, 1}, [2] = {0, 0, cell_rows}},
                                  .extent = {1, TRACK_PLANES, cell_rows, TRACK_CELLS}};
  bind->window[4] = (prem_window){.step = {[2] = {wanted, 1}, [3] = {0, 0, cell_rows}},
                                  .extent = {1, 1, 1, cell_rows}};
  bind->work_bytes = feature_rest_bytes(cell_rows) + feature_pixel_bytes(cell_rows);
  return status;
}

static const prem_port track_features_ports[] = {{"frame", PREM_IN, PREM_U8},
                                                 {"where", PREM_IN, PREM_I32},
                                                 {"pose", PREM_IN, PREM_F32},
                                                 {"out", PREM_OUT, PREM_C64},
                                                 {"energy", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_features)

static const prem_kernel track_features_kernel = {
    .name = "track_features",
    .summary = "regions of a u8 frame as 16 complex planes of fHOG in 32 x 32 cells; reach (2), "
               "scales (1), step (1.03), middle (0), strips (4)",
    .version = 5,
    .params_bytes = sizeof(track_features_params),
    .ports = track_features_ports,
    .port_count = 5,
    .bind = track_features_bind,
    .compute = track_features_entry,
    .reference = track_features_reference,
};

#endif
#endif
