/* SPDX-License-Identifier: Apache-2.0 */
/* Cores and scheduling as the caller wants them, set from outside while the threads are parked. */
#include "prem/base/fail.h"
#include "runtime/cpu/cpu.h"

#include <sched.h>
#include <string.h>

static prem_status refuse(prem_diag *diag, const char *key, int number, int error,
                          const char *advice) {
  return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, key, "%d: %s; %s", number,
                   strerror(error), advice);
}

static prem_status set_core(const prem_cpu_block *block, int32_t core, prem_diag *diag) {
  const size_t bits = (size_t)core + 1;
  cpu_set_t *set = CPU_ALLOC(bits);
  if (!set)
    return PREM_ERR_MEMORY;
  CPU_ZERO_S(CPU_ALLOC_SIZE(bits), set);
  CPU_SET_S((size_t)core, CPU_ALLOC_SIZE(bits), set);
  const int error = pthread_setaffinity_np(block->thread, CPU_ALLOC_SIZE(bits), set);
  CPU_FREE(set);
  return error == 0 ? PREM_OK
                    : refuse(diag, "cores", core, error,
                             "this core is not there, or not this process's to use (see `taskset "
                             "-p $$`)");
}

static prem_status set_priority(const prem_cpu_block *block, int32_t priority, prem_diag *diag) {
  const struct sched_param parameters = {.sched_priority = priority};
  const int error = pthread_setschedparam(block->thread, SCHED_FIFO, &parameters);
  return error == 0 ? PREM_OK
                    : refuse(diag, "fifo", priority, error,
                             "SCHED_FIFO takes CAP_SYS_NICE, or a limit that allows the priority "
                             "(`ulimit -r`, rtprio in limits.conf)");
}

prem_status prem_cpu_set_up(prem_cpu *cpu, const prem_cpu_setup *setup, prem_diag *diag) {
  prem_status status = PREM_OK;
  if (setup->cores && setup->core_count < cpu->block_count)
    return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, "cores",
                     "%d for %d threads; name a core for each", (int)setup->core_count,
                     (int)cpu->block_count);
  for (int32_t b = 0; b < cpu->block_count && status == PREM_OK; ++b) {
    if (setup->cores)
      status = set_core(&cpu->blocks[b], setup->cores[b], diag);
    if (status == PREM_OK && setup->fifo_priority > 0)
      status = set_priority(&cpu->blocks[b], setup->fifo_priority, diag);
  }
  return status;
}
