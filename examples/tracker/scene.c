/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "film.h"
#include "score.h"

enum {
  WAY_FRAMES = 60,
  FEW_WAY_FRAMES = 15,
  GAP_PX = 8,
  FEW_TARGETS = 4,
  CELL_PX = 560,
  MOST_BOXES = 1 << 26
};

struct scene {
  video *frames;
  int64_t next;          /* frame */
  const track_row **row; /* [frame][target]; NULL: none */
  int64_t count;
  int32_t targets; /* of the log */
  uint8_t *pixels;
};

/* ---- opening ---- */

static prem_status index_rows(scene *of, const track_log *log, prem_diag *diag) {
  of->targets = track_log_targets(log);
  for (size_t i = 0; i < log->count; ++i)
    of->count = log->rows[i].frame >= of->count ? log->rows[i].frame + 1 : of->count;
  if (of->count > MOST_BOXES / (of->targets + 1)) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "",
                  "%" PRId64 " frames of %" PRId32
                  " targets are too many to draw: at most 2^26 boxes",
                  of->count, of->targets);
    of->count = 0;
    return PREM_ERR_PARSE;
  }
  of->row = calloc((size_t)of->count * (size_t)of->targets + 1, sizeof(const track_row *));
  for (size_t i = 0; i < log->count && of->row; ++i)
    of->row[log->rows[i].frame * of->targets + log->rows[i].target] = &log->rows[i];
  return of->row ? PREM_OK : PREM_ERR_MEMORY;
}

prem_status scene_open(const video_request *request, const track_log *log, scene **out,
                       prem_diag *diag) {
  *out = NULL;
  scene *of = calloc(1, sizeof *of);
  if (!of)
    return PREM_ERR_MEMORY;
  prem_status status = video_open(request, &of->frames, diag);
  if (status == PREM_OK) {
    const video_facts *facts = video_facts_of(of->frames);
    of->pixels = malloc((size_t)facts->width * (size_t)facts->height);
    status = of->pixels ? index_rows(of, log, diag) : PREM_ERR_MEMORY;
  }
  if (status == PREM_OK)
    *out = of;
  else
    scene_close(of);
  return status;
}

void scene_close(scene *of) {
  if (!of)
    return;
  video_close(of->frames);
  free(of->row);
  free(of->pixels);
  free(of);
}

int64_t scene_frames(const scene *of) {
  return of->count;
}

void scene_size(const scene *of, int32_t zoom, int32_t *width, int32_t *height) {
  *width = video_facts_of(of->frames)->width * zoom;
  *height = video_facts_of(of->frames)->height * zoom;
}

/* ---- one frame ---- */

/** Where a frame is drawn, and how many frames back the way is shown. A frame may begin outside the
 *  canvas. */
typedef struct place {
  canvas *on;
  int32_t left, top, zoom;
  int64_t way_frames;
} place;

static const track_row *row_at(const scene *of, int64_t frame, int32_t target) {
  return frame >= 0 && frame < of->count ? of->row[frame * of->targets + target] : NULL;
}

static box put(const place *at, const box *one) {
  const float zoom = (float)at->zoom;
  return (box){(float)at->left + one->x * zoom, (float)at->top + one->y * zoom, one->w * zoom,
               one->h * zoom};
}

/* Of its own colour on a dark one, to be seen on every ground. */
static void draw_box(const place *at, const box *one, double thick, double dash, colour with) {
  const box where = put(at, one);
  canvas_outline(at->on, where, thick + 1.5, 0, canvas_black);
  canvas_outline(at->on, where, thick, dash, with);
}

static void draw_way(const scene *of, const place *at, int64_t frame, int32_t target) {
  const track_row *last = NULL;
  const int64_t most = of->targets > FEW_TARGETS ? FEW_WAY_FRAMES : at->way_frames;
  const int64_t first = frame > most ? frame - most : 0;
  for (int64_t i = first; i <= frame; ++i) {
    const track_row *row = row_at(of, i, target);
    if (row && last) {
      const box from = put(at, &last->where), to = put(at, &row->where);
      canvas_line(at->on, from.x + from.w / 2, from.y + from.h / 2, to.x + to.w / 2,
                  to.y + to.h / 2, at->zoom > 1 ? 2.5 : 1.5, canvas_yellow);
    }
    last = row ? row : last;
  }
}

static void draw_target(const scene *of, const place *at, int64_t frame, int32_t target) {
  const track_row *row = row_at(of, frame, target);
  const double thick = of->targets > FEW_TARGETS ? 1.5 : at->zoom > 1 ? 3.5 : 2.5;
  box truth;
  if (row)
    draw_way(of, at, frame, target);
  if (row && row->status == TRACK_LOST)
    draw_box(at, &row->where, thick, 4, canvas_vermilion);
  else if (row)
    draw_box(at, &row->where, thick, 0, canvas_orange);
  if (video_truth(of->frames, frame, target,
                  &truth)) { /* above: its gaps let the other one through */
    const box where = put(at, &truth);
    canvas_outline(at->on, where, thick, 8, canvas_sky);
  }
  if (row && of->targets > 1) {
    const box where = put(at, &row->where);
    char number[16];
    snprintf(number, sizeof number, "%" PRId32, target);
    if (isfinite(where.x + where.y) && fabsf(where.x) + fabsf(where.y) < 1e5F)
      canvas_label(at->on, (int32_t)where.x + 2, (int32_t)where.y + 2, 1, number, canvas_white);
  }
}

/* The mean overlap of the targets that have both boxes; less than 0: there are none. */
static double overlap_of(const scene *of, int64_t frame) {
  double sum = 0, count = 0;
  for (int32_t target = 0; target < of->targets; ++target) {
    const track_row *row = row_at(of, frame, target);
    box truth;
    if (row && video_truth(of->frames, frame, target, &truth)) {
      sum += box_overlap(&truth, &row->where);
      ++count;
    }
  }
  return count > 0 ? sum / count : -1;
}

static int32_t at_least_0(int32_t value) {
  return value > 0 ? value : 0;
}

static void draw_caption(const scene *of, const place *at, int64_t frame) {
  char text[64];
  bool lost = false;
  for (int32_t target = 0; target < of->targets; ++target) {
    const track_row *row = row_at(of, frame, target);
    lost |= row && row->status == TRACK_LOST;
  }
  const double overlap = overlap_of(of, frame);
  int length = snprintf(text, sizeof text, "%" PRId64, frame);
  if (overlap >= 0)
    length += snprintf(text + length, sizeof text - (size_t)length, "  IoU %.2f", overlap);
  if (lost)
    snprintf(text + length, sizeof text - (size_t)length, "  lost");
  canvas_label(at->on, at_least_0(at->left) + 4, at_least_0(at->top) + 4,
               at->on->width >= 300 ? 3 : 1, text, canvas_white);
}

/* What was read last. */
static void draw_frame(const scene *of, const place *at) {
  const video_facts *facts = video_facts_of(of->frames);
  canvas_grey(at->on, at->left, at->top, at->zoom, of->pixels, (size_t)facts->width, facts->width,
              facts->height);
  for (int32_t target = 0; target < of->targets; ++target)
    draw_target(of, at, of->next - 1, target);
  draw_caption(of, at, of->next - 1);
}

static prem_status read_frame(scene *of, prem_diag *diag) {
  const size_t pitch = (size_t)video_facts_of(of->frames)->width;
  const prem_status status = video_next(of->frames, of->pixels, pitch, diag);
  if (status == PREM_OK)
    ++of->next;
  return status;
}

prem_status scene_draw(scene *of, canvas *on, int32_t left, int32_t top, int32_t zoom,
                       prem_diag *diag) {
  const prem_status status = read_frame(of, diag);
  if (status == PREM_OK)
    draw_frame(of, &(place){on, left, top, zoom, WAY_FRAMES});
  return status;
}

prem_status scene_skip(scene *of, int64_t frames, prem_diag *diag) {
  const prem_status status = video_skip(of->frames, frames, diag);
  if (status == PREM_OK)
    of->next += frames;
  return status;
}

/* ---- a sheet ---- */

static int32_t zoom_for(int32_t width, int32_t wanted) {
  const int32_t zoom = width > 0 ? (wanted + width / 2) / width : 1;
  return zoom < 1 ? 1 : zoom > 8 ? 8 : zoom;
}

/** A part of a frame: of one target its surroundings, of several all. */
typedef struct part {
  int32_t left, top, width, height;
} part;

static int32_t limited(double value, int32_t limit) {
  return value > 0 ? (value < limit ? (int32_t)value : limit) : 0;
}

/* Three and a half times as high as the largest box that is to be seen, four by three. */
static part surroundings(const scene *of, const track_log *log) {
  const video_facts *facts = video_facts_of(of->frames);
  double largest = 0;
  for (size_t i = 0; i < log->count; ++i)
    largest = fmax(largest, fmax(log->rows[i].where.h, log->rows[i].where.w * 0.75));
  part whole = {0, 0, facts->width, facts->height};
  const int32_t height = limited(fmax(largest * 3.5, facts->height / 3.0), facts->height);
  const int32_t width = height * 4 / 3;
  if (of->targets == 1 && width < facts->width)
    whole = (part){0, 0, width, height};
  return whole;
}

static void centre(const scene *of, int64_t frame, part *shown) {
  const video_facts *facts = video_facts_of(of->frames);
  const track_row *row = row_at(of, frame, 0);
  if (!row || of->targets != 1)
    return;
  const double x = (double)row->where.x + (row->where.w - (float)shown->width) / 2.0;
  const double y = (double)row->where.y + (row->where.h - (float)shown->height) / 2.0;
  shown->left = limited(x, facts->width - shown->width);
  shown->top = limited(y, facts->height - shown->height);
}

/** How a sheet is laid out: one frame above, then cells in two columns. */
typedef struct layout {
  part shown;
  int32_t zoom, cell_width, cell_height;
  int32_t whole_zoom, whole_height;
} layout;

static layout lay_out(const scene *of, const track_log *log) {
  layout sheet = {.shown = surroundings(of, log)};
  int32_t width, height;
  scene_size(of, 1, &width, &height);
  sheet.zoom = zoom_for(sheet.shown.width, CELL_PX);
  sheet.cell_width = sheet.shown.width * sheet.zoom;
  sheet.cell_height = sheet.shown.height * sheet.zoom;
  sheet.whole_zoom = zoom_for(width, 2 * sheet.cell_width);
  while (sheet.whole_zoom > 1 && width * sheet.whole_zoom > 2 * sheet.cell_width + GAP_PX)
    --sheet.whole_zoom;
  sheet.whole_height = height * sheet.whole_zoom;
  return sheet;
}

static prem_status draw_cell(scene *of, const layout *sheet, int32_t number, canvas *out,
                             prem_diag *diag) {
  part shown = sheet->shown;
  canvas cell = canvas_new(sheet->cell_width, sheet->cell_height);
  prem_status status = cell.rgb ? read_frame(of, diag) : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    centre(of, of->next - 1, &shown);
    draw_frame(of, &(place){&cell, -shown.left * sheet->zoom, -shown.top * sheet->zoom, sheet->zoom,
                            WAY_FRAMES});
    canvas_copy(out, number % 2 * (sheet->cell_width + GAP_PX),
                sheet->whole_height + GAP_PX + number / 2 * (sheet->cell_height + GAP_PX), &cell);
  }
  canvas_free(&cell);
  return status;
}

static prem_status fill_sheet(scene *of, const track_log *log, int32_t count, canvas *out,
                              prem_diag *diag) {
  const layout sheet = lay_out(of, log);
  prem_status status = PREM_OK;
  int32_t width, height;
  scene_size(of, sheet.whole_zoom, &width, &height);
  *out = canvas_new(width > 2 * sheet.cell_width + GAP_PX ? width : 2 * sheet.cell_width + GAP_PX,
                    height + (sheet.cell_height + GAP_PX) * ((count + 1) / 2));
  if (!out->rgb)
    return PREM_ERR_MEMORY;
  canvas_fill(out, (box){0, 0, (float)out->width, (float)out->height}, canvas_white, 1);
  for (int32_t i = 0; i < count && status == PREM_OK; ++i) {
    const int64_t frame = count > 1 ? (of->count - 1) * i / (count - 1) : 0;
    status = scene_skip(of, frame - of->next, diag);
    if (status == PREM_OK)
      status = draw_cell(of, &sheet, i, out, diag);
  }
  if (status == PREM_OK)
    draw_frame(of, &(place){out, (out->width - width) / 2, 0, sheet.whole_zoom, of->count});
  return status;
}

/* A log that belongs to the video has no more frames than it. */
static prem_status explain(prem_status status, prem_diag *diag) {
  if (status != PREM_ERR_ENDED)
    return status;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "",
                "the log has more frames than the video: is it another video's?");
  return PREM_ERR_PARSE;
}

prem_status scene_sheet(const video_request *request, const track_log *log, int32_t count,
                        canvas *out, prem_diag *diag) {
  scene *of = NULL;
  *out = (canvas){0};
  prem_status status = scene_open(request, log, &of, diag);
  if (status == PREM_OK) {
    const int32_t most = of->count < count ? (int32_t)of->count : count;
    status = fill_sheet(of, log, most > 0 ? most : 1, out, diag);
  }
  scene_close(of);
  if (status != PREM_OK)
    canvas_free(out);
  return explain(status, diag);
}

/* ---- a film ---- */

prem_status scene_film(const video_request *request, const track_log *log, int32_t frames_per_s,
                       const char *path, prem_diag *diag) {
  scene *of = NULL;
  film *into = NULL;
  canvas on = {0};
  prem_status status = scene_open(request, log, &of, diag);
  if (status == PREM_OK) {
    const video_facts *facts = video_facts_of(of->frames);
    const int32_t zoom = zoom_for(facts->width, CELL_PX);
    const int32_t width = facts->width * zoom, height = facts->height * zoom;
    on = canvas_new(width + width % 2, height + height % 2); /* as encoders want it */
    status =
        on.rgb ? film_open(path, on.width, on.height, frames_per_s, &into, diag) : PREM_ERR_MEMORY;
    for (int64_t i = 0; i < of->count && status == PREM_OK; ++i) {
      status = scene_draw(of, &on, 0, 0, zoom, diag);
      if (status == PREM_OK)
        status = film_add(into, &on, diag);
    }
  }
  if (status == PREM_OK)
    status = film_close(into, diag);
  else
    film_abandon(into);
  scene_close(of);
  canvas_free(&on);
  return explain(status, diag);
}
