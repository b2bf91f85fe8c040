/* SPDX-License-Identifier: Apache-2.0 */
/* The other process of the experiment on intruders, played by small programs. */
#include "experiments/thesis/intruders/intruder.h"

#include <sys/stat.h>
#include <time.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

static volatile sig_atomic_t stop;
static char program[] = "/tmp/ttprem-intruder-XXXXXX";
static prem_experiment_context context;
static prem_other_process *process;
static prem_intrusion done;
static prem_diag *diag;

/* A program of a shell's lines. */
static void play(const char *lines) {
  strcpy(program + sizeof program - 7, "XXXXXX");
  const int file = mkstemp(program);
  ck_assert_int_ge(file, 0);
  ck_assert_int_gt(dprintf(file, "#!/bin/sh\n%s\n", lines), 0);
  ck_assert_int_eq(fchmod(file, 0700), 0);
  close(file);
  context.program = program;
}

static void set_up(void) {
  stop = 0;
  context = (prem_experiment_context){.backend = prem_backend_find("cpu"), .stop = &stop};
  process = NULL;
  done = (prem_intrusion){0};
  diag = prem_diag_new();
}

static void tear_down(void) {
  unlink(program);
  prem_diag_free(diag);
}

static prem_status begin(void) {
  return prem_other_process_begin(&context, 1, &process, diag);
}

static void assert_said(const char *words) {
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const char *reason = prem_diag_at(diag, 0)->reason;
  ck_assert_msg(strstr(reason, words) != NULL, "'%s' is not in: %s", words, reason);
}

GROUP("other process", .set_up = set_up, .tear_down = tear_down);

TEST(its_report_is_added) {
  play("echo 'a note before'; echo 'at work'; cat; echo 'another'\n"
       "echo 'moved 700 watched 1000 stops 3 longest 200 altogether 500'");
  ck_assert_int_eq(begin(), PREM_OK);
  done.moved_bytes = 7;
  ck_assert_int_eq(prem_other_process_end(process, &done, diag), PREM_OK);
  ck_assert_int_eq(done.moved_bytes, 707);
  ck_assert_int_eq(done.seen_by_them.count, 3);
  ck_assert_int_eq(done.seen_by_them.longest_ns, 200);
  ck_assert_double_eq(prem_standstills_share_pct(&done.seen_by_them), 50);
  ck_assert_int_eq(done.seen.watched_ns, 0);
}

TEST(it_gets_its_part) {
  play("echo \"$*\"; exit 3");
  ck_assert_int_eq(begin(), PREM_ERR_UNAVAILABLE);
  assert_said("experiment intruders --quiet --backend cpu --part 1");
  ck_assert_ptr_null(process);
}

TEST(its_last_words_are_passed_on) {
  play("echo 'the GPU belongs to somebody else' >&2; exit 3");
  ck_assert_int_eq(begin(), PREM_ERR_UNAVAILABLE);
  assert_said("the GPU belongs to somebody else");
}

TEST(there_may_be_no_program) {
  ck_assert_int_eq(begin(), PREM_ERR_UNAVAILABLE);
  assert_said("no command");
  prem_diag_free(diag);
  diag = prem_diag_new();
  context.program = "/nonexistent";
  ck_assert_int_eq(begin(), PREM_ERR_UNAVAILABLE);
  assert_said("says nothing");
}

TEST(an_end_without_a_report_is_an_error) {
  play("echo 'at work'; cat; echo 'moved what'");
  ck_assert_int_eq(begin(), PREM_OK);
  ck_assert_int_eq(prem_other_process_end(process, &done, diag), PREM_ERR_MACHINE);
  assert_said("moved what");
  ck_assert_int_eq(done.moved_bytes, 0);
}

/* It reports, and then goes on for ever: it is ended. */
TEST(one_that_does_not_end_is_ended) {
  play("echo 'at work'; cat\n"
       "echo \"moved $$ watched 1 stops 0 longest 0 altogether 0\"; exec sleep 100");
  const time_t began_s = time(NULL);
  ck_assert_int_eq(begin(), PREM_OK);
  ck_assert_int_eq(prem_other_process_end(process, &done, diag), PREM_OK);
  ck_assert_int_lt(time(NULL) - began_s, 20);
  ck_assert_int_eq(kill((pid_t)done.moved_bytes, 0), -1);
}

TEST(an_interruption_waits_for_nothing) {
  play("exec cat");
  stop = 1;
  ck_assert_int_eq(begin(), PREM_ERR_INTERRUPTED);
  ck_assert_uint_eq(prem_diag_count(diag), 0);
}
