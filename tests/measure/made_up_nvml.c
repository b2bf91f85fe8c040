/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVML that the library asks, of a GPU that test_disturbance.c makes up. */
#include "tests/measure/made_up_nvml.h"

#include <stdio.h>

made_up_nvml made_up;

static int the_gpu;

int nvmlInit_v2(void) {
  ++made_up.inits;
  return made_up.init_says;
}

int nvmlShutdown(void) {
  ++made_up.shutdowns;
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  snprintf(made_up.uuid, sizeof made_up.uuid, "%s", uuid);
  *device = &the_gpu;
  return made_up.find_says;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz) {
  *mhz = device == &the_gpu ? made_up.mhz[which] : 0;
  return made_up.clock_says;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask) {
  *mask = device == &the_gpu ? made_up.reasons : 0;
  return made_up.reasons_say;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *list) {
  *count = device == &the_gpu && !list ? made_up.processes : 0;
  return made_up.processes_say;
}
