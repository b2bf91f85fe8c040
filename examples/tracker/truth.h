/* SPDX-License-Identifier: Apache-2.0 */
/** Where targets really are: boxes that somebody marked by hand, or that a generator knows. */
#ifndef TRACKER_TRUTH_H
#define TRACKER_TRUTH_H

#include <stdint.h>

#include <ttprem/diag.h>

#include "box.h"

/** Zero where nothing is known. */
typedef struct truth_boxes {
  box *boxes; /* [frames][targets] */
  int64_t frames;
  int32_t targets;
} truth_boxes;

/**
 * Read boxes: a track log (track_log.h), or OTB's form, a line `x,y,w,h` a frame with commas, tabs
 * or spaces, whose pixels count from 1. A line of NaN or without width says that none is known.
 *
 * @param[out] out  was zero; free with truth_free(); zero on error
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  a line that is neither
 */
prem_status truth_read(const char *path, truth_boxes *out, prem_diag *diag);
void truth_free(truth_boxes *of);
/** NULL where nothing is known. */
const box *truth_at(const truth_boxes *of, int64_t frame, int32_t target);

#endif
