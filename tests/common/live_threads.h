/* SPDX-License-Identifier: Apache-2.0 */
/** Tests of live sessions in real time, for the backend that LIVE_BACKEND names: nothing lost,
 *  nothing twice, nothing torn, and every call comes back. */
#ifndef TTPREM_TESTS_COMMON_LIVE_THREADS_H
#define TTPREM_TESTS_COMMON_LIVE_THREADS_H

#include "tests/common/live.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { MS = 1000000, UNIT = 1000 }; /* jobs of 400 us */

typedef struct bench {
  prem_schedule *schedule;
  prem_live *live;
  int32_t x, y;
} bench;

static bench open_bench(const char *source) {
  bench b = {.schedule = checked_schedule(source)};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  return b;
}

static bench start_bench(const char *source) {
  bench b = open_bench(source);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  return b;
}

static const char *queues(int buffers) {
  return increment_file(2 * MS, UNIT, "",
                        text("inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = %d; } );"
                             "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = %d; } );",
                             buffers, buffers));
}

static void close_bench(bench *b) {
  prem_live_close(b->live);
  prem_schedule_free(b->schedule);
}

/* Closed at the end of its scope. */
#define BENCH __attribute__((cleanup(close_bench))) bench

static int64_t in_ms(const bench *b, int64_t ms) {
  return prem_live_now_ns(b->live) + ms * MS;
}

/* ---- frames --------------------------------------------------------------------------------- */

#ifdef EMULATED_GPU /* it takes a thousand times as long */
enum { IS_EMULATED = 1, FRAMES = 40, STATES = 8, TURNS = 10, ENDINGS = 16 };
#else
enum { IS_EMULATED = 0, FRAMES = 100, STATES = 60, TURNS = 200, ENDINGS = 60 };
#endif

/* Of so many frames more than this are begun and shown ahead. How many is a matter of time, which
 * the emulated GPU has not. */
#define AHEAD_AT_LEAST(frames) (IS_EMULATED ? 0 : (frames) / 2)

static void *feed_all(void *argument) {
  const bench *b = argument;
  for (int i = 0; i < FRAMES; ++i) {
    prem_frame frame;
    ck_assert_int_eq(prem_live_acquire(b->live, b->x, in_ms(b, 60000), &frame, NULL), PREM_OK);
    fill_frame(&frame, (float)i);
    ck_assert_int_eq(prem_live_submit(b->live, &frame, NULL), PREM_OK);
    ck_assert_uint_eq(frame.number, (uint64_t)i);
  }
  ck_assert_int_eq(prem_live_stop(b->live, true, in_ms(b, 60000), NULL), PREM_OK);
  return NULL;
}

/* All that are shown, until the session is over. */
static uint64_t fetch_all(const bench *b) {
  uint64_t count = 0, next_input = 0;
  float value;
  prem_frame frame;
  prem_status status;
  while ((status = fetch(b->live, b->y, in_ms(b, 60000), &value, &frame)) == PREM_OK) {
    ck_assert_uint_eq(frame.number, count++);
    ck_assert_uint_ge(frame.input, next_input);
    ck_assert_float_eq(value, (float)(frame.input + 1));
    ck_assert_int_gt(frame.published_ns, frame.captured_ns);
    next_input = frame.input + 1;
  }
  ck_assert_int_eq(status, PREM_ERR_ENDED);
  return count;
}

static void run_queues(prem_mode mode, int buffers) {
  BENCH b = open_bench(queues(buffers));
  start_live(b.live, &(prem_live_request){.mode = mode});
  pthread_t feeder;
  ck_assert_int_eq(pthread_create(&feeder, NULL, feed_all, &b), 0);
  const uint64_t fetched = fetch_all(&b);
  pthread_join(feeder, NULL);
  prem_live_counts x, y;
  prem_live_count(b.live, b.x, &x);
  prem_live_count(b.live, b.y, &y);
  ck_assert_uint_eq(x.frames, FRAMES);
  ck_assert_uint_eq(x.taken, FRAMES);
  ck_assert_uint_eq(y.frames, fetched);
  ck_assert_uint_eq(y.frames + y.dropped, FRAMES); /* dropped: this thread was away for too long */
  ck_assert_uint_gt(fetched, 0);
}

START_TEST(each_queued_frame_is_used_once) { /* E10, E11, E17 */
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  run_queues(modes[_i], 1 + 2 * _i);
}
END_TEST

/* Stopped amid its work, whatever a block waits for then: in mode lock mostly for the only token,
 * when its compute is done and its writeback is not. */
START_TEST(a_stop_amid_work_ends_all_waits) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  prem_schedule *schedule = prepared_schedule(
      "version = 1; name = \"busy\"; platform: { blocks = 3; scratch_bytes = 65536L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 6144 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 6144 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 3; tile = [ 2048 ];"
      "    period_ns = 1000000L; arrays: { in = \"x\"; out = \"y\"; };"
      "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
      "    writeback: { wcet_ns = 50000L; }; } );"
      "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };");
  const int stops = modes[_i] == PREM_MODE_LOCK ? ENDINGS : ENDINGS / 8;
  for (int stop = 0; stop < stops; ++stop) {
    bench b = {.schedule = schedule, .live = open_live_on(LIVE_BACKEND, schedule)};
    start_live(b.live, &(prem_live_request){.mode = modes[_i]});
    nanosleep(&(struct timespec){.tv_nsec = 2000000 + 137000 * stop}, NULL);
    prem_diag *diag = prem_diag_new();
    ck_assert_int_eq(prem_live_stop(b.live, false, in_ms(&b, 60000), diag), PREM_OK);
    ck_assert_uint_eq(prem_diag_errors(diag), 0);
    prem_diag_free(diag);
    prem_live_close(b.live);
  }
  prem_schedule_free(schedule);
}
END_TEST

/* Two tasks on three blocks read one input, each in its own tiles. */
static const char *const shared_input =
    "version = 1; name = \"live\"; platform: { blocks = 3; scratch_bytes = 65536L;"
    "  resources = ( { name = \"memory\"; capacity = 3; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 4096 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 4096 ]; },"
    "  { name = \"z\"; type = \"f32\"; shape = [ 4096 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 2; tile = [ 512 ];"
    "    period_ns = 4000000L; arrays: { in = \"x\"; out = \"y\"; };"
    "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
    "    writeback: { wcet_ns = 50000L; }; },"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 1024 ];"
    "    period_ns = 4000000L; release_ns = 300000L; arrays: { in = \"x\"; out = \"z\"; };"
    "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
    "    writeback: { wcet_ns = 50000L; }; } );"
    "live: { inputs = ( { array = \"x\"; } );"
    "  outputs = ( { array = \"y\"; }, { array = \"z\"; kind = \"queuing\"; buffers = 8; } ); };";

typedef struct feeder {
  const bench *b;
  _Atomic bool is_over;
} feeder;

static void *feed_always(void *argument) {
  feeder *f = argument;
  for (int i = 0; !atomic_load(&f->is_over); ++i) {
    const prem_status status = feed(f->b->live, f->b->x, (float)i, NULL);
    ck_assert(status == PREM_OK || status == PREM_ERR_FULL); /* full: jobs are late and overlap */
    nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
  }
  return NULL;
}

START_TEST(sampled_frames_are_whole_and_never_older) { /* E12 to E15, E17 */
  bench b = {.schedule = prepared_schedule(shared_input)};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  const int32_t y = prem_live_find(b.live, "y"), z = prem_live_find(b.live, "z");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  feeder f = {.b = &b};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, feed_always, &f), 0);
  float last = 0, seen[2][512] = {{0}};
  for (int i = 0; i < 50; ++i) {
    float value;
    prem_frame frame = {0};
    ck_assert_int_eq(fetch(b.live, z, in_ms(&b, 60000), &value, &frame), PREM_OK);
    ck_assert_float_ge(value, last);
    last = value;
    if (frame.job < 512)
      seen[0][frame.job] = value;
    while (fetch(b.live, y, 0, &value, &frame) == PREM_OK)
      if (frame.job < 512)
        seen[1][frame.job] = value;
  }
  int both = 0;
  for (int i = 0; i < 512; ++i)
    if (seen[0][i] > 0 && seen[1][i] > 0) {
      ck_assert_float_eq(seen[0][i], seen[1][i]); /* the same frame in one period */
      ++both;
    }
  ck_assert_int_gt(both, 0);
  atomic_store(&f.is_over, true);
  pthread_join(thread, NULL);
  close_bench(&b);
}
END_TEST

START_TEST(a_frame_starts_the_hyperperiod) {
  BENCH b = start_bench(increment_file(
      MS, UNIT, "",
      "inputs = ( { array = \"x\"; kind = \"trigger\"; } ); outputs = ( { array = \"y\"; } );"));
  prem_live_clocks clocks; /* as known at the start: later they are known better */
  prem_live_compare_clocks(b.live, &clocks);
  for (int i = 0; i < 50; ++i) {
    float value;
    prem_frame in, out;
    ck_assert_int_eq(feed_until(b.live, b.x, (float)i, in_ms(&b, 60000), &in), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, &out), PREM_OK);
    ck_assert_float_eq(value, (float)(i + 1));
    ck_assert_int_ge(out.published_ns + clocks.bound_ns, in.captured_ns + 300 * UNIT);
    ck_assert_uint_eq(out.input, (uint64_t)i);
  }
  prem_live_state state; /* told a little later than the results, which somebody waits for */
  const int64_t until_ns = in_ms(&b, 60000);
  do {
    prem_live_sleep_until(b.live, prem_live_now_ns(b.live) + MS / 10);
    prem_live_look(b.live, &state);
  } while (state.hyperperiods < 50 && state.now_ns < until_ns);
  ck_assert_int_eq(state.hyperperiods, 50);
}
END_TEST

START_TEST(a_session_begins_at_a_given_instant) {
  BENCH b = open_bench(queues(4));
  ck_assert_int_eq(feed(b.live, b.x, 5, NULL), PREM_OK);
  const int64_t opened_ns = in_ms(&b, 0), start_ns = in_ms(&b, 1500);
  start_live(b.live, &(prem_live_request){.start_ns = start_ns});
  prem_live_clocks clocks; /* as known at the start: later they are known better */
  prem_live_compare_clocks(b.live, &clocks);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_ge(state.start_ns, start_ns);
  ck_assert_int_lt(state.start_ns, start_ns + MS); /* a GPU begins at a step of its clock */
  ck_assert_int_ge(state.zero_ns, opened_ns - MS); /* nor is its clock the host's */
  ck_assert_int_lt(state.zero_ns, start_ns);
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b.live, b.y, start_ns - 100 * MS, &frame, NULL),
                   PREM_ERR_TIMEOUT);
  ck_assert_int_eq(prem_live_wait(b.live, b.y, in_ms(&b, 60000), &frame, NULL), PREM_OK);
  const int64_t drift_ns = 20000; /* of two clocks in 1.5 s */
  ck_assert_int_ge(frame.published_ns + clocks.bound_ns + drift_ns, start_ns + 300 * UNIT);
  ck_assert_int_eq(frame.job, 0);
}
END_TEST

/* As hosts agree on it. */
START_TEST(a_session_begins_at_an_instant_of_tai) {
  struct timespec now;
  prem_live_tai tai;
  BENCH b = open_bench(queues(4));
  ck_assert_int_eq(prem_live_compare_tai(&tai), PREM_OK);
  ck_assert_int_ge(tai.bound_ns, 0);
  ck_assert_int_lt(tai.bound_ns, 10 * MS);
  ck_assert_int_eq(clock_gettime(CLOCK_TAI, &now), 0);
  const int64_t start_tai_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + 1500 * MS;
  ck_assert_int_eq(feed(b.live, b.x, 5, NULL), PREM_OK);
  start_live(b.live, &(prem_live_request){.start_ns = start_tai_ns - tai.offset_ns});
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_lt(llabs(state.start_ns + tai.offset_ns - start_tai_ns), MS);
  prem_live_tai later;
  ck_assert_int_eq(prem_live_compare_tai(&later), PREM_OK);
  ck_assert_int_lt(llabs(later.offset_ns - tai.offset_ns),
                   later.bound_ns + tai.bound_ns + 1000); /* 1 ms of 1000 ppm of slewing */
}
END_TEST

START_TEST(a_start_in_the_past_is_told) {
  BENCH b = open_bench(queues(4));
  prem_diag *diag = prem_diag_new();
  long long missing_ns = 0;
  ck_assert_int_eq(
      prem_live_start(b.live, &(prem_live_request){.start_ns = in_ms(&b, -1000)}, diag),
      PREM_ERR_ARGUMENT);
  ck_assert_int_eq(
      sscanf(prem_diag_at(diag, 0)->reason, "is %lld ns too soon: the blocks", &missing_ns), 1);
  ck_assert_int_ge(missing_ns, INT64_C(1000) * MS);
  ck_assert_int_lt(missing_ns, INT64_C(60000) * MS);
  prem_diag_free(diag);
}
END_TEST

START_TEST(the_trace_has_what_happened) {
  BENCH b = open_bench(queues(4));
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(b.schedule, 2, 1000, &trace), PREM_OK);
  for (int i = 0; i < 3; ++i)
    ck_assert_int_eq(feed(b.live, b.x, (float)i, NULL), PREM_OK);
  start_live(b.live, &(prem_live_request){.trace = trace});
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  ck_assert_int_eq(trace->hyperperiods, 2);
  ck_assert_int_eq(trace->epoch_ns[1] - trace->epoch_ns[0], 2 * MS);
  ck_assert_int_gt(trace->job_end_ns[1], trace->job_end_ns[0]);
  ck_assert_int_eq(trace->stats[PREM_COMPUTE].count, 3); /* skipped jobs leave no record */
  prem_trace_free(trace);
}
END_TEST

/* ---- ends ----------------------------------------------------------------------------------- */

START_TEST(an_output_that_nobody_reads_stops_nothing) { /* E30 */
  bench b = start_bench(queues(1));
  for (int i = 0; i < 4; ++i) {
    prem_frame frame;
    ck_assert_int_eq(prem_live_acquire(b.live, b.x, in_ms(&b, 60000), &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_submit(b.live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  prem_live_counts y;
  prem_live_count(b.live, b.y, &y);
  ck_assert_uint_eq(y.frames, 1);
  ck_assert_uint_eq(y.dropped, 3);
  close_bench(&b);
}
END_TEST

static void *wait_long(void *argument) {
  const bench *b = argument;
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b->live, b->y, in_ms(b, 100000), &frame, NULL), PREM_ERR_ENDED);
  return NULL;
}

static void *acquire_long(void *argument) {
  const bench *b = argument;
  prem_frame frame;
  while (prem_live_acquire(b->live, b->x, in_ms(b, 100000), &frame, NULL) == PREM_OK)
    prem_live_submit(b->live, &frame, NULL);
  return NULL;
}

START_TEST(closing_wakes_who_waits) { /* E31, E33 */
  bench b = open_bench(queues(2));    /* never started: nothing would ever come */
  pthread_t waiter, acquirer;
  const int64_t began_ns = prem_live_now_ns(b.live);
  ck_assert_int_eq(pthread_create(&waiter, NULL, wait_long, &b), 0);
  ck_assert_int_eq(pthread_create(&acquirer, NULL, acquire_long, &b), 0);
  prem_live_sleep_until(b.live, in_ms(&b, 50));
  prem_schedule *schedule = b.schedule;
  prem_live_close(b.live);
  pthread_join(waiter, NULL);
  pthread_join(acquirer, NULL);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ck_assert_int_lt((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - began_ns, INT64_C(20000) * MS);
  prem_schedule_free(schedule);
}
END_TEST

static void ignore(int number) {
  (void)number;
}

START_TEST(signals_do_not_cut_a_wait_short) { /* E31 */
  bench b = open_bench(queues(2));
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){.it_interval.tv_usec = 2000, .it_value.tv_usec = 2000},
            NULL);
  const int64_t until_ns = in_ms(&b, 100);
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b.live, b.y, until_ns, &frame, NULL), PREM_ERR_TIMEOUT);
  ck_assert_int_ge(prem_live_now_ns(b.live), until_ns);
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  close_bench(&b);
}
END_TEST

START_TEST(stopping_at_once_keeps_no_block) { /* E23 */
  bench b = start_bench(queues(4));
  for (int i = 0; i < 3; ++i)
    ck_assert_int_eq(feed(b.live, b.x, (float)i, NULL), PREM_OK);
  float value;
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_stop(b.live, false, in_ms(&b, 60000), NULL), PREM_OK);
  prem_frame frame;
  float next = value;
  while (fetch(b.live, b.y, 0, &value, &frame) == PREM_OK) /* whole ones, in order */
    ck_assert_float_eq(value, ++next);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, NULL), PREM_ERR_ENDED);
  close_bench(&b);
}
END_TEST

START_TEST(sessions_come_and_go) { /* E32, with the address sanitizer */
  prem_schedule *schedule = checked_schedule(queues(2));
  for (int i = 0; i < (IS_EMULATED ? 12 : 30); ++i) {
    bench b = {.schedule = schedule, .live = open_live_on(LIVE_BACKEND, schedule), .y = 1};
    if (i % 3 > 0)
      start_live(b.live, &(prem_live_request){0});
    if (i % 3 == 1)
      ck_assert_int_eq(prem_live_stop(b.live, i & 1, in_ms(&b, 60000), NULL), PREM_OK);
    prem_live_close(b.live);
  }
  prem_schedule_free(schedule);
}
END_TEST

/* ---- state ---------------------------------------------------------------------------------- */

/* A moving average in a state array of `versions`, of tiles on `blocks`, and what is made of it. */
static const char *average(int versions, int blocks) {
  return text("version = 1; name = \"average\"; platform: { blocks = %d; block_threads = 256;"
              "  buffers = 2; resources = ( { name = \"memory\"; capacity = %d; } ); };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 6, 3, 40 ]; },"
              "  { name = \"model\"; type = \"f32\"; shape = [ 6, 3, 40 ]; versions = %d; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 6, 3, 40 ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = \"0-%d\";"
              "    tile = [ 1, 2, 40 ]; period_ns = 4000000L; args: { rate = 0.3; };"
              "    arrays: { a = \"model\"; b = \"x\"; out = \"model\"; };"
              "    prefetch: { wcet_ns = 9000L; }; compute: { wcet_ns = 9000L; };"
              "    writeback: { wcet_ns = 9000L; }; },"
              "  { name = \"b\"; kernel = \"blend\"; blocks = \"0-%d\";"
              "    tile = [ 2, 3, 40 ]; period_ns = 4000000L; args: { rate = 1.0; };"
              "    arrays: { a = \"x\"; b = \"model\"; out = \"y\"; };"
              "    prefetch: { wcet_ns = 9000L; }; compute: { wcet_ns = 9000L; };"
              "    writeback: { wcet_ns = 9000L; }; after = ( { task = \"a\"; } ); } );"
              "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"skip\"; } );"
              "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };",
              blocks, blocks, versions, blocks - 1, blocks - 1);
}

/* Each frame changes the state once, whatever was left out between two of them. */
START_TEST(state_goes_from_frame_to_frame) {
  BENCH b = {.schedule = prepared_schedule(average(_i % 3 + 2, _i < 3 ? 1 : 4))};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  float model = 0;
  for (int i = 0; i < STATES; ++i) {
    const float x = (float)(i * 7 % 23) - 11;
    float y;
    prem_frame frame;
    ck_assert_int_eq(feed_until(b.live, b.x, x, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &y, &frame), PREM_OK);
    model = fmaf(0.3F, x - model, model);
    ck_assert_float_eq(y, fmaf(1.0F, model - x, x));
    if (i % 4 == 0) /* a hyperperiod without a frame */
      prem_live_sleep_until(b.live, in_ms(&b, 9));
  }
}
END_TEST

/* ---- arguments ------------------------------------------------------------------------------ */

static const char *const two_blocks =
    "version = 1; name = \"args\"; platform: { blocks = 2; block_threads = 256;"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 8 ];"
    "    period_ns = 200000L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 9000L; };"
    "    compute: { wcet_ns = 9000L; }; writeback: { wcet_ns = 9000L; }; } );"
    "live: { inputs = ( { array = \"x\"; kind = \"trigger\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };";

/* What was applied before a frame is what its hyperperiod computes with, on all blocks. */
START_TEST(arguments_are_those_that_were_applied_last) {
  BENCH b = {.schedule = prepared_schedule(two_blocks)};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 0; i < (IS_EMULATED ? 40 : 300); ++i) {
    const int32_t twice_the_same = i / 2 * 3;
    const double by = twice_the_same;
    float y;
    prem_status status = prem_live_set(b.live, 0, "increment", &by, 1, NULL);
    ck_assert_int_eq(status, PREM_OK);
    while ((status = prem_live_apply(b.live, NULL)) == PREM_ERR_FULL)
      prem_live_sleep_until(b.live, in_ms(&b, 1));
    ck_assert_int_eq(status, PREM_OK);
    ck_assert_int_eq(feed_until(b.live, b.x, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &y, NULL), PREM_OK);
    ck_assert_float_eq(y, (float)i + (float)by);
  }
}
END_TEST

/* ---- modes and events ------------------------------------------------------------------------ */

/* Two tasks of one input, one of which has no jobs in the second mode. */
static prem_schedule *moded_schedule(void) {
  const char *const phases = "prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; };"
                             " writeback: { wcet_ns = 1000L; };";
  return prepared_schedule(text(
      "version = 1; name = \"modes\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { in = \"x\"; out = \"y\"; }; %s },"
      "  { name = \"c\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    arrays: { in = \"x\"; out = \"z\"; }; %s } );"
      "live: { inputs = ( { array = \"x\"; kind = \"trigger\"; } );"
      "  outputs = ( { array = \"y\"; kind = \"queuing\"; },"
      "    { array = \"z\"; kind = \"queuing\"; } );"
      "  operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"c\" ]; } ); };",
      phases, phases));
}

/* Of the events there were, or were lost. */
static uint64_t switches_heard(prem_live *live) {
  prem_live_event event;
  uint64_t count = 0;
  while (prem_live_listen(live, INT64_MAX, &event, NULL) == PREM_OK)
    count += event.lost + (event.kind == PREM_EVENT_MODE);
  return count;
}

/* The mode that was wished for before a frame is that of its hyperperiod. */
START_TEST(each_frame_is_worked_in_its_mode) {
  enum { MODED = IS_EMULATED ? 30 : 200 };
  BENCH b = {.schedule = moded_schedule()};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  const int32_t z = prem_live_find(b.live, "z");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .events = true});
  uint64_t off = 0, switches = 0;
  for (int i = 0, mode = 0; i < MODED; ++i) {
    const int wanted = i / 3 % 2;
    prem_frame frame = {0};
    float value = 0;
    switches += wanted != mode;
    mode = wanted;
    ck_assert_int_eq(prem_live_switch(b.live, mode, NULL), PREM_OK);
    ck_assert_int_eq(feed_until(b.live, b.x, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, &frame), PREM_OK);
    ck_assert_float_eq(value, (float)(i + 1));
    ck_assert_int_eq(frame.operating_mode, mode);
    off += (uint64_t)mode;
    if (mode == 0) {
      ck_assert_int_eq(fetch(b.live, z, in_ms(&b, 60000), &value, NULL), PREM_OK);
      ck_assert_float_eq(value, (float)(i + 1));
    }
  }
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  prem_live_task_counts c;
  prem_live_counts of_z;
  prem_live_count_task(b.live, 1, &c);
  prem_live_count(b.live, z, &of_z);
  ck_assert_uint_eq(c.off, off);
  ck_assert_uint_eq(of_z.missing, off);
  ck_assert_uint_eq(of_z.frames, MODED - off);
  ck_assert_uint_ge(switches_heard(b.live), switches);
}
END_TEST

/* ---- commands ------------------------------------------------------------------------------- */

enum { COMMANDS = 4, LARGE = 3 }; /* LARGE: its frames have 64 KiB, the others 2 */

/* Four tasks on one block, each with an input and an output of its own: in a turn that has no frame
 * the task is skipped while others run. */
static prem_schedule *command_schedule(int buffers) {
  char arrays[1024] = "", tasks[2048] = "", inputs[512] = "", outputs[512] = "";
  for (int c = 0; c < COMMANDS; ++c) {
    const int length = c == LARGE ? 16384 : 512;
    const char *comma = c == 0 ? "" : ",";
    strcat(arrays, text("%s { name = \"x%d\"; type = \"f32\"; shape = [ %d ]; }, { name = \"z%d\"; "
                        "type = \"f32\"; shape = [ %d ]; }",
                        comma, c, length, c, length));
    strcat(tasks, text("%s { name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ 0 ]; "
                       "tile = [ 512 ]; args: { increment = %d.0; }; arrays: { in = \"x%d\"; out = "
                       "\"z%d\"; }; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; }; "
                       "writeback: { wcet_ns = 1000L; }; }",
                       comma, c, c + 1, c, c));
    strcat(inputs, text(", { array = \"x%d\"; kind = \"queuing\"; missing = \"skip\"; }", c));
    strcat(outputs, text("%s { array = \"z%d\"; kind = \"queuing\"; }", comma, c));
  }
  return prepared_schedule(text(
      "version = 1; name = \"commands\"; platform: { blocks = 2; block_threads = 256; buffers = "
      "%d; }; arrays = ( { name = \"go\"; type = \"f32\"; shape = [ 4 ]; }, { name = \"gone\"; "
      "type = \"f32\"; shape = [ 4 ]; }, %s ); tasks = ( { name = \"start\"; kernel = "
      "\"vector_increment\"; blocks = [ 1 ]; tile = [ 4 ]; arrays: { in = \"go\"; out = "
      "\"gone\"; }; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; }; writeback: { "
      "wcet_ns = 1000L; }; }, %s ); live: { inputs = ( { array = \"go\"; kind = \"trigger\"; "
      "}%s ); outputs = ( %s ); };",
      buffers, arrays, tasks, inputs, outputs));
}

/* One command a turn, or two, in no order; the frame that starts it comes last. */
START_TEST(tasks_of_a_block_are_skipped_apart) {
  BENCH b = {.schedule = command_schedule(1 + _i / 2)};
  int32_t in[COMMANDS], out[COMMANDS];
  uint64_t sent[COMMANDS] = {0};
  uint32_t dice = 12345;
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  const int32_t go = prem_live_find(b.live, "go");
  for (int c = 0; c < COMMANDS; ++c) {
    in[c] = prem_live_find(b.live, text("x%d", c));
    out[c] = prem_live_find(b.live, text("z%d", c));
  }
  start_live(b.live, &(prem_live_request){.mode = _i % 2 ? PREM_MODE_TT : PREM_MODE_FREE});
  for (int turn = 0; turn < TURNS; ++turn) {
    dice = dice * 1664525 + 1013904223;
    const uint32_t chosen = 1U << (dice >> 30) | 1U << (dice >> 28 & 3);
    for (int c = 0; c < COMMANDS; ++c)
      if (chosen >> c & 1)
        ck_assert_int_eq(
            feed_until(b.live, in[c], (float)(turn * COMMANDS + c), in_ms(&b, 60000), NULL),
            PREM_OK);
    ck_assert_int_eq(feed_until(b.live, go, (float)turn, in_ms(&b, 60000), NULL), PREM_OK);
    for (int c = 0; c < COMMANDS; ++c) {
      float value;
      prem_frame frame;
      if (!(chosen >> c & 1))
        continue;
      ck_assert_int_eq(fetch(b.live, out[c], in_ms(&b, 60000), &value, &frame), PREM_OK);
      ck_assert_float_eq(value, (float)(turn * COMMANDS + 2 * c + 1));
      ck_assert_uint_eq(frame.input, sent[c]++);
      ck_assert_int_eq(frame.job, turn);
    }
  }
}
END_TEST

/* One that comes each time, and one that came once. They are so large that on a GPU results go by
 * the copy engines, which take that along; whoever shows them. */
START_TEST(a_result_says_which_frame_of_each_input) {
  const char *kind = _i ? "trigger" : "queuing";
  bench b = {.schedule = prepared_schedule(
                 text("version = 1; name = \"two\"; platform: { blocks = 2; block_threads = 256;"
                      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
                      "arrays = ( { name = \"z\"; type = \"f32\"; shape = [ 8192 ]; },"
                      "  { name = \"x\"; type = \"f32\"; shape = [ 8192 ]; },"
                      "  { name = \"y\"; type = \"f32\"; shape = [ 8192 ]; } );"
                      "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = 2;"
                      "    tile = [ 2048 ]; period_ns = 1000000L;"
                      "    arrays: { a = \"x\"; b = \"z\"; out = \"y\"; };"
                      "    prefetch: { wcet_ns = 4000L; }; compute: { wcet_ns = 4000L; };"
                      "    writeback: { wcet_ns = 4000L; }; } );"
                      "live: { inputs = ( { array = \"z\"; }, { array = \"x\"; kind = \"%s\"; } );"
                      "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };",
                      kind))};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  const int32_t z = prem_live_find(b.live, "z");
  prem_frame once = {0}, each = {0}, result;
  ck_assert_int_eq(feed(b.live, z, 100, &once), PREM_OK);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 0; i < 12; ++i) {
    ck_assert_int_eq(feed_until(b.live, b.x, (float)(2 * i), in_ms(&b, 60000), &each), PREM_OK);
    ck_assert_int_eq(prem_live_wait(b.live, b.y, in_ms(&b, 60000), &result, NULL), PREM_OK);
    ck_assert_float_eq(frame_value(&result), (float)(50 + i));
    assert_inputs(
        b.live, &result,
        (prem_frame_input[]){{z, 0, once.captured_ns}, {b.x, each.number, each.captured_ns}}, 2);
    ck_assert_int_eq(result.captured_ns, once.captured_ns);
    ck_assert_int_eq(prem_live_release(b.live, &result, NULL), PREM_OK);
  }
  close_bench(&b);
}
END_TEST

static inline void add_live_tests(TCase *cases) {
  tcase_add_loop_test(cases, tasks_of_a_block_are_skipped_apart, 0, 4);
  tcase_add_test(cases, arguments_are_those_that_were_applied_last);
  tcase_add_test(cases, each_frame_is_worked_in_its_mode);
  tcase_add_loop_test(cases, state_goes_from_frame_to_frame, 0, 6);
  tcase_add_loop_test(cases, each_queued_frame_is_used_once, 0, 3);
  tcase_add_loop_test(cases, a_stop_amid_work_ends_all_waits, 0, 3);
  tcase_add_test(cases, sampled_frames_are_whole_and_never_older);
  tcase_add_test(cases, a_frame_starts_the_hyperperiod);
  tcase_add_test(cases, a_session_begins_at_a_given_instant);
  tcase_add_test(cases, a_session_begins_at_an_instant_of_tai);
  tcase_add_test(cases, a_start_in_the_past_is_told);
  tcase_add_test(cases, the_trace_has_what_happened);
  tcase_add_test(cases, an_output_that_nobody_reads_stops_nothing);
  tcase_add_test(cases, closing_wakes_who_waits);
  tcase_add_test(cases, signals_do_not_cut_a_wait_short);
  tcase_add_test(cases, stopping_at_once_keeps_no_block);
  tcase_add_test(cases, sessions_come_and_go);
  tcase_add_loop_test(cases, a_result_says_which_frame_of_each_input, 0, 2);
}

#endif
