/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase waited for until it began. */
#include "measure/waits.h"

#include "measure/slot_order.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

#include <stdlib.h>

enum {
  NOTICE_NS = 1000, /* from the end of a phase to the next one that sees it, on any backend */
  CLOCK_STEPS = 2,  /* a release is seen one step late at worst, and stamped one step late */
  HALF_BACK = 8,    /* records between the halves of a joined pair, at most */
  AHEAD = 32        /* records fetched ahead: they lie far apart, which no machine foresees */
};

/* ---- blocks --------------------------------------------------------------------------------- */

static bool sort_by_block(prem_waits *waits) {
  const prem_trace *trace = waits->trace;
  const size_t blocks = (size_t)waits->schedule->platform.blocks;
  const size_t records = (size_t)trace->record_count;
  waits->order = calloc(records + 1, sizeof *waits->order);
  waits->first = calloc(blocks + 2, sizeof *waits->first);
  if (!waits->order || !waits->first)
    return false;
  for (size_t i = 0; i < records; ++i)
    ++waits->first[trace->records[i].block + 2];
  for (size_t b = 2; b <= blocks + 1; ++b)
    waits->first[b] += waits->first[b - 1];
  for (size_t i = 0; i < records; ++i)
    waits->order[waits->first[trace->records[i].block + 1]++] = (int64_t)i;
  return true;
}

/* The next one in a walk over all positions. */
static const prem_trace_record *walk(const prem_waits *waits, int64_t position) {
  if (position + AHEAD < waits->trace->record_count)
    __builtin_prefetch(prem_record_at(waits, position + AHEAD));
  return prem_record_at(waits, position);
}

/* Of the record with an index. */
static int64_t position_of(const prem_waits *waits, int64_t index) {
  const uint16_t block = waits->trace->records[index].block;
  int64_t low = waits->first[block], high = waits->first[block + 1];
  PREM_BISECT(low, high, middle, waits->order[middle] < index);
  return low;
}

/* A job met on a block; block -1: none so far. */
typedef struct met_job {
  int32_t block, hyperperiod, job;
} met_job;

static bool find_beginnings(prem_waits *waits) {
  const size_t phases = (size_t)waits->schedule->task_count * PREM_PHASE_COUNT;
  met_job *met = malloc((phases + 1) * sizeof *met);
  waits->begins = malloc((size_t)waits->trace->record_count + 1);
  if (!met || !waits->begins) {
    free(met);
    return false;
  }
  for (size_t i = 0; i < phases; ++i)
    met[i] = (met_job){.block = -1};
  for (int64_t at = 0; at < waits->trace->record_count; ++at) {
    const prem_trace_record *record = walk(waits, at);
    met_job *last = &met[record->task * PREM_PHASE_COUNT + record->phase];
    waits->begins[at] = last->block != record->block || last->job != record->job ||
                        last->hyperperiod != record->hyperperiod;
    *last = (met_job){record->block, record->hyperperiod, record->job};
  }
  free(met);
  return true;
}

static bool are_halves(const prem_trace_record *a, const prem_trace_record *b) {
  return (a->flags & b->flags & PREM_SLOT_JOINED) && a->phase != b->phase &&
         a->release_ns == b->release_ns;
}

/* Where a prefetch and a writeback of a block ran at the same time, none waits for the other. */
static bool has_memory_apart(const prem_waits *waits) {
  for (int32_t b = 0; b < waits->schedule->platform.blocks; ++b) {
    const prem_trace_record *last[PREM_PHASE_COUNT] = {NULL};
    for (int64_t at = waits->first[b]; at < waits->first[b + 1]; ++at) {
      const prem_trace_record *record = walk(waits, at);
      if (record->phase == PREM_COMPUTE)
        continue;
      const prem_trace_record *other = last[PREM_PREFETCH + PREM_WRITEBACK - record->phase];
      if (other && record->start_ns + waits->clock_step_ns < other->end_ns &&
          !are_halves(record, other))
        return true;
      if (!last[record->phase] || record->end_ns > last[record->phase]->end_ns)
        last[record->phase] = record;
    }
  }
  return false;
}

prem_status prem_waits_open(const prem_schedule *schedule, const prem_trace *trace,
                            int64_t clock_step_ns, prem_waits *out) {
  *out = (prem_waits){.schedule = schedule,
                      .trace = trace,
                      .clock_step_ns = clock_step_ns > 0 ? clock_step_ns : 1,
                      .look_back = 8 * (schedule->platform.buffers + 1)};
  if (!sort_by_block(out) || !find_beginnings(out))
    return PREM_ERR_MEMORY;
  out->apart = has_memory_apart(out);
  return prem_predecessors_new(schedule, trace, &out->predecessors);
}

void prem_waits_close(prem_waits *waits) {
  PREM_FREE(waits->order, waits->first, waits->begins);
  prem_predecessors_free(waits->predecessors);
}

/* ---- one phase ------------------------------------------------------------------------------ */

bool prem_record_is_late(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  return record->release_ns != PREM_NO_RELEASE &&
         record->start_ns - record->release_ns > waits->schedule->platform.late_ns;
}

int64_t prem_tile_before(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  const int64_t begin = waits->first[record->block];
  for (int64_t at = position - 1; at >= begin && at >= position - waits->look_back; --at)
    if (prem_is_one_tile(record, prem_record_at(waits, at)) &&
        prem_record_at(waits, at)->phase < record->phase)
      return at;
  return -1;
}

int64_t prem_other_half(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  if (!(record->flags & PREM_SLOT_JOINED) || record->release_ns == PREM_NO_RELEASE)
    return -1;
  const int64_t begin = waits->first[record->block], end = waits->first[record->block + 1];
  for (int64_t away = 1; away <= HALF_BACK; ++away) {
    if (position - away >= begin && are_halves(record, prem_record_at(waits, position - away)))
      return position - away;
    if (position + away < end && are_halves(record, prem_record_at(waits, position + away)))
      return position + away;
  }
  return -1;
}

int64_t prem_due_ns(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  if (record->release_ns != PREM_NO_RELEASE)
    return record->release_ns;
  const int64_t before = prem_tile_before(waits, position);
  return before < 0 ? record->start_ns : prem_record_at(waits, before)->end_ns;
}

static int64_t window_ns(const prem_waits *waits, const prem_trace_record *record) {
  const prem_task *task = &waits->schedule->tasks[record->task];
  if (!(record->flags & PREM_SLOT_JOINED))
    return task->phase[record->phase].wcet_ns;
  return task->joined.exists
             ? task->joined.wcet_ns
             : task->phase[PREM_PREFETCH].wcet_ns + task->phase[PREM_WRITEBACK].wcet_ns;
}

int64_t prem_excess_ns(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  return record->end_ns - record->start_ns - window_ns(waits, record);
}

/* ---- what it could wait for ------------------------------------------------------------------ */

/* A phase that is looked into. */
typedef struct question {
  const prem_trace_record *record, *half; /* half: of a joined pair, or NULL */
  int64_t position, begin;                /* begin: of its block */
  int64_t due_ns;
} question;

static bool same_unit(const prem_trace_record *a, const prem_trace_record *b) {
  return (a->phase == PREM_COMPUTE) == (b->phase == PREM_COMPUTE);
}

/* Does `other`, when it ends, give a buffer that a phase like `record` may wait for? */
static bool frees_buffer(const prem_waits *waits, const prem_trace_record *record,
                         const prem_trace_record *other) {
  if (record->phase == PREM_COMPUTE)
    return other->phase == PREM_WRITEBACK; /* of its output */
  if (record->phase == PREM_PREFETCH)
    return other->phase ==
               (waits->schedule->platform.buffers > 1 ? PREM_COMPUTE : PREM_WRITEBACK) ||
           (record->flags & PREM_SLOT_JOINED && other->phase == PREM_COMPUTE);
  return false;
}

static prem_cause cause_of_one(const prem_waits *waits, const prem_trace_record *record,
                               const prem_trace_record *other, bool is_ready) {
  if (!is_ready && prem_is_one_tile(record, other))
    return PREM_CAUSE_DATA;
  if (!is_ready && frees_buffer(waits, record, other))
    return PREM_CAUSE_BUFFER;
  return same_unit(record, other) ? PREM_CAUSE_UNIT : PREM_CAUSE_COUNT;
}

/* What it could be waiting for when `other` is not over, or in the way of its unit; COUNT: not for
 * this one. What the plan lets go on beyond its release, it does not wait for. */
static prem_cause cause_of(const prem_waits *waits, const question *asked,
                           const prem_trace_record *other, bool is_ready) {
  const prem_trace_record *record = asked->record;
  if (record->release_ns != PREM_NO_RELEASE && other->release_ns != PREM_NO_RELEASE &&
      other->release_ns + window_ns(waits, other) > record->release_ns)
    return PREM_CAUSE_COUNT;
  const prem_cause cause = cause_of_one(waits, record, other, is_ready);
  if (asked->half && (cause == PREM_CAUSE_COUNT || cause == PREM_CAUSE_UNIT)) {
    const prem_cause of_half = cause_of_one(waits, asked->half, other, is_ready);
    return of_half == PREM_CAUSE_COUNT ? cause : of_half;
  }
  return cause;
}

/* Is it a memory phase of the other kind? That is in the way only where the block has one unit for
 * both, and this one begins as soon as it is over. */
static bool is_beside(const question *asked, const prem_trace_record *other) {
  return !asked->half && asked->record->phase != other->phase;
}

/* The one that ended last, of a kind of candidates. */
typedef struct candidate {
  int64_t position, end_ns; /* position -1: none */
  prem_cause cause;
} candidate;

static void keep_latest(candidate *latest, int64_t position, int64_t end_ns, prem_cause cause) {
  const bool is_nearer = latest->position >= 0 && end_ns == latest->end_ns &&
                         cause != PREM_CAUSE_UNIT && latest->cause == PREM_CAUSE_UNIT;
  if (end_ns > latest->end_ns || is_nearer)
    *latest = (candidate){position, end_ns, cause};
}

static prem_wait wait_for_one(const candidate *of) {
  return (prem_wait){
      .cause = of->cause, .culprit = of->position, .known = of->position >= 0, .from = -1};
}

/* Units work their tables in order: a phase that begins late holds up the one behind it even where
 * the unit does not wait for it to end. */
static void wait_in_line(const prem_waits *waits, const question *asked, int64_t last,
                         int64_t over_ns, int64_t latest_ns, prem_wait *found) {
  int64_t at = asked->position - 1;
  while (at >= last && (!same_unit(asked->record, prem_record_at(waits, at)) ||
                        (waits->apart && is_beside(asked, prem_record_at(waits, at)))))
    --at;
  if (at < last || !prem_record_is_late(waits, at) ||
      prem_record_at(waits, at)->release_ns > asked->due_ns)
    return;
  const int64_t begun_ns = prem_record_at(waits, at)->start_ns;
  if (begun_ns > latest_ns && begun_ns <= over_ns)
    *found = (prem_wait){
        .cause = PREM_CAUSE_UNIT, .culprit = at, .known = true, .until_start = true, .from = -1};
}

/* A phase that ends after its window, in the guard or the turnaround that is left for telling the
 * next one of it. */
static bool eats_guard(const prem_waits *waits, const prem_trace_record *other,
                       const prem_trace_record *next, int64_t due_ns) {
  const int64_t planned_ns =
      (other->release_ns == PREM_NO_RELEASE ? other->start_ns : other->release_ns) +
      window_ns(waits, other);
  const prem_task *task = &waits->schedule->tasks[other->task];
  const prem_phase phase = (prem_phase)other->phase;
  const int64_t gap_ns = phase == PREM_COMPUTE && next->phase == PREM_COMPUTE
                             ? prem_unit_gap_ns(waits->schedule, task, phase, other->tile)
                             : prem_phase_gap_ns(waits->schedule, task, phase);
  return other->end_ns > planned_ns && other->end_ns > due_ns - gap_ns;
}

/* The last to end after `from_ns`, or with the guard, among those that it waited for until it was
 * ready, or from then on until it started. */
static prem_wait wait_on_block(const prem_waits *waits, const question *asked, bool is_ready,
                               int64_t from_ns) {
  const prem_trace_record *record = asked->record;
  const int64_t until_ns = is_ready ? record->start_ns : record->ready_ns;
  const int64_t over_ns = until_ns + waits->clock_step_ns;
  const int64_t back = asked->position - waits->look_back;
  const int64_t last = back > asked->begin ? back : asked->begin;
  candidate own = {.position = -1, .end_ns = INT64_MIN}, beside = own;
  for (int64_t at = asked->position - 1; at >= last; --at) {
    const prem_trace_record *other = prem_record_at(waits, at);
    const bool is_before = other->end_ns <= from_ns && !eats_guard(waits, other, record, from_ns);
    const prem_cause cause = other->end_ns > over_ns || is_before
                                 ? PREM_CAUSE_COUNT
                                 : cause_of(waits, asked, other, is_ready);
    if (cause == PREM_CAUSE_COUNT)
      continue;
    if (cause != PREM_CAUSE_UNIT || !is_beside(asked, other))
      keep_latest(&own, at, other->end_ns, cause);
    else if (!waits->apart && until_ns - other->end_ns <= NOTICE_NS)
      keep_latest(&beside, at, other->end_ns, cause);
  }
  const candidate *latest =
      beside.end_ns > own.end_ns + CLOCK_STEPS * waits->clock_step_ns || own.position < 0 ? &beside
                                                                                          : &own;
  prem_wait found = wait_for_one(latest);
  if (!is_ready)
    wait_in_line(waits, asked, last, over_ns, prem_max_i64(latest->end_ns, from_ns), &found);
  return found;
}

/* ---- jobs before it -------------------------------------------------------------------------- */

/* The job that it waits for, where that accounts for the larger share of what this one waited; else
 * it took so long until this one knew. */
static prem_wait wait_for_job(const prem_waits *waits, const question *asked,
                              const prem_predecessor *before) {
  const int64_t wait_ns = asked->record->ready_ns - asked->due_ns;
  if (before->tardy_ns < wait_ns - before->tardy_ns)
    return (prem_wait){
        .cause = PREM_CAUSE_HANDOVER, .culprit = -1, .known = true, .from = before->task};
  return (prem_wait){.cause = PREM_CAUSE_JOB,
                     .culprit = before->record < 0 ? -1 : position_of(waits, before->record),
                     .known = true,
                     .lost = before->record < 0,
                     .from = -1};
}

/* What ended on its own block just before, after the jobs that it waits for, held it up; else they
 * did. */
static prem_wait wait_until_ready(const prem_waits *waits, const question *asked) {
  const prem_wait near = wait_on_block(waits, asked, false, asked->due_ns);
  if (!waits->begins[asked->position])
    return near;
  const prem_predecessor before = prem_predecessor_of(waits->predecessors, asked->record);
  if (!before.exists)
    return near;
  int64_t near_ns = INT64_MIN;
  if (near.known) {
    const prem_trace_record *culprit = prem_record_at(waits, near.culprit);
    near_ns = near.until_start ? culprit->start_ns : culprit->end_ns;
  }
  const bool is_near = near.known && asked->record->ready_ns - near_ns <= NOTICE_NS;
  if (is_near && (!before.known || near_ns >= before.free_ns))
    return near;
  if (!before.known)
    return (prem_wait){.culprit = -1, .lost = true, .from = -1};
  return wait_for_job(waits, asked, &before);
}

/* ---- nobody ---------------------------------------------------------------------------------- */

static bool is_first_of_unit(const prem_waits *waits, const question *asked) {
  for (int64_t at = asked->position - 1; at >= asked->begin; --at)
    if (same_unit(asked->record, prem_record_at(waits, at)) &&
        !(prem_record_at(waits, at)->flags & PREM_SLOT_WARMUP))
      return false;
  return asked->record->hyperperiod == 0;
}

/* Released and ready: nothing but the executor stood between it and its start. */
static prem_wait without_wait(const prem_waits *waits, const question *asked) {
  prem_wait found = {.cause = PREM_CAUSE_EXECUTOR, .culprit = -1, .known = true, .from = -1};
  if (asked->record->start_ns - asked->due_ns <= CLOCK_STEPS * waits->clock_step_ns)
    found.cause = PREM_CAUSE_CLOCK;
  else if (is_first_of_unit(waits, asked))
    found.cause = PREM_CAUSE_COLD;
  return found;
}

/* Until it was ready, and from then on: the longer of the two is looked into first. */
static prem_wait look_into(const prem_waits *waits, const question *asked) {
  const prem_trace_record *record = asked->record;
  const int64_t until_ready_ns = record->ready_ns - asked->due_ns;
  const int64_t since_ns = until_ready_ns > 0 ? record->ready_ns : asked->due_ns;
  prem_wait found = {.culprit = -1, .from = -1};
  if (until_ready_ns > 0 && until_ready_ns >= record->start_ns - since_ns) {
    found = wait_until_ready(waits, asked);
    if (!found.known && !found.lost)
      found = wait_on_block(waits, asked, true, asked->due_ns);
  } else {
    found = wait_on_block(waits, asked, true, since_ns);
  }
  if (!found.known) { /* a lost record may be the one */
    found.lost |= waits->trace->lost > 0;
    return found.lost ? found : without_wait(waits, asked);
  }
  if (found.culprit >= 0 && prem_record_at(waits, found.culprit)->flags & PREM_SLOT_WARMUP)
    return (prem_wait){.cause = PREM_CAUSE_COLD, .culprit = -1, .known = true, .from = -1};
  return found;
}

prem_wait prem_wait_of(const prem_waits *waits, int64_t position) {
  const prem_trace_record *record = prem_record_at(waits, position);
  const int64_t half = prem_other_half(waits, position);
  const question asked = {.record = record,
                          .half = half < 0 ? NULL : prem_record_at(waits, half),
                          .position = position,
                          .begin = waits->first[record->block],
                          .due_ns = prem_due_ns(waits, position)};
  return look_into(waits, &asked);
}
