/* SPDX-License-Identifier: Apache-2.0 */
/* Is every phase of every tile in the plan, once, on its block, and on the clock's grid? */
#include "prem/base/fail.h"
#include "schedules/checker/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clock grid ------------------------------------------------------------------------- */

typedef struct grid {
  const prem_checker *checker;
  int64_t step_ns;
  prem_place place;
  const char *list; /* "runs" or "starts" */
  int32_t index;
} grid;

static void check_on_grid(const grid *g, const char *setting, int64_t value_ns) {
  int64_t above = value_ns % g->step_ns;
  if (above == 0)
    return;
  if (above < 0)
    above += g->step_ns;
  prem_diag_add(g->checker->diag, PREM_ERROR, 22, g->place,
                prem_key("%s.%s[%d].%s", g->checker->prefix, g->list, g->index, setting).text,
                "%lld is not on the clock grid of %lld ns: the nearest instants are %lld and %lld",
                (long long)value_ns, (long long)g->step_ns, (long long)(value_ns - above),
                (long long)(value_ns - above + g->step_ns));
}

static bool is_broken(const prem_checker *checker, int32_t task) {
  return task < 0 || task >= checker->schedule->task_count || checker->schedule->tasks[task].broken;
}

void prem_check_grid(const prem_checker *checker) {
  const prem_plan *plan = checker->plan;
  grid g = {.checker = checker, .step_ns = checker->machine->clock_step_ns};
  if (g.step_ns < 1)
    g.step_ns = checker->schedule->platform.clock_step_ns;
  if (g.step_ns <= 1)
    return;
  g.list = "runs";
  for (g.index = 0; g.index < plan->affine_count; ++g.index) {
    const prem_affine *run = &plan->affine[g.index];
    g.place = run->place.line ? run->place : plan->place;
    if (is_broken(checker, run->task))
      continue;
    check_on_grid(&g, "start_ns", run->start_ns);
    if (run->count > 1)
      check_on_grid(&g, "block_step_ns", run->block_step_ns);
    if (run->repeat > 1)
      check_on_grid(&g, "step_ns", run->step_ns);
    if (run->jobs > 1)
      check_on_grid(&g, "job_step_ns", run->job_step_ns);
  }
  g.list = "starts";
  for (g.index = 0; g.index < plan->starts_count; ++g.index) {
    const prem_starts *starts = &plan->starts[g.index];
    g.place = starts->place.line ? starts->place : plan->place;
    if (is_broken(checker, starts->task))
      continue;
    for (int64_t i = 0; i < starts->count; ++i)
      if (starts->start_ns[i] != -1)
        check_on_grid(&g, "start_ns", starts->start_ns[i]);
  }
}

/* ---- coverage ------------------------------------------------------------------------------- */

enum { NAMED = 3 };

/* A list of tiles as text: the first few by number, the rest as a count. */
typedef struct tile_list {
  char text[160];
  int64_t count;
} tile_list;

static void list_tile(tile_list *list, bool several_jobs, int64_t job, int32_t tile) {
  if (list->count++ >= NAMED)
    return;
  size_t used = strlen(list->text);
  const char *comma = used ? ", " : "";
  if (several_jobs)
    snprintf(list->text + used, sizeof list->text - used, "%s%d of job %lld", comma, tile,
             (long long)job);
  else
    snprintf(list->text + used, sizeof list->text - used, "%s%d", comma, tile);
}

static void end_list(tile_list *list) {
  size_t used = strlen(list->text);
  if (list->count > NAMED)
    snprintf(list->text + used, sizeof list->text - used, " and %lld more",
             (long long)(list->count - NAMED));
}

/* What one task lacks. */
typedef struct coverage {
  const prem_checker *checker;
  int32_t task;
  int64_t jobs;
  int64_t *expected;   /* [block of the task]: tiles that are not warm-up */
  int64_t *missing;    /* of these */
  int32_t empty, used; /* blocks without any of their tiles; blocks that should have some */
} coverage;

static bool is_missing(const check_tile *tile) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (tile->slot[p] >= 0)
      return false;
  return true;
}

static bool is_warmup(const prem_checker *checker, const check_tile *tile) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (tile->slot[p] >= 0 && (checker->slots[tile->slot[p]].flags & PREM_SLOT_WARMUP))
      return true;
  return false;
}

static const check_tile *first_tile(const coverage *c) {
  return &c->checker->tiles[c->checker->first_tile[c->task]];
}

static void count_tiles(coverage *c) {
  const prem_task *task = &c->checker->schedule->tasks[c->task];
  const check_tile *tile = first_tile(c);
  for (int64_t job = 0; job < c->jobs; ++job) {
    for (int32_t t = 0; t < task->tile_count; ++t, ++tile) {
      c->expected[t % task->block_count] += !is_warmup(c->checker, tile);
      c->missing[t % task->block_count] += is_missing(tile);
    }
  }
  c->empty = c->used = 0;
  for (int32_t b = 0; b < task->block_count; ++b) {
    c->used += c->expected[b] > 0;
    c->empty += c->expected[b] > 0 && c->missing[b] == c->expected[b];
  }
}

static bool is_empty_block(const coverage *c, int32_t tile) {
  int32_t b = tile % c->checker->schedule->tasks[c->task].block_count;
  return c->missing[b] == c->expected[b];
}

static void refuse_blocks(const coverage *c) {
  const prem_task *task = &c->checker->schedule->tasks[c->task];
  int32_t b = 0;
  while (c->expected[b] == 0 || c->missing[b] != c->expected[b])
    ++b;
  prem_diag_add(c->checker->diag, PREM_ERROR, 30, c->checker->plan->place, c->checker->prefix,
                "starts for %d blocks of task '%s' where %d exist: none on block %d (number %d of "
                "the task); give each block its starts",
                c->used - c->empty, task->name, c->used, task->blocks[b], b);
}

static void refuse_missing_tiles(const coverage *c) {
  const prem_task *task = &c->checker->schedule->tasks[c->task];
  bool all = c->empty == c->used;
  tile_list missing = {.count = 0};
  const check_tile *tile = first_tile(c);
  for (int64_t job = 0; job < c->jobs; ++job)
    for (int32_t t = 0; t < task->tile_count; ++t, ++tile)
      if (is_missing(tile) && (all || !is_empty_block(c, t)))
        list_tile(&missing, c->jobs > 1, job, t);
  end_list(&missing);
  if (missing.count == 0)
    return;
  prem_diag_add(c->checker->diag, PREM_ERROR, 28, c->checker->plan->place, c->checker->prefix,
                "%s %s of task '%s' %s missing: the plan has no start for %s",
                missing.count == 1 ? "tile" : "tiles", missing.text, task->name,
                missing.count == 1 ? "is" : "are", missing.count == 1 ? "it" : "them");
}

static void refuse_missing_phase(const coverage *c, prem_phase phase) {
  const prem_task *task = &c->checker->schedule->tasks[c->task];
  tile_list missing = {.count = 0};
  const check_tile *tile = first_tile(c);
  for (int64_t job = 0; job < c->jobs; ++job)
    for (int32_t t = 0; t < task->tile_count; ++t, ++tile)
      if (!is_missing(tile) && tile->slot[phase] < 0)
        list_tile(&missing, c->jobs > 1, job, t);
  end_list(&missing);
  if (missing.count == 0)
    return;
  prem_diag_add(c->checker->diag, PREM_ERROR, 29, c->checker->plan->place, c->checker->prefix,
                "%s %s of task '%s' %s no %s in the plan: start it, or chain it to the phase "
                "before it",
                missing.count == 1 ? "tile" : "tiles", missing.text, task->name,
                missing.count == 1 ? "has" : "have", prem_phase_name(phase));
}

static prem_status check_task(const prem_checker *checker, int32_t t) {
  const prem_task *task = &checker->schedule->tasks[t];
  coverage c = {.checker = checker, .task = t, .jobs = prem_checker_jobs(checker, t)};
  c.expected = calloc((size_t)task->block_count, sizeof *c.expected);
  c.missing = calloc((size_t)task->block_count, sizeof *c.missing);
  prem_status status = c.expected && c.missing ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    count_tiles(&c);
    if (c.empty > 0 && c.empty < c.used)
      refuse_blocks(&c);
    refuse_missing_tiles(&c);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (task->phase[p].exists)
        refuse_missing_phase(&c, (prem_phase)p);
  }
  free(c.expected);
  free(c.missing);
  return status;
}

/* A phase on the wrong block, a second time, or one that its task does not have. */
static void check_slot(const prem_checker *checker, int32_t i) {
  const prem_slot *slot = &checker->slots[i];
  const prem_task *task = &checker->schedule->tasks[slot->task];
  if (!task->phase[slot->phase].exists) {
    prem_checker_refuse(checker, 29, i, "task '%s' has no %s, but the plan starts one", task->name,
                        prem_phase_name((prem_phase)slot->phase));
    return;
  }
  int32_t block = task->blocks[slot->tile % task->block_count];
  if (slot->block != block)
    prem_checker_refuse(checker, 28, i,
                        "%s: this tile belongs on block %d (tile modulo the task's "
                        "%d blocks)",
                        prem_checker_name(checker, i).text, block, task->block_count);
  if (slot->planned_ns < 0)
    prem_checker_refuse(checker, 32, i,
                        "%s starts at %lld, before the hyperperiod does: its "
                        "instants count from 0",
                        prem_checker_name(checker, i).text, (long long)slot->planned_ns);
  int64_t jobs = prem_checker_jobs(checker, slot->task);
  if (slot->job < 0 || slot->job >= jobs) {
    prem_checker_refuse(checker, 32, i,
                        "job %d of task '%s' is not in the hyperperiod, which has "
                        "%lld of its jobs, from 0",
                        slot->job, task->name, (long long)jobs);
    return;
  }
  int64_t tile =
      checker->first_tile[slot->task] + (int64_t)slot->job * task->tile_count + slot->tile;
  int32_t first = checker->tiles[tile].slot[slot->phase];
  if (first == i)
    return;
  if (checker->slots[first].flags & PREM_SLOT_WARMUP)
    prem_checker_refuse(checker, 28, i,
                        "%s is in the plan twice: it is a warm-up tile, which has "
                        "no start of its own",
                        prem_checker_name(checker, i).text);
  else
    prem_checker_refuse(checker, 28, i,
                        "%s is in the plan twice: it starts at %lld and at %lld; "
                        "leave one out",
                        prem_checker_name(checker, i).text,
                        (long long)checker->slots[first].planned_ns, (long long)slot->planned_ns);
}

/* The first start of each task that has no jobs in the operating mode. */
static prem_status check_off(const prem_checker *checker) {
  bool *said = calloc((size_t)checker->schedule->task_count + 1, sizeof *said);
  if (!said)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < checker->slot_count; ++i) {
    const int32_t t = checker->slots[i].task;
    if (said[t] || !prem_checker_is_off(checker, t))
      continue;
    prem_checker_refuse(checker, 51, i,
                        "task '%s' has no jobs in operating mode '%s', but its plan starts it: "
                        "leave the start out",
                        checker->schedule->tasks[t].name,
                        checker->schedule->operating_modes[checker->mode].name);
    said[t] = true;
  }
  free(said);
  return PREM_OK;
}

prem_status prem_check_cover(const prem_checker *checker) {
  for (int32_t t = 0; t < checker->schedule->task_count; ++t) {
    prem_status status = checker->judged[t] ? check_task(checker, t) : PREM_OK;
    if (status != PREM_OK)
      return status;
  }
  for (int32_t i = 0; i < checker->slot_count; ++i)
    if (checker->judged[checker->slots[i].task])
      check_slot(checker, i);
  return checker->mode < 0 ? PREM_OK : check_off(checker);
}
