/* SPDX-License-Identifier: Apache-2.0 */
/**
 * When boxes were shown, of several runs beside each other. A run is a file as the tracker writes
 * it, instants.csv:
 *
 *   frame,planned_ns,shown_ns
 *   0,19000000,19000032
 *
 * Its times are shown_ns - planned_ns: below 0 where a box came early.
 */
#ifndef TRACKER_INSTANTS_H
#define TRACKER_INSTANTS_H

#include <stddef.h>
#include <stdint.h>

#include <ttprem/findings.h>

/** Zero before the first time. */
typedef struct instants {
  char name[64];
  int64_t *behind_ns; /* [count] */
  size_t count, room;
} instants;

/** Of sorted times; all 0 where there are none. */
typedef struct instant_summary {
  size_t count;
  int64_t least_ns, p50_ns, p99_ns, p999_ns, largest_ns;
} instant_summary;

/** @retval PREM_ERR_MEMORY  nothing was changed */
prem_status instants_add(instants *of, int64_t behind_ns);
/**
 * Read a file.
 *
 * @param[out] out  was zero; free with instants_free(), also after an error. Sorted
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  another header, or a row that is none: diag has its line
 */
prem_status instants_read(const char *path, instants *out, prem_diag *diag);
void instants_free(instants *of);

void instants_sort(instants *of);
/** The least time that a share `q` of all does not exceed. Sorted ones; 0 of none. */
int64_t instants_at(const instants *of, double q);
instant_summary instants_summary(const instants *of);

/** Add the tables `instants` and `distribution`, and charts of the latter. Sorted ones. */
void instants_tell(prem_findings *findings, const instants *runs, size_t count);
/** Findings of these alone. */
prem_status instants_write(const instants *runs, size_t count, const prem_machine *machine,
                           const char *command, const char *path, prem_diag *diag);

#endif
