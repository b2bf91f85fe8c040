/* SPDX-License-Identifier: Apache-2.0 */
/* From the constructive plan's placements to activities, renewables, pools and arcs. */
#include "schedules/planner/search/model.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

/* Beyond these a search would make too few schedules to be worth its memory. */
enum { MAX_ACTIVITIES = 1 << 20, MAX_WRAPS = 10000 };

/** An entry of a list of lists, before it is sorted by its owner. */
typedef struct list_link {
  int64_t gap;
  int32_t from, to;
} list_link;

typedef struct building {
  const prem_planning *planning;
  const prem_draft *draft;
  prem_model *model;
  int64_t *first_job;       /* [task_count + 1] */
  int64_t *first_placement; /* [job]: of the draft; -1: it has none */
  int64_t *job_placements;  /* [job] */
  int32_t *renewable_of;    /* [renewable before any was dropped] */
  int64_t *renewable_demand;
  int32_t *owner_of;     /* [task x resource]: + 1; 0: it has had nothing yet */
  int32_t *owner_demand; /* [task x resource]: the largest */
  bool *spans;           /* [block]: a tile holds a buffer of it over several phases */
  bool computes_rest;    /* some longer than the buffers of their tiles */
  prem_list activities, uses, links, takes, gives, wraps, placements, releases;
  int64_t ends; /* activities that stand for the end of a job */
  const char *refusal;
} building;

static const char too_large[] = "it serves 1048576 phases, and there are more";

static prem_status refuse(building *b, const char *why) {
  b->refusal = why;
  return PREM_ERR_UNAVAILABLE;
}

static int64_t grid_up(const building *b, int64_t ns) {
  return prem_div_ceil(ns, b->model->grid_ns);
}

static int64_t grid_down(const building *b, int64_t ns) {
  return prem_div_floor(ns, b->model->grid_ns);
}

/* ---- jobs and tiles ------------------------------------------------------------------------- */

static const prem_task *task_of(const building *b, const prem_placement *placed) {
  return &b->planning->schedule->tasks[placed->task];
}

static int64_t job_index(const building *b, int32_t task, int64_t number) {
  return b->first_job[task] + number;
}

/* Does the next placement belong to another tile? */
static bool ends_tile(const building *b, int64_t i) {
  const prem_placement *p = b->draft->placements;
  return i + 1 == b->draft->count || p[i + 1].task != p[i].task || p[i + 1].job != p[i].job ||
         p[i + 1].tile != p[i].tile;
}

static bool begins_tile(const building *b, int64_t i) {
  return i == 0 || ends_tile(b, i - 1);
}

static bool find_jobs(building *b) {
  const prem_schedule *schedule = b->planning->schedule;
  size_t tasks = (size_t)schedule->task_count;
  b->first_job = calloc(tasks + 1, sizeof *b->first_job);
  if (!b->first_job)
    return false;
  for (size_t t = 0; t < tasks; ++t)
    b->first_job[t + 1] = b->first_job[t] + prem_task_jobs(schedule, &schedule->tasks[t]);
  size_t jobs = (size_t)b->first_job[tasks];
  b->first_placement = malloc((jobs + 1) * sizeof *b->first_placement);
  b->job_placements = calloc(jobs + 1, sizeof *b->job_placements);
  if (!b->first_placement || !b->job_placements)
    return false;
  for (size_t q = 0; q < jobs; ++q)
    b->first_placement[q] = -1;
  for (int64_t i = 0; i < b->draft->count; ++i) {
    const prem_placement *placed = &b->draft->placements[i];
    int64_t q = job_index(b, placed->task, placed->job);
    if (b->first_placement[q] < 0)
      b->first_placement[q] = i;
    ++b->job_placements[q];
  }
  return true;
}

/* ---- renewables ----------------------------------------------------------------------------- */

/* With one buffer a block does one thing at a time: its two units are one renewable. */
static int32_t unit_renewable(const building *b, int32_t block, prem_phase phase) {
  const prem_platform *platform = &b->planning->schedule->platform;
  bool own = phase == PREM_COMPUTE && platform->buffers > 1;
  return platform->resource_count + 2 * block + own;
}

static bool add_use(building *b, prem_use what) {
  if (what.demand == 0 || what.length == 0)
    return true;
  prem_use *use = prem_list_add(&b->uses);
  if (!use)
    return false;
  *use = what;
  if (what.owner < 0)
    b->renewable_demand[what.renewable] += what.demand;
  return true;
}

/* Of a gang what its first block asks of one of its units: that is never asked for twice at once.
 */
static bool is_exclusive(const prem_task *task, const prem_placement *placed, int32_t resource) {
  int64_t asked[PREM_PHASE_COUNT] = {0};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists && task->phase[p].demand[resource] > 0)
      asked[p] = task->phase[p].busy_ns;
  bool memory = asked[PREM_PREFETCH] + asked[PREM_WRITEBACK] >= asked[PREM_COMPUTE];
  return placed->tile % task->block_count == 0 && (placed->phase != PREM_COMPUTE) == memory;
}

static int32_t owner_of(building *b, int32_t task, int32_t resource, int32_t demand) {
  size_t i =
      (size_t)task * (size_t)b->planning->schedule->platform.resource_count + (size_t)resource;
  if (b->owner_of[i] == 0)
    b->owner_of[i] = ++b->model->owner_count;
  if (demand > b->owner_demand[i]) {
    b->renewable_demand[resource] += demand - b->owner_demand[i];
    b->owner_demand[i] = demand;
  }
  return b->owner_of[i] - 1;
}

static bool add_resource(building *b, const prem_placement *placed, int32_t resource,
                         int64_t busy) {
  const prem_task *task = task_of(b, placed);
  prem_use use = {.length = busy,
                  .renewable = resource,
                  .demand = task->phase[placed->phase].demand[resource],
                  .owner = -1,
                  .exclusive = true};
  if (!b->planning->schedule->platform.resources[resource].per_task) {
    use.demand *= placed->count;
  } else if (use.demand > 0 && busy > 0) {
    use.owner = owner_of(b, placed->task, resource, use.demand);
    use.exclusive = is_exclusive(task, placed, resource);
  }
  return add_use(b, use);
}

static bool add_uses(building *b, const prem_placement *placed) {
  const prem_platform *platform = &b->planning->schedule->platform;
  const prem_task *task = task_of(b, placed);
  const prem_phase_spec *spec = &task->phase[placed->phase];
  /* tiles change places: each may be the last one of its job */
  int64_t gap_ns =
      prem_unit_gap_ns(b->planning->schedule, task, placed->phase, task->tile_count - 1);
  int64_t busy = spec->busy_ns ? grid_up(b, spec->busy_ns + platform->guard_ns) : 0;
  for (int32_t i = 0; i < platform->resource_count; ++i)
    if (!add_resource(b, placed, i, busy))
      return false;
  for (int32_t m = 0; m < placed->count; ++m) {
    int32_t block = task->blocks[(placed->tile + m) % task->block_count];
    /* a tile that holds the block's only buffer has the units to itself */
    if (platform->buffers == 1 && b->spans[block] &&
        !(b->computes_rest && placed->phase == PREM_COMPUTE))
      continue;
    if (!add_use(b, (prem_use){.length = grid_up(b, spec->wcet_ns + gap_ns),
                               .renewable = unit_renewable(b, block, placed->phase),
                               .demand = 1,
                               .owner = -1,
                               .exclusive = true}))
      return false;
  }
  return true;
}

static void find_rests(building *b) {
  const prem_schedule *schedule = b->planning->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    b->computes_rest |= prem_unit_gap_ns(schedule, task, PREM_COMPUTE, 0) >
                        prem_phase_gap_ns(schedule, task, PREM_COMPUTE);
  }
}

static void find_spans(building *b) {
  for (int64_t i = 0; i < b->draft->count; ++i) {
    const prem_placement *placed = &b->draft->placements[i];
    const prem_task *task = task_of(b, placed);
    for (int input = 0; input < 2; ++input) {
      prem_holding holding = prem_planning_holding(b->planning, task, input);
      for (int32_t m = 0; m < placed->count && holding.exists && holding.first < holding.last; ++m)
        b->spans[task->blocks[(placed->tile + m) % task->block_count]] = true;
    }
  }
}

/* ---- pools ---------------------------------------------------------------------------------- */

static bool add_link(prem_list *to, int32_t from, int32_t pool, int64_t gap) {
  list_link *added = prem_list_add(to);
  if (added)
    *added = (list_link){.from = from, .to = pool, .gap = gap};
  return added;
}

static bool add_pools(building *b, const prem_placement *placed, int32_t activity) {
  const prem_task *task = task_of(b, placed);
  for (int input = 0; input < 2; ++input) {
    prem_holding holding = prem_planning_holding(b->planning, task, input);
    for (int32_t m = 0; m < placed->count && holding.exists; ++m) {
      int32_t block = task->blocks[(placed->tile + m) % task->block_count];
      if (!b->spans[block])
        continue;
      if (placed->phase == holding.first && !add_link(&b->takes, activity, 2 * block + input, 0))
        return false;
      if (placed->phase == holding.last && !add_link(&b->gives, activity, 2 * block + input, 0))
        return false;
    }
  }
  return true;
}

/* ---- activities ----------------------------------------------------------------------------- */

static prem_activity *add_activity(building *b, int32_t placement, int64_t release) {
  prem_activity *activity = prem_list_add(&b->activities);
  int32_t *of = prem_list_add(&b->placements);
  int64_t *from = prem_list_add(&b->releases);
  if (!activity || !of || !from)
    return NULL;
  *activity = (prem_activity){
      .tail_ns = PREM_NO_TAIL, .latest = PREM_MAX_NS, .first_use = (int32_t)b->uses.count};
  *of = placement;
  *from = release;
  return activity;
}

static void set_due(const building *b, const prem_placement *placed, prem_activity *activity) {
  prem_job_window window = prem_planning_window(b->planning, task_of(b, placed), placed->job);
  int64_t wcet_ns = task_of(b, placed)->phase[placed->phase].wcet_ns;
  int64_t none_ns = PREM_MAX_NS - b->planning->schedule->platform.guard_ns;
  if (window.due_ns < none_ns)
    activity->latest = grid_down(b, window.due_ns - wcet_ns);
  if (window.last_start_ns < PREM_MAX_NS)
    activity->latest = prem_min_i64(activity->latest, grid_down(b, window.last_start_ns));
  if (b->model->makespan)
    activity->tail_ns = wcet_ns;
  else if (window.target_ns < none_ns)
    activity->tail_ns = wcet_ns - window.target_ns;
}

static bool add_phase(building *b, int64_t i) {
  const prem_placement *placed = &b->draft->placements[i];
  const prem_task *task = task_of(b, placed);
  prem_job_window window = prem_planning_window(b->planning, task, placed->job);
  int64_t gap_ns = prem_phase_gap_ns(b->planning->schedule, task, placed->phase);
  int32_t index = (int32_t)b->activities.count;
  prem_activity *activity = add_activity(b, (int32_t)i, grid_up(b, window.earliest_ns));
  if (!activity)
    return false;
  activity->length = grid_up(b, task->phase[placed->phase].wcet_ns + gap_ns);
  if (ends_tile(b, i))
    set_due(b, placed, activity);
  int64_t length = activity->length;
  if (!add_uses(b, placed) || !add_pools(b, placed, index))
    return false;
  activity = (prem_activity *)b->activities.items + index;
  activity->use_count = (int32_t)b->uses.count - activity->first_use;
  return ends_tile(b, i) || add_link(&b->links, index, index + 1, length);
}

/* ---- precedence ----------------------------------------------------------------------------- */

static int64_t phase_end_gap(const building *b, int64_t i, int64_t lag_ns) {
  const prem_placement *placed = &b->draft->placements[i];
  return task_of(b, placed)->phase[placed->phase].wcet_ns + lag_ns;
}

/* From the end of every tile of job p to the beginning of every tile of job q; through one activity
 * that does nothing, where there are many. */
static bool join_jobs(building *b, int64_t p, int64_t q, int64_t lag_ns) {
  int64_t from = b->first_placement[p], to = b->first_placement[q];
  int32_t middle = -1;
  bool many = b->job_placements[p] > PREM_PHASE_COUNT || b->job_placements[q] > PREM_PHASE_COUNT;
  if (many) {
    middle = (int32_t)b->activities.count;
    if (!add_activity(b, -1, INT64_MIN / 4))
      return false;
  }
  for (int64_t i = from; i < from + b->job_placements[p]; ++i) {
    if (!ends_tile(b, i))
      continue;
    int64_t gap = grid_up(b, phase_end_gap(b, i, lag_ns));
    if (many && !add_link(&b->links, (int32_t)i, middle, gap))
      return false;
    for (int64_t j = to; !many && j < to + b->job_placements[q]; ++j)
      if (begins_tile(b, j) && !add_link(&b->links, (int32_t)i, (int32_t)j, gap))
        return false;
  }
  for (int64_t j = to; many && j < to + b->job_placements[q]; ++j)
    if (begins_tile(b, j) && !add_link(&b->links, middle, (int32_t)j, 0))
      return false;
  return true;
}

/* Nothing of job p is planned: it ends with the warm-up. */
static void follow_warmup(building *b, int64_t q, int64_t lag_ns) {
  int64_t *releases = b->releases.items;
  int64_t from = grid_up(b, b->planning->warmup_ns + lag_ns);
  for (int64_t j = b->first_placement[q]; j < b->first_placement[q] + b->job_placements[q]; ++j)
    releases[j] = prem_max_i64(releases[j], from);
}

static prem_status add_wraps(building *b, int32_t from, int64_t gap_ns, int64_t q) {
  for (int64_t j = b->first_placement[q]; j < b->first_placement[q] + b->job_placements[q]; ++j) {
    if (!begins_tile(b, j))
      continue;
    prem_wrap *wrap = prem_list_add(&b->wraps);
    if (!wrap)
      return PREM_ERR_MEMORY;
    *wrap = (prem_wrap){from, (int32_t)j, gap_ns};
  }
  return PREM_OK;
}

static prem_status wrap_jobs(building *b, int64_t p, int64_t q, int64_t lag_ns) {
  if (b->job_placements[p] * b->job_placements[q] + b->wraps.count > MAX_WRAPS)
    return refuse(b, "it serves 10000 pairs of phases that follow each other over the end of the "
                     "hyperperiod, and there are more");
  if (b->first_placement[p] < 0)
    return add_wraps(b, -1, b->planning->warmup_ns + lag_ns, q);
  prem_status status = PREM_OK;
  for (int64_t i = b->first_placement[p];
       i < b->first_placement[p] + b->job_placements[p] && !status; ++i)
    if (ends_tile(b, i))
      status = add_wraps(b, (int32_t)i, phase_end_gap(b, i, lag_ns), q);
  return status;
}

static prem_status add_after(building *b, int32_t t, const prem_after *after) {
  const prem_schedule *schedule = b->planning->schedule;
  int64_t lag_ns = prem_planning_gap_ns(b->planning, after);
  for (int64_t q = b->first_job[t]; q < b->first_job[t + 1]; ++q) {
    int64_t number = prem_planning_predecessor(b->planning, &schedule->tasks[t], after,
                                               (int32_t)(q - b->first_job[t]));
    int64_t p = number < 0 ? b->first_job[after->task + 1] - 1 : job_index(b, after->task, number);
    if (b->first_placement[q] < 0)
      continue;
    prem_status status = PREM_OK;
    if (number < 0)
      status = wrap_jobs(b, p, q, lag_ns);
    else if (b->first_placement[p] < 0)
      follow_warmup(b, q, lag_ns);
    else if (!join_jobs(b, p, q, lag_ns))
      status = PREM_ERR_MEMORY;
    if (status)
      return status;
  }
  return PREM_OK;
}

/* ---- sorting into lists --------------------------------------------------------------------- */

/* Count, sum, fill: first[k] is where the entries of owner k begin. */
static int32_t *count_lists(const list_link *links, int64_t count, int64_t owners, bool by_from) {
  int32_t *first = calloc((size_t)owners + 2, sizeof *first);
  for (int64_t i = 0; i < count && first; ++i)
    ++first[(by_from ? links[i].from : links[i].to) + 2];
  for (int64_t k = 2; k < owners + 2 && first; ++k)
    first[k] += first[k - 1];
  return first; /* shifted by one: filling moves each entry to its place */
}

static bool sort_arcs(const building *b, bool backward, prem_side *side) {
  const list_link *links = b->links.items;
  const prem_activity *activities = b->activities.items;
  int64_t owners = b->activities.count, count = b->links.count;
  side->first_arc = count_lists(links, count, owners, !backward);
  side->arc_count = calloc((size_t)owners + 1, sizeof *side->arc_count);
  side->arcs = malloc((size_t)(count + 1) * sizeof *side->arcs);
  if (!side->first_arc || !side->arc_count || !side->arcs)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    int32_t from = backward ? links[i].to : links[i].from;
    int32_t to = backward ? links[i].from : links[i].to;
    int64_t gap = links[i].gap;
    if (backward)
      gap += activities[from].length - activities[to].length;
    side->arcs[side->first_arc[from + 1]++] = (prem_arc){.to = to, .gap = gap};
    ++side->arc_count[to];
  }
  return true;
}

static bool sort_pools(const building *b, const prem_list *of, prem_side *side) {
  const list_link *links = of->items;
  side->first_pool = count_lists(links, of->count, b->activities.count, true);
  side->pools = malloc((size_t)(of->count + 1) * sizeof *side->pools);
  if (!side->first_pool || !side->pools)
    return false;
  for (int64_t i = 0; i < of->count; ++i)
    side->pools[side->first_pool[links[i].from + 1]++] = links[i].to;
  return true;
}

static bool sort_givers(const building *b) {
  const list_link *links = b->gives.items;
  prem_model *model = b->model;
  model->first_giver = count_lists(links, b->gives.count, model->pool_count, false);
  model->givers = malloc((size_t)(b->gives.count + 1) * sizeof *model->givers);
  if (!model->first_giver || !model->givers)
    return false;
  for (int64_t i = 0; i < b->gives.count; ++i)
    model->givers[model->first_giver[links[i].to + 1]++] = links[i].from;
  return true;
}

/* What the units alone let phases have of a resource at the same time: of those on one unit, the
 * largest demand. */
static int64_t max_at_once(const building *b, int32_t resource, int32_t *by_unit) {
  const prem_platform *platform = &b->planning->schedule->platform;
  const prem_model *model = b->model;
  int64_t max = 0;
  memset(by_unit, 0, 2 * (size_t)platform->blocks * sizeof *by_unit);
  for (int32_t a = 0; a < model->count; ++a) {
    const prem_activity *activity = &model->activities[a];
    int32_t unit = -1, demand = 0;
    for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
      if (model->uses[u].renewable >= platform->resource_count)
        unit = model->uses[u].renewable - platform->resource_count;
      else if (model->uses[u].renewable == resource)
        demand = model->uses[u].demand;
    }
    int32_t before = unit < 0 ? 0 : by_unit[unit];
    if (unit >= 0 && demand > before)
      by_unit[unit] = demand;
    max += demand > before ? demand - before : 0;
  }
  return max;
}

/* Can a renewable be full? */
static bool binds(const building *b, int32_t renewable, int32_t capacity, int32_t *by_unit) {
  const prem_platform *platform = &b->planning->schedule->platform;
  if (b->renewable_demand[renewable] <= capacity)
    return false;
  bool counted = renewable < platform->resource_count && !platform->resources[renewable].per_task;
  return !counted || max_at_once(b, renewable, by_unit) > capacity;
}

/* Keep the renewables that can be full. */
static bool sort_renewables(building *b) {
  prem_model *model = b->model;
  const prem_platform *platform = &b->planning->schedule->platform;
  int32_t renewables = platform->resource_count + 2 * platform->blocks;
  int32_t *by_unit = malloc((2 * (size_t)platform->blocks + 1) * sizeof *by_unit);
  if (!by_unit)
    return false;
  for (int32_t l = 0; l < renewables; ++l) {
    int32_t capacity = l < platform->resource_count ? platform->resources[l].capacity : 1;
    b->renewable_of[l] = binds(b, l, capacity, by_unit) ? model->renewable_count++ : -1;
  }
  free(by_unit);
  model->renewable_capacity =
      malloc(((size_t)model->renewable_count + 1) * sizeof *model->renewable_capacity);
  model->first_user = calloc((size_t)model->renewable_count + 2, sizeof *model->first_user);
  model->users = malloc((size_t)(b->uses.count + 1) * sizeof *model->users);
  if (!model->renewable_capacity || !model->first_user || !model->users)
    return false;
  for (int32_t l = 0; l < renewables; ++l)
    if (b->renewable_of[l] >= 0)
      model->renewable_capacity[b->renewable_of[l]] =
          l < platform->resource_count ? platform->resources[l].capacity : 1;
  int32_t kept = 0;
  for (int32_t a = 0; a < model->count; ++a) {
    prem_activity *activity = &model->activities[a];
    int32_t first = kept;
    for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
      if (b->renewable_of[model->uses[u].renewable] < 0)
        continue;
      model->uses[kept] = model->uses[u];
      model->uses[kept++].renewable = b->renewable_of[model->uses[u].renewable];
    }
    activity->first_use = first;
    activity->use_count = kept - first;
    for (int32_t u = first; u < kept; ++u)
      ++model->first_user[model->uses[u].renewable + 2];
  }
  for (int32_t l = 2; l < model->renewable_count + 2; ++l)
    model->first_user[l] += model->first_user[l - 1];
  for (int32_t a = 0; a < model->count; ++a)
    for (int32_t u = 0; u < model->activities[a].use_count; ++u) {
      int32_t renewable = model->uses[model->activities[a].first_use + u].renewable;
      model->users[model->first_user[renewable + 1]++] = a;
    }
  return true;
}

/* ---- all together --------------------------------------------------------------------------- */

static prem_status add_all(building *b) {
  const prem_schedule *schedule = b->planning->schedule;
  size_t renewables =
      (size_t)schedule->platform.resource_count + 2 * (size_t)schedule->platform.blocks;
  b->renewable_of = malloc(renewables * sizeof *b->renewable_of);
  b->renewable_demand = calloc(renewables, sizeof *b->renewable_demand);
  b->spans = calloc((size_t)schedule->platform.blocks, sizeof *b->spans);
  size_t owners = (size_t)schedule->task_count * (size_t)schedule->platform.resource_count;
  b->owner_of = calloc(owners + 1, sizeof *b->owner_of);
  b->owner_demand = calloc(owners + 1, sizeof *b->owner_demand);
  if (!b->renewable_of || !b->renewable_demand || !b->spans || !b->owner_of || !b->owner_demand ||
      !find_jobs(b))
    return PREM_ERR_MEMORY;
  find_spans(b);
  find_rests(b);
  for (int64_t i = 0; i < b->draft->count; ++i)
    if (!add_phase(b, i))
      return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t a = 0; a < schedule->tasks[t].after_count; ++a) {
      prem_status status = add_after(b, t, &schedule->tasks[t].after[a]);
      if (status)
        return status;
      if (b->activities.count > MAX_ACTIVITIES)
        return refuse(b, too_large);
    }
  return PREM_OK;
}

static bool sort_all(building *b) {
  prem_model *model = b->model;
  return sort_arcs(b, false, &model->side[PREM_FORWARD]) &&
         sort_arcs(b, true, &model->side[PREM_BACKWARD]) &&
         sort_pools(b, &b->takes, &model->side[PREM_FORWARD]) &&
         sort_pools(b, &b->gives, &model->side[PREM_BACKWARD]) && sort_givers(b) &&
         sort_renewables(b);
}

static void hand_over(building *b) {
  prem_model *model = b->model;
  model->count = (int32_t)b->activities.count;
  model->activities = b->activities.items;
  model->uses = b->uses.items;
  model->release = b->releases.items;
  model->placement = b->placements.items;
  model->wraps = b->wraps.items;
  model->wrap_count = (int32_t)b->wraps.count;
}

/* The sum of everything must be a time, so that nothing in the search overflows: lengths, releases,
 * what arcs ask for beyond lengths, and the first plan's own end. */
static bool in_range(const building *b) {
  const prem_model *model = b->model;
  const list_link *links = b->links.items;
  prem_wide sum = 0;
  for (int32_t a = 0; a < model->count; ++a)
    sum += (prem_wide)model->activities[a].length + (model->release[a] > 0 ? model->release[a] : 0);
  for (int64_t i = 0; i < b->links.count; ++i)
    sum += prem_max_i64(links[i].gap - model->activities[links[i].from].length, 0);
  for (int64_t i = 0; i < b->draft->count; ++i)
    if (b->draft->placements[i].start_ns > PREM_MAX_NS / 4)
      return false;
  for (int32_t w = 0; w < model->wrap_count; ++w)
    if (model->wraps[w].gap_ns > PREM_MAX_NS / 4)
      return false;
  return sum * model->grid_ns < PREM_MAX_NS / 4;
}

static bool wants_makespan(const prem_planning *planning, const prem_draft *draft) {
  return strcmp(planning->schedule->policy.objective, "slack") != 0 ||
         prem_planning_slack(planning, draft) == PREM_MAX_NS;
}

prem_status prem_model_build(const prem_planning *planning, const prem_draft *draft,
                             prem_model *out) {
  *out = (prem_model){.grid_ns = planning->grid_ns,
                      .horizon_ns = planning->schedule->period_lcm_ns,
                      .pool_count = 2 * planning->schedule->platform.blocks,
                      .buffers = planning->schedule->platform.buffers,
                      .makespan = wants_makespan(planning, draft)};
  if (draft->count > MAX_ACTIVITIES || draft->count == 0) {
    out->refusal = draft->count > 0 ? too_large : NULL;
    return PREM_ERR_UNAVAILABLE;
  }
  building b = {.planning = planning,
                .draft = draft,
                .model = out,
                .activities = {.size = sizeof(prem_activity)},
                .uses = {.size = sizeof(prem_use)},
                .links = {.size = sizeof(list_link)},
                .takes = {.size = sizeof(list_link)},
                .gives = {.size = sizeof(list_link)},
                .wraps = {.size = sizeof(prem_wrap)},
                .placements = {.size = sizeof(int32_t)},
                .releases = {.size = sizeof(int64_t)}};
  prem_status status = add_all(&b);
  hand_over(&b);
  if (!status && !sort_all(&b))
    status = PREM_ERR_MEMORY;
  if (!status && !in_range(&b))
    status = refuse(&b, "its times add up to more than 2^60 ns");
  PREM_FREE(b.first_job, b.first_placement, b.job_placements, b.renewable_of, b.renewable_demand,
            b.owner_of, b.owner_demand, b.spans, b.links.items, b.takes.items, b.gives.items);
  if (status)
    prem_model_free(out);
  out->refusal = b.refusal;
  return status;
}

void prem_model_free(prem_model *model) {
  PREM_FREE(model->activities, model->release, model->uses, model->renewable_capacity,
            model->first_user, model->users, model->first_giver, model->givers, model->wraps,
            model->placement);
  for (int d = 0; d < 2; ++d) {
    PREM_FREE(model->side[d].first_arc, model->side[d].arc_count, model->side[d].arcs,
              model->side[d].first_pool, model->side[d].pools);
  }
  *model = (prem_model){0};
}

/* ---- values and bounds ---------------------------------------------------------------------- */

bool prem_cost_less(prem_cost a, prem_cost b) {
  return a.violation != b.violation ? a.violation < b.violation : a.value_ns < b.value_ns;
}

static void cost_of_wraps(const prem_model *model, const int64_t *start, prem_cost *cost) {
  for (int32_t w = 0; w < model->wrap_count; ++w) {
    const prem_wrap *wrap = &model->wraps[w];
    int64_t from = wrap->from < 0 ? 0 : start[wrap->from];
    int64_t length_ns = (from - start[wrap->to]) * model->grid_ns + wrap->gap_ns;
    int64_t excess_ns = length_ns - model->horizon_ns;
    if (model->horizon_ns)
      cost->violation = prem_max_i64(cost->violation,
                                     excess_ns / model->grid_ns + (excess_ns % model->grid_ns > 0));
    else if (model->makespan)
      cost->value_ns = prem_max_i64(cost->value_ns, length_ns);
  }
}

prem_cost prem_model_cost(const prem_model *model, const int64_t *start) {
  prem_cost cost = {0, INT64_MIN};
  for (int32_t a = 0; a < model->count; ++a) {
    const prem_activity *activity = &model->activities[a];
    if (activity->tail_ns != PREM_NO_TAIL)
      cost.value_ns = prem_max_i64(cost.value_ns, start[a] * model->grid_ns + activity->tail_ns);
    cost.violation = prem_max_i64(cost.violation, start[a] - activity->latest);
  }
  cost_of_wraps(model, start, &cost);
  return cost;
}

/* Visit the activities in an order of the arcs of one direction; `reach` is told of each arc. */
static prem_status follow_arcs(const prem_model *model, int direction, int64_t *of,
                               void (*reach)(const prem_model *, int64_t *, int32_t, prem_arc)) {
  const prem_side *side = &model->side[direction];
  int32_t *left = calloc((size_t)model->count, sizeof *left);
  int32_t *order = calloc((size_t)model->count, sizeof *order);
  int32_t ready = 0;
  for (int32_t a = 0; a < model->count && left && order; ++a) {
    left[a] = side->arc_count[a];
    if (left[a] == 0)
      order[ready++] = a;
  }
  for (int32_t i = 0; i < ready; ++i)
    for (int32_t k = side->first_arc[order[i]]; k < side->first_arc[order[i] + 1]; ++k) {
      reach(model, of, order[i], side->arcs[k]);
      if (--left[side->arcs[k].to] == 0)
        order[ready++] = side->arcs[k].to;
    }
  free(left);
  free(order);
  return ready == model->count ? PREM_OK : PREM_ERR_MEMORY;
}

static void reach_head(const prem_model *model, int64_t *head, int32_t from, prem_arc arc) {
  (void)model;
  head[arc.to] = prem_max_i64(head[arc.to], head[from] + arc.gap);
}

static void reach_tail(const prem_model *model, int64_t *tail_ns, int32_t from, prem_arc arc) {
  if (tail_ns[from] == PREM_NO_TAIL)
    return;
  int64_t gap = arc.gap - model->activities[from].length + model->activities[arc.to].length;
  tail_ns[arc.to] = prem_max_i64(tail_ns[arc.to], tail_ns[from] + gap * model->grid_ns);
}

prem_status prem_model_chains(const prem_model *model, int64_t *head, int64_t *tail_ns) {
  for (int32_t a = 0; a < model->count; ++a) {
    head[a] = model->release[a];
    tail_ns[a] = model->activities[a].tail_ns;
  }
  prem_status status = follow_arcs(model, PREM_FORWARD, head, reach_head);
  return status ? status : follow_arcs(model, PREM_BACKWARD, tail_ns, reach_tail);
}

/** What a renewable or pool is asked for: from `from` on, and what must follow its last use. */
typedef struct load {
  prem_wide asked;
  int64_t from, after_ns;
} load;

static void add_load(const prem_model *model, load *to, prem_wide asked, int64_t from, int32_t last,
                     int64_t length, const int64_t *tail_ns) {
  to->asked += asked;
  to->from = prem_min_i64(to->from, from);
  int64_t after_ns = tail_ns[last];
  if (after_ns != PREM_NO_TAIL)
    after_ns -= length * model->grid_ns;
  to->after_ns = prem_min_i64(to->after_ns, after_ns);
}

static void raise_bound(const prem_model *model, const load *by, int32_t capacity,
                        int64_t *bound_ns) {
  if (by->asked == 0 || by->after_ns == PREM_NO_TAIL)
    return;
  int64_t end = by->from + (int64_t)((by->asked + capacity - 1) / capacity);
  *bound_ns = prem_max_i64(*bound_ns, end * model->grid_ns + by->after_ns);
}

static prem_status bound_loads(const prem_model *model, const int64_t *head, const int64_t *tail_ns,
                               int64_t *bound_ns) {
  size_t count = (size_t)model->renewable_count + (size_t)model->pool_count;
  load *loads = calloc(count + 1, sizeof *loads);
  if (!loads)
    return PREM_ERR_MEMORY;
  for (size_t i = 0; i < count; ++i)
    loads[i] = (load){0, INT64_MAX, INT64_MAX};
  load *pools = loads + model->renewable_count;
  int64_t held[2] = {0}, from[2] = {0}; /* of the tile in hand, by kind of pool */
  for (int32_t a = 0; a < model->count; ++a) {
    const prem_activity *activity = &model->activities[a];
    for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
      const prem_use *use = &model->uses[u];
      if (use->exclusive)
        add_load(model, &loads[use->renewable], (prem_wide)use->length * use->demand, head[a], a,
                 use->length, tail_ns);
    }
    const prem_side *takes = &model->side[PREM_FORWARD], *gives = &model->side[PREM_BACKWARD];
    for (int32_t k = takes->first_pool[a]; k < takes->first_pool[a + 1]; ++k) {
      held[takes->pools[k] % 2] = 0;
      from[takes->pools[k] % 2] = head[a];
    }
    held[0] += activity->length;
    held[1] += activity->length;
    for (int32_t k = gives->first_pool[a]; k < gives->first_pool[a + 1]; ++k) {
      int32_t pool = gives->pools[k];
      add_load(model, &pools[pool], held[pool % 2], from[pool % 2], a, activity->length, tail_ns);
    }
  }
  for (int32_t l = 0; l < model->renewable_count; ++l)
    raise_bound(model, &loads[l], model->renewable_capacity[l], bound_ns);
  for (int32_t p = 0; p < model->pool_count; ++p)
    raise_bound(model, &pools[p], model->buffers, bound_ns);
  free(loads);
  return PREM_OK;
}

prem_status prem_model_bound(const prem_model *model, const int64_t *head, const int64_t *tail_ns,
                             int64_t *bound_ns) {
  *bound_ns = INT64_MIN;
  for (int32_t a = 0; a < model->count; ++a)
    if (tail_ns[a] != PREM_NO_TAIL)
      *bound_ns = prem_max_i64(*bound_ns, head[a] * model->grid_ns + tail_ns[a]);
  return bound_loads(model, head, tail_ns, bound_ns);
}
