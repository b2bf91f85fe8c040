/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of source: numbers (synth.h), and P5 pictures from a descriptor (p5.h), which is a file
 * or what ffmpeg writes. */
#include "video.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttprem/output.h>

#include "child.h"
#include "p5.h"
#include "synth.h"
#include "track_log.h"
#include "truth.h"

enum { PATH_BYTES = 4096 };
#define DEFAULT_PATIENCE_NS INT64_C(10000000000)

struct video {
  video_facts facts;
  int64_t next;  /* frame */
  uint8_t *held; /* [held_count] frames without gaps; NULL: they are read as they come */
  int64_t held_count;
  uint8_t *seen;      /* the frame that was looked at; NULL: none was, or it is one of these */
  synth *made;        /* NULL: from `reader` */
  truth_boxes marked; /* beside pictures */
  child decoder;      /* ffmpeg, if any */
  p5_reader reader;
  char source[PATH_BYTES];
};

static prem_status refuse(prem_diag *diag, prem_status status, const char *path,
                          const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return status;
}

/* ---- made of numbers ---- */

static prem_status open_synth(video *of, const char *settings_text, const video_request *request,
                              prem_diag *diag) {
  synth_settings settings = synth_defaults();
  if (request->width || request->height)
    return refuse(diag, PREM_ERR_ARGUMENT, NULL,
                  "a synthetic video is not scaled; write synth:size=640x480");
  prem_status status = synth_parse(settings_text, &settings, diag);
  if (status == PREM_OK)
    status = synth_new(&settings, &of->made, diag);
  if (status != PREM_OK)
    return status;
  snprintf(of->facts.name, sizeof of->facts.name, "synth");
  of->facts.width = settings.width;
  of->facts.height = settings.height;
  of->facts.frames = settings.frames > 0 ? settings.frames : -1;
  of->facts.targets = settings.targets;
  return PREM_OK;
}

/* ---- a folder of pictures ---- */

/** Pictures whose names are numbers, as ffmpeg wants to hear of them. */
typedef struct picture_list {
  int64_t first, last, count;
  int digits; /* of each name, zeros before it; 0: names have as many as they need */
  char extension[8];
} picture_list;

/* Its number and how many digits it has; 0 where it is no picture. */
static int picture_number(const char *name, const char *extension, int64_t *number) {
  const size_t digits = strspn(name, "0123456789");
  if (digits == 0 || digits > 9 || strcmp(name + digits, extension) != 0)
    return 0;
  *number = strtoll(name, NULL, 10);
  return (int)digits;
}

static void count_picture(picture_list *list, int64_t number, int digits) {
  if (list->count == 0)
    *list = (picture_list){number, number, 0, digits, ""};
  list->first = number < list->first ? number : list->first;
  list->last = number > list->last ? number : list->last;
  list->digits = digits == list->digits ? digits : 0;
  ++list->count;
}

/* Those of the first kind of which there are some. */
static prem_status list_pictures(const char *folder, picture_list *list, prem_diag *diag) {
  static const char *const extensions[] = {".jpg", ".jpeg", ".png", ".bmp", ".pgm"};
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; ++i) {
    DIR *open = opendir(folder);
    if (!open)
      return refuse(diag, PREM_ERR_IO, folder, strerror(errno));
    *list = (picture_list){0};
    for (const struct dirent *entry; (entry = readdir(open));) {
      int64_t number;
      const int digits = picture_number(entry->d_name, extensions[i], &number);
      if (digits > 0)
        count_picture(list, number, digits);
    }
    closedir(open);
    snprintf(list->extension, sizeof list->extension, "%s", extensions[i]);
    if (list->count == 0)
      continue;
    if (list->count == list->last - list->first + 1)
      return PREM_OK;
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){folder, 0}, "",
                  "has %" PRId64 " pictures between %" PRId64 "%s and %" PRId64
                  "%s: some are missing or there twice",
                  list->count, list->first, extensions[i], list->last, extensions[i]);
    return PREM_ERR_PARSE;
  }
  return refuse(diag, PREM_ERR_PARSE, folder,
                "has no pictures whose names are numbers, as 0001.jpg (or .png, .bmp, .pgm)");
}

/* "file:FOLDER/%04d.jpg"; each % of the folder's own is doubled. */
static bool make_pattern(const char *folder, const picture_list *list, char out[PATH_BYTES]) {
  size_t length = (size_t)snprintf(out, PATH_BYTES, "file:");
  for (const char *at = folder; *at; ++at) {
    if (length + 32 > PATH_BYTES)
      return false;
    if (*at == '%')
      out[length++] = '%';
    out[length++] = *at;
  }
  if (list->digits)
    snprintf(out + length, PATH_BYTES - length, "/%%0%dd%s", list->digits, list->extension);
  else
    snprintf(out + length, PATH_BYTES - length, "/%%d%s", list->extension);
  return true;
}

/* ---- ffmpeg ---- */

enum { MOST_ARGUMENTS = 40 };
typedef struct argument_list {
  const char *text[MOST_ARGUMENTS + 1];
  int count;
} argument_list;

static void add_arguments(argument_list *list, const char *const *text) {
  while (*text && list->count < MOST_ARGUMENTS)
    list->text[list->count++] = *text++;
}

/* Grey P5 pictures on its stdout, each with its size. The options pin what would differ between
 * machines: the decoder's arithmetic, the scaler's, and that no frame is doubled or left out.
 * Damage ends it. */
static prem_status start_ffmpeg(video *of, const char *input, const char *const *input_options,
                                const video_request *request, prem_diag *diag) {
  char filter[128];
  argument_list list = {0};
  if (request->width)
    snprintf(filter, sizeof filter,
             "scale=%" PRId32 ":%" PRId32 ":flags=bicubic+bitexact+accurate_rnd,format=gray",
             request->width, request->height);
  else
    snprintf(filter, sizeof filter, "scale=flags=bicubic+bitexact+accurate_rnd,format=gray");
  add_arguments(&list,
                (const char *const[]){"ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error",
                                      "-xerror", "-flags", "+bitexact", "-idct", "simple", NULL});
  add_arguments(&list, input_options);
  add_arguments(&list, (const char *const[]){"-i", input, "-map", "0:v:0", "-vf", filter,
                                             "-fps_mode", "passthrough", "-c:v", "pgm", "-f",
                                             "image2pipe", "pipe:1", NULL});
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return refuse(diag, PREM_ERR_IO, NULL, strerror(errno));
  /* posix_spawn takes arguments that it promises not to change */
  const prem_status status = child_start(&of->decoder, (char *const *)list.text, -1, ends[1], diag);
  close(ends[1]);
  of->reader.descriptor = ends[0];
  return status;
}

/* What a decoder that has stopped has to say for itself; `status` and `reason` are the reader's. */
static prem_status judge_decoder(video *of, prem_status status, const char *reason,
                                 prem_diag *diag) {
  char complaint[256], text[400];
  const int result = child_wait(&of->decoder, child_now_ns() + of->reader.patience_ns);
  if (result == 0 && status == PREM_ERR_ENDED && of->next > 0 && of->next >= of->facts.frames)
    return status;
  child_complaint(&of->decoder, result == 0 ? "there are no more pictures" : "it was killed",
                  complaint, sizeof complaint);
  snprintf(text, sizeof text, "ffmpeg gave up after %" PRId64 " frames: %s", of->next,
           status == PREM_ERR_ENDED || result > 0 ? complaint : reason);
  return refuse(diag, PREM_ERR_PARSE, of->source, text);
}

static prem_status open_folder(video *of, const video_request *request, prem_diag *diag) {
  char folder[PATH_BYTES], pattern[PATH_BYTES], start[24];
  struct stat facts;
  picture_list list;
  if (snprintf(folder, sizeof folder, "%s/img", of->source) >= PATH_BYTES)
    return refuse(diag, PREM_ERR_ARGUMENT, of->source, "the path is too long");
  if (stat(folder, &facts) || !S_ISDIR(facts.st_mode))
    snprintf(folder, sizeof folder, "%s", of->source);
  prem_status status = list_pictures(folder, &list, diag);
  if (status != PREM_OK)
    return status;
  if (!make_pattern(folder, &list, pattern))
    return refuse(diag, PREM_ERR_ARGUMENT, of->source, "the path is too long");
  of->facts.frames = list.count;
  snprintf(start, sizeof start, "%" PRId64, list.first);
  return start_ffmpeg(of, pattern,
                      (const char *const[]){"-f", "image2", "-pattern_type", "sequence",
                                            "-start_number", start, NULL},
                      request, diag);
}

/* ---- a file ---- */

/* Where pictures follow each other without anything between them, the file's size says how many. */
static int64_t count_frames(const p5_reader *reader) {
  struct stat facts;
  const int64_t frame_bytes =
      (int64_t)reader->header_bytes + (int64_t)reader->width * reader->height;
  if (fstat(reader->descriptor, &facts) || !S_ISREG(facts.st_mode) ||
      facts.st_size % frame_bytes != 0)
    return -1;
  return facts.st_size / frame_bytes;
}

static bool begins_as_p5(int descriptor) {
  char magic[2];
  return pread(descriptor, magic, 2, 0) == 2 && magic[0] == 'P' && magic[1] == '5';
}

static prem_status open_file(video *of, const video_request *request, prem_diag *diag) {
  char input[PATH_BYTES + 8];
  struct stat facts;
  const bool from_stdin = strcmp(of->source, "-") == 0;
  const int descriptor = from_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : open(of->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  of->reader.descriptor = descriptor;
  if (descriptor < 0 || fstat(descriptor, &facts))
    return refuse(diag, PREM_ERR_IO, of->source, strerror(errno));
  if (!from_stdin && !S_ISREG(facts.st_mode))
    return refuse(diag, PREM_ERR_IO, of->source,
                  "is neither a file nor a folder; P5 pictures from elsewhere come through -");
  if (S_ISREG(facts.st_mode) && facts.st_size == 0)
    return refuse(diag, PREM_ERR_PARSE, of->source, "is empty");
  if (from_stdin || begins_as_p5(descriptor))
    return !request->width ? PREM_OK
                           : refuse(diag, PREM_ERR_ARGUMENT, of->source,
                                    "P5 pictures are taken as they are; leave out the size");
  close(descriptor);
  of->reader.descriptor = -1;
  snprintf(input, sizeof input, "file:%s", of->source);
  return start_ffmpeg(of, input, (const char *const[]){NULL}, request, diag);
}

/* ---- opening ---- */

/* "Crossing" of "/data/Crossing/". */
static void name_sequence(video *of) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s", of->source);
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    path[--length] = 0;
  const char *slash = strrchr(path, '/');
  const char *name = slash && slash[1] ? slash + 1 : path;
  snprintf(of->facts.name, sizeof of->facts.name, "%.*s", (int)sizeof of->facts.name - 1, name);
}

static prem_status read_truth(video *of, const video_request *request, bool is_folder,
                              prem_diag *diag) {
  char path[PATH_BYTES + 32];
  struct stat facts;
  const char *marked = request->truth;
  snprintf(path, sizeof path, "%s/groundtruth_rect.txt", of->source);
  if (!marked && is_folder && stat(path, &facts) == 0) {
    if (request->width)
      return refuse(diag, PREM_ERR_ARGUMENT, path,
                    "its boxes are in pixels of the pictures as they are; leave out the size");
    marked = path;
  }
  const prem_status status = marked ? truth_read(marked, &of->marked, diag) : PREM_OK;
  of->facts.targets = of->marked.targets;
  return status;
}

/* The first picture's header says the size. */
static prem_status look_at_first(video *of, prem_diag *diag) {
  char reason[P5_REASON_BYTES] = "there is no picture in it";
  const prem_status status = p5_header(&of->reader, reason);
  if (status != PREM_OK && status != PREM_ERR_TIMEOUT && of->decoder.process)
    return judge_decoder(of, status, reason, diag);
  if (status != PREM_OK)
    return refuse(diag, status == PREM_ERR_ENDED ? PREM_ERR_PARSE : status, of->source, reason);
  of->facts.width = of->reader.width;
  of->facts.height = of->reader.height;
  if (!of->decoder.process)
    of->facts.frames = count_frames(&of->reader);
  return PREM_OK;
}

static prem_status open_pictures(video *of, const video_request *request, prem_diag *diag) {
  struct stat facts;
  const bool is_folder = stat(of->source, &facts) == 0 && S_ISDIR(facts.st_mode);
  name_sequence(of);
  of->facts.frames = -1;
  prem_status status = read_truth(of, request, is_folder, diag);
  if (status == PREM_OK)
    status = is_folder ? open_folder(of, request, diag) : open_file(of, request, diag);
  return status == PREM_OK ? look_at_first(of, diag) : status;
}

static prem_status judge_request(const video_request *request, prem_diag *diag) {
  const bool scaled = request->width || request->height;
  if (!request->source || !request->source[0])
    return refuse(diag, PREM_ERR_ARGUMENT, NULL,
                  "no video is named; write synth, a folder of pictures or a file");
  if (strlen(request->source) >= PATH_BYTES)
    return refuse(diag, PREM_ERR_ARGUMENT, NULL, "the video's path is too long");
  if (scaled && (request->width < P5_MIN_SIDE || request->width > P5_MAX_SIDE ||
                 request->height < P5_MIN_SIDE || request->height > P5_MAX_SIDE)) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "",
                  "%" PRId32 " x %" PRId32 " px; each side may have %d to %d", request->width,
                  request->height, P5_MIN_SIDE, P5_MAX_SIDE);
    return PREM_ERR_ARGUMENT;
  }
  return PREM_OK;
}

/* 0, 1, ... held_count - 1, and back again; each as often as the next one. */
static int64_t held_number(const video *of, int64_t frame) {
  if (!of->held)
    return frame;
  const int64_t there_and_back = of->held_count > 1 ? 2 * (of->held_count - 1) : 1;
  const int64_t at = frame % there_and_back;
  return at < of->held_count ? at : there_and_back - at;
}

static prem_status hold_frames(video *of, int64_t most, prem_diag *diag) {
  const int64_t frame_bytes = (int64_t)of->facts.width * of->facts.height;
  if (most > VIDEO_MOST_HELD / frame_bytes) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--hold",
                  "%" PRId64 " frames of %" PRId32 " x %" PRId32 " are too many; %" PRId64
                  " can be held",
                  most, of->facts.width, of->facts.height, VIDEO_MOST_HELD / frame_bytes);
    return PREM_ERR_ARGUMENT;
  }
  const int64_t there = of->facts.frames;
  uint8_t *held = malloc((size_t)((there > 0 && there < most ? there : most) * frame_bytes));
  prem_status status = held ? PREM_OK : PREM_ERR_MEMORY;
  int64_t count = 0;
  while (status == PREM_OK && count < most) {
    status = video_next(of, held + count * frame_bytes, (size_t)of->facts.width, diag);
    count += status == PREM_OK;
  }
  if (status == PREM_ERR_ENDED && count > 0)
    status = PREM_OK;
  of->held = held;
  of->held_count = count;
  of->next = 0;
  of->facts.frames = -1;
  return status;
}

prem_status video_open(const video_request *request, video **out, prem_diag *diag) {
  static const char numbers[] = "synth";
  const size_t length = sizeof numbers - 1;
  *out = NULL;
  prem_status status = judge_request(request, diag);
  if (status != PREM_OK)
    return status;
  video *of = calloc(1, sizeof *of);
  if (!of)
    return PREM_ERR_MEMORY;
  of->reader.descriptor = -1;
  of->reader.patience_ns = request->patience_ns > 0 ? request->patience_ns : DEFAULT_PATIENCE_NS;
  snprintf(of->source, sizeof of->source, "%s", request->source);
  if (strncmp(of->source, numbers, length) == 0 &&
      (of->source[length] == 0 || of->source[length] == ':'))
    status = open_synth(of, of->source + length + (of->source[length] == ':'), request, diag);
  else
    status = open_pictures(of, request, diag);
  if (status == PREM_OK && request->hold > 0)
    status = hold_frames(of, request->hold, diag);
  if (status == PREM_OK)
    *out = of;
  else
    video_close(of);
  return status;
}

void video_close(video *of) {
  if (!of)
    return;
  if (of->reader.descriptor >= 0)
    close(of->reader.descriptor);
  child_end(&of->decoder);
  synth_free(of->made);
  truth_free(&of->marked);
  free(of->held);
  free(of->seen);
  free(of);
}

/* ---- frames ---- */

const video_facts *video_facts_of(const video *of) {
  return &of->facts;
}

static const uint8_t *next_held(video *of) {
  const size_t bytes = (size_t)of->facts.width * (size_t)of->facts.height;
  return of->held + (size_t)held_number(of, of->next++) * bytes;
}

prem_status video_next(video *of, uint8_t *pixels, size_t pitch_bytes, prem_diag *diag) {
  char reason[P5_REASON_BYTES] = "";
  if (of->held) {
    const size_t width = (size_t)of->facts.width, height = (size_t)of->facts.height;
    const uint8_t *from = next_held(of);
    for (size_t row = 0; row < height; ++row)
      memcpy(pixels + row * pitch_bytes, from + row * width, width);
    return PREM_OK;
  }
  if (of->made) {
    if (of->facts.frames >= 0 && of->next >= of->facts.frames)
      return PREM_ERR_ENDED;
    synth_frame(of->made, of->next++, pixels, pitch_bytes);
    return PREM_OK;
  }
  const prem_status status = p5_next(&of->reader, pixels, pitch_bytes, reason);
  if (status == PREM_OK)
    ++of->next;
  else if (of->decoder.process && status != PREM_ERR_TIMEOUT)
    return judge_decoder(of, status, reason, diag);
  else if (status != PREM_ERR_ENDED)
    return refuse(diag, status, of->source, reason);
  return status;
}

prem_status video_look(video *of, const uint8_t **pixels, prem_diag *diag) {
  const size_t pitch = (size_t)of->facts.width;
  if (of->held) {
    *pixels = next_held(of);
    return PREM_OK;
  }
  if (!of->seen)
    of->seen = malloc(pitch * (size_t)of->facts.height);
  *pixels = of->seen;
  return of->seen ? video_next(of, of->seen, pitch, diag) : PREM_ERR_MEMORY;
}

prem_status video_skip(video *of, int64_t frames, prem_diag *diag) {
  const size_t pitch = (size_t)of->facts.width;
  if (of->made || of->held) {
    if (of->facts.frames >= 0 && frames > of->facts.frames - of->next)
      return PREM_ERR_ENDED;
    of->next += frames;
    return PREM_OK;
  }
  uint8_t *pixels = malloc(pitch * (size_t)of->facts.height);
  prem_status status = pixels ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t i = 0; i < frames && status == PREM_OK; ++i)
    status = video_next(of, pixels, pitch, diag);
  free(pixels);
  return status;
}

bool video_truth(const video *of, int64_t number, int32_t target, box *out) {
  const int64_t frame = held_number(of, number);
  if (of->made) {
    const synth_settings *settings = synth_settings_of(of->made);
    const bool known = target >= 0 && target < settings->targets && frame >= 0 &&
                       (settings->frames == 0 || frame < settings->frames);
    if (known)
      *out = synth_truth(of->made, frame, target);
    return known;
  }
  const box *one = truth_at(&of->marked, frame, target);
  if (one)
    *out = *one;
  return one != NULL;
}

/* ---- saving ---- */

/* The ground truth of one frame, which is number `number` of what is saved. */
static prem_status save_truth(const video *of, int64_t frame, int64_t number, track_log *log) {
  track_row row = {.frame = number, .peak = 0, .status = TRACK_TRUTH};
  prem_status status = PREM_OK;
  row.published_ns = TRACK_NO_TIME;
  for (row.target = 0; row.target < of->facts.targets && status == PREM_OK; ++row.target)
    if (video_truth(of, frame, row.target, &row.where))
      status = track_log_add(log, &row);
  return status;
}

static prem_status save_frames(video *of, int64_t most, FILE *file, track_log *log,
                               prem_diag *diag) {
  const size_t pitch = (size_t)of->facts.width;
  uint8_t *pixels = malloc(pitch * (size_t)of->facts.height);
  prem_status status = pixels ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t number = 0; number < most && status == PREM_OK; ++number) {
    const int64_t frame = of->next;
    status = video_next(of, pixels, pitch, diag);
    if (status == PREM_OK && !p5_write(file, pixels, pitch, of->facts.width, of->facts.height))
      break; /* whoever closes the file sees it */
    if (status == PREM_OK)
      status = save_truth(of, frame, number, log);
  }
  free(pixels);
  return status == PREM_ERR_ENDED ? PREM_OK : status;
}

prem_status video_save(video *of, int64_t most, const char *frames_path, const char *truth_path,
                       prem_diag *diag) {
  char reason[160] = "";
  prem_output output;
  track_log log = {0};
  if (prem_output_open(&output, frames_path, reason, sizeof reason) != PREM_OK)
    return refuse(diag, PREM_ERR_IO, frames_path, reason);
  prem_status status = save_frames(of, most, output.file, &log, diag);
  if (status == PREM_OK && truth_path)
    status = track_log_write(&log, truth_path, false, diag);
  track_log_free(&log);
  if (status != PREM_OK)
    prem_output_abandon(&output);
  else if (prem_output_commit(&output, reason, sizeof reason) != PREM_OK)
    status = refuse(diag, PREM_ERR_IO, frames_path, reason);
  return status;
}
