/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduled against real phases: for every mode a timeline of an excerpt of its worst run, and
 * under it the lateness over all of that run (durations, in a mode that has no releases).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/slot_order.h"
#include "prem/base/numbers.h"
#include "report/pictures/drawing.h"
#include "ttprem/measure.h"

enum {
  SHOWN_BLOCKS = 16,
  SHOWN_TILES = 3,   /* of each block, in the excerpt */
  SHOWN_SLOTS = 600, /* at most, in the excerpt */
  BINS = 500,        /* of the run, beneath */
  HEAD = 88,         /* pixels: title and legend, */
  COLUMN_HEAD = 30,  /* legend alone */
  LANE = 36,         /* of one block */
  AROUND = 96,       /* a panel's title, axis and its label */
  BENEATH = 130      /* the lower panel's drawing area */
};

static const char late_colour[] = "#D55E00", overrun_colour[] = "#CC79A7";

/** What is shown of a schedule, the same for every mode. */
typedef struct excerpt {
  prem_page page;
  int32_t blocks[SHOWN_BLOCKS];
  int32_t block_count;
  int64_t begin_ns, end_ns; /* from the hyperperiod's start */
  prem_slot *slots;         /* planned, of these blocks, by task, job, tile and phase */
  int64_t slot_count;
} excerpt;

static bool has_records(const prem_row *row) {
  return row->example && row->example->record_count > 0;
}

/** What is shown of a row: its worst run where that was not the first. */
static prem_kept_run run_of(const prem_row *row) {
  prem_kept_run kept[PREM_MAX_KEPT];
  return prem_row_kept(row, kept) > 0 ? kept[0] : (prem_kept_run){0};
}

static const prem_trace *trace_of(const prem_row *row) {
  return run_of(row).trace;
}

/** The start of the hyperperiod with which the row's records begin. */
static int64_t epoch_of(const prem_row *row) {
  return run_of(row).epoch_ns;
}

static bool is_late(const prem_trace_record *record, int64_t late_ns) {
  return record->release_ns != PREM_NO_RELEASE && record->start_ns - record->release_ns > late_ns;
}

/** The latest release of the runs shown; NULL: none was late. `epoch_ns`: of its hyperperiod. */
static const prem_trace_record *find_latest(const prem_result *result, int64_t *epoch_ns) {
  const prem_trace_record *latest = NULL;
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    const prem_trace *trace = trace_of(row);
    for (int64_t r = 0; trace && r < trace->record_count; ++r) {
      const prem_trace_record *record = &trace->records[r];
      if (record->flags & PREM_SLOT_WARMUP || !is_late(record, result->late_ns) ||
          record->hyperperiod != trace->records[0].hyperperiod)
        continue;
      if (latest && record->start_ns - record->release_ns <= latest->start_ns - latest->release_ns)
        continue;
      latest = record;
      *epoch_ns = epoch_of(row);
    }
  }
  return latest;
}

/* ---- what to show --------------------------------------------------------------------------- */

static int32_t lane_of(const excerpt *shown, int32_t block) {
  for (int32_t i = 0; i < shown->block_count; ++i)
    if (shown->blocks[i] == block)
      return i;
  return -1;
}

static int by_number(const void *a, const void *b) {
  return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/** The first blocks of every task in turn, so that each task is seen; before them that of the
 *  latest release. */
static void choose_blocks(excerpt *shown, const prem_schedule *schedule,
                          const prem_trace_record *latest) {
  if (latest)
    shown->blocks[shown->block_count++] = latest->block;
  for (int32_t position = 0, more = 1; more && shown->block_count < SHOWN_BLOCKS; ++position) {
    more = 0;
    for (int32_t t = 0; t < schedule->task_count && shown->block_count < SHOWN_BLOCKS; ++t) {
      const prem_task *task = &schedule->tasks[t];
      if (position >= task->block_count)
        continue;
      more = 1;
      if (lane_of(shown, task->blocks[position]) < 0)
        shown->blocks[shown->block_count++] = task->blocks[position];
    }
  }
  qsort(shown->blocks, (size_t)shown->block_count, sizeof *shown->blocks, by_number);
}

static int by_start(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  return (x->planned_ns > y->planned_ns) - (x->planned_ns < y->planned_ns);
}

static int last_phase(const prem_task *task) {
  int phase = PREM_WRITEBACK;
  while (phase > PREM_PREFETCH && !task->phase[phase].exists)
    --phase;
  return phase;
}

/** When each block shown is through with its first few tiles; `slots` are sorted by start. */
static int64_t end_of_first_tiles(const excerpt *shown, const prem_schedule *schedule,
                                  const prem_slot *slots, int64_t count) {
  int32_t tiles[SHOWN_BLOCKS] = {0};
  int64_t latest_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t lane = lane_of(shown, slots[i].block);
    if (tiles[lane] < SHOWN_TILES)
      latest_ns = prem_max_i64(latest_ns, slot_end_ns(&slots[i]));
    tiles[lane] += slots[i].phase == last_phase(&schedule->tasks[slots[i].task]);
  }
  return latest_ns;
}

static int64_t plan_end_ns(const prem_slot *slots, int64_t count) {
  int64_t latest_ns = 0;
  for (int64_t i = 0; i < count; ++i)
    latest_ns = prem_max_i64(latest_ns, slot_end_ns(&slots[i]));
  return latest_ns;
}

static void choose_window(excerpt *shown, const prem_schedule *schedule, const prem_slot *slots,
                          int64_t count) {
  if (count == 0)
    return;
  int64_t plan_ns = plan_end_ns(slots, count);
  shown->begin_ns = slots[0].planned_ns;
  shown->end_ns = end_of_first_tiles(shown, schedule, slots, count);
  if (count > SHOWN_SLOTS && slots[SHOWN_SLOTS].planned_ns < shown->end_ns)
    shown->end_ns = slots[SHOWN_SLOTS].planned_ns;
  else if (count <= SHOWN_SLOTS && shown->end_ns > plan_ns / 2)
    shown->end_ns = plan_ns; /* the whole plan is hardly more */
  if (shown->begin_ns < (shown->end_ns - shown->begin_ns) / 4)
    shown->begin_ns = 0;
}

/** An excerpt as long, that the latest release, not far from its beginning, fits into. */
static void move_window(excerpt *shown, const prem_trace_record *latest, int64_t epoch_ns) {
  const int64_t planned_ns = latest->release_ns - epoch_ns, start_ns = latest->start_ns - epoch_ns;
  const int64_t span_ns =
      prem_max_i64(shown->end_ns - shown->begin_ns, (start_ns - planned_ns) * 3 / 2);
  if (planned_ns >= shown->begin_ns && start_ns <= shown->end_ns)
    return;
  shown->begin_ns = prem_max_i64(planned_ns - span_ns / 6, 0);
  shown->end_ns = shown->begin_ns + span_ns;
}

/** Planned slots of the blocks shown, warm-up left out: it has no plan. */
static int64_t keep_shown(const excerpt *shown, prem_slot *slots, int64_t count) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!(slots[i].flags & PREM_SLOT_WARMUP) && lane_of(shown, slots[i].block) >= 0)
      slots[kept++] = slots[i];
  return kept;
}

static prem_status choose_excerpt(excerpt *shown, const prem_result *result,
                                  const prem_schedule *schedule, prem_diag *diag) {
  int64_t epoch_ns = 0;
  const prem_trace_record *latest = find_latest(result, &epoch_ns);
  choose_blocks(shown, schedule, latest);
  prem_status status =
      prem_plan_expand(schedule, schedule->plan, &shown->slots, &shown->slot_count, diag);
  if (status != PREM_OK)
    return status;
  shown->slot_count = keep_shown(shown, shown->slots, shown->slot_count);
  qsort(shown->slots, (size_t)shown->slot_count, sizeof *shown->slots, by_start);
  choose_window(shown, schedule, shown->slots, shown->slot_count);
  if (latest)
    move_window(shown, latest, epoch_ns);
  int64_t inside = 0;
  for (int64_t i = 0; i < shown->slot_count; ++i)
    if (shown->slots[i].planned_ns < shown->end_ns &&
        slot_end_ns(&shown->slots[i]) >= shown->begin_ns)
      shown->slots[inside++] = shown->slots[i];
  shown->slot_count = inside;
  qsort(shown->slots, (size_t)shown->slot_count, sizeof *shown->slots, prem_slot_order);
  return PREM_OK;
}

/* ---- the timeline --------------------------------------------------------------------------- */

static void write_planned(FILE *script, const excerpt *shown, prem_lane_shape shape,
                          prem_time_axis axis) {
  prem_begin_data(script, "planned");
  for (int64_t i = 0; i < shown->slot_count; ++i) {
    const prem_slot *slot = &shown->slots[i];
    prem_lane_place place =
        prem_lane_place_of(shape, lane_of(shown, slot->block), slot->phase, slot->flags);
    prem_write_box(script, (double)slot->planned_ns / axis.ns, (double)slot_end_ns(slot) / axis.ns,
                   place.centre, place.half);
  }
  prem_end_data(script);
}

/** A record whose real window lies in the excerpt, from hyperperiod `epoch_ns`. */
static bool is_shown(const excerpt *shown, const prem_trace_record *record, int64_t epoch_ns) {
  return record->end_ns - epoch_ns >= shown->begin_ns &&
         record->start_ns - epoch_ns <= shown->end_ns && lane_of(shown, record->block) >= 0;
}

static prem_lane_place place_of(const excerpt *shown, const prem_trace_record *record,
                                prem_lane_shape shape) {
  return prem_lane_place_of(shape, lane_of(shown, record->block), record->phase, record->flags);
}

/** Of a lane's height: the planned window is seen around what happened. */
static const double real_share = 0.68;

static void write_real(FILE *script, const excerpt *shown, const prem_trace *trace,
                       int64_t epoch_ns, int phase, prem_lane_shape shape, prem_time_axis axis) {
  char name[16];
  snprintf(name, sizeof name, "real%d", phase);
  prem_begin_data(script, name);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    prem_lane_place place = place_of(shown, record, shape);
    if (record->phase == phase && is_shown(shown, record, epoch_ns))
      prem_write_box(script, (double)(record->start_ns - epoch_ns) / axis.ns,
                     (double)(record->end_ns - epoch_ns) / axis.ns, place.centre,
                     place.half * real_share);
  }
  prem_end_data(script);
}

/** A white line where a phase begins, so that one phase after another of its kind does not look
 * like one; not for boxes so narrow that it would hide them. */
static void write_seams(FILE *script, const excerpt *shown, const prem_trace *trace,
                        int64_t epoch_ns, prem_lane_shape shape, prem_time_axis axis) {
  int64_t narrow_ns = (shown->end_ns - shown->begin_ns) / 250;
  prem_begin_data(script, "seams");
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (!is_shown(shown, record, epoch_ns) || record->end_ns - record->start_ns < narrow_ns)
      continue;
    prem_lane_place place = place_of(shown, record, shape);
    double half = place.half * real_share;
    fprintf(script, "%.6f %.3f %.3f\n", (double)(record->start_ns - epoch_ns) / axis.ns,
            place.centre - half, 2 * half);
  }
  prem_end_data(script);
}

/** Overruns are judged where the plan's instants hold: in mode tt. */
static bool is_overrun(const excerpt *shown, const prem_trace_record *record, int64_t epoch_ns) {
  const prem_slot *slot = prem_slot_find(shown->slots, shown->slot_count, record);
  return slot && record->end_ns - epoch_ns > slot_end_ns(slot);
}

static void write_marks(FILE *script, const excerpt *shown, const prem_row *row, int64_t epoch_ns,
                        int64_t late_ns, prem_lane_shape shape, prem_time_axis axis) {
  const prem_trace *trace = trace_of(row);
  prem_begin_data(script, "late");
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    prem_lane_place place = place_of(shown, record, shape);
    if (is_shown(shown, record, epoch_ns) && is_late(record, late_ns))
      fprintf(script, "%.6f %.3f\n", (double)(record->release_ns - epoch_ns) / axis.ns,
              place.centre - place.half);
  }
  prem_end_data(script);
  prem_begin_data(script, "overrun");
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (row->mode == PREM_MODE_TT && is_shown(shown, record, epoch_ns) &&
        is_overrun(shown, record, epoch_ns))
      fprintf(script, "%.6f %.3f\n", (double)(record->end_ns - epoch_ns) / axis.ns,
              place_of(shown, record, shape).centre);
  }
  prem_end_data(script);
}

static const char *mode_words(prem_mode mode) {
  switch (mode) {
  case PREM_MODE_TT:
    return "tt: each phase at its instant";
  case PREM_MODE_FREE:
    return "free: each phase as soon as it can";
  case PREM_MODE_LOCK:
    return "lock: memory phases one by one, by a token";
  default:
    return prem_mode_name(mode);
  }
}

/** Which run is shown, of how many. */
static void describe_run(const prem_row *row, char *out, size_t bytes) {
  const prem_kept_run run = run_of(row);
  const prem_trace_record *records = run.trace->records;
  const char *noun = row->scenario == PREM_RESIDENT ? "hyperperiod" : "run";
  int64_t last = run.run;
  for (int64_t i = 0; i < run.trace->record_count; ++i)
    last = prem_max_i64(last, run.run + records[i].hyperperiod - records[0].hyperperiod);
  const bool is_worst = row->worst.trace && row->worst.run >= run.run && row->worst.run <= last;
  const char *which = run.run != row->example_run ? "the worst"
                      : is_worst                  ? "the first and worst"
                                                  : "the first";
  char numbers[64];
  if (last > run.run)
    snprintf(numbers, sizeof numbers, "%ss %" PRId64 " to %" PRId64, noun, run.run, last);
  else
    snprintf(numbers, sizeof numbers, "%s %" PRId64, noun, run.run);
  if (row->samples == 1)
    snprintf(out, bytes, "%s, the only one", numbers);
  else
    snprintf(out, bytes, "%s, %s of %" PRId64, numbers, which, row->samples);
}

static void write_row_title(FILE *script, const prem_page *page, const prem_row *row) {
  if (page->is_column) {
    fprintf(script, "set title '%s' offset 0,-0.8\n", mode_words(row->mode));
    return;
  }
  char title[512], judged[160], run[128];
  describe_run(row, run, sizeof run);
  if (row->releases > 0)
    snprintf(judged, sizeof judged,
             "%" PRId64 " of %" PRId64 " releases late, %" PRId64 " overruns, ", row->late_releases,
             row->releases, row->overruns);
  else
    judged[0] = 0;
  snprintf(title, sizeof title,
           "%s; %s   (%s%" PRId64 " certain, %" PRId64
           " possible violations, makespan jitter %.4g %%%s)",
           mode_words(row->mode), run, judged, row->violations_certain, row->violations_possible,
           row->jitter_pct, row->oversubscribed ? "; oversubscribed" : "");
  fputs("set title ", script);
  prem_write_quoted(script, title);
  fputs(" offset 0,-0.4\n", script);
}

static void draw_timeline(FILE *script, const prem_result *result, const prem_schedule *schedule,
                          const prem_row *row, const excerpt *shown) {
  prem_time_axis axis = prem_axis_for(shown->end_ns - shown->begin_ns);
  prem_lane_shape shape = prem_lane_shape_of(schedule);
  int64_t epoch_ns = epoch_of(row);
  double margin = 0.01 * (double)(shown->end_ns - shown->begin_ns) / axis.ns;
  write_planned(script, shown, shape, axis);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    write_real(script, shown, trace_of(row), epoch_ns, phase, shape, axis);
  write_seams(script, shown, trace_of(row), epoch_ns, shape, axis);
  write_marks(script, shown, row, epoch_ns, result->late_ns, shape, axis);
  write_row_title(script, &shown->page, row);
  fprintf(script, "unset logscale\nset xrange [%.6f:%.6f]\nset yrange [%.1f:-0.6]\n",
          (double)shown->begin_ns / axis.ns - margin, (double)shown->end_ns / axis.ns + margin,
          shown->block_count - 0.4);
  fprintf(script, "set xlabel 'time from the start of the hyperperiod [%s]' offset 0,0.6\n",
          axis.unit);
  fputs("unset ylabel\nset ytics (", script);
  for (int32_t i = 0; i < shown->block_count; ++i) {
    fputs(i ? ", " : "", script);
    prem_write_lane_label(script, &shown->page, schedule, shown->blocks[i], shown->blocks[i]);
    fprintf(script, " %d", i);
  }
  fputs(") scale 0\nset grid noytics xtics\n", script);
  fputs("plot $planned with boxxyerror fs solid 1 border lc rgb '#909090' lc rgb '#EDEDED' "
        "notitle",
        script);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    fprintf(script, ", $real%d with boxxyerror fs solid 1 noborder lc rgb '%s' notitle", phase,
            prem_phase_colours[phase]);
  fputs(", $seams using 1:2:(0):3 with vectors nohead lw 1 lc rgb 'white' notitle", script);
  fprintf(script, ", $late using 1:2 with points pt 11 ps 1.3 lc rgb '%s' notitle", late_colour);
  fprintf(script, ", $overrun using 1:2 with points pt 2 lw 2 ps 1.1 lc rgb '%s' notitle\n",
          overrun_colour);
}

/* ---- lateness, or durations, over the run --------------------------------------------------- */

/** What the lower panels of all modes share, so that they can be compared. */
typedef struct scales {
  int64_t length_ns;   /* of the longest run shown */
  int64_t duration_ns; /* the longest in a mode without releases */
} scales;

typedef struct history {
  int64_t worst_ns[PREM_PHASE_COUNT][BINS]; /* -1: nothing there */
  int64_t largest_ns;
} history;

static bool has_number(const prem_row *row, const prem_trace_record *record) {
  return !(record->flags & PREM_SLOT_WARMUP) &&
         (row->releases == 0 || record->release_ns != PREM_NO_RELEASE);
}

static int64_t number_of(const prem_row *row, const prem_trace_record *record) {
  int64_t ns =
      row->releases > 0 ? record->start_ns - record->release_ns : record->end_ns - record->start_ns;
  return ns > 0 ? ns : 0;
}

static void widen(scales *common, const prem_row *row, int64_t epoch_ns) {
  const prem_trace *trace = trace_of(row);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    common->length_ns = prem_max_i64(common->length_ns, record->end_ns - epoch_ns);
    if (row->releases == 0 && has_number(row, record))
      common->duration_ns = prem_max_i64(common->duration_ns, number_of(row, record));
  }
}

static scales find_scales(const prem_result *result) {
  scales common = {0};
  for (int32_t i = 0; i < result->row_count; ++i) {
    const prem_row *row = &result->rows[i];
    if (has_records(row))
      widen(&common, row, epoch_of(row));
  }
  return common;
}

static double bin_width_ns(const scales *common) {
  return (double)(common->length_ns + 1) / BINS;
}

/** The worst of every bin: nothing that is far out can hide between two points. */
static void collect_history(const prem_row *row, int64_t epoch_ns, const scales *common,
                            history *out) {
  const prem_trace *trace = trace_of(row);
  out->largest_ns = 0;
  memset(out->worst_ns, 0xFF, sizeof out->worst_ns);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (!has_number(row, record))
      continue;
    int bin = (int)((double)(record->start_ns - epoch_ns) / bin_width_ns(common));
    int64_t *worst_ns = &out->worst_ns[record->phase][bin < 0 ? 0 : bin < BINS ? bin : BINS - 1];
    int64_t ns = number_of(row, record);
    *worst_ns = prem_max_i64(*worst_ns, ns);
    out->largest_ns = prem_max_i64(out->largest_ns, ns);
  }
}

/** The y axis of a lower panel. */
typedef struct value_axis {
  prem_time_axis size;
  double min, top;
  bool logarithmic;
} value_axis;

/** Lateness of a real machine runs from tens of nanoseconds to milliseconds. */
static value_axis value_axis_of(const prem_result *result, const prem_row *row,
                                const scales *common, const history *past) {
  bool lateness = row->releases > 0;
  int64_t largest_ns =
      lateness ? prem_max_i64(past->largest_ns, result->late_ns) : common->duration_ns;
  value_axis axis = {.size = prem_axis_for(largest_ns)};
  axis.logarithmic = lateness && past->largest_ns > 20 * result->late_ns;
  axis.min = axis.logarithmic ? 1 / axis.size.ns : 0;
  axis.top = (double)prem_max_i64(largest_ns, 1) / axis.size.ns * (axis.logarithmic ? 2 : 1.25);
  return axis;
}

static void write_history(FILE *script, const history *past, int phase, const scales *common,
                          prem_time_axis time, const value_axis *axis) {
  char name[16];
  snprintf(name, sizeof name, "past%d", phase);
  prem_begin_data(script, name);
  for (int b = 0; b < BINS; ++b) {
    double at_ns = (b + 0.5) * bin_width_ns(common);
    double value = (double)past->worst_ns[phase][b] / axis->size.ns;
    if (past->worst_ns[phase][b] >= 0)
      fprintf(script, "%.6f %.6f\n", at_ns / time.ns, value > axis->min ? value : axis->min);
  }
  prem_end_data(script);
}

static void write_history_axes(FILE *script, const prem_page *page, const prem_row *row,
                               const scales *common, prem_time_axis time, const value_axis *axis) {
  bool lateness = row->releases > 0;
  fprintf(script, "set xrange [0:%.6f]\nset yrange [%.9f:%.9f]\n",
          (double)common->length_ns / time.ns, axis->min, axis->top);
  fputs(axis->logarithmic ? "set logscale y\n" : "unset logscale\n", script);
  fprintf(script, "set xlabel 'time from the start of what is shown [%s]' offset 0,0.6\n",
          time.unit);
  fprintf(script, "set ylabel '%s [%s]' offset -1.5,0\n", lateness ? "lateness" : "duration",
          axis->size.unit);
  char run[128];
  describe_run(row, run, sizeof run);
  if (page->is_column)
    fputs("unset title\n", script);
  else
    fprintf(script, "set title 'all of %s: %s' offset 0,-0.4\n", run,
            lateness ? "worst lateness of each kind of phase (line: late above)"
                     : "longest phase of each kind (no releases in this mode)");
  fputs("set ytics autofreq scale 1 format '%g'\nset grid xtics ytics\n", script);
}

static void draw_history(FILE *script, const prem_page *page, const prem_result *result,
                         const prem_row *row, const scales *common, const history *past) {
  prem_time_axis time = prem_axis_for(common->length_ns);
  value_axis axis = value_axis_of(result, row, common, past);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    write_history(script, past, phase, common, time, &axis);
  write_history_axes(script, page, row, common, time, &axis);
  fputs("plot ", script);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    fprintf(script, "$past%d using 1:2 with points pt 7 ps 0.45 lc rgb '%s' notitle, ", phase,
            prem_phase_colours[phase]);
  if (row->releases > 0)
    fprintf(script, "%.6f with lines dt 2 lw 1.5 lc rgb '%s' notitle, ",
            (double)result->late_ns / axis.size.ns, late_colour);
  fputs("NaN notitle\n", script);
}

/* ---- the whole picture ---------------------------------------------------------------------- */

static int panel_height(const excerpt *shown) {
  return shown->block_count * LANE + AROUND + BENEATH + AROUND;
}

static void write_heading(FILE *script, const prem_result *result, const prem_schedule *schedule,
                          const excerpt *shown, int height) {
  prem_time_axis axis = prem_axis_for(result->hyperperiod_ns);
  char title[256], excerpted[256];
  bool is_worst = false;
  for (int32_t i = 0; i < result->row_count; ++i)
    is_worst |= has_records(&result->rows[i]) &&
                run_of(&result->rows[i]).run != result->rows[i].example_run;
  snprintf(title, sizeof title, "%s: planned and real phases on %s (%s)", result->schedule_name,
           result->machine.backend, result->machine.name);
  snprintf(excerpted, sizeof excerpted,
           "shown: the %s counted run of each mode, %.6g to %.6g of %.6g %s, %" PRId32
           " of %" PRId32 " blocks",
           is_worst ? "worst" : "first", (double)shown->begin_ns / axis.ns,
           (double)shown->end_ns / axis.ns, (double)result->hyperperiod_ns / axis.ns, axis.unit,
           shown->block_count, schedule->platform.blocks);
  prem_write_label(script, 1, title, 20, height, "font ',14'");
  prem_write_label(script, 8, excerpted, 70, height, "");
}

static void write_mark_legend(FILE *script, const prem_page *page, int number, double x,
                              const char *name, const char *how, int height) {
  const prem_legend_place at = prem_legend_place_of(page, number - 2, x);
  fprintf(script, "set label %d '%s' at screen %.5f, screen %.5f left point %s offset %s,0\n",
          number, name, at.x + (page->is_column ? 0.01 : 0), 1.0 - at.y / height, how,
          page->is_column ? "2" : "1");
}

/** One line of swatches; drawn by hand, for a key would need a plot of its own. */
static void write_legend(FILE *script, const prem_page *page, int height) {
  const char *const names[] = {"planned", "prefetch", "compute", "writeback"};
  const char *const colours[] = {"#EDEDED", prem_phase_colours[0], prem_phase_colours[1],
                                 prem_phase_colours[2]};
  for (int i = 0; i < 4; ++i) {
    const prem_legend_place at = prem_legend_place_of(page, i, 0.012 + 0.095 * i);
    const double x = at.x, y = 1.0 - at.y / height, half = 7.0 / height;
    const double wide = 28.0 / page->width;
    fprintf(script,
            "set object %d rectangle from screen %.5f, screen %.5f to screen %.5f, screen %.5f "
            "fs solid 1 border lc rgb '#909090' fc rgb '%s'\n",
            i + 1, x, y - half, x + wide, y + half, colours[i]);
    fprintf(script, "set label %d '%s' at screen %.5f, screen %.5f left\n", i + 2, names[i],
            x + 1.25 * wide, y);
  }
  char how[80];
  snprintf(how, sizeof how, "pt 11 ps 1.3 lc rgb '%s'", late_colour);
  write_mark_legend(script, page, 6, 0.405, "late release", how, height);
  snprintf(how, sizeof how, "pt 2 lw 2 ps 1.1 lc rgb '%s'", overrun_colour);
  write_mark_legend(script, page, 7, 0.515,
                    page->is_column ? "overrun" : "overrun: ends after its window", how, height);
}

static prem_status write_script(FILE *script, const prem_result *result,
                                const prem_schedule *schedule, const excerpt *shown,
                                const char *path) {
  history *past = malloc(sizeof *past);
  if (!past)
    return PREM_ERR_MEMORY;
  scales common = find_scales(result);
  const prem_page *page = &shown->page;
  const int head = page->is_column ? COLUMN_HEAD : HEAD;
  int rows = 0, top = head;
  for (int32_t i = 0; i < result->row_count; ++i)
    rows += has_records(&result->rows[i]);
  int height = head + rows * panel_height(shown);
  prem_write_terminal(script, path, height);
  if (!page->is_column)
    write_heading(script, result, schedule, shown, height);
  write_legend(script, page, height);
  fputs("set multiplot\nset tics out nomirror\nset border 3 lc rgb '#404040'\nunset key\n", script);
  for (int32_t i = 0; i < result->row_count; ++i) {
    if (!has_records(&result->rows[i]))
      continue;
    prem_place_panel(script, page, height, top + 26, shown->block_count * LANE);
    draw_timeline(script, result, schedule, &result->rows[i], shown);
    fputs("unset label\nunset object\n", script); /* heading and legend are drawn once */
    top += shown->block_count * LANE + AROUND;
    prem_place_panel(script, page, height, top + 26, BENEATH);
    collect_history(&result->rows[i], epoch_of(&result->rows[i]), &common, past);
    draw_history(script, page, result, &result->rows[i], &common, past);
    top += BENEATH + AROUND;
  }
  fputs("unset multiplot\n", script);
  free(past);
  return PREM_OK;
}

static prem_status draw(const prem_result *result, const prem_schedule *schedule, const char *path,
                        FILE *script, const volatile sig_atomic_t *stop, prem_diag *diag) {
  excerpt shown = {.page = prem_page_of(path)};
  prem_status status = choose_excerpt(&shown, result, schedule, diag);
  if (status == PREM_OK)
    status = write_script(script, result, schedule, &shown, path);
  if (status == PREM_OK)
    status = prem_draw_script(script, path, stop, diag);
  free(shown.slots);
  return status;
}

prem_status prem_result_draw(const prem_result *result, const prem_schedule *schedule,
                             const char *path, const volatile sig_atomic_t *stop, prem_diag *diag) {
  FILE *script = NULL;
  bool any = false;
  for (int32_t i = 0; i < result->row_count; ++i)
    any |= has_records(&result->rows[i]);
  prem_status status = prem_begin_script(path, &script, diag);
  if (status != PREM_OK)
    return status;
  if (any) {
    status = draw(result, schedule, path, script, stop, diag);
  } else {
    status = PREM_ERR_ARGUMENT;
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){.file = path}, "",
                  "no raw records were kept, so there is nothing to draw");
  }
  fclose(script);
  return status;
}
