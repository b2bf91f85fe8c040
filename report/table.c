/* SPDX-License-Identifier: Apache-2.0 */
/* A result as text: what real-time engineers ask for first stands first. Times are exact: a
 * microsecond has its nanoseconds behind the point. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "report/first_cause.h"
#include "report/narrow.h"
#include "ttprem/measure.h"

enum { CELL_BYTES = 32, NAME_COLUMNS = 20 };

/** Text of a cell, returned by value so that several can stand in one printf. */
typedef struct cell_text {
  char text[CELL_BYTES];
} cell_text;

static cell_text PREM_PRINTF(1, 2) cell(const char *format, ...) {
  cell_text made;
  va_list args;
  va_start(args, format);
  vsnprintf(made.text, sizeof made.text, format, args);
  va_end(args);
  return made;
}

/* ---- times ---------------------------------------------------------------------------------- */

/** In us, and in integers: no nanosecond is lost. */
static cell_text time_cell(int64_t ns) {
  const int64_t size_ns = ns < 0 ? -ns : ns;
  return cell("%s%" PRId64 ".%03" PRId64, ns < 0 ? "-" : "", size_ns / 1000, size_ns % 1000);
}

static cell_text no_number(void) {
  return cell("-");
}

/** Names of 63 bytes would push the numbers off the page. */
static cell_text name_cell(const char *name) {
  if (strlen(name) <= NAME_COLUMNS)
    return cell("%s", name);
  return cell("%.*s...", NAME_COLUMNS - 3, name);
}

static int name_width(int width, const char *name) {
  int needed = (int)strlen(name_cell(name).text);
  return needed > width ? needed : width;
}

static int label_width(const prem_result *result) {
  int width = 4;
  for (int32_t i = 0; i < result->row_count; ++i)
    width = name_width(width, result->rows[i].label);
  return width;
}

static bool is_padded(const prem_padding *padded) {
  return padded->at[PREM_PADDING_LONGEST].published_ns >= 0;
}

static int32_t task_count_of(const prem_result *result) {
  return result->row_count > 0 ? result->rows[0].task_count : 0;
}

/** Of more tasks nobody reads a table. */
static int32_t shown_count_of(const prem_result *result) {
  enum { MOST_TASKS = 1000 };
  return prem_min_i32(task_count_of(result), MOST_TASKS);
}

static bool has_missed(const prem_result *result, int32_t t) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].tasks[t].all.missed > 0)
      return true;
  return false;
}

static int task_width(const prem_result *result) {
  int width = 4;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t t = 0; t < result->rows[i].task_count; ++t)
      width = name_width(width, result->rows[i].tasks[t].name);
  return width;
}

/* ---- the rows ------------------------------------------------------------------------------- */

static int64_t worst_spread(const prem_row *row) {
  int64_t worst = 0;
  for (int32_t t = 0; t < row->task_count; ++t)
    worst = prem_max_i64(worst, row->tasks[t].response_ns.max - row->tasks[t].response_ns.min);
  return worst;
}

/** Is there a job that counts? */
static bool has_responses(const prem_row *row) {
  for (int32_t t = 0; t < row->task_count; ++t)
    if (row->tasks[t].response_ns.count > 0)
      return prem_mode_computes(row->mode);
  return false;
}

static bool violations_judged(const prem_row *row) {
  return row->violations_checked > 0 || row->violations_certain > 0 || row->violations_possible > 0;
}

/** Four digits that count, however small it is. */
static cell_text percent_cell(double percent) {
  int decimals = percent > 0 && percent < 1 ? 3 - (int)floor(log10(percent)) : 3;
  return cell("%.*f", decimals < 9 ? decimals : 9, percent);
}

static const char *output_text(const prem_row *row) {
  if (!row->output_checked)
    return "-";
  if (prem_row_is_partial(row))
    return "part";
  return row->output_ok ? "ok" : "WRONG";
}

static bool any_watched(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].disturbed.watched)
      return true;
  return false;
}

static int64_t all_jobs(const prem_row *row) {
  int64_t jobs = 0;
  for (int32_t t = 0; t < row->task_count; ++t)
    jobs += row->tasks[t].all.jobs;
  return jobs;
}

/** Then a hyperperiod has many jobs, and its makespan says nothing. */
static bool is_periodic(const prem_row *row) {
  for (int32_t t = 0; t < row->task_count; ++t)
    if (row->tasks[t].period_ns > 0)
      return true;
  return false;
}

/** A column of its own where somebody looked. */
static void print_disturbed_cell(const prem_row *row, bool watched, FILE *file) {
  if (watched)
    fprintf(file, " %12s",
            row->disturbed.watched
                ? cell("%" PRId64 "/%" PRId64, row->disturbed.jobs, all_jobs(row)).text
                : "-");
}

static void print_row(const prem_row *row, int width, bool watched, FILE *file) {
  bool released = row->releases > 0, any = row->samples > 0;
  fprintf(file, "%-*s", width, name_cell(row->label).text);
  print_disturbed_cell(row, watched, file);
  fprintf(file, " %9s %13s %8s %10s %9s", released ? time_cell(row->lateness_max_ns).text : "-",
          released ? cell("%" PRId64 "/%" PRId64, row->late_releases, row->releases).text : "-",
          released ? cell("%" PRId64, row->overruns).text : "-",
          violations_judged(row)
              ? cell("%" PRId64 "/%" PRId64, row->violations_certain, row->violations_possible).text
              : "-",
          has_responses(row) ? time_cell(worst_spread(row)).text : "-");
  if (!is_periodic(row))
    fprintf(file, " %11s %10s %8s", any ? cell("%.3f", row->makespan_ns.mean / 1e3).text : "-",
            any ? time_cell(row->jitter_ns).text : "-",
            any ? percent_cell(row->jitter_pct).text : "-");
  fprintf(file, " %6s\n", output_text(row));
}

static void print_rows(const prem_result *result, FILE *file) {
  static const char *const heads[3][4] = {
      {"mode", "    disturbed", "     worst         late/    over- violations  response",
       "    makespan   makespan   jitter"},
      {"", "       of all", "  lateness      releases     runs   certain/    spread",
       "        mean     jitter  of mean"},
      {"", "         jobs", "        us                          possible        us",
       "          us         us        %"}};
  const int width = label_width(result);
  const bool watched = any_watched(result);
  const bool has_makespan = result->row_count == 0 || !is_periodic(&result->rows[0]);
  fputs(PREM_TABLE_BEGIN, file);
  for (int line = 0; line < 3; ++line)
    fprintf(file, "%-*s%s%s%s%s\n", width, heads[line][0], watched ? heads[line][1] : "",
            heads[line][2], has_makespan ? heads[line][3] : "", line == 0 ? " output" : "");
  for (int32_t i = 0; i < result->row_count; ++i)
    print_row(&result->rows[i], width, watched, file);
  fputs(PREM_TABLE_END, file);
}

/* ---- the tasks ------------------------------------------------------------------------------ */

static void print_jobs_cells(const prem_summary *times, const prem_deadlines *jobs, FILE *file) {
  const bool any = times->count > 0;
  fprintf(file, " %10s %10s %12s", any ? time_cell(times->p50).text : "-",
          any ? time_cell(times->max).text : "-",
          jobs->missed >= 0 ? cell("%" PRId64 "/%" PRId64, jobs->missed, jobs->jobs).text
                            : cell("-/%" PRId64, jobs->jobs).text);
}

/** What leads where jobs have periods or deadlines. */
static void print_deadlines(const prem_result *result, FILE *file) {
  const int widths[2] = {task_width(result), label_width(result)};
  const bool apart = any_watched(result) && !result->rows[0].disturbed.mixed;
  bool asked = false;
  for (int32_t t = 0; t < task_count_of(result); ++t)
    asked |= result->rows[0].tasks[t].period_ns > 0 || result->rows[0].tasks[t].deadline_ns > 0;
  if (!asked)
    return;
  fputs("jobs: response times in us, and how many of all missed their deadline\n" PREM_TABLE_BEGIN,
        file);
  if (apart)
    fprintf(file, "%*s%35s%35s\n", widths[0] + widths[1] + 12, "", "all jobs", "undisturbed");
  fprintf(file, "%-*s %-*s %10s", widths[0], "task", widths[1], "mode", "deadline");
  for (int group = 0; group < 1 + apart; ++group)
    fprintf(file, " %10s %10s %12s", "median", "longest", "missed");
  fputc('\n', file);
  for (int32_t t = 0; t < task_count_of(result); ++t)
    for (int32_t i = 0; i < result->row_count; ++i) {
      const prem_task_result *task = &result->rows[i].tasks[t];
      if (task->all.jobs < 0 || (t >= shown_count_of(result) && !has_missed(result, t)))
        continue;
      fprintf(file, "%-*s %-*s %10s", widths[0], name_cell(task->name).text, widths[1],
              name_cell(result->rows[i].label).text,
              task->deadline_ns > 0 ? time_cell(task->deadline_ns).text : "-");
      print_jobs_cells(&task->all_response_ns, &task->all, file);
      if (apart)
        print_jobs_cells(&task->response_ns, &task->undisturbed, file);
      fputc('\n', file);
    }
  fputs(PREM_TABLE_END "\n", file);
}

static cell_text percentile_cell(int64_t ns) {
  return ns == INT64_MIN ? no_number() : time_cell(ns);
}

/** Where the output of a mode counts: a `*` marks an instant that the samples themselves set. */
static cell_text published_cell(const prem_row *row, const prem_task_result *task) {
  if (row->mode != PREM_MODE_TT && is_padded(&task->padded))
    return cell("%.30s*", time_cell(task->padded.at[PREM_PADDING_LONGEST].published_ns).text);
  return task->published_ns >= 0 ? time_cell(task->published_ns) : no_number();
}

/** The usual before the longest. */
static void print_times(const char *name, const prem_row *row, const prem_summary *times,
                        const char *published, int widths[2], FILE *file) {
  if (times->count == 0)
    return;
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %11s %11s\n", widths[0], name, widths[1],
          name_cell(row->label).text, time_cell(times->p50).text, percentile_cell(times->p99).text,
          time_cell(times->max).text, time_cell(times->min).text,
          time_cell(times->max - times->min).text, published);
}

/* Did anything count, or is there a heading with nothing below it? */
static bool has_times(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    if (row->makespan_ns.count > 0)
      return true;
    for (int32_t t = 0; t < task_count_of(result); ++t) {
      if (row->tasks[t].response_ns.count > 0)
        return true;
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        if (row->tasks[t].phase[p].count > 0)
          return true;
    }
  }
  return false;
}

static void print_responses(const prem_result *result, FILE *file) {
  static const char makespan[] = "makespan";
  int widths[2] = {name_width(task_width(result), makespan), label_width(result)};
  fprintf(file, "\nresponse times and makespan in us\n" PREM_TABLE_BEGIN);
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %11s %11s\n", widths[0], "task", widths[1], "mode",
          "median", "p99", "max", "min", "spread", "published");
  for (int32_t t = 0; t < shown_count_of(result); ++t)
    for (int32_t i = 0; i < result->row_count; ++i) {
      const prem_task_result *task = &result->rows[i].tasks[t];
      print_times(name_cell(task->name).text, &result->rows[i], &task->response_ns,
                  published_cell(&result->rows[i], task).text, widths, file);
    }
  for (int32_t i = 0; i < result->row_count; ++i)
    print_times(makespan, &result->rows[i], &result->rows[i].makespan_ns, "", widths, file);
  fputs(PREM_TABLE_END, file);
}

/* ---- padding -------------------------------------------------------------------------------- */

/** Undisturbed ones, and after the + disturbed ones. */
static cell_text apart_cell(int64_t undisturbed, int64_t disturbed) {
  return disturbed > 0 ? cell("%" PRId64 "+%" PRId64, undisturbed, disturbed)
                       : cell("%" PRId64, undisturbed);
}

static void print_padded(const char *name, const prem_row *row, const prem_padding *padded,
                         int widths[2], FILE *file) {
  if (!is_padded(padded))
    return;
  fprintf(file, "%-*s %-*s %7" PRId64 " %9s", widths[0], name, widths[1],
          name_cell(row->label).text, padded->trained,
          apart_cell(padded->judged, padded->judged_disturbed).text);
  for (int by = 0; by < PREM_PADDING_COUNT; ++by) {
    const prem_padded *at = &padded->at[by];
    fprintf(file, " %10s %6s", at->published_ns < 0 ? "-" : time_cell(at->published_ns).text,
            at->published_ns < 0 ? "-" : apart_cell(at->missed, at->missed_disturbed).text);
  }
  fputc('\n', file);
}

/** Of the paddings that are shown, the one that the fewest times set; NULL: none is. */
static const prem_padding *least_trained(const prem_result *result) {
  const prem_padding *least = NULL;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t t = -1; t < result->rows[i].task_count; ++t) {
      const prem_padding *one = t < 0 ? &result->rows[i].padded : &result->rows[i].tasks[t].padded;
      if (is_padded(one) && (!least || one->trained < least->trained))
        least = one;
    }
  return least;
}

/** Every mode as one that waits: how good is a fixed instant that the first half of its times sets?
 */
static void print_padding(const prem_result *result, FILE *file) {
  static const char makespan[] = "makespan";
  int widths[2] = {name_width(task_width(result), makespan), label_width(result)};
  const prem_padding *least = least_trained(result);
  if (!least)
    return;
  fprintf(
      file,
      "\npadded: if each output counted at one instant, in us: p99.99, p99.999 or longest of the "
      "first half of its jobs + %" PRId64
      " ns; missed by so many of the second half%s\n" PREM_TABLE_BEGIN,
      prem_max_i64(result->machine.clock_step_ns, 1),
      any_watched(result) ? ", undisturbed + disturbed ones" : "");
  fprintf(file, "%-*s %-*s %7s %9s", widths[0], "task", widths[1], "mode", "set by", "judged");
  fprintf(file, " %10s %6s %10s %6s %10s %6s\n", "p99.99", "missed", "p99.999", "missed", "longest",
          "missed");
  for (int32_t t = 0; t < shown_count_of(result); ++t)
    for (int32_t i = 0; i < result->row_count; ++i)
      print_padded(name_cell(result->rows[i].tasks[t].name).text, &result->rows[i],
                   &result->rows[i].tasks[t].padded, widths, file);
  for (int32_t i = 0; i < result->row_count && !is_periodic(&result->rows[0]); ++i)
    print_padded(makespan, &result->rows[i], &result->rows[i].padded, widths, file);
  fputs(PREM_TABLE_END, file);
  if (least->at[PREM_PADDING_P99999].published_ns < 0)
    fprintf(file,
            "  p99.99 needs %" PRId64 " undisturbed times in the first half, p99.999 %" PRId64
            " (one has to be longer)\n",
            prem_padding_needs(PREM_PADDING_P9999), prem_padding_needs(PREM_PADDING_P99999));
}

/* ---- chains --------------------------------------------------------------------------------- */

static cell_text known_cell(const prem_summary *summary, int64_t ns) {
  return summary->count > 0 ? time_cell(ns) : no_number();
}

static void print_chain(const prem_row *row, int32_t c, int widths[2], FILE *file) {
  const prem_summary *reaction = &row->chains[c].reaction_ns, *age = &row->chains[c].age_ns;
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %9" PRId64 "\n", widths[0],
          name_cell(row->chains[c].name).text, widths[1], name_cell(row->label).text,
          known_cell(reaction, reaction->max).text, known_cell(reaction, reaction->min).text,
          known_cell(age, age->max).text, known_cell(age, age->min).text, age->count);
}

/** Only of schedules that name chains. */
static void print_chains(const prem_result *result, FILE *file) {
  const int32_t count = result->row_count > 0 ? result->rows[0].chain_count : 0;
  int widths[2] = {5, label_width(result)};
  for (int32_t c = 0; c < count; ++c)
    widths[0] = name_width(widths[0], result->rows[0].chains[c].name);
  if (count > 0)
    fprintf(file,
            "\nchains, end to end, in us: reaction to an event that was just missed, age of the "
            "data in an output\n" PREM_TABLE_BEGIN "%-*s %-*s %11s %11s %11s %11s %9s\n",
            widths[0], "chain", widths[1], "mode", "reaction", "least", "age", "least", "outputs");
  for (int32_t c = 0; c < count; ++c)
    for (int32_t i = 0; i < result->row_count; ++i)
      print_chain(&result->rows[i], c, widths, file);
  if (count > 0)
    fputs(PREM_TABLE_END, file);
}

/* ---- best effort ----------------------------------------------------------------------------- */

static cell_text rate_cell(double count, int64_t length_ns, double unit) {
  return length_ns > 0 && count > 0 ? cell("%.3f", count / unit / ((double)length_ns * 1e-9))
                                    : no_number();
}

static void print_beside(const prem_row *row, int32_t t, int widths[2], FILE *file) {
  const prem_best_effort_result *task = &row->best_effort[t];
  const prem_best_effort_counts *counts = &task->counts;
  fprintf(file, "%-*s %-*s %9" PRId64 " %12s %9s %9" PRId64 " %9s %14s %9s\n", widths[0],
          name_cell(task->name).text, widths[1], name_cell(row->label).text, counts->jobs,
          rate_cell((double)counts->jobs, row->best_effort_ns, 1).text,
          rate_cell((double)counts->bytes, row->best_effort_ns, 1e9).text, counts->tiles,
          row->gated ? cell("%" PRId64, counts->waits).text : "-",
          row->gated ? time_cell(counts->wait_ns).text : "-",
          row->gated ? cell("%" PRId64, counts->overruns).text : "-");
}

static cell_text errand_cell(const prem_best_effort_result *task, int64_t ns) {
  return task->response_ns.count > 0 ? percentile_cell(ns) : no_number();
}

static void print_errands(const prem_row *row, int32_t t, int widths[2], FILE *file) {
  const prem_best_effort_result *task = &row->best_effort[t];
  const prem_errand_counts *errands = &task->counts.errands;
  const int64_t done = errands->ended[PREM_ERRAND_DONE];
  const bool has_bound = row->gated && task->bound_ns >= 0;
  fprintf(file,
          "%-*s %-*s %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64 " %9" PRId64
          " %9" PRId64 " %10s %10s %10s %10s\n",
          widths[0], name_cell(task->name).text, widths[1], name_cell(row->label).text,
          errands->sent, done, errands->late, errands->ended[PREM_ERRAND_EXPIRED],
          errands->ended[PREM_ERRAND_FAULT], errands->ended[PREM_ERRAND_ABORTED], errands->full,
          errand_cell(task, task->response_ns.p50).text,
          errand_cell(task, task->response_ns.p99).text,
          done > 0 ? time_cell(errands->response_max_ns).text : "-",
          has_bound ? time_cell(task->bound_ns).text : "-");
}

/** Only of schedules that have servers. */
static void print_servers(const prem_result *result, int widths[2], FILE *file) {
  bool has_some = false;
  for (int32_t t = 0; t < result->rows[0].best_effort_count; ++t)
    for (int32_t i = 0; i < result->row_count && result->rows[0].best_effort[t].serves; ++i) {
      if (!has_some)
        fprintf(file,
                "\nerrands; from arrival to end in us, and the bound by the plan"
                "\n" PREM_TABLE_BEGIN "%-*s %-*s %9s %9s %9s %9s %9s %9s %9s %10s %10s %10s "
                "%10s\n",
                widths[0], "server", widths[1], "mode", "sent", "done", "late", "expired", "fault",
                "aborted", "no room", "p50", "p99", "longest", "bound");
      print_errands(&result->rows[i], t, widths, file);
      has_some = true;
    }
  if (has_some)
    fputs(PREM_TABLE_END, file);
}

/** What the gate did not keep. */
static void print_gate_overruns(const prem_row *row, FILE *file) {
  for (int32_t t = 0; t < row->best_effort_count; ++t) {
    const prem_best_effort_result *task = &row->best_effort[t];
    const prem_gate_overrun *longest = &task->counts.longest;
    const cell_text what = longest->block < 0
                               ? cell("a graph")
                               : cell("block %" PRId32 ", %s of tile %" PRId32, longest->block,
                                      prem_phase_name(longest->phase), longest->tile);
    if (task->counts.overruns > 0)
      fprintf(file,
              "%s: best effort went on into closed windows %" PRId64 " times; the longest: %s, "
              "%s, %s us into the window of %s that opened at %s us of launch %" PRId64 "\n",
              row->label, task->counts.overruns, task->name, what.text,
              time_cell(longest->by_ns).text, task->into, time_cell(longest->at_ns).text,
              task->run);
  }
  if (row->gated && row->overruns > 0)
    fprintf(file,
            "%s: %" PRId64 " critical phases ended after their windows; the gate was open then\n",
            row->label, row->overruns);
}

/** Only of schedules that have such tasks. */
static void print_best_effort(const prem_result *result, FILE *file) {
  const int32_t count = result->row_count > 0 ? result->rows[0].best_effort_count : 0;
  int widths[2] = {4, label_width(result)};
  for (int32_t t = 0; t < count; ++t) {
    const prem_best_effort_result *task = &result->rows[0].best_effort[t];
    widths[0] = name_width(prem_max_i32(widths[0], task->serves ? 6 : 0), task->name);
  }
  if (count == 0)
    return;
  fprintf(file,
          "\nbest effort; waits at the gate in us; by the plan %.4f of the time is "
          "open\n" PREM_TABLE_BEGIN "%-*s %-*s %9s %12s %9s %9s %9s %14s %9s\n",
          result->rows[0].open_share, widths[0], "task", widths[1], "mode", "jobs", "jobs/s",
          "GB/s", "tiles", "waits", "waited", "overruns");
  for (int32_t t = 0; t < count; ++t)
    for (int32_t i = 0; i < result->row_count; ++i)
      print_beside(&result->rows[i], t, widths, file);
  fputs(PREM_TABLE_END, file);
  print_servers(result, widths, file);
}

static void print_phase(const prem_row *row, int32_t t, int p, int widths[2], FILE *file) {
  const prem_task_result *task = &row->tasks[t];
  const prem_phase_counts *counts = &task->phase[p];
  if (counts->count == 0)
    return;
  bool released = counts->releases > 0, planned = row->releases > 0;
  fprintf(file, "%-*s %-9s %-*s %10s %10s %8s %10s %8s %10s\n", widths[0],
          name_cell(task->name).text, prem_phase_name((prem_phase)p), widths[1],
          name_cell(row->label).text, task->wcet_ns[p] > 0 ? time_cell(task->wcet_ns[p]).text : "-",
          time_cell(counts->duration_max_ns).text,
          planned ? cell("%" PRId64, counts->overruns).text : "-",
          planned ? time_cell(counts->overrun_max_ns).text : "-",
          released ? cell("%" PRId64, counts->late).text : "-",
          released ? time_cell(counts->lateness_max_ns).text : "-");
}

static void print_phases(const prem_result *result, FILE *file) {
  int widths[2] = {task_width(result), label_width(result)};
  fputs("\nphases: in us, planned (WCET) and longest seen (WOET), overruns and the longest of "
        "them, late releases and the latest of them\n" PREM_TABLE_BEGIN,
        file);
  fprintf(file, "%-*s %-9s %-*s %10s %10s %8s %10s %8s %10s\n", widths[0], "task", "phase",
          widths[1], "mode", "WCET", "WOET", "overruns", "longest", "late", "latest");
  for (int32_t t = 0; t < shown_count_of(result); ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int32_t i = 0; i < result->row_count; ++i)
        print_phase(&result->rows[i], t, p, widths, file);
  fputs(PREM_TABLE_END, file);
}

/* ---- what was measured, and what the numbers bear ------------------------------------------- */

static const char *sample_name(const prem_row *row) {
  return row->scenario == PREM_RESIDENT ? "hyperperiods" : "runs";
}

static void print_heading(const prem_result *result, FILE *file) {
  const prem_machine *machine = &result->machine;
  const prem_row *row = result->row_count > 0 ? &result->rows[0] : NULL;
  fprintf(file, "%s: backend %s (%s), %s\n", result->schedule_name,
          row ? row->backend : machine->backend, machine->name,
          row && row->scenario == PREM_RESIDENT ? "resident" : "relaunched for every run");
  fprintf(file,
          "hyperperiod %s us, clock step %" PRId64 " ns; late: begun more than %" PRId64
          " ns after the release (late_ns)\n\n",
          time_cell(result->hyperperiod_ns).text, machine->clock_step_ns, result->late_ns);
}

/** Rule of three: with 95 % confidence fewer than 3/N of all times lie above the largest of N. Of
 *  tasks with periods, N is that of the one with the fewest jobs. */
static void print_samples(const prem_row *row, FILE *file) {
  const bool periodic = is_periodic(row);
  int64_t times = row->samples;
  for (int32_t t = 0; t < row->task_count && periodic; ++t)
    times = t == 0 ? row->tasks[t].response_ns.count
                   : prem_min_i64(times, row->tasks[t].response_ns.count);
  fprintf(file, "%s: %s counted: %" PRId64 ", discarded: %" PRId64, row->label, sample_name(row),
          periodic ? row->all_samples : row->samples, row->discarded);
  if (row->samples > 0 && !periodic)
    fprintf(file, "; longest makespan %" PRId64 " ns", row->makespan_ns.max);
  fputc('\n', file);
  if (times == 0)
    return;
  if (strcmp(row->backend, "sim") == 0)
    fputs("  the simulator repeats itself: nothing is said about rarer times\n", file);
  else if (times > 3)
    fprintf(file, "  with 95 %% confidence fewer than %.4g %% of %s are longer\n",
            300.0 / (double)times, periodic ? "a task's response times" : "makespans");
  else
    fprintf(file, "  too few to say how often %s are longer\n",
            periodic ? "response times" : "makespans");
}

static const char *cause_text(prem_cause cause) {
  static const char *const texts[PREM_CAUSE_COUNT] = {"seen within two clock steps",
                                                      "cold start",
                                                      "buffer not free",
                                                      "data late",
                                                      "unit not free",
                                                      "job before it late",
                                                      "hand-over late",
                                                      "executor late"};
  return texts[cause];
}

/** What has to change, where the plan can. */
static void print_remedy(const prem_row *row, const prem_first_cause *first, FILE *file) {
  const int64_t window_ns = row->tasks[first->task].wcet_ns[first->phase];
  if (first->widen_ns <= 0)
    return;
  if (first->kind == PREM_FIRST_HANDOVER)
    fprintf(file, "    leave %" PRId64 " ns more between the two\n", first->widen_ns);
  else if (first->joined)
    fprintf(file, "    widen its window by %" PRId64 " ns\n", first->widen_ns);
  else
    fprintf(file, "    widen its window of %" PRId64 " ns by %" PRId64 " ns\n", window_ns,
            first->widen_ns);
}

static void print_first_cause(const prem_row *row, const prem_first_cause *first, FILE *file) {
  char said[256];
  const char *from = first->from >= 0 ? row->tasks[first->from].name : "";
  prem_first_cause_text(first, name_cell(row->tasks[first->task].name).text, name_cell(from).text,
                        said, sizeof said);
  fprintf(file, "  %" PRId64 ": %s%s\n", first->late, said,
          first->kind == PREM_FIRST_LOST && row->disturbed.count > 0
              ? ", or those of a disturbed job"
              : "");
  fprintf(file,
          "    worst %" PRId64 " ns; first in run %" PRId64 ", block %" PRId32 ", job %" PRId32
          ", tile %" PRId32 ", at %" PRId64 " ns\n",
          first->lateness_max_ns, first->run, first->block, first->job, first->tile,
          first->start_ns);
  print_remedy(row, first, file);
}

/** With what the waits of the late releases began, the largest count first. */
static void print_first_causes(const prem_row *row, FILE *file) {
  enum { SHOWN = 10 };
  int64_t causes = 0, told = 0, others = 0;
  for (int64_t i = 0; i < row->first.count; ++i)
    if (row->first.causes[i].kind != PREM_FIRST_LOST) {
      told += row->first.causes[i].late;
      ++causes;
    }
  if (causes > 0)
    fprintf(file, "%s: %" PRId64 " late %s %" PRId64 " first %s:\n", row->label, told,
            told == 1 ? "release has" : "releases have", causes, causes == 1 ? "cause" : "causes");
  else
    fprintf(file, "%s: %" PRId64 " late %s of no known cause\n", row->label, row->late_releases,
            row->late_releases == 1 ? "release" : "releases");
  for (int64_t i = 0; i < row->first.count; ++i)
    if (i < SHOWN)
      print_first_cause(row, &row->first.causes[i], file);
    else
      others += row->first.causes[i].late;
  if (others > 0)
    fprintf(file, "  %" PRId64 ": %" PRId64 " other causes (--json names them)\n", others,
            row->first.count - SHOWN);
}

/** What the late releases waited for, each by itself. */
static void print_causes(const prem_row *row, FILE *file) {
  int64_t count[PREM_CAUSE_COUNT] = {0}, told = 0;
  for (int32_t i = 0; row->late && i < row->task_count * PREM_PHASE_COUNT; ++i)
    for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause) {
      const int64_t more = row->late[i].count[cause];
      count[cause] += more;
      told += more;
    }
  if (row->late_releases == 0)
    return;
  print_first_causes(row, file);
  fputs("  what each waited for: ", file);
  const char *before = "";
  for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause)
    if (count[cause] > 0) {
      fprintf(file, "%s%" PRId64 " %s", before, count[cause], cause_text((prem_cause)cause));
      before = ", ";
    }
  if (told < row->late_releases)
    fprintf(file, "%s%" PRId64 " without raw records", before, row->late_releases - told);
  fputc('\n', file);
}

static void print_verdict(const prem_row *row, FILE *file) {
  const prem_verdict *verdict = &row->verdict;
  fprintf(file,
          "%s: OUTPUT WRONG: %" PRId64 " elements differ\n  the first is [%" PRId64 ", %" PRId64
          ", %" PRId64 ", %" PRId64 "] of array %" PRId32 ": expected %.9g, found %.9g\n",
          row->label, verdict->wrong, verdict->index[0], verdict->index[1], verdict->index[2],
          verdict->index[3], verdict->array, verdict->expected, verdict->found);
}

/** Was not one phase written down? */
static bool is_only_counted(const prem_row *row) {
  int64_t counted = 0;
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      counted += row->tasks[t].phase[p].count;
  return row->trace_lost > 0 && row->trace_lost >= counted;
}

/** Which of the phases are only counted, and what could not be judged therefore. */
static void print_losses(const prem_row *row, FILE *file) {
  if (is_only_counted(row)) {
    fprintf(file,
            "%s: phases were counted, not written down: violations and causes are not known\n",
            row->label);
    return;
  }
  if (row->trace_lost > 0)
    fprintf(file, "%s: %" PRId64 " raw records found no room (all counts are complete)\n",
            row->label, row->trace_lost);
  if (row->violations_checked < row->samples && prem_mode_has_phases(row->mode))
    fprintf(file, "%s: violations were judged in %" PRId64 " of %" PRId64 " %s\n", row->label,
            row->violations_checked, row->samples, sample_name(row));
}

/** "ok" is of so many: a launch's other hyperperiods were overwritten. */
static void print_verified(const prem_row *row, FILE *file) {
  if (row->output_checked && row->verified_hyperperiods < row->hyperperiods)
    fprintf(file,
            "%s: outputs were verified after %" PRId64 " of %" PRId64
            " hyperperiods, the last of each launch\n"
            "  (--verify-every N: after every Nth that counts)\n",
            row->label, row->verified_hyperperiods, row->hyperperiods);
}

/** Where launches end before best-effort tasks have made their outputs. */
static void print_partial(const prem_row *row, FILE *file) {
  if (row->partly_verified == 0)
    return;
  fprintf(file,
          "%s: outputs of best-effort tasks were not verified in %" PRId64 " of %" PRId64
          " launches, which ended before each of their blocks had done all of its tiles once; "
          "launches are longer with --scenario resident and more --repeat\n",
          row->label, row->partly_verified, row->verified_hyperperiods);
  for (int32_t t = 0; t < row->best_effort_count && prem_row_is_partial(row); ++t)
    fprintf(file, "  %s: %" PRId64 " tiles in all launches, a job has %" PRId64 "\n",
            row->best_effort[t].name, row->best_effort[t].counts.tiles,
            row->best_effort[t].job_tiles);
}

/** What the sentinel saw, where there was one. */
static void print_stalls(const prem_row *row, FILE *file) {
  const prem_stalls *stalls = &row->stalls;
  if (stalls->watched_ns == 0)
    return;
  fprintf(file, "%s: the sentinel on SM %d%s saw the GPU stand still", row->label, (int)stalls->sm,
          stalls->has_own_sm ? ", its own," : "");
  if (stalls->count == 0)
    fputs(" never", file);
  else
    fprintf(file, " %" PRId64 " times, for %.3f ms at most,", stalls->count,
            (double)stalls->longest_ns / 1e6);
  fprintf(file, " in %.3f s (above %d us)\n", (double)stalls->watched_ns / 1e9,
          PREM_STALL_NS / 1000);
  if (row->disturbed.unwatched > 0)
    fprintf(file, "  not watched, and counted as undisturbed: %" PRId64 " of %" PRId64 " jobs\n",
            row->disturbed.unwatched, all_jobs(row));
}

/** What was told apart, so that nobody takes the rest for all. */
static void print_disturbed(const prem_row *row, FILE *file) {
  const prem_disturbed *apart = &row->disturbed;
  const bool by_stalls = row->stalls.watched_ns > 0;
  if (apart->count == 0)
    return;
  fprintf(file,
          "%s: disturbed: %s, for %.3f ms at most, %s %" PRId64 " of %" PRId64 " jobs, in %" PRId64
          " of %" PRId64 " %s, the longest of %.3f ms\n",
          row->label, by_stalls ? "the GPU stood still" : "the operating system took a core away",
          (double)apart->longest_away_ns / 1e6, by_stalls ? "in" : "from", apart->jobs,
          all_jobs(row), apart->count, row->all_samples, sample_name(row),
          (double)apart->makespan_max_ns / 1e6);
  if (apart->mixed) {
    fputs("  they count among the others\n", file);
    return;
  }
  fputs("  they count among all jobs, and in none of the other numbers above", file);
  if (apart->releases > 0)
    fprintf(file,
            ";\n  of their phases: %" PRId64 "/%" PRId64 " releases late, %" PRId64 " overruns",
            apart->late_releases, apart->releases, apart->overruns);
  fputc('\n', file);
  if (apart->counts_mixed)
    fputs("  but for counts of phases: raw records are lost, so these are of all\n", file);
  if (!has_responses(row))
    fprintf(file,
            "  no job is left: the machine was too busy; measure when it is quieter, on %s that "
            "nobody else uses, or with --with-disturbed\n",
            by_stalls ? "a GPU" : "cores");
}

static void print_doubts(const prem_row *row, FILE *file) {
  if (row->output_checked && !row->output_ok)
    print_verdict(row, file);
  print_verified(row, file);
  print_partial(row, file);
  if (row->oversubscribed)
    fprintf(file,
            "%s: oversubscribed: more blocks than the machine runs at once; lateness and "
            "durations include waiting for a core\n",
            row->label);
  print_stalls(row, file);
  print_disturbed(row, file);
  if (row->standstills > 0)
    fprintf(file,
            "%s: times when all blocks stood still at once: %" PRId64 ", the longest %.3f ms; the "
            "processor was somebody else's then, and times are not to be relied on\n",
            row->label, row->standstills, (double)row->standstill_max_ns / 1e6);
  print_losses(row, file);
}

/** What ordinary kernels were launched as. Tasks are named by the first of those alike. */
static void print_launch_search(const prem_result *result, FILE *file) {
  const prem_launch_search *launch_search = &result->launch_search;
  for (int32_t i = 0; i < launch_search->candidate_count; ++i) {
    const prem_launch_candidate *candidate = &launch_search->candidates[i];
    int32_t tried = 0, wrong = 0;
    for (int32_t other = 0; other < launch_search->candidate_count; ++other) {
      tried += launch_search->candidates[other].task == candidate->task;
      wrong += launch_search->candidates[other].task == candidate->task &&
               launch_search->candidates[other].wrong;
    }
    if (!candidate->chosen)
      continue;
    fprintf(file, "ordinary kernel of %s: %s; best of %" PRId32 " ways, alone %" PRId64 " ns\n",
            name_cell(result->rows[0].tasks[candidate->task].name).text, candidate->way, tried,
            candidate->alone_ns);
    if (wrong > 0)
      fprintf(file, "  %" PRId32 " ways gave WRONG OUTPUT and were not taken\n", wrong);
  }
}

static void print_indented(const char *words, FILE *file) {
  prem_wrap(words, strlen(words), 2, 2, file);
}

static void print_footer(const prem_result *result, FILE *file) {
  fputc('\n', file);
  for (int32_t i = 0; i < result->row_count; ++i) {
    print_samples(&result->rows[i], file);
    /* How a mode was run, and which could not be. */
    if (result->rows[i].mode_note[0])
      print_indented(result->rows[i].mode_note, file);
    print_causes(&result->rows[i], file);
    print_gate_overruns(&result->rows[i], file);
  }
  print_launch_search(result, file);
  for (int32_t i = 0; i < result->left_out_count; ++i) {
    fprintf(file, "%s: LEFT OUT\n", prem_mode_name(result->left_out[i].mode));
    print_indented(result->left_out[i].reason, file);
  }
  for (int32_t i = 0; i < result->row_count; ++i)
    print_doubts(&result->rows[i], file);
  if (result->interrupted)
    fputs("interrupted: only what was measured until then is counted\n", file);
}

static void print_all(const prem_result *result, FILE *file) {
  print_heading(result, file);
  print_deadlines(result, file);
  print_rows(result, file);
  if (has_times(result)) {
    print_responses(result, file);
    print_padding(result, file);
    print_chains(result, file);
    print_best_effort(result, file);
    print_phases(result, file);
    if (shown_count_of(result) < task_count_of(result))
      fprintf(file,
              "  the first %" PRId32 " of %" PRId32 " tasks, and others that missed deadlines: "
              "--json has all\n",
              shown_count_of(result), task_count_of(result));
  }
  print_footer(result, file);
}

void prem_result_print(const prem_result *result, FILE *file) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *wide = open_memstream(&text, &bytes);
  if (wide)
    print_all(result, wide);
  if (wide && fclose(wide) == 0)
    prem_print_narrow(text, file);
  free(text);
}
