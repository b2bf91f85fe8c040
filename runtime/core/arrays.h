/* SPDX-License-Identifier: Apache-2.0 */
/** The arrays of a schedule in host memory: storage, filling, references, verifying, saving. */
#ifndef TTPREM_RUNTIME_CORE_ARRAYS_H
#define TTPREM_RUNTIME_CORE_ARRAYS_H

#include "ttprem/runtime.h"

/** Row-major; base aligned to 128 bytes, pitch a multiple of 16 bytes. */
typedef struct prem_storage {
  unsigned char *base;
  int64_t shape[4];    /* right-aligned */
  int64_t pitch_bytes; /* of a row (index 3 runs along it) */
  int64_t row_count;   /* shape[0] * shape[1] * shape[2] */
  int64_t slots;       /* of a live array: so many of these, one behind the other; else 1 */
  int32_t element_bytes;
  prem_type type;
} prem_storage;

typedef struct prem_arrays {
  const prem_schedule *schedule;
  prem_storage *storage;   /* one an array */
  prem_storage *reference; /* the same for every written array; base NULL for the others */
  double *tolerance;       /* of the writing kernel */
  bool is_live;            /* see prem_arrays_new_live() */
} prem_arrays;

/**
 * Allocate, fill (zeros, random, files), and compute the references: every task's untiled
 * reference once, in an order that honours `after` and the flow of data.
 *
 * Random: float i (row-major, a c64 counts as two) is (u >> 40) / 2^23 - 1, in [-1, 1), with
 * u = mix(mix(seed) + (i + 1) * 0x9E3779B97F4A7C15) and mix the output function of SplitMix64:
 * the same on every machine.
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

/** A slot of a live array as an array of its own. */
prem_storage prem_storage_slot(const prem_storage *storage, int32_t slot);
/** First byte of element (i0, i1, i2, i3). */
unsigned char *prem_storage_at(const prem_storage *storage, const int64_t index[4]);

/** Fill every written array with PREM_POISON bytes (all ones: a NaN that no arithmetic makes). */
void prem_arrays_poison(prem_arrays *arrays);
/** Compare every written array with its reference. */
void prem_arrays_verify(const prem_arrays *arrays, prem_verdict *out);
/** Write every array with a `save` path; goes on after one that cannot be written (diag). */
prem_status prem_arrays_save(const prem_arrays *arrays, prem_diag *diag);

enum { PREM_POISON = 0xFF };

#endif
