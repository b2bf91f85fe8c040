/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of the resources, for mode lock. A phase takes its whole demand at once and holds it while
 * it moves its bytes, so nobody waits while holding something. Whoever asks first is served first,
 * and nobody starves. Where blocks share cores there is no such order: the first in a queue would
 * mostly be asleep while the tokens lie there; whoever runs and finds its demand takes it.
 *
 * `next_ticket` hands out places in the queue, `serving` says whose turn it is. `guard` makes
 * taking and giving exclude each other; its release by the giver is acquired by the taker, so
 * phases that exclude each other are also ordered in memory.
 */
#include "runtime/cpu/cpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { GANGS_OF_A_TASK = PREM_PHASE_COUNT + 1, SPINS_BEFORE_A_YIELD = 1000 };

prem_status prem_cpu_tokens_new(prem_cpu_tokens *tokens, const prem_schedule *schedule,
                                bool in_order) {
  tokens->schedule = schedule;
  tokens->in_order = in_order;
  tokens->gangs = calloc((size_t)schedule->task_count * GANGS_OF_A_TASK, sizeof *tokens->gangs);
  return tokens->gangs ? PREM_OK : PREM_ERR_MEMORY;
}

void prem_cpu_tokens_free(prem_cpu_tokens *tokens) {
  free(tokens->gangs);
}

void prem_cpu_tokens_reset(prem_cpu_tokens *tokens) {
  const prem_platform *platform = &tokens->schedule->platform;
  for (int32_t r = 0; r < platform->resource_count; ++r)
    tokens->left[r] = platform->resources[r].capacity;
  memset(tokens->gangs, 0,
         (size_t)tokens->schedule->task_count * GANGS_OF_A_TASK * sizeof *tokens->gangs);
  atomic_store(&tokens->next_ticket.value, 0);
  atomic_store(&tokens->serving.value, 0);
  atomic_flag_clear(&tokens->guard);
}

static void add_max_demand(prem_cpu_claim *claim, const prem_phase_spec *spec, int32_t count) {
  for (int32_t r = 0; r < count; ++r)
    if (spec->demand[r] > claim->demand[r])
      claim->demand[r] = spec->demand[r];
}

void prem_cpu_tokens_claim(prem_cpu_tokens *tokens, const prem_record *record, int32_t count,
                           prem_cpu_claim *claim) {
  const prem_schedule *schedule = tokens->schedule;
  const int32_t resources = schedule->platform.resource_count;
  const prem_task *task = &schedule->tasks[record->task];
  const bool own_pair = count == 2 && record[1].task == record->task && task->joined.exists;
  *claim = (prem_cpu_claim){.empty = true};
  if (own_pair)
    add_max_demand(claim, &task->joined, resources);
  else
    for (int32_t i = 0; i < count; ++i)
      add_max_demand(claim, &schedule->tasks[record[i].task].phase[record[i].phase], resources);
  claim->gang = &tokens->gangs[record->task * GANGS_OF_A_TASK +
                               (count == 2 ? PREM_PHASE_COUNT : record->phase)];
  for (int32_t r = 0; r < resources; ++r)
    claim->empty = claim->empty && claim->demand[r] == 0;
}

int64_t prem_cpu_tokens_queue(prem_cpu_tokens *tokens) {
  return atomic_fetch_add_explicit(&tokens->next_ticket.value, 1, memory_order_relaxed);
}

/* It is held for some ten instructions, unless its holder lost its core meanwhile. */
static void lock(prem_cpu_tokens *tokens) {
  int32_t spins = 0;
  while (atomic_flag_test_and_set_explicit(&tokens->guard, memory_order_acquire))
    if (++spins > SPINS_BEFORE_A_YIELD)
      sched_yield();
}

static void unlock(prem_cpu_tokens *tokens) {
  atomic_flag_clear_explicit(&tokens->guard, memory_order_release);
}

static bool is_available(const prem_cpu_tokens *tokens, const prem_cpu_claim *claim) {
  const prem_platform *platform = &tokens->schedule->platform;
  for (int32_t r = 0; r < platform->resource_count; ++r) {
    const bool shared = platform->resources[r].per_task && claim->gang->members > 0;
    if (claim->demand[r] > (shared ? claim->gang->held[r] : tokens->left[r]))
      return false;
  }
  return true;
}

bool prem_cpu_tokens_take(prem_cpu_tokens *tokens, int64_t ticket, const prem_cpu_claim *claim) {
  if (tokens->in_order &&
      atomic_load_explicit(&tokens->serving.value, memory_order_acquire) != ticket)
    return false;
  const prem_platform *platform = &tokens->schedule->platform;
  prem_cpu_gang *gang = claim->gang;
  lock(tokens);
  const bool available = is_available(tokens, claim);
  if (available) {
    for (int32_t r = 0; r < platform->resource_count; ++r) {
      if (platform->resources[r].per_task && gang->members > 0)
        continue;
      gang->held[r] = claim->demand[r];
      tokens->left[r] -= claim->demand[r];
    }
    ++gang->members;
  }
  unlock(tokens);
  if (available && tokens->in_order)
    atomic_store_explicit(&tokens->serving.value, ticket + 1, memory_order_release);
  return available;
}

void prem_cpu_tokens_give(prem_cpu_tokens *tokens, const prem_cpu_claim *claim) {
  const prem_platform *platform = &tokens->schedule->platform;
  prem_cpu_gang *gang = claim->gang;
  lock(tokens);
  --gang->members;
  for (int32_t r = 0; r < platform->resource_count; ++r) {
    if (!platform->resources[r].per_task)
      tokens->left[r] += claim->demand[r];
    else if (gang->members == 0)
      tokens->left[r] += gang->held[r];
  }
  unlock(tokens);
}
