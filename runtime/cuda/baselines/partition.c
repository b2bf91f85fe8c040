/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Green contexts. The driver's functions are fetched by name, so that nothing links against it and
 * an older driver is told from a missing one.
 *
 * The driver parts the SMs into shares of equal size, rounded up to what the GPU's clusters ask
 * for; if asked, it forgets about clusters and rounds less. The largest share of which there are
 * enough, either way, is taken.
 */
#include "runtime/cuda/baselines/partition.h"

#include <stdlib.h>

static prem_status refuse(prem_diag *diag, const char *reason) {
  prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "", "cuda: mode partition: %s", reason);
  return PREM_ERR_UNAVAILABLE;
}

#if CUDART_VERSION >= 12050

#include <cudaTypedefs.h>
#include <string.h>

#include "runtime/cuda/baselines/partition_probe.h"

typedef struct green_driver {
  PFN_cuDeviceGet_v2000 device_get;
  PFN_cuGetErrorName_v6000 error_name;
  PFN_cuDeviceGetDevResource_v12040 device_resource;
  PFN_cuDevSmResourceSplitByCount_v12040 split;
  PFN_cuDevResourceGenerateDesc_v12040 describe;
  PFN_cuGreenCtxCreate_v12040 create;
  PFN_cuGreenCtxDestroy_v12040 destroy;
  PFN_cuGreenCtxStreamCreate_v12050 stream_create;
} green_driver;

struct prem_partition {
  green_driver driver;
  CUdevice device;
  CUgreenCtx *contexts;
  int32_t count; /* made so far */
  int32_t share, rest;
};

/* How the SMs are parted. */
typedef struct parting {
  unsigned int flags, share;
} parting;

static prem_status refuse_call(const green_driver *driver, prem_diag *diag, const char *call,
                               CUresult result) {
  const char *name = NULL;
  driver->error_name(result, &name);
  prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "", "cuda: mode partition: %s failed: %s",
                call, name ? name : "an unknown error");
  return PREM_ERR_UNAVAILABLE;
}

/* ---- the driver's functions ------------------------------------------------------------------ */

static void *entry_point(const char *name, unsigned int version) {
  enum cudaDriverEntryPointQueryResult found;
  void *code = NULL;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &code, version, cudaEnableDefault, &found);
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess)
    return code;
  cudaGetLastError(); /* a driver older than the version: not an error of later calls */
  return NULL;
}

static prem_status find_driver(green_driver *driver, prem_diag *diag) {
  const struct {
    const char *name;
    unsigned int version;
    void *to;
  } functions[] = {{"cuDeviceGet", 2000, &driver->device_get},
                   {"cuGetErrorName", 6000, &driver->error_name},
                   {"cuDeviceGetDevResource", 12040, &driver->device_resource},
                   {"cuDevSmResourceSplitByCount", 12040, &driver->split},
                   {"cuDevResourceGenerateDesc", 12040, &driver->describe},
                   {"cuGreenCtxCreate", 12040, &driver->create},
                   {"cuGreenCtxDestroy", 12040, &driver->destroy},
                   {"cuGreenCtxStreamCreate", 12050, &driver->stream_create}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    void *code = entry_point(functions[i].name, functions[i].version);
    if (!code) {
      prem_diag_add(
          diag, PREM_NOTE, 0, (prem_place){0}, "",
          "cuda: mode partition: the driver has no %s: green contexts come with CUDA %u.%u",
          functions[i].name, functions[i].version / 1000, functions[i].version % 1000 / 10);
      return PREM_ERR_UNAVAILABLE;
    }
    memcpy(functions[i].to, &code, sizeof code);
  }
  return PREM_OK;
}

/* ---- parting --------------------------------------------------------------------------------- */

static unsigned int shares_of(const green_driver *driver, const CUdevResource *all, parting how) {
  unsigned int count = 0;
  const CUresult result = driver->split(NULL, &count, all, NULL, how.flags, how.share);
  return result == CUDA_SUCCESS ? count : 0;
}

/* The largest share of which there are enough, `each` where that is given; 0: there is none. */
static parting choose_parting(const green_driver *driver, const CUdevResource *all,
                              unsigned int count, unsigned int each) {
  static const unsigned int flags[] = {0, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING};
  parting how = {.share = each ? each : all->sm.smCount / count};
  for (const unsigned int least = each ? each : 1; how.share >= least; --how.share)
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
      how.flags = flags[i];
      if (shares_of(driver, all, how) >= count)
        return how;
    }
  return (parting){0};
}

static prem_status part(prem_partition *partition, unsigned int count, unsigned int each,
                        CUdevResource *shares, CUdevResource *rest, prem_diag *diag) {
  const green_driver *driver = &partition->driver;
  CUdevResource all;
  CUresult result = driver->device_resource(partition->device, &all, CU_DEV_RESOURCE_TYPE_SM);
  if (result != CUDA_SUCCESS)
    return refuse_call(driver, diag, "cuDeviceGetDevResource", result);
  const parting how = choose_parting(driver, &all, count, each);
  if (how.share == 0) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: mode partition: %u tasks%s, and the driver does not part %u SMs so", count,
                  each ? " of the size that the file wants" : "", all.sm.smCount);
    return PREM_ERR_UNAVAILABLE;
  }
  unsigned int made = count;
  result = driver->split(shares, &made, &all, rest, how.flags, how.share);
  if (result != CUDA_SUCCESS)
    return refuse_call(driver, diag, "cuDevSmResourceSplitByCount", result);
  if (made < count)
    return refuse(diag, "the driver made fewer shares than it had promised");
  partition->share = (int32_t)shares[0].sm.smCount;
  partition->rest = (int32_t)(all.sm.smCount - count * shares[0].sm.smCount);
  return PREM_OK;
}

/* `after` needs them, and the driver's manual is not clear about them. */
static bool takes_events(cudaStream_t stream) {
  cudaEvent_t event;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess)
    return false;
  const cudaError_t error = cudaEventRecord(event, stream);
  cudaEventDestroy(event);
  cudaGetLastError();
  return error == cudaSuccess;
}

/* Nothing is believed unmeasured: a driver that launches elsewhere is none. */
static prem_status judge_share(int32_t share, int32_t sm_count, cudaStream_t stream,
                               prem_diag *diag) {
  int32_t seen = 0;
  const cudaError_t error = prem_count_sms(stream, sm_count, &seen);
  if (error == cudaSuccess && seen <= share)
    return PREM_OK;
  if (error != cudaSuccess)
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: mode partition: a kernel on a share of the SMs failed: %s",
                  cudaGetErrorString(error));
  else
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: mode partition: the blocks of a share of %d SMs came to %d of them", share,
                  seen);
  return PREM_ERR_UNAVAILABLE;
}

static prem_status make_stream(const prem_partition *partition, cudaStream_t *stream,
                               prem_diag *diag) {
  const green_driver *driver = &partition->driver;
  const CUresult result = driver->stream_create(stream, partition->contexts[partition->count - 1],
                                                CU_STREAM_NON_BLOCKING, 0);
  if (result != CUDA_SUCCESS)
    return refuse_call(driver, diag, "cuGreenCtxStreamCreate", result);
  return takes_events(*stream) ? PREM_OK
                               : refuse(diag, "the driver records no events on its streams");
}

/* A context on some SMs, with so many streams, which really are there. */
static prem_status make_context(prem_partition *partition, CUdevResource *share, int32_t sm_count,
                                int32_t stream_count, cudaStream_t *streams, prem_diag *diag) {
  const green_driver *driver = &partition->driver;
  const int32_t own = (int32_t)share->sm.smCount;
  CUdevResourceDesc description;
  CUresult result = driver->describe(&description, share, 1);
  if (result != CUDA_SUCCESS)
    return refuse_call(driver, diag, "cuDevResourceGenerateDesc", result);
  result = driver->create(&partition->contexts[partition->count], description, partition->device,
                          CU_GREEN_CTX_DEFAULT_STREAM);
  if (result != CUDA_SUCCESS)
    return refuse_call(driver, diag, "cuGreenCtxCreate", result);
  ++partition->count;
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < stream_count && status == PREM_OK; ++i)
    status = make_stream(partition, &streams[i], diag);
  return status == PREM_OK ? judge_share(own, sm_count, streams[0], diag) : status;
}

static prem_status make_contexts(prem_partition *partition, int32_t count, int32_t each,
                                 cudaStream_t *streams, int32_t rest_count, cudaStream_t *rest,
                                 prem_diag *diag) {
  CUdevResource *shares = calloc((size_t)count, sizeof *shares), left;
  if (!shares)
    return PREM_ERR_MEMORY;
  prem_status status =
      part(partition, (unsigned int)count, (unsigned int)each, shares, &left, diag);
  const int32_t all = count * partition->share + partition->rest;
  for (int32_t i = 0; i < count && status == PREM_OK; ++i)
    status = make_context(partition, &shares[i], all, 1, &streams[i], diag);
  if (status == PREM_OK && rest_count > 0)
    status = partition->rest > 0 ? make_context(partition, &left, all, rest_count, rest, diag)
                                 : refuse(diag, "the shares leave no SM for best-effort tasks");
  free(shares);
  return status;
}

static prem_status find_device(prem_partition *partition, prem_diag *diag) {
  int number = 0;
  if (cudaGetDevice(&number) != cudaSuccess)
    return refuse(diag, "the runtime names no device");
  const CUresult result = partition->driver.device_get(&partition->device, number);
  return result == CUDA_SUCCESS ? PREM_OK
                                : refuse_call(&partition->driver, diag, "cuDeviceGet", result);
}

prem_status prem_partition_new(int32_t shares, int32_t each, cudaStream_t *streams,
                               int32_t rest_count, cudaStream_t *rest, prem_partition **out,
                               prem_diag *diag) {
  *out = NULL;
  prem_partition *partition = calloc(1, sizeof *partition);
  if (!partition)
    return PREM_ERR_MEMORY;
  memset(streams, 0, (size_t)shares * sizeof(cudaStream_t));
  for (int32_t i = 0; i < rest_count; ++i)
    rest[i] = NULL;
  partition->contexts = calloc((size_t)shares + 1, sizeof(CUgreenCtx));
  prem_status status =
      partition->contexts ? find_driver(&partition->driver, diag) : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = find_device(partition, diag);
  if (status == PREM_OK)
    status = make_contexts(partition, shares, each, streams, rest_count, rest, diag);
  if (status == PREM_OK) {
    *out = partition;
    return PREM_OK;
  }
  for (int32_t i = 0; i < shares; ++i)
    if (streams[i])
      cudaStreamDestroy(streams[i]);
  for (int32_t i = 0; i < rest_count; ++i)
    if (rest[i])
      cudaStreamDestroy(rest[i]);
  prem_partition_free(partition);
  return status;
}

void prem_partition_free(prem_partition *partition) {
  if (!partition)
    return;
  for (int32_t i = 0; i < partition->count; ++i)
    partition->driver.destroy(partition->contexts[i]);
  free(partition->contexts);
  free(partition);
}

int32_t prem_partition_share(const prem_partition *partition) {
  return partition->share;
}

int32_t prem_partition_rest(const prem_partition *partition) {
  return partition->rest;
}

#else /* a compiler older than the functions */

prem_status prem_partition_new(int32_t shares, int32_t each, cudaStream_t *streams,
                               int32_t rest_count, cudaStream_t *rest, prem_partition **out,
                               prem_diag *diag) {
  (void)shares, (void)each, (void)streams, (void)rest_count, (void)rest;
  *out = NULL;
  return refuse(diag, "built with a CUDA older than 12.5, which has no green contexts");
}

void prem_partition_free(prem_partition *partition) {
  (void)partition;
}

int32_t prem_partition_share(const prem_partition *partition) {
  (void)partition;
  return 0;
}

int32_t prem_partition_rest(const prem_partition *partition) {
  (void)partition;
  return 0;
}

#endif
