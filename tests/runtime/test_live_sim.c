/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions on the simulator: clocks, a frame by hand, triggers, ends and mistakes. Which job
 * gets which frame, at which instant, is held against a model in test_live_random.c. */
#include "runtime/session/live_parts.h"
#include "tests/common/live_leaks.h"
#include "tests/common/suite.h"

#define SAMPLED "inputs = ( { array = \"x\"; %s } ); outputs = ( { array = \"y\"; %s } );"

typedef struct bench {
  prem_schedule *schedule;
  prem_live *live;
  int32_t x, y;
} bench;

static bench open_bench(const char *source) {
  bench b = {.schedule = checked_schedule(source)};
  b.live = open_live_on("sim", b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  return b;
}

static bench start_bench(const char *source) {
  bench b = open_bench(source);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  return b;
}

/* Jobs of 400 ns every 1000. */
static bench increments(const char *input, const char *output) {
  return start_bench(increment_file(1000, 1, "", text(SAMPLED, input, output)));
}

static void close_bench(bench *b) {
  prem_live_close(b->live);
  prem_schedule_free(b->schedule);
}

/* Closed at the end of its scope. */
#define BENCH __attribute__((cleanup(close_bench))) bench

static void assert_counts(const bench *b, int32_t stream, prem_live_counts want) {
  prem_live_counts found;
  prem_live_count(b->live, stream, &found);
  ck_assert_msg(memcmp(&found, &want, sizeof want) == 0,
                "frames %llu taken %llu repeated %llu missing %llu stale %llu dropped %llu "
                "late %llu, not %llu %llu %llu %llu %llu %llu %llu",
                (unsigned long long)found.frames, (unsigned long long)found.taken,
                (unsigned long long)found.repeated, (unsigned long long)found.missing,
                (unsigned long long)found.stale, (unsigned long long)found.dropped,
                (unsigned long long)found.late, (unsigned long long)want.frames,
                (unsigned long long)want.taken, (unsigned long long)want.repeated,
                (unsigned long long)want.missing, (unsigned long long)want.stale,
                (unsigned long long)want.dropped, (unsigned long long)want.late);
}

/* The next result, at this instant, made of this number. */
static prem_frame assert_shown(const bench *b, int64_t at_ns, float made_of, uint32_t flags) {
  float value;
  prem_frame frame;
  ck_assert_int_eq(fetch(b->live, b->y, at_ns + 5000, &value, &frame), PREM_OK);
  ck_assert_int_eq(frame.published_ns, at_ns);
  ck_assert_float_eq(value, made_of + 1);
  ck_assert_uint_eq(frame.flags, flags);
  return frame;
}

/* ---- clocks --------------------------------------------------------------------------------- */

enum { PERIOD = 100000, STEP = 11 /* a ten thousandth, and one */, JUMPS_AT = 4, FOLLOWED = 20 };

/* Where hyperperiods begin, from the first one, when the host's clock is found to be so far from
 * where it was thought to be, after a few. */
static void find_begins(bool follows, int64_t apart_ns, int64_t begins_ns[FOLLOWED]) {
  bench b = open_bench(increment_file(PERIOD, 100, "", text(SAMPLED, "", "")));
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(b.schedule, FOLLOWED, 0, &trace), PREM_OK);
  start_live(b.live,
             &(prem_live_request){.mode = PREM_MODE_TT, .follows_host = follows, .trace = trace});
  prem_live_sleep_until(b.live, JUMPS_AT * PERIOD - PERIOD / 2);
  b.live->courier->base_ns += apart_ns;
  prem_live_sleep_until(b.live, (FOLLOWED + 1) * PERIOD);
  ck_assert_int_eq(prem_live_stop(b.live, true, INT64_C(100) * PERIOD, NULL), PREM_OK);
  prem_live_close(b.live);
  ck_assert_int_eq(trace->hyperperiods, FOLLOWED);
  for (int h = 0; h < FOLLOWED; ++h)
    begins_ns[h] = trace->epoch_ns[h] - trace->epoch_ns[0];
  prem_schedule_free(b.schedule);
}

/* A little in each, until they begin where the host's clock says; without the wish not at all. */
TEST(hyperperiods_follow_the_clock_of_the_host) {
  static const int64_t apart_ns[] = {50, -50, STEP, 0};
  for (size_t i = 0; i < sizeof apart_ns / sizeof *apart_ns; ++i) {
    int64_t begins_ns[FOLLOWED], moved_ns = 0;
    find_begins(true, apart_ns[i], begins_ns);
    for (int h = 0; h < FOLLOWED; ++h) {
      const int64_t left_ns = -apart_ns[i] - moved_ns;
      if (h >= JUMPS_AT)
        moved_ns += left_ns > STEP ? STEP : left_ns < -STEP ? -STEP : left_ns;
      ck_assert_int_eq(begins_ns[h], h * PERIOD + moved_ns);
    }
    ck_assert_int_eq(moved_ns, -apart_ns[i]);
    find_begins(false, apart_ns[i], begins_ns);
    for (int h = 0; h < FOLLOWED; ++h)
      ck_assert_int_eq(begins_ns[h], h * PERIOD);
  }
}

/* ---- sampling ------------------------------------------------------------------------------- */

TEST(a_look_says_where_the_trace_begins_and_the_first_hyperperiod) {
  BENCH b = open_bench(increment_file(1000, 1, "", text(SAMPLED, "lead_ns = 30L;", "")));
  prem_live_state state;
  prem_live_sleep_until(b.live, 500);
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.start_ns, 0);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.zero_ns, 0);
  ck_assert_int_eq(state.start_ns, 530);
}

TEST(a_job_takes_the_newest_frame) {
  BENCH b = increments("", "");
  prem_live_sleep_until(b.live, 1500);
  ck_assert_int_eq(feed(b.live, b.x, 10, NULL), PREM_OK);
  prem_live_sleep_until(b.live, 1600);
  ck_assert_int_eq(feed(b.live, b.x, 20, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_now_ns(b.live), 1600);
  const prem_frame frame = assert_shown(&b, 2400, 20, 0);
  ck_assert_int_eq(frame.captured_ns, 1600);
  ck_assert_uint_eq(frame.input, 1);
  ck_assert_uint_eq(frame.number, 0);
  ck_assert_int_eq(frame.job, 2);
  ck_assert_int_eq(prem_live_now_ns(b.live), 2400);
  assert_shown(&b, 3400, 20, PREM_FRAME_REPEATED);
  assert_counts(&b, b.x, (prem_live_counts){.frames = 2, .taken = 1, .repeated = 1, .missing = 2});
  assert_counts(&b, b.y, (prem_live_counts){.frames = 2, .repeated = 1, .missing = 2});
}

TEST(an_overrun_can_stop_the_session) {
  const char *file = increment_file(1000, 1, "deadline_ns = 900L;",
                                    text(SAMPLED, "missing = \"wait\";", "kind = \"queuing\";"));
  BENCH b = start_bench(text("%s policy: { overrun = \"stop\"; };", file));
  prem_live_sleep_until(b.live, 100);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 500, 1, 0);
  prem_live_sleep_until(b.live, 1501);
  ck_assert_int_eq(feed(b.live, b.x, 2, NULL), PREM_OK);
  assert_shown(&b, 1901, 2, 0); /* 1 ns behind its deadline; hyperperiod 2 was not permitted yet */
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 9999, &frame, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_now_ns(b.live), 1901);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.end, PREM_LIVE_OVERRUN);
  ck_assert_int_eq(state.overruns, 1);
  ck_assert_int_eq(state.hyperperiods, 2);
}

/* ---- triggers ------------------------------------------------------------------------------- */

static bench triggers(const char *input, int64_t submit_timeout_ns) {
  bench b = open_bench(
      increment_file(1000, 1, "",
                     text("inputs = ( { array = \"x\"; kind = \"trigger\"; %s } );"
                          "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );",
                          input)));
  start_live(b.live,
             &(prem_live_request){.mode = PREM_MODE_TT, .submit_timeout_ns = submit_timeout_ns});
  return b;
}

TEST(a_frame_starts_the_hyperperiod) {
  BENCH b = triggers("lead_ns = 20L;", 0);
  prem_live_sleep_until(b.live, 12345);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 12345 + 20 + 400, 1, 0);
  /* two at once, in the first one's hyperperiod: back to back */
  ck_assert_int_eq(feed(b.live, b.x, 2, NULL), PREM_OK);
  ck_assert_int_eq(feed(b.live, b.x, 3, NULL), PREM_OK);
  assert_shown(&b, 13365 + 400, 2, 0);
  assert_shown(&b, 14365 + 400, 3, 0);
  prem_live_sleep_until(b.live, 20000);
  ck_assert_int_eq(feed(b.live, b.x, 4, NULL), PREM_OK);
  assert_shown(&b, 20420, 4, 0);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.hyperperiods, 4);
}

TEST(a_trigger_that_does_not_come_ends_the_session) { /* E2 */
  bench b = triggers("", 5000);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 400, 1, 0);
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 100000, &frame, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_now_ns(b.live), 6000);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_ENDED);
  ck_assert_int_eq(state.end, PREM_LIVE_NO_FRAME);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_stop(b.live, true, 0, NULL), PREM_OK);
  close_bench(&b);
}

TEST(a_trigger_that_does_not_come_can_be_repeated_or_skipped) { /* E2 */
  bench b = triggers("missing = \"repeat\";", 5000);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 400, 1, 0);
  assert_shown(&b, 6400, 1, PREM_FRAME_REPEATED); /* due at 1000, 5000 later */
  close_bench(&b);
  b = triggers("missing = \"skip\";", 5000);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 400, 1, 0);
  prem_live_sleep_until(b.live, 6500);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.hyperperiods, 2);
  ck_assert_int_eq(feed(b.live, b.x, 2, NULL), PREM_OK);
  assert_shown(&b, 7400, 2, 0); /* behind the empty one, which began at 6000 */
  close_bench(&b);
}

/* ---- stopping ------------------------------------------------------------------------------- */

TEST(draining_works_off_what_was_submitted) { /* E29, E33 */
  bench b = increments("kind = \"queuing\"; buffers = 4;", "kind = \"queuing\"; buffers = 4;");
  for (int i = 0; i < 4; ++i)
    ck_assert_int_eq(feed(b.live, b.x, (float)i, NULL), PREM_OK);
  prem_live_sleep_until(b.live, 1200);
  prem_frame acquired;
  ck_assert_int_eq(prem_live_stop(b.live, true, 1300, NULL), PREM_ERR_TIMEOUT);
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_DRAINING);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &acquired, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_stop(b.live, true, 100000, NULL), PREM_OK);
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_ENDED);
  ck_assert_int_eq(state.end, PREM_LIVE_STOPPED);
  for (int i = 0; i < 4; ++i) {
    float value;
    ck_assert_int_eq(fetch(b.live, b.y, 0, &value, NULL), PREM_OK);
    ck_assert_float_eq(value, (float)(i + 1));
  }
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 0, &acquired, NULL), PREM_ERR_ENDED);
  close_bench(&b);
}

TEST(stopping_at_once_shows_no_half_frame) { /* E23 */
  bench b = increments("kind = \"queuing\"; buffers = 4;", "kind = \"queuing\"; buffers = 4;");
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  ck_assert_int_eq(feed(b.live, b.x, 2, NULL), PREM_OK);
  prem_frame acquired;
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &acquired, NULL), PREM_OK);
  prem_live_sleep_until(b.live, 2399); /* the second result lies there but for 1 ns */
  ck_assert_int_eq(prem_live_stop(b.live, false, 0, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_submit(b.live, &acquired, NULL), PREM_ERR_ENDED); /* E33 */
  float value;
  ck_assert_int_eq(fetch(b.live, b.y, 9000, &value, NULL), PREM_OK);
  ck_assert_float_eq(value, 2);
  ck_assert_int_eq(fetch(b.live, b.y, 9000, &value, NULL), PREM_ERR_ENDED);
  close_bench(&b);
}

/* ---- mistakes of the caller ------------------------------------------------------------------ */

static void assert_argument(prem_status status, prem_diag *diag, const char *fragment) {
  ck_assert_int_eq(status, PREM_ERR_ARGUMENT);
  const size_t count = prem_diag_count(diag);
  ck_assert_uint_gt(count, 0);
  ck_assert_msg(strstr(prem_diag_at(diag, count - 1)->reason, fragment) != NULL, "%s",
                prem_diag_at(diag, count - 1)->reason);
}

TEST(mistakes_are_told) {
  BENCH b = open_bench(increment_file(1000, 1, "", text(SAMPLED, "lead_ns = 50L;", "")));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_frame frame, other;
  ck_assert_int_eq(prem_live_find(b.live, "z"), -1);
  assert_argument(prem_live_acquire(b.live, -1, 0, &frame, diag), diag, "no stream -1");
  assert_argument(prem_live_acquire(b.live, 2, 0, &frame, diag), diag, "no stream 2");
  assert_argument(prem_live_acquire(b.live, b.y, 0, &frame, diag), diag, "'y' is an output");
  assert_argument(prem_live_wait(b.live, b.x, 0, &frame, diag), diag, "'x' is an input");
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, diag), PREM_OK);

  ck_assert_int_eq(prem_live_release(b.live, &frame, diag), PREM_OK); /* given back unused */
  assert_argument(prem_live_submit(b.live, &frame, diag), diag, "no buffer of 'x' is in hand");
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, diag), PREM_OK);
  other = frame;
  other.buffer = 7;
  assert_argument(prem_live_submit(b.live, &other, diag), diag, "buffer 7 of 'x' is not in hand");
  ck_assert_int_eq(prem_live_submit(b.live, &frame, diag), PREM_OK);
  assert_argument(prem_live_submit(b.live, &frame, diag), diag, "no buffer of 'x' is in hand");
  prem_live_sleep_until(b.live, 100);
  assert_argument(prem_live_start(b.live, &(prem_live_request){.mode = PREM_MODE_LEGACY}, diag),
                  diag, "tt, free or lock");
  assert_argument(prem_live_start(b.live, &(prem_live_request){.start_ns = -1}, diag), diag,
                  "below 0");
  assert_argument(prem_live_start(b.live, &(prem_live_request){.start_ns = PREM_MAX_NS + 1}, diag),
                  diag, "above 2^62 ns");
  assert_argument(prem_live_start(b.live, &(prem_live_request){.submit_timeout_ns = -1}, diag),
                  diag, "below 0");
  assert_argument(
      prem_live_start(b.live, &(prem_live_request){.submit_timeout_ns = PREM_MAX_NS + 1}, diag),
      diag, "above 2^62 ns");
  assert_argument(prem_live_start(b.live, &(prem_live_request){.stall_timeout_ns = -1}, diag), diag,
                  "below 0");
  assert_argument(prem_live_start(b.live, &(prem_live_request){.silence_ns = -1}, diag), diag,
                  "below 0");
  assert_argument(
      prem_live_start(b.live, &(prem_live_request){.stall_timeout_ns = PREM_MAX_NS + 1}, diag),
      diag, "above 2^62 ns");
  assert_argument(
      prem_live_start(b.live, &(prem_live_request){.silence_ns = PREM_MAX_NS + 1}, diag), diag,
      "above 2^62 ns");
  prem_trace strange = {.task_count = 2};
  assert_argument(prem_live_start(b.live, &(prem_live_request){.trace = &strange}, diag), diag,
                  "the trace was made for another schedule");
  start_live(b.live, &(prem_live_request){.start_ns = 150});
  assert_argument(prem_live_start(b.live, &(prem_live_request){0}, diag), diag, "open another");
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 9999, &frame, diag), PREM_OK);
  ck_assert_int_eq(frame.published_ns, 550);
  other = frame;
  other.number = 5;
  assert_argument(prem_live_release(b.live, &other, diag), diag, "frame 5 of 'y' is not in hand");
  ck_assert_int_eq(prem_live_release(b.live, &frame, diag), PREM_OK);
  assert_argument(prem_live_release(b.live, &frame, diag), diag, "release each once");
  frame.stream = 99;
  assert_argument(prem_live_release(b.live, &frame, diag), diag, "no stream 99");
}

/* Nothing comes, and nothing can: that is said. */
TEST(who_holds_all_buffers_is_told_so) {
  BENCH b = open_bench(increment_file(
      1000, 1, "", text(SAMPLED, "buffers = 4; kind = \"queuing\";", "buffers = 2;")));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_frame in[4], out[2], more;
  for (int i = 0; i < 3; ++i) {
    ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &in[i], diag), PREM_OK);
    ck_assert_int_eq(prem_live_submit(b.live, &in[i], diag), PREM_OK);
  }
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &in[3], diag), PREM_OK);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &more, diag), PREM_ERR_FULL);
  ck_assert_uint_eq(prem_diag_count(diag), 0); /* three of them the session has */
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 1000, &out[0], diag), PREM_OK);
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 1100, &out[1], diag), PREM_ERR_TIMEOUT);
  ck_assert_uint_eq(prem_diag_count(diag), 0); /* there may be one a little later */
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 2000, &out[1], diag), PREM_OK);
  for (int64_t until_ns = 8000; until_ns <= 9000; until_ns += 500)
    ck_assert_int_eq(prem_live_wait(b.live, b.y, until_ns, &more, diag), PREM_ERR_TIMEOUT);
  ck_assert_uint_eq(prem_diag_count(diag), 1); /* once */
  ck_assert_str_eq(prem_diag_at(diag, 0)->key, "wait");
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "you hold all 2 buffers of 'y': release one");
  for (int i = 0; i < 3; ++i)
    ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &in[i], diag), PREM_OK);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &more, diag), PREM_ERR_FULL);
  ck_assert_uint_eq(prem_diag_count(diag), 2);
  ck_assert_str_eq(prem_diag_at(diag, 1)->key, "acquire");
  ck_assert_str_eq(prem_diag_at(diag, 1)->reason,
                   "you hold all 4 buffers of 'x': submit or release one");
}

/* By the wall clock, say, whose frames would never be too old. The buffer stays in hand. */
TEST(a_frame_of_another_clock_is_refused) {
  static const int64_t wrong_ns[] = {-1, INT64_MIN, INT64_C(1000000801),
                                     INT64_C(1700000000000000000), INT64_MAX};
  BENCH b = increments("max_age_ns = 900L;", "");
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_frame frame;
  prem_live_sleep_until(b.live, 800);
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, NULL), PREM_OK);
  fill_frame(&frame, 5);
  for (size_t i = 0; i < sizeof wrong_ns / sizeof *wrong_ns; ++i) {
    frame.captured_ns = wrong_ns[i];
    assert_argument(prem_live_submit(b.live, &frame, diag), diag,
                    wrong_ns[i] < 0 ? "is below 0" : "an instant of prem_live_now_ns()");
  }
  frame.captured_ns = 1000000800;
  ck_assert_int_eq(prem_live_submit(b.live, &frame, NULL), PREM_OK);
  assert_shown(&b, 1400, 5, 0);
}

TEST(what_is_not_ready_is_not_opened) {
  static const char unplanned[] =
      "version = 1; name = \"live\"; platform: { blocks = 1; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 8 ];"
      "    period_ns = 1000L; arrays: { in = \"x\"; out = \"y\"; };"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 200L; };"
      "    writeback: { wcet_ns = 100L; }; } );"
      "live: { inputs = ( { array = \"x\"; } ); outputs = ( { array = \"y\"; } ); };";
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_schedule_load_text("unplanned.cfg", unplanned, &schedule, diag), PREM_OK);
  prem_live *live = NULL;
  prem_session *session = NULL;
  prem_backend absent = prem_backend_sim;
  absent.name = "absent";
  absent.live = NULL;
  assert_argument(prem_live_open(&prem_backend_sim, schedule, &live, diag), diag, "is not bound");
  assert_argument(prem_session_open(&prem_backend_sim, schedule, &session, diag), diag,
                  "is not bound");
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), diag), PREM_OK);
  assert_argument(prem_live_open(&prem_backend_sim, schedule, &live, diag), diag, "has no plan");
  assert_argument(prem_session_open(&prem_backend_sim, schedule, &session, diag), diag,
                  "has no plan");
  ck_assert_uint_eq(prem_diag_errors(diag), 4);
  ck_assert_int_eq(prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag), PREM_OK);
  ck_assert_int_eq(prem_live_open(&absent, schedule, &live, diag), PREM_ERR_UNAVAILABLE);
  const prem_problem *said = prem_diag_at(diag, prem_diag_count(diag) - 1);
  ck_assert_str_eq(said->reason,
                   "live sessions are not there on backend 'absent' yet; use cpu or sim");
  ck_assert_int_eq(said->severity, PREM_NOTE);
  ck_assert_int_eq(said->code, 0);
  ck_assert(!live && !session);
}

/* A run that is asked for wrongly changes nothing: the right one follows. */
TEST(mistakes_of_a_run_are_told) {
  prem_schedule *schedule = prepared_schedule(increment_file(1000, 1, "", text(SAMPLED, "", "")));
  prem_session *session = open_on("sim", schedule);
  prem_diag *diag = prem_diag_new();
  prem_schedule *other =
      prepared_schedule("version = 1; name = \"two\"; platform: { blocks = 2; }; tasks = ("
                        "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; compute: "
                        "{ wcet_ns = 9L; }; },"
                        "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: "
                        "{ wcet_ns = 9L; }; } "
                        ");");
  prem_trace *trace = NULL, *of_other = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 2, 100, &trace), PREM_OK);
  ck_assert_int_eq(prem_trace_new(other, 2, 100, &of_other), PREM_OK);
  prem_run_request request = {.mode = PREM_MODE_COUNT, .hyperperiods = 1};
  assert_argument(prem_session_run(session, &request, trace, diag), diag, "no such mode");
  request.mode = PREM_MODE_TT;
  request.engine = PREM_ENGINE_COUNT;
  assert_argument(prem_session_run(session, &request, trace, diag), diag, "no such engine");
  request.engine = 0;
  request.hyperperiods = 0;
  assert_argument(prem_session_run(session, &request, trace, diag), diag,
                  "0 hyperperiods asked for; the trace has room for 1 to 2");
  request.hyperperiods = 3;
  assert_argument(prem_session_run(session, &request, trace, diag), diag,
                  "3 hyperperiods asked for; the trace has room for 1 to 2");
  request.hyperperiods = 2;
  assert_argument(prem_session_run(session, &request, of_other, diag), diag, "another schedule");
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_OK);
  ck_assert_int_eq(trace->hyperperiods, 2);
  prem_trace_free(trace);
  prem_trace_free(of_other);
  prem_diag_free(diag);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_schedule_free(other);
}

/* Two tasks, the second with a job every so often, and room in a trace. */
static prem_schedule *two_tasks(int64_t period_ns, prem_trace **trace) {
  const char *task = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
                     "  period_ns = %lldL; compute: { wcet_ns = 9L; }; }";
  prem_schedule *schedule = prepared_schedule(
      text("version = 1; name = \"two\"; platform: { blocks = 2; }; tasks = ( %s, %s );",
           text(task, "a", 0, 1000LL), text(task, "b", 1, (long long)period_ns)));
  ck_assert_int_eq(prem_trace_new(schedule, 2, 100, trace), PREM_OK);
  return schedule;
}

/* As many tasks, but other numbers of jobs: their ends would find no room. */
TEST(a_trace_of_other_jobs_is_refused) {
  prem_trace *of_few, *of_many;
  prem_schedule *few = two_tasks(1000, &of_few), *many = two_tasks(500, &of_many);
  prem_diag *diag = prem_diag_new();
  prem_session *session = open_on("sim", many);
  prem_run_request run = {.mode = PREM_MODE_TT, .hyperperiods = 2};
  assert_argument(prem_session_run(session, &run, of_few, diag), diag, "another schedule");
  ck_assert_int_eq(prem_session_run(session, &run, of_many, diag), PREM_OK);
  prem_session_close(session);
  prem_live *live = open_live_on("sim", many);
  assert_argument(prem_live_start(live, &(prem_live_request){.trace = of_few}, diag), diag,
                  "another schedule");
  start_live(live, &(prem_live_request){.trace = of_many});
  ck_assert_int_eq(prem_live_stop(live, true, 9999, NULL), PREM_OK);
  prem_live_close(live);
  prem_diag_free(diag);
  prem_trace_free(of_few);
  prem_trace_free(of_many);
  prem_schedule_free(few);
  prem_schedule_free(many);
}

TEST(a_start_too_soon_is_told) {
  BENCH b = open_bench(increment_file(1000, 1, "", text(SAMPLED, "lead_ns = 50L;", "")));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_live_sleep_until(b.live, 100);
  assert_argument(prem_live_start(b.live, &(prem_live_request){.start_ns = 149}, diag), diag,
                  "give at least 150");
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &frame, NULL), PREM_ERR_ENDED);
}

TEST(a_session_that_never_started_can_be_stopped_and_closed) {
  bench b = open_bench(increment_file(1000, 1, "", text(SAMPLED, "", "")));
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_OPEN);
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 70, &frame, NULL), PREM_ERR_TIMEOUT);
  ck_assert_int_eq(prem_live_stop(b.live, true, 0, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 90, &frame, NULL), PREM_ERR_ENDED);
  close_bench(&b);
  b = open_bench(increment_file(1000, 1, "", text(SAMPLED, "", "")));
  close_bench(&b);
  prem_live_close(NULL);
}

TEST(a_machine_without_a_gpu_says_so) {
  const prem_backend *cuda = prem_backend_find("cuda");
  OWNED(prem_schedule) *schedule =
      checked_schedule(increment_file(1000, 1, "", text(SAMPLED, "", "")));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_live *live = NULL;
  prem_machine machine;
  if (cuda && prem_backend_probe(cuda, &machine, NULL) != PREM_OK) {
    ck_assert_int_eq(prem_live_open(cuda, schedule, &live, diag), PREM_ERR_UNAVAILABLE);
    ck_assert_ptr_null(live);
    ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "no GPU here"));
  }
}

/* As a courier does that hears nothing of its host: nobody has called stop. */
TESTS(a_session_that_drains_by_itself_says_so, 2) { /* E4 */
  bench b = increments("kind = \"queuing\";", "kind = \"queuing\";");
  prem_live_state state;
  prem_frame frame;
  prem_live_sleep_until(b.live, 100);
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  assert_shown(&b, 1400, 1, 0);
  ck_assert_int_eq(feed(b.live, b.x, 2, NULL), PREM_OK);
  if (_i == 0)
    prem_word_set_far(&b.live->courier->face->request.value, PREM_COURIER_DRAIN);
  else
    ck_assert_int_eq(prem_live_stop(b.live, true, 1500, NULL), PREM_ERR_TIMEOUT);
  assert_shown(&b, 2400, 2, 0); /* what was there is worked off */
  ck_assert_int_eq(prem_live_wait(b.live, b.y, 99999, &frame, NULL), PREM_ERR_ENDED);
  ck_assert_int_eq(prem_live_stop(b.live, _i, 99999, NULL), PREM_OK); /* it is over by now */
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.end, _i == 0 ? PREM_LIVE_SILENT : PREM_LIVE_STOPPED);
  close_bench(&b);
}

TEST(sessions_leave_nothing_behind) { /* E32 */
  prem_schedule *schedule = checked_schedule(increment_file(1000, 1, "", text(SAMPLED, "", "")));
  assert_nothing_stays("sim", schedule, 1000, NULL);
  prem_schedule_free(schedule);
}
