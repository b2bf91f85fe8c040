/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions on threads. */
/* ctest: threads timing */
#define LIVE_BACKEND "cpu"
#include "tests/common/live_leaks.h"
#include "tests/common/live_stopped.h"

#include <dlfcn.h>

/* ---- threads that have ended ------------------------------------------------------------------
 */

static atomic_int joined;

/* The one that the library calls. */
int pthread_join(pthread_t thread, void **result) {
  int (*next)(pthread_t, void **);
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_join");
  atomic_fetch_add(&joined, 1);
  return next(thread, result);
}

/* Of the courier's nothing is kept, and it cannot write what is being read. */
START_TEST(every_thread_is_met_at_its_end) {
  bench b = start_bench(queues(4));
  float value;
  ck_assert_int_eq(feed(b.live, b.x, 1, NULL), PREM_OK);
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  atomic_store(&joined, 0);
  ck_assert_int_eq(prem_live_stop(b.live, true, in_ms(&b, 60000), NULL), PREM_OK);
  ck_assert_int_eq(atomic_load(&joined), 1); /* the courier's */
  close_bench(&b);
  ck_assert_int_eq(atomic_load(&joined), 2); /* the block's */
}
END_TEST

/* ---- a machine that fails -------------------------------------------------------------------- */

static _Atomic bool hangs, has_hung;

static void hang_compute(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1;
  while (atomic_load(&hangs)) {
    atomic_store(&has_hung, true);
    nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
  }
}

START_TEST(a_compute_that_hangs_ends_the_session) { /* E5 */
  const prem_kernel *increment = prem_registry_find(prem_registry_builtin(), "vector_increment");
  prem_kernel kernel = *increment;
  kernel.compute = hang_compute;
  const prem_kernel *list[] = {&kernel};
  prem_diag *diag = prem_diag_new();
  bench b = {0};
  ck_assert_int_eq(prem_schedule_load_text("live.cfg", queues(4), &b.schedule, diag), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(b.schedule, &(prem_registry){list, 1}, diag), PREM_OK);
  b.live = open_live_on("cpu", b.schedule);
  b.y = prem_live_find(b.live, "y");
  start_live(b.live, &(prem_live_request){.stall_timeout_ns = 1500LL * MS});
  ck_assert_int_eq(feed(b.live, 0, 1, NULL), PREM_OK);
  float value;
  ck_assert_int_eq(fetch(b.live, b.y, in_ms(&b, 60000), &value, NULL), PREM_OK);
  /* no frame for longer than the watchdog waits: nothing is wrong with that */
  prem_live_sleep_until(b.live, in_ms(&b, 1800));
  prem_live_state state;
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.phase, PREM_LIVE_RUNNING);
  atomic_store(&hangs, true);
  ck_assert_int_eq(feed(b.live, 0, 1, NULL), PREM_OK);
  prem_frame frame;
  ck_assert_int_eq(prem_live_wait(b.live, b.y, in_ms(&b, 60000), &frame, NULL), PREM_ERR_MACHINE);
  ck_assert(atomic_load(&has_hung));
  prem_live_look(b.live, &state);
  ck_assert_int_eq(state.end, PREM_LIVE_FAILED);
  ck_assert_int_eq(prem_live_acquire(b.live, 0, 0, &frame, NULL), PREM_ERR_MACHINE);
  ck_assert_int_eq(prem_live_stop(b.live, true, 0, diag), PREM_ERR_MACHINE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "task 'a', tile 0, compute"));
  prem_live_close(b.live);
  atomic_store(&hangs, false);
  prem_diag_free(diag);
  nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL); /* the compute comes back after all */
  prem_schedule_free(b.schedule);
}
END_TEST

/* ---- coming and going ------------------------------------------------------------------------ */

START_TEST(sessions_leave_nothing_behind) { /* E32 */
  prem_schedule *schedule = checked_schedule(queues(2));
  assert_nothing_stays("cpu", schedule, 200, NULL);
  prem_schedule_free(schedule);
}
END_TEST

/* The blocks stand still as well: nothing has moved for longer than the watchdog waits. */
START_TEST(a_stopped_process_goes_on) { /* E4 */
  assert_a_stopped_process_goes_on(STOPPED_STALL_MS * (int64_t)MS);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("live_cpu");
  TCase *cases = tcase_create("live_cpu");
  tcase_set_timeout(cases, 120);
  add_live_tests(cases);
  tcase_add_test(cases, every_thread_is_met_at_its_end);
  tcase_add_test(cases, a_compute_that_hangs_ends_the_session);
  suite_add_tcase(suite, cases);
  TCase *stopped = tcase_create("stopped");
  tcase_set_timeout(stopped, 120);
  tcase_add_test(stopped, a_stopped_process_goes_on);
  suite_add_tcase(suite, stopped);
  TCase *leaks = tcase_create("leaks");
  tcase_set_timeout(leaks, 120);
  tcase_add_test(leaks, sessions_leave_nothing_behind);
  suite_add_tcase(suite, leaks);
  return run_suite(suite);
}
