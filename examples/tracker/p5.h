/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Grey pictures one behind the other, as netpbm's P5 has them: "P5", width, height, 255 and the
 * bytes. Comments are understood; 16 bit a pixel are not.
 */
#ifndef TRACKER_P5_H
#define TRACKER_P5_H

#include <stdint.h>
#include <stdio.h>

#include <ttprem/base.h>

enum { P5_MIN_SIDE = 16, P5_MAX_SIDE = 8192, P5_REASON_BYTES = 200 };

typedef struct p5_reader {
  int descriptor;
  int64_t patience_ns; /* for the next bytes to come */
  int64_t frames;      /* whole ones that were read */
  int32_t width, height;
  size_t header_bytes; /* of the first picture */
  bool has_header;     /* of the next picture */
  size_t begin, end;   /* of what is in the buffer */
  uint8_t buffer[1 << 16];
} p5_reader;

/**
 * Read the next picture's header, unless that was done already; all have the first one's size.
 *
 * @retval PREM_ERR_ENDED    no bytes are left
 * @retval PREM_ERR_PARSE    no P5 there, or cut short
 * @retval PREM_ERR_TIMEOUT  nothing came
 * @retval PREM_ERR_IO       unreadable
 */
prem_status p5_header(p5_reader *reader, char reason[P5_REASON_BYTES]);
/** Read the next picture into rows `pitch_bytes` apart. Errors as p5_header(). */
prem_status p5_next(p5_reader *reader, uint8_t *pixels, size_t pitch_bytes,
                    char reason[P5_REASON_BYTES]);
/** Append a picture; false where the file cannot take it. */
bool p5_write(FILE *file, const uint8_t *pixels, size_t pitch_bytes, int32_t width, int32_t height);

#endif
