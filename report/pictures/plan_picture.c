/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as a picture: a lane for each block, and beneath it the use of every resource. What would
 * be too dense to read is cut: as much is drawn as leaves a common phase a few pixels.
 *
 * Where tasks have periods, each has a row of its own in a lane, with an arrow up at each release
 * and one down at each deadline, and the excerpt is where most happens.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/resource_usage.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "report/pictures/drawing.h"
#include "ttprem/measure.h"

enum {
  MAX_LANES = 1056,
  MAX_SLOTS = 20000,   /* some 3 MB of SVG */
  PHASES_ACROSS = 190, /* of common length: 6 pixels each */
  DENSER = 4,          /* so many times, if that shows the whole plan */
  PHASES_A_LANE = 6,   /* at least, however far apart */
  HEAD = 96,           /* pixels: title and legend, */
  COLUMN_HEAD = 46,    /* legend alone */
  LANE = 32,           /* at most */
  LANES = 800,         /* all of them together, as long as each has ... */
  THIN_LANE = 2,       /* ... this; twice that where computes have a line of their own */
  BARE_LANE = 8,       /* thinner ones have no room between them */
  LABEL = 15,          /* a line of text */
  BETWEEN = 66,        /* panels, with the axis of the upper and the title of the lower one */
  PANEL = 80,          /* of a resource */
  FOOT = 66,
  OUTLINED_STEPS = 250,  /* more would be all outline */
  MAX_ROWS = 48,         /* of tasks with periods: each has to have room for its arrows */
  MAX_CANDIDATES = 4096, /* releases at which an excerpt may begin */
  MAX_ARROWS = 2000
};

static const char warmup_colour[] = "#E4E4E4", use_colour[] = "#56B4E9",
                  capacity_colour[] = "#D55E00", release_colour[] = "#202020",
                  deadline_colour[] = "#A0207F";

/** Blocks in a row whose phases have the same times. */
typedef struct lane {
  int32_t first, last;
} lane;

/** Of a lane, and where tasks have periods of one task. */
typedef struct row {
  int32_t lane, task; /* task -1: all of them */
} row;

/** What is drawn of a plan. */
typedef struct excerpt {
  prem_page page;
  lane *lanes;
  int32_t lane_count;
  row *rows; /* in the order of the lanes */
  int32_t row_count;
  int32_t *first_row; /* [lane_count + 1] */
  bool is_periodic;
  int32_t block_count; /* that tasks use */
  int32_t copy_count;  /* of these, for copies of live frames */
  int32_t *lane_of;    /* the lane of its first block; -1 for all others */
  prem_slot *slots;    /* planned, of the first block of each lane, by start; up to the end */
  int64_t slot_count;
  int64_t planned;          /* phases of the whole plan, warm-up left out */
  int64_t begin_ns, end_ns; /* of the excerpt */
  int64_t length_ns;        /* of the plan */
  int64_t common_ns;        /* the median length of a phase */
} excerpt;

/** Pixels from the top. */
typedef struct layout {
  int lane, lanes, head, height;
} layout;

/* ---- what to show --------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  if (x->planned_ns != y->planned_ns)
    return x->planned_ns < y->planned_ns ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

static int64_t phases_across(const excerpt *shown) {
  return shown->page.is_column ? PHASES_ACROSS * 2 / 5 : PHASES_ACROSS;
}

static bool find_common_length(excerpt *shown) {
  int64_t count = prem_min_i64(shown->slot_count, MAX_SLOTS);
  int64_t *lengths = malloc((size_t)(count + 1) * sizeof *lengths);
  if (!lengths)
    return false;
  for (int64_t i = 0; i < count; ++i)
    lengths[i] = shown->slots[i].length_ns;
  qsort(lengths, (size_t)count, sizeof *lengths, prem_by_i64);
  shown->common_ns = prem_max_i64(lengths[count / 2], 1);
  free(lengths);
  return true;
}

/** Slots are planned ones, sorted by start, and at least one. */
static void choose_window(excerpt *shown) {
  const prem_slot *slots = shown->slots;
  int64_t count = shown->slot_count, begin_ns = slots[0].planned_ns;
  int64_t few = prem_min_i64(count, (int64_t)PHASES_A_LANE * shown->lane_count) - 1;
  int64_t end_ns =
      prem_max_i64(begin_ns + phases_across(shown) * shown->common_ns, slot_end_ns(&slots[few]));
  if (count > MAX_SLOTS)
    end_ns = prem_min_i64(end_ns, slots[MAX_SLOTS].planned_ns);
  bool fits = (shown->length_ns - begin_ns) / DENSER < end_ns - begin_ns;
  if (end_ns > shown->length_ns || (fits && count <= MAX_SLOTS))
    end_ns = shown->length_ns;
  bool from_0 = end_ns == shown->length_ns || begin_ns < (end_ns - begin_ns) / 3;
  shown->begin_ns = from_0 ? 0 : begin_ns;
  shown->end_ns = prem_max_i64(end_ns, shown->begin_ns + 1);
  while (slots[shown->slot_count - 1].planned_ns >= shown->end_ns) /* the first one stays */
    --shown->slot_count;
}

/* ---- what to show of tasks with periods ----------------------------------------------------- */

static int64_t first_slot_from(const excerpt *shown, int64_t at_ns) {
  int64_t low = 0, high = shown->slot_count;
  PREM_BISECT(low, high, middle, shown->slots[middle].planned_ns < at_ns);
  return low;
}

/** From a release to the end of the longest span in which a job has to be done. */
static int64_t longest_job_ns(const prem_schedule *schedule) {
  int64_t longest_ns = 1;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->period_ns > 0)
      longest_ns =
          prem_max_i64(longest_ns, task->deadline_ns > 0 ? task->deadline_ns : task->period_ns);
  }
  return longest_ns;
}

/** The release behind which most phases begin within `span_ns`. */
static int64_t busiest_release_ns(const excerpt *shown, const prem_schedule *schedule,
                                  int64_t span_ns) {
  int64_t best_ns = 0, max = -1;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    const int64_t jobs = task->period_ns > 0 ? prem_task_jobs(schedule, task) : 0;
    for (int64_t j = 0; j < prem_min_i64(jobs, MAX_CANDIDATES); ++j) {
      const int64_t from_ns =
          prem_min_i64(j * task->period_ns + task->release_ns, shown->length_ns - span_ns);
      const int64_t inside =
          first_slot_from(shown, from_ns + span_ns) - first_slot_from(shown, from_ns);
      if (inside < max || (inside == max && from_ns >= best_ns))
        continue;
      max = inside;
      best_ns = from_ns;
    }
  }
  return best_ns;
}

/** All of it where a common phase has a few pixels; else as much as a job may take, from where most
 *  happens, or less. Slots are planned ones, sorted by start, and at least one. */
static void choose_periodic_window(excerpt *shown, const prem_schedule *schedule) {
  const int64_t readable_ns = phases_across(shown) * shown->common_ns;
  shown->begin_ns = 0;
  shown->end_ns = shown->length_ns;
  if (shown->length_ns > readable_ns) {
    const int64_t job_ns = longest_job_ns(schedule);
    const int64_t span_ns =
        prem_min_i64(prem_min_i64(job_ns + job_ns / 20, readable_ns), shown->length_ns);
    shown->begin_ns = busiest_release_ns(shown, schedule, span_ns);
    shown->end_ns = shown->begin_ns + span_ns;
  }
  const int64_t from = first_slot_from(shown, shown->begin_ns);
  if (first_slot_from(shown, shown->end_ns) - from > MAX_SLOTS)
    shown->end_ns = prem_max_i64(shown->slots[from + MAX_SLOTS].planned_ns, shown->begin_ns + 1);
  int64_t kept = 0;
  for (int64_t i = 0; i < shown->slot_count; ++i)
    if (shown->slots[i].planned_ns < shown->end_ns &&
        slot_end_ns(&shown->slots[i]) > shown->begin_ns)
      shown->slots[kept++] = shown->slots[i];
  shown->slot_count = kept;
}

static bool is_on(const prem_task *task, int32_t block) {
  for (int32_t i = 0; i < task->block_count; ++i)
    if (task->blocks[i] == block)
      return true;
  return false;
}

static void cut_lanes(excerpt *shown, int32_t blocks) {
  for (int32_t b = 0; b < blocks; ++b)
    if (shown->lane_of[b] >= shown->lane_count)
      shown->lane_of[b] = -1;
  int64_t kept = 0;
  for (int64_t i = 0; i < shown->slot_count; ++i)
    if (shown->lane_of[shown->slots[i].block] >= 0)
      shown->slots[kept++] = shown->slots[i];
  shown->slot_count = kept;
}

/** One row a lane, or one for each task that uses it. */
static prem_status fill_rows(excerpt *shown, const prem_schedule *schedule) {
  const int32_t max = shown->is_periodic ? MAX_ROWS + schedule->task_count : shown->lane_count;
  shown->rows = malloc(((size_t)max + 1) * sizeof *shown->rows);
  shown->first_row = malloc(((size_t)shown->lane_count + 1) * sizeof *shown->first_row);
  if (!shown->rows || !shown->first_row)
    return PREM_ERR_MEMORY;
  int32_t l = 0;
  for (; l < shown->lane_count && (!shown->is_periodic || shown->row_count < MAX_ROWS); ++l) {
    shown->first_row[l] = shown->row_count;
    if (!shown->is_periodic)
      shown->rows[shown->row_count++] = (row){l, -1};
    for (int32_t t = 0; shown->is_periodic && t < schedule->task_count; ++t)
      if (is_on(&schedule->tasks[t], shown->lanes[l].first))
        shown->rows[shown->row_count++] = (row){l, t};
  }
  shown->first_row[l] = shown->row_count;
  if (l < shown->lane_count) {
    shown->lane_count = l;
    cut_lanes(shown, schedule->platform.blocks);
  }
  return PREM_OK;
}

static int32_t row_of(const excerpt *shown, const prem_slot *slot) {
  const int32_t of_lane = shown->lane_of[slot->block];
  int32_t r = shown->first_row[of_lane];
  while (shown->rows[r].task >= 0 && shown->rows[r].task != slot->task)
    ++r;
  return r;
}

/* ---- the lanes that there are --------------------------------------------------------------- */

static int by_block(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  return prem_by_numbers((int64_t[]){x->block, x->planned_ns, x->phase},
                         (int64_t[]){y->block, y->planned_ns, y->phase}, 3);
}

/** Warm-up is left out: it has no plan. */
static void keep_planned(excerpt *shown, const prem_slot *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (slots[i].flags & PREM_SLOT_WARMUP)
      continue;
    shown->length_ns = prem_max_i64(shown->length_ns, slot_end_ns(&slots[i]));
    shown->slots[shown->slot_count++] = slots[i];
  }
  shown->planned = shown->slot_count;
  qsort(shown->slots, (size_t)shown->slot_count, sizeof *shown->slots, by_block);
}

static bool are_alike(const prem_slot *a, const prem_slot *b, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (a[i].planned_ns != b[i].planned_ns || a[i].length_ns != b[i].length_ns ||
        a[i].task != b[i].task || a[i].phase != b[i].phase || a[i].flags != b[i].flags)
      return false;
  return true;
}

static bool *find_used(const prem_schedule *schedule, int32_t *count) {
  bool *used = calloc((size_t)schedule->platform.blocks + 1, sizeof *used);
  for (int32_t t = 0; used && t < schedule->task_count; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].block_count; ++i) {
      *count += !used[schedule->tasks[t].blocks[i]];
      used[schedule->tasks[t].blocks[i]] = true;
    }
  return used;
}

/** Slots are sorted by block; of blocks that share a lane, those of the first are kept. Where there
 *  is room for all, each block has its own lane. */
static void fill_lanes(excerpt *shown, const bool *used, int32_t blocks) {
  bool share = shown->is_periodic || shown->block_count * LANE > LANES;
  const prem_slot *slots = shown->slots, *before = NULL;
  int64_t kept = 0, before_count = 0;
  for (int64_t b = 0, i = 0; b < blocks; ++b) {
    int64_t first = i;
    while (i < shown->slot_count && slots[i].block == b)
      ++i;
    shown->lane_of[b] = -1;
    if (!used[b])
      continue;
    if (share && before && shown->lanes[shown->lane_count - 1].last == b - 1 &&
        i - first == before_count && are_alike(before, &slots[first], before_count)) {
      shown->lanes[shown->lane_count - 1].last = (int32_t)b;
      continue;
    }
    if (shown->lane_count == MAX_LANES)
      break;
    shown->lane_of[b] = shown->lane_count;
    shown->lanes[shown->lane_count++] = (lane){(int32_t)b, (int32_t)b};
    memmove(&shown->slots[kept], &slots[first], (size_t)(i - first) * sizeof *slots);
    before = &shown->slots[kept];
    before_count = i - first;
    kept += before_count;
  }
  shown->slot_count = kept;
}

static prem_status choose_lanes(excerpt *shown, const prem_schedule *schedule) {
  int32_t blocks = schedule->platform.blocks;
  bool *used = find_used(schedule, &shown->block_count);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    shown->copy_count += schedule->tasks[t].is_copy;
  shown->lanes = malloc(((size_t)blocks + 1) * sizeof *shown->lanes);
  shown->lane_of = malloc(((size_t)blocks + 1) * sizeof *shown->lane_of);
  bool room = used && shown->lanes && shown->lane_of;
  if (room)
    fill_lanes(shown, used, blocks);
  free(used);
  return room ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status choose_excerpt(excerpt *shown, const prem_schedule *schedule,
                                  const prem_slot *slots, int64_t count) {
  shown->slots = malloc((size_t)(count + 1) * sizeof *shown->slots);
  if (!shown->slots)
    return PREM_ERR_MEMORY;
  keep_planned(shown, slots, count);
  shown->is_periodic = schedule->period_lcm_ns > 0;
  prem_status status = choose_lanes(shown, schedule);
  if (status == PREM_OK)
    status = fill_rows(shown, schedule);
  if (status != PREM_OK)
    return status;
  if (schedule->period_lcm_ns > 0)
    shown->length_ns = schedule->plan->hyperperiod_ns;
  qsort(shown->slots, (size_t)shown->slot_count, sizeof *shown->slots, by_start);
  if (shown->slot_count == 0) {
    shown->end_ns = prem_max_i64(shown->length_ns, 1);
    return PREM_OK;
  }
  if (!find_common_length(shown))
    return PREM_ERR_MEMORY;
  if (shown->is_periodic)
    choose_periodic_window(shown, schedule);
  else
    choose_window(shown);
  return PREM_OK;
}

static int32_t blocks_of(const lane *l) {
  return l->last - l->first + 1;
}

static layout layout_of(const excerpt *shown, const prem_schedule *schedule) {
  layout at = {.lane = LANES / (shown->row_count > 0 ? shown->row_count : 1)};
  int min = schedule->platform.buffers > 1 ? 2 * THIN_LANE : THIN_LANE;
  at.lane = at.lane > LANE ? LANE : at.lane < min ? min : at.lane;
  at.lanes = at.lane * shown->row_count;
  at.head = shown->page.is_column ? COLUMN_HEAD : HEAD;
  at.height = at.head + at.lanes + schedule->platform.resource_count * (BETWEEN + PANEL) + FOOT;
  return at;
}

/* ---- the lanes ------------------------------------------------------------------------------ */

static double pixel_ns(const excerpt *shown) {
  return (double)(shown->end_ns - shown->begin_ns) /
         (shown->page.width - shown->page.left - shown->page.right);
}

/** Where a phase is wide enough, a gap tells it from the next. */
static void write_slot(FILE *script, const excerpt *shown, const prem_slot *slot,
                       prem_lane_shape shape, prem_time_axis axis) {
  prem_lane_place place = prem_lane_place_of(shape, row_of(shown, slot), slot->phase, slot->flags);
  double gap_ns = 0.8 * pixel_ns(shown);
  if ((double)slot->length_ns < 5 * gap_ns)
    gap_ns = 0;
  prem_write_box(script, (double)slot->planned_ns / axis.ns,
                 ((double)slot_end_ns(slot) - gap_ns) / axis.ns, place.centre, place.half);
}

static void write_slots(FILE *script, const excerpt *shown, int phase, prem_lane_shape shape,
                        prem_time_axis axis) {
  char name[16];
  snprintf(name, sizeof name, "phase%d", phase);
  prem_begin_data(script, name);
  for (int64_t i = 0; i < shown->slot_count; ++i)
    if (shown->slots[i].phase == phase) {
      prem_slot slot = shown->slots[i];
      write_slot(script, shown, &slot, shape, axis);
      if (slot_end_ns(&slot) > shown->length_ns) { /* goes on in the next hyperperiod */
        slot.planned_ns -= shown->length_ns;
        write_slot(script, shown, &slot, shape, axis);
      }
    }
  prem_end_data(script);
}

static bool warms_up(const prem_schedule *schedule) {
  return schedule->plan->warmup_tiles > 0 && schedule->plan->warmup_ns > 0;
}

static void write_warmup(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                         prem_time_axis axis) {
  prem_begin_data(script, "warmup");
  if (warms_up(schedule) && schedule->plan->warmup_ns > shown->begin_ns)
    prem_write_box(script, 0, (double)schedule->plan->warmup_ns / axis.ns,
                   0.5 * (shown->row_count - 1), 0.5 * shown->row_count);
  prem_end_data(script);
}

/** Every so many lanes have room for a label: 1, 2, 5, 10, 20 ... */
static int32_t label_every(int pixels) {
  static const int32_t steps[] = {1, 2, 5};
  int32_t tens = 1;
  for (;; tens *= 10)
    for (int i = 0; i < 3; ++i)
      if (steps[i] * tens * pixels >= LABEL)
        return steps[i] * tens;
}

static void write_lane_labels(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                              int pixels) {
  int32_t every = label_every(pixels);
  fputs("set ytics (", script);
  for (int32_t i = 0; i < shown->lane_count; i += every) {
    fputs(i ? ", " : "", script);
    prem_write_lane_label(script, &shown->page, schedule, shown->lanes[i].first,
                          shown->lanes[i].last);
    fprintf(script, " %d", i);
  }
  fprintf(script, ") scale %s\n", every > 1 ? "0.5" : "0");
}

/** The blocks of a lane stand beside the first of its tasks. */
static void write_row_labels(FILE *script, const excerpt *shown, const prem_schedule *schedule) {
  fputs("set ytics (", script);
  for (int32_t r = 0; r < shown->row_count; ++r) {
    const lane *l = &shown->lanes[shown->rows[r].lane];
    char label[PREM_LANE_LABEL_BYTES], blocks[40] = "";
    if (schedule->tasks[shown->rows[r].task].is_copy)
      blocks[0] = '\0'; /* of no block of the platform */
    else if (r == shown->first_row[shown->rows[r].lane] && l->first == l->last)
      snprintf(blocks, sizeof blocks, "block %" PRId32 ": ", l->first);
    else if (r == shown->first_row[shown->rows[r].lane])
      snprintf(blocks, sizeof blocks, "blocks %" PRId32 "-%" PRId32 ": ", l->first, l->last);
    const int used =
        snprintf(label, sizeof label, "%s%s", blocks, schedule->tasks[shown->rows[r].task].name);
    prem_shorten_label(&shown->page, label, used);
    fputs(r ? ", " : "", script);
    prem_write_tic_label(script, label);
    fprintf(script, " %" PRId32, r);
  }
  fputs(") scale 0\n", script);
}

/** An arrow in a row, up or down, as data of vectors. */
static bool write_arrow(FILE *script, const excerpt *shown, int32_t r, int64_t at_ns, bool is_up,
                        prem_time_axis axis) {
  if (at_ns < shown->begin_ns || at_ns > shown->end_ns)
    return false;
  fprintf(script, "%.6f %.3f 0 %.3f\n", (double)at_ns / axis.ns, r + (is_up ? 0.5 : -0.48),
          is_up ? -0.98 : 0.98);
  return true;
}

/** Of the jobs whose releases or deadlines are in the excerpt. */
static void write_arrows(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                         bool releases, prem_time_axis axis) {
  int64_t drawn = 0;
  prem_begin_data(script, releases ? "releases" : "deadlines");
  for (int32_t r = 0; r < shown->row_count; ++r) {
    const prem_task *task = &schedule->tasks[shown->rows[r].task];
    if (task->period_ns == 0 || (!releases && task->deadline_ns == 0))
      continue;
    const int64_t from_ns = task->release_ns + (releases ? 0 : task->deadline_ns);
    const int64_t before_ns = shown->begin_ns - from_ns;
    /* deadlines of the hyperperiod before, and releases of the next at its end, as well */
    int64_t job = before_ns > 0 ? before_ns / task->period_ns : -(-before_ns / task->period_ns);
    for (--job; from_ns + job * task->period_ns <= shown->end_ns && drawn < MAX_ARROWS; ++job)
      drawn += write_arrow(script, shown, r, from_ns + job * task->period_ns, releases, axis);
  }
  prem_end_data(script);
}

/** A line between the tasks of one lane and those of the next. */
static void write_separators(FILE *script, const excerpt *shown, prem_time_axis axis) {
  prem_begin_data(script, "separators");
  for (int32_t l = 1; l < shown->lane_count; ++l)
    fprintf(script, "%.6f %.1f %.6f 0\n", (double)shown->begin_ns / axis.ns,
            shown->first_row[l] - 0.5, (double)(shown->end_ns - shown->begin_ns) / axis.ns);
  prem_end_data(script);
}

static prem_lane_shape without_room(prem_lane_shape shape) {
  if (shape.memory_centre < shape.compute_centre)
    return (prem_lane_shape){-0.25, 0.25, 0.25};
  return (prem_lane_shape){0, 0, 0.5};
}

static void draw_lanes(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                       const layout *at, prem_time_axis axis) {
  prem_lane_shape shape = prem_lane_shape_of(schedule);
  if (at->lane < BARE_LANE)
    shape = without_room(shape);
  prem_place_panel(script, &shown->page, at->height, at->head, at->lanes);
  write_warmup(script, shown, schedule, axis);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    write_slots(script, shown, phase, shape, axis);
  if (shown->is_periodic) {
    write_arrows(script, shown, schedule, true, axis);
    write_arrows(script, shown, schedule, false, axis);
    write_separators(script, shown, axis);
  }
  fprintf(script, "set yrange [%.1f:-0.5]\n", shown->row_count - 0.5);
  if (shown->is_periodic)
    write_row_labels(script, shown, schedule);
  else
    write_lane_labels(script, shown, schedule, at->lane);
  fprintf(script, "plot $warmup with boxxyerror fs solid 1 noborder lc rgb '%s' notitle",
          warmup_colour);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    fprintf(script, ", $phase%d with boxxyerror fs solid 1 noborder lc rgb '%s' notitle", phase,
            prem_phase_colours[phase]);
  if (shown->is_periodic)
    fprintf(script,
            ", $separators using 1:2:3:4 with vectors nohead lw 1 lc rgb '#808080' notitle"
            ", $releases using 1:2:3:4 with vectors head size screen 0.004,25 filled lw 1.2 lc rgb "
            "'%s' notitle, $deadlines using 1:2:3:4 with vectors head size screen 0.004,25 filled "
            "lw 1.2 lc rgb '%s' notitle",
            release_colour, deadline_colour);
  fputc('\n', script);
}

/* ---- resources ------------------------------------------------------------------------------ */

/** Of the time shown. */
typedef struct use_summary {
  int64_t steps, max;
  double mean;
} use_summary;

static use_summary summarise(const excerpt *shown, const prem_usage_step *steps, int64_t count) {
  use_summary found = {0};
  double used_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t from_ns = prem_max_i64(steps[i].at_ns, shown->begin_ns);
    int64_t to_ns = i + 1 < count ? prem_min_i64(steps[i + 1].at_ns, shown->end_ns) : shown->end_ns;
    if (to_ns <= from_ns)
      continue;
    ++found.steps;
    found.max = prem_max_i64(found.max, steps[i].used);
    used_ns += (double)steps[i].used * (double)(to_ns - from_ns);
  }
  found.mean = used_ns / (double)(shown->end_ns - shown->begin_ns);
  return found;
}

/** A step line, with the step that is in force at either end of what is shown. */
static void write_steps(FILE *script, const excerpt *shown, const prem_usage_step *steps,
                        int64_t count, prem_time_axis axis) {
  fputs("$use << EOD\n", script);
  int64_t i = 0;
  while (i + 1 < count && steps[i + 1].at_ns <= shown->begin_ns)
    ++i;
  fprintf(script, "%.6f %" PRId64 "\n", (double)shown->begin_ns / axis.ns, steps[i].used);
  for (++i; i < count && steps[i].at_ns < shown->end_ns; ++i)
    fprintf(script, "%.6f %" PRId64 "\n", (double)steps[i].at_ns / axis.ns, steps[i].used);
  fprintf(script, "%.6f %" PRId64 "\n", (double)shown->end_ns / axis.ns, steps[i - 1].used);
  prem_end_data(script);
}

static void write_use_title(FILE *script, const prem_page *page, const prem_resource *resource,
                            use_summary found) {
  char title[640];
  snprintf(title, sizeof title,
           "%s: used over time, capacity %" PRId32 "%s; in the time shown at most %" PRId64
           ", %.1f %% of the capacity on average",
           resource->name, resource->capacity,
           resource->per_task ? " (the blocks of a task count once)" : "", found.max,
           100 * found.mean / resource->capacity);
  fputs("set title ", script);
  prem_write_quoted(script, page->is_column ? resource->name : title);
  fputs(" offset 0,-0.6\n", script);
}

static prem_status draw_use(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                            const prem_slot *slots, int64_t count, int32_t r, prem_time_axis axis) {
  const prem_resource *resource = &schedule->platform.resources[r];
  prem_usage_step *steps = NULL;
  int64_t step_count = 0;
  prem_status status = prem_plan_resource_usage(schedule, slots, count, r, &steps, &step_count);
  if (status != PREM_OK)
    return status;
  use_summary found = summarise(shown, steps, step_count);
  int64_t top = prem_max_i64(prem_max_i64(found.max, resource->capacity), 1);
  write_steps(script, shown, steps, step_count, axis);
  free(steps);
  write_use_title(script, &shown->page, resource, found);
  fprintf(script, "set yrange [0:%.3f]\nset ytics 0,%" PRId64 " scale 0.5\n", 1.2 * (double)top,
          (top + 2) / 3);
  fprintf(script, "plot $use with fillsteps fs solid 1 noborder lc rgb '%s' notitle", use_colour);
  if (found.steps <= OUTLINED_STEPS)
    fputs(", $use with steps lw 1 lc rgb '#202020' notitle", script);
  fprintf(script, ", %" PRId32 " with lines lw 2 dt (9,5) lc rgb '%s' notitle\n",
          resource->capacity, capacity_colour);
  return PREM_OK;
}

/* ---- the whole picture ---------------------------------------------------------------------- */

/** Blocks whose first phase comes after the excerpt. */
static int64_t count_later(const excerpt *shown) {
  bool *begun = calloc((size_t)shown->lane_count + 1, sizeof *begun);
  int64_t later = 0;
  for (int64_t i = 0; begun && i < shown->slot_count; ++i)
    begun[shown->lane_of[shown->slots[i].block]] = true;
  for (int32_t i = 0; begun && i < shown->lane_count; ++i)
    later += begun[i] ? 0 : blocks_of(&shown->lanes[i]);
  free(begun);
  return later;
}

static void write_extent(char *line, size_t bytes, const excerpt *shown, prem_time_axis axis) {
  int64_t drawn = 0, blocks_drawn = 0;
  for (int64_t i = 0; i < shown->slot_count; ++i)
    drawn += blocks_of(&shown->lanes[shown->lane_of[shown->slots[i].block]]);
  for (int32_t i = 0; i < shown->lane_count; ++i)
    blocks_drawn += blocks_of(&shown->lanes[i]);
  bool fewer = blocks_drawn < shown->block_count;
  bool cut = shown->begin_ns > 0 || shown->end_ns < shown->length_ns;
  int64_t later_count = count_later(shown);
  char blocks[160] = "", later[64] = "";
  if (later_count > 0)
    snprintf(later, sizeof later, " (%" PRId64 " blocks begin later)", later_count);
  if (fewer)
    snprintf(blocks, sizeof blocks, "%" PRId64 " of ", blocks_drawn);
  snprintf(blocks + strlen(blocks), sizeof blocks - strlen(blocks), "%" PRId32 " block%s%s",
           shown->block_count, shown->block_count == 1 ? "" : "s",
           shown->lane_count < blocks_drawn ? " (equal ones in one row)" : "");
  if (shown->copy_count > 0)
    snprintf(blocks + strlen(blocks), sizeof blocks - strlen(blocks),
             ", %" PRId32 " of them for copies of live frames", shown->copy_count);
  if (cut && shown->is_periodic)
    snprintf(line, bytes,
             "an excerpt, where most happens: %.6g to %.6g of %.6g %s, %s, %" PRId64 " of %" PRId64
             " phases; the rest is not drawn",
             (double)shown->begin_ns / axis.ns, (double)shown->end_ns / axis.ns,
             (double)shown->length_ns / axis.ns, axis.unit, blocks, drawn, shown->planned);
  else if (!cut && !fewer)
    snprintf(line, bytes, "the whole plan: %" PRId64 " phases on %s", shown->planned, blocks);
  else
    snprintf(line, bytes,
             "cut for legibility: %s, %.6g to %.6g %s of %.6g %s, %" PRId64 " of %" PRId64
             " phases; the rest is not drawn%s",
             blocks, (double)shown->begin_ns / axis.ns, (double)shown->end_ns / axis.ns, axis.unit,
             (double)shown->length_ns / axis.ns, axis.unit, drawn, shown->planned, later);
}

static void write_heading(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                          prem_time_axis axis, int height) {
  const prem_plan *plan = schedule->plan;
  char line[512];
  snprintf(line, sizeof line, "%s: the plan (%s%s, hyperperiod %" PRId64 " ns)", schedule->name,
           *plan->policy ? "policy " : "", *plan->policy ? plan->policy : "written by hand",
           plan->hyperperiod_ns);
  prem_write_label(script, 1, line, 20, height, "font ',14'");
  write_extent(line, sizeof line, shown, axis);
  prem_write_label(script, 2, line, 70, height, "");
}

static void write_swatch(FILE *script, const prem_page *page, int number, int order, double from,
                         const char *colour, const char *name, int height) {
  const prem_legend_place at = prem_legend_place_of(page, order, from);
  const double x = at.x, y = 1.0 - at.y / height, half = 7.0 / height, wide = 28.0 / page->width;
  fprintf(script,
          "set object %d rectangle from screen %.5f, screen %.5f to screen %.5f, screen %.5f "
          "fs solid 1 noborder fc rgb '%s'\n",
          number, x, y - half, x + wide, y + half, colour);
  fprintf(script, "set label %d '%s' at screen %.5f, screen %.5f left\n", number + 10, name,
          x + 1.25 * wide, y);
}

static void write_arrow_legend(FILE *script, const prem_page *page, int number, int order,
                               double from, bool is_up, const char *colour, const char *name,
                               int height) {
  const prem_legend_place at = prem_legend_place_of(page, order, from);
  const double x = at.x, y = 1.0 - at.y / height, half = (is_up ? 9.0 : -9.0) / height;
  fprintf(
      script,
      "set arrow %d from screen %.5f, screen %.5f to screen %.5f, screen %.5f head size screen "
      "0.004,25 filled lw 1.2 lc rgb '%s'\nset label %d '%s' at screen %.5f, screen %.5f left\n",
      number, x, y - half, x, y + half, colour, number + 18, name, x + 0.008, y);
}

static void write_legend(FILE *script, const prem_page *page, const prem_schedule *schedule,
                         int height) {
  const char *const names[PREM_PHASE_COUNT] = {"prefetch", "compute", "writeback"};
  for (int i = 0; i < PREM_PHASE_COUNT; ++i)
    write_swatch(script, page, i + 1, i, 0.012 + 0.095 * i, prem_phase_colours[i], names[i],
                 height);
  write_swatch(script, page, 4, 3, 0.297, use_colour, "resource in use", height);
  const prem_legend_place line = prem_legend_place_of(page, 4, 0.413);
  const double y = 1.0 - line.y / height, wide = 33.6 / page->width;
  fprintf(script,
          "set arrow 1 from screen %.4f, screen %.5f to screen %.4f, screen %.5f nohead lw 2 "
          "dt (9,5) lc rgb '%s'\nset label 15 'its capacity' at screen %.4f, screen %.5f left\n",
          line.x, y, line.x + wide, y, capacity_colour, line.x + wide * 4 / 3, y);
  if (schedule->period_lcm_ns > 0) {
    write_arrow_legend(script, page, 2, 5, 0.545, true, release_colour, "release", height);
    write_arrow_legend(script, page, 3, 6, 0.625, false, deadline_colour, "deadline", height);
  }
  if (warms_up(schedule))
    write_swatch(script, page, 6, 7, schedule->period_lcm_ns > 0 ? 0.720 : 0.530, warmup_colour,
                 "warm-up, not planned", height);
}

static prem_status write_script(FILE *script, const prem_schedule *schedule, const excerpt *shown,
                                const prem_slot *slots, int64_t count, const char *path) {
  layout at = layout_of(shown, schedule);
  prem_time_axis axis = prem_axis_for(shown->end_ns - shown->begin_ns);
  prem_write_terminal(script, path, at.height);
  if (!shown->page.is_column)
    write_heading(script, shown, schedule, axis, at.height);
  write_legend(script, &shown->page, schedule, at.height);
  fprintf(script,
          "set multiplot\nset tics out nomirror\nset border 3 lc rgb '#404040'\n"
          "unset key\nset grid noytics xtics back lt 1 lw 1 lc rgb '#C8C8C8'\n"
          "set xrange [%.6f:%.6f]\n",
          (double)shown->begin_ns / axis.ns, (double)shown->end_ns / axis.ns);
  draw_lanes(script, shown, schedule, &at, axis);
  fputs("unset label\nunset object\nunset arrow\n", script); /* drawn once */
  prem_status status = PREM_OK;
  int32_t resources = schedule->platform.resource_count;
  int top = at.head + at.lanes;
  for (int32_t r = 0; r < resources && status == PREM_OK; ++r) {
    top += BETWEEN;
    prem_place_panel(script, &shown->page, at.height, top, PANEL);
    if (r == resources - 1)
      fprintf(script, "set xlabel 'time from the start of the hyperperiod [%s]' offset 0,0.4\n",
              axis.unit);
    status = draw_use(script, shown, schedule, slots, count, r, axis);
    top += PANEL;
  }
  fputs("unset multiplot\n", script);
  return status;
}

static prem_status draw(const prem_schedule *schedule, const char *path, FILE *script,
                        const volatile sig_atomic_t *stop, prem_diag *diag) {
  excerpt shown = {.page = prem_page_of(path)};
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status = prem_plan_expand(schedule, schedule->plan, &slots, &count, diag);
  if (status == PREM_OK)
    status = choose_excerpt(&shown, schedule, slots, count);
  if (status == PREM_OK)
    status = write_script(script, schedule, &shown, slots, count, path);
  if (status == PREM_OK)
    status = prem_draw_script(script, path, stop, diag);
  PREM_FREE(shown.slots, shown.lanes, shown.lane_of, shown.rows, shown.first_row, slots);
  return status;
}

/* Copies of live frames have rows of their own. */
static prem_status draw_with_copies(const prem_schedule *schedule, const char *path, FILE *script,
                                    const volatile sig_atomic_t *stop, prem_diag *diag) {
  prem_schedule *with_copies = NULL;
  prem_status status = prem_copies_add(schedule, &with_copies);
  if (status == PREM_OK)
    status = draw(with_copies, path, script, stop, diag);
  prem_copies_free(with_copies);
  return status;
}

prem_status prem_plan_draw(const prem_schedule *schedule, const char *path,
                           const volatile sig_atomic_t *stop, prem_diag *diag) {
  if (!schedule->plan)
    return prem_fail(diag, PREM_ERR_ARGUMENT, 0, (prem_place){.file = schedule->path}, "plan",
                     "there is no plan to draw; `ttprem plan` makes one");
  FILE *script = NULL;
  prem_status status = prem_begin_script(path, &script, diag);
  if (status != PREM_OK)
    return status;
  status = draw_with_copies(schedule, path, script, stop, diag);
  fclose(script);
  return status;
}
