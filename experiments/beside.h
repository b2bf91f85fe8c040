/** A file that is written beside its place and renamed when it is whole. */
#ifndef TTPREM_BESIDE_H
#define TTPREM_BESIDE_H

#include <stdio.h>

#include "ttprem/diag.h"

typedef struct prem_beside {
  FILE *file;
  char *path;      /* where it belongs, links followed */
  char *temporary; /* NULL: not a regular file (a device, a pipe), written in place */
} prem_beside;

/**
 * Open `path` for writing. On error nothing is left and `diag` says why; prem_beside_abandon() is
 * allowed but not needed.
 */
prem_status prem_beside_open(prem_beside *beside, const char *path, prem_diag *diag);
/** Close and rename. On error the old file, if there was one, is still there. */
prem_status prem_beside_commit(prem_beside *beside, prem_diag *diag);
/** Close and forget what was written; after an open that failed, or a commit, nothing happens. */
void prem_beside_abandon(prem_beside *beside);

#endif
