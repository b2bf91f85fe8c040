/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A colour picture to draw on, with smooth edges, and to write as PNG. Places are in px: the middle
 * of the first pixel is at 0.5, 0.5. What lies outside is not drawn.
 */
#ifndef TRACKER_CANVAS_H
#define TRACKER_CANVAS_H

#include <stdint.h>
#include <stdio.h>

#include <ttprem/diag.h>

#include "box.h"

typedef struct canvas {
  int32_t width, height;
  uint8_t *rgb; /* rows of 3 width bytes */
} canvas;

typedef struct colour {
  uint8_t red, green, blue;
} colour;

/** Okabe and Ito's: told apart by every eye. */
extern const colour canvas_orange, canvas_sky, canvas_green, canvas_yellow, canvas_vermilion,
    canvas_white, canvas_black;

/** Black; rgb is NULL when out of memory. Free with canvas_free(). */
canvas canvas_new(int32_t width, int32_t height);
void canvas_free(canvas *on);

/** A grey picture of width x height, each pixel a square of `zoom` px, at left, top. */
void canvas_grey(canvas *on, int32_t left, int32_t top, int32_t zoom, const uint8_t *pixels,
                 size_t pitch_bytes, int32_t width, int32_t height);
/** Another canvas, with its corner at left, top. */
void canvas_copy(canvas *on, int32_t left, int32_t top, const canvas *from);
/** All of a rectangle, mixed with what is there: opacity 1 hides that. */
void canvas_fill(canvas *on, box where, colour with, double opacity);
/** Its outline, `thick` px inwards and outwards together; `dash` px long dashes, 0: none. */
void canvas_outline(canvas *on, box where, double thick, double dash, colour with);
void canvas_line(canvas *on, double x, double y, double to_x, double to_y, double thick,
                 colour with);

enum { CANVAS_LETTER_WIDTH = 6, CANVAS_LETTER_HEIGHT = 9 };
/** Digits, capitals (small letters are drawn so as well) and common signs; a letter takes
 *  CANVAS_LETTER_WIDTH x CANVAS_LETTER_HEIGHT times `zoom` px, its gaps included. */
void canvas_text(canvas *on, int32_t left, int32_t top, int32_t zoom, const char *text,
                 colour with);
/** The same on a dark ground of its own. */
void canvas_label(canvas *on, int32_t left, int32_t top, int32_t zoom, const char *text,
                  colour with);

/** Of a canvas, into an open file; false where the file or the memory does not do. */
bool canvas_encode_png(const canvas *of, FILE *file);
/** Whole or not at all. */
prem_status canvas_write_png(const canvas *of, const char *path, prem_diag *diag);

#endif
