/* SPDX-License-Identifier: Apache-2.0 */
/** As live_triggered.h, with samples beside the frames: each frame is worked with the newest sample
 * that was sent before it, whether it was held ahead or not. */
#ifndef TTPREM_TESTS_COMMON_LIVE_TRIGGERED_SAMPLES_H
#define TTPREM_TESTS_COMMON_LIVE_TRIGGERED_SAMPLES_H

#include "tests/common/live_threads.h"

typedef struct sampled_kind {
  const char *trigger, *sample; /* settings of the ports */
  const char *task;             /* and of the tasks, */
  bool is_first;                /* the sample, among the inputs: results bear its number */
} sampled_kind;

static const sampled_kind sampled_kinds[] = {
    {"", "buffers = 3;", "", true},
    {"lead_ns = 2000L;", "buffers = 4; lead_ns = 3000L;", "", false},
    {"", "buffers = 3; max_age_ns = 60000000000L;", "", true},
    {"", "buffers = 3;", "release_ns = 1000L;", true},
    {"lead_ns = 2000L;", "buffers = 3;", "", false},
};
enum { SAMPLED_KINDS = sizeof sampled_kinds / sizeof *sampled_kinds, SAMPLED_NS = 400000 };

/* y and z are made of both, w of the sample alone. */
static prem_schedule *sampled_schedule(const sampled_kind *kind, int64_t period_ns) {
  const char *phases = text("period_ns = %lldL; prefetch: { wcet_ns = 9000L; };"
                            " compute: { wcet_ns = 9000L; }; writeback: { wcet_ns = 9000L; }; %s",
                            (long long)period_ns, kind->task);
  const char *sample = text("{ array = \"p\"; kind = \"sampling\"; %s }", kind->sample);
  const char *trigger =
      text("{ array = \"x\"; kind = \"trigger\"; buffers = 4; %s }", kind->trigger);
  return prepared_schedule(
      text("version = 1; name = \"sampled\"; platform: { blocks = 2; block_threads = 256;"
           "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 24 ]; },"
           "  { name = \"p\"; type = \"f32\"; shape = [ 24 ]; },"
           "  { name = \"y\"; type = \"f32\"; shape = [ 24 ]; },"
           "  { name = \"z\"; type = \"f32\"; shape = [ 24 ]; },"
           "  { name = \"w\"; type = \"f32\"; shape = [ 24 ]; } );"
           "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = [ 0, 1 ]; tile = [ 12 ];"
           "    arrays: { a = \"x\"; b = \"p\"; out = \"y\"; }; %s },"
           "  { name = \"b\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 24 ];"
           "    arrays: { a = \"p\"; b = \"x\"; out = \"z\"; }; %s },"
           "  { name = \"c\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 24 ];"
           "    arrays: { in = \"p\"; out = \"w\"; }; %s } );"
           "live: { inputs = ( %s, %s );"
           "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 4; },"
           "    { array = \"z\"; kind = \"queuing\"; buffers = 4; },"
           "    { array = \"w\"; kind = \"queuing\"; buffers = 4; } ); };",
           phases, phases, phases, kind->is_first ? sample : trigger,
           kind->is_first ? trigger : sample));
}

typedef struct sampled_run {
  bench b;
  const sampled_kind *kind;
  int32_t p, z, w;
  uint32_t dice;
  prem_frame sample; /* the newest */
  float value;       /* of it */
  uint64_t frames, samples, taken, shown, later;
  int64_t sent_ns; /* the last frame */
  bool is_new;     /* no frame was worked with it */
} sampled_run;

static uint32_t sampled_throw(sampled_run *of, uint32_t sides) {
  of->dice = of->dice * 1664525 + 1013904223;
  return (of->dice >> 16) % sides;
}

static void sampled_pause(const sampled_run *of) {
  prem_live_sleep_until(of->b.live, prem_live_now_ns(of->b.live) + (IS_EMULATED ? 3 : 1) * MS);
}

static void sample_send(sampled_run *of) {
  of->value = (float)(of->samples++ * 2 + 50);
  of->is_new = true;
  ck_assert_int_eq(feed_until(of->b.live, of->p, of->value, in_ms(&of->b, 60000), &of->sample),
                   PREM_OK);
}

/* What is expected of a result's own frame, which is made of `inputs`, in their order. */
static void sampled_fetch(sampled_run *of, int32_t stream, float value,
                          const prem_frame_input *inputs, int32_t count, uint32_t flags) {
  prem_frame frame = {0};
  ck_assert_int_eq(prem_live_wait(of->b.live, stream, in_ms(&of->b, 60000), &frame, NULL), PREM_OK);
  ck_assert_float_eq(frame_value(&frame), value);
  ck_assert_uint_eq(frame.number, of->shown);
  ck_assert_uint_eq(frame.input, inputs[0].number);
  ck_assert_int_eq(frame.captured_ns, count == 1 || inputs[0].captured_ns < inputs[1].captured_ns
                                          ? inputs[0].captured_ns
                                          : inputs[1].captured_ns);
  ck_assert_uint_eq(frame.flags & ~(uint32_t)PREM_FRAME_LATE, flags);
  assert_inputs(of->b.live, &frame, inputs, count);
  ck_assert_int_eq(prem_live_release(of->b.live, &frame, NULL), PREM_OK);
}

/* A frame and its results. If there is time until then, a sample behind the frame that comes before
 * `begin_ns`, when its hyperperiod begins. */
static void sampled_turn(sampled_run *of, int64_t begin_ns) {
  const float x = (float)(of->frames * 4 + 6);
  prem_frame frame = {0};
  ck_assert_int_eq(feed_until(of->b.live, of->b.x, x, in_ms(&of->b, 60000), &frame), PREM_OK);
  of->sent_ns = prem_live_now_ns(of->b.live);
  if (of->sent_ns < begin_ns)
    sampled_pause(of); /* the frame has been seen */
  if (prem_live_now_ns(of->b.live) < begin_ns) {
    sample_send(of);
    ++of->later;
  }
  const float p = of->value;
  const prem_frame_input sample = {of->p, of->sample.number, of->sample.captured_ns};
  const prem_frame_input trigger = {of->b.x, frame.number, frame.captured_ns};
  const prem_frame_input both[2] = {of->kind->is_first ? sample : trigger,
                                    of->kind->is_first ? trigger : sample};
  sampled_fetch(of, of->b.y, fmaf(0.5F, p - x, x), both, 2, 0);
  sampled_fetch(of, of->z, fmaf(0.5F, x - p, p), both, 2, 0);
  sampled_fetch(of, of->w, p + 1, &sample, 1, of->is_new ? 0 : PREM_FRAME_REPEATED);
  ++of->frames;
  ++of->shown;
  of->taken += of->is_new;
  of->is_new = false;
}

static sampled_run sampled_start(const sampled_kind *kind, int64_t period_ns, uint32_t seed,
                                 prem_mode mode) {
  sampled_run of = {.kind = kind, .dice = seed * 2654435761U + 1};
  of.b.schedule = sampled_schedule(kind, period_ns);
  of.b.live = open_live_on(LIVE_BACKEND, of.b.schedule);
  of.b.x = prem_live_find(of.b.live, "x");
  of.b.y = prem_live_find(of.b.live, "y");
  of.p = prem_live_find(of.b.live, "p");
  of.z = prem_live_find(of.b.live, "z");
  of.w = prem_live_find(of.b.live, "w");
  start_live(of.b.live, &(prem_live_request){.mode = mode});
  return of;
}

/* Drained; @return results that the keeper has shown. */
static uint64_t sampled_end(sampled_run *of) {
  prem_live_counts x, p, w;
  ck_assert_int_eq(prem_live_stop(of->b.live, true, in_ms(&of->b, 60000), NULL), PREM_OK);
  prem_live_count(of->b.live, of->b.x, &x);
  prem_live_count(of->b.live, of->p, &p);
  prem_live_count(of->b.live, of->w, &w);
  const uint64_t shown = prem_live_count_by_keeper(of->b.live);
  ck_assert_uint_eq(x.taken, of->frames);
  ck_assert_uint_eq(p.frames, of->samples);
  ck_assert_uint_eq(p.taken, of->taken);
  ck_assert_uint_eq(p.repeated, of->shown - of->taken);
  ck_assert_uint_eq(w.repeated, of->shown - of->taken);
  ck_assert_uint_eq(p.missing, of->frames - of->shown);
  close_bench(&of->b);
  return shown;
}

/* A sample now and then, frames one at a time. */
START_TEST(a_frame_is_begun_with_the_sample_that_there_is) {
  enum { SAMPLED_TURNS = IS_EMULATED ? 8 : 300 };
  const sampled_kind *kind = &sampled_kinds[_i];
  sampled_run of = sampled_start(kind, SAMPLED_NS, 1, PREM_MODE_TT);
  for (int i = 0; i < SAMPLED_TURNS; ++i) {
    if (i % 5 == 0)
      sample_send(&of);
    sampled_pause(&of);
    sampled_turn(&of, 0);
  }
  ck_assert_uint_gt(sampled_end(&of), AT_LEAST_HALF(SAMPLED_TURNS) * 3); /* y, z and w */
}
END_TEST

/* No sample at first; then several in a row, right before a frame or long before it, or none. */
START_TEST(each_frame_has_the_newest_sample_before_it) {
  enum { SAMPLED_TURNS = IS_EMULATED ? 10 : 1000 };
  const sampled_kind *kind = &sampled_kinds[_i % SAMPLED_KINDS];
  sampled_run of =
      sampled_start(kind, SAMPLED_NS, (uint32_t)_i, _i & 1 ? PREM_MODE_FREE : PREM_MODE_TT);
  const uint64_t before = sampled_throw(&of, 3);
  prem_live_counts y = {0};
  for (; of.frames < before; ++of.frames)
    ck_assert_int_eq(feed_until(of.b.live, of.b.x, 1, in_ms(&of.b, 60000), NULL), PREM_OK);
  while (y.missing < before) {
    sampled_pause(&of);
    prem_live_count(of.b.live, of.b.y, &y);
  }
  for (int i = 0; i < SAMPLED_TURNS; ++i) {
    for (uint32_t more = i == 0 ? 1 : sampled_throw(&of, 3); more > 0; --more)
      sample_send(&of);
    if (sampled_throw(&of, 3) == 0)
      sampled_pause(&of);
    sampled_turn(&of, 0);
  }
  sampled_end(&of);
}
END_TEST

/* Frames that come before a period is over: their hyperperiods begin at its end, with the sample
 * that there is by then. What was prepared has an older one. */
START_TEST(a_sample_is_taken_when_the_hyperperiod_begins) {
  enum { SAMPLED_TURNS = IS_EMULATED ? 4 : 100 };
  const int64_t period_ns = (IS_EMULATED ? 600 : 10) * MS;
  sampled_run of = sampled_start(&sampled_kinds[_i], period_ns, 1, PREM_MODE_TT);
  sample_send(&of);
  for (int i = 0; i < SAMPLED_TURNS; ++i) {
    sampled_pause(&of);
    sampled_turn(&of, i == 0 ? 0 : of.sent_ns + period_ns * 3 / 4);
  }
  sampled_end(&of);
  ck_assert_uint_gt(of.later, 0);
}
END_TEST

#endif
