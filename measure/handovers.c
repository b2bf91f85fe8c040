/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-overs between jobs, from stamps. */
#include "measure/handovers.h"

#include "measure/job_times.h"
#include "measure/predecessors.h"
#include "measure/slot_order.h"

#include <stdlib.h>

/* A job met on a block. */
typedef struct met_job {
  int32_t block, hyperperiod, job;
} met_job;

static bool is_between(int64_t ns, int64_t from_ns, const prem_trace_record *first) {
  return ns > from_ns && ns <= first->ready_ns;
}

/* A phase of the same block that ended, or began, behind the message may have held it up. */
static bool is_held_up(const prem_trace_record *const *places, int64_t at, int64_t look_back,
                       int64_t told_ns) {
  const prem_trace_record *first = places[at];
  for (int64_t i = at - 1; i >= 0 && i >= at - look_back; --i) {
    const prem_trace_record *other = places[i];
    if (other->block != first->block)
      return false;
    if (is_between(other->start_ns, told_ns, first) || is_between(other->end_ns, told_ns, first))
      return true;
  }
  return false;
}

static bool add_one(const prem_trace *trace, const prem_predecessors *predecessors,
                    const prem_trace_record *const *places, int64_t at, int64_t look_back,
                    prem_times *of) {
  const prem_trace_record *first = places[at];
  if (first->flags & PREM_SLOT_WARMUP)
    return true;
  const prem_predecessor before = prem_predecessor_of(predecessors, first);
  if (!before.exists || !before.known || before.record < 0)
    return true;
  const int64_t told_ns = trace->records[before.record].end_ns;
  if (first->ready_ns <= told_ns || is_held_up(places, at, look_back, told_ns))
    return true;
  return prem_times_add(&of[first->task], first->ready_ns - told_ns);
}

static bool add_all(const prem_schedule *schedule, const prem_trace *trace, int64_t from,
                    int64_t until, const prem_predecessors *predecessors,
                    const prem_trace_record *const *places, met_job *met, prem_times *of) {
  const int64_t look_back = 8 * (schedule->platform.buffers + 1); /* more than can hold one up */
  bool room = true;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    met[t].block = -1;
  for (int64_t at = 0; at < trace->record_count && room; ++at) {
    const prem_trace_record *record = places[at];
    met_job *last = &met[record->task];
    const bool begins = last->block != record->block || last->job != record->job ||
                        last->hyperperiod != record->hyperperiod;
    *last = (met_job){record->block, record->hyperperiod, record->job};
    if (begins && record->hyperperiod >= from && record->hyperperiod < until)
      room = add_one(trace, predecessors, places, at, look_back, of);
  }
  return room;
}

prem_status prem_handovers_add(const prem_schedule *schedule, const prem_trace *trace, int64_t from,
                               prem_times *of) {
  prem_predecessors *predecessors = NULL;
  const prem_status status = prem_predecessors_new(schedule, trace, &predecessors);
  if (status != PREM_OK)
    return status;
  const prem_trace_record **places = prem_records_by_block(trace);
  met_job *met = calloc((size_t)schedule->task_count + 1, sizeof *met);
  int64_t until;
  bool room = places && met && prem_find_whole(schedule, trace, &until);
  if (room && until <= from) /* none is whole: better these than none */
    until = trace->hyperperiod_capacity;
  room = room && add_all(schedule, trace, from, until, predecessors, places, met, of);
  prem_predecessors_free(predecessors);
  free(places);
  free(met);
  return room ? PREM_OK : PREM_ERR_MEMORY;
}
