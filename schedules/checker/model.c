/* SPDX-License-Identifier: Apache-2.0 */
/* What can be judged without a plan: times, demand and supply, scratchpad, blocks, arrays. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "schedules/checker/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "prem/model/versions.h"

static prem_place or_task(prem_place place, const prem_task *task) {
  return place.line ? place : task->place;
}

/* ---- WCETs against the machine -------------------------------------------------------------- */

static void check_dispatch(const prem_checker *checker, const prem_task *task) {
  int64_t min = checker->machine->dispatch_ns;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_phase_spec *spec = &task->phase[p];
    if (!spec->exists || spec->wcet_ns == 0 || spec->wcet_ns >= min)
      continue;
    prem_diag_add(checker->diag, PREM_ERROR, 23, or_task(spec->place, task),
                  prem_key("tasks.%s.%s.wcet_ns", task->name, prem_phase_name((prem_phase)p)).text,
                  "%lld ns is below the %lld ns that starting a phase costs on %s: profile the "
                  "task there",
                  (long long)spec->wcet_ns, (long long)min, checker->machine->name);
  }
}

/* ---- deadlines ------------------------------------------------------------------------------ */

/* Of a file without a plan: in a plan, who is late is seen (E033). */
static void check_due(const prem_checker *checker, const prem_task *task, const char *setting,
                      int64_t due_ns) {
  prem_wide chain_ns = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    int64_t phase_ns = task->phase[p].exists ? task->phase[p].wcet_ns : 0;
    if (task->joined.exists && p != PREM_COMPUTE && task->joined.wcet_ns < phase_ns)
      phase_ns = task->joined.wcet_ns;
    chain_ns += phase_ns;
  }
  if (checker->plan || due_ns == 0 || task->tile_count < 1 || chain_ns <= due_ns)
    return;
  prem_diag_add(checker->diag, PREM_ERROR, 43, task->place,
                prem_key("tasks.%s.%s", task->name, setting).text,
                "%lld ns are less than the %.0f ns that the phases of one tile take, one after the "
                "other: infeasible whatever the order; allow more time, or use smaller tiles",
                (long long)due_ns, (double)chain_ns);
}

/* ---- warm-up -------------------------------------------------------------------------------- */

/* Warm-up tiles run before everything else on their blocks: what they would wait for might stand
 * behind them. Of a file without a plan the policy is judged, which makes the plan. */
static void check_waiting_warmup(const prem_checker *checker, const prem_task *task) {
  const prem_schedule *schedule = checker->schedule;
  const int32_t tiles = checker->plan ? checker->plan->warmup_tiles : schedule->policy.warmup_tiles;
  if (tiles == 0 || task->period_ns > 0 || task->after_count == 0)
    return;
  prem_diag_add(checker->diag, PREM_ERROR, 26, or_task(task->after[0].place, task),
                prem_key("tasks.%s.after[0]", task->name).text,
                "task '%s' comes after '%s', but its %d warm-up tiles run before all others: leave "
                "%s.warmup_tiles or `after` out",
                task->name, schedule->tasks[task->after[0].task].name, tiles,
                checker->plan ? "plan" : "policy");
}

/* ---- demand and supply ---------------------------------------------------------------------- */

static void check_demand(const prem_checker *checker, const prem_task *task,
                         const prem_phase_spec *spec, const char *phase) {
  const prem_platform *platform = &checker->schedule->platform;
  if (!spec->exists)
    return;
  for (int32_t r = 0; r < platform->resource_count; ++r) {
    const prem_resource *resource = &platform->resources[r];
    if (spec->demand[r] <= resource->capacity)
      continue;
    prem_diag_add(checker->diag, PREM_ERROR, 43, or_task(spec->place, task),
                  prem_key("tasks.%s.%s.demand.%s", task->name, phase, resource->name).text,
                  "a demand of %d is above the capacity of %d: it can never start", spec->demand[r],
                  resource->capacity);
  }
}

static prem_wide held_ns(const prem_phase_spec *spec, int32_t resource) {
  return spec->exists ? (prem_wide)spec->busy_ns * spec->demand[resource] : 0;
}

/* The least that a tile's memory phases take of a resource, joined or not. */
static prem_wide min_memory_ns(const prem_task *task, int32_t resource) {
  prem_wide apart = held_ns(&task->phase[PREM_PREFETCH], resource) +
                    held_ns(&task->phase[PREM_WRITEBACK], resource);
  prem_wide joined = held_ns(&task->joined, resource);
  return task->joined.exists && joined < apart ? joined : apart;
}

/* The least that a job takes of a resource: capacity times ns. Of a gang resource at least what its
 * busiest block takes, whose memory phases are disjoint and whose computes are. */
static prem_wide min_job_ns(const prem_checker *checker, const prem_task *task, int32_t resource) {
  int64_t warmup = task->period_ns == 0 && checker->plan ? checker->plan->warmup_tiles : 0;
  prem_wide memory = min_memory_ns(task, resource);
  prem_wide compute = held_ns(&task->phase[PREM_COMPUTE], resource);
  int64_t rounds = task->tile_count / task->block_count,
          rest = task->tile_count % task->block_count;
  if (checker->schedule->platform.resources[resource].per_task) {
    int64_t busiest = rounds + (rest > 0) - warmup;
    return busiest < 1 ? 0 : busiest * (memory > compute ? memory : compute);
  }
  int64_t all = rounds + 1 > warmup ? (rounds + 1 - warmup) * rest : 0;
  int64_t short_by = rounds > warmup ? (rounds - warmup) * (task->block_count - rest) : 0;
  return (all + short_by) * (memory + compute);
}

static void refuse_utilisation(const prem_checker *checker, const prem_resource *resource,
                               double asked, double supply) {
  double hundredths = ceil(asked / supply * 100);
  prem_diag_add(checker->diag, PREM_ERROR, 43,
                resource->place.line ? resource->place : checker->schedule->platform.place,
                "platform.resources",
                "demand above supply: '%s' is asked for %.0f ns (times demand) in a hyperperiod of "
                "%lld ns with capacity %d, utilisation %.2f: infeasible whatever the order",
                resource->name, asked, (long long)checker->hyperperiod_ns, resource->capacity,
                hundredths < 101 ? 1.01 : hundredths / 100);
}

static void check_utilisation(const prem_checker *checker, int32_t r) {
  const prem_schedule *schedule = checker->schedule;
  const prem_resource *resource = &schedule->platform.resources[r];
  prem_wide left = (prem_wide)checker->hyperperiod_ns * resource->capacity;
  double supply = (double)left, asked = 0;
  bool enough = true;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->broken || task->tile_count < 1 || !prem_task_profiled(task))
      continue;
    int64_t jobs = prem_task_jobs(schedule, task);
    prem_wide of_a_job = min_job_ns(checker, task, r);
    asked += (double)of_a_job * (double)jobs;
    enough = enough && of_a_job <= left / jobs;
    if (enough)
      left -= of_a_job * jobs;
  }
  if (!enough)
    refuse_utilisation(checker, resource, asked, supply);
}

/* ---- blocks and scratchpad ------------------------------------------------------------------ */

static void check_blocks(const prem_checker *checker) {
  const prem_platform *platform = &checker->schedule->platform;
  const prem_machine *machine = checker->machine;
  if (machine->max_blocks == 0 || machine->yields || platform->blocks <= machine->max_blocks)
    return;
  prem_diag_add(checker->diag, PREM_ERROR, 42, platform->place, "platform.blocks",
                "%d blocks, but only %d can be resident together on %s: the others would wait for "
                "ever; use %d at most",
                platform->blocks, machine->max_blocks, machine->name, machine->max_blocks);
}

static int64_t scratch_limit(const prem_checker *checker) {
  int64_t platform = checker->schedule->platform.scratch_bytes;
  int64_t machine = checker->machine->scratch_bytes;
  return platform == 0 || (machine > 0 && machine < platform) ? machine : platform;
}

static bool has_data(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].definition)
      return true;
  return false;
}

static void check_scratch(const prem_checker *checker) {
  const prem_platform *platform = &checker->schedule->platform;
  int64_t limit = scratch_limit(checker), max = 0;
  if (limit == 0 || !has_data(checker->schedule))
    return;
  int32_t too_large = 0, worst = 0;
  for (int32_t b = 0; b < platform->blocks; ++b) {
    int64_t bytes = prem_block_scratch_bytes(checker->schedule, b);
    too_large += bytes > limit;
    if (bytes > max) {
      max = bytes;
      worst = b;
    }
  }
  if (too_large == 0)
    return;
  prem_diag_add(checker->diag, PREM_ERROR, 41, platform->place, "platform.scratch_bytes",
                "block %d needs %lld bytes of scratchpad for its buffers = %d, above the limit of "
                "%lld (%d blocks are above it): use smaller tiles or fewer buffers",
                worst, (long long)max, platform->buffers, (long long)limit, too_large);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* One task's use of one array. */
typedef struct array_use {
  int32_t array, task;
  bool writes;
} array_use;

static int by_array(const void *left, const void *right) {
  const array_use *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->array, a->task, a->writes},
                         (int64_t[]){b->array, b->task, b->writes}, 3);
}

/* Who comes after whom: the edges of `after`, turned around. */
typedef struct order {
  const prem_schedule *schedule;
  int32_t *first, *successor; /* the successors of t: successor[first[t]] .. [first[t + 1] - 1] */
  int32_t *queue;
  bool *seen; /* all that come before or after the task last asked for, and itself */
} order;

static bool edge_exists(const prem_schedule *schedule, const prem_after *after) {
  return after->task >= 0 && after->task < schedule->task_count;
}

static void list_successors(order *o) {
  int32_t n = o->schedule->task_count;
  for (int32_t t = 0; t < n; ++t)
    for (int32_t a = 0; a < o->schedule->tasks[t].after_count; ++a)
      if (edge_exists(o->schedule, &o->schedule->tasks[t].after[a]))
        ++o->first[o->schedule->tasks[t].after[a].task + 1];
  for (int32_t t = 0; t < n; ++t)
    o->first[t + 1] += o->first[t];
  memcpy(o->queue, o->first, (size_t)n * sizeof *o->queue);
  for (int32_t t = 0; t < n; ++t)
    for (int32_t a = 0; a < o->schedule->tasks[t].after_count; ++a)
      if (edge_exists(o->schedule, &o->schedule->tasks[t].after[a]))
        o->successor[o->queue[o->schedule->tasks[t].after[a].task]++] = t;
}

static void visit(order *o, int32_t task, int32_t *count) {
  if (o->seen[task])
    return;
  o->seen[task] = true;
  o->queue[(*count)++] = task;
}

static void find_ordered(order *o, int32_t task) {
  const prem_schedule *schedule = o->schedule;
  memset(o->seen, 0, (size_t)schedule->task_count * sizeof *o->seen);
  int32_t count = 0;
  visit(o, task, &count);
  for (int32_t i = 0; i < count; ++i)
    for (int32_t s = o->first[o->queue[i]]; s < o->first[o->queue[i] + 1]; ++s)
      visit(o, o->successor[s], &count);
  o->queue[0] = task;
  count = 1;
  for (int32_t i = 0; i < count; ++i) {
    const prem_task *from = &schedule->tasks[o->queue[i]];
    for (int32_t a = 0; a < from->after_count; ++a)
      if (edge_exists(schedule, &from->after[a]))
        visit(o, from->after[a].task, &count);
  }
}

static bool is_use(const prem_task *task, int32_t port, const prem_schedule *schedule) {
  return task->arrays[port] >= 0 && task->arrays[port] < schedule->array_count;
}

static int64_t collect_uses(const prem_schedule *schedule, array_use *uses) {
  int64_t count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->broken || !task->definition || !task->arrays)
      continue;
    for (int32_t p = 0; p < task->definition->port_count; ++p) {
      if (!is_use(task, p, schedule))
        continue;
      if (uses)
        uses[count] =
            (array_use){task->arrays[p], t, task->definition->ports[p].access == PREM_OUT};
      ++count;
    }
  }
  return count;
}

static void refuse_unordered(const prem_checker *checker, const array_use *writer,
                             const array_use *other) {
  const prem_task *a = &checker->schedule->tasks[writer->task];
  const prem_task *b = &checker->schedule->tasks[other->task];
  char key[160];
  snprintf(key, sizeof key, "tasks.%s.arrays", b->name);
  if (writer->task == other->task)
    prem_diag_add(checker->diag, PREM_ERROR, 45, b->place, key,
                  "task '%s' %s array '%s', which it also writes: the tiles of a task have no "
                  "order; use two arrays%s",
                  b->name, other->writes ? "writes with a second port the" : "reads the",
                  checker->schedule->arrays[writer->array].name,
                  other->writes ? "" : ", or give it `versions`");
  else
    prem_diag_add(checker->diag, PREM_ERROR, 45, b->place, key,
                  "task '%s' writes array '%s' and task '%s' %s it, with no order between them: "
                  "let one run `after` the other",
                  a->name, checker->schedule->arrays[writer->array].name, b->name,
                  other->writes ? "writes" : "reads");
}

/* Binding has seen that everybody knows which version of it he sees; that there is one to see it
 * has not. */
static void check_state_array(const prem_checker *checker, const array_use *uses, int64_t count) {
  const prem_array *array = &checker->schedule->arrays[uses[0].array];
  for (int64_t i = 0; i < count; ++i)
    if (uses[i].writes)
      return;
  prem_diag_add(checker->diag, PREM_ERROR, 49, array->place,
                prem_key("arrays.%s.versions", array->name).text,
                "no task writes a version of state array '%s': leave `versions` out, or name it as "
                "an output of a task",
                array->name);
}

/* Each writer of one array against all its other users; the first pair without order is enough. */
static void check_array(const prem_checker *checker, order *o, const array_use *uses,
                        int64_t count) {
  if (prem_array_is_state(&checker->schedule->arrays[uses[0].array])) {
    check_state_array(checker, uses, count);
    return;
  }
  for (int64_t w = 0; w < count; ++w) {
    if (!uses[w].writes || count == 1)
      continue;
    find_ordered(o, uses[w].task);
    for (int64_t i = 0; i < count; ++i) {
      bool said = i == w || (uses[i].writes && i < w);
      if (!said && (uses[i].task == uses[w].task || !o->seen[uses[i].task])) {
        refuse_unordered(checker, &uses[w], &uses[i]);
        return;
      }
    }
  }
}

static prem_status check_arrays(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  size_t tasks = (size_t)schedule->task_count, edges = 0;
  for (size_t t = 0; t < tasks; ++t)
    edges += (size_t)schedule->tasks[t].after_count;
  int64_t count = collect_uses(schedule, NULL);
  array_use *uses = malloc((size_t)count * sizeof *uses + 1);
  order o = {.schedule = schedule,
             .first = calloc(tasks + 1, sizeof *o.first),
             .successor = malloc(edges * sizeof *o.successor + 1),
             .queue = malloc(tasks * sizeof *o.queue + 1),
             .seen = calloc(tasks + 1, sizeof *o.seen)};
  prem_status status = PREM_ERR_MEMORY;
  if (uses && o.first && o.successor && o.queue && o.seen) {
    status = PREM_OK;
    collect_uses(schedule, uses);
    list_successors(&o);
    qsort(uses, (size_t)count, sizeof *uses, by_array);
    int64_t first = 0;
    for (int64_t i = 1; i <= count; ++i) {
      if (i < count && uses[i].array == uses[first].array)
        continue;
      check_array(checker, &o, &uses[first], i - first);
      first = i;
    }
  }
  PREM_FREE(uses, o.first, o.successor, o.queue, o.seen);
  return status;
}

prem_status prem_check_model(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->broken)
      continue;
    check_dispatch(checker, task);
    check_waiting_warmup(checker, task);
    check_due(checker, task, "deadline_ns", task->deadline_ns);
    check_due(checker, task, "publish_ns", task->publish_ns);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      check_demand(checker, task, &task->phase[p], prem_phase_name((prem_phase)p));
    check_demand(checker, task, &task->joined, "joined");
  }
  for (int32_t r = 0; r < schedule->platform.resource_count && checker->hyperperiod_ns > 0; ++r)
    check_utilisation(checker, r);
  check_blocks(checker);
  check_scratch(checker);
  return check_arrays(checker);
}
