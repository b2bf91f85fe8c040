/* SPDX-License-Identifier: Apache-2.0 */
/* Follow targets through a video, time-triggered, and show how well: tracker [OPTION...] [SOURCE]
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow.h"
#include "heat.h"
#include "option.h"
#include "scene.h"
#include "scored.h"
#include "track.h"
#include "windows.h"

enum {
  MOST_TARGETS = 64,
  MOST_STARTS = 100,
  SHEET_FRAMES = 6,
  FRAMES_PER_S = 25,
  HEAT_FRAMES = 40
};

/* ---- options --------------------------------------------------------------------------------- */

typedef struct options {
  follow_request request;
  const char *backend, *folder;
  char profile[PATH_MAX];
  box boxes[MOST_TARGETS];
  int32_t box_count, most_targets, scales, starts;
  int32_t blocks, cores; /* of the tracker, 0: the backend's usual; of the machine */
  int32_t threads;       /* of a block on a GPU; 0: the usual */
  int32_t queue;
  bool is_gpu;
  int64_t period_ns, publish_ns, late;
  float reach, wcet_factor; /* 0: none was given */
  bool measures, measures_not;
  windows_found windows;
  bool camera, film, prints_schedule;
} options;

enum {
  KEY_SCALES = 256,
  KEY_STARTS,
  KEY_CAMERA,
  KEY_FILM,
  KEY_SCHEDULE,
  KEY_REACH,
  KEY_TRUTH,
  KEY_SIZE,
  KEY_START,
  KEY_PROFILE,
  KEY_PUBLISH,
  KEY_SLACK,
  KEY_EVERY,
  KEY_BLOCKS,
  KEY_THREADS,
  KEY_STEP,
  KEY_HOLD,
  KEY_TIMES,
  KEY_BESIDE,
  KEY_HEAT,
  KEY_LOG,
  KEY_LATE,
  KEY_QUEUE,
  KEY_AHEAD
};

static const struct argp_option known[] = {
    {"backend", 'b', "NAME", 0,
     "cpu (default), sim, cuda; plain: no schedule, one kernel after the other", 0},
    {"mode", 'm', "NAME", 0, "tt (default), free, lock", 0},
    {"output", 'o', "FOLDER", 0, "where results go (tracker-out)", 0},
    {"box", 'x', "X,Y,W,H", 0,
     "a target in the first frame; again for more (those of the ground truth)", 0},
    {"targets", 't', "N", 0, "so many of the ground truth's at most (64)", 0},
    {"scales", KEY_SCALES, "N", 0, "1 (default), 3, 5 or 7: does the target grow and shrink?", 0},
    {"frames", 'n', "N", 0, "at most so many", 0},
    {"start", KEY_START, "N", 0, "the first frame, from 0", 0},
    {"starts", KEY_STARTS, "N", 0, "follow from N starts as well, and tell their mean (TRE)", 0},
    {"step", KEY_STEP, "N", 0, "take every N-th frame only (1)", 0},
    {"hold", KEY_HOLD, "N", 0,
     "read N frames first, and show them forwards and backwards without an end", 0},
    {"log", KEY_LOG, "N", 0, "put the first N results down, and score these (all)", 0},
    {"late", KEY_LATE, "N", 0, "score boxes as if each was known N frames later (0)", 0},
    {"period", 'p', "TIME", 0,
     "from frame to frame, as 10ms (by default what the plan takes, and at least 10ms; GPU: 1ms)",
     0},
    {"camera", KEY_CAMERA, NULL, 0,
     "frames come by the clock; what comes too late is scored as late", 0},
    {"blocks", KEY_BLOCKS, "N", 0, "that do the work (CPU: 2; GPU: one an SM, of many targets two)",
     0},
    {"threads", KEY_THREADS, "N", 0, "of a block on a GPU, 96 of which move memory (352)", 0},
    {"every", KEY_EVERY, "TIME", 0,
     "from frame to frame by the clock: with --camera, if not the period; without, if frames shall "
     "not follow each other",
     0},
    {"ahead", KEY_AHEAD, "N", 0,
     "with --camera: frames come N % of a period before the plan takes them (75, or less, from 25 "
     "on, where only that lets their boxes be there when the next ones come): with less, boxes are "
     "younger, and a host may be late by less",
     0},
    {"publish", KEY_PUBLISH, "TIME", 0,
     "with --camera: so long after a frame's instant its boxes are shown", 0},
    {"queue", KEY_QUEUE, "N", 0,
     "with --camera: N frames wait in a queue (0 to 12): boxes are N periods older, and no frame "
     "is "
     "lost when it comes up to N periods late (0)",
     0},
    {"reach", KEY_REACH, "R", 0, "sides of targets up to 42.6 R pixels (2)", 0},
    {"times", KEY_TIMES, "HOW", 0,
     "windows: measure, in some two seconds before the run (default on cpu and cuda), or built-in "
     "(default on sim, and of --schedule)",
     0},
    {"profile", KEY_PROFILE, "FILE", 0, "windows as `track_ttprem profile` has measured them", 0},
    {"slack", KEY_SLACK, "F", 0, "windows that are built in, so many times as long (1)", 0},
    {"beside", KEY_BESIDE, "WHAT", 0,
     "in the same schedule, on the same blocks: edges of the frame, or a copy of 1 MiB a block", 0},
    {"truth", KEY_TRUTH, "FILE", 0, "where the targets really are", 0},
    {"size", KEY_SIZE, "WxH", 0, "scale a decoded video to this size", 0},
    {"heat", KEY_HEAT, NULL, 0,
     "show which tasks take a frame's time, on which blocks, and when (needs gnuplot)", 0},
    {"film", KEY_FILM, NULL, 0, "make a film as well (needs ffmpeg)", 0},
    {"schedule", KEY_SCHEDULE, NULL, 0, "print the schedule file and do nothing else", 0},
    {0}};

static bool is_stdin(const options *of) {
  return strcmp(of->request.video.source, "-") == 0;
}

static void add_box(struct argp_state *state, options *of, const char *text) {
  box *at = &of->boxes[of->box_count];
  char rest;
  if (of->box_count == MOST_TARGETS)
    argp_error(state, "--box: at most %d targets", MOST_TARGETS);
  else if (sscanf(text, "%f,%f,%f,%f%c", &at->x, &at->y, &at->w, &at->h, &rest) != 4)
    argp_error(state, "--box: '%s' is no box; write it as left,top,width,height in pixels", text);
  else
    ++of->box_count;
}

static void set_mode(struct argp_state *state, options *of, const char *text) {
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode)
    if (strcmp(text, prem_mode_name((prem_mode)mode)) == 0) {
      of->request.mode = (prem_mode)mode;
      return;
    }
  argp_error(state, "--mode: '%s' is none of tt, free, lock", text);
}

static void set_times(struct argp_state *state, options *of, const char *text) {
  of->measures = strcmp(text, "measure") == 0;
  of->measures_not = strcmp(text, "built-in") == 0;
  if (!of->measures && !of->measures_not)
    argp_error(state, "--times: '%s' is none of measure, built-in", text);
}

static void set_company(struct argp_state *state, options *of, const char *text) {
  for (int company = TRACK_EDGES; company < TRACK_COMPANIES; ++company)
    if (strcmp(text, track_company_name((track_company)company)) == 0) {
      of->request.setting.company = (track_company)company;
      return;
    }
  argp_error(state, "--beside: '%s' is none of edges, copy", text);
}

static error_t parse_measure(int key, char *text, struct argp_state *state, options *of) {
  switch (key) {
  case 'p':
    of->period_ns = option_time(state, "period", text);
    return 0;
  case KEY_PUBLISH:
    of->publish_ns = option_time(state, "publish", text);
    return 0;
  case KEY_BLOCKS:
    of->blocks = (int32_t)option_number(state, "blocks", text, 1, 1024);
    return 0;
  case KEY_THREADS:
    of->threads = (int32_t)option_number(state, "threads", text, 128, 1024);
    return 0;
  case KEY_QUEUE:
    of->queue = (int32_t)option_number(state, "queue", text, 0, TRACK_MOST_QUEUED);
    return 0;
  case KEY_AHEAD:
    of->request.ahead_percent = (int32_t)option_number(state, "ahead", text, 1, 99);
    return 0;
  case KEY_EVERY:
    of->request.every_ns = option_time(state, "every", text);
    return 0;
  case KEY_REACH:
    of->reach = option_factor(state, "reach", text, 8);
    return 0;
  case KEY_SLACK:
    of->wcet_factor = option_factor(state, "slack", text, 1000);
    return 0;
  case KEY_TIMES:
    set_times(state, of, text);
    return 0;
  case KEY_BESIDE:
    set_company(state, of, text);
    return 0;
  case KEY_PROFILE:
    /* a schedule's file is written elsewhere, and paths in it count from there */
    if (!realpath(text, of->profile))
      argp_failure(state, EXIT_FAILURE, errno, "--profile: %s", text);
    of->request.setting.profile = of->profile;
    return 0;
  case KEY_TRUTH:
    of->request.video.truth = text;
    return 0;
  case KEY_SIZE: {
    char rest;
    if (sscanf(text, "%" SCNd32 "x%" SCNd32 "%c", &of->request.video.width,
               &of->request.video.height, &rest) != 2)
      argp_error(state, "--size: '%s' is no size; write it as 640x360", text);
    return 0;
  }
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  options *of = state->input;
  switch (key) {
  case 'b':
    of->backend = text;
    return 0;
  case 'm':
    set_mode(state, of, text);
    return 0;
  case 'o':
    of->folder = text;
    return 0;
  case 'x':
    add_box(state, of, text);
    return 0;
  case 't':
    of->most_targets = (int32_t)option_number(state, "targets", text, 1, MOST_TARGETS);
    return 0;
  case 'n':
    of->request.frames = option_number(state, "frames", text, 1, INT32_MAX);
    return 0;
  case KEY_START:
    of->request.start = option_number(state, "start", text, 0, INT32_MAX);
    return 0;
  case KEY_STEP:
    of->request.step = option_number(state, "step", text, 1, 1000);
    return 0;
  case KEY_HOLD:
    of->request.video.hold = option_number(state, "hold", text, 1, INT32_MAX);
    return 0;
  case KEY_LOG:
    of->request.logged = option_number(state, "log", text, 1, INT32_MAX);
    return 0;
  case KEY_LATE:
    of->late = option_number(state, "late", text, 0, 1000);
    return 0;
  case KEY_STARTS:
    of->starts = (int32_t)option_number(state, "starts", text, 2, MOST_STARTS);
    return 0;
  case KEY_SCALES:
    of->scales = option_scales(state, text);
    return 0;
  case KEY_CAMERA:
    of->camera = true;
    return 0;
  case KEY_HEAT:
    of->request.traced = HEAT_FRAMES;
    return 0;
  case KEY_FILM:
    of->film = true;
    return 0;
  case KEY_SCHEDULE:
    of->prints_schedule = true;
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0)
      argp_error(state, "one SOURCE only, not '%s' as well", text);
    of->request.video.source = text;
    return 0;
  case ARGP_KEY_END:
    if (!of->camera && (of->publish_ns > 0 || of->queue > 0 || of->request.ahead_percent > 0))
      argp_error(state, "--%s is for frames that come by the clock; give --camera as well",
                 of->publish_ns > 0 ? "publish"
                 : of->queue > 0    ? "queue"
                                    : "ahead");
    if (is_stdin(of) && of->starts > 0)
      argp_error(state, "--starts: stdin is read once; `trackview save` makes a file of it");
    return 0;
  default:
    return parse_measure(key, text, state, of);
  }
}

static const struct argp command = {
    known,
    parse,
    "[SOURCE]",
    "Follow targets through a video, each frame at its instant, and show how well.\n\n"
    "SOURCE: synth (default) or synth:seed=3,targets=4,scale=20,..., a folder of pictures, a "
    "video, "
    "- for P5 pictures from stdin.",
    NULL,
    NULL,
    NULL};

/* ---- what is to do --------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
  (void)number;
  stopped = 1;
}

/* With windows that are built in. On the CPU, one core: a region is sampled, described and
 * transformed in some 3 ms, and learning takes one more a target. Three times that leaves room for
 * a busy machine. A GPU is not measured yet. */
static int64_t usual_period_ns(const options *of, int32_t targets) {
  const int64_t regions = (int64_t)targets * (of->scales + 1);
  if (of->is_gpu)
    return regions <= 2 ? 1000000 : 1000000 + regions * 20000;
  return regions <= 2 ? 10000000 : regions * 5000000;
}

/* Two blocks share an SM where each has regions to work on: one moves memory while the other
 * computes. */
static int32_t usual_blocks(const options *of, int32_t targets) {
  if (!of->is_gpu)
    return 2;
  return (int64_t)targets * of->scales >= 2 * (int64_t)of->cores ? 2 * of->cores : of->cores;
}

static void complete(options *of, int32_t targets) {
  track_setting *setting = &of->request.setting;
  setting->targets = targets;
  setting->scales = of->scales;
  setting->reach = of->reach;
  setting->wcet_factor = (of->wcet_factor > 0 ? of->wcet_factor : 1) * (of->is_gpu ? 0.3F : 1.0F);
  setting->blocks = of->blocks ? of->blocks : usual_blocks(of, targets);
  setting->threads = of->threads ? of->threads : setting->threads;
  setting->on_gpu = of->is_gpu;
  if (of->is_gpu) {
    setting->an_sm =
        setting->blocks > of->cores ? (setting->blocks + of->cores - 1) / of->cores : 1;
    track_schedule_cut(setting, prem_registry_builtin());
  }
  setting->feeding = of->camera ? TRACK_CAMERA : TRACK_EACH;
  setting->period_ns = of->period_ns ? of->period_ns : usual_period_ns(of, targets);
  setting->queue = of->camera ? of->queue : 0;
  setting->publish_ns = of->camera ? of->publish_ns : 0;
}

static bool wants_windows(const options *of) {
  const bool given = of->wcet_factor > 0 || of->request.setting.profile;
  const bool is_real = of->request.backend && strcmp(of->backend, "sim") != 0;
  return of->measures || (!of->measures_not && !given && is_real && !of->prints_schedule);
}

/* What was measured counts where a plan with it fits, else what is built in. */
static prem_status find_windows(options *of, prem_diag *diag) {
  static const double ms = 1e-6;
  track_setting *setting = &of->request.setting;
  windows_found *found = &of->windows;
  if (!wants_windows(of))
    return PREM_OK;
  if (!of->request.backend || strcmp(of->backend, "sim") == 0 || of->wcet_factor > 0 ||
      setting->profile) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--times",
                  "measure goes with backend cpu or cuda, and without --slack and --profile");
    return PREM_ERR_ARGUMENT;
  }
  const prem_status status =
      windows_measure(setting, of->request.backend, of->boxes, of->period_ns,
                      of->is_gpu ? 1000000 : 10000000, of->request.stop, found, diag);
  if (status != PREM_OK)
    return status;
  if (!found->fits) {
    fprintf(stderr,
            "tracker: windows as they were measured on %" PRId64
            " frames do not fit into %.3f ms; those "
            "that are built in are taken\n",
            found->frames, (double)setting->period_ns * ms);
    return PREM_OK;
  }
  setting->windows = &found->windows;
  setting->period_ns = of->period_ns = found->period_ns;
  fprintf(of->prints_schedule ? stderr : stdout,
          "windows measured on %" PRId64
          " frames in %.2f s, %d %% of what 95 of 100 phases did not "
          "exceed; a frame every %.3f ms\n",
          found->frames, (double)found->took_ns * 1e-9, found->windows.percent,
          (double)found->period_ns * ms);
  return PREM_OK;
}

/* The targets of a frame: those of the command line, or of the ground truth. */
static prem_status find_targets(options *of, const video *frames, prem_diag *diag) {
  const int32_t known_count = video_facts_of(frames)->targets;
  int32_t count = of->box_count;
  /* up to one that is not known there: a target has the ground truth's number */
  while (of->box_count == 0 && count < known_count && count < of->most_targets &&
         video_truth(frames, of->request.start, count, &of->boxes[count]))
    ++count;
  if (count == 0) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--box",
                  "nothing says where the target is in frame %" PRId64 " of '%s'; give it as --box "
                  "left,top,width,height",
                  of->request.start, video_facts_of(frames)->name);
    return PREM_ERR_ARGUMENT;
  }
  of->request.boxes = of->boxes;
  complete(of, count);
  return PREM_OK;
}

static prem_status choose_backend(options *of, prem_diag *diag) {
  of->request.backend = NULL;
  if (strcmp(of->backend, "plain") == 0) {
    if (of->request.traced == 0)
      return PREM_OK;
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--heat",
                  "backend plain has no schedule, and no phases to time");
    return PREM_ERR_ARGUMENT;
  }
  of->request.backend = prem_backend_find(of->backend);
  of->is_gpu = strcmp(of->backend, "cuda") == 0;
  if (of->request.backend) {
    prem_machine machine;
    const prem_status status = prem_backend_probe(of->request.backend, &machine, diag);
    of->cores = status == PREM_OK ? machine.cores : 1;
    return status;
  }
  prem_diag_add(
      diag, PREM_ERROR, 0, (prem_place){0}, "--backend",
      "there is no backend '%s' in this build; cpu, sim and plain are in all, cuda in those "
      "for GPUs",
      of->backend);
  return PREM_ERR_ARGUMENT;
}

/* ---- results --------------------------------------------------------------------------------- */

/* A path in the folder of results. */
typedef struct place {
  char path[4096];
} place;

static place in_folder(const options *of, const char *name) {
  place at;
  snprintf(at.path, sizeof at.path, "%s/%s", of->folder, name);
  return at;
}

/* Before anything is followed: who comes back to a long run shall find its results. */
static prem_status make_folder(const options *of, bool *is_new, prem_diag *diag) {
  struct stat found;
  *is_new = mkdir(of->folder, 0777) == 0;
  if (*is_new || (stat(of->folder, &found) == 0 && S_ISDIR(found.st_mode) &&
                  access(of->folder, W_OK | X_OK) == 0))
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--output",
                "'%s' is no folder to write to: %s", of->folder, strerror(errno));
  return PREM_ERR_IO;
}

/* The boxes that could be seen when each frame was taken, against where the targets were. */
static prem_status score_streaming(const options *of, const video *truth,
                                   const follow_result *found, score *out) {
  const taken_frames frames = {of->request.start, of->request.step, found->taken, found->taken_ns};
  return scored_streaming(truth, &found->log, of->boxes, of->request.setting.targets, &frames, out);
}

/* From several starts, spread over the first half of the video. Some tell their length at their end
 * alone: then it is what was `taken` before. */
static prem_status follow_from_starts(const options *given, const video *truth, int64_t taken,
                                      score *out, prem_diag *diag) {
  score scores[MOST_STARTS];
  int64_t count = 0;
  prem_status status = PREM_OK;
  const int64_t known = video_facts_of(truth)->frames;
  const int64_t frames = known >= 0 ? known : given->request.start + taken * given->request.step;
  for (int32_t i = 0; i < given->starts && status == PREM_OK && frames > 0; ++i) {
    options of = *given;
    follow_result found;
    of.request.start = score_start(frames, i, given->starts);
    of.request.traced = 0;
    status = find_targets(&of, truth, diag);
    if (status != PREM_OK)
      break;
    status = follow(&of.request, &found, diag);
    if (status == PREM_OK)
      status = scored_log(truth, &found.log, given->late, &scores[count++], diag);
    follow_free(&found);
  }
  score_mean(scores, status == PREM_OK ? count : 0, out);
  return status;
}

static void print_scores(const scored *of) {
  const score *const kinds[] = {&of->one_pass, &of->robust, &of->streaming};
  static const char *const names[] = {"one pass", "starts", "streaming"};
  printf("%-10s %7s %6s %6s %8s\n", "scored", "frames", "P20", "AUC", "CLE px");
  for (size_t i = 0; i < 3; ++i)
    if (kinds[i]->frames > 0)
      printf("%-10s %7" PRId64 " %6.3f %6.3f %8.2f\n", names[i], kinds[i]->frames, kinds[i]->p20,
             kinds[i]->auc, kinds[i]->centre_error);
}

static void print_times(const options *of, const follow_result *found) {
  const double ms = 1e-6;
  printf("%" PRId64 " frames, %" PRId64 " with a result, %" PRId64 " found no room; %" PRId64
         " results late, %" PRId64 " jobs after their deadline\n",
         found->taken, found->tracked, found->lost, found->late, found->overruns);
  if (!of->request.backend || found->tracked == 0)
    return;
  printf("frame to boxes: mean %.3f ms, longest %.3f ms\n",
         (double)found->age_sum_ns / (double)found->tracked * ms, (double)found->age_max_ns * ms);
  if (strcmp(of->backend, "sim") != 0 && found->taken > 1) /* a clock of the world's */
    printf("taken: %.1f frames a second\n",
           (double)(found->taken - 1) * 1e9 / (double)found->taken_ns[found->taken - 1]);
  if (of->camera && of->publish_ns > 0)
    printf("boxes shown from %.3f ms before to %.3f ms after their instant\n",
           (double)found->early_max_ns * ms, (double)found->late_max_ns * ms);
  if (of->camera && of->publish_ns > 0)
    printf("by the plan's own clock at most %" PRId64 " ns after the plan's instant\n",
           found->behind_max_ns);
}

/* A target that is refused in its first frame, where it has no size, is lost in all of them. */
static void warn_of_lost(const options *of, const track_log *log, prem_diag *diag) {
  size_t lost = 0;
  for (size_t i = 0; i < log->count; ++i) {
    const track_row *row = &log->rows[i];
    char name[32];
    lost += row->status == TRACK_LOST;
    if (row->frame != log->rows[0].frame || row->status != TRACK_LOST || row->where.w > 0)
      continue;
    snprintf(name, sizeof name, "target %" PRId32, row->target);
    prem_diag_add(diag, PREM_WARNING, 0, (prem_place){0}, name,
                  "cannot be followed: the middle of its box has to be in the frame, the square "
                  "root of its area %.0f to %.0f px; --reach lets it be larger",
                  (double)TRACK_MIN_SIDE,
                  floor((double)(of->reach * (float)TRACK_PIXELS / TRACK_REGION)));
  }
  if (lost > 0)
    printf("lost: %zu of %zu boxes\n", lost, log->count);
}

/* Of the phases of the first frames. Without gnuplot its numbers are there, and no picture. */
static prem_status write_heat(const options *of, const follow_result *found, bool *has_heat,
                              prem_diag *diag) {
  prem_machine machine;
  prem_status status = prem_backend_probe(of->request.backend, &machine, diag);
  if (status == PREM_OK)
    status = heat_write(found->schedule, found->trace, &machine, "tracker --heat",
                        in_folder(of, "heat.json").path, in_folder(of, "heat.svg").path,
                        of->request.stop, diag);
  *has_heat = status == PREM_OK;
  return status == PREM_ERR_UNAVAILABLE ? PREM_OK : status;
}

static prem_status write_page(const options *of, const scored *scores, const follow_result *found,
                              bool has_heat, bool has_film, prem_diag *diag) {
  const place heat = in_folder(of, "heat.svg");
  const page_file files = {heat.path, "Where the time goes"};
  canvas sheet = {0};
  char text[512];
  snprintf(text, sizeof text,
           "Targets: %" PRId32 ", scales: %" PRId32
           "; %s on %s, a frame every %.3f ms. Orange: what "
           "was followed; blue, dashed: where the target really was.",
           of->request.setting.targets, of->request.setting.scales,
           of->request.backend ? prem_mode_name(of->request.mode) : "no schedule", of->backend,
           (double)of->request.setting.period_ns * 1e-6);
  prem_status status = scene_sheet(&of->request.video, &found->log, SHEET_FRAMES, &sheet, diag);
  const page_picture picture = {&sheet, "frames from the first to the last one"};
  const page all = {.title = "Tracker",
                    .text = text,
                    .list = scores,
                    .count = scores->one_pass.frames > 0,
                    .pictures = &picture,
                    .picture_count = 1,
                    .files = &files,
                    .file_count = has_heat ? 1 : 0,
                    .film = has_film ? "track.mp4" : NULL};
  if (status == PREM_OK)
    status = canvas_write_png(&sheet, in_folder(of, "track.png").path, diag);
  if (status == PREM_OK)
    status = page_write(&all, in_folder(of, "track.html").path, diag);
  canvas_free(&sheet);
  return status;
}

static prem_status write_findings(const options *of, const scored *scores, prem_diag *diag) {
  prem_machine machine;
  const prem_backend *backend =
      of->request.backend ? of->request.backend : prem_backend_find("cpu");
  const prem_status status = prem_backend_probe(backend, &machine, diag);
  return status == PREM_OK ? findings_write(scores, 1, &machine, "tracker",
                                            in_folder(of, "scores.json").path, diag)
                           : status;
}

typedef void printer(const options *of, const follow_result *found, FILE *file);

static void print_schedule(const options *of, const follow_result *found, FILE *file) {
  (void)found;
  track_schedule_print(&of->request.setting, file);
}

static void print_instants(const options *of, const follow_result *found, FILE *file) {
  (void)of;
  fprintf(file, "frame,planned_ns,shown_ns\n");
  for (int64_t i = 0; i < found->tracked; ++i)
    fprintf(file, "%" PRId64 ",%" PRId64 ",%" PRId64 "\n", found->instants[i].frame,
            found->instants[i].planned_ns, found->instants[i].shown_ns);
}

static prem_status write_text(const options *of, const follow_result *found, const char *name,
                              printer *print, prem_diag *diag) {
  const place at = in_folder(of, name);
  prem_output output;
  char reason[256];
  prem_status status = prem_output_open(&output, at.path, reason, sizeof reason);
  if (status == PREM_OK) {
    print(of, found, output.file);
    status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status != PREM_OK)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--output", "%s", reason);
  return status;
}

/* Without an encoder there is no film, and nothing else is wrong. */
static prem_status film_all(const options *of, const follow_result *found, bool *is_made,
                            prem_diag *diag) {
  const prem_status status = scene_film(&of->request.video, &found->log, FRAMES_PER_S,
                                        in_folder(of, "track.mp4").path, diag);
  *is_made = status == PREM_OK;
  return status == PREM_ERR_UNAVAILABLE ? PREM_OK : status;
}

static prem_status write_all(const options *of, const scored *scores, const follow_result *found,
                             prem_diag *diag) {
  prem_status status =
      track_log_write(&found->log, in_folder(of, "track.csv").path, of->camera, diag);
  if (status == PREM_OK)
    status = write_text(of, found, "schedule.cfg", print_schedule, diag);
  const bool has_instants = of->camera && of->publish_ns > 0;
  if (status == PREM_OK && has_instants)
    status = write_text(of, found, "instants.csv", print_instants, diag);
  if (status == PREM_OK && scores->one_pass.frames > 0)
    status = write_findings(of, scores, diag);
  const bool can_draw = !of->request.open; /* it is read once more */
  bool has_heat = false, has_film = false;
  if (status == PREM_OK && found->trace)
    status = write_heat(of, found, &has_heat, diag);
  if (status == PREM_OK && can_draw && of->film)
    status = film_all(of, found, &has_film, diag);
  if (status == PREM_OK && can_draw)
    status = write_page(of, scores, found, has_heat, has_film, diag);
  if (status == PREM_OK)
    printf("%s/: track.csv, schedule.cfg%s%s%s%s\n", of->folder,
           has_instants ? ", instants.csv" : "",
           has_heat       ? ", heat.json, heat.svg"
           : found->trace ? ", heat.json"
                          : "",
           can_draw ? ", track.png, track.html" : "",
           scores->one_pass.frames > 0 ? ", scores.json" : "");
  return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static prem_status follow_and_show(options *of, const video *truth, prem_diag *diag) {
  scored scores = {0};
  follow_result found;
  bool is_new;
  const prem_status made = make_folder(of, &is_new, diag);
  if (made != PREM_OK)
    return made;
  const prem_status followed = follow(&of->request, &found, diag);
  prem_status status = followed;
  if (found.log.count > 0)
    status = PREM_OK; /* what there is shall be seen: it was interrupted, or the video is broken */
  if (followed == PREM_OK || found.taken > 0)
    print_times(of, &found);
  warn_of_lost(of, &found.log, diag);
  snprintf(scores.sequence, sizeof scores.sequence, "%s", video_facts_of(truth)->name);
  snprintf(scores.tracker, sizeof scores.tracker, "ttprem KCF, %d scales", of->scales);
  snprintf(scores.backend, sizeof scores.backend, "%s", of->backend);
  const bool is_known = video_facts_of(truth)->targets > 0 && of->box_count == 0;
  if (status == PREM_OK && found.log.count > 0 && is_known) {
    status = scored_log(truth, &found.log, of->late, &scores.one_pass, diag);
    const bool all_logged = of->request.logged == 0 || found.tracked <= of->request.logged;
    if (status == PREM_OK && of->camera && all_logged)
      status = score_streaming(of, truth, &found, &scores.streaming);
    if (status == PREM_OK && of->starts > 1 && followed == PREM_OK)
      status = follow_from_starts(of, truth, found.taken, &scores.robust, diag);
    if (status == PREM_OK)
      print_scores(&scores);
  }
  if (status == PREM_OK && found.log.count > 0)
    status = write_all(of, &scores, &found, diag);
  else if (is_new)
    rmdir(of->folder);
  follow_free(&found);
  return status == PREM_OK ? followed : status;
}

static prem_status work(options *of, prem_diag *diag) {
  video *truth = NULL; /* opened once more by who reads the frames, but stdin */
  prem_status status = choose_backend(of, diag);
  if (status == PREM_OK)
    status = video_open(&of->request.video, &truth, diag);
  if (status == PREM_OK && is_stdin(of))
    of->request.open = truth; /* there is no beginning to go back to */
  if (status == PREM_OK) {
    of->request.setting.rows = video_facts_of(truth)->height;
    of->request.setting.columns = video_facts_of(truth)->width;
    status = find_targets(of, truth, diag);
  }
  if (status == PREM_OK)
    status = find_windows(of, diag);
  if (status == PREM_OK) {
    if (of->prints_schedule)
      status = track_schedule_print(&of->request.setting, stdout) && fflush(stdout) == 0
                   ? PREM_OK
                   : PREM_ERR_IO;
    else
      status = follow_and_show(of, truth, diag);
  }
  video_close(truth);
  return status;
}

static int exit_status(prem_status status) {
  return status == PREM_OK                ? 0
         : status == PREM_ERR_ARGUMENT    ? 2
         : status == PREM_ERR_INTERRUPTED ? 130
                                          : 1;
}

int main(int argc, char **argv) {
  options of = {
      .request = {.mode = PREM_MODE_TT, .video.source = "synth", .step = 1, .stop = &stopped},
      .backend = "cpu",
      .folder = "tracker-out",
      .most_targets = MOST_TARGETS,
      .scales = 1,
      .reach = 2};
  of.request.setting = track_setting_for(1, 1, 1, 1);
  argp_err_exit_status = 2;
  argp_parse(&command, argc, argv, 0, NULL, &of);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  prem_diag *diag = prem_diag_new();
  const prem_status status = diag ? work(&of, diag) : PREM_ERR_MEMORY;
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(stderr, "tracker: %s\n", line);
  }
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    fprintf(stderr, "tracker: %s\n", prem_status_text(status));
  prem_diag_free(diag);
  return exit_status(status);
}
