/* SPDX-License-Identifier: Apache-2.0 */
/* Walks, whoever walks them. */
#include "experiments/common/walks.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/common/walk_order.h"
#include "experiments/common/walk_room.h"

enum { GPU_SECTOR_BYTES = 32, CPU_LINE_BYTES = 64 };

struct prem_walker {
  const prem_experiment_context *context;
  void *walks;
  void (*close)(void *walker);
  prem_status (*measure)(void *walker, const prem_walk *walk, prem_walk_time *out, prem_diag *diag);
};

const char *prem_walk_order_name(prem_walk_order order) {
  return order == PREM_WALK_RANDOM ? "random" : "sequential";
}

const char *prem_walk_path_name(prem_walk_path path) {
  static const char *const names[PREM_WALK_PATH_COUNT] = {"through L2 only", "through L1",
                                                          "through L1, scratchpad taken"};
  return names[path];
}

int64_t prem_walk_node_bytes(const prem_backend *backend) {
  return prem_is_gpu(backend) ? GPU_SECTOR_BYTES : CPU_LINE_BYTES;
}

static prem_status open_walks(prem_walker *walker, bool gpu, int64_t room_bytes, bool mapped,
                              uint64_t seed, prem_diag *diag) {
  (void)mapped;
#ifdef TTPREM_CUDA
  if (gpu) {
    walker->close = prem_gpu_walker_close;
    walker->measure = prem_gpu_walk;
    return prem_gpu_walker_open(room_bytes, mapped, seed, &walker->walks, diag);
  }
#else
  (void)gpu;
#endif
  (void)diag;
  walker->close = prem_walk_room_close;
  walker->measure = prem_cpu_walk;
  return prem_walk_room_open(room_bytes, seed, &walker->walks);
}

prem_status prem_walker_open(const prem_experiment_context *context, int64_t room_bytes,
                             bool mapped, prem_walker **out, prem_diag *diag) {
  *out = NULL;
  prem_walker *walker = calloc(1, sizeof *walker);
  if (!walker)
    return PREM_ERR_MEMORY;
  walker->context = context;
  prem_status status =
      open_walks(walker, prem_is_gpu(context->backend), room_bytes, mapped, context->seed, diag);
  if (status == PREM_OK)
    *out = walker;
  else
    free(walker);
  return status;
}

void prem_walker_close(prem_walker *walker) {
  if (!walker)
    return;
  walker->close(walker->walks);
  free(walker);
}

prem_status prem_walk_measure(prem_walker *walker, const prem_walk *walk, int32_t repeats,
                              prem_walk_time *out, prem_diag *diag) {
  const int64_t end_ns = prem_experiment_row_end_ns(walker->context);
  int32_t done = 0;
  *out = (prem_walk_time){
      .min_ns = INFINITY, .together = true, .right = true, .mean_cycles = (double)NAN};
  for (; done < repeats && (done == 0 || prem_host_clock_ns() < end_ns); ++done) {
    prem_walk_time once;
    if (prem_experiment_stopped(walker->context))
      return PREM_ERR_INTERRUPTED;
    prem_status status = walker->measure(walker->walks, walk, &once, diag);
    if (status != PREM_OK)
      return status;
    out->mean_ns += once.mean_ns;
    out->min_ns = fmin(out->min_ns, once.min_ns);
    out->max_ns = fmax(out->max_ns, once.max_ns);
    out->together &= once.together;
    out->right &= once.right;
  }
  out->mean_ns /= done;
  out->repeats = done;
  prem_experiment_repeated(walker->context, repeats, done);
  return PREM_OK;
}

static uint32_t last_node(const prem_walk *walk, int32_t thread, int64_t nodes, uint64_t seed) {
  const uint32_t first =
      prem_walk_first_visit((uint32_t)thread, (uint32_t)walk->threads, (uint32_t)nodes);
  const uint32_t visit = (uint32_t)((first + walk->steps) % nodes);
  return prem_walk_node(visit, (uint32_t)nodes, walk->order == PREM_WALK_RANDOM, seed);
}

void prem_walk_judge(const prem_walk *walk, int64_t nodes, uint64_t seed,
                     const prem_walk_step *steps, prem_walk_time *out) {
  double sum_ns = 0;
  out->right = true;
  for (int32_t kernel = 0; kernel < walk->kernels; ++kernel)
    for (int32_t thread = 0; thread < walk->threads; ++thread, ++steps) {
      const double access_ns = (double)steps->ns / (double)walk->steps;
      const bool first = kernel == 0 && thread == 0;
      sum_ns += access_ns;
      if (first || access_ns < out->min_ns)
        out->min_ns = access_ns;
      if (first || access_ns > out->max_ns)
        out->max_ns = access_ns;
      out->right &= steps->last == last_node(walk, thread, nodes, seed);
    }
  out->mean_ns = sum_ns / ((double)walk->kernels * walk->threads);
}
