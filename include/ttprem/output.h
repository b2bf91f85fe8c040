/* SPDX-License-Identifier: Apache-2.0 */
/** A file that is either complete or not there: written without a name, or beside its place, and
 * put in place when it is whole. */
#ifndef TTPREM_OUTPUT_H
#define TTPREM_OUTPUT_H

#include <stdio.h>

#include "ttprem/diag.h"

/** All members are NULL when it is not open. */
typedef struct prem_output {
  FILE *file;      /* write to it; stdout for "-" */
  char *path;      /* where it belongs, links followed; NULL for stdout */
  char *temporary; /* what it is called until then; NULL where the file system has files without
                      names, of which nothing stays when the process is killed */
} prem_output;

PREM_EXTERN_C_BEGIN

/**
 * Open `path` for writing; "-" is stdout. What stands there already is kept until the commit, must
 * be a plain file that may be written, and hands its rights, group and, where that is possible,
 * owner down to its successor: a folder, a device, a pipe or a write-protected file is refused.
 *
 * @param[out] reason  why not, as "No such file or directory"; of reason_bytes.
 * @retval PREM_ERR_IO  nothing was made
 */
PREM_API prem_status prem_output_open(prem_output *output, const char *path, char *reason,
                                      size_t reason_bytes);
/** Close and put in place; the output is no longer open. PREM_ERR_IO: the old file, if any, is
 * kept.
 */
PREM_API prem_status prem_output_commit(prem_output *output, char *reason, size_t reason_bytes);
/** Leave no trace. Nothing happens when it is not open. */
PREM_API void prem_output_abandon(prem_output *output);

/** Do two paths lead to one file, whatever they look like, through links as well? Of a file that is
 *  not there yet its folder and name count. "-" is the same as itself alone. */
PREM_API bool prem_output_same(const char *path, const char *other);
/** Does a path lead, links followed, into the working folder or below? Folders that are missing are
 *  taken for folders. */
PREM_API bool prem_output_is_here(const char *path);

PREM_EXTERN_C_END
#endif
