/**
 * A look at a schedule file's bytes for what libconfig does not tell: integer literals that it
 * cuts down in silence, where the `plan` group stands, which token broke the syntax, includes that
 * go round in circles.
 */
#ifndef TTPREM_SCAN_H
#define TTPREM_SCAN_H

#include "private.h"

/** A token and its place. */
typedef struct prem_token {
  prem_place place;
  char text[40]; /* cut to this length */
} prem_token;

enum { PREM_SCAN_CUT_LITERALS = 64 }; /* more than that many are not remembered */

typedef struct prem_scan {
  size_t plan_offset;   /* of the top-level `plan` in the main file; SIZE_MAX: none */
  bool settings_follow; /* settings stand behind it */
  bool plan_is_included;
  prem_token cut[PREM_SCAN_CUT_LITERALS]; /* integers that libconfig does not hold */
  int32_t cut_count;
  bool surprised; /* the syntax breaks here: */
  prem_token surprise;
} prem_scan;

/**
 * Scan the file and the files that it includes. Errors found: E009 for integers beyond what
 * libconfig reads, keys in `_ns` apart (the reader knows their full names), E011 and E024 for
 * includes.
 *
 * @param file    the file's name; interned in the schedule.
 * @param folder  includes count from here.
 * @retval PREM_ERR_PARSE  an include is missing or goes too deep: libconfig would fail
 */
prem_status prem_scan_source(prem_schedule *schedule, const char *file, const char *source,
                             size_t bytes, const char *folder, prem_scan *scan, prem_diag *diag);

/** The literal as written, if one that libconfig cut stands at this place; else NULL. */
const char *prem_scan_cut_literal(const prem_scan *scan, prem_place place);

/** All bytes of a regular file, closed by a zero; free with free(). `reason` says what failed. */
prem_status prem_read_file(const char *path, char **bytes, size_t *count, char *reason,
                           size_t reason_bytes);

#endif
