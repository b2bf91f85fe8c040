/* SPDX-License-Identifier: Apache-2.0 */
/** Rows of a table of ways, measured by turns in random order. */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_ROWS_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_ROWS_H

#include "experiments/live/ways/ways.h"
#include "ttprem/measure.h"

enum { PREM_MAX_WAY_ROWS = 160 };

typedef struct prem_way_row {
  char name[64]; /* the way, and what else it needs to be told apart */
  prem_way_setup setup;
  prem_way_samples samples;
  prem_summary response, whole, device; /* when all is measured */
  char left_out[320];                   /* why; "": it is there */
} prem_way_row;

typedef struct prem_way_rows {
  prem_way_row *rows;
  int32_t count;
  int64_t turns, warm_up; /* of each row: altogether; in each round */
  int32_t rounds;
  bool twice;        /* stores and loads are kept, and each is done a second time */
  int64_t budget_ns; /* of all: rows that need longer get fewer turns */
} prem_way_rows;

PREM_EXTERN_C_BEGIN

/** Room for so many turns; free in either case. @param twice  also for stores and loads */
bool prem_way_samples_make(int64_t room, bool twice, prem_way_samples *out);
void prem_way_samples_free(prem_way_samples *samples);

/** How much an experiment takes of its machine. Rounds are four, of a quick look two. */
typedef struct prem_way_effort {
  int64_t turns, cpu_turns, quick_turns; /* on a GPU; elsewhere; of a quick look */
  int64_t warm_up, quick_warm_up;
  int64_t budget_s, quick_budget_s;
} prem_way_effort;

/** No rows yet. */
prem_way_rows prem_way_rows_make(const prem_experiment_context *context,
                                 const prem_way_effort *effort);
/** Add a row; its name is the way's and `suffix`. More than PREM_MAX_WAY_ROWS are left out. */
void prem_way_rows_add(prem_way_rows *rows, const prem_way_setup *setup, const char *suffix);
enum {
  PREM_WAY_THREADS = 1024,    /* of a block, as the paper has them */
  PREM_WAY_LIVE_THREADS = 608 /* 512 of them compute */
};
/** A row with work. Live events run in mode free, and have threads of their own; without a GPU one.
 */
void prem_way_rows_add_work(prem_way_rows *rows, bool is_gpu, prem_way_setup setup);
/**
 * Measure all of them: each round takes the rows in an order of its own, each opened, warmed up and
 * closed again, so that nothing of a row is on the GPU while another one is measured. The GPU's
 * times are of turns of their own, but for live sessions, which take them always.
 *
 * A row that the machine cannot do is left out and says why; one with wrong outputs makes the
 * findings wrong.
 */
prem_status prem_way_rows_measure(const prem_experiment_context *context, prem_way_rows *rows,
                                  prem_findings *findings, prem_diag *diag);
void prem_way_rows_free(prem_way_rows *rows);

/** The row of a way and a shape that was measured; NULL: there is none. `suffix` as added. */
const prem_way_row *prem_way_rows_find(const prem_way_rows *rows, prem_way way, int32_t blocks,
                                       int32_t threads);

/** Columns of the times: count, p50, p99, p99.9, p99.99, largest, max - mean, and the GPU's. */
void prem_way_columns(prem_table *table);
/** Their cells. */
void prem_way_cells(prem_table *table, const prem_way_row *row);
/** A note for each reason why rows are left out, with how many there are. */
void prem_way_tell_left_out(const prem_way_rows *rows, prem_findings *findings);

/** A table of turns with work: what, where it lies, by whom, and the times; also those with the
 *  host's stores and loads. */
prem_table *prem_way_works_begin(prem_findings *findings, const char *name, const char *title);
/** All rows that were measured, and a chart of their medians by work. */
void prem_way_works_tell(const prem_way_rows *rows, prem_table *table, prem_findings *findings);
/** What columns of such tables mean, as notes. */
void prem_way_works_explain(prem_findings *findings);

/** An experiment with one table of works. */
typedef struct prem_way_study {
  prem_way_effort effort;
  const char *table, *title;
  const char *original; /* the paper's, of live/original/ */
  void (*add_rows)(prem_way_rows *rows, const prem_experiment_context *context);
  void (*tell_verdict)(const prem_way_rows *rows, prem_findings *findings);
  const char *note;
} prem_way_study;

prem_status prem_way_study_run(const prem_way_study *study, const prem_experiment_context *context,
                               prem_findings *findings, prem_diag *diag);

PREM_EXTERN_C_END
#endif
