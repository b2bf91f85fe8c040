/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told from the traces of random schedules and sets on a made-up machine, module by module
 * and number by number, is what it was (see tests/common/golden.h): a result alone would hide most
 * of it.
 */
/* ctest: release */
#include "measure/chain_latency.h"
#include "measure/disturbed.h"
#include "measure/handovers.h"
#include "measure/job_times.h"
#include "measure/kept.h"
#include "measure/resource_usage.h"
#include "measure/standstills.h"
#include "measure/turnarounds.h"
#include "measure/waits.h"
#include "prem/base/numbers.h"

#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"
#include "tests/common/random_set.h"
#include "ttprem/ttprem_measure.h"

enum { SEEDS = 1000, WHOLE = 160, HYPERPERIODS = 4 };

static uint64_t sum, drawn;

static int64_t draw(int64_t below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((drawn >> 33) % (uint64_t)below);
}

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void add_all(const int64_t *values, int64_t count) {
  add(count);
  sum = golden_sum(sum, values, (size_t)count * sizeof *values);
}

static void tell(FILE *file, const char *what) {
  fprintf(file, " %s %08" PRIx32, what, (uint32_t)(sum ^ sum >> 32));
  sum = GOLDEN_SUM;
}

static void add_times(const prem_times *times) {
  add(times->count);
  add(times->min_ns);
  add(times->max_ns);
  for (int64_t i = 0; i < times->distinct; ++i) {
    add(times->list[i].ns);
    add(times->list[i].count);
  }
}

static void free_times(prem_times *times, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    prem_times_free(&times[i]);
  free(times);
}

/* ---- one trace ------------------------------------------------------------------------------- */

static const int64_t steps_ns[] = {1, 32, 500};

static void tell_waits(FILE *file, const prem_schedule *schedule, const prem_trace *trace) {
  prem_waits waits;
  ck_assert_int_eq(prem_waits_open(schedule, trace, steps_ns[draw(3)], &waits), PREM_OK);
  add(waits.look_back);
  add(waits.apart);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_wait wait = prem_wait_of(&waits, i);
    const int64_t all[] = {waits.order[i],
                           waits.begins[i],
                           wait.cause,
                           wait.known + 2 * wait.lost + 4 * wait.until_start,
                           wait.culprit,
                           wait.from,
                           prem_tile_before(&waits, i),
                           prem_other_half(&waits, i),
                           prem_due_ns(&waits, i),
                           prem_excess_ns(&waits, i),
                           prem_record_is_late(&waits, i)};
    add_all(all, sizeof all / sizeof *all);
    if (!waits.begins[i])
      continue;
    const prem_predecessor before =
        prem_predecessor_of(waits.predecessors, prem_record_at(&waits, i));
    add(before.exists + 2 * before.known);
    if (before.exists)
      add(before.task);
    if (before.exists && before.known) {
      add(before.free_ns);
      add(before.tardy_ns);
      add(before.record);
    }
  }
  prem_waits_close(&waits);
  tell(file, "waits");
}

static void tell_causes(FILE *file, const prem_schedule *schedule, const prem_trace *trace) {
  const int32_t phases = schedule->task_count * PREM_PHASE_COUNT;
  prem_late_causes *causes = calloc((size_t)phases, sizeof *causes);
  prem_first_causes first = {0};
  for (int i = 0; i < 2; ++i)
    ck_assert_int_eq(
        prem_find_causes(schedule, trace, draw(3), steps_ns[draw(3)], 10 * i, causes, &first),
        PREM_OK);
  for (int32_t i = 0; i < phases; ++i) {
    add_all(causes[i].count, PREM_CAUSE_COUNT);
    add(causes[i].blamed);
    add(causes[i].widen_ns);
  }
  for (int64_t i = 0; i < first.count; ++i) {
    const prem_first_cause *of = &first.causes[i];
    const int64_t all[] = {of->kind,    of->task, of->phase,    of->joined,
                           of->from,    of->late, of->run,      of->block,
                           of->tile,    of->job,  of->start_ns, of->lateness_max_ns,
                           of->widen_ns};
    add_all(all, sizeof all / sizeof *all);
  }
  prem_first_causes_free(&first);
  free(causes);
  tell(file, "causes");
}

static void tell_breaks(FILE *file, const prem_schedule *schedule, const prem_trace *trace) {
  static const int64_t limits_ns[] = {0, 1, 500, 2000, 100000};
  for (int i = 0; i < 5; ++i) {
    prem_break found = {0};
    prem_late_find late;
    const int64_t discard = draw(3);
    add(prem_find_break(trace, limits_ns[i], discard, 7, &found));
    ck_assert_int_eq(prem_find_late(schedule, trace, 32, limits_ns[i], draw(4) - 1, &late),
                     PREM_OK);
    const prem_break *both[] = {&found, &late.release};
    for (int b = 0; b < 2; ++b) {
      const int64_t all[] = {both[b]->found, both[b]->has_place, both[b]->lateness_ns,
                             both[b]->task,  both[b]->phase,     both[b]->run,
                             both[b]->block, both[b]->tile,      both[b]->job};
      add_all(all, both[b]->has_place ? 9 : both[b]->found ? 5 : 1);
    }
    add(late.has_cause);
    if (late.has_cause) {
      add(late.cause.kind);
      add(late.cause.task);
      add(late.cause.lateness_max_ns);
    }
  }
  tell(file, "breaks");
}

static void tell_lengths(FILE *file, const prem_schedule *schedule, const prem_trace *trace,
                         prem_mode mode) {
  const int32_t tasks = schedule->task_count, phases = tasks * PREM_PHASE_COUNT;
  static const int64_t told_ns[] = {0, 300, 4000};
  prem_times *handovers = calloc((size_t)tasks, sizeof *handovers);
  prem_times *turnarounds = calloc((size_t)phases, sizeof *turnarounds);
  prem_times *jobs = calloc((size_t)tasks, sizeof *jobs);
  prem_times *prefetches = calloc(1, sizeof *prefetches);
  prem_times *computes = calloc(1, sizeof *computes);
  const prem_turnaround_times out = {turnarounds, jobs, computes, prefetches};
  const prem_turnarounds_of run = {.schedule = schedule,
                                   .trace = trace,
                                   .mode = mode,
                                   .from = draw(2),
                                   .clock_step_ns = steps_ns[draw(3)],
                                   .told_ns = told_ns[draw(3)]};
  ck_assert_int_eq(prem_handovers_add(schedule, trace, draw(2), handovers), PREM_OK);
  ck_assert_int_eq(prem_turnarounds_add(&run, &out), PREM_OK);
  for (int32_t t = 0; t < tasks; ++t)
    add_times(&handovers[t]);
  tell(file, "handovers");
  for (int32_t i = 0; i < phases; ++i)
    add_times(&turnarounds[i]);
  for (int32_t t = 0; t < tasks; ++t)
    add_times(&jobs[t]);
  add_times(prefetches);
  add_times(computes);
  tell(file, "turnarounds");
  free_times(handovers, tasks);
  free_times(turnarounds, phases);
  free_times(jobs, tasks);
  free_times(prefetches, 1);
  free_times(computes, 1);
}

static void tell_violations(FILE *file, const prem_schedule *schedule, const prem_trace *trace) {
  static const int64_t skews_ns[] = {0, 1, 700, 100000};
  for (int i = 0; i < 4; ++i) {
    int64_t certain = -1, possible = -1;
    ck_assert_int_eq(prem_violations(schedule, trace, draw(3), skews_ns[i], &certain, &possible),
                     PREM_OK);
    add(certain);
    add(possible);
  }
  tell(file, "violations");
}

static void tell_stops(FILE *file, const prem_trace *trace) {
  static const int64_t min_ns[] = {1000, 2000, 5000, 40000};
  prem_standstills all = {0};
  for (int i = 0; i < 4; ++i) {
    prem_standstills stops = {0};
    ck_assert_int_eq(prem_trace_standstills(trace, min_ns[i], &stops), PREM_OK);
    const int64_t numbers[] = {stops.watched_ns, stops.count, stops.longest_ns, stops.sum_ns};
    add_all(numbers, 4);
    prem_standstills_merge(&all, &stops);
  }
  add(all.longest_ns);
  add((int64_t)(prem_standstills_share_pct(&all) * 1e6));
  tell(file, "stops");
}

static void tell_jobs(FILE *file, const prem_schedule *schedule, const prem_trace *trace) {
  for (int64_t h = 0; h < trace->hyperperiods; ++h) {
    add(prem_makespan_ns(trace, h));
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int64_t j = 0; j < trace->first_job[t + 1] - trace->first_job[t]; ++j)
        add(prem_response_ns(schedule, trace, h, t, j));
  }
  prem_chain_samples samples = {0};
  int32_t pair[] = {0, schedule->task_count - 1};
  const prem_chain chain = {.name = "c", .tasks = pair, .task_count = 2};
  if (schedule->task_count > 1) {
    ck_assert_int_eq(
        prem_chain_fold(&chain, trace, draw(3), trace->record_count / HYPERPERIODS, &samples),
        PREM_OK);
    add_all(samples.reaction_ns, samples.reaction_count);
    add_all(samples.age_ns, samples.age_count);
  }
  prem_chain_samples_free(&samples);
  tell(file, "jobs");
}

/* It orders the records anew. */
static void tell_disturbed(FILE *file, const prem_schedule *schedule, prem_trace *trace,
                           prem_mode mode) {
  const int32_t phases = schedule->task_count * PREM_PHASE_COUNT;
  prem_phase_stats *stats = calloc((size_t)phases, sizeof *stats);
  bool whole = false;
  const int64_t discard = draw(3);
  add(prem_disturbed_jobs(trace, discard) / trace->job_count); /* all jobs of a hyperperiod are */
  ck_assert_int_eq(prem_disturbed_recount(schedule, trace, discard, mode, stats, &whole), PREM_OK);
  add(whole);
  for (int32_t i = 0; i < phases; ++i) {
    const prem_phase_stats *of = &stats[i];
    const int64_t all[] = {of->count,           of->releases,        of->late,
                           of->overruns,        of->lateness_max_ns, of->overrun_max_ns,
                           of->duration_min_ns, of->duration_max_ns, of->duration_sum_ns};
    add_all(all, sizeof all / sizeof *all);
    add_all(of->lateness_hist, PREM_HIST_BUCKETS);
  }
  prem_disturbed late = {0};
  prem_disturbed_count_late(&late, trace, stats);
  const int64_t counts[] = {late.releases, late.late_releases, late.overruns};
  add_all(counts, 3);
  add(prem_disturbed_apart(trace));
  for (int64_t i = 0; i < trace->record_count; ++i)
    add(trace->records[i].start_ns);
  free(stats);
  tell(file, "disturbed");
}

static void tell_kept(FILE *file, prem_trace *trace) {
  prem_row row = {0};
  prem_kept_run last = {0};
  for (int i = 0; i < 2; ++i)
    ck_assert_int_eq(prem_kept_fold(trace, draw(2), 5 * i, &row, &last), PREM_OK);
  add(row.worst_ns);
  prem_kept_run *const runs[] = {&row.worst, &row.before, &last};
  for (int i = 0; i < 3; ++i) {
    add(runs[i]->run);
    add(runs[i]->epoch_ns);
    for (int64_t r = 0; runs[i]->trace && r < runs[i]->trace->record_count; ++r) {
      add(runs[i]->trace->records[r].start_ns);
      add(runs[i]->trace->records[r].hyperperiod);
    }
    prem_trace_free(runs[i]->trace);
  }
  prem_trace_free(row.example);
  tell(file, "kept");
}

/* ---- schedules ------------------------------------------------------------------------------- */

static void tell_use(FILE *file, const prem_schedule *schedule) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int32_t r = 0; r < schedule->platform.resource_count; ++r) {
    prem_usage_step *steps = NULL;
    int64_t step_count = 0;
    ck_assert_int_eq(prem_plan_resource_usage(schedule, slots, count, r, &steps, &step_count),
                     PREM_OK);
    for (int64_t i = 0; i < step_count; ++i) {
      add(steps[i].at_ns);
      add(steps[i].used);
    }
    free(steps);
  }
  free(slots);
  tell(file, "use");
}

/* In half of the traces a third of the phases takes less than its window, or is ready later. */
static void vary(prem_trace *trace) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    const int64_t half_ns = 1 + (record->end_ns - record->start_ns) / 2;
    if (draw(3) == 0)
      record->end_ns -= draw(half_ns);
    if (draw(3) == 0 && record->ready_ns < record->start_ns)
      record->ready_ns += draw(record->start_ns - record->ready_ns + 1);
  }
}

/* Of some traces records are lost, too. */
static prem_trace *measured(const prem_backend *backend, const prem_schedule *schedule,
                            prem_mode mode) {
  prem_diag *diag = prem_diag_new();
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  const prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS};
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 100000, &trace), PREM_OK);
  if (prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
  prem_session_close(session);
  prem_diag_free(diag);
  if (draw(2))
    vary(trace);
  prem_trace_sort(trace);
  if (draw(4) == 0) {
    const int64_t few = prem_min_i64(trace->record_count, draw(16));
    const int64_t lost = draw(2) ? trace->record_count - few : draw(trace->record_count / 2 + 1);
    trace->record_count -= lost;
    trace->lost += lost;
  }
  return trace;
}

static void tell_traces(FILE *file, const prem_schedule *schedule) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  const prem_backend delayed = delayed_backend();
  for (int m = 0; m < 3; ++m) {
    prem_trace *trace = measured(&delayed, schedule, modes[m]);
    fprintf(file, "\n  %s:", prem_mode_name(modes[m]));
    tell_waits(file, schedule, trace);
    tell_causes(file, schedule, trace);
    tell_breaks(file, schedule, trace);
    if (modes[m] != PREM_MODE_LOCK)
      tell_lengths(file, schedule, trace, modes[m]);
    tell_violations(file, schedule, trace);
    tell_stops(file, trace);
    tell_jobs(file, schedule, trace);
    tell_kept(file, trace);
    tell_disturbed(file, schedule, trace, modes[m]);
    prem_trace_free(trace);
  }
}

static void tell_schedule(FILE *file, const prem_schedule *schedule, int seed) {
  drawn = delayed_seed = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
  tell_use(file, schedule);
  tell_traces(file, schedule);
}

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  sum = GOLDEN_SUM;
  for (int seed = 0; seed < SEEDS; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    prem_schedule *schedule = NULL;
    const prem_status status = random_schedule_plan((uint64_t)seed + 2000, NULL, &schedule, NULL);
    fprintf(file, "schedule %d: %s", seed, prem_status_text(status));
    if (status == PREM_OK)
      tell_schedule(file, schedule, seed);
    fputc('\n', file);
    golden_end(&lines);
    prem_schedule_free(schedule);
  }
  fclose(lines.file);
  golden_judge("traces.txt", found);
}
END_TEST

/* Gangs, demands, deadlines and chains of tasks, which schedules with data do not have. */
START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  sum = GOLDEN_SUM;
  for (int seed = 0; seed < SEEDS; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    const random_set set = random_set_draw((uint32_t)seed + 9000);
    prem_schedule *schedule = schedule_from_text(random_set_text(&set));
    prem_plan *plan = NULL;
    prem_plan_make(schedule, NULL, NULL, &plan, NULL);
    prem_schedule_set_plan(schedule, plan);
    fprintf(file, "set %d:", seed);
    if (plan)
      tell_schedule(file, schedule, seed);
    fputc('\n', file);
    golden_end(&lines);
    prem_schedule_free(schedule);
  }
  fclose(lines.file);
  golden_judge("traces_sets.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same traces");
  TCase *cases = tcase_create("schedules");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, of_schedules);
  suite_add_tcase(suite, cases);
  cases = tcase_create("sets");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, of_sets);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
