/* The cpu backend: opening, closing, one run and its watchdog. See cpu.h. */
#include "cpu.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  POLL_NS = 5000000,           /* the caller's look at the stop flag and at progress */
  DEFAULT_TIMEOUT_S = 5,       /* of the watchdog */
  LAST_COMPUTE_NS = 500000000, /* an aborted run waits so long for a compute to return */
};

/* ---- opening -------------------------------------------------------------------------------- */

static prem_status refuse_abstract(const prem_schedule *schedule, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->definition)
      continue;
    char key[PREM_NAME_BYTES + 16];
    snprintf(key, sizeof key, "tasks.%s.kernel", task->name);
    prem_diag_add(diag, PREM_ERROR, 0, task->place, key,
                  "task '%s' has no kernel: it can be planned, checked and simulated only; use "
                  "--backend sim, or name a kernel of `ttprem list`",
                  task->name);
    status = PREM_ERR_INVALID;
  }
  return status;
}

static prem_status copy_kernels(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->kernels = calloc((size_t)schedule->task_count, sizeof *cpu->kernels);
  if (!cpu->kernels)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    cpu->kernels[t].compute = schedule->tasks[t].definition->compute;
    if (schedule->tasks[t].params)
      memcpy(cpu->kernels[t].params, schedule->tasks[t].params, PREM_PARAMS_BYTES);
  }
  return PREM_OK;
}

static void *new_lines(size_t count, size_t bytes) {
  void *lines = aligned_alloc(2 * PREM_CPU_LINE_BYTES, (count * bytes + 127) / 128 * 128);
  if (lines)
    memset(lines, 0, count * bytes);
  return lines;
}

static prem_status new_counters(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->jobs_done = calloc((size_t)schedule->task_count, sizeof *cpu->jobs_done);
  if (!cpu->jobs_done)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    cpu->jobs_done[t] =
        new_lines((size_t)schedule->tasks[t].block_count, sizeof *cpu->jobs_done[t]);
    if (!cpu->jobs_done[t])
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

static int32_t count_working_blocks(const prem_program *program) {
  int32_t count = 0;
  for (int32_t b = 0; b < program->block_count; ++b)
    count += program->blocks[b].memory_count + program->blocks[b].compute_count > 0;
  return count;
}

static prem_status new_blocks(prem_cpu *cpu) {
  const prem_program *program = cpu->program;
  const int32_t count = count_working_blocks(program);
  cpu->blocks = new_lines((size_t)count + 1, sizeof *cpu->blocks);
  if (!cpu->blocks)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_block_program *table = &program->blocks[b];
    const int64_t records = (int64_t)table->memory_count + table->compute_count;
    if (records == 0)
      continue;
    prem_cpu_block *block = &cpu->blocks[cpu->block_count];
    block->cpu = cpu;
    block->program = table;
    block->index = cpu->block_count++;
    block->number = b;
    block->records = records;
  }
  return PREM_OK;
}

/* Signals are the caller's: a handler never runs on a block's thread, and never disturbs it. */
static int start_thread(prem_cpu_block *block) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&block->thread, NULL, prem_cpu_block_main, block);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static void wait_until_all_are_home(prem_cpu *cpu) {
  pthread_mutex_lock(&cpu->mutex);
  while (cpu->away > 0)
    pthread_cond_wait(&cpu->home, &cpu->mutex);
  pthread_mutex_unlock(&cpu->mutex);
}

static prem_status start_threads(prem_cpu *cpu, prem_diag *diag) {
  const prem_place nowhere = {0};
  cpu->away = cpu->block_count;
  while (cpu->thread_count < cpu->block_count) {
    const int error = start_thread(&cpu->blocks[cpu->thread_count]);
    if (error != 0) {
      prem_diag_add(diag, PREM_ERROR, 0, nowhere, "platform.blocks",
                    "cannot start thread %d of %d: %s; use fewer blocks",
                    (int)cpu->thread_count + 1, (int)cpu->block_count, strerror(error));
      pthread_mutex_lock(&cpu->mutex);
      cpu->away -= cpu->block_count - cpu->thread_count;
      pthread_mutex_unlock(&cpu->mutex);
      return PREM_ERR_UNAVAILABLE;
    }
    ++cpu->thread_count;
  }
  wait_until_all_are_home(cpu);
  return cpu->starved ? PREM_ERR_MEMORY : PREM_OK;
}

static void close_threads(prem_cpu *cpu) {
  wait_until_all_are_home(cpu);
  pthread_mutex_lock(&cpu->mutex);
  cpu->quit = true;
  pthread_cond_broadcast(&cpu->go);
  pthread_mutex_unlock(&cpu->mutex);
  for (int32_t b = 0; b < cpu->thread_count; ++b)
    if (atomic_load(&cpu->blocks[b].stage) != PREM_CPU_LOST)
      pthread_join(cpu->blocks[b].thread, NULL);
}

static void cpu_close(void *state) {
  prem_cpu *cpu = state;
  if (!cpu)
    return;
  close_threads(cpu);
  prem_cpu_cores_free(&cpu->cores);
  if (cpu->lost)
    return; /* a compute that never ended may still use the rest: leaked on purpose */
  prem_cpu_tokens_free(&cpu->tokens);
  for (int32_t t = 0; cpu->jobs_done && t < cpu->program->schedule->task_count; ++t)
    free(cpu->jobs_done[t]);
  free(cpu->jobs_done);
  free(cpu->kernels);
  free(cpu->blocks);
  pthread_cond_destroy(&cpu->go);
  pthread_cond_destroy(&cpu->home);
  pthread_mutex_destroy(&cpu->mutex);
  free(cpu);
}

/* The caller waits with a time limit on `home`: on the clock that nobody sets. */
static void open_gate(prem_cpu *cpu) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&cpu->mutex, NULL);
  pthread_cond_init(&cpu->go, NULL);
  pthread_cond_init(&cpu->home, &attributes);
  pthread_condattr_destroy(&attributes);
}

static prem_status cpu_open(const prem_program *program, prem_arrays *arrays,
                            const prem_machine *machine, void **state, prem_diag *diag) {
  *state = NULL;
  prem_status status = refuse_abstract(program->schedule, diag);
  if (status != PREM_OK)
    return status;
  prem_cpu *cpu = new_lines(1, sizeof *cpu);
  if (!cpu)
    return PREM_ERR_MEMORY;
  cpu->program = program;
  cpu->arrays = arrays;
  open_gate(cpu);
  prem_cpu_cores_find(&cpu->cores);
  status = copy_kernels(cpu);
  if (status == PREM_OK)
    status = new_counters(cpu);
  if (status == PREM_OK)
    status = prem_cpu_tokens_new(&cpu->tokens, program->schedule);
  if (status == PREM_OK)
    status = new_blocks(cpu);
  cpu->oversubscribed = cpu->block_count > machine->max_blocks;
  if (status == PREM_OK)
    status = start_threads(cpu, diag);
  if (status != PREM_OK)
    cpu_close(cpu);
  else
    *state = cpu;
  return status;
}

/* ---- launching ------------------------------------------------------------------------------ */

static void reset_run(prem_cpu *cpu, const prem_run_request *request, prem_trace *trace,
                      prem_recorder *recorders) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->request = request;
  cpu->trace = trace;
  cpu->fault.block = NULL;
  atomic_store(&cpu->fault.claimed, false);
  atomic_store(&cpu->start_ns.value, 0);
  atomic_store(&cpu->arrived.value, 0);
  atomic_store(&cpu->abort.value, PREM_CPU_GO_ON);
  prem_cpu_tokens_reset(&cpu->tokens);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t p = 0; p < schedule->tasks[t].block_count; ++p)
      atomic_store(&cpu->jobs_done[t][p].value, 0);
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    prem_cpu_block *block = &cpu->blocks[b];
    block->recorder = &recorders[block->number];
    atomic_store(&block->records_done, 0);
    atomic_store(&block->waits_until_ns, 0);
    atomic_store(&block->stage, PREM_CPU_RUNNING);
  }
}

static void launch(prem_cpu *cpu) {
  pthread_mutex_lock(&cpu->mutex);
  ++cpu->launches;
  cpu->away = cpu->block_count;
  pthread_cond_broadcast(&cpu->go);
  pthread_mutex_unlock(&cpu->mutex);
}

/* ---- the watchdog --------------------------------------------------------------------------- */

/* What the caller's thread knows of a run; it owns this alone. */
typedef struct watchdog {
  prem_cpu *cpu;
  int64_t timeout_ns;
  int64_t records_seen;                /* records done by all blocks at the last look, */
  int64_t moved_at_ns;                 /* when that number changed or a release lay ahead, */
  int64_t aborted_at_ns;               /* and when it told the blocks to stop; 0: it did not */
  const prem_cpu_block *culprit;       /* of the watchdog or of a lost block */
  int64_t caught_at_ns, caught_record; /* when, and after how many records */
} watchdog;

static void catch_culprit(watchdog *dog, const prem_cpu_block *block, int64_t now) {
  dog->culprit = block;
  dog->caught_at_ns = now;
  dog->caught_record = atomic_load_explicit(&block->records_done, memory_order_relaxed);
}

static void abort_run(watchdog *dog, prem_cpu_abort reason, int64_t now) {
  int64_t expected = PREM_CPU_GO_ON;
  atomic_compare_exchange_strong(&dog->cpu->abort.value, &expected, reason);
  dog->aborted_at_ns = now;
}

static bool is_stop_asked(const prem_cpu *cpu) {
  return cpu->request->stop && *cpu->request->stop;
}

/* Who is to blame for the standstill: a block that computes, else the first that has not finished.
 */
static const prem_cpu_block *find_culprit(const prem_cpu *cpu) {
  const prem_cpu_block *unfinished = NULL;
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    const int stage = atomic_load(&cpu->blocks[b].stage);
    if (stage == PREM_CPU_COMPUTING)
      return &cpu->blocks[b];
    if (stage == PREM_CPU_RUNNING && !unfinished)
      unfinished = &cpu->blocks[b];
  }
  return unfinished;
}

/* No block got on for too long. Waiting for a release that lies ahead is not standing still. */
static bool has_stalled(watchdog *dog, int64_t now) {
  int64_t records = 0;
  bool waits_for_release = false;
  for (int32_t b = 0; b < dog->cpu->block_count; ++b) {
    const prem_cpu_block *block = &dog->cpu->blocks[b];
    records += atomic_load_explicit(&block->records_done, memory_order_relaxed);
    if (atomic_load_explicit(&block->waits_until_ns, memory_order_relaxed) > now)
      waits_for_release = true;
  }
  if (records != dog->records_seen || waits_for_release) {
    dog->records_seen = records;
    dog->moved_at_ns = now;
  }
  return now - dog->moved_at_ns > dog->timeout_ns;
}

/* Waits see the abort and copies end; a compute may not. Give up on those that are still in one:
 * whoever loses the swap goes on, and comes home or is met here again. Under `mutex`. */
static void give_up_computes(watchdog *dog, int64_t now) {
  prem_cpu *cpu = dog->cpu;
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    prem_cpu_block *block = &cpu->blocks[b];
    int expected = PREM_CPU_COMPUTING;
    if (!atomic_compare_exchange_strong(&block->stage, &expected, PREM_CPU_LOST))
      continue;
    pthread_detach(block->thread);
    cpu->lost = true;
    --cpu->away;
    if (!dog->culprit)
      catch_culprit(dog, block, now);
  }
}

/* Under `mutex`. */
static void look_after(watchdog *dog, int64_t now) {
  if (dog->aborted_at_ns != 0) {
    if (now - dog->aborted_at_ns > LAST_COMPUTE_NS)
      give_up_computes(dog, now);
  } else if (is_stop_asked(dog->cpu)) {
    abort_run(dog, PREM_CPU_STOPPED, now);
  } else if (atomic_load(&dog->cpu->abort.value) != PREM_CPU_GO_ON) {
    dog->aborted_at_ns = now; /* a block found a fault */
  } else if (has_stalled(dog, now)) {
    catch_culprit(dog, find_culprit(dog->cpu), now);
    abort_run(dog, PREM_CPU_FAULTED, now);
  }
}

/* Until every block is home, or lost. Looks now and then, and sleeps between. */
static void watch_run(watchdog *dog) {
  prem_cpu *cpu = dog->cpu;
  dog->moved_at_ns = prem_cpu_clock_ns();
  pthread_mutex_lock(&cpu->mutex);
  while (cpu->away > 0) {
    const int64_t until = prem_cpu_clock_ns() + POLL_NS;
    const struct timespec limit = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    if (pthread_cond_timedwait(&cpu->home, &cpu->mutex, &limit) == ETIMEDOUT)
      look_after(dog, prem_cpu_clock_ns());
  }
  pthread_mutex_unlock(&cpu->mutex);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static int64_t from_start_ns(prem_cpu *cpu, int64_t at_ns) {
  return at_ns - atomic_load(&cpu->start_ns.value);
}

/* "block 3: task 'conv', tile 17, compute, record 52 of hyperperiod 0" */
static void describe_place(const prem_cpu_block *block, int64_t done, char *out, size_t out_bytes) {
  const prem_schedule *schedule = block->cpu->program->schedule;
  int64_t hyperperiod, index;
  const prem_record *record = prem_cpu_block_record(block, done, &hyperperiod, &index);
  snprintf(out, out_bytes, "block %d: task '%s', tile %d, %s, record %lld of hyperperiod %lld",
           (int)block->number, schedule->tasks[record->task].name, (int)record->tile,
           prem_phase_name((prem_phase)record->phase), (long long)index, (long long)hyperperiod);
}

static void report_stall(const watchdog *dog, prem_diag *diag) {
  const prem_place nowhere = {0};
  if (atomic_load(&dog->cpu->start_ns.value) == 0) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "", "watchdog: block %d did not start in %lld ms",
                  (int)dog->culprit->number, (long long)(dog->timeout_ns / 1000000));
    return;
  }
  char place[256];
  describe_place(dog->culprit, dog->caught_record, place, sizeof place);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "",
                "watchdog: nothing has moved for %lld ms, %s, seen %lld ns after the start",
                (long long)(dog->timeout_ns / 1000000), place,
                (long long)from_start_ns(dog->cpu, dog->caught_at_ns));
}

static void report_fault(const prem_cpu *cpu, prem_diag *diag) {
  const prem_place nowhere = {0};
  char place[256];
  describe_place(cpu->fault.block, atomic_load(&cpu->fault.block->records_done), place,
                 sizeof place);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "",
                "a record came before the phases it needs, %s, at %lld ns after the start; this is "
                "a defect of ttprem, please report it with the schedule",
                place, (long long)cpu->fault.at_ns);
}

static void report_loss(const watchdog *dog, prem_diag *diag) {
  const prem_place nowhere = {0};
  char place[256];
  describe_place(dog->culprit, dog->caught_record, place, sizeof place);
  prem_diag_add(diag, PREM_WARNING, 0, nowhere, "",
                "a compute did not return, %s; its thread and memory are given up and the session "
                "can only be closed",
                place);
}

static prem_status judge(const watchdog *dog, prem_diag *diag) {
  const prem_cpu *cpu = dog->cpu;
  prem_status status = PREM_OK;
  if (atomic_load(&cpu->fault.claimed)) {
    report_fault(cpu, diag);
    status = PREM_ERR_MACHINE;
  } else if (atomic_load(&cpu->abort.value) == PREM_CPU_STOPPED) {
    status = PREM_ERR_INTERRUPTED;
  } else if (dog->culprit) {
    report_stall(dog, diag);
    status = PREM_ERR_MACHINE;
  }
  if (cpu->lost)
    report_loss(dog, diag);
  return status;
}

static int64_t completed_hyperperiods(const prem_cpu *cpu) {
  int64_t completed = cpu->request->hyperperiods;
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    const int64_t done = atomic_load(&cpu->blocks[b].records_done) / cpu->blocks[b].records;
    if (done < completed)
      completed = done;
  }
  return completed;
}

static prem_status cpu_run(void *state, const prem_run_request *request, prem_trace *trace,
                           prem_diag *diag) {
  prem_cpu *cpu = state;
  const prem_place nowhere = {0};
  if (cpu->lost) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "",
                  "a block of this session never came back from an earlier run; open a new one");
    return PREM_ERR_MACHINE;
  }
  prem_recorder *recorders;
  const prem_status status = prem_recorders_new(cpu->program, request, trace, &recorders);
  if (status != PREM_OK)
    return status;
  reset_run(cpu, request, trace, recorders);
  watchdog dog = {.cpu = cpu, .timeout_ns = request->timeout_ns};
  if (dog.timeout_ns <= 0)
    dog.timeout_ns = (int64_t)DEFAULT_TIMEOUT_S * 1000000000;

  const int64_t called_at_ns = prem_cpu_clock_ns();
  launch(cpu);
  watch_run(&dog);

  trace->oversubscribed = cpu->oversubscribed;
  trace->hyperperiods = completed_hyperperiods(cpu);
  const int64_t start_ns = atomic_load(&cpu->start_ns.value);
  trace->launch_ns = start_ns == 0 ? -1 : start_ns - called_at_ns;
  prem_recorders_collect(cpu->program, recorders, trace);
  prem_recorders_free(recorders, cpu->program->block_count);
  return judge(&dog, diag);
}

const prem_backend prem_backend_cpu = {
    .name = "cpu",
    .summary = "one pinned thread a block, real copies, the monotonic clock",
    .modes = 1U << PREM_MODE_TT | 1U << PREM_MODE_FREE | 1U << PREM_MODE_LOCK,
    .probe = prem_cpu_probe,
    .open = cpu_open,
    .run = cpu_run,
    .close = cpu_close,
};
