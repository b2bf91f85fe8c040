/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of which a letter or a setting is another one, or is missing, are read or refused, never
 * half: what is refused is refused with a problem that names its place, and what is read is
 * planned, accepted by the checker, saved, and read again as it was.
 */
#include <glob.h>

#include "tests/common/letters.h"
#include "tests/common/random_schedule.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/plan_file.h"

enum { RANDOM = 8, CHANGED = ROUNDS(400), LONGEST_PLAN = 6000 };

static int64_t readable, refused;

static char *plan_text(const prem_schedule *schedule) {
  char *phases = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&phases, &bytes);
  ck_assert_int_eq(prem_plan_write_csv(schedule, file, NULL), PREM_OK);
  fclose(file);
  return phases;
}

static void assert_saved(const prem_schedule *schedule) {
  char path[] = "/tmp/ttprem-changed-XXXXXX";
  close(mkstemp(path));
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *again = NULL;
  if (prem_schedule_save(schedule, path, diag) != PREM_OK ||
      prem_schedule_load(path, NULL, &again, diag) != PREM_OK ||
      prem_schedule_bind(again, prem_registry_builtin(), diag) != PREM_OK)
    abort_with("what was saved", diag);
  ck_assert_ptr_nonnull(again->plan);
  FREED char *before = plan_text(schedule), *now = plan_text(again);
  ck_assert_str_eq(before, now);
  remove(path);
}

static void assert_problems(const prem_diag *diag, const char *source) {
  int lines = 1;
  for (const char *at = source; *at; ++at)
    lines += *at == '\n';
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    char line[2048];
    ck_assert(problem->severity != PREM_ERROR || problem->code > 0);
    ck_assert_int_le(problem->line, lines);
    ck_assert_str_ne(problem->reason, "");
    ck_assert_int_eq(prem_problem_format(problem, line, sizeof line), (int)strlen(line));
    ck_assert(problem->code == 0 || strstr(line, text("E%03d", problem->code)) != NULL);
  }
}

/* The set may be at fault (the scratchpad is too small, say), the plan that was made is not. */
static void assert_plan_is_legal(const prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_check(schedule, NULL, diag);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->severity == PREM_ERROR &&
        strncmp(prem_diag_at(diag, i)->key, "plan", 4) == 0)
      abort_with("a plan that the checker refuses", diag);
}

/* `saves`: what is read is written as well. */
static void try_text(const char *source, bool saves) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_schedule_load_text("t.cfg", source, &schedule, diag);
  ck_assert_int_eq(status == PREM_OK, schedule != NULL);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  if (schedule) {
    const prem_status bound = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    ck_assert_int_eq(bound == PREM_OK, prem_diag_errors(diag) == 0);
  }
  prem_plan *plan = NULL;
  if (schedule && prem_diag_errors(diag) == 0) {
    ++readable;
    if (!schedule->plan && prem_plan_make(schedule, NULL, NULL, &plan, NULL) == PREM_OK) {
      prem_schedule_set_plan(schedule, plan);
      if (strncmp(schedule->policy.use, "auto", 4) == 0)
        assert_plan_is_legal(schedule);
      if (saves)
        assert_saved(schedule);
    }
    prem_check(schedule, NULL, diag);
  } else {
    ++refused;
  }
  assert_problems(diag, source);
}

/* ---- settings -------------------------------------------------------------------------------- */

/* The value after the next equals sign: a number, a text or a list of numbers. */
static const char *next_value(const char *at, size_t *length) {
  while ((at = strchr(at, '='))) {
    at += 1 + strspn(at + 1, " ");
    *length = strcspn(at, *at == '[' ? "]" : ";,") + (*at == '[');
    if (*at != '(' && *at != '{' && *at != '\n')
      return at;
  }
  return NULL;
}

static void try_with(const char *source, const char *at, size_t length, const char *value) {
  FREED char *other = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&other, &bytes);
  fprintf(file, "%.*s%s%s", (int)(at - source), source, value, at + length);
  fclose(file);
  try_text(other, false);
}

/* Each in turn is one more, one less, far away, of another kind, or missing. */
static void try_settings(const char *source) {
  static const char *const odd[] = {"-7L",
                                    "0",
                                    "2147483647",
                                    "2147483648L",
                                    "4611686018427387904L",
                                    "4611686018427387905L",
                                    "9223372036854775807L",
                                    "1.5",
                                    "\"x\"",
                                    "[ 1 ]"};
  size_t length = 0;
  for (const char *at = next_value(source, &length); at; at = next_value(at, &length)) {
    char *end = NULL;
    const long long number = strtoll(at, &end, 10);
    for (int by = -1; end > at && by < 2; by += 2)
      try_with(source, at, length, text("%lldL", number + by));
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
      try_with(source, at, length, odd[i]);
    const char *key = at;
    while (key > source && !strchr(";{(,\n", key[-1]))
      --key;
    try_with(source, key, (size_t)(at - key) + length + (at[length] == ';'), "");
  }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void try_all(const char *source, uint64_t seed) {
  uint64_t state = seed;
  try_text(source, true);
  try_settings(source);
  for (int i = 0; i < CHANGED; ++i) {
    FREED char *other = letters_change(&state, source);
    try_text(other, i % 20 == 0);
  }
}

TEST(of_small_files) {
  glob_t files;
  ck_assert_int_eq(glob(SOURCE_DIR "/tests/golden/*.cfg", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; ++i) {
    char source[8192] = "";
    FILE *file = fopen(files.gl_pathv[i], "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(source, 1, sizeof source - 1, file), 0);
    fclose(file);
    try_all(source, i);
  }
  globfree(&files);
  ck_assert_int_gt(readable, 100);
  ck_assert_int_gt(refused, 100);
}

TEST(of_random_schedules) {
  for (uint64_t seed = 0; seed < RANDOM; ++seed) {
    FREED char *source = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&source, &bytes);
    random_schedule_print(file, seed);
    fclose(file);
    try_all(source, seed);
  }
  ck_assert_int_gt(readable, 100);
  ck_assert_int_gt(refused, 100);
}
