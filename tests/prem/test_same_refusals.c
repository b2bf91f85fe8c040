/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in which one setting is another, or is missing, are read, planned, judged and refused as
 * they were, to the last letter (see tests/common/golden.h): others show that it is right.
 */
/* ctest: release */
#include <glob.h>

#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"

enum { RANDOM = 10 };

static char folder[] = "/tmp/ttprem-same-XXXXXX";

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  char *all = calloc(1, 1 << 20);
  ck_assert_uint_lt(fread(all, 1, (1 << 20) - 1, file), (1 << 20) - 1);
  fclose(file);
  return all;
}

/* All that is said of a text, and what is planned for it. */
static uint32_t judge(const char *source) {
  FILE *file = fopen("t.cfg", "w");
  ck_assert_ptr_nonnull(file);
  fputs(source, file);
  fclose(file);
  prem_schedule *schedule = NULL;
  prem_diag *diag = prem_diag_new();
  uint64_t sum = 0;
  if (prem_schedule_load_lenient("t.cfg", NULL, &schedule, diag) == PREM_OK) {
    prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    /* why there is no plan is looked for as long as there is time: that is not compared */
    prem_plan *plan = NULL;
    if (prem_diag_errors(diag) == 0 && !schedule->plan &&
        prem_plan_make(schedule, NULL, NULL, &plan, NULL) == PREM_OK) {
      prem_schedule_set_plan(schedule, plan);
      char *saved = golden_saved(schedule);
      sum = golden_text(saved);
      free(saved);
    }
    prem_check(schedule, NULL, diag);
  }
  sum ^= golden_problems(diag);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return (uint32_t)(sum ^ sum >> 32);
}

/* The value behind the next equals sign: a number, a text or a list of numbers. */
static const char *next_value(const char *at, size_t *length) {
  while ((at = strchr(at, '='))) {
    at += 1 + strspn(at + 1, " ");
    *length = strcspn(at, *at == '[' ? "]" : ";,") + (*at == '[');
    if (*at != '(' && *at != '{' && *at != '\n')
      return at;
  }
  return NULL;
}

static uint32_t judge_with(const char *source, const char *at, size_t length, const char *value) {
  char *other = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&other, &bytes);
  fprintf(file, "%.*s%s%s", (int)(at - source), source, value, at + length);
  fclose(file);
  const uint32_t sum = judge(other);
  free(other);
  return sum;
}

static void tell_file(FILE *file, const char *name, const char *source) {
  fprintf(file, "%s: %08" PRIx32 "\n", name, judge(source));
  int line = 1;
  size_t length = 0;
  const char *from = source;
  for (const char *at = next_value(source, &length); at; at = next_value(at, &length)) {
    for (; from < at; ++from)
      line += *from == '\n';
    const char *key = at; /* it is taken away as well */
    while (key > source && !strchr(";{(,\n", key[-1]))
      --key;
    char *end = NULL;
    const long long number = strtoll(at, &end, 10);
    const char *more = end > at ? text("%lldL", number + 1) : "[1]";
    const char *less = end > at ? text("%lldL", number - 1) : "\"x\"";
    fprintf(file, "%s:%d %.*s: %08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", name,
            line, (int)strcspn(key, "="), key, judge_with(source, at, length, more),
            judge_with(source, at, length, less), judge_with(source, at, length, "-7L"),
            judge_with(source, key, (size_t)(at - key) + length + (at[length] == ';'), ""));
  }
}

/* As it is, and with its plan. */
static void tell_with_plan(FILE *file, const char *name, const char *source) {
  tell_file(file, name, source);
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(source, diag);
  prem_plan *plan = NULL;
  if (prem_diag_errors(diag) == 0 && !schedule->plan &&
      prem_plan_make(schedule, NULL, NULL, &plan, diag) == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    char *saved = golden_saved(schedule);
    if (strlen(saved) < 6000)
      tell_file(file, text("planned %s", name), saved);
    free(saved);
  }
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

static void tell_golden(FILE *file) {
  glob_t files;
  ck_assert_int_eq(glob(SOURCE_DIR "/tests/golden/*.cfg", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; ++i) {
    char *source = read_text(files.gl_pathv[i]);
    tell_with_plan(file, strrchr(files.gl_pathv[i], '/') + 1, source);
    free(source);
  }
  globfree(&files);
}

/* With data. */
static void tell_random(FILE *file) {
  for (uint64_t seed = 0; seed < RANDOM; ++seed) {
    char *source = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&source, &bytes);
    random_schedule_print(to, seed);
    fclose(to);
    tell_with_plan(file, text("schedule %" PRIu64, seed), source);
    free(source);
  }
}

/* The text that `tell` writes, made in a folder of its own. */
static void judge_all(void (*tell)(FILE *file), const char *name) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  tell(file);
  fclose(file);
  ck_assert_int_eq(system(text("rm -r %s", folder)), 0);
  golden_judge(name, found);
}

START_TEST(of_small_files) {
  judge_all(tell_golden, "refusals.txt");
}
END_TEST

START_TEST(of_random_schedules) {
  judge_all(tell_random, "refusals_random.txt");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same refusals");
  TCase *files = tcase_create("files");
  tcase_set_timeout(files, 240);
  tcase_add_test(files, of_small_files);
  suite_add_tcase(suite, files);
  TCase *schedules = tcase_create("schedules");
  tcase_set_timeout(schedules, 240);
  tcase_add_test(schedules, of_random_schedules);
  suite_add_tcase(suite, schedules);
  return run_suite(suite);
}
