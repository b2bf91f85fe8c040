/* Cores and threads on them. */
#include "cores.h"

#include <sched.h>

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
