/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's lane loops of kernel.h, one thread after the other on the CPU: every element of the
 * loop belongs to exactly one lane. */
#include <stdint.h>

/* kernel.h as nvcc sees it, with threads that are numbers */
static struct { unsigned x; } threadIdx, blockDim;
#define __CUDACC__ 1
#define __device__
#define __forceinline__ inline
/* the GPU's fast division, at either end of its error of two units in the last place */
static float quotient_error = -2.4e-7F;
static float quotient_far(float a, float b) {
  return a / b * (1.0F + quotient_error);
}
#define __fdividef quotient_far
#include "ttprem/kernel.h"

#include "tests/common/suite.h"

enum { MAX = 70 };

static unsigned char visits[MAX * MAX];
static int visit_count;

static void visit(int32_t row, int32_t column) {
  if (row < 0 || row >= MAX || column < 0 || column >= MAX)
    ck_abort_msg("(%d, %d) is outside", (int)row, (int)column);
  ++visits[row * MAX + column];
  ++visit_count;
}

static void lane_in_line(int32_t n) {
  PREM_LANES(i, n) {
    visit(0, i);
  }
}

static void lane_in_rectangle(int32_t rows, int32_t columns) {
  PREM_LANES_2D(row, rows, column, columns) {
    visit(row, column);
  }
}

static void assert_all_once(int32_t rows, int32_t columns) {
  ck_assert_int_eq(visit_count, rows * columns);
  int wrong = 0;
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < columns; ++column)
      wrong += visits[row * MAX + column] != 1;
  ck_assert_msg(wrong == 0, "%d lanes, %d x %d: %d wrong", (int)PREM_LANE_COUNT, (int)rows,
                (int)columns, wrong);
  memset(visits, 0, sizeof visits);
  visit_count = 0;
}

static const unsigned lane_counts[] = {1, 2, 31, 32, 64, 96, 480};

TESTS(a_line_is_shared_without_gap, sizeof lane_counts / sizeof *lane_counts) {
  blockDim.x = lane_counts[_i] + PREM_MEMORY_THREADS;
  for (int32_t n = 0; n <= MAX; ++n) {
    for (threadIdx.x = PREM_MEMORY_THREADS; threadIdx.x < blockDim.x; ++threadIdx.x)
      lane_in_line(n);
    assert_all_once(1, n);
  }
}

TESTS(a_rectangle_is_shared_without_gap, sizeof lane_counts / sizeof *lane_counts) {
  blockDim.x = lane_counts[_i] + PREM_MEMORY_THREADS;
  for (int32_t rows = 0; rows <= MAX; rows += 7)
    for (int32_t columns = 1; columns <= MAX; columns += columns < 4 ? 1 : 5) {
      for (threadIdx.x = PREM_MEMORY_THREADS; threadIdx.x < blockDim.x; ++threadIdx.x)
        lane_in_rectangle(rows, columns);
      assert_all_once(rows, columns);
    }
}

/* Around every multiple: the last one that belongs to it, and the first of the next. */
TESTS(quotients_are_exact, 2) {
  static const int32_t divisors[] = {1, 2, 3, 7, 33, 96, 1000, 1023, 65537, 1 << 20, (1 << 24) - 1};
  enum { MAX_DIVIDED = 1 << 20 };
  quotient_error = _i ? 2.4e-7F : -2.4e-7F;
  for (size_t d = 0; d < sizeof divisors / sizeof *divisors; ++d)
    for (int32_t multiple = 0; multiple <= MAX_DIVIDED; multiple += divisors[d]) {
      const int32_t b = divisors[d], last = multiple + b - 1;
      const int32_t a = last < MAX_DIVIDED ? last : MAX_DIVIDED;
      if (prem_lane_quotient(multiple, b) != multiple / b || prem_lane_quotient(a, b) != a / b)
        ck_abort_msg("%d or %d / %d is not exact", (int)multiple, (int)a, (int)b);
    }
}
