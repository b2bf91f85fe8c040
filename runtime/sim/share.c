/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing the simulated machine's resources: slowed down alike (modes tt and free), or one after
 * the other by tokens (mode lock). */
#include "runtime/sim/sim.h"

#include <string.h>

/* Products of two int64 always fit. */
__extension__ typedef unsigned __int128 wide;

void sim_share_reset(sim_share *share) {
  memset(share->total, 0, sizeof share->total);
  memset(share->beside, 0, sizeof share->beside);
  size_t gangs = (size_t)share->program->schedule->task_count * (size_t)share->resource_count;
  memset(share->gang, 0, gangs * sizeof *share->gang);
  for (int32_t u = 0; u < share->use_count; ++u)
    share->uses[u].active = 0;
  for (int32_t g = 0; g < share->group_count; ++g) {
    sim_group *group = &share->groups[g];
    group->capacity = group->demand = 1;
    group->time = 0;
    group->at_ns = 0;
    group->first = group->count = 0;
  }
  share->queue_first = share->queue_count = 0;
}

/* ---- how much is taken ---------------------------------------------------------------------- */

/* What the task's blocks take of the resource together: the largest of what is going on. */
static int32_t gang_amount(const sim_share *share, int32_t task, int32_t resource) {
  int32_t max = 0;
  for (int32_t u = share->first_use[task]; u >= 0; u = share->uses[u].next_of_task) {
    const sim_use *use = &share->uses[u];
    for (int32_t d = 0; use->active && d < use->demand_count; ++d)
      if (use->demand[d].resource == resource && use->demand[d].amount > max)
        max = use->demand[d].amount;
  }
  return max;
}

/* How much more the resource's total is when one more of this use goes on. */
static int64_t increase(const sim_share *share, const sim_use *use, const sim_demand *demand) {
  if (!share->per_task[demand->resource])
    return demand->amount;
  int32_t taken = share->gang[use->task * share->resource_count + demand->resource];
  return demand->amount > taken ? demand->amount - taken : 0;
}

/* One more, or one less, of this use goes on. Returns the resources whose shortage changed. */
static uint32_t change(sim_share *share, sim_use *use, int sign) {
  uint32_t short_ones = 0;
  use->active += sign;
  for (int32_t d = 0; d < use->demand_count; ++d) {
    const sim_demand *demand = &use->demand[d];
    int32_t r = demand->resource;
    int64_t before = share->total[r];
    if (share->per_task[r]) {
      if (use->active != (sign > 0)) /* others of the gang do the same already, or still */
        continue;
      int32_t *taken = &share->gang[use->task * share->resource_count + r];
      int32_t now = gang_amount(share, use->task, r);
      share->total[r] += now - *taken;
      *taken = now;
    } else {
      share->total[r] += sign * demand->amount;
    }
    const int64_t left = share->capacity[r] - share->beside[r];
    if (share->total[r] != before && (before > left || share->total[r] > left))
      short_ones |= 1u << r;
  }
  return short_ones;
}

/* ---- the clocks of groups ------------------------------------------------------------------- */

static uint64_t clock_limit(void) {
  return UINT64_C(1) << 62;
}

static void rebase(sim_group *group) {
  for (uint32_t i = 0; i < group->count; ++i)
    group->running[(group->first + i) & group->mask].finish -= group->time;
  group->time = 0;
}

static void advance(const sim_share *share, sim_group *group, int64_t now_ns) {
  uint64_t passed_ns = (uint64_t)(now_ns - group->at_ns);
  group->at_ns = now_ns;
  if (group->count == 0) {
    group->time = 0;
    return;
  }
  if (group->capacity == group->demand)
    group->time += passed_ns << share->fraction_bits;
  else
    group->time +=
        (uint64_t)(((wide)passed_ns * (uint64_t)group->capacity << share->fraction_bits) /
                   (uint64_t)group->demand);
  if (group->time > clock_limit())
    rebase(group);
}

/* Real time until the group's clock has moved by `left`, rounded up to whole ns. */
static uint64_t real_ns(const sim_share *share, const sim_group *group, uint64_t left) {
  uint64_t unit = UINT64_C(1) << share->fraction_bits;
  if (group->capacity == group->demand)
    return (left + unit - 1) >> share->fraction_bits;
  wide work = (wide)left * (uint64_t)group->demand;
  wide pace = (wide)(uint64_t)group->capacity << share->fraction_bits;
  return (uint64_t)((work + pace - 1) / pace);
}

static int32_t part_of(const sim_share *share, const sim_group *group) {
  return 2 * share->program->block_count + (int32_t)(group - share->groups);
}

/* When the group's first phase will have done its work at the present pace. The group's clock
 * stands at the present. */
static void announce(const sim_share *share, sim_clock *clock, const sim_group *group) {
  if (group->count == 0) {
    sim_clock_set(clock, part_of(share, group), SIM_NEVER);
    return;
  }
  uint64_t finish = group->running[group->first & group->mask].finish;
  uint64_t left = finish > group->time ? finish - group->time : 0;
  sim_clock_set(clock, part_of(share, group),
                SIM_END(group->at_ns + (int64_t)real_ns(share, group, left)));
}

/* The pace is that of the shortest of the group's resources. */
static void set_pace(const sim_share *share, sim_group *group) {
  group->capacity = group->demand = 1;
  for (int32_t r = 0; r < share->resource_count; ++r) {
    const int64_t total = share->total[r] + share->beside[r];
    if (!(group->resources >> r & 1) || total <= share->capacity[r])
      continue;
    if ((wide)(uint64_t)share->capacity[r] * (uint64_t)group->demand <
        (wide)(uint64_t)group->capacity * (uint64_t)total) {
      group->capacity = share->capacity[r];
      group->demand = total;
    }
  }
}

static void change_paces(sim_share *share, sim_clock *clock, uint32_t short_ones, int64_t now_ns) {
  for (int32_t g = 0; g < share->group_count; ++g) {
    sim_group *group = &share->groups[g];
    if (!(group->resources & short_ones))
      continue;
    advance(share, group, now_ns);
    set_pace(share, group);
    announce(share, clock, group);
  }
}

/* Most phases of a group are of about the same length: the place is near the ring's end. */
static void insert(sim_group *group, sim_running running) {
  uint32_t at = group->first + group->count++;
  for (; at != group->first; --at) {
    const sim_running *before = &group->running[(at - 1) & group->mask];
    if (before->finish <= running.finish)
      break;
    group->running[at & group->mask] = *before;
  }
  group->running[at & group->mask] = running;
}

void sim_share_begin(sim_share *share, sim_clock *clock, int32_t use_index, int32_t unit,
                     int64_t now_ns) {
  sim_use *use = &share->uses[use_index];
  sim_group *group = &share->groups[use->group];
  advance(share, group, now_ns);
  uint32_t first = group->first;
  insert(group,
         (sim_running){group->time + ((uint64_t)use->busy_ns << share->fraction_bits), unit});
  uint32_t short_ones = change(share, use, 1);
  if (short_ones)
    change_paces(share, clock, short_ones, now_ns);
  if (!(group->resources & short_ones) && group->running[first & group->mask].unit == unit)
    announce(share, clock, group);
}

int32_t sim_share_finish(sim_share *share, sim_clock *clock, int32_t g, int64_t now_ns) {
  sim_group *group = &share->groups[g];
  advance(share, group, now_ns);
  int32_t unit = group->running[group->first++ & group->mask].unit;
  --group->count;
  announce(share, clock, group);
  return unit;
}

void sim_share_end(sim_share *share, sim_clock *clock, int32_t use_index, int64_t now_ns) {
  uint32_t short_ones = change(share, &share->uses[use_index], -1);
  if (short_ones)
    change_paces(share, clock, short_ones, now_ns);
}

void sim_share_count(sim_share *share, int32_t use, int sign) {
  change(share, &share->uses[use], sign);
}

void sim_share_tell(sim_share *share, sim_clock *clock, const sim_share *beside, int64_t now_ns) {
  uint32_t changed = 0;
  for (int32_t r = 0; r < share->resource_count; ++r)
    if (share->beside[r] != beside->total[r]) {
      share->beside[r] = beside->total[r];
      changed |= 1u << r;
    }
  if (changed)
    change_paces(share, clock, changed, now_ns);
}

/* ---- tokens --------------------------------------------------------------------------------- */

static bool fits(const sim_share *share, const sim_use *use) {
  for (int32_t d = 0; d < use->demand_count; ++d) {
    const sim_demand *demand = &use->demand[d];
    if (share->total[demand->resource] + increase(share, use, demand) >
        share->capacity[demand->resource])
      return false;
  }
  return true;
}

bool sim_lock_take(sim_share *share, int32_t use, int32_t unit) {
  if (share->queue_count == 0 && fits(share, &share->uses[use])) {
    change(share, &share->uses[use], 1);
    return true;
  }
  share->queue[(share->queue_first + share->queue_count++) & share->queue_mask] = unit;
  return false;
}

void sim_lock_give(sim_share *share, int32_t use) {
  change(share, &share->uses[use], -1);
}

int32_t sim_lock_first(const sim_share *share) {
  return share->queue_count ? share->queue[share->queue_first & share->queue_mask] : -1;
}

bool sim_lock_serve(sim_share *share, int32_t use) {
  if (!fits(share, &share->uses[use]))
    return false;
  change(share, &share->uses[use], 1);
  ++share->queue_first;
  --share->queue_count;
  return true;
}
