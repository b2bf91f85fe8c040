/* SPDX-License-Identifier: Apache-2.0 */
/* Stressors: who is replaced, and how large their tiles are, against sizes counted here anew. */
#include "studies/stressor.h"

#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* b follows a, d follows b and c; e is on its own. */
static const char five[] =
    "version = 1; name = \"five\"; platform: { blocks = 5; buffers = 2; };\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );\n"
    "tasks = ( %s );\n"
    "plan: { hyperperiod_ns = 9000L; runs = ( %s ); };\n";

static const char *five_tasks(void) {
  static const char *const after[] = {"", "after = ( { task = \"a\"; } );", "",
                                      "after = ( { task = \"b\"; }, { task = \"c\"; } );", ""};
  const char *all = "";
  for (int t = 0; t < 5; ++t)
    all = text("%s%s{ name = \"%c\"; kernel = \"vector_sum\"; blocks = [ %d ]; tile = [ 64 ];"
               " arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };"
               " compute: { wcet_ns = 50L; }; writeback: { wcet_ns = 50L; }; %s }",
               all, t ? ", " : "", 'a' + t, t, after[t]);
  return all;
}

static const char *one_after_the_other(int tasks) {
  const char *all = "";
  for (int t = 0; t < tasks; ++t)
    all = text("%s%s{ task = \"%c\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
               " start_ns = %dL; }",
               all, t ? ", " : "", 'a' + t, 1000 * t);
  return all;
}

static struct {
  int opened, phase; /* this one takes `ns`; below 0: none */
  int64_t ns, runs;
} made_up;

static prem_schedule *schedule, *stressors;
static prem_diag *diag;

static void set_up(void) {
  schedule = stressors = NULL;
  made_up.phase = -1;
  diag = prem_diag_new();
}

static void tear_down(void) {
  prem_schedule_free(stressors);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

GROUP("schedules", .set_up = set_up, .tear_down = tear_down);

/* Who stays: the spare one and all before it, and who has no size. */
TESTS(the_spare_task_and_those_before_it_stay, 6) {
  static const struct {
    int32_t spare;
    const char *replaced;
  } cases[] = {{-1, "abde"}, {0, "bde"}, {1, "de"}, {2, "abde"}, {3, "e"}, {4, "abd"}};
  static const int32_t elements[] = {16, 32, 0, 64, 4};
  schedule = checked_schedule(text(five, five_tasks(), one_after_the_other(5)));
  ck_assert_int_eq(prem_stressor_schedule(schedule, PREM_STRESSOR_KERNEL, elements, cases[_i].spare,
                                          &stressors, diag),
                   PREM_OK);
  ck_assert_int_eq(stressors->task_count, 5);
  for (int t = 0; t < 5; ++t) {
    const prem_task *task = &stressors->tasks[t];
    const bool replaced = strchr(cases[_i].replaced, 'a' + t) != NULL;
    ck_assert_str_eq(task->name, text("%c", 'a' + t));
    ck_assert_str_eq(task->kernel, replaced ? "vector_increment" : "vector_sum");
    ck_assert_int_eq(prem_task_phase_bytes(stressors, task, PREM_PREFETCH, 0),
                     replaced ? 4 * elements[t] : 256);
    ck_assert_int_eq(task->tile_count, 1);
    ck_assert_int_eq(task->after_count, schedule->tasks[t].after_count);
  }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static prem_status open_counted(const prem_program *program, prem_arrays *arrays,
                                const prem_machine *machine, void **state, prem_diag *problems) {
  ++made_up.opened;
  return prem_backend_sim.open(program, arrays, machine, state, problems);
}

static prem_status run_longer(void *state, const prem_run_request *request, prem_trace *trace,
                              prem_diag *problems) {
  const prem_status status = prem_backend_sim.run(state, request, trace, problems);
  ++made_up.runs;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if ((int)trace->records[i].phase == made_up.phase)
      trace->records[i].end_ns = trace->records[i].start_ns + made_up.ns;
  return status;
}

static prem_backend counted_backend(void) {
  prem_backend backend = prem_backend_sim;
  backend.open = open_counted;
  backend.run = run_longer;
  made_up.opened = 0;
  made_up.runs = 0;
  return backend;
}

static int32_t elements[8];
static prem_stressor found[8];

static void size_all(const char *source) {
  static const prem_isolate_options options = {.sampling.seed = 1, .sampling.max_records = 1000};
  const prem_backend backend = counted_backend();
  schedule = checked_schedule(source);
  memset(elements, 77, sizeof elements);
  if (prem_stressor_size(schedule, &backend, &options, elements, found, diag) != PREM_OK)
    abort_with("size", diag);
}

/* Copies of `tile` floats on a block each, or all on one. */
static const char *copies(const char *platform, int tasks, const int *tile, bool shared) {
  const char *all = "";
  for (int t = 0; t < tasks; ++t)
    all = text("%s%s{ name = \"%c\"; kernel = \"vector_increment\"; blocks = [ %d ];"
               " tile = [ %d ]; arrays: { in = \"x%d\"; out = \"new\"; };"
               " prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
               " writeback: { wcet_ns = 50L; }; }",
               all, t ? ", " : "", 'a' + t, shared ? 0 : t, tile[t], t);
  const char *arrays = "";
  for (int t = 0; t < tasks; ++t)
    arrays = text("%s%s{ name = \"x%d\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; }",
                  arrays, t ? ", " : "", t, tile[t]);
  return text("version = 1; name = \"copies\"; platform: { blocks = %d; %s };\n"
              "arrays = ( %s ); tasks = ( %s );\n"
              "plan: { hyperperiod_ns = 9000L; runs = ( %s ); };\n",
              shared ? 1 : tasks, platform, arrays, all, one_after_the_other(tasks));
}

/* Counted up, a float pair of 16 bytes after the other: as many as a buffer of whole 128 bytes
 * holds with 16 bytes to spare. */
static int32_t fitting(int64_t buffer_bytes) {
  int64_t floats = 4;
  while ((floats + 4) * 4 + 16 <= buffer_bytes / 128 * 128)
    floats += 4;
  return (int32_t)floats;
}

GROUP("sizes", .set_up = set_up, .tear_down = tear_down);

TESTS(alone_on_a_block_they_share_all_of_its_memory, 18) {
  static const int scratch_bytes[] = {1024, 1152, 1280, 2047, 2048, 2303, 2304, 4096, 65536};
  static const int tile[] = {32};
  const int buffers = 1 + _i % 2, bytes = scratch_bytes[_i / 2];
  size_all(copies(text("buffers = %d; scratch_bytes = %dL;", buffers, bytes), 1, tile, false));
  ck_assert_int_eq(elements[0], found[0].replaced ? fitting(bytes / buffers / 2) : 0);
  ck_assert_int_eq(found[0].bytes_per_tile, 8 * fitting(bytes / buffers / 2));
  ck_assert_int_eq(found[0].own_bytes_per_tile, 256);
  ck_assert_int_eq(found[0].replaced, found[0].bytes_per_tile * 10 >= 256 * 9);
  ck_assert_double_eq(found[0].fill_pct, 100);
  ck_assert_int_eq(made_up.opened, 1); /* what fits is tried once */
  ck_assert_int_eq(made_up.runs, 4);
}

TEST(without_a_limit_they_have_what_the_task_has) {
  static const int tile[] = {100};
  size_all(copies("", 1, tile, false));
  ck_assert_int_eq(found[0].bytes_per_tile,
                   8 * fitting((schedule->tasks[0].in_bytes + schedule->tasks[0].out_bytes) / 2));
}

/* The smaller one's is the larger one's buffer. */
TEST(on_a_shared_block_they_have_the_buffers_that_are_there) {
  static const int tile[] = {32, 256};
  size_all(copies("scratch_bytes = 65536L;", 2, tile, true));
  const int64_t bytes = prem_task_phase_bytes(schedule, &schedule->tasks[1], PREM_PREFETCH, 0);
  ck_assert_int_eq(bytes, 1024);
  ck_assert_int_eq(found[0].bytes_per_tile, 8 * fitting(1024));
  ck_assert_int_eq(found[1].bytes_per_tile, 8 * fitting(1024));
  ck_assert_int_eq(found[0].own_bytes_per_tile, 256);
  ck_assert_int_eq(found[1].own_bytes_per_tile, 2048);
  ck_assert_int_eq(made_up.opened, 2); /* their tiles differ */
}

/* Alike they are tried once. */
TEST(those_that_are_alike_are_tried_once) {
  static const int tile[] = {64, 64, 32, 64};
  size_all(copies("scratch_bytes = 65536L;", 4, tile, false));
  ck_assert_int_eq(made_up.opened, 2);
  for (int t = 1; t < 4; ++t) {
    ck_assert_int_eq(elements[t], elements[0]);
    ck_assert_int_eq(found[t].bytes_per_tile, found[0].bytes_per_tile);
    ck_assert_int_eq(found[t].own_bytes_per_tile, 8 * tile[t]);
    ck_assert(found[t].replaced);
  }
}

/* In one thing they differ. */
TESTS(those_that_differ_are_tried_each, 5) {
  static const int tile[] = {64, 64};
  static const struct {
    const char *from, *to;
  } cases[] = {{"prefetch: { wcet_ns = 100L", "prefetch: { wcet_ns = 101L"},
               {"compute: { wcet_ns = 50L", "compute: { wcet_ns = 51L"},
               {"writeback: { wcet_ns = 50L", "writeback: { wcet_ns = 51L"},
               {"vector_increment\"", "vector_sum\"      "},
               {"", ""}};
  FREED char *source = strdup(copies("scratch_bytes = 65536L;", 2, tile, false));
  const char *second = strstr(source, "name = \"b\"");
  char *at = second ? strstr(source + (second - source), cases[_i].from) : NULL;
  ck_assert_ptr_nonnull(at);
  memcpy(at, cases[_i].to, strlen(cases[_i].to));
  size_all(source);
  ck_assert_int_eq(made_up.opened, _i == 4 ? 1 : 2);
}

/* Of `floats` that take so much of their window each time: cut by it, four times at most. */
static int64_t cut_down(int64_t floats, double share, int *trials) {
  *trials = 1;
  for (; share > 1 && floats > 16 && *trials <= 4; ++*trials) {
    floats = (int64_t)((double)floats * 4 / share) / 16 * 4;
    floats = floats < 4 ? 4 : floats;
  }
  return floats;
}

TESTS(what_does_not_fit_is_cut_down, 33) {
  static const int times_ns[] = {1, 49, 50, 51, 75, 99, 100, 101, 200, 777, 5000};
  static const int windows_ns[] = {100, 50, 50}, tile[] = {8};
  made_up.phase = _i % 3;
  made_up.ns = times_ns[_i / 3];
  size_all(copies("scratch_bytes = 16384L;", 1, tile, false));
  double share = 0, memory = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const double part = p == made_up.phase ? (double)made_up.ns / windows_ns[p] : 1;
    share = part > share ? part : share;
    memory = p != PREM_COMPUTE && part > memory ? part : memory;
  }
  int trials = 0;
  const int64_t floats = cut_down(fitting(8192 / schedule->platform.buffers), share, &trials);
  ck_assert_int_eq(found[0].bytes_per_tile, 8 * floats);
  ck_assert_int_eq(found[0].replaced, 8 * floats * 100 >= 64 * 90);
  ck_assert_int_eq(elements[0], found[0].replaced ? floats : 0);
  ck_assert_double_eq_tol(found[0].fill_pct, 100 * memory, 1e-9);
  ck_assert_int_eq(made_up.opened, trials > 4 ? 4 : trials);
}

/* 36 floats there and back are nine tenths of 40, 32 are less. */
TESTS(who_moves_nine_tenths_is_replaced, 2) {
  static const int tile[] = {40};
  const int64_t wanted = _i ? 36 : 32;
  int trials = 0;
  made_up.phase = PREM_COMPUTE;
  made_up.ns = 51;
  while (cut_down(fitting(4096), (double)made_up.ns / 50, &trials) > wanted)
    ++made_up.ns;
  ck_assert_int_eq(cut_down(fitting(4096), (double)made_up.ns / 50, &trials), wanted);
  size_all(copies("buffers = 1; scratch_bytes = 8192L;", 1, tile, false));
  ck_assert_int_eq(found[0].own_bytes_per_tile, 320);
  ck_assert_int_eq(found[0].bytes_per_tile, 8 * wanted);
  ck_assert_int_eq(found[0].replaced, _i);
  ck_assert_int_eq(elements[0], _i ? wanted : 0);
}

/* Both halves of a pair have its window: 100 of 130 ns are full by 10/13. */
TESTS(a_joined_window_is_that_of_both, 2) {
  static const char joined[] =
      "version = 1; name = \"joined\"; platform: { blocks = 2; buffers = 2; };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );\n"
      "tasks = ( %s, { name = \"z\"; kernel = \"vector_increment\"; blocks = [ 1 ];\n"
      "    tile = [ 64 ]; arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 100L; };\n"
      "    compute: { wcet_ns = 52L; }; writeback: { wcet_ns = 30L; }; } );\n"
      "plan: { hyperperiod_ns = 9000L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; },\n"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 400L;\n"
      "    join: { task = \"a\"; tile = 0; }; },\n"
      "  { task = \"b\"; phase = \"writeback\"; start_ns = 800L; },\n"
      "  { task = \"z\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];\n"
      "    start_ns = 2000L; } ); };\n";
  const char *pair = "";
  for (int t = 0; t < 2; ++t)
    pair = text("%s%s{ name = \"%c\"; kernel = \"vector_increment\"; blocks = [ 0 ];"
                " tile = [ 64 ]; arrays: { in = \"x\"; out = \"new\"; };"
                " prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = %dL; };"
                " writeback: { wcet_ns = 30L; }; %s }",
                pair, t ? ", " : "", 'a' + t, 50 + t, _i ? "joined: { wcet_ns = 200L; };" : "");
  const char *source = text(joined, pair);
  size_all(source);
  for (int t = 0; t < 2; ++t)
    ck_assert_double_eq_tol(found[t].fill_pct, _i ? 50 : 1000 / 13.0, 1e-9);
  ck_assert_double_eq_tol(found[2].fill_pct, 100, 1e-9);
}

/* A kernel that moves something else than a copy: what its windows hold is counted, and what is no
 * stressor is told. */
TEST(another_kernel_is_named) {
  static const prem_isolate_options options = {
      .hostile = "vector_sum", .sampling.seed = 1, .sampling.max_records = 1000};
  static const char *const wrong[] = {"no_such_kernel", "convert", "noop", "matmul"};
  const prem_backend backend = counted_backend();
  static const int tile[] = {32};
  made_up.ns = 0;
  made_up.phase = PREM_COMPUTE;
  schedule = checked_schedule(copies("scratch_bytes = 4096L;", 1, tile, false));
  ck_assert_int_eq(prem_stressor_judge("vector_sum", diag), PREM_OK);
  ck_assert_int_eq(prem_stressor_size(schedule, &backend, &options, elements, found, diag),
                   PREM_OK);
  ck_assert_int_eq(found[0].bytes_per_tile, 4 * elements[0] + 4);
  OWNED(prem_schedule) *replaced = NULL;
  ck_assert_int_eq(prem_stressor_schedule(schedule, "vector_sum", elements, -1, &replaced, diag),
                   PREM_OK);
  ck_assert_str_eq(replaced->tasks[0].kernel, "vector_sum");
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    ck_assert_int_eq(prem_stressor_judge(wrong[i], diag), PREM_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason, wrong[i]));
  }
}
