/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules as difference logic (QF_IDL) for Z3.
 *
 * Every node is an integer. Two uses that cannot overlap follow each other, one way or the other.
 * On a renewable of more capacity the uses that are on when another one begins must leave room for
 * it: that instant is enough, since use grows at beginnings only. Their sum is a path of
 * propositions, one for each sum that can be reached. In a hyperperiod that repeats, what follows
 * must have ended by the time that the first one comes again.
 */
#include "prem/base/clock.h"
#include "prem/base/sorting.h"
#include "schedules/planner/proof/solver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <z3.h>

/* Z3 digests what it was told when it is next asked, or pushed, and looks neither at its timeout
 * nor at an interrupt while it does. That takes longer and longer with what there is to digest, so
 * it is done piece by piece, which is quicker, and the clock is looked at between two pieces. More
 * than the most takes a second to be thrown away. */
enum { PIECE = 2000, MAX_REQUIREMENTS = 250000 };

struct prem_solver {
  const prem_rules *rules;
  const int64_t *first, *last;
  double until_s;
  const volatile sig_atomic_t *stop;
  Z3_context z3;
  Z3_solver solver;
  Z3_sort integers;
  Z3_ast *nodes;
  int32_t told, digested; /* requirements */
};

/** Ends a check when it is stopped. */
typedef struct watch {
  Z3_context z3;
  const volatile sig_atomic_t *stop;
  atomic_bool done;
} watch;

const char *prem_solver_name(void) {
  return "z3";
}

/* ---- words of the logic --------------------------------------------------------------------- */

static Z3_ast number(const prem_solver *s, int64_t value) {
  return Z3_mk_int64(s->z3, value, s->integers);
}

/* start(from) + gap <= start(to) */
static Z3_ast apart(const prem_solver *s, int32_t from, int32_t to, int64_t gap) {
  Z3_ast between[] = {s->nodes[from], s->nodes[to]};
  return Z3_mk_le(s->z3, Z3_mk_sub(s->z3, 2, between), number(s, -gap));
}

static void require(prem_solver *s, Z3_ast what) {
  Z3_solver_assert(s->z3, s->solver, what);
  ++s->told;
}

static void require_either(prem_solver *s, unsigned count, const Z3_ast *of) {
  require(s, Z3_mk_or(s->z3, count, of));
}

/* May there be more? Called wherever there may be as much as a piece to digest. */
static bool goes_on(prem_solver *s) {
  if (s->told - s->digested >= PIECE) {
    Z3_solver_push(s->z3, s->solver);
    Z3_solver_pop(s->z3, s->solver, 1);
    s->digested = s->told;
  }
  return s->told <= MAX_REQUIREMENTS && prem_host_clock_s() < s->until_s && !(s->stop && *s->stop);
}

static Z3_ast proposition(const prem_solver *s) {
  return Z3_mk_fresh_const(s->z3, "p", Z3_mk_bool_sort(s->z3));
}

/* ---- nodes and arcs ------------------------------------------------------------------------- */

static void add_nodes(prem_solver *s) {
  for (int32_t n = 0; n < s->rules->node_count; ++n) {
    s->nodes[n] = Z3_mk_const(s->z3, Z3_mk_int_symbol(s->z3, n), s->integers);
    require(s, Z3_mk_ge(s->z3, s->nodes[n], number(s, s->first[n])));
    require(s, Z3_mk_le(s->z3, s->nodes[n], number(s, s->last[n])));
  }
}

static void add_arcs(prem_solver *s) {
  const prem_rules *rules = s->rules;
  for (int64_t a = 0; a < rules->arc_count; ++a)
    require(s, apart(s, rules->arcs[a].from, rules->arcs[a].to, rules->arcs[a].gap));
  for (int64_t a = 0; a < rules->wrap_count && rules->cycle; ++a)
    require(s,
            apart(s, rules->wraps[a].from, rules->wraps[a].to, rules->wraps[a].gap - rules->cycle));
  for (int64_t a = 0; a < rules->together_count; ++a)
    require(s, Z3_mk_eq(s->z3, s->nodes[rules->together[a].from], s->nodes[rules->together[a].to]));
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Can hold a end, at the latest, after b has begun at the earliest, `shift` later? */
static bool may_reach(const prem_solver *s, const prem_hold *a, const prem_hold *b, int64_t shift) {
  return s->last[a->last] + a->length > s->first[b->first] + shift;
}

static bool may_overlap(const prem_solver *s, const prem_hold *a, const prem_hold *b) {
  return may_reach(s, a, b, 0) && may_reach(s, b, a, 0);
}

static bool may_wrap(const prem_solver *s, const prem_hold *a, const prem_hold *b) {
  return s->rules->cycle && may_reach(s, a, b, s->rules->cycle);
}

static Z3_ast ends_before(const prem_solver *s, const prem_hold *a, const prem_hold *b,
                          int64_t shift) {
  return apart(s, a->last, b->first, a->length - shift);
}

/* The phases of a tile are in order anyway. */
static void keep_pair_apart(prem_solver *s, const prem_hold *a, const prem_hold *b) {
  if (may_overlap(s, a, b) && !prem_rules_same_tile(s->rules, a, b)) {
    Z3_ast orders[] = {ends_before(s, a, b, 0), ends_before(s, b, a, 0)};
    require_either(s, 2, orders);
  }
  if (may_wrap(s, a, b))
    require(s, ends_before(s, a, b, s->rules->cycle));
  if (may_wrap(s, b, a))
    require(s, ends_before(s, b, a, s->rules->cycle));
}

/* ---- renewables of more capacity ------------------------------------------------------------ */

/** Uses that may be on when another one begins: those of a group count once. */
typedef struct user {
  const prem_hold *hold;
  int32_t group;
} user;

/* Is the user on when `at` begins? True at least then. */
static Z3_ast is_on(prem_solver *s, const prem_hold *on, const prem_hold *at) {
  Z3_ast p = proposition(s);
  if (may_overlap(s, on, at)) {
    Z3_ast either[] = {p, ends_before(s, on, at, 0),
                       Z3_mk_not(s->z3, apart(s, on->first, at->first, 0))};
    require_either(s, 3, either);
  }
  if (may_wrap(s, on, at)) {
    Z3_ast either[] = {p, ends_before(s, on, at, s->rules->cycle)};
    require_either(s, 2, either);
  }
  return p;
}

/** Sums that can be reached, each with the proposition that it is. */
typedef struct sums {
  Z3_ast *is; /* [capacity + 1]; NULL: cannot be reached */
  Z3_ast *next;
  int32_t room;
} sums;

static void reach(prem_solver *s, Z3_ast *to, Z3_ast from, Z3_ast added) {
  Z3_ast p = *to ? *to : proposition(s);
  *to = p;
  Z3_ast either[] = {Z3_mk_not(s->z3, from), p, added ? Z3_mk_not(s->z3, added) : p};
  require_either(s, added ? 3 : 2, either);
}

static void add_weight(prem_solver *s, sums *of, Z3_ast on, int32_t weight) {
  memset(of->next, 0, ((size_t)of->room + 1) * sizeof(Z3_ast));
  for (int32_t sum = 0; sum <= of->room; ++sum) {
    if (!of->is[sum])
      continue;
    if (!goes_on(s))
      return;
    reach(s, &of->next[sum], of->is[sum], NULL);
    if (sum + weight <= of->room) {
      reach(s, &of->next[sum + weight], of->is[sum], on);
    } else {
      Z3_ast either[] = {Z3_mk_not(s->z3, of->is[sum]), Z3_mk_not(s->z3, on)};
      require_either(s, 2, either);
    }
  }
  Z3_ast *held = of->is;
  of->is = of->next;
  of->next = held;
}

static int by_group_and_demand(const void *left, const void *right) {
  const user *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->group, a->hold->demand, (intptr_t)a->hold},
                         (int64_t[]){b->group, b->hold->demand, (intptr_t)b->hold}, 3);
}

/* A group takes its largest demand: step by step, what those take that ask for that much. Its users
 * are sorted; `base` is what it takes anyway. */
static bool add_group(prem_solver *s, sums *of, const user *users, int32_t count, int32_t base,
                      const prem_hold *at) {
  Z3_ast *on = malloc((size_t)count * sizeof(Z3_ast));
  for (int32_t i = 0; i < count && on; ++i)
    on[i] = users[i].hold->demand > base ? is_on(s, users[i].hold, at) : NULL;
  for (int32_t i = 0; i < count && on; ++i) {
    int32_t below = i > 0 && users[i - 1].hold->demand > base ? users[i - 1].hold->demand : base;
    int32_t more = users[i].hold->demand - below;
    if (!on[i] || more <= 0)
      continue;
    Z3_ast any = count - i == 1 ? on[i] : Z3_mk_or(s->z3, (unsigned)(count - i), &on[i]);
    add_weight(s, of, any, more);
  }
  free(on);
  return on;
}

static bool leave_room(prem_solver *s, const user *users, int32_t count, const user *at,
                       prem_renewable renewable) {
  sums of = {.room = renewable.capacity - at->hold->demand};
  int64_t all = 0;
  for (int32_t i = 0; i < count; ++i)
    all += users[i].hold->demand;
  if (all <= of.room)
    return true;
  if (of.room < 0) { /* it asks for more than there is */
    require(s, Z3_mk_false(s->z3));
    return true;
  }
  of.is = calloc((size_t)of.room + 1, sizeof(Z3_ast));
  of.next = calloc((size_t)of.room + 1, sizeof(Z3_ast));
  bool added = of.is && of.next;
  if (added)
    of.is[0] = Z3_mk_true(s->z3);
  for (int32_t from = 0, to; from < count && added; from = to) {
    for (to = from + 1; to < count && users[to].group == users[from].group;)
      ++to;
    int32_t base = users[from].group == at->group ? at->hold->demand : 0;
    added = add_group(s, &of, &users[from], to - from, base, at->hold);
  }
  free(of.is);
  free(of.next);
  return added && goes_on(s);
}

/* ---- renewables ----------------------------------------------------------------------------- */

static bool exclude_each_other(const user *a, const user *b, prem_renewable renewable) {
  return a->group != b->group && (int64_t)a->hold->demand + b->hold->demand > renewable.capacity;
}

/* @return how many there are. */
static int32_t list_users(const prem_solver *s, int32_t l, user *users) {
  const prem_rules *rules = s->rules;
  prem_renewable renewable = prem_rules_renewable(rules, l);
  int32_t count = 0;
  for (int64_t k = rules->first_hold[l]; k < rules->first_hold[l + 1]; ++k, ++count) {
    const prem_hold *hold = &rules->holds[rules->renewable_holds[k]];
    users[count] = (user){hold, renewable.per_task ? rules->nodes[hold->first].task : count};
  }
  return count;
}

static bool keep_users_apart(prem_solver *s, const user *users, int32_t count,
                             prem_renewable renewable) {
  for (int32_t i = 0; i < count && goes_on(s); ++i) {
    const prem_hold *hold = users[i].hold;
    if (may_wrap(s, hold, hold))
      require(s, ends_before(s, hold, hold, s->rules->cycle));
    for (int32_t k = 0; k < i; ++k)
      if (exclude_each_other(&users[i], &users[k], renewable))
        keep_pair_apart(s, hold, users[k].hold);
  }
  return goes_on(s);
}

static bool add_renewable(prem_solver *s, int32_t l, user *users, user *others) {
  prem_renewable renewable = prem_rules_renewable(s->rules, l);
  int32_t count = list_users(s, l, users);
  if (!keep_users_apart(s, users, count, renewable))
    return false;
  if (renewable.capacity == 1)
    return true;
  for (int32_t i = 0; i < count; ++i) {
    int32_t found = 0;
    for (int32_t k = 0; k < count; ++k) {
      const prem_hold *on = users[k].hold, *at = users[i].hold;
      if (k != i && !exclude_each_other(&users[k], &users[i], renewable) &&
          (may_overlap(s, on, at) || may_wrap(s, on, at)))
        others[found++] = users[k];
    }
    if (found > 1)
      qsort(others, (size_t)found, sizeof *others, by_group_and_demand);
    if (!leave_room(s, others, found, &users[i], renewable))
      return false;
  }
  return true;
}

static bool add_renewables(prem_solver *s) {
  size_t max = (size_t)s->rules->hold_count + 1;
  user *users = calloc(max, sizeof *users), *others = calloc(max, sizeof *others);
  bool added = users && others;
  for (int32_t l = 0; l < s->rules->renewable_count && added; ++l)
    added = add_renewable(s, l, users, others);
  free(users);
  free(others);
  return added;
}

/* ---- asking --------------------------------------------------------------------------------- */

/* Z3's own handler would end the program; every call is followed by a look at the answer anyway. */
static void ignore_error(Z3_context z3, Z3_error_code code) {
  (void)z3, (void)code;
}

static void make_context(prem_solver *s) {
  Z3_config config = Z3_mk_config();
  Z3_set_param_value(config, "model", "true");
  s->z3 = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(s->z3, ignore_error);
  s->solver = Z3_mk_solver_for_logic(s->z3, Z3_mk_string_symbol(s->z3, "QF_IDL"));
  Z3_solver_inc_ref(s->z3, s->solver);
  s->integers = Z3_mk_int_sort(s->z3);
}

prem_solver *prem_solver_new(const prem_rules *rules, const int64_t *first, const int64_t *last,
                             double until_s, const volatile sig_atomic_t *stop) {
  prem_solver *s = calloc(1, sizeof *s);
  if (!s)
    return NULL;
  *s =
      (prem_solver){.rules = rules, .first = first, .last = last, .until_s = until_s, .stop = stop};
  s->nodes = calloc((size_t)rules->node_count + 1, sizeof(Z3_ast));
  if (!s->nodes) {
    free(s);
    return NULL;
  }
  make_context(s);
  add_nodes(s);
  add_arcs(s);
  bool added = add_renewables(s);
  if (added && Z3_get_error_code(s->z3) == Z3_OK)
    return s;
  prem_solver_free(s);
  return NULL;
}

void prem_solver_free(prem_solver *s) {
  if (!s)
    return;
  Z3_solver_dec_ref(s->z3, s->solver);
  Z3_del_context(s->z3);
  free(s->nodes);
  free(s);
}

static void *keep_watch(void *context) {
  watch *w = context;
  const struct timespec pause = {.tv_nsec = 20000000};
  while (!atomic_load(&w->done)) {
    nanosleep(&pause, NULL);
    if (*w->stop)
      Z3_interrupt(w->z3);
  }
  return NULL;
}

static void set_limit(const prem_solver *s, int64_t limit_ns) {
  int64_t limit_ms = limit_ns / 1000000;
  Z3_params params = Z3_mk_params(s->z3);
  Z3_params_inc_ref(s->z3, params);
  Z3_params_set_uint(s->z3, params, Z3_mk_string_symbol(s->z3, "timeout"),
                     limit_ms < 1           ? 1
                     : limit_ms < INT32_MAX ? (unsigned)limit_ms
                                            : INT32_MAX);
  Z3_params_set_uint(s->z3, params, Z3_mk_string_symbol(s->z3, "random_seed"), 0);
  Z3_solver_set_params(s->z3, s->solver, params);
  Z3_params_dec_ref(s->z3, params);
}

static Z3_lbool check(const prem_solver *s, const volatile sig_atomic_t *stop) {
  watch w = {.z3 = s->z3, .stop = stop};
  pthread_t thread;
  bool watched = stop && pthread_create(&thread, NULL, keep_watch, &w) == 0;
  Z3_lbool answer = Z3_solver_check(s->z3, s->solver);
  atomic_store(&w.done, true);
  if (watched)
    pthread_join(thread, NULL);
  return answer;
}

static void require_question(prem_solver *s, int64_t end, const int64_t *first,
                             const int64_t *last) {
  const prem_rules *rules = s->rules;
  for (int32_t n = 0; n < rules->node_count; ++n) {
    if (first[n] > s->first[n])
      require(s, Z3_mk_ge(s->z3, s->nodes[n], number(s, first[n])));
    if (last[n] < s->last[n])
      require(s, Z3_mk_le(s->z3, s->nodes[n], number(s, last[n])));
  }
  for (int64_t a = 0; a < rules->wrap_count && !rules->cycle; ++a)
    require(s, apart(s, rules->wraps[a].from, rules->wraps[a].to, rules->wraps[a].gap - end));
}

static bool read_starts(const prem_solver *s, int64_t *starts) {
  Z3_model model = Z3_solver_get_model(s->z3, s->solver);
  if (!model)
    return false;
  Z3_model_inc_ref(s->z3, model);
  bool read = true;
  for (int32_t n = 0; n < s->rules->node_count && read; ++n) {
    Z3_ast value;
    read = Z3_model_eval(s->z3, model, s->nodes[n], true, &value) &&
           Z3_get_numeral_int64(s->z3, value, &starts[n]);
  }
  Z3_model_dec_ref(s->z3, model);
  return read;
}

prem_answer prem_solver_ask(prem_solver *s, int64_t end, const int64_t *first, const int64_t *last,
                            int64_t limit_ns, const volatile sig_atomic_t *stop, int64_t *starts) {
  if (limit_ns <= 0 || (stop && *stop))
    return PREM_ANSWER_UNKNOWN;
  set_limit(s, limit_ns);
  Z3_solver_push(s->z3, s->solver);
  require_question(s, end, first, last);
  Z3_lbool answer = check(s, stop);
  bool read = answer == Z3_L_TRUE && read_starts(s, starts);
  Z3_solver_pop(s->z3, s->solver, 1);
  return answer == Z3_L_FALSE ? PREM_ANSWER_NO : read ? PREM_ANSWER_YES : PREM_ANSWER_UNKNOWN;
}
