/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was a thread's core taken away? A thread that has a core of its own never sleeps during a run, so
 * its time on a core grows as the clock does. Where it does not, somebody else had the core.
 */
#include "runtime/cpu/cpu.h"

enum {
  MIN_AWAY_NS = 10000, /* below: the readings themselves, and what a tick of the system takes */
  CLOCK_SHARE = 1000   /* the two clocks may drift apart by one part in so many */
};

/* The thread's clock asks the scheduler. getrusage() counts involuntary switches, but its times are
 * as old as the last tick. */
static prem_cpu_look look_now(void) {
  struct timespec used = {0};
  const int64_t now = prem_host_clock_ns();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (prem_cpu_look){now, (int64_t)used.tv_sec * 1000000000 + used.tv_nsec};
}

static void raise_away(prem_trace *trace, int64_t hyperperiod, int64_t away_ns) {
  int64_t *longest = &trace->away_ns[hyperperiod];
  int64_t seen = __atomic_load_n(longest, __ATOMIC_RELAXED);
  while (seen < away_ns && !__atomic_compare_exchange_n(longest, &seen, away_ns, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    /* `seen` is what another thread stored */
  }
}

void prem_cpu_away_begin(prem_cpu_block *block) {
  if (block->cpu->oversubscribed)
    return;
  block->last_look = look_now();
  if (block->last_look.at_ns > block->common_start_ns) /* away while S came */
    block->last_look.at_ns = block->common_start_ns;
}

void prem_cpu_away_look(prem_cpu_block *block, int64_t hyperperiod) {
  if (block->cpu->oversubscribed)
    return;
  const prem_cpu_look before = block->last_look, now = look_now();
  const int64_t passed_ns = now.at_ns - before.at_ns;
  const int64_t away_ns = passed_ns - (now.cpu_ns - before.cpu_ns);
  block->last_look = now;
  if (away_ns > MIN_AWAY_NS + passed_ns / CLOCK_SHARE)
    raise_away(block->cpu->trace, hyperperiod, away_ns);
}
