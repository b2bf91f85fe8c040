/* SPDX-License-Identifier: Apache-2.0 */
/* Turnarounds told from traces: of the simulator, which takes those of the schedule, and of stamps
 * made up. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "measure/turnarounds.h"

enum { TASKS = 3 }; /* at most */

static const char *source_of(int buffers, const char *more) {
  return text("version = 1; name = \"one\"; platform: { blocks = 1; buffers = %d; };"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3;"
              "  prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
              "  writeback: { wcet_ns = 30L; }; } %s );",
              buffers, more);
}

static prem_schedule *prepared(const char *source, int64_t compute_ns, int64_t writeback_ns) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text(source);
  schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = compute_ns;
  schedule->tasks[0].phase[PREM_WRITEBACK].turnaround_ns = writeback_ns;
  if (prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with(source, diag);
  return schedule;
}

typedef struct seen {
  int64_t count, min_ns, max_ns;
} seen;

static seen job_seen; /* of the first task */
static seen prefetches_seen, computes_seen;

static void measure(const prem_schedule *schedule, const prem_trace *trace, prem_mode mode,
                    seen out[TASKS * PREM_PHASE_COUNT]) {
  prem_times times[TASKS * PREM_PHASE_COUNT] = {{0}}, jobs[TASKS] = {{0}}, prefetches = {0},
                           computes = {0};
  const prem_turnarounds_of run = {
      .schedule = schedule, .trace = trace, .mode = mode, .clock_step_ns = 1, .told_ns = 40};
  ck_assert_int_eq(
      prem_turnarounds_add(&run, &(prem_turnaround_times){times, jobs, &computes, &prefetches}),
      PREM_OK);
  job_seen = (seen){jobs[0].count, jobs[0].min_ns, jobs[0].max_ns};
  prefetches_seen = (seen){prefetches.count, prefetches.min_ns, prefetches.max_ns};
  computes_seen = (seen){computes.count, computes.min_ns, computes.max_ns};
  prem_times_free(&prefetches);
  prem_times_free(&computes);
  for (int t = 0; t < TASKS; ++t)
    prem_times_free(&jobs[t]);
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i) {
    out[i] = (seen){times[i].count, times[i].min_ns, times[i].max_ns};
    prem_times_free(&times[i]);
  }
}

static void assert_seen(const seen *of, int64_t count, int64_t min_ns, int64_t max_ns) {
  ck_assert_int_eq(of->count, count);
  if (count > 0) {
    ck_assert_int_eq(of->min_ns, min_ns);
    ck_assert_int_eq(of->max_ns, max_ns);
  }
}

/* Of three tiles two follow another one; the first one of the second hyperperiod waits for its
 * release, for the hyperperiod is as long as the turnaround asks for. */
TEST(the_simulator_takes_what_it_is_told) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_schedule) *schedule = prepared(source_of(1, ""), 7, 11);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  measure(schedule, trace, PREM_MODE_FREE, times);
  assert_seen(&times[PREM_PREFETCH], 0, 0, 0);
  assert_seen(&times[PREM_COMPUTE], 6, 7, 7);
  assert_seen(&times[PREM_WRITEBACK], 4, 11, 11);
}

TEST(with_buffers_a_prefetch_goes_its_own_way) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_schedule) *schedule = prepared(source_of(2, ""), 7, 11);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 1);
  measure(schedule, trace, PREM_MODE_FREE, times);
  assert_seen(&times[PREM_WRITEBACK], 0, 0, 0);
  ck_assert_int_gt(times[PREM_COMPUTE].count, 0);
  ck_assert_int_eq(times[PREM_COMPUTE].min_ns, 7);
}

static prem_trace_record *record_at(prem_trace *trace, int32_t task, int32_t tile,
                                    prem_phase phase) {
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].task == task && trace->records[i].tile == tile &&
        trace->records[i].phase == phase)
      return &trace->records[i];
  ck_abort_msg("no such record");
}

/* On time: what began at its release waited for that; what came later tells. */
TEST(only_what_is_late_tells) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_schedule) *schedule = prepared(source_of(1, ""), 0, 0);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&times[PREM_COMPUTE], 0, 0, 0);
  prem_trace_record *late = record_at(trace, 0, 1, PREM_WRITEBACK);
  late->start_ns += 2; /* the clock's steps */
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&times[PREM_COMPUTE], 0, 0, 0);
  late->start_ns += 3;
  record_at(trace, 0, 1, PREM_COMPUTE)->end_ns -= 10;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&times[PREM_COMPUTE], 1, 15, 15);
  assert_seen(&times[PREM_WRITEBACK], 0, 0, 0);
}

/* `b` begins behind `a` on the same block. */
TEST(a_message_is_no_turnaround) {
  const char *after = ", { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                      "    prefetch: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); }";
  seen times[TASKS * PREM_PHASE_COUNT];
  prem_schedule *schedule = prepared(source_of(1, after), 0, 0);
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  record_at(trace, 1, 0, PREM_PREFETCH)->start_ns += 100;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&times[PREM_WRITEBACK], 0, 0, 0);
  prem_trace_free(trace);
  prem_schedule_free(schedule);

  schedule = prepared(source_of(1, ", { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                                   "    prefetch: { wcet_ns = 10L; }; }"),
                      0, 0);
  trace = simulate(schedule, PREM_MODE_TT, 1);
  prem_trace_record *first = record_at(trace, 1, 0, PREM_PREFETCH);
  first->start_ns += 5; /* nobody but the block keeps it */
  first->end_ns += 5;
  measure(schedule, trace, PREM_MODE_TT, times);
  ck_assert_int_eq(times[PREM_WRITEBACK].count + times[PREM_PHASE_COUNT + PREM_PREFETCH].count, 1);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}

/* Two buffers: the writeback of `b`, another job's first one, stands right behind the last of `a`.
 */
TEST(from_job_to_job_a_writer_takes_longer) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_schedule) *schedule =
      prepared(source_of(2, ", { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                            "    writeback: { wcet_ns = 10L; }; }"),
               0, 0);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  prem_trace_record *first = record_at(trace, 1, 0, PREM_WRITEBACK);
  prem_trace_record *last = record_at(trace, 0, 2, PREM_WRITEBACK);
  first->release_ns = last->end_ns;
  first->start_ns = last->end_ns + 900;
  first->end_ns = first->start_ns + 10;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&job_seen, 1, 900, 900);
  assert_seen(&times[PREM_WRITEBACK], 0, 0, 0);
}

/* Two buffers: `a` has ended; the starter asks for it when `b`'s prefetch has begun, for `c`'s. */
static prem_schedule *asking(const char *more) {
  const char *source =
      "version = 1; name = \"asks\"; platform: { blocks = 2; buffers = 2; precedence_ns = 40L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "  writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; release_ns = 200L;"
      "  prefetch: { wcet_ns = 10L; }; },"
      "  { name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; release_ns = 200L; %s"
      "  prefetch: { wcet_ns = 10L; }; } );";
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text(text(source, more));
  if (prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with(source, diag);
  return schedule;
}

TEST(a_job_s_first_prefetch_asks_behind_another_s_start) {
  const char *after = "after = ( { task = \"a\"; } );";
  seen times[TASKS * PREM_PHASE_COUNT];
  prem_schedule *schedule = asking(after);
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  const prem_trace_record *before = record_at(trace, 1, 0, PREM_PREFETCH);
  prem_trace_record *next = record_at(trace, 2, 0, PREM_PREFETCH);
  ck_assert_int_eq(next->release_ns, before->start_ns + 10);
  next->ready_ns = before->start_ns + 9; /* on time: it was ready before */
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&prefetches_seen, 1, 9, 9);
  next->ready_ns = before->start_ns + 33;
  next->start_ns = before->start_ns + 35;
  next->end_ns = next->start_ns + 10;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&prefetches_seen, 1, 35, 35);
  assert_seen(&times[PREM_PREFETCH], 0, 0, 0);
  measure(schedule, trace, PREM_MODE_FREE, times); /* whom it waited for is not known */
  assert_seen(&prefetches_seen, 0, 0, 0);
  record_at(trace, 0, 0, PREM_WRITEBACK)->end_ns = before->start_ns - 39; /* told too late */
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&prefetches_seen, 0, 0, 0);
  prem_trace_free(trace);
  prem_schedule_free(schedule);

  schedule = asking(""); /* it asks for nobody */
  trace = simulate(schedule, PREM_MODE_TT, 1);
  next = record_at(trace, 2, 0, PREM_PREFETCH);
  next->start_ns += 25;
  next->end_ns += 25;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&prefetches_seen, 0, 0, 0);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}

/* Stamps of a GPU's block with two buffers, from its hyperperiod's start: a compute was to begin as
 * soon as its prefetch's window was over, when the one before it had ended long since. */
static prem_schedule *computing(prem_trace **trace) {
  static const struct {
    prem_phase phase;
    int32_t tile;
    int64_t release_ns, ready_ns, start_ns, end_ns;
  } stamps[] = {
      {PREM_PREFETCH, 0, 0, -10592, 0, 608},     {PREM_PREFETCH, 1, 1696, 864, 1696, 2048},
      {PREM_COMPUTE, 0, 1696, 384, 1696, 2752},  {PREM_WRITEBACK, 0, 3392, 3296, 3392, 4544},
      {PREM_COMPUTE, 1, 3392, 3488, 3552, 4608}, {PREM_WRITEBACK, 1, 5280, 4896, 5280, 6464}};
  prem_schedule *schedule = prepared(
      "version = 1; name = \"g\"; platform: { blocks = 1; buffers = 2; clock_step_ns = 32L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "  prefetch: { wcet_ns = 1690L; }; compute: { wcet_ns = 1344L; };"
      "  writeback: { wcet_ns = 1690L; }; } );",
      0, 0);
  *trace = simulate(schedule, PREM_MODE_TT, 1);
  for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; ++i) {
    prem_trace_record *record = record_at(*trace, 0, stamps[i].tile, stamps[i].phase);
    record->release_ns = stamps[i].release_ns;
    record->ready_ns = stamps[i].ready_ns;
    record->start_ns = stamps[i].start_ns;
    record->end_ns = stamps[i].end_ns;
  }
  return schedule;
}

TEST(from_compute_to_compute_its_warps_take_longer) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_trace) *trace = NULL;
  OWNED(prem_schedule) *schedule = computing(&trace);
  prem_trace_record *next = record_at(trace, 0, 1, PREM_COMPUTE);
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&computes_seen, 1, 3552 - 2752, 3552 - 2752);
  assert_seen(&times[PREM_COMPUTE], 0, 0, 0); /* its writeback began in time */
  next->release_ns = next->start_ns = 3520;   /* on time: its warps were ready before */
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&computes_seen, 1, 3488 - 2752, 3488 - 2752);
  for (int64_t i = 0; i < trace->record_count; ++i)
    trace->records[i].release_ns = PREM_NO_RELEASE;
  record_at(trace, 0, 1, PREM_PREFETCH)->start_ns = 1700;
  measure(schedule, trace, PREM_MODE_FREE, times);
  assert_seen(&computes_seen, 1, 3520 - 2752, 3520 - 2752);
}

/* Nothing that comes between hides it but what the compute itself waited for. */
TEST(a_compute_that_waited_for_more_tells_nothing) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_trace) *trace = NULL;
  OWNED(prem_schedule) *schedule = computing(&trace);
  prem_trace_record *own = record_at(trace, 0, 1, PREM_PREFETCH);
  own->end_ns = 2752;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&computes_seen, 1, 800, 800);
  own->end_ns = 2753;
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&computes_seen, 0, 0, 0);
  own->end_ns = 2048;
  own->phase = PREM_WRITEBACK; /* of whomever: its buffer may be the one that the compute fills */
  own->tile = 7;
  own->start_ns = 3000;
  record_at(trace, 0, 0, PREM_WRITEBACK)->end_ns = 9000; /* it goes on */
  prem_trace_record *next = record_at(trace, 0, 1, PREM_COMPUTE);
  static const struct {
    int64_t end_ns, start_ns, seen_ns;
  } cases[] = {
      {3300, 3552, 0},   {3552, 3552, 0},    {3553, 3552, 0}, /* stamped a step late */
      {3554, 3552, 800}, {2752, 3552, 800},  {2753, 3552, 0},
      {3552, 4552, 0},   {3551, 4552, 1800}, /* too long ago to be what it waited for */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    own->end_ns = cases[i].end_ns;
    next->start_ns = cases[i].start_ns;
    measure(schedule, trace, PREM_MODE_TT, times);
    assert_seen(&computes_seen, cases[i].seen_ns > 0, cases[i].seen_ns, cases[i].seen_ns);
  }
  schedule->tasks[0].phase[PREM_PREFETCH].exists = false; /* it may ask for others by itself */
  measure(schedule, trace, PREM_MODE_TT, times);
  assert_seen(&computes_seen, 0, 0, 0);
}

/* The end that it waited for may be among the lost ones. */
TEST(a_hyperperiod_with_lost_records_does_not_count) {
  seen times[TASKS * PREM_PHASE_COUNT];
  OWNED(prem_schedule) *schedule = prepared(source_of(1, ""), 7, 11);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  --trace->record_count; /* the last one of the second hyperperiod */
  trace->lost = 1;
  measure(schedule, trace, PREM_MODE_FREE, times);
  assert_seen(&times[PREM_COMPUTE], 3, 7, 7);
  assert_seen(&times[PREM_WRITEBACK], 2, 11, 11);
  ++trace->record_count;
}
