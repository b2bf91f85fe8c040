/*
 * A plan as a picture: a lane for each block, and beneath it the use of every resource. What would
 * be too dense to read is cut: as much is drawn as leaves a common phase a few pixels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "ttprem/measure.h"
#include "use.h"

enum {
  MOST_LANES = 1056,
  MOST_SLOTS = 20000,  /* some 3 MB of SVG */
  PHASES_ACROSS = 190, /* of common length: 6 pixels each */
  PHASES_A_LANE = 6,   /* at least, however far apart */
  HEAD = 96,           /* pixels: title and legend */
  LANE = 32,           /* at most */
  LANES = 800,         /* all of them, unless that leaves less than ... */
  THIN_LANE = 2,
  LABEL = 15,   /* a line of text */
  BETWEEN = 44, /* panels, with the axis of the upper and the title of the lower one */
  PANEL = 80,   /* of a resource */
  FOOT = 56
};

static const char warmup_colour[] = "#E4E4E4", use_colour[] = "#56B4E9",
                  capacity_colour[] = "#D55E00";

/** What is drawn of a plan. */
typedef struct excerpt {
  int32_t *blocks; /* that tasks use, in order */
  int32_t lane_count, block_count;
  int32_t *lanes;   /* of each block of the platform; -1: not drawn */
  prem_slot *slots; /* planned, of these blocks, by start; up to the end of the excerpt */
  int64_t slot_count;
  int64_t planned;          /* phases of the whole plan, warm-up left out */
  int64_t begin_ns, end_ns; /* of the excerpt */
  int64_t length_ns;        /* of the plan */
  int64_t common_ns;        /* the median length of a phase */
} excerpt;

/** Pixels from the top. */
typedef struct layout {
  double lane;
  int lanes, height;
} layout;

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t slot_end_ns(const prem_slot *slot) {
  return slot->start_ns + slot->length_ns;
}

/* ---- what to show --------------------------------------------------------------------------- */

/** The lanes, and how many blocks there would be. */
static bool choose_blocks(excerpt *shown, const prem_schedule *schedule) {
  int32_t blocks = schedule->platform.blocks;
  shown->blocks = malloc(((size_t)blocks + 1) * sizeof *shown->blocks);
  shown->lanes = calloc((size_t)blocks + 1, sizeof *shown->lanes);
  if (!shown->blocks || !shown->lanes)
    return false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].block_count; ++i)
      shown->lanes[schedule->tasks[t].blocks[i]] = 1;
  for (int32_t b = 0; b < blocks; ++b) {
    bool used = shown->lanes[b] == 1;
    shown->lanes[b] = used && shown->lane_count < MOST_LANES ? shown->lane_count : -1;
    if (shown->lanes[b] >= 0)
      shown->blocks[shown->lane_count++] = b;
    shown->block_count += used;
  }
  return true;
}

static int by_start(const void *a, const void *b) {
  const prem_slot *x = a, *y = b;
  if (x->start_ns != y->start_ns)
    return x->start_ns < y->start_ns ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool find_common_length(excerpt *shown) {
  int64_t count = smaller(shown->slot_count, MOST_SLOTS);
  int64_t *lengths = malloc((size_t)(count + 1) * sizeof *lengths);
  if (!lengths)
    return false;
  for (int64_t i = 0; i < count; ++i)
    lengths[i] = shown->slots[i].length_ns;
  qsort(lengths, (size_t)count, sizeof *lengths, by_size);
  shown->common_ns = larger(lengths[count / 2], 1);
  free(lengths);
  return true;
}

/** Slots are planned ones, sorted by start, and at least one. */
static void choose_window(excerpt *shown) {
  const prem_slot *slots = shown->slots;
  int64_t count = shown->slot_count, begin_ns = slots[0].start_ns;
  int64_t few = smaller(count, (int64_t)PHASES_A_LANE * shown->lane_count) - 1;
  int64_t end_ns = larger(begin_ns + PHASES_ACROSS * shown->common_ns, slot_end_ns(&slots[few]));
  if (count > MOST_SLOTS)
    end_ns = smaller(end_ns, slots[MOST_SLOTS].start_ns);
  bool little_more = (shown->length_ns - begin_ns) / 3 * 2 < end_ns - begin_ns;
  if (end_ns > shown->length_ns || (little_more && count <= MOST_SLOTS))
    end_ns = shown->length_ns;
  shown->begin_ns = begin_ns < (end_ns - begin_ns) / 3 ? 0 : begin_ns;
  shown->end_ns = larger(end_ns, shown->begin_ns + 1);
  while (shown->slot_count > 0 && slots[shown->slot_count - 1].start_ns >= shown->end_ns)
    --shown->slot_count;
}

/** Warm-up is left out: it has no plan. */
static void keep_shown(excerpt *shown, const prem_slot *slots, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (slots[i].flags & PREM_SLOT_WARMUP)
      continue;
    ++shown->planned;
    shown->length_ns = larger(shown->length_ns, slot_end_ns(&slots[i]));
    if (shown->lanes[slots[i].block] >= 0)
      shown->slots[shown->slot_count++] = slots[i];
  }
}

static prem_status choose_excerpt(excerpt *shown, const prem_schedule *schedule,
                                  const prem_slot *slots, int64_t count) {
  shown->slots = malloc((size_t)(count + 1) * sizeof *shown->slots);
  if (!shown->slots || !choose_blocks(shown, schedule))
    return PREM_ERR_MEMORY;
  keep_shown(shown, slots, count);
  if (schedule->period_lcm_ns > 0)
    shown->length_ns = schedule->plan->hyperperiod_ns;
  qsort(shown->slots, (size_t)shown->slot_count, sizeof *shown->slots, by_start);
  if (shown->slot_count == 0) {
    shown->end_ns = larger(shown->length_ns, 1);
    return PREM_OK;
  }
  if (!find_common_length(shown))
    return PREM_ERR_MEMORY;
  choose_window(shown);
  return PREM_OK;
}

static layout layout_of(const excerpt *shown, const prem_schedule *schedule) {
  layout at = {.lane = (double)LANES / (shown->lane_count > 0 ? shown->lane_count : 1)};
  at.lane = at.lane > LANE ? LANE : at.lane < THIN_LANE ? THIN_LANE : at.lane;
  at.lanes = (int)(at.lane * shown->lane_count + 0.5);
  at.height = HEAD + at.lanes + schedule->platform.resource_count * (BETWEEN + PANEL) + FOOT;
  return at;
}

/* ---- the lanes ------------------------------------------------------------------------------ */

static double pixel_ns(const excerpt *shown) {
  return (double)(shown->end_ns - shown->begin_ns) /
         (PREM_PICTURE_WIDTH - PREM_PICTURE_LEFT - PREM_PICTURE_RIGHT);
}

/** The halves of a joined pair stand one above the other; where a phase is wide enough, a gap tells
 *  it from the next. */
static void write_slot(FILE *script, const excerpt *shown, const prem_slot *slot,
                       prem_lane_shape shape, prem_time_axis axis) {
  double centre = prem_lane_centre(shape, shown->lanes[slot->block], slot->phase);
  double half = shape.half, gap_ns = 0.8 * pixel_ns(shown);
  if (slot->flags & PREM_SLOT_JOINED) {
    half /= 2;
    centre += slot->phase == PREM_PREFETCH ? -half : half;
  }
  if ((double)slot->length_ns < 5 * gap_ns)
    gap_ns = 0;
  prem_write_box(script, (double)slot->start_ns / axis.ns,
                 ((double)slot_end_ns(slot) - gap_ns) / axis.ns, centre, half);
}

static void write_slots(FILE *script, const excerpt *shown, int phase, prem_lane_shape shape,
                        prem_time_axis axis) {
  char name[16];
  snprintf(name, sizeof name, "phase%d", phase);
  prem_begin_data(script, name);
  for (int64_t i = 0; i < shown->slot_count; ++i)
    if (shown->slots[i].phase == phase)
      write_slot(script, shown, &shown->slots[i], shape, axis);
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
                   0.5 * (shown->lane_count - 1), 0.5 * shown->lane_count);
  prem_end_data(script);
}

/** Every so many lanes have room for a label: 1, 2, 5, 10, 20 ... */
static int32_t label_every(double lane) {
  static const int32_t steps[] = {1, 2, 5};
  int32_t tens = 1;
  for (;; tens *= 10)
    for (int i = 0; i < 3; ++i)
      if (steps[i] * tens * lane >= LABEL)
        return steps[i] * tens;
}

static void write_lane_labels(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                              double lane) {
  int32_t every = label_every(lane);
  fputs("set ytics (", script);
  for (int32_t i = 0; i < shown->lane_count; i += every) {
    fputs(i ? ", " : "", script);
    prem_write_lane_label(script, schedule, shown->blocks[i]);
    fprintf(script, " %d", i);
  }
  fprintf(script, ") scale %s\n", every > 1 ? "0.5" : "0");
}

static void draw_lanes(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                       const layout *at, prem_time_axis axis) {
  prem_lane_shape shape = prem_lane_shape_of(schedule);
  prem_place_panel(script, at->height, HEAD, at->lanes);
  write_warmup(script, shown, schedule, axis);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    write_slots(script, shown, phase, shape, axis);
  fprintf(script, "set yrange [%.1f:-0.5]\n", shown->lane_count - 0.5);
  write_lane_labels(script, shown, schedule, at->lane);
  fprintf(script, "plot $warmup with boxxyerror fs solid 1 noborder lc rgb '%s' notitle",
          warmup_colour);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    fprintf(script, ", $phase%d with boxxyerror fs solid 1 noborder lc rgb '%s' notitle", phase,
            prem_phase_colours[phase]);
  fputc('\n', script);
}

/* ---- resources ------------------------------------------------------------------------------ */

/** Of the time shown. */
typedef struct use_summary {
  int64_t most;
  double mean;
} use_summary;

static use_summary summarise(const excerpt *shown, const prem_use_step *steps, int64_t count) {
  use_summary found = {0};
  double used_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t from_ns = larger(steps[i].at_ns, shown->begin_ns);
    int64_t to_ns = i + 1 < count ? smaller(steps[i + 1].at_ns, shown->end_ns) : shown->end_ns;
    if (to_ns <= from_ns)
      continue;
    found.most = larger(found.most, steps[i].used);
    used_ns += (double)steps[i].used * (double)(to_ns - from_ns);
  }
  found.mean = used_ns / (double)(shown->end_ns - shown->begin_ns);
  return found;
}

/** A step line, with the step that is in force at either end of what is shown. */
static void write_steps(FILE *script, const excerpt *shown, const prem_use_step *steps,
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

static void write_use_title(FILE *script, const prem_resource *resource, use_summary found) {
  char title[640];
  snprintf(title, sizeof title,
           "%s: used over time, capacity %" PRId32 "%s; in the time shown at most %" PRId64
           ", %.1f %% of the capacity on average",
           resource->name, resource->capacity,
           resource->per_task ? " (the blocks of a task count once)" : "", found.most,
           100 * found.mean / resource->capacity);
  fputs("set title ", script);
  prem_write_quoted(script, title);
  fputs(" offset 0,-0.6\n", script);
}

static prem_status draw_use(FILE *script, const excerpt *shown, const prem_schedule *schedule,
                            const prem_slot *slots, int64_t count, int32_t r, prem_time_axis axis) {
  const prem_resource *resource = &schedule->platform.resources[r];
  prem_use_step *steps = NULL;
  int64_t step_count = 0;
  prem_status status = prem_plan_use(schedule, slots, count, r, &steps, &step_count);
  if (status != PREM_OK)
    return status;
  use_summary found = summarise(shown, steps, step_count);
  int64_t top = larger(larger(found.most, resource->capacity), 1);
  write_steps(script, shown, steps, step_count, axis);
  free(steps);
  write_use_title(script, resource, found);
  fprintf(script, "set yrange [0:%.3f]\nset ytics 0,%" PRId64 " scale 0.5\n", 1.2 * (double)top,
          (top + 2) / 3);
  fprintf(script,
          "plot $use with fillsteps fs solid 0.6 noborder lc rgb '%s' notitle, $use with steps "
          "lw 1 lc rgb '#202020' notitle, %" PRId32 " with lines lw 2 dt 2 lc rgb '%s' notitle\n",
          use_colour, resource->capacity, capacity_colour);
  return PREM_OK;
}

/* ---- the whole picture ---------------------------------------------------------------------- */

static void write_extent(char *line, size_t bytes, const excerpt *shown, prem_time_axis axis) {
  bool cut = shown->end_ns < shown->length_ns, fewer = shown->lane_count < shown->block_count;
  char blocks[64];
  snprintf(blocks, sizeof blocks,
           fewer ? "the first %" PRId32 " of %" PRId32 " blocks" : "%" PRId32 " blocks",
           shown->lane_count, shown->block_count);
  if (!cut && !fewer)
    snprintf(line, bytes, "the whole plan: %" PRId64 " phases on %s", shown->planned, blocks);
  else
    snprintf(line, bytes,
             "cut for legibility: %s, %.6g to %.6g %s of %.6g %s, %" PRId64 " of %" PRId64
             " phases; the rest is not drawn",
             blocks, (double)shown->begin_ns / axis.ns, (double)shown->end_ns / axis.ns, axis.unit,
             (double)shown->length_ns / axis.ns, axis.unit, shown->slot_count, shown->planned);
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

static void write_swatch(FILE *script, int number, double x, const char *colour, const char *name,
                         int height) {
  double y = 1.0 - 45.0 / height, half = 7.0 / height;
  fprintf(script,
          "set object %d rectangle from screen %.5f, screen %.5f to screen %.5f, screen %.5f "
          "fs solid 1 noborder fc rgb '%s'\n",
          number, x, y - half, x + 0.02, y + half, colour);
  fprintf(script, "set label %d '%s' at screen %.5f, screen %.5f left\n", number + 10, name,
          x + 0.025, y);
}

static void write_legend(FILE *script, const prem_schedule *schedule, int height) {
  const char *const names[PREM_PHASE_COUNT] = {"prefetch", "compute", "writeback"};
  for (int i = 0; i < PREM_PHASE_COUNT; ++i)
    write_swatch(script, i + 1, 0.012 + 0.095 * i, prem_phase_colours[i], names[i], height);
  write_swatch(script, 4, 0.297, use_colour, "resource in use", height);
  fprintf(script,
          "set arrow 1 from screen 0.4200, screen %.5f to screen 0.4400, screen %.5f nohead lw 2 "
          "dt 2 lc rgb '%s'\nset label 15 'its capacity' at screen 0.4450, screen %.5f left\n",
          1.0 - 45.0 / height, 1.0 - 45.0 / height, capacity_colour, 1.0 - 45.0 / height);
  if (warms_up(schedule))
    write_swatch(script, 6, 0.530, warmup_colour, "warm-up, not planned", height);
}

static prem_status write_script(FILE *script, const prem_schedule *schedule, const excerpt *shown,
                                const prem_slot *slots, int64_t count, const char *path) {
  layout at = layout_of(shown, schedule);
  prem_time_axis axis = prem_axis_for(shown->end_ns - shown->begin_ns);
  prem_write_terminal(script, path, at.height);
  write_heading(script, shown, schedule, axis, at.height);
  write_legend(script, schedule, at.height);
  fprintf(script,
          "set multiplot\nset tics out nomirror\nset border 3 lc rgb '#404040'\n"
          "unset key\nset grid noytics xtics lc rgb '#C8C8C8'\n"
          "set xrange [%.6f:%.6f]\n",
          (double)shown->begin_ns / axis.ns, (double)shown->end_ns / axis.ns);
  draw_lanes(script, shown, schedule, &at, axis);
  fputs("unset label\nunset object\nunset arrow\n", script); /* drawn once */
  prem_status status = PREM_OK;
  int32_t resources = schedule->platform.resource_count;
  int top = HEAD + at.lanes;
  for (int32_t r = 0; r < resources && status == PREM_OK; ++r) {
    top += BETWEEN;
    prem_place_panel(script, at.height, top, PANEL);
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
                        prem_diag *diag) {
  excerpt shown = {0};
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status = prem_plan_expand(schedule, schedule->plan, &slots, &count, diag);
  if (status == PREM_OK)
    status = choose_excerpt(&shown, schedule, slots, count);
  if (status == PREM_OK)
    status = write_script(script, schedule, &shown, slots, count, path);
  if (status == PREM_OK)
    status = prem_draw_script(script, path, diag);
  free(shown.slots);
  free(shown.blocks);
  free(shown.lanes);
  free(slots);
  return status;
}

prem_status prem_plan_draw(const prem_schedule *schedule, const char *path, prem_diag *diag) {
  if (!schedule->plan) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){.file = schedule->path}, "plan",
                  "there is no plan to draw; `ttprem plan` makes one");
    return PREM_ERR_ARGUMENT;
  }
  FILE *script = NULL;
  prem_status status = prem_begin_script(path, &script, diag);
  if (status != PREM_OK)
    return status;
  status = draw(schedule, path, script, diag);
  fclose(script);
  return status;
}
