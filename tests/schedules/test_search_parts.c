/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the search and the proofs are made of, on random sets: every schedule that the model finds
 * no fault with is a plan that the checker accepts, no value is below the bound, and nothing that
 * is excluded has a plan.
 */
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/proof/refute.h"
#include "schedules/planner/search/decode.h"
#include "schedules/planner/search/graph.h"
#include "tests/common/planted.h"
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(400), SHOPS = 80, DECODED = 8, MOVES = 100, SMALL = 60 };

/* A set as the search has it, with the plan that it begins with. */
typedef struct parts {
  prem_planning planning;
  prem_draft draft;
  prem_model model;
  int64_t bound_ns; /* INT64_MIN: none */
  int64_t *head, *tail_ns, *start, *key;
} parts;

/* ---- schedules of the model ------------------------------------------------------------------ */

/* The draft becomes the schedule's plan, which the checker accepts. */
static void check_draft(const prem_planning *planning, const prem_draft *draft) {
  prem_schedule *schedule = (prem_schedule *)(uintptr_t)planning->schedule;
  prem_plan *plan = prem_plan_new();
  plan->warmup_tiles = schedule->policy.warmup_tiles;
  plan->warmup_ns = planning->warmup_ns;
  plan->clock_step_ns = planning->grid_ns;
  ck_assert_int_eq(prem_planning_compress(planning, draft, plan), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

static int64_t on_grid(int64_t ns, int64_t grid_ns) {
  return (ns + grid_ns - 1) / grid_ns * grid_ns;
}

/* Its cost. Without a violation it is a plan. */
static prem_cost judge(parts *of, const int64_t *start) {
  const prem_model *model = &of->model;
  const prem_cost cost = prem_model_cost(model, start);
  ck_assert_int_ge(cost.violation, 0);
  if (of->bound_ns != INT64_MIN)
    ck_assert_int_ge(cost.value_ns, of->bound_ns);
  for (int32_t a = 0; a < model->count; ++a) {
    ck_assert_int_ge(start[a], of->head[a]);
    if (of->tail_ns[a] != PREM_NO_TAIL)
      ck_assert_int_ge(cost.value_ns, start[a] * model->grid_ns + of->tail_ns[a]);
    if (model->placement[a] >= 0)
      of->draft.placements[model->placement[a]].start_ns = start[a] * model->grid_ns;
  }
  if (cost.violation == 0) {
    prem_draft draft = of->draft;
    if (model->makespan && !model->horizon_ns)
      draft.hyperperiod_ns = on_grid(cost.value_ns, model->grid_ns);
    check_draft(&of->planning, &draft);
  }
  return cost;
}

/* Any keys give a schedule, and so does that one, pushed to the end and to the front again. */
static void try_keys(parts *of, uint64_t state) {
  const prem_model *model = &of->model;
  prem_decoder *decoder = prem_decoder_new(model);
  for (int i = 0; i < DECODED; ++i) {
    for (int32_t a = 0; a < model->count; ++a)
      of->key[a] = planted_between(&state, 0, i % 2 ? 5 : 900);
    ck_assert_int_eq(prem_decode_forward(decoder, of->key, i % 3 == 2, of->start), PREM_OK);
    const prem_cost cost = judge(of, of->start);
    for (int32_t a = 0; a < model->count; ++a)
      of->key[a] = -of->start[a] - model->activities[a].length;
    ck_assert_int_eq(prem_decode_backward(decoder, of->key, cost, of->start), PREM_OK);
    ck_assert_int_eq(prem_decode_forward(decoder, of->start, false, of->start), PREM_OK);
    judge(of, of->start);
  }
  prem_decoder_free(decoder);
}

/* Every move of the graph leads to a schedule. How many sets it served. */
static int try_moves(parts *of, uint64_t state) {
  prem_graph *graph = NULL;
  ck_assert_int_eq(prem_graph_new(&of->model, &graph), PREM_OK);
  if (!graph)
    return 0;
  prem_graph_begin(graph, of->start);
  int moves = 0;
  do {
    const prem_cost cost = judge(of, prem_graph_starts(graph));
    ck_assert_int_eq(cost.violation, 0);
    ck_assert_int_eq(on_grid(cost.value_ns, of->model.grid_ns),
                     prem_graph_value(graph) * of->model.grid_ns);
  } while (++moves < MOVES && prem_graph_move(graph, planted_random(&state)));
  prem_graph_free(graph);
  return 1;
}

static int try_search(parts *of, uint64_t seed) {
  const prem_model *model = &of->model;
  const size_t bytes = ((size_t)model->count + 1) * sizeof(int64_t);
  of->head = malloc(bytes);
  of->tail_ns = malloc(bytes);
  of->start = calloc(1, bytes);
  of->key = malloc(bytes);
  ck_assert_int_eq(prem_model_chains(model, of->head, of->tail_ns), PREM_OK);
  ck_assert_int_eq(prem_model_bound(model, of->head, of->tail_ns, &of->bound_ns), PREM_OK);
  for (int32_t a = 0; a < model->count; ++a)
    if (model->placement[a] >= 0)
      of->start[a] = of->draft.placements[model->placement[a]].start_ns / model->grid_ns;
  const int served = try_moves(of, seed);
  try_keys(of, seed);
  free(of->head);
  free(of->tail_ns);
  free(of->start);
  free(of->key);
  return served;
}

/* ---- proofs ---------------------------------------------------------------------------------- */

/* Where the phase of a node starts in a plan; below 0: it is no phase. */
static int64_t start_of(const prem_node *node, const prem_slot *slots, int64_t count) {
  for (int64_t i = 0; i < count && node->tile >= 0; ++i)
    if (slots[i].task == node->task && slots[i].job == node->job && slots[i].tile == node->tile &&
        slots[i].phase == (uint8_t)node->phase)
      return slots[i].planned_ns;
  return -1;
}

/* A plan that ends there is not excluded, and its starts are within the windows that are left. */
static void try_windows(const prem_rules *rules, const prem_plan *plan, const int64_t *head,
                        const int64_t *tail, const int64_t *start) {
  prem_refuter *refuter = prem_refuter_new(rules, head, tail);
  const int64_t *first, *last, unit_ns = rules->unit_ns;
  for (int probe = 0; refuter && probe < 2; ++probe) {
    prem_effort effort = {.steps = 20000, .probe = probe};
    ck_assert(
        !prem_refuter_excludes(refuter, (plan->hyperperiod_ns + unit_ns - 1) / unit_ns, &effort));
    prem_refuter_windows(refuter, &first, &last);
    for (int32_t n = 0; n < rules->node_count; ++n)
      if (start[n] >= 0) {
        ck_assert_int_le(first[n] * unit_ns, start[n]);
        ck_assert_int_le(start[n], last[n] * unit_ns);
      }
  }
  prem_refuter_free(refuter);
}

static void try_rules(const prem_planning *planning, const prem_plan *plan, bool relaxed,
                      const prem_without *without) {
  prem_rules rules;
  if (prem_rules_build(planning, relaxed, without, 5000, &rules) != PREM_OK)
    return;
  FREED prem_slot *slots = NULL;
  int64_t count = 0, *paths = calloc((size_t)rules.node_count * 4 + 1, sizeof *paths);
  int64_t *head = paths, *tail = head + rules.node_count, *latest = tail + rules.node_count;
  int64_t *start = latest + rules.node_count;
  ck_assert_int_eq(prem_plan_expand(planning->schedule, plan, &slots, &count, NULL), PREM_OK);
  for (int32_t n = 0; n < rules.node_count; ++n)
    start[n] = start_of(&rules.nodes[n], slots, count);
  for (int64_t i = 0; i < rules.arc_count; ++i) {
    const prem_apart *arc = &rules.arcs[i];
    if (start[arc->from] >= 0 && start[arc->to] >= 0)
      ck_assert_int_ge(start[arc->to], start[arc->from] + arc->gap * rules.unit_ns);
  }
  for (int64_t i = 0; i < rules.together_count; ++i)
    ck_assert_int_eq(start[rules.together[i].from], start[rules.together[i].to]);
  ck_assert_int_eq(prem_rules_paths(&rules, head, tail, latest), PREM_OK);
  for (int32_t n = 0; n < rules.node_count; ++n)
    if (start[n] >= 0) {
      ck_assert_int_ge(start[n], head[n] * rules.unit_ns);
      ck_assert_int_le(start[n] + tail[n] * rules.unit_ns, plan->hyperperiod_ns);
      ck_assert(latest[n] == PREM_MAX_NS || start[n] <= latest[n] * rules.unit_ns);
    }
  if (rules.node_count <= SMALL)
    try_windows(&rules, plan, head, tail, start);
  free(paths);
  prem_rules_free(&rules);
}

/* The plan has no chains and no joined phases. */
static void try_proofs(const prem_planning *planning, const prem_plan *plan, uint64_t seed) {
  bool tasks[64] = {false}, lines[1024] = {false};
  tasks[seed % (uint64_t)planning->schedule->task_count] = true;
  lines[seed % (uint64_t)prem_planning_renewables(planning)] = true;
  try_rules(planning, plan, true, NULL);
  try_rules(planning, plan, false, NULL);
  try_rules(planning, plan, seed % 2, &(prem_without){tasks, lines});
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* How many sets the graph served. */
static int try_set(const char *source, uint64_t seed) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  parts of = {.planning = {.schedule = schedule,
                           .grid_ns = prem_max_i64(1, schedule->platform.clock_step_ns),
                           .policy = "auto",
                           .judge = prem_check}};
  if (schedule->policy.warmup_tiles > 0)
    of.planning.warmup_ns = on_grid(schedule->policy.warmup_ns, of.planning.grid_ns);
  int served = 0;
  if (prem_planning_supplied(&of.planning) &&
      prem_plan_constructive(&of.planning, &of.draft) == PREM_OK) {
    check_draft(&of.planning, &of.draft);
    try_proofs(&of.planning, schedule->plan, seed);
    if (prem_model_build(&of.planning, &of.draft, &of.model) == PREM_OK) {
      served = try_search(&of, seed);
      prem_model_free(&of.model);
    }
  }
  free(of.draft.placements);
  free(of.draft.slots);
  return served;
}

GROUP("sets");

TEST(of_random_sets) {
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    try_set(random_set_text(&set), seed);
  }
}

/* Jobs on machines one after the other, with resources of which there are several: of the memory
 * as much as machines, or `memory` for more jobs, some short, and some with long waits. */
static char *shop_text(uint64_t seed, int32_t memory) {
  char *source = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&source, &bytes);
  uint64_t state = seed;
  const int32_t jobs = planted_between(&state, 2, 6) + 2 * memory;
  const int32_t machines = planted_between(&state, 2, 4);
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %dL;"
          " resources = ( { name = \"memory\"; capacity = %d; }, { name = \"tool\"; capacity = 3; }"
          " ); };\ntasks = (\n",
          machines, seed % 3 ? 1 : 4, memory ? memory : machines);
  for (int32_t j = 0; j < jobs; ++j)
    for (int32_t k = 0; k < (memory && j % 2 ? 1 : machines); ++k) {
      const int32_t machine = (k * (j % 2 ? 1 : 3) + planted_between(&state, 0, 1)) % machines;
      fprintf(file,
              "%s{ name = \"j%dk%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
              " prefetch: { wcet_ns = %dL;",
              j + k ? ",\n" : "", j, k, machine, planted_between(&state, 5, 90));
      if (seed % 2)
        fprintf(file, " demand: { tool = %d; };", planted_between(&state, 0, 3));
      fputs(" };", file);
      if (k > 0)
        fprintf(file, " after = ( { task = \"j%dk%d\"; lag_ns = %dL; } );", j, k - 1,
                planted_between(&state, 0, memory ? 90 : 9));
      else
        fprintf(file, " release_ns = %dL;", planted_between(&state, 0, 60));
      fputs(" }", file);
    }
  fputs("\n);\n", file);
  fclose(file);
  return source;
}

GROUP("shops");

TEST(of_shops) {
  int served = 0;
  for (uint64_t seed = 0; seed < SHOPS; ++seed) {
    FREED char *source = shop_text(seed, (int32_t)(seed / 2 % 4));
    served += try_set(source, seed);
  }
  ck_assert_int_ge(served, SHOPS / 4);
}

/* ---- which sets the graph serves ------------------------------------------------------------- */

static bool is_served(const prem_model *model) {
  prem_graph *graph = NULL;
  ck_assert_int_eq(prem_graph_new(model, &graph), PREM_OK);
  prem_graph_free(graph);
  return graph != NULL;
}

/* One thing more that it knows nothing of, and it serves the set no longer. */
TEST(a_graph_serves_what_it_knows) {
  FREED char *source = shop_text(2, 0);
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  prem_draft draft;
  prem_model model;
  ck_assert_int_eq(prem_plan_constructive(&planning, &draft), PREM_OK);
  ck_assert_int_eq(prem_model_build(&planning, &draft, &model), PREM_OK);
  ck_assert(is_served(&model));
  prem_model other = model;
  other.owner_count = 1;
  ck_assert(!is_served(&other));
  other = model;
  other.wrap_count = 1;
  ck_assert(!is_served(&other));
  other = model;
  other.makespan = false;
  ck_assert(!is_served(&other));
  int32_t *first_pool = (int32_t *)(uintptr_t)model.side[PREM_FORWARD].first_pool;
  first_pool[model.count] += 1;
  ck_assert(!is_served(&model));
  first_pool[model.count] -= 1;
  for (int32_t a = 0; a < model.count; ++a) {
    prem_activity *activity = (prem_activity *)(uintptr_t)&model.activities[a];
    const int64_t latest = activity->latest;
    activity->latest = PREM_MAX_NS - 1;
    ck_assert(!is_served(&model));
    activity->latest = latest;
    prem_use *use = (prem_use *)(uintptr_t)&model.uses[activity->first_use];
    ck_assert_int_gt(activity->use_count, 0);
    ++use->demand;
    ck_assert(!is_served(&model));
    --use->demand;
  }
  ck_assert(is_served(&model));
  prem_model_free(&model);
  free(draft.placements);
  free(draft.slots);
}
