/* SPDX-License-Identifier: Apache-2.0 */
/** A program in device memory. */
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/host/arrays.h"

/** The parts of a launch that do not change from run to run. */
typedef struct prem_cuda_program {
  prem_launch launch;     /* with every pointer but those of one run */
  void *allocations[128]; /* all that was allocated */
  int32_t allocation_count;
  int64_t end_words;     /* of launch.ends */
  int32_t blocks_per_sm; /* the most plan blocks of one SM */
  int64_t buffer_bytes;  /* the scratchpad's buffers, of the largest block */
  int32_t *block_tasks;  /* on the host: the tasks of each block, at first_cell / 3 */
  bool *mapped;          /* the same: [task][PREM_MAX_PORTS], whether there is a tensor map */
  int64_t cell_count;
  int64_t asks_of_plan; /* of launch.asks; launch.blocks has the blocks by the file's plan first,
                         * then by those that operating modes have of their own */
  /* Of one of two launches that run beside each other, on the host: */
  uint32_t *taken;      /* [block_count]: 1: the block has no task here; NULL: it runs alone */
  uint32_t bound;       /* blocks that have none in either */
  const int64_t *ahead; /* of best-effort tasks: prem_free_part::ahead_ns; NULL */
  const int32_t *gates; /* of a live session: [task], tickets that it looks at; NULL: a run's */
  int32_t live_tasks_at, live_gates_at; /* as prem_device_live has them */
} prem_cuda_program;

/** Allocate device memory that lives as long as the program, filled from `from` or with zeros. */
cudaError_t prem_cuda_keep(prem_cuda_program *program, void **out, const void *from, size_t bytes);

/** @param sm_count  of the device; plan blocks are spread as the platform says.
 *  @param gates     of a live session: how many tickets each task looks at; only read here. NULL:
 *                   for runs
 *  @param part      of best-effort tasks, whose program it is; NULL: for plans
 */
cudaError_t prem_cuda_program_new(const prem_program *program, const prem_cuda_arrays *arrays,
                                  int32_t sm_count, const int32_t *gates,
                                  const struct prem_free_part *part, prem_cuda_program *out);
void prem_cuda_program_free(prem_cuda_program *program);

/** Any tile of a server, whose errands' arrays are the first one's: a record, and the moves of
 *  inputs, then of outputs, then, where tiles have turns, of the first input in a later turn. */
void prem_cuda_tile_make(const prem_program *program, const prem_cuda_arrays *arrays,
                         const prem_cuda_program *to, int32_t task, int32_t tile,
                         prem_device_record *record, prem_device_move *moves);

/** What views of a task's windows are made from, of its work area last; those of a compatible
 *  interval lie in the arrays. @return how many, at most PREM_MAX_PORTS */
int32_t prem_cuda_views_make(const prem_task *task, const prem_cuda_arrays *arrays,
                             prem_device_port *out);
