/* SPDX-License-Identifier: Apache-2.0 */
/** For tests of operating modes with plans of their own: does a trace follow the plan of each
 *  hyperperiod's mode? */
#pragma once

#include "tests/common/live.h"

#include "prem/model/modes.h"

/** The instants of one plan, and who has none. */
typedef struct mode_instants {
  prem_slot *slots;
  int64_t count;
} mode_instants;

static inline const prem_slot *find_instant(const mode_instants *plan,
                                            const prem_trace_record *record) {
  for (int64_t s = 0; s < plan->count; ++s)
    if (plan->slots[s].task == record->task && plan->slots[s].job == record->job &&
        plan->slots[s].tile == record->tile && plan->slots[s].phase == record->phase &&
        plan->slots[s].block == record->block)
      return &plan->slots[s];
  return NULL;
}

enum { LEAD_NS = 32 };

/** Each phase stands in the plan of its hyperperiod's mode, its task has jobs there, and it has not
 *  begun before its instant, but for a step of a GPU's clock, by which copies are led. Returns how
 *  many began late. */
static inline int64_t assert_by_plans(const prem_schedule *schedule, const prem_trace *trace,
                                      uint64_t seed) {
  mode_instants plans[PREM_MAX_OPERATING_MODES];
  FREED uint32_t *off = calloc((size_t)schedule->task_count + 1, sizeof *off);
  int64_t late = 0;
  ck_assert_int_eq(prem_tasks_off(schedule, off), PREM_OK);
  for (int32_t m = 0; m < schedule->operating_mode_count; ++m)
    ck_assert_int_eq(prem_plan_expand(schedule, prem_schedule_plan_of(schedule, m), &plans[m].slots,
                                      &plans[m].count, NULL),
                     PREM_OK);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int32_t mode = trace->operating_mode[r->hyperperiod];
    const prem_slot *slot = find_instant(&plans[mode], r);
    ck_assert_msg(slot && !(off[r->task] >> mode & 1),
                  "seed %llu: '%s' in hyperperiod %d, but not in the plan of '%s'",
                  (unsigned long long)seed, schedule->tasks[r->task].name, r->hyperperiod,
                  schedule->operating_modes[mode].name);
    if (r->release_ns == PREM_NO_RELEASE)
      continue;
    ck_assert_msg(r->release_ns == trace->epoch_ns[r->hyperperiod] + slot->planned_ns &&
                      r->start_ns >= r->release_ns - LEAD_NS,
                  "seed %llu: '%s' starts at %lld", (unsigned long long)seed,
                  schedule->tasks[r->task].name, (long long)r->start_ns);
    late += r->start_ns > r->release_ns;
  }
  for (int32_t m = 0; m < schedule->operating_mode_count; ++m)
    free(plans[m].slots);
  return late;
}

/* So much of the memory a phase takes, and until when. */
static inline int64_t memory_taken(const prem_schedule *schedule, const prem_trace_record *record,
                                   int64_t *until_ns) {
  const prem_phase_spec *phase = &schedule->tasks[record->task].phase[record->phase];
  *until_ns = record->start_ns + phase->busy_ns;
  return phase->demand ? phase->demand[0] : 0;
}

/** Where nothing was late, no more of the memory was in use than there is, whatever plans followed
 *  each other. For resources that blocks do not take as a gang, and plans without chains and pairs.
 */
static inline void assert_shared(const prem_schedule *schedule, const prem_trace *trace,
                                 uint64_t seed) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    int64_t taken = 0, until_ns;
    for (int64_t j = 0; j < trace->record_count; ++j) {
      const prem_trace_record *r = &trace->records[j];
      const int64_t demand = memory_taken(schedule, r, &until_ns);
      if (r->start_ns <= trace->records[i].start_ns && trace->records[i].start_ns < until_ns)
        taken += demand;
    }
    ck_assert_msg(taken <= schedule->platform.resources[0].capacity,
                  "seed %llu: %lld of the memory in use at %lld", (unsigned long long)seed,
                  (long long)taken, (long long)trace->records[i].start_ns);
  }
}

/* ---- a session that switches --------------------------------------------------------------------
 */

/** a makes mid of x, b makes y of that, c makes z of x, on two blocks and one memory. */
static inline const char *three_tasks(const char *modes, const char *of_task, int64_t unit) {
  const char *phases =
      text("prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
           " writeback: { wcet_ns = %lldL; };",
           (long long)(100 * unit), (long long)(300 * unit), (long long)(100 * unit));
  const char *period =
      text("period_ns = %lldL; tile = [ 8 ]; %s", (long long)(4000 * unit), phases);
  return text("version = 1; name = \"plans\"; platform: { blocks = 2; };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"mid\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 16 ]; },"
              "  { name = \"z\"; type = \"f32\"; shape = [ 16 ]; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s %s"
              "    arrays: { in = \"x\"; out = \"mid\"; }; },"
              "  { name = \"b\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s"
              "    arrays: { in = \"mid\"; out = \"y\"; }; after = ( { task = \"a\"; } ); },"
              "  { name = \"c\"; kernel = \"vector_increment\"; blocks = \"0-1\"; %s"
              "    arrays: { in = \"x\"; out = \"z\"; }; after = ( { task = \"b\"; } ); } );"
              "live: { inputs = ( { array = \"x\"; } );"
              "  outputs = ( { array = \"y\"; kind = \"queuing\"; buffers = 8; },"
              "    { array = \"z\"; kind = \"queuing\"; buffers = 8; } ); %s };",
              period, of_task, period, period, modes);
}

enum { X, Y, Z }; /* streams */

/** A session on threads or a GPU of three modes, two of which share no task: whichever is on, its
 *  result is the frame's, and the trace has each phase where its mode's plan puts it. */
static inline void follow_plans(const char *backend, prem_mode mode) {
  enum { ROUNDS = 200, MOST_ROUNDS = 20 * ROUNDS, UNIT_NS = 250 };
  const int64_t patience_ns = INT64_C(60000000000);
  OWNED(prem_schedule) *schedule = prepared_schedule(
      three_tasks("operating_modes = ( { name = \"y\"; off = [ \"c\" ]; policy: { }; },"
                  "  { name = \"z\"; off = [ \"a\" ]; policy: { }; }, { name = \"both\"; } );",
                  "", UNIT_NS));
  const int64_t length_ns = schedule->plan->hyperperiod_ns;
  OWNED(prem_live) *live = open_live_on(backend, schedule);
  OWNED(prem_trace) *trace = NULL;
  int64_t shown[3] = {0};
  ck_assert_int_eq(prem_trace_new(schedule, 2000, 100000, &trace), PREM_OK);
  ck_assert_int_eq(feed(live, X, 7, NULL), PREM_OK);
  start_live(live, &(prem_live_request){.trace = trace, .mode = mode});
  bool is_last = false;
  for (int i = 0; !is_last && i < MOST_ROUNDS; ++i) {
    is_last = i >= ROUNDS && shown[0] > 0 && shown[1] > 0 && shown[2] > 0;
    ck_assert_int_eq(prem_live_switch(live, i * 7 % 13 % 3, NULL), PREM_OK);
    if (is_last)
      ck_assert_int_eq(prem_live_stop(live, true, prem_live_now_ns(live) + patience_ns, NULL),
                       PREM_OK);
    else
      prem_live_sleep_until(live, prem_live_now_ns(live) + i * 37 % 300 * length_ns / 100);
    for (int32_t stream = Y; stream <= Z; ++stream) {
      float value;
      prem_frame frame;
      while (fetch(live, stream, 0, &value, &frame) == PREM_OK) {
        ck_assert_float_eq(value, stream == Y ? 9 : 8);
        ck_assert(frame.operating_mode == 2 || frame.operating_mode == stream - Y);
        ++shown[frame.operating_mode];
      }
    }
  }
  ck_assert(is_last);
  ck_assert_int_gt(trace->record_count, 0);
  assert_by_plans(schedule, trace, 0);
}
