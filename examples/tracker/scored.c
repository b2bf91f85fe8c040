/* SPDX-License-Identifier: Apache-2.0 */
#include "scored.h"

#include <stdlib.h>

#include <ttprem/findings.h>

#include "video.h"

/* ---- of a log ---- */

static void score_target(const struct video *truth, const track_log *log, int32_t target,
                         int64_t late, box *boxes[2], int64_t frames, score *out) {
  int64_t first = frames;
  for (size_t i = 0; i < log->count; ++i)
    if (log->rows[i].target == target && log->rows[i].frame < first)
      first = log->rows[i].frame;
  for (int64_t i = 0; i < frames; ++i)
    if (i < first || !video_truth(truth, i, target, &boxes[0][i]))
      boxes[0][i] = (box){0};
  score_by_frame(log, target, boxes[1], frames);
  for (int64_t i = frames - 1; i > first; --i)
    boxes[1][i] = boxes[1][i - late > first ? i - late : first];
  score_boxes(boxes[0], boxes[1], frames, out);
}

prem_status scored_log(const struct video *truth, const track_log *log, int64_t late, score *out,
                       prem_diag *diag) {
  const int32_t targets = video_facts_of(truth)->targets;
  int64_t frames = 0;
  *out = (score){0};
  for (size_t i = 0; i < log->count; ++i)
    frames = log->rows[i].frame >= frames ? log->rows[i].frame + 1 : frames;
  if (targets == 0 || frames == 0 || frames > INT32_MAX) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "%s",
                  targets == 0 ? "the video has no ground truth: nothing can be scored"
                               : "the log has no rows, or frames beyond 2^31");
    return PREM_ERR_ARGUMENT;
  }
  box *boxes[2] = {malloc((size_t)frames * sizeof(box)), malloc((size_t)frames * sizeof(box))};
  score *all = calloc((size_t)targets, sizeof *all);
  const bool there = boxes[0] && boxes[1] && all;
  for (int32_t i = 0; i < targets && there; ++i)
    score_target(truth, log, i, late, boxes, frames, &all[i]);
  if (there)
    score_mean(all, targets, out);
  free(boxes[0]);
  free(boxes[1]);
  free(all);
  return there ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- as it was seen ---- */

prem_status scored_streaming(const struct video *truth, const track_log *log, const box *began,
                             int32_t targets, const taken_frames *frames, score *out) {
  const int64_t count = frames->count;
  *out = (score){0};
  box *seen = calloc((size_t)count + 1, 2 * sizeof *seen), *real = seen + count;
  score *all = calloc((size_t)targets + 1, sizeof *all);
  prem_status status = seen && all ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t t = 0; t < targets && status == PREM_OK; ++t) {
    status = score_by_time(log, t, frames->at_ns, seen, count);
    for (int64_t i = 0; i < count; ++i) {
      if (!box_is_known(&seen[i]))
        seen[i] = began[t]; /* nothing was shown yet but where it began */
      if (!video_truth(truth, frames->start + i * frames->step, t, &real[i]))
        real[i] = (box){0};
    }
    score_boxes(real, seen, count, &all[t]);
  }
  if (status == PREM_OK)
    score_mean(all, targets, out);
  free(seen);
  free(all);
  return status;
}

/* ---- findings ---- */

typedef const score *choice(const scored *of);
static const score *one_pass(const scored *of) {
  return &of->one_pass;
}
static const score *robust(const scored *of) {
  return &of->robust;
}
static const score *streaming(const scored *of) {
  return &of->streaming;
}

static void add_table(prem_findings *findings, const char *name, const char *title,
                      const scored *list, size_t count, choice *choose) {
  int64_t frames = 0;
  for (size_t i = 0; i < count; ++i)
    frames += choose(&list[i])->frames;
  if (frames == 0)
    return;
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_column(table, "sequence", "");
  prem_table_column(table, "tracker", "");
  prem_table_column(table, "backend", "");
  prem_table_column(table, "frames", "");
  prem_table_column(table, "P20", "");
  prem_table_column(table, "AUC", "");
  prem_table_column(table, "CLE", "px");
  for (size_t i = 0; i < count; ++i) {
    const score *numbers = choose(&list[i]);
    if (numbers->frames == 0)
      continue;
    prem_table_add_text(table, list[i].sequence);
    prem_table_add_text(table, list[i].tracker);
    prem_table_add_text(table, list[i].backend);
    prem_table_add_int(table, numbers->frames);
    prem_table_add_real(table, numbers->p20);
    prem_table_add_real(table, numbers->auc);
    prem_table_add_real(table, numbers->centre_error);
  }
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_BARS,
                                              .title = title,
                                              .table = name,
                                              .x = "sequence",
                                              .y = "AUC",
                                              .series = "tracker"});
}

/* Of the worst of all. */
static void say(prem_findings *findings, const scored *list, size_t count) {
  const scored *worst = &list[0];
  for (size_t i = 1; i < count; ++i)
    if (list[i].one_pass.auc < worst->one_pass.auc)
      worst = &list[i];
  prem_findings_verdict(findings, "at worst, %s on %s: P20 %.3f, AUC %.3f, CLE %.2f px",
                        worst->tracker, worst->sequence, worst->one_pass.p20, worst->one_pass.auc,
                        worst->one_pass.centre_error);
  prem_findings_note(findings, "P20: share of frames whose centre is at most 20 px off. AUC: mean "
                               "share of frames with more overlap than 0, 0.05, ... 1; 0.952 at "
                               "best. CLE: mean distance of the centres.");
}

prem_status findings_write(const scored *list, size_t count, const prem_machine *machine,
                           const char *command, const char *path, prem_diag *diag) {
  prem_findings *findings = prem_findings_new("tracker", "A tracker on sequences of pictures",
                                              "How well does it follow its targets?");
  if (!findings)
    return PREM_ERR_MEMORY;
  add_table(findings, "scores", "One pass", list, count, one_pass);
  add_table(findings, "robust", "Mean of several starts", list, count, robust);
  add_table(findings, "streaming", "What was published when a frame was taken", list, count,
            streaming);
  if (count > 0)
    say(findings, list, count);
  const prem_status status = prem_findings_write(findings, machine, command, path, diag);
  prem_findings_free(findings);
  return status;
}
