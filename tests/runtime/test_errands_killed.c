/* SPDX-License-Identifier: Apache-2.0 */
/* A process with a server, killed at any moment while threads send: it is gone at once, and the
 * next process runs as the first one did. Errands are sent within a process alone, and nothing of
 * them lies outside of it: what had not ended is gone with it, what was collected was sent, and
 * once. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/common/crowd.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

enum { MANY = 1 << 20 };

/** Shared with the process that is killed, and there after it. */
typedef struct storm {
  _Atomic int64_t sent, collected, wrong, runs;
  _Atomic uint8_t state[MANY]; /* [tag]: 1: about to be sent; 2: collected */
  _Atomic int64_t next;
} storm;

typedef struct storm_of {
  storm *shared;
  prem_session *session;
} storm_of;

static void *send_for_ever(void *argument) {
  const storm_of *of = argument;
  prem_errand errand;
  for (;;) {
    if (prem_errand_acquire(of->session, 1, &errand) == PREM_OK) {
      const int64_t tag = of->shared->next++ % MANY;
      errand.tag = (uint64_t)tag;
      of->shared->state[tag] = 1;
      if (prem_errand_send(of->session, &errand) == PREM_OK)
        ++of->shared->sent;
      else
        prem_errand_release(of->session, &errand);
    }
    if (prem_errand_collect(of->session, 100000, &errand) == PREM_OK) {
      of->shared->wrong += atomic_exchange(&of->shared->state[errand.tag], 2) != 1;
      ++of->shared->collected;
      prem_errand_release(of->session, &errand);
    }
  }
  return NULL;
}

/* It ends by a signal alone. */
static void storm_on(const char *backend, storm *shared) {
  OWNED(prem_schedule) *schedule = filter_and_servers(2, "");
  OWNED(prem_session) *session = open_on(backend, schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  storm_of of = {shared, session};
  pthread_t thread;
  for (int32_t i = 0; i < SENDERS; ++i)
    if (pthread_create(&thread, NULL, send_for_ever, &of) != 0)
      _exit(1);
  for (;;) {
    if (prem_session_run(session, &request, trace, NULL) != PREM_OK)
      _exit(2);
    ++shared->runs;
  }
}

static void pause_ns(int64_t ns) {
  nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

/* It is gone within ten seconds of the signal. */
static int reap(pid_t child) {
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    if (waitpid(child, &status, WNOHANG) == child)
      return status;
    pause_ns(10000000);
  }
  ck_abort_msg("a killed process is still there");
  return status;
}

TEST(a_killed_process_is_gone_and_others_run) {
  uint64_t dice = 3;
  int64_t sent = 0, collected = 0;
  for (int64_t round = 0; round < ROUNDS(20); ++round) {
    storm *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
      storm_on("cpu", shared);
    /* while it opens, before the first end, in a run, between two */
    if (round % 4 != 0)
      for (int i = 0; i < 3000 && shared->collected < round % 4 * 20 - 19; ++i)
        pause_ns(10000000);
    pause_ns((int64_t)prem_random_below(&dice, 30000000));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    const int status = reap(child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_eq(shared->wrong, 0);
    /* each thread may be between an errand's sending and its count */
    ck_assert_int_le(shared->collected, shared->sent + SENDERS);
    if (round % 4 != 0)
      ck_assert_int_gt(shared->collected, 0);
    sent += shared->sent;
    collected += shared->collected;
    munmap(shared, sizeof *shared);
  }
  ck_assert_int_gt(collected, 0);
  ck_assert_int_ge(sent, collected - SENDERS * ROUNDS(20));
  OWNED(prem_schedule) *schedule = filter_and_servers(1, "");
  end_with_their_runs("cpu", schedule, 1);
}
