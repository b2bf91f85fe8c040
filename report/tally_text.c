/* SPDX-License-Identifier: Apache-2.0 */
/* The tally of a live session as text: a line each second, the table in the end, histograms. Times
 * are in us, in all of it. */
#include "ttprem/tally.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "prem/base/numbers.h"

/* ---- the line of a second ------------------------------------------------------------------- */

/** What was lost, of all streams. Outputs lack what their inputs lacked: it is counted once. */
typedef struct loss {
  const char *name;
  uint64_t count;
} loss;

enum { LOSSES = 8 };

static void find_losses(const prem_tally *tally, loss losses[LOSSES]) {
  uint64_t late = 0, missing = 0, stale = 0, dropped = 0, unfed = 0;
  for (int32_t s = 0; s < tally->stream_count; ++s) {
    const prem_tally_stream *stream = &tally->streams[s];
    late += stream->counts.late;
    missing += stream->is_output ? 0 : stream->counts.missing;
    stale += stream->counts.stale;
    dropped += stream->counts.dropped;
    unfed += stream->unfed;
  }
  const loss all[LOSSES] = {{"late", late},
                            {"misses", (uint64_t)tally->state.overruns},
                            {"skipped", (uint64_t)tally->state.skipped},
                            {"aborted", (uint64_t)tally->state.aborted},
                            {"missing", missing},
                            {"stale", stale},
                            {"dropped", dropped},
                            {"unfed", unfed}};
  memcpy(losses, all, sizeof all);
}

typedef struct line_text {
  char *text;
  size_t bytes;
  int length;
} line_text;

static void PREM_PRINTF(2, 3) append(line_text *line, const char *format, ...) {
  const size_t used = (size_t)line->length < line->bytes ? (size_t)line->length : line->bytes;
  va_list values;
  va_start(values, format);
  line->length += vsnprintf(line->text + used, line->bytes - used, format, values);
  va_end(values);
}

/* Not "-0.0". */
static double us(int64_t ns) {
  return ns > -50 && ns < 0 ? 0 : (double)ns / 1000;
}

static void append_ages(line_text *line, const prem_tally_second_ages *ages, bool is_short) {
  if (ages->count == 0)
    append(line, is_short ? "  age us -" : "  age us min - avg - max - p99 -");
  else if (is_short)
    append(line, "  age us %.1f/%.1f/%.1f p99 %.1f", us(ages->min_ns), ages->mean_ns / 1000,
           us(ages->max_ns), us(ages->p99_ns));
  else
    append(line, "  age us min %.1f avg %.1f max %.1f p99 %.1f", us(ages->min_ns),
           ages->mean_ns / 1000, us(ages->max_ns), us(ages->p99_ns));
}

static void append_worst(line_text *line, const char *name, int64_t worst_ns) {
  if (worst_ns == INT64_MIN)
    append(line, "%s -", name);
  else
    append(line, "%s %.1f", name, us(worst_ns));
}

int prem_tally_line(const prem_tally *tally, const prem_tally_second_ages *ages, int64_t at_ns,
                    bool is_short, char *text, size_t bytes) {
  line_text line = {.text = text, .bytes = bytes};
  loss losses[LOSSES];
  find_losses(tally, losses);
  append(&line, "%5" PRId64 " s  in %" PRIu64 " out %" PRIu64 " ", at_ns / 1000000000,
         prem_tally_frames(tally, false), prem_tally_frames(tally, true));
  for (int i = 0; i < LOSSES; ++i)
    if (losses[i].count > 0 || !is_short)
      append(&line, " %s %" PRIu64, losses[i].name, losses[i].count);
  append_ages(&line, ages, is_short);
  append_worst(&line, " worst", tally->age_max_ns);
  append_worst(&line, "  lateness us worst", tally->lateness_max_ns);
  return line.length;
}

/* ---- the table in the end ------------------------------------------------------------------- */

static const char *kind_name(prem_live_kind kind) {
  static const char *const names[] = {"sampling", "queuing", "trigger"};
  return names[kind];
}

/* NULL: it was stopped. */
static const char *end_text(prem_live_end end) {
  switch (end) {
  case PREM_LIVE_NOT_ENDED:
  case PREM_LIVE_STOPPED:
    return NULL;
  case PREM_LIVE_NO_FRAME:
    return "no frame came for its trigger";
  case PREM_LIVE_OVERRUN:
    return "a job overran whose task says overrun = \"stop\"";
  case PREM_LIVE_SILENT:
    return "nothing was heard of its process for 30 s";
  case PREM_LIVE_FAILED:
    break;
  }
  return "the machine failed";
}

static int name_width(const prem_tally *tally) {
  int width = 6;
  for (int32_t s = 0; s < tally->stream_count; ++s) {
    const int length = (int)strlen(tally->streams[s].name);
    width = length > width ? length : width;
  }
  return width;
}

static void print_inputs(const prem_tally *tally, int width, FILE *file) {
  if (tally->schedule->live_input_count == 0)
    return;
  fprintf(file, "\n%-*s %-8s %9s %9s %9s %9s %9s %9s\n", width, "input", "kind", "frames", "taken",
          "repeated", "missing", "stale", "unfed");
  for (int32_t s = 0; s < tally->schedule->live_input_count; ++s) {
    const prem_tally_stream *stream = &tally->streams[s];
    const prem_live_counts *counts = &stream->counts;
    fprintf(file,
            "%-*s %-8s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
            "\n",
            width, stream->name, kind_name(tally->schedule->live[s].kind), counts->frames,
            counts->taken, counts->repeated, counts->missing, counts->stale, stream->unfed);
  }
}

static void print_outputs(const prem_tally *tally, int width, FILE *file) {
  fprintf(file, "\n%-*s %-8s %9s %9s %9s %9s %9s %9s %9s\n", width, "output", "kind", "frames",
          "seen", "repeated", "missing", "dropped", "aborted", "late");
  for (int32_t s = tally->schedule->live_input_count; s < tally->stream_count; ++s) {
    const prem_tally_stream *stream = &tally->streams[s];
    const prem_live_counts *counts = &stream->counts;
    fprintf(file,
            "%-*s %-8s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
            " %9" PRIu64 "\n",
            width, stream->name, kind_name(tally->schedule->live[s].kind), counts->frames,
            stream->seen, counts->repeated, counts->missing, counts->dropped, counts->aborted,
            counts->late);
  }
}

/* A percentile that the sample does not carry is no number. */
static void print_time(int64_t ns, bool is_known, FILE *file) {
  if (is_known && ns != INT64_MIN)
    fprintf(file, " %10.1f", us(ns));
  else
    fprintf(file, " %10s", "-");
}

static void print_ages(const prem_summary *ages, FILE *file) {
  const bool has_ages = ages->count > 0;
  fprintf(file, " %9" PRId64, ages->count);
  print_time(ages->min, has_ages, file);
  print_time((int64_t)(ages->mean + 0.5), has_ages, file);
  print_time(ages->p50, has_ages, file);
  print_time(ages->p99, has_ages, file);
  print_time(ages->p999, has_ages, file);
  print_time(ages->max, has_ages, file);
  fputc('\n', file);
}

/* Of an output that is made of several inputs the age by each of them. */
static void print_input_ages(const prem_tally *tally, const prem_tally_stream *output, int width,
                             int what, FILE *file) {
  for (int32_t i = 0; i < tally->schedule->live_input_count; ++i) {
    if (output->inputs[i].age.count == 0)
      continue;
    fprintf(file, "%-*s age of %-*s", width, output->name, what - 7, tally->streams[i].name);
    print_ages(&output->inputs[i].ages, file);
  }
}

/* How wide a column that says whose age it is. */
static int what_width(const prem_tally *tally) {
  int width = 11;
  for (int32_t s = tally->schedule->live_input_count; s < tally->stream_count; ++s)
    for (int32_t i = 0; i < tally->schedule->live_input_count; ++i) {
      const int length = (int)strlen("age of ") + (int)strlen(tally->streams[i].name);
      if (tally->streams[s].inputs[i].age.count > 0 && length > width)
        width = length;
    }
  return width;
}

static void print_times(const prem_tally *tally, int width, FILE *file) {
  const int what = what_width(tally);
  fprintf(file, "\n%-*s %-*s %9s %10s %10s %10s %10s %10s %10s\n", width, "output", what, "us",
          "results", "min", "mean", "p50", "p99", "p99.9", "max");
  for (int32_t s = tally->schedule->live_input_count; s < tally->stream_count; ++s) {
    const prem_tally_stream *stream = &tally->streams[s];
    fprintf(file, "%-*s %-*s", width, stream->name, what, "age");
    print_ages(&stream->ages, file);
    print_input_ages(tally, stream, width, what, file);
    const prem_tally_times *late = &stream->lateness;
    const bool has_late = late->count > 0;
    fprintf(file, "%-*s %-*s %9" PRId64, width, stream->name, what, "lateness", late->count);
    print_time(late->min_ns, has_late, file);
    print_time(has_late ? (int64_t)(late->sum_ns / (double)late->count) : 0, has_late, file);
    fprintf(file, " %10s %10s %10s", "-", "-", "-");
    print_time(late->max_ns, has_late, file);
    fputc('\n', file);
  }
}

static bool has_task_row(const prem_tally *tally, int32_t task) {
  const prem_live_task_counts *counts = &tally->tasks[task];
  return tally->schedule->tasks[task].deadline_ns > 0 ||
         counts->overruns + counts->skipped + counts->aborted > 0;
}

/* Those that have a deadline, missed or not, and those that others had left out. */
static void print_tasks(const prem_tally *tally, FILE *file) {
  const prem_schedule *schedule = tally->schedule;
  int width = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    width = prem_max_i32(width, has_task_row(tally, t) ? (int)strlen(schedule->tasks[t].name) : 0);
  if (width == 0)
    return;
  width = prem_max_i32(width, 6);
  fprintf(file, "\n%-*s %12s %9s %9s %9s %9s\n", width, "task", "deadline us", "jobs", "misses",
          "skipped", "aborted");
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    const prem_live_task_counts *counts = &tally->tasks[t];
    if (!has_task_row(tally, t))
      continue;
    fprintf(file, "%-*s", width, task->name);
    if (task->deadline_ns > 0)
      fprintf(file, " %12.1f", us(task->deadline_ns));
    else
      fprintf(file, " %12s", "-");
    const int64_t jobs = task->period_ns > 0 ? schedule->plan->hyperperiod_ns / task->period_ns : 1;
    fprintf(file, " %9" PRId64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
            tally->state.hyperperiods * jobs, counts->overruns, counts->skipped, counts->aborted);
  }
}

static void print_session(const prem_tally *tally, FILE *file) {
  const prem_live_state *state = &tally->state;
  const char *why = end_text(state->end);
  fprintf(file, "%s: live on backend %s, mode %s, hyperperiod %" PRId64 " ns\n",
          tally->schedule->name, tally->backend, prem_mode_name(tally->mode),
          tally->schedule->plan->hyperperiod_ns);
  fprintf(file, "%s after %.3f s, %" PRId64 " hyperperiods", why ? "ended" : "stopped",
          (double)(state->now_ns - state->start_ns) * 1e-9, state->hyperperiods);
  if (why)
    fprintf(file, " (%s)", why);
  fprintf(file, "; deadline misses %" PRId64 ", skipped %" PRId64 ", aborted %" PRId64 "\n",
          state->overruns, state->skipped, state->aborted);
}

void prem_tally_print(const prem_tally *tally, FILE *file) {
  const int width = name_width(tally);
  print_session(tally, file);
  print_tasks(tally, file);
  print_inputs(tally, width, file);
  if (tally->stream_count == tally->schedule->live_input_count)
    return;
  print_outputs(tally, width, file);
  print_times(tally, width, file);
}
