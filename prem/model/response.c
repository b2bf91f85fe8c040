/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an errand may take, from its arrival to the end of its last tile.
 *
 * A server takes tiles first come, first served, on all its blocks. A tile holds its block from its
 * prefetch to its writeback. Before it the block may work tiles of other servers that it has: one
 * of each; of a server that others go before also `aging` of theirs, and the rest of the errands
 * that the block is at then. Where all others have less priority these come only before the first
 * tile that a block works of an errand: the block worked one when it came, or has one due, of each.
 * Let a later tile of the errand be asked for. A block that has had one of the errand goes on with
 * it; one that has not was ready for it before the errand's last first tile began, by the times
 * below. All that can be late is then late: every phase takes its bound, and begins when the exact
 * closed windows of the plan let it. So the instant at which a tile ends never falls when the tile
 * is asked for later, when those before it come later, or when one more comes before it.
 *
 * Hence the worst for an errand that comes at an instant: those before it come as late as the
 * arrival model lets them. It comes last of a burst, and each `distance_ns` before the burst one
 * more came. Of these only the last few are looked at. Suppose that no errand takes longer than R:
 * when those few began, all earlier ones were over R later. If then no errand takes longer than R,
 * that holds for all of them, one after the other (induction over arrivals). R is looked for from
 * below.
 *
 * Where tiles make tiles, they stand behind those of later errands. Let a round be as long as a
 * block takes for a tile that it is ready for at the round's begin. In a round all blocks end a
 * tile of the server, or else the queue was empty within it: then all tiles that were there at its
 * begin have ended by the end of the next round, and there is a generation less to come. So an
 * errand ends after at most as many rounds as all tiles that may be there take on all blocks, and
 * two for each generation. Those are of errands that came less than R before it, or before it ends.
 *
 * The instant may be any of the hyperperiod. What is computed of it never falls, so between two
 * instants a response is at most that of the later one and the time between them: intervals are
 * halved until that is near the longest response found.
 */
#include "ttprem/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

enum {
  PIECES = 64, /* of the hyperperiod, to begin with */
  NEAR = 1024, /* this part of the bound may be too much */
  LEAST = 2,   /* times R: so long before the burst errands are looked at, */
  MOST = 64,   /* and up to so long where these */
  USUAL = 8,   /* have no more tiles than this part of those that all of them may have */
  MOST_STEPS =
      10000000, /* tiles, and windows passed, of a look at all instants; then it gets coarse */
  TOO_MANY = 100000000, /* and with so many it is given up */
  MOST_PASSES = 24      /* so often is R raised */
};

/* A phase of a tile. */
typedef struct phase_work {
  int64_t take_ns;  /* until a block has the tile in hand; 0: not its first phase */
  int64_t ahead_ns; /* so long before a closed window it has to begin; 0: at any time */
  int64_t wcet_ns, turnaround_ns;
} phase_work;

typedef struct analysis {
  const prem_schedule *schedule;
  const prem_task *server;
  phase_work works[PREM_MAX_SERVERS * PREM_PHASE_COUNT]; /* of other servers on the same blocks, */
  int32_t own, work_count; /* and from `own` on those of the server itself */
  int32_t other_count, other_end[PREM_MAX_SERVERS]; /* where different works of these end */
  int32_t others_before;  /* so many of their tiles a block may work before one of the server's */
  bool leads;             /* all others have less priority: only before it begins an errand */
  int64_t most_steps;     /* tiles of a pass over the instants; then it gets coarse */
  int64_t step_ns, tiles; /* of one errand */
  int64_t rest_ns;        /* after a tile, until its block is ready */
  int64_t epoch_ns;       /* of the hyperperiod that was looked at last */
  int64_t *free_ns;       /* [block of the server]: when it is free */
  int64_t before;         /* errands that are looked at before the burst */
  int64_t rounds;         /* where tiles make tiles: of an errand; else 0 */
  int64_t longest_ns;     /* R */
  int64_t bound_ns;       /* on all responses in the intervals that are done, */
  int64_t found_ns;       /* and the longest at an instant that was tried */
  int64_t steps;
} analysis;

/* When may a phase begin that asks at an instant of any hyperperiod? */
static int64_t passes_gate(analysis *a, int64_t ahead_ns, int64_t at_ns) {
  const prem_plan *plan = a->schedule->plan;
  int32_t low = 0, high = plan->closed_count;
  if (ahead_ns == 0 || plan->closed_count == 0)
    return at_ns;
  if (at_ns < a->epoch_ns || at_ns - a->epoch_ns >= plan->hyperperiod_ns)
    a->epoch_ns = at_ns - at_ns % plan->hyperperiod_ns;
  int64_t epoch_ns = a->epoch_ns;
  /* the first window that ends after the instant */
  PREM_BISECT(low, high, middle, epoch_ns + plan->closed[middle].end_ns <= at_ns);
  for (int32_t seen = 0; seen <= plan->closed_count; ++seen, ++low, ++a->steps) {
    if (low == plan->closed_count) {
      low = 0;
      epoch_ns += plan->hyperperiod_ns;
    }
    if (epoch_ns + plan->closed[low].start_ns - at_ns >= ahead_ns)
      return at_ns;
    /* the first reading of the clock then */
    at_ns = prem_max_i64(at_ns, epoch_ns + prem_div_ceil(plan->closed[low].end_ns, a->step_ns) *
                                               a->step_ns);
  }
  return PREM_MAX_NS; /* it fits nowhere: E052 */
}

/* Phases that may begin at an instant: the last one's end, and when the block is ready for more. */
static int64_t work(analysis *a, int32_t first, int32_t until, int64_t at_ns, int64_t *ready_ns) {
  int64_t end_ns = at_ns;
  for (int32_t i = first; i < until; ++i) {
    const phase_work *of = &a->works[i];
    at_ns += prem_min_i64(of->take_ns, PREM_MAX_NS - at_ns);
    end_ns = passes_gate(a, of->ahead_ns, at_ns);
    end_ns = prem_min_i64(end_ns, PREM_MAX_NS - of->wcet_ns) + of->wcet_ns;
    at_ns = end_ns + prem_min_i64(of->turnaround_ns, PREM_MAX_NS - end_ns);
  }
  *ready_ns = at_ns;
  return end_ns;
}

/* The latest of a tile of each other server of the block: they have equal lists. */
static int64_t work_another(analysis *a, int64_t at_ns) {
  int64_t latest_ns = at_ns, ready_ns;
  for (int32_t i = 0, first = 0; i < a->other_count; first = a->other_end[i++]) {
    work(a, first, a->other_end[i], at_ns, &ready_ns);
    latest_ns = prem_max_i64(latest_ns, ready_ns);
  }
  return latest_ns;
}

/* All turns of one of the server's, each after those of others.
 * @param begins  it may be the first that its block works of the errand */
static int64_t work_round(analysis *a, bool begins, int64_t at_ns, int64_t *ready_ns) {
  int64_t end_ns = at_ns;
  *ready_ns = at_ns;
  for (int32_t turn = 0; turn < a->server->server.turns && a->steps <= TOO_MANY; ++turn) {
    const int32_t others = a->leads && !(begins && turn == 0) ? 0 : a->others_before;
    for (int32_t i = 0; i < others; ++i)
      *ready_ns = work_another(a, *ready_ns);
    a->steps += 1 + (int64_t)others * a->other_count;
    end_ns = work(a, a->own, a->work_count, *ready_ns, ready_ns);
  }
  return end_ns;
}

/* The end of an errand whose tiles make tiles, which comes at an instant. */
static int64_t end_of_rounds(analysis *a, int64_t at_ns) {
  int64_t end_ns = at_ns;
  for (int64_t round = 0; round < a->rounds && a->steps <= TOO_MANY; ++round)
    end_ns = work_round(a, true, at_ns, &at_ns);
  return a->steps > TOO_MANY ? PREM_MAX_NS : end_ns;
}

/* The end of an errand that comes at an instant, by what is supposed. Tiles begin and end in their
 * order, so blocks take turns. */
static int64_t end_of(analysis *a, int64_t at_ns) {
  const prem_server *server = &a->server->server;
  int64_t from_ns = at_ns - a->before * server->distance_ns, end_ns = at_ns;
  int32_t block = 0;
  if (a->rounds > 0)
    return end_of_rounds(a, at_ns);
  for (int32_t b = 0; b < a->server->block_count; ++b)
    a->free_ns[b] = from_ns - server->distance_ns + a->longest_ns + a->rest_ns;
  for (int64_t e = a->before + server->burst; e > 0 && a->steps <= TOO_MANY; --e) {
    const int64_t comes_ns = at_ns - prem_max_i64(0, e - server->burst) * server->distance_ns;
    end_ns = at_ns;
    for (int64_t i = 0; i < a->tiles; ++i, block = (block + 1) % a->server->block_count) {
      const int64_t begin_ns = prem_max_i64(comes_ns, a->free_ns[block]);
      end_ns = prem_max_i64(
          end_ns, work_round(a, i < a->server->block_count, begin_ns, &a->free_ns[block]));
    }
  }
  return a->steps > TOO_MANY ? PREM_MAX_NS : end_ns; /* then there is no bound */
}

/* Of errands that come after `from_ns`, until `to_ns`, at which one ends at `end_ns`. */
static void search(analysis *a, int64_t from_ns, int64_t to_ns, int64_t end_ns) {
  const int64_t at_most_ns = end_ns - from_ns - 1;
  a->found_ns = prem_max_i64(a->found_ns, end_ns - to_ns);
  if (at_most_ns <= a->found_ns + a->found_ns / NEAR || to_ns - from_ns == 1 ||
      a->steps > a->most_steps) {
    a->bound_ns = prem_max_i64(a->bound_ns, at_most_ns);
    return;
  }
  const int64_t middle_ns = from_ns + (to_ns - from_ns) / 2;
  search(a, from_ns, middle_ns, end_of(a, middle_ns));
  search(a, middle_ns, to_ns, end_ns);
}

/* The longest response by what is supposed. */
static void look_at_all_instants(analysis *a, int64_t base_ns) {
  const int64_t length_ns = a->schedule->plan->hyperperiod_ns;
  const int64_t pieces = prem_min_i64(PIECES, length_ns);
  a->bound_ns = a->found_ns = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t to_ns =
        base_ns + length_ns / pieces * (i + 1) + (i + 1 == pieces ? length_ns % pieces : 0);
    search(a, base_ns + length_ns / pieces * i, to_ns, end_of(a, to_ns));
  }
}

/* How many errands before the burst to look at: from where on it does not matter that all blocks
 * are taken to be busy before. False: these would be too many. */
static bool look_back(analysis *a) {
  const prem_server *server = &a->server->server;
  const int64_t within = a->longest_ns / server->distance_ns + 1;
  const int64_t most = a->most_steps / PIECES / (1 + a->others_before * (int64_t)a->other_count) /
                       a->server->server.turns; /* tiles of its own */
  if (within > most || a->longest_ns > PREM_MAX_NS / (2 * MOST))
    return false;
  if (server->depth > 1) {
    const int64_t there = server->burst + 2 * a->longest_ns / server->distance_ns;
    a->rounds =
        2 * prem_min_i64(server->depth, a->tiles) + there * a->tiles / a->server->block_count;
    return there * a->tiles <= most && a->rounds <= most;
  }
  a->before = prem_max_i64(LEAST * within, prem_min_i64(MOST * within, most / USUAL / a->tiles));
  return (a->before + server->burst) * a->tiles <= most;
}

static void find(analysis *a, int64_t *bound_ns) {
  const int64_t length_ns = a->schedule->plan->hyperperiod_ns;
  const int64_t distance_ns = a->server->server.distance_ns;
  for (int pass = 0; pass < MOST_PASSES && look_back(a); ++pass) {
    a->steps = 0;
    look_at_all_instants(a, ((a->before + 1) * distance_ns / length_ns + 1) * length_ns);
    if (a->bound_ns <= a->longest_ns) {
      *bound_ns = a->bound_ns; /* which follows from R, and so is one as well */
      return;
    }
    a->longest_ns = a->bound_ns;
  }
}

static void add_works(analysis *a, const prem_task *task) {
  const int32_t first = a->work_count;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      a->works[a->work_count++] =
          (phase_work){.ahead_ns = prem_ahead_ns(a->schedule, task, (prem_phase)p),
                       .wcet_ns = task->phase[p].wcet_ns,
                       .turnaround_ns = task->phase[p].turnaround_ns};
  if (a->work_count > first)
    a->works[first].take_ns = task->server.take_ns;
}

/* Those of a server on the same blocks, unless another one has the same. */
static void add_other_works(analysis *a, const prem_task *task) {
  const int32_t from = a->work_count;
  add_works(a, task);
  for (int32_t i = 0, first = 0; i < a->other_count; first = a->other_end[i++])
    if (a->other_end[i] - first == a->work_count - from &&
        memcmp(&a->works[first], &a->works[from],
               (size_t)(a->work_count - from) * sizeof *a->works) == 0) {
      a->work_count = from;
      return;
    }
  a->other_end[a->other_count++] = a->work_count;
}

static void find_works(analysis *a) {
  int32_t servers = 1, others = 0; /* of all, and of those on the same blocks */
  int64_t ahead = 0; /* tiles of errands that a block may be at when it is this server's turn */
  a->leads = true;
  for (int32_t t = 0; t < a->schedule->task_count; ++t) {
    const prem_task *other = &a->schedule->tasks[t];
    servers += other->server.capacity > 0 && other != a->server;
    if (other->server.capacity > 0 && other != a->server &&
        other->blocks[0] == a->server->blocks[0]) {
      add_other_works(a, other);
      ++others;
      a->leads &= other->server.priority < a->server->server.priority;
      if (other->server.priority > a->server->server.priority)
        ahead += (int64_t)prem_server_tiles(other) * other->server.turns;
    }
  }
  a->others_before =
      (int32_t)prem_min_i64(INT32_MAX, others + (ahead > 0 ? ahead + a->server->server.aging : 0));
  a->own = a->work_count;
  add_works(a, a->server);
  a->most_steps = MOST_STEPS / servers;
}

prem_status prem_errand_bound(const prem_schedule *schedule, int32_t task, int64_t *bound_ns) {
  const prem_task *server = &schedule->tasks[task];
  *bound_ns = -1;
  if (server->server.distance_ns == 0 || !schedule->plan || !prem_task_profiled(server))
    return PREM_OK;
  analysis a = {.schedule = schedule,
                .server = server,
                .step_ns =
                    prem_max_i64(schedule->platform.clock_step_ns, schedule->plan->clock_step_ns),
                .tiles = prem_server_tiles(server),
                .free_ns = calloc((size_t)server->block_count, sizeof *a.free_ns)};
  if (!a.free_ns)
    return PREM_ERR_MEMORY;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    a.rest_ns = server->phase[p].exists ? server->phase[p].turnaround_ns : a.rest_ns;
  find_works(&a);
  find(&a, bound_ns);
  free(a.free_ns);
  return PREM_OK;
}
