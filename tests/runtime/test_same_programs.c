/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plans of random schedules are compiled to, what the simulator makes of them, and the same of
 * parts of them and of stretched plans, is what it was, record by record (see
 * tests/common/golden.h): others show that it is right.
 */
#include "runtime/core/backend.h"
#include "runtime/core/program.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"

enum { SEEDS = 120 };

static uint64_t sum; /* of what is told */

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void tell(FILE *file, const char *what) {
  fprintf(file, " %s %016" PRIx64, what, sum);
  sum = GOLDEN_SUM;
}

/* ---- models and programs -------------------------------------------------------------------- */

static void add_model(const prem_schedule *schedule) {
  add(schedule->period_lcm_ns);
  for (int32_t a = 0; a < schedule->array_count; ++a)
    add(schedule->arrays[a].writer);
  for (int32_t b = 0; b <= schedule->platform.blocks; ++b)
    add(prem_block_scratch_bytes(schedule, b));
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    sum = golden_sum(sum, task->name, strlen(task->name));
    add(prem_task_jobs(schedule, task));
    add(prem_task_profiled(task));
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int32_t tile = 0; tile < task->tile_count; ++tile)
        add(prem_task_phase_bytes(schedule, task, (prem_phase)p, tile));
    for (int32_t other = 0; other < schedule->task_count; ++other)
      add(prem_tasks_are_by_block(schedule, t, other));
  }
}

static void add_slots(const prem_schedule *schedule, const prem_plan *plan) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  add(plan->hyperperiod_ns);
  add(prem_plan_offset_ns(plan));
  add((int64_t)prem_plan_expand(schedule, plan, &slots, &count, NULL));
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    const int64_t all[] = {slot->planned_ns, slot->length_ns, slot->head_ns, slot->task, slot->job,
                           slot->tile,       slot->block,     slot->phase,   slot->flags};
    for (int v = 0; v < 9; ++v)
      add(all[v]);
  }
  free(slots);
}

static void add_records(const prem_record *records, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const prem_record *r = &records[i];
    const int64_t all[] = {r->planned_ns, r->planned_end_ns, r->tile,      r->job,
                           r->wait[0],    r->wait[1],        r->wait[2],   r->task,
                           r->phase,      r->flags,          r->in_buffer, r->out_buffer};
    for (int v = 0; v < 12; ++v)
      add(all[v]);
  }
}

static void add_program(const prem_schedule *schedule) {
  prem_program *program = NULL;
  add((int64_t)prem_program_new(schedule, &program, NULL));
  if (!program)
    return;
  add(program->hyperperiod_ns);
  add(program->record_count);
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_block_program *block = &program->blocks[b];
    add_records(block->memory, block->memory_count);
    add_records(block->compute, block->compute_count);
    add(block->in_bytes);
    add(block->out_bytes);
    add(block->turns);
    add(prem_block_max_ahead(block));
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      add(block->phase_count[p]);
    for (int i = 0; i < PREM_MAX_BUFFERS; ++i) {
      add(block->in_turn[i]);
      add(block->out_turn[i]);
    }
    for (int32_t t = 0; t < schedule->task_count; ++t)
      add(block->task_position[t]);
  }
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task_program *task = &program->tasks[t];
    add(task->jobs);
    add(task->active_blocks);
    add(task->after_count);
    for (int32_t a = 0; a < task->edge_count; ++a) {
      add(task->after[a].task);
      add(task->after[a].phase);
      add(task->after[a].lag_ns);
      add(task->after[a].by_block);
      for (int32_t j = 0; j < task->jobs; ++j)
        add(task->after[a].needed_jobs[j]);
    }
  }
  prem_program_free(program);
}

/* ---- the simulator -------------------------------------------------------------------------- */

static void add_trace(const prem_schedule *schedule, const prem_trace *trace) {
  add(trace->record_count);
  add(trace->lost);
  add(trace->warmup_count);
  add(trace->hyperperiods);
  add(trace->launch_ns);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int64_t all[] = {r->release_ns,  r->ready_ns, r->start_ns, r->end_ns,
                           r->hyperperiod, r->job,      r->tile,     r->task,
                           r->block,       r->phase,    r->flags};
    for (int v = 0; v < 11; ++v)
      add(all[v]);
  }
  for (int32_t c = 0; c < schedule->task_count * PREM_PHASE_COUNT; ++c) {
    const prem_phase_stats *stats = &trace->stats[c];
    add(stats->count);
    add(stats->releases);
    add(stats->late);
    add(stats->overruns);
    add(stats->duration_min_ns);
    add(stats->duration_max_ns);
    add(stats->duration_sum_ns);
    add(stats->lateness_max_ns);
    add(stats->overrun_max_ns);
    for (int i = 0; i < PREM_HIST_BUCKETS; ++i)
      add(stats->lateness_hist[i]);
  }
  for (int64_t h = 0; h < trace->hyperperiod_capacity; ++h) {
    add(trace->away_ns[h]);
    add(trace->epoch_ns[h]);
    for (int64_t j = 0; j < trace->job_count; ++j)
      add(trace->job_end_ns[h * trace->job_count + j]);
  }
}

/* Twice on one session, the second time with room for a few records. */
static void add_runs(const prem_schedule *schedule) {
  prem_session *session = NULL;
  if (prem_session_open(&prem_backend_sim, schedule, &session, NULL) != PREM_OK)
    return;
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode)
    for (int few = 0; few < 2; ++few) {
      prem_trace *trace = NULL;
      const prem_run_request request = {.mode = (prem_mode)mode, .hyperperiods = 3 - few};
      ck_assert_int_eq(prem_trace_new(schedule, 3, few ? 9 : 100000, &trace), PREM_OK);
      add_trace(schedule, trace);
      add((int64_t)prem_session_run(session, &request, trace, NULL));
      prem_trace_sort(trace);
      add_trace(schedule, trace);
      prem_trace_clear(trace);
      add_trace(schedule, trace);
      prem_trace_free(trace);
    }
  prem_session_close(session);
}

static void tell_all(FILE *file, const prem_schedule *schedule) {
  add_model(schedule);
  if (schedule->plan) {
    add_slots(schedule, schedule->plan);
    tell(file, "plan");
    add_program(schedule);
    tell(file, "program");
    add_runs(schedule);
  }
  tell(file, "runs");
}

/* ---- parts, stretched plans ----------------------------------------------------------------- */

static void tell_part(FILE *file, const prem_schedule *schedule, uint64_t seed) {
  bool keep[RANDOM_TASKS] = {false};
  for (int32_t t = 0; t < schedule->task_count && t < RANDOM_TASKS; ++t)
    keep[t] = seed >> t & 1;
  prem_schedule *part = NULL;
  if (prem_schedule_subset(schedule, keep, &part) != PREM_OK)
    return;
  fprintf(file, "\n  part of %d:", part->task_count);
  tell_all(file, part);
  if (part->task_count > 0 && part->tasks[0].definition) {
    prem_diag *diag = prem_diag_new();
    fprintf(file, "\n  replaced: %s",
            prem_status_text(prem_schedule_replace(part, 0, "vector_increment", 64,
                                                   prem_registry_builtin(), diag)));
    add((int64_t)golden_problems(diag));
    tell_all(file, part);
    prem_diag_free(diag);
  }
  prem_schedule_free(part);
}

static void tell_stretched(FILE *file, const prem_schedule *schedule, uint64_t seed) {
  prem_plan *plan = NULL;
  const int64_t offset_ns = prem_plan_offset_ns(schedule->plan);
  const prem_status status =
      prem_plan_stretch(schedule, schedule->plan,
                        offset_ns * (int64_t)(1 + seed % 3) + (int64_t)(seed % 2), &plan, NULL);
  fprintf(file, "\n  stretched: %s", prem_status_text(status));
  if (plan)
    add_slots(schedule, plan);
  tell(file, "");
  prem_plan_free(plan);
}

static void tell_schedule(FILE *file, prem_schedule *schedule, uint64_t seed) {
  sum = GOLDEN_SUM;
  tell_all(file, schedule);
  tell_part(file, schedule, seed / 2 + 1);
  tell_part(file, schedule, seed * 7 % 31);
  tell_stretched(file, schedule, seed);
  fputc('\n', file);
}

/* ---- precedence by block, units per task: what random schedules do not have ----------------- */

static const char *by_block(uint64_t seed) {
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 3; buffers = %d; resources = ("
      " { name = \"memory\"; capacity = %d; }, { name = \"bus\"; capacity = 2; per = \"task\"; }"
      " ); };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96 ]; fill = \"random\"; },"
      " { name = \"y\"; type = \"f32\"; shape = [ 96 ]; },"
      " { name = \"z\"; type = \"f32\"; shape = [ 96 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = \"0-2\"; tile = [ %d ];"
      " %s arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 300L;"
      " demand: { memory = 2; bus = 1; }; }; compute: { wcet_ns = 200L; };"
      " writeback: { wcet_ns = %dL; }; },\n"
      " { name = \"b\"; kernel = \"vector_increment\"; blocks = \"0-2\"; tile = [ %d ]; %s"
      " arrays: { in = \"y\"; out = \"z\"; }; prefetch: { wcet_ns = 170L;"
      " demand: { memory = 3; bus = 2; }; }; compute: { wcet_ns = 450L; };"
      " writeback: { wcet_ns = 90L; };"
      " after = ( { task = \"a\"; %s } ); } );",
      1 + (int)(seed % 3), 3 + (int)(seed % 2), seed % 5 ? 16 : 12,
      seed % 4 == 3 ? "period_ns = 40000L;" : "", 100 + 10 * (int)(seed % 7), seed % 5 ? 16 : 12,
      seed % 4 == 3 ? "period_ns = 40000L;" : "", seed % 2 ? "per = \"block\";" : "lag_ns = 50L;");
}

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    prem_schedule *schedule = NULL;
    if (random_schedule_plan(seed, NULL, &schedule, NULL) == PREM_OK) {
      fprintf(file, "schedule %" PRIu64 ":", seed);
      tell_schedule(file, schedule, seed);
    }
    prem_schedule_free(schedule);
  }
  fclose(file);
  golden_judge("programs.txt", found);
}
END_TEST

START_TEST(of_blocks) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    prem_schedule *schedule = schedule_from_text(by_block(seed));
    prem_plan *plan = NULL;
    const prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, NULL);
    fprintf(file, "blocks %" PRIu64 ": %s", seed, prem_status_text(status));
    prem_schedule_set_plan(schedule, plan);
    if (plan)
      tell_schedule(file, schedule, seed);
    prem_schedule_free(schedule);
  }
  fclose(file);
  golden_judge("programs_blocks.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same programs");
  TCase *schedules = tcase_create("schedules");
  tcase_set_timeout(schedules, 240);
  tcase_add_test(schedules, of_schedules);
  suite_add_tcase(suite, schedules);
  TCase *blocks = tcase_create("blocks");
  tcase_set_timeout(blocks, 240);
  tcase_add_test(blocks, of_blocks);
  suite_add_tcase(suite, blocks);
  return run_suite(suite);
}
