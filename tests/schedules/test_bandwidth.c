/* SPDX-License-Identifier: Apache-2.0 */
/* No window asks for more than the memory delivers: E043 of busy_ns, each with its legal twin. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* Tiles of 32 floats: 128 bytes in, 128 bytes out, on two blocks. */
static const char two[] =
    "version = 1; name = \"two\";\n"
    "platform: { blocks = 2; clock_step_ns = 1L; resources = (\n"
    "  { name = \"memory\"; capacity = %d; per = \"%s\"; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 128 ]; } );\n"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 2; tile = [ 32 ];\n"
    "  arrays: { in = \"x\"; out = \"new\"; };\n"
    "  prefetch: { wcet_ns = 1000L; busy_ns = %dL; demand: { memory = %d; }; };\n"
    "  compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 1000L; };%s } );\n";

static prem_schedule *schedule;
static prem_diag *diag;
static prem_machine machine;

static void set_up(void) {
  diag = prem_diag_new();
  schedule = NULL;
  machine = (prem_machine){.name = "M", .max_blocks = 2, .bandwidth_bytes_per_s = 1000000000};
}

static void tear_down(void) {
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static bool refused(int capacity, const char *per, int busy_ns, int demand, const char *joined) {
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  diag = prem_diag_new();
  schedule = schedule_from_text(text(two, capacity, per, busy_ns, demand, joined));
  prem_check(schedule, &machine, diag);
  ck_assert_uint_eq(prem_diag_errors(diag), prem_diag_has(diag, 43));
  return prem_diag_has(diag, 43);
}

GROUP("windows", .set_up = set_up, .tear_down = tear_down);

TEST(a_block_alone_needs_its_bytes_over_the_bandwidth) {
  ck_assert(refused(1, "block", 127, 1, ""));
  ck_assert(!refused(1, "block", 128, 1, ""));
}

TEST(the_blocks_of_a_gang_need_it_together) {
  ck_assert(refused(1, "task", 255, 1, ""));
  ck_assert(!refused(1, "task", 256, 1, ""));
}

/* One tile for two blocks: only one of them fetches. */
TEST(blocks_without_a_tile_ask_for_nothing) {
  prem_schedule_free(schedule);
  schedule = schedule_from_text(text(two, 1, "task", 128, 1, ""));
  schedule->tasks[0].tile_count = 1;
  prem_check(schedule, &machine, diag);
  ck_assert(!prem_diag_has(diag, 43));
  schedule->tasks[0].phase[PREM_PREFETCH].busy_ns = 127;
  prem_check(schedule, &machine, diag);
  ck_assert(prem_diag_has(diag, 43));
}

TEST(a_part_of_a_nanosecond_is_a_whole_one) {
  machine.bandwidth_bytes_per_s = 3000000000; /* 128 bytes: 42.67 ns */
  ck_assert(refused(1, "block", 42, 1, ""));
  ck_assert(!refused(1, "block", 43, 1, ""));
}

TEST(a_share_of_the_memory_takes_longer) {
  ck_assert(refused(4, "block", 511, 1, ""));
  ck_assert(!refused(4, "block", 512, 1, ""));
  ck_assert(!refused(4, "block", 128, 4, ""));
}

TEST(joined_phases_move_both) {
  ck_assert(refused(1, "block", 128, 1, " joined: { wcet_ns = 1000L; busy_ns = 255L; };"));
  ck_assert(!refused(1, "block", 128, 1, " joined: { wcet_ns = 1000L; busy_ns = 256L; };"));
}

TEST(what_is_not_measured_is_not_judged) {
  machine.bandwidth_bytes_per_s = 0;
  ck_assert(!refused(1, "block", 1, 1, ""));
}

TEST(a_profile_stands_for_a_machine_that_does_not_say) {
  machine.bandwidth_bytes_per_s = 0;
  ck_assert(!refused(1, "block", 127, 1, ""));
  schedule->bandwidth_bytes_per_s = 1000000000;
  ck_assert_int_eq(prem_check(schedule, &machine, diag), PREM_ERR_INVALID);
}
