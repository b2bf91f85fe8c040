/* SPDX-License-Identifier: Apache-2.0 */
/* NVML is asked only where it is there: nothing may link against it. */
#include "runtime/cuda/host/driver_version.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

/* NVML's own names, see its manual: functions that return 0 on success. */
static void ask_nvml(void *library, char *version, unsigned bytes) {
  int (*init)(void) = NULL;
  int (*ask)(char *, unsigned) = NULL;
  int (*shutdown)(void) = NULL;
  /* POSIX: a data pointer holds a function; through memory, as its example does. */
  *(void **)&init = dlsym(library, "nvmlInit_v2");
  *(void **)&ask = dlsym(library, "nvmlSystemGetDriverVersion");
  *(void **)&shutdown = dlsym(library, "nvmlShutdown");
  if (!init || !ask || !shutdown || init() != 0)
    return;
  if (ask(version, bytes) != 0)
    version[0] = '\0';
  shutdown();
}

void prem_driver_version(char *text, size_t bytes) {
  char version[96] = ""; /* NVML asks for 80 */
  int cuda = 0;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library) {
    ask_nvml(library, version, sizeof version);
    dlclose(library);
  }
  text[0] = '\0';
  if (cudaDriverGetVersion(&cuda) != cudaSuccess)
    cuda = 0;
  if (cuda > 0)
    snprintf(text, bytes, "%.40s%sCUDA %d.%d", version, version[0] ? ", " : "", cuda / 1000,
             cuda % 1000 / 10);
  else
    snprintf(text, bytes, "%.60s", version);
}
