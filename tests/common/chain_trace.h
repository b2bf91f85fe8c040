/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests of causes: three tasks, one after the other, each on all blocks, and the trace of an
 * executor that keeps their plan as far as it is let. What goes wrong is given.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "tests/common/owned.h"
#include "ttprem/ttprem.h"
#include "ttprem/ttprem_measure.h"

enum {
  CHAIN_TASKS = 3,
  CHAIN_PF_NS = 1000,
  CHAIN_C_NS = 1500,
  CHAIN_WB_NS = 500,
  CHAIN_CYCLE_NS = 2000,
  CHAIN_LATE_NS = 128,
  CHAIN_GAP_NS = 4600,     /* planned, from the end of a task to the next one's start */
  CHAIN_HANDOVER_NS = 1500 /* what it takes */
};

typedef struct chain_run {
  int32_t blocks, tiles; /* tiles of a block, in a job */
  int64_t hyperperiods;
  int64_t idle_ns; /* at the end of a hyperperiod */
  bool apart;      /* prefetches and writebacks of a block do not wait for each other */
  bool asks_twice; /* a first compute waits for the job before it anew */
  /* how much longer than its window a phase takes, and a hand-over to a task; NULL: no longer */
  int64_t (*excess_ns)(int64_t hyperperiod, int32_t task, int32_t block, int32_t tile,
                       prem_phase phase);
  int64_t (*delay_ns)(int64_t hyperperiod, int32_t task);
} chain_run;

static inline int64_t chain_task_ns(const chain_run *run) {
  return (run->tiles - 1) * (int64_t)CHAIN_CYCLE_NS + 4000 + CHAIN_GAP_NS;
}

static inline int64_t chain_hyperperiod_ns(const chain_run *run) {
  return CHAIN_TASKS * chain_task_ns(run) + run->idle_ns;
}

static inline int64_t chain_start_ns(const chain_run *run, int32_t task, int32_t tile,
                                     prem_phase phase) {
  static const int64_t offsets_ns[] = {0, CHAIN_PF_NS, 3500};
  return task * chain_task_ns(run) + tile * (int64_t)CHAIN_CYCLE_NS + offsets_ns[phase];
}

static inline prem_schedule *chain_schedule(const chain_run *run) {
  FREED char *source = calloc(1, 1 << 14);
  int at = sprintf(source,
                   "version = 1; name = \"chain\"; platform: { blocks = %d; buffers = 2;"
                   " late_ns = %dL; resources = ( { name = \"memory\"; capacity = %d; } ); };"
                   "tasks = (",
                   run->blocks, CHAIN_LATE_NS, 2 * run->blocks);
  for (int t = 0; t < CHAIN_TASKS; ++t) {
    at += sprintf(source + at,
                  "%s { name = \"%c\"; kernel = \"none\"; blocks = \"0-%d\"; tiles = %d;"
                  " prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; };"
                  " writeback: { wcet_ns = %dL; };",
                  t ? "," : "", 'a' + t, run->blocks - 1, run->tiles * run->blocks, CHAIN_PF_NS,
                  CHAIN_C_NS, CHAIN_WB_NS);
    if (t > 0)
      at += sprintf(source + at, " after = ( { task = \"%c\"; } );", 'a' + t - 1);
    at += sprintf(source + at, " }");
  }
  at += sprintf(source + at, " ); plan: { hyperperiod_ns = %lldL; runs = (",
                (long long)chain_hyperperiod_ns(run));
  for (int i = 0; i < CHAIN_TASKS * PREM_PHASE_COUNT; ++i)
    at += sprintf(source + at,
                  "%s { task = \"%c\"; phase = \"%s\"; start_ns = %lldL; count = %d; repeat = %d;"
                  " step_ns = %dL; }",
                  i ? "," : "", 'a' + i / 3, prem_phase_name((prem_phase)(i % 3)),
                  (long long)chain_start_ns(run, i / 3, 0, (prem_phase)(i % 3)), run->blocks,
                  run->tiles, CHAIN_CYCLE_NS);
  sprintf(source + at, " ); };");
  prem_schedule *schedule = NULL;
  if (prem_schedule_load_text("chain", source, &schedule, NULL) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), NULL) != PREM_OK)
    abort();
  return schedule;
}

/* What a block has done: two buffers, so the ends of the last two of each kind. */
typedef struct chain_block {
  int64_t memory_ns[PREM_PHASE_COUNT]; /* its units are free: that of prefetches, of writebacks */
  int64_t compute_ns;
  int64_t compute_end_ns[2], writeback_end_ns[2]; /* of the even tiles, of the odd ones */
} chain_block;

typedef struct chain_executor {
  const chain_run *run;
  const prem_schedule *schedule;
  prem_trace *trace;
  chain_block *blocks;
} chain_executor;

static inline int64_t chain_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Returns its end. */
static inline int64_t chain_phase(chain_executor *on, int64_t hyperperiod, int32_t task,
                                  int32_t block, int32_t tile, prem_phase phase, int64_t ready_ns) {
  static const int64_t windows_ns[] = {CHAIN_PF_NS, CHAIN_C_NS, CHAIN_WB_NS};
  const chain_run *run = on->run;
  const int64_t release_ns =
      hyperperiod * chain_hyperperiod_ns(run) + chain_start_ns(run, task, tile, phase);
  const int64_t excess_ns =
      run->excess_ns ? run->excess_ns(hyperperiod, task, block, tile, phase) : 0;
  prem_trace_record record = {.release_ns = release_ns,
                              .ready_ns = ready_ns,
                              .start_ns = chain_max(release_ns, ready_ns),
                              .hyperperiod = (int32_t)hyperperiod,
                              .tile = tile * run->blocks + block,
                              .task = (uint16_t)task,
                              .block = (uint16_t)block,
                              .phase = (uint8_t)phase};
  record.end_ns = record.start_ns + windows_ns[phase] + excess_ns;
  on->trace->records[on->trace->record_count++] = record;
  prem_phase_stats_add(&on->trace->stats[task * PREM_PHASE_COUNT + (int)phase], &record, INT64_MAX,
                       CHAIN_LATE_NS);
  int64_t *end_ns = &on->trace->job_end_ns[hyperperiod * on->trace->job_count + task];
  *end_ns = chain_max(*end_ns, record.end_ns);
  return record.end_ns;
}

static inline void chain_memory_over(chain_executor *on, int32_t block, prem_phase phase,
                                     int64_t end_ns) {
  int64_t *free_ns = on->blocks[block].memory_ns;
  free_ns[phase] = end_ns;
  if (!on->run->apart)
    free_ns[PREM_PREFETCH] = free_ns[PREM_WRITEBACK] = end_ns;
}

static inline void chain_writeback(chain_executor *on, int64_t hyperperiod, int32_t task,
                                   int32_t block, int32_t tile) {
  chain_block *of = &on->blocks[block];
  const int64_t end_ns =
      chain_phase(on, hyperperiod, task, block, tile, PREM_WRITEBACK,
                  chain_max(of->compute_end_ns[tile % 2], of->memory_ns[PREM_WRITEBACK]));
  of->writeback_end_ns[tile % 2] = end_ns;
  chain_memory_over(on, block, PREM_WRITEBACK, end_ns);
}

static inline void chain_job(chain_executor *on, int64_t hyperperiod, int32_t task, int32_t block,
                             int64_t before_ns, int64_t again_ns) {
  chain_block *of = &on->blocks[block];
  for (int32_t tile = 0; tile < on->run->tiles; ++tile) {
    int64_t ready_ns = chain_max(of->memory_ns[PREM_PREFETCH], of->compute_end_ns[tile % 2]);
    const int64_t fetched_ns = chain_phase(on, hyperperiod, task, block, tile, PREM_PREFETCH,
                                           tile ? ready_ns : chain_max(ready_ns, before_ns));
    chain_memory_over(on, block, PREM_PREFETCH, fetched_ns);
    ready_ns = chain_max(fetched_ns, chain_max(of->compute_ns, of->writeback_end_ns[tile % 2]));
    of->compute_ns = of->compute_end_ns[tile % 2] =
        chain_phase(on, hyperperiod, task, block, tile, PREM_COMPUTE,
                    tile ? ready_ns : chain_max(ready_ns, again_ns));
    if (tile > 0)
      chain_writeback(on, hyperperiod, task, block, tile - 1);
  }
  chain_writeback(on, hyperperiod, task, block, on->run->tiles - 1);
}

static inline void chain_hyperperiod(chain_executor *on, int64_t hyperperiod) {
  const chain_run *run = on->run;
  for (int32_t task = 0; task < CHAIN_TASKS; ++task) {
    int64_t before_ns = 0, again_ns = 0;
    if (task > 0) {
      const int64_t delay_ns = run->delay_ns ? run->delay_ns(hyperperiod, task) : 0;
      before_ns = on->trace->job_end_ns[hyperperiod * on->trace->job_count + task - 1] +
                  CHAIN_HANDOVER_NS + delay_ns;
      again_ns = run->asks_twice ? before_ns + CHAIN_HANDOVER_NS + delay_ns : 0;
    }
    for (int32_t block = 0; block < run->blocks; ++block)
      chain_job(on, hyperperiod, task, block, before_ns, again_ns);
  }
}

/** Sorted; free with prem_trace_free(). */
static inline prem_trace *chain_trace(const chain_run *run, const prem_schedule *schedule) {
  chain_executor on = {.run = run, .schedule = schedule};
  if (prem_trace_new(schedule, run->hyperperiods, INT64_MAX / 2, &on.trace) != PREM_OK)
    abort();
  prem_trace_begin_periodically(on.trace, chain_hyperperiod_ns(run), run->hyperperiods);
  on.blocks = calloc((size_t)run->blocks, sizeof *on.blocks);
  for (int64_t h = 0; h < run->hyperperiods; ++h)
    chain_hyperperiod(&on, h);
  on.trace->hyperperiods = run->hyperperiods;
  free(on.blocks);
  prem_trace_sort(on.trace);
  return on.trace;
}
