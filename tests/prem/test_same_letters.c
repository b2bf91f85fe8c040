/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and profiles of which letters are missing, more or others are read and refused as they
 * were, to the last letter (see tests/common/golden.h): others show that it is right.
 */
#include <glob.h>

#include "tests/common/golden.h"
#include "tests/common/letters.h"
#include "tests/common/random_schedule.h"

enum { RANDOM = 8, CHANGED = 400, OF_A_LINE = 20 };

static uint64_t state;

static void add(uint64_t *sum, int64_t value) {
  *sum = golden_sum(*sum, &value, sizeof value);
}

/* What was read of it, and what is said. */
static uint64_t sum_of(const char *path, const char *profile) {
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  uint64_t sum = (uint64_t)prem_schedule_load_lenient(path, profile, &schedule, diag);
  if (schedule) {
    add(&sum, (int64_t)prem_schedule_bind(schedule, prem_registry_builtin(), diag));
    add(&sum, schedule->task_count);
    add(&sum, schedule->array_count);
    add(&sum, schedule->platform.blocks);
    add(&sum, schedule->platform.guard_ns);
    add(&sum, schedule->dispatch_ns);
    add(&sum, schedule->precedence_ns);
    add(&sum, schedule->bandwidth_bytes_per_s);
    add(&sum, schedule->plan ? schedule->plan->hyperperiod_ns : -1);
    sum = golden_sum(sum, schedule->name, strlen(schedule->name));
  }
  for (int32_t t = 0; schedule && t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    sum = golden_sum(sum, task->name, strlen(task->name));
    add(&sum, task->period_ns);
    add(&sum, task->tile_count);
    add(&sum, task->after_count);
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      add(&sum, task->phase[p].wcet_ns);
      add(&sum, task->phase[p].busy_ns);
      add(&sum, task->phase[p].exists);
    }
  }
  sum ^= golden_problems(diag);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return sum;
}

static void write_file(const char *path, const char *source) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(source, file);
  fclose(file);
}

/* `path` is read, or another file names it. */
static void tell_changed(FILE *file, const char *name, const char *source, const char *path,
                         const char *read, const char *profile) {
  write_file(path, source);
  fprintf(file, "%s: %016" PRIx64 "\n", name, sum_of(read, profile));
  uint64_t sum = GOLDEN_SUM;
  for (int i = 1; i <= CHANGED; ++i) {
    char *other = letters_change(&state, source);
    write_file(path, other);
    free(other);
    add(&sum, (int64_t)sum_of(read, profile));
    if (i % OF_A_LINE)
      continue;
    fprintf(file, "%s, to change %d: %016" PRIx64 "\n", name, i, sum);
    sum = GOLDEN_SUM;
  }
}

static char folder[] = "/tmp/ttprem-same-XXXXXX";

static void enter_folder(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
}

static void leave_folder(void) {
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
}

START_TEST(of_schedules) {
  state = 1;
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  glob_t files;
  ck_assert_int_eq(glob(SOURCE_DIR "/tests/golden/*.cfg", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; ++i) {
    ck_assert_int_eq(system(text("cp %s from.cfg", files.gl_pathv[i])), 0);
    char *source = golden_take("from.cfg");
    tell_changed(file, strrchr(files.gl_pathv[i], '/') + 1, source, "t.cfg", "t.cfg", NULL);
    free(source);
  }
  globfree(&files);
  for (uint64_t seed = 0; seed < RANDOM; ++seed) {
    char *source = NULL;
    size_t source_bytes = 0;
    FILE *to = open_memstream(&source, &source_bytes);
    random_schedule_print(to, seed);
    fclose(to);
    tell_changed(file, text("schedule %" PRIu64, seed), source, "t.cfg", "t.cfg", NULL);
    free(source);
  }
  fclose(file);
  golden_judge("letters.txt", found);
}
END_TEST

static const char profiled[] =
    "version = 1; name = \"t\"; platform: { blocks = 5; };\n"
    "profiles: { p = \"p.cfg\"; q = \"q.cfg\"; };\n"
    "tasks = (\n"
    "  { name = \"k\"; copies = 2; kernel = \"none\"; blocks = 1; tiles = 1; profile = \"p\";\n"
    "    prefetch: { wcet_ns = 3L; }; compute: { }; },\n"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 2; profile = \"p\";\n"
    "    prefetch: { }; compute: { }; writeback: { }; },\n"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 3 ]; tiles = 1;\n"
    "    compute: { wcet_ns = 5L; }; },\n"
    "  { name = \"c\"; kernel = \"none\"; blocks = [ 3 ]; tiles = 1; profile = \"p\";\n"
    "    prefetch: { }; compute: { wcet_ns = 7L; }; joined: { }; writeback: { wcet_ns = 3L; }; } "
    ");\n";

static const char profile[] =
    "# A profile.\nversion = 1;\nmachine = \"M\";\nvalid = true;\ndisturbed = \"by b\";\n"
    "quantile = 0.999;\nconfidence = 0.95;\ndisturbed_runs = 3L;\ndispatch_ns = 900L;\n"
    "precedence_ns = 700L;\nbandwidth_bytes_per_s = 4000000L;\ntasks = (\n"
    "  { name = \"a\";\n    prefetch: { wcet_ns = 90L; busy_ns = 80L; longest_ns = 99L;"
    " alone_ns = 70L; company_ns = 75L;\n      planned_ns = 77L; cold_ns = 95L; tail_ns = 120L; "
    "};\n"
    "    compute: { wcet_ns = 200L; };\n    writeback: { wcet_ns = 60L; busy_ns = 60L; }; },\n"
    "  { name = \"c\";\n    prefetch: { wcet_ns = 11L; };\n    compute: { wcet_ns = 12L; };\n"
    "    joined: { wcet_ns = 30L; busy_ns = 20L; }; },\n"
    "  { name = \"k\"; prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 50L; }; },\n"
    "  { name = \"k.0\"; compute: { wcet_ns = 40L; }; },\n"
    "  { name = \"d\"; compute: { wcet_ns = 1L; }; }\n);\n";

START_TEST(of_profiles) {
  static const char *const chosen[] = {NULL, "p", "q", "x"};
  state = 2;
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  write_file("s.cfg", profiled);
  for (int i = 0; i < 4; ++i)
    tell_changed(file, text("profile, %s is asked for", chosen[i] ? chosen[i] : "none"), profile,
                 "p.cfg", "s.cfg", chosen[i]);
  write_file("p.cfg", profile);
  tell_changed(file, "schedule with profiles", profiled, "s.cfg", "s.cfg", NULL);
  fclose(file);
  golden_judge("letters_profiles.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same letters");
  TCase *schedules = tcase_create("schedules");
  tcase_set_timeout(schedules, 240);
  tcase_add_checked_fixture(schedules, enter_folder, leave_folder);
  tcase_add_test(schedules, of_schedules);
  suite_add_tcase(suite, schedules);
  TCase *profiles = tcase_create("profiles");
  tcase_set_timeout(profiles, 240);
  tcase_add_checked_fixture(profiles, enter_folder, leave_folder);
  tcase_add_test(profiles, of_profiles);
  suite_add_tcase(suite, profiles);
  return run_suite(suite);
}
