/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How well a tracker follows, as the object tracking benchmark has it (Wu, Lim, Yang: Online Object
 * Tracking: A Benchmark, 2013), and with lateness counted (Li, Wang, Ramanan: Towards Streaming
 * Perception, 2020).
 */
#ifndef TRACKER_SCORE_H
#define TRACKER_SCORE_H

#include "track_log.h"

enum {
  SCORE_DISTANCES = 51, /* 0, 1, ... 50 px */
  SCORE_OVERLAPS = 21   /* 0, 0.05, ... 1 */
};

/** All 0 where no frame was scored. */
typedef struct score {
  int64_t frames;                    /* with ground truth, and so scored */
  double centre_error;               /* CLE: mean distance of the centres, px */
  double overlap;                    /* mean intersection over union */
  double precision[SCORE_DISTANCES]; /* share of frames whose distance is at most so many px */
  double success[SCORE_OVERLAPS];    /* share of frames whose overlap is more than 0.05 times i */
  double p5, p20;                    /* precision[5], precision[20] */
  double auc;                        /* mean of success; 20 / 21 where all is exact */
} score;

/** Of the centres, px. */
double box_distance(const box *one, const box *other);
/** Intersection over union, 0 to 1. */
double box_overlap(const box *one, const box *other);

/** One pass: frame i is scored where truth[i] is known. A box that is not known, or holds what is
 *  no number, is infinitely far off, which counts as 1e6 px. */
void score_boxes(const box *truth, const box *tracked, int64_t frames, score *out);

/** The mean of several scores, each with the same weight; `frames` is their sum. Those without
 *  frames are left out. */
void score_mean(const score *scores, int64_t count, score *out);

/** Temporal robustness (TRE): where start `index` of `starts` begins in a video; they are spread
 *  over its first half. */
int64_t score_start(int64_t frames, int64_t index, int64_t starts);

/**
 * The box that a reader of the log had at each frame: its own row's, or where there is none that of
 * the last frame before it with a row.
 *
 * @param[out] boxes  of `frames`; unknown before the target's first row
 */
void score_by_frame(const track_log *log, int32_t target, box *boxes, int64_t frames);

/**
 * Streaming: the box that was published last when frame i was taken. Of rows published at one
 * instant that of the latest frame counts; rows without a time never were.
 *
 * @param taken_ns    of `frames`, ascending, on the clock of the log's published_ns
 * @param[out] boxes  of `frames`; unknown before the first one is published
 * @retval PREM_ERR_MEMORY  boxes are all unknown
 */
prem_status score_by_time(const track_log *log, int32_t target, const int64_t *taken_ns, box *boxes,
                          int64_t frames);

#endif
