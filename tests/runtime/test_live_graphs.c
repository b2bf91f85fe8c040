/* SPDX-License-Identifier: Apache-2.0 */
/* Random schedules whose arrays become ports, fed by chance: every session drains, every job is
 * accounted for, and every result that is shown is the reference's, whatever was skipped, repeated
 *, dropped or given up. */
#include "tests/common/mode_plans.h"
#include "tests/common/random_schedule.h"
#include "tests/common/suite.h"

#include "prem/model/private.h"
#include "runtime/core/arrays.h"

enum { SEEDS = 250, ROUNDS = 40, TEXT_BYTES = 1 << 16 };

typedef struct graph {
  random_tasks dice;
  prem_schedule *schedule;
  prem_arrays *reference;
  prem_live *live;
  prem_trace *trace; /* where modes have plans of their own */
  uint64_t seed;
} graph;

static int64_t switches, by_plans, in_time; /* of sessions whose modes have plans of their own */
static int64_t shown, skipped, dropped, repeated, aborted, left_out, sessions;

/* ---- ports ---------------------------------------------------------------------------------- */

static int uses(const prem_schedule *schedule, int32_t array, prem_access access) {
  int count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p)
      count += task->arrays[p] == array && task->definition->ports[p].access == access;
  }
  return count;
}

static void print_port(FILE *file, graph *g, const char *name, bool is_output, bool *is_first) {
  static const char *const kinds[] = {"sampling", "queuing", "trigger"};
  static const char *const missing[] = {"repeat", "skip", "wait"};
  random_tasks *dice = &g->dice;
  const bool is_trigger = !is_output && random_chance(dice, 8);
  const char *kind = kinds[is_trigger ? 2 : random_draw(dice, 0, 1)];
  fprintf(file, "%s{ array = \"%s\"; kind = \"%s\"; buffers = %d; ", *is_first ? "" : ", ", name,
          kind, (int)random_draw(dice, 2, 4));
  if (is_output)
    fprintf(file, "overflow = \"%s\"; }", random_draw(dice, 0, 1) ? "wait" : "drop");
  else
    fprintf(file, "missing = \"%s\"; lead_ns = %dL; }", missing[random_draw(dice, 0, 2)],
            (int)random_draw(dice, 0, 40));
  *is_first = false;
}

static void print_ports(FILE *file, graph *g, const prem_schedule *schedule, bool is_output) {
  bool is_first = true;
  fprintf(file, " %s = ( ", is_output ? "outputs" : "inputs");
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    const int readers = uses(schedule, a, PREM_IN), writers = uses(schedule, a, PREM_OUT);
    if ((is_output ? writers == 1 && readers == 0 : writers == 0 && readers > 0) &&
        !random_chance(&g->dice, 4))
      print_port(file, g, schedule->arrays[a].name, is_output, &is_first);
  }
  fprintf(file, " );");
}

/* Two to four; the second at least has a plan of its own. */
static void print_modes(FILE *file, graph *g, const prem_schedule *schedule) {
  const int32_t count = (int32_t)random_draw(&g->dice, 2, 4);
  fprintf(file, " operating_modes = ( ");
  for (int32_t m = 0; m < count; ++m) {
    const char *between = "";
    fprintf(file, "%s{ name = \"m%d\"; off = [ ", m ? ", " : "", m);
    for (int32_t t = 0; t < schedule->task_count; ++t)
      if (m > 0 && random_chance(&g->dice, 2)) {
        fprintf(file, "%s\"%s\"", between, schedule->tasks[t].name);
        between = ", ";
      }
    fprintf(file, " ]; %s}", m == 1 || random_chance(&g->dice, 2) ? "policy: { }; " : "");
  }
  fprintf(file, " );");
}

static prem_schedule *load(const char *source) {
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_schedule_load_text("random", source, &schedule, diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag);
  if (status == PREM_OK || prem_diag_has(diag, 47) || status == PREM_ERR_INFEASIBLE) {
    prem_diag_free(diag);
    if (status == PREM_OK)
      return schedule;
    prem_schedule_free(schedule);
    return NULL;
  }
  puts(source);
  abort_with("prepare", diag);
  return NULL;
}

/* False: no plan, or ports that cannot be, such as a trigger of many jobs. */
static bool draw_graph(graph *g, bool has_modes) {
  static char source[TEXT_BYTES];
  FILE *file = fmemopen(source, sizeof source, "w");
  random_schedule_print(file, g->seed);
  fflush(file);
  prem_schedule *bare = load(source);
  const bool has_own_plan = strstr(source, "\nplan: {") != NULL;
  if (!bare || (has_modes && (has_own_plan || bare->policy.warmup_tiles > 0))) {
    prem_schedule_free(bare);
    fclose(file);
    return false;
  }
  fprintf(file, "\nlive: {");
  print_ports(file, g, bare, false);
  print_ports(file, g, bare, true);
  if (has_modes)
    print_modes(file, g, bare);
  fprintf(file, " };\n");
  fclose(file);
  prem_schedule_free(bare);
  g->schedule = load(source);
  return g->schedule && g->schedule->live_count > 0;
}

/* ---- overruns ------------------------------------------------------------------------------- */

/* Deadlines that a late frame breaks, or the plan itself. What would be refused in a file becomes
 * "skip". */
static void draw_overruns(graph *g) {
  prem_status status;
  for (int32_t t = 0; t < g->schedule->task_count; ++t) {
    prem_task *task = &g->schedule->tasks[t];
    const int64_t period_ns = task->period_ns ? task->period_ns : g->schedule->plan->hyperperiod_ns;
    if (random_chance(&g->dice, 2))
      continue;
    task->deadline_ns = random_draw(&g->dice, period_ns / 2, period_ns + period_ns / 4);
    task->overrun = (prem_overrun)random_draw(&g->dice, PREM_OVERRUN_RECORD, PREM_OVERRUN_ABORT);
    if (g->schedule->operating_mode_count > 1 && random_chance(&g->dice, 4))
      task->overrun = PREM_OVERRUN_DEGRADE;
    if (!prem_judge_overruns(g->schedule, &status, NULL))
      task->overrun = PREM_OVERRUN_SKIP;
    ck_assert_int_eq(status, PREM_OK);
  }
}

/* ---- frames --------------------------------------------------------------------------------- */

static void fill_as_reference(const graph *g, const prem_frame *frame) {
  const prem_storage *storage = &g->reference->storage[g->schedule->live[frame->stream].array];
  memcpy(frame->data, storage->base, (size_t)(storage->pitch_bytes * storage->row_count));
}

/* A task that follows the latest job of a skipped one reads its array's fill at first. */
static bool follows_latest(const prem_schedule *schedule, int32_t task) {
  for (int32_t a = 0; a < schedule->tasks[task].after_count; ++a) {
    const prem_after *after = &schedule->tasks[task].after[a];
    if (after->latest || follows_latest(schedule, after->task))
      return true;
  }
  return false;
}

static void assert_as_reference(const graph *g, const prem_frame *frame) {
  const int32_t array = g->schedule->live[frame->stream].array;
  if (follows_latest(g->schedule, g->schedule->arrays[array].writer))
    return;
  prem_storage storage[RANDOM_ARRAYS + 64];
  prem_arrays view = *g->reference;
  prem_verdict verdict;
  ck_assert_int_lt(g->schedule->array_count, RANDOM_ARRAYS + 64);
  for (int32_t a = 0; a < g->schedule->array_count; ++a)
    storage[a] = g->reference->reference[a];
  storage[array].base = frame->data;
  view.storage = storage;
  prem_arrays_verify(&view, &verdict);
  ck_assert_msg(verdict.ok, "seed %llu: frame %llu of stream %d is wrong",
                (unsigned long long)g->seed, (unsigned long long)frame->number, frame->stream);
}

static void touch_stream(graph *g, int32_t s, prem_frame *held, bool *is_held) {
  prem_frame frame;
  if (s < g->schedule->live_input_count) {
    if (prem_live_acquire(g->live, s, 0, &frame, NULL) == PREM_OK) {
      fill_as_reference(g, &frame);
      prem_live_submit(g->live, &frame, NULL);
    }
  } else if (*is_held) {
    assert_as_reference(g, held);
    ck_assert_int_eq(prem_live_release(g->live, held, NULL), PREM_OK);
    *is_held = false;
  } else if (prem_live_wait(g->live, s, 0, held, NULL) == PREM_OK) {
    assert_as_reference(g, held);
    *is_held = true;
  }
}

static int64_t jobs_of(const graph *g, int32_t s) {
  const prem_live_port *port = &g->schedule->live[s];
  int64_t max = 0;
  for (int32_t t = 0; t < g->schedule->task_count; ++t) {
    const prem_task *task = &g->schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p)
      if (task->arrays[p] == port->array)
        max = max > prem_task_jobs(g->schedule, task) ? max : prem_task_jobs(g->schedule, task);
  }
  return max;
}

/* Each job had its fate, and one only. */
static void assert_accounts(const graph *g) {
  prem_live_state state;
  prem_live_look(g->live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_ENDED);
  left_out += state.skipped;
  for (int32_t s = 0; s < g->schedule->live_count; ++s) {
    prem_live_counts c;
    prem_live_count(g->live, s, &c);
    const bool is_output = g->schedule->live[s].is_output;
    const uint64_t fates =
        is_output ? c.frames + c.missing + c.dropped + c.aborted : c.taken + c.repeated + c.missing;
    ck_assert_msg(fates == (uint64_t)(state.hyperperiods * jobs_of(g, s)),
                  "seed %llu: stream %d has %llu fates in %lld hyperperiods of %lld jobs",
                  (unsigned long long)g->seed, s, (unsigned long long)fates,
                  (long long)state.hyperperiods, (long long)jobs_of(g, s));
    ck_assert_uint_le(is_output ? 0 : c.taken, c.frames);
    shown += is_output ? (int64_t)c.frames : 0;
    aborted += (int64_t)c.aborted;
    skipped += (int64_t)c.missing, dropped += (int64_t)c.dropped, repeated += (int64_t)c.repeated;
  }
}

/* ---- plans of modes ------------------------------------------------------------------------- */

static void touch_mode(graph *g) {
  const int32_t count = g->schedule->operating_mode_count;
  if (count == 0 || random_chance(&g->dice, 2))
    return;
  prem_live_switch(g->live, (int32_t)random_draw(&g->dice, 0, count - 1), NULL);
}

static void assert_trace(const graph *g, prem_mode mode) {
  const prem_resource *memory = &g->schedule->platform.resources[0];
  const int64_t late = assert_by_plans(g->schedule, g->trace, g->seed);
  for (int64_t h = 1; h < g->trace->hyperperiods; ++h)
    switches += g->trace->operating_mode[h] != g->trace->operating_mode[h - 1];
  by_plans += g->trace->record_count;
  bool has_chains = false;
  for (int64_t i = 0; i < g->trace->record_count; ++i)
    has_chains |= g->trace->records[i].flags != 0;
  if (mode != PREM_MODE_TT || late > 0 || memory->per_task || has_chains)
    return;
  assert_shared(g->schedule, g->trace, g->seed);
  ++in_time;
}

static void run_graph(graph *g) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  const int64_t length_ns = g->schedule->plan->hyperperiod_ns;
  prem_frame held[PREM_MAX_LIVE_PORTS];
  bool is_held[PREM_MAX_LIVE_PORTS] = {false};
  const prem_mode mode = modes[random_draw(&g->dice, 0, 2)];
  g->live = open_live_on("sim", g->schedule);
  start_live(g->live, &(prem_live_request){
                          .mode = mode, .submit_timeout_ns = 2 * length_ns, .trace = g->trace});
  for (int i = 0; i < ROUNDS; ++i) {
    prem_live_sleep_until(g->live, prem_live_now_ns(g->live) + random_draw(&g->dice, 0, length_ns));
    const int32_t s = (int32_t)random_draw(&g->dice, 0, g->schedule->live_count - 1);
    touch_stream(g, s, &held[s], &is_held[s]);
    touch_mode(g);
  }
  ck_assert_msg(prem_live_stop(g->live, true, prem_live_now_ns(g->live) + 100 * length_ns, NULL) ==
                    PREM_OK,
                "seed %llu does not drain", (unsigned long long)g->seed);
  assert_accounts(g);
  if (g->trace)
    assert_trace(g, mode);
  prem_live_close(g->live);
}

GROUP("live_graphs", .timeout_s = 600);

TESTS(every_graph_drains_and_is_right,
      getenv("TTPREM_LIVE_ROUNDS") ? atoi(getenv("TTPREM_LIVE_ROUNDS")) : 1) { /* E22, E30 */
  for (uint64_t seed = (uint64_t)_i * SEEDS; seed < (uint64_t)(_i + 1) * SEEDS; ++seed) {
    graph g = {.seed = seed, .dice = {.state = seed}};
    if (draw_graph(&g, false) && prem_arrays_new(g.schedule, &g.reference, NULL) == PREM_OK) {
      draw_overruns(&g);
      run_graph(&g);
      ++sessions;
    }
    prem_arrays_free(g.reference);
    prem_schedule_free(g.schedule);
  }
  ck_assert_int_gt(sessions, SEEDS / 4);
  ck_assert_int_gt(shown, 0);
  ck_assert_int_gt(skipped, 0);
  ck_assert_int_gt(dropped, 0);
  ck_assert_int_gt(repeated, 0);
  ck_assert_int_gt(aborted, 0);
  ck_assert_int_gt(left_out, 0);
}

/* The same where modes have plans of their own, and everybody switches all the time. */
TESTS(every_graph_is_right_across_plans,
      getenv("TTPREM_LIVE_ROUNDS") ? atoi(getenv("TTPREM_LIVE_ROUNDS")) : 1) {
  for (uint64_t seed = (uint64_t)_i * SEEDS; seed < (uint64_t)(_i + 1) * SEEDS; ++seed) {
    graph g = {.seed = seed, .dice = {.state = ~seed}};
    if (draw_graph(&g, true) && prem_arrays_new(g.schedule, &g.reference, NULL) == PREM_OK) {
      ck_assert_int_eq(prem_trace_new(g.schedule, 8 * ROUNDS, 100000, &g.trace), PREM_OK);
      draw_overruns(&g);
      run_graph(&g);
      ++sessions;
    }
    prem_trace_free(g.trace);
    prem_arrays_free(g.reference);
    prem_schedule_free(g.schedule);
  }
  ck_assert_int_gt(sessions, SEEDS / 8);
  ck_assert_int_gt(shown, 0);
  ck_assert_int_gt(switches, SEEDS);
  ck_assert_int_gt(by_plans, SEEDS);
  ck_assert_int_gt(in_time, 0);
}
