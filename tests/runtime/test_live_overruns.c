/* SPDX-License-Identifier: Apache-2.0 */
/* Overruns in live sessions on the simulator: what happens at which instant, for each policy and
 * each phase in which a job can be when its deadline comes. The logs are in
 * tests/golden/overruns.txt. */
#include "tests/common/golden.h"
#include "tests/common/live.h"
#include "tests/common/live_tree.h"
#include "tests/common/longer.h"
#include "tests/common/suite.h"

enum { ROOM = 1 << 16, JOBS = 6, PERIOD_NS = 1000, DEADLINE_NS = 900 };

static const char *const policies[] = {"record", "skip", "abort", "stop", "degrade"};
static const char *const phases[] = {"prefetch", "compute", "writeback"};

/* The frame of job 1 comes so late that the deadline, 1900, lies in the middle of a phase. */
static const int64_t comes_ns[] = {1850, 1700, 1550};

typedef struct bench {
  prem_schedule *schedule;
  prem_live *live;
  prem_trace *trace;
  int32_t x, y;
  char *log;
} bench;

PREM_PRINTF(2, 3) static void say(bench *b, const char *format, ...) {
  const size_t used = strlen(b->log);
  va_list args;
  va_start(args, format);
  vsnprintf(b->log + used, ROOM - used, format, args);
  va_end(args);
  ck_assert_uint_lt(strlen(b->log), ROOM - 1000);
}

/* `length_ns`: of the phases of the first task; NULL: as planned. */
static bench start_bench(prem_schedule *schedule, const int64_t *length_ns, char *log) {
  bench b = {.schedule = schedule, .log = log};
  b.live = length_ns ? open_longer(schedule, length_ns) : open_live_on("sim", schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  ck_assert_int_eq(prem_trace_new(schedule, 100, 10000, &b.trace), PREM_OK);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .trace = b.trace});
  return b;
}

static void close_bench(bench *b) {
  prem_live_close(b->live);
  prem_trace_free(b->trace);
  prem_schedule_free(b->schedule);
}

/* All results there are; a torn one fails. */
static void log_results(bench *b) {
  float value;
  prem_frame frame;
  while (fetch(b->live, b->y, 0, &value, &frame) == PREM_OK)
    say(b, "%6lld result %llu, of job %lld: %g%s\n", (long long)frame.published_ns,
        (unsigned long long)frame.number, (long long)frame.job, (double)value,
        frame.flags & PREM_FRAME_LATE ? ", late" : "");
}

static int compare_records(const void *left, const void *right) {
  const prem_trace_record *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return (int)a->block - (int)b->block;
}

/* Those of jobs from one to another. */
static void log_phases(bench *b, int64_t from, int64_t to) {
  qsort(b->trace->records, (size_t)b->trace->record_count, sizeof *b->trace->records,
        compare_records);
  for (int64_t i = 0; i < b->trace->record_count; ++i) {
    const prem_trace_record *r = &b->trace->records[i];
    const prem_task *task = &b->schedule->tasks[r->task];
    const int64_t job = r->hyperperiod * prem_task_jobs(b->schedule, task) + r->job;
    if (job >= from && job <= to)
      say(b, "%6lld to %5lld block %d: %s of '%s', job %lld, tile %d\n", (long long)r->start_ns,
          (long long)r->end_ns, r->block, prem_phase_name((prem_phase)r->phase), task->name,
          (long long)job, r->tile);
  }
}

static void log_counts(bench *b) {
  static const char *const ends[] = {"not ended", "stopped", "no frame", "overrun", "failed"};
  prem_live_state state;
  prem_live_counts y;
  prem_live_look(b->live, &state);
  prem_live_count(b->live, b->y, &y);
  for (int32_t t = 0; t < b->schedule->task_count; ++t) {
    prem_live_task_counts of;
    prem_live_count_task(b->live, t, &of);
    say(b, "task '%s': overruns %llu, skipped %llu, aborted %llu", b->schedule->tasks[t].name,
        (unsigned long long)of.overruns, (unsigned long long)of.skipped,
        (unsigned long long)of.aborted);
    say(b, of.off ? ", off %llu\n" : "\n", (unsigned long long)of.off);
  }
  say(b, "output: shown %llu, missing %llu, dropped %llu, aborted %llu, late %llu\n",
      (unsigned long long)y.frames, (unsigned long long)y.missing, (unsigned long long)y.dropped,
      (unsigned long long)y.aborted, (unsigned long long)y.late);
  say(b, "session: hyperperiods %lld, overruns %lld, skipped %lld, aborted %lld, %s\n\n",
      (long long)state.hyperperiods, (long long)state.overruns, (long long)state.skipped,
      (long long)state.aborted, ends[state.end]);
}

/* A frame for each job at its release, but for job 1. */
static void feed_jobs(bench *b, int64_t late_ns, int64_t to_job) {
  for (int job = 0; job < JOBS; ++job) {
    prem_live_sleep_until(b->live, job == 1 ? late_ns : job * PERIOD_NS);
    const prem_status status = feed(b->live, b->x, (float)job, NULL);
    ck_assert(status == PREM_OK || status == PREM_ERR_ENDED);
    log_results(b);
  }
  ck_assert_int_eq(prem_live_stop(b->live, true, 100000, NULL), PREM_OK);
  log_results(b);
  log_phases(b, 1, to_job);
  log_counts(b);
}

/* ---- one task ------------------------------------------------------------------------------- */

static prem_schedule *one_task(const char *policy, const char *output) {
  return checked_schedule(increment_file(
      PERIOD_NS, 1, text("deadline_ns = %dL; overrun = \"%s\";", DEADLINE_NS, policy),
      text("inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"wait\"; buffers = 8; } );"
           "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; %s } );"
           "operating_modes = ( { name = \"full\"; }, { name = \"idle\"; off = [ \"a\" ]; } );",
           output)));
}

static void log_one_task(char *log) {
  for (size_t p = 0; p < sizeof policies / sizeof *policies; ++p)
    for (size_t f = 0; f < PREM_PHASE_COUNT; ++f) {
      bench b = start_bench(one_task(policies[p], ""), NULL, log);
      say(&b, "%s, in a %s\n", policies[p], phases[f]);
      feed_jobs(&b, comes_ns[f], 3);
      close_bench(&b);
    }
}

/* Each job takes 2700 ns, 700 more than two periods. */
static void log_long_jobs(char *log) {
  for (size_t p = 0; p < sizeof policies / sizeof *policies; ++p) {
    prem_schedule *schedule = one_task(policies[p], "");
    bench b = start_bench(schedule, (const int64_t[]){100, 2500, 100}, log);
    say(&b, "%s, computes longer than two periods\n", policies[p]);
    feed_jobs(&b, PERIOD_NS, JOBS);
    close_bench(&b);
  }
}

/* ---- a chain on several blocks --------------------------------------------------------------- */

/* a fetches, computes and stores two tiles on one block and one on another; b makes y of it, on two
 * others or behind a on the same two, where it begins on one while a is still at work on the other.
 */
static prem_schedule *chain(const char *policy, bool by_block) {
  return prepared_schedule(text(
      "version = 1; name = \"chain\"; platform: { blocks = 4;"
      "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 24 ]; },"
      "  { name = \"mid\"; type = \"f32\"; shape = [ 24 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 24 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ];"
      "    tile = [ 8 ]; period_ns = 1000L; deadline_ns = %dL; overrun = \"%s\";"
      "    arrays: { in = \"x\"; out = \"mid\"; }; prefetch: { wcet_ns = 50L; };"
      "    compute: { wcet_ns = 100L; }; writeback: { wcet_ns = 50L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = %s; tile = [ 8 ];"
      "    period_ns = 1000L; arrays: { in = \"mid\"; out = \"y\"; };"
      "    after = ( { task = \"a\"; %s } ); prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; }; } );"
      "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"wait\";"
      "      buffers = 4; } );"
      "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } ); };",
      DEADLINE_NS, policy, by_block ? "[ 0, 1 ]" : "[ 2, 3 ]", by_block ? "per = \"block\";" : ""));
}

/* a takes 400 ns: the deadline lies in the middle of a phase of its first tiles, or of its last. */
static const int64_t chain_comes_ns[] = {1875, 1800, 1725, 1675, 1600, 1525};

static void log_chain(char *log) {
  for (size_t p = 1; p < 3; ++p)
    for (size_t f = 0; f < sizeof chain_comes_ns / sizeof *chain_comes_ns; ++f)
      for (int by_block = 0; by_block < 2; ++by_block) {
        bench b = start_bench(chain(policies[p], by_block), NULL, log);
        say(&b, "chain%s: %s, in a %s of its %s tiles\n", by_block ? " by block" : "", policies[p],
            phases[f % PREM_PHASE_COUNT], f < PREM_PHASE_COUNT ? "first" : "last");
        feed_jobs(&b, chain_comes_ns[f], 1);
        close_bench(&b);
      }
}

TEST(sessions_go_as_they_are_known_to) {
  char *log = calloc(8, ROOM), *part = calloc(1, ROOM);
  ck_assert(log && part);
  log_one_task(part);
  strcat(log, part);
  part[0] = '\0';
  log_long_jobs(part);
  log_chain(part);
  strcat(log, part);
  free(part);
  golden_judge("overruns.txt", log);
}

/* ---- what blocks wait for -------------------------------------------------------------------- */

/* On the simulator the courier is never late, so sessions do not show it. */
TESTS(a_block_waits_for_the_ticket_of_its_job, 5) {
  static const char *const settings[] = {
      "", "deadline_ns = 900L; overrun = \"record\";", "deadline_ns = 900L; overrun = \"skip\";",
      "deadline_ns = 900L; overrun = \"abort\";", "deadline_ns = 900L; overrun = \"degrade\";"};
  OWNED(prem_schedule) *schedule = checked_schedule(
      increment_file(PERIOD_NS, 1, settings[_i],
                     "operating_modes = ( { name = \"full\"; }, { name = \"less\"; } );"));
  OWNED(prem_program) *program = NULL;
  prem_courier *courier = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(prem_courier_new(program, &courier), PREM_OK);
  ck_assert_int_eq(prem_courier_allows(courier, 0, program->blocks[0].memory), _i < 2);
  ck_assert_int_eq(prem_courier_allows(courier, 0, program->blocks[0].compute), _i < 2);
  ck_assert(!prem_courier_skips(courier, 0, program->blocks[0].memory));
  ck_assert_int_eq(courier->leaves_out_jobs, _i >= 2);
  prem_courier_free(courier);
}

/* ---- random trees ---------------------------------------------------------------------------- */

enum { TREES = 400, ROUNDS = 40, UNIT_NS = 10 };

static prem_live_state trees;
static prem_live_counts trees_shown;
static uint64_t trees_off;

static void run_tree(uint64_t seed) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  live_tree tree;
  int frames = 0;
  tree_draw(&tree, seed, UNIT_NS, prem_registry_builtin());
  tree.live = open_live_on("sim", tree.schedule);
  start_live(tree.live, &(prem_live_request){.mode = modes[tree_pick(&tree, 0, 2)]});
  for (int i = 0; i < ROUNDS; ++i) {
    prem_live_sleep_until(tree.live,
                          prem_live_now_ns(tree.live) + tree_pick(&tree, 0, 1000 * UNIT_NS));
    frames += feed(tree.live, 0, (float)frames, NULL) == PREM_OK;
    if (tree_pick(&tree, 0, 5) == 0)
      ck_assert_int_eq(prem_live_switch(tree.live, (int32_t)tree_pick(&tree, 0, 2), NULL), PREM_OK);
    if (tree_pick(&tree, 0, 3))
      tree_fetch(&tree, (int32_t)tree_pick(&tree, 1, tree.schedule->live_count - 1));
  }
  ck_assert_int_eq(prem_live_stop(tree.live, true, INT64_C(1) << 40, NULL), PREM_OK);
  for (int32_t s = 1; s < tree.schedule->live_count; ++s)
    tree_fetch(&tree, s);
  tree_judge(&tree, &trees, &trees_shown, &trees_off);
  prem_live_close(tree.live);
  prem_schedule_free(tree.schedule);
}

TESTS(nothing_half_is_shown_and_every_job_has_one_fate,
      getenv("TTPREM_LIVE_ROUNDS") ? atoi(getenv("TTPREM_LIVE_ROUNDS")) : 1) {
  for (int i = 0; i < TREES; ++i)
    run_tree((uint64_t)(_i * TREES + i));
  ck_assert_int_gt(trees.overruns, TREES);
  ck_assert_int_gt(trees.skipped, TREES / 2);
  ck_assert_int_gt(trees.aborted, TREES / 2);
  ck_assert_uint_gt(trees_shown.frames, TREES);
  ck_assert_uint_gt(trees_shown.missing, TREES);
  ck_assert_uint_gt(trees_shown.aborted, TREES / 4);
  ck_assert_uint_gt(trees_off, TREES);
}
