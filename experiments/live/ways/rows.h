/* SPDX-License-Identifier: Apache-2.0 */
/** Rows of a table of ways, measured by turns in random order. */
#pragma once

#include "experiments/common/probe.h"
#include "experiments/live/ways/ways.h"

enum { PREM_MAX_WAY_ROWS = 160 };

typedef struct prem_way_row {
  char name[64]; /* the way, and what else it needs to be told apart */
  prem_way_setup setup;
  prem_way_samples samples;
  char left_out[320]; /* why; "": it is there */
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

/** Those of the file's table `plan`, and its turns, warm_up, rounds, twice and budget (s). */
prem_way_rows prem_way_rows_of(const prem_probe_call *call);
/** Add a row; its name is the way's and `suffix`. More than PREM_MAX_WAY_ROWS are left out. */
void prem_way_rows_add(prem_way_rows *rows, const prem_way_setup *setup, const char *suffix);
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
/** A note for each reason why rows are left out, with how many there are. */
void prem_way_tell_left_out(const prem_way_rows *rows, prem_findings *findings);

/** What the probe finds, and its rows. */
#define PREM_WAY_STORE_COLUMNS                                                                     \
  "store_p50; store_p99; store_max; again_p50; again_p99; again_max; load_p50; load_p99; "         \
  "load_max; load_again_p50; load_again_p99; load_again_max"
#define PREM_WAY_COLUMNS                                                                           \
  "name [text]; way [text]; work [text]; memory [text]; owner [text]; series [text]; load "        \
  "[text]; "                                                                                       \
  "size; blocks; threads; count; p50; p99; p999; p9999; max; mean; device; device_p50; "           \
  "device_p99; device_max; device_min; whole_p50; whole_p99; whole_max; " PREM_WAY_STORE_COLUMNS
/** Median, p99 and the largest; NULL: they are not known. */
void prem_way_give_times(prem_table *found, int64_t *times_ns, int64_t count);
void prem_way_rows_give(const prem_way_rows *rows, const char *load, prem_table *found);

PREM_EXTERN_C_END
