/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pictures of a track: the frames again, with the boxes of a log and of the ground truth in them.
 * The ground truth is a dashed blue box, what was tracked an orange one, red and dashed where it
 * was lost, with the way that its centre took.
 */
#ifndef TRACKER_SCENE_H
#define TRACKER_SCENE_H

#include "canvas.h"
#include "track_log.h"
#include "video.h"

typedef struct scene scene;

/**
 * Open the video of a log once more.
 *
 * @param log       must outlive the scene
 * @param[out] out  close with scene_close(); NULL on error. Errors as video_open().
 */
prem_status scene_open(const video_request *request, const track_log *log, scene **out,
                       prem_diag *diag);
void scene_close(scene *of);

/** Frames that have a row in the log: from 0 to the last of them. */
int64_t scene_frames(const scene *of);
/** Pixels that a frame takes across and down, drawn with `zoom`. */
void scene_size(const scene *of, int32_t zoom, int32_t *width, int32_t *height);

/** Read the next frame and draw it; a part of the canvas from left, top on. Errors as
 *  video_next(). */
prem_status scene_draw(scene *of, canvas *on, int32_t left, int32_t top, int32_t zoom,
                       prem_diag *diag);
/** Leave out frames. */
prem_status scene_skip(scene *of, int64_t frames, prem_diag *diag);

/**
 * A sheet: the last frame with all of the way, and beneath it `count` frames in two columns, spread
 * evenly from the log's first to its last; of one target its surroundings only.
 *
 * @param[out] out  free with canvas_free(); zero on error
 */
prem_status scene_sheet(const video_request *request, const track_log *log, int32_t count,
                        canvas *out, prem_diag *diag);

/**
 * A film of all frames of the log, as MP4, by ffmpeg; whole or not at all.
 *
 * @retval PREM_ERR_UNAVAILABLE  there is no ffmpeg, or none that can encode: no film, and nothing
 *                               else is wrong
 */
prem_status scene_film(const video_request *request, const track_log *log, int32_t frames_per_s,
                       const char *path, prem_diag *diag);

#endif
