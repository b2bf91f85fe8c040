/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live sessions on threads: the courier has one of its own, which watches over the blocks as well.
 * It ends by itself when all blocks have left and all results are shown; `is_over` is the last word
 * that it writes (release), so that who has seen it may read everything.
 */
#include "prem/base/fail.h"
#include "prem/base/numbers.h"
#include "runtime/cpu/cpu.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
  POLL_NS = 5000000,      /* between two looks at progress */
  SLACK_NS = 1000000,     /* the courier may be so late where cores are shared */
  NAP_NS = 50000,         /* of a host that waits */
  TURNS_BEFORE_A_NAP = 64 /* of a host that waits */
};

typedef struct prem_cpu_live {
  prem_cpu *cpu;
  prem_courier *courier;
  prem_run_request request; /* as a run's, without an end */
  prem_recorder *recorders;
  prem_trace *recorded;
  prem_cpu_watchdog dog;
  pthread_t thread;
  bool has_thread;
  _Atomic bool has_failed;
  _Atomic bool is_over;
  _Atomic int64_t heard_ns; /* the courier looks at the clock */
} prem_cpu_live;

static void nap(int64_t length_ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)length_ns}, NULL);
}

/* ---- the courier's thread ------------------------------------------------------------------- */

static bool are_all_home(prem_cpu *cpu) {
  pthread_mutex_lock(&cpu->mutex);
  const bool are_home = cpu->away == 0;
  pthread_mutex_unlock(&cpu->mutex);
  return are_home;
}

/* Blocks that wait for a decision sleep where cores are shared. */
static void tell_blocks(prem_cpu_live *live) {
  prem_cpu *cpu = live->cpu;
  if (!cpu->oversubscribed || cpu->decided == live->courier->decided)
    return;
  pthread_mutex_lock(&cpu->mutex);
  cpu->decided = live->courier->decided;
  pthread_mutex_unlock(&cpu->mutex);
  pthread_cond_broadcast(&cpu->go);
}

static int64_t step(prem_cpu_live *live) {
  prem_courier_look(live->courier);
  const int64_t now = prem_host_clock_ns();
  atomic_store_explicit(&live->heard_ns, now, memory_order_relaxed);
  const int64_t next_ns =
      prem_courier_step(live->courier, now - atomic_load(&live->cpu->common_start_ns.value));
  tell_blocks(live);
  return next_ns;
}

/* Blocks that wait for the courier stand still rightly while it waits for time to pass: it will
 * decide then. Where it waits for blocks alone, they have to move. */
static void watch(prem_cpu_live *live, int64_t next_ns, int64_t *looked_at_ns) {
  const int64_t now = prem_host_clock_ns();
  if (now - *looked_at_ns < POLL_NS)
    return;
  *looked_at_ns = now;
  if (next_ns != INT64_MAX)
    live->dog.moved_at_ns = now;
  pthread_mutex_lock(&live->cpu->mutex);
  prem_cpu_watchdog_look(&live->dog, now);
  pthread_mutex_unlock(&live->cpu->mutex);
}

/* Where cores are shared it sleeps until the instant that it asked for, or until somebody has news.
 * What came since it looked last is still there as news. */
static void pass_time(prem_cpu_live *live, int64_t next_ns) {
  prem_cpu *cpu = live->cpu;
  if (!cpu->oversubscribed) {
    sched_yield();
    return;
  }
  int64_t until = prem_host_clock_ns() + POLL_NS;
  if (next_ns != INT64_MAX)
    until = prem_min_i64(until, atomic_load(&cpu->common_start_ns.value) + next_ns);
  const struct timespec limit = prem_cpu_limit(until);
  pthread_mutex_lock(&cpu->mutex);
  while (!cpu->has_news && pthread_cond_timedwait(&cpu->home, &cpu->mutex, &limit) != ETIMEDOUT) {
  }
  cpu->has_news = false;
  pthread_mutex_unlock(&cpu->mutex);
}

static void *serve(void *argument) {
  prem_cpu_live *live = argument;
  int64_t looked_at_ns = prem_host_clock_ns();
  pthread_setname_np(pthread_self(), "prem-courier");
  for (;;) {
    const int64_t next_ns = step(live);
    watch(live, next_ns, &looked_at_ns);
    if (are_all_home(live->cpu))
      break;
    pass_time(live, next_ns);
  }
  /* results that are still to be shown have their instants, so this ends as well */
  for (int64_t next_ns; next_ns = step(live),
                        !prem_courier_is_done(live->courier) && !prem_cpu_is_aborted(live->cpu);)
    pass_time(live, next_ns);
  atomic_store(&live->has_failed, atomic_load(&live->cpu->fault.claimed) ||
                                      live->dog.stalled.block || live->dog.lost.block);
  atomic_store(&live->is_over, true);
  return NULL;
}

/* ---- starting ------------------------------------------------------------------------------- */

static void abort_blocks(prem_cpu *cpu) {
  int64_t expected = PREM_CPU_GO_ON;
  atomic_compare_exchange_strong(&cpu->abort.value, &expected, PREM_CPU_STOPPED);
}

/* Nobody serves: the blocks have not begun, and leave when they are told to. */
static void send_home(prem_cpu *cpu) {
  abort_blocks(cpu);
  while (!are_all_home(cpu))
    nap(NAP_NS);
}

static prem_status become_resident(prem_cpu_live *live, prem_diag *diag) {
  prem_cpu *cpu = live->cpu;
  prem_cpu_team_launch(cpu);
  prem_cpu_watchdog_begin(&live->dog, cpu, live->request.timeout_ns);
  while (atomic_load(&cpu->common_start_ns.value) == 0) {
    nap(NAP_NS);
    if (prem_host_clock_ns() - live->dog.moved_at_ns < live->dog.timeout_ns)
      continue;
    send_home(cpu);
    return prem_fail(
        diag, PREM_ERR_MACHINE, 0, (prem_place){0}, "start",
        "the %d blocks did not become resident in %lld ms; use fewer, or a machine with "
        "free cores",
        (int)cpu->block_count, (long long)(live->dog.timeout_ns / 1000000));
  }
  return PREM_OK;
}

/* When the first hyperperiod begins, from the common start. */
static prem_status settle_start(const prem_cpu_live *live, const prem_live_request *request,
                                int64_t *start_ns, prem_diag *diag) {
  const int64_t base_ns = atomic_load(&live->cpu->common_start_ns.value);
  const int64_t lead_ns = live->courier->trigger < 0 ? live->courier->max_lead_ns : 0;
  const int64_t now = prem_host_clock_ns();
  const int64_t min_ns = (now > base_ns ? now : base_ns) + lead_ns;
  *start_ns = request->start_ns - base_ns;
  if (request->start_ns == 0)
    *start_ns = min_ns + SLACK_NS - base_ns;
  if (request->start_ns == 0 || request->start_ns >= min_ns)
    return PREM_OK;
  return prem_fail(
      diag, PREM_ERR_ARGUMENT, 0, (prem_place){0}, "start_ns",
      "is %lld ns too soon: the blocks are resident only now, and the first frames are "
      "chosen up to %lld ns before; give some ms more",
      (long long)(min_ns - request->start_ns), (long long)lead_ns);
}

/* Signals are the caller's, as for blocks. */
static prem_status start_thread(prem_cpu_live *live, prem_diag *diag) {
  sigset_t all, before;
  atomic_store(&live->heard_ns, prem_host_clock_ns());
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&live->thread, NULL, serve, live);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  live->has_thread = error == 0;
  if (error == 0)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, "start",
                   "cannot start a thread: %s", strerror(error));
}

static prem_status make_room(prem_cpu_live *live, const prem_live_request *request,
                             prem_diag *diag) {
  prem_status status = prem_cpu_set_up(live->cpu, &request->cpu, diag);
  if (status == PREM_OK)
    status = prem_courier_make_room(live->courier, request);
  live->recorded = live->courier->whole ? live->courier->whole : live->courier->trace;
  if (status == PREM_OK)
    status = prem_recorders_new(live->cpu->program, &live->request, live->recorded, false,
                                &live->recorders);
  return status;
}

static prem_status launch(prem_cpu_live *live, const prem_live_request *request, int32_t cores,
                          prem_diag *diag) {
  prem_cpu *cpu = live->cpu;
  prem_courier *courier = live->courier;
  int64_t start_ns = 0;
  prem_status status = make_room(live, request, diag);
  if (status != PREM_OK)
    return status;
  prem_cpu_reset_run(cpu, &live->request, courier->trace, live->recorders);
  cpu->courier = courier;
  cpu->oversubscribed = cpu->block_count + 2 > cores; /* the courier and the host */
  for (int32_t t = 0; t < cpu->program->schedule->task_count; ++t)
    for (int32_t p = 0; p < cpu->program->tasks[t].active_blocks; ++p)
      atomic_store(&cpu->jobs_done[t][p].value,
                   courier->first_hyperperiod * cpu->program->tasks[t].jobs);
  status = become_resident(live, diag);
  if (status != PREM_OK)
    return status;
  status = settle_start(live, request, &start_ns, diag);
  if (status == PREM_OK) {
    prem_courier_begin(courier,
                       &(prem_courier_setup){.request = request,
                                             .jobs_over = prem_cpu_jobs_over,
                                             .backend = cpu,
                                             .base_ns = atomic_load(&cpu->common_start_ns.value),
                                             .start_ns = start_ns,
                                             .slack_ns = SLACK_NS});
    status = start_thread(live, diag);
  }
  if (status != PREM_OK)
    send_home(cpu);
  return status;
}

static prem_status live_start(void *state, prem_courier *courier, const prem_live_request *request,
                              prem_diag *diag) {
  prem_cpu_session *session = state;
  session->live = calloc(1, sizeof *session->live);
  if (!session->live)
    return PREM_ERR_MEMORY;
  session->live->cpu = session->blocks;
  session->live->courier = courier;
  session->live->request =
      (prem_run_request){.mode = request->mode, .timeout_ns = request->stall_timeout_ns};
  return launch(session->live, request, session->cores, diag);
}

/* ---- what the host asks --------------------------------------------------------------------- */

static int64_t live_now_ns(const void *state) {
  (void)state;
  return prem_host_clock_ns();
}

static bool live_wait(void *state, bool (*is_met)(void *of), void *of, int64_t until_ns) {
  (void)state;
  for (int32_t turns = 0; !is_met(of); ++turns) {
    const int64_t now = prem_host_clock_ns();
    if (now >= until_ns) /* which is any number: until_ns - now may not be one */
      return false;
    if (turns < TURNS_BEFORE_A_NAP)
      sched_yield();
    else
      nap(prem_min_i64(until_ns - now, NAP_NS));
  }
  return true;
}

static void live_tell(void *state) {
  prem_cpu_tell_courier(((prem_cpu_session *)state)->blocks);
}

static int64_t live_heard_ns(const void *state) {
  return atomic_load_explicit(&((const prem_cpu_session *)state)->live->heard_ns,
                              memory_order_relaxed);
}

static void live_abort(void *state) {
  abort_blocks(((prem_cpu_session *)state)->blocks);
  live_tell(state);
}

static bool live_is_over(const void *state) {
  return atomic_load(&((const prem_cpu_session *)state)->live->is_over);
}

static bool live_has_failed(const void *state) {
  return atomic_load(&((const prem_cpu_session *)state)->live->has_failed);
}

static prem_status live_finish(void *state, prem_diag *diag) {
  prem_cpu_live *live = ((prem_cpu_session *)state)->live;
  pthread_join(live->thread, NULL);
  live->has_thread = false;
  prem_recorders_collect(live->cpu->program, live->recorders, live->recorded);
  prem_courier_finish(live->courier);
  const prem_status status = prem_cpu_watchdog_judge(&live->dog, diag);
  if (live->dog.lost.block)
    return PREM_ERR_MACHINE;
  return status == PREM_OK || status == PREM_ERR_INTERRUPTED
             ? prem_cpu_judge_stores(live->cpu, diag)
             : status;
}

void prem_cpu_live_free(prem_cpu_session *session) {
  if (!session->live)
    return;
  prem_recorders_free(session->live->recorders, session->live->cpu->program->block_count);
  free(session->live);
}

const prem_live_engine prem_cpu_live_engine = {.start = live_start,
                                               .now_ns = live_now_ns,
                                               .wait = live_wait,
                                               .tell = live_tell,
                                               .abort = live_abort,
                                               .is_over = live_is_over,
                                               .has_failed = live_has_failed,
                                               .heard_ns = live_heard_ns,
                                               .changes_args = true,
                                               .finish = live_finish};
