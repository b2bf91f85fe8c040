/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeping uses of a limited supply. */
#include "schedules/checker/sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

prem_status prem_uses_add(check_uses *uses, const check_use *use) {
  return PREM_APPEND(uses->use, uses->count, *use) ? PREM_OK : PREM_ERR_MEMORY;
}

void prem_uses_free(check_uses *uses) {
  free(uses->use);
  *uses = (check_uses){0};
}

/* At one instant first what goes on, then what begins: the latter is to blame for an excess. */
static int by_group_and_start(const void *left, const void *right) {
  const check_use *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->group, a->start_ns, !a->continues, a->acquire},
                         (int64_t[]){b->group, b->start_ns, !b->continues, b->acquire}, 4);
}

static void sort_uses(check_uses *uses) {
  if (uses->count > 1)
    qsort(uses->use, (size_t)uses->count, sizeof *uses->use, by_group_and_start);
}

/* What reaches into the next hyperperiod is, seen from there, a use that began before 0. */
static prem_status wrap_uses(check_uses *uses, int64_t hyperperiod_ns) {
  int64_t count = uses->count;
  for (int64_t i = 0; i < count; ++i) {
    check_use copy = uses->use[i];
    if (copy.end_ns <= hyperperiod_ns)
      continue;
    copy.start_ns -= hyperperiod_ns;
    copy.end_ns -= hyperperiod_ns;
    copy.free_ns -= hyperperiod_ns;
    copy.wrapped = true;
    prem_status status = prem_uses_add(uses, &copy);
    if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

static void unwrap_uses(check_uses *uses) {
  int64_t kept = 0;
  for (int64_t i = 0; i < uses->count; ++i)
    if (!uses->use[i].wrapped)
      uses->use[kept++] = uses->use[i];
  uses->count = kept;
}

static void extend_uses(check_uses *uses, int64_t guard_ns) {
  const int64_t most_ns = PREM_MAX_NS - 1;
  guard_ns = guard_ns < most_ns ? guard_ns : most_ns;
  for (int64_t i = 0; i < uses->count; ++i) {
    const int64_t gap_ns = uses->use[i].gap_ns < most_ns ? uses->use[i].gap_ns : most_ns;
    uses->use[i].end_ns += gap_ns > guard_ns ? gap_ns : guard_ns;
    if (uses->use[i].continues)
      uses->use[i].start_ns += guard_ns;
  }
}

/* ---- a heap of uses ------------------------------------------------------------------------- */

typedef struct heap {
  const check_use *use;
  int64_t *index;
  int64_t count;
  bool (*before)(const check_use *a, const check_use *b);
} heap;

static bool ends_before(const check_use *a, const check_use *b) {
  return a->end_ns < b->end_ns;
}

static bool demands_more(const check_use *a, const check_use *b) {
  return a->demand != b->demand ? a->demand > b->demand : a->end_ns > b->end_ns;
}

static bool heap_less(const heap *h, int64_t a, int64_t b) {
  return h->before(&h->use[h->index[a]], &h->use[h->index[b]]);
}

static void heap_swap(heap *h, int64_t a, int64_t b) {
  int64_t held = h->index[a];
  h->index[a] = h->index[b];
  h->index[b] = held;
}

static void heap_push(heap *h, int64_t use) {
  int64_t at = h->count++;
  h->index[at] = use;
  for (; at > 0 && heap_less(h, at, (at - 1) / 2); at = (at - 1) / 2)
    heap_swap(h, at, (at - 1) / 2);
}

static const check_use *heap_top(const heap *h) {
  return h->count ? &h->use[h->index[0]] : NULL;
}

static void heap_pop(heap *h) {
  h->index[0] = h->index[--h->count];
  int64_t at = 0;
  for (;;) {
    int64_t min = at;
    for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < h->count; ++child)
      if (heap_less(h, child, min))
        min = child;
    if (min == at)
      return;
    heap_swap(h, at, min);
    at = min;
  }
}

/* ---- gangs ---------------------------------------------------------------------------------- */

static prem_status add_part(check_uses *parts, const check_use *use, int64_t from_ns,
                            int64_t to_ns) {
  if (from_ns >= to_ns)
    return PREM_OK;
  check_use part = *use;
  part.start_ns = from_ns;
  part.end_ns = to_ns;
  part.continues = use->continues || from_ns > use->start_ns;
  part.group = 0;
  return prem_uses_add(parts, &part);
}

/* Put out what the gang holds until a use arrives (NULL: until all have ended). One that demands no
 * more than the one on top cuts nothing: it waits below. */
static prem_status put_parts(heap *active, int64_t *from_ns, const check_use *arriving,
                             check_uses *parts) {
  const check_use *top;
  while ((top = heap_top(active)) &&
         (!arriving || top->end_ns <= arriving->start_ns || top->demand < arriving->demand)) {
    bool cut = arriving && top->end_ns > arriving->start_ns;
    int64_t to_ns = cut ? arriving->start_ns : top->end_ns;
    prem_status status = add_part(parts, top, *from_ns, to_ns);
    if (status != PREM_OK)
      return status;
    *from_ns = prem_max_i64(*from_ns, to_ns);
    if (cut)
      return PREM_OK;
    heap_pop(active);
  }
  return PREM_OK;
}

/* The uses of each task as ones that do not overlap: at every instant its largest demand. */
static prem_status join_gangs(const check_uses *uses, int64_t *index, check_uses *parts) {
  heap active = {.use = uses->use, .index = index, .before = demands_more};
  int64_t from_ns = 0;
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < uses->count && status == PREM_OK; ++i) {
    const check_use *use = &uses->use[i];
    bool same_gang = i > 0 && use[-1].group == use->group;
    status = put_parts(&active, &from_ns, same_gang ? use : NULL, parts);
    if (active.count == 0)
      from_ns = use->start_ns;
    heap_push(&active, i);
  }
  return status == PREM_OK ? put_parts(&active, &from_ns, NULL, parts) : status;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

enum { NAMED = 4 };

typedef struct sweep {
  const prem_checker *checker;
  const check_supply *supply;
  bool guards; /* uses are kept longer: the second sweep */
  heap active;
  int64_t used, used_now; /* by all; by those that began in this hyperperiod */
  /* the excess that is open: */
  bool open;
  int64_t start_ns, peak;
  int64_t end_ns;                /* while there is too much: INT64_MAX */
  const check_use *named[NAMED]; /* the last one is the one that was too much */
  int32_t named_count;
  int64_t member_count;
  bool wraps;
} sweep;

static void name_supply(const sweep *s, int32_t group, char *out, size_t bytes) {
  if (s->supply->of_each_block)
    snprintf(out, bytes, "%s of block %d", s->supply->what, group);
  else
    snprintf(out, bytes, "%s", s->supply->what);
}

static void name_members(const sweep *s, char *out, size_t bytes) {
  size_t used = 0;
  for (int32_t i = 0; i < s->named_count && used < bytes; ++i)
    used += (size_t)snprintf(out + used, bytes - used, "%s%s%s", i ? ", " : "",
                             prem_checker_name(s->checker, s->named[i]->acquire).text,
                             s->named[i]->wrapped ? " (of the hyperperiod before)" : "");
  if (s->member_count > s->named_count && used < bytes)
    snprintf(out + used, bytes - used, " and %lld more",
             (long long)(s->member_count - s->named_count));
}

static void report_excess(const sweep *s, int32_t group) {
  char supply[128], members[1600];
  name_supply(s, group, supply, sizeof supply);
  name_members(s, members, sizeof members);
  const check_use *last = s->named[s->named_count - 1];
  if (s->wraps)
    prem_checker_refuse(s->checker, 38, last->acquire,
                        "a phase wraps around the hyperperiod of %lld ns into another: %s: %lld in "
                        "use in [%lld, %lld), the limit is %d: %s",
                        (long long)s->checker->hyperperiod_ns, supply, (long long)s->peak,
                        (long long)s->start_ns, (long long)s->end_ns, s->supply->capacity, members);
  else
    prem_checker_refuse(s->checker, s->supply->code, last->acquire,
                        "%s: %lld in use in [%lld, %lld), the limit is %d: %s; start the last of "
                        "them at %lld or later",
                        supply, (long long)s->peak, (long long)s->start_ns, (long long)s->end_ns,
                        s->supply->capacity, members, (long long)s->end_ns);
}

/* The gap between two phases of one unit is judged there, unless a chained phase holds its resource
 * already before its latest start; the gap inside a tile is judged with its order. */
static bool judged_elsewhere(const sweep *s, const check_use *before, const check_use *after) {
  const prem_checker *checker = s->checker;
  if (!before->wrapped && prem_checker_same_tile(checker, before->release, after->acquire))
    return true;
  return after->start_ns == checker->slots[after->acquire].planned_ns &&
         prem_checker_unit(checker, before->release) == prem_checker_unit(checker, after->acquire);
}

/* Of the uses that have ended but for the guard, the latest. */
static const check_use *find_neighbour(const sweep *s, const check_use *after) {
  const check_use *found = NULL;
  for (int64_t i = 0; i < s->active.count; ++i) {
    const check_use *use = &s->active.use[s->active.index[i]];
    if (use != after && use->free_ns <= after->start_ns &&
        (!found || use->free_ns > found->free_ns))
      found = use;
  }
  return found;
}

static check_name gap_in_words(const sweep *s, const check_use *before) {
  if (before->gap_ns > s->checker->guard_ns)
    return prem_checker_gap(s->checker, before->release);
  check_name name;
  snprintf(name.text, sizeof name.text, "guard_ns = %lld", (long long)s->checker->guard_ns);
  return name;
}

static void report_gap(const sweep *s, int32_t group) {
  const check_use *before = s->named[0], *after = s->named[s->named_count - 1];
  if (before == after || judged_elsewhere(s, before, after))
    return; /* without a neighbour all are in use in fact: the first sweep has it */
  char supply[128];
  name_supply(s, group, supply, sizeof supply);
  prem_checker_refuse(s->checker, 40, after->acquire,
                      "%s: %s starts at %lld, %lld ns after the end of %s%s: the gap must be %s "
                      "at least",
                      supply, prem_checker_name(s->checker, after->acquire).text,
                      (long long)after->start_ns, (long long)(after->start_ns - before->free_ns),
                      prem_checker_name(s->checker, before->release).text,
                      before->wrapped ? " of the hyperperiod before" : "",
                      gap_in_words(s, before).text);
}

static void open_excess(sweep *s, const check_use *last) {
  s->open = true;
  s->start_ns = last->start_ns > 0 || !s->checker->periodic ? last->start_ns : 0;
  s->wraps = s->used_now <= s->supply->capacity;
  s->member_count = s->active.count;
  s->named_count = 0;
  const check_use *neighbour = s->guards ? find_neighbour(s, last) : NULL;
  if (neighbour)
    s->named[s->named_count++] = neighbour;
  for (int64_t i = 0; !s->guards && i < s->active.count && s->named_count < NAMED - 1; ++i) {
    const check_use *use = &s->active.use[s->active.index[i]];
    if (use != last)
      s->named[s->named_count++] = use;
  }
  s->named[s->named_count++] = last;
}

static void close_excess(sweep *s, int32_t group) {
  s->open = false;
  if (s->guards)
    report_gap(s, group);
  else
    report_excess(s, group);
}

/* End what ends by until_ns. An excess that has ended stays open until time goes on: a use that
 * begins at that instant may prolong it. */
static void end_uses(sweep *s, int32_t group, int64_t until_ns) {
  const check_use *use;
  while ((use = heap_top(&s->active)) && use->end_ns <= until_ns) {
    heap_pop(&s->active);
    s->used -= use->demand;
    s->used_now -= use->wrapped ? 0 : use->demand;
    if (s->open && s->used <= s->supply->capacity && s->end_ns == INT64_MAX)
      s->end_ns = use->end_ns;
  }
  if (s->open && s->end_ns < until_ns)
    close_excess(s, group);
}

/* What only uses of the hyperperiod before have in excess was reported at its end. */
static void begin_use(sweep *s, int64_t index) {
  const check_use *use = &s->active.use[index];
  heap_push(&s->active, index);
  s->used += use->demand;
  s->used_now += use->wrapped ? 0 : use->demand;
  if (s->used <= s->supply->capacity)
    return;
  if (!s->open && s->used_now > 0) {
    open_excess(s, use);
    s->peak = s->used;
  }
  s->end_ns = INT64_MAX;
  s->peak = prem_max_i64(s->peak, s->used);
}

static void run_sweep(sweep *s, const check_uses *uses, int64_t *index) {
  s->active = (heap){.use = uses->use, .index = index, .before = ends_before};
  for (int64_t i = 0; i < uses->count; ++i) {
    const check_use *use = &uses->use[i];
    if (i > 0 && use[-1].group != use->group)
      end_uses(s, use[-1].group, INT64_MAX);
    end_uses(s, use->group, use->start_ns);
    begin_use(s, i);
  }
  if (uses->count > 0)
    end_uses(s, uses->use[uses->count - 1].group, INT64_MAX);
}

static prem_status sweep_gangs(sweep *s, const check_uses *uses, int64_t *index) {
  check_uses parts = {0};
  prem_status status = join_gangs(uses, index, &parts);
  sort_uses(&parts);
  int64_t *part_index = malloc((size_t)parts.count * sizeof *part_index + 1);
  if (status == PREM_OK && !part_index)
    status = PREM_ERR_MEMORY;
  if (status == PREM_OK)
    run_sweep(s, &parts, part_index);
  free(part_index);
  prem_uses_free(&parts);
  return status;
}

static prem_status sweep_once(sweep *s, check_uses *uses) {
  if (s->checker->periodic) {
    prem_status status = wrap_uses(uses, s->checker->hyperperiod_ns);
    if (status != PREM_OK)
      return status;
  }
  sort_uses(uses);
  int64_t *index = malloc((size_t)uses->count * sizeof *index + 1);
  if (!index)
    return PREM_ERR_MEMORY;
  prem_status status = PREM_OK;
  if (s->supply->per_task)
    status = sweep_gangs(s, uses, index);
  else
    run_sweep(s, uses, index);
  free(index);
  return status;
}

prem_status prem_check_sweep(const prem_checker *checker, check_uses *uses,
                             const check_supply *supply) {
  sweep s = {.checker = checker, .supply = supply};
  prem_status status = sweep_once(&s, uses);
  for (int64_t i = 0; i < uses->count && !s.guards; ++i)
    s.guards = checker->guard_ns > 0 || uses->use[i].gap_ns > 0;
  if (status == PREM_OK && s.guards) {
    unwrap_uses(uses);
    extend_uses(uses, checker->guard_ns);
    status = sweep_once(&s, uses);
  }
  return status;
}
