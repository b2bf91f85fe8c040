/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command_measure.h"
#include "command/arrivals.h"
#include "prem/base/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command/progress.h"

/* ---- options -------------------------------------------------------------------------------- */

void measure_add_mode(measure_options *options, struct argp_state *state, const char *text) {
  prem_mode mode = command_parse_mode(state, text);
  for (int i = 0; i < options->mode_count; ++i)
    if (options->modes[i] == mode)
      argp_error(state, "mode '%s' is named twice", text);
  options->modes[options->mode_count++] = mode;
}

static void add_picture(measure_options *options, struct argp_state *state, const char *path) {
  command_check_picture(state, "--picture", path);
  if (options->picture_count == 2)
    argp_error(state, "--picture: two pictures at most");
  options->pictures[options->picture_count++] = path;
}

static void refuse_outputs_in_one_place(const measure_options *options, struct argp_state *state) {
  const char *const outputs[] = {options->trace, options->late_log, options->json,
                                 options->pictures[0], options->pictures[1]};
  command_check_outputs(state, options->file, outputs, sizeof outputs / sizeof outputs[0]);
}

static void refuse_records_unkept(const measure_options *options, struct argp_state *state) {
  if (options->no_records && (options->trace || options->picture_count))
    argp_error(state, "--%s shows raw records; leave --no-records out",
               options->trace ? "trace" : "picture");
}

/* "2,3" or "4-7". */
static void parse_cores(measure_options *options, struct argp_state *state, const char *text) {
  const char *at = text;
  options->core_count = 0;
  for (bool more = true; more; at += more) {
    char *end;
    const long first = strtol(at, &end, 10);
    const long last = end != at && *end == '-' ? strtol(at = end + 1, &end, 10) : first;
    if (end == at || first < 0 || last < first || last >= MEASURE_MAX_CORES ||
        (*end && *end != ','))
      argp_error(state, "--cores: '%s' is no list like 2,3 or 4-7 of cores below %d", text,
                 MEASURE_MAX_CORES);
    for (long core = first; core <= last; ++core) {
      for (int32_t i = 0; i < options->core_count; ++i)
        if (options->cores[i] == core)
          argp_error(state, "--cores: %ld is named twice", core);
      options->cores[options->core_count++] = (int32_t)core;
    }
    at = end;
    more = *end == ',';
  }
}

/* What live sessions do not have. */
static void note_runs_only(measure_options *options, int key) {
  static const int keys[] = {'n',
                             'j',
                             OPTION_SCENARIO,
                             OPTION_PICTURE,
                             OPTION_ENGINE,
                             OPTION_VERIFY_EVERY,
                             OPTION_NO_RECORDS,
                             OPTION_LATE_LOG,
                             OPTION_WITH_DISTURBED,
                             OPTION_SENTINEL,
                             OPTION_ERRANDS,
                             OPTION_NO_SAVE,
                             OPTION_SAVE_ANYWHERE,
                             OPTION_SEED};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !options->runs_only; ++i)
    if (keys[i] == key)
      options->runs_only = command_option_name(key);
}

static const command_store stores[] = {
    TAKE_OPERAND("FILE", measure_options, file),
    TAKE_TEXT('b', measure_options, backend),
    TAKE_TEXT('p', measure_options, profile),
    TAKE_INTEGER('n', measure_options, sampling.samples, 1, INT32_MAX),
    TAKE_TEXT('j', measure_options, json),
    TAKE_TEXT(OPTION_LATE_LOG, measure_options, late_log),
    TAKE_FLAG(OPTION_STRICT, measure_options, strict),
    TAKE_INTEGER(OPTION_BREAK, measure_options, break_ns, 1, PREM_MAX_NS),
    TAKE_INTEGER(OPTION_VERIFY_EVERY, measure_options, sampling.verify_every, 1, INT32_MAX),
    TAKE_FLAG(OPTION_NO_RECORDS, measure_options, no_records),
    TAKE_INTEGER(OPTION_FIFO, measure_options, fifo_priority, 1, 99),
    TAKE_FLAG(OPTION_LOCK_MEMORY, measure_options, lock_memory),
    TAKE_FLAG(OPTION_WITH_DISTURBED, measure_options, with_disturbed),
    TAKE_FLAG(OPTION_SENTINEL, measure_options, sentinel),
    TAKE_TEXT(OPTION_ERRANDS, measure_options, errands),
    TAKE_FLAG(OPTION_NO_SAVE, measure_options, no_save),
    TAKE_FLAG(OPTION_SAVE_ANYWHERE, measure_options, save_anywhere),
    TAKE_INTEGER(OPTION_SEED, measure_options, sampling.seed, 0, INT64_MAX),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  measure_options *options = state->input;
  note_runs_only(options, key);
  switch (key) {
  case 'd':
    options->sampling.duration_s = command_parse_seconds(state, "--duration", text);
    return 0;
  case OPTION_SCENARIO:
    options->sampling.scenario = sampling_parse_scenario(state, text);
    options->scenario_given = true;
    return 0;
  case OPTION_PICTURE:
    add_picture(options, state, text);
    return 0;
  case OPTION_ENGINE:
    options->engine = sampling_parse_engine(state, text);
    return 0;
  case OPTION_CORES:
    parse_cores(options, state, text);
    return 0;
  case ARGP_KEY_SUCCESS:
    refuse_outputs_in_one_place(options, state);
    refuse_records_unkept(options, state);
    if (options->no_save && options->save_anywhere)
      argp_error(state, "--no-save and --save-anywhere exclude each other");
    return 0;
  default:
    return command_take(stores, OPTIONS_MEASURING, key, text, state);
  }
}

const struct argp measure_argp = {.options = command_options[OPTIONS_MEASURING],
                                  .parser = parse,
                                  .children = command_common_children};

/* ---- before the run ------------------------------------------------------------------------- */

/* Named modes must be there; of the file's, those that the backend lacks are left out. */
static int choose_modes(const measure_options *options, const prem_schedule *schedule,
                        const prem_backend *backend, prem_compare_options *compare) {
  const prem_measure *file = &schedule->measure;
  bool named = options->mode_count > 0;
  const prem_mode *modes = named ? options->modes : file->modes;
  int count = named ? options->mode_count : file->mode_count;
  for (int i = 0; i < count; ++i) {
    if (prem_backend_has_mode(backend, modes[i])) {
      compare->modes[compare->mode_count++] = modes[i];
    } else if (named) {
      return command_fail(COMMAND_UNAVAILABLE, "mode %s is not available on backend %s",
                          prem_mode_name(modes[i]), prem_backend_name(backend));
    } else {
      command_note("mode %s is left out: not available on backend %s", prem_mode_name(modes[i]),
                   prem_backend_name(backend));
    }
  }
  if (compare->mode_count)
    return COMMAND_DONE;
  return command_fail(COMMAND_UNAVAILABLE,
                      "backend %s has none of the file's modes; name others with --modes",
                      prem_backend_name(backend));
}

static bool has_gnuplot(void) {
  const char *path = getenv("PATH");
  char *folders = strdup(path ? path : ""), *rest = NULL;
  bool found = false;
  for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL; folder && !found;
       folder = strtok_r(NULL, ":", &rest)) {
    char *program = NULL;
    if (asprintf(&program, "%s/gnuplot", folder) < 0)
      break;
    found = access(program, X_OK) == 0;
    free(program);
  }
  free(folders);
  return found;
}

/* A measurement must not be lost because its result has no place to go. */
static bool check_outputs(const measure_options *options, const prem_schedule *schedule) {
  if (options->picture_count && !has_gnuplot()) {
    command_error("--picture needs gnuplot, which is not on the PATH; install gnuplot-nox");
    return false;
  }
  bool writable = command_output_check(options->json);
  writable &= command_output_check(options->trace);
  writable &= command_output_check(options->late_log);
  for (int i = 0; i < options->picture_count; ++i)
    writable &= command_output_check(options->pictures[i]);
  for (int32_t i = 0; i < schedule->array_count && !options->no_save; ++i)
    writable &= command_output_check(schedule->arrays[i].save);
  return writable;
}

/* What the command line names, the files beside the result, and the arrays. `made` are two of them
 * to be freed. */
static int list_outputs(const measure_options *options, const prem_schedule *schedule,
                        char *const made[PREM_RESULT_SIDES], const char **paths) {
  int count = 0;
  paths[count++] = options->json;
  paths[count++] = options->trace;
  paths[count++] = options->late_log;
  for (int i = 0; i < options->picture_count; ++i)
    paths[count++] = options->pictures[i];
  for (int i = 0; i < PREM_RESULT_SIDES; ++i)
    paths[count++] = made[i];
  for (int32_t i = 0; i < schedule->array_count && !options->no_save; ++i)
    if (schedule->arrays[i].save)
      paths[count++] = schedule->arrays[i].save;
  return count;
}

/* Nothing is written over what is read, nor where a stranger's file has no business. */
static int judge_places(const measure_options *options, const prem_schedule *schedule) {
  char *made[PREM_RESULT_SIDES] = {NULL};
  const char **paths = calloc((size_t)schedule->array_count + 8, sizeof *paths);
  bool whole = paths != NULL;
  for (int i = 0; i < PREM_RESULT_SIDES && options->json && strcmp(options->json, "-"); ++i)
    whole &= (made[i] = prem_result_side(options->json, i)) != NULL;
  int status = COMMAND_DONE;
  prem_diag *diag = command_diag();
  if (!options->no_save)
    status = command_exit_status(
        prem_schedule_judge_saves(schedule, options->save_anywhere, PREM_ERROR, diag));
  command_print_diag(diag);
  prem_diag_free(diag);
  if (!whole)
    status = COMMAND_INVALID;
  else if (status == COMMAND_DONE &&
           !command_keep_apart(
               schedule, &(command_outputs){.paths = paths,
                                            .count = list_outputs(options, schedule, made, paths)}))
    status = COMMAND_USAGE;
  for (int i = 0; i < PREM_RESULT_SIDES; ++i)
    free(made[i]);
  free(paths);
  return status;
}

int measure_set_up_cpu(const measure_options *options, const prem_backend *backend,
                       prem_cpu_setup *out) {
  const bool asked = options->core_count > 0 || options->fifo_priority > 0 || options->lock_memory;
  if (asked && strcmp(prem_backend_name(backend), "cpu") != 0)
    return command_fail(COMMAND_USAGE,
                        "--cores, --fifo and --lock-memory are for backend cpu, and this is %s",
                        prem_backend_name(backend));
  *out = (prem_cpu_setup){.cores = options->core_count > 0 ? options->cores : NULL,
                          .core_count = options->core_count,
                          .fifo_priority = options->fifo_priority};
  if (options->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return command_fail(
        COMMAND_UNAVAILABLE,
        "--lock-memory: %s; it takes CAP_IPC_LOCK, or a limit above what the process "
        "uses (`ulimit -l`, memlock in limits.conf)",
        strerror(errno));
  return COMMAND_DONE;
}

/* However short a duration, one hyperperiod of each mode counts. */
static void tell_duration(const prem_compare_options *compare, const prem_schedule *schedule,
                          const prem_backend *backend) {
  const double min_s = (double)compare->mode_count * 1e-9 * (double)schedule->plan->hyperperiod_ns;
  if (compare->sampling.duration_s > 0 && min_s > compare->sampling.duration_s &&
      strcmp(prem_backend_name(backend), "sim") != 0)
    command_note("--duration: it may take %.1f s, for one hyperperiod of %.3f s in each "
                 "of %d mode%s",
                 min_s, (double)schedule->plan->hyperperiod_ns * 1e-9, (int)compare->mode_count,
                 compare->mode_count == 1 ? "" : "s");
}

static void tell_replaced(const measure_options *options, const prem_schedule *schedule) {
  for (int32_t i = 0; i < schedule->array_count && !options->no_save; ++i) {
    const prem_array *array = &schedule->arrays[i];
    if (array->save && access(array->save, F_OK) == 0)
      command_note("array '%s' is going to replace %s", array->name, array->save);
  }
}

/* ---- during the run ------------------------------------------------------------------------- */

typedef struct runs_progress {
  progress line;
  double duration_s; /* 0: no limit */
  bool told;         /* how long all runs take, where no line shows it */
} runs_progress;

enum { RUNS_TOLD_AFTER_S = 1, RUNS_TOLD_FROM_S = 10 };

static void tell_time(runs_progress *runs, int64_t done, int64_t all) {
  const double passed_s = progress_seconds(&runs->line);
  if (runs->told || runs->line.wanted || runs->duration_s > 0 || passed_s < RUNS_TOLD_AFTER_S ||
      done < 1 || all < 1)
    return;
  const double all_s = passed_s / (double)done * (double)all;
  runs->told = true;
  if (all_s > RUNS_TOLD_FROM_S)
    command_note("%" PRId64 " runs take some %.0f s; Ctrl-C shows what was measured until then",
                 all, all_s);
}

static void show_progress(void *context, int64_t done, int64_t all, prem_mode mode) {
  runs_progress *runs = context;
  const double of_runs = all > 0 ? (double)done / (double)all : -1;
  const double of_time =
      runs->duration_s > 0 ? progress_seconds(&runs->line) / runs->duration_s : -1;
  char of_all[32] = "";
  if (all)
    snprintf(of_all, sizeof of_all, " of %" PRId64, all);
  tell_time(runs, done, all);
  progress_show(&runs->line, of_runs > of_time ? of_runs : of_time, "%" PRId64 "%s runs (%s)", done,
                of_all, prem_mode_name(mode));
}

typedef struct trace_sink {
  command_output output, late;                 /* without a file: not wanted */
  const prem_schedule *schedule, *best_effort; /* the latter NULL: there is none */
  int64_t runs;                                /* hyperperiods written */
  int64_t runs_of[PREM_MODE_COUNT];            /* hyperperiods of each mode */
  bool has_late;                               /* their header is written */
} trace_sink;

/* The records of a trace from a number on that begin before an instant; returns the next number. */
static int64_t write_until(const trace_sink *sink, const prem_trace *trace,
                           const prem_schedule *schedule, int64_t from, int64_t until_ns,
                           prem_status *status) {
  prem_trace some = *trace;
  int64_t to = from;
  while (to < trace->record_count && trace->records[to].start_ns <= until_ns)
    ++to;
  some.records += from;
  some.record_count = to - from;
  if (*status == PREM_OK && to > from)
    *status = prem_trace_write_csv(&some, schedule, sink->runs, false, sink->output.file);
  return to;
}

static int64_t start_of(const prem_trace *trace, int64_t record) {
  return record < trace->record_count ? trace->records[record].start_ns : INT64_MAX;
}

/* Both in one order. All of best effort counts to the launch's first run, from whose start its
 * times are. */
static prem_status write_both(const trace_sink *sink, const prem_trace *trace) {
  prem_trace *beside = trace->best_effort->trace;
  prem_status status = PREM_OK;
  int64_t done = 0, done_beside = 0;
  prem_trace_sort(beside);
  for (int64_t i = 0; i < beside->record_count; ++i)
    beside->records[i].hyperperiod = 0;
  while (status == PREM_OK && (done < trace->record_count || done_beside < beside->record_count)) {
    done = write_until(sink, trace, sink->schedule, done, start_of(beside, done_beside), &status);
    done_beside =
        write_until(sink, beside, sink->best_effort, done_beside, start_of(trace, done), &status);
  }
  return status;
}

static prem_status write_late(trace_sink *sink, const prem_trace *trace, prem_mode mode) {
  const prem_status status = prem_trace_write_late(trace, sink->schedule, mode, sink->runs_of[mode],
                                                   !sink->has_late, sink->late.file);
  sink->has_late = true;
  sink->runs_of[mode] += trace->hyperperiods;
  return status;
}

static prem_status write_trace(void *context, const prem_trace *trace, prem_mode mode,
                               int64_t run) {
  (void)run;
  trace_sink *sink = context;
  prem_status status = sink->late.file ? write_late(sink, trace, mode) : PREM_OK;
  if (status || !sink->output.file)
    return status;
  prem_trace header = *trace;
  header.record_count = trace->best_effort ? 0 : trace->record_count;
  status =
      prem_trace_write_csv(&header, sink->schedule, sink->runs, sink->runs == 0, sink->output.file);
  if (status == PREM_OK && trace->best_effort)
    status = write_both(sink, trace);
  sink->runs += trace->hyperperiods;
  return status;
}

/* ---- after the run -------------------------------------------------------------------------- */

static void tell_wrong(const prem_row *row, const prem_schedule *schedule) {
  const prem_verdict *verdict = &row->verdict;
  const char *array = verdict->array >= 0 && verdict->array < schedule->array_count
                          ? schedule->arrays[verdict->array].name
                          : "?";
  command_error("%s: wrong output: %" PRId64 " elements differ; the first is %s[%" PRId64
                ", %" PRId64 ", %" PRId64 ", %" PRId64 "]: %.9g instead of %.9g",
                row->label, verdict->wrong, array, verdict->index[0], verdict->index[1],
                verdict->index[2], verdict->index[3], verdict->found, verdict->expected);
}

/* Missed deadlines, and whether all numbers speak of the machine's other work. */
static int judge_jobs(const prem_row *row, bool strict) {
  int64_t jobs = 0, judged = 0, missed = 0, disturbed_missed = 0, undisturbed = 0;
  int status = COMMAND_DONE;
  for (int32_t t = 0; t < row->task_count; ++t) {
    const prem_task_result *task = &row->tasks[t];
    jobs += prem_max_i64(task->all.jobs, 0);
    judged += task->all.missed >= 0 ? task->all.jobs : 0;
    missed += prem_max_i64(task->all.missed, 0);
    disturbed_missed += task->all.missed - task->undisturbed.missed;
    undisturbed += task->response_ns.count;
  }
  if (strict && missed > 0) {
    command_error("%s: %" PRId64 " of %" PRId64 " jobs missed their deadlines (--strict)",
                  row->label, missed, judged);
    if (disturbed_missed > 0)
      command_error("  of these were disturbed: %" PRId64, disturbed_missed);
    status = COMMAND_INVALID;
  }
  if (row->disturbed.jobs > 0 && undisturbed == 0) {
    command_error("%s: of %" PRId64 " jobs all were disturbed: %s each, for %.3f ms at most; see "
                  "docs/timing-method.md, 'Disturbed jobs'",
                  row->label, jobs,
                  row->stalls.watched_ns > 0 ? "the GPU stood still in"
                                             : "the operating system took a core away from",
                  (double)row->disturbed.longest_away_ns / 1e6);
    status = command_join_status(status, COMMAND_UNAVAILABLE);
  }
  return status;
}

static int judge_gate(const prem_row *row, bool strict) {
  int64_t overruns = 0;
  for (int32_t t = 0; t < row->best_effort_count; ++t)
    overruns += row->best_effort[t].counts.overruns;
  if (!strict || overruns == 0)
    return COMMAND_DONE;
  return command_fail(COMMAND_INVALID,
                      "%s: %" PRId64 " best-effort phases went on into closed windows (--strict)",
                      row->label, overruns);
}

static int judge_partial(const prem_row *row, bool strict) {
  if (!strict || !prem_row_is_partial(row))
    return COMMAND_DONE;
  return command_fail(
      COMMAND_INVALID,
      "%s: outputs of best-effort tasks were never verified: no launch lasted until each "
      "of their blocks had done all of its tiles once (--strict)",
      row->label);
}

/* What the rows alone say about success. */
static int judge_rows(const prem_result *result, const prem_schedule *schedule, bool strict) {
  int status = COMMAND_DONE;
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    if (row->output_checked && !row->output_ok) {
      tell_wrong(row, schedule);
      status = COMMAND_INVALID;
    }
    const prem_disturbed *apart = &row->disturbed;
    const int64_t late = row->late_releases + apart->late_releases;
    const int64_t overruns = row->overruns + apart->overruns;
    if (strict && row->mode == PREM_MODE_TT && (late || overruns)) {
      command_error("%s: %" PRId64 " late releases and %" PRId64 " overruns (--strict)", row->label,
                    late, overruns);
      if (apart->late_releases || apart->overruns)
        command_error("  of these in disturbed jobs: %" PRId64 " and %" PRId64,
                      apart->late_releases, apart->overruns);
      status = COMMAND_INVALID;
    }
    status = command_join_status(status, judge_jobs(row, strict));
    status = command_join_status(status, judge_gate(row, strict));
    status = command_join_status(status, judge_partial(row, strict));
  }
  return status;
}

/* What `--break` waited for. */
static int judge_break(const prem_result *result, const prem_schedule *schedule) {
  const prem_break *broke = &result->broke;
  if (!broke->found)
    return COMMAND_DONE;
  char place[160];
  if (broke->has_place)
    snprintf(place, sizeof place,
             "block %" PRId32 ", job %" PRId32 ", tile %" PRId32 ", due at %" PRId64
             " ns of run %" PRId64,
             broke->block, broke->job, broke->tile, broke->planned_ns, broke->run);
  else
    snprintf(place, sizeof place, "its raw record is lost; the latest of its launch");
  return command_fail(
      COMMAND_BROKE, "%s: a release came %" PRId64 " ns late (--break %" PRId64 "): %s of '%s', %s",
      prem_mode_name(broke->mode), broke->lateness_ns, result->break_ns,
      prem_phase_name(broke->phase), schedule->tasks[broke->task].name, place);
}

static int write_result(const measure_options *options, const prem_schedule *schedule,
                        const prem_result *result) {
  bool stdout_taken = (options->json && !strcmp(options->json, "-")) ||
                      (options->trace && !strcmp(options->trace, "-")) ||
                      (options->late_log && !strcmp(options->late_log, "-"));
  if (!stdout_taken)
    prem_result_print(result, stdout);
  else if (!command_quiet)
    prem_result_print(result, stderr);
  fflush(stdout);
  int status = COMMAND_DONE;
  if (options->json) {
    prem_diag *diag = prem_diag_new();
    status = sampling_failed(prem_result_write(result, schedule, command_line, options->json, diag),
                             diag, options->json);
  }
  return status;
}

static int draw_result(const measure_options *options, const prem_schedule *schedule,
                       const prem_result *result) {
  int status = COMMAND_DONE;
  for (int i = 0; i < options->picture_count; ++i) {
    const char *path = options->pictures[i];
    prem_diag *diag = prem_diag_new();
    const prem_status drawn = prem_result_draw(result, schedule, path, &command_stop, diag);
    status = command_join_status(status, sampling_failed(drawn, diag, path));
  }
  return status;
}

static bool made_outputs(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (prem_mode_computes(result->rows[i].mode))
      return true;
  return false;
}

static int save_arrays(const measure_options *options, prem_session *session) {
  prem_diag *diag = prem_diag_new();
  return sampling_failed(prem_session_save(session, options->save_anywhere, diag), diag,
                         "saving arrays");
}

static int measure(const measure_options *options, prem_compare_options *compare,
                   const prem_schedule *whole, const prem_backend *backend, prem_session *session) {
  const prem_schedule *schedule = prem_session_critical(session);
  runs_progress runs = {.duration_s = options->sampling.duration_s};
  trace_sink sink = {.schedule = schedule, .best_effort = prem_session_best_effort(session)};
  if (options->trace && !command_output_open(&sink.output, options->trace))
    return COMMAND_INVALID;
  if (options->late_log && !command_output_open(&sink.late, options->late_log)) {
    if (options->trace)
      command_output_abandon(&sink.output);
    return COMMAND_INVALID;
  }
  if (options->trace || options->late_log) {
    compare->on_trace = write_trace;
    compare->trace_context = &sink;
  }
  progress_begin(&runs.line);
  compare->progress = show_progress;
  compare->progress_context = &runs;
  command_catch_signals();
  compare->stop = &command_stop;
  prem_result *result = NULL;
  prem_diag *diag = prem_diag_new();
  prem_status ended = prem_compare(session, schedule, backend, compare, &result, diag);
  progress_end(&runs.line);
  if (ended == PREM_ERR_UNAVAILABLE && result && options->mode_count == 0)
    ended = PREM_OK; /* of the file's modes, those that are not possible here are left out */
  int status = sampling_failed(ended, diag, schedule->name);
  if (options->trace && !command_output_commit(&sink.output))
    status = command_join_status(status, COMMAND_INVALID);
  if (options->late_log && !command_output_commit(&sink.late))
    status = command_join_status(status, COMMAND_INVALID);
  if (result) {
    status = command_join_status(status, write_result(options, schedule, result));
    status = command_join_status(status, judge_rows(result, whole, options->strict));
    status = command_join_status(status, judge_break(result, schedule));
    /* After a failure of the machine the session is good for closing only. */
    if (ended != PREM_ERR_MACHINE && made_outputs(result) && !options->no_save)
      status = command_join_status(status, save_arrays(options, session));
    status =
        command_join_status(status, draw_result(options, schedule, result)); /* it may take long */
  }
  prem_result_free(result);
  return status;
}

static int open_and_measure(const measure_options *options, prem_compare_options *compare,
                            const prem_schedule *schedule, const prem_backend *backend) {
  prem_session *session = NULL;
  prem_diag *diag = prem_diag_new();
  int status =
      sampling_failed(prem_session_open(backend, schedule, &session, diag), diag, schedule->path);
  if (status == COMMAND_DONE)
    status = measure(options, compare, schedule, backend, session);
  prem_session_close(session);
  return status;
}

/* At most; how many hyperperiods a duration allows is not known. */
static int64_t longest_run_ns(const prem_compare_options *compare, const prem_schedule *schedule) {
  const int64_t length_ns = schedule->plan->hyperperiod_ns;
  const prem_sampling *sampling = &compare->sampling;
  int64_t runs = 1;
  if (sampling->scenario == PREM_RESIDENT)
    runs = sampling->samples > 0 ? sampling->discard + sampling->samples : INT32_MAX;
  return runs > PREM_MAX_NS / 4 / length_ns ? PREM_MAX_NS / 4 : runs * length_ns;
}

int measure_run(measure_options *options) {
  command_arrivals arrivals = {0};
  const prem_backend *backend = NULL;
  prem_machine machine;
  int status = command_find_backend(options->backend, &backend, &machine);
  if (status != COMMAND_DONE)
    return status;
  prem_schedule *schedule = NULL;
  status = command_open_schedule(options->file, options->profile, &machine, true, &schedule);
  if (status != COMMAND_DONE)
    return status;
  if (options->engine != PREM_ENGINE_BEST && strcmp(prem_backend_name(backend), "cuda") != 0)
    command_note("--engine %s: backend %s has no engines, takes no notice",
                 prem_engine_name(options->engine), prem_backend_name(backend));
  if (options->sentinel && strcmp(prem_backend_name(backend), "cuda") != 0)
    command_note("--sentinel: backend %s has none, takes no notice", prem_backend_name(backend));
  prem_compare_options compare = {.break_ns = options->break_ns,
                                  .engine = options->engine,
                                  .mix_disturbed = options->with_disturbed,
                                  .sentinel = options->sentinel};
  status = judge_places(options, schedule);
  if (status == COMMAND_DONE)
    status = measure_set_up_cpu(options, backend, &compare.cpu);
  if (status == COMMAND_DONE)
    status = choose_modes(options, schedule, backend, &compare);
  compare.sampling =
      sampling_choose(&options->sampling, options->scenario_given, schedule, backend);
  if (options->no_records)
    compare.sampling.max_records = 0;
  if (status == COMMAND_DONE && !schedule->plan)
    status = sampling_plan(schedule, backend, &machine);
  if (status == COMMAND_DONE && !check_outputs(options, schedule))
    status = COMMAND_INVALID;
  if (status == COMMAND_DONE)
    status = command_arrivals_make(options->errands, schedule, longest_run_ns(&compare, schedule),
                                   options->sampling.seed, &arrivals);
  compare.arrivals = arrivals.list;
  compare.arrival_count = arrivals.count;
  if (status == COMMAND_DONE) {
    tell_replaced(options, schedule);
    tell_duration(&compare, schedule, backend);
    status = open_and_measure(options, &compare, schedule, backend);
  }
  free(arrivals.list);
  prem_schedule_free(schedule);
  return status;
}
