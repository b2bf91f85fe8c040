/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-overs between jobs, from stamps. */
#include "measure/handovers.h"

#include "measure/predecessors.h"
#include "prem/base/numbers.h"

#include <stdlib.h>

enum { MOST_BYTES = 32 << 20 };

/* The first phase of a job on a block. */
typedef struct first_phase {
  const prem_trace_record *record; /* NULL: none there */
  int64_t told_ns;                 /* end of the job that it waits for */
  bool counts;
} first_phase;

typedef struct handovers {
  const prem_schedule *schedule;
  const prem_trace *trace;
  prem_predecessors *predecessors;
  first_phase *firsts; /* [hyperperiod][block][job] */
  int64_t hyperperiods;
} handovers;

static first_phase *firsts_of(const handovers *all, int64_t hyperperiod, int32_t block) {
  const int64_t place = hyperperiod * all->schedule->platform.blocks + block;
  return &all->firsts[place * all->trace->job_count];
}

static bool make_room(handovers *all) {
  const int64_t jobs = all->trace->job_count * all->schedule->platform.blocks;
  const int64_t most = MOST_BYTES / (int64_t)sizeof *all->firsts / prem_max_i64(jobs, 1);
  all->hyperperiods = prem_min_i64(all->trace->hyperperiods, prem_max_i64(most, 1));
  all->firsts = calloc((size_t)(all->hyperperiods * jobs) + 1, sizeof *all->firsts);
  return all->firsts != NULL;
}

static void find_firsts(handovers *all) {
  const prem_trace *trace = all->trace;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod >= all->hyperperiods)
      continue;
    first_phase *first = firsts_of(all, record->hyperperiod, record->block) +
                         trace->first_job[record->task] + record->job;
    if (!first->record || record->start_ns < first->record->start_ns)
      first->record = record;
  }
}

static void find_ends(handovers *all) {
  const int64_t count = all->hyperperiods * all->schedule->platform.blocks * all->trace->job_count;
  for (int64_t i = 0; i < count; ++i) {
    first_phase *first = &all->firsts[i];
    if (!first->record || first->record->flags & PREM_SLOT_WARMUP)
      continue;
    const prem_predecessor before = prem_predecessor_of(all->predecessors, first->record);
    if (!before.exists || !before.known || before.record < 0)
      continue;
    first->told_ns = all->trace->records[before.record].end_ns;
    first->counts = true;
  }
}

static bool is_between(int64_t ns, const first_phase *first) {
  return ns > first->told_ns && ns <= first->record->ready_ns;
}

/* A phase of the same block that ended, or began, behind the message may have held it up. */
static void leave_out_held_up(handovers *all) {
  for (int64_t i = 0; i < all->trace->record_count; ++i) {
    const prem_trace_record *record = &all->trace->records[i];
    if (record->hyperperiod >= all->hyperperiods)
      continue;
    first_phase *firsts = firsts_of(all, record->hyperperiod, record->block);
    for (int64_t j = 0; j < all->trace->job_count; ++j)
      if (firsts[j].counts && firsts[j].record != record &&
          (is_between(record->end_ns, &firsts[j]) || is_between(record->start_ns, &firsts[j])))
        firsts[j].counts = false;
  }
}

static bool add_times(const handovers *all, int64_t from, prem_times *of) {
  const int64_t jobs = all->schedule->platform.blocks * all->trace->job_count;
  for (int64_t i = from * jobs; i < all->hyperperiods * jobs; ++i) {
    const first_phase *first = &all->firsts[i];
    if (first->counts && first->record->ready_ns > first->told_ns &&
        !prem_times_add(&of[first->record->task], first->record->ready_ns - first->told_ns))
      return false;
  }
  return true;
}

prem_status prem_handovers_add(const prem_schedule *schedule, const prem_trace *trace, int64_t from,
                               prem_times *of) {
  handovers all = {.schedule = schedule, .trace = trace};
  prem_status status = prem_predecessors_new(schedule, trace, &all.predecessors);
  if (status == PREM_OK && !make_room(&all))
    status = PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    find_firsts(&all);
    find_ends(&all);
    leave_out_held_up(&all);
    status = add_times(&all, from, of) ? PREM_OK : PREM_ERR_MEMORY;
  }
  prem_predecessors_free(all.predecessors);
  free(all.firsts);
  return status;
}
