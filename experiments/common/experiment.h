/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Experiments: each repeats a table or figure of the literature on the machine at hand. One folder
 * each, NAME/ with README.md and NAME.exp, a file (sweep/README.md), and, for what it measures
 * beside schedules and walks, a probe, NAME.c and NAME.cu; experiments.def is the only list.
 */
#pragma once

#include <string.h>

#include "prem/base/clock.h"
#include "ttprem/findings.h"
#include "ttprem/runtime.h"

/**
 * The time that an experiment of a group has. It is kept by repeating less often, never by leaving
 * rows out: each row gets an equal part of what is left, and every row is measured once at least.
 */
typedef struct prem_budget {
  int64_t end_ns;      /* of the host's clock: when all should be over */
  int64_t done, all;   /* rows, as the progress has them */
  int64_t rows, fewer; /* that were repeated; that were repeated less often than asked */
  double min;          /* the smallest part of what was asked; 1: all */
} prem_budget;

/** How an experiment is to be run. */
typedef struct prem_experiment_context {
  const prem_backend *backend; /* one that the experiment names */
  const prem_machine *machine; /* as probed */
  bool quick;                  /* fewer points and repetitions: a look, not a measurement */
  uint64_t seed;
  /* What files can measure beside schedules, walks and ordinary kernels; NULL: there is none such.
   * prem_experiment_start() gives it. */
  const struct prem_probe *(*find_probe)(const char *name);
  const char *schedules; /* folder that holds figures/ and examples/ */
  const char *program;   /* the command, for those that need another process; NULL: there is none */
  const char *part;      /* what this process is to play for the one that started it; NULL: nothing,
                            it measures */
  prem_budget *budget;   /* NULL: as long as it takes */
  const volatile sig_atomic_t *stop; /* non-zero: end within a second; never NULL */
  /** Call it now and then, from the thread that runs the experiment: done of all. Never NULL. */
  void (*progress)(void *context, int64_t done, int64_t all);
  void *progress_context;
} prem_experiment_context;

typedef struct prem_experiment {
  const char *name;               /* lower case, digits, _; that of its folder, or file */
  const char *title;              /* one line */
  const char *question;           /* one sentence */
  const char *backends;           /* those it makes sense on: "cuda", "cuda cpu" */
  const struct prem_sweep *sweep; /* the file */
} prem_experiment;

/* ---- inside experiments --------------------------------------------------------------------- */

static inline bool prem_is_gpu(const prem_backend *backend) {
  return strcmp(prem_backend_name(backend), "cuda") == 0;
}
/** Its time is virtual: it gives the same numbers every time. */
static inline bool prem_is_sim(const prem_backend *backend) {
  return strcmp(prem_backend_name(backend), "sim") == 0;
}

PREM_EXTERN_C_BEGIN
/** Say why it ends: what the machine lacks is a note, anything else an error. @return `status` */
prem_status prem_experiment_refuse(prem_diag *diag, prem_status status, const char *format, ...)
    PREM_PRINTF(3, 4);
PREM_EXTERN_C_END

/** Has the user interrupted? */
static inline bool prem_experiment_stopped(const prem_experiment_context *context) {
  return *context->stop != 0;
}

/** Rows done of all. Who has a budget says it before its first row as well, with none done. */
static inline void prem_experiment_progress(const prem_experiment_context *context, int64_t done,
                                            int64_t all) {
  if (context->budget) {
    context->budget->done = done;
    context->budget->all = all;
  }
  context->progress(context->progress_context, done, all);
}

/** When the row that begins now should be over, by the host's clock; INT64_MAX: no matter. */
static inline int64_t prem_experiment_row_end_ns(const prem_experiment_context *context) {
  const prem_budget *budget = context->budget;
  if (!budget)
    return INT64_MAX;
  const int64_t now_ns = prem_host_clock_ns(), rows = budget->all - budget->done;
  const int64_t left_ns = budget->end_ns > now_ns ? budget->end_ns - now_ns : 0;
  return now_ns + left_ns / (rows > 1 ? rows : 1);
}

/** A row was to be repeated so often, and was. */
static inline void prem_experiment_repeated(const prem_experiment_context *context, int64_t asked,
                                            int64_t repeats) {
  prem_budget *budget = context->budget;
  if (!budget)
    return;
  ++budget->rows;
  if (repeats >= asked)
    return;
  const double part = (double)repeats / (double)asked;
  budget->min = budget->fewer == 0 || part < budget->min ? part : budget->min;
  ++budget->fewer;
}
