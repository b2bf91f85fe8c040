/* SPDX-License-Identifier: Apache-2.0 */
/** Tests of live sessions whose process is stopped, as a debugger does it. Behind live_threads.h.
 */
#ifndef TTPREM_TESTS_COMMON_LIVE_STOPPED_H
#define TTPREM_TESTS_COMMON_LIVE_STOPPED_H

#include "tests/common/live_threads.h"

#include <sys/wait.h>
#include <unistd.h>

/** Longer than a watchdog of `STOPPED_STALL_MS` would wait. */
enum { STOPS = 2, STOPPED_MS = 1900, GOES_ON_MS = 137, STOPPED_STALL_MS = 1500 };

/** Another process that stops this one again and again, from the byte on that `*begin` is told;
 *  before this one has threads, which a fork leaves behind. */
static inline pid_t stop_me_again_and_again(int *begin) {
  int ends[2];
  char told;
  ck_assert_int_eq(pipe(ends), 0);
  const pid_t self = getpid(), other = fork();
  *begin = ends[1];
  if (other != 0) {
    close(ends[0]);
    return other;
  }
  close(ends[1]);
  if (read(ends[0], &told, 1) != 1)
    _exit(0);
  const struct timespec going = {.tv_nsec = GOES_ON_MS * (long)MS},
                        stopped = {STOPPED_MS / 1000, STOPPED_MS % 1000 * (long)MS};
  for (int i = 0; i < STOPS && getppid() == self; ++i) {
    nanosleep(&going, NULL);
    kill(self, SIGSTOP);
    nanosleep(&stopped, NULL);
    kill(self, SIGCONT);
  }
  _exit(0);
}

/** The other process has ended. */
static inline bool is_over(pid_t other) {
  return waitpid(other, NULL, WNOHANG) == other;
}

/** Frames go on behind each stop, each once, and the session ends when it is asked to. */
static inline void assert_a_stopped_process_goes_on(int64_t stall_timeout_ns) {
  int begin;
  const pid_t other = stop_me_again_and_again(&begin);
  ck_assert_int_gt(other, 0);
  bench b = open_bench(queues(8));
  prem_live_state state;
  prem_live_counts x, y;
  prem_frame frame;
  float value;
  uint64_t sent = 0, shown = 0, next_input = 0;
  start_live(b.live,
             &(prem_live_request){.mode = PREM_MODE_TT, .stall_timeout_ns = stall_timeout_ns});
  ck_assert_int_eq(write(begin, "", 1), 1); /* a start has less patience */
  close(begin);
  int64_t longest_ns = 0, last_ns = in_ms(&b, 0);
  bool has_stopped = false, is_draining = false;
  prem_status status = PREM_OK;
  while (status == PREM_OK || status == PREM_ERR_TIMEOUT) {
    has_stopped = has_stopped || is_over(other);
    const int64_t now_ns = in_ms(&b, 0);
    longest_ns = now_ns - last_ns > longest_ns ? now_ns - last_ns : longest_ns;
    last_ns = now_ns;
    if (!has_stopped)
      sent += feed(b.live, b.x, (float)sent, NULL) == PREM_OK;
    else if (!is_draining)
      is_draining = prem_live_stop(b.live, true, 0, NULL) == PREM_ERR_TIMEOUT;
    status = fetch(b.live, b.y, in_ms(&b, 3), &value, &frame);
    if (status != PREM_OK)
      continue;
    ck_assert_float_eq(value, (float)(frame.input + 1));
    ck_assert_uint_ge(frame.input, next_input);
    next_input = frame.input + 1;
    ++shown;
  }
  prem_diag *diag = prem_diag_new();
  if (prem_live_stop(b.live, true, in_ms(&b, 60000), diag) != PREM_OK)
    abort_with("stop", diag);
  prem_diag_free(diag);
  ck_assert_int_eq(status, PREM_ERR_ENDED);
  ck_assert_int_ge(longest_ns, (int64_t)(STOPPED_MS - 100) * MS); /* it was stopped indeed */
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.end, PREM_LIVE_STOPPED);
  prem_live_count(b.live, b.x, &x);
  prem_live_count(b.live, b.y, &y);
  ck_assert_uint_gt(shown, STOPS);
  ck_assert_uint_eq(x.frames, sent);
  ck_assert_uint_eq(x.taken, sent);
  ck_assert_uint_eq(y.frames, shown);
  ck_assert_uint_eq(shown + y.dropped, sent); /* dropped: this thread was away for too long */
  close_bench(&b);
}

#endif
