/** What the host part knows of the executive. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_EXECUTIVE_H
#define TTPREM_RUNTIME_CUDA_DEVICE_EXECUTIVE_H

#include "runtime/cuda/device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The executive for cudaLaunchCooperativeKernel, its one argument a prem_launch. Variants differ
 *  in registers a thread, most first; NULL behind the last. With `intervals` it runs compatible
 *  intervals as well, by more code. */
const void *prem_executive_variant(int32_t number, bool intervals, int32_t *most_threads);
/** Divide the scratchpad by most_views, most_tasks, most_ports, widest_move: sets all `..._at`; the
 *  buffers come last. */
void prem_executive_lay_out(prem_launch *launch);
/** A kernel's number in this build, or -1: none of this name that is a compatible interval, or is
 *  not. */
int32_t prem_executive_kernel(const char *name, bool compatible);

#ifdef __cplusplus
}
#endif

#endif
