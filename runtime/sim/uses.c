/* SPDX-License-Identifier: Apache-2.0 */
/* What the phases of a program take of the simulated machine. */
#include "prem/base/list.h"
#include "runtime/sim/sim.h"

#include <stdlib.h>

#include "prem/base/numbers.h"

enum { MAX_FRACTION_BITS = 20 };

static int32_t amount_of(const prem_phase_spec *phase, int32_t resource) {
  return phase->exists && phase->demand ? phase->demand[resource] : 0;
}

/* ---- joined pairs --------------------------------------------------------------------------- */

static int32_t find_joined(const sim_share *share, int32_t task, int32_t writer) {
  for (int32_t u = share->first_use[task]; u >= 0; u = share->uses[u].next_of_task)
    if (share->uses[u].writer == writer)
      return u;
  return -1;
}

static void link_use(sim_share *share, int32_t use, int32_t task) {
  share->uses[use].task = task;
  share->uses[use].next_of_task = share->first_use[task];
  share->first_use[task] = use;
}

static prem_status add_joined(sim_share *share, const prem_record *prefetch, int32_t writer,
                              int32_t *out) {
  const prem_task *tasks = share->program->schedule->tasks;
  int32_t use = share->use_count;
  sim_use *grown = realloc(share->uses, ((size_t)use + 1) * sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  share->uses = grown;
  const prem_task *reader = &tasks[prefetch->task];
  int64_t wcet_ns = prefetch->planned_end_ns - prefetch->planned_ns;
  int64_t busy_ns =
      reader->phase[PREM_PREFETCH].busy_ns + tasks[writer].phase[PREM_WRITEBACK].busy_ns;
  if (prefetch->task == writer && reader->joined.exists)
    busy_ns = reader->joined.busy_ns;
  share->uses[use] =
      (sim_use){.wcet_ns = wcet_ns, .busy_ns = prem_min_i64(busy_ns, wcet_ns), .writer = writer};
  link_use(share, use, prefetch->task);
  ++share->use_count;
  *out = use;
  return PREM_OK;
}

static prem_status use_of_record(sim_share *share, const prem_record *record, int32_t *out) {
  *out = record->task * PREM_PHASE_COUNT + record->phase;
  if (!(record->flags & PREM_RECORD_JOIN_NEXT))
    return PREM_OK;
  int32_t writer = record[1].task;
  *out = find_joined(share, record->task, writer);
  return *out >= 0 ? PREM_OK : add_joined(share, record, writer, out);
}

static prem_status use_records(sim_share *share, const prem_program *plan, int32_t **use_of) {
  for (int32_t b = 0; b < plan->block_count; ++b) {
    const prem_block_program *block = &plan->blocks[b];
    use_of[b] = malloc(((size_t)block->memory_count + 1) * sizeof **use_of);
    if (!use_of[b])
      return PREM_ERR_MEMORY;
    for (int32_t i = 0; i < block->memory_count; ++i) {
      prem_status status = use_of_record(share, &block->memory[i], &use_of[b][i]);
      if (status)
        return status;
    }
  }
  return PREM_OK;
}

/* ---- demand --------------------------------------------------------------------------------- */

static int32_t demand_of(const sim_share *share, const sim_use *use, int32_t index,
                         int32_t resource) {
  const prem_task *tasks = share->program->schedule->tasks;
  const prem_task *task = &tasks[use->task];
  if (use->writer < 0)
    return amount_of(&task->phase[index % PREM_PHASE_COUNT], resource);
  if (use->writer == use->task && task->joined.exists)
    return amount_of(&task->joined, resource);
  return prem_max_i32(amount_of(&task->phase[PREM_PREFETCH], resource),
                      amount_of(&tasks[use->writer].phase[PREM_WRITEBACK], resource));
}

/* The most that a block could ever ask for at once, by any plan. */
static int64_t peak_of_block(const sim_share *share, const int32_t *table, int32_t **use_of,
                             int32_t b, int32_t resource) {
  const prem_program *program = share->program;
  int32_t memory = 0, compute = 0;
  for (int32_t plan = 0; plan < program->plan_count; ++plan) {
    const prem_block_program *block = &program->plans[plan]->blocks[b];
    const int32_t *uses = use_of[plan * program->block_count + b];
    for (int32_t i = 0; i < block->memory_count; ++i)
      memory = prem_max_i32(memory, table[uses[i] * share->resource_count + resource]);
    for (int32_t i = 0; i < block->compute_count; ++i) {
      int32_t use = block->compute[i].task * PREM_PHASE_COUNT + PREM_COMPUTE;
      compute = prem_max_i32(compute, table[use * share->resource_count + resource]);
    }
  }
  return (int64_t)memory + compute;
}

/* The most that the blocks could ever ask for at once, whatever the instants. */
static int64_t peak_of(const sim_share *share, const int32_t *table, int32_t **use_of,
                       int32_t resource) {
  int64_t peak = 0;
  const prem_program *program = share->program;
  if (share->per_task[resource]) {
    for (int32_t t = 0; t < program->schedule->task_count; ++t) {
      int32_t max = 0;
      for (int32_t u = share->first_use[t]; u >= 0; u = share->uses[u].next_of_task)
        max = prem_max_i32(max, table[u * share->resource_count + resource]);
      peak += max;
    }
    return peak;
  }
  for (int32_t b = 0; b < program->block_count; ++b)
    peak += peak_of_block(share, table, use_of, b, resource);
  return peak;
}

/* Joins the group of the same resources, or founds it. */
static int32_t join_group(sim_share *share, uint32_t resources) {
  for (int32_t g = 0; g < share->group_count; ++g)
    if (share->groups[g].resources == resources)
      return g;
  share->groups[share->group_count] = (sim_group){.resources = resources};
  return share->group_count++;
}

static void settle_demands(sim_share *share, const int32_t *table, uint32_t scarce) {
  sim_demand *next = share->demands;
  for (int32_t u = 0; u < share->use_count; ++u) {
    sim_use *use = &share->uses[u];
    uint32_t resources = 0;
    use->demand = next;
    for (int32_t r = 0; r < share->resource_count; ++r) {
      int32_t amount = table[u * share->resource_count + r];
      if (amount == 0 || !(scarce >> r & 1))
        continue;
      *next++ = (sim_demand){r, amount};
      ++use->demand_count;
      resources |= 1u << r;
    }
    use->group = resources ? join_group(share, resources) : -1;
  }
}

/* A group is a set of resources that a use asks for. */
static size_t max_groups(const sim_share *share) {
  const size_t uses = (size_t)share->use_count;
  const size_t sets = (size_t)1 << share->resource_count;
  return sets < uses ? sets : uses;
}

static prem_status make_demands(sim_share *share, bool company, int32_t **use_of) {
  size_t entries = (size_t)share->use_count * (size_t)share->resource_count;
  int32_t *table = calloc(entries, sizeof *table);
  share->demands = calloc(entries, sizeof *share->demands);
  share->groups = calloc(max_groups(share), sizeof *share->groups);
  if (!table || !share->demands || !share->groups) {
    free(table);
    return PREM_ERR_MEMORY;
  }
  for (int32_t u = 0; u < share->use_count; ++u)
    for (int32_t r = 0; r < share->resource_count; ++r)
      table[u * share->resource_count + r] = demand_of(share, &share->uses[u], u, r);
  uint32_t scarce = 0;
  for (int32_t r = 0; r < share->resource_count; ++r)
    if (company || peak_of(share, table, use_of, r) > share->capacity[r])
      scarce |= 1u << r;
  settle_demands(share, table, scarce);
  free(table);
  return PREM_OK;
}

/* ---- room ----------------------------------------------------------------------------------- */

static uint32_t power_of_two_from(int64_t count) {
  uint32_t power = 1;
  while (power < count)
    power *= 2;
  return power;
}

static prem_status make_room(sim_share *share) {
  uint32_t room = power_of_two_from(2 * (int64_t)share->program->block_count);
  for (int32_t g = 0; g < share->group_count; ++g) {
    share->groups[g].mask = room - 1;
    share->groups[g].running = malloc(room * sizeof(sim_running));
    if (!share->groups[g].running)
      return PREM_ERR_MEMORY;
  }
  share->queue_mask = room - 1;
  share->queue = malloc(room * sizeof *share->queue);
  size_t tasks = (size_t)share->program->schedule->task_count;
  share->gang = calloc(tasks * (size_t)share->resource_count, sizeof *share->gang);
  return share->queue && share->gang ? PREM_OK : PREM_ERR_MEMORY;
}

/* A group's clock holds the longest use twice without overflow. */
static int fraction_bits_for(const sim_share *share) {
  int64_t longest_ns = 0;
  for (int32_t u = 0; u < share->use_count; ++u)
    longest_ns = prem_max_i64(longest_ns, share->uses[u].busy_ns);
  int bits = MAX_FRACTION_BITS;
  while (bits > 0 && longest_ns > INT64_MAX >> (bits + 1))
    --bits;
  return bits;
}

static prem_status use_phases(sim_share *share) {
  const prem_schedule *schedule = share->program->schedule;
  size_t tasks = (size_t)schedule->task_count;
  share->uses = calloc(tasks * PREM_PHASE_COUNT, sizeof *share->uses);
  share->first_use = malloc(tasks * sizeof *share->first_use);
  if (!share->uses || !share->first_use)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    share->first_use[t] = -1;
    for (int32_t p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_spec *phase = &schedule->tasks[t].phase[p];
      sim_use *use = &share->uses[share->use_count];
      if (phase->exists) {
        use->wcet_ns = phase->wcet_ns;
        use->busy_ns = prem_min_i64(phase->busy_ns, phase->wcet_ns);
      }
      use->writer = -1;
      link_use(share, share->use_count++, t);
    }
  }
  return PREM_OK;
}

prem_status sim_share_new(const prem_program *program, bool company, int32_t **use_of,
                          sim_share *out) {
  *out =
      (sim_share){.program = program, .resource_count = program->schedule->platform.resource_count};
  for (int32_t r = 0; r < out->resource_count; ++r) {
    out->capacity[r] = program->schedule->platform.resources[r].capacity;
    out->per_task[r] = program->schedule->platform.resources[r].per_task;
  }
  prem_status status = use_phases(out);
  for (int32_t p = 0; !status && p < program->plan_count; ++p)
    status = use_records(out, program->plans[p], use_of + p * program->block_count);
  if (!status)
    status = make_demands(out, company, use_of);
  if (!status)
    status = make_room(out);
  out->fraction_bits = fraction_bits_for(out);
  return status;
}

void sim_share_free(sim_share *share) {
  for (int32_t g = 0; share->groups && g < share->group_count; ++g)
    free(share->groups[g].running);
  PREM_FREE(share->groups, share->demands, share->uses, share->first_use, share->gang,
            share->queue);
}
