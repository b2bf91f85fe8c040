/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pictures of plans and results say, of sets of any size, from one phase to more blocks, rows
 * and phases than a picture has room for: their titles and labels, and how many phases they show
 * (see tests/common/golden.h).
 */
#include "tests/common/delayed.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/suite.h"

enum { SETS = 40, RUN_EVERY = 2 };

static uint64_t state;

static int32_t draw(int32_t low, int32_t high) {
  return planted_between(&state, low, high);
}

static bool chance(int32_t of) {
  return draw(1, of) == 1;
}

typedef struct drawn_set {
  int32_t blocks, tasks, tiles;
  int64_t unit_ns;
  bool periodic, alike;
} drawn_set;

static drawn_set draw_set(int number) {
  static const int32_t blocks[] = {1, 2, 3, 5, 15, 16, 17, 24, 33, 70};
  static const int64_t units[] = {1, 3, 40, 999, 1000, 77777, 10000000};
  state = (uint64_t)number * 104729 + 11;
  drawn_set set = {.blocks = blocks[draw(0, 9)]};
  set.unit_ns = units[draw(0, 6)];
  set.periodic = chance(2);
  set.alike = chance(3);
  set.tasks = chance(4) ? draw(10, 24) : draw(1, 6);
  set.tiles = chance(4) ? draw(1, 120) : draw(1, 9);
  return set;
}

static void print_phase(FILE *file, const drawn_set *set, const char *name) {
  const int64_t units = set->alike ? 7 : draw(1, 40);
  fprintf(file, " %s: { wcet_ns = %" PRId64 "L; };", name, units * set->unit_ns);
}

static void print_task(FILE *file, const drawn_set *set, int32_t number) {
  const int32_t first = draw(0, set->blocks - 1), last = draw(first, set->blocks - 1);
  const int32_t kind = draw(0, 7), letters = draw(0, 12);
  const int64_t base_ns = set->unit_ns * 20000;
  fprintf(file,
          "%s{ name = \"%.*s%" PRId32 "\"; kernel = \"noop\"; blocks = \"%" PRId32 "-%" PRId32
          "\"; tiles = %" PRId32 ";",
          number ? ",\n" : "", letters, "long_name_of", number, first, last,
          chance(3) ? set->tiles : draw(1, set->tiles));
  if (set->periodic && !chance(5)) {
    const int64_t period_ns = base_ns << draw(0, 2);
    fprintf(file, " period_ns = %" PRId64 "L;", period_ns);
    if (chance(2))
      fprintf(file, " deadline_ns = %" PRId64 "L;", period_ns / draw(1, 4));
  }
  if (chance(3))
    fprintf(file, " release_ns = %" PRId64 "L;",
            draw(0, 900) * set->unit_ns * (!set->periodic && number % 3 == 2 ? 60 : 1));
  if (chance(4))
    fputs(" together = true;", file);
  if (kind != 0)
    print_phase(file, set, "prefetch");
  if (kind != 1)
    print_phase(file, set, "compute");
  if (kind > 2 || kind == 1)
    print_phase(file, set, "writeback");
  fputs(" }", file);
}

static char *print_set(int number) {
  const drawn_set set = draw_set(number);
  char *source = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&source, &bytes);
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %" PRId32 "; buffers = %d;"
          " resources = ( { name = \"memory\"; capacity = %" PRId32 "; } ); };\ntasks = (\n",
          set.blocks, 2, set.blocks);
  for (int32_t t = 0; t < set.tasks; ++t)
    print_task(file, &set, t);
  fputs("\n);\n", file);
  if (!set.periodic && chance(4))
    fprintf(file, "policy: { warmup_tiles = 1; warmup_ns = %" PRId64 "L; };\n", 300 * set.unit_ns);
  fclose(file);
  return source;
}

/* The titles, where panels end above and below, and the boxes of each kind of phase. */
static void tell_drawn(FILE *file, prem_status status, const prem_diag *diag) {
  fprintf(file, ", %s", prem_status_text(status));
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(file, "; %s", prem_diag_at(diag, i)->reason);
  FREED char *script = status == PREM_OK ? golden_take(golden_path("gnuplot.script")) : strdup("");
  int boxes = -1; /* -1: not in a block of boxes */
  for (const char *at = strtok(script, "\n"); at; at = strtok(NULL, "\n")) {
    const char *said = strchr(at, '"'), *margin = strstr(at, "margin at screen ");
    if (margin && (at[4] == 't' || at[4] == 'b')) /* not left and right */
      fprintf(file, " %.5s", margin + strlen("margin at screen "));
    if (strncmp(at, "$phase", 6) == 0)
      boxes = 0;
    else if (boxes >= 0 && strcmp(at, "EOD") != 0)
      boxes += strncmp(at, "NaN", 3) != 0;
    else if (boxes >= 0) {
      fprintf(file, " %d", boxes);
      boxes = -1;
    } else if (said && strncmp(at, "set label 1 ", 12) != 0 &&
               (strncmp(at, "set label ", 10) == 0 || strncmp(at, "set title ", 10) == 0))
      fprintf(file, "\n  %.*s:", (int)strcspn(said + 1, "\""), said + 1);
  }
}

static void tell_result(FILE *file, const prem_schedule *schedule, int number) {
  const prem_compare_options options = {.modes = {PREM_MODE_TT, PREM_MODE_FREE},
                                        .mode_count = 1 + number % 4 / 2,
                                        .sampling.scenario =
                                            number % 8 < 4 ? PREM_RESIDENT : PREM_RELAUNCH,
                                        .sampling.samples = 1 + number % 5,
                                        .sampling.launches = 2,
                                        .sampling.discard = number % 3,
                                        .sampling.max_records = 20000,
                                        .sampling.seed = (uint64_t)number};
  const prem_backend delayed = delayed_backend();
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_session) *session = NULL;
  OWNED(prem_result) *result = NULL;
  if (prem_session_open(&delayed, schedule, &session, diag) != PREM_OK)
    abort_with("open", diag);
  delayed_seed = (uint64_t)number;
  prem_compare(session, schedule, &delayed, &options, &result, diag);
  ck_assert_ptr_nonnull(result);
  tell_drawn(file, prem_result_draw(result, schedule, golden_path("r.svg"), NULL, diag), diag);
}

static void tell_set(FILE *file, const char *name, const char *source, int number) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  fprintf(file, "%s: ", name);
  const prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, NULL);
  fputs(prem_status_text(status), file);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    tell_drawn(file, prem_plan_draw(schedule, golden_path("p.svg"), NULL, diag), diag);
    if (number % RUN_EVERY == 0)
      tell_result(file, schedule, number);
  }
  fputc('\n', file);
}

GROUP("sets", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int number = 0; number < SETS; ++number) {
    FREED char *source = print_set(number);
    tell_set(file, text("set %d", number), source, number);
  }
  /* where one unit of time ends and another one begins */
  static const char *const spans[] = {"9999",     "10000",      "10001",       "9999999",
                                      "10000000", "9999999999", "10000000000", "10000000001"};
  for (int i = 0; i < 8; ++i)
    tell_set(
        file, text("%s ns", spans[i]),
        text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
             " kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; compute: { wcet_ns = %sL; }; } );",
             spans[i]),
        0);
  fclose(file);
  golden_judge("pictures.txt", found);
}

GROUP("stairs", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

/* Blocks one after the other, so that each has a lane: as many as leave a lane some height, and one
 * more or less; without memory phases, with them, and with two buffers, which need two lines. */
TEST(of_stairs) {
  static const int blocks[] = {1,   2,   24,  25,  26,  49,  50,  51,   99,   100,
                               101, 199, 200, 201, 399, 400, 401, 1055, 1056, 1057};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int i = 0; i < 3 * (int)(sizeof blocks / sizeof *blocks); ++i) {
    const int count = blocks[i / 3], has_memory = i % 3 > 0;
    OWNED(prem_schedule) *schedule = schedule_from_text(text(
        "version = 1; name = \"t\"; platform: { blocks = %d; buffers = %d;"
        " resources = ( { name = \"memory\"; capacity = %d; } ); }; tasks = ( { name = \"a\"; "
        "kernel = \"noop\";"
        " blocks = \"0-%d\"; tiles = %d; %s compute: { wcet_ns = 7L; }; } );"
        "plan: { hyperperiod_ns = %dL; runs = ( { task = \"a\"; phase = \"%s\"; count = %d;"
        " start_ns = 0L; block_step_ns = 10L; %s } ); };",
        count, i % 3 == 2 ? 2 : 1, count, count - 1, count,
        has_memory ? "prefetch: { wcet_ns = 5L; };" : "", 10 * count + 100,
        has_memory ? "prefetch" : "compute", count, has_memory ? "chain = [ \"compute\" ];" : ""));
    OWNED(prem_diag) *diag = prem_diag_new();
    fprintf(file, "%d blocks", count);
    tell_drawn(file, prem_plan_draw(schedule, golden_path("p.svg"), NULL, diag), diag);
    fputc('\n', file);
  }
  fclose(file);
  golden_judge("pictures_stairs.txt", found);
}

static void tell_plan_of(FILE *file, const char *name, const char *source) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  OWNED(prem_diag) *diag = prem_diag_new();
  fputs(name, file);
  tell_drawn(file, prem_plan_draw(schedule, golden_path("p.svg"), NULL, diag), diag);
  fputc('\n', file);
}

/* Tasks with periods, each on a block of its own: around as many rows, releases and deadlines as
 * are drawn, and as many common lengths as the whole plan may have. */
static void tell_jobs(FILE *file, int tasks, int jobs) {
  FREED char *source = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&source, &bytes);
  fprintf(out, "version = 1; name = \"t\"; platform: { blocks = %d; };\ntasks = (", tasks);
  for (int t = 0; t < tasks; ++t)
    fprintf(out,
            "%s { name = \"t%d\"; kernel = \"noop\"; blocks = [ %d ]; tiles = 1;"
            " period_ns = 10L; release_ns = %dL;%s compute: { wcet_ns = 4L; }; }",
            t ? "," : "", t, t, t % 5, t % 3 ? " deadline_ns = 8L;" : "");
  fprintf(out, " );\nplan: { hyperperiod_ns = %dL; runs = (", 10 * jobs);
  for (int t = 0; t < tasks; ++t)
    fprintf(out,
            "%s { task = \"t%d\"; phase = \"compute\"; start_ns = %dL; jobs = %d;"
            " job_step_ns = 10L; }",
            t ? "," : "", t, t % 5, jobs);
  fputs(" ); };\n", out);
  fclose(out);
  tell_plan_of(file, text("%d tasks, %d jobs", tasks, jobs), source);
}

/* One task without a period, with so many phases. */
static void tell_tiles(FILE *file, int tiles, int step_ns) {
  tell_plan_of(
      file, text("%d tiles, every %d ns", tiles, step_ns),
      text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
           " kernel = \"noop\"; blocks = [ 0 ]; tiles = %d; compute: { wcet_ns = 3L; }; } );"
           "plan: { hyperperiod_ns = %dL; runs = ( { task = \"a\"; phase = \"compute\";"
           " start_ns = 0L; repeat = %d; step_ns = %dL; } ); };",
           tiles, tiles * step_ns + 9, tiles, step_ns));
}

/* Blocks that begin one after the other, so that many phases are in little time. */
static void tell_dense(FILE *file, int blocks, int each) {
  tell_plan_of(
      file, text("%d blocks, %d tiles each", blocks, each),
      text("version = 1; name = \"t\"; platform: { blocks = %d; }; tasks = ( { name = \"a\";"
           " kernel = \"noop\"; blocks = \"0-%d\"; tiles = %d; compute: { wcet_ns = 3L; }; } );"
           "plan: { hyperperiod_ns = 9999L; runs = ( { task = \"a\"; phase = \"compute\";"
           " count = %d; start_ns = 0L; block_step_ns = 1L; repeat = %d; step_ns = 3L; } ); };",
           blocks, blocks - 1, blocks * each, blocks, each));
}

/* One task with thousands of jobs, beside another that is busy at one time alone. */
static void tell_busiest(FILE *file, int busy_ns) {
  tell_plan_of(
      file, text("busy from %d ns", busy_ns),
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
           " { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; period_ns = 10L;"
           " compute: { wcet_ns = 4L; }; },"
           " { name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 8; period_ns = 50000L;"
           " compute: { wcet_ns = 4L; }; } );"
           "plan: { hyperperiod_ns = 50000L; runs = ( { task = \"a\"; phase = \"compute\";"
           " start_ns = 0L; jobs = 5000; job_step_ns = 10L; }, { task = \"b\";"
           " phase = \"compute\"; start_ns = %dL; repeat = 8; step_ns = 5L; } ); };",
           busy_ns));
}

GROUP("many", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_many) {
  static const int tasks[] = {12, 19, 20, 21, 40, 47, 48, 49, 60}, jobs[] = {75, 76, 77, 99, 100};
  static const int tiles[] = {6, 7, 189, 190, 191, 759, 760, 761, 762, 20000, 20001};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int t = 0; t < 9; ++t)
    for (int j = 0; j < 5; ++j)
      tell_jobs(file, tasks[t], jobs[j]);
  for (int t = 0; t < 11; ++t)
    for (int step_ns = 3; step_ns < 6; ++step_ns)
      tell_tiles(file, tiles[t], step_ns);
  tell_dense(file, 200, 99);
  tell_dense(file, 200, 100); /* 20 000 phases */
  tell_dense(file, 177, 113); /* one more */
  for (int busy_ns = 41620; busy_ns < 41700; busy_ns += 10)
    tell_busiest(file, busy_ns);
  fclose(file);
  golden_judge("pictures_many.txt", found);
}

/* Beside a task with so many short phases another one of three, from some instant on: what is shown
 * of a result ends with its third phase, if that is not far away. */
static void tell_excerpt(FILE *file, int tiles, int late_ns) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
           " { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = %d;"
           " compute: { wcet_ns = 10L; }; },"
           " { name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 3;"
           " compute: { wcet_ns = 10L; }; } );"
           "plan: { hyperperiod_ns = 20000L; runs = ( { task = \"a\"; phase = \"compute\";"
           " start_ns = 0L; repeat = %d; step_ns = 10L; }, { task = \"b\"; phase = \"compute\";"
           " start_ns = %dL; repeat = 3; step_ns = 10L; } ); };",
           tiles, tiles, late_ns));
  const prem_compare_options options = {.modes = {PREM_MODE_TT},
                                        .mode_count = 1,
                                        .sampling.scenario = PREM_RELAUNCH,
                                        .sampling.samples = 1,
                                        .sampling.max_records = 20000};
  OWNED(prem_session) *session = NULL;
  OWNED(prem_result) *result = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_session_open(&prem_backend_sim, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &prem_backend_sim, &options, &result, diag),
                   PREM_OK);
  fprintf(file, "%d tiles, and three from %d ns on", tiles, late_ns);
  tell_drawn(file, prem_result_draw(result, schedule, golden_path("r.svg"), NULL, diag), diag);
  fputc('\n', file);
}

GROUP("excerpts", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_excerpts) {
  static const int tiles[] = {3, 4, 5, 6, 7, 8, 14, 597, 598, 599, 700};
  static const int late_ns[] = {0, 1, 10, 40, 2950, 2951, 2959, 2960, 2970, 5940, 5950, 5960, 5970};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t)
    for (size_t l = tiles[t] < 100 ? 0 : 3; l < (tiles[t] < 100 ? 4 : 13); ++l)
      tell_excerpt(file, tiles[t], late_ns[l]);
  fclose(file);
  golden_judge("pictures_excerpts.txt", found);
}

/* Copies of live frames, of one port and of two, which have rows of their own, and phases that go
 * on in the next hyperperiod. */
static void tell_copies(FILE *file, int lead_ns, int copy_ns, int slower) {
  static const char form[] =
      "version = 1; name = \"copies\"; platform: { blocks = 2; buffers = 2; resources = ("
      "  { name = \"memory\"; capacity = 2; }, { name = \"h2d\"; capacity = 1; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 16 ];"
      "  arrays: { in = \"x\"; out = \"y\"; }; period_ns = 1000L; %s },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 64 ];"
      "  arrays: { in = \"x\"; out = \"z\"; }; period_ns = %dL; release_ns = 150L; %s } );"
      "live: { inputs = ( { array = \"x\"; lead_ns = %dL; copy: { wcet_ns = %dL;"
      "  demand: { memory = 1; h2d = 1; }; }; } ); outputs = ( { array = \"y\";"
      "  publish_ns = 900L; %s }, { array = \"z\"; } ); };";
  static const char phases[] = "prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 40L; };"
                               " writeback: { wcet_ns = 20L; };";
  const char *source =
      text(form, phases, 1000 * slower, phases, lead_ns, copy_ns,
           copy_ns % 2 ? "copy: { wcet_ns = 60L; demand: { memory = 1; h2d = 1; }; };" : "");
  tell_set(file, text("copies of %d ns, %d ns before, %d", copy_ns, lead_ns, slower), source, 1);
}

static void tell_wrapped(FILE *file, int start_ns) {
  tell_plan_of(
      file, text("from %d ns on", start_ns),
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
           " { name = \"a\"; kernel = \"noop\"; blocks = \"0-1\"; tiles = 2; period_ns = 100L;"
           " prefetch: { wcet_ns = 9L; }; compute: { wcet_ns = 30L; }; } );"
           "plan: { hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
           " count = 2; start_ns = %dL; block_step_ns = 10L; chain = [ \"compute\" ]; } ); };",
           start_ns));
}

GROUP("copies", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

TEST(of_copies) {
  static const int leads_ns[] = {0, 1, 30, 400, 900}, copies_ns[] = {20, 75};
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int l = 0; l < 5; ++l)
    for (int c = 0; c < 2; ++c)
      for (int slower = 1; slower < 4; ++slower)
        tell_copies(file, leads_ns[l], copies_ns[c], slower);
  for (int start_ns = 0; start_ns < 100; start_ns += 3)
    tell_wrapped(file, start_ns);
  fclose(file);
  golden_judge("pictures_copies.txt", found);
}

/* A case each: all in one would take too long to be asked about mutants. */
GROUP("outlines", .set_up = golden_make_folder, .tear_down = golden_remove_folder);

/* Steps of what is used have an outline up to so many; more would be all outline. */
TEST(of_as_many_steps_as_have_an_outline) {
  for (int steps = 247; steps <= 254; ++steps) { /* an even number begins with nothing used */
    OWNED(prem_schedule) *schedule = schedule_from_text(text(
        "version = 1; name = \"t\"; platform: { blocks = 1; };"
        " tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = %d;"
        " prefetch: { wcet_ns = 1L; }; } ); plan: { hyperperiod_ns = %dL; runs = ("
        " { task = \"a\"; phase = \"prefetch\"; start_ns = %dL; repeat = %d; step_ns = 2L; } ); };",
        (steps + 1) / 2, steps, (steps + 1) % 2, (steps + 1) / 2));
    OWNED(prem_diag) *diag = prem_diag_new();
    if (prem_plan_draw(schedule, golden_path("p.svg"), NULL, diag) != PREM_OK)
      abort_with("draw", diag);
    FREED char *script = golden_take(golden_path("gnuplot.script"));
    ck_assert_int_eq(strstr(script, "$use with steps") != NULL, steps <= 250);
  }
}
