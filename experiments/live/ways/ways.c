/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/ways/ways.h"

const char *prem_way_name(prem_way way) {
  static const char *const names[PREM_WAY_COUNT] = {
      [PREM_WAY_LIVE] = "live event",
      [PREM_WAY_WORD] = "mapped round trip",
      [PREM_WAY_RESIDENT] = "resident kernel, one thread polls",
      [PREM_WAY_ALL_POLL] = "resident kernel, all threads poll",
      [PREM_WAY_LAUNCH] = "launch + synchronize",
      [PREM_WAY_BLOCKING] = "launch + synchronize, blocking",
      [PREM_WAY_QUERY] = "launch + event query",
      [PREM_WAY_COOPERATIVE] = "cooperative launch + synchronize",
      [PREM_WAY_GRAPH] = "graph",
      [PREM_WAY_QUEUED] = "kernels behind a memory wait",
      [PREM_WAY_QUEUED_GRAPH] = "graphs behind a memory wait",
      [PREM_WAY_LOOP] = "graph with a loop and a switch",
      [PREM_WAY_RELAUNCH] = "graph that launches itself",
      [PREM_WAY_CHILDREN] = "graphs launched from the GPU",
  };
  return names[way];
}

const char *prem_way_memory_name(prem_way_memory memory) {
  static const char *const names[PREM_MEMORY_COUNT] = {
      [PREM_MEMORY_MAPPED] = "mapped",
      [PREM_MEMORY_COMBINED] = "mapped, write-combined",
      [PREM_MEMORY_REGISTERED] = "registered",
      [PREM_MEMORY_COPIED] = "pinned, copied",
      [PREM_MEMORY_PAGEABLE] = "pageable, copied",
      [PREM_MEMORY_MANAGED] = "managed",
  };
  return names[memory];
}

void prem_way_keep(prem_way_samples *samples, const prem_way_times *times) {
  samples->wrong += times->wrong;
  if (samples->count == samples->room)
    return;
  const int64_t at = samples->count++;
  samples->response_ns[at] = times->response_ns;
  samples->whole_ns[at] = times->whole_ns;
  if (!samples->store_ns)
    return;
  samples->store_ns[at] = times->store_ns;
  samples->load_ns[at] = times->load_ns;
  samples->store_again_ns[at] = times->store_again_ns;
  samples->load_again_ns[at] = times->load_again_ns;
}

static prem_status run_gpu_way(const prem_experiment_context *context, const prem_way_setup *setup,
                               const prem_way_turns *turns, const prem_work_data *data,
                               prem_way_samples *samples, prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(context->backend))
    return prem_gpu_way_run(setup, turns, data, samples, diag);
#else
  (void)turns, (void)data, (void)samples;
#endif
  return prem_experiment_refuse(diag, PREM_ERR_UNAVAILABLE,
                                "%s needs a GPU, and backend %s has none",
                                prem_way_name(setup->way), prem_backend_name(context->backend));
}

prem_status prem_way_run(const prem_experiment_context *context, const prem_way_setup *setup,
                         const prem_way_turns *turns, prem_way_samples *samples, prem_diag *diag) {
  prem_work_data data;
  prem_status status = PREM_ERR_MEMORY;
  if (prem_work_data_make(setup->work, setup->size, &data))
    status = setup->way == PREM_WAY_LIVE
                 ? prem_live_way_run(context, setup, turns, &data, samples, diag)
                 : run_gpu_way(context, setup, turns, &data, samples, diag);
  prem_work_data_free(&data);
  return status;
}

#ifndef TTPREM_CUDA
bool prem_gpu_way_lives(void) {
  return false;
}
#endif
