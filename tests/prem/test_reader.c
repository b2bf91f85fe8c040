/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader makes of good files. */
#include "tests/common/folder.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "prem/file/scan.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

static prem_schedule *loaded(const char *path, const char *profile) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load(path, profile, &schedule, diag);
  if (status != PREM_OK)
    print_problems(diag);
  ck_assert_int_eq(status, PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
  return schedule;
}

static prem_schedule *read_text(const char *source) {
  return loaded(put("schedule.cfg", source), NULL);
}

#define HEAD "version = 1; name = \"n\"; platform: { blocks = 8; };\n"

/* ---- times with units ------------------------------------------------------------------------ */

GROUP("good files", .set_up = make_folder, .tear_down = remove_folder);

TEST(a_string_with_a_unit_is_the_time_to_the_nanosecond) {
  static const struct {
    const char *written;
    int64_t ns;
  } times[] = {{"300ns", 300},
               {"250us", 250000},
               {"1.5us", 1500},
               {"2ms", 2000000},
               {"2 ms", 2000000},
               {"1s", 1000000000},
               {"0.000000001s", 1},
               {"1.000000000000s", 1000000000},
               {"007us", 7000},
               {"4611686018427387904ns", INT64_C(1) << 62},
               {"1.999999999s", 1999999999}};
  for (size_t i = 0; i < sizeof times / sizeof times[0]; ++i) {
    OWNED(prem_schedule) *schedule =
        read_text(text(HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
                            "  period_ns = \"%s\"; compute: { wcet_ns = \"1ns\"; }; } );",
                       times[i].written));
    ck_assert_int_eq(schedule->tasks[0].period_ns, times[i].ns);
    ck_assert_int_eq(schedule->tasks[0].phase[PREM_COMPUTE].wcet_ns, 1);
  }
}

TEST(starts_of_a_plan_may_have_units) {
  OWNED(prem_schedule) *schedule =
      read_text(HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;\n"
                     "  compute: { wcet_ns = \"1us\"; }; } );\n"
                     "plan: { hyperperiod_ns = \"10us\"; starts = ( { task = \"a\"; phase = "
                     "\"compute\"; block = 0;\n  start_ns = [ \"0ns\", \"2.5us\" ]; } ); };");
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, 10000);
  ck_assert_int_eq(schedule->plan->starts[0].start_ns[1], 2500);
}

/* ---- examples ------------------------------------------------------------------------------- */

static void load_all(const char *path) {
  DIR *all = opendir(path);
  ck_assert_ptr_nonnull(all);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(all));) {
    const size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".cfg") != 0 ||
        strstr(entry->d_name, "profile"))
      continue;
    OWNED(prem_schedule) *schedule = NULL;
    OWNED(prem_diag) *diag = prem_diag_new();
    prem_schedule_load_lenient(text("%s/%s", path, entry->d_name), NULL, &schedule, diag);
    ck_assert_ptr_nonnull(schedule);
    for (size_t i = 0; i < prem_diag_count(diag); ++i) {
      const prem_problem *problem = prem_diag_at(diag, i);
      /* pictures are the user's own */
      ck_assert_msg(problem->code == 24 && strstr(problem->reason, ".p"), "%s: %s", entry->d_name,
                    problem->reason);
    }
    ++count;
  }
  closedir(all);
  ck_assert_int_ge(count, 4);
}

/* The number that the next open file would have. */
static int next_file(void) {
  const int next = dup(STDERR_FILENO);
  close(next);
  return next;
}

TEST(what_was_read_is_closed) {
  const int file = next_file();
  prem_schedule_free(planned_schedule(SOURCE_DIR "/schedules/examples/background.cfg"));
  ck_assert_int_eq(next_file(), file);
}

static int64_t left_bytes = -1; /* of a file that is pretended; -1: none is */

/* The one that the library calls: of zeros that nobody has to read. */
size_t fread(void *to, size_t size, size_t count, FILE *file) {
  size_t (*next)(void *, size_t, size_t, FILE *);
  *(void **)&next = dlsym(RTLD_NEXT, "fread");
  if (left_bytes < 0)
    return next(to, size, count, file);
  const int64_t got = (int64_t)count < left_bytes ? (int64_t)count : left_bytes;
  left_bytes -= got;
  return (size_t)got;
}

GROUP("large files", .set_up = make_folder, .tear_down = remove_folder);

TEST(files_of_a_gibibyte_are_refused) {
  for (int64_t short_of = 0; short_of <= 1; ++short_of) {
    char *bytes, reason[100] = "";
    size_t count;
    left_bytes = (INT64_C(1) << 30) - short_of;
    ck_assert_int_eq(prem_read_file("/dev/null", &bytes, &count, reason, sizeof reason),
                     short_of ? PREM_OK : PREM_ERR_IO);
    left_bytes = -1;
    ck_assert_str_eq(reason, short_of ? "" : "it is above 1 GiB");
    ck_assert_uint_eq(count, short_of ? (1U << 30) - 1 : 0);
    if (short_of)
      free(bytes);
  }
}

GROUP("good files");

TEST(comments_end_where_they_end) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *s = schedule_from_text_lenient(
      "/* a / version = 2; * name = \"d\"; ** // e\n # **/ version = 1; /**/"
      " name = \"c\"; /* / */ platfrom: { };",
      diag);
  char line[512];
  for (size_t i = 0; i < prem_diag_count(diag); ++i) /* no key is there twice */
    ck_assert_ptr_null(strstr(prem_diag_at(diag, i)->key, "version"));
  ck_assert_uint_ge(prem_diag_count(diag), 1);
  prem_problem_format(prem_diag_at(diag, 0), line, sizeof line);
  ck_assert_msg(strstr(line, ".cfg:2: ") && strstr(line, "platfrom"), "%s", line);
}

/* Each holds a number that is refused where it is read, before anything else would be. */
TEST(comments_hide_what_they_hold) {
#define TOO_LARGE " n = 99999999999999999999; "
  static const char *const comments[] = {
      "/* a /" TOO_LARGE "*/",       "/* a *" TOO_LARGE "*/",    "/*/" TOO_LARGE "*/",
      "/* *a/" TOO_LARGE "**/",      "/**/ # */" TOO_LARGE "\n", "/***/ // */" TOO_LARGE "\n",
      "/* // */ # /*" TOO_LARGE "\n"};
  for (size_t i = 0; i < sizeof comments / sizeof *comments; ++i)
    prem_schedule_free(schedule_from_text(
        text("version = 1; %s name = \"c\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
             "  kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 1L; }; } );",
             comments[i])));
}

TEST(examples_load) {
  load_all(SOURCE_DIR "/schedules/examples");
  load_all(SOURCE_DIR "/schedules/figures");
}

TEST(thesis_is_read) {
  OWNED(prem_schedule) *s = loaded(SOURCE_DIR "/schedules/examples/thesis.cfg", NULL);
  ck_assert_int_eq(s->platform.blocks, 8);
  ck_assert_int_eq(s->platform.sms, 2);
  ck_assert_int_eq(s->platform.resource_count, 1);
  ck_assert_int_eq(s->platform.resources[0].capacity, 3);
  ck_assert(s->platform.resources[0].per_task);
  ck_assert_int_eq(s->task_count, 4);
  for (int32_t t = 0; t < 4; ++t) {
    const prem_task *task = &s->tasks[t];
    ck_assert_str_eq(task->name, text("conv.%d", t));
    ck_assert_int_eq(task->block_count, 2);
    ck_assert_int_eq(task->blocks[0], 2 * t);
    ck_assert_int_eq(task->blocks[1], 2 * t + 1);
    ck_assert(task->together);
    ck_assert_int_eq(task->tile_rank, 2);
    ck_assert_int_eq(task->tile[1], 510);
    ck_assert_int_eq(task->arg_count, 1);
    ck_assert_int_eq(task->args[0].count, 9);
    ck_assert(!task->args[0].is_int);
    ck_assert_double_eq(task->args[0].values[2], -0.8);
    ck_assert_int_eq(task->phase[PREM_PREFETCH].wcet_ns, 1781);
    ck_assert_int_eq(task->phase[PREM_PREFETCH].busy_ns, 1781);
    ck_assert_int_eq(task->phase[PREM_PREFETCH].demand[0], 1);
    ck_assert_int_eq(task->phase[PREM_COMPUTE].demand[0], 0);
    ck_assert_str_eq(s->arrays[task->port_arrays[0]].name, "image");
    ck_assert_str_eq(s->arrays[task->port_arrays[1]].name, text("conv.%d.out", t));
  }
  ck_assert_str_eq(s->policy.use, "tile_kernelwise");
  ck_assert_int_eq(s->policy.prefetch_offset_ns, 1300);
  ck_assert_int_eq(s->policy.warmup_ns, 10000);
  ck_assert_int_eq(s->measure.runs, 1000);
  ck_assert_int_eq(s->measure.mode_count, 3);
  ck_assert_int_eq(s->measure.modes[0], PREM_MODE_LEGACY);
  ck_assert_int_eq(s->period_lcm_ns, 0);
}

/* A schedule whose picture and profiles stand in its folder, as a user's would. */
TEST(camera_is_read) {
  const char *source = SOURCE_DIR "/schedules/examples";
  ck_assert_int_eq(system(text("cp -r %s/camera.cfg %s/frame.png %s/profiles %s", source, source,
                               source, folder)),
                   0);
  prem_schedule *s = loaded(text("%s/camera.cfg", folder), NULL);
  prem_machine machine;
  ck_assert_str_eq(s->arrays[0].file, text("%s/frame.png", folder));
  ck_assert_int_eq(s->arrays[0].fill, PREM_FILL_FILE);
  ck_assert_int_eq(s->arrays[2].rank, 3);
  ck_assert_int_eq(s->arrays[2].shape[0], 1);
  ck_assert_int_eq(s->arrays[2].shape[1], 31);
  ck_assert_int_eq(s->platform.late_ns, 32);
  ck_assert_int_eq(s->tasks[1].blocks[131], 263);
  ck_assert_int_eq(s->tasks[1].after[0].task, 0);
  ck_assert(s->tasks[1].after[0].latest);
  ck_assert_int_eq(s->tasks[0].publish_ns, 300000);
  ck_assert_int_eq(s->period_lcm_ns, 4000000);
  ck_assert_int_eq(prem_task_jobs(s, &s->tasks[0]), 4);
  ck_assert_int_eq(prem_task_jobs(s, &s->tasks[1]), 1);
  ck_assert_str_eq(s->policy.objective, "slack");
  ck_assert_int_eq(s->profile_count, 2);
  const int64_t h200_ns = s->tasks[0].phase[PREM_PREFETCH].wcet_ns;
  ck_assert_int_gt(h200_ns, 0);
  prem_schedule_machine(s, &machine);
  ck_assert_str_eq(machine.name, "platform of camera.cfg");
  ck_assert_int_eq(machine.max_blocks, 264);
  ck_assert_int_eq(machine.cores, 132);
  ck_assert_int_eq(machine.clock_step_ns, 32);
  ck_assert_int_eq(machine.scratch_bytes, 106496);
  prem_schedule_free(s);
  s = loaded(text("%s/camera.cfg", folder), "cpu");
  ck_assert_int_gt(s->tasks[0].phase[PREM_PREFETCH].wcet_ns, h200_ns);
  prem_schedule_free(s);
}

/* ---- values --------------------------------------------------------------------------------- */

TEST(defaults) {
  OWNED(prem_schedule) *s =
      read_text(HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; "
                     "tiles = 3; prefetch: { }; compute: { wcet_ns = 7L; }; } );");
  ck_assert_str_eq(s->name, "n");
  ck_assert_int_eq(s->platform.buffers, 1);
  ck_assert_int_eq(s->platform.clock_step_ns, 1);
  ck_assert_int_eq(s->platform.late_ns, 1);
  ck_assert_int_eq(s->platform.guard_ns, 0);
  ck_assert_int_eq(s->platform.precedence_ns, 0);
  ck_assert_int_eq(s->platform.resource_count, 1);
  ck_assert_str_eq(s->platform.resources[0].name, "memory");
  ck_assert_int_eq(s->platform.resources[0].capacity, 1);
  ck_assert(!s->platform.resources[0].per_task);
  ck_assert_str_eq(s->policy.use, "auto");
  ck_assert_str_eq(s->policy.objective, "makespan");
  ck_assert(!s->policy.align_exact);
  ck_assert_int_eq(s->measure.scenario, PREM_RELAUNCH);
  ck_assert_int_eq(s->measure.runs, 100);
  ck_assert_int_eq(s->measure.discard, 1);
  ck_assert_int_eq(s->measure.partition_sms, 0);
  ck_assert_int_eq(s->measure.load, PREM_LOAD_TILES);
  ck_assert(!s->measure.given_modes);
  ck_assert_int_eq(s->measure.modes[0], PREM_MODE_FREE);
  ck_assert_int_eq(s->measure.modes[1], PREM_MODE_TT);
  ck_assert_ptr_null(s->plan);
  const prem_task *a = &s->tasks[0];
  ck_assert_int_eq(a->tile_count, 3);
  ck_assert_int_eq(a->period_ns, 0);
  ck_assert(a->phase[PREM_PREFETCH].exists);
  ck_assert(!a->phase[PREM_WRITEBACK].exists);
  ck_assert_int_eq(a->phase[PREM_COMPUTE].busy_ns, 7);
  ck_assert(!prem_task_profiled(a));
  ck_assert_int_eq(prem_task_jobs(s, a), 1);
  ck_assert_int_eq(prem_schedule_find_task(s, "a"), 0);
  ck_assert_int_eq(prem_schedule_find_task(s, "b"), -1);
  ck_assert_uint_eq(strlen(s->sha256), 64);
}

TEST(bytes_are_hashed) {
  /* sha256sum of the same bytes, 120 of them: the padding takes a chunk of its own */
  const char *source = HEAD "tasks=({name=\"a\";kernel=\"none\";blocks=1;tiles=1;compute:{};});\n";
  OWNED(prem_schedule) *s = read_text(source);
  FILE *sum = popen(text("sha256sum <%s/schedule.cfg", folder), "r");
  char expected[65] = "";
  ck_assert_int_eq(fscanf(sum, "%64s", expected), 1);
  pclose(sum);
  ck_assert_str_eq(s->sha256, expected);
}

TEST(memory_comes_first) {
  OWNED(prem_schedule) *s =
      read_text("version = 1; name = \"n\"; platform: { blocks = 1; resources = (\n"
                "  { name = \"h2d\"; capacity = 7; per = \"task\"; }, { name = \"memory\"; "
                "capacity = 2; } ); };\n"
                "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
                "  prefetch: { wcet_ns = 9L; busy_ns = 4L; demand: { h2d = 3; }; };\n"
                "  writeback: { wcet_ns = 5L; demand: { memory = 2; }; }; joined: { }; } );");
  ck_assert_str_eq(s->platform.resources[0].name, "memory");
  ck_assert_int_eq(s->platform.resources[0].capacity, 2);
  ck_assert_str_eq(s->platform.resources[1].name, "h2d");
  ck_assert(s->platform.resources[1].per_task);
  const prem_task *a = &s->tasks[0];
  ck_assert_int_eq(a->phase[PREM_PREFETCH].demand[0], 0);
  ck_assert_int_eq(a->phase[PREM_PREFETCH].demand[1], 3);
  ck_assert_int_eq(a->phase[PREM_PREFETCH].busy_ns, 4);
  /* the sum of the lengths; of each resource the larger demand */
  ck_assert(a->joined.exists);
  ck_assert_int_eq(a->joined.wcet_ns, 14);
  ck_assert_int_eq(a->joined.busy_ns, 14);
  ck_assert_int_eq(a->joined.demand[0], 2);
  ck_assert_int_eq(a->joined.demand[1], 3);
}

TEST(free_blocks_are_the_lowest) {
  OWNED(prem_schedule) *s = read_text(
      HEAD
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 5, 1 ]; tiles = 1; compute: { }; },\n"
      "  { name = \"b\"; kernel = \"none\"; blocks = 2; copies = 2; tiles = 1; compute: { }; },\n"
      "  { name = \"c\"; kernel = \"none\"; blocks = \"7,0-2\"; tiles = 1; compute: { }; },\n"
      "  { name = \"d\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { }; } );");
  static const char *const expected[] = {"5 1", "0 2", "3 4", "7 0 1 2", "6"};
  ck_assert_int_eq(s->task_count, 5);
  for (int32_t t = 0; t < 5; ++t) {
    char found[64] = "";
    for (int32_t i = 0; i < s->tasks[t].block_count; ++i)
      sprintf(found + strlen(found), "%s%d", i ? " " : "", s->tasks[t].blocks[i]);
    ck_assert_str_eq(found, expected[t]);
  }
}

TEST(copies_and_their_precedence) {
  OWNED(prem_schedule) *s = read_text(
      HEAD "tasks = (\n"
           "  { name = \"z\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { };\n"
           "    after = ( { task = \"c\"; lag_ns = 3L; }, { task = \"c.1\"; } ); },\n"
           "  { name = \"c\"; copies = 3; kernel = \"none\"; blocks = 1; tiles = 1; compute: { };\n"
           "    after = ( { task = \"a\"; } ); },\n"
           "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; compute: { }; } );");
  ck_assert_int_eq(s->task_count, 5);
  const prem_task *z = &s->tasks[0];
  ck_assert_int_eq(z->after_count, 4);
  for (int32_t i = 0; i < 3; ++i) {
    ck_assert_int_eq(z->after[i].task, prem_schedule_find_task(s, text("c.%d", i)));
    ck_assert_int_eq(z->after[i].lag_ns, 3);
    const prem_task *c = &s->tasks[z->after[i].task];
    ck_assert_int_eq(c->after_count, 1);
    ck_assert_int_eq(c->after[0].task, 4);
    ck_assert_int_eq(c->place.line, 5);
  }
  ck_assert_int_eq(z->after[3].task, prem_schedule_find_task(s, "c.1"));
  ck_assert_int_eq(z->after[3].lag_ns, 0);
}

/* An integer as large would be cut to 32 bits. */
TESTS(a_power_of_ten_is_no_integer, 6) {
  static const char *const numbers[] = {"5000000000e-3", "5000000000e+1", "5000000000E2",
                                        "5000000000e15", "5000000000.e1", "-5000000000E-02"};
  OWNED(prem_schedule) *s = read_text(text(
      HEAD "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1; args: { f = %s; }; } );",
      numbers[_i]));
  ck_assert(!s->tasks[0].args[0].is_int);
  ck_assert_double_eq(s->tasks[0].args[0].values[0], strtod(numbers[_i], NULL));
}

GROUP("large files");

TEST(many_copies) {
  OWNED(prem_schedule) *s =
      read_text(HEAD "tasks = ( { name = \"a\"; copies = 65535; kernel = \"none\"; "
                     "blocks = [ 0 ]; tiles = 1; compute: { }; } );");
  ck_assert_int_eq(s->task_count, 65535);
  for (int32_t t = 0; t < s->task_count; ++t)
    ck_assert_int_eq(prem_schedule_find_task(s, text("a.%d", t)), t);
}

GROUP("good files");

TEST(numbers_in_every_notation) {
  OWNED(prem_schedule) *s =
      read_text(HEAD "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = 1;\n"
                     "  args: { i = -3; l = 4000000000L; h = 0x10; f = 1.5e-3; a = [ 1L, 2L ]; "
                     "d = [ 1.0, 2.0 ]; t_ns = -5L; }; } );");
  const prem_task *a = &s->tasks[0];
  ck_assert_int_eq(a->arg_count, 7);
  ck_assert(a->args[0].is_int);
  ck_assert_int_eq(a->args[0].ints[0], -3);
  ck_assert_double_eq(a->args[0].values[0], -3);
  ck_assert_int_eq(a->args[1].ints[0], 4000000000);
  ck_assert_int_eq(a->args[2].ints[0], 16);
  ck_assert(!a->args[3].is_int);
  ck_assert_double_eq(a->args[3].values[0], 1.5e-3);
  ck_assert_int_eq(a->args[4].count, 2);
  ck_assert_int_eq(a->args[4].ints[1], 2);
  ck_assert_ptr_null(a->args[5].ints);
  ck_assert_int_eq(a->args[6].ints[0], -5);
}

GROUP("large files");

TEST(places_beyond_65535_lines) {
  FREED char *source = malloc(70100 + 1024);
  memset(source, '\n', 70000);
  strcpy(source + 70000, "version = 1; name = \"n\"; platform: { blocks = 1; };\n"
                         "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
                         "  compute: { wcet_ns = 5L; }; } );");
  OWNED(prem_schedule) *s = read_text(source);
  ck_assert_int_eq(s->tasks[0].place.line, 70002);
  ck_assert_int_eq(s->tasks[0].phase[PREM_COMPUTE].place.line, 70003);
  ck_assert_str_eq(s->tasks[0].place.file, text("%s/schedule.cfg", folder));
}

GROUP("good files");

TEST(carriage_returns_and_comments) {
  OWNED(prem_schedule) *s =
      read_text("version = 1; # plan: { \r\n/* \" */ name = \"a \\\"b\\\" // c\"; // }\r\n"
                "platform: { blocks = 1; };\r\n"
                "tasks = ( { name = \"a\" \".b\"; kernel = \"none\"; blocks = 1; tiles = 1;\r\n"
                "  compute: { wcet_ns = 5L; }; } ) # the end");
  ck_assert_str_eq(s->name, "a \"b\" // c");
  ck_assert_str_eq(s->tasks[0].name, "a.b");
  ck_assert_int_eq(s->tasks[0].place.line, 4);
}

TEST(included_tasks) {
  ck_assert_int_eq(mkdir(text("%s/parts", folder), 0700), 0);
  put("parts/tasks.cfg", "\ntasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;\n"
                         "  @include \"parts/phases.cfg\"\n } );\n");
  put("parts/phases.cfg", "compute: { wcet_ns = 5L; };\n");
  OWNED(prem_schedule) *s = read_text(HEAD "@include \"parts/tasks.cfg\"\nmeasure: { };\n");
  ck_assert_str_eq(s->tasks[0].place.file, text("%s/parts/tasks.cfg", folder));
  ck_assert_int_eq(s->tasks[0].place.line, 2);
  ck_assert_str_eq(s->tasks[0].phase[PREM_COMPUTE].place.file, text("%s/parts/phases.cfg", folder));
  ck_assert_str_eq(s->measure.place.file, text("%s/schedule.cfg", folder));
  ck_assert_int_eq(s->measure.place.line, 3);
}

/* ---- profiles ------------------------------------------------------------------------------- */

#define PROFILED                                                                                   \
  HEAD                                                                                             \
      "tasks = (\n"                                                                                \
      "  { name = \"a\"; copies = 2; kernel = \"none\"; blocks = 1; tiles = 1; profile = \"p\";\n" \
      "    prefetch: { wcet_ns = 100L; busy_ns = 50L; }; compute: { wcet_ns = 200L; }; },\n"       \
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { wcet_ns = 300L; "    \
      "};\n"                                                                                       \
      "  } );\n"                                                                                   \
      "profiles: { p = \"p.cfg\"; q = \"q.cfg\"; };\n"

TEST(profiles_replace_times) {
  put("p.cfg", "version = 1; machine = \"m\"; tasks = (\n"
               "  { name = \"a.1\"; compute: { wcet_ns = 21L; busy_ns = 20L; }; },\n"
               "  { name = \"a\"; prefetch: { wcet_ns = 10L; }; writeback: { wcet_ns = 9L; };\n"
               "    joined: { wcet_ns = 15L; }; },\n"
               "  { name = \"b\"; compute: { wcet_ns = 31L; }; } );");
  put("q.cfg", "version = 1; tasks = ( { name = \"b\"; compute: { wcet_ns = 32L; }; } );");
  prem_schedule *s = read_text(PROFILED);
  const prem_phase_spec *first = s->tasks[0].phase, *second = s->tasks[1].phase;
  ck_assert_int_eq(first[PREM_PREFETCH].wcet_ns, 10);
  ck_assert_int_eq(first[PREM_PREFETCH].busy_ns, 10);
  ck_assert_int_eq(first[PREM_COMPUTE].wcet_ns, 200);
  ck_assert(!first[PREM_WRITEBACK].exists); /* a profile declares no phase */
  ck_assert_int_eq(s->tasks[0].joined.wcet_ns, 15);
  /* named itself, so the entry of `a` is not for it */
  ck_assert_int_eq(second[PREM_PREFETCH].wcet_ns, 100);
  ck_assert_int_eq(second[PREM_PREFETCH].busy_ns, 50);
  ck_assert_int_eq(second[PREM_COMPUTE].wcet_ns, 21);
  ck_assert_int_eq(second[PREM_COMPUTE].busy_ns, 20);
  ck_assert(!s->tasks[1].joined.exists);
  ck_assert_int_eq(s->tasks[2].phase[PREM_COMPUTE].wcet_ns, 300); /* has no profile */
  prem_schedule_free(s);

  s = loaded(text("%s/schedule.cfg", folder), "q");
  ck_assert_int_eq(s->tasks[0].phase[PREM_PREFETCH].wcet_ns, 100);
  ck_assert_int_eq(s->tasks[2].phase[PREM_COMPUTE].wcet_ns, 32);
  prem_schedule_free(s);
}

/* ---- plans ---------------------------------------------------------------------------------- */

TEST(plan_is_read) {
  OWNED(prem_schedule) *s = read_text(
      HEAD
      "tasks = (\n"
      "  { name = \"a\"; kernel = \"none\"; blocks = 3; tiles = 9; period_ns = 50L;\n"
      "    prefetch: { }; compute: { }; writeback: { }; },\n"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;\n"
      "    writeback: { }; } );\n"
      "plan: { hyperperiod_ns = 100L; clock_step_ns = 5L; generator = \"g\"; policy = \"\";\n"
      "  warmup_tiles = 2; warmup_ns = 7L;\n"
      "  runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = 4L; first_block = 1;\n"
      "             chain = [ \"compute\", \"writeback\" ]; },\n"
      "           { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; count = 2; repeat = 3;\n"
      "             block_step_ns = -1L; step_ns = 6L; tile = -3; tile_per_block = 2;\n"
      "             tile_per_repeat = 4; job = 1; jobs = 2; job_step_ns = 8L;\n"
      "             join: { task = \"b\"; tile = -4; job = 0; }; } );\n"
      "  starts = ( { task = \"a\"; phase = \"compute\"; chain = [ \"writeback\" ]; block = 2;\n"
      "               start_ns = [ 1L, -1L, 4611686018427387904L ]; } );\n"
      "};");
  const prem_plan *plan = s->plan;
  ck_assert_ptr_nonnull(plan);
  ck_assert_int_eq(plan->hyperperiod_ns, 100);
  ck_assert_int_eq(plan->clock_step_ns, 5);
  ck_assert_str_eq(plan->generator, "g");
  ck_assert_str_eq(plan->policy, "");
  ck_assert_int_eq(plan->warmup_tiles, 2);
  ck_assert_int_eq(plan->warmup_ns, 7);
  ck_assert_int_eq(plan->affine_count, 2);
  const prem_affine *run = &plan->affine[0];
  ck_assert_int_eq(run->task, 0);
  ck_assert_int_eq(run->phase, PREM_PREFETCH);
  ck_assert_uint_eq(run->chain, PREM_CHAIN_COMPUTE | PREM_CHAIN_WRITEBACK);
  ck_assert_int_eq(run->first_block, 1);
  ck_assert_int_eq(run->count, 1);
  ck_assert_int_eq(run->repeat, 1);
  ck_assert_int_eq(run->tile, 1);
  ck_assert_int_eq(run->tile_per_block, 1);
  ck_assert_int_eq(run->tile_per_repeat, 3);
  ck_assert_int_eq(run->job, 0);
  ck_assert_int_eq(run->jobs, 1);
  ck_assert_int_eq(run->job_step_ns, 50);
  ck_assert_int_eq(run->join_task, -1);
  ck_assert_int_eq(run->place.line, 9);
  run = &plan->affine[1];
  ck_assert_uint_eq(run->chain, 0);
  ck_assert_int_eq(run->count, 2);
  ck_assert_int_eq(run->repeat, 3);
  ck_assert_int_eq(run->block_step_ns, -1);
  ck_assert_int_eq(run->step_ns, 6);
  ck_assert_int_eq(run->tile, -3);
  ck_assert_int_eq(run->tile_per_block, 2);
  ck_assert_int_eq(run->tile_per_repeat, 4);
  ck_assert_int_eq(run->job, 1);
  ck_assert_int_eq(run->jobs, 2);
  ck_assert_int_eq(run->job_step_ns, 8);
  ck_assert_int_eq(run->join_task, 1);
  ck_assert_int_eq(run->join_tile, -4);
  ck_assert_int_eq(run->join_job, 0);
  ck_assert_int_eq(plan->starts_count, 1);
  const prem_starts *starts = &plan->starts[0];
  ck_assert_int_eq(starts->task, 0);
  ck_assert_int_eq(starts->phase, PREM_COMPUTE);
  ck_assert_uint_eq(starts->chain, PREM_CHAIN_WRITEBACK);
  ck_assert_int_eq(starts->block, 2);
  ck_assert_int_eq(starts->count, 3);
  ck_assert_int_eq(starts->start_ns[0], 1);
  ck_assert_int_eq(starts->start_ns[1], -1);
  ck_assert_int_eq(starts->start_ns[2], PREM_MAX_NS);

  prem_plan *other = prem_plan_new();
  prem_schedule_set_plan(s, other);
  ck_assert_ptr_eq(s->plan, other);
  prem_schedule_set_plan(s, other); /* itself: kept */
  ck_assert_ptr_eq(s->plan, other);
  prem_schedule_set_plan(s, NULL);
  ck_assert_ptr_null(s->plan);
}

/* ---- lenient -------------------------------------------------------------------------------- */

TEST(lenient_keeps_what_is_good) {
  prem_schedule *s = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *path = put(
      "schedule.cfg", HEAD
      "tasks = (\n"
      "  { name = \"bad\"; copies = 2; kernel = \"none\"; blocks = 1; tiles = 0; compute: { }; },\n"
      "  { name = \"good\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { }; },\n"
      "  { name = \"lost\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { };\n"
      "    after = ( { task = \"nobody\"; } ); } );\n"
      "plan: { hyperperiod_ns = 9L; runs = (\n"
      "  { task = \"nobody\"; phase = \"compute\"; start_ns = 0L; },\n"
      "  { task = \"good\"; phase = \"compute\"; start_ns = 0L; } ); };");
  ck_assert_int_eq(prem_schedule_load_lenient(path, NULL, &s, diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_errors(diag), 3);
  ck_assert(s->tasks[prem_schedule_find_task(s, "bad.0")].broken);
  ck_assert(s->tasks[prem_schedule_find_task(s, "bad.1")].broken);
  ck_assert(!s->tasks[prem_schedule_find_task(s, "good")].broken);
  ck_assert(s->tasks[prem_schedule_find_task(s, "lost")].broken);
  ck_assert_int_eq(s->plan->affine_count, 1);
  prem_schedule_free(s);
  ck_assert_int_eq(prem_schedule_load_lenient(path, NULL, &s, NULL), PREM_OK);
  ck_assert(s->tasks[0].broken);
  prem_schedule_free(s);
  ck_assert_int_eq(prem_schedule_load(path, NULL, &s, NULL), PREM_ERR_PARSE);
  ck_assert_ptr_null(s);
  prem_schedule_free(NULL);
}

/* Earlier errors in the same list are not this file's. */
TEST(a_text_needs_no_file) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *const source =
      HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;\n"
           "            compute: { wcet_ns = 5L; }; } ); # end";
  ck_assert_int_eq(prem_schedule_load_text("memory", source, &schedule, diag), PREM_OK);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
  ck_assert_str_eq(schedule->path, "memory");
  ck_assert_int_eq(schedule->tasks[0].tile_count, 4);
  ck_assert_str_eq(schedule->tasks[0].place.file, "memory");
  ck_assert_int_eq(schedule->tasks[0].place.line, 2);
  prem_schedule_free(schedule);
  ck_assert_int_eq(prem_schedule_load_text("memory", HEAD "tasks = ( );", &schedule, diag),
                   PREM_ERR_PARSE);
  ck_assert_ptr_null(schedule);
  ck_assert(prem_diag_has(diag, 1));
  ck_assert_str_eq(prem_diag_at(diag, 0)->file, "memory");
  ck_assert_int_eq(prem_schedule_load_text("memory", "", &schedule, NULL), PREM_ERR_PARSE);
  ck_assert_ptr_null(schedule);
}

TEST(errors_from_before_do_not_count) {
  OWNED(prem_schedule) *s = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_diag_add(diag, PREM_ERROR, 1, (prem_place){0}, NULL, "of another file");
  const char *path = put("schedule.cfg", HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; "
                                              "blocks = 1; tiles = 1; compute: { }; } );");
  ck_assert_int_eq(prem_schedule_load(path, NULL, &s, diag), PREM_OK);
  ck_assert(!s->tasks[0].broken);
}

GROUP("large files");

TEST(limit_of_table_entries) {
  prem_schedule *s = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const char *format = "version = 1; name = \"n\"; platform: { blocks = 65535; };\n"
                       "tasks = ( { name = \"a\"; copies = %d; kernel = \"none\";\n"
                       "  blocks = \"0-65534\"; tiles = 1; compute: { }; } );";
  char source[512];
  snprintf(source, sizeof source, format, 256);
  s = read_text(source);
  prem_schedule_free(s);
  snprintf(source, sizeof source, format, 257);
  ck_assert_int_eq(prem_schedule_load(put("schedule.cfg", source), NULL, &s, diag), PREM_ERR_PARSE);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 20);
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 3);
}
