/** A file that is either complete or not there: written beside its place, renamed when whole. */
#ifndef TTPREM_OUTPUT_H
#define TTPREM_OUTPUT_H

#include <stdio.h>

#include "ttprem/diag.h"

/** All members are NULL when it is not open. */
typedef struct prem_output {
  FILE *file;      /* write to it; stdout for "-" */
  char *path;      /* where it belongs, links followed */
  char *temporary; /* NULL for stdout */
} prem_output;

PREM_EXTERN_C_BEGIN

/**
 * Open `path` for writing; "-" is stdout. What stands there already is kept until the commit, and
 * must be a plain file: a folder, a device or a pipe is refused.
 *
 * @param[out] reason  why not, as "No such file or directory"; of reason_bytes.
 * @retval PREM_ERR_IO  nothing was made
 */
PREM_API prem_status prem_output_open(prem_output *output, const char *path, char *reason,
                                      size_t reason_bytes);
/** Close and rename; the output is no longer open. PREM_ERR_IO: the old file, if any, is kept. */
PREM_API prem_status prem_output_commit(prem_output *output, char *reason, size_t reason_bytes);
/** Leave no trace. Nothing happens when it is not open. */
PREM_API void prem_output_abandon(prem_output *output);

PREM_EXTERN_C_END
#endif
