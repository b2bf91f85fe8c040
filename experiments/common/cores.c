/* SPDX-License-Identifier: Apache-2.0 */
/* Cores and threads on them. */
#include "experiments/common/cores.h"

#include <sched.h>

#include "prem/base/clock.h"

enum { PATIENCE_NS = 1000000000 };

int32_t prem_cores_list(int32_t *cores, int32_t room) {
  cpu_set_t set;
  int32_t count = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int32_t core = 0; core < CPU_SETSIZE && count < room; ++core)
      if (CPU_ISSET((size_t)core, &set))
        cores[count++] = core;
  if (count == 0)
    cores[count++] = 0;
  return count;
}

int prem_core_start(pthread_t *thread, int32_t core, void *(*work)(void *), void *argument) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)core, &set);
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error)
    return error;
  pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  error = pthread_create(thread, &attributes, work, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

bool prem_cores_meet(int32_t *there, int32_t count) {
  __atomic_add_fetch(there, 1, __ATOMIC_SEQ_CST);
  const int64_t deadline_ns = prem_host_clock_ns() + PATIENCE_NS;
  while (__atomic_load_n(there, __ATOMIC_SEQ_CST) < count) {
    prem_host_relax();
    if (prem_host_clock_ns() > deadline_ns)
      return false;
  }
  return true;
}
