/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A look at a schedule file's bytes for what libconfig does not tell: integer literals that it
 * cuts down in silence, where the `plan` group stands, which token broke the syntax, includes that
 * go round in circles; and how many tasks there are, before libconfig makes a tree of them.
 */
#pragma once

#include "prem/model/private.h"

/** A token and its place. */
typedef struct prem_token {
  prem_place place;
  char text[40];     /* cut to this length */
  bool is_64;        /* of an integer: it has the suffix L */
  int64_t libconfig; /* and what libconfig makes of it */
} prem_token;

enum { PREM_SCAN_CUT_LITERALS = 64 }; /* more than that many are not remembered */

typedef struct prem_scan {
  size_t plan_offset;   /* of the top-level `plan` in the main file; SIZE_MAX: none */
  bool settings_follow; /* settings stand behind it */
  bool plan_is_included;
  prem_token cut[PREM_SCAN_CUT_LITERALS]; /* integers that libconfig does not hold */
  int32_t cut_count;
  prem_place tasks; /* where the top-level `tasks` stand, as far as there are any */
  int64_t task_count;
  bool surprised;  /* the syntax breaks here: */
  bool never_ends; /* a comment or string; libconfig does not always mind */
  prem_token surprise;
  const char *advice; /* what to write instead; NULL: not known */
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

/** The literal as written, if an integer that libconfig cut to `value` stands at this place; else
 *  NULL. */
const char *prem_scan_cut_literal(const prem_scan *scan, prem_place place, bool is_64,
                                  int64_t value);

/** What messages call an included file: its path as the schedule's folder makes it; interned. */
const char *prem_included_file(prem_schedule *schedule, const char *folder, const char *name);

/**
 * All bytes of a file ("-": stdin); free with free(). Behind the `count` bytes stand a newline,
 * since libconfig knows no comment that ends with the file, and a zero. `reason` says what failed.
 */
prem_status prem_read_file(const char *path, char **bytes, size_t *count, char *reason,
                           size_t reason_bytes);
