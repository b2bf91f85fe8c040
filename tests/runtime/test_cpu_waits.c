/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits on the cpu backend, for an instant or for others, hands its core on where cores are
 * shared, and naps as it did, on a made-up clock (see tests/common/golden.h): no result shows it.
 */
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#include "runtime/core/record_rules.h"
#include "runtime/cpu/cpu.h"
#include "tests/common/golden.h"
#include "tests/common/suite.h"

/* ---- a clock and a scheduler that are made up ----------------------------------------------- */

enum { LOOK_NS = 40, TURN_NS = 900, LATE_NS = 50000 };

static FILE *told; /* NULL: the true ones are asked */
static int64_t now_ns;
static int yields, turns_left; /* until what is waited for happens */
static void (*happens)(void);

static void *next_of(const char *name) {
  void *next = dlsym(RTLD_NEXT, name);
  if (!next)
    abort();
  return next;
}

static void tell_yields(void) {
  if (yields > 0)
    fprintf(told, " %d yields", yields);
  yields = 0;
}

static void pass(int64_t length_ns) {
  now_ns += length_ns;
  if (--turns_left == 0)
    happens();
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = next_of("clock_gettime");
  if (!told)
    return next(clock, out);
  now_ns += LOOK_NS;
  *out = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
  return 0;
}

int nanosleep(const struct timespec *length, struct timespec *left) {
  int (*next)(const struct timespec *, struct timespec *);
  *(void **)&next = next_of("nanosleep");
  if (!told)
    return next(length, left);
  tell_yields();
  fprintf(told, " %ld", length->tv_nsec);
  pass(length->tv_nsec + LATE_NS);
  return 0;
}

int sched_yield(void) {
  int (*next)(void);
  *(void **)&next = next_of("sched_yield");
  if (!told)
    return next();
  ++yields;
  pass(TURN_NS);
  return 0;
}

/* ---- what is waited for --------------------------------------------------------------------- */

static prem_cpu cpu;
static prem_cpu_block block;

static void nothing_happens(void) {}

static void aborts(void) {
  atomic_store(&cpu.abort.value, PREM_CPU_STOPPED);
}

static void reset(bool shared, int turns, void (*then)(void)) {
  atomic_store(&cpu.abort.value, PREM_CPU_GO_ON);
  cpu.oversubscribed = shared;
  block = (prem_cpu_block){.cpu = &cpu, .common_start_ns = 7000};
  now_ns = 10000;
  yields = 0;
  turns_left = turns;
  happens = then;
}

static void tell_turns(FILE *file) {
  for (int shared = 0; shared < 2; ++shared) {
    int32_t turns = 0;
    reset(shared, 0, nothing_happens);
    fprintf(file, "turns%s:", shared ? ", shared" : "");
    told = file;
    for (int i = 0; i < 100; ++i)
      prem_cpu_take_a_turn(&cpu, &turns);
    tell_yields();
    told = NULL;
    fprintf(file, "; %d\n", (int)turns);
  }
}

/* Until so long after now; after some turns it may be over for all. */
static void tell_instant(FILE *file, int64_t left_ns, bool shared, int turns) {
  int64_t out_ns = -1;
  reset(shared, turns, aborts);
  fprintf(file, "%" PRId64 " ns%s%s:", left_ns, shared ? ", shared" : "", turns ? ", aborted" : "");
  told = file;
  const bool is_kept = prem_cpu_wait_until(&block, now_ns - 7000 + left_ns, &out_ns);
  tell_yields();
  told = NULL;
  fprintf(file, "; %d at %" PRId64 ", until %" PRId64 "\n", is_kept, out_ns,
          (int64_t)atomic_load(&block.waits_until_ns));
}

/* Two predecessors of one and two blocks; all of the second hyperperiod's job 0. */
static prem_cpu_word done_of_first[1], done_of_second[2], done_of_third[1];

static void first_is_done(void) {
  atomic_fetch_add(&done_of_first[0].value, 1);
  turns_left = 70;
}

static void second_is_done(void) {
  atomic_fetch_add(&done_of_second[1].value, 1);
  turns_left = 3;
  happens = first_is_done;
}

static void tell_predecessors(FILE *file, prem_phase phase, int from, int turns,
                              void (*then)(void)) {
  static int32_t first_needs[] = {1}, second_needs[] = {2}, none_needs[] = {-9};
  static prem_dependency after[] = {
      {.task = 0, .phase = PREM_PREFETCH, .lag_ns = 300, .needed_jobs = first_needs},
      {.task = 1, .phase = PREM_COMPUTE, .lag_ns = 20, .needed_jobs = second_needs},
      {.task = 0, .phase = PREM_COMPUTE, .lag_ns = 9000000, .needed_jobs = none_needs},
      {.task = 1,
       .phase = PREM_PREFETCH,
       .lag_ns = 8000000,
       .needed_jobs = second_needs,
       .by_block = true}};
  static prem_task_program tasks[] = {
      {.jobs = 1, .active_blocks = 1},
      {.jobs = 1, .active_blocks = 2},
      {.jobs = 1, .active_blocks = 1, .after = after, .after_count = 4, .edge_count = 4}};
  static int64_t ends_ns[12] = {100, 2000, 30, 400, 50000, 600, 7000, 80, 900, 1000, 11, 12};
  static int64_t firsts[] = {0, 1, 2};
  static prem_cpu_word *done[] = {done_of_first, done_of_second, done_of_third};
  static prem_program program = {.tasks = tasks};
  static prem_trace trace = {
      .hyperperiod_capacity = 4, .job_count = 3, .first_job = firsts, .job_end_ns = ends_ns};
  const prem_record record = {.phase = (uint8_t)phase, .task = 2, .job = 0};
  int64_t earliest_ns = 10;
  reset(true, turns, then);
  cpu.program = block.plan = &program;
  cpu.trace = &trace;
  cpu.jobs_done = done;
  atomic_store(&done_of_first[0].value, 1);
  atomic_store(&done_of_second[0].value, 3);
  atomic_store(&done_of_second[1].value, 2);
  fprintf(file, "predecessors, %s from %d, turn %d:", prem_phase_name(phase), from, turns);
  told = file;
  const bool is_kept = prem_cpu_wait_for_predecessors(&block, 1, &record, from, &earliest_ns);
  tell_yields();
  told = NULL;
  fprintf(file, "; %d from %" PRId64 "\n", is_kept, earliest_ns);
}

/* A prefetch in mode lock, whose resource somebody else has until the run is over. */
static void tell_tokens(FILE *file, int turns) {
  static int32_t demand[PREM_MAX_RESOURCES] = {1};
  static prem_task task = {.phase[PREM_PREFETCH] = {.exists = true, .demand = demand}};
  static prem_resource memory = {.capacity = 1};
  static prem_task_program tasks[] = {{.jobs = 1, .active_blocks = 1}};
  static prem_record record = {.phase = PREM_PREFETCH,
                               .wait = {PREM_NO_WAIT, PREM_NO_WAIT, PREM_NO_WAIT}};
  static prem_block_program blocks[] = {{.memory = &record, .memory_count = 1}};
  static int64_t epochs_ns[] = {0};
  static prem_trace trace = {.epoch_ns = epochs_ns};
  const prem_run_request request = {.mode = PREM_MODE_LOCK, .hyperperiods = 1};
  const prem_schedule schedule = {
      .tasks = &task, .task_count = 1, .platform = {.resources = &memory, .resource_count = 1}};
  const prem_program program = {.schedule = &schedule, .tasks = tasks, .blocks = blocks};
  reset(true, turns, aborts);
  cpu.program = block.plan = &program;
  cpu.trace = &trace;
  block.program = blocks;
  cpu.request = &request;
  ck_assert_int_eq(prem_cpu_tokens_new(&cpu.tokens, &schedule, false), PREM_OK);
  prem_cpu_tokens_reset(&cpu.tokens);
  cpu.tokens.left[0] = 0;
  fprintf(file, "tokens, turn %d:", turns);
  told = file;
  prem_cpu_run_block(&block);
  tell_yields();
  told = NULL;
  fprintf(file, "; %d done\n", (int)atomic_load(&block.records_done));
  prem_cpu_tokens_free(&cpu.tokens);
}

TEST(of_all) {
  static const int64_t lefts_ns[] = {-5,      0,       1,       40,      41,     5000,    100000,
                                     199999,  200000,  200001,  200039,  200041, 1099999, 1100000,
                                     1100041, 1100099, 1200000, 2500000, 9000000};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  tell_turns(file);
  for (size_t i = 0; i < sizeof lefts_ns / sizeof *lefts_ns; ++i)
    for (int shared = 0; shared < 2; ++shared)
      tell_instant(file, lefts_ns[i], shared, 0);
  tell_instant(file, 5000000, true, 2);
  tell_instant(file, 50000, true, 7);
  for (int turns = 1; turns < 90; turns += 40) {
    tell_predecessors(file, PREM_PREFETCH, PREM_PREFETCH, turns, first_is_done);
    tell_predecessors(file, PREM_COMPUTE, PREM_COMPUTE, turns, second_is_done);
    tell_predecessors(file, PREM_WRITEBACK, PREM_PREFETCH, turns, second_is_done);
    tell_predecessors(file, PREM_COMPUTE, PREM_PREFETCH, turns, aborts);
  }
  for (int turns = 1; turns < 90; turns += 11)
    tell_tokens(file, turns);
  fclose(file);
  golden_judge("waits.txt", found);
}
