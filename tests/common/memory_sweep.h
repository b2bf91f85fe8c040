/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: what is tried again and again, with one request for memory after the other that fails
 * (failing_memory.h, which comes first in a source).
 */
#pragma once

#include "tests/common/failing_memory.h"

#include <inttypes.h>

#include "tests/common/running.h"

/** What it did is told by a text, the same one each time that all went well. It is armed: before it
 *  asserts anything it sets failing.armed to false. */
typedef prem_status attempt(FILE *told);

/** What a call that fails has to overwrite: freed, it ends the test. */
#define UNSET ((void *)(intptr_t)-64)

typedef struct memory_sweep {
  prem_status expected;      /* where nothing fails */
  prem_status or_else;       /* may be said instead of PREM_ERR_MEMORY; PREM_OK: nothing else may */
  int64_t most;              /* tries, more or less: the first half one by one, the others apart */
  bool all_apart;            /* the first ones as well */
  void (*blank)(char *told); /* what is another text each time; may be NULL */
} memory_sweep;

static inline prem_status memory_try(attempt *of, int64_t fail_at, char **told, int64_t *requests) {
  size_t bytes = 0;
  *told = NULL;
  FILE *file = open_memstream(told, &bytes);
  failing_arm(fail_at);
  const prem_status status = of(file);
  *requests = failing_disarm();
  fclose(file);
  return status;
}

static inline int64_t memory_next(int64_t request, int64_t requests, const memory_sweep *how) {
  const bool is_close = request < how->most / 2 || request > requests - 20;
  return request + (is_close && !how->all_apart ? 1 : 2 * requests / how->most + 1);
}

/* The number that the next open file would have. */
static inline int memory_next_file(void) {
  const int next = dup(STDERR_FILENO);
  close(next);
  return next;
}

/** Something is refused at least once, what is not refused is as without a failure, and no file is
 *  left open. */
static inline void memory_sweep_all(const char *name, attempt *of, memory_sweep how) {
  char *expected = NULL, *told = NULL;
  int64_t requests = 0, had = 0, refused = 0;
  const int file = memory_next_file();
  failing_prepare();
  ck_assert_int_eq(memory_try(of, 0, &expected, &requests), how.expected);
  ck_assert_int_gt(requests, 0);
  if (how.blank)
    how.blank(expected);
  for (int64_t i = 1; i <= requests; i = memory_next(i, requests, &how)) {
    const prem_status status = memory_try(of, i, &told, &had);
    if (how.blank)
      how.blank(told);
    if (status == how.expected)
      ck_assert_msg(strcmp(told, expected) == 0,
                    "%s: request %" PRId64 " of %" PRId64
                    " fails, and it is said that all went well: %.99s, not %.99s",
                    name, i, requests, told, expected);
    else
      ck_assert_msg(status == PREM_ERR_MEMORY || (how.or_else && status == how.or_else),
                    "%s: request %" PRId64 " of %" PRId64 " fails: %s", name, i, requests,
                    prem_status_text(status));
    refused += status != how.expected;
    free(told);
  }
  free(expected);
  ck_assert_msg(refused > 0, "%s", name);
  ck_assert_msg(memory_next_file() == file, "%s: files are left open", name);
}
