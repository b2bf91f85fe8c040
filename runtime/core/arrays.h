/* SPDX-License-Identifier: Apache-2.0 */
/** The arrays of a schedule in host memory: storage, filling, references, verifying, saving. */
#pragma once

#include "prem/model/versions.h"
#include "runtime/core/elements.h"
#include "ttprem/runtime.h"

/** Row-major; base aligned to 128 bytes, pitch a multiple of 16 bytes. */
typedef struct prem_storage {
  unsigned char *base;
  int64_t shape[4];        /* right-aligned */
  int64_t pitch_bytes;     /* of a row (index 3 runs along it) */
  int64_t row_count;       /* shape[0] * shape[1] * shape[2] */
  int64_t slots;           /* of a live or state array, or of errands: so many, one behind the
                              other; else 1 */
  unsigned char **adopted; /* [slots]: where they lie instead; NULL: as said */
  int32_t element_bytes;
  prem_type type;
} prem_storage;

typedef struct prem_arrays {
  const prem_schedule *schedule;
  prem_storage *storage;   /* one an array */
  prem_storage *reference; /* the same for every written array; base NULL for the others */
  double *tolerance;       /* of the writing kernel */
  int32_t *servers;        /* [array]: see prem_array_servers() */
  bool is_live;            /* see prem_arrays_new_live() */
  /* where there are state arrays, or early reads: */
  prem_versions versions;
  prem_storage *first;  /* one an array: version 0, which every run begins with */
  int64_t *made;        /* [task]: its jobs of which the references are */
  int64_t hyperperiods; /* of the last run */
  int64_t iterated;     /* hyperperiods of which the references are; -1: none */
  /* where there are early reads, counted in references: when a task's was made last, and an array's
   * has changed; NULL: there are none, and each job's is made */
  int64_t *made_at, *changed_at, references;
  bool *is_open;    /* [array]: it has no reference until the run has settled, */
  bool has_settled; /* so that a longer one has the same outputs */
} prem_arrays;

/**
 * Allocate, fill (zeros, random, files), and compute the references: every task's untiled
 * reference once, in an order that honours `after` and the flow of data. Where there are state
 * arrays, what changes from job to job has its reference from prem_arrays_iterate().
 *
 * Random: by prem_parts_fill_random(), row-major.
 *
 * @retval PREM_ERR_IO       an input file is missing, broken or of another shape (E024)
 * @retval PREM_ERR_INVALID  a task reads what only itself or later tasks write (E045)
 * @retval PREM_ERR_MEMORY   more than this machine has (diag says how much)
 */
prem_status prem_arrays_new(const prem_schedule *schedule, prem_arrays **out, prem_diag *diag);
/** The same for a live session: live arrays have a slot for each of their buffers, an output one
 *  more for what is never shown, and there are no references, so that nothing can be verified. */
prem_status prem_arrays_new_live(const prem_schedule *schedule, prem_arrays **out, prem_diag *diag);
void prem_arrays_free(prem_arrays *arrays);

/** Let the first slots of a live array lie in memory of others, rows `pitch_bytes` apart; the rest,
 *  which are never shown, are allocated anew. */
prem_status prem_arrays_adopt(prem_arrays *arrays, int32_t array, void *const *buffers,
                              int32_t count, int64_t pitch_bytes);
/** A slot of a live array as an array of its own. */
prem_storage prem_storage_slot(const prem_storage *storage, int32_t slot);
/** First byte of element (i0, i1, i2, i3). */
unsigned char *prem_storage_at(const prem_storage *storage, const int64_t index[4]);

/** A run of so many hyperperiods begins, or has ended: state arrays hold their first version again,
 * or those that the run has made; what is read early holds its fill again. */
void prem_arrays_begin_run(prem_arrays *arrays);
void prem_arrays_end_run(prem_arrays *arrays, int64_t hyperperiods);
/** Let every run begin with what an array holds now. */
prem_status prem_arrays_keep_first(prem_arrays *arrays, int32_t array);
/** Bring the references to where the last run has ended: job by job, hyperperiod by hyperperiod. */
prem_status prem_arrays_iterate(prem_arrays *arrays);

/** Has an array a reference? After prem_arrays_iterate(). */
static inline bool prem_arrays_can_judge(const prem_arrays *arrays, int32_t array) {
  return !arrays->is_open || !arrays->is_open[array] || arrays->has_settled;
}

/** Fill every written array with what is wrong everywhere: prem_bytes_poison(). */
void prem_arrays_poison(prem_arrays *arrays);
/** Compare every written array with its reference, but for those of errands. */
void prem_arrays_verify(const prem_arrays *arrays, prem_verdict *out);
/** The same of one that may lie elsewhere; adds to the verdict, which is `ok` at first. */
void prem_array_verify(const prem_storage *storage, const prem_arrays *arrays, int32_t array,
                       prem_verdict *verdict);
/** Of a row of it, `count` elements from `first` on. */
void prem_array_verify_row(const prem_storage *storage, const prem_arrays *arrays, int32_t array,
                           int64_t row, int64_t first, int64_t count, prem_verdict *verdict);
/** Write every array with a `save` path; goes on after one that cannot be written (diag). */
prem_status prem_arrays_save(const prem_arrays *arrays, prem_diag *diag);
