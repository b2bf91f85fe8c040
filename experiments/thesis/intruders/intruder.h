/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Intruders: whoever works beside a schedule without being part of it. Each has a beginning and an
 * end, and says what it did in between.
 */
#pragma once

#include "experiments/common/experiment.h"
#include "measure/standstills.h"

typedef enum prem_intruder_kind {
  PREM_INTRUDER_NONE,
  PREM_INTRUDER_NEIGHBOUR, /* GPU: a kernel of this process, on SMs that the schedule leaves */
  PREM_INTRUDER_PROCESS,   /* the same of another process; CPU: the cores of another process */
  PREM_INTRUDER_COPIES,    /* GPU: between the host's memory and its own, both ways */
  PREM_INTRUDER_CORES,     /* the host's cores keep their memory busy */
  PREM_INTRUDER_COUNT
} prem_intruder_kind;

enum {
  PREM_STOP_NS = 50000 /* so long without a sign of life: it stood still */
};

/** What an intruder did. */
typedef struct prem_intrusion {
  int64_t lasted_ns;
  int64_t moved_bytes;           /* read plus written */
  prem_standstills seen;         /* GPU: by a clock beside the schedule */
  prem_standstills seen_by_them; /* by the other process's clock */
} prem_intrusion;

typedef struct prem_intruder prem_intruder;
typedef struct prem_gpu_lodger prem_gpu_lodger;
typedef struct prem_gpu_copier prem_gpu_copier;
typedef struct prem_other_process prem_other_process;

PREM_EXTERN_C_BEGIN

/** Is there such an intruder on a backend of this name? */
bool prem_intruder_serves(prem_intruder_kind kind, const char *backend);
/** "nobody", "kernel beside it", ... */
const char *prem_intruder_name(prem_intruder_kind kind, const char *backend);

/**
 * Make room for those of this process, before what they disturb is made.
 *
 * @param spare_sms  SMs that the schedule leaves; on `cpu` nothing.
 * @param[out] out   close with prem_intruder_close()
 */
prem_status prem_intruder_open(const prem_experiment_context *context, int32_t spare_sms,
                               prem_intruder **out, prem_diag *diag);
void prem_intruder_close(prem_intruder *intruder);
/**
 * Start one; returns when it is at work.
 *
 * @retval PREM_ERR_UNAVAILABLE  there can be none; `diag` says why in a note
 */
prem_status prem_intruder_begin(prem_intruder *intruder, prem_intruder_kind kind, prem_diag *diag);
/** End it, whatever has happened since; what it did is added to `done`. */
prem_status prem_intruder_end(prem_intruder *intruder, prem_intrusion *done, prem_diag *diag);

/* ---- another process ------------------------------------------------------------------------ */

/**
 * Start the command again as an intruder that works alone until it is told to end; it ends as well
 * when this process does, and by itself after two minutes.
 *
 * @param blocks  of its kernel
 * @retval PREM_ERR_UNAVAILABLE  no such process; a note in `diag` has its own words
 */
prem_status prem_other_process_begin(const prem_experiment_context *context, int32_t blocks,
                                     prem_other_process **out, prem_diag *diag);
prem_status prem_other_process_end(prem_other_process *process, prem_intrusion *done,
                                   prem_diag *diag);
/** What the process that was started does with its `part`. */
prem_status prem_other_process_play(const prem_experiment_context *context, prem_diag *diag);

/* ---- on the GPU ----------------------------------------------------------------------------- */

/**
 * A kernel of many short launches: each of its blocks takes an SM's whole scratchpad, so that none
 * fits beside a block of a schedule. One block watches the clock, the others stream through memory.
 */
prem_status prem_gpu_lodger_open(prem_gpu_lodger **out, prem_diag *diag);
void prem_gpu_lodger_close(prem_gpu_lodger *lodger);
/** @param streams  blocks beside the one that watches; may be 0. */
prem_status prem_gpu_lodger_begin(prem_gpu_lodger *lodger, int32_t streams, prem_diag *diag);
prem_status prem_gpu_lodger_end(prem_gpu_lodger *lodger, prem_intrusion *done, prem_diag *diag);

/** Copies of several MB each from pinned memory to the GPU's and back, both at the same time. */
prem_status prem_gpu_copier_open(prem_gpu_copier **out, prem_diag *diag);
void prem_gpu_copier_close(prem_gpu_copier *copier);
prem_status prem_gpu_copier_begin(prem_gpu_copier *copier, prem_diag *diag);
prem_status prem_gpu_copier_end(prem_gpu_copier *copier, prem_intrusion *done, prem_diag *diag);

PREM_EXTERN_C_END
