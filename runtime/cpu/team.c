/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a team: started once, parked at a gate between runs, agreed on S in each. */
#include "runtime/cpu/cpu.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  START_MARGIN_NS = 100000,           /* from the last arrival to S, */
  START_MARGIN_OF_A_THREAD_NS = 20000 /* and per thread when they share cores */
};

/* ---- a thread ------------------------------------------------------------------------------- */

/* Be resident, and learn S. The last one to come sets it; best-effort tasks take that of the others
 * when it is there, if there are others. */
static bool agree_on_start(prem_cpu_block *block) {
  prem_cpu *cpu = block->cpu;
  int32_t turns = 0;
  prem_cpu *first = cpu->critical ? cpu->critical : cpu;
  if ((cpu == first || first->block_count == 0) &&
      atomic_fetch_add_explicit(&cpu->arrived.value, 1, memory_order_relaxed) + 1 ==
          cpu->block_count) {
    int64_t margin_ns = START_MARGIN_NS;
    if (cpu->oversubscribed)
      margin_ns += (int64_t)cpu->block_count * START_MARGIN_OF_A_THREAD_NS;
    atomic_store_explicit(&first->common_start_ns.value, prem_host_clock_ns() + margin_ns,
                          memory_order_release);
  }
  while ((block->common_start_ns =
              atomic_load_explicit(&first->common_start_ns.value, memory_order_acquire)) == 0) {
    if (prem_cpu_is_aborted(cpu))
      return false;
    prem_cpu_take_a_turn(cpu, &turns);
  }
  if (cpu->errands)
    atomic_store(&cpu->errands->start_ns, block->common_start_ns);
  if (cpu->critical) /* for the watchdog's messages */
    atomic_store_explicit(&cpu->common_start_ns.value, block->common_start_ns,
                          memory_order_relaxed);
  return true;
}

/* Park until the next launch. False: the session closes. */
static bool wait_at_gate(prem_cpu_block *block, int64_t *launches_seen) {
  prem_cpu *cpu = block->cpu;
  pthread_mutex_lock(&cpu->mutex);
  atomic_store_explicit(&block->stage, PREM_CPU_PARKED, memory_order_relaxed);
  if (--cpu->away == 0) {
    cpu->has_news = true;
    pthread_cond_signal(&cpu->home);
  }
  while (cpu->launches == *launches_seen && !cpu->quit)
    pthread_cond_wait(&cpu->go, &cpu->mutex);
  *launches_seen = cpu->launches;
  const bool quit = cpu->quit;
  pthread_mutex_unlock(&cpu->mutex);
  return !quit;
}

static void name_thread(const prem_cpu_block *block) {
  char name[16];
  snprintf(name, sizeof name, "prem-%s-%u",
           block->cpu->critical ? "free"
           : block->program     ? "block"
                                : "task",
           (unsigned)block->number % 10000);
  pthread_setname_np(pthread_self(), name);
}

static void *run_thread(void *argument) {
  prem_cpu_block *block = argument;
  prem_cpu *cpu = block->cpu;
  int64_t launches_seen = 0;
  name_thread(block);
  prem_cpu_cores_pin(&cpu->cores, cpu->core_count ? cpu->first_core + block->index % cpu->core_count
                                                  : block->index);
  if (!prem_cpu_scratch_new(block)) {
    pthread_mutex_lock(&cpu->mutex);
    cpu->starved = true;
    pthread_mutex_unlock(&cpu->mutex);
  }
  while (wait_at_gate(block, &launches_seen)) {
    if (agree_on_start(block)) {
      prem_cpu_away_begin(block);
      cpu->run_thread(block);
    }
    if (atomic_load_explicit(&block->stage, memory_order_relaxed) == PREM_CPU_LOST) {
      free(block->scratch); /* the caller has gone on without this thread */
      prem_cpu_release(cpu);
      return NULL;
    }
  }
  free(block->scratch);
  return NULL;
}

/* ---- the team ------------------------------------------------------------------------------- */

/* Signals are the caller's: a handler never runs on a block's thread, and never disturbs it. */
static int start_thread(prem_cpu_block *block) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&block->thread, NULL, run_thread, block);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

static void wait_until_all_are_home(prem_cpu *cpu) {
  pthread_mutex_lock(&cpu->mutex);
  while (cpu->away > 0)
    pthread_cond_wait(&cpu->home, &cpu->mutex);
  pthread_mutex_unlock(&cpu->mutex);
}

prem_status prem_cpu_team_start(prem_cpu *cpu, prem_diag *diag) {
  const prem_place nowhere = {0};
  prem_cpu_cores_find(&cpu->cores);
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

void prem_cpu_team_stop(prem_cpu *cpu) {
  wait_until_all_are_home(cpu);
  pthread_mutex_lock(&cpu->mutex);
  cpu->quit = true;
  pthread_cond_broadcast(&cpu->go);
  pthread_mutex_unlock(&cpu->mutex);
  for (int32_t b = 0; b < cpu->thread_count; ++b)
    if (atomic_load(&cpu->blocks[b].stage) != PREM_CPU_LOST)
      pthread_join(cpu->blocks[b].thread, NULL);
  prem_cpu_cores_free(&cpu->cores);
}

void prem_cpu_team_launch(prem_cpu *cpu) {
  pthread_mutex_lock(&cpu->mutex);
  ++cpu->launches;
  cpu->away = cpu->block_count;
  pthread_cond_broadcast(&cpu->go);
  pthread_mutex_unlock(&cpu->mutex);
}
