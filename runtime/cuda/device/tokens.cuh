/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: tokens of mode lock, in L2. */
#pragma once

#include "runtime/cuda/device/waits.cuh"

namespace {

__device__ bool token_take(const prem_launch &launch, int32_t resource, int32_t demand,
                           int64_t limit_ns) {
  int32_t *available = &launch.tokens[resource].available;
  for (;;) {
    int32_t seen = atomicAdd(available, 0);
    if (seen >= demand && atomicCAS(available, seen, seen - demand) == seen)
      return true;
    if (abort_look(shared()) || prem_clock_ns() > limit_ns)
      return false;
    __nanosleep(64);
  }
}

/** Take one resource for a task's block; a gang's later blocks share what the first one took. */
__device__ bool resource_take(const prem_launch &launch, int32_t task, int32_t resource,
                              int32_t demand, int64_t limit_ns) {
  if (!(launch.per_task_mask >> resource & 1u))
    return token_take(launch, resource, demand, limit_ns);
  uint32_t *gang = &launch.gangs[task * launch.resource_count + resource];
  for (;;) {
    const uint32_t seen = atomicAdd(gang, 0u);
    if (atomicCAS(gang, seen, seen + 1u) != seen)
      continue;
    if (seen == 0u) {
      if (!token_take(launch, resource, demand, limit_ns))
        return false;
      atomicOr(gang, GANG_GRANTED);
      return true;
    }
    while (!(atomicAdd(gang, 0u) & GANG_GRANTED)) {
      if (abort_look(shared()) || prem_clock_ns() > limit_ns)
        return false;
      __nanosleep(64);
    }
    return true;
  }
}

__device__ void resource_give(const prem_launch &launch, int32_t task, int32_t resource,
                              int32_t demand) {
  if (launch.per_task_mask >> resource & 1u) {
    uint32_t *gang = &launch.gangs[task * launch.resource_count + resource];
    for (;;) {
      const uint32_t seen = atomicAdd(gang, 0u);
      const uint32_t left = (seen & ~GANG_GRANTED) - 1u;
      if (atomicCAS(gang, seen, left ? (left | GANG_GRANTED) : 0u) != seen)
        continue;
      if (left)
        return;
      break;
    }
  }
  atomicAdd(&launch.tokens[resource].available, demand);
}

/** Take or give the tokens of a phase; resources in order of their numbers, so that two
 *  tasks never hold one each and wait for the other's. A joined pair is one use: the larger demand
 *  of its halves, taken under the first one's task. */
__device__ __noinline__ bool tokens_move(const prem_launch &launch, token_user user, bool take,
                                         int64_t limit_ns) {
  const int32_t task = task_at(shared(), launch, user.task)->number;
  const int32_t other = task_at(shared(), launch, user.other_task)->number;
  for (int32_t r = 0; r < launch.resource_count; ++r) {
    const int32_t demand =
        max(launch.demands[task].of[user.phase][r], launch.demands[other].of[user.other_phase][r]);
    if (demand == 0)
      continue;
    if (!take)
      resource_give(launch, task, r, demand);
    else if (!resource_take(launch, task, r, demand, limit_ns))
      return false;
  }
  return true;
}

/** Take the tokens of a phase that is about to start; they are held then. @return false: the run is
 *  over. One warp. */
__device__ __noinline__ bool tokens_take(int32_t slot, int32_t other, int32_t index,
                                         hyperperiod_number hyperperiod) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  const prem_device_record *record = record_at(own, slot), *second = record_at(own, other);
  const token_user user = {record->task, record->phase, second->task, second->phase};
  bool taken = false;
  if (lane_number() == 0) {
    const int64_t origin_ns = origin_of(own, hyperperiod);
    const int64_t from_ns =
        max((long long)prem_clock_ns(), (long long)patience_from(launch, origin_ns, record));
    taken = tokens_move(launch, user, true, from_ns + launch.stall_timeout_ns);
    if (slot < COMPUTES)
      own->holder = user;
    if (!taken && !abort_look(own))
      stall(own, PREM_FAULT_LOCK, index, record, hyperperiod);
  }
  return __any_sync(FULL_WARP, taken);
}

/** tests/faults: does this block keep what it holds? */
#ifdef TTPREM_FAULT_KEEP_TOKENS
__device__ __forceinline__ bool fault_keeps(const block_state *own) {
  return own->plan_block == TTPREM_FAULT_KEEP_TOKENS;
}
#else
__device__ __forceinline__ bool fault_keeps(const block_state *) {
  return false;
}
#endif

/** What was held has landed: give it back. One warp. */
__device__ __noinline__ void tokens_give(token_user holder) {
  if (lane_number() == 0 && !fault_keeps(shared()))
    tokens_move(shared()->launch, holder, false, 0);
  __syncwarp();
}

} // namespace
