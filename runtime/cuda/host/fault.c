/* SPDX-License-Identifier: Apache-2.0 */
/* What a run on the GPU met, in words: faults of blocks, errors of the device. */
#include "runtime/cuda/host/live.h"

#include <stdio.h>

#include "prem/base/numbers.h"

static const prem_place nowhere = {0};

prem_status prem_cuda_report(cudaError_t error, prem_diag *diag, const char *what) {
  if (error == cudaSuccess)
    return PREM_OK;
  if (error == cudaErrorMemoryAllocation) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda", "%s: out of device memory", what);
    return PREM_ERR_MEMORY;
  }
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda", "%s: %s (%s)", what,
                cudaGetErrorString(error), cudaGetErrorName(error));
  return PREM_ERR_MACHINE;
}

/* The compute that a faulty block is at: what does not end is most often that. */
static void describe_compute(const prem_program *program, const prem_device_fault *fault,
                             char *text, size_t bytes) {
  if (fault->block < 0 || fault->block >= program->block_count || program->plan_count > 1)
    return; /* with several plans it is not known by which the block is working */
  const prem_block_program *block = &program->blocks[fault->block];
  if (block->compute_count == 0)
    return;
  const prem_record *record = &block->compute[fault->computes % (uint32_t)block->compute_count];
  snprintf(text, bytes,
           "; the block has done %u computes, the next one, of tile %d of task '%s', has not ended",
           fault->computes, record->tile, program->schedule->tasks[record->task].name);
}

static const char *what_went_wrong(uint32_t code) {
  switch (code) {
  case PREM_FAULT_LOCK:
    return "waited in vain for its memory token: somebody does not give it back";
  case PREM_FAULT_ENDLESS:
    return "did not end in its planned time and the timeout besides";
  default:
    return "waited in vain for the phase before it, its buffer or a predecessor";
  }
}

/* The GPU says the lower half of a number, which in a live session is one of those that come next.
 */
static int64_t whole_hyperperiod(const prem_cuda *cuda, int32_t said) {
  if (!cuda->live)
    return said;
  const uint64_t over = prem_word_far(&cuda->live->courier->face->completed.value);
  return prem_nearest_with_low((int64_t)over, said);
}

prem_status prem_cuda_say_held(const prem_cuda *cuda, prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                "not all %d blocks became resident within %d ms: another program holds the GPU; "
                "end it (nvidia-smi names it), or take another GPU (CUDA_VISIBLE_DEVICES)",
                cuda->program->block_count, (int)(PREM_CUDA_RESIDENT_NS / 1000000));
  return PREM_ERR_MACHINE;
}

prem_status prem_cuda_say_fault(const prem_cuda *cuda, const prem_device_fault *fault,
                                prem_diag *diag) {
  const prem_schedule *schedule = cuda->program->schedule;
  const int64_t hyperperiod = whole_hyperperiod(cuda, fault->hyperperiod);
  if (fault->code == PREM_FAULT_RESIDENT)
    return prem_cuda_say_held(cuda, diag);
  if (fault->code == PREM_FAULT_COURIER) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                  "block %d, hyperperiod %lld, at %lld ns: the courier of the live session has not "
                  "looked at the clock for the stall timeout: something took the GPU, or it failed",
                  fault->block, (long long)hyperperiod, (long long)fault->at_ns);
    return PREM_ERR_MACHINE;
  }
  const char *task = fault->task >= 0 && fault->task < schedule->task_count
                         ? schedule->tasks[fault->task].name
                         : "?";
  char computing[160] = "";
  if (fault->code != PREM_FAULT_ENDLESS)
    describe_compute(cuda->program, fault, computing, sizeof computing);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                "block %d, record %d (%s of tile %d of task '%s', job %d, hyperperiod %lld) at "
                "%lld ns: %s%s",
                fault->block, fault->record, prem_phase_name((prem_phase)fault->phase), fault->tile,
                task, fault->job, (long long)hyperperiod, (long long)fault->at_ns,
                what_went_wrong(fault->code), computing);
  return PREM_ERR_MACHINE;
}

/* The names of all tasks; what finds no room is left out. */
static void list_tasks(const prem_schedule *schedule, char *list, size_t list_bytes) {
  size_t used = 0;
  list[0] = '\0';
  for (int32_t t = 0; t < schedule->task_count && used < list_bytes; ++t) {
    const int length =
        snprintf(list + used, list_bytes - used, "%s'%s'", t ? ", " : "", schedule->tasks[t].name);
    used += length > 0 ? (size_t)length : 0;
  }
}

bool prem_cuda_is_broken(const prem_cuda *cuda) {
  const cudaError_t error = cudaStreamQuery(cuda->control);
  return error != cudaSuccess && error != cudaErrorNotReady;
}

prem_status prem_cuda_say_broken(const prem_cuda *cuda, prem_mode mode, prem_engine engine,
                                 cudaError_t error, prem_diag *diag) {
  char tasks[256];
  cuda->gpu->loss = PREM_CUDA_BROKEN;
  list_tasks(cuda->program->schedule, tasks, sizeof tasks);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                "running on the GPU: %s (%s), in mode %s with engine %s and the tasks %s: a "
                "kernel or a copy left its memory, or the GPU failed. This process has lost the "
                "GPU: start the program again; compute-sanitizer names the access",
                cudaGetErrorString(error), cudaGetErrorName(error), prem_mode_name(mode),
                prem_engine_name(engine), tasks);
  return PREM_ERR_MACHINE;
}
