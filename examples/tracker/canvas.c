/* SPDX-License-Identifier: Apache-2.0 */
#include "canvas.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/output.h>

const colour canvas_orange = {230, 159, 0}, canvas_sky = {86, 180, 233},
             canvas_green = {0, 158, 115}, canvas_yellow = {240, 228, 66},
             canvas_vermilion = {213, 94, 0}, canvas_white = {255, 255, 255}, canvas_black = {0};

canvas canvas_new(int32_t width, int32_t height) {
  return (canvas){width, height, calloc((size_t)width * (size_t)height, 3)};
}

void canvas_free(canvas *on) {
  free(on->rgb);
  *on = (canvas){0};
}

/* ---- pixels ---- */

static uint8_t mixed(uint8_t from, uint8_t to, double share) {
  return (uint8_t)(from + (to - from) * share + 0.5);
}

/* `share` is how much of the pixel is covered, 0 to 1. */
static void blend(canvas *on, int32_t column, int32_t row, colour with, double share) {
  if (column < 0 || column >= on->width || row < 0 || row >= on->height || share <= 0)
    return;
  uint8_t *pixel = on->rgb + 3 * ((size_t)row * (size_t)on->width + (size_t)column);
  pixel[0] = mixed(pixel[0], with.red, share);
  pixel[1] = mixed(pixel[1], with.green, share);
  pixel[2] = mixed(pixel[2], with.blue, share);
}

static int32_t within(double value, int32_t limit) {
  return value < 0 ? 0 : value > limit ? limit : (int32_t)value;
}

/* How much of pixel `at` lies between two places. */
static double covered(int32_t at, double from, double to) {
  const double share = fmin(to, at + 1.0) - fmax(from, at);
  return share > 0 ? share : 0;
}

void canvas_fill(canvas *on, box where, colour with, double opacity) {
  const double right = (double)where.x + where.w, bottom = (double)where.y + where.h;
  const int32_t last_row = within(ceil(bottom), on->height);
  const int32_t last_column = within(ceil(right), on->width);
  for (int32_t row = within(where.y, on->height); row < last_row; ++row)
    for (int32_t column = within(where.x, on->width); column < last_column; ++column)
      blend(on, column, row, with,
            opacity * covered(row, where.y, bottom) * covered(column, where.x, right));
}

void canvas_grey(canvas *on, int32_t left, int32_t top, int32_t zoom, const uint8_t *pixels,
                 size_t pitch_bytes, int32_t width, int32_t height) {
  for (int32_t row = 0; row < height * zoom; ++row)
    for (int32_t column = 0; column < width * zoom; ++column) {
      const uint8_t grey = pixels[(size_t)(row / zoom) * pitch_bytes + (size_t)(column / zoom)];
      blend(on, left + column, top + row, (colour){grey, grey, grey}, 1);
    }
}

void canvas_copy(canvas *on, int32_t left, int32_t top, const canvas *from) {
  for (int32_t row = 0; row < from->height; ++row)
    for (int32_t column = 0; column < from->width; ++column) {
      const uint8_t *pixel = from->rgb + 3 * ((size_t)row * (size_t)from->width + (size_t)column);
      blend(on, left + column, top + row, (colour){pixel[0], pixel[1], pixel[2]}, 1);
    }
}

/* ---- lines ---- */

/* A stretch of an outline as a rectangle, or as dashes. */
static void fill_dashed(canvas *on, box where, double dash, colour with) {
  const bool across = where.w > where.h;
  const double length = across ? where.w : where.h;
  if (dash <= 0) {
    canvas_fill(on, where, with, 1);
    return;
  }
  for (int i = 0; 2 * dash * i < length; ++i) {
    const double at = 2 * dash * i;
    box piece = where;
    *(across ? &piece.x : &piece.y) += (float)at;
    *(across ? &piece.w : &piece.h) = (float)fmin(dash, length - at);
    canvas_fill(on, piece, with, 1);
  }
}

void canvas_outline(canvas *on, box where, double thick, double dash, colour with) {
  const float full = (float)thick, half = full / 2;
  if (!isfinite(where.x) || !isfinite(where.y) || !(where.w < 1e5F) || !(where.h < 1e5F))
    return;
  const box top = {where.x - half, where.y - half, where.w + full, full};
  const box left = {where.x - half, where.y + half, full, where.h - full};
  box bottom = top, right = left;
  bottom.y += where.h;
  right.x += where.w;
  fill_dashed(on, top, dash, with);
  fill_dashed(on, bottom, dash, with);
  fill_dashed(on, left, dash, with);
  fill_dashed(on, right, dash, with);
}

/* Distance of a point from a stretch of a line. */
static double distance(double x, double y, double from_x, double from_y, double dx, double dy) {
  const double length = dx * dx + dy * dy;
  double along = length > 0 ? ((x - from_x) * dx + (y - from_y) * dy) / length : 0;
  along = fmin(fmax(along, 0), 1);
  return hypot(x - from_x - along * dx, y - from_y - along * dy);
}

void canvas_line(canvas *on, double x, double y, double to_x, double to_y, double thick,
                 colour with) {
  const double reach = thick / 2 + 1;
  if (!isfinite(x + y + to_x + to_y))
    return;
  const int32_t last_row = within(ceil(fmax(y, to_y) + reach), on->height);
  const int32_t last_column = within(ceil(fmax(x, to_x) + reach), on->width);
  for (int32_t row = within(floor(fmin(y, to_y) - reach), on->height); row < last_row; ++row)
    for (int32_t column = within(floor(fmin(x, to_x) - reach), on->width); column < last_column;
         ++column) {
      const double off = distance(column + 0.5, row + 0.5, x, y, to_x - x, to_y - y);
      blend(on, column, row, with, fmin(fmax(thick / 2 + 0.5 - off, 0), 1));
    }
}

/* ---- text ---- */

/* Seven rows of five bits, the left one first. */
typedef struct glyph {
  char letter;
  uint8_t rows[7];
} glyph;

/* clang-format off */
static const glyph glyphs[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}},
    {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {30, 1, 1, 14, 1, 1, 30}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},
    {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},
    {'7', {31, 1, 2, 2, 4, 4, 4}},
    {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'A', {4, 10, 17, 17, 31, 17, 17}},
    {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}},
    {'D', {28, 18, 17, 17, 17, 18, 28}},
    {'E', {31, 16, 16, 30, 16, 16, 31}},
    {'F', {31, 16, 16, 30, 16, 16, 16}},
    {'G', {14, 17, 16, 23, 17, 17, 15}},
    {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},
    {'J', {7, 2, 2, 2, 2, 18, 12}},
    {'K', {17, 18, 20, 24, 20, 18, 17}},
    {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'M', {17, 27, 21, 21, 17, 17, 17}},
    {'N', {17, 25, 25, 21, 19, 19, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}},
    {'P', {30, 17, 17, 30, 16, 16, 16}},
    {'Q', {14, 17, 17, 17, 21, 18, 13}},
    {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},
    {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}},
    {'V', {17, 17, 17, 10, 10, 4, 4}},
    {'W', {17, 17, 17, 21, 21, 21, 10}},
    {'X', {17, 10, 10, 4, 10, 10, 17}},
    {'Y', {17, 17, 10, 4, 4, 4, 4}},
    {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},
    {',', {0, 0, 0, 0, 12, 4, 8}},
    {':', {0, 12, 12, 0, 12, 12, 0}},
    {'-', {0, 0, 0, 30, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},
    {'/', {1, 2, 2, 4, 8, 8, 16}},
    {'%', {25, 26, 2, 4, 8, 11, 19}},
    {'=', {0, 0, 30, 0, 30, 0, 0}},
    {'(', {4, 8, 16, 16, 16, 8, 4}},
    {')', {4, 2, 1, 1, 1, 2, 4}},
    {'#', {10, 10, 31, 10, 31, 10, 10}},
    {'_', {0, 0, 0, 0, 0, 0, 31}},
    {'?', {14, 17, 1, 2, 4, 0, 4}},
    {'<', {2, 4, 8, 16, 8, 4, 2}},
    {'>', {8, 4, 2, 1, 2, 4, 8}},
    {'!', {4, 4, 4, 4, 4, 0, 4}},
    {'*', {0, 21, 14, 31, 14, 21, 0}},
};
/* clang-format on */

static const glyph *find_glyph(char letter) {
  const char capital = letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
  for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; ++i)
    if (glyphs[i].letter == capital)
      return &glyphs[i];
  return letter == ' ' ? NULL : find_glyph('?');
}

void canvas_text(canvas *on, int32_t left, int32_t top, int32_t zoom, const char *text,
                 colour with) {
  for (; *text; ++text, left += CANVAS_LETTER_WIDTH * zoom) {
    const glyph *shape = find_glyph(*text);
    for (int32_t row = 0; row < 7 && shape; ++row)
      for (int32_t column = 0; column < 5; ++column)
        if (shape->rows[row] >> (4 - column) & 1)
          canvas_fill(on,
                      (box){(float)(left + column * zoom), (float)(top + (row + 1) * zoom),
                            (float)zoom, (float)zoom},
                      with, 1);
  }
}

void canvas_label(canvas *on, int32_t left, int32_t top, int32_t zoom, const char *text,
                  colour with) {
  const int32_t width = ((int32_t)strlen(text) * CANVAS_LETTER_WIDTH + 1) * zoom;
  canvas_fill(on,
              (box){(float)left, (float)top, (float)width, (float)(CANVAS_LETTER_HEIGHT * zoom)},
              canvas_black, 0.65);
  canvas_text(on, left + zoom, top, zoom, text, with);
}

/* ---- PNG ---- */

/* libpng comes back here by longjmp, so that nothing of this function is kept in a register. */
static bool encode(const canvas *of, png_structp png, png_infop info, FILE *file) {
  if (setjmp(png_jmpbuf(png)))
    return false;
  png_init_io(png, file);
  png_set_IHDR(png, info, (png_uint_32)of->width, (png_uint_32)of->height, 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int32_t row = 0; row < of->height; ++row)
    png_write_row(png, of->rgb + 3 * (size_t)row * (size_t)of->width);
  png_write_end(png, info);
  return true;
}

static void stay_silent(png_structp png, png_const_charp text) {
  (void)text;
  png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

bool canvas_encode_png(const canvas *of, FILE *file) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, stay_silent, ignore);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  const bool done = info && encode(of, png, info, file);
  png_destroy_write_struct(&png, &info);
  return done;
}

prem_status canvas_write_png(const canvas *of, const char *path, prem_diag *diag) {
  char reason[160] = "";
  prem_output output;
  prem_status status = prem_output_open(&output, path, reason, sizeof reason);
  if (status == PREM_OK && !canvas_encode_png(of, output.file)) {
    snprintf(reason, sizeof reason, "the picture cannot be written: is the disk full?");
    prem_output_abandon(&output);
    status = PREM_ERR_IO;
  } else if (status == PREM_OK) {
    status = prem_output_commit(&output, reason, sizeof reason);
  }
  if (status != PREM_OK)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "%s", reason);
  return status;
}
