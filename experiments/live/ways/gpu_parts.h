/* SPDX-License-Identifier: Apache-2.0 */
/** What the GPU's and the host's side of a way share: the words between them, what kernels get. */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_GPU_PARTS_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_GPU_PARTS_H

#include <cuda_runtime_api.h>

#include "experiments/live/ways/ways.h"

#define PREM_WAY_LEAVE UINT64_MAX /* instead of a turn's number */

enum {
  PREM_WAY_LINE = 15,        /* words between one word and the next */
  PREM_WAY_CHILDREN_ALL = 4, /* graphs that the GPU launches by turns */
  PREM_WAY_LAUNCHES = 100    /* of them, until their parent launches itself again: 120 may be */
};

/** In the host's memory, mapped; each word has one writer and a line of its own. Turns count from
 *  1. */
typedef struct prem_way_words {
  uint64_t start, start_line[PREM_WAY_LINE];     /* by the host: this turn may begin */
  uint64_t command, command_line[PREM_WAY_LINE]; /* by the host, before `start` */
  uint64_t done, done_line[PREM_WAY_LINE];       /* by the GPU: this turn is over */
  uint64_t left, left_line[PREM_WAY_LINE]; /* by the GPU: PREM_WAY_HAS_LEFT, or an error of its own
                                              launches above that */
} prem_way_words;

enum { PREM_WAY_HAS_LEFT = 1 };

/** In the GPU's memory. */
typedef struct prem_way_state {
  uint64_t gate, gate_line[PREM_WAY_LINE];       /* by block 0, for the others: as `start` */
  uint64_t arrived, arrived_line[PREM_WAY_LINE]; /* blocks that have ended, of all turns */
  uint64_t turn, turn_line[PREM_WAY_LINE]; /* of graphs, whose kernels' arguments never change */
  uint64_t is_leaving, leaving_line[PREM_WAY_LINE];
  float partial[PREM_WAY_MAX_BLOCKS];
} prem_way_state;

typedef struct prem_way_stamp {
  int64_t begin_ns, end_ns;
} prem_way_stamp;

/** What every kernel gets; addresses are the GPU's. */
typedef struct prem_way_job {
  int32_t size[PREM_WORK_COUNT];
  float *in[2], *out;
  prem_way_words *words;
  prem_way_state *state;
  prem_way_stamp *stamps; /* [block], in the host's memory; NULL: none */
  int64_t patience_ns;    /* for the next start; then the GPU gives up */
  uint64_t slots;         /* of a resident kernel that increments: turn t uses number t % slots of
                             inputs and outputs; 0: there is one */
} prem_way_job;

/** Beside the job: what a graph's kernels need. */
typedef struct prem_way_handles {
  uint64_t loop, choice; /* of conditional nodes; 0: none */
  cudaGraphExec_t children[PREM_WAY_CHILDREN_ALL];
} prem_way_handles;

typedef enum prem_way_kernel {
  PREM_KERNEL_NOTHING,  /* () */
  PREM_KERNEL_ONCE,     /* (job, bool tells): the work */
  PREM_KERNEL_WORD,     /* (job): resident, one thread */
  PREM_KERNEL_RESIDENT, /* (job) */
  PREM_KERNEL_ALL_POLL, /* (job) */
  PREM_KERNEL_AWAIT,    /* (job, handles): waits for a turn, and chooses */
  PREM_KERNEL_TELL,     /* (job, handles): tells its end, and whether to go on */
  PREM_KERNEL_RELAUNCH, /* (job, handles): tells its end, and launches its graph again */
  PREM_KERNEL_PARENT    /* (job, handles): waits for turns, and launches children */
} prem_way_kernel;

PREM_EXTERN_C_BEGIN

const void *prem_way_kernel_of(prem_way_kernel kernel, prem_work work);

PREM_EXTERN_C_END
#endif
