/* SPDX-License-Identifier: Apache-2.0 */
/* The use of resources over time, against small plans worked out by hand; and what a picture of a
 * plan refuses. */
#include "measure/resource_usage.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

static void assert_use(const char *source, int32_t resource, const prem_usage_step *expected,
                       int64_t expected_count) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  FREED prem_slot *slots = NULL;
  FREED prem_usage_step *steps = NULL;
  int64_t count = 0, step_count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  ck_assert_int_eq(prem_plan_resource_usage(schedule, slots, count, resource, &steps, &step_count),
                   PREM_OK);
  for (int64_t i = 0; i < step_count && i < expected_count; ++i) {
    ck_assert_int_eq(steps[i].at_ns, expected[i].at_ns);
    ck_assert_int_eq(steps[i].used, expected[i].used);
  }
  ck_assert_int_eq(step_count, expected_count);
}

#define ASSERT_USE(source, resource, ...)                                                          \
  assert_use(source, resource, (const prem_usage_step[]){__VA_ARGS__},                             \
             (int64_t)(sizeof((const prem_usage_step[]){__VA_ARGS__}) / sizeof(prem_usage_step)))

/** Two blocks; a phase of `a` holds memory for 4 of its 5 ns, one of `b` both resources. */
static const char *two_tasks(const char *per) {
  return text(
      "version = 1; name = \"use\";\n"
      "platform: { blocks = 3; resources = ( { name = \"memory\"; capacity = 4; per = \"%s\"; },\n"
      "  { name = \"h2d\"; capacity = 2; } ); };\n"
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;\n"
      "    prefetch: { wcet_ns = 5L; busy_ns = 4L; }; compute: { wcet_ns = 10L; }; },\n"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;\n"
      "    prefetch: { wcet_ns = 8L; demand: { memory = 2; h2d = 1; }; };\n"
      "    compute: { wcet_ns = 2L; }; } );\n"
      "plan: { hyperperiod_ns = 40L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; count = 2; block_step_ns = 2L; start_ns = 1L; },\n"
      "  { task = \"a\"; phase = \"compute\"; count = 2; block_step_ns = 2L; start_ns = 6L; },\n"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 4L; },\n"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 12L; } ); };\n",
      per);
}

/* a holds 1 in [1, 5) and in [3, 7), b holds 2 in [4, 12). */
TEST(blocks_add_up) {
  ASSERT_USE(two_tasks("block"), 0, {0, 0}, {1, 1}, {3, 2}, {4, 4}, {5, 3}, {7, 2}, {12, 0});
}

TEST(the_blocks_of_a_gang_count_once) {
  ASSERT_USE(two_tasks("task"), 0, {0, 0}, {1, 1}, {4, 3}, {7, 2}, {12, 0});
}

TEST(each_resource_has_its_own_demand) {
  ASSERT_USE(two_tasks("block"), 1, {0, 0}, {4, 1}, {12, 0});
}

static const char *one_task(const char *task_keys, const char *plan_runs) {
  return text("version = 1; name = \"use\";\n"
              "platform: { blocks = 1; buffers = 2;\n"
              "  resources = ( { name = \"memory\"; capacity = 3; } ); };\n"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; %s\n"
              "    prefetch: { wcet_ns = 6L; demand: { memory = 1; }; };\n"
              "    compute: { wcet_ns = 10L; };\n"
              "    writeback: { wcet_ns = 4L; demand: { memory = 3; }; }; } );\n"
              "plan: { hyperperiod_ns = 100L; runs = ( %s ); };\n",
              task_keys, plan_runs);
}

/* The chain is released at 10; its writeback ends at 30 at the latest and may come any time before,
 * so the larger demand is held from the release on. */
TEST(a_chain_holds_what_may_still_come) {
  ASSERT_USE(one_task("tiles = 1;", "{ task = \"a\"; phase = \"prefetch\"; start_ns = 10L;"
                                    "  chain = [ \"compute\", \"writeback\" ]; }"),
             0, {0, 0}, {10, 3}, {30, 0});
}

static const char joined_runs[] =
    "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; },"
    "{ task = \"a\"; phase = \"compute\"; start_ns = 6L; repeat = 2; step_ns = 24L; },"
    "{ task = \"a\"; phase = \"prefetch\"; start_ns = 20L; tile = 1; join: { tile = 0; }; },"
    "{ task = \"a\"; phase = \"writeback\"; start_ns = 50L; tile = 1; }";

/* Both lengths, once the larger demand. */
TEST(a_joined_pair_counts_once) {
  ASSERT_USE(one_task("tiles = 2;", joined_runs), 0, {0, 1}, {6, 0}, {20, 3}, {30, 0}, {50, 3},
             {54, 0});
}

TEST(a_joined_pair_has_its_own_length_where_given) {
  ASSERT_USE(
      one_task("tiles = 2; joined: { wcet_ns = 9L; busy_ns = 7L; demand: { memory = 2; }; };",
               joined_runs),
      0, {0, 1}, {6, 0}, {20, 2}, {27, 0}, {50, 3}, {54, 0});
}

/* Even if they start together, and are listed one behind the other. */
TEST(two_copies_that_are_not_joined_add_up) {
  ASSERT_USE(
      one_task(
          "tiles = 2;",
          "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 2; step_ns = 20L; },"
          "{ task = \"a\"; phase = \"writeback\"; start_ns = 20L; repeat = 2; step_ns = 30L; },"
          "{ task = \"a\"; phase = \"compute\"; start_ns = 6L; repeat = 2; step_ns = 24L; }"),
      0, {0, 1}, {6, 0}, {20, 4}, {24, 1}, {26, 0}, {50, 3}, {54, 0});
}

/* Writeback [98, 102) of a hyperperiod of 100. */
TEST(what_goes_on_in_the_next_hyperperiod_is_held_at_its_start) {
  ASSERT_USE(one_task("tiles = 1; period_ns = 100L; release_ns = 50L;",
                      "{ task = \"a\"; phase = \"prefetch\"; start_ns = 50L; },"
                      "{ task = \"a\"; phase = \"compute\"; start_ns = 60L; },"
                      "{ task = \"a\"; phase = \"writeback\"; start_ns = 98L; }"),
             0, {0, 3}, {2, 0}, {50, 1}, {56, 0}, {98, 3}, {100, 0});
}

TEST(warm_up_holds_nothing) {
  const char *source =
      text("version = 1; name = \"use\"; platform: { blocks = 1; };\n"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;\n"
           "  prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 3L; }; } );\n"
           "plan: { hyperperiod_ns = 60L; warmup_tiles = 1; warmup_ns = 20L; runs = (\n"
           "  { task = \"a\"; phase = \"prefetch\"; start_ns = 20L; tile = 1; },\n"
           "  { task = \"a\"; phase = \"compute\"; start_ns = 30L; tile = 1; } ); };\n");
  ASSERT_USE(source, 0, {0, 0}, {20, 1}, {25, 0});
}

/* ---- what a picture refuses ----------------------------------------------------------------- */

TEST(another_extension_is_refused) {
  OWNED(prem_schedule) *schedule = schedule_from_text(two_tasks("block"));
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_plan_draw(schedule, "/tmp/plan.bmp", NULL, diag), PREM_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, ".svg, .png or .pdf"));
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0);
}

TEST(without_a_plan_there_is_nothing_to_draw) {
  OWNED(prem_schedule) *schedule = schedule_from_text(two_tasks("block"));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule_set_plan(schedule, NULL);
  ck_assert_int_eq(prem_plan_draw(schedule, "/tmp/plan.svg", NULL, diag), PREM_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "no plan"));
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0);
}
