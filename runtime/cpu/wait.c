/* SPDX-License-Identifier: Apache-2.0 */
/* How the threads of the cpu backend wait, for time and for each other. */
#include "runtime/cpu/cpu.h"

#include "prem/base/numbers.h"
#include "runtime/core/record_rules.h"

#include <errno.h>
#include <sched.h>

enum {
  WAKE_EARLY_NS = 100000,     /* a sleeper may oversleep by so much */
  LONGEST_NAP_NS = 1000000,   /* so that an abort is seen soon */
  LONGEST_SLEEP_NS = 5000000, /* the same of who is woken by the courier */
  TURNS_BEFORE_A_NAP = 64,
  NAP_NS = 50000
};

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

void prem_cpu_take_a_turn(const prem_cpu *cpu, int32_t *turns) {
  if (!cpu->oversubscribed) {
    pause_core();
    return;
  }
  const int32_t naps = ++*turns - TURNS_BEFORE_A_NAP;
  if (naps < 0)
    sched_yield();
  else /* longer and longer, so that hundreds who wait leave the cores to those who work */
    sleep_ns(naps < LONGEST_NAP_NS / NAP_NS ? (naps + 1) * NAP_NS : LONGEST_NAP_NS);
}

static bool wait_until(prem_cpu_block *block, int64_t instant_ns, int64_t early_ns,
                       int64_t *out_ns) {
  int64_t now = prem_cpu_now_ns(block);
  if (now < instant_ns)
    atomic_store_explicit(&block->waits_until_ns, block->common_start_ns + instant_ns,
                          memory_order_relaxed);
  while (now < instant_ns - early_ns) {
    if (prem_cpu_is_aborted(block->cpu))
      return false;
    prem_cpu_away_wait(block, now, instant_ns);
    let_time_pass(block->cpu, instant_ns - now);
    now = prem_cpu_now_ns(block);
  }
  *out_ns = now;
  return true;
}

bool prem_cpu_wait_until(prem_cpu_block *block, int64_t instant_ns, int64_t *out_ns) {
  return wait_until(block, instant_ns, 0, out_ns);
}

/* It comes back when it would hand its core on again and again. */
bool prem_cpu_keep_place(prem_cpu_block *block, int64_t instant_ns, int64_t *out_ns) {
  const int64_t early_ns = block->cpu->oversubscribed ? 2 * WAKE_EARLY_NS : 0;
  const bool goes_on = wait_until(block, instant_ns, early_ns, out_ns);
  *out_ns = prem_max_i64(*out_ns, instant_ns);
  return goes_on;
}

/* Wait until every active block of a task has finished so many of its jobs. */
static bool wait_for_jobs(const prem_cpu_block *block, int32_t task, int64_t jobs) {
  const prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  for (int32_t p = 0; p < cpu->program->tasks[task].active_blocks; ++p)
    while (atomic_load_explicit(&cpu->jobs_done[task][p].value, memory_order_acquire) < jobs) {
      if (prem_cpu_is_aborted(cpu))
        return false;
      prem_cpu_take_a_turn(cpu, &turns);
    }
  return true;
}

bool prem_cpu_wait_for_predecessors(const prem_cpu_block *block, int64_t hyperperiod,
                                    const prem_record *record, int first_phase,
                                    int64_t *earliest_ns) {
  const prem_cpu *cpu = block->cpu;
  const prem_task_program *task = &block->plan->tasks[record->task];
  const bool is_tile = first_phase == record->phase; /* of a whole task all edges hold */
  for (int32_t i = 0; i < task->edge_count; ++i) {
    const prem_dependency *after = &task->after[i];
    if (is_tile && after->by_block)
      continue;
    const int64_t jobs = prem_jobs_needed(cpu->program, after, hyperperiod, record->job);
    if (jobs <= 0 || after->phase < first_phase || after->phase > record->phase)
      continue;
    if (!wait_for_jobs(block, after->task, jobs))
      return false;
    const int64_t end_ns = __atomic_load_n(
        prem_job_end(cpu->program, cpu->trace, after->task, jobs - 1), __ATOMIC_RELAXED);
    *earliest_ns = prem_max_i64(*earliest_ns, end_ns + after->lag_ns);
  }
  return true;
}

/* Until the courier has decided more than was seen, or an abort may have come. The caller looks
 * after each turn, so that nothing is missed that was decided between. */
static void await_courier(prem_cpu *cpu, uint64_t *seen) {
  if (!cpu->oversubscribed) {
    pause_core();
    return;
  }
  const struct timespec limit = prem_cpu_limit(prem_host_clock_ns() + LONGEST_SLEEP_NS);
  pthread_mutex_lock(&cpu->mutex);
  while (cpu->decided == *seen &&
         pthread_cond_timedwait(&cpu->go, &cpu->mutex, &limit) != ETIMEDOUT) {
  }
  *seen = cpu->decided;
  pthread_mutex_unlock(&cpu->mutex);
}

bool prem_cpu_wait_for_hyperperiod(prem_cpu_block *block, int64_t hyperperiod) {
  prem_cpu *cpu = block->cpu;
  uint64_t seen = 0;
  prem_begin begin;
  while ((begin = prem_courier_may_begin(cpu->courier, hyperperiod)) == PREM_BEGIN_LATER) {
    if (prem_cpu_is_aborted(cpu))
      return false;
    await_courier(cpu, &seen);
  }
  if (begin == PREM_BEGIN_NEVER)
    return false;
  block->epoch_ns = prem_courier_epoch_ns(cpu->courier, hyperperiod);
  block->plan = cpu->program->plans[prem_courier_plan(cpu->courier, hyperperiod)];
  return true;
}

bool prem_cpu_wait_for_tickets(const prem_cpu_block *block, int64_t hyperperiod,
                               const prem_record *record) {
  uint64_t seen = 0;
  while (!prem_courier_allows(block->cpu->courier, hyperperiod, record)) {
    if (prem_cpu_is_aborted(block->cpu))
      return false;
    await_courier(block->cpu, &seen);
  }
  return true;
}

static void store_max(int64_t *value, int64_t candidate) {
  int64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);
  while (seen < candidate && !__atomic_compare_exchange_n(value, &seen, candidate, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    /* `seen` is what another block stored */
  }
}

void prem_cpu_tell_courier(prem_cpu *cpu) {
  if (!cpu->courier || !cpu->oversubscribed)
    return; /* it looks all the time */
  pthread_mutex_lock(&cpu->mutex);
  cpu->has_news = true;
  pthread_mutex_unlock(&cpu->mutex);
  pthread_cond_signal(&cpu->home);
}

static bool is_over_everywhere(const prem_cpu *cpu, int32_t task, int64_t jobs) {
  for (int32_t p = 0; p < cpu->program->tasks[task].active_blocks; ++p)
    if (atomic_load_explicit(&cpu->jobs_done[task][p].value, memory_order_relaxed) < jobs)
      return false;
  return true;
}

int64_t prem_cpu_jobs_over(void *of, int32_t task) {
  const prem_cpu *cpu = of;
  int64_t min = INT64_MAX;
  for (int32_t p = 0; p < cpu->program->tasks[task].active_blocks; ++p)
    min = prem_min_i64(min,
                       atomic_load_explicit(&cpu->jobs_done[task][p].value, memory_order_acquire));
  return min;
}

/* The end first, then the count: who sees the count may read both. The courier is woken by the last
 * of the blocks, which finds by the lock what the others have counted. */
void prem_cpu_publish_job(prem_cpu *cpu, int64_t hyperperiod, const prem_record *record,
                          int32_t position, int64_t end_ns) {
  const int64_t job = hyperperiod * cpu->program->tasks[record->task].jobs + record->job;
  prem_cpu_word *done = &cpu->jobs_done[record->task][position];
  const int64_t jobs = atomic_load_explicit(&done->value, memory_order_relaxed) + 1;
  store_max(prem_job_end(cpu->program, cpu->trace, record->task, job), end_ns);
  atomic_store_explicit(&done->value, jobs, memory_order_release);
  if (!cpu->courier || !cpu->oversubscribed)
    return;
  pthread_mutex_lock(&cpu->mutex);
  const bool is_over = is_over_everywhere(cpu, record->task, jobs);
  cpu->has_news |= is_over;
  pthread_mutex_unlock(&cpu->mutex);
  if (is_over)
    pthread_cond_signal(&cpu->home);
}
