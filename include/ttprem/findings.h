/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Findings: what an experiment or a measurement found, as tables of numbers, charts over them and a
 * sentence. One form for all of them, so that one writer, one plotter and one report serve them.
 *
 * Findings are built from one thread:
 *
 *   prem_findings_new() -> prem_findings_table() -> prem_table_column()... -> prem_table_add_...()
 *   -> prem_findings_chart()... -> prem_findings_write(), prem_findings_draw()
 *   -> prem_findings_free()
 *
 * Texts are kept as prem_text_clean() makes them. Memory that runs out while building is remembered
 * and reported by write and draw, so that the builders need no checks.
 */
#ifndef TTPREM_FINDINGS_H
#define TTPREM_FINDINGS_H

#include <signal.h>
#include <stdio.h>

#include "ttprem/diag.h"
#include "ttprem/machine.h"

typedef struct prem_findings prem_findings;
typedef struct prem_table prem_table;

/** How a chart shows its table. */
typedef enum prem_chart_kind {
  PREM_CHART_LINES,    /* y over x, one line for each value of `series` */
  PREM_CHART_POINTS,   /* the same without lines */
  PREM_CHART_STEPS,    /* the same as steps: cumulative distributions */
  PREM_CHART_BARS,     /* y for each x, which may be text; bars of `series` side by side */
  PREM_CHART_HEAT_MAP, /* rows `series`, columns x, y as colour and as a number in its cell; maps
                          whose y have one name and unit share their colours */
  PREM_CHART_KIND_COUNT
} prem_chart_kind;

/** A chart of a table's columns, by their names. */
typedef struct prem_chart {
  prem_chart_kind kind;
  const char *title;      /* what is seen: one line */
  const char *table;      /* its name */
  const char *x, *y;      /* columns */
  const char *low, *high; /* columns with the ends of a band or error bar around y; NULL: none */
  const char *series;     /* column that tells lines, bars or rows apart; NULL: one */
  bool log_x, log_y;
  const char *beside; /* a table with the same columns, as others published them: drawn as well, in
                         a colour of their own; NULL: none. Not in heat maps */
} prem_chart;

PREM_EXTERN_C_BEGIN

/**
 * @param name      of the experiment: lower case, digits, _
 * @param title     one line
 * @param question  what it answers, one sentence
 * @return NULL when there is no memory. Free with prem_findings_free().
 */
PREM_API prem_findings *prem_findings_new(const char *name, const char *title,
                                          const char *question);
PREM_API void prem_findings_free(prem_findings *findings);

/** The sentence with the numbers that answers the question; the last one given counts. */
PREM_API void prem_findings_verdict(prem_findings *findings, const char *format, ...)
    PREM_PRINTF(2, 3);
/** Some runs gave no number at all: there is no verdict, whichever is said later. */
PREM_API void prem_findings_uncounted(prem_findings *findings);
/** What a reader must know beside the numbers: one sentence each, in order. */
PREM_API void prem_findings_note(prem_findings *findings, const char *format, ...)
    PREM_PRINTF(2, 3);
/** Interrupted before its end, what is there being right as far as it goes. */
PREM_API void prem_findings_incomplete(prem_findings *findings);
/** It has come to its end after all. */
PREM_API void prem_findings_complete(prem_findings *findings);
/** An output was compared with its reference; one wrong one makes the findings wrong. */
PREM_API void prem_findings_output(prem_findings *findings, bool ok);
/** What the pseudo-random numbers began with, for the provenance; without it there were none. */
PREM_API void prem_findings_seed(prem_findings *findings, uint64_t seed);
/** A promise was judged; one broken promise makes all of them broken. */
PREM_API void prem_findings_promise(prem_findings *findings, bool kept);
/** Was an output wrong? False as long as none was compared. */
PREM_API bool prem_findings_wrong(const prem_findings *findings);

/**
 * @param name    unique in the findings
 * @param source  where the numbers come from: NULL for measured here, or the work that published
 *                them
 * @return the findings' own; NULL when there is no memory, which every function here accepts.
 */
PREM_API prem_table *prem_findings_table(prem_findings *findings, const char *name,
                                         const char *title, const char *source);
/** All columns before the first cell. @param unit  "ns", "%", "" */
PREM_API void prem_table_column(prem_table *table, const char *name, const char *unit);
/* Cells fill the rows from left to right. A missing value is NAN. */
PREM_API void prem_table_add_text(prem_table *table, const char *text);
PREM_API void prem_table_add_int(prem_table *table, int64_t value);
PREM_API void prem_table_add_real(prem_table *table, double value);

/** Strings are copied. A chart of an unknown table or column is an error of write and draw. */
PREM_API void prem_findings_chart(prem_findings *findings, const prem_chart *chart);

/**
 * Write as JSON ("ttprem.findings/1") with the provenance of a result, whose date is that of
 * prem_findings_new(); beside and renamed. "-" is stdout.
 *
 * @param machine  where it was measured
 * @param command  the command line
 * @retval PREM_ERR_MEMORY    now, or while building
 * @retval PREM_ERR_ARGUMENT  a name twice, a row cut short, a chart of what is not there
 * @retval PREM_ERR_IO        unwritable; no file is left
 */
PREM_API prem_status prem_findings_write(const prem_findings *findings, const prem_machine *machine,
                                         const char *command, const char *path, prem_diag *diag);
/**
 * Read what prem_findings_write() wrote, to print or draw it again; its provenance stays in the
 * file.
 *
 * @param[out] out  free with prem_findings_free(); NULL on error.
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  cut short, of another schema, or broken (diag says where)
 */
PREM_API prem_status prem_findings_read(const char *path, prem_findings **out, prem_diag *diag);
/** The verdict, the notes and the tables as text. Long tables are cut, and say so. */
PREM_API void prem_findings_print(const prem_findings *findings, FILE *file);
/**
 * Draw all charts into one picture, one beneath the other: SVG or PNG by the path's extension, by a
 * gnuplot process. Errors as prem_result_draw().
 */
PREM_API prem_status prem_findings_draw(const prem_findings *findings, const char *path,
                                        const volatile sig_atomic_t *stop, prem_diag *diag);

PREM_EXTERN_C_END
#endif
