/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "track.h"

/* ---- tasks ----------------------------------------------------------------------------------- */

/* At how many scales a task is there. */
typedef enum task_scales { ANY_SCALES, ONE_SCALE, MORE_SCALES } task_scales;

/* A task, with the times of its tiles on one core of a server's CPU, in us. */
typedef struct task_text {
  const char *name, *kernel;
  const char *arrays, *args, *after;
  const char *tile;   /* or "" */
  int64_t wcet_us[3]; /* prefetch, compute, writeback */
  task_scales at;
} task_text;

/* The first ones find the targets, the last three learn how they look now. `args` says which
 * settings a kernel takes: "frame" is the frame's size, the scales and the reach, "regions" the
 * scales, the reach and how regions are cut, "middle" the same of those of the middle scale alone.
 */
static const task_text tasks[] = {
    {"features",
     "track_features",
     "frame = \"frame\"; where = \"where\"; pose = \"pose\"; out = \"new\"; energy = \"new\";",
     "regions",
     "",
     "",
     {10, 350, 20},
     ANY_SCALES},
    {"correlate",
     "track_correlate",
     "planes = \"features.out\"; model = \"model\"; energy = \"features.energy\"; model_energy = "
     "\"model_energy\"; out = \"new\";",
     "",
     "features",
     "",
     {20, 60, 10},
     ANY_SCALES},
    {"respond",
     "track_respond",
     "correlation = \"correlate.out\"; alpha = \"alpha\"; peaks = \"new\";",
     "",
     "correlate",
     "",
     {20, 60, 5},
     MORE_SCALES},
    {"locate",
     "track_locate",
     "command = \"command\"; pose = \"pose\"; peaks = \"respond.peaks\"; out = \"pose\"; where = "
     "\"where\"; boxes = \"boxes\";",
     "frame",
     "respond",
     "",
     {5, 10, 5},
     MORE_SCALES},
    {"locate",
     "track_find",
     "correlation = \"correlate.out\"; alpha = \"alpha\"; command = \"command\"; pose = \"pose\"; "
     "out = \"pose\"; where = \"where\"; boxes = \"boxes\";",
     "frame",
     "correlate",
     "",
     {20, 65, 5},
     ONE_SCALE},
    {"learn_features",
     "track_features",
     "frame = \"frame\"; where = \"where\"; pose = \"pose\"; out = \"new\"; energy = \"new\";",
     "middle",
     "locate",
     "",
     {10, 350, 20},
     ANY_SCALES},
    {"learn",
     "track_learn",
     "model = \"model\"; planes = \"learn_features.out\"; pose = \"pose\"; out = \"model\"; energy "
     "= \"model_energy\"; self = \"new\";",
     "",
     "learn_features",
     "",
     {20, 60, 20},
     ANY_SCALES},
    {"train",
     "track_train",
     "correlation = \"learn.self\"; energy = \"model_energy\"; alpha = \"alpha\";",
     "",
     "learn",
     "",
     {20, 60, 5},
     ANY_SCALES},
};

/* Company, by track_company. It comes after the first task, which it would hold up. */
static const task_text companies[TRACK_COMPANIES] = {
    [TRACK_EDGES] = {"edges",
                     "conv2d_u8",
                     "in = \"frame\"; out = \"new\";",
                     "edges",
                     "features",
                     "[ 64, 128 ]",
                     {10, 60, 10},
                     ANY_SCALES},
    [TRACK_COPY] = {"copy",
                    "vector_increment",
                    "in = \"neighbour\"; out = \"new\";",
                    "",
                    "features",
                    "[ 8192 ]",
                    {15, 10, 15},
                    ANY_SCALES},
};
enum { COPY_TILES = 32 /* a block */, COPY_TILE = 8192 };

/* Of a block on a GPU. 96 threads move memory; 256 compute: two planes have as many butterflies. */
enum { BLOCK_THREADS = 96 + 256 };

/* Of a GPU's SM, an H200's, blocks have so much of the scratchpad, and a live session's executive
 * takes so much of each for these tasks. */
enum { SM_BYTES = 216 * 1024, EXECUTIVE_BYTES = 33 * 1024, CPU_SCRATCH_BYTES = 208 * 1024 };

static int32_t scratch_bytes(const track_setting *s) {
  return s->on_gpu ? SM_BYTES / s->an_sm - EXECUTIVE_BYTES : CPU_SCRATCH_BYTES;
}

const char *track_company_name(track_company company) {
  static const char *const names[TRACK_COMPANIES] = {"none", "edges", "copy"};
  return (unsigned)company < TRACK_COMPANIES ? names[company] : "?";
}

/* ---- writing --------------------------------------------------------------------------------- */

track_setting track_setting_for(int32_t rows, int32_t columns, int32_t targets, int32_t scales) {
  return (track_setting){.rows = rows,
                         .columns = columns,
                         .targets = targets,
                         .scales = scales,
                         .reach = 2.0F,
                         .period_ns = 10000000,
                         .blocks = 2,
                         .threads = BLOCK_THREADS,
                         .an_sm = 1,
                         .strips = 4,
                         .wcet_factor = 1,
                         .feeding = TRACK_EACH};
}

static void print_arrays(const track_setting *s, FILE *file) {
  const int32_t targets = s->targets, regions = targets * s->scales;
  fputs("arrays = (\n", file);
  fprintf(file, "  { name = \"frame\"; type = \"u8\"; shape = [ %" PRId32 ", %" PRId32 " ]; },\n",
          s->rows, s->columns);
  fprintf(file, "  { name = \"command\"; type = \"f32\"; shape = [ %" PRId32 ", 8 ]; },\n",
          targets);
  fprintf(file,
          "  { name = \"pose\"; type = \"f32\"; shape = [ %" PRId32 ", 8 ]; versions = 2; },\n",
          targets);
  fprintf(file,
          "  { name = \"where\"; type = \"i32\"; shape = [ %" PRId32
          ", 32, 4 ]; versions = 2; },\n",
          regions);
  fprintf(file,
          "  { name = \"model\"; type = \"c64\"; shape = [ %" PRId32
          ", 16, 32, 32 ]; versions = 2; },\n",
          targets);
  fprintf(file,
          "  { name = \"model_energy\"; type = \"f32\"; shape = [ %" PRId32
          ", 8 ]; versions = 2; },\n",
          targets);
  fprintf(file,
          "  { name = \"alpha\"; type = \"f32\"; shape = [ %" PRId32
          ", 32, 32 ]; versions = 2; },\n",
          targets);
  if (s->company == TRACK_COPY)
    fprintf(file, "  { name = \"neighbour\"; type = \"f32\"; shape = [ %" PRId64 " ]; },\n",
            (int64_t)s->blocks * COPY_TILES * COPY_TILE);
  fprintf(file, "  { name = \"boxes\"; type = \"f32\"; shape = [ %" PRId32 ", 8 ]; }\n);\n",
          targets);
}

/* The words of `args` that a task has. */
static void print_args(const track_setting *s, const char *words, FILE *file) {
  switch (words[0]) {
  case 'e':
    fputs("    args: { coefficients = [ 0, -1, 0, -1, 4, -1, 0, -1, 0 ]; offset = 128.0; };\n",
          file);
    break;
  case 'f':
    fprintf(file,
            "    args: { frame = [ %" PRId32 ", %" PRId32 " ]; reach = %.6g; scales = %" PRId32
            "; };\n",
            s->rows, s->columns, (double)s->reach, s->scales);
    break;
  case 'r':
  case 'm':
    fprintf(file, "    args: { reach = %.6g; scales = %" PRId32 "; strips = %" PRId32 ";%s };\n",
            (double)s->reach, s->scales, s->strips, words[0] == 'm' ? " middle = 1;" : "");
    break;
  default:
    break;
  }
}

/* `number`: of the task, in the file. */
static void print_times(const track_setting *s, const task_text *task, int32_t number, FILE *file) {
  static const char *const names[] = {"prefetch", "compute", "writeback"};
  fputs("   ", file);
  for (int phase = 0; phase < 3; ++phase)
    if (s->windows)
      fprintf(file, " %s: { wcet_ns = %" PRId64 "L; };", names[phase],
              s->windows->ns[number][phase]);
    else
      fprintf(file, " %s: { wcet_ns = %.0fL; };", names[phase],
              (double)task->wcet_us[phase] * 1000 * (double)s->wcet_factor);
}

static void print_task(const track_setting *s, const task_text *task, int32_t number, bool is_last,
                       FILE *file) {
  fprintf(file,
          "  { name = \"%s\"; kernel = \"%s\"; blocks = \"0-%" PRId32 "\"; period_ns = %" PRId64
          "L;\n",
          task->name, task->kernel, s->blocks - 1, s->period_ns);
  if (task->tile[0])
    fprintf(file, "    tile = %s;\n", task->tile);
  print_args(s, task->args, file);
  fprintf(file, "    arrays: { %s };\n", task->arrays);
  if (task->after[0])
    fprintf(file, "    after = ( { task = \"%s\"; } );\n", task->after);
  if (s->profile)
    fprintf(file, "    profile = \"measured\";");
  else
    print_times(s, task, number, file);
  fprintf(file, " }%s\n", is_last ? "" : ",");
}

static void print_live(const track_setting *s, FILE *file) {
  const bool each = s->feeding == TRACK_EACH;
  fprintf(file,
          "live: {\n  inputs  = ( { array = \"frame\"; kind = \"%s\";%s buffers = %" PRId32
          "; },\n",
          each       ? "trigger"
          : s->queue ? "queuing"
                     : "sampling",
          each ? "" : " missing = \"skip\";", 4 + s->queue);
  fputs("              { array = \"command\"; kind = \"sampling\"; buffers = 3; } );\n", file);
  fprintf(file, "  outputs = ( { array = \"boxes\"; kind = \"queuing\"; buffers = %" PRId32 ";",
          4 + s->queue);
  if (s->publish_ns > 0)
    fprintf(file, "  publish_ns = %" PRId64 "L;", s->publish_ns);
  fputs(" } );\n};\n", file);
}

static void print_head(const track_setting *s, FILE *file) {
  fprintf(file,
          "# A KCF tracker: %" PRId32 " targets at %" PRId32 " scales in frames of %" PRId32
          " x %" PRId32 ".\n",
          s->targets, s->scales, s->columns, s->rows);
  if (s->windows && !s->profile)
    fprintf(file,
            "# Windows: measured before the run: %d %% of what 95 of 100 phases did not exceed.\n",
            s->windows->percent);
  else
    fprintf(file, "# Windows: %s.\n", s->profile ? "of a profile" : "built in");
  fprintf(file,
          "version = 1;\nname = \"tracker\";\n"
          "platform: { blocks = %" PRId32
          ";  block_threads = %d;  buffers = %d;  scratch_bytes = %" PRId32 "L;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; } ); };\n",
          s->blocks, s->threads, s->an_sm > 1 ? 1 : 2, scratch_bytes(s), s->blocks);
}

bool track_schedule_print(const track_setting *setting, FILE *file) {
  const task_text *company = setting->company == TRACK_ALONE ? NULL : &companies[setting->company];
  print_head(setting, file);
  print_arrays(setting, file);
  fputs("tasks = (\n", file);
  enum { ALL = sizeof tasks / sizeof *tasks };
  const task_scales other = setting->scales == 1 ? MORE_SCALES : ONE_SCALE;
  int32_t number = 0;
  for (int32_t t = 0; t < ALL; ++t)
    if (tasks[t].at != other)
      print_task(setting, &tasks[t], number++, !company && t + 1 == ALL, file);
  if (company)
    print_task(setting, company, number, true, file);
  fputs(");\n", file);
  if (setting->profile)
    fprintf(file, "profiles: { measured = \"%s\"; };\n", setting->profile);
  print_live(setting, file);
  return !ferror(file);
}

/* A copy takes 10 us and more, however small it is. Of windows' rows the bus moves some 6 bytes a
 * ns meanwhile, and strips of a region share rows. */
bool track_schedule_fetches(const track_setting *setting) {
  enum { BYTES = 64 * 1024 };
  const int64_t side = track_window_extent(setting->reach, TRACK_PIXELS);
  const int64_t regions = (int64_t)setting->targets * (setting->scales + 1); /* one to learn */
  return setting->company == TRACK_ALONE && regions * side * side <= BYTES;
}

int64_t track_schedule_end_ns(const prem_schedule *schedule, const char *task) {
  prem_slot *slots = NULL;
  int64_t count = 0, end_ns = 0;
  if (prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL) != PREM_OK)
    return -1;
  for (int64_t i = 0; i < count; ++i)
    if ((!task || strcmp(schedule->tasks[slots[i].task].name, task) == 0) &&
        slots[i].planned_ns + slots[i].length_ns > end_ns)
      end_ns = slots[i].planned_ns + slots[i].length_ns;
  free(slots);
  return end_ns;
}

/* ---- reading it again ------------------------------------------------------------------------ */

/* What is wrong is said of schedule.cfg: `tracker --schedule` prints it. */
static prem_status load(const track_setting *setting, prem_schedule **out, prem_diag *diag) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  bool good = file && track_schedule_print(setting, file);
  if (file && fclose(file) != 0)
    good = false;
  const prem_status status =
      good ? prem_schedule_load_text("schedule.cfg", text, out, diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

prem_status track_schedule_make(const track_setting *setting, const prem_backend *backend,
                                prem_schedule **out, prem_diag *diag) {
  prem_machine machine;
  *out = NULL;
  prem_status status = load(setting, out, diag);
  if (status == PREM_OK && backend)
    status = prem_backend_probe(backend, &machine, diag);
  if (status == PREM_OK)
    status = backend ? prem_prepare(*out, prem_registry_builtin(), &machine, NULL, diag)
                     : prem_schedule_bind(*out, prem_registry_builtin(), diag);
  if (status == PREM_OK)
    return status;
  prem_schedule_free(*out);
  *out = NULL;
  return status;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static bool has_room(const track_setting *setting, const prem_registry *kernels) {
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  bool fits = load(setting, &schedule, diag) == PREM_OK &&
              prem_schedule_bind(schedule, kernels, diag) == PREM_OK;
  for (int32_t b = 0; fits && b < setting->blocks; ++b)
    fits = prem_block_scratch_bytes(schedule, b) <= scratch_bytes(setting);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return fits;
}

void track_schedule_cut(track_setting *setting, const prem_registry *kernels) {
  enum { COARSE = 4, FINE = 8 };
  const int64_t strips = (int64_t)setting->targets * setting->scales * COARSE;
  setting->strips = COARSE;
  if (strips < 2 * (int64_t)setting->blocks || !has_room(setting, kernels))
    setting->strips = FINE;
}
