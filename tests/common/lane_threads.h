/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: kernels as nvcc sees them, on the CPU, with a thread for each lane and a barrier where
 * lanes wait for each other. Include it first, then the kernels, then lane_crew.h.
 */
#ifndef TESTS_COMMON_LANE_THREADS_H
#define TESTS_COMMON_LANE_THREADS_H

#include <pthread.h>

static _Thread_local struct { unsigned x; } threadIdx;
static struct { unsigned x; } blockDim;
#define __CUDACC__ 1
#define __device__
#define __constant__
#define __forceinline__  inline
#define __fdividef(a, b) ((a) / (b))
#include "ttprem/kernel.h"

static pthread_barrier_t lanes_meet;
#undef PREM_SYNC
#define PREM_SYNC() pthread_barrier_wait(&lanes_meet)

#endif
