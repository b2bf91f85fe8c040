/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The baselines' side of the GPU: the tracker's steps as ordinary kernels, with cuFFT between them.
 *
 *   baseline_gpu_probe -> baseline_gpu_open
 *     -> { baseline_gpu_frame, baseline_gpu_submit, baseline_gpu_await }* -> baseline_gpu_close
 *
 * Frames are counted from 0. One thread. A call that fails says why in `reason`; then the way is
 * over.
 */
#ifndef TRACKER_BASELINE_GPU_H
#define TRACKER_BASELINE_GPU_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  BASELINE_IN_HAND = 2, /* frames that may be on their way */
  BASELINE_REASON_BYTES = 256
};

typedef enum baseline_way {
  BASELINE_STREAM,   /* all targets in one stream */
  BASELINE_PRIORITY, /* targets in streams of their own, the first one's has the highest priority */
  BASELINE_GRAPH,    /* a frame of all targets is one graph */
  BASELINE_WAYS
} baseline_way;

/** What runs beside a way, in a stream of the lowest priority: once a frame, or left out where the
 *  one before is not over. */
typedef enum baseline_company {
  BASELINE_ALONE,
  BASELINE_EDGES, /* the frame's edges: 3 x 3 coefficients */
  BASELINE_COPY,  /* 1 MiB an SM is read and written */
  BASELINE_COMPANIES
} baseline_company;

/** What is the same for all targets: the parameters that the tracker's kernels are bound to. */
typedef struct baseline_setup {
  int32_t targets, rows, columns; /* of a frame */
  const void *features, *find, *train, *learn;
  const float *command; /* [targets][8] */
  int32_t streams;      /* of BASELINE_PRIORITY; targets are dealt out to them in order */
  baseline_company company;
} baseline_setup;

/** When a frame was worked on, by the GPU's clock: its first step, its boxes, its last step. */
typedef struct baseline_stamps {
  int64_t begin_ns, position_ns, end_ns;
} baseline_stamps;

typedef enum baseline_part {
  BASELINE_POSITION, /* its boxes are in the host's memory */
  BASELINE_END       /* it is learnt as well */
} baseline_part;

typedef enum baseline_outcome {
  BASELINE_THERE_IT_IS,
  BASELINE_TOO_LATE, /* `until_ns` came first */
  BASELINE_BROKEN    /* the GPU failed */
} baseline_outcome;

typedef struct baseline_gpu baseline_gpu;

#ifdef __cplusplus
extern "C" {
#endif

/** Is there a GPU that this program can use? Else `text` says why not, else its name. */
bool baseline_gpu_probe(char text[BASELINE_REASON_BYTES]);

/** "stream", "priority", "graph". */
const char *baseline_way_name(baseline_way way);
/** "none", "edges", "copy". */
const char *baseline_company_name(baseline_company company);

/** @param[out] out  close with baseline_gpu_close(); NULL on error */
bool baseline_gpu_open(const baseline_setup *setup, baseline_way way, baseline_gpu **out,
                       char reason[BASELINE_REASON_BYTES]);
void baseline_gpu_close(baseline_gpu *gpu);

/** Where frame `number` is put, dense rows: free when frame number - BASELINE_IN_HAND has ended. */
uint8_t *baseline_gpu_frame(baseline_gpu *gpu, int64_t number);
/** How often company was left out. */
int64_t baseline_gpu_left_out(const baseline_gpu *gpu);
/** Begin the next frame. Does not wait. */
bool baseline_gpu_submit(baseline_gpu *gpu, char reason[BASELINE_REASON_BYTES]);
/**
 * Wait for a part of a frame, looking all the time.
 *
 * @param until_ns  of CLOCK_MONOTONIC
 */
baseline_outcome baseline_gpu_await(baseline_gpu *gpu, int64_t number, baseline_part part,
                                    int64_t until_ns, char reason[BASELINE_REASON_BYTES]);
/** Of a frame whose position was awaited, and of which less than BASELINE_IN_HAND later ones were
 *  submitted: [targets][8]. */
void baseline_gpu_boxes(const baseline_gpu *gpu, int64_t number, float *boxes);
/** The same of a frame that has ended. */
baseline_stamps baseline_gpu_stamps(const baseline_gpu *gpu, int64_t number);

#ifdef __cplusplus
}
#endif
#endif
