/* SPDX-License-Identifier: Apache-2.0 */
/** Following targets through a video: what a schedule makes of each frame, as a log. */
#ifndef TRACKER_FOLLOW_H
#define TRACKER_FOLLOW_H

#include <signal.h>

#include <ttprem/ttprem.h>

#include "schedule.h"
#include "track_log.h"
#include "video.h"

typedef struct follow_request {
  const prem_backend *backend; /* NULL: without a schedule, the kernels' references one by one */
  prem_mode mode;
  video_request video;
  video *open;           /* it, open and at its beginning, for what is read once; else NULL */
  int64_t start;         /* the video's frame that is the first one, from 0 */
  int64_t frames;        /* at most; 0: to the video's end */
  int64_t lasts_ns;      /* no frame but the first two is taken later than that; 0: no limit */
  int64_t logged;        /* the first so many results are put down with their boxes; 0: all */
  int64_t step;          /* every so many of them is taken, the others left out; at least 1 */
  const box *boxes;      /* of the targets in the first frame */
  track_setting setting; /* its size is set by the video's */
  int64_t every_ns;      /* from frame to frame; 0: with TRACK_CAMERA the setting's period, with
                            TRACK_EACH      as they are worked */
  int32_t ahead_percent; /* with TRACK_CAMERA: of a period, so long before it is taken a frame
                            comes; 0: 75, or less, from 25 on, where only that lets its
                            boxes be there when the next one comes */
  int64_t traced;        /* keep when the phases of the first so many hyperperiods ran; 0: none */
  const volatile sig_atomic_t *stop; /* not 0: end, and keep what there is; may be NULL */
} follow_request;

/** When a frame's boxes were to be shown, and when they were. */
typedef struct follow_instant {
  int64_t frame;
  int64_t planned_ns, shown_ns;
} follow_instant;

/** What became of it. Times of the log's rows count from when the first frame was taken. */
typedef struct follow_result {
  track_log log;
  int64_t *taken_ns; /* [taken] when each frame was, from `start` on */
  int64_t taken;
  int64_t tracked;  /* frames with a result */
  int64_t lost;     /* frames that found no free buffer, or were over when their turn came */
  int64_t late;     /* results shown behind their publish_ns */
  int64_t overruns; /* jobs that were not over at their deadline */
  int64_t age_max_ns, age_sum_ns; /* from a frame's being taken to its boxes being shown */
  /* how long before, and behind, their planned instant boxes were shown; for publish_ns */
  int64_t early_max_ns, late_max_ns;
  int64_t behind_max_ns;    /* the same behind the plan's own instant, on the plan's own clock */
  follow_instant *instants; /* [tracked] */
  prem_trace *trace;        /* with `traced` and a backend, sorted; else NULL */
  prem_schedule *schedule;  /* whose trace it is */
} follow_result;

/**
 * Follow the targets. With TRACK_EACH each frame is taken when the one before it is begun, or
 * later, by the clock, with TRACK_CAMERA one every period; the first ones at once, as many as the
 * setting's queue holds.
 *
 * @param[out] out  free with follow_free(), also after an error: what was found until then
 * @retval PREM_ERR_INTERRUPTED  `stop` was seen
 * @retval PREM_ERR_TIMEOUT      a result did not come within 10 s
 * Others as video_open(), prem_schedule_load(), prem_prepare() and prem_live_start().
 */
prem_status follow(const follow_request *request, follow_result *out, prem_diag *diag);
void follow_free(follow_result *of);

/** Rows of `command` that begin targets at their boxes, and rows of `boxes` as rows of a log; rows
 *  are `pitch` numbers apart. */
void follow_command(const box *boxes, int32_t targets, float *rows, int64_t pitch);
prem_status follow_note(track_log *log, int64_t frame, int32_t targets, const float *rows,
                        int64_t pitch, int64_t published_ns);

#endif
