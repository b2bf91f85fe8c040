/* SPDX-License-Identifier: Apache-2.0 */
/** Traces as files: what `ttprem run --trace` wrote, filtered or in another form. */
#ifndef TTPREM_TRACE_FILE_H
#define TTPREM_TRACE_FILE_H

#include <signal.h>
#include <stdio.h>

#include "ttprem/diag.h"

typedef enum prem_trace_format {
  PREM_TRACE_CSV,      /* the same form again: what was chosen, checked */
  PREM_TRACE_PERFETTO, /* Perfetto's protobuf: ui.perfetto.dev and its trace processor read it */
  PREM_TRACE_CHROME    /* Chrome's JSON: the same tracks and events, for scripts */
} prem_trace_format;

typedef struct prem_trace_options {
  prem_trace_format format;
  int64_t run;                       /* this run alone; -1: all */
  const char *task;                  /* this task alone; NULL: all */
  int64_t late_ns;                   /* Perfetto, Chrome: a release is shown as late above this */
  const volatile sig_atomic_t *stop; /* non-zero ends it; may be NULL */
} prem_trace_options;

PREM_EXTERN_C_BEGIN

/**
 * Convert a trace, record by record: memory does not grow with its length.
 *
 * Perfetto and Chrome: a track for each block, and one for its memory phases and one for its
 * computes where both run at once; phases as slices, releases as instants, late ones by another
 * name. Runs that were launched one by one, each with times from its own start, follow each other.
 *
 * @param in    header and form of prem_trace_write_csv(), every launch in order of start_ns.
 * @param name  of the input, for messages.
 * @retval PREM_ERR_PARSE        not such a trace, or cut short; diag has the line
 * @retval PREM_ERR_INVALID      nothing in it is of that run and task
 * @retval PREM_ERR_IO           unreadable or unwritable
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen
 */
PREM_API prem_status prem_trace_convert(FILE *in, const char *name,
                                        const prem_trace_options *options, FILE *out,
                                        prem_diag *diag);

PREM_EXTERN_C_END
#endif
