/* SPDX-License-Identifier: Apache-2.0 */
/* The order of walks: every node once, whatever their number. */

#include "experiments/common/walk_order.h"
#include "tests/common/suite.h"

static const uint32_t node_counts[] = {2, 3, 4, 5, 16, 17, 1000, 4096, 65537, 300000};
enum { COUNTS = sizeof node_counts / sizeof node_counts[0] };

GROUP("order");

TESTS(a_walk_visits_every_node_once, COUNTS) {
  const uint32_t nodes = node_counts[_i];
  for (int random = 0; random < 2; ++random)
    for (uint64_t seed = 0; seed < 3; ++seed) {
      unsigned char *seen = calloc(nodes, 1);
      uint32_t wrong = 0;
      for (uint32_t visit = 0; visit < nodes; ++visit) {
        const uint32_t node = prem_walk_node(visit, nodes, random, seed);
        wrong += node >= nodes || seen[node]++ > 0;
      }
      ck_assert_uint_eq(wrong, 0);
      free(seen);
    }
}

TEST(a_sequential_walk_goes_in_order) {
  for (uint32_t visit = 0; visit < 100; ++visit)
    ck_assert_uint_eq(prem_walk_node(visit, 100, 0, 7), visit);
}

/** Neighbours are rare, and another seed is another order. */
TEST(a_random_walk_jumps) {
  enum { NODES = 10000 };
  int neighbours = 0, same = 0;
  for (uint32_t visit = 0; visit + 1 < NODES; ++visit) {
    const uint32_t node = prem_walk_node(visit, NODES, 1, 1);
    const int64_t jump = (int64_t)prem_walk_node(visit + 1, NODES, 1, 1) - node;
    neighbours += llabs(jump) <= 4;
    same += prem_walk_node(visit, NODES, 1, 2) == node;
  }
  ck_assert_int_lt(neighbours, 40);
  ck_assert_int_lt(same, 20);
}

TEST(threads_begin_evenly_spread) {
  ck_assert_uint_eq(prem_walk_first_visit(0, 32, 4096), 0);
  ck_assert_uint_eq(prem_walk_first_visit(31, 32, 4096), 31 * 128);
  ck_assert_uint_eq(prem_walk_first_visit(1023, 1024, 32), 31); /* more threads than nodes */
  ck_assert_uint_lt(prem_walk_first_visit(1023, 1024, UINT32_MAX), UINT32_MAX);
}
