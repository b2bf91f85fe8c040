/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/*
 * Live sessions on the GPU: what holds on threads, and frames that lie in memory of two kinds. Exit
 * status 77 without a GPU, or in a build without the backend.
 *   test_cuda_live [SOURCE_DIR]
 */
#define LIVE_BACKEND "cuda"
#include "tests/common/has_gpu.h"
#include "tests/common/live_ahead.h"
#include "tests/common/live_ahead_samples.h"
#include "tests/common/live_leaks.h"
#include "tests/common/live_memory.h"
#include "tests/common/live_stopped.h"
#include "tests/common/mode_plans.h"

#include <sys/wait.h>
#include <unistd.h>

#ifdef WITH_CUDART
#include <cuda_runtime_api.h>
#endif

static const char *source = SOURCE_DIR;

enum {
  SKIPPED = 77,
  SIDE = 512 * 512,
  BIG_FRAMES = IS_EMULATED ? 10 : 200
}; /* frames of a MiB go by the copy engines */

/* ---- large frames ---------------------------------------------------------------------------- */

static const char *big(const char *kind) {
  return text("version = 1; name = \"big\"; platform: { blocks = 16; block_threads = 256;"
              "  buffers = 2; resources = ( { name = \"memory\"; capacity = 16; } ); };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %d ]; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ %d ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 16;"
              "    tile = [ 2048 ]; period_ns = 1000000L; arrays: { in = \"x\"; out = \"y\"; };"
              "    prefetch: { wcet_ns = 4000L; }; compute: { wcet_ns = 4000L; };"
              "    writeback: { wcet_ns = 4000L; }; } );"
              "live: { inputs = ( { array = \"x\"; kind = \"%s\"; buffers = 4; } );"
              "  outputs = ( { array = \"y\"; kind = \"%s\"; buffers = 4; } ); };",
              SIDE, SIDE, kind, kind);
}

static void *feed_big(void *argument) {
  const bench *b = argument;
  for (int i = 0; i < BIG_FRAMES; ++i) {
    prem_frame frame;
    ck_assert_int_eq(prem_live_acquire(b->live, b->x, in_ms(b, 60000), &frame, NULL), PREM_OK);
    fill_frame(&frame, (float)i);
    ck_assert_int_eq(prem_live_submit(b->live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(prem_live_stop(b->live, true, in_ms(b, 60000), NULL), PREM_OK);
  return NULL;
}

/* Filled with numbers that grow: whole, in order, each once, or in a sampling session some. */
static void run_big(const char *kind, bool is_queue) {
  bench b = {.schedule = prepared_schedule(big(kind))};
  b.live = open_live_on("cuda", b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  const int64_t begun_ns = prem_live_now_ns(b.live);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, feed_big, &b), 0);
  float last = 0, value;
  int count = 0;
  prem_frame frame;
  prem_status status;
  while ((status = fetch(b.live, b.y, in_ms(&b, 60000), &value, &frame)) == PREM_OK) {
    ck_assert_float_eq(value, (float)(frame.input + 1)); /* whole, and what it says it is */
    ck_assert_float_gt(value, last);
    ck_assert_int_ge(frame.captured_ns, begun_ns); /* its note came as well */
    last = value;
    ++count;
  }
  ck_assert_int_eq(status, PREM_ERR_ENDED);
  pthread_join(thread, NULL);
  prem_live_counts x, y;
  prem_live_count(b.live, b.x, &x);
  prem_live_count(b.live, b.y, &y);
  ck_assert_uint_eq(x.frames, BIG_FRAMES);
  if (is_queue) { /* dropped: this thread was away for too long */
    ck_assert_uint_eq(x.taken, BIG_FRAMES);
    ck_assert_uint_eq((uint64_t)count + y.dropped, BIG_FRAMES);
  }
  ck_assert_int_gt(count, 1);
  close_bench(&b);
}

START_TEST(large_frames_of_queues_come_whole_and_in_order) {
  run_big("queuing", true);
} /* E13 */
END_TEST
START_TEST(large_frames_of_samples_come_whole_and_in_order) {
  run_big("sampling", false);
}
END_TEST

/* ---- what holds the GPU ---------------------------------------------------------------------- */

static void assert_refused(prem_status status, const prem_diag *diag) {
  ck_assert_int_eq(status, PREM_ERR_MACHINE);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "a live session of this process"));
}

/* A session beside one that runs is refused at once, whatever is asked of it, and the first one
 * goes on. Another may be begun behind it. */
START_TEST(a_second_session_is_refused) { /* E1 */
  prem_schedule *schedule = prepared_schedule(queues(4));
  prem_live *idle = open_live_on("cuda", schedule), *second = NULL;
  bench b = start_bench(queues(4));
  const int64_t from_ns = prem_live_now_ns(b.live);
  prem_diag *diag = prem_diag_new();
  assert_refused(prem_live_start(idle, &(prem_live_request){.mode = PREM_MODE_TT}, diag), diag);
  prem_diag_free(diag);
  diag = prem_diag_new();
  assert_refused(prem_live_open(prem_backend_find("cuda"), schedule, &second, diag), diag);
  prem_diag_free(diag);
  ck_assert_int_lt(prem_live_now_ns(b.live) - from_ns, INT64_C(1000) * MS);
  float value;
  for (int i = 0; i < 10; ++i) {
    ck_assert_int_eq(feed(b.live, b.x, (float)i, NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
    ck_assert_float_eq(value, (float)(i + 1));
  }
  close_bench(&b);
  prem_live_close(idle);
  b = start_bench(queues(4));
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  close_bench(&b);
  prem_schedule_free(schedule);
}
END_TEST

/* With no time at all the first block that waits says what for: it failed. Every call then says so,
 * the end says why, and the GPU serves the next session. */
START_TEST(a_session_that_fails_says_why) { /* E5, E6 */
  bench b = open_bench(queues(4));
  prem_diag *diag = prem_diag_new();
  prem_frame in, out;
  prem_live_state state;
  prem_live_event event;
  bool has_ended = false;
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &in, NULL), PREM_OK);
  start_live(b.live,
             &(prem_live_request){.mode = PREM_MODE_TT, .stall_timeout_ns = 1, .events = true});
  ck_assert_int_eq(prem_live_wait(b.live, b.y, in_ms(&b, 60000), &out, NULL), PREM_ERR_MACHINE);
  ck_assert_int_eq(prem_live_submit(b.live, &in, NULL), PREM_ERR_MACHINE);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, in_ms(&b, 60000), &in, NULL), PREM_ERR_MACHINE);
  while (prem_live_listen(b.live, in_ms(&b, 60000), &event, NULL) == PREM_OK)
    has_ended |= event.kind == PREM_EVENT_ENDED && event.value == PREM_LIVE_FAILED;
  ck_assert(has_ended);
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_ENDED);
  ck_assert_int_eq(state.end, PREM_LIVE_FAILED);
  ck_assert_int_eq(prem_live_stop(b.live, true, 0, diag), PREM_ERR_MACHINE);
  ck_assert_uint_ge(prem_diag_errors(diag), 1);
  ck_assert_msg(strncmp(prem_diag_at(diag, 0)->reason, "block ", 6) == 0, "%s",
                prem_diag_at(diag, 0)->reason); /* who waits in vain: mostly for the courier */
  prem_diag_free(diag);
  close_bench(&b);
  b = start_bench(queues(4));
  float value;
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  ck_assert_float_eq(value, 2);
  close_bench(&b);
}
END_TEST

/* Half a GiB is on its way to the GPU, which takes some 10 ms: to stop is a word that does not wait
 * behind it. */
START_TEST(stopping_does_not_wait_for_copies) { /* E7 */
  enum { HUGE = 1 << 24, BUFFERS_OF_IT = 8 };
  bench b = {
      .schedule = prepared_schedule(
          text("version = 1; name = \"huge\"; platform: { blocks = 2; block_threads = 256; };"
               "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %d ]; },"
               "  { name = \"y\"; type = \"f32\"; shape = [ %d ]; } );"
               "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 2;"
               "    tile = [ 8192 ]; period_ns = 2000000000L; arrays: { in = \"x\"; out = \"y\"; };"
               "    prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; };"
               "    writeback: { wcet_ns = 20000L; }; } );"
               "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = %d; } ); };",
               HUGE, HUGE, BUFFERS_OF_IT))};
  b.live = open_live_on("cuda", b.schedule);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 0; i < BUFFERS_OF_IT; ++i) {
    prem_frame frame;
    ck_assert_int_eq(prem_live_acquire(b.live, 0, 0, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_submit(b.live, &frame, NULL), PREM_OK);
  }
  const int64_t from_ns = prem_live_now_ns(b.live);
  ck_assert_int_eq(prem_live_stop(b.live, false, in_ms(&b, 60000), NULL), PREM_OK);
  ck_assert_int_lt(prem_live_now_ns(b.live) - from_ns, INT64_C(8) * MS);
  close_bench(&b);
}
END_TEST

/* ---- coming and going ------------------------------------------------------------------------ */

static int64_t taken_bytes(void) {
  size_t left = 0, all = 0;
#ifdef WITH_CUDART
  ck_assert_int_eq(cudaMemGetInfo(&left, &all), cudaSuccess);
#endif
  return (int64_t)(all - left);
}

START_TEST(sessions_leave_nothing_behind) { /* E32 */
  prem_schedule *schedule = checked_schedule(queues(2));
  assert_nothing_stays("cuda", schedule, IS_EMULATED ? 10 : 100, taken_bytes);
  prem_schedule_free(schedule);
}
END_TEST

/* The GPU goes on meanwhile, and waits for frames. */
START_TEST(a_stopped_process_goes_on) { /* E4 */
  assert_a_stopped_process_goes_on(0);
}
END_TEST

/* ---- slots have margins ---------------------------------------------------------------------- */

/* A halo is zeros, whatever lies in the slots beside: a constant frame c gives the same response
 * pattern times c. */
START_TEST(no_halo_reaches_into_another_slot) { /* E34 */
  bench b = {.schedule = prepared_schedule(
                 "version = 1; name = \"halo\"; platform: { blocks = 4; block_threads = 256; };"
                 "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 32, 32 ]; },"
                 "  { name = \"y\"; type = \"f32\"; shape = [ 32, 32 ]; } );"
                 "tasks = ( { name = \"a\"; kernel = \"conv2d_7x7\"; blocks = 4; tile = [ 16, 16 ];"
                 "    period_ns = 500000L; arrays: { in = \"x\"; out = \"y\"; };"
                 "    prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; };"
                 "    writeback: { wcet_ns = 20000L; }; } );"
                 "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = 3; } );"
                 "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 3; } ); };")};
  b.live = open_live_on("cuda", b.schedule);
  prem_live *other = open_live_on("sim", b.schedule);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  start_live(other, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 1; i <= 12; ++i) {
    prem_frame found, expected;
    ck_assert_int_eq(feed_until(b.live, 0, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(feed(other, 0, (float)i, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_wait(b.live, 1, in_ms(&b, 60000), &found, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_wait(other, 1, prem_live_now_ns(other) + 10 * MS, &expected, NULL),
                     PREM_OK);
    for (int row = 0; row < 32; ++row)
      ck_assert_mem_eq((char *)found.data + row * found.pitch_bytes[2],
                       (char *)expected.data + row * expected.pitch_bytes[2], 32 * sizeof(float));
    ck_assert_int_eq(prem_live_release(b.live, &found, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_release(other, &expected, NULL), PREM_OK);
  }
  prem_live_close(other);
  close_bench(&b);
}
END_TEST

/* ---- overruns -------------------------------------------------------------------------------- */

/* Its windows are far too short: every job that runs ends behind its deadline. */
START_TEST(a_job_behind_an_overrun_is_skipped) {
  bench b = {
      .schedule = prepared_schedule(
          "version = 1; name = \"overrun\"; platform: { blocks = 1; block_threads = 256; };"
          "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8192 ]; },"
          "  { name = \"y\"; type = \"f32\"; shape = [ 8192 ]; } );"
          "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1;"
          "    tile = [ 8192 ]; period_ns = 500000L; deadline_ns = 1000L; overrun = \"skip\";"
          "    arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 256L; };"
          "    compute: { wcet_ns = 256L; }; writeback: { wcet_ns = 256L; }; } );"
          "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };")};
  b.live = open_live_on("cuda", b.schedule);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  float value, last = 0;
  for (int i = 1; i <= 40; ++i) {
    ck_assert_int_eq(feed_until(b.live, 0, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, 1, in_ms(&b, 60000), &value, NULL), PREM_OK);
    ck_assert_float_ge(value, last);
    last = value;
  }
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_gt(state.overruns, 30);
  ck_assert_int_gt(state.skipped, 30);
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  close_bench(&b);
}
END_TEST

/* Every job ends behind its deadline, and frame i is job i's: what the other policies make of it.
 */
static const prem_overrun late_policies[] = {PREM_OVERRUN_RECORD, PREM_OVERRUN_ABORT,
                                             PREM_OVERRUN_STOP, PREM_OVERRUN_DEGRADE};

static const char *late_jobs(prem_overrun policy) {
  static const char *const words[] = {"record", "skip", "abort", "stop", "degrade"};
  return text(
      "version = 1; name = \"late\"; platform: { blocks = 1; block_threads = 256; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8192 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8192 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1;"
      "    tile = [ 1024 ]; period_ns = 500000L; deadline_ns = 2048L; overrun = \"%s\";"
      "    arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 64L; };"
      "    compute: { wcet_ns = 64L; }; writeback: { wcet_ns = 64L; }; } );"
      "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = 8; } );"
      "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );"
      "  operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"a\" ]; } ); "
      "};",
      words[policy]);
}

START_TEST(each_policy_does_what_it_says) { /* E22 to E24 */
  enum { LATE = 8, TILES = 8 };
  const prem_overrun policy = late_policies[_i];
  bench b = {.schedule = prepared_schedule(late_jobs(policy))};
  b.live = open_live_on("cuda", b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  for (int i = 0; i < LATE; ++i)
    ck_assert_int_eq(feed(b.live, b.x, (float)i, NULL), PREM_OK);
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(b.schedule, 1, 1, &trace), PREM_OK);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .trace = trace});
  const prem_status asked = prem_live_stop(b.live, true, 0, NULL);
  ck_assert(asked == PREM_OK || asked == PREM_ERR_TIMEOUT);
  uint64_t seen = 0;
  float value;
  prem_frame frame;
  while (fetch(b.live, b.y, in_ms(&b, 60000), &value, &frame) == PREM_OK) {
    ck_assert_float_eq(value, (float)(frame.input + 1)); /* whole, and its own */
    ck_assert_int_eq(frame.job, (int64_t)frame.input);
    ck_assert_int_eq(frame.operating_mode, 0);
    ++seen;
  }
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  prem_live_state state;
  prem_live_counts y;
  prem_live_look(b.live, &state);
  prem_live_count(b.live, b.y, &y);
  ck_assert_uint_eq(y.frames, seen);
  ck_assert_uint_eq(seen + y.missing + y.dropped + y.aborted, (uint64_t)state.hyperperiods);
  ck_assert_int_ge(state.overruns, 1);
  ck_assert_uint_eq(y.aborted, (uint64_t)state.aborted);
  ck_assert_int_eq(state.skipped, 0);
  if (policy == PREM_OVERRUN_RECORD) {
    ck_assert_uint_eq(seen, LATE);
    ck_assert_int_eq(state.overruns, LATE);
    ck_assert_int_eq(trace->stats[PREM_WRITEBACK].count, LATE * TILES);
  } else if (policy == PREM_OVERRUN_ABORT) {
    ck_assert_int_gt(state.aborted, 0);
    ck_assert_uint_eq(seen + y.aborted, LATE);
    ck_assert_int_lt(trace->stats[PREM_WRITEBACK].count, LATE * TILES); /* the rest is left out */
  } else if (policy == PREM_OVERRUN_STOP) {
    ck_assert_int_eq(state.end, PREM_LIVE_OVERRUN);
    ck_assert_int_lt(state.hyperperiods, LATE);
  } else {
    ck_assert_int_eq(state.operating_mode, 1);
    ck_assert_int_lt(state.mode_from, LATE);
    ck_assert_uint_eq(seen, (uint64_t)state.mode_from); /* those before it, and no other */
  }
  close_bench(&b);
  prem_trace_free(trace);
}
END_TEST

/* ---- counts -----------------------------------------------------------------------------------
 */

/* Cells that are emptied again and again count what those do that never are. */
START_TEST(counts_of_blocks_do_not_run_over) {
  enum { COUNTED = 50, TILES = 4 };
  bench b = {.schedule = prepared_schedule(
                 "version = 1; name = \"fold\"; platform: { blocks = 2; block_threads = 256; };"
                 "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 1024 ]; },"
                 "  { name = \"y\"; type = \"f32\"; shape = [ 1024 ]; } );"
                 "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 2;"
                 "    tile = [ 256 ]; period_ns = 200000L; arrays: { in = \"x\"; out = \"y\"; };"
                 "    prefetch: { wcet_ns = 10000L; }; compute: { wcet_ns = 10000L; };"
                 "    writeback: { wcet_ns = 10000L; }; } );"
                 "live: { inputs = ( { array = \"x\"; kind = \"trigger\"; } );"
                 "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };")};
  b.live = open_live_on("cuda", b.schedule);
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(b.schedule, 1, 1, &trace), PREM_OK);
  if (_i == 0)
    prem_live_fold_at(b.live, 3);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .trace = trace});
  float value;
  for (int i = 1; i <= COUNTED; ++i) {
    ck_assert_int_eq(feed_until(b.live, 0, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, 1, in_ms(&b, 60000), &value, NULL), PREM_OK);
  }
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
    const prem_phase_stats *of = &trace->stats[phase];
    int64_t spread = 0;
    for (int i = 0; i < PREM_HIST_BUCKETS; ++i)
      spread += of->lateness_hist[i];
    ck_assert_int_eq(of->count, COUNTED * TILES);
    ck_assert_int_eq(of->releases, COUNTED * TILES);
    ck_assert_int_eq(spread, COUNTED * TILES);
  }
  close_bench(&b);
  prem_trace_free(trace);
}
END_TEST

/* A result that is ready is handed on at its instant, whatever else the courier looks at. */
START_TEST(results_are_shown_at_their_instants) {
  enum { SHOWN = 200, BEHIND_NS = 800, NEAR_NS = 20000 /* of the clocks' comparison */ };
  bench b = {
      .schedule = prepared_schedule(increment_file(
          MS, UNIT, "",
          "inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; kind = \"queuing\"; "
          "publish_ns = 800000L; } );"))};
  b.live = open_live_on("cuda", b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .follows_host = true});
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  for (int i = 0; i < SHOWN; ++i) {
    prem_frame frame = {0};
    float value;
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, &frame), PREM_OK);
    const int64_t at_ns = state.start_ns + frame.job * MS + 800000;
    ck_assert_int_gt(frame.published_ns, at_ns - NEAR_NS);
    ck_assert_int_lt(frame.published_ns, at_ns + NEAR_NS);
    ck_assert_uint_eq(frame.flags & ~(uint32_t)PREM_FRAME_REPEATED, 0);
  }
  prem_live_counts counts;
  prem_live_count(b.live, b.y, &counts);
  ck_assert_int_lt(counts.behind_ns, BEHIND_NS);
  ck_assert_uint_eq(counts.late, 0);
  close_bench(&b);
}
END_TEST

/* Small frames that are not aligned go by the copy engines. */
START_TEST(results_are_the_same_wherever_frames_lie) {
  assert_results_are_the_same_wherever_frames_lie("cuda");
}
END_TEST
#ifdef WITH_CUDART
static void copy_over(void *to, int64_t to_pitch, const void *from, int64_t from_pitch) {
  static cudaStream_t stream;
  if (!stream)
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ck_assert_int_eq(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch,
                                     COLUMNS * sizeof(float), ROWS, cudaMemcpyDefault, stream),
                   cudaSuccess);
  ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
}
#else
#define copy_over copy_on_host
#endif
START_TEST(frames_stay_where_blocks_have_them) {
  assert_frames_stay("cuda", copy_over);
}
END_TEST
START_TEST(a_result_without_a_buffer_touches_none) {
  assert_a_result_without_a_buffer_touches_none("cuda");
}
END_TEST
#ifdef WITH_CUDART
/* Another library's: here and there, in no order. */
static void take_device_memory(void *out[BUFFERS]) {
  static unsigned char guards[BYTES];
  memset(guards, GUARD, sizeof guards);
  for (int b = 0; b < BUFFERS; ++b) {
    const int at = (2 * b + 1) % BUFFERS;
    ck_assert_int_eq(cudaMalloc(&out[at], BYTES + 4096), cudaSuccess);
    out[at] = (char *)out[at] + 16 * (b + 1);
    ck_assert_int_eq(cudaMemcpy(out[at], guards, BYTES, cudaMemcpyHostToDevice), cudaSuccess);
  }
}

static void give_device_memory(void *out[BUFFERS]) {
  for (int b = 0; b < BUFFERS; ++b)
    cudaFree((char *)out[(2 * b + 1) % BUFFERS] - 16 * (b + 1));
}

START_TEST(device_memory_of_the_application_serves) {
  void *buffers[2][BUFFERS];
  take_device_memory(buffers[0]);
  take_device_memory(buffers[1]);
  assert_others_memory_serves("cuda", copy_over, buffers);
  give_device_memory(buffers[0]);
  give_device_memory(buffers[1]);
}
END_TEST

/* What the GPU's copies cannot do is said, and the session starts no more. */
START_TEST(device_memory_that_does_not_serve_is_refused) {
  void *good[BUFFERS], *mixed[BUFFERS], *odd[BUFFERS];
  static float here[BYTES];
  take_device_memory(good);
  memcpy(mixed, good, sizeof mixed);
  memcpy(odd, good, sizeof odd);
  mixed[1] = here;
  odd[2] = (char *)good[2] + 4;
  const struct {
    const char *schedule;
    void *const *buffers;
    int64_t pitch_bytes;
    const char *reason;
  } wrong[] = {
      {filled, mixed, PITCH, "buffers of 'x' do not all lie on the session's GPU"},
      {filled, odd, PITCH, "buffers of 'x' or their rows do not begin at multiples of 16 bytes"},
      {filled, good, PITCH - 8,
       "buffers of 'x' or their rows do not begin at multiples of 16 bytes"},
      {blurred, good, PITCH, "windows hang over the array's edges"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    prem_schedule *schedule = prepared_schedule(wrong[i].schedule);
    prem_live *live = open_live_on("cuda", schedule);
    prem_diag *diag = prem_diag_new();
    ck_assert_int_eq(
        prem_live_adopt(live, 0, wrong[i].buffers, BUFFERS, wrong[i].pitch_bytes, diag),
        PREM_ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, wrong[i].reason));
    ck_assert_int_eq(prem_live_start(live, &(prem_live_request){0}, diag), PREM_ERR_ARGUMENT);
    prem_diag_free(diag);
    prem_live_close(live);
    prem_schedule_free(schedule);
  }
  give_device_memory(good);
}
END_TEST
#endif

START_TEST(frames_of_the_host_are_fetched) {
  assert_frames_of_the_host_are_fetched("cuda", IS_EMULATED ? 12 : 200);
}
END_TEST

/* What blocks cannot fetch is said, and is copied then. */
START_TEST(frames_that_cannot_be_fetched_are_copied) {
  static const struct {
    const char *schedule;
    int64_t pitch_bytes;
    const char *reason;
  } wrong[] = {
      {blurred, 0, "frames of 'x' have no zeros around them, and windows hang over the array's"},
      {filled, PITCH, "frames of 'x' or their rows do not begin at multiples of 16 bytes"},
      {filled, PITCH - 8, "frames of 'x' or their rows do not begin at multiples of 16 bytes"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    prem_schedule *schedule = prepared_schedule(wrong[i].schedule);
    prem_live *live = open_live_on("cuda", schedule);
    prem_diag *diag = prem_diag_new();
    prem_frame frame;
    camera in = camera_new();
    if (wrong[i].pitch_bytes > 0)
      ck_assert_int_eq(
          prem_live_adopt(live, 0, (void *const *)in.at, BUFFERS, wrong[i].pitch_bytes, NULL),
          PREM_OK);
    ck_assert_int_eq(prem_live_keep_on_host(live, 0, diag), PREM_ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, wrong[i].reason));
    start_live(live, &(prem_live_request){0});
    ck_assert_int_eq(feed(live, 0, 3, NULL), PREM_OK);
    wait_for(live, &frame);
    const float inner = ((float *)((char *)frame.data + 5 * frame.pitch_bytes[2]))[7];
    ck_assert_float_eq(inner, 1.5F); /* the coefficients add up to a half */
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
    prem_diag_free(diag);
    prem_live_close(live);
    prem_schedule_free(schedule);
    camera_free(&in);
  }
}
END_TEST

/* A run's moves are worked out before it. */
/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(state_arrays_are_refused_in_runs) {
  char path[512];
  snprintf(path, sizeof path, "%s/schedules/examples/background.cfg", source);
  prem_schedule *schedule = planned_schedule(path);
  prem_session *session = NULL;
  const prem_backend *cuda = prem_backend_find("cuda");
  prem_diag *diag = prem_diag_new();
  ck_assert_int_eq(prem_session_open(cuda, schedule, &session, diag), PREM_ERR_UNAVAILABLE);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_str_eq(prem_diag_at(diag, 0)->key, "arrays.model.versions");
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}
END_TEST

START_TEST(blocks_follow_the_plan_of_the_hyperperiod) {
  follow_plans("cuda", _i ? PREM_MODE_FREE : PREM_MODE_TT);
}
END_TEST

/* A session by a plan that holds the copies of its frames: edges of pictures, none late. */
START_TEST(copies_keep_to_their_windows) {
  bench b = {.schedule = planned_schedule(text("%s/schedules/examples/copies.cfg", source))};
  prem_live_counts counts;
  b.live = open_live_on("cuda", b.schedule);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  for (int i = 1; i <= 30; ++i) {
    float value;
    ck_assert_int_eq(feed_until(b.live, 0, (float)i, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, 1, in_ms(&b, 60000), &value, NULL), PREM_OK);
    ck_assert_float_eq(value, 0); /* a picture of one grey level has no edges */
  }
  prem_live_count(b.live, 1, &counts);
  if (!IS_EMULATED)
    ck_assert_uint_eq(counts.late, 0);
  ck_assert_uint_ge(counts.frames, 30);
  close_bench(&b);
}
END_TEST

/* The copy engines keep to no instant. */
START_TEST(copies_of_large_frames_are_refused) {
  const char *plain = big("sampling"), *key = "kind = \"sampling\"; buffers = 4;";
  const char *input = strstr(plain, key);
  ck_assert_ptr_nonnull(input);
  bench b = {.schedule = prepared_schedule(text("%.*s copy: { wcet_ns = 100000L; }; %s",
                                                (int)(input - plain), plain, input))};
  prem_diag *diag = prem_diag_new();
  b.live = open_live_on("cuda", b.schedule);
  ck_assert_int_eq(prem_live_start(b.live, &(prem_live_request){.mode = PREM_MODE_TT}, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  prem_diag_free(diag);
  close_bench(&b);
}
END_TEST

int main(int argc, char **argv) {
  if (argc > 1)
    source = argv[1];
  if (!has_gpu()) {
    printf("skipped: no GPU, or a build without it\n");
    return SKIPPED;
  }
  Suite *suite = suite_create("live_cuda");
  TCase *cases = tcase_create("live_cuda");
  tcase_set_timeout(cases, 120);
  add_live_tests(cases);
  tcase_add_test(cases, large_frames_of_queues_come_whole_and_in_order);
  tcase_add_test(cases, a_second_session_is_refused);
  tcase_add_test(cases, a_session_that_fails_says_why);
  if (!IS_EMULATED) { /* these judge how quick it is */
    tcase_add_test(cases, large_frames_of_samples_come_whole_and_in_order);
    tcase_add_test(cases, stopping_does_not_wait_for_copies);
    tcase_add_test(cases, results_are_shown_at_their_instants);
  }
  tcase_add_loop_test(cases, a_frame_that_was_waited_for_is_not_decided, 0, AHEAD_KINDS);
  tcase_add_loop_test(cases, frames_in_any_order_have_what_belongs_to_them, 0, 2 * AHEAD_KINDS);
  tcase_add_test(cases, a_frame_in_another_slot_is_found_there);
  tcase_add_loop_test(cases, a_frame_is_begun_with_the_sample_that_there_is, 0, SAMPLED_KINDS);
  tcase_add_loop_test(cases, each_frame_has_the_newest_sample_before_it, 0, 2 * SAMPLED_KINDS);
  tcase_add_loop_test(cases, a_sample_is_taken_when_the_hyperperiod_begins, 0, 2);
  tcase_add_loop_test(cases, state_goes_on_from_frame_to_frame, 0, 2);
  tcase_add_test(cases, frames_before_the_end_are_used);
  tcase_add_test(cases, a_block_without_work_holds_nothing_up);
  tcase_add_loop_test(cases, hyperperiods_without_a_frame_lose_none, 0, 2);
  tcase_add_test(cases, results_that_are_kept_stop_nothing);
  tcase_add_test(cases, no_halo_reaches_into_another_slot);
  tcase_add_test(cases, a_job_behind_an_overrun_is_skipped);
  tcase_add_loop_test(cases, each_policy_does_what_it_says, 0, 4);
  tcase_add_loop_test(cases, counts_of_blocks_do_not_run_over, 0, 2);
  tcase_add_test(cases, results_are_the_same_wherever_frames_lie);
  tcase_add_test(cases, frames_stay_where_blocks_have_them);
  tcase_add_test(cases, frames_of_the_host_are_fetched);
  tcase_add_test(cases, frames_that_cannot_be_fetched_are_copied);
#ifdef WITH_CUDART
  tcase_add_test(cases, device_memory_of_the_application_serves);
  tcase_add_test(cases, device_memory_that_does_not_serve_is_refused);
#endif
  tcase_add_test(cases, a_result_without_a_buffer_touches_none);
  tcase_add_test(cases, state_arrays_are_refused_in_runs);
  tcase_add_loop_test(cases, blocks_follow_the_plan_of_the_hyperperiod, 0, 2);
  tcase_add_test(cases, copies_keep_to_their_windows);
  tcase_add_test(cases, copies_of_large_frames_are_refused);
  tcase_add_test(cases, a_stopped_process_goes_on);
  suite_add_tcase(suite, cases);
  TCase *leaks = tcase_create("leaks"); /* TTPREM_SESSIONS=1000 takes minutes */
  tcase_set_timeout(leaks, 600);
  tcase_add_test(leaks, sessions_leave_nothing_behind);
  suite_add_tcase(suite, leaks);
  return run_suite(suite);
}
