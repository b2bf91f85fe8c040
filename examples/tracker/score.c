/* SPDX-License-Identifier: Apache-2.0 */
#include "score.h"

#include <math.h>
#include <stdlib.h>

static const double far_off_px = 1e6;

/* ---- two boxes ---- */

static bool is_number(const box *one) {
  return isfinite(one->x) && isfinite(one->y) && isfinite(one->w) && isfinite(one->h);
}

double box_distance(const box *one, const box *other) {
  const double across = (one->x + one->w / 2.0) - (other->x + other->w / 2.0);
  const double down = (one->y + one->h / 2.0) - (other->y + other->h / 2.0);
  return sqrt(across * across + down * down);
}

/* Of two stretches of a line, what they share. */
static double shared(double from, double length, double other_from, double other_length) {
  const double low = fmax(from, other_from);
  const double high = fmin(from + length, other_from + other_length);
  return high > low ? high - low : 0;
}

double box_overlap(const box *one, const box *other) {
  const double both =
      shared(one->x, one->w, other->x, other->w) * shared(one->y, one->h, other->y, other->h);
  const double all = (double)one->w * one->h + (double)other->w * other->h - both;
  return all > 0 ? both / all : 0;
}

/* ---- a score ---- */

static void add_frame(const box *truth, const box *tracked, score *sum) {
  const bool is_there = box_is_known(tracked) && is_number(tracked);
  const double distance = is_there ? fmin(box_distance(truth, tracked), far_off_px) : far_off_px;
  const double overlap = is_there ? box_overlap(truth, tracked) : 0;
  ++sum->frames;
  sum->centre_error += distance;
  sum->overlap += overlap;
  for (int i = 0; i < SCORE_DISTANCES; ++i)
    sum->precision[i] += distance <= i;
  for (int i = 0; i < SCORE_OVERLAPS; ++i)
    sum->success[i] += overlap > i / (double)(SCORE_OVERLAPS - 1);
}

/* Sums to means of `count`, and what follows from them. */
static void finish(score *sum, double count) {
  if (count <= 0)
    return;
  double area = 0;
  sum->centre_error /= count;
  sum->overlap /= count;
  for (int i = 0; i < SCORE_DISTANCES; ++i)
    sum->precision[i] /= count;
  for (int i = 0; i < SCORE_OVERLAPS; ++i)
    area += sum->success[i] /= count;
  sum->p5 = sum->precision[5];
  sum->p20 = sum->precision[20];
  sum->auc = area / SCORE_OVERLAPS;
}

void score_boxes(const box *truth, const box *tracked, int64_t frames, score *out) {
  *out = (score){0};
  for (int64_t i = 0; i < frames; ++i)
    if (box_is_known(&truth[i]))
      add_frame(&truth[i], &tracked[i], out);
  finish(out, (double)out->frames);
}

void score_mean(const score *scores, int64_t count, score *out) {
  double used = 0;
  *out = (score){0};
  for (int64_t i = 0; i < count; ++i) {
    if (scores[i].frames == 0)
      continue;
    ++used;
    out->frames += scores[i].frames;
    out->centre_error += scores[i].centre_error;
    out->overlap += scores[i].overlap;
    for (int j = 0; j < SCORE_DISTANCES; ++j)
      out->precision[j] += scores[i].precision[j];
    for (int j = 0; j < SCORE_OVERLAPS; ++j)
      out->success[j] += scores[i].success[j];
  }
  finish(out, used);
}

int64_t score_start(int64_t frames, int64_t index, int64_t starts) {
  return frames * index / (2 * starts);
}

/* ---- which box counts when ---- */

void score_by_frame(const track_log *log, int32_t target, box *boxes, int64_t frames) {
  const box no_row = {.w = -1}, unknown = {0};
  for (int64_t i = 0; i < frames; ++i)
    boxes[i] = no_row;
  for (size_t i = 0; i < log->count; ++i) {
    const track_row *row = &log->rows[i];
    if (row->target == target && row->frame >= 0 && row->frame < frames)
      boxes[row->frame] = box_is_known(&row->where) ? row->where : unknown;
  }
  box last = unknown;
  for (int64_t i = 0; i < frames; ++i) {
    if (boxes[i].w < 0)
      boxes[i] = last;
    last = boxes[i];
  }
}

/** A box that could be seen from an instant on. */
typedef struct publication {
  int64_t at_ns, frame;
  box where;
} publication;

static int by_instant(const void *left, const void *right) {
  const publication *one = left, *other = right;
  if (one->at_ns != other->at_ns)
    return one->at_ns < other->at_ns ? -1 : 1;
  return (one->frame > other->frame) - (one->frame < other->frame);
}

prem_status score_by_time(const track_log *log, int32_t target, const int64_t *taken_ns, box *boxes,
                          int64_t frames) {
  publication *list = malloc((log->count + 1) * sizeof *list);
  size_t count = 0, next = 0;
  box now = {0};
  for (size_t i = 0; i < log->count && list; ++i) {
    const track_row *row = &log->rows[i];
    if (row->target == target && row->published_ns != TRACK_NO_TIME)
      list[count++] = (publication){row->published_ns, row->frame, row->where};
  }
  if (list)
    qsort(list, count, sizeof *list, by_instant);
  for (int64_t i = 0; i < frames; ++i) {
    while (next < count && list[next].at_ns <= taken_ns[i])
      now = list[next++].where;
    boxes[i] = now;
  }
  const prem_status status = list ? PREM_OK : PREM_ERR_MEMORY;
  free(list);
  return status;
}
