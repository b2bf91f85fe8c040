/* SPDX-License-Identifier: Apache-2.0 */
/* Videos made of numbers, P5 pictures in all their pieces, and programs that misbehave in ffmpeg's
 * place: a stub on the PATH, so that these need no ffmpeg. */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/tracker/child.h"
#include "examples/tracker/film.h"
#include "examples/tracker/p5.h"
#include "examples/tracker/synth.h"
#include "examples/tracker/video.h"
#include "tests/common/folder.h"
#include "tests/common/suite.h"

static void write_bytes(const char *path, const char *bytes, size_t count) {
  FILE *file = fopen(path, "we");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  ck_assert_int_eq(fclose(file), 0);
}

/* ---- made of numbers ---- */

static synth *make(const char *text) {
  synth_settings settings = synth_defaults();
  synth *of = NULL;
  ck_assert_int_eq(synth_parse(text, &settings, NULL), PREM_OK);
  ck_assert_int_eq(synth_new(&settings, &of, NULL), PREM_OK);
  return of;
}

static const struct {
  const char *settings, *sum;
} sums[] = {
#include "tests/examples/synth_sums.h"
};

GROUP("numbers");

/* What every compiler makes; tests/cmake/tracker_video.sh asks them with and without optimisation.
 */
TESTS(the_bytes_are_what_they_were, sizeof sums / sizeof *sums) {
  char found[32];
  synth *of = make(sums[_i].settings);
  const synth_settings *settings = synth_settings_of(of);
  const size_t width = (size_t)settings->width, bytes = width * (size_t)settings->height;
  FREED uint8_t *pixels = malloc(bytes);
  uint64_t sum = SYNTH_SUM_START;
  for (int64_t i = 0; i < settings->frames; ++i) {
    synth_frame(of, i, pixels, width);
    sum = synth_sum(sum, pixels, bytes);
  }
  snprintf(found, sizeof found, "%016" PRIx64, sum);
  ck_assert_str_eq(found, sums[_i].sum);
  synth_free(of);
}

TEST(the_sum_is_fnv_1a) {
  ck_assert_uint_eq(synth_sum(SYNTH_SUM_START, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
  ck_assert_uint_eq(synth_sum(SYNTH_SUM_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
}

/* The pixels that another target leaves as they are and this one changes: their middle is the
 * box's. */
TEST(the_ground_truth_is_where_the_target_is) {
  synth *of = make("seed=5,scale=20,size=160x120,box=24x20");
  const size_t width = 160, bytes = width * 120;
  FREED uint8_t *pixels = malloc(bytes), *background = malloc(bytes);
  synth *bare = make("seed=5,size=160x120,box=8x8,speed=1"); /* its target is elsewhere and small */
  double worst_px = 0;
  for (int64_t frame = 0; frame < 60; frame += 7) {
    const box where = synth_truth(of, frame, 0), other = synth_truth(bare, frame, 0);
    int out = 0, in = 0, left = 160, right = -1, top = 120, bottom = -1;
    synth_frame(of, frame, pixels, width);
    synth_frame(bare, frame, background, width);
    for (int row = 0; row < 120; ++row)
      for (int column = 0; column < 160; ++column) {
        const float x = (float)column + .5F, y = (float)row + .5F;
        if (fabsf(x - other.x - 4) < 6 && fabsf(y - other.y - 4) < 6)
          continue;
        const bool differs = pixels[row * 160 + column] != background[row * 160 + column];
        const bool inside = x > where.x - .5F && x < where.x + where.w + .5F && y > where.y - .5F &&
                            y < where.y + where.h + .5F;
        out += differs && !inside;
        in += differs && inside;
        if (differs) {
          left = column < left ? column : left;
          right = column > right ? column : right;
          top = row < top ? row : top;
          bottom = row > bottom ? row : bottom;
        }
      }
    ck_assert_int_eq(out, 0); /* nothing was drawn outside */
    ck_assert_int_gt(in, (int)(where.w * where.h * 0.7F));
    worst_px = fmax(worst_px, fabs(left + right + 1 - 2.0 * where.x - where.w) / 2);
    worst_px = fmax(worst_px, fabs(top + bottom + 1 - 2.0 * where.y - where.h) / 2);
  }
  ck_assert_double_lt(worst_px, 1.5);
  synth_free(of);
  synth_free(bare);
}

TEST(targets_stay_apart_and_inside_at_their_speed) {
  synth *of = make("size=640x480,targets=64,scale=25,speed=512,box=24x30");
  for (int64_t frame = 0; frame < 400; ++frame)
    for (int32_t i = 0; i < 64; ++i) {
      const box one = synth_truth(of, frame, i), before = synth_truth(of, frame + 1, i);
      ck_assert(one.x >= 0 && one.y >= 0 && one.x + one.w <= 640 && one.y + one.h <= 480);
      ck_assert(one.w >= 18 - 0.01F && one.w <= 30 && one.h >= 22.5F - 0.01F && one.h <= 37.5F);
      ck_assert_float_eq(one.x * 256, rintf(one.x * 256)); /* exact in 1/256 px */
      ck_assert(fabsf(one.x + one.w / 2 - before.x - before.w / 2) < 2.05F);
      for (int32_t j = 0; j < i; ++j) {
        const box other = synth_truth(of, frame, j);
        ck_assert(one.x >= other.x + other.w || other.x >= one.x + one.w ||
                  one.y >= other.y + other.h || other.y >= one.y + one.h);
      }
    }
  synth_free(of);
}

TEST(a_pitch_leaves_the_rest_alone) {
  synth *of = make("size=64x48,box=8x8,noise=9,light=30,pan=7,bar=5,targets=2");
  FREED uint8_t *tight = malloc(64 * 48), *wide = malloc(80 * 48);
  memset(wide, 0xA5, 80 * 48);
  synth_frame(of, 33, tight, 64);
  synth_frame(of, 33, wide, 80);
  for (int row = 0; row < 48; ++row) {
    ck_assert_mem_eq(tight + row * 64, wide + row * 80, 64);
    for (int column = 64; column < 80; ++column)
      ck_assert_uint_eq(wide[row * 80 + column], 0xA5);
  }
  synth_free(of);
}

TEST(settings_out_of_range_are_refused) {
  static const char *const wrong[] = {"width=15",   "height=9000", "targets=0", "targets=65",
                                      "box=7x8",    "speed=0",     "scale=26",  "light=51",
                                      "pan=257",    "noise=65",    "bar=2000",  "box=318x200",
                                      "targets=64", "size=16x16"};
  static const char *const no_setting[] = {"colour=1", "width",    "width=",
                                           "width=-1", "width=1x", "box=40",
                                           "=3",       ",",        "seed=99999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    synth_settings settings = synth_defaults();
    synth *of = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    ck_assert_int_eq(synth_parse(wrong[i], &settings, diag), PREM_OK);
    ck_assert_msg(synth_new(&settings, &of, diag) == PREM_ERR_ARGUMENT, "%s", wrong[i]);
    ck_assert_ptr_null(of);
    ck_assert_uint_eq(prem_diag_count(diag), 1);
  }
  for (size_t i = 0; i < sizeof no_setting / sizeof *no_setting; ++i) {
    synth_settings settings = synth_defaults();
    ck_assert_msg(synth_parse(no_setting[i], &settings, NULL) == PREM_ERR_ARGUMENT, "%s",
                  no_setting[i]);
    ck_assert_int_eq(settings.width, 320);
  }
}

/* ---- files of pictures ---- */

/* Opens and reads to the end: the last status, and the first problem's line. */
static prem_status read_all(const char *source, int64_t patience_ns, int64_t *frames,
                            char line[256]) {
  const video_request request = {.source = source, .patience_ns = patience_ns};
  OWNED(prem_diag) *diag = prem_diag_new();
  video *of = NULL;
  prem_status status = video_open(&request, &of, diag);
  *frames = 0;
  ck_assert((status == PREM_OK) == (of != NULL));
  if (status == PREM_OK) {
    const video_facts *facts = video_facts_of(of);
    FREED uint8_t *pixels = malloc((size_t)facts->width * (size_t)facts->height);
    while ((status = video_next(of, pixels, (size_t)facts->width, diag)) == PREM_OK)
      ++*frames;
  }
  line[0] = 0;
  ck_assert_uint_eq(prem_diag_count(diag), status == PREM_ERR_ENDED ? 0 : 1);
  if (prem_diag_count(diag) > 0)
    prem_problem_format(prem_diag_at(diag, 0), line, 256);
  video_close(of);
  return status;
}

static const char *pixels_256(void) {
  static char bytes[4096];
  memset(bytes, 'x', sizeof bytes);
  return bytes;
}

/* Header, then 256 bytes: a picture of 16 x 16. */
static void append_picture(const char *path, const char *header, size_t bytes) {
  FILE *file = fopen(path, "ae");
  ck_assert_ptr_nonnull(file);
  fputs(header, file);
  ck_assert_uint_eq(fwrite(pixels_256(), 1, bytes, file), bytes);
  ck_assert_int_eq(fclose(file), 0);
}

GROUP("files", .first = enter_folder, .last = remove_folder);

TEST(pictures_follow_each_other) {
  char line[256];
  int64_t frames;
  unlink("good.pgm");
  append_picture("good.pgm", "P5 16 16 255\n", 256);
  append_picture("good.pgm", "P5\n# a comment\n16\t16 # another\n255 ", 256);
  append_picture("good.pgm", "\nP5 16 16 255\n", 256);
  ck_assert_int_eq(read_all("good.pgm", 0, &frames, line), PREM_ERR_ENDED);
  ck_assert_int_eq(frames, 3);
}

static const struct {
  const char *first, *second; /* headers; NULL: none */
  size_t bytes;               /* of the second picture */
  int64_t frames;
  const char *said;
} broken[] = {
    {"P5 15 16 255\n", NULL, 0, 0, "15 x 16 px; each side may have 16 to 8192"},
    {"P5 999999999 16 255\n", NULL, 0, 0, "999999999 x 16 px"},
    {"P5 16 16 65535\n", NULL, 0, 0, "grey levels up to 65535"},
    {"P5 16 16\n", NULL, 0, 0, "does not begin with"},
    {"P5 1x 16 255\n", NULL, 0, 0, "does not begin with"},
    {"P5 16 16 255\n", "P5 16 16 255\n", 255, 1, "frame 1 is cut short in row 15 of 16"},
    {"P5 16 16 255\n", "P5 16 17 255\n", 272, 1, "frame 1 has 16 x 17 px, those before it 16 x 16"},
    {"P5 16 16 255\n", "P6 16 16 255\n", 256, 1, "frame 1 does not begin with"},
    {"P5 16 16 255\n", "P5 16", 0, 1, "frame 1 is cut short in its P5 header"},
    {"P5 16 16 255\n", "P", 0, 1, "frame 1 is cut short in its P5 header"},
};

TESTS(broken_pictures_are_refused_where_they_break, sizeof broken / sizeof *broken) {
  char line[256];
  int64_t frames;
  unlink("broken.pgm");
  append_picture("broken.pgm", broken[_i].first, 256);
  if (broken[_i].second)
    append_picture("broken.pgm", broken[_i].second, broken[_i].bytes);
  ck_assert_int_eq(read_all("broken.pgm", 0, &frames, line), PREM_ERR_PARSE);
  ck_assert_int_eq(frames, broken[_i].frames);
  ck_assert_msg(strstr(line, broken[_i].said) != NULL, "%s", line);
}

/* Frames and ground truth go forwards and backwards; the ends come once. */
TEST(what_is_held_is_shown_there_and_back) {
  static const int64_t order[] = {0, 1, 2, 3, 2, 1, 0, 1, 2, 3};
  const video_request request = {.source = "synth:size=160x120,frames=9", .hold = 4};
  synth *of = make("size=160x120,frames=9");
  uint8_t found[120][176], expected[120][160];
  video *held;
  ck_assert_int_eq(video_open(&request, &held, NULL), PREM_OK);
  ck_assert_int_eq(video_facts_of(held)->frames, -1);
  for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
    box where;
    const box real = synth_truth(of, order[i], 0);
    synth_frame(of, order[i], expected[0], 160);
    ck_assert_int_eq(video_next(held, found[0], 176, NULL), PREM_OK);
    for (int row = 0; row < 120; ++row)
      ck_assert_mem_eq(found[row], expected[row], 160);
    ck_assert(video_truth(held, (int64_t)i, 0, &where));
    ck_assert_mem_eq(&where, &real, sizeof where);
  }
  ck_assert_int_eq(video_skip(held, 5, NULL), PREM_OK); /* 15: as 3 */
  synth_frame(of, 3, expected[0], 160);
  ck_assert_int_eq(video_next(held, found[0], 176, NULL), PREM_OK);
  for (int row = 0; row < 120; ++row)
    ck_assert_mem_eq(found[row], expected[row], 160);
  video_close(held);
  synth_free(of);
}

/* A video that is shorter than what was asked for, and one frame alone. */
TEST(a_short_video_is_held_as_a_whole) {
  uint8_t pixels[8][160 * 120];
  for (int64_t frames = 1; frames <= 2; ++frames) {
    char source[64];
    video *held;
    snprintf(source, sizeof source, "synth:size=160x120,frames=%" PRId64, frames);
    const video_request request = {.source = source, .hold = 50};
    ck_assert_int_eq(video_open(&request, &held, NULL), PREM_OK);
    for (int i = 0; i < 8; ++i)
      ck_assert_int_eq(video_next(held, pixels[i], 160, NULL), PREM_OK);
    for (int i = 2; i < 8; ++i)
      ck_assert_mem_eq(pixels[i], pixels[i % 2], sizeof pixels[0]);
    ck_assert_int_eq(memcmp(pixels[0], pixels[1], sizeof pixels[0]) == 0, frames == 1);
    video_close(held);
  }
}

TEST(too_much_is_not_held) {
  const video_request request = {.source = "synth:size=1024x1024,frames=0", .hold = 4097};
  OWNED(prem_diag) *diag = prem_diag_new();
  video *held;
  ck_assert_int_eq(video_open(&request, &held, diag), PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(held);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                   "4097 frames of 1024 x 1024 are too many; 4096 can be held");
}

TEST(the_size_of_a_file_tells_its_frames) {
  const video_request request = {.source = "counted.pgm"};
  video *of = NULL;
  unlink("counted.pgm");
  for (int i = 0; i < 5; ++i)
    append_picture("counted.pgm", "P5 16 16 255\n", 256);
  ck_assert_int_eq(video_open(&request, &of, NULL), PREM_OK);
  ck_assert_int_eq(video_facts_of(of)->frames, 5);
  ck_assert_str_eq(video_facts_of(of)->name, "counted.pgm");
  ck_assert_int_eq(video_skip(of, 3, NULL), PREM_OK);
  ck_assert_int_eq(video_skip(of, 3, NULL), PREM_ERR_ENDED);
  video_close(of);
}

TEST(what_is_no_video_is_refused) {
  static const char *const missing[] = {"absent.pgm", "/dev/zero"};
  char line[256];
  int64_t frames;
  for (size_t i = 0; i < sizeof missing / sizeof *missing; ++i)
    ck_assert_int_eq(read_all(missing[i], 0, &frames, line), PREM_ERR_IO);
  write_bytes("empty", "", 0);
  ck_assert_int_eq(read_all("empty", 0, &frames, line), PREM_ERR_PARSE);
  ck_assert_str_eq(line, "empty: is empty");
  ck_assert_int_eq(mkfifo("pipe", 0600), 0); /* would be waited for */
  ck_assert_int_eq(read_all("pipe", 0, &frames, line), PREM_ERR_IO);
  ck_assert_int_eq(mkdir("bare", 0700), 0);
  ck_assert_int_eq(read_all("bare", 0, &frames, line), PREM_ERR_PARSE);
  ck_assert_int_eq(read_all("", 0, &frames, line), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(read_all("synth:size=1x1", 0, &frames, line), PREM_ERR_ARGUMENT);
}

TEST(what_is_saved_is_the_same_video) {
  const video_request request = {.source = "synth:frames=7,targets=3,size=160x120,box=20x16"};
  const video_request saved = {.source = "saved.pgm", .truth = "saved.csv"};
  video *of = NULL, *again = NULL;
  uint8_t pixels[2][160 * 120];
  ck_assert_int_eq(video_open(&request, &of, NULL), PREM_OK);
  ck_assert_int_eq(video_skip(of, 2, NULL), PREM_OK);
  ck_assert_int_eq(video_save(of, 4, "saved.pgm", "saved.csv", NULL), PREM_OK);
  video_close(of);
  ck_assert_int_eq(video_open(&request, &of, NULL), PREM_OK);
  ck_assert_int_eq(video_open(&saved, &again, NULL), PREM_OK);
  ck_assert_int_eq(video_facts_of(again)->frames, 4);
  ck_assert_int_eq(video_facts_of(again)->targets, 3);
  ck_assert_int_eq(video_skip(of, 2, NULL), PREM_OK);
  for (int64_t i = 0; i < 4; ++i) {
    ck_assert_int_eq(video_next(of, pixels[0], 160, NULL), PREM_OK);
    ck_assert_int_eq(video_next(again, pixels[1], 160, NULL), PREM_OK);
    ck_assert_mem_eq(pixels[0], pixels[1], sizeof pixels[0]);
    for (int32_t target = 0; target < 3; ++target) {
      box one, other;
      ck_assert(video_truth(of, i + 2, target, &one) && video_truth(again, i, target, &other));
      ck_assert_mem_eq(&one, &other, sizeof one);
    }
  }
  ck_assert(!video_truth(of, 7, 0, &(box){0}) && !video_truth(of, 0, 3, &(box){0}));
  video_close(of);
  video_close(again);
}

/* ---- in ffmpeg's place ---- */

/* A script that is found as ffmpeg; all else stays on the PATH. */
static void put_in_place(const char *script) {
  char path[256];
  mkdir("bin", 0700);
  write_bytes("bin/ffmpeg", script, strlen(script));
  ck_assert_int_eq(chmod("bin/ffmpeg", 0700), 0);
  snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", folder);
  ck_assert_int_eq(setenv("PATH", path, 1), 0);
  write_bytes("film.mp4", "not P5", 6);
}

static const struct {
  const char *script;
  prem_status status;
  int64_t frames;
  const char *said;
} stubs[] = {
    {"#!/bin/sh\nprintf 'P5 16 16 255\\n'; head -c 256 /dev/zero\n", PREM_ERR_ENDED, 1, ""},
    {"#!/bin/sh\nexit 0\n", PREM_ERR_PARSE, 0, "after 0 frames: there are no more pictures"},
    {"#!/bin/sh\necho first >&2; echo 'it is broken' >&2; exit 1\n", PREM_ERR_PARSE, 0,
     "after 0 frames: it is broken"},
    {"#!/bin/sh\nprintf 'P5 16 16 255\\n'; head -c 256 /dev/zero; echo damaged >&2; exit 69\n",
     PREM_ERR_PARSE, 1, "after 1 frames: damaged"},
    {"#!/bin/sh\nprintf 'P5 16 16 255\\n'; head -c 100 /dev/zero\n", PREM_ERR_PARSE, 0,
     "cut short"},
    {"#!/bin/sh\necho nonsense\n", PREM_ERR_PARSE, 0, "does not begin with"},
    {"#!/bin/sh\nexec sleep 1000\n", PREM_ERR_TIMEOUT, 0, "no picture came for 300 ms"},
    {"#!/bin/sh\nprintf 'P5 16 16 255\\n'; head -c 256 /dev/zero; exec sleep 1000\n",
     PREM_ERR_TIMEOUT, 1, "no picture came for 300 ms after frame 0"},
    {"#!/bin/sh\nkill -9 $$\n", PREM_ERR_PARSE, 0, "it was killed"},
};

/* No child is left, running or dead. */
static void assert_no_children(void) {
  ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

TESTS(a_decoder_that_misbehaves_is_told_and_ended, sizeof stubs / sizeof *stubs) {
  char line[256];
  int64_t frames;
  const int64_t before_ns = child_now_ns();
  put_in_place(stubs[_i].script);
  ck_assert_int_eq(read_all("film.mp4", 300000000, &frames, line), stubs[_i].status);
  ck_assert_int_eq(frames, stubs[_i].frames);
  ck_assert_msg(strstr(line, stubs[_i].said) != NULL, "%s", line);
  ck_assert_int_lt(child_now_ns() - before_ns, INT64_C(60000000000));
  assert_no_children();
}

TEST(closing_ends_a_decoder_that_runs) {
  const video_request request = {.source = "film.mp4"};
  video *of = NULL;
  put_in_place("#!/bin/sh\necho $$ >pid\nwhile :; do printf 'P5 16 16 255\\n'; head -c 256 "
               "/dev/zero; done\n");
  ck_assert_int_eq(video_open(&request, &of, NULL), PREM_OK);
  video_close(of);
  assert_no_children();
  FILE *file = fopen("pid", "re");
  int pid = 0;
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
  fclose(file);
  ck_assert_int_eq(kill(pid, 0), -1);
}

TEST(without_ffmpeg_it_says_so) {
  char line[256];
  int64_t frames;
  film *of = NULL;
  write_bytes("film.mp4", "not P5", 6);
  ck_assert_int_eq(setenv("PATH", "/nowhere", 1), 0);
  ck_assert_int_eq(read_all("film.mp4", 0, &frames, line), PREM_ERR_UNAVAILABLE);
  ck_assert_str_eq(line, "ffmpeg: is not on the PATH; install ffmpeg");
  ck_assert_int_eq(film_open("out.mp4", 16, 16, 25, &of, NULL), PREM_ERR_UNAVAILABLE);
  ck_assert_int_ne(access("out.mp4", F_OK), 0);
}

/* Names of every byte that a shell would make something of reach ffmpeg as they are. */
TEST(no_shell_reads_the_name) {
  static const char name[] = "$(touch oops); 'a' \"b\" %d.mp4";
  char line[256], text[1024] = "";
  int64_t frames;
  put_in_place("#!/bin/sh\nfor a; do echo \"$a\"; done >arguments\nexit 1\n");
  write_bytes(name, "not P5", 6);
  ck_assert_int_eq(read_all(name, 0, &frames, line), PREM_ERR_PARSE);
  FILE *file = fopen("arguments", "re");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  ck_assert_ptr_nonnull(strstr(text, "\nfile:$(touch oops); 'a' \"b\" %d.mp4\n"));
  ck_assert_int_ne(access("oops", F_OK), 0);
}

static const char *const encoders_that_fail[] = {
    /* none that is known, one that ends at once, one that ends amid a picture, one that is silent
     */
    "#!/bin/sh\necho ' V..... gif '\n",
    "#!/bin/sh\n[ \"$2\" = -encoders ] && echo ' V mpeg4 ' && exit\nexit 1\n",
    "#!/bin/sh\n[ \"$2\" = -encoders ] && echo ' V mpeg4 ' && exit\nhead -c9 >/dev/null;exit 1\n",
    "#!/bin/sh\n[ \"$2\" = -encoders ] && echo ' V mpeg4 ' && exit\ncat >/dev/null\n"};

/* SIGPIPE would end this test. */
TESTS(an_encoder_that_fails_leaves_no_film,
      sizeof encoders_that_fail / sizeof *encoders_that_fail) {
  film *of = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  canvas picture = canvas_new(640, 480);
  put_in_place(encoders_that_fail[_i]);
  prem_status status = film_open("out.mp4", 640, 480, 25, &of, diag);
  ck_assert_int_eq(status, _i == 0 ? PREM_ERR_UNAVAILABLE : PREM_OK);
  for (int i = 0; i < 20 && status == PREM_OK; ++i)
    status = film_add(of, &picture, diag);
  if (status == PREM_OK)
    status = film_close(of, diag);
  else
    film_abandon(of);
  ck_assert_int_eq(status, _i == 0 ? PREM_ERR_UNAVAILABLE : PREM_ERR_IO);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_int_ne(access("out.mp4", F_OK), 0);
  assert_no_children();
  canvas_free(&picture);
}
