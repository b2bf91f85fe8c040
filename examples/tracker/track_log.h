/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a tracker said, frame by frame, as a CSV file:
 *
 *   frame,target,x,y,w,h,peak,status,published_ns
 *   12,0,104.25,80.0078125,40,32,0.731482744,tracked,120098304
 *
 * Numbers have the nine digits that give the same float back, so that logs with the same bits are
 * the same files. `published_ns` is `-` where it is not known, or is left out so that logs of two
 * backends can be compared with cmp.
 */
#ifndef TRACKER_TRACK_LOG_H
#define TRACKER_TRACK_LOG_H

#include <stdint.h>

#include <ttprem/diag.h>

#include "box.h"

#define TRACK_NO_TIME INT64_MIN

typedef enum track_status {
  TRACK_STARTED, /* the box was given, not found */
  TRACK_TRACKED,
  TRACK_LOST,  /* the peak is too low to believe the box */
  TRACK_TRUTH, /* no tracker: where the target is */
  TRACK_STATUS_COUNT
} track_status;

typedef struct track_row {
  int64_t frame;
  int32_t target;
  box where;
  float peak; /* NaN: none */
  track_status status;
  int64_t published_ns; /* TRACK_NO_TIME: not known */
} track_row;

/** Zero before the first row. */
typedef struct track_log {
  track_row *rows;
  size_t count, room;
} track_log;

/** "started", "tracked", "lost", "truth". */
const char *track_status_name(track_status status);

/** @retval PREM_ERR_MEMORY  nothing was changed */
prem_status track_log_add(track_log *log, const track_row *row);
void track_log_free(track_log *log);
/** The highest target and 1; 0 of an empty log. */
int32_t track_log_targets(const track_log *log);

/** Write it, whole or not at all. @param times  with `published_ns` */
prem_status track_log_write(const track_log *log, const char *path, bool times, prem_diag *diag);
/**
 * Read it.
 *
 * @param[out] log  was zero; free with track_log_free(); empty on error
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  another header, or a row that is none: diag has its line
 */
prem_status track_log_read(const char *path, track_log *log, prem_diag *diag);

#endif
