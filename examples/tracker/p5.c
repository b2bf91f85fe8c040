/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures out of a file or a pipe, whichever pieces it comes in. */
#include "p5.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

/* ---- bytes ---- */

/* At least one more byte in the buffer. */
static prem_status fill(p5_reader *reader, char reason[P5_REASON_BYTES]) {
  if (!child_ready(reader->descriptor, POLLIN, child_now_ns() + reader->patience_ns)) {
    snprintf(reason, P5_REASON_BYTES, "no picture came for %" PRId64 " ms after frame %" PRId64,
             reader->patience_ns / 1000000, reader->frames - 1);
    return PREM_ERR_TIMEOUT;
  }
  ssize_t got;
  do
    got = read(reader->descriptor, reader->buffer, sizeof reader->buffer);
  while (got < 0 && errno == EINTR);
  if (got < 0) {
    snprintf(reason, P5_REASON_BYTES, "frame %" PRId64 " cannot be read: %s", reader->frames,
             strerror(errno));
    return PREM_ERR_IO;
  }
  reader->begin = 0;
  reader->end = (size_t)got;
  return got > 0 ? PREM_OK : PREM_ERR_ENDED;
}

static prem_status next_byte(p5_reader *reader, int *byte, char reason[P5_REASON_BYTES]) {
  if (reader->begin == reader->end) {
    const prem_status status = fill(reader, reason);
    if (status != PREM_OK)
      return status;
  }
  *byte = reader->buffer[reader->begin++];
  ++reader->header_bytes;
  return PREM_OK;
}

/* ---- a header ---- */

static bool is_space(int byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static prem_status cut_short(const p5_reader *reader, char reason[P5_REASON_BYTES]) {
  snprintf(reason, P5_REASON_BYTES, "frame %" PRId64 " is cut short in its P5 header",
           reader->frames);
  return PREM_ERR_PARSE;
}

static prem_status no_header(const p5_reader *reader, char reason[P5_REASON_BYTES]) {
  snprintf(reason, P5_REASON_BYTES, "frame %" PRId64 " does not begin with 'P5 WIDTH HEIGHT 255'",
           reader->frames);
  return PREM_ERR_PARSE;
}

/* A number, with the spaces and comments before it and the one space behind it. */
static prem_status read_number(p5_reader *reader, int32_t *out, char reason[P5_REASON_BYTES]) {
  int byte = 0, digits = 0;
  bool in_comment = false;
  *out = 0;
  for (int length = 0; length < 4096; ++length) {
    const prem_status status = next_byte(reader, &byte, reason);
    if (status != PREM_OK)
      return status == PREM_ERR_ENDED ? cut_short(reader, reason) : status;
    if (in_comment) {
      in_comment = byte != '\n';
    } else if (byte >= '0' && byte <= '9' && digits < 9) {
      *out = *out * 10 + (byte - '0');
      ++digits;
    } else if (is_space(byte)) {
      if (digits > 0)
        return PREM_OK;
    } else if (byte == '#' && digits == 0) {
      in_comment = true;
    } else {
      break;
    }
  }
  return no_header(reader, reason);
}

static prem_status read_magic(p5_reader *reader, char reason[P5_REASON_BYTES]) {
  int byte = 0;
  prem_status status;
  do
    status = next_byte(reader, &byte, reason);
  while (status == PREM_OK && is_space(byte) && reader->frames > 0); /* between two pictures */
  if (status != PREM_OK)
    return status; /* ended: there are no more */
  if (byte != 'P')
    return no_header(reader, reason);
  status = next_byte(reader, &byte, reason);
  if (status != PREM_OK)
    return status == PREM_ERR_ENDED ? cut_short(reader, reason) : status;
  return byte == '5' ? PREM_OK : no_header(reader, reason);
}

static prem_status judge(p5_reader *reader, const int32_t number[3], char reason[P5_REASON_BYTES]) {
  const int32_t width = number[0], height = number[1];
  if (number[2] != 255)
    snprintf(reason, P5_REASON_BYTES,
             "frame %" PRId64 " has grey levels up to %" PRId32 "; 255 are read", reader->frames,
             number[2]);
  else if (width < P5_MIN_SIDE || width > P5_MAX_SIDE || height < P5_MIN_SIDE ||
           height > P5_MAX_SIDE)
    snprintf(reason, P5_REASON_BYTES,
             "frame %" PRId64 " has %" PRId32 " x %" PRId32 " px; each side may have %d to %d",
             reader->frames, width, height, P5_MIN_SIDE, P5_MAX_SIDE);
  else if (reader->width && (width != reader->width || height != reader->height))
    snprintf(reason, P5_REASON_BYTES,
             "frame %" PRId64 " has %" PRId32 " x %" PRId32 " px, those before it %" PRId32
             " x %" PRId32,
             reader->frames, width, height, reader->width, reader->height);
  else
    return PREM_OK;
  return PREM_ERR_PARSE;
}

prem_status p5_header(p5_reader *reader, char reason[P5_REASON_BYTES]) {
  int32_t number[3] = {0};
  const size_t first_bytes = reader->header_bytes;
  if (reader->has_header)
    return PREM_OK;
  reader->header_bytes = 0;
  prem_status status = read_magic(reader, reason);
  for (int i = 0; i < 3 && status == PREM_OK; ++i)
    status = read_number(reader, &number[i], reason);
  if (status == PREM_OK)
    status = judge(reader, number, reason);
  if (reader->frames > 0)
    reader->header_bytes = first_bytes;
  if (status != PREM_OK)
    return status;
  reader->width = number[0];
  reader->height = number[1];
  reader->has_header = true;
  return PREM_OK;
}

/* ---- a picture ---- */

static prem_status read_row(p5_reader *reader, uint8_t *row, int32_t number,
                            char reason[P5_REASON_BYTES]) {
  for (size_t done = 0, wanted = (size_t)reader->width; done < wanted;) {
    if (reader->begin == reader->end) {
      const prem_status status = fill(reader, reason);
      if (status == PREM_ERR_ENDED) {
        snprintf(reason, P5_REASON_BYTES,
                 "frame %" PRId64 " is cut short in row %" PRId32 " of %" PRId32, reader->frames,
                 number, reader->height);
        return PREM_ERR_PARSE;
      }
      if (status != PREM_OK)
        return status;
    }
    const size_t there = reader->end - reader->begin;
    const size_t piece = there < wanted - done ? there : wanted - done;
    memcpy(row + done, reader->buffer + reader->begin, piece);
    reader->begin += piece;
    done += piece;
  }
  return PREM_OK;
}

prem_status p5_next(p5_reader *reader, uint8_t *pixels, size_t pitch_bytes,
                    char reason[P5_REASON_BYTES]) {
  prem_status status = p5_header(reader, reason);
  for (int32_t row = 0; row < reader->height && status == PREM_OK; ++row)
    status = read_row(reader, pixels + (size_t)row * pitch_bytes, row, reason);
  if (status != PREM_OK)
    return status;
  reader->has_header = false;
  ++reader->frames;
  return PREM_OK;
}

bool p5_write(FILE *file, const uint8_t *pixels, size_t pitch_bytes, int32_t width,
              int32_t height) {
  if (fprintf(file, "P5\n%" PRId32 " %" PRId32 "\n255\n", width, height) < 0)
    return false;
  for (int32_t row = 0; row < height; ++row)
    if (fwrite(pixels + (size_t)row * pitch_bytes, 1, (size_t)width, file) != (size_t)width)
      return false;
  return true;
}
