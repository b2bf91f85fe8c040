/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "track.h"

/* ---- tasks ----------------------------------------------------------------------------------- */

/* A task, with the times of its tiles on one core of a server's CPU, in us. */
typedef struct task_text {
  const char *name, *kernel;
  const char *arrays, *args, *after;
  const char *tile;   /* or "" */
  int64_t wcet_us[3]; /* prefetch, compute, writeback */
} task_text;

/* The first eight find the targets, the others learn how they look now. `args` says which settings
 * a kernel takes: "frame" is the frame's size and the reach, "reach" the reach alone. */
static const task_text tasks[] = {
    {"aim",
     "track_aim",
     "command = \"command\"; pose = \"pose\"; where = \"new\"; geometry = \"new\";",
     "frame scales",
     "",
     "",
     {5, 5, 5}},
    {"sample",
     "track_sample",
     "frame = \"frame\"; where = \"aim.where\"; geometry = \"aim.geometry\"; patch = \"new\";",
     "reach",
     "aim",
     "",
     {10, 60, 10}},
    {"features",
     "track_features",
     "patch = \"sample.patch\"; out = \"new\"; energy = \"new\";",
     "",
     "sample",
     "",
     {10, 250, 20}},
    {"spectrum",
     "fft2_plane",
     "in = \"features.out\"; out = \"new\";",
     "",
     "features",
     "[ 1, 2, 32, 32 ]",
     {10, 40, 10}},
    {"correlate",
     "track_correlate",
     "spectrum = \"spectrum.out\"; model = \"model\"; out = \"new\";",
     "",
     "spectrum",
     "",
     {20, 20, 5}},
    {"respond",
     "track_respond",
     "correlation = \"correlate.out\"; energy = \"features.energy\"; model_energy = "
     "\"model_energy\"; "
     "alpha = \"alpha\"; peaks = \"new\"; response = \"new\";",
     "",
     "correlate",
     "",
     {10, 60, 5}},
    {"locate",
     "track_locate",
     "command = \"command\"; pose = \"pose\"; peaks = \"respond.peaks\"; out = \"pose\";",
     "frame scales",
     "respond",
     "",
     {5, 5, 5}},
    {"publish",
     "track_publish",
     "pose = \"pose\"; boxes = \"boxes\";",
     "",
     "locate",
     "",
     {5, 5, 5}},
    {"learn_aim",
     "track_aim",
     "command = \"command\"; pose = \"pose\"; where = \"new\"; geometry = \"new\";",
     "frame",
     "locate",
     "",
     {5, 5, 5}},
    {"learn_sample",
     "track_sample",
     "frame = \"frame\"; where = \"learn_aim.where\"; geometry = \"learn_aim.geometry\"; patch = "
     "\"new\";",
     "reach",
     "learn_aim",
     "",
     {10, 60, 10}},
    {"learn_features",
     "track_features",
     "patch = \"learn_sample.patch\"; out = \"new\"; energy = \"new\";",
     "",
     "learn_sample",
     "",
     {10, 250, 20}},
    {"learn_spectrum",
     "fft2_plane",
     "in = \"learn_features.out\"; out = \"new\";",
     "",
     "learn_features",
     "[ 1, 2, 32, 32 ]",
     {10, 40, 10}},
    {"learn",
     "track_learn",
     "model = \"model\"; spectrum = \"learn_spectrum.out\"; pose = \"pose\"; out = \"model\"; "
     "energy = \"model_energy\";",
     "",
     "learn_spectrum",
     "",
     {10, 10, 10}},
    {"self",
     "track_correlate",
     "spectrum = \"model\"; model = \"model\"; out = \"new\";",
     "",
     "learn",
     "",
     {20, 20, 5}},
    {"train",
     "track_train",
     "correlation = \"self.out\"; energy = \"model_energy\"; alpha = \"alpha\";",
     "",
     "self",
     "",
     {5, 50, 5}},
};

_Static_assert(sizeof tasks / sizeof *tasks == TRACK_TASKS, "as many as schedule.h says");

/* Company, by track_company. It comes after the first task, which it would hold up. */
static const task_text companies[TRACK_COMPANIES] = {
    [TRACK_EDGES] = {"edges",
                     "conv2d_u8",
                     "in = \"frame\"; out = \"new\";",
                     "edges",
                     "aim",
                     "[ 64, 128 ]",
                     {10, 60, 10}},
    [TRACK_COPY] = {"copy",
                    "vector_increment",
                    "in = \"neighbour\"; out = \"new\";",
                    "",
                    "aim",
                    "[ 8192 ]",
                    {15, 10, 15}},
};
enum { COPY_TILES = 32 /* a block */, COPY_TILE = 8192 };

/* Of a block on a GPU. 96 threads move memory; 256 compute: a strip has as many cells, and planes'
 * rows divide them. The scratchpad is what an H200's SM has beside what a live session's executive
 * takes for these tasks. */
enum { BLOCK_THREADS = 96 + TRACK_CELL_ROWS * TRACK_CELLS, SCRATCH_BYTES = 172 * 1024 };

const char *track_company_name(track_company company) {
  static const char *const names[TRACK_COMPANIES] = {"none", "edges", "copy"};
  return (unsigned)company < TRACK_COMPANIES ? names[company] : "?";
}

/* ---- writing --------------------------------------------------------------------------------- */

void track_least_frame(float reach, int32_t *rows, int32_t *columns) {
  *rows = track_window_extent(reach, TRACK_STRIP_ROWS);
  *columns = track_window_extent(reach, TRACK_PIXELS);
}

track_setting track_setting_for(int32_t rows, int32_t columns, int32_t targets, int32_t scales) {
  return (track_setting){.rows = rows,
                         .columns = columns,
                         .targets = targets,
                         .scales = scales,
                         .reach = 2.0F,
                         .period_ns = 10000000,
                         .blocks = 2,
                         .threads = BLOCK_THREADS,
                         .wcet_factor = 1,
                         .feeding = TRACK_EACH};
}

static void print_arrays(const track_setting *s, FILE *file) {
  const int32_t targets = s->targets;
  fputs("arrays = (\n", file);
  fprintf(file, "  { name = \"frame\"; type = \"u8\"; shape = [ %" PRId32 ", %" PRId32 " ]; },\n",
          s->rows, s->columns);
  fprintf(file, "  { name = \"command\"; type = \"f32\"; shape = [ %" PRId32 ", 8 ]; },\n",
          targets);
  fprintf(file,
          "  { name = \"pose\"; type = \"f32\"; shape = [ %" PRId32 ", 8 ]; versions = 2; },\n",
          targets);
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
  const bool has_frame = words[0] == 'f', has_reach = words[0] == 'r';
  const bool has_scales = has_frame && words[5] == ' ';
  if (words[0] == 'e')
    fputs("    args: { coefficients = [ 0, -1, 0, -1, 4, -1, 0, -1, 0 ]; offset = 128.0; };\n",
          file);
  if (!has_frame && !has_reach)
    return;
  fputs("    args: { ", file);
  if (has_frame)
    fprintf(file, "frame = [ %" PRId32 ", %" PRId32 " ]; ", s->rows, s->columns);
  fprintf(file, "reach = %.6g; ", (double)s->reach);
  if (has_scales)
    fprintf(file, "scales = %" PRId32 "; ", s->scales);
  fputs("};\n", file);
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
          ";  block_threads = %d;  buffers = 2;  scratch_bytes = %dL;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; } ); };\n",
          s->blocks, s->threads, SCRATCH_BYTES, s->blocks);
}

bool track_schedule_print(const track_setting *setting, FILE *file) {
  const task_text *company = setting->company == TRACK_ALONE ? NULL : &companies[setting->company];
  print_head(setting, file);
  print_arrays(setting, file);
  fputs("tasks = (\n", file);
  for (int32_t t = 0; t < TRACK_TASKS; ++t)
    print_task(setting, &tasks[t], t, !company && t + 1 == TRACK_TASKS, file);
  if (company)
    print_task(setting, company, TRACK_TASKS, true, file);
  fputs(");\n", file);
  if (setting->profile)
    fprintf(file, "profiles: { measured = \"%s\"; };\n", setting->profile);
  print_live(setting, file);
  return !ferror(file);
}

int64_t track_schedule_end_ns(const prem_schedule *schedule) {
  prem_slot *slots = NULL;
  int64_t count = 0, end_ns = 0;
  if (prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL) != PREM_OK)
    return -1;
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].planned_ns + slots[i].length_ns > end_ns)
      end_ns = slots[i].planned_ns + slots[i].length_ns;
  free(slots);
  return end_ns;
}

/* ---- reading it again ------------------------------------------------------------------------ */

prem_status track_schedule_make(const track_setting *setting, const prem_backend *backend,
                                prem_schedule **out, prem_diag *diag) {
  char path[] = "/tmp/tracker-XXXXXX";
  *out = NULL;
  const int descriptor = mkstemp(path);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
  bool good = file && track_schedule_print(setting, file);
  if (file && fclose(file) != 0)
    good = false;
  if (!good)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){path, 0}, "", "cannot be written");
  prem_status status = good ? prem_schedule_load(path, NULL, out, diag) : PREM_ERR_IO;
  if (descriptor >= 0)
    unlink(path);
  prem_machine machine;
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
