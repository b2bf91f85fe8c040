/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: a suite is its tests, in the order in which they stand; nothing lists them again.
 *
 *   GROUP("reads", .set_up = open_file, .tear_down = close_file);
 *
 *   TEST(what_is_there) {
 *   }
 *
 *   TESTS(what_is_missing, 4) { // four times, with _i from 0; TESTS_FROM(NAME, 1, 5): from 1
 *   }
 *
 * A group is a test case of Check: it begins where its line stands, and goes on where that stands
 * again. SUITE_NEEDS(why_not); names a function that says what the suite lacks here, or NULL: it is
 * skipped then, with status 77. This header has main().
 */
#pragma once

#include <check.h>
#include <errno.h>
#include <string.h>

#include "tests/common/owned.h"

typedef struct suite_group {
  const char *name;
  SFun set_up, tear_down; /* before and after each test; NULL: nothing */
  SFun first, last;       /* before and after all of them, in the process that starts them */
  double timeout_s;       /* 0: so long that only who hangs is ended */
} suite_group;

enum { SUITE_GROUPS = 16, SUITE_TIMEOUT_S = 240 };

static struct {
  Suite *suite;
  TCase *now;
  const char *names[SUITE_GROUPS];
  TCase *groups[SUITE_GROUPS];
  int count;
  const char *(*lacks)(void);
} suite_all;

static inline void suite_begin(suite_group group) {
  if (!suite_all.suite)
    suite_all.suite = suite_create(program_invocation_short_name);
  for (int i = 0; i < suite_all.count; ++i)
    if (strcmp(suite_all.names[i], group.name) == 0) {
      suite_all.now = suite_all.groups[i];
      return;
    }
  if (suite_all.count == SUITE_GROUPS)
    abort();
  suite_all.now = tcase_create(group.name);
  suite_all.names[suite_all.count] = group.name;
  suite_all.groups[suite_all.count++] = suite_all.now;
  tcase_set_timeout(suite_all.now, group.timeout_s > 0 ? group.timeout_s : SUITE_TIMEOUT_S);
  if (group.set_up || group.tear_down)
    tcase_add_checked_fixture(suite_all.now, group.set_up, group.tear_down);
  if (group.first || group.last)
    tcase_add_unchecked_fixture(suite_all.now, group.first, group.last);
  suite_add_tcase(suite_all.suite, suite_all.now);
}

static inline void suite_add(const TTest *test, int from, int until) {
  if (!suite_all.now)
    suite_begin((suite_group){.name = "tests"});
  tcase_add_loop_test(suite_all.now, test, from, until);
}

#define SUITE_JOIN(a, b)  a##b
#define SUITE_NAME(a, b)  SUITE_JOIN(a, b)
#define SUITE_FIRST(name) __attribute__((constructor)) static void name(void)

#define GROUP(...)                                                                                 \
  SUITE_FIRST(SUITE_NAME(suite_group_of_line_, __LINE__)) {                                        \
    suite_begin((suite_group){.name = __VA_ARGS__});                                               \
  }                                                                                                \
  _Static_assert(1, "takes the semicolon")

#define SUITE_NEEDS(why_not)                                                                       \
  SUITE_FIRST(suite_needs) {                                                                       \
    suite_all.lacks = why_not;                                                                     \
  }                                                                                                \
  _Static_assert(1, "takes the semicolon")

#define TESTS_FROM(test, from, until)                                                              \
  static const TTest *test;                                                                        \
  SUITE_FIRST(suite_adds_##test) {                                                                 \
    suite_add(test, from, until);                                                                  \
  }                                                                                                \
  START_TEST(test)
#define TESTS(test, times) TESTS_FROM(test, 0, times)
#define TEST(test)         TESTS(test, 1)

int main(void) {
  const char *lack = suite_all.lacks ? suite_all.lacks() : NULL;
  if (lack) {
    printf("skipped: %s\n", lack);
    return 77;
  }
  SRunner *runner = srunner_create(suite_all.suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
