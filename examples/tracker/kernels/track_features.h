/* SPDX-License-Identifier: Apache-2.0 */
/**
 * track_features: 128 x 128 pixels as 32 x 32 cells of 31 fHOG features, faded out to the region's
 * edges by a Hann window: 18 signed directions, 9 without their sign, 4 of texture. Two channels
 * are the real and the imaginary part of one complex plane, the 32nd is 0. `energy` is the sum of
 * their squares, by strips of cells.
 */
#ifndef TRACK_FEATURES_H
#define TRACK_FEATURES_H

#include "track.h"

enum {
  FEATURE_BINS = 18,
  FEATURE_HALO = 7, /* rows of pixels above a strip's first cell that count for it, and below it */
  FEATURE_ROWS = TRACK_CELL_ROWS * TRACK_CELL + 2 * FEATURE_HALO,
  FEATURE_AROUND = TRACK_CELL_ROWS + 2 /* rows of cells with those above and below */
};

typedef struct track_features_params {
  float hann[TRACK_CELLS];
  float direction[9][2]; /* x, y */
} track_features_params;

/* Pixels of a region, or of a strip of it. */
typedef struct feature_rows {
  const float *pixels; /* of row `first` of the region */
  int32_t pitch, first, count;
} feature_rows;

/* What is worked out of them: `slope` and `bin` a pixel, `sums` 18 a cell, `squares` one a cell.
 * The sums of a direction stand together, so that neighbouring lanes use neighbouring banks of a
 * GPU's scratchpad, whichever directions their pixels have. */
typedef struct feature_work {
  float *slope, *sums, *squares;
  uint8_t *bin;
  int32_t cells; /* from one direction to the next */
} feature_work;

/* How steep a pixel is, and in which of 18 directions, of differences to its right and downwards.
 * Without branches, so that compilers make vectors of it. */
PREM_FN float feature_slope(const track_features_params *params, float x, float y, float *bin) {
  float best = 0, at = 0;
  for (int32_t i = 0; i < FEATURE_BINS / 2; ++i) {
    const float along = fmaf(params->direction[i][0], x, params->direction[i][1] * y);
    const float steep = fabsf(along);
    const int32_t opposite = i + FEATURE_BINS / 2;
    const float here = along < 0 ? (float)opposite : (float)i;
    at = steep > best ? here : at;
    best = steep > best ? steep : best;
  }
  *bin = at;
  return sqrtf(fmaf(x, x, y * y));
}

/* A row of pixels with those that its differences are of, and what those count. */
typedef struct feature_around {
  const float *above, *here, *below;
  float share;
} feature_around;

/* At the region's edges differences are those to one side. */
PREM_FN feature_around feature_around_row(const feature_rows *rows, int32_t r) {
  const int32_t row = rows->first + r;
  const float *here = rows->pixels + (int64_t)r * rows->pitch;
  feature_around around;
  around.here = here;
  around.above = row > 0 ? here - rows->pitch : here;
  around.below = row + 1 < TRACK_PIXELS ? here + rows->pitch : here;
  around.share = row > 0 && row + 1 < TRACK_PIXELS ? 0.5F : 1.0F;
  return around;
}

/* Is row `r` in the region, and are its neighbours there? The first and the last one of a strip
 * stand there for their neighbours' sake. */
PREM_FN bool feature_is_inner(const feature_rows *rows, int32_t r) {
  const int32_t row = rows->first + r;
  return row >= 0 && row < TRACK_PIXELS && (r > 0 || row == 0) &&
         (r + 1 < rows->count || row + 1 == TRACK_PIXELS);
}

/* Where a row has the slope of a column. On a GPU those stand together that are as far right in
 * their cells: lanes, which have a cell each, then read different banks of the scratchpad, and so
 * write those that have a column each. */
PREM_FN int32_t feature_place(int32_t cell, int32_t in_cell) {
  return PREM_HOST ? cell * TRACK_CELL + in_cell
                   : in_cell * TRACK_CELLS +
                         ((cell + in_cell * (TRACK_CELLS / TRACK_CELL)) & (TRACK_CELLS - 1));
}

PREM_FN void feature_put_slope(const track_features_params *params, const feature_work *work,
                               int32_t row_at, int32_t column, float x, float y) {
  float bin;
  work->slope[row_at + feature_place(column / TRACK_CELL, column & (TRACK_CELL - 1))] =
      feature_slope(params, x, y, &bin);
  work->bin[row_at + column] = (uint8_t)(int32_t)bin;
}

/* Slopes of the rows that are in the region, and their own neighbours with them: first those of the
 * columns that have two neighbours, then those of the edges. */
PREM_FN void feature_slopes(const track_features_params *params, const feature_rows *rows,
                            const feature_work *work) {
  const int32_t last = TRACK_PIXELS - 1;
  PREM_LANES_2D(r, rows->count, inner, TRACK_PIXELS - 2) {
    if (feature_is_inner(rows, r)) {
      const feature_around around = feature_around_row(rows, r);
      const int32_t column = inner + 1;
      feature_put_slope(params, work, r * TRACK_PIXELS, column,
                        (around.here[column + 1] - around.here[column - 1]) * 0.5F,
                        (around.below[column] - around.above[column]) * around.share);
    }
  }
  PREM_LANES_2D(r, rows->count, edge, 2) {
    if (feature_is_inner(rows, r)) {
      const feature_around around = feature_around_row(rows, r);
      const int32_t column = edge * last, left = edge * (last - 1);
      feature_put_slope(params, work, r * TRACK_PIXELS, column,
                        around.here[left + 1] - around.here[left],
                        (around.below[column] - around.above[column]) * around.share);
    }
  }
}

/* What a row or column of pixels counts for a cell, of the eight that do. */
PREM_FN float feature_nearness(int32_t i) {
  return ((float)(i < TRACK_CELL ? i : 2 * TRACK_CELL - 1 - i) + 0.5F) / TRACK_CELL;
}

/* Add a row of the pixels that count for a cell. All are brought before any is added, so that one
 * does not wait for the other. */
PREM_FN void feature_add_row(const feature_work *work, int32_t row_at, int32_t cell_column,
                             float high, float *sums) {
  enum { BEFORE = TRACK_CELL / 2 /* pixels that are of the cell to the left */ };
  float slope[2 * TRACK_CELL];
  int32_t bin[2 * TRACK_CELL];
  for (int32_t x = 0; x < 2 * TRACK_CELL; ++x) {
    const int32_t cell = cell_column - 1 + (x + BEFORE) / TRACK_CELL;
    const int32_t in_cell = (x + BEFORE) % TRACK_CELL;
    const bool is_there = cell >= 0 && cell < TRACK_CELLS;
    const int32_t held = is_there ? cell : 0;
    slope[x] = work->slope[row_at + feature_place(held, in_cell)];
    bin[x] = is_there ? work->bin[row_at + held * TRACK_CELL + in_cell] : -1;
  }
  for (int32_t x = 0; x < 2 * TRACK_CELL; ++x)
    if (bin[x] >= 0) {
      float *sum = &sums[bin[x] * work->cells];
      *sum = fmaf(high * feature_nearness(x) * (1.0F / 16), slope[x], *sum);
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
      PREM_ROLLED for (int32_t y = 0; y < 2 * TRACK_CELL; ++y) {
        const int32_t row = cell * TRACK_CELL - TRACK_CELL / 2 + y;
        if (row >= 0 && row < TRACK_PIXELS)
          feature_add_row(work, (row - rows->first) * TRACK_PIXELS, j, feature_nearness(y), sums);
      }
      for (int32_t b = 0; b < FEATURE_BINS / 2; ++b) {
        const float both = sums[b * work->cells] + sums[(b + FEATURE_BINS / 2) * work->cells];
        square = fmaf(both, both, square);
      }
    }
    work->squares[i * TRACK_CELLS + j] = square;
  }
}

PREM_FN float feature_square(const feature_work *work, int32_t row, int32_t column) {
  return column >= 0 && column < TRACK_CELLS ? work->squares[row * TRACK_CELLS + column] : 0;
}

/* One over the length of the 2 x 2 cells whose upper left one is (row, column). */
PREM_FN float feature_norm(const feature_work *work, int32_t row, int32_t column) {
  const float upper = feature_square(work, row, column) + feature_square(work, row, column + 1);
  const float lower =
      feature_square(work, row + 1, column) + feature_square(work, row + 1, column + 1);
  return 1.0F / sqrtf(upper + lower + 1e-4F);
}

PREM_FN float feature_cut(float value) {
  return value < 0.2F ? value : 0.2F;
}

/* Where planes of cells go; points of two floats. */
typedef struct feature_planes {
  float *first;
  int32_t plane, row; /* floats from one to the next */
} feature_planes;

PREM_FN void feature_put(const feature_planes *out, int32_t row, int32_t column, int32_t channel,
                         float value) {
  out->first[(int64_t)(channel / 2) * out->plane + (int64_t)row * out->row + 2 * column +
             channel % 2] = value;
}

/* The features of cells; `i` counts rows of `sums`, of which the first and last are neighbours
 * only. `energies`: one a cell. */
PREM_FN void feature_cells(const track_features_params *params, const feature_work *work,
                           int32_t first_cell, int32_t cell_rows, const feature_planes *out,
                           float *energies) {
  PREM_LANES_2D(row, cell_rows, j, TRACK_CELLS) {
    const int32_t i = row + 1;
    const float fade = params->hann[first_cell + row] * params->hann[j];
    const float *sums = work->sums + i * TRACK_CELLS + j;
    const float a = feature_norm(work, i - 1, j - 1), b = feature_norm(work, i - 1, j);
    const float c = feature_norm(work, i, j - 1), d = feature_norm(work, i, j);
    float texture_a = 0, texture_b = 0, texture_c = 0, texture_d = 0, energy = 0;
    PREM_ROLLED for (int32_t k = 0; k < FEATURE_BINS; ++k) {
      const float sum = sums[k * work->cells];
      const float at_a = feature_cut(sum * a), at_b = feature_cut(sum * b);
      const float at_c = feature_cut(sum * c), at_d = feature_cut(sum * d);
      texture_a += at_a;
      texture_b += at_b;
      texture_c += at_c;
      texture_d += at_d;
      const float value = 0.5F * (at_a + at_b + at_c + at_d) * fade;
      energy = fmaf(value, value, energy);
      feature_put(out, row, j, k, value);
    }
    PREM_ROLLED for (int32_t k = 0; k < FEATURE_BINS / 2; ++k) {
      const float both = sums[k * work->cells] + sums[(k + FEATURE_BINS / 2) * work->cells];
      const float value = 0.5F * fade *
                          (feature_cut(both * a) + feature_cut(both * b) + feature_cut(both * c) +
                           feature_cut(both * d));
      energy = fmaf(value, value, energy);
      feature_put(out, row, j, FEATURE_BINS + k, value);
    }
    const float texture[4] = {texture_a, texture_b, texture_c, texture_d};
    for (int32_t k = 0; k < 4; ++k) {
      const float value = 0.2357F * texture[k] * fade;
      energy = fmaf(value, value, energy);
      feature_put(out, row, j, FEATURE_BINS * 3 / 2 + k, value);
    }
    feature_put(out, row, j, TRACK_CHANNELS, 0);
    energies[row * TRACK_CELLS + j] = energy;
  }
}

/* Of the cells of a strip: those of a column, columns of a part, and all parts. */
enum { FEATURE_PARTS = 4, FEATURE_PART = TRACK_CELLS / FEATURE_PARTS };

PREM_FN double feature_column_energy(const float *energies, int32_t column) {
  double sum = 0;
  for (int32_t row = 0; row < TRACK_CELL_ROWS; ++row)
    sum += (double)energies[row * TRACK_CELLS + column];
  return sum;
}

PREM_FN double feature_sum(const double *values, int32_t count) {
  double sum = 0;
  for (int32_t i = 0; i < count; ++i)
    sum += values[i];
  return sum;
}

/* Of a strip, slopes and bins go where its planes will be, which are put down when nobody needs
 * them any more, and the histograms where its pixels were. */
enum {
  FEATURE_STRIP_PIXELS = FEATURE_ROWS * TRACK_PIXELS,
  FEATURE_STRIP_SUMS = FEATURE_AROUND * TRACK_CELLS * FEATURE_BINS,
  FEATURE_PLANES_BYTES = TRACK_PLANES * TRACK_CELL_ROWS * TRACK_CELLS * 8,
  FEATURE_WORK_BYTES = (FEATURE_AROUND + TRACK_CELL_ROWS) * TRACK_CELLS * 4
};

PREM_FN void track_features_compute(const track_features_params *params, const prem_view *views) {
  const prem_view *in = &views[0], *out = &views[1];
  const int32_t first_cell = (int32_t)out->origin[2];
  const feature_rows rows = {(const float *)in->data, in->pitch[2], (int32_t)in->origin[2],
                             FEATURE_ROWS};
  /* rows of whole 16 bytes in both windows: no gaps */
  feature_work work;
  work.slope = (float *)out->data;
  work.bin = (uint8_t *)(work.slope + FEATURE_STRIP_PIXELS);
  work.sums = (float *)in->data;
  work.squares = (float *)views[3].data;
  work.cells = FEATURE_AROUND * TRACK_CELLS;
  float *energies = work.squares + FEATURE_AROUND * TRACK_CELLS;
  double *columns = (double *)in->data; /* where the histograms were */
  const feature_planes planes = {(float *)out->data, 2 * out->pitch[1], 2 * out->pitch[2]};
  feature_slopes(params, &rows, &work);
  PREM_SYNC();
  feature_sums(&rows, &work, first_cell - 1, FEATURE_AROUND);
  PREM_SYNC();
  feature_cells(params, &work, first_cell, TRACK_CELL_ROWS, &planes, energies);
  PREM_SYNC();
  PREM_LANES(column, TRACK_CELLS) {
    columns[column] = feature_column_energy(energies, column);
  }
  PREM_SYNC();
  PREM_LANES(part, FEATURE_PARTS) {
    columns[TRACK_CELLS + part] = feature_sum(columns + part * FEATURE_PART, FEATURE_PART);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    *(float *)views[2].data = (float)feature_sum(columns + TRACK_CELLS, FEATURE_PARTS);
}

#if PREM_HOST

#include <stdlib.h>

_Static_assert(FEATURE_STRIP_PIXELS * 5 <= FEATURE_PLANES_BYTES,
               "slopes and bins lie in the planes");
_Static_assert(FEATURE_STRIP_SUMS <= FEATURE_STRIP_PIXELS, "histograms lie in the pixels");

PREM_FN void track_features_region(const track_features_params *params, const float *pixels,
                                   float *out, float *energy, void *room) {
  const feature_rows rows = {pixels, TRACK_PIXELS, 0, TRACK_PIXELS};
  feature_work work;
  const int32_t cells = TRACK_CELLS * TRACK_CELLS, around = (TRACK_CELLS + 2) * TRACK_CELLS;
  work.slope = (float *)room;
  work.squares = work.slope + TRACK_PIXELS * TRACK_PIXELS;
  work.sums = work.squares + around;
  float *energies = work.sums + around * FEATURE_BINS;
  work.bin = (uint8_t *)(energies + cells);
  work.cells = around;
  const feature_planes planes = {out, 2 * cells, 2 * TRACK_CELLS};
  feature_slopes(params, &rows, &work);
  feature_sums(&rows, &work, -1, TRACK_CELLS + 2);
  feature_cells(params, &work, 0, TRACK_CELLS, &planes, energies);
  for (int32_t strip = 0; strip < TRACK_CELL_STRIPS; ++strip) {
    double columns[TRACK_CELLS], parts[FEATURE_PARTS];
    for (int32_t column = 0; column < TRACK_CELLS; ++column)
      columns[column] =
          feature_column_energy(energies + strip * TRACK_CELL_ROWS * TRACK_CELLS, column);
    for (int32_t part = 0; part < FEATURE_PARTS; ++part)
      parts[part] = feature_sum(columns + part * FEATURE_PART, FEATURE_PART);
    energy[strip] = (float)feature_sum(parts, FEATURE_PARTS);
  }
}

PREM_CLONES static void track_features_reference(const void *params,
                                                 const prem_array_view *arrays) {
  const size_t pixels = TRACK_PIXELS * TRACK_PIXELS;
  const size_t cells = (TRACK_CELLS + 2) * TRACK_CELLS * (FEATURE_BINS + 2);
  void *room = malloc(pixels * 5 + cells * sizeof(float));
  for (int64_t region = 0; room && region < arrays[0].shape[1]; ++region)
    track_features_region((const track_features_params *)params,
                          (const float *)arrays[0].data + region * TRACK_PIXELS * TRACK_PIXELS,
                          (float *)arrays[1].data +
                              region * TRACK_PLANES * TRACK_CELLS * TRACK_CELLS * 2,
                          (float *)arrays[2].data + region * TRACK_CELL_STRIPS, room);
  free(room);
}

static prem_status track_features_bind(prem_bind *bind) {
  static const double pi = 3.14159265358979323846;
  track_features_params *params = (track_features_params *)bind->params.bytes;
  const int64_t regions = bind->shape[0][1];
  prem_status status = track_expect(bind, 0, "arrays.patch", 3,
                                    (const int64_t[4]){1, 0, TRACK_PIXELS, TRACK_PIXELS});
  if (status == PREM_OK)
    status = track_output(bind, 1, "arrays.out", 4,
                          (const int64_t[4]){regions, TRACK_PLANES, TRACK_CELLS, TRACK_CELLS});
  if (status == PREM_OK)
    status = track_output(bind, 2, "arrays.energy", 2,
                          (const int64_t[4]){1, 1, regions, TRACK_CELL_STRIPS});
  for (int32_t i = 0; i < TRACK_CELLS; ++i)
    params->hann[i] = (float)(0.5 - 0.5 * cos(2 * pi * i / (TRACK_CELLS - 1)));
  for (int32_t i = 0; i < 9; ++i) {
    params->direction[i][0] = (float)cos(pi * i / 9);
    params->direction[i][1] = (float)sin(pi * i / 9);
  }
  bind->grid[0] = (int32_t)regions;
  bind->grid[1] = TRACK_CELL_STRIPS;
  bind->grid[2] = 1;
  bind->window[0] = (prem_window){.base = {[2] = -FEATURE_HALO},
                                  .step = {[1] = {1}, [2] = {0, TRACK_CELL_ROWS * TRACK_CELL}},
                                  .extent = {1, 1, FEATURE_ROWS, TRACK_PIXELS}};
  bind->window[1] = (prem_window){.step = {[0] = {1}, [2] = {0, TRACK_CELL_ROWS}},
                                  .extent = {1, TRACK_PLANES, TRACK_CELL_ROWS, TRACK_CELLS}};
  bind->window[2] = (prem_window){.step = {[2] = {1}, [3] = {0, 1}}, .extent = {1, 1, 1, 1}};
  bind->work_bytes = FEATURE_WORK_BYTES;
  return status;
}

static const prem_port track_features_ports[] = {
    {"patch", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_C64}, {"energy", PREM_OUT, PREM_F32}};

PREM_COMPUTE_ENTRY(track_features)

static const prem_kernel track_features_kernel = {
    .name = "track_features",
    .summary = "regions of 128 x 128 pixels as 16 complex planes of fHOG in 32 x 32 cells",
    .version = 3,
    .params_bytes = sizeof(track_features_params),
    .ports = track_features_ports,
    .port_count = 3,
    .bind = track_features_bind,
    .compute = track_features_entry,
    .reference = track_features_reference,
};

#endif
#endif
