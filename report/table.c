/* SPDX-License-Identifier: Apache-2.0 */
/* A result as text: what real-time engineers ask for first stands first. Times are exact: a
 * column's unit has all its nanoseconds behind the point. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "prem/base/numbers.h"
#include "report/first_cause.h"
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

/* ---- units ---------------------------------------------------------------------------------- */

typedef struct time_unit {
  const char *name;
  double ns;
  int decimals;
} time_unit;

/** One unit for a whole column, so that its numbers can be compared at a glance. */
static time_unit unit_for(int64_t largest_ns) {
  if (largest_ns < 100000)
    return (time_unit){"ns", 1, 0};
  if (largest_ns < 100000000)
    return (time_unit){"us", 1e3, 3};
  if (largest_ns < INT64_C(100000000000))
    return (time_unit){"ms", 1e6, 6};
  return (time_unit){"s", 1e9, 9};
}

/** In integers: no nanosecond is lost. */
static cell_text time_cell(time_unit unit, int64_t ns) {
  int64_t whole_ns = (int64_t)unit.ns;
  int64_t size_ns = ns < 0 ? -ns : ns;
  const char *sign = ns < 0 ? "-" : "";
  if (unit.decimals == 0)
    return cell("%s%" PRId64, sign, size_ns);
  return cell("%s%" PRId64 ".%0*" PRId64, sign, size_ns / whole_ns, unit.decimals,
              size_ns % whole_ns);
}

static cell_text mean_cell(time_unit unit, double ns) {
  return cell("%.*f", unit.decimals ? unit.decimals : 1, ns / unit.ns);
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

static bool is_padded(const prem_row *row) {
  return row->mode != PREM_MODE_TT && row->padded.published_ns >= 0;
}

static int task_width(const prem_result *result) {
  int width = 4;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t t = 0; t < result->rows[i].task_count; ++t)
      width = name_width(width, result->rows[i].tasks[t].name);
  return width;
}

/* ---- the rows ------------------------------------------------------------------------------- */

static int64_t response_spread(const prem_task_result *task) {
  return task->response_ns.max - task->response_ns.min;
}

static int64_t worst_spread(const prem_row *row) {
  int64_t worst = 0;
  for (int32_t t = 0; t < row->task_count; ++t)
    worst = prem_max_i64(worst, response_spread(&row->tasks[t]));
  return worst;
}

typedef struct row_units {
  time_unit lateness, spread, makespan, jitter;
} row_units;

static row_units find_row_units(const prem_result *result) {
  int64_t lateness = 0, spread = 0, makespan = 0, jitter = 0;
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    lateness = prem_max_i64(lateness, row->lateness_max_ns);
    spread = prem_max_i64(spread, worst_spread(row));
    makespan = prem_max_i64(makespan, row->makespan_ns.max);
    jitter = prem_max_i64(jitter, row->jitter_ns);
  }
  return (row_units){unit_for(lateness), unit_for(spread), unit_for(makespan), unit_for(jitter)};
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
  return row->output_ok ? "ok" : "WRONG";
}

static bool any_watched(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].preempted.watched)
      return true;
  return false;
}

static int64_t all_samples(const prem_row *row) {
  return row->samples + (row->preempted.mixed ? 0 : row->preempted.count);
}

/** A column of its own where somebody looked. */
static void print_preempted_cell(const prem_row *row, bool watched, FILE *file) {
  if (watched)
    fprintf(file, " %12s",
            row->preempted.watched
                ? cell("%" PRId64 "/%" PRId64, row->preempted.count, all_samples(row)).text
                : "-");
}

static void print_row(const prem_row *row, const row_units *units, int width, bool watched,
                      FILE *file) {
  bool released = row->releases > 0, any = row->samples > 0;
  fprintf(file, "%-*s", width, name_cell(row->label).text);
  print_preempted_cell(row, watched, file);
  fprintf(file, " %9s %13s %8s %10s %9s %11s %10s %8s %6s\n",
          released ? time_cell(units->lateness, row->lateness_max_ns).text : "-",
          released ? cell("%" PRId64 "/%" PRId64, row->late_releases, row->releases).text : "-",
          released ? cell("%" PRId64, row->overruns).text : "-",
          violations_judged(row)
              ? cell("%" PRId64 "/%" PRId64, row->violations_certain, row->violations_possible).text
              : "-",
          any && prem_mode_computes(row->mode) ? time_cell(units->spread, worst_spread(row)).text
                                               : "-",
          any ? mean_cell(units->makespan, row->makespan_ns.mean).text : "-",
          any ? time_cell(units->jitter, row->jitter_ns).text : "-",
          any ? percent_cell(row->jitter_pct).text : "-", output_text(row));
}

static void print_rows(const prem_result *result, FILE *file) {
  row_units units = find_row_units(result);
  int width = label_width(result);
  const bool watched = any_watched(result);
  const char *const heads[3] = {"preempted", "of all", ""};
  const cell_text more[3] = {watched ? cell(" %12s", heads[0]) : cell("%s", ""),
                             watched ? cell(" %12s", heads[1]) : cell("%s", ""),
                             watched ? cell(" %12s", heads[2]) : cell("%s", "")};
  fprintf(file, "%-*s%s %9s %13s %8s %10s %9s %11s %10s %8s %6s\n", width, "mode", more[0].text,
          "worst", "late/", "over-", "violations", "response", "makespan", "makespan", "jitter",
          "output");
  fprintf(file, "%-*s%s %9s %13s %8s %10s %9s %11s %10s %8s\n", width, "", more[1].text, "lateness",
          "releases", "runs", "certain/", "spread", "mean", "jitter", "of mean");
  fprintf(file, "%-*s%s %9s %13s %8s %10s %9s %11s %10s %8s\n", width, "", more[2].text,
          units.lateness.name, "", "", "possible", units.spread.name, units.makespan.name,
          units.jitter.name, "%");
  for (int32_t i = 0; i < result->row_count; ++i)
    print_row(&result->rows[i], &units, width, watched, file);
}

/* ---- the tasks ------------------------------------------------------------------------------ */

static int64_t largest_response(const prem_result *result) {
  int64_t largest = 0;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t t = 0; t < result->rows[i].task_count; ++t)
      largest = prem_max_i64(prem_max_i64(largest, result->rows[i].tasks[t].response_ns.max),
                             prem_max_i64(result->rows[i].tasks[t].published_ns,
                                          result->rows[i].tasks[t].padded.published_ns));
  for (int32_t i = 0; i < result->row_count; ++i)
    largest = prem_max_i64(largest, result->rows[i].makespan_ns.max);
  return largest;
}

static cell_text percentile_cell(time_unit unit, int64_t ns) {
  return ns == INT64_MIN ? no_number() : time_cell(unit, ns);
}

/** Where the output of a mode counts: a `*` marks an instant that the samples themselves set. */
static cell_text published_cell(const prem_row *row, const prem_task_result *task, time_unit unit) {
  if (is_padded(row))
    return cell("%.30s*", time_cell(unit, task->padded.published_ns).text);
  return task->published_ns >= 0 ? time_cell(unit, task->published_ns) : no_number();
}

/** The usual before the longest. */
static void print_times(const char *name, const prem_row *row, const prem_summary *times,
                        const char *published, time_unit unit, int widths[2], FILE *file) {
  if (times->count == 0)
    return;
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %11s %11s\n", widths[0], name, widths[1],
          name_cell(row->label).text, time_cell(unit, times->p50).text,
          percentile_cell(unit, times->p99).text, time_cell(unit, times->max).text,
          time_cell(unit, times->min).text, time_cell(unit, times->max - times->min).text,
          published);
}

static int32_t task_count_of(const prem_result *result) {
  return result->row_count > 0 ? result->rows[0].task_count : 0;
}

static void print_responses(const prem_result *result, FILE *file) {
  static const char makespan[] = "makespan";
  const time_unit unit = unit_for(largest_response(result));
  int widths[2] = {name_width(task_width(result), makespan), label_width(result)};
  fprintf(file, "\nresponse times and makespan in %s\n", unit.name);
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %11s %11s\n", widths[0], "task", widths[1], "mode",
          "median", "p99", "max", "min", "spread", "published");
  for (int32_t t = 0; t < task_count_of(result); ++t)
    for (int32_t i = 0; i < result->row_count; ++i) {
      const prem_task_result *task = &result->rows[i].tasks[t];
      print_times(name_cell(task->name).text, &result->rows[i], &task->response_ns,
                  published_cell(&result->rows[i], task, unit).text, unit, widths, file);
    }
  for (int32_t i = 0; i < result->row_count; ++i)
    print_times(makespan, &result->rows[i], &result->rows[i].makespan_ns, "", unit, widths, file);
}

/* ---- chains --------------------------------------------------------------------------------- */

static int64_t largest_latency(const prem_result *result) {
  int64_t largest = 0;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t c = 0; c < result->rows[i].chain_count; ++c)
      largest = prem_max_i64(largest, prem_max_i64(result->rows[i].chains[c].reaction_ns.max,
                                                   result->rows[i].chains[c].age_ns.max));
  return largest;
}

static cell_text known_cell(const prem_summary *summary, time_unit unit, int64_t ns) {
  return summary->count > 0 ? time_cell(unit, ns) : no_number();
}

static void print_chain(const prem_row *row, int32_t c, time_unit unit, int widths[2], FILE *file) {
  const prem_summary *reaction = &row->chains[c].reaction_ns, *age = &row->chains[c].age_ns;
  fprintf(file, "%-*s %-*s %11s %11s %11s %11s %9" PRId64 "\n", widths[0],
          name_cell(row->chains[c].name).text, widths[1], name_cell(row->label).text,
          known_cell(reaction, unit, reaction->max).text,
          known_cell(reaction, unit, reaction->min).text, known_cell(age, unit, age->max).text,
          known_cell(age, unit, age->min).text, age->count);
}

/** Only of schedules that name chains. */
static void print_chains(const prem_result *result, FILE *file) {
  const int32_t count = result->row_count > 0 ? result->rows[0].chain_count : 0;
  const time_unit unit = unit_for(largest_latency(result));
  int widths[2] = {5, label_width(result)};
  for (int32_t c = 0; c < count; ++c)
    widths[0] = name_width(widths[0], result->rows[0].chains[c].name);
  if (count > 0)
    fprintf(file,
            "\nchains, end to end, in %s: reaction to an event that was just missed, age of the "
            "data in an output\n%-*s %-*s %11s %11s %11s %11s %9s\n",
            unit.name, widths[0], "chain", widths[1], "mode", "reaction", "least", "age", "least",
            "outputs");
  for (int32_t c = 0; c < count; ++c)
    for (int32_t i = 0; i < result->row_count; ++i)
      print_chain(&result->rows[i], c, unit, widths, file);
}

typedef struct phase_units {
  time_unit time, lateness;
} phase_units;

static phase_units find_phase_units(const prem_result *result) {
  int64_t time = 0, lateness = 0;
  for (int32_t i = 0; i < result->row_count; ++i)
    for (int32_t t = 0; t < result->rows[i].task_count; ++t)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
        const prem_phase_stats *counts = &result->rows[i].tasks[t].phase[p];
        time = prem_max_i64(prem_max_i64(time, counts->duration_max_ns),
                            result->rows[i].tasks[t].wcet_ns[p]);
        lateness =
            prem_max_i64(prem_max_i64(lateness, counts->lateness_max_ns), counts->overrun_max_ns);
      }
  return (phase_units){unit_for(time), unit_for(lateness)};
}

static void print_phase(const prem_row *row, int32_t t, int p, const phase_units *units,
                        int widths[2], FILE *file) {
  const prem_task_result *task = &row->tasks[t];
  const prem_phase_stats *counts = &task->phase[p];
  if (counts->count == 0)
    return;
  bool released = counts->releases > 0, planned = row->releases > 0;
  fprintf(file, "%-*s %-9s %-*s %10s %10s %8s %10s %10s %8s\n", widths[0],
          name_cell(task->name).text, prem_phase_name((prem_phase)p), widths[1],
          name_cell(row->label).text,
          task->wcet_ns[p] > 0 ? time_cell(units->time, task->wcet_ns[p]).text : "-",
          time_cell(units->time, counts->duration_max_ns).text,
          planned ? cell("%" PRId64, counts->overruns).text : "-",
          planned ? time_cell(units->lateness, counts->overrun_max_ns).text : "-",
          released ? time_cell(units->lateness, counts->lateness_max_ns).text : "-",
          released ? cell("%" PRId64, counts->late).text : "-");
}

static void print_phases(const prem_result *result, FILE *file) {
  phase_units units = find_phase_units(result);
  int widths[2] = {task_width(result), label_width(result)};
  fprintf(file,
          "\nphases: planned (WCET) and longest seen (WOET) in %s, overruns and lateness in %s\n",
          units.time.name, units.lateness.name);
  fprintf(file, "%-*s %-9s %-*s %10s %10s %8s %10s %10s %8s\n", widths[0], "task", "phase",
          widths[1], "mode", "WCET", "WOET", "overruns", "worst", "lateness", "late");
  for (int32_t t = 0; t < task_count_of(result); ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int32_t i = 0; i < result->row_count; ++i)
        print_phase(&result->rows[i], t, p, &units, widths, file);
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
  time_unit unit = unit_for(result->hyperperiod_ns);
  fprintf(file,
          "hyperperiod %s %s, clock step %" PRId64 " ns; late: begun more than %" PRId64
          " ns after the release\n\n",
          time_cell(unit, result->hyperperiod_ns).text, unit.name, machine->clock_step_ns,
          result->late_ns);
}

/** Rule of three: with 95 % confidence fewer than 3/N of all times lie above the largest of N. */
static void print_samples(const prem_row *row, FILE *file) {
  fprintf(file, "%s: %s counted: %" PRId64 ", discarded: %" PRId64, row->label, sample_name(row),
          row->samples, row->discarded);
  if (row->samples > 0)
    fprintf(file, "; longest makespan %" PRId64 " ns", row->makespan_ns.max);
  fputc('\n', file);
  if (row->samples == 0)
    return;
  if (strcmp(row->backend, "sim") == 0)
    fputs("  the simulator repeats itself: nothing is said about rarer times\n", file);
  else if (row->samples > 3)
    fprintf(file, "  with 95 %% confidence fewer than %.4g %% of makespans are longer\n",
            300.0 / (double)row->samples);
  else
    fputs("  too few to say how often makespans are longer\n", file);
}

/** How good a fixed instant is that the first half of the samples set. */
static void print_padding(const prem_row *row, int64_t clock_step_ns, FILE *file) {
  int64_t missed = 0, judged = 0;
  if (!is_padded(row))
    return;
  for (int32_t t = 0; t < row->task_count; ++t) {
    missed += row->tasks[t].padded.missed;
    judged += row->tasks[t].padded.judged;
  }
  fprintf(file,
          "%s *: padded to count at the longest of the first %" PRId64 " %s + %" PRId64
          " ns:\n  makespan %" PRId64 " ns, missed by %" PRId64 " of the other %" PRId64
          "; jobs missed: %" PRId64 " of %" PRId64 "\n",
          row->label, row->padded.trained, sample_name(row), clock_step_ns,
          row->padded.published_ns, row->padded.missed, row->padded.judged, missed, judged);
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
          first->kind == PREM_FIRST_LOST && row->preempted.count > 0
              ? ", or those of a preempted run"
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
  for (int32_t i = 0; i < row->task_count * PREM_PHASE_COUNT; ++i)
    for (int cause = 0; cause < PREM_CAUSE_COUNT; ++cause) {
      const int64_t more = row->tasks[i / PREM_PHASE_COUNT].late[i % PREM_PHASE_COUNT].count[cause];
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

/** What was told apart, so that nobody takes the rest for all. */
static void print_preempted(const prem_row *row, FILE *file) {
  const prem_preempted *preempted = &row->preempted;
  if (preempted->count == 0)
    return;
  fprintf(file,
          "%s: preempted: the operating system took a core away in %" PRId64 " of %" PRId64
          " %s, for %.3f ms at most\n",
          row->label, preempted->count, all_samples(row), sample_name(row),
          (double)preempted->longest_away_ns / 1e6);
  if (preempted->mixed) {
    fputs("  they count among the others\n", file);
    return;
  }
  fprintf(file, "  in none of the numbers above; the longest took %.3f ms",
          (double)preempted->makespan_max_ns / 1e6);
  if (preempted->releases > 0)
    fprintf(file, "; %" PRId64 "/%" PRId64 " releases late, %" PRId64 " overruns",
            preempted->late_releases, preempted->releases, preempted->overruns);
  fputc('\n', file);
  if (preempted->counts_mixed)
    fputs("  but for counts of phases: raw records are lost, so these are of all\n", file);
  if (row->samples == 0)
    fputs("  nothing is left: the machine was too busy; measure when it is quieter, on cores that\n"
          "  nobody else uses, or with --with-preempted\n",
          file);
}

static void print_doubts(const prem_row *row, FILE *file) {
  if (row->output_checked && !row->output_ok)
    print_verdict(row, file);
  print_verified(row, file);
  if (row->oversubscribed)
    fprintf(file,
            "%s: oversubscribed: more blocks than the machine runs at once; lateness and\n"
            "  durations include waiting for a core\n",
            row->label);
  print_preempted(row, file);
  if (row->standstills > 0)
    fprintf(file,
            "%s: times when all blocks stood still at once: %" PRId64 ", the longest %.3f ms; the\n"
            "  processor was somebody else's then, and times are not to be relied on\n",
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

/** Two columns to the right, broken at spaces before column 100. */
static void print_indented(const char *words, FILE *file) {
  enum { COLUMNS = 98 };
  for (int length; *words; words += length + (words[length] == ' ')) {
    length = (int)strlen(words);
    for (int at = length > COLUMNS ? COLUMNS : 0; at > 0; --at)
      if (words[at] == ' ') {
        length = at;
        break;
      }
    fprintf(file, "  %.*s\n", length, words);
  }
}

/** How a mode was run, and which could not be. */
static void print_mode_note(const prem_row *row, FILE *file) {
  if (row->mode_note[0])
    print_indented(row->mode_note, file);
}

static void print_left_out(const prem_result *result, FILE *file) {
  for (int32_t i = 0; i < result->left_out_count; ++i) {
    fprintf(file, "%s: LEFT OUT\n", prem_mode_name(result->left_out[i].mode));
    print_indented(result->left_out[i].reason, file);
  }
}

static void print_footer(const prem_result *result, FILE *file) {
  fputc('\n', file);
  for (int32_t i = 0; i < result->row_count; ++i) {
    print_samples(&result->rows[i], file);
    print_mode_note(&result->rows[i], file);
    print_padding(&result->rows[i], result->machine.clock_step_ns, file);
    print_causes(&result->rows[i], file);
  }
  print_launch_search(result, file);
  print_left_out(result, file);
  for (int32_t i = 0; i < result->row_count; ++i)
    print_doubts(&result->rows[i], file);
  if (result->interrupted)
    fputs("interrupted: only what was measured until then is counted\n", file);
}

void prem_result_print(const prem_result *result, FILE *file) {
  print_heading(result, file);
  print_rows(result, file);
  print_responses(result, file);
  print_chains(result, file);
  print_phases(result, file);
  print_footer(result, file);
}
