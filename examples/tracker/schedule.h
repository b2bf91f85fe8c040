/* SPDX-License-Identifier: Apache-2.0 */
/** The tracker as a schedule file: for a size of frames, a number of targets and of scales. */
#ifndef TRACKER_SCHEDULE_H
#define TRACKER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

enum { TRACK_MOST_QUEUED = 12 };

/** What kind of input frames come by. */
typedef enum track_feeding {
  TRACK_EACH,  /* each frame once, and the frame starts the hyperperiod: for files */
  TRACK_CAMERA /* a hyperperiod a period, with the newest frame, or the oldest of a queue */
} track_feeding;

/** What else is in the schedule, on the same blocks, and has nothing to do with targets. */
typedef enum track_company {
  TRACK_ALONE,
  TRACK_EDGES, /* the frame's edges: 3 x 3 coefficients */
  TRACK_COPY,  /* 1 MiB a block is read and written */
  TRACK_COMPANIES
} track_company;

enum { TRACK_MOST_TASKS = 7 + 1 /* with company */ };

/** How long the windows of each task's phases are: prefetch, compute, writeback. */
typedef struct track_windows {
  int64_t ns[TRACK_MOST_TASKS][3];
  int percent; /* of what 95 of 100 phases took */
} track_windows;

typedef struct track_setting {
  int32_t rows, columns; /* of a frame */
  int32_t targets, scales;
  float reach;        /* frame's pixels for one of a region at most: the largest target's side is
                         128 / 3 times that */
  int64_t period_ns;  /* from frame to frame */
  int64_t publish_ns; /* from a frame's hyperperiod's begin until its boxes can be seen; 0: none */
  int32_t blocks;
  int32_t threads;   /* of a block on a GPU */
  int32_t an_sm;     /* blocks an SM: with more than one, each has one buffer instead of two */
  bool on_gpu;       /* whose blocks have a part of an SM's scratchpad */
  int32_t strips;    /* of a region's features */
  float wcet_factor; /* times the windows that the example brings along */
  track_feeding feeding;
  int32_t queue; /* with TRACK_CAMERA: frames that wait in a queue, each for its turn; 0: none */
  const track_windows *windows; /* instead of those that the example brings; NULL: none */
  const char *profile;          /* a file of measured windows instead of both; NULL: none */
  track_company company;
} track_setting;

/** A setting for frames of a size, for two cores of a CPU: a frame every 10 ms. */
track_setting track_setting_for(int32_t rows, int32_t columns, int32_t targets, int32_t scales);

/** "none", "edges", "copy". */
const char *track_company_name(track_company company);

/** Write the file. False: it could not be written. */
bool track_schedule_print(const track_setting *setting, FILE *file);

/** Cut regions' features for a GPU: into 8 strips; into 4, which share fewer rows and so take less
 *  work, where each block has some of them and room for one. */
void track_schedule_cut(track_setting *setting, const prem_registry *kernels);

/** Is a GPU sooner done if blocks fetch what they read of a frame over the bus, than if it is
 * copied before? Of few regions it is. */
bool track_schedule_fetches(const track_setting *setting);

/** Of a prepared schedule: from its hyperperiod's begin to the end of its last window, or of the
 * last one of `task`; -1: no memory. */
int64_t track_schedule_end_ns(const prem_schedule *schedule, const char *task);

/**
 * The same as a schedule, prepared for a backend; without one bound alone.
 *
 * @param[out] out  free with prem_schedule_free(); NULL on error
 */
prem_status track_schedule_make(const track_setting *setting, const prem_backend *backend,
                                prem_schedule **out, prem_diag *diag);

#endif
