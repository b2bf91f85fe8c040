/* SPDX-License-Identifier: Apache-2.0 */
/** Of ordinary kernels: the parts of a prem_native, and one hyperperiod of launches. */
#pragma once

#include "runtime/core/untiled_order.h"
#include "runtime/cuda/baselines/native.h"
#include "runtime/cuda/baselines/native_kernels.h"

/** One way to launch a task's job. */
typedef struct prem_native_way {
  const prem_native_variant *variant;
  int32_t threads_x, threads_y;
  int32_t blocks_per_sm; /* 0: a full grid */
  uint32_t blocks;
} prem_native_way;

typedef struct prem_native_task {
  const char *kernel; /* whose variants can do it */
  prem_native_work work;
  prem_native_way way;
  cudaStream_t stream;
  int32_t outputs[PREM_MAX_PORTS]; /* the arrays */
  int32_t output_count;
  int32_t like;        /* the first task of the same kernel and shapes: they are tuned together */
  int32_t border;      /* see prem_native_variant */
  int32_t tile_count;  /* of code that goes tile by tile; else 0 */
  size_t shared_bytes; /* dynamic shared memory of a block */
} prem_native_task;

struct prem_native {
  prem_native_place place;
  prem_untiled_order order;
  prem_native_task *tasks;
  int32_t task_count;
  cudaStream_t leader;
  cudaEvent_t *ended;       /* of each job in the order */
  uint32_t *words;          /* pinned: the gates' word, then what says that a task's gate runs */
  prem_native_state *state; /* in device memory */
  long long *ends;          /* the same: [job in the order][PREM_NATIVE_END_WORDS] */
  long long *ends_seen;     /* on the host */
  struct prem_native_tiles *tiles; /* the same: [task]; NULL: none goes tile by tile */
  void *copied;                    /* of a copy: source and destination; else NULL */
  prem_launch_search launch_search;
  bool told_late, lost;
  bool is_crowded; /* some gates could not run until others were open */
};

/** One hyperperiod, or a part of it. */
typedef struct prem_native_round {
  const prem_untiled_order *order;
  bool gated;
  cudaGraphExec_t graph;             /* not NULL: all of the order in one launch */
  bool graph_has_gates;              /* gated: the graph waits for S by itself */
  const volatile sig_atomic_t *stop; /* may be NULL */
  int64_t timeout_ns;                /* from the last release */
  int64_t *ends_ns;                  /* [job in the order], from S; -1: did not end */
  int64_t start_ns;                  /* S on the GPU's clock */
  int64_t host_start_ns;             /* S on the host's clock, about */
  int64_t give_up_ns;                /* the same clock: no kernel may run any longer */
} prem_native_round;

/**
 * Launch the jobs of an order and wait for their end. The order's jobs are those of the native
 * kernels' own order, or no more than these.
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen
 * @retval PREM_ERR_MACHINE      a device error, or a kernel that does not end
 */
prem_status prem_native_round_run(prem_native *native, prem_native_round *round, prem_diag *diag);
/** Queue a job on its task's stream, behind what it follows; where the round is gated, its gate
 *  first. */
cudaError_t prem_native_queue_job(const prem_native *native, const prem_native_round *round,
                                  int64_t number);
/** Streams, events and words, once tasks and order are there. */
prem_status prem_native_make_room(prem_native *native, prem_diag *diag);
/** What launches a job. `work` is filled; the kernel's one argument. */
struct cudaKernelNodeParams prem_native_launch(const prem_native *native,
                                               const prem_untiled_order *order, int64_t number,
                                               prem_native_work *work);
/** In pinned memory: what the first gate of a task's stream says to the host. */
uint32_t *prem_native_arrival_of(const prem_native *native, int32_t task);
/** The gate that ends at S + offset_ns; with `ends` at the end of that job + offset_ns. */
prem_native_gate prem_native_gate_until(const prem_native *native, const long long *ends,
                                        int64_t offset_ns);
long long *prem_native_ends_of(const prem_native *native, int64_t number);
/** A device error as a problem; PREM_OK for cudaSuccess. */
prem_status prem_native_report(cudaError_t error, prem_diag *diag);
