/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/live_stress/loads.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "experiments/common/cores.h"
#include "experiments/common/interference.h"

#define BEGIN_NS INT64_C(5000000000)

enum { MAX_CORES = 256, FILE_BYTES = 1 << 20 };

struct prem_load_run {
  prem_load load;
  int32_t stop, begun; /* begun: of the GPU's */
  prem_interference *interference;
  pthread_t threads[MAX_CORES];
  int32_t thread_count;
};

const char *prem_load_name(prem_load load) {
  static const char *const names[PREM_LOAD_COUNT] = {
      [PREM_LOAD_NONE] = "none",
      [PREM_LOAD_SPIN] = "cores spin",
      [PREM_LOAD_MEMORY] = "cores at memory",
      [PREM_LOAD_FILES] = "files",
      [PREM_LOAD_COPIES] = "copy engines",
      [PREM_LOAD_KERNELS] = "kernels",
  };
  return names[load];
}

static bool goes_on(const prem_load_run *run) {
  return __atomic_load_n(&run->stop, __ATOMIC_RELAXED) == 0;
}

static void *spin(void *argument) {
  const prem_load_run *run = argument;
  while (goes_on(run))
    for (volatile int i = 0; i < 1000; ++i)
      ;
  return NULL;
}

/* Where files cannot be made it does nothing. */
static void write_file(const char *bytes) {
  char path[] = "/tmp/ttprem-load-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0)
    return;
  if (write(file, bytes, FILE_BYTES) == FILE_BYTES)
    (void)fsync(file);
  close(file);
  unlink(path);
}

static void *write_files(void *argument) {
  const prem_load_run *run = argument;
  char *bytes = calloc(1, FILE_BYTES);
  while (bytes && goes_on(run))
    write_file(bytes);
  free(bytes);
  return NULL;
}

#ifdef TTPREM_CUDA
static void *load_gpu(void *argument) {
  prem_load_run *run = argument;
  prem_gpu_load(run->load, &run->stop, &run->begun);
  return NULL;
}

/* Until it goes on: what it allocates would wait for what is resident. */
static bool has_begun(const prem_load_run *run) {
  const int64_t deadline_ns = prem_host_clock_ns() + BEGIN_NS;
  int32_t begun;
  while ((begun = __atomic_load_n(&run->begun, __ATOMIC_ACQUIRE)) == 0)
    if (prem_host_clock_ns() > deadline_ns)
      return false;
  return begun > 0;
}
#endif

static bool start(prem_load_run *run, int32_t core, void *(*work)(void *)) {
  pthread_t *thread = &run->threads[run->thread_count];
  const int error =
      core < 0 ? pthread_create(thread, NULL, work, run) : prem_core_start(thread, core, work, run);
  run->thread_count += error == 0;
  return error == 0;
}

static prem_status lacks(prem_diag *diag, prem_load load, const char *what) {
  return prem_experiment_refuse(diag, PREM_ERR_UNAVAILABLE, "load '%s' needs %s",
                                prem_load_name(load), what);
}

static prem_status begin_spinning(prem_load_run *run, prem_diag *diag) {
  int32_t cores[MAX_CORES];
  const int32_t count = prem_cores_list(cores, MAX_CORES);
  if (count < 2)
    return lacks(diag, run->load, "two cores");
  for (int32_t c = 1; c < count; ++c)
    if (!start(run, cores[c], spin))
      return PREM_ERR_MACHINE;
  return PREM_OK;
}

static prem_status begin_on_gpu(prem_load_run *run, const prem_experiment_context *context,
                                prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(context->backend))
    return start(run, -1, load_gpu) && has_begun(run)
               ? PREM_OK
               : lacks(diag, run->load, "memory of the GPU and of the host");
#else
  (void)context;
#endif
  return lacks(diag, run->load, "a GPU");
}

static prem_status begin(prem_load_run *run, const prem_experiment_context *context,
                         prem_diag *diag) {
  int32_t cores[2];
  switch (run->load) {
  case PREM_LOAD_SPIN:
    return begin_spinning(run, diag);
  case PREM_LOAD_MEMORY:
    if (prem_cores_list(cores, 2) < 2)
      return lacks(diag, run->load, "two cores");
    return prem_interference_begin(PREM_INTERFERENCE_SEQUENTIAL, 1, context->seed,
                                   &run->interference, diag);
  case PREM_LOAD_FILES:
    return start(run, -1, write_files) ? PREM_OK : PREM_ERR_MACHINE;
  case PREM_LOAD_COPIES:
  case PREM_LOAD_KERNELS:
    return begin_on_gpu(run, context, diag);
  default:
    return PREM_OK;
  }
}

prem_status prem_load_begin(prem_load load, const prem_experiment_context *context,
                            prem_load_run **out, prem_diag *diag) {
  *out = calloc(1, sizeof **out);
  if (!*out)
    return PREM_ERR_MEMORY;
  (*out)->load = load;
  const prem_status status = begin(*out, context, diag);
  if (status != PREM_OK) {
    prem_load_end(*out);
    *out = NULL;
  }
  return status;
}

void prem_load_end(prem_load_run *run) {
  if (!run)
    return;
  __atomic_store_n(&run->stop, 1, __ATOMIC_RELAXED);
  for (int32_t t = 0; t < run->thread_count; ++t)
    pthread_join(run->threads[t], NULL);
  (void)prem_interference_end(run->interference);
  free(run);
}
