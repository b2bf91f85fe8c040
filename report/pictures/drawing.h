/* SPDX-License-Identifier: Apache-2.0 */
/** What the pictures share: size, colours, units and pieces of a gnuplot script. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "ttprem/schedule.h"

/** Pixels of a picture; the drawing areas of all panels lie between the margins. */
typedef struct prem_page {
  int width, left, right;
  int label_bytes; /* of a lane's label, which the left margin holds */
  bool is_column;  /* PDF, as wide as a paper's column: titles and sentences are the caption's */
} prem_page;

/** By the ending of the name. */
prem_page prem_page_of(const char *path);

extern const char *const prem_phase_colours[PREM_PHASE_COUNT];

typedef struct prem_time_axis {
  const char *unit;
  double ns;
} prem_time_axis;

/** The unit in which a span is read best. */
prem_time_axis prem_axis_for(int64_t span_ns);

/** Where phases stand in their block's lane: one line, or memory phases above computes where both
 *  can run at once. Lanes are 1 high. */
typedef struct prem_lane_shape {
  double memory_centre, compute_centre, half;
} prem_lane_shape;

prem_lane_shape prem_lane_shape_of(const prem_schedule *schedule);

static inline int64_t slot_end_ns(const prem_slot *slot) {
  return slot->planned_ns + slot->length_ns;
}

/** Of a phase in its block's lane; the halves of a joined pair stand one above the other. */
typedef struct prem_lane_place {
  double centre, half;
} prem_lane_place;

/** `flags` are PREM_SLOT_... */
prem_lane_place prem_lane_place_of(prem_lane_shape shape, int32_t lane, int phase, int flags);

/* ---- pieces of a script --------------------------------------------------------------------- */

void prem_write_terminal(FILE *script, const char *path, int height);
/** A string that gnuplot takes as it is. */
void prem_write_quoted(FILE *script, const char *text);
/** The same for a tic, whose label gnuplot takes for a format. */
void prem_write_tic_label(FILE *script, const char *text);
enum { PREM_LANE_LABEL_BYTES = 28 }; /* of any page at most */
/** End a label in dots that would have been `wanted` bytes long, where that is more than the page
 * has. */
void prem_shorten_label(const prem_page *page, char label[PREM_LANE_LABEL_BYTES], int wanted);
/** "block 3: conv.0, edge" or "blocks 3-9: conv.0", quoted and cut to what the margin holds. */
void prem_write_lane_label(FILE *script, const prem_page *page, const prem_schedule *schedule,
                           int32_t first_block, int32_t last_block);
/** A line of text at the left; `top` in pixels from the picture's top. */
void prem_write_label(FILE *script, int number, const char *text, int top, int height,
                      const char *how);
/** The place of a panel's drawing area: pixels from the top. */
void prem_place_panel(FILE *script, const prem_page *page, int height, int top, int tall);
/** Where a legend's entry stands, from the left and from the top: as it is said, or of a column the
 *  place of its number. */
typedef struct prem_legend_place {
  double x, y; /* parts of the width; pixels */
} prem_legend_place;
prem_legend_place prem_legend_place_of(const prem_page *page, int number, double x);
/** One line of data for `with boxxyerror`. */
void prem_write_box(FILE *script, double begin, double end, double centre, double half);
void prem_begin_data(FILE *script, const char *name);
void prem_end_data(FILE *script);

/* ---- the whole of it ------------------------------------------------------------------------ */

/**
 * An empty script for a picture at `path`; close it with fclose().
 *
 * @retval PREM_ERR_ARGUMENT  the name ends neither in .svg nor in .png nor in .pdf
 * @retval PREM_ERR_IO        no temporary file
 */
prem_status prem_begin_script(const char *path, FILE **script, prem_diag *diag);
/** Run the script and write the picture beside its place, then rename; statuses of
 *  prem_gnuplot_run(), and PREM_ERR_IO if `path` is unwritable. */
prem_status prem_draw_script(FILE *script, const char *path, const volatile sig_atomic_t *stop,
                             prem_diag *diag);
