/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures share. */
#include "report/pictures/drawing.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "report/pictures/gnuplot.h"
#include "ttprem/output.h"
#include "ttprem/text.h"

/* Okabe and Ito, "Color Universal Design", 2008: told apart by colour-blind readers. */
const char *const prem_phase_colours[PREM_PHASE_COUNT] = {"#0072B2", "#E69F00", "#009E73"};

prem_time_axis prem_axis_for(int64_t span_ns) {
  if (span_ns < 10000)
    return (prem_time_axis){"ns", 1};
  if (span_ns < 10000000)
    return (prem_time_axis){"us", 1e3};
  if (span_ns < INT64_C(10000000000))
    return (prem_time_axis){"ms", 1e6};
  return (prem_time_axis){"s", 1e9};
}

prem_lane_shape prem_lane_shape_of(const prem_schedule *schedule) {
  if (schedule->platform.buffers > 1)
    return (prem_lane_shape){-0.21, 0.21, 0.19};
  return (prem_lane_shape){0, 0, 0.38};
}

prem_lane_place prem_lane_place_of(prem_lane_shape shape, int32_t lane, int phase, int flags) {
  prem_lane_place place = {
      lane + (phase == PREM_COMPUTE ? shape.compute_centre : shape.memory_centre), shape.half};
  if (flags & PREM_SLOT_JOINED) {
    place.half /= 2;
    place.centre += phase == PREM_PREFETCH ? -place.half : place.half;
  }
  return place;
}

/* ---- pieces of a script --------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *extension) {
  const char *dot = strrchr(path, '.');
  return dot && strcmp(dot, extension) == 0;
}

prem_page prem_page_of(const char *path) {
  if (ends_in(path, ".pdf"))
    return (prem_page){
        .width = 560, .left = 112, .right = 24, .label_bytes = 16, .is_column = true};
  return (prem_page){.width = 1400, .left = 210, .right = 40, .label_bytes = PREM_LANE_LABEL_BYTES};
}

/* 560 pixels are the 252 points, 3.5 inches, of a column; letters are of six points and a half. */
static void write_column_terminal(FILE *script, int height) {
  fprintf(script,
          "set terminal pdfcairo noenhanced size 3.5in,%.4fin font 'DejaVu Sans,6.5' linewidth 0.7 "
          "background rgb 'white'\n",
          height * 3.5 / 560);
}

void prem_write_terminal(FILE *script, const char *path, int height) {
  bool svg = ends_in(path, ".svg");
  const prem_page page = prem_page_of(path);
  if (page.is_column) {
    write_column_terminal(script, height);
    return;
  }
  fprintf(script, "set terminal %s noenhanced size %d,%d font 'DejaVu Sans,%d' %s\n",
          svg ? "svg" : "pngcairo", page.width, height, svg ? 13 : 10, "background rgb 'white'");
}

/* What gnuplot's reader has no use for, wherever it stands; all above ASCII is. */
static bool is_harmless(char letter) {
  return (unsigned char)letter >= 0x80 || isalnum((unsigned char)letter) ||
         (letter && strchr(" .,:;-+*/=()<>_", letter));
}

/* gnuplot runs what stands between backquotes, and reads a line end, a quote or a backslash in ways
 * of its own: such letters are written as their numbers, and so are digits behind them, which would
 * be taken for more of the number. `percents`: how often one stands. */
static void write_string(FILE *script, const char *text, int percents) {
  char *clean = strdup(text);
  bool is_number = false;
  fputc('"', script);
  if (clean)
    prem_text_clean(clean);
  for (const char *letter = clean ? clean : ""; *letter; ++letter) {
    is_number = !is_harmless(*letter) || (is_number && isdigit((unsigned char)*letter));
    if (!is_number)
      fputc(*letter, script);
    for (int i = 0; is_number && i < (*letter == '%' ? percents : 1); ++i)
      fprintf(script, "\\%03o", (unsigned char)*letter);
    if (strncmp(letter, "]]>", 3) == 0) { /* would end a text of an SVG */
      fputc(' ', script);
      is_number = false;
    }
  }
  fputc('"', script);
  free(clean);
}

void prem_write_quoted(FILE *script, const char *text) {
  write_string(script, text, 1);
}

void prem_write_tic_label(FILE *script, const char *text) {
  write_string(script, text, 2);
}

void prem_shorten_label(const prem_page *page, char label[PREM_LANE_LABEL_BYTES], int wanted) {
  if (wanted < page->label_bytes)
    return;
  char *cut = label + page->label_bytes - 4;
  while (((unsigned char)*cut & 0xc0) == 0x80) /* not within a character */
    --cut;
  memcpy(cut, "...", 4);
}

void prem_write_lane_label(FILE *script, const prem_page *page, const prem_schedule *schedule,
                           int32_t first_block, int32_t last_block) {
  char label[PREM_LANE_LABEL_BYTES];
  int used = first_block == last_block
                 ? snprintf(label, sizeof label, "block %" PRId32 ":", first_block)
                 : snprintf(label, sizeof label, "blocks %" PRId32 "-%" PRId32 ":", first_block,
                            last_block);
  for (int32_t t = 0; t < schedule->task_count && used < (int)sizeof label; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].block_count; ++i)
      if (schedule->tasks[t].blocks[i] == first_block && used < (int)sizeof label)
        used += snprintf(label + used, sizeof label - (size_t)used, " %s", schedule->tasks[t].name);
  prem_shorten_label(page, label, used);
  prem_write_tic_label(script, label);
}

void prem_write_label(FILE *script, int number, const char *text, int top, int height,
                      const char *how) {
  fprintf(script, "set label %d ", number);
  prem_write_quoted(script, text);
  fprintf(script, " at screen 0.01, screen %.5f left %s\n", 1.0 - (double)top / height, how);
}

enum { LEGEND_COLUMNS = 4, LEGEND_LINE = 18, LEGEND_TOP = 45 };

prem_legend_place prem_legend_place_of(const prem_page *page, int number, double x) {
  if (!page->is_column)
    return (prem_legend_place){x, LEGEND_TOP};
  const int line = number / LEGEND_COLUMNS, column = number % LEGEND_COLUMNS;
  return (prem_legend_place){0.01 + (double)column / LEGEND_COLUMNS, 12.0 + LEGEND_LINE * line};
}

void prem_place_panel(FILE *script, const prem_page *page, int height, int top, int tall) {
  fprintf(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
          (double)page->left / page->width, 1.0 - (double)page->right / page->width);
  fprintf(script, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
          1.0 - (double)top / height, 1.0 - (double)(top + tall) / height);
}

void prem_write_box(FILE *script, double begin, double end, double centre, double half) {
  fprintf(script, "%.6f %.3f %.6f %.6f %.3f %.3f\n", begin, centre, begin, end, centre - half,
          centre + half);
}

/* A block of data without lines is an error to gnuplot: each has one point that is not drawn. */
void prem_begin_data(FILE *script, const char *name) {
  fprintf(script, "$%s << EOD\nNaN NaN NaN NaN NaN NaN\n", name);
}

void prem_end_data(FILE *script) {
  fputs("EOD\n", script);
}

/* ---- the whole of it ------------------------------------------------------------------------ */

prem_status prem_begin_script(const char *path, FILE **script, prem_diag *diag) {
  *script = NULL;
  if (!ends_in(path, ".svg") && !ends_in(path, ".png") && !ends_in(path, ".pdf"))
    return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){.file = path}, "",
                     "a picture's name ends in .svg, .png or .pdf");
  *script = tmpfile();
  if (*script)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_IO, 0, (prem_place){0}, "", "no temporary file can be made");
}

prem_status prem_draw_script(FILE *script, const char *path, const volatile sig_atomic_t *stop,
                             prem_diag *diag) {
  prem_output picture = {0};
  char reason[160] = "";
  prem_status status = prem_output_open(&picture, path, reason, sizeof reason);
  if (status == PREM_OK)
    status = prem_gnuplot_run(script, picture.file, stop, diag);
  if (status == PREM_OK)
    status = prem_output_commit(&picture, reason, sizeof reason);
  prem_output_abandon(&picture);
  if (*reason)
    return prem_fail(diag, status, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                     reason);
  return status;
}
