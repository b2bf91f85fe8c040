/* SPDX-License-Identifier: Apache-2.0 */
/** Scores with the names of what was scored, and where they go: curves, a page, findings. */
#ifndef TRACKER_SCORED_H
#define TRACKER_SCORED_H

#include <stdio.h>

#include <ttprem/machine.h>

#include "canvas.h"
#include "score.h"

/** A tracker on a sequence; those of one sequence follow each other. */
typedef struct scored {
  char sequence[64], tracker[64];
  char backend[16]; /* "cpu", "cuda"; "" where it is none of ours */
  score one_pass;
  score robust;    /* mean of several starts; no frames: not measured */
  score streaming; /* at the instants of the frames; no frames: not measured */
} scored;

struct video;
/**
 * Score a log against a video's ground truth, each target from its first row on: the mean over the
 * targets. Each box counts `late` frames behind its own: until then it is the one of the first row
 * that a reader had. For several starts (TRE) each one's log is scored so, and score_mean() taken.
 *
 * @retval PREM_ERR_ARGUMENT  there is no ground truth, or no row
 */
prem_status scored_log(const struct video *truth, const track_log *log, int64_t late, score *out,
                       prem_diag *diag);

/** Frames that were taken by a clock, in order. */
typedef struct taken_frames {
  int64_t start, step; /* the n-th is the video's frame start + n * step */
  int64_t count;
  const int64_t *at_ns; /* [count] when, on the clock of a log's published_ns */
} taken_frames;

/**
 * Score a log as it was seen: in each frame that was taken the boxes that were published last,
 * until then those of the beginning. The mean over the targets.
 *
 * @param began  of the log's targets, in the first frame
 */
prem_status scored_streaming(const struct video *truth, const track_log *log, const box *began,
                             int32_t targets, const taken_frames *frames, score *out);

typedef enum curve_kind {
  CURVE_PRECISION, /* share of frames over the distance that is allowed */
  CURVE_SUCCESS    /* share of frames over the overlap that is asked for */
} curve_kind;

/** Draw the curves of one sequence as an SVG element, one for each tracker. At most 8 are drawn. */
void curves_write(FILE *file, curve_kind kind, const scored *list, size_t count);

/** A picture of a page, and what is seen in it. */
typedef struct page_picture {
  const canvas *picture;
  const char *caption;
} page_picture;

/** A figure that something else drew: `.svg`, `.png`, or text of `.txt`. */
typedef struct page_file {
  const char *path;
  const char *heading; /* above it; NULL: it belongs to what is before it */
} page_file;

typedef struct page {
  const char *title;
  const char *text; /* a paragraph; may be NULL */
  const scored *list;
  size_t count;
  const page_picture *pictures;
  size_t picture_count;
  const page_file *files; /* after the pictures */
  size_t file_count;
  const char *film; /* its path from the page; may be NULL */
} page;

/** One HTML file that opens offline and holds all but the film: pictures, files, a table, curves.
 *  Whole or not at all. */
prem_status page_write(const page *of, const char *path, prem_diag *diag);

/**
 * Write scores as findings (ttprem/findings.h), which ttprem report reads: a table `scores` of
 * sequence, tracker, backend, frames, P20, AUC, CLE, and one for each of `robust` and `streaming`
 * that was measured.
 */
prem_status findings_write(const scored *list, size_t count, const prem_machine *machine,
                           const char *command, const char *path, prem_diag *diag);

#endif
