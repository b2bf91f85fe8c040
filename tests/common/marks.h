/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For all suites, before anything else: assertions that hold say so to Check a thousand times only.
 *
 * Check keeps where the last one stood, for a test that crashes: a message for each, from the
 * test's process to the one that started it. Suites that go through millions of cases spend half
 * their time so, and more under a sanitizer. One that fails is told as ever.
 */
#pragma once

/* As check.h is, whose macro it replaces: what that brings into a suite is not warned of. */
#pragma GCC system_header

#include <check.h>

static inline void mark_at_first(const char *file, int line) {
  static _Thread_local int left = 1000;
  if (left > 0) {
    --left;
    _mark_point(file, line);
  }
}

#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
  (expr) ? mark_at_first(__FILE__, __LINE__)                                                       \
         : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__)
