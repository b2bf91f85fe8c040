/* SPDX-License-Identifier: Apache-2.0 */
/* The thesis's four schedules against its formulas, written out once more; what they refuse. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* The thesis's setting, abstract: four kernels of two blocks, 512 tiles on each block. */
enum { NK = 4, NB = 2, ROUNDS = 512 };
enum { T_PF = 1781, T_C = 506, T_WB = 421, TILE = T_PF + T_C + T_WB, WU = 10000 };

static const char *policy_file(const char *platform, const char *tasks, const char *policy) {
  return text("version = 1; name = \"t\"; platform: { blocks = 16; %s };\ntasks = ( %s );\n"
              "policy: { %s };",
              platform, tasks, policy);
}

static const char phases[] = "prefetch: { wcet_ns = 1781L; }; compute: { wcet_ns = 506L; };"
                             " writeback: { wcet_ns = 421L; };";

static const char *thesis_tasks(void) {
  return text("{ name = \"conv\"; copies = 4; kernel = \"none\"; blocks = 2; tiles = 1024; %s }",
              phases);
}

static prem_plan *make_plan(const prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  if (prem_plan_make(schedule, NULL, NULL, &plan, diag) != PREM_OK)
    abort_with("plan", diag);
  return plan;
}

/* What the formulas say of one phase of one tile. */
typedef int64_t (*formula)(int64_t k, int64_t b, int64_t n, prem_phase phase);

static void assert_formula(const char *policy, formula expected, int64_t hyperperiod_ns) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      policy_file("resources = ( { name = \"memory\"; capacity = 8; } );", thesis_tasks(), policy));
  prem_plan *plan = make_plan(schedule);
  ck_assert_int_eq(plan->hyperperiod_ns, hyperperiod_ns);
  FREED prem_slot *slots = NULL;
  int64_t count, warmup = 0, judged = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, plan, &slots, &count, NULL), PREM_OK);
  ck_assert_int_eq(count, NK * NB * ROUNDS * 3);
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    int64_t b = slot->tile % NB, n = slot->tile / NB;
    ck_assert_int_eq(slot->block, slot->task * NB + b);
    if (slot->flags & PREM_SLOT_WARMUP) {
      ck_assert_int_eq(n, 0);
      ++warmup;
      continue;
    }
    ck_assert_int_ge(n, 1);
    ck_assert_int_eq(slot->planned_ns, expected(slot->task, b, n, (prem_phase)slot->phase));
    ++judged;
  }
  ck_assert_int_eq(warmup, NK * NB * 3);
  ck_assert_int_eq(judged, NK * NB * (ROUNDS - 1) * 3);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

static int64_t behind(prem_phase phase) {
  return phase == PREM_PREFETCH ? 0 : phase == PREM_COMPUTE ? T_PF : T_PF + T_C;
}

/* ---- the four ------------------------------------------------------------------------------- */

static int64_t tile_kernelwise(int64_t k, int64_t b, int64_t n, prem_phase phase) {
  (void)b;
  return WU + (n - 1) * (NK * 1300) + k * 1300 + behind(phase);
}

GROUP("formulas");

TEST(whole_tiles_kernel_by_kernel) {
  assert_formula("use = \"tile_kernelwise\"; prefetch_offset_ns = 1300L; warmup_tiles = 1;"
                 " warmup_ns = 10000L;",
                 tile_kernelwise, 2668608);
}

static int64_t tile_kernelwise_1400(int64_t k, int64_t b, int64_t n, prem_phase phase) {
  (void)b;
  return WU + (n - 1) * (NK * 1400) + k * 1400 + behind(phase);
}

TEST(whole_tiles_at_the_other_offset) {
  assert_formula("use = \"tile_kernelwise\"; prefetch_offset_ns = 1400L; warmup_tiles = 1;"
                 " warmup_ns = 10000L;",
                 tile_kernelwise_1400, WU + 510 * 5600 + 3 * 1400 + TILE);
}

static int64_t tile_blockwise(int64_t k, int64_t b, int64_t n, prem_phase phase) {
  return WU + (n - 1) * (NK * NB * 3000) + (k * NB + b) * 3000 + behind(phase);
}

TEST(whole_tiles_block_by_block) {
  assert_formula("use = \"tile_blockwise\"; prefetch_offset_ns = 3000L; warmup_tiles = 1;"
                 " warmup_ns = 10000L;",
                 tile_blockwise, WU + 510 * 24000 + 7 * 3000 + TILE);
}

static int64_t phase_formula(int64_t place, int64_t places, int64_t n, prem_phase phase,
                             int64_t writeback_offset_ns) {
  int64_t first_writeback = (places - 1) * 3000 + T_PF + T_C;
  int64_t cycle = first_writeback + (places - 1) * writeback_offset_ns + T_WB;
  int64_t round = WU + (n - 1) * cycle;
  if (phase == PREM_WRITEBACK)
    return round + first_writeback + place * writeback_offset_ns;
  return round + place * 3000 + behind(phase);
}

static int64_t phase_kernelwise(int64_t k, int64_t b, int64_t n, prem_phase phase) {
  (void)b;
  return phase_formula(k, NK, n, phase, 3000);
}

TEST(phases_kernel_by_kernel) {
  assert_formula("use = \"phase_kernelwise\"; prefetch_offset_ns = 3000L;"
                 " writeback_offset_ns = 3000L; warmup_tiles = 1; warmup_ns = 10000L;",
                 phase_kernelwise, WU + 511 * (11287 + 9000 + 421));
}

static int64_t phase_blockwise(int64_t k, int64_t b, int64_t n, prem_phase phase) {
  return phase_formula(k * NB + b, NK * NB, n, phase, 1000);
}

TEST(phases_block_by_block) {
  assert_formula("use = \"phase_blockwise\"; prefetch_offset_ns = 3000L;"
                 " writeback_offset_ns = 1000L; warmup_tiles = 1; warmup_ns = 10000L;",
                 phase_blockwise, WU + 511 * (23287 + 7000 + 421));
}

/* ---- what the formulas leave open ----------------------------------------------------------- */

static prem_slot start_of(const prem_schedule *schedule, const prem_plan *plan, int32_t task,
                          int32_t tile, prem_phase phase) {
  prem_slot *slots, found = {.task = -1};
  int64_t count;
  ck_assert_int_eq(prem_plan_expand(schedule, plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].task == task && slots[i].tile == tile && slots[i].phase == phase)
      found = slots[i];
  free(slots);
  ck_assert_int_eq(found.task, task);
  return found;
}

static const char *two_tasks(const char *more) {
  return text("{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 6; %s %s },"
              "{ name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 6; %s }",
              phases, more, phases);
}

TEST(without_warmup_the_first_tile_has_a_start) {
  OWNED(prem_schedule) *schedule = schedule_from_text(policy_file(
      "resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } );", two_tasks(""),
      "use = \"tile_kernelwise\"; prefetch_offset_ns = 3000L;"
      " warmup_ns = 700L;"));
  prem_plan *plan = make_plan(schedule);
  ck_assert_int_eq(start_of(schedule, plan, 0, 0, PREM_PREFETCH).planned_ns, 700);
  ck_assert_int_eq(start_of(schedule, plan, 1, 0, PREM_PREFETCH).planned_ns, 3700);
  ck_assert_int_eq(start_of(schedule, plan, 1, 5, PREM_PREFETCH).planned_ns, 700 + 3000 + 2 * 6000);
  ck_assert_int_eq(start_of(schedule, plan, 0, 2, PREM_COMPUTE).flags, PREM_SLOT_CHAINED);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

TEST(a_cycle_is_one_tile_at_least) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      policy_file("guard_ns = 10L; resources = ( { name = \"memory\"; capacity = 9; } );",
                  two_tasks(""), "use = \"tile_kernelwise\"; prefetch_offset_ns = 100L;"));
  prem_plan *plan = make_plan(schedule);
  ck_assert_int_eq(start_of(schedule, plan, 1, 2, PREM_PREFETCH).planned_ns, 100 + TILE + 10);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

TEST(offsets_not_given_are_a_phase_with_its_guard) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      policy_file("guard_ns = 19L;", two_tasks(""), "use = \"phase_blockwise\";"));
  prem_plan *plan = make_plan(schedule);
  ck_assert_int_eq(start_of(schedule, plan, 0, 1, PREM_PREFETCH).planned_ns, 1800);
  ck_assert_int_eq(start_of(schedule, plan, 1, 1, PREM_PREFETCH).planned_ns, 5400);
  int64_t first = start_of(schedule, plan, 0, 0, PREM_WRITEBACK).planned_ns;
  ck_assert_int_eq(first, 3 * 1800 + T_PF + T_C + 19);
  ck_assert_int_eq(start_of(schedule, plan, 1, 1, PREM_WRITEBACK).planned_ns, first + 3 * 440);
  ck_assert_int_eq(start_of(schedule, plan, 0, 2, PREM_PREFETCH).planned_ns,
                   first + 3 * 440 + T_WB + 19);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

TEST(tasks_of_different_lengths_get_the_longest_slots) {
  OWNED(prem_schedule) *schedule = schedule_from_text(policy_file(
      "resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } );",
      "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 5; prefetch: { wcet_ns = 10L; };"
      "  compute: { wcet_ns = 90L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 5; prefetch: { wcet_ns = 40L; };"
      "  compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 5L; }; }",
      "use = \"phase_kernelwise\";"));
  prem_plan *plan = make_plan(schedule);
  ck_assert_int_eq(start_of(schedule, plan, 1, 0, PREM_PREFETCH).planned_ns, 40);
  ck_assert_int_eq(start_of(schedule, plan, 1, 0, PREM_WRITEBACK).planned_ns, 40 + 40 + 90 + 5);
  /* the fifth tile is on the first block alone */
  ck_assert_int_eq(start_of(schedule, plan, 0, 4, PREM_PREFETCH).block, 0);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

TEST(more_warmup_than_tiles_leaves_nothing_to_plan) {
  OWNED(prem_schedule) *schedule = schedule_from_text(policy_file(
      "", two_tasks(""), "use = \"tile_kernelwise\"; warmup_tiles = 3; warmup_ns = 9000L;"));
  OWNED(prem_plan) *plan = make_plan(schedule);
  ck_assert_int_eq(plan->affine_count, 0);
  ck_assert_int_eq(plan->hyperperiod_ns, 9000);
}

/* ---- the clock grid ------------------------------------------------------------------------- */

static const char *on_grid(const char *align, int offset_ns) {
  return policy_file(
      "clock_step_ns = 32L; guard_ns = 4L; resources = ( { name = \"memory\";"
      " capacity = 8; } );",
      two_tasks(""),
      text("use = \"tile_kernelwise\"; prefetch_offset_ns = %dL; %s", offset_ns, align));
}

GROUP("grid");

TEST(the_coarser_clock_counts) {
  OWNED(prem_schedule) *schedule = schedule_from_text(on_grid("", 1408));
  prem_machine machine = {.clock_step_ns = 1024};
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, &machine, NULL, &plan, NULL), PREM_OK);
  ck_assert_int_eq(plan->clock_step_ns, 1024);
  ck_assert_int_eq(plan->affine[1].start_ns, 2048);
  ck_assert_int_eq(plan->affine[1].step_ns, 4096);
}
