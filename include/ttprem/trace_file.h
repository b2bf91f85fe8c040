/* SPDX-License-Identifier: Apache-2.0 */
/** Traces as files: what `ttprem run --trace` wrote, filtered or in another form. */
#ifndef TTPREM_TRACE_FILE_H
#define TTPREM_TRACE_FILE_H

#include <signal.h>
#include <stdio.h>

#include "ttprem/schedule.h"

typedef enum prem_trace_format {
  PREM_TRACE_CSV,     /* the same form again: what was chosen, checked */
  PREM_TRACE_PERFETTO /* Perfetto's protobuf: ui.perfetto.dev and its trace processor read it */
} prem_trace_format;

typedef struct prem_trace_options {
  prem_trace_format format;
  int64_t run;                       /* this run alone; -1: all */
  const char *task;                  /* this task alone; NULL: all */
  int64_t late_ns;                   /* Perfetto: a release is shown as late above this */
  int64_t shift_ns;                  /* Perfetto: S stands here on the time line; not below 0 */
  const volatile sig_atomic_t *stop; /* non-zero ends it; may be NULL */
} prem_trace_options;

/** What the host of a live session did with a frame. */
typedef enum prem_host_deed {
  PREM_HOST_ACQUIRED, /* waited for a free buffer, from begin to end */
  PREM_HOST_SUBMITTED,
  PREM_HOST_SHOWN,    /* the session's part: the result could be seen from then on */
  PREM_HOST_WAITED,   /* for a result, from begin to end */
  PREM_HOST_RELEASED, /* gave it back */
  PREM_HOST_DEEDS
} prem_host_deed;

typedef struct prem_host_event {
  prem_host_deed deed;
  int32_t stream;
  uint64_t frame;
  int64_t begin_ns, end_ns;    /* on the host's clock; one instant but where it waited */
  int64_t age_ns, lateness_ns; /* of a shown result; age: INT64_MIN without one */
} prem_host_event;

PREM_EXTERN_C_BEGIN

/**
 * Convert a trace, record by record: memory does not grow with its length.
 *
 * Perfetto: a track for each block, and one for its memory phases and one for its
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

/**
 * Put what the host did behind what prem_trace_convert() has written in Perfetto's form: a group
 * "host" with a track for each stream.
 *
 * @param zero_ns   the host's time that is 0 on the time line: S less `shift_ns`.
 * @param until_ns  the host's time up to which there are phases; later events are left out.
 */
PREM_API void prem_trace_add_host(const prem_schedule *schedule, const prem_host_event *events,
                                  int64_t count, int64_t zero_ns, int64_t until_ns, FILE *out);

PREM_EXTERN_C_END
#endif
