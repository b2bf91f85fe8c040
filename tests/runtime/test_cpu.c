/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend runs plans: right outputs, and traces that keep their promises. */
/* ctest: threads */
#include "runtime/cpu/cpu.h"
#include "tests/common/cpu_fixture.h"
#include "tests/common/schedule_text.h"
#include "tests/common/suite.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- schedules ------------------------------------------------------------------------------ */

#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; }; "                              \
  "writeback: { wcet_ns = 20000L; };"
#define CHAIN "phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"

/* Sizes that are no multiple of anything, a border, a halo. 8 x 4 tiles. */
static const char *const convolution =
    "version = 1; name = \"convolution\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"out\"; type = \"f32\"; shape = [ 37, 53 ]; }," /* before all inputs */
    "           { name = \"in\"; type = \"f32\"; shape = [ 37, 53 ]; fill = \"random\"; seed = 3; "
    "} );"
    "tasks = ( { name = \"conv\"; kernel = \"conv2d\"; blocks = 2; tile = [ 5, 17 ];"
    "            arrays: { in = \"in\"; out = \"out\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 1280000L; runs = ("
    "  { task = \"conv\"; " CHAIN
    " count = 2; start_ns = 0L; repeat = 16; step_ns = 80000L; } ); };";

/* Two kernels that share block 0, with unequal tiles. */
static const char *const sharing =
    "version = 1; name = \"sharing\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 1001 ]; fill = \"random\"; seed = 1; },"
    "           { name = \"a\"; type = \"c64\"; shape = [ 3, 7, 9 ]; fill = \"random\"; seed = 2; "
    "},"
    "           { name = \"b\"; type = \"c64\"; shape = [ 3, 7, 9 ]; fill = \"random\"; seed = 4; "
    "} );"
    "tasks = ( { name = \"inc\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 67 ];"
    "            args: { increment = 0.25; };"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " },"
    "          { name = \"mul\"; kernel = \"kcf_multiply\"; blocks = [ 0, 1 ]; tile = [ 1, 4, 9 ];"
    "            arrays: { a = \"a\"; b = \"b\"; out = \"new\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 3000000L; runs = ("
    "  { task = \"inc\"; " CHAIN " start_ns = 0L; repeat = 15; step_ns = 200000L; },"
    "  { task = \"mul\"; " CHAIN
    " count = 2; start_ns = 100000L; repeat = 3; step_ns = 200000L; } ); };";

/* Each task reads what the one before it wrote, on the blocks in another order. */
static const char *const succession =
    "version = 1; name = \"succession\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 1001 ]; fill = \"random\"; seed = 1; },"
    "           { name = \"w\"; type = \"f32\"; shape = [ 1001 ]; },"
    "           { name = \"x\"; type = \"f32\"; shape = [ 1001 ]; } );"
    "tasks = ( { name = \"first\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 64 ];"
    "            arrays: { in = \"v\"; out = \"w\"; };" PHASES " },"
    "          { name = \"second\"; kernel = \"vector_increment\"; blocks = [ 1, 0 ]; tile = [ 100 "
    "];"
    "            arrays: { in = \"w\"; out = \"x\"; };" PHASES
    "            after = ( { task = \"first\"; lag_ns = 50000L; } ); },"
    "          { name = \"third\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 1001 ];"
    "            arrays: { in = \"x\"; out = \"new\"; };" PHASES
    "            after = ( { task = \"second\"; }, { task = \"first\"; } ); } );"
    "plan: { hyperperiod_ns = 1400000L; runs = ("
    "  { task = \"first\"; " CHAIN " count = 2; start_ns = 0L; repeat = 8; step_ns = 80000L; },"
    "  { task = \"second\"; " CHAIN
    " count = 2; start_ns = 700000L; repeat = 6; step_ns = 80000L; },"
    "  { task = \"third\"; " CHAIN " start_ns = 1300000L; } ); };";

/* The writeback of a tile goes with the prefetch of the one after next. */
static const char *const joined =
    "version = 1; name = \"joined\";"
    "platform: { blocks = 1; buffers = 2; };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 1001 ]; fill = \"random\"; seed = 1; } );"
    "tasks = ( { name = \"inc\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 64 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 1800000L; runs = ("
    "  { task = \"inc\"; phase = \"prefetch\"; start_ns = 0L; repeat = 18; step_ns = 100000L;"
    "    join: { tile = -2; }; },"
    "  { task = \"inc\"; phase = \"compute\"; start_ns = 45000L; repeat = 16; step_ns = 100000L; }"
    " ); };";

/* A one-shot beside periodic tasks of unequal periods, and a warm-up tile would be too much here.
 */
static const char *const periodic =
    "version = 1; name = \"periodic\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "tasks = ( { name = \"fast\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 2;"
    "            period_ns = 400000L; release_ns = 10000L; compute: { wcet_ns = 20000L; }; },"
    "          { name = \"slow\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 3;"
    "            period_ns = 800000L; compute: { wcet_ns = 20000L; };"
    "            after = ( { task = \"fast\"; instance = \"latest\"; lag_ns = 5000L; } ); },"
    "          { name = \"once\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
    "            release_ns = 300000L; compute: { wcet_ns = 20000L; }; } );"
    "plan: { hyperperiod_ns = 800000L; runs = ("
    "  { task = \"fast\"; phase = \"compute\"; start_ns = 20000L; repeat = 2; step_ns = 30000L;"
    "    jobs = 2; },"
    "  { task = \"slow\"; phase = \"compute\"; start_ns = 100000L; repeat = 3; step_ns = 50000L; },"
    "  { task = \"once\"; phase = \"compute\"; start_ns = 300000L; } ); };";

static const char *const warm_up =
    "version = 1; name = \"warm-up\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 640 ]; fill = \"random\"; seed = 1; } );"
    "tasks = ( { name = \"inc\"; kernel = \"vector_increment\"; blocks = 2; tile = [ 64 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 700000L; warmup_tiles = 1; warmup_ns = 200000L; runs = ("
    "  { task = \"inc\"; " CHAIN " count = 2; tile = 2; start_ns = 300000L; repeat = 4;"
    "    step_ns = 80000L; } ); };";

/* Every block at once for one token; `per` decides whether the blocks of a task share it. */
static const char *const contended =
    "version = 1; name = \"contended\";"
    "platform: { blocks = 4; resources = ( { name = \"memory\"; capacity = 1; per = \"%s\"; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 4000 ]; fill = \"random\"; seed = 1; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 100 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " },"
    "          { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 2, 3 ]; tile = [ 100 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 8000000L; runs = ("
    "  { task = \"a\"; " CHAIN
    " count = 2; start_ns = 0L; block_step_ns = 100000L; repeat = 20; step_ns = 400000L; },"
    "  { task = \"b\"; " CHAIN " count = 2; start_ns = 200000L; block_step_ns = 100000L; repeat = "
    "20; step_ns = 400000L; } ); };";

/* The same on two blocks, which have a core each on most machines. */
static const char *const rivals =
    "version = 1; name = \"rivals\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 1; per = \"%s\"; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 40000 ]; fill = \"random\"; seed = 1; } "
    ");"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 1000 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " },"
    "          { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 1000 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };" PHASES " } );"
    "plan: { hyperperiod_ns = 8000000L; runs = ("
    "  { task = \"a\"; " CHAIN " start_ns = 0L; repeat = 40; step_ns = 200000L; },"
    "  { task = \"b\"; " CHAIN " start_ns = 100000L; repeat = 40; step_ns = 200000L; } ); };";

/* As many blocks as the caller says. */
static const char *const crowd =
    "version = 1; name = \"crowd\";"
    "platform: { blocks = %d; resources = ( { name = \"memory\"; capacity = %d; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 1001 ]; fill = \"random\"; seed = 1; },"
    "           { name = \"w\"; type = \"f32\"; shape = [ 1001 ]; } );"
    "tasks = ( { name = \"first\"; kernel = \"vector_increment\"; blocks = %d; tile = [ 10 ];"
    "            arrays: { in = \"v\"; out = \"w\"; };" PHASES " },"
    "          { name = \"second\"; kernel = \"vector_increment\"; blocks = \"0-%d\"; tile = [ 7 ];"
    "            arrays: { in = \"w\"; out = \"new\"; };" PHASES
    "            after = ( { task = \"first\"; } ); } );"
    "plan: { hyperperiod_ns = 20000000L; runs = ("
    "  { task = \"first\"; " CHAIN " count = %d; start_ns = 0L; repeat = 101; step_ns = 80000L; },"
    "  { task = \"second\"; " CHAIN
    " count = %d; start_ns = 8100000L; repeat = 144; step_ns = 80000L; } ); };";

/* ---- what a trace promises ------------------------------------------------------------------ */

typedef struct expectation {
  const fixture *f;
  prem_mode mode;
  int64_t hyperperiods;
  prem_slot *slots;
  int64_t slot_count;
} expectation;

static int64_t slot_of(const expectation *e, const prem_trace_record *record) {
  for (int64_t i = 0; i < e->slot_count; ++i) {
    const prem_slot *slot = &e->slots[i];
    if (slot->task == record->task && slot->job == record->job && slot->tile == record->tile &&
        slot->phase == record->phase)
      return i;
  }
  ck_abort_msg("a record of no slot: task %d tile %d", (int)record->task, (int)record->tile);
}

static void check_stamps(const expectation *e, const prem_trace_record *record,
                         const prem_slot *slot) {
  const int64_t base_ns = record->hyperperiod * e->f->schedule->plan->hyperperiod_ns;
  const uint8_t plan_flags = PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP;
  ck_assert_int_eq(record->block, slot->block);
  ck_assert_int_eq(record->flags, slot->flags & plan_flags);
  ck_assert_int_ge(record->ready_ns, 0);
  ck_assert_int_le(record->ready_ns, record->start_ns);
  ck_assert_int_le(record->start_ns, record->end_ns);
  if (e->mode != PREM_MODE_TT || (slot->flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP))) {
    ck_assert_int_eq(record->release_ns, PREM_NO_RELEASE);
  } else {
    ck_assert_int_eq(record->release_ns, base_ns + slot->planned_ns);
    ck_assert_int_le(record->release_ns, record->start_ns);
  }
  if (!(slot->flags & PREM_SLOT_WARMUP)) {
    const prem_task *task = &e->f->schedule->tasks[slot->task];
    ck_assert_int_ge(record->start_ns, base_ns + slot->job * task->period_ns + task->release_ns);
  }
}

static void check_every_record_once(const expectation *e) {
  const prem_trace *trace = e->f->trace;
  ck_assert_int_eq(trace->lost, 0);
  ck_assert_int_eq(trace->record_count, e->slot_count * e->hyperperiods);
  FREED bool *seen = calloc((size_t)trace->record_count, sizeof *seen);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    const int64_t slot = slot_of(e, record);
    check_stamps(e, record, &e->slots[slot]);
    const int64_t place = record->hyperperiod * e->slot_count + slot;
    ck_assert(!seen[place]);
    seen[place] = true;
  }
}

/* A block is one thread: no two of its phases overlap, unless they are a joined pair. */
static void check_blocks_are_serial(const expectation *e) {
  const prem_trace *trace = e->f->trace;
  for (int32_t b = 0; b < e->f->schedule->platform.blocks; ++b) {
    const prem_trace_record *before = NULL;
    for (int64_t i = 0; i < trace->record_count; ++i) {
      const prem_trace_record *record = &trace->records[i];
      if (record->block != b)
        continue;
      const bool pair = before && (before->flags & record->flags & PREM_SLOT_JOINED) &&
                        before->start_ns == record->start_ns;
      if (pair)
        ck_assert_int_eq(before->end_ns, record->end_ns);
      else if (before)
        ck_assert_int_le(before->end_ns, record->start_ns);
      before = record;
    }
  }
}

static int64_t *job_end(const prem_trace *trace, int64_t hyperperiod, int32_t task, int32_t job) {
  return &trace->job_end_ns[hyperperiod * trace->job_count + trace->first_job[task] + job];
}

/* A job ends with the last of its phases. */
static void check_job_ends(const expectation *e) {
  const prem_trace *trace = e->f->trace;
  const int64_t jobs = trace->job_count * e->hyperperiods;
  FREED int64_t *latest = malloc((size_t)jobs * sizeof *latest);
  memset(latest, 0xFF, (size_t)jobs * sizeof *latest);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int64_t place = job_end(trace, r->hyperperiod, r->task, r->job) - trace->job_end_ns;
    if (latest[place] < r->end_ns)
      latest[place] = r->end_ns;
  }
  for (int64_t i = 0; i < jobs; ++i)
    ck_assert_int_eq(trace->job_end_ns[i], latest[i]);
}

/* Same-instance edges only: job j follows job j. */
static void check_precedence(const expectation *e) {
  const prem_trace *trace = e->f->trace;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const prem_task *task = &e->f->schedule->tasks[r->task];
    for (int32_t a = 0; a < task->after_count; ++a)
      if (!task->after[a].latest)
        ck_assert_int_ge(r->start_ns, *job_end(trace, r->hyperperiod, task->after[a].task, r->job) +
                                          task->after[a].lag_ns);
  }
}

static void check_trace(const fixture *f, prem_mode mode, int64_t hyperperiods) {
  expectation e = {.f = f, .mode = mode, .hyperperiods = hyperperiods};
  fixture_expect(f,
                 prem_plan_expand(f->schedule, f->schedule->plan, &e.slots, &e.slot_count, f->diag),
                 PREM_OK);
  ck_assert_int_eq(f->trace->hyperperiods, hyperperiods);
  ck_assert_int_ge(f->trace->launch_ns, 0);
  prem_trace_sort(f->trace);
  check_every_record_once(&e);
  check_blocks_are_serial(&e);
  check_job_ends(&e);
  check_precedence(&e);
  free(e.slots);
}

static void run(fixture *f, prem_mode mode, int64_t hyperperiods) {
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods};
  fixture_expect(f, prem_session_poison(f->session), PREM_OK);
  fixture_expect(f, prem_session_run(f->session, &request, f->trace, f->diag), PREM_OK);
  prem_verdict verdict;
  fixture_expect(f, prem_session_verify(f->session, &verdict), PREM_OK);
  ck_assert_msg(verdict.ok, "%lld elements are wrong", (long long)verdict.wrong);
  check_trace(f, mode, hyperperiods);
}

/* Open once, then every mode twice: sessions are used again and again. */
static void run_in_every_mode(fixture *f, int64_t hyperperiods) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK,
                                    PREM_MODE_TT, PREM_MODE_LOCK, PREM_MODE_FREE};
  fixture_open(f, hyperperiods, 1000000);
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m)
    run(f, modes[m], hyperperiods);
}

/* ---- tests ---------------------------------------------------------------------------------- */

TESTS(outputs_are_right_in_every_mode, 6) {
  const char *const schedules[] = {convolution, sharing, succession, joined, periodic, warm_up};
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", schedules[_i]);
  run_in_every_mode(&f, 1);
}

TESTS(hyperperiods_follow_each_other, 5) {
  const char *const schedules[] = {convolution, sharing, joined, periodic, warm_up};
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", schedules[_i]);
  run_in_every_mode(&f, 7);
}

TEST(a_resident_run_of_1000_hyperperiods) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(),
               "version = 1; name = \"resident\"; platform: { blocks = 2; };"
               "tasks = ( { name = \"n\"; kernel = \"noop\"; blocks = 2; tiles = 8;"
               "            compute: { wcet_ns = 1000L; }; } );"
               "plan: { hyperperiod_ns = 100000L; runs = ( { task = \"n\"; phase = \"compute\";"
               "  count = 2; start_ns = 0L; repeat = 4; step_ns = 20000L; } ); };");
  fixture_open(&f, 1000, 100000);
  run(&f, PREM_MODE_TT, 1000);
  ck_assert_int_eq(f.trace->stats[PREM_COMPUTE].count, 8000);
  ck_assert_int_eq(f.trace->stats[PREM_COMPUTE].releases, 8000);
}

TEST(discarded_hyperperiods_are_not_counted) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", periodic);
  fixture_open(&f, 5, 100000);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 5, .discard = 2};
  fixture_expect(&f, prem_session_run(f.session, &request, f.trace, f.diag), PREM_OK);
  ck_assert_int_eq(f.trace->stats[0 * PREM_PHASE_COUNT + PREM_COMPUTE].count, 3 * 4);
  ck_assert_int_eq(f.trace->stats[1 * PREM_PHASE_COUNT + PREM_COMPUTE].count, 3 * 3);
  ck_assert_int_eq(f.trace->stats[2 * PREM_PHASE_COUNT + PREM_COMPUTE].count, 3 * 1);
}

TEST(warm_up_tiles_are_counted_apart) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", warm_up);
  fixture_open(&f, 3, 100000);
  run(&f, PREM_MODE_TT, 3);
  ck_assert_int_eq(f.trace->warmup_count, 3 * 2 * PREM_PHASE_COUNT);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    ck_assert_int_eq(f.trace->stats[p].count, 3 * 8);
}

TEST(overruns_count_where_releases_are_kept) {
  fixture f; /* windows of 1 ns: every compute ends after its own */
  fixture_load(&f, prem_registry_builtin(),
               "version = 1; name = \"tight\"; platform: { blocks = 1; };"
               "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 4096 ]; } );"
               "tasks = ( { name = \"n\"; kernel = \"vector_increment\"; blocks = 1;"
               "            tile = [ 1024 ]; arrays: { in = \"v\"; out = \"new\"; };"
               "            prefetch: { wcet_ns = 1L; }; compute: { wcet_ns = 1L; };"
               "            writeback: { wcet_ns = 1L; }; } );"
               "plan: { hyperperiod_ns = 400000L; runs = ( { task = \"n\"; " CHAIN
               "  start_ns = 0L; repeat = 4; step_ns = 100000L; } ); };");
  fixture_open(&f, 1, 1000);
  run(&f, PREM_MODE_TT, 1);
  ck_assert_int_eq(f.trace->stats[PREM_COMPUTE].overruns, 4);
  run(&f, PREM_MODE_FREE, 1);
  ck_assert_int_eq(f.trace->stats[PREM_COMPUTE].overruns, 0);
  fixture_close(&f);
}

/* Each hyperperiod has windows of its own: what ends in time in the third one is no overrun of the
 * first one's. 20 ms are plenty; where the machine is taken away now and then, not for most of the
 * phases. */
TEST(windows_move_on_with_the_hyperperiods) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(),
               "version = 1; name = \"wide\"; platform: { blocks = 1; };"
               "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 64 ]; } );"
               "tasks = ( { name = \"n\"; kernel = \"vector_increment\"; blocks = 1;"
               "            tile = [ 64 ]; arrays: { in = \"v\"; out = \"new\"; };"
               "            prefetch: { wcet_ns = 20000000L; }; compute: { wcet_ns = 20000000L; };"
               "            writeback: { wcet_ns = 20000000L; }; } );"
               "plan: { hyperperiod_ns = 60000000L; runs = ( { task = \"n\"; " CHAIN
               "  start_ns = 0L; } ); };");
  fixture_open(&f, 4, 1000);
  run(&f, PREM_MODE_TT, 4);
  int64_t overruns = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    overruns += f.trace->stats[p].overruns;
  ck_assert_int_lt(overruns, 6); /* of 12; with the windows of the first alone, at least 9 */
}

TEST(more_blocks_than_cores_yield) {
  const prem_backend *cpu = prem_backend_find("cpu");
  prem_machine machine;
  ck_assert_int_eq(prem_backend_probe(cpu, &machine, NULL), PREM_OK);
  const int blocks = machine.max_blocks + 3;
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), crowd, blocks, blocks, blocks, blocks - 1, blocks,
               blocks);
  run_in_every_mode(&f, 1);
  ck_assert(f.trace->oversubscribed);
}

TEST(few_blocks_are_not_oversubscribed) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", joined);
  fixture_open(&f, 1, 1000);
  run(&f, PREM_MODE_FREE, 1);
  ck_assert(!f.trace->oversubscribed);
}

/* Untiled: no phases, but outputs and the ends of jobs, in the order that `after` asks for. */
/* A process that wants the core of block 0, and every other. */
static pid_t start_rival(void) {
  const pid_t rival = fork();
  if (rival == 0)
    for (volatile uint64_t turns = 0;; ++turns)
      continue;
  return rival;
}

TEST(a_core_that_is_taken_away_is_seen) {
  enum { HYPERPERIODS = 400 }; /* half a second and more: many slices of any scheduler */
  pid_t others[64];
  prem_machine machine;
  ck_assert_int_eq(prem_backend_probe(prem_backend_find("cpu"), &machine, NULL), PREM_OK);
  const int count = machine.cores < 64 ? machine.cores : 64;
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", convolution);
  fixture_open(&f, HYPERPERIODS, 0);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  for (int i = 0; i < count; ++i)
    others[i] = start_rival();
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  for (int i = 0; i < count; ++i) {
    kill(others[i], SIGKILL);
    waitpid(others[i], NULL, 0);
  }
  fixture_expect(&f, status, PREM_OK);
  int seen = 0;
  for (int64_t j = 0; j < HYPERPERIODS * f.trace->job_count; ++j) {
    const bool is_shared = f.trace->oversubscribed;
    ck_assert(is_shared ? f.trace->away_ns[j] == -1 : f.trace->away_ns[j] >= 0);
    seen += f.trace->away_ns[j] > 0;
  }
  if (!f.trace->oversubscribed)
    ck_assert_int_gt(seen, 0);
}

TESTS(legacy_runs_whole_tasks, 4) {
  const char *const schedules[] = {convolution, sharing, succession, periodic};
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", schedules[_i]);
  fixture_open(&f, 3, 1000);
  const int64_t hyperperiods = _i == 2 ? 1 : 3;
  const prem_run_request request = {.mode = PREM_MODE_LEGACY, .hyperperiods = hyperperiods};
  for (int launch = 0; launch < 3; ++launch) {
    fixture_expect(&f, prem_session_poison(f.session), PREM_OK);
    fixture_expect(&f, prem_session_run(f.session, &request, f.trace, f.diag), PREM_OK);
    prem_verdict verdict;
    fixture_expect(&f, prem_session_verify(f.session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
    ck_assert_int_eq(f.trace->hyperperiods, hyperperiods);
    ck_assert_int_eq(f.trace->record_count, 0);
    for (int64_t h = 0; h < hyperperiods; ++h)
      for (int32_t t = 0; t < f.schedule->task_count; ++t) {
        const prem_task *task = &f.schedule->tasks[t];
        const int64_t end_ns = *job_end(f.trace, h, t, 0);
        ck_assert_int_ge(end_ns, h * f.schedule->plan->hyperperiod_ns + task->release_ns);
        for (int32_t a = 0; a < task->after_count; ++a)
          if (!task->after[a].latest)
            ck_assert_int_ge(end_ns,
                             *job_end(f.trace, h, task->after[a].task, 0) + task->after[a].lag_ns);
      }
  }
}

static bool moves_memory(const prem_trace_record *record) {
  return record->phase != PREM_COMPUTE;
}

static bool overlap(const prem_trace_record *a, const prem_trace_record *b) {
  return a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

/* One clock for all cores, and a token is handed on after the end was stamped: no tolerance. */
TESTS(a_token_has_one_holder, 4) {
  const bool gang = _i % 2 == 1;
  FIXTURE f = {0};
  if (_i < 2)
    fixture_load(&f, prem_registry_builtin(), contended, gang ? "task" : "block");
  else
    fixture_load(&f, prem_registry_builtin(), rivals, gang ? "task" : "block");
  fixture_open(&f, 1, 1000);
  for (int i = 0; i < 10; ++i) {
    run(&f, PREM_MODE_LOCK, 1);
    for (int64_t a = 0; a < f.trace->record_count; ++a)
      for (int64_t b = a + 1; b < f.trace->record_count; ++b) {
        const prem_trace_record *x = &f.trace->records[a], *y = &f.trace->records[b];
        const bool share = gang && x->task == y->task && x->phase == y->phase;
        if (moves_memory(x) && moves_memory(y) && !share)
          ck_assert(!overlap(x, y));
      }
  }
}

TEST(records_that_find_no_room_are_counted) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", convolution);
  fixture_open(&f, 4, 100);
  const prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 4};
  fixture_expect(&f, prem_session_run(f.session, &request, f.trace, f.diag), PREM_OK);
  ck_assert_int_eq(f.trace->record_count, 100);
  ck_assert_int_eq(f.trace->lost, 4 * 96 - 100);
  ck_assert_int_eq(f.trace->stats[PREM_COMPUTE].count, 4 * 32);
}

TEST(a_session_is_launched_again_and_again) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), "%s", sharing);
  fixture_open(&f, 1, 1000);
  for (int i = 0; i < 100; ++i)
    run(&f, PREM_MODE_FREE, 1);
}

TEST(the_machine_is_described) {
  const prem_backend *cpu = prem_backend_find("cpu");
  prem_machine machine;
  ck_assert_int_eq(prem_backend_probe(cpu, &machine, NULL), PREM_OK);
  ck_assert_str_eq(machine.backend, "cpu");
  ck_assert_int_ge(machine.cores, 1);
  ck_assert_int_eq(machine.max_blocks, machine.cores);
  ck_assert_int_ge(machine.clock_step_ns, 1);
  ck_assert_int_lt(machine.clock_step_ns, 20000000);
  ck_assert_int_gt(machine.clock_read_ns, 0);
  ck_assert(machine.yields);
  ck_assert_ptr_nonnull(strstr(machine.name, "core"));
}

TEST(an_abstract_task_is_refused) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(),
               "version = 1; name = \"abstract\"; platform: { blocks = 1; };"
               "tasks = ( { name = \"ghost\"; kernel = \"none\"; blocks = 1; tiles = 1;"
               "            compute: { wcet_ns = 10L; }; } );"
               "plan: { hyperperiod_ns = 10L;"
               "  runs = ( { task = \"ghost\"; phase = \"compute\"; start_ns = 0L; } ); };");
  prem_session *session;
  const prem_status status =
      prem_session_open(prem_backend_find("cpu"), f.schedule, &session, f.diag);
  fixture_expect(&f, status, PREM_ERR_INVALID);
  ck_assert_ptr_null(session);
  fixture_expect_said(&f, "task 'ghost' has no kernel");
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* A pair of one task asks for what `joined` says, without it for the larger of both; a phase alone
 * for its own. */
TEST(a_pair_asks_for_the_demand_of_a_pair) {
  static const char one[] = "version = 1; name = \"pair\";"
                            "platform: { blocks = 1; buffers = 2; resources = ( { name = "
                            "\"memory\"; capacity = 9; } ); };"
                            "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
                            "  prefetch: { wcet_ns = 1L; demand: { memory = 2; }; };"
                            "  writeback: { wcet_ns = 1L; demand: { memory = 3; }; }; %s } );";
  for (int with_joined = 0; with_joined < 2; ++with_joined) {
    OWNED(prem_schedule) *schedule = schedule_from_text(
        text(one, with_joined ? "joined: { wcet_ns = 2L; demand: { memory = 4; }; };" : ""));
    const prem_record pair[] = {{.phase = PREM_PREFETCH}, {.phase = PREM_WRITEBACK}};
    prem_cpu_tokens tokens = {0};
    prem_cpu_claim claim;
    ck_assert_int_eq(prem_cpu_tokens_new(&tokens, schedule, true), PREM_OK);
    prem_cpu_tokens_claim(&tokens, pair, 2, &claim);
    ck_assert_int_eq(claim.demand[0], with_joined ? 4 : 3);
    prem_cpu_tokens_claim(&tokens, pair, 1, &claim);
    ck_assert_int_eq(claim.demand[0], 2);
    prem_cpu_tokens_free(&tokens);
  }
}
