/* SPDX-License-Identifier: Apache-2.0 */
/* Operating modes of live sessions: which jobs they leave out, from when on, and who switches. */
/* ctest: threads timing */
#include "tests/common/cases.h"
#include "tests/common/live.h"
#include "tests/common/longer.h"
#include "tests/common/suite.h"

enum { MS = 1000000, UNIT_NS = 100 };

static const char *const backends[] = {"sim", "cpu"};

/* a makes mid of x, b makes y of that; c makes z of x; d makes w of the latest mid. A hyperperiod
 * has 1000 units. */
static const char *four_tasks(const char *modes, const char *of_a) {
  const char *phases = "prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; };"
                       " writeback: { wcet_ns = 1000L; };";
  return text(
      "version = 1; name = \"modes\"; platform: { blocks = 4;"
      "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"mid\"; type = \"f32\"; shape = [ 8 ]; fill = \"zero\"; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"w\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = 100000L; %s arrays: { in = \"x\"; out = \"mid\"; }; %s },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    period_ns = 100000L; arrays: { in = \"mid\"; out = \"y\"; };"
      "    after = ( { task = \"a\"; } ); %s },"
      "  { name = \"c\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 8 ];"
      "    period_ns = 100000L; arrays: { in = \"x\"; out = \"z\"; }; %s },"
      "  { name = \"d\"; kernel = \"vector_increment\"; blocks = [ 3 ]; tile = [ 8 ];"
      "    period_ns = 100000L; arrays: { in = \"mid\"; out = \"w\"; };"
      "    after = ( { task = \"a\"; instance = \"latest\"; } ); %s } );"
      "live: { inputs = ( { array = \"x\"; } );"
      "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; },"
      "    { array = \"z\"; kind = \"queuing\"; buffers = 8; },"
      "    { array = \"w\"; kind = \"queuing\"; buffers = 8; } ); %s };",
      of_a, phases, phases, phases, phases, modes);
}

enum { X, Y, Z, W };

/* The result of a job; -1: it has none. */
static float result_of(prem_live *live, int32_t stream) {
  float value = -1;
  prem_frame frame;
  const prem_status status = fetch(live, stream, prem_live_now_ns(live), &value, &frame);
  ck_assert(status == PREM_OK || status == PREM_ERR_TIMEOUT);
  return value;
}

/* To the end of a hyperperiod, the first being 0, with a new frame in it. */
static void run_one(prem_live *live, int64_t hyperperiod, float value) {
  prem_live_sleep_until(live, hyperperiod * 1000 * UNIT_NS - 1);
  ck_assert_int_eq(feed(live, X, value, NULL), PREM_OK);
  prem_live_sleep_until(live, hyperperiod * 1000 * UNIT_NS + 500 * UNIT_NS);
}

static void assert_results(prem_live *live, float y, float z, float w) {
  ck_assert_float_eq(result_of(live, Y), y);
  ck_assert_float_eq(result_of(live, Z), z);
  ck_assert_float_eq(result_of(live, W), w);
}

static void assert_mode(const prem_live *live, int32_t mode, int64_t from) {
  prem_live_state state;
  prem_live_look(live, &state);
  ck_assert_int_eq(state.operating_mode, mode);
  ck_assert_int_eq(state.mode_from, from);
}

static const char *const three_modes =
    "operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"a\" ]; },"
    "  { name = \"idle\"; off = [ \"c\", \"a\", \"d\" ]; } );";

TEST(a_mode_leaves_out_its_tasks_and_what_is_made_of_them) {
  OWNED(prem_schedule) *schedule = prepared_schedule(four_tasks(three_modes, ""));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_live_task_counts counts;
  ck_assert_int_eq(prem_live_find_operating_mode(live, "full"), 0);
  ck_assert_int_eq(prem_live_find_operating_mode(live, "idle"), 2);
  ck_assert_int_eq(prem_live_find_operating_mode(live, "Idle"), -1);
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  prem_live_sleep_until(live, 500 * UNIT_NS);
  assert_results(live, 3, 2, 3);
  assert_mode(live, 0, 0);
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK);
  run_one(live, 1, 10);
  assert_mode(live, 1, 1);
  assert_results(live, -1, 11, 3); /* b is made of this job of a, d of the latest there is */
  run_one(live, 2, 20);
  assert_results(live, -1, 21, 3);
  ck_assert_int_eq(prem_live_switch(live, 2, NULL), PREM_OK);
  run_one(live, 3, 30);
  assert_mode(live, 2, 3);
  assert_results(live, -1, -1, -1);
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_OK);
  run_one(live, 4, 40);
  assert_mode(live, 0, 4);
  assert_results(live, 42, 41, 42);
  static const uint64_t off[] = {3, 3, 1, 1};
  for (int32_t t = 0; t < 4; ++t) {
    prem_live_count_task(live, t, &counts);
    ck_assert_uint_eq(counts.off, off[t]);
    ck_assert_uint_eq(counts.skipped, 0);
  }
}

TEST(the_last_wish_counts_and_wrong_ones_are_refused) {
  OWNED(prem_schedule) *schedule = prepared_schedule(four_tasks(three_modes, ""));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK); /* it begins in that */
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  prem_live_sleep_until(live, 500 * UNIT_NS);
  assert_mode(live, 1, 0);
  assert_results(live, -1, 2, 1);
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_switch(live, 2, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_switch(live, 3, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                   "there is no operating mode 3; the file has 3, from 0 on");
  ck_assert_int_eq(prem_live_switch(live, -1, NULL), PREM_ERR_ARGUMENT);
  run_one(live, 1, 10);
  assert_mode(live, 2, 1);
  ck_assert_int_eq(prem_live_stop(live, true, 10 * MS, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_ERR_ENDED);
}

static prem_live_engine telling; /* the simulator's, but for `tell` */
static int told;

static void count_telling(void *state) {
  ++told;
  prem_backend_sim.live->tell(state);
}

/* Where the courier sleeps nothing happens before it is told; that of cpu looks all the time. */
TEST(the_courier_is_told_what_changes_once_it_runs) {
  static prem_backend backend;
  OWNED(prem_schedule) *schedule = prepared_schedule(four_tasks(three_modes, ""));
  OWNED(prem_live) *live = NULL;
  const double increment = 2;
  backend = prem_backend_sim;
  telling = *prem_backend_sim.live;
  telling.tell = count_telling;
  backend.live = &telling;
  ck_assert_int_eq(prem_live_open(&backend, schedule, &live, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_set(live, 0, "increment", &increment, 1, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_switch(live, 1, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(told, 0);
  start_live(live, &(prem_live_request){0});
  told = 0;
  ck_assert_int_eq(prem_live_switch(live, 2, NULL), PREM_OK);
  ck_assert_int_eq(told, 1);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(told, 2);
  ck_assert_int_eq(prem_live_switch(live, 3, NULL), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(told, 2);
}

/* c computes for longer than its deadline in each job: a mode further after each, up to the last.
 */
TEST(overruns_lead_from_mode_to_mode) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      four_tasks("operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"d\" ]; },"
                 "  { name = \"least\"; off = [ \"c\", \"d\" ]; } );",
                 "deadline_ns = 20000L; overrun = \"degrade\";"));
  OWNED(prem_live) *live = open_longer(schedule, (const int64_t[]){1000, 30000, 1000});
  ck_assert_int_eq(feed(live, X, 0, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  static const int32_t modes[] = {0, 1, 2, 2, 2};
  static const int64_t from[] = {0, 1, 2, 2, 2};
  for (int64_t h = 0; h < 5; ++h) {
    if (h > 0)
      run_one(live, h, 0);
    prem_live_sleep_until(live, h * 1000 * UNIT_NS + 500 * UNIT_NS);
    assert_mode(live, modes[h], from[h]);
    ck_assert_float_eq(result_of(live, Y), 2); /* whole all the same */
    ck_assert_float_eq(result_of(live, Z), h < 2 ? 1 : -1);
  }
  prem_live_state state;
  prem_live_look(live, &state);
  ck_assert_int_eq(state.overruns, 5);
  ck_assert_int_eq(state.skipped, 0);
  /* a wish leads back, and the next overrun on again */
  ck_assert_int_eq(prem_live_switch(live, 0, NULL), PREM_OK);
  run_one(live, 5, 0);
  assert_mode(live, 0, 5);
  run_one(live, 6, 0);
  assert_mode(live, 1, 6);
}

/* In one mode y is made, in the other z: of each hyperperiod just one of them is shown, however
 * often the host switches. */
TESTS(a_hyperperiod_is_in_one_mode, 2) { /* E21 */
  enum { ROUNDS = 300, MOST_ROUNDS = 20 * ROUNDS, MOST = 1 << 20 };
  prem_schedule *schedule =
      prepared_schedule(four_tasks("operating_modes = ( { name = \"y\"; off = [ \"c\" ]; },"
                                   "  { name = \"z\"; off = [ \"a\" ]; } );",
                                   ""));
  prem_live *live = open_live_on(backends[_i], schedule);
  char *seen = calloc(1, MOST);
  int64_t jobs = 0, shown[4] = {0};
  start_live(live, &(prem_live_request){.mode = PREM_MODE_FREE});
  ck_assert_int_eq(feed(live, X, 7, NULL), PREM_OK);
  bool is_last = false;
  for (int i = 0; !is_last && i < MOST_ROUNDS; ++i) {
    is_last = i >= ROUNDS && shown[Y] > 0 && shown[Z] > 0; /* else the machine was busy */
    ck_assert_int_eq(prem_live_switch(live, i * 7 % 13 % 2, NULL), PREM_OK);
    if (is_last)
      ck_assert_int_eq(
          prem_live_stop(live, true, prem_live_now_ns(live) + 60000 * (int64_t)MS, NULL), PREM_OK);
    else
      prem_live_sleep_until(live, prem_live_now_ns(live) + i * 37 % 300 * UNIT_NS);
    for (int32_t stream = Y; stream <= W; ++stream) {
      float value;
      prem_frame frame;
      while (fetch(live, stream, 0, &value, &frame) == PREM_OK) {
        ++shown[stream];
        ck_assert_int_lt(frame.job, MOST);
        if (stream == W)
          continue;
        ck_assert_float_eq(value, stream == Y ? 9 : 8);
        ck_assert_int_eq(seen[frame.job], 0);
        seen[frame.job] = (char)stream;
        jobs = frame.job + 1 > jobs ? frame.job + 1 : jobs;
      }
    }
  }
  prem_live_counts y, z;
  prem_live_state state;
  prem_live_count(live, Y, &y);
  prem_live_count(live, Z, &z);
  prem_live_look(live, &state);
  ck_assert(is_last);
  /* of hyperperiods before the first frame neither */
  ck_assert_uint_eq(y.frames + y.missing + y.dropped, (uint64_t)state.hyperperiods);
  ck_assert_uint_le(y.frames + y.dropped + z.frames + z.dropped, (uint64_t)state.hyperperiods);
  int64_t gaps = 0, first = 0; /* any number go by before the first frame is fed */
  while (first < jobs && seen[first] == 0)
    ++first;
  for (int64_t job = first; job < jobs; ++job)
    gaps += seen[job] == 0;
  ck_assert_int_le(gaps, (int64_t)(y.dropped + z.dropped));
  free(seen);
  prem_live_close(live);
  prem_schedule_free(schedule);
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(what_makes_no_sense_is_refused) {
  cases_judge("runtime/mode_cases.txt");
}

TESTS(there_are_32_at_most, 2) {
  char modes[8192];
  size_t used = (size_t)snprintf(modes, sizeof modes, "operating_modes = (");
  for (int m = 0; m < PREM_MAX_OPERATING_MODES + _i; ++m)
    used += (size_t)snprintf(modes + used, sizeof modes - used,
                             "%s{ name = \"m%d\"; off = [ \"d\" ]; }", m ? ", " : "", m);
  snprintf(modes + used, sizeof modes - used, ");");
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = NULL;
  const char *source = four_tasks(modes, "");
  const prem_status status = prem_schedule_load_text("modes.cfg", source, &schedule, diag);
  ck_assert_int_eq(status, _i ? PREM_ERR_PARSE : PREM_OK);
  if (_i)
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "33 operating modes, the limit is 32");
  else
    ck_assert_uint_eq(schedule->tasks[3].off, UINT32_MAX);
}
