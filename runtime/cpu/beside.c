/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks on the host: a team of their own, on cores of their own where there are some,
 * which goes on until the team beside it has ended. */
#include "runtime/cpu/cpu.h"

#include <stdlib.h>

#include "prem/base/numbers.h"

enum {
  LONGEST_NAP_NS = 5000000, /* so that a stop is seen soon */
  LOOK_EACH_NS = 1000,      /* at the gate, whether the window is over already, */
  LOOK_SHARED_NS = 300000   /* and where that takes a core from others */
};

bool prem_cpu_wait_at_gate(prem_cpu_block *block, const prem_record *record, int64_t *start_ns) {
  prem_gatekeeper *keeper = &block->cpu->keepers[block->number];
  const int64_t look_ns = block->cpu->oversubscribed ? LOOK_SHARED_NS : LOOK_EACH_NS;
  for (;;) {
    *start_ns = prem_cpu_now_ns(block); /* a reading that is old would cost of the bound */
    const int64_t from_ns = prem_gatekeeper_ask(keeper, record, *start_ns);
    if (from_ns <= *start_ns)
      return true;
    if (!prem_gatekeeper_look(keeper) && /* if so, the reading is from before the jobs' ends */
        !prem_cpu_wait_until(block, prem_min_i64(from_ns, *start_ns + look_ns), start_ns))
      return false;
  }
}

bool prem_cpu_wait_for_tile(prem_cpu_block *block, const prem_record *record) {
  const prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  while (prem_errands_take(cpu->errands, block->number, record->task, prem_cpu_now_ns(block)) ==
         PREM_TILE_AWAITED) {
    if (prem_cpu_is_aborted(cpu))
      return false;
    prem_cpu_take_a_turn(cpu, &turns);
  }
  return true;
}

/* ---- errands ----------------------------------------------------------------------------------
 */

static int64_t start_of(void *of) {
  const prem_cpu *critical = of;
  return atomic_load(&critical->common_start_ns.value);
}

static prem_status begin_errands(prem_cpu *beside, prem_best_effort_trace *trace, prem_diag *diag) {
  beside->errands = beside->critical->program->beside->errands;
  beside->arrivals = (prem_arrivals){.start_ns = start_of, .of = beside->critical};
  if (!beside->errands)
    return PREM_OK;
  prem_errands_begin(beside->errands, prem_host_clock_ns(), trace);
  return prem_arrivals_begin(&beside->arrivals, beside->errands, beside->critical->request, diag);
}

static prem_status end_errands(prem_cpu *beside, int64_t length_ns, prem_status ended,
                               prem_diag *diag) {
  if (!beside->errands)
    return PREM_OK;
  prem_arrivals_end(&beside->arrivals);
  return prem_errands_finish(beside->errands, length_ns,
                             ended != PREM_OK && ended != PREM_ERR_INTERRUPTED, diag);
}

/* ---- the team ----------------------------------------------------------------------------------
 */

prem_status prem_cpu_beside_begin(prem_cpu *beside, const prem_run_request *request,
                                  const prem_run_request *own, prem_best_effort_trace *trace,
                                  prem_diag *diag) {
  prem_cpu_setup setup = {0};
  if (request->cpu.cores) { /* the next ones; and no priority, so that they are in nobody's way */
    setup.cores = request->cpu.cores + beside->critical->block_count;
    setup.core_count = request->cpu.core_count - beside->critical->block_count;
  }
  prem_recorder *recorders = NULL;
  prem_status status = prem_cpu_set_up(beside, &setup, diag);
  beside->keepers = prem_gatekeepers_new(beside->critical->program->beside, request->mode);
  if (status == PREM_OK && !beside->keepers)
    status = PREM_ERR_MEMORY;
  if (status == PREM_OK)
    prem_gatekeepers_watch(beside->keepers, prem_cpu_jobs_over, beside->critical);
  if (status == PREM_OK)
    status = prem_recorders_new(beside->program, own, trace->trace, false, &recorders);
  if (status == PREM_OK) {
    prem_cpu_reset_run(beside, own, trace->trace, recorders);
    status = begin_errands(beside, trace, diag);
  }
  if (status != PREM_OK) {
    prem_recorders_free(recorders, beside->program->block_count);
    prem_gatekeepers_free(beside->keepers);
    beside->keepers = NULL;
    return status;
  }
  beside->recorders = recorders;
  prem_cpu_team_launch(beside);
  return PREM_OK;
}

static prem_status collect(const prem_cpu *beside, int64_t length_ns,
                           prem_best_effort_trace *trace) {
  const int32_t tasks = beside->program->schedule->task_count;
  int64_t *jobs = calloc((size_t)tasks, sizeof *jobs);
  int64_t completed = INT64_MAX;
  if (!jobs)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < beside->block_count; ++b)
    if (!beside->errands || !beside->errands->blocks[beside->blocks[b].number])
      completed = prem_min_i64(completed, atomic_load(&beside->blocks[b].records_done) /
                                              beside->blocks[b].records);
  for (int32_t t = 0; t < tasks; ++t) {
    jobs[t] = INT64_MAX;
    for (int32_t p = 0; p < beside->program->tasks[t].active_blocks; ++p)
      jobs[t] = prem_min_i64(jobs[t], atomic_load(&beside->jobs_done[t][p].value));
  }
  prem_gatekeepers_collect(beside->keepers, jobs, length_ns, trace);
  trace->trace->hyperperiods = completed == INT64_MAX ? 0 : completed; /* servers alone */
  trace->trace->oversubscribed = beside->oversubscribed;
  free(jobs);
  return PREM_OK;
}

/* They go on to the end of the last hyperperiod, or until somebody stops the run. Where they are
 * alone, S may not be known yet. */
static void let_go_on(prem_cpu *beside, const prem_run_request *request) {
  for (;;) {
    const int64_t start_ns = start_of(beside->critical);
    const int64_t end_ns =
        start_ns + request->hyperperiods * beside->critical->program->hyperperiod_ns;
    const int64_t left_ns = start_ns ? end_ns - prem_host_clock_ns() : LONGEST_NAP_NS;
    if (left_ns <= 0)
      return;
    const struct timespec nap = {.tv_nsec = (long)prem_min_i64(left_ns, LONGEST_NAP_NS)};
    if ((request->stop && *request->stop) || prem_cpu_is_aborted(beside))
      return;
    nanosleep(&nap, NULL);
  }
}

/* A compute in hand may end, so long as the watchdog is patient; after a run that was stopped or
 * failed no longer than the others had. */
prem_status prem_cpu_beside_end(prem_cpu *beside, prem_status ended, prem_best_effort_trace *trace,
                                prem_diag *diag) {
  prem_cpu_watchdog dog;
  int64_t expected = PREM_CPU_GO_ON;
  if (ended == PREM_OK)
    let_go_on(beside, beside->critical->request);
  const int64_t start_ns = start_of(beside->critical);
  const int64_t length_ns = start_ns ? prem_host_clock_ns() - start_ns : 0;
  atomic_compare_exchange_strong(&beside->abort.value, &expected, PREM_CPU_OVER);
  prem_cpu_watchdog_begin(&dog, beside, beside->request->timeout_ns);
  if (ended == PREM_OK)
    dog.patience_ns = dog.timeout_ns;
  prem_cpu_watch_home(&dog);
  prem_status status = prem_cpu_watchdog_judge(&dog, diag);
  if (status == PREM_OK && beside->lost)
    status = PREM_ERR_MACHINE;
  if (status == PREM_OK)
    status = prem_cpu_judge_stores(beside, diag);
  prem_status collected = collect(beside, length_ns, trace);
  const prem_status counted = end_errands(beside, length_ns, status ? status : ended, diag);
  collected = collected ? collected : counted;
  prem_recorders_collect(beside->program, beside->recorders, trace->trace);
  prem_recorders_free(beside->recorders, beside->program->block_count);
  prem_gatekeepers_free(beside->keepers);
  beside->recorders = NULL;
  beside->keepers = NULL;
  return status == PREM_OK ? collected : status;
}
