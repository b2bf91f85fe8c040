/* SPDX-License-Identifier: Apache-2.0 */
/* The tracker as ordinary CUDA, to compare with: track_baselines [OPTION...] [SOURCE] */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <ttprem/output.h>

#include "follow.h"
#include "gpu.h"
#include "instants.h"
#include "option.h"
#include "scored.h"
#include "track_box.h"
#include "track_find.h"

enum { MOST_TARGETS = 64, NO_GPU = 77, MEASURES = 3 };
static const int64_t patience_ns = 10000000000, spin_ns = 200000;

/* ---- options --------------------------------------------------------------------------------- */

typedef struct options {
  video_request video;
  const char *folder;
  bool ways[BASELINE_WAYS];
  int32_t most_targets, scales, streams;
  int64_t frames, compared, logged;
  int64_t period_ns; /* 0: as fast as possible */
  int64_t publish_ns;
  float reach;
  baseline_company company;
} options;

enum {
  KEY_SCALES = 256,
  KEY_REACH,
  KEY_SIZE,
  KEY_TRUTH,
  KEY_HOLD,
  KEY_LOG,
  KEY_STREAMS,
  KEY_PUBLISH,
  KEY_COMPARE,
  KEY_BESIDE
};

static const struct argp_option known[] = {
    {"way", 'w', "NAME", 0, "stream, priority or graph; again for more (all)", 0},
    {"streams", KEY_STREAMS, "N", 0,
     "of way priority: so many at most, targets are dealt out to them (64)", 0},
    {"output", 'o', "FOLDER", 0, "where results go (baselines-out)", 0},
    {"targets", 't', "N", 0, "so many of the ground truth's at most (64)", 0},
    {"scales", KEY_SCALES, "N", 0, "1 (default), 3, 5 or 7", 0},
    {"reach", KEY_REACH, "R", 0, "sides of targets up to 42.6 R pixels (2)", 0},
    {"frames", 'n', "N", 0, "measure so many of each way (1000)", 0},
    {"period", 'p', "TIME", 0, "from frame to frame (as fast as possible)", 0},
    {"publish", KEY_PUBLISH, "TIME", 0,
     "boxes are planned to be shown so long after a frame's instant (the period)", 0},
    {"compare", KEY_COMPARE, "N", 0,
     "first follow N frames, and compare with the kernels' references; 0: do not (20)", 0},
    {"beside", KEY_BESIDE, "WHAT", 0,
     "in a stream of the lowest priority, once a frame: edges of it, or a copy of 1 MiB an SM", 0},
    {"log", KEY_LOG, "N", 0, "put the boxes of the first N frames down (1000)", 0},
    {"hold", KEY_HOLD, "N", 0,
     "read N frames first, and show them forwards and backwards without an end (60)", 0},
    {"size", KEY_SIZE, "WxH", 0, "scale a decoded video to this size", 0},
    {"truth", KEY_TRUTH, "FILE", 0, "where the targets really are", 0},
    {0}};

static void set_way(struct argp_state *state, options *of, const char *text) {
  for (int way = 0; way < BASELINE_WAYS; ++way)
    if (strcmp(text, baseline_way_name((baseline_way)way)) == 0) {
      of->ways[way] = true;
      return;
    }
  argp_error(state, "--way: '%s' is none of stream, priority, graph", text);
}

static void set_company(struct argp_state *state, options *of, const char *text) {
  for (int company = BASELINE_EDGES; company < BASELINE_COMPANIES; ++company)
    if (strcmp(text, baseline_company_name((baseline_company)company)) == 0) {
      of->company = (baseline_company)company;
      return;
    }
  argp_error(state, "--beside: '%s' is none of edges, copy", text);
}

static error_t parse_video(int key, char *text, struct argp_state *state, options *of) {
  char rest;
  switch (key) {
  case KEY_HOLD:
    of->video.hold = option_number(state, "hold", text, 1, INT32_MAX);
    return 0;
  case KEY_TRUTH:
    of->video.truth = text;
    return 0;
  case KEY_SIZE:
    if (sscanf(text, "%" SCNd32 "x%" SCNd32 "%c", &of->video.width, &of->video.height, &rest) != 2)
      argp_error(state, "--size: '%s' is no size; write it as 640x360", text);
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0)
      argp_error(state, "one SOURCE only, not '%s' as well", text);
    of->video.source = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  options *of = state->input;
  switch (key) {
  case 'w':
    set_way(state, of, text);
    return 0;
  case 'o':
    of->folder = text;
    return 0;
  case 't':
    of->most_targets = (int32_t)option_number(state, "targets", text, 1, MOST_TARGETS);
    return 0;
  case 'n':
    of->frames = option_number(state, "frames", text, 1, INT32_MAX);
    return 0;
  case 'p':
    of->period_ns = option_time(state, "period", text);
    return 0;
  case KEY_PUBLISH:
    of->publish_ns = option_time(state, "publish", text);
    return 0;
  case KEY_SCALES:
    of->scales = option_scales(state, text);
    return 0;
  case KEY_REACH:
    of->reach = option_factor(state, "reach", text, 8);
    return 0;
  case KEY_STREAMS:
    of->streams = (int32_t)option_number(state, "streams", text, 1, MOST_TARGETS);
    return 0;
  case KEY_COMPARE:
    of->compared = option_number(state, "compare", text, 0, 100000);
    return 0;
  case KEY_BESIDE:
    set_company(state, of, text);
    return 0;
  case KEY_LOG:
    of->logged = option_number(state, "log", text, 1, INT32_MAX);
    return 0;
  case ARGP_KEY_END:
    for (int way = 0; way < BASELINE_WAYS; ++way)
      if (of->ways[way])
        return 0;
    memset(of->ways, true, sizeof of->ways);
    return 0;
  default:
    return parse_video(key, text, state, of);
  }
}

static const struct argp command = {
    known,
    parse,
    "[SOURCE]",
    "Follow targets as the tracker does, but as ordinary CUDA: kernels and cuFFT in one stream, in "
    "streams with priorities, or as one graph.\n\n"
    "SOURCE: as the tracker's, with ground truth. Exit status: 0; 1 a video or file that cannot be "
    "read or written, a GPU that failed; 2 a mistake in the call; 77 there is no GPU; 130 "
    "interrupted, with what there was until then.",
    NULL,
    NULL,
    NULL};

/* ---- a run ----------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
  (void)number;
  stopped = 1;
}

/* What the frames of a way took. */
typedef struct way_result {
  instants
      times[MEASURES]; /* submit to boxes on the host; begin to boxes, and to end, on the GPU */
  instants shown;      /* behind the planned instant; none without a period */
  int64_t frames, lost;
  int64_t left_out; /* company */
  double rate;      /* frames a second */
  int64_t compared;
  double distance_px, overlap; /* from the references: largest, least */
  track_log log;
  int64_t taken;   /* frames of the video until its end, those that were lost too */
  score streaming; /* no frames: without a period, or not all were logged */
  FILE *instants_file, *times_file;
} way_result;

/* In hand. */
typedef struct run {
  const options *of;
  video *frames;
  int32_t targets, rows, columns;
  box boxes[MOST_TARGETS];
  float command[MOST_TARGETS * COMMAND_NUMBERS];
  prem_schedule *schedule;
  track_log expected; /* by the references */
  way_result results[BASELINE_WAYS];
  prem_diag *diag;
} run;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Asleep, and awake for the last part. A signal is looked at behind it. */
static void wait_until(int64_t at_ns) {
  const int64_t sleep_ns = at_ns - now_ns() - spin_ns;
  if (sleep_ns > 0)
    nanosleep(&(struct timespec){sleep_ns / 1000000000, sleep_ns % 1000000000}, NULL);
  while (now_ns() < at_ns && !stopped)
    ;
}

static prem_status fail(run *of, const char *key, const char *reason) {
  prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, key, "%s", reason);
  return PREM_ERR_MACHINE;
}

static prem_status await(run *of, baseline_gpu *gpu, int64_t number, baseline_part part) {
  char reason[BASELINE_REASON_BYTES] = "";
  switch (baseline_gpu_await(gpu, number, part, now_ns() + patience_ns, reason)) {
  case BASELINE_THERE_IT_IS:
    return PREM_OK;
  case BASELINE_TOO_LATE:
    prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "",
                  "frame %" PRId64 " did not come to its end in %" PRId64 " s", number,
                  patience_ns / 1000000000);
    return PREM_ERR_TIMEOUT;
  default:
    return fail(of, "", reason);
  }
}

static prem_status next_frame(run *of, baseline_gpu *gpu, int64_t number) {
  return video_next(of->frames, baseline_gpu_frame(gpu, number), (size_t)of->columns, of->diag);
}

static prem_status submit(run *of, baseline_gpu *gpu) {
  char reason[BASELINE_REASON_BYTES] = "";
  return baseline_gpu_submit(gpu, reason) ? PREM_OK : fail(of, "", reason);
}

static const void *params_of(const prem_schedule *schedule, const char *name) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (strcmp(schedule->tasks[t].name, name) == 0)
      return schedule->tasks[t].params;
  return NULL;
}

/* At one scale one task does both. */
static track_find_params find_params(const prem_schedule *schedule) {
  const void *respond = params_of(schedule, "respond"), *locate = params_of(schedule, "locate");
  if (!respond)
    return *(const track_find_params *)locate;
  return (track_find_params){*(const track_respond_params *)respond,
                             *(const track_locate_params *)locate};
}

static prem_status open_way(run *of, baseline_way way, baseline_gpu **out) {
  char reason[BASELINE_REASON_BYTES] = "";
  const prem_schedule *schedule = of->schedule;
  const track_find_params find = find_params(schedule);
  const baseline_setup setup = {.targets = of->targets,
                                .rows = of->rows,
                                .columns = of->columns,
                                .features = params_of(schedule, "features"),
                                .find = &find,
                                .train = params_of(schedule, "train"),
                                .learn = params_of(schedule, "learn"),
                                .command = of->command,
                                .streams = of->of->streams,
                                .company = of->of->company};
  return baseline_gpu_open(&setup, way, out, reason) ? PREM_OK
                                                     : fail(of, baseline_way_name(way), reason);
}

/* One that stands still is left to the end of the process: to wait for it has no end. */
static void close_way(baseline_gpu *gpu, prem_status status) {
  if (status != PREM_ERR_TIMEOUT)
    baseline_gpu_close(gpu);
}

/* From its first frame; a video is opened anew for that. */
static prem_status rewind_video(run *of) {
  video_close(of->frames);
  return video_open(&of->of->video, &of->frames, of->diag);
}

/* ---- beside the references ------------------------------------------------------------------- */

static prem_status follow_references(run *of) {
  follow_result found;
  follow_request request = {.video = of->of->video,
                            .frames = of->of->compared,
                            .step = 1,
                            .boxes = of->boxes,
                            .stop = &stopped};
  request.setting = track_setting_for(of->rows, of->columns, of->targets, of->of->scales);
  request.setting.reach = of->of->reach;
  const prem_status status = follow(&request, &found, of->diag);
  of->expected = found.log;
  found.log = (track_log){0};
  follow_free(&found);
  return status;
}

static void compare_logs(const track_log *found, const track_log *expected, int32_t targets,
                         way_result *out) {
  const size_t rows = found->count < expected->count ? found->count : expected->count;
  out->overlap = 1;
  out->compared = (int64_t)rows / targets;
  for (size_t i = 0; i < rows; ++i) { /* both have all targets of each frame, in order */
    const box *one = &found->rows[i].where, *other = &expected->rows[i].where;
    out->distance_px = fmax(out->distance_px, box_distance(one, other));
    out->overlap = fmin(out->overlap, box_overlap(one, other));
  }
}

/* One frame after the other. */
static prem_status follow_beside(run *of, baseline_way way) {
  baseline_gpu *gpu = NULL;
  track_log log = {0};
  float boxes[MOST_TARGETS * BOX_NUMBERS];
  prem_status status = rewind_video(of);
  if (status == PREM_OK)
    status = open_way(of, way, &gpu);
  for (int64_t n = 0; status == PREM_OK && n < of->of->compared && !stopped; ++n) {
    status = next_frame(of, gpu, n);
    if (status == PREM_OK)
      status = submit(of, gpu);
    if (status == PREM_OK)
      status = await(of, gpu, n, BASELINE_END);
    if (status != PREM_OK)
      break;
    baseline_gpu_boxes(gpu, n, boxes);
    status = follow_note(&log, n, of->targets, boxes, BOX_NUMBERS, TRACK_NO_TIME);
  }
  if (status == PREM_OK || status == PREM_ERR_ENDED)
    compare_logs(&log, &of->expected, of->targets, &of->results[way]);
  track_log_free(&log);
  close_way(gpu, status);
  return status == PREM_ERR_ENDED ? PREM_OK : status;
}

/* ---- by the clock ---------------------------------------------------------------------------- */

/* Frames of a way on their way. */
typedef struct flight {
  run *of;
  baseline_gpu *gpu;
  way_result *out;
  int64_t zero_ns;
  int64_t due_ns[BASELINE_IN_HAND], submit_ns[BASELINE_IN_HAND], position_ns[BASELINE_IN_HAND];
  int64_t frame[BASELINE_IN_HAND]; /* of the video */
  int64_t ended;                   /* frames */
} flight;

static prem_status note_position(flight *f, int64_t n) {
  run *of = f->of;
  const int at = (int)(n % BASELINE_IN_HAND);
  float boxes[MOST_TARGETS * BOX_NUMBERS];
  prem_status status = await(of, f->gpu, n, BASELINE_POSITION);
  f->position_ns[at] = now_ns();
  if (status != PREM_OK)
    return status;
  baseline_gpu_boxes(f->gpu, n, boxes);
  if (n < of->of->logged)
    status = follow_note(&f->out->log, f->frame[at], of->targets, boxes, BOX_NUMBERS,
                         f->position_ns[at] - f->zero_ns);
  if (status != PREM_OK || of->of->period_ns == 0)
    return status;
  const int64_t planned_ns = f->due_ns[at] + of->of->publish_ns;
  fprintf(f->out->instants_file, "%" PRId64 ",%" PRId64 ",%" PRId64 "\n", f->frame[at],
          planned_ns - f->zero_ns, f->position_ns[at] - f->zero_ns);
  return instants_add(&f->out->shown, f->position_ns[at] - planned_ns);
}

static prem_status note_end(flight *f, int64_t n) {
  const int at = (int)(n % BASELINE_IN_HAND);
  prem_status status = await(f->of, f->gpu, n, BASELINE_END);
  if (status != PREM_OK)
    return status;
  const baseline_stamps stamps = baseline_gpu_stamps(f->gpu, n);
  const int64_t taken_ns[MEASURES] = {f->position_ns[at] - f->submit_ns[at],
                                      stamps.position_ns - stamps.begin_ns,
                                      stamps.end_ns - stamps.begin_ns};
  for (int m = 0; m < MEASURES && status == PREM_OK; ++m)
    status = instants_add(&f->out->times[m], taken_ns[m]);
  fprintf(f->out->times_file, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
          f->frame[at], f->submit_ns[at] - f->zero_ns, taken_ns[0], taken_ns[1], taken_ns[2]);
  f->ended = n + 1;
  return status;
}

/* Frames that came while the one before was not submitted are lost, as a camera's are. */
static prem_status lose_frames(flight *f, int64_t *frame) {
  const int64_t period_ns = f->of->of->period_ns;
  const int64_t missed = (now_ns() - f->zero_ns) / period_ns - *frame;
  if (missed <= 0)
    return PREM_OK;
  f->out->lost += missed;
  *frame += missed;
  return video_skip(f->of->frames, missed, f->of->diag);
}

/* One at a time by the clock; without one, the next is begun while this one is worked on. */
static prem_status fly(flight *f) {
  const options *given = f->of->of;
  const bool timed = given->period_ns > 0;
  int64_t frame = 0, n = 0;
  prem_status status = PREM_OK;
  f->zero_ns = now_ns() + (timed ? given->period_ns : 0);
  for (; status == PREM_OK && n < given->frames && !stopped; ++n, ++frame) {
    const int at = (int)(n % BASELINE_IN_HAND);
    if (n >= BASELINE_IN_HAND)
      status = note_end(f, n - BASELINE_IN_HAND);
    if (status == PREM_OK && timed)
      status = lose_frames(f, &frame);
    if (status == PREM_OK)
      status = next_frame(f->of, f->gpu, n);
    if (status != PREM_OK)
      break;
    f->frame[at] = frame;
    f->due_ns[at] = f->zero_ns + frame * given->period_ns;
    if (timed)
      wait_until(f->due_ns[at]);
    f->submit_ns[at] = now_ns();
    status = submit(f->of, f->gpu);
    if (status == PREM_OK && (timed || n > 0))
      status = note_position(f, timed ? n : n - 1);
  }
  if (status == PREM_ERR_ENDED)
    status = PREM_OK;
  if (status == PREM_OK && !timed && n > 0)
    status = note_position(f, n - 1);
  while (status == PREM_OK && f->ended < n)
    status = note_end(f, f->ended);
  f->out->frames = f->ended;
  f->out->taken = frame;
  f->out->rate = f->ended > 0 ? (double)f->ended * 1e9 / (double)(now_ns() - f->zero_ns) : 0;
  return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct place {
  char path[4096];
} place;

static place in_folder(const options *of, const char *folder, const char *name) {
  place at;
  snprintf(at.path, sizeof at.path, "%s/%s%s%s", of->folder, folder, *folder ? "/" : "", name);
  return at;
}

static prem_status make_folder(const run *of, const char *path) {
  struct stat found;
  if (mkdir(path, 0777) == 0 || (stat(path, &found) == 0 && S_ISDIR(found.st_mode)))
    return PREM_OK;
  prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "--output", "'%s' is no folder: %s", path,
                strerror(errno));
  return PREM_ERR_IO;
}

/* Rows are written as they come; the files are there when they are whole. */
typedef struct way_files {
  prem_output instants, times;
  place instants_path, times_path;
} way_files;

static prem_status no_file(const run *of, const char *path, const char *reason) {
  prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return PREM_ERR_IO;
}

static prem_status open_files(run *of, const char *folder, way_files *files, way_result *out) {
  char reason[256];
  *files = (way_files){.instants_path = in_folder(of->of, folder, "instants.csv"),
                       .times_path = in_folder(of->of, folder, "times.csv")};
  if (prem_output_open(&files->instants, files->instants_path.path, reason, sizeof reason))
    return no_file(of, files->instants_path.path, reason);
  if (prem_output_open(&files->times, files->times_path.path, reason, sizeof reason)) {
    prem_output_abandon(&files->instants);
    return no_file(of, files->times_path.path, reason);
  }
  out->instants_file = files->instants.file;
  out->times_file = files->times.file;
  fprintf(out->instants_file, "frame,planned_ns,shown_ns\n");
  fprintf(out->times_file, "frame,submit_ns,to_boxes_ns,gpu_to_boxes_ns,gpu_to_end_ns\n");
  return PREM_OK;
}

static prem_status commit_files(run *of, way_files *files) {
  char reason[256];
  prem_status status = PREM_OK;
  if (of->of->period_ns == 0)
    prem_output_abandon(&files->instants);
  else if (prem_output_commit(&files->instants, reason, sizeof reason))
    status = no_file(of, files->instants_path.path, reason);
  if (prem_output_commit(&files->times, reason, sizeof reason))
    status = no_file(of, files->times_path.path, reason);
  return status;
}

/* What could be seen when each frame came, as of the tracker's camera. */
static prem_status score_streaming(const run *of, way_result *out) {
  const int64_t period_ns = of->of->period_ns;
  if (period_ns == 0 || out->taken == 0 || out->frames > of->of->logged)
    return PREM_OK;
  int64_t *due_ns = malloc((size_t)out->taken * sizeof *due_ns);
  if (!due_ns)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < out->taken; ++i)
    due_ns[i] = i * period_ns;
  const taken_frames frames = {0, 1, out->taken, due_ns};
  const prem_status status =
      scored_streaming(of->frames, &out->log, of->boxes, of->targets, &frames, &out->streaming);
  free(due_ns);
  return status;
}

/* What was measured until something failed is kept. */
static prem_status measure(run *of, baseline_way way) {
  const char *name = baseline_way_name(way);
  way_result *out = &of->results[way];
  way_files files;
  flight f = {.of = of, .out = out};
  prem_status status = make_folder(of, in_folder(of->of, "", name).path);
  if (status == PREM_OK)
    status = rewind_video(of);
  if (status == PREM_OK)
    status = open_way(of, way, &f.gpu);
  if (status != PREM_OK)
    return status;
  status = open_files(of, name, &files, out);
  if (status == PREM_OK) {
    const prem_status flown = fly(&f);
    status = commit_files(of, &files);
    if (status == PREM_OK)
      status =
          track_log_write(&out->log, in_folder(of->of, name, "track.csv").path, true, of->diag);
    if (status == PREM_OK)
      status = score_streaming(of, out);
    status = flown == PREM_OK ? status : flown;
    out->left_out = baseline_gpu_left_out(f.gpu);
  }
  close_way(f.gpu, status);
  for (int m = 0; m < MEASURES; ++m)
    instants_sort(&out->times[m]);
  instants_sort(&out->shown);
  return status;
}

/* ---- findings -------------------------------------------------------------------------------- */

static const char *const measures[MEASURES] = {
    "submitted to boxes on the host", "begin to boxes on the GPU", "begin to end on the GPU"};

/* By the clock: how old boxes are, and how well they fit by then. */
static void print_shown(const run *of, baseline_way way) {
  const way_result *r = &of->results[way];
  const char *name = baseline_way_name(way);
  double sum_ns = 0;
  for (size_t i = 0; i < r->shown.count; ++i)
    sum_ns += (double)(r->shown.behind_ns[i] + of->of->publish_ns);
  if (r->shown.count > 0)
    printf("%s: frame to boxes: mean %.3f ms, longest %.3f ms\n", name,
           sum_ns / (double)r->shown.count / 1e6,
           (double)(instants_at(&r->shown, 1) + of->of->publish_ns) / 1e6);
  if (r->streaming.frames > 0)
    printf("%s: streaming: %" PRId64 " frames, P20 %.3f, AUC %.3f, CLE %.2f px\n", name,
           r->streaming.frames, r->streaming.p20, r->streaming.auc, r->streaming.centre_error);
}

static void print_results(const run *of) {
  printf("%-8s %-31s %8s %9s %9s %9s %9s %9s\n", "way", "us", "frames", "p50", "p99", "p99.9",
         "largest", "spread");
  for (int way = 0; way < BASELINE_WAYS; ++way)
    for (int m = 0; m < MEASURES && of->results[way].frames > 0; ++m) {
      const instant_summary s = instants_summary(&of->results[way].times[m]);
      printf("%-8s %-31s %8zu %9.1f %9.1f %9.1f %9.1f %9.1f\n",
             baseline_way_name((baseline_way)way), measures[m], s.count, (double)s.p50_ns / 1e3,
             (double)s.p99_ns / 1e3, (double)s.p999_ns / 1e3, (double)s.largest_ns / 1e3,
             (double)(s.largest_ns - s.least_ns) / 1e3);
    }
  for (int way = 0; way < BASELINE_WAYS; ++way) {
    const way_result *r = &of->results[way];
    if (r->compared > 0)
      printf("%s: of %" PRId64
             " frames at most %.3f px from the references, overlap at least %.3f\n",
             baseline_way_name((baseline_way)way), r->compared, r->distance_px, r->overlap);
    if (r->frames > 0)
      printf("%s: %" PRId64 " frames, %" PRId64 " lost, %.1f a second; company left out %" PRId64
             " times\n",
             baseline_way_name((baseline_way)way), r->frames, r->lost, r->rate, r->left_out);
    print_shown(of, (baseline_way)way);
  }
}

static void tell_times(const run *of, prem_findings *findings) {
  static const char *const names[] = {"least", "median", "p99", "p99.9", "largest", "spread"};
  prem_table *table = prem_findings_table(findings, "times", "What a frame takes", NULL);
  prem_table_column(table, "way", "");
  prem_table_column(table, "from", "");
  prem_table_column(table, "frames", "");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    prem_table_column(table, names[i], "us");
  for (int way = 0; way < BASELINE_WAYS; ++way)
    for (int m = 0; m < MEASURES && of->results[way].frames > 0; ++m) {
      const instant_summary s = instants_summary(&of->results[way].times[m]);
      const int64_t all[] = {s.least_ns, s.p50_ns,     s.p99_ns,
                             s.p999_ns,  s.largest_ns, s.largest_ns - s.least_ns};
      prem_table_add_text(table, baseline_way_name((baseline_way)way));
      prem_table_add_text(table, measures[m]);
      prem_table_add_int(table, (int64_t)s.count);
      for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        prem_table_add_real(table, (double)all[i] / 1e3);
    }
}

static void tell_ways(const run *of, prem_findings *findings) {
  prem_table *table = prem_findings_table(findings, "ways", "Frames, and how right they are", NULL);
  prem_table_column(table, "way", "");
  prem_table_column(table, "frames", "");
  prem_table_column(table, "lost", "");
  prem_table_column(table, "a second", "");
  prem_table_column(table, "company left out", "");
  prem_table_column(table, "compared", "");
  prem_table_column(table, "furthest from the references", "px");
  prem_table_column(table, "least overlap with them", "");
  prem_table_column(table, "AUC when shown", "");
  for (int way = 0; way < BASELINE_WAYS; ++way) {
    const way_result *r = &of->results[way];
    if (r->frames == 0 && r->compared == 0)
      continue;
    prem_table_add_text(table, baseline_way_name((baseline_way)way));
    prem_table_add_int(table, r->frames);
    prem_table_add_int(table, r->lost);
    prem_table_add_real(table, r->rate);
    prem_table_add_int(table, r->left_out);
    prem_table_add_int(table, r->compared);
    prem_table_add_real(table, r->compared > 0 ? r->distance_px : NAN);
    prem_table_add_real(table, r->compared > 0 ? r->overlap : NAN);
    prem_table_add_real(table, r->streaming.frames > 0 ? r->streaming.auc : NAN);
  }
}

static void tell_shown(const run *of, prem_findings *findings) {
  instants runs[BASELINE_WAYS];
  size_t count = 0;
  for (int way = 0; way < BASELINE_WAYS; ++way)
    if (of->results[way].shown.count > 0) {
      runs[count] = of->results[way].shown;
      snprintf(runs[count++].name, sizeof runs->name, "%s", baseline_way_name((baseline_way)way));
    }
  if (count > 0)
    instants_tell(findings, runs, count);
}

static prem_status write_findings(const run *of, const char *gpu, const char *words) {
  prem_machine machine;
  const options *given = of->of;
  prem_status status = prem_backend_probe(prem_backend_find("cpu"), &machine, of->diag);
  prem_findings *findings =
      prem_findings_new("tracker_baselines", "The tracker as ordinary CUDA",
                        "What does a frame take as kernels and cuFFT in streams or as a graph?");
  if (status == PREM_OK && !findings)
    status = PREM_ERR_MEMORY;
  prem_findings_note(findings,
                     "On %s: %" PRId32 " targets at %" PRId32 " scales in frames of %" PRId32
                     " x %" PRId32 " of %s.",
                     gpu, of->targets, given->scales, of->columns, of->rows, given->video.source);
  if (given->period_ns > 0)
    prem_findings_note(findings, "A frame every %g us; boxes count as planned %g us after it.",
                       (double)given->period_ns / 1e3, (double)given->publish_ns / 1e3);
  else
    prem_findings_note(findings,
                       "Frames as fast as possible, %d in hand: times from a frame's "
                       "submission hold what it waits for the one before.",
                       BASELINE_IN_HAND);
  prem_findings_note(findings, "cuFFT does not give the kernels' bits: boxes are compared by their "
                               "distance and overlap.");
  if (given->company != BASELINE_ALONE)
    prem_findings_note(findings,
                       "Beside them, once a frame, in a stream of the lowest priority: %s.",
                       baseline_company_name(given->company));
  if (stopped)
    prem_findings_incomplete(findings);
  tell_times(of, findings);
  tell_ways(of, findings);
  tell_shown(of, findings);
  if (status == PREM_OK)
    status = prem_findings_write(findings, &machine, words,
                                 in_folder(given, "", "baselines.json").path, of->diag);
  prem_findings_free(findings);
  return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static prem_status find_targets(run *of) {
  const video_facts *facts = video_facts_of(of->frames);
  while (of->targets < facts->targets && of->targets < of->of->most_targets &&
         video_truth(of->frames, 0, of->targets, &of->boxes[of->targets]))
    ++of->targets;
  of->rows = facts->height;
  of->columns = facts->width;
  if (of->targets == 0)
    prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "SOURCE",
                  "'%s' has no ground truth in its first frame; give it with --truth", facts->name);
  else {
    follow_command(of->boxes, of->targets, of->command, COMMAND_NUMBERS);
    return PREM_OK;
  }
  return PREM_ERR_ARGUMENT;
}

static prem_status prepare(run *of) {
  prem_status status = video_open(&of->of->video, &of->frames, of->diag);
  if (status == PREM_OK)
    status = find_targets(of);
  if (status != PREM_OK)
    return status;
  track_setting setting = track_setting_for(of->rows, of->columns, of->targets, of->of->scales);
  setting.reach = of->of->reach;
  return track_schedule_make(&setting, NULL, &of->schedule, of->diag);
}

static prem_status work(run *of, const char *gpu, const char *words) {
  prem_status status = make_folder(of, of->of->folder);
  if (status == PREM_OK && of->of->compared > 0)
    status = follow_references(of);
  for (int way = 0; way < BASELINE_WAYS && status == PREM_OK && !stopped; ++way) {
    if (!of->of->ways[way])
      continue;
    if (of->of->compared > 0)
      status = follow_beside(of, (baseline_way)way);
    if (status == PREM_OK && !stopped)
      status = measure(of, (baseline_way)way);
  }
  if (status == PREM_ERR_INTERRUPTED)
    status = PREM_OK;
  print_results(of);
  const prem_status written = write_findings(of, gpu, words);
  return status == PREM_OK ? written : status;
}

static void free_run(run *of) {
  for (int way = 0; way < BASELINE_WAYS; ++way) {
    for (int m = 0; m < MEASURES; ++m)
      instants_free(&of->results[way].times[m]);
    instants_free(&of->results[way].shown);
    track_log_free(&of->results[way].log);
  }
  track_log_free(&of->expected);
  prem_schedule_free(of->schedule);
  video_close(of->frames);
}

static int report(const run *of, prem_status status) {
  for (size_t i = 0; i < prem_diag_count(of->diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(of->diag, i), line, sizeof line);
    fprintf(stderr, "track_baselines: %s\n", line);
  }
  if (status != PREM_OK && prem_diag_errors(of->diag) == 0)
    fprintf(stderr, "track_baselines: %s\n", prem_status_text(status));
  return status == PREM_OK ? (stopped ? 130 : 0) : status == PREM_ERR_ARGUMENT ? 2 : 1;
}

static void join_words(int argc, char **argv, char *out, size_t bytes) {
  size_t used = 0;
  for (int i = 0; i < argc && used < bytes; ++i)
    used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? " " : "", argv[i]);
}

int main(int argc, char **argv) {
  options given = {.video = {.source = "synth", .hold = 60},
                   .folder = "baselines-out",
                   .most_targets = MOST_TARGETS,
                   .scales = 1,
                   .streams = MOST_TARGETS,
                   .frames = 1000,
                   .compared = 20,
                   .logged = 1000,
                   .reach = 2};
  char words[1024], gpu[BASELINE_REASON_BYTES];
  join_words(argc, argv, words, sizeof words);
  argp_err_exit_status = 2;
  argp_parse(&command, argc, argv, 0, NULL, &given);
  if (given.publish_ns == 0)
    given.publish_ns = given.period_ns;
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  static run here;
  run *of = &here;
  of->diag = prem_diag_new();
  of->of = &given;
  prem_status status = of->diag ? prepare(of) : PREM_ERR_MEMORY;
  const bool has_gpu = status == PREM_OK && baseline_gpu_probe(gpu);
  if (status == PREM_OK && !has_gpu)
    fprintf(stderr, "track_baselines: no GPU: %s\n", gpu);
  else if (status == PREM_OK)
    status = work(of, gpu, words);
  const int code = status == PREM_OK && !has_gpu ? NO_GPU : report(of, status);
  free_run(of);
  prem_diag_free(of->diag);
  return code;
}
