/* SPDX-License-Identifier: Apache-2.0 */
/** What the GPU can do, measured: its clocks and its memory. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Smallest step of %globaltimer seen, and the mean cost of a reading. */
cudaError_t prem_measure_clock(int64_t *step_ns, int64_t *read_ns);
/**
 * A bound on the difference of what any two SMs read from their clocks at one instant, 0 where it
 * could not be had in time. Every pair of SMs passes a message to and fro through L2: sent at t1,
 * seen at t2 by the other's clock, its answer seen at t4, so the other is at most t2 - t1 ahead and
 * at most t4 - t2 behind (Cristian, "Probabilistic clock synchronization", 1989). A step is added,
 * because readings round down. Takes some 20 ms, never more than 40.
 *
 * @param device  the number of the current one
 */
cudaError_t prem_measure_skew(int device, int64_t step_ns, int64_t *skew_ns);
/**
 * What %globaltimer shows when the host's monotonic clock shows 0. A thread of the GPU writes its
 * clock down for the host, which waits for it: the stamp was taken between the launch and the
 * moment in which the host sees it. The narrowest of a few such intervals counts, some microseconds
 * wide; its middle is the answer.
 *
 * @param      word       pinned, mapped; lives until the GPU is idle.
 * @param[out] offset_ns  INT64_MIN: the GPU had no time to answer
 * @param[out] width_ns   the answer took so long: the truth is no further off than half of it
 */
cudaError_t prem_measure_offset(cudaStream_t stream, int64_t *word, int64_t *offset_ns,
                                int64_t *width_ns);
/** Bytes read plus bytes written a second by a copy in device memory, the best of five; 0 where
 *  there is no memory left for it. */
cudaError_t prem_measure_copy(int64_t *bytes_per_s);

#ifdef __cplusplus
}
#endif
