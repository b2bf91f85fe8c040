/* SPDX-License-Identifier: Apache-2.0 */
/* Why phases are late: traces whose every stamp is written by hand, and runs with known waits. */
#include <inttypes.h>

#include "measure/waits.h"
#include "tests/common/chain_trace.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* One block, two buffers; PF 100, C 150, WB 50 planned every 200. */
static const char one[] =
    "version = 1; name = \"one\";\n"
    "platform: { blocks = 2; buffers = 2; clock_step_ns = 1L; late_ns = 10L;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; } ); };\n"
    "tasks = (\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 150L; };\n"
    "    writeback: { wcet_ns = 50L; }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
    "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 10L; };\n"
    "    writeback: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); }\n"
    ");\n"
    "plan: { hyperperiod_ns = 3000L; runs = (\n"
    "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"a\"; phase = \"writeback\"; start_ns = 350L; repeat = 4; step_ns = 200L; },\n"
    "  { task = \"b\"; phase = \"prefetch\"; start_ns = 1100L; },\n"
    "  { task = \"b\"; phase = \"compute\"; start_ns = 1200L; },\n"
    "  { task = \"b\"; phase = \"writeback\"; start_ns = 1300L; }\n"
    "); };\n";
enum { A, B, TASKS };

static prem_schedule *schedule;
static prem_trace *trace;
static prem_late_causes causes[CHAIN_TASKS * PREM_PHASE_COUNT];
static prem_first_causes first;

static void set_up(void) {
  schedule = checked_schedule(one);
  ck_assert_int_eq(prem_trace_new(schedule, 2, 100, &trace), PREM_OK);
  prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
  memset(causes, 0, sizeof causes);
  first = (prem_first_causes){0};
}

static void tear_down(void) {
  prem_first_causes_free(&first);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}

/* A phase of tile `tile` of a, released, ready, begun and ended at these instants. */
static prem_trace_record *add(prem_phase phase, int32_t tile, int64_t release_ns, int64_t ready_ns,
                              int64_t start_ns, int64_t end_ns) {
  prem_trace_record *record = &trace->records[trace->record_count++];
  *record = (prem_trace_record){.release_ns = release_ns,
                                .ready_ns = ready_ns,
                                .start_ns = start_ns,
                                .end_ns = end_ns,
                                .tile = tile,
                                .task = A,
                                .block = 0,
                                .phase = (uint8_t)phase};
  prem_phase_stats_add(&trace->stats[A * PREM_PHASE_COUNT + (int)phase], record, INT64_MAX,
                       schedule->platform.late_ns);
  return record;
}

/* Each late release of a trace whose records are all there has one first cause. */
static void find_in(const prem_schedule *of, const prem_trace *in, int64_t clock_step_ns) {
  int64_t late = 0, told = 0;
  ck_assert_int_eq(prem_find_causes(of, in, 0, clock_step_ns, 0, causes, &first), PREM_OK);
  for (int64_t i = 0; i < in->record_count; ++i)
    late += in->records[i].release_ns != PREM_NO_RELEASE &&
            in->records[i].start_ns - in->records[i].release_ns > of->platform.late_ns;
  for (int64_t i = 0; i < first.count; ++i)
    told += first.causes[i].late;
  ck_assert_int_eq(told, late);
}

static void find(int64_t clock_step_ns) {
  prem_trace_sort(trace);
  find_in(schedule, trace, clock_step_ns);
}

/* Cause number `at` of so many. */
static const prem_first_cause *assert_first(int64_t at, int64_t count, prem_first_kind kind,
                                            int32_t task, int64_t late) {
  for (int64_t i = 0; i < first.count && first.count != count; ++i)
    printf("  %s of task %d, phase %d: %lld\n", prem_first_kind_name(first.causes[i].kind),
           first.causes[i].task, (int)first.causes[i].phase, (long long)first.causes[i].late);
  fflush(stdout);
  ck_assert_int_eq(first.count, count);
  ck_assert_str_eq(prem_first_kind_name(first.causes[at].kind), prem_first_kind_name(kind));
  ck_assert_int_eq(first.causes[at].task, task);
  if (late >= 0)
    ck_assert_int_eq(first.causes[at].late, late);
  return &first.causes[at];
}

/* So many late phases of a in all, this one among them. */
static void assert_cause(prem_phase phase, prem_cause cause, int64_t all) {
  int64_t count = 0;
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i)
    for (int c = 0; c < PREM_CAUSE_COUNT; ++c)
      count += causes[i].count[c];
  ck_assert_int_eq(count, all);
  ck_assert_int_ge(causes[A * PREM_PHASE_COUNT + (int)phase].count[cause], 1);
}

static void assert_blamed(prem_phase phase, int64_t blamed, int64_t widen_ns) {
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + (int)phase].blamed, blamed);
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + (int)phase].widen_ns, widen_ns);
}

GROUP("causes", .set_up = set_up, .tear_down = tear_down);

/* ---- cases of causes.txt -------------------------------------------------------------------- */

/* All that is known: causes and what is blamed of each phase, and first causes. */
static void tell(FILE *file) {
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i) {
    const char *task = schedule->tasks[i / PREM_PHASE_COUNT].name;
    const char *phase = prem_phase_name((prem_phase)(i % PREM_PHASE_COUNT));
    for (int c = 0; c < PREM_CAUSE_COUNT; ++c)
      if (causes[i].count[c])
        fprintf(file, "> %s %s: %d late by %s\n", task, phase, (int)causes[i].count[c],
                prem_cause_name((prem_cause)c));
    if (causes[i].blamed)
      fprintf(file, "> %s %s: blamed for %d, widen by %d ns\n", task, phase, (int)causes[i].blamed,
              (int)causes[i].widen_ns);
  }
  for (int64_t i = 0; i < first.count; ++i) {
    const prem_first_cause *of = &first.causes[i];
    fprintf(file,
            "> first %s: %s %s%s%s, %d late by up to %d ns, widen by %d ns, block %d at %d ns\n",
            prem_first_kind_name(of->kind), schedule->tasks[of->task].name,
            prem_phase_name(of->phase), of->from < 0 ? "" : ", from ",
            of->from < 0 ? "" : schedule->tasks[of->from].name, (int)of->late,
            (int)of->lateness_max_ns, (int)of->widen_ns, (int)of->block, (int)of->start_ns);
  }
}

/* As in `b prefetch 0: 1100 1150 1150 1250 block 1 # why`: when a tile's phase is released (-:
 * never), ready, begun and ended. */
static void add_line(const char *line) {
  char task, phase[16], release[24], more[16] = "";
  int tile, ready_ns, start_ns, end_ns, block = 0;
  ck_assert_int_ge(sscanf(line, "%c %15s %d: %23s %d %d %d %15s %d", &task, phase, &tile, release,
                          &ready_ns, &start_ns, &end_ns, more, &block),
                   7);
  prem_phase of = PREM_PREFETCH;
  while (strcmp(prem_phase_name(of), phase) != 0)
    ++of;
  prem_trace_record *record =
      add(of, tile, *release == '-' ? PREM_NO_RELEASE : atoi(release), ready_ns, start_ns, end_ns);
  record->task = task == 'b' ? B : A;
  record->block = (uint16_t)(strcmp(more, "block") == 0 ? block : record->task);
  record->flags = strcmp(more, "warm-up") == 0 ? PREM_SLOT_WARMUP : 0;
}

/* A case begins with its name (#), and ends with what is found (>) and an empty line. */
TEST(each_case_has_its_causes) {
  FILE *cases = fopen(SOURCE_DIR "/tests/measure/causes.txt", "r");
  ck_assert_ptr_nonnull(cases);
  char line[512], name[512] = "", expected[4096] = "", *found = NULL;
  size_t bytes = 0;
  int clock_step_ns = 1, count = 0;
  while (fgets(line, sizeof line, cases)) {
    if (*line == '#')
      strcpy(name, line);
    else if (*line == '>')
      strcat(expected, line);
    else if (sscanf(line, "step %d", &clock_step_ns) == 1 ||
             sscanf(line, "guard %" SCNd64, &schedule->platform.guard_ns) == 1)
      continue;
    else if (*line != '\n')
      add_line(line);
    if (*line != '\n')
      continue;
    find(clock_step_ns);
    FILE *file = open_memstream(&found, &bytes);
    tell(file);
    fclose(file);
    ck_assert_msg(strcmp(found, expected) == 0, "%sfound:\n%sexpected:\n%s", name, found, expected);
    free(found);
    tear_down();
    set_up();
    *expected = '\0';
    clock_step_ns = 1;
    ++count;
  }
  fclose(cases);
  ck_assert_int_ge(count, 40);
}

/* The same, found first by way of another task, on a block before it. */
TEST(room_for_the_first_that_waits_is_found_on_another_block) {
  add(PREM_WRITEBACK, 2, 750, 750, 750, 1000)->block = 1; /* 200 longer */
  add(PREM_WRITEBACK, 3, 950, 1000, 1000, 1050)->block = 1;
  prem_trace_record *behind = add(PREM_PREFETCH, 0, 1100, 1140, 1140, 1240);
  behind->task = B;
  find(1);
  assert_first(0, 1, PREM_FIRST_WINDOW, A, 2);
  assert_blamed(PREM_WRITEBACK, 2, 50);
}

/* A release is seen a step late at worst and stamped a step late; the third step is another's. */
TEST(three_steps_are_not_the_clock) {
  for (int64_t steps = 2; steps <= 3; ++steps) {
    prem_trace_clear(trace);
    prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
    prem_first_causes_free(&first);
    add(PREM_PREFETCH, 0, 0, 0, 0, 100);
    add(PREM_PREFETCH, 1, 200, 200, 200 + 32 * steps, 300 + 32 * steps);
    add(PREM_COMPUTE, 1, 300, 300 + 32 * steps, 300 + 32 * steps, 450 + 32 * steps);
    find(32);
    assert_first(0, 1, steps == 2 ? PREM_FIRST_CLOCK : PREM_FIRST_EXECUTOR, A, 2);
  }
}

/* A phase of b, on its block. */
static prem_trace_record *add_b(prem_phase phase, int64_t release_ns, int64_t ready_ns,
                                int64_t end_ns) {
  prem_trace_record *record = add(phase, 0, release_ns, ready_ns, ready_ns, end_ns);
  record->task = B;
  record->block = 1;
  return record;
}

TEST(a_busy_block_for_as_long_as_its_end_takes_to_be_seen) {
  for (int64_t late_ns = 0; late_ns <= 1; ++late_ns) {
    prem_trace_clear(trace);
    prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
    prem_first_causes_free(&first);
    add(PREM_WRITEBACK, 3, 950, 950, 950, 1145);
    add(PREM_PREFETCH, 1, 900, 900, 900, 1148)->block = 1;
    add_b(PREM_PREFETCH, 1100, 2148 + late_ns, 2248 + late_ns);
    find(1);
    assert_first(0, 1, late_ns ? PREM_FIRST_HANDOVER : PREM_FIRST_WINDOW, late_ns ? B : A, 1);
  }
}

/* `a` comes after nobody, but writes what `b` reads. */
static prem_schedule *sharing_schedule(void) {
  return checked_schedule(
      "version = 1; name = \"sharing\"; platform: { blocks = 2; };"
      "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { in = \"v\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    arrays: { in = \"a.out\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; };"
      "    after = ( { task = \"a\"; } ); } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; },"
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 20L; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 40L; } ); };");
}

/* The next job of a may not write before b has read. Its compute ended at 1020. */
static void write_after(const prem_schedule *sharing, int64_t written_ns) {
  add(PREM_COMPUTE, 0, PREM_NO_RELEASE, 1010, 1010, 1020)->hyperperiod = 1;
  add(PREM_WRITEBACK, 0, 1020, written_ns, written_ns, written_ns + 10)->hyperperiod = 1;
  prem_trace_sort(trace);
  find_in(sharing, trace, 1);
}

TEST(a_writer_that_must_not_overtake) {
  OWNED(prem_schedule) *sharing = sharing_schedule();
  add_b(PREM_PREFETCH, 40, 40, 50);
  add_b(PREM_COMPUTE, PREM_NO_RELEASE, 50, 4900); /* 4840 longer */
  add_b(PREM_WRITEBACK, PREM_NO_RELEASE, 4900, 4990);
  write_after(sharing, 5000);
  assert_cause(PREM_WRITEBACK, PREM_CAUSE_JOB, 1);
  ck_assert_int_eq(assert_first(0, 1, PREM_FIRST_WINDOW, B, 1)->phase, PREM_COMPUTE);
}

TEST(a_writer_that_hears_late_of_its_reader) {
  OWNED(prem_schedule) *sharing = sharing_schedule();
  add_b(PREM_PREFETCH, 40, 40, 50);
  add_b(PREM_COMPUTE, PREM_NO_RELEASE, 50, 60);
  add_b(PREM_WRITEBACK, PREM_NO_RELEASE, 60, 70);
  write_after(sharing, 5000);
  assert_cause(PREM_WRITEBACK, PREM_CAUSE_HANDOVER, 1);
  ck_assert_int_eq(assert_first(0, 1, PREM_FIRST_HANDOVER, A, 1)->from, B);
}

/* Nobody reads before the first writing. */
TEST(a_writer_that_waits_for_nobody) {
  OWNED(prem_schedule) *sharing = sharing_schedule();
  add(PREM_COMPUTE, 0, PREM_NO_RELEASE, 10, 10, 20);
  add(PREM_WRITEBACK, 0, 20, 20, 5000, 5010);
  prem_trace_sort(trace);
  find_in(sharing, trace, 1);
  assert_first(0, 1, PREM_FIRST_COLD, A, 1);
}

/* `a` comes after `b`, and reads what `d` wrote in the hyperperiod before: in the first one
 * nothing. */
TEST(a_job_that_would_wait_for_one_before_the_first) {
  OWNED(prem_schedule) *sharing = checked_schedule(
      "version = 1; name = \"before\"; platform: { blocks = 3; };"
      "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"w\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"blend\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { a = \"b.out\"; b = \"w\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; };"
      "    after = ( { task = \"b\"; } ); },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    arrays: { in = \"v\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"d\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 8 ];"
      "    arrays: { in = \"v\"; out = \"w\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; };"
      "    after = ( { task = \"a\"; } ); } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; },"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 40L; },"
      "  { task = \"d\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 100L; } ); };");
  OWNED(prem_trace) *run = NULL;
  prem_trace *kept = trace;
  ck_assert_int_eq(prem_trace_new(sharing, 1, 100, &run), PREM_OK);
  prem_trace_begin_periodically(run, 1000, 1);
  trace = run;
  add_b(PREM_PREFETCH, 0, 0, 10);
  add_b(PREM_COMPUTE, PREM_NO_RELEASE, 10, 4900); /* 4880 longer */
  add_b(PREM_WRITEBACK, PREM_NO_RELEASE, 4900, 4990);
  add(PREM_PREFETCH, 0, 40, 5000, 5000, 5010);
  prem_trace_sort(run);
  find_in(sharing, run, 1);
  assert_cause(PREM_PREFETCH, PREM_CAUSE_JOB, 1);
  ck_assert_int_eq(assert_first(0, 1, PREM_FIRST_WINDOW, B, 1)->phase, PREM_COMPUTE);
  trace = kept;
}

/* One of each of two blocks, at the same instant: no pair. */
TEST(halves_are_of_one_block) {
  add(PREM_WRITEBACK, 0, 500, 500, 500, 600)->flags = PREM_SLOT_JOINED;
  prem_trace_record *other = add(PREM_PREFETCH, 0, 500, 500, 500, 600);
  other->task = B;
  other->block = 1;
  other->flags = PREM_SLOT_JOINED;
  prem_trace_sort(trace);
  prem_waits waits;
  ck_assert_int_eq(prem_waits_open(schedule, trace, 1, &waits), PREM_OK);
  for (int64_t at = 0; at < 2; ++at)
    ck_assert_int_eq(prem_other_half(&waits, at), -1);
  prem_waits_close(&waits);
}

/* Nobody has checked the plan. */
TEST(jobs_that_do_not_exist_are_left_out) {
  schedule->plan->affine[0].job = -1;
  schedule->plan->affine[5].job = 2;
  add(PREM_PREFETCH, 0, 0, 0, 90, 190);
  ck_assert_int_eq(prem_find_causes(schedule, trace, 0, 1, 0, causes, &first), PREM_OK);
  ck_assert_int_eq(first.count, 1);
}

/* Jobs of b follow the latest job of a, which is four times as fast, 30 ns after its end. */
TEST(jobs_of_unequal_periods) {
  OWNED(prem_schedule) *rates = checked_schedule(
      "version = 1; name = \"rates\"; platform: { blocks = 2; late_ns = 10L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    period_ns = 250L; compute: { wcet_ns = 100L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 1000L;"
      "    release_ns = 600L; compute: { wcet_ns = 50L; };"
      "    after = ( { task = \"a\"; lag_ns = 30L; instance = \"latest\"; } ); } );"
      "plan: { hyperperiod_ns = 1000L; runs = ("
      "  { task = \"a\"; phase = \"compute\"; start_ns = 0L; jobs = 4; },"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 630L; } ); };");
  OWNED(prem_trace) *run = NULL;
  ck_assert_int_eq(prem_trace_new(rates, 1, 100, &run), PREM_OK);
  prem_trace_begin_periodically(run, 1000, 1);
  prem_trace *kept = trace;
  trace = run;
  for (int32_t job = 0; job < 4; ++job) /* the third one takes 60 longer */
    add(PREM_COMPUTE, 0, 250 * job, 250 * job, 250 * job, 250 * job + (job == 2 ? 160 : 100))->job =
        job;
  prem_trace_record *last = add_b(PREM_COMPUTE, 630, 690, 740);
  last->job = 0;
  prem_trace_sort(run);
  find_in(rates, run, 1);
  const prem_first_cause *cause = assert_first(0, 1, PREM_FIRST_WINDOW, A, 1);
  ck_assert_int_eq(cause->job, 2);
  ck_assert_int_eq(cause->widen_ns, 60);
  trace = kept;
}

TEST(nothing_late_nothing_said) {
  add(PREM_PREFETCH, 0, 0, 0, 10, 110); /* within late_ns */
  find(1);
  for (int i = 0; i < TASKS * PREM_PHASE_COUNT; ++i)
    ck_assert_int_eq(causes[i].blamed, 0);
}

TEST(hyperperiods_that_do_not_count) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 140);
  add(PREM_COMPUTE, 0, 100, 140, 140, 290);
  prem_trace_sort(trace);
  ck_assert_int_eq(prem_find_causes(schedule, trace, 1, 1, 0, causes, &first), PREM_OK);
  assert_blamed(PREM_PREFETCH, 0, 0);
  ck_assert_int_eq(first.count, 0);
}

/* A lost record may be the culprit: then nothing is said. */
TEST(lost_records_make_no_executor_late) {
  add(PREM_PREFETCH, 0, 0, 0, 0, 100);
  add(PREM_PREFETCH, 1, 200, 200, 300, 400);
  trace->lost = 1;
  find(1);
  ck_assert_int_eq(causes[PREM_PREFETCH].count[PREM_CAUSE_EXECUTOR], 0);
  assert_first(0, 1, PREM_FIRST_LOST, A, 1);
}

/* The run counts all ends, so it is known that the job before it ended in time, or not. */
TEST(a_job_whose_last_record_is_lost) {
  for (int64_t end_ns = 1000; end_ns <= 1120; end_ns += 120) {
    prem_trace_clear(trace);
    prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
    prem_first_causes_free(&first);
    add(PREM_PREFETCH, 0, 0, 0, 0, 100);
    add_b(PREM_PREFETCH, 1100, 1150, 1250);
    trace->lost = 11;
    trace->job_end_ns[trace->first_job[A]] = end_ns;
    find(1);
    if (end_ns == 1000)
      assert_first(0, 1, PREM_FIRST_HANDOVER, B, 1);
    else
      assert_first(0, 1, PREM_FIRST_LOST, B, 1);
  }
}

/* ---- chains of tasks on many blocks ---------------------------------------------------------- */

static int64_t slow_handover(int64_t hyperperiod, int32_t task) {
  return hyperperiod == 0 && task == 1 ? 48000 : 0;
}

static int64_t long_compute(int64_t hyperperiod, int32_t task, int32_t block, int32_t tile,
                            prem_phase phase) {
  return hyperperiod == 0 && task == 1 && block == 77 && tile == 2 && phase == PREM_COMPUTE ? 60000
                                                                                            : 0;
}

static int64_t long_prefetch_of_c(int64_t hyperperiod, int32_t task, int32_t block, int32_t tile,
                                  prem_phase phase) {
  return hyperperiod == 1 && task == 2 && block == 5 && tile == 0 && phase == PREM_PREFETCH ? 9000
                                                                                            : 0;
}

/* Each phase a little longer than its window, one after the other. */
static int64_t all_prefetches_of_b(int64_t hyperperiod, int32_t task, int32_t block, int32_t tile,
                                   prem_phase phase) {
  (void)hyperperiod, (void)block, (void)tile;
  return task == 1 && phase == PREM_PREFETCH ? 1200 : 0;
}

/* Of 132 blocks, eight tiles each a task. */
static chain_run wide_run(void) {
  return (chain_run){.blocks = 132, .tiles = 8, .hyperperiods = 2, .idle_ns = 400000};
}

/* Into `causes` and `first`; `late`: of all its releases. */
static void find_in_chain(const chain_run *run, int64_t *late) {
  OWNED(prem_schedule) *chain = chain_schedule(run);
  OWNED(prem_trace) *wide = chain_trace(run, chain);
  assert_checked(chain);
  memset(causes, 0, sizeof causes);
  prem_first_causes_free(&first);
  find_in(chain, wide, 32);
  *late = 0;
  for (int i = 0; i < CHAIN_TASKS * PREM_PHASE_COUNT; ++i)
    *late += wide->stats[i].late;
}

TEST(one_slow_handover_is_one_cause) {
  for (int way = 0; way < 4; ++way) {
    chain_run run = wide_run();
    int64_t late;
    run.delay_ns = slow_handover;
    run.apart = way & 1;
    run.asks_twice = way & 2;
    find_in_chain(&run, &late);
    ck_assert_int_ge(late, 2 * 132 * 8 * 3); /* all phases of b and c */
    const prem_first_cause *cause = assert_first(0, 1, PREM_FIRST_HANDOVER, 1, late);
    ck_assert_int_eq(cause->from, 0);
    ck_assert_int_ge(cause->widen_ns, 48000 + CHAIN_HANDOVER_NS - CHAIN_GAP_NS);
    ck_assert_int_eq(cause->tile, 0);
    ck_assert_int_eq(cause->block, 0);
    ck_assert_int_eq(cause->run, 0);
    ck_assert_int_gt(causes[PREM_PHASE_COUNT * 2].count[PREM_CAUSE_JOB], 0);
  }
}

TEST(one_long_phase_is_one_cause) {
  chain_run run = wide_run();
  int64_t late;
  run.excess_ns = long_compute;
  find_in_chain(&run, &late);
  ck_assert_int_ge(late, 132 * 8 * 3); /* all phases of c */
  const prem_first_cause *cause = assert_first(0, 1, PREM_FIRST_WINDOW, 1, late);
  ck_assert_int_eq(cause->phase, PREM_COMPUTE);
  ck_assert_int_eq(cause->block, 77);
  ck_assert_int_eq(cause->tile, 2 * 132 + 77);
  ck_assert_int_le(cause->widen_ns, 60000);
  ck_assert_int_ge(cause->widen_ns, 59000);
  ck_assert_int_eq(causes[PREM_PHASE_COUNT + PREM_COMPUTE].blamed, late);
}

TEST(two_causes_are_two) {
  chain_run run = wide_run();
  int64_t late;
  run.delay_ns = slow_handover;
  run.excess_ns = long_prefetch_of_c;
  find_in_chain(&run, &late);
  const prem_first_cause *cause = assert_first(1, 2, PREM_FIRST_WINDOW, 2, -1);
  ck_assert_int_eq(cause->run, 1);
  ck_assert_int_eq(cause->block, 5);
  ck_assert_int_lt(cause->late, 8 * 3);
  assert_first(0, 2, PREM_FIRST_HANDOVER, 1, late - cause->late);
}

TEST(a_window_too_short_for_all_is_one_cause) {
  chain_run run = wide_run();
  int64_t late;
  run.excess_ns = all_prefetches_of_b;
  find_in_chain(&run, &late);
  ck_assert_int_eq(assert_first(0, 1, PREM_FIRST_WINDOW, 1, late)->phase, PREM_PREFETCH);
}

/* Runs add up; the place stays where it was seen first. */
TEST(runs_add_up) {
  chain_run run = wide_run();
  run.blocks = 3;
  run.delay_ns = slow_handover;
  OWNED(prem_schedule) *chain = chain_schedule(&run);
  OWNED(prem_trace) *some = chain_trace(&run, chain);
  for (int64_t number = 7; number < 9; ++number)
    ck_assert_int_eq(prem_find_causes(chain, some, 0, 32, number, causes, &first), PREM_OK);
  const int64_t late = first.causes[0].late;
  ck_assert_int_eq(assert_first(0, 1, PREM_FIRST_HANDOVER, 1, late)->run, 7);
  ck_assert_int_eq(late % 2, 0);
}

/* ---- units and pairs ------------------------------------------------------------------------- */

/* What sees its end sees it within 1000 ns. */
TEST(a_writeback_holds_up_a_prefetch_for_as_long_as_its_end_takes_to_be_seen) {
  for (int64_t late_ns = 0; late_ns <= 1; ++late_ns) {
    prem_trace_clear(trace);
    prem_trace_begin_periodically(trace, schedule->plan->hyperperiod_ns, 2);
    prem_first_causes_free(&first);
    add(PREM_PREFETCH, 0, 0, 0, 0, 100);
    add(PREM_WRITEBACK, 0, 150, 150, 150, 390);
    add(PREM_PREFETCH, 1, 300, 300, 1390 + late_ns, 1490 + late_ns);
    find(1);
    assert_first(0, 1, late_ns ? PREM_FIRST_EXECUTOR : PREM_FIRST_WINDOW, A, 1);
  }
}

/* Three pairs of a prefetch and a writeback; the first one takes 90 longer than its 150. */
TEST(a_joined_pair_is_one_window) {
  for (int32_t k = 0; k < 3; ++k) {
    const int64_t start_ns = 300 * k + (k ? 90 : 0); /* behind the compute before */
    const int64_t end_ns = start_ns + (k ? 150 : 240);
    prem_trace_record *fetch = add(PREM_PREFETCH, k + 2, 300 * k, start_ns, start_ns, end_ns);
    prem_trace_record *write = add(PREM_WRITEBACK, k, 300 * k, start_ns, start_ns, end_ns);
    fetch->flags = write->flags = PREM_SLOT_JOINED;
    add(PREM_COMPUTE, k + 2, 300 * k + 150, end_ns, end_ns, end_ns + 150);
  }
  find(1);
  const prem_first_cause *cause = assert_first(0, 1, PREM_FIRST_WINDOW, A, -1);
  ck_assert_int_eq(cause->phase, PREM_PREFETCH);
  ck_assert(cause->joined);
  ck_assert_int_eq(cause->tile, 2);
  /* what one half waits for, both do */
  ck_assert_int_eq(causes[PREM_PREFETCH].count[PREM_CAUSE_BUFFER], 2);
  ck_assert_int_eq(causes[PREM_WRITEBACK].count[PREM_CAUSE_BUFFER], 2);
}

/* In earnest: on the simulator b meets a, whose plan says that they never do, for 100 ns. */
TEST(a_simulated_overload_is_traced_to_its_window) {
  OWNED(prem_schedule) *tight = schedule_from_text(
      "version = 1; name = \"tight\";\n"
      "platform: { blocks = 2; clock_step_ns = 1L; };\n"
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;\n"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; },\n"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;\n"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; }\n"
      ");\n"
      "plan: { hyperperiod_ns = 600L; runs = (\n"
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 2; step_ns = 300L; },\n"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 2; step_ns = 300L; },\n"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 50L; },\n"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 150L; }\n"
      "); };\n"); /* refused by the checker: they share the memory from 50 on */
  OWNED(prem_trace) *run = simulate(tight, PREM_MODE_TT, 1);
  ck_assert_int_eq(prem_find_causes(tight, run, 0, 1, 0, causes, &first), PREM_OK);
  /* a's prefetch ends at 150, b's at 200 */
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + PREM_COMPUTE].count[PREM_CAUSE_DATA], 1);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_COMPUTE].count[PREM_CAUSE_DATA], 1);
  ck_assert_int_eq(causes[A * PREM_PHASE_COUNT + PREM_PREFETCH].widen_ns, 50);
  ck_assert_int_eq(causes[B * PREM_PHASE_COUNT + PREM_PREFETCH].widen_ns, 50);
}

/* The same, and c, on a block of its own, follows a. */
TEST(a_simulated_overload_is_traced_across_tasks) {
  OWNED(prem_schedule) *tight = schedule_from_text(
      "version = 1; name = \"tight\"; platform: { blocks = 3; clock_step_ns = 1L; };"
      "tasks = ("
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "    prefetch: { wcet_ns = 100L; }; },"
      "  { name = \"c\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 3;"
      "    compute: { wcet_ns = 50L; }; after = ( { task = \"a\"; } ); } );"
      "plan: { hyperperiod_ns = 600L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 50L; },"
      "  { task = \"c\"; phase = \"compute\"; start_ns = 170L; repeat = 3; step_ns = 50L; } ); };");
  OWNED(prem_trace) *run = simulate(tight, PREM_MODE_TT, 2);
  find_in(tight, run, 1);
  const prem_first_cause *cause = assert_first(0, 1, PREM_FIRST_WINDOW, 0, 6);
  ck_assert_int_eq(cause->phase, PREM_PREFETCH);
  ck_assert_int_eq(cause->widen_ns, 30); /* a ends at 200 */
}
