/* SPDX-License-Identifier: Apache-2.0 */
/* The charts of findings as one picture, one beneath the other. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "report/findings/parts.h"
#include "report/pictures/drawing.h"

enum {
  HEAD = 36,             /* pixels: the title, */
  VERDICT_LINE = 20,     /* a line of the verdict, */
  VERDICT_LETTERS = 180, /* which holds so many letters */
  ABOVE = 40,            /* a panel's title */
  PANEL = 320,           /* its drawing area */
  BENEATH = 76,          /* its axis */
  LETTER = 8,            /* pixels of a letter of a label, */
  SLANTED = 5,           /* and how far down it is of one that slants */
  MAX_SLANTED = 180,
  MANY_SERIES = 16, /* more of them need a smaller key */
  CELL = 26,        /* a row of a heat map */
  LEFT = 120,
  RIGHT = 240, /* least room for the key, */
  MAX_RIGHT = 440,
  KEY_SAMPLE = 60, /* of it for the line or the box before a name, */
  KEY_LETTER = 7,  /* and for each of its letters */
  HEAT_LEFT = 220,
  HEAT_RIGHT = 150,
  NARROW = 40,     /* a cell that has no room for numbers of any length */
  CATEGORIES = 64, /* most texts that an axis can show */
  COLOURS = 8,
  MIN_RATIO = 8,    /* of the largest number to the least, for a logarithm */
  MAX_TOLD = 24,    /* bars with their numbers above them */
  COLUMN_LEFT = 76, /* of a paper's column, whose key stands above the drawing */
  COLUMN_HEAT_LEFT = 120,
  COLUMN_HEAT_RIGHT = 84,
  COLUMN_PANEL = 200,
  KEY_LINE = 14,
  COLUMN_TOLD = 10
};

/* Okabe and Ito, "Color Universal Design", 2008: told apart by colour-blind readers. More series
 * than colours differ in their points and dashes. */
static const char *const colours[COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                             "#E69F00", "#56B4E9", "#000000", "#8C6D00"};

/* Of what somebody else published: none of the above, and paler than what was measured here. */
static const char published_colour[] = "#8F8F8F";

/** A chart with its columns found. */
typedef struct chart_panel {
  prem_page page;
  const prem_chart *chart;
  const prem_table *table;
  prem_findings *joined;           /* that the table is of, if the chart shows two of them */
  int64_t own_series;              /* the others are those of the table beside it */
  int64_t x, y, low, high, series; /* columns; -1: none */
  int64_t rows;
  int64_t *series_of; /* of each row: the number of its series */
  int64_t *place_of;  /* of each row: the number of its x, where x is shown as text */
  int64_t series_count, place_count;
  bool log_x, log_y;
  int number;
} chart_panel;

/* ---- finding out what there is -------------------------------------------------------------- */

static bool equal(const prem_value *a, const prem_value *b) {
  if (a->kind != b->kind)
    return false;
  if (a->kind == PREM_VALUE_TEXT)
    return strcmp(a->text, b->text) == 0;
  return prem_value_number(a) == prem_value_number(b);
}

/** Number the different values of a column in the order in which they come; -1: no memory. */
static int64_t number_values(const prem_table *table, int64_t column, int64_t *number_of) {
  int64_t rows = prem_table_rows(table), count = 0;
  int64_t *first = calloc((size_t)rows + 1, sizeof *first); /* row of each value */
  if (!first)
    return -1;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t number = 0;
    while (number < count && column >= 0 &&
           !equal(prem_table_value(table, first[number], column),
                  prem_table_value(table, row, column)))
      ++number;
    if (number == count)
      first[count++] = row;
    number_of[row] = number;
  }
  free(first);
  return count;
}

static const prem_value *first_with(const prem_table *table, int64_t column,
                                    const int64_t *number_of, int64_t number) {
  int64_t row = 0;
  while (number_of[row] != number)
    ++row;
  return prem_table_value(table, row, column);
}

/** Bars and heat maps show every x; so do the others when it is text. */
static bool has_places(const chart_panel *panel) {
  return panel->chart->kind == PREM_CHART_BARS || panel->chart->kind == PREM_CHART_HEAT_MAP ||
         (panel->rows > 0 && prem_table_value(panel->table, 0, panel->x)->kind == PREM_VALUE_TEXT);
}

static void widen(const prem_table *table, int64_t column, double *min, double *max) {
  for (int64_t row = 0; column >= 0 && row < prem_table_rows(table); ++row) {
    const double value = prem_value_number(prem_table_value(table, row, column));
    if (isfinite(value) && value > 0) {
      *min = fmin(*min, value);
      *max = fmax(*max, value);
    }
  }
}

/** Numbers of one magnitude a logarithm only moves apart, with no labels between; and it has no 0.
 */
static void choose_axes(chart_panel *panel) {
  const prem_table *table = panel->table;
  double min = INFINITY, max = 0;
  widen(table, panel->x, &min, &max);
  panel->log_x = panel->chart->log_x && !has_places(panel) && max > MIN_RATIO * min;
  min = INFINITY;
  max = 0;
  widen(table, panel->y, &min, &max);
  widen(table, panel->low, &min, &max);
  widen(table, panel->high, &min, &max);
  panel->log_y = panel->chart->log_y && max > MIN_RATIO * min;
}

/* ---- two tables in one chart ---------------------------------------------------------------- */

/** The columns that a chart shows, under their own names; none twice. */
typedef struct shown_columns {
  const char *names[4];
  int count;
} shown_columns;

static shown_columns columns_of(const prem_chart *chart) {
  const char *all[] = {chart->x, chart->y, chart->low, chart->high};
  shown_columns shown = {.count = 0};
  for (int i = 0; i < 4; ++i)
    if (all[i] && (!chart->series || strcmp(all[i], chart->series) != 0))
      shown.names[shown.count++] = all[i];
  return shown;
}

static void copy_value(prem_table *to, const prem_value *value) {
  if (value->kind == PREM_VALUE_TEXT)
    prem_table_add_text(to, value->text);
  else if (value->kind == PREM_VALUE_INT)
    prem_table_add_int(to, value->integer);
  else
    prem_table_add_real(to, value->real);
}

static void copy_rows(prem_table *to, const prem_table *from, const prem_chart *chart,
                      const char *suffix) {
  const shown_columns shown = columns_of(chart);
  const int64_t series = prem_find_column(from, chart->series);
  for (int64_t row = 0; row < prem_table_rows(from); ++row) {
    char name[200] = "", whole[224];
    if (series >= 0)
      prem_value_format(prem_table_value(from, row, series), name, sizeof name);
    snprintf(whole, sizeof whole, "%s%s%s", name, *name && *suffix ? ", " : "", suffix);
    prem_table_add_text(to, *whole ? whole : "here");
    for (int i = 0; i < shown.count; ++i)
      copy_value(to, prem_table_value(from, row, prem_find_column(from, shown.names[i])));
  }
}

/** Both tables' rows as one table, whose first column tells the series apart; NULL: no memory. */
static const prem_table *join_tables(chart_panel *panel, const prem_findings *findings,
                                     const prem_table *own) {
  static const char series[] = "series";
  const prem_chart *chart = panel->chart;
  const shown_columns shown = columns_of(chart);
  panel->joined = prem_findings_new("joined", "", "");
  if (!panel->joined)
    return NULL;
  prem_table *table = prem_findings_table(panel->joined, "joined", "", NULL);
  prem_table_column(table, chart->series ? chart->series : series, "");
  for (int i = 0; i < shown.count; ++i)
    prem_table_column(table, shown.names[i],
                      own->columns[prem_find_column(own, shown.names[i])].unit);
  copy_rows(table, own, chart, "");
  copy_rows(table, prem_find_table(findings, chart->beside), chart, "original");
  return panel->joined->out_of_memory ? NULL : table;
}

/** Series of the first `rows` rows: they are numbered as they come. */
static int64_t count_series(const chart_panel *panel, int64_t rows) {
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row)
    count = panel->series_of[row] >= count ? panel->series_of[row] + 1 : count;
  return count;
}

static bool fill_panel(chart_panel *panel, const prem_findings *findings, int number,
                       const prem_page *page) {
  const prem_chart *chart = &findings->charts[number];
  const prem_table *own = prem_find_table(findings, chart->table), *table = own;
  *panel = (chart_panel){.chart = chart};
  if (chart->beside && !(table = join_tables(panel, findings, own)))
    return false;
  *panel = (chart_panel){.page = *page,
                         .chart = chart,
                         .joined = panel->joined,
                         .table = table,
                         .x = prem_find_column(table, chart->x),
                         .y = prem_find_column(table, chart->y),
                         .low = prem_find_column(table, chart->low),
                         .high = prem_find_column(table, chart->high),
                         .series = chart->beside ? 0 : prem_find_column(table, chart->series),
                         .rows = prem_table_rows(table),
                         .number = number};
  panel->series_of = calloc((size_t)panel->rows + 1, sizeof *panel->series_of);
  panel->place_of = calloc((size_t)panel->rows + 1, sizeof *panel->place_of);
  if (!panel->series_of || !panel->place_of)
    return false;
  panel->series_count = number_values(table, panel->series, panel->series_of);
  panel->own_series = count_series(panel, prem_table_rows(own));
  panel->place_count = has_places(panel) ? number_values(table, panel->x, panel->place_of) : 0;
  choose_axes(panel);
  return panel->series_count >= 0 && panel->place_count >= 0;
}

static void empty_panel(chart_panel *panel) {
  free(panel->series_of);
  free(panel->place_of);
  prem_findings_free(panel->joined);
}

static const char *colour_of(const chart_panel *panel, int64_t series) {
  return series < panel->own_series ? colours[series % COLOURS] : published_colour;
}

static bool has_place(const chart_panel *panel, int64_t row, int64_t column, bool is_log) {
  const double value = prem_value_number(prem_table_value(panel->table, row, column));
  return isfinite(value) && (value > 0 || !is_log);
}

/** gnuplot fails on a plot without any point. */
static bool has_points(const chart_panel *panel) {
  for (int64_t row = 0; row < panel->rows; ++row)
    if (has_place(panel, row, panel->y, panel->log_y) &&
        (has_places(panel) || has_place(panel, row, panel->x, panel->log_x)))
      return true;
  return false;
}

/** Letters of the longest value of a column. */
static int longest_value(const chart_panel *panel, int64_t column) {
  int longest = 0;
  for (int64_t row = 0; row < panel->rows; ++row) {
    const int letters = prem_value_format(prem_table_value(panel->table, row, column), NULL, 0);
    longest = letters > longest ? letters : longest;
  }
  return longest;
}

static int longest_label(const chart_panel *panel) {
  return longest_value(panel, panel->x);
}

static int entry_width(const chart_panel *panel) {
  return KEY_SAMPLE + KEY_LETTER * (panel->series < 0 ? 0 : longest_value(panel, panel->series));
}

/** Right of the drawing: a key that is wider than its room would cover the curves. */
static int key_width(const chart_panel *panel) {
  const int width = entry_width(panel);
  if (panel->page.is_column)
    return panel->page.right;
  return width < RIGHT ? RIGHT : width < MAX_RIGHT ? width : MAX_RIGHT;
}

/** Of a column, whose key stands above the drawing. */
static int key_columns(const chart_panel *panel) {
  const int fit = (panel->page.width - COLUMN_LEFT - panel->page.right) / entry_width(panel);
  return fit > 1 ? fit : 1;
}

static int key_height(const chart_panel *panel) {
  if (!panel->page.is_column || panel->series < 0 || panel->chart->kind == PREM_CHART_HEAT_MAP)
    return 0;
  const int columns = key_columns(panel);
  return KEY_LINE * (int)((panel->series_count + columns - 1) / columns);
}

static int left_of(const chart_panel *panel) {
  const bool is_map = panel->chart->kind == PREM_CHART_HEAT_MAP;
  if (panel->page.is_column)
    return is_map ? COLUMN_HEAT_LEFT : COLUMN_LEFT;
  return is_map ? HEAT_LEFT : LEFT;
}

static int right_of(const chart_panel *panel) {
  if (panel->chart->kind != PREM_CHART_HEAT_MAP)
    return key_width(panel);
  return panel->page.is_column ? COLUMN_HEAT_RIGHT : HEAT_RIGHT;
}

/** Its title, and of a column the key. */
static int above(const chart_panel *panel) {
  return panel->page.is_column ? KEY_LINE + 8 + key_height(panel) : ABOVE;
}

/** Labels that would run into each other slant. */
static bool slants(const chart_panel *panel) {
  return has_places(panel) && (longest_label(panel) + 1) * LETTER * panel->place_count >
                                  panel->page.width - left_of(panel) - key_width(panel);
}

static int axis_height(const chart_panel *panel) {
  const int slanted = slants(panel) ? SLANTED * longest_label(panel) : 0;
  return BENEATH + (slanted < MAX_SLANTED ? slanted : MAX_SLANTED);
}

static int drawing_height(const chart_panel *panel) {
  if (panel->chart->kind != PREM_CHART_HEAT_MAP)
    return panel->page.is_column ? COLUMN_PANEL : PANEL;
  int64_t tall = CELL * panel->series_count;
  return tall < 120 ? 120 : (int)tall;
}

/* ---- pieces of the script ------------------------------------------------------------------- */

static void write_tic_label(FILE *script, const prem_value *value) {
  char text[200];
  prem_value_format(value, text, sizeof text);
  prem_write_tic_label(script, text);
}

/** A paper's axes are in words. */
static void name_axis(const chart_panel *panel, const char *name, char *out, size_t bytes) {
  static const char *const words[][2] = {
      {"p50", "median"}, {"p99", "99th percentile"}, {"p999", "99.9th percentile"}};
  char copy[160], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", name);
  snprintf(out, bytes, "%s", name);
  if (!panel->page.is_column)
    return;
  size_t used = 0;
  for (char *word = strtok_r(copy, "_", &rest); word; word = strtok_r(NULL, "_", &rest)) {
    const char *said = word;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
      said = strcmp(word, words[i][0]) == 0 ? words[i][1] : said;
    used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? " " : "", said);
    if (used >= bytes)
      return;
  }
}

static void write_axis_label(FILE *script, const char *axis, const chart_panel *panel,
                             int64_t column) {
  const prem_column *shown = &panel->table->columns[column];
  char name[160], text[200];
  name_axis(panel, shown->name, name, sizeof name);
  snprintf(text, sizeof text, *shown->unit ? "%s (%s)" : "%s", name, shown->unit);
  fprintf(script, "set %slabel ", axis);
  prem_write_quoted(script, text);
  fputc('\n', script);
}

static void write_tics(FILE *script, const char *axis, const chart_panel *panel, int64_t column,
                       const int64_t *number_of, int64_t count) {
  /* An axis that is too full names every second, third, ... one. */
  int64_t step = (count + CATEGORIES - 1) / CATEGORIES;
  fprintf(script, "set %stics (", axis);
  for (int64_t i = 0; i < count; i += step) {
    fputs(i ? ", " : "", script);
    write_tic_label(script, first_with(panel->table, column, number_of, i));
    fprintf(script, " %" PRId64, i);
  }
  fprintf(script, ")%s\n", *axis == 'x' && slants(panel) ? " rotate by -40" : "");
}

static void write_number(FILE *script, double number) {
  if (isfinite(number))
    fprintf(script, " %.12g", number);
  else
    fputs(" NaN", script);
}

static void write_cell(FILE *script, const chart_panel *panel, int64_t row, int64_t column) {
  write_number(script,
               column < 0 ? NAN : prem_value_number(prem_table_value(panel->table, row, column)));
}

/** x y low high, a block of data for each series. */
static void write_series(FILE *script, const chart_panel *panel) {
  const bool places = has_places(panel);
  for (int64_t s = 0; s < panel->series_count; ++s) {
    char name[48];
    snprintf(name, sizeof name, "chart%d_%" PRId64, panel->number, s);
    prem_begin_data(script, name);
    for (int64_t row = 0; row < panel->rows; ++row) {
      if (panel->series_of[row] != s)
        continue;
      if (places)
        fprintf(script, "%" PRId64, panel->place_of[row]);
      else
        write_cell(script, panel, row, panel->x);
      write_cell(script, panel, row, panel->y);
      write_cell(script, panel, row, panel->low);
      write_cell(script, panel, row, panel->high);
      fputc('\n', script);
    }
    prem_end_data(script);
  }
}

static void place(FILE *script, const chart_panel *panel, int height, int top) {
  fputs("reset\n", script);
  fprintf(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
          (double)left_of(panel) / panel->page.width,
          1.0 - (double)right_of(panel) / panel->page.width);
  fprintf(script, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
          1.0 - (double)(top + above(panel)) / height,
          1.0 - (double)(top + above(panel) + drawing_height(panel)) / height);
  fputs("set title ", script);
  prem_write_quoted(script, panel->chart->title);
  if (panel->page.is_column)
    fprintf(script,
            " noenhanced offset 0,-0.4\nset key at graph 0.5, screen %.5f center top horizontal "
            "Left reverse noenhanced samplen 2 maxcols %d\n",
            1.0 - (double)(top + 2) / height, key_columns(panel));
  else
    fprintf(script, " noenhanced\nset key outside right top Left reverse noenhanced%s\n",
            panel->series_count > MANY_SERIES ? " font ',8' spacing 0.75" : "");
  fputs("set border 3\nset tics nomirror noenhanced\nset grid ytics lc rgb '#DDDDDD'\n", script);
}

/* ---- lines, points, steps, bars ------------------------------------------------------------- */

/* What a colour tells, dashes and the shape of points tell as well: on paper, and to those who see
 * fewer colours. */
static void write_style(FILE *script, const chart_panel *panel, int64_t s) {
  static const char *const dashes[] = {"solid", "(10,3)", "(4,2)", "(10,3,3,3)", "(16,4)"};
  const char *colour = colour_of(panel, s);
  const int turn = (int)(s + s / COLOURS);
  switch (panel->chart->kind) {
  case PREM_CHART_POINTS:
    fprintf(script, "with points pt %d ps 1 lc rgb '%s'", 7 + 2 * (turn % 4), colour);
    break;
  case PREM_CHART_STEPS:
    fprintf(script, "with steps lw 2 dt %s lc rgb '%s'", dashes[turn % 5], colour);
    break;
  case PREM_CHART_LINES:
  case PREM_CHART_BARS:
  case PREM_CHART_HEAT_MAP:
  case PREM_CHART_KIND_COUNT:
    fprintf(script, "with linespoints lw 2 dt %s pt %d ps 0.5 lc rgb '%s'", dashes[turn % 5],
            7 + 2 * (turn % 4), colour);
    break;
  }
}

static void write_series_title(FILE *script, const chart_panel *panel, int64_t s) {
  if (panel->series < 0) {
    fputs(" notitle", script);
    return;
  }
  fputs(" title ", script);
  char text[200];
  prem_value_format(first_with(panel->table, panel->series, panel->series_of, s), text,
                    sizeof text);
  prem_write_quoted(script, text);
}

static void plot_band(FILE *script, const chart_panel *panel, int64_t s) {
  const char *colour = colour_of(panel, s);
  if (panel->chart->kind == PREM_CHART_POINTS)
    fprintf(script, "$chart%d_%" PRId64 " using 1:2:3:4 with yerrorbars lc rgb '%s' notitle, ",
            panel->number, s, colour);
  else
    fprintf(script,
            "$chart%d_%" PRId64
            " using 1:3:4 with filledcurves fs transparent solid 0.15 lc rgb '%s' notitle, ",
            panel->number, s, colour);
}

static void plot_curves(FILE *script, const chart_panel *panel) {
  fputs("plot ", script);
  for (int64_t s = 0; s < panel->series_count; ++s) {
    if (panel->low >= 0)
      plot_band(script, panel, s);
    fprintf(script, "$chart%d_%" PRId64 " using 1:2 ", panel->number, s);
    write_style(script, panel, s);
    write_series_title(script, panel, s);
    fputs(s + 1 < panel->series_count ? ", " : "\n", script);
  }
}

static void plot_bars(FILE *script, const chart_panel *panel) {
  const double width = 0.8 / (double)panel->series_count;
  const bool told =
      panel->place_count * panel->series_count <= (panel->page.is_column ? COLUMN_TOLD : MAX_TOLD);
  if (!panel->log_y)
    fprintf(script, "set yrange [0:*]\nset offsets 0, 0, graph %s, 0\n", told ? "0.1" : "0");
  fprintf(script, "set xrange [-0.6:%.1f]\nset boxwidth %.4f\nset style fill solid 0.85\nplot ",
          (double)panel->place_count - 0.4, width * 0.92);
  for (int64_t s = 0; s < panel->series_count; ++s) {
    const double shift = ((double)s + 0.5) * width - 0.4;
    fprintf(script, "$chart%d_%" PRId64 " using ($1+%.4f):2 with boxes lc rgb '%s'", panel->number,
            s, shift, colour_of(panel, s));
    write_series_title(script, panel, s);
    if (panel->low >= 0)
      fprintf(script,
              ", $chart%d_%" PRId64 " using ($1+%.4f):2:3:4 with yerrorbars pt 0 lc rgb 'black'"
              " notitle",
              panel->number, s, shift);
    if (told) /* a bar may be too low to be seen */
      fprintf(script,
              ", $chart%d_%" PRId64
              " using ($1+%.4f):%d:(sprintf($2 < 1000 ? '%%.3g' : '%%.0f', $2)) with labels"
              " offset 0,0.6 font ',%s' notitle",
              panel->number, s, shift, panel->low >= 0 ? 4 : 2, panel->page.is_column ? "5" : "9");
    fputs(s + 1 < panel->series_count ? ", " : "\n", script);
  }
}

static void draw_curves(FILE *script, const chart_panel *panel) {
  write_series(script, panel);
  write_axis_label(script, "x", panel, panel->x);
  write_axis_label(script, "y", panel, panel->y);
  if (has_places(panel))
    write_tics(script, "x", panel, panel->x, panel->place_of, panel->place_count);
  fputs("set format '%.10g'\n", script);
  if (panel->log_x)
    fputs("set logscale x\n", script);
  if (panel->log_y)
    fputs("set logscale y\n", script);
  if (panel->chart->kind == PREM_CHART_BARS)
    plot_bars(script, panel);
  else
    plot_curves(script, panel);
}

/* ---- heat maps ------------------------------------------------------------------------------ */

/** Of the numbers that all maps of a quantity show. */
typedef struct heat_range {
  double low, high;
} heat_range;

/** place series value, a line for each cell. */
static void write_map(FILE *script, const chart_panel *panel) {
  char name[48];
  snprintf(name, sizeof name, "chart%d", panel->number);
  prem_begin_data(script, name);
  for (int64_t row = 0; row < panel->rows; ++row) {
    fprintf(script, "%" PRId64 " %" PRId64, panel->place_of[row], panel->series_of[row]);
    write_cell(script, panel, row, panel->y);
    fputc('\n', script);
  }
  prem_end_data(script);
}

/** Maps of the same quantity can be compared if they have the same colours. */
static heat_range find_range(const chart_panel *panels, int64_t count, const chart_panel *panel) {
  const prem_column *shown = &panel->table->columns[panel->y];
  heat_range range = {INFINITY, -INFINITY};
  for (const chart_panel *other = panels; other < panels + count; ++other) {
    const prem_column *theirs = &other->table->columns[other->y];
    if (other->chart->kind != PREM_CHART_HEAT_MAP || strcmp(shown->name, theirs->name) != 0 ||
        strcmp(shown->unit, theirs->unit) != 0)
      continue;
    for (int64_t row = 0; row < other->rows; ++row) {
      const double value = prem_value_number(prem_table_value(other->table, row, other->y));
      if (isfinite(value) && (value > 0 || !panel->log_y)) {
        range.low = fmin(range.low, value);
        range.high = fmax(range.high, value);
      }
    }
  }
  return range;
}

/** Three digits of each number; in narrow cells of the largest one, the same decimals of all, and
 * one more of those below 1. */
static void write_cell_format(FILE *script, const chart_panel *panel, double high) {
  const bool narrow =
      panel->place_count * NARROW > panel->page.width - left_of(panel) - right_of(panel) &&
      high > 0.0;
  const int decimals = narrow ? (int)fmax(0.0, 2.0 - floor(log10(high))) : 0;
  if (narrow)
    fprintf(script, "sprintf($3 < 1 ? '%%.%df' : '%%.%df', $3)", decimals + (decimals == 1),
            decimals);
  else
    fputs("sprintf($3 < 1000 ? '%.3g' : '%.0f', $3)", script);
}

static void draw_map(FILE *script, const chart_panel *panel, heat_range range) {
  if (range.low < range.high)
    fprintf(script, "set cbrange [%.12g:%.12g]\n", range.low, range.high);
  write_map(script, panel);
  write_axis_label(script, "x", panel, panel->x);
  write_axis_label(script, "cb", panel, panel->y);
  write_tics(script, "x", panel, panel->x, panel->place_of, panel->place_count);
  write_tics(script, "y", panel, panel->series, panel->series_of, panel->series_count);
  if (panel->log_y)
    fputs("set logscale cb\n", script);
  /* Light to middle, so that the numbers stay black on it; printed grey it keeps its order. */
  fprintf(script,
          "unset grid\nset palette defined (0 '#F7FBFF', 0.5 '#9ECAE1', 1 '#4292C6')\n"
          "set xrange [-0.5:%.1f]\nset yrange [%.1f:-0.5]\n",
          (double)panel->place_count - 0.5, (double)panel->series_count - 0.5);
  fprintf(script,
          "plot $chart%d using 1:2:(0.5):(0.5):3 with boxxyerror fs solid 1.0 noborder lc palette"
          " notitle, $chart%d using 1:2:(valid(3) ? ",
          panel->number, panel->number);
  write_cell_format(script, panel, range.high);
  fputs(" : '-') with labels notitle\n", script);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/** How many letters of a text make its first line: up to a space. */
static size_t line_letters(const char *text) {
  size_t letters = strlen(text);
  if (letters <= VERDICT_LETTERS)
    return letters;
  letters = VERDICT_LETTERS;
  while (letters > 0 && text[letters] != ' ')
    --letters;
  if (letters > 0)
    return letters;
  letters = VERDICT_LETTERS;
  while (((unsigned char)text[letters] & 0xc0) == 0x80) /* not within a character */
    --letters;
  return letters;
}

/** Writes title and verdict, or with `script` NULL nothing; returns their height. */
static int write_head(FILE *script, const prem_findings *findings, int height) {
  if (script)
    prem_write_label(script, 1, findings->title, 16, height, "font ',16' noenhanced");
  const char *rest = findings->verdict      ? findings->verdict
                     : findings->incomplete ? "Incomplete: interrupted before its end."
                                            : "";
  int top = HEAD, number = 2;
  for (; *rest; top += VERDICT_LINE) {
    char line[VERDICT_LETTERS + 1];
    const size_t letters = line_letters(rest);
    snprintf(line, sizeof line, "%.*s", (int)letters, rest);
    if (script)
      prem_write_label(script, number++, line, top + 6, height, "noenhanced");
    rest += letters;
    rest += strspn(rest, " ");
  }
  return top;
}

static int panel_height(const chart_panel *panel) {
  return above(panel) + drawing_height(panel) + axis_height(panel);
}

static void draw_panel(FILE *script, const chart_panel *panels, int64_t count,
                       const chart_panel *panel) {
  if (!has_points(panel)) {
    fputs("set xrange [0:1]\nset yrange [0:1]\nplot NaN title 'no data'\n", script);
  } else if (panel->chart->kind == PREM_CHART_HEAT_MAP) {
    draw_map(script, panel, find_range(panels, count, panel));
  } else {
    draw_curves(script, panel);
  }
}

static void write_script(FILE *script, const prem_findings *findings, const chart_panel *panels,
                         const char *path) {
  const int64_t count = findings->chart_count;
  const bool is_column = panels->page.is_column;
  int height = is_column ? 0 : write_head(NULL, findings, 0);
  int top = height;
  for (int64_t i = 0; i < count; ++i)
    height += panel_height(&panels[i]);
  prem_write_terminal(script, path, height);
  fputs("set multiplot\n", script);
  for (int64_t i = 0; i < count; ++i) {
    place(script, &panels[i], height, top);
    if (i == 0 && !is_column)
      write_head(script, findings, height);
    draw_panel(script, panels, count, &panels[i]);
    top += panel_height(&panels[i]);
  }
  fputs("unset multiplot\n", script);
}

static prem_status draw_panels(const prem_findings *findings, const chart_panel *panels,
                               const char *path, const volatile sig_atomic_t *stop,
                               prem_diag *diag) {
  FILE *script = NULL;
  prem_status status = prem_begin_script(path, &script, diag);
  if (status != PREM_OK)
    return status;
  write_script(script, findings, panels, path);
  status = prem_draw_script(script, path, stop, diag);
  fclose(script);
  return status;
}

prem_status prem_findings_draw(const prem_findings *findings, const char *path,
                               const volatile sig_atomic_t *stop, prem_diag *diag) {
  prem_status status = prem_findings_judge(findings, diag);
  if (status != PREM_OK)
    return status;
  if (findings->chart_count == 0)
    return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){.file = path}, "",
                     "there is no chart to draw");
  chart_panel *panels = calloc((size_t)findings->chart_count, sizeof *panels);
  if (!panels)
    return PREM_ERR_MEMORY;
  const prem_page page = prem_page_of(path);
  for (int64_t i = 0; i < findings->chart_count; ++i)
    if (!fill_panel(&panels[i], findings, (int)i, &page))
      status = PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = draw_panels(findings, panels, path, stop, diag);
  for (int64_t i = 0; i < findings->chart_count; ++i)
    empty_panel(&panels[i]);
  free(panels);
  return status;
}
