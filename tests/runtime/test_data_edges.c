/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that use the same array keep the order of the plan, however late one of them is. */
/* ctest: threads */
#include <stdatomic.h>
#include <time.h>

#include "runtime/core/arrays.h"
#include "runtime/core/backend.h"
#include "runtime/core/program.h"
#include "tests/common/cpu_fixture.h"
#include "tests/common/plan_order.h"
#include "tests/common/random_schedule.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* ---- kernels that tell one frame from the next ----------------------------------------------- */

enum { HYPERPERIODS = 4, SEEN = 2 * HYPERPERIODS, ELEMENTS = 16 };

static _Atomic int frames;
static float seen[SEEN]; /* by `watch`, tile after tile */
static int seen_count;
static int64_t nap_ns; /* of each compute of `watch` */

static prem_status whole_bind(prem_bind *bind) {
  for (int d = 0; d < 3; ++d)
    bind->new_shape[0][d] = bind->grid[d] = 1;
  bind->window[0] = (prem_window){.extent = {1, 1, 1, ELEMENTS}};
  bind->new_rank[0] = 1;
  bind->new_shape[0][3] = ELEMENTS;
  return PREM_OK;
}

static prem_status halves_bind(prem_bind *bind) {
  const prem_status status = whole_bind(bind);
  bind->grid[2] = 2;
  bind->window[0] =
      (prem_window){.step = {[3] = {0, 0, ELEMENTS / 2}}, .extent = {1, 1, 1, ELEMENTS / 2}};
  return status;
}

static void fill_frame(float *data, int64_t count) {
  const float number = (float)atomic_fetch_add(&frames, 1);
  for (int64_t i = 0; i < count; ++i)
    data[i] = number;
}

static void see_frame(float number) {
  const struct timespec nap = {.tv_nsec = nap_ns};
  seen[seen_count++ % SEEN] = number;
  nanosleep(&nap, NULL);
}

static void frame_compute(const void *params, const prem_view *views) {
  (void)params;
  fill_frame(views[0].data, views[0].extent[3]);
}

static void frame_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  fill_frame(arrays[0].data, ELEMENTS);
}

static void watch_compute(const void *params, const prem_view *views) {
  (void)params;
  see_frame(((const float *)views[0].data)[0]);
}

static void watch_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  see_frame(((const float *)arrays[0].data)[0]);
  see_frame(((const float *)arrays[0].data)[ELEMENTS - 1]);
}

static const prem_port out_port[] = {{"out", PREM_OUT, PREM_F32}};
static const prem_port in_port[] = {{"in", PREM_IN, PREM_F32}};
static const prem_kernel frame = {.name = "frame",
                                  .summary = "its number",
                                  .ports = out_port,
                                  .port_count = 1,
                                  .bind = whole_bind,
                                  .compute = frame_compute,
                                  .reference = frame_reference};
static const prem_kernel watch = {.name = "watch",
                                  .summary = "looks at it",
                                  .ports = in_port,
                                  .port_count = 1,
                                  .bind = halves_bind,
                                  .compute = watch_compute,
                                  .reference = watch_reference};
static const prem_kernel *const kernels[] = {&frame, &watch};
static const prem_registry registry = {kernels, 2};

/* ---- schedules ------------------------------------------------------------------------------- */

#define PLATFORM                                                                                   \
  "version = 1; name = \"t\";"                                                                     \
  "platform: { blocks = 3; resources = ( { name = \"memory\"; capacity = 3; } ); };"               \
  "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; } );"

/* A frame a hyperperiod; who watches it is done long before the next one is written. */
static const char *const one_rate = PLATFORM
    "tasks = ( { name = \"frame\"; kernel = \"frame\"; blocks = [ 0 ]; arrays: { out = \"x\"; };"
    "            compute: { wcet_ns = 10000L; }; writeback: { wcet_ns = 10000L; }; },"
    "          { name = \"watch\"; kernel = \"watch\"; blocks = [ 1 ]; arrays: { in = \"x\"; };"
    "            prefetch: { wcet_ns = 10000L; }; compute: { wcet_ns = 10000L; };"
    "            after = ( { task = \"frame\"; } ); } );"
    "plan: { hyperperiod_ns = 200000L; runs = ("
    "  { task = \"frame\"; phase = \"compute\"; chain = [ \"writeback\" ]; start_ns = 0L; },"
    "  { task = \"watch\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 40000L;"
    "    repeat = 2; step_ns = 40000L; } ); };";

/* Two frames of 100 us a hyperperiod; `%s` is one more task; who watches starts at %ld ns. */
static const char *const two_rates = PLATFORM
    "tasks = ( { name = \"frame\"; kernel = \"frame\"; blocks = [ 0 ]; arrays: { out = \"x\"; };"
    "            period_ns = 100000L; compute: { wcet_ns = 10000L; };"
    "            writeback: { wcet_ns = 10000L; }; },"
    "          { name = \"watch\"; kernel = \"watch\"; blocks = [ 1 ]; arrays: { in = \"x\"; };"
    "            period_ns = 200000L; prefetch: { wcet_ns = 10000L; };"
    "            compute: { wcet_ns = 10000L; };"
    "            after = ( { task = \"frame\"; instance = \"latest\"; } ); } );"
    "plan: { hyperperiod_ns = 200000L; runs = ("
    "  { task = \"frame\"; phase = \"compute\"; chain = [ \"writeback\" ]; start_ns = 0L;"
    "    jobs = 2; },"
    "  { task = \"watch\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = %ldL;"
    "    repeat = 2; step_ns = 30000L; } ); };";

/* ---- the edges ------------------------------------------------------------------------------- */

static prem_program *compile(const prem_schedule *schedule) {
  prem_program *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  return program;
}

GROUP("edges");

TEST(a_writer_follows_the_readers_of_the_hyperperiod_before) {
  FIXTURE f = {0};
  fixture_load(&f, &registry, "%s", one_rate);
  assert_checked(f.schedule);
  OWNED(prem_program) *program = compile(f.schedule);
  const prem_task_program *writer = &program->tasks[0], *reader = &program->tasks[1];
  ck_assert_int_eq(writer->after_count, 0);
  ck_assert_int_eq(writer->edge_count, 1);
  ck_assert_int_eq(writer->after[0].task, 1);
  ck_assert_int_eq(writer->after[0].phase, PREM_WRITEBACK);
  ck_assert_int_eq(writer->after[0].lag_ns, 0);
  ck_assert_int_eq(writer->after[0].needed_jobs[0], 0);
  ck_assert_int_eq(reader->edge_count,
                   1); /* the file's own, and no second one that says the same */
  ck_assert(!(program->blocks[0].compute[0].flags & PREM_RECORD_AFTER)); /* it may run ahead */
  ck_assert(program->blocks[0].memory[0].flags & PREM_RECORD_AFTER);
  ck_assert(program->blocks[1].memory[0].flags & PREM_RECORD_AFTER);
  ck_assert(!(program->blocks[1].memory[1].flags & PREM_RECORD_AFTER));
}

/* What the plan ends before a writeback is awaited, what it does not end is not. */
TESTS(edges_keep_the_plans_order_and_no_other, 4) {
  static const struct {
    long start_ns;      /* of the reader's first tile; it ends 50 us later */
    int32_t awaited[2]; /* readers before the writebacks at 10 us and 110 us */
  } cases[] = {{40000, {0, 1}}, {70000, {0, 0}}, {130000, {0, 0}}, {165000, {-1, 0}}};
  FIXTURE f = {0};
  fixture_load(&f, &registry, two_rates, cases[_i].start_ns);
  assert_checked(f.schedule);
  OWNED(prem_program) *program = compile(f.schedule);
  const prem_task_program *writer = &program->tasks[0];
  ck_assert_int_eq(writer->edge_count, 1);
  for (int job = 0; job < 2; ++job)
    ck_assert_int_eq(writer->after[0].needed_jobs[job], cases[_i].awaited[job]);
}

/* The reader's instance is the first frame, but the plan has it read behind the second. */
TEST(a_reader_follows_the_writers_that_the_plan_puts_before_it) {
  FIXTURE f = {0};
  fixture_load(&f, &registry, two_rates, 130000L);
  OWNED(prem_program) *program = compile(f.schedule);
  const prem_task_program *reader = &program->tasks[1];
  ck_assert_int_eq(reader->after_count, 1);
  ck_assert_int_eq(reader->after[0].needed_jobs[0], 1);
  ck_assert_int_eq(reader->edge_count, 2);
  ck_assert_int_eq(reader->after[1].task, 0);
  ck_assert_int_eq(reader->after[1].phase, PREM_PREFETCH);
  ck_assert_int_eq(reader->after[1].needed_jobs[0], 2);
}

/* The writeback comes a hyperperiod and more after the reader's first job has ended. Nobody waits
 * for a job of the hyperperiod behind: the run may end before it. */
TEST(no_job_of_a_later_hyperperiod_is_awaited) {
  FIXTURE f = {0};
  fixture_load(
      &f, &registry, "%s",
      PLATFORM
      "tasks = ( { name = \"frame\"; kernel = \"frame\"; blocks = [ 0 ]; arrays: { out = \"x\"; };"
      "            period_ns = 200000L; compute: { wcet_ns = 10000L; };"
      "            writeback: { wcet_ns = 10000L; }; },"
      "          { name = \"watch\"; kernel = \"watch\"; blocks = [ 1 ]; arrays: { in = \"x\"; };"
      "            period_ns = 200000L; prefetch: { wcet_ns = 5000L; };"
      "            compute: { wcet_ns = 5000L; };"
      "            after = ( { task = \"frame\"; instance = \"latest\"; } ); } );"
      "plan: { hyperperiod_ns = 200000L; runs = ("
      "  { task = \"frame\"; phase = \"compute\"; start_ns = 190000L; },"
      "  { task = \"frame\"; phase = \"writeback\"; start_ns = 250000L; },"
      "  { task = \"watch\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L;"
      "    repeat = 2; step_ns = 20000L; } ); };");
  OWNED(prem_program) *program = compile(f.schedule);
  const prem_task_program *writer = &program->tasks[0];
  ck_assert_int_eq(writer->edge_count, 1);
  ck_assert_int_eq(writer->after[0].task, 1);
  ck_assert_int_eq(writer->after[0].needed_jobs[0], 1);
}

/* A compatible interval touches arrays while it computes. */
TEST(a_compatible_interval_waits_before_its_compute) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; clock_step_ns = 1L; };"
      "arrays = ( { name = \"maze\"; type = \"f32\"; shape = [ 1000 ]; fill = \"random\"; } );"
      "tasks = ( { name = \"inc\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 1000 ];"
      "  arrays: { in = \"maze\"; out = \"new\"; }; prefetch: { wcet_ns = 1500L; };"
      "  compute: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1500L; }; },"
      "  { name = \"walk\"; kernel = \"walk\"; blocks = [ 0 ]; tile = [ 16 ];"
      "  args: { walkers = 16; steps = 20; }; arrays: { vector = \"inc.out\"; out = \"new\"; };"
      "  compute: { wcet_ns = 4000L; }; after = ( { task = \"inc\"; } ); } );"
      "plan: { hyperperiod_ns = 10000L; runs = ("
      "  { task = \"inc\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; },"
      "  { task = \"walk\"; phase = \"compute\"; start_ns = 5000L; } ); };");
  prem_task *walk = &schedule->tasks[1];
  walk->after_count = 0; /* what it waits for is what it reads */
  OWNED(prem_program) *program = compile(schedule);
  const prem_task_program *reader = &program->tasks[1], *writer = &program->tasks[0];
  ck_assert_int_eq(reader->edge_count, 1);
  ck_assert_int_eq(reader->after[0].task, 0);
  ck_assert_int_eq(reader->after[0].phase, PREM_COMPUTE);
  ck_assert_int_eq(reader->after[0].needed_jobs[0], 1);
  ck_assert_int_eq(writer->edge_count, 1);
  ck_assert_int_eq(writer->after[0].phase, PREM_WRITEBACK);
  ck_assert_int_eq(writer->after[0].needed_jobs[0], 0);
}

TEST(arrays_that_nobody_writes_cost_nothing) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      PLATFORM
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 16 ];"
      "    copies = 2; arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 50L; runs = ("
      "  { task = \"a.0\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; },"
      "  { task = \"a.1\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; } ); };");
  OWNED(prem_program) *program = compile(schedule);
  for (int32_t t = 0; t < 2; ++t) {
    ck_assert_int_eq(program->tasks[t].edge_count, 0);
    for (int32_t i = 0; i < 2; ++i)
      ck_assert(!(program->blocks[t].memory[i].flags & PREM_RECORD_AFTER));
  }
}

/* Tiles of a warm-up come before all others: nothing of their hyperperiod is before them. */
TEST(warm_up_waits_for_the_hyperperiod_before) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      PLATFORM
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 16 ];"
      "    period_ns = 500L; arrays: { in = \"a.out\"; out = \"new\"; };"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; after = ( { task = \"a\"; instance = \"latest\"; } ); } "
      ");"
      "plan: { hyperperiod_ns = 500L; warmup_tiles = 1; warmup_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 100L; tile = 1; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 200L; } ); };");
  OWNED(prem_program) *program = compile(schedule);
  ck_assert_int_eq(program->tasks[0].edge_count, 1);
  ck_assert_int_eq(program->tasks[0].after[0].needed_jobs[0], 0);
  ck_assert(program->blocks[0].memory[1].flags & PREM_SLOT_WARMUP);
  ck_assert(program->blocks[0].memory[1].flags & PREM_RECORD_AFTER);
  ck_assert(!(program->blocks[0].memory[0].flags & PREM_RECORD_AFTER));
}

/* ---- runs in which a reader is late ---------------------------------------------------------- */

static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK,
                                  PREM_MODE_LEGACY}; /* not on sim */
enum { MODES = 3 };

/* Every job of the reader sees one frame, that of its own hyperperiod. */
static void assert_frames(int frames_a_hyperperiod) {
  ck_assert_int_eq(seen_count, SEEN);
  for (int i = 0; i < SEEN; ++i) {
    const int expected = i / 2 * frames_a_hyperperiod;
    ck_assert_msg(seen[i] == (float)expected, "tile %d of hyperperiod %d saw frame %g", i % 2,
                  i / 2, (double)seen[i]);
  }
}

static void watch_mode(const prem_backend *backend, void *state, const prem_schedule *schedule,
                       prem_mode mode) {
  const prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS};
  OWNED(prem_trace) *trace = NULL;
  seen_count = 0;
  atomic_store(&frames, 0);
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 1000, &trace), PREM_OK);
  ck_assert_int_eq(backend->run(state, &request, trace, NULL), PREM_OK);
}

/* Run by a plan that is right; the fetches of `watch` then take so long, and its computes nap. */
static void watch_frames(const prem_backend *backend, const fixture *f, int64_t fetch_ns,
                         int frames_a_hyperperiod) {
  OWNED(prem_program) *program = compile(f->schedule);
  OWNED(prem_arrays) *arrays = NULL;
  prem_machine machine;
  void *state;
  assert_checked(f->schedule);
  prem_phase_spec *fetch = &f->schedule->tasks[1].phase[PREM_PREFETCH];
  fetch->wcet_ns = fetch->busy_ns = fetch_ns;
  ck_assert_int_eq(prem_arrays_new(f->schedule, &arrays, NULL), PREM_OK);
  ck_assert_int_eq(backend->probe(&machine, NULL), PREM_OK);
  ck_assert_int_eq(backend->open(program, arrays, &machine, &state, NULL), PREM_OK);
  for (int m = 0; m < MODES + (backend == &prem_backend_cpu); ++m) {
    watch_mode(backend, state, f->schedule, modes[m]);
    assert_frames(frames_a_hyperperiod);
  }
  backend->close(state);
}

static const struct {
  const char *schedule;
  int frames; /* in a hyperperiod */
} rates[] = {{one_rate, 1}, {two_rates, 2}};

GROUP("runs");

TESTS(the_simulator_lets_no_writer_overtake_a_reader, 2) {
  FIXTURE f = {0};
  fixture_load(&f, &registry, rates[_i].schedule, 40000L);
  watch_frames(&prem_backend_sim, &f, 500000, rates[_i].frames);
}

TESTS(the_cpu_lets_no_writer_overtake_a_reader, 2) {
  FIXTURE f = {0};
  fixture_load(&f, &registry, rates[_i].schedule, 40000L);
  nap_ns = 2000000;
  watch_frames(&prem_backend_cpu, &f, 10000, rates[_i].frames);
}

/* The one that test_cuda.c runs on a GPU. */
TEST(nobody_overtakes_on_a_machine_that_is_too_slow) {
  OWNED(prem_schedule) *schedule = planned_schedule(SOURCE_DIR "/tests/cuda/late_reader.cfg");
  OWNED(prem_session) *session = open_on("cpu", schedule);
  for (int m = 0; m < MODES; ++m) {
    OWNED(prem_trace) *trace = run_in(session, schedule, modes[m], 3);
    const order_counts counts = order_judge(schedule, trace, 0);
    ck_assert_int_gt(counts.pairs, 4);
    ck_assert_int_eq(counts.broken, 0);
  }
}

/* Where nobody is late the edges are never felt. */
TESTS(a_plan_that_is_kept_is_not_delayed, 4) {
  static const long starts_ns[] = {40000, 70000, 130000, 165000};
  FIXTURE f = {0};
  fixture_load(&f, &registry, two_rates, starts_ns[_i]);
  assert_checked(f.schedule);
  OWNED(prem_trace) *trace = simulate(f.schedule, PREM_MODE_TT, HYPERPERIODS);
  for (int32_t i = 0; i < 2 * PREM_PHASE_COUNT; ++i) {
    ck_assert_int_eq(trace->stats[i].late, 0);
    ck_assert_int_eq(trace->stats[i].overruns, 0);
  }
}

/* ---- random plans whose phases take longer than planned -------------------------------------- */

enum { PLANS = 200 };

/* Some phases take 30 to 39 times as long; with `back` as long as they did. */
static void stretch_phases(prem_schedule *schedule, uint64_t seed, bool back) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      const int64_t drawn = (int64_t)(seed >> 33) % 40, times = drawn < 30 ? 1 : drawn;
      int64_t *wcet_ns = &schedule->tasks[t].phase[p].wcet_ns;
      *wcet_ns = back ? *wcet_ns / times : *wcet_ns * times;
    }
}

/* The program is compiled with the plan's WCETs, the simulator opened with longer ones. */
static int64_t run_late(prem_schedule *schedule, uint64_t seed, prem_mode mode) {
  const prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_program) *program = compile(schedule);
  OWNED(prem_arrays) *arrays = NULL;
  OWNED(prem_trace) *trace = NULL;
  void *state;
  ck_assert_int_eq(prem_arrays_new(schedule, &arrays, NULL), PREM_OK);
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, INT64_MAX / 2, &trace), PREM_OK);
  stretch_phases(schedule, seed, false);
  ck_assert_int_eq(prem_backend_sim.open(program, arrays, NULL, &state, NULL), PREM_OK);
  stretch_phases(schedule, seed, true);
  if (prem_backend_sim.run(state, &request, trace, diag) != PREM_OK)
    abort_with("a late run", diag);
  const order_counts counts = order_judge(schedule, trace, 0);
  ck_assert_msg(counts.broken == 0, "seed %d, mode %s: %d of %d pairs", (int)seed,
                prem_mode_name(mode), (int)counts.broken, (int)counts.pairs);
  prem_backend_sim.close(state);
  return counts.pairs;
}

TEST(late_random_plans_end_and_keep_their_order) {
  int64_t pairs = 0;
  for (uint64_t seed = 1; seed <= PLANS; ++seed) {
    OWNED(prem_schedule) *schedule = NULL;
    if (random_schedule_plan(seed, NULL, &schedule, NULL) == PREM_OK)
      for (int m = 0; m < MODES; ++m)
        pairs += run_late(schedule, seed, modes[m]);
  }
  ck_assert_int_gt(pairs, PLANS);
}
