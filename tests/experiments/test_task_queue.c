/* SPDX-License-Identifier: Apache-2.0 */
/* Experiment task_queue: what the tasks are, and on the emulated GPU that every way works all of
 * them. */
/* ctest: threads */
#include "experiments/machine/task_queue/products.h"

#include "tests/common/running.h"
#include "tests/common/suite.h"

static product_run run_of(int way) {
  product_run run = {.way = (product_way)way,
                     .threads = PRODUCT_FLOATS,
                     .patience_ns = INT64_C(60000000000),
                     .turns = 3};
  product_rights(&run);
  return run;
}

/* In whole numbers: factors are sixteenths. Then no order of sums, and no fused sum, changes a bit.
 */
TEST(sums_are_exact) {
  const product_run run = run_of(PRODUCT_LOOP);
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task)
    for (uint32_t i = 0; i < PRODUCT_FLOATS; ++i) {
      int64_t sum = 0;
      for (uint32_t k = 0; k < PRODUCT_SIDE; ++k) {
        const float a = product_factor(task, i / PRODUCT_SIDE * PRODUCT_SIDE + k);
        const float b = product_factor(task, PRODUCT_FLOATS + k * PRODUCT_SIDE + i % PRODUCT_SIDE);
        sum += (int64_t)(a * 16) * (int64_t)(b * 16);
      }
      ck_assert(run.right[task][i] == (float)sum / 256);
    }
}

TEST(tasks_differ) {
  const product_run run = run_of(PRODUCT_LOOP);
  for (uint32_t task = 1; task < PRODUCT_TASKS; ++task) {
    uint32_t same = 0;
    for (uint32_t i = 0; i < PRODUCT_FLOATS; ++i)
      same += run.right[task][i] == run.right[task - 1][i];
    ck_assert_uint_lt(same, PRODUCT_FLOATS);
    ck_assert_int_ne(product_extra(task, 5), product_extra(task - 1, 5));
  }
}

TEST(a_stride_holds_all) {
  product_run run = run_of(PRODUCT_QUEUE);
  ck_assert_uint_eq(product_stride(&run), 3 * 1024);
  run.extra = 1 << 20;
  ck_assert_uint_eq(product_stride(&run), (1 << 20) + 3 * 1024);
  run.distance = 10 << 20;
  ck_assert_uint_eq(product_stride(&run), 10 << 20);
}

#ifdef EMULATED_GPU
TESTS(every_way_works_all_tasks, PRODUCT_WAYS) {
  for (uint64_t extra = 0; extra <= 512; extra += 512)
    for (uint64_t distance = 0; distance <= 8192; distance += 8192) {
      product_run run = run_of(_i);
      product_result result;
      int64_t ns[3] = {0};
      run.extra = extra;
      run.distance = distance;
      run.threads = extra == 0 ? PRODUCT_FLOATS : 64;
      const prem_status status = prem_gpu_products(&run, ns, &result, NULL);
      if (_i == PRODUCT_GRAPH) { /* the emulated GPU's graphs do not copy */
        ck_assert_int_eq(status, PREM_ERR_UNAVAILABLE);
        continue;
      }
      ck_assert_int_eq(status, PREM_OK);
      ck_assert(result.ok);
      ck_assert_int_eq(result.turns, 3);
      ck_assert_int_gt(ns[2], 0);
    }
}

TESTS(what_is_wrong_is_told, PRODUCT_WAYS) {
  product_run run = run_of(_i);
  product_result result;
  int64_t ns[3];
  run.right[7][9] += 1;
  if (_i == PRODUCT_GRAPH)
    return;
  ck_assert_int_eq(prem_gpu_products(&run, ns, &result, NULL), PREM_OK);
  ck_assert(!result.ok);
  ck_assert_int_eq(result.turns, 1);
}

/* Blocks that wait for nothing leave, and so does the host. */
TESTS_FROM(who_has_no_patience_ends, PRODUCT_QUEUE, PRODUCT_WAYS) {
  product_run run = run_of(_i);
  product_result result;
  int64_t ns[3];
  run.patience_ns = -1;
  ck_assert_int_eq(prem_gpu_products(&run, ns, &result, NULL), PREM_OK);
  ck_assert_int_ge(result.turns, 1);
}

TEST(one_thread_multiplies) {
  enum { SIDE = 24, ALL = SIDE * SIDE };
  float factors[2 * ALL], product[ALL];
  int64_t ns;
  for (uint32_t i = 0; i < 2 * ALL; ++i)
    factors[i] = product_factor(SIDE, i);
  ck_assert_int_eq(prem_gpu_one_thread(SIDE, factors, product, &ns, NULL), PREM_OK);
  ck_assert_int_gt(ns, 0);
  for (uint32_t i = 0; i < ALL; ++i)
    ck_assert(product[i] == product_element(factors, factors + ALL, SIDE, i / SIDE, i % SIDE));
}
#endif
