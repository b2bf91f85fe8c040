/* SPDX-License-Identifier: Apache-2.0 */
/** Writing Chrome's JSON trace format ("JSON Object Format"), event by event, to a stdio file. */
#ifndef TTPREM_REPORT_TRACES_CHROME_TRACE_H
#define TTPREM_REPORT_TRACES_CHROME_TRACE_H

#include <stdint.h>
#include <stdio.h>

/** A number shown beside an event. */
typedef struct prem_chrome_note {
  const char *name; /* goes into JSON as it is */
  int64_t value;
} prem_chrome_note;

/* Writing errors stay with the file: see ferror(). Times are written in us with three decimals, as
 * the format wants them: no nanosecond is lost. Names may hold any UTF-8. */

/** First of all: the process in which all tracks stand. */
void prem_chrome_begin(FILE *file, const char *process);
/** Tracks are shown by `rank`. Before its first event. */
void prem_chrome_track(FILE *file, uint64_t track, int32_t rank, const char *name);
void prem_chrome_slice(FILE *file, uint64_t track, const char *name, int64_t begin_ns,
                       int64_t end_ns, const prem_chrome_note *notes, int note_count);
void prem_chrome_instant(FILE *file, uint64_t track, const char *name, int64_t at_ns,
                         const prem_chrome_note *notes, int note_count);
/** Last of all: without it the file is no JSON. */
void prem_chrome_end(FILE *file);

#endif
