/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Walks: threads that follow a linked list through memory, one access after the other, each known
 * only when the one before it has come back. Such code cannot be cut into phases: it gets pointers
 * and is in the memory from its beginning to its end.
 */
#pragma once

#include "experiments/common/experiment.h"

enum {
  PREM_WALK_KERNELS = 16,   /* that can walk at once; cpu: no more than cores */
  PREM_WALK_THREADS = 1024, /* of a kernel; cpu: 1 */
};

typedef enum prem_walk_order { PREM_WALK_SEQUENTIAL, PREM_WALK_RANDOM } prem_walk_order;

/** The way of a GPU's loads; a CPU has but one. */
typedef enum prem_walk_path {
  PREM_WALK_L2,          /* past L1 */
  PREM_WALK_L1,          /* through L1 and L2, the scratchpad as small as it gets */
  PREM_WALK_L1_OCCUPIED, /* the same with the scratchpad taken as a whole */
  PREM_WALK_PATH_COUNT
} prem_walk_path;

typedef struct prem_walk {
  int64_t bytes; /* of each kernel's list */
  prem_walk_order order;
  prem_walk_path path;
  bool mapped; /* GPU: the lists are in the host's memory */
  int32_t kernels, threads;
  int64_t steps; /* of each thread */
  /* over elements (elements.h), whoever walks them: */
  int64_t begun; /* of a part: steps that went before, in earlier walks */
  int32_t repeats;
} prem_walk;

/** Of one access: over all threads of all kernels; of nodes the means of all repeats' means, over
 *  elements of all repetitions. */
typedef struct prem_walk_time {
  double mean_ns, min_ns, max_ns;
  bool together; /* all kernels began at once, each time */
  bool right;    /* every thread arrived where its list leads */
  int32_t repeats;
  double mean_cycles; /* of the SM; NAN: not known */
  double
      overhead_ns; /* of the loop, already subtracted; 0 on a CPU, which does it while it waits */
  int64_t walk_ns; /* over elements: the longest walk of a thread */
} prem_walk_time;

typedef struct prem_walker prem_walker;

PREM_EXTERN_C_BEGIN

const char *prem_walk_order_name(prem_walk_order order);
const char *prem_walk_path_name(prem_walk_path path);
/** Bytes from one node to the next: a GPU's sector, a CPU's line. A list has at least 2 nodes. */
int64_t prem_walk_node_bytes(const prem_backend *backend);

/**
 * @param room_bytes  of all lists of a walk together
 * @param mapped      the same room in the host's memory as well
 * @param[out] out    close with prem_walker_close()
 */
prem_status prem_walker_open(const prem_experiment_context *context, int64_t room_bytes,
                             bool mapped, prem_walker **out, prem_diag *diag);
/** Nothing happens for NULL. */
void prem_walker_close(prem_walker *walker);
/**
 * Make the lists; then `repeats` times, or as often as the row's time lets, touch all of them and
 * walk.
 *
 * @param[out] out  the mean of the repeats' means, the least and the largest of all of them
 * @retval PREM_ERR_INTERRUPTED  the context's `stop` was seen
 */
prem_status prem_walk_measure(prem_walker *walker, const prem_walk *walk, int32_t repeats,
                              prem_walk_time *out, prem_diag *diag);

/* ---- for the two that walk ------------------------------------------------------------------ */

/** What a thread measured. */
typedef struct prem_walk_step {
  int64_t ns;
  uint32_t last; /* node at which it ended */
  uint32_t reserved;
} prem_walk_step;

/** The steps' times as times of an access, and whether the threads are where they should be. */
void prem_walk_judge(const prem_walk *walk, int64_t nodes, uint64_t seed,
                     const prem_walk_step *steps, prem_walk_time *out);

/** `room`: of prem_walk_room_open(). */
prem_status prem_cpu_walk(void *room, const prem_walk *walk, prem_walk_time *out, prem_diag *diag);
prem_status prem_gpu_walker_open(int64_t room_bytes, bool mapped, uint64_t seed, void **out,
                                 prem_diag *diag);
void prem_gpu_walker_close(void *walker);
prem_status prem_gpu_walk(void *walker, const prem_walk *walk, prem_walk_time *out,
                          prem_diag *diag);

PREM_EXTERN_C_END
