/* SPDX-License-Identifier: Apache-2.0 */
/* The checker, rule by rule, each with its legal twin one step away: check_cases.txt has schedules,
 * and all that is said of each. */
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

enum { BYTES = 8192 };

/* Of values with " | " between them, counted from 1; - stands for none. */
static const char *value_of(const char *values, int number) {
  for (; number > 1; --number) {
    values = strstr(values, " | ");
    ck_assert_ptr_nonnull(values);
    values += 3;
  }
  const char *end = strstr(values, " | ");
  const char *value =
      text("%.*s", (int)(end ? (size_t)(end - values) : strcspn(values, "\n")), values);
  return strcmp(value, "-") == 0 ? "" : value;
}

static const char *filled(const char *form, const char *values) {
  static char source[2 * BYTES];
  size_t length = (size_t)sprintf(source, "version = 1; name = \"t\"; ");
  for (const char *at = form; *at; ++at)
    if (*at != '$')
      source[length++] = *at;
    else
      length += (size_t)sprintf(source + length, "%s", value_of(values, *++at - '0'));
  source[length] = '\0';
  return source;
}

/* One a line, without the place in the file, which each of them has. */
static char *all_said(const prem_diag *diag) {
  char *said = NULL, line[4096];
  size_t bytes = 0;
  FILE *file = open_memstream(&said, &bytes);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    ck_assert_int_gt(problem->line, 0);
    prem_problem_format(problem, line, sizeof line);
    fprintf(file, "%s\n", strchr(line + strlen(problem->file) + 1, ' ') + 1);
  }
  fclose(file);
  return said;
}

static bool is_judged(const char *name, const char *form, const char *values,
                      const char *expected) {
  OWNED(prem_diag) *diag = verdict_on(filled(form, values));
  FREED char *said = all_said(diag);
  if (strcmp(said, expected) == 0)
    return true;
  printf("%s? %sfound:\n%sexpected:\n%s", name, values, said, expected);
  return false;
}

TEST(each_case_is_judged) {
  char line[BYTES], name[BYTES] = "", form[BYTES] = "", values[BYTES] = "", expected[BYTES] = "";
  int count = 0, wrong = 0;
  FILE *cases = fopen(SOURCE_DIR "/tests/schedules/check_cases.txt", "r");
  ck_assert_ptr_nonnull(cases);
  for (bool asked = false; fgets(line, sizeof line, cases);) {
    if (asked && *line != '>') {
      wrong += !is_judged(name, form, values, expected);
      ++count;
      *expected = '\0';
      asked = false;
    }
    if (*line == '#')
      strcpy(name, line + 2);
    else if (*line == '>')
      strcat(expected, line + 2);
    else if (*line == '?' && (asked = true))
      strcpy(values, line[1] == ' ' ? line + 2 : line + 1);
    else if (*line == '\n')
      *form = '\0';
    else
      strcat(form, line);
  }
  fclose(cases);
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_ge(count, 210);
}
