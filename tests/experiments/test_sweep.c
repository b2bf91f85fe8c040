/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments that are files: the language, the reader, and each file that is shipped. */
/* ctest: long */
#include <math.h>
#include <unistd.h>

#include "experiments/common/expression.h"
#include "experiments/common/shipped.h"
#include "experiments/experiment_list.h"
#include "experiments/sweep/sweep.h"
#include "report/findings/parts.h"
#include "runtime/core/backend.h"
#include "tests/common/suite.h"

/* ---- the language --------------------------------------------------------------------------- */

static bool find(const void *from, const char *name, prem_sweep_value *out, char *reason) {
  (void)from;
  *out = (prem_sweep_value){.number = 3};
  if (strcmp(name, "word") == 0)
    *out = (prem_sweep_value){.is_text = true, .text = "lock"};
  else if (strcmp(name, "three") != 0 && strcmp(name, "lock.p50") != 0) {
    snprintf(reason, PREM_REASON_BYTES, "no %s", name);
    return false;
  }
  return true;
}

static const prem_sweep_names names = {find, NULL};

GROUP("language");

TEST(expressions_are_computed) {
  static const struct {
    const char *text;
    double value;
  } cases[] = {{"1 + 2 * three", 7},
               {"(1 + 2) * three", 9},
               {"-three - -1", -2},
               {"7 - 2 - 1", 4},
               {"1 / 4", 0.25},
               {"1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2", 1},
               {"word == 'lock'", 1},
               {"word != 'lock' || 0", 0},
               {"three == 3 ? 5 : nobody", 5}, /* what is not chosen is not looked up */
               {"!1 ? nobody : 1 ? 6 : nobody", 6},
               {"$word.p50 * 2", 6},
               {"$(three - 4) + 1", 0},
               {"round_up(33, 32) + max(1, 2) + min(1, 2) + abs(-1) + ceil(0.5) + floor(1.5)", 70},
               {"1 / 0", (double)NAN},
               {"nan < 1", (double)NAN},
               {"nan && 0", 0},
               {"nan || 1", 1},
               {"!nan", (double)NAN},
               {"max(nan, 1) + min(1, nan)", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    prem_sweep_value value;
    char reason[PREM_REASON_BYTES] = "";
    ck_assert_msg(prem_sweep_evaluate(cases[i].text, &names, &value, reason), "%s: %s",
                  cases[i].text, reason);
    if (isnan(cases[i].value))
      ck_assert_msg(isnan(value.number), "%s", cases[i].text);
    else
      ck_assert_msg(value.number == cases[i].value, "%s: %g", cases[i].text, value.number);
  }
}

TEST(what_is_no_expression_is_refused) {
  static const char *const cases[][2] = {{"", "expected at the end"},
                                         {"1 +", "expected at the end"},
                                         {"(1", "')' is expected"},
                                         {"1 2", "nothing is expected before '2'"},
                                         {"'a", "no ' at its end"},
                                         {"'a' + 1", "takes numbers"},
                                         {"-'a'", "takes a number"},
                                         {"max('a', 1)", "takes numbers"},
                                         {"sin(1)", "unknown function 'sin'"},
                                         {"max(1)", "',' is expected"},
                                         {"1 ? 2", "':' is expected"},
                                         {"nobody", "no nobody"},
                                         {"$", "neither $name nor"},
                                         {"$(1", "neither $name nor"},
                                         {"$(1 %s)", "is none; write"},
                                         {"$(1 %999999999d)", "is none; write"},
                                         {"$(word %.2f)", "has no format"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    prem_sweep_value value;
    char reason[PREM_REASON_BYTES] = "";
    ck_assert_msg(!prem_sweep_evaluate(cases[i][0], &names, &value, reason), "%s", cases[i][0]);
    ck_assert_msg(strstr(reason, cases[i][1]) != NULL, "%s: %s", cases[i][0], reason);
  }
  char deep[4096] = "", reason[PREM_REASON_BYTES];
  prem_sweep_value value;
  memset(deep, '(', sizeof deep - 1);
  ck_assert(!prem_sweep_evaluate(deep, &names, &value, reason));
  memset(deep, '-', sizeof deep - 1);
  ck_assert(!prem_sweep_evaluate(deep, &names, &value, reason));
}

TEST(texts_take_values) {
  char reason[PREM_REASON_BYTES] = "";
  char *text = prem_sweep_expand("$word: $(three / 4 %.2f), $three, 50 %", &names, reason);
  ck_assert_str_eq(text, "lock: 0.75, 3, 50 %");
  free(text);
  text = prem_sweep_expand("$(three > 2 ? 'a $(three %+d) ) %' : '')", &names, reason);
  ck_assert_str_eq(text, "a +3 ) %");
  free(text);
}

/* ---- files ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;
static prem_machine machine;
static prem_experiment_context context;
static prem_budget budget;
static prem_findings *findings;
static prem_diag *diag;
static char folder[] = "/tmp/test_sweep_XXXXXX";
static char path[64], template_path[64];

static void no_progress(void *own, int64_t done, int64_t all) {
  (void)own, (void)done, (void)all;
}

static void write_text(const char *to, const char *text, size_t length) {
  FILE *file = fopen(to, "we");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(text, 1, length, file), length);
  fclose(file);
}

static void prepare(void) {
  stop = 0;
  budget = (prem_budget){.end_ns = prem_host_clock_ns()}; /* every row once */
  context = (prem_experiment_context){.backend = prem_backend_find("sim"),
                                      .machine = &machine,
                                      .quick = true,
                                      .seed = 1,
                                      .schedules = SOURCE_DIR "/schedules",
                                      .budget = &budget,
                                      .stop = &stop,
                                      .progress = no_progress};
  ck_assert_int_eq(prem_backend_probe(context.backend, &machine, NULL), PREM_OK);
  findings = prem_findings_new("test", "A test", "Does it work?");
  diag = prem_diag_new();
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/mine.exp", folder);
  snprintf(template_path, sizeof template_path, "%s/mine.cfg.in", folder);
}

static void clear(void) {
  prem_findings_free(findings);
  prem_diag_free(diag);
  unlink(path);
  unlink(template_path);
  rmdir(folder);
}

static const char schedule[] =
    "version = 1;\nname = \"mine\";\n"
    "platform: { blocks = 1; clock_step_ns = 1L; resources = ( { name = \"memory\"; capacity = 1; "
    "} ); };\n"
    "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 34, 34 ]; fill = \"random\"; seed = "
    "1; } );\n"
    "tasks = ( { name = \"conv\"; kernel = \"conv2d\"; blocks = 1; tile = [ 16, 32 ];\n"
    "  arrays: { in = \"image\"; out = \"new\"; }; prefetch: { wcet_ns = $(length)L; };\n"
    "  compute: { wcet_ns = $(2 * length)L; }; writeback: { wcet_ns = 10L; }; } );\n"
    "policy: { use = \"auto\"; };\n";

static const char head[] = "title = \"Mine\"; question = \"Does it work?\"; repeat = 2;\n";
static const char tables[] =
    "tables = ({ name = \"t\"; title = \"T\"; columns = ((\"length [ns]\", \"whole(length)\"),\n"
    "  (\"mean [ns]\", \"tt.prefetch.mean\"), (\"word\", \"word\")); });\n";
static const char steps[] =
    "steps = ({ for: { length = [ 100, 300 ]; word = [ \"a\" ]; };\n"
    "  run: { schedule = \"mine.cfg.in\"; modes = [ \"tt\" ]; }; row = \"t\"; },\n"
    "  { verdict = \"A compute takes $(tt.compute.max / 1000 %.1f) us.\"; });\n";

static prem_status run_text(const char *text) {
  prem_sweep *sweep = NULL;
  write_text(path, text, strlen(text));
  prem_status status = prem_sweep_read(path, &sweep, diag);
  ck_assert_int_eq(status == PREM_OK, sweep != NULL);
  if (status == PREM_OK)
    status = prem_experiment_start(prem_sweep_experiment(sweep), &context, findings, diag);
  prem_sweep_free(sweep);
  return status;
}

GROUP("files", .set_up = prepare, .tear_down = clear);

TEST(a_file_of_the_user_runs) {
  char text[2048];
  write_text(template_path, schedule, strlen(schedule));
  snprintf(text, sizeof text, "%s%s%s", head, tables, steps);
  ck_assert_int_eq(run_text(text), PREM_OK);
  const prem_table *table = prem_find_table(findings, "t");
  ck_assert_int_eq(prem_table_rows(table), 2);
  ck_assert_int_eq(prem_table_value(table, 1, 0)->kind, PREM_VALUE_INT);
  ck_assert_double_eq(prem_value_number(prem_table_value(table, 0, 1)), 100);
  ck_assert_double_eq(prem_value_number(prem_table_value(table, 1, 1)), 300);
  ck_assert_str_eq(findings->verdict, "A compute takes 0.6 us.");
}

/* What a probe finds is rows, whose columns are names; its kinds stay. */
TEST(rows_that_a_probe_found_are_told) {
  static const char mine[] =
      "tables = ({ name = \"t\"; title = \"T\"; columns = ((\"clock\", \"clock\"),\n"
      "  (\"ordered\", \"ordered\"), (\"cost\", \"read_ns\")); });\n"
      "steps = ({ run: { probe = \"clock_costs\"; keep = \"c\"; }; },\n"
      "  { records = \"c\"; when = \"unit == 'ns'\"; row = \"t\"; },\n"
      "  { verdict = \"$(c.read_ns > 0 ? 'yes' : 'no')\"; });\n";
  char text[2048];
  snprintf(text, sizeof text, "%s%s", head, mine);
  ck_assert_int_eq(run_text(text), PREM_OK);
  const prem_table *table = prem_find_table(findings, "t");
  ck_assert_int_eq(prem_table_rows(table), 2);
  ck_assert_str_eq(prem_table_value(table, 0, 0)->text, "clock_gettime(MONOTONIC)");
  ck_assert_int_eq(prem_table_value(table, 0, 1)->kind, PREM_VALUE_INT);
  ck_assert_int_eq(prem_table_value(table, 0, 2)->kind, PREM_VALUE_REAL);
  ck_assert_str_eq(findings->verdict, "yes");
}

TEST(some_steps_are_done_after_an_interruption) {
  char text[2048];
  snprintf(text, sizeof text, "%s%s%s", head, tables,
           "set: { length = 1; word = \"'a'\"; };\n"
           "steps = ({ note = \"one\"; }, { always = true; note = \"two\"; }, { note = \"three\"; "
           "});\n");
  stop = 1;
  ck_assert_int_eq(run_text(text), PREM_ERR_INTERRUPTED);
  ck_assert_int_eq(findings->note_count, 1);
  ck_assert_str_eq(findings->notes[0], "two");
}

/* What stands instead of the file's three parts, and what is said of it. */
static const struct {
  const char *head, *tables, *steps, *said;
} wrong[] = {
    {"title = 1; question = \"?\"; repeat = 2;\n", tables, steps,
     "mine.exp:1: title: must be a string"},
    {"title = \"Mine\"; repeat = 2;\n", tables, steps, "question: missing; it must be a string"},
    {"titel = \"Mine\";\n", tables, steps,
     "mine.exp:1: titel: unknown key 'titel', did you mean 'title'?"},
    {head, "tables = { };\n", steps, "mine.exp:2: tables: must be a list ( ) of groups { }"},
    {head, "tables = (1);\n", steps, "mine.exp:2: tables: must be a list"},
    {head, "tables = ({ name = \"t\"; title = \"T\"; columns = ((\"a\", \"nobody\")); });\n",
     "steps = ({ row = \"t\"; });\n",
     "mine.exp:2: tables.[0].columns.[0].[1]: 'nobody': unknown name 'nobody'"},
    {head, "tables = ({ name = \"t\"; title = \"T\"; columns = (\"a\"); });\n", steps,
     "a column is its name and an expression"},
    {head, "tables = ({ name = \"t\"; title = \"T\"; columns = (\"a\"); rows = ((1, 2)); });\n",
     steps, "a row of 2 cells; the table has 1 columns"},
    {head, "tables = ({ original = \"fig_9\"; });\n", steps, "there is no figure 'fig_9'"},
    {head, tables, "steps = ({ row = \"s\"; });\n",
     "mine.exp:4: steps.[0].row: there is no such table"},
    {head, tables, "steps = ({ run: { schedule = \"none.cfg\"; modes = [ \"tt\" ]; }; });\n",
     "mine.exp:4: steps.[0].run.schedule: 'none.cfg' cannot be read"},
    {head, tables,
     "steps = ({ run: { schedule = \"mine.cfg.in\"; modes = [ \"on_time\" ]; }; });\n",
     "unknown mode 'on_time'; there are free, tt"},
    {head, tables, "steps = ({ run: { schedule = \"mine.cfg.in\"; modes = [ \"tt\" ]; }; });\n",
     "steps.[0].run.schedule: mine.cfg.in: unknown name 'length'"},
    {head, tables,
     "steps = ({ run: { schedule = \"mine.cfg.in\"; modes = [ \"tt\" ]; repeat = 0; }; });\n",
     "steps.[0].run.repeat: is 0; it must be from 1 to 1e+06"},
    {head, tables,
     "steps = ({ with: { length = 1; }; run: { schedule = \"mine.cfg.in\"; modes = [ \"tt\" ]; };\n"
     "  note = \"$(tt.nothing)\"; });\n",
     "a run has no 'nothing'"},
    {head, tables, "steps = ({ note = \"$(lock.jitter)\"; });\n", "there was no run 'lock'"},
    {head, tables, "steps = ({ part = \"p\"; });\n", "there is no part 'p'"},
    {head, tables, "parts: { p: { part = \"p\"; }; };\nsteps = ({ part = \"p\"; });\n",
     "more than 16 deep"},
    {head, tables,
     "steps = ({ for: { a = { from = 0; to = 999999; }; b = { from = 0; to = 999999; }; }; });\n",
     "mine.exp:4: steps.[0]: more than 100000 steps in all; let loops have fewer values"},
    {head, tables, "steps = ({ when = \"'a'\"; });\n", "is the text 'a'; it must be a number"},
    {head, tables, "steps = ({ backend = \"abacus\"; });\n", "there is no backend 'abacus'"},
    {head, tables, "steps = ({ run: { probe = \"sun\"; keep = \"s\"; }; });\n",
     "mine.exp:4: steps.[0].run.probe: there is no probe 'sun'"},
    {head, tables, "steps = ({ run: { probe = \"queue\"; }; });\n",
     "`keep` is missing for 'queue'"},
    {head, tables, "steps = ({ run: { probe = \"ways\"; keep = \"w\"; }; });\n",
     "steps.[0].run.probe: 'ways' needs a table 'plan'"},
    {head, tables,
     "steps = ({ run: { probe = \"clock_costs\"; keep = \"c\"; }; note = \"$(c.price)\"; });\n",
     "a run has no 'price'"},
    {head, tables, "steps = ({ for: { a = 1; }; });\n",
     "mine.exp:4: steps.[0].for: must be a group { } of lists"},
    {head, tables,
     "charts = ({ kind = \"cake\"; title = \"C\"; table = \"t\"; x = \"word\"; y = \"mean\"; "
     "});\nsteps = ();\n",
     "unknown kind 'cake'; there are lines"},
    {head, tables,
     "charts = ({ kind = \"bars\"; title = \"C\"; table = \"t\"; x = \"word\"; y = \"max\"; "
     "});\nsteps = ();\n",
     "charts.[0].y: table t has no column 'max'"},
    {head, tables, "steps = (;\n", "mine.exp:4: syntax error"},
    {head, tables, "include = \"none.exp\";\nsteps = ();\n", "none.exp: cannot be read"},
    {head, tables, "needs_blocks = 100000;\nsteps = ();\n",
     "needs 100000 blocks that run at once"}};

TESTS(what_is_wrong_is_said_with_its_place, sizeof wrong / sizeof *wrong) {
  char text[2048], said[4096] = "";
  write_text(template_path, schedule, strlen(schedule));
  snprintf(text, sizeof text, "%s%s%s", wrong[_i].head, wrong[_i].tables, wrong[_i].steps);
  machine.max_blocks = 8;
  ck_assert_int_ne(run_text(text), PREM_OK);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    prem_problem_format(prem_diag_at(diag, i), said + strlen(said), sizeof said - strlen(said));
  ck_assert_msg(strstr(said, wrong[_i].said) != NULL, "%s\nis said of\n%s", said, text);
}

TEST(a_schedule_that_is_refused_names_its_step) {
  char text[2048], said[2048] = "";
  write_text(template_path, "version = 1;\nnam = 2;\n", 22);
  snprintf(text, sizeof text, "%s%s%s", head, tables, steps);
  ck_assert_int_ne(run_text(text), PREM_OK);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    prem_problem_format(prem_diag_at(diag, i), said + strlen(said), sizeof said - strlen(said));
  ck_assert_ptr_nonnull(strstr(said, "unknown key 'nam'"));
  ck_assert_ptr_nonnull(strstr(said, "mine.exp:5: steps.[0].run"));
}

TEST(names_and_paths_are_told_apart) {
  prem_sweep *sweep = NULL;
  ck_assert(prem_sweep_is_path("a/mine.exp"));
  ck_assert(!prem_sweep_is_path("token_cost"));
  ck_assert(!prem_sweep_is_path("exp"));
  ck_assert_int_eq(prem_sweep_read("/nowhere/mine.exp", &sweep, diag), PREM_ERR_IO);
  ck_assert_int_eq(prem_sweep_shipped("mine.exp", &sweep, diag), PREM_ERR_IO);
  ck_assert_ptr_null(sweep);
  char other[64];
  snprintf(other, sizeof other, "%s/Mine.exp", folder);
  write_text(other, head, strlen(head));
  ck_assert_int_eq(prem_sweep_read(other, &sweep, diag), PREM_ERR_PARSE);
  unlink(other);
}

/* ---- what the thesis's share ----------------------------------------------------------------- */

/* Values of convolutions.exp, or what a run with them measured. */
static double convolutions_have(const char *with, const char *what) {
  char text[2048];
  snprintf(text, sizeof text,
           "%s include = \"convolutions.exp\";\n"
           "tables = ({ name = \"t\"; title = \"T\"; columns = ((\"value\", \"%s\")); });\n"
           "steps = ({ %s steps = ({ row = \"t\"; }); });\n",
           head, what, with);
  prem_findings_free(findings);
  findings = prem_findings_new("test", "A test", "Does it work?");
  ck_assert_int_eq(run_text(text), PREM_OK);
  return prem_value_number(prem_table_value(prem_find_table(findings, "t"), 0, 0));
}

/* The thesis: WU + (n - 1) T + k PFoff, T = kernels x PFoff, and a tile to its end. */
TEST(offsets_make_the_plan) {
  static const char with[] =
      "with: { prefetch = 1781; compute = 506; writeback = 421; warmup = 10000;\n"
      "  offsets = \"'prefetch_offset_ns = 1300L;'\"; };\n"
      "run: { schedule = \"convolutions.cfg.in\"; modes = [ \"tt\" ]; };\n";
  const int rounds = 31; /* of tiles, behind the one to warm up */
  ck_assert_double_eq(convolutions_have(with, "tt.hyperperiod"),
                      10000 + (rounds - 1) * 4 * 1300 + 3 * 1300 + 1781 + 506 + 421);
}

TEST(a_gpu_gets_the_thesis_and_a_small_cpu_fewer_kernels) {
  machine.max_blocks = 2;
  ck_assert_double_eq(convolutions_have("", "kernels"), 2);
  ck_assert_double_eq(convolutions_have("", "kernels * blocks"), 2);
  snprintf(machine.backend, sizeof machine.backend, "cuda");
  context.quick = false;
  ck_assert_double_eq(convolutions_have("", "kernels * blocks"), 8);
  ck_assert_double_eq(convolutions_have("", "rows / tile_rows * (columns / tile_columns) / blocks"),
                      512);
}

TEST(lengths_alone_are_planned_with) {
  static const char with[] = "set: { rows = 64; prefetch = 200; compute = 100; writeback = 50; };\n"
                             "part = \"alone\";\n";
  ck_assert_double_eq(convolutions_have(with, "alone.prefetch.max"), 200);
  ck_assert_double_eq(convolutions_have(with, "alone.compute.max"), 100);
  ck_assert_double_eq(convolutions_have(with, "alone.writeback.max"), 50);
}

/* ---- those that are shipped ----------------------------------------------------------------- */

#define PREM_SWEEP(ROOM, NAME) {#NAME, SOURCE_DIR "/experiments/" #ROOM "/" #NAME "/" #NAME ".exp"},
static const struct {
  const char *name, *path;
} shipped[] = {
#include "experiments/experiments.def"
};
#undef PREM_SWEEP
enum { SHIPPED = sizeof shipped / sizeof *shipped };

/* Many threads walk on a GPU alone: what can be judged here is all but the walks. */
static bool is_walk_of_a_gpu(const char *of) {
  return strstr(of, "walk_") || strstr(of, "element_kernels");
}

static bool has_probe(const prem_experiment *of) {
  char file[64];
  snprintf(file, sizeof file, "%s.exp", of->name);
  return strstr(prem_shipped_text(file), "probe = ") != NULL;
}

/* On a machine that looks like a CPU, and on one that looks like a GPU: the layouts differ. The
 * schedules of the CPU's are run by experiments.sh, on a CPU; so here they are run under a
 * sanitizer alone, every other one. */
TESTS(each_shipped_file_runs, 2 * SHIPPED) {
  const bool on_gpu = _i % 2, is_walk = is_walk_of_a_gpu(shipped[_i / 2].path);
  if (TTPREM_TEST_ROUNDS_DIVISOR > 1 ? on_gpu != _i / 2 % 2 : !on_gpu && !is_walk)
    return;
  const prem_experiment *experiment = prem_experiment_find(shipped[_i / 2].name);
  ck_assert_ptr_nonnull(experiment);
  prem_backend sim = *context.backend;
  sim.modes |= 1U << PREM_MODE_LEGACY; /* on the simulator as good as any */
  context.backend = &sim;
  machine.max_blocks = has_probe(experiment) ? machine.max_blocks : 4;
  if (on_gpu) {
    snprintf(machine.backend, sizeof machine.backend, "cuda");
    machine.cores = 4;
    machine.max_blocks = 16;
    machine.clock_step_ns = 32;
  }
  ck_assert_ptr_nonnull(experiment->sweep);
  /* Probes that are not for the simulator would measure this machine, which experiments.sh does. */
  stop = !prem_experiment_serves(experiment, "cpu") || (on_gpu && is_walk) ||
         (has_probe(experiment) && !prem_experiment_serves(experiment, "sim"));
  const prem_status status = prem_experiment_start(experiment, &context, findings, diag);
  char said[512] = "";
  if (prem_diag_count(diag))
    prem_problem_format(prem_diag_at(diag, 0), said, sizeof said);
  ck_assert_msg(status == (stop ? PREM_ERR_INTERRUPTED : PREM_OK), "%s: %s", experiment->name,
                said);
  if (stop)
    return;
  ck_assert_int_eq(prem_findings_judge(findings, diag), PREM_OK);
  ck_assert_ptr_nonnull(findings->verdict);
  ck_assert(!prem_findings_wrong(findings));
  ck_assert_int_le(budget.done, budget.all);
  if (strcmp(experiment->name, "closed_forms") ==
      0) /* every start of six plans is as the formulas say */
    ck_assert_ptr_nonnull(strstr(findings->verdict, "0 of 73584 starts are other"));
}

/* Cut anywhere, a file is refused, or, where the rest was no more than a step, read. */
TESTS(files_that_are_cut_short_do_no_harm, SHIPPED) {
  FILE *file = fopen(shipped[_i].path, "re");
  char text[16384];
  ck_assert_ptr_nonnull(file);
  const size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  ck_assert_uint_lt(length, sizeof text);
  for (size_t cut = 0; cut < length; cut += 29 * TTPREM_TEST_ROUNDS_DIVISOR) {
    prem_sweep *sweep = NULL;
    write_text(path, text, cut);
    const prem_status status = prem_sweep_read(path, &sweep, diag);
    ck_assert_int_eq(status == PREM_OK, sweep != NULL);
    ck_assert_msg(status == PREM_OK || prem_diag_errors(diag) > 0, "cut at %zu", cut);
    prem_sweep_free(sweep);
    prem_diag_free(diag);
    diag = prem_diag_new();
  }
}

/* A sign in the wrong place: read or refused, and what is read runs or is refused as well. */
TEST(files_with_a_wrong_sign_do_no_harm) {
  static const char signs[] = "$('\";){:,0";
  char text[2048], changed[2048];
  write_text(template_path, schedule, strlen(schedule));
  snprintf(text, sizeof text, "%s%s%s", head, tables, steps);
  const size_t length = strlen(text);
  for (size_t at = 0; at < length; at += 3 * (size_t)TTPREM_TEST_ROUNDS_DIVISOR) {
    memcpy(changed, text, sizeof changed);
    changed[at] = signs[at % (sizeof signs - 1)];
    if (run_text(changed) != PREM_OK)
      ck_assert_uint_gt(prem_diag_errors(diag), 0);
    prem_diag_free(diag);
    diag = prem_diag_new();
    prem_findings_free(findings);
    findings = prem_findings_new("test", "A test", "Does it work?");
  }
}
