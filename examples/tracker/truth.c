/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track_log.h"

enum { MOST_BOXES = 1 << 26 };

static prem_status refuse(prem_diag *diag, prem_status status, const char *path, int line,
                          const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, line}, "", "%s", reason);
  return status;
}

/* ---- a track log ---- */

static prem_status from_log(const char *path, truth_boxes *out, prem_diag *diag) {
  track_log log = {0};
  int64_t frames = 0;
  prem_status status = track_log_read(path, &log, diag);
  if (status != PREM_OK)
    return status;
  const int32_t targets = track_log_targets(&log);
  for (size_t i = 0; i < log.count; ++i)
    frames = log.rows[i].frame >= frames ? log.rows[i].frame + 1 : frames;
  if (targets == 0 || frames > MOST_BOXES / targets)
    status = refuse(diag, PREM_ERR_PARSE, path, 0, "has no boxes, or too many: at most 2^26");
  else if (!(out->boxes = calloc((size_t)frames * (size_t)targets, sizeof *out->boxes)))
    status = PREM_ERR_MEMORY;
  for (size_t i = 0; i < log.count && status == PREM_OK; ++i)
    out->boxes[log.rows[i].frame * targets + log.rows[i].target] = log.rows[i].where;
  out->frames = status == PREM_OK ? frames : 0;
  out->targets = status == PREM_OK ? targets : 0;
  track_log_free(&log);
  return status;
}

/* ---- OTB's form ---- */

static bool parse_line(const char *text, box *out) {
  float number[4];
  for (int i = 0; i < 4; ++i) {
    char *end;
    text += strspn(text, i ? ", \t" : " \t");
    number[i] = strtof(text, &end);
    if (end == text)
      return false;
    text = end;
  }
  if (text[strspn(text, " \t\r\n,")])
    return false;
  *out = (box){number[0] - 1, number[1] - 1, number[2], number[3]};
  if (!isfinite(out->x) || !isfinite(out->y) || !isfinite(out->w) || !isfinite(out->h))
    *out = (box){0};
  return true;
}

static prem_status add_box(truth_boxes *out, size_t *room, const box *one) {
  if ((size_t)out->frames == *room) {
    *room = *room ? 2 * *room : 256;
    box *boxes = realloc(out->boxes, *room * sizeof *boxes);
    if (!boxes)
      return PREM_ERR_MEMORY;
    out->boxes = boxes;
  }
  out->boxes[out->frames++] = *one;
  return PREM_OK;
}

static prem_status from_lines(FILE *file, const char *path, truth_boxes *out, prem_diag *diag) {
  char text[256];
  size_t room = 0;
  prem_status status = PREM_OK;
  out->targets = 1;
  for (int line = 1; status == PREM_OK && fgets(text, sizeof text, file); ++line) {
    box one;
    if (!text[strspn(text, " \t\r\n")])
      continue;
    if (out->frames == MOST_BOXES || !parse_line(text, &one))
      status = refuse(diag, PREM_ERR_PARSE, path, line,
                      "is no box: write x,y,width,height, pixels counted from 1");
    else
      status = add_box(out, &room, &one);
  }
  if (status == PREM_OK && ferror(file))
    status = refuse(diag, PREM_ERR_IO, path, 0, "cannot be read");
  if (status == PREM_OK && out->frames == 0)
    status = refuse(diag, PREM_ERR_PARSE, path, 0, "has no boxes");
  return status;
}

/* ---- either ---- */

prem_status truth_read(const char *path, truth_boxes *out, prem_diag *diag) {
  static const char log_begins[] = "frame,";
  char start[sizeof log_begins] = "";
  *out = (truth_boxes){0};
  FILE *file = fopen(path, "re");
  if (!file)
    return refuse(diag, PREM_ERR_IO, path, 0, strerror(errno));
  const size_t got = fread(start, 1, sizeof start - 1, file);
  const bool is_log = got == sizeof start - 1 && strcmp(start, log_begins) == 0;
  rewind(file);
  prem_status status = is_log ? from_log(path, out, diag) : from_lines(file, path, out, diag);
  fclose(file);
  if (status != PREM_OK)
    truth_free(out);
  return status;
}

void truth_free(truth_boxes *of) {
  free(of->boxes);
  *of = (truth_boxes){0};
}

const box *truth_at(const truth_boxes *of, int64_t frame, int32_t target) {
  if (frame < 0 || frame >= of->frames || target < 0 || target >= of->targets)
    return NULL;
  const box *one = &of->boxes[frame * of->targets + target];
  return box_is_known(one) ? one : NULL;
}
