/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rules of a set of tasks as constraints between instants: what the bounds, the exact engine
 * and the explanations reason about. It names no order: every legal plan obeys it.
 *
 * A *node* is the start of one phase of one tile of one job, or the begin or the end of a job. An
 * *arc* keeps two nodes apart. A *use* holds some of a *renewable* (a resource, a block with one
 * buffer, a unit or the buffers of a block) from one node to another and `length` further, the
 * guard included.
 *
 * Two readings. The *strict* one counts in steps of the clock grid and has the guard between the
 * phases of a tile: its solutions are plans without chains and joined phases. The *relaxed* one
 * counts in ns and leaves out whatever a chain could save, so that what it excludes no legal plan
 * does, but for joined phases (see `joinable`).
 */
#pragma once

#include "schedules/planner/common/planning.h"

typedef struct prem_node {
  int64_t earliest, latest; /* PREM_MAX_NS: no limit */
  int64_t wcet_ns;          /* 0 for the begin and the end of a job */
  int32_t task, job, tile;  /* tile -1: the begin or the end of a job */
  prem_phase phase;
} prem_node;

/** start(to) is at least start(from) + gap. */
typedef struct prem_apart {
  int64_t gap;
  int32_t from, to;
} prem_apart;

/** `demand` of the renewable in [start(first), start(last) + length). */
typedef struct prem_hold {
  int64_t length, min; /* least: of the whole, from the start of `first` */
  int32_t first, last, renewable, demand;
} prem_hold;

typedef enum prem_renewable_kind {
  PREM_RENEWABLE_RESOURCE, /* number: of the resource */
  PREM_RENEWABLE_BLOCK,    /* whole tiles of a block with one buffer; number: of the block */
  PREM_RENEWABLE_MEMORY,   /* units */
  PREM_RENEWABLE_COMPUTE,
  PREM_RENEWABLE_INPUT, /* buffers */
  PREM_RENEWABLE_OUTPUT
} prem_renewable_kind;

typedef struct prem_renewable {
  prem_renewable_kind kind;
  int32_t number, capacity;
  bool per_task; /* the uses of one task count once, with the largest demand */
} prem_renewable;

typedef struct prem_rules {
  const prem_planning *planning;
  bool relaxed;
  bool joinable;   /* joined phases can save time, which no reading allows for in single phases */
  bool complete;   /* no legal plan breaks it, or is shorter than its best solution */
  int64_t unit_ns; /* of all times but wcet_ns */
  int64_t cycle;   /* the hyperperiod; 0: all tasks are one-shot */
  prem_node *nodes;
  int32_t node_count;
  prem_apart *arcs;
  int64_t arc_count;
  prem_apart *wraps; /* between the last job of a hyperperiod and the first one of the next */
  int64_t wrap_count;
  prem_apart *together; /* equal starts */
  int64_t together_count;
  prem_hold *holds; /* in the order of their nodes */
  int64_t hold_count;
  int64_t *first_hold, *renewable_holds; /* of each renewable [renewable_count + 1] */
  int32_t renewable_count;
} prem_rules;

/** Parts of a set that are as if they were not there; NULL: none. */
typedef struct prem_without {
  const bool *tasks, *renewables;
} prem_without;

/**
 * @param planning  must stay.
 * @param without  NULL: nothing
 * @retval PREM_ERR_UNAVAILABLE  more than `max_nodes`, or times that cannot be added up
 */
prem_status prem_rules_build(const prem_planning *planning, bool relaxed,
                             const prem_without *without, int64_t max_nodes, prem_rules *out);
void prem_rules_free(prem_rules *rules);
/** How many renewables there are, whatever is left out. */
int32_t prem_planning_renewables(const prem_planning *planning);
prem_renewable prem_rules_renewable(const prem_rules *rules, int32_t renewable);
/** As "'memory'", "the memory unit of block 3". */
void prem_rules_name_renewable(const prem_rules *rules, int32_t renewable, char *out, size_t bytes);
/** Does a use count on its renewable? The blocks of a gang count once, and so do their units: the
 * first block stands for all, with the unit that asks for more. */
bool prem_rules_counts(const prem_rules *rules, prem_renewable renewable, const prem_hold *hold);
/** Do two uses begin with the same tile of a job? */
static inline bool prem_rules_same_tile(const prem_rules *rules, const prem_hold *a,
                                        const prem_hold *b) {
  const prem_node *x = &rules->nodes[a->first], *y = &rules->nodes[b->first];
  return x->task == y->task && x->job == y->job && x->tile == y->tile;
}
/** By then everything can have ended, if it can at all. */
int64_t prem_rules_far(const prem_rules *rules);
/** Of each node the longest path of arcs that leads to it (from its earliest start), from it to the
 *  end of the plan, and the latest start that it and what follows it allow (PREM_MAX_NS: any). */
prem_status prem_rules_paths(const prem_rules *rules, int64_t *head, int64_t *tail,
                             int64_t *latest);
