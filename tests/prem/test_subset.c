/* SPDX-License-Identifier: Apache-2.0 */
/* Subsets of a schedule: the kept tasks stay where the plan put them. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* Three tasks: b follows a; c is on its own and joins its prefetches with the writebacks of a. */
static const char three[] =
    "version = 1; name = \"three\";\n"
    "platform: { blocks = 2; buffers = 2; clock_step_ns = 1L;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; },\n"
    "  { name = \"y\"; type = \"f32\"; shape = [ 64 ]; } );\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"y\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 32 ];\n"
    "    args: { increment = 2.0; }; arrays: { in = \"y\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; after = ( { task = \"a\"; } ); },\n"
    "  { name = \"c\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 32 ];\n"
    "    arrays: { in = \"x\"; out = \"new\"; };\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };\n"
    "    writeback: { wcet_ns = 30L; }; }\n"
    ");\n"
    "plan: { hyperperiod_ns = 2000L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L;\n"
    "    repeat = 2; step_ns = 200L; },\n"
    "  { task = \"c\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 400L;\n"
    "    repeat = 2; step_ns = 200L; join: { task = \"a\"; tile = 0; }; },\n"
    "  { task = \"c\"; phase = \"writeback\"; start_ns = 800L; repeat = 2; step_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 1100L;\n"
    "    repeat = 2; step_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; start_ns = 1500L; repeat = 2; step_ns = 200L; }\n"
    "); };\n";

/* A prefetch takes the writeback of another tile along. */
static const char other_tile[] =
    "  { task = \"c\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 400L; },\n"
    "  { task = \"c\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 600L; tile = 1;\n"
    "    join: { task = \"a\"; tile = 0; }; },\n"
    "  { task = \"a\"; phase = \"writeback\"; start_ns = 900L; tile = 1; },\n";

static prem_schedule *whole, *part;

static void set_up(void) {
  whole = checked_schedule(three);
  part = NULL;
}

static void tear_down(void) {
  prem_schedule_free(part);
  prem_schedule_free(whole);
}

static void keep(bool a, bool b, bool c) {
  const bool kept[] = {a, b, c};
  ck_assert_int_eq(prem_schedule_subset(whole, kept, &part), PREM_OK);
}

/* Starts of a phase of both tiles on the simulator. */
static void assert_starts(const char *task, prem_phase phase, int64_t first_ns, int64_t second_ns) {
  OWNED(prem_trace) *trace = simulate(part, PREM_MODE_TT, 1);
  ck_assert_int_eq(find_phase(trace, part, task, 0, phase)->start_ns, first_ns);
  ck_assert_int_eq(find_phase(trace, part, task, 1, phase)->start_ns, second_ns);
}

GROUP("tasks", .set_up = set_up, .tear_down = tear_down);

TEST(kept_task_keeps_its_instants_and_block) {
  keep(false, false, true);
  ck_assert_int_eq(part->task_count, 1);
  ck_assert_int_eq(part->plan->hyperperiod_ns, 2000);
  ck_assert_int_eq(part->tasks[0].blocks[0], 0);
  assert_checked(part);
  assert_starts("c", PREM_PREFETCH, 400, 600);
  assert_starts("c", PREM_WRITEBACK, 800, 1000);
}

TEST(what_telling_a_successor_takes_stays) {
  whole->precedence_ns = 7; /* as a profile says */
  keep(true, false, false);
  ck_assert_int_eq(prem_schedule_precedence_ns(part), 7);
}

TEST(arrays_that_nobody_uses_are_dropped) {
  keep(false, false, true);
  ck_assert_int_eq(part->array_count, 2); /* x and c.out */
  ck_assert_str_eq(part->arrays[0].name, "x");
  ck_assert_int_eq(part->arrays[0].writer, -1);
  ck_assert_str_eq(part->arrays[1].name, "c.out");
  ck_assert_int_eq(part->arrays[1].writer, 0);
}

/* Kernels are not looked up yet: what tasks say of their arrays is all that is known. */
TEST(arrays_are_kept_before_kernels_are_known) {
  prem_schedule_free(whole);
  ck_assert_int_eq(prem_schedule_load_text("three.cfg", three, &whole, NULL), PREM_OK);
  keep(false, false, true);
  ck_assert_int_eq(part->array_count, 2);
  ck_assert_str_eq(part->arrays[part->tasks[0].port_arrays[0]].name, "x");
  ck_assert_str_eq(part->arrays[part->tasks[0].port_arrays[1]].name, "c.out");
  prem_schedule_free(part);
  keep(true, true, false); /* x, y, and of the one that is not used by c the first */
  ck_assert_int_eq(part->array_count, 3);
}

/* Nothing behind the last port is looked at. */
TEST(the_first_array_has_nothing_of_its_own) {
  char source[sizeof three + 80];
  const char *from = strstr(three, "arrays = ( ");
  snprintf(source, sizeof source,
           "%.*sarrays = ( { name = \"w\"; type = \"f32\"; shape = [ 4 ]; }, %s",
           (int)(from - three), three, from + strlen("arrays = ( "));
  prem_schedule_free(whole);
  whole = checked_schedule(source);
  keep(true, true, true);
  ck_assert_int_eq(part->array_count, 4);
  ck_assert_str_eq(part->arrays[0].name, "x");
}

TEST(writebacks_joined_with_what_is_gone_keep_their_instants) {
  keep(true, false, false);
  ck_assert_int_eq(part->task_count, 1);
  assert_checked(part);
  assert_starts("a", PREM_PREFETCH, 0, 200);
  assert_starts("a", PREM_WRITEBACK, 400, 600);
}

TEST(writebacks_of_other_tiles_keep_their_tiles) {
  char source[sizeof three + sizeof other_tile];
  const char *from = strstr(three, "  { task = \"c\"; phase = \"prefetch\"");
  const char *to = strstr(three, "  { task = \"c\"; phase = \"writeback\"");
  snprintf(source, sizeof source, "%.*s%s%s", (int)(from - three), three, other_tile, to);
  memcpy(strstr(source, "buffers = 2"), "buffers = 4", 11);
  prem_schedule_free(whole);
  whole = checked_schedule(source);
  keep(true, false, false);
  assert_checked(part);
  assert_starts("a", PREM_WRITEBACK, 600, 900);
}

TEST(prefetches_joined_with_what_is_gone_stand_alone) {
  keep(false, false, true);
  for (int32_t i = 0; i < part->plan->affine_count; ++i)
    ck_assert_int_eq(part->plan->affine[i].join_task, -1);
}

TEST(what_a_task_follows_is_kept_with_it) {
  keep(false, true, false);
  ck_assert_int_eq(part->task_count, 2);
  ck_assert_str_eq(part->tasks[1].name, "b");
  ck_assert_int_eq(part->tasks[1].after[0].task, 0);
  assert_checked(part);
  assert_starts("b", PREM_PREFETCH, 1100, 1300);
}

TEST(outputs_of_a_subset_are_right) {
  keep(false, true, true);
  OWNED(prem_session) *session = open_on("sim", part);
  OWNED(prem_trace) *trace = run_in(session, part, PREM_MODE_TT, 1);
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

TEST(a_replaced_task_keeps_its_instants_and_moves_other_bytes) {
  OWNED(prem_diag) *diag = prem_diag_new();
  keep(true, true, true);
  ck_assert_int_eq(
      prem_schedule_replace(part, 2, "vector_increment", 128, prem_registry_builtin(), diag),
      PREM_OK);
  ck_assert_int_eq(part->tasks[2].tile_count, 2);
  ck_assert_int_eq(prem_task_phase_bytes(part, &part->tasks[2], PREM_PREFETCH, 1), 512);
  /* It reads numbers of its own, and what it writes is nothing before. */
  const prem_array *in = &part->arrays[part->tasks[2].arrays[0]],
                   *out = &part->arrays[part->tasks[2].arrays[1]];
  ck_assert_str_eq(in->name, "c.in");
  ck_assert_int_eq(in->fill, PREM_FILL_RANDOM);
  ck_assert_uint_eq(in->seed, 3);
  ck_assert_str_eq(out->name, "c.out");
  ck_assert_int_eq(out->fill, PREM_FILL_ZERO);
  assert_checked(part);
  assert_starts("c", PREM_PREFETCH, 400, 600);
}

TEST(the_whole_is_left_alone) {
  keep(true, false, false);
  prem_schedule_free(part);
  part = NULL;
  assert_checked(whole);
  ck_assert_int_eq(whole->task_count, 3);
  ck_assert_int_eq(whole->plan->affine[1].join_task, 0);
}
