/* A block's thread: wait at the gate, agree on S, execute the records, go home. */
#include "cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "windows.h"

enum {
  START_MARGIN_NS = 100000,           /* from the last block's arrival to S, */
  START_MARGIN_OF_A_BLOCK_NS = 20000, /* and per block when they share cores */
  WAKE_EARLY_NS = 100000,             /* a sleeper may oversleep by so much */
  LONGEST_NAP_NS = 1000000,           /* so that an abort is seen soon */
  TURNS_BEFORE_A_NAP = 64,
  NAP_NS = 50000
};

/* ---- waiting -------------------------------------------------------------------------------- */

static bool is_aborted(const prem_cpu *cpu) {
  return atomic_load_explicit(&cpu->abort.value, memory_order_relaxed) != PREM_CPU_GO_ON;
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void sleep_ns(int64_t length_ns) {
  const struct timespec length = {.tv_nsec = (long)length_ns}; /* below a second */
  nanosleep(&length, NULL);
}

/* Let time pass before looking again. Cores that are shared are handed on. */
static void let_time_pass(const prem_cpu *cpu, int64_t left_ns) {
  if (!cpu->oversubscribed)
    pause_core();
  else if (left_ns <= 2 * WAKE_EARLY_NS)
    sched_yield();
  else
    sleep_ns(left_ns - WAKE_EARLY_NS < LONGEST_NAP_NS ? left_ns - WAKE_EARLY_NS : LONGEST_NAP_NS);
}

/* The same where nobody knows how long it takes. */
static void take_a_turn(const prem_cpu *cpu, int32_t *turns) {
  if (!cpu->oversubscribed)
    pause_core();
  else if (++*turns < TURNS_BEFORE_A_NAP)
    sched_yield();
  else
    sleep_ns(NAP_NS);
}

static int64_t now_ns(const prem_cpu_block *block) {
  return prem_cpu_clock_ns() - block->origin_ns;
}

/* Wait until an instant (from S); `*out_ns` is the reading that ended it. False: aborted. */
static bool wait_until(prem_cpu_block *block, int64_t instant_ns, int64_t *out_ns) {
  int64_t now = now_ns(block);
  if (now < instant_ns)
    atomic_store_explicit(&block->waits_until_ns, block->origin_ns + instant_ns,
                          memory_order_relaxed);
  while (now < instant_ns) {
    if (is_aborted(block->cpu))
      return false;
    let_time_pass(block->cpu, instant_ns - now);
    now = now_ns(block);
  }
  *out_ns = now;
  return true;
}

/* Wait until every active block of a task has finished so many of its jobs. */
static bool wait_for_jobs(const prem_cpu_block *block, int32_t task, int64_t jobs) {
  const prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  for (int32_t p = 0; p < cpu->program->tasks[task].active_blocks; ++p)
    while (atomic_load_explicit(&cpu->jobs_done[task][p].value, memory_order_acquire) < jobs) {
      if (is_aborted(cpu))
        return false;
      take_a_turn(cpu, &turns);
    }
  return true;
}

static int64_t *job_end(const prem_cpu *cpu, int32_t task, int64_t job_of_run) {
  const int32_t jobs = cpu->program->tasks[task].jobs;
  const int64_t hyperperiod = job_of_run / jobs;
  return &cpu->trace->job_end_ns[hyperperiod * cpu->trace->job_count + cpu->trace->first_job[task] +
                                 job_of_run % jobs];
}

/* Wait for the predecessors of a record's job; `*earliest_ns` rises to the last end plus its lag.
 */
static bool wait_for_predecessors(const prem_cpu_block *block, int64_t hyperperiod,
                                  const prem_record *record, int64_t *earliest_ns) {
  const prem_cpu *cpu = block->cpu;
  const prem_task_program *task = &cpu->program->tasks[record->task];
  for (int32_t i = 0; i < task->after_count; ++i) {
    const prem_after_program *after = &task->after[i];
    const int64_t jobs =
        hyperperiod * cpu->program->tasks[after->task].jobs + after->pred_jobs[record->job];
    if (jobs <= 0)
      continue;
    if (!wait_for_jobs(block, after->task, jobs))
      return false;
    const int64_t end_ns = __atomic_load_n(job_end(cpu, after->task, jobs - 1), __ATOMIC_RELAXED);
    if (end_ns + after->lag_ns > *earliest_ns)
      *earliest_ns = end_ns + after->lag_ns;
  }
  return true;
}

static bool wait_for_tokens(const prem_cpu_block *block, const prem_cpu_claim *claim) {
  prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  const int64_t ticket = prem_cpu_tokens_queue(&cpu->tokens);
  while (!prem_cpu_tokens_take(&cpu->tokens, ticket, claim)) {
    if (is_aborted(cpu))
      return false;
    take_a_turn(cpu, &turns);
  }
  return true;
}

/* ---- the phases ----------------------------------------------------------------------------- */

static unsigned char *input_buffer(const prem_cpu_block *block, const prem_record *record) {
  return block->scratch +
         (size_t)block->in_buffers[record->in_buffer] * (size_t)block->program->in_bytes;
}

static unsigned char *output_buffer(const prem_cpu_block *block, const prem_record *record) {
  const size_t inputs =
      (size_t)block->cpu->program->schedule->platform.buffers * (size_t)block->program->in_bytes;
  return block->scratch + inputs +
         (size_t)block->out_buffers[record->out_buffer] * (size_t)block->program->out_bytes;
}

/* False: the watchdog gave the block up meanwhile; only its own memory may be touched from here. */
static bool compute(prem_cpu_block *block, const prem_record *record) {
  const prem_cpu_kernel *kernel = &block->cpu->kernels[record->task];
  if (!kernel->compute)
    return true;
  prem_view views[PREM_MAX_PORTS];
  prem_tile_views(block->cpu->arrays, record->task, record->tile, input_buffer(block, record),
                  output_buffer(block, record), views);
  atomic_store_explicit(&block->stage, PREM_CPU_COMPUTING, memory_order_release);
  kernel->compute(kernel->params, views);
  int expected = PREM_CPU_COMPUTING;
  return atomic_compare_exchange_strong_explicit(&block->stage, &expected, PREM_CPU_RUNNING,
                                                 memory_order_acq_rel, memory_order_acquire);
}

static bool perform(prem_cpu_block *block, const prem_record *record) {
  prem_arrays *arrays = block->cpu->arrays;
  switch (record->phase) {
  case PREM_PREFETCH:
    prem_tile_fetch(arrays, record->task, record->tile, input_buffer(block, record));
    return true;
  case PREM_WRITEBACK:
    prem_tile_store(arrays, record->task, record->tile, output_buffer(block, record));
    return true;
  default:
    return compute(block, record);
  }
}

/* ---- one record, or a joined pair ----------------------------------------------------------- */

/* When a record (or a joined pair) is to begin, from S. Job releases hold in every mode. */
static int64_t due_ns(const prem_cpu *cpu, int64_t hyperperiod, const prem_record *record,
                      int32_t count) {
  const int64_t base_ns = hyperperiod * cpu->program->hyperperiod_ns;
  if (record->flags & PREM_SLOT_WARMUP)
    return base_ns;
  int64_t due = base_ns;
  if (cpu->request->mode == PREM_MODE_TT && !(record->flags & PREM_SLOT_CHAINED))
    due += record->start_ns;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t release_ns =
        prem_job_release_ns(cpu->program, record[i].task, hyperperiod, record[i].job);
    if (release_ns > due)
      due = release_ns;
  }
  return due;
}

/* The plan's instant of a record, where it has one and the mode keeps it. */
static int64_t planned_release_ns(const prem_cpu *cpu, int64_t hyperperiod,
                                  const prem_record *record) {
  if (cpu->request->mode != PREM_MODE_TT ||
      (record->flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP)))
    return PREM_NO_RELEASE;
  return hyperperiod * cpu->program->hyperperiod_ns + record->start_ns;
}

/* The block works its records in order, so their waits on the block itself are over by now; if one
 * is not, the records are wrong and going on would move garbage. */
static bool own_waits_are_over(const prem_cpu_block *block, int64_t hyperperiod,
                               const prem_record *record) {
  for (int32_t p = 0; p < PREM_PHASE_COUNT; ++p)
    if (record->wait[p] != PREM_NO_WAIT &&
        block->phases_done[p] < hyperperiod * block->program->phase_count[p] + record->wait[p])
      return false;
  return true;
}

static void raise_fault(prem_cpu_block *block) {
  prem_cpu_fault *fault = &block->cpu->fault;
  bool expected = false;
  if (atomic_compare_exchange_strong(&fault->claimed, &expected, true)) {
    fault->block = block;
    fault->at_ns = now_ns(block);
  }
  atomic_store_explicit(&block->cpu->abort.value, PREM_CPU_FAULTED, memory_order_relaxed);
}

static void store_larger(int64_t *value, int64_t candidate) {
  int64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);
  while (seen < candidate && !__atomic_compare_exchange_n(value, &seen, candidate, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    /* `seen` is what another block stored */
  }
}

/* The job's end first, then the count: who sees the count may read both. */
static void publish_job(const prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                        int64_t end_ns) {
  const prem_cpu *cpu = block->cpu;
  const int64_t job = hyperperiod * cpu->program->tasks[record->task].jobs + record->job;
  prem_cpu_word *done = &cpu->jobs_done[record->task][block->program->task_position[record->task]];
  store_larger(job_end(cpu, record->task, job), end_ns);
  atomic_store_explicit(&done->value, atomic_load_explicit(&done->value, memory_order_relaxed) + 1,
                        memory_order_release);
}

static void finish(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                   int64_t ready_ns, int64_t start_ns, int64_t end_ns) {
  const prem_cpu *cpu = block->cpu;
  ++block->phases_done[record->phase];
  if (record->flags & PREM_RECORD_LAST)
    publish_job(block, hyperperiod, record, end_ns);
  /* the plan's windows hold where its releases are kept */
  const int64_t window_end_ns = cpu->request->mode == PREM_MODE_TT
                                    ? hyperperiod * cpu->program->hyperperiod_ns + record->end_ns
                                    : INT64_MAX;
  const prem_trace_record trace = {
      .release_ns = planned_release_ns(cpu, hyperperiod, record),
      .ready_ns = ready_ns,
      .start_ns = start_ns,
      .end_ns = end_ns,
      .hyperperiod = (int32_t)hyperperiod,
      .job = record->job,
      .tile = record->tile,
      .task = record->task,
      .block = (uint16_t)block->number,
      .phase = record->phase,
      .flags = record->flags & (PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP),
  };
  prem_recorder_add(block->recorder, &trace, window_end_ns);
  atomic_store_explicit(&block->records_done,
                        atomic_load_explicit(&block->records_done, memory_order_relaxed) + 1,
                        memory_order_relaxed);
}

/* Both halves of a joined pair start together and end together. False: the run is over for us. */
static bool execute(prem_cpu_block *block, int64_t hyperperiod, const prem_record *record,
                    int32_t count) {
  prem_cpu *cpu = block->cpu;
  if (is_aborted(cpu))
    return false;
  int64_t earliest_ns = INT64_MIN, ready_ns, start_ns;
  for (int32_t i = 0; i < count; ++i) {
    if (!own_waits_are_over(block, hyperperiod, &record[i])) {
      raise_fault(block);
      return false;
    }
    if ((record[i].flags & PREM_RECORD_AFTER) &&
        !wait_for_predecessors(block, hyperperiod, &record[i], &earliest_ns))
      return false;
  }
  if (!wait_until(block, earliest_ns, &ready_ns))
    return false;
  start_ns = ready_ns;
  const int64_t due = due_ns(cpu, hyperperiod, record, count);
  if (start_ns < due && !wait_until(block, due, &start_ns))
    return false;

  prem_cpu_claim claim = {.empty = true};
  if (cpu->request->mode == PREM_MODE_LOCK)
    prem_cpu_tokens_claim(&cpu->tokens, record, count, &claim);
  if (!claim.empty) {
    if (!wait_for_tokens(block, &claim))
      return false;
    start_ns = now_ns(block);
  }
  for (int32_t i = 0; i < count; ++i)
    if (!perform(block, &record[i]))
      return false;
  const int64_t end_ns = now_ns(block);
  if (!claim.empty)
    prem_cpu_tokens_give(&cpu->tokens, &claim);
  if (ready_ns < 0)
    ready_ns = 0; /* it stood by before S */
  for (int32_t i = 0; i < count; ++i)
    finish(block, hyperperiod, &record[i], ready_ns, start_ns, end_ns);
  return true;
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* A place in the merged order of the block's two tables. */
typedef struct cursor {
  int32_t memory, compute;
} cursor;

/* The record at the cursor, which then stands behind it; NULL at the end. `*count` is 2 for a
 * joined pair. */
static const prem_record *next_record(const prem_block_program *program, cursor *at,
                                      int32_t *count) {
  *count = 1;
  if (at->memory == program->memory_count && at->compute == program->compute_count)
    return NULL;
  if (!prem_block_memory_first(program, at->memory, at->compute))
    return &program->compute[at->compute++];
  const prem_record *record = &program->memory[at->memory];
  if (record->flags & PREM_RECORD_JOIN_NEXT)
    *count = 2;
  at->memory += *count;
  return record;
}

static void reset_block(prem_cpu_block *block) {
  memset(block->phases_done, 0, sizeof block->phases_done);
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    block->in_buffers[i] = block->out_buffers[i] = (uint8_t)i;
}

static void turn_buffers(prem_cpu_block *block) {
  if (!block->program->turns)
    return;
  prem_turn_buffers(block->program->in_turn, block->in_buffers);
  prem_turn_buffers(block->program->out_turn, block->out_buffers);
}

static void execute_all(prem_cpu_block *block) {
  for (int64_t h = 0; h < block->cpu->request->hyperperiods; ++h, turn_buffers(block)) {
    cursor at = {0};
    int32_t count;
    for (const prem_record *record; (record = next_record(block->program, &at, &count));)
      if (!execute(block, h, record, count))
        return;
  }
}

/* Be resident, and learn S. The last one to come sets it. */
static bool agree_on_start(prem_cpu_block *block) {
  prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  if (atomic_fetch_add_explicit(&cpu->arrived.value, 1, memory_order_relaxed) + 1 ==
      cpu->block_count) {
    int64_t margin_ns = START_MARGIN_NS;
    if (cpu->oversubscribed)
      margin_ns += (int64_t)cpu->block_count * START_MARGIN_OF_A_BLOCK_NS;
    atomic_store_explicit(&cpu->start_ns.value, prem_cpu_clock_ns() + margin_ns,
                          memory_order_release);
  }
  while ((block->origin_ns = atomic_load_explicit(&cpu->start_ns.value, memory_order_acquire)) ==
         0) {
    if (is_aborted(cpu))
      return false;
    take_a_turn(cpu, &turns);
  }
  return true;
}

static bool allocate_scratch(prem_cpu_block *block) {
  const prem_block_program *program = block->program;
  const size_t bytes = (size_t)block->cpu->program->schedule->platform.buffers *
                       ((size_t)program->in_bytes + (size_t)program->out_bytes);
  if (bytes == 0)
    return true;
  block->scratch = aligned_alloc(128, (bytes + 127) / 128 * 128);
  if (!block->scratch)
    return false;
  memset(block->scratch, PREM_POISON, bytes); /* touched here: it lies near this core */
  return true;
}

/* Park until the next launch. False: the session closes. */
static bool wait_at_gate(prem_cpu_block *block, int64_t *launches_seen) {
  prem_cpu *cpu = block->cpu;
  pthread_mutex_lock(&cpu->mutex);
  atomic_store_explicit(&block->stage, PREM_CPU_PARKED, memory_order_relaxed);
  if (--cpu->away == 0)
    pthread_cond_signal(&cpu->home);
  while (cpu->launches == *launches_seen && !cpu->quit)
    pthread_cond_wait(&cpu->go, &cpu->mutex);
  *launches_seen = cpu->launches;
  const bool quit = cpu->quit;
  pthread_mutex_unlock(&cpu->mutex);
  return !quit;
}

static void name_thread(const prem_cpu_block *block) {
  char name[16];
  snprintf(name, sizeof name, "prem-block-%u", (unsigned)block->number % 10000);
  pthread_setname_np(pthread_self(), name);
}

void *prem_cpu_block_main(void *argument) {
  prem_cpu_block *block = argument;
  prem_cpu *cpu = block->cpu;
  int64_t launches_seen = 0;
  name_thread(block);
  prem_cpu_cores_pin(&cpu->cores, block->index);
  if (!allocate_scratch(block)) {
    pthread_mutex_lock(&cpu->mutex);
    cpu->starved = true;
    pthread_mutex_unlock(&cpu->mutex);
  }
  while (wait_at_gate(block, &launches_seen)) {
    reset_block(block);
    if (agree_on_start(block))
      execute_all(block);
    if (atomic_load_explicit(&block->stage, memory_order_relaxed) == PREM_CPU_LOST)
      return NULL; /* the caller has gone on without this thread */
  }
  free(block->scratch);
  return NULL;
}

const prem_record *prem_cpu_block_record(const prem_cpu_block *block, int64_t done,
                                         int64_t *hyperperiod, int64_t *index) {
  *hyperperiod = done / block->records;
  *index = done % block->records;
  cursor at = {0};
  int32_t count;
  int64_t seen = 0;
  const prem_record *record;
  while ((record = next_record(block->program, &at, &count)) && seen + count <= *index)
    seen += count;
  return record;
}
