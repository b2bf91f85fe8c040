/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions that are closed while others are in calls, or by a process that was forked;
 * instants of every size; a session that has nothing to do. */
/* ctest: threads timing */
#define LIVE_BACKEND "cpu"
#include "tests/common/live_threads.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const both[] = {"cpu", "sim"};

enum { FAR_MS = 600000, CHILD_S = 60 };

/* ---- close while others are in calls --------------------------------------------------------- */

typedef struct caller {
  bench b;
  prem_status (*call)(const bench *b);
  prem_status status;
  pthread_t thread;
} caller;

static prem_status drain(const bench *b) {
  return prem_live_stop(b->live, true, in_ms(b, FAR_MS), NULL);
}

static prem_status await_buffer(const bench *b) {
  prem_frame frame;
  return prem_live_acquire(b->live, b->x, in_ms(b, FAR_MS), &frame, NULL);
}

static prem_status await_frame(const bench *b) {
  prem_frame frame;
  return prem_live_wait(b->live, b->y, in_ms(b, FAR_MS), &frame, NULL);
}

static prem_status await_event(const bench *b) {
  prem_live_event event;
  return prem_live_listen(b->live, in_ms(b, FAR_MS), &event, NULL);
}

static prem_status oversleep(const bench *b) {
  prem_live_sleep_until(b->live, in_ms(b, FAR_MS));
  return PREM_ERR_ENDED;
}

static void *make_call(void *argument) {
  caller *c = argument;
  c->status = c->call(&c->b);
  return NULL;
}

/* Its queue is full, and its first hyperperiod lies so far ahead that no call comes back by itself.
 */
static bench start_far_ahead(void) {
  bench b = open_bench(queues(2));
  for (int i = 0; i < 2; ++i)
    ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT,
                                          .events = true,
                                          .silence_ns = 1000 * (int64_t)FAR_MS * MS,
                                          .start_ns = in_ms(&b, 2 * FAR_MS)});
  return b;
}

static void wait_for_phase(const bench *b, prem_live_phase phase) {
  for (prem_live_state state = {0}; state.phase != phase;) {
    nanosleep(&(struct timespec){.tv_nsec = MS / 10}, NULL);
    prem_live_look(b->live, &state);
  }
}

/* The one that drains knows nothing of the one that closes. */
TEST(close_ends_a_drain) {
  for (int i = 0; i < 5; ++i) {
    caller c = {.b = start_far_ahead(), .call = drain};
    ck_assert_int_eq(pthread_create(&c.thread, NULL, make_call, &c), 0);
    wait_for_phase(&c.b, PREM_LIVE_DRAINING);
    prem_live_close(c.b.live);
    pthread_join(c.thread, NULL);
    ck_assert(c.status == PREM_ERR_ENDED || c.status == PREM_OK);
    prem_schedule_free(c.b.schedule);
  }
}

TEST(close_ends_every_wait) {
  static prem_status (*const calls[])(const bench *) = {await_buffer, await_frame, await_event,
                                                        oversleep, drain};
  enum { CALLS = sizeof calls / sizeof *calls };
  caller callers[CALLS];
  const bench b = start_far_ahead();
  for (int i = 0; i < CALLS; ++i) {
    callers[i] = (caller){.b = b, .call = calls[i]};
    if (calls[i] == drain) /* which ends the wait for a buffer */
      nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
    ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, make_call, &callers[i]), 0);
  }
  wait_for_phase(&b, PREM_LIVE_DRAINING);
  nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
  prem_live_close(b.live);
  for (int i = 0; i < CALLS; ++i) {
    pthread_join(callers[i].thread, NULL);
    ck_assert(callers[i].status == PREM_ERR_ENDED || callers[i].status == PREM_OK);
  }
  prem_schedule_free(b.schedule);
}

/* Which thread ends first is for the machine to say. */
TEST(close_meets_a_stop_at_its_end) {
  for (int i = 0; i < 40; ++i) {
    caller c = {.b = start_bench(queues(2)), .call = drain};
    feed(c.b.live, c.b.x, 1, NULL);
    ck_assert_int_eq(pthread_create(&c.thread, NULL, make_call, &c), 0);
    for (prem_live_state state = {0}; state.phase < PREM_LIVE_DRAINING;)
      prem_live_look(c.b.live, &state);
    nanosleep(&(struct timespec){.tv_nsec = i * MS / 10}, NULL);
    prem_live_close(c.b.live);
    pthread_join(c.thread, NULL);
    ck_assert(c.status == PREM_ERR_ENDED || c.status == PREM_OK);
    prem_schedule_free(c.b.schedule);
  }
}

/* ---- a forked process ------------------------------------------------------------------------ */

/* What a child finds, as its exit status: 0 is right. It may not come back at all. */
static void expect_of_child(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  for (int64_t naps = 0; naps < CHILD_S * 1000 && ended == 0; ++naps) {
    nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    ended = waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  ck_assert_msg(ended == child, "the child was not back after %d s", CHILD_S);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static int try_inherited(const bench *b, prem_frame *in_hand) {
  prem_frame frame;
  prem_live_state state;
  prem_live_event event;
  if (prem_live_wait(b->live, b->y, INT64_MAX, &frame, NULL) != PREM_ERR_ENDED ||
      prem_live_acquire(b->live, b->x, INT64_MAX, &frame, NULL) != PREM_ERR_ENDED ||
      prem_live_submit(b->live, in_hand, NULL) != PREM_ERR_ENDED ||
      prem_live_listen(b->live, INT64_MAX, &event, NULL) != PREM_ERR_ENDED)
    return 1;
  prem_live_look(b->live, &state);
  if (state.phase != PREM_LIVE_ENDED)
    return 2;
  while (prem_live_stop(b->live, true, 0, NULL) == PREM_ERR_TIMEOUT) {
  }
  prem_live_close(b->live);
  return 0;
}

TESTS(a_child_leaves_a_session_to_its_parent, 2) {
  bench b = {.schedule = checked_schedule(queues(4))};
  prem_frame in_hand;
  float value;
  b.live = open_live_on(both[_i], b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .events = true});
  ck_assert_int_eq(prem_live_acquire(b.live, b.x, 0, &in_hand, NULL), PREM_OK);
  fill_frame(&in_hand, 6);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(try_inherited(&b, &in_hand));
  expect_of_child(child);
  /* and the parent's goes on */
  ck_assert_int_eq(prem_live_submit(b.live, &in_hand, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  ck_assert_float_eq(value, 7);
  close_bench(&b);
}

TESTS(a_child_leaves_a_run_s_session_to_its_parent, 2) {
  prem_schedule *schedule = checked_schedule(queues(4));
  prem_session *session = NULL;
  ck_assert_int_eq(prem_session_open(prem_backend_find(both[_i]), schedule, &session, NULL),
                   PREM_OK);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    prem_session_close(session);
    _exit(0);
  }
  expect_of_child(child);
  prem_session_close(session);
  prem_schedule_free(schedule);
}

/* ---- instants of every size ------------------------------------------------------------------ */

TESTS(an_instant_in_the_past_means_not_to_wait, 2) {
  static const int64_t past[] = {INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -1, 0};
  bench b = {.schedule = checked_schedule(queues(2))};
  prem_frame frame;
  prem_live_event event;
  b.live = open_live_on(both[_i], b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  for (int i = 0; i < 2; ++i)
    ck_assert_int_eq(prem_live_acquire(b.live, b.x, INT64_MAX, &frame, NULL), PREM_OK);
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT, .events = true});
  for (size_t i = 0; i < sizeof past / sizeof *past; ++i) {
    ck_assert_int_eq(prem_live_acquire(b.live, b.x, past[i], &frame, NULL), PREM_ERR_FULL);
    ck_assert_int_eq(prem_live_wait(b.live, b.y, past[i], &frame, NULL), PREM_ERR_TIMEOUT);
    prem_live_sleep_until(b.live, past[i]);
    while (prem_live_listen(b.live, past[i], &event, NULL) == PREM_OK) {
    }
  }
  prem_live_close(b.live);
  prem_schedule_free(b.schedule);
}

TESTS(an_instant_that_never_comes_is_no_limit, 2) {
  bench b = {.schedule = checked_schedule(queues(2))};
  float value;
  b.live = open_live_on(both[_i], b.schedule);
  b.x = prem_live_find(b.live, "x");
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  ck_assert_int_eq(feed_until(b.live, b.x, 1, INT64_MAX, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, INT64_MAX, &value, NULL), PREM_OK);
  ck_assert_int_eq(prem_live_stop(b.live, true, INT64_MAX, NULL), PREM_OK);
  prem_live_close(b.live);
  prem_schedule_free(b.schedule);
}

/* All times are at most 2^62 ns, the simulator's as well. */
TEST(virtual_time_has_an_end) {
  OWNED(prem_schedule) *schedule = checked_schedule(queues(2));
  OWNED(prem_live) *live = open_live_on("sim", schedule);
  prem_live_sleep_until(live, INT64_MIN);
  ck_assert_int_eq(prem_live_now_ns(live), 0);
  prem_live_sleep_until(live, INT64_MAX);
  ck_assert_int_eq(prem_live_now_ns(live), PREM_MAX_NS);
}

/* ---- nothing to do --------------------------------------------------------------------------- */

static _Atomic bool counts_looks;
static _Atomic int64_t most_looks; /* at the clock, of one thread */

/* The one that the library calls: whoever waits looks at the clock each time it wakes. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  static _Thread_local int64_t looks;
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  if (atomic_load(&counts_looks)) {
    ++looks;
    for (int64_t most = atomic_load(&most_looks);
         most < looks && !atomic_compare_exchange_weak(&most_looks, &most, looks);) {
    }
  }
  return next(clock, out);
}

static int64_t cpu_time_ns(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * INT64_C(1000000000) +
         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * INT64_C(1000);
}

/* On so many blocks that cores are shared they sleep, as does the courier, which once woke 10 000
 * times a second. How often they wake is theirs to say; what that takes is the machine's, so that
 * of the time only one who never sleeps would take half a core. */
static void assert_idle(const char *input) {
  enum { IDLE_MS = 1000, LOOKS_PER_MS = 4 };
  prem_machine machine;
  ck_assert_int_eq(prem_backend_probe(prem_backend_find("cpu"), &machine, NULL), PREM_OK);
  const int32_t blocks = machine.cores;
  prem_schedule *schedule = prepared_schedule(
      text("version = 1; name = \"idle\"; platform: { blocks = %d; };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ %d ]; },"
           "  { name = \"y\"; type = \"f32\"; shape = [ %d ]; } );"
           "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = %d; tile = [ 8 ];"
           "    period_ns = 20000000L; arrays: { in = \"x\"; out = \"y\"; };"
           "    prefetch: { wcet_ns = 50000L; }; compute: { wcet_ns = 50000L; };"
           "    writeback: { wcet_ns = 50000L; }; } );"
           "live: { inputs = ( { array = \"x\"; %s } ); outputs = ( { array = \"y\"; } ); };",
           blocks, 8 * blocks, 8 * blocks, blocks, input));
  bench b = {.schedule = schedule, .live = open_live_on("cpu", schedule)};
  start_live(b.live, &(prem_live_request){.mode = PREM_MODE_TT});
  nanosleep(&(struct timespec){.tv_nsec = 100 * MS}, NULL);
  const int64_t before_ns = cpu_time_ns(), began_ns = prem_live_now_ns(b.live);
  atomic_store(&counts_looks, true);
  for (int ms = 0; ms < IDLE_MS; ms += 100)
    nanosleep(&(struct timespec){.tv_nsec = 100 * MS}, NULL);
  atomic_store(&counts_looks, false);
  const int64_t used_ns = cpu_time_ns() - before_ns, took_ns = prem_live_now_ns(b.live) - began_ns,
                looks = atomic_load(&most_looks);
  ck_assert_int_gt(looks, 0);
  ck_assert_msg(looks < LOOKS_PER_MS * (took_ns / MS), "%lld looks of a thread in %.1f ms",
                (long long)looks, (double)took_ns / MS);
  ck_assert_msg(only_threads() || used_ns < took_ns / 2, "%.1f ms of processor time in %.1f ms",
                (double)used_ns / MS, (double)took_ns / MS);
  close_bench(&b);
}

TESTS(who_is_fed_nothing_leaves_the_cores_alone, 2) {
  static const char *const inputs[] = {"kind = \"trigger\"; missing = \"wait\";",
                                       "kind = \"queuing\"; missing = \"skip\";"};
  assert_idle(inputs[_i]);
}
