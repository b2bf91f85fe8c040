/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One faulty block in a live session on the simulator: its phases end too early, too late or never,
 * in every combination, under every overrun policy. What the other blocks do keeps its instants to
 * the nanosecond, their frames come, and the session ends when it is asked to.
 */
#include "tests/common/live.h"
#include "tests/common/longer.h"
#include "tests/common/suite.h"

enum {
  OPEN = 3,
  PERIOD_NS = 1000,
  HYPERPERIODS = 8,
  HEALTHY = 2,
  PHASES = HYPERPERIODS * HEALTHY * PREM_PHASE_COUNT
};

static const char *const policies[] = {"record", "skip", "abort", "stop", "degrade"};
/* Planned are 100: early, in time, late within the period, by periods, and so late that nobody
 * waits. */
static const int64_t lengths_ns[] = {1, 50, 100, 101, 350, 950, 1700, INT64_C(1) << 50};
enum { LENGTHS = sizeof lengths_ns / sizeof *lengths_ns };

/* Three tasks, each with a block, an input and an output of its own, at a memory that is enough for
 * all. The first is faulty. */
static const char *file_of(const char *policy) {
  static char source[4096];
  size_t used =
      (size_t)snprintf(source, sizeof source,
                       "version = 1; name = \"faulty\"; platform: { blocks = 3;"
                       "  resources = ( { name = \"memory\"; capacity = 3; } ); };\narrays = (");
  for (int t = 0; t < 3; ++t)
    used += (size_t)snprintf(source + used, sizeof source - used,
                             "%s { name = \"x%d\"; type = \"f32\"; shape = [ 8 ]; },"
                             " { name = \"y%d\"; type = \"f32\"; shape = [ 8 ]; }",
                             t ? "," : "", t, t);
  used += (size_t)snprintf(source + used, sizeof source - used, " );\ntasks = (");
  for (int t = 0; t < 3; ++t)
    used += (size_t)snprintf(
        source + used, sizeof source - used,
        "%s { name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d ]; tile = [ 8 ];"
        " period_ns = %dL; %s arrays: { in = \"x%d\"; out = \"y%d\"; };"
        " prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 100L; }; writeback: { wcet_ns = "
        "100L; }; }\n",
        t ? "," : "", t, t, PERIOD_NS,
        t ? "" : text("deadline_ns = 900L; overrun = \"%s\";", policy), t, t);
  snprintf(
      source + used, sizeof source - used,
      " );\nlive: { inputs = ( { array = \"x0\"; }, { array = \"x1\"; }, { array = \"x2\"; } );"
      " outputs = ( { array = \"y0\"; }, { array = \"y1\"; kind = \"queuing\"; buffers = 16; },"
      "   { array = \"y2\"; kind = \"queuing\"; buffers = 16; } );"
      " operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"t0\" ]; } ); };");
  return source;
}

/* What the healthy blocks did. */
typedef struct doings {
  int64_t start_ns[PHASES], end_ns[PHASES]; /* -1: it did not come to that */
  int64_t published_ns[HEALTHY][HYPERPERIODS];
  int64_t faulty_end_ns[HYPERPERIODS]; /* of the faulty block's part; INT64_MAX: it has none */
  prem_live_state state;
} doings;

static void keep_records(const prem_trace *trace, doings *out) {
  for (int64_t h = 0; h < HYPERPERIODS; ++h) {
    const int64_t before_ns = h > 0 ? out->faulty_end_ns[h - 1] : 0;
    const int64_t end_ns =
        h < trace->hyperperiods ? trace->job_end_ns[h * trace->job_count] : INT64_MAX;
    out->faulty_end_ns[h] =
        end_ns < 0 ? before_ns : end_ns; /* below 0: skipped, behind the one before */
  }
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->task == 0 || r->hyperperiod >= HYPERPERIODS)
      continue;
    const int64_t at = (r->hyperperiod * HEALTHY + r->task - 1) * PREM_PHASE_COUNT + r->phase;
    out->start_ns[at] = r->start_ns;
    out->end_ns[at] = r->end_ns;
  }
}

static void run(prem_schedule *schedule, const int64_t length_ns[PREM_PHASE_COUNT], doings *out) {
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 4 * PHASES, &trace), PREM_OK);
  memset(out, 0xff, sizeof *out);
  OWNED(prem_live) *live = open_longer(schedule, length_ns);
  for (int32_t s = 0; s < 3; ++s)
    ck_assert_int_eq(feed(live, s, (float)s, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.mode = PREM_MODE_TT, .trace = trace});
  prem_live_sleep_until(live, HYPERPERIODS * PERIOD_NS - 1);
  for (int32_t s = 4; s < 6; ++s) {
    float value;
    prem_frame frame;
    while (fetch(live, s, prem_live_now_ns(live), &value, &frame) == PREM_OK) {
      ck_assert_float_eq(value, (float)(s - 3 + 1));
      ck_assert_int_lt(frame.job, HYPERPERIODS);
      out->published_ns[s - 4][frame.job] = frame.published_ns;
    }
  }
  prem_status status = prem_live_stop(live, true, 100 * PERIOD_NS, NULL);
  if (status == PREM_ERR_TIMEOUT) /* a phase that does not end */
    status = prem_live_stop(live, false, 100 * PERIOD_NS, NULL);
  ck_assert_int_eq(status, PREM_OK);
  prem_live_look(live, &out->state);
  ck_assert_int_eq(out->state.phase, PREM_LIVE_ENDED);
  keep_records(trace, out);
}

/* Three hyperperiods can be open at a time: one begins when the faulty block has ended the third
 * before it, and not later on account of it. */
static bool is_held_back(const doings *found, int64_t h) {
  if (h >= OPEN && found->faulty_end_ns[h - OPEN] > h * PERIOD_NS)
    return true;
  for (int64_t at = (h - 1) * HEALTHY * PREM_PHASE_COUNT;
       h > 0 && at < h * HEALTHY * PREM_PHASE_COUNT; ++at)
    if (found->end_ns[at] > h * PERIOD_NS)
      return true; /* the one before was, too long */
  return false;
}

/* @return hyperperiods that healthy blocks did. */
static int64_t assert_healthy(const doings *found, const doings *expected) {
  int64_t done = 0;
  for (int64_t at = 0; at < PHASES; ++at) {
    const int64_t h = at / (HEALTHY * PREM_PHASE_COUNT);
    if (found->start_ns[at] < 0)
      continue;
    done = h + 1;
    ck_assert_int_ge(found->start_ns[at], expected->start_ns[at]);
    if (is_held_back(found, h))
      continue;
    ck_assert_int_eq(found->start_ns[at], expected->start_ns[at]);
    ck_assert_int_eq(found->end_ns[at], expected->end_ns[at]);
  }
  for (int64_t at = 0; at < done * HEALTHY * PREM_PHASE_COUNT; ++at)
    ck_assert_int_ge(found->start_ns[at], 0); /* no gap */
  for (int s = 0; s < HEALTHY; ++s)
    for (int64_t h = 0; h < done; ++h)
      ck_assert(is_held_back(found, h) ||
                found->published_ns[s][h] == expected->published_ns[s][h]);
  return done;
}

TESTS(healthy_blocks_do_not_shift, sizeof policies / sizeof *policies) {
  static const int64_t planned_ns[PREM_PHASE_COUNT] = {100, 100, 100};
  const int policy = _i;
  OWNED(prem_schedule) *schedule = prepared_schedule(file_of(policies[policy]));
  doings expected, found;
  run(schedule, planned_ns, &expected);
  ck_assert_int_eq(assert_healthy(&expected, &expected), HYPERPERIODS);
  int64_t whole = 0, cut = 0, overruns = 0;
  for (int i = 0; i < LENGTHS * LENGTHS * LENGTHS; ++i) {
    const int64_t length_ns[PREM_PHASE_COUNT] = {lengths_ns[i % LENGTHS],
                                                 lengths_ns[i / LENGTHS % LENGTHS],
                                                 lengths_ns[i / LENGTHS / LENGTHS]};
    bool ends = true;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      ends = ends && length_ns[p] <= 10 * PERIOD_NS;
    run(schedule, length_ns, &found);
    const int64_t hyperperiods = assert_healthy(&found, &expected);
    ck_assert_int_ge(hyperperiods, policy == PREM_OVERRUN_STOP ? 1 : 3);
    if (length_ns[0] <= 100 && length_ns[1] <= 100 && length_ns[2] <= 100)
      ck_assert_int_eq(hyperperiods, HYPERPERIODS); /* early is in time */
    whole += hyperperiods == HYPERPERIODS;
    cut += !ends;
    overruns += found.state.overruns;
  }
  ck_assert_int_gt(whole, LENGTHS);
  ck_assert_int_gt(cut, LENGTHS);
  ck_assert_int_gt(overruns, LENGTHS * LENGTHS);
}
