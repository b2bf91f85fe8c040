/* SPDX-License-Identifier: Apache-2.0 */
/** Live sessions on a GPU whose hyperperiods are begun by frames: nothing lost, twice, torn or with
 *  what belongs to another frame, whoever begins them and shows their results. */
#ifndef TTPREM_TESTS_COMMON_LIVE_AHEAD_H
#define TTPREM_TESTS_COMMON_LIVE_AHEAD_H

#include "tests/common/live_threads.h"

/* What a session is made of. */
typedef struct ahead_kind {
  const char *shape, *tile; /* of all arrays */
  int outputs;
  const char *input, *output; /* settings of the ports */
  bool is_begun, is_shown;    /* by listener and keeper, where nothing speaks against it */
} ahead_kind;

static const ahead_kind ahead_kinds[] = {
    {"8", "8", 1, "", "kind = \"queuing\";", true, true},
    {"3", "3", 1, "", "", true, true}, /* samples, and a piece that is not whole */
    {"1153", "512", 2, "buffers = 2;", "kind = \"queuing\"; buffers = 2;", false, false},
    {"512", "256", 3, "buffers = 4;", "kind = \"queuing\"; buffers = 4;", true, true},
    {"8", "8", 6, "", "kind = \"queuing\"; buffers = 3;", true, true}, /* some by the decider */
    {"8", "8", 1, "buffers = 1;", "kind = \"queuing\"; buffers = 1;", true, true},
    {"8", "8", 1, "", "kind = \"queuing\"; publish_ns = 150000L;", true, false},
};
enum { AHEAD_KINDS = sizeof ahead_kinds / sizeof *ahead_kinds, MOST_OUTPUTS = 6 };

static prem_schedule *ahead_schedule(const ahead_kind *kind) {
  char arrays[1024] = "", tasks[4096] = "", outputs[1024] = "";
  for (int o = 0; o < kind->outputs; ++o) {
    strcat(arrays, text(", { name = \"y%d\"; type = \"f32\"; shape = [ %s ]; }", o, kind->shape));
    strcat(tasks,
           text("%s { name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d ];"
                "  tile = [ %s ]; period_ns = 200000L; arrays: { in = \"x\"; out = \"y%d\"; };"
                "  prefetch: { wcet_ns = 5000L; }; compute: { wcet_ns = 5000L; };"
                "  writeback: { wcet_ns = 5000L; }; }",
                o ? "," : "", o, o % 2, kind->tile, o));
    strcat(outputs, text("%s { array = \"y%d\"; %s }", o ? "," : "", o, kind->output));
  }
  return prepared_schedule(
      text("version = 1; name = \"ahead\"; platform: { blocks = 2; block_threads = 256;"
           "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %s ]; } %s ); tasks = ( %s );"
           "live: { inputs = ( { array = \"x\"; kind = \"trigger\"; %s } ); outputs = ( %s );"
           "  operating_modes = ( { name = \"one\"; }, { name = \"two\"; } ); };",
           kind->shape, arrays, tasks, kind->input, outputs));
}

/* A session, and what is expected of its next results. */
typedef struct ahead_run {
  bench b;
  const ahead_kind *kind;
  uint32_t dice;
  int mode;
  float increment[MOST_OUTPUTS];
  struct {
    float value;
    int mode;
    int64_t captured_ns;
    float increment[MOST_OUTPUTS];
  } sent[16]; /* [frame % 16] */
  uint64_t frames, fetched;
} ahead_run;

static uint32_t ahead_throw(ahead_run *of, uint32_t sides) {
  of->dice = of->dice * 1664525 + 1013904223;
  return (of->dice >> 16) % sides;
}

static ahead_run ahead_start(const ahead_kind *kind, uint32_t seed,
                             const prem_live_request *request) {
  ahead_run of = {.kind = kind, .dice = seed * 2654435761U + 1};
  of.b.schedule = ahead_schedule(kind);
  of.b.live = open_live_on(LIVE_BACKEND, of.b.schedule);
  of.b.x = prem_live_find(of.b.live, "x");
  of.b.y = prem_live_find(of.b.live, "y0");
  for (int o = 0; o < kind->outputs; ++o)
    of.increment[o] = 1;
  start_live(of.b.live, request);
  return of;
}

/* Rest: the courier has prepared what it can. */
static void ahead_pause(const ahead_run *of) {
  prem_live_sleep_until(of->b.live, prem_live_now_ns(of->b.live) + (IS_EMULATED ? 3 : 1) * MS);
}

/* What is wished and set before a frame is what its hyperperiod has. */
static void ahead_change(ahead_run *of) {
  const double by = (double)ahead_throw(of, 100);
  const int32_t task = (int32_t)ahead_throw(of, (uint32_t)of->kind->outputs);
  prem_status status;
  if (ahead_throw(of, 2)) {
    of->mode = (int)ahead_throw(of, 2);
    ck_assert_int_eq(prem_live_switch(of->b.live, of->mode, NULL), PREM_OK);
  }
  if (ahead_throw(of, 2)) {
    ck_assert_int_eq(prem_live_set(of->b.live, task, "increment", &by, 1, NULL), PREM_OK);
    while ((status = prem_live_apply(of->b.live, NULL)) == PREM_ERR_FULL)
      ahead_pause(of);
    ck_assert_int_eq(status, PREM_OK);
    of->increment[task] = (float)by;
  }
}

static void ahead_submit(ahead_run *of, prem_frame *frame) {
  const uint64_t number = of->frames++;
  fill_frame(frame, (float)(number * 3 + 7));
  of->sent[number % 16].value = (float)(number * 3 + 7);
  of->sent[number % 16].mode = of->mode;
  memcpy(of->sent[number % 16].increment, of->increment, sizeof of->increment);
  ck_assert_int_eq(prem_live_submit(of->b.live, frame, NULL), PREM_OK);
  of->sent[number % 16].captured_ns = frame->captured_ns;
  ck_assert_uint_eq(frame->number, number);
}

static void ahead_acquire(const ahead_run *of, prem_frame *out) {
  ck_assert_int_eq(prem_live_acquire(of->b.live, of->b.x, in_ms(&of->b, 60000), out, NULL),
                   PREM_OK);
}

/* The results of the next frame, each with what belongs to that frame alone. Given back unless
 * `kept` is there. */
static void ahead_fetch(ahead_run *of, prem_frame *kept) {
  const uint64_t number = of->fetched++;
  for (int o = 0; o < of->kind->outputs; ++o) {
    prem_frame frame;
    ck_assert_int_eq(prem_live_wait(of->b.live, of->b.y + o, in_ms(&of->b, 60000), &frame, NULL),
                     PREM_OK);
    ck_assert_float_eq(frame_value(&frame),
                       of->sent[number % 16].value + of->sent[number % 16].increment[o]);
    ck_assert_uint_eq(frame.number, number);
    ck_assert_uint_eq(frame.input, number);
    ck_assert_int_eq(frame.job, (int64_t)number);
    ck_assert_int_eq(frame.operating_mode, of->sent[number % 16].mode);
    ck_assert_int_eq(frame.captured_ns, of->sent[number % 16].captured_ns);
    ck_assert_uint_eq(frame.flags & ~(uint32_t)PREM_FRAME_LATE, 0);
    if (kept && o == 0)
      *kept = frame;
    else
      ck_assert_int_eq(prem_live_release(of->b.live, &frame, NULL), PREM_OK);
  }
}

/* Drained: all frames were used, all results are shown. */
static void ahead_end(ahead_run *of, uint32_t *begun, uint32_t *shown) {
  prem_live_counts x, y;
  prem_frame frame;
  while (of->fetched < of->frames)
    ahead_fetch(of, NULL);
  ck_assert_int_eq(prem_live_stop(of->b.live, true, in_ms(&of->b, 60000), NULL), PREM_OK);
  ck_assert_int_eq(prem_live_wait(of->b.live, of->b.y, in_ms(&of->b, 60000), &frame, NULL),
                   PREM_ERR_ENDED);
  prem_live_count(of->b.live, of->b.x, &x);
  prem_live_count(of->b.live, of->b.y, &y);
  ck_assert_uint_eq(x.taken, of->frames);
  ck_assert_uint_eq(y.frames, of->frames);
  *shown = prem_live_count_ahead(of->b.live, begun);
  close_bench(&of->b);
}

/* One frame at a time, with time between: it is begun by the listener and shown by the keeper. */
START_TEST(a_frame_that_was_waited_for_is_not_decided) {
  enum { WAITED = IS_EMULATED ? 12 : 300 };
  const ahead_kind *kind = &ahead_kinds[_i];
  ahead_run of = ahead_start(kind, 1, &(prem_live_request){.mode = PREM_MODE_TT});
  uint32_t begun, shown;
  for (int i = 0; i < WAITED; ++i) {
    prem_frame frame;
    ahead_acquire(&of, &frame);
    ahead_submit(&of, &frame);
    ahead_fetch(&of, NULL);
    ahead_pause(&of);
  }
  ahead_end(&of, &begun, &shown);
  ck_assert(kind->is_begun ? begun > AHEAD_AT_LEAST(WAITED) : begun == 0);
  ck_assert(kind->is_shown ? shown > AHEAD_AT_LEAST(WAITED) : shown == 0);
}
END_TEST

/* Anything in any order: wishes and arguments right before a frame, buffers out of turn or given
 * back, several frames in a row, results that are held. */
START_TEST(frames_in_any_order_have_what_belongs_to_them) {
  enum { TRIED = IS_EMULATED ? 12 : 600 };
  const ahead_kind *kind = &ahead_kinds[_i % AHEAD_KINDS];
  ahead_run of =
      ahead_start(kind, (uint32_t)_i, &(prem_live_request){.mode = PREM_MODE_TT, .events = _i % 2});
  uint32_t begun, shown;
  for (int i = 0; i < TRIED; ++i) {
    prem_frame frames[2], kept = {0};
    const bool is_queue = strstr(kind->output, "queuing") != NULL;
    const bool has_one = strstr(kind->output, "buffers = 1;") != NULL;
    const bool has_two = is_queue && !has_one && ahead_throw(&of, 4) == 0;
    const bool is_held = !has_one && ahead_throw(&of, 6) == 0;
    if (ahead_throw(&of, 3) == 0)
      ahead_change(&of);
    ahead_acquire(&of, &frames[0]);
    if (has_two) {
      ahead_acquire(&of, &frames[1]);
      ahead_submit(&of, &frames[1]);
      if (ahead_throw(&of, 2)) /* given back, out of turn */
        ck_assert_int_eq(prem_live_release(of.b.live, &frames[0], NULL), PREM_OK);
      else
        ahead_submit(&of, &frames[0]);
    } else {
      ahead_submit(&of, &frames[0]);
    }
    ahead_fetch(&of, is_held ? &kept : NULL);
    while (of.fetched < of.frames)
      ahead_fetch(&of, NULL);
    if (is_held)
      ck_assert_int_eq(prem_live_release(of.b.live, &kept, NULL), PREM_OK);
    if (ahead_throw(&of, 3) == 0)
      ahead_pause(&of);
  }
  ahead_end(&of, &begun, &shown);
}
END_TEST

/* Never in the slot that was expected: what was prepared is always taken back, and of its tickets
 * nothing is left for a block that begins. */
START_TEST(a_frame_in_another_slot_is_found_there) {
  enum { ELSEWHERE = IS_EMULATED ? 12 : 600 };
  static const ahead_kind kind = {"8",  "8", 1, "buffers = 4;", "kind = \"queuing\"; buffers = 3;",
                                  true, true};
  ahead_run of = ahead_start(&kind, 3, &(prem_live_request){.mode = PREM_MODE_FREE});
  uint32_t begun, shown;
  for (int i = 0; i < ELSEWHERE; ++i) {
    prem_frame frames[2];
    ahead_acquire(&of, &frames[0]);
    ahead_acquire(&of, &frames[1]);
    ahead_submit(&of, &frames[1]);
    ck_assert_int_eq(prem_live_release(of.b.live, &frames[0], NULL), PREM_OK);
    ahead_fetch(&of, NULL);
    ahead_pause(&of);
  }
  ahead_end(&of, &begun, &shown);
  ck_assert_uint_eq(begun, 0);
}
END_TEST

/* A moving average in a state array of `versions`, and what is made of it. */
static const char *ahead_average(int versions) {
  const char *const phases = "prefetch: { wcet_ns = 9000L; }; compute: { wcet_ns = 9000L; };"
                             " writeback: { wcet_ns = 9000L; };";
  return text(
      "version = 1; name = \"average\"; platform: { blocks = 2; block_threads = 256;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 1, 1, 40 ]; },"
      "  { name = \"model\"; type = \"f32\"; shape = [ 1, 1, 40 ]; versions = %d; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 1, 1, 40 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = [ 0, 1 ]; tile = [ 1, 1, 20 ];"
      "    period_ns = 200000L; args: { rate = 0.3; };"
      "    arrays: { a = \"model\"; b = \"x\"; out = \"model\"; }; %s },"
      "  { name = \"b\"; kernel = \"blend\"; blocks = [ 0, 1 ]; tile = [ 1, 1, 40 ];"
      "    period_ns = 200000L; args: { rate = 1.0; };"
      "    arrays: { a = \"x\"; b = \"model\"; out = \"y\"; }; %s"
      "    after = ( { task = \"a\"; } ); } );"
      "live: { inputs = ( { array = \"x\"; kind = \"trigger\"; } );"
      "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };",
      versions, phases, phases);
}

/* Each frame finds what the one before it has left. */
START_TEST(state_goes_on_from_frame_to_frame) {
  bench b = {.schedule = prepared_schedule(ahead_average(2 + _i))};
  b.live = open_live_on(LIVE_BACKEND, b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  float model = 0;
  uint32_t begun;
  for (int i = 0; i < STATES; ++i) {
    const float x = (float)(i * 7 % 23) - 11;
    float y;
    ck_assert_int_eq(feed_until(b.live, b.x, x, in_ms(&b, 60000), NULL), PREM_OK);
    ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &y, NULL), PREM_OK);
    model = fmaf(0.3F, x - model, model);
    ck_assert_float_eq(y, fmaf(1.0F, model - x, x));
    prem_live_sleep_until(b.live, prem_live_now_ns(b.live) + (IS_EMULATED ? 3 : 1) * MS);
  }
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  ck_assert_uint_gt(prem_live_count_ahead(b.live, &begun), AHEAD_AT_LEAST(STATES));
  ck_assert_uint_gt(begun, AHEAD_AT_LEAST(STATES));
  close_bench(&b);
}
END_TEST

/* What is found of results that may be missing or repeated: each is of a frame that was sent, and
 * of no older one than those before. @return how many were of a new frame. */
static uint64_t ahead_fetch_what_comes(ahead_run *of) {
  uint64_t next = of->fetched, count = 0;
  prem_frame frame;
  prem_status status;
  while ((status = prem_live_wait(of->b.live, of->b.y, in_ms(&of->b, 60000), &frame, NULL)) ==
         PREM_OK) {
    const bool is_repeated = (frame.flags & PREM_FRAME_REPEATED) != 0;
    ck_assert_uint_lt(frame.input, of->frames);
    ck_assert_uint_ge(frame.input + is_repeated, next);
    ck_assert_float_eq(frame_value(&frame), of->sent[frame.input % 16].value + 1);
    ck_assert_int_eq(frame.captured_ns, of->sent[frame.input % 16].captured_ns);
    next = frame.input + 1;
    count += !is_repeated;
    ck_assert_int_eq(prem_live_release(of->b.live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(status, PREM_ERR_ENDED);
  return count;
}

/* Frames right before the end are used, and their results shown. */
START_TEST(frames_before_the_end_are_used) {
  enum { ENDED = IS_EMULATED ? 12 : 100 };
  static const ahead_kind kind = {"8",  "8", 1, "buffers = 4;", "kind = \"queuing\"; buffers = 4;",
                                  true, true};
  for (uint32_t i = 0; i < ENDED; ++i) {
    ahead_run of = ahead_start(&kind, i, &(prem_live_request){.mode = PREM_MODE_TT});
    const uint32_t before = ahead_throw(&of, 3), last = ahead_throw(&of, 4);
    prem_frame frame;
    for (uint32_t f = 0; f < before; ++f) {
      ahead_acquire(&of, &frame);
      ahead_submit(&of, &frame);
      ahead_fetch(&of, NULL);
      ahead_pause(&of);
    }
    for (uint32_t f = 0; f < last; ++f) {
      ahead_acquire(&of, &frame);
      ahead_submit(&of, &frame);
    }
    ck_assert_int_eq(prem_live_stop(of.b.live, true, in_ms(&of.b, 60000), NULL), PREM_OK);
    ck_assert_uint_eq(ahead_fetch_what_comes(&of), last);
    close_bench(&of.b);
  }
}
END_TEST

/* Nobody waits for a block that has no work, so it may be slow. */
START_TEST(a_block_without_work_holds_nothing_up) {
  enum { EVENTS = 100 };
  uint32_t begun, shown;
  setenv("TTPREM_EMULATED_SLOW", "1", 1);
  ahead_run of = ahead_start(&ahead_kinds[0], 1, &(prem_live_request){.mode = PREM_MODE_TT});
  for (uint32_t i = 0; i < EVENTS; ++i) {
    prem_frame frame;
    ahead_acquire(&of, &frame);
    ahead_submit(&of, &frame);
    ahead_fetch(&of, NULL);
  }
  ahead_end(&of, &begun, &shown);
  unsetenv("TTPREM_EMULATED_SLOW");
}
END_TEST

/* Hyperperiods begin without a frame where none comes in time: as a frame does, between two of
 * them, or at the same moment. */
START_TEST(hyperperiods_without_a_frame_lose_none) {
  enum { TIMED = IS_EMULATED ? 12 : 400, TIMEOUT_NS = IS_EMULATED ? 2 * MS : MS };
  const ahead_kind kind = {"8",
                           "8",
                           1,
                           _i ? "missing = \"repeat\";" : "missing = \"skip\";",
                           "kind = \"queuing\"; buffers = 8;",
                           true,
                           true};
  ahead_run of =
      ahead_start(&kind, (uint32_t)_i,
                  &(prem_live_request){.mode = PREM_MODE_TT, .submit_timeout_ns = TIMEOUT_NS});
  uint64_t fresh = 0;
  uint32_t begun;
  for (int i = 0; i < TIMED; ++i) {
    prem_frame frame;
    ahead_acquire(&of, &frame);
    ahead_submit(&of, &frame);
    for (bool is_there = false; !is_there;) { /* and what is repeated meanwhile */
      ck_assert_int_eq(prem_live_wait(of.b.live, of.b.y, in_ms(&of.b, 60000), &frame, NULL),
                       PREM_OK);
      const bool is_repeated = (frame.flags & PREM_FRAME_REPEATED) != 0;
      is_there = frame.input + 1 == of.frames;
      ck_assert_uint_ge(frame.input + 2, of.frames);
      ck_assert_int_eq(is_repeated, !is_there);
      ck_assert_float_eq(frame_value(&frame), of.sent[frame.input % 16].value + 1);
      fresh += !is_repeated;
      ck_assert_int_eq(prem_live_release(of.b.live, &frame, NULL), PREM_OK);
    }
    if (ahead_throw(&of, 2)) /* about as long as there is time for a frame */
      prem_live_sleep_until(of.b.live, prem_live_now_ns(of.b.live) + TIMEOUT_NS / 2 +
                                           (int64_t)ahead_throw(&of, TIMEOUT_NS));
  }
  of.fetched = of.frames - 1;
  ck_assert_int_eq(prem_live_stop(of.b.live, true, in_ms(&of.b, 60000), NULL), PREM_OK);
  ck_assert_uint_eq(ahead_fetch_what_comes(&of), 0);
  prem_live_count_ahead(of.b.live, &begun);
  ck_assert_uint_eq(fresh, of.frames);
  if (!IS_EMULATED) /* there it may be that none was begun in time */
    ck_assert_uint_gt(begun, 0);
  close_bench(&of.b);
}
END_TEST

/* The host keeps all results that there is room for: nothing can be prepared, and what comes then
 * is dropped. When it gives one back it goes on. */
START_TEST(results_that_are_kept_stop_nothing) {
  enum { KEPT = 2, ROUNDS_KEPT = IS_EMULATED ? 4 : 60 };
  static const ahead_kind kind = {"8",  "8", 1, "buffers = 4;", "kind = \"queuing\"; buffers = 2;",
                                  true, true};
  ahead_run of = ahead_start(&kind, 5, &(prem_live_request){.mode = PREM_MODE_TT});
  prem_live_counts y;
  uint64_t taken = 0, dropped = 0;
  for (int i = 0; i < ROUNDS_KEPT; ++i) {
    prem_frame kept[KEPT], frame;
    for (int k = 0; k < KEPT; ++k) {
      ahead_acquire(&of, &frame);
      ahead_submit(&of, &frame);
      ck_assert_int_eq(prem_live_wait(of.b.live, of.b.y, in_ms(&of.b, 60000), &kept[k], NULL),
                       PREM_OK);
      ck_assert_uint_eq(kept[k].input, of.frames - 1);
      ck_assert_uint_eq(kept[k].number, taken++);
    }
    for (uint32_t lost = ahead_throw(&of, 3); lost > 0; --lost) {
      ahead_acquire(&of, &frame);
      ahead_submit(&of, &frame);
      ++dropped;
    }
    do { /* told a little later */
      ahead_pause(&of);
      prem_live_count(of.b.live, of.b.y, &y);
    } while (y.dropped < dropped);
    for (int k = 0; k < KEPT; ++k) {
      ck_assert_float_eq(frame_value(&kept[k]), of.sent[kept[k].input % 16].value + 1);
      ck_assert_int_eq(prem_live_release(of.b.live, &kept[k], NULL), PREM_OK);
    }
  }
  ck_assert_uint_eq(y.dropped, dropped);
  ck_assert_int_eq(prem_live_stop(of.b.live, true, in_ms(&of.b, 60000), NULL), PREM_OK);
  close_bench(&of.b);
}
END_TEST

#endif
