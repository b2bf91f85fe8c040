/* SPDX-License-Identifier: Apache-2.0 */
/* Machine facts: what takes longer than a run may wait is measured only when asked for. */

#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/core/backend.h"

#include "tests/common/suite.h"

enum { PROBE_NS = 50000000 }; /* what a run may wait for the facts */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** `sim` and `cpu` have no bandwidth to measure; `cpu` alone has a cost of dispatching and one of
 * telling a successor. */
TESTS(what_cannot_be_measured_stays, 2) {
  static const char *const names[] = {"sim", "cpu"};
  const prem_backend *backend = prem_backend_find(names[_i]);
  prem_machine machine, before;
  const bool dispatches = _i == 1;
  ck_assert_int_eq(prem_backend_probe(backend, &machine, NULL), PREM_OK);
  machine.bandwidth_bytes_per_s = 7;
  memcpy(&before, &machine, sizeof machine);
  ck_assert_int_eq(prem_backend_measure(backend, &machine, NULL), PREM_OK);
  ck_assert_int_lt(machine.dispatch_ns, 100000000); /* of an empty compute; usual are some us */
  ck_assert(dispatches ? machine.dispatch_ns > 0 : machine.dispatch_ns == 0);
  ck_assert_int_lt(machine.precedence_ns, 1000000000);
  ck_assert(dispatches ? machine.precedence_ns > 0 : machine.precedence_ns == 0);
  machine.dispatch_ns = before.dispatch_ns;
  machine.precedence_ns = before.precedence_ns;
  ck_assert_mem_eq(&before, &machine, sizeof machine);
}

/* ---- a clock that is made up ----------------------------------------------------------------- */

static const struct made_up {
  int64_t step_ns, reads_ns[3]; /* it steps, and readings take so long, one after the other */
  int64_t found_ns, read_ns;
} clocks[] = {{1000, {100, 100, 100}, 1000, 100}, /* stands still between its steps */
              {1, {30, 60, 90}, 30, 60},          /* its step is hidden in that of readings */
              {1, {17, 30, 25}, 1, 24},
              {20000000, {1000, 1000, 1000}, 20000000, 1000}}; /* coarser than it is looked at */
static const struct made_up *made_up;

/* The one that the library calls. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  static int64_t now, readings;
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  if (!made_up)
    return next(clock, out);
  now += made_up->reads_ns[readings++ % 3];
  const int64_t shown_ns = now / made_up->step_ns * made_up->step_ns;
  *out = (struct timespec){.tv_sec = shown_ns / 1000000000, .tv_nsec = shown_ns % 1000000000};
  return 0;
}

TESTS(the_step_of_a_clock_is_found, (int)(sizeof clocks / sizeof *clocks)) {
  prem_machine machine;
  made_up = &clocks[_i];
  ck_assert_int_eq(prem_backend_probe(prem_backend_find("cpu"), &machine, NULL), PREM_OK);
  made_up = NULL;
  ck_assert_int_eq(machine.clock_step_ns, clocks[_i].found_ns);
  ck_assert_int_ge(machine.clock_read_ns, clocks[_i].read_ns * 95 / 100);
  ck_assert_int_le(machine.clock_read_ns, clocks[_i].read_ns * 105 / 100);
}

/* ---- a processor that is made up ------------------------------------------------------------ */

static const struct processor {
  const char *facts; /* of /proc/cpuinfo; NULL: it cannot be read */
  int allowed;       /* of the processors, every third; -1: nobody knows */
  long configured;
  const char *name; /* as it is told */
  int cores;
} processors[] = {{"processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Another\n", 3, 8,
                   "Some CPU @ 2 GHz, 3 cores", 3},
                  {"model\t\t: 85\nmodel name\t:  \t Two Words\n", 1, 8, "Two Words, 1 core", 1},
                  {"model name\nmodel names\t: X\nmodel nam : Y\n", 0, 8, "X, 1 core", 1},
                  {"model name\nmy model name : Y\n", -1, 8, "CPU, 1 core", 1},
                  {"model name:no space", 2, 1024, "no space, 2 cores", 2},
                  {NULL, 400, 1200, "CPU, 400 cores", 400}};
static const struct processor *processor;

/* The ones that the library calls. */
FILE *fopen(const char *restrict path, const char *restrict mode) {
  FILE *(*next)(const char *, const char *);
  *(void **)&next = dlsym(RTLD_NEXT, "fopen");
  if (!processor || strcmp(path, "/proc/cpuinfo") != 0)
    return next(path, mode);
  return processor->facts
             ? fmemopen((void *)(uintptr_t)processor->facts, strlen(processor->facts), "r")
             : NULL;
}

long sysconf(int name) {
  long (*next)(int);
  *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
  return processor && name == _SC_NPROCESSORS_CONF ? processor->configured : next(name);
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
  int (*next)(pid_t, size_t, cpu_set_t *);
  *(void **)&next = dlsym(RTLD_NEXT, "sched_getaffinity");
  if (!processor)
    return next(process, bytes, set);
  if (processor->allowed < 0 || (long)bytes * 8 < processor->configured)
    return -1; /* as the kernel does */
  memset(set, 0, bytes);
  for (int i = 0; i < processor->allowed; ++i)
    CPU_SET_S((size_t)i * 3, bytes, set);
  return 0;
}

TESTS(the_processor_is_named, (int)(sizeof processors / sizeof *processors)) {
  prem_machine machine;
  processor = &processors[_i];
  ck_assert_int_eq(prem_backend_probe(prem_backend_find("cpu"), &machine, NULL), PREM_OK);
  processor = NULL;
  ck_assert_str_eq(machine.name, processors[_i].name);
  ck_assert_int_eq(machine.cores, processors[_i].cores);
  ck_assert_int_eq(machine.max_blocks, processors[_i].cores);
}

static prem_status telling(const char *name, prem_precedence_setup setup,
                           prem_precedence_times *out) {
  return prem_measure_precedence(prem_backend_find(name), &setup, out, NULL);
}

TEST(a_successor_begins_behind_all_its_predecessors) {
  prem_precedence_setup setup = {.blocks = 2, .predecessors = 3, .hyperperiods = 20};
  prem_precedence_times times;
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    setup.mode = (prem_mode)mode;
    ck_assert_int_eq(telling("sim", setup, &times), PREM_OK); /* it takes no time to tell there */
    ck_assert_int_eq(times.count, 20);
    ck_assert_int_eq(times.last.max_ns, 0);
    ck_assert_int_eq(telling("cpu", setup, &times), PREM_OK);
    ck_assert_int_eq(times.count, 20);
    ck_assert_int_gt(times.first.p50_ns, 0);
    ck_assert_int_le(times.first.p50_ns, times.first.p99_ns);
    ck_assert_int_le(times.first.p99_ns, times.first.max_ns);
    ck_assert_int_le(times.first.p50_ns, times.last.p50_ns);
    ck_assert_int_le(times.last.p99_ns, times.last.max_ns);
  }
  setup.predecessors = PREM_MAX_PREDECESSORS;
  ck_assert_int_eq(telling("cpu", setup, &times), PREM_OK);
  ++setup.predecessors;
  ck_assert_int_eq(telling("cpu", setup, &times), PREM_ERR_ARGUMENT);
}

/* A virtual machine on which the successor begins 0 to 100 ns late on block 0, each delay once in
 * 101 hyperperiods, and 1000 ns later on block 1. */
static prem_status run_with_delays(void *state, const prem_run_request *request, prem_trace *trace,
                                   prem_diag *diag) {
  const prem_status status = prem_backend_sim.run(state, request, trace, diag);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    if (record->task == 1)
      record->start_ns += record->hyperperiod * 37 % 101 + 1000 * record->block;
  }
  return status;
}

TEST(percentiles_are_those_of_all_delays) {
  const prem_precedence_setup setup = {.blocks = 2, .predecessors = 1, .hyperperiods = 101};
  prem_backend delaying = prem_backend_sim;
  prem_precedence_times times;
  delaying.run = run_with_delays;
  ck_assert_int_eq(prem_measure_precedence(&delaying, &setup, &times, NULL), PREM_OK);
  ck_assert_int_eq(times.count, 101);
  ck_assert_int_eq(times.first.p50_ns, 50);
  ck_assert_int_eq(times.first.p99_ns, 99);
  ck_assert_int_eq(times.first.max_ns, 100);
  ck_assert_int_eq(times.last.p50_ns, 1050);
  ck_assert_int_eq(times.last.p99_ns, 1099);
  ck_assert_int_eq(times.last.max_ns, 1100);
}

/** Where there is a GPU: all its facts, and those of a second probe at once and the same. */
TEST(a_gpu_knows_its_clocks_and_its_memory) {
  const prem_backend *cuda = prem_backend_find("cuda");
  prem_machine machine, again;
  if (!cuda || prem_backend_probe(cuda, &machine, NULL) != PREM_OK)
    return;
  ck_assert_int_gt(machine.clock_step_ns, 0);
  ck_assert_int_gt(machine.clock_read_ns, 0);
  ck_assert_int_gt(machine.clock_skew_ns, machine.clock_step_ns);
  ck_assert_int_lt(machine.clock_skew_ns, 2000 + 2 * machine.clock_step_ns);
  ck_assert_int_ge(machine.max_blocks, machine.cores);
  ck_assert_int_gt(machine.scratch_bytes, 16384);
  ck_assert_int_eq(machine.bandwidth_bytes_per_s, 0);
  const int64_t begin = now_ns();
  ck_assert_int_eq(prem_backend_probe(cuda, &again, NULL), PREM_OK);
  ck_assert_int_lt(now_ns() - begin, PROBE_NS);
  ck_assert_mem_eq(&machine, &again, sizeof machine);
  ck_assert_int_eq(prem_backend_measure(cuda, &machine, NULL), PREM_OK);
  ck_assert_int_gt(machine.bandwidth_bytes_per_s, 10000000000); /* 10 GB/s */
  ck_assert_int_gt(machine.dispatch_ns, machine.clock_step_ns);
  ck_assert_int_lt(machine.dispatch_ns, 100000);
  ck_assert_int_gt(machine.precedence_ns, 0);
  ck_assert_int_lt(machine.precedence_ns, 1000000);
}
