/* SPDX-License-Identifier: Apache-2.0 */
/* The independent checker: the second opinion on a plan. Shares no code with the planners. */
#include "schedules/checker/check.h"

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/copies.h"
#include "prem/model/modes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t prem_slot_end_ns(const prem_slot *slot) {
  return slot->planned_ns + slot->length_ns;
}

int64_t prem_checker_jobs(const prem_checker *checker, int32_t task) {
  return prem_task_jobs(checker->schedule, &checker->schedule->tasks[task]);
}

bool prem_checker_counts(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  return checker->judged[s->task] && !(s->flags & PREM_SLOT_WARMUP) && s->planned_ns >= 0 &&
         checker->schedule->tasks[s->task].phase[s->phase].exists;
}

/* prem_plan_expand() puts the writeback of a pair directly behind its prefetch. */
static bool pair_begins_at(const prem_checker *checker, int32_t slot) {
  if (slot < 0 || slot + 1 >= checker->slot_count)
    return false;
  const prem_slot *a = &checker->slots[slot], *b = a + 1;
  return (a->flags & b->flags & PREM_SLOT_JOINED) && a->phase == PREM_PREFETCH &&
         b->phase == PREM_WRITEBACK && a->place == b->place && a->planned_ns == b->planned_ns;
}

int32_t prem_checker_partner(const prem_checker *checker, int32_t slot) {
  if (pair_begins_at(checker, slot))
    return slot + 1;
  if (pair_begins_at(checker, slot - 1))
    return slot - 1;
  return -1;
}

bool prem_checker_second_half(const prem_checker *checker, int32_t slot) {
  int32_t partner = prem_checker_partner(checker, slot);
  return partner >= 0 && partner < slot && prem_checker_counts(checker, partner);
}

static bool is_tile_of(const prem_slot *a, const prem_slot *b) {
  return a->task == b->task && a->job == b->job && a->tile == b->tile;
}

bool prem_checker_same_tile(const prem_checker *checker, int32_t a, int32_t b) {
  const prem_slot *slots = checker->slots;
  int32_t with_a = prem_checker_partner(checker, a), with_b = prem_checker_partner(checker, b);
  return is_tile_of(&slots[a], &slots[b]) ||
         (with_a >= 0 && is_tile_of(&slots[with_a], &slots[b])) ||
         (with_b >= 0 && is_tile_of(&slots[a], &slots[with_b])) ||
         (with_a >= 0 && with_b >= 0 && is_tile_of(&slots[with_a], &slots[with_b]));
}

int32_t prem_checker_unit(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  return 2 * s->block + (s->phase == PREM_COMPUTE);
}

static int name_half(const prem_checker *checker, int32_t slot, char *out, size_t bytes) {
  const prem_slot *s = &checker->slots[slot];
  char job[32] = "";
  if (prem_checker_jobs(checker, s->task) > 1)
    snprintf(job, sizeof job, " job %d", s->job);
  if (checker->schedule->tasks[s->task].is_copy)
    return snprintf(out, bytes, "%s%s", checker->schedule->tasks[s->task].name, job);
  return snprintf(out, bytes, "%s of '%s'%s tile %d", prem_phase_name((prem_phase)s->phase),
                  checker->schedule->tasks[s->task].name, job, s->tile);
}

check_name prem_checker_name(const prem_checker *checker, int32_t slot) {
  check_name name;
  size_t used = (size_t)name_half(checker, slot, name.text, sizeof name.text);
  int32_t partner = prem_checker_partner(checker, slot);
  if (partner >= 0) {
    used += (size_t)snprintf(name.text + used, sizeof name.text - used, " joined with ");
    used += (size_t)name_half(checker, partner, name.text + used, sizeof name.text - used);
  }
  if (!checker->schedule->tasks[checker->slots[slot].task].is_copy)
    snprintf(name.text + used, sizeof name.text - used, " on block %d", checker->slots[slot].block);
  return name;
}

static int64_t gap_of_half(const prem_checker *checker, int32_t slot) {
  const prem_slot *s = &checker->slots[slot];
  return prem_phase_gap_ns(checker->schedule, &checker->schedule->tasks[s->task],
                           (prem_phase)s->phase);
}

int64_t prem_checker_gap_ns(const prem_checker *checker, int32_t slot) {
  const int32_t partner = prem_checker_partner(checker, slot);
  const int64_t gap_ns = gap_of_half(checker, slot);
  const int64_t other_ns = partner >= 0 ? gap_of_half(checker, partner) : 0;
  return other_ns > gap_ns ? other_ns : gap_ns;
}

check_name prem_checker_gap(const prem_checker *checker, int32_t slot) {
  check_name name;
  const int64_t gap_ns = prem_checker_gap_ns(checker, slot);
  snprintf(name.text, sizeof name.text, "%s = %lld",
           gap_ns > checker->guard_ns ? "turnaround_ns" : "guard_ns", (long long)gap_ns);
  return name;
}

check_name prem_checker_precedence(const prem_checker *checker) {
  check_name name;
  if (checker->precedence_ns > prem_schedule_precedence_ns(checker->schedule))
    snprintf(name.text, sizeof name.text,
             "precedence_ns = %lld (what telling a successor takes on %s)",
             (long long)checker->precedence_ns, checker->machine->name);
  else
    snprintf(name.text, sizeof name.text, "precedence_ns = %lld",
             (long long)checker->precedence_ns);
  return name;
}

static prem_place place_of(const prem_checker *checker, int32_t entry, char *key, size_t bytes) {
  const prem_plan *plan = checker->plan;
  prem_place place = plan->place;
  if (entry < 0) {
    snprintf(key, bytes, "%s.warmup_tiles", checker->prefix);
  } else if (entry < plan->affine_count) {
    snprintf(key, bytes, "%s.runs[%d]", checker->prefix, entry);
    place = plan->affine[entry].place;
  } else {
    snprintf(key, bytes, "%s.starts[%d]", checker->prefix, entry - plan->affine_count);
    place = plan->starts[entry - plan->affine_count].place;
  }
  return place.line ? place : plan->place;
}

void prem_checker_refuse(const prem_checker *checker, int code, int32_t slot, const char *format,
                         ...) {
  char key[PREM_NAME_BYTES + 48], reason[2048];
  prem_place place = place_of(checker, checker->slots[slot].place, key, sizeof key);
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  prem_diag_add(checker->diag, PREM_ERROR, code, place, key, "%s", reason);
}

bool prem_checker_is_off(const prem_checker *checker, int32_t task) {
  return checker->mode >= 0 && (checker->off[task] >> checker->mode & 1);
}

/* A task whose phases all have their times; others cannot be placed, and the plan has no right to
 * hold them. */
static void find_judged_tasks(prem_checker *checker) {
  for (int32_t t = 0; t < checker->schedule->task_count; ++t) {
    const prem_task *task = &checker->schedule->tasks[t];
    if (task->broken || task->tile_count < 1)
      continue;
    const bool is_profiled = prem_task_profiled(task);
    checker->judged[t] = is_profiled && !prem_checker_is_off(checker, t);
    if (!is_profiled && checker->mode < 0)
      prem_diag_add(checker->diag, PREM_ERROR, 16, task->place, "plan",
                    "task '%s' is planned, but its phases have no wcet_ns: run `ttprem profile`, "
                    "then plan again",
                    task->name);
  }
}

static prem_status refuse_size(const prem_checker *checker, int64_t tiles) {
  return prem_fail(checker->diag, PREM_ERR_INVALID, 13, checker->plan->place, checker->prefix,
                   "%lld tiles or more in one hyperperiod; the limit is %lld phases",
                   (long long)tiles, (long long)PREM_MAX_SLOTS);
}

/* Where each task's tiles and jobs begin in the tables. */
static prem_status number_tiles(prem_checker *checker) {
  int64_t tiles = 0, jobs = 0;
  for (int32_t t = 0; t < checker->schedule->task_count; ++t) {
    checker->first_tile[t] = tiles;
    checker->first_job[t] = jobs;
    if (!checker->judged[t])
      continue;
    int64_t of_task = prem_checker_jobs(checker, t);
    int32_t of_job = checker->schedule->tasks[t].tile_count;
    if (of_task > PREM_MAX_SLOTS || of_task * of_job > PREM_MAX_SLOTS - tiles)
      return refuse_size(checker, of_task > PREM_MAX_SLOTS ? of_task : tiles + of_task * of_job);
    tiles += of_task * of_job;
    jobs += of_task;
  }
  checker->first_tile[checker->schedule->task_count] = tiles;
  checker->first_job[checker->schedule->task_count] = jobs;
  return PREM_OK;
}

/* prem_check_cover() has not run yet: the first slot of a phase stands for it. */
static void enter_slot(const prem_checker *checker, int32_t i) {
  const prem_slot *slot = &checker->slots[i];
  const prem_task *task = &checker->schedule->tasks[slot->task];
  if (!checker->judged[slot->task] || !task->phase[slot->phase].exists || slot->job < 0 ||
      slot->job >= prem_checker_jobs(checker, slot->task))
    return;
  int64_t tile =
      checker->first_tile[slot->task] + (int64_t)slot->job * task->tile_count + slot->tile;
  int32_t *entry = &checker->tiles[tile].slot[slot->phase];
  if (*entry < 0)
    *entry = i;
  if (!prem_checker_counts(checker, i))
    return;
  check_job *job = &checker->jobs[checker->first_job[slot->task] + slot->job];
  if (job->first < 0 || slot->planned_ns < job->first_ns) {
    job->first = i;
    job->first_ns = slot->planned_ns;
  }
  if (job->last < 0 || prem_slot_end_ns(slot) > job->end_ns) {
    job->last = i;
    job->end_ns = prem_slot_end_ns(slot);
  }
}

static prem_status build_tables(prem_checker *checker) {
  size_t tasks = (size_t)checker->schedule->task_count;
  checker->first_tile = calloc(tasks + 1, sizeof *checker->first_tile);
  checker->first_job = calloc(tasks + 1, sizeof *checker->first_job);
  if (!checker->first_tile || !checker->first_job)
    return PREM_ERR_MEMORY;
  prem_status status = number_tiles(checker);
  if (status != PREM_OK)
    return status;
  size_t tiles = (size_t)checker->first_tile[tasks], jobs = (size_t)checker->first_job[tasks];
  checker->tiles = malloc(tiles * sizeof *checker->tiles + 1);
  checker->jobs = malloc(jobs * sizeof *checker->jobs + 1);
  if (!checker->tiles || !checker->jobs)
    return PREM_ERR_MEMORY;
  for (size_t i = 0; i < tiles; ++i)
    checker->tiles[i] = (check_tile){{-1, -1, -1}};
  for (size_t i = 0; i < jobs; ++i)
    checker->jobs[i] = (check_job){.first = -1, .last = -1};
  for (int32_t i = 0; i < checker->slot_count; ++i)
    enter_slot(checker, i);
  return PREM_OK;
}

static prem_status check_slots(const prem_checker *checker) {
  prem_status status = prem_check_cover(checker);
  if (status != PREM_OK)
    return status;
  prem_check_hyperperiod(checker);
  if (checker->switches)
    prem_check_ends(checker);
  prem_check_releases(checker);
  prem_check_deadlines(checker);
  prem_check_order(checker);
  prem_check_precedence(checker);
  status = prem_check_data(checker);
  if (status == PREM_OK)
    status = prem_check_versions(checker);
  if (status == PREM_OK)
    status = prem_check_units(checker);
  if (status == PREM_OK)
    status = prem_check_shares(checker);
  if (status == PREM_OK)
    status = prem_check_buffers(checker);
  return status;
}

/* The checker of an operating mode's plan begins as a copy of the file's. */
static void free_tables(prem_checker *checker) {
  PREM_FREE(checker->judged, checker->slots, checker->first_tile, checker->first_job,
            checker->tiles, checker->jobs);
  checker->judged = NULL;
  checker->slots = NULL;
  checker->first_tile = checker->first_job = NULL;
  checker->tiles = NULL;
  checker->jobs = NULL;
}

static prem_status check_plan(prem_checker *checker) {
  checker->judged = calloc((size_t)checker->schedule->task_count + 1, sizeof *checker->judged);
  if (!checker->judged)
    return PREM_ERR_MEMORY;
  find_judged_tasks(checker);
  prem_check_grid(checker);
  int64_t count = 0;
  prem_status status =
      prem_plan_expand(checker->schedule, checker->plan, &checker->slots, &count, checker->diag);
  checker->slot_count = (int32_t)count; /* at most PREM_MAX_SLOTS */
  if (status == PREM_OK)
    status = build_tables(checker);
  if (status == PREM_OK)
    status = check_slots(checker);
  free_tables(checker);
  return status;
}

/* ---- plans of operating modes --------------------------------------------------------------- */

static prem_status check_mode(const prem_checker *of_file, int32_t mode) {
  const prem_operating_mode *of = &of_file->schedule->operating_modes[mode];
  prem_checker checker = *of_file;
  checker.mode = mode;
  checker.plan = prem_schedule_plan_of(of_file->schedule, mode);
  snprintf(checker.prefix, sizeof checker.prefix, "plan.operating_modes.%s", of->name);
  if (checker.plan)
    return check_plan(&checker);
  prem_diag_add(checker.diag, PREM_ERROR, 51, of_file->plan->place, checker.prefix,
                "missing: the mode has a `policy`, so a plan of its own: plan again, or leave the "
                "`policy` out");
  return PREM_OK;
}

static prem_status check_modes(prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  uint32_t *off = calloc((size_t)schedule->task_count + 1, sizeof *off);
  prem_status status = off ? prem_tasks_off(schedule, off) : PREM_ERR_MEMORY;
  checker->off = off;
  if (status == PREM_OK && checker->plan->warmup_tiles > 0)
    prem_diag_add(checker->diag, PREM_ERROR, 51, checker->plan->place, "plan.warmup_tiles",
                  "is %d, but operating modes have plans of their own, which leave no time for "
                  "warm-up tiles: leave one of the two out",
                  checker->plan->warmup_tiles);
  for (int32_t m = 0; status == PREM_OK && m < schedule->operating_mode_count; ++m)
    if (schedule->operating_modes[m].has_plan)
      status = check_mode(checker, m);
  free(off);
  return status;
}

static prem_status check_plans(prem_checker *checker) {
  const prem_status status = check_plan(checker);
  return status == PREM_OK && checker->switches ? check_modes(checker) : status;
}

static prem_checker checker_of(const prem_schedule *schedule, const prem_machine *machine,
                               prem_diag *diag) {
  const prem_plan *plan = schedule->plan;
  prem_checker checker = {.schedule = schedule,
                          .machine = machine,
                          .plan = plan,
                          .diag = diag,
                          .guard_ns = schedule->platform.guard_ns,
                          .precedence_ns = prem_schedule_precedence_ns(schedule),
                          .periodic = schedule->period_lcm_ns > 0,
                          .switches = prem_schedule_has_mode_plans(schedule),
                          .mode = -1,
                          .prefix = "plan"};
  checker.precedence_ns = prem_max_i64(checker.precedence_ns, machine->precedence_ns);
  checker.hyperperiod_ns = checker.periodic ? schedule->period_lcm_ns
                           : plan           ? plan->hyperperiod_ns
                                            : 0;
  return checker;
}

static prem_status check_model(const prem_checker *checker) {
  const prem_status status = prem_check_model(checker);
  if (status == PREM_OK)
    prem_check_bandwidth(checker);
  return status;
}

/* ---- two classes ---------------------------------------------------------------------------- */

/* Each is judged as the schedule of its own that it is; the whole, for what is between them. */
static prem_status check_class(const prem_checker *whole, bool best_effort,
                               prem_status (*judge)(prem_checker *part)) {
  prem_schedule *part = NULL;
  prem_status status = (best_effort ? prem_schedule_best_effort
                                    : prem_schedule_critical)(whole->schedule, &part, NULL);
  if (status == PREM_OK) {
    prem_machine machine = *whole->machine;
    if (best_effort && !machine.backend[0]) /* the platform's, of the other class */
      machine.scratch_bytes = part->platform.scratch_bytes;
    prem_checker checker = checker_of(part, &machine, whole->diag);
    status = judge(&checker);
  }
  prem_schedule_free(part);
  return status;
}

static prem_status check_model_of(prem_checker *part) {
  return check_model(part);
}

static prem_status check_class_models(const prem_checker *checker) {
  prem_status status = prem_check_classes(checker);
  if (status == PREM_OK)
    status = check_class(checker, false, check_model_of);
  return status == PREM_OK ? check_class(checker, true, check_model_of) : status;
}

static prem_status check_class_plans(prem_checker *checker) {
  const prem_status status = check_class(checker, false, check_plans);
  return status == PREM_OK ? prem_check_closed(checker) : status;
}

/* ---- all ------------------------------------------------------------------------------------ */

static prem_status check_all(const prem_schedule *schedule, const prem_machine *machine,
                             prem_diag *diag) {
  prem_checker checker = checker_of(schedule, machine, diag);
  const bool has_classes = prem_schedule_has_best_effort(schedule);
  const prem_status status = (has_classes ? check_class_models : check_model)(&checker);
  if (status != PREM_OK || !checker.plan)
    return status;
  prem_check_origin(&checker);
  if (!has_classes && checker.plan->gates)
    prem_diag_add(diag, PREM_ERROR, 54, checker.plan->place, "plan.closed",
                  "stands in the plan of a schedule without best-effort tasks: leave it out");
  return prem_check_by_times(&checker, has_classes ? check_class_plans : check_plans);
}

/* Copies of live frames are judged as tasks, on blocks that the machine need not have. */
static prem_status check_with_copies(const prem_schedule *schedule, const prem_machine *machine,
                                     prem_diag *diag) {
  prem_machine wider = *machine;
  prem_schedule *with_copies = NULL;
  if (wider.max_blocks > 0)
    wider.max_blocks += prem_copy_count(schedule);
  prem_status status = prem_copies_add(schedule, &with_copies);
  if (status == PREM_OK)
    status = check_all(with_copies, &wider, diag);
  prem_copies_free(with_copies);
  return status;
}

/* One task at a time has the memory of a GPU, but for copies that no plan knows of. */
static void note_copies(const prem_schedule *schedule, const prem_machine *machine,
                        prem_diag *diag) {
  if (strcmp(machine->backend, "cuda") != 0 || schedule->platform.resources[0].capacity > 1)
    return;
  for (int32_t i = 0; i < schedule->live_count; ++i) {
    const prem_live_port *port = &schedule->live[i];
    if (port->copy.exists)
      continue;
    prem_diag_add(diag, PREM_NOTE, 0, port->place, port->is_output ? "live.outputs" : "live.inputs",
                  "frames of '%s' are copied at no instant of the plan: phases may meet the copies "
                  "at the memory, of which the plan gives to one task at a time; say how long a "
                  "`copy` takes, or keep the frames on the GPU",
                  schedule->arrays[port->array].name);
  }
}

prem_status prem_check(const prem_schedule *schedule, const prem_machine *machine,
                       prem_diag *diag) {
  prem_machine platform;
  if (!machine) {
    prem_schedule_machine(schedule, &platform);
    machine = &platform;
  }
  prem_diag *own = diag ? NULL : prem_diag_new();
  if (!diag && !own)
    return PREM_ERR_MEMORY;
  prem_diag *to = diag ? diag : own;
  size_t before = prem_diag_errors(to);
  note_copies(schedule, machine, to);
  prem_status status = prem_copy_count(schedule) > 0 ? check_with_copies(schedule, machine, to)
                                                     : check_all(schedule, machine, to);
  if (status == PREM_OK && prem_diag_errors(to) > before)
    status = PREM_ERR_INVALID;
  prem_diag_free(own);
  return status;
}
