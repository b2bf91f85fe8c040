/* SPDX-License-Identifier: Apache-2.0 */
/* Overruns in live sessions on threads: each policy in each phase, and random trees of tasks. */
/* ctest: threads timing */
#include "tests/common/live.h"
#include "tests/common/live_tree.h"
#include "tests/common/suite.h"

#include <stdatomic.h>
#include <time.h>

enum { MS = 1000000, PERIOD_NS = 80 * MS, DEADLINE_NS = 60 * MS, SLOW = 1, FRAMES = 5 };
/* Frame i holds 10 i everywhere. */

static void nap(int64_t length_ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)length_ns}, NULL);
}

/* ---- a kernel that can be held --------------------------------------------------------------- */

/* The first compute that reads this number is held until the session has counted an overrun, or
 * where it counts at the end for longer than the deadline. */
static prem_live *_Atomic held_session;
static _Atomic int held_number; /* -1: none any more */
static _Atomic bool waits_for_count;

static void increment(const prem_view *views) {
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1;
}

static void hold_compute(const void *params, const prem_view *views) {
  (void)params;
  prem_live_state state = {0};
  int number = (int)*(const float *)views[0].data;
  if (atomic_compare_exchange_strong(&held_number, &number, -1)) {
    for (int turns = 0; turns < 20000 && state.overruns == 0; ++turns) {
      if (!atomic_load(&waits_for_count) && turns > DEADLINE_NS / MS + 1)
        break;
      nap(MS);
      prem_live_look(atomic_load(&held_session), &state);
    }
  }
  increment(views);
}

static prem_kernel with_compute(void (*compute)(const void *params, const prem_view *views)) {
  prem_kernel kernel = *prem_registry_find(prem_registry_builtin(), "vector_increment");
  kernel.compute = compute;
  return kernel;
}

/* ---- each policy in each phase --------------------------------------------------------------- */

static const char *const policies[] = {"record", "skip", "abort", "stop", "degrade"};

typedef struct bench {
  prem_overrun policy;
  prem_phase phase;
  prem_schedule *schedule;
  prem_live *live;
  int32_t x, y;
  bool is_shown[FRAMES];
  int64_t job_of[FRAMES];
  prem_live_state state;
  prem_live_counts counts;
  int64_t overran; /* the job that did first; -1: none */
} bench;

/* a makes mid of x, b makes y of it. In a prefetch: b waits for a, which is held; in a compute: b
 * is held; in a writeback: b waits for a buffer. */
static prem_schedule *load(const bench *b, const prem_registry *registry) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *file = text(
      "version = 1; name = \"live\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
      "  { name = \"mid\"; type = \"f32\"; shape = [ 64 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 64 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    period_ns = %dL; arrays: { in = \"x\"; out = \"mid\"; };"
      "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
      "    writeback: { wcet_ns = 50000L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    period_ns = %dL; deadline_ns = %dL; overrun = \"%s\"; after = ( { task = \"a\"; } );"
      "    arrays: { in = \"mid\"; out = \"y\"; }; prefetch: { wcet_ns = 50000L; };"
      "    compute: { wcet_ns = 50000L; }; writeback: { wcet_ns = 50000L; }; } );"
      "live: { inputs = ( { array = \"x\"; kind = \"queuing\"; missing = \"skip\";"
      "      buffers = 8; } ); outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = %d;"
      "      overflow = \"wait\"; } );"
      "  operating_modes = ( { name = \"full\"; }, { name = \"idle\"; off = [ \"b\" ]; } ); };",
      PERIOD_NS, PERIOD_NS, DEADLINE_NS, policies[b->policy], b->phase == PREM_WRITEBACK ? 1 : 8);
  if (prem_schedule_load_text("live.cfg", file, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, registry, NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
  return schedule;
}

static int64_t in_ms(const bench *b, int64_t ms) {
  return prem_live_now_ns(b->live) + ms * MS;
}

static void see(bench *b, const prem_frame *frame) {
  ck_assert_uint_lt(frame->input, FRAMES);
  ck_assert_float_eq(frame_value(frame), (float)(10 * frame->input + 2));
  b->is_shown[frame->input] = true;
  b->job_of[frame->input] = frame->job;
}

/* Every result until the session is over. In a writeback the first one is kept until the overrun is
 * counted. */
static void see_all(bench *b) {
  prem_frame frame;
  prem_status status;
  while ((status = prem_live_wait(b->live, b->y, in_ms(b, 60000), &frame, NULL)) == PREM_OK) {
    prem_live_look(b->live, &b->state);
    for (int turns = 0; b->phase == PREM_WRITEBACK && turns < 20000 && b->state.overruns == 0;
         ++turns) {
      nap(MS);
      prem_live_look(b->live, &b->state);
    }
    see(b, &frame);
    ck_assert_int_eq(prem_live_release(b->live, &frame, NULL), PREM_OK);
  }
  ck_assert_int_eq(status, PREM_ERR_ENDED);
}

static int64_t first_overrun(prem_live *live) {
  prem_live_event event;
  while (prem_live_listen(live, 0, &event, NULL) == PREM_OK)
    if (event.kind == PREM_EVENT_OVERRUN)
      return event.job;
  return -1;
}

static void run_bench(bench *b, const prem_registry *registry) {
  b->schedule = load(b, registry);
  b->live = open_live_on("cpu", b->schedule);
  b->x = prem_live_find(b->live, "x");
  b->y = prem_live_find(b->live, "y");
  atomic_store(&held_session, b->live);
  for (int i = 0; i < FRAMES; ++i)
    ck_assert_int_eq(feed(b->live, b->x, (float)(10 * i), NULL), PREM_OK);
  start_live(b->live, &(prem_live_request){
                          .mode = PREM_MODE_TT, .stall_timeout_ns = 60000LL * MS, .events = true});
  const prem_status status = prem_live_stop(b->live, true, 0, NULL);
  ck_assert(status == PREM_OK || status == PREM_ERR_TIMEOUT);
  see_all(b);
  ck_assert_int_eq(prem_live_stop(b->live, true, in_ms(b, 60000), NULL), PREM_OK);
  prem_live_look(b->live, &b->state);
  prem_live_count(b->live, b->y, &b->counts);
  b->overran = first_overrun(b->live);
  prem_live_close(b->live);
  prem_schedule_free(b->schedule);
}

/* What holds however slow the machine is. */
static void judge_always(const bench *b) {
  uint64_t shown = 0;
  for (int i = 0; i < FRAMES; ++i)
    shown += b->is_shown[i];
  ck_assert_uint_eq(b->counts.frames, shown);
  ck_assert_uint_eq(shown + b->counts.missing + b->counts.dropped + b->counts.aborted,
                    (uint64_t)b->state.hyperperiods);
  ck_assert_int_ge(b->state.overruns, 1);
  ck_assert_int_eq(b->state.aborted, (int64_t)b->counts.aborted);
  ck_assert(b->policy == PREM_OVERRUN_ABORT || b->state.aborted == 0);
  ck_assert(b->policy == PREM_OVERRUN_SKIP || b->state.skipped == 0);
}

/* With one overrun, that of the frame that it was made for. */
static void judge(const bench *b) {
  const bool is_dropped = b->phase == PREM_WRITEBACK; /* at the deadline there is no buffer yet */
  ck_assert(b->is_shown[0]);
  switch (b->policy) {
  case PREM_OVERRUN_ABORT:
    ck_assert(!b->is_shown[SLOW] && b->is_shown[SLOW + 1] && b->is_shown[FRAMES - 1]);
    ck_assert_uint_eq(b->counts.aborted, 1);
    break;
  case PREM_OVERRUN_SKIP:
    ck_assert(b->is_shown[SLOW] == !is_dropped && !b->is_shown[SLOW + 1]);
    ck_assert(b->is_shown[FRAMES - 1]);
    ck_assert_int_eq(b->state.skipped, 1);
    break;
  case PREM_OVERRUN_STOP:
    ck_assert(b->is_shown[SLOW] == !is_dropped);
    ck_assert(!b->is_shown[FRAMES - 1]);
    ck_assert_int_eq(b->state.end, PREM_LIVE_OVERRUN);
    break;
  case PREM_OVERRUN_DEGRADE: /* hyperperiods that had begun by then are in the mode before */
    ck_assert(b->is_shown[SLOW] == !is_dropped);
    ck_assert_int_eq(b->state.operating_mode, 1);
    ck_assert_int_gt(b->state.mode_from, SLOW);
    for (int i = SLOW + 1; i < FRAMES; ++i)
      ck_assert(!b->is_shown[i] || b->job_of[i] < b->state.mode_from);
    break;
  default:
    ck_assert(b->is_shown[SLOW] == !is_dropped);
    for (int i = SLOW + 1; i < FRAMES; ++i)
      ck_assert(b->is_shown[i]);
  }
}

GROUP("live_overruns_cpu", .timeout_s = 300);

TESTS(each_policy_in_each_phase, 5 * PREM_PHASE_COUNT) {
  enum { ATTEMPTS = 60 };
  const prem_kernel kernel = with_compute(hold_compute);
  const prem_kernel *list[] = {&kernel};
  const prem_registry registry = {list, 1};
  bench b = {0};
  bool is_judged = false;
  for (int i = 0; i < ATTEMPTS && !is_judged; ++i) {
    b = (bench){.policy = (prem_overrun)(_i / PREM_PHASE_COUNT),
                .phase = (prem_phase)(_i % PREM_PHASE_COUNT)};
    const bool looks_at_deadline = b.policy == PREM_OVERRUN_SKIP || b.policy == PREM_OVERRUN_ABORT;
    atomic_store(&waits_for_count, looks_at_deadline);
    atomic_store(&held_number, b.phase == PREM_WRITEBACK ? -1 : 10 * SLOW + (int)b.phase);
    run_bench(&b, &registry);
    judge_always(&b);
    /* else the machine was slow beside; frames wait in the queue, so that job i has frame i */
    is_judged = b.state.overruns == 1 && b.overran == SLOW && b.state.skipped <= 1;
  }
  ck_assert(is_judged);
  judge(&b);
}

/* ---- random trees ---------------------------------------------------------------------------- */

enum { TREES = 15, CALLS = 40, UNIT_NS = 4000 };

/* Mostly quick, now and then longer than a deadline. */
static void slow_compute(const void *params, const prem_view *views) {
  static _Atomic uint32_t draws;
  (void)params;
  const uint32_t draw = atomic_fetch_add(&draws, 1) * UINT32_C(2654435761) >> 24;
  if (draw < 40)
    nap((int64_t)draw * 100000);
  increment(views);
}

static void run_tree(uint64_t seed, const prem_registry *registry, prem_live_state *totals,
                     prem_live_counts *shown) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  live_tree tree;
  int frames = 0;
  tree_draw(&tree, seed, UNIT_NS, registry);
  tree.live = open_live_on("cpu", tree.schedule);
  start_live(tree.live, &(prem_live_request){.mode = modes[tree_pick(&tree, 0, 2)],
                                             .stall_timeout_ns = INT64_C(60000000000)});
  for (int i = 0; i < CALLS; ++i) {
    prem_live_sleep_until(tree.live,
                          prem_live_now_ns(tree.live) + tree_pick(&tree, 0, 1000 * UNIT_NS));
    frames += feed(tree.live, 0, (float)frames, NULL) == PREM_OK;
    tree_fetch(&tree, (int32_t)tree_pick(&tree, 1, tree.schedule->live_count - 1));
    if (tree_pick(&tree, 0, 5) == 0)
      ck_assert_int_eq(prem_live_switch(tree.live, (int32_t)tree_pick(&tree, 0, 2), NULL), PREM_OK);
  }
  uint64_t off = 0;
  ck_assert_int_eq(
      prem_live_stop(tree.live, true, prem_live_now_ns(tree.live) + INT64_C(60000000000), NULL),
      PREM_OK);
  for (int32_t s = 1; s < tree.schedule->live_count; ++s)
    tree_fetch(&tree, s);
  tree_judge(&tree, totals, shown, &off);
  prem_live_close(tree.live);
  prem_schedule_free(tree.schedule);
}

TESTS(nothing_half_is_shown_and_every_job_has_one_fate,
      getenv("TTPREM_LIVE_ROUNDS") ? atoi(getenv("TTPREM_LIVE_ROUNDS")) : 1) {
  const prem_kernel kernel = with_compute(slow_compute);
  const prem_kernel *list[] = {&kernel};
  const prem_registry registry = {list, 1};
  prem_live_state totals = {0};
  prem_live_counts shown = {0};
  for (int i = 0; i < TREES; ++i)
    run_tree((uint64_t)(_i * TREES + i), &registry, &totals, &shown);
  ck_assert_int_gt(totals.overruns, 0);
  ck_assert_int_gt(totals.skipped, 0);
  ck_assert_int_gt(totals.aborted, 0);
  ck_assert_uint_gt(shown.frames, 0);
}
