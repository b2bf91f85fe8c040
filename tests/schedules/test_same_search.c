/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the search and the proofs make of random sets on their way to an answer is what it was (see
 * tests/common/golden.h): the search's model, schedules decoded from any keys, moves on the graph,
 * the rules as constraints, what they exclude, bounds. An answer alone would hide most of it.
 */
/* ctest: release */
#include "schedules/planner/common/planning.h"
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/proof/bounds.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/explain.h"
#include "schedules/planner/proof/refute.h"
#include "schedules/planner/proof/rules.h"
#include "schedules/planner/search/decode.h"
#include "schedules/planner/search/graph.h"
#include "schedules/planner/search/model.h"

#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/random_set.h"

enum { SETS = 720, WHOLE = 240, DECODED = 8, MOVES = 150, SMALL = 60 };

static uint64_t sum; /* of what is told */

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void add_all(const int64_t *values, int64_t count) {
  sum = golden_sum(sum, values, (size_t)count * sizeof *values);
}

static void add_numbers(const int32_t *values, int64_t count) {
  sum = golden_sum(sum, values, (size_t)count * sizeof *values);
}

static void tell(FILE *file) {
  fprintf(file, " %016" PRIx64, sum);
  sum = GOLDEN_SUM;
}

/* ---- the search ----------------------------------------------------------------------------- */

static void add_side(const prem_model *model, const prem_side *side) {
  const int32_t arcs = side->first_arc[model->count], pools = side->first_pool[model->count];
  add_numbers(side->first_arc, model->count + 1);
  add_numbers(side->arc_count, model->count);
  for (int32_t i = 0; i < arcs; ++i) {
    add(side->arcs[i].gap);
    add(side->arcs[i].to);
  }
  add_numbers(side->first_pool, model->count + 1);
  add_numbers(side->pools, pools);
}

static void add_activities(const prem_model *model) {
  for (int32_t a = 0; a < model->count; ++a) {
    const prem_activity *activity = &model->activities[a];
    add(activity->length);
    add(activity->tail_ns);
    add(activity->latest);
    add(model->release[a]);
    add(model->placement[a]);
    for (int32_t u = 0; u < activity->use_count; ++u) {
      const prem_use *use = &model->uses[activity->first_use + u];
      add(use->length);
      add(use->renewable);
      add(use->demand);
      add(use->owner);
      add(use->exclusive);
    }
  }
}

static void add_model(const prem_model *model) {
  add(model->grid_ns);
  add(model->horizon_ns);
  add(model->makespan);
  add(model->owner_count);
  add(model->buffers);
  add_activities(model);
  add_numbers(model->renewable_capacity, model->renewable_count);
  add_numbers(model->first_user, model->renewable_count + 1);
  add_numbers(model->users, model->first_user[model->renewable_count]);
  add_numbers(model->first_giver, model->pool_count + 1);
  add_numbers(model->givers, model->first_giver[model->pool_count]);
  add_side(model, &model->side[PREM_FORWARD]);
  add_side(model, &model->side[PREM_BACKWARD]);
  for (int32_t w = 0; w < model->wrap_count; ++w) {
    add(model->wraps[w].from);
    add(model->wraps[w].to);
    add(model->wraps[w].gap_ns);
  }
}

static void add_bound(const prem_model *model) {
  int64_t *head = calloc((size_t)model->count + 1, sizeof *head);
  int64_t *tail_ns = calloc((size_t)model->count + 1, sizeof *tail_ns);
  int64_t bound_ns = 0;
  ck_assert_int_eq(prem_model_chains(model, head, tail_ns), PREM_OK);
  ck_assert_int_eq(prem_model_bound(model, head, tail_ns, &bound_ns), PREM_OK);
  add_all(head, model->count);
  add_all(tail_ns, model->count);
  add(bound_ns);
  free(head);
  free(tail_ns);
}

static prem_cost add_schedule(const prem_model *model, const int64_t *start) {
  const prem_cost cost = prem_model_cost(model, start);
  add_all(start, model->count);
  add(cost.violation);
  add(cost.value_ns);
  return cost;
}

/* From any keys to a schedule, from that one to the next. */
static void tell_decoded(FILE *file, const prem_model *model, int64_t *start, uint64_t state) {
  prem_decoder *decoder = prem_decoder_new(model);
  int64_t *key = calloc((size_t)model->count + 1, sizeof *key);
  ck_assert_ptr_nonnull(decoder);
  prem_cost cost = {0};
  for (int i = 0; i < DECODED; ++i) {
    for (int32_t a = 0; a < model->count; ++a)
      key[a] = i % 4 == 3 ? start[a] : planted_between(&state, 0, i % 2 ? 5 : 900);
    ck_assert_int_eq(prem_decode_forward(decoder, key, i % 3 == 2, start), PREM_OK);
    cost = add_schedule(model, start);
    for (int32_t a = 0; a < model->count; ++a)
      key[a] = -start[a] - model->activities[a].length;
    ck_assert_int_eq(prem_decode_backward(decoder, key, cost, start), PREM_OK);
    add_all(start, model->count);
    ck_assert_int_eq(prem_decode_forward(decoder, start, false, start), PREM_OK);
    add_schedule(model, start);
  }
  tell(file);
  free(key);
  prem_decoder_free(decoder);
}

static void tell_moves(FILE *file, const prem_model *model, const int64_t *start, uint64_t state) {
  prem_graph *graph = (prem_graph *)&state; /* it is NULL where no graph serves */
  ck_assert_int_eq(prem_graph_new(model, &graph), PREM_OK);
  if (!graph) {
    fputs(" no graph", file);
    return;
  }
  prem_graph_begin(graph, start);
  int moves = 0;
  do {
    add(prem_graph_value(graph));
    add_all(prem_graph_starts(graph), model->count);
  } while (++moves < MOVES && prem_graph_move(graph, planted_random(&state)));
  fprintf(file, " %d moves", moves);
  tell(file);
  prem_graph_free(graph);
}

static void tell_search(FILE *file, const prem_planning *planning, uint64_t seed, bool all) {
  prem_draft draft = {0};
  prem_model model;
  const prem_status made = prem_plan_constructive(planning, &draft);
  fprintf(file, " %s", prem_status_text(made));
  if (draft.complete && prem_model_build(planning, &draft, &model) == PREM_OK) {
    int64_t *start = calloc((size_t)model.count + 1, sizeof *start);
    add_model(&model);
    tell(file);
    add_bound(&model);
    for (int32_t a = 0; a < model.count; ++a)
      start[a] = model.placement[a] < 0
                     ? 0
                     : draft.placements[model.placement[a]].start_ns / model.grid_ns;
    add_schedule(&model, start);
    tell(file);
    if (all)
      tell_decoded(file, &model, start, seed);
    tell_moves(file, &model, start, seed);
    free(start);
    prem_model_free(&model);
  }
  free(draft.placements);
  free(draft.slots);
}

/* ---- the proofs ----------------------------------------------------------------------------- */

static void add_aparts(const prem_apart *arcs, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    add(arcs[i].gap);
    add(arcs[i].from);
    add(arcs[i].to);
  }
}

static void add_rules(const prem_rules *rules) {
  add(rules->joinable);
  add(rules->complete);
  add(rules->unit_ns);
  add(rules->cycle);
  add(prem_rules_far(rules));
  for (int32_t n = 0; n < rules->node_count; ++n) {
    const prem_node *node = &rules->nodes[n];
    const int64_t all[] = {node->earliest, node->latest, node->wcet_ns, node->task,
                           node->job,      node->tile,   node->phase};
    add_all(all, 7);
  }
  add_aparts(rules->arcs, rules->arc_count);
  add_aparts(rules->wraps, rules->wrap_count);
  add_aparts(rules->together, rules->together_count);
  for (int64_t h = 0; h < rules->hold_count; ++h) {
    const prem_hold *hold = &rules->holds[h];
    const int64_t all[] = {hold->length, hold->min,       hold->first,
                           hold->last,   hold->renewable, hold->demand};
    add_all(all, 6);
  }
  add_all(rules->first_hold, rules->renewable_count + 1);
  add_all(rules->renewable_holds, rules->first_hold[rules->renewable_count]);
}

static void add_lines(const prem_rules *rules) {
  for (int32_t l = 0; l < rules->renewable_count; ++l) {
    char name[128];
    const prem_renewable line = prem_rules_renewable(rules, l);
    prem_rules_name_renewable(rules, l, name, sizeof name);
    sum = golden_sum(sum, name, strlen(name));
    add(line.kind);
    add(line.number);
    add(line.capacity);
    add(line.per_task);
    for (int64_t h = 0; h < rules->hold_count; ++h)
      add(prem_rules_counts(rules, line, &rules->holds[h]));
  }
}

/* What is excluded below and above the end that is known, and the windows that are left. */
static void tell_refuted(FILE *file, const prem_rules *rules, const int64_t *head,
                         const int64_t *tail) {
  prem_refuter *refuter = prem_refuter_new(rules, head, tail);
  if (!refuter)
    return;
  int64_t longest = 0;
  for (int32_t n = 0; n < rules->node_count; ++n)
    longest = prem_max_i64(longest, head[n] + tail[n]);
  for (int probe = 0; probe < 2; ++probe)
    for (int64_t end = longest - 1; end < 2 * longest + 2; end += longest / 5 + 1) {
      const int64_t *first, *last;
      prem_effort effort = {.steps = 20000, .probe = probe};
      const bool excluded = prem_refuter_excludes(refuter, end, &effort);
      fputc(excluded ? '-' : '+', file);
      add(effort.steps > 0);
      if (excluded)
        continue;
      prem_refuter_windows(refuter, &first, &last);
      add_all(first, rules->node_count);
      add_all(last, rules->node_count);
    }
  tell(file);
  prem_refuter_free(refuter);
}

static void tell_rules(FILE *file, const prem_planning *planning, bool relaxed,
                       const prem_without *without) {
  prem_rules rules;
  if (prem_rules_build(planning, relaxed, without, 5000, &rules) != PREM_OK) {
    fputs(" no rules", file);
    return;
  }
  add_rules(&rules);
  add_lines(&rules);
  int64_t *paths = calloc((size_t)rules.node_count * 3 + 1, sizeof *paths);
  int64_t *head = paths, *tail = paths + rules.node_count, *latest = tail + rules.node_count;
  if (prem_rules_paths(&rules, head, tail, latest) == PREM_OK) {
    add_all(paths, (int64_t)rules.node_count * 3);
    tell(file);
    if (rules.node_count <= SMALL)
      tell_refuted(file, &rules, head, tail);
  }
  free(paths);
  prem_rules_free(&rules);
}

static void tell_proofs(FILE *file, const prem_planning *planning, uint64_t seed) {
  bool tasks[64] = {false}, lines[1024] = {false};
  tasks[seed % (uint64_t)planning->schedule->task_count] = true;
  lines[seed % (uint64_t)prem_planning_renewables(planning)] = true;
  tell_rules(file, planning, true, NULL);
  tell_rules(file, planning, false, NULL);
  tell_rules(file, planning, seed % 2, &(prem_without){tasks, lines});
  int64_t bound_ns = -1;
  if (prem_planning_lower_bound(planning, &bound_ns))
    fprintf(file, " bound %" PRId64, bound_ns);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void tell_parts(FILE *file, const char *name, prem_schedule *schedule, uint64_t seed,
                       bool all) {
  const prem_planning planning = {.schedule = schedule,
                                  .grid_ns = prem_max_i64(1, schedule->platform.clock_step_ns),
                                  .policy = "auto",
                                  .judge = prem_check};
  sum = GOLDEN_SUM;
  fprintf(file, "%s:", name);
  if (prem_planning_supplied(&planning)) {
    tell_search(file, &planning, seed, all);
    if (all)
      tell_proofs(file, &planning, seed);
  }
  fputc('\n', file);
  prem_schedule_free(schedule);
}

static void tell_set(FILE *file, const char *name, prem_schedule *schedule, uint64_t seed) {
  tell_parts(file, name, schedule, seed, true);
}

static prem_schedule *printed(FILE *file, char **source) {
  fclose(file); /* which gives the text its last place */
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load_text("t", *source, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), NULL), PREM_OK);
  free(*source);
  return schedule;
}

START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    tell_set(golden_begin(&lines, seed < WHOLE), text("set %" PRIu32, seed),
             schedule_from_text(random_set_text(&set)), seed);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("search_sets.txt", found);
}
END_TEST

/* Windows that go on to shrink a little each time that all starts and orders are probed: where they
 * are left after as many rounds as there are. */
START_TEST(of_a_set_that_shrinks_for_many_rounds) {
  enum { FROM_NS = 132, TO_NS = 142 };
  prem_schedule *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; deadline_ns = 193L;"
      "    prefetch: { wcet_ns = 40L; }; compute: { wcet_ns = 9L; }; writeback: { wcet_ns = 14L; "
      "}; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; deadline_ns = 98L;"
      "    prefetch: { wcet_ns = 21L; }; compute: { wcet_ns = 40L; }; writeback: { wcet_ns = 1L; "
      "}; },"
      "  { name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; deadline_ns = 164L;"
      "    prefetch: { wcet_ns = 40L; }; compute: { wcet_ns = 2L; }; writeback: { wcet_ns = 21L; "
      "}; } );");
  const prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto"};
  prem_rules rules;
  ck_assert_int_eq(prem_rules_build(&planning, false, NULL, 5000, &rules), PREM_OK);
  int64_t *paths = calloc((size_t)rules.node_count * 3 + 1, sizeof *paths);
  int64_t *head = paths, *tail = paths + rules.node_count, *latest = tail + rules.node_count;
  ck_assert_int_eq(prem_rules_paths(&rules, head, tail, latest), PREM_OK);
  prem_refuter *refuter = prem_refuter_new(&rules, head, tail);
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int64_t end = FROM_NS; end < TO_NS; ++end) {
    const int64_t *first, *last;
    prem_effort effort = {.steps = 10000000, .probe = true};
    const bool excluded = prem_refuter_excludes(refuter, end, &effort);
    ck_assert_int_gt(effort.steps, 0);
    prem_refuter_windows(refuter, &first, &last);
    fprintf(file, "%" PRId64 ":%s", end, excluded ? " excluded" : "");
    for (int32_t n = 0; n < rules.node_count && !excluded; ++n)
      fprintf(file, " %" PRId64 "-%" PRId64, first[n], last[n]);
    fputc('\n', file);
  }
  fclose(file);
  golden_judge("search_rounds.txt", found);
  prem_refuter_free(refuter);
  free(paths);
  prem_rules_free(&rules);
  prem_schedule_free(schedule);
}
END_TEST

/* Jobs on machines one after the other, with resources of which there are several: of the memory
 * as much as machines, or `memory` for more jobs, some short, and some
 * with long waits. */
static void print_shop(FILE *file, uint64_t seed, int32_t memory) {
  uint64_t state = seed;
  const int32_t jobs = planted_between(&state, 2, 6) + 2 * memory;
  const int32_t machines = planted_between(&state, 2, 4);
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %" PRId32 "; clock_step_ns = %dL;"
          " resources = ( { name = \"memory\"; capacity = %" PRId32
          "; }, { name = \"tool\"; capacity = 3; } ); };\ntasks = (\n",
          machines, seed % 3 ? 1 : 4, memory ? memory : machines);
  for (int32_t j = 0; j < jobs; ++j)
    for (int32_t k = 0; k < (memory && j % 2 ? 1 : machines); ++k) {
      const int32_t machine = (k * (j % 2 ? 1 : 3) + planted_between(&state, 0, 1)) % machines;
      fprintf(file,
              "%s{ name = \"j%" PRId32 "k%" PRId32 "\"; kernel = \"none\"; blocks = [ %" PRId32
              " ]; tiles = 1; prefetch: { wcet_ns = %" PRId32 "L;",
              j + k ? ",\n" : "", j, k, machine, planted_between(&state, 5, 90));
      if (seed % 2)
        fprintf(file, " demand: { tool = %" PRId32 "; };", planted_between(&state, 0, 3));
      fputs(" };", file);
      if (k > 0)
        fprintf(file,
                " after = ( { task = \"j%" PRId32 "k%" PRId32 "\"; lag_ns = %" PRId32 "L; } );", j,
                k - 1, planted_between(&state, 0, memory ? 90 : 9));
      else
        fprintf(file, " release_ns = %" PRId32 "L;", planted_between(&state, 0, 60));
      fputs(" }", file);
    }
  fputs("\n);\n", file);
}

static void print_phase(FILE *file, uint64_t *state, const char *name, int32_t longest_ns) {
  const int32_t wcet_ns = planted_between(state, 1, longest_ns);
  fprintf(file, " %s: { wcet_ns = %" PRId32 "L;", name, wcet_ns);
  if (planted_between(state, 0, 2) == 0)
    fprintf(file, " busy_ns = %" PRId32 "L;", planted_between(state, 1, wcet_ns));
  if (planted_between(state, 0, 2) == 0)
    fprintf(file, " demand: { memory = %" PRId32 "; };", planted_between(state, 0, 2));
  fputs(" };", file);
}

/* Tasks whose writebacks and prefetches can be joined: into less than either, or more than both. */
static void print_pairs(FILE *file, uint64_t seed) {
  uint64_t state = seed;
  fprintf(
      file,
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; clock_step_ns = %dL;"
      " guard_ns = %dL; resources = ( { name = \"memory\"; capacity = 2; per = \"%s\"; } ); };\n"
      "tasks = (\n",
      seed % 2 ? 1 : 4, seed % 3 ? 3 : 0, seed % 5 ? "block" : "task");
  const int32_t tasks = planted_between(&state, 1, 3);
  for (int32_t t = 0; t < tasks; ++t) {
    const int32_t block = planted_between(&state, 0, 2), tiles = planted_between(&state, 1, 3);
    fprintf(file,
            "%s{ name = \"t%" PRId32 "\"; kernel = \"none\"; blocks = [ %s ]; tiles = %" PRId32 ";",
            t ? ",\n" : "", t,
            block == 0   ? "0"
            : block == 1 ? "1"
                         : "0, 1",
            tiles);
    print_phase(file, &state, "prefetch", 40);
    if (planted_between(&state, 0, 3))
      print_phase(file, &state, "compute", 50);
    print_phase(file, &state, "writeback", 30);
    if (planted_between(&state, 0, 3))
      print_phase(file, &state, "joined", 70);
    fputs(" }", file);
  }
  fputs("\n);\n", file);
}

START_TEST(of_shops) {
  char *found = NULL, *source = NULL;
  size_t bytes = 0, source_bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    FILE *to = open_memstream(&source, &source_bytes);
    print_shop(to, seed, 0);
    tell_set(file, text("shop %" PRIu64, seed), printed(to, &source), seed);
  }
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const planted_gangs set = planted_gangs_draw(seed);
    FILE *to = open_memstream(&source, &source_bytes);
    planted_gangs_print(to, &set);
    tell_set(file, text("gangs %" PRIu64, seed), printed(to, &source), seed);
  }
  for (int32_t tiles = 3; tiles <= 33; tiles += 5) {
    planted_tile drawn[40];
    planted_draw(drawn, tiles, 3, (uint64_t)tiles);
    FILE *to = open_memstream(&source, &source_bytes);
    planted_print(to, drawn, tiles, 3, 5);
    tell_set(file, text("%" PRId32 " tiles", tiles), printed(to, &source), (uint64_t)tiles);
  }
  for (uint64_t seed = 0; seed < 300; seed += 2) {
    FILE *to = open_memstream(&source, &source_bytes);
    print_shop(to, seed, 1 + (int32_t)seed / 2 % 3);
    tell_parts(file, text("scarce %" PRIu64, seed), printed(to, &source), seed, false);
  }
  for (uint64_t seed = 0; seed < 40; ++seed) {
    FILE *to = open_memstream(&source, &source_bytes);
    print_pairs(to, seed);
    tell_set(file, text("pairs %" PRIu64, seed), printed(to, &source), seed);
  }
  fclose(file);
  golden_judge("search_shops.txt", found);
}
END_TEST

/* ---- exact answers -------------------------------------------------------------------------- */

/* Small enough to be answered long before any limit. */
#define LONG_NS INT64_C(100000000000)

static void tell_verdict(FILE *file, const prem_planning *planning, prem_plan *plan,
                         const prem_exact_verdict *verdict) {
  fprintf(file, " %s%s %" PRId64, prem_plan_verdict_name(verdict->verdict),
          verdict->optimal ? " optimal" : "", verdict->lower_bound_ns);
  prem_schedule *schedule = (prem_schedule *)(uintptr_t)planning->schedule;
  if (verdict->verdict == PREM_PLAN_FEASIBLE) {
    plan->clock_step_ns = planning->grid_ns;
    prem_schedule_set_plan(schedule, plan);
    ck_assert_int_eq(prem_check(schedule, NULL, NULL), PREM_OK);
    if (verdict->optimal) /* else it depends on the solver's way */
      fprintf(file, " %" PRId64, plan->hyperperiod_ns);
    prem_schedule_set_plan(schedule, NULL);
  } else {
    prem_plan_free(plan);
  }
}

/* The smallest one of the jobs that are due: the largest that any plan has is one number. */
static int64_t slack_of(const prem_planning *planning, const prem_plan *plan) {
  prem_draft draft = {0};
  ck_assert_int_eq(
      prem_plan_expand(planning->schedule, plan, &draft.slots, &draft.slot_count, NULL), PREM_OK);
  const int64_t slack_ns = prem_planning_slack(planning, &draft);
  free(draft.slots);
  return slack_ns;
}

static void tell_exact(FILE *file, const char *name, const char *source) {
  prem_schedule *schedule = schedule_from_text(source);
  prem_diag *diag = prem_diag_new();
  const prem_planning planning = {.schedule = schedule,
                                  .grid_ns = prem_max_i64(1, schedule->platform.clock_step_ns),
                                  .policy = "auto",
                                  .diag = diag,
                                  .judge = prem_check};
  fprintf(file, "%s:", name);
  prem_exact_verdict verdict = {0};
  prem_plan *plan = prem_plan_new();
  ck_assert_int_eq(prem_plan_exact(&planning, LONG_NS, NULL, plan, &verdict), PREM_OK);
  tell_verdict(file, &planning, plan, &verdict);
  if (schedule->period_lcm_ns > 0) {
    plan = prem_plan_new();
    const prem_status status =
        prem_plan_exact_slack(&planning, LONG_NS, NULL, PREM_NO_SLACK, plan, &verdict);
    fprintf(file, ", slack: %s", prem_status_text(status));
    if (verdict.verdict == PREM_PLAN_FEASIBLE)
      fprintf(file, " %" PRId64, slack_of(&planning, plan));
    tell_verdict(file, &planning, plan, &verdict);
  }
  if (verdict.verdict == PREM_PLAN_INFEASIBLE && prem_planning_explain(&planning, LONG_NS, NULL))
    fprintf(file, " %016" PRIx64, golden_problems(diag));
  fputc('\n', file);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/* Without time for a question: the bounds alone. */
static void tell_at_once(FILE *file, const char *name, prem_schedule *schedule) {
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  prem_exact_verdict verdict = {0};
  prem_plan *plan = prem_plan_new();
  const prem_status status = prem_plan_exact(&planning, 1, NULL, plan, &verdict);
  fprintf(file, "%s, at once: %s %s%s %" PRId64 " %" PRId64 "\n", name, prem_status_text(status),
          prem_plan_verdict_name(verdict.verdict), verdict.optimal ? " optimal" : "",
          verdict.lower_bound_ns, verdict.makespan_ns);
  prem_plan_free(plan);
  prem_schedule_free(schedule);
}

/* What is drawn is drawn in its order: that of a function's arguments is the compiler's. */
static const char *tiny_phase(uint64_t *state, const char *name, int32_t longest) {
  const int32_t wcet_ns = planted_between(state, 1, longest);
  const char *busy = "", *demand = "";
  if (planted_between(state, 1, 4) == 1)
    busy = text("busy_ns = %dL;", planted_between(state, 1, wcet_ns));
  if (planted_between(state, 1, 3) == 1)
    demand = text("demand: { memory = %d; };", planted_between(state, 0, 2));
  return text("%s: { wcet_ns = %dL; %s %s };", name, wcet_ns, busy, demand);
}

static const char *tiny_task(uint64_t *state, int index, int32_t period_ns) {
  const int32_t block = planted_between(state, 0, 1), kind = planted_between(state, 0, 3);
  const bool pair = planted_between(state, 0, 3) == 0;
  const char *timing = period_ns ? text("period_ns = %dL;", period_ns) : "";
  if (planted_between(state, 0, 3) == 0)
    timing = text("%s deadline_ns = %dL;", timing, planted_between(state, 3, 10));
  if (planted_between(state, 0, 3) == 0)
    timing = text("%s release_ns = %dL;", timing, planted_between(state, 0, 3));
  if (index > 0 && planted_between(state, 0, 3) == 0)
    timing = text("%s after = ( { task = \"t%d\"; lag_ns = %dL; instance = \"latest\"; } );",
                  timing, index - 1, planted_between(state, 0, 1));
  const char *prefetch = kind == 0 ? "" : tiny_phase(state, "prefetch", 3);
  const char *compute = kind == 1 ? "" : tiny_phase(state, "compute", 3);
  const char *writeback = kind < 3 && !pair ? "" : tiny_phase(state, "writeback", 2);
  return text("%s{ name = \"t%d\"; kernel = \"none\"; blocks = %s; tiles = %d; %s %s %s %s %s }",
              index ? ", " : "", index, pair ? "[ 0, 1 ]" : text("[ %d ]", block), pair ? 2 : 1,
              pair && kind % 2 ? "together = true;" : "", timing, prefetch, compute, writeback);
}

static const char *tiny_set(uint64_t seed, bool periodic) {
  uint64_t state = 2 * seed + periodic;
  const char *all = "";
  for (int t = 0; t < 2 + (int)(seed % 3 == 0); ++t) {
    const int32_t period_ns = t == 0 || planted_between(&state, 0, 1) ? 12 : 6;
    all = text("%s%s", all, tiny_task(&state, t, periodic ? period_ns : 0));
  }
  const int32_t guard_ns = planted_between(&state, 0, 3) / 3, step_ns = 1 + (int)(seed % 5 == 4);
  const int32_t precedence_ns = (int32_t)prem_max_i64(planted_between(&state, -3, 3), 0);
  return text("version = 1; name = \"t\"; platform: { blocks = 2; buffers = %d; guard_ns = %dL;"
              " clock_step_ns = %dL; precedence_ns = %dL;"
              " resources = ( { name = \"memory\"; capacity = 2; per = \"%s\"; } ); };"
              " tasks = ( %s );",
              1 + (int)(seed / 2 % 2), guard_ns, step_ns, precedence_ns,
              seed % 4 ? "block" : "task", all);
}

/* Tasks of two blocks, of whose demands the largest counts. */
static const char *tiny_gangs(uint64_t seed) {
  uint64_t state = seed;
  const char *all = "";
  for (int t = 0; t < 3; ++t) {
    const int32_t demand = planted_between(&state, 1, 3), more = planted_between(&state, 1, 3);
    const int32_t prefetch_ns = planted_between(&state, 1, 6);
    const int32_t compute_ns = planted_between(&state, 1, 9);
    all = text("%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = [ %d, %d ]; tiles = %d;"
               " prefetch: { wcet_ns = %dL; demand: { bus = %d; }; };"
               " compute: { wcet_ns = %dL; demand: { bus = %d; }; }; }",
               all, t ? ", " : "", t, t, 3, 2 + t % 2, prefetch_ns, demand, compute_ns, more);
  }
  return text("version = 1; name = \"t\"; platform: { blocks = 4; buffers = %d; resources = ("
              " { name = \"memory\"; capacity = 4; },"
              " { name = \"bus\"; capacity = %d; per = \"task\"; } ); }; tasks = ( %s );",
              1 + (int)(seed % 2), 3 + (int)(seed % 3), all);
}

/* ---- which sets the graph serves ---------------------------------------------------------------
 */

static bool is_served(const prem_model *model) {
  prem_graph *graph = NULL;
  ck_assert_int_eq(prem_graph_new(model, &graph), PREM_OK);
  prem_graph_free(graph);
  return graph != NULL;
}

/* One thing more that it knows nothing of, and it serves the set no longer. */
START_TEST(a_graph_serves_what_it_knows) {
  char *source = NULL;
  size_t bytes = 0;
  FILE *to = open_memstream(&source, &bytes);
  print_shop(to, 2, 0);
  prem_schedule *schedule = printed(to, &source);
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
  prem_schedule_free(schedule);
}
END_TEST

START_TEST(of_exact_answers) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; prem_exact_engine() && seed < 24; ++seed) {
    tell_exact(file, text("one-shot %" PRIu32, seed), tiny_set(seed, false));
    tell_exact(file, text("periodic %" PRIu32, seed), tiny_set(seed, true));
    tell_exact(file, text("gangs %" PRIu32, seed), tiny_gangs(seed));
  }
  for (uint32_t seed = 24; prem_exact_engine() && seed < 150; ++seed)
    if (seed % 5 == 4) /* on a coarser grid */
      tell_exact(file, text("periodic %" PRIu32, seed), tiny_set(seed, true));
  for (uint64_t seed = 0; prem_exact_engine() && seed < 9; ++seed) {
    char *source = NULL;
    size_t source_bytes = 0;
    FILE *to = open_memstream(&source, &source_bytes);
    print_shop(to, seed, (int32_t)(seed % 3));
    tell_at_once(file, text("shop %" PRIu64, seed), printed(to, &source));
  }
  fclose(file);
  if (prem_exact_engine())
    golden_judge("search_exact.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same search");
  TCase *sets = tcase_create("sets");
  tcase_set_timeout(sets, 240);
  tcase_add_test(sets, of_sets);
  tcase_add_test(sets, of_a_set_that_shrinks_for_many_rounds);
  suite_add_tcase(suite, sets);
  TCase *shops = tcase_create("shops");
  tcase_set_timeout(shops, 240);
  tcase_add_test(shops, of_shops);
  tcase_add_test(shops, a_graph_serves_what_it_knows);
  suite_add_tcase(suite, shops);
  TCase *exact = tcase_create("exact");
  tcase_set_timeout(exact, 240);
  tcase_add_test(exact, of_exact_answers);
  suite_add_tcase(suite, exact);
  return run_suite(suite);
}
