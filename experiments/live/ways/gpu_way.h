/* SPDX-License-Identifier: Apache-2.0 */
/** A way on the GPU while it is open: the host's side. */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_GPU_WAY_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_GPU_WAY_H

#include <cuda.h>

#include "experiments/live/ways/gpu_parts.h"

/** The driver's stream memory operations, found at run time: nothing links against it. */
typedef struct prem_stream_words {
  CUresult (*wait)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  CUresult (*write)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
} prem_stream_words;

typedef struct prem_gpu_way {
  prem_way_setup setup;
  const prem_work_data *data;
  prem_way_job job;
  prem_way_words *words;  /* as job.words, by the host's address, */
  prem_way_stamp *stamps; /* and as job.stamps */
  float *in[2], *out;     /* the host's, that it stores into and loads from */
  cudaStream_t stream;
  cudaEvent_t event;
  cudaGraph_t graph[PREM_WORK_COUNT]; /* by command; those of a loop and the like: the first */
  cudaGraphExec_t exec[PREM_WORK_COUNT];
  cudaGraph_t child_graph;
  prem_way_handles handles;
  prem_stream_words memory;
  uint64_t turn, queued; /* started; enqueued behind waits */
  prem_work command;     /* of the turn in hand */
  bool is_resident;      /* something on the GPU waits for `start` */
} prem_gpu_way;

PREM_EXTERN_C_BEGIN

/** Words, inputs, outputs, stamps, stream. Close also what could not be opened. */
cudaError_t prem_gpu_way_room(prem_gpu_way *way, bool stamped);
void prem_gpu_way_free(prem_gpu_way *way);

/** Enqueue a turn's copies and its kernel. */
cudaError_t prem_gpu_way_enqueue(prem_gpu_way *way, prem_work work, bool tells);
/** Make and instantiate the graphs of a way that has some. */
cudaError_t prem_gpu_way_graphs(prem_gpu_way *way);
cudaError_t prem_gpu_way_find_memory(prem_gpu_way *way);

/** Launch what is resident, or goes on by itself, if the way has something of that kind; and have
 * it leave. */
cudaError_t prem_gpu_way_begin(prem_gpu_way *way);
cudaError_t prem_gpu_way_end(prem_gpu_way *way);
/** Wait until a word of the GPU's is at least `value`; cudaErrorTimeout when that takes too long.
 */
cudaError_t prem_gpu_way_await(const uint64_t *word, uint64_t value, int64_t patience_ns);
/** Load all code beforehand: later that might wait for what is resident. */
cudaError_t prem_gpu_way_touch(const prem_gpu_way *way);
/** PREM_OK, or what went wrong, in `diag`. */
prem_status prem_gpu_way_judge(cudaError_t error, const prem_gpu_way *way, prem_diag *diag);

PREM_EXTERN_C_END
#endif
