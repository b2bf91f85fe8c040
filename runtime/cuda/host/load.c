/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a session on its way to the GPU. */
#include <stdlib.h>

#include "runtime/core/courier.h"
#include "runtime/cuda/host/backend_parts.h"

/* Tickets that a task of a live session looks at: one for each port that has a stream or a state
 * array, for each source that it depends on through others, and its own where its jobs can be left
 * out. */
static int32_t gates_of(const prem_courier *courier, size_t t) {
  const prem_live_task *task = &courier->tasks[t];
  const prem_version_use *const *uses = courier->program->tasks[t].versions;
  int32_t count = 0;
  for (int32_t p = 0; uses && p < PREM_MAX_PORTS; ++p)
    count += uses[p] && courier->versions[uses[p]->of].slots > 1;
  for (int32_t g = 0; g < task->gate_count; ++g)
    count += !task->gates[g].reads;
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    count += task->stream_of_port[p] >= 0;
  return count + (task->left_out != NULL);
}

/* Of a live session the tasks are marked that look at tickets. */
prem_status prem_cuda_load(prem_cuda *cuda, prem_diag *diag) {
  const size_t tasks = (size_t)cuda->program->schedule->task_count;
  prem_courier *courier = NULL;
  int32_t *gates = NULL;
  prem_status status = PREM_OK;
  if (cuda->host->is_live) {
    gates = calloc(tasks, sizeof *gates);
    status = gates ? prem_courier_new(cuda->program, &courier) : PREM_ERR_MEMORY;
  }
  for (size_t t = 0; status == PREM_OK && gates && t < tasks; ++t)
    gates[t] = gates_of(courier, t);
  if (status == PREM_OK)
    status = prem_cuda_report(prem_cuda_program_new(cuda->program, &cuda->arrays, cuda->sm_count,
                                                    gates, cuda->part, &cuda->device),
                              diag, "preparing the schedule on the GPU");
  prem_courier_free(courier);
  free(gates);
  return status;
}

prem_status prem_cuda_load_again(prem_cuda *cuda, prem_diag *diag) {
  const int64_t clock_step_ns = cuda->device.launch.clock_step_ns;
  prem_cuda_program_free(&cuda->device);
  const prem_status status = prem_cuda_load(cuda, diag);
  cuda->device.launch.clock_step_ns = clock_step_ns;
  return status == PREM_OK ? prem_cuda_choose_live_variant(cuda, diag) : status;
}
