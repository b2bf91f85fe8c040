/* SPDX-License-Identifier: Apache-2.0 */
/** A list of problems, each with its place: what every call that judges a user's file fills. */
#ifndef TTPREM_DIAG_H
#define TTPREM_DIAG_H

#include "ttprem/base.h"

typedef enum prem_severity { PREM_NOTE, PREM_WARNING, PREM_ERROR } prem_severity;

/** A place in a schedule file. `file` is NULL and `line` 0 where there is none. */
typedef struct prem_place {
  const char *file; /* owned by the schedule it came from */
  int line;
} prem_place;

/** One problem. Strings belong to the prem_diag. */
typedef struct prem_problem {
  prem_severity severity;
  int code;           /* 1: E001 and so on, as docs/errors.md has them; 0: none */
  const char *file;   /* "" where there is none */
  int line;           /* from 1; 0 where there is none */
  const char *key;    /* the setting, as "tasks.conv.prefetch.wcet_ns"; "" where there is none */
  const char *reason; /* what is wrong, the value, the limit, what to do */
} prem_problem;

typedef struct prem_diag prem_diag;

PREM_EXTERN_C_BEGIN

/** A new, empty list; NULL when out of memory. Free with prem_diag_free(). */
PREM_API prem_diag *prem_diag_new(void);
PREM_API void prem_diag_free(prem_diag *diag);

/**
 * Add a problem; `diag` may be NULL (nothing happens). At most 20 of one code and severity are kept
 * (of code 0 all), the rest are counted (prem_diag_dropped()), so that a plan wrong a million times
 * stays readable. Strings are copied.
 *
 * @param code  as in prem_problem
 * @param key   may be NULL
 */
PREM_API void prem_diag_add(prem_diag *diag, prem_severity severity, int code, prem_place place,
                            const char *key, const char *format, ...) PREM_PRINTF(6, 7);

/** Problems kept, in the order in which they were found; 0 for NULL. */
PREM_API size_t prem_diag_count(const prem_diag *diag);
/** Problem number `index`, good until the next one is added; NULL behind the last. */
PREM_API const prem_problem *prem_diag_at(const prem_diag *diag, size_t index);
/** Errors found, those not kept included; 0 for NULL. */
PREM_API size_t prem_diag_errors(const prem_diag *diag);
/** Problems found but not kept: more than 20 of a code, or no memory for them. */
PREM_API size_t prem_diag_dropped(const prem_diag *diag);
/** Is there an error (kept or not) of this code? */
PREM_API bool prem_diag_has(const prem_diag *diag, int code);
/**
 * The problem as one line, `file:line: E017: key: reason`; parts that do not exist are left out.
 * Notes and warnings carry the word instead of a code. Control characters and what is not UTF-8 are
 * shown as prem_text_show() shows them. Returns like snprintf.
 */
PREM_API int prem_problem_format(const prem_problem *problem, char *out, size_t out_bytes);

PREM_EXTERN_C_END
#endif
