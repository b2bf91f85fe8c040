/* SPDX-License-Identifier: Apache-2.0 */
/* Videos, scores and pictures of tracks that were logged before, whoever logged them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/ttprem.h>

#include "instants.h"
#include "lines.h"
#include "scene.h"
#include "scored.h"
#include "synth.h"

static const char usage[] =
    "usage: trackview [--size WxH] [--truth FILE] [--title TEXT] [[--head TEXT] --add FILE]... "
    "VERB ...\n"
    "  sum SOURCE                     read it to its end: frames, size, sum of all bytes\n"
    "  save SOURCE FRAMES.pgm [TRUTH.csv [FRAMES]]\n"
    "                                 write it as P5 pictures, and where its targets are\n"
    "  score SOURCE LOG...            print scores; a tracker is called as its log is\n"
    "  json OUT.json SOURCE LOG... [+ SOURCE LOG...]...\n"
    "                                 write them as findings, for ttprem report\n"
    "  page OUT.html [SOURCE LOG... [+ SOURCE LOG...]...]\n"
    "                                 scores, pictures and curves, one page with --title\n"
    "                                 and --add'ed drawings (.svg, .png) and texts (.txt),\n"
    "                                 each with the --head before it\n"
    "  findings OUT.json LINES        write findings out of lines of text: lines.h\n"
    "  instants OUT.json NAME=FILE... when boxes were shown: instants.csv of several runs\n"
    "  sheet SOURCE LOG OUT.png       six frames with their boxes\n"
    "  film SOURCE LOG OUT.mp4        all of them; needs ffmpeg\n"
    "SOURCE: synth[:seed=1,size=320x240,targets=1,...], a folder of pictures, a file, - for P5\n"
    "pictures from stdin.\n";

enum { MOST_FILES = 64, MOST_TRACKS = 64, MOST_SHEETS = 16, SHEET_FRAMES = 6, FRAMES_PER_S = 25 };

typedef struct job {
  video_request request; /* its size and ground truth; the source is set by who opens it */
  const char *title;     /* of a page */
  page_file files[MOST_FILES];
  size_t file_count;
  prem_diag *diag;
} job;

/* ---- one source ---- */

static prem_status sum_up(job *of, const char *source) {
  video *frames = NULL;
  int64_t count = 0;
  uint64_t sum = SYNTH_SUM_START;
  of->request.source = source;
  prem_status status = video_open(&of->request, &frames, of->diag);
  if (status != PREM_OK)
    return status;
  const video_facts *facts = video_facts_of(frames);
  const size_t width = (size_t)facts->width, bytes = width * (size_t)facts->height;
  uint8_t *pixels = malloc(bytes);
  if (facts->frames < 0 && strncmp(source, "synth", 5) == 0) {
    prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "frames", "this video has no end");
    status = PREM_ERR_ARGUMENT;
  }
  while (status == PREM_OK && pixels &&
         (status = video_next(frames, pixels, width, of->diag)) == PREM_OK) {
    sum = synth_sum(sum, pixels, bytes);
    ++count;
  }
  if (status == PREM_ERR_ENDED && pixels) {
    printf("%s: %" PRId64 " frames of %" PRId32 " x %" PRId32 ", sum %016" PRIx64 "\n", facts->name,
           count, facts->width, facts->height, sum);
    status = PREM_OK;
  }
  free(pixels);
  video_close(frames);
  return status;
}

static prem_status save(job *of, int count, char **arguments) {
  video *frames = NULL;
  const int64_t most = count > 3 ? strtoll(arguments[3], NULL, 10) : INT64_MAX;
  of->request.source = arguments[0];
  prem_status status = video_open(&of->request, &frames, of->diag);
  if (status == PREM_OK && video_facts_of(frames)->frames < 0 && count < 4 &&
      strncmp(arguments[0], "synth", 5) == 0) {
    prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "frames",
                  "this video has no end; say how many frames are wanted");
    status = PREM_ERR_ARGUMENT;
  }
  if (status == PREM_OK)
    status = video_save(frames, most, arguments[1], count > 2 ? arguments[2] : NULL, of->diag);
  video_close(frames);
  return status;
}

static prem_status draw(job *of, char **arguments, bool as_film) {
  track_log log = {0};
  canvas sheet = {0};
  of->request.source = arguments[0];
  prem_status status = track_log_read(arguments[1], &log, of->diag);
  if (status == PREM_OK && as_film)
    status = scene_film(&of->request, &log, FRAMES_PER_S, arguments[2], of->diag);
  else if (status == PREM_OK)
    status = scene_sheet(&of->request, &log, SHEET_FRAMES, &sheet, of->diag);
  if (status == PREM_OK && !as_film)
    status = canvas_write_png(&sheet, arguments[2], of->diag);
  canvas_free(&sheet);
  track_log_free(&log);
  return status;
}

/* ---- scores of several ---- */

typedef struct collection {
  scored list[MOST_TRACKS];
  size_t count;
  canvas sheets[MOST_SHEETS];
  char captions[MOST_SHEETS][160];
  size_t sheet_count;
} collection;

/* "ours" of "/tmp/ours.csv" */
static void name_tracker(const char *path, scored *of) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  const size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
  snprintf(of->tracker, sizeof of->tracker, "%.*s", (int)(length < 63 ? length : 63), name);
}

static prem_status add_sheet(job *of, const track_log *log, const scored *scores, collection *all) {
  if (all->sheet_count == MOST_SHEETS)
    return PREM_OK;
  const prem_status status =
      scene_sheet(&of->request, log, SHEET_FRAMES, &all->sheets[all->sheet_count], of->diag);
  if (status == PREM_OK) {
    const scored of_log = *scores; /* what is written lies beside it */
    snprintf(all->captions[all->sheet_count++], sizeof all->captions[0], "%s on %s", of_log.tracker,
             of_log.sequence);
  }
  return status;
}

static prem_status add_log(job *of, const video *frames, const char *path, bool drawn,
                           collection *all) {
  track_log log = {0};
  if (all->count == MOST_TRACKS) {
    prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "more than %d logs",
                  MOST_TRACKS);
    return PREM_ERR_ARGUMENT;
  }
  scored *next = &all->list[all->count];
  prem_status status = track_log_read(path, &log, of->diag);
  if (status == PREM_OK)
    status = scored_log(frames, &log, 0, &next->one_pass, of->diag);
  if (status == PREM_OK) {
    snprintf(next->sequence, sizeof next->sequence, "%s", video_facts_of(frames)->name);
    name_tracker(path, next);
    ++all->count;
  }
  if (status == PREM_OK && drawn)
    status = add_sheet(of, &log, next, all);
  track_log_free(&log);
  return status;
}

/* SOURCE LOG... [+ SOURCE LOG...]... */
static prem_status collect(job *of, int count, char **arguments, bool drawn, collection *all) {
  prem_status status = PREM_OK;
  for (int i = 0; i < count && status == PREM_OK; ++i) {
    video *frames = NULL;
    of->request.source = arguments[i];
    status = video_open(&of->request, &frames, of->diag);
    while (status == PREM_OK && ++i < count && strcmp(arguments[i], "+") != 0)
      status = add_log(of, frames, arguments[i], drawn, all);
    video_close(frames);
  }
  return status;
}

static void print(const collection *all) {
  printf("%-16s %-20s %6s %6s %6s %6s %8s\n", "sequence", "tracker", "frames", "P20", "P5", "AUC",
         "CLE px");
  for (size_t i = 0; i < all->count; ++i) {
    const scored *of = &all->list[i];
    printf("%-16s %-20s %6" PRId64 " %6.3f %6.3f %6.3f %8.2f\n", of->sequence, of->tracker,
           of->one_pass.frames, of->one_pass.p20, of->one_pass.p5, of->one_pass.auc,
           of->one_pass.centre_error);
  }
}

static prem_status make_page(const job *with, const collection *all, const char *path) {
  page_picture pictures[MOST_SHEETS];
  for (size_t i = 0; i < all->sheet_count; ++i)
    pictures[i] = (page_picture){&all->sheets[i], all->captions[i]};
  const page of = {.title = with->title,
                   .list = all->list,
                   .count = all->count,
                   .pictures = pictures,
                   .picture_count = all->sheet_count,
                   .files = with->files,
                   .file_count = with->file_count};
  return page_write(&of, path, with->diag);
}

static prem_status make_findings(const collection *all, const char *path, prem_diag *diag) {
  prem_machine machine;
  const prem_status status = prem_backend_probe(prem_backend_find("cpu"), &machine, diag);
  return status == PREM_OK
             ? findings_write(all->list, all->count, &machine, "trackview json", path, diag)
             : status;
}

static prem_status score_all(job *of, const char *verb, int count, char **arguments) {
  collection *all = calloc(1, sizeof *all);
  const bool is_page = strcmp(verb, "page") == 0, is_score = strcmp(verb, "score") == 0;
  const int first = is_score ? 0 : 1;
  prem_status status =
      all ? collect(of, count - first, arguments + first, is_page, all) : PREM_ERR_MEMORY;
  if (status == PREM_OK && is_score)
    print(all);
  else if (status == PREM_OK)
    status =
        is_page ? make_page(of, all, arguments[0]) : make_findings(all, arguments[0], of->diag);
  for (size_t i = 0; all && i < all->sheet_count; ++i)
    canvas_free(&all->sheets[i]);
  free(all);
  return status;
}

static prem_status make_of_lines(const job *of, char **arguments) {
  prem_machine machine;
  const prem_status status = prem_backend_probe(prem_backend_find("cpu"), &machine, of->diag);
  return status == PREM_OK ? lines_to_findings(arguments[1], &machine, arguments[0], of->diag)
                           : status;
}

/* NAME=FILE... */
static prem_status make_of_instants(const job *of, int count, char **arguments) {
  prem_machine machine;
  instants *runs = calloc((size_t)count, sizeof *runs);
  prem_status status =
      runs ? prem_backend_probe(prem_backend_find("cpu"), &machine, of->diag) : PREM_ERR_MEMORY;
  for (int r = 1; r < count && status == PREM_OK; ++r) {
    const char *equals = strchr(arguments[r], '=');
    instants *run = &runs[r - 1];
    if (!equals || equals == arguments[r] || equals - arguments[r] >= (long)sizeof run->name) {
      prem_diag_add(of->diag, PREM_ERROR, 0, (prem_place){0}, "",
                    "'%s' is no NAME=FILE with a name of at most %zu letters", arguments[r],
                    sizeof run->name - 1);
      status = PREM_ERR_ARGUMENT;
      break;
    }
    memcpy(run->name, arguments[r], (size_t)(equals - arguments[r]));
    status = instants_read(equals + 1, run, of->diag);
  }
  if (status == PREM_OK)
    status = instants_write(runs, (size_t)count - 1, &machine, "trackview instants", arguments[0],
                            of->diag);
  for (int r = 0; runs && r < count; ++r)
    instants_free(&runs[r]);
  free(runs);
  return status;
}

/* ---- the command ---- */

static prem_status work(job *of, const char *verb, int count, char **arguments) {
  if (strcmp(verb, "sum") == 0 && count == 1)
    return sum_up(of, arguments[0]);
  if (strcmp(verb, "save") == 0 && count >= 2 && count <= 4)
    return save(of, count, arguments);
  if ((strcmp(verb, "sheet") == 0 || strcmp(verb, "film") == 0) && count == 3)
    return draw(of, arguments, verb[0] == 'f');
  if ((strcmp(verb, "score") == 0 && count >= 2) ||
      (strcmp(verb, "page") == 0 && (count == 1 || count >= 3)) ||
      (strcmp(verb, "json") == 0 && count >= 3))
    return score_all(of, verb, count, arguments);
  if (strcmp(verb, "findings") == 0 && count == 2)
    return make_of_lines(of, arguments);
  if (strcmp(verb, "instants") == 0 && count >= 2)
    return make_of_instants(of, count, arguments);
  fputs(usage, stderr);
  return PREM_ERR_ARGUMENT;
}

int main(int argc, char **argv) {
  job of = {.title = "Tracks", .diag = prem_diag_new()};
  int at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--truth") == 0)
      of.request.truth = argv[at + 1];
    else if (strcmp(argv[at], "--title") == 0)
      of.title = argv[at + 1];
    else if (strcmp(argv[at], "--head") == 0 && of.file_count < MOST_FILES)
      of.files[of.file_count].heading = argv[at + 1];
    else if (strcmp(argv[at], "--add") == 0 && of.file_count < MOST_FILES)
      of.files[of.file_count++].path = argv[at + 1];
    else if (strcmp(argv[at], "--size") != 0 || sscanf(argv[at + 1], "%" SCNd32 "x%" SCNd32,
                                                       &of.request.width, &of.request.height) != 2)
      break;
  }
  const prem_status status =
      work(&of, at < argc ? argv[at] : "", argc - at - 1, argv + (at < argc ? at + 1 : at));
  for (size_t i = 0; i < prem_diag_count(of.diag); ++i) {
    char line[512];
    prem_problem_format(prem_diag_at(of.diag, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
  if (status != PREM_OK && prem_diag_count(of.diag) == 0)
    fprintf(stderr, "trackview: %s\n", prem_status_text(status));
  prem_diag_free(of.diag);
  return status == PREM_OK ? 0 : status == PREM_ERR_ARGUMENT ? 2 : 1;
}
