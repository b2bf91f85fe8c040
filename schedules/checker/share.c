/* SPDX-License-Identifier: Apache-2.0 */
/* What phases share: a block's two units, its buffers, the resources. */
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "schedules/checker/sweep.h"

#include <stdlib.h>

/* ---- the units of a block ------------------------------------------------------------------- */

/* A phase, or a joined pair, on its unit. */
typedef struct piece {
  int64_t start_ns, end_ns;
  int32_t unit, slot;
} piece;

static int by_unit_and_start(const void *left, const void *right) {
  const piece *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->unit, a->start_ns, a->slot},
                         (int64_t[]){b->unit, b->start_ns, b->slot}, 3);
}

static int64_t collect_pieces(const prem_checker *checker, piece *pieces) {
  int64_t count = 0;
  for (int32_t i = 0; i < checker->slot_count; ++i)
    if (prem_checker_counts(checker, i) && !prem_checker_second_half(checker, i))
      pieces[count++] = (piece){checker->slots[i].planned_ns, prem_slot_end_ns(&checker->slots[i]),
                                prem_checker_unit(checker, i), i};
  return count;
}

static void report_overlap(const prem_checker *checker, const piece *before, const piece *p,
                           int64_t end_ns, bool wrapped) {
  const char *what = p->unit % 2 ? "computes" : "memory phases";
  int64_t both_ns = end_ns < p->end_ns ? end_ns : p->end_ns;
  if (wrapped)
    prem_checker_refuse(
        checker, 38, p->slot,
        "%s wraps around the hyperperiod of %lld ns into %s: both hold the block "
        "in [%lld, %lld)",
        prem_checker_name(checker, before->slot).text, (long long)checker->hyperperiod_ns,
        prem_checker_name(checker, p->slot).text, (long long)p->start_ns, (long long)both_ns);
  else
    prem_checker_refuse(checker, 36, p->slot,
                        "two %s overlap on block %d in [%lld, %lld): %s and %s; start the second "
                        "at %lld or later",
                        what, p->unit / 2, (long long)p->start_ns, (long long)both_ns,
                        prem_checker_name(checker, before->slot).text,
                        prem_checker_name(checker, p->slot).text, (long long)end_ns);
}

/* Behind a compute, until the next one of the hyperperiod. */
static int64_t unit_turnaround_of(const prem_checker *checker, const piece *before, bool wrapped) {
  const prem_slot *s = &checker->slots[before->slot];
  const prem_phase_spec *compute = &checker->schedule->tasks[s->task].phase[PREM_COMPUTE];
  return s->phase == PREM_COMPUTE && !wrapped ? compute->unit_turnaround_ns : 0;
}

static void check_pair(const prem_checker *checker, const piece *before, const piece *p,
                       int64_t end_ns, bool wrapped) {
  const int64_t unit_ns = unit_turnaround_of(checker, before, wrapped);
  const bool is_unit_s = unit_ns > prem_checker_gap_ns(checker, before->slot);
  int64_t gap = p->start_ns - end_ns;
  if (gap >= (is_unit_s ? unit_ns : prem_checker_gap_ns(checker, before->slot)) && gap >= 0)
    return;
  if (!wrapped && prem_checker_same_tile(checker, before->slot, p->slot))
    return; /* prem_check_order() has it */
  if (gap < 0)
    report_overlap(checker, before, p, end_ns, wrapped);
  else if (is_unit_s)
    prem_checker_refuse(checker, 40, p->slot,
                        "%s starts at %lld, %lld ns after the end of %s, the compute before it on "
                        "the block: the gap must be unit_turnaround_ns = %lld at least",
                        prem_checker_name(checker, p->slot).text, (long long)p->start_ns,
                        (long long)gap, prem_checker_name(checker, before->slot).text,
                        (long long)unit_ns);
  else
    prem_checker_refuse(checker, 40, p->slot,
                        "%s starts at %lld, %lld ns after the end of %s%s: the gap must be "
                        "%s at least",
                        prem_checker_name(checker, p->slot).text, (long long)p->start_ns,
                        (long long)gap, prem_checker_name(checker, before->slot).text,
                        wrapped ? " of the hyperperiod before" : "",
                        prem_checker_gap(checker, before->slot).text);
}

/* Each piece against the one before it that ends last; the first ones also against the last piece
 * of the hyperperiod before. */
static void check_unit(const prem_checker *checker, const piece *pieces, int64_t count) {
  const piece *before = NULL;
  bool wrapped = checker->periodic;
  for (int64_t i = 0; wrapped && i < count; ++i)
    if (!before || pieces[i].end_ns > before->end_ns)
      before = &pieces[i];
  int64_t end_ns = before ? before->end_ns - checker->hyperperiod_ns : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (before)
      check_pair(checker, before, &pieces[i], end_ns, wrapped);
    if (!before || pieces[i].end_ns > end_ns) {
      before = &pieces[i];
      end_ns = before->end_ns;
      wrapped = false;
    }
  }
}

/* The prefetch or the writeback of a piece; -1: it has none. */
static int32_t half_of(const prem_checker *checker, const piece *p, prem_phase phase) {
  if (checker->slots[p->slot].phase == (int32_t)phase)
    return p->slot;
  return checker->slots[p->slot].phase == PREM_COMPUTE ? -1
                                                       : prem_checker_partner(checker, p->slot);
}

static int64_t job_of(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  return checker->first_job[s->task] + s->job;
}

/* Of the job's last tile on the block: planners leave the gap behind that one, in whatever order
 * tiles come. */
static bool ends_job(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  const prem_task *task = &checker->schedule->tasks[s->task];
  return (int64_t)s->tile + task->block_count >= task->tile_count;
}

/* The writeback behind a job's last one on the block. */
static void check_writebacks(const prem_checker *checker, const piece *before, const piece *next) {
  const int64_t least_ns = checker->schedule->job_turnaround_ns;
  const int64_t gap_ns = next->start_ns - before->end_ns;
  if (gap_ns >= 0 && gap_ns < least_ns)
    prem_checker_refuse(checker, 40, next->slot,
                        "%s starts at %lld, %lld ns after the end of %s, the last writeback of "
                        "its job on the block: the gap must be job_turnaround_ns = %lld at least",
                        prem_checker_name(checker, next->slot).text, (long long)next->start_ns,
                        (long long)gap_ns, prem_checker_name(checker, before->slot).text,
                        (long long)least_ns);
}

/* A job's first prefetch on the block behind another job's last one. */
static void check_prefetches(const prem_checker *checker, const piece *before, const piece *next) {
  const int64_t least_ns = checker->schedule->job_prefetch_ns;
  const int64_t apart_ns = next->start_ns - before->start_ns;
  const int32_t slot = half_of(checker, next, PREM_PREFETCH);
  if (checker->schedule->tasks[checker->slots[slot].task].after_count > 0 && apart_ns < least_ns)
    prem_checker_refuse(checker, 40, next->slot,
                        "%s starts at %lld, %lld ns after the start of %s, the last prefetch of "
                        "its job on the block, and waits for other jobs: it must be "
                        "job_prefetch_ns = %lld at least",
                        prem_checker_name(checker, next->slot).text, (long long)next->start_ns,
                        (long long)apart_ns, prem_checker_name(checker, before->slot).text,
                        (long long)least_ns);
}

static void check_job_ends(const prem_checker *checker, const piece *pieces, int64_t count,
                           prem_phase phase, int64_t *first) {
  const piece *before = NULL;
  /* The first piece of each job that has such a phase, of those on a block. */
  for (int64_t i = count - 1; i >= 0; --i)
    if (half_of(checker, &pieces[i], phase) >= 0)
      first[job_of(checker, half_of(checker, &pieces[i], phase))] = i;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t slot = half_of(checker, &pieces[i], phase);
    if (slot < 0)
      continue;
    const int32_t last = before ? half_of(checker, before, phase) : -1;
    const bool follows_last =
        last >= 0 && ends_job(checker, last) && job_of(checker, last) != job_of(checker, slot);
    if (follows_last && phase == PREM_WRITEBACK)
      check_writebacks(checker, before, &pieces[i]);
    else if (follows_last && first[job_of(checker, slot)] == i)
      check_prefetches(checker, before, &pieces[i]);
    before = &pieces[i];
  }
}

/* With one buffer a tile is computed, or fetched and computed, between two of them. */
static prem_status check_jobs_ends(const prem_checker *checker, const piece *pieces,
                                   int64_t count) {
  const prem_schedule *schedule = checker->schedule;
  if (prem_schedule_unit_gap_ns(schedule) == 0 || schedule->platform.buffers == 1)
    return PREM_OK;
  int64_t *first_of =
      calloc((size_t)checker->first_job[schedule->task_count] + 1, sizeof *first_of);
  if (!first_of)
    return PREM_ERR_MEMORY;
  for (int64_t first = 0, i = 1; i <= count; ++i) {
    if (i < count && pieces[i].unit == pieces[first].unit)
      continue;
    check_job_ends(checker, &pieces[first], i - first, PREM_WRITEBACK, first_of);
    check_job_ends(checker, &pieces[first], i - first, PREM_PREFETCH, first_of);
    first = i;
  }
  free(first_of);
  return PREM_OK;
}

prem_status prem_check_units(const prem_checker *checker) {
  piece *pieces = malloc((size_t)checker->slot_count * sizeof *pieces + 1);
  if (!pieces)
    return PREM_ERR_MEMORY;
  int64_t count = collect_pieces(checker, pieces);
  qsort(pieces, (size_t)count, sizeof *pieces, by_unit_and_start);
  int64_t first = 0;
  for (int64_t i = 1; i <= count; ++i) {
    if (i < count && pieces[i].unit == pieces[first].unit)
      continue;
    check_unit(checker, &pieces[first], i - first);
    first = i;
  }
  const prem_status status = check_jobs_ends(checker, pieces, count);
  free(pieces);
  return status;
}

/* ---- resources ------------------------------------------------------------------------------ */

/* A phase's hold on one resource. */
typedef struct hold {
  int64_t end_ns;
  int32_t demand, slot;
} hold;

static const prem_phase_spec *spec_of(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  return &checker->schedule->tasks[s->task].phase[s->phase];
}

/* A joined pair has its task's `joined`, or both lengths and the larger demand. */
static hold hold_of(const prem_checker *checker, int32_t slot, int32_t resource) {
  const prem_slot *s = &checker->slots[slot];
  const prem_phase_spec *spec = spec_of(checker, slot);
  int64_t busy_ns = spec->busy_ns;
  int32_t demand = spec->demand[resource];
  int32_t partner = prem_checker_partner(checker, slot);
  if (partner >= 0 && checker->slots[partner].task == s->task &&
      checker->schedule->tasks[s->task].joined.exists) {
    busy_ns = checker->schedule->tasks[s->task].joined.busy_ns;
    demand = checker->schedule->tasks[s->task].joined.demand[resource];
  } else if (partner >= 0) {
    const prem_phase_spec *other = spec_of(checker, partner);
    busy_ns += other->busy_ns;
    demand = prem_max_i32(demand, other->demand[resource]);
  }
  return (hold){s->planned_ns + busy_ns, demand, slot};
}

/* The phases of a chain come one after the other, each as early as the chain's release: until a
 * phase's latest end the chain holds the largest demand of this one and those behind it. */
static prem_status add_chain(const prem_checker *checker, check_uses *uses, const hold *holds,
                             int32_t count) {
  const prem_slot *head = &checker->slots[holds[0].slot];
  int64_t from_ns = head->planned_ns;
  prem_status status = PREM_OK;
  for (int32_t k = 0; k < count && status == PREM_OK; ++k) {
    const hold *max = &holds[k];
    for (int32_t later = k + 1; later < count; ++later)
      if (holds[later].demand >= max->demand)
        max = &holds[later];
    if (max->demand == 0 || max->end_ns <= from_ns)
      continue;
    check_use use = {.start_ns = from_ns,
                     .end_ns = max->end_ns,
                     .free_ns = max->end_ns,
                     .demand = max->demand,
                     .group = head->task,
                     .acquire = holds[k].demand > 0 ? holds[k].slot : max->slot,
                     .release = max->slot,
                     .continues = from_ns > head->planned_ns};
    status = prem_uses_add(uses, &use);
    from_ns = max->end_ns;
  }
  return status;
}

static bool follows_in_chain(const prem_checker *checker, int32_t head, int32_t slot) {
  const prem_slot *a = &checker->slots[head], *b = &checker->slots[slot];
  return (b->flags & PREM_SLOT_CHAINED) && b->head_ns == a->planned_ns && b->task == a->task &&
         b->job == a->job && b->block == a->block && b->place == a->place;
}

/* The first slot behind those that follow `head`. */
static int32_t end_of_chain(const prem_checker *checker, int32_t head) {
  int32_t next = prem_checker_partner(checker, head) > head ? head + 2 : head + 1;
  while (next < checker->slot_count && follows_in_chain(checker, head, next))
    ++next;
  return next;
}

/* Where all of a job is one chain, phases of several tiles follow each other in any order, but one
 * at a time on each unit: from the chain's release on each unit may hold its largest demand. */
static prem_status add_job_chain(const prem_checker *checker, check_uses *uses, int32_t head,
                                 int32_t end, int32_t resource) {
  const int32_t capacity = checker->schedule->platform.resources[resource].capacity;
  hold of_unit[2] = {{0}, {0}};
  for (int32_t i = head; i < end; ++i) {
    const hold held = hold_of(checker, i, resource);
    hold *most = &of_unit[checker->slots[i].phase == PREM_COMPUTE];
    if (held.demand == 0 || held.demand > capacity) /* E043 */
      continue;
    most->end_ns = prem_max_i64(most->end_ns, held.end_ns);
    if (held.demand > most->demand)
      most->demand = held.demand;
    most->slot = i;
  }
  prem_status status = PREM_OK;
  for (int u = 0; u < 2 && status == PREM_OK; ++u)
    if (of_unit[u].demand > 0)
      status = prem_uses_add(uses, &(check_use){.start_ns = checker->slots[head].planned_ns,
                                                .end_ns = of_unit[u].end_ns,
                                                .free_ns = of_unit[u].end_ns,
                                                .demand = of_unit[u].demand,
                                                .group = checker->slots[head].task,
                                                .acquire = head,
                                                .release = of_unit[u].slot});
  return status;
}

static bool is_job_chain(const prem_checker *checker, int32_t head, int32_t end) {
  for (int32_t i = head + 1; i < end; ++i)
    if ((checker->slots[i].flags & PREM_SLOT_CHAINED) &&
        checker->slots[i].tile != checker->slots[head].tile)
      return true;
  return false;
}

/* The chain that begins with `head`, whose followers stand behind it (and its other half). */
static int32_t collect_chain(const prem_checker *checker, int32_t head, int32_t resource,
                             hold holds[PREM_PHASE_COUNT]) {
  int32_t count = 0;
  int32_t next = prem_checker_partner(checker, head) > head ? head + 2 : head + 1;
  holds[count++] = hold_of(checker, head, resource);
  for (; next < checker->slot_count && count < PREM_PHASE_COUNT &&
         follows_in_chain(checker, head, next);
       ++next)
    holds[count++] = hold_of(checker, next, resource);
  return count;
}

static prem_status collect_resource(const prem_checker *checker, int32_t resource,
                                    check_uses *uses) {
  const prem_resource *r = &checker->schedule->platform.resources[resource];
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    if (!prem_checker_counts(checker, i) || prem_checker_second_half(checker, i) ||
        (checker->slots[i].flags & PREM_SLOT_CHAINED))
      continue;
    hold holds[PREM_PHASE_COUNT];
    const int32_t end = end_of_chain(checker, i);
    prem_status status = PREM_OK;
    if (is_job_chain(checker, i, end)) {
      status = add_job_chain(checker, uses, i, end, resource);
    } else {
      const int32_t count = collect_chain(checker, i, resource, holds);
      /* A demand above the capacity by itself is reported as such (E043). */
      for (int32_t k = 0; k < count; ++k)
        if (holds[k].demand > r->capacity)
          holds[k].demand = 0;
      status = add_chain(checker, uses, holds, count);
    }
    if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

prem_status prem_check_shares(const prem_checker *checker) {
  const prem_platform *platform = &checker->schedule->platform;
  prem_status status = PREM_OK;
  for (int32_t r = 0; r < platform->resource_count && status == PREM_OK; ++r) {
    check_supply supply = {.code = 37,
                           .capacity = platform->resources[r].capacity,
                           .what = platform->resources[r].name,
                           .per_task = platform->resources[r].per_task};
    check_uses uses = {0};
    status = collect_resource(checker, r, &uses);
    if (!supply.per_task)
      for (int64_t i = 0; i < uses.count; ++i)
        uses.use[i].group = 0;
    if (status == PREM_OK)
      status = prem_check_sweep(checker, &uses, &supply);
    prem_uses_free(&uses);
  }
  return status;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static bool planned(const prem_checker *checker, int32_t slot) {
  return slot >= 0 && prem_checker_counts(checker, slot);
}

/* The buffer that is held from the start of the first to the end of the last of these phases that
 * the tile has; nothing where it has none. */
static prem_status add_hold(const prem_checker *checker, check_uses *uses, const check_tile *tile,
                            prem_phase first, prem_phase last) {
  while (first < last && !planned(checker, tile->slot[first]))
    first = (prem_phase)(first + 1);
  while (last > first && !planned(checker, tile->slot[last]))
    last = (prem_phase)(last - 1);
  int32_t acquire = tile->slot[first], release = tile->slot[last];
  if (!planned(checker, acquire) || !planned(checker, release))
    return PREM_OK;
  int64_t end_ns = prem_slot_end_ns(&checker->slots[release]);
  check_use use = {.start_ns = checker->slots[acquire].planned_ns,
                   .end_ns = end_ns,
                   .free_ns = end_ns,
                   .demand = 1,
                   .gap_ns = prem_checker_gap_ns(checker, release),
                   .group = checker->slots[acquire].block,
                   .acquire = acquire,
                   .release = release};
  return use.start_ns < use.end_ns ? prem_uses_add(uses, &use) : PREM_OK;
}

typedef enum buffer_kind { WHOLE_TILE, INPUT, OUTPUT } buffer_kind;

static prem_status add_tile(const prem_checker *checker, check_uses *uses, const check_tile *tile,
                            buffer_kind kind) {
  if (kind == WHOLE_TILE)
    return add_hold(checker, uses, tile, PREM_PREFETCH, PREM_WRITEBACK);
  if (kind == INPUT && planned(checker, tile->slot[PREM_PREFETCH]))
    return add_hold(checker, uses, tile, PREM_PREFETCH, PREM_COMPUTE);
  if (kind == OUTPUT && planned(checker, tile->slot[PREM_WRITEBACK]))
    return add_hold(checker, uses, tile, PREM_COMPUTE, PREM_WRITEBACK);
  return PREM_OK;
}

static prem_status sweep_buffers(const prem_checker *checker, buffer_kind kind, const char *what) {
  check_supply supply = {.code = 39,
                         .capacity = checker->schedule->platform.buffers,
                         .what = what,
                         .of_each_block = true};
  check_uses uses = {0};
  prem_status status = PREM_OK;
  int64_t count = checker->first_tile[checker->schedule->task_count];
  for (int64_t t = 0; t < count && status == PREM_OK; ++t)
    status = add_tile(checker, &uses, &checker->tiles[t], kind);
  if (status == PREM_OK)
    status = prem_check_sweep(checker, &uses, &supply);
  prem_uses_free(&uses);
  return status;
}

/* Until warmup_ns the warm-up tiles have the block and its buffers. */
static prem_status check_warmup(const prem_checker *checker) {
  bool *warms_up = calloc((size_t)checker->schedule->platform.blocks + 1, sizeof *warms_up);
  if (!warms_up)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < checker->slot_count; ++i)
    if (checker->slots[i].flags & PREM_SLOT_WARMUP)
      warms_up[checker->slots[i].block] = true;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    const prem_slot *slot = &checker->slots[i];
    if (prem_checker_counts(checker, i) && warms_up[slot->block] &&
        slot->planned_ns < checker->plan->warmup_ns)
      prem_checker_refuse(checker, 39, i,
                          "%s starts at %lld, while block %d is held by its warm-up tiles until "
                          "warmup_ns = %lld",
                          prem_checker_name(checker, i).text, (long long)slot->planned_ns,
                          slot->block, (long long)checker->plan->warmup_ns);
  }
  free(warms_up);
  return PREM_OK;
}

prem_status prem_check_buffers(const prem_checker *checker) {
  prem_status status = checker->plan->warmup_tiles > 0 ? check_warmup(checker) : PREM_OK;
  if (status == PREM_OK && checker->schedule->platform.buffers == 1)
    return sweep_buffers(checker, WHOLE_TILE, "live tiles (buffers)");
  if (status == PREM_OK)
    status = sweep_buffers(checker, INPUT, "input buffers");
  if (status == PREM_OK)
    status = sweep_buffers(checker, OUTPUT, "output buffers");
  return status;
}
