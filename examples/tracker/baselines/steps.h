/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tracker as somebody writes it who knows nothing of PREM: steps over whole batches of regions,
 * with a library's Fourier transforms between them. Arithmetic is that of the tracker's kernels.
 *
 * A step is written for one block of threads, as a kernel's compute is. gpu.cu makes a kernel of
 * each; a test runs them on the CPU.
 */
#ifndef TRACKER_BASELINE_STEPS_H
#define TRACKER_BASELINE_STEPS_H

#include "track_features.h"
#include "track_find.h"
#include "track_learn.h"
#include "track_train.h"

enum {
  BASELINE_POINTS = TRACK_PLANE,
  BASELINE_STRIPS = 4, /* of a region, each a block's */
  BASELINE_CELL_ROWS = TRACK_CELLS / BASELINE_STRIPS,
  BASELINE_PIXEL_ROWS = BASELINE_CELL_ROWS * TRACK_CELL + 2 * AIM_ABOVE,
  BASELINE_SPLIT = 8, /* blocks for a plane, or for a target's model */
  BASELINE_ROWS = TRACK_CELLS / BASELINE_SPLIT,
  BASELINE_PARTS = 32 /* sums that a block adds up beside each other */
};

/** In the order of a frame: BASELINE_FRAME. */
typedef enum baseline_step {
  BASELINE_SEE,       /* pose -> the regions' features and their energies */
  BASELINE_SPECTRA,   /* transform: features -> spectra, in place */
  BASELINE_CORRELATE, /* spectra, model -> correlation, as a spectrum */
  BASELINE_BACK,      /* transform: back, in place, without its 1 / BASELINE_POINTS */
  BASELINE_GAUSS,     /* correlation -> Gaussian kernel, in place */
  BASELINE_THERE,     /* transform: that, in place */
  BASELINE_WEIGH,     /* that, alpha -> response, as a spectrum, in place */
  BASELINE_PEAK,      /* response -> peaks */
  BASELINE_LOCATE,    /* peaks -> pose, boxes */
  BASELINE_LEARN,     /* spectra -> model, its energy */
  BASELINE_TRAIN,     /* Gaussian kernel -> alpha */
  BASELINE_STEPS
} baseline_step;

/** A step, of the targets where they were or, to learn, where they are now. */
typedef struct baseline_turn {
  uint8_t step, learns;
} baseline_turn;

static const baseline_turn BASELINE_FRAME[] = {
    {BASELINE_SEE, 0},   {BASELINE_SPECTRA, 0},   {BASELINE_CORRELATE, 0}, {BASELINE_BACK, 0},
    {BASELINE_GAUSS, 0}, {BASELINE_THERE, 0},     {BASELINE_WEIGH, 0},     {BASELINE_BACK, 0},
    {BASELINE_PEAK, 0},  {BASELINE_LOCATE, 0},    {BASELINE_SEE, 1},       {BASELINE_SPECTRA, 1},
    {BASELINE_LEARN, 1}, {BASELINE_CORRELATE, 1}, {BASELINE_BACK, 1},      {BASELINE_GAUSS, 1},
    {BASELINE_THERE, 1}, {BASELINE_TRAIN, 1}};
enum { BASELINE_TURNS = sizeof BASELINE_FRAME / sizeof *BASELINE_FRAME };

/** Targets that go through the steps together. Sizes are of all of them; a region is a target's at
 *  one scale, and to learn each target has one region. */
typedef struct baseline_batch {
  track_features_params features;
  track_locate_params locate;
  track_train_params train;
  float sigma, rate;
  int32_t targets;
  const uint8_t *frame;
  const float *command; /* [targets][8] */
  float *pose;          /* [targets][8] */
  prem_c64 *model;      /* [targets][16][32][32] */
  float *model_energy;  /* [targets][8] */
  float *alpha;         /* [targets][32][32] */
  prem_c64 *planes;     /* [regions][16][32][32] features, then their spectra */
  float *energy;        /* [regions][4 strips] */
  prem_c64 *plane;      /* [regions][32][32] correlation to response */
  float *peaks;         /* [regions][8] */
} baseline_batch;

PREM_FN int32_t baseline_scales(const baseline_batch *of, bool learns) {
  return learns ? 1 : of->locate.scales;
}

/** How a step is launched: blocks in two dimensions, and bytes of room for one. */
typedef struct baseline_grid {
  int32_t x, y, threads, room_bytes;
} baseline_grid;

/* What BASELINE_SEE has in its room. */
typedef struct baseline_sight {
  float pixels[BASELINE_PIXEL_ROWS * TRACK_PIXELS]; /* then the histograms */
  float slope[BASELINE_PIXEL_ROWS * TRACK_PIXELS];
  float squares[(BASELINE_CELL_ROWS + 2) * TRACK_CELLS];
  float norms[(BASELINE_CELL_ROWS + 1) * FEATURE_NORMS];
  float energies[2 * BASELINE_CELL_ROWS * TRACK_CELLS];
  float geometry[GEOMETRY_NUMBERS];
  float parts[BASELINE_PARTS];
} baseline_sight;

typedef struct baseline_summit {
  float response[BASELINE_POINTS];
  float best[TRACK_CELLS];
  int32_t at[TRACK_CELLS];
} baseline_summit;

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of `count` numbers, all lanes of a block together; the sum is the first lane's. */
PREM_FN float baseline_sum(const float *numbers, int32_t count, float *parts) {
  PREM_LANES(i, BASELINE_PARTS) {
    float sum = 0;
    for (int32_t n = i; n < count; n += BASELINE_PARTS)
      sum += numbers[n];
    parts[i] = sum;
  }
  PREM_SYNC();
  return PREM_FIRST_LANE() ? track_sum(parts, BASELINE_PARTS) : 0;
}

PREM_FN void baseline_see(const baseline_batch *of, bool learns, int32_t region, int32_t strip,
                          void *room) {
  baseline_sight *sight = (baseline_sight *)room;
  const track_locate_params *locate = &of->locate;
  const int32_t scales = baseline_scales(of, learns), target = region / scales;
  const float factor = learns ? 1.0F : locate->factors[region % scales];
  const int32_t first_cell = strip * BASELINE_CELL_ROWS,
                first = first_cell * TRACK_CELL - AIM_ABOVE;
  const int32_t begin = first > 0 ? first : 0, behind = first + BASELINE_PIXEL_ROWS;
  const int32_t end = behind < TRACK_PIXELS ? behind : TRACK_PIXELS;
  const sample_window frame = {of->frame, locate->frame[1], 0, 0};
  if (PREM_FIRST_LANE())
    aim_region(locate->frame, locate->reach * (float)TRACK_PIXELS, factor,
               of->pose + target * POSE_NUMBERS, sight->geometry);
  PREM_SYNC();
  sample_rows(locate->frame, &frame, sight->geometry, begin, end - begin,
              sight->pixels + (begin - first) * TRACK_PIXELS);
  PREM_SYNC();
  const feature_rows rows = {sight->pixels, first, BASELINE_PIXEL_ROWS};
  const feature_work work = {sight->slope, sight->pixels, sight->squares, sight->norms,
                             (BASELINE_CELL_ROWS + 2) * TRACK_CELLS};
  const feature_planes planes = {(float *)(of->planes +
                                           (int64_t)region * TRACK_PLANES * BASELINE_POINTS +
                                           first_cell * TRACK_CELLS),
                                 2 * BASELINE_POINTS, 2 * TRACK_CELLS};
  feature_slopes(&rows, sight->slope);
  PREM_SYNC();
  feature_sums(&rows, &work, first_cell - 1, BASELINE_CELL_ROWS + 2);
  PREM_SYNC();
  feature_norms_of(&work, BASELINE_CELL_ROWS);
  PREM_SYNC();
  feature_cells(of->features.hann, &work, first_cell, BASELINE_CELL_ROWS, &planes, sight->energies);
  PREM_SYNC();
  const float energy =
      baseline_sum(sight->energies, 2 * BASELINE_CELL_ROWS * TRACK_CELLS, sight->parts);
  if (PREM_FIRST_LANE())
    of->energy[region * BASELINE_STRIPS + strip] = energy;
}

PREM_FN void baseline_correlate(const baseline_batch *of, bool learns, int32_t region,
                                int32_t part) {
  const int32_t target = region / baseline_scales(of, learns);
  const int32_t first = part * BASELINE_ROWS * TRACK_CELLS;
  const int64_t planes = (int64_t)TRACK_PLANES * BASELINE_POINTS;
  const prem_c64 *model = of->model + target * planes + first;
  const prem_c64 *seen = learns ? model : of->planes + region * planes + first;
  prem_c64 *out = of->plane + (int64_t)region * BASELINE_POINTS + first;
  PREM_LANES(i, BASELINE_ROWS * TRACK_CELLS) {
    prem_c64 sum = {0, 0};
    PREM_ROLLED for (int32_t p = 0; p < TRACK_PLANES; ++p) {
      const prem_c64 x = seen[p * BASELINE_POINTS + i], z = model[p * BASELINE_POINTS + i];
      sum.re = fmaf(x.re, z.re, fmaf(x.im, z.im, sum.re));
      sum.im = fmaf(x.im, z.re, fmaf(-x.re, z.im, sum.im));
    }
    out[i] = sum;
  }
}

PREM_FN void baseline_gauss(const baseline_batch *of, bool learns, int32_t region, int32_t part) {
  const float scale = 1.0F / (float)(BASELINE_POINTS * TRACK_CHANNELS);
  const int32_t target = region / baseline_scales(of, learns);
  const float model = track_sum(of->model_energy + target * (TRACK_PLANES / 2), TRACK_PLANES / 2);
  const float seen =
      learns ? model : track_sum(of->energy + region * BASELINE_STRIPS, BASELINE_STRIPS);
  prem_c64 *points =
      of->plane + (int64_t)region * BASELINE_POINTS + part * BASELINE_ROWS * TRACK_CELLS;
  PREM_LANES(i, BASELINE_ROWS * TRACK_CELLS) {
    const float correlation = points[i].re * (1.0F / BASELINE_POINTS);
    const float distance = fmaf(-2.0F, correlation, seen + model) * scale;
    points[i].re = track_exp(distance > 0 ? -distance / (of->sigma * of->sigma) : 0.0F);
    points[i].im = 0;
  }
}

PREM_FN void baseline_weigh(const baseline_batch *of, int32_t region, int32_t part) {
  const int32_t first = part * BASELINE_ROWS * TRACK_CELLS, target = region / of->locate.scales;
  prem_c64 *points = of->plane + (int64_t)region * BASELINE_POINTS + first;
  const float *alpha = of->alpha + (int64_t)target * BASELINE_POINTS + first;
  PREM_LANES(i, BASELINE_ROWS * TRACK_CELLS) {
    points[i].re *= alpha[i];
    points[i].im *= alpha[i];
  }
}

PREM_FN void baseline_peak(const baseline_batch *of, int32_t region, void *room) {
  baseline_summit *summit = (baseline_summit *)room;
  const prem_c64 *points = of->plane + (int64_t)region * BASELINE_POINTS;
  PREM_LANES_2D(r, TRACK_CELLS, c, TRACK_CELLS) {
    summit->response[r * TRACK_CELLS + c] =
        points[r * TRACK_CELLS + c].re * (1.0F / BASELINE_POINTS);
  }
  PREM_SYNC();
  PREM_LANES(column, TRACK_CELLS) {
    summit->at[column] =
        respond_best_in(summit->response + column, TRACK_CELLS, &summit->best[column]);
  }
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    respond_peak(summit->response, TRACK_CELLS, summit->best, summit->at,
                 of->peaks + region * PEAK_NUMBERS);
}

/** @param boxes  [targets][8] */
PREM_FN void baseline_locate(const baseline_batch *of, float *boxes) {
  PREM_LANES(t, of->targets) {
    float *pose = of->pose + t * POSE_NUMBERS;
    locate_target(&of->locate, of->command + t * COMMAND_NUMBERS, pose,
                  of->peaks + t * of->locate.scales * PEAK_NUMBERS, PEAK_NUMBERS, pose);
    track_box(pose, boxes + t * BOX_NUMBERS);
  }
}

/* Two planes of a target's model. `parts`: BASELINE_PARTS floats, and one more for each lane. */
PREM_FN void baseline_learn(const baseline_batch *of, int32_t target, int32_t pair, void *room) {
  enum { POINTS = 2 * BASELINE_POINTS };
  float *parts = (float *)room;
  const float status = of->pose[target * POSE_NUMBERS + POSE_STATUS];
  const int64_t first = ((int64_t)target * (TRACK_PLANES / 2) + pair) * POINTS;
  prem_c64 *model = of->model + first;
  const prem_c64 *seen = of->planes + first;
  PREM_LANES(i, BASELINE_PARTS * BASELINE_PARTS) {
    float sum = 0;
    for (int32_t n = i; n < POINTS; n += BASELINE_PARTS * BASELINE_PARTS) {
      const float re = learn_number(of->rate, status, model[n].re, seen[n].re);
      const float im = learn_number(of->rate, status, model[n].im, seen[n].im);
      model[n].re = re;
      model[n].im = im;
      sum = fmaf(re, re, fmaf(im, im, sum));
    }
    parts[BASELINE_PARTS + i] = sum;
  }
  PREM_SYNC();
  const float sum = baseline_sum(parts + BASELINE_PARTS, BASELINE_PARTS * BASELINE_PARTS, parts);
  if (PREM_FIRST_LANE())
    of->model_energy[target * (TRACK_PLANES / 2) + pair] = sum * (1.0F / BASELINE_POINTS);
}

PREM_FN void baseline_train(const baseline_batch *of, int32_t target, int32_t part) {
  const int32_t first = part * BASELINE_ROWS;
  const prem_c64 *points = of->plane + (int64_t)target * BASELINE_POINTS;
  float *alpha = of->alpha + (int64_t)target * BASELINE_POINTS;
  PREM_LANES_2D(r, BASELINE_ROWS, c, TRACK_CELLS) {
    const int32_t row = first + r, at = row * TRACK_CELLS + c;
    alpha[at] = of->train.label[row] * of->train.label[c] / (points[at].re + of->train.lambda);
  }
}

/** What one block does of a step that is no transform. */
PREM_FN void baseline_block(const baseline_batch *of, baseline_step step, bool learns, int32_t x,
                            int32_t y, void *room, float *boxes) {
  switch (step) {
  case BASELINE_SEE:
    baseline_see(of, learns, x, y, room);
    break;
  case BASELINE_CORRELATE:
    baseline_correlate(of, learns, x, y);
    break;
  case BASELINE_GAUSS:
    baseline_gauss(of, learns, x, y);
    break;
  case BASELINE_WEIGH:
    baseline_weigh(of, x, y);
    break;
  case BASELINE_PEAK:
    baseline_peak(of, x, room);
    break;
  case BASELINE_LOCATE:
    baseline_locate(of, boxes);
    break;
  case BASELINE_LEARN:
    baseline_learn(of, x, y, room);
    break;
  case BASELINE_TRAIN:
    baseline_train(of, x, y);
    break;
  default:
    break;
  }
}

/** How a step is launched. Of a transform x are planes. */
static inline baseline_grid baseline_grid_of(const baseline_batch *of, baseline_turn turn) {
  const int32_t learn_bytes = BASELINE_PARTS * (BASELINE_PARTS + 1) * (int32_t)sizeof(float);
  baseline_grid grid = {of->targets * (turn.learns ? 1 : of->locate.scales), 1, 128, 0};
  switch ((baseline_step)turn.step) {
  case BASELINE_SEE:
    grid.y = BASELINE_STRIPS;
    grid.threads = 256;
    grid.room_bytes = (int32_t)sizeof(baseline_sight);
    break;
  case BASELINE_SPECTRA:
    grid.x *= TRACK_PLANES;
    break;
  case BASELINE_PEAK:
    grid.room_bytes = (int32_t)sizeof(baseline_summit);
    break;
  case BASELINE_LOCATE:
    grid.x = 1;
    grid.threads = 64;
    break;
  case BASELINE_LEARN:
    grid.y = TRACK_PLANES / 2;
    grid.threads = 256;
    grid.room_bytes = learn_bytes;
    break;
  case BASELINE_BACK:
  case BASELINE_THERE:
    break;
  default:
    grid.y = BASELINE_SPLIT;
  }
  return grid;
}

static inline bool baseline_is_transform(baseline_turn turn) {
  return turn.step == BASELINE_SPECTRA || turn.step == BASELINE_BACK || turn.step == BASELINE_THERE;
}

#endif
