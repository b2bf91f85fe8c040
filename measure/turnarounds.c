/* SPDX-License-Identifier: Apache-2.0 */
/* Turnarounds of blocks, from stamps. */
#include "measure/turnarounds.h"

#include "measure/job_times.h"
#include "measure/predecessors.h"
#include "measure/slot_order.h"

#include <stdlib.h>

enum { NOTICE_NS = 1000 }; /* from the end of a phase to the next one that sees it */

/* A job met on a block, by one of its phases. */
typedef struct met_job {
  int64_t hyperperiod;
  int32_t block, job;
} met_job;

typedef struct turning {
  const prem_turnarounds_of *run;
  prem_predecessors *predecessors;
  const prem_trace_record **places; /* block after block, by start */
  met_job *met;                     /* [task * PREM_PHASE_COUNT + phase] */
  int64_t look_back;                /* more records than can hold one up */
  int64_t until;                    /* the first hyperperiod of which records are lost */
} turning;

/* What happened last on the block before a phase began: an end, or the start of a prefetch, behind
 * which a unit hands on what it has handed on in order. NULL: a start, or nothing. */
static const prem_trace_record *last_end(const turning *all, int64_t at, int64_t *end_ns) {
  const prem_trace_record *next = all->places[at], *found = NULL;
  *end_ns = INT64_MIN;
  for (int64_t i = at - 1; i >= 0 && i >= at - all->look_back; --i) {
    const prem_trace_record *other = all->places[i];
    if (other->block != next->block)
      break;
    if (other->end_ns <= next->start_ns && other->end_ns > *end_ns) {
      *end_ns = other->end_ns;
      found = other;
    }
    if (other->phase == PREM_PREFETCH && other->start_ns > *end_ns &&
        other->start_ns < next->start_ns)
      *end_ns = other->start_ns; /* found is NULL: what ended before began later */
  }
  return found;
}

/* Does one wait for the other? A compute sees the bytes of its prefetch itself, before the
 * prefetch's end is stamped. With several buffers, prefetches go their own way. */
static bool may_wait(const turning *all, const prem_trace_record *before,
                     const prem_trace_record *next) {
  if (before->phase == PREM_PREFETCH || ((before->flags | next->flags) & PREM_SLOT_JOINED))
    return false;
  if (all->run->schedule->platform.buffers == 1 || before->phase == next->phase)
    return true;
  return before->phase == PREM_COMPUTE && next->phase == PREM_WRITEBACK &&
         prem_is_one_tile(before, next);
}

/* Was it free to begin at that instant, for all that is known of other jobs and the release? */
static bool is_free(const turning *all, const prem_trace_record *first, int64_t at_ns) {
  const prem_trace *trace = all->run->trace;
  const prem_task *task = &all->run->schedule->tasks[first->task];
  const int64_t release_ns =
      trace->epoch_ns[first->hyperperiod] + first->job * task->period_ns + task->release_ns;
  const prem_predecessor before = prem_predecessor_of(all->predecessors, first);
  if (release_ns > at_ns)
    return false;
  if (!before.exists)
    return true;
  /* where nothing has an instant, it may ask for the others only now */
  return all->run->mode == PREM_MODE_TT && before.known &&
         before.free_ns + all->run->told_ns <= at_ns;
}

static bool begins_job(const turning *all, const prem_trace_record *record) {
  met_job *last = &all->met[record->task * PREM_PHASE_COUNT + record->phase];
  const bool begins = last->block != record->block || last->job != record->job ||
                      last->hyperperiod != record->hyperperiod;
  *last = (met_job){record->hyperperiod, record->block, record->job};
  return begins;
}

/* Did it begin later than its instant and the clock's steps explain? */
static bool began_late(const turning *all, const prem_trace_record *record) {
  return record->release_ns == PREM_NO_RELEASE ||
         record->start_ns - record->release_ns > 2 * all->run->clock_step_ns;
}

static bool has_phase(const turning *all, const prem_trace_record *record, prem_phase phase) {
  return all->run->schedule->tasks[record->task].phase[phase].exists;
}

static bool add_one(const turning *all, int64_t at, bool begins, const prem_turnaround_times *out) {
  const prem_trace_record *next = all->places[at];
  int64_t end_ns;
  if ((next->flags & (PREM_SLOT_WARMUP | PREM_SLOT_CHAINED)) || !began_late(all, next))
    return true;
  const prem_trace_record *before = last_end(all, at, &end_ns);
  if (!before || !may_wait(all, before, next) || (begins && !is_free(all, next, end_ns)))
    return true;
  if (before->phase == PREM_COMPUTE && next->phase == PREM_COMPUTE &&
      has_phase(all, next, PREM_PREFETCH))
    return true; /* add_compute() has it */
  const bool is_jobs = begins && before->phase == PREM_WRITEBACK && next->phase == PREM_WRITEBACK &&
                       all->run->schedule->platform.buffers > 1;
  return prem_times_add(is_jobs ? &out->jobs[before->task]
                                : &out->of[before->task * PREM_PHASE_COUNT + before->phase],
                        next->start_ns - end_ns);
}

/* ---- on a unit ------------------------------------------------------------------------------ */

/* The phase of a kind so many before it on the block; -1: none, or too far back. */
static int64_t place_before(const turning *all, int64_t at, prem_phase phase, int32_t back) {
  for (int64_t i = at - 1; i >= 0 && i >= at - all->look_back; --i) {
    if (all->places[i]->block != all->places[at]->block)
      return -1;
    if (all->places[i]->phase == phase && --back == 0)
      return i;
  }
  return -1;
}

/* Were the bytes of a compute there at that instant, and did it wait for no buffer from then on?
 * Which one it fills the plan decides, not the order of computes alone: what began soon after the
 * end of a writeback may have waited for that. */
static bool has_all(const turning *all, int64_t at, int64_t at_ns, int64_t until_ns) {
  const prem_trace_record *next = all->places[at];
  for (int64_t i = at - 1; i >= 0 && i >= at - all->look_back; --i) {
    const prem_trace_record *other = all->places[i];
    if (other->block != next->block || other->end_ns <= at_ns)
      continue;
    const bool fetches = other->phase == PREM_PREFETCH && prem_is_one_tile(other, next);
    const bool may_free = other->phase == PREM_WRITEBACK &&
                          other->end_ns <= until_ns + all->run->clock_step_ns &&
                          until_ns - other->end_ns <= NOTICE_NS;
    if (fetches || may_free)
      return false;
  }
  return true;
}

/* What it needs was there when the compute before it ended: it waited for its warps alone, until it
 * was ready. What has no release begins then. */
static bool add_compute(const turning *all, int64_t at, prem_times *of) {
  const prem_trace_record *next = all->places[at];
  const int64_t before_at = place_before(all, at, PREM_COMPUTE, 1);
  if (before_at < 0 || ((next->flags | all->places[before_at]->flags) & PREM_SLOT_WARMUP) ||
      !has_phase(all, next, PREM_PREFETCH))
    return true;
  const int64_t end_ns = all->places[before_at]->end_ns;
  const int64_t ready_ns = began_late(all, next) ? next->start_ns : next->ready_ns;
  if (ready_ns <= end_ns || !has_all(all, at, end_ns, ready_ns))
    return true;
  return prem_times_add(of, ready_ns - end_ns);
}

/* Had the compute ended at that instant that gives it its buffer? */
static bool has_buffer(const turning *all, int64_t at, int64_t at_ns) {
  const int64_t user = place_before(all, at, PREM_PREFETCH, all->run->schedule->platform.buffers);
  for (int64_t i = user + 1; user >= 0 && i < at; ++i) {
    const prem_trace_record *other = all->places[i];
    const bool computes = all->run->schedule->tasks[other->task].phase[PREM_COMPUTE].exists;
    if (prem_is_one_tile(other, all->places[user]) && other->end_ns > at_ns &&
        (other->phase == PREM_COMPUTE || !computes))
      return false;
  }
  return true;
}

/* It asks for other jobs when the prefetch before it has begun, and is ready as much later as that
 * takes, if they have ended by then. Between instants that lie far apart it does more than ask. */
static bool add_prefetch(const turning *all, int64_t at, prem_times *of) {
  const prem_trace_record *next = all->places[at];
  const int64_t before_at = place_before(all, at, PREM_PREFETCH, 1);
  if (before_at < 0 || next->release_ns == PREM_NO_RELEASE)
    return true;
  const prem_trace_record *before = all->places[before_at];
  const int64_t seen_ns =
      (began_late(all, next) ? next->start_ns : next->ready_ns) - before->start_ns;
  if ((before->flags | next->flags) & (PREM_SLOT_JOINED | PREM_SLOT_WARMUP | PREM_SLOT_CHAINED) ||
      next->release_ns - before->start_ns > all->run->told_ns || seen_ns <= 0)
    return true;
  if (all->run->schedule->tasks[next->task].after_count == 0 ||
      !is_free(all, next, before->start_ns) || !has_buffer(all, at, before->start_ns))
    return true;
  return prem_times_add(of, seen_ns);
}

/* ---- all of a run --------------------------------------------------------------------------- */

static bool add_all(const turning *all, const prem_turnaround_times *out) {
  const bool many = all->run->schedule->platform.buffers > 1;
  bool room = true;
  for (int32_t i = 0; i < all->run->schedule->task_count * PREM_PHASE_COUNT; ++i)
    all->met[i].block = -1;
  for (int64_t at = 0; at < all->run->trace->record_count && room; ++at) {
    const bool begins = begins_job(all, all->places[at]);
    const int64_t hyperperiod = all->places[at]->hyperperiod;
    if (hyperperiod < all->run->from || hyperperiod >= all->until)
      continue;
    if (begins && many && all->places[at]->phase == PREM_PREFETCH)
      room = add_prefetch(all, at, out->prefetches);
    if (all->places[at]->phase == PREM_COMPUTE)
      room = add_compute(all, at, out->computes);
    room = room && add_one(all, at, begins, out);
  }
  return room;
}

prem_status prem_turnarounds_add(const prem_turnarounds_of *run, const prem_turnaround_times *out) {
  const size_t kinds = (size_t)run->schedule->task_count * PREM_PHASE_COUNT;
  turning all = {.run = run, .look_back = 8 * (run->schedule->platform.buffers + 1)};
  const prem_status status = prem_predecessors_new(run->schedule, run->trace, &all.predecessors);
  if (status != PREM_OK)
    return status;
  all.places = prem_records_by_block(run->trace);
  all.met = calloc(kinds + 1, sizeof *all.met);
  const bool room = all.places && all.met &&
                    prem_find_whole(run->schedule, run->trace, &all.until) && add_all(&all, out);
  prem_predecessors_free(all.predecessors);
  free(all.places);
  free(all.met);
  return room ? PREM_OK : PREM_ERR_MEMORY;
}
