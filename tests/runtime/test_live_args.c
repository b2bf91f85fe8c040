/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of kernels that are changed while a live session runs: whole snapshots, at
 * hyperperiods. */
/* ctest: threads timing */
#include "tests/common/live.h"
#include "tests/common/suite.h"

enum { MS = 1000000, X = 0, Y = 1, Z = 2, A = 0, B = 1 };

static const char *const backends[] = {"sim", "cpu"};

/* a adds `increment` to x in two tiles on two blocks, b on another one. */
static const char *const two_tasks =
    "version = 1; name = \"args\"; platform: { blocks = 3;"
    "  resources = ( { name = \"memory\"; capacity = 3; } ); };"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },"
    "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; },"
    "  { name = \"z\"; type = \"f32\"; shape = [ 16 ]; } );"
    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0, 1 ]; tile = [ 8 ];"
    "    period_ns = 100000L; arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 1000L; };"
    "    compute: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1000L; }; },"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 16 ];"
    "    period_ns = 100000L; args: { increment = 5; }; arrays: { in = \"x\"; out = \"z\"; };"
    "    prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; };"
    "    writeback: { wcet_ns = 1000L; }; } );"
    "live: { inputs = ( { array = \"x\"; kind = \"%s\"; } );"
    "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 16; },"
    "    { array = \"z\"; kind = \"queuing\"; buffers = 16; } ); };";

static prem_schedule *load(const char *kind) {
  return prepared_schedule(text(two_tasks, kind));
}

static prem_status set(prem_live *live, int32_t task, double by) {
  return prem_live_set(live, task, "increment", &by, 1, NULL);
}

static void assert_shown(prem_live *live, float y, float z) {
  float value = -1;
  ck_assert_int_eq(fetch(live, Y, prem_live_now_ns(live), &value, NULL), PREM_OK);
  ck_assert_float_eq(value, y);
  ck_assert_int_eq(fetch(live, Z, prem_live_now_ns(live), &value, NULL), PREM_OK);
  ck_assert_float_eq(value, z);
}

static int64_t snapshot_of(const prem_live *live) {
  prem_live_state state;
  prem_live_look(live, &state);
  return state.snapshot;
}

TEST(a_snapshot_holds_from_the_next_hyperperiod) {
  OWNED(prem_schedule) *schedule = load("trigger");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_live_event event;
  start_live(live, &(prem_live_request){.events = true});
  ck_assert_int_eq(feed(live, X, 100, NULL), PREM_OK);
  prem_live_sleep_until(live, 50000);
  assert_shown(live, 101, 105);
  ck_assert_int_eq(set(live, A, 10), PREM_OK);
  ck_assert_int_eq(feed(live, X, 200, NULL), PREM_OK);
  prem_live_sleep_until(live, 150000);
  assert_shown(live, 201, 205); /* set, but not applied */
  ck_assert_int_eq(set(live, B, -7), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(snapshot_of(live), 0);
  ck_assert_int_eq(feed(live, X, 300, NULL), PREM_OK);
  prem_live_sleep_until(live, 250000);
  assert_shown(live, 310, 293);
  ck_assert_int_eq(snapshot_of(live), 1);
  ck_assert_int_eq(prem_live_listen(live, 0, &event, NULL), PREM_OK);
  ck_assert_int_eq(event.kind, PREM_EVENT_ARGS);
  ck_assert_int_eq(event.job, 2);
  ck_assert_int_eq(event.value, 1);
  ck_assert_str_eq(prem_live_event_name(event.kind), "args");
  /* of two between hyperperiods the last one */
  ck_assert_int_eq(set(live, A, 1000), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(set(live, A, 2000), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(feed(live, X, 0, NULL), PREM_OK);
  prem_live_sleep_until(live, 350000);
  assert_shown(live, 2000, -7);
  ck_assert_int_eq(snapshot_of(live), 3);
}

TEST(a_session_can_begin_with_one) {
  OWNED(prem_schedule) *schedule = load("trigger");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  ck_assert_int_eq(set(live, B, 6), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  prem_live_sleep_until(live, 50000);
  assert_shown(live, 2, 7);
}

TEST(no_snapshot_is_written_over_one_in_use) {
  OWNED(prem_schedule) *schedule = load("trigger");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(feed(live, X, 0, NULL), PREM_OK);
  prem_live_sleep_until(live, 500); /* the first hyperperiod is under way, by the file's */
  for (int i = 1; i <= 7; ++i) {
    ck_assert_int_eq(set(live, A, 100 * i), PREM_OK);
    ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  }
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(set(live, A, 800), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, diag), PREM_ERR_FULL);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                   "the last 8 snapshots may still be in use; try again after a hyperperiod");
  prem_live_sleep_until(live, 50000);
  assert_shown(live, 1, 5);
  ck_assert_int_eq(feed(live, X, 0, NULL), PREM_OK);
  prem_live_sleep_until(live, 150000);
  assert_shown(live, 700, 5);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(feed(live, X, 0, NULL), PREM_OK);
  prem_live_sleep_until(live, 250000);
  assert_shown(live, 800, 5);
  prem_live_stop(live, true, 10 * MS, NULL);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_ERR_ENDED);
}

typedef struct wrong {
  int32_t task;
  const char *key;
  int32_t count;
  prem_status status;
  const char *reason;
} wrong;

static const wrong wrongs[] = {
    {2, "increment", 1, PREM_ERR_ARGUMENT, "there is no task 2"},
    {-1, "increment", 1, PREM_ERR_ARGUMENT, "there is no task -1"},
    {A, "step", 1, PREM_ERR_INVALID, "kernel 'vector_increment' has no such argument"},
    {A, "increment", 2, PREM_ERR_INVALID, "has 2 numbers, 1 are needed"},
    {A, "increment", 0, PREM_ERR_ARGUMENT, "a number at least"},
    {A, "a_name_that_is_much_longer_than_the_63_bytes_that_names_are_allowed_to_have", 1,
     PREM_ERR_ARGUMENT, "a name of 1 to 63 bytes"},
};

TESTS(what_is_wrong_is_refused_and_changes_nothing, (int)(sizeof wrongs / sizeof *wrongs)) {
  OWNED(prem_schedule) *schedule = load("trigger");
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  const double values[] = {3, 4};
  ck_assert_int_eq(prem_live_apply(live, diag), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(set(live, A, 9), PREM_OK);
  ck_assert_int_eq(
      prem_live_set(live, wrongs[_i].task, wrongs[_i].key, values, wrongs[_i].count, diag),
      wrongs[_i].status);
  ck_assert_msg(strstr(prem_diag_at(diag, 1)->reason, wrongs[_i].reason) != NULL, "said: %s",
                prem_diag_at(diag, 1)->reason);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  start_live(live, &(prem_live_request){0});
  ck_assert_int_eq(feed(live, X, 1, NULL), PREM_OK);
  prem_live_sleep_until(live, 50000);
  assert_shown(live, 10, 6);
}

/* y + z is 2 x in every snapshot, and y - x is the same in both tiles. A machine that is busy may
 * let both queues drop other jobs for long, so rounds go on until pairs of one job were seen. */
TESTS(a_hyperperiod_has_one_snapshot, 2) {
  enum { ROUNDS = 300, JOBS = 4096 };
  OWNED(prem_schedule) *schedule = load("sampling");
  OWNED(prem_live) *live = open_live_on(backends[_i], schedule);
  ck_assert_int_eq(set(live, A, 0), PREM_OK);
  ck_assert_int_eq(set(live, B, 0), PREM_OK);
  ck_assert_int_eq(prem_live_apply(live, NULL), PREM_OK);
  ck_assert_int_eq(feed(live, X, 7, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_FREE});
  float y_of_job[JOBS] = {0};
  int64_t job_in[JOBS], both = 0, different = 0;
  const int64_t patience = prem_live_now_ns(live) + 60000 * (int64_t)MS;
  float last = -1;
  bool more = true;
  memset(job_in, 0xff, sizeof job_in);
  for (int i = 1; more; ++i) {
    more = prem_live_now_ns(live) < patience && (i < ROUNDS || both < 2 || different < 2);
    ck_assert_int_eq(set(live, A, i), PREM_OK);
    ck_assert_int_eq(set(live, B, -i), PREM_OK);
    const prem_status status = prem_live_apply(live, NULL);
    ck_assert(status == PREM_OK || status == PREM_ERR_FULL);
    prem_live_sleep_until(live, prem_live_now_ns(live) + i * 37 % 300 * 1000);
    if (!more)
      ck_assert_int_eq(
          prem_live_stop(live, true, prem_live_now_ns(live) + 60000 * (int64_t)MS, NULL), PREM_OK);
    float value = 0;
    prem_frame frame = {0};
    while (fetch(live, Y, 0, &value, &frame) == PREM_OK) {
      y_of_job[frame.job % JOBS] = value;
      job_in[frame.job % JOBS] = frame.job;
      different += value != last;
      last = value;
    }
    while (fetch(live, Z, 0, &value, &frame) == PREM_OK)
      if (job_in[frame.job % JOBS] == frame.job) {
        ck_assert_float_eq(value + y_of_job[frame.job % JOBS], 14);
        ++both;
      }
  }
  ck_assert_int_gt(both, 1);
  ck_assert_int_gt(different, 1);
}
