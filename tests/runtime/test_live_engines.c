/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a live session hands to a backend that has all that a GPU's has, and takes of it: the
 * simulator, before which stands a backend that notes what it is asked, and has memory of its own.
 */
#include "runtime/session/live_parts.h"

#include "runtime/core/courier.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { BUFFERS = 3, SLOT_BYTES = 256, IN = 0, OUT = 1 };

static prem_live_engine engine;
static prem_backend backend;
static prem_courier *courier; /* as it was told at the opening */
static prem_live *live;

static struct {
  prem_status answer; /* of the opening, of the handing on, of the taking */
  int opened, drained, left, took, submitted;
  int32_t stream, slot;
  int64_t captured_ns;
} asked;

static _Alignas(64) unsigned char memory[2][BUFFERS * SLOT_BYTES];

static prem_status engine_open(void *state, prem_courier *of, prem_diag *diag) {
  ck_assert_ptr_nonnull(state);
  courier = of;
  ++asked.opened;
  if (asked.answer != PREM_OK)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "open", "not today");
  return asked.answer;
}

static prem_status engine_submit(void *state, int32_t stream, int32_t slot, const prem_note *note,
                                 uint64_t *number, prem_diag *diag) {
  ck_assert_ptr_nonnull(state);
  ++asked.submitted;
  asked.stream = stream;
  asked.slot = slot;
  asked.captured_ns = note->captured_ns;
  if (asked.answer != PREM_OK)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "submit", "not today");
  else
    *number = prem_channel_publish(&courier->streams[stream].producer, slot, note);
  return asked.answer;
}

static void engine_drain(void *state) {
  ck_assert_ptr_nonnull(state);
  ++asked.drained;
  prem_word_set_far(&courier->face->request.value, PREM_COURIER_DRAIN);
}

static void engine_compare_clocks(const void *state, prem_live_clocks *out) {
  ck_assert_ptr_nonnull(state);
  *out = (prem_live_clocks){.offset_ns = 41,
                            .bound_ns = 42,
                            .questions = 43,
                            .contradictions = 44,
                            .gaps = 45,
                            .gap_max_ns = 46};
}

static void engine_keep_frames(void *state, int32_t stream, prem_frame_place *out) {
  ck_assert_ptr_nonnull(state);
  *out = (prem_frame_place){
      .first = memory[stream], .slot_bytes = SLOT_BYTES, .pitch_bytes = {101, 102, 103}};
}

static void engine_leave_memory(void *state, int32_t stream) {
  ck_assert_ptr_nonnull(state);
  ck_assert_int_eq(stream, IN);
  ck_assert_int_eq(asked.took, asked.left);
  ++asked.left;
}

static prem_status engine_take_memory(void *state, int32_t stream, prem_diag *diag) {
  (void)diag;
  ck_assert_ptr_nonnull(state);
  ck_assert_int_eq(stream, IN);
  ++asked.took;
  ck_assert_int_eq(asked.took, asked.left);
  return asked.answer;
}

static const char source[] =
    "version = 1; name = \"engines\"; platform: { blocks = 1; };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 16 ];"
    "    period_ns = 1000L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 10L; };"
    "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
    "live: { inputs = ( { array = \"x\"; buffers = 3; missing = \"wait\"; } );"
    "  outputs = ( { array = \"y\"; buffers = 3; } ); };";

static prem_schedule *schedule;

static void set_up(void) {
  schedule = prepared_schedule(source);
  engine = *prem_backend_sim.live;
  engine.open = engine_open;
  engine.submit = engine_submit;
  engine.drain = engine_drain;
  engine.compare_clocks = engine_compare_clocks;
  engine.keep_frames = engine_keep_frames;
  engine.leave_memory = engine_leave_memory;
  engine.take_memory = engine_take_memory;
  backend = prem_backend_sim;
  backend.live = &engine;
  memset(&asked, 0, sizeof asked);
  asked.answer = PREM_OK;
  ck_assert_int_eq(prem_live_open(&backend, schedule, &live, NULL), PREM_OK);
}

static void tear_down(void) {
  prem_live_close(live);
  prem_schedule_free(schedule);
}

static void start(void) {
  ck_assert_int_eq(prem_live_start(live, &(prem_live_request){.mode = PREM_MODE_TT}, NULL),
                   PREM_OK);
}

GROUP("all", .set_up = set_up, .tear_down = tear_down);

TEST(it_is_made_ready_at_the_opening) {
  ck_assert_int_eq(asked.opened, 1);
  ck_assert_ptr_eq(courier, live->courier);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_live *other = live;
  asked.answer = PREM_ERR_MACHINE;
  ck_assert_int_eq(prem_live_open(&backend, schedule, &other, diag), PREM_ERR_MACHINE);
  ck_assert_ptr_null(other);
  ck_assert_int_eq(asked.opened, 2);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "not today");
}

TEST(frames_lie_where_it_has_them) {
  prem_frame frame, result;
  ck_assert_int_eq(prem_live_keep_on_device(live, IN, NULL), PREM_OK);
  start();
  for (int32_t b = 0; b < BUFFERS; ++b) {
    ck_assert_int_eq(prem_live_acquire(live, IN, 0, &frame, NULL), PREM_OK);
    ck_assert_ptr_eq(frame.data, memory[IN] + frame.buffer * SLOT_BYTES);
    for (int d = 0; d < 3; ++d)
      ck_assert_int_eq(frame.pitch_bytes[d], 101 + d);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(prem_live_wait(live, OUT, 9999, &result, NULL), PREM_OK);
  ck_assert_ptr_eq(
      result.data,
      prem_storage_slot(&live->arrays->storage[schedule->live[OUT].array], result.buffer).base);
  ck_assert_int_eq(result.pitch_bytes[2], 64);
  ck_assert_int_eq(result.pitch_bytes[1], 64);
  ck_assert_int_eq(result.pitch_bytes[0], 64);
  ck_assert_int_eq(prem_live_release(live, &result, NULL), PREM_OK);
}

TEST(it_hands_frames_on) {
  prem_frame frame;
  start();
  for (int i = 0; i < BUFFERS; ++i) {
    ck_assert_int_eq(prem_live_acquire(live, IN, 0, &frame, NULL), PREM_OK);
    frame.captured_ns = 7 + i;
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    ck_assert_int_eq(asked.submitted, i + 1);
    ck_assert_int_eq(asked.stream, IN);
    ck_assert_int_eq(asked.slot, frame.buffer);
    ck_assert_int_eq(asked.captured_ns, 7 + i);
    ck_assert_int_eq((int)frame.number, i);
    ck_assert_int_eq(prem_live_wait(live, OUT, 99999, &frame, NULL), PREM_OK);
    ck_assert_int_eq(frame.captured_ns, 7 + i);
    ck_assert_int_eq(prem_live_release(live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(prem_live_acquire(live, IN, 99999, &frame, NULL), PREM_OK);
  asked.answer = PREM_ERR_MACHINE;
  prem_diag *diag = prem_diag_new();
  ck_assert_int_eq(prem_live_submit(live, &frame, diag), PREM_ERR_MACHINE);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "not today");
  prem_diag_free(diag);
  asked.answer = PREM_OK;
}

TEST(it_compares_clocks_once_it_runs) {
  prem_live_clocks clocks = {.offset_ns = 1,
                             .bound_ns = 1,
                             .questions = 1,
                             .contradictions = 1,
                             .gaps = 1,
                             .gap_max_ns = 1};
  prem_live_compare_clocks(live, &clocks);
  ck_assert_int_eq(clocks.offset_ns + clocks.bound_ns, 0);
  ck_assert_int_eq(clocks.questions + clocks.contradictions, 0);
  ck_assert_int_eq(clocks.gaps + clocks.gap_max_ns, 0);
  start();
  prem_live_compare_clocks(live, &clocks);
  ck_assert_int_eq(clocks.offset_ns, 41);
  ck_assert_int_eq(clocks.bound_ns, 42);
  ck_assert_int_eq(clocks.questions, 43);
  ck_assert_int_eq(clocks.contradictions, 44);
  ck_assert_int_eq(clocks.gaps, 45);
  ck_assert_int_eq(clocks.gap_max_ns, 46);
  engine.compare_clocks = NULL;
  prem_live_compare_clocks(live, &clocks);
  ck_assert_int_eq(clocks.bound_ns, 0);
}

/* It is asked for the end where frames in hand are to be worked off, else the courier is at once.
 */
TESTS(it_is_asked_for_the_end, 2) {
  start();
  ck_assert_int_eq(prem_live_stop(live, _i == 0, 99999, NULL), PREM_OK);
  ck_assert_int_eq(asked.drained, _i == 0);
  ck_assert_uint_eq(prem_word_far(&courier->face->request.value), PREM_COURIER_DRAIN);
}

TEST(memory_is_left_and_taken) {
  static float own[BUFFERS][16];
  void *buffers[] = {own[0], own[1], own[2]};
  ck_assert_int_eq(prem_live_adopt(live, IN, buffers, BUFFERS, 64, NULL), PREM_OK);
  ck_assert_int_eq(asked.left, 1);
  ck_assert_int_eq(asked.took, 1);
  asked.answer = PREM_ERR_MACHINE;
  ck_assert_int_eq(prem_live_adopt(live, IN, buffers, BUFFERS, 64, NULL), PREM_ERR_MACHINE);
  ck_assert_int_eq(asked.took, 2);
  asked.answer = PREM_OK;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_live_keep_on_device(live, IN, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "frames of 'x' lie in memory of the application");
  ck_assert_int_eq(prem_live_keep_on_device(live, OUT, diag), PREM_OK);
  ck_assert_int_eq(prem_live_adopt(live, OUT, buffers, BUFFERS, 64, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, 1)->reason, "frames of 'y' stay on the GPU");
}

/* A courier that promises an instant tells later how far behind it a result was. */
TEST(results_behind_their_promise) {
  static const int64_t behind_ns[] = {0, 1, 12345, PREM_MAX_BEHIND_NS};
  prem_frame frame, result;
  start();
  for (int i = 0; i < 8; ++i) {
    const bool is_promised = i % 2 == 0, is_late_word = i == 6;
    ck_assert_int_eq(prem_live_acquire(live, IN, 99999, &frame, NULL), PREM_OK);
    ck_assert_int_eq(prem_live_submit(live, &frame, NULL), PREM_OK);
    prem_live_sleep_until(live, 1000 * (i + 1) + 500);
    prem_stream_face *face = courier->streams[OUT].face;
    for (int32_t slot = 0; slot < BUFFERS; ++slot) { /* whichever has it */
      prem_note *note = &face->channel.note[slot];
      note->flags = is_promised ? note->flags | PREM_NOTE_PROMISED : note->flags;
      note->published_ns = 500000;
      prem_word_set_far(&face->behind[slot], ((uint64_t)i + 1 + is_late_word) << PREM_BEHIND_BITS |
                                                 (uint64_t)behind_ns[i / 2]);
    }
    ck_assert_int_eq(prem_live_wait(live, OUT, 99999, &result, NULL), PREM_OK);
    ck_assert_int_eq((int)result.number, i);
    ck_assert_int_eq(result.published_ns,
                     500000 + (is_promised && !is_late_word ? behind_ns[i / 2] : 0));
    ck_assert_uint_eq(result.flags & PREM_NOTE_PROMISED, 0);
    ck_assert_int_eq(prem_live_release(live, &result, NULL), PREM_OK);
  }
}
