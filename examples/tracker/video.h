/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where frames come from, whatever it is: grey, one byte a pixel, one size, in order.
 *
 *   video_open -> video_facts_of -> { video_next, video_truth }* -> video_close
 *
 * A source is named by a text:
 *
 *   synth, synth:seed=3,size=640x480,targets=4    made of numbers: synth.h
 *   FOLDER             pictures with numbers for names, in FOLDER or FOLDER/img, as OTB has them;
 *                      groundtruth_rect.txt beside img is the ground truth
 *   FILE.pgm, -        P5 pictures one behind the other; - is stdin
 *   FILE               all else: what ffmpeg can decode
 *
 * Folders and videos are decoded by an ffmpeg process, with options that give the same bytes
 * everywhere. One thread at a time may use a video. No call raises a signal.
 */
#ifndef TRACKER_VIDEO_H
#define TRACKER_VIDEO_H

#include <stdint.h>

#include <ttprem/diag.h>

#include "box.h"

typedef struct video video;

#define VIDEO_MOST_HELD (INT64_C(4) << 30) /* bytes */

typedef struct video_request {
  const char *source;
  const char *truth; /* a file for truth_read(); NULL: what belongs to the source, if anything */
  int32_t width, height; /* scale what ffmpeg decodes to so many px; 0, 0: as it is */
  int64_t patience_ns;   /* for one frame; 0: 10 s */
  int64_t hold;          /* keep so many frames at most in memory, and show them forwards and
                            backwards without an end, so that none has to be waited for; 0: none */
} video_request;

typedef struct video_facts {
  char name[64]; /* of the sequence: "synth", "Crossing", "street.mp4" */
  int32_t width, height;
  int64_t frames;  /* -1: not known before its end */
  int32_t targets; /* with ground truth; 0: there is none */
} video_facts;

/**
 * Open a video and look at its first frame.
 *
 * @param[out] out  close with video_close(); NULL on error.
 * @retval PREM_ERR_ARGUMENT     no source, settings out of range, more held than VIDEO_MOST_HELD
 * @retval PREM_ERR_IO           unreadable
 * @retval PREM_ERR_PARSE        empty, broken, of absurd size: diag says what
 * @retval PREM_ERR_UNAVAILABLE  it needs ffmpeg, which is not installed
 * @retval PREM_ERR_TIMEOUT      nothing came
 */
prem_status video_open(const video_request *request, video **out, prem_diag *diag);
/** Ends what decodes it. */
void video_close(video *of);

const video_facts *video_facts_of(const video *of);

/**
 * The next frame, into rows `pitch_bytes` apart.
 *
 * @retval PREM_ERR_ENDED  it was the last one; diag stays as it is
 * Others as video_open(); then `pixels` may hold a part of a frame, and the video is over.
 */
prem_status video_next(video *of, uint8_t *pixels, size_t pitch_bytes, prem_diag *diag);

/**
 * The next frame where the video keeps it, rows without gaps, until the next call.
 *
 * @retval as video_next()
 */
prem_status video_look(video *of, const uint8_t **pixels, prem_diag *diag);

/** Leave out frames. PREM_ERR_ENDED where there are not so many; else as video_next(). */
prem_status video_skip(video *of, int64_t frames, prem_diag *diag);

/** Where a target is in a frame, any frame; false where that is not known. */
bool video_truth(const video *of, int64_t frame, int32_t target, box *out);

/**
 * Write what is left of a video as P5 pictures one behind the other, and the ground truth of these
 * frames as a track log, both whole or not at all.
 *
 * @param most        so many frames at most
 * @param truth_path  NULL: no ground truth
 */
prem_status video_save(video *of, int64_t most, const char *frames_path, const char *truth_path,
                       prem_diag *diag);

#endif
