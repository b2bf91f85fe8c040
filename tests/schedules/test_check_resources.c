/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: units, buffers, resources, the wrap, guards, supply, scratchpad, arrays; each rule
 * with its legal twin one step away. */
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

/* A run of one phase of a task with one tile. */
static const char *at(const char *task, const char *phase, int start) {
  return text("{ task = \"%s\"; phase = \"%s\"; start_ns = %dL; }", task, phase, start);
}

/* An abstract task with one tile on one block. */
static const char *task_on(const char *name, int block, const char *settings) {
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1; %s }", name, block,
              settings);
}

/* ---- units of a block ----------------------------------------------------------------------- */

static const char *two_computes(int second) {
  return file_of("blocks = 1; buffers = 2;",
                 text("%s, %s", task_on("a", 0, "compute: { wcet_ns = 10L; };"),
                      task_on("b", 0, "compute: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "compute", 0),
                      at("b", "compute", second)));
}

GROUP("units");

TEST(two_computes_overlap_on_a_block) {
  assert_twins(36,
               "two computes overlap on block 0 in [9, 10): compute of 'a' tile 0 on block 0 and "
               "compute of 'b' tile 0 on block 0; start the second at 10 or later",
               two_computes(9), two_computes(10));
}

static const char *fetch_and_store(int second) {
  return file_of("blocks = 1; buffers = 2; resources = ( { name = \"memory\"; capacity = 2; } );",
                 text("%s, %s", task_on("a", 0, "prefetch: { wcet_ns = 10L; };"),
                      task_on("b", 0, "writeback: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 0),
                      at("b", "writeback", second)));
}

TEST(two_memory_phases_overlap_on_a_block) {
  assert_twins(36, "two memory phases overlap on block 0 in [9, 10)", fetch_and_store(9),
               fetch_and_store(10));
}

/* Tile n + 1 is fetched while tile n - 1 is written: one start for both. */
static const char *joined_plan(int buffers, int capacity, int step) {
  return file_of(
      text("blocks = 2; buffers = %d; resources = ( { name = \"memory\"; capacity = %d; } );",
           buffers, capacity),
      text("%s, %s",
           "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 6;"
           " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 12L; };"
           " writeback: { wcet_ns = 5L; }; }",
           task_on("m", 1, "prefetch: { wcet_ns = 2L; };")),
      text("hyperperiod_ns = 1000L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; step_ns = %dL;"
           "  repeat = 8; join: { tile = -2; }; },"
           "{ task = \"a\"; phase = \"compute\"; start_ns = 15L; step_ns = %dL;"
           "  repeat = 6; }, %s );",
           step, step, at("m", "prefetch", 900)));
}

TEST(joined_phases_are_one) {
  assert_legal(joined_plan(2, 1, 15));
  assert_refused(36, "joined with writeback of 'a' tile 0 on block 0", joined_plan(2, 1, 14));
  assert_refused(39, "live tiles (buffers) of block 0: 3 in use in [15, ", joined_plan(1, 1, 15));
}

/* One pair on block 0 from 0; b fetches on block 2. `pair` is joined's settings of task a; the
 * writeback is of task w. */
static const char *pair_beside(const char *writer, const char *pair, int second) {
  return file_of(
      "blocks = 3; buffers = 2; resources = ( { name = \"memory\"; capacity = 3; } );",
      text("%s, %s, %s",
           task_on("a", 0,
                   text("prefetch: { wcet_ns = 10L; }; writeback: { wcet_ns = 5L;"
                        " demand: { memory = 2; }; }; %s",
                        pair)),
           task_on("w", 0, "writeback: { wcet_ns = 5L; demand: { memory = 2; }; };"),
           task_on("b", 2, "prefetch: { wcet_ns = 10L; demand: { memory = 2; }; };")),
      text("hyperperiod_ns = 200L; runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = 0L;"
           " join: { task = \"%s\"; tile = 0; }; }, %s, %s );",
           writer, at(strcmp(writer, "w") ? "w" : "a", "writeback", 100),
           at("b", "prefetch", second)));
}

TEST(a_pair_holds_both_lengths_and_the_larger_demand) {
  assert_twins(37,
               "memory: 4 in use in [14, 15), the limit is 3: prefetch of 'a' tile 0 joined with "
               "writeback of 'w' tile 0 on block 0",
               pair_beside("w", "", 14), pair_beside("w", "", 15));
}

TEST(a_pair_of_one_task_holds_what_joined_says) {
  const char *joined = "joined: { wcet_ns = 14L; busy_ns = 8L; demand: { memory = 2; }; };";
  const char *message = "memory: 4 in use in [7, 8), the limit is 3";
  prem_diag *diag = verdict_on(pair_beside("a", joined, 7));
  assert_says(diag, 37, message);
  prem_diag_free(diag);
  diag = verdict_on(pair_beside("a", joined, 8));
  ck_assert(!prem_diag_has(diag, 37)); /* a's writeback comes with its own prefetch: E035 alone */
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  assert_says(diag, 35, "writeback of 'a' tile 0 joined with prefetch");
  prem_diag_free(diag);
}

/* ---- resources ------------------------------------------------------------------------------ */

static const char *three_fetches(int capacity, int third) {
  return file_of(
      text("blocks = 3; resources = ( { name = \"memory\"; capacity = %d; } );", capacity),
      text("%s, %s, %s", task_on("a", 0, "prefetch: { wcet_ns = 10L; };"),
           task_on("b", 1, "prefetch: { wcet_ns = 20L; };"),
           task_on("c", 2, "prefetch: { wcet_ns = 10L; };")),
      text("hyperperiod_ns = 100L; runs = ( %s, %s, %s );", at("a", "prefetch", 0),
           at("b", "prefetch", 5), at("c", "prefetch", third)));
}

GROUP("resources");

TEST(a_capacity_is_exceeded) {
  assert_twins(37,
               "memory: 3 in use in [9, 10), the limit is 2: prefetch of 'a' tile 0 on block 0, "
               "prefetch of 'b' tile 0 on block 1, prefetch of 'c' tile 0 on block 2; start the "
               "last of them at 10 or later",
               three_fetches(2, 9), three_fetches(2, 10));
  assert_legal(three_fetches(3, 6));
  OWNED(prem_diag) *diag = verdict_on(three_fetches(1, 24));
  assert_says(diag, 37, "memory: 2 in use in [5, 10)");
  assert_says(diag, 37, "memory: 2 in use in [24, 25)");
  ck_assert_uint_eq(prem_diag_errors(diag), 2);
}

/* b uses the bus for its compute, a for its prefetch beside the memory. */
static const char *declared_demand(int second, int demand) {
  return file_of(
      "blocks = 2; resources = ( { name = \"memory\"; }, { name = \"bus\"; capacity = 3; } );",
      text("%s, %s",
           task_on("a", 0, "prefetch: { wcet_ns = 10L; demand: { memory = 1; bus = 2; }; };"),
           task_on("b", 1, text("compute: { wcet_ns = 10L; demand: { bus = %d; }; };", demand))),
      text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 0),
           at("b", "compute", second)));
}

TEST(declared_demands_add_up) {
  assert_twins(37, "bus: 4 in use in [9, 10), the limit is 3", declared_demand(9, 2),
               declared_demand(10, 2));
  assert_legal(declared_demand(9, 1));
  assert_legal(declared_demand(9, 0));
}

TEST(a_regulated_phase_holds_its_resource_for_busy_ns) {
  const char *tasks = "%s, { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
                      " prefetch: { wcet_ns = 10L; }; }";
  const char *a = task_on("a", 0, "prefetch: { wcet_ns = 10L; busy_ns = 4L; };");
  assert_twins(37, "memory: 2 in use in [3, 4)",
               file_of("blocks = 2;", text(tasks, a),
                       text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 0),
                            at("b", "prefetch", 3))),
               file_of("blocks = 2;", text(tasks, a),
                       text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 0),
                            at("b", "prefetch", 4))));
}

/* Of seven that began at 0 the first ends at 10, where two more begin: three of those that go on
 * are named, the one that ends first before the others. */
TEST(some_of_many_are_named) {
  static const int ends_ns[] = {10, 20, 21, 40, 41, 22, 50, 60, 61};
  enum { TASKS = sizeof ends_ns / sizeof *ends_ns, FROM_START = 7 };
  const char *tasks = "", *runs = "";
  for (int t = 0; t < TASKS; ++t) {
    const int start_ns = t < FROM_START ? 0 : ends_ns[0];
    const char *name = text("t%d", t), *between = t ? ", " : "";
    tasks = text("%s%s%s", tasks, between,
                 task_on(name, t, text("prefetch: { wcet_ns = %dL; };", ends_ns[t] - start_ns)));
    runs = text("%s%s%s", runs, between, at(name, "prefetch", start_ns));
  }
  assert_only(37,
              "memory: 8 in use in [10, 20), the limit is 7: prefetch of 't1' tile 0 on block 1, "
              "prefetch of 't3' tile 0 on block 3, prefetch of 't2' tile 0 on block 2, prefetch of "
              "'t8' tile 0 on block 8 and 4 more; start the last of them at 20 or later",
              file_of("blocks = 9; resources = ( { name = \"memory\"; capacity = 7; } );", tasks,
                      text("hyperperiod_ns = 100L; runs = ( %s );", runs)));
}

/* Two gangs of three blocks each; the second block of a is one late. */
static const char *gangs(const char *per, int block_step, int second, int demand) {
  return file_of(
      text("blocks = 6; resources = ( { name = \"memory\"; capacity = 2; per = \"%s\"; } );", per),
      text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0, 1, 2 ]; tiles = 3;"
           " prefetch: { wcet_ns = 10L; demand: { memory = %d; }; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 3, 4, 5 ]; tiles = 3;"
           " prefetch: { wcet_ns = 10L; }; }",
           demand),
      text("hyperperiod_ns = 100L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; count = 3; start_ns = 0L;"
           " block_step_ns = %dL; },"
           "{ task = \"b\"; phase = \"prefetch\"; count = 3; start_ns = %dL; } );",
           block_step, second));
}

TEST(the_blocks_of_a_gang_count_once) {
  assert_legal(gangs("task", 0, 0, 1));
  assert_refused(37, "memory: 3 in use in [0, 10)", gangs("block", 0, 20, 1));
  /* a holds 2 in [0, 14): with b's 1 that is too much */
  OWNED(prem_diag) *diag = verdict_on(gangs("task", 2, 13, 2));
  assert_says(diag, 37, "memory: 3 in use in [13, 14), the limit is 2");
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  assert_legal(gangs("task", 2, 14, 2));
}

/* A gang's demand is that of its largest active phase: 2 while a's prefetches last. */
TEST(a_gang_takes_its_largest_demand) {
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
                      " prefetch: { wcet_ns = 10L; demand: { memory = 2; }; };"
                      " writeback: { wcet_ns = 10L; }; },"
                      "{ name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;"
                      " prefetch: { wcet_ns = 5L; }; }";
  for (int late = 0; late < 2; ++late) {
    /* block 0: PF [0, 10) WB [10, 20); block 1: PF [5, 15) WB [15, 25) */
    const char *source = file_of(
        "blocks = 3; resources = ( { name = \"memory\"; capacity = 2; per = \"task\"; } );", tasks,
        text(
            "hyperperiod_ns = 100L; runs = ("
            "{ task = \"a\"; phase = \"prefetch\"; count = 2; block_step_ns = 5L; start_ns = 0L; },"
            "{ task = \"a\"; phase = \"writeback\"; count = 2; block_step_ns = 5L; start_ns = 10L; "
            "},"
            " %s );",
            at("b", "prefetch", 14 + late)));
    if (late)
      assert_legal(source);
    else
      assert_refused(37, "memory: 3 in use in [14, 15)", source);
  }
}

/* The other way round: the gang's larger demand begins when its smaller one is under way. */
TEST(a_gang_takes_its_larger_demand_only_from_its_start) {
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
                      " prefetch: { wcet_ns = 10L; };"
                      " writeback: { wcet_ns = 10L; demand: { memory = 2; }; }; },"
                      "{ name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;"
                      " prefetch: { wcet_ns = 5L; }; }";
  /* block 0: PF [0, 10) WB [10, 20); block 1: PF [5, 15) WB [15, 25) */
  for (int late = 0; late < 2; ++late) {
    const char *source = file_of(
        "blocks = 3; resources = ( { name = \"memory\"; capacity = 2; per = \"task\"; } );", tasks,
        text(
            "hyperperiod_ns = 100L; runs = ("
            "{ task = \"a\"; phase = \"prefetch\"; count = 2; block_step_ns = 5L; start_ns = 0L; },"
            "{ task = \"a\"; phase = \"writeback\"; count = 2; block_step_ns = 5L; start_ns = 10L; "
            "},"
            " %s );",
            at("b", "prefetch", 5 + late)));
    if (late)
      assert_only(37, "memory: 3 in use in [10, 11)", source);
    else
      assert_legal(source);
  }
}

/* At 20 a's block 1 ends its prefetch of 2, so that the writeback of block 0, under way since 13,
 * counts; and b begins. It is to blame, though its slot is the first of the plan. */
TEST(what_begins_is_to_blame_and_not_what_a_gang_goes_on_with) {
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
                      " prefetch: { wcet_ns = 10L; demand: { memory = 2; }; };"
                      " writeback: { wcet_ns = 10L; }; },"
                      "{ name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;"
                      " prefetch: { wcet_ns = 5L; demand: { memory = 2; }; }; }";
  assert_only(37,
              "memory: 3 in use in [20, 23), the limit is 2: writeback of 'a' tile 0 on block 0, "
              "prefetch of 'b' tile 0 on block 2; start the last of them at 23 or later",
              file_of("blocks = 3; resources = ("
                      " { name = \"memory\"; capacity = 2; per = \"task\"; } );",
                      tasks,
                      text("hyperperiod_ns = 100L; runs = ( %s,"
                           "{ task = \"a\"; phase = \"prefetch\"; count = 2; start_ns = 0L;"
                           " block_step_ns = 10L; },"
                           "{ task = \"a\"; phase = \"writeback\"; count = 2; start_ns = 13L;"
                           " block_step_ns = 27L; } );",
                           at("b", "prefetch", 20))));
}

/* A chained writeback may come as early as the chain's release: the whole chain holds memory. */
static const char *chained(int second) {
  return file_of("blocks = 2;",
                 text("%s, %s",
                      task_on("a", 0,
                              "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
                              " writeback: { wcet_ns = 5L; };"),
                      task_on("b", 1, "prefetch: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                      " chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; }, %s );",
                      at("b", "prefetch", second)));
}

TEST(a_chain_holds_its_resources_from_its_release) {
  assert_twins(37,
               "memory: 2 in use in [34, 35), the limit is 1: prefetch of 'a' tile 0 on block 0, "
               "prefetch of 'b' tile 0 on block 1; start the last of them at 35",
               chained(34), chained(35));
}

TEST(a_chain_holds_its_resources_throughout) {
  assert_refused(37, "memory: 2 in use in [15, 20)", chained(15));
}

/* ---- the wrap ------------------------------------------------------------------------------- */

/* PF [80, 90) C [90, 115) on block 0: the compute reaches 15 into the next hyperperiod. */
static const char *wrapping_compute(int other) {
  return file_of("blocks = 1; buffers = 2;",
                 text("%s, %s", task_on("a", 0, "period_ns = 100L; compute: { wcet_ns = 25L; };"),
                      task_on("b", 0, "period_ns = 100L; compute: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "compute", 90),
                      at("b", "compute", other)));
}

GROUP("the wrap");

TEST(a_compute_wraps_into_the_next_hyperperiod) {
  assert_twins(38,
               "compute of 'a' tile 0 on block 0 wraps around the hyperperiod of 100 ns into "
               "compute of 'b' tile 0 on block 0: both hold the block in [14, 15)",
               wrapping_compute(14), wrapping_compute(15));
}

static const char *wrapping_into_itself(int wcet) {
  return file_of("blocks = 1;",
                 task_on("a", 0, text("period_ns = 100L; compute: { wcet_ns = %dL; };", wcet)),
                 text("hyperperiod_ns = 100L; runs = ( %s );", at("a", "compute", 90)));
}

TEST(a_phase_wraps_into_itself) {
  assert_twins(38, "compute of 'a' tile 0 on block 0 wraps around", wrapping_into_itself(101),
               wrapping_into_itself(100));
}

static const char *wrapping_prefetch(int other, const char *per) {
  return file_of(text("blocks = 2; resources = ( { name = \"memory\"; per = \"%s\"; } );", per),
                 text("%s, %s", task_on("a", 0, "period_ns = 100L; prefetch: { wcet_ns = 20L; };"),
                      task_on("b", 1, "period_ns = 100L; prefetch: { wcet_ns = 20L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 90),
                      at("b", "prefetch", other)));
}

TEST(a_prefetch_wraps_into_the_memory_of_another) {
  const char *message =
      "memory: 2 in use in [9, 10), the limit is 1: prefetch of 'a' tile 0 on block "
      "0 (of the hyperperiod before), prefetch of 'b' tile 0 on block 1";
  assert_twins(38, message, wrapping_prefetch(9, "block"), wrapping_prefetch(10, "block"));
  assert_twins(38, message, wrapping_prefetch(9, "task"), wrapping_prefetch(10, "task"));
}

/* a fetches until `end`; b, on another block, from 0 on. */
static const char *fetch_until(int end) {
  return file_of("blocks = 2;",
                 text("%s, %s", task_on("a", 0, "period_ns = 100L; prefetch: { wcet_ns = 20L; };"),
                      task_on("b", 1, "period_ns = 100L; prefetch: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", end - 20),
                      at("b", "prefetch", 0)));
}

TEST(one_nanosecond_beyond_the_hyperperiod_is_an_overlap) {
  assert_twins(38, "memory: 2 in use in [0, 1), the limit is 1", fetch_until(101),
               fetch_until(100));
}

TEST(an_excess_that_lasts_over_the_wrap_is_reported_once) {
  assert_only(37, "memory: 2 in use in [92, 110)", wrapping_prefetch(92, "block"));
}

/* One buffer: a's tile lives in [80, 105). */
static const char *wrapping_tile(int other) {
  return file_of("blocks = 1;",
                 text("%s, %s",
                      task_on("a", 0,
                              "period_ns = 100L; prefetch: { wcet_ns = 10L; };"
                              " compute: { wcet_ns = 15L; };"),
                      task_on("b", 0, "period_ns = 100L; prefetch: { wcet_ns = 5L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s, %s );", at("a", "prefetch", 80),
                      at("a", "compute", 90), at("b", "prefetch", other)));
}

TEST(a_tile_wraps_into_the_buffer_of_another) {
  assert_twins(38, "live tiles (buffers) of block 0: 2 in use in [4, 5), the limit is 1",
               wrapping_tile(4), wrapping_tile(5));
}

/* ---- buffers -------------------------------------------------------------------------------- */

/* Tile n: PF at n*step, C 30 after; the prefetches of later tiles come while it computes. */
static const char *tiles_with(int buffers, int tiles, int step, int compute) {
  return file_of(
      text("blocks = 1; buffers = %d;", buffers),
      text("{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = %d;"
           " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; }; }",
           tiles),
      text("hyperperiod_ns = 1000L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; repeat = %d; start_ns = 0L; step_ns = %dL; },"
           "{ task = \"a\"; phase = \"compute\"; repeat = %d; start_ns = %dL; step_ns = %dL; } );",
           tiles, step, tiles, compute, step));
}

GROUP("buffers");

TEST(one_buffer_has_one_live_tile) {
  assert_twins(39,
               "live tiles (buffers) of block 0: 2 in use in [19, 20), the limit is 1: prefetch of "
               "'a' tile 0 on block 0, prefetch of 'a' tile 1 on block 0",
               tiles_with(1, 2, 19, 10), tiles_with(1, 2, 20, 10));
}

TEST(n_input_buffers_are_held_until_the_compute_ends) {
  assert_only(39, "input buffers of block 0: 3 in use", tiles_with(2, 4, 10, 11));
  assert_legal(tiles_with(2, 4, 10, 10));
  assert_legal(tiles_with(3, 4, 10, 11));
}

/* Writebacks far behind their computes. */
static const char *late_writebacks(int writeback) {
  return file_of(
      "blocks = 1; buffers = 2;",
      "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
      " compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 5L; }; }",
      text("hyperperiod_ns = 1000L; runs = ("
           "{ task = \"a\"; phase = \"compute\"; repeat = 4; start_ns = 0L; step_ns = 10L; },"
           "{ task = \"a\"; phase = \"writeback\"; repeat = 4; start_ns = %dL; step_ns = 10L; } );",
           writeback));
}

TEST(n_output_buffers_are_held_until_the_writeback_ends) {
  assert_only(39, "output buffers of block 0: 3 in use in [20, 21)", late_writebacks(16));
  assert_legal(late_writebacks(15));
}

static const char *after_warmup(int start) {
  return file_of(
      "blocks = 1;",
      "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 3;"
      " prefetch: { wcet_ns = 10L; }; }",
      text("hyperperiod_ns = 1000L; warmup_tiles = 1; warmup_ns = 50L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; repeat = 2; start_ns = %dL; step_ns = 10L;"
           " tile = 1; } );",
           start));
}

TEST(a_start_within_the_warmup) {
  assert_twins(39,
               "prefetch of 'a' tile 1 on block 0 starts at 49, while block 0 is held by its "
               "warm-up tiles until warmup_ns = 50",
               after_warmup(49), after_warmup(50));
}

static const char *second_task(const char *name, const char *after) {
  return text(
      "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2; compute: { wcet_ns = 10L; }; },\n"
      "{ name = \"%s\"; kernel = \"none\"; blocks = 1; tiles = 2; compute: { wcet_ns = 10L; };\n"
      "  after = ( %s ); }",
      name, after);
}

static const char *planned_after(const char *warmup, const char *after) {
  return file_of(
      "blocks = 2;", second_task("b", after),
      text("hyperperiod_ns = 1000L; %s runs = ("
           "{ task = \"a\"; phase = \"compute\"; start_ns = 50L; tile = 1; repeat = 1; },"
           "{ task = \"b\"; phase = \"compute\"; start_ns = 60L; tile = 1; repeat = 1; } %s );",
           warmup,
           *warmup ? ""
                   : ", { task = \"a\"; phase = \"compute\"; start_ns = 40L; repeat = 1; },"
                     "{ task = \"b\"; phase = \"compute\"; start_ns = 70L; repeat = 1; }"));
}

static const char *unplanned_after(const char *policy, const char *after) {
  return text("version = 1; name = \"t\"; platform: { blocks = 2; };\ntasks = ( %s );\n"
              "policy: { %s };",
              second_task("b", after), policy);
}

TEST(warmup_tiles_wait_for_nobody) {
  const char *const warm = "warmup_tiles = 1; warmup_ns = 50L;", *const a = "{ task = \"a\"; }";
  assert_only(26,
              "task 'b' comes after 'a', but its 1 warm-up tiles run before all others: leave "
              "plan.warmup_tiles or `after` out",
              planned_after(warm, a));
  assert_legal(planned_after(warm, ""));
  assert_legal(planned_after("", a));
  assert_only(26, "leave policy.warmup_tiles or `after` out", unplanned_after(warm, a));
  assert_legal(unplanned_after(warm, ""));
  assert_legal(unplanned_after("warmup_ns = 50L;", a));
  OWNED(prem_diag) *diag = verdict_on(unplanned_after(warm, a));
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 4); /* where `after` stands */
  ck_assert_str_eq(prem_diag_at(diag, 0)->key, "tasks.b.after[0]");
}

/* ---- guards --------------------------------------------------------------------------------- */

static const char *guarded(const char *platform, int compute, int second) {
  return file_of(
      platform,
      "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; }; }",
      text("hyperperiod_ns = 1000L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; repeat = 2; start_ns = 0L; step_ns = %dL; },"
           "{ task = \"a\"; phase = \"compute\"; repeat = 2; start_ns = %dL; step_ns = %dL; } );",
           second, compute, second));
}

GROUP("guards");

TEST(a_gap_inside_a_tile_below_the_guard) {
  assert_only(40,
              "compute of 'a' tile 0 on block 0 starts at 12, 2 ns after its prefetch ends: the "
              "gap must be guard_ns = 3",
              guarded("blocks = 1; guard_ns = 3L;", 12, 100));
  assert_legal(guarded("blocks = 1; guard_ns = 3L;", 13, 100));
}

TEST(a_gap_between_two_phases_of_a_unit_below_the_guard) {
  assert_only(40,
              "prefetch of 'a' tile 1 on block 0 starts at 12, 2 ns after the end of prefetch of "
              "'a' tile 0",
              guarded("blocks = 1; buffers = 3; guard_ns = 3L;", 20, 12));
  assert_legal(guarded("blocks = 1; buffers = 3; guard_ns = 3L;", 20, 13));
}

TEST(a_gap_between_release_and_reuse_of_a_buffer_below_the_guard) {
  assert_only(40,
              "live tiles (buffers) of block 0: prefetch of 'a' tile 1 on block 0 starts at 25, 2 "
              "ns after the end of compute of 'a' tile 0",
              guarded("blocks = 1; guard_ns = 3L;", 13, 25));
  assert_legal(guarded("blocks = 1; guard_ns = 3L;", 13, 26));
}

static const char *guarded_fetches(int capacity, int third) {
  return file_of(
      text("blocks = 3; guard_ns = 3L; resources = ( { name = \"memory\"; capacity = %d; } );",
           capacity),
      text("%s, %s, %s", task_on("a", 0, "prefetch: { wcet_ns = 10L; };"),
           task_on("b", 1, "prefetch: { wcet_ns = 40L; };"),
           task_on("c", 2, "prefetch: { wcet_ns = 10L; };")),
      text("hyperperiod_ns = 100L; runs = ( %s, %s, %s );", at("a", "prefetch", 0),
           at("b", "prefetch", 5), at("c", "prefetch", third)));
}

TEST(a_gap_between_users_of_a_resource_below_the_guard) {
  assert_only(40,
              "memory: prefetch of 'c' tile 0 on block 2 starts at 12, 2 ns after the end of "
              "prefetch of 'a' tile 0 on block 0: the gap must be guard_ns = 3",
              guarded_fetches(2, 12));
  assert_legal(guarded_fetches(2, 13));
  assert_legal(guarded_fetches(3, 12));
  assert_only(37, "memory: 3 in use in [9, 10)", guarded_fetches(2, 9));
}

/* Of a buffer, and of a resource. */
TEST(a_guard_of_1_is_kept) {
  const char *form = "blocks = 2; guard_ns = 1L;";
  const char *tasks = text("%s, %s", task_on("a", 0, "prefetch: { wcet_ns = 10L; };"),
                           task_on("b", 1, "prefetch: { wcet_ns = 10L; };"));
  for (int gap = 0; gap < 2; ++gap) {
    const char *buffer = guarded("blocks = 1; guard_ns = 1L;", 11, 21 + gap);
    const char *resource = file_of(form, tasks,
                                   text("hyperperiod_ns = 100L; runs = ( %s, %s );",
                                        at("a", "prefetch", 0), at("b", "prefetch", 10 + gap)));
    if (gap) {
      assert_legal(buffer);
      assert_legal(resource);
    } else {
      assert_only(40, "0 ns after the end of compute of 'a' tile 0", buffer);
      assert_only(40, "0 ns after the end of prefetch of 'a' tile 0 on block 0", resource);
    }
  }
}

static const char *guarded_wrap(int first) {
  return file_of("blocks = 2; guard_ns = 3L;",
                 text("%s, %s", task_on("a", 0, "period_ns = 100L; prefetch: { wcet_ns = 10L; };"),
                      task_on("b", 1, "period_ns = 100L; prefetch: { wcet_ns = 10L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", first),
                      at("b", "prefetch", 90)));
}

TEST(a_gap_across_the_hyperperiod_below_the_guard) {
  assert_only(40,
              "memory: prefetch of 'a' tile 0 on block 0 starts at 2, 2 ns after the end of "
              "prefetch of 'b' tile 0 on block 1 of the hyperperiod before",
              guarded_wrap(2));
  assert_legal(guarded_wrap(3));
}

/* One tile, each time anew: its last phase and its first one of the next hyperperiod. */
static const char *guarded_tile(const char *last, int start) {
  return file_of(
      "blocks = 1; guard_ns = 3L; resources = ( { name = \"memory\"; }, { name = \"bus\"; } );",
      task_on("a", 0,
              text("period_ns = 100L; prefetch: { wcet_ns = 10L; demand: { bus = 1; }; };"
                   " %s: { wcet_ns = 10L; demand: { bus = 1; }; };",
                   last)),
      text("hyperperiod_ns = 100L; runs = ( %s, %s );", at("a", "prefetch", 0),
           at("a", last, start)));
}

TEST(a_tile_keeps_the_guard_to_itself_a_hyperperiod_later) {
  assert_only(40, "starts at 0, 2 ns after the end of writeback of 'a' tile 0",
              guarded_tile("writeback", 88));
  assert_legal(guarded_tile("writeback", 87));
  assert_only(40,
              "bus: prefetch of 'a' tile 0 on block 0 starts at 0, 2 ns after the end of compute",
              guarded_tile("compute", 88));
  assert_legal(guarded_tile("compute", 87));
}

TEST(a_chain_needs_no_guard_inside) {
  assert_legal(file_of("blocks = 2; guard_ns = 3L;",
                       text("%s, %s",
                            task_on("a", 0,
                                    "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 5L; };"
                                    " writeback: { wcet_ns = 10L; };"),
                            task_on("b", 1, "prefetch: { wcet_ns = 10L; };")),
                       text("hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                            " chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; }, %s );",
                            at("b", "prefetch", 28))));
}

/* Block 0 fetches until 10; b's chained writeback may hold the memory from 10 + gap on, although it
 * starts at 20 + gap at the latest. */
static const char *early_chain(int gap) {
  return file_of(
      "blocks = 1; buffers = 2; guard_ns = 3L;",
      text("%s, %s", task_on("a", 0, "prefetch: { wcet_ns = 10L; };"),
           task_on("b", 0, "compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 5L; };")),
      text("hyperperiod_ns = 100L; runs = ( %s, { task = \"b\"; phase = \"compute\";"
           " chain = [ \"writeback\" ]; start_ns = %dL; } );",
           at("a", "prefetch", 0), 10 + gap));
}

TEST(a_chain_that_holds_its_resource_early_keeps_the_guard) {
  assert_only(40, "memory: writeback of 'b' tile 0 on block 0", early_chain(2));
  assert_legal(early_chain(3));
}

/* Block 0 holds 2 in [0, 10) and 1 in [10, 12); the next user takes 2. */
static const char *falling_chain(int second) {
  return file_of("blocks = 2; guard_ns = 3L; resources = ( { name = \"memory\"; capacity = 2; } );",
                 text("%s, %s",
                      task_on("b", 1, "prefetch: { wcet_ns = 5L; demand: { memory = 2; }; };"),
                      task_on("a", 0,
                              "prefetch: { wcet_ns = 10L; demand: { memory = 2; }; };"
                              " writeback: { wcet_ns = 2L; };")),
                 text("hyperperiod_ns = 100L; runs = ( %s, { task = \"a\"; phase = \"prefetch\";"
                      " chain = [ \"writeback\" ]; start_ns = 0L; } );",
                      at("b", "prefetch", second)));
}

TEST(a_chain_whose_demand_falls_keeps_the_guard) {
  assert_only(40, "starts at 12, 2 ns after the end of prefetch of 'a'", falling_chain(12));
  assert_only(40, "starts at 13, 1 ns after the end of writeback of 'a'", falling_chain(13));
  assert_only(40, "starts at 14, 2 ns after the end of writeback of 'a'", falling_chain(14));
  assert_legal(falling_chain(15));
}

/* ---- supply --------------------------------------------------------------------------------- */

GROUP("supply");

TEST(a_demand_above_the_capacity) {
  const char *platform = "blocks = 1; resources = ( { name = \"memory\"; capacity = 2; } );";
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                      " prefetch: { wcet_ns = 10L; demand: { memory = %d; }; }; }";
  const char *plan = text("hyperperiod_ns = 100L; runs = ( %s );", at("a", "prefetch", 0));
  assert_only(43, "a demand of 3 is above the capacity of 2",
              file_of(platform, text(tasks, 3), plan));
  assert_legal(file_of(platform, text(tasks, 2), plan));
}

/* No plan: what can never work is said all the same. */
static const char *busy(const char *per, int wcet) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; resources ="
              " ( { name = \"memory\"; capacity = 1; per = \"%s\"; } ); };"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 4;"
              " period_ns = 100L; prefetch: { wcet_ns = %dL; }; },"
              "{ name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; period_ns = 50L;"
              " prefetch: { wcet_ns = 5L; }; } );",
              per, wcet);
}

TEST(demand_above_supply) {
  /* by block: 4 x 22 + 2 x 5 = 98; by task: a counts once for its two blocks, 2 x 45 + 2 x 5 */
  assert_twins(43,
               "'memory' is asked for 102 ns (times demand) in a hyperperiod of 100 ns with "
               "capacity 1, utilisation 1.02: infeasible whatever the order",
               busy("block", 23), busy("block", 22));
  assert_twins(43, "utilisation 1.02", busy("task", 46), busy("task", 45));
}

/* Joined, a tile takes 20 of the memory instead of 30; as a gang its compute takes 40 of the bus.
 */
static const char *busy_pair(const char *per, int joined, int compute) {
  return text("version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; resources ="
              " ( { name = \"memory\"; per = \"%s\"; }, { name = \"bus\"; per = \"%s\"; } ); };"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 4;"
              " period_ns = 100L; prefetch: { wcet_ns = 20L; };"
              " compute: { wcet_ns = %dL; demand: { bus = 1; }; }; writeback: { wcet_ns = 10L; };"
              " joined: { wcet_ns = %dL; }; } );",
              per, per, compute, joined);
}

TEST(demand_above_supply_even_when_joined) {
  assert_twins(43, "'memory' is asked for 104 ns", busy_pair("block", 26, 10),
               busy_pair("block", 25, 10));
  assert_twins(43, "'bus' is asked for 102 ns", busy_pair("task", 20, 51),
               busy_pair("task", 20, 50));
}

TEST(more_blocks_than_can_be_resident) {
  prem_machine gpu = {.name = "tiny GPU", .max_blocks = 3};
  judged_on = &gpu;
  assert_refused(42, "4 blocks, but only 3 can be resident together on tiny GPU", busy("block", 5));
  gpu.yields = true;
  assert_legal(busy("block", 5));
  gpu = (prem_machine){.name = "GPU", .max_blocks = 4};
  assert_legal(busy("block", 5));
}

TEST(a_wcet_below_the_cost_of_a_dispatch) {
  prem_machine cpu = {.name = "old PC", .dispatch_ns = 6};
  judged_on = &cpu;
  assert_refused(23, "5 ns is below the 6 ns that starting a phase costs on old PC",
                 busy("block", 6));
  cpu.dispatch_ns = 5;
  assert_legal(busy("block", 6));
}

/* ---- scratchpad and arrays ------------------------------------------------------------------ */

/* Chains of vector_increment over these tasks; 64 floats are 256 bytes, with 15 of lead 272, a
 * multiple of 128: 384 for the input and as much for the output. */
static const char *vectors(const char *platform, const char *tasks) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; %s };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } ); tasks = ( %s );",
              platform, tasks);
}

static const char *increment(const char *name, const char *in, const char *out, const char *after) {
  return text("{ name = \"%s\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 64 ];"
              " arrays: { in = \"%s\"; out = \"%s\"; }; %s }",
              name, in, out, *after ? text("after = ( { task = \"%s\"; } );", after) : "");
}

GROUP("scratchpad and arrays");

TEST(a_block_needs_more_scratchpad_than_there_is) {
  const char *task = increment("a", "x", "y", "");
  OWNED(prem_schedule) *schedule = schedule_from_text(vectors("buffers = 2;", task));
  int64_t bytes = prem_block_scratch_bytes(schedule, 0);
  ck_assert_int_gt(bytes, 0);
  const char *platform = "buffers = 2; scratch_bytes = %lldL;";
  assert_refused(41,
                 text("block 0 needs %lld bytes of scratchpad for its buffers = 2, above the limit "
                      "of %lld (1 blocks",
                      (long long)bytes, (long long)bytes - 1),
                 vectors(text(platform, (long long)bytes - 1), task));
  assert_legal(vectors(text(platform, (long long)bytes), task));
  prem_machine small = {.name = "small", .scratch_bytes = bytes - 1};
  judged_on = &small;
  assert_refused(41, "above the limit", vectors(text(platform, (long long)bytes), task));
}

TEST(two_tasks_write_one_array) {
  assert_refused(
      45, "task 'a' writes array 'z' and task 'b' writes it, with no order between them",
      vectors("", text("%s, %s", increment("a", "x", "z", ""), increment("b", "y", "z", ""))));
  assert_legal(
      vectors("", text("%s, %s", increment("a", "x", "z", ""), increment("b", "y", "z", "a"))));
}

TEST(a_task_reads_what_another_writes) {
  assert_refused(
      45, "task 'a' writes array 'y' and task 'b' reads it",
      vectors("", text("%s, %s", increment("a", "x", "y", ""), increment("b", "y", "z", ""))));
  assert_legal(
      vectors("", text("%s, %s", increment("a", "x", "y", ""), increment("b", "y", "z", "a"))));
  assert_legal(
      vectors("", text("%s, %s", increment("a", "x", "y", "b"), increment("b", "y", "z", ""))));
  assert_legal(
      vectors("", text("%s, %s", increment("a", "x", "y", ""), increment("b", "x", "z", ""))));
}

TEST(an_order_may_lead_over_other_tasks) {
  const char *a = increment("a", "x", "y", ""), *b = increment("b", "x", "new", "a");
  assert_legal(vectors("", text("%s, %s, %s", a, b, increment("c", "y", "z", "b"))));
  assert_refused(45, "task 'a' writes array 'y' and task 'c' reads it",
                 vectors("", text("%s, %s, %s", a, b, increment("c", "y", "z", ""))));
}

TEST(a_task_reads_what_it_writes) {
  assert_refused(45, "task 'a' reads the array 'y', which it also writes",
                 vectors("", increment("a", "y", "y", "")));
  assert_legal(vectors("", increment("a", "x", "y", "")));
}
