/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's thread during a run: the watchdog, and what it has to say afterwards. */
#include "runtime/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>

#include "prem/base/numbers.h"

enum {
  POLL_NS = 5000000,           /* the caller's look at the stop flag and at progress */
  DEFAULT_TIMEOUT_S = 5,       /* of the watchdog */
  LAST_COMPUTE_NS = 500000000, /* an aborted run waits so long for a compute to return */
  MAX_BETWEEN_NS = 100000000   /* two looks: behind more of it the watchdog itself stood still */
};

/* ---- the watchdog --------------------------------------------------------------------------- */

static prem_cpu_arrest arrest_block(const prem_cpu_block *block, int64_t now) {
  return (prem_cpu_arrest){block, now,
                           atomic_load_explicit(&block->records_done, memory_order_relaxed)};
}

static void abort_run(prem_cpu_watchdog *dog, prem_cpu_abort reason, int64_t now) {
  int64_t expected = PREM_CPU_GO_ON;
  atomic_compare_exchange_strong(&dog->cpu->abort.value, &expected, reason);
  dog->aborted_at_ns = now;
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
static bool has_stalled(prem_cpu_watchdog *dog, int64_t now) {
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
static void give_up_computes(prem_cpu_watchdog *dog, int64_t now) {
  prem_cpu *cpu = dog->cpu;
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    prem_cpu_block *block = &cpu->blocks[b];
    int expected = PREM_CPU_COMPUTING;
    if (atomic_load(&block->stage) != expected)
      continue;
    atomic_fetch_add(&cpu->owners, 1); /* before it can come back and leave */
    if (!atomic_compare_exchange_strong(&block->stage, &expected, PREM_CPU_LOST)) {
      atomic_fetch_sub(&cpu->owners, 1);
      continue;
    }
    pthread_detach(block->thread);
    cpu->lost = true;
    --cpu->away;
    dog->lost = arrest_block(block, now);
  }
}

/* A signal or a debugger that stops the watchdog stops the blocks as well: that time is nobody's.
 */
static void leave_out_absence(prem_cpu_watchdog *dog, int64_t now) {
  const int64_t absent_ns = now - dog->looked_at_ns - MAX_BETWEEN_NS;
  dog->looked_at_ns = now;
  if (absent_ns <= 0)
    return;
  dog->moved_at_ns = prem_min_i64(dog->moved_at_ns + absent_ns, now);
  if (dog->aborted_at_ns != 0)
    dog->aborted_at_ns += absent_ns;
}

/* Under `mutex`. */
void prem_cpu_watchdog_look(prem_cpu_watchdog *dog, int64_t now) {
  leave_out_absence(dog, now);
  if (dog->aborted_at_ns != 0) {
    if (now - dog->aborted_at_ns > dog->patience_ns)
      give_up_computes(dog, now);
  } else if (dog->cpu->request->stop && *dog->cpu->request->stop) {
    abort_run(dog, PREM_CPU_STOPPED, now);
  } else if (atomic_load(&dog->cpu->abort.value) != PREM_CPU_GO_ON) {
    dog->aborted_at_ns = now; /* a block found a fault */
  } else if (has_stalled(dog, now)) {
    dog->stalled = arrest_block(find_culprit(dog->cpu), now);
    abort_run(dog, PREM_CPU_FAULTED, now);
  }
}

void prem_cpu_watchdog_begin(prem_cpu_watchdog *dog, prem_cpu *cpu, int64_t timeout_ns) {
  const int64_t now = prem_host_clock_ns();
  *dog = (prem_cpu_watchdog){.cpu = cpu,
                             .timeout_ns = timeout_ns,
                             .looked_at_ns = now,
                             .moved_at_ns = now,
                             .patience_ns = LAST_COMPUTE_NS};
  if (dog->timeout_ns <= 0)
    dog->timeout_ns = (int64_t)DEFAULT_TIMEOUT_S * 1000000000;
}

void prem_cpu_watch_home(prem_cpu_watchdog *dog) {
  prem_cpu *cpu = dog->cpu;
  pthread_mutex_lock(&cpu->mutex);
  while (cpu->away > 0) {
    const struct timespec limit = prem_cpu_limit(prem_host_clock_ns() + POLL_NS);
    if (pthread_cond_timedwait(&cpu->home, &cpu->mutex, &limit) == ETIMEDOUT)
      prem_cpu_watchdog_look(dog, prem_host_clock_ns());
  }
  pthread_mutex_unlock(&cpu->mutex);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static int64_t from_start_ns(prem_cpu *cpu, int64_t at_ns) {
  return at_ns - atomic_load(&cpu->common_start_ns.value);
}

/* "block 3: task 'conv', tile 17, compute, record 52 of hyperperiod 0" */
static void describe_record(const prem_cpu_block *block, int64_t done, char *out,
                            size_t out_bytes) {
  const prem_schedule *schedule = block->cpu->program->schedule;
  int64_t hyperperiod, index;
  const prem_record *record = prem_cpu_block_record(block, done, &hyperperiod, &index);
  prem_record in_hand; /* of a server's errand */
  if (block->cpu->errands)
    record = prem_errands_record(block->cpu->errands, block->number, record, &in_hand);
  if (!record) {
    snprintf(out, out_bytes, "block %d, which has no errand", (int)block->number);
    return;
  }
  snprintf(out, out_bytes, "block %d: task '%s', tile %d, %s, record %lld of hyperperiod %lld",
           (int)block->number, schedule->tasks[record->task].name, (int)record->tile,
           prem_phase_name((prem_phase)record->phase), (long long)index, (long long)hyperperiod);
}

static void describe_place(const prem_cpu_block *block, int64_t done, char *out, size_t out_bytes) {
  if (block->program)
    describe_record(block, done, out, out_bytes);
  else
    snprintf(out, out_bytes, "task '%s', untiled, job %lld of hyperperiod %lld",
             block->cpu->program->schedule->tasks[block->number].name,
             (long long)(done % block->records), (long long)(done / block->records));
}

static void report_stall(const prem_cpu_watchdog *dog, prem_diag *diag) {
  const prem_place nowhere = {0};
  if (atomic_load(&dog->cpu->common_start_ns.value) == 0) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "", "watchdog: %s %d did not start in %lld ms",
                  dog->stalled.block->program ? "block" : "task", (int)dog->stalled.block->number,
                  (long long)(dog->timeout_ns / 1000000));
    return;
  }
  char place[256];
  describe_place(dog->stalled.block, dog->stalled.record, place, sizeof place);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "",
                "watchdog: nothing has moved for %lld ms, %s, seen %lld ns after the start",
                (long long)(dog->timeout_ns / 1000000), place,
                (long long)from_start_ns(dog->cpu, dog->stalled.at_ns));
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

static void report_loss(const prem_cpu_watchdog *dog, prem_diag *diag) {
  const prem_place nowhere = {0};
  char place[256];
  describe_place(dog->lost.block, dog->lost.record, place, sizeof place);
  prem_diag_add(diag, PREM_WARNING, 0, nowhere, "",
                "a compute did not return, %s; its thread and memory are given up and the session "
                "can only be closed",
                place);
}

prem_status prem_cpu_watchdog_judge(const prem_cpu_watchdog *dog, prem_diag *diag) {
  const prem_cpu *cpu = dog->cpu;
  prem_status status = PREM_OK;
  if (atomic_load(&cpu->fault.claimed)) {
    report_fault(cpu, diag);
    status = PREM_ERR_MACHINE;
  } else if (atomic_load(&cpu->abort.value) == PREM_CPU_STOPPED) {
    status = PREM_ERR_INTERRUPTED;
  } else if (dog->stalled.block) {
    report_stall(dog, diag);
    status = PREM_ERR_MACHINE;
  }
  if (dog->lost.block)
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

prem_status prem_cpu_watch(prem_cpu *cpu, prem_diag *diag) {
  prem_trace *trace = cpu->trace;
  prem_cpu_watchdog dog;
  const int64_t called_at_ns = prem_host_clock_ns();
  prem_cpu_team_launch(cpu);
  prem_cpu_watchdog_begin(&dog, cpu, cpu->request->timeout_ns);
  prem_cpu_watch_home(&dog);
  const int64_t start_ns = atomic_load(&cpu->common_start_ns.value);
  trace->launch_ns = start_ns == 0 ? -1 : start_ns - called_at_ns;
  trace->hyperperiods = completed_hyperperiods(cpu);
  trace->oversubscribed = cpu->oversubscribed;
  return prem_cpu_watchdog_judge(&dog, diag);
}
