/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was a thread's core taken away? A thread that has a core of its own never sleeps during a run, so
 * its time on a core grows as the clock does. Where it does not, somebody else had the core.
 *
 * A thread looks while it waits for an instant, and when a job ends. What it missed delays it until
 * it waits for an instant again: so long an absence lasts.
 */
#include "runtime/cpu/cpu.h"

#include <stdlib.h>

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "runtime/core/record_rules.h"

enum {
  MIN_AWAY_NS = 10000,   /* below: the readings themselves, and what a tick of the system takes */
  CLOCK_SHARE = 1000,    /* the two clocks may drift apart by one part in so many */
  LOOK_NS = 10000,       /* a look takes less */
  MAX_ABSENCES = 1 << 14 /* of a thread in a run; the last one goes on through all that follow */
};

/* ---- looking -------------------------------------------------------------------------------- */

/* The thread's clock asks the scheduler. getrusage() counts involuntary switches, but its times are
 * as old as the last tick. */
static prem_cpu_look look_now(void) {
  struct timespec used = {0};
  const int64_t now = prem_host_clock_ns();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (prem_cpu_look){now, (int64_t)used.tv_sec * 1000000000 + used.tv_nsec};
}

bool prem_cpu_away_new(prem_cpu_block *block) {
  block->absences = calloc(MAX_ABSENCES, sizeof *block->absences);
  return block->absences;
}

void prem_cpu_away_begin(prem_cpu_block *block) {
  block->is_watched = !block->cpu->oversubscribed && !block->cpu->courier && !block->cpu->critical;
  block->is_behind = false;
  block->absence_count = 0;
  if (!block->is_watched)
    return;
  block->last_look = look_now();
  if (block->last_look.at_ns > block->common_start_ns) /* away while S came */
    block->last_look.at_ns = block->common_start_ns;
}

static void look(prem_cpu_block *block) {
  const prem_cpu_look before = block->last_look, now = look_now();
  const int64_t passed_ns = now.at_ns - before.at_ns;
  const int64_t away_ns = passed_ns - (now.cpu_ns - before.cpu_ns);
  block->last_look = now;
  if (away_ns <= MIN_AWAY_NS + passed_ns / CLOCK_SHARE)
    return;
  if (!block->is_behind && block->absence_count < MAX_ABSENCES)
    block->absences[block->absence_count++] =
        (prem_cpu_absence){.begin_ns = before.at_ns - block->common_start_ns};
  prem_cpu_absence *absence = &block->absences[block->absence_count - 1];
  absence->end_ns = PREM_MAX_NS;
  absence->away_ns = prem_max_i64(absence->away_ns, away_ns);
  block->is_behind = true;
}

/* Nobody can have been away for longer than the clock has gone on. */
static bool may_have_been_away(const prem_cpu_block *block, int64_t now_ns) {
  return block->common_start_ns + now_ns - block->last_look.at_ns > MIN_AWAY_NS;
}

void prem_cpu_away_job_over(prem_cpu_block *block, int64_t now_ns) {
  if (block->is_watched && may_have_been_away(block, now_ns))
    look(block);
}

void prem_cpu_away_wait(prem_cpu_block *block, int64_t now_ns, int64_t instant_ns) {
  if (!block->is_watched)
    return;
  if (instant_ns - now_ns > LOOK_NS && may_have_been_away(block, now_ns)) {
    look(block);
    now_ns = block->last_look.at_ns - block->common_start_ns;
  }
  if (block->is_behind && now_ns < instant_ns) {
    block->absences[block->absence_count - 1].end_ns = now_ns;
    block->is_behind = false;
  }
}

/* ---- judging -------------------------------------------------------------------------------- */

typedef struct timed_job {
  int64_t end_ns, release_ns;
  int64_t *away_ns; /* the trace's */
} timed_job;

static void list_jobs(const prem_program *program, int64_t hyperperiods, prem_trace *trace,
                      timed_job *jobs) {
  int64_t count = 0;
  for (int64_t h = 0; h < hyperperiods; ++h)
    for (int32_t t = 0; t < trace->task_count; ++t)
      for (int32_t j = 0; j < program->tasks[t].jobs; ++j, ++count) {
        const int64_t end_ns = trace->job_end_ns[count];
        jobs[count] =
            (timed_job){.release_ns = prem_job_release_ns(program, t, j, trace->epoch_ns[h]),
                        .end_ns = end_ns < 0 ? PREM_MAX_NS : end_ns, /* it never ended */
                        .away_ns = &trace->away_ns[count]};
      }
}

/* Absences of blocks overlap: of those that began before a job's end, `reach_ns` says how far any
 * up to a place goes on. */
static void find_overlaps(const prem_cpu_absence *absences, const int64_t *reach_ns, int64_t count,
                          const timed_job *job) {
  int64_t low = 0, high = count;
  PREM_BISECT(low, high, middle, absences[middle].begin_ns < job->end_ns);
  for (int64_t i = low - 1; i >= 0 && reach_ns[i] > job->release_ns; --i)
    if (absences[i].end_ns > job->release_ns)
      *job->away_ns = prem_max_i64(*job->away_ns, absences[i].away_ns);
}

/* A job can have waited only for jobs that ended after its release and before its own end. */
static void carry_on(timed_job *jobs, int64_t count) {
  const timed_job *last = NULL;
  qsort(jobs, (size_t)count, sizeof *jobs, prem_by_i64); /* by their ends */
  for (int64_t i = 0; i < count; ++i) {
    if (last && *jobs[i].away_ns == 0 && last->end_ns > jobs[i].release_ns)
      *jobs[i].away_ns = *last->away_ns;
    if (*jobs[i].away_ns > 0)
      last = &jobs[i];
  }
}

prem_status prem_cpu_away_judge(const prem_program *program, int64_t hyperperiods,
                                prem_cpu_absence *absences, int64_t count, prem_trace *trace) {
  const int64_t job_count = hyperperiods * trace->job_count;
  for (int64_t i = 0; i < job_count; ++i)
    trace->away_ns[i] = 0;
  if (count == 0)
    return PREM_OK;
  int64_t *reach_ns = malloc((size_t)count * sizeof *reach_ns);
  timed_job *jobs = malloc((size_t)job_count * sizeof *jobs);
  const prem_status status = reach_ns && jobs ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    qsort(absences, (size_t)count, sizeof *absences, prem_by_i64); /* by begin */
    for (int64_t i = 0; i < count; ++i)
      reach_ns[i] = prem_max_i64(absences[i].end_ns, i > 0 ? reach_ns[i - 1] : 0);
    list_jobs(program, hyperperiods, trace, jobs);
    for (int64_t i = 0; i < job_count; ++i)
      find_overlaps(absences, reach_ns, count, &jobs[i]);
    carry_on(jobs, job_count);
  }
  free(reach_ns);
  free(jobs);
  return status;
}

prem_status prem_cpu_away_collect(const prem_cpu *cpu) {
  int64_t count = 0;
  if (cpu->oversubscribed)
    return PREM_OK;
  for (int32_t b = 0; b < cpu->block_count; ++b)
    count += cpu->blocks[b].absence_count;
  prem_cpu_absence *absences = malloc((size_t)(count + 1) * sizeof *absences);
  if (!absences)
    return PREM_ERR_MEMORY;
  count = 0;
  for (int32_t b = 0; b < cpu->block_count; ++b)
    for (int64_t i = 0; i < cpu->blocks[b].absence_count; ++i)
      absences[count++] = cpu->blocks[b].absences[i];
  const prem_status status =
      prem_cpu_away_judge(cpu->program, cpu->request->hyperperiods, absences, count, cpu->trace);
  free(absences);
  return status;
}
