/* SPDX-License-Identifier: Apache-2.0 */
/* Experiment queue_kinds: what its threads do, and on the emulated GPU what its warps do. Of the
 * repaired queues and of the ring nothing is lost, and nothing comes twice; the listed ones count
 * what one thread can make go wrong. */
/* ctest: threads */
#include "experiments/machine/queue_kinds/queue_world.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static queue_work work_of(int kind, uint32_t blocks, uint32_t batch, bool halves) {
  return (queue_work){.kind = (queue_kind)kind,
                      .blocks = blocks,
                      .batch = batch,
                      .halves = halves,
                      .size = halves ? 64 : 1024,
                      .first = kind % 2 == 0 && kind != QUEUE_RING ? 0 : (UINT64_C(1) << 32) - 10,
                      .patience_ns = INT64_C(20000000000)};
}

static void assert_right(const queue_work *work, const queue_counts *counts) {
  const int64_t putting = work->halves ? work->blocks / 2 : work->blocks;
  if (work->kind % 2 == 0 && work->kind != QUEUE_RING && counts->refused > 0)
    return; /* a listed index queue may be stuck for good */
  ck_assert_int_eq(counts->is_stuck, 0);
  ck_assert_int_eq(counts->put, putting * (int64_t)work->each);
  ck_assert_int_eq(counts->lost, 0);
  ck_assert_int_eq(counts->twice, 0);
  ck_assert_int_le(counts->taken, counts->put);
}

TESTS(threads_lose_nothing, QUEUE_KINDS) {
  const bool is_listed = queue_is_listed((queue_kind)_i);
  for (int halves = 0; halves < (is_listed ? 1 : 2); ++halves) /* a listed queue that fills stops */
    for (uint32_t batch = 1; batch <= 32; batch *= 32) {
      queue_work work = work_of(_i, 4, batch, halves);
      work.each = (uint64_t)ROUNDS(3200);
      work.size = is_listed ? 4 * work.each : work.size;
      queue_counts counts;
      ck_assert_int_eq(queue_host_work(&work, &counts, NULL), PREM_OK);
      assert_right(&work, &counts);
    }
}

#ifdef EMULATED_GPU
TESTS(warps_lose_nothing, QUEUE_KINDS) {
  const bool is_listed = queue_is_listed((queue_kind)_i);
  for (int halves = 0; halves < (is_listed ? 1 : 2); ++halves)
    for (uint32_t batch = 1; batch <= 32; batch *= 4) {
      queue_work work = work_of(_i, 4, batch == 16 ? 32 : batch, halves);
      work.each = 8 * work.batch;
      queue_counts counts;
      ck_assert_int_eq(prem_gpu_queue_work(&work, &counts, NULL), PREM_OK);
      assert_right(&work, &counts);
      ck_assert_int_gt(counts.taken, 0);
    }
}

/* Tickets that are kept: hardly any room. */
TESTS(a_ring_of_two_gets_all_through, 2) {
  queue_work work = work_of(QUEUE_RING, 8, 32, _i);
  work.size = 2;
  work.each = 64;
  queue_counts counts;
  ck_assert_int_eq(prem_gpu_queue_work(&work, &counts, NULL), PREM_OK);
  assert_right(&work, &counts);
  ck_assert_int_gt(counts.refused, 0);
}
#endif

static queue_counts fill(int kind, uint64_t size, uint64_t more, uint64_t first) {
  queue_work work = work_of(kind, 1, 1, false);
  work.size = size * queue_part_count((queue_kind)kind, 1);
  work.each = work.size + more;
  work.first = first;
  work.patience_ns = 1000000;
  queue_counts counts;
  ck_assert_int_eq(queue_host_fill(&work, work.each, &counts), PREM_OK);
  return counts;
}

TESTS(one_thread_shows_what_a_listing_forgets, only_threads() ? 0 : QUEUE_KINDS) {
  const bool is_listed = queue_is_listed((queue_kind)_i);
  const bool is_index = _i == QUEUE_INDEX_LISTED || _i == QUEUE_BUCKETS_LISTED;
  const queue_counts refused = fill(_i, 16, 3, 0), wraps = fill(_i, 16, 0, UINT32_MAX - 5);
  ck_assert_int_eq(refused.is_stuck, is_index);
  ck_assert_int_eq(refused.put, 16 * queue_part_count((queue_kind)_i, 1));
  ck_assert_int_eq(refused.twice, 0);
  ck_assert_int_eq(refused.lost > 0,
                   _i == QUEUE_BUCKETS_LISTED); /* the second bucket is not looked at */
  ck_assert_int_eq(wraps.is_stuck + wraps.lost + wraps.twice, 0);
  ck_assert_int_eq(wraps.taken, wraps.put);
  if (is_listed)
    ck_assert_int_eq(fill(_i, 12, 0, UINT32_MAX - 5).is_stuck, 1);
}
