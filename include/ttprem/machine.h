/* SPDX-License-Identifier: Apache-2.0 */
/** What a machine can do: plain data, filled by a backend or from a schedule's platform. */
#ifndef TTPREM_MACHINE_H
#define TTPREM_MACHINE_H

#include "ttprem/base.h"

/** 0 or "" in a field: not known, so not judged. */
typedef struct prem_machine {
  char name[128];                /* "NVIDIA H200", "AMD EPYC, 2 cores", "platform of camera.cfg" */
  char backend[16];              /* "sim", "cpu", "cuda"; "" for a platform */
  int32_t max_blocks;            /* that can be resident together; more would deadlock */
  bool yields;                   /* more blocks than max_blocks only cost time (cpu) */
  int32_t cores;                 /* SMs or cores */
  int64_t scratch_bytes;         /* most of one block */
  int64_t clock_step_ns;         /* smallest step of its clock */
  int64_t clock_read_ns;         /* cost of a reading */
  int64_t clock_skew_ns;         /* bound on the difference between two blocks' clocks */
  int64_t dispatch_ns;           /* cost of starting a phase: a WCET cannot be below */
  int64_t precedence_ns;         /* cost of telling a successor that its predecessors have ended */
  int64_t bandwidth_bytes_per_s; /* of a copy, read plus written; prem_backend_measure() */
  char uuid[64];                 /* of a GPU, as its driver names it: "GPU-8f6b..."; "": no GPU */
  char driver[64];               /* its driver's version: "580.95.05, CUDA 13.0" */
} prem_machine;

#endif
