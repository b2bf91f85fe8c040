/* SPDX-License-Identifier: Apache-2.0 */
/** For test_disturbance.c: what NVML is to say of a GPU that is not there. */
#pragma once

typedef struct made_up_nvml {
  int init_says, find_says, clock_says, reasons_say, processes_say; /* 0: done */
  unsigned mhz[3];                                                  /* 1 SM, 2 memory */
  unsigned long long reasons;
  unsigned processes;
  int inits, shutdowns; /* so often it was asked */
  char uuid[96];        /* of whom it was asked */
} made_up_nvml;

extern made_up_nvml made_up;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *list);
