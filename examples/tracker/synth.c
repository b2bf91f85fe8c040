/* SPDX-License-Identifier: Apache-2.0 */
/* Value noise, parabolic waves and blending, all in integers. A length `_q8` is in 1/256 px. */
#include "synth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  ONE_Q8 = 256,
  HALF_Q8 = ONE_Q8 / 2,
  WAVE = 1 << 16, /* a wave's period, and its highest value */
  OCTAVES = 4,
  LEAST_SPEED_Q8 = 1, /* what stands still is another video */
  MARGIN = 2          /* px between a target and the edge of its cell */
};

typedef struct texture {
  int32_t width, height;
  uint8_t *grey;
} texture;

/* A value that swings: phase and what is added to it with each frame, of WAVE. */
typedef struct wave {
  uint32_t phase, step;
} wave;

typedef struct moving {
  texture look;
  int32_t home_x_q8, home_y_q8;   /* the middle of its cell */
  int32_t reach_x_q8, reach_y_q8; /* how far its centre goes from there */
  wave x, y, scale;
} moving;

struct synth {
  synth_settings settings;
  texture background; /* larger than the picture by `pan` on every side */
  wave pan_x, pan_y, light;
  moving targets[SYNTH_MAX_TARGETS];
};

/* ---- numbers ---- */

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) */
static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static uint64_t next_random(uint64_t *state) {
  const uint64_t value = mix(*state);
  *state += UINT64_C(0x9E3779B97F4A7C15);
  return value;
}

uint64_t synth_sum(uint64_t sum, const void *bytes, size_t count) {
  for (const uint8_t *byte = bytes, *end = byte + count; byte < end; ++byte)
    sum = (sum ^ *byte) * UINT64_C(0x100000001B3);
  return sum;
}

/* Two parabolas a period, nearly a sine: -WAVE to WAVE. */
static int32_t wave_at(wave of, int64_t frame) {
  const uint32_t phase = (of.phase + (uint32_t)(uint64_t)frame * of.step) >> 16;
  const int64_t half = WAVE / 2, along = phase % (WAVE / 2);
  const int64_t height = 4 * along * (half - along) * WAVE / (half * half);
  return (int32_t)(phase < WAVE / 2 ? height : -height);
}

/* Of a swing of `reach_q8` to both sides: no faster than `speed_q8` a frame, up to a third slower.
 */
static wave random_wave(uint64_t *state, int32_t reach_q8, int32_t speed_q8) {
  const uint64_t random = next_random(state);
  /* The steepest slope is 8 reach a period; phases have 32 bits. */
  const uint64_t fastest = reach_q8 > 0 ? ((uint64_t)speed_q8 << 32) / (8 * (uint64_t)reach_q8) : 0;
  const uint64_t limit = UINT64_C(1) << 30; /* four frames a period, or nobody sees a wave */
  const uint64_t step = (fastest < limit ? fastest : limit) * (768 + random % 257) / 1024;
  return (wave){(uint32_t)(random >> 32), (uint32_t)step};
}

/* ---- textures ---- */

static int32_t between(int32_t from, int32_t to, int32_t part, int32_t whole) {
  return from + (to - from) * part / whole;
}

/* One octave at a pixel: a lattice of random heights, with straight lines between them. */
static int32_t octave_at(uint64_t seed, int32_t cell, int32_t row, int32_t column) {
  const int32_t i = row / cell, j = column / cell;
  int32_t corner[2][2];
  for (int32_t down = 0; down < 2; ++down)
    for (int32_t right = 0; right < 2; ++right) {
      const uint64_t place = (uint64_t)(i + down) << 32 | (uint64_t)(j + right);
      corner[down][right] = (int32_t)(mix(seed ^ mix(place)) >> 52); /* 12 bits */
    }
  const int32_t upper = between(corner[0][0], corner[0][1], column % cell, cell);
  const int32_t lower = between(corner[1][0], corner[1][1], column % cell, cell);
  return between(upper, lower, row % cell, cell);
}

/* Stretched to all of 16 to 239, so that every texture has the same contrast. */
static void stretch(texture *look, const int32_t *height, size_t count) {
  int32_t low = height[0], high = height[0];
  for (size_t i = 1; i < count; ++i) {
    low = height[i] < low ? height[i] : low;
    high = height[i] > high ? height[i] : high;
  }
  const int32_t range = high > low ? high - low : 1;
  for (size_t i = 0; i < count; ++i)
    look->grey[i] = (uint8_t)(16 + (height[i] - low) * 223 / range);
}

/* Four octaves; the first has cells of `coarsest` pixels, each following one half of it. */
static prem_status make_texture(texture *look, int32_t width, int32_t height, uint64_t seed,
                                int32_t coarsest) {
  const size_t count = (size_t)width * (size_t)height;
  int32_t *sum = calloc(count, sizeof *sum);
  *look = (texture){width, height, malloc(count)};
  for (int32_t octave = 0; octave < OCTAVES && sum && look->grey; ++octave) {
    const int32_t cell = coarsest >> octave > 2 ? coarsest >> octave : 2;
    const int32_t weight = OCTAVES - octave;
    const uint64_t octave_seed = mix(seed + (uint64_t)octave);
    for (int32_t row = 0; row < height; ++row)
      for (int32_t column = 0; column < width; ++column)
        sum[(size_t)row * (size_t)width + (size_t)column] +=
            weight * octave_at(octave_seed, cell, row, column);
  }
  const bool made = sum && look->grey;
  if (made)
    stretch(look, sum, count);
  free(sum);
  return made ? PREM_OK : PREM_ERR_MEMORY;
}

static int32_t clamp(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}

/* Straight lines between the middles of texels; the last texel goes on behind the edge. */
static int32_t texture_at(const texture *look, int32_t row_q8, int32_t column_q8) {
  row_q8 = clamp(row_q8 - HALF_Q8, 0, (look->height - 1) * ONE_Q8);
  column_q8 = clamp(column_q8 - HALF_Q8, 0, (look->width - 1) * ONE_Q8);
  const int32_t row = row_q8 / ONE_Q8, column = column_q8 / ONE_Q8;
  const int32_t down = row_q8 % ONE_Q8, right = column_q8 % ONE_Q8;
  const uint8_t *upper = look->grey + (ptrdiff_t)row * look->width + column;
  const uint8_t *lower = row + 1 < look->height ? upper + look->width : upper;
  const int32_t beside = column + 1 < look->width;
  const int32_t top = upper[0] * (ONE_Q8 - right) + upper[beside] * right;
  const int32_t bottom = lower[0] * (ONE_Q8 - right) + lower[beside] * right;
  return (top * (ONE_Q8 - down) + bottom * down + ONE_Q8 * HALF_Q8) / (ONE_Q8 * ONE_Q8);
}

/* ---- settings ---- */

synth_settings synth_defaults(void) {
  return (synth_settings){.seed = 1,
                          .frames = 300,
                          .width = 320,
                          .height = 240,
                          .targets = 1,
                          .box_width = 40,
                          .box_height = 32,
                          .speed = 3 * ONE_Q8};
}

static prem_status refuse(prem_diag *diag, const char *key, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, key, "%s", reason);
  return PREM_ERR_ARGUMENT;
}

static bool parse_number(const char *text, size_t length, int64_t *out) {
  char *end = NULL;
  if (length == 0 || length > 18 || text[0] < '0' || text[0] > '9')
    return false;
  *out = strtoll(text, &end, 10);
  return end == text + length;
}

/* "40x32" */
static bool parse_size(const char *text, size_t length, int32_t *width, int32_t *height) {
  const char *cross = memchr(text, 'x', length);
  int64_t first, second;
  if (!cross || !parse_number(text, (size_t)(cross - text), &first) ||
      !parse_number(cross + 1, length - (size_t)(cross + 1 - text), &second) || first > INT32_MAX ||
      second > INT32_MAX)
    return false;
  *width = (int32_t)first;
  *height = (int32_t)second;
  return true;
}

static bool is_key(const char *key, size_t length, const char *name) {
  return strlen(name) == length && memcmp(key, name, length) == 0;
}

typedef struct setting {
  const char *name;
  int32_t *value;
  int32_t least, most;
} setting;

enum { SETTINGS = 11 };
static void list_settings(synth_settings *of, setting list[SETTINGS]) {
  const setting all[SETTINGS] = {
      {"width", &of->width, 16, 8192},
      {"height", &of->height, 16, 8192},
      {"targets", &of->targets, 1, SYNTH_MAX_TARGETS},
      {"box_width", &of->box_width, 8, 1024},
      {"box_height", &of->box_height, 8, 1024},
      {"speed", &of->speed, LEAST_SPEED_Q8, 64 * ONE_Q8},
      {"scale", &of->scale, 0, 25},
      {"light", &of->light, 0, 50},
      {"pan", &of->pan, 0, 256},
      {"noise", &of->noise, 0, 64},
      {"bar", &of->bar, 0, 1024},
  };
  memcpy(list, all, sizeof all);
}

/* One "key=value" of `length` bytes. */
static bool parse_setting(const char *text, size_t length, synth_settings *settings) {
  setting list[SETTINGS];
  int64_t number = 0;
  const char *equals = memchr(text, '=', length);
  if (!equals)
    return false;
  const size_t key = (size_t)(equals - text), value = length - key - 1;
  if (is_key(text, key, "box"))
    return parse_size(equals + 1, value, &settings->box_width, &settings->box_height);
  if (is_key(text, key, "size"))
    return parse_size(equals + 1, value, &settings->width, &settings->height);
  if (!parse_number(equals + 1, value, &number))
    return false;
  if (is_key(text, key, "seed"))
    return settings->seed = (uint64_t)number, true;
  if (is_key(text, key, "frames"))
    return settings->frames = number, true;
  list_settings(settings, list);
  for (int i = 0; i < SETTINGS; ++i)
    if (is_key(text, key, list[i].name) && number <= INT32_MAX)
      return *list[i].value = (int32_t)number, true;
  return false;
}

prem_status synth_parse(const char *text, synth_settings *settings, prem_diag *diag) {
  synth_settings parsed = *settings;
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, ",");
    if (!parse_setting(at, length, &parsed)) {
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "synth",
                    "'%.*s' is no setting; write KEY=NUMBER, where KEY is seed, frames, width, "
                    "height, targets, speed (1/256 px), scale, light (%%), pan, noise or bar; or "
                    "size=320x240, box=40x32",
                    (int)(length < 60 ? length : 60), at);
      return PREM_ERR_ARGUMENT;
    }
    at += length + (at[length] == ',');
  }
  *settings = parsed;
  return PREM_OK;
}

static prem_status judge_ranges(const synth_settings *settings, prem_diag *diag) {
  synth_settings copy = *settings;
  setting list[SETTINGS];
  list_settings(&copy, list);
  for (int i = 0; i < SETTINGS; ++i)
    if (*list[i].value < list[i].least || *list[i].value > list[i].most) {
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, list[i].name,
                    "%" PRId32 " is not in %" PRId32 " to %" PRId32, *list[i].value, list[i].least,
                    list[i].most);
      return PREM_ERR_ARGUMENT;
    }
  return settings->frames < 0 ? refuse(diag, "frames", "less than none; 0 is without an end")
                              : PREM_OK;
}

/* ---- where things are ---- */

/* Columns and rows of cells, of which each target has one: the cells are as square as they get. */
static void share_out(const synth_settings *settings, int32_t *columns, int32_t *rows) {
  int64_t best = -1;
  for (int32_t across = 1; across <= settings->targets; ++across) {
    const int32_t down = (settings->targets + across - 1) / across;
    const int64_t spare_x = settings->width / across - settings->box_width;
    const int64_t spare_y = settings->height / down - settings->box_height;
    const int64_t spare = spare_x < spare_y ? spare_x : spare_y;
    if (best < 0 || spare > best) {
      best = spare > 0 ? spare : 0;
      *columns = across;
      *rows = down;
    }
  }
}

/* The widest that a length gets, rounded up. */
static int32_t grown_q8(int32_t length, int32_t scale) {
  return (length * ONE_Q8 * (100 + scale) + 99) / 100;
}

static prem_status place_targets(synth *video, uint64_t *random, prem_diag *diag) {
  const synth_settings *settings = &video->settings;
  int32_t columns = 1, rows = 1;
  share_out(settings, &columns, &rows);
  const int32_t cell_x_q8 = settings->width * ONE_Q8 / columns;
  const int32_t cell_y_q8 = settings->height * ONE_Q8 / rows;
  const int32_t reach_x_q8 =
      (cell_x_q8 - grown_q8(settings->box_width, settings->scale)) / 2 - MARGIN * ONE_Q8;
  const int32_t reach_y_q8 =
      (cell_y_q8 - grown_q8(settings->box_height, settings->scale)) / 2 - MARGIN * ONE_Q8;
  if (reach_x_q8 < ONE_Q8 || reach_y_q8 < ONE_Q8) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "targets",
                  "%" PRId32 " boxes of %" PRId32 " x %" PRId32 " px that grow by %" PRId32
                  " %% cannot move in %" PRId32 " x %" PRId32
                  " px without covering each other; take fewer, smaller boxes or a larger picture",
                  settings->targets, settings->box_width, settings->box_height, settings->scale,
                  settings->width, settings->height);
    return PREM_ERR_ARGUMENT;
  }
  for (int32_t i = 0; i < settings->targets; ++i) {
    moving *one = &video->targets[i];
    one->home_x_q8 = cell_x_q8 * (i % columns) + cell_x_q8 / 2;
    one->home_y_q8 = cell_y_q8 * (i / columns) + cell_y_q8 / 2;
    one->reach_x_q8 = reach_x_q8;
    one->reach_y_q8 = reach_y_q8;
    one->x = random_wave(random, reach_x_q8, settings->speed);
    one->y = random_wave(random, reach_y_q8, settings->speed);
    one->scale = random_wave(random, WAVE, WAVE * 8 / 150); /* some 150 to 200 frames a period */
  }
  return PREM_OK;
}

/* In 1/256 px, of even width and height: the centre is exact as well. */
typedef struct place {
  int32_t left, top, width, height;
} place;

static place place_of(const synth *video, int64_t number, int32_t index) {
  const synth_settings *settings = &video->settings;
  const moving *one = &video->targets[index];
  const int64_t percent_wave = 100 * WAVE + (int64_t)settings->scale * wave_at(one->scale, number);
  const int64_t x = (int64_t)one->reach_x_q8 * wave_at(one->x, number) / WAVE;
  const int64_t y = (int64_t)one->reach_y_q8 * wave_at(one->y, number) / WAVE;
  place now = {0};
  now.width = (int32_t)(settings->box_width * percent_wave * HALF_Q8 / (100 * WAVE)) * 2;
  now.height = (int32_t)(settings->box_height * percent_wave * HALF_Q8 / (100 * WAVE)) * 2;
  now.left = one->home_x_q8 + (int32_t)x - now.width / 2;
  now.top = one->home_y_q8 + (int32_t)y - now.height / 2;
  return now;
}

box synth_truth(const synth *video, int64_t number, int32_t target) {
  const place now = place_of(video, number, target);
  return (box){(float)now.left / ONE_Q8, (float)now.top / ONE_Q8, (float)now.width / ONE_Q8,
               (float)now.height / ONE_Q8};
}

const synth_settings *synth_settings_of(const synth *video) {
  return &video->settings;
}

/* ---- a video ---- */

static prem_status make_textures(synth *video) {
  const synth_settings *settings = &video->settings;
  const int32_t room = 2 * settings->pan + 2;
  prem_status status = make_texture(&video->background, settings->width + room,
                                    settings->height + room, mix(settings->seed), 48);
  const int32_t longer =
      settings->box_width > settings->box_height ? settings->box_width : settings->box_height;
  for (int32_t i = 0; i < settings->targets && status == PREM_OK; ++i)
    status = make_texture(&video->targets[i].look, settings->box_width, settings->box_height,
                          mix(settings->seed ^ mix((uint64_t)i + 1)), longer / 2);
  return status;
}

prem_status synth_new(const synth_settings *settings, synth **out, prem_diag *diag) {
  *out = NULL;
  prem_status status = judge_ranges(settings, diag);
  if (status != PREM_OK)
    return status;
  synth *video = calloc(1, sizeof *video);
  if (!video)
    return PREM_ERR_MEMORY;
  uint64_t random = mix(settings->seed ^ UINT64_C(0x74726163));
  video->settings = *settings;
  video->pan_x = random_wave(&random, settings->pan * ONE_Q8, ONE_Q8);
  video->pan_y = random_wave(&random, settings->pan * ONE_Q8, ONE_Q8);
  video->light = random_wave(&random, WAVE, WAVE * 8 / 200);
  status = place_targets(video, &random, diag);
  if (status == PREM_OK)
    status = make_textures(video);
  if (status == PREM_OK)
    *out = video;
  else
    synth_free(video);
  return status;
}

void synth_free(synth *video) {
  if (!video)
    return;
  free(video->background.grey);
  for (int32_t i = 0; i < SYNTH_MAX_TARGETS; ++i)
    free(video->targets[i].look.grey);
  free(video);
}

/* ---- a frame ---- */

static void draw_background(const synth *video, int64_t number, uint8_t *pixels, size_t pitch) {
  const synth_settings *settings = &video->settings;
  const texture *look = &video->background;
  const int32_t middle_q8 = (settings->pan + 1) * ONE_Q8;
  const int32_t x_q8 =
      middle_q8 + (int32_t)((int64_t)settings->pan * wave_at(video->pan_x, number) / ONE_Q8);
  const int32_t y_q8 =
      middle_q8 + (int32_t)((int64_t)settings->pan * wave_at(video->pan_y, number) / ONE_Q8);
  const int32_t right = x_q8 % ONE_Q8, down = y_q8 % ONE_Q8;
  const int32_t weight[4] = {(ONE_Q8 - down) * (ONE_Q8 - right), (ONE_Q8 - down) * right,
                             down * (ONE_Q8 - right), down * right};
  for (int32_t row = 0; row < settings->height; ++row) {
    const uint8_t *upper =
        look->grey + (ptrdiff_t)(y_q8 / ONE_Q8 + row) * look->width + x_q8 / ONE_Q8;
    /* The last row and column have one more behind them, but for the farthest pan. */
    const uint8_t *lower = down ? upper + look->width : upper;
    const int32_t beside = right != 0;
    uint8_t *line = pixels + (size_t)row * pitch;
    for (int32_t column = 0; column < settings->width; ++column)
      line[column] = (uint8_t)((upper[column] * weight[0] + upper[column + beside] * weight[1] +
                                lower[column] * weight[2] + lower[column + beside] * weight[3] +
                                ONE_Q8 * HALF_Q8) /
                               (ONE_Q8 * ONE_Q8));
  }
}

/* How much of pixel `at` lies in [from, from + length), of ONE_Q8. */
static int32_t covered(int32_t at, int32_t from_q8, int32_t length_q8) {
  const int32_t low = clamp(from_q8, at * ONE_Q8, (at + 1) * ONE_Q8);
  const int32_t high = clamp(from_q8 + length_q8, at * ONE_Q8, (at + 1) * ONE_Q8);
  return high - low;
}

static void draw_target(const texture *look, const place *now, uint8_t *pixels, size_t pitch) {
  const int32_t last_row = (now->top + now->height - 1) / ONE_Q8;
  const int32_t last_column = (now->left + now->width - 1) / ONE_Q8;
  for (int32_t row = now->top / ONE_Q8; row <= last_row; ++row) {
    const int64_t below = row * ONE_Q8 + HALF_Q8 - now->top;
    const int32_t row_q8 = (int32_t)(below * look->height * ONE_Q8 / now->height);
    const int32_t rows = covered(row, now->top, now->height);
    for (int32_t column = now->left / ONE_Q8; column <= last_column; ++column) {
      const int64_t beside = column * ONE_Q8 + HALF_Q8 - now->left;
      const int32_t column_q8 = (int32_t)(beside * look->width * ONE_Q8 / now->width);
      const int32_t share = rows * covered(column, now->left, now->width);
      uint8_t *pixel = pixels + (size_t)row * pitch + column;
      *pixel = (uint8_t)((texture_at(look, row_q8, column_q8) * share +
                          *pixel * (ONE_Q8 * ONE_Q8 - share) + ONE_Q8 * HALF_Q8) /
                         (ONE_Q8 * ONE_Q8));
    }
  }
}

/* Dark, with stripes, five eighths from the left. */
static void draw_bar(const synth_settings *settings, uint8_t *pixels, size_t pitch) {
  const int32_t left = clamp(settings->width * 5 / 8 - settings->bar / 2, 0, settings->width);
  const int32_t right = clamp(left + settings->bar, 0, settings->width);
  for (int32_t row = 0; row < settings->height; ++row)
    for (int32_t column = left; column < right; ++column)
      pixels[(size_t)row * pitch + (size_t)column] = (row + column) / 4 % 2 ? 70 : 40;
}

/* Eight pixels have the eight bytes of one random number. */
static void change_light(const synth *video, int64_t number, uint8_t *pixels, size_t pitch) {
  const synth_settings *settings = &video->settings;
  const int32_t gain_q8 = ONE_Q8 + settings->light * (wave_at(video->light, number) / ONE_Q8) / 100;
  const uint64_t seed = mix(mix(settings->seed + 1) ^ (uint64_t)number);
  for (int32_t row = 0; row < settings->height; ++row) {
    uint8_t *line = pixels + (size_t)row * pitch;
    uint64_t random = 0;
    for (int32_t column = 0; column < settings->width; ++column, random >>= 8) {
      if (column % 8 == 0 && settings->noise)
        random = mix(seed ^ ((uint64_t)row << 32 | (uint64_t)column));
      const int32_t noise = (int32_t)(random & 255) * (2 * settings->noise + 1) / 256;
      line[column] =
          (uint8_t)clamp(line[column] * gain_q8 / ONE_Q8 + noise - settings->noise, 0, 255);
    }
  }
}

void synth_frame(const synth *video, int64_t number, uint8_t *pixels, size_t pitch_bytes) {
  draw_background(video, number, pixels, pitch_bytes);
  for (int32_t i = 0; i < video->settings.targets; ++i) {
    const place now = place_of(video, number, i);
    draw_target(&video->targets[i].look, &now, pixels, pitch_bytes);
  }
  if (video->settings.bar)
    draw_bar(&video->settings, pixels, pitch_bytes);
  if (video->settings.light || video->settings.noise)
    change_light(video, number, pixels, pitch_bytes);
}
