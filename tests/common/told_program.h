/* SPDX-License-Identifier: Apache-2.0 */
/** For golden suites: a model, its plan, its program and what the simulator makes of it, number by
 *  number, as sums. */
#ifndef TTPREM_TESTS_COMMON_TOLD_PROGRAM_H
#define TTPREM_TESTS_COMMON_TOLD_PROGRAM_H

#include "runtime/core/backend.h"
#include "runtime/core/program.h"
#include "tests/common/golden.h"

static uint64_t told_sum; /* of what is told since the last told_end() */

static inline void told_add(int64_t value) {
  told_sum = golden_sum(told_sum, &value, sizeof value);
}

static inline void told_end(FILE *file, const char *what) {
  fprintf(file, " %s %016" PRIx64, what, told_sum);
  told_sum = GOLDEN_SUM;
}

/* ---- models and programs -------------------------------------------------------------------- */

static inline void told_model(const prem_schedule *schedule) {
  told_add(schedule->period_lcm_ns);
  for (int32_t a = 0; a < schedule->array_count; ++a)
    told_add(schedule->arrays[a].writer);
  for (int32_t b = 0; b <= schedule->platform.blocks; ++b)
    told_add(prem_block_scratch_bytes(schedule, b));
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    told_sum = golden_sum(told_sum, task->name, strlen(task->name));
    told_add(prem_task_jobs(schedule, task));
    told_add(prem_task_profiled(task));
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int32_t tile = 0; tile < task->tile_count; ++tile)
        told_add(prem_task_phase_bytes(schedule, task, (prem_phase)p, tile));
    for (int32_t other = 0; other < schedule->task_count; ++other)
      told_add(prem_tasks_are_by_block(schedule, t, other));
  }
}

static inline void told_slots(const prem_schedule *schedule, const prem_plan *plan) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  told_add(plan->hyperperiod_ns);
  told_add(prem_plan_offset_ns(plan));
  told_add((int64_t)prem_plan_expand(schedule, plan, &slots, &count, NULL));
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    const int64_t all[] = {slot->planned_ns, slot->length_ns, slot->head_ns, slot->task, slot->job,
                           slot->tile,       slot->block,     slot->phase,   slot->flags};
    for (int v = 0; v < 9; ++v)
      told_add(all[v]);
  }
  free(slots);
}

static inline void told_records(const prem_record *records, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const prem_record *r = &records[i];
    const int64_t all[] = {r->planned_ns, r->planned_end_ns, r->tile,      r->job,
                           r->wait[0],    r->wait[1],        r->wait[2],   r->task,
                           r->phase,      r->flags,          r->in_buffer, r->out_buffer};
    for (int v = 0; v < 12; ++v)
      told_add(all[v]);
  }
}

static inline void told_program(const prem_schedule *schedule) {
  prem_program *program = NULL;
  told_add((int64_t)prem_program_new(schedule, &program, NULL));
  if (!program)
    return;
  told_add(program->hyperperiod_ns);
  told_add(program->record_count);
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_block_program *block = &program->blocks[b];
    told_records(block->memory, block->memory_count);
    told_records(block->compute, block->compute_count);
    told_add(block->in_bytes);
    told_add(block->out_bytes);
    told_add(block->turns);
    told_add(prem_block_max_ahead(block));
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      told_add(block->phase_count[p]);
    for (int i = 0; i < PREM_MAX_BUFFERS; ++i) {
      told_add(block->in_turn[i]);
      told_add(block->out_turn[i]);
    }
    for (int32_t t = 0; t < schedule->task_count; ++t)
      told_add(prem_block_position(block, t));
  }
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task_program *task = &program->tasks[t];
    told_add(task->jobs);
    told_add(task->active_blocks);
    told_add(task->after_count);
    for (int32_t a = 0; a < task->edge_count; ++a) {
      told_add(task->after[a].task);
      told_add(task->after[a].phase);
      told_add(task->after[a].lag_ns);
      told_add(task->after[a].by_block);
      for (int32_t j = 0; j < task->jobs; ++j)
        told_add(task->after[a].needed_jobs[j]);
    }
  }
  prem_program_free(program);
}

/* ---- the simulator -------------------------------------------------------------------------- */

static inline void told_trace(const prem_schedule *schedule, const prem_trace *trace) {
  told_add(trace->record_count);
  told_add(trace->lost);
  told_add(trace->warmup_count);
  told_add(trace->hyperperiods);
  told_add(trace->launch_ns);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int64_t all[] = {r->release_ns,  r->ready_ns, r->start_ns, r->end_ns,
                           r->hyperperiod, r->job,      r->tile,     r->task,
                           r->block,       r->phase,    r->flags};
    for (int v = 0; v < 11; ++v)
      told_add(all[v]);
  }
  for (int32_t c = 0; c < schedule->task_count * PREM_PHASE_COUNT; ++c) {
    const prem_phase_stats *stats = &trace->stats[c];
    told_add(stats->count);
    told_add(stats->releases);
    told_add(stats->late);
    told_add(stats->overruns);
    told_add(stats->duration_min_ns);
    told_add(stats->duration_max_ns);
    told_add(stats->duration_sum_ns);
    told_add(stats->lateness_max_ns);
    told_add(stats->overrun_max_ns);
    for (int i = 0; i < PREM_HIST_BUCKETS; ++i)
      told_add(stats->lateness_hist[i]);
  }
  for (int64_t h = 0; h < trace->hyperperiod_capacity; ++h) {
    told_add(trace->away_ns[h * trace->job_count]);
    told_add(trace->epoch_ns[h]);
    for (int64_t j = 0; j < trace->job_count; ++j)
      told_add(trace->job_end_ns[h * trace->job_count + j]);
  }
}

/* Twice on one session, the second time with room for a few records. */
static inline void told_runs(const prem_schedule *schedule) {
  prem_session *session = NULL;
  if (prem_session_open(&prem_backend_sim, schedule, &session, NULL) != PREM_OK)
    return;
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode)
    for (int few = 0; few < 2; ++few) {
      prem_trace *trace = NULL;
      const prem_run_request request = {.mode = (prem_mode)mode, .hyperperiods = 3 - few};
      ck_assert_int_eq(prem_trace_new(schedule, 3, few ? 9 : 100000, &trace), PREM_OK);
      told_trace(schedule, trace);
      told_add((int64_t)prem_session_run(session, &request, trace, NULL));
      prem_trace_sort(trace);
      told_trace(schedule, trace);
      prem_trace_clear(trace);
      told_trace(schedule, trace);
      prem_trace_free(trace);
    }
  prem_session_close(session);
}

static inline void told_all(FILE *file, const prem_schedule *schedule) {
  told_model(schedule);
  if (schedule->plan) {
    told_slots(schedule, schedule->plan);
    told_end(file, "plan");
    told_program(schedule);
    told_end(file, "program");
    told_runs(schedule);
  }
  told_end(file, "runs");
}

#endif
