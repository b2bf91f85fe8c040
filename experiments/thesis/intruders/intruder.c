/* SPDX-License-Identifier: Apache-2.0 */
/* Which intruders there are, and those that need no GPU. */
#include "experiments/thesis/intruders/intruder.h"

#include <stdlib.h>
#include <string.h>

#include "experiments/common/interference.h"
#include "prem/base/clock.h"

struct prem_intruder {
  const prem_experiment_context *context;
  prem_gpu_lodger *lodger;
  prem_gpu_copier *copier;
  int32_t streams; /* blocks that lodge beside the schedule and stream */
  prem_intruder_kind kind;
  prem_interference *cores;
  prem_other_process *process;
  int64_t began_ns;
};

static bool is_gpu(const char *backend) {
  return strcmp(backend, "cuda") == 0;
}

bool prem_intruder_serves(prem_intruder_kind kind, const char *backend) {
  return is_gpu(backend) || (kind != PREM_INTRUDER_NEIGHBOUR && kind != PREM_INTRUDER_COPIES);
}

const char *prem_intruder_name(prem_intruder_kind kind, const char *backend) {
  static const char *const gpu[PREM_INTRUDER_COUNT] = {"nobody", "kernel beside", "other process",
                                                       "copies", "busy cores"};
  static const char *const cpu[PREM_INTRUDER_COUNT] = {"nobody", "", "other process", "",
                                                       "busy cores"};
  return is_gpu(backend) ? gpu[kind] : cpu[kind];
}

/* ---- what the GPU's part does, where there is one ------------------------------------------- */

static prem_status open_on_gpu(prem_intruder *intruder, prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (is_gpu(prem_backend_name(intruder->context->backend))) {
    const prem_status status = prem_gpu_lodger_open(&intruder->lodger, diag);
    return status == PREM_OK ? prem_gpu_copier_open(&intruder->copier, diag) : status;
  }
#endif
  (void)intruder;
  (void)diag;
  return PREM_OK;
}

static void close_on_gpu(prem_intruder *intruder) {
#ifdef TTPREM_CUDA
  prem_gpu_lodger_close(intruder->lodger);
  prem_gpu_copier_close(intruder->copier);
#endif
  (void)intruder;
}

/* Somebody always watches the clock, so that nobody differs from everybody in that. */
static prem_status begin_on_gpu(prem_intruder *intruder, prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (intruder->lodger) {
    const bool lodges = intruder->kind == PREM_INTRUDER_NEIGHBOUR;
    const prem_status status =
        prem_gpu_lodger_begin(intruder->lodger, lodges ? intruder->streams : 0, diag);
    return status == PREM_OK && intruder->kind == PREM_INTRUDER_COPIES
               ? prem_gpu_copier_begin(intruder->copier, diag)
               : status;
  }
#endif
  (void)intruder;
  (void)diag;
  return PREM_OK;
}

static prem_status end_on_gpu(prem_intruder *intruder, prem_intrusion *done, prem_diag *diag) {
  prem_status status = PREM_OK;
#ifdef TTPREM_CUDA
  if (intruder->lodger) {
    const prem_status copies = prem_gpu_copier_end(intruder->copier, done, diag);
    status = prem_gpu_lodger_end(intruder->lodger, done, diag);
    status = status == PREM_OK ? copies : status;
  }
#endif
  (void)intruder;
  (void)done;
  (void)diag;
  return status;
}

/* ---- all of them ---------------------------------------------------------------------------- */

prem_status prem_intruder_open(const prem_experiment_context *context, int32_t spare_sms,
                               prem_intruder **out, prem_diag *diag) {
  *out = NULL;
  prem_intruder *intruder = calloc(1, sizeof *intruder);
  if (!intruder)
    return PREM_ERR_MEMORY;
  intruder->context = context;
  intruder->streams = spare_sms - 1; /* one is the watcher's */
  const prem_status status = open_on_gpu(intruder, diag);
  if (status == PREM_OK)
    *out = intruder;
  else
    prem_intruder_close(intruder);
  return status;
}

void prem_intruder_close(prem_intruder *intruder) {
  if (!intruder)
    return;
  close_on_gpu(intruder);
  free(intruder);
}

static prem_status begin_on_host(prem_intruder *intruder, prem_diag *diag) {
  const prem_experiment_context *context = intruder->context;
  if (intruder->kind == PREM_INTRUDER_PROCESS)
    return prem_other_process_begin(context, intruder->streams, &intruder->process, diag);
  if (intruder->kind == PREM_INTRUDER_CORES)
    return prem_interference_begin(PREM_INTERFERENCE_SEQUENTIAL, 0, context->seed, &intruder->cores,
                                   diag);
  return PREM_OK;
}

/* What begins first is begun when the other one is refused: the caller ends it. */
prem_status prem_intruder_begin(prem_intruder *intruder, prem_intruder_kind kind, prem_diag *diag) {
  intruder->kind = kind;
  intruder->began_ns = prem_host_clock_ns();
  prem_status status = begin_on_host(intruder, diag);
  if (status == PREM_OK) {
    intruder->began_ns = prem_host_clock_ns();
    status = begin_on_gpu(intruder, diag);
  }
  if (status != PREM_OK) {
    prem_intrusion nothing = {0};
    prem_intruder_end(intruder, &nothing, NULL);
  }
  return status;
}

prem_status prem_intruder_end(prem_intruder *intruder, prem_intrusion *done, prem_diag *diag) {
  const int64_t lasted_ns = prem_host_clock_ns() - intruder->began_ns;
  prem_status status = end_on_gpu(intruder, done, diag);
  const double bytes_per_s = prem_interference_end(intruder->cores);
  done->moved_bytes += (int64_t)(bytes_per_s * (double)lasted_ns * 1e-9);
  done->lasted_ns += lasted_ns;
  if (intruder->process) {
    const prem_status other = prem_other_process_end(intruder->process, done, diag);
    status = status == PREM_OK ? other : status;
  }
  intruder->cores = NULL;
  intruder->process = NULL;
  return status;
}
