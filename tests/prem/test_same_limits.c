/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in which one number is at a limit, or one past it, are read as they were: what is said of
 * them, and every number of the model that is made of them (see tests/common/golden.h): others show
 * that it is right.
 */
/* ctest: release */
#include <glob.h>

#include "tests/common/golden.h"

static char folder[] = "/tmp/ttprem-same-XXXXXX";
static uint64_t sum; /* of what is told */

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void add_text(const char *of) {
  sum = golden_sum(sum, of ? of : "-", of ? strlen(of) + 1 : 1);
}

/* ---- the model ------------------------------------------------------------------------------- */

static void add_phase(const prem_schedule *schedule, const prem_phase_spec *phase) {
  add(phase->exists);
  add(phase->wcet_ns);
  add(phase->busy_ns);
  add(phase->turnaround_ns);
  add(phase->unit_turnaround_ns);
  for (int32_t r = 0; phase->demand && r < schedule->platform.resource_count; ++r)
    add(phase->demand[r]);
}

static void add_arguments(const prem_task *task) {
  for (int32_t i = 0; i < task->arg_count; ++i) {
    const prem_arg *arg = &task->args[i];
    add_text(arg->key);
    for (int32_t v = 0; v < arg->count; ++v)
      sum = golden_sum(sum, &arg->values[v], sizeof arg->values[v]);
    for (int32_t v = 0; arg->is_int && v < arg->count; ++v)
      add(arg->ints[v]);
  }
}

/* What binding makes of it: windows, parameters, and the buffers with the work area behind them. */
static void add_bound(const prem_task *task) {
  if (!task->definition)
    return;
  sum = golden_sum(sum, task->params, PREM_PARAMS_BYTES);
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const prem_window *window = &task->windows[p];
    sum = golden_sum(sum, window->base, sizeof window->base);
    sum = golden_sum(sum, window->step, sizeof window->step);
    sum = golden_sum(sum, window->extent, sizeof window->extent);
    add(window->aim);
    add(task->arrays[p]);
  }
  for (int32_t p = 0; p <= task->definition->port_count; ++p) {
    add(task->layout[p].offset_bytes);
    add(task->layout[p].row_bytes);
    add(task->layout[p].rows);
    add(task->layout[p].element_bytes);
  }
  add(task->work_bytes);
}

static void add_task(const prem_schedule *schedule, const prem_task *task) {
  const int64_t all[] = {task->together,    task->tile_count, task->period_ns, task->release_ns,
                         task->deadline_ns, task->publish_ns, task->overrun,   task->off,
                         task->tile_rank,   task->broken,     task->grid[0],   task->in_bytes,
                         task->out_bytes};
  add_text(task->name);
  add_text(task->kernel);
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    add(all[i]);
  for (int32_t b = 0; b < task->block_count; ++b)
    add(task->blocks[b]);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    add_phase(schedule, &task->phase[p]);
  add_phase(schedule, &task->joined);
  for (int32_t a = 0; a < task->after_count; ++a) {
    add(task->after[a].task);
    add(task->after[a].lag_ns);
    add(task->after[a].latest + 2 * task->after[a].per_block);
  }
  for (int32_t d = 0; d < task->tile_rank; ++d)
    add(task->tile[d]);
  add_arguments(task);
  for (int32_t p = 0; p < task->port_count; ++p) {
    add_text(task->port_names[p]);
    add(task->port_arrays[p]);
  }
  add_bound(task);
}

static void add_platform(const prem_schedule *schedule) {
  const prem_platform *of = &schedule->platform;
  const int64_t all[] = {of->blocks,        of->sms,           of->block_threads,
                         of->buffers,       of->scratch_bytes, of->late_ns,
                         of->clock_step_ns, of->guard_ns,      of->precedence_ns};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    add(all[i]);
  for (int32_t r = 0; r < of->resource_count; ++r) {
    add_text(of->resources[r].name);
    add(of->resources[r].capacity);
    add(of->resources[r].per_task);
  }
}

static void add_settings(const prem_schedule *schedule) {
  const prem_policy *policy = &schedule->policy;
  const prem_measure *measure = &schedule->measure;
  const int64_t all[] = {policy->prefetch_offset_ns,
                         policy->writeback_offset_ns,
                         policy->warmup_tiles,
                         policy->warmup_ns,
                         policy->overrun,
                         policy->align_exact,
                         measure->scenario,
                         measure->runs,
                         measure->hyperperiods,
                         measure->discard,
                         measure->mode_count,
                         measure->chain_count,
                         schedule->dispatch_ns,
                         schedule->precedence_ns,
                         schedule->job_turnaround_ns,
                         schedule->job_prefetch_ns,
                         schedule->period_lcm_ns,
                         schedule->bandwidth_bytes_per_s,
                         schedule->live_count,
                         schedule->operating_mode_count};
  add_text(policy->use);
  add_text(policy->objective);
  add_text(schedule->profiled_on);
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    add(all[i]);
  for (int32_t i = 0; i < schedule->live_count; ++i) {
    const prem_live_port *port = &schedule->live[i];
    const int64_t of_port[] = {port->array,   port->is_output,  port->buffers,
                               port->kind,    port->missing,    port->drops,
                               port->lead_ns, port->max_age_ns, port->publish_ns};
    for (size_t v = 0; v < sizeof of_port / sizeof *of_port; ++v)
      add(of_port[v]);
  }
}

static void add_plan(const prem_plan *plan) {
  add(plan->hyperperiod_ns);
  add(plan->clock_step_ns);
  add(plan->warmup_ns);
  add(plan->warmup_tiles);
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    const prem_affine *run = &plan->affine[i];
    const int64_t all[] = {
        run->task,      run->phase,          run->chain,   run->start_ns,      run->first_block,
        run->count,     run->repeat,         run->step_ns, run->block_step_ns, run->tile,
        run->job,       run->tile_per_block, run->jobs,    run->job_step_ns,   run->tile_per_repeat,
        run->join_task, run->join_tile,      run->join_job};
    for (size_t v = 0; v < sizeof all / sizeof *all; ++v)
      add(all[v]);
  }
  for (int32_t i = 0; i < plan->starts_count; ++i) {
    add(plan->starts[i].task);
    add(plan->starts[i].count);
  }
}

static void add_model(const prem_schedule *schedule) {
  add_platform(schedule);
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    const prem_array *array = &schedule->arrays[a];
    add_text(array->name);
    add(array->type);
    add(array->fill);
    add((int64_t)array->seed);
    add(array->writer);
    add(array->versions);
    for (int d = 0; d < 4; ++d)
      add(array->shape[d]);
  }
  for (int32_t t = 0; t < schedule->task_count; ++t)
    add_task(schedule, &schedule->tasks[t]);
  add_settings(schedule);
  if (schedule->plan)
    add_plan(schedule->plan);
}

/* ---- one number another ---------------------------------------------------------------------- */

static void write_file(const char *name, const char *words) {
  FILE *file = fopen(name, "w");
  ck_assert_ptr_nonnull(file);
  fputs(words, file);
  fclose(file);
}

/* '+': read; '-': refused. */
static void tell(FILE *file) {
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  sum = GOLDEN_SUM;
  if (prem_schedule_load_lenient("t.cfg", NULL, &schedule, diag) == PREM_OK) {
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    add_model(schedule);
  }
  const uint64_t told = sum ^ golden_problems(diag);
  fprintf(file, " %c%08" PRIx32, prem_diag_errors(diag) ? '-' : '+', (uint32_t)(told ^ told >> 32));
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static bool is_number_at(const char *source, const char *at) {
  return at > source && strspn(at, "0123456789") > 0 && strchr(" [", at[-1]) != NULL;
}

/* `name`: the file of whose text one number after the other is changed. */
static void tell_numbers(FILE *file, const char *what, const char *name, const char *source) {
  static const char *const values[] = {
      "0", "1", "2", "2147483647", "2147483648L", "4611686018427387904L", "4611686018427387905L"};
  write_file(name, source);
  fprintf(file, "%s:", what);
  tell(file);
  for (const char *at = source; *at;
       at += is_number_at(source, at) ? strspn(at, "0123456789L") : 1) {
    if (!is_number_at(source, at))
      continue;
    const char *key = at;
    while (key > source && !strchr("{;(,\n", key[-1]))
      --key;
    key += strspn(key, " ");
    fprintf(file, "\n %d %.*s:", (int)(at - source), (int)(at - key), key);
    for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
      write_file(name, text("%.*s%s%s", (int)(at - source), source, values[v],
                            at + strspn(at, "0123456789L")));
      tell(file);
    }
  }
  write_file(name, source);
  fputc('\n', file);
}

static const char whole[] =
    "version = 1; name = \"whole\";\n"
    "platform: { blocks = 4; sms = 2; buffers = 2; scratch_bytes = 4096L; clock_step_ns = 8L;\n"
    "  guard_ns = 16L; precedence_ns = 24L; late_ns = 32L; block_threads = 64;\n"
    "  resources = ( { name = \"memory\"; capacity = 2; }, { name = \"bus\"; capacity = 3; } ); "
    "};\n"
    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8, 8 ]; fill = \"random\"; seed = 3; },\n"
    "  { name = \"z\"; type = \"f32\"; shape = [ 64 ]; },\n"
    "  { name = \"w\"; type = \"f32\"; shape = [ 64 ]; } );\n"
    "tasks = ( { name = \"a\"; kernel = \"conv2d\"; blocks = [ 0, 1 ]; tile = [ 4, 4 ];\n"
    "    period_ns = 20000L; arrays: { in = \"x\"; out = \"new\"; }; profile = \"here\"; },\n"
    "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 32 ];\n"
    "    args: { increment = 2; }; period_ns = 40000L; release_ns = 800L; deadline_ns = 30000L;\n"
    "    publish_ns = 20000L; arrays: { in = \"z\"; out = \"w\"; };\n"
    "    prefetch: { wcet_ns = 800L; busy_ns = 400L; demand: { memory = 1; bus = 2; }; };\n"
    "    compute: { wcet_ns = 800L; }; writeback: { wcet_ns = 600L; busy_ns = 480L; };\n"
    "    after = ( { task = \"a\"; lag_ns = 96L; instance = \"latest\"; } ); },\n"
    "  { name = \"c\"; kernel = \"none\"; blocks = 1; tiles = 3; period_ns = 40000L;\n"
    "    compute: { wcet_ns = 500L; }; } );\n"
    "live: { inputs = ( { array = \"z\"; lead_ns = 70L; max_age_ns = 90L; buffers = 3; } );\n"
    "  outputs = ( { array = \"w\"; kind = \"queuing\"; buffers = 5; } );\n"
    "  operating_modes = ( { name = \"full\"; }, { name = \"less\"; off = [ \"c\" ]; } ); };\n"
    "policy: { use = \"auto\"; prefetch_offset_ns = 800L; writeback_offset_ns = 640L; };\n"
    "measure: { runs = 5; hyperperiods = 7; discard = 2; };\n"
    "profiles: { here = \"p.cfg\"; };\n";

static const char profile[] =
    "version = 1; machine = \"made up\"; quantile = 0.9; dispatch_ns = 40L;\n"
    "precedence_ns = 56L; job_turnaround_ns = 72L; job_prefetch_ns = 88L;\n"
    "bandwidth_bytes_per_s = 1000000000L;\n"
    "tasks = ( { name = \"a\"; prefetch: { wcet_ns = 1000L; busy_ns = 500L; turnaround_ns = 48L;\n"
    "    longest_ns = 900L; alone_ns = 800L; }; compute: { wcet_ns = 1200L; alone_ns = 1100L;\n"
    "    unit_turnaround_ns = 96L; };\n"
    "    writeback: { wcet_ns = 700L; turnaround_ns = 64L; company_ns = 640L; };\n"
    "    joined: { wcet_ns = 1600L; busy_ns = 1300L; }; } );\n";

START_TEST(of_a_file_that_has_everything) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  write_file("p.cfg", profile);
  tell_numbers(file, "whole", "t.cfg", whole);
  tell_numbers(file, "profile", "p.cfg", profile);
  glob_t files;
  ck_assert_int_eq(glob(SOURCE_DIR "/tests/golden/*.cfg", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; ++i) {
    char source[8192] = "";
    FILE *from = fopen(files.gl_pathv[i], "r");
    ck_assert_ptr_nonnull(from);
    ck_assert_uint_gt(fread(source, 1, sizeof source - 1, from), 0);
    fclose(from);
    tell_numbers(file, strrchr(files.gl_pathv[i], '/') + 1, "t.cfg", source);
  }
  globfree(&files);
  fclose(file);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
  golden_judge("limits.txt", found);
}
END_TEST

/* ---- odd pieces ------------------------------------------------------------------------------ */

/* `count` times; each # in it is its number. */
static const char *many(int count, const char *form, const char *between) {
  char *all = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&all, &bytes);
  for (int i = 0; i < count; ++i) {
    fputs(i ? between : "", file);
    for (const char *at = form; *at; ++at)
      if (*at == '#')
        fprintf(file, "%d", i);
      else
        fputc(*at, file);
  }
  fclose(file);
  const char *kept = text("%s", all); /* until there were 64 more */
  free(all);
  return kept;
}

/* What is said of it, word by word, and the model's sum. */
static void tell_piece(FILE *file, const char *what, const char *source) {
  write_file("t.cfg", source);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  sum = GOLDEN_SUM;
  fprintf(file, "%s:", what);
  if (prem_schedule_load_lenient("t.cfg", NULL, &schedule, diag) == PREM_OK) {
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    add_model(schedule);
  }
  fprintf(file, " %016" PRIx64 "\n", sum);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(file, "  %s\n", line);
  }
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

/* One group of a file is this one instead. */
static void tell_group(FILE *file, const char *group, const char *words) {
  static const char *const groups[][2] = {
      {"platform", "blocks = 4;"},
      {"arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 64 ]; }"},
      {"tasks", "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4; copies = 2;"
                " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
                " writeback: { wcet_ns = 5L; }; }"},
      {"measure", "runs = 1;"},
      {"plan", "hyperperiod_ns = 1000L; runs = ( );"}};
  const char *all = "version = 1; name = \"t\";\n";
  for (size_t i = 0; i < sizeof groups / sizeof *groups; ++i) {
    const bool is_list = groups[i][0][0] == 'a' || groups[i][0][0] == 't';
    all = text("%s%s: %s %s %s;\n", all, groups[i][0], is_list ? "(" : "{",
               strcmp(groups[i][0], group) == 0 ? words : groups[i][1], is_list ? ")" : "}");
  }
  tell_piece(file, text("%s, %.70s", group, words), all);
}

static void tell_tables(FILE *file) {
  static const char resource[] = "{ name = \"r#\"; capacity = 2; }";
  for (int count = 14; count <= 18; ++count)
    tell_group(file, "platform",
               text("blocks = 4; resources = ( %s );", many(count, resource, ", ")));
  tell_group(file, "platform",
             text("blocks = 4; resources = ( { name = \"memory\"; capacity = 1; }, %s );",
                  many(15, resource, ", ")));
  tell_group(file, "platform", "blocks = 4; blocks_per_sm = 2;");
  tell_group(file, "platform", "sms = 2; blocks_per_sm = 2;");
  tell_group(file, "arrays",
             "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; fill = \"zero\";"
             " file = \"x.raw\"; }");
  tell_group(file, "arrays",
             "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; file = \"missing.raw\"; }");
  tell_group(file, "arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 4 ]; file = \"d.raw\"; }");
  tell_group(file, "arrays", "{ name = \"x\"; type = \"f32\"; shape = [ 1, 2, 3, 4, 5 ]; }");
  /* more numbers without their suffix than are remembered, before others are read */
  tell_group(file, "measure", many(65, "k# = 12345678901;", " "));
  tell_group(file, "measure", "modes = [ ];");
  tell_group(file, "measure", "modes = [ 1 ];");
  tell_group(file, "measure", "modes = [ \"tt\", \"tt\" ];");
  tell_group(file, "measure", "modes = [ \"tt\", \"fre\" ];");
}

static void tell_tasks(FILE *file) {
  static const char form[] = "{ name = \"a\"; kernel = \"vector_increment\"; blocks = %s;"
                             " tile = %s; arrays: { %s }; prefetch: { wcet_ns = %s; }; }";
  static const char *const odd[][4] = {
      {"1", "[ 1, 2, 3, 4 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"1", "[ 1, 2, 3, 4, 5 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"1", "[ ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"0-99999999999999999999\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"3-0\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "9L"},
      {"\"0-3\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "0xFFL"},
      {"\"0\"", "[ 0x20 ]", "in = \"x\"; out = \"new\";", "0x7fffffffffffffffL"},
      {"\"1,3\"", "[ 32 ]", "in = \"x\"; out = \"new\";", "0x8000000000000000L"},
      {"[ 0, 0 ]", "[ 32 ]", "in = \"x\"; out = \"x\";", "0X1fL"},
      {"1", "[ 32 ]", "in = 5; out = \"new\";", "1.5"}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_group(file, "tasks", text(form, odd[i][0], odd[i][1], odd[i][2], odd[i][3]));
  for (int count = 7; count <= 9; ++count)
    tell_group(file, "tasks", text(form, "1", "[ 32 ]", many(count, "p# = \"x\";", " "), "9L"));
}

static void tell_plans(FILE *file) {
  static const char *const odd[] = {
      "runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; chain = \"compute\"; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"b\" ]; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; join: { }; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; join: { tile = 0; }; } );",
      "runs = ( { task = \"a.0\"; phase = \"prefetch\"; join: { task = \"c\"; tile = 0; }; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = 5L; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 1; start_ns = [ 5L ]; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = [ -1L, 5L ]; } );",
      "starts = ( { task = \"a.1\"; phase = \"compute\"; block = 0; start_ns = [ -2L ]; } );"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_group(file, "plan", text("hyperperiod_ns = 1000L; %s", odd[i]));
}

static void tell_includes(FILE *file) {
  static const char rest[] = "version = 1; name = \"t\"; platform: { blocks = 1; };\n%s\n"
                             "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                             " compute: { wcet_ns = 20L; }; } );\n";
  static const char *const odd[] = {"@include \"i.cfg\"",   "  @include\t\"i.cfg\"",
                                    "@include \"missing\"", "@include \".\"",
                                    "@include i.cfg",       "@includes \"i.cfg\"",
                                    "@include \"i.cfg",     "; @include \"i.cfg\"",
                                    "@include \"i\\.cfg\"", "@include \"t.cfg\""};
  write_file("i.cfg", "measure: { runs = 3; };\n");
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    tell_piece(file, odd[i], text(rest, odd[i]));
  char name[5000] = "";
  for (int length = 1022; length <= 1024; ++length) {
    memset(name, 'n', (size_t)length);
    name[length] = '\0';
    fprintf(file, "%d letters, ", length);
    tell_piece(file, "include", text(rest, text("@include \"%s\"", name)));
  }
}

START_TEST(of_odd_pieces) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  ck_assert_int_eq(mkdir("d.raw", 0700), 0);
  write_file("x.raw", "0123456789abcdef");
  tell_tables(file);
  tell_tasks(file);
  tell_plans(file);
  tell_includes(file);
  fclose(file);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
  golden_judge("limits_odd.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same limits");
  TCase *cases = tcase_create("numbers");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, of_a_file_that_has_everything);
  tcase_add_test(cases, of_odd_pieces);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
