/* SPDX-License-Identifier: Apache-2.0 */
/* Stressors, sized by trial: see stressor.h. */
#include "studies/stressor.h"

#include "measure/interleave.h"
#include "prem/base/numbers.h"

#include <stdlib.h>
#include <string.h>

enum {
  TRIALS = 4,
  RUNS_OF_TRIAL = 3,
  MIN_BYTES_PCT = 90,      /* of the real task's: else the real one is the harder stressor */
  FITTING_PER_MILLE = 950, /* so many of a phase's times end within its window */
  BUFFER_ALIGNMENT = 128,
  PIECE_BYTES = 16,
  ELEMENT_BYTES = 4
};

static const char *kernel_of(const prem_isolate_options *options) {
  return options->hostile ? options->hostile : PREM_STRESSOR_KERNEL;
}

prem_status prem_stressor_judge(const char *kernel, prem_diag *diag) {
  const prem_kernel *found = prem_registry_find(prem_registry_builtin(), kernel);
  const prem_port *ports = found ? found->ports : NULL;
  if (!found)
    prem_diag_add(diag, PREM_ERROR, 24, (prem_place){0}, "hostile",
                  "there is no kernel '%.63s' in this build; `ttprem list` has them", kernel);
  else if (found->port_count != 2 || strcmp(ports[0].name, "in") != 0 ||
           ports[0].access != PREM_IN || strcmp(ports[1].name, "out") != 0 ||
           ports[1].access != PREM_OUT || ports[0].type != PREM_F32 || ports[1].type != PREM_F32)
    prem_diag_add(diag, PREM_ERROR, 31, (prem_place){0}, "hostile",
                  "kernel '%.63s' has other ports; a stressor's are a vector `in` and a vector "
                  "`out`, both f32, and its arguments have defaults",
                  kernel);
  else
    return PREM_OK;
  return PREM_ERR_ARGUMENT;
}

static bool can_be_replaced(const prem_task *task) {
  return task->definition && task->phase[PREM_PREFETCH].exists &&
         task->phase[PREM_COMPUTE].exists && task->phase[PREM_WRITEBACK].exists;
}

/* ---- the schedule --------------------------------------------------------------------------- */

/* The spare task and all that it follows, directly or not. */
static void mark_spared(const prem_schedule *schedule, int32_t spare, bool *spared) {
  bool grew = spare >= 0;
  if (spare >= 0)
    spared[spare] = true;
  while (grew) {
    grew = false;
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int32_t a = 0; spared[t] && a < schedule->tasks[t].after_count; ++a) {
        bool *before = &spared[schedule->tasks[t].after[a].task];
        grew |= !*before;
        *before = true;
      }
  }
}

/* Two subsets: the first to have a copy, the second to drop the arrays that nobody uses any more.
 */
static prem_status replace_all(const prem_schedule *schedule, const char *kernel,
                               const int32_t *elements, const bool *spared, bool *keep,
                               prem_schedule **out, prem_diag *diag) {
  prem_schedule *copy = NULL;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    keep[t] = true;
  prem_status status = prem_schedule_subset(schedule, keep, &copy);
  for (int32_t t = 0; t < schedule->task_count && status == PREM_OK; ++t)
    if (!spared[t] && elements[t] > 0)
      status = prem_schedule_replace(copy, t, kernel, elements[t], prem_registry_builtin(), diag);
  if (status == PREM_OK)
    status = prem_schedule_subset(copy, keep, out);
  prem_schedule_free(copy);
  return status;
}

prem_status prem_stressor_schedule(const prem_schedule *schedule, const char *kernel,
                                   const int32_t *elements, int32_t spare, prem_schedule **out,
                                   prem_diag *diag) {
  *out = NULL;
  const size_t tasks = (size_t)schedule->task_count + 1;
  bool *spared = calloc(tasks, sizeof *spared), *keep = calloc(tasks, sizeof *keep);
  prem_status status = PREM_ERR_MEMORY;
  if (spared && keep) {
    mark_spared(schedule, spare, spared);
    status = replace_all(schedule, kernel, elements, spared, keep, out, diag);
  }
  free(spared);
  free(keep);
  return status;
}

/* ---- what the buffers hold ------------------------------------------------------------------ */

/** The buffers of a block: bytes of the largest input and output of the tasks on it. */
typedef struct block_buffers {
  int64_t in_bytes, out_bytes;
  int32_t tasks;
} block_buffers;

static block_buffers buffers_of(const prem_schedule *schedule, int32_t block) {
  block_buffers found = {0};
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t i = 0; i < task->block_count; ++i) {
      if (task->blocks[i] != block)
        continue;
      ++found.tasks;
      if (task->in_bytes > found.in_bytes)
        found.in_bytes = task->in_bytes;
      if (task->out_bytes > found.out_bytes)
        found.out_bytes = task->out_bytes;
    }
  }
  return found;
}

/* Input and output are alike. A block that the task shares keeps the buffers that it has. */
static int64_t buffer_bytes(const prem_schedule *schedule, const prem_task *task) {
  const prem_platform *platform = &schedule->platform;
  int64_t min = INT64_MAX;
  for (int32_t i = 0; i < task->block_count; ++i) {
    const block_buffers block = buffers_of(schedule, task->blocks[i]);
    int64_t bytes = prem_min_i64(block.in_bytes, block.out_bytes);
    if (block.tasks == 1)
      bytes = (platform->scratch_bytes > 0 ? platform->scratch_bytes / platform->buffers
                                           : block.in_bytes + block.out_bytes) /
              2;
    min = prem_min_i64(min, bytes);
  }
  return min / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
}

/* In whole pieces, so that all of it goes by the widest copies. */
static int32_t elements_that_fit(int64_t bytes) {
  const int64_t pieces = (bytes - PIECE_BYTES) / PIECE_BYTES;
  return pieces < 1
             ? PIECE_BYTES / ELEMENT_BYTES
             : (int32_t)prem_min_i64(pieces, INT32_MAX / PIECE_BYTES) * PIECE_BYTES / ELEMENT_BYTES;
}

/* ---- what the windows hold ------------------------------------------------------------------ */

static bool is_joined(const prem_schedule *schedule, int32_t task) {
  for (int32_t i = 0; i < schedule->plan->affine_count; ++i) {
    const prem_affine *run = &schedule->plan->affine[i];
    if (run->join_task >= 0 && (run->task == task || run->join_task == task))
      return true;
  }
  return false;
}

static int64_t window_ns(const prem_schedule *schedule, int32_t t, prem_phase phase) {
  const prem_task *task = &schedule->tasks[t];
  if (phase == PREM_COMPUTE || !is_joined(schedule, t))
    return task->phase[phase].wcet_ns;
  return task->joined.exists
             ? task->joined.wcet_ns
             : task->phase[PREM_PREFETCH].wcet_ns + task->phase[PREM_WRITEBACK].wcet_ns;
}

/* How much of its window the fullest phase takes, as a share. */
static double fullest(const prem_schedule *schedule, int32_t t, const prem_variant_phase *phases,
                      bool memory_only) {
  double share = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (memory_only && p == PREM_COMPUTE)
      continue;
    /* one round of tiles has none but cold ones */
    const prem_times *times = phases[p].steady.count > 0 ? &phases[p].steady : &phases[p].cold;
    const double took = (double)prem_times_percentile(times, FITTING_PER_MILLE);
    const double part = took / (double)window_ns(schedule, t, (prem_phase)p);
    if (part > share)
      share = part;
  }
  return share;
}

/* The stressor alone, a few times, in tt. */
static prem_status try_size(const prem_schedule *schedule, int32_t t, const int32_t *elements,
                            const prem_backend *backend, const prem_isolate_options *options,
                            double *all, prem_stressor *found, prem_diag *diag) {
  prem_schedule *stressors = NULL, *alone = NULL;
  bool *keep = calloc((size_t)schedule->task_count + 1, sizeof *keep);
  if (!keep)
    return PREM_ERR_MEMORY;
  keep[t] = true;
  prem_status status =
      prem_stressor_schedule(schedule, kernel_of(options), elements, -1, &stressors, diag);
  if (status == PREM_OK)
    status = prem_schedule_subset(stressors, keep, &alone);
  if (status == PREM_OK) {
    const prem_interleave_options interleave = {.backend = backend,
                                                .modes = {PREM_MODE_TT},
                                                .mode_count = 1,
                                                .sampling.scenario = PREM_RELAUNCH,
                                                .sampling.samples = RUNS_OF_TRIAL,
                                                .sampling.rounds = 1,
                                                .sampling.discard = 1,
                                                .sampling.seed = options->sampling.seed,
                                                .sampling.max_records =
                                                    options->sampling.max_records,
                                                .engine = options->engine,
                                                .stop = options->stop};
    prem_variant variant = {.schedule = alone};
    status = prem_variant_open(&variant, backend, diag);
    if (status == PREM_OK)
      status = prem_interleave(&variant, 1, &interleave, diag);
    if (status == PREM_OK) {
      const int32_t at = prem_schedule_find_task(alone, schedule->tasks[t].name);
      const prem_variant_phase *phases =
          &variant.observed[PREM_MODE_TT].phases[at * PREM_PHASE_COUNT];
      *all = fullest(schedule, t, phases, false);
      found->fill_pct = 100.0 * fullest(schedule, t, phases, true);
      found->bytes_per_tile = prem_task_phase_bytes(alone, &alone->tasks[at], PREM_PREFETCH, 0) +
                              prem_task_phase_bytes(alone, &alone->tasks[at], PREM_WRITEBACK, 0);
    }
    prem_variant_close(&variant);
  }
  prem_schedule_free(alone);
  prem_schedule_free(stressors);
  free(keep);
  return status;
}

static prem_status size_one(const prem_schedule *schedule, int32_t t, int32_t *elements,
                            const prem_backend *backend, const prem_isolate_options *options,
                            prem_stressor *stressors, prem_diag *diag) {
  const prem_task *task = &schedule->tasks[t];
  prem_status status = PREM_OK;
  int32_t tried = elements[t] = elements_that_fit(buffer_bytes(schedule, task));
  for (int trial = 0; trial < TRIALS && status == PREM_OK; ++trial) {
    double all = 0;
    tried = elements[t];
    status = try_size(schedule, t, elements, backend, options, &all, stressors, diag);
    if (status != PREM_OK || all <= 1.0 || elements[t] <= PIECE_BYTES)
      break;
    const int64_t bytes = (int64_t)((double)elements[t] * ELEMENT_BYTES / all);
    elements[t] = elements_that_fit(bytes + PIECE_BYTES);
  }
  stressors->bytes_per_tile = stressors->bytes_per_tile * elements[t] / tried;
  stressors->replaced =
      stressors->bytes_per_tile * 100 >= stressors->own_bytes_per_tile * MIN_BYTES_PCT;
  if (!stressors->replaced)
    elements[t] = 0;
  return status;
}

static bool are_alike(const prem_task *a, const prem_task *b) {
  bool alike = a->block_count == b->block_count && a->tile_count == b->tile_count &&
               a->in_bytes == b->in_bytes && a->out_bytes == b->out_bytes &&
               a->joined.wcet_ns == b->joined.wcet_ns && strcmp(a->kernel, b->kernel) == 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    alike &= a->phase[p].wcet_ns == b->phase[p].wcet_ns;
  return alike;
}

prem_status prem_stressor_size(const prem_schedule *schedule, const prem_backend *backend,
                               const prem_isolate_options *options, int32_t *elements,
                               prem_stressor *stressors, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    elements[t] = 0;
  for (int32_t t = 0; t < schedule->task_count && status == PREM_OK; ++t) {
    const prem_task *task = &schedule->tasks[t];
    stressors[t] = (prem_stressor){0};
    stressors[t].own_bytes_per_tile = prem_task_phase_bytes(schedule, task, PREM_PREFETCH, 0) +
                                      prem_task_phase_bytes(schedule, task, PREM_WRITEBACK, 0);
    if (!can_be_replaced(task))
      continue;
    int32_t like = 0;
    while (like < t &&
           !(are_alike(task, &schedule->tasks[like]) &&
             buffer_bytes(schedule, task) == buffer_bytes(schedule, &schedule->tasks[like])))
      ++like;
    if (like < t) {
      const int64_t own_bytes = stressors[t].own_bytes_per_tile;
      elements[t] = elements[like];
      stressors[t] = stressors[like];
      stressors[t].own_bytes_per_tile = own_bytes;
    } else {
      status = size_one(schedule, t, elements, backend, options, &stressors[t], diag);
    }
  }
  return status;
}
