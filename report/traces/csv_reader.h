/* SPDX-License-Identifier: Apache-2.0 */
/** Reading CSV line by line, however long the file: one line of it is in memory. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "ttprem/diag.h"

/** Make it with prem_csv_open(); free its room with prem_csv_close(). */
typedef struct prem_csv {
  const char *name; /* for messages */
  prem_diag *diag;
  prem_status status; /* why prem_csv_next() ended: PREM_OK at the file's end */
  int line;           /* the one read last, from 1 */
  char **fields;      /* of that line, unquoted; valid until the next */
  int32_t field_count;
  const volatile sig_atomic_t *stop; /* non-zero ends a reading that waits; may be NULL */
  /* private */
  FILE *file;
  char *buffer;
  size_t capacity, begin, end;
  int32_t field_capacity;
  bool at_end;
} prem_csv;

/** `file` and `name` must outlive it. */
void prem_csv_open(prem_csv *csv, FILE *file, const char *name, prem_diag *diag);
void prem_csv_close(prem_csv *csv);
/** The next line; false at the end or when something is wrong, which is then in status and diag. A
 *  last line without its end was cut short: an error. */
bool prem_csv_next(prem_csv *csv);
/** The field as an integer of its own line; anything else ends the reading with an error. */
bool prem_csv_integer(prem_csv *csv, int32_t field, const char *column, int64_t *out);
/** End the reading with a status; always false. */
bool prem_csv_stop(prem_csv *csv, prem_status status);
/** End the reading with an error at the line read last; always false. */
bool prem_csv_refuse(prem_csv *csv, const char *format, ...) PREM_PRINTF(2, 3);
