/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem run --live: open, run, report. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/live_host.h"
#include "prem/base/numbers.h"

enum { MAX_INTERVAL_S = 1000000 };

/* ---- before the session --------------------------------------------------------------------- */

static int refuse_schedule(const prem_schedule *schedule) {
  if (schedule->live_count > 0)
    return COMMAND_DONE;
  return command_fail(
      COMMAND_INVALID,
      "%s: --live needs a group `live`, which names the arrays that a host fills and "
      "reads; ttprem-schedule(5) has its keys",
      schedule->path);
}

static void append_name(char *list, size_t bytes, const char *name) {
  const size_t used = strlen(list);
  snprintf(list + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
}

static int refuse_rates(const live_options *options, const prem_schedule *schedule) {
  char inputs[PREM_MAX_LIVE_PORTS * (PREM_NAME_BYTES + 2)] = "";
  for (int32_t s = 0; s < schedule->live_input_count; ++s)
    append_name(inputs, sizeof inputs, schedule->arrays[schedule->live[s].array].name);
  for (int i = 0; i < options->rate_count; ++i) {
    const char *stream = options->rates[i].stream;
    bool is_known = !stream;
    for (int32_t s = 0; s < schedule->live_input_count; ++s)
      is_known |= stream && !strcmp(stream, schedule->arrays[schedule->live[s].array].name);
    if (is_known)
      continue;
    return command_fail(COMMAND_USAGE, "--rate: %s has no live input '%s'; there are: %s",
                        schedule->path, stream, *inputs ? inputs : "none");
  }
  return COMMAND_DONE;
}

static int refuse_places(const run_options *options, const prem_schedule *schedule) {
  const char *const paths[] = {options->measure.trace, options->live.histogram,
                               options->live.metrics, options->live.timeline};
  const command_outputs outputs = {.paths = paths, .count = sizeof paths / sizeof paths[0]};
  if (!command_keep_apart(schedule, &outputs))
    return COMMAND_USAGE;
  bool is_writable = true;
  for (int i = 0; i < outputs.count; ++i)
    is_writable &= command_output_check(paths[i]);
  return is_writable ? COMMAND_DONE : COMMAND_INVALID;
}

/* The longest between two frames of an input, where that is given. */
static int64_t interval_of(const live_options *options) {
  double longest_s = 0;
  for (int i = 0; i < options->rate_count; ++i)
    longest_s = 1 / options->rates[i].hz > longest_s ? 1 / options->rates[i].hz : longest_s;
  return longest_s < MAX_INTERVAL_S ? (int64_t)(longest_s * 1e9) : 0;
}

/* Room for the first hyperperiods: as many as are to be, or as phases find room. */
static prem_status make_trace(const run_options *options, live_host *host) {
  enum { MAX_RECORDS = 1 << 20, MORE = 8 }; /* 56 MiB */
  const measure_options *measure = &options->measure;
  if (!measure->trace && !options->live.timeline && measure->break_ns == 0)
    return PREM_OK;
  const int64_t phases = command_phase_count(host->schedule);
  int64_t hyperperiods = MAX_RECORDS / prem_max_i64(phases, 1) + 1;
  if (measure->sampling.duration_s > 0)
    hyperperiods =
        prem_min_i64(hyperperiods, MORE + (int64_t)(measure->sampling.duration_s * 1e9 /
                                                    (double)host->schedule->plan->hyperperiod_ns));
  return prem_trace_new(host->schedule, hyperperiods, MAX_RECORDS, &host->trace);
}

/* ---- behind it ------------------------------------------------------------------------------ */

static void tell_cause(const live_host *host, const prem_machine *machine) {
  prem_late_find found;
  if (host->broke.is_in_time) {
    command_error("  first cause: its job was over in time; the courier showed it late");
    return;
  }
  const int64_t in = host->broke.found ? host->broke.hyperperiod : -1;
  if (prem_find_late(host->schedule, host->trace, machine->clock_step_ns, host->measure->break_ns,
                     in, &found) != PREM_OK)
    return;
  const prem_break *release = &found.release;
  if (release->found && release->has_place)
    command_error("  the first release later than that came %" PRId64 " ns late: %s of '%s', block "
                  "%" PRId32 ", job %" PRId32 ", tile %" PRId32 ", due at %" PRId64
                  " ns of hyperperiod %" PRId64,
                  release->lateness_ns, prem_phase_name(release->phase),
                  host->schedule->tasks[release->task].name, release->block, release->job,
                  release->tile, release->planned_ns, release->run);
  else if (release->found)
    command_error("  the latest release came %" PRId64
                  " ns late: %s of '%s'; its raw record found no room",
                  release->lateness_ns, prem_phase_name(release->phase),
                  host->schedule->tasks[release->task].name);
  char said[256];
  if (found.has_cause) {
    prem_first_cause_say(host->schedule, &found.cause, said, sizeof said);
    command_error("  first cause: %s: block %" PRId32 ", job %" PRId32 ", tile %" PRId32
                  ", at %" PRId64 " ns of the trace",
                  said, found.cause.block, found.cause.job, found.cause.tile, found.cause.start_ns);
  } else {
    command_error(
        "  first cause: not known: %s",
        host->tally->mode != PREM_MODE_TT ? "in tt alone have phases releases to be late of"
        : host->trace->lost > 0 ? "the phases of that hyperperiod found no room in the trace"
                                : "no release came late from that hyperperiod on");
  }
}

static int judge_break(const live_host *host, const prem_machine *machine) {
  const int64_t limit_ns = host->measure->break_ns;
  int64_t latest_ns = INT64_MIN;
  for (int32_t i = 0; limit_ns > 0 && i < host->trace->task_count * PREM_PHASE_COUNT; ++i)
    latest_ns = prem_max_i64(latest_ns, host->trace->stats[i].lateness_max_ns);
  if (limit_ns == 0 || (!host->broke.found && latest_ns <= limit_ns))
    return COMMAND_DONE;
  if (host->broke.found)
    command_error("%s: result %" PRIu64 " of '%s' was shown %" PRId64 " ns late (--break %" PRId64
                  "), in hyperperiod %" PRId64,
                  prem_mode_name(host->tally->mode), host->broke.frame,
                  host->tally->streams[host->broke.stream].name, host->broke.lateness_ns, limit_ns,
                  host->broke.hyperperiod);
  else
    command_error("%s: a release came %" PRId64 " ns late (--break %" PRId64
                  "), of which no result showed so much",
                  prem_mode_name(host->tally->mode), latest_ns, limit_ns);
  tell_cause(host, machine);
  return COMMAND_BROKE;
}

/* A session that ended by itself: the schedule says when it does. */
static int judge_end(const live_host *host) {
  const prem_live_state *state = &host->tally->state;
  if (state->end == PREM_LIVE_NO_FRAME)
    command_error("the session ended: no frame came for its trigger in 10 s");
  else if (state->end == PREM_LIVE_OVERRUN)
    command_error("the session ended: a job overran whose task says overrun = \"stop\"");
  else if (state->end == PREM_LIVE_SILENT)
    command_error(
        "the session ended: nothing was heard of this process for 30 s; was it stopped, by "
        "a signal or a debugger?");
  else
    return COMMAND_DONE;
  return COMMAND_INVALID;
}

static int judge_strict(const live_host *host) {
  uint64_t late = 0;
  for (int32_t s = 0; s < host->tally->stream_count; ++s)
    late += host->tally->streams[s].counts.late;
  if (!host->measure->strict || (late == 0 && host->tally->state.overruns == 0))
    return COMMAND_DONE;
  return command_fail(COMMAND_INVALID,
                      "%s: %" PRIu64 " late results and %" PRId64 " deadline misses (--strict)",
                      prem_mode_name(host->tally->mode), late, host->tally->state.overruns);
}

static void tell_gaps(const live_host *host) {
  prem_live_clocks clocks;
  prem_live_compare_clocks(host->live, &clocks);
  if (clocks.gaps > 0)
    command_note("something else had the GPU: of %" PRId64 " questions to it %" PRId64
                 " lay there for 500 us or more, one for %" PRId64 " us",
                 clocks.questions, clocks.gaps, clocks.gap_max_ns / 1000);
}

/* ---- the session ---------------------------------------------------------------------------- */

static int run(live_host *host, const prem_machine *machine) {
  command_catch_signals();
  const prem_status ended = live_host_run(host);
  const bool has_run = host->tally->state.phase != PREM_LIVE_OPEN;
  int status = sampling_failed(ended, host->diag, host->schedule->path);
  host->diag = NULL;
  if (!has_run)
    return status;
  status = command_join_status(status, live_show_all(host));
  tell_gaps(host);
  status = command_join_status(status, judge_end(host));
  status = command_join_status(status, judge_strict(host));
  status = command_join_status(status, judge_break(host, machine));
  return command_stop && (status == COMMAND_DONE || status == COMMAND_BROKE) ? COMMAND_INTERRUPTED
                                                                             : status;
}

static int open_and_run(const run_options *options, const prem_schedule *schedule,
                        const prem_backend *backend, const prem_machine *machine,
                        const prem_cpu_setup *cpu) {
  live_host host = {.measure = &options->measure,
                    .options = &options->live,
                    .schedule = schedule,
                    .backend = backend,
                    .cpu = *cpu,
                    .diag = command_diag()};
  prem_status status =
      prem_tally_new(schedule, prem_backend_name(backend), options->measure.modes[0],
                     interval_of(&options->live), &host.tally);
  if (status == PREM_OK)
    status = make_trace(options, &host);
  if (status == PREM_OK)
    status = prem_live_open(backend, schedule, &host.live, host.diag);
  int ended = COMMAND_DONE;
  if (status == PREM_OK)
    ended = run(&host, machine);
  else
    ended = sampling_failed(status, host.diag, schedule->path);
  prem_live_close(host.live);
  prem_trace_free(host.trace);
  prem_tally_free(host.tally);
  free(host.events);
  return ended;
}

int live_run(run_options *options) {
  const prem_backend *backend = NULL;
  prem_machine machine;
  prem_schedule *schedule = NULL;
  prem_cpu_setup cpu = {0};
  int status = command_find_backend(options->measure.backend, &backend, &machine);
  if (status == COMMAND_DONE)
    status = command_open_schedule(options->measure.file, options->measure.profile, &machine, true,
                                   &schedule);
  if (status != COMMAND_DONE)
    return status;
  status = refuse_schedule(schedule);
  if (status == COMMAND_DONE)
    status = refuse_rates(&options->live, schedule);
  if (status == COMMAND_DONE)
    status = refuse_places(options, schedule);
  if (status == COMMAND_DONE)
    status = measure_set_up_cpu(&options->measure, backend, &cpu);
  if (status == COMMAND_DONE && !schedule->plan)
    status = sampling_plan(schedule, backend, &machine);
  if (status == COMMAND_DONE)
    status = open_and_run(options, schedule, backend, &machine, &cpu);
  prem_schedule_free(schedule);
  return status;
}
