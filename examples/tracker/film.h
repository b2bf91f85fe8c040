/* SPDX-License-Identifier: Apache-2.0 */
/** A film out of pictures, as MP4: an ffmpeg process encodes what is drawn. */
#ifndef TRACKER_FILM_H
#define TRACKER_FILM_H

#include "canvas.h"

typedef struct film film;

/**
 * Begin a film. The best encoder that this ffmpeg has is taken: H.264, MPEG-4 or Motion JPEG.
 *
 * @param width, height  even
 * @param[out] out       film_close() or film_abandon(); NULL on error.
 * @retval PREM_ERR_UNAVAILABLE  no ffmpeg, or none of these encoders
 * @retval PREM_ERR_IO           the path cannot be written
 */
prem_status film_open(const char *path, int32_t width, int32_t height, int32_t frames_per_s,
                      film **out, prem_diag *diag);
/** @retval PREM_ERR_IO  the encoder gave up, or took no picture for 10 s */
prem_status film_add(film *to, const canvas *picture, prem_diag *diag);
/** Put it in place when it is whole; frees it in any case. */
prem_status film_close(film *of, prem_diag *diag);
/** Leave no trace of it. */
void film_abandon(film *of);

#endif
