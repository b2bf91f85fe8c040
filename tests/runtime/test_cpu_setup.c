/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks' threads, their cores and priorities, where the system says yes and where it says no.
 */
/* ctest: threads */
#include <dlfcn.h>

#include "runtime/cpu/cpu.h"
#include "tests/common/live.h"
#include "tests/common/suite.h"

/* ---- what the system says -------------------------------------------------------------------- */

static int affinity_says, priority_says, asked_priority, affinities, priorities;
static int32_t asked_cores[8];

/* The ones that the library calls. */
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set) {
  (void)thread;
  int32_t core = 0;
  while (!CPU_ISSET_S((size_t)core, bytes, set))
    ++core;
  asked_cores[affinities++] = core;
  return affinities == 2 ? affinity_says : 0;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameters) {
  (void)thread;
  ck_assert_int_eq(policy, SCHED_FIFO);
  asked_priority = parameters->sched_priority;
  ++priorities;
  return priority_says;
}

static int threads_left; /* so many can be started; below 0: any number */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
  int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  if (threads_left == 0)
    return EAGAIN;
  --threads_left;
  return next(thread, attributes, run, argument);
}

enum { BLOCKS = 3 };

static prem_diag *diag;

static prem_status set_up_blocks(const prem_cpu_setup *setup) {
  prem_cpu_block blocks[BLOCKS] = {0};
  prem_cpu cpu = {.block_count = BLOCKS, .blocks = blocks};
  for (int b = 0; b < BLOCKS; ++b)
    blocks[b].thread = pthread_self();
  affinities = priorities = 0;
  return prem_cpu_set_up(&cpu, setup, diag);
}

static void set_up(void) {
  diag = prem_diag_new();
  affinity_says = priority_says = 0;
  threads_left = -1;
}

static void tear_down(void) {
  prem_diag_free(diag);
}

static const int32_t cores[] = {4, 0, 1025};

GROUP("blocks", .set_up = set_up, .tear_down = tear_down);

TEST(each_block_has_its_core_and_priority) {
  ck_assert_int_eq(
      set_up_blocks(&(prem_cpu_setup){.cores = cores, .core_count = 3, .fifo_priority = 7}),
      PREM_OK);
  ck_assert_int_eq(affinities, 3);
  ck_assert_int_eq(priorities, 3);
  ck_assert_int_eq(asked_priority, 7);
  for (int b = 0; b < BLOCKS; ++b)
    ck_assert_int_eq(asked_cores[b], cores[b]);
}

TEST(what_is_not_asked_for_is_not_set) {
  ck_assert_int_eq(set_up_blocks(&(prem_cpu_setup){0}), PREM_OK);
  ck_assert_int_eq(affinities + priorities, 0);
  ck_assert_int_eq(set_up_blocks(&(prem_cpu_setup){.fifo_priority = 1}), PREM_OK);
  ck_assert_int_eq(affinities, 0);
  ck_assert_int_eq(priorities, 3);
}

TEST(a_core_for_each_is_needed) {
  ck_assert_int_eq(set_up_blocks(&(prem_cpu_setup){.cores = cores, .core_count = 2}),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, "2 for 3 threads; name a core for each");
  ck_assert_int_eq(affinities, 0);
}

/* The second block's: the third one is not asked for. */
TESTS(a_core_that_is_refused_is_told, 2) {
  affinity_says = _i ? EPERM : EINVAL;
  ck_assert_int_eq(
      set_up_blocks(&(prem_cpu_setup){.cores = cores, .core_count = 3, .fifo_priority = 7}),
      PREM_ERR_UNAVAILABLE);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "this core is not there"));
  ck_assert_int_eq(affinities, 2);
  ck_assert_int_eq(priorities, 1);
}

TESTS(a_priority_that_is_refused_is_told, 2) {
  priority_says = _i ? EPERM : EINVAL;
  ck_assert_int_eq(set_up_blocks(&(prem_cpu_setup){.fifo_priority = 7}), PREM_ERR_UNAVAILABLE);
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "SCHED_FIFO takes CAP_SYS_NICE"));
  ck_assert_int_eq(priorities, 1);
}

static void assert_one_problem(const char *reason) {
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, reason);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 0); /* nothing is wrong with the schedule */
}

/* Those that were started before it come home. */
TESTS(a_thread_that_cannot_be_started_is_told, 3) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 3; tile = [ 2 ];"
      "  arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 1000L; };"
      "  compute: { wcet_ns = 1000L; }; writeback: { wcet_ns = 1000L; }; } );");
  prem_session *session = NULL;
  threads_left = _i;
  ck_assert_int_eq(prem_session_open(prem_backend_find("cpu"), schedule, &session, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_null(session);
  assert_one_problem(text(
      "cannot start thread %d of 3: Resource temporarily unavailable; use fewer blocks", _i + 1));
}

/* Nor the one that a live session has beside its blocks'. */
TEST(a_courier_that_cannot_be_started_is_told) {
  OWNED(prem_schedule) *schedule =
      checked_schedule(increment_file(1000000, 1000, "", "inputs = ( { array = \"x\"; } );"));
  OWNED(prem_live) *live = open_live_on("cpu", schedule);
  threads_left = 0;
  ck_assert_int_eq(prem_live_start(live, &(prem_live_request){0}, diag), PREM_ERR_UNAVAILABLE);
  assert_one_problem("cannot start a thread: Resource temporarily unavailable");
}

/* Time that was lost before the block could look, since it should have begun, counts as well. */
TEST(a_core_is_watched_from_the_common_start_on) {
  prem_cpu cpu = {0};
  prem_cpu_block block = {.cpu = &cpu};
  const int64_t before_ns = prem_host_clock_ns();
  block.common_start_ns = before_ns - 1;
  prem_cpu_away_begin(&block);
  ck_assert_int_eq(block.last_look.at_ns, block.common_start_ns);
  block.common_start_ns = INT64_MAX; /* it looks before it begins */
  prem_cpu_away_begin(&block);
  ck_assert_int_ge(block.last_look.at_ns, before_ns);
  ck_assert_int_le(block.last_look.at_ns, prem_host_clock_ns());
  ck_assert_int_gt(block.last_look.cpu_ns, 0);
  cpu.oversubscribed = true;
  block.common_start_ns = 1;
  prem_cpu_away_begin(&block);
  ck_assert_int_ge(block.last_look.at_ns, before_ns);
}
