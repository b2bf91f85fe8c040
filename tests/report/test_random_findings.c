/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of every form, drawn at random, are written, read again as they were, and drawn, from a
 * script that ends where it should.
 */
#include <math.h>

#include "runtime/core/backend.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/suite.h"

enum { FINDINGS = 120, COLUMNS = 5, MAX_ROWS = 90 };

typedef struct drawn_table {
  bool text_x, wide, ties;
  int32_t rows, series;
  double scale;
} drawn_table;

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

/* The same on every machine, which pow() need not be. */
static double power_of_ten(int32_t power) {
  double all = 1;
  for (; power > 0; --power)
    all *= 10;
  for (; power < 0; ++power)
    all /= 10;
  return all;
}

/* Words of any length, with and without spaces, and letters of several bytes. */
static const char *draw_words(int32_t letters) {
  static const char *const pieces[] = {"a", "bc", "def ", "\303\244", "\"q\" ", "x'y", "\\n", " "};
  const char *all = "";
  const bool spaces = !chance(4);
  while ((int32_t)strlen(all) < letters) {
    const char *piece = pieces[draw(0, 7)];
    if (spaces || !strchr(piece, ' '))
      all = text("%s%s", all, piece);
  }
  return all;
}

/* One long word or line: text() has no room for it. */
static void draw_line(char *out, int32_t letters) {
  const int32_t every = draw(0, 3) * 37;
  for (int32_t i = 0; i < letters; ++i)
    out[i] = every && i % every == every - 1 ? ' ' : (char)('a' + i % 26);
  out[letters] = '\0';
  if (letters > 10 && chance(2)) /* a letter of two bytes anywhere */
    for (int32_t at = draw(0, letters - 2), i = 0; i < 2; ++i)
      out[at + i] = "\303\244"[i];
}

static void add_number(prem_table *table, const drawn_table *how) {
  const double spread = how->wide ? power_of_ten(draw(0, 5)) : draw(1, 8);
  switch (draw(0, how->ties ? 2 : 11)) {
  case 0:
    prem_table_add_int(table, draw(0, 8));
    break;
  case 1:
    prem_table_add_int(table, how->ties ? 8 : (int64_t)(how->scale * spread) + 1);
    break;
  case 2:
    prem_table_add_real(table, how->ties ? 1 : how->scale);
    break;
  case 3:
    prem_table_add_real(table, NAN);
    break;
  case 4:
    prem_table_add_real(table, chance(2) ? 0 : -how->scale * spread);
    break;
  default:
    prem_table_add_real(table, how->scale * spread * (1 + draw(0, 999) / 1000.0));
  }
}

static void add_table(prem_findings *findings, const char *name, const drawn_table *how) {
  static const char *const names[COLUMNS] = {"x", "y", "low", "high", "series"};
  const char *title = draw_words(draw(0, 12));
  const char *source = chance(3) ? draw_words(5) : NULL;
  prem_table *table = prem_findings_table(findings, name, title, source);
  for (int c = 0; c < COLUMNS; ++c)
    prem_table_column(table, names[c], chance(2) ? "" : "ns");
  const bool real_series = chance(3);
  for (int32_t row = 0; row < how->rows; ++row) {
    if (how->text_x)
      prem_table_add_text(table, text("%.*s%" PRId32, draw(0, 12), "abcdefghijkl",
                                      row / (how->series < 1 ? 1 : how->series)));
    else
      add_number(table, how);
    for (int c = 1; c < 4; ++c)
      add_number(table, how);
    if (real_series)
      prem_table_add_real(table, row % (how->series + 1) * 0.5);
    else
      prem_table_add_text(table, text("s%" PRId32 "%s", row % (how->series + 1),
                                      row % 5 ? "" : draw_words(draw(0, 40))));
  }
}

/* What is drawn is drawn in its order: that of an initializer's parts is the compiler's. */
static drawn_table draw_table(void) {
  static const int32_t max[] = {0, 1, 6, 24, MAX_ROWS};
  drawn_table how = {.text_x = chance(2)};
  how.wide = chance(2);
  how.ties = chance(5);
  const int32_t size = draw(0, 4);
  how.rows = draw(0, max[size]);
  how.series = chance(3) ? draw(0, 25) : draw(0, 3);
  how.scale = power_of_ten(draw(-7, 12));
  return how;
}

static void add_chart(prem_findings *findings, int32_t tables) {
  prem_chart chart = {.kind = (prem_chart_kind)draw(0, PREM_CHART_KIND_COUNT - 1)};
  const bool map = chart.kind == PREM_CHART_HEAT_MAP;
  chart.title = draw_words(draw(0, 20));
  chart.table = text("t%" PRId32, draw(0, tables - 1));
  chart.x = "x";
  chart.y = chance(8) ? "high" : "y";
  if (chance(3)) {
    chart.low = "low";
    chart.high = "high";
  }
  chart.series = map || !chance(3) ? "series" : NULL;
  chart.log_x = chance(2);
  chart.log_y = chance(2);
  if (!map && chance(4))
    chart.beside = text("t%" PRId32, draw(0, tables - 1));
  prem_findings_chart(findings, &chart);
}

static prem_findings *draw_findings(int number) {
  state = (uint64_t)number * 7919 + 3;
  char line[700];
  const char *title = draw_words(draw(1, 30));
  prem_findings *findings = prem_findings_new("drawn", title, draw_words(9));
  const int32_t tables = draw(1, 3);
  for (int32_t i = 0; i < tables; ++i) {
    const drawn_table how = draw_table();
    add_table(findings, text("t%" PRId32, i), &how);
  }
  for (int32_t i = draw(0, 4); i > 0; --i)
    add_chart(findings, tables);
  if (!chance(4)) {
    static const int32_t around[] = {20, 180, 360, 600};
    const int32_t letters = around[draw(0, 3)];
    draw_line(line, letters + draw(-12, 12));
    prem_findings_verdict(findings, "%s", line);
  }
  for (int32_t i = draw(0, 2); i > 0; --i)
    prem_findings_note(findings, "%s", draw_words(draw(0, 30)));
  if (chance(4))
    prem_findings_incomplete(findings);
  if (chance(3))
    prem_findings_output(findings, chance(2));
  if (chance(3))
    prem_findings_promise(findings, chance(2));
  if (chance(2))
    prem_findings_seed(findings, (uint64_t)number);
  return findings;
}

static char *printed(const prem_findings *findings) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  prem_findings_print(findings, file);
  fclose(file);
  return all;
}

GROUP("findings", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(come_back_as_they_were) {
  prem_machine machine;
  ck_assert_int_eq(prem_backend_sim.probe(&machine, NULL), PREM_OK);
  for (int number = 0; number < FINDINGS; ++number) {
    OWNED(prem_findings) *findings = draw_findings(number), *first = NULL, *second = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    const char *path = golden_path("f.json");
    if (prem_findings_write(findings, &machine, "", path, diag) != PREM_OK ||
        prem_findings_read(path, &first, diag) != PREM_OK ||
        prem_findings_write(first, &machine, "", path, diag) != PREM_OK ||
        prem_findings_read(path, &second, diag) != PREM_OK)
      abort_with("write and read", diag);
    FREED char *before = printed(first), *now = printed(second);
    ck_assert_str_eq(before, now);
    ck_assert_int_eq(prem_findings_wrong(findings), prem_findings_wrong(second));
    const prem_status status =
        prem_findings_draw(findings, golden_path(number % 2 ? "f.svg" : "f.png"), NULL, diag);
    ck_assert(status == PREM_OK || prem_diag_errors(diag) > 0);
    if (status == PREM_OK) {
      FREED char *script = golden_take(golden_path("gnuplot.script"));
      ck_assert_ptr_eq(strstr(script, " inf "), NULL);
      ck_assert_int_eq(script[strlen(script) - 1], '\n');
    }
  }
}

static char *script_of(const prem_findings *findings) {
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_findings_draw(findings, golden_path("t.svg"), NULL, diag) != PREM_OK)
    abort_with("draw", diag);
  return golden_take(golden_path("gnuplot.script"));
}

/* A band is drawn wherever its columns stand in the table, the first one as well. */
TEST(a_band_of_any_columns_is_drawn) {
  static const char *const names[] = {"x", "y", "low", "high"};
  for (int turn = 0; turn < 4; ++turn) {
    OWNED(prem_findings) *findings = prem_findings_new("f", "F", "?");
    prem_findings_verdict(findings, "v");
    prem_table *table = prem_findings_table(findings, "t", "T", NULL);
    for (int c = 0; c < 4; ++c)
      prem_table_column(table, names[(c + turn) % 4], "");
    for (int row = 1; row < 9; ++row)
      for (int c = 0; c < 4; ++c)
        prem_table_add_int(table, 10 * row + (c + turn) % 4);
    prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                                .title = "c",
                                                .table = "t",
                                                .x = "x",
                                                .y = "y",
                                                .low = "low",
                                                .high = "high"});
    FREED char *script = script_of(findings);
    ck_assert_msg(strstr(script, "using 1:3:4 with filledcurves") != NULL, "%d:\n%s", turn, script);
  }
}

/* 1400 pixels less 120 and 240 beside the drawing are 130 letters: labels of so many, and a space
 * behind each, stand side by side, with one more they slant. */
TEST(labels_slant_where_there_is_no_room) {
  static const int places[] = {5, 10, 13, 26};
  for (int i = 0; i < 4; ++i)
    for (int more = -1; more < 2; ++more) {
      OWNED(prem_findings) *findings = prem_findings_new("f", "F", "?");
      prem_findings_verdict(findings, "v");
      prem_table *table = prem_findings_table(findings, "t", "T", NULL);
      prem_table_column(table, "x", "");
      prem_table_column(table, "y", "");
      for (int p = 0; p < places[i]; ++p) {
        prem_table_add_text(table, text("%0*d", 130 / places[i] - 1 + more, p));
        prem_table_add_int(table, p + 1);
      }
      prem_findings_chart(
          findings,
          &(prem_chart){.kind = PREM_CHART_BARS, .title = "c", .table = "t", .x = "x", .y = "y"});
      FREED char *script = script_of(findings);
      ck_assert_msg((strstr(script, "rotate by -40") != NULL) == (more > 0), "%d, %d:\n%s",
                    places[i], more, script);
    }
}
