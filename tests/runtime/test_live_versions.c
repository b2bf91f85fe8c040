/* SPDX-License-Identifier: Apache-2.0 */
/* State arrays in live sessions: jobs that lack a frame, overrun, are skipped, given up or off in a
 * mode leave the state as it was, and everybody sees the same. */
/* ctest: threads timing */
#include "tests/common/longer.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

#include <math.h>

#include "prem/base/random.h"
#include "runtime/core/courier_versions.h"
#include "runtime/session/live_parts.h"

/* Task `learn` makes m of m and the frame, `before` shows the m that it finds, `after` the one that
 * it makes, and `slow`, with half the rate, the one that is there when it is released. */
enum { MAX_JOBS = 4000, JOBS = 60, SESSIONS = 400, SESSIONS_ON_THREADS = 12, MS = 1000000 };

typedef struct shown {
  bool is_there;
  float value;
  uint64_t input;
} shown;

typedef struct bench {
  uint64_t random, seed;
  int64_t period_ns, slow_release_ns, first_job;
  prem_schedule *schedule;
  prem_live *live;
  int32_t x, outputs[3];
  float fed[MAX_JOBS]; /* [frame] */
  int frames;
  shown log[3][MAX_JOBS]; /* [output][job] */
} bench;

static const char *const output_names[] = {"old", "now", "seen"};
enum { OLD, NOW, SEEN };

static int64_t learnt, left_out, given_up, off; /* jobs, over all sessions */

static int64_t pick(bench *b, int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&b->random) % (uint64_t)(max - min + 1));
}

static const char *show_task(const char *name, const char *out, int block, int64_t period_ns,
                             int64_t unit, const char *more) {
  return text("{ name = \"%s\"; kernel = \"vector_increment\"; blocks = [ %d ]; tile = [ 8 ];"
              "  args: { increment = 0.0; }; arrays: { in = \"m\"; out = \"%s\"; };"
              "  period_ns = %lldL; %s prefetch: { wcet_ns = %lldL; };"
              "  compute: { wcet_ns = %lldL; }; writeback: { wcet_ns = %lldL; }; }",
              name, block, out, (long long)period_ns, more, (long long)unit, (long long)unit,
              (long long)unit);
}

static const char *file_of(bench *b) {
  static const char *const missing[] = {"skip", "wait", "repeat"}, *const overruns[] = {
                                                                       "record", "skip", "abort",
                                                                       "degrade"};
  const int64_t period = b->period_ns, unit = period / 100;
  const bool is_queue = pick(b, 0, 2);
  const int tile = pick(b, 0, 1) ? 8 : 3;
  const char *overrun = overruns[pick(b, 0, 3)];
  b->slow_release_ns = pick(b, 0, 1) * pick(b, 1, 40) * unit;
  const char *learn =
      text("{ name = \"learn\"; kernel = \"blend\"; blocks = [ 0, 1 ]; tile = [ %d ];"
           "  args: { rate = 0.375; }; arrays: { a = \"m\"; b = \"x\"; out = \"m\"; };"
           "  period_ns = %lldL; deadline_ns = %lldL; overrun = \"%s\";"
           "  after = ( { task = \"before\"; } ); prefetch: { wcet_ns = %lldL; };"
           "  compute: { wcet_ns = %lldL; }; writeback: { wcet_ns = %lldL; }; }",
           tile, (long long)period, (long long)(60 * unit), overrun, (long long)unit,
           (long long)(5 * unit), (long long)unit);
  const char *slow = show_task(
      "slow", "seen", (int)pick(b, 0, 2), 2 * period, unit,
      text("release_ns = %lldL; after = ( { task = \"learn\"; instance = \"latest\"; } );",
           (long long)b->slow_release_ns));
  const bool learns_first = pick(b, 0, 2); /* the first one may take longer than planned */
  return text(
      "version = 1; name = \"live\"; platform: { blocks = 3; precedence_ns = %lldL;"
      "  resources = ( { name = \"memory\"; capacity = 3; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; versions = %d; },"
      "  { name = \"old\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"now\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"seen\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( %s, %s, %s, %s );"
      "live: { inputs = ( { array = \"x\"; kind = \"%s\"; buffers = 4; missing = \"%s\"; } );"
      "  operating_modes = ( { name = \"full\"; }, { name = \"rest\"; off = [ \"learn\" ]; %s } );"
      "  outputs = ( { array = \"old\"; kind = \"queuing\"; buffers = 16; },"
      "    { array = \"now\"; kind = \"queuing\"; buffers = 16; },"
      "    { array = \"seen\"; kind = \"queuing\"; buffers = 16; } ); };",
      (long long)pick(b, 0, 1), (int)pick(b, 2, 4), learns_first ? learn : slow,
      show_task("before", "old", (int)pick(b, 0, 2), period, unit, ""),
      show_task("after", "now", (int)pick(b, 0, 2), period, unit,
                "after = ( { task = \"learn\"; } );"),
      learns_first ? slow : learn, is_queue ? "queuing" : "sampling", missing[pick(b, 0, 2)],
      pick(b, 0, 1) ? "policy: { };" : "");
}

/* ---- running --------------------------------------------------------------------------------- */

static void fetch_all(bench *b) {
  for (int o = 0; o < 3; ++o) {
    float value;
    prem_frame frame;
    while (fetch(b->live, b->outputs[o], 0, &value, &frame) == PREM_OK) {
      const int64_t job = frame.job - (o == SEEN ? b->first_job / 2 : b->first_job);
      ck_assert_int_ge(job, 0);
      ck_assert_int_lt(job, MAX_JOBS);
      b->log[o][job] = (shown){true, value, frame.input};
    }
  }
}

static void feed_some(bench *b) {
  prem_frame frame;
  b->fed[b->frames] = (float)pick(b, -1000, 1000);
  if (feed(b->live, b->x, b->fed[b->frames], &frame) == PREM_OK)
    ck_assert_int_eq((int)frame.number, b->frames++);
}

static void run_jobs(bench *b) {
  const int64_t begin_ns = prem_live_now_ns(b->live);
  for (int64_t at_ns = 0; at_ns < JOBS * b->period_ns;) {
    at_ns += pick(b, 0, 4) ? pick(b, 1, b->period_ns) : pick(b, 1, 3 * b->period_ns);
    prem_live_sleep_until(b->live, begin_ns + at_ns);
    for (int64_t count = pick(b, 0, 2); count > 0; --count)
      feed_some(b);
    if (pick(b, 0, 9) == 0)
      ck_assert_int_eq(prem_live_switch(b->live, (int32_t)pick(b, 0, 1), NULL), PREM_OK);
    fetch_all(b);
  }
  while (prem_live_stop(b->live, true, prem_live_now_ns(b->live) + b->period_ns, NULL) ==
         PREM_ERR_TIMEOUT)
    fetch_all(b);
  fetch_all(b);
}

/* ---- judging --------------------------------------------------------------------------------- */

#define EQUAL(b, job, found, expected)                                                             \
  ck_assert_msg((found) == (expected),                                                             \
                "session %llu, job %d: " #found " is %g, not " #expected " = %g",                  \
                (unsigned long long)(b)->seed, job, (double)(found), (double)(expected))

static void judge(bench *b) {
  float m = 0, after[MAX_JOBS];
  prem_live_state state;
  prem_live_look(b->live, &state);
  const int jobs = 2 * (int)state.hyperperiods;
  ck_assert_int_gt(jobs, 0);
  for (int j = 0; j < jobs; ++j) {
    const shown *now = &b->log[NOW][j], *old = &b->log[OLD][j];
    ck_assert(old->is_there);
    EQUAL(b, j, old->value, m);
    if (now->is_there) {
      m = fmaf(0.375F, b->fed[now->input] - m, m);
      EQUAL(b, j, now->value, m);
    }
    learnt += now->is_there;
    left_out += !now->is_there;
    after[j] = m;
  }
  for (int q = 0; q < jobs / 2; ++q) {
    const int follows = 2 * q + (int)(b->slow_release_ns / b->period_ns);
    ck_assert(b->log[SEEN][q].is_there);
    EQUAL(b, q, b->log[SEEN][q].value, after[follows]);
  }
  given_up += state.aborted;
  prem_live_task_counts counts;
  prem_live_count_task(b->live, prem_schedule_find_task(b->schedule, "learn"), &counts);
  off += (int64_t)counts.off;
}

static bool has_dropped(const bench *b) {
  prem_live_counts counts;
  uint64_t dropped = 0;
  for (int o = 0; o < 3; ++o) {
    prem_live_count(b->live, b->outputs[o], &counts);
    dropped += counts.dropped;
  }
  return dropped > 0;
}

/* False: no plan was found, or the host was too slow to see all. */
static bool run_session(uint64_t seed, const char *backend, int64_t period_ns) {
  static bench b;
  prem_diag *diag = prem_diag_new();
  b = (bench){.random = seed, .seed = seed, .period_ns = period_ns};
  const char *file = file_of(&b);
  b.schedule = schedule_from_text(file);
  const prem_plan_options options = {.step_limit = 200};
  if (prem_prepare(b.schedule, prem_registry_builtin(), NULL, &options, diag) != PREM_OK) {
    puts(file);
    abort_with("prepare", diag);
  }
  prem_diag_free(diag);
  const int64_t unit = period_ns / 100;
  const bool learns_first = strcmp(b.schedule->tasks[0].name, "learn") == 0;
  const int64_t length_ns[] = {pick(&b, 1, learns_first ? 20 : 260) * unit, pick(&b, 1, 25) * unit,
                               pick(&b, 1, 20) * unit};
  const bool is_longer = strcmp(backend, "sim") == 0 && pick(&b, 0, 1);
  b.live = is_longer ? open_longer(b.schedule, length_ns) : open_live_on(backend, b.schedule);
  b.x = prem_live_find(b.live, "x");
  for (int o = 0; o < 3; ++o)
    b.outputs[o] = prem_live_find(b.live, output_names[o]);
  if (pick(&b, 0, 1)) {
    const int64_t hyperperiod = pick(&b, 0, 1) ? 1000003 : 7;
    prem_live_count_from(b.live, hyperperiod, 0);
    b.first_job = 2 * hyperperiod;
  }
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  start_live(b.live, &(prem_live_request){.mode = modes[pick(&b, 0, 2)]});
  run_jobs(&b);
  const bool is_whole = !has_dropped(&b);
  if (is_whole)
    judge(&b);
  prem_live_close(b.live);
  prem_schedule_free(b.schedule);
  return is_whole;
}

GROUP("live_versions", .timeout_s = 300);

TEST(the_simulator_keeps_the_state) {
  int whole = 0;
  for (int i = 0; i < ROUNDS(SESSIONS); ++i)
    whole += run_session((uint64_t)i + 1, "sim", 1000);
  ck_assert_int_gt(whole, ROUNDS(SESSIONS) * 9 / 10);
  ck_assert_int_gt(learnt, ROUNDS(SESSIONS) * 10);
  ck_assert_int_gt(left_out, ROUNDS(SESSIONS) * 4);
  ck_assert_int_gt(given_up, ROUNDS(SESSIONS) / 4);
  ck_assert_int_gt(off, ROUNDS(SESSIONS) * 4);
}

TEST(threads_keep_the_state) {
  for (int i = 0; i < ROUNDS(SESSIONS_ON_THREADS); ++i)
    run_session((uint64_t)i + 1001, "cpu", 5 * MS);
  ck_assert_int_gt(learnt, 0);
}

/* ---- what blocks wait for -------------------------------------------------------------------- */

/* Task `pre` makes u of x, `learn` m of m and u, `show` mid of m, and `last` y of that. */
static prem_schedule *four_in_a_row(const char *of_pre, const char *of_learn, const char *of_show) {
  static const char form[] = "{ name = \"%s\"; kernel = \"%s\"; blocks = [ %d ]; tile = [ 8 ];"
                             "  arrays: { %s }; period_ns = 1000L; after = ( %s ); %s"
                             "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
                             "  writeback: { wcet_ns = 10L; }; }";
  static const char array[] = "{ name = \"%s\"; type = \"f32\"; shape = [ 8 ]; %s }";
  return prepared_schedule(
      text("version = 1; name = \"row\"; platform: { blocks = 4;"
           "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
           "arrays = ( %s, %s, %s, %s, %s ); tasks = ( %s, %s, %s, %s );"
           "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };",
           text(array, "x", ""), text(array, "u", ""), text(array, "m", "versions = 2;"),
           text(array, "mid", ""), text(array, "y", ""),
           text(form, "pre", "vector_increment", 0, "in = \"x\"; out = \"u\";", "", of_pre),
           text(form, "learn", "blend", 1, "a = \"m\"; b = \"u\"; out = \"m\";",
                "{ task = \"pre\"; }", of_learn),
           text(form, "show", "vector_increment", 2, "in = \"m\"; out = \"mid\";",
                "{ task = \"learn\"; }", of_show),
           text(form, "last", "vector_increment", 3, "in = \"mid\"; out = \"y\";",
                "{ task = \"show\"; }", "")));
}

enum { PRE, LEARN, SHOW, LAST };

/* On the simulator the courier is never late, so that sessions do not show it: what touches the
 * state waits for its ticket. */
static void assert_waits(const prem_courier *c, int64_t hyperperiod, bool learns, bool shows) {
  for (int t = PRE; t <= LAST; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_record record = {.task = (uint16_t)t, .phase = (uint8_t)p};
      const bool waits = (t == LEARN && p != PREM_COMPUTE && !learns) ||
                         (t == SHOW && p == PREM_PREFETCH && !shows);
      ck_assert_msg(prem_courier_has_versions(c, hyperperiod, &record) == !waits,
                    "task %d, %s, hyperperiod %d", t, prem_phase_name((prem_phase)p),
                    (int)hyperperiod);
    }
}

static void assert_slots(const prem_courier *c, int64_t hyperperiod, uint16_t task,
                         const int32_t expected[3]) {
  int32_t slots[PREM_MAX_PORTS] = {7, 7, 7};
  prem_courier_version_slots(c, hyperperiod, &(prem_record){.task = task}, slots);
  ck_assert_mem_eq(slots, expected, 3 * sizeof *slots);
}

/* A job that can be given up makes its version when it is over; else it is known that it will. */
TESTS(the_state_is_waited_for_and_nothing_else, 2) {
  OWNED(prem_schedule) *schedule =
      four_in_a_row("", _i ? "deadline_ns = 900L; overrun = \"abort\";" : "", "");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  const prem_courier *c = live->courier;
  assert_waits(c, 0, false, false);
  ck_assert_int_eq(feed(live, prem_live_find(live, "x"), 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_live_sleep_until(live, 1);
  assert_waits(c, 0, true, _i == 0);
  assert_waits(c, 1, _i == 0, false);
  assert_slots(c, 0, LEARN, (int32_t[]){0, 7, 1});
  assert_slots(c, 0, SHOW, (int32_t[]){_i ? 7 : 1, 7, 7});
  prem_live_sleep_until(live, 999);
  assert_waits(c, 0, true, true);
  assert_waits(c, 1, true, false);
  assert_slots(c, 0, SHOW, (int32_t[]){1, 7, 7});
  assert_slots(c, 1, LEARN, (int32_t[]){1, 7, 0});
  assert_slots(c, 1, LAST, (int32_t[]){7, 7, 7});
}

/* Until a job is over it can be given up, where it or what it is made of is aborted. */
TESTS(who_can_be_given_up_is_waited_for_to_its_end, 7) {
  static const char aborts[] = "deadline_ns = 900L; overrun = \"abort\";",
                    skips[] = "deadline_ns = 900L; overrun = \"skip\";";
  static const struct {
    const char *of[3];
    bool waits;
  } cases[] = {{{"", "", ""}, false},         {{skips, skips, skips}, false},
               {{"", "", aborts}, false},     {{"", aborts, ""}, true},
               {{aborts, "", ""}, true},      {{skips, "", aborts}, false},
               {{aborts, skips, skips}, true}};
  OWNED(prem_schedule) *schedule =
      four_in_a_row(cases[_i].of[PRE], cases[_i].of[LEARN], cases[_i].of[SHOW]);
  OWNED(prem_program) *program = NULL;
  prem_courier *courier = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(prem_courier_new(program, &courier), PREM_OK);
  ck_assert_int_eq(courier->version_count, 2);
  for (int32_t i = 0; i < 2; ++i) /* mid is made of m */
    if (courier->versions[i].slots > 1)
      ck_assert_int_eq(courier->versions[i].waits_for_end, cases[_i].waits);
    else
      ck_assert_ptr_null(courier->versions[i].tickets);
  prem_courier_free(courier);
}

/* ---- the example as it is shipped ------------------------------------------------------------ */

static void fill_bytes(const prem_frame *frame, int value) {
  for (int64_t row = 0; row < frame->shape[2]; ++row)
    memset((char *)frame->data + row * frame->pitch_bytes[2], value, (size_t)frame->shape[3]);
}

TEST(the_background_is_learnt) {
  static const int frames[] = {160, 32, 250, 0, 77, 255};
  OWNED(prem_schedule) *schedule =
      planned_schedule(SOURCE_DIR "/schedules/examples/background.cfg");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  const int32_t in = prem_live_find(live, "frame"), out = prem_live_find(live, "shown");
  const int64_t period_ns = schedule->tasks[0].period_ns;
  float model = 0;
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 0; i < (int)(sizeof frames / sizeof *frames); ++i) {
    prem_frame frame;
    prem_live_sleep_until(live, 2 * i * period_ns + 1); /* every other job lacks a frame */
    ck_assert_int_eq(prem_live_acquire(live, in, 0, &frame, NULL), PREM_OK);
    fill_bytes(&frame, frames[i]);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_wait(live, out, (2 * i + 2) * period_ns, &frame, NULL), PREM_OK);
    model = fmaf(0.0625F, (float)frames[i] - model, model);
    for (int64_t row = 0; row < frame.shape[2]; ++row)
      for (int64_t c = 0; c < frame.shape[3]; ++c)
        ck_assert_int_eq(((unsigned char *)frame.data)[row * frame.pitch_bytes[2] + c],
                         (int)rintf(model));
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  }
}

/* A block may ask for the ticket behind the last job of the last hyperperiod that is open, while
 * the first one of the row that is used again still stands. */
TEST(tickets_have_places_of_their_own) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"one\"; platform: { blocks = 1; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; versions = 2; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"learn\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 1000L; arrays: { a = \"m\"; b = \"x\"; out = \"m\"; };"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; },"
      "  { name = \"show\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 1000L; arrays: { in = \"m\"; out = \"y\"; };"
      "    after = ( { task = \"learn\"; } ); prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
      "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  const prem_live_versions *of = &live->courier->versions[0];
  ck_assert_int_eq(of->jobs, 1);
  ck_assert_uint_ge(of->ring_mask + 1, (uint64_t)(live->courier->rows + 2));
}

/* Results of warm-up tiles, which come before their hyperperiod, are not dropped before it. */
TEST(results_of_warm_up_are_due_with_their_hyperperiod) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"warm\"; platform: { blocks = 1; buffers = 2; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 32 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 32 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
      "    arrays: { in = \"x\"; out = \"y\"; };"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; } );"
      "policy: { warmup_tiles = 1; warmup_ns = 100L; };"
      "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  ck_assert_int_eq(live->courier->streams[1].due_ns[0], 0);
}
