/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions of several tasks and many tiles: who sees which frame, what is skipped with what,
 * data to the last bit, numbers that wrap, overload by arithmetic. */
/* ctest: threads timing */
#include "tests/common/live.h"
#include "tests/common/suite.h"

#include "runtime/core/arrays.h"
#include "runtime/core/courier.h"
#include "runtime/core/program.h"

/* ---- data ----------------------------------------------------------------------------------- */

static void copy_frame(const prem_frame *frame, const prem_storage *from) {
  memcpy(frame->data, from->base, (size_t)(from->pitch_bytes * from->row_count));
}

static bool is_equal(const prem_frame *frame, const prem_storage *to) {
  for (int64_t row = 0; row < to->row_count; ++row)
    if (memcmp((char *)frame->data + row * to->pitch_bytes, to->base + row * to->pitch_bytes,
               (size_t)(to->shape[3] * to->element_bytes)) != 0)
      return false;
  return true;
}

/* Frames of 0, of the picture, of the picture times 0 and so on, through three slots: a halo that
 * reached into the slot beside would be seen. */
static const char *halo_file =
    "version = 1; name = \"halo\"; platform: { blocks = 2; buffers = 2; scratch_bytes = 65536L;"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 37, 41 ]; fill = \"random\"; seed = 3; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 37, 41 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"conv2d_7x7\"; blocks = 2; tile = [ 5, 41 ];"
    "    period_ns = 4000000L; arrays: { in = \"x\"; out = \"y\"; };"
    "    prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; };"
    "    writeback: { wcet_ns = 20000L; }; } );"
    "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; buffers = 3; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 3; } ); };";

static const char *const backends[] = {"sim", "cpu"};

TESTS(halos_stay_in_their_slot, 2) { /* E34 */
  prem_schedule *schedule = prepared_schedule(halo_file);
  prem_arrays *reference = NULL;
  ck_assert_int_eq(prem_arrays_new(schedule, &reference, NULL), PREM_OK);
  prem_live *live = open_live_on(backends[_i], schedule);
  start_live(live, &(prem_live_request){0});
  for (int i = 0; i < 12; ++i) {
    const int64_t until_ns = prem_live_now_ns(live) + INT64_C(60000000000);
    prem_frame frame;
    ck_assert_int_eq(prem_live_acquire(live, 0, until_ns, &frame, NULL), PREM_OK);
    if (i % 2)
      copy_frame(&frame, &reference->storage[0]);
    else
      fill_frame(&frame, 0);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    if (i < 2)
      continue; /* three slots are in use from here on */
    ck_assert_int_eq(prem_live_wait(live, 1, until_ns, &frame, NULL), PREM_OK);
    if (i % 2)
      ck_assert(is_equal(&frame, &reference->reference[1]));
    else
      ck_assert_float_eq(frame_value(&frame), 0);
    ck_assert_uint_eq(frame.input % 2, (uint64_t)i % 2);
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  }
  prem_live_close(live);
  prem_arrays_free(reference);
  prem_schedule_free(schedule);
}

/* `c` meets what `b` reads before what `a` reads; the file has the input of `a` first. */
#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 100L; }; writeback: { wcet_ns = 100L; }; "
static const char *two_inputs_file =
    "version = 1; name = \"two\"; platform: { blocks = 1; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; }, { name = \"y\"; type = \"f32\"; shape = [ "
    "8 ]; } );"
    "tasks = ( { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 10000L; arrays: { in = \"z\"; out = \"new\"; }; " PHASES "},"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 10000L; arrays: { in = \"x\"; out = \"new\"; }; " PHASES "},"
    "  { name = \"c\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ]; period_ns = 10000L;"
    "    arrays: { a = \"b.out\"; b = \"a.out\"; out = \"y\"; }; " PHASES
    "    after = ( { task = \"b\"; }, { task = \"a\"; } ); } );"
    "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; }, { array = \"z\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; } ); };";

static void submit_value(prem_live *live, int32_t stream, float value) {
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(live, stream, 0, &frame, NULL), PREM_OK);
  fill_frame(&frame, value);
  ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
}

TEST(a_result_has_the_number_of_its_first_input) {
  OWNED(prem_schedule) *schedule = prepared_schedule(two_inputs_file);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  submit_value(live, prem_live_find(live, "z"), 5);
  start_live(live, &(prem_live_request){0});
  for (uint64_t i = 0; i < 5; ++i) {
    prem_frame frame;
    submit_value(live, prem_live_find(live, "x"), (float)i);
    ck_assert_int_eq(prem_live_wait(live, prem_live_find(live, "y"), prem_live_now_ns(live) + 50000,
                                    &frame, NULL),
                     PREM_OK);
    ck_assert_uint_eq(frame.input, i); /* of z it is always frame 0 */
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  }
}

/* A camera, and a calibration that is sent once: the result is as old as the calibration, which
 * says nothing of the camera. */
TEST(a_result_says_the_age_of_each_input) {
  OWNED(prem_schedule) *schedule = prepared_schedule(two_inputs_file);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  const int32_t x = prem_live_find(live, "x"), y = prem_live_find(live, "y"),
                z = prem_live_find(live, "z");
  prem_live_sleep_until(live, 700);
  submit_value(live, z, 5);
  start_live(live, &(prem_live_request){0});
  for (uint64_t i = 0; i < 20; ++i) {
    prem_frame frame, newer = {.stream = y, .buffer = 99};
    prem_frame_input first = {.stream = -1};
    const int64_t now_ns = prem_live_now_ns(live);
    submit_value(live, x, (float)i);
    ck_assert_int_eq(prem_live_wait(live, y, now_ns + 50000, &frame, NULL), PREM_OK);
    ck_assert_int_eq(frame.captured_ns, 700);
    assert_inputs(live, &frame, (prem_frame_input[]){{x, i, now_ns}, {z, 0, 700}}, 2);
    ck_assert_int_eq(prem_live_inputs(live, &frame, NULL, 0), 2);
    ck_assert_int_eq(prem_live_inputs(live, &frame, &first, 1), 2);
    ck_assert_int_eq(first.stream, x);
    ck_assert_int_eq(prem_live_inputs(live, &newer, &first, 1), 0); /* not in hand, */
    newer.stream = x;
    newer.buffer = 0;
    ck_assert_int_eq(prem_live_inputs(live, &newer, &first, 1), 0); /* no output */
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_inputs(live, &frame, &first, 1), 0);
  }
}

/* `c` meets a frame of `x` that `a` read with one that `b` read half a period later, since `d` has
 * two in that time; and `z`, which `c` reads itself. `e` reads what `a` made last, and no input. */
static const char *two_ways_file =
    "version = 1; name = \"ways\"; platform: { blocks = 1; };"
    "arrays = ( { name = \"z\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"u\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"v\"; type = \"f32\"; shape = [ 8 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; } );"
    "tasks = ( { name = \"d\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 5000L; arrays: { in = \"x\"; out = \"u\"; }; " PHASES "},"
    "  { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 10000L; arrays: { in = \"x\"; out = \"new\"; }; " PHASES "},"
    "  { name = \"b\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ]; release_ns = 5000L;"
    "    period_ns = 10000L; arrays: { a = \"x\"; b = \"a.out\"; out = \"new\"; }; " PHASES
    "    after = ( { task = \"a\"; } ); },"
    "  { name = \"c\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ]; release_ns = 5000L;"
    "    period_ns = 10000L; arrays: { a = \"b.out\"; b = \"z\"; out = \"y\"; }; " PHASES
    "    after = ( { task = \"b\"; } ); },"
    "  { name = \"e\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
    "    period_ns = 5000L; arrays: { in = \"a.out\"; out = \"v\"; }; " PHASES
    "    after = ( { task = \"a\"; instance = \"latest\"; } ); } );"
    "live: { inputs = ( { array = \"z\"; }, { array = \"x\"; } );"
    "  outputs = ( { array = \"u\"; }, { array = \"v\"; }, { array = \"y\"; } ); };";

static prem_frame newest_of(prem_live *live, const char *name, int64_t until_ns) {
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(live, prem_live_find(live, name), until_ns, &frame, NULL),
                   PREM_OK);
  return frame;
}

TEST(of_several_frames_of_an_input_the_oldest_is_told) {
  OWNED(prem_schedule) *schedule = prepared_schedule(two_ways_file);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  const int32_t x = prem_live_find(live, "x"), z = prem_live_find(live, "z");
  prem_live_sleep_until(live, 100);
  submit_value(live, z, 1);
  submit_value(live, x, 2);
  start_live(live, &(prem_live_request){.start_ns = 1000});
  prem_live_sleep_until(live, 4000);
  submit_value(live, x, 3);
  prem_live_sleep_until(live, 10900); /* all of the first hyperperiod is shown */
  prem_frame frame = newest_of(live, "y", 0);
  ck_assert_int_eq(frame.job, 0);
  assert_inputs(live, &frame, (prem_frame_input[]){{z, 0, 100}, {x, 0, 100}}, 2);
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  frame = newest_of(live, "u", 0);
  ck_assert_int_eq(frame.job, 1);
  assert_inputs(live, &frame, (prem_frame_input[]){{x, 1, 4000}}, 1);
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  frame = newest_of(live, "v", 0);
  assert_inputs(live, &frame, NULL, 0);
  ck_assert_int_eq(frame.captured_ns, 0);
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
}

static const char *walk_file =
    "version = 1; name = \"walk\"; platform: { blocks = 2; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 1000 ]; fill = \"random\"; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 60 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"walk\"; blocks = 2; tile = [ 10 ]; period_ns = 10000L;"
    "    args: { walkers = 60; steps = 20; }; arrays: { vector = \"x\"; out = \"y\"; };"
    "    compute: { wcet_ns = 1000L; }; } );"
    "live: { inputs = ( { array = \"x\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 1; overflow = \"drop\"; } ); };";

TEST(compatible_intervals_keep_what_is_shown) {
  OWNED(prem_schedule) *schedule = prepared_schedule(walk_file);
  OWNED(prem_arrays) *reference = NULL;
  ck_assert_int_eq(prem_arrays_new(schedule, &reference, NULL), PREM_OK);
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_frame frame, held;
  ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frame, NULL), PREM_OK);
  copy_frame(&frame, &reference->storage[0]);
  ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(prem_live_wait(live, 1, 50000, &held, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_acquire(live, 0, 0, &frame, NULL), PREM_OK);
  fill_frame(&frame, 0);
  ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
  prem_live_sleep_until(live, 75000); /* others are computed and dropped meanwhile */
  ck_assert(is_equal(&held, &reference->reference[1]));
  ck_assert_int_eq(prem_live_release(live, &held, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_wait(live, 1, 99999, &frame, NULL), PREM_OK);
  ck_assert_int_eq(frame.job, 8);
  ck_assert_uint_eq(frame.input, 1);
  prem_live_counts y;
  prem_live_count(live, 1, &y);
  ck_assert_uint_eq(y.dropped, 7);
}

/* ---- who sees what -------------------------------------------------------------------------- */

/* fast and late read x every 1000 ns, slow every 3000; next reads what fast writes. */
static const char *readers_file(const char *input) {
  return text("version = 1; name = \"readers\"; platform: { blocks = 4;"
              "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"mid\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"near\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"far\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"rare\"; type = \"f32\"; shape = [ 8 ]; } );"
              "tasks = ("
              "  { name = \"fast\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
              "    period_ns = 1000L; release_ns = 100L; arrays: { in = \"x\"; out = \"mid\"; };"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
              "    writeback: { wcet_ns = 10L; }; },"
              "  { name = \"next\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
              "    period_ns = 1000L; arrays: { in = \"mid\"; out = \"near\"; };"
              "    after = ( { task = \"fast\"; } );"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
              "    writeback: { wcet_ns = 10L; }; },"
              "  { name = \"late\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 8 ];"
              "    period_ns = 1000L; release_ns = 500L; arrays: { in = \"x\"; out = \"far\"; };"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
              "    writeback: { wcet_ns = 10L; }; },"
              "  { name = \"slow\"; kernel = \"vector_increment\"; blocks = [ 3 ]; tile = [ 8 ];"
              "    period_ns = 3000L; release_ns = 1700L; arrays: { in = \"x\"; out = \"rare\"; };"
              "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
              "    writeback: { wcet_ns = 10L; }; } );"
              "live: { inputs = ( { array = \"x\"; %s } ); outputs = ("
              "  { array = \"near\"; kind = \"queuing\"; buffers = 16; },"
              "  { array = \"far\"; kind = \"queuing\"; buffers = 16; },"
              "  { array = \"rare\"; kind = \"queuing\"; buffers = 16; } ); };",
              input);
}

static void assert_next(prem_live *live, int32_t stream, int64_t job, float value) {
  float found;
  prem_frame frame;
  ck_assert_int_eq(fetch(live, stream, 0, &found, &frame), PREM_OK);
  ck_assert_int_eq(frame.job, job);
  ck_assert_float_eq(found, value);
}

TEST(all_readers_of_a_period_see_one_frame) {
  OWNED(prem_schedule) *schedule = prepared_schedule(readers_file(""));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  start_live(live, &(prem_live_request){0});
  /* chosen at 100, 1100, 2100, ... */
  ck_assert_int_eq(feed(live, 0, 10, NULL), PREM_OK);
  prem_live_sleep_until(live, 300);
  ck_assert_int_eq(feed(live, 0, 20, NULL), PREM_OK); /* late, released at 500, still sees 10 */
  prem_live_sleep_until(live, 1500);
  ck_assert_int_eq(feed(live, 0, 30, NULL), PREM_OK); /* slow, released at 1700, sees 20 */
  prem_live_sleep_until(live, 3000);
  for (int64_t job = 0; job < 3; ++job) {
    assert_next(live, 1, job, (float)(10 * (job + 1) + 2));
    assert_next(live, 2, job, (float)(10 * (job + 1) + 1));
  }
  assert_next(live, 3, 0, 21);
}

TEST(what_is_made_of_a_skipped_job_is_skipped) { /* E22 */
  prem_schedule *schedule = prepared_schedule(readers_file("missing = \"skip\";"));
  prem_live *live = open_live_on("sim", schedule);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(feed(live, 0, 10, NULL), PREM_OK);
  prem_live_sleep_until(live, 2000); /* nothing new for the jobs at 1100, which slow reads */
  ck_assert_int_eq(feed(live, 0, 20, NULL), PREM_OK);
  prem_live_sleep_until(live, 3000);
  assert_next(live, 1, 0, 12);
  assert_next(live, 1, 2, 22);
  assert_next(live, 2, 0, 11);
  assert_next(live, 2, 2, 21);
  prem_live_counts counts;
  prem_live_count(live, 3, &counts);
  ck_assert_uint_eq(counts.missing, 1);
  ck_assert_uint_eq(counts.frames, 0);
  prem_live_close(live);
  prem_schedule_free(schedule);
}

TEST(a_queued_frame_stays_until_its_slowest_reader_is_done) { /* E12 */
  prem_schedule *schedule = prepared_schedule(readers_file("kind = \"queuing\"; buffers = 2;"));
  prem_live *live = open_live_on("sim", schedule);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(feed(live, 0, 10, NULL), PREM_OK);
  ck_assert_int_eq(feed(live, 0, 20, NULL), PREM_OK);
  prem_frame frame;
  ck_assert_int_eq(prem_live_acquire(live, 0, 9999, &frame, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_now_ns(live), 530); /* late has read the first */
  ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  ck_assert_int_eq(feed(live, 0, 30, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_acquire(live, 0, 9999, &frame, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_now_ns(live), 1730); /* slow has read the second */
  prem_live_close(live);
  prem_schedule_free(schedule);
}

/* ---- numbers that wrap ---------------------------------------------------------------------- */

typedef struct beginning {
  int64_t hyperperiod;
  uint64_t frame;
} beginning;

static const beginning beginnings[] = {
    {(1 << 16) - 2, (1 << 16) - 2},
    {INT64_C(2147483645), (UINT64_C(1) << 32) - 2}, /* 2^31 - 3 */
    {(INT64_C(1) << 32) - 2, (UINT64_C(1) << 40) - 2},
};

TESTS(counts_may_begin_anywhere, 6) { /* E18, E19 */
  const beginning *from = &beginnings[_i / 2];
  OWNED(prem_schedule) *schedule = checked_schedule(
      increment_file(100000, 100, "",
                     "inputs = ( { array = \"x\"; kind = \"queuing\"; } );"
                     "outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; } );"));
  OWNED(prem_live) *live = open_live_on(backends[_i % 2], schedule);
  prem_live_count_from(live, from->hyperperiod, from->frame);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_FREE});
  for (int i = 0; i < 8; ++i) {
    const int64_t until_ns = prem_live_now_ns(live) + INT64_C(60000000000);
    float value;
    prem_frame in, out;
    ck_assert_int_eq(feed(live, 0, (float)i, &in), PREM_OK);
    ck_assert_uint_eq(in.number, from->frame + (uint64_t)i);
    ck_assert_int_eq(fetch(live, 1, until_ns, &value, &out), PREM_OK);
    ck_assert_float_eq(value, (float)(i + 1));
    ck_assert_uint_eq(out.input, in.number);
    ck_assert_int_ge(out.job, from->hyperperiod);
  }
  prem_live_state state;
  prem_live_look(live, &state);
  ck_assert_int_ge(state.hyperperiods, 7);
  ck_assert_int_lt(state.hyperperiods, 1000000);
}

/* ---- overload ------------------------------------------------------------------------------- */

/* Three frames for every two jobs. */
static prem_live_counts overload(const char *kind, uint64_t *refused) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      increment_file(900, 1, "",
                     text("inputs = ( { array = \"x\"; kind = \"%s\"; buffers = 3; } );"
                          "outputs = ( { array = \"y\"; } );",
                          kind)));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_live_counts counts;
  start_live(live, &(prem_live_request){0});
  *refused = 0;
  for (int i = 0; i < 3000; ++i) {
    prem_live_sleep_until(live, 600 * i);
    *refused += feed(live, 0, (float)i, NULL) == PREM_ERR_FULL;
  }
  prem_live_sleep_until(live, 1800000);
  prem_live_count(live, 0, &counts);
  return counts;
}

TEST(overload_is_counted_by_arithmetic) { /* E24 */
  uint64_t refused;
  prem_live_counts counts = overload("sampling", &refused);
  ck_assert_uint_eq(refused, 0);
  ck_assert_uint_eq(counts.frames, 3000);
  ck_assert_uint_eq(counts.taken, 2000); /* each job a new one; every third is overtaken */
  ck_assert_uint_eq(counts.repeated, 0);
  counts = overload("queuing", &refused);
  ck_assert_uint_eq(counts.frames + refused, 3000);
  ck_assert_uint_eq(counts.taken, 2000);
  ck_assert_uint_ge(counts.frames - counts.taken, 1); /* what lies in the queue at the end */
  ck_assert_uint_le(counts.frames - counts.taken, 3);
}

/* ---- the same again -------------------------------------------------------------------------- */

/* Everything that a host program sees, as bytes. */
static size_t run_program(unsigned char *out, size_t room) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(readers_file("lead_ns = 30L; max_age_ns = 2500L;"));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  size_t used = 0;
  ck_assert_int_eq(prem_trace_new(schedule, 100, 100000, &trace), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace});
  for (int i = 0; i < 100; ++i) {
    prem_live_sleep_until(live, 317 * i);
    if (i % 7 < 5)
      feed(live, 0, (float)i, NULL);
    float value;
    prem_frame frame = {0};
    const prem_status status = fetch(live, 1 + i % 3, 317 * i + 100, &value, &frame);
    frame.data = NULL; /* addresses differ */
    memcpy(out + used, &frame, sizeof frame);
    used += sizeof frame;
    memcpy(out + used, &status, sizeof status);
    used += sizeof status;
    ck_assert_uint_lt(used + 1000, room);
  }
  ck_assert_int_eq(prem_live_stop(live, true, 999999, NULL), PREM_OK);
  const size_t bytes = (size_t)trace->record_count * sizeof *trace->records;
  ck_assert_uint_lt(used + bytes, room);
  memcpy(out + used, trace->records, bytes);
  return used + bytes;
}

TEST(a_program_is_deterministic) {
  static unsigned char first[1 << 20], second[1 << 20];
  const size_t bytes = run_program(first, sizeof first);
  ck_assert_uint_gt(bytes, 20000);
  ck_assert_uint_eq(run_program(second, sizeof second), bytes);
  ck_assert_int_eq(memcmp(first, second, bytes), 0);
}

TEST(sessions_leave_nothing_behind) { /* E32, with the address sanitizer */
  prem_schedule *schedule = prepared_schedule(readers_file(""));
  for (int i = 0; i < 1000; ++i) {
    prem_live *live = open_live_on("sim", schedule);
    if (i % 3)
      start_live(live, &(prem_live_request){0});
    feed(live, 0, 1, NULL);
    prem_live_sleep_until(live, 40 * (i % 100));
    if (i % 3 == 2)
      prem_live_stop(live, i & 1, 100000, NULL);
    prem_live_close(live);
  }
  prem_schedule_free(schedule);
}

TEST(results_that_wait_longer_than_buffers_last_are_refused) {
  OWNED(prem_schedule) *schedule = checked_schedule(increment_file(
      1000, 1, "", "outputs = ( { array = \"y\"; buffers = 3; publish_ns = 3000L; } );"));
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_live *live;
  ck_assert_int_eq(prem_live_open(prem_backend_find("sim"), schedule, &live, diag),
                   PREM_ERR_INVALID);
  ck_assert(prem_diag_has(diag, 47));
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "3 buffers do not last so long"));
}

TEST(without_ports_a_session_just_runs) {
  OWNED(prem_schedule) *schedule = checked_schedule(increment_file(1000, 1, "", ""));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  start_live(live, &(prem_live_request){0});
  prem_live_sleep_until(live, 10500);
  prem_live_state state;
  prem_live_look(live, &state);
  ck_assert_int_eq(state.hyperperiods, 11);
  ck_assert_int_eq(prem_live_stop(live, true, 20000, NULL), PREM_OK);
}

/* ---- who depends on an input ------------------------------------------------------------------
 */

static prem_status give_bind(prem_bind *bind) {
  for (int d = 0; d < 3; ++d)
    bind->grid[d] = 1;
  for (int port = 0; port < 3; ++port) {
    bind->window[port] = (prem_window){.extent = {1, 1, 1, 8}};
    bind->new_rank[port] = 1;
    for (int d = 0; d < 4; ++d)
      bind->new_shape[port][d] = d == 3 ? 8 : 1;
  }
  return PREM_OK;
}

static void give_compute(const void *params, const prem_view *views) {
  (void)params;
  (void)views;
}

static void give_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  (void)arrays;
}

/* Kernels may name their outputs first. */
static const prem_port give_ports[] = {
    {"out", PREM_OUT, PREM_F32}, {"in", PREM_IN, PREM_F32}, {"more", PREM_OUT, PREM_F32}};
static const prem_kernel give = {.name = "give",
                                 .summary = "writes before and behind what it reads",
                                 .ports = give_ports,
                                 .port_count = 3,
                                 .bind = give_bind,
                                 .compute = give_compute,
                                 .reference = give_reference};
static const prem_kernel *const give_list[] = {&give};
static const prem_registry give_registry = {give_list, 1};

/* `second` comes after `first`, which reads the input, and depends on it where it reads what that
 * makes, through whichever port. */
TESTS(who_reads_what_is_made_of_an_input_depends_on_it, 3) {
  static const struct {
    const char *read;
    int32_t gates;
  } cases[] = {{"u", 1}, {"v", 1}, {"other", 0}};
  const char *form = "{ name = \"%s\"; kernel = \"give\"; blocks = [ %d ]; period_ns = 1000L;"
                     "  arrays: { out = \"%s\"; in = \"%s\"; more = \"%s\"; }; %s"
                     "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
                     "  writeback: { wcet_ns = 10L; }; }";
  const char *array = "{ name = \"%s\"; type = \"f32\"; shape = [ 8 ]; }";
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_program) *program = NULL;
  prem_courier *courier = NULL;
  const char *source = text(
      "version = 1; name = \"t\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( %s, %s, %s, %s ); tasks = ( %s, %s ); live: { inputs = ( { array = \"x\"; } ); "
      "};",
      text(array, "x"), text(array, "u"), text(array, "v"), text(array, "other"),
      text(form, "first", 0, "u", "x", "v", ""),
      text(form, "second", 1, "new", cases[_i].read, "new", "after = ( { task = \"first\"; } );"));
  if (prem_schedule_load_text("t.cfg", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, &give_registry, NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
  ck_assert_int_eq(prem_program_new(schedule, &program, diag), PREM_OK);
  ck_assert_int_eq(prem_courier_new(program, &courier), PREM_OK);
  ck_assert_int_eq(courier->tasks[0].gate_count, 1);
  ck_assert(courier->tasks[0].gates[0].reads);
  ck_assert_int_eq(courier->tasks[1].gate_count, cases[_i].gates);
  if (cases[_i].gates)
    ck_assert(!courier->tasks[1].gates[0].reads && courier->tasks[1].gates[0].source == 0);
  prem_courier_free(courier);
}
