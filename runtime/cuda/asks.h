/** What jobs wait for across blocks, in the form that the executive asks. */
#ifndef TTPREM_ASKS_H
#define TTPREM_ASKS_H

#include "cuda_program.h"

/** Allocate the words of tasks that others follow and the asks of those that follow, and enter them
 * in `tasks` and out->launch. */
cudaError_t prem_asks_upload(const prem_program *program, prem_device_task *tasks,
                             prem_cuda_program *out);

#endif
