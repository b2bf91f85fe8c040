/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements of 4 bytes, whoever walks them. */
#include "experiments/common/elements.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/common/caches.h"
#include "experiments/common/walk_order.h"
#include "experiments/common/walk_room.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"

/* A launch, or a look at `stop`, comes after so much. */
static const int64_t piece_ns = 300000000;

enum { UNKNOWN_CACHE_BYTES = 16 << 20, CPU_BYTES = 32 << 20, QUICK_CPU_BYTES = 4 << 20 };

struct prem_elements {
  const prem_experiment_context *context;
  void *walks;
  bool gpu;
  double overhead_ns;
  prem_element_step *steps;
};

int64_t prem_element_steps(const prem_walk *walk) {
  return walk->steps ? walk->steps : walk->bytes / PREM_ELEMENT_BYTES;
}

/* Where a thread is after so many steps. A walk of the whole list may begin anywhere, and ends
 * there. Of a part it has to be known which one. */
static uint32_t element_after(const prem_walk *walk, int32_t thread, int64_t steps, uint64_t seed) {
  const int64_t count = walk->bytes / PREM_ELEMENT_BYTES;
  if (walk->order == PREM_WALK_SEQUENTIAL)
    return (uint32_t)((thread % count + steps % count * walk->threads) % count);
  if (!walk->steps)
    return (uint32_t)(thread % count);
  const uint32_t begin =
      prem_walk_first_visit((uint32_t)thread, (uint32_t)walk->threads, (uint32_t)count);
  return prem_walk_node((uint32_t)((begin + steps) % count), (uint32_t)count, 1, seed);
}

uint32_t prem_element_first(const prem_walk *walk, int32_t thread, uint64_t seed) {
  return element_after(walk, thread, walk->begun, seed);
}

uint32_t prem_element_last(const prem_walk *walk, int32_t thread, uint64_t seed) {
  const int64_t repetitions = walk->steps ? walk->repeats + 1 : 1;
  return element_after(walk, thread, walk->begun + repetitions * prem_element_steps(walk), seed);
}

static prem_status open_walks(prem_elements *elements, int64_t room_bytes, int64_t mapped_bytes,
                              prem_diag *diag) {
  const uint64_t seed = elements->context->seed;
  (void)mapped_bytes;
#ifdef TTPREM_CUDA
  if (elements->gpu)
    return prem_gpu_elements_open(room_bytes, mapped_bytes, seed, &elements->walks, diag);
#endif
  (void)diag;
  return prem_walk_room_open(room_bytes, seed, &elements->walks);
}

static void close_walks(prem_elements *elements) {
#ifdef TTPREM_CUDA
  if (elements->gpu) {
    prem_gpu_elements_close(elements->walks);
    return;
  }
#endif
  prem_walk_room_close(elements->walks);
}

/* A core does the loop while it waits for the memory: nothing to subtract. */
static double find_overhead_ns(prem_elements *elements) {
#ifdef TTPREM_CUDA
  if (elements->gpu)
    return prem_gpu_elements_overhead(elements->walks);
#endif
  (void)elements;
  return 0;
}

int64_t prem_elements_cache_bytes(const prem_experiment_context *context) {
  const int64_t found = prem_largest_cache_bytes(context->backend);
  const int64_t bytes = found ? found : UNKNOWN_CACHE_BYTES;
  const int64_t max = context->quick ? QUICK_CPU_BYTES : CPU_BYTES;
  return prem_is_gpu(context->backend) || bytes < max ? bytes : max;
}

prem_status prem_elements_open(const prem_experiment_context *context, int64_t room_bytes,
                               int64_t mapped_bytes, prem_elements **out, prem_diag *diag) {
  *out = NULL;
  prem_elements *elements = calloc(1, sizeof *elements);
  prem_element_step *steps = calloc((size_t)PREM_WALK_KERNELS * PREM_WALK_THREADS, sizeof *steps);
  prem_status status = elements && steps ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    *elements =
        (prem_elements){.context = context, .steps = steps, .gpu = prem_is_gpu(context->backend)};
    status = open_walks(elements, room_bytes, mapped_bytes, diag);
  }
  if (status != PREM_OK) {
    free(steps);
    free(elements);
    return status;
  }
  elements->overhead_ns = find_overhead_ns(elements);
  *out = elements;
  return PREM_OK;
}

void prem_elements_close(prem_elements *elements) {
  if (!elements)
    return;
  close_walks(elements);
  free(elements->steps);
  free(elements);
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status walk_once(prem_elements *elements, const prem_walk *walk, bool *together,
                             prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (elements->gpu)
    return prem_gpu_elements_walk(elements->walks, walk, elements->steps, together, diag);
#endif
  return prem_cpu_elements_walk(elements->walks, walk, elements->steps, together, diag);
}

/** Sums over the launches so far. */
typedef struct walk_sums {
  double sum_ns, sum_cycles, min_ns, max_ns;
  int64_t count;
} walk_sums;

static void add_launch(const prem_elements *elements, const prem_walk *walk, walk_sums *sums,
                       prem_walk_time *out) {
  const uint64_t seed = elements->context->seed;
  for (int32_t kernel = 0; kernel < walk->kernels; ++kernel)
    for (int32_t thread = 0; thread < walk->threads; ++thread) {
      const prem_element_step *step = &elements->steps[(int64_t)kernel * walk->threads + thread];
      sums->sum_ns += (double)step->sum_ns;
      sums->sum_cycles += (double)step->sum_cycles;
      sums->min_ns = fmin(sums->min_ns, (double)step->min_ns);
      sums->max_ns = fmax(sums->max_ns, (double)step->max_ns);
      sums->count += walk->repeats;
      out->right &= step->wrong == 0 && step->last == prem_element_last(walk, thread, seed);
      out->walk_ns = prem_max_i64(out->walk_ns, step->max_ns);
    }
  out->repeats += walk->repeats;
}

static prem_status launch(prem_elements *elements, prem_walk *walk, int32_t repeats,
                          walk_sums *sums, prem_walk_time *out, prem_diag *diag) {
  bool together = true;
  if (prem_experiment_stopped(elements->context))
    return PREM_ERR_INTERRUPTED;
  walk->repeats = repeats;
  prem_status status = walk_once(elements, walk, &together, diag);
  out->together &= together;
  if (status == PREM_OK)
    add_launch(elements, walk, sums, out);
  if (walk->steps)
    walk->begun += walk->steps * (repeats + 1);
  return status;
}

static int32_t clamp(int64_t value, int32_t min, int32_t max) {
  return value < min ? min : value > max ? max : (int32_t)value;
}

/* What is left of the row's time has room for so many, beside the launch's unmeasured one. */
static int32_t within_row(const prem_elements *elements, int32_t asked, int64_t once_ns,
                          int64_t row_end_ns) {
  int32_t fits = asked;
  if (row_end_ns != INT64_MAX)
    fits = clamp((row_end_ns - prem_host_clock_ns()) / once_ns, 1, asked);
  prem_experiment_repeated(elements->context, asked, fits);
  return fits;
}

prem_status prem_elements_measure(prem_elements *elements, const prem_walk *asked,
                                  prem_element_repeats repeats, prem_walk_time *out,
                                  prem_diag *diag) {
  prem_walk walk = *asked;
  walk_sums sums = {.min_ns = INFINITY};
  *out = (prem_walk_time){.together = true, .right = true, .overhead_ns = elements->overhead_ns};
  const int64_t row_end_ns = prem_experiment_row_end_ns(elements->context);
  /* The first one says how long one takes. */
  prem_status status = launch(elements, &walk, 1, &sums, out, diag);
  const int64_t once_ns = prem_max_i64(out->walk_ns, 1);
  const int32_t wanted = within_row(
      elements, clamp(repeats.budget_ns / once_ns, repeats.min, repeats.max), once_ns, row_end_ns);
  const int32_t piece = clamp(piece_ns / once_ns, 1, repeats.max);
  while (status == PREM_OK && out->repeats < wanted) {
    const int32_t left = wanted - out->repeats;
    status = launch(elements, &walk, left < piece ? left : piece, &sums, out, diag);
  }
  if (status != PREM_OK)
    return status;
  const double steps = (double)prem_element_steps(&walk);
  out->mean_ns = sums.sum_ns / (double)sums.count / steps - out->overhead_ns;
  out->min_ns = sums.min_ns / steps - out->overhead_ns;
  out->max_ns = sums.max_ns / steps - out->overhead_ns;
  out->mean_cycles = elements->gpu ? sums.sum_cycles / (double)sums.count / steps : (double)NAN;
  return PREM_OK;
}
