/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary kernels: which way to launch each task is best.
 *
 * Every variant of a kernel's code is tried with several block shapes, on a full grid and with as
 * many blocks as an SM holds, half or a quarter of them, striding over the grid. Each way runs
 * alone behind a gate: its time is the median of a few jobs, from S to the end of the last block.
 * Then the best of either kind of grid are tried with all tasks at work, since what is best alone
 * may leave no room for others; the makespan of all decides. A way whose output is wrong is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "runtime/cuda/baselines/native_round.h"
#include "runtime/cuda/baselines/native_tiles.h"
#include "runtime/cuda/device/verify.h"

enum {
  TIMED_RUNS = 5, /* of a way, after one that warms up */
  SURE_RUNS = 2,  /* so many are enough where all took more than one and a half times the best */
  FINALISTS = 3   /* of each kind of grid, tried together */
};
#define TIMEOUT_NS INT64_C(5000000000)

static const struct {
  int32_t x, y;
} shapes[] = {{32, 1}, {32, 4}, {32, 8}, {64, 4}, {128, 1}, {128, 4}, {256, 1}};

/* A sweep: candidates[i] is what came of ways[i]. */
typedef struct sweep {
  prem_native *native;
  const prem_run_request *request;
  prem_diag *diag;
  prem_native_way *ways;
  int32_t room;
  prem_untiled_order first; /* one job of each task */
  int64_t *ends_ns;
  cudaGraphExec_t graph; /* NULL: no graph is timed */
  bool graph_has_gates;
} sweep;

/* ---- the ways -------------------------------------------------------------------------------- */

static int64_t pieces(int64_t all, int64_t piece) {
  return (all + piece - 1) / piece;
}

static uint32_t full_grid(const prem_native_task *task, const prem_native_way *way) {
  if (task->tile_count > 0)
    return (uint32_t)task->tile_count;
  if (way->variant->rows == 0)
    return 1;
  const int64_t across = way->variant->by_block ? 1 : way->threads_x;
  const int64_t down = way->variant->by_block ? 1 : way->threads_y;
  const int64_t blocks = pieces(task->work.columns, way->variant->columns * across) *
                         pieces(task->work.rows, way->variant->rows * down);
  return blocks < INT32_MAX ? (uint32_t)blocks : INT32_MAX;
}

/* Would most of such a block have nothing to do? Single warps are always worth a trial. */
static bool is_idle(const prem_native_task *task, const prem_native_way *way) {
  const int64_t columns = (int64_t)way->variant->columns * way->threads_x;
  const int64_t rows = (int64_t)way->variant->rows * way->threads_y;
  if (way->variant->by_block)
    return false;
  return (way->threads_x > 32 && columns / 2 >= task->work.columns) ||
         (way->threads_y > 1 && rows / 2 >= task->work.rows);
}

static prem_status add_way(sweep *at, int32_t t, const prem_native_way *way) {
  prem_launch_search *launch_search = &at->native->launch_search;
  if (launch_search->candidate_count == at->room) {
    const int32_t room = at->room ? 2 * at->room : 256;
    prem_launch_candidate *candidates =
        realloc(launch_search->candidates, (size_t)room * sizeof *candidates);
    if (candidates)
      launch_search->candidates = candidates;
    prem_native_way *ways = realloc(at->ways, (size_t)room * sizeof *ways);
    if (ways)
      at->ways = ways;
    if (!candidates || !ways)
      return PREM_ERR_MEMORY;
    at->room = room;
  }
  prem_launch_candidate *candidate = &launch_search->candidates[launch_search->candidate_count];
  *candidate = (prem_launch_candidate){.task = t, .together_ns = -1};
  const char *words = way->variant->words;
  if (way->variant->copies_before)
    snprintf(candidate->way, sizeof candidate->way, "%s", words);
  else if (way->blocks_per_sm == 0)
    snprintf(candidate->way, sizeof candidate->way, "%s, %d x %d threads, full grid of %u blocks",
             words, way->threads_x, way->threads_y, way->blocks);
  else
    snprintf(candidate->way, sizeof candidate->way, "%s, %d x %d threads, %d blocks an SM", words,
             way->threads_x, way->threads_y, way->blocks_per_sm);
  at->ways[launch_search->candidate_count++] = *way;
  return PREM_OK;
}

/* The full grid; where that is more, as many blocks as are resident, half and a quarter of them. */
static prem_status add_grids(sweep *at, int32_t t, prem_native_way *way) {
  const uint32_t full = full_grid(&at->native->tasks[t], way);
  int resident = 0;
  prem_status status =
      prem_native_report(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                             &resident, way->variant->code, way->threads_x * way->threads_y,
                             at->native->tasks[t].shared_bytes),
                         at->diag);
  way->blocks_per_sm = 0;
  way->blocks = full;
  if (status == PREM_OK)
    status = add_way(at, t, way);
  for (int32_t part = 1; part <= 4 && status == PREM_OK; part *= 2) {
    way->blocks_per_sm = resident / part;
    way->blocks = (uint32_t)(way->blocks_per_sm * at->native->place.sm_count);
    if (way->blocks > 0 && way->blocks < full)
      status = add_way(at, t, way);
  }
  return status;
}

/* Tile by tile: threads in one dimension. */
static prem_status add_tiled_ways(sweep *at, int32_t t) {
  prem_native_way way = {.variant = prem_native_tiled_variant(at->native->tasks[t].kernel),
                         .threads_y = 1};
  prem_status status = PREM_OK;
  for (way.threads_x = 32; way.threads_x <= way.variant->max_threads && status == PREM_OK;
       way.threads_x *= 2)
    status = add_grids(at, t, &way);
  return status;
}

static prem_status add_ways(sweep *at, int32_t t) {
  const prem_native_task *task = &at->native->tasks[t];
  prem_native_way way = {0};
  prem_status status = PREM_OK;
  if (task->tile_count > 0)
    return add_tiled_ways(at, t);
  for (int32_t number = 0; (way.variant = prem_native_variant_at(number)); ++number) {
    if (strcmp(way.variant->task_kernel, task->kernel) != 0 || way.variant->border != task->border)
      continue;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && status == PREM_OK; ++s) {
      way.threads_x = shapes[s].x;
      way.threads_y = shapes[s].y;
      const bool only = way.variant->rows == 0 && s > 0;
      if (!only && !is_idle(task, &way) &&
          way.threads_x * way.threads_y <= way.variant->max_threads)
        status = add_grids(at, t, &way);
    }
  }
  return status;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static prem_status time_once(sweep *at, const prem_untiled_order *order, int64_t *makespan_ns) {
  prem_native_round round = {.order = order,
                             .gated = true,
                             .graph = at->graph,
                             .graph_has_gates = at->graph_has_gates,
                             .stop = at->request->stop,
                             .timeout_ns = TIMEOUT_NS,
                             .ends_ns = at->ends_ns};
  prem_status status = prem_native_round_run(at->native, &round, at->diag);
  *makespan_ns = 0;
  for (int64_t number = 0; number < order->job_count; ++number)
    *makespan_ns = prem_max_i64(*makespan_ns, at->ends_ns[number]);
  return status;
}

/* The median; of few runs where all are far above `best_ns`. */
static prem_status time_order(sweep *at, const prem_untiled_order *order, int64_t best_ns,
                              int64_t *median_ns) {
  int64_t times_ns[TIMED_RUNS], warm_ns;
  int32_t count = 0;
  bool slow = true;
  prem_status status = time_once(at, order, &warm_ns);
  while (status == PREM_OK && count < TIMED_RUNS && !(slow && count == SURE_RUNS)) {
    status = time_once(at, order, &times_ns[count]);
    slow = slow && times_ns[count] / 3 > best_ns / 2;
    ++count;
  }
  if (status != PREM_OK)
    return status;
  qsort(times_ns, (size_t)count, sizeof *times_ns, prem_by_i64);
  *median_ns = times_ns[count / 2];
  return PREM_OK;
}

static cudaError_t poison_outputs(const sweep *at, const prem_native_task *task) {
  const uint32_t pattern = PREM_POISON * 0x01010101u;
  cudaStream_t stream = at->native->leader;
  cudaError_t error = cudaSuccess;
  for (int32_t i = 0; i < task->output_count && error == cudaSuccess; ++i)
    error =
        prem_device_poison(&at->native->place.arrays->arrays[task->outputs[i]], pattern, stream);
  return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

static cudaError_t judge_output(const sweep *at, int32_t array, bool *wrong) {
  const prem_cuda_arrays *arrays = at->native->place.arrays;
  unsigned long long words[2] = {0, ~0ULL};
  if (!arrays->reference[array].box)
    return cudaSuccess;
  cudaError_t error = cudaMemcpy(arrays->verdict, words, sizeof words, cudaMemcpyHostToDevice);
  if (error == cudaSuccess)
    error = prem_device_compare(&arrays->arrays[array], &arrays->reference[array],
                                at->native->place.host->tolerance[array], arrays->verdict, NULL);
  if (error == cudaSuccess)
    error = cudaMemcpy(words, arrays->verdict, sizeof words, cudaMemcpyDeviceToHost);
  *wrong |= words[0] > 0;
  return error;
}

static cudaError_t judge_outputs(const sweep *at, const prem_native_task *task, bool *wrong) {
  cudaError_t error = cudaSuccess;
  *wrong = false;
  for (int32_t i = 0; i < task->output_count && error == cudaSuccess; ++i)
    error = judge_output(at, task->outputs[i], wrong);
  return error;
}

/* ---- alone ----------------------------------------------------------------------------------- */

/* All tasks that are like `t` go this way. */
static void choose(sweep *at, int32_t t, int32_t chosen) {
  prem_launch_search *launch_search = &at->native->launch_search;
  for (int32_t i = 0; i < launch_search->candidate_count; ++i)
    if (launch_search->candidates[i].task == t)
      launch_search->candidates[i].chosen = i == chosen;
  for (int32_t other = 0; other < at->native->task_count; ++other)
    if (at->native->tasks[other].like == t)
      at->native->tasks[other].way = at->ways[chosen];
}

static int32_t first_candidate(const sweep *at, int32_t t) {
  int32_t i = 0;
  while (at->native->launch_search.candidates[i].task != t)
    ++i;
  return i;
}

static int32_t behind_candidates(const sweep *at, int32_t t) {
  int32_t i = first_candidate(at, t);
  while (i < at->native->launch_search.candidate_count &&
         at->native->launch_search.candidates[i].task == t)
    ++i;
  return i;
}

static prem_status try_alone(sweep *at, int32_t t, int32_t number, int64_t best_ns) {
  prem_launch_candidate *candidate = &at->native->launch_search.candidates[number];
  prem_native_task *task = &at->native->tasks[t];
  prem_untiled_job job = {.task = t};
  const prem_untiled_order alone = {.jobs = &job, .job_count = 1};
  task->way = at->ways[number];
  prem_status status = prem_native_report(poison_outputs(at, task), at->diag);
  if (status == PREM_OK)
    status = time_order(at, &alone, best_ns, &candidate->alone_ns);
  if (status == PREM_OK)
    status = prem_native_report(judge_outputs(at, task, &candidate->wrong), at->diag);
  return status;
}

/* Other tasks may read its output next: the chosen way makes it once more. */
static prem_status sweep_alone(sweep *at, int32_t t) {
  const prem_launch_candidate *candidates = at->native->launch_search.candidates;
  int32_t best = first_candidate(at, t);
  int64_t best_ns = INT64_MAX;
  prem_status status = PREM_OK;
  for (int32_t i = best; i < behind_candidates(at, t) && status == PREM_OK; ++i) {
    status = try_alone(at, t, i, best_ns);
    if (status != PREM_OK || candidates[i].wrong || candidates[i].alone_ns >= best_ns)
      continue;
    best = i;
    best_ns = candidates[i].alone_ns;
  }
  choose(at, t, best);
  prem_untiled_job job = {.task = t};
  const prem_untiled_order alone = {.jobs = &job, .job_count = 1};
  return status == PREM_OK ? time_once(at, &alone, &best_ns) : status;
}

/* ---- together -------------------------------------------------------------------------------- */

/* How many right ways of the same kind of grid were faster alone? */
static int32_t rank_alone(const sweep *at, int32_t t, int32_t number) {
  const prem_launch_candidate *candidates = at->native->launch_search.candidates;
  const bool full = at->ways[number].blocks_per_sm == 0;
  int32_t rank = 0;
  for (int32_t i = first_candidate(at, t); i < behind_candidates(at, t); ++i)
    rank += !candidates[i].wrong && (at->ways[i].blocks_per_sm == 0) == full &&
            (candidates[i].alone_ns < candidates[number].alone_ns ||
             (candidates[i].alone_ns == candidates[number].alone_ns && i < number));
  return rank;
}

static prem_status sweep_together(sweep *at, int32_t t, int64_t *best_ns) {
  prem_launch_candidate *candidates = at->native->launch_search.candidates;
  int32_t best = first_candidate(at, t);
  while (!candidates[best].chosen)
    ++best;
  candidates[best].together_ns = *best_ns;
  const int32_t alone_best = best;
  prem_status status = PREM_OK;
  for (int32_t i = first_candidate(at, t); i < behind_candidates(at, t) && status == PREM_OK; ++i) {
    if (i == alone_best || candidates[i].wrong || rank_alone(at, t, i) >= FINALISTS)
      continue;
    choose(at, t, i);
    status = time_order(at, &at->first, *best_ns, &candidates[i].together_ns);
    if (status != PREM_OK || candidates[i].together_ns >= *best_ns)
      continue;
    best = i;
    *best_ns = candidates[i].together_ns;
  }
  choose(at, t, best);
  return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* None of its variants has a block that this GPU takes. */
static prem_status refuse(const sweep *at, int32_t t) {
  prem_diag_add(at->diag, PREM_NOTE, 0, (prem_place){0}, "",
                "cuda: ordinary kernels: this GPU takes no launch of %s; leave this mode out",
                at->native->tasks[t].kernel);
  return PREM_ERR_UNAVAILABLE;
}

static prem_status enumerate(sweep *at) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < at->native->task_count && status == PREM_OK; ++t)
    if (at->native->tasks[t].like == t) {
      const int32_t first = at->native->launch_search.candidate_count;
      status = add_ways(at, t);
      if (status == PREM_OK && at->native->launch_search.candidate_count == first)
        status = refuse(at, t);
      if (status == PREM_OK)
        choose(at, t, first);
    }
  return status;
}

static prem_status sweep_all(sweep *at) {
  const int32_t tasks = at->native->task_count;
  int64_t makespan_ns;
  prem_status status = enumerate(at);
  if (status == PREM_OK) /* so that every input is what it should be */
    status = time_once(at, &at->first, &makespan_ns);
  for (int32_t t = 0; t < tasks && status == PREM_OK; ++t)
    if (at->native->tasks[t].like == t)
      status = sweep_alone(at, t);
  if (status != PREM_OK || tasks < 2)
    return status;
  status = time_order(at, &at->first, INT64_MAX, &makespan_ns);
  for (int32_t t = 0; t < tasks && status == PREM_OK; ++t)
    if (at->native->tasks[t].like == t)
      status = sweep_together(at, t, &makespan_ns);
  return status;
}

prem_status prem_native_tune(prem_native *native, const prem_run_request *request,
                             prem_diag *diag) {
  sweep at = {.native = native, .request = request, .diag = diag};
  free(native->launch_search.candidates); /* of a sweep that was interrupted */
  native->launch_search = (prem_launch_search){0};
  at.ends_ns = calloc((size_t)native->task_count + 1, sizeof *at.ends_ns);
  prem_status status =
      at.ends_ns ? prem_untiled_order_first(&native->order, &at.first) : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = sweep_all(&at);
  prem_untiled_order_free(&at.first);
  free(at.ways);
  free(at.ends_ns);
  return status;
}

prem_status prem_native_graph_time(prem_native *native, cudaGraphExec_t graph, bool has_gates,
                                   const prem_run_request *request, int64_t *median_ns,
                                   prem_diag *diag) {
  sweep at = {.native = native,
              .request = request,
              .diag = diag,
              .ends_ns = calloc((size_t)native->order.job_count + 1, sizeof *at.ends_ns),
              .graph = graph,
              .graph_has_gates = has_gates};
  const prem_status status =
      at.ends_ns ? time_order(&at, &native->order, INT64_MAX, median_ns) : PREM_ERR_MEMORY;
  free(at.ends_ns);
  return status;
}
