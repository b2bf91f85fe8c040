/* Why phases were late: what each of them waited for, told from the stamps of its block. */
#include <stdlib.h>

#include "ttprem/measure.h"

enum {
  LOOK_BACK = 128,  /* records of a block: more than its buffers can hold up a phase */
  CHAIN_LIMIT = 3,  /* phases of a tile */
  NOTICE_NS = 1000, /* from the end of a phase to the next one that sees it, on any backend */
  CLOCK_STEPS = 2   /* a release is seen one step late at worst, and stamped one step late */
};

/** The records of each block, in the order of their starts. */
typedef struct searching {
  const prem_schedule *schedule;
  const prem_trace *trace;
  int64_t clock_step_ns;
  int64_t *order; /* indexes of records, block after block */
  int64_t *first; /* [block + 1] into order */
  int64_t *root;  /* of each record: whom it had to wait for in the end; -1: nobody, not late */
  bool *follows;  /* does a task wait for jobs of others? */
} searching;

/** What a late phase waited for. */
typedef struct reason {
  prem_cause cause;
  int64_t culprit; /* a record; -1: none */
  bool known;
} reason;

const char *prem_cause_name(prem_cause cause) {
  static const char *const names[PREM_CAUSE_COUNT] = {"clock", "cold", "buffer",  "data",
                                                      "unit",  "job",  "executor"};
  return cause < PREM_CAUSE_COUNT ? names[cause] : "unknown";
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool sort_by_block(searching *all) {
  const prem_trace *trace = all->trace;
  const size_t blocks = (size_t)all->schedule->platform.blocks;
  const size_t records = (size_t)trace->record_count;
  all->order = malloc((records + 1) * sizeof *all->order);
  all->root = malloc((records + 1) * sizeof *all->root);
  all->first = calloc(blocks + 2, sizeof *all->first);
  if (!all->order || !all->root || !all->first)
    return false;
  for (size_t i = 0; i < records; ++i) {
    ++all->first[trace->records[i].block + 2];
    all->root[i] = -1;
  }
  for (size_t b = 2; b <= blocks + 1; ++b)
    all->first[b] += all->first[b - 1];
  for (size_t i = 0; i < records; ++i)
    all->order[all->first[trace->records[i].block + 1]++] = (int64_t)i;
  return true;
}

static const prem_trace_record *record_at(const searching *all, int64_t position) {
  return &all->trace->records[all->order[position]];
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Who uses an array. */
typedef struct array_users {
  int32_t first; /* task + 1; 0: none */
  bool several, written;
} array_users;

static void add_user(array_users *users, int32_t task, bool writes) {
  users->several |= users->first != 0 && users->first != task + 1;
  users->first = task + 1;
  users->written |= writes;
}

/* Those that come after others, and those that share an array which one of them writes. */
static bool find_followers(searching *all) {
  const prem_schedule *schedule = all->schedule;
  array_users *users = calloc((size_t)schedule->array_count + 1, sizeof *users);
  all->follows = calloc((size_t)schedule->task_count + 1, sizeof *all->follows);
  for (int pass = 0; users && all->follows && pass < 2; ++pass)
    for (int32_t t = 0; t < schedule->task_count; ++t) {
      const prem_task *task = &schedule->tasks[t];
      all->follows[t] |= task->after_count > 0;
      for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p) {
        array_users *of = &users[task->arrays[p]];
        add_user(of, t, task->definition->ports[p].access == PREM_OUT);
        all->follows[t] |= pass == 1 && of->several && of->written;
      }
    }
  const bool found = users && all->follows;
  free(users);
  return found;
}

/* ---- one phase ------------------------------------------------------------------------------ */

static bool is_late(const searching *all, const prem_trace_record *record) {
  return record->release_ns != PREM_NO_RELEASE &&
         record->start_ns - record->release_ns > all->schedule->platform.late_ns;
}

static bool same_tile(const prem_trace_record *a, const prem_trace_record *b) {
  return a->task == b->task && a->job == b->job && a->tile == b->tile &&
         a->hyperperiod == b->hyperperiod;
}

static bool same_unit(const prem_trace_record *a, const prem_trace_record *b) {
  return (a->phase == PREM_COMPUTE) == (b->phase == PREM_COMPUTE);
}

/* Does `other`, when it ends, give a buffer that a phase like `record` may wait for? */
static bool frees_buffer(const searching *all, const prem_trace_record *record,
                         const prem_trace_record *other) {
  if (record->phase == PREM_COMPUTE)
    return other->phase == PREM_WRITEBACK; /* of its output */
  if (record->phase == PREM_PREFETCH)
    return other->phase == (all->schedule->platform.buffers > 1 ? PREM_COMPUTE : PREM_WRITEBACK) ||
           (record->flags & PREM_SLOT_JOINED && other->phase == PREM_COMPUTE);
  return false;
}

/* What `record` could be waiting for when it stands ready, or in the way of its unit; COUNT: not
 * for this one. */
static prem_cause cause_of(const searching *all, const prem_trace_record *record,
                           const prem_trace_record *other, bool is_ready) {
  if (!is_ready && same_tile(record, other))
    return PREM_CAUSE_DATA;
  if (!is_ready && frees_buffer(all, record, other))
    return PREM_CAUSE_BUFFER;
  return same_unit(record, other) ? PREM_CAUSE_UNIT : PREM_CAUSE_COUNT;
}

/* Units work their tables in order: a phase that begins late holds up the one behind it even where
 * the unit does not wait for it to end. */
static void wait_in_line(const searching *all, int64_t position, int64_t last, int64_t over_ns,
                         int64_t latest_ns, reason *found) {
  const prem_trace_record *record = record_at(all, position);
  int64_t at = position - 1;
  while (at >= last && !same_unit(record, record_at(all, at)))
    --at;
  if (at < last || !is_late(all, record_at(all, at)))
    return;
  const int64_t begun_ns = record_at(all, at)->start_ns;
  if (begun_ns > latest_ns && begun_ns <= over_ns)
    *found = (reason){.cause = PREM_CAUSE_UNIT, .culprit = all->order[at], .known = true};
}

/* The last to end among those that `record` waited for until it was ready, or until it started. */
static reason wait_for(const searching *all, int64_t position, int64_t begin, bool is_ready) {
  const prem_trace_record *record = record_at(all, position);
  const int64_t over_ns = (is_ready ? record->start_ns : record->ready_ns) + all->clock_step_ns;
  const int64_t last = position - LOOK_BACK > begin ? position - LOOK_BACK : begin;
  reason found = {.cause = PREM_CAUSE_COUNT, .culprit = -1};
  int64_t latest_ns = record->release_ns;
  for (int64_t at = position - 1; at >= last; --at) {
    const prem_trace_record *other = record_at(all, at);
    const prem_cause cause = cause_of(all, record, other, is_ready);
    const bool is_later = other->end_ns > latest_ns;
    const bool is_nearer = found.known && other->end_ns == latest_ns && cause != PREM_CAUSE_UNIT &&
                           found.cause == PREM_CAUSE_UNIT;
    if (cause == PREM_CAUSE_COUNT || other->end_ns > over_ns || (!is_later && !is_nearer))
      continue;
    found = (reason){.cause = cause, .culprit = all->order[at], .known = true};
    latest_ns = other->end_ns;
  }
  if (!is_ready)
    wait_in_line(all, position, last, over_ns, latest_ns, &found);
  return found;
}

static bool is_first_of_unit(const searching *all, int64_t position, int64_t begin) {
  const prem_trace_record *record = record_at(all, position);
  for (int64_t at = position - 1; at >= begin; --at)
    if (same_unit(record, record_at(all, at)) && !(record_at(all, at)->flags & PREM_SLOT_WARMUP))
      return false;
  return record->hyperperiod == 0;
}

/* Released and ready: nothing but the executor stood between it and its start. */
static reason without_wait(const searching *all, int64_t position, int64_t begin) {
  const prem_trace_record *record = record_at(all, position);
  reason found = {.cause = PREM_CAUSE_EXECUTOR, .culprit = -1, .known = true};
  if (record->start_ns - record->release_ns <= CLOCK_STEPS * all->clock_step_ns)
    found.cause = PREM_CAUSE_CLOCK;
  else if (is_first_of_unit(all, position, begin))
    found.cause = PREM_CAUSE_COLD;
  return found;
}

/* The first phases of a job, and the first that touch an array which others use, wait for the jobs
 * before it, on whichever blocks these are: what ended last on this block, long before, was not it.
 */
static bool waits_for_job(const searching *all, const prem_trace_record *record,
                          const reason *found) {
  const prem_task *task = &all->schedule->tasks[record->task];
  if (!all->follows[record->task] || record->tile >= task->block_count)
    return false;
  return !found->known || record->ready_ns - all->trace->records[found->culprit].end_ns > NOTICE_NS;
}

static reason reason_of(const searching *all, int64_t position, int64_t begin) {
  const prem_trace_record *record = record_at(all, position);
  reason found = {.culprit = -1};
  if (record->ready_ns > record->release_ns) {
    found = wait_for(all, position, begin, false);
    if (waits_for_job(all, record, &found))
      return (reason){.cause = PREM_CAUSE_JOB, .culprit = -1, .known = true};
  }
  if (!found.known)
    found = wait_for(all, position, begin, true);
  if (!found.known) /* a lost record may be the one */
    return all->trace->lost > 0 ? found : without_wait(all, position, begin);
  if (all->trace->records[found.culprit].flags & PREM_SLOT_WARMUP)
    return (reason){.cause = PREM_CAUSE_COLD, .culprit = -1, .known = true};
  return found;
}

/* ---- whom to blame -------------------------------------------------------------------------- */

static int64_t window_ns(const searching *all, const prem_trace_record *record) {
  const prem_task *task = &all->schedule->tasks[record->task];
  if (!(record->flags & PREM_SLOT_JOINED))
    return task->phase[record->phase].wcet_ns;
  return task->joined.exists
             ? task->joined.wcet_ns
             : task->phase[PREM_PREFETCH].wcet_ns + task->phase[PREM_WRITEBACK].wcet_ns;
}

/* The phase before it of its tile, further up in its block; -1: not there. */
static int64_t tile_before(const searching *all, int64_t index) {
  const prem_trace_record *record = &all->trace->records[index];
  const int64_t begin = all->first[record->block];
  int64_t low = begin, high = all->first[record->block + 1];
  while (low < high) { /* its own place: order is ascending in each block */
    const int64_t middle = low + (high - low) / 2;
    if (all->order[middle] < index)
      low = middle + 1;
    else
      high = middle;
  }
  for (int64_t at = low - 1; at >= begin && at >= low - LOOK_BACK; --at)
    if (same_tile(record, record_at(all, at)) && record_at(all, at)->phase < record->phase)
      return all->order[at];
  return -1;
}

/* How much longer than its window it took. */
static int64_t excess_ns(const searching *all, const prem_trace_record *record) {
  return record->end_ns - record->start_ns - window_ns(all, record);
}

/* Back along the waits to the first phase that took longer than its window, or that the plan gave
 * no room; -1: what was waited for was late itself, and no window is to blame for that.
 * `behind_late`: past another late phase. */
static int64_t root_of(const searching *all, int64_t culprit, bool *behind_late) {
  *behind_late = false;
  for (int step = 0; step < CHAIN_LIMIT; ++step) {
    const prem_trace_record *record = &all->trace->records[culprit];
    if (excess_ns(all, record) > 0)
      return culprit;
    *behind_late = is_late(all, record);
    if (*behind_late)
      return all->root[culprit];
    const int64_t before = record->release_ns == PREM_NO_RELEASE ? tile_before(all, culprit) : -1;
    if (before < 0)
      return culprit;
    culprit = before; /* it is chained */
  }
  return culprit;
}

/* `widen_ns` counts where a wait began: what is late behind a late one needs no room of its own. */
static void blame(const searching *all, int64_t index, const reason *why,
                  prem_late_causes *causes) {
  const prem_trace_record *record = &all->trace->records[index];
  bool behind_late;
  const int64_t root = all->root[index] = root_of(all, why->culprit, &behind_late);
  if (root < 0)
    return;
  const prem_trace_record *guilty = &all->trace->records[root];
  prem_late_causes *to = &causes[guilty->task * PREM_PHASE_COUNT + guilty->phase];
  int64_t widen_ns = record->start_ns - record->release_ns;
  const int64_t too_long_ns = excess_ns(all, guilty);
  if (too_long_ns > 0 && too_long_ns < widen_ns)
    widen_ns = too_long_ns;
  ++to->blamed;
  if (!behind_late && widen_ns > to->widen_ns)
    to->widen_ns = widen_ns;
}

static void judge_block(const searching *all, int32_t block, int64_t discard,
                        prem_late_causes *causes) {
  for (int64_t at = all->first[block]; at < all->first[block + 1]; ++at) {
    const prem_trace_record *record = record_at(all, at);
    if (!is_late(all, record))
      continue;
    const reason why = reason_of(all, at, all->first[block]);
    if (!why.known || record->hyperperiod < discard)
      continue;
    ++causes[record->task * PREM_PHASE_COUNT + record->phase].count[why.cause];
    if (why.culprit >= 0)
      blame(all, all->order[at], &why, causes);
  }
}

static bool has_late(const prem_trace *trace) {
  int64_t late = 0;
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    late += trace->cells[i].late;
  return late > 0;
}

prem_status prem_find_causes(const prem_schedule *schedule, const prem_trace *trace,
                             int64_t discard, int64_t clock_step_ns, prem_late_causes *causes) {
  if (!has_late(trace))
    return PREM_OK;
  searching all = {
      .schedule = schedule, .trace = trace, .clock_step_ns = clock_step_ns > 0 ? clock_step_ns : 1};
  prem_status status = PREM_ERR_MEMORY;
  if (sort_by_block(&all) && find_followers(&all)) {
    for (int32_t b = 0; b < schedule->platform.blocks; ++b)
      judge_block(&all, b, discard, causes);
    status = PREM_OK;
  }
  free(all.order);
  free(all.first);
  free(all.root);
  free(all.follows);
  return status;
}
