/* SPDX-License-Identifier: Apache-2.0 */
/* SVG by hand. Its letters are as large as the page's where it is 420 px wide. */
#include <inttypes.h>

#include "html.h"
#include "scored.h"

enum { WIDTH = 420, PLOT_HEIGHT = 220, LEFT = 44, RIGHT = 12, TOP = 30, LINE = 20, MOST = 8 };

static const char *const colours[MOST] = {"#d55e00", "#0072b2", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#777777", "#b5a800"};
static const char *const dashes[MOST] = {"none", "7 3", "2 3", "9 3 2 3",
                                         "none", "7 3", "2 3", "9 3 2 3"};

/** Its axis from 0 to `last`, and the values at `count` places on it. */
typedef struct curve {
  const double *value;
  int count;
  double last;
} curve;

static curve curve_of(curve_kind kind, const score *of) {
  return kind == CURVE_PRECISION ? (curve){of->precision, SCORE_DISTANCES, SCORE_DISTANCES - 1}
                                 : (curve){of->success, SCORE_OVERLAPS, 1};
}

static double across(double part) {
  return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double down(double share) {
  return TOP + (1 - share) * PLOT_HEIGHT;
}

static void draw_axes(FILE *file, curve_kind kind) {
  fprintf(file, "<g stroke='currentColor' stroke-opacity='.25' fill='none'>\n");
  for (int i = 0; i <= 5; ++i)
    fprintf(file, "<path d='M%.1f %.1fH%.1fM%.1f %.1fV%.1f'/>\n", across(0), down(i / 5.0),
            across(1), across(i / 5.0), down(0), down(1));
  fprintf(file, "</g>\n<g fill='currentColor' font-size='13'>\n");
  for (int i = 0; i <= 5; ++i) {
    fprintf(file, "<text x='%d' y='%.1f' text-anchor='end'>%.1f</text>\n", LEFT - 6,
            down(i / 5.0) + 4, i / 5.0);
    fprintf(file,
            kind == CURVE_PRECISION ? "<text x='%.1f' y='%.1f' text-anchor='middle'>%.0f</text>\n"
                                    : "<text x='%.1f' y='%.1f' text-anchor='middle'>%.1f</text>\n",
            across(i / 5.0), down(0) + 17, kind == CURVE_PRECISION ? 10.0 * i : i / 5.0);
  }
  fprintf(file, "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", across(.5),
          down(0) + 36,
          kind == CURVE_PRECISION ? "distance of the centres at most, px" : "overlap more than");
  fprintf(file, "<text x='%d' y='18' font-weight='bold'>%s, share of frames</text>\n</g>\n", LEFT,
          kind == CURVE_PRECISION ? "Precision" : "Success");
}

static void draw_curve(FILE *file, const curve *of, int number) {
  fprintf(file,
          "<polyline fill='none' stroke='%s' stroke-width='2.5' stroke-dasharray='%s' points='",
          colours[number], dashes[number]);
  for (int i = 0; i < of->count; ++i)
    fprintf(file, "%.1f,%.1f ", across(i / (double)(of->count - 1)), down(of->value[i]));
  fprintf(file, "'/>\n");
}

/* The number first: a long name may be cut. */
static void draw_legend(FILE *file, curve_kind kind, const scored *of, int number) {
  const double y = down(0) + 60 + LINE * number;
  fprintf(file,
          "<path d='M%d %.1fh28' fill='none' stroke='%s' stroke-width='2.5' "
          "stroke-dasharray='%s'/>\n<text x='%d' y='%.1f' fill='currentColor' font-size='13'>",
          LEFT, y - 4, colours[number], dashes[number], LEFT + 36, y);
  fprintf(file, "%s %.3f ", kind == CURVE_PRECISION ? "P20" : "AUC",
          kind == CURVE_PRECISION ? of->one_pass.p20 : of->one_pass.auc);
  html_text(file, of->tracker);
  if (of->backend[0]) {
    fputs(" on ", file);
    html_text(file, of->backend);
  }
  fprintf(file, "</text>\n");
}

void curves_write(FILE *file, curve_kind kind, const scored *list, size_t count) {
  const int drawn = count < MOST ? (int)count : MOST;
  fprintf(file,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' role='img' "
          "font-family='system-ui,sans-serif'>\n",
          WIDTH, TOP + PLOT_HEIGHT + 50 + LINE * drawn);
  draw_axes(file, kind);
  for (int i = drawn - 1; i >= 0; --i) { /* the first one above all */
    const curve of = curve_of(kind, &list[i].one_pass);
    draw_curve(file, &of, i);
  }
  for (int i = 0; i < drawn; ++i)
    draw_legend(file, kind, &list[i], i);
  fprintf(file, "</svg>\n");
}
