/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: small random schedules with data, one for each seed, and what a backend makes of their
 * plans. Three shapes: any set of tasks, planned by the policy `auto`; equal kernels, planned by
 * one of the closed forms; one kernel whose plan, written here, joins its memory phases.
 *
 * No test framework: the GPU's suite runs where there is none.
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/plan_order.h"
#include "ttprem/ttprem.h"

/* ---- drawing -------------------------------------------------------------------------------- */

enum { RANDOM_TASKS = 5, RANDOM_ARRAYS = 3 * RANDOM_TASKS };

typedef struct random_array {
  bool is_c64;
  int32_t rank;
  int64_t shape[PREM_MAX_RANK];
  int32_t writer; /* -1: an input */
} random_array;

typedef struct random_task {
  const char *kernel;
  int32_t tiles, first_block, last_block;
  int64_t period_ns, release_ns;
  int64_t wcet_ns[PREM_PHASE_COUNT]; /* 0: no such phase */
  int32_t tile_rank;                 /* 0: noop */
  int64_t tile[PREM_MAX_RANK];
  int32_t in[2], out; /* arrays; -1: none */
  bool follows[RANDOM_TASKS];
} random_task;

typedef struct random_tasks {
  uint64_t state;
  random_array arrays[RANDOM_ARRAYS];
  random_task tasks[RANDOM_TASKS];
  int32_t array_count, task_count;
  int32_t sms, blocks_per_sm, blocks, buffers, capacity;
  int64_t guard_ns;
  bool periodic, warms_up, plain; /* plain: every memory phase takes 1 of memory all the time */
} random_tasks;

/** A number of [low, high]. */
static inline int64_t random_draw(random_tasks *set, int64_t low, int64_t high) {
  set->state = set->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (int64_t)((set->state >> 33) % (uint64_t)(high - low + 1));
}

static inline bool random_chance(random_tasks *set, int64_t of) {
  return random_draw(set, 1, of) == 1;
}

static inline int32_t random_array_add(random_tasks *set, bool is_c64, int32_t rank,
                                       const int64_t *shape, int32_t writer) {
  random_array *array = &set->arrays[set->array_count];
  *array = (random_array){.is_c64 = is_c64, .rank = rank, .writer = writer};
  memcpy(array->shape, shape, (size_t)rank * sizeof *shape);
  return set->array_count++;
}

/** What an earlier task wrote, if it has the type and rank; -1: nothing. */
static inline int32_t random_output(random_tasks *set, bool is_c64, int32_t rank) {
  const int32_t first = (int32_t)random_draw(set, 0, RANDOM_ARRAYS - 1);
  for (int32_t i = 0; i < set->array_count; ++i) {
    const int32_t a = (first + i) % set->array_count;
    if (set->arrays[a].writer >= 0 && set->arrays[a].is_c64 == is_c64 &&
        set->arrays[a].rank == rank)
      return a;
  }
  return -1;
}

/** Tiles of any size between a quarter of the array and all of it: most are ragged. At most three
 *  dimensions are cut. */
static inline void random_tile(random_tasks *set, random_task *task, int32_t rank,
                               const int64_t *shape) {
  task->tile_rank = rank;
  task->tiles = 1;
  for (int32_t d = 0; d < rank; ++d) {
    task->tile[d] = random_draw(set, rank > 2 ? (shape[d] + 1) / 2 : (shape[d] + 3) / 4, shape[d]);
    if (d == PREM_MAX_GRID)
      task->tile[d] = shape[d];
    task->tiles *= (int32_t)((shape[d] + task->tile[d] - 1) / task->tile[d]);
  }
}

/** An input, and an output of the same shape: of vector_increment and kcf_multiply. */
static inline void random_elementwise(random_tasks *set, int32_t number, bool is_c64) {
  random_task *task = &set->tasks[number];
  const int32_t rank = is_c64 ? (int32_t)random_draw(set, 1, 4) : 1;
  int64_t shape[PREM_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d)
    shape[d] = d < rank - 1 ? random_draw(set, 1, rank > 2 ? 3 : 9) : random_draw(set, 1, 16);
  if (rank == 1)
    shape[0] = random_chance(set, 8) ? 1 : random_draw(set, 1, is_c64 ? 300 : 900);
  task->in[0] = random_chance(set, 2) ? random_output(set, is_c64, rank) : -1;
  if (task->in[0] < 0)
    task->in[0] = random_array_add(set, is_c64, rank, shape, -1);
  memcpy(shape, set->arrays[task->in[0]].shape, sizeof shape);
  if (is_c64) /* the same array twice is allowed, too */
    task->in[1] =
        random_chance(set, 4) ? task->in[0] : random_array_add(set, is_c64, rank, shape, -1);
  task->out = random_array_add(set, is_c64, rank, shape, number);
  random_tile(set, task, rank, shape);
}

/** With zeros around the image, or its border left out. */
static inline void random_conv2d(random_tasks *set, int32_t number) {
  random_task *task = &set->tasks[number];
  int64_t shape[2] = {random_draw(set, 1, 24), random_draw(set, 1, 40)};
  task->in[0] = random_chance(set, 2) ? random_output(set, false, 2) : -1;
  if (task->in[0] < 0)
    task->in[0] = random_array_add(set, false, 2, shape, -1);
  memcpy(shape, set->arrays[task->in[0]].shape, sizeof shape);
  if (shape[0] > 2 && shape[1] > 2 && random_chance(set, 2)) {
    shape[0] -= 2;
    shape[1] -= 2;
  }
  task->out = random_array_add(set, false, 2, shape, number);
  random_tile(set, task, 2, shape);
}

static inline void random_work(random_tasks *set, int32_t number, bool with_data) {
  random_task *task = &set->tasks[number];
  *task = (random_task){.kernel = "noop", .in = {-1, -1}, .out = -1};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    task->wcet_ns[p] = random_draw(set, 2000, 9000);
  switch (random_draw(set, with_data ? 1 : 0, 6)) {
  case 0:
    task->tiles = (int32_t)random_draw(set, 1, 12);
    if (random_chance(set, 2))
      task->wcet_ns[PREM_PREFETCH] = 0;
    if (random_chance(set, 2))
      task->wcet_ns[PREM_WRITEBACK] = 0;
    return;
  case 1:
  case 2:
    task->kernel = "vector_increment";
    random_elementwise(set, number, false);
    return;
  case 3:
  case 4:
    task->kernel = "kcf_multiply";
    random_elementwise(set, number, true);
    return;
  default:
    task->kernel = "conv2d";
    random_conv2d(set, number);
  }
}

static inline void random_machine(random_tasks *set) {
  set->sms = (int32_t)random_draw(set, 0, 4); /* 0: as many as the machine has */
  set->blocks_per_sm = (int32_t)random_draw(set, 1, 3);
  set->blocks = set->sms ? set->sms * set->blocks_per_sm : (int32_t)random_draw(set, 1, 8);
  if (set->blocks > 8) {
    set->blocks_per_sm = 8 / set->sms;
    set->blocks = set->sms * set->blocks_per_sm;
  }
  set->buffers = (int32_t)random_draw(set, 1, 4);
  set->capacity = (int32_t)random_draw(set, 1, 3);
  set->guard_ns = random_chance(set, 2) ? 0 : random_draw(set, 1, 2000);
}

/** One tile after the other, nothing beside it. */
static inline int64_t random_length_ns(const random_tasks *set) {
  int64_t all_ns = 0;
  for (int32_t t = 0; t < set->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      all_ns += set->tasks[t].tiles * (set->tasks[t].wcet_ns[p] + 2 * set->guard_ns + 64);
  return all_ns;
}

/** Periods that divide each other. A task that reads what another writes is released no earlier, or
 *  its first job would find nothing there. */
static inline void random_periods(random_tasks *set) {
  const int64_t base_ns = 3 * random_length_ns(set) / 1024 * 1024 + 1024;
  for (int32_t t = 0; t < set->task_count; ++t) {
    random_task *task = &set->tasks[t];
    if (random_chance(set, 5))
      continue;
    task->period_ns = base_ns << random_draw(set, 0, 2);
    task->release_ns = random_chance(set, 2) ? random_draw(set, 0, base_ns / 8) : 0;
  }
  for (int32_t t = 0; t < set->task_count; ++t)
    for (int32_t before = 0; before < t; ++before)
      if (set->tasks[t].follows[before] && set->tasks[t].release_ns < set->tasks[before].release_ns)
        set->tasks[t].release_ns = set->tasks[before].release_ns;
}

static inline void random_precedence(random_tasks *set) {
  for (int32_t t = 0; t < set->task_count; ++t) {
    random_task *task = &set->tasks[t];
    for (int i = 0; i < 2; ++i)
      if (task->in[i] >= 0 && set->arrays[task->in[i]].writer >= 0)
        task->follows[set->arrays[task->in[i]].writer] = true;
    if (t > 0 && !set->warms_up && random_chance(set, 4))
      task->follows[random_draw(set, 0, t - 1)] = true;
    for (int32_t before = 0; before < t; ++before)
      if (task->follows[before])
        set->warms_up = false; /* warm-up tiles wait for nobody */
  }
}

/* ---- writing -------------------------------------------------------------------------------- */

static inline void random_numbers_print(FILE *file, const char *key, int32_t count,
                                        const int64_t *numbers) {
  fprintf(file, "%s = [", key);
  for (int32_t i = 0; i < count; ++i)
    fprintf(file, "%s %" PRId64, i ? "," : "", numbers[i]);
  fputs(" ]; ", file);
}

static inline void random_platform_print(FILE *file, random_tasks *set) {
  static const int threads[] = {128, 224, 320, 512};
  const bool crowded = set->sms && set->blocks_per_sm > 2; /* some SMs hold 1024 threads */
  fputs("version = 1; name = \"random\";\nplatform: { ", file);
  if (set->sms)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %" PRId32 "; ", set->sms, set->blocks_per_sm);
  else
    fprintf(file, "blocks = %" PRId32 "; ", set->blocks);
  fprintf(file,
          "block_threads = %d; buffers = %" PRId32 "; scratch_bytes = 65536L;\n"
          "  clock_step_ns = 32L; guard_ns = %" PRId64
          "L; resources = ( { name = \"memory\"; capacity = %" PRId32 "; per = \"%s\"; } ); };\n",
          threads[random_draw(set, 0, crowded ? 2 : 3)], set->buffers, set->guard_ns, set->capacity,
          random_chance(set, 3) ? "task" : "block");
}

static inline void random_arrays_print(FILE *file, random_tasks *set) {
  if (set->array_count == 0)
    return;
  fputs("arrays = (\n", file);
  for (int32_t a = 0; a < set->array_count; ++a) {
    const random_array *array = &set->arrays[a];
    fprintf(file, "  { name = \"a%" PRId32 "\"; type = \"%s\"; ", a, array->is_c64 ? "c64" : "f32");
    random_numbers_print(file, "shape", array->rank, array->shape);
    if (array->writer < 0)
      fprintf(file, "fill = \"random\"; seed = %" PRId32 "; ", a);
    fprintf(file, "}%s\n", a + 1 < set->array_count ? "," : "");
  }
  fputs(");\n", file);
}

static inline void random_phases_print(FILE *file, random_tasks *set, const random_task *task) {
  static const char *const names[] = {"prefetch", "compute", "writeback"};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (task->wcet_ns[p] == 0)
      continue;
    fprintf(file, "    %s: { wcet_ns = %" PRId64 "L; ", names[p], task->wcet_ns[p]);
    if (p != PREM_COMPUTE && !set->plain && random_chance(set, 4))
      fprintf(file, "busy_ns = %" PRId64 "L; ", random_draw(set, 1, task->wcet_ns[p]));
    if (p != PREM_COMPUTE && !set->plain && random_chance(set, 4))
      fprintf(file, "demand: { memory = %" PRId64 "; }; ", random_draw(set, 0, set->capacity));
    fputs("};\n", file);
  }
}

static inline void random_after_print(FILE *file, random_tasks *set, const random_task *task) {
  const char *between = "    after = ( ";
  for (int32_t before = 0; before < set->task_count; ++before) {
    if (!task->follows[before])
      continue;
    fprintf(file, "%s{ task = \"t%" PRId32 "\"; lag_ns = %" PRId64 "L; %s}", between, before,
            random_draw(set, 0, 2000),
            set->tasks[before].period_ns == task->period_ns ? "" : "instance = \"latest\"; ");
    between = ", ";
  }
  if (between[0] == ',')
    fputs(" );\n", file);
}

/** `copies` of a task share its inputs and have an output each. */
static inline void random_task_print(FILE *file, random_tasks *set, int32_t number,
                                     int32_t copies) {
  static const char *const ports[2][2] = {{"in", ""}, {"a", "b"}};
  const random_task *task = &set->tasks[number];
  fprintf(file, "  { name = \"t%" PRId32 "\"; kernel = \"%s\"; ", number, task->kernel);
  if (copies > 1)
    fprintf(file, "copies = %" PRId32 "; blocks = %" PRId32 ";\n    ", copies,
            task->last_block - task->first_block + 1);
  else
    fprintf(file, "blocks = \"%" PRId32 "-%" PRId32 "\";\n    ", task->first_block,
            task->last_block);
  if (task->period_ns)
    fprintf(file, "period_ns = %" PRId64 "L; ", task->period_ns);
  if (task->release_ns)
    fprintf(file, "release_ns = %" PRId64 "L; ", task->release_ns);
  if (task->tile_rank == 0) {
    fprintf(file, "tiles = %" PRId32 ";\n", task->tiles);
  } else {
    random_numbers_print(file, "tile", task->tile_rank, task->tile);
    fputs("arrays: { ", file);
    for (int i = 0; i < 2 && task->in[i] >= 0; ++i)
      fprintf(file, "%s = \"a%" PRId32 "\"; ", ports[task->in[1] >= 0][i], task->in[i]);
    if (copies > 1)
      fputs("out = \"new\"; };\n", file);
    else
      fprintf(file, "out = \"a%" PRId32 "\"; };\n", task->out);
  }
  random_phases_print(file, set, task);
  random_after_print(file, set, task);
}

/** Any tasks, whatever blocks they share. */
static inline void random_mix_print(FILE *file, random_tasks *set) {
  random_machine(set);
  set->task_count = (int32_t)random_draw(set, 1, RANDOM_TASKS);
  set->periodic = random_chance(set, 2);
  set->warms_up = !set->periodic && random_chance(set, 3);
  for (int32_t t = 0; t < set->task_count; ++t) {
    random_work(set, t, false);
    set->tasks[t].first_block = (int32_t)random_draw(set, 0, set->blocks - 1);
    set->tasks[t].last_block =
        (int32_t)random_draw(set, set->tasks[t].first_block, set->blocks - 1);
  }
  random_precedence(set);
  if (set->periodic)
    random_periods(set);
  random_platform_print(file, set);
  random_arrays_print(file, set);
  fputs("tasks = (\n", file);
  for (int32_t t = 0; t < set->task_count; ++t) {
    random_task_print(file, set, t, 1);
    fprintf(file, "    %s}%s\n", random_chance(set, 4) ? "together = true; " : "",
            t + 1 < set->task_count ? "," : "");
  }
  fputs(");\n", file);
  if (set->warms_up)
    fprintf(file, "policy: { warmup_tiles = %" PRId64 "; warmup_ns = 40000L; };\n",
            random_draw(set, 1, 2));
}

/** Equal kernels on blocks of their own, as many at the memory as like. */
static inline void random_closed_form_print(FILE *file, random_tasks *set) {
  static const char *const policies[] = {"tile_kernelwise", "phase_kernelwise", "tile_blockwise",
                                         "phase_blockwise"};
  random_machine(set);
  random_work(set, 0, true);
  const int32_t copies = (int32_t)random_draw(set, 2, 4), each = (int32_t)random_draw(set, 1, 2);
  const int64_t policy = random_draw(set, 0, 3);
  random_task *task = &set->tasks[0];
  task->last_block = each - 1;
  set->sms = 0;
  set->blocks = copies * each;
  set->capacity = set->blocks;
  set->plain = true;
  set->array_count -= task->out == set->array_count - 1; /* each copy has a new one */
  if (strcmp(task->kernel, "conv2d") == 0) {
    /* a new output leaves the border out */
    int64_t *shape = set->arrays[task->in[0]].shape;
    for (int d = 0; d < 2; ++d)
      shape[d] = task->tile[d] * (shape[d] > task->tile[d] ? 2 : 1) + 2;
  }
  random_platform_print(file, set);
  random_arrays_print(file, set);
  fputs("tasks = (\n", file);
  random_task_print(file, set, 0, copies);
  fprintf(file, "    %s}\n);\npolicy: { use = \"%s\"; %s};\n",
          policy < 2 && random_chance(set, 2) ? "together = true; " : "", policies[policy],
          random_chance(set, 3) ? "warmup_tiles = 1; warmup_ns = 30000L; " : "");
}

/** One kernel; each prefetch takes the writeback of the tile before it on its block along. */
static inline void random_joined_print(FILE *file, random_tasks *set) {
  enum { GRID_NS = 1024 }; /* of the coarsest clock */
  random_machine(set);
  random_work(set, 0, true);
  random_task *task = &set->tasks[0];
  set->buffers = (int32_t)random_draw(set, 2, 4);
  set->guard_ns = 0;
  set->plain = true;
  task->last_block = (int32_t)random_draw(set, 0, set->blocks - 1);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    task->wcet_ns[p] = GRID_NS * random_draw(set, 2, 8);
  const int32_t blocks = task->last_block + 1;
  const int64_t rounds = (task->tiles + blocks - 1) / blocks;
  const int64_t joined_ns = task->wcet_ns[PREM_PREFETCH] + task->wcet_ns[PREM_WRITEBACK];
  const int64_t tile_ns = joined_ns + task->wcet_ns[PREM_COMPUTE];
  const int64_t cycle_ns = tile_ns > blocks * joined_ns ? tile_ns : blocks * joined_ns;
  random_platform_print(file, set);
  random_arrays_print(file, set);
  fputs("tasks = (\n", file);
  random_task_print(file, set, 0, 1);
  fprintf(file,
          "    joined: { wcet_ns = %" PRId64 "L; }; }\n);\n"
          "plan: { hyperperiod_ns = %" PRId64 "L; runs = (\n"
          "  { task = \"t0\"; phase = \"prefetch\"; chain = [ \"compute\" ]; count = %" PRId32
          "; block_step_ns = %" PRId64 "L;\n    start_ns = 0L; repeat = %" PRId64
          "; step_ns = %" PRId64 "L; join: { tile = %" PRId32 "; }; } ); };\n",
          joined_ns, (rounds + 1) * cycle_ns, blocks, joined_ns, rounds + 1, cycle_ns, -blocks);
}

/** The schedule file of a seed. */
static inline void random_schedule_print(FILE *file, uint64_t seed) {
  random_tasks set = {.state = seed * UINT64_C(0x9E3779B97F4A7C15)};
  switch (random_draw(&set, 0, 7)) {
  case 0:
    random_joined_print(file, &set);
    return;
  case 1:
  case 2:
    random_closed_form_print(file, &set);
    return;
  default:
    random_mix_print(file, &set);
  }
}

/* ---- planning ------------------------------------------------------------------------------- */

/** Load and bind the schedule of a seed. The loader reads files, so the text goes through one. */
static inline prem_status random_schedule_load(uint64_t seed, prem_schedule **out,
                                               prem_diag *diag) {
  char path[] = "/tmp/ttprem-random-XXXXXX";
  *out = NULL;
  const int descriptor = mkstemp(path);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  if (!file)
    return PREM_ERR_IO;
  random_schedule_print(file, seed);
  prem_status status = fclose(file) ? PREM_ERR_IO : PREM_OK;
  if (status == PREM_OK)
    status = prem_schedule_load(path, NULL, out, diag);
  unlink(path);
  return status == PREM_OK ? prem_schedule_bind(*out, prem_registry_builtin(), diag) : status;
}

/** Load, bind, plan, check. PREM_ERR_INFEASIBLE: the planner found no plan; any other error is
 *  wrong, whether the generator's or the library's. */
static inline prem_status random_schedule_plan(uint64_t seed, const prem_machine *machine,
                                               prem_schedule **out, prem_diag *diag) {
  prem_status status = random_schedule_load(seed, out, diag);
  if (status == PREM_OK && !(*out)->plan) {
    prem_plan *plan = NULL;
    status = prem_plan_make(*out, machine, NULL, &plan, diag);
    prem_schedule_set_plan(*out, plan);
  }
  return status == PREM_OK ? prem_check(*out, machine, diag) : status;
}

/* ---- running -------------------------------------------------------------------------------- */

typedef struct random_counts {
  int plans, runs, failed;
  int by_policy[8]; /* of prem_policy_list(); joined ones by hand last */
} random_counts;

static inline void random_fail(random_counts *counts, uint64_t seed, const char *what,
                               const prem_diag *diag) {
  ++counts->failed;
  printf("FAILED: seed %" PRIu64 ": %s\n", seed, what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    printf("  %s\n", line);
  }
  random_schedule_print(stdout, seed);
  fflush(stdout);
}

/** Did every job end, in every hyperperiod? */
static inline bool random_jobs_ended(const prem_trace *trace, int64_t hyperperiods) {
  for (int64_t i = 0; i < hyperperiods * trace->job_count; ++i)
    if (trace->job_end_ns[i] < 0)
      return false;
  return trace->hyperperiods == hyperperiods;
}

/** Jobs that overtook another one which uses their array, by the raw records. */
static inline int64_t random_overtaken(const prem_schedule *schedule, const prem_trace *trace) {
  enum { TWO_STEPS_NS = 2048 }; /* of the coarsest clock */
  return trace->lost ? 0 : order_judge(schedule, trace, TWO_STEPS_NS).broken;
}

/** Outputs are poisoned before each run and compared after it. False: the session is lost. */
static inline bool random_run(prem_session *session, const prem_schedule *schedule, uint64_t seed,
                              prem_mode mode, prem_engine engine, prem_trace *trace,
                              random_counts *counts) {
  const prem_run_request request = {
      .mode = mode, .hyperperiods = trace->hyperperiod_capacity, .engine = engine};
  prem_diag *diag = prem_diag_new();
  prem_verdict verdict = {0};
  char what[160];
  prem_status status = prem_session_poison(session);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, diag);
  const bool lost = status < 0;
  if (status == PREM_ERR_UNAVAILABLE) { /* an older GPU has not all engines */
    prem_diag_free(diag);
    return true;
  }
  ++counts->runs;
  if (status == PREM_OK)
    status = prem_session_verify(session, &verdict);
  if (status != PREM_OK)
    snprintf(what, sizeof what, "mode %s, engine %s: %s", prem_mode_name(mode),
             prem_engine_name(engine), prem_status_text(status));
  else if (!verdict.ok)
    snprintf(what, sizeof what,
             "mode %s, engine %s: %" PRId64 " elements wrong, array a%" PRId32 " [%" PRId64
             ", %" PRId64 ", %" PRId64 ", %" PRId64 "] is %.9g, not %.9g",
             prem_mode_name(mode), prem_engine_name(engine), verdict.wrong, verdict.array,
             verdict.index[0], verdict.index[1], verdict.index[2], verdict.index[3], verdict.found,
             verdict.expected);
  else if (!random_jobs_ended(trace, request.hyperperiods))
    snprintf(what, sizeof what, "mode %s, engine %s: a job did not end", prem_mode_name(mode),
             prem_engine_name(engine));
  else if (random_overtaken(schedule, trace) > 0)
    snprintf(what, sizeof what, "mode %s, engine %s: a job overtook one that uses its array",
             prem_mode_name(mode), prem_engine_name(engine));
  else
    what[0] = '\0';
  if (what[0])
    random_fail(counts, seed, what, diag);
  prem_diag_free(diag);
  return !lost;
}

/** The planned schedule of a seed in modes tt, free and lock, the engines in turn. */
static inline void random_schedule_run(const prem_backend *backend, const prem_schedule *schedule,
                                       uint64_t seed, random_counts *counts) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_session) *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  if (prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, 2 + (int64_t)(seed % 2), 100000, &trace) != PREM_OK)
    random_fail(counts, seed, "cannot be made ready to run", diag);
  bool usable = session && trace;
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK && usable; ++mode) {
    const int engine = PREM_ENGINE_BULK + (int)((seed + (uint64_t)mode) % 3);
    usable =
        random_run(session, schedule, seed, (prem_mode)mode, (prem_engine)engine, trace, counts);
  }
}

static inline void random_count_policy(random_counts *counts, const prem_plan *plan) {
  const prem_policy_info *list = prem_policy_list();
  int policy = 0;
  while (list[policy].name && strcmp(list[policy].name, plan->policy) != 0)
    ++policy;
  ++counts->by_policy[policy];
}

/** Run the next `plans` plans from a seed on; sets without a plan are passed over, at most three
 *  for each plan. True when all went well. */
static inline bool random_plans_run(const prem_backend *backend, const prem_machine *machine,
                                    uint64_t seed, int plans, random_counts *counts) {
  *counts = (random_counts){0};
  const uint64_t last = seed + 4 * (uint64_t)plans;
  for (; counts->plans < plans && seed < last; ++seed) {
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule = NULL;
    const prem_status status = random_schedule_plan(seed, machine, &schedule, diag);
    if (status == PREM_OK) {
      ++counts->plans;
      random_count_policy(counts, schedule->plan);
      random_schedule_run(backend, schedule, seed, counts);
    } else if (status != PREM_ERR_INFEASIBLE) {
      random_fail(counts, seed, prem_status_text(status), diag);
    }
  }
  printf("%s: %d plans, %d runs, %d failed\n", prem_backend_name(backend), counts->plans,
         counts->runs, counts->failed);
  return counts->failed == 0 && counts->plans == plans;
}
