/* SPDX-License-Identifier: Apache-2.0 */
/* Experiment execution_models: every model works every item once, with threads, and on the emulated
 * GPU with warps; rings and stacks that are too small lose nothing in silence. */
/* ctest: threads */
#include "experiments/machine/execution_models/world.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SIZES = 5 };

static const model_work small[MODEL_WORKLOADS] = {
    {MODEL_SHIPS, 3, 24}, {MODEL_REYES, 2, 3}, {MODEL_QUEENS, 8, 64}, {MODEL_FIELD, 6, 40}};

static model_run run_of(const model_work *work, int kind, uint64_t *items) {
  model_run run = {.work = *work,
                   .kind = (model_kind)kind,
                   .threads = 3,
                   .blocks = 1,
                   .room = 2,
                   .patience_ns = INT64_C(60000000000),
                   .turns = 2};
  uint64_t counts[MODEL_STAGES];
  ck_assert_int_eq(model_reference(work, &run.right, counts), PREM_OK);
  *items = 0;
  for (int stage = 0; stage < MODEL_STAGES; ++stage) {
    *items += counts[stage];
    while (run.room < counts[stage])
      run.room *= 2;
  }
  run.ring_room = run.room;
  return run;
}

static bool is_on_cpu(int kind) {
  return kind == MODEL_STAGE_BY_STAGE || kind >= MODEL_POOL;
}

TESTS(threads_work_all_items, MODEL_KINDS) {
  for (int workload = 0; workload < MODEL_WORKLOADS; ++workload)
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
      uint64_t items;
      model_run run = run_of(&small[workload], _i, &items);
      model_result result;
      int64_t ns[2];
      run.threads = threads;
      if (!is_on_cpu(_i))
        continue;
      ck_assert_int_eq(model_host_run(&run, ns, &result, NULL), PREM_OK);
      ck_assert_msg(result.ok, "model %d, workload %d", _i, workload);
      ck_assert_uint_eq(result.full, 0);
      ck_assert_int_eq(result.turns, 2);
      ck_assert_uint_le(result.most, items);
      ck_assert_int_gt(ns[0], 0);
      ck_assert_int_gt(ns[1], 0);
    }
}

/* Who finds a ring empty takes items to begin with, whatever stage the ring was of. */
TESTS_FROM(many_turns_of_threads_that_come_and_go, MODEL_PERSISTENT, MODEL_KINDS) {
  enum { TURNS = 40 };
  const model_work work = {MODEL_SHIPS, 2, 300};
  uint64_t items;
  model_run run = run_of(&work, _i, &items);
  model_result result;
  int64_t ns[TURNS];
  run.threads = 4;
  run.turns = (int32_t)ROUNDS(TURNS);
  ck_assert_int_eq(model_host_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert(result.ok);
}

/* What finds no room in a ring stays with the worker, and is worked all the same. */
TESTS(a_full_ring_loses_nothing, MODEL_WORKLOADS) {
  uint64_t items;
  model_run run = run_of(&small[_i], MODEL_MEGAKERNEL, &items);
  model_result result;
  int64_t ns[2];
  run.ring_room = 2;
  ck_assert_int_eq(model_host_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert(result.ok);
  if (_i != MODEL_FIELD && _i != MODEL_SHIPS) /* those make at most as many at once */
    ck_assert_uint_gt(result.full, 0);
}

/* Arrays that are too small: it ends after this turn, says so, and writes nowhere else. */
TESTS(a_full_array_is_told, only_threads() ? 0 : MODEL_WORKLOADS) {
  uint64_t items;
  model_run run = run_of(&small[_i], MODEL_STAGE_BY_STAGE, &items);
  model_result result;
  int64_t ns[2];
  run.room /= 2;
  ck_assert_int_eq(model_host_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert(!result.ok);
  ck_assert_int_eq(result.turns, 1);
  ck_assert_uint_gt(result.full, 0);
}

TESTS(who_has_no_patience_ends, MODEL_KINDS) {
  uint64_t items;
  model_run run = run_of(&small[MODEL_REYES], _i, &items);
  model_result result;
  int64_t ns[2];
  run.patience_ns = -1;
  if (!is_on_cpu(_i))
    return;
  ck_assert_int_eq(model_host_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert(!result.ok);
  ck_assert_int_eq(result.turns, 1);
}

/* Sums that do not change with an item more or less would find nothing. */
TESTS(sums_know_every_item, only_threads() ? 0 : 1) {
  uint64_t counts[MODEL_STAGES];
  for (int workload = 0; workload < MODEL_WORKLOADS; ++workload) {
    model_work work = small[workload];
    model_sums all, fewer;
    ck_assert_int_eq(model_reference(&work, &all, counts), PREM_OK);
    work.roots -= workload == MODEL_QUEENS ? 3 : 1;
    ck_assert_int_eq(model_reference(&work, &fewer, counts), PREM_OK);
    ck_assert_uint_ne(all.checksum, fewer.checksum);
  }
}

/* Those who count them have published how many ways there are (OEIS A000170). */
TESTS(queens_are_placed_as_often_as_is_known, only_threads() ? 0 : 1) {
  static const uint64_t known[SIZES] = {4, 40, 92, 352, 724}; /* of 6 to 10 */
  for (uint32_t i = 0; i < SIZES; ++i) {
    const model_work work = {MODEL_QUEENS, 6 + i, (6 + i) * (6 + i)};
    model_sums sums;
    uint64_t counts[MODEL_STAGES];
    ck_assert_int_eq(model_reference(&work, &sums, counts), PREM_OK);
    ck_assert_uint_eq(sums.value, known[i]);
  }
}

/* The field is covered: the samples' squares have its area. */
TESTS(a_field_is_cut_without_gaps, only_threads() ? 0 : 1) {
  uint64_t stack[256], count = 0, area = 0;
  const model_work work = {MODEL_FIELD, 8, 256};
  for (uint32_t root = 0; root < work.roots; ++root) {
    stack[count++] = model_root(&work, root);
    while (count > 0) {
      const uint64_t item = stack[--count];
      const uint64_t side = (uint64_t)MODEL_SIDE >> model_depth(item);
      area += model_stage_in(item) == 1 ? side * side : 0;
      for (uint32_t which = 0; model_stage_in(item) == 0 && which < 4; ++which) {
        const uint64_t child = model_child(MODEL_FIELD, item, which, work.size);
        if (child != MODEL_NONE)
          stack[count++] = child;
      }
    }
  }
  ck_assert_uint_eq(area, (uint64_t)MODEL_SIDE * MODEL_SIDE);
}

/* On a GPU a warp has an eighth of a block's scratchpad, and its lanes are shared out evenly. */
TESTS(input_fits_the_scratchpad, only_threads() ? 0 : 1) {
  for (int workload = 0; workload < MODEL_WORKLOADS; ++workload)
    for (int stage = 0; stage < MODEL_STAGES; ++stage) {
      const model_stage of = model_stage_of(workload, stage);
      const uint32_t items = of.lanes == 0 || of.lanes > 32 ? 1 : 32 / of.lanes;
      ck_assert_uint_le(items * of.input_words * 4, of.scratch_bytes / 8);
      ck_assert_uint_le(of.live, MODEL_LIVE);
      ck_assert(of.lanes == 0 || 32 % of.lanes == 0 || of.lanes % 32 == 0);
    }
}

#ifdef EMULATED_GPU
TESTS(warps_work_all_items, MODEL_KINDS *MODEL_WORKLOADS) {
  const int kind = _i / MODEL_WORKLOADS, workload = _i % MODEL_WORKLOADS;
  uint64_t items;
  model_run run = run_of(&small[workload], kind, &items);
  model_result result;
  int64_t ns[2];
  if (kind == MODEL_POOL)
    return;
  run.threads = 64;
  if (kind == MODEL_GRAPHS || kind == MODEL_NESTED) { /* the emulated GPU launches nothing itself */
    ck_assert_int_eq(prem_gpu_model_run(&run, ns, &result, NULL), PREM_ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(result.why);
    return;
  }
  ck_assert_int_eq(prem_gpu_model_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert_msg(result.ok, "model %d, workload %d", kind, workload);
  ck_assert_uint_le(result.most, items);
  ck_assert_uint_gt(result.launches, 0);
}

TESTS(warps_lose_nothing_to_a_full_ring, MODEL_WORKLOADS) {
  uint64_t items;
  model_run run = run_of(&small[_i], MODEL_MEGAKERNEL, &items);
  model_result result;
  int64_t ns[2];
  run.threads = 64;
  run.ring_room = 2;
  ck_assert_int_eq(prem_gpu_model_run(&run, ns, &result, NULL), PREM_OK);
  ck_assert(result.ok);
  ck_assert_uint_gt(result.full, 0);
}
#endif
