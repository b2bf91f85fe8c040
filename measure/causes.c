/* SPDX-License-Identifier: Apache-2.0 */
/* Why phases were late: the waits of each, followed back over blocks and tasks to where they began.
 */
#include <stdlib.h>

#include "measure/campaign.h"
#include "measure/waits.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum { NOT_FOLLOWED = -1, BEING_FOLLOWED = -2, BEHIND_LATE = 1 << 30 };

/** Where the way back from a record ends. While it is followed, `at` is the next record on it. */
typedef struct origin {
  int64_t at;    /* position of a record, as all here */
  int32_t cause; /* index into the list, | BEHIND_LATE: past a late record; or one of the above */
} origin;

typedef struct search {
  prem_waits waits;
  origin *origins;        /* [position]: why it began after it was due */
  prem_first_cause *list; /* found in this trace */
  int32_t *next;          /* [list]: another one of its task; -1: none */
  int32_t *of_task;       /* [task]: the first one of it in the list; -1: none */
  int32_t count;
  bool is_out_of_memory;
} search;

const char *prem_cause_name(prem_cause cause) {
  static const char *const names[PREM_CAUSE_COUNT] = {"clock", "cold", "buffer",   "data",
                                                      "unit",  "job",  "handover", "executor"};
  return cause < PREM_CAUSE_COUNT ? names[cause] : "unknown";
}

const char *prem_first_kind_name(prem_first_kind kind) {
  static const char *const names[PREM_FIRST_COUNT] = {"window", "handover", "executor",
                                                      "clock",  "cold",     "lost"};
  return kind < PREM_FIRST_COUNT ? names[kind] : "unknown";
}

/* ---- the list ------------------------------------------------------------------------------- */

/* A hand-over is one for all phases that wait for it, and what is lost is lost for all. 0: one
 * cause. */
static int64_t compare_keys(const prem_first_cause *a, const prem_first_cause *b) {
  if (a->kind != b->kind)
    return (int64_t)a->kind - (int64_t)b->kind;
  if (a->kind == PREM_FIRST_LOST)
    return 0;
  if (a->task != b->task)
    return (int64_t)a->task - b->task;
  if (a->kind == PREM_FIRST_HANDOVER)
    return (int64_t)a->from - b->from;
  if (a->phase != b->phase)
    return (int64_t)a->phase - (int64_t)b->phase;
  return (int64_t)a->joined - (int64_t)b->joined;
}

static bool is_seen_before(const prem_first_cause *a, const prem_first_cause *b) {
  return a->run != b->run ? a->run < b->run : a->start_ns < b->start_ns;
}

/* The place is that where it was seen first. */
static void merge(prem_first_cause *to, const prem_first_cause *from) {
  const prem_first_cause before = *to;
  if (is_seen_before(from, to))
    *to = *from;
  to->late = before.late + from->late;
  to->lateness_max_ns = before.lateness_max_ns;
  to->widen_ns = before.widen_ns;
  to->lateness_max_ns = prem_max_i64(to->lateness_max_ns, from->lateness_max_ns);
  to->widen_ns = prem_max_i64(to->widen_ns, from->widen_ns);
}

/* Its number in the list. */
static int32_t number_of(search *all, const prem_first_cause *cause) {
  int32_t *head = &all->of_task[cause->kind == PREM_FIRST_LOST ? 0 : cause->task];
  int32_t at = *head;
  while (at >= 0 && compare_keys(&all->list[at], cause) != 0)
    at = all->next[at];
  if (at >= 0) {
    merge(&all->list[at], cause);
    return at;
  }
  if (!prem_make_room(&all->list, (size_t)all->count, sizeof *all->list) ||
      !prem_make_room(&all->next, (size_t)all->count, sizeof *all->next)) {
    all->is_out_of_memory = true;
    return 0;
  }
  at = all->count++;
  all->next[at] = *head;
  *head = at;
  all->list[at] = *cause;
  return at;
}

/* ---- one step back -------------------------------------------------------------------------- */

/** Why a record began after it was due, or ended late: it begins here, or with the start of another
 *  record. */
typedef struct step {
  bool is_first;
  prem_first_kind kind;
  int32_t from;
  int64_t at; /* record */
} step;

static step first_here(prem_first_kind kind, int64_t at) {
  return (step){.is_first = true, .kind = kind, .from = -1, .at = at};
}

static const prem_trace_record *record_of(const search *all, int64_t at) {
  return prem_record_at(&all->waits, at);
}

/* How long after its plan a chain of phases ended: lateness of the first, waits between, excesses.
 */
static int64_t tardy_ns(const search *all, int64_t position) {
  int64_t sum_ns = 0;
  while (position >= 0) {
    const prem_trace_record *record = record_of(all, position);
    sum_ns += prem_excess_ns(&all->waits, position) + record->start_ns -
              prem_due_ns(&all->waits, position);
    position = record->release_ns == PREM_NO_RELEASE ? prem_tile_before(&all->waits, position) : -1;
  }
  return sum_ns;
}

/* What made a record end late is the largest of: it took longer than its window; it began after it
 * was due; the phase that it is chained to ended late. */
static step end_of(const search *all, int64_t position) {
  for (;;) {
    const prem_trace_record *record = record_of(all, position);
    const int64_t excess_ns = prem_excess_ns(&all->waits, position);
    const int64_t wait_ns = record->start_ns - prem_due_ns(&all->waits, position);
    const int64_t before =
        record->release_ns == PREM_NO_RELEASE ? prem_tile_before(&all->waits, position) : -1;
    const int64_t inherited_ns = before < 0 ? 0 : tardy_ns(all, before);
    if (inherited_ns > 0 && inherited_ns > excess_ns && inherited_ns >= wait_ns)
      position = before;
    else if (wait_ns > 0 && wait_ns > excess_ns)
      return (step){.at = position};
    else
      return first_here(PREM_FIRST_WINDOW, position);
  }
}

static step start_of(const search *all, int64_t position, const prem_wait *why) {
  static const prem_first_kind kinds[PREM_CAUSE_COUNT] = {
      [PREM_CAUSE_CLOCK] = PREM_FIRST_CLOCK,
      [PREM_CAUSE_COLD] = PREM_FIRST_COLD,
      [PREM_CAUSE_HANDOVER] = PREM_FIRST_HANDOVER,
      [PREM_CAUSE_EXECUTOR] = PREM_FIRST_EXECUTOR};
  if (why->lost || !why->known)
    return first_here(PREM_FIRST_LOST, position);
  if (why->culprit < 0) {
    step first = first_here(kinds[why->cause], position);
    first.from = why->from;
    return first;
  }
  return why->until_start ? (step){.at = why->culprit} : end_of(all, why->culprit);
}

/* ---- all the way ---------------------------------------------------------------------------- */

/* The halves of a joined pair have one window: the prefetch stands for both. */
static prem_first_cause describe(const search *all, const step *first) {
  const prem_trace_record *record = record_of(all, first->at);
  prem_first_cause cause = {.kind = first->kind,
                            .task = record->task,
                            .phase = (prem_phase)record->phase,
                            .from = first->from,
                            .run = record->hyperperiod,
                            .block = record->block,
                            .tile = record->tile,
                            .job = record->job,
                            .start_ns = record->start_ns};
  const int64_t half = prem_other_half(&all->waits, first->at);
  cause.joined = half >= 0 && first->kind != PREM_FIRST_HANDOVER && first->kind != PREM_FIRST_LOST;
  if (cause.joined && record->phase == PREM_WRITEBACK) {
    cause.task = record_of(all, half)->task;
    cause.phase = PREM_PREFETCH;
    cause.tile = record_of(all, half)->tile;
    cause.job = record_of(all, half)->job;
  }
  return cause;
}

static origin origin_of(search *all, const step *first) {
  const prem_first_cause cause = describe(all, first);
  return (origin){.at = first->at, .cause = number_of(all, &cause)};
}

/* Go back until it is known where the way ends; each record is asked once. Ways lead back in time;
 * if one does not for all that, because of clocks that differ, it is not known where it ends. */
static origin walk_back(search *all, int64_t position, const prem_wait *why, int64_t *last_late) {
  step back = start_of(all, position, why);
  *last_late = -1; /* the last record on the way that is late */
  for (int64_t at = position;;) {
    all->origins[at] = (origin){.at = back.is_first ? -1 : back.at, .cause = BEING_FOLLOWED};
    if (back.is_first)
      return origin_of(all, &back);
    at = back.at;
    if (prem_record_is_late(&all->waits, at))
      *last_late = at;
    if (all->origins[at].cause >= 0)
      return all->origins[at];
    if (all->origins[at].cause == BEING_FOLLOWED) {
      const step lost = first_here(PREM_FIRST_LOST, at);
      return origin_of(all, &lost);
    }
    const prem_wait wait = prem_wait_of(&all->waits, at);
    back = start_of(all, at, &wait);
  }
}

static origin find_origin(search *all, int64_t position, const prem_wait *why) {
  if (all->origins[position].cause >= 0)
    return all->origins[position];
  int64_t last_late;
  const origin found = walk_back(all, position, why, &last_late);
  bool is_behind = last_late >= 0;
  for (int64_t at = position, next; at >= 0 && all->origins[at].cause == BEING_FOLLOWED;
       at = next) {
    next = all->origins[at].at;
    is_behind &= at != last_late; /* from here on there is none */
    all->origins[at] = (origin){found.at, found.cause | (is_behind ? BEHIND_LATE : 0)};
  }
  return all->origins[position];
}

/* `widen_ns` counts where a wait began: what is late behind a late one needs no room of its own. */
static void count_late(search *all, int64_t position, const origin *found) {
  const prem_trace_record *record = record_of(all, position);
  prem_first_cause *cause = &all->list[found->cause & ~BEHIND_LATE];
  const int64_t lateness_ns = record->start_ns - record->release_ns;
  ++cause->late;
  cause->lateness_max_ns = prem_max_i64(cause->lateness_max_ns, lateness_ns);
  if (found->cause & BEHIND_LATE)
    return;
  int64_t lacking_ns = 0;
  if (cause->kind == PREM_FIRST_WINDOW)
    lacking_ns = prem_excess_ns(&all->waits, found->at);
  else if (cause->kind == PREM_FIRST_HANDOVER)
    lacking_ns = record_of(all, found->at)->ready_ns - prem_due_ns(&all->waits, found->at);
  else
    return;
  /* the plan gave it no room at all */
  if (lacking_ns <= 0 || lacking_ns > lateness_ns)
    lacking_ns = lateness_ns;
  cause->widen_ns = prem_max_i64(cause->widen_ns, lacking_ns);
}

/* ---- a trace -------------------------------------------------------------------------------- */

bool prem_trace_has_late(const prem_trace *trace) {
  int64_t late = 0;
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    late += trace->stats[i].late;
  return late > 0;
}

static prem_status open_search(search *all, const prem_schedule *schedule, const prem_trace *trace,
                               int64_t clock_step_ns) {
  const size_t tasks = (size_t)schedule->task_count, records = (size_t)trace->record_count;
  const prem_status status = prem_waits_open(schedule, trace, clock_step_ns, &all->waits);
  if (status)
    return status;
  all->origins = malloc((records + 1) * sizeof *all->origins);
  all->of_task = malloc((tasks + 1) * sizeof *all->of_task);
  if (!all->origins || !all->of_task)
    return PREM_ERR_MEMORY;
  for (size_t i = 0; i < records; ++i)
    all->origins[i].cause = NOT_FOLLOWED;
  for (size_t t = 0; t < tasks; ++t)
    all->of_task[t] = -1;
  return PREM_OK;
}

/* Block after block: the records that one looks at lie near those that the next one does. */
static void judge_records(search *all, int64_t discard, prem_late_causes *causes) {
  enum { AHEAD = 32 }; /* they lie far apart, which the machine does not foresee */
  const int64_t count = all->waits.trace->record_count;
  for (int64_t at = 0; at < count && !all->is_out_of_memory; ++at) {
    const prem_trace_record *record = record_of(all, at);
    if (at + AHEAD < count)
      __builtin_prefetch(record_of(all, at + AHEAD));
    if (!prem_record_is_late(&all->waits, at) || record->hyperperiod < discard)
      continue;
    const prem_wait why = prem_wait_of(&all->waits, at);
    if (why.known)
      ++causes[record->task * PREM_PHASE_COUNT + record->phase].count[why.cause];
    const origin found = find_origin(all, at, &why);
    if (!all->is_out_of_memory)
      count_late(all, at, &found);
  }
}

/* ---- what was found ------------------------------------------------------------------------- */

static int order_by_key(const void *left, const void *right) {
  const int64_t order = compare_keys(left, right);
  return (order > 0) - (order < 0);
}

static int order_by_count(const void *left, const void *right) {
  const prem_first_cause *a = left, *b = right;
  if (a->late != b->late)
    return a->late > b->late ? -1 : 1;
  if (is_seen_before(a, b) || is_seen_before(b, a))
    return is_seen_before(a, b) ? -1 : 1;
  return order_by_key(a, b);
}

/* Each cause once, the largest count first. */
static void put_in_order(prem_first_causes *first) {
  int64_t kept = 0;
  qsort(first->causes, (size_t)first->count, sizeof *first->causes, order_by_key);
  for (int64_t i = 0; i < first->count; ++i)
    if (kept > 0 && compare_keys(&first->causes[kept - 1], &first->causes[i]) == 0)
      merge(&first->causes[kept - 1], &first->causes[i]);
    else
      first->causes[kept++] = first->causes[i];
  first->count = kept;
  qsort(first->causes, (size_t)first->count, sizeof *first->causes, order_by_count);
}

static void blame_windows(const search *all, prem_late_causes *causes) {
  for (int32_t i = 0; i < all->count; ++i) {
    const prem_first_cause *found = &all->list[i];
    prem_late_causes *to = &causes[found->task * PREM_PHASE_COUNT + (int)found->phase];
    if (found->kind != PREM_FIRST_WINDOW)
      continue;
    to->blamed += found->late;
    to->widen_ns = prem_max_i64(to->widen_ns, found->widen_ns);
  }
}

static prem_status report(const search *all, int64_t first_run, prem_late_causes *causes,
                          prem_first_causes *first) {
  const size_t room = (size_t)first->count + (size_t)all->count;
  prem_first_cause *grown = realloc(first->causes, (room + 1) * sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  first->causes = grown;
  for (int32_t i = 0; i < all->count; ++i)
    if (all->list[i].late > 0) {
      first->causes[first->count] = all->list[i];
      first->causes[first->count++].run += first_run;
    }
  put_in_order(first);
  blame_windows(all, causes);
  return PREM_OK;
}

void prem_first_causes_free(prem_first_causes *first) {
  free(first->causes);
  *first = (prem_first_causes){0};
}

prem_status prem_find_causes(const prem_schedule *schedule, const prem_trace *trace,
                             int64_t discard, int64_t clock_step_ns, int64_t first_run,
                             prem_late_causes *causes, prem_first_causes *first) {
  if (!prem_trace_has_late(trace))
    return PREM_OK;
  search all = {.count = 0};
  const size_t phases = (size_t)schedule->task_count * PREM_PHASE_COUNT;
  prem_late_causes *found = calloc(phases + 1, sizeof *found);
  prem_status status = found ? open_search(&all, schedule, trace, clock_step_ns) : PREM_ERR_MEMORY;
  if (!status) {
    judge_records(&all, discard, found);
    status = all.is_out_of_memory ? PREM_ERR_MEMORY : report(&all, first_run, found, first);
  }
  for (size_t i = 0; !status && i < phases; ++i) {
    for (int c = 0; c < PREM_CAUSE_COUNT; ++c)
      causes[i].count[c] += found[i].count[c];
    causes[i].blamed += found[i].blamed;
    causes[i].widen_ns = prem_max_i64(causes[i].widen_ns, found[i].widen_ns);
  }
  free(found);
  prem_waits_close(&all.waits);
  PREM_FREE(all.origins, all.of_task, all.list, all.next);
  return status;
}
